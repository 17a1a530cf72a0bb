"""The benchmark of the engine: it measures what it says, on next to no work."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tdlambda.engine import run_learners
from tdlambda.runner import by_seed


@pytest.fixture(scope="module")
def benchmark() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    import engine

    sys.path.pop(0)
    yield engine
    del sys.modules["engine"]


@pytest.fixture(scope="module")
def found(benchmark: Any) -> dict[str, Any]:
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


def test_control_c_ends_the_benchmark_and_nothing_is_printed_of_it(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    monkeypatch.setattr(sys, "argv", ["engine.py", "--quick"])
    assert benchmark.main() == 130
    assert len(runs) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "interrupted; nothing is kept" in told.err


@pytest.mark.slow
def test_the_script_prints_a_table_and_json(
    benchmark: Any, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    monkeypatch.setattr(benchmark, "bench", lambda *_: found)
    monkeypatch.setattr(sys, "argv", ["engine.py", "--quick"])
    assert benchmark.main() == 0
    printed = capsys.readouterr().out
    assert "true online TD, 11 one-hot" in printed
    assert "hours on two cores" in printed
    monkeypatch.setattr(sys, "argv", ["engine.py", "--json"])
    assert benchmark.main() == 0
    read = json.loads(capsys.readouterr().out)
    assert [row["work"] for row in read["rows"]] == [row.work for row in found["rows"]]
    assert set(read) == {"machine", "rows", "speed", "tables"}
