"""Which of a study's cells a figure shows, and under which names."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from matplotlib.lines import Line2D

from tdlambda.report.figures.style import NothingToDrawError
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.palette import colour

_LINE = 58
"""Letters."""
_SYMBOLS = {"alpha": "α", "lam": "λ", "kappa": "κ"}


def symbol(name: str) -> str:
    """A parameter as a figure writes it."""
    return _SYMBOLS.get(name, name)


def truths(view: Overview) -> list[str]:
    """What errors were measured against. Errors against different truths do not belong in one figure."""
    return list(dict.fromkeys(view.study.methods[method].truth for method in finished(view)))


def finished(view: Overview, truth: str | None = None) -> list[str]:
    """The methods that have results, against this truth or any."""
    some = {cell.method for cell in view.cells}
    found = [m for m, declared in view.study.methods.items() if m in some and truth in (None, declared.truth)]
    if not found:
        raise NothingToDrawError(f"truth: no method is measured against {truth!r}")
    return found


def chosen_truth(view: Overview, truth: str | None) -> str:
    """The truth asked for; by default that of the first method."""
    return truths(view)[0] if truth is None else truth


def is_fixed(view: Overview, method: str) -> bool:
    """Whether it is one fixed λ after another."""
    return view.kind(method) == "fixed" and "lam" in view.study.methods[method].over


def is_adaptive(view: Overview, method: str) -> bool:
    """Whether it tunes its λ itself."""
    return view.kind(method) == "tuned"


def rival(view: Overview, method: str) -> str | None:
    """The fixed λ that a method is compared with: the first that is measured against the same truth."""
    same = finished(view, view.study.methods[method].truth)
    return next((m for m in same if is_fixed(view, m)), None)


def searched(view: Overview, method: str) -> list[str]:
    """The parameters, but for α, of which the best value is taken in hindsight."""
    over = view.study.methods[method].over
    return [axis for axis in over if axis != "alpha" and len(view.study.grid[axis]) > 1]


def named(view: Overview, method: str) -> str:
    """A method's name, saying what was chosen in hindsight."""
    some = searched(view, method)
    return f"{method}, best {', '.join(map(symbol, some))}*" if some else method


def hindsight(view: Overview, methods: list[str]) -> list[Any]:
    """A line of a legend that says what the star means, where there is one."""
    starred = any(searched(view, method) for method in methods)
    return (
        [Line2D([], [], linestyle="none", label="* " + "at each α, " * bool(view.alphas) + "in hindsight")]
        if starred
        else []
    )


def painted(view: Overview, method: str) -> str:
    """A method's colour."""
    return colour(method, list(view.study.methods))


def alphas_of(view: Overview, method: str) -> list[float]:
    """The step sizes of a method, in order."""
    return sorted({cell.alpha for cell in view.of(method) if cell.alpha is not None})


def best_at_each(view: Overview, method: str, measure: str) -> list[CellView]:
    """The best cell at each α, in hindsight."""
    return [view.best(method, alpha, measure) for alpha in alphas_of(view, method)]


def along(view: Overview, method: str, settings: dict[str, Any]) -> list[CellView]:
    """The cells with these settings, α rising."""
    found = [c for c in view.of(method) if c.alpha is not None and settings.items() <= c.settings.items()]
    return sorted(found, key=lambda c: c.alpha or 0.0)


def best_alpha(view: Overview, methods: list[str], measure: str) -> float | None:
    """The α of the best cell of the first of these that varies it."""
    for method in methods:
        if alphas_of(view, method):
            return view.best(method, None, measure).alpha
    return None


def where(view: Overview, more: str = "", runs: bool = True) -> str:
    """What a figure is about: the task, how many runs, whether that is all; in lines that end before a legend."""
    study, n = view.study, len(view.seeds)
    parts = [study.task + (f" ({study.preset})" if study.preset else "")]
    parts += [f"{n} run{'s' * (n != 1)} of {study.length:,} {study.unit}"] * runs
    parts += [f"unfinished: {view.done} of {view.wanted} units"] * (view.done < view.wanted) + [more] * bool(more)
    return fill(", ".join(parts), _LINE)
