"""Observations in a box: real vectors between two bounds."""

import math
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import choice
from tdlambda.compiled import inlined
from tdlambda.features.encoder import Encoder, Values
from tdlambda.features.real import entry_name, real_array

Outside: TypeAlias = Literal["clip", "raise"]

LEAST, MOST, LOW, HIGH = range(4)
"""For each dimension: the range of accepted numbers, and the bounds of the box."""
BOUNDS = 4
"""Number of these numbers per dimension; they come first among the numbers of a kernel."""


class BoxEncoder(Encoder):
    """Base class of encoders of a box: bounds, and the treatment of observations outside them.

    Parameters
    ----------
    low, high
        Finite lower and upper bounds, low < high, one of each per dimension (a number for a single dimension).
    outside
        "clip" moves an observation outside the box to the nearest point of the box; "raise" rejects it. NaN is
        always rejected.

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
                "low and high must have the same length; "
                f"got {self._low.size} (low={low!r}) and {self._high.size} (high={high!r})"
            )
        if not (self._low < self._high).all():
            raise ValueError(f"low must be below high in each dimension; got low={low!r}, high={high!r}")
        with np.errstate(over="ignore"):
            if not np.isfinite(self._high - self._low).all():
                raise ValueError(f"high - low must be finite; got low={low!r}, high={high!r}")
        self.outside = choice(outside, "outside", "clip", "raise")
        self._dimensions = self._low.size
        self._bounds = np.empty((self._dimensions, BOUNDS))
        self._bounds[:, LEAST] = -np.inf if outside == "clip" else self._low
        self._bounds[:, MOST] = np.inf if outside == "clip" else self._high
        self._bounds[:, LOW] = self._low
        self._bounds[:, HIGH] = self._high

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
            raise ValueError(f"{name} must be a number; got nan")
        dimension = position % self._dimensions
        low, high = float(self._low[dimension]), float(self._high[dimension])
        raise ValueError(f'{name} must be in [{low}, {high}] under outside="raise"; got {value}')


def _bound(name: str, given: Any) -> Values:
    bound = np.atleast_1d(real_array(name, given))
    if bound.ndim != 1 or bound.size == 0:
        raise ValueError(f"{name} must be a number or a non-empty vector; got {given!r}")
    if not np.isfinite(bound).all():
        raise ValueError(f"{name} must be finite; got {given!r}")
    return bound


@inlined
def first_outside(obs: Values, numbers: Values) -> int:
    """The first dimension in which the observation is invalid, or -1; NaN is invalid."""
    for i in range(obs.size):
        if not numbers[BOUNDS * i + LEAST] <= obs[i] <= numbers[BOUNDS * i + MOST]:
            return i
    return -1


@inlined
def coordinate(obs: Values, numbers: Values, i: int) -> float:
    """The observation along dimension i, scaled to [0, 1]."""
    return unit(obs[i], numbers[BOUNDS * i + LOW], numbers[BOUNDS * i + HIGH])


@inlined
def unit(x: float, low: float, high: float) -> float:
    """(x - low) / (high - low), clipped first, which keeps infinities out of the arithmetic."""
    return (min(max(x, low), high) - low) / (high - low)
