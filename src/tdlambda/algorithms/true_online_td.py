"""True online TD(λ): van Seijen & Sutton (2014); off-policy as in van Hasselt, Mahmood & Sutton (2014).

    δ  = r' + γ' w·x' - w·x
    e  = ρ [ γλ e + α (1 - ργλ x·e) x ]
    w += δ e + (w·x - w⁻·x) (e - αρ x)

γ, λ and ρ belong to x; w⁻ are the weights one step ago (w itself at an episode's start). With constant weights this is
TD(λ). The two corrections make it equal, after every step, to the online λ-return algorithm

    w_{k+1} = w_k + α ρ_k (G_k - w_k·x_k) x_k,    G_k = r_{k+1} + γ_{k+1} [ V + λ_{k+1} ρ_{k+1} (G_{k+1} - V) ]

restarted at each step t with the data so far, where V = w_k·x_{k+1} with the weights of time k; the last G is one-step.
"""

from tdlambda.learners.algorithm import Algorithm


class TrueOnlineTD(Algorithm):
    """True online TD(λ), on- and off-policy: the default choice for prediction with linear features.

    It equals the online λ-return algorithm after every step, at the cost of TD(λ). Off-policy with function
    approximation it may diverge; see `TrueOnlineGTD`.

    Parameters are those of `Algorithm`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=0.9)
    >>> v.update_many(ring.sampler(seed=1).take(100_000))
    >>> bool(ring.exact.value_error(v.predict_many(range(11))) < 1e-3)
    True
    """

    trace_scale = "alpha"
    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x"}
    keeps = {"decay": 0.0, "v_old": "v"}
    updates = """
        e  = keep e + new x
        w += along e + back x
    """

    @staticmethod
    def step(v, v_next, ex, decay, v_old, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; v_old is w⁻·x."""
        delta = reward + gamma_next * v_next - v
        keep = rho * decay
        new = rho * alpha * (1 - keep * ex)
        along, back = delta + v - v_old, -(v - v_old) * alpha * rho
        decay, v_old = gamma_next * lam_next, v_next
        return keep, new, along, back, decay, v_old
