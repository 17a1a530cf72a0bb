"""Options that several commands have."""

from typing import Annotated, Any

import typer


def option(help: str, *names: str, **how: Any) -> Any:  # noqa: A002, Typer's own word
    """An option that says in its help what happens without it."""
    return typer.Option(*names, help=help, show_default=False, **how)


def argument(help: str) -> Any:  # noqa: A002
    """An argument that says in its help what happens without it."""
    return typer.Argument(help=help, show_default=False)


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seeds = Annotated[str | None, option("Number of seeds, the study's first ones, or a range A:B (B excluded).")]
Steps = Annotated[int | None, option("Number of steps of each run.")]
Alphas = Annotated[str | None, option("Step sizes, separated by commas.")]
Workers = Annotated[int | None, option("Number of threads; by default one per processor.")]
Dask = Annotated[str | None, option("Address of a Dask scheduler to run on, such as tcp://10.0.0.1:8786.")]
