"""What an `AutoTD` believes, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Expert:
    """One expert: a learner or its average over time; or least squares, a running mean, or 0."""

    weight: float
    """Its share in the prediction."""
    error: float
    """An estimate of its mean squared value error less that of the mixture."""
    standard_error: float
    """Of that estimate."""
    lam: float = math.nan
    """λ; not a number where it is not known."""
    alpha: float | None = None
    """Step size, of |x|² = 1; None where there is none."""
    averaged: bool = False
    kind: str = "TD"
    """"TD", "LSTD", "mean", "zero", or the name of one of your own."""
    window: float = math.inf
    """Steps that it remembers."""
    ridge: float = 1.0
    """κ, how strongly its weights are drawn to 0, where that is estimated: 1 is as estimated."""

    @property
    def name(self) -> str:
        """What it is, in words."""
        last = "" if self.window == math.inf else f" of the last {self.window:g} steps"
        return {
            "TD": f"α = {self.alpha or 0:g}, λ = {self.lam:g}{', averaged' if self.averaged else ''}",
            "LSTD": f"LSTD({self.lam:g}){last}{'' if self.ridge == 1 else f', κ = {self.ridge:g}'}",
            "mean": f"mean{last or ' of all steps'}",
            "zero": "0",
        }.get(self.kind, self.kind)


def mean_lam(experts: Sequence[Expert]) -> float:
    """The mean λ of experts, by weight."""
    known = [e for e in experts if not math.isnan(e.lam)]
    return sum(e.weight * e.lam for e in known) / max(sum(e.weight for e in known), 1e-300)


@dataclass(frozen=True)
class Explanation:
    """Which α and λ carry the weight now, and how sure that is.

    Printed, it is a table of the experts with the most weight.
    """

    experts: tuple[Expert, ...]
    """By weight, largest first; without those that diverged."""
    steps: int
    window: int
    """Steps since the last change that was noticed; all if there was none."""
    changes: int
    restarts: int
    """Averaged copies that restarted because their learner was surely better, and systems of equations that forgot."""
    diverged: int
    """Learners that were dropped."""
    moves: int = 0
    """How often the step sizes moved on, because most of the weight stood at one end of them."""
    clipped: int = 0
    """Readings and rewards that were cut to 1.5 times the largest deviation so far."""
    value_error: float | None = None
    """An estimate of √E[(v - V)²] at recent observations: of what least squares leave open. None without them."""
    return_error: float | None = None
    """An estimate of √E[(G - V)²] of recent predictions, G what followed. None off-policy."""

    @property
    def effective(self) -> float:
        """How many experts share the weight: 1 / Σ p²."""
        return 1.0 / sum(e.weight**2 for e in self.experts) if self.experts else 0.0

    @property
    def averaged(self) -> float:
        """The weight of averaged copies; it is small where the target moves."""
        return sum(e.weight for e in self.experts if e.averaged)

    @property
    def lam(self) -> float:
        """The mean λ."""
        return mean_lam(self.experts)

    @property
    def thin(self) -> bool:
        """Whether evidence is thin: not even half of the experts are surely worse than the mixture, by 2 errors."""
        worse = [e for e in self.experts if e.error > 2 * e.standard_error]
        return 2 * len(worse) < len(self.experts)

    @property
    def edge(self) -> str:
        """ "smallest" or "largest", if the leading expert has the smallest or largest step size there is; else ""."""
        sizes = [e.alpha for e in self.experts if e.alpha is not None]
        leader = self.experts[0].alpha if self.experts else None
        if leader is None or len(set(sizes)) < 2:
            return ""
        return "smallest" if leader == min(sizes) else "largest" if leader == max(sizes) else ""

    def __str__(self) -> str:
        """The table, and what there is to say of it."""
        of_one_kind = f", the last {self.window:,} of one kind" if self.window < self.steps else ""
        shown = [e for e in self.experts if e.weight > 0.01]
        width = max((len(e.name) for e in shown), default=0)
        lines = [
            f"{self.steps:,} steps{of_one_kind}; {self.effective:.1f} experts share the weight",
            f"{'':{width}}  weight  error - mixture's",
        ]
        lines += [f"{e.name:{width}}  {e.weight:6.3f}  {e.error:+.1e} ± {e.standard_error:.0e}" for e in shown]
        lines += self._words()
        return "\n".join(lines)

    def _words(self) -> list[str]:
        lines = []
        if self.return_error is not None:
            lines.append(f"what follows differs from a prediction by {self.return_error:.2g}, root mean square")
        if self.value_error is not None:
            lines.append(f"values differ from predictions by about {self.value_error:.2g}, as far as the features go")
        if self.experts:
            leads = f"{self.experts[0].name} leads with {self.experts[0].weight:.0%} of the weight"
            lines.append(leads + (f"; no step size is {self.edge[:-3]}er" if self.edge else ""))
        if self.thin:
            lines.append("evidence is thin: few experts are surely worse than the mixture, so that weights are prior")
        if self.clipped:
            lines.append(f"{self.clipped} readings beyond 1.5 × the largest deviation so far were clipped")
        if self.changes or self.restarts or self.diverged:
            lines.append(f"{self.changes} changes, {self.restarts} experts begun anew, {self.diverged} diverged")
        if self.moves:
            lines.append(f"step sizes moved on {self.moves} times")
        return lines
