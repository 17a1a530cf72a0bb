"""Question 3 of the open questions: measuring, rank correlations, and the reduced form."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "open_questions"))

efficiency: Any = import_module("efficiency")
page: Any = import_module("efficiency_page")
frame: Any = import_module("frame")


def test_rank_correlation_with_ties_and_infinities() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(5, size=(2, 7, 10)).astype(float)
    a[0, 3] = np.inf
    expected = [scipy.stats.spearmanr(x, y).statistic for x, y in zip(np.minimum(a, 99), b, strict=True)]
    assert page.spearman(a, b) == pytest.approx(expected)
    assert np.isnan(page.spearman(np.ones(4), np.arange(4.0)))


def test_outcomes_of_a_curve() -> None:
    at = np.array([10, 20, 90, 95, 100])
    found = efficiency.outcomes(np.array([0.6, 0.5, 0.2, 0.3, 0.1]), at, 1.0)
    assert found["half"] == 20
    assert found["tenth"] == 100
    assert found["final"] == pytest.approx(0.2)
    trapezes = 10 * 0.8 + 10 * 0.55 + 70 * 0.35 + 5 * 0.25 + 5 * 0.2
    assert found["area"] == pytest.approx(trapezes / 100)
    never = efficiency.outcomes(np.array([0.9, 0.8, np.inf, np.inf, np.inf]), at, 1.0)
    assert never["half"] == never["final"] == never["area"] == np.inf


def test_the_reduced_form() -> None:
    """From runs to tables and figures: objectives are exact, so these do not depend on seeds."""
    rows = [*efficiency.shared()]
    for name in ("RingWorld 0.4/0.35", "FrozenLake, tilings"):
        rows += efficiency.measured(name, seeds=3, steps=512)
    data = frame.frame(rows)
    tables = page.tables(data)
    assert all(text.count("\n") > 2 for text in tables.values())
    assert "| 0.5 | 0 | 0.25 | 0.0625 | 0.312 |" in tables["efficiency-shared"]
    found = page.Results(data, True)
    best = found.lambdas[found.objectives.argmin(axis=-1)][..., 0, :]  # [objective, α]
    assert len(set(best[page.at("target")])) == 1
    assert best[page.at("one")][0] == 1.0
    assert {"vconcat"} <= page.charts(data)["efficiency"].to_dict().keys()
