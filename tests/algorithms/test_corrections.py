"""Trace coefficients in every learner: the two-coefficient form, identities, exact fixed points, and every schedule."""

from pathlib import Path
from typing import Any

import golden
import numpy as np
import pytest
from pairing import cases

import tdlambda as td

ABTD = td.mdp.TraceCorrection("abtd", zeta=0.75, psi_0=1.0, psi_max=3.0)
EVERY: list[Any] = [
    "importance",
    "retrace",
    "vtrace",
    "tree",
    ABTD,
    td.mdp.TraceCorrection("retrace", c_bar=0.6),
    td.mdp.TraceCorrection("vtrace", c_bar=0.5, rho_bar=1.5),
]


def steps(n: int, seed: int = 0) -> Any:
    """States, and γ, ρ, b other at every step; episodes terminate and are cut."""
    rng = np.random.default_rng(seed)
    ends = rng.random((2, n)) < 0.05
    states = rng.integers(8, size=n + 1)
    return states, rng.normal(size=n), rng.random(n), 2.5 * rng.random(n), rng.uniform(0.1, 1, n), *ends


TABLE, LAM = np.random.default_rng(1).normal(size=(8, 5)), np.random.default_rng(2).random(8)


def learner(correction: Any, kind: Any = td.TD, **given: Any) -> Any:
    return kind(td.features.Table(TABLE), 0.05, LAM, correction=correction, **given)


def taught(v: Any, n: int = 60) -> Any:
    states, reward, gamma, rho, b, terminated, truncated = steps(n)
    for k in range(n):
        s, after = int(states[k]), int(states[k + 1])
        v.update(s, reward[k], after, gamma[k], rho[k], bool(terminated[k]), bool(truncated[k]), behavior=b[k])
    return v.weights


def coefficients(given: Any, rho: float, b: float) -> tuple[float, float]:
    """c and κ, once more; ψ(0.75) = 2."""
    pi, cut = rho * b, min(given.c_bar, rho)
    c = {"importance": rho, "tree": pi, "abtd": pi * min(2.0, 1 / max(pi, b))}.get(given.name, cut)
    return c, min(given.rho_bar, rho) if given.name == "vtrace" else rho


def plain(correction: Any, n: int = 60) -> Any:
    """e = γλ c⁻ e + x, w += α κ δ e."""
    states, reward, gamma, rho, b, terminated, truncated = steps(n)
    given = correction if isinstance(correction, td.mdp.TraceCorrection) else td.mdp.TraceCorrection(correction)
    w, e, decay = np.zeros(5), np.zeros(5), 0.0
    for k in range(n):
        x, y, discount = TABLE[states[k]], TABLE[states[k + 1]], 0.0 if terminated[k] else gamma[k]
        c, kappa = coefficients(given, rho[k], b[k])
        e = decay * e + x
        w = w + 0.05 * kappa * (reward[k] + discount * w @ y - w @ x) * e
        decay = discount * LAM[states[k + 1]] * c
        if terminated[k] or truncated[k]:
            e, decay = np.zeros(5), 0.0
    return w


@pytest.mark.parametrize("correction", cases(EVERY, ["tree"]), ids=str)
def test_it_is_the_form_with_two_coefficients(correction: Any) -> None:
    np.testing.assert_allclose(taught(learner(correction)), plain(correction), rtol=1e-12, atol=1e-13)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        ("vtrace", (0.120644322, 0.137355617, 0.342607223)),
        ("retrace", (0.111022384, 0.151061883, 0.338390051)),
    ],
)
def test_golden_weights_of_state_values(correction: str, weights: Any) -> None:
    v = td.TD(td.features.Table(golden.X), 0.1, golden.LAM, initial=golden.START, correction=correction)
    for t in range(golden.STEPS):
        end = t == golden.LAST
        v.update(t, golden.REWARD[t], t + 1, golden.GAMMA[t + 1], golden.RHO[t], terminated=end)
    np.testing.assert_allclose(v.weights, weights, atol=6e-10)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        ("retrace", (0.209926633, 0.071333348, 0.319987084)),
        ("tree", (0.226058398, 0.065883728, 0.309357757)),
    ],
)
def test_golden_weights_of_action_values(correction: str, weights: Any) -> None:
    """ρ = 1, expected features of the state that is entered, and λ' c(a') as λ', as the page says."""
    n = golden.STEPS + 1
    time = np.arange(n)
    expected = np.cos(2 + 1.3 * time[:, None] + 2.1 * np.arange(3))
    c = 0.55 + 0.4 * np.cos(1.1 * time) if correction == "tree" else np.minimum(1, 1 + 0.9 * np.sin(1.7 * time))
    table = td.features.Table(np.vstack([golden.X, expected]))
    v = td.TD(table, 0.1, np.concatenate([golden.LAM, golden.LAM * c]), initial=golden.START)
    for t in range(golden.STEPS):
        v.update(t, golden.REWARD[t], n + t + 1, golden.GAMMA[t + 1], terminated=t == golden.LAST)
    np.testing.assert_allclose(v.weights, weights, atol=6e-10)


@pytest.mark.costly
def test_update_many_and_copies_are_the_same(tmp_path: Path) -> None:
    v, columns = learner("tree"), steps(60)
    states, reward, gamma, rho, b, terminated, truncated = columns
    v.update_many(states[:-1], reward, states[1:], gamma, rho, terminated, truncated, b)
    np.testing.assert_allclose(v.weights, plain("tree"), rtol=1e-12, atol=1e-13)
    v.save(tmp_path / "v.npz")
    assert td.load(tmp_path / "v.npz").get_params()["correction"] == td.mdp.TraceCorrection("tree")


@pytest.mark.costly
def test_where_no_ratio_exceeds_one_vtrace_is_td_and_nothing_is_cut_by_retrace() -> None:
    states, reward, gamma, _, _, terminated, truncated = steps(80)
    rho = np.random.default_rng(5).random(80)
    found = []
    for correction in ("importance", "vtrace", "retrace"):
        v = learner(correction, td.TrueOnlineGTD)
        v.update_many(states[:-1], reward, states[1:], gamma, rho, terminated, truncated)
        found.append(v.weights)
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-13)


@pytest.mark.parametrize("correction", ["retrace", "vtrace", "tree"])
@pytest.mark.slow
def test_td_ends_at_the_exact_fixed_point(correction: str) -> None:
    rng = np.random.default_rng(3)
    outcome, n = rng.dirichlet(np.ones(4), size=(4, 2)), 400_000
    mdp = td.FiniteMDP(outcome, rng.normal(size=(4, 2)), discount=0.8)
    pi, b = rng.dirichlet(np.ones(2), size=4), rng.dirichlet(np.ones(2) * 4, size=4)
    features = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, -0.7], [0.0, 1.0]])
    exact = mdp.under(pi, b).linear_system(features, 0.7, correction=correction).td_fixed_point()
    v = td.TD(td.features.Table(features), td.steps.OneOver("steps", 60.0, 2000.0), 0.7, correction=correction)
    v.update_many(mdp.under(pi, b).sampler(seed=1).take(n))
    np.testing.assert_allclose(v.weights, exact, atol=0.05)


@pytest.mark.interpreted
def test_every_schedule_agrees_with_the_interpreter() -> None:
    for correction in ("retrace", "vtrace", "tree"):
        for kind in (td.TD, td.GTD, td.TrueOnlineTD):
            td.check_algorithm(kind, correction=correction, skip=["rho"])
    td.check_rule(td.rules.Meta(0.05), correction="retrace")


@pytest.mark.costly
def test_lanes_of_several_corrections() -> None:
    ring: Any = td.make("RingWorld-v0", "0.4/0.35")
    some = [td.TD(ring.features, 0.05, 0.9, correction=c) for c in ("importance", "retrace", "tree")]
    result = td.engine.run(ring, some, seeds=[4], steps=300, points=1, keep=("weights",))
    for k, one in enumerate(some):
        one.update_many(ring.sampler(seed=4).take(300))
        np.testing.assert_allclose(result.weights[k][0], one.weights, rtol=1e-12)


@pytest.mark.costly
def test_whoever_knows_the_behavior_passes_it_on() -> None:
    ring: Any = td.make("RingWorld-v0", "0.4/0.35")
    steps = ring.sampler(seed=4).take(300)

    def tree(**options: Any) -> Any:
        return td.TD(ring.features, 0.05, 0.9, correction="tree", **options)

    alone, logged, framed = tree(dtype="float32"), tree(), tree()
    result = td.engine.run(ring, [alone], seeds=[4], steps=300, points=1, keep=("weights",))
    alone.update_many(steps)
    np.testing.assert_array_equal(result.weights[0][0], alone.weights)

    td.learners.learn_from_log(steps, logged, chunk=70)
    frame = {"b": steps.behavior} | {name: column for name, column in vars(steps).items() if name != "behavior"}
    td.learners.learn_from_log(frame, framed, behavior="b")
    for one in (logged, framed):
        np.testing.assert_allclose(one.weights, alone.weights, rtol=1e-5)
    with pytest.raises(ValueError, match="behavior: the table has no column 'behavior'"):
        td.learners.learn_from_log(frame, tree())
    with pytest.raises(ValueError, match=r"behavior must be in \(0, 1\]; got 0.0"):
        td.learners.learn_from_log(frame, tree(), behavior=0)

    lived = td.learn(ring, tree(), steps=300, seed=1).learner
    other = td.learn(ring, td.TD(ring.features, 0.05, 0.9), steps=300, seed=1).learner
    assert lived.steps == 300
    assert abs(lived.weights - other.weights).max() > 1e-3
    td.check_learner(tree)


@pytest.mark.costly
def test_mountain_car_gives_the_behavior_of_each_action() -> None:
    car: Any = td.make("MountainCar-v0")
    steps = car.sampler(seed=1).take(400)
    for obs, action, b, rho in zip(steps.obs, steps.action, steps.behavior, steps.rho, strict=True):
        assert b == pytest.approx(car.behavior(obs)[action])
        assert rho * b == pytest.approx(car.target(obs)[action])


@pytest.mark.costly
@pytest.mark.parametrize("correction", ["retrace", "vtrace", "tree"])
@pytest.mark.parametrize("rho", [np.inf, -1.0, np.nan])
def test_a_ratio_is_checked_before_it_is_bounded(correction: str, rho: float) -> None:
    v = td.TD(td.features.OneHot(3), 0.1, correction=correction)
    with pytest.raises(ValueError, match="rho must be finite and not negative"):
        v.update(0, 1.0, 1, 0.9, rho, behavior=0.5)
    with pytest.raises(ValueError, match="rho must be finite and not negative"):
        v.update_many([0, 1], [1.0, 1.0], [1, 2], 0.9, [1.0, rho], behavior=0.5)
    assert v.steps == 0


@pytest.mark.costly
def test_what_a_refused_transition_said_of_its_action_is_forgotten() -> None:
    v = td.TD(td.features.OneHot(3), 0.1, correction="tree")
    for wrong in ({"reward": np.nan}, {"reward": "one"}, {"terminated": 3}):
        with pytest.raises((TypeError, ValueError)):
            v.update(**{"obs": 0, "reward": 1.0, "next_obs": 1, "gamma": 0.9, "behavior": 0.5} | wrong)
        with pytest.raises(ValueError, match="behavior: correction"):
            v.update(0, 1.0, 1, 0.9)


@pytest.mark.costly
def test_a_correction_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"correction must be one of .*retrace"):
        td.TD(td.features.OneHot(3), 0.1, correction="retrase")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("correction", "behavior", "said"),
    [
        ("tree", None, r'behavior: correction "tree" needs b\(a\|s\)'),
        ("tree", 1.5, r"behavior must be in \(0, 1\]; got 1.5"),
        ("tree", 0.0, r"behavior must be in \(0, 1\]"),
        ("abtd", 0.5, "psi_0=…, psi_max=…"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(correction: str, behavior: Any, said: str) -> None:
    v = td.TD(td.features.OneHot(3), 0.1, correction=correction)
    with pytest.raises(ValueError, match=said):
        v.update(0, 1.0, 1, 0.9, 1.0, behavior=behavior)
    assert v.steps == 0
    assert not v.weights.any()
