"""The progress bar of a learner in an environment; imported when one is shown, because Rich is slow to import."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.text import Text


class Speed(ProgressColumn):
    """Steps per second."""

    def render(self, task: Task) -> Text:
        """So far."""
        return Text("" if task.speed is None else f"{task.speed:,.0f} steps/s")


def bar(steps: int) -> Progress:
    """Steps done, their speed and the time left."""
    progress = Progress(BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn())
    progress.add_task("learn", total=steps)
    return progress
