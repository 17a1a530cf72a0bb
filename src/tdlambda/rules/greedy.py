"""λ-greedy (White & White 2016): the best λ for the next target, assuming that the full return follows it.

    λ' = (V - M)² / ((V - M)² + Var[G])      at x', with M = E[G]

M is learned as a separate value. The variance is learned by direct VTD from the errors of M,

    Var:  reward (r' + γ' M(x') - M(x))²,  discount γ'²

or by VTD as a second moment, reward r'² + 2 γ' r' M(x'), discount γ'², less M². Off-policy, `of="corrected"` is the
variance of the return with its importance-sampling ratios: see `td.DirectVTD`.

Martha White & Adam White (2016), "A greedy approach to adapting the trace parameter for temporal difference learning".
"""

from typing import Any, Literal

import numpy as np

from tdlambda.arrays import Floats, choice
from tdlambda.rules.lambda_rule import Seen, WithEstimates
from tdlambda.rules.moments import of_second_moment, of_variance


class Greedy(WithEstimates):
    """λ-greedy: λ* = (V - E[G])² / ((V - E[G])² + Var[G]), from two estimates learned alongside the value.

    Parameters
    ----------
    variance
        How the variance is learned: "direct" (direct VTD) or "vtd" (from the second moment).
    ratio, trace_lam, of, warm_up, length, aux_alpha
        See `WithEstimates`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> steps = ring.sampler(seed=1).take(50_000)
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.rules.Greedy())
    >>> v.update_many(steps)
    >>> (value,), (mean,), (variance,) = v.estimates([5])
    >>> bias = (value - mean) ** 2
    >>> bool(v.lambda_at(5) == bias / (bias + variance))
    True
    """

    estimates = {
        **WithEstimates.estimates,
        "S": ("square", "shrink", "rho", "trace_lam", "pace"),
    }
    squares = ("S",)
    parameters = "trace_lam pace"
    dots = {"v_next": "V.x'", "m": "M.x", "m_next": "M.x'", "s_next": "S.x'"}
    options = ("corrected", "variance")

    def __init__(
        self,
        variance: Literal["direct", "vtd"] = "direct",
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        of: Literal["target", "corrected"] = "target",
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
    ) -> None:
        super().__init__(ratio, trace_lam, of, warm_up, length, aux_alpha)
        self.variance = choice(variance, "variance", "direct", "vtd")

    def constants(self) -> dict[str, Any]:
        """The options that are compiled into the generated code."""
        return super().constants() | {"variance": self.variance}

    @staticmethod
    def step(v_next, m, m_next, s_next, reward, gamma_next, rho, ready, corrected, variance):
        """λ' from the estimates before this step; 1 where it is 0/0, because nothing is known about V yet."""
        spread = s_next
        if variance == "vtd":
            spread = s_next - m_next**2
            square, shrink = of_second_moment(reward, gamma_next, m_next, rho, corrected)
        else:
            square, shrink = of_variance(reward, gamma_next, m, m_next, rho, corrected)
        bias = (v_next - m_next) ** 2
        below = bias + max(spread, 0.0)
        lam_next = bias / below if below > 0 and ready else 1.0
        return lam_next, square, shrink

    def values(self, seen: Seen) -> Floats:
        """λ from the estimates so far."""
        v, mean, second = (seen.estimates[k] for k in "VMS")
        if not seen.ready:
            return np.ones_like(v)
        variance = np.maximum(0, second if self.variance == "direct" else second - mean**2)
        bias = (v - mean) ** 2
        return np.divide(bias, bias + variance, out=np.ones_like(v), where=bias + variance > 0)
