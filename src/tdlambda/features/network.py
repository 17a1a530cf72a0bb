"""A network as the value function: its layers, its initial parameters, and how its inputs are normalised.

    z_l = b_l + W_lᵀ a_{l-1},    a_l = f(LayerNorm(z_l)),    V(s; w) = b + W a_L

For TD(λ), x is the gradient ∇V(s; w), `w·x` is V(s; w) and `w·x'` is V(s'; w); so the declarations of algorithms and
step sizes apply as they are (`core.schedules.network`).
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any, Literal, NamedTuple, SupportsIndex

import numpy as np

from tdlambda.arrays import Array, Floats, choice, flag, fraction
from tdlambda.features.arguments import whole_number
from tdlambda.features.dense import encode_vector
from tdlambda.features.encoder import EncoderKernel
from tdlambda.features.real import entry_name, first_not_finite, real_vector, real_vectors
from tdlambda.showing import call, says_arguments

SPARSITY = 0.9
"""Fraction of initial weights that are 0 in agents (Elsayed, Vasan & Mahmood 2024)."""


class NetworkForm(NamedTuple):
    """The properties of a network that determine the generated code."""

    widths: tuple[int, ...]
    """Number of inputs, of units in each hidden layer, and of outputs."""
    activation: str
    layer_norm: bool
    normalize_inputs: bool
    scale_rewards: bool
    averaged: bool
    dtype: str

    @property
    def layers(self) -> list[tuple[int, int, int]]:
        """(position of its first parameter, number of inputs, number of outputs) of each layer."""
        found, at = [], 0
        for n_in, n_out in zip(self.widths[:-1], self.widths[1:], strict=True):
            found.append((at, n_in, n_out))
            at += (n_in + 1) * n_out
        return found

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum((n_in + 1) * n_out for _, n_in, n_out in self.layers)

    def matrices(self, parameters: Array) -> list[tuple[Array, Array]]:
        """Views of the weights [input, output] and biases of each layer."""
        found = []
        for k, (at, n_in, n_out) in enumerate(self.layers):
            end = at + n_in * n_out
            last = k == len(self.layers) - 1  # stored by outputs
            weights = parameters[at:end].reshape(n_out, n_in).T if last else parameters[at:end].reshape(n_in, n_out)
            found.append((weights, parameters[end : end + n_out]))
        return found


@says_arguments
class Network:
    """A network of dense layers, in the place of features: `td.TD(td.Network(17), alpha=td.steps.Intentional(0.3))`.

    A learner with a network learns all parameters, one transition at a time. Inputs are standardised by the running
    means and deviations of the observations learned from, and clipped to ±10; rewards are divided by the running
    deviation of their discounted sum. Predictions are in the unit of the rewards. Both statistics are part of the
    learner's state; `predict` does not change them.

    Parameters
    ----------
    inputs
        Length of an observation, at least 1.
    hidden
        Number of units in each hidden layer, at least one layer and one unit.
    seed
        Seed of the initial parameters, at least 0.
    activation
        "leaky_relu", with the slope 0.01 below 0, or "tanh".
    layer_norm
        Whether each hidden layer is normalised to mean 0 and deviation 1, without parameters of its own.
    sparsity
        Fraction of a unit's initial weights that are 0, in [0, 1); each unit keeps at least one. With 0, the biases of
        the first layer begin at random, so that activations after LayerNorm depend on the size of the inputs. None is 0
        for predictions, and 0.9 in agents, as published.
    normalize_inputs, scale_rewards
        Whether inputs are standardised, and whether rewards are scaled.
    averaged
        Whether predictions are those of averaged parameters, a mean over about the last quarter of the updates.
        Learning and agents use the parameters themselves.
    dtype
        "float32" or "float64", the type of parameters, traces and activations.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.Network(2, hidden=(8,)), alpha=td.steps.Intentional(0.3), lam=0.8)
    >>> for _ in range(200):
    ...     v.update([0.0, 1.0], 1.0, [1.0, 0.0], gamma=0.9)
    ...     v.update([1.0, 0.0], 0.0, [0.0, 1.0], gamma=0.9, terminated=True)
    >>> round(v.predict([0.0, 1.0]), 1), abs(round(v.predict([1.0, 0.0]), 1))
    (1.0, 0.0)
    """

    states = None
    """As for encoders: observations are no states."""
    settled = True
    """As for encoders: learning does not change it; the statistics of the inputs belong to the learner."""
    outputs, part = 1, 0
    """Number of outputs, and which of several networks of an agent this is: see `with_outputs`."""

    def __init__(
        self,
        inputs: SupportsIndex,
        hidden: Any = (64, 64),
        seed: SupportsIndex = 0,
        *,
        activation: Literal["leaky_relu", "tanh"] = "leaky_relu",
        layer_norm: bool = True,
        sparsity: float | None = None,
        normalize_inputs: bool = True,
        scale_rewards: bool = True,
        averaged: bool = True,
        dtype: Literal["float32", "float64"] = "float32",
    ) -> None:
        self.inputs = whole_number("inputs", inputs, least=1)
        layers = [hidden] if np.ndim(hidden) == 0 else hidden
        self.hidden = tuple(whole_number("hidden", units, least=1) for units in layers)
        if not self.hidden:
            raise ValueError("hidden must have at least one layer; for a linear value, use td.features.Dense")
        self.seed = whole_number("seed", seed, least=0)
        self.activation = choice(activation, "activation", "leaky_relu", "tanh")
        self.layer_norm = flag(layer_norm, "layer_norm")
        self.sparsity = None if sparsity is None else fraction(sparsity, "sparsity")
        if self.sparsity == 1:
            raise ValueError("sparsity must be below 1; got 1")
        self.normalize_inputs = flag(normalize_inputs, "normalize_inputs")
        self.scale_rewards = flag(scale_rewards, "scale_rewards")
        self.averaged = flag(averaged, "averaged")
        self.dtype = choice(dtype, "dtype", "float32", "float64")

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.form().size

    @property
    def active(self) -> int:
        """Number of inputs, as compiled loops need it."""
        return self.inputs

    def copy(self) -> Network:
        """Itself: the statistics of the inputs belong to the learner."""
        return self

    def with_outputs(self, outputs: int, part: int = 0) -> Network:
        """The same network with several outputs, for an agent.

        Parameters
        ----------
        outputs
            Number of outputs, at least 1.
        part
            0 or 1: the second network of an agent has other initial parameters than the first.
        """
        other = copy(self)
        other.outputs, other.part = outputs, part
        other.sparsity = SPARSITY if self.sparsity is None else self.sparsity
        return other

    def form(self) -> NetworkForm:
        """The network as code generation needs it."""
        widths = (self.inputs, *self.hidden, self.outputs)
        return NetworkForm(
            widths,
            self.activation,
            self.layer_norm,
            self.normalize_inputs,
            self.scale_rewards,
            self.averaged and self.outputs == 1 and self.part == 0,
            self.dtype,
        )

    def initial(self, question: int = 0) -> Floats:
        """Initial parameters: uniform within ±1/√n of a unit's n inputs, or 0: see `sparsity`.

        Questions on one network have different weights in the last layer; `question` is the index of one.
        """
        rng = np.random.default_rng([self.seed, self.part] if self.part else self.seed)
        form, apart = self.form(), rng.spawn(1)[0]
        parameters = np.zeros(form.size)
        for k, (weights, biases) in enumerate(form.matrices(parameters)):
            n = len(weights)
            if question and k == len(self.hidden):
                rng = np.random.default_rng([self.seed, self.part, question])
            weights[:] = rng.uniform(-1, 1, weights.shape) / math.sqrt(n)
            zeros = min(math.ceil((self.sparsity or 0.0) * n), n - 1)
            for unit in weights.T:
                unit[rng.permutation(n)[:zeros]] = 0.0
            if k == 0 and not self.sparsity:
                biases[:] = apart.uniform(-1, 1, biases.shape) / math.sqrt(n)
        return parameters

    @property
    def kernel(self) -> EncoderKernel:
        """The function by which compiled loops read observations."""
        return EncoderKernel(encode_vector, np.empty(0), self.inputs)

    loop_kernel = kernel

    def largest(self, parameters: Floats) -> float:
        """A bound on |V| with these parameters, by the norms of the layers."""
        top = 10.0 * math.sqrt(self.inputs)
        for k, (weights, biases) in enumerate(self.form().matrices(np.asarray(parameters, dtype=np.float64))):
            hidden = k < len(self.hidden)
            top = top * float(np.linalg.norm(weights)) + float(np.linalg.norm(biases))
            if hidden and (self.layer_norm or self.activation == "tanh"):
                top = math.sqrt(weights.shape[1])
        return top

    def vector(self, observation: Any) -> Floats:
        """One observation, validated."""
        return _finite(real_vector(observation, self.inputs))

    def vectors(self, observations: Any) -> Floats:
        """Observations [n, inputs], validated."""
        return _finite(real_vectors(observations, self.inputs))

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        names = "seed activation layer_norm sparsity normalize_inputs scale_rewards averaged dtype"
        return {"inputs": self.inputs, "hidden": list(self.hidden)} | {n: getattr(self, n) for n in names.split()}

    def __eq__(self, other: object) -> bool:
        """Whether the other network has the same parameters."""
        return isinstance(other, Network) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        """Equal networks have equal hashes."""
        return hash((self.inputs, self.hidden, self.seed))

    def __repr__(self) -> str:
        """The call that builds an equal network."""
        return call(self, self.get_params())


def _finite(vectors: Floats) -> Floats:
    position = first_not_finite(vectors.reshape(-1))
    if position >= 0:
        raise ValueError(f"{entry_name(vectors, position)} must be finite; got {float(vectors.reshape(-1)[position])}")
    return vectors
