"""A progress bar for long streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tdlambda.extras import bar_wanted

LONG = 100_000
"""Number of rows from which a bar is shown by default."""


@contextmanager
def shown(total: int | None, progress: bool | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error; yield a function to call with the number of rows done."""
    if not bar_wanted(progress, total is None or total >= LONG):
        yield lambda rows: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.completed:,.0f} rows")
    with Progress(BarColumn(), words, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda rows: bar.update(task, completed=rows)
