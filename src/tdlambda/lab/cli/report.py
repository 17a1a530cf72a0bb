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

from tdlambda.extras import need
from tdlambda.lab.cli.options import Json, option
from tdlambda.lab.cli.output import console, print_json

if TYPE_CHECKING:
    from tdlambda.lab.report.contest import Side
    from tdlambda.lab.report.overview import Overview

FORMATS = ("html", "pdf", "png", "svg")


def report(
    directory: Annotated[Path, typer.Argument(help="Results of a study, or a directory with results of several.")],
    kind: Annotated[
        str, typer.Option("--format", help="html: one page; pdf, png or svg: its figures, for print.")
    ] = "html",
    methods: Annotated[str | None, option("Methods to show, separated by commas; all by default.")] = None,
    width: Annotated[int | None, option("Width of the plots of pdf, png or svg, in pixels.", min=100, max=4000)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the page, or directory for the figures.", show_default="in DIRECTORY"),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page; it updates as results arrive.")] = False,
    port: Annotated[int, typer.Option(help="Port to serve at; 0 chooses a free one.", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="Address to serve at; by default this machine only.")] = "127.0.0.1",
    json: Json = False,
) -> None:
    """Report the results of a study, finished or not: an offline page with figures, or figures for print.

    Example: [bold]tdlambda report results/ringworld-0.40-0.35 --open[/bold]
    """
    need("pages", "studies", "charts")
    from tdlambda.lab.report.page import load, page, studies_in  # Altair, Polars and Numba are slow to import

    if kind not in FORMATS:
        raise ValueError(f"--format must be one of {', '.join(FORMATS)}; got {kind!r}")
    if width is not None and kind == "html":
        raise ValueError("--width is for --format pdf, png or svg")
    if serve and (kind != "html" or out is not None or json or methods is not None):
        raise ValueError("--serve cannot be combined with --format, --methods, --out or --json")
    directories = studies_in(directory)
    if serve:
        _serve(directories, port, host, show)
        return
    with Console(stderr=True).status("summarising the results"):  # shown in a terminal only
        views, manifests = load(directories)
        if methods is not None:
            views = [view.only(methods.split(",")) for view in views]
        if kind == "html":
            written = [out or directory / "report.html"]
            write_page(written[0], page(*views, manifests=manifests))
        else:
            written = _figures(views, out or directory / "figures", kind, width)
    if json:
        print_json({"studies": [summed_up(view) for view in views], "written": written})
    else:
        for view in views:
            _say(view)
        if kind == "html":
            console.print(f"Wrote [bold]{escape(str(written[0]))}[/], {written[0].stat().st_size / 1e6:.1f} MB")
        else:
            first = f"{escape(written[0].name)}, each method at its best on seeds that did not choose its settings"
            console.print(f"Wrote {len(written)} figures to [bold]{escape(str(written[0].parent))}[/]; first {first}")
    if show:
        _open(written[0].resolve().as_uri())


def summed_up(view: Overview) -> dict[str, Any]:
    """A study's findings as plain data."""
    from tdlambda.lab.report.contest import groups
    from tdlambda.lab.report.findings import agreement, findings
    from tdlambda.lab.report.overview import MEASURES

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
                    name: vars(cell.measured(measure))
                    | {"settings": cell.settings, "n": cell.n, "diverged": cell.diverged}
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
    """Print the headline of each group of methods: which is best, by how much, how certain."""
    from tdlambda.lab.report.contest import groups
    from tdlambda.lab.report.findings import findings

    console.print(f"[bold]{escape(view.study.title or view.study.name)}[/]")
    some = list(groups(view).items())
    for group, methods in some[:-1] or some:  # the last group has all methods
        name = f"[bold]{escape(group)}.[/] " if len(some) > 1 else ""
        console.print(f"{name}{escape(findings(view, methods).headline)}")


def _figures(views: list[Overview], directory: Path, kind: str, width: int | None) -> list[Path]:
    from tdlambda.lab.report.figures import write_figures  # Altair is slow to import

    names = [view.study.name for view in views] if len(views) > 1 else [""]
    pairs = zip(views, names, strict=True)
    return [path for view, name in pairs for path in write_figures(view, directory / name, kind, width)]


def _open(address: str) -> None:
    """Open the browser, if there is a display: a text-mode browser would take over this terminal."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        Console(stderr=True, soft_wrap=True).print(f"no display; open {escape(address)} in a browser")
    else:
        webbrowser.open(address)


def write_page(path: Path, text: str) -> None:
    """Write a page; create its directory if necessary."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"--out: {path} cannot be written: {error}") from error


def _serve(directories: list[Path], port: int, host: str, show: bool) -> None:
    from tdlambda.lab.report.serving import Server

    server = Server(directories, port, host)
    console.print(f"The page is at [bold]{server.url}[/] and updates itself; Ctrl-C stops the server")
    if show:
        _open(server.url)
    server.serve()
