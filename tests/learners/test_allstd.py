"""The choice of λ: against leaving each trajectory out and solving anew."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from plain_squares import rows_of, stream

import tdlambda as td
from tdlambda.learners.allstd import Trajectories

NAMES = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")


def left_out(steps: Any, lam: float, ridge: float) -> float:
    """The loss, with every w₋ᵢ from A and b summed without trajectory i."""
    _, r, _, gamma, rho, terminated, truncated = steps.columns
    rows = rows_of(steps._replace(lam=np.full(len(steps.lam), lam)))
    ends = np.flatnonzero(terminated | truncated) + 1
    owner = np.searchsorted(ends, np.arange(len(r)), side="right")
    d, total, n = steps.X.shape[1], 0.0, 0
    for i in range(len(ends)):
        others = [row for row, k in zip(rows, owner, strict=True) if k != i and k < len(ends)]
        A = ridge * np.eye(d) + sum(np.outer(e, y) for e, y, _ in others)
        w = np.linalg.solve(A, sum(e * reward for e, _, reward in others))
        if terminated[ends[i] - 1]:
            G = 0.0
            for t in reversed(np.flatnonzero(owner == i)):
                G = rho[t] * (r[t] + (0.0 if terminated[t] else gamma[t]) * G)
                total += (G - steps.X[steps.columns[0][t]] @ w) ** 2
                n += 1
    return total / n


def transitions(steps: Any) -> td.mdp.Transitions:
    columns = dict(zip(NAMES, steps.columns, strict=True))
    return td.mdp.Transitions(action=np.zeros(0, np.int64), **columns)


@pytest.mark.parametrize("size", [3, 30])  # fewer features than steps, and more: solved anew, and by the identity
@pytest.mark.parametrize("seed", range(3))
def test_every_trajectory_really_left_out(size: int, seed: int) -> None:
    steps = stream(seed, T=60, size=size)
    steps.columns[5][20] = True
    lams = [0.0, 0.4, 0.9, 1.0]
    found = td.learners.choose_lambda(transitions(steps), td.features.Table(steps.X), lams, ridge=0.5)
    np.testing.assert_allclose(found.loss, [left_out(steps, lam, 0.5) for lam in lams], rtol=1e-7)
    assert found.lam == lams[int(np.argmin(found.loss))]
    ends = np.flatnonzero(steps.columns[5] | steps.columns[6])
    assert found.episodes == len(ends)
    learner = td.LSTD(td.features.Table(steps.X), found.lam, 0.5)
    learner.update_many(*(column[: ends[-1] + 1] for column in steps.columns))
    np.testing.assert_allclose(found.learner.weights, learner.weights, rtol=1e-9, atol=1e-12)


def test_the_search_finds_no_worse_than_a_fine_grid() -> None:
    walk = td.make("RandomWalk-v0")
    steps = walk.sampler(seed=3).take(4_000)
    found = td.learners.choose_lambda(steps, walk.features)
    fine = td.learners.choose_lambda(steps, walk.features, np.linspace(0, 1, 101))
    assert found.loss.min() <= fine.loss.min() + 1e-6 * fine.loss.min()
    assert (np.diff(found.lams) > 0).all()
    assert set(np.linspace(0, 1, 11)) <= set(found.lams)


def test_aliased_states_ask_for_lambda_1() -> None:
    """A, B → m → ±1, m aliased: v_λ(A) = λ, v_λ(B) = -λ, so only λ = 1 is right."""
    rng = np.random.default_rng(1)
    starts = rng.integers(2, size=200)
    obs = np.stack([starts, np.full(200, 2)], axis=1).ravel()
    reward = np.stack([np.zeros(200), np.where(starts == 0, 1.0, -1.0)], axis=1).ravel()
    end = np.tile([False, True], 200)
    one, no = np.ones(400), np.zeros(400, dtype=bool)
    steps = td.mdp.Transitions(obs, np.zeros(0, np.int64), reward, np.tile([2, 3], 200), one, one, end, no)
    found = td.learners.choose_lambda(steps, td.features.OneHot(4))
    assert found.lam > 0.99
    assert found.learner.predict(0) == pytest.approx(1.0, abs=0.02)


def test_the_rest_of_a_stream_is_left_out_and_bad_input_refused() -> None:
    walk = td.make("RandomWalk-v0")
    steps = walk.sampler(seed=1).take(1000)
    last = int(np.flatnonzero(steps.terminated)[-1]) + 1
    whole = td.mdp.Transitions(*(getattr(steps, field.name)[:last] for field in fields(steps)))
    a, b = (td.learners.choose_lambda(part, walk.features, [0.5]) for part in (steps, whole))
    assert a.loss.tolist() == b.loss.tolist()
    assert a.learner.steps == last
    for lams in ([], [1.5], [np.nan], [-0.1, 0.5]):
        with pytest.raises(ValueError, match="lams"):
            td.learners.choose_lambda(steps, walk.features, lams)
    with pytest.raises(ValueError, match="ridge"):
        td.learners.choose_lambda(steps, walk.features, ridge=-1.0)
    with pytest.raises(TypeError, match="transitions"):
        td.learners.choose_lambda(walk, walk.features)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="features"):
        td.learners.choose_lambda(steps, 3)  # type: ignore[arg-type]
    one = int(np.flatnonzero(steps.terminated)[0]) + 3
    with pytest.raises(ValueError, match="at least two finished episodes"):
        td.learners.choose_lambda(
            td.mdp.Transitions(*(getattr(steps, f.name)[:one] for f in fields(steps))), walk.features
        )
    bad = vars(steps) | {"reward": np.where(np.arange(1000) == 2, np.nan, 0.0)}
    with pytest.raises(ValueError, match=r"reward.*row 2"):
        td.learners.choose_lambda(td.mdp.Transitions(**bad), walk.features)


def test_without_a_ridge_where_the_system_is_singular() -> None:
    steps = stream(1, T=60, size=30)
    steps.columns[5][20] = True
    found = Trajectories(transitions(steps), td.features.Table(np.hstack([steps.X, steps.X])), 0.0)
    assert np.isfinite(found.loss(0.5))
