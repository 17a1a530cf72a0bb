"""λ-greedy and META in plain NumPy, as described and as published, on true online TD(λ) or true online GTD(λ)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
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
class GradientEstimate(Estimate):
    """One true online GTD learner with β = α; where γ' is 0, its gradient correction takes `last` for it."""

    last: float = 0.0
    rho_before: float = 1.0
    g: Vector = field(init=False)
    e_h: Vector = field(init=False)
    h: Vector = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.g, self.e_h, self.h = np.zeros(self.size), np.zeros(self.size), np.zeros(self.size)

    def learn(
        self, x: Vector, y: Vector, alpha: float, reward: float, discount: float, rho: float, lam_next: float
    ) -> None:
        decay, delta = self.decay, reward + discount * self.w @ y - self.w @ x
        super().learn(x, y, alpha, reward, discount, rho, lam_next)
        self.g = rho * (decay * self.g + x)
        kept = self.rho_before * decay
        self.e_h = kept * self.e_h + alpha * (1 - kept * self.e_h @ x) * x
        reach = discount if discount > 0 else self.last
        self.w = self.w - alpha * reach * (1 - lam_next) * (self.h @ self.g) * y
        self.h = self.h + rho * delta * self.e_h - alpha * (self.h @ x) * x
        self.rho_before = rho

    def end(self) -> None:
        super().end()
        self.g, self.e_h = np.zeros(self.size), np.zeros(self.size)


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


@dataclass
class Form:
    """What the published numbers were made with, and is an error: one by one, or nothing of it."""

    printed: bool = False
    """META's gradient has the printed sign."""
    unit_trace: bool = False
    """The trace of the variance decays by ρ alone."""
    value_delta: bool = False
    """The variance is learned from V's own errors."""
    absolute_floor: bool = False
    """META's floor does not know the unit of rewards."""
    last: float | None = None
    """γ' on termination, where x' is then read too: of the gradient correction of V, and of META."""

    def estimates(self, names: str, size: int) -> list[Estimate]:
        """V and what is learned beside it."""
        if self.last is None:
            return [Estimate(size) for _ in names]
        return [GradientEstimate(size, last=self.last if name == "V" else 0.0) for name in names]


PUBLISHED = Form(printed=True, unit_trace=True, value_delta=True, absolute_floor=True)


def greedy_reference(s: Rows, rule: td.rules.Greedy, form: Form = Form()) -> list[float]:  # noqa: B008, it is not changed
    corrected, vtd, fast = rule.of == "corrected", rule.variance == "vtd", rule.ratio * s.alpha
    V, M, S = form.estimates("VMS", s.X.shape[1])
    lams = []
    for t in range(len(s.reward)):
        reads = form.last is not None or not s.end[t]
        x, y, r, g, rho = s.X[t], s.X[t + 1] * reads, s.reward[t], s.gamma[t] * (not s.end[t]), s.rho[t]
        m, m_next, second = M.w @ x, M.w @ y, S.w @ y
        variance = max(0.0, second - m_next**2 if vtd else second)
        bias = (V.w @ y - m_next) ** 2
        lam = bias / (bias + variance) if bias + variance > 0 and t >= rule.warm_up and reads else 1.0
        delta = r + g * m_next - m
        reward = r**2 + 2 * g * r * m_next if vtd else delta**2
        discount, weight = g**2, rho
        if corrected:
            reward = rho**2 * reward if vtd else (rho * delta + (rho - 1) * m) ** 2
            discount, weight = (rho * g) ** 2, 1.0
        square = (r + g * (V.w @ y) - V.w @ x) ** 2
        V.learn(x, y, s.alpha, r, g, rho, lam)
        M.learn(x, y, fast, r, g, rho, rule.trace_lam)
        if form.value_delta:
            reward = square
        if form.unit_trace:
            S.decay = 1.0
        S.learn(x, y, fast, reward, discount, weight, rule.trace_lam)
        if s.end[t]:
            for estimate in (V, M, S):
                estimate.end()
        lams.append(lam)
    return [*lams, *V.w, *M.w, *S.w]


@dataclass
class MetaForm:
    """The form of META: see `td.rules.Meta`."""

    gradient: str
    how: str
    in_range: bool
    horizon: int = 1
    trace: bool = False


def meta_reference(s: Rows, rule: td.rules.Meta, meta: MetaForm, form: Form = Form()) -> list[float]:  # noqa: B008
    V, M, L, S = form.estimates("VMLS", s.X.shape[1])
    w = np.zeros(s.X.shape[1])
    rho_acc, c, delta, most = 1.0, 0.0, 0.0, 0.0
    under_way: list[tuple[float, float]] = []  # (y₁, y₂) of each λ-return that counts
    lams, fresh, clip = [], True, np.inf if rule.rho_clip is None else rule.rho_clip
    for t in range(len(s.reward)):
        reads = form.last is not None or not s.end[t]
        x, r, rho, z = s.X[t], s.reward[t], s.rho[t], s.X[t + 1]
        y, g = z * reads, s.gamma[t] * (not s.end[t])
        v, m, l, variance = V.w @ y, M.w @ y, L.w @ y, S.w @ y  # noqa: E741
        m_here, l_here = M.w @ x, L.w @ x
        lam = float(np.clip(1 - w @ z, 0, 1))
        rho_acc = min((1.0 if fresh else rho_acc) * rho, clip)
        under_way = [] if fresh else [(c * a + 2 * delta * c * b, c**2 * b) for a, b in under_way]
        under_way.append((2 * (l_here - m_here), 1.0))
        under_way = under_way if meta.trace else under_way[-meta.horizon :]
        y1, y2 = np.sum(under_way, axis=0)
        most = max(most, abs(r))
        floor = rule.floor if form.absolute_floor else rule.floor * most**2
        if reads and t >= rule.warm_up_steps and variance > floor:
            reach = g if form.last is None or not s.end[t] else form.last
            slope = reach**2 * ((v - l) ** 2 + variance)
            if meta.trace or meta.horizon > 1:
                error = r + g * ((1 - lam) * v + lam * l) - l_here
                slope *= y2
                derivative = y1 / 2 * g * (l - v) + y2 * (error * g * (l - v) + g**2 * lam * variance)
            elif meta.gradient == "exact":
                derivative = g * ((l - v) * (r + g * v - m_here) + g * lam * ((l - v) ** 2 + variance))
            else:
                derivative = slope * lam + (1 if form.printed else -1) * reach**2 * (v - l) * (v - m)
            if meta.how == "gradient":
                w = w + rule.kappa * rho_acc * derivative * z
            elif slope > 0:
                best = np.clip(lam - derivative / slope, 0, 1)
                w = w - rule.kappa * (best - lam) * z / (z @ z)
            if meta.in_range:
                value = 1 - w @ z
                w = w + (value - np.clip(value, 0, 1)) * z / (z @ z)
            lam = float(np.clip(1 - w @ z, 0, 1))
        delta = r + g * ((1 - lam) * v + lam * l) - l_here
        c = g * lam
        corrected = rule.of == "corrected"
        v_here = V.w @ x
        error, base = (r + g * v - v_here, v_here) if form.value_delta else (delta, l_here)
        square = (rho * error + (rho - 1) * base) ** 2 if corrected else error**2
        fast = rule.ratio * s.alpha
        V.learn(x, y, s.alpha, r, g, rho, lam)
        M.learn(x, y, fast, r, g, rho, rule.trace_lam)
        L.learn(x, y, fast, r + g * (1 - lam) * v, c, rho, rule.trace_lam)
        if form.unit_trace:
            S.decay = 1.0
        S.learn(x, y, fast, square, (rho * c) ** 2 if corrected else c**2, 1.0 if corrected else rho, rule.trace_lam)
        fresh = bool(s.end[t])
        if fresh:
            for estimate in (V, M, L, S):
                estimate.end()
        lams.append(lam)
    return [*lams, *w, *V.w, *M.w, *L.w, *S.w]


def play(s: Rows, rule: Any, make: Callable[..., Any] = td.TrueOnlineTD) -> list[float]:
    """λ' of each step, then every weight."""
    v = make(td.features.Table(s.X), s.alpha, rule, on_divergence="flag")
    lams = []
    for t in range(len(s.reward)):
        v.update(t, s.reward[t], t + 1, gamma=s.gamma[t], rho=s.rho[t], terminated=bool(s.end[t]))
        lams.append(float(v.memory["last_lam"]))
    lam_weights = v.row("u") if isinstance(rule, td.rules.Meta) else []
    weights = [v.row(name) for name in v.model.rows if name.endswith("_w")]
    return [*lams, *lam_weights, *np.concatenate(weights)]
