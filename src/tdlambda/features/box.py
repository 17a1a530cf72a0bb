"""Observations in a box: real vectors between two bounds."""

import math
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.compiled import compiled, inlined
from tdlambda.features.arguments import choice
from tdlambda.features.base import Encoder, Values
from tdlambda.features.real import entry_name, real_array

Outside: TypeAlias = Literal["clip", "raise"]


class BoxEncoder(Encoder):
    """The part that encoders of a box share: bounds, and what becomes of observations outside them.

    Parameters
    ----------
    low, high
        The bounds, one of each for each dimension (a number for a single dimension).
    outside
        "clip" moves an observation outside the box to the nearest point of the box, "raise" refuses it.
        NaN is always refused.

    Examples
    --------
    >>> from tdlambda.features import TileCoder
    >>> encoder = TileCoder(low=[0, -1], high=[1, 1])
    >>> encoder.low, encoder.high, encoder.outside
    (array([ 0., -1.]), array([1., 1.]), 'clip')
    """

    def __init__(self, low: ArrayLike, high: ArrayLike, outside: Outside) -> None:
        self._low = _bound("low", low)
        self._high = _bound("high", high)
        if self._low.shape != self._high.shape:
            raise ValueError(
                "low and high must have the same length, "
                f"got {self._low.size} (low={low!r}) and {self._high.size} (high={high!r})"
            )
        if not (self._low < self._high).all():
            raise ValueError(f"low must be below high in each dimension, got low={low!r}, high={high!r}")
        with np.errstate(over="ignore"):
            if not np.isfinite(self._high - self._low).all():
                raise ValueError(f"high - low must be finite, got low={low!r}, high={high!r}")
        self.outside = choice("outside", outside, ("clip", "raise"))
        self._clip = outside == "clip"
        self._dimensions = self._low.size

    @property
    def low(self) -> Values:
        """The lower bounds (a copy)."""
        return self._low.copy()

    @property
    def high(self) -> Values:
        """The upper bounds (a copy)."""
        return self._high.copy()

    def _refuse(self, points: Values, position: int) -> NoReturn:
        value = float(points.flat[position])
        name = entry_name(points, position)
        if math.isnan(value):
            raise ValueError(f"{name} must be a number, got nan")
        dimension = position % self._dimensions
        low, high = float(self._low[dimension]), float(self._high[dimension])
        raise ValueError(f'{name} must be in [{low}, {high}] under outside="raise", got {value}')


def _bound(name: str, given: Any) -> Values:
    bound = np.atleast_1d(real_array(name, given))
    if bound.ndim != 1 or bound.size == 0:
        raise ValueError(f"{name} must be a number or a non-empty vector, got {given!r}")
    if not np.isfinite(bound).all():
        raise ValueError(f"{name} must be finite, got {given!r}")
    return bound


@compiled
def to_unit_box(points: Values, low: Values, high: Values, clip: bool) -> int:
    """Map flat points into [0, 1]ᵈ in place: (x - low) / (high - low).

    Return the flat position of the first entry that has to be refused, which is left as it was, or -1.
    """
    d = low.size
    for position in range(points.size):
        x = points[position]
        i = position % d
        if np.isnan(x) or not (clip or low[i] <= x <= high[i]):
            return position
        points[position] = unit(x, low[i], high[i])
    return -1


@inlined
def unit(x: float, low: float, high: float) -> float:
    """(x - low) / (high - low), clipped first, which keeps infinities out of the arithmetic."""
    return (min(max(x, low), high) - low) / (high - low)
