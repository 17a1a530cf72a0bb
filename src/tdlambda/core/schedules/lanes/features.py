"""Loops over lanes that call functions of one feature: `feature`, and `before`, whose sums are arguments of `step`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdlambda.core.names import words
from tdlambda.core.schedules.lanes.places import Places
from tdlambda.core.schedules.one.rows import at_feature_numbers, marks
from tdlambda.core.source import arguments, returned

Call = Callable[[str, str, str], str]
"""A function (feature, x, x') that returns the text of a call at this feature."""


class FeatureLoops(Places):
    """Code that visits each feature once: live ones, those of x, and those of x' if a function has `x_next`."""

    def feature_pass(self) -> tuple[list[str], list[str], list[str]]:
        """Code that calls `feature`: what comes before the loop over estimates, inside it, and after it."""
        a = self.a
        free = [n for n in self._feature_coefficients() if n not in self.live]
        values = {n: n if n in free else f"{n}_[lane_]" for n in self._feature_coefficients()}
        arrays = {f"{n}_": self.number(n) for n in self.live} | {n: n for n in free}
        weights = [r for r in returned(a.feature) if r in words(a.weight_rows)]
        top = lambda r: f"top_[lane_] = max(top_[lane_], abs({r}) if abs({r}) <= 1e300 else 1e301)"  # noqa: E731
        call = self.at_feature(
            "feature", a.feature, values, arrays | {"top_": self.number("weight_top")}, [top(r) for r in weights]
        )
        lines = [f"fill({self.number('weight_top')}, 0.0)", *self.visits(call, "live")]
        lines.append(f"beyond_ += count_beyond({self.number('weight_top')}, N_[BOUND])")
        if self.one_hot:
            return [], lines, []
        names = [("x_", "n_", 2), *([("y_", "n_next_", 4)] if self.model.reads_next else [])]
        clear = [line for index, n, _ in names for line in (f"for j_ in range({n}):", f"    listed_[{index}[j_]] &= 1")]
        return [line for name in names for line in marks(*name)], lines, clear

    def before_pass(self, g: int, parameters: dict[str, str], values: dict[str, str]) -> list[str]:
        """Code that calls `before` for the estimates of one group; its sums are added to `parameters` and `values`."""
        b = self.model.before
        if b is None:
            return []
        given = at_feature_numbers(self.a, b.function)
        given += ["cut"] if "lam_next" in given else []
        arrays = {n: where for n, where in parameters.items() if n.removesuffix("_") in given}
        sums = {f"{n}_sum_": self.number(n) for n in b.results}
        add = [f"{n}_sum_[lane_] += {n}" for n in b.results]
        call = self.at_feature(f"before_{g}", b.function, values, arrays | sums, add)
        for name in b.results:
            parameters[f"{name}_"], values[name] = self.number(name), f"{name}_[lane_]"
        return [*(f"fill({where}, 0.0)" for where in sums.values()), *self.visits(call, b.where)]

    def at_feature(
        self, name: str, function: Any, values: dict[str, str], arrays: dict[str, str], more: list[str]
    ) -> Call:
        """The call of a new loop over lanes that calls a function at one feature; the loop is added to `parts`."""
        rows, given, out = self.a.row_names(), arguments(function), returned(function)
        used = [r for r in rows if r in given or r in out]
        at = values | {r: f"{r}_row_[lane_]" for r in rows}
        what = name.partition("_")[0]
        body = [f"{', '.join(out)} = {what}({', '.join(at.get(n, n) for n in given)})"]
        body += [f"{r}_row_[lane_] = {r}" for r in out if r in rows] + more
        head = [*(f"{r}_row_" for r in used), *arrays, "x", "x_next"]
        self.parts.append(self.lanewise(f"at_{name}", head, body, next((n for n in head if n.endswith("_")), "")))

        def call(where: str, x: str, x_next: str) -> str:
            return f"at_{name}({', '.join([*(self.row(r, where) for r in used), *arrays.values(), x, x_next])})"

        return call

    def visits(self, call: Call, where: str) -> list[str]:
        """Code that makes a call at every feature that has to be visited."""
        live = ["for i_ in range(n_live_):", "    f_ = order_[i_]"] if where == "live" else []
        both = where == "live" and self.model.reads_next
        if self.one_hot:
            other = " and (f_ != y_ or n_next_ == 0)" if both else ""
            lines = [*live, f"    if f_ != x_{other}:", f"        {call('f_', '0.0', '0.0')}"] if live else []
            lines.append(call("x_", "1.0", "1.0 if n_next_ > 0 and y_ == x_ else 0.0" if both else "0.0"))
            return lines + (["if other_:", f"    {call('y_', '0.0', '1.0')}"] if both else [])
        lines = [*live, "    if listed_[f_] < 2:", f"        {call('f_', '0.0', '0.0')}"] if live else []
        after = "value_at(y_, yv_, n_next_, x_[j_], j_)" if both else "0.0"
        lines += ["for j_ in range(n_):", "    if not repeated(x_, j_):"]
        lines += [f"        {call('x_[j_]', 'gathered(x_, xv_, j_, n_)', after)}"]
        if both:
            lines += ["for j_ in range(n_next_):", "    if listed_[y_[j_]] & 2 == 0 and not repeated(y_, j_):"]
            lines += [f"        {call('y_[j_]', '0.0', 'gathered(y_, yv_, j_, n_next_)')}"]
        return lines
