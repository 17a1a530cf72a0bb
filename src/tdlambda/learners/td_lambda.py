"""TD(λ) with accumulating, replacing or Dutch traces (Sutton 1988; Singh & Sutton 1996; van Seijen et al. 2016).

δ  = r' + γ' w·x' - w·x
e  = ρ (γλ e + x)                       accumulating
e  = ρ (γλ e, or x where x ≠ 0)         replacing (for binary features)
e  = ρ (γλ e + (1 - αργλ x·e) x)        Dutch
w += α δ e
"""

from typing import Any, Literal

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, choice
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.memory import (
    DECAY,
    DELTA,
    OPTION,
    V_OLD,
    Index,
    Value,
    add,
    add_within,
    decay_and_follow,
    dot,
)  # fmt: skip

_TRACES = ("accumulating", "replacing", "dutch")
ACCUMULATING, REPLACING, DUTCH = range(3)


@inlined
def coefficients(
    delta: float, xe: float, alpha: float, option: int, rho: float, gamma_lam: float
) -> tuple[float, float, float]:
    """e = keep e + new x (replacing: after e is set to 0 where x is not), then w += along e."""
    keep = rho * gamma_lam
    new = rho * (1 - alpha * keep * xe) if option == DUTCH else rho
    return keep, new, alpha * delta


@inlined
def learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, alpha: float, beta: float, x: Index, xv: Value, y: Index, yv: Value,
    n_next: int, reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for the block at row b and slot m. Rows: w, e."""
    w, e, n = F[b], F[b + 1], len(x)
    v, v_next = dot(w, x, xv, n), dot(w, y, yv, n_next)
    delta = reward + gamma_next * v_next - v
    keep, new, along = coefficients(delta, dot(e, x, xv, n), alpha, I[OPTION], rho, M[m + DECAY])
    if I[OPTION] == REPLACING:
        for j in range(n):
            if xv[j] != 0:
                e[x[j]] = 0.0
    within = decay_and_follow(e, keep, w, along, M, I)
    add(e, new, x, xv, n)
    within &= add_within(w, along * new, x, xv, n, M)
    M[m + V_OLD], M[m + DELTA], M[m + DECAY] = v_next, delta, gamma_next * lam_next
    return within


class TD(TraceLearner):
    """TD(λ): the classic, and TD(0) with `lam=0`.

    Parameters
    ----------
    features, alpha, lam
        See `TraceLearner`.
    trace
        "accumulating", "replacing" (binary features) or "dutch".
    options
        The rest of `TraceLearner`'s parameters.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.OneHot(3), alpha=0.5, lam=0.0)
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.5
    """

    code = memory.TD

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Any = 0.9,
        trace: Literal["accumulating", "replacing", "dutch"] = "accumulating",
        **options: Any,
    ) -> None:
        choice(trace, "trace", *_TRACES)
        super().__init__(features, alpha, lam, **options)
        self.trace_kind = trace
        self._I[OPTION] = _TRACES.index(trace)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"trace": self.trace_kind}
