"""Parser of update equations, such as

    e  = keep e + new x
    w += along e + back x + correct x'

Lines are assignments, executed in order. A coefficient is one name: a number that `step` returns, an input or a
parameter. A vector is a row, x, x' or z. `Forms` contains what the schedules derive from the equations: what happens at
every live feature, what is added at the features of x and x', which rows decay, and bounds on traces and weights. These
are expressions of symbols, which each schedule writes with its own names (`written`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

OUTER = ("x", "x'", "z")
"""Vectors that come with a transition; all others are rows."""


@dataclass(frozen=True)
class EquationTerm:
    """± coefficient · vector; "" stands for the coefficient 1."""

    sign: str
    coefficient: str
    vector: str


@dataclass(frozen=True)
class Line:
    """One equation: row = own · row + Σ terms. `own` is "" for 1, and "0" if the row is overwritten."""

    row: str
    own: str
    terms: tuple[EquationTerm, ...]


def parse(text: str, rows: list[str]) -> list[Line]:
    """The equations in a text; ValueError quotes the first that cannot be read."""
    lines: list[Line] = []
    for raw in filter(None, map(str.strip, text.splitlines())):
        match = re.fullmatch(r"(\w+)\s*(\+=|-=|=)\s*(.+)", raw)
        if not match:
            raise ValueError(f"cannot read {raw!r}; write an assignment such as 'e = keep e + new x'")
        row, how, right = match.groups()
        if row not in rows:
            raise ValueError(f"{raw!r} assigns to {row!r}, which is not a row; the rows are {', '.join(rows)}")
        if row in [line.row for line in lines]:
            raise ValueError(f"{raw!r} assigns to {row!r} a second time; write one line for each row")
        own, terms = ("" if how != "=" else "0"), []
        for term in _terms(raw, right, rows, flipped=how == "-="):
            if term.vector == row and how == "=" and own == "0" and term.sign == "+":
                own = term.coefficient
            else:
                terms.append(term)
        lines.append(Line(row, own, tuple(terms)))
    return lines


def _terms(raw: str, right: str, rows: list[str], flipped: bool) -> list[EquationTerm]:
    """The terms on the right of an equation; `flipped` for `-=`, which reverses their signs."""
    if not re.fullmatch(r"\s*[+-]?\s*[^+-]+(?:[+-][^+-]+)*", right):
        raise ValueError(f"cannot read {right!r} in {raw!r}; write terms with + or - between them")
    found = []
    for sign, text in re.findall(r"([+-]?)\s*([^+-]+)", right):
        words = text.split()
        coefficient, vector = ("", words[0]) if len(words) == 1 else (words[0], words[-1])
        if len(words) > 2 or vector not in [*rows, *OUTER] or not re.fullmatch(r"[A-Za-z]\w*|", coefficient):
            raise ValueError(
                f"cannot read {text.strip()!r} in {raw!r}; a term is a coefficient and a vector, such as 'new x' "
                f"(vectors are {', '.join([*rows, *OUTER])}; compute products of numbers in step)"
            )
        found.append(EquationTerm("-" if (sign == "-") != flipped else "+", coefficient, vector))
    return found


@dataclass(frozen=True)
class Symbol:
    """A name in an expression.

    Its `kind` is "number" (a coefficient), "row" (the row at the feature), "size" (a coefficient's absolute value),
    "top" (the bound on a row before the update), "new top" (after it), or "sum" (Σ|x| or Σ|x'|, of the vector `name`).
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Product:
    """A product; the right factor may be a product or a sum."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Sum:
    """Σ ± part; without parts it is 0."""

    parts: tuple[tuple[str, Expression], ...]


Expression = float | Symbol | Product | Sum
"""A number is a constant: 1.0, the coefficient that is not written."""


def times(a: Expression, b: Expression) -> Expression:
    """The product of two factors."""
    return a if b == 1.0 else b if a == 1.0 else Product(a, b)


def total(parts: list[tuple[str, Expression]]) -> Expression:
    """A sum of signed parts."""
    return parts[0][1] if len(parts) == 1 and parts[0][0] == "+" else Sum(tuple(parts))


def written(e: Expression, names: Callable[[Symbol], str] = lambda symbol: symbol.name) -> str:
    """An expression as text, which Python and C read alike; `names` gives the text of each symbol.

    >>> sum_ = Sum((("+", Symbol("number", "new")), ("-", Symbol("number", "half"))))
    >>> written(Product(Symbol("number", "along"), sum_), lambda symbol: f"{symbol.name}_")
    'along_ * (new_ - half_)'
    """
    if isinstance(e, float):
        return repr(e)
    if isinstance(e, Symbol):
        return names(e)
    if isinstance(e, Product):
        right = written(e.right, names)
        return f"{written(e.left, names)} * {f'({right})' if _has_sum(e.right) else right}"
    text = ""
    for sign, part in e.parts:
        text += (f" {sign} " if text else "-" if sign == "-" else "") + written(part, names)
    return text or "0.0"


def _has_sum(e: Expression) -> bool:
    return isinstance(e, Sum) or (isinstance(e, Product) and (_has_sum(e.left) or _has_sum(e.right)))


def symbols(e: Expression) -> Iterator[Symbol]:
    """The symbols of an expression, from left to right."""
    if isinstance(e, Symbol):
        yield e
    elif isinstance(e, Product):
        yield from symbols(e.left)
        yield from symbols(e.right)
    elif isinstance(e, Sum):
        for _, part in e.parts:
            yield from symbols(part)


def _number(coefficient: str, kind: str = "number") -> Expression:
    return Symbol(kind, coefficient) if coefficient else 1.0


@dataclass
class Forms:
    """The equations, split into the parts that the schedules need.

    The equations are linear, so an update can be made in two passes: one over the live features, in which x and x' are
    left out, and one that adds multiples of x and x' at their active features.
    """

    live: dict[str, Expression] = field(default_factory=dict)
    """The pass over live features: row → its new value there, in the order of the assignments."""
    at_x: dict[str, Expression] = field(default_factory=dict)
    """row → the total coefficient of x (or z) in its change, including x that reaches it through other rows."""
    at_next: dict[str, Expression] = field(default_factory=dict)
    """row → the total coefficient of x' in its change."""
    decaying: list[str] = field(default_factory=list)
    """Rows whose old values are multiplied by a coefficient."""
    used: list[str] = field(default_factory=list)
    """Coefficients in `live`."""
    follows: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """row → the pairs (coefficient, other row) of rows that are added to it"""
    tops: dict[str, Expression] = field(default_factory=dict)
    """row → a bound on the absolute values of its entries after the update."""

    @property
    def dirty(self) -> list[str]:
        """Rows that the pass over live features changes."""
        return list(self.live)

    @property
    def touched(self) -> list[str]:
        """Rows that the pass over live features reads or writes."""
        return list(dict.fromkeys([*self.dirty, *(v for r in self.dirty for _, v in self.follows[r])]))

    def fed_by_next(self, rows: list[str]) -> bool:
        """Whether a multiple of x' is added to one of these rows."""
        return any(row in self.at_next for row in rows)

    @property
    def coefficients(self) -> list[str]:
        """Every coefficient that occurs."""
        added = (symbol.name for e in (*self.at_x.values(), *self.at_next.values()) for symbol in symbols(e))
        return list(dict.fromkeys([*self.used, *added]))


def forms(lines: list[Line]) -> Forms:
    """The parts of these equations."""
    out = Forms()
    for line in lines:
        rows = [t for t in line.terms if t.vector not in OUTER]
        own, row = _number(line.own), Symbol("row", line.row)
        start = [] if line.own == "0" else [("+", times(own, row))]
        out.follows[line.row] = [(t.coefficient, t.vector) for t in rows]
        if rows or line.own:
            added = [(t.sign, times(_number(t.coefficient), Symbol("row", t.vector))) for t in rows]
            out.live[line.row] = total([*start, *added])
        if line.own or line.row in [t.vector for t in rows]:
            out.decaying.append(line.row)
        out.used += [c for c in [line.own, *(t.coefficient for t in rows)] if c and c != "0"]
        out.tops[line.row] = _top(line, out)
        for vector, parts in (("x", out.at_x), ("x'", out.at_next)):
            gathered = [("+", times(own, parts[line.row]))] if line.row in parts and line.own != "0" else []
            for term in line.terms:
                if term.vector == vector or (term.vector == "z" and vector == "x"):
                    gathered.append((term.sign, _number(term.coefficient)))
                elif term.vector in parts:
                    gathered.append((term.sign, times(_number(term.coefficient), parts[term.vector])))
            if gathered:
                parts[line.row] = total(gathered)
    out.used = list(dict.fromkeys(out.used))
    return out


def _top(line: Line, before: Forms) -> Expression:
    """A bound on the row after the equation: the same sum over absolute values, with Σ|x| as the bound on x."""
    parts = [] if line.own == "0" else [("+", times(_number(line.own, "size"), Symbol("top", line.row)))]
    for term in line.terms:
        kind = "sum" if term.vector in OUTER else "new top" if term.vector in before.tops else "top"
        name = "x" if term.vector == "z" else term.vector
        parts.append(("+", times(_number(term.coefficient, "size"), Symbol(kind, name))))
    return total(parts)


SUMS = {"x": "x1_", "x'": "y1_"}
"""Names of Σ|x| and Σ|x'| in generated code."""


def bound(e: Expression, tops: Callable[[str], str]) -> str:
    """A bound (`Forms.tops`) as text; `tops` gives the text of the bound on a row before the update."""

    def named(symbol: Symbol) -> str:
        match symbol.kind:
            case "size":
                return f"abs({symbol.name})"
            case "top":
                return tops(symbol.name)
            case "new top":
                return f"{symbol.name}_top"
        return SUMS[symbol.name]

    return written(e, named)
