"""Value-error greedy: the λ that minimises the error of the value, not of its target, after the update.

Let e be the eligibility trace just after x was added to it (step size and ρ included). The rest of the λ-return will
add γ'λ'Y e to the weights, where Y is the corrected λ-return of x' less V(x'): E[Y] = L' - V', and Y has the variance
of the return. So after the update, at x,

    V⁺ - v = (V - v) + g γ'λ' Y,        g = e·x                           an error of 1 moves V(x) by g
    E[(V⁺ - v)²] = (V - v)² + 2 c λ' (V - v) (L' - V') + (c λ')² [ (L' - V')² + Var' ],        c = γ' g

which is smallest at λ' = (V - v) (V' - L') / ( c [ (V' - L')² + Var' ] ). x' has many predecessors, and the best λ' for
all of them weights each by c². With A[·] an average over visits, it is

    λ' = ( A[ c (V - v) (V' - v') ] - doubt · A[c²] Var' ) / ( A[c²] [ (V' - v')² + Var' ] ),      clipped to [0, 1]

where the unknown v and L' are both replaced by M, the mean of full returns, learned alongside the value. Steps of size
c sustain a variance of c Var' / 2 in V itself. Noise that V and V' share is not bias, so a larger λ cannot remove it:
doubt = ½ subtracts it from the common error. (The part of this update that does not depend on λ', g δ, should be added
to V - v. It is left out, because λ' would then follow the noise of a single reward, which costs more than this term of
order α gains.)

    m    a second estimate of the value, by the learner's own algorithm (for a gradient method without the correction:
         TD, which is faster, and safe here because traces are cut), with its own step size after n visits,
         max(α|x|²/10, ½/√(1 + n/2)) / |x|², and λ' = trace_lam · min(1, 1/ρ): the ratios are cut, as in V-trace
    M    the average of m: M_i += max(3/(n+3), α|x|²/memory) (m_i - M_i) for the active features i
    Var  u += δᴹ ē with ē = ρ (γλ ē + x), summed over a stretch of the stream, is the noise of the λ-return in each
         weight; Σ u_i² over the visits to i in those stretches includes the correlation between visits. A stretch
         ends with an episode (with a later one if it has fewer steps than there are features), or after `stretch`
         steps, so episodes are not required.

If M is right, u has mean 0. If the mean of u over the last stretches differs significantly from 0, the target has
moved: the visit count of that feature restarts at 0, so that m and M learn as quickly as at the start.

experiments/how-we-chose.md gives the reason for each number.
"""

import numpy as np

from tdlambda.arrays import Floats, fraction, integer, not_negative, positive
from tdlambda.rules.lambda_rule import Adaptive, Seen
from tdlambda.rules.meta import clip

RECENT, SURE = 0.02, 5.0
"""Weight of the latest stretch in the running means of u and u²; number of standard errors between 0 and the mean of u
from which M counts as wrong."""


class ValueErrorGreedy(Adaptive):
    """Value-error greedy: the λ that minimises the value error after the next update; needs no tuning at any α.

    λ is high where V differs from the mean of the returns by more than noise explains, in the same direction at a
    state and at its successor. It is low where they agree. `lam="auto"` (`td.rules.LambdaMixture`) uses this rule for
    one of its estimates.

    Parameters
    ----------
    doubt
        Share of the common error of V and V' attributed to noise, at least 0, in units of the variance that the noise
        of one update adds. ½ is the variance that updates sustain in the long run; 0 looks one update ahead only.
    memory
        Positive number of visits over which the mean of the returns is averaged, in units of 1/(α|x|²), the value's
        own memory. Use a smaller one where the target moves.
    rate
        Weight of the latest visit in the averages A[·], in (0, 1].
    trace_lam
        Trace decay λ of the mean, in [0, 1], before the importance-sampling ratios are cut.
    stretch
        Largest number of steps over which noise is summed, at least 1; it matters for long or endless episodes.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.rules.ValueErrorGreedy())
    >>> v.update_many(ring.sampler(seed=1).take(50_000))
    >>> bool(v.lambdas(range(1, 10)).mean() < 0.5)
    True
    """

    estimates = {
        "V": ("reward", "gamma_next", "rho", "lam_next"),
        "m": ("reward", "gamma_next", "rho", "mean_lam", "mean_pace"),
    }
    by_td = ("m",)
    over = "x"
    weight_rows = "mean noise visits seen squares counted aim weight drift power"
    trace_rows = "trace"
    reported = ("mean",)
    row_bound = 1e140  # so that its square, and sums of squares, stay finite
    parameters = "rate doubt trace_lam forgetting"
    shared = "stretch"
    dots = {
        "v": "V.x", "v_next": "V.x'", "mu": "mean.x", "mu_next": "mean.x'", "ex": "V.e.x", "decay": "V.decay",
    }  # fmt: skip
    options = ("carries_alpha",)
    phases = {"enter": "x", "aims": "", "meet": "x'", "step": "", "leave": "after x", "close": "all"}
    updates = """
        trace  = keep trace + rho x
        noise += delta trace
    """

    def __init__(
        self,
        doubt: float = 0.5,
        memory: float = 100.0,
        rate: float = 0.1,
        trace_lam: float = 0.8,
        stretch: int = 1000,
    ) -> None:
        super().__init__()
        self.rate = fraction(rate, "rate", zero=False)
        self.doubt, self.memory = not_negative(doubt, "doubt"), positive(memory, "memory")
        self.trace_lam, self.forgetting = fraction(trace_lam, "trace_lam"), 1 / self.memory
        self.stretch = integer(stretch, "stretch", 1)

    @staticmethod
    def enter(visits, seen):
        """Count the visit of a feature of x."""
        visits, seen = visits + 1, seen + 1
        count = visits
        return visits, seen, count

    @staticmethod
    def aims(count, enter_count, xx, alpha, ex, decay, v, v_next, mu, mu_next, gamma_next, rho, carries_alpha):
        """The factor on m's step size, c, and c (V - M) (V' - M')."""
        scaled = alpha * xx
        pace = max(0.1 * min(1.0, scaled), 0.5 / np.sqrt(1 + 0.5 * (count / max(enter_count, 1.0))))
        mean_pace = pace / scaled if scaled > 0 else 1.0
        kept = rho * decay * ex
        reach = kept + rho * alpha * (1 - kept) * xx if carries_alpha else alpha * (kept + rho * xx)
        c = gamma_next * reach
        product = c * (v_next - mu_next) * (v - mu)
        return mean_pace, c, product

    @staticmethod
    def meet(aim, weight, visits, squares, counted, rate, c, product):
        """Update the averages A[·] of a feature of x', and return its terms of the sums over features."""
        by = max(rate, 1 / (visits + 1))
        aim, weight = aim + by * (product - aim), weight + by * (c * c - weight)
        above, total = aim, weight
        variance = squares / counted if counted > 0 else 0.0
        return aim, weight, above, total, variance

    @staticmethod
    def step(above, total, variance, meet_count, v_next, mu, mu_next, decay, doubt, trace_lam, reward, gamma_next, rho):
        """λ' from the averages; 1 where it is 0/0, because nothing is known about V yet."""
        spread = variance / meet_count if meet_count > 0 else 0.0
        gap = v_next - mu_next
        below = total * (gap * gap + spread)
        lam_next = clip((above - doubt * total * spread) / below) if below > 0 else 1.0
        mean_lam = trace_lam * (1.0 / rho if rho > 1.0 else 1.0)
        keep, delta = rho * decay, reward + gamma_next * mu_next - mu
        return lam_next, mean_lam, keep, delta

    @staticmethod
    def leave(mean, m_w, visits, alpha, xx, forgetting):
        """Average m at a feature of x, after m has learned."""
        mean = mean + max(3 / (visits + 3), forgetting * min(1.0, alpha * xx)) * (m_w - mean)
        return mean

    @staticmethod
    def close(squares, counted, noise, seen, drift, power, visits):
        """End a stretch: add its noise to the sums; restart the visit count if the mean noise differs from 0."""
        squares, counted = squares + noise**2, counted + seen
        if seen > 0:
            drift, power = drift + RECENT * (noise - drift), power + RECENT * (noise**2 - power)
            if drift * drift > SURE * SURE * RECENT / 2 * power:  # a mean of independent u has variance RECENT/2 E[u²]
                drift, visits = 0.0, 0.0
        noise, seen = 0.0, 0.0
        return squares, counted, noise, seen, drift, power, visits

    @staticmethod
    def closes(since, size, ended, stretch):
        """Whether a stretch is over."""
        return since >= (size if ended else max(size, stretch))

    def values(self, seen: Seen) -> Floats:
        """λ from the estimates and averages so far."""
        used, index, rows = seen.value != 0, seen.index, seen.rows
        counted = rows["counted"][index]
        each = np.divide(rows["squares"][index], counted, out=np.zeros_like(seen.value), where=counted > 0)
        variance = (each * used).sum(axis=1) / np.maximum(1, used.sum(axis=1))
        above, weight = (rows["aim"][index] * used).sum(axis=1), (rows["weight"][index] * used).sum(axis=1)
        mean = (seen.value * rows["mean"][index]).sum(axis=1)
        below = weight * ((seen.estimates["V"] - mean) ** 2 + variance)
        above -= self.doubt * weight * variance
        return np.clip(np.divide(above, below, out=np.ones_like(below), where=below > 0), 0, 1)
