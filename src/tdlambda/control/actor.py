"""The actor: policy gradient with eligibility traces (Zhao 2020, chapter 2; Sutton & Barto 2018, section 13.5).

One step, from x = x_t by action a = a_t to x' = x_{t+1}, with δ from the critic:

    z   = ρ [ γλ z + I ∇ log π(a|x; θ) ]
    θ  += η [ δ z + τ I ∇H(π(·|x; θ)) ]
    I'  = I γ'

γ and λ belong to x, ρ = π(a|x)/b(a|x). z = 0 and I = 1 at an episode's start. Without a trace (λ = 0) it is the
one-step method, θ += η δ ρ I ∇ log π. If θ and V are held fixed, the updates of an episode sum to the forward view of
the policy gradient, in which a λ-return takes the place of q:

    Σ_t I_t ρ_t (G_t - V(x_t)) ∇ log π(a_t|x_t),    G_t - V(x_t) = δ_t + γ_{t+1} λ_{t+1} ρ_{t+1} (G_{t+1} - V(x_{t+1}))

I, the emphasis of a state, is the weight of a visit. On-policy, where ρ = 1, the first two choices are the same:

    discounted  I' = I γ'         cumulative discount, as in Zhao (2020); off-policy, states weighted by the behaviour
    corrected   I' = I ρ γ'       states weighted by the target policy: the gradient of v_π(s₀), also off-policy
    emphatic    I' = I ρ γ' + 1   the gradient of Σ_t v_π(s_t) along the behaviour's path (Imani et al. 2018)
    plain       I  = 1            all visits have equal weight, as in most code; for γ < 1 the gradient of no function
                                  (Nota & Thomas 2020)

The functions below are plain Python: `control.modules` copies their source into generated modules, together with the
policy's own functions and the update of a row, `moved_`, which is generated from `PolicyGradient` or `OneStep`. `s` is
a record with names (see `actor_state`), `rows` are the rows of θ followed by those of z, `out` is a buffer with two
numbers for each row of θ: the factors of x in ∇ log π and in ∇H.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.core.declare import Declaration
from tdlambda.core.runtime import PRUNED_EVERY, dot, enliven, scheduled

WEIGHTINGS = ("discounted", "corrected", "emphatic", "plain")

if TYPE_CHECKING:

    def moved_(*arguments: Any) -> bool:
        """Update one row of θ and its trace; return whether θ is within its bound."""


class PolicyGradient(Declaration):
    """The update of one row of θ and of its trace z; `score` and `entropy` are the factors of x in ∇ log π and ∇H."""

    weight_rows, trace_rows = "theta", "trace"
    inputs = ("score", "entropy", "delta", "eta", "tau", "emphasis", "rho", "decay")
    updates = """
        trace  = keep trace + new x
        theta += along trace + back x
    """

    @staticmethod
    def step(score, entropy, delta, eta, tau, emphasis, rho, decay):  # type: ignore[no-untyped-def]
        """Coefficients of the update."""
        keep, new = rho * decay, rho * emphasis * score
        along, back = eta * delta, eta * tau * emphasis * entropy
        return keep, new, along, back


class OneStep(Declaration):
    """The update of one row of θ without a trace."""

    weight_rows = "theta"
    inputs = PolicyGradient.inputs
    updates = "theta += change x"

    @staticmethod
    def step(score, entropy, delta, eta, tau, emphasis, rho):  # type: ignore[no-untyped-def]
        """Coefficient of the update."""
        change = eta * delta * (rho * emphasis * score) + eta * tau * emphasis * entropy
        return change  # noqa: RET504, results have names


def climb(
    s: Any, rows: Floats, live: Ints, out: Floats, x: Ints, xv: Floats, yv: Floats, delta: float, rho: float,
    gamma_next: float, decay_next: float, ended: bool, *, weighting: str, traced: bool, sparse: bool, by_steps: bool,
) -> bool:  # fmt: skip
    """Perform one validated step, with the factors of x in `out`; return whether θ is within its bound.

    During the warm-up η = 0. The last four arguments are fixed when code is generated.
    """
    s.steps += 1
    n, within, largest = out.size // 2, True, 0.0
    eta = scheduled(s.eta, s.offset, s.power, float(s.steps)) if by_steps else s.eta
    if s.steps <= s.warm_up:
        eta = 0.0
    for row in range(n):
        largest += abs(out[row] * rho * s.emphasis) * (1 + abs(eta * delta))
    if not largest < np.inf:  # keep θ finite, so that the policy can still act
        s.diverged_at = s.steps
        return False
    for row in range(n if traced or eta > 0.0 else 0):
        within &= moved_(
            rows[row], rows[rows.shape[0] - n + row], out[row], out[n + row], delta, eta, s.tau, s.emphasis, rho,
            s.decay, x, xv, s.bound, live[0], s.n_live,
        )  # fmt: skip
    if traced and sparse:
        s.n_live = enliven(live[0], live[1], s.n_live, x, len(x))
        if s.steps % PRUNED_EVERY == 0:
            s.n_live = prune(rows[n:], live[0], live[1], s.n_live, s.tolerance)
    s.delta, s.decay = delta, decay_next
    if weighting == "plain":
        s.emphasis = 1.0
    elif weighting == "discounted":
        s.emphasis = s.emphasis * gamma_next
    elif weighting == "corrected":
        s.emphasis = s.emphasis * rho * gamma_next
    else:
        s.emphasis = s.emphasis * rho * gamma_next + 1.0
    if ended:
        begin(s, rows[n:], live)
    if not within:
        s.diverged_at = s.steps
    return within


def outputs(rows: Floats, x: Ints, xv: Floats, out: Floats) -> None:
    """Write θ_i·x of each row."""
    for i in range(out.size // 2):
        out[i] = dot(rows[i], x, xv, len(x))


def prune(traces: Floats, order: Ints, listed: Ints, n_live: int, tolerance: float) -> int:
    """Drop the features whose traces are all within the tolerance; return the number of live features left."""
    i = 0
    while i < n_live:
        f, largest = order[i], 0.0
        for row in range(traces.shape[0]):
            largest = max(largest, abs(traces[row, f]))
        if largest > tolerance:
            i += 1
            continue
        for row in range(traces.shape[0]):
            traces[row, f] = 0.0
        listed[f] = 0
        n_live -= 1
        order[i] = order[n_live]
    return n_live


def begin(s: Any, traces: Floats, live: Ints) -> None:
    """Begin a new episode: zero traces, and I = 1."""
    s.emphasis, s.decay = 1.0, 0.0
    if live.shape[1] == 0:
        traces[:] = 0.0
        return
    for i in range(s.n_live):
        f = live[0, i]
        live[1, f] = 0
        for row in range(traces.shape[0]):
            traces[row, f] = 0.0
    s.n_live = 0
