"""Rules that tune λ beside the best fixed λ at the same α, from the results of the `self-tuning` studies.

    for study in $(python experiments/thesis/self_tuning.py --studies); do tdlambda run $study; done
    python experiments/thesis/self_tuning.py > experiments/thesis/results/self-tuning.md

It reads the studies' results in results/, or the directories that it is given.
A cell is a mean over seeds over that of the best fixed λ at that α, chosen in hindsight on these very seeds: first the
final error, then the area under the curve. Where κ is searched, its best too is chosen in hindsight, for each of both.
Runs that diverged make a cell infinite.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from needed import read

import tdlambda as td


def ratios(found: pl.DataFrame) -> Iterator[tuple[str, list[float], list[float], list[float]]]:
    """Each method's α, and its ratios of final errors and of areas."""
    if "alpha" not in found.columns:
        return
    cells = [name for name in ("alpha", "lam", "kappa") if name in found.columns]
    means = found.group_by("method", *cells).agg(pl.col("tail").mean(), pl.col("area").mean())
    least = means.group_by("method", "alpha").agg(pl.col("tail").min(), pl.col("area").min()).sort("alpha")
    fixed = least.filter(pl.col("method") == "fixed").select("alpha", final="tail", whole="area")
    for method in found["method"].unique(maintain_order=True):
        own = least.filter(pl.col("method") == method).join(fixed, on="alpha").sort("alpha")
        if method != "fixed" and own.height:
            yield (
                method, own["alpha"].to_list(), (own["tail"] / own["final"]).to_list(),
                (own["area"] / own["whole"]).to_list(),
            )  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path, help="of results; all of results/self-tuning… by default")
    parser.add_argument("--studies", action="store_true", help="print the names of the studies, and nothing else")
    given = parser.parse_args()
    studies = [name for name in td.studies.bundled() if name.startswith("self-tuning")]
    if given.studies:
        print("\n".join(studies))
        return
    results = read(td.studies.load_results, given.directories or [Path("results", name) for name in studies], studies)
    found = {directory: list(ratios(frame)) for directory, frame in results.items()}
    for directory, rows in found.items():
        if not rows:
            parser.error(f"{directory}: nothing to compare; it takes methods over alpha, one of them called fixed")
    print("# Rules that tune λ, beside every fixed λ\n")
    print("""\
Made by `python experiments/thesis/self_tuning.py` from the `self-tuning` studies. Each error is divided by that of the
best of eight fixed λ at the same α on the same runs, chosen in hindsight; below 1 is better than any search over λ.
Where κ is searched, its best value is also chosen in hindsight. First the worst final error over all α and the mean
area under the curve, then every α.
""")
    methods = list(dict.fromkeys(method for rows in found.values() for method, *_ in rows))
    print("| worst final / mean area | runs | " + " | ".join(methods) + " |\n|" + " --- |" * (len(methods) + 2))
    for directory, rows in found.items():
        cells = {method: f"{max(finals):.2f} / {np.mean(areas):.2f}" for method, _, finals, areas in rows}
        runs = results[directory]["seed"].n_unique()
        print(f"| {directory.name} | {runs} | " + " | ".join(cells.get(method, "–") for method in methods) + " |")
    for directory, rows in found.items():
        print(f"\n## {directory.name}\n")
        alphas = rows[0][1]
        print("| final / area | " + " | ".join(f"{a:g}" for a in alphas) + " |\n|" + " --- |" * (len(alphas) + 1))
        for method, _, finals, areas in rows:
            cells = [f"{final:.2f}/{area:.2f}" for final, area in zip(finals, areas, strict=True)]
            print(f"| {method} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
