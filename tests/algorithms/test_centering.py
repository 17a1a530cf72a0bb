"""Reward centring of any declared learner: plain NumPy, the interpreter, Differential TD, exact values."""

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain import Stream, stream

import tdlambda as td
from tdlambda.engine.block import Block
from tdlambda.engine.declaration_checks import CONVENTIONS
from tdlambda.engine.plan import Group, plan
from tdlambda.engine.trajectory import contiguous

ALPHA, BETA, ETA = 0.05, 0.03, 0.4


def plainly(kind: str, s: Stream) -> tuple[Any, Any]:
    """Weights and r̄ after each step, line by line as in the papers; r̄ of before the step is taken from the reward."""
    w, h, e = np.zeros((3, s.X.shape[1]))
    average, v_old, first, seen, averages = 0.0, 0.0, True, [], []
    for t in range(len(s.reward)):
        x, y, g = s.X[t], s.X[t + 1], s.gamma[t + 1]
        if s.ends[t] == 1:
            y, g = 0 * y, 0.0
        rho, decay = s.rho[t], 0.0 if first else s.gamma[t] * s.lam[t]
        v_old = w @ x if first else v_old
        delta = s.reward[t] - average + g * w @ y - w @ x
        if kind == "TrueOnlineTD":
            e = rho * (decay * e + ALPHA * (1 - rho * decay * x @ e) * x)
            v, v_next = w @ x, w @ y
            w = w + delta * e + (v - v_old) * (e - ALPHA * rho * x)
            v_old = v_next
        else:
            e = rho * (decay * e + x)
            change = ALPHA * delta * e
            if kind == "GTD":
                change = change - ALPHA * g * (1 - s.lam[t + 1]) * (e @ h) * y
                h = h + BETA * (delta * e - (h @ x) * x)
            w = w + change
        average += ETA * ALPHA * rho * delta
        first = bool(s.ends[t])
        e = 0 * e if first else e
        seen.append(w)
        averages.append(average)
    return np.array(seen), np.array(averages)


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["TD", "TrueOnlineTD", "GTD"])
def test_plain_numpy_with_gamma_lambda_rho_at_every_step(kind: str) -> None:
    more = {"beta": BETA} if kind == "GTD" else {}
    for seed in range(3):
        s = stream(seed, steps=60)
        assert {0, 1, 2} == set(s.ends)
        v = getattr(td, kind)(td.features.Table(s.X), ALPHA, s.lam, centering=ETA, **more)
        weights, averages = plainly(kind, s)
        for t in range(len(s.reward)):
            end = s.ends[t]
            v.update(t, s.reward[t], t + 1, s.gamma[t + 1], s.rho[t], bool(end == 1), bool(end == 2))
            assert v.average_reward == pytest.approx(averages[t], abs=1e-12)
            np.testing.assert_allclose(v.weights, weights[t], rtol=1e-10, atol=1e-12)


class Capped(td.Algorithm):
    """TD(λ) whose errors are cut, without a dot product w·x' and with weights of another name."""

    weight_rows, parameters, cap = "u", "cap", 0.5
    dots = {"here": "u.x"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        u += along e
    """

    @staticmethod
    def step(here, decay, cap, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * min(max(reward - here, -cap), cap)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


@pytest.mark.interpreted
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_schedule_is_the_interpreter(quick: bool) -> None:
    """One learner (`update`, `update_many`; dense, sparse) and lanes against the interpreter of declarations."""
    for kind in (td.TrueOnlineGTD,) if quick else (td.TD, td.TrueOnlineTD, td.GTD, td.TDRC):
        td.check_algorithm(kind, centering=ETA)
    td.check_algorithm(Capped, skip=CONVENTIONS, centering=ETA)
    td.check_algorithm(td.TD, correction="retrace", centering=ETA)
    td.check_rule(td.rules.Greedy(), centering=ETA)
    if quick:
        return
    td.check_algorithm(td.ETD, skip=("rho",), centering=ETA, alpha=0.01)
    td.check_algorithm(td.TD, traces="replacing", centering=ETA)
    td.check_algorithm(td.TD, alpha=td.steps.OneOver("visits", power=0.6), centering=ETA, trace_tolerance=0.0)
    for alpha in (td.steps.Implicit(0.1), td.steps.Autostep(0.05), td.steps.ObGD(0.5), td.steps.AdaGrad(0.05)):
        td.check_algorithm(td.TD, alpha=alpha, skip=CONVENTIONS, centering=ETA)
    td.check_algorithm(td.TrueOnlineTD, alpha=td.steps.Swift(0.05, 0.5), skip=CONVENTIONS, centering=ETA)
    for rule in (td.rules.Meta(0.01), td.rules.Meta(0.01, horizon="episode"), td.rules.Counting()):
        td.check_rule(rule, centering=ETA)
    td.check_rule(td.rules.ValueErrorGreedy(), td.TD, seed=1, centering=ETA)


@pytest.mark.slow
def test_compiled_schedules_are_the_interpreter() -> None:
    td.check_rule(td.rules.Greedy(), td.TD, centering=ETA)


@pytest.mark.interpreted
def test_rules_variances_and_step_sizes_see_the_centred_reward() -> None:
    """A learner that is given r - r̄ by hand learns the same, with all that learns beside its value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 4)) / 2
    makers: list[Any] = [
        lambda **c: td.TrueOnlineTD(td.features.Table(X), 0.05, td.rules.Meta(0.05, floor=0.0), **c),
        lambda **c: td.GTD(td.features.Table(X), 0.05, td.rules.Greedy(), **c),
        lambda **c: td.TD(td.features.Table(X), 0.05, td.rules.ValueErrorGreedy(), **c),
        lambda **c: td.DirectVTD(td.features.Table(X), 0.05, 0.8, **c),
        lambda **c: td.ETD(td.features.Table(X), 0.01, 0.8, **c),
        lambda **c: td.TD(td.features.Table(X), td.steps.Autostep(0.05, 0.1), 0.8, **c),
        lambda **c: td.TD(td.features.Table(X), td.steps.AdaGrad(0.05), 0.8, **c),
        lambda **c: td.TrueOnlineTD(td.features.Table(X), td.steps.Swift(0.05, 0.3, 0.01), 0.8, **c),
        lambda **c: td.TrueOnlineTD(td.features.Table(X), td.steps.OneOver("steps", offset=20.0), 0.8, **c),
    ]
    for make in makers:
        v, plain = make(centering=ETA), make()
        for _ in range(150):
            (s, after), reward, gamma, rho = rng.integers(8, size=2), 1 + rng.normal(), *rng.random(2)
            before, ended = v.average_reward, bool(rng.random() < 0.05)
            plain.update(int(s), reward - before, int(after), gamma, 2 * rho, ended)
            v.update(int(s), reward, int(after), gamma, 2 * rho, ended)
            assert v.average_reward == pytest.approx(
                before + ETA * 2 * rho * plain.td_error * _alpha(v), rel=1e-12, abs=1e-14
            )
            assert v.td_error == pytest.approx(plain.td_error, abs=1e-12)
            np.testing.assert_allclose(v.estimates(range(8)), plain.estimates(range(8)), rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(v.lambdas(range(8)), plain.lambdas(range(8)), rtol=1e-9, atol=1e-11)
        assert abs(v.average_reward) > 0.01


def _alpha(v: Any) -> float:
    """α of the last update."""
    return v.alpha.scale / (v.alpha.offset + v.steps) if isinstance(v.alpha, td.steps.OneOver) else v.memory["alpha"]


@pytest.mark.interpreted
def test_lanes_that_differ_in_eta_share_a_block() -> None:
    """Lanes that differ in η are one block; each is the learner alone, with rewards in common or of its own."""
    rng, n, steps = np.random.default_rng(2), 9, 150
    states, ends = rng.integers(n, size=steps + 1), rng.random((2, steps)) < 0.06
    gamma, rho = rng.random((2, steps))
    for features in (td.features.OneHot(n), td.features.Table(rng.normal(size=(n, 4)) / 2)):
        for rule in (0.8, td.rules.Meta(0.05)):
            for per_lane in ((), ("reward",)):
                learners = [td.TrueOnlineTD(features, 0.05, rule, centering=0.1 * (k + 1)) for k in range(8)]
                groups, alone = plan(list(learners))
                assert (len(groups), alone) == (1, [])
                reward = 1 + rng.normal(size=(steps, 8) if per_lane else steps)
                block = Block(Group(tuple(learners), tuple(range(8))), per_lane=per_lane)
                x, lam, begin = contiguous(features, np.arange(n)), block.group.lam_table(np.arange(n)), 0
                while begin < steps:
                    columns = (states[:-1], states[1:], reward, gamma, rho, *ends)
                    begin = block.advance(*x, *x, lam, *columns, begin, steps)
                    block.take_tops()
                for k, one in enumerate(learners):
                    own = reward[:, k] if per_lane else reward
                    one.update_many(states[:-1], own, states[1:], gamma, rho, *ends)
                    np.testing.assert_allclose(block.learner(k).weights, one.weights, rtol=1e-11, atol=1e-12)
                    assert block.learner(k).average_reward == pytest.approx(one.average_reward, abs=1e-12)
                    assert block.learner(k).td_error == pytest.approx(one.td_error, abs=1e-12)
                averages = [one.average_reward for one in learners]
                assert all(a != b for a, b in pairwise(averages))


@pytest.mark.costly
def test_it_is_differential_td_with_the_same_step_sizes() -> None:
    """η is a multiple of α in both."""
    s = stream(5, steps=60)
    v = td.TD(td.features.Table(s.X), ALPHA, s.lam, centering=ETA)
    differential = td.DifferentialTD(td.features.Table(s.X), ALPHA, s.lam, eta=ETA)
    np.testing.assert_array_equal(s.play(v), s.play(differential))
    assert v.average_reward == differential.reward_rate == differential.average_reward
    assert v.td_error == differential.td_error


def test_the_discounted_value_is_the_centred_one_and_a_constant() -> None:
    """Off-policy in a table, 1 added to all rewards: values of about 19, of which V has the differences."""
    garnet = td.make("Garnet-v0")
    steps, gamma = garnet.sampler(seed=1).take(200_000), 0.95
    assert (steps.gamma == gamma).all()
    steps.reward[:] += 1.0
    v = td.TD(garnet.features, td.steps.OneOver("steps", 500.0, 10_000.0), 0.5, centering=0.2)
    v.update_many(steps)
    exact = garnet.exact.v() + 1.0 / (1 - gamma)
    assert v.average_reward is not None
    found = v.predict_many(range(30))
    assert np.abs(found + v.average_reward / (1 - gamma) - exact).max() < 0.3
    assert np.abs(found).max() < 1 < 18 < exact.min()


@pytest.mark.costly
def test_a_constant_added_to_all_rewards_goes_into_the_average() -> None:
    """In a table with λ = 0, r̄ = η Σw at every step. So r' + c ends at w + c/(ηn + 1 - γ), and not at w + c/(1 - γ)."""
    rng, n, gamma, c = np.random.default_rng(3), 6, 0.99, 10.0
    states, reward = rng.integers(n, size=30_001), rng.normal(size=30_000)
    learners = [td.TD(td.features.OneHot(n), 0.1, 0.0, centering=0.5) for _ in range(2)]
    for v, shift in zip(learners, (0.0, c), strict=True):
        v.update_many(states[:-1], reward + shift, states[1:], gamma)
        assert v.average_reward == pytest.approx(0.5 * v.weights.sum(), abs=1e-9)
    plain, shifted = learners
    assert plain.average_reward is not None
    assert shifted.average_reward is not None
    rest = c / (0.5 * n + 1 - gamma)
    np.testing.assert_allclose(shifted.weights - plain.weights, rest, rtol=1e-6)
    assert shifted.average_reward - plain.average_reward == pytest.approx(c - (1 - gamma) * rest, rel=1e-6)


@pytest.mark.costly
def test_it_is_a_parameter_like_any_other(tmp_path: Path) -> None:
    v = td.TD(td.features.OneHot(4), 0.1, 0.5, centering=0.25)
    for t in range(20):
        v.update(t % 4, 1.0 + t % 3, (t + 1) % 4, 0.9, truncated=t == 9)
    assert v.get_params()["centering"] == 0.25
    assert "centering=0.25" in repr(v)
    v.save(tmp_path / "v.td")
    copies: list[Any] = [v.clone(), pickle.loads(pickle.dumps(v)), td.load(tmp_path / "v.td")]
    for copy in copies:
        assert copy.average_reward == v.average_reward
        copy.update(0, 5.0, 1, 0.9)
        once = v.clone()
        once.update(0, 5.0, 1, 0.9)
        assert copy.average_reward == once.average_reward
        np.testing.assert_array_equal(copy.weights, once.weights)
    v.reset()
    assert v.average_reward is not None
    assert v.average_reward > 0
    off = td.TD(td.features.OneHot(4), 0.1)
    assert off.average_reward is None
    assert off.get_params()["centering"] is None
    assert off.declaration is td.TD


@pytest.mark.costly
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_what_eta_must_be(wrong: float) -> None:
    with pytest.raises(ValueError, match="centering must be positive and finite; got"):
        td.TD(td.features.OneHot(2), 0.1, centering=wrong)


@pytest.mark.costly
def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="centering must be a"):
        td.TD(td.features.OneHot(2), 0.1, centering="yes")
    with pytest.raises(TypeError, match="centering must be None: DifferentialTD already declares mean"):
        td.DifferentialTD(td.features.OneHot(2), 0.1, centering=0.1)
    critic = td.TD(td.features.OneHot(2), 0.1, centering=0.1)
    with pytest.raises(ValueError, match='td_error="after" needs a critic whose rewards are not centred'):
        td.ActorCritic(critic, td.control.Softmax(2), 0.1, td_error="after")
    with pytest.raises(TypeError, match="center must be one of holds; got 'mean'"):
        type("Wrong", (td.TD,), {"center": "mean", "step": staticmethod(td.TD.step)})


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["centred", "differential"])
def test_a_mixture_learns_the_average_reward_too(kind: str) -> None:
    more: dict[str, Any] = {"alpha": 0.1, "lam": "auto"}
    v: Any = td.DifferentialTD(td.features.OneHot(3), eta=0.5, **more)
    if kind == "centred":
        v = td.TrueOnlineTD(td.features.OneHot(3), centering=0.5, **more)
    for t in range(600):
        v.update(t % 3, 5.0, (t + 1) % 3, gamma=0.9 if kind == "centred" else 1.0)
    assert v.average_reward > 2.0
    if kind == "centred":  # V + r̄/(1 - γ) is the discounted value, 5/(1 - γ)
        assert v.weights.mean() + v.average_reward / (1 - 0.9) == pytest.approx(50.0, rel=0.1)
