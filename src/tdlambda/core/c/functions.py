"""Python functions of numbers → C99. Every value is a double, truth values too; the order of operations is kept.

Translated are assignments (also of tuples), if and else, conditional expressions, + - * / and powers, comparisons, and,
or, not, min, max, abs, functions of `np` and `math` such as sqrt and exp, numbers of the module, and calls of other
functions of this kind, also of those with several results. `NoCError` quotes anything else.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Collection, Mapping
from typing import Any

from tdlambda.core import source
from tdlambda.core.names import words

LIBRARY = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "log1p": "log1p", "expm1": "expm1", "tanh": "tanh", "sin": "sin",
    "cos": "cos", "arctan": "atan", "atan": "atan", "floor": "floor", "ceil": "ceil", "abs": "fabs", "fabs": "fabs",
}  # fmt: skip
"""Functions of `np` and `math` → those of C."""
_TAKEN = {
    *words("auto break case char const continue default do double else enum extern float for goto if inline int long"),
    *words(
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
    ),
    *words("pow main NAN INFINITY NULL"),
    *LIBRARY.values(),
}
"""Words of C, and names that are used in a function's body."""
_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="
}  # fmt: skip
_LARGEST_POWER = 64


class NoCError(TypeError):
    """Python that has no translation to C."""


def c_name(name: str) -> str:
    """A Python name as a C name, which is ASCII and no word of C."""
    plain = "".join(c if c.isascii() else f"u{ord(c):x}_" for c in name)
    ours = plain.startswith(("td_", "fn_")) and plain != "td_error"  # names of functions in the file
    return f"{plain}_c_" if plain in _TAKEN or ours else plain


def literal(number: float) -> str:
    """A number as C writes it; `repr` has enough digits for the same double."""
    number = float(number)
    if number != number:
        return "NAN"
    if number in (float("inf"), -float("inf")):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    return f"({number!r})" if number < 0 or str(number)[0] == "-" else repr(number)


class _Expressions:
    """Expressions of a function as C; `known` are its globals."""

    def __init__(self, known: Mapping[str, Any], node: ast.FunctionDef, functions: Functions) -> None:
        self.known, self.functions = known, functions
        self.given = [a.arg for a in node.args.args]
        assigned = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.new = sorted(set(assigned) - set(self.given))
        self.names = {*self.given, *self.new}
        self.truths = {"ready", "turning"}
        """Names that are true or false."""
        alone = [n for n in ast.walk(node) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        for n in alone:
            name = ast.unparse(n.targets[0])
            if assigned.count(name) == 1 and self.is_truth(n.value):
                self.truths.add(name)

    def is_truth(self, e: ast.expr) -> bool:
        """Whether the value of an expression is true or false, not a number."""
        if isinstance(e, ast.BoolOp):
            last = e.values[-1:] if isinstance(e.op, ast.And) else e.values  # `a and b` is b, or false
            return all(map(self.is_truth, last))
        if isinstance(e, ast.Name):
            return e.id in self.truths
        return isinstance(e, ast.Compare) or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not))

    def number(self, e: ast.expr) -> str:
        """The value of an expression."""
        if isinstance(e, ast.Constant) and isinstance(e.value, int | float):
            return literal(e.value)
        if isinstance(e, ast.Name):
            return self.name(e)
        if isinstance(e, ast.Attribute) and self.module(e.value) and isinstance(self.constant(e), int | float):
            return literal(self.constant(e))
        if self.is_truth(e):
            return f"(double)({self.condition(e)})"
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub | ast.UAdd):
            return f"({'-' if isinstance(e.op, ast.USub) else '+'}{self.number(e.operand)})"
        if isinstance(e, ast.BinOp) and type(e.op) in _BINARY:
            return f"({self.number(e.left)} {_BINARY[type(e.op)]} {self.number(e.right)})"
        if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Pow):
            return self.power(e)
        if isinstance(e, ast.IfExp):
            return f"({self.condition(e.test)} ? {self.number(e.body)} : {self.number(e.orelse)})"
        if isinstance(e, ast.Call):
            return self.call(e)
        raise NoCError(f"no C for {ast.unparse(e)!r}")

    def condition(self, e: ast.expr) -> str:
        """The truth of an expression."""
        if isinstance(e, ast.Compare):
            parts, left = [], e.left
            for op, right in zip(e.ops, e.comparators, strict=True):
                if type(op) not in _COMPARED:
                    raise NoCError(f"no C for {ast.unparse(e)!r}")
                parts.append(f"{self.number(left)} {_COMPARED[type(op)]} {self.number(right)}")
                left = right
            return parts[0] if len(parts) == 1 else f"({' && '.join(parts)})"
        if isinstance(e, ast.BoolOp):
            return "(" + (" && " if isinstance(e.op, ast.And) else " || ").join(map(self.condition, e.values)) + ")"
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return f"!({self.condition(e.operand)})"
        return f"{self.number(e)} != 0.0"

    def name(self, e: ast.Name) -> str:
        """A variable, or a number of the module."""
        if e.id in self.names:
            return c_name(e.id)
        if isinstance(self.known.get(e.id), int | float):
            return literal(self.known[e.id])
        raise NoCError(f"no C for {e.id!r}, which is no number")

    def module(self, e: ast.expr) -> bool:
        """Whether an expression is a module, such as np."""
        return isinstance(e, ast.Name) and isinstance(self.known.get(e.id), types.ModuleType)

    def constant(self, e: ast.Attribute) -> Any:
        """A name of a module, such as np.pi."""
        assert isinstance(e.value, ast.Name)
        return getattr(self.known[e.value.id], e.attr, None)

    def power(self, e: ast.BinOp) -> str:
        """A whole power by repeated squaring, as Numba computes it; any other power by `pow`."""
        right = e.right.operand if isinstance(e.right, ast.UnaryOp) and isinstance(e.right.op, ast.USub) else e.right
        n = right.value if isinstance(right, ast.Constant) else None
        if isinstance(n, int) and n <= _LARGEST_POWER:
            text = f"{self.functions.power(n)}({self.number(e.left)})"
            return text if right is e.right else f"(1.0 / {text})"
        return f"pow({self.number(e.left)}, {self.number(e.right)})"

    def call(self, e: ast.Call, out: Collection[str] = ()) -> str:
        """A call; `out` are the addresses of several results."""
        if e.keywords:
            raise NoCError(f"no C for the call {ast.unparse(e)!r}")
        given = [self.number(a) for a in e.args]
        name = e.func.attr if isinstance(e.func, ast.Attribute) and self.module(e.func.value) else ""
        if name in LIBRARY:
            return f"{LIBRARY[name]}({', '.join(given)})"
        what = name or ast.unparse(e.func)
        if what in ("min", "max", "minimum", "maximum") and len(given) > 1:
            text = given[0]
            for more in given[1:]:
                text = f"td_{what[:3]}({text}, {more})"
            return text
        if what in ("abs", "float") and len(given) == 1 and not name:
            return f"fabs({given[0]})" if what == "abs" else given[0]
        function = self.known.get(what)
        if isinstance(function, types.FunctionType) or hasattr(function, "py_func"):
            return f"{self.functions.helper(what, function)}({', '.join([*given, *out])})"
        raise NoCError(f"no C for the call {ast.unparse(e)!r}")


class Functions:
    """C functions, each before those that call it."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._helpers: dict[int, str] = {}

    def add(self, name: str, function: Any, constants: Mapping[str, Any], results: Collection[str] | None) -> None:
        """Add a declared function, `void fn_name(arguments, double *result…)`; all of its results if None."""
        node = source.tree(function, constants, results)
        made = results if results is not None else source.returned(function)
        self._write(f"fn_{name}", node, _globals(function), len(made), name)

    def helper(self, name: str, function: Any) -> str:
        """The C name of a function that a declared one calls; two functions of one name have different ones."""
        plain = getattr(function, "py_func", function)
        if id(plain) not in self._helpers:
            node = source.tree(plain)
            returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
            sizes = {len(v.elts) if isinstance(v, ast.Tuple) else 0 for v in returns}
            if len(sizes) != 1 or not isinstance(node.body[-1], ast.Return | ast.If):
                raise NoCError(f"{name} must end with a return, and always return the same number of values")
            given = f"fn_{c_name(name)}" + (f"_{len(self._helpers)}" if f"fn_{c_name(name)}" in self.texts else "")
            self._helpers[id(plain)] = given
            self._write(given, node, _globals(plain), sizes.pop(), name)
        return self._helpers[id(plain)]

    def power(self, n: int) -> str:
        """The function that computes a whole power."""
        name = f"td_power{n}"
        if name not in self.texts:
            lines, first = ["double out = 1.0;"] if n == 0 else [], True
            while n:
                if n & 1:
                    lines.append("double out = a;" if first else "out = out * a;")
                    first = False
                n >>= 1
                lines += ["a = a * a;"] if n else []
            self.texts[name] = _function(f"double {name}(double a)", [*lines, "return out;"])
        return name

    def _write(self, name: str, node: ast.FunctionDef, known: Mapping[str, Any], outs: int, title: str) -> None:
        """Write one function; with `outs` results (0: it returns a number)."""
        says = _Expressions(known, node, self)
        try:
            body = _statements(node.body, says, outs)
        except NoCError as error:
            raise NoCError(f"{title}: {error}") from None
        lines = [f"double {', '.join(f'{c_name(n)} = 0.0' for n in says.new)};", *body] if says.new else body
        head = [f"double {c_name(n)}" for n in says.given] + [f"double *out{i}_" for i in range(outs)]
        unused = [f"(void){c_name(n)};" for n in says.given]
        text = _function(f"{'void' if outs else 'double'} {name}({', '.join(head) or 'void'})", [*unused, *lines])
        self.texts[name] = text


def _function(head: str, lines: list[str]) -> str:
    return f"static inline {head}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def _globals(function: Any) -> Mapping[str, Any]:
    return getattr(getattr(function, "py_func", function), "__globals__", {})


def _statements(body: list[ast.stmt], says: _Expressions, outs: int) -> list[str]:
    lines: list[str] = []
    for s in body:
        if isinstance(s, ast.Return) and s.value is not None:
            items = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            values = [says.number(v) for v in items]
            lines += (
                [*(f"*out{i}_ = {v};" for i, v in enumerate(values)), "return;"] if outs else [f"return {values[0]};"]
            )
        elif isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
            lines.append(f"{c_name(s.targets[0].id)} = {says.number(s.value)};")
        elif isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Tuple):
            lines += _several(s, s.targets[0].elts, says)
        elif isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            new = ast.BinOp(ast.Name(s.target.id, ast.Load()), s.op, s.value)
            lines.append(f"{c_name(s.target.id)} = {says.number(new)};")
        elif isinstance(s, ast.If):
            lines += [f"if ({says.condition(s.test)}) {{", *_in(_statements(s.body, says, outs))]
            lines += ["} else {", *_in(_statements(s.orelse, says, outs))] if s.orelse else []
            lines.append("}")
        elif not isinstance(s, ast.Pass):
            raise NoCError(f"no C for {ast.unparse(s).splitlines()[0]!r}")
    return lines


def _several(s: ast.Assign, targets: list[ast.expr], says: _Expressions) -> list[str]:
    """An assignment of several names, at once."""
    names = [c_name(t.id) for t in targets if isinstance(t, ast.Name)]
    if len(names) == len(targets) and isinstance(s.value, ast.Call):
        return [says.call(s.value, [f"&{n}" for n in names]) + ";"]
    if len(names) < len(targets) or not isinstance(s.value, ast.Tuple) or len(s.value.elts) != len(names):
        raise NoCError(f"no C for {ast.unparse(s)!r}")
    values = [says.number(v) for v in s.value.elts]
    used = [{c_name(n.id) for n in ast.walk(v) if isinstance(n, ast.Name)} for v in s.value.elts]
    if not any(names[i] in used[j] for j in range(len(names)) for i in range(j)):
        return [f"{n} = {v};" for n, v in zip(names, values, strict=True)]
    new = [f"    const double new{i}_ = {v};" for i, v in enumerate(values)]
    return ["{", *new, *(f"    {n} = new{i}_;" for i, n in enumerate(names)), "}"]


def _in(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
