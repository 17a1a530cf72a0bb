"""The headline of a study: which method is best, by how much, and how certain that is."""

from __future__ import annotations

from tdlambda.charts.style import interval, number
from tdlambda.lab.report.contest import FEW, MANY, Contest, Margin, Side
from tdlambda.lab.report.overview import Overview, measure_name


def headline(view: Overview, result: Contest, measure: str) -> str:
    """The headline: one sentence."""
    words, method = measure_name(view.study, measure), result.method
    if result.rival is None or result.margin is None:
        measured, few = method.cell.measured(measure), ", too few for an interval" * (method.cell.n < 2)
        error = f"{number(measured.mean)}{interval(measured.low, measured.high)}"
        return _sentence(f"{method} was run alone: its {words} is {error} in {_runs(method.cell.n)}{few}")
    rival, margin, mixed = result.rival, result.margin, result.between == "fixed and others"
    against = str(rival) if mixed else f"the next best, {rival}"
    if method.lost or rival.lost:
        return _sentence(_diverged(method, rival))
    if margin.n == 0:
        why = "no pair of runs without divergence" if margin.diverged else "no finished run in common"
        return _sentence(f"no winner yet: {method} and {against} have {why}")
    other, sure = ", the best other method," if mixed and result.among > 1 else "", _evidence(margin)
    return _sentence({
        "better": f"{method} won: it has {_of(margin, words, against)}, {sure}",
        "worse": f"{rival} won: {method}{other} has {_of(margin, words)}, {sure}",
        "nearly": f"{rival} won narrowly: {method}{other} has {_of(margin, words)}, {sure}",
        "matched": f"{method} matched {against}: it has {_of(margin, words)}, {sure}",
        "undecided": f"no winner yet: {method} has {_of(margin, words, against)}, {_doubt(margin)}",
    }[result.verdict])  # fmt: skip


def _of(margin: Margin, words: str, rival: str = "") -> str:
    """The error of one side relative to the other; `rival` names the other if the sentence has not yet.

    >>> _of(Margin(20, 0, 0.7, 0.6, 0.8, True), "final error", "the best fixed λ")
    '0.7 × the final error of the best fixed λ'
    >>> _of(Margin(20, 0, -12.0, -14.0, -10.0, False), "final cost")
    'a final cost 12 below its own'
    """
    if margin.relative:
        return f"{number(margin.value)} × " + (f"the {words} of {rival}" if rival else f"its {words}")
    side = "below" if margin.value < 0 else "above"
    return f"a {words} {number(abs(margin.value))} {side} " + (f"that of {rival}" if rival else "its own")


def _evidence(margin: Margin) -> str:
    """The interval and the number of runs, as text."""
    return f"{_interval(margin)} on {'only ' * (margin.n < MANY)}{_pairs(margin)}"


def _doubt(margin: Margin) -> str:
    """The reason why there is no winner yet."""
    if margin.n < FEW:
        return f"but {_pairs(margin)} {'is' if margin.n == 1 else 'are'} too few to tell"
    return f"but the {_interval(margin)} on {_pairs(margin)} contains {1 if margin.relative else 0}"


def _interval(margin: Margin) -> str:
    what = "" if margin.relative else " of the difference"
    return f"95 % interval{what} {number(margin.low)} to {number(margin.high)}"


def _pairs(margin: Margin) -> str:
    left = f", {margin.diverged} more left out because a run diverged" if margin.diverged else ""
    return f"{margin.n} paired run{'s' * (margin.n != 1)}{left}"


def _diverged(method: Side, rival: Side) -> str:
    """The headline if every run of a side diverged."""
    if method.lost and rival.lost:
        return f"no winner: every run of {method} and of {rival} diverged"
    winner, loser = (rival, method) if method.lost else (method, rival)
    own = f"{winner.cell.diverged} of {_runs(winner.cell.n)}" if winner.cell.diverged else "none"
    return f"{winner} won: every run of {loser} diverged, and {own} of its own"


def _runs(n: int) -> str:
    return f"{n} run{'s' * (n != 1)}"


def _sentence(words: str) -> str:
    """Add a full stop, and a capital letter unless the sentence begins with a name.

    >>> _sentence("the best fixed λ won"), _sentence("greedy won")
    ('The best fixed λ won.', 'greedy won.')
    """
    own = words.startswith(("the best", "the next", "no winner"))
    return (words[0].upper() + words[1:] if own else words) + "."
