"""What people use instead of an audit: one number for each critic, of which the smaller should be better."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.audits.comparing import ScoreEstimate, plain


def stacked(pairs: dict[str, Any], steps: dict[str, Any]) -> tuple[Any, Any, Any]:
    """V(s_t), V(s_{t+1}) (0 where it terminates) and corrected TD errors, each [critic, step]."""
    V, V_next = (np.stack([pair[side] for pair in pairs.values()]) for side in (0, 1))
    V_next = np.where(steps["terminated"], 0.0, V_next)
    return V, V_next, steps["rho"] * (steps["reward"] + steps["gamma"] * V_next - V)


def numbers(pairs: dict[str, Any], steps: dict[str, Any]) -> dict[str, Any]:
    """Squared and mean TD error, an LSTD tournament, and 1 - explained variance of GAE(0.95) returns."""
    V, V_next, delta = stacked(pairs, steps)
    squared = steps["rho"] * (steps["reward"] + steps["gamma"] * V_next - V) ** 2
    out = {
        "TD error²": squared.mean(1),
        "mean TD error": np.abs(delta.mean(1)),
        "LSTD tournament": tournament(V, delta),
    }
    returns = np.stack(
        [td.returns.lambda_returns(value=v, value_next=w, lam=0.95, **steps) for v, w in zip(V, V_next, strict=True)]
    )
    out["explained variance"] = (returns - V).var(1) / np.maximum(returns.var(1), 1e-300)
    return out


def tournament(V: Any, delta: Any) -> Any:
    """The largest correlation of a critic's TD error with its own values, or with the difference to another's."""
    n = V.shape[1]
    own = np.abs((delta * V).mean(1)) / (np.sqrt((V**2).mean(1)) + 1e-12)
    worst = own.copy()
    for i in range(len(V)):
        apart = V - V[i]
        size = np.sqrt((apart**2).mean(1))
        against = np.abs(apart @ delta[i]) / n / np.where(size > 0, size, np.inf)
        worst[i] = max(own[i], against.max())
    return worst


def return_scores(pairs: dict[str, Any], steps: dict[str, Any], units: Any) -> tuple[Any, Any]:
    """Σ (V - G)² over each unit with importance-sampled returns, closed by the critic's own value where truncated."""
    rows = []
    for v, w in pairs.values():
        # λ = 1 and V = 0 in the recursion: G = ρ (R + γ G'), closed by w
        G = closed(w, steps)
        rows.append(np.bincount(units, weights=(v - G) ** 2))
    return np.stack(rows), np.bincount(units).astype(float)


def closed(w: Any, steps: dict[str, Any]) -> Any:
    """G_t = ρ_t (R_{t+1} + γ_{t+1} G_{t+1}), and w_t for G_{t+1} where a trajectory is cut."""
    G, after = np.empty(len(w)), 0.0
    rho, reward, gamma = (np.asarray(steps[k], float).tolist() for k in ("rho", "reward", "gamma"))
    ends, final = (steps["terminated"] | steps["truncated"]).tolist(), np.where(steps["terminated"], 0.0, w).tolist()
    for t in range(len(w) - 1, -1, -1):
        if ends[t] or t == len(w) - 1:
            after = final[t]
        after = rho[t] * (reward[t] + gamma[t] * after)
        G[t] = after
    return G


def return_errors(pairs: dict[str, Any], steps: dict[str, Any], blocks: int = 0) -> ScoreEstimate:
    """Differences of squared return errors of all pairs i, j, with their standard errors."""
    n, ends = len(steps["reward"]), steps["terminated"] | steps["truncated"]
    units = np.arange(n) * blocks // n if blocks else np.concatenate(([0], np.cumsum(ends[:-1])))
    S, T = return_scores(pairs, steps, units)
    return plain(S[:, None] - S[None], T)
