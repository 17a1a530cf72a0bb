"""True online GTD(λ): van Hasselt, Mahmood & Sutton (2014).

    δ   = r' + γ' w·x' - w·x
    e   = ρ [ γλ e + α (1 - ργλ x·e) x ]
    e∇  = ρ [ γλ e∇ + x ]
    e_h = ρ⁻γλ e_h + β (1 - ρ⁻γλ x·e_h) x
    w  += δ e + (w·x - w⁻·x) (e - αρ x) - α γ' (1-λ') (h·e∇) x'
    h  += ρ δ e_h - β (h·x) x

γ, λ and ρ belong to x, ρ⁻ to the step before; x' = 0 on termination. With h = 0 this is true online TD(λ).
"""

from typing import Any

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, fraction
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.learners import true_online_td
from tdlambda.learners.gtd_lambda import GTD
from tdlambda.learners.step_size import OneOver
from tdlambda.memory import (
    DECAY,
    DELTA,
    FIRST_BLOCK,
    LAST_DISCOUNT,
    RHO_PREV,
    UNDER_WAY,
    V_OLD,
    Index,
    Value,
    add,
    add_within,
    decay,
    decay_and_follow,
    dot,
    dot_live,
)  # fmt: skip

_td = true_online_td.coefficients


@inlined
def coefficients(
    delta: float, hx: float, xh: float, grad: float, alpha: float, beta: float,
    gamma_next: float, rho: float, rho_prev: float, gamma_lam: float, lam_next: float,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """e_h = keep e_h + new x; w += back x'; h += along e_h + back_h x. `xh` is x·e_h, `grad` h·e∇ before the step."""
    keep = rho_prev * gamma_lam
    new = beta * (1 - keep * xh)
    grad_new = rho * gamma_lam * grad + rho * hx
    return keep, new, -alpha * gamma_next * (1 - lam_next) * grad_new, rho * delta, -beta * hx


@inlined
def learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, alpha: float, beta: float, x: Index, xv: Value, y: Index, yv: Value,
    n_next: int, reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for the block at row b and slot m. Rows: w, h, e, e∇, e_h."""
    w, h, e, e_grad, e_h, n = F[b], F[b + 1], F[b + 2], F[b + 3], F[b + 4], len(x)
    v, v_next = dot(w, x, xv, n), dot(w, y, yv, n_next)
    v_old = M[m + V_OLD] if I[UNDER_WAY] else v
    gamma_lam, delta = M[m + DECAY], reward + gamma_next * v_next - v
    reach = M[LAST_DISCOUNT] if gamma_next == 0.0 and m == FIRST_BLOCK else gamma_next
    keep, new, along, back = _td(v, v_next, v_old, dot(e, x, xv, n), alpha, reward, gamma_next, rho, gamma_lam)
    keep_h, new_h, back_next, along_h, back_h = coefficients(
        delta, dot(h, x, xv, n), dot(e_h, x, xv, n), dot_live(h, e_grad, I), alpha, beta,
        reach, rho, M[m + RHO_PREV], gamma_lam, lam_next,
    )  # fmt: skip
    within = decay_and_follow(e, keep, w, along, M, I) & decay_and_follow(e_h, keep_h, h, along_h, M, I)
    decay(e_grad, keep, I)
    add(e, new, x, xv, n)
    add(e_grad, rho, x, xv, n)
    add(e_h, new_h, x, xv, n)
    within &= add_within(w, along * new + back, x, xv, n, M) & add_within(w, back_next, y, yv, n_next, M)
    within &= add_within(h, along_h * new_h + back_h, x, xv, n, M)
    M[m + V_OLD], M[m + DELTA], M[m + DECAY], M[m + RHO_PREV] = v_next, delta, gamma_next * lam_next, rho
    return within


class TrueOnlineGTD(GTD):
    """True online GTD(λ): safe off-policy with linear features, and as exact as true online TD(λ) on-policy.

    Parameters
    ----------
    features, alpha, lam, beta, options
        See `GTD`.
    last_discount
        γ' that the gradient correction, and META's step, take where γ' is 0, at the features of the terminal
        observation. It should be 0; the published FrozenLake numbers were made with 0.95.

    Examples
    --------
    >>> import tdlambda as td
    >>> lake = td.make("FrozenLake-v0")
    >>> v = td.TrueOnlineGTD(lake.features, alpha=0.002, lam=0.9)
    >>> v.update_many(lake.sampler(seed=1).take(200_000))
    >>> bool(lake.mdp.value_error(v.predict_many(range(16)), lake.target, half=False) < 1e-3)
    True
    """

    code = memory.TRUE_ONLINE_GTD
    trace_rows = 3

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Any = 0.9,
        beta: float | None = None,
        last_discount: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(features, alpha, lam, beta, **options)
        self.last_discount = fraction(last_discount, "last_discount")
        self._M[LAST_DISCOUNT] = self.last_discount

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"last_discount": self.last_discount}
