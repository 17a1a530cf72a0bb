"""Declarations of the algorithms behind the published numbers of the thesis, Zhao (2020).

The published numbers deviate from the thesis' description in a few points, which only this module implements:

- the meta-gradient has the sign printed in the thesis, + instead of - before (V-L)(V-M);
- the variance is learned from V's own errors, with a trace that decays by ρ only;
- META changes λ where the estimated variance exceeds a floor that does not depend on the unit of rewards;
- on FrozenLake, the gradient correction and META use γ' = 0.95 on termination, at the features of the last state.
"""

from __future__ import annotations

from typing import Any

from tdlambda.algorithms import TrueOnlineGTD
from tdlambda.arrays import fraction, not_negative, positive
from tdlambda.features import Encoder
from tdlambda.learners.step_size import OneOver
from tdlambda.rules import Lam
from tdlambda.rules.greedy import Greedy
from tdlambda.rules.lambda_rule import WithEstimates
from tdlambda.rules.meta import Meta, clip, encoder_or_none
from tdlambda.rules.moments import direct_square, of_mean, of_variance


class PublishedTrueOnlineGTD(TrueOnlineGTD):
    """True online GTD(λ) as used for the FrozenLake numbers: `last_discount` replaces γ' on termination.

    Parameters
    ----------
    features, alpha, lam, beta, options
        See `TrueOnlineGTD`.
    last_discount
        Discount in [0, 1] that replaces γ' = 0 in the gradient correction, at the features of the terminal observation.
    """

    parameters = of_value = "last_discount"
    reads_terminal = True

    @staticmethod
    def step(
        v, v_next, ex, hx, ex_h, hg, decay, v_old, rho_old, alpha, beta, last_discount, reward, gamma_next, rho,
        lam_next,
    ):  # fmt: skip
        """Coefficients of the update."""
        delta = reward + gamma_next * v_next - v
        keep, keep_h = rho * decay, rho_old * decay
        new, new_h = rho * alpha * (1 - keep * ex), beta * (1 - keep_h * ex_h)
        along, back = delta + v - v_old, -(v - v_old) * alpha * rho
        reach = last_discount if gamma_next == 0.0 else gamma_next
        correct = -alpha * reach * (1 - lam_next) * (keep * hg + rho * hx)
        along_h, back_h = rho * delta, -beta * hx
        decay, v_old, rho_old = gamma_next * lam_next, v_next, rho
        return keep, new, along, back, correct, keep_h, new_h, along_h, back_h, decay, v_old, rho_old

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Lam = 0.9,
        beta: float | None = None,
        last_discount: float = 0.95,
        **options: Any,
    ) -> None:
        super().__init__(features, alpha, lam, beta, last_discount=fraction(last_discount, "last_discount"), **options)


class PublishedMeta(Meta):
    """META as used for the published numbers, with gradient steps and unclipped weights.

    Parameters
    ----------
    kappa, features, ratio, trace_lam, rho_clip, warm_up, length, aux_alpha
        See `Meta`. The RingWorld numbers used `warm_up=0.1, length=10**6`.
    floor
        Estimated variance up to which λ does not change, at least 0.
    last_discount
        Discount in [0, 1] that replaces γ' = 0 in the meta-gradient: 0.95 for FrozenLake.
    """

    kept_as = {}
    parameters = "kappa floor rho_clip trace_lam pace reach_at_end"
    keeps = {"rho_acc": 1.0}
    pins = {"S.decay": 1.0}
    options = ("corrected",)

    def __init__(
        self,
        kappa: float = 1e-3,
        features: Encoder | None = None,
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        floor: float = 1.5e-8,
        rho_clip: float | None = None,
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
        last_discount: float = 0.0,
    ) -> None:
        WithEstimates.__init__(self, ratio, trace_lam, "target", warm_up, length, aux_alpha)
        self.kappa, self.features = positive(kappa, "kappa"), encoder_or_none(features)
        self.floor = not_negative(floor, "floor")
        self.rho_clip = None if rho_clip is None else positive(rho_clip, "rho_clip")
        self.last_discount = self.reach_at_end = fraction(last_discount, "last_discount")

    def constants(self) -> dict[str, Any]:
        """Constants of the generated code: the form of the rule."""
        return {"corrected": False}

    @staticmethod
    def step(
        v, v_next, m_next, l, l_next, s_next, uz, zz, kappa, floor, rho_clip, reach_at_end, reward, gamma_next,
        rho, ready, rho_acc, corrected,
    ):  # fmt: skip
        """Update λ'; return it and the targets of the estimates."""
        rho_acc = min(rho_acc * rho, rho_clip)
        value, gap = 1.0 - uz, v_next - l_next
        lam = clip(value)
        reach = gamma_next if gamma_next > 0.0 else reach_at_end
        slope = reach**2 * (gap**2 + s_next)
        offset = -1.0 * reach**2 * gap * (v_next - m_next)
        by = -kappa * rho_acc * (slope * lam - offset)
        go = ready and s_next > floor
        change = by if go else 0.0
        lam_next = clip(value + by * zz) if go else lam
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        square, shrink = of_variance(ahead, kept, l, l_next, rho, corrected)
        square = direct_square(reward + gamma_next * v_next - v, v, rho, corrected)
        return lam_next, change, ahead, kept, square, shrink, rho_acc


class PublishedGreedy(Greedy):
    """λ-greedy as used for the published numbers: the variance of the corrected return, from V's own errors.

    Parameters
    ----------
    ratio, trace_lam, warm_up, length, aux_alpha
        See `Greedy`. The published numbers used `warm_up=0.1, length=10**6`.
    """

    dots = {"v": "V.x", "v_next": "V.x'", "m_next": "M.x'", "s_next": "S.x'"}
    pins = {"S.decay": 1.0}
    options = ()

    def __init__(
        self,
        ratio: float = 2.0,
        trace_lam: float = 1.0,
        warm_up: float = 0,
        length: int | None = None,
        aux_alpha: float | None = None,
    ) -> None:
        super().__init__("direct", ratio, trace_lam, "corrected", warm_up, length, aux_alpha)

    def constants(self) -> dict[str, Any]:
        """No constants."""
        return {}

    @staticmethod
    def step(v, v_next, m_next, s_next, reward, gamma_next, rho, ready):
        """λ' as in `Greedy`."""
        square, shrink = (reward + gamma_next * v_next - v) ** 2, (rho * gamma_next) ** 2
        bias = (v_next - m_next) ** 2
        below = bias + max(s_next, 0.0)
        lam_next = bias / below if below > 0 and ready else 1.0
        return lam_next, square, shrink
