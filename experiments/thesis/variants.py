"""META as published with one of its peculiarities taken away, and META with the printed sign but Newton steps.

Rules of our own, for `experiments/figures/pages.py` and `causes.py`: what they show is not worth a rule of the library.
"""

from typing import Any

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.rules.meta import clip
from tdlambda.rules.moments import direct_square, of_mean, of_variance


class Variant(PublishedMeta):
    """`PublishedMeta`; if not `printed`, with the derived sign; if not `from_v`, the variance from E[G^λ]'s errors."""

    options = ("corrected", "printed", "from_v")

    def __init__(self, kappa: float, printed: bool = True, from_v: bool = True, **options: Any) -> None:
        super().__init__(kappa, **options)
        self.printed, self.from_v = printed, from_v

    def constants(self) -> dict[str, Any]:
        """The form of the rule."""
        return super().constants() | {"printed": self.printed, "from_v": self.from_v}

    @staticmethod
    def step(
        v, v_next, m_next, l, l_next, s_next, uz, zz, kappa, floor, rho_clip, reach_at_end, reward, gamma_next,
        rho, ready, rho_acc, corrected, printed, from_v,
    ):  # fmt: skip
        """Move λ', then say what the estimates learn."""
        rho_acc = min(rho_acc * rho, rho_clip)
        value, gap = 1.0 - uz, v_next - l_next
        lam = clip(value)
        reach = gamma_next if gamma_next > 0.0 else reach_at_end
        slope, offset = reach**2 * (gap**2 + s_next), reach**2 * gap * (v_next - m_next)
        if printed:
            offset = -offset
        by = -kappa * rho_acc * (slope * lam - offset)
        go = ready and s_next > floor
        change = by if go else 0.0
        lam_next = clip(value + by * zz) if go else lam
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        square, shrink = of_variance(ahead, kept, l, l_next, rho, corrected)
        if from_v:
            square = direct_square(reward + gamma_next * v_next - v, v, rho, corrected)
        return lam_next, change, ahead, kept, square, shrink, rho_acc

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"printed": self.printed, "from_v": self.from_v}


class PrintedNewton(td.rules.Meta):
    """`td.rules.Meta(kappa, "derived")`, Newton steps, with the sign that the thesis prints."""

    keeps = {}  # noqa: RUF012
    options = ("corrected",)

    def __init__(self, kappa: float) -> None:
        super().__init__(kappa, "derived")

    @staticmethod
    def step(
        v_next, m_next, l, l_next, s_next, uz, zz, kappa, floor, reward, gamma_next, rho, ready, most_reward,
        corrected,
    ):  # fmt: skip
        """Move λ' a share κ of the way to where the printed derivative is 0."""
        value, gap = 1.0 - uz, v_next - l_next
        lam = clip(value)
        slope = gamma_next**2 * (gap**2 + s_next)
        derivative = slope * lam + gamma_next**2 * gap * (v_next - m_next)
        best = clip(lam - derivative / slope) if slope > 0 else lam
        per_norm = 1.0 / zz if zz > 0 else 0.0
        after = clip(value + kappa * (best - lam) * per_norm * zz)
        go = ready and s_next > floor * most_reward**2
        change = (after - value) * per_norm if go else 0.0
        lam_next = after if go else lam
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        square, shrink = of_variance(ahead, kept, l, l_next, rho, corrected)
        return lam_next, change, ahead, kept, square, shrink

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"kappa": self.kappa}
