# mypy: disable-error-code="no-untyped-def"
"""`td.check_algorithm` and `td.check_rule`: what is right passes, and each usual mistake is told by its name."""

from typing import Any

import pytest
from pairing import cases

import tdlambda as td


class Mine(td.Algorithm):
    """TD(λ), to be broken."""

    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + new x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay, rho
        decay = gamma_next * lam_next
        return keep, new, along, decay


class GammaOfTheWrongStep(Mine):
    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * gamma_next * decay, rho
        decay = lam_next
        return keep, new, along, decay


class LambdaOfTheWrongStep(Mine):
    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay * lam_next, rho
        decay = gamma_next
        return keep, new, along, decay


class RhoTwice(Mine):
    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = rho * alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay, rho
        decay = gamma_next * lam_next
        return keep, new, along, decay


class WithoutRho(Mine):
    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay, 1.0
        decay = gamma_next * lam_next
        return keep, new, along, decay


class TraceSurvives(Mine):
    """The trace among the weights, and a decay that an episode's start does not set back."""

    weight_rows, trace_rows = "w e", ""

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * 0.9, rho
        decay = gamma_next * lam_next
        return keep, new, along, decay


class CreditLost(Mine):
    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay if gamma_next > 0 else 0.0, rho
        decay = gamma_next * lam_next
        return keep, new, along, decay


@pytest.mark.parametrize("kind", cases([td.TrueOnlineTD, td.TrueOnlineGTD], [td.TrueOnlineTD]))
def test_what_is_right_passes(kind: Any) -> None:
    td.check_algorithm(kind)


DECLARED = [name for name in td.algorithms.__all__ if hasattr(getattr(td.algorithms, name), "step")]
"""Every algorithm that the package exports: a new one is checked without an entry here."""
UNUSUAL = {"GTD2": ["rho", "credit"], "PGTD2": ["rho", "credit"]}
"""Conventions that do not hold as they stand: w moves only once h has, one step later."""


@pytest.mark.interpreted
@pytest.mark.parametrize("name", DECLARED)
def test_every_algorithm_keeps_the_conventions(name: str) -> None:
    td.check_algorithm(getattr(td.algorithms, name), skip=UNUSUAL.get(name, ()))


@pytest.mark.interpreted
def test_an_algorithm_without_traces_passes() -> None:
    class Residual(td.Algorithm):
        """Stochastic gradient descent on δ²."""

        trace_rows = ""
        dots = {"v": "w.x", "v_next": "w.x'"}
        updates = "w += along x - back x'"

        @staticmethod
        def step(v, v_next, alpha, reward, gamma_next, rho):
            along = alpha * rho * (reward + gamma_next * v_next - v)
            back = gamma_next * along
            return along, back

    td.check_algorithm(Residual)


class Undiscounted(Mine):
    """w·x' without γ', which must be 0 where an episode terminates."""

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along, keep, new, decay = alpha * (reward + 0.1 * v_next - v), rho * decay, rho, gamma_next * lam_next
        return keep, new, along, decay


@pytest.mark.interpreted
def test_others_pass_too() -> None:
    kind: Any
    td.check_algorithm(Mine)
    td.check_algorithm(Undiscounted, skip=["gamma"])
    for trace in ("dutch", "replacing"):
        td.check_algorithm(td.TD, traces=trace)
    for form in ("correction", "gradient"):
        td.check_algorithm(td.GTD, form=form)
        td.check_algorithm(td.GTD2, form=form, skip=["rho", "credit"])  # w moves only once h has: one step later
    for kind in (td.ETD, td.TrueOnlineETD):
        td.check_algorithm(kind, beta_f=0.5)
    td.check_algorithm(RhoTwice, skip=["rho"])
    for rule in (td.rules.Meta(0.05), td.rules.Greedy(), td.rules.Counting(5.0), td.rules.ValueErrorGreedy(stretch=30)):
        td.check_rule(rule)
    td.check_rule(td.rules.ValueErrorGreedy(), td.TD)  # a trace that falls below 1e-8 on the way


@pytest.mark.parametrize(
    ("kind", "convention", "message"),
    [
        (GammaOfTheWrongStep, "gamma", "gamma: "),
        (LambdaOfTheWrongStep, "lambda", "lambda: "),
        (RhoTwice, "rho", "ρ is applied twice"),
        (WithoutRho, "rho", "a step with ρ = 0 must change nothing"),
        (TraceSurvives, "reset", "A trace survives the end of an episode"),
        (CreditLost, "credit", "the reward of the last step did not reach"),
    ],
)
def test_each_mistake_is_told_by_its_name(kind: Any, convention: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message) as caught:
        td.check_algorithm(kind)
    assert str(caught.value).startswith(convention)


def test_a_convention_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="skip: choose from"):
        td.check_algorithm(Mine, skip=["ratio"])


class OutOfRange(td.Rule):
    dots = {"v_next": "V.x'"}

    @staticmethod
    def step(v_next):
        lam_next = 1.0 + abs(v_next)
        return lam_next


@pytest.mark.interpreted
def test_a_lambda_out_of_range_is_told() -> None:
    with pytest.raises(AssertionError, match=r"lam_next must be in \[0, 1\]"):
        td.check_rule(OutOfRange(), alpha=0.001)


def test_what_is_no_declaration_is_refused() -> None:
    with pytest.raises(TypeError, match=r"subclass of td\.Algorithm"):
        td.check_algorithm(td.LSTD)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"td\.Rule with a step"):
        td.check_rule(td.rules.Fixed(0.5))
