"""The findings of a study in words: the best fixed λ, whether another method is better, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdlambda.charts.style import AXES, interval, number
from tdlambda.lab.report.contest import FEW, MANY, Contest, contest, held_out
from tdlambda.lab.report.headline import headline
from tdlambda.lab.report.overview import PRINTED_STEPS, CellView, Overview, Printed, measure_name
from tdlambda.lab.reproduction.cells import PUBLISHED_RUNS, one_point_early
from tdlambda.lab.studies.statistics import Comparison


@dataclass(frozen=True)
class Answer:
    """A question with a short answer and a longer one."""

    question: str
    short: str
    text: str


@dataclass(frozen=True)
class Findings:
    """The findings of a study.

    Attributes
    ----------
    contest
        The two sides that are compared.
    headline
        One sentence: which method is best, by how much, and how certain that is.
    which, better, sure
        Which fixed λ (or method, if no λ is fixed) was best, whether another is better, how certain that is.
    """

    contest: Contest
    headline: str
    which: Answer
    better: Answer
    sure: Answer

    @property
    def best(self) -> CellView:
        """The cell that `which` is about."""
        return _reference(self.contest)


def z_of(view: Overview, printed: Printed) -> tuple[CellView, float] | None:
    """The cell that corresponds to a printed one, and their difference in standard errors.

    None if the cell was not run, or if the published value was read by eye.
    """
    cells = [
        c for c in view.of(printed.method, printed.alpha) if printed.lam is None or c.settings.get("lam") == printed.lam
    ]
    if not cells or printed.std is None:
        return None
    cell = min(cells, key=CellView.rank)
    mean, error = one_point_early(np.array([cell.curve, cell.curve_error]), view.study).mean(axis=1)  # as printed
    return cell, float((mean - printed.mean) / np.hypot(error, printed.std / np.sqrt(PUBLISHED_RUNS)))


def agreement(view: Overview) -> tuple[int, int]:
    """The number of printed cells that agree within three standard errors, and the number compared."""
    pairs = [z_of(view, printed) for printed in view.published]
    return sum(abs(pair[1]) <= 3 for pair in pairs if pair), sum(pair is not None for pair in pairs)


def findings(view: Overview, methods: Sequence[str], measure: str = "tail") -> Findings:
    """The findings for these methods, by the final error ("tail") or the area under the curve ("area")."""
    result = contest(view, methods, measure)
    which, better = _which(view, result, measure), _better(view, result, measure)
    return Findings(result, headline(view, result, measure), which, better, _sure(view, methods, result, measure))


def _reference(result: Contest) -> CellView:
    """The reference of the comparison: the best fixed λ, or the best of all if there is nothing to compare."""
    mixed = result.rival if result.between == "fixed and others" else None
    return (mixed or result.method).cell


def _which(view: Overview, result: Contest, measure: str) -> Answer:
    best, fixed = _reference(result), result.between != "others"
    measured, tried = best.measured(measure), len(view.of(best.method))
    own = best.described(["alpha"])
    name = own if fixed and own else view.named(best.method)
    said = best.described([axis for axis in best.settings if axis != "alpha"] if fixed and own else [])
    where = f"With {said} its" if said else "Its"
    axes = [AXES.get(axis, axis) for axis in best.settings]
    among = (
        f", the smallest of {tried} {'combinations' if len(axes) > 1 else 'values'} of {_and(axes)}"
        if tried > 1
        else ""
    )
    error = f"{number(measured.mean)}{interval(measured.low, measured.high)}"
    what = measure_name(view.study, measure)
    question = {"fixed": "Which λ was best?", "others": "Which method was best?"}.get(result.between)
    return Answer(question or "Which fixed λ was best?", name, f"{where} {what} is {error}{among}. {_runs_of(best.n)}")


def _better(view: Overview, result: Contest, measure: str) -> Answer:
    if result.rival is None or result.margin is None or result.compared is None:
        return Answer(
            "Is there a better one?", "Nothing to compare", "A comparison needs two methods or two values of λ."
        )
    method, rival, margin, word = result.method, result.rival, result.margin, view.study.quantity
    asked = result.between == "fixed and others"
    question = f"Is {method.name} better?" if asked else f"Is it better than {rival.name}?"
    short = {
        "better": "Yes", "worse": "No", "nearly": "Nearly", "matched": "As good", "undecided": "Cannot say yet",
    }[result.verdict]  # fmt: skip
    if margin.n == 0:
        why = "a run of each pair diverged" if margin.diverged else "they have no finished run in common"
        return Answer(question, short, f"{method.name} and {rival.name} cannot be compared: {why}.")
    ends = "ends at" + " a cost of" * (word == "cost") if measure == "tail" else f"has a mean {word} of"
    at = f"At its best ({method.settings}), " if method.settings else ""
    apart = number(abs(margin.value)) + (" below" if margin.value < 0 else " above")
    short += f": {number(margin.value)} × its {word}" if margin.relative else f": {apart}"
    text = f"{at}{method.name} {ends} {number(method.cell.measured(measure).mean)}, "
    text += f"{number(margin.value)} × {rival.name}" if margin.relative else f"{apart} {rival.name}"
    more = "; ".join(filter(None, [rival.settings, interval(margin.low, margin.high)[2:-1]]))
    text += (f" ({more})" if more else "") + f", better in {100 * result.compared.better:.0f} % of runs."
    learners = [view.study.methods[side.cell.method].learner for side in (method, rival)]
    note = "" if learners[0] == learners[1] else f" Note that their algorithms differ: {learners[0]} and {learners[1]}."
    return Answer(question, short, text + note)


def _sure(view: Overview, methods: Sequence[str], result: Contest, measure: str) -> Answer:
    cells = [cell for m in methods for cell in view.of(m)]
    lost, runs, most = sum(c.diverged for c in cells), sum(c.n for c in cells), max(c.n for c in cells)
    short, parts = f"{most} runs" if most > 1 else "One run", []
    if result.rival is not None and result.margin is not None:
        fair = held_out(result.method.cells, result.rival.cells, measure)
        short, why = _certainty(view, result, fair)
        parts.append(why)
        if fair is not None and np.isfinite(fair.ratio_low):
            parts.append(
                "Both cells were chosen in hindsight; chosen on a quarter of the seeds and compared on the others, the "
                f"ratio is {number(fair.ratio)}{interval(fair.ratio_low, fair.ratio_high)}."
            )
        else:
            parts.append("Both cells were chosen in hindsight, on the same runs that are compared.")
    parts.append(f"{'None' if not lost else f'{lost:,}'} of {runs:,} runs diverged.")
    if result.left_out:
        names = _and([view.named(name) for name in result.left_out])
        parts.append(f"Not compared, because they are measured against another truth: {names}.")
    if view.done < view.wanted:
        parts.append(f"Unfinished: {view.done:,} of {view.wanted:,} units are done.")
    agree, compared = agreement(view)
    if compared and view.study.length == PRINTED_STEPS:
        parts.append(f"{agree} of {compared} printed cells agree within three standard errors.")
    elif compared:
        parts.append(f"The printed numbers are for {PRINTED_STEPS:,} steps, not {view.study.length:,}.")
    return Answer("How certain is that?", short, " ".join(parts))


def _certainty(view: Overview, result: Contest, fair: Comparison | None) -> tuple[str, str]:
    """How certain the comparison is, and why; `fair` is the comparison of cells chosen on other seeds."""
    assert result.rival is not None
    assert result.margin is not None
    margin, even = result.margin, 1 if result.margin.relative else 0
    gone = [side.name for side in (result.method, result.rival) if side.lost]
    if gone:
        return "Sure" if len(gone) == 1 else "Not sure", f"Every run of {_and(gone)} diverged."
    if margin.n < FEW:
        return "Too few runs", f"{margin.n} pairs of runs are too few to tell."
    if result.verdict == "undecided":
        return "Not sure", f"The interval contains {even} and is wide: {margin.n} runs are too few to tell."
    shared = "met the same starts and noise" if view.study.kind == "control" else "saw the same trajectories"
    on = f"on {margin.n} pairs of runs that {shared}" + ("" if margin.n >= MANY else ", which are few")
    says = {"matched": f"lies close around {even}", "nearly": f"is close above {even}"}
    luck = result.winner is not None and fair is not None and fair.ratio_low <= 1 <= fair.ratio_high
    short = "Sure" if margin.n >= MANY and not luck else "Fairly sure"
    return short, f"The 95 % interval {says.get(result.verdict, f'excludes {even}')}, {on}."


def _runs_of(n: int) -> str:
    return f"Mean of {n} runs." if n > 1 else "One run."


def _and(names: Sequence[str]) -> str:
    return " and ".join(", ".join(names).rsplit(", ", 1))
