"""Declarations in mathematical notation, for `tdlambda show` and the pages in docs/."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tdlambda.core import source
from tdlambda.core.declare import Algorithm, Declaration, Rule
from tdlambda.core.equations import Line, parse
from tdlambda.core.model import Model

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma_next": "γ'", "lam_next": "λ'", "lam": "λ", "rho": "ρ", "delta": "δ", "kappa": "κ",
    "reward": "r'", "rho_acc": "ρ_acc", "mu": "μ", "mu_next": "μ'", "eta": "η", "theta": "θ", "gap": "Δ", "xx": "|x|²",
    "zz": "|z|²", "decay": "γλ", "v_old": "w⁻·x", "rho_old": "ρ⁻",
}  # fmt: skip
"""Symbols for names; other names are unchanged, except that _next becomes a prime."""


def equations(declaration: type[Declaration] | Rule) -> str:
    """The numbers and updates of a declaration, or of a rule with its constants, one equation per line.

    >>> from tdlambda.algorithms import TD
    >>> print(equations(TD))
    along = α (r' + γ' w·x' - w·x)
    keep  = ρ γλ
    e ← keep e + ρ x
    w ← w + along e
    γλ ← γ' λ'
    """
    kind = type(declaration) if isinstance(declaration, Rule) else declaration
    names = dict(SYMBOLS) | {name: _dot(what, kind) for name, what in kind.dots.items()}
    keeps = {**declaration.keeps, **declaration.holds}
    center = getattr(declaration, "center", "")
    parts = [f"{names['reward']} ← {names['reward']} - {center}"] if center else []
    last: list[str] = []
    for where, node in _functions(declaration):
        before, after = _assignments(node, keeps, names)
        width = max((len(left) for left, _ in before), default=0)
        lines = [f"{left:{width}s} = {right}" if left else right for left, right in before]
        title = {"": "", "z": "at each feature of z:", "all": "at every feature, at the end of a stretch:"}.get(
            where,
            f"at each feature of {where.removeprefix('after ')}{', afterwards' if where.startswith('after') else ''}:",
        )
        parts += [title, *(f"    {line}" for line in [*lines, *after])] if title else lines
        last += [] if title else after
    updates = [_line(line, names) for line in parse(kind.updates, kind.row_names())]
    return "\n".join([*parts, *updates, *last])


def _functions(declaration: type[Declaration] | Rule) -> list[tuple[str, ast.FunctionDef]]:
    """(where it is called, syntax tree) of each function."""
    if isinstance(declaration, Rule):
        phases = Model(_Any, declaration).phases
        constants = Model(_Any, declaration).constants
        return [(p.where, source.tree(p.function, constants, p.results)) for p in phases]
    if issubclass(declaration, Rule):
        return [(where, source.tree(getattr(declaration, name))) for name, where in declaration.phases.items()]
    found = [("", source.tree(declaration.step))]
    feature, before = getattr(declaration, "feature", None), getattr(declaration, "before", None)
    live = "x, and with a live trace"
    if before is not None:
        where = live if getattr(declaration, "before_at", "x") == "live" else "x"
        found = [(f"{where}, summed over features", source.tree(before)), *found]
    return [*found, (live, source.tree(feature))] if feature is not None else found


class _Any(Algorithm):
    """A placeholder for the algorithm where a rule is shown by itself."""

    keeps = {"decay": 0.0}
    updates = "e = keep e + rho x"

    @staticmethod
    def step(decay, rho):  # type: ignore[no-untyped-def]
        keep = rho * decay
        return keep, decay


def _dot(what: str, declaration: type[Declaration]) -> str:
    """A dot product in notation: w·x of an algorithm, V(x) of a rule's estimate."""
    left, *rest = what.split(".")
    if issubclass(declaration, Rule) and left in declaration.estimates:
        if rest[0] in ("x", "x'"):
            return f"{left}({rest[0]})"
        return f"{left}.{'·'.join(rest)}" if len(rest) > 1 else f"{SYMBOLS.get(rest[0], rest[0])} of {left}"
    return f"{left}·{rest[0]}"


def _assignments(
    node: ast.FunctionDef, keeps: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """The assignments of a function as equations: those of its results, and those of numbers that it keeps."""
    before: list[tuple[str, str]] = []
    after: list[str] = []
    for statement in node.body:
        if isinstance(statement, ast.Return):
            continue
        if not isinstance(statement, ast.Assign):
            before += [("", line) for line in ast.unparse(statement).splitlines()]
            continue
        targets, value = statement.targets[0], statement.value
        pairs = [(targets, value)]
        if isinstance(targets, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(targets.elts, value.elts, strict=True))
        for target, given in pairs:
            name, right = ast.unparse(target).strip("()"), written(given, names)
            if name in keeps and not isinstance(keeps[name], str):
                after.append(f"{names.get(name, name)} ← {right}")
            elif name not in keeps:
                before.append((", ".join(names.get(n, n) for n in name.split(", ")), right))
    return before, after


def _line(line: Line, names: Mapping[str, str]) -> str:
    """One equation of the updates."""
    shown = lambda c: f"{names.get(c, c)} " if c else ""  # noqa: E731
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
        return names.get(node.id, node.id.replace("_next", "'"))
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
        return f"{written(left, names, 2)} {written(right, names, 2)}"
    if isinstance(node.op, ast.Div):
        text = f"{written(left, names, 2)} / {written(right, names, 3)}"
        return f"({text})" if outer > 2 else text
    if isinstance(node.op, ast.Pow) and isinstance(right, ast.Constant) and right.value == 2:
        base = written(left, names, 3)
        plain = isinstance(left, ast.Name) and "·" not in base and "(" not in base
        return f"{base}²" if plain or base.startswith("(") else f"({base})²"
    return ast.unparse(node)
