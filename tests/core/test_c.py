# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Learners in C: the same bits as in Python for every declaration; what C cannot have is refused with the reason."""

from functools import partial
from pathlib import Path
from typing import Any

import module_digests
import numpy as np
import pytest
from c_learner import EXACT, STRICT, differences, needs_compiler
from pairing import COSTLY, SLOW
from test_step import STATES, stream

import tdlambda as td
from tdlambda.core.c import NoCError
from tdlambda.learners.c_library import CLearner

STEPS = 10_000 if EXACT else 2_000
RANDOM = np.random.default_rng(1)
MANY = np.zeros((STATES, 150))
for row in MANY:
    row[RANDOM.choice(150, 6, replace=False)] = RANDOM.normal(size=6) / 2
FEW = RANDOM.normal(size=(STATES, 7)) * (RANDOM.random((STATES, 7)) < 0.6) / 2
ENCODERS = {"one-hot": np.eye(STATES), "several": FEW, "many": MANY}
RULED = ("TrueOnlineTD", "TD", "GTD")
CASES = [
    (name, rule, encoder)
    for name in module_digests.learners()
    for rule in module_digests.RULES
    for encoder in ENCODERS
    if rule == "given" or name in RULED
]
COMPILED = {("TrueOnlineTD", "meta", "several")}
QUICK = {
    ("TrueOnlineTD-Swift", "given", "several"), ("TrueOnlineTD-1/visits", "given", "many"),
    ("TrueOnlineTD-retrace", "given", "one-hot"), ("TrueOnlineETD", "given", "many"), ("Published", "given", "several"),
}  # fmt: skip


def features(encoder: str) -> Any:
    return td.features.OneHot(STATES) if encoder == "one-hot" else td.features.Dense(ENCODERS[encoder].shape[1])


def compare(learner: Any, c: CLearner, X: Any, steps: int, every: int) -> int:
    """Let both learn, features given by their indices and values; the number of steps until they stop."""
    go = partial(learner.module.update, *learner.memory.arrays)
    encoded = [(np.flatnonzero(x), x[np.flatnonzero(x)]) for x in X]
    narrow = [(index.astype(np.int32), value) for index, value in encoded]
    t = 0
    for t, (s, after, reward, gamma, rho, lam, ended, cut) in enumerate(stream(steps), 1):
        numbers = (reward, gamma, rho, lam, *((cut,) if c.corrected else ()), ended)
        status = go(*encoded[s], *encoded[after], *encoded[after], *numbers)
        assert c.learn(narrow[s], narrow[after], narrow[after], *numbers) == status, t
        if t % every == 0 or status:
            assert differences(learner, c) == [], t
        if status:
            break
    assert differences(learner, c) == []
    return t


@needs_compiler
@pytest.mark.parametrize(
    ("name", "rule", "encoder"),
    [pytest.param(*c, marks=[] if c in COMPILED else [COSTLY if c in QUICK else SLOW]) for c in CASES],
)
def test_it_is_the_learner_bit_for_bit(name: str, rule: str, encoder: str, tmp_path: Path) -> None:
    learner = module_digests.learners()[name](features(encoder), module_digests.RULES[rule]())
    compare(learner, CLearner(learner, tmp_path, *STRICT), ENCODERS[encoder], STEPS, 1000)


@needs_compiler
@SLOW
@pytest.mark.parametrize("lam", [0.8, "auto", "meta"])
def test_a_million_steps(lam: Any, tmp_path: Path) -> None:
    learner = td.TrueOnlineTD(td.features.Dense(7), alpha=0.02, lam=lam, on_divergence="flag")
    assert compare(learner, CLearner(learner, tmp_path, *STRICT), FEW, 1_000_000, 100_000) == 1_000_000


class CappedTD(td.Algorithm):
    """TD(λ) with errors cut at ±cap, and names that are words of C or not ASCII."""

    parameters = "cap double"
    dots = {"v": "w.x", "v_next": "w.x'", "xx": "x.x"}
    keeps = {"decay": 0.0}
    holds = {"spread": 1.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, xx, decay, spread, cap, double, alpha, reward, gamma_next, rho, lam_next):
        v, v_next = v_next, v  # at once
        δ, far = capped(reward + gamma_next * v - v_next, cap)
        if far and not xx > 4:
            spread += 0.01 * (δ**2 - spread)
        elif δ != 0:
            spread *= 0.999 * double
        exp = np.sqrt(max(spread, 1e-12)) ** 3
        along = alpha * δ / (1.0 + exp) + 0.0 * spread**-1
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay, spread


def capped(delta, cap):
    far = abs(delta) > cap
    if far:
        return min(max(delta, -cap), cap), 1.0
    return delta, 0.0


class Timid(td.Rule):
    """λ' = 1/(1 + |δ of the last step|)."""

    dots = {"v": "V.x", "v_next": "V.x'"}
    keeps = {"last": 0.0}

    @staticmethod
    def step(v, v_next, last, reward, gamma_next, ready):
        lam_next = 1.0 / (1.0 + abs(last)) if ready else 1.0
        last = reward + gamma_next * v_next - v
        return lam_next, last


@needs_compiler
@COSTLY
@pytest.mark.parametrize("lam", [0.8, Timid()])
def test_a_users_own_declarations(lam: Any, tmp_path: Path) -> None:
    learner = CappedTD(td.features.Dense(7), alpha=0.05, lam=lam, cap=0.7, double=1.0, on_divergence="flag")
    assert compare(learner, CLearner(learner, tmp_path, *STRICT), FEW, STEPS, 1000) == STEPS


POINTS = np.random.default_rng(4).uniform(-0.2, 1.2, (STATES, 2))
OBSERVED: dict[str, tuple[Any, Any]] = {
    "one-hot": (td.features.OneHot(STATES), range(STATES)),
    "dense": (td.features.Dense(7), FEW),
    "tiles": (td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=[3, 5], offsets="asymmetric", bias=True), POINTS),
    "hashed tiles": (td.features.TileCoder([0, 0], [1, 1], tilings=8, tiles=6, hash_size=150), POINTS),
}


@needs_compiler
@pytest.mark.parametrize("kind", OBSERVED)
def test_it_goes_on_from_the_middle_of_an_episode_with_observations(kind: str, tmp_path: Path) -> None:
    encoder, seen = OBSERVED[kind]
    lam = np.linspace(0, 1, STATES) if kind == "one-hot" else 0.9
    learner = td.TrueOnlineTD(encoder, alpha=0.05, lam=lam, initial=0.25, on_divergence="flag")
    steps = stream(2000)

    def learn(one: Any, transitions: Any) -> None:
        for s, after, reward, gamma, rho, _, ended, _ in transitions:
            one.update(seen[s], reward, seen[after], gamma, rho, ended == 1, ended == 2)

    learn(learner, steps[:777])
    assert learner.trace.any()
    c = CLearner(learner, tmp_path, *STRICT)
    assert differences(learner, c) == []
    learn(learner, steps[777:])
    for s, after, reward, gamma, rho, _, ended, _ in steps[777:]:
        assert c.update(seen[s], reward, seen[after], gamma, rho, ended=ended) == 0
    assert differences(learner, c) == []
    assert [c.predict(obs) for obs in seen] == [learner.predict(obs) for obs in seen]


@COSTLY
@needs_compiler
def test_a_copy_of_the_state_is_the_learner_at_that_time(tmp_path: Path) -> None:
    import ctypes

    c = CLearner(td.TrueOnlineTD(td.features.OneHot(STATES), alpha=0.1, lam="meta"), tmp_path)

    def learn(transitions: Any) -> bytes:
        for s, after, reward, gamma, rho, _, ended, _ in transitions:
            c.update(s, reward, after, gamma, rho, ended=ended)
        return bytes(c.state)

    steps = stream(400)
    saved = learn(steps[:200])
    after = learn(steps[200:])
    ctypes.memmove(ctypes.addressof(c.state), saved, len(saved))
    assert learn(steps[200:]) == after != saved


@needs_compiler
@pytest.mark.parametrize(
    "correction", ["retrace", "vtrace", "tree", td.mdp.TraceCorrection("abtd", psi_0=0.5, psi_max=2)]
)
def test_corrected_traces(correction: Any, tmp_path: Path) -> None:
    learner = td.TD(td.features.OneHot(STATES), alpha=0.05, correction=correction, on_divergence="flag")
    c = CLearner(learner, tmp_path, *STRICT)
    for s, after, reward, gamma, rho, _, ended, behavior in stream(500):
        learner.update(s, reward, after, gamma, rho, ended == 1, ended == 2, behavior=behavior)
        more = (behavior,) if learner.correction.name in ("tree", "abtd") else ()
        assert c.update(s, reward, after, gamma, rho, *more, ended=ended) == 0
    assert differences(learner, c) == []


@needs_compiler
def test_a_wrong_update_says_what_is_wrong_and_changes_nothing(tmp_path: Path) -> None:
    c = CLearner(td.TD(td.features.OneHot(3), alpha=0.5), tmp_path)
    before = bytes(c.state)
    wrong = {1: (0, np.inf, 1, 0.9, 1.0), 2: (0, 1.0, 1, 1.1, 1.0), 3: (0, 1.0, 1, 0.9, -1.0)}
    wrong |= {4: (3, 1.0, 1, 0.9, 1.0), 5: (0, 1.0, -1, 0.9, 1.0)}
    for status, step in wrong.items():
        assert c.update(*step, ended=0) == status
    assert bytes(c.state) == before
    assert np.isnan(c.predict(7))
    dense = CLearner(td.TD(td.features.Dense(2), alpha=0.5), tmp_path / "dense")
    assert dense.update([np.nan, 0], 0.0, [0, 0], 0.9, 1.0, ended=0) == 6
    assert dense.update([0, 0], 0.0, [1e300, 0], 0.9, 1.0, ended=0) == 7


@needs_compiler
def test_a_learner_that_diverges_stops_as_in_python(tmp_path: Path) -> None:
    learner = td.TD(td.features.Dense(7), alpha=5.0, on_divergence="flag")
    c = CLearner(learner, tmp_path, *STRICT)
    steps = compare(learner, c, FEW, 10_000, 1000)
    assert learner.diverged_at == steps == c.state.diverged_at
    assert c.update(FEW[0], 1.0, FEW[1], 0.9, 1.0, ended=0) == 0
    assert differences(learner, c) == []


@COSTLY
@needs_compiler
def test_estimates_of_a_mixture_restart_as_in_python(tmp_path: Path) -> None:
    learner = td.TD(td.features.Dense(7), alpha=1.5, lam="auto", on_divergence="flag")
    c, restarts = CLearner(learner, tmp_path, *STRICT), 0
    for s, after, reward, gamma, rho, _, ended, _ in stream(200):
        learner.update(FEW[s], reward, FEW[after], gamma, rho, ended == 1, ended == 2)
        assert c.update(FEW[s], reward, FEW[after], gamma, rho, ended=ended) == 0
        restarts += np.array_equal(learner.row("L4_w"), learner.row("L0_w"))
    assert differences(learner, c) == []
    assert restarts > 50


def odd(v):
    total = 0.0
    for _ in range(3):
        total = total + v
    return total


class Odd(CappedTD):
    @staticmethod
    def step(v, v_next, xx, decay, spread, cap, double, alpha, reward, gamma_next, rho, lam_next):
        keep, along = odd(v), v_next % cap
        return keep, along, decay, spread


class Either(CappedTD):
    @staticmethod
    def step(v, v_next, xx, decay, spread, cap, double, alpha, reward, gamma_next, rho, lam_next):
        keep, along = v or 1.0, v_next
        return keep, along, decay, spread


class Modulo(CappedTD):
    @staticmethod
    def step(v, v_next, xx, decay, spread, cap, double, alpha, reward, gamma_next, rho, lam_next):
        keep, along = v, v_next % cap
        return keep, along, decay, spread


class Half(td.Rule):
    """λ from the observation, by Python."""

    def at(self, obs: Any) -> float:
        return 0.5


ONE = td.features.OneHot(3)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (lambda: td.TD(ONE, alpha=0.1, dtype="float32"), 'dtype: C learners compute in float64; got "float32"'),
        (lambda: td.TD(td.features.Table(FEW), alpha=0.1), "features: C has encoders for OneHot, Dense and Til"),
        (lambda: td.TD(ONE, alpha=0.1, lam=Half()), "lam: C needs a number, one number for each state"),
        (lambda: td.TD(ONE, alpha=0.1, correction="abtd"), 'correction: "abtd" needs'),
        (lambda: Odd(ONE, alpha=0.1, cap=1.0, double=1.0), "step: odd: no C for 'for _ in range(3):'"),
        (lambda: Modulo(ONE, alpha=0.1, cap=1.0, double=1.0), "step: no C for 'v_next % cap'"),
        (lambda: Either(ONE, alpha=0.1, cap=1.0, double=1.0), "step: no C for 'v or 1.0'"),
        (lambda: td.Sarsa(ONE, 2, alpha=0.1).learner, "OneHot, Dense and TileCoder; got Pairs"),
    ],
)  # fmt: skip
def test_what_c_cannot_have_is_refused_with_the_reason(learner: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(NoCError) as caught:
        learner().to_c(tmp_path / "new")
    assert reason in str(caught.value)
    assert not (tmp_path / "new").exists()


@COSTLY
@needs_compiler
def test_lambda_may_have_features_of_its_own(tmp_path: Path) -> None:
    own = td.features.TileCoder([0, 0], [1, 1], tilings=2, tiles=3)
    encoder, seen = OBSERVED["tiles"]
    learner = td.TrueOnlineTD(encoder, alpha=0.05, lam=td.rules.Meta(kappa=0.01, features=own), on_divergence="flag")
    c = CLearner(learner, tmp_path, *STRICT)
    for s, after, reward, gamma, rho, _, ended, _ in stream(500):
        learner.update(seen[s], reward, seen[after], gamma, rho, ended == 1, ended == 2)
        assert c.update(seen[s], reward, seen[after], gamma, rho, ended=ended) == 0
    assert differences(learner, c) == []
    with pytest.raises(NoCError, match="features of the rule: they must encode the same observations"):
        td.TrueOnlineTD(ONE, alpha=0.05, lam=td.rules.Meta(kappa=0.01, features=own)).to_c(tmp_path / "new")


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    v = td.TD(ONE, alpha=0.1)
    (tmp_path / "learner.c").write_text("mine")
    (tmp_path / "other.txt").write_text("mine too")
    with pytest.raises(FileExistsError, match=r"learner\.c exists already; choose another folder or another name"):
        v.to_c(tmp_path)
    header, source = v.to_c(tmp_path, "values")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learner.c", "other.txt", "values.c", "values.h"]
    assert (tmp_path / "learner.c").read_text() == "mine"
    assert "values_update(" in header.read_text()
    assert '#include "values.h"' in source.read_text()
    bad: Any = None
    with pytest.raises(TypeError, match="folder must be a path; got None"):
        v.to_c(bad)
    with pytest.raises(NotADirectoryError, match="folder must be a folder"):
        v.to_c(tmp_path / "other.txt")


@pytest.mark.parametrize("name", ["", "1st", "a-b", "double", "_v", "td_x", "wert_ü", "../up"])
def test_a_name_that_is_none_in_c_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name must"):
        td.TD(ONE, alpha=0.1).to_c(tmp_path, name)
    assert list(tmp_path.iterdir()) == []
