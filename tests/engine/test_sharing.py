"""What several lanes learn alike is learned once: META's E[G] where κ alone differs."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine.block import Block
from tdlambda.engine.plan import plan
from tdlambda.lab.reproduction import PublishedMeta


def learners(task: Any, rule: Any) -> list[Any]:
    alphas, kappas = (0.001, 0.02, 0.05), (1e-3, 1e-2, 0.1, 1.0)
    return [td.TrueOnlineGTD(task.features, a, rule(k), on_divergence="flag") for a in alphas for k in kappas]


@pytest.mark.parametrize(
    ("name", "rule"),
    [("RingWorld-v0", PublishedMeta), pytest.param("FrozenLake-v0", td.rules.Meta, marks=pytest.mark.costly)],
)
def test_lanes_with_a_shared_estimate_are_the_learners_themselves(name: str, rule: Any) -> None:
    task = td.make(name)
    some = learners(task, rule)
    ((group,), _) = plan(some)
    shared = Block(group).shared
    assert shared is not None
    assert shared.estimate == "M"
    assert len(set(shared.where.tolist())) == 3
    found = td.engine.run(task, some, [3], 800, points=[300, 800], keep=("learners", "lambdas"))
    stream = task.sampler(3).take(800)
    for k, learner in enumerate(some):
        learner.update_many(stream)
        ours = found.learners[k][0]
        for row in [*learner.model.rows, *learner.model.rule_rows]:
            np.testing.assert_allclose(ours.row(row), learner.row(row), atol=1e-11, err_msg=row)
        more = task.sampler(4).take(50)
        for one in (learner, ours):
            one.update_many(more)
        np.testing.assert_allclose(ours.weights, learner.weights, atol=1e-11)


def test_learners_that_differ_otherwise_share_nothing() -> None:
    ring = td.make("RingWorld-v0")
    some = [td.TrueOnlineTD(ring.features, a, td.rules.Meta()) for a in (0.001, 0.01, 0.02, 0.03)]
    ((group,), _) = plan(some)  # type: ignore[arg-type]
    assert Block(group).shared is None


def test_a_shared_estimate_that_diverges_stops_its_lanes_alone() -> None:
    ring = td.make("RingWorld-v0")
    some = [
        td.TrueOnlineTD(ring.features, 0.01, td.rules.Meta(k, ratio=ratio), on_divergence="flag", bound=0.05)
        for ratio in (1.0, 90.0) for k in (1e-3, 1e-2, 0.1, 1.0)
    ]  # fmt: skip
    ((group,), _) = plan(some)  # type: ignore[arg-type]
    assert Block(group).shared is not None
    found = td.engine.run(ring, some, [4], 3000, keep=("learners",))
    stream = ring.sampler(4).take(3000)
    for k, learner in enumerate(some):
        learner.update_many(stream)
        ours = found.learners[k][0]
        assert found.diverged_at[k, 0] == (learner.diverged_at or -1)
        np.testing.assert_allclose(ours.row("M_w"), learner.row("M_w"), atol=1e-9)
    assert (found.diverged_at[4:] >= 0).any()
