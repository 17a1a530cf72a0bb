"""Loops over the features of one learner: equations applied to rows, functions of one feature, restarts, mixtures.

They are functions of the generated module, so that all estimates use the same machine code.
"""

from __future__ import annotations

from typing import Any

from tdlambda.core import step as ir
from tdlambda.core.equations import Forms, forms, written
from tdlambda.core.names import words
from tdlambda.core.schedules.text import block, indent

MANY = 4
"""Visiting one feature through the list takes about as long as visiting this many without a list."""
VECTOR = {"x": ("x_", "xv_", "n_"), "x'": ("y_", "yv_", "n_next_"), "z": ("z_", "zv_", "len(z_)")}
"""Indices, values and number of the active features of a vector."""
PLACE = (*VECTOR["x"], *VECTOR["x'"])
_ORDER = ("gather", "apply", "rule_apply", "again", "mixed")
"""The order of the functions in the module."""


class RowPrinter:
    """The rows of one learner, and the functions that loop over them."""

    def __init__(self, step: ir.Step, sparse: bool) -> None:
        self.step, self.sparse = step, sparse
        self.parts: dict[str, str] = {}
        """Functions of the module, by name."""
        self.flags: set[str] = set()
        self.decorator = "kernel" if step.all_of(ir.Mix) else "inlined"
        """A "kernel" is compiled once for all estimates, which is faster for the many of a mixture."""

    def parts_in_order(self) -> list[str]:
        """The functions that the operations call."""
        return [self.parts[name] for name in _ORDER if name in self.parts]

    def name(self, row: ir.Row) -> str:
        """The variable of a row."""
        return f"{row.of}_{row.name}" if row.of else self.place(row)

    def place(self, row: ir.Row) -> str:
        """Where a row is in memory."""
        return f"rows_[{self.step.rows.index(row)}]" if row.of else f"own_[{self.step.rule_rows.index(row)}]"

    def entry(self, row: ir.Row, f: str = "f_") -> str:
        """The entry of a row at a feature."""
        return f"{self.name(row)}[{f}]" if row.of else f"own_[{self.step.rule_rows.index(row)}, {f}]"

    def flag(self, name: str) -> str:
        """An assignment to the flag that says whether bounds hold; an estimate that may restart has its own."""
        first = name and name not in self.flags
        self.flags.add(name)
        return f"{name}_within_ {'=' if first else '&='}" if name else "within_ &="

    def applied(self, op: ir.Update) -> tuple[str, list[ir.Row]]:
        """The function that applies equations: its name, and the rows it takes."""
        f, prefix = forms(list(op.lines)), "" if op.of else "rule_"
        every = self.step.rows if op.of else self.step.rule_rows
        rows = [r for r in every if r.of == op.of and (op.of or r.name in f.tops or r.name in f.touched)]
        name = f"{prefix}apply"
        if name not in self.parts:
            names, weights = [r.name for r in rows], [r.name for r in op.bounded]
            self.parts[name] = _apply_text(f, names, weights, prefix, self.sparse, self.decorator)
        return name, rows

    def at_features(self, op: ir.Visit, rows: list[str], numbers: list[str]) -> str:
        """The function that calls a function once at each feature; its name.

        It visits live features that are not in x, those of x, then others of x'. Until a feature is visited, its entry
        of `listed_` has the bit 2 if it is in x, and the bit 4 if it is in x'.
        """
        name = "apply" if op.function.name == "feature" else "gather"
        if name in self.parts:
            return name
        sums, reads_next = list(op.sums), "x_next" in op.function.arguments
        lines = ["within_ = True", *(f"{n}_ = 0.0" for n in sums), "alone_ = increasing(x_, n_)", *marks("x_", "n_", 2)]
        if op.where == "live":
            lines += marks("y_", "n_next_", 4) if reads_next else []
            others = block("if listed_[f_] < 2:", *_visit(op, rows, "0.0", "0.0"))
            lines += block("for i_ in range(n_live_):", "f_ = order_[i_]", *others)
        here = ["listed_[f_] -= 2", "value_ = xv_[j_] if alone_ else gathered(x_, xv_, j_, n_)"]
        if reads_next:
            both = block("if listed_[f_] & 4:", "listed_[f_] -= 4", "next_ = value_at(y_, yv_, n_next_, f_, j_)")
            here += ["next_ = 0.0", *both]
        in_x = block("if listed_[f_] & 2:", *here, *_visit(op, rows, "value_", "next_"))
        lines += block("for j_ in range(n_):", "f_ = x_[j_]", *in_x)
        if reads_next:
            here = ["listed_[f_] -= 4", "next_ = gathered(y_, yv_, j_, n_next_)"]
            in_next = block("if listed_[f_] & 4:", *here, *_visit(op, rows, "0.0", "next_"))
            lines += block("for j_ in range(n_next_):", "f_ = y_[j_]", *in_next)
        head = [*rows, *numbers, *PLACE, "bound_", "order_", "n_live_", "listed_"]
        back = ", ".join(["within_", *(f"{n}_" for n in sums)])
        self.parts[name] = f"@{self.decorator}\ndef {name}({', '.join(head)}):\n{indent([*lines, f'return {back}'])}"
        return name

    def restarts(self, op: ir.Restart, rows: list[str]) -> bool:
        """Whether there was `again` already, which restarts an estimate: the safe weights, other rows as initially."""
        if "again" in self.parts:
            return True
        body = [f"{op.weights}[f_] = safe_[f_]", *(f"{r}[f_] = {start!r}" for r, start in op.starts.items())]
        every = block(f"for f_ in range({op.weights}.size):", *body)
        self.parts["again"] = f"@kernel\ndef again(safe_, {', '.join(rows)}):\n" + indent(every)
        return False

    def mixed(self, op: ir.Mix) -> list[str]:
        """The function `mixed`, which computes V's weights at changed features, or at all; its further arguments."""
        weights, numbers = [f"{r.of}_" for r in op.parts], list(op.parts.values())
        mix = "out_[f_] = " + " + ".join(f"{n} * {w}[f_]" for n, w in zip(numbers, weights, strict=True))
        lines = block("for f_ in range(out_.size):", mix)
        more, how = ["everywhere_"], "lanewise"
        if self.sparse:
            more, how = [*more, "x_", "n_", "y_", "n_next_", "order_", "n_live_"], "inlined"
            lines = block("if everywhere_:", *lines, "return")
            for n, index in (("n_live_", "order_"), ("n_", "x_"), ("n_next_", "y_")):
                lines += block(f"for i_ in range({n}):", f"f_ = {index}[i_]", mix)
        head = ", ".join(["out_", *weights, *numbers, *more])
        self.parts["mixed"] = f"@{how}\ndef mixed({head}):\n" + indent(lines)
        return more

    def clearing(self, op: ir.Clear) -> str:
        """The function `clear`, which sets traces to 0 at the end of an episode."""
        lines, drop = ["s_ = state_[0]", "s_.under_way = 0"], not op.lasts
        if self.sparse:
            each = [f"{self.place(r)}[f_] = 0.0" for r in op.rows] + (["live_[1, f_] = 0"] if drop else [])
            lines += block("for i_ in range(s_.n_live):", "f_ = live_[0, i_]", *(each or ["pass"]))
            lines += ["s_.n_live = 0"] if drop else []
        else:
            lines += [f"{self.place(r)}[:] = 0.0" for r in op.rows]
        return "@inlined\ndef clear(state_, rows_, own_, live_):\n" + indent(lines)


def _visit(op: ir.Visit, rows: list[str], x: str, x_next: str) -> list[str]:
    """Code that calls a function at the feature f_."""
    given, weights = op.function.arguments, [r.name for r in op.bounded]
    at = {"x": x, "x_next": x_next} | {row: f"{row}_" for row in rows}
    results = ", ".join(f"{r}_" if r in rows else f"{r}_one_" for r in op.function.results)
    lines = [f"{r}_ = {r}[f_]" for r in rows if r in given]
    lines.append(f"{results} = {op.function.name}({', '.join(at.get(n, n) for n in given)})")
    lines += [f"{r}[f_] = {r}_" for r in op.rows] + [f"{n}_ += {n}_one_" for n in op.sums]
    return lines + [f"within_ &= abs({r}_) <= bound_" for r in op.rows if r in weights]


def over_live(row: str, body: list[str], sparse: bool) -> list[str]:
    """A loop over the live features f_; over all features if many are live, because that loop is vectorised."""
    every = block(f"for f_ in range({row}.size):", *body)
    if not sparse:
        return every
    listed = block("for i_ in range(n_live_):", "f_ = order_[i_]", *body)
    return [*block(f"if {MANY} * n_live_ > {row}.size:", *every), *block("else:", *listed)]


def apply_text(who: Any, f: Forms, prefix: str, sparse: bool) -> str:
    """Functions that apply the equations of a declaration to its rows; see `_apply_text`."""
    rows = [r for r in who.row_names() if r in f.tops or r in f.touched]
    return _apply_text(f, rows, words(who.weight_rows), prefix, sparse, "inlined")


def _apply_text(f: Forms, rows: list[str], weights: list[str], prefix: str, sparse: bool, how: str) -> str:
    """Functions that apply equations to rows: at live features, then at those of x (or z), then at those of x'."""
    more = ["order_", "n_live_"] if sparse else []
    text, call = "", "True"
    if f.live:
        body = [f"{r}_ = {r}[f_]" for r in f.touched]
        body += [
            f"{r}_ = {written(e, lambda s: f'{s.name}_' if s.kind == 'row' else s.name)}" for r, e in f.live.items()
        ]
        body += [f"{r}[f_] = {r}_" for r in f.dirty]
        body += [f"within_ &= abs({r}_) <= bound_" for r in f.dirty if r in weights]
        call = f"{prefix}at_live({', '.join([*f.touched, *f.used, 'bound_', *more])})"
        lines = ["within_ = True", *over_live(f.touched[0], body, sparse), "return within_"]
        text = f"@lanewise\ndef {call}:\n{indent(lines)}\n\n"
    lines = [f"within_ = {call}"]
    for at, (index, xv, n) in ((f.at_x, VECTOR["x"]), (f.at_next, VECTOR["x'"])):
        body = []
        for r in at:
            body += [f"{r}_ = {r}[f_] + {r}_at_ * {xv}[j_]", f"{r}[f_] = {r}_"]
            body += [f"within_ &= abs({r}_) <= bound_"] if r in weights else []
        lines += [f"{r}_at_ = {written(e)}" for r, e in at.items()]
        lines += block(f"for j_ in range({n}):", f"f_ = {index}[j_]", *body) if at else []
    head = ", ".join([*rows, *f.coefficients, *PLACE, "bound_", *more])
    return f"{text}@{how}\ndef {prefix}apply({head}):\n{indent([*lines, 'return within_'])}"


def marks(index: str, n: str, mark: int) -> list[str]:
    """Code that adds a mark to each feature of x or x' in `listed_`, once."""
    entry = f"listed_[{index}[j_]]"
    return block(f"for j_ in range({n}):", *block(f"if {entry} & {mark} == 0:", f"{entry} += {mark}"))
