"""Loops over lanes that call the functions of a rule for λ."""

from __future__ import annotations

from tdlambda.core import step as ir
from tdlambda.core.equations import Symbol, forms, symbols, written
from tdlambda.core.schedules.lanes.places import Places
from tdlambda.core.schedules.one import DERIVED
from tdlambda.core.schedules.one.one_rows import VECTOR
from tdlambda.core.schedules.text import block


class RuleLoops(Places):
    """Code that computes λ'."""

    def decide(self) -> list[str]:
        """Code that computes λ' and the inputs of the estimates."""
        if not self.rule_calls:
            return []
        x, z = ("(1.0,), 1", "(1.0,), 1") if self.one_hot else ("xv_, n_", "zv_, len(z_)")
        how = DERIVED | {"xx": f"squared({x})", "zz": f"squared({'(1.0,), 1' if self.one_z else z})"}
        derived = [op.out for op in self.step.all_of(ir.Derive) if op.out not in ("alpha", "one")]
        lines = [f"{name} = {how[name]}" for name in derived if self.uniform(ir.Local(name))]
        lines += [] if "lam_next" in self.results else ["copy(N_[LAM_NEXT], lam_)"]
        for op in self.step.all_of(ir.Dot):
            if not op.of and not self.entry_of(op):
                row, out = self.step.rule_rows.index(op.row), self.of_all(op.out)
                if self.one_z and op.at == "x'":
                    lines += [f"fill({out}, 0.0)", *block("if n_next_ > 0:", f"copy({out}, U_[y_, {row}])")]
                else:
                    lines.append(f"dot_lanes({out}, U_, {row}, {', '.join(VECTOR[op.at])})")
        for call in self.rule_calls:
            lines += self.phase(call) if self.stage(call) == "decide" else []
        return lines + self.rule_updates()

    def argument(self, name: str, v: ir.Value, parameters: dict[str, str]) -> str:
        """The text of an argument inside a loop over lanes; the array that holds it is added to `parameters`."""
        op = self.makers.get(v.name) if isinstance(v, ir.Local) else None
        estimates = list(self.step.estimates)
        if v == ir.Local("one"):
            return "1.0"
        if isinstance(op, ir.Dot) and not op.of:
            array = self.rule_row(op.row, "z_" if op.at == "z" else "x_") if self.entry_of(op) else self.of_all(op.out)
        elif isinstance(op, ir.Dot):
            array = self.dot_at(op.short, estimates.index(op.of))
        elif isinstance(op, ir.Load | ir.Let) and op.of:
            array = f"N_[{estimates.index(op.of)} * NUMBERS + OWN_{op.out.removeprefix(f'{op.of}_').upper()}]"
        elif isinstance(op, ir.Derive) and op.out == "alpha":
            array = "N_[OWN_ALPHA]"
        elif self.uniform(v):
            parameters[name] = f"s_.{name}" if isinstance(v, ir.RecordNumber) else name
            return name
        elif isinstance(v, ir.Local) and v.name in self.differing:
            array = v.name
        else:
            array = self.of_all(name)
        parameters[f"{name}_"] = array
        return f"{name}_[lane_]"

    def phase(self, op: ir.Call | ir.Visit) -> list[str]:
        """Code that calls one function of the rule."""
        f, where = op.function, {"x": "x_", "x'": "y_", "z": "z_", "all": "f_"}.get(getattr(op, "where", ""), "")
        one = self.one_hot if where != "z_" else self.one_z
        place = where if one or where in ("", "f_") else f"{where}[j_]"
        parameters: dict[str, str] = {}
        text: list[str] = []
        for name, v in zip(f.arguments, op.arguments, strict=True):
            if isinstance(v, ir.Here):
                text.append("1.0" if one else name)
                parameters |= {} if one else {name: f"{where[0]}v_[j_]"}
            elif isinstance(v, ir.Entry):
                k = self.step.estimates.index(v.row.of) if v.row.of else 0
                row = self.row(v.row.name, place, f"{k} * ROWS") if v.row.of else self.rule_row(v.row, place)
                parameters[f"{name}_"] = row
                text.append(f"{name}_[lane_]")
            else:
                text.append(self.argument(name, v, parameters))
        rows, sums = (op.rows, list(op.sums)) if isinstance(op, ir.Visit) else ({}, [])
        for name in f.results:
            parameters[f"{name}_"] = self.rule_row(rows[name], place) if name in rows else self.of_all(name)
        body = [f"{', '.join(f.results)} = {f.name}({', '.join(text)})"]
        fused = self.fused_updates(op, parameters)
        body += [f"{n}_[lane_] {'+=' if n in sums else '='} {n}" for n in f.results] + fused
        short = f.name.removeprefix("rule_")
        self.loop(f"at_{short}", list(parameters), body, next(p for p in parameters if p.endswith("_")))
        call = f"at_{short}({', '.join(parameters.values())})"
        return [call] if isinstance(op, ir.Call) else self.visited(op, call, one)

    def visited(self, op: ir.Visit, call: str, one: bool) -> list[str]:
        """Code that makes a call at each feature of a visit; `one` if there is one feature."""
        if op.when is not None:
            ask = ", ".join(["s_.since", "s_.size", "terminated_ or truncated_", *(f"s_.{n}" for n in op.shared)])
            every = block("for f_ in range(s_.size):", call)
            return ["s_.since += 1", *block(f"if rule_closes({ask}):", "s_.since = 0", *every)]
        zeros = [f"{op.count} = 0.0", *(f"fill({self.of_all(n)}, 0.0)" for n in op.sums)]
        if one:
            guard = "if n_next_ > 0:" if op.where in ("x'", "z") else "if True:"
            return [*zeros, *block(guard, call, f"{op.count} += 1.0")]
        n = "(len(z_) if n_next_ > 0 else 0)" if op.where == "z" else VECTOR[op.where][2]
        active = block(f"if {VECTOR[op.where][1]}[j_] != 0:", call, f"{op.count} += 1.0")
        return [*zeros, *block(f"for j_ in range({n}):", *active)]

    @property
    def fuses(self) -> bool:
        """Whether the rule's rows at z are updated in the same loop that calls its `step`."""
        return "" in self.updates and self.one_z and not self.step.rule_rows_over_x

    def fused_updates(self, op: ir.Call | ir.Visit, parameters: dict[str, str]) -> list[str]:
        """With a one-hot z: code that updates the rule's rows at z, in the same loop that calls `step`."""
        if not (self.fuses and op.function.name == "rule_step"):
            return []
        lines = []
        given = {dot.row.name: f"{dot.out}_" for dot in self.step.all_of(ir.Dot) if not dot.of and dot.at == "z"}
        for row, by in forms(list(self.updates[""].lines)).at_x.items():
            array = given.get(row, "")
            if array not in parameters:  # a row is not passed twice: loops assume that their arrays do not overlap
                array = f"{row}_row_"
                parameters[array] = self.rule_row(ir.Row("", row), "z_")
            parameters |= {s.name: s.name for s in symbols(by) if s.name not in op.function.results}
            lines.append(f"{array}[lane_] += {written(by)}")
        return lines

    def rule_updates(self) -> list[str]:
        """Code that applies the rule's own equations: at live features, then at those of x or z."""
        if "" not in self.updates or self.fuses:
            return []
        op = self.updates[""]
        f, lines = forms(list(op.lines)), []
        if f.live:
            parameters = {f"{r}_": self.rule_row(ir.Row("", r), "f_") for r in f.touched}
            numbers = {c: self.argument(c, op.coefficients[c], parameters) for c in f.used}
            body = [f"{r} = {r}_[lane_]" for r in f.touched]
            body += [f"{r} = {written(e, lambda s: numbers.get(s.name, s.name))}" for r, e in f.live.items()]
            body += [f"{r}_[lane_] = {r}" for r in f.dirty]
            self.loop("rule_live", list(parameters), body, f"{f.touched[0]}_")
            call = f"rule_live({', '.join(parameters.values())})"
            lines += block("for i_ in range(n_live_):", "f_ = order_[i_]", call)
        one = self.one_hot if op.at == "x" else self.one_z
        for added, name, at in ((f.at_x, "rule_here", op.at), (f.at_next, "rule_next", "x'")):
            if not added:
                continue
            index, xv, n = VECTOR[at]
            n = "1" if one and at != "x'" else n
            parameters = {f"{r}_": self.rule_row(ir.Row("", r), index if one else f"{index}[j_]") for r in added}

            def named(symbol: Symbol, parameters: dict[str, str] = parameters) -> str:
                return self.argument(symbol.name, op.coefficients[symbol.name], parameters)

            body = [f"{r}_[lane_] += ({written(e, named)}) * by_" for r, e in added.items()]
            self.loop(name, [*parameters, "by_"], body, next(iter(parameters)))
            call = f"{name}({', '.join([*parameters.values(), '1.0' if one else f'{xv}[j_]'])})"
            lines += block(f"for j_ in range({n}):", call)
        return lines

    def after(self) -> list[str]:
        """Code of the phases that come after all estimates have learned."""
        return [line for op in self.rule_calls if self.stage(op) == "after" for line in self.phase(op)]
