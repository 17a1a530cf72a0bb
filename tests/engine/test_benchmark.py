"""The benchmark of the engine: it measures what it says, on next to no work."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

benchmark: Any = import_module("engine")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    said: list[str] = []
    measured: dict[str, Any] = benchmark.bench(0.002, said.append)
    assert len(said) > 5
    return measured


@pytest.mark.slow  # it compiles a dozen models
def test_every_row_is_a_ratio_with_a_verdict(found: dict[str, Any]) -> None:
    assert len(found["rows"]) >= 14
    for row in found["rows"]:
        assert row.ratio > 0
        assert isinstance(row.good, bool)
    assert {"processor", "numba"} <= set(found["machine"])
    assert all(value > 1000 for value in found["speed"].values())
    hours = found["tables"]
    assert hours["all four"] == pytest.approx(3 * hours["each of three RingWorlds"] + hours["FrozenLake"])


def test_a_table_and_json_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = benchmark.BenchmarkRow("true online TD", "its bare pass", 0.7, "≥ 0.65", True)
    measured = {"machine": {"numba": "1"}, "rows": [row], "speed": {"TD": 1e6}, "tables": {"all four": 2.0}}
    monkeypatch.setattr(benchmark, "bench", lambda *_: measured)
    monkeypatch.setattr(sys, "argv", ["engine.py", "--quick"])
    benchmark.main()
    assert "hours on two cores" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["engine.py", "--json"])
    benchmark.main()
    read = json.loads(capsys.readouterr().out)
    assert [row["work"] for row in read["rows"]] == ["true online TD"]
    assert set(read) == {"machine", "rows", "speed", "tables"}
