"""The progress bar of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tdlambda.extras import bar_wanted

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """A progress bar with lane-steps, speed, time left and diverged lanes; any thread may update it."""

    def __init__(self, total: int, show: bool | None) -> None:
        self._bar = _bar(total) if bar_wanted(show) else None
        self._lock = threading.Lock()
        self._steps = self.diverged = 0

    def advance(self, lane_steps: int, diverged: int) -> None:
        """Count more steps and diverged lanes."""
        with self._lock:
            self._steps += lane_steps
            self.diverged += diverged

    def refresh(self) -> None:
        """Redraw the bar."""
        if self._bar is not None:
            (task,) = self._bar.tasks
            said = f"{task.speed:,.0f} lane-steps/s" if task.speed else "…"
            said += f", {self.diverged} diverged" if self.diverged else ""
            self._bar.update(task.id, completed=self._steps, said=said)
            self._bar.refresh()

    def __enter__(self) -> Self:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def _bar(total: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        BarColumn(), TextColumn("{task.percentage:>3.0f}% {task.fields[said]}"), TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=True), transient=True, auto_refresh=False,
    )  # fmt: skip
    bar.add_task("", total=total, said="…")
    return bar


@contextmanager
def shown(total: int, progress: bool | Progress | None) -> Iterator[Progress]:
    """A new bar, shown for the duration of the context; or the given bar, unchanged."""
    if isinstance(progress, Progress):
        yield progress
        return
    with Progress(total, progress) as bar:
        yield bar
