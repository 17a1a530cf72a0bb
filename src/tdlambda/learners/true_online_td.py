"""True online TD(λ): van Seijen & Sutton (2014); off-policy as in van Hasselt, Mahmood & Sutton (2014).

    δ  = r' + γ' w·x' - w·x
    e  = ρ [ γλ e + α (1 - ργλ x·e) x ]
    w += δ e + (w·x - w⁻·x) (e - αρ x)

γ, λ and ρ belong to x; w⁻ are the weights one step ago (w itself at an episode's start). With constant weights this is
TD(λ); with these two corrections it equals, after every step, the online λ-return algorithm

    w_{k+1} = w_k + α ρ_k (G_k - w_k·x_k) x_k,    G_k = r_{k+1} + γ_{k+1} [ V + λ_{k+1} ρ_{k+1} (G_{k+1} - V) ]

restarted at each step t with the data so far, where V = w_k·x_{k+1} with the weights of time k; the last G is one-step.
"""

from typing import Any

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.memory import (
    DECAY,
    DELTA,
    TRUE_ONLINE_TD,
    UNDER_WAY,
    V_OLD,
    Index,
    Value,
    add,
    add_within,
    decay_and_follow,
    dot,
)  # fmt: skip


@inlined
def coefficients(
    v: float, v_next: float, v_old: float, xe: float, alpha: float,
    reward: float, gamma_next: float, rho: float, gamma_lam: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """What the update does, in four numbers: e = keep e + new x, then w += along e + back x."""
    delta = reward + gamma_next * v_next - v
    keep = rho * gamma_lam
    new = rho * alpha * (1 - keep * xe)
    return keep, new, delta + v - v_old, -(v - v_old) * alpha * rho


@inlined
def learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, alpha: float, beta: float, x: Index, xv: Value, y: Index, yv: Value,
    n_next: int, reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for the block at row b and slot m. Rows: w, e."""
    w, e, n = F[b], F[b + 1], len(x)
    v, v_next = dot(w, x, xv, n), dot(w, y, yv, n_next)
    v_old = M[m + V_OLD] if I[UNDER_WAY] else v
    keep, new, along, back = coefficients(
        v, v_next, v_old, dot(e, x, xv, n), alpha, reward, gamma_next, rho, M[m + DECAY]
    )
    within = decay_and_follow(e, keep, w, along, M, I)
    add(e, new, x, xv, n)
    within &= add_within(w, along * new + back, x, xv, n, M)
    M[m + V_OLD], M[m + DELTA], M[m + DECAY] = v_next, reward + gamma_next * v_next - v, gamma_next * lam_next
    return within


class TrueOnlineTD(TraceLearner):
    """True online TD(λ), on- and off-policy: the default choice for prediction with linear features.

    Equal to the online λ-return algorithm after every step, at the cost of TD(λ). Off-policy with function
    approximation it may diverge (see `TrueOnlineGTD`).

    Parameters are those of `TraceLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=0.9)
    >>> v.update_many(ring.sampler(seed=1).take(100_000))
    >>> bool(ring.mdp.value_error(v.predict_many(range(11)), ring.target) < 1e-3)
    True
    """

    code = TRUE_ONLINE_TD

    def __init__(self, features: Encoder, alpha: float | OneOver, lam: Any = 0.9, **options: Any) -> None:
        super().__init__(features, alpha, lam, **options)
