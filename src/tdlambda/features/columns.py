"""Features of rows of raw numbers, composed of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tdlambda.arrays import integer, positive
from tdlambda.features.terms import Name, Number, Term, of_plain, plain
from tdlambda.showing import visible


@dataclass(frozen=True, init=False)
class Columns:
    """Features of a row of raw numbers, composed of terms; `td.Horde` keeps the history that they need.

    Values, lags and differences are standardised: a running mean is subtracted, and the result is divided by a running
    deviation. Both forget old readings and are robust to outliers. `td.AutoTD` standardises vectors of readings itself,
    exactly, so it receives the raw numbers.

    Parameters
    ----------
    terms
        Names of columns, for their values, or terms of `td.features`: `Lag`, `Difference`, `Mean`, `Season`, `Cycle`,
        `Weekdays`, `Category`, `Tiles`. Without terms, `td.Horde` chooses them from the first rows.
    constant
        Whether to add a feature that is always 1.
    window
        Number of readings, at least 2, over which running means and deviations are averaged.
    nested
        Numbers of leading features, from 1 to `size`, that form smaller sets. `td.AutoTD` in a Horde mixes experts of
        each set with those of all features: few features learn early, many are better later.

    Examples
    --------
    >>> from tdlambda.features import Columns, Cycle, Lag
    >>> print(Columns("flow", Lag("flow", 1, 24), Cycle("time", "day")))
    term                           features
    value of flow                         1
    lags of flow: 1, 24                   2
    cycle of time: day                    2
    constant                              1
    together                              6
    """

    terms: tuple[Term, ...]
    constant: bool = True
    window: float = 2000.0
    nested: tuple[int, ...] = ()

    def __init__(
        self, *terms: Name | Term, constant: bool = True, window: float = 2000.0, nested: Sequence[int] = ()
    ) -> None:
        made = tuple(term if isinstance(term, Term) else Number(term) for term in terms)
        for term in terms:
            if isinstance(term, bool) or not isinstance(term, str | int | Term):
                raise TypeError(f'a term must be a column or a term such as td.features.Lag("flow", 1); got {term!r}')
        if not positive(window, "window") >= 2:
            raise ValueError(f"window must be at least 2 readings; got {window}")
        object.__setattr__(self, "terms", made)
        object.__setattr__(self, "constant", bool(constant))
        object.__setattr__(self, "window", float(window))
        object.__setattr__(self, "nested", tuple(integer(size, "nested", 1, self.size) for size in nested))

    @property
    def size(self) -> int:
        """Number of features."""
        return sum(term.size for term in self.terms) + self.constant

    def __repr__(self) -> str:
        """The call that builds an equal object."""
        options = [f"constant={self.constant}"] * (not self.constant)
        options += [f"window={self.window:g}"] * (self.window != 2000)
        options += [f"nested={self.nested}"] * bool(self.nested)
        return f"Columns({', '.join([*map(repr, self.terms), *options])})"

    def __str__(self) -> str:
        """A table of the terms."""
        lines = [("term", "features")]
        lines += [(str(term), str(term.size)) for term in self.terms]
        lines += [("constant", "1")] * self.constant + [("together", str(self.size))]
        lines += [("sets of leading features", ", ".join(map(str, self.nested)))] * bool(self.nested)
        width = max(30, *(len(text) for text, _ in lines))
        return visible("\n".join(f"{text:{width}} {size:>8}" for text, size in lines))

    def get_params(self) -> dict[str, Any]:
        """The arguments as plain data, from which `of_params` rebuilds the object."""
        return {
            "terms": [plain(term) for term in self.terms],
            "constant": self.constant,
            "window": self.window,
            "nested": list(self.nested),
        }

    @classmethod
    def of_params(cls, params: dict[str, Any]) -> Columns:
        """Build the object from the result of `get_params`."""
        return cls(
            *map(of_plain, params["terms"]),
            constant=params["constant"],
            window=params["window"],
            nested=params["nested"],
        )
