"""The argument `lam`: a number, one number for each state, a rule, or the name of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import number
from tdlambda.rules.fixed import Fixed, PerState
from tdlambda.rules.greedy import Greedy
from tdlambda.rules.lambda_mixture import LambdaMixture
from tdlambda.rules.lambda_rule import Rule
from tdlambda.rules.meta import Meta
from tdlambda.showing import hint

NAMED: dict[str, type[Rule]] = {"auto": LambdaMixture, "meta": Meta, "greedy": Greedy}
"""Rules available by name, with their default parameters."""


Lam: TypeAlias = float | Rule | Literal["auto", "meta", "greedy"] | Sequence[float] | NDArray[Any]
"""Type of `lam`: a number in [0, 1], one number for each state, a rule, or the name of a rule."""


def as_rule(lam: Lam) -> Rule:
    """The rule for a rule, the name of a rule, a number, or one number for each state.

    >>> as_rule(0.9), as_rule("auto") == LambdaMixture()
    (Fixed(lam=0.9), True)
    >>> as_rule("atuo")
    Traceback (most recent call last):
    ValueError: lam must be in [0, 1], "auto", "meta", "greedy" or a rule; got 'atuo'; did you mean 'auto'?
    """
    if isinstance(lam, Rule):
        if not lam.is_complete():
            raise TypeError(f"lam: {type(lam).__name__} defines no λ; implement at(obs), or a step that learns λ")
        return lam
    if isinstance(lam, str):
        if lam in NAMED:
            return NAMED[lam]()
        raise ValueError(_message(lam) + hint(lam, NAMED))
    if isinstance(lam, type) and issubclass(lam, Rule):
        raise TypeError(f"{_message(lam)}; did you mean {lam.__name__}()?")
    if np.ndim(lam) > 0:
        return PerState(lam)
    try:
        size = number(lam, "lam")
    except TypeError:
        raise TypeError(_message(lam)) from None
    if not 0 <= size <= 1:
        raise ValueError(_message(lam))
    return Fixed(size)


def _message(lam: Any) -> str:
    names = ", ".join(f'"{name}"' for name in NAMED)
    return f"lam must be in [0, 1], {names} or a rule; got {lam!r}"
