"""The mixture of λ against its equations in plain NumPy, in every schedule, and where it must not diverge."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from plain_greedy import Reference

import tdlambda as td
from tdlambda.core.interpreter import Interpreter
from tdlambda.core.runtime import RUNAWAY, TURNS

Vector = NDArray[np.float64]
LAMBDAS = (0.0, 0.4, 0.8, 0.95, 1.0)


class Plain:
    """True online TD with the mixture: five fixed λ, value-error greedy, and their weights."""

    def __init__(self, size: int, alpha: float, rule: td.rules.LambdaMixture) -> None:
        self.greedy, self.rule, self.alpha, self.size = Reference(size, alpha, rule), rule, alpha, size
        self.w, self.e, self.decay = np.zeros((5, size)), np.zeros((5, size)), np.zeros(5)
        self.old: Any = [None] * 5
        self.R, self.p, self.t, self.again = np.zeros(6), np.full(6, 1 / 6), 0, 0
        self.most = self.gamma = 0.0
        self.length = self.longest = 0

    def step(self, x: Vector, y: Vector, r: float, g: float, rho: float, end: bool, cut: bool) -> None:
        self.t += 1
        self.length += 1
        self.longest = max(self.longest, self.length)
        g, after = (0.0, 0 * y) if end else (g, y)
        self.most, self.gamma = max(self.most, abs(r)), max(self.gamma, g)
        gaps = (np.append(self.w @ x, self.greedy.w @ x) - self.greedy.M @ x) ** 2
        gaps[1:] = np.minimum(gaps[1:], 1e4 * (gaps[0] + self.R[0]))
        self.R += max(min(1.0, 8 / self.t), 1e-3 * min(1.0, float(self.alpha * (x @ x)))) * (gaps - self.R)
        if self.t % max(TURNS, self.size) == 0:
            self.p = np.exp(-self.rule.sharpness * (self.R / self.R.min() - 1))
            self.p /= self.p.sum()
        for k in range(5):
            before = self.w[k].copy()
            self.w[k], self.e[k] = Reference.true_online(
                self.w[k], self.e[k], self.old[k], x, after, self.alpha, r, g, rho, self.decay[k]
            )
            self.old[k], self.decay[k] = before, g * LAMBDAS[k]
        self.greedy.step(x, y, r, g, rho, end, cut)
        largest = self.most * min(10 * self.longest, 1 / (1 - self.gamma))
        for k in range(1, 5):
            if max(abs(self.w[k] @ x), abs(self.w[k] @ after)) > RUNAWAY * largest:
                self.w[k], self.e[k], self.old[k], self.decay[k] = self.w[0], 0.0, None, 0.0
                self.again += 1
        for w in (self.greedy.w, self.greedy.m):
            assert max(abs(w @ x), abs(w @ after)) <= RUNAWAY * largest, "choose a stream on which they stay"
        if end or cut:
            self.e[:], self.decay[:], self.old, self.length = 0.0, 0.0, [None] * 5, 0

    @property
    def weights(self) -> Vector:
        total: Vector = self.p @ np.vstack([self.w, self.greedy.w])
        return total


@pytest.mark.parametrize("seed", range(2))
def test_same_as_its_equations(seed: int) -> None:
    """γ and ρ differ at every step; the stream ends, is cut, and goes on; estimates run away and begin again."""
    rng = np.random.default_rng(seed)
    size, steps = 5, 700
    X = rng.normal(size=(steps + 1, size)) * (rng.random((steps + 1, size)) < 0.7)
    X[:, 0] = 1.0
    reward, gamma, rho = rng.normal(size=steps), rng.uniform(0.6, 0.9, steps), rng.uniform(0.05, 2.2, steps)
    end, cut = rng.random(steps) < 0.02, rng.random(steps) < 0.02
    rule = td.rules.LambdaMixture(stretch=15)
    own, plain = td.TrueOnlineTD(td.features.Dense(size), 0.15, rule), Plain(size, 0.15, rule)
    for t in range(steps):
        plain.step(X[t], X[t + 1], reward[t], gamma[t], rho[t], end[t], cut[t])
        own.update(X[t], reward[t], X[t + 1], gamma[t], rho[t], bool(end[t]), bool(cut[t]))
        np.testing.assert_allclose(own.weights, plain.weights, rtol=1e-7, atol=1e-9, err_msg=f"step {t}")
    np.testing.assert_allclose(list(own.mixture.values()), plain.p, rtol=1e-6, atol=1e-12)
    assert plain.again > 0
    assert 0.01 < plain.p.max() < 1


class Counted(Interpreter):
    """The interpreter, and how often an estimate began again."""

    again = 0

    def _mix(self, x: Any, y: Any, most: float) -> None:
        first = {k: self.rows[f"{k}_w"] for k in self.model.restarting}
        Counted.again += sum(not max(abs(w @ x), abs(w @ y)) <= most for w in first.values())
        super()._mix(x, y, most)


def every_schedule(*kinds: str) -> None:
    """Every algorithm, with bounds so narrow that estimates begin again."""
    from tdlambda.core import interpreter, runtime
    from tdlambda.engine import declaration_checks

    some: Any = declaration_checks, interpreter, runtime
    some[0].Interpreter = Counted
    some[1].RUNAWAY = some[2].RUNAWAY = 0.02
    for kind in (getattr(td, name) for name in kinds):
        Counted.again = 0
        td.check_rule(td.rules.LambdaMixture(stretch=30), kind, alpha=0.1)
        assert Counted.again > 5, kind


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "kinds", [("TrueOnlineTD", "GTD"), pytest.param(("TrueOnlineGTD", "TD"), marks=pytest.mark.slow)]
)
def test_every_schedule_is_the_interpreter(kinds: tuple[str, ...]) -> None:
    """In a process of its own: modules that are loaded already keep the usual bound."""
    code = f"import test_mixture; test_mixture.every_schedule(*{kinds!r})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def beside_lambda_0(seeds: range, kinds: tuple[Any, ...], steps: int) -> Vector:
    """Random MDPs with shared features, on- and off-policy, at step sizes up to the edge and beyond.

    "auto" must not diverge where λ = 0 does not. Its final errors over those of λ = 0, where this one holds.
    """
    ratios: list[float] = []
    for seed in seeds:
        task = td.make("Garnet-v0", seed=seed, features=8 if seed % 2 else 12, on_policy=seed % 4 < 2)
        sizes = np.array([0.03, 0.1, 0.3, 0.6, 1.0, 1.5]) / task.features.active
        pairs = [(kind, a, lam) for lam in (0.0, "auto") for kind in kinds for a in sizes]
        learners = [kind(task.features, a, lam, on_divergence="flag") for kind, a, lam in pairs]
        found = td.engine.run(task, learners, seeds=[seed], steps=steps, points=10, keep=("learners",))
        holds = np.array([one[0].diverged_at is None for one in found.learners]).reshape(2, -1)
        plain, auto = found.error[:, 0, -5:].mean(axis=1).reshape(2, -1)[:, holds[0]]
        assert holds[1][holds[0]].all(), f"MDP {seed}: {holds}"
        bound = (1 + RUNAWAY) ** 2 / (1 - 0.95) ** 2  # of the squared error: rewards are 1 at most, γ is 0.95
        assert (auto < bound + 10 * plain).all(), f"MDP {seed}: {auto}, λ = 0: {plain}"
        ratios += (auto / plain).tolist()
    return np.array(ratios)


def test_never_diverges_where_lambda_0_does_not() -> None:
    found = beside_lambda_0(range(300, 308), (td.TrueOnlineTD,), 3000)
    assert found.size > 30
    assert found.max() < 10


@pytest.mark.slow
def test_never_diverges_on_200_random_mdps() -> None:
    found = beside_lambda_0(range(1000, 1200), (td.TrueOnlineTD, td.TrueOnlineGTD), 10_000)
    print(found.size, np.median(found), np.sort(found)[-10:])
    assert found.size > 1500
    assert (found > 10).mean() < 0.005
    assert np.median(found) < 1.02


def test_auto_is_this_rule() -> None:
    learner = td.TrueOnlineTD(td.features.OneHot(3), 0.1, "auto")
    assert learner.rule == td.rules.LambdaMixture()
    assert learner.mixture == {f"L{k}": pytest.approx(1 / 6) for k in range(6)}
    assert learner.lambda_at(1) == pytest.approx((sum(LAMBDAS) + 1) / 6)  # nothing is known yet
    with pytest.raises(ValueError, match="cannot use LambdaMixture"):
        td.LambdaReturn(td.features.OneHot(3), 0.1, "auto")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": (0.0, 0.5)}, r"lams must be five numbers in \[0, 1\], the first of them 0"),
        ({"lams": (0.1, 0.4, 0.8, 0.9, 1.0)}, r"lams must be five numbers in \[0, 1\], the first of them 0"),
        ({"lams": (0.0, 0.4, 0.8, 0.9, 1.1)}, "lams must be in"),
        ({"sharpness": 0.0}, "sharpness must be positive"),
    ],
)
def test_refuses_what_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.rules.LambdaMixture(**options)


def test_one_learner_to_its_user(tmp_path: Path) -> None:
    """Predictions, weights, trace and λ are those of the mixture; saved in the middle, it goes on as it would have."""
    rng = np.random.default_rng(0)
    X, reward = rng.normal(size=(601, 5)), rng.normal(size=600)
    v: Any = td.TrueOnlineTD(td.features.Dense(5), 0.02, "auto", initial=0.3)
    np.testing.assert_allclose(v.weights, v.row("L5_w"))  # all begin alike
    v.update_many(X[:500], reward[:500], X[1:501], gamma=0.9)
    p = np.array(list(v.mixture.values()))
    assert p.sum() == pytest.approx(1)
    for name, mixed in (("w", v.weights), ("e", v.trace)):
        np.testing.assert_allclose(mixed, p @ [v.row(f"L{k}_{name}") for k in range(6)], rtol=1e-12)
    assert v.predict(X[0]) == pytest.approx(v.weights @ X[0])
    assert v.trace_decay == pytest.approx(0.9 * v.memory["last_lam"])
    v.save(tmp_path / "middle")
    other: Any = td.load(tmp_path / "middle")
    for one in (v, other):
        one.update_many(X[500:600], reward[500:], X[501:], gamma=0.9)
    np.testing.assert_array_equal(v.memory.rows, other.memory.rows)
    assert v.memory.record == other.memory.record


def test_under_a_gradient_method_the_mean_learns_by_td() -> None:
    """m has no second weights, so its rows are those of true online TD's m."""
    walk = td.make("RandomWalk-v0")
    steps = walk.sampler(seed=1).take(3000)
    found = [
        kind(walk.features, 0.05, td.rules.ValueErrorGreedy(trace_lam=0.7))
        for kind in (td.TrueOnlineTD, td.TrueOnlineGTD)
    ]
    for learner in found:
        learner.update_many(steps)
    plain, gradient = (learner.row("m_w") for learner in found)
    np.testing.assert_allclose(gradient, plain, rtol=1e-12)
    assert np.abs(found[1].row("V_h")).max() > 0 == np.abs(found[1].row("m_h")).max()
