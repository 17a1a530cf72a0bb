"""The state of an `AutoTD`, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SCOPES = {
    "each observation": "including the approximation error of the features",
    "rough": "including a rough estimate of the approximation error of the features",
    "span": "within the span of the features",
}
"""In words: each distinct observation has a feature of its own; there are too many; the approximation error is not
included. A table of states has none."""


@dataclass(frozen=True)
class Expert:
    """One expert: a learner or its averaged copy, a least-squares solution, a running mean, or the constant 0."""

    weight: float
    """Its weight in the prediction, in [0, 1]."""
    error: float
    """Estimated mean squared value error, minus that of the mixture."""
    standard_error: float
    """Standard error of `error`."""
    lam: float = math.nan
    """λ in [0, 1]; NaN if it is unknown."""
    alpha: float | None = None
    """Step size for |x|² = 1; None if the expert has none."""
    averaged: bool = False
    kind: str = "TD"
    """"TD", "LSTD", "mean", "zero", or the name of your own expert."""
    window: float = math.inf
    """Length of its memory, in steps; ∞ for all steps."""
    ridge: float = 0.0
    """Ridge of least squares, in observations."""
    cosines: int = 0
    """Number of random cosines of the readings."""
    observations: int = 0
    """Largest number of distinct observations, if each has a feature of its own."""

    @property
    def name(self) -> str:
        """The expert's name, as in `AutoTD.expert_weights`."""
        last = "" if self.window == math.inf else f" of the last {self.window:g} steps"
        more = f", {self.cosines} cosines" if self.cosines else ", each observation" if self.observations else ""
        return {
            "TD": f"α = {self.alpha or 0:g}, λ = {self.lam:g}{', averaged' if self.averaged else ''}",
            "LSTD": f"LSTD({self.lam:g}){last}, ridge {self.ridge:g}{more}",
            "mean": f"mean{last or ' of all steps'}",
            "zero": "0",
        }.get(self.kind, self.kind)


def mean_lam(experts: Sequence[Expert]) -> float:
    """The weighted mean λ of the experts."""
    known = [e for e in experts if not math.isnan(e.lam)]
    return sum(e.weight * e.lam for e in known) / max(sum(e.weight for e in known), 1e-300)


def plural(count: int, noun: str) -> str:
    """A count and its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, repr=False)
class Explanation:
    """The experts with the most weight, their α and λ, and how certain that is.

    It prints as a table of the experts with the largest weights, followed by remarks.
    """

    experts: tuple[Expert, ...]
    """Experts that have not diverged, sorted by weight, largest first."""
    steps: int
    window: int
    """Number of steps since the last detected change; all steps if there was none."""
    changes: int
    restarts: int
    """Number of restarts of averaged copies whose learner was significantly better, and of least-squares systems."""
    diverged: int
    """Number of learners that diverged and were dropped."""
    moves: int = 0
    """Number of times that the range of step sizes moved, because most of the weight was at one end."""
    clipped: int = 0
    """Number of readings and rewards clipped to 1.5 times the largest deviation so far."""
    value_error: float | None = None
    """Least-squares estimate of √E[(v - V)²] at recent observations; None without least squares."""
    scope: str = ""
    """What `value_error` says of the approximation error of the features: see `SCOPES`."""
    return_error: float | None = None
    """Estimate of √E[(G - V)²] for recent predictions, G the observed return; None off-policy."""

    @property
    def effective(self) -> float:
        """Effective number of experts, 1 / Σ p²."""
        return 1.0 / sum(e.weight**2 for e in self.experts) if self.experts else 0.0

    @property
    def averaged(self) -> float:
        """Total weight of the averaged copies; it is small if the target changes over time."""
        return sum(e.weight for e in self.experts if e.averaged)

    @property
    def lam(self) -> float:
        """The weighted mean λ of the experts."""
        return mean_lam(self.experts)

    @property
    def thin(self) -> bool:
        """Whether fewer than half of the experts are worse than the mixture by 2 standard errors."""
        worse = [e for e in self.experts if e.error > 2 * e.standard_error]
        return 2 * len(worse) < len(self.experts)

    @property
    def edge(self) -> str:
        """ "smallest" or "largest" if the leading expert has the smallest or largest step size; otherwise ""."""
        sizes = [e.alpha for e in self.experts if e.alpha is not None]
        leader = self.experts[0].alpha if self.experts else None
        if leader is None or len(set(sizes)) < 2:
            return ""
        return "smallest" if leader == min(sizes) else "largest" if leader == max(sizes) else ""

    def __str__(self) -> str:
        """The table, followed by remarks."""
        if not self.steps:
            return "no data yet"
        since = f", {self.window:,} since the last change" if self.window < self.steps else ""
        shown = [e for e in self.experts if e.weight > 0.01]
        width = max((len(e.name) for e in shown), default=0)
        lines = [
            f"{self.steps:,} steps{since}; effective number of experts {self.effective:.1f}",
            f"{'':{width}}  weight  error minus mixture's",
        ]
        lines += [f"{e.name:{width}}  {e.weight:6.3f}  {e.error:+.1e} ± {e.standard_error:.0e}" for e in shown]
        lines += self._words()
        return "\n".join(lines)

    __repr__ = __str__

    def _words(self) -> list[str]:
        lines = []
        if self.return_error is not None:
            lines.append(f"returns differ from predictions by {self.return_error:.2g} (root mean square)")
        if self.value_error is not None:
            about = f"values differ from predictions by about {self.value_error:.2g}"
            lines.append(f"{about}, {SCOPES[self.scope]}" if self.scope else about)
        if self.experts:
            leads = f"{self.experts[0].name} leads with {self.experts[0].weight:.0%} of the weight"
            lines.append(leads + (f"; no step size is {self.edge[:-3]}er" if self.edge else ""))
        if self.thin:
            lines.append("evidence is thin: few experts are significantly worse than the mixture, so the prior decides")
        if self.clipped:
            lines.append(f"{self.clipped} readings beyond 1.5 × the largest deviation so far were clipped")
        if self.changes or self.restarts or self.diverged:
            changes = f"{plural(self.changes, 'detected change')} of the target"
            lines.append(f"{changes}, {plural(self.restarts, 'expert')} restarted, {self.diverged} diverged")
        if self.moves:
            lines.append(f"the range of step sizes moved {self.moves} times")
        return lines
