"""learn_from_log: the same transitions teach the same, whatever table they are in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.learners.log import learn_from_log

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

LOG = td.make("RingWorld-v0").sampler(seed=1).take(1000)
LOG = replace(LOG, truncated=np.arange(1000) % 97 == 96)
NAMES = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
COLUMNS: dict[str, Any] = {name: getattr(LOG, name) for name in NAMES}
CAR = td.make("MountainCar-v0", preset="off-policy", limit=100).sampler(seed=1).take(500)


def batches(columns: dict[str, Any], size: int = 130) -> Any:
    table = pa.table(columns)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size))


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict of arrays": dict,
    "dict of lists": lambda c: {name: column.tolist() for name, column in c.items()},
    "polars": pl.DataFrame,
    "polars lazy": lambda c: pl.DataFrame(c).lazy(),
    "pandas": pd.DataFrame,
    "pandas, rows numbered oddly": lambda c: pd.DataFrame(c, index=np.arange(1000)[::-1]),
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas, by pyarrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": pa.table,
    "pyarrow in pieces": lambda c: pa.Table.from_batches(pa.table(c).to_batches(max_chunksize=77)),
    "pyarrow batch": pa.RecordBatch.from_pydict,
    "pyarrow reader": batches,
}


def learner() -> td.TrueOnlineTD:
    return td.TrueOnlineTD(td.features.OneHot(11), alpha=0.05, lam=0.9)


def car_learner() -> td.TrueOnlineTD:
    return td.TrueOnlineTD(td.features.TileCoder([-1.2, -0.07], [0.6, 0.07]), alpha=0.01, lam=0.9)


def expected(log: td.mdp.Transitions = LOG) -> Any:
    v = learner() if log is LOG else car_learner()
    v.update_many(log)
    return v.weights.tolist()


@pytest.mark.parametrize("chunk", [1, 100, 100_000])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_teaches_the_same(form: str, chunk: int) -> None:
    v = learner()
    assert learn_from_log(FORMS[form](COLUMNS), v, chunk=chunk) is v
    assert v.weights.tolist() == expected()


def test_transitions() -> None:
    assert learn_from_log(LOG, learner(), chunk=99).weights.tolist() == expected()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_other_integers(dtype: str) -> None:
    columns = COLUMNS | {"obs": LOG.obs.astype(dtype), "next_obs": LOG.next_obs.astype(dtype)}
    for form in (dict, pl.DataFrame, pd.DataFrame, pa.table):
        assert learn_from_log(form(columns), learner()).weights.tolist() == expected()


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.int8])
def test_flags_as_numbers(dtype: type) -> None:
    flags = {name: COLUMNS[name].astype(dtype) for name in ("terminated", "truncated")}
    assert learn_from_log(pl.DataFrame(COLUMNS | flags), learner()).weights.tolist() == expected()


# ---- observations of several numbers -------------------------------------------------------------------------


VECTORS: dict[str, Callable[[], Any]] = {
    "polars lists": lambda: pl.DataFrame(car_columns(list)),
    "polars arrays": lambda: pl.DataFrame(car_columns(np.asarray)),
    "pandas lists": lambda: pd.DataFrame(car_columns(list)),
    "pyarrow lists": lambda: pa.table(car_columns(lambda rows: rows.tolist())),
    "pyarrow fixed lists": lambda: pa.table(
        car_columns(lambda rows: pa.array(rows.tolist(), pa.list_(pa.float64(), 2)))
    ),
    "dict": lambda: car_columns(np.asarray),
}


def car_columns(pack: Callable[[Any], Any]) -> dict[str, Any]:
    columns = {name: getattr(CAR, name) for name in NAMES}
    return columns | {"obs": pack(CAR.obs), "next_obs": pack(CAR.next_obs)}


@pytest.mark.parametrize("form", VECTORS)
def test_columns_of_lists(form: str) -> None:
    assert learn_from_log(VECTORS[form](), car_learner(), chunk=123).weights.tolist() == expected(CAR)


@pytest.mark.parametrize("form", ["dict of arrays", "polars", "pandas", "pyarrow", "pyarrow reader"])
def test_a_column_for_each_dimension(form: str) -> None:
    columns = car_columns(np.asarray)
    obs, next_obs = columns.pop("obs"), columns.pop("next_obs")
    columns |= {"x": obs[:, 0], "v": obs[:, 1], "x'": next_obs[:, 0], "v'": next_obs[:, 1]}
    v = learn_from_log(FORMS[form](columns), car_learner(), obs=["x", "v"], next_obs=("x'", "v'"))
    assert v.weights.tolist() == expected(CAR)


# ---- names, constants and defaults ---------------------------------------------------------------------------


def test_other_names() -> None:
    names: dict[str, Any] = {name: f"my {name}" for name in NAMES}
    table = pl.DataFrame({names[name]: column for name, column in COLUMNS.items()})
    assert learn_from_log(table, learner(), **names).weights.tolist() == expected()


def test_pandas_columns_named_as_methods_of_other_tables() -> None:
    table = pd.DataFrame(COLUMNS).rename(columns={"obs": "column", "reward": "collect", "gamma": "read_next_batch"})
    v = learn_from_log(table, learner(), obs="column", reward="collect", gamma="read_next_batch")
    assert v.weights.tolist() == expected()


@pytest.mark.parametrize("form", ["dict of arrays", "polars", "pandas", "pyarrow", "pyarrow reader"])
def test_constants_and_defaults(form: str) -> None:
    table = FORMS[form]({name: COLUMNS[name] for name in ("obs", "reward", "next_obs")})
    plain, given = learner(), learner()
    plain.update_many(LOG.obs, LOG.reward, LOG.next_obs, 0.9)
    assert learn_from_log(table, given, gamma=0.9).weights.tolist() == plain.weights.tolist()
    plain.update_many(LOG.obs, LOG.reward, LOG.next_obs, 0, 0.5, False, True)
    table = FORMS[form]({name: COLUMNS[name] for name in ("obs", "reward", "next_obs")})
    assert (
        learn_from_log(table, given, gamma=0, rho=np.float64(0.5), truncated=True).weights.tolist()
        == plain.weights.tolist()
    )


@pytest.mark.parametrize("form", ["dict of arrays", "polars", "pandas", "pyarrow"])
def test_no_rows(form: str) -> None:
    table = FORMS[form]({name: column[:0] for name, column in COLUMNS.items()})
    assert learn_from_log(table, learner()).steps == 0


def test_observations_that_are_words() -> None:
    features = td.features.Custom(lambda word: [len(word), "a" in word], size=2)
    log = {"obs": ["ant", "bee"], "reward": [1.0, 2.0], "next_obs": ["bee", "cat"]}
    results = [
        learn_from_log(form(log), td.TD(features, 0.1), gamma=0.9).weights.tolist()
        for form in (dict, pl.DataFrame, pd.DataFrame, pa.table)
    ]
    assert all(result == results[0] for result in results)


# ---- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ("gamma", "pass gamma="),
        ("obs", "obs: the table has no column 'obs'"),
        ("next_obs", "next_obs: the table has no column 'next_obs'.*pass next_obs="),
        ("reward", "reward: the table has no column 'reward'"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_is_not_there(form: str, absent: str, message: str) -> None:
    columns = {name: column for name, column in COLUMNS.items() if name != absent}
    with pytest.raises(ValueError, match=message):
        learn_from_log(FORMS[form](columns), learner())


@pytest.mark.parametrize("name", ["rho", "terminated", "truncated", "gamma"])
def test_a_name_that_is_not_the_default_must_be_there(name: str) -> None:
    names: dict[str, Any] = {name: "other"}
    with pytest.raises(ValueError, match=f"{name}: the table has no column 'other'"):
        learn_from_log(COLUMNS, learner(), **names)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", [dict, pl.DataFrame, pd.DataFrame, pa.table, batches], ids=lambda form: form.__name__)
def test_a_gap_is_named_before_anything_is_learned(form: Callable[[Any], Any], name: str) -> None:
    values = COLUMNS[name].tolist()
    values[77] = None
    v = learner()
    with pytest.raises(ValueError, match=f"column '{name}', row 77: the value is missing"):
        learn_from_log(form(COLUMNS | {name: values}), v, chunk=10)
    assert v.steps == 0


def test_a_gap_in_a_later_batch() -> None:
    values = LOG.reward.tolist()
    values[300] = None
    v = learner()
    with pytest.raises(ValueError, match="column 'reward', row 300"):
        learn_from_log(batches(COLUMNS | {"reward": values}), v)
    assert v.steps == 260  # what came before that batch


@pytest.mark.parametrize("form", [dict, pl.DataFrame, pd.DataFrame, pa.table], ids=lambda form: form.__name__)
def test_a_gap_within_a_list(form: Callable[[Any], Any]) -> None:
    for gap in ([0.1, None], None):
        rows = CAR.obs.tolist()
        rows[8] = gap
        with pytest.raises(ValueError, match="column 'obs', row 8"):
            learn_from_log(form(car_columns(lambda rows: rows.tolist()) | {"obs": rows}), car_learner())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reward", np.inf, r"reward must be finite; got inf \(row 500\)"),
        ("reward", np.nan, "column 'reward', row 500: the value is missing"),
        ("gamma", 1.1, r"gamma must be in \[0, 1\]; got 1\.1 \(row 500\)"),
        ("rho", -1.0, r"rho must be finite and not negative; got -1\.0 \(row 500\)"),
        ("rho", np.inf, r"rho must be finite and not negative; got inf \(row 500\)"),
        ("terminated", 2, r"terminated must be True or False; got 2\.0 \(row 500\)"),
    ],
)
def test_a_number_that_cannot_be_is_named_before_anything_is_learned(name: str, value: Any, message: str) -> None:
    column = COLUMNS[name].astype(np.float64)
    column[500] = value
    v = learner()
    with pytest.raises(ValueError, match=message):
        learn_from_log(pl.DataFrame(COLUMNS | {name: column}), v, chunk=10)
    assert v.steps == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"table": "log.parquet"}, TypeError, "table must be a data frame"),
        ({"table": [1, 2]}, TypeError, "table must be a data frame"),
        ({"table": COLUMNS | {"rho": np.ones(5)}}, ValueError, "rho must have 1000 rows"),
        ({"table": COLUMNS | {"rho": ["a"] * 1000}}, TypeError, "rho must be a column of numbers"),
        ({"table": COLUMNS | {"terminated": ["no"] * 1000}}, TypeError, "terminated must be a column of True"),
        ({"table": COLUMNS | {"obs": 3}}, ValueError, "one value for each row"),
        ({"table": COLUMNS | {"obs": [[1, 2], [3]] * 500}}, ValueError, "got 1 numbers in row 1, 2 in row 0"),
        ({"obs": 3}, TypeError, "obs must be the name of a column or a list of names; got 3"),
        ({"reward": ["reward"]}, TypeError, "reward must be the name"),
        ({"gamma": 1.5}, ValueError, r"gamma must be in \[0, 1\]; got 1\.5 \(row 0\)"),
        ({"gamma": np.ones(1000)}, TypeError, "gamma must be the name of a column or one value for all rows"),
        ({"gamma": None}, TypeError, "gamma must be the name of a column or one value for all rows"),
        ({"chunk": 0}, ValueError, "chunk must be at least 1"),
    ],
)
def test_errors(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    v = learner()
    with pytest.raises(error, match=message):
        learn_from_log(**{"table": COLUMNS, "learner": v, **arguments})
    assert v.steps == 0


def test_no_table_library_is_imported() -> None:
    import subprocess
    import sys

    check = "import sys, tdlambda.learners.log as m; assert not {'polars', 'pandas', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
