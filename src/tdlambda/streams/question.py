"""Questions: general value functions (GVFs) on a stream of rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tdlambda.arrays import Floats, Ints, choice, fraction, integer, not_negative, number
from tdlambda.showing import says_arguments
from tdlambda.streams.batch import LARGEST, Batch, Name

Source: TypeAlias = str | float | Callable[..., float]
"""A column name, a constant, or a function of a row."""


class Asked(NamedTuple):
    """A question's reward, γ and ρ at some transitions; NaN where a value is missing."""

    reward: Floats
    gamma: Floats
    rho: Floats
    behavior: Floats | None


@says_arguments
@dataclass(frozen=True)
class Question:
    """A general value function: which signal to predict, over which horizon, under which policy.

    The answer at row t is the expected discounted sum of the cumulants that follow (Sutton et al. 2011, "Horde"):

        v = E[ c_{t+1} + γ_{t+1} ( c_{t+2} + γ_{t+2} ( … )) ]

    Parameters
    ----------
    cumulant
        c: a column name, a column index if rows are arrays, or a function of a row and the next row.
    gamma
        γ: a number in [0, 1], a column, or a function of a row. γ_{t+1} is read at row t + 1.
    horizon
        Instead of γ: the horizon in steps, at least 1; γ = 1 - 1/horizon.
    rho
        Importance-sampling ratio π(a|s)/b(a|s) ≥ 0 of the action taken at a row: a number, a column, or a function of
        the row.
    target, behavior
        Instead of ρ: the probabilities π(a|s) in [0, 1] and b(a|s) in (0, 1] of that action, each a number, a column,
        or a function of the row.
    terminal
        Terminal pseudo-reward z, weighted by 1 - γ on entering a row: a number, a column, or a function of the row.
    average
        Predict Σ (1 - γ) c, a mean over the horizon in the unit of c, instead of the sum.
    next
        Instead of γ: a window of time after each row, such as "8h", "30 min", "2 days" or a timedelta; this needs a
        column of times. Unlike a discount, a window ends: at horizon h, 37 % of the weight lies beyond h steps.
    steps
        Instead of γ: a window of this many rows, at least 1.
    of
        What is predicted over a window: "sum", "mean" or "max".
    exceeds
        Instead: the probability that c exceeds this number at least once in the window.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.Question("flow", horizon=24)
    Question('flow', horizon=24)
    >>> td.Question("flow", gamma=0.9, average=True)
    Question('flow', gamma=0.9, average=True)
    >>> td.Question("flow", next="8h", of="max")
    Question('flow', next='8h', of='max')
    >>> td.Question(lambda row, after: after["flow"] - row["flow"], gamma=0.9).cumulant is None
    False
    """

    cumulant: Name | Callable[[Any, Any], float]
    gamma: Source | None = None
    horizon: float | None = None
    rho: Source | None = None
    target: Source | None = None
    behavior: Source | None = None
    terminal: Source | None = None
    average: bool = False
    next: str | timedelta | None = None
    steps: int | None = None
    of: str = "sum"
    exceeds: float | None = None

    def __post_init__(self) -> None:
        """Validate the arguments."""
        if isinstance(self.cumulant, bool) or not (isinstance(self.cumulant, str | int) or callable(self.cumulant)):
            raise TypeError(f"cumulant must be a column or a function of a row and the next row; got {self.cumulant!r}")
        given = {name: getattr(self, name) for name in ("gamma", "horizon", "next", "steps")}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none of them"
            raise ValueError(f"give either gamma or horizon, or a window: next or steps; got {got}")
        self._check_window()
        if self.horizon is not None and not (1 <= number(self.horizon, "horizon") < np.inf):
            raise ValueError(f"horizon must be at least 1 step and finite; got {self.horizon}")
        if is_number(self.gamma):
            fraction(self.gamma, "gamma")
        if (self.target is None) != (self.behavior is None):
            raise ValueError("target and behavior must be given together, because ρ = target / behavior")
        if self.rho is not None and self.target is not None:
            raise ValueError("give either rho, or target and behavior; got all of them")
        if is_number(self.rho):
            not_negative(self.rho, "rho")
        if is_number(self.target):
            fraction(self.target, "target")
        if is_number(self.behavior):
            fraction(self.behavior, "behavior", zero=False)
        if is_number(self.terminal):
            number(self.terminal, "terminal")

    def _check_window(self) -> None:
        choice(self.of, "of", "sum", "mean", "max")
        if self.next is not None:
            duration(self.next)
        if self.steps is not None:
            integer(self.steps, "steps", 1)
        if self.exceeds is not None:
            number(self.exceeds, "exceeds")
        if not self.window:
            if self.of != "sum" or self.exceeds is not None:
                raise ValueError("of and exceeds need a window: give next or steps instead of gamma or horizon")
            return
        for name in ("rho", "target", "behavior", "terminal"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} cannot be given with a window: it is on-policy; use gamma or horizon")
        if self.average or (self.exceeds is not None and self.of != "sum"):
            wrong = "average" if self.average else f"of={self.of!r}"
            raise ValueError(f'{wrong} cannot be given here; use of="mean", of="max" or exceeds=')

    @property
    def window(self) -> bool:
        """Whether the question is about a window, not a discounted sum."""
        return self.next is not None or self.steps is not None

    @property
    def discount(self) -> Source:
        """γ as a number, a column or a function; 0 for a window."""
        if self.window:
            return 0.0
        return 1 - 1 / self.horizon if self.horizon is not None else self.gamma  # type: ignore[return-value]

    @property
    def on_policy(self) -> bool:
        """Whether ρ is 1 everywhere."""
        return self.target is None and (self.rho is None or (is_number(self.rho) and self.rho == 1))

    def get_params(self) -> dict[str, Any]:
        """The arguments that differ from their defaults."""
        given = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {name: value for name, (value, default) in given.items() if name == "cumulant" or value != default}

    def __repr__(self) -> str:
        """The call that builds this question."""
        cumulant, *rest = self.get_params().items()
        return f"Question({', '.join([repr(cumulant[1]), *(f'{name}={value!r}' for name, value in rest)])})"

    def ask(self, name: str, rows: Batch, at: Ints, after: Ints) -> Asked:
        """Reward, γ and ρ of the transitions from the rows `at` to the rows `after`."""
        read = lambda what, source, where: _read(name, what, source, rows, where)  # noqa: E731
        if callable(self.cumulant):
            before = dict(zip(after.tolist(), at.tolist(), strict=True))
            pairs = lambda i: self.cumulant(rows.row(before[i]), rows.row(i))  # noqa: E731
            c = _called(name, "cumulant", pairs, rows, after)
        else:
            c = rows.numbers(self.cumulant, f"question {name!r}: cumulant")[after]
        gamma = _within(name, "gamma", read("gamma", self.discount, after), rows, after, 1.0)
        behavior = None
        if self.target is not None:
            behavior = _within(name, "behavior", read("behavior", self.behavior, at), rows, at, 1.0)
            pi = _within(name, "target", read("target", self.target, at), rows, at, 1.0)
            if (behavior == 0).any():
                row = rows.first + int(at[np.argmax(behavior == 0)])
                raise ValueError(f"question {name!r}: behavior must be positive; got 0 (row {row})")
            rho = pi / behavior
        else:
            rho = _within(name, "rho", read("rho", 1.0 if self.rho is None else self.rho, at), rows, at, np.inf)
        reward = (1 - gamma) * c if self.average else c
        if self.terminal is not None:
            reward = reward + (1 - gamma) * read("terminal", self.terminal, after)
        large = np.abs(reward) >= LARGEST
        if large.any():
            k = int(np.argmax(large))
            raise ValueError(
                f"question {name!r}: the absolute value of the cumulant must be finite and below {LARGEST:g}; "
                f"got {reward[k]} (row {rows.first + int(after[k])})"
            )
        return Asked(reward, gamma, rho, behavior)


_UNITS = {
    "s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "d": 86400.0,
    "day": 86400.0, "w": 604800.0, "week": 604800.0,
}  # fmt: skip
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)?\s*([a-z]+)")


def duration(given: str | timedelta) -> float:
    """A time in seconds, from a timedelta or words such as "8h", "30 min" or "day".

    >>> duration("8h"), duration("30 min"), duration("day")
    (28800.0, 1800.0, 86400.0)
    """
    if isinstance(given, timedelta):
        found = given.total_seconds()
    else:
        match = _DURATION.fullmatch(given.strip().lower()) if isinstance(given, str) else None
        unit = None if match is None else _UNITS.get(match[2], _UNITS.get(match[2].removesuffix("s")))
        if match is None or unit is None:
            raise ValueError(f'next must be a time such as "8h", "30 min" or "2 days"; got {given!r}')
        found = float(match[1] or 1.0) * unit
    if not 0 < found < 1e10:
        raise ValueError(f'next must be a positive time such as "8h"; got {given!r}')
    return found


def is_number(source: Any) -> bool:
    """Whether a source is one number for all rows."""
    return isinstance(source, float | int | np.number)


def _read(name: str, what: str, source: Any, rows: Batch, at: Ints) -> Floats:
    """The values of a source at some rows."""
    if is_number(source):
        return np.full(at.size, float(source))
    if callable(source):
        return _called(name, what, lambda i: source(rows.row(i)), rows, at)
    return rows.numbers(source, f"question {name!r}: {what}")[at]


def _called(name: str, what: str, function: Callable[[int], Any], rows: Batch, at: Ints) -> Floats:
    """The values of a function at some rows; None means missing."""
    found = np.empty(at.size)
    for k, i in enumerate(at):
        try:
            value = function(int(i))
            found[k] = np.nan if value is None else number(value, what)
        except Exception as error:
            raise ValueError(
                f"question {name!r}: its {what} failed at row {rows.first + int(i)} with "
                f"{type(error).__name__}: {error}; nothing was learned from these rows"
            ) from error
    return found


def _within(name: str, what: str, values: Floats, rows: Batch, at: Ints, high: float) -> Floats:
    """The values, if they are in [0, high]; NaN means missing."""
    bad = (values < 0) | (values > high) | np.isinf(values)
    if bad.any():
        k = int(np.argmax(bad))
        within = "in [0, 1]" if high == 1 else "finite and not negative"
        raise ValueError(f"question {name!r}: {what} must be {within}; got {values[k]} (row {rows.first + int(at[k])})")
    return values
