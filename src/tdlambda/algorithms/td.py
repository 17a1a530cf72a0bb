"""TD(λ) with accumulating, replacing or Dutch traces (Sutton 1988; Singh & Sutton 1996; van Seijen et al. 2016).

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)                       accumulating
    e  = ρ (γλ e, or x where x ≠ 0)         replacing (for binary features)
    e  = ρ (γλ e + (1 - αργλ x·e) x)        Dutch
    w += α δ e

γ, λ and ρ belong to x, γ' to x'.
"""

from __future__ import annotations

from typing import Any, Literal

from tdlambda.arrays import choice
from tdlambda.core import declare
from tdlambda.features import Encoder, Network
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.rules import Lam


class TD(Algorithm):
    """TD(λ) with accumulating, replacing or Dutch traces; `lam=0` gives TD(0).

    Parameters
    ----------
    features, alpha, lam, options
        See `Algorithm`.
    traces
        Kind of traces: "accumulating", "replacing" (for binary features) or "dutch".

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.OneHot(3), alpha=0.5, lam=0.0)
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.5
    """

    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        along = alpha * (reward + gamma_next * v_next - v)
        keep = rho * decay
        decay = gamma_next * lam_next
        return keep, along, decay

    def __init__(
        self,
        features: Encoder | Network,
        alpha: Alpha,
        lam: Lam = 0.9,
        traces: Literal["accumulating", "replacing", "dutch"] = "accumulating",
        **options: Any,
    ) -> None:
        self.traces = choice(traces, "traces", "accumulating", "replacing", "dutch")
        if traces == "replacing" and isinstance(features, Network):
            raise TypeError('traces: "replacing" is for binary features, and a network has none; use "accumulating"')
        super().__init__(features, alpha, lam, **options)

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        return {"accumulating": type(self), "replacing": ReplacingTD, "dutch": DutchTD}[self.traces]


class DutchTD(declare.AlgorithmDeclaration):
    """TD(λ) with Dutch traces."""

    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + new x
        w += along e
    """

    @staticmethod
    def step(v, v_next, ex, decay, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        along = alpha * (reward + gamma_next * v_next - v)
        keep = rho * decay
        new = rho * (1 - alpha * keep * ex)
        decay = gamma_next * lam_next
        return keep, new, along, decay


class ReplacingTD(declare.AlgorithmDeclaration):
    """TD(λ) with replacing traces; not linear in the trace, so it is declared feature by feature."""

    dots, keeps = TD.dots, TD.keeps
    step = staticmethod(TD.step)

    @staticmethod
    def feature(w, e, x, keep, rho, along):
        """The update of one feature."""
        e = rho * x if x != 0 else keep * e
        w = w + along * e
        return w, e
