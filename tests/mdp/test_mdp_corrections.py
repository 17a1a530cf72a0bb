"""Trace coefficients: the formulas on golden weights, fixed points, operators, and the mean update on a trajectory."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, raw_mdp
from searching import examples

import tdlambda as td
from tdlambda.mdp.corrections import CORRECTIONS, abtd_psi

NAMES = ("importance", "retrace", "vtrace", "tree", "abtd")


def golden(name: str, *, actions: bool = False) -> Array:
    """12 steps with everything varying, one episode's end at t = 5, by e = γλ c⁻ e + x, w += α κ δ e."""
    t = np.arange(13)
    X = np.cos(1 + 1.3 * t[:, None] + 2.1 * np.arange(3))
    expected = np.cos(2 + 1.3 * t[:, None] + 2.1 * np.arange(3))
    gamma, lam = 0.6 + 0.3 * np.cos(t), 0.5 + 0.4 * np.sin(2 * t)
    rho, pi = 1 + 0.9 * np.sin(1.7 * t), 0.55 + 0.4 * np.cos(1.1 * t)
    w, e, before = np.array([0.1, 0.2, 0.3]), np.zeros(3), 0.0
    lam = np.ones(13) if name == "abtd" else lam
    for k in range(12):
        ends = k == 5
        nxt = (expected if actions else X)[k + 1]
        delta = np.sin(0.7 * (k + 1)) + (0.0 if ends else gamma[k + 1] * w @ nxt) - w @ X[k]
        c, kappa = CORRECTIONS[name](rho[k], pi[k], pi[k] / rho[k], 1.0, 1.0, abtd_psi(0.75, 1.0, 2.0))
        e = gamma[k] * lam[k] * (c if actions else before) * e + X[k]
        w = w + 0.1 * (1.0 if actions else kappa) * delta * e
        before = c
        if ends:
            e = np.zeros(3)
    return w


@pytest.mark.parametrize(
    ("name", "actions", "weights"),
    [
        ("importance", False, (0.101924965, 0.156162159, 0.342337762)),
        ("vtrace", False, (0.120644322, 0.137355617, 0.342607223)),
        ("retrace", False, (0.111022384, 0.151061883, 0.338390051)),
        ("tree", False, (0.128652505, 0.141116535, 0.330801671)),
        ("abtd", False, (0.074802847, 0.151041162, 0.374630511)),
        ("importance", True, (0.213207704, 0.056280224, 0.331905033)),
        ("retrace", True, (0.209926633, 0.071333348, 0.319987084)),
        ("tree", True, (0.226058398, 0.065883728, 0.309357757)),
    ],
)
def test_golden_weights(name: str, actions: bool, weights: tuple[float, ...]) -> None:
    np.testing.assert_allclose(golden(name, actions=actions), weights, atol=1e-9)


def tables(raw: Any, name: str, c_bar: float = 1.0, rho_bar: float = 1.0, zeta: float = 0.5) -> tuple[Array, Array]:
    """c and κ written as whole tables."""
    live = ~raw.terminal
    rho = np.divide(raw.pi, raw.b, out=np.zeros_like(raw.b), where=raw.b > 0)
    if name == "vtrace":
        return np.minimum(c_bar, rho), np.minimum(rho_bar, rho)
    larger = np.maximum(raw.pi, raw.b)
    low, high = 1 / larger[live].max(), 1 / larger[live & (raw.b > 0).all(axis=1)].min()
    psi = 2 * zeta * low + max(0, 2 * zeta - 1) * (high - 2 * low)
    c = {
        "importance": rho,
        "retrace": np.minimum(c_bar, rho),
        "tree": raw.pi,
        "abtd": np.minimum(psi, 1 / larger) * raw.pi,
    }[name]
    return c, rho


@examples(40)
@given(SEEDS, st.sampled_from(NAMES), st.booleans())
def test_tabular_fixed_points(seed: int, name: str, episodic: bool) -> None:
    """v_π where κ = ρ whatever c is; V-trace's is the value of π̄ ∝ min(ρ̄ b, π)."""
    raw = raw_mdp(seed, actions=3, episodic=episodic)
    mdp, rng = raw.mdp(), np.random.default_rng(seed)
    lam = rng.random(raw.n)
    correction: Any = name
    goal = raw.pi
    if name == "vtrace":
        correction = td.mdp.TraceCorrection("vtrace", c_bar=0.8, rho_bar=1.3)
        goal = np.minimum(1.3 * raw.b, raw.pi)
        goal = goal / goal.sum(axis=1, keepdims=True)
    operator = mdp.under(raw.pi, raw.b).trace_operator(lam, correction=correction)
    np.testing.assert_allclose(operator.fixed_point, raw.v(goal), atol=1e-8)
    one_hot = np.eye(raw.n)
    system = mdp.under(raw.pi, raw.b).linear_system(one_hot, lam, correction=correction)
    d = mdp.under(raw.b).state_distribution()
    seen = (d > 0) & ~raw.terminal
    np.testing.assert_allclose(system.td_fixed_point()[seen], raw.v(goal)[seen], atol=1e-7)
    if name != "vtrace":
        q = mdp.under(raw.pi, raw.b).trace_operator(lam, correction=correction, values="action")
        np.testing.assert_allclose(q.fixed_point, mdp.q(raw.pi), atol=1e-8)
        assert q.spectral_radius < 1


@examples(30)
@given(SEEDS, st.sampled_from(NAMES), st.floats(0, 1))
def test_operator_is_the_update_of_a_table_and_its_norm(seed: int, name: str, zeta: float) -> None:
    """(RV)(s) = V(s) + E Σ_t Π(γλc) κδ by iterating Δ = E[κδ + γ'λ'c Δ'], with γ, λ varying by state."""
    raw = raw_mdp(seed, actions=3)
    rng, g = np.random.default_rng(seed), raw.g()
    lam, V = rng.random(raw.n), np.where(raw.terminal, 0.0, rng.normal(size=raw.n))
    options = {"c_bar": 0.7, "rho_bar": 1.2, "zeta": zeta}
    c, kappa = tables(raw, name, **options)
    correction = td.mdp.TraceCorrection(name, **options)  # type: ignore[arg-type]
    r = np.einsum("sat,sat->sa", raw.P, raw.R)
    delta = r + raw.P @ (g * V) - V[:, None]
    delta[raw.terminal] = 0.0
    change = np.zeros(raw.n)
    for _ in range(3000):
        change = (raw.b * (kappa * delta + c * (raw.P @ (g * lam * change)))).sum(axis=1)
    operator = raw.mdp().under(raw.pi, raw.b).trace_operator(lam, correction=correction)
    np.testing.assert_allclose(operator(V), V + change, atol=1e-8)
    if name != "vtrace":  # action values: Δ(s,a) = δ̄ + E[γ'λ' b c Δ']
        Q = np.where(raw.terminal[:, None], 0.0, rng.normal(size=raw.b.shape))
        delta = r + raw.P @ (g * (raw.pi * Q).sum(axis=1)) - Q
        delta[raw.terminal] = 0.0
        moved = np.zeros(Q.shape)
        for _ in range(3000):
            moved = delta + raw.P @ (g * lam * (raw.b * c * moved).sum(axis=1))
        pairs = raw.mdp().under(raw.pi, raw.b).trace_operator(lam, correction=correction, values="action")
        np.testing.assert_allclose(pairs(Q), Q + moved, atol=1e-8)
        worst = np.sign(pairs.Z[np.abs(pairs.Z).sum(axis=1).argmax()]).reshape(Q.shape)
        assert np.abs(pairs(pairs.fixed_point + worst) - pairs.fixed_point).max() == pytest.approx(pairs.norm)


def test_norms_of_action_value_operators() -> None:
    """γ constant: ‖Z‖∞ = 1 - (1-γ) min (I - P_c)⁻¹1 ≤ γ if c ≤ ρ; c = 1 has the radius γ(1-λ)/(1-γλ), any norm."""
    raw = raw_mdp(5, n=4, actions=3, episodic=False)
    gamma, lam = 0.9, 0.7
    mdp = td.FiniteMDP(raw.P, raw.R, discount=gamma)
    for name in ("importance", "retrace", "tree", "abtd"):
        c, _ = tables(raw, name)
        Pc = np.einsum("sat,tu->satu", raw.P, gamma * lam * raw.b * c).reshape(12, 12)
        expected = 1 - (1 - gamma) * np.linalg.solve(np.eye(12) - Pc, np.ones(12)).min()
        operator = mdp.under(raw.pi, raw.b).trace_operator(lam, correction=name, values="action")
        assert operator.norm == pytest.approx(expected, rel=1e-10)
        assert operator.norm <= gamma + 1e-12
    loop = td.FiniteMDP(np.ones((1, 2, 1)), [0.0], discount=gamma)
    uncorrected = loop.under([1.0, 0.0], [0.1, 0.9]).trace_operator(lam, correction=np.ones((1, 2)), values="action")
    assert uncorrected.norm > 1
    assert uncorrected.spectral_radius == pytest.approx(gamma * (1 - lam) / (1 - gamma * lam))


def collision() -> tuple[td.FiniteMDP, Array, Array]:
    rows = [(s, a, 8 if a or s == 7 else s + 1, float(s == 7 and not a), 1.0) for s in range(8) for a in (0, 1)]
    start = np.array([0.25] * 4 + [0.0] * 5)
    b = np.array([[1.0, 0.0]] * 4 + [[0.5, 0.5]] * 5)
    return td.FiniteMDP.from_rows(rows, discount=0.9, terminal=[8], start=start), np.array([1.0, 0.0]), b


def test_collision_task() -> None:
    """Ghiassian & Sutton 2021: d, v and √VE of the fixed points, over our own draws of features."""
    mdp, pi, b = collision()
    d, v = np.array([2, 4, 6, 8, 8, 4, 2, 1]) / 35, 0.9 ** (7.0 - np.arange(8))
    np.testing.assert_allclose(mdp.v(pi)[:8], v)
    assert np.sqrt(d @ v**2) == pytest.approx(0.689078, abs=1e-6)
    rng, errors = np.random.default_rng(1), []

    def draw() -> Array:
        X = np.zeros((9, 6))
        for s in range(8):
            X[s, rng.choice(6, 3, replace=False)] = 1
        return X

    for _ in range(25):
        X = draw()

        def level(lam: float, X: Array = X, **options: Any) -> float:
            system = mdp.under(pi, b).linear_system(X, lam, **options)
            return float(np.sqrt(d @ (X @ system.td_fixed_point() - mdp.v(pi))[:8] ** 2))

        same = [
            mdp.under(pi, b).linear_system(X, 0.6, correction="tree").A,
            mdp.under(pi, b).linear_system(X, 0.6, correction="retrace").A,
            mdp.under(pi, b).linear_system(X, 1.0, correction=td.mdp.TraceCorrection("abtd", zeta=0.3)).A,
        ]
        np.testing.assert_allclose(same[1:], [same[0]] * 2, atol=1e-14)
        errors.append(
            [level(1.0), level(0.0, method="etd"), level(0.0), level(0.9), level(0.9, method="etd")]
            + [level(lam, correction="tree") for lam in (0.9, 1.0)]
        )
    mean = np.array([0.0708, 0.1104, 0.3172, 0.0740, 0.0750, 0.1651, 0.1513])
    spread = np.array([0.024, 0.046, 0.164, 0.026, 0.026, 0.088, 0.080])
    assert (np.abs(np.mean(errors, axis=0) - mean) < 4 * spread / 5).all()


def test_bias_of_vtrace() -> None:
    """One state, rewards 1 and 0, π = (.9, .1), b = (.5, .5): .5/.6, not .9."""
    P = np.zeros((2, 2, 2))
    P[0, :, 1] = 1.0
    mdp = td.FiniteMDP(P, [[1.0, 0.0], [0.0, 0.0]], terminal=[1])
    operator = mdp.under([0.9, 0.1], [0.5, 0.5]).trace_operator(1.0, correction="vtrace")
    assert operator.fixed_point[0] == pytest.approx(0.5 / 0.6)


def sample_mean(raw: Any, X: Array, lam: Array, w: Array, name: str, actions: bool) -> tuple[Array, Array]:
    """Mean and standard error of the update with w held, over 2000 agents of 300 steps."""
    rng, g = np.random.default_rng(4), raw.g()
    c, kappa = tables(raw, name)
    agents, steps, warm = 2000, 350, 50
    policy, model = np.cumsum(raw.b, axis=1), np.cumsum(raw.P, axis=2)

    def act(s: Array) -> Array:
        return (rng.random(agents)[:, None] >= policy[s, :-1]).sum(axis=1)

    s = rng.choice(raw.n, size=agents, p=raw.start)
    a, e, total, before = act(s), np.zeros((agents, len(w))), np.zeros((agents, len(w))), np.zeros(agents)
    for step in range(steps):
        t = (rng.random(agents)[:, None] >= model[s, a, :-1]).sum(axis=1)
        x = X[s, a] if actions else X[s]
        after = (raw.pi[t][:, :, None] * X[t]).sum(axis=1) if actions else X[t]
        e = ((g * lam)[s] * (c[s, a] if actions else before))[:, None] * e + x
        delta = raw.R[s, a, t] + g[t] * (after @ w) - x @ w
        if step >= warm:
            total += ((1.0 if actions else kappa[s, a]) * delta)[:, None] * e
        before, ended = c[s, a], raw.terminal[t]
        e[ended] = 0.0
        s = np.where(ended, rng.choice(raw.n, size=agents, p=raw.start), t)
        a = act(s)
    means = total / (steps - warm)
    return means.mean(axis=0), means.std(axis=0) / np.sqrt(agents)


@pytest.mark.parametrize(
    ("name", "actions"), [(name, False) for name in NAMES] + [(name, True) for name in NAMES if name != "vtrace"]
)
def test_mean_update_on_a_trajectory(name: str, actions: bool) -> None:
    raw = raw_mdp(14, n=4, actions=2)
    rng = np.random.default_rng(3)
    X = np.where(raw.terminal[:, None], 0.0, rng.normal(size=(4, 2)))
    if actions:
        X = np.where(raw.terminal[:, None, None], 0.0, rng.normal(size=(4, 2, 2)))
    lam, w = np.array([0.3, 0.9, 0.6, 0.0]), np.array([0.5, -1.0])
    system = raw.mdp().under(raw.pi, raw.b).linear_system(X, lam, correction=name)
    mean, error = sample_mean(raw, X, lam, w, name, actions)
    assert (np.abs(mean - (system.b - system.A @ w)) < 4.5 * error).all()
    assert (error < 0.02).all()


def test_wrong_corrections_are_refused() -> None:
    mdp = raw_mdp(1).mdp()
    X = np.eye(5)
    for options, message in (
        ({"correction": "retrase"}, 'correction must be one of "importance", "retrace"'),
        ({"correction": np.ones(3)}, r"correction as a table c\[state, action\] must have shape \(5, 2\)"),
        ({"correction": -np.ones((5, 2))}, "correction of state 0 must be finite and not negative"),
        ({"correction": "tree", "method": "etd"}, 'method: "etd" is for state values'),
        ({"method": "gtd"}, 'method must be "td" or "etd"'),
        ({"method": "etd", "interest": -1.0}, "interest of state 0 is -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            mdp.under().linear_system(X, 0.5, **options)
    with pytest.raises(ValueError, match='"vtrace" is for state values only'):
        mdp.under().trace_operator(0.5, correction="vtrace", values="action")
    with pytest.raises(ValueError, match="c_bar must be at most rho_bar"):
        td.mdp.TraceCorrection("vtrace", c_bar=2.0)
    with pytest.raises(ValueError, match="values must have shape"):
        mdp.under().trace_operator(0.5)(np.zeros(3))
    many = td.FiniteMDP.from_rows([(s, 0, 0, 0.0, 1.0) for s in range(5001)], discount=0.9)
    with pytest.raises(ValueError, match="limited to 5000 states or state-action pairs; got 5001"):
        many.under().trace_operator(0.5)
    forever = td.FiniteMDP(np.ones((1, 2, 1)), [0.0], discount=0.9)
    with pytest.raises(ValueError, match="the future lasts more than"):
        forever.under().linear_system(np.ones((1, 1)), 1.0, correction=np.full((1, 2), 1.2))


@pytest.mark.parametrize("psi", [-3.0, 0.0, float("nan")])
def test_the_bounds_of_abtd_are_positive(psi: float) -> None:
    with pytest.raises(ValueError, match="psi_max must be positive"):
        td.mdp.TraceCorrection("abtd", psi_0=1.0, psi_max=psi)
