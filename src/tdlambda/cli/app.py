"""One command, its subcommands one file each."""

import sys

import typer
from rich.console import Console

from tdlambda.cli.doctor import doctor
from tdlambda.cli.solve import solve
from tdlambda.cli.tasks import tasks

app = typer.Typer(
    name="tdlambda",
    help="TD(λ) that tunes its own λ: tasks, exact answers, experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (tasks, solve, doctor):
    app.command()(command)


def main() -> None:
    """Run the command; a mistake of the user's is one line, not a traceback."""
    try:
        app()
    except (ValueError, TypeError) as error:
        Console(stderr=True, highlight=False).print("[red]error:[/red]", str(error), markup=True)
        sys.exit(2)
