"""Daley, White, Amato & Machado (2023): two traces that make the expected update expand.

    python experiments/family/daley.py              seconds; --full is the same with a longer list of γ

One state with two actions, λ = 1. Counterexample 5.7: traces truncated as min(1, Πρ), behaviour (½, ½), target
(0.6, 0.4). Counterexample 5.8: on-policy with (½, ½), β = 1 where the last action was the first one, else 0; its norm
is γ/(2(1-γ)). Z is the operator of `trajectories.trajectory_operator`, M Q - q = Z (Q - q); the update contracts if
‖Z‖∞ < 1. Beside ours stand numbers from closed formulas of the two examples, which agree with the authors' program.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import outside
from trajectories import trajectory_operator

import tdlambda as td

NORMS = {0.90: 0.7117, 0.92: 0.8793, 0.94: 1.140135, 0.96: 1.6068, 0.98: 2.7092}
"""5.7, by γ."""
BINARY = {2 / 3: 1.0, 0.9: 4.5}
"""5.8, by γ."""
TRACES: tuple[Any, ...] = ("retrace", "truncated-is", "recursive-retrace", "rbis")


def loop(gamma: float) -> td.FiniteMDP:
    """One state, two actions."""
    return td.FiniteMDP(np.ones((1, 2, 1)), [0.0], discount=gamma)


def binary(*given: Any) -> tuple[Any]:
    """β = 1 after the first action, else 0."""
    return (1.0 * (given[4] == 0),)


def main() -> int:
    """Print the tables, the verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    gammas = list(NORMS) if chosen.full else [0.90, 0.92, 0.94]
    truncated = {
        g: trajectory_operator(loop(g).under([0.6, 0.4], [0.5, 0.5]), 1.0, correction="truncated-is", tolerance=1e-8)
        for g in gammas
    }
    outside.table("5.7, truncated importance sampling: ‖Z‖∞", ["γ", "theirs", "ours", "spectral radius"], [
        [f"{g:g}", f"{NORMS[g]:.7g}", f"{Z.norm:.6f}", f"{Z.spectral_radius:.4f}"]
        for g, Z in truncated.items()])  # fmt: skip
    ones = {g: trajectory_operator(loop(g).under([0.5, 0.5]), 1.0, correction=binary) for g in BINARY}
    outside.table("5.8, binary traces on-policy: ‖Z‖∞", ["γ", "theirs", "ours", "each row of Z"], [
        [f"{g:.4g}", f"{BINARY[g]:g}", f"{Z.norm:.6f}", np.array2string(Z.Z[0], precision=6)]
        for g, Z in ones.items()])  # fmt: skip
    others = {
        name: trajectory_operator(loop(0.9).under([0.6, 0.4], [0.5, 0.5]), 1.0, correction=name, tolerance=1e-3)
        for name in TRACES
    }
    outside.table("The setting of 5.7 at γ = 0.9, other traces: ‖Z‖∞", ["trace", "ours"],
                  [[name, f"{Z.norm:.3f} ± {Z.truncation:.0e}"] for name, Z in others.items()])  # fmt: skip
    at = truncated[0.94]
    good = outside.verdicts({
        "5.7: every norm is theirs, within one unit of the last digit":
            all(abs(Z.norm - NORMS[g]) < (1e-6 if g == 0.94 else 1e-4) for g, Z in truncated.items()),
        "5.7 at γ = 0.94: Z is [[0.704505, -0.435630], the same]; it expands although its spectral radius is 0.2689":
            bool(np.allclose(at.Z, [[0.704505, -0.435630]] * 2, atol=1e-6) and at.norm > 1)
            and abs(at.spectral_radius - 0.2689) < 1e-4,
        "5.8: the norm is γ/(2(1-γ)), 1 at γ = 2/3":
            all(abs(Z.norm - g / (2 * (1 - g))) < 1e-8 and abs(Z.norm - BINARY[g]) < 1e-8 for g, Z in ones.items()),
        "5.8 at γ = 2/3: Z is [[-1/3, 2/3], the same]":
            bool(np.allclose(ones[2 / 3].Z, [[-1 / 3, 2 / 3]] * 2, atol=1e-8)),
        "Retrace, Recursive Retrace and RBIS contract by γ or better":
            all(Z.norm <= 0.9 + Z.truncation for name, Z in others.items() if name != "truncated-is"),
    })  # fmt: skip
    outside.write_json(chosen.json, {
        "truncated": {f"{g:g}": Z.norm for g, Z in truncated.items()},
        "binary": {f"{g:g}": Z.norm for g, Z in ones.items()},
        "others": {name: Z.norm for name, Z in others.items()}})  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
