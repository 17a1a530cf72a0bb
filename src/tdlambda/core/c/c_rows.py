"""Operations on rows as C: equations applied to them, functions at features, restarts and mixtures."""

from __future__ import annotations

from collections.abc import Sequence

from tdlambda.core import runtime
from tdlambda.core import step as ir
from tdlambda.core.c.functions import Functions, c_name, literal
from tdlambda.core.equations import Expression, Forms, Symbol, forms, written

VECTOR = {"x": ("x_", "xv_", "n_"), "x'": ("y_", "yv_", "n_next_"), "z": ("z_", "zv_", "n_z_")}
"""Indices, values and number of the active features of a vector."""


def text(lines: list[str], by: int = 1) -> str:
    """Lines as indented text."""
    return "".join(f"{'    ' * by}{line}\n" for line in lines)


def block(head: str, *lines: str, otherwise: Sequence[str] = ()) -> list[str]:
    """A statement such as a loop, with its block, and with `otherwise` an else."""
    more = ["} else {", *(f"    {line}" for line in otherwise)] if otherwise else []
    return [f"{head} {{", *(f"    {line}" for line in lines), *more, "}"]


def over(n: str, index: str, kind: str = "int32_t") -> str:
    """The head of a loop; `kind` is the type of its index."""
    return f"for ({kind} {index} = 0; {index} < {n}; {index}++)"


def value(v: ir.Value) -> str:
    """A number."""
    if isinstance(v, ir.Const):
        return literal(v.value)
    if isinstance(v, ir.Times):
        return f"({value(v.left)} * {value(v.right)})"
    return f"self_->{c_name(v.name)}" if isinstance(v, ir.RecordNumber) else c_name(v.name)


class CRowPrinter:
    """The rows of the state, and the operations on them."""

    closes: str
    """The function that says at which steps a rule is called at all features."""

    def __init__(self, step: ir.Step, sparse: bool, NAME: str) -> None:
        self.step, self.sparse, self.NAME = step, sparse, NAME
        self.functions = Functions()
        self.parts: dict[str, str] = {}
        """Functions that apply equations to rows."""
        self.used: set[str] = set()
        """Functions of `templates.ONCE` that are called."""
        self.declared = {*step.inputs, "limit_"}

    def member(self, row: ir.Row) -> str:
        """The member of the state that has a row."""
        return f"{row.of}_{c_name(row.name)}_" if row.of else f"rule_{c_name(row.name)}_"

    def row(self, row: ir.Row) -> str:
        """A row of the state."""
        return f"self_->{self.member(row)}"

    def width(self, row: ir.Row) -> str:
        """The number of entries of a row."""
        return f"{self.NAME}_{'SIZE' if row.of or self.step.rule_rows_over_x else 'RULE_SIZE'}"

    def let_(self, name: str, text: str) -> str:
        """An assignment, which declares the variable the first time."""
        new = name not in self.declared
        self.declared.add(name)
        return f"{'double ' if new else ''}{c_name(name)} = {text};"

    def over_live(self, body: list[str]) -> list[str]:
        """A loop over the live features; over all features if they are not listed."""
        if not self.sparse:
            return block(over(f"{self.NAME}_SIZE", "f_"), *body)
        return block(over("self_->n_live", "i_", "int64_t"), "const int32_t f_ = self_->order_[i_];", *body)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def enliven(self, op: ir.Enliven) -> list[str]:
        """Features that become live."""
        if not self.sparse:
            return []
        self.used.add("td_enliven")
        index, _, n = VECTOR[op.at]
        return [f"self_->n_live = td_enliven(self_->order_, self_->listed_, self_->n_live, {index}, {n});"]

    def prune(self, op: ir.Prune) -> list[str]:
        """Periodically drop the features whose traces are all within the tolerance."""
        if not self.sparse:
            return []
        scale, most = "", "0.0"
        for size in op.scale:
            scale = f"td_min({scale}, {size}_)" if scale else f"{size}_"
        for i, r in enumerate(op.fading):
            most = f"td_max({most}, fabs({self.row(r)}[f_]))" if i else f"fabs({self.row(r)}[f_])"
        drop = [*(f"{self.row(r)}[f_] = 0.0;" for r in op.fading), "self_->listed_[f_] = 0;", "self_->n_live -= 1;"]
        drop.append("self_->order_[i_] = self_->order_[self_->n_live];")
        choice = block(f"if (td_max({most}, 0.0) <= least_)", *drop, otherwise=["i_ += 1;"])
        every = block("for (int64_t i_ = 0; i_ < self_->n_live;)", "const int32_t f_ = self_->order_[i_];", *choice)
        least = f"const double least_ = self_->tolerance{f' * {scale}' if scale else ''};"
        return block(f"if (self_->steps % {runtime.PRUNED_EVERY} == 0)", least, *every)

    def flag(self, name: str) -> str:
        """The flag that says whether bounds hold; an estimate that may restart has its own."""
        return f"{c_name(name)}_within_" if name else "within_"

    def raised(self, name: str) -> list[str]:
        """The declaration of an estimate's own flag, the first time."""
        flag = self.flag(name)
        if not name or flag in self.declared:
            return []
        self.declared.add(flag)
        return [f"int {flag} = 1;"]

    def update(self, op: ir.Update) -> list[str]:
        """The call that applies equations to rows."""
        f, name = forms(list(op.lines)), "apply_" if op.of else "rule_apply_"
        every = self.step.rows if op.of else self.step.rule_rows
        rows = [r for r in every if r.of == op.of and (r.name in f.tops or r.name in f.touched)]
        if name not in self.parts:
            self.parts[name] = self.applied(name, f, rows, op)
        more = ["self_->order_", "self_->n_live"] if self.sparse else []
        given = [*map(self.row, rows), *map(value, op.coefficients.values()), *VECTOR[op.at], *VECTOR["x'"]]
        call = f"{self.flag(op.flag)} &= {name}({', '.join([*given, value(op.bound), *more])});"
        return [*self.raised(op.flag), call]

    def applied(self, name: str, f: Forms, rows: list[ir.Row], op: ir.Update) -> str:
        """The function that applies equations to rows: at live features, then at those of x (or z), then of x'."""
        weights = {r.name for r in op.bounded}
        lines = ["int within_ = 1;"]
        if f.live:
            body = [f"double {r}_here_ = {c_name(r)}_[f_];" for r in f.touched]
            body += [f"{r}_here_ = {_written(e)};" for r, e in f.live.items()]
            body += [f"{c_name(r)}_[f_] = {r}_here_;" for r in f.dirty]
            body += [f"within_ &= fabs({r}_here_) <= bound_;" for r in f.dirty if r in weights]
            if self.sparse:
                lines += block(over("n_live_", "i_", "int64_t"), "const int32_t f_ = order_[i_];", *body)
            else:
                lines += block(over(self.width(rows[0]), "f_"), *body)
        for added, at in ((f.at_x, op.at), (f.at_next, "x'")):
            index, xv, n = VECTOR[at]
            by = "x" if added is f.at_x else "next"
            lines += [f"const double {r}_at_{by}_ = {_written(e)};" for r, e in added.items()]
            body = []
            for r in added:
                body += [f"{c_name(r)}_[f_] = {c_name(r)}_[f_] + {r}_at_{by}_ * {xv}[j_];"]
                body += [f"within_ &= fabs({c_name(r)}_[f_]) <= bound_;"] if r in weights else []
            lines += block(over(n, "j_"), f"const int32_t f_ = {index}[j_];", *body) if added else []
        given = [*VECTOR[op.at], *VECTOR["x'"], "bound_", *(["order_", "n_live_"] if self.sparse else [])]
        lines += [" ".join(f"(void){n};" for n in [*(f"{c_name(r.name)}_" for r in rows), *given]), "return within_;"]
        arguments = [f"double *restrict {c_name(r.name)}_" for r in rows]
        arguments += [f"double {c_name(c)}" for c in f.coefficients]
        arguments += [
            f"const int32_t *{i}, const double *{v}, int32_t {n}" for i, v, n in (VECTOR[op.at], VECTOR["x'"])
        ]
        arguments += ["double bound_", *(["const int32_t *order_, int64_t n_live_"] if self.sparse else [])]
        return f"static inline int {name}(\n    {', '.join(arguments)})\n{{\n{text(lines)}}}\n"

    def visit(self, op: ir.Visit) -> list[str]:
        """A function at features."""
        return self.visit_distinct(op) if op.distinct else self.visit_active(op)

    def at(self, op: ir.Visit, here: dict[str, str]) -> list[str]:
        """The call at the feature f_; `here` are the values of x and x' there."""
        given, made = [], [f"{c_name(n)}_new_" for n in op.function.results]
        for a in op.arguments:
            if isinstance(a, ir.Entry):
                given.append(f"{self.row(a.row)}[f_]")
            else:
                given.append(here[a.vector] if isinstance(a, ir.Here) else value(a))
        lines = [f"double {', '.join(made)};"]
        lines.append(f"fn_{op.function.name}({', '.join([*given, *(f'&{n}' for n in made)])});")
        lines += [f"{self.row(r)}[f_] = {c_name(n)}_new_;" for n, r in op.rows.items()]
        lines += [f"{c_name(out)} += {c_name(n)}_new_;" for n, out in op.sums.items()]
        bounded = [n for n, r in op.rows.items() if r in op.bounded]
        return lines + [f"{self.flag(op.flag)} &= fabs({c_name(n)}_new_) <= self_->bound;" for n in bounded]

    def visit_active(self, op: ir.Visit) -> list[str]:
        """A phase of the rule."""
        body = self.at(op, {op.where: "value_"})
        if op.when is not None:
            ask = ["(double)self_->since", f"(double){self.NAME}_SIZE", "(double)(terminated_ || truncated_)"]
            ask += [f"self_->{c_name(n)}" for n in op.shared]
            every = block(over(f"{self.NAME}_SIZE", "f_"), *body)
            due = block(f"if ({self.closes}({', '.join(ask)}) != 0.0)", "self_->since = 0;", *every)
            return ["self_->since += 1;", *due]
        index, xv, n = VECTOR[op.where]
        n = "(n_next_ > 0 ? n_z_ : 0)" if op.where == "z" else n
        here = [f"const int32_t f_ = {index}[j_];", f"const double value_ = {xv}[j_];", *body, "(void)value_;"]
        active = block(f"if ({xv}[j_] != 0)", *here, f"{c_name(op.count)} += 1.0;")
        return [*(self.let_(name, "0.0") for name in [op.count, *op.sums.values()]), *block(over(n, "j_"), *active)]

    def visit_distinct(self, op: ir.Visit) -> list[str]:
        """Each feature once: live ones that are not in x, those of x, then others of x'; bits 2 and 4 of `listed_`."""
        self.used |= {"td_increasing", "td_gathered", "td_value_at"}
        reads_next = "x_next" in op.function.arguments
        at = lambda x, y: self.at(op, {"x": x, "x'": y})  # noqa: E731
        mark = lambda i, n, bit: f"{over(n, 'j_')} self_->listed_[{i}[j_]] |= {bit};"  # noqa: E731
        lines = [*(self.let_(n, "0.0") for n in op.sums.values()), *self.raised(op.flag)]
        lines += ["{", "const int alone_ = td_increasing(x_, n_);", mark("x_", "n_", 2)]
        if op.where == "live":
            lines += [mark("y_", "n_next_", 4)] if reads_next else []
            lines += self.over_live(block("if (self_->listed_[f_] < 2)", *at("0.0", "0.0")))
        both = ["self_->listed_[f_] -= 4;", "next_ = td_value_at(y_, yv_, n_next_, f_, j_);"]
        here = ["const double value_ = alone_ ? xv_[j_] : td_gathered(x_, xv_, j_, n_);", "double next_ = 0.0;"]
        here += block("if (self_->listed_[f_] & 4)", *both) if reads_next else []
        here += ["self_->listed_[f_] -= 2;", *at("value_", "next_"), "(void)value_; (void)next_;"]
        lines += block(over("n_", "j_"), "const int32_t f_ = x_[j_];", *block("if (self_->listed_[f_] & 2)", *here))
        if reads_next:
            here = ["self_->listed_[f_] -= 4;", "const double next_ = td_gathered(y_, yv_, j_, n_next_);"]
            other = block("if (self_->listed_[f_] & 4)", *here, *at("0.0", "next_"), "(void)next_;")
            lines += block(over("n_next_", "j_"), "const int32_t f_ = y_[j_];", *other)
        return [*lines, "}"]

    # ---- mixtures ----------------------------------------------------------------------------------------------------

    def restart(self, op: ir.Restart) -> list[str]:
        """The restart of an estimate that exceeds its bounds."""
        w, lines = self.row(ir.Row(op.estimate, op.weights)), []
        if "everywhere_" not in self.declared:
            lines += [self.let_("everywhere_", "turning"), self.let_("most_", f"{literal(runtime.RUNAWAY)} * limit_")]
        near = [f"fabs(td_dot({w}, {', '.join(VECTOR[at])})) * self_->factor <= most_" for at in ("x", "x'")]
        body = [f"{w}[f_] = {self.row(ir.Row(op.safe, op.weights))}[f_];"]
        body += [f"{self.row(ir.Row(op.estimate, r))}[f_] = {literal(start)};" for r, start in op.starts.items()]
        again = block(over(f"{self.NAME}_SIZE", "f_"), *body)
        for slot, start in op.keeps.items():
            begin = f"td_dot({self.row(start)}, y_, yv_, n_next_)" if isinstance(start, ir.Row) else value(start)
            again.append(f"self_->{c_name(slot)} = {begin};")
        within = f"{self.flag(op.estimate)} && {near[0]} && {near[1]}"
        return [*lines, *block(f"if (!({within}))", *again, "everywhere_ = 1.0;")]

    def mix(self, op: ir.Mix) -> list[str]:
        """V's weights from those of the mixture."""
        at = " + ".join(f"{c_name(n)} * {self.row(r)}[f_]" for r, n in op.parts.items())
        mix = f"{self.row(op.out)}[f_] = {at};"
        every = f"{over(f'{self.NAME}_SIZE', 'f_')} {mix}"
        if not self.sparse:
            return [every]
        changed = []
        for n, index in (("self_->n_live", "self_->order_"), ("n_", "x_"), ("n_next_", "y_")):
            changed += block(over(n, "i_", "int64_t"), f"const int32_t f_ = {index}[i_];", mix)
        return block("if (everywhere_ != 0.0)", every, otherwise=changed)


def _written(e: Expression) -> str:
    """An expression of coefficients and rows."""

    def named(symbol: Symbol) -> str:
        return f"{symbol.name}_here_" if symbol.kind == "row" else c_name(symbol.name)

    return written(e, named)
