"""Loops over lanes that call the functions of a rule for λ."""

from __future__ import annotations

import re

from tdlambda.core.model import Phase
from tdlambda.core.names import words
from tdlambda.core.schedules.lanes.places import VALUES, Places
from tdlambda.core.schedules.one import DERIVED


class RuleLoops(Places):
    """Code that computes λ'."""

    def decide(self) -> list[str]:
        """Code that computes λ' and the inputs of the estimates."""
        rule = self.rule
        if rule is None:
            return []
        used = {n for phase in self.model.phases for n in phase.arguments} | {
            n for what in self.model.estimates.values() for n in what
        }
        x, z = ("(1.0,), 1", "(1.0,), 1") if self.one_hot else ("xv_, n_", "zv_, len(z_)")
        z = "(1.0,), 1" if self.one_z else z
        makers = {
            "ready": "n_next_ > 0 and s_.steps > s_.warm_up", "xx": f"squared({x})", "zz": f"squared({z})",
            "most_reward": "s_.most_reward", "turning": DERIVED["turning"],
        }  # fmt: skip
        used |= {"turning"} if self.model.mixture else set()
        lines = [f"{name} = {how}" for name, how in makers.items() if name in used and self.shared(name)]
        if not rule.decides:
            lines.append("copy(N_[LAM_NEXT], lam_)")
        for name, what in rule.dots.items():
            left, vector = what.split(".")[0], what.split(".")[-1]
            if left in self.model.own_rows and name in used and not self._row_dot(what):
                lines += self.own_dot(name, left, vector)
        for phase in self.model.phases:
            if phase.where not in ("after x", "all"):
                lines += self.phase(phase)
        return lines + self.rule_updates()

    def own_dot(self, name: str, left: str, vector: str) -> list[str]:
        """Code for a dot product of one of the rule's rows."""
        row, out = self.model.own_rows.index(left), self.of_all(name)
        if self.one_z and vector == "x'":
            return [f"fill({out}, 0.0)", "if n_next_ > 0:", f"    copy({out}, U_[y_, {row}])"]
        value = {"x": "x_, xv_, n_", "x'": "y_, yv_, n_next_", "z": "z_, zv_, len(z_)"}[vector]
        return [f"dot_lanes({out}, U_, {row}, {value})"]

    def argument(self, name: str, parameters: dict[str, str]) -> str:
        """The text of an argument inside a loop over lanes; the array that holds it is added to `parameters`."""
        rule, model = self.rule, self.model
        assert rule is not None
        if name in rule.dots:
            left, *rest = rule.dots[name].split(".")
            if left in model.own_rows:
                array = (
                    self.own_row(left, "z_" if rest[0] == "z" else "x_")
                    if self._row_dot(rule.dots[name])
                    else self.of_all(name)
                )
            elif left in model.apart:
                array = self.of_all(name)
            elif rest[-1] in ("x", "x'"):
                row = self.first if len(rest) == 1 else rest[0]
                dot = f"{row}_{rest[-1]}".replace("'", "_next")
                array = self.dot(dot, list(model.estimates).index(left))
            else:
                array = f"N_[{list(model.estimates).index(left)} * NUMBERS + OWN_{rest[0].upper()}]"
        elif name == "one":
            return "1.0"
        elif name == "alpha":
            array = "N_[OWN_ALPHA]"
        elif self.shared(name):
            parameters[name] = f"s_.{name}" if name in words(rule.shared) else name
            return name
        elif name in self.per_lane:
            array = name
        else:
            array = self.of_all(name)
        parameters[f"{name}_"] = array
        return f"{name}_[lane_]"

    def phase(self, phase: Phase) -> list[str]:
        """Code that calls one function of the rule."""
        rule, own = self.rule, self.model.own_rows
        assert rule is not None
        parameters: dict[str, str] = {}
        values: dict[str, str] = {}
        where = {"x": "x_", "after x": "x_", "x'": "y_", "z": "z_", "all": "f_"}.get(phase.where, "")
        one = self.one_hot if phase.where != "z" else self.one_z
        place = where if one or phase.where in ("", "all") else f"{where}[j_]"
        for name in phase.arguments:
            if phase.where and name in own:
                parameters[f"{name}_"] = self.own_row(name, place)
                values[name] = f"{name}_[lane_]"
            elif phase.where and name == "x":
                parameters["x"] = values["x"] = "1.0" if one else f"{VALUES[where]}[j_]"
            elif phase.where and name in [f"{k}_w" for k in self.model.estimates]:
                k = list(self.model.estimates).index(name.removesuffix("_w"))
                parameters[f"{name}_"] = f"F_[{place}, {k} * ROWS + ROW_{self.first.upper()}]"
                values[name] = f"{name}_[lane_]"
            else:
                values[name] = self.argument(name, parameters)
        if "x" in parameters and parameters["x"] == "1.0":
            del parameters["x"]
            values["x"] = "1.0"
        sums = [n for n in phase.results if n not in own] if phase.where else []
        for name in phase.results:
            array = self.own_row(name, place) if phase.where and name in own else self.of_all(name)
            parameters[f"{name}_"] = array
        fuse = self.fused_updates(phase, parameters)
        body = [
            f"{', '.join(phase.results)} = rule_{phase.name}({', '.join(values[n] for n in phase.arguments)})",
        ]
        body += [f"{n}_[lane_] {'+=' if n in sums else '='} {n}" for n in phase.results] + fuse
        self.parts.append(
            self.lanewise(f"at_{phase.name}", list(parameters), body, next(p for p in parameters if p.endswith("_")))
        )
        call = f"at_{phase.name}({', '.join(parameters.values())})"
        if not phase.where:
            return [call]
        if phase.where == "all":
            given = ", ".join(
                ["s_.since", "s_.size", "terminated_ or truncated_", *(f"s_.{n}" for n in words(rule.shared))]
            )
            return [
                "s_.since += 1",
                f"if rule_closes({given}):",
                "    s_.since = 0",
                "    for f_ in range(s_.size):",
                f"        {call}",
            ]
        count = f"{phase.name}_count"
        lines = [f"{count} = 0.0", *(f"fill({self.of_all(n)}, 0.0)" for n in sums)]
        if one:
            guard = ["if n_next_ > 0:"] if phase.where in ("x'", "z") else ["if True:"]
            return [*lines, *guard, f"    {call}", f"    {count} += 1.0"]
        n = {"x": "n_", "after x": "n_", "x'": "n_next_", "z": "(len(z_) if n_next_ > 0 else 0)"}[phase.where]
        value = VALUES[where]
        return [
            *lines,
            f"for j_ in range({n}):",
            f"    if {value}[j_] != 0:",
            f"        {call}",
            f"        {count} += 1.0",
        ]

    def fused_updates(self, phase: Phase, parameters: dict[str, str]) -> list[str]:
        """With a one-hot z: code that updates the rule's rows at z, in the same loop that calls `step`."""
        if not (self.rule is not None and self.fuses and phase.name == "step"):
            return []
        lines = []
        for row, coefficient in self.rule.equations().at_x.items():
            parameters.setdefault(f"{row}_row_", self.own_row(row, "z_"))
            names = [n for n in re.findall(r"[A-Za-z]\w*", coefficient) if n not in phase.results]
            parameters |= {n: n for n in names}
            lines.append(f"{row}_row_[lane_] += {coefficient}")
        dots = {f"{n}_": w.split(".")[0] for n, w in self.rule.dots.items() if w.endswith(".z")}
        for array, row in dots.items():  # do not pass a row twice: loops assume that their arrays do not overlap
            if array in parameters and f"{row}_row_" in parameters:
                del parameters[f"{row}_row_"]
                lines = [line.replace(f"{row}_row_[", f"{array}[") for line in lines]
        return lines

    @property
    def fuses(self) -> bool:
        """Whether the rule's rows at z are updated in the same loop that calls `step`."""
        rule = self.rule
        return rule is not None and bool(rule.updates) and self.one_z and not self.model.over_x

    def rule_updates(self) -> list[str]:
        """Code that applies the rule's own equations: at live features, then at those of x or z."""
        rule = self.rule
        if rule is None or not rule.updates or self.fuses:
            return []
        f, lines = rule.equations(), []
        value = lambda c, parameters: self.argument(c, parameters)  # noqa: E731
        if f.live:
            parameters = {f"{r}_": self.own_row(r, "f_") for r in f.touched}
            numbers = {c: value(c, parameters) for c in f.used}
            put = lambda line: re.sub(r"\b([A-Za-z]\w*)\b", lambda m: numbers.get(m[1], m[1]), line)  # noqa: E731
            body = [f"{r} = {r}_[lane_]" for r in f.touched] + [put(line) for line in f.live]
            body += [f"{r}_[lane_] = {r}" for r in f.dirty]
            self.parts.append(self.lanewise("rule_live", list(parameters), body, f"{f.touched[0]}_"))
            lines += [
                "for i_ in range(n_live_):",
                "    f_ = order_[i_]",
                f"    rule_live({', '.join(parameters.values())})",
            ]
        one = self.one_hot if self.model.over_x else self.one_z
        where = "x_" if self.model.over_x else "z_"
        n = "1" if one else "n_" if self.model.over_x else "len(z_)"
        for at, name, index, v, times in (
            (f.at_x, "rule_here", where, VALUES[where], n),
            (f.at_next, "rule_next", "y_", "yv_", "n_next_"),
        ):
            if not at:
                continue
            parameters = {f"{r}_": self.own_row(r, index if one else f"{index}[j_]") for r in at}
            text = {r: re.sub(r"\b([A-Za-z]\w*)\b", lambda m: value(m[1], parameters), e) for r, e in at.items()}  # noqa: B023
            body = [f"{r}_[lane_] += ({e}) * by_" for r, e in text.items()]
            self.parts.append(self.lanewise(name, [*parameters, "by_"], body, next(iter(parameters))))
            call = f"{name}({', '.join([*parameters.values(), '1.0' if one else f'{v}[j_]'])})"
            lines += [f"for j_ in range({times}):", f"    {call}"]
        return lines

    def after(self) -> list[str]:
        """Code of the phases that come after all estimates have learned."""
        return [line for p in self.model.phases if p.where in ("after x", "all") for line in self.phase(p)]
