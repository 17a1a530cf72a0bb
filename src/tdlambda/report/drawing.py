"""The figure of a `History`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats, Ints

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("plot needs Matplotlib, which is not installed: pip install matplotlib") from error

if TYPE_CHECKING:
    from tdlambda.report.history import History

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito's palette, which colour-blind readers can tell apart."""
STYLE: Any = {
    "svg.hashsalt": "tdlambda",
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "white",
}
_MOMENTS = 5


def draw(history: History, live: Ints, chosen: Ints, path: str | Path | None) -> Figure:
    """λ(s) and V(s) by state at a few moments and the error; below, each estimate over time for the chosen states."""
    names = history.names
    with mpl.rc_context(STYLE):
        fig = Figure(figsize=(11, 6.4 if names else 3.4), layout="constrained")
        axes = fig.subplots(2 if names else 1, 3, squeeze=False)
        axes[0, 0].set_ylim(-0.04, 1.04)
        _by_state(axes[0, 0], history, live, history.lambdas, "λ(s), after some steps")
        axes[0, 1].plot(live, history.truth[live], "o", color="black", markersize=4, label="v", zorder=5)
        _by_state(axes[0, 1], history, live, history.values, "V(s), and v(s) in black")
        later = history.steps > 0
        axes[0, 2].plot(history.steps[later], history.error[later], color=COLOURS[0], label="error")
        axes[0, 2].set(title="value error, Σ d (V - v)²", xscale="log", yscale="log", xlabel="steps")
        for k, name in enumerate(names):
            _over_time(axes[1, k], history, chosen, k, name)
        for ax in axes[1, len(names) :] if names else ():
            ax.remove()
        if path is not None:
            svg = Path(path).suffix.lower() == ".svg"  # the same run, the same file
            fig.savefig(path, dpi=130, metadata={"Date": None, "Creator": None} if svg else None)
    return fig


def _by_state(ax: Any, history: History, live: Ints, what: Floats, title: str) -> None:
    """A line over the states for each of a few moments, the later the darker, each named at its end."""
    when = np.unique(np.linspace(0, len(history.steps) - 1, _MOMENTS).round().astype(int))
    colours = [mpl.colormaps["viridis"](shade) for shade in np.linspace(0.85, 0.1, when.size)]
    names = [f"after {history.steps[k]:,}".replace(",", " ") for k in when]
    for colour, name, k in zip(colours, names, when, strict=True):
        ax.plot(live, what[k, live], "-o", color=colour, markersize=3, label=name)
    ax.set(title=title, xlabel="state")
    ax.xaxis.get_major_locator().set_params(integer=True)
    _name_ends(ax, what[when, live[-1]], names, colours)


def _over_time(ax: Any, history: History, chosen: Ints, k: int, name: str) -> None:
    """One estimate of a few states, and dashed what it should be; each state named at the end of its line."""
    later = history.steps > 0
    steps, colours = history.steps[later], [COLOURS[j % len(COLOURS)] for j in range(chosen.size)]
    for colour, s in zip(colours, chosen, strict=True):
        ax.plot(steps, history.estimates[later, k, s], color=colour, label=f"state {s}")
        ax.plot(steps, history.exact[later, k, s], color=colour, linestyle="--", linewidth=1, label=f"state {s}, exact")
    name = name.replace("G^λ", r"$G^\lambda$")
    ax.set(title=f"{name}: learnt, and exact (dashed)", xscale="log", xlabel="steps")
    _name_ends(ax, history.estimates[-1, k, chosen], [f"s = {s}" for s in chosen], colours)


def _name_ends(ax: Any, ends: Floats, names: list[str], colours: list[Any]) -> None:
    """Write each line's name beside its end, to the right of the axes; last, for the axes stay as they are then."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high)
    heights = apart(np.sort(ends), low, high, 0.055 * (high - low))
    for j, height in zip(np.argsort(ends, kind="stable"), heights, strict=True):
        at = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8.5, "annotation_clip": False}
        ax.annotate(names[j], (1.01, height), color=colours[j], **at)


def apart(heights: Floats, low: float, high: float, gap: float) -> Floats:
    """Heights, in rising order, moved so that labels there do not lie on one another nor leave [low, high].

    >>> apart(np.array([0.0, 0.0, 0.9]), 0.0, 1.0, 0.2)
    array([0. , 0.2, 0.9])
    """
    out = np.clip(heights, low, high)
    for j in range(1, out.size):
        out[j] = max(out[j], out[j - 1] + gap)
    for j in range(out.size - 1, -1, -1):
        out[j] = min(out[j], high if j == out.size - 1 else out[j + 1] - gap)
    return out
