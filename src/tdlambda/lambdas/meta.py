"""META: λ(x) by gradient descent on the overall target error (thesis chapter 4).

With V, L = E[G^λ], M = E[G] and S = Var[G^λ] at x', estimated by learners that run beside the value learner, the
partial derivative of ½ E[(G^λ_t - v(s_t))²] with respect to λ' = λ(x') is, what lies further ahead held fixed,

    exact    γ' { (L-V) (r' + γ'V - M(x)) + γ'λ' [(L-V)² + S] }        M(x) stands for v(s_t), the reward for its mean
    derived  γ'² [ λ' ((V-L)² + S) - (V-L) (V-M) ]                     the thesis' objective: target against r' + γ'M
    printed  γ'² [ λ' ((V-L)² + S) + (V-L) (V-M) ]                     as the thesis prints it: one sign is wrong

λ(x) = 1 - w·x, clipped to [0, 1], with w = 0 at the start. One step is, with ρ_acc = ρ₀⋯ρ_t since the episode began,

    gradient  λ' -= κ ρ_acc · derivative
    newton    λ' += κ (λ* - λ'),  λ* the zero of the derivative, clipped to [0, 1]; κ has no unit

The exact derivative can also reach further: λ' matters to the λ-returns of all states before it. Cut the adjoint series
of `FiniteMDP.target_error_gradient` to one path, and what they gain from the mean and the variance at x_t are two
numbers that are carried along like a trace,

    y₂ = 1 + c² y₂,   y₁ = 2 (L(x) - M(x)) + c y₁ + 2 δ c y₂,    c = γλ of x_t, δ of the step into x_t
    derivative = ½ y₁ γ'(L-V) + y₂ [ δ γ'(L-V) + γ'²λ' S ]

`trace=True` carries them through the episode (the full gradient, in expectation). `horizon=n` counts only the λ-returns
of the last n states, each of which adjusts the λ of the n states that follow it; `horizon=1` is the one-step form.
"""

from typing import Any, Literal, Self

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, choice, flag, integer, not_negative, positive
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.lambdas.adaptive import WithEstimates
from tdlambda.memory import (
    ABSOLUTE,
    C_PREV,
    CORRECTED,
    DECAY,
    DELTA_PREV,
    FIRST_BLOCK,
    FLOOR,
    GRADIENT,
    HORIZON,
    IN_RANGE,
    KAPPA,
    LAMBDA,
    LAST_DISCOUNT,
    MEAN_WORTH,
    MOST_REWARD,
    NEWTON,
    RHO_ACC,
    RHO_CLIP,
    RING,
    SLOTS,
    STEPS,
    TRACE_LAM,
    TRACE_ROWS,
    UNDER_WAY,
    UNIT_TRACE,
    VALUE_DELTA,
    VARIANCE_WORTH,
    WARM_UP,
    WEIGHT_ROWS,
    Index,
    Value,
    assign,
    dot,
)  # fmt: skip
from tdlambda.moments import direct_square, of_mean, of_variance

EXACT, DERIVED, PRINTED = range(3)


@inlined
def quadratic(
    kind: int, v: float, mean_lam: float, mean: float, variance: float, mean_here: float,
    reward: float, gamma_next: float,
) -> tuple[float, float]:  # fmt: skip
    """The derivative as slope · λ' - offset: the two numbers."""
    gap = v - mean_lam
    slope = gamma_next**2 * (gap**2 + variance)
    if kind == EXACT:
        return slope, gamma_next * gap * (reward + gamma_next * v - mean_here)
    sign = 1.0 if kind == DERIVED else -1.0
    return slope, sign * gamma_next**2 * gap * (v - mean)


@inlined
def change(
    kind: int, newton: bool, far: bool, v: float, mean_lam: float, mean: float, variance: float,
    mean_here: float, mean_lam_here: float, lam: float, worth: float, spread: float,
    kappa: float, rho_acc: float, per_norm: float, reward: float, gamma_next: float,
) -> float:  # fmt: skip
    """What moves w: w -= change · z. `far`: earlier λ-returns count too; `per_norm` is 1/|z|²."""
    slope, offset = quadratic(kind, v, mean_lam, mean, variance, mean_here, reward, gamma_next)
    derivative = slope * lam - offset
    if far:
        gain = gamma_next * (mean_lam - v)
        delta = reward + gamma_next * (v + lam * (mean_lam - v)) - mean_lam_here
        derivative = worth * gain / 2 + spread * (delta * gain + gamma_next**2 * lam * variance)
    if newton:
        slope *= spread  # 1 in the one-step form
        best = lam if slope <= 0 else min(max(lam - derivative / slope, 0.0), 1.0)
        step = kappa * (best - lam) * per_norm
    else:
        step = -kappa * rho_acc * derivative
    return step


@inlined
def least_variance(floor: float, absolute: int, most_reward: float) -> float:
    """The variance up to which λ is left as it is."""
    return floor if absolute else floor * most_reward**2


@inlined
def clip(lam: float) -> float:
    """λ into [0, 1]."""
    return min(max(lam, 0.0), 1.0)


@inlined
def moved(value: float, step: float, norm: float, per_norm: float, in_range: bool) -> tuple[float, float]:
    """After w -= step z: λ' clipped, from value = 1 - w·z of before; and the change to take from w in units of z.

    That is `step` itself or, for a λ that stays in range, what brings 1 - w·z to the clipped λ'.
    """
    lam = clip(value + step * norm)
    return lam, (lam - value) * per_norm if in_range else step


@inlined
def carry(y1: float, y2: float, c: float, delta: float) -> tuple[float, float]:
    """(y₁, y₂) over the step into x_t, before its own λ-return is added."""
    return c * y1 + 2 * delta * c * y2, c**2 * y2


@inlined
def carried(M: Floats, I: Ints, fresh: bool, worth: float) -> tuple[float, float]:
    """(y₁, y₂) of the λ-returns that began before x_t, carried over the step into x_t: all, or the last n - 1."""
    c, delta = M[C_PREV], M[DELTA_PREV]
    if I[HORIZON] == 0:
        if fresh:
            return 0.0, 0.0
        return carry(M[MEAN_WORTH], M[VARIANCE_WORTH], c, delta)
    y1, y2, ring = 0.0, 0.0, I[RING]
    for k in range(I[HORIZON] - 1):
        a, b = ring + 2 * k, ring + 2 * k + 1
        if fresh:
            M[a], M[b] = 0.0, 0.0
        else:
            M[a], M[b] = carry(M[a], M[b], c, delta)
        y1 += M[a]
        y2 += M[b]
    oldest = ring + 2 * (I[STEPS] % (I[HORIZON] - 1))
    M[oldest], M[oldest + 1] = worth, 1.0
    return y1, y2


@inlined
def prepare(
    F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float,
    z: Index, zv: Value,
) -> float:  # fmt: skip
    """Move λ' (by estimates of before this step), then hand V, M, L and S their rewards and discounts."""
    rows, corrected, trace = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[CORRECTED], M[TRACE_LAM]
    n, fresh = len(x), not I[UNDER_WAY]
    v_next, mean_next = dot(F[0], y, yv, n_next), dot(F[rows], y, yv, n_next)
    mean_lam_next, variance = dot(F[2 * rows], y, yv, n_next), dot(F[3 * rows], y, yv, n_next)
    mean, mean_lam = dot(F[rows], x, xv, n), dot(F[2 * rows], x, xv, n)
    wz, norm = 0.0, 0.0
    for j in range(len(z)):
        wz += zv[j] * M[LAMBDA + z[j]]
        norm += zv[j] ** 2
    value = 1 - wz
    lam_next, per_norm = clip(value), 1 / norm if norm > 0 else 0.0
    M[RHO_ACC] = min((1.0 if fresh else M[RHO_ACC]) * rho, M[RHO_CLIP])
    # what the λ-returns under way would gain: the first terms, or all since the episode began
    worth, spread = 2 * (mean_lam - mean), 1.0
    if I[HORIZON] != 1:
        older_worth, older_spread = carried(M, I, fresh, worth)
        worth += older_worth
        spread += older_spread
    if n_next > 0 and I[STEPS] > I[WARM_UP] and variance > least_variance(M[FLOOR], I[ABSOLUTE], M[MOST_REWARD]):
        step = change(
            I[GRADIENT], I[NEWTON], I[HORIZON] != 1, v_next, mean_lam_next, mean_next, variance, mean, mean_lam,
            lam_next, worth, spread, M[KAPPA], M[RHO_ACC], per_norm, reward,
            gamma_next if gamma_next > 0.0 else M[LAST_DISCOUNT],
        )  # fmt: skip
        lam_next, step = moved(value, step, norm, per_norm, I[IN_RANGE])
        for j in range(len(z)):
            M[LAMBDA + z[j]] -= step * zv[j]
    ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
    M[MEAN_WORTH], M[VARIANCE_WORTH], M[C_PREV], M[DELTA_PREV] = (
        worth, spread, kept, ahead + kept * mean_lam_next - mean_lam,
    )  # fmt: skip
    square, discount, ratio = of_variance(ahead, kept, mean_lam, mean_lam_next, rho, corrected)
    if I[VALUE_DELTA]:  # V in place of E[G^λ]
        v = dot(F[0], x, xv, n)
        square = direct_square(reward + gamma_next * v_next - v, v, rho, corrected)
    assign(M, 0, reward, gamma_next, rho, lam_next)
    assign(M, 1, reward, gamma_next, rho, trace)
    assign(M, 2, ahead, kept, rho, trace)
    assign(M, 3, square, discount, ratio, trace)
    if I[UNIT_TRACE]:
        M[FIRST_BLOCK + 3 * SLOTS + DECAY] = 1.0
    return lam_next


class Meta(WithEstimates):
    """META: λ(x) that descends the overall target error, online.

    Parameters
    ----------
    kappa
        Step size of λ: without a unit for "newton", that of 1/value² for "gradient".
    gradient
        "exact", "derived" or "printed": see `lambdas.meta`.
    step
        "newton" (a share κ of the way to the minimiser) or "gradient" (the thesis' step, with ρ_acc).
    features
        What λ is a function of: the learner's own features (None), or another encoder, such as one-hot states.
    horizon
        How many states ahead of each state λ is adjusted for its sake (more than 1 needs the "exact" gradient).
    trace
        Carry the meta-gradient back through the whole episode: an unbounded horizon at the cost of two numbers.
    ratio, trace_lam, of, aux_alpha
        See `WithEstimates`.
    floor
        Leave λ where the estimated variance is not above this times the square of the largest reward so far.
    absolute_floor
        Leave λ where the estimated variance is not above `floor` itself, as the published numbers were made.
    rho_clip
        A bound on ρ_acc, or None.
    in_range
        Keep 1 - w·x itself in [0, 1] where it is moved; else only its value is clipped.
    unit_variance_trace
        Let the trace of the variance decay by ρ alone, as the published numbers were made.
    value_delta
        Learn the variance from V's own error, (r' + γ'V(x') - V(x))², as the published numbers were made; where V is
        not E[G^λ] it counts their difference as variance.
    warm_up, length
        See `Adaptive`; until then λ = 1.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.Meta(kappa=1e-2))
    >>> v.lambda_at(5)
    1.0
    >>> v.update_many(ring.sampler(seed=1).take(50_000))
    >>> bool(v.lambda_at(5) < 0.5)
    True
    """

    bundle = memory.META
    blocks = 4

    def __init__(
        self,
        kappa: float = 1e-3,
        gradient: Literal["exact", "derived", "printed"] = "exact",
        step: Literal["newton", "gradient"] = "newton",
        features: Encoder | None = None,
        horizon: int = 1,
        trace: bool = False,
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        of: Literal["target", "corrected"] = "target",
        floor: float = 1.5e-8,
        rho_clip: float | None = None,
        in_range: bool = True,
        unit_variance_trace: bool = False,
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
        value_delta: bool = False,
        absolute_floor: bool = False,
    ) -> None:
        super().__init__(ratio, trace_lam, of, warm_up, length, aux_alpha)
        choice(gradient, "gradient", "exact", "derived", "printed")
        choice(step, "step", "newton", "gradient")
        if features is not None and not isinstance(features, Encoder):
            raise TypeError(f"features must be an encoder or None; got {features!r}")
        trace = flag(trace, "trace")
        if integer(horizon, "horizon", 1) > 1 and trace:
            raise ValueError(f"horizon: a trace has no horizon; give one or the other, not {horizon} and trace=True")
        if (trace or horizon > 1) and gradient != "exact":
            name = "trace" if trace else "horizon"
            raise ValueError(f'{name}: only the "exact" gradient reaches further than one step, not "{gradient}"')
        self.kappa, self.gradient, self.step, self.features = positive(kappa, "kappa"), gradient, step, features
        self.horizon, self.trace = int(horizon), trace
        self.slots = 2 * (self.horizon - 1)  # two numbers for each λ-return that is followed
        self.floor = not_negative(floor, "floor")
        self.rho_clip = None if rho_clip is None else positive(rho_clip, "rho_clip")
        self.in_range = flag(in_range, "in_range")
        self.unit_variance_trace = flag(unit_variance_trace, "unit_variance_trace")
        self.value_delta = flag(value_delta, "value_delta")
        self.absolute_floor = flag(absolute_floor, "absolute_floor")

    @classmethod
    def thesis(cls, kappa: float, **options: Any) -> Self:
        """As the thesis describes it, with the right sign: gradient steps, ρ_acc, weights that are not clipped."""
        return cls(kappa, "derived", "gradient", in_range=False, **options)

    @classmethod
    def published(cls, kappa: float, **options: Any) -> Self:
        """What the published numbers were made with.

        The printed sign, and a variance learnt from V's own errors by a trace that decays by ρ alone. On RingWorld they
        were made with `TrueOnlineGTD` and `warm_up=0.1, length=10**6`: docs/meta.md has ours beside them.
        """
        odd: dict[str, Any] = {"in_range": False, "unit_variance_trace": True, "value_delta": True}
        odd["absolute_floor"] = True
        return cls(kappa, **({"gradient": "printed", "step": "gradient"} | odd | options))

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        super().setup(M, I)
        M[[KAPPA, FLOOR]] = self.kappa, self.floor
        M[RHO_CLIP] = np.finfo(np.float64).max if self.rho_clip is None else self.rho_clip
        I[GRADIENT] = ("exact", "derived", "printed").index(self.gradient)
        I[NEWTON], I[HORIZON], I[IN_RANGE] = self.step == "newton", 0 if self.trace else self.horizon, self.in_range
        I[RING] = M.size - self.slots
        I[UNIT_TRACE], I[VALUE_DELTA], I[ABSOLUTE] = self.unit_variance_trace, self.value_delta, self.absolute_floor

    def values(self, M: Floats, I: Ints, estimates: Floats, index: Ints, value: Floats) -> Floats:  # noqa: ARG002
        """1 - w·x, clipped."""
        return np.clip(1 - (value * M[LAMBDA + index]).sum(axis=1), 0, 1)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = "kappa gradient step features horizon trace ratio trace_lam of floor rho_clip in_range"
        names += " unit_variance_trace warm_up length aux_alpha value_delta absolute_floor"
        return {name: getattr(self, name) for name in names.split()}
