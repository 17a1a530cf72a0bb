"""Mutual exclusion: compiled code releases the GIL, so only one thread at a time may change a learner."""

import threading
from types import TracebackType


class Guard:
    """A reentrant lock that raises if another thread holds it, instead of waiting.

    Enter the guard to change an object. Enter `quiet` to copy the object: it waits until no thread is changing it.

    >>> guard = Guard("learner")
    >>> with guard, guard.quiet:
    ...     "at work"
    'at work'
    """

    def __init__(self, what: str) -> None:
        self._what, self.quiet = what, threading.RLock()

    def __enter__(self) -> None:
        """Acquire the lock; raise if another thread holds it."""
        if not self.quiet.acquire(blocking=False):
            self.refuse()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Release the lock."""
        self.quiet.release()

    def refuse(self) -> None:
        """Raise RuntimeError: another thread holds the lock."""
        raise RuntimeError(
            f"this {self._what} is in use by another thread; give each thread its own, for example a clone()"
        )
