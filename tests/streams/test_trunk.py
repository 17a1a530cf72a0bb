"""Many questions on one network: against their equations in NumPy, and as every Horde."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_network import Normaliser, gradient, value

import tdlambda as td
from tdlambda.core.interpreter import Interpreter
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.trunk import Trunk

SMALL: Any = {"hidden": (5, 4), "dtype": "float64"}
QUESTIONS = {
    "a": td.Question("a", gamma=0.5),
    "a later": td.Question("a", gamma=0.9),
    "b": td.Question("b", gamma=0.8),
}


class Wave(td.Rule):
    """A λ that differs at every observation, and from question to question."""

    def __init__(self, phase: float) -> None:
        self.phase = phase

    def at(self, obs: Any) -> float:
        return float(abs(np.sin(1e3 * np.asarray(obs)[0] + self.phase)))


def stream(n: int, questions: int, seed: int) -> tuple[Any, Steps]:
    """Observations, and transitions whose γ and ρ differ at every step and question; some do not learn from some."""
    rng = np.random.default_rng(seed)
    X, shape = rng.normal(size=(n + 1, 3)) * [1.0, 30.0, 0.01], (n, questions)
    reward, gamma, rho = rng.normal(size=shape), 0.5 + 0.5 * rng.random(shape), 1.5 * rng.random(shape)
    reward += 3 * rng.normal(size=(n, 1))
    ended = rng.random(n) < 0.1
    cut = np.append(True, ended[:-1] | (rng.random(n - 1) < 0.05))
    at = np.arange(n)
    return X, Steps(at, at + 1, reward, gamma, rho, None, ended, cut, rng.random(shape) < 0.85)


def differences(network: Any, alphas: list[Any], alike: bool, n: int = 60) -> None:
    """Learners on one trunk, beside the interpreter of their declaration on gradients and the sum of its changes."""
    k, (X, s) = len(alphas), stream(n, len(alphas), seed=4)
    begin = network.initial() if alike else 0.0  # given, it is the same for all questions
    learners = [td.TD(network, alpha, Wave(q), initial=begin) for q, alpha in enumerate(alphas)]
    crew = Crew(td.features.Dense(3), list(learners))
    plain = [Interpreter(v.model, network.size, v.memory.numbers()) for v in learners]
    units, seen, zero = [Normaliser(network) for _ in alphas], Normaliser(network), np.zeros(network.size)
    shared = network.form().layers[-1][0]
    w, mean, steps = [[network.initial(0 if alike else q) for q in range(k)] for _ in range(2)] + [[0] * k]
    assert len({tuple(one) for one in w}) == (1 if alike else k)
    slept, means, below = np.zeros(k, bool), np.zeros(2), 0
    for t in range(n):
        one = s.part(np.array([t]))
        assert not crew.advance(X, one)
        awake, x, y = s.awake[t], X[t], X[t + 1]
        resting = (slept | s.cut[t]) & awake
        slept = ~awake
        for q in np.flatnonzero(resting).tolist():
            plain[q].fresh = True
            plain[q].rows["V_e"] *= 0
        if not awake.any():
            continue
        fresh = all(plain[q].fresh for q in np.flatnonzero(awake))
        a, b = seen.pair(x, y, fresh)
        trunk, changes = w[0][:shared].copy(), []
        for q in np.flatnonzero(awake).tolist():
            p, gamma = plain[q], 0.0 if s.terminated[t] else s.gamma[t, q]
            r = units[q].scaled(s.reward[t, q], gamma, p.fresh)
            g, v_here = gradient(w[q], network, a), float(value(w[q], network, a)[0])
            p.rows["V_w"] = w[q]
            given = r + gamma * float(value(w[q], network, b)[0]) - v_here + w[q] @ g
            p.learn(g, zero, given, s.gamma[t, q], s.rho[t, q], Wave(q).at(y), s.terminated[t])
            w[q], steps[q] = p.rows["V_w"].copy(), steps[q] + 1
            changes.append(w[q][:shared] - trunk)
        total = np.sum(changes, axis=0)
        means = 0.99 * means + 0.01 * np.array([sum(c @ c for c in changes), total @ total])
        by = min(1.0, 2 * means[0] / means[1]) if awake.sum() > 1 else 1.0
        trunk, below = trunk + by * total, below + (by < 0.95)
        for q in range(k):
            w[q][:shared] = trunk
            if awake[q] and (steps[q] <= 40 or steps[q] % 10 == 0):
                mean[q] = mean[q] + min(1.0, 40 / (steps[q] + 10)) * (w[q] - mean[q])
            v: Any = crew.alone[q]
            np.testing.assert_allclose(v.row("V_w"), w[q], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(v.row("V_e"), plain[q].rows["V_e"], rtol=1e-6, atol=1e-9)
            expected = units[q].scale * float(value(mean[q], network, seen.place(y))[0])
            assert v.predict(y) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert below > 10 or not alike
    assert min(steps) < max(steps) < n


@pytest.mark.interpreted
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("make", [td.steps.Intentional, td.steps.IntentionalRMS, td.steps.ObGD, float])
def test_every_question_learns_by_its_own_equations(make: Any, alike: bool) -> None:
    differences(td.Network(3, **SMALL, sparsity=0.9 if alike else 0.0), [make(a) for a in (0.3, 0.1, 0.2, 0.15)], alike)


def test_compiled() -> None:
    differences(td.Network(3, **SMALL), [td.steps.Intentional(a) for a in (0.3, 0.1, 0.2, 0.15)], alike=True)


@pytest.mark.interpreted
def test_one_question_is_a_network_alone() -> None:
    """Bit for bit; and of four equal questions, two count: then the changes of the shared layers are twice as large."""
    X, s = stream(60, 1, seed=5)
    s.awake[:] = True
    v = td.TD(td.Network(3, **SMALL | {"dtype": "float32"}), td.steps.Intentional(0.3), 0.7)
    crew = Crew(td.features.Dense(3), [v.clone()])
    crew.advance(X, s)
    single: Any = v.clone()
    for t in range(60):
        if s.cut[t]:
            single.reset()
        single.update(X[t], s.reward[t, 0], X[t + 1], s.gamma[t, 0], s.rho[t, 0], s.terminated[t])
    alone: Any = crew.alone[0]
    assert all(np.array_equal(alone.row(name), single.row(name)) for name in ("V_w", "V_e", "average"))
    v = td.TD(v.features, v.alpha, 0.7, initial=v.features.initial())  # so that all begin alike
    crew, first = Crew(td.features.Dense(3), [v.clone() for _ in range(4)]), s.part(np.array([0]))
    reward, gamma, rho = (np.repeat(column, 4, axis=1) for column in (first.reward, first.gamma, first.rho))
    awake = np.ones((1, 4), bool)
    crew.advance(X, Steps(first.at, first.to, reward, gamma, rho, None, first.terminated, first.cut, awake))
    single, begin = v.clone(), v.row("V_w")
    single.update(X[0], s.reward[0, 0], X[1], s.gamma[0, 0], s.rho[0, 0], s.terminated[0])
    shared = v.features.form().layers[-1][0]
    for one in crew.alone.values():
        by = np.where(np.arange(begin.size) < shared, 2, 1)
        expected = begin + by * (single.row("V_w") - begin)
        np.testing.assert_allclose(one.row("V_w"), expected, rtol=1e-4, atol=1e-6)  # type: ignore[attr-defined]


def rows(n: int) -> dict[str, Any]:
    t = np.arange(float(n))
    return {"a": 10 + np.sin(t / 8) + np.where(t % 7 == 3, np.nan, 0), "b": np.cos(t / 8)}


def horde(**options: Any) -> Any:
    return td.Horde(td.Network(2, (6, 5)), QUESTIONS, **options)


def one_by_one(one: Any, data: dict[str, Any], begin: int = 0) -> Any:
    for i in range(begin, len(data["a"])):
        one.update({name: float(column[i]) for name, column in data.items()})
    return one


@pytest.mark.interpreted
def test_as_every_horde(tmp_path: Path) -> None:
    """In one piece, row by row, by chunks, from a file, as a copy; missing cumulants are left out."""
    data = rows(120)
    whole = horde().learn(data)
    assert one_by_one(horde(), data).predict() == whole.predict()
    half = horde().learn({name: column[:50] for name, column in data.items()}, chunk=7)
    half.save(tmp_path / "half")
    loaded, copy = td.load(tmp_path / "half"), half.learners["a"]
    assert loaded.learn(data, skip=50).predict() == half.learn(data, skip=50).predict() == whole.predict()
    assert copy.steps < half.learners["a"].steps == whole.learners["a"].steps < 119
    shared = td.Network(2, (6, 5)).form().layers[-1][0]
    w, *others = (v.row("V_w") for v in whole.learners.values())
    for other in others:
        np.testing.assert_array_equal(w[:shared], other[:shared])
        assert abs(w[shared:] - other[shared:]).max() > 1e-3
    assert whole.feature_names == ["a", "b"]
    assert set(whole.importance()["a"]) == {"a", "b"}
    assert repr(loaded.features) == "Network(inputs=2, hidden=[6, 5])"


@pytest.mark.interpreted
def test_a_file_with_columns_that_no_question_asks_about(tmp_path: Path) -> None:
    data, asked = rows(90) | {"c": np.arange(90.0) % 5, "d": np.arange(90.0)}, {"a": QUESTIONS["a"]}
    features: Any
    for features in (td.Network(4, (5,)), td.features.Dense(4)):
        horde = td.Horde(features, asked, lambda x: td.TD(x, td.steps.Intentional(0.1), 0.8))
        one = horde.learn({name: column[:40] for name, column in data.items()})
        one.save(tmp_path / "one")
        assert td.load(tmp_path / "one").learn(data, skip=40).predict() == one.learn(data, skip=40).predict()


@pytest.mark.interpreted
def test_streams_windows_and_intervals(tmp_path: Path) -> None:
    """Fleets with shared and with separate learners, a question about a window, and intervals."""
    n = 60
    data = rows(n) | {"machine": np.array(["x", "y", "z"])[np.arange(n) % 3]}
    questions: Any = QUESTIONS | {"window": td.Question("b", steps=3)}
    for options in ({}, {"share": False}, {"intervals": True}):
        fleet = td.Horde(td.Network(2, (4,)), questions, by="machine", **options).learn(data)  # type: ignore[arg-type]
        again = td.Horde(td.Network(2, (4,)), questions, by="machine", **options)  # type: ignore[arg-type]
        again.learn({name: column[:31] for name, column in data.items()}).save(tmp_path / "f")
        assert td.load(tmp_path / "f").learn(data, skip=31).predict(by="y") == fleet.predict(by="y")
        assert all(np.isfinite(list(fleet.predict(by=key).values())).all() for key in "xyz")
    assert set(fleet.interval()) == set(questions)


@pytest.mark.interpreted
def test_a_question_that_diverges_leaves_the_trunk() -> None:
    data = rows(200)
    one = horde(learner=lambda x: td.TD(x, 0.01, 0.8, bound=1e3)).learn({n: c[:100] for n, c in data.items()})
    broken = one._journal.state.crews[None].alone[1]
    broken.memory.row("V_w")[-1] = 1e20
    one.learn(data, skip=100)
    assert [(alarm.name, alarm.kind) for alarm in one.alarms if alarm.kind == "diverged"] == [("a later", "diverged")]
    last = one.learners["a later"]
    assert last.diverged_at is not None
    more = rows(240)
    one.learn(more, skip=200)
    np.testing.assert_array_equal(one.learners["a later"].row("V_w"), last.row("V_w"))
    found = one.predict()
    assert 5 < found["a"] < 40
    assert np.isfinite(list(found.values())).all()


@pytest.mark.interpreted
def test_refused() -> None:
    t = np.arange(150.0)
    data, net = {"a": t, "b": t, "c": t}, td.Network(3, (4,))
    mixed = {
        "a": lambda x: td.TD(x, 0.1),
        "a later": lambda x: td.TD(x, td.steps.ObGD()),
        "b": lambda x: td.TD(x, 0.1),
    }
    narrow = td.Network(2, (4,))
    make: Any
    for make, said in [
        (lambda: td.Horde(narrow, QUESTIONS).learn(data), "has 2 inputs, but there are 3 columns .*: a, b, c"),
        (lambda: td.Horde(net, QUESTIONS, mixed).learn(data), "one algorithm and one kind of step size"),
        (lambda: td.Horde(net, QUESTIONS, lambda x: td.TD(x, 0.1, "meta")).learn(data), "whose λ is not learned"),
        (lambda: td.Horde(net, QUESTIONS, lambda x: td.TD(x, 0.1, "auto")).learn(data), "mixes several networks"),
        (lambda: td.Horde(net, QUESTIONS, lambda x: td.LSTD(x)).learn(data), "LSTD needs a value that is linear"),
    ]:  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=said):
            make()
    chosen = td.Horde(narrow, QUESTIONS, observed=["a", "c"]).learn(data)
    assert chosen.feature_names == ["a", "c"]


@pytest.mark.interpreted
def test_an_interrupted_chunk_is_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data, calls, own = rows(90), [0], Trunk.advance
    whole = horde().learn(data, chunk=30).predict()

    def advance(*given: Any) -> Any:
        found = own(*given)
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Trunk, "advance", advance)
    one = horde()
    with pytest.raises(KeyboardInterrupt):
        one.learn(data, chunk=30)
    assert 0 < one.rows < 90
    assert one.learn(data, chunk=30, skip=one.rows).predict() == whole
