"""The first run: three pictures, each with a sentence whose numbers are those of the runs."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.report.findings import agreement
from tdlambda.lab.report.overview import overview

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "demo"))

demo: Any = import_module("demo")


def test_the_thesis_remade_counts_the_cells_that_agree(ring: Path) -> None:
    view = overview(ring)
    picture = demo.thesis(view)
    agree, compared = agreement(view)
    assert picture.text.startswith(f"{agree} of {compared} printed cells")


def test_what_you_can_have_today_is_measured(tmp_path: Path) -> None:
    _, study = demo.studies()
    small = study.but(seeds=4, steps=2000, points=20, grid={"alpha": [1e-3, 1e-2, 1e-1], "lam": [0.0, 0.9]})
    td.studies.run_study(small, tmp_path, progress=False)
    view = overview(tmp_path)
    picture = demo.today(view)
    assert "the best of 6 combinations" in picture.text
    rows = [row for row in picture.chart.data.values if row["series"] == "AutoTD"]
    assert [row["alpha"] for row in rows] == [1e-3, 1e-2, 1e-1]
    assert {row["mean"] for row in rows} == {rows[0]["mean"]}  # a flat line
    ratio = view.compare(view.best("AutoTD"), view.best("fixed")).ratio
    assert f"has {ratio:.3g} times" in picture.text


def test_the_stream_is_predicted_before_it_is_learned_from() -> None:
    y = demo.temperatures()[:400]
    assert y.min() > -20
    made, happened = demo.predicted(y)
    later = y.copy()
    later[300:] += 10
    again, _ = demo.predicted(later)
    np.testing.assert_array_equal(made[:300], again[:300])  # what comes later changes no prediction
    assert made[300] != again[300]
    gamma = demo.GAMMA
    wanted = (1 - gamma) * sum(gamma**k * y[101 + k] for k in range(250))
    assert happened[100] == pytest.approx(wanted, abs=1e-6)


def test_the_whole_year_is_predicted_well() -> None:
    picture = demo.stream()
    found = re.search(r"R² = (0\.\d+)", picture.text)
    assert found is not None
    assert float(found[1]) > 0.99
