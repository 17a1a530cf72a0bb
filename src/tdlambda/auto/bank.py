"""One transition for a bank of learners, and the signal by which they are mixed.

With u = Σ p V the mixture's prediction and c = V - u an expert's distance from it, its value error less the mixture's
is

    E[(V - v)² - (u - v)²] = E[ c² - 2 c (v - u) ]

whose first part is seen and whose second is what the mixture's own TD errors δ = ρ (R + γ' u' - u) say
(docs/auto-td.md):

    Σ c_t (v - u)(s_t) = E Σ δ_t z_t,        z_t = ρ_{t-1} γ_t z_{t-1} + c_t        no truth, and no bias

The bank takes ẑ(s_t) = E[z_t | s_t] for z_t, learnt on the features from ẑ itself, one step back (after "expected
eligibility traces", van Hasselt et al. 2021): the same mean for a table, and a variance without products of ρ.

The learners' λ' is divided by ρ where ρ > 1 (as Retrace cuts its traces, Munos et al. 2016), so that no trace grows by
products of ratios. λ may depend on the step taken: what a table converges to stays v.
"""

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto.layout import (
    AGE,
    DROPPED,
    DROPS,
    ENERGY,
    EVERY,
    GAIN,
    GAMMA,
    LEAST_STEP,
    LENGTH,
    LONGEST,
    LOOKS,
    MOST_GAMMA,
    MOST_NORM,
    MOST_REWARD,
    NOISE,
    REWARD,
    RHO,
    SINCE,
    SYNCED,
    TRACE,
    VALUE,
    WEIGHT,
    U,
)
from tdlambda.auto.mixing import averaged, look, sync, weigh
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.algorithms import learn_true_online_td
from tdlambda.engine.driver import SELDOM, take_bounds
from tdlambda.engine.lanes import ALLOWED, ALPHA_T, LIMIT, NEGLIGIBLE, TRACE_BOUND, WEIGHT_BOUND
from tdlambda.features.base import first_misfit
from tdlambda.memory import (
    ALPHA,
    BOUND,
    DECAY,
    DELTA,
    DENSE,
    FIRST_BLOCK,
    LAM_NEXT,
    PRUNED_EVERY,
    RATIO,
    RHO_PREV,
    STEPS,
    TOLERANCE,
    TRACE_LAM,
    UNDER_WAY,
    V_OLD,
    cut,
    enliven,
    horizon,
)


@inlined
def limit(N: Floats) -> float:
    """No value is larger."""
    return N[MOST_REWARD] * horizon(N[MOST_GAMMA], N[LONGEST])


@lanewise
def mix(value: Floats, weight: Floats, cap: float) -> float:
    """Σ p V, each V first brought within ±cap (what is not a number, to 0)."""
    u = 0.0
    for l in range(value.size):
        v = value[l]
        v = v if abs(v) <= cap else cap if v > 0 else -cap if v < 0 else 0.0
        value[l] = v
        u += weight[l] * v
    return u


@lanewise
def _signal(gain: Floats, noise: Floats, trace: Floats, delta: float) -> None:
    for l in range(gain.size):
        x = delta * trace[l]
        gain[l] += x
        noise[l] += x * x


@lanewise
def _follow(energy: Floats, value: Floats, trace: Floats, u: float, keep: float) -> None:
    """C = V - u in V's place, z = keep ẑ + c in ẑ's place, and Σ c²."""
    for l in range(energy.size):
        c = value[l] - u
        energy[l] += c * c
        value[l] = c
        trace[l] = keep * trace[l] + c


@lanewise
def _subtract_from(row: Floats, total: Floats) -> None:
    for l in range(row.size):
        row[l] = total[l] - row[l]


@inlined
def _predict(
    F: Floats, T: Floats, D: Floats, N: Floats, J: Ints, x: Ints, xv: Floats, n: int
) -> float:  # fmt: skip
    """Each expert's prediction, and the mixture's."""
    k = T.shape[2]
    for j in range(n):
        sync(F, T, D, J, x[j])
    lanes.dot(D[VALUE, :k], F, 0, x, xv, n)
    lanes.dot(D[VALUE, k:], T, 0, x, xv, n)
    return mix(D[VALUE], D[WEIGHT], limit(N))


@inlined
def _expect(Z: Floats, visits: Floats, D: Floats, x: Ints, xv: Floats, norm: float) -> None:
    """Move ẑ(x) towards z, and take it in z's place."""
    n, z, error = len(x), D[TRACE], D[VALUE]
    if norm == 0.0:
        z[:] = 0.0
        return
    lanes.dot(error, Z, 0, x, xv, n)
    _subtract_from(error, z)
    for j in range(n):
        visits[x[j]] += xv[j] * xv[j] / norm
        step = max(LEAST_STEP, 1.0 / (visits[x[j]] + 1.0))
        lanes.add_scaled(Z[x[j], 0], error, step * xv[j] / norm)
    lanes.dot(z, Z, 0, x, xv, n)


@inlined
def _close(D: Floats, N: Floats, u_next: float) -> None:
    """The mixture's TD error of the last step, and what it says of each expert."""
    delta = N[RHO] * (N[REWARD] + N[GAMMA] * u_next - N[U])
    _signal(D[SINCE + GAIN], D[SINCE + NOISE], D[TRACE], delta)


@kernel
def _drop(F: Floats, M: Floats, S: Floats, I: Ints, T: Floats, Z: Floats, D: Floats, N: Floats, J: Ints) -> bool:
    """Take out learners beyond the bound, with their twins. Whether any is left."""
    take_bounds(F, S, I)
    k, left = T.shape[2], 0
    for l in range(k):
        if not S[WEIGHT_BOUND, l] <= M[BOUND, l]:
            J[DROPS] += 1
            for f in range(F.shape[0]):
                F[f, :, l] = 0.0
                T[f, 0, l] = 0.0
                Z[f, 0, l] = Z[f, 0, k + l] = 0.0
            for slot in (DECAY, V_OLD, RHO_PREV, DELTA):
                M[FIRST_BLOCK + slot, l] = 0.0
            M[ALPHA, l] = 0.0
            for slot in range(D.shape[0]):
                if slot != AGE:
                    D[slot, l] = D[slot, k + l] = 0.0
            D[DROPPED, l] = D[DROPPED, k + l] = 1.0
        left += D[DROPPED, l] == 0.0
    take_bounds(F, S, I)
    weigh(M, D, N, F.shape[0])
    return left > 0


@inlined
def _advance(
    F: Floats, M: Floats, S: Floats, I: Ints, T: Floats, Z: Floats, visits: Floats, D: Floats, N: Floats, J: Ints,
    x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma_next: float, rho: float, terminated: bool,
    truncated: bool,
) -> bool:  # fmt: skip
    """One transition. Whether any learner is left."""
    I[STEPS] += 1
    fresh, n_next = not I[UNDER_WAY], 0 if terminated else len(y)
    x1, y1, norm = 0.0, 0.0, 0.0
    for j in range(len(x)):
        x1 += abs(xv[j])
        y1 += abs(yv[j])
        norm += xv[j] * xv[j]
    if norm > N[MOST_NORM]:
        N[MOST_NORM] = norm
    N[MOST_REWARD] = max(N[MOST_REWARD], abs(reward))
    N[LENGTH] = 1.0 if fresh else 1.0 + N[GAMMA] * N[LENGTH]
    N[LONGEST] = max(N[LONGEST], N[LENGTH])

    u = _predict(F, T, D, N, J, x, xv, len(x))
    if not fresh:
        _close(D, N, u)
    _follow(D[SINCE + ENERGY], D[VALUE], D[TRACE], u, 0.0 if fresh else N[RHO] * N[GAMMA])
    _expect(Z, visits, D, x, xv, norm)
    N[U], N[RHO], N[REWARD], N[GAMMA] = u, rho, reward, 0.0 if terminated else gamma_next
    N[MOST_GAMMA] = max(N[MOST_GAMMA], N[GAMMA])

    lanes.set_scaled(S[ALPHA_T], M[ALPHA], 1.0 / N[MOST_NORM] if N[MOST_NORM] > 0 else 1.0)
    lanes.read_estimates(F, S, I, x, xv, y, yv, n_next)
    lanes.spread(M, FIRST_BLOCK, reward, N[GAMMA], rho)
    lanes.set_scaled(M[FIRST_BLOCK + LAM_NEXT], M[TRACE_LAM], cut(rho))
    beyond = learn_true_online_td(
        F, 0, M, FIRST_BLOCK, S, 0, I, S[ALPHA_T], S[ALPHA_T], M[FIRST_BLOCK + RATIO],
        S[ALLOWED], x, xv, y, yv, n_next, fresh, x1, y1,
    )  # fmt: skip
    enliven(I, x, len(x), F.shape[0])
    if I[STEPS] % (SELDOM if I[DENSE] else PRUNED_EVERY) == 0:
        for l in range(S.shape[1]):
            S[LIMIT, l] = NEGLIGIBLE if I[DENSE] else M[TOLERANCE, l] * S[ALPHA_T, l]
        lanes.prune(F, S, I)
    I[UNDER_WAY] = 1
    left = True
    if beyond > 0:
        left = _drop(F, M, S, I, T, Z, D, N, J)
    if terminated or truncated:
        _close(D, N, 0.0 if terminated else _predict(F, T, D, N, J, y, yv, n_next))
        end(F, S, I, D)
    if I[STEPS] % EVERY == 0:
        look(F, M, I, T, Z, D, N, J)
    return left


@kernel
def end(F: Floats, S: Floats, I: Ints, D: Floats) -> None:
    """Forget the episode: all traces."""
    lanes.clear_traces(F, I)
    I[UNDER_WAY] = 0
    S[TRACE_BOUND] = 0.0
    D[TRACE] = 0.0


@kernel
def learn_row(
    F: Floats, M: Floats, S: Floats, I: Ints, T: Floats, Z: Floats, visits: Floats, D: Floats, N: Floats, J: Ints,
    x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, terminated: bool,
    truncated: bool,
) -> int:  # fmt: skip
    """One transition: 1, or 0 if the last learner was dropped; -1 for features that are none, with nothing changed."""
    for index, value in ((x, xv), (y, yv)):
        if first_misfit(index.reshape(1, -1), value.reshape(1, -1), F.shape[0]) >= 0:
            return -1
    left = _advance(
        F, M, S, I, T, Z, visits, D, N, J, x, xv, y, yv, reward, gamma, rho, terminated, truncated
    )  # fmt: skip
    return 1 if left else 0


@kernel
def learn_rows(
    F: Floats, M: Floats, S: Floats, I: Ints, T: Floats, Z: Floats, visits: Floats, D: Floats, N: Floats, J: Ints,
    x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, terminated: Bools,
    truncated: Bools,
) -> int:  # fmt: skip
    """Transitions in order; how many were learnt: all, unless the last learner was dropped."""
    for t in range(reward.size):
        if not _advance(
            F, M, S, I, T, Z, visits, D, N, J,
            x[t], xv[t], y[t], yv[t], reward[t], gamma[t], rho[t], terminated[t], truncated[t],
        ):  # fmt: skip
            return t + 1
    return reward.size


@kernel
def predict_rows(
    out: Floats, F: Floats, T: Floats, D: Floats, N: Floats, J: Ints, scratch: Floats, x: Ints, xv: Floats
) -> None:
    """The mixture at each observation; nothing is changed, so twins are averaged up to now on the way."""
    k, cap = T.shape[2], limit(N)
    for t in range(out.size):
        scratch[:] = 0.0
        for j in range(x.shape[1]):
            f, behind = x[t, j], J[LOOKS] - J[SYNCED + x[t, j]]
            for l in range(k):
                w = F[f, 0, l]
                scratch[l] += xv[t, j] * w
                scratch[k + l] += xv[t, j] * averaged(w, T[f, 0, l], D[AGE, l], behind)
        out[t] = mix(scratch, D[WEIGHT], cap)
