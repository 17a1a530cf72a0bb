"""Properties, copying and storage of agents with action values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Floats
from tdlambda.control.exploration import LEVEL
from tdlambda.control.saved_agent import SavedAgent
from tdlambda.control.value_modules import ValueForm
from tdlambda.core.records import named
from tdlambda.features import Network
from tdlambda.learners import Algorithm
from tdlambda.learners.learner import readable
from tdlambda.learners.saved import SAVED
from tdlambda.learners.step_size import Alpha
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.showing import call

COUNTED = {"steps": "i8", "episodes": "i8"}
NUMBERS = {"actions": "i8", "active": "i8", "size": "i8", "dimensions": "i8", "c_bar": "f8", "psi": "f8"}
RECORD = named(
    list((COUNTED | NUMBERS).items()) + [(f"{who}_{name}", kind) for who in ("pi", "b") for name, kind in LEVEL.items()]
)
"""An agent's numbers: updates and episodes so far; sizes; options of the correction; levels of both policies."""


class ValueState(SavedAgent):
    """The part of `ActionValues` that neither acts nor learns."""

    features: Any
    actions: int
    algorithm: type[Algorithm]
    policy: Any
    behavior: Any
    correction: TraceCorrection
    learner: Algorithm
    form: ValueForm
    alpha: Alpha | None
    _options: dict[str, Any]
    record: NDArray[Any]

    @property
    def weights(self) -> Floats:
        """The weights w [action, feature], or all parameters of a network, a read-only view."""
        if self.form.network is not None:
            return self.learner.row("V_w")
        return self.learner.weights.reshape(self.features.size, self.actions).T

    @property
    def trace(self) -> Floats:
        """The eligibility trace e [action, feature], or that of a network's parameters, a read-only view."""
        if self.form.network is not None:
            return self.learner.trace
        return self.learner.trace.reshape(self.features.size, self.actions).T

    @property
    def steps(self) -> int:
        """Number of updates so far."""
        return int(self.record["steps"][0])

    @property
    def episodes(self) -> int:
        """Number of finished episodes, including truncated ones."""
        return int(self.record["episodes"][0])

    @property
    def td_error(self) -> float:
        """The TD error δ of the last update."""
        return self.learner.td_error

    @property
    def diverged_at(self) -> int | None:
        """The update (counted from 1) at which the agent diverged; None if it has not."""
        return self.learner.diverged_at

    def for_space(self, space: gym.Space[Any]) -> Callable[[Any], Any]:
        """A function that converts actions for this action space; ValueError or TypeError if the space does not fit."""
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError(
                f"env: its actions are {space}, but action values need Discrete actions; for a Box, use td.ActorCritic"
            )
        if space.n != self.actions:
            raise ValueError(f"env has {space.n} actions, but the agent has {self.actions}; give actions={space.n}")
        first = int(space.start)
        return lambda action: action + first

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"features": self.features, "actions": self.actions, "alpha": self.alpha, "lam": self.learner.rule}
        own |= {"algorithm": self.algorithm, "policy": self.policy, "behavior": self.behavior}
        taken = self.learner.get_params()
        if np.ndim(taken["initial"]) and self.form.network is None:
            taken["initial"] = np.reshape(taken["initial"], (self.features.size, self.actions)).T.tolist()
        return own | {"correction": self.correction} | {name: taken.get(name, v) for name, v in self._options.items()}

    def __repr__(self) -> str:
        """The call that builds this agent."""
        return call(self, readable(self.get_params()))

    def _params_in_files(self) -> dict[str, Any]:
        return self.get_params() | {"alpha": self.learner.alpha}  # the default may change with the version

    @classmethod
    def _least_bytes(cls, params: dict[str, Any]) -> int:
        actions = 1 if isinstance(params["features"], Network) else params["actions"]
        return 4 * int(params["features"].size * actions)

    def _state(self) -> dict[str, NDArray[Any]]:
        counts = np.array([self.record[name][0] for name in COUNTED], dtype=np.int64)
        return {"agent": counts} | self.learner._state()

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        counts = state.get("agent")
        if counts is None or counts.shape != (len(COUNTED),) or counts.dtype != np.int64 or (counts < 0).any():
            raise ValueError(f"state 'agent' must be {len(COUNTED)} integers of at least 0; got {counts!r}")
        self.learner._restore({name: array for name, array in state.items() if name != "agent"})
        for name, count in zip(COUNTED, counts, strict=True):
            self.record[name] = count


AGENTS = SAVED["agent"]
"""Agents that `td.load` accepts, by name."""
