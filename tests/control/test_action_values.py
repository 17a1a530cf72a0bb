"""Action values are their equations: forward views by brute force, γ, λ, π and b different at every step."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.compiled import IS_COMPILED
from tdlambda.core.interpreter import Interpreter

Array = NDArray[Any]
STATES, ACTIONS, STEPS = 5, 3, 40


class Stream:
    """Random transitions with tables for λ(s, a), π and b; episodes terminate, are truncated and go on."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(STATES, 4))
        self.s, self.a = rng.integers(STATES, size=STEPS + 1), rng.integers(ACTIONS, size=STEPS + 1)
        self.r, self.gamma = rng.normal(size=STEPS), rng.uniform(0.5, 1, size=STEPS)
        self.lam = rng.uniform(0.2, 1, size=(STATES, ACTIONS))
        self.pi, self.b = (rng.dirichlet(np.ones(ACTIONS) * 2, size=STATES) for _ in range(2))
        self.ended = np.zeros(STEPS, dtype=int)
        self.ended[[9, 31]], self.ended[22] = 1, 2
        self.features = td.features.Table(self.x)

    def phi(self, s: int, a: int) -> Array:
        """x(s, a), as [feature, action] flattened."""
        out = np.zeros((4, ACTIONS))
        out[:, a] = self.x[s]
        return out.reshape(-1)

    def run(self, agent: Any) -> Array:
        for t in range(STEPS):
            end = int(self.ended[t])
            agent.update(
                int(self.s[t]), int(self.a[t]), float(self.r[t]), int(self.s[t + 1]), int(self.a[t + 1]),
                float(self.gamma[t]), terminated=end == 1, truncated=end == 2,
            )  # fmt: skip
        weights: Array = agent.weights.T.reshape(-1)
        return weights

    def target(self, t: int, kind: str, w: Array, off_policy: bool) -> Array:
        """x' of step t."""
        s, a = self.s[t + 1], self.a[t + 1]
        q = [w @ self.phi(s, k) for k in range(ACTIONS)]
        best = self.phi(s, int(np.argmax(q)))
        if self.ended[t] == 1:
            return 0 * best
        if kind == "sampled":
            return self.phi(s, a) * (self.pi[s, a] / self.b[s, a] if off_policy else 1.0)
        if kind == "peng":
            return (1 - self.lam[s, a]) * best + self.lam[s, a] * self.phi(s, a)
        if kind == "greedy":
            return best
        return sum((self.pi[s, k] * self.phi(s, k) for k in range(ACTIONS)), 0 * best)

    def cut(self, t: int, name: str, w: Array) -> float:
        """c of the pair of step t + 1."""
        s, a = self.s[t + 1], self.a[t + 1]
        rho, pi = self.pi[s, a] / self.b[s, a], self.pi[s, a]
        if name == "watkins":
            q = [w @ self.phi(s, k) for k in range(ACTIONS)]
            return float(q[a] == max(q))
        return float({"importance": rho, "retrace": min(1, rho), "tree": pi, "none": 1.0}[name])

    def backward(self, alpha: float, kind: str, name: str, off_policy: bool) -> Array:
        """TD(λ) of action values in plain NumPy."""
        w, e, decay = np.zeros(4 * ACTIONS), np.zeros(4 * ACTIONS), 0.0
        for t in range(STEPS):
            x, after = self.phi(self.s[t], self.a[t]), self.target(t, kind, w, off_policy)
            gamma = 0.0 if self.ended[t] == 1 else self.gamma[t]
            cut = self.cut(t, name, w)
            e = decay * e + x
            w = w + alpha * (self.r[t] + gamma * w @ after - w @ x) * e
            decay = gamma * self.lam[self.s[t + 1], self.a[t + 1]] * cut
            if self.ended[t]:
                decay = 0.0
        return w

    def forward(self, alpha: float, kind: str, name: str, off_policy: bool) -> Array:
        """The online λ-return algorithm: at each step, all updates of the episode so far made anew."""
        w, first = np.zeros(4 * ACTIONS), 0
        for t in range(STEPS):
            if t == first:
                path = [w]  # path[i]: the weights that step first + i began with
            made: list[tuple[Array, float]] = []
            for i in range(first, t + 1):
                here = path[i - first]
                gamma = 0.0 if self.ended[i] == 1 else self.gamma[i]
                made.append((self.target(i, kind, here, off_policy), gamma))
            now = path[0]
            for k in range(first, t + 1):
                g = 0.0
                for i in range(t, k - 1, -1):  # from the last step back
                    here, (after, gamma) = path[i - first], made[i - first]
                    onward = 0.0
                    if i < t:
                        decay = self.lam[self.s[i + 1], self.a[i + 1]] * self.cut(i, name, here)
                        onward = decay * (g - here @ self.phi(self.s[i + 1], self.a[i + 1]))
                    g = self.r[i] + gamma * (here @ after + onward)
                x = self.phi(self.s[k], self.a[k])
                now = now + alpha * (g - now @ x) * x
            w = now
            path.append(w)
            if self.ended[t]:
                first = t + 1
        return w


CASES = [
    ("sampled", "none", False), ("expected", "none", False), ("sampled", "importance", True),
    ("expected", "importance", True), ("expected", "retrace", True), ("expected", "tree", True),
    ("expected", "tree", False), ("greedy", "watkins", False), ("peng", "none", False),
]  # fmt: skip


def agent_of(stream: Stream, kind: Any, name: str, off_policy: bool, algorithm: Any) -> Any:
    if kind in ("greedy", "peng"):
        form: Any = {"greedy": "watkins", "peng": "peng"}[kind]
        behavior = td.control.EpsilonGreedy(0.5)
        return td.QLambda(stream.features, ACTIONS, 0.05, stream.lam, form=form, behavior=behavior, algorithm=algorithm)
    correction = "importance" if name == "none" else name
    options: Any = {"policy": stream.pi, "behavior": stream.b if off_policy else None, "correction": correction}
    return td.Sarsa(stream.features, ACTIONS, 0.05, stream.lam, target=kind, algorithm=algorithm, **options)


@pytest.mark.interpreted
def test_targets_and_coefficients_are_those_of_the_forward_view() -> None:
    """TD(λ) is its equations, and true online TD(λ) equals the forward view after every step."""
    for seed, case in enumerate(CASES):
        stream = Stream(seed)
        got = stream.run(agent_of(stream, *case, td.TD))
        np.testing.assert_allclose(got, stream.backward(0.05, *case), rtol=1e-10, atol=1e-12, err_msg=str(case))
        got = stream.run(agent_of(stream, *case, td.TrueOnlineTD))
        np.testing.assert_allclose(got, stream.forward(0.05, *case), rtol=1e-10, atol=1e-12, err_msg=str(case))


@pytest.mark.parametrize("algorithm", [pytest.param(td.TD, marks=pytest.mark.slow), td.TrueOnlineTD])
def test_compiled_code_is_the_same(algorithm: Any) -> None:
    stream, case = Stream(1), ("expected", "retrace", True)
    got = stream.run(agent_of(stream, *case, algorithm))
    expected = (stream.backward if algorithm is td.TD else stream.forward)(0.05, *case)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


GOLDEN = {
    "importance": (0.213207704, 0.056280224, 0.331905033),
    "retrace": (0.209926633, 0.071333348, 0.319987084),
    "tree": (0.226058398, 0.065883728, 0.309357757),
}
"""Twelve transitions computed elsewhere from the equations, with expected features as x'."""


@pytest.mark.interpreted
def test_golden_weights() -> None:
    for name, expected in GOLDEN.items():
        learner = td.TD(td.features.Dense(3), 0.1, 0.5, initial=[0.1, 0.2, 0.3])
        learner.for_actions(True, True)
        index, i = np.arange(3), np.arange(3)
        for t in range(12):
            x, mean, after = (np.cos(k + 1.3 * u + 2.1 * i) for k, u in ((1, t), (2, t + 1), (1, t + 1)))
            rho, pi = 1 + 0.9 * np.sin(1.7 * (t + 1)), 0.55 + 0.4 * np.cos(1.1 * (t + 1))
            c = float({"importance": rho, "retrace": min(1.0, rho), "tree": pi}[name])
            gamma, lam = 0.6 + 0.3 * np.cos(t + 1), 0.5 + 0.4 * np.sin(2 * t + 2)
            learner._update(
                index, x, index, mean, index, after, np.sin(0.7 * (t + 1)), gamma, 1.0, lam, c, 1 if t == 5 else 0
            )
        np.testing.assert_allclose(learner.weights, expected, atol=2e-9)


def check_watkins() -> None:
    """Greedy, exploratory, greedy: what follows the exploratory action must not reach the pair before it."""
    agent = td.QLambda(td.features.OneHot(4), 2, 0.5, 1.0, algorithm=td.TD, initial=[[0, 1, 1, 1], [0, 0, 0, 0]])
    agent.update(0, 0, 0.0, 1, 1, 1.0)  # action 1 in state 1 is not greedy: q(1, ·) = (1, 0)
    first = agent.q(0)[0]
    assert first == pytest.approx(0.5)  # δ = 0 + 1 - 0
    agent.update(1, 1, 5.0, 2, 0, 1.0)
    assert agent.q(0)[0] == first  # cut before the exploratory pair was added
    assert agent.q(1)[1] == pytest.approx(3.0)  # which learns itself
    agent.update(2, 0, 7.0, 3, 0, 1.0)
    assert agent.q(1)[1] == pytest.approx(6.5)  # and goes on: action 0 in state 2 is greedy
    assert agent.q(0)[0] == first


def check_ties() -> None:
    agent = td.QLambda(td.features.OneHot(2), 3, 0.5, 1.0, algorithm=td.TD)
    agent.update(0, 0, 1.0, 1, 2, 1.0)
    assert agent.learner.trace_decay == 1.0  # all of q(1, ·) are 0


@pytest.mark.interpreted
def test_schedules_agree_with_the_interpreter() -> None:
    """Mixtures as x', traces cut, λ learned and given: few features, and many with a list of the live ones."""
    rng = np.random.default_rng(3)
    cases: list[tuple[Any, Any]] = [(kind, 0.8) for kind in (td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD)]
    for algorithm, rule in [*cases, (td.TrueOnlineETD, 0.8), (td.TrueOnlineTD, td.rules.Meta(kappa=0.05))]:
        for size in (12, 300):
            learner = algorithm(td.features.Dense(size), 0.02, rule, trace_tolerance=0.0, on_divergence="flag")
            learner.for_actions(True, True)
            numbers = learner.memory.numbers()
            oracle, index = Interpreter(learner.model, size, numbers), np.arange(size)
            for _ in range(60):
                x, y, z = (rng.normal(size=size) * (rng.random(size) < 6 / size) for _ in range(3))
                r, gamma, cut, end = rng.normal(), rng.uniform(0.5, 1), rng.uniform(0, 1.5), int(rng.random() < 0.1)
                learner._update(index, x, index, y, index, z, r, gamma, 1.0, 0.8, cut, end)
                oracle.learn(x, y, r, gamma, 1.0, 0.8, end == 1, False, z, cut)
            np.testing.assert_allclose(learner.weights, oracle.rows["V_w"], rtol=1e-8, atol=1e-10)


def check_clearing() -> None:
    """Singh & Sutton's replacing traces: e = 1 at the pair that is left, 0 at its state's other actions."""
    agent = td.Sarsa(td.features.OneHot(3), 2, 0.5, 1.0, algorithm=td.TD, traces="replacing", clear=True)
    kept = td.Sarsa(td.features.OneHot(3), 2, 0.5, 1.0, algorithm=td.TD, traces="replacing")
    for one in (agent, kept):
        for action in (0, 1):
            one.update(0, action, 1.0, 1 if action else 0, 1, 0.5)
    assert agent.trace[:, 0].tolist() == [0.0, 1.0]
    assert kept.trace[:, 0].tolist() == [0.5, 1.0]


@pytest.mark.interpreted
@pytest.mark.parametrize("check", [check_watkins, check_ties, check_clearing])
def test_cuts_ties_and_clearing(check: Any) -> None:
    check()


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_act_takes_the_next_number_of_any_generator(kind: Any) -> None:
    agent = td.Sarsa(td.features.OneHot(3), 4, 0.1, 0.5, policy=td.control.EpsilonGreedy(1.0))
    rng, same, other = (np.random.Generator(kind(seed)) for seed in (5, 5, 6))
    for k in range(200):
        if k % 7 == 0:
            agent.act(1, other)  # another generator in between, which is not the first one's business
        assert agent.act(k % 3, rng) == int(4 * same.random())
    with pytest.raises(ValueError, match="obs must be"):
        agent.act(3, rng)
    assert rng.random() == same.random()  # what was refused drew nothing


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
def test_code_that_draws_from_a_generator_keeps_the_gil() -> None:
    """It does not take the generator's lock: agents in several threads would draw the same number twice."""
    agent = td.Sarsa(td.features.OneHot(STATES), ACTIONS, alpha=0.1)
    functions = [f for f in vars(agent.module).values() if hasattr(f, "targetoptions")]
    drawing = [f for f in functions if "called(" in inspect.getsource(f.py_func)]
    assert [f.py_func.__name__ for f in drawing] == ["act_index"]
    assert not drawing[0].targetoptions["nogil"]
    rng, same = (np.random.default_rng(4) for _ in range(2))
    actions = [agent.act(0, rng) for _ in range(100)]
    assert set(actions) == set(range(ACTIONS))
    same.random(100)
    assert rng.bit_generator.state == same.bit_generator.state  # one number for each action


def test_agents_in_threads_share_a_generator_without_loss() -> None:
    rng, same, n = np.random.default_rng(4), np.random.default_rng(4), 3000
    agents = [td.Sarsa(td.features.OneHot(STATES), ACTIONS, alpha=0.1) for _ in range(4)]

    def acts(agent: Any) -> None:
        for k in range(n):
            agent.act(k % STATES, rng)

    threads = [threading.Thread(target=acts, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same.random(4 * n)
    assert rng.bit_generator.state == same.bit_generator.state


def test_agents_and_learners_have_few_attributes() -> None:
    """Up to 29, Python keeps the attributes of an object inline; beyond that each `update` is 50 ns slower."""
    agent = td.Sarsa(td.features.OneHot(3), 2, 0.1)
    assert len(vars(agent)) < 30
    assert len(vars(agent.learner)) < 30
