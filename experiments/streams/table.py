"""AutoTD on streams of readings, beside LSTD, a running mean, and a ridge regression that saw the returns.

    python experiments/streams/table.py [--synthetic] [--apart] [--json]

Each prediction is made before it is learned from. R² against what then happened: early (from step 500, or n/8, to the
middle), late (the second half). "ridge" was fitted on the realised returns of the first half, its penalty chosen on the
second half: late it is a rival with hindsight. "worst" is the largest ratio of a block's squared error to that of the
mean return so far, over blocks of 250 steps from step 300.
"""

import argparse
import json
import time
from typing import Any

import data
import numpy as np

import tdlambda as td


def prequential(v: Any, s: data.Stream) -> Any:
    """Predictions, each before its transition; and seconds a step."""
    p, begun = np.zeros(len(s.X)), time.perf_counter()
    for t in range(len(s.r)):
        p[t] = v.predict(s.X[t])
        v.update(s.X[t], float(s.r[t]), s.X[t + 1], s.gamma, float(s.rho[t]))
    return p, (time.perf_counter() - begun) / len(s.r)


def r2(p: Any, G: Any) -> float:
    """The share of the variance that is predicted."""
    return float(1 - np.mean((p - G) ** 2) / np.mean((G - G.mean()) ** 2))


def halves(s: data.Stream) -> tuple[Any, Any]:
    """The steps that are early, and those that are late."""
    n, i = len(s.G), np.arange(len(s.G))
    return s.judged & (i >= min(500, n // 8)) & (i < n // 2), s.judged & (i >= n // 2)


def ridge(s: data.Stream) -> float:
    """Late R² of a regression on the returns of the first half."""
    n, (_, late) = len(s.G), halves(s)
    first, scale = s.judged & (np.arange(n) < n // 2), np.where(s.X.std(0) > 0, s.X.std(0), 1)
    Z = np.column_stack([((s.X - s.X.mean(0)) / scale)[:, s.X.std(0) > 0], np.ones(n)])
    best = -np.inf
    for penalty in (1e-3, 1.0, 30.0, 1000.0):
        P = penalty * np.diag([1.0] * (Z.shape[1] - 1) + [1e-9])
        w = np.linalg.solve(Z[first].T @ Z[first] + P, Z[first].T @ s.G[first])
        best = max(best, r2(Z[late] @ w, s.G[late]))
    return best


def worst(s: data.Stream, p: Any) -> float:
    """The largest ratio of a block's squared error to that of the mean return so far."""
    found = [0.0]
    for a in range(300, len(s.G) - 250, 250):
        some = np.flatnonzero(s.judged[a : a + 250]) + a
        if len(some) > 100:
            found.append(float(np.mean((p[some] - s.G[some]) ** 2) / np.mean((s.G[:a].mean() - s.G[some]) ** 2)))
    return max(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--synthetic", action="store_true", help="made-up streams only: no package is needed")
    parser.add_argument("--apart", action="store_true", help="streams on which nothing was chosen")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    some = data.kept_apart() if given.apart else ({} if given.synthetic else data.real()) | data.synthetic()
    rows = []
    if not given.json:
        print(f"{'':24} {'AutoTD':>15} {'LSTD(.9)':>15} {'ridge':>7} {'worst':>6} {'µs':>5}")
    for name, s in some.items():
        early, late = halves(s)
        p, seconds = prequential(td.AutoTD(td.features.Dense(s.X.shape[1])), s)
        q = (
            prequential(td.RecursiveLSTD(td.features.Dense(s.X.shape[1]), 0.9), s)[0]
            if s.X.shape[1] < 64
            else p * np.nan
        )
        row = {"stream": name, "early": r2(p[early], s.G[early]), "late": r2(p[late], s.G[late])}
        row |= {"lstd early": r2(q[early], s.G[early]), "lstd late": r2(q[late], s.G[late]), "ridge": ridge(s)}
        row |= {"worst": worst(s, p), "seconds": seconds}
        rows.append(row)
        if not given.json:
            print(
                f"{name:24} {row['early']:7.3f} {row['late']:7.3f} {row['lstd early']:7.3g} {row['lstd late']:7.3g} "
                f"{row['ridge']:7.3f} {row['worst']:6.2f} {1e6 * seconds:5.1f}", flush=True
            )  # fmt: skip
    if given.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
