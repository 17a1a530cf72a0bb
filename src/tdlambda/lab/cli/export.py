"""`tdlambda export`: a saved learner in C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdlambda.lab.cli.options import Json
from tdlambda.lab.cli.output import print_json


def export(
    file: Annotated[Path, typer.Argument(help="File of a learner, written by its method save.")],
    c: Annotated[bool, typer.Option("--c", help="Write C99: a header and one file.")] = False,
    to: Annotated[Path, typer.Option(help="Folder of the new files, created if it does not exist.")] = Path(),
    name: Annotated[str, typer.Option(help="Prefix of the functions in C, and name of the files.")] = "learner",
    json: Json = False,
) -> None:
    """Write a saved learner as C files that go on learning from its weights.

    Example: [bold]tdlambda export values.npz --c --to firmware --name values[/bold]
    """
    from tdlambda.loading import load

    if not c:
        raise ValueError("export: choose a language with --c")
    learner = load(file)
    if not hasattr(learner, "to_c"):
        raise ValueError(
            f"file: {type(learner).__name__} has no C; learners with eligibility traces have one, such as td.TD"
        )
    header, source = learner.to_c(to, name)
    if json:
        print_json({
            "header": header, "source": source, "learner": type(learner).__name__, "model": learner.model.title,
            "features": learner.features.size, "steps": learner.steps,
        })  # fmt: skip
    else:
        print(f"{learner.model.title}, {learner.features.size} features, after {learner.steps} updates:")
        print(f"{header}\n{source}")
