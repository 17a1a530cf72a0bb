"""Checks of declarations: every generated schedule against the interpreter, and tests for common mistakes.

def test_mine():
    td.check_algorithm(Mine, cap=0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.core.c import NoCError
from tdlambda.core.interpreter import Interpreter
from tdlambda.core.source import arguments
from tdlambda.engine.block import Block
from tdlambda.engine.plan import Group
from tdlambda.engine.trajectory import contiguous
from tdlambda.features import Dense, Encoder, OneHot, Table
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.c_library import CLearner, compiler
from tdlambda.mdp import Transitions
from tdlambda.rules import Lam, Rule

STATES = 12
CONVENTIONS = ("reset", "gamma", "lambda", "rho", "credit")
_TOLERANCE = 1e-9
_DROPPED = 1e-12
"""Traces below this are dropped. The interpreter drops none: with learners' own 1e-8, rows would differ by the sum of
the errors δ times that, which may exceed `_TOLERANCE`, although nothing is wrong."""


def check_algorithm(
    algorithm: type[Algorithm], lam: Lam = 0.8, *, skip: Collection[str] = (), seed: int = 0, **numbers: Any
) -> None:
    """Check a declared algorithm; raise AssertionError at the first error found.

    The interpreter of declarations and every generated schedule (one learner, dense and with a list of live features;
    lanes, one-hot and with active features; C, if there is a compiler) learn from the same streams and must agree. In
    these streams γ, λ and ρ differ at every step, and episodes terminate, are truncated, or continue. Small cases then
    identify common mistakes: traces that survive an episode, γ or λ of the wrong step, ρ applied twice or not at all,
    credit lost on termination.

    Parameters
    ----------
    algorithm
        A subclass of `td.Algorithm`.
    lam
        λ of the learners: a number in [0, 1], or a rule.
    skip
        Conventions that the algorithm intentionally does not follow: "reset", "gamma", "lambda", "rho", "credit".
    seed
        Seed of the random streams, at least 0.
    numbers
        Step sizes and parameters; by default α is 0.05 and `trace_tolerance` 1e-12.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.check_algorithm(td.TrueOnlineTD)
    """
    unknown = set(skip) - set(CONVENTIONS)
    if unknown:
        raise ValueError(f"skip: choose from {', '.join(CONVENTIONS)}; got {', '.join(sorted(unknown))}")
    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        raise TypeError(f"algorithm must be a subclass of td.Algorithm; got {algorithm!r}")
    given = {"alpha": 0.05, "trace_tolerance": _DROPPED} | numbers
    make = lambda features: algorithm(features, lam=lam, on_divergence="flag", **given)  # noqa: E731
    plain = algorithm(OneHot(6), lam=1.0, on_divergence="flag", **given)
    if "lam_next" in arguments(plain.declaration.step):
        for name in CONVENTIONS:
            if name not in skip:
                _CONVENTIONS[name](plain)
    _check_schedules(make, seed)


def check_rule(rule: Rule, algorithm: type[Algorithm] = TrueOnlineTD, *, seed: int = 0, **numbers: Any) -> None:
    """Check a declared rule for λ; raise AssertionError at the first error found.

    Like `check_algorithm`, this compares the interpreter with every schedule. λ' must stay in [0, 1] at every step,
    and so must λ at every observation.

    Parameters
    ----------
    rule
        An instance of a subclass of `td.Rule` that learns.
    algorithm
        The algorithm to run the rule with.
    seed
        Seed of the random streams, at least 0.
    numbers
        Step sizes and parameters of the algorithm; by default α is 0.02 and `trace_tolerance` 1e-12.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.check_rule(td.rules.Meta(kappa=0.01))
    """
    if not isinstance(rule, Rule) or not rule.learns():
        raise TypeError(f"rule must be an instance of a subclass of td.Rule with a step; got {rule!r}")
    given = {"alpha": 0.02, "trace_tolerance": _DROPPED} | numbers
    make = lambda features: algorithm(features, lam=rule, on_divergence="flag", **given)  # noqa: E731
    _check_schedules(make, seed)
    learner, c = make(OneHot(STATES)), _stream(seed, 300)
    for t in range(len(c)):
        learner.update(*_step(c, t))
        lam = learner.memory["last_lam"]
        _require(0 <= lam <= 1, f"lam_next must be in [0, 1]; at step {t + 1} it is {lam}")
    values = learner.lambdas(range(STATES))
    good = bool(((values >= 0) & (values <= 1)).all())
    _require(good, f"λ at an observation must be in [0, 1]; it is {values}: give the rule a method values(seen)")


# ---- every schedule ------------------------------------------------------------------------------------------------


def _stream(seed: int, steps: int) -> Transitions:
    """Transitions among `STATES` states; γ and ρ differ at every step; episodes terminate or are truncated."""
    rng = np.random.default_rng(seed)
    states = rng.integers(STATES, size=steps + 1)
    states[5::17] = states[4::17][: len(states[5::17])]  # a state may follow itself
    gamma = np.where(rng.random(steps) < 0.1, rng.choice([0.0, 1.0], steps), rng.uniform(0.3, 1, steps))
    rho = np.where(rng.random(steps) < 0.1, 0.0, rng.uniform(0.2, 1.6, steps))
    ends = rng.random((2, steps)) < [[0.06], [0.05]]
    return Transitions(
        states[:-1], np.zeros(0, np.int64), rng.normal(size=steps), states[1:], gamma, rho, ends[0], ends[1],
        rng.uniform(0.1, 0.6, steps),
    )  # fmt: skip


def _step(c: Transitions, t: int) -> tuple[Any, ...]:
    """The arguments of `update` for one transition."""
    columns = (c.obs, c.reward, c.next_obs, c.gamma, c.rho, c.terminated, c.truncated, c.behavior)
    return tuple(column[t].item() for column in columns)


def _features(seed: int) -> dict[str, Encoder]:
    """Encoders for each schedule: one-hot, several active features (some repeated), and a sparse one."""
    rng = np.random.default_rng(seed + 1)
    few = rng.normal(size=(STATES, 7)) * (rng.random((STATES, 7)) < 0.6) / 2
    many = np.zeros((STATES, 150))
    for s in range(STATES):
        many[s, rng.choice(150, 6, replace=False)] = rng.normal(size=6) / 2
    return {"one-hot": OneHot(STATES), "active": Table(few), "sparse": Table(many)}


def _check_schedules(make: Callable[[Encoder], Algorithm], seed: int) -> None:
    for name, features in _features(seed).items():
        c, X = _stream(seed, 250), features.matrix(range(STATES))
        learner = make(features)
        lam = learner.lambdas(c.next_obs) if learner.fixed_lam is None else np.full(len(c), learner.fixed_lam)
        truth = _interpreted(learner, X, c, lam)
        learner.update_many(c)
        _require(learner.diverged_at is None, "the learner diverged on the test stream; give a smaller alpha")
        _compare(learner, truth, f"one learner, {name} features")
        single = make(features)
        for t in range(60):
            single.update(*_step(c, t))
        _compare(single, _interpreted(single, X, c, lam, 60), f"update, one by one, {name} features")
        _compare(_in_lanes(make(features), c), truth, f"lanes, {name} features")
        in_c = _in_c(make(features if type(features) is OneHot else Dense(features.size)), features, c, lam)
        if in_c is not None:
            _compare_rows(in_c.row, truth, f"C, {name} features")


def _interpreted(learner: Algorithm, X: Any, c: Transitions, lam: Any, steps: int | None = None) -> Interpreter:
    numbers = learner.memory.numbers()
    Z = learner.lam_features.matrix(range(STATES))
    plain = Interpreter(learner.model, learner.features.size, numbers, learner.lam_features.size)
    rho, factor = learner.correction.factors(c.rho, c.behavior) if learner.model.corrected else (c.rho, np.ones(len(c)))
    for t in range(len(c) if steps is None else steps):
        s, n = c.obs[t], c.next_obs[t]
        ends = bool(c.terminated[t]), bool(c.truncated[t])
        plain.learn(X[s], X[n], c.reward[t], c.gamma[t], rho[t], lam[t], *ends, Z[n], factor[t])
    return plain


def _in_lanes(learner: Algorithm, c: Transitions) -> Algorithm:
    """The learner after it has run as a lane."""
    block = Block(Group((learner,), (0,)))
    x = contiguous(learner.features, np.arange(STATES))
    z = x if learner.lam_features is learner.features else contiguous(learner.lam_features, np.arange(STATES))
    lam, begin = block.group.lam_table(np.arange(STATES)), 0
    while begin < len(c):
        begin = block.advance(*x, *z, lam, c.obs, c.next_obs, *block.group.columns(c), begin, len(c))
        block.take_tops()
    return block.learner(0)


def _in_c(learner: Algorithm, features: Encoder, c: Transitions, lam: Any) -> CLearner | None:
    """The learner after it has run in C; None without a compiler, or if C cannot have the declaration."""
    if compiler() is None:
        return None
    with TemporaryDirectory() as folder:
        try:
            in_c = CLearner(learner, Path(folder), "-O0")  # compiled faster than it would run
        except NoCError:
            return None
        encoders = (features, features if learner.lam_features is learner.features else learner.lam_features)
        index, z_index = ([one.encode(s) for s in range(STATES)] for one in encoders)
        x, z = ([(i.astype(np.int32), v) for i, v in some] for some in (index, z_index))
        rho, factor = (
            learner.correction.factors(c.rho, c.behavior) if learner.model.corrected else (c.rho, np.ones(len(c)))
        )
        for t in range(len(c)):
            more = (float(factor[t]),) if learner.model.corrected else ()
            ended = int(c.terminated[t]) + 2 * int(c.truncated[t])
            s, n = c.obs[t], c.next_obs[t]
            in_c.learn(
                x[s], x[n], z[n], float(c.reward[t]), float(c.gamma[t]), float(rho[t]), float(lam[t]), *more, ended
            )
    return in_c


def _compare(learner: Algorithm, truth: Interpreter, what: str) -> None:
    _compare_rows(learner.row, truth, what)


def _compare_rows(row: Callable[[str], Any], truth: Interpreter, what: str) -> None:
    for name, theirs in (truth.rows | truth.rule_rows).items():
        ours = row(name)
        gap = np.abs(ours - theirs).max() / max(1.0, float(np.abs(theirs).max()))
        _require(gap < _TOLERANCE, f"{what}: row {name} differs from the interpreter's by {gap:.2g}")
    _require(not np.isnan(truth.td_error), f"{what}: δ is NaN")


# ---- conventions ---------------------------------------------------------------------------------------------------
# Small tabular cases, run by the interpreter. Constant γ, λ and ρ would hide all of these mistakes.

Step = tuple[int, float, int, float, float]
"""s, r, s', γ', ρ."""


def _weights(learner: Algorithm, *steps: Step, lam: Any = (1.0,) * 6, end: int = -1) -> list[Any]:
    """The weights after each transition; the transition with index `end` terminates."""
    numbers = learner.memory.numbers()
    plain, found, X = Interpreter(learner.model, 6, numbers), [], np.eye(6)
    for t, (s, reward, after, gamma, rho) in enumerate(steps):
        plain.learn(X[s], X[after], reward, gamma, rho, lam[after], t == end)
        found.append(plain.rows[learner.model.rows[0]].copy())
    return found


def _reset(learner: Algorithm) -> None:
    first, _, last = _weights(learner, (0, 1.0, 1, 1.0, 1.0), (2, 1.0, 3, 1.0, 1.0), (3, 1.0, 4, 1.0, 1.0), end=0)
    _require(
        np.array_equal(first[:2], last[:2]),
        "reset: weights changed at states that this episode did not visit. A trace survives the end of an episode: is "
        "it in weight_rows instead of trace_rows?",
    )


def _gamma(learner: Algorithm) -> None:
    ending, after = _weights(learner, (0, 0.0, 1, 0.0, 1.0), (1, 1.0, 2, 1.0, 1.0))
    _require(
        np.isclose(ending[0], after[0]),
        "gamma: γ' was 0 on entering state 1, but the reward after state 1 changed the value of state 0. The trace "
        "must decay by the γ of the current state: keep decay = gamma_next * lam_next for the next step",
    )
    whole, half = (_weights(learner, (0, 0.0, 1, 1.0, 1.0), (1, 1.0, 2, gamma, 1.0))[1][0] for gamma in (1.0, 0.5))
    _require(
        np.isclose(whole, half),
        "gamma: the change of state 0 by the reward after state 1 depends on γ' on entering state 2. The trace decays "
        "by gamma_next of this step; it must decay by that of the previous step",
    )


def _lambda(learner: Algorithm) -> None:
    steps = (0, 0.0, 1, 1.0, 1.0), (1, 1.0, 2, 1.0, 1.0)
    ending, after = _weights(learner, *steps, lam=(1, 0, 1, 1, 1, 1))
    _require(
        np.isclose(ending[0], after[0]),
        "lambda: λ of state 1 was 0, but the reward after state 1 changed the value of state 0. The trace must decay "
        "by the λ of the current state: keep decay = gamma_next * lam_next for the next step",
    )
    whole, half = (_weights(learner, *steps, lam=(1, 1, lam, 1, 1, 1))[1][0] for lam in (1.0, 0.5))
    _require(
        np.isclose(whole, half),
        "lambda: the change of state 0 by the reward after state 1 depends on λ of state 2. The trace decays by "
        "lam_next of this step; it must decay by that of the previous step",
    )


def _rho(learner: Algorithm) -> None:
    once, twice, none = (_weights(learner, (0, 1.0, 1, 0.5, rho))[0][0] for rho in (0.5, 1.0, 0.0))
    _require(np.isclose(none, 0.0), "rho: a step with ρ = 0 must change nothing, but it changed the value of its state")
    ratio = twice / once if once else np.inf
    found = (
        "ρ is applied twice" if np.isclose(ratio, 4) else "ρ is not applied" if np.isclose(ratio, 1) else "it is not"
    )
    _require(
        np.isclose(ratio, 2.0),
        f"rho: a step's change must be proportional to its ρ; {found} (doubling ρ multiplied it by {ratio:.3g}, not 2)",
    )
    before, after = _weights(learner, (0, 0.0, 1, 1.0, 1.0), (1, 1.0, 2, 1.0, 0.0))
    _require(np.isclose(before[0], after[0]), "rho: a step with ρ = 0 changed the value of the state before it")


def _credit(learner: Algorithm) -> None:
    before, after = _weights(learner, (0, 0.0, 1, 1.0, 1.0), (1, 1.0, 2, 1.0, 1.0), end=1)
    _require(
        not np.isclose(before[0], after[0]),
        "credit: the reward of the last step did not reach the previous state. Clear the traces after the update of a "
        "terminal step, not before; and do not decay this step's trace by its gamma_next = 0",
    )


_CONVENTIONS: dict[str, Callable[[Algorithm], None]] = {
    "reset": _reset, "gamma": _gamma, "lambda": _lambda, "rho": _rho, "credit": _credit,
}  # fmt: skip


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)
