"""Progress bars on standard error.

Everywhere `progress=True` shows one, and `progress=None` only for long work in a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tdlambda.extras import missing, need

if TYPE_CHECKING:
    from rich.progress import Progress

LONG = 1.0
"""Work is long once it has taken this many seconds."""
PAUSE = 0.1
"""Seconds between two drawings."""


class Bar:
    """A progress bar with the share, number and speed of what is done, and the remaining time.

    Parameters
    ----------
    total
        Number of units of the whole work; None if it is not known.
    progress
        Whether to show it; None shows it in a terminal, if Rich is installed, once the work has taken a second.
    unit
        What is counted: "steps".
    """

    def __init__(self, total: int | None, progress: bool | None, unit: str) -> None:
        if progress:
            need("progress bars", "rich")
        self.total, self.unit = total, unit
        self._bar: Progress | None = None
        self._wanted = (sys.stderr.isatty() and not missing("rich")) if progress is None else progress
        self._next = time.monotonic() + (0.0 if progress else LONG)
        """The time from which an update is drawn."""
        self._latest: tuple[int, Callable[[], str]] = (0, str)

    def update(self, done: int, more: Callable[[], str] = str) -> None:
        """Set how many units are done; `more` makes a text to show after it, and is called only when it is drawn."""
        if self._wanted:
            self._latest = done, more
            if time.monotonic() >= self._next:
                self._draw()

    def _draw(self) -> None:
        done, more = self._latest
        if self._bar is None:
            self._bar = _rich_bar(self.total, done)
        (task,) = self._bar.tasks
        count = f"{done:,} {self.unit}" if self.total is None else f"{done:,}/{self.total:,} {self.unit}"
        said = [count, f"{task.speed:,.0f}/s" if task.speed else "", more()]
        self._bar.update(task.id, completed=done, said=", ".join(filter(None, said)))
        self._bar.start()  # if it is not shown yet
        self._bar.refresh()
        self._next = time.monotonic() + PAUSE

    def __enter__(self) -> Self:
        """Show the bar, if enabled."""
        self.update(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Draw it for the last time, and remove it."""
        if self._bar is not None:
            self._draw()
            self._bar.stop()


def _rich_bar(total: int | None, done: int) -> Progress:
    from rich.console import Console  # slow to import
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    share = [] if total is None else [TextColumn("{task.percentage:>3.0f}%")]
    live = sys.stderr.isatty()  # elsewhere only the last drawing is written, as plain text
    bar = Progress(
        BarColumn(20), *share, TextColumn("{task.fields[said]}", markup=False), TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=live or None), transient=live, auto_refresh=False,
    )  # fmt: skip
    bar.add_task("", total=total, completed=done, said="")
    return bar
