"""Lanes with rewards, discounts and ratios of their own: many predictions on one stream, each as a learner alone."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine.block import Block
from tdlambda.engine.plan import Group
from tdlambda.engine.trajectory import contiguous

OPTIONS = ("reward", "gamma_next", "rho")
STATES, STEPS, LANES = 9, 60, 8
TABLE = np.random.default_rng(0).normal(size=(STATES, 4)) / 2


def each_lane_is_a_learner(features: Any, make: Any, per_lane: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    states, ends = rng.integers(STATES, size=STEPS + 1), rng.random((2, STEPS)) < 0.06
    ways: dict[str, Any] = {"reward": rng.normal, "gamma_next": rng.random, "rho": rng.random}
    given = {name: draw(size=(STEPS, LANES) if name in per_lane else STEPS) for name, draw in ways.items()}
    learners = [make(features, 0.02 * (1 + k)) for k in range(LANES)]
    block = Block(Group(tuple(learners), tuple(range(LANES))), per_lane=per_lane)
    x, lam, begin = contiguous(features, np.arange(STATES)), block.group.lam_table(np.arange(STATES)), 0
    reward, gamma, rho = given.values()
    corrected = learners[0].correction.factors(rho, None) if learners[0].model.corrected else (rho,)
    numbers = (reward, gamma, *corrected)
    while begin < STEPS:
        begin = block.advance(*x, *x, lam, states[:-1], states[1:], *numbers, *ends, begin, STEPS)
        block.take_tops()
    for k, one in enumerate(learners):
        columns = [column[:, k] if column.ndim == 2 else column for column in given.values()]
        one.update_many(states[:-1], columns[0], states[1:], *columns[1:], *ends)
        alone = block.learner(k)
        np.testing.assert_allclose(alone.weights, one.weights, rtol=1e-12, atol=1e-13)
        assert alone.td_error == pytest.approx(one.td_error, abs=1e-12)
        for name in ("most_reward", "most_gamma", "most_rho"):
            assert alone.memory.record[name] == one.memory.record[name]


@pytest.mark.interpreted
def test_every_combination() -> None:
    makers: list[Any] = [
        lambda x, a: td.TrueOnlineGTD(x, a, 0.8), lambda x, a: td.TD(x, a, 0.8, traces="replacing"),
        lambda x, a: td.TrueOnlineTD(x, a, td.rules.Meta(0.05)), lambda x, a: td.ETD(x, a, 0.5),
        lambda x, a: td.TrueOnlineTD(x, td.steps.Swift(a, 0.5, 0.01), 0.8),
        lambda x, a: td.TrueOnlineTD(x, a, 0.8, correction="retrace"),
    ]  # fmt: skip
    for features in (td.features.OneHot(STATES), td.features.Table(TABLE)):
        for make in makers:
            for n in (1, 2, 3):
                for per_lane in combinations(OPTIONS, n):
                    each_lane_is_a_learner(features, make, per_lane)


def test_each_lane_has_bounds_of_its_own() -> None:
    """A question with large rewards does not keep a small one beside it from being called divergent."""
    features, learners = (
        td.features.Dense(1),
        [td.TD(td.features.Dense(1), a, 0.0, on_divergence="flag") for a in (0.9, 1e-9)],
    )
    reward, x, no = np.tile([1.0, 1e9], (60, 1)), np.full((61, 1), 3.0), np.zeros(60, dtype=bool)
    gamma = np.full((60, 2), 0.5)
    wide = [np.repeat(column, [1, 7], axis=1) for column in (reward, gamma, np.ones((60, 2)))]
    block, at = Block(Group(tuple(learners), (0, 1)), per_lane=OPTIONS), np.arange(60)
    lam = block.group.lam_table(x)
    end = block.advance(*contiguous(features, x), *contiguous(features, x), lam, at, at + 1, *wide, no, no, 0, 60)
    learners[0].update_many(x[:-1], reward[:, 0], x[1:], 0.5)
    assert block.diverged().tolist()[:2] == [True, False]
    assert end == learners[0].diverged_at


def test_compiled() -> None:
    each_lane_is_a_learner(td.features.Table(TABLE), lambda x, a: td.TrueOnlineTD(x, a, 0.8), OPTIONS)
