"""`tdlambda report`."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from tdlambda.cli.output import console, print_json
from tdlambda.extras import need

if TYPE_CHECKING:
    from tdlambda.report.contest import Side
    from tdlambda.report.overview import Overview

FORMATS = ("html", "pdf", "png", "svg")


def report(
    directory: Annotated[Path, typer.Argument(help="A study's results, or a directory of several studies'.")],
    kind: Annotated[
        str, typer.Option("--format", help="html: the page; pdf, png or svg: its figures, for print.")
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(help="The file of the page, or the directory of the figures.", show_default="in DIRECTORY"),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page; it renews itself as results come in.")
    ] = False,
    port: Annotated[int, typer.Option(help="To serve at; 0: any that is free.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="To serve at; by default for this machine alone.")] = "127.0.0.1",
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """What a study's results say, finished or not: a page with figures that works offline, or figures for print.

    Example: [bold]tdlambda report results/ringworld-0.40-0.35 --open[/bold]
    """
    need("pages", "studies", "charts")
    from tdlambda.report.page import load, page, studies_in  # Altair, Polars and Numba are slow to import

    if kind not in FORMATS:
        raise ValueError(f"--format must be one of {', '.join(FORMATS)}; got {kind!r}")
    if serve and (kind != "html" or out is not None or json):
        raise ValueError("--serve: what is served is the page; --format, --out and --json do not go with it")
    directories = studies_in(directory)
    if serve:
        _serve(directories, port, host, show)
        return
    with Console(stderr=True).status("summing up the results"):  # seen on a terminal only
        views, manifests = load(directories)
        if kind == "html":
            written = [out or directory / "report.html"]
            write_page(written[0], page(*views, manifests=manifests))
        else:
            written = _figures(views, out or directory / "figures", kind)
    if json:
        print_json({"studies": [summed_up(view) for view in views], "written": written})
    else:
        for view in views:
            _say(view)
        if kind == "html":
            console.print(f"The page is [bold]{escape(str(written[0]))}[/], {written[0].stat().st_size / 1e6:.1f} MB")
        else:
            console.print(f"{len(written)} figures are in [bold]{escape(str(written[0].parent))}[/]")
    if show:
        _open(written[0].resolve().as_uri())


def summed_up(view: Overview) -> dict[str, Any]:
    """A study's findings as plain data."""
    from tdlambda.report.contest import groups
    from tdlambda.report.findings import agreement, findings
    from tdlambda.report.overview import MEASURES

    agree, compared = agreement(view)
    found: dict[str, Any] = {}
    for group, methods in groups(view).items():
        found[group] = {}
        for measure in MEASURES:
            one = findings(view, methods, measure)
            best = {name: view.best(name, measure=measure) for name in methods}
            found[group][measure] = {
                "headline": one.headline, "verdict": one.contest.verdict, "winner": _plain(one.contest.winner),
                "method": _plain(one.contest.method), "rival": _plain(one.contest.rival),
                "compared": vars(one.contest.compared) if one.contest.compared else None,
                "which": vars(one.which), "better": vars(one.better), "sure": vars(one.sure),
                "best": {
                    name: {"settings": cell.settings, "n": cell.n, "diverged": cell.diverged}
                    | vars(cell.measured(measure))
                    for name, cell in best.items()
                },
            }  # fmt: skip
    return {
        "study": view.study.name, "done": view.done, "wanted": view.wanted, "not_run": view.not_run,
        "seeds": len(view.seeds),
        "printed_cells": {"agree": agree, "compared": compared}, "found": found,
    }  # fmt: skip


def _plain(side: Side | None) -> dict[str, Any] | None:
    return {"method": side.cell.method, "settings": side.cell.settings} if side else None


def _say(view: Overview) -> None:
    """A sentence for each group of methods: who won, by how much, how sure."""
    from tdlambda.report.contest import groups
    from tdlambda.report.findings import findings

    console.print(f"[bold]{escape(view.study.title or view.study.name)}[/]")
    some = list(groups(view).items())
    for group, methods in some[:-1] or some:  # the last are all methods
        name = f"[bold]{escape(group)}.[/] " if len(some) > 1 else ""
        console.print(f"{name}{escape(findings(view, methods).headline)}")


def _figures(views: list[Overview], directory: Path, kind: str) -> list[Path]:
    from tdlambda.report.figures import write_figures  # Altair is slow to import

    names = [view.study.name for view in views] if len(views) > 1 else [""]
    return [
        path for view, name in zip(views, names, strict=True) for path in write_figures(view, directory / name, kind)
    ]


def _open(address: str) -> None:
    """In the browser, if there is a screen to show it on: a browser for terminals would take this one over."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        Console(stderr=True, soft_wrap=True).print(f"there is no screen here; open {escape(address)} yourself")
    else:
        webbrowser.open(address)


def write_page(path: Path, text: str) -> None:
    """Write a page, its directory too if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"--out: {path} cannot be written: {error}") from error


def _serve(directories: list[Path], port: int, host: str, show: bool) -> None:
    from tdlambda.report.serving import Server

    server = Server(directories, port, host)
    console.print(f"The page is at [bold]{server.url}[/] and renews itself; Ctrl-C ends it")
    if show:
        _open(server.url)
    server.serve()
