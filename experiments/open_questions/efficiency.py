"""Question 3: what the error of targets at the start says about how fast, and how far, learning goes.

For each task, α and λ: exact objectives at the values that learning starts from, and outcomes measured on many seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ahead import Linear, Parts, parts
from efficiency_page import charts, tables
from frame import Rows, Unit

import tdlambda as td
from tdlambda.arrays import Floats
from tdlambda.tasks.task import TabularTask

__all__ = ["charts", "tables", "units"]
TABLES: dict[str, Callable[[], Any]] = {
    "RingWorld 0.4/0.35": lambda: td.make("RingWorld-v0", "0.4/0.35"),
    "RingWorld 0.3/0.25": lambda: td.make("RingWorld-v0", "0.3/0.25"),
    "RingWorld 0.2/0.15": lambda: td.make("RingWorld-v0", "0.2/0.15"),
    "FrozenLake": lambda: td.make("FrozenLake-v0", "one-hot"),
    "19-state walk": lambda: td.make("RandomWalk-v0", "19"),
    "5-state walk, off-policy": lambda: td.make("RandomWalk-v0", "tabular"),
    "random MDP 0": lambda: garnet(0, on_policy=True),
    "random MDP 1": lambda: garnet(1, on_policy=True, discount=0.99),
    "random MDP 2, off-policy": lambda: garnet(2),
    "random MDP 3, episodic": lambda: garnet(3, terminal=2),
}
FEATURES: dict[str, Callable[[], Any]] = {
    "FrozenLake, tilings": lambda: td.make("FrozenLake-v0"),
    "5-state walk, inverted": lambda: td.make("RandomWalk-v0", "inverted"),
    "5-state walk, dependent": lambda: td.make("RandomWalk-v0", "dependent"),
    "Boyan's chain": lambda: td.make("BoyanChain-v0"),
    "random MDP 4": lambda: garnet(4, on_policy=True, features=8),
    "random MDP 5": lambda: garnet(5, on_policy=True, discount=0.99, features=8),
    "random MDP 6, off-policy": lambda: garnet(6, features=8),
    "random MDP 7, episodic": lambda: garnet(7, terminal=2, features=8),
}
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3)
LAMBDAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)


def garnet(seed: int, discount: float = 0.95, **options: Any) -> Any:
    """A random MDP of 16 states."""
    return td.make("Garnet-v0", seed=seed, n=16, actions=3, branching=3, discount=discount, **options)


def units(full: bool) -> list[Unit]:
    """One for each task."""
    names = [*TABLES, *FEATURES] if full else ["RingWorld 0.4/0.35", "FrozenLake", "FrozenLake, tilings"]
    size = {"seeds": 64, "steps": 2**17} if full else {"seeds": 8, "steps": 2**13}
    return [Unit("shared", shared), *(Unit(n.replace("/", "-"), measured, {"name": n, **size}) for n in names)]


def shared() -> Rows:
    """Two states with certain rewards 0 and 1 that share their only feature; V = ½, the best they can have."""
    P = np.zeros((3, 3))
    P[:2, 2] = 1.0
    mdp = td.FiniteMDP(P, [0.0, 1.0, 0.0], terminal=[2], start=[0.5, 0.5, 0.0])
    task = TabularTask(mdp, [1.0], None, td.features.Table(np.array([[1.0], [1.0], [0.0]])))
    here, model = parts(task, np.full(3, 0.5), 1.0), Linear(task, np.array([[1.0], [1.0], [0.0]]), 1.0)
    weights = mdp.under().error_weights().sum()
    return [
        {
            "kind": "shared", "alpha": alpha, "target": here.target_error() / weights,
            "before": model.value_error(np.array([0.5])) / weights, "one": here.ahead(alpha) / weights,
            "exact_one": model.errors(alpha, np.array([0.5]), 0)[1] / weights,
        }
        for alpha in (0.1, 0.5, 1.0)
    ]  # fmt: skip


def measured(name: str, seeds: int, steps: int) -> Rows:
    """Objectives and outcomes of all α and λ on one task; rows of kind "outcome" are of one seed."""
    task = (TABLES | FEATURES)[name]()
    X = task.features.matrix(np.arange(task.mdp.n_states))
    X = np.where(task.mdp.terminal[:, None], 0.0, X)
    used, scale = X.any(axis=0), (X**2).sum(axis=1).max()
    models = {lam: Linear(task, X[:, used], lam) for lam in LAMBDAS}
    about: dict[str, Any] = {"task": name, "table": name in TABLES}
    rows = []
    for lam, model in models.items():
        here, settled = (parts(task, V, lam) for V in (np.zeros(len(X)), task.exact.v()))
        rows += [
            about
            | {"kind": "objective", "alpha": alpha, "lam": lam, **objectives(here, model, alpha, scale, steps)}
            | {"settled": settled.ahead(alpha, steps)}
            for alpha in ALPHAS
        ]
    start = float(models[0.0].value_error(np.zeros(used.sum())))
    cells = [(alpha, lam) for alpha in ALPHAS for lam in LAMBDAS]
    learners = [td.TrueOnlineTD(task.features, alpha / scale, lam, on_divergence="flag") for alpha, lam in cells]
    found = td.engine.run(
        task, learners, seeds, steps, points=points(steps), keep=("weights",), threads=1, progress=False
    )
    for (alpha, lam), curves, weights in zip(cells, found.error, found.weights, strict=True):
        ends = models[lam].target_error(weights[:, used])
        rows += [
            about
            | {"kind": "outcome", "alpha": alpha, "lam": lam, "seed": seed, **outcomes(curve, found.points, start)}
            | {"target_at_end": float(end) if np.isfinite(curve[-1]) else np.inf}
            for seed, (curve, end) in enumerate(zip(curves, ends, strict=True))
        ]
    return rows


def points(steps: int) -> list[int]:
    """Where the error is read: close together at the start, and evenly in the last tenth."""
    early = np.unique(np.geomspace(1, 0.9 * steps, 160).astype(int))
    return [*early.tolist(), *np.linspace(0.9 * steps, steps, 21).astype(int)[1:].tolist()]


def objectives(here: Parts, model: Linear, alpha: float, scale: float, steps: int) -> dict[str, float]:
    """Every objective at V = 0, exactly."""
    doublings = int(np.log2(steps))
    curve = model.errors(alpha / scale, np.zeros(len(model.L) - 1), doublings)
    horizon = min(doublings, round(np.log2((model.d > 0).sum() / alpha)))
    return {
        "target": here.target_error(), "bias": here.squared_bias(),
        "variance": here.target_error() - here.squared_bias(),
        "one": here.ahead(alpha), "many": here.ahead(alpha, round(1 / alpha)),
        "exact_one": curve[1], "exact_horizon": curve[1 + horizon], "exact_end": curve[-1],
    }  # fmt: skip


def outcomes(curve: Floats, at: Any, start: float) -> Mapping[str, float]:
    """Steps to half and a tenth of the error at the start (∞ if never), the final error, and the area."""
    late = at > 0.9 * at[-1]
    area = np.trapezoid(np.append(start, curve), np.append(0, at)) / at[-1] if np.isfinite(curve).all() else np.inf
    return {
        "half": first(curve, at, start / 2), "tenth": first(curve, at, start / 10),
        "final": float(curve[late].mean()), "area": float(area),
    }  # fmt: skip


def first(curve: Floats, at: Any, level: float) -> float:
    """The first point with an error of at most this."""
    below = np.flatnonzero(curve <= level)
    return float(at[below[0]]) if below.size else np.inf
