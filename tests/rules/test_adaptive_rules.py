# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""λ-greedy and META against the same equations in plain NumPy, and the edges of their behaviour."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rules import MetaForm, Rows, greedy_reference, meta_reference, play, rows

import tdlambda as td
from tdlambda.lab.reproduction import PublishedGreedy, PublishedMeta


@pytest.mark.costly
@given(rows(), st.booleans(), st.booleans(), st.floats(0, 1), st.integers(0, 5))
def test_greedy_is_its_equations(s: Rows, corrected: bool, vtd: bool, trace_lam: float, warm_up: int) -> None:
    rule = td.rules.Greedy("vtd" if vtd else "direct", 1.7, trace_lam, "corrected" if corrected else "target", warm_up)
    np.testing.assert_allclose(play(s, rule), greedy_reference(s, rule), atol=1e-8, rtol=1e-6)


@pytest.mark.interpreted
@given(
    rows(),
    st.sampled_from(["exact", "derived"]),
    st.sampled_from(["newton", "gradient"]),
    st.sampled_from(["target", "corrected"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0.5, 2.0]),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_meta_is_its_equations(
    s: Rows, gradient: Any, step: Any, of: Any, trace: bool, in_range: bool, clip: Any, warm_up: int, n: int
) -> None:
    exact = gradient == "exact"
    form = MetaForm(gradient, step, in_range, horizon=n if exact and not trace else 1, trace=trace and exact)
    rule = td.rules.Meta(
        0.3, gradient, step, horizon="episode" if form.trace else form.horizon, ratio=1.5, trace_lam=0.6, of=of,
        floor=1e-6, rho_clip=clip, in_range=in_range, warm_up=warm_up,
    )  # fmt: skip
    np.testing.assert_allclose(play(s, rule), meta_reference(s, rule, form), atol=1e-8, rtol=1e-6)


LEARNERS = [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD]
RULES = [
    td.rules.Counting(),
    td.rules.Greedy(),
    td.rules.Greedy("vtd"),
    td.rules.Meta(),
    td.rules.Meta.thesis(0.01),
    PublishedMeta(0.01),
]
RULES += [PublishedGreedy()]


@pytest.mark.costly
@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("learner", LEARNERS)
def test_any_learner_takes_any_rule(learner: Any, rule: Any) -> None:
    """One by one and many at once agree; λ starts at 1, stays in [0, 1] and moves; clones go on alike."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=3).take(800)
    one, many = (learner(lake.features, 0.02, rule) for _ in range(2))
    assert one.lambda_at(0) == 1.0
    many.update_many(steps)
    for t in range(len(steps)):
        one.update(
            int(steps.obs[t]), float(steps.reward[t]), int(steps.next_obs[t]), float(steps.gamma[t]),
            float(steps.rho[t]), bool(steps.terminated[t]),
        )  # fmt: skip
    np.testing.assert_array_equal(one.weights, many.weights)
    lams = many.lambdas(range(16))
    np.testing.assert_array_equal(lams, [many.lambda_at(s) for s in range(16)])
    assert ((lams >= 0) & (lams <= 1)).all()
    assert (lams < 1).any()
    clone = many.clone()
    more = lake.sampler(seed=4).take(100)
    for v in (many, clone):
        v.update_many(more)
    np.testing.assert_array_equal(many.weights, clone.weights)
    np.testing.assert_array_equal(many.lambdas(range(16)), clone.lambdas(range(16)))


def test_lambda_over_states_while_values_are_over_tiles() -> None:
    """ "np": λ(s) one-hot, V over the 12 tilings; where both are one-hot the two ways are the same."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=5).take(20_000)
    free = td.TrueOnlineGTD(lake.features, 0.01, td.rules.Meta(features=td.features.OneHot(16)))
    free.update_many(steps)
    assert len(set(free.lambdas(range(16)).round(6))) > 8
    ring = td.make("RingWorld-v0")
    steps = ring.sampler(seed=5).take(5000)
    own, other = (
        td.TrueOnlineTD(ring.features, 0.01, td.rules.Meta(features=f)) for f in (None, td.features.OneHot(11))
    )
    for v in (own, other):
        v.update_many(steps)
    np.testing.assert_array_equal(own.weights, other.weights)
    np.testing.assert_array_equal(own.lambdas(range(11)), other.lambdas(range(11)))


@pytest.mark.costly
def test_warm_up_and_its_fraction() -> None:
    ring = td.make("RingWorld-v0")
    sampler = ring.sampler(seed=1)
    v = td.TrueOnlineTD(ring.features, 0.05, td.rules.Meta(kappa=0.1, warm_up=0.1, length=10_000))
    v.update_many(sampler.take(1000))
    assert (v.lambdas(range(11)) == 1).all()
    v.update_many(sampler.take(1000))
    assert (v.lambdas(range(1, 10)) < 1).any()


@pytest.mark.costly
def test_on_policy_rho_acc_is_one_and_off_policy_it_can_be_bounded() -> None:
    for preset, clip in (("0.35/0.35", None), ("0.4/0.35", 1.5)):
        ring = td.make("RingWorld-v0", preset)
        v = td.TrueOnlineTD(ring.features, 0.05, td.rules.Meta(step="gradient", rho_clip=clip))
        steps = ring.sampler(seed=1).take(200)
        for t in range(200):
            v.update(int(steps.obs[t]), 0.0, int(steps.next_obs[t]), 0.9, float(steps.rho[t]))
            acc = float(v.memory["rho_acc"])
            assert acc == 1 if clip is None else acc <= 1.5


@pytest.mark.costly
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: td.rules.Meta(kappa=0), "kappa"),
        (lambda: td.rules.Meta(gradient="wrong"), "gradient"),
        (lambda: td.rules.Meta(step="wrong"), "step"),
        (lambda: td.rules.Meta(gradient="printed"), "gradient"),
        (lambda: td.rules.Meta(gradient="derived", horizon="episode"), "horizon"),
        (lambda: td.rules.Meta(gradient="derived", horizon=2), "horizon"),
        (lambda: td.rules.Meta(horizon=0), "horizon"),
        (lambda: td.rules.Meta(horizon="all"), 'horizon must be an integer of at least 1, or "episode"'),
        (lambda: td.rules.Meta(horizon=True), 'horizon must be an integer of at least 1, or "episode"'),
        (lambda: td.rules.Meta(horizon=None), 'horizon must be an integer of at least 1, or "episode"'),
        (lambda: td.rules.Meta(floor=-1), "floor"),
        (lambda: td.rules.Meta(rho_clip=0), "rho_clip"),
        (lambda: td.rules.Meta(features=3), "features"),
        (lambda: td.rules.Meta(ratio=0), "ratio"),
        (lambda: td.rules.Meta(trace_lam=2), "trace_lam"),
        (lambda: td.rules.Meta(of="x"), "of must be"),
        (lambda: td.rules.Meta(warm_up=0.1), "warm_up"),
        (lambda: td.rules.Meta(warm_up=5, length=100), "warm_up"),
        (lambda: td.rules.Greedy(variance="x"), "variance"),
        (lambda: td.rules.Counting(patience=0), "patience"),
        (lambda: td.DirectVTD(td.features.OneHot(2), 0.1, td.rules.Meta()), "lam of DirectVTD must be fixed"),
    ],
)
def test_what_cannot_be_is_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build()
