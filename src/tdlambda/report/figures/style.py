"""How the figures look: sizes for a paper, letters that can be read in print, axes, legends beside the data."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from tdlambda.report.drawing import STYLE
from tdlambda.report.overview import MEASURES
from tdlambda.report.wording import measure_name
from tdlambda.studies.study import Study

PAGE = 6.9
"""Inches: as wide as the text of a paper of two columns."""
COLUMN = 3.4
"""Inches: as wide as one of them."""
SMALL = 8.0
"""Points: no letter is smaller."""
FORMATS = ("pdf", "svg", "png")
PAPER: Any = STYLE | {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "legend.handlelength": 1.8,
    "legend.labelspacing": 0.35,
    "figure.titlesize": 10,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,  # letters as letters: publishers refuse Matplotlib's own kind
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
}
_SETTINGS = threading.RLock()


class NothingToDrawError(ValueError):
    """The study has nothing that this figure shows."""


@contextmanager
def paper(width: float, height: float) -> Iterator[Figure]:
    """A new figure in the paper's style. Matplotlib's settings belong to the whole process: one thread at a time."""
    with _SETTINGS, mpl.rc_context(PAPER):
        yield Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; the same results, the same file."""
    undated: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
    with _SETTINGS, mpl.rc_context(PAPER):
        figure.savefig(path, dpi=300, metadata=undated.get(path.suffix.lower()[1:]))
    return path


def check_measure(study: Study, measure: str) -> str:
    """The measure in words; refused if it is none."""
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}; got {measure!r}")
    return measure_name(study, measure)


def logarithmic(axis: Any, most: int = 9) -> None:
    """Ticks at so many powers of ten at most, small ones between if all are named; where few are in sight, other ticks.

    To be called when all is drawn. What has nothing positive to show stays as it is.
    """
    if not _by_logarithm(axis):
        return
    low, high = sorted(axis.get_view_interval())
    if high < 10 * low:  # hardly a power of ten in sight
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda x, _: plain(x)))
        axis.set_minor_locator(NullLocator())
        return
    few = high < 30 * low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=most))
    axis.set_major_formatter(FuncFormatter(lambda x, _: plain(x)) if few else LogFormatterSciNotation())
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=99) if most > 6 else NullLocator())
    axis.set_minor_formatter(NullFormatter())


def plain(x: float) -> str:
    """A number as it is if it is short, else with a power of ten.

    >>> plain(0.25), plain(5), plain(1e-4), plain(2.5e-5)
    ('0.25', '5', '$10^{-4}$', '$2.5\\\\times10^{-5}$')
    """
    if x == 0 or 1e-2 <= abs(x) < 1e4:
        return f"{x:.4g}"
    mantissa, _, exponent = f"{x:.3e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    times = "" if mantissa == "1" else rf"{mantissa}\times"
    return f"${times}10^{{{int(exponent)}}}$"


def ratios(axis: Any) -> None:
    """A logarithmic axis of ratios, in plain numbers as long as they are short."""
    if not _by_logarithm(axis):
        return
    low, high = sorted(axis.get_view_interval())
    if high > 5000 or low < 1e-3 or high < 10 * low:
        logarithmic(axis)
        return
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=99))
    axis.set_minor_formatter(NullFormatter())


def _by_logarithm(axis: Any) -> bool:
    """Make an axis, and those that share it, logarithmic; unless nothing there is positive."""
    name = axis.axis_name
    group = getattr(axis.axes, f"get_shared_{name}_axes")().get_siblings(axis.axes)
    if not any(np.isfinite(getattr(ax, f"{name}axis").get_minpos()) for ax in group):
        return False
    getattr(axis.axes, f"set_{name}scale")("log")
    return True


def shape(n: int) -> tuple[int, int]:
    """Rows and columns for so many panels.

    >>> [shape(n) for n in (1, 3, 4, 5, 7)]
    [(1, 1), (1, 3), (2, 2), (2, 3), (2, 4)]
    """
    columns = n if n < 4 else 2 if n == 4 else 3 if n < 7 else 4
    return -(-n // columns), columns


def panels(figure: Figure, n: int, x: str = "", y: str = "") -> list[Any]:
    """So many axes with the same limits; names and numbers at the left and under the lowest of each column."""
    rows, columns = shape(n)
    axes: list[Any] = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for ax in axes[n:]:
        ax.remove()
    for ax in axes[max(0, n - columns) : n]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(x)
    for ax in axes[:n:columns]:
        ax.set_ylabel(y)
    return axes[:n]


def heading(figure: Figure, text: str) -> None:
    """What a figure of several panels is about, at its upper left."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=9)


def cross(ax: Any, x: Any, y: Any, paint: str, place: int = 0) -> None:
    """Mark where runs diverged: at the mean of the others or, if none is left, at the upper edge in one of its rows."""
    how: dict[str, Any] = {"color": paint, "marker": "x", "markersize": 6, "linestyle": "none", "label": "_diverged"}
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    left = np.isfinite(y)
    if left.any():  # an empty line would still want room
        ax.plot(x[left], y[left], zorder=6, **how)
    if not left.all():
        height = np.full((~left).sum(), 0.98 - 0.05 * place)
        ax.plot(x[~left], height, transform=ax.get_xaxis_transform(), **how)


def beside(figure: Figure, handles: list[Any], title: str | None = None) -> None:
    """A legend to the right of all axes."""
    legend = figure.legend(handles=handles, loc="outside right upper", title=title, alignment="left")
    legend.get_title().set_fontweight("bold")


def below(figure: Figure, handles: list[Any], columns: int) -> None:
    """A legend under all axes."""
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, min(columns, len(handles))))
