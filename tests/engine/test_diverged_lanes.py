"""A learner that has diverged costs nothing: it stops the other lanes once; a block of nothing else does not run."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine.block import Block

QUIETLY: dict[str, Any] = {"seeds": [1], "steps": 5_000, "points": 5, "threads": 1, "progress": False}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of steps that each call of a block's machine code was asked for."""
    asked: list[int] = []
    advance = Block.advance

    def counted(self: Block, *stretch: Any) -> int:
        asked.append(stretch[-1] - stretch[-2])
        return advance(self, *stretch)

    monkeypatch.setattr(Block, "advance", counted)
    return asked


def garnet(features: int | None, on_policy: bool = False) -> Any:
    """The random MDP 201 of experiments/open_questions."""
    options: dict[str, Any] = {"preset": "episodic", "seed": 201, "n": 20, "discount": 0.95}
    return td.make("Garnet-v0", features=features, on_policy=on_policy, **options)


def meta(alpha: float, k: int) -> dict[str, Any]:
    """Lanes that share META's E[G] where they have the same step size."""
    return {"alpha": alpha, "lam": td.rules.Meta(kappa=1e-3 * (1 + k / 100))}


def fixed(alpha: float, k: int) -> dict[str, Any]:
    """Lanes with a λ each."""
    return {"alpha": alpha, "lam": 1 - k / 100}


def adaptive(alpha: float, k: int) -> dict[str, Any]:
    """Step sizes exp(β): where all numbers of a lane are 0, this step size is 1."""
    return {"alpha": td.steps.TIDBD(alpha, theta=1.0 if alpha > 0.01 else 1e-3), "lam": 1 - k / 100}


@pytest.mark.parametrize("wild", [[9], [0], [3, 9], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize(
    ("kind", "features", "options"),
    [
        pytest.param(td.TrueOnlineTD, None, meta, id="META"),
        pytest.param(td.TrueOnlineGTD, 8, meta, id="META with features", marks=pytest.mark.slow),
        pytest.param(td.TD, 8, fixed, id="fixed"),
        pytest.param(td.TD, 8, adaptive, id="TIDBD"),
    ],
)
def test_stops_the_others_once(kind: Any, features: int | None, options: Any, wild: list[int], calls: Any) -> None:
    task = garnet(features)

    def build(k: int, alpha: float) -> Any:
        return kind(task.features, on_divergence="flag", **options(alpha, k))

    calm = {k: build(k, 1e-4) for k in range(10) if k not in wild}
    alone = td.engine.run(task, list(calm.values()), **QUIETLY)
    healthy = len(calls)
    calls.clear()
    found = td.engine.run(task, [calm.get(k) or build(k, 1.0) for k in range(10)], **QUIETLY)
    assert found.diverged_at[wild].min() > 0
    assert found.diverged_at[list(calm)].max() == alone.diverged_at.max() == -1
    assert len(calls) <= healthy + len(wild)
    assert np.array_equal(found.error[list(calm)], alone.error)


def test_a_block_whose_learners_have_all_diverged_does_not_run(calls: list[int]) -> None:
    task = garnet(8)
    learners = [td.TD(task.features, 1.0, 1 - k / 100, on_divergence="flag") for k in range(5)]
    found = td.engine.run(task, learners, keep=("weights", "lambdas", "learners"), follow=[1], **QUIETLY)
    assert found.diverged_at.min() > 0
    assert sum(calls) < 2 * QUIETLY["steps"], "whole stretches after the last divergence"
    assert len(calls) <= 2 + len(learners) + (found.points <= found.diverged_at.max()).sum()
    for k, own in enumerate(learners):
        own.update_many(task.sampler(1).take(QUIETLY["steps"]))
        assert found.diverged_at[k, 0] == own.diverged_at
        np.testing.assert_allclose(found.weights[k][0], own.weights, rtol=1e-9)
        assert found.motion[1][k].shape == (found.moments.size, len(found.observations))


def test_questions_of_a_horde(calls: list[int]) -> None:
    X = np.random.default_rng(0).normal(size=(600, 8))
    questions = {f"{k}": td.Question(k, horizon=5) for k in range(8)}
    wild = ("2", "7")

    def horde(names: Any) -> Any:
        sizes = {name: 10.0 if name in wild else 1e-3 for name in names}
        kinds = {name: partial(td.TD, alpha=sizes[name], lam=0.9, on_divergence="flag") for name in names}
        return td.Horde(td.features.Dense(8), {name: questions[name] for name in names}, kinds)

    alone = horde([name for name in questions if name not in wild])
    alone.learn(X)
    healthy = len(calls)
    calls.clear()
    found = horde(questions)
    found.learn(X)
    assert len(calls) <= healthy + len(wild)
    assert {alarm.name for alarm in found.alarms if alarm.kind == "diverged"} == {*wild}
    calm = [name not in wild for name in questions]
    values = np.array(list(found.predict().values()))[calm]
    np.testing.assert_allclose(values, list(alone.predict().values()), rtol=1e-12)
