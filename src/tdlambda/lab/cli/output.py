"""Output as tables and as JSON."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

console = Console(highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document on standard output; arrays become lists, infinity becomes the string "inf"."""
    print(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table with numbers right-aligned."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for k, name in enumerate(columns):
        numeric = bool(rows) and not isinstance(rows[0][k], str)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=True)
    for row in rows:
        table.add_row(*(x if isinstance(x, str) else number(x) for x in row))
    # The table is as wide as its numbers, even in a narrower terminal: a truncated number would be a wrong number.
    wanted = Measurement.get(console, console.options.update(max_width=1000), table).maximum
    Console(width=max(wanted, console.width), highlight=False).print(table)


def number(x: Any) -> str:
    """Format a number with four significant digits, integers in full."""
    return str(int(x)) if isinstance(x, int | np.integer) else f"{float(x):.4g}"


def duration(seconds: float) -> str:
    """A duration in its largest fitting unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else str(value)
    return value if value is None else str(value)
