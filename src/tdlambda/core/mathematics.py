"""Steps in mathematical notation, for `tdlambda show` and the pages in docs/: what a model computes, in its order.

A number that is computed stands with =; with ← stands what is kept: rows, and numbers for the next step. A line uses
the values that the lines above it have given.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tdlambda.core import source
from tdlambda.core import step as ir
from tdlambda.core.equations import Line
from tdlambda.core.lowering import lower
from tdlambda.core.model import Model

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma_next": "γ'", "lam_next": "λ'", "lam": "λ", "rho": "ρ", "delta": "δ", "kappa": "κ",
    "reward": "r'", "rho_acc": "ρ_acc", "mu": "μ", "mu_next": "μ'", "eta": "η", "theta": "θ", "gap": "Δ", "xx": "|x|²",
    "zz": "|z|²", "decay": "γλ", "v_old": "w⁻·x", "rho_old": "ρ⁻",
}  # fmt: skip
"""Symbols for names; other names are unchanged, except that _next becomes a prime."""


def equations(model: Model) -> str:
    """The equations of the algorithm, one per line, as its first estimate computes them.

    >>> from tdlambda.algorithms import TD
    >>> print(equations(Model(TD)))
    along = α (r' + γ' w·x' - w·x)
    keep  = ρ γλ
    γλ    ← γ' λ'
    e ← keep e + ρ x
    w ← w + along e
    """
    return _Shown(lower(model), model.learning[0]).text()


def rule_equations(model: Model) -> str:
    """The equations of the rule for λ in this model: only the branches that it runs."""
    return _Shown(lower(model), "").text()


class _Shown:
    """The operations of an estimate, or of the rule (""), in notation."""

    def __init__(self, step: ir.Step, of: str) -> None:
        self.step, self.of = step, of
        self.makers = {op.out: op for op in step.operations if isinstance(op, ir.Dot | ir.RowDot | ir.Outer | ir.Load)}
        loads = [op for op in step.all_of(ir.Load) if op.of == of]
        prefix = f"{of}_" if of else ""
        self.kept = {op.slot.removeprefix(prefix): not isinstance(op.start, ir.Local) for op in loads}
        """Kept numbers → whether they are shown: those that start as a dot product have its notation."""

    def text(self) -> str:
        """All lines."""
        lines: list[str] = []
        for op in self.step.operations:
            if isinstance(op, ir.Center) and self.of:
                reward = SYMBOLS["reward"]
                lines.append(f"{reward} ← {reward} - {op.by.name.removeprefix(f'{op.of}_')}")
            elif isinstance(op, ir.Update) and op.of == self.of:
                lines += [_line(line, SYMBOLS) for line in op.lines]
            elif isinstance(op, ir.Call) and op.of == self.of:
                lines += self.function(op)
            elif isinstance(op, ir.Visit) and op.of == self.of:
                lines += [self.title(op), *(f"    {line}" for line in self.function(op))]
        return "\n".join(lines)

    def title(self, op: ir.Visit) -> str:
        """Where a function is called."""
        if op.when is not None:
            return "at every feature, at the end of a stretch:"
        operations = self.step.operations
        late = not op.of and operations.index(op) > operations.index(self.step.only(ir.Report))
        where = "x, and with a live trace" if op.where == "live" else op.where
        return f"at each feature of {where}{', afterwards' if late else ''}:"

    def function(self, op: ir.Call | ir.Visit) -> list[str]:
        """The assignments of a function."""
        f = op.function
        whole = getattr(f.source, "of_vectors", None)  # of vectors, before it was rewritten for single numbers
        node = source.tree(f.source if whole is None else whole, dict(f.constants), f.wanted if whole is None else None)
        names = dict(SYMBOLS)
        for name, v in zip(f.arguments, op.arguments, strict=True):
            shown = self.shown(v)
            names |= {name: shown} if shown else {}
            if shown and whole is not None and name[-1] == "0":
                names[name[:-1]] = shown.replace("0", "ₖ")
        rows, sums = (set(op.rows), set(op.sums)) if isinstance(op, ir.Visit) else (set(), set())
        return self.block(node.body, names, rows, sums)

    def block(self, body: list[ast.stmt], names: Mapping[str, str], rows: set[str], sums: set[str]) -> list[str]:
        """Statements as equations, aligned; those of a branch are indented."""
        found: list[tuple[str, str, str]] = []
        for s in body:
            if isinstance(s, ast.If):
                found.append(("", "", f"if {written(s.test, names)}:"))
                found += [("", "", f"    {line}") for line in self.block(s.body, names, rows, sums)]
                if s.orelse:
                    found.append(("", "", "else:"))
                    found += [("", "", f"    {line}") for line in self.block(s.orelse, names, rows, sums)]
                continue
            for targets, value in _assignments(s):
                shown = [name for name in targets if self.kept.get(name, True)]
                if shown:
                    sign = "←" if all(name in rows or self.is_kept(name) for name in shown) else "="
                    right = f"Σ {written(value, names, 2)}" if set(shown) <= sums else written(value, names)
                    found.append((", ".join(_name(name, names) for name in shown), sign, right))
        width = max((len(left) for left, sign, _ in found if sign), default=0)
        return [f"{left:{width}s} {sign} {right}" if sign else right for left, sign, right in found]

    def is_kept(self, name: str) -> bool:
        """Whether a number, or a vector of numbers, is for the next step."""
        return name in self.kept or f"{name}0" in self.kept

    def shown(self, v: ir.Argument) -> str:
        """A value in notation, if the operation that defines it has one."""
        op = self.makers.get(v.name) if isinstance(v, ir.Local) else None
        if isinstance(op, ir.Outer):
            return op.what.replace(".", "·")
        if isinstance(op, ir.RowDot):
            return f"{op.left.name}·{op.right.name}"
        if isinstance(op, ir.Dot):
            if self.of or not op.of:
                return f"{op.row.name}·{op.at}"
            first = op.row.name == self.step.rows[0].name
            return f"{op.of}({op.at})" if first else f"{op.of}.{op.row.name}·{op.at}"
        if isinstance(op, ir.Load) and not self.of and op.of:
            slot = op.slot.removeprefix(f"{op.of}_")
            return f"{SYMBOLS.get(slot, slot)} of {op.of}"
        return ""


def _name(name: str, names: Mapping[str, str]) -> str:
    """A name in notation."""
    return names.get(name, name.replace("_next", "'"))


def _assignments(s: ast.stmt) -> list[tuple[list[str], ast.expr]]:
    """(names, value) of each assignment of a statement."""
    if isinstance(s, ast.AugAssign):
        return [([ast.unparse(s.target)], ast.BinOp(ast.Name(ast.unparse(s.target), ast.Load()), s.op, s.value))]
    if not isinstance(s, ast.Assign):
        return []
    targets, value = s.targets[0], s.value
    names = [ast.unparse(t) for t in targets.elts] if isinstance(targets, ast.Tuple) else [ast.unparse(targets)]
    if not isinstance(targets, ast.Tuple) or not isinstance(value, ast.Tuple):
        return [(names, value)]
    used = [{n.id for n in ast.walk(v) if isinstance(n, ast.Name)} for v in value.elts]
    if any(name in later for i, name in enumerate(names) for later in used[i + 1 :]):
        return [(names, value)]  # of the values before, so that they cannot stand one below the other
    return [([name], v) for name, v in zip(names, value.elts, strict=True)]


def _line(line: Line, names: Mapping[str, str]) -> str:
    """One equation of the updates."""
    shown = lambda c: f"{_name(c, names)} " if c else ""  # noqa: E731
    text = "" if line.own == "0" else f"{shown(line.own)}{line.row}"
    for term in line.terms:
        sign = f" {term.sign} " if text else "-" if term.sign == "-" else ""
        text += f"{sign}{shown(term.coefficient)}{term.vector}"
    return f"{line.row} ← {text}"


def written(node: ast.expr, names: Mapping[str, str], outer: int = 0) -> str:
    """An expression in mathematical notation: products without a sign, squares as superscripts.

    `outer` is the precedence of the enclosing expression, from 0; a higher one needs more parentheses.

    >>> written(ast.parse("rho * alpha * (1 - keep * ex)**2", mode="eval").body, SYMBOLS | {"ex": "e·x"})
    'ρ α (1 - keep e·x)²'
    """
    if isinstance(node, ast.Name):
        return _name(node.id, names)
    if isinstance(node, ast.Constant):
        value: Any = node.value
        return f"{value:g}" if type(value) in (int, float) else repr(value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{written(node.operand, names, 2)}"
    if isinstance(node, ast.BinOp):
        return _binary(node, names, outer)
    if isinstance(node, ast.IfExp):
        test = written(node.test, names)
        text = f"{written(node.body, names)} if {test}, else {written(node.orelse, names)}"
        return f"({text})" if outer else text
    if isinstance(node, ast.Call):
        inside = ", ".join(written(argument, names) for argument in node.args)
        name = ast.unparse(node.func).removeprefix("np.")
        return f"|{inside}|" if name == "abs" else f"{name}({inside})"
    if isinstance(node, ast.Compare):
        signs = {ast.Gt: ">", ast.Lt: "<", ast.GtE: "≥", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"}
        right = [f"{signs[type(op)]} {written(c, names)}" for op, c in zip(node.ops, node.comparators, strict=True)]
        return " ".join([written(node.left, names), *right])
    if isinstance(node, ast.Tuple):
        return ", ".join(written(value, names) for value in node.elts)
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        return word.join(written(value, names) for value in node.values)
    return ast.unparse(node)


def _binary(node: ast.BinOp, names: Mapping[str, str], outer: int) -> str:
    left, right = node.left, node.right
    if isinstance(node.op, ast.Add | ast.Sub):
        sign = "+" if isinstance(node.op, ast.Add) else "-"
        text = f"{written(left, names, 1)} {sign} {written(right, names, 1 if sign == '+' else 2)}"
        return f"({text})" if outer > 1 else text
    if isinstance(node.op, ast.Mult):
        divided = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div)  # (a / b) c, not a / b c
        return f"{written(left, names, 3 if divided else 2)} {written(right, names, 2)}"
    if isinstance(node.op, ast.Div):
        text = f"{written(left, names, 2)} / {written(right, names, 3)}"
        return f"({text})" if outer > 2 else text
    if isinstance(node.op, ast.Pow) and isinstance(right, ast.Constant) and right.value == 2:
        base = written(left, names, 3)
        plain = isinstance(left, ast.Name) and "·" not in base and "(" not in base
        return f"{base}²" if plain or base.startswith("(") else f"({base})²"
    return ast.unparse(node)
