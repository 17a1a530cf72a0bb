"""Agents that learn action values with traces: the base of Sarsa(λ), Q(λ), Tree Backup(λ) and Retrace(λ)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from tdlambda.algorithms import TD, TrueOnlineTD
from tdlambda.algorithms.variance import VarianceLearner
from tdlambda.arrays import Floats, flag, fraction, integer, number
from tdlambda.control.defaults import step_size
from tdlambda.control.exploration import EpsilonGreedy, GreedyPolicy
from tdlambda.control.value_modules import ValueForm, value_module
from tdlambda.control.value_parts import lambda_table, policy_from, same_policy
from tdlambda.control.value_state import RECORD, ValueState
from tdlambda.control.value_steps import NEVER, NO_ACTION
from tdlambda.core import runtime
from tdlambda.core.program import ANY_VECTOR, OBSERVATION_CODES, at_first_call, bound
from tdlambda.documenting import complete
from tdlambda.features import Encoder, Network, OneHot, Pairs
from tdlambda.features.encoder import as_vector
from tdlambda.learners import LEARNERS, Algorithm, Diverged
from tdlambda.learners.guard import Guard
from tdlambda.learners.learner import NO_GAMMA, encoded
from tdlambda.mdp.corrections import TraceCorrection, abtd_psi
from tdlambda.randomness import Drawing, check_generator
from tdlambda.rules import Fixed, PerState, as_rule
from tdlambda.runner.behavior import check_coverage, drawn
from tdlambda.showing import no_argument, same, says_arguments

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_X = (np.zeros(1, np.int64), np.zeros(1))
_OF_AGENTS = ("features", "alpha", "lam", "correction")
_COMMON = {
    name: p.default
    for name, p in inspect.signature(Algorithm).parameters.items()
    if p.kind is p.KEYWORD_ONLY and name not in _OF_AGENTS
}
"""Defaults of the common options of algorithms."""
_NUMBERS = (0, 0, 0.0, 0.0, 0.0, 0)
_ENTRY_POINTS: dict[str, tuple[Any, ...]] = {
    "act_index": (0, 0, 0),
    "act_vector": (ANY_VECTOR, 0.0),
    "learn_index": (0, 0, *_NUMBERS),
    "learn_vector": (ANY_VECTOR, ANY_VECTOR, *_NUMBERS),
}
"""Entry points called at every step, with example arguments besides the agent's arrays."""


def with_traces(algorithm: Any, network: bool) -> type[Algorithm]:
    """The class of a learner with traces, by itself or by name; on a network, TD stands for true online TD."""
    kind = LEARNERS.get(algorithm, algorithm) if isinstance(algorithm, str) else algorithm
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)) or issubclass(kind, VarianceLearner):
        raise TypeError(f"algorithm must be a learner class with traces, such as td.TrueOnlineTD; got {kind!r}")
    return TD if network and kind is TrueOnlineTD else kind


class ActionValues(ValueState):
    """An agent that learns action values q(s, a) = w·x(s, a) by any algorithm with traces.

    x(s, a) is x(s) in the block of action a (`td.features.Pairs`). A subclass defines the target.

    Parameters
    ----------
    features
        Encoder of observations, or a `td.Network`, whose outputs are the values of the actions.
    actions
        Number of actions, at least 1; actions are the integers 0, 1, ….
    alpha
        Step size α > 0: a number, a schedule, or an adaptive step size from `td.steps`. None derives one from |x|²: see
        `control.defaults`.
    lam
        λ in [0, 1]: a number, one for each state, a table [state, action], a rule, or the name of a rule ("auto",
        "meta", "greedy").
    algorithm
        A learner class with traces, such as `td.TrueOnlineTD`, `td.TD` or your own, or its name. With a network, the
        default is `td.TD`.
    policy
        Target policy π: `td.control.EpsilonGreedy`, `td.control.Boltzmann`, or fixed probabilities of the actions (a
        row, a table [state, action], or a function of the observation).
    behavior
        Behaviour policy b, in the same forms as `policy`. Default: the agent follows π.
    correction
        Trace coefficient of an action: "importance" (ρ), "retrace" (min(1, ρ)), "tree" (π), "abtd", or a
        `td.mdp.TraceCorrection`. On-policy, "retrace" does nothing, and a warning says so.
    options
        Options that only some algorithms have, such as `traces="replacing"` of `td.TD` or `beta` of `td.GTD`.
    """

    takes_next_action: ClassVar[bool] = True
    """Whether `update` takes the next action."""
    _act_index: Callable[..., int]
    _act_vector: Callable[..., int]
    _learn_index: Callable[..., int]
    _learn_vector: Callable[..., int]

    def __init_subclass__(cls, **options: Any) -> None:
        """Describe the parameters of this class in the docstrings of its subclasses."""
        super().__init_subclass__(**options)
        says_arguments(cls)
        complete(cls)

    def __init__(
        self, features: Encoder | Network, actions: int, alpha: Any, lam: Any, algorithm: Any, policy: Any,
        behavior: Any, correction: str | TraceCorrection, target: str, options: Mapping[str, Any], clear: bool = False,
    ) -> None:  # fmt: skip
        self.actions = integer(actions, "actions", 1)
        self.features: Any = features
        self.algorithm, self.alpha = with_traces(algorithm, isinstance(features, Network)), alpha
        self._options, passed = dict(options), self._passed(self.algorithm, options)
        if isinstance(features, Network) and clear:
            raise ValueError("clear must be False with a network, whose actions share their parameters")
        on_policy = self._set_policies(policy, behavior, correction)
        if target == "sampled" and not on_policy:
            target = "weighted"
        own_lam = self._make_learner(lam, target, on_policy, passed)
        self._make_form(target, on_policy, own_lam, flag(clear, "clear"))
        self._guard = Guard("agent")
        self._bind()

    def _set_policies(self, policy: Any, behavior: Any, correction: str | TraceCorrection) -> bool:
        """Set both policies and the correction; return whether the policies are known to be the same."""
        self.policy, self.behavior = policy, behavior
        self.correction = TraceCorrection.named(correction)
        if self.correction.name == "vtrace":
            raise ValueError('correction must not be "vtrace", which corrects state values; use "retrace"')
        self._pi = policy_from(policy, self.actions, "policy")
        self._b = None if behavior is None else policy_from(behavior, self.actions, "behavior")
        on_policy = self._b is None or same_policy(policy, behavior)
        if on_policy and self.correction.name == "retrace" and self.correction.c_bar >= 1:
            warnings.warn(
                'correction: "retrace" does nothing on-policy, where ρ = 1 and min(1, ρ) = 1; pass behavior= another '
                "policy, or leave correction out",
                stacklevel=5,  # the caller of a subclass, past both constructors and the check of arguments
            )
        return on_policy

    def _make_learner(self, lam: Any, target: str, on_policy: bool, passed: dict[str, Any]) -> bool:
        """Make the learner with traces, of pairs or of a network; return whether λ has features of its own."""
        features, network = self.features, isinstance(self.features, Network)
        rule = as_rule(lambda_table(lam, features, self.actions))
        if rule.learns() and (network or target == "peng"):
            where = "a network of action values" if network else 'form="peng", whose targets depend on λ'
            raise ValueError(f"lam must not be learned with {where}: give a number; got {rule!r}")
        self.fixed_lam = rule.lam if isinstance(rule, Fixed) else 1.0 if rule.learns() else None
        self._of_pairs = isinstance(rule, PerState)
        pairs: Any = features.with_outputs(self.actions) if network else Pairs(features, self.actions)
        self.learner = self.algorithm(pairs, step_size(features) if self.alpha is None else self.alpha, rule, **passed)
        corrects = not (on_policy and self.correction.name == "importance")
        self.learner.for_actions(target == "greedy" or (target != "peng" and corrects), target != "sampled")
        own_lam = self.learner.lam_features is not pairs
        if own_lam and self.learner.model.carried:
            raise ValueError(
                f'lam: {type(rule).__name__} with features of its own needs target="sampled" on-policy, or an '
                f"algorithm that keeps no prediction from step to step, such as td.TD; got {self.algorithm.__name__}"
            )
        return own_lam

    def _make_form(self, target: str, on_policy: bool, own_lam: bool, clear: bool) -> None:
        """Set what code is generated from, and what it reads."""
        acting = self._b or self._pi
        self._chooses = isinstance(acting, GreedyPolicy)
        self._policies_known = not (isinstance(self._pi, GreedyPolicy) and self._chooses)
        aim, act = (p if isinstance(p, GreedyPolicy) else EpsilonGreedy() for p in (self._pi, acting))
        network = self.learner.features.form() if isinstance(self.features, Network) else None
        self.form = ValueForm(
            self.learner.model, type(aim).kernel, type(act).kernel, self.correction.name, target, self._policies_known,
            on_policy, own_lam, clear, network,
        )  # fmt: skip
        self._kernel = None if own_lam else self.features.kernel
        self._one_hot = type(self.features) is OneHot and not own_lam
        self._write_record(aim, act)

    def _write_record(self, aim: GreedyPolicy, act: GreedyPolicy) -> None:
        """Write the numbers that compiled code reads: sizes, coefficients, and the levels of both policies."""
        self.record = np.zeros(1, RECORD)
        numbers: dict[str, float] = {name: getattr(self.features, name) for name in ("active", "size")}
        numbers |= {"actions": self.actions, "c_bar": self.correction.c_bar}
        if self.correction.name == "abtd":
            numbers["psi"] = self._psi()
        if self._kernel is not None:
            numbers["dimensions"] = self._kernel.dimensions
        for who, policy in (("pi", aim), ("b", act)):
            numbers |= {f"{who}_{name}": value for name, value in policy.numbers().items()}
        for name, value in numbers.items():
            self.record[name] = value

    def _passed(self, algorithm: type[Algorithm], options: Mapping[str, Any]) -> dict[str, Any]:
        """The options in the algorithm's form. It may lack a common one that has the default value."""
        own = [name for name in inspect.signature(algorithm).parameters if name not in _OF_AGENTS]
        for name, value in options.items():
            if name not in own and not (name in _COMMON and same(value, _COMMON[name])):
                others = [n for n in inspect.signature(type(self)).parameters if n not in (*_COMMON, "options")]
                owner = f"{type(self).__name__} with {algorithm.__name__}"
                raise TypeError(no_argument(owner, name, [*dict.fromkeys([*others, *own])]))
        passed = {name: value for name, value in options.items() if name in own}
        if np.ndim(initial := passed.get("initial", 0.0)):
            shape = (self.actions, self.features.size)
            if np.shape(initial) != shape:
                got = f"the shape {np.shape(initial)}"
                raise ValueError(f"initial must be a number, or [action, feature] of shape {shape}; got {got}")
            passed["initial"] = np.asarray(initial).T.ravel()
        return passed

    def _psi(self) -> float:
        c = self.correction
        if c.psi_0 is None or c.psi_max is None:
            raise ValueError(
                'correction "abtd" needs psi_0 and psi_max: write td.mdp.TraceCorrection("abtd", psi_0=…, psi_max=…)'
            )
        return abtd_psi(c.zeta, c.psi_0, c.psi_max)

    def _bind(self) -> None:
        """Allocate the buffers of a step. Machine code is looked up at the first call."""
        n, k = self.features.active, self.actions
        numbers = np.zeros(0) if self._kernel is None else self._kernel.numbers
        self._scratch: Floats = np.concatenate([np.zeros(3 * k + (2 + k) * n), numbers])
        self._index = np.zeros((4 + k) * n, dtype=np.int64)
        self._drawing = Drawing(None, 0, 0)
        self._entry_points: dict[str, Callable[..., Any]] = {}
        for name in _ENTRY_POINTS:
            at_first_call(self, f"_{name}", lambda *_, name=name: self._entry_point(name, *_ENTRY_POINTS[name]))

    @property
    def module(self) -> ModuleType:
        """The generated module."""
        return value_module(
            self.form, self.learner.memory.layout.lists_live, None if self._kernel is None else self._kernel.encode
        )

    def _entry_point(self, name: str, *examples: Any) -> Callable[..., Any]:
        """Machine code with the agent's arrays bound to it."""
        if name not in self._entry_points:
            memory = self.learner.memory
            whole = name.startswith("learn") or self.form.network is not None
            arrays: Any = memory.arrays if whole else (memory.record, memory.rows)
            arrays = arrays[name in ("act_index", "act_vector") :]  # passing an array into compiled code costs 60 ns
            arrays = (*arrays, self.record, self._scratch, self._index)[: -1 if name == "act_index" else None]
            self._entry_points[name] = bound(self.module, name, arrays, *examples)
        return self._entry_points[name]

    # ---- acting ----------------------------------------------------------------------------------------------

    def act(self, obs: Any, rng: np.random.Generator) -> int:
        """Draw an action from the behaviour policy (the target policy if none was given).

        Agents in several threads may share `rng`, but with one-hot features no other thread may draw arrays from it at
        the same time: the number is drawn in compiled code, without the lock of `rng.bit_generator`, so that numbers
        could be drawn twice.
        """
        try:
            if not self._chooses:
                return drawn((self._b or self._pi)(obs), rng.random())
            if type(obs) is int and self._one_hot:
                known, function, state, _ = self._drawing
                if known is not rng:
                    self._drawing = Drawing.of(rng)
                    return self.act(obs, rng)
                action = self._act_index(obs, function, state)
            elif self._kernel is not None:
                if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                    obs = self._vector(obs, "obs")
                action = self._act_vector(obs, rng.random())
            else:
                return self._entry_point("act_at", *_X, 0.0)(*self._encoded(obs), rng.random())
            if action < 0:
                self._encoded(obs)  # raises the specific error
                raise ValueError(f"obs must be an observation that the features can encode; got {obs!r}")
            return action
        except AttributeError:
            check_generator(rng)
            raise

    def greedy(self, obs: Any) -> int:
        """The action with the largest value; the first one if there are ties."""
        return int(np.argmax(self.q(obs)))

    def q(self, obs: Any) -> Floats:
        """The values of all actions at an observation."""
        self._entry_point("values_at", *_X)(*self._encoded(obs))
        unit = 1.0 if self.form.network is None else self.learner.memory["scale"]
        return self._scratch[: self.actions] * unit

    def predict(self, obs: Any, action: int) -> float:
        """q(obs, action), the estimated value of one action.

        Parameters
        ----------
        obs
            Observation.
        action
            Action, at least 0 and below the number of actions.
        """
        return float(self.q(obs)[integer(action, "action", 0, self.actions - 1)])

    def policy_at(self, obs: Any) -> Floats:
        """π(·|obs), the target policy's action probabilities."""
        return self._probabilities(self._pi, obs)

    def behavior_at(self, obs: Any) -> Floats:
        """b(·|obs), the behaviour policy's action probabilities."""
        return self._probabilities(self._b or self._pi, obs)

    def _probabilities(self, policy: Any, obs: Any) -> Floats:
        if isinstance(policy, GreedyPolicy):
            return policy.probabilities(self.q(obs), self.steps, self.episodes)
        return np.asarray(policy(obs), dtype=np.float64)

    def lambda_at(self, obs: Any, action: int) -> float:
        """The λ in use at an observation and an action.

        Parameters
        ----------
        obs
            Observation.
        action
            Action, at least 0 and below the number of actions.
        """
        rule = self.learner.rule
        return self.learner.lambda_at((obs, action)) if rule.learns() else self._lam_of(obs, action)

    def lambdas(self, observations: Any) -> Floats:
        """The λ in use at each observation and action [observation, action]."""
        pairs = [(obs, action) for obs in np.asarray(observations).tolist() for action in range(self.actions)]
        found = [self.lambda_at(*pair) for pair in pairs] if not self.learner.rule.learns() else []
        table = np.array(found) if found or not pairs else self.learner.lambdas(pairs)
        return np.asarray(table, dtype=np.float64).reshape(-1, self.actions)

    def _lam_of(self, obs: Any, action: int) -> float:
        if self.fixed_lam is not None:
            return self.fixed_lam
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
        gamma: float | None = None,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition.

        Parameters
        ----------
        obs, next_obs
            Observations s_t and s_{t+1}.
        action
            a_t, at least 0 and below the number of actions.
        reward
            R_{t+1}, any finite number.
        next_action
            a_{t+1}, at least 0 and below the number of actions: the action that `act` chose before this update and
            that will be taken next. Not needed when `terminated`.
        gamma
            γ_{t+1} in [0, 1], the discount on entering `next_obs`. Not needed when `terminated`.
        terminated, truncated
            As in Gymnasium: a terminated episode has no further return; a truncated one bootstraps from `next_obs`.
            Either way the traces are then reset.
        """
        ended = 0
        if terminated is not False and flag(terminated, "terminated"):
            ended = 1
        if truncated is not False and flag(truncated, "truncated"):
            ended += 2
        if not (type(action) is int is type(next_action) and type(reward) is float is type(gamma)):
            if next_action is None and not ended & 1:
                raise TypeError("next_action is missing: pass the action that act(next_obs, rng) chose")
            next_action = self._action(0 if next_action is None else next_action, "next_action")
            action = self._action(action, "action")
            if gamma is None and not ended & 1:
                raise TypeError(NO_GAMMA)
            reward, gamma = number(reward, "reward"), number(0.0 if gamma is None else gamma, "gamma")
        lam = self.fixed_lam
        if lam is None or self._policies_known:
            action, next_action = self._action(action, "action"), self._action(next_action, "next_action")
            lam = 0.0 if ended & 1 else self._lam_of(next_obs, next_action)
            if self._policies_known and not ended & 1:
                self._fill(next_obs, next_action)
        if type(obs) is int is type(next_obs) and self._one_hot:
            status = self._learn_index(obs, next_obs, action, next_action, reward, gamma, lam, ended)
        elif self._kernel is not None:
            # Compiled code accepts exactly this type, with any stride; it checks the length itself.
            if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                obs = self._vector(obs, "obs")
            if type(next_obs) is not _ARRAY or next_obs.dtype is not _FLOAT or next_obs.ndim != 1:
                next_obs = self._vector(next_obs, "next_obs")
            status = self._learn_vector(obs, next_obs, action, next_action, reward, gamma, lam, ended)
        else:
            x, y = encoded(self.features.encode, obs, "obs"), encoded(self.features.encode, next_obs, "next_obs")
            z = self.learner.lam_features.encode(next_obs) if self.form.own_lam else y
            point = self._entry_point("learn_at", *_X, *_X, *_X, *_NUMBERS)
            status = point(*x, *y, *z, action, next_action, reward, gamma, lam, ended)
        if status:
            self._refuse(status, obs, reward, next_obs, next_action, gamma, action)

    def _action(self, given: Any, name: str) -> int:
        """Validate an action."""
        return integer(given, name, 0, self.actions - 1)

    def _fill(self, next_obs: Any, next_action: int) -> None:
        """Write π(·|s') and b(·|s') into the buffers that compiled code reads."""
        k = self.actions
        pi = self._probabilities(self._pi, next_obs)
        b = pi if self.form.on_policy else self._probabilities(self._b, next_obs)
        check_coverage(pi, b, next_obs)
        if not b[next_action] > 0:
            self._refuse(NEVER, None, 0.0, next_obs, next_action, 0.0)
        self._scratch[k : 2 * k], self._scratch[2 * k : 3 * k] = pi, b

    def _vector(self, obs: Any, name: str) -> Floats:
        """An observation in the form that compiled code needs."""
        return encoded(lambda one: as_vector(one, int(self.record["dimensions"][0])), obs, name)

    def _encoded(self, obs: Any, name: str = "obs") -> Any:
        """The features of an observation, with indices validated for compiled code."""
        if self.form.network is not None:
            return np.zeros(1, np.int64), encoded(self.features.vector, obs, name)
        x, xv = encoded(self.features.encode, obs, name)
        size = self.features.size
        if not ((x >= 0) & (x < size)).all() or not np.isfinite(xv @ xv):
            raise ValueError(f"{name}: feature values and |x|² must be finite; got {obs!r}")
        return x, xv

    def _refuse(
        self, status: int, obs: Any, reward: Any, next_obs: Any, next_action: int, gamma: Any, action: int = 0
    ) -> None:
        """Raise the error that a status stands for."""
        if status == NO_ACTION:
            self._action(action, "action"), self._action(next_action, "next_action")
        if status == NEVER:
            who = "policy" if self.form.on_policy else "behavior"
            raise ValueError(
                f"next_action: {who} gives action {next_action} probability 0 at observation {next_obs!r}, so it "
                "cannot have been taken; pass the action that act(next_obs, rng) chose"
            )
        if status == runtime.IN_USE:
            self._guard.refuse()
        if status == runtime.DIVERGED:
            self.learner.memory.clip()
            if self.learner.on_divergence == "raise":
                raise Diverged(self.learner.steps)
            return
        if status in OBSERVATION_CODES:
            self._encoded(obs), self._encoded(next_obs, "next_obs")  # raises the specific error
        self.learner.refuse_status(status, obs, reward, next_obs, gamma, 1.0)

    def reset(self) -> None:
        """Discard the current episode: set the traces to 0 and keep the weights."""
        with self._guard:
            self.learner.reset()
