"""Step sizes, constant, scheduled or adaptive, and initial weights."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, choice, not_negative, positive, real
from tdlambda.core import declare
from tdlambda.core.runtime import LARGEST
from tdlambda.parameters import ByParameters


class StepSize(ByParameters):
    """Base class of adaptive step sizes, one for all features or one per feature.

    A subclass lists the algorithms it is defined for, each with its declaration (`forms`).
    """

    forms: ClassVar[dict[type[declare.AlgorithmDeclaration], type[declare.AlgorithmDeclaration]]] = {}
    """Algorithm → the declaration of the algorithm with these step sizes."""
    alpha: float
    """The initial step size."""

    def declare(self, algorithm: type[declare.AlgorithmDeclaration]) -> type[declare.AlgorithmDeclaration]:
        """The declaration of an algorithm with these step sizes; TypeError if they are not defined for it."""
        if algorithm not in self.forms:
            known = ", ".join(kind.__name__ for kind in self.forms)
            raise TypeError(f"alpha: {type(self).__name__} is defined for {known}, not for {algorithm.__name__}")
        return self.forms[algorithm]

    def numbers(self) -> dict[str, float]:
        """Step sizes and parameters of the declaration, by name."""
        return {name: value for name, value in self.get_params().items() if not isinstance(value, str | bool)}


class OneOver(ByParameters):
    """α = scale / (offset + n)^power, where n counts steps, or visits of the active features (this one included).

    With one-hot features, `OneOver("visits")` is the sample average. With several active features, n is the mean of
    their counts, weighted by x².

    Parameters
    ----------
    by
        What n counts: "visits" or "steps".
    scale
        Factor, positive.
    offset, power
        Numbers ≥ 0. TD converges with a power in (½, 1].

    Examples
    --------
    >>> OneOver("steps", scale=2.0)
    OneOver(by='steps', scale=2.0)
    """

    def __init__(
        self,
        by: Literal["visits", "steps"] = "visits",
        scale: float = 1.0,
        offset: float = 0.0,
        power: float = 1.0,
    ) -> None:
        choice(by, "by", "visits", "steps")
        self.by: Literal["visits", "steps"] = by
        self.scale = positive(scale, "scale")
        self.offset, self.power = not_negative(offset, "offset"), not_negative(power, "power")

    def numbers(self) -> dict[str, float]:
        """The numbers of the schedule, as compiled code reads them."""
        return {"alpha": self.scale, "offset": self.offset, "power": self.power}


Alpha: TypeAlias = float | OneOver | StepSize
"""Type of α: a number, a schedule, or an adaptive step size."""


def initial_weights(initial: ArrayLike, size: int, dtype: str) -> Floats:
    """Validated initial weights from one number or one for each feature."""
    start = real(initial, "initial")
    most = LARGEST[dtype]
    if start.shape not in ((), (size,)) or not (abs(start) <= most).all():
        raise ValueError(f"initial must be a number within ±{most:g}, or {size} of them; got {initial!r}")
    return start
