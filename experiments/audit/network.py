"""A small network in NumPy: two hidden layers of tanh, trained by Adam."""

from __future__ import annotations

from typing import Any

import numpy as np


class Network:
    """V(x), or logits, of a batch of observations."""

    def __init__(self, sizes: tuple[int, ...], seed: int, last: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        scales = [1.0] * (len(sizes) - 2) + [last]
        pairs = zip(sizes[:-1], sizes[1:], scales, strict=True)
        self.weights: list[Any] = []
        for n, m, scale in pairs:
            self.weights += [rng.normal(size=(n, m)) * scale / np.sqrt(n), np.zeros(m)]
        self._first = [np.zeros_like(w) for w in self.weights]
        self._second = [np.zeros_like(w) for w in self.weights]
        self._steps = 0

    def __call__(self, x: Any) -> Any:
        return self._forward(x)[-1]

    def copy(self) -> Network:
        other = object.__new__(Network)
        other.__dict__ = {name: [w.copy() for w in x] if isinstance(x, list) else x for name, x in vars(self).items()}
        return other

    def _forward(self, x: Any) -> list[Any]:
        layers = [np.asarray(x, float)]
        for k in range(0, len(self.weights), 2):
            out = layers[-1] @ self.weights[k] + self.weights[k + 1]
            layers.append(np.tanh(out) if k + 2 < len(self.weights) else out)
        return layers

    def descend(self, x: Any, slope: Any, alpha: float) -> None:
        """One step of Adam; `slope(output)` is the gradient of the mean loss with respect to each output."""
        layers = self._forward(x)
        error, gradients = slope(layers[-1]), []
        for k in range(len(self.weights) - 2, -1, -2):
            gradients = [layers[k // 2].T @ error, error.sum(0), *gradients]
            error = (error @ self.weights[k].T) * (1 - layers[k // 2] ** 2)
        self._steps += 1
        for w, g, m, v in zip(self.weights, gradients, self._first, self._second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= alpha * (m / (1 - 0.9**self._steps)) / (np.sqrt(v / (1 - 0.999**self._steps)) + 1e-8)

    def fit(self, x: Any, target: Any, alpha: float, epochs: int, rng: Any, batch: int = 256) -> None:
        """Least squares towards the targets, in minibatches."""
        for _ in range(epochs):
            for some in np.array_split(rng.permutation(len(x)), max(1, len(x) // batch)):
                self.descend(x[some], lambda out, some=some: (out - target[some, None]) / len(some), alpha)
