"""The defaults of `seed`, as the glossary gives them."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdlambda as td

OURS: list[Callable[..., Any]] = [
    td.make("RingWorld-v0").sampler, td.make("MountainCar-v0").sampler, td.make("RingWorld-v0").exact.sampler,
    td.report.follow, td.check_learner, td.check_algorithm, td.check_rule,
]  # fmt: skip


def test_defaults() -> None:
    found = {call.__qualname__: inspect.signature(call).parameters["seed"].default for call in OURS}
    assert set(found.values()) == {0}, found
    assert [inspect.signature(call).parameters["seed"].default for call in (td.learn, td.train)] == [None, None]
    assert inspect.signature(td.engine.sampled_truth).parameters["seed"].default == 2**32


def test_a_number_of_seeds_counts_from_0() -> None:
    features = td.features.OneHot(11)
    assert tuple(td.engine.run("RingWorld-v0", [td.TD(features, 0.1)], 3, 10).seeds) == (0, 1, 2)
    assert tuple(td.control.run("RingWorld-v0", [td.Sarsa(features, 2, 0.1)], 3, 100).seeds) == (0, 1, 2)


def learned(seed: int | None) -> Any:
    v = td.TD(td.features.OneHot(11), 0.1)
    td.learn("tdlambda/RingWorld-v0", None, v, 300, seed=seed)
    return v.weights


def trained(seed: int | None) -> Any:
    agent = td.Sarsa(td.features.OneHot(11), 2, 0.1)
    td.train("tdlambda/RingWorld-v0", agent, 300, seed=seed)
    return agent.weights


@pytest.mark.parametrize("weights", [learned, trained])
def test_none_is_new_numbers_even_in_a_task_of_tdlambda(weights: Callable[[int | None], Any]) -> None:
    assert np.array_equal(weights(5), weights(5))
    assert not np.array_equal(weights(5), weights(6))
    assert not np.array_equal(weights(None), weights(None))
