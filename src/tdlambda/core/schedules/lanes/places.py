"""The memory layout of a block of lanes: positions of numbers and rows, by name."""

from __future__ import annotations

from tdlambda.core.declare import INPUTS
from tdlambda.core.equations import Forms
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.schedules.one.rows import at_feature_numbers
from tdlambda.core.schedules.text import indent

VALUES = {"x_": "xv_", "y_": "yv_", "z_": "zv_"}
SHARED_INPUTS = ("ready", "xx", "zz", "most_reward", "turning", "one")
LIMITED = ("reward", "gamma_next", "rho")
"""Inputs that the largest prediction allowed depends on."""
SHARED_FLOATS = ("most_reward", "most_gamma", "most_rho")
"""Numbers that all lanes of a block share."""


class Places:
    """The layout of a model in one form of lanes.

    `own` are the numbers of each estimate, `common` those without an estimate, and `scratch` temporary numbers of one
    estimate at a time. `dots` are the dot products, by name: (row, row or vector).
    """

    def __init__(self, model: Model, one_hot: bool, one_z: bool, per_lane: tuple[str, ...], bounded: bool) -> None:
        self.model, self.a, self.rule = model, model.algorithm, model.rule
        self.one_hot, self.given_per_lane, self.bounded = one_hot, per_lane, bounded
        self.per_lane = (*per_lane, "reward") if model.algorithm.center else per_lane
        """Inputs that differ between lanes: those given per lane, and a centred reward."""
        self.one_z = one_hot if model.over_x else one_z
        a, rule = self.a, self.rule
        self.first = words(a.weight_rows)[0]
        self.forms: Forms | None = None if a.feature is not None else a.equations()
        f = self.forms or Forms()
        self.live = [c for c in (f.used if a.feature is None else self._feature_coefficients()) if not self._same(c)]
        """Coefficients of the pass over live features, without inputs that all lanes share."""
        self.fused = one_hot and a.feature is None
        self.dots = {f"{left}_{right}".replace("'", "_next"): (left, right) for _, left, right in model.needed()}
        stored = [name for name, (_, right) in self.dots.items() if not (one_hot and right == "x")]
        own = [*words(a.sizes), *a.keeps, *a.holds]
        self.summed = [name for name in stored if bounded and name not in own and self._is_summed(*self.dots[name])]
        """Dot products of two rows, which are summed for the next step while this step updates the rows."""
        own += [name for name in stored if name in self._early()] + self.summed
        own += (["trace_top"] if self.forms is not None else []) + ["weight_top"]
        self.own = list(dict.fromkeys(own))
        sums = model.before.results if model.before is not None else []
        fixed = {*self.own, *words(a.parameters)} - set(words(a.of_value))
        scratch = [*(name for name in stored if name not in self.own), *(c for c in self.live if c not in fixed), *sums]
        scratch += ([] if self.fused else [f"{r}_at_x" for r in f.at_x]) + [f"{r}_at_next" for r in f.at_next]
        self.scratch = list(dict.fromkeys(scratch))
        """Temporary numbers of one estimate; all estimates use the same memory, so that it stays in the cache."""
        self.dynamic = model.sizes_by != "constant" or any(
            what.pace in model.results for what in model.estimates.values()
        )
        common = [*(words(a.sizes) if model.sizes_by != "constant" else []), *words(a.parameters)]
        common += ["offset", "power"] if model.sizes_by != "constant" else []
        common += [
            "tolerance",
            "bound",
            "factor",
            "start",
            "allowed",
            "allowed_square",
            "largest",
            "limit",
            "out",
            "td_error",
        ]
        if rule is not None:
            common += [*words(rule.parameters), *rule.keeps, *rule.holds, *model.results]
            common += ["over", "here", "ahead"] if model.mixture else []
            common += [n for n, w in rule.dots.items() if w.split(".")[0] in model.own_rows and not self._row_dot(w)]
            common += [n for n, w in rule.dots.items() if w.split(".")[0] in model.apart]  # set by another module
            common += [] if rule.decides else ["lam_next"]
        common += ["reward"] if a.center else []
        common += ["zeros"] if "gamma_next" in per_lane else []
        if per_lane:
            common += [*SHARED_FLOATS, *(f"one_{name}" for name in LIMITED if name not in per_lane)]
        self.common = list(dict.fromkeys(common))
        self.tables: dict[str, tuple[int, ...]] = {}
        self.parts: list[str] = []

    def _same(self, name: str) -> bool:
        """Whether a coefficient is an input that is the same for all lanes and all estimates."""
        if name not in INPUTS or not self.shared(name):
            return False
        return all(given[INPUTS.index(name)] == name for given in self.model.estimates.values())

    def _is_summed(self, left: str, right: str) -> bool:
        f, once = self.forms, list(self.a.dots.values()).count(f"{left}.{right}") == 1
        return once and f is not None and {left, right} <= set(f.touched) and not {left, right} <= set(f.at_next)

    def sums(self) -> list[tuple[str, tuple[str, str]]]:
        """(name, rows) of the dot products that are summed during the update."""
        return [(name, self.dots[name]) for name in self.summed]

    def _early(self) -> set[str]:
        """Dot products that are needed before the estimates learn: for predictions, kept numbers and the rule."""
        found = {(self.first, "x"), (self.first, "x'")}
        for start in self.a.keeps.values():
            if isinstance(start, str):
                left, _, right = self.a.dots[start].partition(".")
                found.add((left, right))
        for what in self.rule.dots.values() if self.rule is not None else ():
            left, *rest = what.split(".")
            if left in self.model.estimates and rest[-1] in ("x", "x'"):
                found.add((self.first if len(rest) == 1 else rest[0], rest[-1]))
        return {f"{left}_{right}".replace("'", "_next") for left, right in found}

    def _feature_coefficients(self) -> list[str]:
        return at_feature_numbers(self.a, self.a.feature)

    def _row_dot(self, what: str) -> bool:
        """Whether a dot product of a rule's row is an entry of it, because x or z is one-hot."""
        return self.one_z and what.split(".")[1] in ("z", "x")

    def shared(self, name: str) -> bool:
        """Whether the number of this name is the same for all lanes."""
        if name == "most_reward" and self.given_per_lane:
            return False
        if name in SHARED_INPUTS or name.endswith("_count"):
            return True
        if self.rule is not None and name in words(self.rule.shared):
            return True
        return name in ("reward", "gamma_next", "rho") and name not in self.per_lane

    def number(self, name: str, m: str = "m_") -> str:
        """The text of a number of the current estimate, or of one without an estimate."""
        if name in self.scratch:
            return f"N_[AT_{name.upper()}]"
        return f"N_[{m} + OWN_{name.upper()}]" if name in self.own else f"N_[{name.upper()}]"

    def of_all(self, name: str) -> str:
        """The text of a number that does not belong to an estimate."""
        return f"N_[{name.upper()}]"

    def row(self, name: str, feature: str, b: str = "b_") -> str:
        """The text of a row of the current estimate, at a feature."""
        return f"F_[{feature}, {b} + ROW_{name.upper()}]"

    def own_row(self, name: str, feature: str) -> str:
        """The text of a row of the rule, at a feature."""
        return f"U_[{feature}, {self.model.own_rows.index(name)}]"

    def dot(self, name: str, k: int | None = None) -> str:
        """The text of a dot product of the current estimate, or of the k-th."""
        left, right = self.dots[name]
        b, m = ("b_", "m_") if k is None else (f"{k} * ROWS", f"{k} * NUMBERS")
        if self.one_hot and right == "x":
            return self.row(left, "x_", b)
        if self.one_hot and right == "x'":
            return f"({self.row(left, 'y_', b)} if other_ else {self.number(name, m)})"
        return self.number(name, m)

    def lanewise(self, name: str, parameters: list[str], body: list[str], over: str, result: str = "") -> str:
        """The text of a function that loops over lanes; `over` is an array with one entry per lane."""
        text = f"@lanewise\ndef {name}({', '.join(parameters)}):\n"
        text += f"    {result} = 0\n" if result else ""
        text += f"    for lane_ in range({over}.size):\n" + indent(body, 8)
        return text + (f"    return {result}\n" if result else "")

    def layout(self) -> str:
        """The text that defines the positions of rows and numbers, for the generated loops and for Python."""
        K, rows = len(self.model.estimates), self.a.row_names()
        text = f"\n{', '.join(f'ROW_{r.upper()}' for r in rows)}, ROWS = range({len(rows) + 1})\n"
        text += f"{', '.join(f'OWN_{n.upper()}' for n in self.own)}, NUMBERS = range({len(self.own) + 1})\n"
        of_all = [*(n.upper() for n in self.common), *(f"AT_{n.upper()}" for n in self.scratch)]
        text += f"{', '.join(of_all)}, SIZE = range({K} * NUMBERS, {K} * NUMBERS + {len(of_all) + 1})\n"
        text += "".join(f"{name} = {positions!r}\n" for name, positions in self.tables.items())
        names = [f"{k}_{n}" for k in self.model.estimates for n in self.own] + self.common
        names += [f"at_{n}" for n in self.scratch]
        return text + f"NAMES = {tuple(names)!r}\n"
