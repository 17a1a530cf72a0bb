"""`tdlambda run`."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from reprlib import repr as shortened
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import tdlambda as td
from tdlambda.arrays import integer
from tdlambda.interruption import Interrupted
from tdlambda.lab.cli.options import Alphas, Dask, Json, Seeds, Steps, Workers, argument, option
from tdlambda.lab.cli.output import console, duration, print_json, print_table
from tdlambda.lab.studies import field_checks
from tdlambda.runner.job import SEEDS


def run(
    study: Annotated[str | None, argument("TOML file, or name of a bundled study.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run the study's small version.")] = False,
    seeds: Seeds = None,
    steps: Steps = None,
    episodes: Annotated[int | None, option("Number of episodes of each run, instead of steps.")] = None,
    alphas: Alphas = None,
    grid: Annotated[
        list[str] | None, option("Values of a grid parameter, name=v,v,…; may be repeated.", "--grid")
    ] = None,
    methods: Annotated[str | None, option("Methods to run, separated by commas; all by default.")] = None,
    out: Annotated[Path | None, option("Directory for results; results/NAME by default.")] = None,
    workers: Workers = None,
    dask: Dask = None,
    listing: Annotated[bool, typer.Option("--list", help="List the bundled studies.")] = False,
    json: Json = False,
) -> None:
    """Run a study, or its missing part. It can be interrupted at any time; run it again to resume.

    Example: [bold]tdlambda run ringworld-0.40-0.35 --quick --seeds 8 --workers 2[/bold]
    """
    if listing or study is None:
        _list(json)
        return
    chosen = resized(td.studies.Study.load(study), quick, seeds, steps, alphas, grid, episodes)
    names = None if methods is None else methods.split(",")
    try:
        tell = None if json else announce
        outcome = td.studies.run_study(chosen, out, methods=names, workers=workers, dask=dask, announce=tell)
    except KeyboardInterrupt as stopped:
        if json and isinstance(stopped, Interrupted):
            print_json(asdict(stopped.result) | {"study": chosen.name})
        say_interrupted(stopped)
        raise typer.Exit(130) from None
    if json:
        print_json(asdict(outcome) | {"study": chosen.name})
        return
    if outcome.done:
        console.print(f"finished: {outcome.done} units done, 0 left, {duration(outcome.seconds)}")
    _show(chosen, outcome.directory)


def resized(
    study: td.studies.Study, quick: bool, seeds: str | None, steps: int | None, alphas: str | None,
    grid: list[str] | None = None, episodes: int | None = None,
) -> td.studies.Study:  # fmt: skip
    """The study with the sizes that the options ask for."""
    study = study.small() if quick else study
    changes: dict[str, Any] = {} if steps is None else {"steps": steps, "points": min(study.points, steps)}
    changes |= {} if episodes is None else {"episodes": episodes}
    if seeds is not None:
        changes["seeds"] = _seeds(study, seeds)
    values = {}
    for text in ([f"alpha={alphas}"] if alphas is not None else []) + (grid or []):
        name, equals, listed = text.partition("=")
        if not equals:
            raise ValueError(f"--grid must be name=value,value,…; got {text!r}")
        values[name.strip()] = [_value(part.strip()) for part in listed.split(",")]
    return study.but(grid=values, **changes)


def _seeds(study: td.studies.Study, text: str) -> Any:
    """The first seeds of a study, by their number, or a range A:B; a number may continue a range, but not a list."""
    if not re.fullmatch("[0-9]{1,18}(:[0-9]{1,18})?", text):
        raise ValueError(f"--seeds must be a number of seeds, or a range A:B such as 100:130; got {shortened(text)}")
    if ":" in text:
        return field_checks.seeds(text, "--seeds")
    n, own = integer(int(text), "--seeds", 1, SEEDS), study.numbers
    if n <= len(own):
        return own[:n]
    if not isinstance(own, range):
        raise ValueError(
            f"--seeds must be at most {len(own)}, the number of seeds that {study.name} lists, or a range A:B; got {n}"
        )
    return field_checks.seeds(range(own[0], own[0] + n), "--seeds")


def announce(plan: td.studies.Plan) -> None:
    """Print the plan and the estimated time."""
    for path in plan.set_aside:
        Console(stderr=True, soft_wrap=True).print(f"[yellow]damaged, set aside and recomputed:[/] {escape(str(path))}")
    study = plan.study
    runs = len(study.numbers)
    rows = [
        [name, declared.learner, _sources(study, name), len(study.cells(name)),
         f"{runs - len(plan.missing[name])} of {runs}", escape(declared.about)]
        for name, declared in study.methods.items()
    ]  # fmt: skip
    print_table(
        f"{study.name}: {escape(study.title or study.task)}, {runs} seeds × {study.length:,} {study.unit}",
        ["method", "learner", "rule", "cells", "done", ""], rows,
    )  # fmt: skip
    if plan.units:
        how_long = f"about {duration(plan.estimate)}" if plan.estimate >= 1 else "less than a second"
        compiled = ", after compilation" if plan.elsewhere else ""
        console.print(
            f"{plan.units} units to do, {plan.lane_steps:.3g} updates: {how_long} on {plan.workers} "
            f"thread{'s' * (plan.workers > 1)}{compiled}. Results go to [bold]{escape(str(plan.directory))}[/]"
        )
    else:
        console.print(f"nothing is missing in [bold]{escape(str(plan.directory))}[/]")


def _sources(study: td.studies.Study, method: str) -> str:
    """Describe the source of a method's λ: a rule's name, "fixed λ", "tunes itself"; several for a mixed grid."""
    declared, cells = study.methods[method], study.cells(method)
    return ", ".join(dict.fromkeys(declared.settings(cell)[0] or declared.family(cell) for cell in cells))


def say_interrupted(stopped: KeyboardInterrupt) -> None:
    """Print what was kept."""
    kept = str(stopped) or "no unit was started"
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"interrupted: {kept}; the same command resumes the run"
    )


def _show(study: td.studies.Study, directory: Path) -> None:
    """Print the best cell of each method."""
    import polars as pl  # slow to import

    from tdlambda.lab.report.overview import explained
    from tdlambda.lab.studies.statistics import rank

    results = td.studies.load_results(directory).filter(pl.col("seed").is_in(list(study.numbers)))
    rows = []
    for (method,), part in results.group_by("method", maintain_order=True):
        axes = list(study.methods[str(method)].over)
        cells = [
            (key, td.studies.summary(some["tail"].to_numpy()))
            for key, some in part.group_by(axes or "method", maintain_order=True)
        ]
        key, found = min(cells, key=lambda cell: rank(cell[1].diverged, cell[1].mean))
        lost = int((part["diverged_at"] >= 0).sum())
        at = ", ".join(f"{axis} {value}" for axis, value in zip(axes, key, strict=False))
        rows.append([str(method), at, found.mean, f"{found.low:.3g} to {found.high:.3g}", f"{lost} of {len(part)}"])
    measure = explained(study, study.quantity)
    print_table("The best cell of each method", ["method", "at", measure, "95 % interval", "diverged"], rows)
    console.print(f'All results: [bold]td.studies.load_results("{escape(str(directory))}")[/bold]')


def _list(json: bool) -> None:
    found = td.studies.bundled()
    if json:
        print_json({"studies": {name: study.to_dict() for name, study in found.items()}})
        return
    rows = [
        [name, study.task, sum(len(study.cells(method)) for method in study.methods), len(study.numbers), study.title]
        for name, study in found.items()
    ]
    print_table("Bundled studies", ["name", "task", "cells", "seeds", ""], rows)
    place = files("tdlambda.lab.studies") / "bundled"
    console.print(f"To write your own, start from a TOML file in {escape(str(place))}")
    console.print("Run one: [bold]tdlambda run NAME --quick[/bold]")


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
