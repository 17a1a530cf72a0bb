"""Environments that compiled code can step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Floats, integer
from tdlambda.randomness import stream

Obs = TypeVar("Obs")
BeginWorld = Callable[[Floats, Floats, Any], None]
MoveWorld = Callable[[Floats, Floats, int, Any], Any]


def _identity(x: Any, y: Any) -> Sequence[float]:
    return x, y


@dataclass(frozen=True)
class Plane:
    """Two dimensions of a world, over which charts show λ and the policy.

    Attributes
    ----------
    axes
        Names of the two dimensions.
    low, high
        Lower and upper end of each dimension.
    observation
        Function from a point to its observation; by default the point itself is the observation.

    Examples
    --------
    >>> Plane(("angle", "speed"), (-1, -2), (1, 2), lambda angle, speed: (0.0, angle, speed)).observations(2).tolist()
    [[0.0, -1.0, -2.0], [0.0, -1.0, 2.0], [0.0, 1.0, -2.0], [0.0, 1.0, 2.0]]
    """

    axes: tuple[str, str]
    low: Sequence[float]
    high: Sequence[float]
    observation: Callable[[float, float], Sequence[float]] = _identity

    def points(self, n: int) -> Floats:
        """The points of a grid over the plane [point, 2]; the second dimension varies fastest.

        Parameters
        ----------
        n
            Number of points along each dimension, at least 1.
        """
        n = integer(n, "n", 1)
        axes = [np.linspace(low, high, n) for low, high in zip(self.low, self.high, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def observations(self, n: int) -> Floats:
        """The observation of each point of `points(n)`.

        Parameters
        ----------
        n
            Number of points along each dimension, at least 1.
        """
        return np.array([self.observation(*point) for point in self.points(n)], dtype=np.float64)


@dataclass(frozen=True)
class World:
    """An environment as plain functions of numbers, for compiled code; a task with `world()` runs in `td.control.run`.

    Numba must be able to compile the functions, and they must not create arrays. Their source is copied into generated
    code, together with the functions and numbers of their module that they use. Random numbers come from
    `td.tasks.uniform(random)`, uniform on [0, 1). `move` should draw equally many at every step, so that all agents
    with the same seed face the same random numbers.

    Attributes
    ----------
    begin
        ``begin(numbers, state, random)`` sets the state to the start of an episode.
    move
        ``move(numbers, state, action, random)`` takes one step: it sets the state to the next one and returns the
        reward, γ' and whether the episode has terminated.
    numbers
        Constants of the dynamics.
    size
        Length of the state, at least 1.
    actions
        Number of actions, at least 1.
    limit
        Number of steps after which an episode is truncated; 0 for no limit.
    observe
        ``observe(numbers, state, out)`` writes the observation; None if the observation is the state.
    space
        Space of the observations: a `Box` of vectors, or `Discrete` if an observation is one integer.
    plane
        The `td.tasks.Plane` over which charts show λ and the policy; a bounded box of two dimensions needs none.
    action_names
        Names of the actions in charts; by default their numbers.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> def begin(numbers, state, random):
    ...     state[0] = 0.0
    >>> def move(numbers, state, action, random):
    ...     state[0] += 1.0 if td.tasks.uniform(random) < numbers[action] else 0.0
    ...     return -1.0, 1.0, state[0] >= 5.0
    >>> world = td.tasks.World(begin, move, [0.2, 0.8], size=1, actions=2, limit=100, space=td.tasks.states(6))
    >>> env = world.env()
    >>> env.reset(seed=1)[0], env.step(1)[:4]
    (0, (1, -1.0, False, False))
    """

    begin: BeginWorld
    move: MoveWorld
    numbers: Any
    size: int
    actions: int
    limit: int = 0
    observe: Callable[[Floats, Floats, Floats], None] | None = None
    space: Any = field(default=None, compare=False)
    plane: Plane | None = field(default=None, compare=False)
    action_names: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Validate the attributes that compiled code relies on."""
        for name in ("begin", "move"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be a plain function (def …); got {getattr(self, name)!r}")
        object.__setattr__(self, "numbers", np.array(self.numbers, dtype=np.float64))
        for name, least in (("size", 1), ("actions", 1), ("limit", 0)):
            object.__setattr__(self, name, integer(getattr(self, name), name, least))
        if self.space is None:
            object.__setattr__(self, "space", gym.spaces.Box(-np.inf, np.inf, (self.size,), np.float64))

    @property
    def discrete(self) -> bool:
        """Whether an observation is one integer."""
        return isinstance(self.space, gym.spaces.Discrete)

    @property
    def width(self) -> int:
        """Length of an observation in compiled code."""
        return 1 if self.discrete else int(np.prod(self.space.shape))

    def env(self) -> WorldEnv:
        """A Gymnasium environment with the same dynamics."""
        return WorldEnv(self)


class Episodic(gym.Env[Obs, Any]):
    """An environment whose episodes begin in `_begin`."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Start a new episode.

        Parameters
        ----------
        seed
            Seed of the environment, at least 0; None continues its random numbers.
        options
            Ignored.
        """
        super().reset(seed=seed, options=options)
        return self._begin(seed is not None), {}

    def _begin(self, seeded: bool) -> Any:
        """Start an episode and return the observation; whether the environment was seeded."""


class WorldEnv(Episodic[Any]):
    """A compiled world as a Gymnasium environment. `step` reports γ' as `info["discount"]`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, Gymnasium's own declaration
    mdp = None
    id = ""

    def __init__(self, world: World) -> None:
        self.world, self.observation_space = world, world.space
        self.action_space = gym.spaces.Discrete(world.actions)
        self.plane, self.action_names = world.plane, world.action_names
        self._state, self._random, self._steps = np.zeros(world.size), stream(0), -1

    def _begin(self, seeded: bool) -> Any:
        if seeded or self._steps < 0:
            self._random = stream(int(self.np_random.integers(2**63)))
        self.world.begin(self.world.numbers, self._state, self._random)
        self._steps = 0
        return self._seen()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step.

        Parameters
        ----------
        action
            Action, at least 0 and below the number of actions.
        """
        if self._steps < 0:
            raise RuntimeError("step before reset: the episode has ended or has not begun; call reset() first")
        w, action = self.world, integer(action, "action", 0, self.world.actions - 1)
        reward, gamma, terminated = w.move(w.numbers, self._state, action, self._random)
        self._steps += 1
        truncated = not terminated and self._steps == w.limit
        seen = self._seen()
        if terminated or truncated:
            self._steps = -2
        return seen, float(reward), bool(terminated), bool(truncated), {"discount": float(gamma)}

    def _seen(self) -> Any:
        if self.world.observe is None:
            return int(self._state[0]) if self.world.discrete else self._state.copy()
        out = np.zeros(self.world.width)
        self.world.observe(self.world.numbers, self._state, out)
        return int(out[0]) if self.world.discrete else out


def states(n: int) -> Any:
    """The space of integer observations from 0 to n - 1.

    Parameters
    ----------
    n
        Number of observations, at least 1.

    Examples
    --------
    >>> states(3)
    Discrete(3)
    """
    return gym.spaces.Discrete(integer(n, "n", 1))


WORLDS: dict[str, Callable[..., World]] = {}
"""Functions from γ to compiled worlds of Gymnasium's environments, by their ids."""
