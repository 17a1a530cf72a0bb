"""A change of a task with known states: noticed, and only where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.auto.changes import ROOM, SINCE_START, changed, forget_states, note, statistic
from tdlambda.auto.expert_table import first_changes

NAMES = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")


def turned(sign: float = -1.0, steps: int = 6000) -> tuple[Any, list[Any]]:
    """A walk whose rewards turn in the middle: the task, and the columns of its transitions."""
    walk = td.make("RandomWalk-v0", n=9)
    found = walk.sampler(seed=3).take(steps)
    columns = [getattr(found, name).copy() for name in NAMES]
    columns[1][steps // 2 :] *= sign
    return walk, columns


def test_a_change_is_noticed_and_its_absence_too() -> None:
    for sign, expected in ((1.0, 0), (-1.0, 1)):
        walk, columns = turned(sign)
        v = td.AutoTD(walk.features)
        v.update_many(*(c[:3800] for c in columns))
        assert v.explain().changes == expected
        truth = td.engine.exact_truth(walk)
        error = truth.weights @ (v.predict_many(truth.observations) - sign * truth.values) ** 2
        assert error < 0.1 * truth.weights @ truth.values**2


def test_own_experts_learn_from_the_kept_transitions_too() -> None:
    """Their evidence is computed from the predictions that they made, so it can be large only if those are kept."""
    walk, columns = turned()
    fast, slow = td.TD(walk.features, alpha=0.2, lam=0.8), td.TD(walk.features, alpha=1e-6, lam=0.0)
    v = td.AutoTD(walk.features, experts=[slow, fast], built_in=True)
    v.update_many(*(c[:3800] for c in columns))
    said = v.explain()
    assert said.changes == 1
    errors = {e.name: e.error for e in said.experts}
    assert errors["TD 1"] > errors["TD 2"]


def test_a_copy_notices_the_same_change() -> None:
    """Saved between the change and the test that notices it, and with a reset in between."""
    walk, columns = turned()
    v = td.AutoTD(walk.features)
    v.update_many(*(c[:3010] for c in columns))
    v.reset()
    other = v.clone()
    for each in (v, other):
        each.update_many(*(c[3010:4000] for c in columns))
    assert v.explain().changes == other.explain().changes == 1
    np.testing.assert_array_equal(v.predict_many(range(9)), other.predict_many(range(9)))


def test_a_state_with_impossible_transitions_is_refused() -> None:
    v = td.AutoTD(td.features.OneHot(5))
    v.update(1, 1.0, 2, gamma=0.5)
    for name, row, column, value in (("rows", 0, 1, 10**6), ("rows", 3, 0, -1), ("past", 0, 3, 9.0)):
        state = {key: array.copy() for key, array in v._state().items()}
        state[f"changes.{name}"][row, column] = value
        with pytest.raises(ValueError, match="the transitions that it keeps"):
            td.AutoTD(td.features.OneHot(5))._restore(state)


@pytest.mark.parametrize("turn", [None, 4000])
def test_tests_of_td_errors_on_their_own(turn: int | None) -> None:
    """With one state, most statistics are so small that a multiple of their mean would be no limit."""
    c = first_changes(1, 1, 0, vectors=False, shared=False)
    rng, alarms = np.random.default_rng(0), []
    for t in range(6000):
        note(c, c.past[t % ROOM], 0, rng.normal() + (turn is not None and t >= turn))
        length = changed(c, off_policy=False)
        if length:
            alarms.append((t, length))
            forget_states(c, 0)
    assert alarms == [] if turn is None else turn < alarms[0][0] < turn + 200


def test_the_statistic_of_a_state_with_few_visits_before() -> None:
    c = first_changes(1, 1, 0, vectors=False, shared=False)
    c.before[:, 0], c.recent[:, 0], c.counts[SINCE_START] = (120.0, 80.0), (12.0, 40.0, 30.0), 80
    square, degrees, usual = 12.0**2 / 30, 0.3 * 50, (120 - 40) / 50 + 0.03 * 120 / 80
    found = (30 + degrees) * np.log(1 + square / (1 + 30 / 50) / (40 - square + degrees * usual))
    np.testing.assert_allclose(statistic(c, 30.0), (found - 1) / np.sqrt(2 + 10), rtol=1e-12)
