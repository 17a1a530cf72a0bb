"""Direct VTD: the variance of the λ-return, learnt as a value of its own (Sherstan et al. 2018).

Three true online TD learners run side by side on one stream: V, the value; J = E[G^λ], the mean of the λ-return that
bootstraps from V; and its variance. With ᵗ for what belongs to x_{t+1}:

    δᴶ = r' + γ' [ (1-λ') V(x') + λ' J(x') ] - J(x)
    V:     reward r',                      discount γ'
    J:     reward r' + γ' (1-λ') V(x'),    discount γ'λ'
    Var:   reward δᴶ²,                     discount (γ'λ')²           "target": as under the target policy
           reward (ρ δᴶ + (ρ-1) J(x))²,    discount (ρ γ'λ')²         "corrected": of ρ (r' + γ' [...]), the return
                                                                      that is really used as a target

The first form is corrected by ρ like any value; the second is an expectation under the behaviour policy and is not.
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
    """One transition. Rows of F: the weights of V, J and Var, then their traces."""
    rho_prev, gamma_lam, gamma_lam_next = M[RHO_PREV], M[GAMMA] * M[LAM], gamma_next * lam_next
    v_next = dot(F[0], y, yv, n_next)
    j, j_next = dot(F[1], x, xv, len(x)), dot(F[1], y, yv, n_next)
    cumulant = reward + gamma_next * (1 - lam_next) * v_next
    delta_j = cumulant + gamma_lam_next * j_next - j
    if I[OPTION] == TARGET:
        square, discount, kept, ratio = delta_j**2, gamma_lam_next**2, gamma_lam**2, rho
    else:
        square, discount = (rho * delta_j + (rho - 1) * j) ** 2, (rho * gamma_lam_next) ** 2
        kept, ratio = (rho_prev * gamma_lam) ** 2, 1.0
    trace = M[TRACE]
    within = _learn(F[2], F[5], M, I, S_OLD, alpha, x, xv, y, yv, n_next, square, discount, ratio, kept * trace)
    within &= _learn(
        F[1], F[4], M, I, J_OLD, alpha, x, xv, y, yv, n_next, cumulant, gamma_lam_next, rho, gamma_lam * trace
    )
    within &= _learn(F[0], F[3], M, I, V_OLD, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, gamma_lam)
    enliven(I, x, len(x), F.shape[1])
    prune(F, M, I, alpha)
    return within


class DirectVTD(VarianceLearner):
    """Direct VTD: learns the variance itself, from squared errors of the mean; accurate where the mean is large.

    Parameters are those of `VarianceLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0", n=3)
    >>> variance = td.DirectVTD(walk.features, alpha=td.OneOver("visits", power=0.8), lam=1.0)
    >>> variance.update_many(walk.sampler(seed=1).take(200_000))
    >>> variance.predict(2), walk.mdp.return_variance()[2]
    (0.99..., np.float64(1.0))
    """

    code = memory.DIRECT_VTD

    def _variance(self, mean: Floats, second: Floats) -> Floats:  # noqa: ARG002
        return second
