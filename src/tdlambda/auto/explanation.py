"""What an `AutoTD` believes, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expert:
    """One expert of the bank: a learner, or its average over time."""

    alpha: float
    lam: float
    averaged: bool
    weight: float
    """Its share in the prediction."""
    error: float
    """An estimate of its mean squared value error less that of the mixture."""
    standard_error: float
    """Of that estimate."""


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
    """Averaged copies that restarted because their learner was surely better."""
    diverged: int
    """Learners that were dropped."""

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
        return sum(e.weight * e.lam for e in self.experts)

    def __str__(self) -> str:
        """The table."""
        lines = [
            f"{self.steps:,} steps, the last {self.window:,} of one kind; {self.effective:.1f} experts share the "
            f"weight, {self.averaged:.0%} of it averages",
            "      α      λ  averaged  weight  error - mixture's",
        ]
        lines += [
            f"{e.alpha:7g} {e.lam:6g}  {'yes' if e.averaged else 'no':8}  {e.weight:6.3f}"
            f"  {e.error:+.1e} ± {e.standard_error:.0e}"
            for e in self.experts
            if e.weight > 0.01
        ]
        if self.changes or self.restarts or self.diverged:
            lines.append(f"{self.changes} changes, {self.restarts} averages begun anew, {self.diverged} diverged")
        return "\n".join(lines)
