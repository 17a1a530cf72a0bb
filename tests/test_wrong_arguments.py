"""Mistakes that everybody makes once: the message names the argument and says what to write."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdlambda as td

F = td.features.OneHot(4)
WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "a name nearly right": (lambda: td.TD(F, 0.1, lamda=0.3), "TD has no argument lamda; did you mean lam?"),
    "γ of a learner": (lambda: td.TD(F, 0.1, gamma=0.9), "TD has no argument gamma; pass gamma to update"),
    "no such argument": (lambda: td.TD(F, 0.1, colour=1), "its arguments are features, alpha, lam, traces, correction"),
    "ε of an agent": (lambda: td.Sarsa(F, 2, 0.1, epsilon=0.1), "exploration is a policy or behavior, such as"),
    "an agent's argument": (lambda: td.QLambda(F, 2, 0.1, polic=1), "QLambda with TrueOnlineTD has no argument polic"),
    "a class for a learner": (
        lambda: td.learn("CartPole-v1", [0.5, 0.5], td.TD, 10),
        "learner must be a learner, such as",
    ),
    "a learner for an agent": (
        lambda: td.train("CartPole-v1", td.TD(F, 0.1), 10),  # type: ignore[arg-type]
        "agent must be td.Sarsa",
    ),
    "a learner for a factory": (
        lambda: td.check_learner(td.TD(F, 0.1)),  # type: ignore[arg-type]
        "factory must be a function that builds",
    ),
    "one learner for many": (
        lambda: td.engine.run("RingWorld-v0", td.TD(F, 0.1), 1, 10),  # type: ignore[arg-type]
        "learners must be a list of learners",
    ),
    "a number for a Horde": (
        lambda: td.streams.prequential(3, {"x": [1.0]}),  # type: ignore[arg-type]
        "horde must be a td.Horde",
    ),
    "text for a class": (lambda: td.load("a.npz", "TD"), "kind must be a class"),  # type: ignore[call-overload]
    "text for a seed": (
        lambda: td.learn("CartPole-v1", [0.5, 0.5], td.TD(F, 0.1), 10, seed="a"),  # type: ignore[arg-type]
        "seed must be an integer",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_message_says_what_to_write(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


def test_a_subclass_that_passes_options_on_still_has_lam() -> None:
    class Mine(td.TD):
        def __init__(self, features: Any, alpha: float, boost: float = 1.0, **options: Any) -> None:
            super().__init__(features, alpha, **options)
            self.boost = boost

    assert list(inspect.signature(Mine).parameters)[:5] == ["features", "alpha", "boost", "lam", "traces"]
    assert Mine(F, 0.1, lam=0.5).lambda_at(0) == 0.5


def test_long_arrays_are_not_written_out() -> None:
    v = td.TD(td.features.OneHot(5000), 0.1, initial=np.linspace(0, 1, 5000))
    assert repr(v) == "TD(features=OneHot(n=5000), alpha=0.1, initial=<[5000]  0 to 1>)"


def test_a_class_of_no_module_and_an_odd_docstring() -> None:
    for doc in ('"""Parameters\n----------\nlam\n    See `Nobody`.\n"""', "__doc__ = 3"):
        space: dict[str, Any] = {"__name__": "nowhere", "td": td}
        exec(f"class Mine(td.TD):\n    {doc}\n", space)
        assert space["Mine"](F, 0.1).alpha == 0.1
