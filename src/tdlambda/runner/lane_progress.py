"""The progress bar of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tdlambda.progress import Bar


class Progress:
    """A progress bar with lane-steps, speed, time left and diverged lanes; any thread may update it."""

    def __init__(self, total: int, show: bool | None) -> None:
        self._bar = Bar(total, show, "lane-steps")
        self._lock = threading.Lock()
        self._steps = self.diverged = 0

    def advance(self, lane_steps: int, diverged: int) -> None:
        """Count more steps and diverged lanes."""
        with self._lock:
            self._steps += lane_steps
            self.diverged += diverged

    def refresh(self) -> None:
        """Redraw the bar."""
        self._bar.update(self._steps, lambda: f"{self.diverged} diverged" if self.diverged else "")

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove the bar."""
        self._bar.__exit__(kind, error, at)


@contextmanager
def shown(total: int, progress: bool | Progress | None) -> Iterator[Progress]:
    """A new bar, shown for the duration of the context; or the given bar, unchanged."""
    if isinstance(progress, Progress):
        yield progress
        return
    with Progress(total, progress) as bar:
        yield bar
