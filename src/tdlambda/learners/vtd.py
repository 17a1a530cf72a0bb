"""VTD: the second moment of the λ-return (White & White 2016), and from it the variance.

As in direct VTD, V and J = E[G^λ] are learnt beside it. With Ḡ = r' + γ' (1-λ') V(x'):

    M:     reward Ḡ² + 2 γ'λ' Ḡ J(x'),     discount (γ'λ')²           "target": as under the target policy
           the same times ρ²,              discount (ρ γ'λ')²         "corrected": of ρ (r' + γ' [...])
    Var  = M - J²

The first form is corrected by ρ like any value; the second is an expectation under the behaviour policy and is not.
(The thesis writes M where V belongs in Ḡ.)
"""

from tdlambda import memory
from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined
from tdlambda.learners.variance import VarianceLearner
from tdlambda.memory import CORRECTED, TRACE_LAM, TRACE_ROWS, WEIGHT_ROWS, Index, Value, assign, dot
from tdlambda.moments import of_mean, of_second_moment


@inlined
def prepare(
    F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float, lam_next: float,
) -> float:  # fmt: skip
    """Hand V, J and M their rewards and discounts; λ' as it is."""
    rows, corrected, trace = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[CORRECTED], M[TRACE_LAM]
    ahead, kept = of_mean(dot(F[0], y, yv, n_next), lam_next, reward, gamma_next)
    square, discount, ratio = of_second_moment(ahead, kept, dot(F[rows], y, yv, n_next), rho, corrected)
    assign(M, 0, reward, gamma_next, rho, lam_next)
    assign(M, 1, ahead, kept, rho, trace)
    assign(M, 2, square, discount, ratio, trace)
    return lam_next


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

    bundle = memory.VTD

    def _variance(self, mean: Floats, second: Floats) -> Floats:
        return second - mean**2
