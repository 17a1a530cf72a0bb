"""A network in plain NumPy: V by its equations, ∇V by complex steps, which share nothing with back-propagation."""

from itertools import pairwise
from typing import Any

import numpy as np


def value(parameters: Any, network: Any, x: Any, outputs: int = 1, hidden: bool = False) -> Any:
    """The outputs at inputs x, or the last hidden layer; `parameters` may have leading axes, each with its outputs."""
    w, widths, at = np.asarray(parameters), (network.inputs, *network.hidden, outputs), 0
    a = np.asarray(x) + np.zeros((*w.shape[:-1], widths[0]), w.dtype)
    for k, (n, m) in enumerate(pairwise(widths)):
        W, b, last = w[..., at : at + n * m], w[..., at + n * m : at + n * m + m], k == len(widths) - 2
        W = np.swapaxes(W.reshape(*w.shape[:-1], m, n), -1, -2) if last else W.reshape(*w.shape[:-1], n, m)
        at += n * m + m
        if last and hidden:
            return a
        a = np.einsum("...n,...nm->...m", a, W) + b
        if not last:
            if network.layer_norm:
                a = a - a.mean(axis=-1, keepdims=True)
                a = a / np.sqrt((a * a).mean(axis=-1, keepdims=True) + 1e-5)
            a = np.tanh(a) if network.activation == "tanh" else np.where(a.real > 0, a, 0.01 * a)
    return a


def gradient(parameters: Any, network: Any, x: Any, direction: Any = None, outputs: int = 1) -> Any:
    """The gradient of direction·outputs, by a complex step at each parameter."""
    steps = np.asarray(parameters) + 1e-30j * np.eye(len(parameters))
    direction = np.ones(outputs) if direction is None else direction
    return (value(steps, network, x, outputs) @ direction).imag / 1e-30


class Normaliser:
    """Standardised inputs and scaled rewards, from all that was seen so far."""

    def __init__(self, network: Any) -> None:
        self.network, self.sum, self.decay = network, 0.0, 0.0
        self.seen: list[Any] = []
        self.sums: list[float] = []

    def place(self, x: Any) -> Any:
        if not self.network.normalize_inputs:
            return np.asarray(x, float)
        if len(self.seen) < 2:
            return np.clip(x - (self.seen[0] if self.seen else 0.0), -10, 10)
        return np.clip((x - np.mean(self.seen, axis=0)) / np.std(self.seen, axis=0, ddof=1), -10, 10)

    def pair(self, x: Any, y: Any, begins: bool) -> Any:
        """x and x' as the network sees them."""
        x_in = self.place(x)
        self.seen += [x, y] if begins else [y]
        return x_in, self.place(y)

    def scaled(self, reward: float, gamma_next: float, begins: bool) -> float:
        """The reward that is learned from."""
        if not self.network.scale_rewards:
            return reward
        self.sum = reward if begins else self.decay * self.sum + reward
        self.sums.append(self.sum)
        self.decay = gamma_next
        return reward / self.scale

    @property
    def scale(self) -> float:
        """The unit of the value."""
        if not self.network.scale_rewards or not self.sums:
            return 1.0
        return float(np.std(self.sums, ddof=1)) if len(self.sums) > 1 else abs(self.sums[0])


def transitions(n: int, inputs: int, seed: int) -> Any:
    """A stream whose γ, λ and ρ differ at every step; episodes terminate or are truncated."""
    rng, begins, y = np.random.default_rng(seed), True, np.zeros(inputs)
    for _ in range(n):
        x = rng.normal(size=inputs) * [1.0, 30.0, 0.01][:inputs] if begins else y
        y = rng.normal(size=inputs) * [1.0, 30.0, 0.01][:inputs]
        ends = rng.random(2) < 0.1
        yield x, 3 * rng.normal(), y, 0.5 + 0.5 * rng.random(), 1.5 * rng.random(), bool(ends[0]), bool(ends[1]), begins
        begins = bool(ends.any())
