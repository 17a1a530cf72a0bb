"""`tdlambda reproduce`."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

import tdlambda as td
from tdlambda.extras import need
from tdlambda.lab.cli.options import Alphas, Dask, Json, Seeds, Steps, Workers, argument, option
from tdlambda.lab.cli.output import console, print_json, print_table
from tdlambda.lab.cli.run import announce, resized, say_interrupted
from tdlambda.lab.reproduction.published import TABLES

if TYPE_CHECKING:
    from tdlambda.lab.reproduction.cells import Cell, Reproduction

FIGURE = "mountaincar"
"""The study that remakes the figure of the control experiment."""
FIGURE_METHODS = ["fixed", "greedy", "META"]


def reproduce(
    tables: Annotated[
        list[str] | None, argument(f"{', '.join(TABLES.values())}, or all; or mountaincar, a figure.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few step sizes and 24 seeds; the default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Everything: 21 step sizes, 240 seeds.")] = False,
    alphas: Alphas = None,
    seeds: Seeds = None,
    steps: Steps = None,
    protocol: Annotated[
        str, typer.Option(help="published: as in Zhao (2020); like-for-like: the same conditions for all methods.")
    ] = "published",
    out: Annotated[Path, typer.Option(help="Directory for the results of the runs.")] = Path("results"),
    save: Annotated[Path | None, option("Directory to write the tables to, as Markdown and CSV.")] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> None:
    """Reproduce the tables and the MountainCar figure of Zhao (2020), each number beside the printed one.

    Interrupted runs resume.

    Example: [bold]tdlambda reproduce ringworld-0.40-0.35 --quick --protocol like-for-like[/bold]
    """
    need("studies", "studies")
    from tdlambda.lab.report.table_files import write_tables  # Polars and Numba are slow to import
    from tdlambda.lab.reproduction import cells as reproduction

    if quick and full:
        raise ValueError("--quick and --full exclude each other; give only one")
    if protocol not in reproduction.PROTOCOLS:
        raise ValueError(f"--protocol must be one of {', '.join(reproduction.PROTOCOLS)}; got {protocol!r}")
    asked = tables or ["ringworld-0.40-0.35"]
    figure, asked = FIGURE in asked, [name for name in asked if name != FIGURE]
    wanted = list(TABLES) if "all" in asked else list(dict.fromkeys(map(reproduction.table_named, asked)))
    if figure and (protocol != "published" or save is not None):
        raise ValueError(f"--protocol and --save are for tables; {FIGURE} is a figure")
    found = []
    for table in wanted:
        study = resized(td.studies.Study.load(TABLES[table]), not full, seeds, steps, alphas)
        methods = list(reproduction.methods_of(table, protocol).values())
        where = out / study.name
        _run(study, where, methods, workers, dask, json)
        found.append(reproduction.reproduce(table, protocol, study, td.studies.load_results(where)))
        if not json:
            show(found[-1])
            _say_where(where)
    points = []
    if figure:
        study = resized(td.studies.Study.load(FIGURE), not full, seeds, steps, alphas)
        _run(study, out / study.name, FIGURE_METHODS, workers, dask, json)
        points = figure_points(out / study.name)
        if not json:
            show_figure(study, points)
            _say_where(out / study.name)
    if save is not None:
        paths = write_tables(found, save)
        if not json:
            console.print(f"Wrote the tables to [bold]{escape(', '.join(map(str, paths)))}[/]")
    if json:
        print_json({"tables": [_plain(table) for table in found], "figure": points})
    elif len(found) > 1:
        agree, compared = sum(t.agree for t in found), sum(len(t.compared) for t in found)
        console.print(f"[bold]All tables: {agree} of {compared} cells agree with the thesis within |z| ≤ 3[/]")


def _run(
    study: td.studies.Study, where: Path, methods: list[str], workers: int | None, dask: str | None, json: bool
) -> None:
    try:
        tell = None if json else announce
        td.studies.run_study(study, where, methods=methods, workers=workers, dask=dask, announce=tell)
    except KeyboardInterrupt as stopped:
        say_interrupted(stopped)
        raise typer.Exit(130) from None


def _say_where(directory: Path) -> None:
    shown = escape(str(directory))
    console.print(
        f"Curves of error against α, learning curves and λ: [bold]tdlambda report {shown} --open[/bold]; "
        f"for a paper, [bold]tdlambda report {shown} --format pdf[/bold]"
    )


def figure_points(directory: Path) -> list[dict[str, Any]]:
    """The returns of each method at each α, its best setting in hindsight, beside the points of the thesis' figure."""
    from tdlambda.lab.report.overview import overview  # Polars is slow to import

    view, points = overview(directory), []
    for alpha in view.alphas:
        for method in [name for name in FIGURE_METHODS if view.of(name, alpha)]:
            cell = view.best(method, alpha)
            read = [p for p in view.published if p.method == method and p.alpha == alpha]
            best = min(read, key=lambda p: p.mean, default=None)
            points.append({
                "alpha": alpha, "method": method, "settings": cell.settings, "runs": cell.n, "diverged": cell.diverged,
                "return": -cell.tail.mean, "low": -cell.tail.high, "high": -cell.tail.low,
                "figure": None if best is None else -best.mean,
                "uncertainty": None if best is None else best.uncertainty,
            })  # fmt: skip
    return points


def show_figure(study: td.studies.Study, points: list[dict[str, Any]]) -> None:
    """Print the points of the MountainCar figure, and how the best of each method compares."""
    names = {"fixed": "best fixed λ", "greedy": "λ-greedy", "META": "META"}
    rows = [
        [f"{alpha:g}", *(_point(p) for m in names for p in points if (p["alpha"], p["method"]) == (alpha, m))]
        for alpha in dict.fromkeys(p["alpha"] for p in points)
    ]
    print_table(
        f"{study.name}: return here, and [in brackets] in the thesis' figure, read by eye "
        f"({len(study.numbers)} seeds × {study.length:,} steps)".replace("[", r"\["),
        ["α", *names.values()], rows,
    )  # fmt: skip
    for method, name in names.items():
        mine = [p for p in points if p["method"] == method and not p["diverged"]]
        theirs = [p for p in points if p["method"] == method and p["figure"] is not None]
        if mine and theirs:
            ours, best = max(mine, key=lambda p: p["return"]), max(theirs, key=lambda p: p["figure"])
            console.print(
                f"[bold]{name}[/], its best α: here {ours['return']:.0f} ({ours['low']:.0f} to {ours['high']:.0f}) at "
                f"{ours['alpha']:g}; in the figure {best['figure']:.0f} ± {best['uncertainty']:.0f} "
                f"at {best['alpha']:g}"
            )
    console.print(
        "The figure is of an older run than the thesis' text describes, with other features and a limit of 500 steps "
        "that counted as termination, so the numbers need not agree"
    )


def _point(point: dict[str, Any]) -> str:
    beside = "" if point["figure"] is None else f" [{point['figure']:.0f}]"
    if point["diverged"] == point["runs"]:
        return escape(f"all {point['runs']} runs diverged{beside}")
    return escape(f"{point['return']:.0f}{beside}{_lost(point['diverged'], point['runs'])}")


def _lost(diverged: int, runs: int) -> str:
    return f", {diverged} of {runs} runs diverged" if diverged else ""


def _plain(table: Reproduction) -> dict[str, Any]:
    from tdlambda.lab.reproduction.cells import tally

    return asdict(table) | {
        "agree": table.agree, "agree_in_print": table.agree_in_print, "compared": len(table.compared),
        "claims": tally(table.verdicts),
    }  # fmt: skip


def show(table: Reproduction) -> None:
    """Print the table in the thesis' colours, with the z of each cell, and which of its claims are reproduced."""
    from tdlambda.lab.reproduction.cells import colours, tally

    shade = dict(zip(map(id, table.cells), colours([cell.mean for cell in table.cells]), strict=True))
    print_table(
        f"{table.study}, protocol {table.protocol}: error, and z against the thesis "
        f"({table.seeds} seeds × {table.steps:,} steps)",
        *table.rows(lambda cell, best: _text(cell, shade[id(cell)], best)),
    )  # fmt: skip
    console.print("blue: smallest error of the table, white: median, red: largest; bold: best at each α")
    for claim, at in tally(table.verdicts).items():
        printed = (
            f"published: yes at {len(at['published'])} of {len(at['printed'])} α" if at["printed"] else "not published"
        )
        ours = ", ".join(
            f"{word} at {len(at[word])}" + (f" ({', '.join(f'{a:g}' for a in at[word])})" if at[word] else "")
            for word in ("yes", "no", "undecided")
        )
        console.print(f"[bold]{claim}[/]: {printed}; reproduced: {ours}")
    if table.compared:
        note = "" if table.steps == 10**6 else f"; the thesis has 1,000,000 steps, not {table.steps:,}"
        console.print(
            f"[bold]{table.agree} of {len(table.compared)} cells agree within |z| ≤ 3[/] "
            f"({table.agree_in_print} when allowing for the rounding in print){note}"
        )


def _text(cell: Cell, rgb: tuple[int, int, int], best: bool) -> str:
    z = "" if cell.z is None or not math.isfinite(cell.z) else f" {cell.z:+.1f}"
    lost = _lost(cell.diverged, cell.n)
    if cell.diverged == cell.n:
        return f"[black on rgb({rgb[0]},{rgb[1]},{rgb[2]})]all {cell.n} runs diverged[/]"
    style = f"{'bold ' * best}black on rgb({rgb[0]},{rgb[1]},{rgb[2]})"
    return f"[{style}]{cell.mean:.2e}{z}{escape(lost)}[/]"
