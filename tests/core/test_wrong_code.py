# mypy: disable-error-code="no-untyped-def"
"""A schedule that generates wrong code is noticed by the checks of declarations, and told by its name."""

from importlib import import_module
from typing import Any

import pytest
from c_learner import needs_compiler

import tdlambda as td


class Plain(td.Algorithm):
    """TD(λ)."""

    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = alpha * (reward + gamma_next * v_next - v)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


class HalfWay(td.Rule):
    """λ from a prediction."""

    dots = {"v_next": "V.x'"}

    @staticmethod
    def step(v_next):
        lam_next = min(abs(v_next), 0.5)
        return lam_next


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("schedule", "of", "old", "new", "said"),
    [
        (
            "one",
            "algorithm",
            "s_.V_decay = V_decay",
            "s_.V_decay = 0.9 * V_decay",
            "one learner, one-hot features: row V_",
        ),
        (
            "lanes",
            "algorithm",
            "decay_[lane_] = decay",
            "decay_[lane_] = 0.9 * decay",
            "lanes, one-hot features: row V_",
        ),
        ("one", "rule", "0.5)", "0.6)", "one learner, one-hot features: row V_"),
        ("lanes", "rule", "0.5)", "0.6)", "lanes, one-hot features: row V_"),
    ],
)
def test_it_is_told_by_its_name(schedule: str, of: str, old: str, new: str, said: str) -> None:
    """Let a schedule write something else, and check an algorithm or a rule."""
    module: Any = import_module(f"tdlambda.core.schedules.{schedule}")
    generate = module.generate

    def changed(*arguments: Any, **options: Any) -> str:
        text: str = generate(*arguments, **options)
        assert old in text
        return text.replace(old, new)

    kind: Any = type("Wrong", (Plain if of == "algorithm" else HalfWay,), {})  # another class: models are remembered
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "generate", changed)
        with pytest.raises(AssertionError, match=said):
            td.check_algorithm(kind) if of == "algorithm" else td.check_rule(kind(), alpha=0.3)


@pytest.mark.interpreted
@needs_compiler
def test_wrong_c_is_told_too() -> None:
    c_export: Any = import_module("tdlambda.learners.c_export")
    generate = c_export.generate

    def changed(*arguments: Any) -> tuple[str, str]:
        header, text = generate(*arguments)
        assert "self_->V_decay = V_decay;" in text
        return header, text.replace("self_->V_decay = V_decay;", "self_->V_decay = 0.9 * V_decay;")

    kind: Any = type("Wrong", (Plain,), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c_export, "generate", changed)
        with pytest.raises(AssertionError, match="C, one-hot features: row V_"):
            td.check_algorithm(kind)
