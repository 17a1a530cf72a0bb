"""Traces that depend on the whole trajectory: the counterexamples of Daley et al. (2023), and every path enumerated."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "experiments" / "family"), str(ROOT / "tests" / "mdp")]

trajectories: Any = import_module("trajectories")
raw_mdp: Any = import_module("random_mdps").raw_mdp
trajectory_operator = trajectories.trajectory_operator

NAMES = ("retrace", "truncated-is", "recursive-retrace", "rbis")


def loop(gamma: float) -> td.FiniteMDP:
    """One state, two actions."""
    return td.FiniteMDP(np.ones((1, 2, 1)), [0.0], discount=gamma)


@pytest.mark.parametrize(("gamma", "norm"), [(0.90, 0.7117), (0.92, 0.8793), (0.94, 1.1401)])
def test_truncated_importance_sampling_need_not_contract(gamma: float, norm: float) -> None:
    operator = trajectory_operator(loop(gamma).under([0.6, 0.4], [0.5, 0.5]), 1.0, correction="truncated-is")
    assert operator.norm == pytest.approx(norm, abs=5e-5)
    assert operator.truncation <= 1e-10
    if gamma == 0.94:
        np.testing.assert_allclose(operator.Z, [[0.704505, -0.435630]] * 2, atol=1e-6)
        assert operator.norm == pytest.approx(1.140135, abs=1e-6)
        assert operator.spectral_radius == pytest.approx(0.2689, abs=5e-5)


@pytest.mark.parametrize("name", ["retrace", "recursive-retrace", "rbis"])
def test_the_others_contract(name: Any) -> None:
    operator = trajectory_operator(loop(0.9).under([0.6, 0.4], [0.5, 0.5]), 1.0, correction=name, tolerance=1e-3)
    assert operator.norm <= 0.9 + operator.truncation


def binary(*given: Any) -> tuple[Any]:
    """β = 1 after action 0, else 0."""
    return (1.0 * (given[4] == 0),)


@pytest.mark.parametrize("gamma", [2 / 3, 0.9])
def test_binary_traces_need_not_contract_on_policy(gamma: float) -> None:
    operator = trajectory_operator(loop(gamma).under([0.5, 0.5]), 1.0, correction=binary)
    assert operator.norm == pytest.approx(gamma / (2 * (1 - gamma)), abs=1e-9)
    if gamma < 0.7:
        np.testing.assert_allclose(operator.Z, [[-1 / 3, 2 / 3]] * 2, atol=1e-9)


def betas(name: str, rho: list[float], lam: list[float]) -> float:
    """β after a path of ratios and λs."""
    beta = 1.0
    for k in range(len(rho)):
        beta = {
            "retrace": beta * lam[k] * min(1, rho[k]),
            "truncated-is": float(np.prod(lam[: k + 1])) * min(1, float(np.prod(rho[: k + 1]))),
            "recursive-retrace": lam[k] * min(1, rho[k] * beta),
            "rbis": min(float(np.prod(lam[: k + 1])), rho[k] * beta),
        }[name]
    return beta


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_path(name: str, seed: int) -> None:
    """MQ = Q + E_b Σ_t Πγ β_t δ_t, over all paths of a task whose trajectories are short; γ, λ, ρ vary."""
    raw = raw_mdp(seed, n=5, actions=2, layered=True)
    rng, g = np.random.default_rng(seed), raw.g()
    lam, Q = rng.random(5), np.where(raw.terminal[:, None], 0.0, rng.normal(size=(5, 2)))
    rho = raw.pi / raw.b
    delta = np.einsum("sat,sat->sa", raw.P, raw.R) + raw.P @ (g * (raw.pi * Q).sum(axis=1)) - Q
    expected = Q.copy()

    def walk(first: tuple[int, int], s: int, a: int, weight: float, ratios: list[float], lams: list[float]) -> None:
        expected[first] += weight * betas(name, ratios, lams) * delta[s, a]
        for t in range(5):
            for u in range(2):
                p = raw.P[s, a, t] * raw.b[t, u] * g[t]
                if p > 0 and not raw.terminal[t]:
                    walk(first, t, u, weight * p, [*ratios, rho[t, u]], [*lams, lam[t]])

    for s in range(4):
        for a in range(2):
            walk((s, a), s, a, 1.0, [], [])
    operator = trajectory_operator(raw.mdp().under(raw.pi, raw.b), lam, correction=name)
    np.testing.assert_allclose(operator(Q), expected, atol=1e-9)
    np.testing.assert_allclose(operator.fixed_point, raw.mdp().q(raw.pi), atol=1e-12)


def test_retrace_by_paths_is_its_closed_form() -> None:
    """A cycle with γ and λ varying by state; paths without end, merged."""
    P = np.zeros((2, 2, 2))
    P[0, 0] = [0.5, 0.5]
    P[0, 1] = P[1, 0] = [1.0, 0.0]
    P[1, 1] = [0.0, 1.0]
    mdp = td.FiniteMDP(P, [1.0, 2.0], discount=[0.7, 0.5])
    pi, b, lam = [[0.8, 0.2], [0.3, 0.7]], [[0.5, 0.5], [0.6, 0.4]], [0.9, 0.5]
    closed = mdp.under(pi, b).trace_operator(lam, correction="retrace", values="action")
    paths = trajectory_operator(mdp.under(pi, b), lam, correction="retrace", tolerance=1e-8)
    assert 0 < paths.truncation <= 1e-8
    assert np.abs(paths.Z - closed.Z).sum(axis=1).max() <= paths.truncation
    np.testing.assert_allclose(paths.fixed_point, closed.fixed_point)


def test_where_traces_are_one_another() -> None:
    mdp, pi, b = loop(0.8), [0.7, 0.3], [0.4, 0.6]

    def Z(name: Any, lam: float, target: Any = pi, behavior: Any = b) -> Any:
        return trajectory_operator(mdp.under(target, behavior), lam, correction=name, tolerance=1e-6).Z

    for name in NAMES[1:]:
        np.testing.assert_allclose(Z(name, 0.0), Z("retrace", 0.0), atol=2e-6)
        np.testing.assert_allclose(Z(name, 0.6, pi, pi), Z("retrace", 0.6, pi, pi), atol=2e-6)  # ρ = 1: λ^t
    np.testing.assert_allclose(Z("rbis", 1.0), Z("recursive-retrace", 1.0), atol=2e-6)
    assert np.abs(Z("rbis", 0.6) - Z("recursive-retrace", 0.6)).max() > 1e-3


def test_what_cannot_be_summed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_mdp(3, n=5, actions=2, episodic=False)
    mdp = td.FiniteMDP(raw.P, raw.R, discount=0.95)
    monkeypatch.setattr(trajectories, "_MOST", 100_000)
    with pytest.raises(ValueError, match=r"tolerance must be larger than .*: \d+ distinct paths are too many to store"):
        trajectory_operator(mdp.under(raw.pi, raw.b), np.linspace(0.5, 1, 5), correction="truncated-is")
    for options, message in (
        ({"correction": "watkins"}, "correction must be one of"),
        ({"correction": binary, "memory": (0.5,)}, "memory must begin with β = 1"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"correction": lambda *given: (np.full(given[1].shape, np.inf),)}, "correction must return a finite memory"),
    ):
        with pytest.raises(ValueError, match=message):
            trajectory_operator(mdp.under(raw.pi, raw.b), 0.5, **options)
