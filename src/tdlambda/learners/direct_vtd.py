"""Direct VTD: the variance of the λ-return, learnt as a value of its own (Sherstan et al. 2018).

Three true online TD learners run side by side on one stream: V, the value; J = E[G^λ], the mean of the λ-return that
bootstraps from V; and its variance.

    δᴶ = r' + γ' [ (1-λ') V(x') + λ' J(x') ] - J(x)
    V:     reward r',                      discount γ'
    J:     reward r' + γ' (1-λ') V(x'),    discount γ'λ'
    Var:   reward δᴶ²,                     discount (γ'λ')²           "target": as under the target policy
           reward (ρ δᴶ + (ρ-1) J(x))²,    discount (ρ γ'λ')²         "corrected": of ρ (r' + γ' [...]), the return
                                                                      that is really used as a target

The first form is corrected by ρ like any value; the second is an expectation under the behaviour policy and is not.
"""

from tdlambda import memory
from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined
from tdlambda.learners.variance import VarianceLearner
from tdlambda.memory import CORRECTED, TRACE_LAM, TRACE_ROWS, WEIGHT_ROWS, Index, Value, assign, dot
from tdlambda.moments import of_mean, of_variance


@inlined
def prepare(
    F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float, lam_next: float,
) -> float:  # fmt: skip
    """Hand V, J and Var their rewards and discounts; λ' as it is."""
    rows, corrected, trace = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[CORRECTED], M[TRACE_LAM]
    j, j_next = dot(F[rows], x, xv, len(x)), dot(F[rows], y, yv, n_next)
    ahead, kept = of_mean(dot(F[0], y, yv, n_next), lam_next, reward, gamma_next)
    square, discount, ratio = of_variance(ahead, kept, j, j_next, rho, corrected)
    assign(M, 0, reward, gamma_next, rho, lam_next)
    assign(M, 1, ahead, kept, rho, trace)
    assign(M, 2, square, discount, ratio, trace)
    return lam_next


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

    bundle = memory.DIRECT_VTD

    def _variance(self, mean: Floats, second: Floats) -> Floats:  # noqa: ARG002
        return second
