"""Learn RingWorld with every λ of the thesis and put the errors beside its table.

    python examples/ringworld.py [--seeds 8] [--steps 1000000] [--out out]

True online TD(λ), off-policy (behaviour goes left with 0.4, target with 0.35). Error = Σ d(s) (V(s) - v(s))², with the
exact v and d, averaged over the last tenth of the run, as in the table; the thesis has 240 runs a cell.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.progress import track

import tdlambda as td
from tdlambda.cli.output import console, print_table
from tdlambda.published import thesis_tables

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1)
LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
POINTS = 20
"""How often the error is read in the last tenth."""


def final_error(alpha: float, lam: float, seed: int, steps: int) -> float:
    """One run: the mean error over the last tenth."""
    ring = td.make("RingWorld-v0")
    weights, truth = ring.mdp.error_weights(ring.target), ring.mdp.v(ring.target)
    v = td.TrueOnlineTD(ring.features, alpha, lam, on_divergence="flag")
    sampler = ring.sampler(seed)
    v.update_many(sampler.take(steps - steps // 10))
    errors = []
    for _ in range(POINTS):
        v.update_many(sampler.take(steps // 10 // POINTS))
        errors.append(weights @ (v.weights - truth) ** 2)
    return float(np.mean(errors))


def main() -> None:
    """Run the grid, print it, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    published = {
        (cell.alpha, cell.lam): cell
        for cell in thesis_tables()
        if cell.table == "ringworld_04_035" and cell.method == "fixed"
    }
    cells = [(alpha, lam) for alpha in ALPHAS for lam in LAMBDAS]
    rows: list[list[str]] = []
    best: dict[float, tuple[float, float]] = {}
    for alpha, lam in track(
        cells, description=f"{options.seeds} runs of {options.steps:,} steps a cell", console=console
    ):
        errors = [final_error(alpha, lam, seed, options.steps) for seed in range(options.seeds)]
        mean, error = float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        theirs = published[alpha, lam]
        z = (mean - theirs.mean) / np.hypot(error, theirs.std / np.sqrt(240))
        best[alpha] = min(best.get(alpha, (np.inf, 0.0)), (mean, lam))
        rows.append([f"{alpha:g}", f"{lam:g}", f"{mean:.3g}", f"{error:.1g}", f"{theirs.mean:.3g}", f"{z:+.1f}"])
    columns = ["α", "λ", "error", "± s.e.", "thesis", "z"]
    print_table("RingWorld 0.4/0.35, true online TD(λ)", columns, rows)
    for alpha, (mean, lam) in best.items():
        console.print(f"at α = {alpha:g} the best λ is [bold]{lam:g}[/bold] (error {mean:.3g})")
    options.out.mkdir(parents=True, exist_ok=True)
    report = options.out / "ringworld.md"
    lines = [f"# RingWorld 0.4/0.35, true online TD(λ): {options.seeds} runs of {options.steps:,} steps a cell", ""]
    lines += ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    report.write_text("\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n", encoding="utf-8")
    agree = sum(abs(float(row[-1])) <= 3 for row in rows)
    console.print(f"{agree} of {len(rows)} cells agree with the thesis within three standard errors")
    console.print(
        f"The table is in [bold]{report}[/bold]. Next: README.md, docs/, [bold].venv/bin/tdlambda tasks[/bold]"
    )


if __name__ == "__main__":
    main()
