"""`tdlambda watch`."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tdlambda.lab.cli.output import console, duration, number, print_json

if TYPE_CHECKING:
    from tdlambda.lab.studies.watching import Best, StudyProgress, Watcher

_NAMES = {"alpha": "α", "lam": "λ", "kappa": "κ"}
_BAR = 20
_SPARED = ("", "95 % interval", "best so far", "diverged")
"""Columns that a narrow terminal leaves out, in this order."""
_READING = 0.5
"""Seconds of reading between two views, so that the first view appears at once."""


def watch(
    directory: Annotated[Path, typer.Argument(help="Directory of the study's results, such as results/NAME.")],
    every: Annotated[float, typer.Option(help="Seconds between two views.", min=0.1)] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one view and exit.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one view as JSON.")] = False,
) -> None:
    """Watch a running study: progress, speed, best cells so far, divergence. Read-only; it exits when the study ends.

    Example: [bold]tdlambda watch results/ringworld-0.40-0.35[/bold]
    """
    from tdlambda.lab.studies.watching import Watcher  # Numba is slow to import

    watcher = Watcher(directory)
    try:
        if json:
            state = watcher.look()
            print_json(asdict(state) | {"finished": state.finished})
        elif once or not console.is_terminal:  # a pipe gets one view: the last, or with --once the current one
            while not (state := watcher.look()).finished and not once:
                time.sleep(every)
            shown = view(state)
            Console(width=max(_width(shown), console.width), highlight=False).print(shown)
        else:
            _live(watcher, every)
    except KeyboardInterrupt:  # exit code 0 would mean that the study is finished
        raise typer.Exit(130) from None


def _live(watcher: Watcher, every: float) -> None:
    state = watcher.look(_READING)
    with Live(view(state, console.width), console=console, auto_refresh=False) as live:
        while not state.finished:
            time.sleep(0 if state.read + len(state.unreadable) < state.done else every)
            state = watcher.look(_READING)
            live.update(view(state, console.width), refresh=True)


def view(state: StudyProgress, width: int | None = None) -> RenderableType:
    """Render the state; a narrow terminal gets fewer columns rather than truncated numbers."""
    if not state.study:
        return Text(f"no results in {state.directory} yet")
    title = f"[bold]{escape(state.study)}[/]: {escape(state.title)}, {state.seeds} seeds × {state.steps:,} {state.unit}"
    table = next((t for k in range(5) if _width(t := _methods(state, _SPARED[:k])) <= (width or 1000)), None)
    lines: list[RenderableType] = [
        Text.from_markup(title), table or _methods(state, _SPARED), Text.from_markup(_progress(state))
    ]  # fmt: skip
    for sitting in state.sessions:
        since = sitting.since.replace("T", " ").replace("Z", " UTC")
        doing = "compiling" if sitting.preparing else "at work"
        lines.append(Text(f"{doing}: {sitting.host} since {since}, on {sitting.units} units"))
    if not state.sessions and state.done < state.wanted:
        lines.append(Text("no process is running this study; tdlambda run resumes it", style="yellow"))
    lines += [Text(f"damaged: {path}; tdlambda run recomputes it", style="red") for path in state.damaged]
    if state.unreadable:
        more = f" (and {len(state.unreadable) - 1} more)" if len(state.unreadable) > 1 else ""
        lines.append(Text(state.unreadable[0] + more, style="yellow"))
    if state.set_aside:
        lines.append(Text(f"{state.set_aside} files damaged earlier, in {state.directory}/set-aside", style="yellow"))
    return Group(*lines)


def _methods(state: StudyProgress, without: tuple[str, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0))
    final = f"final {state.quantity}"
    names = ("method", "", "done", "best so far", final, "95 % interval", "diverged")
    for name in names:
        if name not in without:
            table.add_column(name, justify="right" if name in ("done", final) else "left", no_wrap=True)
    for method in state.methods:
        best = method.best
        row: tuple[RenderableType, ...] = (
            escape(method.name), ProgressBar(method.wanted, method.done, width=_BAR),
            f"{method.done} of {method.wanted}",
            "" if best is None else _settings(best), "" if best is None else number(best.mean),
            "" if best is None or not math.isfinite(best.low) else f"{best.low:.3g} to {best.high:.3g}",
            f"[red]{method.diverged} of {method.runs}[/]" if method.diverged else f"0 of {method.runs}",
        )  # fmt: skip
        table.add_row(*(cell for name, cell in zip(names, row, strict=True) if name not in without))
    return table


def _width(shown: RenderableType) -> int:
    return Measurement.get(console, console.options.update(max_width=1000), shown).maximum


def _settings(best: Best) -> str:
    text = ", ".join(f"{_NAMES.get(name, name)} = {_short(value)}" for name, value in best.settings.items())
    lost = f" ({best.diverged} of {best.n} diverged)" if best.diverged else ""
    return escape(text + lost)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _progress(state: StudyProgress) -> str:
    parts = [f"[bold]{state.done} of {state.wanted} units[/]"]
    if state.read < state.done:
        parts.append(f"{state.done - state.read} not read yet")
    if state.units_per_minute is not None and state.lane_steps_per_second is not None:
        parts.append(f"{state.units_per_minute:.3g} units/min")
        parts.append(f"{state.lane_steps_per_second:.3g} lane-{state.unit}/s")
    if state.finished:
        parts.append("[green]finished[/]")
    elif state.seconds_left is not None:
        parts.append(f"about {duration(state.seconds_left)} left")
    elif state.sessions:
        parts.append("no estimate yet")
    if state.seconds_since is not None and not state.finished:
        parts.append(f"last unit {duration(state.seconds_since)} ago")
    return ", ".join(parts)
