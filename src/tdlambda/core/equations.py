"""Parser of update equations, such as

    e  = keep e + new x
    w += along e + back x + correct x'

Lines are assignments, executed in order. A coefficient is one name: a number that `step` returns, an input or a
parameter. A vector is a row, x, x' or z. `Forms` contains what the schedules derive from the equations: what happens at
every live feature, what is added at the features of x and x', which rows decay, and bounds on traces and weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

OUTER = ("x", "x'", "z")
"""Vectors that come with a transition; all others are rows."""


@dataclass(frozen=True)
class Term:
    """± coefficient · vector; "" stands for the coefficient 1."""

    sign: str
    coefficient: str
    vector: str


@dataclass(frozen=True)
class Line:
    """One equation: row = own · row + Σ terms. `own` is "" for 1, and "0" if the row is overwritten."""

    row: str
    own: str
    terms: tuple[Term, ...]


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


def _terms(raw: str, right: str, rows: list[str], flipped: bool) -> list[Term]:
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
        found.append(Term("-" if (sign == "-") != flipped else "+", coefficient, vector))
    return found


def times(a: str, b: str) -> str:
    """The product of two factors, as text; "" is 1."""
    if b in ("", "1.0"):
        return a
    if a in ("", "1.0"):
        return b
    return f"{a} * ({b})" if re.search(r"[+-]", b) else f"{a} * {b}"


def total(parts: list[tuple[str, str]]) -> str:
    """A sum of signed parts, as text."""
    text = ""
    for sign, part in parts:
        text += (f" {sign} " if text else "-" if sign == "-" else "") + part
    return text


@dataclass
class Forms:
    """The equations, split into the parts that the schedules need.

    The equations are linear, so an update can be made in two passes: one over the live features, in which x and x' are
    left out, and one that adds multiples of x and x' at their active features.
    """

    live: list[str] = field(default_factory=list)
    """Statements of the pass over live features."""
    dirty: list[str] = field(default_factory=list)
    """Rows that these statements change."""
    at_x: dict[str, str] = field(default_factory=dict)
    """row → the total coefficient of x (or z) in its change, including x that reaches it through other rows."""
    at_next: dict[str, str] = field(default_factory=dict)
    """row → the total coefficient of x' in its change."""
    decaying: list[str] = field(default_factory=list)
    """Rows whose old values are multiplied by a coefficient."""
    used: list[str] = field(default_factory=list)
    """Coefficients in `live`."""
    follows: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """row → the pairs (coefficient, other row) of rows that are added to it"""
    tops: dict[str, str] = field(default_factory=dict)
    """row → a bound on the absolute values of its entries after the update. It is an expression in `{other}`, the bound
    on a row before the update, and `{other}_top`, the bound on a row that an earlier equation has updated."""

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
        text = " ".join([*self.used, *self.at_x.values(), *self.at_next.values()])
        return list(dict.fromkeys(name for name in re.findall(r"[A-Za-z]\w*", text)))


def forms(lines: list[Line]) -> Forms:
    """The parts of these equations."""
    out = Forms()
    for line in lines:
        rows = [t for t in line.terms if t.vector not in OUTER]
        start = [] if line.own == "0" else [("+", times(line.own, line.row))]
        out.follows[line.row] = [(t.coefficient, t.vector) for t in rows]
        if rows or line.own:
            right = total(start + [(t.sign, times(t.coefficient, t.vector)) for t in rows])
            out.live.append(f"{line.row} = {right or '0.0'}")
            out.dirty.append(line.row)
        if line.own or line.row in [t.vector for t in rows]:
            out.decaying.append(line.row)
        out.used += [c for c in [line.own, *(t.coefficient for t in rows)] if c and c != "0"]
        out.tops[line.row] = _top(line, out)
        for vector, parts in (("x", out.at_x), ("x'", out.at_next)):
            gathered = [("+", times(line.own, parts[line.row]))] if line.row in parts and line.own != "0" else []
            for term in line.terms:
                if term.vector == vector or (term.vector == "z" and vector == "x"):
                    gathered.append((term.sign, term.coefficient or "1.0"))
                elif term.vector in parts:
                    gathered.append((term.sign, times(term.coefficient, parts[term.vector])))
            if gathered:
                parts[line.row] = total(gathered)
    out.used = list(dict.fromkeys(out.used))
    return out


def _top(line: Line, before: Forms) -> str:
    """A bound on the row after the equation: the same sum over absolute values, with Σ|x| as the bound on x."""
    parts = [] if line.own == "0" else [times(f"abs({line.own})" if line.own else "", f"{{{line.row}}}")]
    for term in line.terms:
        size = {"x": "x1_", "z": "x1_", "x'": "y1_"}.get(term.vector)
        if size is None:
            size = f"{term.vector}_top" if term.vector in before.tops else f"{{{term.vector}}}"
        parts.append(times(f"abs({term.coefficient})" if term.coefficient else "", size))
    return " + ".join(parts) or "0.0"
