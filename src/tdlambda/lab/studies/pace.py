"""Speed of a study and time left, from the times at which its units were finished."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

RECENT = 40
"""Number of most recent units from which the speed is measured."""


def gaps(times: Sequence[tuple[float, str]], begun: Sequence[float]) -> list[tuple[str, float]]:
    """The time that each unit took, oldest first: since the previous unit, or since the session began.

    >>> gaps([(12.0, "a"), (15.0, "b"), (104.0, "b")], begun=[10.0, 100.0])
    [('a', 2.0), ('b', 3.0), ('b', 4.0)]
    """
    out, before = [], -math.inf
    for at, method in sorted(times):
        start = max([before, *(begin for begin in begun if begin <= at)])
        if math.isfinite(start):
            out.append((method, at - start))
        before = at
    return out


def speed(
    took: Sequence[tuple[str, float]], work: Mapping[str, int], since: float | None
) -> tuple[float, float] | None:
    """Units and lane-steps per second; lower if the current unit has already taken longer than any other.

    >>> speed([("a", 2.0), ("a", 2.0)], {"a": 1000}, since=None)
    (0.5, 500.0)
    >>> speed([("a", 2.0), ("a", 2.0)], {"a": 1000}, since=6.0)
    (0.25, 250.0)
    """
    recent = took[-RECENT:]
    total = sum(seconds for _, seconds in recent)
    if total <= 0:
        return None
    total += max(0.0, (since or 0.0) - max(seconds for _, seconds in recent))
    return len(recent) / total, sum(work[method] for method, _ in recent) / total


def left(took: Sequence[tuple[str, float]], work: Mapping[str, int], units: Mapping[str, int]) -> float | None:
    """The seconds left, from the times of finished units of each method, or else from lane-steps.

    >>> left([("a", 2.0), ("a", 4.0)], {"a": 1000, "b": 5000}, {"a": 10, "b": 1})
    45.0
    """
    if not took:
        return None
    each = sum(seconds for _, seconds in took) / max(1, sum(work[method] for method, _ in took))
    total = 0.0
    for method, n in units.items():
        own = [seconds for name, seconds in took if name == method][-RECENT:]
        total += n * (sum(own) / len(own) if own else each * work[method])
    return total
