"""Environments that compiled code can act in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tdlambda.arrays import Floats


@dataclass(frozen=True)
class World:
    """The dynamics of a task as two plain functions of numbers; a task that offers `world()` runs in `td.control.run`.

    Both functions must be such that Numba can compile them, and their source is copied into generated code.

    Attributes
    ----------
    begin
        ``begin(numbers, state, u)`` puts the state at the start of an episode, drawn by one uniform number.
    move
        ``move(numbers, state, action, u, w)`` makes one step, drawn by two uniform numbers: the state becomes the next
        one. It returns the reward, γ' and whether the episode has ended.
    numbers
        Constants of the dynamics.
    size
        Length of the state, which is the observation too.
    actions
        Number of actions.
    limit
        Steps after which an episode is truncated; 0 for none.
    """

    begin: Callable[[Floats, Floats, float], None]
    move: Callable[[Floats, Floats, int, float, float], Any]
    numbers: Floats
    size: int
    actions: int
    limit: int
