"""Lanes with rewards, discounts and ratios of their own: many predictions on one stream, each as a learner alone."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from interpreted import interpreted

import tdlambda as td
from tdlambda.engine.block import Block
from tdlambda.engine.plan import Group
from tdlambda.engine.stream import contiguous

OPTIONS = ("reward", "gamma_next", "rho")
STATES, STEPS, LANES = 9, 120, 8
TABLE = np.random.default_rng(0).normal(size=(STATES, 4)) / 2


def each_lane_is_a_learner(features: Any, make: Any, per_lane: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    states, ends = rng.integers(STATES, size=STEPS + 1), rng.random((2, STEPS)) < 0.06
    ways: dict[str, Any] = {"reward": rng.normal, "gamma_next": rng.random, "rho": rng.random}
    given = {name: draw(size=(STEPS, LANES) if name in per_lane else STEPS) for name, draw in ways.items()}
    learners = [make(features, 0.02 * (1 + k)) for k in range(LANES)]
    block = Block(Group(tuple(learners), tuple(range(LANES))), per_lane=per_lane)
    x, lam, begin = contiguous(features, np.arange(STATES)), block.group.lam_table(np.arange(STATES)), 0
    while begin < STEPS:
        begin = block.advance(*x, *x, lam, states[:-1], states[1:], *given.values(), *ends, begin, STEPS)
        block.take_tops()
    for k, one in enumerate(learners):
        columns = [column[:, k] if column.ndim == 2 else column for column in given.values()]
        one.update_many(states[:-1], columns[0], states[1:], *columns[1:], *ends)
        alone = block.learner(k)
        np.testing.assert_allclose(alone.weights, one.weights, rtol=1e-12, atol=1e-13)
        assert alone.td_error == pytest.approx(one.td_error, abs=1e-12)


def every_combination() -> None:
    makers: list[Any] = [
        lambda x, a: td.TrueOnlineGTD(x, a, 0.8), lambda x, a: td.TD(x, a, 0.8, trace="replacing"),
        lambda x, a: td.TrueOnlineTD(x, a, td.Meta(0.05)), lambda x, a: td.ETD(x, a, 0.5),
        lambda x, a: td.TrueOnlineTD(x, td.steps.Swift(a, 0.5, 0.01), 0.8),
    ]  # fmt: skip
    for features in (td.OneHot(STATES), td.Table(TABLE)):
        for make in makers:
            for n in (1, 2, 3):
                for per_lane in combinations(OPTIONS, n):
                    each_lane_is_a_learner(features, make, per_lane)


def test_every_combination() -> None:
    interpreted(every_combination)


def test_compiled() -> None:
    each_lane_is_a_learner(td.Table(TABLE), lambda x, a: td.TrueOnlineTD(x, a, 0.8), OPTIONS)
