"""What is wrong is said by name, row and value, and nothing is half learned."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td
from tdlambda.features import Category, Columns, Cycle, Lag, Tiles

N = 60
GOOD: dict[str, Any] = {"t": np.arange(float(N)), "flow": np.sin(np.arange(N) / 3), "heat": np.cos(np.arange(N) / 5)}
FLOW = td.Question("flow", gamma=0.9)


def refused(said: str, data: Any, questions: Any = FLOW, features: Any = None, **options: Any) -> None:
    """Refused with these words, by a Horde that then learns as if nothing had been."""
    horde = td.Horde(features, questions, **options)
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        horde.learn(data)
    assert horde.rows == 0
    if questions is FLOW and features is None and not options:
        assert horde.learn(GOOD).predict() == td.Horde(None, FLOW).learn(GOOD).predict()


def changed(name: str, row: int, value: Any) -> dict[str, Any]:
    column = list(GOOD[name])
    column[row] = value
    return GOOD | {name: column}


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("gamma must be in [0, 1]; got 1.5", {"gamma": 1.5}),
        ("horizon must be at least 1 step and finite; got 0.5", {"horizon": 0.5}),
        ("give either gamma or horizon", {}),
        ("give either gamma or horizon", {"gamma": 0.9, "horizon": 3}),
        ("target and behavior must be given together", {"gamma": 0.9, "target": "pi"}),
        ("give either rho, or target and behavior", {"gamma": 0.9, "rho": 1.0, "target": "pi", "behavior": "b"}),
        ("rho must be finite and not negative", {"gamma": 0.9, "rho": -1.0}),
    ],
)
def test_questions(said: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        td.Question("flow", **arguments)


def test_arguments() -> None:
    with pytest.raises(TypeError, match="cumulant must be a column or a function"):
        td.Question(2.5, gamma=0.9)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="questions: 'a' must be a"):
        td.Horde(None, {"a": "flow"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="questions must contain at least one"):
        td.Horde(None, {})
    with pytest.raises(TypeError, match="learner must be a function of the features"):
        td.Horde(None, FLOW, "TD")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='missing must be one of "raise", "hold", "mask"; got'):
        td.Horde(None, FLOW, missing="drop")
    with pytest.raises(ValueError, match="the Horde has not seen a row yet"):
        td.Horde(None, FLOW).predict()
    with pytest.raises(ValueError, match="intervals=True"):
        td.Horde(None, FLOW).learn(GOOD).interval()
    for wrong in (lambda: Lag("flow"), lambda: Lag("flow", 0), lambda: Cycle("t"), lambda: Cycle("t", "days"), Tiles):
        with pytest.raises(ValueError, match=r"steps|period|Tiles"):
            wrong()


def test_columns() -> None:
    refused("there is no column 'flwo'; did you mean 'flow'?", GOOD, td.Question("flwo", gamma=0.9))
    refused("there is no column 'hea'", GOOD, features=Columns("hea"))
    refused("by: there is no column 'machine'", GOOD, by="machine")
    refused("there is no column 'gama'", GOOD, td.Question("flow", gamma="gama"))
    refused("column 'heat' has no value in 60 rows", GOOD | {"heat": np.full(N, np.nan)},
            features=Columns("heat"))  # fmt: skip
    refused("column 'heat', row 7: the value is missing", changed("heat", 7, None), missing="raise")
    for large in (np.inf, -1e200):
        said = f"column 'heat', row 7: the absolute value must be finite and below 1e150; got {large}"
        refused(said, changed("heat", 7, large), missing="mask")
        refused(said, changed("heat", 7, large))
    refused(
        "column 'heat', row 7: the value must be a number or date, as in other rows; got 'x'",
        pl.DataFrame(changed("heat", 7, "x"), strict=False),
        missing="raise",
    )
    refused("must be numbers; got 'a'", GOOD | {"flow": ["a"] * N})
    refused("time: column 't' goes backwards at row 9, from 8 to 2", changed("t", 9, 2.0), time="t")
    refused("terminated must be true or false; got 2.0 (row 4)", changed("t", 4, 2.0) | {"t": [0, 0, 0, 0, 2] * 12},
            terminated="t")  # fmt: skip
    refused("question 'flow': gamma must be in [0, 1]; got 3.0 (row 5)", GOOD | {"g": [0.5] * 5 + [3.0] * 55},
            td.Question("flow", gamma="g"))  # fmt: skip
    refused("data must be a data frame", 3)
    refused("for one row, use update(row)", {"flow": 1.0})


def test_a_function_that_fails_is_named_with_its_row() -> None:
    def bad(row: Any, after: Any) -> float:
        return 1.0 / (after["t"] - 40) * row["flow"]

    refused("question 'mine': its cumulant failed at row 40 with ZeroDivisionError", GOOD,
            {"flow": FLOW, "mine": td.Question(lambda row, after: 1 / 0 if after["t"] == 40 else 0.0 * row["t"],
                                               gamma=0.5)})  # fmt: skip
    refused("must be a number; got 'x'", GOOD, {"mine": td.Question(lambda row, after: "x", gamma=0.5)})  # type: ignore[arg-type,return-value]  # noqa: ARG005
    half = td.Horde(None, {"mine": td.Question(bad, gamma=0.5)})
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match="the cumulant must be finite"):
        half.learn(GOOD, chunk=7)
    assert half.rows in (35, 0)  # whole chunks
    part = td.Horde(None, {"mine": td.Question(bad, gamma=0.5)})
    assert half.predict() == part.learn({n: c[: half.rows] for n, c in GOOD.items()}).predict()


def test_columns_that_change_between_chunks() -> None:
    good = pl.DataFrame(GOOD)
    for second, said in (
        (good.drop("heat"), "the columns change at row 60: 'heat' missing"),
        (good.with_columns(new=pl.lit(1.0)), "the columns change at row 60: 'new' new"),
    ):
        horde = td.Horde(None, FLOW).learn(good)
        before = horde.predict()
        with pytest.raises(ValueError, match=re.escape(said)):
            horde.learn(iter([second]))
        assert horde.predict() == before
    with pytest.raises(ValueError, match="the columns change at row 1"):
        td.Horde(None, FLOW).learn(iter([{"flow": 1.0}, {"flow": 1.0, "x": 2.0}]))
    with pytest.raises(ValueError, match="row 1 has 2 numbers, but the rows before it have 3"):
        td.Horde(None, td.Question(0, gamma=0.5)).learn(iter([np.zeros(3), np.zeros(2)]))


def test_text_where_a_number_belongs_in_a_file(tmp_path: Path) -> None:
    lines = ["flow,heat", *(f"{v},{w}" for v, w in zip(GOOD["flow"], GOOD["heat"], strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join([*lines[:31], "1.0,broken", *lines[31:]]))
    said = "column 'heat', row 30: the value must be a number or date, as in other rows; got 'broken'"
    refused(said, tmp_path / "rows.csv", missing="raise")
    (tmp_path / "rows.csv").write_text("\n".join([*lines[:31], "1.0", *lines[31:]]))
    refused("row 30 must have 2 cells; got 1", tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("\n".join([*lines[:31], "NA,", *lines[31:]]))
    refused("column 'flow', row 30: the value is missing", tmp_path / "rows.csv", missing="raise")
    horde = td.Horde(None, FLOW, missing="hold").learn(tmp_path / "rows.csv")
    assert horde.rows == 61
    (tmp_path / "rows.csv").write_text("flow,flow\n1,2\n")
    refused("the first line must contain distinct column names", tmp_path / "rows.csv")


def test_a_failed_update_changes_nothing() -> None:
    horde = td.Horde(Columns("flow", Lag("flow", 2), Category("kind")), FLOW, missing="raise")
    rows: list[Any] = [{"flow": float(np.sin(k)), "kind": "ab"[k % 2]} for k in range(40)]
    for row in rows:
        horde.update(row)
    reference = td.Horde(Columns("flow", Lag("flow", 2), Category("kind")), FLOW, missing="raise").learn(iter(rows))
    for bad in ({"flow": None, "kind": "a"}, {"flow": "x", "kind": "a"}, {"flow": np.inf, "kind": "a"}, {"kind": "a"}):
        with pytest.raises(ValueError, match="flow"):
            horde.update(bad)
    horde.update(rows[0])
    reference.update(rows[0])
    assert horde.predict() == reference.predict()


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_an_interval_has_a_level_between_0_and_1(level: float) -> None:
    horde = td.Horde(None, FLOW)
    message = rf"^level must be in \(0, 1\), such as 0\.9; got {level}$"
    with pytest.raises(ValueError, match=message):
        td.streams.prequential(horde, {"flow": [1.0, 2.0, 3.0]}, level=level)
    assert horde.rows == 0
    with pytest.raises(ValueError, match=message):
        td.Horde(None, FLOW, intervals=True).learn(GOOD).interval(level=level)
    with pytest.raises(ValueError, match=message):
        td.AutoTD(td.features.OneHot(3)).interval(0, level=level)
    with pytest.raises(ValueError, match=message):
        td.studies.compare([1.0, 2.0], [1.0, 2.0], level=level)
