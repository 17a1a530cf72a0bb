"""Gymnasium's CartPole-v1 and Acrobot-v1 as compiled worlds, with the same dynamics, rewards, starts and limits.

CartPole: Barto, Sutton & Anderson (1983). Acrobot: Sutton (1996), the equations of Sutton & Barto's book.
"""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Floats, fraction
from tdlambda.randomness import uniform
from tdlambda.tasks.world import WORLDS, Plane, World

PI = math.pi


def cart_pole(discount: float, limit: int = 500) -> World:
    """CartPole-v1: reward 1 per step until the pole falls or the cart leaves the track.

    Parameters
    ----------
    discount
        Discount γ in [0, 1].
    limit
        Number of steps after which an episode is truncated; 0 for no limit.

    Examples
    --------
    >>> cart_pole(discount=0.99).env().reset(seed=0)[0].shape
    (4,)
    """
    high = np.array([4.8, np.inf, 0.42, np.inf])
    space = gym.spaces.Box(-high, high, dtype=np.float64)
    return World(
        begin_cart,
        move_cart,
        [9.8, 0.1, 1.1, 0.5, 10.0, 0.02, fraction(discount, "discount")],
        4,
        2,
        limit,
        space=space,
        plane=Plane(("angle of the pole", "its speed"), (-0.21, -1.5), (0.21, 1.5), balancing),
        action_names=("left", "right"),
    )


def balancing(angle: float, speed: float) -> tuple[float, float, float, float]:
    """The observation of a pole while the cart is at rest in the centre."""
    return 0.0, 0.0, angle, speed


def begin_cart(numbers: Floats, state: Floats, random: NDArray[np.uint64]) -> None:  # noqa: ARG001
    """Start an episode with all four numbers uniform in [-0.05, 0.05]."""
    for i in range(4):
        state[i] = 0.1 * uniform(random) - 0.05


def move_cart(numbers: Floats, state: Floats, action: int, random: NDArray[np.uint64]) -> tuple[float, float, bool]:  # noqa: ARG001
    """Take one step of Euler's method."""
    gravity, pole, total, length, force, tau = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    push = force if action == 1 else -force
    x, v, theta, omega = state[0], state[1], state[2], state[3]
    cosine, sine = math.cos(theta), math.sin(theta)
    common = (push + pole * length * omega * omega * sine) / total
    turn = (gravity * sine - cosine * common) / (length * (4.0 / 3.0 - pole * cosine * cosine / total))
    state[0], state[1] = x + tau * v, v + tau * (common - pole * length * turn * cosine / total)
    state[2], state[3] = theta + tau * omega, omega + tau * turn
    over = abs(state[0]) > 2.4 or abs(state[2]) > 12 * 2 * PI / 360
    return 1.0, 0.0 if over else numbers[6], over


def acrobot(discount: float, limit: int = 500) -> World:
    """Acrobot-v1: reward -1 per step until the tip is above the line.

    Parameters
    ----------
    discount
        Discount γ in [0, 1].
    limit
        Number of steps after which an episode is truncated; 0 for no limit.

    Examples
    --------
    >>> acrobot(discount=0.99).env().reset(seed=0)[0].shape
    (6,)
    """
    high = np.array([1.0, 1.0, 1.0, 1.0, 4 * PI, 9 * PI])
    space = gym.spaces.Box(-high, high, dtype=np.float64)
    plane = Plane(("angle of the first link", "its speed"), (-PI, -4 * PI), (PI, 4 * PI), swinging)
    numbers, names = [9.8, 0.2, fraction(discount, "discount")], ("torque -1", "torque 0", "torque +1")
    return World(begin_acrobot, move_acrobot, numbers, 4, 3, limit, observe_acrobot, space, plane, names)


def swinging(angle: float, speed: float) -> tuple[float, float, float, float, float, float]:
    """The observation while both links are aligned and turn together."""
    return math.cos(angle), math.sin(angle), 1.0, 0.0, speed, 0.0


def begin_acrobot(numbers: Floats, state: Floats, random: NDArray[np.uint64]) -> None:  # noqa: ARG001
    """Start an episode with both angles and both speeds uniform in [-0.1, 0.1]."""
    for i in range(4):
        state[i] = 0.2 * uniform(random) - 0.1


def observe_acrobot(numbers: Floats, state: Floats, out: Floats) -> None:  # noqa: ARG001
    """Write the observation: cosine and sine of both angles, and both speeds."""
    out[0], out[1], out[2], out[3] = math.cos(state[0]), math.sin(state[0]), math.cos(state[1]), math.sin(state[1])
    out[4], out[5] = state[2], state[3]


def accelerations(gravity: float, a: float, b: float, va: float, vb: float, torque: float) -> tuple[float, float]:
    """θ̈₁ and θ̈₂ of two links of mass 1, length 1, centre ½ and inertia 1."""
    d1 = 0.25 + (1.25 + math.cos(b)) + 2.0
    d2 = 0.25 + 0.5 * math.cos(b) + 1.0
    phi2 = 0.5 * gravity * math.cos(a + b - PI / 2.0)
    phi1 = -0.5 * vb * vb * math.sin(b) - vb * va * math.sin(b) + 1.5 * gravity * math.cos(a - PI / 2) + phi2
    second = (torque + d2 / d1 * phi1 - 0.5 * va * va * math.sin(b) - phi2) / (1.25 - d2 * d2 / d1)
    return -(d2 * second + phi1) / d1, second


def move_acrobot(numbers: Floats, state: Floats, action: int, random: NDArray[np.uint64]) -> tuple[float, float, bool]:  # noqa: ARG001
    """Take one step of the Runge-Kutta method; angles wrap around, speeds are bounded."""
    g, h, torque = numbers[0], numbers[1], action - 1.0
    a, b, va, vb = state[0], state[1], state[2], state[3]
    ka1, kb1 = accelerations(g, a, b, va, vb, torque)
    va2, vb2 = va + h / 2 * ka1, vb + h / 2 * kb1
    ka2, kb2 = accelerations(g, a + h / 2 * va, b + h / 2 * vb, va2, vb2, torque)
    va3, vb3 = va + h / 2 * ka2, vb + h / 2 * kb2
    ka3, kb3 = accelerations(g, a + h / 2 * va2, b + h / 2 * vb2, va3, vb3, torque)
    va4, vb4 = va + h * ka3, vb + h * kb3
    ka4, kb4 = accelerations(g, a + h * va3, b + h * vb3, va4, vb4, torque)
    state[0] = wrapped(a + h / 6 * (va + 2 * va2 + 2 * va3 + va4))
    state[1] = wrapped(b + h / 6 * (vb + 2 * vb2 + 2 * vb3 + vb4))
    state[2] = min(max(va + h / 6 * (ka1 + 2 * ka2 + 2 * ka3 + ka4), -4 * PI), 4 * PI)
    state[3] = min(max(vb + h / 6 * (kb1 + 2 * kb2 + 2 * kb3 + kb4), -9 * PI), 9 * PI)
    over = -math.cos(state[0]) - math.cos(state[1] + state[0]) > 1.0
    return 0.0 if over else -1.0, 0.0 if over else numbers[2], over


def wrapped(angle: float) -> float:
    """The same angle in [-π, π]."""
    while angle > PI:
        angle -= 2 * PI
    while angle < -PI:
        angle += 2 * PI
    return angle


WORLDS["CartPole-v1"] = cart_pole
WORLDS["Acrobot-v1"] = acrobot
