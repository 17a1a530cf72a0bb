"""VTD: the second moment of the λ-return (White & White 2016), and from it the variance.

As in direct VTD, V and J = E[G^λ] are learnt beside it. With Ḡ = r' + γ' (1-λ') V(x'):

    M:     reward Ḡ² + 2 γ'λ' Ḡ J(x'),     discount (γ'λ')²           "target": as under the target policy
           the same times ρ²,              discount (ρ γ'λ')²         "corrected": of ρ (r' + γ' [...])
    Var  = M - J²

The first form is corrected by ρ like any value; the second is an expectation under the behaviour policy and is not.
(The thesis writes M where V belongs in Ḡ.)
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined
from tdlambda.learners import memory, true_online_td
from tdlambda.learners.memory import GAMMA, LAM, OPTION, RHO_PREV, V_OLD, Index, Value, dot, enliven, prune
from tdlambda.learners.variance import J_OLD, S_OLD, TARGET, TRACE, VarianceLearner

_learn = true_online_td.learn


@inlined
def step(
    F: Floats, M: Floats, I: Ints, alpha: float, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition. Rows of F: the weights of V, J and M, then their traces."""
    gamma_lam, gamma_lam_next, trace = M[GAMMA] * M[LAM], gamma_next * lam_next, M[TRACE]
    cumulant = reward + gamma_next * (1 - lam_next) * dot(F[0], y, yv, n_next)
    square = cumulant**2 + 2 * gamma_lam_next * cumulant * dot(F[1], y, yv, n_next)
    discount, kept, ratio = gamma_lam_next**2, gamma_lam**2, rho
    if I[OPTION] != TARGET:
        square, discount, kept, ratio = rho**2 * square, rho**2 * discount, M[RHO_PREV] ** 2 * kept, 1.0
    within = _learn(F[2], F[5], M, I, S_OLD, alpha, x, xv, y, yv, n_next, square, discount, ratio, kept * trace)
    within &= _learn(
        F[1], F[4], M, I, J_OLD, alpha, x, xv, y, yv, n_next, cumulant, gamma_lam_next, rho, gamma_lam * trace
    )
    within &= _learn(F[0], F[3], M, I, V_OLD, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, gamma_lam)
    enliven(I, x, len(x), F.shape[1])
    prune(F, M, I, alpha)
    return within


class VTD(VarianceLearner):
    """VTD: learns the second moment; the variance is what it exceeds the squared mean by.

    Parameters are those of `VarianceLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0", n=3)
    >>> variance = td.VTD(walk.features, alpha=td.OneOver("visits", power=0.8), lam=1.0)
    >>> variance.update_many(walk.sampler(seed=1).take(200_000))
    >>> variance.predict(2), walk.mdp.return_variance()[2]
    (0.99..., np.float64(1.0))
    """

    code = memory.VTD

    def _variance(self, mean: Floats, second: Floats) -> Floats:
        return second - mean**2
