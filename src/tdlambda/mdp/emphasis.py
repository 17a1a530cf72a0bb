"""Emphasis of emphatic TD: the interest in a state and in those that bootstrap from it (Sutton et al. 2016).

    F = ρ⁻ γ F⁻ + i,    M = λ i + (1-λ) F,    e = ρ (γλ e + M x)

In the long run under the behaviour policy, with d its distribution over non-terminal states,

    f = (I - Γ P_πᵀ)⁻¹ (d∘i),    m = Λ (d∘i) + (I - Λ) f        where f(s) = d(s) E[F|s], m(s) = d(s) E[M|s]

ETD(λ, β) (Hallak et al. 2016) has β in place of γ in F alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from tdlambda.arrays import Floats
from tdlambda.mdp.distribution import visited
from tdlambda.mdp.overflow import quiet
from tdlambda.mdp.resolvent import Resolvent
from tdlambda.mdp.values import require_proper, transition_matrix
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP


@dataclass(frozen=True, repr=False)
class Emphasis(PrintedTable):
    """The follow-on f(s) = d(s) E[F|s] and the emphasis m(s) = d(s) E[M|s] of each state."""

    followon: Floats
    emphasis: Floats


@quiet
def emphasis(mdp: FiniteMDP, lam: Floats, pi: Floats, b: Floats, interest: Floats, beta: Floats | None) -> Emphasis:
    """Follow-on f and emphasis m; `beta` is 0 where the discount is."""
    P = transition_matrix(mdp, pi)
    keep = mdp.discount if beta is None else np.where(mdp.discount > 0, beta, 0.0)
    follow = Resolvent(scipy.sparse.csr_array(P.multiply(keep)))
    if beta is None:
        require_proper(mdp, P)
        follow.require_accurate()
    elif not follow.converges():
        raise ValueError("beta must be smaller: the follow-on trace has no finite mean under this policy")
    source = visited(mdp, b) * interest
    f = follow.solve_transposed(source)
    m = lam * source + (1 - lam) * f
    if not m.any():
        raise ValueError("interest must be positive in some state that the behaviour policy visits")
    return Emphasis(f, m)
