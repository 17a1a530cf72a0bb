# ruff: noqa: NPY002, compiled code has only the legacy generators
"""MountainCar, CartPole and Acrobot under fixed policies, compiled; true values by rollouts."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

jit: Any = njit(cache=True)
CAR, POLE, BOT = 0, 1, 2


@jit
def begin(task: int, s: Any) -> None:
    """A start state."""
    if task == CAR:
        s[0], s[1] = -1.2 + 1.7 * np.random.random(), 0.0
    else:
        width = 0.1 if task == POLE else 0.2
        for i in range(4):
            s[i] = width * (np.random.random() - 0.5)


@jit
def act(task: int, s: Any) -> int:
    """The policy: MountainCar pumps, CartPole balances, Acrobot pushes along; with random actions in between."""
    if task == CAR:
        return np.random.randint(3) if np.random.random() < 0.28 else 2 if s[1] >= 0 else 0
    if task == POLE:
        if np.random.random() < 0.6:
            return np.random.randint(2)
        return 1 if s[2] + 0.3 * s[3] + 0.02 * s[0] + 0.05 * s[1] > 0 else 0
    return np.random.randint(3) if np.random.random() < 0.2 else 2 if s[3] >= 0 else 0


@jit
def accelerations(a: float, b: float, va: float, vb: float, torque: float) -> Any:
    """Of Acrobot's two joints."""
    d1, d2 = 3.5 + math.cos(b), 1.25 + 0.5 * math.cos(b)
    phi2 = 4.9 * math.cos(a + b - math.pi / 2)
    phi1 = -0.5 * vb * vb * math.sin(b) - vb * va * math.sin(b) + 14.7 * math.cos(a - math.pi / 2) + phi2
    second = (torque + d2 / d1 * phi1 - 0.5 * va * va * math.sin(b) - phi2) / (1.25 - d2 * d2 / d1)
    return -(d2 * second + phi1) / d1, second


@jit
def swing(s: Any, torque: float) -> None:
    """One Runge-Kutta step of Acrobot."""
    h, x0, x1, v0, v1 = 0.2, s[0], s[1], s[2], s[3]
    a1, b1 = accelerations(x0, x1, v0, v1, torque)
    a2, b2 = accelerations(x0 + h / 2 * v0, x1 + h / 2 * v1, v0 + h / 2 * a1, v1 + h / 2 * b1, torque)
    va, vb = v0 + h / 2 * a1, v1 + h / 2 * b1
    a3, b3 = accelerations(x0 + h / 2 * va, x1 + h / 2 * vb, v0 + h / 2 * a2, v1 + h / 2 * b2, torque)
    wa, wb = v0 + h / 2 * a2, v1 + h / 2 * b2
    a4, b4 = accelerations(x0 + h * wa, x1 + h * wb, v0 + h * a3, v1 + h * b3, torque)
    s[0] = x0 + h / 6 * (v0 + 2 * va + 2 * wa + v0 + h * a3)
    s[1] = x1 + h / 6 * (v1 + 2 * vb + 2 * wb + v1 + h * b3)
    s[2] = min(max(v0 + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), -4 * math.pi), 4 * math.pi)
    s[3] = min(max(v1 + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4), -9 * math.pi), 9 * math.pi)
    for i in range(2):
        s[i] = (s[i] + math.pi) % (2 * math.pi) - math.pi


@jit
def move(task: int, s: Any, a: int) -> Any:
    """The reward, and whether the state is terminal."""
    if task == CAR:
        v = min(max(s[1] + 0.001 * (a - 1) - 0.0025 * math.cos(3 * s[0]), -0.07), 0.07)
        x = s[0] + v
        if x < -1.2:
            x, v = -1.2, 0.0
        s[0], s[1] = x, v
        return -1.0, x >= 0.5
    if task == POLE:
        push = 10.0 if a == 1 else -10.0
        c, si = math.cos(s[2]), math.sin(s[2])
        common = (push + 0.05 * s[3] * s[3] * si) / 1.1
        turn = (9.8 * si - c * common) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        x, v, angle, speed = s[0], s[1], s[2], s[3]
        s[0], s[1] = x + 0.02 * v, v + 0.02 * (common - 0.05 * turn * c / 1.1)
        s[2], s[3] = angle + 0.02 * speed, speed + 0.02 * turn
        return 1.0, abs(s[0]) > 2.4 or abs(s[2]) > 12 * 2 * math.pi / 360
    swing(s, a - 1.0)
    over = -math.cos(s[0]) - math.cos(s[1] + s[0]) > 1.0
    return (0.0 if over else -1.0), over


@jit
def observe(task: int, s: Any, out: Any) -> None:
    """The observation of a state, as in Gymnasium."""
    if task == BOT:
        out[0], out[1], out[2], out[3] = math.cos(s[0]), math.sin(s[0]), math.cos(s[1]), math.sin(s[1])
        out[4], out[5] = s[2], s[3]
    else:
        for i in range(out.size):
            out[i] = s[i]


@jit
def sample(task: int, n: int, d: int, states: int, seed: int) -> Any:
    """Observations, rewards, next observations, ends and states of n steps."""
    np.random.seed(seed)
    X, Y, R, over, S = np.zeros((n, d)), np.zeros((n, d)), np.zeros(n), np.zeros(n) > 1, np.zeros((n, states))
    s = np.zeros(states)
    begin(task, s)
    for t in range(n):
        observe(task, s, X[t])
        S[t] = s
        R[t], over[t] = move(task, s, act(task, s))
        observe(task, s, Y[t])
        if over[t]:
            begin(task, s)
    return X, R, Y, over, S


@jit
def rollouts(task: int, S: Any, gamma: float, each: int, seed: int) -> Any:
    """Mean returns from states."""
    np.random.seed(seed)
    v, s = np.zeros(S.shape[0]), np.zeros(S.shape[1])
    for i in range(S.shape[0]):
        for _ in range(each):
            s[:] = S[i]
            total, weight = 0.0, 1.0
            while weight > 1e-6:
                r, end = move(task, s, act(task, s))
                total += weight * r
                weight *= 0.0 if end else gamma
            v[i] += total / each
    return v


@dataclass(frozen=True)
class Task:
    """A task with its dimensions and discount."""

    code: int
    readings: int
    states: int
    gamma: float = 0.99

    def sample(self, n: int, seed: int) -> Any:
        """Transitions of the policy: see `sample`."""
        return sample(self.code, n, self.readings, self.states, seed)

    def truth(self, n: int = 300, each: int = 400, seed: int = 10**6) -> Any:
        """Observations of the policy's own distribution, and their values."""
        X, *_, S = self.sample(97 * n, seed)
        return X[::97], rollouts(self.code, S[::97].copy(), self.gamma, each, seed + 1)


TASKS = {"MountainCar": Task(CAR, 2, 2), "CartPole": Task(POLE, 4, 4), "Acrobot": Task(BOT, 6, 4)}
