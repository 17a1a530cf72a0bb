"""Exact answers against the number of states: time for each non-zero, numbers stored, and the dense solve beside it.

    python benchmarks/solve.py [--json]

"against dense" is the time of `numpy.linalg.solve` on the same system, measured in the same run, over ours.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import tdlambda as td
from tdlambda.mdp.resolvent import Resolvent
from tdlambda.tasks.ring_world import chain


def walk(n: int) -> td.FiniteMDP:
    """A symmetric random walk, γ = 1."""
    return chain(n + 1 - n % 2, -1.0, 1.0, 1.0)


def grid(n: int) -> td.FiniteMDP:
    """A square grid from corner to corner, -1 a step, γ = 1."""
    side = round(n**0.5)
    state = np.arange(side**2)
    row, column = divmod(state, side)
    moves = []
    for dr, dc in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        to = np.clip(row + dr, 0, side - 1) * side + np.clip(column + dc, 0, side - 1)
        moves.append(sparse.csr_array((np.ones(state.size), (state, to)), shape=(state.size,) * 2))
    return td.FiniteMDP(moves, np.full(state.size, -1.0), discount=1.0, terminal=[state.size - 1], start=0)


def random_graph(n: int) -> td.FiniteMDP:
    """Three random successors for each of two actions, γ = 0.99: nothing for an elimination order to hold on to."""
    rng = np.random.default_rng(0)
    state = np.repeat(np.arange(n), 3)
    moves = [
        sparse.csr_array((np.full(3 * n, 1 / 3), (state, rng.integers(0, n, 3 * n))), shape=(n, n)) for _ in range(2)
    ]
    return td.FiniteMDP(moves, rng.random(n), discount=0.99, start=0)


def seconds(work: Callable[[], Any]) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def measure(name: str, build: Callable[[int], td.FiniteMDP], n: int) -> dict[str, Any]:
    mdp = build(n)
    P = mdp.under().P()
    resolvent = Resolvent(sparse.csr_array(P.multiply(mdp.discount)))
    spent = {
        "v": seconds(lambda: mdp.under().v()),
        "d": seconds(lambda: mdp.under().state_distribution()),
        "variance": seconds(lambda: mdp.under().return_variance()),
    }
    row: dict[str, Any] = {"task": name, "states": mdp.n_states, "nonzeros": int(P.nnz), "method": resolvent.method}
    resolvent.solve(np.ones(mdp.n_states))
    row["stored_per_nonzero"] = resolvent.stored / P.nnz
    row |= {f"us_per_state_{key}": 1e6 * t / mdp.n_states for key, t in spent.items()}
    if mdp.n_states <= 4100:
        dense = np.eye(mdp.n_states) - (P.toarray() * mdp.discount)
        row["against_dense"] = seconds(lambda: np.linalg.solve(dense, np.ones(mdp.n_states))) / spent["v"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        measure(name, build, n)
        for name, build in (("walk", walk), ("grid", grid), ("random graph", random_graph))
        for n in (1_000, 4_000, 10_000, 100_000)
    ]
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(
        f"{'task':<13}{'states':>8} {'solver':<7}{'stored':>8}   µs a state: {'v':>6}{'d':>7}{'Var':>7}  against dense"
    )
    for r in rows:
        dense = f"{r['against_dense']:.0f}×" if "against_dense" in r else "–"
        print(
            f"{r['task']:<13}{r['states']:>8} {r['method']:<7}{r['stored_per_nonzero']:>7.1f}×"
            f"{r['us_per_state_v']:>21.2f}{r['us_per_state_d']:>7.2f}{r['us_per_state_variance']:>7.2f}{dense:>15}"
        )
    print("stored: numbers kept by the solver, for each non-zero of P")


if __name__ == "__main__":
    main()
