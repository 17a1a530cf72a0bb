"""META: λ(x) by gradient descent on the overall target error: Zhao (2020), chapter 4.

Auxiliary learners estimate L = E[G^λ], M = E[G] and S = Var[G^λ] at x' alongside V. With everything further ahead held
fixed, the partial derivative of ½ E[(G^λ_t - v(s_t))²] with respect to λ' = λ(x') is

    exact    γ' { (L-V) (r' + γ'V - M(x)) + γ'λ' [(L-V)² + S] }        M(x) stands for v(s_t), the reward for its mean
    derived  γ'² [ λ' ((V-L)² + S) - (V-L) (V-M) ]                     as in Zhao (2020): target against r' + γ'M

λ(x) = 1 - u·z, clipped to [0, 1], with u = 0 at the start. One step is, with ρ_acc = ρ₀⋯ρ_t since the episode began,

    gradient  λ' -= κ ρ_acc · derivative
    newton    λ' += κ (λ* - λ'),  λ* the zero of the derivative, clipped to [0, 1]; κ has no unit

The exact derivative can also reach further, because λ' affects the λ-returns of all earlier states. Restricted to one
path, the adjoint series of `PolicyView.target_error_gradient` becomes two numbers, the adjoints of the mean and the
variance at x_t, which are updated like a trace:

    y₂ = 1 + c² y₂,   y₁ = 2 (L(x) - M(x)) + c y₁ + 2 δ c y₂,    c = γλ of x_t, δ of the step into x_t
    derivative = ½ y₁ γ'(L-V) + y₂ [ δ γ'(L-V) + γ'²λ' S ]

`horizon="episode"` carries them through the episode (the full gradient, in expectation). `horizon=n` counts only the
λ-returns of the last n states; `horizon=1` is the one-step form.
"""

from typing import Any, Literal, Self

import numpy as np

from tdlambda.arrays import Floats, choice, flag, not_negative, positive
from tdlambda.features import Encoder
from tdlambda.rules.lambda_rule import Seen, WithEstimates
from tdlambda.rules.moments import of_mean, of_variance
from tdlambda.showing import call


def clip(lam: float) -> float:
    """λ clipped to [0, 1]."""
    return min(max(lam, 0.0), 1.0)


def encoder_or_none(features: Any) -> Encoder | None:
    """Validate the features of λ."""
    if features is not None and not isinstance(features, Encoder):
        raise TypeError(f"features must be an encoder or None; got {features!r}")
    return features


class Meta(WithEstimates):
    """META: adapts λ(x) online by gradient descent on the overall target error.

    Parameters
    ----------
    kappa
        Step size κ > 0 of λ: dimensionless for "newton", in units of 1/value² for "gradient".
    gradient
        "exact" or "derived": see `rules.meta`.
    step
        "newton" moves λ by a fraction κ of the distance to the minimiser; "gradient" is the step of Zhao (2020), with
        ρ_acc.
    features
        Features that λ depends on: the learner's own (None), or another encoder, such as one-hot states.
    horizon
        Number of steps over which the meta-gradient is propagated, at least 1; "episode" for the whole episode, at
        the cost of a trace of two numbers. More than one step needs the "exact" gradient.
    ratio, trace_lam, of, warm_up, length, aux_alpha
        See `WithEstimates`.
    floor
        Number ≥ 0: λ does not change where the estimated variance is at most `floor` times the square of the largest
        reward so far.
    rho_clip
        Positive upper bound on ρ_acc, or None.
    in_range
        Whether each update keeps 1 - u·z itself in [0, 1]; otherwise only λ is clipped.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.rules.Meta(kappa=1e-2))
    >>> v.lambda_at(5)
    1.0
    >>> v.update_many(ring.sampler(seed=1).take(50_000))
    >>> bool(v.lambda_at(5) < 0.5)
    True
    """

    estimates = {
        **WithEstimates.estimates,
        "L": ("ahead", "kept", "rho", "trace_lam", "pace"),
        "S": ("square", "shrink", "rho", "trace_lam", "pace"),
    }
    squares = ("S",)
    weight_rows = "u"
    updates = "u -= change z"
    kept_as = {"step": "how"}
    parameters = "kappa floor rho_clip trace_lam pace"
    dots = {
        "v": "V.x", "v_next": "V.x'", "m": "M.x", "m_next": "M.x'", "l": "L.x", "l_next": "L.x'", "s_next": "S.x'",
        "uz": "u.z",
    }  # fmt: skip
    # `adjoint1` and `adjoint2` are the adjoints y₁ and y₂; `c` and `delta` are c and δ of the step into x_t.
    keeps = {"rho_acc": 1.0, "adjoint1": 0.0, "adjoint2": 0.0, "c": 0.0, "delta": 0.0}
    options = ("corrected", "gradient", "newton", "reach", "in_range", "older_adjoint1", "older_adjoint2")

    def __init__(
        self,
        kappa: float = 1e-3,
        gradient: Literal["exact", "derived"] = "exact",
        step: Literal["newton", "gradient"] = "newton",
        features: Encoder | None = None,
        horizon: int | Literal["episode"] = 1,
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        of: Literal["target", "corrected"] = "target",
        floor: float = 1.5e-8,
        rho_clip: float | None = None,
        in_range: bool = True,
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
    ) -> None:
        super().__init__(ratio, trace_lam, of, warm_up, length, aux_alpha)
        choice(gradient, "gradient", "exact", "derived")
        choice(step, "step", "newton", "gradient")
        whole = isinstance(horizon, int | np.integer) and not isinstance(horizon, bool)
        if horizon != "episode" and not (whole and int(horizon) >= 1):
            raise ValueError(f'horizon must be an integer of at least 1, or "episode"; got {horizon!r}')
        self.horizon = horizon if isinstance(horizon, str) else int(horizon)
        if self.horizon != 1 and gradient != "exact":
            raise ValueError(f'horizon must be 1 with gradient="{gradient}"; got {horizon}, which needs "exact"')
        self.kappa, self.gradient, self.how = positive(kappa, "kappa"), gradient, step
        self.features = encoder_or_none(features)
        self.floor = not_negative(floor, "floor")
        self.rho_clip = None if rho_clip is None else positive(rho_clip, "rho_clip")
        self.in_range = flag(in_range, "in_range")
        self.keeps = {} if step == "newton" else {"rho_acc": 1.0}
        if self.horizon != 1:
            self.keeps |= {"c": 0.0, "delta": 0.0}
        if self.horizon == "episode":
            self.keeps |= {"adjoint1": 0.0, "adjoint2": 0.0}
        if self._back:
            self.keeps |= dict.fromkeys(self._older(), 0.0)
            self.phases = {"carry": "", "step": ""}

    @classmethod
    def thesis(cls, kappa: float, **options: Any) -> Self:
        """META as in Zhao (2020), with the sign corrected: gradient steps, ρ_acc, unclipped weights.

        Parameters
        ----------
        kappa
            Positive step size of λ, in units of 1/value².
        options
            Other parameters of `Meta`.
        """
        return cls(kappa, "derived", "gradient", in_range=False, **options)

    def __repr__(self) -> str:
        """The call that builds an equal rule; κ is shown unless the rule is `Meta()`."""
        return call(self, self.get_params(), () if self == type(self)() else ("kappa",))

    def constants(self) -> dict[str, Any]:
        """The options that are compiled into the generated code."""
        reach = "one" if self.horizon == 1 else "trace" if self.horizon == "episode" else "horizon"
        form = {"gradient": self.gradient, "newton": self.how == "newton", "reach": reach, "in_range": self.in_range}
        none = {} if reach == "horizon" else {"older_adjoint1": 0.0, "older_adjoint2": 0.0}
        return super().constants() | form | none

    def numbers(self, alpha: float | None) -> dict[str, float]:
        """The parameters by name."""
        clip = np.finfo(np.float64).max if self.rho_clip is None else self.rho_clip
        return super().numbers(alpha) | {"rho_clip": float(clip)}

    def function(self, name: str) -> Any:
        """The function of one phase; for a horizon, `carry` is unrolled over its steps."""
        return self._carry() if name == "carry" else super().function(name)

    def _carry(self) -> str:
        """Source of `carry`, which updates (y₁, y₂) of the λ-returns of the last n - 1 states at the step into x_t."""
        last = self._back[::-1]
        names = ", ".join(self._older())
        lines = [f"def carry({names}, l, m, c, delta):"]
        for k in last:  # the state k steps back was k - 1 steps back before; the newest starts with its own terms
            lines += [f"    adjoint1_{k} = c * adjoint1_{k} + 2 * delta * c * adjoint2_{k}"]
            lines += [f"    adjoint2_{k} = c**2 * adjoint2_{k}"]
        lines += [f"    older_adjoint1 = {' + '.join(f'adjoint1_{k}' for k in last)}"]
        lines += [f"    older_adjoint2 = {' + '.join(f'adjoint2_{k}' for k in last)}"]
        lines += [f"    adjoint1_{k}, adjoint2_{k} = adjoint1_{k - 1}, adjoint2_{k - 1}" for k in last if k > 1]
        lines += ["    adjoint1_1, adjoint2_1 = 2 * (l - m), 1.0"]
        return "\n".join([*lines, f"    return older_adjoint1, older_adjoint2, {names}"])

    @property
    def _back(self) -> range:
        """Steps back to the earlier states within the horizon."""
        return range(1, 1 if isinstance(self.horizon, str) else self.horizon)

    def _older(self) -> list[str]:
        """The names of (y₁, y₂) of the last n - 1 states."""
        return [f"{y}_{k}" for k in self._back for y in ("adjoint1", "adjoint2")]

    @staticmethod
    def step(
        v_next, m, m_next, l, l_next, s_next, uz, zz, kappa, floor, rho_clip, reward, gamma_next, rho, ready,
        most_reward, rho_acc, adjoint1, adjoint2, c, delta, older_adjoint1, older_adjoint2,
        corrected, gradient, newton, reach, in_range,
    ):  # fmt: skip
        """Update λ' from the estimates before this step, then return the rewards and discounts that they learn from."""
        rho_acc = min(rho_acc * rho, rho_clip)
        if reach == "trace":
            adjoint1, adjoint2 = 2 * (l - m) + (c * adjoint1 + 2 * delta * c * adjoint2), 1.0 + c**2 * adjoint2
        elif reach == "horizon":
            adjoint1, adjoint2 = 2 * (l - m) + older_adjoint1, 1.0 + older_adjoint2
        value, gap = 1.0 - uz, v_next - l_next
        lam = clip(value)
        slope = gamma_next**2 * (gap**2 + s_next)
        if gradient == "exact":
            offset = gamma_next * gap * (reward + gamma_next * v_next - m)
        else:
            offset = gamma_next**2 * gap * (v_next - m_next)
        derivative = slope * lam - offset
        if reach != "one":
            gain = gamma_next * (l_next - v_next)
            error = reward + gamma_next * (v_next + lam * (l_next - v_next)) - l
            derivative = adjoint1 * gain / 2 + adjoint2 * (error * gain + gamma_next**2 * lam * s_next)
            slope = slope * adjoint2
        per_norm = 1.0 / zz if zz > 0 else 0.0
        if newton:
            best = clip(lam - derivative / slope) if slope > 0 else lam
            by = kappa * (best - lam) * per_norm
        else:
            by = -kappa * rho_acc * derivative
        after = clip(value + by * zz)
        if in_range:
            by = (after - value) * per_norm
        go = ready and s_next > floor * most_reward**2
        change = by if go else 0.0
        lam_next = after if go else lam
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        c, delta = kept, ahead + kept * l_next - l
        square, shrink = of_variance(ahead, kept, l, l_next, rho, corrected)
        return lam_next, change, ahead, kept, square, shrink, rho_acc, adjoint1, adjoint2, c, delta

    def values(self, seen: Seen) -> Floats:
        """λ = 1 - u·z, clipped to [0, 1]."""
        return np.clip(1 - (seen.value * seen.rows["u"][seen.index]).sum(axis=1), 0, 1)
