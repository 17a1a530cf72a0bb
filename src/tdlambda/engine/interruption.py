"""Ctrl-C as a wish to stop soon, not as an exception in the middle of something."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(stop: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C set `stop`, and a second one do what it did before; but not outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
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
