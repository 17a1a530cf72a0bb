"""The experiments behind the pages on audits, in a reduced form."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "audit"))

finite: Any = import_module("finite_tasks")
measure: Any = import_module("measure")
physics: Any = import_module("physics")
rivals: Any = import_module("rivals")
network: Any = import_module("network")
boundaries: Any = import_module("boundaries")
batch_lambda: Any = import_module("batch_lambda")


@pytest.mark.parametrize("name", ["walk of 11, drift", "ring of 9, 0.5/0.35", "Garnet 308, 10 features, limit 25"])
def test_the_finite_tasks_draw_what_they_say(name: str) -> None:
    """Visited states and Monte Carlo returns agree with the exact distribution and values."""
    task = next(one for one in finite.fresh_tasks() if one.name == name)
    task.prepare()
    sample = task.sample(3, episodes=3000)
    share = np.bincount(sample.state, minlength=len(task.v)) / len(sample.state)
    assert np.abs(share - task.d).max() < 0.02
    G = rivals.closed(task.v[sample.next_state], sample.options())
    for s in np.argsort(-task.d)[:3]:
        here = G[sample.state == s]
        assert abs(here.mean() - task.v[s]) < 5 * here.std() / np.sqrt(len(here) / 5)
    assert len(task.names) == len(task.critics) == len(task.errors) > 8


def test_measuring_and_tables() -> None:
    task = finite.fresh_tasks()[2]
    rows = measure.measured(task, draws=3)
    assert [row["size"] for row in rows] == [50, 200]
    assert all(0.5 < row["covered"] <= 1 for row in rows)
    text = measure.tables(rows)
    assert "| on-policy | 1 | 200 |" in text
    assert f"| {task.name} | on-policy |" in text


def test_cart_pole_is_gymnasiums() -> None:
    import gymnasium

    env: Any = gymnasium.make("CartPole-v1").unwrapped
    obs, world = env.reset(seed=1)[0], physics.CartPole()
    env.state = obs.astype(float)
    state = obs.astype(float)[None]
    for t in range(30):
        state, _, fallen = world.step(state, np.array([t % 3 == 0]))
        after, _, ended, *_ = env.step(int(t % 3 == 0))
        np.testing.assert_allclose(state[0], after, rtol=1e-4, atol=1e-5)
        assert bool(fallen[0]) == ended
        if ended:
            break


def test_a_network_learns_by_gradients() -> None:
    rng = np.random.default_rng(0)
    net = network.Network((2, 8, 8, 1), seed=1)
    x = rng.normal(size=(5, 2))
    kept = [w.copy() for w in net.weights]

    def loss() -> float:
        return float(((net(x)[:, 0] - 1) ** 2).sum() / 2)

    small = 1e-6
    gradient = []
    for w in net.weights:
        w.flat[0] += small
        up = loss()
        w.flat[0] -= 2 * small
        gradient.append((up - loss()) / (2 * small))
        w.flat[0] += small
    net.descend(x, lambda out: out - 1, 1e-3)  # the first step of Adam is alpha times the sign of the gradient
    moved = [(w - old).flat[0] for w, old in zip(net.weights, kept, strict=True)]
    assert np.allclose(moved, [-1e-3 * np.sign(g) for g in gradient], rtol=1e-3)


def test_the_estimated_risk_is_unbiased() -> None:
    """Its mean over batches is the mean squared distance of an update from the mean unbiased one."""
    rng = np.random.default_rng(0)
    unbiased, biased = 1 + rng.normal(size=(2000, 20, 3)), 0.8 + 0.3 * rng.normal(size=(2000, 20, 3))
    found = np.mean([batch_lambda.risk(np.stack(pair)) for pair in zip(biased, unbiased, strict=True)], axis=0)
    true = [np.mean(((g.mean(1) - 1) ** 2).sum(1)) for g in (biased, unbiased)]
    np.testing.assert_allclose(found, true, rtol=0.1)
    task = finite.fresh_tasks()[0]
    task.prepare()
    relative, regret = batch_lambda.regrets(task, task.critics[0], 16, 20)
    assert relative.min() == 1
    assert (regret >= 1).all()
    assert len(regret) == 2


def test_the_drawing_shows_a_perfect_critic() -> None:
    case = boundaries.scripted()
    right = td.returns.lambda_returns(**vars(case))
    np.testing.assert_allclose(right, case.value, rtol=1e-12)
