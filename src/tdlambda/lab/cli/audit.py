"""`tdlambda audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tdlambda.lab.cli.options import argument, option
from tdlambda.lab.cli.output import console
from tdlambda.showing import hint

_KNOWN = ("reward", "terminated", "truncated", "gamma", "rho")


def audit(
    file: Annotated[
        Path,
        argument(
            "Parquet or CSV file with one row per step, in order: reward, terminated, truncated, perhaps gamma and"
            " rho, and for each critic NAME and NAME_next, its values before and after the step."
        ),
    ],
    gamma: Annotated[float | None, option("Discount, if the file has no column gamma.", min=0, max=1)] = None,
    critic: Annotated[list[str] | None, option("Critic to audit; may be repeated; by default all.")] = None,
    level: Annotated[float, typer.Option(help="Nominal coverage of the intervals.", min=0, max=1)] = 0.95,
    page: Annotated[Path | None, typer.Option(help="File to write the page to; FILE.html by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and write a page only with --page.")] = False,
) -> None:
    """Estimate which critic is closer to the true values of a policy, from recorded steps, and write a page.

    Example: [bold]tdlambda audit rollout.parquet --gamma 0.99[/bold]
    """
    import tdlambda as td  # Numba is slow to import

    columns = _columns(file)
    for name in _KNOWN[:3]:
        if name not in columns:
            done = ": done cannot tell a truncation from a termination" if "done" in columns else ""
            raise ValueError(f"{file} has no column {name}{hint(name, columns, 'it has {}')}{done}")
    if "gamma" in columns and gamma is not None:
        raise ValueError(f"--gamma: {file} has a column gamma; leave one of them out")
    if "gamma" not in columns and gamma is None:
        raise ValueError(f"--gamma is missing: {file} has no column gamma")
    names = _critics(columns, critic, file)
    report = td.audit(
        {name: (columns[name], columns[f"{name}_next"]) for name in names}, columns["reward"],
        gamma=columns.get("gamma", gamma), rho=columns.get("rho", 1.0), terminated=columns["terminated"],
        truncated=columns["truncated"], level=level,
    )  # fmt: skip
    if page is not None or not json:
        report.page(page or file.with_suffix(".html"))
    if json:
        print(report.to_json())
    else:
        console.print(str(report), markup=False, soft_wrap=True)
        console.print(f"wrote {page or file.with_suffix('.html')}")


def _columns(file: Path) -> dict[str, Any]:
    """The columns of a file as arrays."""
    from tdlambda.streams.reading import READ, batches

    parts = list(batches(file, READ))
    if not parts:
        raise ValueError(f"{file} has no rows")
    return {str(name): _flags(np.concatenate([part.columns[name] for part in parts])) for name in parts[0].columns}


def _flags(column: Any) -> Any:
    """A column of text as numbers, or of the words true and false, in any case, as flags; any other one as it is."""
    if column.dtype != object:
        return column
    words = np.array([str(x).lower() for x in column])
    if np.isin(words, ("true", "false")).all():
        return words == "true"
    try:
        return words.astype(np.float64)
    except ValueError:
        return column


def _critics(columns: dict[str, Any], wanted: list[str] | None, file: Path) -> list[str]:
    """The names of the critics: those with a column of values and one of next values."""
    pairs = [name for name in columns if f"{name}_next" in columns and name not in _KNOWN]
    for name in wanted or ():
        if name not in pairs:
            raise ValueError(
                f"--critic: {file} has no columns {name} and {name}_next{hint(name, pairs, 'choose from {}')}"
            )
    if len(wanted or pairs) < 2:
        alone = [name for name in columns if name not in (*_KNOWN, *pairs, *(f"{name}_next" for name in pairs))]
        rest = f", and {', '.join(alone[:10])} without a partner" if alone else ""
        raise ValueError(
            f"{file} must have two critics or more, each with columns NAME and NAME_next; got "
            f"{', '.join(wanted or pairs) or 'none'}{rest}"
        )
    return wanted or pairs
