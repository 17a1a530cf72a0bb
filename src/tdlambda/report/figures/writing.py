"""All figures of a study, as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from tdlambda.report.figures.choice import finished, searched, truths
from tdlambda.report.figures.comparing import comparisons
from tdlambda.report.figures.heat import divergence, heat_table
from tdlambda.report.figures.lambdas import lambda_motion, lambda_states
from tdlambda.report.figures.learning import learning_curves
from tdlambda.report.figures.sensitivity import alpha_sensitivity, kappa_sensitivity
from tdlambda.report.figures.style import FORMATS, NothingToDrawError, save
from tdlambda.report.figures.u_curves import u_curves
from tdlambda.report.overview import MEASURES, Overview

_BY_TRUTH: dict[str, Callable[[Overview, str, str], Figure]] = {
    "u-curves": u_curves,
    "learning-curves": learning_curves,
    "heat-table": heat_table,
    "comparisons": comparisons,
}


def write_figures(view: Overview, directory: Path, format: str) -> list[Path]:  # noqa: A002, Matplotlib's own word
    """Draw all that there is to draw of a study, by both measures, and write a file for each.

    Parameters
    ----------
    view
        The study's results, finished or not.
    directory
        Where; it is made if need be, and files of the same name are overwritten.
    format
        "pdf", "svg" or "png".

    Returns
    -------
    The files: `u-curves-tail.pdf` and so on. Where methods are measured against different truths, those figures that
    compare errors come once for each: `u-curves-thesis-tail.pdf`.
    """
    suffix = str(format).lower()
    if suffix not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in _wanted(view):
        try:
            figure = draw()
        except NothingToDrawError:
            continue
        paths.append(save(figure, directory / f"{name}.{suffix}"))
    return paths


def _wanted(view: Overview) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Every figure by its name."""
    against = truths(view)
    for name, draw in _BY_TRUTH.items():
        for truth in against:
            for measure in MEASURES:
                part = f"{name}-{truth}" if len(against) > 1 else name
                yield f"{part}-{measure}", partial(draw, view, measure, truth)
    others = [axis for method in finished(view) for axis in searched(view, method) if axis != "lam"]
    for measure in MEASURES:
        for axis in dict.fromkeys(others):
            yield f"{axis}-sensitivity-{measure}", partial(kappa_sensitivity, view, measure, axis)
        yield f"alpha-sensitivity-{measure}", partial(alpha_sensitivity, view, measure)
        yield f"lambda-states-{measure}", partial(lambda_states, view, measure)
    yield "lambda-motion", partial(lambda_motion, view)
    yield "divergence", partial(divergence, view)
