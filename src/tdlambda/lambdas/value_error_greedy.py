"""Value-error greedy: the λ that leaves the value, not its target, with the smallest error after the update.

With e the eligibility trace just after x was added to it (step size and ρ included), all that is still to come of the
λ-return adds γ'λ'Y e to the weights, where Y is the corrected λ-return of x' less V(x'): E[Y] = L' - V', and Y has the
return's variance. So one update from now, at x,

    V⁺ - v = (V - v) + g γ'λ' Y,        g = e·x                           what an error of 1 moves V(x) by
    E[(V⁺ - v)²] = (V - v)² + 2 c λ' (V - v) (L' - V') + (c λ')² [ (L' - V')² + Var' ],        c = γ' g

least at λ' = (V - v) (V' - L') / ( c [ (V' - L')² + Var' ] ). λ' belongs to x' and has many predecessors: the best for
all of them weighs each by c², and so is, with A[·] an average over visits,

    λ' = ( A[ c (V - v) (V' - v') ] - doubt · A[c²] Var' ) / ( A[c²] [ (V' - v')² + Var' ] ),      clipped to [0, 1]

where v and L', which are not known, are both the mean M: that of full returns, learnt beside the value. Steps of size c
keep up a variance of c Var' / 2 in V itself. As far as V and V' have that noise in common, more of it will not mend it:
doubt = ½ takes it away from what counts as a common error. (The part of this update that does not wait for λ', g δ,
would belong to V - v. It is left out: λ' would follow the noise of a single reward, which costs more than the term of
order α is worth.)

    m    the value again, by the learner's own algorithm, with a step size of its own after n visits,
         max(α|x|²/10, ½/√(1 + n/2)) / |x|², and λ' = trace_lam · min(1, 1/ρ): importance ratios are cut, as in V-trace
    M    its average: M_i += max(3/(n+3), α|x|²/memory) (m_i - M_i) for the features i that are active
    Var  u += δᴹ ē with ē = ρ (γλ ē + x), summed over a stretch of the stream, is the noise of the λ-return in each
         weight; Σ u_i² over the visits of i in those stretches counts each visit with all that it has in common with
         others. A stretch ends with an episode (of one that is shorter than there are features, with a later one), or
         after `stretch` steps: nothing here needs episodes.

Were M right, u would have mean 0. If over the last stretches it surely has not, the target has moved: the visits of
that feature count from 0 again, so that m and M learn as at the start.

Where to look for the reasons of each number: docs/how-we-chose.md.
"""

from typing import Any

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, fraction, integer, not_negative, number, positive
from tdlambda.compiled import inlined
from tdlambda.lambdas.adaptive import Adaptive
from tdlambda.memory import (
    ALGORITHM,
    DECAY,
    DENSE,
    FIRST_BLOCK,
    FLOOR,
    FORGETTING,
    GTD,
    KAPPA,
    LAMBDA,
    LIVE,
    MEAN_PACE,
    N_LIVE,
    RING,
    SINCE,
    SIZE,
    STRETCH,
    TD,
    TRACE_LAM,
    TRACE_ROWS,
    WEIGHT_ROWS,
    Index,
    Value,
    assign,
    cut,
    dot,
)  # fmt: skip

VISITS, NOISE, SEEN, SQUARES, COUNTED, WEIGHTS, DRIFT, POWER = range(8)
"""What is kept for each feature, after A[c (V-v) (V'-v')] at LAMBDA: visits n; u and the visits of this stretch; u² and
visits of the stretches before; A[c²]; means of u and of u² over the last stretches that met the feature."""
ROWS = 8
LARGEST = 1e140
"""A number whose square, and sums of it, are numbers too."""
RECENT, SURE = 0.02, 5.0
"""Weight of a stretch in the last two; standard errors from 0 at which the mean of u says that M is wrong."""


@inlined
def reach(code: int, alpha: float, rho: float, gamma_lam: float, xe: float, norm: float) -> float:
    """What an error of 1 moves V(x) by, e·x after this step, from x·e of before; true online traces carry α."""
    kept = rho * gamma_lam * xe
    if code in (TD, GTD):
        return alpha * (kept + rho * norm)
    return kept + rho * alpha * (1 - kept) * norm


@inlined
def mean_step(visits: float, scaled: float) -> float:
    """Step size of m, times |x|²: it falls with the root of the visits, down to a tenth of the value learner's."""
    return max(0.1 * scaled, 0.5 / np.sqrt(1 + 0.5 * visits))


@inlined
def average_step(visits: float, scaled: float, forgetting: float) -> float:
    """Weight of a visit in M."""
    return max(3 / (visits + 3), forgetting * scaled)


@inlined
def best(above: float, weight: float, gap: float, variance: float, doubt: float) -> float:
    """λ' from the two averages, V' - M' and Var'; 1 for 0/0: where nothing is known, V is not to be trusted."""
    below = weight * (gap * gap + variance)
    return min(max((above - doubt * weight * variance) / below, 0.0), 1.0) if below > 0 else 1.0


@inlined
def moved(drift: float, power: float) -> bool:
    """Whether u has a mean; that of independent u has the variance RECENT/2 E[u²]."""
    return drift * drift > SURE * SURE * RECENT / 2 * power


@inlined
def prepare(
    F: Floats, M: Floats, I: Ints, alpha: float, x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> bool:  # fmt: skip
    """Choose λ', from estimates of before this step; hand V and m their parts; add this step's noise to u.

    Whether the squares of all that is kept are numbers.
    """
    rows, size, own = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[SIZE], I[RING]
    v, v_next = dot(F[0], x, xv, len(x)), dot(F[0], y, yv, n_next)
    mean, mean_next = dot(F[2 * rows], x, xv, len(x)), dot(F[2 * rows], y, yv, n_next)
    norm, visits, active = 0.0, 0.0, 0
    for j in range(len(x)):
        norm += xv[j] ** 2
        if xv[j] != 0:
            M[own + VISITS * size + x[j]] += 1
            M[own + SEEN * size + x[j]] += 1
    for j in range(len(x)):
        if xv[j] != 0:
            visits += M[own + VISITS * size + x[j]]
            active += 1
    gamma_lam = M[FIRST_BLOCK + DECAY]
    M[MEAN_PACE] = 1.0
    if norm > 0:
        M[MEAN_PACE] = mean_step(visits / active, min(1.0, alpha * norm)) / (alpha * norm)
    c = gamma_next * reach(I[ALGORITHM], alpha, rho, gamma_lam, dot(F[I[WEIGHT_ROWS]], x, xv, len(x)), norm)
    gap = v_next - mean_next
    above, weight, variance, active = 0.0, 0.0, 0.0, 0
    for j in range(n_next):
        if yv[j] != 0:
            z, w = LAMBDA + y[j], own + WEIGHTS * size + y[j]
            rate = max(M[KAPPA], 1 / (M[own + VISITS * size + y[j]] + 1))
            M[z] += rate * (c * gap * (v - mean) - M[z])
            M[w] += rate * (c * c - M[w])
            above += M[z]
            weight += M[w]
            seen = M[own + COUNTED * size + y[j]]
            variance += M[own + SQUARES * size + y[j]] / seen if seen > 0 else 0.0
            active += 1
    lam_next = best(above, weight, gap, variance / active if active > 0 else 0.0, M[FLOOR])
    assign(M, 0, reward, gamma_next, rho, lam_next)
    assign(M, 1, reward, gamma_next, rho, M[TRACE_LAM] * cut(rho))
    delta = reward + gamma_next * mean_next - mean
    return (abs(c) <= LARGEST) & _add_noise(F[2 * rows + I[WEIGHT_ROWS]], M, I, x, xv, rho, gamma_lam, delta)


@inlined
def _add_noise(
    trace: Floats, M: Floats, I: Ints, x: Index, xv: Value, rho: float, gamma_lam: float, delta: float
) -> bool:
    """ē = ρ (γλ ē + x), u += δᴹ ē. Whether u² is a number everywhere."""
    u, good = I[RING] + NOISE * I[SIZE], True
    if I[DENSE]:
        for f in range(I[SIZE]):
            trace[f] *= rho * gamma_lam
            M[u + f] += delta * trace[f]
            good &= abs(M[u + f]) <= LARGEST
    else:
        for k in range(I[N_LIVE]):
            f = I[LIVE + k]
            trace[f] *= rho * gamma_lam
            M[u + f] += delta * trace[f]
            good &= abs(M[u + f]) <= LARGEST
    for j in range(len(x)):
        trace[x[j]] += rho * xv[j]
        M[u + x[j]] += delta * (rho * xv[j])
        good &= abs(M[u + x[j]]) <= LARGEST
    return good


@inlined
def settle(F: Floats, M: Floats, I: Ints, alpha: float, x: Index, xv: Value, ended: bool) -> None:
    """After m has learnt: average it, and close a stretch that is over."""
    rows, size, own, norm = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[SIZE], I[RING], 0.0
    for j in range(len(x)):
        norm += xv[j] ** 2
    for j in range(len(x)):
        if xv[j] != 0:
            f = x[j]
            rate = average_step(M[own + VISITS * size + f], min(1.0, alpha * norm), M[FORGETTING])
            F[2 * rows, f] += rate * (F[rows, f] - F[2 * rows, f])
    I[SINCE] += 1
    if I[SINCE] >= (size if ended else max(size, M[STRETCH])):
        I[SINCE] = 0
        for f in range(own, own + size):
            M[f + SQUARES * size] += M[f + NOISE * size] ** 2
            M[f + COUNTED * size] += M[f + SEEN * size]
            if M[f + SEEN * size] > 0:
                M[f + DRIFT * size] += RECENT * (M[f + NOISE * size] - M[f + DRIFT * size])
                M[f + POWER * size] += RECENT * (M[f + NOISE * size] ** 2 - M[f + POWER * size])
                if moved(M[f + DRIFT * size], M[f + POWER * size]):
                    M[f + VISITS * size] = 0.0
                    M[f + DRIFT * size] = 0.0
            M[f + NOISE * size] = 0.0
            M[f + SEEN * size] = 0.0


class ValueErrorGreedy(Adaptive):
    """λ that makes the value's own error smallest, one update ahead; nothing to tune, whatever α is.

    λ is high where V and the mean of the returns differ, in the same direction at a state and after it, by more than
    noise would add, and low where they agree. `lam="auto"` in any learner is this rule.

    Parameters
    ----------
    doubt
        How much of the error that a value and the next have in common is put down to noise, in units of what one
        update's noise adds to the variance: ½ is what updates keep up in the long run, 0 looks one update ahead only.
    memory
        How many visits the mean of the returns remembers, in units of 1/(α|x|²), the value's own memory: where the
        target moves, fewer.
    rate
        Weight of the last visit in A[·].
    trace_lam
        λ of the mean's own traces, before importance ratios are cut.
    stretch
        The most steps that noise is summed over, where episodes are longer or never end.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.TrueOnlineTD(ring.features, alpha=0.01, lam=td.ValueErrorGreedy())
    >>> v.update_many(ring.sampler(seed=1).take(50_000))
    >>> bool(v.lambdas(range(1, 10)).mean() < 0.5)
    True
    """

    bundle = memory.VALUE_ERROR
    blocks = 3
    rows = ROWS

    def __init__(
        self,
        doubt: float = 0.5,
        memory: float = 100.0,
        rate: float = 0.1,
        trace_lam: float = 0.8,
        stretch: int = 1000,
    ) -> None:
        super().__init__()
        if not 0 < number(rate, "rate") <= 1:
            raise ValueError(f"rate must be in (0, 1]; got {rate}")
        self.doubt, self.memory, self.rate = not_negative(doubt, "doubt"), positive(memory, "memory"), float(rate)
        self.trace_lam = fraction(trace_lam, "trace_lam")
        self.stretch = integer(stretch, "stretch", 1)

    def setup(self, M: Floats, I: Ints) -> None:
        """Put the parameters where the kernels look for them."""
        super().setup(M, I)
        M[[TRACE_LAM, KAPPA, FLOOR]] = self.trace_lam, self.rate, self.doubt
        M[[FORGETTING, STRETCH]] = 1 / self.memory, self.stretch
        I[RING] = M.size - ROWS * I[SIZE]

    def values(self, M: Floats, I: Ints, estimates: Floats, index: Ints, value: Floats) -> Floats:
        """λ from the estimates and averages so far."""
        used, own, size = value != 0, I[RING] + index, I[SIZE]
        seen = M[own + COUNTED * size]
        each = np.divide(M[own + SQUARES * size], seen, out=np.zeros_like(value), where=seen > 0)
        variance = (each * used).sum(axis=1) / np.maximum(1, used.sum(axis=1))
        above, weight = (M[LAMBDA + index] * used).sum(axis=1), (M[own + WEIGHTS * size] * used).sum(axis=1)
        below = weight * ((estimates[0] - estimates[2]) ** 2 + variance)
        above -= self.doubt * weight * variance
        return np.clip(np.divide(above, below, out=np.ones_like(below), where=below > 0), 0, 1)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in ("doubt", "memory", "rate", "trace_lam", "stretch")}
