"""The memory of a learner whose value is a network: its rows have an entry for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tdlambda.arrays import Array, Floats
from tdlambda.core.memory import Layout, Memory, layout_of
from tdlambda.core.model import Model
from tdlambda.core.schedules.network.layers import Layers
from tdlambda.features.network import NetworkForm

AVERAGE = "average"
"""The row of averaged parameters, with which a network predicts."""
_FLOATS = ("rewards", "reward_decay", "reward_mean", "reward_square", "scale")
_COUNTS = ("reward_count", "seen")
"""Statistics of the rewards and of their discounted sum; the unit of the value; number of observations seen."""


@cache
def network_layout(model: Model, form: NetworkForm) -> Layout:
    """The layout of one learner of a model with this network."""
    base = layout_of(model, form.size, 0, form.dtype)
    fields = [(name, "f8") for name in _FLOATS] + [(name, base.record[name]) for name in base.record.names or ()]
    return replace(
        base,
        rows=(*base.rows, *([AVERAGE] if form.averaged else [])),
        record=np.dtype([*fields, *((name, "i8") for name in _COUNTS)]),
        changing=base.changing | {*_FLOATS, *_COUNTS},
        within_episode=(*base.within_episode, "rewards", "reward_decay"),
        lists_live=False,
    )


class NetworkMemory(Memory):
    """The arrays of one learner with a network.

    Parameters
    ----------
    layout, numbers, rows
        See `Memory`.
    form
        The network.
    """

    def __init__(
        self, layout: Layout, numbers: Mapping[str, float], rows: Mapping[str, Any], form: NetworkForm
    ) -> None:
        super().__init__(layout, {"scale": 1.0, **numbers}, rows)
        self.inputs: Floats = np.zeros((2, form.widths[0]))
        """Running means and sums of squared deviations of the inputs."""
        layers = Layers(form, "")
        self.scratch: Array = np.zeros(layers.scratch, dtype=form.dtype)
        self.sizes = np.array(layers.sizes, dtype=np.int64)

    @property
    def all_arrays(self) -> tuple[Any, ...]:
        """The arrays that `learn` of a generated module works on."""
        net = (self.rows, self.inputs, self.scratch, self.sizes, self.record)
        return self.record, net, self.rule_rows, self.live

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that entry points take."""
        return self.all_arrays[:2]

    @property
    def arrays_to_predict(self) -> tuple[Any, ...]:
        """The same with activations of their own, so that a prediction does not disturb learning."""
        return self.record, (self.rows, self.inputs, np.zeros_like(self.scratch), self.sizes, self.record)

    def state_dict(self) -> dict[str, Array]:
        """The arrays that hold everything learned."""
        return super().state_dict() | {"inputs": self.inputs}

    def load(self, state: Mapping[str, Array]) -> None:
        """Copy a state of `state_dict`; if it does not fit, raise ValueError and change nothing."""
        super().load(state)
        self.inputs[:] = state["inputs"]

    def _check(self, new: Any, state: Mapping[str, Array]) -> None:
        super()._check(new, state)
        given = state["inputs"]
        if not (np.isfinite(given).all() and (given[1] >= 0).all()) or min(new["seen"], new["reward_count"]) < 0:
            raise ValueError("state: the statistics of the inputs must be finite, and their squares not negative")
        if not (new["scale"] > 0 and new["reward_square"] >= 0):
            raise ValueError("state: the scale of the rewards must be positive")

    def clip(self) -> None:
        """Make everything finite after divergence."""
        super().clip()
        self["scale"] = min(max(self["scale"], 1e-300), 1e300)
