"""Tables in files: Markdown pages and CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path

from tdlambda.lab.reproduction.cells import Cell, Reproduction, tally


def write_tables(tables: Sequence[Reproduction], directory: Path) -> list[Path]:
    """Write a CSV file of all cells and a Markdown page for each table; return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        stem = directory / f"{table.study}-{table.protocol}"
        for path, text in (
            (stem.with_name(stem.name + ".csv"), as_csv(table)),
            (stem.with_name(stem.name + ".md"), as_page(table)),
        ):
            path.write_text(text, encoding="utf-8")
            paths.append(path)
    return paths


def as_csv(table: Reproduction) -> str:
    """All cells with their numbers, as CSV."""
    out = StringIO()
    names = [field.name for field in fields(Cell)]
    writer = csv.DictWriter(out, ["table", "protocol", *names], lineterminator="\n")
    writer.writeheader()
    for cell in table.cells:
        numbers = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(cell).items()}
        writer.writerow({"table": table.table, "protocol": table.protocol, **numbers})
    return out.getvalue()


def as_page(table: Reproduction) -> str:
    """A Markdown page with the table, the verdicts, and the cells that do not agree."""
    n = table.cells[0].n
    parts = [
        f"# {table.study}, protocol {table.protocol}",
        f"{n} runs of {table.steps:,} steps per cell. Error, with z against the thesis in parentheses; the best at "
        "each α is bold." + (f" {_agreement(table)}" if table.compared else ""),
        as_table(*table.rows(_cell)),
        "## Claims",
    ]
    for claim, at in tally(table.verdicts).items():
        method, _, other = claim.partition(" beats ")
        some = [
            v for v in table.verdicts if f"{v.method} beats" in claim and (v.other == "greedy") == ("greedy" in other)
        ]
        printed = f"Published: yes at {len(at['published'])} of {len(at['printed'])} α. " if at["printed"] else ""
        words = ", ".join(f"{word} at {len(at[word])}" for word in ("yes", "no", "undecided"))
        parts.append(f"**{claim}.** {printed}Reproduced: {words}.")
        answer = {True: "yes", False: "no", None: "–"}
        parts.append(
            as_table(
                ["α", "published", "reproduced", f"error of {method} / {other}", "95 % interval", "better in"],
                [[f"{v.alpha:g}", answer[v.published], v.reproduced, f"{v.ratio:.5g}", f"{v.low:.5g} to {v.high:.5g}",
                  f"{v.better:.0%} of runs"] for v in some],
            )
        )  # fmt: skip
    off = [cell for cell in table.compared if cell.z is not None and abs(cell.z) > 3]
    if off and table.protocol == "published":
        parts.append("## Cells that do not agree")
        parts.append(
            as_table(
                ["α", "method", "λ", "κ", "error", "std", "thesis", "its std", "z", "rounding"],
                [[f"{c.alpha:g}", c.method, *("" if x is None else f"{x:g}" for x in (c.lam, c.kappa)), f"{c.mean:.3g}",
                  f"{c.std:.3g}", f"{c.published_mean:.3g}", f"{c.published_std:.3g}", f"{c.z:+.1f}",
                 "explains it" if c.agrees_in_print else ""]
                 for c in off],
            )
        )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _agreement(table: Reproduction) -> str:
    return (
        f"{table.agree} of {len(table.compared)} cells agree within |z| ≤ 3, {table.agree_in_print} when allowing for "
        "the rounding in print."
    )


def _cell(cell: Cell, best: bool) -> str:
    text = f"**{cell.mean:.2e}**" if best else f"{cell.mean:.2e}"
    kappa = f", κ {cell.kappa:.0e}" if cell.kappa is not None else ""
    z = f" ({cell.z:+.1f}{kappa})" if cell.z is not None else ""
    return text + z + (f", {cell.diverged} diverged" if cell.diverged else "")


def as_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
