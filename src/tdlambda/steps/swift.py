"""SwiftTD, true online TD(λ) with a step size for each feature: Javed, Sharifnassab & Sutton (2024).

    e, ē, p = γλ e, γλ ē, γλ p
    τ  = Σ α_i x_i²,    a = min(1, η/τ) α x,    b = e·x,    Δ = w·x - w⁻·x,    D = δ + Δ
    e += a (1 - b),    p += h⁻ x,    ē += a (1 - b - ē x),    ĥ = h - h⁻ x (e - a) - h a x
    if τ > η:  first h = h⁻ = ē = 0 where x ≠ 0, and α_i = α_i ε^(x_i²)
    w += D e - a Δ
    α  = min(α exp(θ δ p / α), η), and not below η_min
    h⁻ = h,    h = ĥ + D ē - a Δ

Products are elementwise. w, α, h and h⁻ carry over from one episode to the next; traces and Δ start at 0. With θ = 0
and η = ∞ this is true online TD(λ). The authors' sparse code sets h, h⁻ and ē to 0 before they are used, as here; their
dense code does so afterwards, for all features. Their code also compares α with ln η_min, so that α has no lower bound.
SwiftTD was published on-policy; here ρ enters e and Δ as in true online TD(λ).

a is α_i relative to the initial α, and g is h - h⁻.
"""

from __future__ import annotations

from tdlambda.algorithms.true_online_td import TrueOnlineTD
from tdlambda.arrays import fraction, not_negative, positive
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize
from tdlambda.steps.tidbd import grown


class SwiftTD(declare.AlgorithmDeclaration):
    """True online TD(λ) with SwiftTD's step sizes."""

    weight_rows, trace_rows, lasting_rows = "w a h g", "e eb p", "g"
    parameters, trace_scale = "eta theta epsilon eta_min", "alpha"
    starts = {"a": 1.0}
    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x"}
    keeps = {"decay": 0.0, "v_old": "v"}

    @staticmethod
    def before(a, x, alpha):
        """The feature's share of τ, the total step without the bound, as a fraction of the error."""
        tau = alpha * a * x * x
        return tau

    @staticmethod
    def step(v, v_next, ex, tau, decay, v_old, alpha, eta, theta, eta_min, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; gap is Δ, whole is D, and ease is 1 - b."""
        delta = reward + gamma_next * v_next - v
        keep = rho * decay
        over = 1.0 if tau > eta else 0.0
        bounded = eta / tau if tau > eta else 1.0
        ease = 1 - keep * ex
        gap = v - v_old
        whole = delta + gap
        push, most, least = theta * delta / alpha, eta / alpha, eta_min / alpha
        decay, v_old = gamma_next * lam_next, v_next
        return keep, over, bounded, ease, gap, whole, push, most, least, decay, v_old

    @staticmethod
    def feature(w, a, h, g, e, eb, p, x, keep, over, bounded, ease, gap, whole, push, most, least, rho, alpha, epsilon):
        """The update of one feature; exp is computed only where p is not 0."""
        e, eb, p, old = keep * e, keep * eb, keep * p, h - g
        after, by = h, 0.0
        if x != 0:
            by = bounded * alpha * a * x
            if over > 0:
                h, old, eb = 0.0, 0.0, 0.0
                a = a * epsilon ** (x * x)
            e = e + rho * by * ease
            p = p + old * x
            eb = eb + by * (ease - eb * x)
            after = h - old * x * (e - by) - h * by * x
        w = w + whole * e - rho * by * gap
        if p != 0:
            a = a * grown(push * p / a)
            if a > most:
                a = most
            elif a < least:
                a = least
        after = after + whole * eb - by * gap
        g = after - h
        h = after
        return w, a, h, g, e, eb, p


class Swift(StepSize):
    """SwiftTD: one step size per feature, adapted by meta-gradient descent, with a bound on the total step.

    Parameters
    ----------
    alpha
        Initial step size of every feature, from `eta_min` to `eta`.
    eta
        Bound η > 0 on how far one update moves V(x), as a fraction of its error; also the largest step size.
    theta
        Meta step size θ ≥ 0.
    epsilon
        Factor ε in (0, 1] on the step sizes of active features when their total step exceeds the bound.
    eta_min
        Smallest step size, positive.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> v = td.TrueOnlineTD(walk.features, alpha=td.steps.Swift(), lam=0.9)
    >>> v.update_many(walk.sampler(seed=1).take(2_000))
    >>> bool(v.row("V_a").max() > 1)                                # α_i relative to the initial α
    True
    """

    forms = {TrueOnlineTD: SwiftTD}

    def __init__(
        self, alpha: float = 0.01, eta: float = 0.1, theta: float = 1e-3, epsilon: float = 0.999, eta_min: float = 1e-10
    ) -> None:
        self.alpha, self.eta = positive(alpha, "alpha"), positive(eta, "eta")
        self.theta, self.epsilon = not_negative(theta, "theta"), fraction(epsilon, "epsilon", zero=False)
        self.eta_min = positive(eta_min, "eta_min")
        if not self.eta_min <= self.alpha <= self.eta:
            raise ValueError(f"alpha must be from eta_min = {eta_min} to eta = {eta}; got {alpha}")
