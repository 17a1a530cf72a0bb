# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""λ-greedy and META against the same equations in plain NumPy, and the edges of their behaviour."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tdlambda as td

Vector = NDArray[np.float64]


@dataclass
class Estimate:
    """One true online TD learner in plain NumPy."""

    size: int
    w: Vector = field(init=False)
    e: Vector = field(init=False)
    old: Vector = field(init=False)
    decay: float = 0.0

    def __post_init__(self) -> None:
        self.w, self.e, self.old = np.zeros(self.size), np.zeros(self.size), np.zeros(self.size)

    def learn(
        self, x: Vector, y: Vector, alpha: float, reward: float, discount: float, rho: float, lam_next: float
    ) -> None:
        w = self.w
        delta = reward + discount * w @ y - w @ x
        self.e = rho * (self.decay * self.e + alpha * (1 - rho * self.decay * x @ self.e) * x)
        self.w = w + delta * self.e + (w @ x - self.old @ x) * (self.e - alpha * rho * x)
        self.old, self.decay = w, discount * lam_next

    def end(self) -> None:
        self.e, self.old = np.zeros(self.size), self.w


@dataclass
class Rows:
    """A random stream: features of T + 1 states of its own, rewards, γ, ρ, where episodes end, and step sizes."""

    X: Vector
    reward: Vector
    gamma: Vector
    rho: Vector
    end: NDArray[np.bool_]
    alpha: float


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps, size = int(rng.integers(10, 40)), draw(st.integers(1, 4))  # long enough for λ to move and traces to matter
    X = rng.normal(size=(steps + 1, size))
    rho = np.ones(steps) if draw(st.booleans()) else rng.uniform(0, 2, steps)
    return Rows(X, rng.normal(size=steps), rng.uniform(0, 1, steps), rho, rng.random(steps) < 0.1, 0.05)


def greedy_reference(s: Rows, rule: td.Greedy) -> list[float]:
    corrected, vtd, fast = rule.of == "corrected", rule.variance == "vtd", rule.ratio * s.alpha
    V, M, S = (Estimate(s.X.shape[1]) for _ in range(3))
    lams = []
    for t in range(len(s.reward)):
        x, y, r, g, rho = s.X[t], s.X[t + 1] * (not s.end[t]), s.reward[t], s.gamma[t] * (not s.end[t]), s.rho[t]
        m, m_next, second = M.w @ x, M.w @ y, S.w @ y
        variance = max(0.0, second - m_next**2 if vtd else second)
        bias = (V.w @ y - m_next) ** 2
        lam = bias / (bias + variance) if bias + variance > 0 and t >= rule.warm_up and not s.end[t] else 1.0
        delta = r + g * m_next - m
        reward = r**2 + 2 * g * r * m_next if vtd else delta**2
        discount, weight = g**2, rho
        if corrected:
            reward = rho**2 * reward if vtd else (rho * delta + (rho - 1) * m) ** 2
            discount, weight = (rho * g) ** 2, 1.0
        square = (r + g * (V.w @ y) - V.w @ x) ** 2
        V.learn(x, y, s.alpha, r, g, rho, lam)
        M.learn(x, y, fast, r, g, rho, rule.trace_lam)
        if rule.value_delta:
            reward = square
        if rule.unit_variance_trace:
            S.decay = 1.0
        S.learn(x, y, fast, reward, discount, weight, rule.trace_lam)
        if s.end[t]:
            for estimate in (V, M, S):
                estimate.end()
        lams.append(lam)
    return [*lams, *V.w, *M.w, *S.w]


def meta_reference(s: Rows, rule: td.Meta) -> list[float]:
    V, M, L, S = (Estimate(s.X.shape[1]) for _ in range(4))
    w = np.zeros(s.X.shape[1])
    rho_acc, c, delta = 1.0, 0.0, 0.0
    under_way: list[tuple[float, float]] = []  # (y₁, y₂) of each λ-return that counts
    lams, fresh, clip = [], True, np.inf if rule.rho_clip is None else rule.rho_clip
    for t in range(len(s.reward)):
        x, r, rho, z = s.X[t], s.reward[t], s.rho[t], s.X[t + 1]
        y, g = z * (not s.end[t]), s.gamma[t] * (not s.end[t])
        v, m, l, variance = V.w @ y, M.w @ y, L.w @ y, S.w @ y  # noqa: E741
        m_here, l_here = M.w @ x, L.w @ x
        lam = float(np.clip(1 - w @ z, 0, 1))
        rho_acc = min((1.0 if fresh else rho_acc) * rho, clip)
        under_way = [] if fresh else [(c * a + 2 * delta * c * b, c**2 * b) for a, b in under_way]
        under_way.append((2 * (l_here - m_here), 1.0))
        under_way = under_way if rule.trace else under_way[-rule.horizon :]
        y1, y2 = np.sum(under_way, axis=0)
        if not s.end[t] and t >= rule.warm_up_steps and variance > rule.floor:
            slope = g**2 * ((v - l) ** 2 + variance)
            if rule.trace or rule.horizon > 1:
                error = r + g * ((1 - lam) * v + lam * l) - l_here
                slope *= y2
                derivative = y1 / 2 * g * (l - v) + y2 * (error * g * (l - v) + g**2 * lam * variance)
            elif rule.gradient == "exact":
                derivative = g * ((l - v) * (r + g * v - m_here) + g * lam * ((l - v) ** 2 + variance))
            else:
                sign = -1 if rule.gradient == "derived" else 1
                derivative = slope * lam + sign * g**2 * (v - l) * (v - m)
            if rule.step == "gradient":
                w = w + rule.kappa * rho_acc * derivative * z
            elif slope > 0:
                best = np.clip(lam - derivative / slope, 0, 1)
                w = w - rule.kappa * (best - lam) * z / (z @ z)
            if rule.in_range:
                value = 1 - w @ z
                w = w + (value - np.clip(value, 0, 1)) * z / (z @ z)
            lam = float(np.clip(1 - w @ z, 0, 1))
        delta = r + g * ((1 - lam) * v + lam * l) - l_here
        c = g * lam
        corrected = rule.of == "corrected"
        v_here = V.w @ x
        error, base = (r + g * v - v_here, v_here) if rule.value_delta else (delta, l_here)
        square = (rho * error + (rho - 1) * base) ** 2 if corrected else error**2
        fast = rule.ratio * s.alpha
        V.learn(x, y, s.alpha, r, g, rho, lam)
        M.learn(x, y, fast, r, g, rho, rule.trace_lam)
        L.learn(x, y, fast, r + g * (1 - lam) * v, c, rho, rule.trace_lam)
        if rule.unit_variance_trace:
            S.decay = 1.0
        S.learn(x, y, fast, square, (rho * c) ** 2 if corrected else c**2, 1.0 if corrected else rho, rule.trace_lam)
        fresh = bool(s.end[t])
        if fresh:
            for estimate in (V, M, L, S):
                estimate.end()
        lams.append(lam)
    return [*lams, *w, *V.w, *M.w, *L.w, *S.w]


def play(s: Rows, rule: Any) -> list[float]:
    """λ' of each step, then every weight."""
    v = td.TrueOnlineTD(td.Table(s.X), s.alpha, rule, on_divergence="flag")
    lams = []
    for t in range(len(s.reward)):
        v.update(t, s.reward[t], t + 1, gamma=s.gamma[t], rho=s.rho[t], terminated=bool(s.end[t]))
        lams.append(float(v._M[td.memory.FIRST_BLOCK + td.memory.LAM_NEXT]))
    lam_weights = v._M[td.memory.LAMBDA :][: s.X.shape[1]] if isinstance(rule, td.Meta) else []
    return [*lams, *lam_weights, *v._F[0::2, : v.features.size].ravel()]


@given(rows(), st.booleans(), st.booleans(), st.floats(0, 1), st.integers(0, 5), st.booleans(), st.booleans())
def test_greedy_is_its_equations(
    s: Rows, corrected: bool, vtd: bool, trace_lam: float, warm_up: int, unit: bool, value_delta: bool
) -> None:
    rule = td.Greedy(
        "vtd" if vtd else "direct", 1.7, trace_lam, "corrected" if corrected else "target", warm_up,
        unit_variance_trace=unit, value_delta=value_delta and not vtd,
    )  # fmt: skip
    np.testing.assert_allclose(play(s, rule), greedy_reference(s, rule), atol=1e-8, rtol=1e-6)


@given(
    rows(),
    st.sampled_from(["exact", "derived", "printed"]),
    st.sampled_from(["newton", "gradient"]),
    st.sampled_from(["target", "corrected"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0.5, 2.0]),
    st.integers(0, 5),
    st.integers(1, 5),
    st.booleans(),
)
def test_meta_is_its_equations(
    s: Rows, gradient: Any, step: Any, of: Any, trace: bool, in_range: bool, unit: bool, clip: Any, warm_up: int,
    n: int, value_delta: bool,
) -> None:  # fmt: skip
    exact = gradient == "exact"
    rule = td.Meta(
        0.3, gradient, step, horizon=n if exact and not trace else 1, trace=trace and exact, ratio=1.5, trace_lam=0.6,
        of=of, floor=1e-6, rho_clip=clip, in_range=in_range, unit_variance_trace=unit, warm_up=warm_up,
        value_delta=value_delta,
    )  # fmt: skip
    np.testing.assert_allclose(play(s, rule), meta_reference(s, rule), atol=1e-8, rtol=1e-6)


LEARNERS = [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD]
RULES = [td.Counting(), td.Greedy(), td.Greedy("vtd"), td.Meta(), td.Meta.thesis(0.01), td.Meta.published(0.01)]
RULES += [td.Greedy.published()]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_any_learner_takes_any_rule(learner: Any, rule: Any) -> None:
    """One by one and many at once agree; λ starts at 1, stays in [0, 1] and moves; clones go on alike."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=3).take(4000)
    one, many = (learner(lake.features, 0.02, rule) for _ in range(2))
    assert one.lambda_at(0) == 1.0
    many.update_many(steps)
    for t in range(len(steps)):
        one.update(
            int(steps.obs[t]), float(steps.reward[t]), int(steps.next_obs[t]), float(steps.gamma[t]),
            float(steps.rho[t]), bool(steps.terminated[t]),
        )  # fmt: skip
    np.testing.assert_array_equal(one.weights, many.weights)
    lams = many.lambdas(range(16))
    np.testing.assert_array_equal(lams, [many.lambda_at(s) for s in range(16)])
    assert ((lams >= 0) & (lams <= 1)).all()
    assert (lams < 1).any()
    twin = many.clone()
    more = lake.sampler(seed=4).take(500)
    for v in (many, twin):
        v.update_many(more)
    np.testing.assert_array_equal(many.weights, twin.weights)
    np.testing.assert_array_equal(many.lambdas(range(16)), twin.lambdas(range(16)))


def test_lambda_over_states_while_values_are_over_tiles() -> None:
    """ "np": λ(s) one-hot, V over the 12 tilings; where both are one-hot the two ways are the same."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=5).take(20_000)
    free = td.TrueOnlineGTD(lake.features, 0.01, td.Meta(features=td.OneHot(16)))
    free.update_many(steps)
    assert len(set(free.lambdas(range(16)).round(6))) > 8
    ring = td.make("RingWorld-v0")
    steps = ring.sampler(seed=5).take(5000)
    own, other = (td.TrueOnlineTD(ring.features, 0.01, td.Meta(features=f)) for f in (None, td.OneHot(11)))
    for v in (own, other):
        v.update_many(steps)
    np.testing.assert_array_equal(own.weights, other.weights)
    np.testing.assert_array_equal(own.lambdas(range(11)), other.lambdas(range(11)))


def test_warm_up_and_its_fraction() -> None:
    ring = td.make("RingWorld-v0")
    sampler = ring.sampler(seed=1)
    v = td.TrueOnlineTD(ring.features, 0.05, td.Meta(kappa=0.1, warm_up=0.1, length=10_000))
    v.update_many(sampler.take(1000))
    assert (v.lambdas(range(11)) == 1).all()
    v.update_many(sampler.take(1000))
    assert (v.lambdas(range(1, 10)) < 1).any()


def test_on_policy_rho_acc_is_one_and_off_policy_it_can_be_bounded() -> None:
    for preset, clip in (("0.35/0.35", None), ("0.4/0.35", 1.5)):
        ring = td.make("RingWorld-v0", preset)
        v = td.TrueOnlineTD(ring.features, 0.05, td.Meta(rho_clip=clip))
        steps = ring.sampler(seed=1).take(200)
        for t in range(200):
            v.update(int(steps.obs[t]), 0.0, int(steps.next_obs[t]), 0.9, float(steps.rho[t]))
            acc = v._M[td.memory.RHO_ACC]
            assert acc == 1 if clip is None else acc <= 1.5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: td.Meta(kappa=0), "kappa"),
        (lambda: td.Meta(gradient="wrong"), "gradient"),
        (lambda: td.Meta(step="wrong"), "step"),
        (lambda: td.Meta(gradient="printed", trace=True), "trace"),
        (lambda: td.Meta(gradient="derived", horizon=2), "horizon"),
        (lambda: td.Meta(horizon=2, trace=True), "horizon"),
        (lambda: td.Meta(horizon=0), "horizon"),
        (lambda: td.Meta(floor=-1), "floor"),
        (lambda: td.Meta(rho_clip=0), "rho_clip"),
        (lambda: td.Meta(features=3), "features"),
        (lambda: td.Meta(ratio=0), "ratio"),
        (lambda: td.Meta(trace_lam=2), "trace_lam"),
        (lambda: td.Meta(of="x"), "of must be"),
        (lambda: td.Meta(warm_up=0.1), "warm_up"),
        (lambda: td.Meta(warm_up=5, length=100), "warm_up"),
        (lambda: td.Greedy(variance="x"), "variance"),
        (lambda: td.Greedy(variance="vtd", value_delta=True), "value_delta"),
        (lambda: td.Counting(patience=0), "patience"),
        (lambda: td.DirectVTD(td.OneHot(2), 0.1, td.Meta()), "lam: DirectVTD needs a λ that stays"),
    ],
)
def test_what_cannot_be_is_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build()
