"""The exact part of question 2: fixed points of V and λ together, their eigenvalues, and the flow of two states."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from cases import Case
from coupled import FORMS, System, by_complex_step, by_differences
from frame import Rows

CASES = {
    case.name: case
    for case in (
        Case("two states", "TwoState-v0", {}),
        Case("RingWorld 0.35, on-policy", "RingWorld-v0", {"preset": "0.35/0.35"}),
        Case("random MDP 201, table", "Garnet-v0",
             {"preset": "episodic", "seed": 201, "n": 12, "discount": 0.95, "on_policy": True}),
        Case("random MDP 201, features", "Garnet-v0",
             {"preset": "episodic", "seed": 201, "n": 12, "discount": 0.95, "on_policy": True, "features": 6},
             over_states=True),
        Case("FrozenLake, λ over states", "FrozenLake-v0", {}, "TrueOnlineGTD", over_states=True),
        Case("walk of 5, features, off-policy", "RandomWalk-v0", {"preset": "dependent"}, "TrueOnlineGTD",
             over_states=True),
    )
}  # fmt: skip
RATES = (0.01, 1.0, 100.0)
"""κ by α: how fast λ moves beside V."""


def field(system: System, form: str, rate: float, gtd: bool, x: Any) -> Any:
    """The expected motion of (w, λ), λ of non-terminal states, without the bounds of λ; time is in units of 1/α."""
    k = system.X.shape[1]
    lam = np.zeros(system.n, dtype=x.dtype)
    lam[system.live] = x[k:]
    V = system.X @ x[:k]
    move = -system.gradient(V, lam, FORMS[form])
    return np.concatenate([system.value_step(x[:k], lam, gtd), rate * move[system.live]])


def bounded(system: System, form: str, rate: float, gtd: bool, x: Any) -> Any:
    """The motion with λ held in [0, 1]: what points outwards fades within 0.001 of a bound, so that it stays smooth."""
    k = system.X.shape[1]
    inside = np.concatenate([x[:k], x[k:].clip(0, 1)])
    move = field(system, form, rate, gtd, inside)
    room = np.where(move[k:] < 0, x[k:], 1 - x[k:]) / 1e-3
    move[k:] *= room.clip(0, 1)
    return move


def fixed_points(case: str, form: str, starts: int) -> Rows:
    """Where the flow ends from random V and λ, polished by Newton's method, and the eigenvalues there."""
    c = CASES[case]
    system, gtd = c.system, c.learner == "TrueOnlineGTD"
    k, rng = system.X.shape[1], np.random.default_rng(0)
    scale = max(np.abs(system.v).max(), 1e-3)
    rows = []
    for start in range(starts):
        begin = np.concatenate([scale * rng.normal(size=k), rng.uniform(size=int(system.live.sum()))])
        x, moved = flowed(system, form, gtd, begin)
        free = np.abs(field(system, form, 1.0, gtd, x)[k:]) < 1e-7
        x = polished(system, form, gtd, x, free)
        residual = float(np.abs(bounded(system, form, 1.0, gtd, x)).max())
        row: dict[str, Any] = {
            "kind": "fixed", "case": case, "form": form, "start": start, "lam": x[k:].tolist(), "residual": residual,
            "moved": moved, "value_gap": float(np.abs((system.X @ x[:k] - system.v)[system.live]).max() / scale),
            "free": int(free.sum()),
        }  # fmt: skip
        for rate in RATES:
            values, off = eigenvalues(system, form, rate, gtd, x, free)
            row |= {f"largest_{rate:g}": float(values.real.max()), f"off_{rate:g}": off,
                    f"turn_{rate:g}": float(np.abs(values.imag).max() / np.abs(values).max())}  # fmt: skip
        row["neutral"] = int((np.abs(eigenvalues(system, form, 1.0, gtd, x, free)[0]) < 1e-8).sum())
        rows.append(row)
    return rows


def unseen(system: System) -> int:
    """Directions of w that change no value: features that depend on each other."""
    return system.X.shape[1] - int(np.linalg.matrix_rank(np.sqrt(system.D)[:, None] * system.X))


def flowed(system: System, form: str, gtd: bool, begin: Any) -> tuple[Any, float]:
    """The end of the flow after a long time, and how far it still moved in the last tenth of its logarithm."""
    k, end = system.X.shape[1], 1e7
    speed = 1 / max(np.abs(system.d).max(), 1e-12) / max(np.abs(system.v).max() ** 2, 1e-6)
    found = scipy.integrate.solve_ivp(  # λ moves about as fast as V, whatever the unit of values
        lambda _, x: bounded(system, form, speed, gtd, x), (0, end), begin, method="LSODA", rtol=1e-7, atol=1e-10,
        t_eval=[end**0.9, end],
    )  # fmt: skip
    last = found.y[:, -1].copy()
    last[k:] = last[k:].clip(0, 1)
    for bound in (0.0, 1.0):  # which is reached only in the end of time
        last[k:][np.abs(last[k:] - bound) < 1e-5] = bound
    return last, float(np.abs(found.y[:, -1] - found.y[:, 0]).max())


def polished(system: System, form: str, gtd: bool, x: Any, free: Any) -> Any:
    """Newton's method on V and on λ in the open interval, the rest held."""
    k = system.X.shape[1]
    for _ in range(20):
        inside = np.concatenate([np.ones(k, dtype=bool), free & (x[k:] > 1e-6) & (x[k:] < 1 - 1e-6)])
        now = field(system, form, 1.0, gtd, x)[inside]
        if np.abs(now).max() < 1e-15:
            break
        J = by_complex_step(lambda y: field(system, form, 1.0, gtd, y), x)[np.ix_(inside, inside)]
        new = x.copy()
        new[inside] -= np.linalg.lstsq(J, now, rcond=1e-10)[0]
        new[k:] = new[k:].clip(0, 1)
        if np.abs(field(system, form, 1.0, gtd, new)[inside]).max() >= np.abs(now).max():
            break
        x = new
    return x


def eigenvalues(system: System, form: str, rate: float, gtd: bool, x: Any, free: Any) -> tuple[Any, float]:
    """Of the Jacobian over V and the λ that no bound holds, by a complex step; and how far central differences are."""
    inside = np.concatenate([np.ones(system.X.shape[1], dtype=bool), free])
    J = by_complex_step(lambda y: field(system, form, rate, gtd, y), x)
    other = by_differences(lambda y: field(system, form, rate, gtd, y), x)
    J, other = (found[np.ix_(inside, inside)] for found in (J, other))
    values = np.linalg.eigvals(J)
    seen = np.argsort(np.abs(values))[unseen(system) :]
    return values[seen], float(np.abs(J - other).max() / np.abs(J).max())


# ---- the flow of two states ---------------------------------------------------------------------------------------


def flow(grid: int) -> Rows:
    """-∇J over (λ(A), λ(B)) for V = 0 and for V = v, and paths along which V learns meanwhile."""
    system = CASES["two states"].system
    k, at, rows = system.X.shape[1], np.linspace(0, 1, grid), []
    for name, V in (("V = 0", np.zeros(3)), ("V = v", system.v)):
        for a in at:
            for b in at:
                g = system.gradient(V, np.array([a, b, 0.0]))
                rows.append({"kind": "arrow", "panel": name, "a": a, "b": b, "da": -g[0], "db": -g[1]})
    times = np.concatenate([[0.0], np.geomspace(0.1, 1e5, 120)])
    begins = [(a, b) for a in np.linspace(0.1, 1, 4) for b in (0.4, 1.0)] + [(1.0, 0.05), (0.55, 0.05)]
    for path, (a, b) in enumerate(begins):
        found = scipy.integrate.solve_ivp(
            lambda _, x: bounded(system, "full", 1.0, False, x), (0, times[-1]), [*np.zeros(k), a, b], method="LSODA",
            t_eval=times, rtol=1e-8, atol=1e-10,
        )  # fmt: skip
        rows += [
            {"kind": "path", "path": path, "time": float(t), "a": float(x[k]), "b": float(x[k + 1])}
            for t, x in zip(found.t, found.y.T, strict=True)
        ]
    return rows
