"""PGTD2(λ), also known as GTD2-MP: Mahadevan et al. (2014), Liu et al. (2015). An extragradient form of GTD2(λ).

    e   = ρ (γλ e + x)
    h½  = h + β [ δ e - (x·h) x ]
    w½  = w + α [ (x·h) x - γ' (1-λ') (e·h) x' ],    δ½ = r' + γ' w½·x' - w½·x
    h  += β [ δ½ e - (x·h½) x ]
    w  += α [ (x·h½) x - γ' (1-λ') (e·h½) x' ]

The second pair of steps starts from the old w and h; the trace is updated once. The MSPBE without a penalty needs no
proximal map. The half steps move along x, x' and e only, so scalars represent them. Both half steps use the same
sample, which adds terms of second order in the step sizes to the mean update: with constant step sizes, PGTD2 may
diverge where GTD2 does not.
"""

from tdlambda.algorithms.second_weights import SecondWeights


class PGTD2(SecondWeights):
    """PGTD2(λ): extragradient steps on the MSPBE; converges off-policy with step sizes that decrease to 0.

    With constant step sizes it may diverge where `GTD2` does not.

    Parameters are those of `SecondWeights`.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0", n=5)
    >>> v = td.PGTD2(walk.features, td.steps.OneOver("steps", scale=100, offset=1000), lam=0.5, beta=1.0)
    >>> v.update_many(walk.sampler(seed=1).take(100_000))
    >>> v.predict_many([1, 2, 3, 4, 5]).round(2)
    array([-0.66, -0.32, -0.  ,  0.33,  0.66])
    >>> walk.mdp.v()[1:6].round(2)
    array([-0.67, -0.33,  0.  ,  0.33,  0.67])
    """

    dots = {**SecondWeights.dots, "ex": "e.x", "ee": "e.e", "xx": "x.x", "xy": "x.x'", "yy": "x'.x'"}
    updates = """
        e  = keep e + rho x
        w += back x + correct x'
        h += along_h e + back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, ex, ee, xx, xy, yy, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; eh_new, ee_new and ex_new are products with the new trace."""
        delta, keep, boot = reward + gamma_next * v_next - v, rho * decay, gamma_next * (1 - lam_next)
        eh_new, ee_new = keep * eh + rho * hx, keep * keep * ee + 2 * keep * rho * ex + rho * rho * xx
        ex_new = keep * ex + rho * xx
        half = delta + alpha * (hx * (gamma_next * xy - xx) - boot * eh_new * (gamma_next * yy - xy))
        hx_half = hx + beta * (delta * ex_new - hx * xx)
        eh_half = eh_new + beta * (delta * ee_new - hx * ex_new)
        back, correct = alpha * hx_half, -alpha * boot * eh_half
        along_h, back_h = beta * half, -beta * hx_half
        decay = gamma_next * lam_next
        return keep, back, correct, along_h, back_h, decay
