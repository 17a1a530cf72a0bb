"""GTD(λ), also known as TDC(λ): Maei (2011), Sutton & Barto (2018) section 12.11.

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]
    h += β [ δ e - (h·x) x ]

h estimates the part of δ that the features can explain; both changes use h from before the step.
"""

from typing import Any

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, positive
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.memory import (
    BETA,
    DECAY,
    DELTA,
    V_OLD,
    Index,
    Value,
    add,
    add_within,
    decay_and_follow,
    dot,
    dot_live,
    follow,
)  # fmt: skip


@inlined
def coefficients(
    delta: float, hx: float, eh: float, alpha: float, beta: float,
    gamma_next: float, rho: float, gamma_lam: float, lam_next: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """e = keep e + new x; w += along e + back x'; h += along_h e + back_h x. `eh` is e·h before the step."""
    keep = rho * gamma_lam
    eh_new = keep * eh + rho * hx
    return keep, rho, alpha * delta, -alpha * gamma_next * (1 - lam_next) * eh_new, beta * delta, -beta * hx


@inlined
def learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, alpha: float, beta: float, x: Index, xv: Value, y: Index, yv: Value,
    n_next: int, reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for the block at row b and slot m. Rows: w, h, e."""
    w, h, e, n = F[b], F[b + 1], F[b + 2], len(x)
    v, v_next = dot(w, x, xv, n), dot(w, y, yv, n_next)
    delta = reward + gamma_next * v_next - v
    keep, new, along, back, along_h, back_h = coefficients(
        delta, dot(h, x, xv, n), dot_live(e, h, I), alpha, beta, gamma_next, rho, M[m + DECAY], lam_next
    )
    within = decay_and_follow(e, keep, w, along, M, I) & follow(h, along_h, e, M, I)
    add(e, new, x, xv, n)
    within &= add_within(w, along * new, x, xv, n, M) & add_within(w, back, y, yv, n_next, M)
    within &= add_within(h, along_h * new + back_h, x, xv, n, M)
    M[m + V_OLD], M[m + DELTA], M[m + DECAY] = v_next, delta, gamma_next * lam_next
    return within


class GTD(TraceLearner):
    """GTD(λ): off-policy TD(λ) that converges with linear features, by gradient descent on the MSPBE.

    Parameters
    ----------
    features, alpha, lam
        See `TraceLearner`.
    beta
        Step size of the second weights: a number; α itself by default. With a schedule for α, a factor on α.
    options
        The rest of `TraceLearner`'s parameters.

    Examples
    --------
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> v = td.GTD(baird.features, alpha=0.005, lam=0.0, beta=0.05, initial=baird.initial_weights)
    >>> v.update_many(baird.sampler(seed=1).take(20_000))
    >>> bool(abs(v.weights).max() < 20)
    True
    """

    code = memory.GTD
    weight_rows = 2
    trace_rows = 1

    def __init__(
        self, features: Encoder, alpha: float | OneOver, lam: Any = 0.9, beta: float | None = None, **options: Any
    ) -> None:
        super().__init__(features, alpha, lam, **options)
        self.beta = None if beta is None else positive(beta, "beta")
        default = 1.0 if isinstance(self.alpha, OneOver) else self.alpha  # with a schedule, β is a factor on α
        self._M[BETA] = default if self.beta is None else self.beta

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"beta": self.beta}
