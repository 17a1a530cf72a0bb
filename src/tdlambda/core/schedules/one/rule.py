"""Code of a rule for λ in one learner: the arguments of its functions, their calls, and its own equations."""

from __future__ import annotations

from typing import Any

from tdlambda.core.model import Model, Phase
from tdlambda.core.names import words

TURNING = "s_.steps % max(s_.size, TURNS) == 0"
"""The text of `turning`: whether the weights of a mixture may change at this step."""


def dot_name(k: str, left: str, right: str) -> str:
    """The name of a dot product in generated code; a product of x and x' belongs to no estimate."""
    return (f"{left}_{right}_" if left in ("x", "x'") else f"{k}_{left}_{right}").replace("'", "_next")


class RuleCalls:
    """Code that calls the functions of a rule."""

    model: Model
    rule: Any
    sparse: bool
    first: str
    body: list[str]
    known: dict[str, str]

    def inputs(self) -> None:
        """Write the inputs and dot products that the rule's functions have as arguments."""
        rule = self.rule
        assert rule is not None
        used = {argument for phase in self.model.phases for argument in phase.arguments}
        given = {n for what in self.model.estimates.values() for n in what} | (
            {"turning"} if self.model.mixture else set()
        )
        makers = {
            "ready": "n_next_ > 0 and s_.steps > s_.warm_up", "xx": "squared(xv_, n_)", "zz": "squared(zv_, len(z_))",
            "most_reward": "s_.most_reward", "alpha": "alpha_", "one": "1.0", "turning": TURNING,
        }  # fmt: skip
        self.body += [f"{name} = {how}" for name, how in makers.items() if name in used | given]
        self.known |= {name: name for name in (*rule.inputs, "lam_next")}
        self.known |= {name: f"s_.{name}" for name in [*words(rule.parameters), *words(rule.shared)]}
        for name, what in rule.dots.items():
            if name not in used:
                continue
            left, *rest = what.split(".")
            if left in self.model.estimates:
                where = rest if len(rest) == 2 or rest[0] not in ("x", "x'") else [self.first, *rest]
                self.known[name] = dot_name(left, *where) if len(where) == 2 else f"{left}_{where[0]}"
            else:
                row, vector = f"own_[{self.model.own_rows.index(left)}]", rest[0]
                value = {"x": "x_, xv_, n_", "x'": "y_, yv_, n_next_", "z": "z_, zv_, len(z_)"}[vector]
                self.body.append(f"{name} = dot({row}, {value})")
                self.known[name] = name

    def phase(self, phase: Phase) -> None:
        """Write the call of one function of the rule, once or in a loop over features."""
        own, rule = self.model.own_rows, self.rule
        assert rule is not None
        where = {name: f"{name}" for name in phase.arguments if name in own or name == "x"}
        where |= {f"{k}_w": f"{k}_{self.first}[f_]" for k in self.model.estimates}
        values = [(where | self.known if phase.where else self.known).get(name, name) for name in phase.arguments]
        values = [
            "value_" if name == "x" and phase.where else v for name, v in zip(phase.arguments, values, strict=True)
        ]
        call = f"{', '.join(phase.results)} = rule_{phase.name}({', '.join(values)})"
        if not phase.where:
            self.body.append(call)
            self.known |= {name: name for name in phase.results}
            return
        index, value, n = {
            "x": ("x_", "xv_", "n_"), "after x": ("x_", "xv_", "n_"), "x'": ("y_", "yv_", "n_next_"),
            "z": ("z_", "zv_", "(len(z_) if n_next_ > 0 else 0)"), "all": ("", "", "s_.size"),
        }[phase.where]  # fmt: skip
        sums = [name for name in phase.results if name not in own]
        call = call.replace(
            call.partition(" = ")[0], ", ".join(f"{n}_one" if n in sums else n for n in phase.results), 1
        )
        visit = [f"{r} = own_[{own.index(r)}, f_]" for r in own if r in phase.arguments] + [call]
        visit += [f"own_[{own.index(r)}, f_] = {r}" for r in phase.results if r in own]
        visit += [f"{name} += {name}_one" for name in sums]
        if phase.where == "all":
            shared = ", ".join(
                ["s_.since", "s_.size", "terminated_ or truncated_", *(f"s_.{n}" for n in words(rule.shared))]
            )
            self.body += ["s_.since += 1", f"if rule_closes({shared}):", "    s_.since = 0"]
            self.body += ["    for f_ in range(s_.size):", *(f"        {line}" for line in visit)]
            return
        count = f"{phase.name}_count"
        self.body += [f"{', '.join([count, *sums])} = {', '.join(['0.0'] * (1 + len(sums)))}"]
        self.body += [
            f"for j_ in range({n}):",
            f"    if {value}[j_] != 0:",
            f"        f_, value_ = {index}[j_], {value}[j_]",
        ]
        self.body += [f"        {line}" for line in [*visit, f"{count} += 1.0"]]
        self.known |= {name: name for name in [count, *sums]}

    def rule_updates(self) -> None:
        """Write the call that applies the rule's own equations."""
        rule = self.rule
        assert rule is not None
        f, own = rule.equations(), self.model.own_rows
        rows = [f"own_[{own.index(r)}]" for r in own if r in f.tops or r in f.touched]
        coefficients = [self.known.get(name, name) for name in f.coefficients]
        place = "x_, xv_, n_" if self.model.over_x else "z_, zv_, len(z_)"
        more = ", order_, n_live_" if self.sparse else ""
        self.body.append(
            f"within_ &= rule_apply({', '.join([*rows, *coefficients])}, {place}, y_, yv_, n_next_, "
            f"{rule.row_bound!r}{more})"
        )
