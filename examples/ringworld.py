"""Learn RingWorld with every λ of the thesis and put the errors beside its table.

    python examples/ringworld.py [--seeds 24] [--steps 1000000] [--out out]

True online TD(λ), off-policy (behaviour goes left with 0.4, target with 0.35). Error = Σ d(s) (V(s) - v(s))², with the
exact v and d, averaged over the last tenth of the run, as in the table; the thesis has 240 runs a cell.
"""

import argparse
from pathlib import Path

import numpy as np

import tdlambda as td
from tdlambda.cli.output import console, print_table
from tdlambda.published import thesis_tables

LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
ALPHAS = (*(round(k * 10.0**-p, 9) for p in (5, 4, 3, 2) for k in range(1, 6)), 0.1)


def _cell(value: float, best: bool, far: bool) -> str:
    text = f"{value:.3g}" + ("[red]*[/red]" if far else "")
    return f"[bold green]{text}[/bold green]" if best else text


def main() -> None:
    """Run the grid, print it, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    published = {
        (cell.alpha, cell.lam): cell
        for cell in thesis_tables()
        if cell.table == "ringworld_04_035" and cell.method == "fixed"
    }
    ring = td.make("RingWorld-v0")
    cells = [(alpha, lam) for alpha in ALPHAS for lam in LAMBDAS]
    console.print(f"{len(cells)} learners × {options.seeds} runs of {options.steps:,} steps")
    learners = [td.TrueOnlineTD(ring.features, alpha, lam) for alpha, lam in cells]
    found = td.engine.run(ring, learners, options.seeds, options.steps, points=1000, keep=())
    if found.interrupted:
        raise SystemExit("interrupted")
    rows: list[list[str]] = []
    for (alpha, lam), errors in zip(cells, found.tail(), strict=True):
        mean, error = float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        theirs = published[alpha, lam]
        z = (mean - theirs.mean) / np.hypot(error, theirs.std / np.sqrt(240))
        rows.append([f"{alpha:g}", f"{lam:g}", f"{mean:.3g}", f"{error:.1g}", f"{theirs.mean:.3g}", f"{z:+.1f}"])
    errors = found.tail().mean(axis=1).reshape(len(ALPHAS), len(LAMBDAS))
    far = np.array([abs(float(row[-1])) > 3 for row in rows]).reshape(errors.shape)
    grid = [
        [f"{alpha:g}", *(_cell(value, value == line.min(), off) for value, off in zip(line, offs, strict=True))]
        for alpha, line, offs in zip(ALPHAS, errors, far, strict=True)
    ]
    print_table("RingWorld 0.4/0.35, true online TD(λ): error", ["α", *(f"λ = {lam:g}" for lam in LAMBDAS)], grid)
    console.print("[bold green]the best λ at this α[/]; [red]* not within three standard errors of the thesis[/]")
    options.out.mkdir(parents=True, exist_ok=True)
    report = options.out / "ringworld.md"
    lines = [f"# RingWorld 0.4/0.35, true online TD(λ): {options.seeds} runs of {options.steps:,} steps a cell", ""]
    columns = ["α", "λ", "error", "± s.e.", "thesis", "z"]
    lines += ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    report.write_text("\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n", encoding="utf-8")
    agree = sum(abs(float(row[-1])) <= 3 for row in rows)
    console.print(f"{agree} of {len(rows)} cells agree with the thesis within three standard errors")
    console.print(
        f"The table is in [bold]{report}[/bold]. Next: README.md, docs/, [bold].venv/bin/tdlambda tasks[/bold]"
    )


if __name__ == "__main__":
    main()
