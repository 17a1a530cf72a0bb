"""Whatever holds the rows, and however many come at a time, the predictions are the same."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td
from tdlambda.features import Category, Columns, Cycle, Difference, Lag, Tiles

N = 1200
QUESTIONS = {"flow": td.Question("flow", horizon=6), "heat": td.Question("heat", gamma=0.5)}


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    t = np.arange(N)
    return pl.DataFrame(
        {
            "date": pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 12, 31), "1h", eager=True)[:N],
            "flow": 20 + 3 * np.sin(t / 4) + rng.normal(size=N),
            "heat": rng.normal(size=N),
            "state": rng.choice(["on", "off", "wait"], N),
        }
    )


WHOLE = frame()
FRAME = WHOLE[: N // 2]


def learned(data: Any, **options: Any) -> dict[str, float]:
    horde = td.Horde(None, QUESTIONS)
    return horde.learn(data, **options).predict()


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    return learned(FRAME)


def of_rows() -> Iterator[dict[str, Any]]:
    yield from FRAME.iter_rows(named=True)


def written(folder: Path) -> dict[str, Any]:
    FRAME.write_csv(folder / "rows.csv")
    FRAME.write_csv(folder / "semicolons.csv", separator=";")
    FRAME.write_parquet(folder / "rows.parquet")
    return {
        "csv": str(folder / "rows.csv"), "semicolons": folder / "semicolons.csv", "parquet": folder / "rows.parquet",
        "lazy": pl.scan_parquet(folder / "rows.parquet"), "reader": FRAME.to_arrow().to_reader(100),
    }  # fmt: skip


def test_every_source(truth: dict[str, float], tmp_path: Path) -> None:
    sources = {
        "pandas": FRAME.to_pandas(), "pyarrow": FRAME.to_arrow(), "columns": {n: FRAME[n] for n in FRAME.columns},
        "generator": of_rows(), "list of dicts": list(of_rows()), "frames": FRAME.iter_slices(250), **written(tmp_path),
    }  # fmt: skip
    for name, source in sources.items():
        assert learned(source) == truth, name


def test_the_chunk_does_not_matter(truth: dict[str, float], tmp_path: Path) -> None:
    sources = written(tmp_path)
    for chunk in (1, 7, 500):
        assert learned(FRAME, chunk=chunk) == truth
        assert learned(sources["csv"], chunk=max(chunk, 100)) == truth
        assert learned(sources["parquet"], chunk=max(chunk, 100)) == truth
    assert learned(of_rows(), chunk=13) == truth


def test_arrays_are_rows_of_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    asked = {"last": td.Question(2, gamma=0.8)}
    whole = td.Horde(None, asked).learn(X)
    assert td.Horde(None, asked).learn(iter(X)).predict() == whole.predict()
    one = td.Horde(None, asked)
    for x in X:
        one.update(x)
    assert one.predict() == whole.predict()
    assert whole.predict(X[:2])["last"].shape == (2,)


ALL = Columns(
    "flow", Lag("flow", 1, 24), Difference("heat", 3), Cycle("date", "day", harmonics=2), Cycle(None, 12.0),
    Category("state"), Category("state", ("on", "off")), Tiles("flow", "heat", tiles=4), window=300,
)  # fmt: skip


FEW = Columns("flow", Lag("flow", 1), Category("state", most=2))


def lane(x: Any) -> Any:
    return td.TrueOnlineTD(x, 0.01, 0.9)


@pytest.mark.parametrize(
    ("features", "kind"),
    [(ALL, lane), (FEW, lane), (FEW, td.AutoTD), pytest.param(ALL, td.AutoTD, marks=pytest.mark.slow)],
)
def test_save_and_go_on_bit_for_bit(features: Any, kind: Any, tmp_path: Path) -> None:
    rules: dict[str, Any] = {"missing": "hold", "gap": 7200.0, "intervals": kind is td.AutoTD and features is not ALL}
    gaps = WHOLE.filter(~pl.int_range(pl.len()).is_in([300, 301, 700]))
    gaps = gaps.with_columns(pl.when(pl.int_range(pl.len()) % 97 == 5).then(None).otherwise("heat").alias("heat"))
    whole = td.Horde(features, QUESTIONS, kind, **rules).learn(gaps[:400])
    part = td.Horde(features, QUESTIONS, kind, **rules).learn(gaps[:399])
    part.save(tmp_path / "horde")
    part = td.load(tmp_path / "horde")
    assert part.rows == 399
    part.learn(gaps, skip=part.rows)
    whole.learn(gaps[400:])
    assert part.predict() == whole.predict()
    assert part.alarms == whole.alarms
    part.save(tmp_path / "a")
    whole.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    if rules["intervals"]:
        assert part.interval() == whole.interval()
    row = {"date": WHOLE["date"][-1], "flow": 21.0, "heat": None, "state": "new"}
    before = part.predict()
    ahead = part.predict(row)
    assert part.predict() == before  # looking ahead changes nothing
    part.update(row)
    whole.update(row)
    assert part.predict() == whole.predict()
    if kind is td.AutoTD and features is not ALL:
        assert ahead.keys() == part.predict().keys()


def test_a_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    horde = td.Horde(None, QUESTIONS).learn(FRAME[:100])
    horde.save(tmp_path / "horde")
    data = bytearray((tmp_path / "horde").read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(40):
        bad = bytearray(data)
        bad[int(rng.integers(len(bad)))] ^= int(rng.integers(1, 256))
        (tmp_path / "bad").write_bytes(bad)
        with suppress(ValueError):
            td.load(tmp_path / "bad").predict()
    (tmp_path / "bad").write_bytes(data[:-100])
    with pytest.raises(ValueError, match="cannot be loaded"):
        td.load(tmp_path / "bad")


def test_functions_are_not_saved(tmp_path: Path) -> None:
    horde = td.Horde(None, td.Question(lambda row, after: after["heat"] - row["heat"], gamma=0.5)).learn(FRAME[:50])
    with pytest.raises(TypeError, match="question 'question': its cumulant is a function"):
        horde.save(tmp_path / "horde")
