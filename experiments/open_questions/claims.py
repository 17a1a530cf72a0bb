"""Side claims of the thesis that can be checked: on-policy distributions, the policy gradient theorem, META's cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from frame import Rows, Unit, table

import tdlambda as td

TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "RingWorld 0.4/0.35": ("RingWorld-v0", {"preset": "0.4/0.35"}),
    "RingWorld 0.2/0.15": ("RingWorld-v0", {"preset": "0.2/0.15"}),
    "FrozenLake": ("FrozenLake-v0", {}),
    "19-state walk": ("RandomWalk-v0", {}),
    "Boyan's chain": ("BoyanChain-v0", {}),
}
RANDOM = "random episodic MDPs"
FORMS: dict[str, Callable[[], Any]] = {
    "fixed λ": lambda: 0.9,
    "META, one step": td.rules.Meta,
    "META, horizon 10": partial(td.rules.Meta, horizon=10),
    "META, traced": partial(td.rules.Meta, horizon="episode"),
}


def units(full: bool) -> list[Unit]:
    """The work."""
    size = 200 if full else 20
    return [
        Unit("distribution", distributions, {"mdps": size, "steps": 1_000_000 if full else 100_000}),
        Unit("policy-gradient", policy_gradients, {"mdps": size}),
        Unit("cost", costs, {"rounds": 15, "steps": 100_000} if full else {"rounds": 3, "steps": 5000, "tasks": 1}),
    ]


# ---- the on-policy distribution -----------------------------------------------------------------------------------


def distributions(mdps: int, steps: int) -> Rows:
    """The on-policy distribution beside the stationary one, visits along a trajectory, and the lemma's norm."""
    made = [(name, td.make(task, **options)) for name, (task, options) in TASKS.items()]
    made += [(RANDOM, td.make("Garnet-v0", "episodic", seed=seed, discount=0.9)) for seed in range(mdps)]
    return [{"kind": "distribution", "task": name, **distribution(task, steps)} for name, task in made]


def distribution(task: Any, steps: int) -> dict[str, float]:
    """How far the two are apart, how long an episode is, how far a trajectory's visits are from either, and norms."""
    mdp, found = task.mdp, task.mdp.under(task.target).distribution_mismatch()
    ends = found.true[mdp.terminal].sum()
    visited = visits(mdp, task.target, steps)
    return {
        "apart": found.total_variation,
        "length": (1 - ends) / ends,  # transitions of an episode: non-terminal states by terminal ones
        "to_true": float(np.abs(visited - found.true).sum() / 2),
        "to_stationary": float(np.abs(visited - found.assumed).sum() / 2),
        "norm": norm(mdp, task.target, found.true, absorbing=False),
        "norm_absorbing": norm(mdp, task.target, found.true, absorbing=True),
    }


def visits(mdp: td.FiniteMDP, policy: Any, steps: int) -> Any:
    """The shares of states, terminal ones included, along a trajectory."""
    drawn = mdp.under(policy).sampler(seed=0).take(steps)
    count = np.bincount(drawn.obs, minlength=mdp.n_states) + np.bincount(
        drawn.next_obs[drawn.terminated], minlength=mdp.n_states
    )
    return count / count.sum()


def norm(mdp: td.FiniteMDP, policy: Any, d: Any, absorbing: bool) -> float:
    """The largest ‖P z‖_d / ‖z‖_d: the lemma says that it is at most 1. Rows of terminal states are 0, or absorb."""
    P = mdp.under(policy).P().toarray() + (np.diag(mdp.terminal.astype(float)) if absorbing else 0)
    met = d > 0
    root = np.sqrt(d[met])
    return float(np.linalg.norm(root[:, None] * P[met][:, met] / root, 2))


# ---- the policy gradient theorem ----------------------------------------------------------------------------------


def policy_gradients(mdps: int) -> Rows:
    """The theorem, as derived and as printed, against central differences of the exact value of the start."""
    return [{"kind": "policy", "seed": seed, **policy_gradient(seed)} for seed in range(mdps)]


def policy_gradient(seed: int, n: int = 8, actions: int = 3) -> dict[str, float]:
    """One random MDP with a discount in each state, and a softmax policy with a weight for each state and action."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n, 0.5), (n, actions))
    P[:, :, -1] += 0.1
    P /= P.sum(axis=2, keepdims=True)
    gamma = np.append(rng.uniform(0.3, 1.0, n - 1), 0.0)
    mdp = td.FiniteMDP(P, rng.normal(size=P.shape), discount=gamma, terminal=[n - 1], start=0)
    theta = rng.normal(size=(n, actions))
    pi = softmax(theta)
    truth = differences(lambda th: float(mdp.v(softmax(th))[0]), theta)
    live = np.arange(n - 1)
    Q = mdp.under(pi).P().toarray()[live][:, live]
    start = np.eye(n - 1)[0]
    discounted = np.linalg.solve(np.eye(n - 1) - (Q * gamma[live]).T, start)  # m(s): visits, each with its discount
    d = mdp.under(pi).state_distribution()[live]
    slope = pi * (mdp.q(pi) - mdp.v(pi)[:, None])  # Σ_a q ∂π(a)/∂θ(b)
    forms = {"derived": discounted, "printed": d * discounted, "undiscounted": d}
    found: dict[str, float] = {}
    for name, weight in forms.items():
        g = np.zeros_like(theta)
        g[live] = weight[:, None] * slope[live]
        found[f"cosine_{name}"] = float((g * truth).sum() / np.linalg.norm(g) / np.linalg.norm(truth))
        found[f"error_{name}"] = float(np.linalg.norm(g - truth) / np.linalg.norm(truth))
    return found


def softmax(theta: Any) -> Any:
    """π[state, action]."""
    e = np.exp(theta - theta.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def differences(function: Callable[[Any], float], at: Any, step: float = 1e-5) -> Any:
    """The gradient by central differences."""
    gradient = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        away = np.zeros_like(at)
        away[place] = step
        gradient[place] = (function(at + away) - function(at - away)) / (2 * step)
    return gradient


# ---- what META costs ----------------------------------------------------------------------------------------------


def costs(rounds: int, steps: int, tasks: int = 3) -> Rows:
    """Processor time of META by that of a fixed λ, taking turns; one learner's `update_many`, and lanes."""
    rows: list[dict[str, Any]] = []
    for name, task, kind in cost_cases()[:tasks]:
        drawn = task.sampler(seed=0).take(steps)
        learners = {form: kind(task.features, 0.01, make()) for form, make in FORMS.items()}
        work = {form: partial(learner.update_many, drawn) for form, learner in learners.items()}
        rows += [{"kind": "cost", "task": name, "how": "one learner", **row} for row in timed(work, rounds)]
        if task.features.size < 100:
            few = [0.001 * 1.02**k for k in range(64)]
            lanes = {form: [kind(task.features, a, make()) for a in few] for form, make in FORMS.items()}
            run = partial(td.engine.run, task, seeds=1, steps=steps // 4, points=1, threads=1, keep=())
            work = {form: partial(run, some) for form, some in lanes.items()}
            rows += [{"kind": "cost", "task": name, "how": "64 lanes", **row} for row in timed(work, rounds)]
    return rows


def cost_cases() -> list[tuple[str, Any, Any]]:
    """Tasks from few features to many, and their learners."""
    ring, lake, car = (td.make(name) for name in ("RingWorld-v0", "FrozenLake-v0", "MountainCar-v0"))
    return [
        ("RingWorld, 11 one-hot features, TD", ring, td.TrueOnlineTD),
        ("FrozenLake, 12 binary features, GTD", lake, td.TrueOnlineGTD),
        (f"MountainCar, {car.features.size} tiles, TD", car, td.TrueOnlineTD),
    ]


def timed(work: dict[str, Callable[[], Any]], rounds: int) -> list[dict[str, Any]]:
    """Processor seconds of each in each round by those of the first, after one round that compiles."""
    rows = []
    for k in range(rounds + 1):
        seconds = {}
        for form, run in work.items():
            begun = time.process_time()
            run()
            seconds[form] = time.process_time() - begun
        first = next(iter(seconds.values()))
        rows += [{"form": form, "round": k, "ratio": t / first} for form, t in seconds.items() if k]
    return rows


# ---- the page -----------------------------------------------------------------------------------------------------


def tables(data: pl.DataFrame) -> dict[str, str]:
    """The page's tables."""
    return {
        "claims-distribution": distribution_table(data.filter(kind="distribution")),
        "claims-policy-gradient": policy_table(data.filter(kind="policy")),
        "claims-cost": cost_table(data.filter(kind="cost")),
    }


def distribution_table(data: pl.DataFrame) -> str:
    """A row for each task; the least and the largest of the random ones."""
    body = []
    for (name,), rows in data.group_by("task", maintain_order=True):
        cells = [spread(rows[column], 3) for column in ("length", "apart", "to_true", "to_stationary", "norm")]
        body.append([f"{name} ({len(rows)})" if len(rows) > 1 else name, *cells, spread(rows["norm_absorbing"], 3)])
    head = ["task", "length L of an episode", "apart", "visits to on-policy", "visits to stationary",
            "largest ‖Pz‖/‖z‖", "the same, absorbing"]  # fmt: skip
    return table(head, body)


def spread(values: pl.Series, digits: int) -> str:
    """One number, or from the least to the largest."""
    low, high = (f"{x:.{digits}f}" for x in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def policy_table(data: pl.DataFrame) -> str:
    """A row for each form of the theorem."""
    names = {
        "derived": "Σ m(s) Σ q ∇π, with =",
        "printed": "Σ d(s) γ(s₀→s) Σ q ∇π, as printed, with ∝",
        "undiscounted": "Σ d(s) Σ q ∇π, without the discount, with ∝",
    }
    body = []
    for form, name in names.items():
        cosine, error = data[f"cosine_{form}"], data[f"error_{form}"]
        exact = f"{error.max():.0e}" if form == "derived" else "–"
        body.append([name, f"{cosine.median():.4f}", f"{cosine.min():.4f}", exact])
    return table(["form", "median cosine with ∇v(s₀)", "least", "largest relative error"], body)


def cost_table(data: pl.DataFrame) -> str:
    """The median ratio of each form, and the quartiles."""
    forms = list(FORMS)[1:]
    body = []
    for (name, how), rows in data.group_by("task", "how", maintain_order=True):
        cells = []
        for form in forms:
            ratio = rows.filter(form=form)["ratio"]
            cells.append(f"{ratio.median():.2f} ({ratio.quantile(0.25):.2f} to {ratio.quantile(0.75):.2f})")
        body.append([name, how, *cells])
    return table(["task", "as", *forms], body)


def charts(data: pl.DataFrame) -> dict[str, Any]:
    """None: three tables say it."""
    return {}
