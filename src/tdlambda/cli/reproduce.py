"""`tdlambda reproduce`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

import tdlambda as td
from tdlambda.cli.output import console, print_json, print_table
from tdlambda.cli.run import Alphas, Dask, Seeds, Steps, Workers, announce, resized, say_interrupted
from tdlambda.extras import need
from tdlambda.reproduction.published import TABLES

if TYPE_CHECKING:
    from tdlambda.reproduction.tables import Cell, Reproduction


def reproduce(
    tables: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(TABLES.values())}, or all.", show_default=False)
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
    save: Annotated[
        Path | None, typer.Option(help="Directory to write the tables to, as Markdown and CSV.", show_default=False)
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Reproduce the tables of Zhao (2020) and compare each cell with the printed one. Interrupted runs resume.

    Example: [bold]tdlambda reproduce ringworld-0.40-0.35 --quick --protocol like-for-like[/bold]
    """
    need("studies", "studies")
    from tdlambda.report.tables import write_tables  # Polars and Numba are slow to import
    from tdlambda.reproduction import tables as reproduction

    if quick and full:
        raise ValueError("--quick and --full exclude each other; give only one")
    if protocol not in reproduction.PROTOCOLS:
        raise ValueError(f"--protocol must be one of {', '.join(reproduction.PROTOCOLS)}; got {protocol!r}")
    asked = tables or ["ringworld-0.40-0.35"]
    wanted = list(TABLES) if "all" in asked else list(dict.fromkeys(map(reproduction.table_named, asked)))
    found = []
    for table in wanted:
        study = resized(td.studies.Study.load(TABLES[table]), not full, seeds, steps, alphas)
        methods = list(reproduction.methods_of(table, protocol).values())
        where = out / study.name
        try:
            told = None if json else announce
            td.studies.run_study(study, where, methods=methods, workers=workers, dask=dask, announce=told)
        except KeyboardInterrupt as stopped:
            say_interrupted(stopped)
            raise typer.Exit(130) from None
        found.append(reproduction.reproduce(table, protocol, study, td.studies.load_results(where)))
        if not json:
            show(found[-1])
    if save is not None:
        paths = write_tables(found, save)
        if not json:
            console.print(f"Wrote the tables to [bold]{escape(', '.join(map(str, paths)))}[/]")
    if json:
        print_json({"tables": [_plain(table) for table in found]})
    elif len(found) > 1:
        agree, compared = sum(t.agree for t in found), sum(len(t.compared) for t in found)
        console.print(f"[bold]All tables: {agree} of {compared} cells agree with the thesis within |z| ≤ 3[/]")


def _plain(table: Reproduction) -> dict[str, Any]:
    from tdlambda.reproduction.tables import tally

    return asdict(table) | {
        "agree": table.agree, "agree_in_print": table.agree_in_print, "compared": len(table.compared),
        "claims": tally(table.verdicts),
    }  # fmt: skip


def show(table: Reproduction) -> None:
    """Print the table in the thesis' colours, with the z of each cell, and which of its claims are reproduced."""
    from tdlambda.reproduction.tables import colours, tally

    columns = list(dict.fromkeys((cell.method, cell.lam) for cell in table.cells))
    shade = dict(zip(map(id, table.cells), colours([cell.mean for cell in table.cells]), strict=True))
    rows = []
    for alpha in dict.fromkeys(cell.alpha for cell in table.cells):
        line = {(cell.method, cell.lam): cell for cell in table.cells if cell.alpha == alpha}
        best = min(line.values(), key=lambda cell: cell.mean)
        rows.append([f"{alpha:g}", *(_text(line[c], shade[id(line[c])], line[c] is best) for c in columns)])
    names = [f"λ = {lam:g}" if method == "fixed" else method for method, lam in columns]
    print_table(
        f"{table.study}, protocol {table.protocol}: error, and z against the thesis "
        f"({table.seeds} seeds × {table.steps:,} steps)",
        ["α", *names], rows,
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
    z = "" if cell.z is None else f" {cell.z:+.1f}"
    lost = f" [{cell.diverged} diverged]" if cell.diverged else ""
    style = f"{'bold ' * best}black on rgb({rgb[0]},{rgb[1]},{rgb[2]})"
    return f"[{style}]{cell.mean:.2e}{z}{escape(lost)}[/]"
