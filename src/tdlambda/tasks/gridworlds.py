"""Gridworlds: cliff walking, the windy gridworld, and the four bifurcation gridworlds of Daley et al. (2023)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import OneHot
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left, as (row, column)."""
_GRIDS = {
    1: "##... ##.#. ##.#G ##.#. S....",
    2: "..G.... .#.#.#. .#.#.#. .#.#.#. .#.#.#. .#.#.#. ...S...",
    3: "G..... G..... G##... .#.... ..S... ##....",
    4: "....... ....... ..###.. ...G... ..###.. ....... S......",
}


class Gridworld(TabularTask):
    """Base class of gridworlds: a rectangle of cells, actions up, right, down and left, uniform target policy.

    Attributes
    ----------
    rows
        The map, rows of letters.
    """

    rows: tuple[str, ...]
    action_names = ("↑", "→", "↓", "←")

    def __init__(self, rows: list[str], goal: int, discount: float, step: Callable[[int, int, int], tuple[int, float]]):
        self.rows = tuple(rows)
        height, width = len(rows), len(rows[0])
        n, start = height * width, "".join(rows).index("S")
        outcomes = [(s, a, *step(s // width, s % width, a), 1.0) for s in range(n) if s != goal for a in range(4)]
        mdp = FiniteMDP.from_rows(outcomes, n_states=n, discount=discount, terminal=[goal], start=start)
        super().__init__(mdp, np.full(4, 0.25), None, OneHot(n))


def _moved(row: int, column: int, move: tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """The cell that a move leads to, within the rectangle."""
    return min(max(row + move[0], 0), height - 1), min(max(column + move[1], 0), width - 1)


@register("CliffWalking-v0")
class CliffWalking(Gridworld):
    """Cliff walking (Sutton & Barto 2018, example 6.6): reward -1 per step, -100 and back to S for the cliff.

    It has 4 × 12 cells and equals Gymnasium's CliffWalking.

    Parameters
    ----------
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> cliff = CliffWalking()
    >>> float(cliff.mdp.optimal().v[36])
    -13.0
    """

    def __init__(self, discount: float = 1.0) -> None:
        rows = ["............", "............", "............", "SCCCCCCCCCCG"]

        def step(row: int, column: int, action: int) -> tuple[int, float]:
            r, c = _moved(row, column, MOVES[action], 4, 12)
            return (36, -100.0) if rows[r][c] == "C" else (12 * r + c, -1.0)

        super().__init__(rows, 47, discount, step)


@register("WindyGridworld-v0")
class WindyGridworld(Gridworld):
    """Windy gridworld (Sutton & Barto 2018, example 6.5): upward wind in the middle columns, reward -1 per step.

    Parameters
    ----------
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> windy = WindyGridworld()
    >>> float(windy.mdp.optimal().v[30])
    -15.0
    """

    WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)

    def __init__(self, discount: float = 1.0) -> None:
        rows = ["." * 10] * 3 + ["S......G.."] + ["." * 10] * 3

        def step(row: int, column: int, action: int) -> tuple[int, float]:
            up, right = MOVES[action]
            r, c = _moved(row, column, (up - self.WIND[column], right), 7, 10)
            return 10 * r + c, -1.0

        super().__init__(rows, 37, discount, step)


@register("Bifurcation-v0", {str(k): {"grid": k} for k in _GRIDS})
class Bifurcation(Gridworld):
    """Bifurcation gridworld, with forking paths (Daley et al. 2023): any action in a goal gives reward 1 and ends.

    Parameters
    ----------
    grid
        Number of the gridworld, 1 to 4.
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> fork = Bifurcation(1)
    >>> float(fork.mdp.optimal().v[20].round(4))           # γ to the power of the path's length
    0.5314
    """

    def __init__(self, grid: int = 1, discount: float = 0.9) -> None:
        rows = _GRIDS[integer(grid, "grid", 1, len(_GRIDS))].split()
        height, width = len(rows), len(rows[0])
        rows = [*rows, "E" + "#" * (width - 1)]  # one more row holds the terminal state

        def step(row: int, column: int, action: int) -> tuple[int, float]:
            if rows[row][column] == "G":
                return height * width, 1.0
            r, c = _moved(row, column, MOVES[action], height, width)
            return (width * row + column if rows[r][c] == "#" else width * r + c), 0.0

        super().__init__(rows, height * width, discount, step)
