"""The text around the figures of the page, by element id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tdlambda.lab.report.figures import DrawnFigures
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.overview import Overview
from tdlambda.lab.report.tidy_rows import many
from tdlambda.lab.studies.building import AGENTS

_MEASURED = {
    "value": "the error is the squared distance to the true values",
    "rmsve": "the RMSVE is the root of the mean squared distance to the true values, states weighted by visits",
    "rms": "the RMS error is the root of the mean squared distance to the true values, states weighted equally",
    "rmspbe": "the RMSPBE is the root of the mean squared projected Bellman error",
}


def words(made: DrawnFigures, methods: Sequence[str], measure: str) -> dict[str, str]:
    """The texts for some of a study's methods, by element id."""
    view = made.view
    study, found = view.study, findings(view, methods, measure)
    runs = max(cell.n for name in methods for cell in view.of(name))
    task = study.task + (f" ({study.preset})" if study.preset else "")
    about = [study.name, task, f"{runs} runs of {study.length:,} {study.unit}"]
    if view.done < view.wanted:
        about.append(f"unfinished: {view.done:,} of {view.wanted:,} units done")
    warm = round(study.warm_up * study.length)
    frozen = " and policies are frozen." if study.kind == "control" else "."
    lost = sum(cell.diverged for name in methods for cell in view.of(name))
    total = f"{sum(cell.n for name in methods for cell in view.of(name)):,} runs of these methods"
    some = f"{lost:,} of {total} diverged. The figure shows the share of diverged runs at each α with any:"
    return {
        "title": study.title or study.name, "subtitle": " · ".join(about), "headline": found.headline,
        **{f"{name} {part}": getattr(getattr(found, name), part)
           for name in ("which", "better", "sure") for part in ("question", "short", "text")},
        "intro": _intro(view, methods), "u-hint": _u_hint(view, methods, measure),
        "warm-up": f"During the warm-up, the first {warm:,} steps, rules keep λ at 1{frozen}" if warm else "",
        "shared": "meet the same starts and the same noise on a seed" if study.kind == "control"
        else "see the same trajectories",
        "heat-hint": f"The small number below is {_source(view)}." if view.published and measure == "tail" else "",
        "published-name": "points of the published figure" if view.by_eye else "published values",
        "even": "1" if view.positive else "0", "margin": "ratio" if view.positive else "difference",
        **_of_lambda(made), "policy-hint": _of_policy(made),
        "diverged-hint": some if lost else f"None of the {total} diverged.",
    }  # fmt: skip


def _source(view: Overview) -> str:
    return "the value read off the published figure" if view.by_eye else "the published value"


def _intro(view: Overview, methods: Sequence[str]) -> str:
    study = view.study
    valued = all(study.methods[name].learner in AGENTS for name in methods)
    acting = (
        f"In each run an agent learns a policy for {study.task} online; its cost is minus the return of its "
        f"episodes, so lower is better. α is the step size of its {'action values' if valued else 'critic'}."
    )
    predicting = (
        f"Each run learns the values of all states online in {study.task}; {_MEASURED[study.score]}, so "
        "lower is better. α is the step size."
    )
    names = [view.named(name) for name in methods if view.kind(name) == "tuned"]
    tuning = f" Methods that tune λ themselves: {'; '.join(names)}." if names else ""
    return (
        (acting if study.kind == "control" else predicting)
        + " λ is the trace decay: with λ = 0 only the last state is credited for a reward, with λ = 1 the whole past."
        + tuning
    )


def _u_hint(view: Overview, methods: Sequence[str], measure: str) -> str:
    study = view.study
    last = f"final {study.quantity} (the mean of the last {study.tail_points} of {study.points} readings)"
    after = " after the warm-up" if study.kind == "control" and study.warm_up else ""
    what = last if measure == "tail" else f"area under the learning curve (the mean of all readings{after})"
    said = (
        f"Each point is the mean over runs of the {what}; the band is its 95 % interval. “Best fixed λ” and κ are "
        "chosen in hindsight at each α. Click a point to show its α in the figures below."
    )
    if view.published and measure == "tail":
        other = "" if study.length == view.printed_steps else f" for {view.printed_steps:,} steps"
        eye = "read by eye off the published figure, which used another protocol; the bar is the reading uncertainty"
        said += f" Open markers are {eye if view.by_eye else f'the published values{other}'}."
    if any(cell.diverged for name in methods for cell in view.of(name)):
        said += " A cross marks points where some runs diverged; these runs are left out."
    return said


def _of_policy(made: DrawnFigures) -> str:
    where = made.where
    if where is None:
        return ""
    place = "at some observations" if where.axes else "at each state"
    shown = {"map": "colour shows the action" if where.axes else "the map shows the action"}
    look = shown.get(where.kind, "columns are states, rows are actions")
    return (
        f"The greedy action {place} at the end of the run: the one most runs agree on, for each method’s best cell at "
        f"this α; {look}. A stronger colour means that more runs agree. Diverged runs are left out."
    )


def _of_lambda(made: DrawnFigures) -> dict[str, Any]:
    where, study = made.where, made.view.study
    if where is None:
        return {"lambda-hint": "", "motion-hint": ""}
    shade = " A stronger colour means a λ closer to 1."
    some = where.axes or where.kind == "observations"
    at = "Final λ at some observations, mean over runs." if some else (
        "Final λ of each state, mean over runs. Terminal states have none.")  # fmt: skip
    drawn = "The line is the median over observations, the band contains 80 % of them." if many(where) else (
        "Rows are states, columns are moments in time." + shade)  # fmt: skip
    kept = f"One run of each method at its best cell (seed {study.numbers[0]}), recorded during the study."
    return {"lambda-hint": at + (shade if where.kind == "map" else ""), "motion-hint": f"{kept} {drawn}"}
