"""`tdlambda bench`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from tdlambda.lab.cli.options import Json
from tdlambda.lab.cli.output import console, print_json, print_table


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Do a tenth of the work: faster, but noisy.")] = False,
    json: Json = False,
) -> None:
    """Benchmark the engine against lower bounds and alternatives; about two minutes on an idle machine.

    Example: [bold]tdlambda bench --json > bench.json[/bold]
    """
    from tdlambda.lab.cli import benchmark  # Numba is slow to import

    told = Console(stderr=True, soft_wrap=True)
    try:
        with told.status("…") as status:
            found = benchmark.bench(0.1 if quick else 1.0, status.update)
    except KeyboardInterrupt:
        told.print("interrupted; nothing is kept, because times are comparable only within one run")
        raise typer.Exit(130) from None
    if json:
        print_json(found | {"rows": [asdict(row) for row in found["rows"]]})
        return
    show(found)


def show(found: dict[str, Any]) -> None:
    """Print the results of `benchmark.bench` as tables."""
    rows = [
        [row.work, row.beside, row.ratio, row.wanted, "yes" if row.good else "[red]no[/red]", row.detail]
        for row in found["rows"]
    ]
    print_table("The engine, one core", ["benchmark", "compared with", "ratio", "target", "reached", ""], rows)
    speeds = [[name, value / 1e6, 1e9 / value] for name, value in found["speed"].items()]
    print_table("Speed, one core", ["what", "million lane-steps/s", "ns per lane-step"], speeds)
    tables = [[name, hours] for name, hours in found["tables"].items()]
    print_table("Tables of Zhao (2020) at these speeds", ["table", "hours on two cores"], tables)
    console.print(", ".join(f"{name} {value}" for name, value in found["machine"].items()))
