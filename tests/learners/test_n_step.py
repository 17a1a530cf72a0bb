"""n-step TD: by hand, against plain NumPy, between TD(0) and Monte Carlo, and its state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from searching import examples

import tdlambda as td
from tdlambda.learners.monte_carlo import MonteCarlo
from tdlambda.learners.n_step import NStepTD

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)


def stream(seed: int, on_policy: bool = False, T: int = 40) -> tuple[Array, tuple[Array, ...]]:
    """Features [state, 4], and random columns for `update_many` that end with an end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.7)
    s = rng.integers(6, size=T + 1)
    gamma = rng.choice([0.0, 0.5, 0.9, 1.0], size=T, p=[0.1, 0.2, 0.4, 0.3])
    rho = np.ones(T) if on_policy else rng.choice([0.0, 0.4, 1.0, 1.7], size=T)
    ends = rng.random((2, T)) < 0.1
    ends[0, -1] = True
    return X, (s[:-1], rng.normal(size=T), s[1:], gamma, rho, ends[0], ends[1])


def reference(X: Array, columns: tuple[Array, ...], n: int, alpha: float, w: Array) -> Array:
    """Each episode on its own, by the book's indices: step t updates τ = t - n + 1, the last step all that remain."""
    s, r, s_next, gamma, rho, terminated, truncated = columns
    w, start = w.copy(), 0
    for end in np.flatnonzero(terminated | truncated).tolist():
        for t in range(start, end + 1):
            V = 0.0 if terminated[t] else float(w @ X[s_next[t]])
            first = t - n + 1
            for tau in range(max(start, first), t + 1 if t == end else first + 1):
                G = V
                for k in range(t, tau - 1, -1):
                    G = rho[k] * (r[k] + (0.0 if terminated[k] else gamma[k]) * G)
                w += alpha * (G - w @ X[s[tau]]) * X[s[tau]]
        start = end + 1
    return w


@given(SEEDS, st.integers(1, 12))
def test_plain_numpy_with_gamma_and_rho_at_every_step(seed: int, n: int) -> None:
    X, columns = stream(seed)
    w = np.random.default_rng(seed).normal(size=4)
    v = NStepTD(td.features.Table(X), 0.1, n, initial=w)
    v.update_many(*columns)
    np.testing.assert_allclose(v.weights, reference(X, columns, n, 0.1, w), rtol=1e-10, atol=1e-12)


@examples(30)
@given(SEEDS)
def test_one_step_on_policy_is_td_0(seed: int) -> None:
    X, columns = stream(seed, on_policy=True)
    v, td0 = (
        NStepTD(td.features.Table(X), td.steps.OneOver("visits"), 1),
        td.TD(td.features.Table(X), td.steps.OneOver("visits"), 0.0),
    )
    for row in zip(*columns, strict=True):
        v.update(*row)
        td0.update(*row)
        np.testing.assert_array_equal(v.weights, td0.weights)


@examples(30)
@given(SEEDS, st.integers(40, 50))
def test_n_beyond_the_episode_is_monte_carlo(seed: int, n: int) -> None:
    X, columns = stream(seed)
    v, mc = (
        NStepTD(td.features.Table(X), td.steps.OneOver("steps"), n),
        MonteCarlo(td.features.Table(X), td.steps.OneOver("steps")),
    )
    for row in zip(*columns, strict=True):
        v.update(*row)
        mc.update(*row)
        np.testing.assert_array_equal(v.weights, mc.weights)


def test_two_steps_by_hand() -> None:
    v = NStepTD(td.features.OneHot(4), 0.5, 2, initial=[0.0, 0.0, 8.0, 0.0])
    v.update(0, 1.0, 1, gamma=0.5)
    assert v.weights.tolist() == [0, 0, 8, 0]
    v.update(1, 2.0, 2, gamma=0.5)  # G = 1 + ½ (2 + ½ 8) = 4
    assert v.weights.tolist() == [2, 0, 8, 0]
    v.update(2, 4.0, 3, gamma=1.0, terminated=True)  # G = 2 + ½ 4 = 4, then 4
    assert v.weights.tolist() == [2, 2, 6, 0]
    v.update(0, 0.0, 3, gamma=0.5, terminated=True)
    assert v.weights.tolist() == [1, 2, 6, 0]


def test_truncation_bootstraps_all_that_remain_and_starts_anew() -> None:
    v = NStepTD(td.features.OneHot(3), 0.5, 5, initial=[8.0, 0.0, 0.0])
    v.update(0, 1.0, 1, gamma=0.5)
    v.update(1, 2.0, 0, gamma=0.5, truncated=True)  # V(x') = 8, although it changes with the first update
    assert v.weights.tolist() == [8 + 0.5 * (4 - 8), 0.5 * 6, 0.0]
    v.update(2, 2.0, 0, gamma=0.5, terminated=True, truncated=True)  # terminated wins
    assert v.weights[2] == 1.0


def test_gamma_0_and_rho_0_cut_the_return() -> None:
    v = NStepTD(td.features.OneHot(4), 1.0, 3, initial=4.0)
    v.update_many([0, 1, 2], [1.0, 2.0, 3.0], [1, 2, 3], [0.0, 1.0, 1.0], [1.0, 2.0, 0.0])
    assert v.weights.tolist() == [1.0, 4.0, 4.0, 4.0]  # G of state 0 ends with its γ = 0
    v.update(3, 0.0, 0, gamma=1.0, terminated=True)  # ρ: 2 (2 + 0 (3 + 0)), then 0 (3 + 0), then 0
    assert v.weights.tolist() == [1.0, 4.0, 0.0, 0.0]


def test_one_step_off_policy_has_rho_on_the_whole_return() -> None:
    v, control = (
        NStepTD(td.features.OneHot(2), 0.5, 1, initial=4.0),
        td.TD(td.features.OneHot(2), 0.5, 0.0, initial=4.0),
    )
    for learner in (v, control):
        learner.update(0, 1.0, 1, gamma=0.5, rho=2.0)
    assert v.weights[0] == 4 + 0.5 * (2 * (1 + 2) - 4)
    assert control.weights[0] == 4 + 0.5 * 2 * (1 + 2 - 4)


def test_reset_forgets_the_steps_stored() -> None:
    v = NStepTD(td.features.OneHot(2), 0.5, 3)
    v.update(0, 100.0, 0, gamma=1.0)
    v.reset()
    v.update(1, 1.0, 0, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [0.0, 0.5]
    assert v.steps == 2
    over = {name: array.copy() for name, array in v._state().items()}
    v.reset()  # after an end there is nothing to forget
    for name, array in v._state().items():
        np.testing.assert_array_equal(array, over[name])


@pytest.mark.parametrize("n", [1, 4])
def test_it_converges_on_policy(n: int) -> None:
    ring: Any = td.make("RingWorld-v0", behavior_left=0.35, target_left=0.35)
    v = NStepTD(ring.features, td.steps.OneOver("visits", power=0.8), n)
    v.update_many(ring.sampler(seed=1).take(200_000))
    assert np.abs(v.predict_many(range(1, 10)) - ring.exact.v()[1:10]).max() < 0.06


def test_a_step_takes_constant_memory() -> None:
    v = NStepTD(td.features.OneHot(2), 0.5, 3)
    before = {name: array.shape for name, array in v._state().items()}
    v.update_many(np.zeros(1000, int), np.ones(1000), np.ones(1000, int), 0.9)
    assert {name: array.shape for name, array in v._state().items()} == before


@examples(40)
@given(SEEDS, st.integers(0, 40), st.integers(1, 9), st.sampled_from(["float64", "float32"]))
def test_state_clone_and_chunks_continue_identically(seed: int, at: int, n: int, dtype: Any) -> None:
    X, columns = stream(seed)
    whole = NStepTD(td.features.Table(X), td.steps.OneOver("visits", offset=3.0), n, dtype=dtype)
    half = NStepTD(**whole.get_params())
    half.update_many(*(a[:at] for a in columns))
    clone, restored = half.clone(), NStepTD(**whole.get_params())
    restored._restore({name: array.copy() for name, array in half._state().items()})
    whole.update_many(*columns)
    tail = [a[at:] for a in columns]
    half.update_many(*tail)
    assert not any(np.shares_memory(a, b) for a in clone._state().values() for b in half._state().values())
    for row in zip(*tail, strict=True):
        clone.update(*row)
        restored.update(*row)
    for other in (half, clone, restored):
        np.testing.assert_array_equal(other.weights, whole.weights)
        assert other.steps == whole.steps == 40


def test_state_that_does_not_fit_is_refused() -> None:
    v = NStepTD(td.features.OneHot(3), 0.5, 2)
    v.update(0, 1.0, 1, gamma=1.0)
    good = {name: array.copy() for name, array in v._state().items()}
    for name, at, value in (
        ("X", (0, 0), 3), ("X", (1, 0), -1), ("Xv", (0, 0), np.inf), ("reward", 0, np.nan), ("gamma", 0, 1.1),
        ("rho", 0, -1.0), ("weights", 1, np.inf), ("counts", "stored", 2), ("counts", "head", 2),
        ("counts", "head", -1), ("counts", "seen", -1), ("counts", "updates", -1), ("counts", "diverged_at", 9),
    ):  # fmt: skip
        state = {k: a.copy() for k, a in good.items()}
        array: Any = state[name].view(v._count.dtype) if name == "counts" else state[name]
        array[at] = value
        with pytest.raises(ValueError, match="state"):
            NStepTD(td.features.OneHot(3), 0.5, 2)._restore(state)
    for n, features in ((3, 3), (1, 3), (2, 4)):
        with pytest.raises(ValueError, match="state"):
            NStepTD(td.features.OneHot(features), 0.5, n)._restore(good)
    NStepTD(td.features.OneHot(3), 0.5, 2)._restore(good)


def test_divergence_is_raised_once_and_freezes() -> None:
    v = NStepTD(td.features.OneHot(2), 3.0, 2, bound=10.0)
    with pytest.raises(td.Diverged) as caught:  # V(0) is 3, -3, 9, -15, and no return larger than 1
        v.update_many([0] * 6, np.ones(6), [1] * 6, gamma=1.0, terminated=True)
    assert caught.value.step == v.diverged_at == v.steps == 4
    v.update(1, 5.0, 1, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [-15.0, 0.0]
    flagged = NStepTD(td.features.OneHot(2), 3.0, 2, bound=10.0, on_divergence="flag")
    flagged.update_many([0] * 6, np.full(6, 1e9), [1] * 6, gamma=1.0, terminated=True)
    assert flagged.diverged_at == 4


def test_bad_input_changes_nothing() -> None:
    v = NStepTD(td.features.OneHot(2), 0.5, 1)
    for column, value in (("reward", [1.0, np.inf]), ("gamma", [0.5, -0.5]), ("rho", [1.0, np.nan]), ("obs", [0, 2])):
        columns: dict[str, Any] = {"obs": [0, 1], "reward": [1.0, 1.0], "next_obs": [1, 0], "gamma": 1.0}
        columns[column] = value
        with pytest.raises(ValueError, match="got 2" if column == "obs" else column):
            v.update_many(**columns)
    assert v.steps == 0
    assert v.weights.tolist() == [0, 0]


def test_constructor_and_parameters() -> None:
    for n in (0, -1):
        with pytest.raises(ValueError, match="n must be at least 1"):
            NStepTD(td.features.OneHot(2), 0.5, n)
    with pytest.raises(TypeError, match="n must be an integer"):
        NStepTD(td.features.OneHot(2), 0.5, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha"):
        NStepTD(td.features.OneHot(2), 0.0, 1)
    with pytest.raises(TypeError, match="features"):
        NStepTD(None, 0.5, 1)  # type: ignore[arg-type]
    v = NStepTD(td.features.OneHot(2), td.steps.OneOver("visits"), 3, initial=2.0, dtype="float32")
    fresh = type(v)(**v.get_params())
    assert fresh.get_params() == v.get_params()
    assert fresh.weights.tolist() == [2.0, 2.0]
    assert v.lambda_at(0) == 0.0
