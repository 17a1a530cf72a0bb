"""Model → operations: the order of a step, written once, in `_Lowering.operations`.

    the transition     γ' and x' on termination, the largest prediction allowed, step sizes
    numbers            dot products of rows with x, x' and z; kept numbers; the centred reward
    the rule           its inputs; its functions, which give λ' and the inputs of the estimates; its equations
    each estimate      `before`, `step`, the numbers kept for the next step, then the rows
    the end            δ for the user, divergence, the mixture, late functions of the rule, live features, traces

A name of the rule stands for a number of the record, or for one that an earlier operation has computed: `known` says
which, and is filled while the operations are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from tdlambda.core import step as ir
from tdlambda.core.declare import INPUTS, LATE
from tdlambda.core.effects import undefined
from tdlambda.core.equations import parse
from tdlambda.core.model import Model, Phase
from tdlambda.core.names import words
from tdlambda.core.source import arguments, returned

DERIVED = ("ready", "xx", "zz", "most_reward", "alpha", "one", "turning")
"""Inputs of a rule that follow from the transition and the counters, in the order of their computation."""


@cache
def lower(model: Model) -> ir.Step:
    """The operations of one step of a model, which are remembered; see `lowered`."""
    return lowered(model)


def lowered(model: Model) -> ir.Step:
    """The operations of one step of a model; TypeError names what is used before it is computed."""
    step = _Lowering(model).step()
    lost = undefined(step.operations)
    if lost:
        raise TypeError(f"{', '.join(lost)}: used before it is computed; compute it in an earlier function")
    return step


def dot_name(k: str, left: str, right: str) -> str:
    """The name of a dot product in generated code; a product of x and x' belongs to no estimate."""
    return (f"{left}_{right}_" if left in ("x", "x'") else f"{k}_{left}_{right}").replace("'", "_next")


def rows_of(of: str, names: Iterable[str]) -> tuple[ir.Row, ...]:
    """Rows of an estimate, or of the rule ("")."""
    return tuple(ir.Row(of, name) for name in names)


class _Lowering:
    """The operations of a model, part by part."""

    def __init__(self, model: Model) -> None:
        self.model, self.a, self.rule = model, model.algorithm, model.rule
        self.first = words(self.a.weight_rows)[0]
        self.known: dict[str, ir.Value] = {}
        """What functions of the rule may have as arguments."""

    def step(self) -> ir.Step:
        """The whole step."""
        m, a, rule = self.model, self.a, self.rule
        inputs = ("reward", "gamma_next", "rho", "lam_next", *(["cut"] if m.corrected else []))
        operations = self.operations(inputs)
        return ir.Step(
            title=m.title, operations=tuple(operations), estimates=tuple(m.estimates),
            rows=self.of_all(a.row_names()), rule_rows=rows_of("", m.rule_rows), rule_rows_over_x=m.over_x,
            starts={ir.Row(k, r): float(v) for k in m.estimates for r, v in a.starts.items()},
            weights=tuple(words(a.weight_rows)), traces=tuple(words(a.trace_rows)),
            parameters=tuple(m.constant_numbers), algorithm_parameters=tuple(words(a.parameters)),
            rule_parameters=tuple(words(rule.parameters)) if rule is not None else (),
            shared=tuple(words(rule.shared)) if rule is not None else (),
            slots=tuple(m.kept), held=dict(m.held), inputs=inputs,
            signals={k: tuple(map(self.value, what[:4])) for k, what in m.estimates.items()},
            set_outside=tuple(m.set_outside),
        )  # fmt: skip

    def operations(self, inputs: tuple[str, ...]) -> list[ir.Operation]:
        """The operations, in order: see the module."""
        sizes = words(self.a.sizes)
        return [
            ir.Begin(inputs, self.a.reads_terminal),
            ir.Limit(),
            ir.Sizes(tuple(f"{size}_" for size in sizes), tuple(sizes), self.model.sizes_by),
            *(self.dot(*needed) for needed in self.model.needed()),
            *(ir.Outer(dot_name("", *what.split(".")), what) for what in self.model.outer.values()),
            *self.loads(),
            *self.centering(),
            *self.rule_inputs(),
            *(self.phase(p) for p in self.model.phases if p.where not in LATE),
            *self.rule_updates(),
            *(op for k in self.model.learning for op in self.estimate(k)),
            *self.report(),
            *self.checks(),
            *self.mixture(),
            *(self.phase(p) for p in self.model.phases if p.where in LATE),
            *self.ends(),
        ]

    def value(self, name: str) -> ir.Value:
        """What a name of the rule stands for."""
        return self.known.get(name, ir.Local(name))

    def of_all(self, names: Iterable[str]) -> tuple[ir.Row, ...]:
        """Rows of all estimates."""
        return tuple(row for k in self.model.estimates for row in rows_of(k, names))

    def flag(self, k: str) -> str:
        """The estimate itself if it restarts instead of diverging, so that it has its own flag for its bounds."""
        return k if k in self.model.restarting else ""

    # ---- before the estimates learn ----------------------------------------------------------------------------------

    def dot(self, k: str, left: str, right: str) -> ir.Operation:
        """A dot product of an estimate's row."""
        out = dot_name(k, left, right)
        if right in ("x", "x'", "z"):
            return ir.Dot(out, ir.Row(k, left), right)
        return ir.RowDot(out, ir.Row(k, left), ir.Row(k, right))

    def loads(self) -> list[ir.Operation]:
        """The kept numbers, or their values at the start of an episode."""
        ops: list[ir.Operation] = []
        for k in self.model.learning:
            for keep, start in self.a.keeps.items():
                pin, name = self.model.pinned(k, keep), f"{k}_{keep}"
                begin: ir.Value = self.dot_of(k, start) if isinstance(start, str) else ir.Const(float(start))
                ops.append(ir.Load(k, name, name, begin) if pin is None else ir.Let(k, name, ir.Const(pin)))
            ops += [ir.Load(k, f"{k}_{hold}", f"{k}_{hold}") for hold in self.a.holds]
        if self.rule is not None:
            ops += [ir.Load("", keep, keep, ir.Const(float(start))) for keep, start in self.rule.keeps.items()]
            ops += [ir.Load("", hold, hold) for hold in self.rule.holds]
            self.known |= {name: ir.Local(name) for name in (*self.rule.keeps, *self.rule.holds)}
        return ops

    def dot_of(self, k: str, name: str) -> ir.Local:
        """The value of one of the algorithm's `dots` for an estimate."""
        return ir.Local(dot_name(k, *self.a.dots[name].split(".", 1)))

    def centering(self) -> list[ir.Operation]:
        """The reward minus its average, which the first estimate learns."""
        first = self.model.learning[:1] if self.a.center else []
        return [ir.Center(k, ir.Local(f"{k}_{self.a.center}")) for k in first]

    def rule_inputs(self) -> list[ir.Operation]:
        """The inputs and dot products that the rule's functions have as arguments."""
        rule, m = self.rule, self.model
        if rule is None:
            return []
        used = {n for phase in m.phases for n in phase.arguments}
        wanted = used | {n for what in m.estimates.values() for n in what} | ({"turning"} if m.mixture else set())
        ops: list[ir.Operation] = [ir.Derive(name) for name in DERIVED if name in wanted]
        self.known |= {name: ir.Local(name) for name in (*rule.inputs, "lam_next")}
        self.known |= {name: ir.RecordNumber(name) for name in (*words(rule.parameters), *words(rule.shared))}
        for name, what in rule.dots.items():
            left, *rest = what.split(".")
            if name not in used:
                continue
            if left in m.apart:
                self.known[name] = ir.RecordNumber(name)  # another module sets it
            elif left in m.estimates:
                at = rest if len(rest) == 2 or rest[0] not in ("x", "x'") else [self.first, *rest]
                self.known[name] = ir.Local(dot_name(left, *at) if len(at) == 2 else f"{left}_{at[0]}")
            else:
                ops.append(ir.Dot(name, ir.Row("", left), rest[0]))
                self.known[name] = ir.Local(name)
        return ops

    def phase(self, phase: Phase) -> ir.Operation:
        """A function of the rule, called once or at features."""
        m, rule = self.model, self.rule
        assert rule is not None
        constants = tuple(sorted(m.constants.items()))
        of = ir.Function(f"rule_{phase.name}", phase.function, tuple(phase.arguments), tuple(phase.results), constants)
        if not phase.where:
            op = ir.Call("", tuple(phase.results), of, tuple(self.value(n) for n in phase.arguments))
            self.known |= {name: ir.Local(name) for name in phase.results}
            return op
        where = phase.where.removeprefix("after ")
        at: dict[str, ir.Entry | ir.Here] = {r: ir.Entry(ir.Row("", r)) for r in m.rule_rows} | {"x": ir.Here(where)}
        at |= {f"{k}_w": ir.Entry(ir.Row(k, self.first)) for k in m.estimates}
        rows = {n: ir.Row("", n) for n in phase.results if n in m.rule_rows}
        sums = {n: n for n in phase.results if n not in m.rule_rows}
        closes, count = None, f"{phase.name}_count"
        if phase.where == "all":
            closes, count = ir.Function("rule_closes", rule.closes, tuple(arguments(rule.closes)), ()), ""
        given = tuple(at.get(n) or self.value(n) for n in phase.arguments)
        self.known |= {n: ir.Local(n) for n in ([count] if count else []) + list(sums)}
        return ir.Visit("", of, where, given, rows, sums, count, when=closes, shared=tuple(words(rule.shared)))

    def rule_updates(self) -> list[ir.Operation]:
        """The rule's own equations."""
        rule = self.rule
        if rule is None or not rule.updates:
            return []
        lines, numbers = tuple(parse(rule.updates, rule.row_names())), rule.equations().coefficients
        weights, at = rows_of("", words(rule.weight_rows)), "x" if self.model.over_x else "z"
        return [ir.Update("", lines, {n: self.value(n) for n in numbers}, at, ir.Const(rule.row_bound), weights)]

    # ---- an estimate -------------------------------------------------------------------------------------------------

    def estimate(self, k: str) -> list[ir.Operation]:
        """The operations by which an estimate learns."""
        a, m = self.a, self.model
        ops: list[ir.Operation] = []
        values, kept = self.numbers(k), [*a.keeps, *a.holds]
        if m.before is not None:
            sums = {n: f"{k}_{n}" for n in m.before.results}
            ops.append(self.at_features(k, "before", m.before.function, m.before.where, values, sums))
            values |= {n: ir.Local(f"{k}_{n}") for n in m.before.results}
        step = ir.Function("step", a.step, tuple(arguments(a.step)), tuple(returned(a.step)))
        lost = [n for n in step.arguments if n not in values]
        if lost:
            raise TypeError(f"step: {', '.join(lost)} is no number; its arguments may be {', '.join(sorted(values))}")
        ops.append(ir.Call(k, tuple(f"{k}_{n}" for n in step.results), step, tuple(values[n] for n in step.arguments)))
        carried = {n: ir.Local(dot_name(k, row, "z")) for n, row in m.carried.items()}
        ops += [ir.Keep(k, f"{k}_{n}", carried.get(n, ir.Local(f"{k}_{n}"))) for n in kept]
        values |= {n: ir.Local(f"{k}_{n}") for n in step.results}
        if a.feature is not None:
            return [*ops, self.at_features(k, "feature", a.feature, "live", values, {})]
        lines, numbers = tuple(parse(a.updates, a.row_names())), a.equations().coefficients
        weights, bound = rows_of(k, words(a.weight_rows)), ir.RecordNumber("bound")
        return [*ops, ir.Update(k, lines, {n: values[n] for n in numbers}, "x", bound, weights, self.flag(k))]

    def numbers(self, k: str) -> dict[str, ir.Value]:
        """What the algorithm's functions may have as arguments, for an estimate."""
        a, m, what = self.a, self.model, self.model.estimates[k]
        values: dict[str, ir.Value] = {name: self.dot_of(k, name) for name in a.dots}
        values |= {n: ir.Local(f"{k}_{n}") for n in (*a.keeps, *a.holds)}
        values |= {n: self.value(source) for n, source in zip(INPUTS, what[:4], strict=True)}
        if m.corrected:
            values["lam_next"] = ir.Times(values["lam_next"], ir.Local("cut"))
        for size in words(a.sizes):
            scheduled = ir.Local(f"{size}_")
            values[size] = scheduled if what.pace == "one" else ir.Times(self.value(what.pace), scheduled)
            if m.without(size, k):
                values[size] = ir.Const(0.0)
        return values | {
            n: ir.Const(0.0) if m.parameter(n, k) == "0.0" else ir.RecordNumber(n) for n in words(a.parameters)
        }

    def at_features(
        self, k: str, name: str, function: Callable[..., Any], where: str, values: dict[str, ir.Value],
        sums: dict[str, str],
    ) -> ir.Visit:  # fmt: skip
        """A function of the algorithm that is called at features."""
        a = self.a
        at: dict[str, ir.Entry | ir.Here] = {r: ir.Entry(ir.Row(k, r)) for r in a.row_names()}
        at |= {"x": ir.Here("x"), "x_next": ir.Here("x'")}
        given, made = tuple(arguments(function)), tuple(returned(function))
        rows = {n: ir.Row(k, n) for n in made if n in a.row_names()}
        return ir.Visit(
            k, ir.Function(name, function, given, made), where,
            tuple(at.get(n) or values.get(n, ir.Local(f"{k}_{n}")) for n in given), rows, sums, distinct=True,
            bounded=rows_of(k, (r for r in words(a.weight_rows) if r in rows)), flag=self.flag(k),
        )  # fmt: skip

    # ---- after the estimates have learned ----------------------------------------------------------------------------

    def report(self) -> list[ir.Operation]:
        """δ of the value and λ', for the user; V may be learned elsewhere."""
        lam = self.known.get("lam_next" if self.rule is None else self.rule.estimates["V"][3], ir.Local("lam_next"))
        here, ahead = f"V_{self.first}_x", f"V_{self.first}_x_next"
        lets = [ir.Let("", name, ir.Const(0.0)) for name in (here, ahead) if "V" in self.model.apart]
        return [*lets, ir.Report(ir.Local(here), ir.Local(ahead), lam)]

    def checks(self) -> list[ir.Operation]:
        """Whether the learner has diverged; the numbers that the rule keeps."""
        m, rule = self.model, self.rule
        square, corrected = (rule.squares, rule.corrected) if rule is not None else ((), False)
        ops: list[ir.Operation] = [
            ir.Check(k, ir.Local(f"{k}_{self.first}_x_next"), k in square, corrected)
            for k in m.learning
            if k not in m.restarting
        ]
        if rule is None:
            return ops
        ops += [ir.Keep("", keep, ir.Local(keep)) for keep in (*rule.keeps, *rule.holds)]
        late = {n for p in m.phases if p.where in LATE for n in p.results}
        numbers = [n for n in dict.fromkeys([*m.results, *rule.keeps]) if n != "ready" and n not in late]
        rows = rows_of("", m.rule_rows) if not m.over_x else ()
        return [*ops, ir.Finite(tuple(numbers), rows)]

    def mixture(self) -> list[ir.Operation]:
        """Restarts of estimates, then V as their mixture."""
        m, a = self.model, self.a
        if not m.mixture:
            return []
        ops: list[ir.Operation] = []
        starts = {r: float(a.starts.get(r, 0.0)) for r in a.row_names() if r != self.first}
        for k in m.restarting:
            keeps: dict[str, ir.Const | ir.Row] = {}
            for name, start in {**a.keeps, **a.holds}.items():
                row = a.dots[start].partition(".")[0] if isinstance(start, str) else ""
                keeps[f"{k}_{name}"] = ir.Row(k, row) if isinstance(start, str) else ir.Const(float(start))
            ops.append(ir.Restart(k, next(iter(m.mixture)), self.first, starts, keeps))
        parts = {ir.Row(k, self.first): number for k, number in m.mixture.items()}
        return [*ops, ir.Mix(ir.Row("V", self.first), parts)]

    def ends(self) -> list[ir.Operation]:
        """Live features, and the end of an episode."""
        a, traces, last = self.a, words(self.a.trace_rows), self.a.fading_weights()
        of_rule = rows_of("", words(self.rule.trace_rows)) if self.rule is not None else ()
        ops: list[ir.Operation] = [ir.Enliven("x")]
        if self.model.reads_next or a.equations().fed_by_next([*traces, *last]):
            ops.append(ir.Enliven("x'"))
        return [
            *ops,
            ir.Prune((*self.of_all([*traces, *last]), *of_rule), tuple(words(a.trace_scale))),
            ir.Clear((*self.of_all(traces), *of_rule), bool(last)),
            ir.Stop(self.of_all(words(a.weight_rows))),
        ]
