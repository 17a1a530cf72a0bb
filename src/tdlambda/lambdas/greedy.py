"""λ-greedy (White & White 2016): the λ that would be best for the next target if the full return followed it.

    λ' = (V - M)² / ((V - M)² + Var[G])      at x', with M = E[G]

M is learnt as a value of its own. The variance is learnt by direct VTD from M's errors,

    Var:  reward (r' + γ' M(x') - M(x))²,  discount γ'²

or by VTD as a second moment, reward r'² + 2 γ' r' M(x'), discount γ'², less M². Off-policy, `of="corrected"` is the
variance of the return with its importance ratios: see `td.DirectVTD`.
"""

from typing import Any, Literal, Self

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, choice, flag
from tdlambda.compiled import inlined
from tdlambda.lambdas.adaptive import WithEstimates
from tdlambda.memory import (
    BUNDLE,
    CORRECTED,
    DECAY,
    FIRST_BLOCK,
    GREEDY_VTD,
    SLOTS,
    STEPS,
    TRACE_LAM,
    TRACE_ROWS,
    UNIT_TRACE,
    VALUE_DELTA,
    WARM_UP,
    WEIGHT_ROWS,
    Index,
    Value,
    assign,
    dot,
)  # fmt: skip
from tdlambda.moments import of_second_moment, of_variance


@inlined
def greedy_lambda(v: float, mean: float, variance: float) -> float:
    """(V - M)² / ((V - M)² + Var); 1 for 0/0: where nothing is known, V is not to be trusted."""
    bias = (v - mean) ** 2
    below = bias + max(variance, 0.0)
    return bias / below if below > 0 else 1.0


@inlined
def prepare(
    F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> float:  # fmt: skip
    """Hand V, M and Var their rewards and discounts, and give λ' (from estimates of before this step)."""
    rows, corrected, trace = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[CORRECTED], M[TRACE_LAM]
    v_next, mean_next = dot(F[0], y, yv, n_next), dot(F[rows], y, yv, n_next)
    mean, second_next = dot(F[rows], x, xv, len(x)), dot(F[2 * rows], y, yv, n_next)
    variance = second_next
    if I[UNIT_TRACE]:
        M[FIRST_BLOCK + 2 * SLOTS + DECAY] = 1.0
    if I[BUNDLE] == GREEDY_VTD:
        variance -= mean_next**2
        square, discount, ratio = of_second_moment(reward, gamma_next, mean_next, rho, corrected)
    else:
        square, discount, ratio = of_variance(reward, gamma_next, mean, mean_next, rho, corrected)
        if I[VALUE_DELTA]:
            square = (reward + gamma_next * v_next - dot(F[0], x, xv, len(x))) ** 2
    lam_next = greedy_lambda(v_next, mean_next, variance) if n_next > 0 and I[STEPS] > I[WARM_UP] else 1.0
    assign(M, 0, reward, gamma_next, rho, lam_next)
    assign(M, 1, reward, gamma_next, rho, trace)
    assign(M, 2, square, discount, ratio, trace)
    return lam_next


class Greedy(WithEstimates):
    """λ-greedy: λ* = (V - E[G])² / ((V - E[G])² + Var[G]), from two estimates learnt beside the value.

    Parameters
    ----------
    variance
        "direct" (direct VTD) or "vtd" (the second moment).
    ratio, trace_lam, of, aux_alpha
        See `WithEstimates`.
    warm_up, length
        See `Adaptive`; until then λ = 1.
    unit_variance_trace
        Let the trace of the variance not decay but by its importance ratio, as the published numbers were made.
    value_delta
        Learn the variance from V's own error, (r' + γ'V(x') - V(x))² whatever `of` is, as the published numbers were
        made. With "direct" only.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.Greedy())
    >>> v.update_many(ring.sampler(seed=1).take(50_000))
    >>> bool(v.lambda_at(5) < 0.2)
    True
    """

    blocks = 3

    def __init__(
        self,
        variance: Literal["direct", "vtd"] = "direct",
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        of: Literal["target", "corrected"] = "target",
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
        unit_variance_trace: bool = False,
        value_delta: bool = False,
    ) -> None:
        super().__init__(ratio, trace_lam, of, warm_up, length, aux_alpha)
        choice(variance, "variance", "direct", "vtd")
        value_delta = flag(value_delta, "value_delta")
        if value_delta and variance == "vtd":
            raise ValueError('value_delta: a second moment is not learnt from errors; only with variance="direct"')
        self.variance = variance
        self.unit_variance_trace = flag(unit_variance_trace, "unit_variance_trace")
        self.value_delta = value_delta
        self.bundle = memory.GREEDY if variance == "direct" else memory.GREEDY_VTD  # type: ignore[misc]

    @classmethod
    def published(cls, **options: Any) -> Self:
        """What the published numbers were made with: see docs/results.

        The variance is learnt from V's own errors, without importance ratios but for ρ² on the discount, by a trace
        that does not decay. They were made with `warm_up=0.1, length=10**6`.
        """
        odd: dict[str, Any] = {"of": "corrected", "unit_variance_trace": True, "value_delta": True}
        return cls(**(odd | options))

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        super().setup(M, I)
        I[UNIT_TRACE], I[VALUE_DELTA] = self.unit_variance_trace, self.value_delta

    def values(self, M: Floats, I: Ints, estimates: Floats, index: Ints, value: Floats) -> Floats:  # noqa: ARG002
        """λ from the estimates so far."""
        v, mean, second = estimates
        if I[STEPS] <= I[WARM_UP]:
            return np.ones_like(v)
        variance = np.maximum(0, second if self.variance == "direct" else second - mean**2)
        bias = (v - mean) ** 2
        return np.divide(bias, bias + variance, out=np.ones_like(v), where=bias + variance > 0)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        names = "variance ratio trace_lam of warm_up length aux_alpha unit_variance_trace value_delta"
        return {name: getattr(self, name) for name in names.split()}
