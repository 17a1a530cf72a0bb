"""Golden weights of step-size methods on one deterministic stream: from the papers' equations in plain NumPy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda import steps

T, END = 12, 5
X = np.cos(1 + 1.3 * np.arange(T + 1)[:, None] + 2.1 * np.arange(3))
R = np.sin(0.7 * np.arange(1, T + 1))
time = np.arange(T + 1)
VARYING: dict[str, Any] = {"gamma": 0.6 + 0.3 * np.cos(time), "lam": 0.5 + 0.4 * np.sin(2 * time)}
VARYING["rho"] = 1 + 0.9 * np.sin(1.7 * time)
CONSTANT: dict[str, Any] = {"gamma": np.full(T + 1, 0.9), "lam": np.full(T + 1, 0.8), "rho": np.ones(T + 1)}


def learned(kind: Any, how: dict[str, Any], alpha: Any, **given: Any) -> Any:
    """The weights after the stream, whose last step of the first episode terminates."""
    v = kind(td.features.Table(X), alpha=alpha, lam=how["lam"], initial=[0.1, 0.2, 0.3], **given)
    for t in range(T):
        v.update(t, R[t], t + 1, how["gamma"][t + 1], how["rho"][t], terminated=t == END)
    return v.weights


GOLDEN: dict[str, Any] = {
    "implicit": (td.TD, steps.Implicit(0.1), VARYING, (0.108244154, 0.158511715, 0.333646245)),
    "TIDBD semi": (td.TD, steps.TIDBD(0.1, 0.1, "semi"), CONSTANT, (0.222798869, 0.065037035, 0.314907872)),
    "TIDBD": (td.TD, steps.TIDBD(0.1, 0.1), CONSTANT, (0.225628597, 0.064790260, 0.314371143)),
    "Autostep": (td.TD, steps.Autostep(0.1, 0.1, 100.0), CONSTANT, (0.222751133, 0.065613250, 0.331083011)),
    "ObGD": (td.TD, steps.ObGD(1.0, 2.0), CONSTANT, (0.364051477, -0.076458239, 0.315086253)),
    "Intentional": (td.TD, steps.Intentional(0.5), CONSTANT, (0.412043298, -0.163333998, 0.354812209)),
    "Swift": (td.TrueOnlineTD, steps.Swift(0.1, 0.12, 0.05, 0.9), CONSTANT, (0.190956894, 0.080156750, 0.325635832)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "Swift" else [pytest.mark.costly]) for name in GOLDEN]
)
def test_golden_weights_of_step_sizes(name: str) -> None:
    kind, alpha, how, weights = GOLDEN[name]
    assert learned(kind, how, alpha) == pytest.approx(weights, abs=6e-10), name


def stream(kind: Any, alpha: Any, seed: int = 0, scale: float = 1.0, steps: int = 300, **given: Any) -> Any:
    """A learner after a stream with γ, λ and ρ other at every step (ρ = 1 if not `off`)."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(20, 5)) / 3
    v = kind(td.features.Table(table), alpha=alpha, lam=rng.random(20), on_divergence="flag", **given)
    for _ in range(steps):
        (s, after), reward, gamma, rho, end = rng.integers(20, size=2), rng.normal(), rng.random(), *rng.random(2)
        v.update(int(s), scale * reward, int(after), gamma, 2 * rho, terminated=end < 0.05)
    return v


class Plain:
    """TD(λ) with step sizes that adapt, dense and line by line as in the papers."""

    def __init__(self, alpha: Any) -> None:
        self.how, self.alpha = alpha, np.full(5, alpha.alpha)
        self.w, self.e, self.H, self.nu, self.q = np.zeros((5, 5))
        self.s = self.n = self.g = self.decay = 0.0
        self.clipped = self.t = 0

    def update(self, x: Any, reward: float, after: Any, gamma: float, rho: float, lam: float) -> None:
        a, delta = self.how, reward + gamma * self.w @ after - self.w @ x
        self.e = e = rho * (self.decay * self.e + x)
        self.decay = gamma * lam
        if isinstance(a, steps.ObGD):
            self.alpha = np.full(5, a.alpha / max(1, a.alpha * a.kappa * max(abs(delta), 1) * np.abs(e).sum()))
        elif isinstance(a, steps.Intentional):
            self.g = gamma * lam if gamma > 0 else self.g
            self.s, self.n = self.g * self.s + (1 - self.g) * x @ x, self.g * self.n + 1 - self.g
            self.alpha = np.full(5, a.alpha / np.sqrt(e @ e * self.s / self.n))
        elif isinstance(a, steps.IntentionalRMS):
            self.t += 1
            self.q = a.beta * self.q + (1 - a.beta) * (delta * e) ** 2
            mean = self.q / (1 - a.beta**self.t)
            d = np.divide(1, np.sqrt(mean), out=np.zeros(5), where=mean > 0)
            self.g = gamma * lam if gamma > 0 else self.g
            self.s, self.n = self.g * self.s + (1 - self.g) * d @ x**2, self.g * self.n + 1 - self.g
            self.alpha = a.alpha / np.sqrt(d @ e**2 * self.s / self.n) * d
        elif isinstance(a, steps.TIDBD | steps.Autostep):
            y = x - gamma * after if getattr(a, "gradient", "") != "semi" else x
            push = delta * y * self.H
            if isinstance(a, steps.Autostep):
                self.nu = np.maximum(abs(push), self.nu + self.alpha * y * e / a.tau * (abs(push) - self.nu))
                push = np.divide(push, self.nu, out=np.zeros(5), where=self.nu > 0)
            self.alpha = self.alpha * np.exp(a.theta * push)
            if isinstance(a, steps.Autostep):
                self.alpha[y != 0] /= max(1, self.alpha @ (y * e))
            kept = 1 - self.alpha * y * e
            self.clipped += int((kept < 0).sum())
            self.H = self.H * np.maximum(0, kept) + self.alpha * delta * e
        self.w = self.w + self.alpha * delta * e


@pytest.mark.costly
@pytest.mark.parametrize(
    "alpha",
    [
        steps.ObGD(0.4, 3.0), steps.Intentional(0.2), steps.IntentionalRMS(0.2, 0.9),
        steps.TIDBD(0.2, 0.02), steps.TIDBD(0.2, 0.02, "semi"), steps.Autostep(0.2, 0.1, 5.0),
    ],
    ids=str,
)  # fmt: skip
def test_plain_numpy_with_gamma_lambda_rho_at_every_step(alpha: Any) -> None:
    rng, X, lam = np.random.default_rng(3), np.random.default_rng(4).normal(size=(20, 5)), np.linspace(0, 1, 20)
    X[rng.random((20, 5)) < 0.3] = 0.0
    v, plain = td.TD(td.features.Table(X), alpha, lam), Plain(alpha)
    for _ in range(60):
        (s, after), reward, gamma, rho = rng.integers(20, size=2), rng.normal(), rng.random(), 2 * rng.random()
        end = rng.random() < 0.05
        v.update(int(s), reward, int(after), gamma, rho, terminated=bool(end))
        plain.update(X[s], reward, X[after] * (not end), 0.0 if end else gamma, rho, lam[after])
        if end:
            plain.e, plain.decay = np.zeros(5), 0.0
        np.testing.assert_allclose(v.weights, plain.w, rtol=1e-9, atol=1e-12)
    assert plain.clipped > 0 or not isinstance(alpha, steps.TIDBD)


@pytest.mark.costly
@pytest.mark.parametrize("alpha", [steps.ObGD(0.4), steps.TIDBD(0.1, 0.05), steps.Autostep(0.1, 0.05, 9.0)], ids=str)
def test_a_feature_that_is_listed_twice_is_one_feature(alpha: Any) -> None:
    rng = np.random.default_rng(5)
    index, value, table = rng.integers(6, size=(10, 4)), rng.normal(size=(10, 4)), np.zeros((10, 6))
    np.add.at(table, (np.arange(10)[:, None], index), value)
    learners = [
        td.TD(x, alpha, 0.8)
        for x in (td.features.Custom(lambda s: (index[s], value[s]), size=6), td.features.Table(table))
    ]
    for _ in range(60):
        (s, after), reward, gamma, rho = rng.integers(10, size=2).tolist(), rng.normal(), rng.random(), rng.random()
        for v in learners:
            v.update(s, reward, after, gamma, rho)
    np.testing.assert_allclose(learners[0].weights, learners[1].weights, rtol=1e-9)


@pytest.mark.costly
def test_swift_keeps_step_sizes_within_their_bounds() -> None:
    alpha = steps.Swift(0.03, 0.04, theta=3.0, epsilon=1.0, eta_min=0.02)
    sizes = 0.03 * np.array([stream(td.TrueOnlineTD, alpha, seed).row("V_a") for seed in range(6)])
    assert sizes.min() == pytest.approx(0.02)
    assert sizes.max() == pytest.approx(0.04)


@pytest.mark.costly
@pytest.mark.parametrize("gradient", ["ordinary", "semi"])
def test_without_meta_steps_tidbd_is_td(gradient: str) -> None:
    ours = stream(td.TD, steps.TIDBD(0.1, 0.0, gradient)).weights
    np.testing.assert_allclose(ours, stream(td.TD, 0.1).weights, rtol=1e-12)


@pytest.mark.costly
def test_without_meta_steps_and_bound_swift_is_true_online_td() -> None:
    ours = stream(td.TrueOnlineTD, steps.Swift(0.1, eta=1e6, theta=0.0)).weights
    np.testing.assert_allclose(ours, stream(td.TrueOnlineTD, 0.1).weights, rtol=1e-12)


@pytest.mark.costly
def test_autostep_does_not_depend_on_the_unit_of_rewards_and_tidbd_does() -> None:
    alphas = [stream(td.TD, steps.Autostep(0.05, 0.05, 50.0), scale=k).row("V_a") for k in (1.0, 1000.0)]
    np.testing.assert_allclose(alphas[0], alphas[1], rtol=1e-9)
    assert np.ptp(alphas[0]) > 0.1
    alphas = [stream(td.TD, steps.TIDBD(0.05, 1e-3), scale=k).row("V_a") for k in (1.0, 100.0)]
    assert not np.allclose(alphas[0], alphas[1], rtol=1e-3)


@pytest.mark.costly
def test_autostep_bounds_the_step() -> None:
    rng, v = np.random.default_rng(1), td.TD(td.features.Dense(4), steps.Autostep(2.0, 0.5, 10.0), 0.0)
    for _ in range(200):
        x = rng.normal(size=4) * 10
        v.update(x, rng.normal(), x, gamma=0.0)
        assert 2.0 * v.row("V_a") @ x**2 <= 1 + 1e-9


@pytest.mark.costly
def test_implicit_steps_end_at_the_target_however_large_alpha_is() -> None:
    v = td.TD(td.features.Dense(2), steps.Implicit(1e12), 0.0)
    v.update([3.0, 4.0], 7.0, [0.0, 0.0], gamma=0.0)
    assert v.predict([3.0, 4.0]) == pytest.approx(7.0)


@pytest.mark.costly
def test_obgd_moves_weights_by_no_more_than_its_bound() -> None:
    rng, v, before = np.random.default_rng(2), td.TD(td.features.Dense(4), steps.ObGD(1.0, 3.0), 0.9), np.zeros(4)
    for _ in range(300):
        x, after = rng.normal(size=(2, 4)) * 3
        v.update(x, 5 * rng.normal(), after, gamma=0.9)
        assert np.abs(v.weights - before).sum() <= min(abs(v.td_error), 1) / 3 + 1e-12
        before = v.weights.copy()


@pytest.mark.parametrize(
    ("alpha", "weights", "sizes"),
    [
        pytest.param(
            steps.Swift(0.01, 0.5, 0.001, 0.99, 1e-300),
            (1.793133, 0.725524, 0.964553, 1.055025, 0.831809, 1.060160),
            (0.023786, 0.021695, 0.011856, 0.011980, 0.020087, 0.011750),
            marks=pytest.mark.costly,
        ),
        (
            steps.Swift(0.1, 0.1, 0.01, 0.9, 1e-300),
            (1.913546, 0.917595, 0.930938, 0.972972, 0.919788, 1.063885),
            (0.014088, 0.017578, 0.043312, 0.005376, 0.035152, 0.008084),
        ),
    ],
    ids=["bound not met", "bound met"],
)
def test_swift_agrees_with_its_equations_over_two_thousand_steps(alpha: Any, weights: Any, sizes: Any) -> None:
    """The equations agree with the authors' C++ to float32."""
    z, x, reward, last = 12345, np.zeros((2001, 6)), np.zeros(2001), 2147483647
    for t in range(2001):
        for i in range(6):
            z = z * 16807 % last
            x[t, i] = z < 0.4 * last
        z = z * 16807 % last
        reward[t] = x[t - 1, 0] + z / last - 0.5 if t else 0.0
    v = td.TrueOnlineTD(td.features.Dense(6), alpha, 0.9)
    for t in range(2000):
        v.update(x[t], reward[t + 1], x[t + 1], 0.9)
    assert v.weights == pytest.approx(weights, abs=2e-6)
    assert alpha.alpha * v.row("V_a") == pytest.approx(sizes, abs=2e-6)


GTD: Any = td.GTD
EVERY: list[Any] = [
    (td.TD, steps.Implicit(0.1)), (td.TD, steps.Intentional(0.05)), (td.TD, steps.ObGD(0.5)),
    (td.TD, steps.TIDBD(0.05, 0.05, "semi")), (td.TD, steps.TIDBD(0.05, 0.05)),
    (td.TD, steps.Autostep(0.05, 0.05, 100.0)), (td.TrueOnlineTD, steps.Swift(0.05, 0.08, 0.05, 0.9)),
    (td.TD, steps.AdaGrad(0.05)), (td.TDRC, steps.AdaGrad(0.05)), (td.GTD2, steps.AdaGrad(0.05)),
    (td.TD, steps.IntentionalRMS(0.05)),
]  # fmt: skip


@pytest.mark.costly
def test_adagrad_is_its_equations() -> None:
    """With TDRC: second weights that decay, and x' in the gradient."""
    rng, X = np.random.default_rng(0), np.random.default_rng(1).normal(size=(8, 4))
    v = td.TDRC(td.features.Table(X), alpha=steps.AdaGrad(0.1), lam=0.6, beta=2.0)
    w, h, e, squares, decay = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros((2, 4)), 0.0
    for _ in range(60):
        (s, after), reward, gamma, rho = rng.integers(8, size=2), rng.normal(), rng.random(), 2 * rng.random()
        v.update(int(s), reward, int(after), gamma, rho)
        x, y = X[s], X[after]
        e, delta = rho * (decay * e + x), reward + gamma * w @ y - w @ x
        change = np.array([delta * e - gamma * (1 - 0.6) * (e @ h) * y, delta * e - (x @ h) * x - h])
        squares += change**2
        w, h = w + 0.1 * change[0] / np.sqrt(squares[0]), h + 0.2 * change[1] / np.sqrt(squares[1])
        decay = gamma * 0.6
    np.testing.assert_allclose(v.weights, w, rtol=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("some", [[2, 5, 8], pytest.param([0, 1, 3, 4, 6, 7, 9, 10], marks=pytest.mark.slow)])
def test_every_schedule_agrees_with_the_interpreter(some: list[int]) -> None:
    for kind, alpha in (EVERY[k] for k in some):
        scaled = isinstance(
            alpha, steps.Implicit | steps.Intentional | steps.IntentionalRMS | steps.AdaGrad
        )  # the step is not in proportion to ρ
        td.check_algorithm(kind, alpha=alpha, skip=["rho", "credit"] if scaled else [])


@pytest.mark.costly
def test_copies_and_files_go_on_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    v = td.TrueOnlineTD(td.features.OneHot(200), steps.Swift(0.02, 0.05), 0.9)
    columns: Any = (rng.integers(200, size=500), rng.normal(size=500), rng.integers(200, size=500), 0.9)
    v.update_many(*columns)
    v.save(tmp_path / "v.npz")
    copies: list[Any] = [td.load(tmp_path / "v.npz"), v.clone()]
    v.update_many(*columns)
    for copy in copies:
        assert copy.alpha == v.alpha
        copy.update_many(*columns)
        assert copy.weights.tobytes() == v.weights.tobytes()
        assert copy.row("V_a").tobytes() == v.row("V_a").tobytes()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GTD(td.features.OneHot(3), steps.Swift()), "alpha: Swift is defined for TrueOnlineTD, not for GTD"),
        (
            lambda: td.TD(td.features.OneHot(3), steps.TIDBD(), traces="dutch"),
            "TIDBD is defined for TD, not for DutchTD",
        ),
        (
            lambda: td.PGTD2(td.features.OneHot(3), steps.AdaGrad()),
            "AdaGrad needs an algorithm whose updates are linear in α",
        ),
        (lambda: td.DifferentialTD(td.features.OneHot(3), steps.AdaGrad()), "linear in α .* got DifferentialTD"),
        (
            lambda: td.TrueOnlineTD(td.features.OneHot(3), steps.AdaGrad()),
            "do not contain α, .* got TrueOnlineTD",
        ),
        (lambda: steps.Swift(0.2), "alpha must be from eta_min = 1e-10 to eta = 0.1; got 0.2"),
        (lambda: steps.TIDBD(gradient="full"), 'gradient must be "ordinary" or "semi"'),
        (lambda: steps.Intentional(1.5), r"alpha must be in \(0, 1\]; got 1.5"),
        (lambda: steps.IntentionalRMS(0.3, 1.0), "beta must be below 1; got 1"),
        (lambda: steps.Intentional(0), r"alpha must be in \(0, 1\]; got 0"),
        (lambda: steps.Swift(epsilon=0.0), r"epsilon must be in \(0, 1\]; got 0"),
        (lambda: steps.Autostep(tau=0.0), "tau must be positive"),
    ],
)
def test_what_is_not_defined_is_refused(make: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        make()


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "alpha"),
    [
        (td.TD, steps.TIDBD(0.5, 1e6)),
        (td.TD, steps.Autostep(0.5, 100.0, 1.0)),
        (td.TrueOnlineTD, steps.Swift(0.5, 1.0, 1e6)),
        (td.TD, steps.Implicit(1e300)),
        (td.TD, steps.Intentional(1.0)),
        (td.TD, steps.ObGD(1e300)),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_step_sizes_driven_to_their_limits_are_bounded_or_divergence_but_never_nan(kind: Any, alpha: Any) -> None:
    v = stream(kind, alpha, steps=2000)
    assert np.isfinite(v.weights).all() or v.diverged_at is not None
    assert not np.isnan(v.weights).any()
    assert not np.isnan(v.predict_many(range(20))).any()


@pytest.mark.costly
def test_how_they_print() -> None:
    assert repr(steps.Swift(0.02, theta=0.01)) == "Swift(alpha=0.02, theta=0.01)"
    assert steps.Swift() == steps.Swift(0.01)
    assert steps.Swift() != steps.Swift(0.02)
