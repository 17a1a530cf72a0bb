"""A chunk of rows is learned by every question or by none; a refused row changes nothing; iterators lose no rows."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.streams import crew
from tdlambda.streams.journal import REPLAYED

N = 400
FRAME = {"flow": np.sin(np.arange(N) / 5) + 3, "heat": np.cos(np.arange(N) / 7)}
ROWS = [{"flow": float(a), "heat": float(b)} for a, b in zip(*FRAME.values(), strict=True)]
ASKED = {"a": td.Question("flow", gamma=0.9), "b": td.Question("heat", gamma=0.8), "c": td.Question("flow", gamma=0.5)}


def new(**options: Any) -> td.Horde:
    return td.Horde(None, ASKED, **options)


def contents(horde: td.Horde, folder: Path) -> bytes:
    """All that is saved of a Horde."""
    horde.save(folder / "horde")
    return (folder / "horde").read_bytes()


def breaking(monkeypatch: pytest.MonkeyPatch, error: BaseException, call: int) -> None:
    """Make a question's learning raise once, after the others before it have learned."""
    calls = 0

    def learn(*given: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error
        return own(*given)

    own = crew._learn
    monkeypatch.setattr(crew, "_learn", learn)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), MemoryError(), SystemExit(3)])
def test_a_chunk_is_learned_by_all_questions_or_by_none(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = contents(new().learn(FRAME, chunk=150), tmp_path)
    horde = new()
    breaking(monkeypatch, error, 5)  # in the second chunk, after the first question
    with pytest.raises(type(error)):
        horde.learn(FRAME, chunk=150)
    assert horde.rows == 150
    assert {one.steps for one in horde.learners.values()} == {149}  # type: ignore[attr-defined]
    horde.learn(FRAME, chunk=150, skip=horde.rows)
    assert contents(horde, tmp_path) == whole


def test_rows_one_by_one_are_learned_again_from_a_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Copies of the learners are rare; the rows since the last copy are learned again after an interrupt."""
    horde, whole, n = new(intervals=True), new(intervals=True), REPLAYED + 40
    own, count = crew.Crew.prequential, 0
    for row in ROWS[:n]:
        whole.update(row)

    def one(self: crew.Crew, *given: Any) -> Any:
        nonlocal count
        count += 1
        found = own(self, *given)
        if count in (10, 40):
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(crew.Crew, "prequential", one)
    stops = 0
    while horde.rows < n:
        try:
            horde.update(ROWS[horde.rows])
        except KeyboardInterrupt:
            stops += 1
    assert stops == 2
    assert contents(horde, tmp_path) == contents(whole, tmp_path)


def test_interrupts_in_another_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    horde = new()
    breaking(monkeypatch, SystemExit(), 5)

    def work() -> None:
        with suppress(SystemExit):
            horde.learn(FRAME, chunk=150)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert horde.rows == 150
    horde.learn(FRAME, chunk=150, skip=horde.rows)
    assert contents(horde, tmp_path) == contents(new().learn(FRAME, chunk=150), tmp_path)


def test_several_threads_may_update() -> None:
    horde, rows = new(), Shared(ROWS)

    def work() -> None:
        for row in rows:
            horde.update(row)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert horde.rows == N
    assert {one.steps for one in horde.learners.values()} == {N - 1}  # type: ignore[attr-defined]


def test_a_signal_handler_may_read_and_save_while_the_horde_learns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It sees the Horde before the chunk, which is then learned again."""
    first, own, seen = {name: column[:150] for name, column in FRAME.items()}, crew._learn, [b""] * 0
    horde, calls = new().learn(first), 0

    def learn(*given: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 2:
            seen.append(contents(horde, tmp_path))
        return own(*given)

    monkeypatch.setattr(crew, "_learn", learn)
    horde.learn(FRAME, chunk=150, skip=150)
    assert seen == [contents(new().learn(first), tmp_path)]
    assert contents(horde, tmp_path) == contents(new().learn(FRAME, chunk=150), tmp_path)


class Shared:
    """An iterator for several threads."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows, self.lock = iter(rows), threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self.lock:
            return next(self.rows)


# ---- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("value", [1e200, 1e308, float("inf")])
def test_a_refused_row_changes_nothing(intervals: bool, value: float) -> None:
    asked = {"a": ASKED["a"], "mine": td.Question(lambda row, after: after["x"] - 0 * row["x"], gamma=0.9)}
    rows = [row | {"x": 0.1 * t} for t, row in enumerate(ROWS[:50])]
    horde, other = (
        td.Horde(td.features.Columns("flow"), asked, intervals=intervals).learn(iter(rows)) for _ in range(2)
    )
    before = horde.predict(), horde.rows, horde.alarms
    with pytest.raises(
        ValueError, match=r"question 'mine': the absolute value of the cumulant must be finite and below"
    ):
        horde.update(ROWS[50] | {"x": value})
    assert (horde.predict(), horde.rows, horde.alarms) == before
    for each in (horde, other):
        each.update(ROWS[50] | {"x": 5.0})
    assert horde.predict() == other.predict()


def test_lanes_that_diverge_are_saved_as_they_are(tmp_path: Path) -> None:
    asked = {f"q{k}": td.Question("flow", gamma=0.3 + 0.15 * k) for k in range(5)}
    horde = td.Horde(td.features.Columns("flow"), asked, lambda x: td.TD(x, 1.3, 0.9))
    for row in ROWS[:60]:
        horde.update(row)
        horde.save(tmp_path / "horde")
        again = td.load(tmp_path / "horde")
        assert [one.steps for one in again.learners.values()] == [one.steps for one in horde.learners.values()]  # type: ignore[attr-defined]
    assert len({alarm.row for alarm in horde.alarms}) == 5  # one after another


# ---- iterators ---------------------------------------------------------------------------------------------------


def raising(n: int, error: BaseException) -> Iterator[Any]:
    yield from ROWS[:n]
    raise error


@pytest.mark.parametrize("n", [1, 2, 57, 99, 100, 130])
@pytest.mark.parametrize("chunk", [10, 10_000])
@pytest.mark.parametrize("error", [OSError("the line is dead"), KeyboardInterrupt()])
def test_rows_that_a_generator_yielded_before_it_raised_are_learned(n: int, chunk: int, error: BaseException) -> None:
    horde = new()
    with pytest.raises(type(error)):
        horde.learn(raising(n, error), chunk=chunk)
    assert horde.rows == n
    assert horde.predict() == new().learn(iter(ROWS[:n]), chunk=chunk).predict()


def test_frames_that_a_generator_yielded_before_it_raised_are_learned() -> None:
    pl = pytest.importorskip("polars")

    def frames() -> Iterator[Any]:
        for begin in range(0, 60, 20):
            yield pl.DataFrame(ROWS[begin : begin + 20])
        raise OSError("the line is dead")

    horde = new()
    with pytest.raises(OSError, match="the line is dead"):
        horde.learn(frames())
    assert horde.rows == 60
    assert horde.predict() == new().learn(iter(ROWS[:60])).predict()


@pytest.mark.parametrize("chunk", [10, 150])
@pytest.mark.parametrize("draw", [iter, lambda rows: iter(_frames(rows)), lambda rows: (row for row in rows)])
def test_rows_drawn_from_an_iterator_are_learned_by_the_next_call(
    draw: Callable[[Any], Any], chunk: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    horde, rows = new(), draw(ROWS)
    for call in (2, 8, 5):
        with monkeypatch.context() as patch:
            breaking(patch, KeyboardInterrupt(), call)
            with pytest.raises(KeyboardInterrupt):
                horde.learn(rows, chunk=chunk)
    horde.learn(rows, chunk=chunk)
    assert horde.rows == N
    assert contents(horde, tmp_path) == contents(new().learn(FRAME, chunk=chunk), tmp_path)


def _frames(rows: list[Any]) -> Iterator[Any]:
    pl = pytest.importorskip("polars")
    return (pl.DataFrame(rows[begin : begin + 45]) for begin in range(0, len(rows), 45))


def test_refused_rows_of_an_iterator_are_not_tried_again() -> None:
    rows = iter([*ROWS[:120], {"flow": 1e200, "heat": 0.0}, *ROWS[120:]])
    horde = new()
    with pytest.raises(ValueError, match="column 'flow', row 120"):
        horde.learn(rows, chunk=40)
    assert horde.rows == 100
    assert horde.learn(rows, chunk=40).rows == 100 + (N - 139)


def test_gamma_1_needs_an_end() -> None:
    for asked in (td.Question("flow", gamma=1), td.Question("flow", gamma=1.0), td.Question("flow", horizon=1e17)):
        with pytest.raises(ValueError, match=r"question 'mine': .* is 1, so its return never ends"):
            td.Horde(None, {"mine": asked})
        td.Horde(None, {"mine": asked}, terminated="ends")
    td.Horde(None, td.Question("flow", gamma="pace"))
