"""The commands of experiments/control/results.md, reduced to seconds: each runs, and shows what it must at any size."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT

FOLDER = ROOT / "experiments" / "control"


def loaded(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """A script as a module, with the arguments that its `main` will read."""
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location(f"control_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_mountain_car(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    found, figures = tmp_path / "found.json", tmp_path / "figures"
    script = loaded("mountain_car", monkeypatch, "--seeds", "2", "--json", str(found), "--figures", str(figures))
    whole = script.mean_steps
    monkeypatch.setattr(script, "mean_steps", lambda agents, _, runs, __: whole(agents, 3, runs, 8000))
    script.main()
    said, numbers = capsys.readouterr().out, json.loads(found.read_text(encoding="utf-8"))
    first, second = numbers["figure 12.10"], numbers["figure 12.11"]
    assert (len(first), len(second)) == (49, 50)
    assert all(100 < mean <= 5000 for table in (first, second) for mean, _ in table.values())
    assert first["λ = 0.92, 8α = 0.5"][0] < first["λ = 0.0, 8α = 0.5"][0]  # traces speed up the first episodes
    assert len({second[f"{kind}, 8α = 0.4"][0] for kind in script.KINDS}) == 5  # five kinds of traces, all different
    assert said.count("\n| ") == 2 + 7 + 5 + 2  # two tables with their heads
    assert {path.name for path in figures.iterdir()} == {"mountain-car-replacing.svg", "mountain-car-traces.svg"}


def test_bifurcation(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    script = loaded("bifurcation", monkeypatch, "--seeds", "2", "--json", str(found))
    script.main()
    said, numbers = capsys.readouterr().out, json.loads(found.read_text(encoding="utf-8"))
    for exact in ("all four are the same at λ = 0", "Recursive Retrace is RBIS at λ = 1"):
        assert f"- holds: {exact}" in said
    assert len(numbers) == 16
    for name, areas in numbers.items():
        assert set(areas) == {*script.NAMES, "agent"}
        assert 0 < min(areas.values()) < max(areas.values()) < script.GRIDS[int(name[0])][0]  # of returns within [0, 1]


@pytest.mark.slow
def test_levels(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    script = loaded("levels", monkeypatch, "--quick", "--json", str(found))
    short = {name: (env, make, steps // 20, level) for name, (env, make, steps, level) in script.CASES.items()}
    whole = script.lake
    monkeypatch.setattr(script, "CASES", short)
    monkeypatch.setattr(script, "lake", lambda seed, steps: whole(seed, steps // 20))
    script.main()
    said, numbers = capsys.readouterr().out, json.loads(found.read_text(encoding="utf-8"))
    assert set(numbers) == {*script.CASES, "FrozenLake-v1 8x8, Q(λ)"}
    gaps = numbers.pop("FrozenLake-v1 8x8, Q(λ)")["gaps"]
    assert all(0 <= gap <= 0.5 for gap in gaps)
    for name, one in numbers.items():
        assert name in said
        assert len(one["returns"]) == 2
        assert np.isfinite(one["returns"]).all()
        assert all(0 < r <= 500 if "Cart" in name else -500 <= r < 0 for r in one["returns"])
        assert one["reached"] == sum(r >= one["level"] for r in one["returns"])
