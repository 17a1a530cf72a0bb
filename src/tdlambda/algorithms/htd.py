"""HTD(λ), hybrid TD: Maei (2011), Hackman (2012); with traces, White & White (2016).

    δ   = r' + γ' w·x' - w·x
    e   = ρ (γλ e + x)
    e_b = γλ e_b + x
    w  += α [ δ e + ((e - e_b)·h) (x - γ' x') ]
    h  += β [ δ e - (e_b·h) (x - γ' x') ]

Both updates use h from before the step. On-policy, e = e_b and this is TD(λ). A_b, the matrix of TD(λ) under the
behaviour policy, replaces GTD's C = E[x xᵀ]: the mean update of h is b - A w - A_bᵀ h.
"""

from tdlambda.algorithms.second_weights import SecondWeights


class HTD(SecondWeights):
    """HTD(λ), hybrid TD: equals TD(λ) on-policy and adds a gradient correction off-policy.

    Parameters are those of `SecondWeights`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", "0.25/0.25")                   # on-policy
    >>> v, same = td.HTD(ring.features, 0.01, 0.9), td.TD(ring.features, 0.01, 0.9)
    >>> steps = ring.sampler(seed=1).take(10_000)
    >>> v.update_many(steps), same.update_many(steps)
    (None, None)
    >>> bool((v.weights == same.weights).all())
    True
    """

    trace_rows, correcting = "e e_b", "beta"
    dots = {**SecondWeights.dots, "bh": "e_b.h"}
    updates = """
        e   = keep e + rho x
        e_b = keep_b e_b + x
        w  += along e + mix x + mix_next x'
        h  += along_h e + pull x + pull_next x'
    """

    @staticmethod
    def step(v, v_next, hx, eh, bh, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; behind is e_b·h with the new trace."""
        delta = reward + gamma_next * v_next - v
        keep, keep_b = rho * decay, decay
        behind = keep_b * bh + hx
        along, mix = alpha * delta, alpha * (keep * eh + rho * hx - behind)
        along_h, pull = beta * delta, -beta * behind
        mix_next, pull_next = -gamma_next * mix, -gamma_next * pull
        decay = gamma_next * lam_next
        return keep, keep_b, along, mix, mix_next, along_h, pull, pull_next, decay
