"""Eligibility traces and step sizes for parameters of PyTorch: TD(λ) without replay, one transition at a time.

    e = γλ e + ∇,    θ += step δ e

`Traces` has the step sizes "intentional" (`td.steps.Intentional`) and "obgd" (`td.steps.ObGD`). Nothing else of the
package needs PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

from tdlambda.arrays import choice, flag, fraction, positive
from tdlambda.showing import says_arguments


@says_arguments
class Traces:
    """Traces of parameters, and the step along them.

    Call `backward()` on V(s), or on log π(a|s), and then `step(delta)`. The gradients are cleared.

    Parameters
    ----------
    params
        The parameters, as a module's `parameters()`.
    gamma
        Discount γ in [0, 1].
    lam
        Trace decay λ in [0, 1].
    step
        "intentional" or "obgd".
    alpha
        Step size: η in (0, 1] of "intentional", 0.3 by default; α > 0 of "obgd", 1 by default.
    kappa
        κ > 0 of "obgd": 2 for a critic, 3 for an actor.
    """

    def __init__(
        self,
        params: Iterable[Any],
        gamma: float = 0.99,
        lam: float = 0.8,
        step: Literal["intentional", "obgd"] = "intentional",
        alpha: float | None = None,
        kappa: float = 2.0,
    ) -> None:
        try:
            import torch
        except ImportError:
            raise ImportError("td.torch needs PyTorch: pip install torch") from None
        self._torch: Any = torch
        self.params = list(params)
        if not self.params or not all(isinstance(p, torch.Tensor) and p.requires_grad for p in self.params):
            raise TypeError("params must be tensors that require gradients, such as model.parameters()")
        self.gamma, self.lam = fraction(gamma, "gamma"), fraction(lam, "lam")
        self.how = choice(step, "step", "intentional", "obgd")
        alpha = (0.3 if step == "intentional" else 1.0) if alpha is None else alpha
        self.alpha = fraction(alpha, "alpha", zero=False) if step == "intentional" else positive(alpha, "alpha")
        self.kappa = positive(kappa, "kappa")
        self.traces = [torch.zeros_like(p) for p in self.params]
        self._decay, self._forget, self._total, self._weight = 0.0, self.gamma * self.lam, 0.0, 0.0

    def step(self, delta: float, terminated: bool = False, truncated: bool = False) -> None:
        """Add the gradients to the traces, and move the parameters along them.

        Parameters
        ----------
        delta
            The TD error r + γ V(s') - V(s), computed with V(s') = 0 only if `terminated`.
        terminated, truncated
            As in Gymnasium; either resets the traces after the step.
        """
        delta = float(delta)
        if not math.isfinite(delta):
            raise ValueError(f"delta must be finite; got {delta}")
        ends = flag(terminated, "terminated"), flag(truncated, "truncated")
        if any(p.grad is None for p in self.params):
            raise ValueError("params: a gradient is missing; call backward() before step()")
        with self._torch.no_grad():
            square = sum(float((p.grad * p.grad).sum()) for p in self.params)
            for p, e in zip(self.params, self.traces, strict=True):
                e.mul_(self._decay).add_(p.grad)
                p.grad = None
            size = self._size(delta, square, ends[0])
            for p, e in zip(self.params, self.traces, strict=True):
                p.add_(e, alpha=size * delta)
        self._decay = self.gamma * self.lam
        if any(ends):
            self.reset()

    def _size(self, delta: float, square: float, terminated: bool) -> float:
        """The step size of this step; `square` is |∇|²."""
        if self.how == "obgd":
            total = sum(float(e.abs().sum()) for e in self.traces)
            return self.alpha / max(1.0, self.alpha * self.kappa * max(abs(delta), 1.0) * total)
        self._forget = self._forget if terminated and self._weight > 0 else 0.0 if terminated else self.gamma * self.lam
        g = self._forget
        self._total, self._weight = g * self._total + (1 - g) * square, g * self._weight + 1 - g
        mean = self._total / self._weight if self._weight > 0 else square
        below = sum(float((e * e).sum()) for e in self.traces) * mean
        return self.alpha / math.sqrt(below) if below > 0 else 0.0

    def reset(self) -> None:
        """Set the traces to 0, as at the start of an episode."""
        for e in self.traces:
            e.zero_()
        self._decay = 0.0
