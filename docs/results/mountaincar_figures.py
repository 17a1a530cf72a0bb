"""The figures of the MountainCar page. Costs are drawn, and the axis, turned round, says returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from tdlambda.report.figures.choice import along, best_at_each, named, painted, searched
from tdlambda.report.figures.learning import WARM_UP
from tdlambda.report.figures.style import PAGE, beside, heading, logarithmic, paper
from tdlambda.report.figures.u_curves import draw_cells, mark
from tdlambda.report.overview import Overview
from tdlambda.report.palette import shades
from tdlambda.report.wording import setting, settings_of
from tdlambda.reproduction.published import FigureReading, mountaincar_figure

METAS, RIVALS = ("META", "META_derived", "META_default"), ("fixed", "greedy")


def of_here(view: Overview, names: Sequence[str]) -> list[str]:
    """Those of the methods that were run."""
    return [name for name in names if view.of(name)]


def readings(figure: str) -> list[FigureReading]:
    """The points of one of the two published figures."""
    return [reading for reading in mountaincar_figure() if reading.figure == figure]


def as_returns(ax: Any) -> None:
    """An axis of costs as one of returns."""
    ax.invert_yaxis()
    ax.yaxis.set_major_formatter(lambda y, _: f"{-y:g}".replace("-", "\N{MINUS SIGN}"))


def over_alpha(view: Overview) -> Any:
    """The return over α; where there is a published figure, that beside it."""
    points = readings("fig_mountaincar") if view.by_eye else []
    lams = sorted({cell.settings["lam"] for cell in view.of("fixed")})
    paints: dict[Any, str] = {("fixed", lam): paint for lam, paint in zip(lams, shades(lams), strict=True)}
    paints |= {(name, None): painted(view, name) for name in of_here(view, ["greedy", *METAS])}
    with paper(PAGE, 3.6) as figure:
        axes = figure.subplots(1, 2 if points else 1, sharey=True, squeeze=False)[0]
        for k, ((name, lam), paint) in enumerate(paints.items()):
            cells = best_at_each(view, name, "tail") if lam is None else along(view, name, {"lam": lam})
            left = [cell for cell in cells if np.isfinite(cell.tail.mean)]
            label = named(view, name) if lam is None else f"λ = {lam:g}"
            draw_cells(axes[0], left, "tail", paint, label=label, linewidth=1.0 if lam is not None else 1.6)
            gone = [cell.alpha for cell in cells if cell not in left]
            row = [0.02 + 0.03 * max(k - len(lams) + 1, 0)] * len(gone)
            axes[0].plot(gone, row, "x", color=paint, transform=axes[0].get_xaxis_transform())
            read = sorted((r.alpha, -r.value, r.uncertainty) for r in points if (r.method, r.lam) == (name, lam))
            if read:
                x, y, off = np.array(read).T
                axes[1].errorbar(x, y, off, fmt="o:", color=paint, markerfacecolor="none", linewidth=0.7)
        for ax, title in zip(axes, ("here", "read by eye off\nthe published figure"), strict=False):
            ax.set(xlabel="step size α", title=title)
            logarithmic(ax.xaxis, 6)
        best, worst = axes[0].get_ylim()
        axes[0].set_ylim(best, worst + 0.15 * (worst - best))  # room at the foot
        as_returns(axes[0])
        axes[0].set_ylabel("return at the end")
        handles = axes[0].get_legend_handles_labels()[0]
        if any(cell.diverged for cell in view.cells):
            handles.append(mark("x", "some runs diverged;\nat the foot: all"))
        if any(searched(view, name) for name, lam in paints if lam is None):
            handles.append(Line2D([], [], linestyle="none", label="* at each α, in hindsight"))
        beside(figure, handles)
        heading(figure, f"{view.study.title}: mean of {len(view.seeds)} runs, 95 % interval")
    return figure


def over_time(view: Overview) -> Any:
    """The return over learning, of each method at its best α; and the published curves, which are over episodes."""
    points = readings("fig_curves_mountaincar") if view.by_eye else []
    with paper(PAGE, 3.3) as figure:
        axes = figure.subplots(1, 2 if points else 1, sharey=True, squeeze=False)[0]
        for name in of_here(view, [*RIVALS, *METAS]):
            cell, paint, steps = view.best(name), painted(view, name), view.curve_steps / 1000
            axes[0].plot(steps, cell.curve, color=paint, label=f"{name}\n{settings_of(cell)}", linewidth=1.1)
            band = [cell.curve * np.exp(sign * cell.curve_half) for sign in (-1, 1)]
            axes[0].fill_between(steps, *band, color=paint, alpha=0.15, linewidth=0)
            published = [r for r in points if r.method == name]
            if published:  # of several λ the one that ends best
                best = max(published, key=lambda r: (r.episode or 0, r.value)).lam
                x, y = zip(*((r.episode, -r.value) for r in published if r.lam == best), strict=True)
                axes[1].plot(x, y, "o:", color=paint, markerfacecolor="none", markersize=2, linewidth=0.7)
        axes[0].axvspan(0, view.study.warm_up * view.study.steps / 1000, color=WARM_UP, linewidth=0, zorder=0)
        axes[0].set(xlabel="steps / 1000", xlim=(0, view.study.steps / 1000), title="here; grey: policy frozen")
        as_returns(axes[0])
        axes[0].set_ylabel("return")
        if points:
            axes[1].set(
                xlabel="episodes", title=f"read by eye off the\npublished figure, α = {setting(points[0].alpha)}"
            )
        beside(figure, axes[0].get_legend_handles_labels()[0])
        heading(figure, f"{view.study.title}: each method at its best, in hindsight")
    return figure
