"""The thesis' open questions, answered by experiments: experiments/open_questions/results.md.

    python experiments/open_questions/run.py                    all, reduced: tables printed, figures beside the data
    python experiments/open_questions/run.py gradients --full   one question in full: the page's tables and figures
    python experiments/open_questions/run.py all --redraw       the page again from its data, without running anything

The rows of each unit of work are kept under --out; what is there is not run again, and Ctrl-C loses only the units
under way. With --full the rows of each question are also gathered in experiments/open_questions/results, which
--redraw reads.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small, and the workers use all processors
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import polars as pl  # noqa: E402
from frame import Unit, filled, gathered, write  # noqa: E402

from tdlambda.charts import save  # noqa: E402
from tdlambda.runner.by_seed import processors  # noqa: E402

QUESTIONS = ("gradients", "targets", "efficiency", "control", "claims")
PAGE = HERE / "results.md"


def run(units: list[Unit], folder: Path, workers: int) -> None:
    """Do the units that are not kept yet, the first ones first."""
    missing = [unit for unit in units if not unit.path(folder).exists()]
    print(f"{folder.name}: {len(missing)} of {len(units)} units to do", flush=True)
    if workers == 1 or len(missing) < 2:
        for unit in missing:
            print(f"  {unit.name}: {unit.run(folder):.1f} s", flush=True)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        names = {pool.submit(unit.run, folder): unit.name for unit in missing}
        for done in as_completed(names):
            print(f"  {names[done]}: {done.result():.1f} s", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)


def publish(question: Any, data: pl.DataFrame, page: Path) -> None:
    """Write a question's tables into the page, and its figures beside it."""
    text = page.read_text(encoding="utf-8")
    for name, content in question.tables(data).items():
        text = filled(text, name, content)
    page.write_text(text, encoding="utf-8")
    for name, chart in question.charts(data).items():
        save(chart, page.parent / f"{page.stem}-{name}.svg")


def show(question: Any, data: pl.DataFrame, folder: Path) -> None:
    """Print a question's tables, and put its figures beside its data."""
    for name, content in question.tables(data).items():
        print(f"\n{name}\n\n{content}", flush=True)
    for name, chart in question.charts(data).items():
        save(chart, folder / f"{name}.svg")


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=["all"], choices=[*QUESTIONS, "all"], metavar="question",
                        help=f"{', '.join(QUESTIONS)} or all")  # fmt: skip
    parser.add_argument("--full", action="store_true", help="as many runs as the page has; fills in the page")
    parser.add_argument("--redraw", action="store_true", help="the page again from its data, without running")
    parser.add_argument("--out", type=Path, default=Path("results/open-questions"), help="where rows are kept")
    parser.add_argument("--workers", type=int, default=processors(), help="processes")
    given = parser.parse_args(arguments)
    begun = time.perf_counter()
    for name in QUESTIONS if "all" in given.questions else given.questions:
        question, kept = import_module(name), PAGE.with_suffix("") / f"{name}.parquet"
        if given.redraw:
            publish(question, pl.read_parquet(kept), PAGE)
            continue
        units, folder = question.units(given.full), given.out / name
        run(units, folder, given.workers)
        data = gathered(units, folder)
        if given.full:
            write(data, kept)
            publish(question, data, PAGE)
        else:
            show(question, data, folder)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
