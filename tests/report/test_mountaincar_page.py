"""The command that makes the MountainCar page: its numbers against the results, its verdicts against the intervals."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td
from tdlambda.lab.report.overview import CellView, Overview, overview
from tdlambda.lab.reproduction.published import mountaincar_figure
from tdlambda.lab.studies import compare, summary
from tdlambda.lab.studies.statistics import Comparison

THESIS = Path(__file__).parents[2] / "experiments" / "thesis"


@pytest.fixture(scope="module")
def made() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(THESIS))
        return importlib.import_module("mountaincar")


@pytest.fixture(scope="module")
def view(car: Path) -> Overview:
    return overview(car)


def times(view: Overview, method: str, factor: float) -> Overview:
    """The same results with the costs of a method multiplied."""

    def changed(cell: CellView) -> CellView:
        numbers = {name: factor * getattr(cell.tail, name) for name in ("mean", "low", "high", "std")}
        tail = replace(cell.tail, **numbers)
        return replace(cell, tail=tail, runs=cell.runs | {"tail": factor * cell.runs["tail"]})

    return replace(view, cells=[changed(c) if c.method == method else c for c in view.cells])


def runs(results: pl.DataFrame, method: str, alpha: float) -> Any:
    return results.filter(pl.col("method") == method, pl.col("alpha") == alpha).sort("seed")["tail"].to_numpy()


@pytest.mark.parametrize(
    ("low", "high", "lost", "word"),
    [
        (0.8, 0.99, 0, "better"), (1.01, 1.5, 0, "worse"), (0.9, 1.1, 0, "undecided"), (0.8, 0.9, 5, "better"),
        (0.8, 0.9, 6, "not compared"), (np.nan, np.nan, 0, "not compared"),
    ],
)  # fmt: skip
def test_verdicts_are_by_the_interval_and_not_of_survivors(
    made: Any, low: float, high: float, lost: int, word: str
) -> None:
    found = Comparison(100 - lost, lost, (low + high) / 2, low, high, 0.5, 0.4, 0.6)
    assert made.verdict(found) == word
    assert made.ratio(found).startswith("**") == (word in ("better", "worse"))


def test_the_page_says_what_the_results_say(made: Any, car: Path, view: Overview, tmp_path: Path) -> None:
    results = td.studies.load_results(car)
    paths = made.write(view, view, tmp_path)
    text = (tmp_path / "mountaincar.md").read_text(encoding="utf-8")
    assert {path.name for path in paths} == {path.name for path in tmp_path.iterdir()}
    assert set(re.findall(r"\]\((\S+\.svg)\)", text)) == {path.name for path in paths} - {"mountaincar.md"}
    best = {
        method: min((runs(results, method, alpha) for alpha in (1e-5, 1e-4)), key=lambda some: some.mean())
        for method in ("fixed", "greedy", "META")
    }
    for other, name in (("fixed", "the best fixed λ"), ("greedy", "λ-greedy")):
        found = compare(best["META"], best[other])
        said = next(line for line in text.split("\n") if line.startswith("- **META (as published)") and name in line)
        assert f"{found.ratio:.2f} ({found.ratio_low:.2f} to {found.ratio_high:.2f})" in said
        assert f"the returns are {-best['META'].mean():.1f} and {-best[other].mean():.1f}" in said
        words = {"is better than": found.ratio_high < 1, "is worse than": found.ratio_low > 1}
        assert next((word for word, true in words.items() if true), "does not differ significantly from") in said
    for alpha, shown in ((1e-5, "10⁻⁵"), (1e-4, "10⁻⁴")):
        row = next(line for line in text.split("\n") if line.startswith(f"| {shown} |"))
        for other in ("fixed", "greedy"):
            found = compare(runs(results, "META", alpha), runs(results, other, alpha))
            assert f"{found.ratio:.2f} ({found.ratio_low:.2f} to {found.ratio_high:.2f})" in row
    chosen = min((1e-5, 1e-4), key=lambda alpha: runs(results, "greedy", alpha)[:2].mean())
    rest = summary(runs(results, "greedy", chosen)[2:])
    row = next(line for line in text.split("\n") if line.startswith("| λ-greedy | α"))
    assert f"{-rest.mean:.1f} ({-rest.high:.1f} to {-rest.low:.1f})" in row
    assert "0 of 48 runs diverged." in text


def test_whether_a_claim_comes_out_follows_the_interval(made: Any, view: Overview) -> None:
    """In the figure META's best is above both its rivals'."""
    for factor, words in ((0.5, "comes out again"), (2.0, "does not come out")):
        first, second, *_ = made.beside_the_figure(times(view, "META", factor))
        assert f"above the best fixed λ's {words}" in first
        assert f"above λ-greedy's {words}" in second
    top = max((r for r in mountaincar_figure() if r.figure == "fig_mountaincar"), key=lambda r: r.value)
    assert any(f"is {top.value:g} ± {top.uncertainty:g} at" in line for line in made.beside_the_figure(view))


def test_small_eta_helps_less_only_if_the_intervals_are_apart(made: Any, view: Overview) -> None:
    small = replace(view, study=replace(view.study, agent={"eta": 0.01}))
    for factor, word in ((3.0, "helps less"), (1 / 3, "helps more"), (1.0, "does not clearly help more or less")):
        (said,) = made.does_small_eta_matter(view, times(small, "META", factor))
        assert f"{word} with η = 0.01 than with η = 1" in said


def test_the_figure_in_print_stands_beside_ours_as_it_was_read(made: Any, view: Overview) -> None:
    here, there = (part.data.values for part in made.over_alpha(view).hconcat)
    line = [row["mean"] for row in here if row["series"] == "META, as published"]
    assert line == pytest.approx([-view.best("META", alpha).tail.mean for alpha in view.alphas], rel=1e-5)
    wanted = [r for r in mountaincar_figure() if r.figure == "fig_mountaincar" and r.lam in (None, 0.9)]
    assert {(r.alpha, r.value) for r in wanted} <= {(row["x"], row["mean"]) for row in there}
    assert len(made.over_alpha(replace(view, published=[])).hconcat) == 1


def test_another_study_is_refused_and_nothing_is_written(made: Any, ring: Path, view: Overview, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ringworld"):
        made.write(view, overview(ring), tmp_path)
    assert not list(tmp_path.iterdir())
