"""The progress bar of `td.learn`; imported only when it is shown, because Rich is slow to import."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.text import Text


class Speed(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        """The mean speed so far."""
        return Text("" if task.speed is None else f"{task.speed:,.0f} steps/s")


def bar(steps: int) -> Progress:
    """A progress bar with steps, speed and remaining time."""
    progress = Progress(BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn())
    progress.add_task("learn", total=steps)
    return progress
