"""Generated modules of agents with action values: the learner, the policies and the agent's step in one module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from tdlambda.control import value_steps, values_in_world
from tdlambda.control.actor_modules import Parts
from tdlambda.control.exploration import draw
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.schedules import network, one
from tdlambda.features.network import NetworkForm
from tdlambda.mdp.corrections import CORRECTIONS

SCRATCH = '''@inlined
def scratch_of(a_, scratch_, index_):
    """The buffers of a step: `ahead`, `pairs`, indices and values of x(s) and x(s'), and the encoder's numbers."""
    n_, k_ = a_.active, a_.actions
    at_, end_ = 3 * k_, 3 * k_ + (2 + k_) * n_
    ahead_ = scratch_[:k_], scratch_[k_ : 2 * k_], scratch_[2 * k_ : at_]
    pairs_ = index_[2 * n_ : 3 * n_], index_[3 * n_ : 4 * n_], index_[4 * n_ :], scratch_[at_ + 2 * n_ : end_]
    both_ = index_[:n_], scratch_[at_ : at_ + n_], index_[n_ : 2 * n_], scratch_[at_ + n_ : at_ + 2 * n_]
    return ahead_, pairs_, both_, scratch_[end_:]
'''
"""The layout of the two buffers of a step."""

ENTRY_POINTS = '''@brief
def values_at(state_, rows_, agent_, scratch_, index_, x_, xv_):
    """Write q(s, ·) at the features x of one observation to the start of the buffer."""
    values(state_, rows_, x_, xv_, scratch_[: agent_[0].actions])


@brief
def act_at(state_, rows_, agent_, scratch_, index_, x_, xv_, u_):
    """An action drawn from the behaviour policy at the features x with a uniform random number."""
    a_ = agent_[0]
    q_, b_ = scratch_[: a_.actions], scratch_[2 * a_.actions : 3 * a_.actions]
    values(state_, rows_, x_, xv_, q_)
    behaved(a_, q_, b_)
    return draw(b_, u_)


@brief
def learn_at(
    {given}, agent_, scratch_, index_, x_, xv_, y_, yv_, z_, zv_, action_, taken_, reward, gamma, lam, ended_
):
    """Learn from one transition between the features of two observations."""
    a_, s_ = agent_[0], state_[0]
    ahead_, pairs_, _, _ = scratch_of(a_, scratch_, index_)
    size_ = s_.size // a_.actions
    if not (0 <= action_ < a_.actions and 0 <= taken_ < a_.actions):
        return NO_ACTION
    status_ = check(reward, gamma, 1.0) or (IN_USE if s_.busy else OK)
    status_ = status_ or check_features(x_, xv_, size_, OBS, OBS_VALUES)
    status_ = status_ or check_features(y_, yv_, size_, NEXT_OBS, NEXT_OBS_VALUES)
    if status_ != OK:
        return status_
    status_ = transition(
        ({passed}), a_, ahead_, pairs_, (x_, xv_, y_, yv_, z_, zv_), action_, taken_, reward, gamma, lam,
        ended_ & TERMINATED != 0, ended_ & TRUNCATED != 0,
    )
    if status_ != NEVER:
        a_.steps += 1
        a_.episodes += ended_ != 0
    return status_
'''

INDICES = '''from tdlambda.core.runtime import called


@brief
def act_index(rows_, agent_, scratch_, s_, function_, random_):
    """An action in a one-hot state, drawn with the next number of a generator (`randomness.Drawing`); -1: no state."""
    a_ = agent_[0]
    if not 0 <= s_ < a_.size:
        return -1
    q_, b_ = scratch_[: a_.actions], scratch_[2 * a_.actions : 3 * a_.actions]
    for k_ in range(a_.actions):
        q_[k_] = rows_[0, s_ * a_.actions + k_]
    behaved(a_, q_, b_)
    return draw(b_, called(function_, random_))


@brief
def learn_index(
    {given}, agent_, scratch_, index_, s_, next_, action_, taken_, reward, gamma, lam, ended_
):
    """Learn from one transition between one-hot states."""
    a_ = agent_[0]
    _, _, (x_, xv_, y_, yv_), _ = scratch_of(a_, scratch_, index_)
    x_[0], y_[0], xv_[0], yv_[0] = s_, next_, 1.0, 1.0
    return learn_at(
        {given}, agent_, scratch_, index_, x_, xv_, y_, yv_, y_, yv_, action_, taken_, reward, gamma, lam, ended_
    )
'''

VECTORS = '''@brief
def act_vector(rows_, agent_, scratch_, index_, obs_, u_):
    """An action at an observation that is a vector; -1 if the observation is invalid."""
    a_ = agent_[0]
    (q_, _, b_), _, (x_, xv_, _, _), numbers_ = scratch_of(a_, scratch_, index_)
    if obs_.size != a_.dimensions or encode(obs_, numbers_, x_, xv_) != 0:
        return -1
    values(rows_, rows_, x_, xv_, q_)
    behaved(a_, q_, b_)
    return draw(b_, u_)


@brief
def learn_vector(
    {given}, agent_, scratch_, index_, obs_, next_obs_, action_, taken_, reward, gamma, lam, ended_
):
    """Learn from one transition between observations that are vectors."""
    _, _, (x_, xv_, y_, yv_), numbers_ = scratch_of(agent_[0], scratch_, index_)
    if obs_.size != agent_[0].dimensions or encode(obs_, numbers_, x_, xv_) != 0:
        return OBS_VALUES
    if next_obs_.size != agent_[0].dimensions or encode(next_obs_, numbers_, y_, yv_) != 0:
        return NEXT_OBS_VALUES
    return learn_at(
        {given}, agent_, scratch_, index_, x_, xv_, y_, yv_, y_, yv_, action_, taken_, reward, gamma, lam, ended_
    )
'''


CLEAR = '''@inlined
def clear_others_(rows_, x_, action_, actions_):
    """Set the traces of other actions to 0 at the features of s."""
    for j_ in range(x_.size):
        for k_ in range(actions_):
            if k_ != action_:
                f_ = x_[j_] * actions_ + k_
{rows}'''


VALUES = '''@inlined
def values(state_, net_, x_, xv_, q_):
    """Write q(s, ·), the outputs of a network."""
    outputs(net_[4][0], net_, xv_, 0)
    for k_ in range(q_.size):
        q_[k_] = net_[2][{outputs}, k_]
'''


class ValueForm(NamedTuple):
    """The settings of an agent with action values that are fixed when code is generated: `value_steps.transition`."""

    model: Model
    aim: Callable[..., None]
    behave: Callable[..., None]
    correction: str
    target: str
    policies_known: bool
    on_policy: bool
    own_lam: bool
    clears: bool = False
    network: NetworkForm | None = None

    @property
    def constants(self) -> dict[str, Any]:
        """The arguments of the functions of `value_steps` that are fixed."""
        names = ("target", "policies_known", "on_policy", "own_lam", "clears")
        return {name: getattr(self, name) for name in names} | {"corrects": self.model.corrected}

    def write(self, parts: Parts, values_known: bool = False) -> None:
        """Write the agent's functions, after the learner's and `weight_`."""
        parts.write("NEVER", f"NEVER, NO_ACTION = {value_steps.NEVER}, {value_steps.NO_ACTION}")
        parts.copy(self.aim, "aim_")
        parts.copy(self.behave, "behave_")
        parts.copy(CORRECTIONS[self.correction], "coefficients_")
        if self.network is not None:
            parts.write("values", VALUES.format(outputs=len(self.network.widths) - 1))
        else:
            parts.copy(value_steps.linear_values, "values")
        for name, function in {"aimed": value_steps.aimed, "behaved": value_steps.behaved, "draw": draw}.items():
            parts.copy(function, name)
        if self.clears:
            a, rows = self.model.algorithm, self.model.rows
            traces = [rows.index(f"{k}_{r}") for k in self.model.estimates for r in words(a.trace_rows)]
            parts.write(
                "clear_others_", CLEAR.format(rows="".join(f"                rows_[{r}, f_] = 0.0\n" for r in traces))
            )
        constants = self.constants | {"values_known": values_known}
        features = value_steps.pair_features if self.network is None else value_steps.network_features
        parts.copy(value_steps.look_ahead, "look_ahead_", constants)
        parts.copy(value_steps.coefficient_of, "coefficient_of_", constants)
        parts.copy(value_steps.weigh, "weigh_", constants)
        parts.copy(features, "features_", constants)
        parts.copy(value_steps.transition, "transition", constants)

    def write_in_world(self, parts: Parts, lazily: bool) -> None:
        """Write the agent's functions, after the learner's, for `interaction.interact`."""
        if not lazily:
            parts.copy(value_steps.weight, "weight_")
        self.write(parts, values_known=True)
        for name in ("fits", "start", "act", "learn_from"):
            parts.copy(getattr(values_in_world, name), f"{name}_")


@cache
def value_module(form: ValueForm, sparse: bool, encode: Any) -> ModuleType:
    """The module with the entry points of `act` and `update` for agents of this form."""
    model = form.model
    given = ["state_", "rows_", *one.memory(model, sparse)]
    passed = [name if name in given else "rows_" for name in ("state_", "rows_", "own_", "live_")]
    if form.network is not None:
        parts = Parts(network.generate(model, form.network), "scratch_of")
    else:
        parts = Parts(one.generate(model, sparse), "scratch_of")
        parts.copy(value_steps.weight, "weight_")
    form.write(parts)
    parts.write("scratch_of", SCRATCH)
    if form.network is not None:
        parts.write("feature checks", "from tdlambda.core.runtime import NEXT_OBS, OBS, check_features")
    entry_points = [ENTRY_POINTS, *([INDICES] if form.network is None else [])]
    entry_points += [VECTORS] if encode is not None else []
    if encode is not None:
        parts.copy(encode, "encode")
    names = {"given": ", ".join(given), "passed": ", ".join(passed)}
    for number, text in enumerate(entry_points):
        parts.write(f"entry points {number}", text.format(**names))
    name = "network" if form.network is not None else "sparse" if sparse else "dense"
    return parts.load(f"values_{name}_{model.name}")
