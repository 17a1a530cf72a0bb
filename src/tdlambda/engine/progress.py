"""What somebody who waits wants to see."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        diverged = task.fields["diverged"]
        speed = f"{task.speed:,.0f} lane-steps/s" if task.speed else "…"
        return Text(speed + (f", {diverged} diverged" if diverged else ""))


class Progress:
    """Lane-steps done, their speed, the time left, and how many lanes have diverged; from any thread."""

    def __init__(self, total: int, show: bool | None) -> None:
        show = sys.stderr.isatty() if show is None else show
        self._bar = Bar(
            BarColumn(), "{task.percentage:>3.0f}%", _Speed(), TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=show), disable=not show, transient=True, auto_refresh=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=total, diverged=0)
        self._lock = threading.Lock()
        self._steps = self.diverged = 0

    def advance(self, lane_steps: int, diverged: int) -> None:
        """Count."""
        with self._lock:
            self._steps += lane_steps
            self.diverged += diverged

    def refresh(self) -> None:
        """Draw."""
        self._bar.update(self._task, completed=self._steps, diverged=self.diverged)
        self._bar.refresh()

    def __enter__(self) -> Self:
        """Show it."""
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take it away."""
        self._bar.stop()


@contextmanager
def shown(total: int, progress: bool | Progress | None) -> Iterator[Progress]:
    """A new bar; or somebody's that goes on, as it is."""
    if isinstance(progress, Progress):
        yield progress
        return
    with Progress(total, progress) as bar:
        yield bar
