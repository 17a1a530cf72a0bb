# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""Bad input is refused by name and changes nothing; divergence is said once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdlambda as td

BUILDS: list[Callable[[], Any]] = [
    lambda: td.TrueOnlineTD(td.features.OneHot(5), 0.1, 0.9),
    lambda: td.TrueOnlineGTD(td.features.Table(np.eye(5)), 0.1, 0.9),
    lambda: td.GTD(td.features.OneHot(300), 0.1, 0.9),
    lambda: td.TD(td.features.OneHot(5), 0.1, [0.5] * 5),
    lambda: td.DirectVTD(td.features.OneHot(5), 0.1, 0.9),
]


def snapshot(learner: Any) -> list[bytes]:
    return [array.tobytes() for array in learner._state().values()]


@pytest.mark.costly
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reward": np.nan}, "reward must be finite; got nan"),
        ({"reward": np.inf}, "reward must be finite; got inf"),
        ({"reward": "x"}, "reward must be a number; got 'x'"),
        ({"reward": None}, "reward must be a number; got None"),
        ({"gamma": 1.01}, r"gamma must be in \[0, 1\]; got 1.01"),
        ({"gamma": -0.1}, r"gamma must be in \[0, 1\]; got -0.1"),
        ({"gamma": np.nan}, "gamma must be in"),
        ({"rho": -1.0}, "rho must be finite and not negative; got -1.0"),
        ({"rho": np.inf}, "rho must be finite"),
        ({"rho": np.nan}, "rho must be finite"),
        ({"obs": 1000}, "obs"),
        ({"obs": -1}, "obs"),
        ({"next_obs": 1000}, "obs"),
        ({"next_obs": -1}, "obs"),
        ({"obs": 1.5}, "obs"),
        ({"obs": None}, "obs"),
    ],
)
def test_bad_transitions_are_refused_and_change_nothing(
    build: Callable[[], Any], wrong: dict[str, Any], message: str
) -> None:
    learner = build()
    for t in range(4):
        learner.update(t, 1.0, t + 1, gamma=0.9, rho=1.1)
    before = snapshot(learner)
    good = {"obs": 1, "reward": 1.0, "next_obs": 2, "gamma": 0.9, "rho": 1.0}
    with pytest.raises((ValueError, TypeError), match=message):
        learner.update(**(good | wrong))
    assert snapshot(learner) == before
    name, value = next(iter(wrong.items()))
    if isinstance(value, float | int) and value != 1.5:
        column: list[Any] = [good[name]] * 3
        column[1] = value
        rows: Any = {key: [entry] * 3 for key, entry in good.items()} | {name: column}
        with pytest.raises((ValueError, TypeError), match=name.removeprefix("next_")):
            learner.update_many(**rows)
        assert snapshot(learner) == before


@pytest.mark.costly
def test_update_many_says_the_row() -> None:
    v = td.TrueOnlineTD(td.features.OneHot(5), 0.1)
    with pytest.raises(ValueError, match=r"reward must be finite; got nan \(row 2\)"):
        v.update_many([0, 1, 2], [0.0, 0.0, np.nan], [1, 2, 3], gamma=0.9)
    with pytest.raises(ValueError, match="gamma must have 3 rows, as many as reward"):
        v.update_many([0, 1, 2], [0.0, 0.0, 0.0], [1, 2, 3], gamma=[0.9, 0.9])
    with pytest.raises(ValueError, match="next_obs must have 3 rows"):
        v.update_many([0, 1, 2], [0.0, 0.0, 0.0], [1, 2], gamma=1.0)
    with pytest.raises(
        TypeError, match="needs reward, next_obs, gamma: pass obs, reward, next_obs and gamma, or Transitions"
    ):
        v.update_many([0, 1, 2])
    v.update_many([], [], [], gamma=1.0)
    assert v.steps == 0


@pytest.mark.costly
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"alpha": -1.0}, "alpha must be positive"),
        ({"alpha": np.nan}, "alpha must be positive"),
        ({"alpha": np.inf}, "alpha must be positive"),
        ({"alpha": "x"}, "alpha must be a number"),
        ({"lam": 1.5}, r"lam must be in \[0, 1\], \"auto\", .* or a rule; got 1.5"),
        ({"lam": [0.5, -0.5, 0.5]}, "lam of state 1"),
        ({"lam": np.nan}, "lam"),
        ({"features": 11}, "features must be an encoder"),
        ({"initial": [0.0, 0.0]}, "initial"),
        ({"initial": np.nan}, "initial"),
        ({"trace_tolerance": -1e-9}, "trace_tolerance"),
        ({"trace_tolerance": np.nan}, "trace_tolerance"),
        ({"bound": 0.0}, "bound"),
        ({"on_divergence": "ignore"}, "on_divergence"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_bad_parameters_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    good = {"features": td.features.OneHot(3), "alpha": 0.1, "lam": 0.9}
    for build in (td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD, td.VTD, td.DirectVTD):
        with pytest.raises((ValueError, TypeError), match=message):
            build(**(good | options))


@pytest.mark.costly
def test_parameters_of_one_learner_only() -> None:
    x = td.features.OneHot(3)
    for build in (td.GTD, td.TrueOnlineGTD):
        with pytest.raises(ValueError, match="beta must be positive"):
            build(x, 0.1, 0.9, beta=0.0)
    with pytest.raises(ValueError, match="traces must be one of"):
        td.TD(x, 0.1, 0.9, traces="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of must be"):
        td.VTD(x, 0.1, of="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="trace_lam"):
        td.DirectVTD(x, 0.1, trace_lam=2.0)
    for wrong in ({"by": "episodes"}, {"scale": 0.0}, {"offset": -1.0}, {"power": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            td.steps.OneOver(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="obs must be integers, states, because lam is per state"):
        td.TD(td.features.Dense(2), 0.1, [0.5, 0.5]).update_many(
            np.zeros((2, 2)), [0.0, 0.0], np.zeros((2, 2)), gamma=1.0
        )


@pytest.mark.costly
def test_divergence_raises_once_with_its_step_and_then_stands_still() -> None:
    v = td.TD(
        td.features.Dense(1), alpha=1.0, lam=0.0, bound=5.0
    )  # V(1) is 3, -12.9, 71.4, and no value larger than 10
    for _ in range(3):
        v.update([3.0], 1.0, [1.0], gamma=0.9)
    with pytest.raises(td.Diverged, match="diverged at step 4") as caught:
        v.update([3.0], 1.0, [1.0], gamma=0.9)
    assert caught.value.step == v.diverged_at == 4
    weights = v.weights.copy()
    v.update([2.0], 1.0, [1.0], gamma=1.0)
    v.update_many([[2.0], [2.0]], [1.0, 1.0], [[1.0], [1.0]], gamma=1.0)
    np.testing.assert_array_equal(v.weights, weights)
    assert v.steps == 4


@pytest.mark.costly
def test_divergence_can_be_a_flag() -> None:
    v = td.TrueOnlineTD(td.features.OneHot(2), alpha=0.5, lam=0.0, bound=0.01, on_divergence="flag")
    v.update_many([0] * 6, [0.0, 0.0, 1e100, 1e100, 0.0, 0.0], [0] * 6, gamma=1.0)  # V = 5e99 beyond 0.01 · 40 · 1e100
    assert v.diverged_at == 4


@pytest.mark.costly
def test_a_weight_that_is_no_number_is_divergence_wherever_it_is() -> None:
    """The weight that overflows is not of the state at hand, but of one with a live trace."""
    v = td.TD(td.features.OneHot(3), alpha=1.0, lam=1.0)
    v.update(0, 0.0, 1, gamma=1.0)
    with pytest.raises(td.Diverged):
        v.update(1, 1e305, 2, gamma=1.0)
    sparse = td.TD(td.features.OneHot(1000), alpha=1.0, lam=1.0)
    sparse.update(0, 0.0, 1, gamma=1.0)
    with pytest.raises(td.Diverged):
        sparse.update(1, 1e305, 2, gamma=1.0)


def test_memory_is_constant_over_a_long_stream() -> None:
    """10⁷ steps leave arrays of the same size, and the live list within the features."""
    task = td.make("RingWorld-v0", n=301)
    v = td.TrueOnlineTD(task.features, 0.1, 0.99)
    sampler = task.sampler(seed=0)
    sizes = {tuple(a.nbytes for a in v._state().values())}
    for _ in range(10):
        v.update_many(sampler.take(1_000_000))
        sizes.add(tuple(a.nbytes for a in v._state().values()))
    assert len(sizes) == 1
    assert v.steps == 10_000_000
