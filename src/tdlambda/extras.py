"""Packages that not everybody needs: what each extra brings, and how to get one that is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

EXTRAS = {
    "studies": ("polars", "pyarrow"),
    "charts": ("altair", "vl_convert"),
    "frames": ("narwhals",),
    "cli": ("rich", "typer"),
    "dask": ("distributed",),
}
"""The modules of each extra of the package, as `pyproject.toml` lists them."""


class MissingExtraError(ModuleNotFoundError):
    """A package that comes with an extra of tdlambda is needed, and not installed."""


def missing(*names: str) -> dict[str, str]:
    """The modules that are not installed, of extras or named themselves; each with the extra that brings it."""
    wanted = {module for name in names for module in EXTRAS.get(name, (name,))}
    every = {module: extra for extra, modules in EXTRAS.items() for module in modules if module in wanted}
    return {module: extra for module, extra in every.items() if find_spec(module) is None}


def need(what: str, *names: str) -> None:
    """Raise `MissingExtraError`, which has the command to write, if something is not installed.

    Parameters
    ----------
    what
        That which needs it: the subject of a sentence, in the plural.
    names
        Of extras, or of single modules of one.
    """
    if absent := missing(*names):
        command = f'pip install "tdlambda[{",".join(dict.fromkeys(absent.values()))}]"'
        raise MissingExtraError(f"{what} need {' and '.join(absent)}: {command}", name=next(iter(absent)))


def bar_wanted(progress: bool | None, long: bool = True) -> bool:
    """Whether to show a progress bar; by default if the work is long and a terminal is there, and Rich."""
    if progress is None:
        return long and sys.stderr.isatty() and not missing("rich")
    if progress:
        need("progress bars", "rich")
    return progress
