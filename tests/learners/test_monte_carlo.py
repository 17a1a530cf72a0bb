"""Monte Carlo: by hand, against plain NumPy, against true online TD(1), and its state."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from searching import examples

import tdlambda as td
from tdlambda.learners.monte_carlo import MonteCarlo, first_visits

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)


class Stream(NamedTuple):
    """Random steps through a few states, γ and ρ at each of them, the last one an end."""

    X: Array
    s: Array
    r: Array
    gamma: Array
    rho: Array
    terminated: Array
    truncated: Array

    @property
    def columns(self) -> tuple[Array, ...]:
        return self.s[:-1], self.r, self.s[1:], self.gamma, self.rho, self.terminated, self.truncated


def stream(seed: int, on_policy: bool = False, cuts: bool = True, states: int = 6, T: int = 40) -> Stream:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(states, 4)) * (rng.random((states, 4)) < 0.7)
    gamma = rng.choice([0.0, 0.5, 0.9, 1.0], size=T, p=[0.1, 0.2, 0.4, 0.3])
    rho = np.ones(T) if on_policy else rng.choice([0.0, 0.4, 1.0, 1.7], size=T)
    ends = rng.random((2, T)) < 0.12
    ends[0, -1] = True
    return Stream(X, rng.integers(states, size=T + 1), rng.normal(size=T), gamma, rho, ends[0], ends[1] & cuts)


def reference(c: Stream, alpha: float, visit: str, w: Array) -> Array:
    w, start = w.copy(), 0
    for t in range(len(c.r)):
        if c.terminated[t] or c.truncated[t]:
            G = 0.0 if c.terminated[t] else float(w @ c.X[c.s[t + 1]])
            returns = []
            for k in range(t, start - 1, -1):
                G = c.rho[k] * (c.r[k] + (0.0 if c.terminated[k] else c.gamma[k]) * G)
                returns.append(G)
            seen: list[Array] = []
            for k, target in zip(range(start, t + 1), reversed(returns), strict=True):
                x = c.X[c.s[k]]
                if visit == "every" or not any(np.array_equal(x, old) for old in seen):
                    w += alpha * (target - w @ x) * x
                seen.append(x)
            start = t + 1
    return w


@pytest.mark.parametrize("visit", ["every", "first"])
@given(seed=SEEDS)
def test_plain_numpy_with_gamma_and_rho_at_every_step(visit: Any, seed: int) -> None:
    c = stream(seed)
    w = np.random.default_rng(seed).normal(size=4)
    learner = MonteCarlo(td.features.Table(c.X), 0.1, visit, initial=w)
    learner.update_many(*c.columns)
    np.testing.assert_allclose(learner.weights, reference(c, 0.1, visit, w), rtol=1e-10, atol=1e-12)


@examples(30)
@given(SEEDS)
def test_on_policy_each_terminated_episode_leaves_the_weights_of_true_online_td_1(seed: int) -> None:
    c = stream(seed, on_policy=True, cuts=False)
    mc, td1 = MonteCarlo(td.features.Table(c.X), 0.1), td.TrueOnlineTD(td.features.Table(c.X), 0.1, 1.0)
    for row in zip(*c.columns, strict=True):
        mc.update(*row)
        td1.update(*row)
        if row[5]:
            np.testing.assert_allclose(mc.weights, td1.weights, rtol=1e-10, atol=1e-12)


def test_nothing_before_the_end_then_all_in_order() -> None:
    v = MonteCarlo(td.features.OneHot(3), 0.5)
    v.update(0, 1.0, 1, gamma=0.5)
    v.update(1, 2.0, 0, gamma=0.5)
    assert v.weights.tolist() == [0, 0, 0]
    v.update(0, 4.0, 2, gamma=1.0, terminated=True)
    # G = 3, 4, 4; state 0 twice: 0 → 1.5 → 2.75
    assert v.weights.tolist() == [2.75, 2.0, 0.0]
    v.update(1, 1.0, 2, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [2.75, 1.5, 0.0]


def test_first_visit_takes_the_first_return_only() -> None:
    v = MonteCarlo(td.features.OneHot(3), 0.5, "first")
    v.update_many([0, 1, 0], [1.0, 2.0, 4.0], [1, 0, 2], 0.5, 1.0, [False, False, True])
    assert v.weights.tolist() == [1.5, 2.0, 0.0]


def test_truncation_bootstraps_and_starts_anew() -> None:
    v = MonteCarlo(td.features.OneHot(3), 0.5, initial=[0.0, 0.0, 8.0])
    v.update(0, 1.0, 1, gamma=0.5)
    v.update(1, 2.0, 2, gamma=0.5, truncated=True)
    assert v.weights.tolist() == [2.0, 3.0, 8.0]
    v.update(0, 0.0, 2, gamma=0.5, terminated=True, truncated=True)  # terminated wins
    assert v.weights.tolist() == [1.0, 3.0, 8.0]


def test_gamma_0_cuts_the_return_but_not_the_episode() -> None:
    v = MonteCarlo(td.features.OneHot(3), 1.0)
    v.update(0, 1.0, 1, gamma=0.0)
    assert v.weights[0] == 0
    v.update(1, 2.0, 2, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [1.0, 2.0, 0.0]


def test_rho_is_on_the_whole_bracket() -> None:
    v = MonteCarlo(td.features.OneHot(3), 0.5, initial=4.0)
    v.update_many([0, 1], [1.0, 2.0], [1, 2], 0.5, [2.0, 0.0], [False, True])
    assert v.weights.tolist() == [0.5 * 4 + 0.5 * 2.0, 2.0, 4.0]  # G = 2 (1 + ½·0), 0


def test_reset_forgets_the_episode_only() -> None:
    v = MonteCarlo(td.features.OneHot(2), 0.5)
    v.update(0, 100.0, 0, gamma=1.0)
    v.reset()
    v.update(1, 1.0, 0, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [0.0, 0.5]
    assert v.steps == 2


def test_one_over_visits_is_the_average_of_the_returns() -> None:
    ring = td.make("RingWorld-v0")
    c = ring.sampler(seed=3).take(2000)
    v = MonteCarlo(ring.features, td.steps.OneOver("visits"))
    v.update_many(c)
    last = int(np.flatnonzero(c.terminated)[-1]) + 1
    G, sums, counts = 0.0, np.zeros(11), np.zeros(11)
    for t in range(last - 1, -1, -1):
        G = float(c.rho[t] * (c.reward[t] + (0.0 if c.terminated[t] else c.gamma[t] * G)))
        sums[c.obs[t].astype(int)] += G
        counts[c.obs[t].astype(int)] += 1
    np.testing.assert_allclose(v.weights, sums / np.maximum(1, counts), rtol=1e-10)


def test_one_over_steps_counts_updates() -> None:
    v = MonteCarlo(td.features.OneHot(1), td.steps.OneOver("steps"), "first")
    v.update_many([0, 0], [1.0, 1.0], [0, 0], 1.0, 1.0, [False, True])  # one update, G = 2, α = 1
    v.update(0, 4.0, 0, gamma=1.0, terminated=True)  # the second, α = ½
    assert v.weights.tolist() == [3.0]
    assert v.steps == 3


def test_it_converges_off_policy() -> None:
    ring: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.35)
    v = MonteCarlo(ring.features, td.steps.OneOver("visits"))
    v.update_many(ring.sampler(seed=1).take(200_000))
    truth = ring.exact.v()
    assert np.abs(v.predict_many(range(1, 10)) - truth[1:10]).max() < 0.1


@pytest.mark.parametrize("on_policy", [True, False])
def test_with_shared_features_it_goes_to_the_least_mean_squared_error(on_policy: bool) -> None:
    """XᵀDX w = XᵀDv, with D how often states are visited: not a fixed point of TD, which bootstraps."""
    ring: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.4 if on_policy else 0.35)
    X = np.random.default_rng(3).normal(size=(11, 3))
    v, live = MonteCarlo(td.features.Table(X), td.steps.OneOver("steps", 20.0, 500.0)), slice(1, 10)
    steps = ring.sampler(seed=2).take(300_000)
    v.update_many(steps)
    d, truth = np.bincount(steps.obs.astype(int), minlength=11), ring.exact.v()
    exact = np.linalg.solve((X[live].T * d[live]) @ X[live], (X[live].T * d[live]) @ truth[live])
    biased = ring.exact.td_fixed_point(X, 0.0)
    off = np.abs(X[live] @ (v.weights - exact)).max()
    assert off < 0.05
    assert off < 0.3 * np.abs(X[live] @ (biased - exact)).max()


def test_first_visits_knows_padding_order_and_signed_zero() -> None:
    X = np.array([[0, 1], [1, 0], [3, 1], [1, 0], [1, 2]])
    Xv = np.array([[0.0, 2.0], [2.0, -0.0], [0.0, 2.0], [2.0, 1.0], [2.0, 1.0]])
    assert first_visits(X, Xv).tolist() == [True, False, False, True, True]


def test_dense_observations_that_differ_a_little_are_different_visits() -> None:
    v = MonteCarlo(td.features.Dense(1), td.steps.OneOver("steps"), "first")
    v.update_many([[1.0], [1.0 + 1e-15], [1.0]], np.ones(3), np.ones((3, 1)), 1.0, 1.0, [False, False, True])
    assert v._count["updates"] == 2


@examples(40)
@given(SEEDS, st.integers(0, 40), st.sampled_from(["every", "first"]), st.sampled_from(["float64", "float32"]))
def test_state_clone_and_chunks_continue_identically(seed: int, at: int, visit: Any, dtype: Any) -> None:
    c = stream(seed)
    whole = MonteCarlo(td.features.Table(c.X), td.steps.OneOver("visits", offset=3.0), visit, dtype=dtype)
    head, tail = [a[:at] for a in c.columns], [a[at:] for a in c.columns]
    half = MonteCarlo(**whole.get_params())
    half.update_many(*head)
    clone, restored = half.clone(), MonteCarlo(**whole.get_params())
    restored._restore({name: array.copy() for name, array in half._state().items()})
    whole.update_many(*c.columns)
    half.update_many(*tail)
    assert not any(np.shares_memory(a, b) for a in clone._state().values() for b in half._state().values())
    for row in zip(*tail, strict=True):
        clone.update(*row)
        restored.update(*row)
    for other in (half, clone, restored):
        assert other.weights.dtype == dtype
        np.testing.assert_array_equal(other.weights, whole.weights)
        assert other.steps == whole.steps == len(c.r)


def test_state_that_does_not_fit_is_refused() -> None:
    v = MonteCarlo(td.features.OneHot(3), td.steps.OneOver("visits"))
    v.update(0, 1.0, 1, gamma=1.0)
    good = {name: array.copy() for name, array in v._state().items()}

    def refused(name: str, array: Array | None) -> None:
        state = {k: a.copy() for k, a in good.items() if k != name} | ({} if array is None else {name: array})
        other = MonteCarlo(td.features.OneHot(3), td.steps.OneOver("visits"))
        with pytest.raises(ValueError, match="state"):
            other._restore(state)
        assert other.steps == 0
        assert other.weights.tolist() == [0, 0, 0]

    def changed(name: str, at: Any, value: Any) -> Array:
        array = good[name].copy()
        named = {"counts": v._count.dtype, "numbers": v._number.dtype}
        array.view(named.get(name, array.dtype))[at] = value
        return array

    for name in good:
        refused(name, None)
        refused(name, good[name][..., :0])
        refused(name, good[name].view(np.uint64))
        refused(name, np.array(0.0))
    refused("other", np.zeros(1))
    refused("X", changed("X", 0, 3))
    refused("X", changed("X", 0, -1))
    refused("Xv", changed("Xv", 0, np.nan))
    for name, value in (
        ("reward", np.inf), ("gamma", 1.5), ("gamma", -0.5), ("gamma", np.nan), ("rho", -1.0), ("rho", np.inf),
        ("lam", 2.0), ("weights", np.nan), ("visits", -1.0), ("visits", np.inf),
    ):  # fmt: skip
        refused(name, changed(name, 0, value))
    for name in ("seen", "diverged_at", "updates", "stored", "head"):
        refused("counts", changed("counts", name, -2))
    refused("counts", changed("counts", "diverged_at", 7))  # at a step to come
    refused("counts", changed("counts", "stored", 2))  # more than there are
    refused("counts", changed("counts", "head", 1))
    for name in ("alpha", "offset", "power", "bound", "factor", "start"):  # another schedule, other limits
        refused("numbers", changed("numbers", name, 7.0))
        refused("numbers", changed("numbers", name, np.nan))
    refused("numbers", changed("numbers", "most_target", -1.0))
    refused("numbers", changed("numbers", "most_target", np.nan))
    for alpha in (1.0, td.steps.OneOver("steps"), td.steps.OneOver("visits", power=0.5)):
        with pytest.raises(ValueError, match="state"):
            MonteCarlo(td.features.OneHot(3), alpha)._restore(good)


def test_divergence_is_raised_once_and_freezes() -> None:
    v = MonteCarlo(td.features.OneHot(2), 3.0, bound=10.0)
    with pytest.raises(td.Diverged) as caught:  # V(0) is 3, -3, 9, -15, and no return larger than 1
        v.update_many([0] * 6, np.ones(6), [1] * 6, gamma=1.0, terminated=True)
    assert caught.value.step == v.diverged_at == v.steps == 4
    v.update(1, 5.0, 1, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [-15.0, 0.0]
    assert v.clone().diverged_at == 4
    flagged = MonteCarlo(td.features.OneHot(2), 3.0, bound=10.0, on_divergence="flag")
    flagged.update_many([0] * 6, np.full(6, 1e9), [1] * 6, gamma=1.0, terminated=True)
    assert flagged.diverged_at == 4


def test_bad_input_changes_nothing() -> None:
    v = MonteCarlo(td.features.OneHot(2), 0.5)
    for bad, error in (
        ({"reward": np.nan}, ValueError),
        ({"reward": "a"}, TypeError),
        ({"gamma": 1.1}, ValueError),
        ({"rho": -1.0}, ValueError),
        ({"obs": 2}, Exception),
        ({"next_obs": -1}, Exception),
    ):
        with pytest.raises(error):
            v.update(**({"obs": 0, "reward": 1.0, "next_obs": 1, "gamma": 1.0, "terminated": True} | bad))
    with pytest.raises(ValueError, match=r"gamma.*row 1"):
        v.update_many([0, 1], [1.0, 1.0], [1, 0], [1.0, 2.0], 1.0, True)
    assert v.steps == 0
    assert v.weights.tolist() == [0, 0]
    v.update_many(np.zeros(0, int), [], np.zeros(0, int), gamma=1.0)
    assert v.steps == 0


class Wrong(td.features.OneHot):
    """An encoder that breaks its word."""

    index, value, length = 5, 1.0, 1

    def encode(self, observation: Any) -> tuple[Array, Array]:
        n = self.length if observation else 1
        return np.full(n, self.index if observation else 0), np.full(n, self.value)


@pytest.mark.parametrize(
    "wrong", [{"index": 5}, {"index": -1}, {"index": 0, "value": np.nan}, {"index": 0, "length": 2}]
)
def test_an_encoder_that_breaks_its_word_is_refused(wrong: dict[str, Any]) -> None:
    features = Wrong(2)
    vars(features).update(wrong)
    v = MonteCarlo(features, 0.5)
    with pytest.raises(ValueError, match=r"features: Wrong\.encode must return"):
        v.update(1, 1.0, 0, gamma=1.0)
    with pytest.raises(ValueError, match=r"features: Wrong\.encode must return"):
        v.update(0, 1.0, 1, gamma=1.0)
    assert v.steps == 0


def test_constructor() -> None:
    one_hot, bad_visit, bad_dtype, bad_on = td.features.OneHot(2), "last", "int", "stop"
    with pytest.raises(TypeError, match="features"):
        MonteCarlo(3, 0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="alpha"):
        MonteCarlo(one_hot, "a")  # type: ignore[arg-type]
    for alpha in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="alpha"):
            MonteCarlo(one_hot, alpha)
    with pytest.raises(ValueError, match="visit"):
        MonteCarlo(one_hot, 0.1, bad_visit)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="initial"):
        MonteCarlo(one_hot, 0.1, initial=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="initial"):
        MonteCarlo(one_hot, 0.1, initial=np.nan)
    with pytest.raises(ValueError, match="bound"):
        MonteCarlo(one_hot, 0.1, bound=0.0)
    with pytest.raises(ValueError, match="dtype"):
        MonteCarlo(one_hot, 0.1, dtype=bad_dtype)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on_divergence"):
        MonteCarlo(one_hot, 0.1, on_divergence=bad_on)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="lam"):
        MonteCarlo(one_hot, 0.1, lam=0.5)  # type: ignore[call-arg]


def test_parameters_build_an_equal_fresh_learner() -> None:
    v = MonteCarlo(
        td.features.OneHot(2), td.steps.OneOver("steps"), "first", initial=[1.0, 2.0], bound=9.0, on_divergence="flag"
    )
    v.update(0, 1.0, 1, gamma=1.0, terminated=True)
    fresh = type(v)(**v.get_params())
    assert fresh.get_params() == v.get_params()
    assert repr(fresh) == repr(v)
    assert fresh.weights.tolist() == [1.0, 2.0]
    assert v.lambda_at(0) == 1.0
    with pytest.raises(ValueError, match="read-only"):
        v.weights[0] = 1.0
