"""The actor: policy gradient with eligibility traces (thesis chapter 2; Sutton & Barto 2018, section 13.5).

One step, from x = x_t by action a = a_t to x' = x_{t+1}, with δ from the critic:

    z   = ρ [ γλ z + I ∇ log π(a|x; θ) ]
    θ  += η [ δ z + τ I ∇H(π(·|x; θ)) ]
    I'  = I γ'

γ and λ belong to x, ρ = π(a|x)/b(a|x). z = 0 and I = 1 at an episode's start. Without a trace (λ = 0) it is the
one-step method, θ += η δ ρ I ∇ log π. With θ and V held, the steps of an episode sum to the policy gradient by its
forward view, in which a λ-return takes the place of q:

    Σ_t I_t ρ_t (G_t - V(x_t)) ∇ log π(a_t|x_t),    G_t - V(x_t) = δ_t + γ_{t+1} λ_{t+1} ρ_{t+1} (G_{t+1} - V(x_{t+1}))

I, the emphasis of a state, says how much a visit to it counts. On-policy, where ρ = 1, the first two are the same:

    discounted  I' = I γ'         the thesis' cumulative discount; off-policy, states as the behaviour policy meets them
    corrected   I' = I ρ γ'       as the target policy meets them: off-policy too, the gradient of v_π(s₀)
    emphatic    I' = I ρ γ' + 1   the gradient of Σ_t v_π(s_t) along the behaviour's path (Imani et al. 2018)
    plain       I  = 1            every visit counts alike, as most code has it; for γ < 1 the gradient of nothing
                                  (Nota & Thomas 2020)

State lies in three arrays as `memory` has it, one block: rows θ, then rows z. S is room for 2 · rows numbers.
"""

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined
from tdlambda.control import gaussian, softmax
from tdlambda.control.policy import SOFTMAX
from tdlambda.memory import (
    ALGORITHM,
    BETA,
    DECAY,
    DELTA,
    DENSE,
    DENSE_SIZE,
    DIVERGED_AT,
    FIRST_BLOCK,
    OPTION,
    SLOTS,
    STEPS,
    TRACE_ROWS,
    UNDER_WAY,
    WARM_UP,
    WEIGHT_ROWS,
    Index,
    Value,
    add,
    add_within,
    clear_traces,
    decay_and_follow,
    enliven,
    prune,
    step_size,
)

ENTROPY = BETA
"""M: τ."""
EMPHASIS = FIRST_BLOCK + SLOTS
"""M: I, of x_t."""
NUMBERS = FIRST_BLOCK + SLOTS + 3
POLICY, WEIGHTING = ALGORITHM, OPTION
"""I: codes of the policy and of what I is."""
DISCOUNTED, CORRECTED, EMPHATIC, PLAIN = range(4)
WEIGHTINGS = ("discounted", "corrected", "emphatic", "plain")

_softmax_score, _probabilities = softmax.score, softmax.probabilities
_gaussian_score, _mean_and_sigma = gaussian.score, gaussian.mean_and_sigma


def width(size: int) -> int:
    """How wide a row is for so many features: see `memory`."""
    return size + (-size % 4 if size <= DENSE_SIZE else (64 - size) % 512)


@inlined
def next_emphasis(kind: int, emphasis: float, gamma_next: float, rho: float) -> float:
    """I' from I."""
    if kind == PLAIN:
        return 1.0
    if kind == DISCOUNTED:
        return emphasis * gamma_next
    return emphasis * rho * gamma_next + (1.0 if kind == EMPHATIC else 0.0)


@inlined
def coefficients(
    score: float, entropy: float, delta: float, eta: float, tau: float, emphasis: float, rho: float, gamma_lam: float
) -> tuple[float, float, float, float]:
    """What a step does to a row, in four numbers: z = keep z + new x, then θ += along z + back x.

    `score` and `entropy` are the row's factors of x in ∇ log π and in ∇H.
    """
    return rho * gamma_lam, rho * emphasis * score, eta * delta, eta * tau * emphasis * entropy


@inlined
def distribution(F: Floats, M: Floats, I: Ints, S: Floats, x: Index, xv: Value) -> None:
    """The policy at x into S: probabilities, or means and standard deviations."""
    if I[POLICY] == SOFTMAX:
        _probabilities(F, x, xv, S, I[WEIGHT_ROWS])
    else:
        _mean_and_sigma(F, M, x, xv, S, I[WEIGHT_ROWS] // 2)


@inlined
def learn(
    F: Floats, M: Floats, I: Ints, S: Floats, x: Index, xv: Value, action: int, point: Floats,
    delta: float, rho: float, gamma_next: float, gamma_lam_next: float, terminated: bool, truncated: bool,
) -> bool:  # fmt: skip
    """One step that has been checked; `action` for a softmax, `point` for a Gaussian. Whether θ is within its bound.

    An actor that has diverged stays as it is; one that is warming up has η = 0.
    """
    if I[DIVERGED_AT] >= 0:
        return True
    if I[POLICY] == SOFTMAX:
        _softmax_score(F, x, xv, action, S, I[WEIGHT_ROWS])
    else:
        _gaussian_score(F, M, x, xv, point, S, I[WEIGHT_ROWS] // 2)
    return climb(F, M, I, S, x, xv, delta, rho, gamma_next, gamma_lam_next, terminated, truncated)


@inlined
def climb(
    F: Floats, M: Floats, I: Ints, S: Floats, x: Index, xv: Value,
    delta: float, rho: float, gamma_next: float, gamma_lam_next: float, terminated: bool, truncated: bool,
) -> bool:  # fmt: skip
    """The same where the factors of x in ∇ log π and ∇H are in S."""
    I[STEPS] += 1
    rows, traced, n = I[WEIGHT_ROWS], I[TRACE_ROWS] > 0, len(x)
    eta = step_size(F, M, I, x, xv) if I[STEPS] > I[WARM_UP] else 0.0
    largest, within = 0.0, True
    for row in range(rows):
        largest += abs(S[row] * rho * M[EMPHASIS]) * (1 + abs(eta * delta))
    if not largest < np.inf:  # θ stays a number, so that the policy can still act
        I[DIVERGED_AT] = I[STEPS]
        return False
    for row in range(rows if traced or eta > 0.0 else 0):
        keep, new, along, back = coefficients(
            S[row], S[rows + row], delta, eta, M[ENTROPY], M[EMPHASIS], rho, M[FIRST_BLOCK + DECAY]
        )
        if traced:
            within &= decay_and_follow(F[rows + row], keep, F[row], along, M, I)
            add(F[rows + row], new, x, xv, n)
        within &= add_within(F[row], along * new + back, x, xv, n, M)
    if traced:
        if not I[DENSE]:
            enliven(I, x, n, F.shape[1])
        prune(F, M, I, 1.0)
    I[UNDER_WAY] = 1
    M[EMPHASIS] = next_emphasis(I[WEIGHTING], M[EMPHASIS], gamma_next, rho)
    M[FIRST_BLOCK + DELTA], M[FIRST_BLOCK + DECAY] = delta, gamma_lam_next
    if terminated or truncated:
        begin(F, M, I)
    if not within:
        I[DIVERGED_AT] = I[STEPS]
    return within


@inlined
def begin(F: Floats, M: Floats, I: Ints) -> None:
    """A new episode: no trace, and I = 1."""
    clear_traces(F, I)
    M[EMPHASIS], M[FIRST_BLOCK + DECAY] = 1.0, 0.0
