"""A bank of any algorithm: its learners are the learners, its copies their averages, and it is stored by name."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairing import SLOW, cases, pairs

import tdlambda as td
from tdlambda.algorithms.td import DutchTD
from tdlambda.auto.families import linear


class CappedTD(td.Algorithm):
    """TD(λ) with errors cut at ±cap."""

    parameters = "cap"
    cap = 0.5
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, cap, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * min(max(reward + gamma_next * v_next - v, -cap), cap)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


class Clipped(td.Algorithm):
    """TD(λ) with weights kept within ±1: not linear, so written for one feature; a second step size for larger ones."""

    sizes = "alpha slow"
    slow = 1.0
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}

    @staticmethod
    def step(v, v_next, decay, alpha, slow, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        delta = reward + gamma_next * v_next - v
        along = alpha * delta if delta < 1 else slow * delta / 2
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay

    @staticmethod
    def feature(w, e, x, keep, rho, along):  # type: ignore[no-untyped-def]
        e = keep * e + rho * x
        w = min(max(w + along * e, -1.0), 1.0)
        return w, e


class NeedsCap(CappedTD):
    """As above, without a default."""

    cap: Any = None


ALGORITHMS: list[Any] = [td.TrueOnlineTD, td.TD, td.TrueOnlineGTD, CappedTD, Clipped]
FEATURES = [
    td.features.OneHot(40),
    td.features.Table(np.random.default_rng(1).normal(size=(40, 3)) * 0.5),
    td.features.OneHot(300),
]


def stream(steps: int) -> Any:
    """γ and ρ ≤ 1 other at every step, states seldom seen again, episodes that terminate or are cut."""
    rng = np.random.default_rng(3)
    path, end, numbers = rng.integers(40, size=steps + 1), rng.random(steps), rng.uniform(0.5, 1.0, size=(2, steps))
    return path[:-1], rng.normal(size=steps), path[1:], *numbers, end < 0.02, (end > 0.01) & (end < 0.04)


QUICK = [(td.TrueOnlineTD, FEATURES[0])]


@pytest.mark.parametrize(("algorithm", "features"), pairs(ALGORITHMS, FEATURES, lambda a, x: (a, x) in QUICK, SLOW))
def test_its_learners_are_the_learners_and_its_copies_their_averages(algorithm: Any, features: td.Encoder) -> None:
    """Step sizes for |x|² = 1; β = α. A copy takes w̄ += min(1, 2/i) (w - w̄) at the i-th weight update."""
    columns = stream(1250)
    norm = float((features.encode_batch(range(40))[1] ** 2).sum(axis=1).max())
    auto = td.AutoTD(features, algorithm=algorithm)
    auto._bank.memory.lanes.counts[0] = norm
    further = algorithm.sizes.split()[1:]
    chosen = (1, 6, 11, 16)
    own = [
        algorithm(features, alpha / norm, lam, bound=1e30, trace_tolerance=1e-8, **dict.fromkeys(further, alpha / norm))
        for alpha, lam in (linear.PAIRS[lane] for lane in chosen)
    ]
    copies = [np.zeros(features.size) for _ in own]
    for begin in range(0, 1250, 50):
        rows = [column[begin : begin + 50] for column in columns]
        auto.update_many(*rows)
        for k, learner in enumerate(own):
            learner.update_many(*rows)
            if begin % 100 == 50:
                copies[k] += min(1, 2 / ((begin + 50) // 100)) * (learner.weights - copies[k])
    assert auto.explain().restarts == 0, "a copy that restarts is no average: the test needs another stream"
    q = auto._bank.memory.lanes
    found = np.hstack([q.F[:, 0], auto._bank.copies()])
    for k, lane in enumerate(chosen):
        np.testing.assert_allclose(found[:, lane], own[k].weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[:, len(linear.PAIRS) + lane], copies[k], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("algorithm", cases(ALGORITHMS, [td.TrueOnlineTD], SLOW), ids=lambda a: a.__name__)
def test_copies_and_files_go_on_the_same(algorithm: Any, tmp_path: Path) -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features, algorithm=algorithm)
    v.update_many(ring.sampler(seed=1).take(2345))
    v.save(tmp_path / "v")
    others = [td.load(tmp_path / "v"), v.clone(), copy.deepcopy(v), pickle.loads(pickle.dumps(v))]
    after = ring.sampler(seed=2).take(1000)
    v.update_many(after)
    for other in others:
        assert isinstance(other, td.AutoTD)
        assert other.algorithm is algorithm
        other.update_many(after)
        np.testing.assert_array_equal(v.predict_many(range(11)), other.predict_many(range(11)))
        assert v.explain() == other.explain()


@pytest.mark.parametrize("algorithm", cases([td.TrueOnlineGTD, Clipped], [], SLOW), ids=lambda a: a.__name__)
def test_it_keeps_the_contract_of_a_learner(algorithm: Any) -> None:
    td.check_learner(lambda: td.AutoTD(td.features.OneHot(5), algorithm=algorithm))


@pytest.mark.parametrize(
    "algorithm",
    cases([td.TrueOnlineTD, td.TD, td.TrueOnlineGTD, CappedTD], [td.TrueOnlineTD], SLOW),
    ids=lambda a: a.__name__,
)
def test_it_learns(algorithm: Any) -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features, algorithm=algorithm)
    v.update_many(ring.sampler(seed=1).take(30_000))
    assert ring.exact.value_error(v.predict_many(range(11))) < 1e-3


@pytest.mark.parametrize(
    "algorithm",
    cases([td.TrueOnlineTD, td.TD, Clipped, td.TrueOnlineGTD], [td.TrueOnlineTD], SLOW),
    ids=lambda a: a.__name__,
)
def test_learners_that_diverge_are_dropped(algorithm: Any) -> None:
    """Step sizes that are far too large, of some: their weights leave all bounds (those of `Clipped` cannot)."""
    rng, n = np.random.default_rng(1), 4000
    x = rng.normal(size=(n + 1, 3))
    v, target = td.AutoTD(td.features.Dense(3), algorithm=algorithm), np.array([0.1, -0.2, 0.3])
    v._bank.memory.lanes.lane[0, :8] = 30.0
    v.update_many(x[:-1], x[:-1] @ target, x[1:], 0.0)
    assert v.explain().diverged == (0 if algorithm is Clipped else 8)
    np.testing.assert_allclose(v.predict_many(np.eye(3)), target, atol=0.02)


def test_the_default_needs_no_name() -> None:
    assert repr(td.AutoTD(td.features.OneHot(3))) == "AutoTD(features=OneHot(n=3))"
    assert td.AutoTD(td.features.OneHot(3), algorithm="TrueOnlineTD").get_params() == {
        "features": td.features.OneHot(3)
    }
    assert repr(td.AutoTD(td.features.OneHot(3), algorithm=td.TD)) == "AutoTD(features=OneHot(n=3), algorithm='TD')"
    assert td.AutoTD(td.features.OneHot(3), algorithm="TD").algorithm is td.TD


def test_a_class_whose_name_is_taken_is_never_mistaken_for_the_other(tmp_path: Path) -> None:
    other = type("CappedTD", (CappedTD,), {"cap": 0.1})
    v = td.AutoTD(td.features.OneHot(3), algorithm=other)
    assert v.clone().algorithm is other
    with pytest.raises(TypeError, match="algorithm"):
        v.save(tmp_path / "v")


@pytest.mark.parametrize(
    ("algorithm", "error", "said"),
    [
        ("TDD", ValueError, "must be one of .*TrueOnlineTD.* got 'TDD'"),
        ("MonteCarlo", ValueError, "must be one of"),
        (td.MonteCarlo, TypeError, "must be a class such as td.TrueOnlineTD"),
        (td.VTD, TypeError, "must be a class such as td.TrueOnlineTD"),
        (td.TD(td.features.OneHot(3), 0.1), TypeError, "must be a class such as td.TrueOnlineTD"),
        (NeedsCap, TypeError, "NeedsCap needs a default of cap"),
    ],
)
def test_what_cannot_be_an_expert_is_refused(algorithm: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        td.AutoTD(td.features.OneHot(3), algorithm=algorithm)


def test_a_declaration_alone_will_do() -> None:
    """An algorithm that is no learner of its own."""
    v = td.AutoTD(td.features.OneHot(3), algorithm=DutchTD)
    assert v.clone().algorithm is DutchTD
    assert pickle.loads(pickle.dumps(v)).algorithm is DutchTD
