"""J(λ), its gradients and its minimisers, against finite differences, loops, grids and random search."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, Raw, dense_moments, raw_mdp, walk
from searching import examples

import tdlambda as td

CORRECTIONS = ["per-decision", "control-variate"]
MODES = st.sampled_from([(c, on) for c in CORRECTIONS for on in (True, False)])


def dense_J(raw: Raw, V: Array, lam: Array, b: Array, correction: str, weights: Array) -> float:
    """Σ w [(m - v)² + Var], from the dense second-moment system."""
    G = dense_moments(raw, V, lam, raw.pi, b, correction)
    return float(weights @ ((G.mean - raw.v(raw.pi)) ** 2 + G.variance))


def differences(f: Callable[[Array], float], x: Array, h: float = 1e-6) -> Array:
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def setting(seed: int, correction: str, on_policy: bool, n: int = 5, actions: int = 2) -> tuple[Any, ...]:
    """A random MDP, V, λ away from the bounds, weights, and the behaviour; refused if the variance is near infinite."""
    raw = raw_mdp(seed, n=n, actions=actions)
    rng = np.random.default_rng(seed)
    V, lam = rng.normal(size=n), 0.05 + 0.85 * rng.random(n)
    weights = np.where(raw.terminal, 0.0, rng.random(n))
    b = raw.pi if on_policy else raw.b
    assume(dense_moments(raw, V, lam, raw.pi, b, correction).radius < 0.9)
    return raw, V, lam, weights, b


@examples(40)
@given(SEEDS, MODES, st.booleans())
def test_full_gradient_against_finite_differences(seed: int, mode: tuple[Any, bool], half: bool) -> None:
    correction, on_policy = mode
    raw, V, lam, weights, b = setting(seed, correction, on_policy)
    mdp, scale = raw.mdp(), 0.5 if half else 1.0
    options: dict[str, Any] = {"correction": correction, "weights": weights, "half": half}
    behavior = None if on_policy else b
    J = dense_J(raw, V, lam, b, correction, scale * weights)
    assert mdp.under(raw.pi, behavior).target_error(V, lam, **options) == pytest.approx(J, abs=1e-9 * (1 + J))
    gradient = mdp.under(raw.pi, behavior).target_error_gradient(V, lam, **options)
    expected = differences(lambda x: dense_J(raw, V, x, b, correction, scale * weights), lam)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * (1 + J), rtol=1e-6)
    assert gradient[raw.terminal] == 0


@examples(15)
@given(SEEDS)
def test_default_weights_are_the_target_policy_distribution(seed: int) -> None:
    raw, V, lam, _, b = setting(seed, "per-decision", False)
    mdp = raw.mdp()
    d = mdp.under(raw.pi).error_weights()
    assert mdp.under(raw.pi, b).target_error(V, lam) == pytest.approx(dense_J(raw, V, lam, b, "per-decision", d / 2))
    everywhere = np.where(raw.terminal, 3.0, d)  # what is said of a terminal state is not used
    assert mdp.under(raw.pi, b).target_error(V, lam, weights=everywhere) == mdp.under(raw.pi, b).target_error(V, lam)
    assert mdp.under(raw.pi).value_error(V) == pytest.approx(0.5 * d @ (V - raw.v(raw.pi)) ** 2)


@examples(30)
@given(SEEDS)
def test_horizon_one_is_the_one_step_partial(seed: int) -> None:
    """dJ_s/dλ(s') = P γ' {(L'-V')(r + γ'V' - v(s)) + γ'λ' [(L'-V')² + Var']}, r = E[r|s,s'], by loops."""
    raw, V, lam, weights, b = setting(seed, "per-decision", True)
    G = dense_moments(raw, V, lam, raw.pi, b, "per-decision")
    v, g = raw.v(raw.pi), raw.g()
    expected = np.zeros(raw.n)
    for s in np.flatnonzero(~raw.terminal):
        for t in np.flatnonzero(~raw.terminal):
            joint = raw.pi[s] * raw.P[s, :, t]
            if joint.sum() == 0:
                continue
            r = joint @ raw.R[s, :, t] / joint.sum()
            gap = G.mean[t] - V[t]
            braces = gap * (r + g[t] * V[t] - v[s]) + g[t] * lam[t] * (gap**2 + G.variance[t])
            expected[t] += weights[s] * joint.sum() * g[t] * braces
    ours = raw.mdp().under(raw.pi).target_error_gradient(V, lam, horizon=1, weights=weights)
    np.testing.assert_allclose(ours, expected, atol=1e-9)


@examples(30)
@given(SEEDS, MODES, st.integers(1, 4), st.booleans())
def test_horizon_n_is_the_unrolled_recursion(seed: int, mode: tuple[Any, bool], n: int, half: bool) -> None:
    """J with E[G], E[G²] beyond n steps frozen, and λ varied in all of the first n levels."""
    correction, on_policy = mode
    raw, V, lam, weights, b = setting(seed, correction, on_policy)
    G = dense_moments(raw, V, lam, raw.pi, b, correction)
    v, g, Vt = raw.v(raw.pi), raw.g(), np.where(raw.terminal, 0.0, V)
    rho = np.divide(raw.pi, b, out=np.zeros_like(b), where=b > 0)[:, :, None]
    p = b[:, :, None] * raw.P
    scale = 0.5 if half else 1.0

    def unrolled(x: Array) -> float:
        m, m2 = G.mean, G.variance + G.mean**2
        c = rho * g * x
        known = rho * g * (1 - x) * Vt + ((1 - rho) * Vt[:, None, None] if correction == "control-variate" else 0.0)
        first = rho * raw.R + known
        second = rho**2 * raw.R2 + 2 * rho * raw.R * known + known**2
        for _ in range(n):
            m, m2 = (
                np.sum(p * (first + c * m), axis=(1, 2)),
                np.sum(p * (second + 2 * first * c * m + c**2 * m2), axis=(1, 2)),
            )
        return float(scale * weights @ (m2 - 2 * m * v + v**2))

    gradient = (
        raw.mdp()
        .under(raw.pi, b)
        .target_error_gradient(V, lam, horizon=n, correction=correction, weights=weights, half=half)
    )
    J = unrolled(lam)
    np.testing.assert_allclose(gradient, differences(unrolled, lam), atol=1e-6 * (1 + J), rtol=1e-6)


@examples(15)
@given(SEEDS, MODES)
def test_long_horizon_is_the_full_gradient(seed: int, mode: tuple[Any, bool]) -> None:
    correction, on_policy = mode
    raw, V, lam, weights, b = setting(seed, correction, on_policy)
    options: dict[str, Any] = {"correction": correction, "weights": weights}
    full = raw.mdp().under(raw.pi, b).target_error_gradient(V, lam, **options)
    long = raw.mdp().under(raw.pi, b).target_error_gradient(V, lam, horizon=500, **options)
    np.testing.assert_allclose(long, full, atol=1e-9 * (1 + np.abs(full).max()))


@examples(25)
@given(SEEDS)
def test_thesis_forms_by_loops(seed: int) -> None:
    """Σ_s w(s) P_π(s'|s) γ'² [λ'((V'-L')² + Var') ∓ (V'-L')(V'-M')]: minus is derived, plus is printed."""
    raw, V, lam, weights, b = setting(seed, "per-decision", False)
    G = dense_moments(raw, V, lam, raw.pi, b, "per-decision")
    M, g = raw.v(raw.pi), raw.g()
    inflow = weights @ raw.P_of(raw.pi)
    for kind, sign in (("derived", -1), ("printed", 1)):
        gap = V - G.mean
        expected = inflow * g**2 * (lam * (gap**2 + G.variance) + sign * gap * (V - M))
        k: Any = kind
        ours = raw.mdp().under(raw.pi, b).target_error_gradient(V, lam, kind=k, weights=weights)
        np.testing.assert_allclose(ours[:-1], expected[:-1], atol=1e-9)
        doubled = (
            raw.mdp().under(raw.pi, b).target_error_gradient(V, lam, kind=k, horizon=1, weights=weights, half=False)
        )
        np.testing.assert_allclose(doubled[:-1], 2 * expected[:-1], atol=1e-9)
        assert ours[-1] == 0


@examples(25)
@given(SEEDS)
def test_derived_is_exact_where_successors_are_certain(seed: int) -> None:
    """One action, one successor, random rewards only: E[G|s,s'] = v(s)."""
    rng = np.random.default_rng(seed)
    n = 5
    P = np.eye(n, k=1)
    R = rng.normal(size=n)
    mdp = td.FiniteMDP(P, R, R**2 + rng.random(n), discount=0.5 + 0.5 * rng.random(n), terminal=[n - 1], start=0)
    V, lam = rng.normal(size=n), 0.1 + 0.8 * rng.random(n)
    exact = mdp.under().target_error_gradient(V, lam, horizon=1)
    np.testing.assert_allclose(mdp.under().target_error_gradient(V, lam, kind="derived"), exact, atol=1e-12)
    printed = mdp.under().target_error_gradient(V, lam, kind="printed")
    assert np.abs(printed - exact).max() > 1e-6
    # and where they are not, derived differs by -γ'(V'-L')(r + γ'M' - v(s))
    raw, V, lam, weights, b = setting(seed, "per-decision", True)
    G = dense_moments(raw, V, lam, raw.pi, b, "per-decision")
    v, g = raw.v(raw.pi), raw.g()
    cross = np.einsum("s,sa,sat,sat->t", weights, raw.pi, raw.P, raw.R + g * v - v[:, None, None])
    cross = np.where(raw.terminal, 0.0, -g * (V - G.mean) * cross)
    exact = raw.mdp().under(raw.pi).target_error_gradient(V, lam, horizon=1, weights=weights)
    derived = raw.mdp().under(raw.pi).target_error_gradient(V, lam, kind="derived", weights=weights)
    np.testing.assert_allclose(exact, derived + cross, atol=1e-9)


@examples(25)
@given(SEEDS)
def test_minimizers(seed: int) -> None:
    raw, V, lam, weights, b = setting(seed, "per-decision", False)
    mdp, on = raw.mdp(), ~raw.terminal
    v, G = raw.v(raw.pi), dense_moments(raw, V, lam, raw.pi, b, "per-decision")
    best = mdp.under(raw.pi, b).meta_minimizer(V, lam)
    bracket = best * ((V - G.mean) ** 2 + G.variance) - (V - G.mean) * (V - v)
    np.testing.assert_allclose(bracket[on], 0, atol=1e-9)
    full = dense_moments(raw, V, np.ones(raw.n), raw.pi, b, "per-decision")
    if full.radius < 0.95:
        greedy = mdp.under(raw.pi, b).greedy_minimizer(V)
        np.testing.assert_allclose(
            greedy[on], ((V - v) ** 2 / ((V - v) ** 2 + full.variance))[on], rtol=1e-6, atol=1e-9
        )
        np.testing.assert_array_equal(greedy, mdp.under(raw.pi, b).meta_minimizer(V, 1.0))
    assert (
        mdp.under(raw.pi, b).target_error_gradient(V, lam, kind="derived", weights=weights)[raw.terminal] == 0
    ).all()


def test_minimizer_of_nothing_to_gain_is_zero() -> None:
    mdp = td.FiniteMDP(np.eye(3, k=1), [1.0, 2.0, 0.0], terminal=[2])
    assert mdp.under().meta_minimizer(mdp.v(), 0.5).tolist() == [0, 0, 0]
    assert mdp.under().greedy_minimizer([5.0, 5.0, 0.0]).tolist() == [1, 1, 0]  # certain returns: trust them


def projected(lam: Array, gradient: Array) -> Array:
    """How far a unit step down the gradient, clipped to [0, 1], moves λ."""
    return np.abs(np.clip(lam - gradient, 0, 1) - lam)


@examples(12)
@given(SEEDS, MODES)
def test_best_lambda_against_random_search_and_its_own_conditions(seed: int, mode: tuple[Any, bool]) -> None:
    correction, on_policy = mode
    raw, V, _, weights, b = setting(seed, correction, on_policy, n=4)
    rng = np.random.default_rng(seed)
    mdp = raw.mdp()
    options: dict[str, Any] = {"correction": correction, "weights": weights}
    best = mdp.under(raw.pi, b).best_lambda(V, **options)
    assert ((best.lam >= 0) & (best.lam <= 1)).all()
    assert best.target_error == pytest.approx(mdp.under(raw.pi, b).target_error(V, best.lam, **options))
    gradient = mdp.under(raw.pi, b).target_error_gradient(V, best.lam, **options)
    assert projected(best.lam, gradient).max() < 1e-5 * (1 + best.target_error)
    # 2000 random vectors, corners included, by dense batched solves
    tries = rng.random((2000, 4))
    tries[1000:] = np.round(tries[1000:])
    g, Vt, n = raw.g(), np.where(raw.terminal, 0.0, V), raw.n
    rho = np.divide(raw.pi, b, out=np.zeros_like(b), where=b > 0)[:, :, None]
    p, x = b[:, :, None] * raw.P, tries[:, None, None, :]
    c = rho * g * x
    known = rho * g * (1 - x) * Vt + ((1 - rho) * Vt[:, None, None] if correction == "control-variate" else 0.0)
    first, second = rho * raw.R + known, rho**2 * raw.R2 + 2 * rho * raw.R * known + known**2
    m = np.linalg.solve(np.eye(n) - (p * c).sum(axis=2), (p * first).sum(axis=(2, 3))[..., None])[..., 0]
    C2 = (p * c**2).sum(axis=2)
    source = (p * (second + 2 * first * c * m[:, None, None, :])).sum(axis=(2, 3))
    finite = np.abs(np.linalg.eigvals(C2)).max(axis=1) < 1
    m2 = np.linalg.solve(np.eye(n) - C2[finite], source[finite][..., None])[..., 0]
    v = raw.v(raw.pi)
    J = 0.5 * (m2 - 2 * m[finite] * v + v**2) @ weights
    assert best.target_error <= J.min() + 1e-9 * (1 + J.min())


@examples(5)
@given(SEEDS)
def test_best_lambda_against_a_grid(seed: int) -> None:
    raw, V, _, weights, b = setting(seed, "per-decision", False, n=3)
    best = raw.mdp().under(raw.pi, b).best_lambda(V, weights=weights)
    grid = np.linspace(0, 1, 26)
    lowest = np.inf
    for one in grid:
        for two in grid:
            lam = np.array([one, two, 0.0])
            if dense_moments(raw, V, lam, raw.pi, b, "per-decision").radius < 1:
                lowest = min(lowest, dense_J(raw, V, lam, b, "per-decision", weights / 2))
    assert best.target_error <= lowest + 1e-9


def test_best_lambda_on_the_walk() -> None:
    mdp, target, b = walk(), [0.35, 0.65], [0.4, 0.6]
    perfect = mdp.under(target, b).best_lambda(mdp.v(target))
    assert perfect.target_error <= mdp.under(target, b).target_error(mdp.v(target), 0.0)
    best = mdp.under(target, b).best_lambda(0.0)
    fixed = [mdp.under(target, b).target_error(0.0, x) for x in np.linspace(0, 1, 21)]
    assert best.target_error <= min(fixed)
    gradient = mdp.under(target, b).target_error_gradient(0.0, best.lam)
    assert projected(best.lam, gradient).max() < 1e-6


def test_best_lambda_of_an_error_that_is_already_zero() -> None:
    # the weighted state's one-step target is exact; what follows is a coin of ±100 000
    P = np.zeros((4, 4))
    P[0, 1], P[1, 2], P[1, 3] = 1.0, 0.5, 0.5
    mdp = td.FiniteMDP(P, [[0] * 4, [0, 0, 1e5, -1e5], [0] * 4, [0] * 4], terminal=[2, 3], start=0)
    best = mdp.under().best_lambda(0.0, weights=[1, 0, 0, 0])
    assert best.target_error == 0
    assert best.lam[1] == 0


def test_infinite_variance_of_states_that_do_not_matter() -> None:
    """State 3, which the target policy never reaches, has infinite variance: J and its gradient do not notice."""
    # 0 → 1 → end 2, each with a coin; 3 is a loop that π leaves with .1 and b with .5
    P = np.zeros((4, 2, 4))
    P[0, :, 1] = P[1, :, 2] = P[3, 0, 3] = P[3, 1, 2] = 1.0
    R = [[1.0, -1.0], [2.0, 0.0], [0, 0], [1.0, 1.0]]
    mdp = td.FiniteMDP(P, R, terminal=[2], start=0)
    alone = td.FiniteMDP(P[:3, :, :3], R[:3], terminal=[2], start=0)
    pi, b, V = [0.9, 0.1], [0.5, 0.5], np.array([1.0, 1.0, 0.0, 1.0])
    lam = [0.9, 0.9, 0.9, 1.0]
    assert np.isinf(mdp.under(pi, b).lambda_return(V, lam).variance).tolist() == [False, False, False, True]
    assert mdp.under(pi, b).target_error(V, lam) == pytest.approx(alone.under(pi, b).target_error(V[:3], 0.9))
    for horizon in (None, 1, 3):
        ours = mdp.under(pi, b).target_error_gradient(V, lam, horizon=horizon)
        np.testing.assert_allclose(
            ours, [*alone.under(pi, b).target_error_gradient(V[:3], 0.9, horizon=horizon), 0], atol=1e-12
        )
    with pytest.raises(ValueError, match="the λ-return from state 3 has infinite variance"):
        mdp.under(pi, b).target_error_gradient(V, lam, weights=1.0)
    best, expected = mdp.under(pi, b).best_lambda(V), alone.under(pi, b).best_lambda(V[:3])
    assert best.target_error == pytest.approx(expected.target_error, rel=1e-9)
