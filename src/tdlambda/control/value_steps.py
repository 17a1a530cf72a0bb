"""One step of an agent with action values, as plain functions, whose source `control.value_modules` copies.

At a step from (s, a) to (s', a'), `transition` passes to the learner x = x(s, a) and

    x' = Σ_b m(b) x(s', b),    z = x(s', a'),    c' = the trace coefficient of a'

| target | m(b) |
| --- | --- |
| sampled | 1[b = a'] |
| weighted | ρ' 1[b = a'], sampled off-policy |
| expected | π(b given s') |
| greedy | 1[b = a*], a* = a' if that is among the best |
| peng | (1 - λ') 1[b = a*] + λ' 1[b = a'] |

so that δ = r' + γ' w·x' - w·x. The trace decays by λ' c' instead of λ': for TD(λ), e = γλ c e + x(s, a) and w += α δ e.
z is the x of the next step; λ' is a function of it.

Tuples of arrays among the arguments:

| name | arrays |
| --- | --- |
| `learner` | the learner's state, rows, rows of its rule, live features |
| `a` | the agent's record of numbers |
| `ahead` | q(s', ·); π(·|s'), which `weigh` replaces by m; b(·|s') |
| `features` | indices and values of x(s), of x(s'), and of λ's own features at s', if it has any |
| `pairs` | buffers: indices of x(s, a) and of z, indices and values of x' |

Arguments after the * are fixed when code is generated: `weigh_` is the copy of `weigh` for this form of agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.control.exploration import level

if TYPE_CHECKING:
    from tdlambda.control.exploration import epsilon_greedy as aim_
    from tdlambda.control.exploration import epsilon_greedy as behave_
    from tdlambda.mdp.corrections import retrace as coefficients_

    def learn(*arguments: Any) -> int:
        """Learn from one transition."""

    def clear_others_(*arguments: Any) -> None:
        """Set the traces of other actions to 0 at the features of s."""

    def look_ahead_(*arguments: Any) -> None:
        """`look_ahead` of this form of agent."""

    def coefficient_of_(*arguments: Any) -> float:
        """`coefficient_of` of this form of agent."""

    def weigh_(*arguments: Any) -> None:
        """`weigh` of this form of agent."""

    def features_(*arguments: Any) -> Any:
        """`pair_features` or `network_features` of this form of agent."""

    def values(*arguments: Any) -> None:
        """Write q(s, ·) into a buffer: `linear_values`, or the outputs of a network."""

    def weight_(*arguments: Any) -> float:
        """The weight of one feature."""


NEVER, NO_ACTION = 100, 101
"""Status of a transition whose next action has probability 0 under the behaviour policy, or with an invalid action."""


def transition(
    learner: Any, a: Any, ahead: Any, pairs: Any, features: Any, action: int, taken: int, reward: float, gamma: float,
    lam: float, terminated: bool, truncated: bool, *, target: str, corrects: bool, clears: bool,
) -> int:  # fmt: skip
    """Learn from one transition that is validated except for b(a'|s'); return its status. `action` is a, `taken` is a'.

    If the agent `clears` traces, those of the other actions are set to 0 at the features of s.
    """
    coefficient = 1.0
    if (target != "sampled" or corrects) and not terminated:
        look_ahead_(learner, a, ahead, features[2], features[3])
        coefficient = coefficient_of_(a, ahead, taken)
        if coefficient < 0.0:
            return NEVER
        weigh_(ahead, taken, lam)
    if clears:
        clear_others_(learner[1], features[0], action, ahead[0].size)
    x, xv, y, yv, z, zv = features_(ahead, pairs, features, action, taken, terminated)
    state, rows, rule_rows, live = learner
    if corrects:
        return learn(
            state, rows, rule_rows, live, x, xv, y, yv, z, zv, reward, gamma, 1.0, lam, coefficient, terminated,
            truncated,
        )  # fmt: skip
    return learn(state, rows, rule_rows, live, x, xv, y, yv, z, zv, reward, gamma, 1.0, lam, terminated, truncated)


# ---- q, π and b at s'; then c' and m ---------------------------------------------------------------------------------


def look_ahead(
    learner: Any, a: Any, ahead: Any, y: Ints, yv: Floats,
    *, target: str, on_policy: bool, policies_known: bool, values_known: bool,
) -> None:  # fmt: skip
    """Write q(s', ·), π(·|s') and b(·|s') into `ahead`, as far as the target needs them.

    If `policies_known`, both policies are already there; if `values_known`, so are the values.
    """
    q, pi, b = ahead
    if not values_known and (not policies_known or target == "greedy" or target == "peng"):
        values(learner[0], learner[1], y, yv, q)
    if not policies_known:
        aimed(a, q, pi)
        if not on_policy:
            behaved(a, q, b)


def coefficient_of(a: Any, ahead: Any, taken: int, *, target: str, corrects: bool, on_policy: bool) -> float:
    """The trace coefficient c' of a'; -1 if b(a'|s') = 0."""
    q, pi, b = ahead
    share = pi[taken] if on_policy else b[taken]
    if not share > 0.0:
        return -1.0
    if target == "greedy" or target == "peng":
        return 1.0 if best(q, taken) == taken else 0.0
    if corrects:
        coefficient, _kappa = coefficients_(
            1.0 if on_policy else pi[taken] / share, pi[taken], share, a.c_bar, 1.0, a.psi
        )
        return coefficient
    return 1.0


def weigh(ahead: Any, taken: int, lam: float, *, target: str) -> None:
    """Replace π(·|s') in `ahead` by the weights m(b) of the target."""
    q, m, b = ahead
    if target == "weighted":
        only(m, taken, m[taken] / b[taken])
    elif target == "greedy" or target == "peng":
        top = best(q, taken)
        only(m, top, 1.0)
        if target == "peng":
            m[top] -= lam
            m[taken] += lam


def only(m: Floats, action: int, weight: float) -> None:
    """Write m(b) = weight · 1[b = action]."""
    for k in range(m.size):
        m[k] = 0.0
    m[action] = weight


def best(q: Floats, first: int) -> int:
    """The action with the largest value: `first` if it is among the ties, else the first of them."""
    top = first
    for k in range(q.size):
        if q[k] > q[top]:
            top = k
    return top


def aimed(a: Any, q: Floats, out: Floats) -> None:
    """Write π(·|s), the target policy, into `out`."""
    n = a.episodes if a.pi_episodes else a.steps
    aim_(q, level(a.pi_start, a.pi_end, a.pi_after, a.pi_over, n), out)


def behaved(a: Any, q: Floats, out: Floats) -> None:
    """Write b(·|s), the behaviour policy, into `out`."""
    n = a.episodes if a.b_episodes else a.steps
    behave_(q, level(a.b_start, a.b_end, a.b_after, a.b_over, n), out)


# ---- features --------------------------------------------------------------------------------------------------------


def pair_features(
    ahead: Any, pairs: Any, features: Any, action: int, taken: int, terminated: bool, *, target: str, own_lam: bool
) -> Any:
    """x(s, a), x' and z of linear action values, as indices and values."""
    x, xv, y, yv, z, zv = features
    x_pair, z_pair, index, value = pairs
    actions = ahead[0].size
    pair(x, actions, action, x_pair)
    pair(y, actions, taken, z_pair)
    if not own_lam:
        z, zv = z_pair, yv
    if target == "sampled":
        return x_pair, xv, z_pair, yv, z, zv
    n = 0 if terminated else mixed(y, yv, ahead[1], index, value)
    return x_pair, xv, index[:n], value[:n], z, zv


def network_features(
    ahead: Any, pairs: Any, features: Any, action: int, taken: int, terminated: bool, *, target: str
) -> Any:
    """The same for a network: x is an output, x' the weights of outputs, z the next observation."""
    _x, xv, y, yv, _z, _zv = features
    x_pair, _z_pair, index, value = pairs
    m, n = ahead[1], 0
    if target == "sampled":
        only(m, taken, 1.0)
    x_pair[0] = action
    for k in range(m.size):
        if m[k] != 0.0:
            index[n], value[n] = k, m[k]
            n += 1
    return x_pair, xv, index[:n], value[:n], y, yv


def pair(x: Ints, actions: int, action: int, out: Ints) -> None:
    """Write the indices of x(s, action) into `out`."""
    for j in range(x.size):
        out[j] = x[j] * actions + action


def mixed(y: Ints, yv: Floats, m: Floats, index: Ints, value: Floats) -> int:
    """Write Σ_b m(b) x(s', b) as indices and values; return their number."""
    n = 0
    for j in range(y.size):
        for k in range(m.size):
            if m[k] != 0.0:
                index[n], value[n] = y[j] * m.size + k, m[k] * yv[j]
                n += 1
    return n


# ---- values ----------------------------------------------------------------------------------------------------------


def weight(state: Any, rows: Floats, f: int) -> float:
    """The weight of a feature, for a learner with the row layout of `core.schedules.one`."""
    return rows[0, f]


def linear_values(state: Any, rows: Floats, x: Ints, xv: Floats, q: Floats) -> None:
    """Write q(s, ·) into `q`, from weights of features."""
    for k in range(q.size):
        q[k] = 0.0
    for j in range(x.size):
        for k in range(q.size):
            q[k] += xv[j] * weight_(state, rows, x[j] * q.size + k)
