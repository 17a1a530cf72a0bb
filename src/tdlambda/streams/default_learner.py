"""The learner of a question when none is chosen: AutoTD on nested features, beside simple predictors."""

from __future__ import annotations

from typing import Any

from tdlambda.algorithms import TD
from tdlambda.auto import AutoTD
from tdlambda.auto.families.networks import ETA
from tdlambda.features import Columns, Cosines, Dense, Encoder, Leading, Network
from tdlambda.features.terms import Mean, Number, Season, Term
from tdlambda.learners.learner import Learner
from tdlambda.steps import IntentionalRMS
from tdlambda.streams.asking import Factory
from tdlambda.streams.front import Front
from tdlambda.streams.question import Question, is_number
from tdlambda.streams.residuals import Scales
from tdlambda.streams.stacking import Stacking

LAM = 0.8
"""λ on a network."""
COMPARED = 100
"""Largest number of features that neighbours compare."""


def default_learner(front: Front, question: Question, length: int, fleet: bool) -> Factory:
    """AutoTD with an expert for each nested set of features, and simple predictors if answers are known on-policy.

    On a network, TD(λ) on it.

    `length` is that of a window in rows. In a `fleet`, several streams share the learner.
    """
    terms = front.terms
    if isinstance(front.given, Network):
        return lambda network: TD(network, IntentionalRMS(ETA), LAM)

    def make(encoder: Encoder) -> Learner:
        auto = _nested(front.features, encoder)
        simple = isinstance(question.cumulant, str | int) and is_number(question.discount) and question.on_policy
        if not (simple and front.as_is and type(encoder) is Dense) or question.terminal is not None:
            return auto
        compared = min(COMPARED, sum(t.size for t in terms if not isinstance(t, Cosines)))
        scales, more = Scales.of([question], [length]), dict[str, Any]()
        horizon, factor, steps, gamma = 1.0, 1.0, int(scales.steps[0]), float(question.discount)  # type: ignore[arg-type]
        if question.window:
            of = "max" if question.exceeds is not None else question.of
            steps, more = length, {"of": of, "exceeds": question.exceeds}
            horizon = factor = float(length) if of == "sum" else 1.0
        elif not 0 < gamma < 1:
            return auto
        else:  # the rewards of an average are scaled, the readings are not
            horizon = 1 / (1 - gamma)
            factor = 1.0 if question.average else horizon
        known = naive(terms, question.cumulant, gamma, length) if question.exceeds is None else []
        return Stacking(
            auto, steps=steps, stride=int(scales.stride[0]), horizon=horizon, compared=compared,
            readings=[[name, k, factor] for name, k in known], several=fleet, **more,
        )  # fmt: skip

    return make


def naive(terms: tuple[Term, ...], column: Any, gamma: float, length: int) -> list[tuple[str, int]]:
    """Names and indices of the features that are themselves predictions of the mean of a column.

    The mean is discounted, or that of a window of `length` rows; 0 for none.
    """
    found, at = [], 0
    for term in terms:
        names: list[str] = getattr(term, "names", [])
        if isinstance(term, Number) and term.column == column:
            found.append(("last value", at))
        elif isinstance(term, Mean) and term.column == column:
            found += [(name, at + k) for k, name in enumerate(names)]
        elif (
            isinstance(term, Season)
            and term.column == column
            and (term.steps == length if length else term.gamma == gamma and not term.steps)
        ):
            found += [(name, at + k) for k, name in enumerate(names) if k != 1]  # 1 is a single value
        at += term.size
    return found


def _nested(features: Columns | Encoder, encoder: Encoder) -> AutoTD:
    if type(encoder) is not Dense:
        return AutoTD(encoder)
    sizes = features.nested if isinstance(features, Columns) else ()
    some = [Leading(encoder.size, size) for size in sizes if size < encoder.size]
    return AutoTD(encoder, experts=[AutoTD(leading, random_features=0) for leading in some])
