"""What scripts of outside results share: their options, tables, verdicts and files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FIGURES = Path(sys.argv[0]).resolve().parent / "figures"


def options(about: str | None) -> argparse.Namespace:
    """--quick (the default) or --full, --json, --figures, --seeds."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="few seeds, the default")
    size.add_argument("--full", action="store_true", help="as many seeds as the numbers it is compared with")
    parser.add_argument("--seeds", type=int, help="another number of seeds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write figures, SVG, into a folder")
    return parser.parse_args()


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table in Markdown."""
    print(f"\n**{title}**\n")
    print(f"| {' | '.join(columns)} |")
    print(f"| {' | '.join('---' for _ in columns)} |")
    for row in rows:
        print(f"| {' | '.join(str(entry) for entry in row)} |")


def verdicts(found: Mapping[str, bool]) -> bool:
    """Print what had to hold and whether it did; whether all did."""
    print("\nWhat must hold:\n")
    for what, holds in found.items():
        print(f"- {'holds' if holds else '**does not hold**'}: {what}")
    return all(found.values())


def write_json(path: Path | None, content: Any) -> None:
    """All numbers, for programs."""
    if path is not None:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def chart(
    path: Path, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], x: str, y: str, top: float,
    logarithmic: bool = False, vertical: str = "linear",
) -> None:  # fmt: skip
    """Lines, as an SVG file; what is above `top` is cut off."""
    from tdlambda.charts import lines, save
    from tdlambda.charts.style import finished

    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"series": name, "x": at, "mean": value}
        for name, (places, values) in curves.items()
        for at, value in zip(places, values, strict=True)
    ]
    bottom = min(value for _, values in curves.values() for value in values)
    log = (logarithmic, vertical == "log")
    drawn = lines(rows, x, y, log=log, dots=False, domain=(None, [0.9 * bottom, top]), size=(380, 260))
    save(finished(drawn), path)
