"""Linear maps of rows, for the lazy schedule: a step changes a few scalars instead of every entry of the rows.

The equations are linear. One step maps each row r of an estimate to Σ map[r][s] s, and then adds multiples of x and x'.
So every row can be represented as a linear combination of stored rows ŝ,

    r = Σ U[r, s] ŝ

and the map then changes the small matrix U, not the stored rows. For the equations

    e  = keep e + new x
    w += along e + back x

the representation is e = K ê and w = ŵ + A ê. U is triangular: `order` lists each row after the rows it is made of.

Methods return text for generated code. There, the scalar `U[r, r]` is named K_{r} or K_{its coefficient}, and U[r, s]
is named {r}_in_{s}; {r}_at_ is what a step adds to row r per unit of x, and {s}_by_ what it adds to the stored row ŝ.
"""

from __future__ import annotations

from collections.abc import Collection

from tdlambda.core.equations import OUTER, Forms, Line, forms

Pair = tuple[str, str]


def product(*factors: str) -> str:
    """The product of factors, as text; "" is 1."""
    found = [f"({factor})" if set("+-") & set(factor) else factor for factor in factors if factor]
    return " * ".join(found)


def added(parts: list[Pair]) -> str:
    """The sum of (sign, term), as text; a term "" is 1."""
    text = ""
    for sign, part in parts:
        text += (f" {sign} " if text else "-" if sign == "-" else "") + (part or "1.0")
    return "" if text == "1.0" else text


class Linear:
    """The equations of an algorithm as a linear map of its rows, and the representation of rows by stored rows."""

    def __init__(self, lines: list[Line], rows: list[str]) -> None:
        self.lines, self.rows, self.forms = lines, rows, forms(lines)
        self.own = dict.fromkeys(rows, "") | {line.row: line.own for line in lines}
        self.terms = {line.row: [t for t in line.terms if t.vector not in OUTER] for line in lines}
        self.made_of = self._made_of()
        """Each row → the rows that it is a combination of: itself, the rows added to it, and so on."""
        self.order = sorted(rows, key=lambda row: (len(self.made_of[row]), rows.index(row)))
        self.factor = self._factors()
        """Each row → the name of U[r, r]; "" where it is always 1. Rows with the same decay share one factor."""
        self.map = self._map()
        """Each row r → the coefficients map[r][s] of a step, x and x' left out."""

    @property
    def triangular(self) -> bool:
        """Whether U is triangular and invertible: no row is added to itself through others, and none is overwritten."""
        follows = [(r, t.vector) for r, terms in self.terms.items() for t in terms]
        return all(r not in self.made_of[s] for r, s in follows) and "0" not in self.own.values()

    def _made_of(self) -> dict[str, list[str]]:
        found = {row: {row} for row in self.rows}
        for _ in self.rows:
            for row, terms in self.terms.items():
                found[row] = found[row].union(*(found[t.vector] for t in terms))
        return {row: [s for s in self.rows if s in found[row]] for row in self.rows}

    def _factors(self) -> dict[str, str]:
        factor = {row: f"K_{row}" if self.own[row] else "" for row in self.rows}
        at = [line.row for line in self.lines]
        for own in set(self.own.values()) - {"", "0"}:
            alike = [row for row in at if self.own[row] == own and not self.terms[row]]
            between = [] if not alike else at[at.index(alike[0]) : at.index(alike[-1])]
            if not any(t.vector in alike for row in between for t in self.terms[row]):
                factor |= dict.fromkeys(alike, f"K_{own}")
        return factor

    def mixture(self, row: str, other: str) -> str:
        """The name of U[row, other]; "" where it is always 1."""
        return self.factor[row] if row == other else f"{row}_in_{other}"

    @property
    def mixtures(self) -> list[str]:
        """The names of all entries of U that change, factors first."""
        entries = [f"{r}_in_{s}" for r in self.rows for s in self.made_of[r] if r != s]
        return [*self.factors, *entries]

    @property
    def factors(self) -> list[str]:
        """The names of the factors, each once."""
        return [name for name in dict.fromkeys(self.factor.values()) if name]

    def steps(self) -> list[str]:
        """The change of U in a step, as assignments to `{name}_`; x and x' are left out."""
        found, done = [], set()
        for line in self.lines:
            r = line.row
            for s in self.made_of[r]:
                target = self.mixture(r, s)
                parts = [("+", product(self.own[r], f"{target}_"))]
                for t in self.terms[r]:
                    if s in self.made_of[t.vector]:
                        name = self.mixture(t.vector, s)
                        parts.append((t.sign, product(t.coefficient, f"{name}_" if name else "")))
                if target and target not in done and (len(parts) > 1 or self.own[r]):
                    found.append(f"{target}_ = {added(parts)}")
                    done.add(target)
        return found

    def _map(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {row: {row: ""} for row in self.rows}
        for line in self.lines:
            new: dict[str, list[Pair]] = {}
            for s, by in found[line.row].items():
                new.setdefault(s, []).append(("+", product(line.own, by)))
            for t in self.terms[line.row]:
                for s, by in found[t.vector].items():
                    new.setdefault(s, []).append((t.sign, product(t.coefficient, by)))
            found[line.row] = {s: added(parts) for s, parts in new.items()}
        return found

    def inverse(self, at: Collection[str]) -> list[tuple[str, str]]:
        """(stored row, expression of its change), such that each row r of `at` changes by `{r}_at_`.

        This solves the triangular system with U by forward substitution: an expression uses the entries `{name}_` of U
        and the changes `{s}_by_` of the stored rows before it.
        """
        found: list[tuple[str, str]] = []
        for r in self.order:
            below = [s for s in self.made_of[r] if s != r and s in dict(found)]
            if r not in at and not below:
                continue
            own = [("+", f"{r}_at_")] if r in at else []
            total = added([*own, *(("-", f"{r}_in_{s}_ * {s}_by_") for s in below)])
            found.append((r, f"({total}) / {self.factor[r]}_" if self.factor[r] else total))
        return found

    def products(self, wanted: list[Pair]) -> list[Pair]:
        """All dot products of rows that must be kept, so that each can be updated from those before the step."""
        found = [self.pair(*pair) for pair in wanted]
        for r, s in found:  # the loop also visits pairs that it appends
            found += [new for a in self.map[r] for b in self.map[s] if (new := self.pair(a, b)) not in found]
        return list(dict.fromkeys(found))

    def after(self, r: str, of: str) -> str:
        """Row r after a step, x and x' left out, as an expression in the old rows, named by the pattern `of`."""
        return added([("+", product(by, of.format(a))) for a, by in self.map[r].items()])

    def pair(self, a: str, b: str) -> Pair:
        """The pair in the order of the rows, so that a·b and b·a have one name."""
        return (a, b) if self.rows.index(a) <= self.rows.index(b) else (b, a)

    def renewed(self, r: str, s: str) -> str:
        """r·s after a step, as an expression in the old products `{a}_{b}_dot_`, `{r}_x_after_`, `{r}_at_` and `xx_`.

        `{r}_x_after_` is x·r after the step without what is added at x; `xx_` is x·x.
        """
        parts = []
        for a, by in self.map[r].items():
            for b, of in self.map[s].items():
                parts.append(("+", product(by, of, "{}_{}_dot_".format(*self.pair(a, b)))))
        at: Forms = self.forms
        if s in at.at_x:
            parts.append(("+", f"{s}_at_ * {r}_x_after_"))
        if r in at.at_x:
            parts.append(("+", f"{r}_at_ * {s}_x_after_"))
        if r in at.at_x and s in at.at_x:
            parts.append(("+", f"{r}_at_ * {s}_at_ * xx_"))
        return added(parts)
