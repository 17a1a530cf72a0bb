"""Trace coefficients, which cut traces at actions that the target policy would take less often.

For state values, c is the coefficient of the previous action and κ corrects the error of this one:

    e = γλ c⁻ e + x,    w += α κ δ e            the same as  e = κ (γλ (c⁻/κ⁻) e + x),  w += α δ e

so c/κ is a factor on λ' that depends on the action. For action values, c belongs to this action, and the error is not
corrected:

    δ = r' + γ' Σ_a π(a|s') q(s',a) - q(s,a),    e = γλ c e + x(s,a),    w += α δ e

| correction | c | κ | source |
| --- | --- | --- | --- |
| "importance" | ρ | ρ | Precup, Sutton & Singh 2000 |
| "retrace" | min(c̄, ρ) | ρ | Munos et al. 2016; Ghiassian & Sutton 2021 for state values |
| "vtrace" | min(c̄, ρ) | min(ρ̄, ρ) | Espeholt et al. 2018, state values only |
| "tree" | π(a given s) | ρ | Precup, Sutton & Singh 2000 |
| "abtd" | π min(ψ, 1/max(π, b)) | ρ | Mahmood, Yu & Sutton 2017: ABTD(ζ) and ABQ(ζ), at λ = 1 |

Each formula is one function of numbers (ρ, π(a|s), b(a|s), c̄, ρ̄, ψ) that returns (c, κ).
"""

# ruff: noqa: ARG001 (the formulas share one signature, so that generated code can call any of them)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, choice, fraction, not_negative, positive, real, refuse
from tdlambda.mdp.overflow import in_range
from tdlambda.parameters import ByParameters

CorrectionName = Literal["importance", "retrace", "vtrace", "tree", "abtd"]
Coefficients = Callable[[Any, Any, Any, float, float, float], tuple[Any, Any]]
"""(ρ, π, b, c̄, ρ̄, ψ) → (c, κ), of numbers or arrays."""


def importance(rho: Any, pi: Any, b: Any, c_bar: float, rho_bar: float, psi: float) -> tuple[Any, Any]:
    """c = κ = ρ."""
    return rho, rho


def retrace(rho: Any, pi: Any, b: Any, c_bar: float, rho_bar: float, psi: float) -> tuple[Any, Any]:
    """c = min(c̄, ρ), κ = ρ."""
    return np.minimum(c_bar, rho), rho


def vtrace(rho: Any, pi: Any, b: Any, c_bar: float, rho_bar: float, psi: float) -> tuple[Any, Any]:
    """c = min(c̄, ρ), κ = min(ρ̄, ρ)."""
    return np.minimum(c_bar, rho), np.minimum(rho_bar, rho)


def tree(rho: Any, pi: Any, b: Any, c_bar: float, rho_bar: float, psi: float) -> tuple[Any, Any]:
    """c = π(a|s), κ = ρ."""
    return pi, rho


def abtd(rho: Any, pi: Any, b: Any, c_bar: float, rho_bar: float, psi: float) -> tuple[Any, Any]:
    """c = π(a|s) min(ψ, 1/max(π, b)), κ = ρ; `abtd_psi` computes ψ from ζ."""
    return pi * np.minimum(psi, 1 / np.maximum(pi, b)), rho


CORRECTIONS: dict[str, Coefficients] = {
    "importance": importance,
    "retrace": retrace,
    "vtrace": vtrace,
    "tree": tree,
    "abtd": abtd,
}


def abtd_psi(zeta: float, psi_0: float, psi_max: float) -> float:
    """ψ = 2ζψ₀ + max(0, 2ζ-1)(ψ_max - 2ψ₀): 0 at ζ = 0, ψ₀ at ½, ψ_max at 1.

    ψ₀ and ψ_max are 1 over the largest and over the smallest max(π, b) of any state and action.
    """
    return 2 * zeta * psi_0 + max(0.0, 2 * zeta - 1) * (psi_max - 2 * psi_0)


@dataclass(frozen=True, repr=False)
class TraceCorrection(ByParameters):
    """A trace coefficient with its options; where the defaults suffice, pass its name instead.

    Parameters
    ----------
    name
        "importance", "retrace", "vtrace", "tree" or "abtd": see `tdlambda.mdp.corrections`.
    c_bar
        Largest coefficient c̄ of "retrace" and "vtrace", at least 0.
    rho_bar
        Largest correction ρ̄ of "vtrace", positive and at least c̄.
    zeta
        Parameter ζ in [0, 1] of "abtd", which replaces λ: use it with λ = 1.
    psi_0, psi_max
        1 over the largest and over the smallest max(π(a|s), b(a|s)) of any state and action. "abtd" in a learner
        needs them; `FiniteMDP` computes them from its policies.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", "0.4/0.35")
    >>> cut = td.mdp.TraceCorrection("retrace", c_bar=0.5)
    >>> round(ring.exact.trace_operator(0.9, correction=cut).norm, 3)
    0.91
    """

    name: CorrectionName
    c_bar: float = 1.0
    rho_bar: float = 1.0
    zeta: float = 0.5
    psi_0: float | None = None
    psi_max: float | None = None

    def __post_init__(self) -> None:
        """Validate the options."""
        choice(self.name, "correction", *CORRECTIONS)
        not_negative(self.c_bar, "c_bar")
        positive(self.rho_bar, "rho_bar")
        fraction(self.zeta, "zeta")
        for name in ("psi_0", "psi_max"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if self.name == "vtrace" and self.c_bar > self.rho_bar:
            raise ValueError(f"c_bar must be at most rho_bar in V-trace; got {self.c_bar} and {self.rho_bar}")

    @classmethod
    def named(cls, correction: TraceCorrection | str) -> TraceCorrection:
        """The correction itself, or the one of this name with default options."""
        if isinstance(correction, cls):
            return correction
        return cls(choice(correction, "correction", *CORRECTIONS))  # type: ignore[arg-type]

    @property
    def needs_behavior(self) -> bool:
        """Whether the coefficients depend on b(a|s), not only on ρ."""
        return self.name in ("tree", "abtd")

    def factors(self, rho: Any, behavior: Any) -> tuple[Any, Any]:
        """The correction κ and the factor c/κ on λ' of actions with these ratios and behaviour probabilities."""
        psi, b = 0.0, np.asarray(1.0 if behavior is None or np.size(behavior) == 0 else behavior, dtype=np.float64)
        if self.needs_behavior:
            if behavior is None or np.size(behavior) == 0:
                raise ValueError(
                    f'behavior: correction "{self.name}" needs b(a|s), the probability of the action taken'
                )
            if not ((b > 0) & (b <= 1)).all():
                raise ValueError(f"behavior must be in (0, 1]; got {behavior}")
        if self.name == "abtd":
            if self.psi_0 is None or self.psi_max is None:
                raise ValueError(
                    'correction: "abtd" needs td.mdp.TraceCorrection("abtd", psi_0=…, psi_max=…) in a learner'
                )
            psi = abtd_psi(self.zeta, self.psi_0, self.psi_max)
        ratio = np.asarray(rho, dtype=np.float64)
        bad = ~((ratio >= 0) & (ratio < np.inf))
        if bad.any():
            raise ValueError(f"rho must be finite and not negative; got {ratio[bad].flat[0]}")
        c, kappa = CORRECTIONS[self.name](ratio, ratio * b, b, self.c_bar, self.rho_bar, psi)
        kappa = np.asarray(kappa, dtype=np.float64)
        return kappa, np.divide(c, kappa, out=np.zeros(kappa.shape), where=kappa > 0)

    def tables(self, pi: Floats, b: Floats, terminal: Bools) -> tuple[Floats, Floats]:
        """The tables c and κ [state, action]; 0 for actions that the behaviour policy never takes."""
        taken = (b > 0) & ~terminal[:, None]
        pi_taken, b_taken = pi[taken], b[taken]
        largest = np.maximum(pi_taken, b_taken)
        psi = abtd_psi(self.zeta, 1 / largest.max(initial=0.0), 1 / largest.min(initial=1.0))
        formula, options = CORRECTIONS[self.name], (self.c_bar, self.rho_bar, psi)
        ratios = ratio_table(pi, b)[taken]
        pairs = [formula(*numbers, *options) for numbers in zip(ratios, pi_taken, b_taken, strict=True)]
        c, kappa = np.zeros((2, *b.shape))
        c[taken], kappa[taken] = np.array(pairs).T
        return c, kappa


Correction = str | TraceCorrection | ArrayLike
"""Type of a correction: a name, a `TraceCorrection`, or your own table c[state, action], with κ = ρ."""


def coefficient_tables(correction: Correction, pi: Floats, b: Floats, terminal: Bools) -> tuple[Floats, Floats]:
    """The tables c and κ [state, action] of any correction."""
    if isinstance(correction, str):
        correction = TraceCorrection.named(correction)
    if isinstance(correction, TraceCorrection):
        return correction.tables(pi, b, terminal)
    c = real(correction, "correction")
    if c.shape != b.shape:
        raise ValueError(f"correction as a table c[state, action] must have shape {b.shape}; got {c.shape}")
    bad = ~np.all(np.isfinite(c) & (c >= 0), axis=1)
    refuse(bad, lambda s: f"correction of state {s} must be finite and not negative; got {c[s].tolist()}")
    return np.where((b > 0) & ~terminal[:, None], c, 0.0), ratio_table(pi, b)


def is_importance(correction: Correction) -> bool:
    """Whether traces are corrected by ρ itself."""
    name = correction.name if isinstance(correction, TraceCorrection) else correction
    return isinstance(name, str) and name == "importance"


def ratio_table(pi: Floats, b: Floats) -> Floats:
    """The ratios ρ(s,a) = π(a|s)/b(a|s); 0 for actions that the behaviour policy never takes."""
    with np.errstate(over="ignore"):
        rho = np.divide(pi, b, out=np.zeros_like(b), where=b > 0)
    return in_range(rho, "ρ", "give behavior larger probabilities")
