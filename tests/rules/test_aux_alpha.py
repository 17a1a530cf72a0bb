"""The auxiliary learners' own step size."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta

pytestmark = pytest.mark.costly

LEARNERS = [td.TrueOnlineTD, td.GTD]
RULES = [td.rules.Meta, td.rules.Greedy]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rule", RULES)
def test_it_is_a_ratio_with_the_step_size_divided_out(learner: Any, rule: Any) -> None:
    """α = 1/64 with auxiliary step sizes of 1/16 is a ratio of 4, to the bit; and not the default ratio."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=1).take(3000)
    own, ratio, default = (
        learner(lake.features, 1 / 64, rule(**options)) for options in ({"aux_alpha": 1 / 16}, {"ratio": 4.0}, {})
    )
    for v in (own, ratio, default):
        v.update_many(steps)
    np.testing.assert_array_equal(own.estimates(range(16)), ratio.estimates(range(16)))
    np.testing.assert_array_equal(own.lambdas(range(16)), ratio.lambdas(range(16)))
    assert not np.array_equal(own.estimates(range(16)), default.estimates(range(16)))


@pytest.mark.parametrize("rule", RULES)
def test_the_mean_is_learned_as_a_learner_with_that_step_size_learns_it(rule: Any) -> None:
    """E[G] beside the value is a learner of its own with λ = 1, α = aux_alpha and β = β · aux_alpha / α."""
    ring = td.make("RingWorld-v0")
    steps = ring.sampler(seed=2).take(5000)
    beside: Any = td.TrueOnlineTD(ring.features, 0.01, rule(aux_alpha=0.03))
    alone: Any = td.TrueOnlineTD(ring.features, 0.03, 1.0)
    for v in (beside, alone):
        v.update_many(steps)
    np.testing.assert_allclose(beside.estimates(range(11))[1], alone.weights, rtol=1e-12)
    beside = td.TrueOnlineGTD(ring.features, 0.01, rule(aux_alpha=0.03, trace_lam=0.5), beta=0.002)
    alone = td.TrueOnlineGTD(ring.features, 0.03, 0.5, beta=0.006)
    for v in (beside, alone):
        v.update_many(steps)
    np.testing.assert_allclose(beside.estimates(range(11))[1], alone.weights, rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("by", ["steps", "visits"])
def test_beside_a_schedule_it_is_refused(rule: Any, by: Any) -> None:
    with pytest.raises(ValueError, match="aux_alpha needs a constant alpha"):
        td.TD(td.features.OneHot(3), td.steps.OneOver(by), rule(aux_alpha=0.1))
    td.TD(td.features.OneHot(3), td.steps.OneOver(by), rule(ratio=3.0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bad", [0, -0.1, np.inf, np.nan])
def test_bad_step_sizes_are_named(rule: Any, bad: float) -> None:
    with pytest.raises(ValueError, match="aux_alpha must be positive"):
        rule(aux_alpha=bad)


@pytest.mark.parametrize(
    "rule", [td.rules.Meta(0.1, aux_alpha=0.03), PublishedMeta(0.1), td.rules.Greedy(aux_alpha=0.03)]
)
@pytest.mark.parametrize("learner", [td.TrueOnlineTD])
def test_it_keeps_the_contract(rule: Any, learner: Any) -> None:
    """Parameters, clone, save and load."""
    assert type(rule)(**rule.get_params()) == rule
    assert rule != type(rule)(**(rule.get_params() | {"aux_alpha": 0.5}))
    td.check_learner(lambda: learner(td.features.OneHot(5), 0.02, rule))
