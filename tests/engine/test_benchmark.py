"""The bench: it measures what it says, on next to no work."""

import signal
from typing import Any

import pytest
from commands import as_json, tdlambda

from tdlambda.engine import run_learners
from tdlambda.lab.cli import benchmark
from tdlambda.runner import by_seed


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    said: list[str] = []
    measured = benchmark.bench(0.002, said.append)
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


def test_control_c_ends_the_bench_and_nothing_is_printed_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_run, runs = run_learners.run, []

    def interrupt(*_: Any, **__: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return (), ()

    def run(*arguments: Any, **options: Any) -> Any:
        runs.append(arguments)
        if len(runs) == 2:  # in the middle of a run, by whoever waits for its threads
            monkeypatch.setattr(by_seed, "wait", interrupt)
        return engine_run(*arguments, **options)

    monkeypatch.setattr(benchmark, "run", run)
    told = tdlambda("bench", "--quick", expect=130)
    assert len(runs) == 2
    assert told.stdout == ""
    assert "interrupted; nothing is kept" in told.stderr


@pytest.mark.slow
def test_the_command_prints_a_table_and_json(found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "bench", lambda *_: found)
    told = tdlambda("bench", "--quick")
    assert "true online TD, 11 one-hot" in told.stdout
    assert "hours on two cores" in told.stdout
    read = as_json("bench")
    assert [row["work"] for row in read["rows"]] == [row.work for row in found["rows"]]
    assert set(read) == {"machine", "rows", "speed", "tables"}
