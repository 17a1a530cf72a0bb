"""Vectors of numbers in declarations: `name[n]` stands for the n numbers name0, name1, …

    parameters = "sharpness lam[5]"
    dots = {"each[6]": "L[k].x"}            # [k] is the index: each0 is L0.x
    holds = {"p[6]": 1 / 6}

A function has the whole vector as an argument and computes with it number by number; `sum`, `min` and `max` of one
vector are numbers, `p[0]` is an element and `p[:5]` a shorter vector:

    p = np.exp(sharp * (min(r) - r))
    p = p / sum(p)

When the class is made, its functions are rewritten for the single numbers, so that nothing else knows of vectors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tdlambda.core import source

_VECTOR = re.compile(r"(\w*[A-Za-z_])\[(\d+)\]")
_MOST = 64


def size_of(key: str) -> tuple[str, int] | None:
    """(name, n) of a vector name[n]; None if this is a plain name."""
    found = _VECTOR.fullmatch(key)
    if found is None:
        return None
    if not 1 <= int(found[2]) <= _MOST:
        raise TypeError(f"{key}: a vector has 1 to {_MOST} numbers")
    return found[1], int(found[2])


def elements(key: str) -> list[str]:
    """The names that a word of a declaration stands for: those of a vector, or itself."""
    vector = size_of(key)
    return [key] if vector is None else [f"{vector[0]}{k}" for k in range(vector[1])]


def expanded(given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping whose vectors are single numbers; in their values, [k] is the index."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        for k, name in enumerate(elements(key)):
            if name in found:
                raise TypeError(f"{name}: declared twice, once in {key}")
            found[name] = _indexed(value, k) if name != key else value
    return found


def _indexed(value: Any, k: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_indexed(one, k) for one in value)
    return value.replace("[k]", str(k)) if isinstance(value, str) else value


def rewritten(function: Callable[..., Any], vectors: Mapping[str, int]) -> Callable[..., Any]:
    """A function of the single numbers, from one of vectors; the function itself if it has none."""
    node = source.tree(function)
    used = {a.arg for a in node.args.args} | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if not used & set(vectors):
        return function
    text = ast.unparse(ast.fix_missing_locations(_Scalars(vectors, used).function(node)))
    scalar: Any = source.function_from(text, function.__globals__, function.__qualname__)
    scalar.of_vectors = function  # for its notation
    return scalar


class _Scalars:
    """Rewrites the statements of a function for single numbers."""

    def __init__(self, vectors: Mapping[str, int], used: Collection[str]) -> None:
        self.used = used
        self.vectors = {name: [f"{name}{k}" for k in range(n)] for name, n in vectors.items()}
        self.before: list[ast.stmt] = []
        """Sums and extremes that the current statement needs."""
        self.reduced: dict[str, str] = {}
        self.count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The whole function."""
        node.args.args = [ast.arg(name) for a in node.args.args for name in self.vectors.get(a.arg, [a.arg])]
        node.body = self.body(node.body)
        return node

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, with what they need before them."""
        found: list[ast.stmt] = []
        for statement in statements:
            new = self.statement(statement)
            found += [*self.before, new]
            self.before, self.reduced = [], {}
        return found

    def statement(self, s: ast.stmt) -> ast.stmt:
        """One statement."""
        if isinstance(s, ast.If):
            test = self.scalar(s.test)
            before, self.before, self.reduced = self.before, [], {}
            new = ast.If(test, self.body(s.body), self.body(s.orelse))
            self.before = before
            return new
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            value = ast.BinOp(ast.Name(s.target.id, ast.Load()), s.op, s.value)
            s = ast.Assign([ast.Name(s.target.id, ast.Store())], value)
        if isinstance(s, ast.Assign):
            return self.assign(s)
        if isinstance(s, ast.Return) and s.value is not None:
            items = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            parts = [part for item in items for part in self.parts(item) or [self.scalar(item)]]
            return ast.Return(ast.Tuple(parts, ast.Load()))
        return s

    def assign(self, s: ast.Assign) -> ast.stmt:
        """An assignment, of all elements at once."""
        target, value = s.targets[0], s.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        names: list[ast.expr] = []
        values: list[ast.expr] = []
        new: dict[str, list[str]] = {}
        for to, given in pairs:
            parts = self.parts(given)
            name = to.id if isinstance(to, ast.Name) else ""
            if parts is None:
                if name in self.vectors:
                    raise TypeError(f"{name} is a vector; {ast.unparse(s)!r} assigns a number to it")
                names.append(to)
                values.append(self.scalar(given))
                continue
            if not name or len(self.vectors.get(name, parts)) != len(parts):
                raise TypeError(f"{ast.unparse(s)!r} assigns a vector of {len(parts)} numbers to {ast.unparse(to)}")
            new[name] = self.vectors.get(name, [f"{name}{k}" for k in range(len(parts))])
            taken = [one for one in new[name] if one in self.used]
            if taken:
                raise TypeError(f"{taken[0]}: a number of the vector {name} has this name; choose another")
            names += [ast.Name(one, ast.Store()) for one in new[name]]
            values += parts
        self.vectors |= new
        if len(names) == 1:
            return ast.Assign([names[0]], values[0], lineno=s.lineno if hasattr(s, "lineno") else 0)
        return ast.Assign([ast.Tuple(names, ast.Store())], ast.Tuple(values, ast.Load()), lineno=0)

    def size(self, e: ast.expr) -> int | None:
        """The number of elements of a vector expression; None if it is a number."""
        if isinstance(e, ast.Name):
            return len(self.vectors[e.id]) if e.id in self.vectors else None
        if isinstance(e, ast.Subscript) and self.size(e.value) is not None:
            return len(self.chosen(e)) if isinstance(e.slice, ast.Slice) else None
        if _reduces(e):
            return None
        sizes = {n for child in _children(e) if (n := self.size(child)) is not None}
        if len(sizes) > 1:
            raise TypeError(f"{ast.unparse(e)!r} has vectors of {' and '.join(map(str, sorted(sizes)))} numbers")
        return sizes.pop() if sizes else None

    def parts(self, e: ast.expr) -> list[ast.expr] | None:
        """The elements of a vector expression; None if it is a number."""
        n = self.size(e)
        return None if n is None else [self.element(e, k) for k in range(n)]

    def chosen(self, e: ast.Subscript) -> list[ast.expr]:
        """The elements of a slice."""
        whole = self.parts(e.value)
        assert whole is not None
        assert isinstance(e.slice, ast.Slice)
        try:
            bounds = [None if b is None else ast.literal_eval(b) for b in (e.slice.lower, e.slice.upper, e.slice.step)]
            found = whole[slice(*bounds)]
        except (ValueError, TypeError):
            raise TypeError(f"{ast.unparse(e)!r}: the bounds must be constants") from None
        if not found:
            raise TypeError(f"{ast.unparse(e)!r} has no elements")
        return found

    def element(self, e: ast.expr, k: int) -> ast.expr:
        """The k-th element of a vector expression; a number is the same for all."""
        if self.size(e) is None:
            return self.scalar(e)
        if isinstance(e, ast.Name):
            return ast.Name(self.vectors[e.id][k], ast.Load())
        if isinstance(e, ast.Subscript):
            return self.chosen(e)[k]
        return _changed(e, lambda child: self.element(child, k))

    def scalar(self, e: ast.expr) -> ast.expr:
        """An expression that is a number."""
        if isinstance(e, ast.Call) and _reduces(e) and self.size(e.args[0]) is not None:
            return self.reduction(e)
        if isinstance(e, ast.Subscript) and (whole := self.parts(e.value)) is not None:
            try:
                return whole[ast.literal_eval(e.slice)]
            except (ValueError, TypeError, IndexError):
                raise TypeError(f"{ast.unparse(e)!r}: the index must be a constant below {len(whole)}") from None
        if self.size(e) is not None:
            raise TypeError(f"{ast.unparse(e)!r} is a vector; use sum, min, max or an element where a number is needed")
        return _changed(e, self.scalar)

    def reduction(self, e: ast.Call) -> ast.expr:
        """A sum from left to right, or an extreme, which is computed once, before the statement."""
        key, how = ast.dump(e), ast.unparse(e.func)
        if key not in self.reduced:
            parts = self.parts(e.args[0])
            assert parts is not None
            value = parts[0]
            if how == "sum":
                for part in parts[1:]:
                    value = ast.BinOp(value, ast.Add(), part)
            elif len(parts) > 1:
                value = ast.Call(ast.Name(how, ast.Load()), parts, [])
            self.count += 1
            self.reduced[key] = f"{how}_of_all_{self.count}"
            self.before.append(ast.Assign([ast.Name(self.reduced[key], ast.Store())], value, lineno=0))
        return ast.Name(self.reduced[key], ast.Load())


def _reduces(e: ast.expr) -> bool:
    """Whether this is sum(v), min(v) or max(v) of one vector."""
    named = isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id in ("sum", "min", "max")
    return named and len(e.args) == 1 and not e.keywords  # type: ignore[attr-defined]


def _children(e: ast.expr) -> list[ast.expr]:
    """The expressions in an expression, without the function of a call."""
    return [c for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr) and c is not getattr(e, "func", None)]


def _changed(e: ast.expr, change: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """A copy of an expression with its parts changed."""
    own = set(map(id, _children(e)))

    def new(part: Any) -> Any:
        if isinstance(part, list):
            return [new(one) for one in part]
        return change(part) if id(part) in own else part

    return type(e)(**{name: new(part) for name, part in ast.iter_fields(e)})
