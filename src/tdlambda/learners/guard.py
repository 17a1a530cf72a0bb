"""One thread at a time: what a learner does while compiled code runs without the interpreter's lock."""

import threading
from types import TracebackType


class Guard:
    """Entered to change something: refuses a second thread instead of making it wait. The same thread may enter again.

    To copy something, enter `quiet`, which waits until it stands still.

    >>> guard = Guard("learner")
    >>> with guard, guard.quiet:
    ...     "at work"
    'at work'
    """

    def __init__(self, what: str) -> None:
        self._what, self.quiet = what, threading.RLock()

    def __enter__(self) -> None:
        """Begin, unless another thread is at work."""
        if not self.quiet.acquire(blocking=False):
            self.refuse()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let the next one in."""
        self.quiet.release()

    def refuse(self) -> None:
        """Say that another thread is at work."""
        raise RuntimeError(
            f"this {self._what} is in use by another thread; give each thread one of its own, such as a clone()"
        )
