"""Optional dependencies: the modules of each extra, and how to install a missing one."""

from __future__ import annotations

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
    """A package of one of tdlambda's extras is needed but not installed."""


def missing(*names: str) -> dict[str, str]:
    """The modules that are not installed, each with the extra that installs it; `names` are extras or modules."""
    wanted = {module for name in names for module in EXTRAS.get(name, (name,))}
    every = {module: extra for extra, modules in EXTRAS.items() for module in modules if module in wanted}
    return {module: extra for module, extra in every.items() if find_spec(module) is None}


def need(what: str, *names: str) -> None:
    """Raise `MissingExtraError`, with the command that installs what is missing.

    Parameters
    ----------
    what
        What needs it: a plural noun, the subject of the message.
    names
        Names of extras, or of single modules.
    """
    if absent := missing(*names):
        command = f'pip install "tdlambda[{",".join(dict.fromkeys(absent.values()))}]"'
        raise MissingExtraError(f"{what} need {' and '.join(absent)}: {command}", name=next(iter(absent)))
