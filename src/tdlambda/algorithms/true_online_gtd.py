"""True online GTD(λ): van Hasselt, Mahmood & Sutton (2014).

    δ   = r' + γ' w·x' - w·x
    e   = ρ [ γλ e + α (1 - ργλ x·e) x ]
    e∇  = ρ [ γλ e∇ + x ]
    e_h = ρ⁻γλ e_h + β (1 - ρ⁻γλ x·e_h) x
    w  += δ e + (w·x - w⁻·x) (e - αρ x) - α γ' (1-λ') (h·e∇) x'
    h  += ρ δ e_h - β (h·x) x

γ, λ and ρ belong to x, ρ⁻ to the step before; x' = 0 on termination. With h = 0 this is true online TD(λ).
"""

from tdlambda.algorithms.second_weights import SecondWeights


class TrueOnlineGTD(SecondWeights):
    """True online GTD(λ): converges off-policy with linear features and is as exact on-policy as true online TD(λ).

    Parameters are those of `SecondWeights`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineGTD(td.features.OneHot(2), alpha=0.5, lam=0.0, beta=0.1)
    >>> for _ in range(2):
    ...     v.update(0, 1.0, 1, gamma=0.9, rho=2.0)
    >>> v.weights, v.row("V_h")
    (array([ 1.  , -0.18]), array([0.18, 0.  ]))
    """

    trace_rows, trace_scale, correcting = "e g e_h", "alpha beta", "beta"
    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x", "hx": "h.x", "ex_h": "e_h.x", "hg": "h.g"}
    keeps = {"decay": 0.0, "v_old": "v", "rho_old": 0.0}
    updates = """
        e   = keep e + new x
        g   = keep g + rho x
        e_h = keep_h e_h + new_h x
        w  += along e + back x + correct x'
        h  += along_h e_h + back_h x
    """

    @staticmethod
    def step(v, v_next, ex, hx, ex_h, hg, decay, v_old, rho_old, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; g is e∇, v_old is w⁻·x."""
        delta = reward + gamma_next * v_next - v
        keep, keep_h = rho * decay, rho_old * decay
        new, new_h = rho * alpha * (1 - keep * ex), beta * (1 - keep_h * ex_h)
        along, back = delta + v - v_old, -(v - v_old) * alpha * rho
        correct = -alpha * gamma_next * (1 - lam_next) * (keep * hg + rho * hx)
        along_h, back_h = rho * delta, -beta * hx
        decay, v_old, rho_old = gamma_next * lam_next, v_next, rho
        return keep, new, along, back, correct, keep_h, new_h, along_h, back_h, decay, v_old, rho_old
