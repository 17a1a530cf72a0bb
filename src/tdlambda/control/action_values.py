"""Agents that learn action values with traces: what Sarsa(λ), Q(λ), Tree Backup(λ) and Retrace(λ) share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tdlambda.algorithms.variance import VarianceLearner
from tdlambda.arrays import Floats, flag, fraction, integer, number
from tdlambda.compiled import entry
from tdlambda.control.greedy import LEVEL, EpsilonGreedy, GreedyPolicy
from tdlambda.control.value_modules import ValueForm, value_module
from tdlambda.control.value_steps import NEVER
from tdlambda.core import runtime
from tdlambda.features import Encoder, OneHot, Pairs
from tdlambda.features.base import as_vector
from tdlambda.learners import Algorithm, Diverged
from tdlambda.learners.evaluation import _as_function
from tdlambda.learners.guard import Guard
from tdlambda.mdp.corrections import TraceCorrection, abtd_psi
from tdlambda.rules import Fixed, PerState, as_rule

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_X = (np.zeros(1, np.int64), np.zeros(1))
_ANY = np.zeros((2, 2))[:, 0]
_NUMBERS = (0, 0, 0.0, 0.0, 0.0, 0)
_DOORS: dict[str, tuple[Any, ...]] = {
    "act_index": (0, 0.0),
    "act_vector": (_ANY, 0.0),
    "learn_index": (0, 0, *_NUMBERS),
    "learn_vector": (_ANY, _ANY, *_NUMBERS),
}
"""Entry points that are called at every step → what they take beside the agent's arrays."""
COUNTED = {"steps": "i8", "episodes": "i8"}
NUMBERS = {"actions": "i8", "active": "i8", "size": "i8", "dimensions": "i8", "c_bar": "f8", "psi": "f8"}
RECORD = np.dtype(
    list((COUNTED | NUMBERS).items()) + [(f"{who}_{name}", kind) for who in ("pi", "b") for name, kind in LEVEL.items()]
)
"""An agent's numbers: transitions and episodes so far; sizes, options of the correction; levels of both policies."""


class ActionValues:
    """An agent with action values q(s, a) = w·x(s, a), learnt by any algorithm with traces.

    x(s, a) are the features x(s) in the place of action a (`td.features.Pairs`). A subclass says what the target is.

    Parameters
    ----------
    features
        Encoder of observations.
    actions
        How many there are; they are the integers from 0.
    alpha
        Step size α of the algorithm: a number, a schedule, or step sizes that adapt, from `td.steps`. None takes one
        that follows from the size of the features: see `control.defaults`.
    lam
        λ: a number, one for each state, [state, action], a rule, or the name of one ("auto", "meta", "greedy").
    algorithm
        A class of learners with traces, such as `td.TrueOnlineTD`, `td.TD` or one of your own.
    policy
        π, the policy whose values are learnt: `td.EpsilonGreedy`, `td.Boltzmann`, or a fixed one, the probability of
        each action (a row, a table [state, action], or a function of the observation).
    behavior
        b, the policy that acts, if it is another; as `policy`.
    correction
        The trace coefficient of an action: "importance" (ρ), "retrace" (min(1, ρ)), "tree" (π), "abtd", or a
        `td.TraceCorrection`.
    options
        Further arguments of the algorithm, such as `trace="replacing"` of `td.TD` or `initial`.
    """

    takes_next_action: ClassVar[bool] = True
    """Whether `update` is given the next action."""
    _act_index: Callable[..., int]
    _act_vector: Callable[..., int]
    _learn_index: Callable[..., int]
    _learn_vector: Callable[..., int]

    def __init__(
        self, features: Encoder, actions: int, alpha: Any, lam: Any, algorithm: type[Algorithm], policy: Any,
        behavior: Any, correction: str | TraceCorrection, target: str, options: Mapping[str, Any], clear: bool = False,
    ) -> None:  # fmt: skip
        self.actions = integer(actions, "actions", 1)
        if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)) or issubclass(
            algorithm, VarianceLearner
        ):
            raise TypeError(
                f"algorithm must be a class of learners with traces, td.TrueOnlineTD, say; got {algorithm!r}"
            )
        pairs = Pairs(features, self.actions)
        self.features, self.algorithm, self._options = features, algorithm, dict(options)
        self.policy, self.behavior = policy, behavior
        self.correction = TraceCorrection.named(correction)
        if self.correction.name == "vtrace":
            raise ValueError('correction: "vtrace" is for state values; take "retrace"')
        if {"correction", "features"} & set(options):
            raise TypeError("correction and features are arguments of the agent, not of its algorithm")
        self._pi, self._b = _policy(policy, self.actions, "policy"), None
        if behavior is not None:
            self._b = _policy(behavior, self.actions, "behavior")
        on_policy = self._b is None or _same(policy, behavior)
        if target == "sampled" and not on_policy:
            target = "weighted"
        corrects = target == "greedy" or (target != "peng" and not (on_policy and self.correction.name == "importance"))
        rule = as_rule(_lambda_table(lam, features, self.actions))
        if target == "peng" and rule.learns():
            raise ValueError(f"lam: Peng's form mixes targets by λ itself, so λ must not be learnt; got {rule!r}")
        self._lam = rule.lam if isinstance(rule, Fixed) else 1.0 if rule.learns() else None
        self._of_pairs = isinstance(rule, PerState)
        self.learner = algorithm(pairs, alpha, rule, **self._options)
        self.learner._for_actions(corrects, target != "sampled")
        own_lam = self.learner._lam_features is not pairs
        if own_lam and self.learner.model.carried:
            raise ValueError(
                f'lam: {type(rule).__name__} with features of its own needs target="sampled" on-policy, or an '
                f"algorithm that keeps no prediction from step to step, such as td.TD; got {algorithm.__name__}"
            )
        given = not isinstance(self._pi, GreedyPolicy) or not (self._b is None or isinstance(self._b, GreedyPolicy))
        aim, act = (p if isinstance(p, GreedyPolicy) else EpsilonGreedy() for p in (self._pi, self._b or self._pi))
        self.form = ValueForm(
            self.learner.model, type(aim).kernel, type(act).kernel, self.correction.name, target, given, on_policy,
            own_lam, flag(clear, "clear"),
        )  # fmt: skip
        self._record: NDArray[Any] = np.zeros(1, RECORD)
        told: dict[str, float] = {"actions": self.actions, "active": features.active, "size": features.size}
        told["c_bar"] = self.correction.c_bar
        if self.correction.name == "abtd":
            told["psi"] = self._psi()
        told |= {f"{who}_{name}": value for who, p in (("pi", aim), ("b", act)) for name, value in p.numbers().items()}
        for name, value in told.items():
            self._record[name] = value
        self._kernel = None if own_lam else features.kernel
        self._one_hot = type(features) is OneHot and not own_lam
        if self._kernel is not None:
            self._record["dimensions"] = self._kernel.dimensions
        self._given, self._chooses = given, isinstance(self._b or self._pi, GreedyPolicy)
        self._guard = Guard("agent")
        self._bind()

    def _psi(self) -> float:
        c = self.correction
        if c.psi_0 is None or c.psi_max is None:
            raise ValueError(
                'correction: "abtd" needs psi_0 and psi_max, td.TraceCorrection("abtd", psi_0=…, psi_max=…)'
            )
        return abtd_psi(c.zeta, c.psi_0, c.psi_max)

    def _bind(self) -> None:
        """Make room for a step, and find machine code at the first one."""
        n, k = self.features.active, self.actions
        numbers = np.zeros(0) if self._kernel is None else self._kernel.numbers
        self._room: Floats = np.concatenate([np.zeros(3 * k + (2 + k) * n), numbers])
        self._index = np.zeros((4 + k) * n, dtype=np.int64)
        self._doors: dict[str, Callable[..., Any]] = {}
        for name, examples in _DOORS.items():
            setattr(self, f"_{name}", partial(self._first, name, examples))

    def _first(self, name: str, examples: tuple[Any, ...], *given: Any) -> Any:
        """The first call of an entry point; from then on the machine code is called directly."""
        door = self._door(name, *examples)
        setattr(self, f"_{name}", door)
        return door(*given)

    @property
    def module(self) -> ModuleType:
        """The generated module."""
        return value_module(self.form, self.learner._sparse, None if self._kernel is None else self._kernel.encode)

    def _door(self, name: str, *examples: Any) -> Callable[..., Any]:
        """Machine code with the agent's arrays bound to it."""
        if name not in self._doors:
            learner = self.learner
            memory = learner._memory if name.startswith("learn") else (learner._record, learner._rows)
            memory = memory[name in ("act_index", "act_vector") :]  # passing an array into compiled code costs 60 ns
            bound = (*memory, self._record, self._room, self._index)[: -1 if name == "act_index" else None]
            self._doors[name] = partial(entry(getattr(self.module, name), *bound, *examples), *bound)
        return self._doors[name]

    # ---- acting ----------------------------------------------------------------------------------------------

    def act(self, obs: Any, rng: np.random.Generator) -> int:
        """Draw an action from the policy, or from the behaviour policy if there is one."""
        if self._chooses:
            if self._one_hot and type(obs) is int:
                action = self._act_index(obs, rng.random())
                if action >= 0:
                    return action
            return self._choose(obs, rng.random())
        return _drawn((self._b or self._pi)(obs), rng.random())

    def _choose(self, obs: Any, u: float) -> int:
        """The action that a uniform number chooses."""
        if self._one_hot and type(obs) is int:
            action = self._act_index(obs, u)
        elif self._kernel is not None:
            if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                obs = as_vector(obs, self._kernel.dimensions)
            action = self._act_vector(obs, u)
        else:
            return self._door("act_at", *_X, 0.0)(*self._encoded(obs), u)
        if action < 0:
            self.features.encode(obs)  # says what is wrong
            raise ValueError(f"obs: the features refuse {obs!r}")
        return action

    def greedy(self, obs: Any) -> int:
        """The action of the greatest value; the first of several."""
        return int(np.argmax(self.q(obs)))

    def q(self, obs: Any) -> Floats:
        """The values of all actions at an observation."""
        self._door("values_at", *_X)(*self._encoded(obs))
        return self._room[: self.actions].copy()

    def predict(self, obs: Any, action: int) -> float:
        """Q(obs, action)."""
        return float(self.q(obs)[integer(action, "action", 0, self.actions - 1)])

    def policy_at(self, obs: Any) -> Floats:
        """π(·|obs), the target policy's probability of each action."""
        return self._probabilities(self._pi, obs)

    def behavior_at(self, obs: Any) -> Floats:
        """b(·|obs), the probability of each action as the agent acts."""
        return self._probabilities(self._b or self._pi, obs)

    def _probabilities(self, policy: Any, obs: Any) -> Floats:
        if isinstance(policy, GreedyPolicy):
            return policy.probabilities(self.q(obs), self.steps, self.episodes)
        return np.asarray(policy(obs), dtype=np.float64)

    def lambda_at(self, obs: Any, action: int) -> float:
        """The λ in use at an observation and an action."""
        rule = self.learner.rule
        return self.learner.lambda_at((obs, action)) if rule.learns() else self._lam_of(obs, action)

    def lambdas(self, observations: Any) -> Floats:
        """The λ in use at each observation and action [observation, action]."""
        pairs = [(obs, action) for obs in np.asarray(observations).tolist() for action in range(self.actions)]
        found = [self.lambda_at(*pair) for pair in pairs] if not self.learner.rule.learns() else []
        table = np.array(found) if found or not pairs else self.learner.lambdas(pairs)
        return np.asarray(table, dtype=np.float64).reshape(-1, self.actions)

    def _lam_of(self, obs: Any, action: int) -> float:
        if self._lam is not None:
            return self._lam
        if self._of_pairs:
            obs = (
                integer(obs, "obs (of a λ for each state)", 0, (self.features.states or 2**62) - 1) * self.actions
                + action
            )
        return fraction(self.learner.rule.at(obs), "lam")

    # ---- learning --------------------------------------------------------------------------------------------

    def update(
        self,
        obs: Any,
        action: int,
        reward: float,
        next_obs: Any,
        next_action: int | None = None,
        gamma: float = 1.0,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition.

        Parameters
        ----------
        obs, action, reward, next_obs
            s_t, a_t, R_{t+1}, s_{t+1}.
        next_action
            a_{t+1}, which `act` chose before this update and which will be taken next. Not needed when `terminated`.
        gamma
            γ_{t+1}, the discount on entering `next_obs`; taken as 0 when `terminated`.
        terminated, truncated
            As in Gymnasium: terminated, nothing follows; truncated, bootstrap from `next_obs`, then start anew.
        """
        ended = 0
        if terminated is not False and flag(terminated, "terminated"):
            ended = 1
        if truncated is not False and flag(truncated, "truncated"):
            ended += 2
        if type(action) is not int or not 0 <= action < self.actions:
            action = integer(action, "action", 0, self.actions - 1)
        if type(next_action) is not int or not 0 <= next_action < self.actions:
            if next_action is None and not ended & 1:
                raise TypeError("next_action is missing: pass the action that act(next_obs, rng) chose")
            next_action = 0 if next_action is None else integer(next_action, "next_action", 0, self.actions - 1)
        if type(reward) is not float or type(gamma) is not float:
            reward, gamma = number(reward, "reward"), number(gamma, "gamma")
        lam = self._lam
        if lam is None:
            lam = 0.0 if ended & 1 else self._lam_of(next_obs, next_action)
        if self._given and not ended & 1:
            self._fill(next_obs, next_action)
        if self._one_hot and type(obs) is int and type(next_obs) is int:
            status = self._learn_index(obs, next_obs, action, next_action, reward, gamma, lam, ended)
        elif self._kernel is not None:
            # compiled code may read just these, of any stride; the length is looked at there
            if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                obs = as_vector(obs, self._kernel.dimensions)
            if type(next_obs) is not _ARRAY or next_obs.dtype is not _FLOAT or next_obs.ndim != 1:
                next_obs = as_vector(next_obs, self._kernel.dimensions)
            status = self._learn_vector(obs, next_obs, action, next_action, reward, gamma, lam, ended)
        else:
            y = self.features.encode(next_obs)
            z = self.learner._lam_features.encode(next_obs) if self.form.own_lam else y
            door = self._door("learn_at", *_X, *_X, *_X, *_NUMBERS)
            status = door(*self.features.encode(obs), *y, *z, action, next_action, reward, gamma, lam, ended)
        if status:
            self._refuse(status, obs, reward, next_obs, next_action, gamma)

    def _fill(self, next_obs: Any, next_action: int) -> None:
        """Write π(·|s') and b(·|s') where compiled code reads them."""
        k = self.actions
        pi = self._probabilities(self._pi, next_obs)
        b = pi if self.form.on_policy else self._probabilities(self._b, next_obs)
        missed = (pi > 0) & (b == 0)
        if missed.any():
            raise ValueError(
                f"behavior never takes action {int(np.argmax(missed))} at observation {next_obs!r}, but policy does: "
                "what it would bring cannot be learnt. Give it some probability"
            )
        if not b[next_action] > 0:
            self._refuse(NEVER, None, 0.0, next_obs, next_action, 0.0)
        self._room[k : 2 * k], self._room[2 * k : 3 * k] = pi, b

    def _encoded(self, obs: Any) -> Any:
        """The features of an observation that compiled code may follow."""
        x, xv = self.features.encode(obs)
        size = self.features.size
        if not ((x >= 0) & (x < size)).all() or not np.isfinite(xv @ xv):
            raise ValueError(f"obs: feature values must be finite, |x|² too; got {obs!r}")
        return x, xv

    def _refuse(self, status: int, obs: Any, reward: Any, next_obs: Any, next_action: int, gamma: Any) -> None:
        """Raise what a status says."""
        if status == NEVER:
            who = "policy" if self.form.on_policy else "behavior"
            raise ValueError(
                f"next_action: {who} gives action {next_action} probability 0 at observation {next_obs!r}, so it "
                "cannot have been taken; pass the action that act(next_obs, rng) chose"
            )
        if status == runtime.IN_USE:
            self._guard.refuse()
        if status == runtime.DIVERGED:
            if self.learner.on_divergence == "raise":
                raise Diverged(self.learner.steps)
            return
        if status in (runtime.OBS, runtime.OBS_VALUES, runtime.NEXT_OBS, runtime.NEXT_OBS_VALUES):
            self._encoded(obs), self._encoded(next_obs)  # says what is wrong
        self.learner._refuse(status, obs, reward, next_obs, gamma, 1.0)

    def reset(self) -> None:
        """Forget the episode under way: set the traces to 0; keep what was learnt."""
        with self._guard:
            self.learner.reset()

    # ---- what there is to see --------------------------------------------------------------------------------

    @property
    def weights(self) -> Floats:
        """The weights w [action, feature], as a view that cannot be written."""
        return self.learner.weights.reshape(self.features.size, self.actions).T

    @property
    def trace(self) -> Floats:
        """The eligibility trace e [action, feature], as a view that cannot be written."""
        return self.learner.trace.reshape(self.features.size, self.actions).T

    @property
    def steps(self) -> int:
        """Updates so far."""
        return int(self._record["steps"][0])

    @property
    def episodes(self) -> int:
        """Episodes that have ended so far, truncated ones included."""
        return int(self._record["episodes"][0])

    @property
    def td_error(self) -> float:
        """δ of the last update."""
        return self.learner.td_error

    @property
    def diverged_at(self) -> int | None:
        """The update, counted from 1, at which the agent diverged; None if it has not."""
        return self.learner.diverged_at

    def plot(self, env: Any) -> Any:
        """An Altair chart of the greedy policy in an environment: on its map, over two dimensions, or over states."""
        draw: Any = import_module("tdlambda.charts.control_policy").policy_map
        return draw(self, env)

    def for_space(self, space: gym.Space[Any]) -> Callable[[Any], Any]:
        """How an action is handed to an environment with this action space; an error if it cannot be."""
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError(f"env: its actions are {space}, but action values need discrete ones; see td.ActorCritic")
        if space.n != self.actions:
            raise ValueError(f"env has {space.n} actions, but the agent {self.actions}: give actions={space.n}")
        first = int(space.start)
        return lambda action: action + first

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {
            "features": self.features,
            "actions": self.actions,
            "alpha": self.learner.alpha,
            "lam": self.learner.rule,
        }
        own |= {"algorithm": self.algorithm, "policy": self.policy, "behavior": self.behavior}
        return own | {"correction": self.correction} | self._options

    def __repr__(self) -> str:
        """How to build it."""
        shown = self.get_params()
        shown["algorithm"] = f"td.{self.algorithm.__name__}"
        arguments = ", ".join(f"{k}={v if k == 'algorithm' else repr(v)}" for k, v in shown.items())
        return f"{type(self).__name__}({arguments})"

    def _state(self) -> dict[str, NDArray[Any]]:
        counts = np.array([self._record[name][0] for name in COUNTED], dtype=np.int64)
        return {"agent": counts} | self.learner._state()

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        counts = state.get("agent")
        if counts is None or counts.shape != (len(COUNTED),) or counts.dtype != np.int64 or (counts < 0).any():
            raise ValueError("state 'agent' does not fit this agent")
        self.learner._restore({name: array.copy() for name, array in state.items() if name != "agent"})
        for name, count in zip(COUNTED, counts, strict=True):
            self._record[name] = count
        self._bind()

    def clone(self) -> Self:
        """An agent in the same state that shares nothing with this one."""
        return _in_state(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: what `clone` is made of."""
        with self._guard.quiet:
            state = {name: array.copy() for name, array in self._state().items()}
            return _in_state, (type(self), self.get_params(), state)

    def save(self, path: str | Path) -> None:
        """Write everything that `load` needs to a file, at once or not at all; no pickle."""
        from tdlambda.control.value_storage import save

        with self._guard.quiet:
            save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an agent that `save` wrote; it goes on as if it had never been away."""
        from tdlambda.control.value_storage import load

        return load(cls, path)


AGENTS: dict[str, type[ActionValues]] = {}
"""Agents that may be loaded, by name."""


def _in_state(kind: type[Any], params: dict[str, Any], state: dict[str, NDArray[Any]]) -> Any:
    agent = kind(**params)
    agent._restore(state)
    return agent


def _policy(given: Any, actions: int, name: str) -> Any:
    """A policy of action values, or a function to checked probabilities."""
    if isinstance(given, GreedyPolicy):
        return given
    if isinstance(given, int | float | str) or given is None:
        raise TypeError(
            f"{name} must be td.EpsilonGreedy(0.1), td.Boltzmann(1.0), or the probability of each action; got {given!r}"
        )
    return _as_function(given, actions, name)


def _same(policy: Any, behavior: Any) -> bool:
    """Whether two policies as they were given are known to be the same."""
    if isinstance(policy, GreedyPolicy) or isinstance(behavior, GreedyPolicy) or callable(policy) or callable(behavior):
        return bool(policy is behavior or (isinstance(policy, GreedyPolicy) and policy == behavior))
    return np.array_equal(policy, behavior)


def _drawn(probabilities: Floats, u: float) -> int:
    """The action whose share holds u; never one of probability 0."""
    sums = np.cumsum(probabilities)
    return int(np.searchsorted(sums, u * sums[-1], side="right"))


def _lambda_table(lam: Any, features: Encoder, actions: int) -> Any:
    """λ as a learner of pairs takes it: a table for each state and action, where it is one for each state."""
    given = lam.lam if isinstance(lam, PerState) else lam
    if isinstance(given, str) or np.ndim(given) == 0:
        return lam
    table = np.asarray(given, dtype=np.float64)
    states = features.states
    if states is None:
        raise ValueError(f"lam: a λ for each state needs features of states, such as td.OneHot(11); got {features!r}")
    if table.shape == (states,):
        table = np.repeat(table, actions)
    if table.size != states * actions or table.shape not in ((states, actions), (states * actions,)):
        raise ValueError(
            f"lam must have {states} numbers, one for each state, or shape ({states}, {actions}); got {table.shape}"
        )
    return PerState(table.reshape(-1))
