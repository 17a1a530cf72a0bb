"""The interface of parameterised policies π(a|s; θ): shape, actions, distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats
from tdlambda.documenting import complete
from tdlambda.features import Encoder, Network
from tdlambda.parameters import ByParameters
from tdlambda.showing import says_arguments

Behavior: TypeAlias = Callable[[Any], ArrayLike | tuple[ArrayLike, ArrayLike]] | ArrayLike | tuple[ArrayLike, ArrayLike]
"""A behaviour policy: probabilities, or for a Gaussian policy mean and σ; or a function of the observation."""


@dataclass(frozen=True)
class PolicyKernel:
    """A policy's functions, whose source is copied into generated code. `s` is the actor's record of numbers.

    Attributes
    ----------
    name
        Name used in the file names of generated modules.
    distribution
        ``distribution(s, out)`` replaces the outputs in the first half of `out` (θ_i·x, or those of a network) by
        π(·|x).
    score
        ``score(s, action, point, out)`` replaces it by the gradients of log π, then of H, with respect to the outputs;
        for θ_i·x they are the factors of x. A discrete action is in `action`, a continuous one in `point`.
    choose
        ``choose(out, u)`` draws a discrete action with a uniform random number; None if actions are continuous.
    """

    name: str
    distribution: Callable[..., None]
    score: Callable[..., None]
    choose: Callable[..., int] | None = None


class Policy(ByParameters, ABC):
    """The form of a policy; the agent keeps its parameters θ [row, feature].

    Parameters
    ----------
    features
        Encoder of the policy's features, or a `td.Network` whose outputs take the place of θ_i·x; None uses the
        critic's features.
    initial
        Initial θ: a number, or an array [row, feature].
    """

    kernel: ClassVar[PolicyKernel]
    rows: int
    """Number of rows of θ."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Describe the parameters of this class in the docstrings of its subclasses."""
        super().__init_subclass__(**options)
        says_arguments(cls)
        complete(cls)

    def __init__(self, features: Encoder | Network | None, initial: ArrayLike) -> None:
        if features is not None and not isinstance(features, Encoder | Network):
            raise TypeError(f"features must be an encoder such as td.features.OneHot(11), or None; got {features!r}")
        self.features = features
        self.initial: Floats = np.asarray(initial, dtype=np.float64)
        if self.initial.ndim not in (0, 2) or not np.isfinite(self.initial).all():
            raise ValueError(
                f"initial must be a finite number, or an array [row, feature] of them; got shape {self.initial.shape}"
            )

    def numbers(self) -> dict[str, float]:
        """The parameters that the kernel's functions read from the actor's record, by name."""
        return {}

    @abstractmethod
    def validated(self, action: Any) -> tuple[int, Floats]:
        """Validate an action and convert it for the kernels."""

    @abstractmethod
    def distribution(self, out: Floats) -> Any:
        """The distribution over actions from the kernel's output."""

    @abstractmethod
    def draw(self, distribution: Any, rng: np.random.Generator) -> Any:
        """Draw an action from a distribution."""

    @abstractmethod
    def mode(self, distribution: Any) -> Any:
        """The most probable action."""

    @abstractmethod
    def log_density(self, distribution: Any, action: Any) -> float:
        """The logarithm of an action's probability or density."""

    @abstractmethod
    def behavior(self, given: Behavior) -> Callable[[Any], Any]:
        """Build the behaviour policy: a function from an observation to a validated distribution."""

    @abstractmethod
    def for_space(self, space: gym.Space[Any]) -> Callable[[Any], Any]:
        """A function that converts actions for this action space; ValueError or TypeError if the space does not fit."""
