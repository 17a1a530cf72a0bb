"""Answers beyond double precision are errors that say so: never NaN, never an infinity that is none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_mdps import raw_mdp

import tdlambda as td

V, PI, B = np.zeros(5), [0.5, 0.5], [0.3, 0.7]
X = np.random.default_rng(1).normal(size=(5, 3))
SQUARES: dict[str, Callable[[td.FiniteMDP], Any]] = {
    "variance": lambda m: m.under(PI).return_variance(),
    "variance, off-policy": lambda m: m.under(PI, B).return_variance(),
    "second moment": lambda m: m.under(PI, B).lambda_return(V, 0.5).second_moment,
    "control variate": lambda m: m.under(PI, B).lambda_return(V, 0.5, "control-variate"),
    "value error": lambda m: m.under().value_error(V),
    "target error": lambda m: m.under().target_error(V, 0.5),
    "gradient": lambda m: m.under().target_error_gradient(V, 0.5),
    "gradient, derived": lambda m: m.under().target_error_gradient(V, 0.5, kind="derived"),
    "gradient, horizon": lambda m: m.under().target_error_gradient(V, 0.5, horizon=2),
    "META's minimizer": lambda m: m.under().meta_minimizer(V, 0.5),
    "λ-greedy's minimizer": lambda m: m.under().greedy_minimizer(V),
    "best λ": lambda m: m.under().best_lambda(V),
    "MSPBE": lambda m: m.under().mspbe(np.zeros(3), X, 0.5),
    "moments of rewards": lambda m: m.transition_moments(),
}
SUMS: dict[str, Callable[[td.FiniteMDP], Any]] = {
    "v": lambda m: m.v(),
    "v, iterative": lambda m: m.v(method="iterative"),
    "q": lambda m: m.q(),
    "q, iterative": lambda m: m.q(method="iterative"),
    "optimum": lambda m: m.optimal(),
    "mean λ-return": lambda m: m.under().lambda_return(V, 0.5),
    "A, b, C": lambda m: m.under().linear_system(100 * X, 1.0),
    "TD fixed point": lambda m: m.under().td_fixed_point(100 * X, 1.0),
    "GTD fixed point": lambda m: m.under().gtd_fixed_point(100 * X, 1.0),
    "ETD fixed point": lambda m: m.under().etd_fixed_point(100 * X, 1.0),
    "fixed point of an operator": lambda m: m.under().trace_operator(0.5, correction="tree"),
    "fixed point of an operator, actions": lambda m: m.under().trace_operator(0.5, correction="tree", values="action"),
}


def scaled(rewards: float) -> td.FiniteMDP:
    """A continuing MDP, γ = 0.99, whose mean reward is not 0."""
    raw = raw_mdp(3, n=5, actions=2, episodic=False)
    return td.FiniteMDP(raw.P, rewards * (np.abs(raw.R) / np.abs(raw.R).max()), discount=0.99)


@pytest.mark.parametrize(("name", "rewards"), [(n, 1e200) for n in SQUARES] + [(n, 1.5e308) for n in SUMS])
def test_an_answer_out_of_range_is_an_error(name: str, rewards: float) -> None:
    answer = (SQUARES | SUMS)[name]
    answer(scaled(1.0))  # is fine
    with pytest.raises(OverflowError, match=r"exceeds 1\.8e\+308.*: scale down rewards, V and features"):
        answer(scaled(rewards))


def test_what_the_user_gives_may_overflow_too() -> None:
    mdp = scaled(1.0)
    for call in (
        lambda: mdp.under().value_error(V + 1e200),
        lambda: mdp.under().lambda_return(V + 1.7e308, 0.5),
        lambda: mdp.under().td_fixed_point(1e200 * X, 0.5),
        lambda: mdp.under().mspbe(np.full(3, 1e300), X, 0.5),
        lambda: td.FiniteMDP([[0, 1.0], [0, 0]], [1e200, 0], [1e300, 0], terminal=[1]),
    ):
        with pytest.raises(OverflowError, match="scale down rewards"):
            call()
    for smallest in (1e-200, 1e-320):
        with pytest.raises(OverflowError, match=r"ρ² exceeds.*: give behavior larger probabilities"):
            mdp.under([1.0, 0.0], [smallest, 1.0]).return_variance()
