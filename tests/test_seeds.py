"""The defaults of `seed`, as the glossary gives them, and the forms of `seeds`."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.cli.run import resized
from tdlambda.runner.job import seed_numbers

OURS: list[Callable[..., Any]] = [
    td.make("RingWorld-v0").sampler, td.make("MountainCar-v0").sampler, td.make("RingWorld-v0").exact.sampler,
    td.report.follow, td.check_learner, td.check_algorithm, td.check_rule,
]  # fmt: skip
METHODS = {"TD": td.studies.Method("TD", options={"alpha": 0.1})}


def test_defaults() -> None:
    found = {call.__qualname__: inspect.signature(call).parameters["seed"].default for call in OURS}
    assert set(found.values()) == {0}, found
    assert [inspect.signature(call).parameters["seed"].default for call in (td.learn, td.train)] == [None, None]
    assert inspect.signature(td.engine.sampled_truth).parameters["seed"].default == 2**32


def test_a_number_of_seeds_counts_from_0() -> None:
    features = td.features.OneHot(11)
    assert tuple(td.engine.run("RingWorld-v0", [td.TD(features, 0.1)], 3, 10).seeds) == (0, 1, 2)
    assert tuple(td.control.run("RingWorld-v0", [td.Sarsa(features, 2, 0.1)], 3, 100).seeds) == (0, 1, 2)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ("0:3", r"a number of seeds, a list of seeds, or a range such as range\(100, 130\); got '0:3'"),
        (b"ab", "a number of seeds, a list"),
        ({1, 2}, r"a number of seeds, .*; got \{1, 2\}"),
        ({1: 2}, "a number of seeds, a list"),
        (None, "a number of seeds, .*; got None"),
        (iter([1, 2]), "a number of seeds, a list"),
        (True, "an integer; got True"),
        ([np.True_], "an integer; got np.True_"),
        (3.0, r"an integer; got 3\.0: write 3"),
        (0, "from 1 to 1,000,000; got 0"),
        ([], r"from 1 to 1,000,000 seeds; got \[\]"),
        ([2**32], "from 0 to 4,294,967,295; got 4,294,967,296"),
        ([5, 3, 5], r"different; got \[5, 3, 5\]"),
    ],
)
def test_what_is_no_seeds(seeds: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^seeds must be {message}"):
        td.engine.run("RingWorld-v0", [td.TD(td.features.OneHot(11), 0.1)], seeds, 10)


@pytest.mark.parametrize("seeds", [np.array(3), np.int64(3), range(3), [0, np.uint8(1), 2], np.arange(3)])
def test_engines_and_studies_take_the_same_seeds(seeds: Any) -> None:
    assert seed_numbers(seeds) == (0, 1, 2)
    assert td.studies.Study("walk", "RandomWalk-v0", METHODS, seeds=seeds).seeds == 3


@pytest.mark.parametrize(
    ("own", "option", "seeds"),
    [
        ([3, 5, 8], "2", [3, 5]), ([3, 5, 8], "3", [3, 5, 8]), ([3, 5, 8], "7:9", [7, 8]), ("3:5", "1", [3]),
        ("3:5", "4", [3, 4, 5, 6]), (4, "2", [0, 1]), (1, "3", [0, 1, 2]),
    ],
)  # fmt: skip
def test_the_option_takes_the_first_seeds_of_a_study(own: Any, option: str, seeds: list[int]) -> None:
    study = td.studies.Study("walk", "RandomWalk-v0", METHODS, seeds=own)
    assert list(resized(study, False, option, None, None).numbers) == seeds


@pytest.mark.parametrize(
    ("own", "option", "message"),
    [
        ([3, 5, 8], "4", "at most 3, the number of seeds that walk lists, or a range A:B; got 4"),
        ([2**32 - 1], "2", "from 0 to 4,294,967,295; got 4,294,967,296"),
        (3, "0", "from 1 to 1,000,000; got 0"),
        (3, "9" * 5000, "a number of seeds, or a range A:B such as 100:130; got '999"),
    ],
)
def test_the_option_names_itself(own: Any, option: str, message: str) -> None:
    study = td.studies.Study("walk", "RandomWalk-v0", METHODS, seeds=own)
    with pytest.raises(ValueError, match=f"^--seeds must be {message}"):
        resized(study, False, option, None, None)


def learned(seed: int | None) -> Any:
    v = td.TD(td.features.OneHot(11), 0.1)
    td.learn("tdlambda/RingWorld-v0", v, 300, seed=seed)
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
