"""Noisy MountainCar without a time limit (Zhao 2020, chapter 5; dynamics of Sutton & Barto 2018, example 10.1)."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats, Ints, finite, fraction, integer
from tdlambda.compiled import compiled
from tdlambda.features import TileCoder
from tdlambda.mdp import Transitions
from tdlambda.randomness import stream, uniform
from tdlambda.tasks.task import Task
from tdlambda.tasks.task_registry import register
from tdlambda.tasks.world import Plane, World

LOW, HIGH, GOAL, MAX_SPEED = -1.2, 0.6, 0.5, 0.07
_FORCE, _GRAVITY = 0.001, 0.0025


class PumpPolicy:
    """A policy that pushes in the direction of motion, or with probability `epsilon` at random; it reaches the goal.

    Parameters
    ----------
    epsilon
        Probability of a random action, in [0, 1].

    Examples
    --------
    >>> PumpPolicy(0.3)(np.array([-0.5, 0.01]))
    array([0.1, 0.1, 0.8])
    """

    def __init__(self, epsilon: float) -> None:
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon must be a probability, in [0, 1]; got {epsilon}")
        self.epsilon = float(epsilon)

    def __call__(self, obs: Floats) -> Floats:
        """The probabilities of left, no push and right."""
        return np.array([_pump(self.epsilon, obs[1], action) for action in range(3)])

    def __repr__(self) -> str:
        """The call that builds an equal policy."""
        return f"PumpPolicy({self.epsilon:g})"


@register(
    "MountainCar-v0",
    {
        "on-policy": {"target_epsilon": 0.1},
        "off-policy": {"target_epsilon": 0.1, "behavior_epsilon": 0.3},
        "random": {"target_epsilon": 1.0},
        "gymnasium": {"noise": 0.0, "limit": 200, "start": (-0.6, -0.4), "arrival": -1.0},
    },
)
class MountainCar(Task[Floats]):
    """Noisy MountainCar: a weak car in a valley, with some random actions; reward -1 per step, 0 for the last.

    Episodes start at rest anywhere on the slope, and γ = 1. They have no step limit unless one is given; reaching the
    limit truncates the episode. The preset "gymnasium" is Gymnasium's MountainCar-v0. Environment and sampler run the
    same compiled code, with its own cosine, so that trajectories are the same on every machine.

    Parameters
    ----------
    noise
        Probability that the action is replaced by a uniformly random one, in [0, 1].
    limit
        Number of steps after which an episode is truncated, at least 1; None for no limit.
    target_epsilon, behavior_epsilon
        `epsilon` of the target and the behaviour `PumpPolicy`, in [0, 1]; equal by default.
    start
        Lower and upper end of the uniform distribution of initial positions, in [-1.2, 0.6].
    arrival
        Reward of the step that reaches the goal, any number.

    Examples
    --------
    >>> car = MountainCar()
    >>> car.features.size, car.features.active
    (512, 8)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, Gymnasium's own declaration
    target: PumpPolicy
    behavior: PumpPolicy
    plane = Plane(("position", "velocity"), (LOW, -MAX_SPEED), (HIGH, MAX_SPEED))
    action_names = ("left", "none", "right")

    def __init__(
        self,
        noise: float = 0.2,
        limit: int | None = None,
        target_epsilon: float = 0.1,
        behavior_epsilon: float | None = None,
        start: tuple[float, float] = (LOW, HIGH),
        arrival: float = 0.0,
    ) -> None:
        if not LOW <= start[0] < start[1] <= HIGH:
            raise ValueError(f"start must be two positions in [{LOW}, {HIGH}], the lower first; got {start}")
        self.start, self.arrival = (float(start[0]), float(start[1])), finite(arrival, "arrival")
        self.noise, self.limit = fraction(noise, "noise"), None if limit is None else integer(limit, "limit", 1)
        self.target = PumpPolicy(target_epsilon)
        self.behavior = self.target if behavior_epsilon is None else PumpPolicy(behavior_epsilon)
        if self.behavior.epsilon == 0 < self.target.epsilon:
            raise ValueError(
                "behavior_epsilon must be positive if target_epsilon is, or the behaviour policy never takes some "
                f"actions of the target policy; got {behavior_epsilon} and target_epsilon = {target_epsilon}"
            )
        self.features = TileCoder([LOW, -MAX_SPEED], [HIGH, MAX_SPEED], tilings=8, tiles=8)
        low, high = np.array([LOW, -MAX_SPEED]), np.array([HIGH, MAX_SPEED])
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float64)
        self.action_space = gym.spaces.Discrete(3)
        self._car: Floats | None = None
        self._steps = 0

    def _begin(self, seeded: bool) -> Floats:  # noqa: ARG002
        """Put the car at rest, at a random position."""
        self._car, self._steps = np.array([start(*self.start, self.np_random.random()), 0.0]), 0
        return self._car.copy()

    def step(self, action: int) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Take one step with this action, or with probability `noise` a random one.

        Parameters
        ----------
        action
            0 for left, 1 for no push, 2 for right.
        """
        if self._car is None:
            raise RuntimeError("step before reset: the episode has ended or has not begun; call reset() first")
        action = integer(action, "action", 0, 2)
        chance, other = self.np_random.random(2)
        position, velocity = move(self._car[0], self._car[1], perturbed(action, self.noise, chance, other))
        self._steps += 1
        terminated = position >= GOAL
        truncated = not terminated and self._steps == self.limit
        obs = np.array([position, velocity])
        self._car = None if terminated or truncated else obs
        reward = self.arrival if terminated else -1.0
        return obs.copy(), reward, terminated, truncated, {"discount": 0.0 if terminated else 1.0}

    def sampler(self, seed: int = 0) -> "CarSampler":
        """A compiled stream of transitions under the behaviour policy.

        Parameters
        ----------
        seed
            Seed of the stream, at least 0.
        """
        return CarSampler(self, seed)

    def world(self) -> World:
        """The task as a compiled world."""
        numbers = [self.noise, *self.start, self.arrival]
        space, names = self.observation_space, self.action_names
        return World(_begin, _act, numbers, 2, 3, self.limit or 0, space=space, plane=self.plane, action_names=names)


class CarSampler:
    """A stream of MountainCar transitions under `PumpPolicy`, in chunks."""

    def __init__(self, car: MountainCar, seed: int) -> None:
        self._settings = (car.noise, car.limit or 0, car.target.epsilon, car.behavior.epsilon, *car.start)
        self._arrival = car.arrival
        self._rng = stream(integer(seed, "seed", 0))
        self._state = np.array([0.0, 0.0, -1.0])  # position, velocity, steps in this episode (-1: no episode)

    def take(self, steps: int) -> Transitions:
        """Draw the next `steps` transitions of the stream, a number of at least 0."""
        n = integer(steps, "steps", 0)
        obs, next_obs = np.empty((n, 2)), np.empty((n, 2))
        action, rho, behavior = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        terminated, truncated = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
        taken = (obs, next_obs, action, rho, behavior, terminated, truncated)
        _drive(self._rng, self._state, self._settings, taken)
        gamma = np.where(terminated, 0.0, 1.0)
        reward = np.where(terminated, self._arrival, -1.0)
        return Transitions(obs, action, reward, next_obs, gamma, rho, terminated, truncated, behavior)


@compiled
def start(low: float, high: float, u: float) -> float:
    """A position drawn uniformly from the starting range."""
    return low + (high - low) * u


@compiled
def perturbed(action: int, noise: float, chance: float, other: float) -> int:
    """The action itself, or with probability `noise` a uniform one."""
    return int(3 * other) if chance < noise else action


@compiled
def move(position: float, velocity: float, action: int) -> tuple[float, float]:
    """v' = v + .001 (a-1) - .0025 cos 3x, x' = x + v', within bounds; the left wall stops the car."""
    velocity += _FORCE * (action - 1) - _GRAVITY * _cosine(3 * position)
    velocity = min(max(velocity, -MAX_SPEED), MAX_SPEED)
    position = min(max(position + velocity, LOW), HIGH)
    if position == LOW and velocity < 0:
        velocity = 0.0
    return position, velocity


def _begin(numbers: Floats, state: Floats, random: NDArray[np.uint64]) -> None:
    """Start a new episode: see `World`."""
    state[0], state[1] = start(numbers[1], numbers[2], uniform(random)), 0.0


def _act(numbers: Floats, state: Floats, action: int, random: NDArray[np.uint64]) -> tuple[float, float, bool]:
    """Take one step: see `World`."""
    chance, other = uniform(random), uniform(random)
    state[0], state[1] = move(state[0], state[1], perturbed(action, numbers[0], chance, other))
    over = state[0] >= GOAL
    return numbers[3] if over else -1.0, 0.0 if over else 1.0, over


@compiled
def _cosine(x: float) -> float:
    """cos x for |x| ≤ 3.6 by its Taylor series, because C libraries differ in the last bit."""
    z = x * x
    total = 1.0
    for k in range(17, 0, -1):
        total = 1.0 - z / ((2 * k) * (2 * k - 1)) * total
    return total


@compiled
def _pump(epsilon: float, velocity: float, action: int) -> float:
    push = 2 if velocity >= 0 else 0
    return epsilon / 3 + (1 - epsilon if action == push else 0.0)


@compiled
def _drive(
    rng: NDArray[np.uint64],
    state: Floats,
    settings: tuple[float, int, float, float, float, float],
    taken: tuple[Floats, Floats, Ints, Floats, Floats, Bools, Bools],
) -> None:
    noise, limit, target, behavior, low, high = settings
    obs, next_obs, action, rho, probability, terminated, truncated = taken
    position, velocity, steps = state
    for t in range(action.size):
        if steps < 0:
            position, velocity, steps = start(low, high, uniform(rng)), 0.0, 0.0
        u = uniform(rng)
        a = 0
        while a < 2 and u >= _pump(behavior, velocity, a):
            u -= _pump(behavior, velocity, a)
            a += 1
        if _pump(behavior, velocity, a) == 0.0:  # rounding at u ≈ 1 must not select an action of probability 0
            a = 0
        probability[t] = _pump(behavior, velocity, a)
        rho[t] = _pump(target, velocity, a) / probability[t]
        obs[t, 0], obs[t, 1], action[t] = position, velocity, a
        position, velocity = move(position, velocity, perturbed(a, noise, uniform(rng), uniform(rng)))
        next_obs[t, 0], next_obs[t, 1] = position, velocity
        steps += 1
        terminated[t] = position >= GOAL
        truncated[t] = not terminated[t] and steps == limit
        if terminated[t] or truncated[t]:
            steps = -1.0
    state[0], state[1], state[2] = position, velocity, steps
