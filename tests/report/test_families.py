"""A tuned λ is no fixed λ, wherever it is named: as a rule, in a method's options, or among the numbers of a grid."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td
from tdlambda.lab.report.families import by_family
from tdlambda.lab.report.figures import drawn, write_figures
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.report.page_data import page_data

GRID: dict[str, list[Any]] = {"alpha": [0.03, 0.1], "lam": [0.0, 0.9, "auto"]}
MIXED = td.studies.Method("TrueOnlineTD", over=("alpha", "lam"))


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("mixed")
    methods = {"TD": MIXED, "AutoTD": td.studies.Method("AutoTD")}
    study = td.studies.Study("mixed", "RandomWalk-v0", methods, grid=GRID, seeds=6, steps=400, points=10)
    td.studies.run_study(study, directory, progress=False)
    return directory


@pytest.fixture(scope="module")
def view(where: Path) -> Overview:
    return overview(where)


def test_a_mixed_method_is_its_fixed_lambdas_and_auto(where: Path, view: Overview) -> None:
    assert {method: view.kind(method) for method in view.study.methods} == {
        "TD": "fixed", "auto": "tuned", "AutoTD": "tuned",
    }  # fmt: skip
    results = td.studies.load_results(where).filter(method="TD")
    for method, lams in (("TD", [0.0, 0.9]), ("auto", ["auto"])):
        cells = view.of(method)
        assert [cell.settings.get("lam", "auto") for cell in cells] == [*lams, *lams]
        for cell in cells:
            lam = pl.col("lam") == str(cell.settings.get("lam", "auto"))
            runs = results.filter(lam, pl.col("alpha") == cell.alpha).sort("seed")["tail"]
            np.testing.assert_array_equal(cell.runs["tail"], runs)


def test_the_best_fixed_lambda_is_never_auto(view: Overview) -> None:
    found = findings(view, list(view.study.methods))
    rival = found.contest.rival
    assert rival is not None
    assert (rival.cell.method, rival.cell.settings["lam"]) in (("TD", 0.0), ("TD", 0.9))
    assert found.contest.method.name in ('λ = "auto"', "AutoTD")
    assert found.headline.count("the best fixed λ (α = 0.") + found.headline.count("The best fixed λ (α = 0.") == 1


def test_page_and_figures_show_them_apart(view: Overview, tmp_path: Path) -> None:
    (group,) = page_data(view)["groups"]
    assert [one["label"] for one in group["series"]] == ["λ = 0", "λ = 0.9", 'λ = "auto"', "AutoTD", "best fixed λ"]
    moved = drawn(view).figures["motion"].rows
    assert list(dict.fromkeys(row["method"] for row in moved)) == ["auto", "AutoTD"]
    assert {path.stem for path in write_figures(view, tmp_path, "svg")} >= {"u-curves-tail", "error-table-tail"}


@pytest.mark.parametrize(
    ("methods", "lams", "names"),
    [
        ({"TD": MIXED}, [0.5, "auto", "meta"], ["TD", "auto", "meta"]),
        ({"TD": MIXED}, ["auto", "meta"], ["auto", "meta"]),
        ({"TD": MIXED}, ["auto"], ["TD"]),
        ({"TD": MIXED}, [0.5, 0.9], ["TD"]),
        ({"A": MIXED, "B": MIXED}, [0.5, "auto"], ["A", "A-auto", "B", "B-auto"]),
        (
            {"TD": MIXED, "auto": td.studies.Method("TD", options={"alpha": 0.1})},
            [0.5, "auto"],
            ["TD", "TD-auto", "auto"],
        ),
        ({"auto": MIXED}, ["auto", "meta"], ["auto", "meta"]),
    ],
)
def test_names(methods: dict[str, td.studies.Method], lams: list[float | str], names: list[str]) -> None:
    study = td.studies.Study("names", "RandomWalk-v0", methods, grid={"alpha": [0.1], "lam": lams})
    apart, under = by_family(study)
    assert list(apart.methods) == list(under) == names
    assert apart.grid.get("lam", []) == ([lam for lam in lams if not isinstance(lam, str)] or lams * (names == ["TD"]))


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (td.studies.Method("TD", options={"lam": 0.5}), "fixed"),
        (td.studies.Method("TD", options={"lam": "auto"}), "tuned"),
        (td.studies.Method("TD", "Meta"), "tuned"),
        (td.studies.Method("TD", "Greedy.published"), "tuned"),
        (td.studies.Method("TD", "my_rules:Clever"), "tuned"),
        (td.studies.Method("TD", "Fixed", options={"lam": 0.5}), "fixed"),
        (td.studies.Method("AutoTD"), "tuned"),
        (td.studies.Method("MonteCarlo"), "other"),
    ],
)
def test_where_lambda_comes_from(method: td.studies.Method, kind: str) -> None:
    study = td.studies.Study("one", "RandomWalk-v0", {"it": method})
    assert Overview(study, [], 0, 0, study.read_at, [], []).kind("it") == kind
