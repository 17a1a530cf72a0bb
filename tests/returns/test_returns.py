"""Returns against an obvious recursion with γ, λ and ρ different at every step, our learners, and exact values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from foreign import FakeJax, FakeTorch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from searching import examples

import tdlambda as td
from tdlambda.returns import gae, lambda_returns, retrace, vtrace
from tdlambda.returns.scan import scan

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)
Step = dict[str, float]


def arrays(seed: int, shape: tuple[int, int] = (30, 4), rho: bool = True) -> dict[str, Array]:
    """Arguments with everything different at every step; value_next is value[t + 1] only inside episodes."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {name: rng.normal(size=shape) for name in ("reward", "value", "value_next")}
    made["gamma"], made["lam"] = rng.random(shape), rng.random(shape)
    made["terminated"], made["truncated"] = rng.random(shape) < 0.1, rng.random(shape) < 0.1
    inside = ~(made["terminated"] | made["truncated"])[:-1]
    made["value_next"][:-1][inside] = made["value"][1:][inside]
    return made | ({"rho": rng.choice([0.0, 0.4, 1.0, 2.5], size=shape)} if rho else {})


def one_by_one(a: dict[str, Array], formula: Callable[[dict[str, float], float], tuple[float, float]]) -> Array:
    """The formula applied backwards to one environment after the other; it gives an output and what flows back."""
    out: Array = np.zeros_like(a["reward"])
    for n in range(out.shape[1]):
        back = 0.0
        for t in range(len(out) - 1, -1, -1):
            step = {name: float(column[t, n]) for name, column in a.items()}
            if step["terminated"]:
                step["gamma"], step["value_next"] = 0.0, 0.0
            if step["terminated"] or step["truncated"] or t == len(out) - 1:
                back = 0.0
            out[t, n], back = formula(step, back)
    return out


def control_variates(s: Step, later: float) -> tuple[float, float]:
    """Σ of corrected TD errors: what flows back is T - V."""
    K = s["rho"] * (s["reward"] + s["gamma"] * (s["value_next"] + s["lam"] * later) - s["value"])
    return s["value"] + K, K


def of_action(s: Step, later: float) -> tuple[float, float]:
    A = s["reward"] + s["gamma"] * (s["value_next"] + s["lam"] * later) - s["value"]
    return A, s["rho"] * A


def of_v_trace(s: Step, later: float, p: float = 0.9, q: float = 0.7) -> tuple[float, float]:
    delta = s["reward"] + s["gamma"] * s["value_next"] - s["value"]
    K = min(p, s["rho"]) * delta + min(q, s["rho"]) * s["gamma"] * s["lam"] * later
    return s["value"] + K, K


def of_retrace(s: Step, later: float) -> tuple[float, float]:
    G = s["reward"] + s["gamma"] * (s["value_next"] + s["lam"] * later)
    return G, min(1.0, s["rho"]) * (G - s["value"])


@given(SEEDS)
def test_every_function_is_its_recursion(seed: int) -> None:
    a = arrays(seed)
    np.testing.assert_allclose(lambda_returns(**a), one_by_one(a, control_variates), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gae(**a).advantage, one_by_one(a, of_action), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gae(**a).target, lambda_returns(**a), rtol=1e-12, atol=1e-12)
    v = vtrace(**a, rho_max=0.9, c_max=0.7)
    np.testing.assert_allclose(v.target, one_by_one(a, of_v_trace), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        v.advantage,
        a["reward"] + np.where(a["terminated"], 0, a["gamma"]) * next_targets(a, v.target) - a["value"],
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    q = {**a, "value": np.random.default_rng(seed).normal(size=a["value"].shape)}  # q(s, a) is not V(s)
    np.testing.assert_allclose(retrace(**q), one_by_one(q, of_retrace), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        vtrace(**a, rho_max=np.inf, c_max=np.inf).target, lambda_returns(**a), rtol=1e-12, atol=1e-12
    )


def next_targets(a: dict[str, Array], target: Array) -> Array:
    """V(s_{t+1}) + λ (T_{t+1} - V(s_{t+1})), and V(s_{t+1}) where an episode ends."""
    ends = a["terminated"] | a["truncated"]
    ends[-1] = True
    later = np.vstack((target[1:] - a["value"][1:], np.zeros(target.shape[1])))
    return a["value_next"] + np.where(ends, 0, a["lam"] * later)


@given(SEEDS)
def test_on_policy_and_its_extremes(seed: int) -> None:
    a = arrays(seed, rho=False)
    ones = {**a, "rho": np.ones((30, 4))}
    np.testing.assert_allclose(lambda_returns(**a), lambda_returns(**ones), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gae(**a).advantage, lambda_returns(**a) - a["value"], rtol=1e-12, atol=1e-12)
    one_step = a["reward"] + np.where(a["terminated"], 0, a["gamma"] * a["value_next"])
    np.testing.assert_allclose(lambda_returns(**{**a, "lam": 0.0}), one_step, rtol=1e-12)
    decoupled = gae(**{**a, "lam": 0.3}, lam_critic=a["lam"])
    np.testing.assert_array_equal(decoupled.target, gae(**a).target)
    np.testing.assert_array_equal(decoupled.advantage, gae(**{**a, "lam": 0.3}).advantage)


@examples(20)
@given(SEEDS)
def test_forms_agree(seed: int) -> None:
    """[T, N], its columns [T], a list of episodes, more axes, and numbers that are the same for all."""
    a = arrays(seed)
    whole = lambda_returns(**a)
    for n in range(4):
        column = {name: x[:, n] for name, x in a.items()}
        np.testing.assert_array_equal(lambda_returns(**column), whole[:, n])
        ends = np.flatnonzero((column["terminated"] | column["truncated"])[:-1]) + 1
        parts = {name: np.split(x, ends) for name, x in column.items()}
        found = lambda_returns(**parts)
        assert [len(part) for part in found] == [len(part) for part in parts["reward"]]
        np.testing.assert_array_equal(np.concatenate(found), whole[:, n])
        flags = {name: [bool(part[-1]) for part in parts[name]] for name in ("terminated", "truncated")}
        np.testing.assert_array_equal(np.concatenate(lambda_returns(**{**parts, **flags})), whole[:, n])
    folded = {name: x.reshape(30, 2, 2) for name, x in a.items()}
    np.testing.assert_array_equal(lambda_returns(**folded), whole.reshape(30, 2, 2))
    for shape in ((30, 1), (1, 4)):
        some = {name: a[name][: shape[0], : shape[1]] for name in ("gamma", "lam", "rho")}
        full = {name: np.broadcast_to(x, (30, 4)) for name, x in some.items()}
        np.testing.assert_array_equal(lambda_returns(**{**a, **some}), lambda_returns(**{**a, **full}))
    wide = {name: np.tile(x, (1, 300)) for name, x in a.items()}  # more than one block of environments
    np.testing.assert_array_equal(lambda_returns(**wide), np.tile(whole, (1, 300)))


@examples(20)
@given(SEEDS)
def test_targets_are_the_offline_sums_of_our_learners(seed: int) -> None:
    """With weights held, Σ α ρ δ z of TD(λ) is Σ α (T_t - V_t) x_t."""
    rng, n = np.random.default_rng(seed), 25
    X, w = rng.normal(size=(n + 1, 3)), rng.normal(size=3)
    a = {name: x[:, 0] for name, x in arrays(seed, (n, 1)).items()}
    lam = rng.random(n + 1)
    a |= {"value": X[:-1] @ w, "value_next": X[1:] @ w, "lam": lam[1:]}
    s = np.arange(n + 1)
    a["terminated"][-1] = True  # the learner waits for the end
    v = td.LambdaReturn(td.features.Table(X), 0.1, td.rules.PerState(lam), hold=True, initial=w)
    moved = w.copy()
    for t in np.split(np.arange(n), np.flatnonzero((a["terminated"] | a["truncated"])[:-1]) + 1):
        part = {name: x[t] for name, x in a.items()} | {"value": X[:-1][t] @ moved, "value_next": X[1:][t] @ moved}
        moved = moved + 0.1 * (lambda_returns(**part) - part["value"]) @ X[:-1][t]
    v.update_many(s[:-1], a["reward"], s[1:], a["gamma"], a["rho"], a["terminated"], a["truncated"])
    np.testing.assert_allclose(v.weights, moved, rtol=1e-10, atol=1e-12)


def test_off_policy_targets_have_the_exact_mean() -> None:
    """E_b[T_t | s_t] is the exact λ-return of the MDP, from any V; and v itself if V = v."""
    ring: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.35)
    steps = ring.sampler(seed=1).take(200_000)
    V = np.linspace(0, 2, ring.mdp.n_states)
    ends = {"gamma": steps.gamma, "rho": steps.rho, "terminated": steps.terminated, "truncated": steps.truncated}
    T = lambda_returns(steps.reward, V[steps.obs], V[steps.next_obs], lam=0.7, **ends)
    exact = ring.exact.lambda_return(V, 0.7, correction="control-variate").mean
    for s in range(1, 10):
        here = T[steps.obs == s]
        assert abs(here.mean() - exact[s]) < 4 * here.std() / np.sqrt(len(here) / 10)


def test_single_precision_over_ten_thousand_steps() -> None:
    rng = np.random.default_rng(0)
    shape = (10_000, 3)
    reward, value = rng.normal(size=(2, *shape)).astype(np.float32)
    last = np.vstack((value[1:], value[:1]))
    for gamma, lam in ((0.999, 1.0), (1.0, 0.95), (rng.random(shape).astype(np.float32) * 0.01 + 0.99, 1.0)):
        options: Any = {"gamma": gamma, "lam": lam, "terminated": rng.random(shape) < 1e-3, "truncated": False}
        single = lambda_returns(reward, value, last, **options)
        double = lambda_returns(*(x.astype(float) for x in (reward, value, last)), **options)
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        assert np.abs(single - double).max() < 1e-5 * max(1.0, np.abs(double).max())


@pytest.mark.parametrize("kind", [FakeTorch, FakeJax])
def test_arrays_of_other_libraries_come_back_as_they_came(kind: Any) -> None:
    a = arrays(3)
    there = {name: kind(x) for name, x in a.items()}
    found = gae(**there)
    for ours, theirs in zip(gae(**a), found, strict=True):
        assert isinstance(theirs, kind)
        np.testing.assert_array_equal(theirs.inner, ours)
    single = {name: kind(x.astype(np.float32) if x.dtype == float else x) for name, x in a.items()}
    assert lambda_returns(**single).inner.dtype == np.float32
    whole = {**there, "reward": kind(np.ones((30, 4), dtype=np.int64)), "value": a["value"], "value_next": 0.0}
    assert lambda_returns(**whole).inner.dtype == np.float64
    episodes = {name: [kind(x[:20, 0]), kind(x[20:, 0])] for name, x in a.items()}
    assert [type(x) for x in lambda_returns(**episodes)] == [kind, kind]


def test_torch_itself() -> None:
    torch = pytest.importorskip("torch")
    a = arrays(3)
    there = {name: torch.tensor(x) for name, x in a.items()}
    there["value"].requires_grad_(True)
    found = gae(**there)
    assert torch.is_tensor(found.advantage)
    assert not found.target.requires_grad
    np.testing.assert_array_equal(found.target.numpy(), gae(**a).target)
    half = {name: x.detach().to(torch.bfloat16) if x.is_floating_point() else x for name, x in there.items()}
    assert lambda_returns(**half).dtype == torch.bfloat16


def test_jax_itself() -> None:
    jnp = pytest.importorskip("jax.numpy")
    a = {name: x.astype(np.float32) if x.dtype == float else x for name, x in arrays(3).items()}
    found = lambda_returns(**{name: jnp.asarray(x) for name, x in a.items()})
    assert type(found) is type(jnp.zeros(3))
    np.testing.assert_array_equal(np.asarray(found), lambda_returns(**a))


def test_arrays_that_cannot_be_written_are_read() -> None:
    a = arrays(5)
    for x in a.values():
        x.setflags(write=False)
    compiled = len(getattr(scan, "overloads", ()))
    np.testing.assert_array_equal(lambda_returns(**a), lambda_returns(**{name: x.copy() for name, x in a.items()}))
    assert len(getattr(scan, "overloads", ())) <= compiled + 1  # the same machine code for both


def test_what_is_not_known_at_a_termination_is_not_read() -> None:
    out = lambda_returns([1.0, 2.0], [0.0, 0.0], [5.0, np.nan], gamma=1.0, lam=1.0, terminated=[0, 1], truncated=False)
    assert out.tolist() == [1 + 5 + (2 - 0), 2.0]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "lengths that differ": ({"value": np.zeros(4)}, r"value must have shape \(3,\), as reward has; got \(4,\): pass"),
    "one axis too many": ({"value": np.zeros((3, 1))}, r"drop the last axis, value\[..., 0\]"),
    "NaN": ({"reward": [1.0, np.nan, 2.0]}, r"reward must be finite; got nan \(step 1\)"),
    "infinite": ({"value_next": [1.0, np.inf, 2.0]}, r"value_next must be finite; got inf \(step 1\)"),
    "γ above 1": ({"gamma": 1.5}, r"gamma must be in \[0, 1\]; got 1.5"),
    "γ of a step": ({"gamma": [0.9, -0.1, 0.5]}, r"gamma must be in \[0, 1\]; got -0.1 \(step 1\)"),
    "λ": ({"lam": np.nan}, r"lam must be in \[0, 1\]; got nan"),
    "negative ρ": ({"rho": -1.0}, "rho must be finite and not negative; got -1.0"),
    "ρ 0": ({"rho": 0.0}, "rho is 0 at every step: the target policy takes none"),
    "infinite ρ": ({"rho": [1.0, np.inf, 1.0]}, r"rho must be finite and not negative; got inf \(step 1\)"),
    "no steps": ({"reward": []}, "at least one step"),
    "a number": ({"reward": 1.0}, "at least one step"),
    "flags": ({"terminated": [0, 0.5, 1]}, "terminated must be True or False; got 0.5"),
    "too large": ({"reward": np.full(3, 1e308), "value_next": np.full(3, 1e308), "gamma": 1.0}, "too large for"),
}
GOOD: dict[str, Any] = {
    "reward": np.ones(3), "value": np.zeros(3), "value_next": np.zeros(3), "gamma": 0.9, "lam": 0.9,
    "terminated": False, "truncated": False,
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case: str) -> None:
    given, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        lambda_returns(**{**GOOD, **given})


def test_text_done_and_forgotten_ends() -> None:
    with pytest.raises(TypeError, match="reward must be numbers"):
        lambda_returns(**{**GOOD, "reward": ["a", "b", "c"]})
    with pytest.raises(TypeError, match="rho must be numbers; got flags"):
        lambda_returns(**{**GOOD, "rho": [True, False, True]})
    some = {name: x for name, x in GOOD.items() if name not in ("terminated", "truncated")}
    with pytest.raises(TypeError, match="no argument done; pass terminated and truncated"):
        lambda_returns(**some, done=False)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="lambda_returns needs truncated: pass truncated=…"):
        lambda_returns(**some, terminated=False)
    with pytest.raises(TypeError, match="no argument next_values; did you mean 'value_next'"):
        gae(np.ones(3), np.ones(3), next_values=np.ones(3))  # type: ignore[call-arg]
    for name in ("rho_max", "c_max"):
        with pytest.raises(ValueError, match=f"{name} must be positive"):
            vtrace(**{**GOOD, "rho": 1.0, name: 0.0})


def test_time_first() -> None:
    a = arrays(1, (30, 4), rho=False)
    swapped = {name: x.T.copy() for name, x in a.items()}
    with pytest.raises(ValueError, match="the second axis is time: pass arrays with time first"):
        lambda_returns(**swapped)
    with pytest.raises(ValueError, match="the axes are swapped; time comes first"):
        lambda_returns(**{**a, "gamma": swapped["gamma"]})
    square = {name: x[:4] for name, x in a.items()}
    with pytest.raises(ValueError, match=r"T and N are both 4, so it could mean either; write gamma\[:, None\]"):
        lambda_returns(**{**square, "gamma": np.ones(4)})
    with pytest.raises(ValueError, match=r"write lam\[:, None\] for one number a step"):
        lambda_returns(**{**a, "lam": np.ones(30)})


def test_lists_of_episodes_that_do_not_fit() -> None:
    good = {"reward": [np.ones(2), np.ones(3)], "gamma": 0.9, "lam": 0.9, "terminated": True, "truncated": False}
    zero = [np.zeros(2), np.zeros(3)]
    lambda_returns(**good, value=zero, value_next=zero)
    with pytest.raises(ValueError, match="value: episode 1 must have 3 steps, as in reward; got 2"):
        lambda_returns(**good, value=[np.zeros(2), np.zeros(2)], value_next=zero)
    with pytest.raises(ValueError, match="value must be a list of 2 episodes"):
        lambda_returns(**good, value=[np.zeros(2)], value_next=zero)
    with pytest.raises(ValueError, match="terminated must have a flag for each of 2 episodes; got 3"):
        lambda_returns(**{**good, "terminated": [True, True, False]}, value=zero, value_next=zero)
    with pytest.raises(ValueError, match="episode 1 of the list has no steps"):
        lambda_returns(**{**good, "reward": [np.ones(2), np.ones(0)]}, value=zero, value_next=zero)
