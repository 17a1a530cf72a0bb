"""Differential TD(λ) for the average reward: Wan, Naik & Sutton (2021); with traces, Naik & Sutton (2022).

    δ  = r' - r̄ + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α δ e
    r̄ += η α ρ δ                                   rate="td", on- and off-policy
    r̄ += η α (r' - r̄)                              rate="mean", on-policy: Tsitsiklis & Van Roy (1999)

With γ = 1 and no terminal state, w learns the differential values, up to a constant, and r̄ the average reward of the
target policy. With γ < 1 this is TD(λ) with reward centring (Naik, Wan, Tomar & Sutton 2024): w·x predicts the
discounted sum of r - r̄. r̄ carries over from one episode to the next.
"""

from __future__ import annotations

from typing import Any, Literal

from tdlambda.arrays import choice, positive
from tdlambda.core import declare
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.rules import Lam


class DifferentialTD(Algorithm):
    """Differential TD(λ): learns values relative to the average reward, and the average reward itself.

    With γ < 1 this is TD(λ) with reward centring.

    Parameters
    ----------
    features, alpha, lam, options
        See `Algorithm`.
    eta
        η > 0, the step size of the average reward as a multiple of α.
    rate
        What the average reward is learned from: "td", the TD error δ; "mean", the rewards alone. Use "mean"
        on-policy only: off-policy it estimates the behaviour policy's average reward.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.DifferentialTD(td.features.OneHot(2), alpha=0.05, lam=0.5)
    >>> for _ in range(2_000):                     # rewards 0, 1, 0, 1, …
    ...     v.update(0, 0.0, 1, gamma=1.0)
    ...     v.update(1, 1.0, 0, gamma=1.0)
    >>> round(v.reward_rate, 3), round(v.predict(1) - v.predict(0), 3)
    (0.5, 0.5)
    """

    parameters = of_value = "eta"
    eta, ranges = 1.0, {"eta": positive}
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    holds, center = {"mean": 0.0}, "mean"
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, mean, eta, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; the reward is already centred, r' - r̄."""
        delta = reward + gamma_next * v_next - v
        along, keep = alpha * delta, rho * decay
        mean, decay = mean + eta * alpha * rho * delta, gamma_next * lam_next
        return keep, along, decay, mean

    def __init__(
        self, features: Encoder, alpha: Alpha, lam: Lam = 0.9, *, rate: Literal["td", "mean"] = "td", **options: Any
    ) -> None:
        self.rate = choice(rate, "rate", "td", "mean")
        super().__init__(features, alpha, lam, **options)

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        return type(self) if self.rate == "td" else MeanRewardTD

    @property
    def reward_rate(self) -> float:
        """The current estimate r̄ of the average reward."""
        return float(self.memory["V_mean"])


class MeanRewardTD(declare.AlgorithmDeclaration):
    """Differential TD(λ) that learns r̄ from rewards alone."""

    parameters = of_value = "eta"
    dots, keeps, updates = DifferentialTD.dots, DifferentialTD.keeps, DifferentialTD.updates
    holds, center = DifferentialTD.holds, DifferentialTD.center

    @staticmethod
    def step(v, v_next, decay, mean, eta, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; the reward is already centred, r' - r̄."""
        along, keep = alpha * (reward + gamma_next * v_next - v), rho * decay
        mean, decay = mean + eta * alpha * reward, gamma_next * lam_next
        return keep, along, decay, mean
