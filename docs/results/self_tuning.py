"""Rules that tune λ beside the best fixed λ at the same α, from the results of the `self-tuning` studies.

    for study in $(python docs/results/self_tuning.py --studies); do tdlambda run $study; done
    python docs/results/self_tuning.py results/self-tuning* > docs/results/self-tuning.md

A cell is a mean over seeds over that of the best fixed λ at that α, chosen in hindsight on these very seeds: first the
final error, then the area under the curve. Where κ is searched, its best too is chosen in hindsight, for each of both.
Runs that diverged make a cell infinite.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import tdlambda as td


def ratios(directory: Path) -> Iterator[tuple[str, list[float], list[float], list[float]]]:
    """Each method's α, and its ratios of final errors and of areas."""
    found = td.load_results(directory)
    cells = [name for name in ("alpha", "lam", "kappa") if name in found.columns]
    means = found.group_by("method", *cells).agg(pl.col("tail").mean(), pl.col("area").mean())
    least = means.group_by("method", "alpha").agg(pl.col("tail").min(), pl.col("area").min()).sort("alpha")
    fixed = least.filter(pl.col("method") == "fixed").select("alpha", final="tail", whole="area")
    for method in found["method"].unique(maintain_order=True):
        if method != "fixed":
            own = least.filter(pl.col("method") == method).join(fixed, on="alpha").sort("alpha")
            yield (
                method, own["alpha"].to_list(), (own["tail"] / own["final"]).to_list(),
                (own["area"] / own["whole"]).to_list(),
            )  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--studies", action="store_true", help="print the names of the studies, and nothing else")
    given = parser.parse_args()
    if given.studies:
        print("\n".join(name for name in td.studies.bundled() if name.startswith("self-tuning")))
        return
    for directory in given.directories:
        print(f"\n## {directory.name}\n")
        for k, (method, alphas, finals, areas) in enumerate(ratios(directory)):
            if k == 0:
                print("| final / area | " + " | ".join(f"{a:g}" for a in alphas) + " | worst final | mean area |")
                print("|" + " --- |" * (len(alphas) + 3))
            cells = [f"{final:.2f}/{area:.2f}" for final, area in zip(finals, areas, strict=True)]
            print(f"| {method} | " + " | ".join(cells) + f" | {max(finals):.2f} | {sum(areas) / len(areas):.2f} |")


if __name__ == "__main__":
    main()
