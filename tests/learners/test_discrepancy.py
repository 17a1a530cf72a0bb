"""The λ-discrepancy as it is learned, beside the exact one."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td


def found(task: Any, features: Any, **given: Any) -> float:
    some = td.learners.LambdaDiscrepancy(td.TrueOnlineTD(features, td.steps.OneOver("visits", power=0.8)), **given)
    some.update_many(task.sampler(seed=3).take(60_000))
    return some.value


def test_where_a_state_is_hidden_it_is_the_exact_one_and_where_none_is_it_is_0() -> None:
    task: Any = td.make("Aliased-v0")
    exact = task.mdp.under(task.target).lambda_discrepancy(task.features.matrix(range(task.mdp.n_states)), 1.0, 0.0)
    assert exact == pytest.approx(0.5**0.5)
    assert found(task, task.features) == pytest.approx(exact, abs=0.03)
    assert found(task, td.features.OneHot(task.mdp.n_states)) < 0.03
    half = task.mdp.under(task.target).lambda_discrepancy(task.features.matrix(range(task.mdp.n_states)), 0.5, 0.0)
    assert found(task, task.features, lams=(0.0, 0.5)) == pytest.approx(half, abs=0.03)


def test_one_by_one_and_together() -> None:
    task: Any = td.make("Aliased-v0")
    steps = task.sampler(seed=1).take(300)
    one, many = (td.learners.LambdaDiscrepancy(td.TD(task.features, 0.1), window=100) for _ in range(2))
    for t in range(300):
        one.update(
            int(steps.obs[t]), steps.reward[t], int(steps.next_obs[t]), steps.gamma[t], 1.0, bool(steps.terminated[t])
        )
    many.update_many(steps)
    for a, b in zip(one.learners, many.learners, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    assert one.value > 0 < many.value


@pytest.mark.parametrize(
    ("given", "said"),
    [(("TD",), "learner must be a learner"), ((td.TD(td.features.OneHot(2), 0.1), (0.5,)), "lams must be two"),
     ((td.TD(td.features.OneHot(2), 0.1), (0.0, 1.5)), "lam must be"), ((td.TD(td.features.OneHot(2), 0.1), (0, 1),
     0), "window")],
)  # fmt: skip
def test_what_cannot_be_is_refused(given: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        td.learners.LambdaDiscrepancy(*given)
