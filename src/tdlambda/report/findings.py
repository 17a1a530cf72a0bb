"""What a study says, in words: which λ was best, whether a rule that tunes λ matched it, how sure one can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tdlambda.report.overview import PRINTED_STEPS, CellView, Overview, Printed
from tdlambda.report.wording import AXES, explained, measure_name, number, settings_of
from tdlambda.studies.reproduction import PROTOCOLS, PUBLISHED_RUNS, methods_of, one_point_early, table_of, tuning_seeds
from tdlambda.studies.statistics import Comparison, choose, compare

CLOSE, NEAR = 1.25, 1.1
"""An interval within 1/CLOSE and CLOSE is narrow enough to say "matched"; one below NEAR, "nearly"."""
MANY, FEW = 10, 6
"""Pairs of runs from which on an interval is trusted, and somewhat trusted: five that agree may do so by chance."""
_PROTOCOL_NAMES = {"published": "As published", "like-for-like": "Like for like"}


@dataclass(frozen=True)
class Findings:
    """The answers to three questions, each a few words and a sentence.

    Attributes
    ----------
    best
        The best fixed λ; where none was run, the best method.
    main, rival
        The rule that is asked about, at its best cell, and the cell it is compared with; None where there is none.
    question
        What is asked about them.
    verdict
        "better", "worse", "nearly", "matched", "undecided", or "alone" where there is nothing to compare.
    which, matched, sure
        The answers: a short one and a sentence.
    headline
        All in one sentence.
    """

    best: CellView
    main: CellView | None
    rival: CellView | None
    question: str
    compared: Comparison | None
    verdict: str
    which: tuple[str, str]
    matched: tuple[str, str]
    sure: tuple[str, str]
    headline: str


def groups(view: Overview) -> dict[str, list[str]]:
    """Methods that belong together, by what to call it: the protocols of the thesis' tables, and all methods."""
    run = [name for name in view.study.methods if view.of(name)]
    found: dict[str, list[str]] = {}
    table = table_of(view.study)
    for protocol in PROTOCOLS if table else ():
        assert table is not None
        wanted = methods_of(table, protocol).values()
        some = [name for name in run if name in wanted]
        if any(kind(view, name) == "fixed" for name in some) and any(kind(view, name) == "meta" for name in some):
            found[_PROTOCOL_NAMES[protocol]] = some
    return found | {"All methods": run}


def kind(view: Overview, method: str) -> str:
    """What a method is: "fixed", "greedy", "meta", another rule that is "adaptive", or "other"."""
    declared = view.study.methods[method]
    if declared.rule is None:
        return "fixed" if "lam" in declared.over or "lam" in declared.options else "other"
    name = declared.rule.rpartition(":")[2].partition(".")[0]
    return {"Meta": "meta", "Greedy": "greedy"}.get(name, "adaptive")


def z_of(view: Overview, printed: Printed) -> tuple[CellView, float] | None:
    """The cell beside a printed one, and their difference by the standard error of both.

    None if it was not run, or what is published was read by eye.
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
    """How many of the printed cells that were run agree within three standard errors, and how many were run."""
    found = [z_of(view, printed) for printed in view.published]
    return sum(abs(pair[1]) <= 3 for pair in found if pair), sum(pair is not None for pair in found)


def findings(view: Overview, methods: Sequence[str], measure: str = "tail") -> Findings:
    """Answer for these methods, by the final error ("tail") or the area under the curve."""
    main_name = next((m for m in methods if kind(view, m) == "meta"), None)
    main_name = main_name or next((m for m in methods if kind(view, m) in ("greedy", "adaptive")), None)
    truth = view.study.methods[main_name or methods[0]].truth
    fixed = [m for m in methods if kind(view, m) == "fixed" and view.study.methods[m].truth == truth]
    best = min((view.best(m, measure=measure) for m in fixed or methods), key=lambda c: c.rank(measure))
    main = view.best(main_name, measure=measure) if main_name else None
    rival: CellView | None = best
    if main and best.method == main.method:  # it is the best itself: against the next
        others = [m for m in methods if m != main.method and view.study.methods[m].truth == truth]
        rival = min((view.best(m, measure=measure) for m in others), key=lambda c: c.rank(measure), default=None)
    which = _which(view, best, bool(fixed), measure)
    if main is None or rival is None:
        matched = "Nothing to compare", "It takes two methods, one of them a rule that tunes λ."
        sure = _sure(view, methods, None, "alone", measure)
        return Findings(best, main, None, "Is there a better one?", None, "alone", which, matched, sure, which[1])
    compared = view.compare(main, rival, measure)
    verdict = _verdict(compared)
    question = f"Did {main.method} match it?" if rival is best else f"Is {main.method} better than {rival.method}?"
    matched, headline = _matched(view, main, rival, compared, verdict, bool(fixed), measure)
    sure = _sure(view, methods, (main, rival, compared), verdict, measure)
    return Findings(best, main, rival, question, compared, verdict, which, matched, sure, headline)


def held_out(view: Overview, a: str, b: str, measure: str = "tail") -> Comparison | None:
    """Two methods, each at the cell that is best on a quarter of the seeds, compared on the others."""
    both = [view.of(a), view.of(b)]
    seeds = reduce(np.intersect1d, [cell.runs["seed"] for cells in both for cell in cells])
    if seeds.size < 8:
        return None
    errors = [np.array([c.runs[measure][np.isin(c.runs["seed"], seeds)] for c in cells]) for cells in both]
    tuning = range(tuning_seeds(seeds.size))
    return compare(choose(errors[0], tuning)[1], choose(errors[1], tuning)[1])


def _which(view: Overview, best: CellView, fixed: bool, measure: str) -> tuple[str, str]:
    found, tried = best.measured(measure), len(view.of(best.method))
    own = settings_of(best, ["alpha"])
    name = own if fixed and own else best.method
    said = settings_of(best, [axis for axis in best.settings if axis != "alpha"] if fixed and own else [])
    where = f"With {said} its" if said else "Its"
    axes = [AXES.get(axis, axis) for axis in best.settings]
    among = (
        f", the least of {tried} {'combinations' if len(axes) > 1 else 'values'} of {_and(axes)}" if tried > 1 else ""
    )
    error = f"{number(found.mean)}{_interval(found.low, found.high)}"
    what = explained(view.study, measure_name(view.study, measure))
    return name, f"{where} {what} is {error}{among}. {_runs_of(best.n)}"


def _matched(
    view: Overview, main: CellView, rival: CellView, c: Comparison, verdict: str, fixed: bool, measure: str
) -> tuple[tuple[str, str], str]:
    word = view.study.quantity
    short = {
        "better": "Better", "worse": "No", "nearly": "Nearly", "matched": "Yes", "undecided": "Cannot say yet",
    }[verdict]  # fmt: skip
    if not np.isfinite(c.ratio_low):
        why = "too few runs of both are finished" if c.n < 2 else f"the {word}s are 0"
        text = f"{main.method} and {rival.method} cannot be compared: {why}."
        return (short, text), text
    short += f": {number(c.ratio)} × its {word}"
    against = "the best fixed λ" if fixed else rival.method
    given = settings_of(rival, ["alpha"])
    interval = f"95 % interval {number(c.ratio_low)} to {number(c.ratio_high)}"
    ends = "ends at" + " a cost of" * (word == "cost") if measure == "tail" else f"has a mean {word} of"
    best = f"At its best ({settings_of(main)}), " if main.settings else ""
    text = f"{best}{main.method} {ends} {number(main.measured(measure).mean)}, {number(c.ratio)} × {against} "
    text += f"({given}; {interval})" if given else f"({interval})"
    text += f", better in {100 * c.better:.0f} % of runs."
    learners = [view.study.methods[cell.method].learner for cell in (main, rival)]
    note = "" if learners[0] == learners[1] else f" Mind that they learn with {learners[0]} and {learners[1]}."
    return (short, text + note), text


def _sure(
    view: Overview, methods: Sequence[str], pair: tuple[CellView, CellView, Comparison] | None, verdict: str,
    measure: str,
) -> tuple[str, str]:  # fmt: skip
    cells = [cell for m in methods for cell in view.of(m)]
    lost, runs = sum(cell.diverged for cell in cells), sum(cell.n for cell in cells)
    parts = []
    if pair is None:
        short = f"{max(cell.n for cell in cells)} runs" if max(cell.n for cell in cells) > 1 else "One run"
    elif not np.isfinite((c := pair[2]).ratio_low):
        short = "Too few runs" if c.n < 2 else f"{view.study.quantity.capitalize()}s of 0"
    elif verdict == "undecided":
        short = "Not sure"
        parts.append(f"The interval holds 1 and is wide: {c.n} runs are too few to tell.")
    else:
        short = "Sure" if c.n >= MANY else "Fairly sure" if c.n >= FEW else "Not sure"
        shared = "met the same starts and noise" if view.study.kind == "control" else "saw the same trajectories"
        on = f"on {c.n} pairs of runs that {shared}" + ("" if c.n >= MANY else ", which are few")
        says = {"matched": "lies close around 1", "nearly": "is close above 1"}.get(verdict, "excludes 1")
        parts.append(f"The 95 % interval {says}, {on}.")
    if pair is not None:
        fair = held_out(view, pair[0].method, pair[1].method, measure)
        if fair is not None and np.isfinite(fair.ratio_low):
            parts.append(
                f"Both cells were chosen in hindsight; chosen on a quarter of the seeds and compared on the others, it "
                f"is {number(fair.ratio)} ×{_interval(fair.ratio_low, fair.ratio_high)}."
            )
        else:
            parts.append("Both cells were chosen in hindsight, on the very runs that are compared.")
    parts.append(f"{'None' if not lost else f'{lost:,}'} of {runs:,} runs diverged.")
    if view.done < view.wanted:
        parts.append(f"Unfinished: {view.done:,} of {view.wanted:,} units are done.")
    agree, compared = agreement(view)
    if compared and view.study.steps == PRINTED_STEPS:
        parts.append(f"{agree} of {compared} printed cells agree within three standard errors.")
    elif compared:
        parts.append(f"The printed numbers are of {PRINTED_STEPS:,} steps, not {view.study.steps:,}.")
    return short, " ".join(part for part in parts if part)


def _verdict(c: Comparison | None) -> str:
    if c is None:
        return "alone"
    if c.ratio_high < 1:
        return "better"
    if c.ratio_low > 1:
        return "nearly" if c.ratio_high <= NEAR else "worse"
    return "matched" if c.ratio_high <= CLOSE and c.ratio_low >= 1 / CLOSE else "undecided"


def _runs_of(n: int) -> str:
    return f"Mean of {n} runs." if n > 1 else "One run."


def _and(names: Sequence[str]) -> str:
    return " and ".join(", ".join(names).rsplit(", ", 1))


def _interval(low: float, high: float) -> str:
    return f" (95 % interval {number(low)} to {number(high)})" if np.isfinite(low) else ""
