"""The mean update of a table of values, as an operator: V ↦ v + Z (V - v).

Z = I - (I - M)⁻¹ (diag(k) - N) with the matrices of `mdp.expected`; for action values (I - P_c)⁻¹ (P_π - P_c) (Munos et
al. 2016). Its fixed point v is v_π, or q_π, for every trace coefficient c as long as κ = ρ; that of V-trace is the
value of the policy π̄ ∝ min(ρ̄ b, π) (Espeholt et al. 2018). If c ≤ ρ and γ is constant, ‖Z‖∞ ≤ γ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, choice, real
from tdlambda.mdp.corrections import Correction
from tdlambda.mdp.expected import action_update, state_update
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP


@dataclass(frozen=True, repr=False)
class TraceOperator(PrintedTable):
    """V ↦ v + Z (V - v).

    Attributes
    ----------
    Z
        Matrix with one row for each state, or for each pair in the order of (state, action).
    fixed_point
        Fixed point v, shape [state] or [state, action].

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", "0.4/0.35")
    >>> operator = ring.exact.trace_operator(0.5, correction="tree", values="action")
    >>> round(operator.norm, 4), round(operator.spectral_radius, 4)
    (0.9331, 0.8239)
    """

    Z: Floats
    fixed_point: Floats

    def __call__(self, values: ArrayLike) -> Floats:
        """The table after one mean update of all entries, with step size 1."""
        V = real(values, "values")
        if V.shape != self.fixed_point.shape:
            raise ValueError(f"values must have shape {self.fixed_point.shape}; got {V.shape}")
        error = (V - self.fixed_point).ravel()
        return self.fixed_point + (self.Z @ error).reshape(V.shape)

    @cached_property
    def norm(self) -> float:
        """The norm ‖Z‖∞; below 1, an update reduces the largest error of a table."""
        return float(np.abs(self.Z).sum(axis=1).max())

    @cached_property
    def spectral_radius(self) -> float:
        """The largest modulus of Z's eigenvalues: below 1, repeated updates converge."""
        return float(np.abs(np.linalg.eigvals(self.Z)).max())


def trace_operator(
    mdp: FiniteMDP, lam: Floats, pi: Floats, b: Floats, correction: Correction, values: Literal["state", "action"]
) -> TraceOperator:
    """The operator of a trace coefficient, for state values or action values."""
    choice(values, "values", "state", "action")
    update = (action_update if values == "action" else state_update)(mdp, lam, pi, b, correction)
    Z = np.eye(update.correction.size) - update.remainder()
    shape = (mdp.n_states, mdp.n_actions) if values == "action" else (mdp.n_states,)
    return TraceOperator(Z, update.fixed_point().reshape(shape))
