"""The `tdlambda` command; each subcommand has its own file."""

import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

import tdlambda
from tdlambda.extras import MissingExtraError
from tdlambda.lab.cli.audit import audit
from tdlambda.lab.cli.doctor import doctor
from tdlambda.lab.cli.export import export
from tdlambda.lab.cli.report import report
from tdlambda.lab.cli.reproduce import reproduce
from tdlambda.lab.cli.run import run
from tdlambda.lab.cli.show import show
from tdlambda.lab.cli.solve import solve
from tdlambda.lab.cli.stream import stream
from tdlambda.lab.cli.tasks import tasks
from tdlambda.lab.cli.watch import watch

_MISTAKES = (ValueError, TypeError, OSError, OverflowError, MissingExtraError)
"""Errors caused by the user's input rather than by the program."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run the command; with --debug, show the traceback of a user's error."""
        try:
            return super().invoke(ctx)
        except _MISTAKES as error:
            if not ctx.params["debug"] or isinstance(error, BrokenPipeError):  # a closed pipe is not an error
                raise
            traceback.print_exception(error)
            raise typer.Exit(2) from error


app = typer.Typer(
    name="tdlambda",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (tasks, solve, show, run, watch, reproduce, report, stream, audit, export, doctor):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print("tdlambda", tdlambda.__version__)
        raise typer.Exit


@app.callback(help="TD(λ) that tunes its own λ: tasks, exact solutions, experiments.")
def options(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="TDLAMBDA_DEBUG", help="Show the full traceback of an error.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options given before the command.

    Example: [bold]tdlambda --debug run study.toml[/bold]
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; a user's error is reported in one line, without a traceback."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="replace")  # a terminal that cannot show λ shows ?
    try:
        app(arguments, prog_name="tdlambda")  # the same name for `python -m tdlambda`
    except _MISTAKES as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[red]error:[/red] {escape(str(error))}")
        sys.exit(2)
