"""The memory layout of a block of lanes, and the order of its operations: what differs between lanes, what is where."""

from __future__ import annotations

from typing import Any

from tdlambda.core import step as ir
from tdlambda.core.declare import INPUTS
from tdlambda.core.effects import illegal, reads
from tdlambda.core.equations import Forms, forms
from tdlambda.core.schedules.text import indent

SHARED_FLOATS = ("most_reward", "most_gamma", "most_rho")
"""Numbers that all lanes of a block share."""
STAGES = ("read", "fresh", "centered", "decide", "td_error", "learn", "mix", "after", "end")
"""The parts of a step in lanes, in their order."""
LIMITED = INPUTS[:3]
"""Inputs that the largest prediction allowed depends on."""
_LIMITS = ("tolerance", "bound", "factor", "start", "allowed", "allowed_square", "largest", "limit", "out", "td_error")
EACH = "b_, m_ = k_ * ROWS, k_ * NUMBERS"
"""Where the rows and numbers of estimate k_ start."""


class Places:
    """The layout of a step in one form of lanes.

    `own` are the numbers of each estimate, `common` those without an estimate, and `scratch` temporary numbers of one
    estimate at a time. `dots` are the dot products of the estimates' rows, by their names without the estimate.
    """

    def __init__(self, step: ir.Step, one_hot: bool, one_z: bool, per_lane: tuple[str, ...], bounded: bool) -> None:
        self.step, self.one_hot, self.per_lane, self.bounded = step, one_hot, per_lane, bounded
        self.one_z = one_hot if step.rule_rows_over_x else one_z
        self.first, self.rows = step.rows[0].name, list(dict.fromkeys(r.name for r in step.rows))
        self.parts: list[str] = []
        """Functions of the module."""
        self.tables: dict[str, tuple[int, ...]] = {}
        self.sizes = step.only(ir.Sizes)
        self.mixture = next(iter(step.all_of(ir.Mix)), None)
        self.restarts = {op.estimate: op for op in step.all_of(ir.Restart)}
        self._sort()
        centered = bool(step.all_of(ir.Center))
        self.differing = (*per_lane, "reward") if centered else per_lane
        """Inputs that differ between lanes: those given per lane, and a centred reward."""
        self.forms = None if step.by_feature else forms(list(self.updates[self.learner].lines))
        feature = self.features.get(self.learner)
        self.coefficients = self.forms.coefficients if self.forms is not None else self.numbers_of(feature)
        used = self.coefficients if self.forms is None else self.forms.used
        self.live = [c for c in used if not self.same(c)]
        """Coefficients that differ between lanes or estimates."""
        self._place(self.forms or Forms())
        self.order = self.arranged()
        wrong = illegal(step.operations, self.order)
        assert not wrong, wrong

    def _sort(self) -> None:
        """Sort the operations by what they do."""
        step = self.step
        self.makers: dict[str, Any] = {}
        """Number → the operation that defines it, if it is no function."""
        for op in step.operations:
            if isinstance(op, ir.Dot | ir.RowDot | ir.Outer | ir.Load | ir.Let | ir.Derive):
                self.makers.setdefault(op.out, op)
        self.updates = {op.of: op for op in step.all_of(ir.Update)}
        self.calls = {op.of: op for op in step.all_of(ir.Call) if op.of}
        """Estimate → the call of `step`."""
        self.learner = next(iter(self.calls))
        """The first estimate that learns."""
        visits = [op for op in step.all_of(ir.Visit) if op.of]
        self.features = {op.of: op for op in visits if op.function.name == "feature"}
        self.befores = {op.of: op for op in visits if op.function.name == "before"}
        self.rule_calls = [op for op in step.operations if isinstance(op, ir.Call | ir.Visit) and not op.of]
        results = (n for op in self.rule_calls for n in op.function.results if ir.Row("", n) not in step.rule_rows)
        self.results = list(dict.fromkeys(results))
        """Numbers that the rule computes."""

    def stage(self, op: ir.Operation) -> str:
        """The part of the text that an operation is printed in."""
        match op:
            case ir.Begin() | ir.Limit() | ir.Sizes() | ir.Outer():
                return "read"
            case ir.Dot() | ir.RowDot():
                return "decide" if not op.of else "learn" if op.short in self.scratch else "read"
            case ir.Load() | ir.Let():
                return "fresh"
            case ir.Center():
                return "centered"
            case ir.Derive():
                return "decide"
            case ir.Check():
                return "learn"
            case ir.Visit() if not op.of:
                operations = self.step.operations
                return "after" if operations.index(op) > operations.index(self.step.only(ir.Report)) else "decide"
            case ir.Call() | ir.Visit() | ir.Update():
                return "learn" if op.of else "decide"
            case ir.Keep():
                return "learn" if op.of else "end"
            case ir.Report():
                return "td_error"
            case ir.Restart() | ir.Mix():
                return "mix"
        return "end"  # in the templates; after a step that leaves the bounds, Python looks at the rest (`Finite`)

    def arranged(self) -> tuple[ir.Operation, ...]:
        """The operations in the order of lanes: by stage and, where the estimates learn, by estimate.

        Compared with the order of the step, δ comes before that, a dot product that only one estimate reads directly
        before it, and the check of a prediction with its estimate.
        """

        def key(item: tuple[int, ir.Operation]) -> tuple[int, int, int, int]:
            i, op = item
            stage = self.stage(op)
            if stage != "learn":
                return STAGES.index(stage), 0, 0, i
            of = op.estimate if isinstance(op, ir.Check) else op.of  # type: ignore[union-attr]
            rank = {ir.Call: 2, ir.Keep: 3, ir.Check: 4, ir.Update: 5}.get(type(op), 0)
            if isinstance(op, ir.Visit):
                rank = 1 if op.function.name == "before" else 5
            return STAGES.index(stage), self.step.estimates.index(of), rank, i

        return tuple(op for _, op in sorted(enumerate(self.step.operations), key=key))

    def uniform(self, v: ir.Value) -> bool:
        """Whether a value is the same in all lanes: it follows from the transition and shared numbers only."""
        if isinstance(v, ir.RecordNumber):
            return v.name in self.step.shared
        if not isinstance(v, ir.Local):
            return isinstance(v, ir.Const)
        if v.name in self.results:
            return False
        if isinstance(self.makers.get(v.name), ir.Derive):
            return v.name != "alpha" and not (v.name == "most_reward" and self.per_lane)
        counts = [op.count for op in self.rule_calls if isinstance(op, ir.Visit)]
        return v.name in counts or (v.name in LIMITED and v.name not in self.differing)

    def same(self, c: str) -> bool:
        """Whether a coefficient is an input that is the same for all lanes and all estimates."""
        if self.forms is None:
            given = {dict(zip(op.function.arguments, op.arguments, strict=True))[c] for op in self.features.values()}
        else:
            given = {op.coefficients[c] for k, op in self.updates.items() if k}
        given |= {self.step.signals["V"][INPUTS.index(c)]} if c in INPUTS else set()
        return given == {ir.Local(c)} and c in INPUTS and self.uniform(ir.Local(c))

    def numbers_of(self, op: ir.Visit | None) -> list[str]:
        """The arguments of a function of one feature that are numbers."""
        assert op is not None
        pairs = zip(op.function.arguments, op.arguments, strict=True)
        return [n for n, v in pairs if not isinstance(v, ir.Entry | ir.Here)]

    def _place(self, f: Forms) -> None:
        """Decide where each number is: see the class."""
        every = [op for op in self.step.operations if isinstance(op, ir.Dot | ir.RowDot) and op.of]
        self.dots: dict[str, ir.Dot | ir.RowDot] = {op.short: op for op in every}
        stored = [n for n, op in self.dots.items() if not (self.one_hot and isinstance(op, ir.Dot) and op.at == "x")]
        own = [*self.sizes.sizes, *self._kept_of(self.learner)]
        self.summed = self._summed(f, stored, own)
        """Dot products of rows that one step sums for the next."""
        own += [name for name in stored if name in self._early(every)] + self.summed
        own += ["weight_top"] if self.forms is None else ["trace_top", "weight_top"]
        self.own = list(dict.fromkeys(own))
        self.fused = self.one_hot and self.forms is not None
        """Whether the rows of x are updated in the loop that computes the coefficients."""
        of_value = {name for k in self.calls for name in self.zeros_of(k)}
        fixed = {*self.own, *self.step.algorithm_parameters} - of_value
        sums = list(self.befores[self.learner].sums) if self.befores else []
        scratch = [*(n for n in stored if n not in self.own), *(c for c in self.live if c not in fixed), *sums]
        scratch += ([] if self.fused else [f"{r}_at_x" for r in f.at_x]) + [f"{r}_at_next" for r in f.at_next]
        self.scratch = list(dict.fromkeys(scratch))
        self.common = list(dict.fromkeys(self._common()))

    def zeros_of(self, k: str) -> tuple[str, ...]:
        """Parameters that are 0 for an estimate, because it is none of the value."""
        call = self.calls[k]
        given = zip(call.function.arguments, call.arguments, strict=True)
        return tuple(n for n, v in given if n in self.step.algorithm_parameters and v == ir.Const(0.0))

    def _kept_of(self, k: str) -> list[str]:
        """The kept numbers of an estimate, without its name."""
        ops = [op for op in self.step.operations if isinstance(op, ir.Load | ir.Let) and op.of == k]
        return [op.out.removeprefix(f"{k}_") for op in ops]

    def _summed(self, f: Forms, stored: list[str], own: list[str]) -> list[str]:
        makers = [self.makers.get(v.name) for v in self.calls[self.learner].arguments if isinstance(v, ir.Local)]
        used = [op.short for op in makers if isinstance(op, ir.Dot | ir.RowDot)]
        found = []
        for name in stored:
            op = self.dots[name]
            if self.bounded and isinstance(op, ir.RowDot) and name not in own and used.count(name) == 1:
                pair = {op.left.name, op.right.name}
                found += [name] if pair <= set(f.touched) and not pair <= set(f.at_next) else []
        return found

    def _early(self, every: list[ir.Dot | ir.RowDot]) -> set[str]:
        """The dot products that not only `step` reads, so that they are computed for all estimates first."""
        others = [op for op in self.step.operations if not (isinstance(op, ir.Call) and op.of)]
        read = {name for op in others for kind, name in reads(op) if kind == "local"}
        return {op.short for op in every if op.out in read} | {f"{self.first}_x"}

    def _common(self) -> list[str]:
        step, dynamic = self.step, self.sizes.by != "constant"
        common = [*(self.sizes.sizes if dynamic else []), *step.algorithm_parameters]
        common += [*(["offset", "power"] if dynamic else []), *_LIMITS]
        if self.rule_calls:
            kept = [op.slot for op in step.all_of(ir.Load) if not op.of]
            common += [*step.rule_parameters, *kept, *self.results]
            common += ["over", "here", "ahead"] if self.mixture is not None else []
            common += [op.out for op in step.all_of(ir.Dot) if not op.of and not self.entry_of(op)]
            common += [*step.set_outside, *([] if "lam_next" in self.results else ["lam_next"])]
        common += ["reward"] if step.all_of(ir.Center) else []
        common += ["zeros"] if "gamma_next" in self.per_lane else []
        if self.per_lane:
            common += [*SHARED_FLOATS, *(f"one_{n}" for n in LIMITED if n not in self.per_lane)]
        return common

    def entry_of(self, op: ir.Dot) -> bool:
        """Whether a dot product of a rule's row is an entry of it, because x or z is one-hot."""
        return self.one_z and op.at in ("z", "x")

    def number(self, name: str, m: str = "m_") -> str:
        """Where a number of the current estimate is; one without an estimate, for all lanes."""
        if name in self.scratch:
            return f"N_[AT_{name.upper()}]"
        return f"N_[{m} + OWN_{name.upper()}]" if name in self.own else f"N_[{name.upper()}]"

    def of_all(self, name: str) -> str:
        """Where a number without an estimate is."""
        return f"N_[{name.upper()}]"

    def row(self, name: str, feature: str, b: str = "b_") -> str:
        """A row of the current estimate at a feature."""
        return f"F_[{feature}, {b} + ROW_{name.upper()}]"

    def rule_row(self, row: ir.Row, feature: str) -> str:
        """A row of the rule at a feature."""
        return f"U_[{feature}, {self.step.rule_rows.index(row)}]"

    def dot_at(self, name: str, k: int | None = None) -> str:
        """Where a dot product of an estimate is: the current one, or the k-th. With one-hot features, a row has it."""
        op = self.dots[name]
        b, m = ("b_", "m_") if k is None else (f"{k} * ROWS", f"{k} * NUMBERS")
        if self.one_hot and isinstance(op, ir.Dot) and op.at == "x":
            return self.row(op.row.name, "x_", b)
        if self.one_hot and isinstance(op, ir.Dot) and op.at == "x'":
            return f"({self.row(op.row.name, 'y_', b)} if other_ else {self.number(name, m)})"
        return self.number(name, m)

    def loop(self, name: str, parameters: list[str], body: list[str], over: str, result: str = "") -> None:
        """Add a function that loops over lanes; `over` is an array of the length of the loop."""
        text = f"@lanewise\ndef {name}({', '.join(parameters)}):\n" + (f"    {result} = 0\n" if result else "")
        text += f"    for lane_ in range({over}.size):\n" + indent(body, 8)
        self.parts.append(text + (f"    return {result}\n" if result else ""))

    def layout(self) -> str:
        """The names of rows and numbers, as positions."""
        K = len(self.step.estimates)
        text = f"\n{', '.join(f'ROW_{r.upper()}' for r in self.rows)}, ROWS = range({len(self.rows) + 1})\n"
        text += f"{', '.join(f'OWN_{n.upper()}' for n in self.own)}, NUMBERS = range({len(self.own) + 1})\n"
        of_all = [*(n.upper() for n in self.common), *(f"AT_{n.upper()}" for n in self.scratch)]
        text += f"{', '.join(of_all)}, SIZE = range({K} * NUMBERS, {K} * NUMBERS + {len(of_all) + 1})\n"
        text += "".join(f"{name} = {positions!r}\n" for name, positions in self.tables.items())
        names = [f"{k}_{n}" for k in self.step.estimates for n in self.own] + self.common
        return text + f"NAMES = {(*names, *(f'at_{n}' for n in self.scratch))!r}\n"
