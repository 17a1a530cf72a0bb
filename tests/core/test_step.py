"""A step as operations: they compute what the declarations say, and every order that is called legal gives the same."""

import random
from typing import Any

import module_digests
import numpy as np
import pytest
from operations import Operations, shuffled

import tdlambda as td
from tdlambda.core import step as ir
from tdlambda.core.effects import illegal, undefined
from tdlambda.core.interpreter import Interpreter
from tdlambda.core.lowering import lower

STATES, STEPS = 12, 120
RANDOM = np.random.default_rng(1)
ENCODERS = {
    "one-hot": td.features.OneHot(STATES),
    "several": td.features.Table(RANDOM.normal(size=(STATES, 7)) * (RANDOM.random((STATES, 7)) < 0.6) / 2),
}
RULED = ("TD", "TrueOnlineTD", "GTD", "TrueOnlineGTD", "HTD", "ETD")
CASES = [
    (name, rule, encoder)
    for name in module_digests.learners()
    for rule in module_digests.RULES
    for encoder in ENCODERS
    if rule == "given" or name in RULED
]
QUICK = {
    *((name, "given", "several") for name in ("TD-dutch", "TrueOnlineGTD", "TrueOnlineETD", "TrueOnlineTD-Swift")),
    *(("TrueOnlineTD-centred", "given", encoder) for encoder in ENCODERS),
    ("TrueOnlineTD-1/visits", "given", "several"), ("TD-AdaGrad", "given", "one-hot"),
    ("TrueOnlineTD-retrace", "given", "several"),
    ("TrueOnlineTD", "auto", "several"), ("GTD", "meta", "several"), ("TD", "greedy-vtd", "several"),
    ("TrueOnlineTD", "meta-horizon", "one-hot"), ("HTD", "value-error", "several"),
}  # fmt: skip


def marked(cases: list[Any]) -> list[Any]:
    return [c if c in QUICK else pytest.param(*c, marks=pytest.mark.slow) for c in cases]


def learner_of(name: str, rule: str, encoder: str) -> Any:
    return module_digests.learners()[name](ENCODERS[encoder], module_digests.RULES[rule]())


def stream(steps: int) -> list[tuple[Any, ...]]:
    """(s, s', reward, γ, ρ, λ, ended, cut): all change at every step; episodes terminate, are truncated, or go on."""
    rng = np.random.default_rng(7)
    s = rng.integers(STATES, size=steps + 1)
    s[5::17] = s[4::17][: len(s[5::17])]
    gamma = np.where(rng.random(steps) < 0.1, rng.choice([0.0, 1.0], steps), rng.uniform(0.3, 1, steps))
    rho = np.where(rng.random(steps) < 0.1, 0.0, rng.uniform(0.2, 1.6, steps))
    ended = np.where(rng.random(steps) < 0.06, 1, np.where(rng.random(steps) < 0.05, 2, 0))
    more = (rng.normal(size=steps), gamma, rho, rng.uniform(0, 1, steps), ended, rng.uniform(0.5, 1, steps))
    return list(zip(s[:-1].tolist(), s[1:].tolist(), *(column.tolist() for column in more), strict=True))


def driven(learner: Any, machine: Any, steps: int = STEPS) -> Any:
    """A machine (an interpreter) after a stream."""
    X, Z = (f.matrix(range(STATES)) for f in (learner.features, learner.lam_features))
    with np.errstate(all="ignore"):
        for s, s_next, reward, gamma, rho, lam, ended, cut in stream(steps):
            by = cut if learner.model.corrected else 1.0
            machine.learn(X[s], X[s_next], reward, gamma, rho, lam, ended == 1, ended == 2, Z[s_next], by)
    return machine


def machine(learner: Any, kind: Any, *more: Any) -> Any:
    numbers = learner.memory.numbers()
    return kind(learner.model, learner.features.size, numbers, learner.lam_features.size, *more)


@pytest.mark.parametrize(("name", "rule", "encoder"), marked(CASES))
def test_operations_are_the_declaration_bit_for_bit(name: str, rule: str, encoder: str) -> None:
    learner = learner_of(name, rule, encoder)
    found, truth = (driven(learner, machine(learner, kind)) for kind in (Operations, Interpreter))
    for row, numbers in found.rows.items():
        expected = truth.rows[f"{row.of}_{row.name}"] if row.of else truth.rule_rows[row.name]
        np.testing.assert_array_equal(numbers, expected, str(row))
    unused = {k for k in truth.kept if learner.model.mixture and k.startswith("V_")}  # of a V that does not learn
    assert {k: v for k, v in truth.kept.items() if k not in unused} == {
        k: v for k, v in found.slots.items() if k not in unused
    }


def state(found: Operations) -> dict[Any, Any]:
    rows, slots = {k: v.tobytes() for k, v in found.rows.items()}, {k: float(v).hex() for k, v in found.slots.items()}
    return {**rows, **slots, "δ": found.td_error, "λ": found.last_lam, "within": found.within}


@pytest.mark.parametrize(("name", "rule", "encoder"), marked([c for c in CASES if c[2] == "several"]))
def test_every_legal_order_gives_the_same_bits(name: str, rule: str, encoder: str) -> None:
    learner, rng = learner_of(name, rule, encoder), random.Random(0)
    operations = lower(learner.model).operations
    steps = 230 if rule == "auto" else 60  # the weights of a mixture change every 100 steps
    truth = state(driven(learner, machine(learner, Operations), steps))
    for _ in range(8 if rule == "auto" else 3):
        order = shuffled(operations, rng)
        assert order != operations
        assert illegal(operations, order) == []
        assert state(driven(learner, machine(learner, Operations, order), steps)) == truth


@pytest.mark.parametrize("name", ["TrueOnlineTD", "TrueOnlineGTD", "TrueOnlineETD"])
def test_an_order_that_is_called_illegal_matters(name: str) -> None:
    learner = learner_of(name, "given", "several")
    operations = lower(learner.model).operations
    truth = state(driven(learner, machine(learner, Operations), 60))
    forbidden = changed = 0
    for i in range(2, len(operations) - 5):  # two neighbours, exchanged
        order = (*operations[:i], operations[i + 1], operations[i], *operations[i + 2 :])
        if illegal(operations, order):
            forbidden += 1
            try:
                changed += state(driven(learner, machine(learner, Operations, order), 60)) != truth
            except KeyError:  # a number that is not defined yet
                changed += 1
    assert changed == forbidden > 0


@pytest.mark.parametrize(
    ("rule", "moved", "over"),
    [
        ("greedy", ir.Enliven, ir.RowDot), ("greedy", ir.Prune, ir.RowDot), ("greedy", ir.Stop, ir.Check),
        ("greedy", ir.Stop, ir.Finite), ("auto", ir.Mix, ir.Dot),
    ],
)  # fmt: skip
def test_live_features_bounds_and_rows_are_effects(rule: str, moved: Any, over: Any) -> None:
    step = lower(learner_of("GTD", rule, "several").model)
    first = next(op for op in step.all_of(over) if over is not ir.Dot or op.of == "V")
    last = step.all_of(moved)[-1]
    others = [op for op in step.operations if op is not last]
    place = others.index(first)
    order = (*others[:place], last, *others[place:])
    assert (first, last) in illegal(step.operations, order)


def test_an_order_without_an_operation_is_no_order() -> None:
    operations = lower(learner_of("TD", "given", "one-hot").model).operations
    with pytest.raises(ValueError, match="each once"):
        illegal(operations, operations[1:])
    assert undefined(operations[1:])[:3] == ["gamma_next", "reward", "rho"]


def test_corrected_variances_have_a_limit_of_their_own() -> None:
    rule = td.rules.Meta(kappa=0.01, of="corrected")
    model = td.TrueOnlineTD(td.features.OneHot(2), alpha=0.1, lam=rule).model
    checks = {op.estimate: (op.squared, op.corrected) for op in lower(model).all_of(ir.Check)}
    assert {k: checks[k] for k in rule.squares} == dict.fromkeys(rule.squares, (True, True))
    assert checks["V"][0] is False
