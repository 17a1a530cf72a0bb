"""`tdlambda demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import tdlambda as td
from tdlambda.extras import need
from tdlambda.lab.cli.options import Json, Workers
from tdlambda.lab.cli.output import console, print_json
from tdlambda.lab.cli.report import write_page
from tdlambda.lab.cli.run import say_interrupted


def demo(
    out: Annotated[Path, typer.Option(help="File to write the page to.")] = Path("out/report.html"),
    results: Annotated[Path, typer.Option(help="Directory for the results of the runs.")] = Path("results"),
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run a short demonstration and write one page: a published table reproduced, today's methods, a real data stream.

    It takes about two minutes and can be interrupted and run again. Example: [bold]tdlambda demo[/bold]
    """
    need("pages", "studies", "charts")
    from tdlambda.lab.report import first_run  # Altair, Polars and Numba are slow to import
    from tdlambda.lab.report.page import Picture, load, page

    pictures: list[Picture] = []
    directories = []
    for study, picture in zip(first_run.studies(), (first_run.thesis, first_run.today), strict=True):
        directories.append(results / study.name)
        try:
            td.studies.run_study(study, directories[-1], workers=workers, progress=False if json else None)
        except KeyboardInterrupt as stopped:
            say_interrupted(stopped)
            raise typer.Exit(130) from None
        ((view,), _) = load(directories[-1:])
        pictures.append(picture(view))
        _say(pictures[-1], json)
    pictures.append(first_run.stream())
    _say(pictures[-1], json)
    views, manifests = load(directories[::-1])
    write_page(out, page(*views, manifests=manifests, opening=pictures))
    if json:
        said: list[dict[str, Any]] = [{"title": picture.title, "text": picture.text} for picture in pictures]
        print_json({"pictures": said, "page": out})
    else:
        console.print(f"Wrote [bold]{escape(str(out))}[/], {out.stat().st_size / 1e6:.1f} MB")


def _say(picture: Any, json: bool) -> None:
    if not json:
        console.print(f"[bold]{picture.title}.[/] {escape(picture.text)}")
