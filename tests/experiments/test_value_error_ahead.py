"""The value error ahead (experiments/open_questions/ahead.py) against every path of a small MDP."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Table
from tdlambda.tasks.task import TabularTask

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "open_questions"))

ahead: Any = import_module("ahead")
Linear, parts = ahead.Linear, ahead.parts
LAM = np.array([0.3, 0.9, 0.5, 0.7, 0.0])
X = np.array([[1.0, 0.0], [0.5, 1.0], [-0.3, 0.4], [0.2, 0.9], [0.0, 0.0]])


def small(features: Any = X) -> TabularTask:
    """Off-policy, without loops, another γ in every state; rewards are random where two outcomes share a successor."""
    rows = [
        (0, 0, 1, 1.0, 0.6), (0, 0, 2, -1.0, 0.4), (0, 1, 3, 0.5, 0.7), (0, 1, 3, -2.0, 0.3),
        (1, 0, 3, 0.3, 0.5), (1, 0, 4, 2.0, 0.5), (1, 1, 4, -1.0, 1.0),
        (2, 0, 3, 1.5, 1.0), (2, 1, 4, 0.7, 1.0), (3, 0, 4, 1.0, 0.2), (3, 0, 4, -1.0, 0.8), (3, 1, 4, 0.4, 1.0),
    ]  # fmt: skip
    mdp = td.FiniteMDP.from_rows(
        rows, terminal=[4], discount=[0.9, 0.8, 0.95, 0.7, 0.0], start=[0.4, 0.3, 0.2, 0.1, 0.0]
    )
    target = [[0.3, 0.7], [0.6, 0.4], [0.5, 0.5], [0.8, 0.2], [0.5, 0.5]]
    behavior = [[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.5, 0.5], [0.5, 0.5]]
    return TabularTask(mdp, target, behavior, Table(features))


def returns(task: Any, V: Any, s: int) -> Iterator[tuple[float, float]]:
    """Every λ-return from a state with its probability: V + ρ (δ + γ'λ' (G' - V')), along every path."""
    mdp, o = task.mdp, task.mdp.outcomes
    if mdp.terminal[s]:
        yield 1.0, 0.0
        return
    pi, b = mdp.policy(task.target), mdp.policy(task.behavior)
    for k in np.flatnonzero(o.state == s):
        a, after = o.action[k], o.next_state[k]
        rho, gamma, ahead = pi[s, a] / b[s, a], mdp.discount[after], 0.0 if mdp.terminal[after] else V[after]
        delta = o.reward[k] + gamma * ahead - V[s]
        for p, G in returns(task, V, int(after)):
            yield b[s, a] * o.probability[k] * p, V[s] + rho * (delta + gamma * LAM[after] * (G - ahead))


def value_error(task: Any, V: Any) -> float:
    return float(task.exact.value_error(V, half=False))


def enumerated(task: Any, features: Any, w: Any, alpha: float, updates: int) -> float:
    """The expected value error after some updates, over all states and paths."""
    if updates == 0:
        return value_error(task, features @ w)
    d = np.where(task.mdp.terminal, 0.0, task.mdp.under(task.behavior).state_distribution())
    V, total = features @ w, 0.0
    for s in range(4):
        for p, G in returns(task, V, s):
            after = w + alpha * (G - V[s]) * features[s]
            total += d[s] / d.sum() * p * enumerated(task, features, after, alpha, updates - 1)
    return total


@pytest.mark.parametrize("features", [X, np.eye(5)[:, :4]], ids=["shared", "table"])
def test_updates_of_linear_values(features: Any) -> None:
    task, w = small(features), np.random.default_rng(0).normal(size=features.shape[1])
    found = Linear(task, features, LAM).errors(0.3, w, 1)
    assert found == pytest.approx([enumerated(task, features, w, 0.3, n) for n in (0, 1, 2)], rel=1e-12)


def test_many_updates_are_the_recursion_step_by_step() -> None:
    model, w = Linear(small(), X, LAM), np.array([0.4, -1.0])
    start = np.append(1.0, w)
    M, errors = np.outer(start, start), []
    for _ in range(64):
        kick = np.einsum("s,si,sj,skl,kl->ij", model.d, model.x, model.x, model.U, M)
        M = M + 0.2 * (model.L @ M + M @ model.L.T) + 0.04 * kick
        errors.append(float((model.error * M).sum()))
    assert model.errors(0.2, w, 6)[1:] == pytest.approx([errors[2**k - 1] for k in range(7)], rel=1e-10)


def test_target_error_of_weights() -> None:
    task, w = small(), np.array([0.4, -1.0])
    exact = task.exact.target_error(X @ w, LAM, correction="control-variate", half=False)
    model = Linear(task, X, LAM)
    assert model.target_error(np.array([w, w])) == pytest.approx([exact, exact])
    assert parts(task, X @ w, LAM).target_error() == pytest.approx(exact)
    assert model.value_error(w) == pytest.approx(value_error(task, X @ w))


def test_a_table_ahead_by_every_path_and_pair_of_paths() -> None:
    """One update of each state, and two towards the same target: bias² and α-weighted variance."""
    task, V, alpha = small(), np.array([0.5, -0.2, 1.0, 0.1, 0.0]), 0.4
    v, weights, here = task.exact.v(), task.exact.error_weights(), parts(small(), V, LAM)
    one = two = 0.0
    for s in range(4):
        all_paths = list(returns(task, V, s))
        for p, G in all_paths:
            after = V[s] + alpha * (G - V[s])
            one += weights[s] * p * (after - v[s]) ** 2
            two += weights[s] * p * sum(q * (after + alpha * (H - after) - v[s]) ** 2 for q, H in all_paths)
    assert here.ahead(alpha) == pytest.approx(one, rel=1e-12)
    assert here.ahead(alpha, 2) == pytest.approx(two, rel=1e-12)
    assert here.ahead(alpha, 10_000) == pytest.approx(
        (weights * (here.bias**2 + alpha / (2 - alpha) * here.variance)).sum()
    )


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0])
def test_one_update_is_between_value_error_and_target_error(alpha: float) -> None:
    """J_α = (1-α) VE + α J - α (1-α) D."""
    task, V = small(), np.array([0.5, -0.2, 1.0, 0.1, 0.0])
    here, weights = parts(task, V, LAM), task.exact.error_weights()
    moved = (weights * ((here.bias - here.before) ** 2 + here.variance)).sum()
    both = (1 - alpha) * value_error(task, V) + alpha * here.target_error() - alpha * (1 - alpha) * moved
    assert here.ahead(alpha) == pytest.approx(both)


def test_infinite_variance_is_an_infinite_error_ahead() -> None:
    two = td.make("TwoState-v0", end=0.5, behavior_end=0.8, discount=1.0)
    table = np.eye(3)[:, :2]
    assert np.isinf(Linear(two, table, 1.0).errors(0.1, np.zeros(2), 3)[1:]).all()
    assert np.isfinite(Linear(two, table, 0.0).errors(0.1, np.zeros(2), 3)).all()
