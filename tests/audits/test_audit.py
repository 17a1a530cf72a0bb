"""`td.audit` against exact values, return errors, plain recursions, and itself in other forms."""

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.audits import data as audit_data
from tdlambda.audits.comparing import combined, plain
from tdlambda.audits.data import AuditedSteps
from tdlambda.audits.scores import FOLDS, scores
from tdlambda.audits.sums import add_scores, add_systems

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)
WALK: Any = td.make("RandomWalk-v0", "19")
RING: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.3)


def stepped(task: Any, n: int, seed: int = 1, limit: int = 0) -> Any:
    """Transitions and ends; with a limit, episodes are cut after that many steps, where the stream goes on."""
    s = task.sampler(seed).take(n)
    cut = np.zeros(n, dtype=bool)
    if limit:
        age = 0
        for t in range(n):
            age += 1
            cut[t] = age >= limit and not s.terminated[t]
            age = 0 if s.terminated[t] or cut[t] else age
    return s, {"gamma": s.gamma, "rho": s.rho, "terminated": s.terminated, "truncated": cut}


def critics(v: Array, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    near, far = v + 0.05 * rng.normal(size=v.size), v + 0.3 * rng.normal(size=v.size)
    return {"near": near, "far": far, "flat": np.full(v.size, float(v.mean()))}


def pairs(some: dict[str, Array], s: Any) -> dict[str, Any]:
    return {name: (V[s.obs], V[s.next_obs]) for name, V in some.items()}


def errors(some: dict[str, Array], v: Array, s: Any) -> Array:
    """Mean squared errors over the visited states."""
    return np.array([np.mean((V[s.obs] - v[s.obs]) ** 2) for V in some.values()])


# ---- correctness ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "limit"), [(WALK, 0), (RING, 0), (WALK, 25), (td.make("Garnet-v0", seed=5), 0)])
def test_differences_are_those_of_the_exact_errors(task: Any, limit: int) -> None:
    """With many steps, on- and off-policy, with time limits and in a stream."""
    s, options = stepped(task, 60_000, limit=limit)
    v = task.exact.v()
    some = critics(v)
    true = errors(some, v, s)
    report = td.audit(pairs(some, s), s.reward, **options)
    apart = true[:, None] - true
    half = (report.high - report.low) / 2
    assert (np.abs(report.difference - apart) <= 1.6 * half + 1e-12).all()  # about three standard errors
    assert half[0].max() < 1.1 * apart[:, 0].max()
    assert report.best == "near"
    assert np.abs(report.error - true).max() < 0.6 * true.max()


def test_raw_scores_are_return_errors_on_policy() -> None:
    """Over whole episodes, (V - G)² - (W - G)² exactly, whatever the reference is."""
    s, options = stepped(WALK, 4000)
    end = int(np.flatnonzero(s.terminated)[-1]) + 1
    some = critics(WALK.exact.v())
    columns = {k: np.asarray(x)[:end] for k, x in options.items()}
    V = [(W[s.obs[:end]], W[s.next_obs[:end]]) for W in some.values()]
    found = scores(steps_of(V, s.reward[:end], columns))
    G = td.returns.lambda_returns(s.reward[:end], 0.0, 0.0, lam=1.0, **columns)
    unit = np.concatenate(([0], np.cumsum(columns["terminated"][:-1])))
    for k, (here, _) in enumerate(V[1:], start=1):
        expected = np.bincount(unit, weights=(here - G) ** 2 - (V[0][0] - G) ** 2)
        np.testing.assert_allclose(found.raw[k] - found.raw[0], expected, rtol=1e-9, atol=1e-9)


def column(x: Any) -> Array:
    return np.asarray(x).reshape(-1, 1)


def steps_of(values: list[Any], reward: Array, columns: dict[str, Array]) -> AuditedSteps:
    cut = columns["truncated"].copy()
    cut[-1] |= not columns["terminated"][-1]
    return AuditedSteps(
        [(column(a), column(b)) for a, b in values], column(reward), column(columns["gamma"]), column(columns["rho"]),
        column(columns["terminated"]), column(cut),
    )  # fmt: skip


@given(SEEDS)
def test_passes_are_their_definition(seed: int) -> None:
    """The two compiled passes against plain NumPy, with everything different at every step."""
    rng = np.random.default_rng(seed)
    n, K, D = 40, 2, 3
    C, C_next = rng.normal(size=(2, K + D - 2, n))
    K = 2
    r, rho = rng.normal(size=n), rng.random(n) * 2
    g, ends = rng.random(n), rng.random(n) < 0.1
    fold, unit = rng.integers(FOLDS, size=n), np.sort(rng.integers(4, size=n))
    mean, P = rng.normal(size=len(C)), rng.normal(size=(2, len(C)))
    x, y = (np.vstack((np.ones(n), P @ (X - mean[:, None]))) for X in (C, C_next))
    A, b, S = np.zeros((FOLDS, 3, 3)), np.zeros((FOLDS, 3)), np.zeros((FOLDS, 3, 3))
    VX, count = np.zeros((FOLDS, K, 3)), np.zeros(FOLDS)
    columns = (C, C_next, r, g, rho)
    add_systems(columns, fold, mean, P, np.zeros(3), np.zeros(3), (A, b, S, VX, count))
    for f in range(FOLDS):
        m = fold == f
        np.testing.assert_allclose(A[f], (rho * x)[:, m] @ (x - g * y)[:, m].T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(b[f], (rho * r * x)[:, m].sum(1), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(S[f], x[:, m] @ x[:, m].T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(VX[f], C[:K, m] @ x[:, m].T, rtol=1e-9, atol=1e-9)
    u, zhat = rng.normal(size=(3, FOLDS, 1 + len(C))), rng.normal(size=(3, FOLDS, K, 1 + len(C)))
    sums, ratios, steps = np.zeros((5, K, 4)), np.zeros(4), np.zeros(4)
    add_scores(columns, ends, fold, unit, u, zhat, np.zeros(K), np.zeros(2), sums, ratios, steps)
    X, Y = (np.vstack((np.ones(n), Z)) for Z in (C, C_next))
    expected, z = np.zeros((5, K, 4)), np.zeros(K)
    for t in range(n):
        e = unit[t]
        at = [float(u[k, fold[t]] @ X[:, t]) for k in range(3)]
        delta = [rho[t] * (r[t] + g[t] * float(u[k, fold[t]] @ Y[:, t]) - at[k]) for k in range(3)]
        hats = zhat[:, fold[t]] @ X[:, t]
        c = C[:K, t] - at[0]
        z = z + c
        expected[0, :, e] += c**2 - 2 * delta[0] * z
        expected[1, :, e] += c**2 - 2 * delta[0] * hats[0]
        expected[2, :, e] += (C[:K, t] - at[1]) * (C[:K, t] - at[2]) - delta[2] * hats[1] - delta[1] * hats[2]
        for k in (1, 2):
            expected[2 + k, :, e] += (C[:K, t] - at[k]) ** 2 - 2 * delta[k] * hats[k]
        z = z * (0 if ends[t] else rho[t] * g[t])
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(steps, np.bincount(unit, minlength=4))


def test_the_expected_form_is_unbiased_at_time_limits_where_the_raw_form_is_not() -> None:
    """With exact tables for basis: traces cut off by a limit bias the raw form by what the reference misses."""
    s, options = stepped(WALK, 200_000, limit=8)
    v = WALK.exact.v()
    some = critics(v)
    V = pairs(some, s)
    table = np.eye(v.size)[:, 1:-1]
    plain_report = td.audit(V, s.reward, **options)
    rich = td.audit(V, s.reward, features=(table[s.obs], table[s.next_obs]), **options)
    true = errors(some, v, s)
    apart = true[:, None] - true
    assert np.abs(rich.difference - apart).max() < 0.01
    assert (rich.high - rich.low).max() < (plain_report.high - plain_report.low).max()


def test_combination_of_the_two_forms() -> None:
    rng = np.random.default_rng(0)
    n, steps = 500, np.ones(500)
    noisy, calm = 1.0 + rng.normal(size=n), 1.0 + 0.1 * rng.normal(size=n)
    agree = combined(noisy, calm, steps)
    assert abs(agree.value - 1) < 0.1
    assert agree.error < 0.5 * plain(noisy, steps).error * 2
    biased = combined(noisy, calm - 1.0, steps)  # the difference of the forms is far from noise: the raw one counts
    assert abs(biased.value - noisy.mean()) < 0.01
    assert agree.carried > 400
    rare = np.zeros(n)
    rare[3] = 50.0
    assert plain(rare, steps).carried < 5


# ---- forms ---------------------------------------------------------------------------------------------------------


def rectangular(n: int = 8, T: int = 600) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Arrays [T, N] of several streams side by side."""
    streams = [stepped(WALK, T, seed=k) for k in range(n)]
    columns = [{**o, "reward": s.reward, "obs": s.obs, "next_obs": s.next_obs} for s, o in streams]
    every = {k: np.stack([np.asarray(one[k]) for one in columns], axis=1) for k in columns[0]}
    options = {k: every[k] for k in ("gamma", "rho", "terminated", "truncated", "reward")}
    some = critics(WALK.exact.v())
    obs, after = every["obs"], every["next_obs"]
    values = {name: (V[obs], V[after]) for name, V in some.items()}
    return values, options, (obs, after, some)


def episodes(x: Array) -> list[Array]:
    return [x[:, n] for n in range(x.shape[1])]


def assert_same(a: td.audits.Audit, b: td.audits.Audit) -> None:
    for name in ("difference", "low", "high", "probability", "error"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-7, atol=1e-9)


def test_forms_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """[T, N], a list of episodes, functions of observations, PyTorch-like tensors, and small parts."""
    values, options, (obs, after, some) = rectangular()
    report = td.audit(values, **options)
    lists: dict[str, Any] = {k: episodes(x) for k, x in options.items()}
    listed = td.audit({k: (episodes(a), episodes(b)) for k, (a, b) in values.items()}, **lists)
    assert_same(report, listed)
    called = td.audit({k: lambda s, V=V: V[s] for k, V in some.items()}, **options, obs=obs, next_obs=after)
    assert_same(report, called)
    monkeypatch.setattr(audit_data, "PART", 777)
    assert_same(report, td.audit(values, **options))
    assert report.units > 20
    assert not report.blocks


def test_single_precision_and_tensors() -> None:
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "returns"))
    from foreign import FakeTorch

    values, options, _ = rectangular()
    report = td.audit(values, **options)
    tensors = {k: tuple(FakeTorch(x) for x in pair) for k, pair in values.items()}
    there: dict[str, Any] = {k: FakeTorch(x) for k, x in options.items()}
    assert_same(report, td.audit(tensors, **there))
    single = td.audit({k: tuple(x.astype(np.float32) for x in p) for k, p in values.items()}, **options)
    np.testing.assert_allclose(single.difference, report.difference, rtol=1e-4, atol=1e-5)


def test_learners_are_judged_before_each_update() -> None:
    """A learner that goes on learning is audited by its predictions before updates; it is not changed."""
    s, options = stepped(WALK, 3000)
    fast, slow = (td.TrueOnlineTD(WALK.features, alpha=a, lam=0.9) for a in (0.1, 0.0001))
    report = td.audit({"fast": fast, "slow": slow}, s.reward, obs=s.obs, next_obs=s.next_obs, **options)
    here, after = np.empty((2, 2, 3000))
    for k, learner in enumerate((fast.clone(), slow.clone())):
        for t in range(3000):
            here[k, t], after[k, t] = learner.predict(s.obs[t]), learner.predict(s.next_obs[t])
            row = (s.obs[t], s.reward[t], s.next_obs[t], s.gamma[t], 1.0, bool(s.terminated[t]))
            learner.update(*row)
    assert_same(report, td.audit({n: (here[k], after[k]) for k, n in enumerate(("fast", "slow"))}, s.reward, **options))
    assert fast.steps == 0
    assert report.best == "fast"
    assert not any("learned" in remark for remark in report.remarks)


def test_scale_and_order_do_not_matter() -> None:
    values, options, _ = rectangular()
    report = td.audit(values, **options)
    for scale in (1e-6, 1e6):
        scaled = {k: (scale * a, scale * b) for k, (a, b) in values.items()}
        other = td.audit(scaled, **{**options, "reward": scale * options["reward"]})
        np.testing.assert_allclose(other.difference / scale**2, report.difference, rtol=1e-6)
        np.testing.assert_allclose(other.probability, report.probability, rtol=1e-6)
    turned = td.audit(dict(reversed(values.items())), **options)
    np.testing.assert_allclose(turned.difference[::-1, ::-1], report.difference, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(report.difference, -report.difference.T, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(report.probability + report.probability.T, 1, rtol=1e-9)


def test_memory_is_linear() -> None:
    def peak(n: int) -> int:
        s, options = stepped(WALK, n)
        V = pairs(critics(WALK.exact.v()), s)
        td.audit(V, s.reward, **options)
        tracemalloc.start()
        td.audit(V, s.reward, **options)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(400_000) < 4.6 * peak(100_000)


# ---- the report ----------------------------------------------------------------------------------------------------


def test_what_it_says(tmp_path: Any) -> None:
    s, options = stepped(WALK, 20_000)
    v = WALK.exact.v()
    two = {"new": v + 0.02, "old": v + 0.5 * np.cos(np.arange(v.size))}
    report = td.audit(pairs(two, s), s.reward, **options)
    said = str(report).splitlines()
    assert said[0].startswith("new is closer to the true values than old (probability ")
    assert "its mean squared error is smaller by " in said[0]
    assert said[0].endswith(f", {report.units} episodes.")
    assert [line.split()[0] for line in said[3:5]] == ["new", "old"]
    assert report.remarks == []
    whole = json.loads(report.to_json())
    assert whole["ranking"] == ["new", "old"]
    assert whole["difference"][1][0] == pytest.approx(report.difference[1, 0])
    chart = report.plot().to_dict()
    assert chart["data"]["values"][0]["mid"] == pytest.approx(report.difference[1, 0], rel=1e-4)
    report.page(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert report.sentence.replace(">", "&gt;") in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    three = td.audit(pairs(two | {"flat": np.zeros(v.size)}, s), s.reward, **options)
    assert three.sentence.startswith("new is the closest of 3 to the true values, before ")


def test_doubt_is_said() -> None:
    s, options = stepped(WALK, 3000)
    v = WALK.exact.v()
    report = td.audit(pairs({"a": v + 0.1, "b": v - 0.1}, s), s.reward, **options)
    assert " may be closer " in report.sentence or " is probably closer " in report.sentence


def test_critics_that_predict_the_same() -> None:
    s, options = stepped(WALK, 3000)
    V = critics(WALK.exact.v())
    report = td.audit(pairs({"a": V["near"], "b": V["near"]}, s), s.reward, **options)
    assert report.sentence.startswith("a and b predict the same: the difference of their errors is 0, ")
    assert report.difference.tolist() == [[0, 0], [0, 0]]
    assert report.probability.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert report.remarks == ["b and a predict the same"]
    constant = td.audit({"one": 1.0, "zero": 0.0, "also": (0.0, 0.0)}, s.reward, **options)
    assert constant.best in ("zero", "also")
    assert constant.difference[1, 2] == 0


def test_remarks() -> None:
    v = WALK.exact.v()
    s, options = stepped(WALK, 3000)
    few: dict[str, Any] = {k: np.asarray(x)[:500] for k, x in options.items()}
    V = pairs(critics(v), s)
    said = td.audit({k: (a[:500], b[:500]) for k, (a, b) in V.items()}, s.reward[:500], **few).remarks
    assert any(re_few(remark) for remark in said)
    lake: Any = td.make("FrozenLake-v0", map="8x8", target=(0.25,) * 4, behavior=(0.25,) * 4)
    s, options = stepped(lake, 6000)
    said = td.audit(pairs(critics(lake.exact.v()), s), s.reward, **options).remarks
    assert any(remark.startswith("rare events: rewards other than the commonest") for remark in said)
    ring, w = td.make("RingWorld-v0", behavior_left=0.85, target_left=0.15), RING.exact.v()
    s, options = stepped(ring, 3000)
    said = td.audit(pairs(critics(w), s), s.reward, **options).remarks
    assert any(remark.startswith("the products of ratios ρ have an effective sample size of ") for remark in said)
    s, options = stepped(td.make("Garnet-v0", seed=5, discount=0.999), 3000)
    said = td.audit(pairs(critics(np.arange(30.0)), s), s.reward, **options).remarks
    assert any(remark.startswith("blocks of 150 steps are shorter than two horizons") for remark in said)


def re_few(remark: str) -> bool:
    return remark.startswith("only ") and "20 blocks of about 25 steps stand in for them" in remark


def test_learners_that_may_know_the_episodes() -> None:
    s, options = stepped(WALK, 3000)
    learner = td.TrueOnlineTD(WALK.features, alpha=0.1)
    learner.update_many(s)
    both = {"mine": learner, "new": td.TrueOnlineTD(WALK.features, alpha=0.1)}
    said = td.audit(both, s.reward, obs=s.obs, next_obs=s.next_obs, **options).remarks
    assert [remark for remark in said if "learned" in remark] == [
        "mine had learned from 3,000 steps before (as many as are audited, so probably these). A critic trained on the "
        "audited episodes looks better than it is: pass mine as it was before them"
    ]


def test_values_after_the_reset_are_noticed() -> None:
    values, options, _ = rectangular()
    options["truncated"] = np.zeros_like(options["terminated"])
    options["truncated"][50::100] = ~options["terminated"][50::100]
    a, b = values["near"]
    wrong = b.copy()
    wrong[:-1][options["truncated"][:-1]] = a[1:][options["truncated"][:-1]]
    shifted = {"near": (a, wrong), "far": values["far"]}
    said = td.audit({**shifted, "far": (a + 1, wrong + 1)}, **options).remarks
    assert sum("as if taken after the reset" in remark for remark in said) == 2


ZERO, NAN = np.zeros(60), np.full(60, np.nan)
WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "one critic": ({"critics": {"a": (ZERO, ZERO)}}, ValueError, "compare it with a constant"),
    "no mapping": ({"critics": [1, 2]}, ValueError, "critics must be a mapping"),
    "lengths": ({"critics": {"a": (ZERO[1:], ZERO), "b": 0.0}}, ValueError, r"value of a must have shape \(60,\)"),
    "NaN": ({"critics": {"a": (NAN, 0.0), "b": 0.0}}, ValueError, r"value of a must be finite; got nan \(step 0\)"),
    "NaN next": ({"critics": {"a": (0.0, NAN), "b": 0.0}}, ValueError, "value_next of a must be finite; got nan"),
    "NaN reward": ({"reward": NAN}, ValueError, "reward must be finite; got nan"),
    "γ": ({"gamma": 1.01}, ValueError, r"gamma must be in \[0, 1\]; got 1.01"),
    "ρ": ({"rho": np.full(60, -1.0)}, ValueError, r"rho must be finite and not negative; got -1.0 \(step 0\)"),
    "ρ 0": ({"rho": ZERO}, ValueError, "rho is 0 at every step"),
    "level": ({"level": 95}, ValueError, "level must be in"),
    "few steps": ({"reward": np.zeros(30), "critics": {"a": 1.0, "b": 2.0}}, ValueError, "at least 40 steps; got 30"),
    "text": ({"critics": {"a": "v", "b": 0.0}}, TypeError, "a must be a pair"),
    "no observations": ({"critics": {"a": lambda x: x, "b": 0.0}}, TypeError, "pass obs=… and next_obs=…"),
    "done": ({"done": False}, TypeError, "audit has no argument done; pass terminated and truncated"),
    "features": ({"features": np.zeros((60, 2))}, TypeError, "features must be a pair"),
    "shape": ({"features": (np.zeros((59, 2)), np.zeros((60, 2)))}, ValueError, r"features must have shape \(60,\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case: str) -> None:
    given, kind, message = WRONG[case]
    good: dict[str, Any] = {
        "critics": {"a": (np.zeros(60), np.zeros(60)), "b": 1.0}, "reward": np.ones(60), "gamma": 0.9,
        "terminated": False, "truncated": False,
    }  # fmt: skip
    td.audit(**good)
    with pytest.raises(kind, match=message):
        td.audit(**{**good, **given})


def test_wrong_observations_and_functions() -> None:
    options: dict[str, Any] = {"reward": np.ones(60), "gamma": 0.9, "terminated": False, "truncated": False}
    with pytest.raises(ValueError, match=r"obs and next_obs must have shape \(60,\) and then that of an observation"):
        td.audit({"a": lambda x: x[:, 0], "b": 0.0}, **options, obs=np.ones((59, 2)), next_obs=np.ones((60, 2)))
    with pytest.raises(ValueError, match="a must return one value for each of 60 observations"):
        td.audit({"a": lambda x: x, "b": 0.0}, **options, obs=np.ones((60, 2)), next_obs=np.ones((60, 2)))
    swapped = np.random.default_rng(0).normal(size=(5, 101))
    two = {**options, "reward": np.ones((5, 100))}
    with pytest.raises(ValueError, match="the second axis is time"):
        td.audit({"a": (swapped[:, :-1], swapped[:, 1:]), "b": 0.0}, **two)


@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    v = WALK.exact.v()
    some = critics(v)
    held = []
    for seed in range(200):
        s, options = stepped(WALK, 8000, seed=100 + seed)
        true = errors(some, v, s)
        report = td.audit(pairs(some, s), s.reward, **options)
        apart = true[:, None] - true
        held.append(((report.low <= apart) & (apart <= report.high))[np.triu_indices(3, 1)])
    assert 0.91 < np.mean(held) <= 1.0
