"""Each algorithm against something that is not itself, with γ, λ and ρ different at every step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tdlambda as td

Vector = NDArray[np.float64]


@dataclass
class Stream:
    """A random stream of T transitions over T + 1 states of its own, so that λ and x can differ at each step."""

    X: Vector
    reward: Vector
    gamma: Vector
    lam: Vector
    rho: Vector
    alpha: float

    def learner(self, build: Any, **options: Any) -> Any:
        return build(td.features.Table(self.X), options.pop("alpha", self.alpha), np.append(1.0, self.lam), **options)

    def play(self, learner: Any, steps: int | None = None, **flags: Any) -> list[Vector]:
        """The weights after each step."""
        seen = [learner.weights.copy()]
        for t in range(len(self.reward) if steps is None else steps):
            ended = {name: t == at for name, at in flags.items()}
            learner.update(t, self.reward[t], t + 1, gamma=self.gamma[t], rho=self.rho[t], **ended)
            seen.append(learner.weights.copy())
        return seen


@st.composite
def streams(draw: st.DrawFn, on_policy: bool = False, constant_lam: float | None = None) -> Stream:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps, size = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    X = rng.normal(size=(steps + 1, size))
    if draw(st.booleans()):
        X = (X > 0).astype(float)
    X[~X.any(axis=1), 0] = 1
    lam = rng.uniform(0, 1, steps) if constant_lam is None else np.full(steps, constant_lam)
    rho = np.ones(steps) if on_policy else rng.uniform(0, 2, steps) * (rng.random(steps) > 0.1)
    gamma = rng.uniform(0, 1, steps) * (rng.random(steps) > 0.1)
    return Stream(X, rng.normal(size=steps), gamma, lam, rho, draw(st.floats(0.01, 0.3)))


def interim_forward_view(s: Stream, w0: Vector) -> list[Vector]:
    """The online λ-return algorithm: at each time t, start again from w₀ with targets cut at t."""
    online = [w0]
    for t in range(1, len(s.reward) + 1):
        G = np.zeros(t)
        for k in reversed(range(t)):
            V = online[k] @ s.X[k + 1]
            beyond = s.lam[k] * s.rho[k + 1] * (G[k + 1] - V) if k + 1 < t else 0.0
            G[k] = s.reward[k] + s.gamma[k] * (V + beyond)
        w = w0
        for k in range(t):
            w = w + s.alpha * s.rho[k] * (G[k] - w @ s.X[k]) * s.X[k]
        online.append(w)
    return online


@given(streams())
def test_true_online_td_is_the_online_lambda_return_algorithm(s: Stream) -> None:
    w0 = np.linspace(-1, 1, s.X.shape[1])
    learner = s.learner(td.TrueOnlineTD, initial=w0)
    for ours, forward in zip(s.play(learner), interim_forward_view(s, w0), strict=True):
        np.testing.assert_allclose(ours, forward, atol=1e-10)


@given(streams(), st.integers(0, 3))
def test_true_online_td_again_in_a_second_episode(s: Stream, cut: int) -> None:
    """After a truncation the next step starts from scratch: no trace, w⁻ = w."""
    learner = s.learner(td.TrueOnlineTD)
    cut = min(cut, len(s.reward) - 1)
    w0 = s.play(learner, steps=cut + 1, truncated=cut)[-1]
    learner_again = s.learner(td.TrueOnlineTD, initial=w0)
    np.testing.assert_allclose(s.play(learner), s.play(learner_again), atol=1e-12)


@given(streams())
def test_accumulating_td_is_its_forward_view_when_weights_are_held(s: Stream) -> None:
    """Weights held: many tiny steps. Σ α ρ_k (G_k - V_k) x_k with V and G from w₀; the difference is of order α²."""
    w0 = np.linspace(1, -1, s.X.shape[1])
    alpha = 1e-9
    learner = s.learner(td.TD, alpha=alpha, initial=w0)
    moved = (s.play(learner)[-1] - w0) / alpha
    T, G, forward = len(s.reward), 0.0, np.zeros_like(w0)
    for k in reversed(range(T)):
        V = w0 @ s.X[k + 1]
        beyond = s.lam[k] * s.rho[k + 1] * (G - V) if k + 1 < T else 0.0
        G = s.reward[k] + s.gamma[k] * (V + beyond)
        forward += s.rho[k] * (G - w0 @ s.X[k]) * s.X[k]
    np.testing.assert_allclose(moved, forward, atol=2e-6, rtol=2e-6)


@given(streams())
def test_dutch_trace_has_the_direction_of_true_online_td(s: Stream) -> None:
    """Van Seijen's e carries α: the Dutch trace of TD(λ) is e/α, whatever the weights do."""
    dutch, true_online = s.learner(td.TD, traces="dutch"), s.learner(td.TrueOnlineTD)
    for t in range(len(s.reward)):
        for learner in (dutch, true_online):
            learner.update(t, s.reward[t], t + 1, gamma=s.gamma[t], rho=s.rho[t])
        np.testing.assert_allclose(s.alpha * dutch.trace, true_online.trace, atol=1e-12)


@given(streams(constant_lam=0.0))
def test_lambda_zero_is_td_zero(s: Stream) -> None:
    """All of them become w += α ρ δ x, but for the gradient correction of GTD, which needs h ≠ 0."""
    w = np.zeros(s.X.shape[1])
    expected = [w]
    for t in range(len(s.reward)):
        delta = s.reward[t] + s.gamma[t] * w @ s.X[t + 1] - w @ s.X[t]
        w = w + s.alpha * s.rho[t] * delta * s.X[t]
        expected.append(w)
    for trace in ("accumulating", "replacing", "dutch"):
        np.testing.assert_allclose(s.play(s.learner(td.TD, traces=trace)), expected, atol=1e-12)
    np.testing.assert_allclose(s.play(s.learner(td.TrueOnlineTD)), expected, atol=1e-12)


@given(streams(on_policy=True))
def test_true_online_gtd_is_true_online_td_without_its_second_weights(s: Stream) -> None:
    almost_none = s.learner(td.TrueOnlineGTD, beta=1e-200)
    np.testing.assert_allclose(s.play(almost_none), s.play(s.learner(td.TrueOnlineTD)), atol=1e-12)


@given(streams())
def test_true_online_gtd_with_h_zero_is_off_policy_true_online_td(s: Stream) -> None:
    np.testing.assert_allclose(
        s.play(s.learner(td.TrueOnlineGTD, beta=1e-200)), s.play(s.learner(td.TrueOnlineTD)), atol=1e-12
    )


def dense_gtd(s: Stream, beta: float, true_online: bool) -> list[Vector]:
    """Both gradient methods in plain NumPy, straight from the papers, on dense vectors."""
    size = s.X.shape[1]
    w, h, e, e_grad, e_h, w_old = (np.zeros(size) for _ in range(6))
    gamma = lam = 0.0
    rho_prev, seen = 1.0, [w]
    for t in range(len(s.reward)):
        x, y, r, g, lam_next, rho = s.X[t], s.X[t + 1], s.reward[t], s.gamma[t], s.lam[t], s.rho[t]
        delta = r + g * w @ y - w @ x
        if true_online:
            e = rho * (gamma * lam * e + s.alpha * (1 - rho * gamma * lam * x @ e) * x)
            e_grad = rho * (gamma * lam * e_grad + x)
            e_h = rho_prev * gamma * lam * e_h + beta * (1 - rho_prev * gamma * lam * x @ e_h) * x
            correction = s.alpha * g * (1 - lam_next) * (h @ e_grad) * y
            w_new = w + delta * e + (w @ x - w_old @ x) * (e - s.alpha * rho * x) - correction
            h = h + rho * delta * e_h - beta * (h @ x) * x
        else:
            e = rho * (gamma * lam * e + x)
            w_new = w + s.alpha * (delta * e - g * (1 - lam_next) * (e @ h) * y)
            h = h + beta * (delta * e - (h @ x) * x)
        w_old, w = w, w_new
        gamma, lam, rho_prev = g, lam_next, rho
        seen.append(w)
    return seen


@given(streams(), st.floats(0.001, 0.3))
def test_gradient_methods_are_the_papers_equations(s: Stream, beta: float) -> None:
    for build, true_online in ((td.GTD, False), (td.TrueOnlineGTD, True)):
        np.testing.assert_allclose(
            s.play(s.learner(build, beta=beta)), dense_gtd(s, beta, true_online), atol=1e-9, rtol=1e-9
        )


@pytest.mark.costly
@settings(max_examples=settings().max_examples // 12)  # six learners, twice
@given(streams())
def test_many_features_give_what_few_do(s: Stream) -> None:
    """The list of live traces (more than 128 features) against the dense pass, tolerance 0."""
    wide = np.zeros((len(s.X), 130))
    wide[:, 17 : 17 + s.X.shape[1]] = s.X
    for build in (td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD, td.DirectVTD, td.VTD):
        sparse = Stream(wide, s.reward, s.gamma, s.lam, s.rho, s.alpha)
        few = s.play(s.learner(build))
        many = sparse.play(sparse.learner(build, trace_tolerance=0.0))
        np.testing.assert_allclose([w[17 : 17 + s.X.shape[1]] for w in many], few, atol=1e-11, rtol=1e-9)
        assert not np.delete(many[-1], np.arange(17, 17 + s.X.shape[1])).any()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_dropping_small_traces_costs_what_is_promised(tolerance: float) -> None:
    """|Δw| ≤ tolerance · α · Σ over drops of Σ_k |δ| (γλ)^k; the drops are at most one for each feature and step."""
    rng = np.random.default_rng(0)
    steps, size, alpha, keep = 3000, 2000, 0.05, 0.9 * 0.95
    index = rng.integers(0, size, steps + 1)
    rewards = rng.normal(size=steps)
    exact, pruned = (td.TrueOnlineTD(td.features.OneHot(size), alpha, 0.9, trace_tolerance=t) for t in (0.0, tolerance))
    worst = 0.0
    for t in range(steps):
        for learner in (exact, pruned):
            learner.update(int(index[t]), rewards[t], int(index[t + 1]), gamma=0.95)
        worst = max(worst, abs(pruned.td_error), abs(exact.td_error))
    drops = steps / size + 5  # times a feature can be visited, and so dropped, with room to spare
    gap = np.abs(exact.weights - pruned.weights).max()
    assert 0 < gap <= drops * tolerance * alpha * worst / (1 - keep)
    assert (pruned.trace != 0).sum() < (exact.trace != 0).sum()


@pytest.mark.costly
def test_float32_follows_float64() -> None:
    task = td.make("FrozenLake-v0")
    steps = task.sampler(seed=3).take(2000)
    single, double = (td.TrueOnlineGTD(task.features, 0.01, 0.9, dtype=dtype) for dtype in ("float32", "float64"))
    for learner in (single, double):
        learner.update_many(steps)
    assert single.weights.dtype == np.float32
    np.testing.assert_allclose(single.weights, double.weights, atol=1e-5)


def dense_variance(s: Stream, direct: bool, corrected: bool, kappa: float) -> list[Vector]:
    """VTD and direct VTD in plain NumPy on dense vectors: three true online TD learners with their own rewards."""
    size = s.X.shape[1]
    weights = [np.zeros(size) for _ in range(3)]
    traces, old = [np.zeros(size) for _ in range(3)], [np.zeros(size) for _ in range(3)]
    gamma = lam = 0.0
    rho_prev, seen = 1.0, [weights[2]]
    for t in range(len(s.reward)):
        x, y, r, g, lam_next, rho = s.X[t], s.X[t + 1], s.reward[t], s.gamma[t], s.lam[t], s.rho[t]
        V_next, J, J_next = weights[0] @ y, weights[1] @ x, weights[1] @ y
        G = r + g * (1 - lam_next) * V_next
        delta = G + g * lam_next * J_next - J
        second = (delta**2) if direct else G**2 + 2 * g * lam_next * G * J_next
        problems = [
            (r, g, rho, gamma * lam),
            (G, g * lam_next, rho, gamma * lam * kappa),
            (second, (g * lam_next) ** 2, rho, (gamma * lam) ** 2 * kappa),
        ]
        if corrected:
            second = (rho * delta + (rho - 1) * J) ** 2 if direct else rho**2 * second
            problems[2] = (second, (rho * g * lam_next) ** 2, 1.0, (rho_prev * gamma * lam) ** 2 * kappa)
        for k, (reward, discount, ratio, decay) in enumerate(problems):
            w = weights[k]
            error = reward + discount * w @ y - w @ x
            traces[k] = ratio * (decay * traces[k] + s.alpha * (1 - ratio * decay * x @ traces[k]) * x)
            change = error * traces[k] + (w @ x - old[k] @ x) * (traces[k] - s.alpha * ratio * x)
            old[k], weights[k] = w, w + change
        gamma, lam, rho_prev = g, lam_next, rho
        seen.append(weights[2])
    return seen


@pytest.mark.costly
@given(streams(), st.booleans(), st.booleans(), st.floats(0, 1))
def test_variance_learners_are_the_papers_equations(s: Stream, direct: bool, corrected: bool, kappa: float) -> None:
    build = td.DirectVTD if direct else td.VTD
    ours = s.play(s.learner(build, of="corrected" if corrected else "target", trace_lam=kappa, on_divergence="flag"))
    np.testing.assert_allclose(ours, dense_variance(s, direct, corrected, kappa), atol=1e-9, rtol=1e-7)
