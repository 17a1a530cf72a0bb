"""What few learners meet, in every schedule: β by a schedule, features that occur twice, a terminal x' that counts."""

from typing import Any, Literal

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedTrueOnlineGTD

TWICE = np.array([[0, 0, 2], [1, 3, 1], [2, 3, 0], [3, 3, 3], [4, 1, 4]])
VALUES = np.array([[0.5, 0.5, 1.0], [1.0, -0.5, 0.25], [1.0, 1.0, 1.0], [0.25, 0.5, 0.25], [1.0, 1.0, 1.0]])
SUMMED = np.zeros((5, 5))
np.add.at(SUMMED, (np.arange(5)[:, None], TWICE), VALUES)


class Twice(td.Encoder):
    """States with features of which some occur twice: their values add."""

    size, active = 5, 3

    def encode(self, observation: Any) -> Any:
        return TWICE[observation], VALUES[observation]

    def encode_batch(self, observations: Any) -> Any:
        return TWICE[observations], VALUES[observations]

    def get_params(self) -> dict[str, Any]:
        return {}


@pytest.mark.interpreted
@pytest.mark.parametrize("by", ["visits", "steps"])
def test_further_step_sizes_follow_a_schedule(by: Literal["visits", "steps"]) -> None:
    td.check_algorithm(td.GTD, alpha=td.steps.OneOver(by, scale=0.3, offset=2.0), beta=0.4)


@pytest.mark.interpreted
def test_on_termination_the_discount_is_0_though_its_features_are_read() -> None:
    td.check_algorithm(PublishedTrueOnlineGTD, last_discount=0.7)


@pytest.mark.interpreted
@pytest.mark.parametrize("trace", ["accumulating", "replacing", "dutch"])
def test_features_that_occur_twice_add(trace: Any) -> None:
    walk: Any = td.make("RandomWalk-v0", n=3)
    assert walk.mdp.n_states == len(TWICE)
    learners = [td.TD(features, 0.05, 0.8, traces=trace) for features in (Twice(), td.features.Table(SUMMED))]
    lanes: Any = td.engine.run(walk, learners, [1], 200, keep=("weights",), threads=1).weights
    for v in learners:
        v.update_many(walk.sampler(1).take(200))
    for found in (learners[0].weights, lanes[0][0], lanes[1][0]):
        np.testing.assert_allclose(found, learners[1].weights, rtol=1e-12, atol=1e-15)
