"""The lazy schedule is the ordinary one, up to rounding: γ, λ and ρ differ at every step, indices occur twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pairing import cases, pairs

import tdlambda as td
from tdlambda.algorithms.td import DutchTD, ReplacingTD
from tdlambda.core import declare
from tdlambda.core.equations import parse
from tdlambda.core.lazy_memory import LazyMemory
from tdlambda.core.linear_maps import Linear
from tdlambda.core.memory import Memory, layout_of
from tdlambda.core.model import Model
from tdlambda.core.runtime import DIVERGED, OK
from tdlambda.core.schedules import lazy, one
from tdlambda.core.source import load
from tdlambda.learners.centering import centered

SIZE, ACTIVE = 150, 4
NUMBERS = {
    "alpha": 0.02, "beta": 0.01, "mu": 0.5, "bound": 1e6, "factor": 1e6, "size": SIZE, "z_size": SIZE,
    "diverged_at": -1, "offset": 10.0, "power": 0.5, "kappa": 0.1, "trace_lam": 0.9, "pace": 2.0, "rho_clip": 2.0,
    "centering": 0.3,
}  # fmt: skip


class Momentum(declare.AlgorithmDeclaration):
    """A trace that follows another, and weights that follow it."""

    trace_rows, parameters = "e m", "mu"
    dots = {"v": "w.x", "v_next": "w.x'", "em": "e.m"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        m  = mu m + along e
        w += m
    """

    @staticmethod
    def step(v, v_next, em, decay, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * (reward + gamma_next * v_next - v + 0.01 * em)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


class Lasting(Momentum):
    """The same row as a weight, which outlives episodes; and each line uses rows of before the step."""

    weight_rows, trace_rows = "w m", "e"
    updates = """
        w += m
        m  = mu m + along e
        e  = keep e + rho x
    """


class Regularised(declare.AlgorithmDeclaration):
    """TDC with weights h that decay (TDRC), written with a minus and a bare vector."""

    weight_rows, sizes = "w h", "alpha beta"
    dots = {"v": "w.x", "v_next": "w.x'", "hx": "h.x", "eh": "e.h"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e - correct x'
        h  = shrink h + along_h e - back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, alpha, beta, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        delta = reward + gamma_next * v_next - v
        keep, shrink = rho * decay, 1 - beta
        correct = alpha * gamma_next * (1 - lam_next) * (keep * eh + rho * hx)
        along, along_h, back_h = alpha * delta, beta * delta, beta * hx
        decay = gamma_next * lam_next
        return keep, along, correct, along_h, back_h, decay, shrink


class WithNext(declare.AlgorithmDeclaration):
    """Traces and weights that follow two traces, one of which is fed by x' too."""

    weight_rows, trace_rows = "w u", "e k"
    dots = {"v": "w.x", "v_next": "w.x'", "ux": "u.x'", "ek": "e.k"}
    keeps = {"decay": 0.0}
    updates = """
        w += along e - half k
        e  = keep e + rho x
        k  = keep k - half e
        u += along k + half e + half x'
    """

    @staticmethod
    def step(v, v_next, ux, ek, decay, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * (reward + gamma_next * v_next - v + 0.1 * ux - 0.01 * ek)
        keep, half, decay = rho * decay, 0.1 * alpha, gamma_next * lam_next
        return keep, along, decay, half


MODELS = {
    "TD": Model(td.TD), "dutch": Model(DutchTD), "TrueOnlineTD": Model(td.TrueOnlineTD), "GTD": Model(td.GTD),
    "TrueOnlineGTD": Model(td.TrueOnlineGTD), "momentum": Model(Momentum), "lasting": Model(Lasting),
    "regularised": Model(Regularised), "with next": Model(WithNext), "visits": Model(td.TrueOnlineTD, None, "visits"),
    "greedy": Model(td.GTD, td.rules.Greedy()), "META": Model(td.TrueOnlineGTD, td.rules.Meta()),
    "centred": Model(centered(td.TD), td.rules.Greedy()),
}  # fmt: skip


STEP = """

@kernel
def enter(state, rows, own, live, x, xv, y, yv, z, zv, reward, gamma, rho, lam, terminated, truncated):
    return learn(state, rows, own, live, x, xv, y, yv, z, zv, reward, gamma, rho, lam, terminated, truncated)
"""


def learner(model: Model, **numbers: float) -> Memory:
    layout = replace(layout_of(model, SIZE, SIZE, "float64"), lists_live=True)
    known = {name: value for name, value in (NUMBERS | numbers).items() if name in (layout.record.names or ())}
    return Memory(layout, known, {model.rows[0]: 0.1 * np.random.default_rng(5).normal(size=SIZE)})


def stream(seed: int, n: int, binary: bool) -> Iterator[Any]:
    """Transitions between feature vectors: with values of 1, or any values and indices that occur twice."""
    rng = np.random.default_rng(seed)

    def draw() -> Any:
        if binary:
            return rng.choice(SIZE, ACTIVE, replace=False), np.ones(ACTIVE)
        index = rng.integers(0, SIZE, ACTIVE)
        index[1] = index[rng.integers(2)]
        return index, rng.normal(size=ACTIVE)

    def number(top: float) -> float:
        return float(rng.choice([0.0, 1.0, top * rng.random()], p=[0.03, 0.37, 0.6]))

    x = draw()
    for _ in range(n):
        y, ended = draw(), int(rng.choice(3, p=[0.96, 0.02, 0.02]))
        yield (*x, *y, *y, rng.normal(), number(1.0), number(2.0), number(1.0), ended == 1, ended == 2)
        x = draw() if ended else y


class Pair:
    """Both schedules of one model, from the same start."""

    def __init__(self, model: Model, binary: bool, **numbers: float) -> None:
        self.model = model
        self.one = load("test_one", one.generate(model, sparse=True) + STEP)
        self.lazy = load("test_lazy", lazy.generate(model, binary) + STEP)
        self.memory = learner(model, **numbers)
        self.open(self.memory.copy())

    def open(self, memory: Memory) -> None:
        self.lazy_memory = LazyMemory(self.model, memory)

    def closed(self) -> Memory:
        found = learner(self.model)
        self.lazy_memory.write(found)
        return found

    def step(self, transition: Any) -> tuple[int, int]:
        return (
            self.one.enter(*self.memory.all_arrays, *transition),
            self.lazy.enter(*self.lazy_memory.all_arrays, *transition),
        )

    def compare(self) -> None:
        found = self.closed()
        np.testing.assert_allclose(found.rows, self.memory.rows, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.rule_rows, self.memory.rule_rows, rtol=1e-9, atol=1e-12)
        theirs = self.memory.numbers()
        for name, value in found.numbers().items():
            if name != "n_live":
                np.testing.assert_allclose(value, theirs[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("name", "binary"), pairs(MODELS, [True, False], lambda name, binary: binary and name == "TrueOnlineGTD")
)
def test_it_is_the_ordinary_schedule(name: str, binary: bool) -> None:
    assert lazy.possible(MODELS[name])
    pair = Pair(MODELS[name], binary)
    for t, transition in enumerate(stream(1, 800, binary)):
        assert pair.step(transition) == (OK, OK)
        if t % 40 == 39:
            pair.compare()
        if t % 200 == 199:  # in the middle of an episode
            pair.open(pair.closed())
    assert pair.memory["n_live"] > 0


@pytest.mark.parametrize("name", cases(["TD", "TrueOnlineGTD", "META"], ["TrueOnlineGTD"]))
def test_divergence_is_noticed_at_the_same_step(name: str) -> None:
    for bound in (0.3, 0.6, 1.5):
        pair = Pair(MODELS[name], False, bound=bound, alpha=0.3, factor=1e300)
        statuses = [pair.step(transition) for transition in stream(3, 400, False)]
        assert all(a == b for a, b in statuses)
        assert statuses.count((DIVERGED, DIVERGED)) == 1
        pair.compare()


def test_traces_within_the_tolerance_are_dropped() -> None:
    pair = Pair(MODELS["TrueOnlineTD"], True, tolerance=1e-6)
    for transition in stream(2, 600, True):
        pair.step((*transition[:7], 0.9, 1.0, 0.9, False, False))
    found = pair.closed()
    np.testing.assert_allclose(found.rows[0], pair.memory.rows[0], atol=1e-6)
    assert found["n_live"] < SIZE


def test_what_it_cannot_do_is_known() -> None:
    class OfWeights(Momentum):
        dots = {"v": "w.x", "v_next": "w.x'", "em": "w.w"}

    class Dropped(Momentum):
        updates = """
            e  = keep e + rho x
            m  = along e
            w += m
        """

    class Circle(Momentum):
        updates = """
            e  = keep e + mu m + rho x
            m  = mu m + along e
            w += m
        """

    class AlongAWeight(Regularised):
        updates = """
            e  = keep e + rho x
            h += along_h e - back_h x
            w += along h - correct x' + shrink e
        """

    assert not any(lazy.possible(Model(kind)) for kind in (ReplacingTD, OfWeights, Dropped, Circle, AlongAWeight))
    assert not lazy.possible(Model(td.TrueOnlineTD, td.rules.ValueErrorGreedy()))


def test_rows_that_decay_alike_share_a_factor() -> None:
    def factors(text: str) -> list[str]:
        return Linear(parse(text, ["w", "e", "k"]), ["w", "e", "k"]).factors

    assert factors("e = keep e + x\nk = keep k + x\nw += e") == ["K_keep"]
    assert factors("e = keep e + x\nw += k\nk = keep k + x") == ["K_e", "K_k"]  # w follows k as it was
