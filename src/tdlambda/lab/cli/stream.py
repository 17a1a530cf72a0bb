"""`tdlambda stream`."""

from __future__ import annotations

import json as json_module
import re
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdlambda.lab.cli.options import argument, option
from tdlambda.lab.cli.output import console
from tdlambda.showing import visible

if TYPE_CHECKING:
    from tdlambda.streams import Horde, Prequential

SHOWN = 100
"""Largest number of streams whose predictions are printed."""


def stream(
    file: Annotated[Path, argument("CSV or Parquet file with one row per step.")],
    predict: Annotated[list[str] | None, option("Column to predict; may be repeated.")] = None,
    horizon: Annotated[
        list[float] | None,
        option(
            "Horizon h in rows; may be repeated; 24 by default. Row k ahead has the weight (1 - 1/h)^k: "
            "37 % of the weight lies beyond h rows."
        ),
    ] = None,
    window: Annotated[
        list[str] | None,
        option("Instead: a window of time, such as 8h or '30 min', or of rows, such as 48; may be repeated.", "--next"),
    ] = None,
    of: Annotated[str, typer.Option(help="Of a window: sum, mean or max.")] = "sum",
    exceeds: Annotated[float | None, option("Predict whether the column exceeds this within the window.")] = None,
    total: Annotated[bool, typer.Option("--sum", help="Predict the discounted sum instead of the mean.")] = False,
    by: Annotated[str | None, typer.Option(help="Column that identifies the machine of a row.")] = None,
    share: Annotated[
        bool, typer.Option("--share/--separate", help="With --by: one model for all machines, or one for each.")
    ] = True,
    time: Annotated[str | None, typer.Option(help="Time column; by default the first column of dates.")] = None,
    gap: Annotated[float | None, typer.Option(help="Longest time between consecutive rows, in seconds.", min=0)] = None,
    terminated: Annotated[str | None, typer.Option(help="Column that is true where an episode ends.")] = None,
    missing: Annotated[str, typer.Option(help="Missing values: hold, mask or raise.")] = "hold",
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

    page = page or file.with_suffix(".html")
    _refuse_overwriting(file, page if load is None else None, save, load)
    try:
        if load is not None and predict:
            raise ValueError("--predict: a saved Horde has its own questions; leave --predict or --load out")
        if load is not None:
            horde = td.load(load)
        elif not predict:
            raise ValueError("--predict is missing: name a column to predict, or load a saved Horde with --load")
        else:
            asked = _questions(predict, horizon, window, of, exceeds, total)
            rules: Any = {"by": by, "share": share, "time": time, "gap": gap, "terminated": terminated}
            horde = td.Horde(None, asked, missing=missing, intervals=True, **rules)
        names = ["running mean", "last value", "seasonal", "ridge"] + ["gradient boosting"] * boosting
        _run(horde, file, page if load is None else None, period, names, save, follow, every, json)
    except ValueError as error:
        raise ValueError(_with_options(str(error))) from error


def _run(
    horde: Horde, file: Path, page: Path | None, period: int | None, names: list[str], save: Path | None, follow: bool,
    every: float, json: bool,
) -> None:  # fmt: skip
    """Learn from the rows of the file and, with `page`, score them; then follow the file."""
    try:
        if page is not None:
            result = _score(horde, file, period, names, follow)
            if save is not None:
                horde.save(save)
            _report(horde, result, page, json, follow)
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


def _refuse_overwriting(file: Path, page: Path | None, save: Path | None, load: Path | None) -> None:
    """Validate that no file to read would be written, and none twice."""

    def same(a: Path | None, b: Path | None) -> bool:
        return a is not None and b is not None and a.resolve() == b.resolve()

    for flag, path in (("--page", page), ("--save", save)):
        if same(path, file) or (path is not None and path.exists() and file.exists() and path.samefile(file)):
            raise ValueError(
                f"{flag}: {path} is the file with the rows, which is never overwritten; choose another name"
            )
    if same(page, save) or same(page, load):
        raise ValueError(f"--page: {page} is also the file of the Horde; choose another name")


def _questions(
    predict: list[str], horizon: list[float] | None, window: list[str] | None, of: str, exceeds: float | None,
    total: bool,
) -> dict[str, Any]:  # fmt: skip
    """The questions, by name."""
    import tdlambda as td

    if window is None and (of != "sum" or exceeds is not None):
        raise ValueError("--of and --exceeds need a window: use --next, such as --next 8h")
    found = {}
    for column in predict:
        for ahead in window or ():
            over: dict[str, Any] = {"steps": int(ahead)} if ahead.strip().isdigit() else {"next": ahead}
            over |= {"exceeds": exceeds} if exceeds is not None else {"of": of}
            said = f"{column} exceeds {exceeds:g}" if exceeds is not None else f"{of} of {column}"
            found[f"{said}, next {ahead}{' rows' * ahead.strip().isdigit()}"] = td.Question(column, **over)
        for steps in horizon or ([] if window else [24.0]):
            found[_name(column, steps, len(horizon or ()) + len(window or ()))] = td.Question(
                column, horizon=steps, average=not total
            )
    return found


def _with_options(text: str) -> str:
    """A message with the options of the command instead of Python's arguments.

    >>> _with_options('use missing="hold" to skip such steps, or name it with by=')
    'use --missing hold to skip such steps, or name it with --by'
    """
    text = re.sub(r'\b(missing|time|by|gap|of)="(\w+)"', r"--\1 \2", text)
    text = re.sub(r"td\.Horde\(…, (\w+)=…\)", r"--\1", text)
    text = re.sub(r"\bsteps=", "--next ROWS", text)
    return re.sub(r"\b(missing|time|by|gap|terminated|horizon|exceeds)=(?=[\s,;.)]|$)", r"--\1", text)


def _name(column: str, steps: float, several: int) -> str:
    return f"{column}, {steps:g} rows" if several > 1 else column


def _score(horde: Horde, file: Path, period: int | None, names: list[str], follow: bool) -> Prequential:
    """Learn from the rows already in the file, and score every prediction."""
    import tdlambda as td
    from tdlambda.streams.csv_text import Text

    text = follow and file.suffix.lower() not in (".parquet", ".pq")
    data: Any = Text(file, finished=True).read(10_000) if text else file
    result = td.streams.prequential(horde, data, period=period, baselines=names)
    result.title = f"{file.name}: {result.title[0].lower()}{result.title[1:]}"
    return result


def _report(horde: Horde, result: Prequential, page: Path, json: bool, follow: bool) -> None:
    """Print the scores, and write the page."""
    if json and follow:
        _say(horde, json)
    elif json:
        print(result.to_json())
    else:
        console.print(str(horde.features), markup=False)
        console.print(_with_options(str(result)), markup=False, soft_wrap=True)
        _say(horde, json)
    result.page(page)
    if not json:
        console.print(f"wrote {page}")


def _follow(horde: Horde, file: Path, every: float, save: Path | None, json: bool) -> None:
    """Learn from rows as they are written."""
    from tdlambda.streams.tail import tail

    if file.suffix.lower() in (".parquet", ".pq", ".gz"):
        raise ValueError(f"--follow needs a CSV file, because a {file.suffix} file cannot grow; got {file}")
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
    for name, (found, limits) in _predictions(horde).items():
        _say_one(horde, found, limits, json, name)


def _predictions(horde: Horde) -> dict[Any, tuple[dict[str, Any], dict[str, tuple[float, float]]]]:
    """Predictions and intervals at the last row, or at that of every stream."""
    by = horde.streams or [None]
    return {key: (horde.predict(by=key), horde.interval(by=key) if horde.intervals else {}) for key in by[:SHOWN]}


def _say_one(horde: Horde, found: dict[str, Any], limits: dict[str, Any], json: bool, stream: Any) -> None:
    of = {} if stream is None else {"stream": stream}
    if json:
        known = {name: [limit if isfinite(limit) else None for limit in pair] for name, pair in limits.items()}
        print(json_module.dumps({"row": horde.rows, **of, "predictions": found, "intervals": known}), flush=True)
        return
    for name, value in found.items():
        band = f" ({limits[name][0]:.4g} to {limits[name][1]:.4g})" if name in limits else ""
        where = visible(f"after row {horde.rows:,}, {f'{stream}, ' if of else ''}{name}")
        console.print(f"{where}: {value:.5g}{band}", markup=False)
