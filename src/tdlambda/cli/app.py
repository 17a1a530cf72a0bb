"""One command, its subcommands one file each."""

import sys
from io import TextIOWrapper

import typer
from rich.console import Console
from rich.markup import escape

from tdlambda.cli.bench import bench
from tdlambda.cli.doctor import doctor
from tdlambda.cli.report import report
from tdlambda.cli.reproduce import reproduce
from tdlambda.cli.run import run
from tdlambda.cli.solve import solve
from tdlambda.cli.tasks import tasks
from tdlambda.cli.watch import watch

app = typer.Typer(
    name="tdlambda",
    help="TD(λ) that tunes its own λ: tasks, exact answers, experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (tasks, solve, run, watch, reproduce, report, bench, doctor):
    app.command()(command)


def main() -> None:
    """Run the command; a mistake of the user's is one line, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without λ shows ?, and goes on
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[red]error:[/red] {escape(str(error))}")
        sys.exit(2)
