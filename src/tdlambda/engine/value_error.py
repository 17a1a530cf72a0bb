"""Value-error greedy along the lanes: see `lambdas.value_error_greedy`, whose mathematics it is."""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.lanes import ALPHA_T, AUX_ALPHA, AUX_BETA, BETA_T, CHANGE, HERE, LAM, NEXT, WORTH, XE
from tdlambda.lambdas import value_error_greedy
from tdlambda.lambdas.value_error_greedy import (
    COUNTED,
    DRIFT,
    NOISE,
    POWER,
    RECENT,
    SEEN,
    SQUARES,
    VISITS,
    WEIGHTS,
)
from tdlambda.memory import (
    ALGORITHM,
    DECAY,
    FIRST_BLOCK,
    FLOOR,
    FORGETTING,
    KAPPA,
    LAM_NEXT,
    LAMBDA,
    LIVE,
    MEAN_PACE,
    N_LIVE,
    RING,
    SINCE,
    SIZE,
    SLOTS,
    STRETCH,
    TRACE_LAM,
    TRACE_ROWS,
    WEIGHT_ROWS,
    cut,
)

_reach, _mean_step, _average_step = (
    value_error_greedy.reach, value_error_greedy.mean_step, value_error_greedy.average_step,
)  # fmt: skip
_best, _moved = value_error_greedy.best, value_error_greedy.moved
_SECOND = FIRST_BLOCK + SLOTS


@lanewise
def _step_sizes(
    pace: Floats, aux_alpha: Floats, aux_beta: Floats, alpha: Floats, beta: Floats, visits: Floats, active: int,
    norm: float,
) -> None:  # fmt: skip
    """Those of the mean's learner."""
    for l in range(pace.size):
        scaled = alpha[l] * norm
        pace[l] = _mean_step(visits[l] / active, min(1.0, scaled)) / scaled if scaled > 0 else 1.0
        aux_alpha[l], aux_beta[l] = pace[l] * alpha[l], pace[l] * beta[l]


@lanewise
def _aims(
    c: Floats, aim: Floats, v: Floats, v_next: Floats, mean: Floats, mean_next: Floats, xe: Floats, alpha: Floats,
    decay: Floats, code: int, gamma_next: float, rho: float, norm: float,
) -> None:  # fmt: skip
    """C, and c (V-v) (V'-v')."""
    for l in range(c.size):
        c[l] = gamma_next * _reach(code, alpha[l], rho, decay[l], xe[l], norm)
        aim[l] = c[l] * (v_next[l] - mean_next[l]) * (v[l] - mean[l])


@lanewise
def _average(
    z: Floats, w: Floats, visits: Floats, squares: Floats, counted: Floats, least: Floats, c: Floats, aim: Floats,
    above: Floats, weight: Floats, variance: Floats,
) -> None:  # fmt: skip
    """Move A[·] of a feature of x', and add what it says to the sums over features."""
    for l in range(z.size):
        rate = max(least[l], 1 / (visits[l] + 1))
        z[l] += rate * (aim[l] - z[l])
        w[l] += rate * (c[l] * c[l] - w[l])
        above[l] += z[l]
        weight[l] += w[l]
        variance[l] += squares[l] / counted[l] if counted[l] > 0 else 0.0


@lanewise
def _choose(
    lam: Floats, above: Floats, weight: Floats, variance: Floats, v_next: Floats, mean_next: Floats, doubt: Floats,
    active: int,
) -> None:  # fmt: skip
    for l in range(lam.size):
        spread = variance[l] / active if active > 0 else 0.0
        lam[l] = _best(above[l], weight[l], v_next[l] - mean_next[l], spread, doubt[l])


@lanewise
def _error(delta: Floats, mean: Floats, mean_next: Floats, reward: float, gamma_next: float) -> None:
    for l in range(delta.size):
        delta[l] = reward + gamma_next * mean_next[l] - mean[l]


@lanewise
def _decay_noise(trace: Floats, u: Floats, decay: Floats, delta: Floats, rho: float) -> None:
    for l in range(trace.size):
        trace[l] *= rho * decay[l]
        u[l] += delta[l] * trace[l]


@lanewise
def _add_noise(trace: Floats, u: Floats, delta: Floats, by: float) -> None:
    for l in range(trace.size):
        trace[l] += by
        u[l] += delta[l] * by


@kernel
def by_value_error(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> None:  # fmt: skip
    """As `prepare`: choose λ', hand V and m their parts, add this step's noise."""
    rows, size, own, one = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[SIZE], I[RING], lanes.one_hot(xv, len(x))
    one_next = lanes.one_hot_next(x, y, yv, n_next)
    v, mean = F[x[0], 0] if one else S[HERE], F[x[0], 2 * rows] if one else S[HERE + 2]
    v_next, mean_next = F[y[0], 0] if one_next else S[NEXT], F[y[0], 2 * rows] if one_next else S[NEXT + 2]
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    lanes.spread(M, _SECOND, reward, gamma_next, rho)
    norm, active, visits = 0.0, 0, S[WORTH]
    visits[:] = 0.0
    for j in range(len(x)):
        norm += xv[j] ** 2
        if xv[j] != 0:
            lanes.increase(M[own + VISITS * size + x[j]], 1.0)
            lanes.increase(M[own + SEEN * size + x[j]], 1.0)
    for j in range(len(x)):
        if xv[j] != 0:
            lanes.add_scaled(visits, M[own + VISITS * size + x[j]], 1.0)
            active += 1
    _step_sizes(
        M[MEAN_PACE], S[AUX_ALPHA], S[AUX_BETA], S[ALPHA_T], S[BETA_T], visits, max(1, active), norm
    )  # fmt: skip
    if not one:
        lanes.dot(S[XE], F, I[WEIGHT_ROWS], x, xv, len(x))
    c, aim, above, weight, variance = S[LAM], S[CHANGE], S[lanes.KEEP], S[lanes.NEW], S[lanes.ALONG]
    xe, decay = F[x[0], I[WEIGHT_ROWS]] if one else S[XE], M[FIRST_BLOCK + DECAY]
    _aims(c, aim, v, v_next, mean, mean_next, xe, S[ALPHA_T], decay, I[ALGORITHM], gamma_next, rho, norm)
    above[:] = 0.0
    weight[:] = 0.0
    variance[:] = 0.0
    active = 0
    for j in range(n_next):
        if yv[j] != 0:
            f = own + y[j]
            _average(
                M[LAMBDA + y[j]], M[f + WEIGHTS * size], M[f + VISITS * size], M[f + SQUARES * size],
                M[f + COUNTED * size], M[KAPPA], c, aim, above, weight, variance,
            )  # fmt: skip
            active += 1
    _choose(M[FIRST_BLOCK + LAM_NEXT], above, weight, variance, v_next, mean_next, M[FLOOR], active)
    lanes.set_scaled(M[_SECOND + LAM_NEXT], M[TRACE_LAM], cut(rho))
    delta, trace = S[CHANGE], 2 * rows + I[WEIGHT_ROWS]
    _error(delta, mean, mean_next, reward, gamma_next)
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        _decay_noise(F[f, trace], M[own + NOISE * size + f], decay, delta, rho)
    for j in range(len(x)):
        _add_noise(F[x[j], trace], M[own + NOISE * size + x[j]], delta, rho * xv[j])


@lanewise
def _settle(mean: Floats, m: Floats, visits: Floats, alpha: Floats, forgetting: Floats, norm: float) -> None:
    for l in range(mean.size):
        rate = _average_step(visits[l], min(1.0, alpha[l] * norm), forgetting[l])
        mean[l] += rate * (m[l] - mean[l])


@lanewise
def _close(
    squares: Floats, counted: Floats, noise: Floats, seen: Floats, drift: Floats, power: Floats, visits: Floats
) -> None:
    for l in range(squares.size):
        squares[l] += noise[l] ** 2
        counted[l] += seen[l]
        if seen[l] > 0:
            drift[l] += RECENT * (noise[l] - drift[l])
            power[l] += RECENT * (noise[l] ** 2 - power[l])
            if _moved(drift[l], power[l]):
                drift[l], visits[l] = 0.0, 0.0
        noise[l], seen[l] = 0.0, 0.0


@kernel
def settle(F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, ended: bool) -> None:
    """As `settle`: average m, and close a stretch that is over."""
    rows, size, own, norm = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[SIZE], I[RING], 0.0
    for j in range(len(x)):
        norm += xv[j] ** 2
    for j in range(len(x)):
        if xv[j] != 0:
            f = x[j]
            visits = M[own + VISITS * size + f]
            _settle(F[f, 2 * rows], F[f, rows], visits, S[ALPHA_T], M[FORGETTING], norm)
    I[SINCE] += 1
    if I[SINCE] >= (size if ended else max(size, M[STRETCH, 0])):
        I[SINCE] = 0
        for f in range(own, own + size):
            _close(
                M[f + SQUARES * size], M[f + COUNTED * size], M[f + NOISE * size], M[f + SEEN * size],
                M[f + DRIFT * size], M[f + POWER * size], M[f + VISITS * size],
            )  # fmt: skip
