"""Loops over lanes that call functions of one feature, which algorithms with their own step sizes have."""

from __future__ import annotations

from collections.abc import Callable

from tdlambda.core import step as ir
from tdlambda.core.schedules.lanes.lane_rows import RowLoops
from tdlambda.core.schedules.one.one_rows import marks
from tdlambda.core.schedules.text import block

Call = Callable[[str, str, str], str]
"""(feature, x, x') → the text of a call."""


class FeatureLoops(RowLoops):
    """Code that visits features one by one."""

    def feature_pass(self) -> tuple[list[str], list[str], list[str]]:
        """Calls of `feature`: what comes before the loop over estimates, inside it, and after it."""
        op = self.features[self.learner]
        free = [n for n in self.coefficients if n not in self.live]
        values = {n: n if n in free else f"{n}_[lane_]" for n in self.coefficients}
        arrays = {f"{n}_": self.number(n) for n in self.live} | {n: n for n in free}
        arrays["top_"] = self.number("weight_top")
        weights = [n for n, row in op.rows.items() if row in op.bounded]
        top = [f"top_[lane_] = max(top_[lane_], abs({r}) if abs({r}) <= 1e300 else 1e301)" for r in weights]
        call = self.at_feature("feature", op, values, arrays, top)
        lines = [f"fill({self.number('weight_top')}, 0.0)", *self.visits(call, "live")]
        lines.append(f"beyond_ += count_beyond({self.number('weight_top')}, N_[BOUND])")
        if self.one_hot:
            return [], lines, []
        names = [("x_", "n_", 2), *([("y_", "n_next_", 4)] if self.reads_next else [])]
        clear = [line for i, n, _ in names for line in block(f"for j_ in range({n}):", f"listed_[{i}[j_]] &= 1")]
        return [line for name in names for line in marks(*name)], lines, clear

    @property
    def reads_next(self) -> bool:
        """Whether a function at features has the argument `x_next`."""
        return any("x_next" in op.function.arguments for op in (*self.features.values(), *self.befores.values()))

    def before_pass(self, g: int, k: str, parameters: dict[str, str], values: dict[str, str]) -> list[str]:
        """Calls of `before` for the estimates of one group; its sums are added to `parameters` and `values`."""
        if k not in self.befores:
            return []
        op = self.befores[k]
        given = self.numbers_of(op)
        given += ["cut"] if "lam_next" in given else []
        arrays = {n: where for n, where in parameters.items() if n.removesuffix("_") in given}
        sums = {f"{n}_sum_": self.number(n) for n in op.sums}
        call = self.at_feature(f"before_{g}", op, values, arrays | sums, [f"{n}_sum_[lane_] += {n}" for n in op.sums])
        for name in op.sums:
            parameters[f"{name}_"], values[name] = self.number(name), f"{name}_[lane_]"
        return [*(f"fill({where}, 0.0)" for where in sums.values()), *self.visits(call, op.where)]

    def at_feature(
        self, name: str, op: ir.Visit, values: dict[str, str], arrays: dict[str, str], more: list[str]
    ) -> Call:
        """(feature, x, x') → the call of a new loop over lanes that calls a function at one feature."""
        given, out = op.function.arguments, op.function.results
        used = [r for r in self.rows if r in given or r in out]
        at = values | {r: f"{r}_row_[lane_]" for r in self.rows}
        body = [f"{', '.join(out)} = {op.function.name}({', '.join(at.get(n, n) for n in given)})"]
        body += [f"{r}_row_[lane_] = {r}" for r in op.rows] + more
        head = [*(f"{r}_row_" for r in used), *arrays, "x", "x_next"]
        self.loop(f"at_{name}", head, body, next((n for n in head if n.endswith("_")), ""))
        return lambda f, x, y: f"at_{name}({', '.join([*(self.row(r, f) for r in used), *arrays.values(), x, y])})"

    def visits(self, call: Call, where: str) -> list[str]:
        """A call at every feature that has to be visited."""
        both = where == "live" and self.reads_next
        other = " and (f_ != y_ or n_next_ == 0)" if both else ""
        unmarked = f"if f_ != x_{other}:" if self.one_hot else "if listed_[f_] < 2:"
        others = block(unmarked, call("f_", "0.0", "0.0"))
        lines = block("for i_ in range(n_live_):", "f_ = order_[i_]", *others) if where == "live" else []
        if self.one_hot:
            lines.append(call("x_", "1.0", "1.0 if n_next_ > 0 and y_ == x_ else 0.0" if both else "0.0"))
            return lines + (block("if other_:", call("y_", "0.0", "1.0")) if both else [])
        after = "value_at(y_, yv_, n_next_, x_[j_], j_)" if both else "0.0"
        once = block("if not repeated(x_, j_):", call("x_[j_]", "gathered(x_, xv_, j_, n_)", after))
        lines += block("for j_ in range(n_):", *once)
        if both:
            at_next = call("y_[j_]", "0.0", "gathered(y_, yv_, j_, n_next_)")
            once = block("if listed_[y_[j_]] & 2 == 0 and not repeated(y_, j_):", at_next)
            lines += block("for j_ in range(n_next_):", *once)
        return lines
