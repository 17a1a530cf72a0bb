"""The mean update of each algorithm against the exact linear system of a small MDP, written out in NumPy.

Three states, two actions, γ and λ different in each state. The interpreter learns along all paths of the behaviour
policy, from its stationary distribution and with the weights held, until its traces have their stationary means.
"""

import copy
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.core.interpreter import Interpreter
from tdlambda.tasks import TabularTask

pytestmark = pytest.mark.costly

NEXT = np.array([[1, 2], [0, 2], [1, 0]])
"""The state that an action leads to [state, action]."""
REWARD = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 2.0]])
PI = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
B = np.array([[0.5, 0.5], [0.6, 0.4], [0.3, 0.7]])
GAMMA, LAM = np.array([0.9, 0.4, 0.6]), np.array([0.9, 0.2, 0.5])
X = np.array([[1.0, 0.3], [0.4, -1.0], [0.7, 0.8]])
INTEREST = np.array([1.5, 0.2])
"""Of each feature: 1.56, 0.4 and 1.21 of the states."""
W, H = np.array([0.7, -1.1]), np.array([-0.4, 0.9])
STEPS = 60


def chain(policy: Any) -> Any:
    P = np.zeros((3, 3))
    for s in range(3):
        for a in range(2):
            P[s, NEXT[s, a]] += policy[s, a]
    return P


def stationary(P: Any) -> Any:
    left = np.vstack([P.T - np.eye(3), np.ones(3)])
    return np.linalg.lstsq(left, np.array([0, 0, 0, 1.0]), rcond=None)[0]


P_PI, P_B = chain(PI), chain(B)
D_B = stationary(P_B)
R_PI = (PI * REWARD).sum(axis=1)


def system(emphasis: Any, P: Any, features: Any = X) -> tuple[Any, Any]:
    """A = Xᵀ M (I - PΓΛ)⁻¹ (I - PΓ) X and b = Xᵀ M (I - PΓΛ)⁻¹ r, with the emphasis M on each state."""
    left = features.T @ np.diag(emphasis) @ np.linalg.inv(np.eye(3) - P * (GAMMA * LAM))
    return left @ (np.eye(3) - P * GAMMA) @ features, left @ R_PI


def emphasis(decay: Any, interest: Any) -> Any:
    """m = Λ (d∘i) + (I - Λ) f, with f = (I - diag(decay) P_πᵀ)⁻¹ (d∘i)."""
    f = np.linalg.solve(np.eye(3) - decay[:, None] * P_PI.T, D_B * interest)
    return LAM * D_B * interest + (1 - LAM) * f


def mean_update(learner: Any, start: dict[str, Any]) -> dict[str, Any]:
    """E[change of each row] / step size in the steady state, with the weights held.

    Updates are linear in traces and in what is kept, so paths that meet in a state can be averaged there.
    """
    numbers = learner.memory.numbers()
    traces = [f"V_{row}" for row in learner.declaration.trace_rows.split()]
    at: list[Any] = [Interpreter(learner.model, 2, numbers) for _ in range(3)]
    changes = {name: np.zeros(2) for name in start}
    for _ in range(STEPS):
        arrived: list[list[tuple[float, Any]]] = [[], [], []]
        changes = {name: np.zeros(2) for name in start}
        for s in range(3):
            for a in range(2):
                here = copy.copy(at[s])
                here.rows, here.kept = {**at[s].rows, **start}, dict(at[s].kept)
                n = NEXT[s, a]
                here.learn(X[s], X[n], REWARD[s, a], GAMMA[n], PI[s, a] / B[s, a], LAM[n])
                arrived[n].append((D_B[s] * B[s, a] / D_B[n], here))
                for name, row in start.items():
                    changes[name] += D_B[s] * B[s, a] * (here.rows[name] - row)
        for n, some in enumerate(arrived):
            at[n] = copy.copy(some[0][1])
            at[n].rows = {**some[0][1].rows} | {name: sum(p * v.rows[name] for p, v in some) for name in traces}
            at[n].kept = {name: sum(p * v.kept[name] for p, v in some) for name in some[0][1].kept}
    return {name: change / learner.alpha for name, change in changes.items()}


A, b = system(D_B, P_PI)
A_B = system(D_B, P_B)[0]
C = X.T @ np.diag(D_B) @ X
GRADIENT: dict[str, tuple[Any, dict[str, Any], Any, Any]] = {
    "GTD": (td.GTD, {}, b - A @ W - (C - A.T) @ H, b - A @ W - C @ H),
    "GTD gradient": (td.GTD, {"form": "gradient"}, b - A @ W - (C - A.T) @ H, b - A @ W - C @ H),
    "GTD2": (td.GTD2, {}, A.T @ H, b - A @ W - C @ H),
    "GTD2 gradient": (td.GTD2, {"form": "gradient"}, A.T @ H, b - A @ W - C @ H),
    "TDRC": (td.TDRC, {"reg": 0.7}, b - A @ W - (C - A.T) @ H, b - A @ W - (C + 0.7 * np.eye(2)) @ H),
    "HTD": (td.HTD, {}, b - A @ W + (A - A_B).T @ H, b - A @ W - A_B.T @ H),
}


@pytest.mark.parametrize("name", GRADIENT)
def test_mean_update_of_gradient_methods(name: str) -> None:
    build, options, of_w, of_h = GRADIENT[name]
    found = mean_update(build(td.features.Table(X), 0.5, LAM, beta=0.5, **options), {"V_w": W, "V_h": H})
    np.testing.assert_allclose(found["V_w"], of_w, atol=1e-8)
    np.testing.assert_allclose(found["V_h"], of_h, atol=1e-8)


@pytest.mark.parametrize("beta_f", [None, 0.25])
@pytest.mark.parametrize(("build", "alpha", "atol"), [(td.ETD, 0.5, 1e-5), (td.TrueOnlineETD, 1e-7, 3e-5)])
def test_mean_update_of_emphatic_methods_is_that_of_the_key_matrix(
    build: Any, alpha: float, atol: float, beta_f: float | None
) -> None:
    decay = GAMMA if beta_f is None else np.full(3, beta_f)
    for given, i in ((1.0, np.ones(3)), (INTEREST, X @ INTEREST)):
        K, k = system(emphasis(decay, i), P_PI)
        start = {"V_w": W} | ({} if np.ndim(given) == 0 else {"V_interests": INTEREST})
        found = mean_update(build(td.features.Table(X), alpha, LAM, interest=given, beta_f=beta_f), start)
        np.testing.assert_allclose(found["V_w"], k - K @ W, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("beta_f", [None, 0.25])
@pytest.mark.parametrize("build", [td.ETD, td.TrueOnlineETD])
def test_emphatic_methods_converge_to_their_own_fixed_point(build: Any, beta_f: float | None) -> None:
    """TD's fixed point is another: the test can tell them apart."""
    K, k = system(emphasis(GAMMA if beta_f is None else np.full(3, beta_f), np.ones(3)), P_PI)
    fixed, of_td = np.linalg.solve(K, k), np.linalg.solve(A, b)
    rng, n = np.random.default_rng(0), 1_000_000
    action, s = (rng.random((3, n)) >= B[:, :1]).astype(np.int64), 0
    states = np.zeros(n + 1, dtype=np.int64)
    for t in range(n):
        states[t], s = s, NEXT[s, action[s, t]]
    states[n] = s
    a = action[states[:-1], np.arange(n)]
    v = build(td.features.Table(X), td.steps.OneOver("steps", offset=20, power=0.7), LAM, beta_f=beta_f)
    v.update_many(states[:-1], REWARD[states[:-1], a], states[1:], GAMMA[states[1:]], (PI / B)[states[:-1], a])
    assert abs(v.weights - fixed).max() < 0.1 * abs(fixed - of_td).max()


def test_which_expected_updates_are_stable_on_bairds_counterexample() -> None:
    """The largest real part of an eigenvalue: GTD, TDRC and ETD do not grow; TD, HTD and ETD with β_F = 0.5 do."""
    baird = td.make("Baird-v0")
    assert isinstance(baird, TabularTask)
    features, mdp = baird.features.matrix(np.arange(7)), baird.mdp
    own, behind = (
        mdp.under(policy, baird.behavior).linear_system(features, 0.0) for policy in (baird.target, baird.behavior)
    )
    A, C, A_b, unit = own.A, own.C, behind.A, np.eye(8)
    to_last = np.zeros((7, 7))
    to_last[:, 6] = 1.0  # where the target policy goes

    def etd(beta_f: float) -> Any:
        f = np.linalg.solve(np.eye(7) - beta_f * to_last.T, np.full(7, 1 / 7))
        return -features.T @ np.diag(f) @ (np.eye(7) - 0.99 * to_last) @ features

    found: dict[str, Any] = {
        "TD": -A, "GTD": np.block([[-A, A.T - C], [-A, -C]]), "TDRC": np.block([[-A, A.T - C], [-A, -C - unit]]),
        "HTD": np.block([[-A, (A - A_b).T], [-A, -A_b.T]]), "ETD": etd(0.99), "ETD, β_F = 0.5": etd(0.5),
    }  # fmt: skip
    np.testing.assert_allclose(etd(0.0), -A, atol=1e-12)
    growth = {name: float(np.linalg.eigvals(matrix).real.max()) for name, matrix in found.items()}
    assert all(growth[name] < 1e-12 for name in ("GTD", "TDRC", "ETD")), growth
    assert all(growth[name] > 0.1 for name in ("TD", "HTD", "ETD, β_F = 0.5")), growth
