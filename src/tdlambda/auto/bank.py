"""One transition of a bank of learners, and the signal that determines the weights of the mixture.

With u = Σ p V the mixture's prediction and c = V - u an expert's distance from it, the expert's value error minus the
mixture's is

    E[(V - v)² - (u - v)²] = E[ c² - 2 c (v - u) ]

The first part is observed. The second follows from the mixture's own TD errors δ = ρ (R + γ' u' - u)
(docs/auto-td.md):

    Σ c_t (v - u)(s_t) = E Σ δ_t z_t,        z_t = ρ_{t-1} γ_t z_{t-1} + c_t        without v, and without bias

In place of z_t the bank uses ẑ(s_t) = E[z_t | s_t], learned on the features by bootstrapping from ẑ one step back
("expected eligibility traces", van Hasselt et al. 2021). For a table this has the same mean, and its variance contains
no products of ρ.

The learners' λ' is divided by ρ if ρ > 1 (as Retrace cuts its traces, Munos et al. 2016), so that no trace grows by
products of ratios. λ may depend on the step taken: a table still converges to v.

These are plain functions. `auto.modules` puts them into a generated module with the learners' own `learn` and `clear`,
the numbers that depend on the algorithm, and the runtime. `m` is `layout.Memory`, `s` its record of the bank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto.errors import RECENT, SKIPPED, TRACE, note_error
from tdlambda.auto.layout import BOUND, ENERGY, EVERY, GAIN, LEAST_STEP, NOISE, SCALES
from tdlambda.auto.mixing import averaged, sync, update_weights, weigh
from tdlambda.auto.systems import ERROR, NORM, VALUE, note_moment
from tdlambda.features.base import first_misfit

if TYPE_CHECKING:  # other names in the generated module
    given: Any = None
    add_scaled = dot_lanes = fill = horizon = set_scaled = squared = given  # see `core.runtime`
    learn_systems = solve_some = forget = given  # see `systems`
    # `learn` performs one transition of all learners and returns how many left their bounds; `clear` ends an episode
    learn = clear = given
    advance_ = given  # `advance` of a validated transition
    # Numbers of leading rows: step sizes in N, all of the learner's own rows in N, weights in F
    SIZES = NUMBERS = WEIGHTS = 1
    # The rows of N with bounds on weights and traces (-1: no such row); whether weights of x' change too
    WEIGHT_TOP, TRACE_TOP, MOVES_NEXT = 1, 1, True

_Function = TypeVar("_Function")


def lanewise(function: _Function) -> _Function:
    """Declare that a function's rows never overlap, so that its loop can be vectorised: see `compiled.lanewise`."""
    function.lanewise = True  # type: ignore[attr-defined]
    return function


# ---- predictions ---------------------------------------------------------------------------------------------------


def largest_value(s: Any) -> float:
    """The largest value that the rewards and discounts so far allow."""
    return s.most_reward * horizon(s.most_gamma, s.longest)


@lanewise
def mix(value: Floats, weight: Floats, limit: float) -> float:
    """Σ p V, with each V clipped to ±limit (NaN to 0)."""
    u = 0.0
    for l in range(value.size):
        v = value[l]
        v = v if abs(v) <= limit else limit if v > 0 else -limit if v < 0 else 0.0
        value[l] = v
        u += weight[l] * v
    return u


def predict(m: Any, s: Any, x: Ints, xv: Floats, n: int, own: Floats) -> float:
    """Compute each expert's prediction at x, those of `own` as given, and the mixture's."""
    lanes, first_own = s.age.size, m.value.size - own.size
    for j in range(n):
        sync(m, s, x[j])
    dot_lanes(m.value[:lanes], m.F, 0, x, xv, n)
    dot_lanes(m.value[lanes : 2 * lanes], m.copies, 0, x, xv, n)
    if first_own > 2 * lanes:
        dot_lanes(m.value[2 * lanes : first_own], m.systems.solved, 0, x, xv, n)
    for k in range(own.size):
        m.value[first_own + k] = own[k]
    return mix(m.value, m.weight, largest_value(s))


def predict_row(m: Any, scratch: Floats, x: Ints, xv: Floats, own: Floats) -> float:
    """Predict at an observation without changing any state; averaged copies are brought up to date on the fly."""
    s = m.bank[0]
    lanes, first_own = s.age.size, scratch.size - own.size
    scratch[:] = 0.0
    for k in range(own.size):
        scratch[first_own + k] = own[k]
    for j in range(x.size):
        f = x[j]
        behind = s.updates - m.synced[f]
        for l in range(lanes):
            w = m.F[f, 0, l]
            scratch[l] += xv[j] * w
            scratch[lanes + l] += xv[j] * averaged(w, m.copies[f, 0, l], s.age[l], behind)
        for k in range(2 * lanes, first_own):
            scratch[k] += xv[j] * m.systems.solved[f, 0, k - 2 * lanes]
    return mix(scratch, m.weight, largest_value(s))


def predict_rows(m: Any, out: Floats, scratch: Floats, x: Ints, xv: Floats, own: Floats) -> None:
    """Predict at each observation."""
    for t in range(out.size):
        out[t] = predict_row(m, scratch, x[t], xv[t], own[t])


# ---- the signal ----------------------------------------------------------------------------------------------------


@lanewise
def add_signal(gain: Floats, noise: Floats, z: Floats, delta: float) -> None:
    """Add to the sums Σ δẑ and Σ (δẑ)²."""
    for l in range(gain.size):
        signal = delta * z[l]
        gain[l] += signal
        noise[l] += signal * signal


@lanewise
def add_distance(energy: Floats, value: Floats, z: Floats, u: float, keep: float) -> None:
    """Replace V by c = V - u and ẑ by z = keep ẑ + c; add to the sum Σ c²."""
    for l in range(energy.size):
        c = value[l] - u
        energy[l] += c * c
        value[l] = c
        z[l] = keep * z[l] + c


@lanewise
def subtract_from(row: Floats, total: Floats) -> None:
    """Replace the row by total - row."""
    for l in range(row.size):
        row[l] = total[l] - row[l]


def expect(m: Any, x: Ints, xv: Floats, norm: float) -> None:
    """Update ẑ(x) towards z, and replace z by ẑ(x)."""
    n, error = len(x), m.value
    if norm == 0.0:
        fill(m.z, 0.0)
        return
    dot_lanes(error, m.expected, 0, x, xv, n)
    subtract_from(error, m.z)
    for j in range(n):
        f = x[j]
        m.visits[f] += xv[j] * xv[j] / norm
        step = max(LEAST_STEP, 1.0 / (m.visits[f] + 1.0))
        add_scaled(m.expected[f, 0], error, step * xv[j] / norm)
    dot_lanes(m.z, m.expected, 0, x, xv, n)


def close(m: Any, s: Any, u_next: float) -> None:
    """Compute the mixture's TD error of the last step and its contribution to each expert's loss."""
    error = s.reward + s.gamma * u_next - s.u
    delta = s.rho * error
    note_moment(m.systems, ERROR, error * error, m.counts[0].seen)
    note_error(m.errors, error, s.gamma, s.rho)
    add_signal(m.since[GAIN], m.since[NOISE], m.z, delta)


# ---- one transition ------------------------------------------------------------------------------------------------


def larger(a: float, b: float) -> float:
    """The larger of two numbers; NaN if either is NaN."""
    return b if b > a or b != b else a


def take_tops(m: Any, lane: int) -> float:
    """Set the bounds on a learner's weights and traces to the largest |weight| and |trace|; return the former."""
    weight, trace = 0.0, 0.0
    for f in range(m.F.shape[0]):
        for row in range(m.F.shape[1]):
            size = abs(m.F[f, row, lane])
            if row < WEIGHTS:
                weight = larger(weight, size)
            else:
                trace = larger(trace, size)
    m.N[WEIGHT_TOP, lane] = weight
    if TRACE_TOP >= 0:
        m.N[TRACE_TOP, lane] = trace
    return weight


def drop(m: Any) -> int:
    """Drop learners beyond the bound, with their averaged copies; return 0 if none is left."""
    s, lanes = m.bank[0], m.bank[0].age.size
    for k in range(lanes):
        if not take_tops(m, k) <= BOUND:
            s.drops += 1
            s.dropped[k], s.alpha[k] = 1, 0.0
            m.F[:, :, k] = 0.0
            m.copies[:, 0, k] = 0.0
            m.N[:NUMBERS, k] = 0.0
            for l in (k, lanes + k):
                m.expected[:, 0, l] = 0.0
                m.weight[l] = m.value[l] = m.z[l] = 0.0
                for row in range(3):
                    m.since[row, l] = m.long[row, l] = 0.0
                    for i in range(SCALES):
                        m.short[i, row, l] = 0.0
    weigh(m, s)
    return 1 if is_left(m, s) else 0


def is_left(m: Any, s: Any) -> bool:
    """Whether any expert is left."""
    return s.drops < s.age.size or m.systems.b.shape[0] > 0


def advance(
    m: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma_next: float, rho: float,
    terminated: bool, truncated: bool, checked: bool,
) -> int:  # fmt: skip
    """Learn from one transition; return 1, or 0 if it dropped the last learner.

    Unless the transition was `checked` before, return -1 without any change if features are out of range or no learner
    is left.
    """
    s, lanes, count, left = m.bank[0], m.state[0], m.counts[0], 1
    if not checked and (
        not is_left(m, s)
        or first_misfit(x.reshape(1, -1), xv.reshape(1, -1), m.F.shape[0]) >= 0
        or first_misfit(y.reshape(1, -1), yv.reshape(1, -1), m.F.shape[0]) >= 0
    ):
        return -1
    count.seen += 1
    fresh, norm = lanes.under_way == 0, squared(xv, len(x))
    s.most_norm, s.most_reward = max(s.most_norm, norm), max(s.most_reward, abs(reward))
    s.length = 1.0 if fresh else 1.0 + s.gamma * s.length
    s.longest = max(s.longest, s.length)

    u = predict(m, s, x, xv, len(x), m.own[0])
    if not fresh:
        close(m, s, u)
    add_distance(m.since[ENERGY], m.value, m.z, u, 0.0 if fresh else s.rho * s.gamma)
    expect(m, x, xv, norm)
    if count.seen % SKIPPED == 0:
        row = (count.seen // SKIPPED) % RECENT
        for j in range(len(x)):
            m.recent[row, j], m.recent_value[row, j] = x[j], xv[j]
    note_moment(m.systems, VALUE, u * u, count.seen)
    note_moment(m.systems, NORM, norm, count.seen)
    s.u, s.rho, s.reward, s.gamma = u, rho, reward, 0.0 if terminated else gamma_next
    s.most_gamma = max(s.most_gamma, s.gamma)

    for size in range(SIZES):
        set_scaled(m.N[size], s.alpha, 1.0 / s.most_norm if s.most_norm > 0 else 1.0)
    set_scaled(s.lam_next, s.lam, 1.0 / rho if rho > 1.0 else 1.0)
    if MOVES_NEXT:
        for j in range(len(y)):
            sync(m, s, y[j])
    beyond = learn(
        m.F, m.N, m.U, m.order, m.listed, m.state, m.visits, x, xv, y, yv, y, yv, s.lam_next, reward, gamma_next, rho,
        terminated, truncated, False,
    )  # fmt: skip
    if beyond > 0:
        left = drop(m)
    learn_systems(m.systems, x, xv, y, yv, reward, s.gamma, rho)
    if terminated or truncated:
        close(m, s, 0.0 if terminated else predict(m, s, y, yv, len(y), m.own[1]))
        fill(m.z, 0.0)
        m.errors[TRACE] = 0.0
        forget(m.systems)
    solve_some(m.systems, lanes.steps)
    if lanes.steps % EVERY == 0:
        update_weights(m)
    if left == 0:
        count.diverged_at = count.seen
    return left


def learn_rows(
    m: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, terminated: Bools,
    truncated: Bools,
) -> bool:  # fmt: skip
    """Learn from transitions in order, until the last learner is dropped; return whether any is left."""
    for t in range(reward.size):
        if not advance_(m, x[t], xv[t], y[t], yv[t], reward[t], gamma[t], rho[t], terminated[t], truncated[t]):
            return False
    return True


def end(m: Any) -> None:
    """End the episode: reset all traces."""
    clear(m.F, m.N, m.U, m.order, m.listed, m.state)
    fill(m.z, 0.0)
    m.errors[TRACE] = 0.0
    forget(m.systems)
