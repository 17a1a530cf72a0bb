# mypy: disable-error-code="no-untyped-def"
"""A schedule that generates wrong code is noticed by the checks of declarations, and told by its name."""

from typing import Any

import pytest

import tdlambda as td
from tdlambda.core.schedules import lanes, one


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


def wrong(monkeypatch: pytest.MonkeyPatch, schedule: Any, old: str, new: str) -> None:
    """Let a schedule write something else."""
    generate = schedule.generate

    def changed(*arguments: Any, **options: Any) -> str:
        text: str = generate(*arguments, **options)
        assert old in text
        return text.replace(old, new)

    monkeypatch.setattr(schedule, "generate", changed)


@pytest.mark.parametrize(
    ("schedule", "old", "new", "said"),
    [
        (one, "s_.V_decay = V_decay", "s_.V_decay = 0.9 * V_decay", "one learner, one-hot features: row V_"),
        (lanes, "decay_[lane_] = decay", "decay_[lane_] = 0.9 * decay", "lanes, one-hot features: row V_"),
    ],
)
def test_wrong_code_of_an_algorithm(
    monkeypatch: pytest.MonkeyPatch, schedule: Any, old: str, new: str, said: str
) -> None:
    wrong(monkeypatch, schedule, old, new)
    kind = type("Wrong", (Plain,), {})  # another class: models are remembered
    with pytest.raises(AssertionError, match=said):
        td.check_algorithm(kind)


@pytest.mark.parametrize(("schedule", "said"), [(one, "one learner, one-hot"), (lanes, "lanes, one-hot")])
def test_wrong_code_of_a_rule(monkeypatch: pytest.MonkeyPatch, schedule: Any, said: str) -> None:
    wrong(monkeypatch, schedule, "0.5)", "0.6)")
    kind: Any = type("Wrong", (HalfWay,), {})
    with pytest.raises(AssertionError, match=said):
        td.check_rule(kind(), alpha=0.3)
