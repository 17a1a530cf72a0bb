"""Loops over lanes that compute the coefficients of an update from dot products, for every estimate."""

from __future__ import annotations

from tdlambda.core import step as ir
from tdlambda.core.declare import INPUTS
from tdlambda.core.equations import Forms, Symbol, bound, written
from tdlambda.core.schedules.lanes.features import FeatureLoops
from tdlambda.core.schedules.text import block


class Estimates(FeatureLoops):
    """Code for the numbers of an update."""

    gathers: list[str]
    """Code that sums the results of `before` over features, to be run before the numbers are computed."""

    def sizes_after(self) -> list[str]:
        """Code for the step sizes of further estimates, if they change from step to step and a function reads them."""
        lines = []
        for k, name in enumerate(self.step.estimates[1:], 1):
            given: dict[str, ir.Argument] = {}
            for op in (self.befores.get(name), self.calls[name], self.features.get(name)):
                given |= dict(zip(op.function.arguments, op.arguments, strict=True)) if op is not None else {}
            for size in self.sizes.sizes:
                v = given.get(size, ir.Const(0.0))
                pace = v.left.name if isinstance(v, ir.Times) and isinstance(v.left, ir.Local | ir.RecordNumber) else ""
                changes = self.sizes.by != "constant" or pace in self.results
                if changes and v != ir.Const(0.0):
                    to, of = f"N_[{k} * NUMBERS + OWN_{size.upper()}]", f"N_[OWN_{size.upper()}]"
                    lines.append(f"product({to}, {self.of_all(pace)}, {of})" if pace else f"copy({to}, {of})")
        return lines

    def td_error(self) -> list[str]:
        """Code that stores δ of the value, after the last step."""
        op = self.step.only(ir.Report)
        v, v_next = (self.dot_at(self.makers[n.name].short, 0) for n in (op.value, op.value_next))
        reward, gamma = (f"{n}_[lane_]" if n in self.differing else n for n in ("reward", "gamma_next"))
        body = [f"out_[lane_] = {reward} + {gamma} * v_next_[lane_] - v_[lane_]"]
        names = [f"{n}_" if n in self.differing else n for n in ("reward", "gamma_next")]
        self.loop("value_error", ["out_", "v_", "v_next_", *names], body, "out_")
        call = f"value_error({self.of_all('td_error')}, {v}, {v_next}, reward, gamma_next)"
        return [*self.sizes_after(), *block("if last_:", call)]

    def estimates(self) -> list[str]:
        """The call that computes the coefficients; estimates that differ only in data form a group with one loop."""
        step = self.step
        groups: dict[tuple[object, ...], list[int]] = {}
        for k, name in enumerate(step.estimates):
            if name in self.calls:
                signals, pins = step.signals[name], tuple(op.value for op in step.all_of(ir.Let) if op.of == name)
                sources = tuple((self.uniform(v), self.source(v)) for v in signals)
                key = (sources, pins, self.zeros_of(name), name in self.restarts)
                groups.setdefault(key, []).append(k)
        if len(groups) > 1:
            of = {k: g for g, members in enumerate(groups.values()) for k in members}
            self.tables["GROUP_OF"] = tuple(of.get(k, 0) for k in range(len(step.estimates)))
        made = [self.numbers(g, members) for g, members in enumerate(groups.values())]
        self.gathers = self.by_group([gathers for _, gathers in made])
        return self.by_group([[f"beyond_k_ = {call}"] for call, _ in made])

    def by_group(self, calls: list[list[str]]) -> list[str]:
        """Code that selects the lines of the group that the current estimate belongs to."""
        if len(calls) == 1 or not any(calls):
            return calls[0]
        lines: list[str] = []
        for g, call in enumerate(calls):
            lines += block("else:" if g + 1 == len(calls) else f"{'el' if g else ''}if GROUP_OF[k_] == {g}:", *call)
        return lines

    def source(self, v: ir.Value) -> str:
        """The name of an input that is not stored, and so is part of the code; "" if it is data."""
        name = v.name if isinstance(v, ir.Local | ir.RecordNumber) else repr(v)
        return name if self.uniform(v) or (name in INPUTS and name not in self.common) else ""

    def numbers(self, g: int, members: list[int]) -> tuple[str, list[str]]:
        """The loop that calls `step` for a group, keeps numbers and checks bounds: its call, and what comes before."""
        k = self.step.estimates[members[0]]
        loop = _LaneLoop()
        for row in self.rows if self.fused else []:
            loop.take(row, self.row(row, "x_"))
        dots = self.take_dots(loop, k)
        self.take_constants(loop, k)
        self.take_inputs(loop, g, members)
        gathers = self.before_pass(g, k, loop.parameters, loop.values)
        body = self.computed(loop, k)
        body += self.summed_anew(loop, dots)
        within = self.limits_of(loop, k, members, dots)
        if self.forms is not None:
            for name in ("trace_top", "weight_top", "bound"):
                loop.take(name, self.number(name))
            loop.parameters |= {"x1_": "x1_", "y1_": "y1_"}
            lines, tops = self.tops(self.forms)
            body, within = body + lines, [*tops, *within]
        body.append(f"beyond_ += not ({' & '.join(within) or 'True'})")
        self.loop(f"numbers_{g}", list(loop.parameters), body, "alpha_", "beyond_")
        return f"numbers_{g}({', '.join(loop.parameters.values())})", gathers

    def take_dots(self, loop: _LaneLoop, k: str) -> dict[str, str]:
        """Let a loop take the dot products of an estimate; {name in the declaration: name of the dot product}."""
        call = self.calls[k]
        arguments = {
            v.name: n for n, v in zip(call.function.arguments, call.arguments, strict=True) if isinstance(v, ir.Local)
        }
        for outer in self.step.all_of(ir.Outer):
            if outer.out in arguments:
                loop.same(arguments[outer.out], arguments[outer.out])
        every = [op for op in self.step.operations if isinstance(op, ir.Dot | ir.RowDot) and op.of == k]
        dots = {arguments[op.out]: op.short for op in every if op.out in arguments}
        for name, dot in {**dots, self.prediction(dots): f"{self.first}_x_next"}.items():
            op = self.dots[dot]
            if self.fused and isinstance(op, ir.Dot) and op.at == "x":
                loop.values[name] = f"{op.row.name}0"
            else:
                loop.take(name, self.dot_at(dot))
        return dots

    def prediction(self, dots: dict[str, str]) -> str:
        """The name of the prediction at x' in a loop."""
        return next((n for n, dot in dots.items() if dot == f"{self.first}_x_next"), "prediction")

    def kept(self, k: str, held_first: bool) -> dict[str, ir.Load | ir.Let]:
        """The kept numbers of an estimate, those kept across episodes first or last."""
        every = [op for op in self.step.operations if isinstance(op, ir.Load | ir.Let) and op.of == k]
        every.sort(key=lambda op: (isinstance(op, ir.Load) and op.start is None) != held_first)
        return {op.out.removeprefix(f"{k}_"): op for op in every}

    def take_constants(self, loop: _LaneLoop, k: str) -> None:
        """Let a loop take the kept numbers, step sizes and parameters of an estimate."""
        for name, op in self.kept(k, held_first=True).items():
            loop.take(name, self.number(name))
            if isinstance(op, ir.Let):
                loop.values[name] = repr(op.value.value)
        for name in self.sizes.sizes:
            loop.take(name, self.number(name))
        for name in self.step.algorithm_parameters:
            if name in self.zeros_of(k):
                loop.values[name] = "0.0"
            else:
                loop.take(name, self.of_all(name))

    def take_inputs(self, loop: _LaneLoop, g: int, members: list[int]) -> None:
        """Let a loop take the reward, discount, ratio and λ' of a group's estimates."""
        names, signals = self.step.estimates, self.step.signals
        for j, (name, v) in enumerate(zip(INPUTS, signals[names[members[0]]], strict=True)):
            source = self.source(v)
            if v == ir.Local("one"):
                loop.values[name] = "1.0"
            elif self.uniform(v):
                loop.same(name, source)
            elif source:
                loop.take(name, "lam_" if source == "lam_next" else source)
            else:
                table = [0] * len(names)
                for i in members:
                    value = signals[names[i]][j]
                    assert isinstance(value, ir.Local | ir.RecordNumber)
                    table[i] = len(names) * len(self.own) + self.common.index(value.name)
                self.tables[f"{name.upper()}_{g}"] = tuple(table)
                loop.take(name, f"N_[{name.upper()}_{g}[k_]]")
        if "cut" in self.step.inputs:
            if "rho" in self.per_lane:
                loop.take("cut", "cut")
            else:
                loop.same("cut", "cut")
            loop.values["lam_next"] += f" * {loop.values['cut']}"

    def computed(self, loop: _LaneLoop, k: str) -> list[str]:
        """Code that calls `step`, and stores kept numbers and coefficients."""
        f, call = self.forms or Forms(), self.calls[k]
        outs = [*(c for c in self.live if c in self.scratch), *([] if self.fused else [f"{r}_at_x" for r in f.at_x])]
        outs += [f"{r}_at_next" for r in f.at_next]
        where = {
            n: f"{n}_out_" if loop.parameters.get(f"{n}_", self.number(n)) != self.number(n) else f"{n}_" for n in outs
        }
        loop.parameters |= {at: self.number(name) for name, at in where.items()}
        results = call.function.results
        body = [f"{row}0 = {row}_[lane_]" for row in (self.rows if self.fused else [])]
        body.append(f"{', '.join(results)} = step({', '.join(loop.values[n] for n in call.function.arguments)})")
        others = [n for n in self.coefficients if n not in results]
        body += [f"{n} = {loop.values[n]}" for n in others if loop.values.get(n, n) != n]
        body += [f"{r}_at_x = {written(e)}" for r, e in f.at_x.items()]
        body += [f"{r}_at_next = {written(e)}" for r, e in f.at_next.items()]
        stored = [name for name, op in self.kept(k, held_first=False).items() if isinstance(op, ir.Load)]
        return body + [f"{where.get(name, f'{name}_')}[lane_] = {name}" for name in dict.fromkeys([*stored, *outs])]

    def summed_anew(self, loop: _LaneLoop, dots: dict[str, str]) -> list[str]:
        """Code that starts the sums for the next step; with one-hot features, it also updates the rows of x."""
        f, total = self.forms or Forms(), {dot: loop.values[name] for name, dot in dots.items() if dot in self.summed}
        if not self.fused:
            return [f"{where} = 0.0" for where in total.values()]

        def at_x(symbol: Symbol) -> str:
            return f"{symbol.name}0" if symbol.kind == "row" else symbol.name

        body = [f"{r}0 = {written(e, at_x)}" for r, e in f.live.items()]
        body += [f"{r}0 = {r}0 + {r}_at_x" for r in f.at_x]
        body += [f"{r}_[lane_] = {r}0" for r in dict.fromkeys([*f.dirty, *f.at_x])]
        return body + [f"{total[name]} = {left}0 * {right}0" for name, left, right in self.pairs()]

    def limits_of(self, loop: _LaneLoop, k: str, members: list[int], dots: dict[str, str]) -> list[str]:
        """The conditions on the prediction of a group's estimates."""
        names, squares = self.step.estimates, [op.estimate for op in self.step.all_of(ir.Check) if op.squared]
        loop.take("allowed", self.of_all("allowed"))
        if any(names[i] in squares for i in members):
            of = [self.common.index("allowed_square" if name in squares else "allowed") for name in names]
            self.tables["ALLOWED_OF"] = tuple(len(names) * len(self.own) + position for position in of)
            loop.take("allowed", "N_[ALLOWED_OF[k_]]")
        return [] if k in self.restarts else [f"(abs({loop.values[self.prediction(dots)]}) <= allowed_[lane_])"]

    def tops(self, f: Forms) -> tuple[list[str], list[str]]:
        """Code for the bounds on traces and weights, and the conditions on them: the equations of absolute values."""
        traces, weights = self.step.traces, self.step.weights
        reach = set(weights)
        for row in reversed(f.follows):
            reach |= {v for _, v in f.follows[row]} if row in reach else set()
        before = lambda row: "trace_top_[lane_]" if row in traces else "weight_top_[lane_]"  # noqa: E731
        lines = [f"{row}_top = {bound(top, before)}" for row, top in f.tops.items() if row in reach]
        for kind, some in (("trace", traces), ("weight", weights)):
            sizes = [f"{row}_top" for row in some if row in reach and row in f.tops]
            text = sizes.pop() if sizes else ""
            while sizes:
                text = f"max({sizes.pop()}, {text})"
            lines += [f"{kind}_top_[lane_] = {text}"] if text else []
        return lines, [f"({row}_top <= bound_[lane_])" for row in weights if row in f.tops]

    def mark(self) -> list[str]:
        """Code that marks the lanes whose predictions are not within bounds."""
        body = ["out_[lane_] = out_[lane_] if abs(v_[lane_]) <= allowed_[lane_] else 1.0"]
        self.loop("mark", ["out_", "v_", "allowed_"], body, "out_")
        limit = "N_[ALLOWED_OF[k_]]" if "ALLOWED_OF" in self.tables else self.of_all("allowed")
        call = f"mark(N_[OUT], {self.dot_at(f'{self.first}_x_next')}, {limit})"
        marked = block("if k_ < 2:", call) if self.restarts else [call]
        none_yet = block("if beyond_ == 0:", "fill(N_[OUT], 0.0)")
        return block("if beyond_k_ > 0:", *none_yet, "beyond_ += beyond_k_", *marked)


class _LaneLoop:
    """A loop over lanes: its parameters with their arguments, and the texts of values inside it."""

    def __init__(self) -> None:
        self.parameters: dict[str, str] = {}
        self.values: dict[str, str] = {}

    def take(self, name: str, array: str) -> None:
        """Take a number that differs between lanes."""
        self.parameters[f"{name}_"], self.values[name] = array, f"{name}_[lane_]"

    def same(self, name: str, value: str) -> None:
        """Take a number that is the same in all lanes."""
        self.parameters[name] = self.values[name] = value
