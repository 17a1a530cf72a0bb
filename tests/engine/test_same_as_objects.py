"""The engine and the learners themselves: the same numbers for every learner × rule, on every kind of features."""

import contextlib
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD

OneOver = td.steps.OneOver
RNG = np.random.default_rng(3)


def learners_of(task: Any, every: bool) -> dict[str, td.Learner]:
    """Every trace learner with every rule and option, at several step sizes; or each rule and each algorithm once.

    Every pair is a module of its own, which takes seconds to compile.
    """
    x, scale = task.features, 1.0 / task.features.active
    states = td.features.OneHot(task.mdp.n_states) if task.mdp is not None else None
    found: dict[str, td.Learner] = {}
    listed = x.size > 128

    def add(name: str, make: Any) -> None:
        for alpha in (0.003, 0.02, 0.1):
            found[f"{name}, α = {alpha}"] = make(alpha * scale)

    for kind in ("TD", "TrueOnlineTD", "GTD", "TrueOnlineGTD"):
        learner = getattr(td, kind)
        for lam in (0.0, 0.7, 1.0):
            add(f"{kind}({lam})", lambda a, learner=learner, lam=lam: learner(x, a, lam))
        rules: dict[str, Any] = {
            "counting": lambda: td.rules.Counting(20.0, warm_up=100),
            "greedy": lambda: td.rules.Greedy(warm_up=50),
            "greedy vtd corrected": lambda: td.rules.Greedy("vtd", 1.5, 0.9, of="corrected"),
            "greedy published": lambda: PublishedGreedy(warm_up=100),
            "greedy corrected": lambda: td.rules.Greedy(of="corrected", aux_alpha=0.01 * scale),
            "value error": lambda: td.rules.ValueErrorGreedy(),
            "meta": lambda: td.rules.Meta(0.02, warm_up=100),
            "meta thesis": lambda: td.rules.Meta.thesis(0.1, rho_clip=2.0),
            "meta published": lambda: PublishedMeta(0.1),
            "meta corrected": lambda: td.rules.Meta(0.02, "derived", of="corrected", trace_lam=0.8),
            "meta gradient": lambda: td.rules.Meta(0.1, "exact", "gradient"),
            "meta horizon": lambda: td.rules.Meta(0.02, horizon=3),
            "meta trace": lambda: td.rules.Meta(0.02, horizon="episode"),
        }
        if states is not None:
            rules["meta np"] = lambda: td.rules.Meta(0.02, features=states)
            rules["per state"] = lambda: td.rules.PerState(np.linspace(0, 1, task.mdp.n_states))
        for name, rule in rules.items():
            if not every and (kind != _HOME.get(name, "TrueOnlineTD") or (listed and name not in _LISTED)):
                continue
            add(f"{kind}, {name}", lambda a, learner=learner, rule=rule: learner(x, a, rule()))
        for by in ("steps", "visits") if every or (kind == "GTD" and not listed) else ():
            schedule = OneOver(by, scale=0.3 * scale, offset=5.0, power=0.6)
            found[f"{kind}, {by}"] = learner(x, schedule, 0.8)
            found[f"{kind}, {by}, meta"] = learner(x, schedule, td.rules.Meta(0.02))
    for trace in ("replacing", "dutch"):
        add(f"TD {trace}", lambda a, trace=trace: td.TD(x, a, 0.9, traces=trace))
    for of in ("target", "corrected") if every or not listed else ():
        add(f"DirectVTD {of}", lambda a, of=of: td.DirectVTD(x, a, 0.8, of=of))
        add(f"VTD {of}", lambda a, of=of: td.VTD(x, a, 0.8, of=of, trace_lam=0.9))
    if states is not None:
        add(
            "DirectVTD per state", lambda a: td.DirectVTD(x, a, td.rules.PerState(np.linspace(0, 1, task.mdp.n_states)))
        )
    last: dict[str, Any] = {"fixed": 0.4, "greedy": td.rules.Greedy(), "greedy published": PublishedGreedy()}
    last["meta published"] = PublishedMeta(0.1, last_discount=0.9)
    for name, rule in last.items() if every or not listed else ():
        add(f"last discount, {name}", lambda a, rule=rule: PublishedTrueOnlineGTD(x, a, rule, last_discount=0.9))
    add("initial", lambda a: td.TrueOnlineTD(x, a, 0.5, initial=np.linspace(-1, 1, x.size)))
    kind = "listed" if listed else "one-hot" if isinstance(x, td.features.OneHot) else "active"
    return {name: one for name, one in found.items() if every or name.startswith(_QUICK[kind])}


_HOME = {"greedy": "GTD", "counting": "TD", "meta thesis": "TrueOnlineGTD"}
"""The algorithm that a rule is tested with, if it is not TrueOnlineTD."""
_QUICK = {
    "one-hot": ("TrueOnlineTD(", "TrueOnlineTD, meta,", "TrueOnlineTD, value error", "TD replacing"),
    "active": (
        "TrueOnlineGTD(",
        "TrueOnlineTD, meta corrected",
        "DirectVTD corrected",
        "last discount, meta",
        "initial",
    ),
    "listed": ("TrueOnlineTD(", "TrueOnlineTD, value error", "TD, counting"),
}
"""What the quick run takes, for each kind of features; `test_few_steps` takes every pair, interpreted."""
_LISTED = ("value error", "meta", "counting")
"""Rules that are tested where live features are listed."""


def a_task(name: str) -> Any:
    if name == "real":  # dense real features, off-policy
        task = td.make("FrozenLake-v0")
        task.features = td.features.Table(RNG.normal(size=(16, 6)))
        return task
    if name == "MountainCar-v0":  # 512 features, of which 8 are active; episodes cut short
        return td.make(name, limit=200)
    return td.make(name)


TASKS = ["RingWorld-v0", "FrozenLake-v0", "Garnet-v0", "real", "MountainCar-v0"]


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("RingWorld-v0", False),
        *(pytest.param(n, False, marks=pytest.mark.slow) for n in ("real", "MountainCar-v0")),  # active, and listed
        *(pytest.param(n, True, marks=pytest.mark.slow) for n in TASKS),
    ],
)
def test_engine_is_the_learners_themselves(name: str, every: bool) -> None:
    task = a_task(name)
    learners = learners_of(task, every)
    chaotic = compared(task, learners, 1500)
    assert len(chaotic) < 0.03 * len(learners), list(chaotic)
    assert not chaotic or compared(task, chaotic, 150) == {}


def compared(task: Any, learners: dict[str, td.Learner], steps: int) -> dict[str, td.Learner]:
    """Compare the engine with learners that did not diverge; those that no implementation could agree on.

    Lanes and objects round differently, so they differ by the rounding of a step and by what later steps make of it.
    Most learners forget it, and 10⁻¹² of the largest row is allowed. In a chaotic learner it grows: a greedy choice
    of λ has jumps, so that true online GTD with `ValueErrorGreedy` and a large α turns a change of its initial
    weights by 10⁻¹⁶ into one of order 1 within 1500 steps of Garnet-v0.
    """
    truth = None if task.mdp is not None else td.engine.sampled_truth(task, 20, 20_000)
    keep = ("weights", "lambdas", "estimates", "learners")
    found = td.engine.run(task, learners, [7], steps, points=[1, steps // 2, steps], truth=truth, keep=keep)
    stream, more = task.sampler(7).take(steps), task.sampler(8).take(50)
    states, moved, chaotic = found.observations, 0, {}
    for k, (label, learner) in enumerate(learners.items()):
        own: Any = learner.clone()
        ours: Any = found.learners[k][0]
        try:
            own.update_many(stream)
        except td.Diverged:
            assert found.diverged_at[k, 0] == own.diverged_at, label
            continue
        scale = max(1.0, float(np.abs(own.memory.rows).max()))
        agree = np.allclose(ours.memory.rows, own.memory.rows, rtol=0, atol=1e-12 * scale)
        if not agree and sensitivity(learner, own, stream) > 1e-10 * scale:
            chaotic[label] = learner
            continue
        assert found.diverged_at[k, 0] == -1, label
        assert found.error[k, 0, -1] < np.inf, label
        np.testing.assert_allclose(ours.memory.rows, own.memory.rows, rtol=0, atol=1e-12 * scale, err_msg=label)
        np.testing.assert_allclose(found.lambdas[k][0], own.lambdas(states), atol=1e-9, err_msg=label)
        np.testing.assert_allclose(found.weights[k][0], own.weights, rtol=0, atol=1e-12 * scale, err_msg=label)
        np.testing.assert_allclose(found.estimates[k][0], own.estimates(states), rtol=0, atol=1e-11 * scale)
        moved += bool(np.abs(own.weights - learner.weights).max() > 1e-3)
        for going_on in (own, ours):
            with contextlib.suppress(td.Diverged):
                going_on.update_many(more)
        assert own.diverged_at == ours.diverged_at, label
        scale = max(1.0, float(np.abs(own.memory.rows).max()))
        np.testing.assert_allclose(
            ours.memory.rows, own.memory.rows, rtol=0, atol=1e-11 * scale, err_msg=label + ", going on"
        )
    assert moved > 0.9 * (len(learners) - len(chaotic) - (found.diverged_at >= 0).sum())
    return chaotic


def sensitivity(learner: Any, learned: Any, stream: Any) -> float:
    """The change of what was learned if the initial weights change by half a unit in the last place of 1."""
    beside = learner.clone()
    beside.memory.rows[0] += np.random.default_rng(0).choice([-(2.0**-53), 2.0**-53], beside.memory.rows.shape[1])
    try:
        beside.update_many(stream)
    except td.Diverged:
        return np.inf
    return float(np.abs(beside.memory.rows - learned.memory.rows).max())


def test_errors_are_read_at_their_steps() -> None:
    ring = td.make("RingWorld-v0")
    weights, truth = ring.exact.error_weights(), ring.exact.v()
    learner = td.TrueOnlineTD(ring.features, 0.05, 0.9)
    points = [1, 2, 999, 1000, 5000]
    found = td.engine.run(ring, [learner], [3], 5000, points=points)
    steps = ring.sampler(3).take(5000)
    for t in range(5000):
        learner.update(
            int(steps.obs[t]), steps.reward[t], int(steps.next_obs[t]), steps.gamma[t], steps.rho[t],
            bool(steps.terminated[t]),
        )  # fmt: skip
        if t + 1 in points:
            error = weights @ (learner.weights - truth) ** 2
            assert found.error[0, 0, points.index(t + 1)] == pytest.approx(error, rel=1e-12)


def test_a_learner_goes_on_from_where_it_is() -> None:
    lake = td.make("FrozenLake-v0")
    learner = td.TrueOnlineGTD(lake.features, 0.01, td.rules.Meta(0.01, warm_up=1500))
    learner.update_many(lake.sampler(1).take(1000))
    learner.reset()
    before = learner.weights.copy()
    found = td.engine.run(lake, [learner], [2], 1000)
    assert np.array_equal(learner.weights, before), "the given learner is not changed"
    learner.update_many(lake.sampler(2).take(1000))
    np.testing.assert_allclose(found.weights[0][0], learner.weights, atol=1e-12)
    np.testing.assert_allclose(found.lambdas[0][0], learner.lambdas(range(16)), atol=1e-12)
    assert found.lambdas[0][0].min() < 1, "the warm-up counted the steps before"


def test_learners_without_lanes_run_as_themselves() -> None:
    ring = td.make("RingWorld-v0")
    x = ring.features
    learners = {
        "mc": td.MonteCarlo(x, 0.01), "n-step": td.NStepTD(x, 0.01, 4), "lstd": td.LSTD(x, 0.9),
        "recursive": td.RecursiveLSTD(x, 0.9), "lspe": td.LSPE(x, 0.9), "expected": td.ExpectedTrace(x, 0.01, 0.9),
        "λ-return": td.LambdaReturn(x, 0.01, 0.5), "float32": td.TrueOnlineTD(x, 0.01, 0.9, dtype="float32"),
        "lanes": td.TrueOnlineTD(x, 0.01, 0.9),
    }  # fmt: skip
    found = td.engine.run(ring, learners, [5], 3000, points=[100, 2048, 3000])
    steps = ring.sampler(5).take(3000)
    weights, truth = ring.exact.error_weights(), ring.exact.v()
    for k, learner in enumerate(learners.values()):
        learner.update_many(steps)
        np.testing.assert_allclose(found.weights[k][0], learner.weights, atol=1e-12)
        error = weights @ (learner.predict_many(range(11)) - truth) ** 2
        assert found.error[k, 0, -1] == pytest.approx(error, rel=1e-9)
    assert (found.error[:, 0, 0] > 0).all()


@pytest.mark.parametrize("on_divergence", ["raise", "flag"])
def test_a_learner_that_runs_as_itself_diverges_as_lanes_do(on_divergence: Any) -> None:
    ring = td.make("RingWorld-v0")
    options: dict[str, Any] = {"bound": 0.02, "on_divergence": on_divergence}
    learners: list[Any] = [td.TD(ring.features, 0.5, 0.9, dtype=kind, **options) for kind in ("float32", "float64")]
    for learner in learners:
        learner.update(4, 0.0, 5, 0.9)
        learner.reset()
    found = td.engine.run(ring, learners, [4], 3000, points=60)
    assert found.diverged_at[0, 0] == found.diverged_at[1, 0] > 0
    late = found.points >= found.diverged_at[0, 0]
    assert np.isinf(found.error[:, 0, late]).all()
    assert np.isfinite(found.error[:, 0, ~late]).all()
