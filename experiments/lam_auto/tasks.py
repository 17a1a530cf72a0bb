"""Tasks for choosing `lam="auto"` and tasks kept apart, and the errors of learners on them.

"dev" and "dev-tables" served to choose. "kept" and "kept-tables" were looked at once, and then served to try a second
mean (experiments/how-we-chose.md). Nothing was chosen on "fresh".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tdlambda as td

LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
SIZES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Step sizes α |x|², with the largest |x|² of any state."""
POINTS = 100
CACHE = Path(os.environ.get("LAM_AUTO_CACHE", "/tmp/lam_auto"))

Make = Callable[[], tuple[td.tasks.Task, td.Encoder]]


def _own(name: str, **options: object) -> Make:
    def make() -> tuple[td.tasks.Task, td.Encoder]:
        task = td.make(name, **options)
        return task, task.features

    return make


def _tiles(name: str, n: int, width: int, **options: object) -> Make:
    """Four tilings of a line of n states."""

    def make() -> tuple[td.tasks.Task, td.Encoder]:
        task = td.make(name, n=n, **options)
        columns = [((np.arange(task.mdp.n_states) + shift * width // 4) // width) for shift in range(4)]
        return task, td.features.Table(np.concatenate([np.eye(c.max() + 1)[c] for c in columns], axis=1))

    return make


def _sensors(seed: int, **options: object) -> Make:
    """Six readings that are functions of a state of 30, some with a large mean, and a constant."""

    def make() -> tuple[td.tasks.Task, td.Encoder]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 6)) + np.array([0, 0, 0, 1, 1, 2])
        return td.make("Garnet-v0", seed=seed, **options), td.features.Table(np.column_stack([X, np.ones(30)]))

    return make


def shared(first: int, count: int) -> dict[str, Make]:
    """Tasks with features that states share; random ones are numbered from `first`."""
    found: dict[str, Make] = {}
    for s in range(first, first + count):
        size = 8 if s % 2 else 12
        found[f"mdp{s}-{size}"] = _own("Garnet-v0", seed=s, features=size)
        found[f"mdp{s}-{size}-on"] = _own("Garnet-v0", seed=s, features=size, on_policy=True)
    for s in range(first, first + max(1, count // 4)):
        found[f"sensors{s}"] = _sensors(s)
        found[f"sensors{s}-on"] = _sensors(s, on_policy=True)
    return found


LAKES = {
    "lake": _own("FrozenLake-v0", preset="off-policy"),
    "lake-on": _own("FrozenLake-v0", preset="on-policy"),
}
TILES = {
    "tiles": _tiles("RingWorld-v0", 41, 12, target_left=0.4, behavior_left=0.45),
    "tiles-on": _tiles("RandomWalk-v0", 61, 16),
}
TABLES = {
    "ring.4": _own("RingWorld-v0", preset="0.4/0.35"),
    "ring.2": _own("RingWorld-v0", preset="0.2/0.15"),
    "walk": _own("RandomWalk-v0", n=19),
    "mdp21": _own("Garnet-v0", seed=21),
    "mdp22-on": _own("Garnet-v0", seed=22, on_policy=True),
    "mdp23-ep": _own("Garnet-v0", preset="episodic", seed=23),
}
SETS: dict[str, dict[str, Make]] = {
    "dev": {**LAKES, **TILES, **shared(51, 4)},
    "dev-tables": TABLES,
    "kept": {
        **LAKES,
        "tiles-on": _tiles("RingWorld-v0", 31, 8, target_left=0.4),
        "tiles-walk": _tiles("RandomWalk-v0", 41, 12, target_left=0.5, behavior_left=0.45),
        **shared(71, 8),
    },
    "fresh": {
        **LAKES,
        "tiles": _tiles("RingWorld-v0", 51, 16, target_left=0.35, behavior_left=0.4),
        "tiles-on": _tiles("RingWorld-v0", 25, 8, target_left=0.45),
        "tiles-walk": _tiles("RandomWalk-v0", 31, 8, target_left=0.5, behavior_left=0.45),
        "tiles-walk-on": _tiles("RandomWalk-v0", 51, 16),
        **shared(101, 8),
    },
    "kept-tables": {
        "ring.3": _own("RingWorld-v0", preset="0.3/0.25"),
        "boyan": _own("BoyanChain-v0"),
        "mdp11": _own("Garnet-v0", seed=11),
        "mdp12-ep": _own("Garnet-v0", preset="episodic", seed=12),
        "mdp81": _own("Garnet-v0", seed=81),
        "mdp82-on": _own("Garnet-v0", seed=82, on_policy=True),
    },
}


def matrix(task: td.tasks.Task, features: td.Encoder) -> np.ndarray:
    """Features of every state [state, feature]."""
    return np.array([features.dense(s) for s in range(task.mdp.n_states)])


def alphas(X: np.ndarray) -> list[float]:
    """The step sizes of a task."""
    return [size / float((X * X).sum(axis=1).max()) for size in SIZES]


def learners(kind: str, features: td.Encoder, X: np.ndarray, lams: tuple[object, ...]) -> list[td.Learner]:
    """A learner for each (λ, α)."""
    build = {"TD": td.TrueOnlineTD, "GTD": td.TrueOnlineGTD}[kind]
    return [build(features, a, lam, on_divergence="flag") for lam in lams for a in alphas(X)]


def errors(which: str, name: str, kind: str, lams: tuple[object, ...], seeds: range, steps: int) -> np.ndarray:
    """Errors of learners of the library [λ, α, seed, point]; those of fixed λ are kept."""
    fixed = lams == LAMBDAS
    key = hashlib.sha1(f"{which} {name} {kind} {lams} {seeds} {steps} {SIZES}".encode()).hexdigest()[:16]
    path = CACHE / f"{key}.npy"
    if fixed and path.exists():
        return np.load(path)
    task, features = SETS[which][name]()
    given = learners(kind, features, matrix(task, features), lams)
    found = td.engine.run(task, given, seeds=list(seeds), steps=steps, points=POINTS).error
    found = found.reshape(len(lams), len(SIZES), len(seeds), POINTS)
    if fixed:
        CACHE.mkdir(parents=True, exist_ok=True)
        np.save(path, found)
    return found


def score(error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Final error (last tenth) and area, means over seeds; inf where some run is not finite. [..., seed, point]"""
    error = np.where(np.isfinite(error), error, np.inf)
    return error[..., -POINTS // 10 :].mean(axis=(-1, -2)), error.mean(axis=(-1, -2))
