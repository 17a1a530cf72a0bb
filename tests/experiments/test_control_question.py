"""Question 4 of the open questions: runs in Python and in the engine, scores, and choices on other seeds."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "open_questions"))

control: Any = import_module("control")
page: Any = import_module("control_page")
frame: Any = import_module("frame")


@pytest.mark.parametrize(
    "name", [pytest.param("FrozenLake", marks=pytest.mark.costly), pytest.param("Acrobot", marks=pytest.mark.slow)]
)
def test_python_makes_the_steps_of_the_engine(name: str) -> None:
    of = control.task(name)
    agent = control.with_lambda(of, 0.2, 0.5, 0.9)
    mine, diverged = control.by_hand(of.world, agent, 3, 1500)
    [[theirs]] = td.control.run(of.world, [agent], [3], 1500, points=1, keep=("episodes",), progress=False).episodes
    assert len(mine) > 2
    assert not diverged
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_scores_of_a_run() -> None:
    of = control.task("CartPole")  # level 400 over 20 episodes
    ends = np.arange(1, 101) * 10.0
    values = np.where(np.arange(100) < 50, 100.0, 500.0)
    found = control.scored(of, (np.stack([values, ends], axis=1), False), 1000)
    assert found["final"] == 500
    assert found["reached"] == 650  # 15 of 20 episodes have 500: a mean of 400
    assert found["area"] == pytest.approx(300)
    assert control.scored(of, (np.zeros((0, 2)), True), 1000) == {"final": 0.0, "area": 0.0, "reached": 1000.0}


def test_the_choice_is_made_on_other_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that are best on the seeds of the report are not chosen for it."""

    def fake(of: Any, agents: list[Any], seeds: range, steps: int) -> Any:  # noqa: ARG001
        tuning = seeds.start >= control.TUNING
        value = {id(a): a.eta if tuning else -a.eta for a in agents}
        return [[(np.array([[value[id(a)], steps]]), False) for _ in seeds] for a in agents]

    monkeypatch.setattr(control, "episodes_of", fake)
    data = frame.frame(control.compared("FrozenLake", "Swift", True, 2, 3, 100))
    chosen = data.filter(kind="report", choice="best")
    assert chosen["eta"].to_list() == [max(control.ETA)] * 3
    assert chosen["seed"].to_list() == [0, 1, 2]
    assert set(data.filter(kind="tuning")["seed"]) == {control.TUNING, control.TUNING + 1}


def test_differences_are_paired_and_say_what_would_decide() -> None:
    noise = np.random.default_rng(0).normal(size=8) * 100
    assert page.verdict(noise, noise) == "0"
    assert page.verdict(noise + 1 + np.arange(8) / 100, noise).startswith("**1.0")
    assert page.verdict(noise[:5] + 1 + np.arange(5) / 100, noise).startswith("**1.0")  # fewer seeds of one
    assert "runs would decide" in page.verdict(np.array([1.0, -1.1, 0.9, -1.0]), np.zeros(4))
