"""The work of question 1: directions of each form of the meta-gradient, and runs with λ learned or computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy
from cases import CASES, Case, set_lambda
from frame import Rows

import tdlambda as td

REACH: dict[str, dict[str, Any]] = {
    "one step": {}, "horizon 3": {"horizon": 3}, "horizon 10": {"horizon": 10}, "trace": {"horizon": "episode"},
}  # fmt: skip
"""The forms that learn online."""
SIZES = (0.0003, 0.001, 0.01, 0.1)
"""Step sizes α |x|²."""
KAPPAS, SLOW = (1e-4, 1e-3, 1e-2, 1e-1), (1e-6, 1e-5)
"""Step sizes of λ; the slow ones for the two smaller α alone."""
LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.99, 1.0)
TUNING = 1000
"""The first of the seeds on which κ, or the fixed λ, is chosen; reports are on seeds from 0."""
POINTS = 100
NEVER = 1e-300
"""A step size that moves nothing."""
STORED = 10_000
"""Steps that the offline gradient is computed from, at most."""


# ---- distance to the exact gradient -------------------------------------------------------------------------------


def directions(case: str, sizes: tuple[float, ...], at: tuple[int, ...], steps: int, seeds: int) -> Rows:
    """At moments of a run with `td.rules.Meta()`: cosine and norm of each form of the meta-gradient by those of ∇J."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        for seed in range(seeds):
            c = CASES[case]
            learner, sampler, done = c.build(size, td.rules.Meta(features=c.lam_features)), c.task.sampler(seed=seed), 0
            apart = c.task.sampler(seed=seed + TUNING)
            for t in at:
                learner.update_many(sampler.take(t - done))
                stored, done = apart.take(steps), t
                if learner.diverged_at is not None:
                    break
                for how, form, g, truth in compared(c, learner, stored):
                    lengths = np.linalg.norm(g), np.linalg.norm(truth)
                    rows.append({
                        "kind": "direction", "case": case, "size": size, "seed": seed, "at": t, "how": how,
                        "form": form, "cosine": cosine(g, truth), "norm": float(lengths[0] / lengths[1]),
                    })  # fmt: skip
    return rows


def cosine(a: Any, b: Any) -> float:
    """Of the angle between two vectors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def compared(case: Case, learner: Any, stored: td.mdp.Transitions) -> list[tuple[str, str, Any, Any]]:
    """What each form says ∂J/∂u is where the learner is now: how it is known, the form, the vector, the truth."""
    s, task = case.system, case.task
    states = np.arange(s.n)
    V, M, L, S = (row * s.live for row in np.atleast_2d(learner.estimates(states)))
    lam, u = learner.lambdas(states) * s.live, learner.row("u").copy()
    truth = s.Z.T @ s.gradient(V, lam)
    moments = s.moments(V, lam)
    found: list[tuple[str, str, Any, Any]] = []
    for form, reach in REACH.items():
        horizon = None if form == "trace" else reach.get("horizon", 1)
        found.append(("expected", form, s.Z.T @ s.gradient(V, lam, horizon), truth))
        for how, known in (("exact", (V, s.v, moments.mean, moments.variance)), ("learnt", (V, M, L, S))):
            found.append((how, form, sampled(case, stored, known, u, reach), truth))
    for how, mean in (("exact", s.v), ("learnt", None)):
        g = td.rules.offline_meta(
            stored, task.features, lambda o, V=V: V[o], None if mean is None else lambda o, m=mean: m[o],
            lam_features=case.lam_features, initial=u, sweeps=0,
        ).gradient  # fmt: skip
        found.append((how, "offline", g, truth))
    return found


def sampled(case: Case, stored: td.mdp.Transitions, known: tuple[Any, ...], u: Any, reach: dict[str, Any]) -> Any:
    """What META's gradient steps over these transitions add up to, an episode, with V, M, L, S and λ held."""
    kappa = 1e-9
    rule = td.rules.Meta(kappa, "exact", "gradient", **reach, in_range=False, floor=0.0, features=case.lam_features)
    held = td.TrueOnlineTD(
        td.features.OneHot(case.system.n), NEVER, rule, initial=1.0, bound=1e9
    )  # none of it is divergence
    for name, values in zip("VMLS", known, strict=True):
        held.memory.row(f"{name}_w")[:] = values
    set_lambda(held, u)
    held.update_many(stored)
    return (held.row("u") - u) / kappa / max(stored.terminated.sum(), 1)


# ---- what it does for learning ------------------------------------------------------------------------------------


def learning(
    case: str, sizes: tuple[float, ...], kappas: tuple[float, ...], lambdas: tuple[float, ...], steps: int, seeds: int,
    tuning: int,
) -> Rows:  # fmt: skip
    """Final error (last tenth) and area of each form with each κ, and of fixed λ, on the same trajectories."""
    c = CASES[case]
    settings = [(form, kappa) for form in REACH for kappa in kappas] + [("fixed λ", lam) for lam in lambdas]
    keys = [(size, *given) for size in sizes for given in settings]
    learners = [c.build(size, rule(c, *given)) for size, *given in keys]
    chosen = [*range(seeds), *range(TUNING, TUNING + tuning)]
    found = td.engine.run(c.task, learners, chosen, steps, points=POINTS, keep=(), threads=1, progress=False)
    final, area = found.tail(), found.area()
    return [
        {
            "kind": "error", "case": case, "size": size, "form": form, "setting": value, "seed": seed,
            "final": float(final[i, j]), "area": float(area[i, j]),
        }
        for i, (size, form, value) in enumerate(keys)
        for j, seed in enumerate(found.seeds)
    ]  # fmt: skip


def rule(case: Case, form: str, value: float) -> Any:
    """META of this form with κ = value, or the fixed λ = value."""
    return value if form == "fixed λ" else td.rules.Meta(value, **REACH[form], features=case.lam_features)


def computed(case: str, sizes: tuple[float, ...], steps: int, seeds: int) -> Rows:
    """The same errors where λ is not learned but computed at 24 moments: from stored episodes, or from the model."""
    c, rows = CASES[case], []
    for size in sizes:
        for form, find in (("offline", offline), ("model", from_model)):
            for seed in range(seeds):
                error = guided(c, size, seed, steps, partial(find, c))
                final, area = error[-POINTS // 10 :].mean(), error.mean()
                rows.append({"kind": "error", "case": case, "size": size, "form": form, "setting": 0.0, "seed": seed,
                             "final": float(final), "area": float(area)})  # fmt: skip
    return rows


def guided(case: Case, size: float, seed: int, steps: int, find: Callable[[Any, Any], Any]) -> Any:
    """Value errors of a run in which u = find(learner, last steps) at 24 moments, evenly on a log axis."""
    learner = case.build(size, td.rules.Meta(NEVER, features=case.lam_features, aux_alpha=NEVER))
    truth, sampler = td.engine.exact_truth(case.task), case.task.sampler(seed=seed)
    points = set(np.linspace(0, steps, POINTS + 1).round().astype(int)[1:].tolist())
    moments = set(np.geomspace(min(50, steps), steps, 24).round().astype(int).tolist())
    stored, last, errors = None, 0, []
    for t in sorted(points | moments):
        new = sampler.take(t - last)
        learner.update_many(new)
        stored, last = joined(stored, new), t
        if t in points:
            V = learner.predict_many(truth.observations)
            errors.append(float(truth.weights @ (V - truth.values) ** 2) if learner.diverged_at is None else np.inf)
        if t in moments and stored.terminated.any():
            set_lambda(learner, find(learner, stored))
    return np.array(errors)


def joined(old: td.mdp.Transitions | None, new: td.mdp.Transitions) -> td.mdp.Transitions:
    """The last `STORED` steps, from the start of an episode."""
    if old is None:
        return new
    both = {name: np.concatenate([column, getattr(new, name)]) for name, column in vars(old).items()}
    ends = np.flatnonzero(both["terminated"])
    begin = max(len(both["reward"]) - STORED, 0)
    first = 0 if begin == 0 or not (ends > begin).any() else int(ends[ends > begin][0]) + 1
    return td.mdp.Transitions(**{name: column[first:] for name, column in both.items()})


def offline(case: Case, learner: Any, stored: td.mdp.Transitions) -> Any:
    """The weights of λ by the whole gradient over stored episodes."""
    start = learner.row("u").copy()
    return td.rules.offline_meta(stored, case.task.features, learner.weights, lam_features=case.lam_features,
                           initial=start, sweeps=20).weights  # fmt: skip


def from_model(case: Case, learner: Any, stored: td.mdp.Transitions) -> Any:
    """The weights of λ of least target error J for the present V, by the exact gradient."""
    s = case.system
    V = learner.predict_many(np.arange(s.n)) * s.live

    def error(u: Any) -> tuple[float, Any]:
        lam = s.lam(u)
        return float(s.target_error(V, lam)), -s.Z.T @ s.gradient(V, lam)

    start, tabular = learner.row("u").copy(), case.lam_features == td.features.OneHot(s.n)
    inside: dict[str, Any] = {"method": "L-BFGS-B", "bounds": [(0, 1)] * start.size}
    if not tabular:  # 0 ≤ λ ≤ 1 in every state
        inside = {"method": "SLSQP", "constraints": scipy.optimize.LinearConstraint(s.Z, 0, 1)}
    found = scipy.optimize.minimize(error, start, jac=True, options={"maxiter": 50}, **inside)
    return found.x if found.fun <= error(start)[0] else start
