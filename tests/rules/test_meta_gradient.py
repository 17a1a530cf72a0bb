# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""META's steps, with exact statistics in place of learned ones, against the gradient of `FiniteMDP`."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.tasks import TabularTask


def with_oracle(task: TabularTask, V: Any, lam: Any, rule: td.rules.Meta) -> td.TrueOnlineTD:
    """A learner whose estimates are the exact ones and, α being tiny, stay so; λ likewise."""
    mdp = task.mdp
    v = td.TrueOnlineTD(task.features, 1e-300, rule, initial=np.where(mdp.terminal, 0, V))
    moments = mdp.under(task.target).lambda_return(V, lam)
    exact = {"V_w": V, "M_w": mdp.v(task.target), "L_w": moments.mean, "S_w": moments.variance}
    for name, values in exact.items():
        v.memory.row(name)[:] = np.where(mdp.terminal, 0, values)
    weights_of_lambda(v)[:] = 1 - np.asarray(lam)
    return v


def weights_of_lambda(v: td.Algorithm) -> Any:
    """The weights u of λ(s), to be written."""
    return v.memory.row("u")


def visits(mdp: td.FiniteMDP, policy: Any) -> Any:
    """Expected visits of each non-terminal state in an episode."""
    d = mdp.under(policy).state_distribution()
    return np.where(mdp.terminal, 0, d) / d[mdp.terminal].sum()


@pytest.mark.parametrize(
    ("gradient", "horizon"), [("exact", 1), ("derived", 1), ("printed", 1), ("exact", 2), ("exact", 4), ("exact", None)]
)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("TwoState-v0", {"preset": "off-policy"}),
        ("RingWorld-v0", {"preset": "0.35/0.35"}),
        ("RingWorld-v0", {"n": 5, "preset": "0.4/0.35"}),
        ("Garnet-v0", {"preset": "episodic", "n": 8, "actions": 2, "discount": 0.8, "on_policy": True}),
    ],
)
def test_steps_along_trajectories_sum_to_the_gradient(
    gradient: Any, horizon: int | None, name: str, options: Any
) -> None:
    """The decomposition theorem, on- and off-policy: Σ over an episode of ρ_acc · derivative, on average, is ∇J.

    J is weighted by the visits in an episode. A horizon of n gives the gradient cut at n, the trace (None) all of it.
    """
    task = td.make(name, **options)
    assert isinstance(task, TabularTask)
    mdp = task.mdp
    rng = np.random.default_rng(0)
    V = np.where(mdp.terminal, 0, rng.normal(size=mdp.n_states))
    lam = rng.uniform(0.2, 0.8, mdp.n_states)
    kappa = 1e-9
    rule = (
        td.rules.Meta(kappa, gradient, "gradient", horizon=horizon or "episode", in_range=False, floor=0.0)
        if gradient != "printed"
        else None
    )
    v = with_oracle(task, V, lam, rule or PublishedMeta(kappa, floor=0.0))
    sampler, moved, blocks = task.sampler(seed=7), [], 60
    for _ in range(blocks):
        before, steps = v.row("u").copy(), sampler.take(20_000)
        v.update_many(steps)
        moved.append((v.row("u") - before) / kappa / steps.terminated.sum())
    mean, error = np.mean(moved, axis=0), np.std(moved, axis=0) / np.sqrt(blocks)
    kind = "full" if gradient == "exact" else gradient
    exact = mdp.under(task.target).target_error_gradient(
        V, lam, kind=kind, horizon=horizon, weights=visits(mdp, task.target)
    )
    live = ~mdp.terminal
    assert (np.abs(mean - exact)[live] < 5 * error[live] + 1e-6).all()
    assert np.abs(exact[live]).max() > 10 * error[live].max(), "the test can tell"


@pytest.mark.parametrize("seed", range(3))
def test_printed_and_derived_differ_by_a_sign_that_matters(seed: int) -> None:
    """Where V is far from M and the variance is small, λ should stay high: the printed sign drives it to 0."""
    ring = td.make("RingWorld-v0", "0.35/0.35")
    assert isinstance(ring, TabularTask)
    V = np.where(ring.mdp.terminal, 0, 3.0)  # V is wrong by more than the spread of returns
    ends = {}
    for gradient, rule in (("derived", td.rules.Meta.thesis(0.02)), ("printed", PublishedMeta(0.02))):
        v = with_oracle(ring, V, np.full(11, 0.9), rule)
        v.update_many(ring.sampler(seed=seed).take(20_000))
        ends[gradient] = v.lambdas(range(1, 10)).mean()
    assert ends["printed"] < 0.05
    assert ends["derived"] > 0.7


@pytest.mark.parametrize("learner", [td.TrueOnlineTD, td.TrueOnlineGTD])
@pytest.mark.parametrize("preset", [pytest.param("0.35/0.35", marks=pytest.mark.slow), "0.4/0.35"])
def test_auxiliary_learners_converge_to_the_exact_moments_when_lambda_is_frozen(learner: Any, preset: str) -> None:
    ring = td.make("RingWorld-v0", preset)
    assert isinstance(ring, TabularTask)
    mdp = ring.mdp
    lam = np.linspace(0.3, 0.9, 11)
    v = learner(
        ring.features, td.steps.OneOver("steps", offset=20.0, power=0.6), td.rules.Meta(warm_up=10**9, trace_lam=0.8)
    )
    weights_of_lambda(v)[:] = 1 - lam
    v.update_many(ring.sampler(seed=3).take(3_000_000))
    exact = mdp.under(ring.target).lambda_return(mdp.v(ring.target), lam)
    d = np.where(mdp.terminal, 0, mdp.under(ring.behavior).state_distribution())
    for learned, truth in zip(
        v.estimates(range(11)), (mdp.v(ring.target), mdp.v(ring.target), exact.mean, exact.variance), strict=True
    ):
        assert np.sqrt(d @ (learned - truth) ** 2 / (d @ truth**2)) < 0.06


def settled(mdp: td.FiniteMDP, target: Any, V: Any, kind: Any, horizon: int | None) -> float:
    """J where META's expected Newton steps, with exact statistics, come to rest."""
    lam, w, P = np.full(mdp.n_states, 0.5), mdp.under(target).error_weights(), mdp.under(target).P()
    for _ in range(120):
        moments = mdp.under(target).lambda_return(V, lam)
        slope = (P.T @ w) * mdp.discount**2 * ((V - moments.mean) ** 2 + moments.variance)
        step = mdp.under(target).target_error_gradient(V, lam, kind=kind, horizon=horizon)
        lam = np.clip(lam - 0.3 * np.divide(step, slope, out=np.zeros_like(step), where=slope > 0), 0, 1)
    return mdp.under(target).target_error(V, lam)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)])
def test_with_exact_statistics_meta_comes_to_the_best_lambda_or_near_it(seeds: range) -> None:
    """20 random MDPs: the trace reaches the optimum of bounded optimisation, one exact step within 3 %, derived 31 %.

    What is missing is what the semi-gradient holds fixed (one step), and the cross term besides (derived).
    """
    noise = np.random.default_rng(0).normal(size=(20, 8))
    worst = {("full", None): 1.0001, ("full", 3): 1.002, ("full", 1): 1.03, ("derived", None): 1.31}
    for seed in seeds:
        task = td.make("Garnet-v0", "episodic", seed=seed, n=8, actions=2, discount=0.9, on_policy=True)
        mdp, target = task.mdp, task.target
        spread = np.sqrt(mdp.under(target).return_variance()).mean()
        V = np.where(mdp.terminal, 0, mdp.v(target) + spread * noise[seed])
        best = mdp.under(target).best_lambda(V).target_error
        for (kind, horizon), bound in worst.items():
            assert settled(mdp, target, V, kind, horizon) <= bound * best
