"""Ctrl-C as a request to stop soon, instead of an exception at an arbitrary point."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run early; `result` holds what was finished.

    Raised by `td.engine.run`, `td.control.run`, `td.train`, `td.learn` and `td.studies.run_study`. If it is not caught,
    the program ends. In a notebook, the next cell can read the result from `sys.last_value.result`.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> try:
    ...     found = td.engine.run(walk, [td.TD(walk.features, 0.1, 0.9)], seeds=4, steps=1000)
    ... except td.Interrupted as stopped:
    ...     found = stopped.result
    >>> found.seeds
    (0, 1, 2, 3)
    """

    def __init__(self, kept: str = "", result: Any = None) -> None:
        super().__init__(kept)
        self.result = result


@contextmanager
def postponed() -> Iterator[None]:
    """Raise KeyboardInterrupt for a Ctrl-C during this block only after the block; a second one has its usual effect.

    Imports of compiled modules need this: cut short, they raise other errors, such as ImportError. It does nothing if
    the program handles or ignores Ctrl-C itself.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _may_handle():
        yield
        return
    stop = threading.Event()
    with interruptible(stop):
        yield
    if stop.is_set():
        raise KeyboardInterrupt


@contextmanager
def interruptible(stop: threading.Event) -> Iterator[None]:
    """Make the first Ctrl-C set `stop`; a second one has its usual effect. It works in the main thread only."""
    if not _may_handle():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and callable(before):
            before(number, frame)
        stop.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _may_handle() -> bool:
    """Whether Ctrl-C can be handled here: in the main thread of the main interpreter, unless C code handles it."""
    try:
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    except (ValueError, TypeError):
        return False
    return True
