"""`PublishedMeta` against the thesis' own tables. Slow: runs of 10⁶ steps, as there."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.lab.reproduction.published import thesis_tables
from tdlambda.rules.meta import clip
from tdlambda.rules.moments import of_mean, of_variance
from tdlambda.tasks import TabularTask

STEPS = 10**6
CELLS = {(cell.table, cell.method, cell.lam, cell.alpha): cell for cell in thesis_tables()}


@cache
def late_error(policies: str, alpha: float, rule: Any, seed: int) -> float:
    """Σ d (V - v)² of true online GTD on RingWorld, the mean of 100 readings in the last tenth."""
    ring = td.make("RingWorld-v0", policies)
    assert isinstance(ring, TabularTask)
    d, v, errors = ring.exact.error_weights(), ring.exact.v(), []
    learner, sampler = td.TrueOnlineGTD(ring.features, alpha, rule), ring.sampler(seed=seed)
    learner.update_many(sampler.take(STEPS - STEPS // 10))
    for _ in range(100):
        learner.update_many(sampler.take(STEPS // 1000))
        errors.append(d @ (learner.weights - v) ** 2)
    return float(np.mean(errors))


class FromMeanErrors(PublishedMeta):
    """The same, but for the variance: learned from the errors of E[G^λ], as described."""

    @staticmethod
    def step(  # type: ignore[no-untyped-def, override]
        v_next, m_next, l, l_next, s_next, uz, zz, kappa, floor, rho_clip, reach_at_end, reward, gamma_next,  # noqa: E741
        rho, ready, rho_acc, corrected,
    ):  # fmt: skip
        rho_acc = min(rho_acc * rho, rho_clip)
        value, gap = 1.0 - uz, v_next - l_next
        lam = clip(value)
        reach = gamma_next if gamma_next > 0.0 else reach_at_end
        slope, offset = reach**2 * (gap**2 + s_next), -(reach**2) * gap * (v_next - m_next)
        by = -kappa * rho_acc * (slope * lam - offset)
        go = ready and s_next > floor
        change = by if go else 0.0
        lam_next = clip(value + by * zz) if go else lam
        ahead, kept = of_mean(v_next, lam_next, reward, gamma_next)
        square, shrink = of_variance(ahead, kept, l, l_next, rho, corrected)
        return lam_next, change, ahead, kept, square, shrink, rho_acc


def preset(kappa: float, kind: type[PublishedMeta] = PublishedMeta) -> td.rules.Meta:
    return kind(kappa, warm_up=0.1, length=STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "kappa"), [(1e-4, 1e-5), (1e-3, 1e-3), (1e-2, 1e-2), (5e-2, 1e-1)])
def test_the_meta_column_with_its_best_kappa(alpha: float, kappa: float) -> None:
    errors = [late_error("0.4/0.35", alpha, preset(kappa), seed) for seed in range(96)]
    theirs = CELLS["ringworld_04_035", "META", None, alpha]
    spread = np.hypot(np.std(errors, ddof=1) / np.sqrt(96), theirs.std / np.sqrt(240))
    assert abs(np.mean(errors) - theirs.mean) < 3.5 * spread


@pytest.mark.slow
@pytest.mark.parametrize("policies", ["0.4/0.35", "0.3/0.25", "0.2/0.15"])
def test_the_variance_was_learned_from_the_errors_of_v(policies: str) -> None:
    """Small α and κ: how much the error exceeds that of λ = 1 says how fast λ left 1, and that says how large S was.

    The tables have three digits, so the excess is known to about 0.2 %.
    """
    table, alpha, seeds = "ringworld_" + policies.replace("/", "_").replace(".", ""), 2e-5, range(4)
    theirs = CELLS[table, "META", None, alpha].mean / CELLS[table, "fixed", 1.0, alpha].mean - 1
    base = np.array([late_error(policies, alpha, 1.0, seed) for seed in seeds])
    ours, other = (
        np.mean([late_error(policies, alpha, rule, seed) for seed in seeds] / base) - 1
        for rule in (preset(1e-7), preset(1e-7, FromMeanErrors))
    )
    assert abs(ours - theirs) < 0.003
    assert abs(other - theirs) > 0.0045
