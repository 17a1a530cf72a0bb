"""`tdlambda stream`."""

from __future__ import annotations

import json as json_module
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdlambda.cli.output import console

if TYPE_CHECKING:
    from tdlambda.streams import Horde


def stream(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with one row per step.", show_default=False)],
    predict: Annotated[
        list[str] | None, typer.Option(help="Column to predict; may be repeated.", show_default=False)
    ] = None,
    horizon: Annotated[
        list[float] | None,
        typer.Option(help="Horizon in rows; may be repeated; 24 by default.", show_default=False),
    ] = None,
    total: Annotated[bool, typer.Option("--sum", help="Predict the discounted sum instead of the mean.")] = False,
    by: Annotated[str | None, typer.Option(help="Column that identifies the machine or episode.")] = None,
    time: Annotated[str | None, typer.Option(help="Time column; by default the only column of dates.")] = None,
    gap: Annotated[float | None, typer.Option(help="Longest time between consecutive rows, in seconds.", min=0)] = None,
    terminated: Annotated[str | None, typer.Option(help="Column that is true where an episode ends.")] = None,
    missing: Annotated[str, typer.Option(help="Missing values: raise, hold or mask.")] = "raise",
    period: Annotated[int | None, typer.Option(help="Season length in rows, for the seasonal baseline.", min=2)] = None,
    boosting: Annotated[bool, typer.Option("--boosting", help="Also use gradient boosting as a baseline.")] = False,
    page: Annotated[Path | None, typer.Option(help="File to write the page to; FILE.html by default.")] = None,
    save: Annotated[Path | None, typer.Option(help="File to save the trained Horde to, for td.load.")] = None,
    load: Annotated[Path | None, typer.Option(help="Continue with a saved Horde after the rows it has seen.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep learning as the file grows, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two checks of the file.", min=0.01)] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; with --follow, one line per check.")] = False,
) -> None:
    """Predict columns of a file row by row; score the predictions against baselines, and write a page.

    Example: [bold]tdlambda stream sensors.csv --predict flow --horizon 24 --save flow.horde[/bold]
    """
    import tdlambda as td  # Numba is slow to import

    if load is not None and predict:
        raise ValueError("--predict: a saved Horde has its own questions; leave --predict or --load out")
    if load is not None:
        horde = td.load(load)
    elif not predict:
        raise ValueError("--predict is missing: name a column to predict, or load a saved Horde with --load")
    else:
        asked = {
            _name(column, steps, len(horizon or ())): td.Question(column, horizon=steps, average=not total)
            for column in predict
            for steps in horizon or [24.0]
        }
        rules: Any = {"by": by, "time": time, "gap": gap, "terminated": terminated, "missing": missing}
        horde = td.Horde(None, asked, variance=True, **rules)
    try:
        if load is None:
            names = ["running mean", "last value", "seasonal", "ridge"] + ["gradient boosting"] * boosting
            _score(horde, file, page or file.with_suffix(".html"), period, names, json, follow)
        elif not follow:
            horde.learn(file, skip=horde.rows)
            _say(horde, json)
        if follow:
            _follow(horde, file, every, save, json)
    except KeyboardInterrupt:
        if save is not None and horde.rows:
            horde.save(save)
        kept = (
            f"saved to {save}"
            if save is not None and horde.rows
            else "nothing was saved; use --save FILE to keep what was learned"
        )
        print(f"stopped after {horde.rows:,} rows; {kept}", file=sys.stderr)
        raise typer.Exit(130) from None
    if save is not None:
        horde.save(save)
        if not json:
            console.print(f"saved to {save}: td.load({str(save)!r})")


def _name(column: str, steps: float, several: int) -> str:
    return f"{column}, {steps:g} rows" if several > 1 else column


def _score(
    horde: Horde, file: Path, page: Path, period: int | None, names: list[str], json: bool, follow: bool
) -> None:
    """Learn from the rows already in the file, and score every prediction."""
    import tdlambda as td
    from tdlambda.streams.csv_text import Text

    text = follow and file.suffix.lower() not in (".parquet", ".pq")
    data: Any = Text(file, finished=True).read(10_000) if text else file
    result = td.streams.prequential(horde, data, period=period, baselines=names)
    result.page(page)
    if json and follow:
        _say(horde, json)
    elif json:
        print(result.to_json())
    else:
        console.print(str(horde.features), markup=False)
        console.print(str(result), markup=False, soft_wrap=True)
        _say(horde, json)
        console.print(f"wrote {page}")


def _follow(horde: Horde, file: Path, every: float, save: Path | None, json: bool) -> None:
    """Learn from rows as they are written."""
    from tdlambda.streams.tail import tail

    if file.suffix.lower() in (".parquet", ".pq"):
        raise ValueError(f"--follow needs a CSV file, because a Parquet file cannot grow; got {file}")
    for batch in tail(file, horde.rows, every, lambda text: print(text, file=sys.stderr, flush=True)):
        if batch is None:
            continue
        said = horde.alarm_count
        horde.learn(batch)
        new = horde.alarm_count - said
        alarms = horde.alarms[-new:] if new else []
        if new > len(alarms):
            print(f"alarm: {new - len(alarms):,} alarms before the following ones", file=sys.stderr)
        for alarm in alarms:
            print(f"alarm: {alarm}", file=sys.stderr, flush=True)
        _say(horde, json)
        if save is not None:
            horde.save(save)


def _say(horde: Horde, json: bool) -> None:
    """Print the predictions at the last row."""
    found, limits = horde.predict(), horde.interval() if horde.variance else {}
    if json:
        known = {name: [limit if isfinite(limit) else None for limit in pair] for name, pair in limits.items()}
        print(json_module.dumps({"row": horde.rows, "predictions": found, "intervals": known}), flush=True)
        return
    for name, value in found.items():
        band = f" ({limits[name][0]:.4g} to {limits[name][1]:.4g})" if name in limits else ""
        console.print(f"after row {horde.rows:,}, {name}: {value:.5g}{band}", markup=False)
