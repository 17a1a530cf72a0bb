"""Tables as pictures: errors in the thesis' colours, and where runs diverged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from tdlambda.arrays import Floats
from tdlambda.report.figures.choice import alphas_of, chosen_truth, finished, is_fixed, named, where
from tdlambda.report.figures.style import PAGE, SMALL, check_measure, paper
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.wording import explained
from tdlambda.reproduction.tables import colours

_ROW, _COLUMN = 0.2, 0.5
"""Inches of a cell."""
_LETTER = 0.08
"""Inches of a letter."""
_LOST = LinearSegmentedColormap.from_list("diverged", ["#ffffff", "#D55E00"])


def heat_table(view: Overview, measure: str = "tail", truth: str | None = None) -> Figure:
    """The table in the thesis' colours: blue for the least error, white for the median, red for the largest.

    A row for each α; a column for each fixed λ of the first such method, and one for every other method, with the best
    of its other parameters in hindsight. The best of a row is bold, and an x stands where runs diverged: the mean there
    is that of the others.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area".
    truth
        Of the methods, those measured against this; by default what the first is measured against.
    """
    words, methods = check_measure(view.study, measure), finished(view, chosen_truth(view, truth))
    columns = _columns(view, methods, measure)
    step_sizes = sorted({alpha for column in columns.values() for alpha in column if alpha is not None})
    rows: list[float | None] = [*step_sizes, *([None] * any(None in column for column in columns.values()))]
    table = [[column.get(alpha) for column in columns.values()] for alpha in rows]
    means = np.array([[np.nan if c is None else c.measured(measure).mean for c in line] for line in table])
    there = np.array([[cell is not None for cell in line] for line in table])
    picture = np.ones((*means.shape, 3))
    picture[there] = np.array(colours(means[there].tolist())) / 255
    with paper(max(PAGE, 1.2 + _COLUMN * len(columns)), 1.5 + _ROW * len(rows)) as figure:
        ax = _grid(figure, picture, [_alpha(alpha) for alpha in rows], list(columns))
        for i, line in enumerate(table):
            for j, cell in enumerate(line):
                if cell is not None:
                    best = means[i, j] == np.nanmin(means[i])
                    text = short(means[i, j]) + ("x" if cell.diverged and np.isfinite(means[i, j]) else "")
                    _write(ax, i, j, text, fontweight="bold" if best and np.isfinite(means[i, j]) else "normal")
        ax.set_ylabel("step size α" if step_sizes else "")
        note = explained(view.study, words)
        note += "; blue: the least, white: the median, red: the largest; bold: the best at an α"
        lost = any(cell is not None and cell.diverged for line in table for cell in line)
        starred = any("*" in heading for heading in columns)
        more = ["x, ∞: some, all runs diverged"] * lost + ["*: in hindsight"] * starred
        ax.set_xlabel("\n".join([where(view), note, "; ".join(more)]).strip(), loc="left", fontsize=SMALL)
    return figure


def divergence(view: Overview) -> Figure:
    """The share of runs that diverged, by method and α, over all values of the other parameters.

    Where none did, the figure says so. A method without an α has a column of its own.

    Parameters
    ----------
    view
        The study's results.
    """
    methods, runs = finished(view), sum(cell.n for cell in view.cells)
    lost = sum(cell.diverged for cell in view.cells)
    columns: list[float | None] = [*view.alphas, *([None] * any(not alphas_of(view, m) for m in methods))]
    share = np.full((len(methods), len(columns)), np.nan)
    for i, method in enumerate(methods):
        for j, alpha in enumerate(columns):
            cells = [cell for cell in view.of(method) if cell.alpha == alpha]
            if cells:
                share[i, j] = sum(c.diverged for c in cells) / sum(c.n for c in cells)
    with paper(max(PAGE, 1.2 + 0.26 * len(columns)), 1.2 + 0.24 * len(methods) if lost else 0.8) as figure:
        if lost == 0:
            ax: Any = figure.add_subplot()
            ax.set_axis_off()
            ax.text(0.5, 0.5, f"None of {runs:,} runs diverged.", ha="center", va="center", fontsize=10)
            ax.set_title(where(view))
            return figure
        picture = _LOST(np.where(np.isnan(share), 0.0, share))[:, :, :3]
        ax = _grid(figure, picture, methods, [_alpha(alpha) for alpha in columns])
        for i, j in np.argwhere(~np.isnan(share)):
            _write(ax, i, j, _percent(share[i, j]), color="#999999" if share[i, j] == 0 else "black")
        ax.set_xlabel(
            f"{where(view)}\nruns that diverged, in %, at each α: {lost:,} of {runs:,} in all",
            loc="left",
            fontsize=SMALL,
        )
    return figure


def _columns(view: Overview, methods: list[str], measure: str) -> dict[str, dict[float | None, CellView]]:
    """By its heading, the cells of each column by α."""
    out: dict[str, dict[float | None, CellView]] = {}
    first = next((method for method in methods if is_fixed(view, method)), None)
    for method in [m for m in methods if m == first] + [m for m in methods if m != first]:
        parts = {named(view, method): view.of(method)}
        if method == first:
            lams = sorted({cell.settings["lam"] for cell in view.of(method)})
            parts = {f"λ = {lam:g}": [c for c in view.of(method) if c.settings["lam"] == lam] for lam in lams}
        for heading, cells in parts.items():
            ordered = sorted(cells, key=lambda c: c.rank(measure), reverse=True)
            out[heading] = {cell.alpha: cell for cell in ordered}  # the best comes last, and stays
    return out


def _grid(figure: Figure, picture: Floats, rows: Sequence[str], columns: Sequence[str]) -> Any:
    """Coloured cells with headings above and to the left."""
    ax: Any = figure.add_subplot()
    ax.imshow(picture, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(rows)), rows)
    room = (figure.get_figwidth() - 1) / len(columns)
    slanted = max(map(len, columns)) * _LETTER > room
    how: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(range(len(columns)), columns, **how)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.set_xticks(np.arange(-0.5, len(columns)), minor=True)
    ax.set_yticks(np.arange(-0.5, len(rows)), minor=True)
    ax.tick_params(which="minor", length=0)
    ax.grid(visible=False)
    ax.grid(which="minor", color="white", linewidth=1)
    ax.spines[:].set_visible(False)
    return ax


def _write(ax: Any, i: int, j: int, text: str, **how: Any) -> None:
    ax.text(j, i, text, ha="center", va="center", fontsize=SMALL, **how)


def _alpha(alpha: float | None) -> str:
    return "no α" if alpha is None else short(alpha, 6)


def short(x: float, digits: int = 1) -> str:
    """A number in few letters.

    >>> short(0.000123), short(0.00015, 6), short(0.002, 6), short(116.4), short(float("inf"))
    ('1.2e-4', '1.5e-4', '2e-3', '116', '∞')
    """
    if not np.isfinite(x):
        return "∞"
    if 1 <= x < 1000:
        return f"{x:.3g}"
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return f"{mantissa if digits == 1 else mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def _percent(share: float) -> str:
    percent = 100 * share
    return "0" if share == 0 else "<1" if percent < 1 else ">99" if 99 < percent < 100 else f"{percent:.0f}"
