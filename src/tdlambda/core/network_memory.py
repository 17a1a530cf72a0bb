"""The memory of a learner whose value is a network: its rows have an entry for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Self

import numpy as np

from tdlambda.arrays import Array, Floats, aligned
from tdlambda.core.memory import Episode, Layout, Memory, layout_of, under, with_prefix
from tdlambda.core.model import Model
from tdlambda.core.schedules import one
from tdlambda.core.schedules.network.layers import Layers
from tdlambda.features.network import NetworkForm

AVERAGE = "average"
"""The row of averaged parameters, with which a network predicts."""
HEADS = "heads."
"""Prefix of what belongs to the heads."""
_FLOATS = ("rewards", "reward_decay", "reward_mean", "reward_square", "scale", "apart", "joint")
_COUNTS = ("reward_count", "seen")
"""Statistics of the rewards and of their discounted sum; the unit of the value; means of squared changes of layers that
are shared (`agreed` of `schedules.network.kernels`); number of observations seen."""


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


@cache
def heads_layout(model: Model, form: NetworkForm) -> Layout:
    """The layout of the estimates of a rule for λ, and of the rule, on the last hidden layer of a network."""
    size = form.widths[-2] + 1
    base = layout_of(model, size, size, "float64")
    return replace(base, lists_live=one.always_sparse(model), changing=base.changing | {*model.set_outside})


class NetworkMemory(Memory):
    """The arrays of one learner with a network.

    Parameters
    ----------
    layout, numbers, rows
        See `Memory`.
    form
        The network.
    heads
        The memory of a rule for λ and its estimates, which are linear in the last hidden layer and a constant; or None.
    """

    def __init__(
        self, layout: Layout, numbers: Mapping[str, float], rows: Mapping[str, Any], form: NetworkForm,
        heads: Memory | None = None,
    ) -> None:  # fmt: skip
        self.heads = heads
        super().__init__(layout, {"scale": 1.0, **numbers}, rows)
        self.rows = aligned(self.rows)
        self.hidden: Floats = np.ones((2, form.widths[-2] + 1))
        """The last hidden layer at x and at x', and a constant."""
        self.positions = np.arange(form.widths[-2] + 1)
        self.inputs: Floats = np.zeros((2, form.widths[0]))
        """Running means and sums of squared deviations of the inputs."""
        layers = Layers(form, "")
        self.scratch: Array = aligned(np.zeros(layers.scratch, dtype=form.dtype))
        self.sizes = np.array(layers.sizes, dtype=np.int64)

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the inputs so far."""
        found: Floats = np.sqrt(self.inputs[1] / max(self["seen"] - 1, 1))
        return found

    @property
    def all_arrays(self) -> tuple[Any, ...]:
        """The arrays that `learn` of a generated module works on."""
        heads = () if self.heads is None else (*self.heads.all_arrays, self.positions, self.hidden)
        net = (self.rows, self.inputs, self.scratch, self.sizes, self.record, heads)
        return self.record, net, self.rule_rows, self.live

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that entry points take."""
        return self.all_arrays[:2]

    @property
    def arrays_to_predict(self) -> tuple[Any, ...]:
        """The same with activations of their own, so that a prediction does not disturb learning."""
        return self.record, (self.rows, self.inputs, np.zeros_like(self.scratch), self.sizes, self.record, ())

    def row(self, name: str) -> Array:
        """The entries of a row, as a view that can be changed."""
        if self.heads is not None and name not in self.layout.rows:
            return self.heads.row(name)
        return super().row(name)

    def reset(self) -> None:
        """Forget the episode: set the traces to 0."""
        super().reset()
        if self.heads is not None:
            self.heads.reset()

    def episode(self) -> Episode:
        """A copy of what belongs to the current episode."""
        rows, numbers = super().episode()
        more = ({}, {}) if self.heads is None else self.heads.episode()
        return Episode(rows | with_prefix(HEADS, more[0]), numbers | with_prefix(HEADS, more[1]))

    def resume(self, episode: Episode) -> None:
        """Go on with an episode."""
        rows, numbers = episode
        own = {name: row for name, row in rows.items() if not name.startswith(HEADS)}
        super().resume(Episode(own, {name: x for name, x in numbers.items() if not name.startswith(HEADS)}))
        if self.heads is not None:
            self.heads.resume(Episode(under(HEADS, rows), under(HEADS, numbers)))

    def copy(self) -> Self:
        """An independent copy."""
        other = super().copy()
        other.rows, other.scratch = aligned(self.rows), aligned(self.scratch)
        other.heads = None if self.heads is None else self.heads.copy()
        return other

    def state_dict(self) -> dict[str, Array]:
        """The arrays that hold everything learned."""
        more = {} if self.heads is None else with_prefix(HEADS, self.heads.state_dict())
        return super().state_dict() | {"inputs": self.inputs} | more

    def load(self, state: Mapping[str, Array]) -> None:
        """Copy a state of `state_dict`; if it does not fit, raise ValueError and change nothing."""
        if self.heads is not None:
            self.heads.copy().load(under(HEADS, state))  # raises before anything changes
        super().load(state)
        self.inputs[:] = state["inputs"]
        if self.heads is not None:
            self.heads.load(under(HEADS, state))

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
        if self.heads is not None:
            self.heads.clip()
        self["scale"] = min(max(self["scale"], 1e-300), 1e300)
