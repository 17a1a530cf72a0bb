"""The rows of the lazy schedule: each estimate's rows as combinations of stored rows, and the functions for them."""

from __future__ import annotations

from collections.abc import Callable

from tdlambda.core.equations import bound, parse, written
from tdlambda.core.linear_maps import Linear, Pair, added, product
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.schedules.text import indent

ROOM = 4
"""Number of buffers at the end of `rows_`, after the features."""
FEW = 8
"""Up to this many rows, sums over x are scalars in registers; with more, they are vectors."""
HERE = "c_, rows_, first_, order_, listed_"
"""Parameters that describe an estimate: its common factors, all rows, the index of its first row, its live features."""

ADD_FEW = '''@lanewise
def add_(rows_, x_, xv_, n_, by_):
    """Add `by_[row] x` to each row, at the features of x."""
{read}    for j_ in range(n_):
        row_ = rows_[np.uint64(x_[j_])]
{add}'''

# The loops over rows run to the size of an array: a loop of known length would be unrolled instead of vectorised.
ADD_MANY = '''@lanewise
def sums_(rows_, x_, xv_, n_, out_):
    """Write row · x of each row."""
    for r_ in range(out_.size):
        out_[r_] = 0.0
    for j_ in range(n_):
        row_ = rows_[np.uint64(x_[j_])]
        for r_ in range(out_.size):
            out_[r_] += {times}row_[r_]


@lanewise
def add_(rows_, x_, xv_, n_, by_):
    """Add `by_[row] x` to each row, at the features of x."""
    for j_ in range(n_):
        row_ = rows_[np.uint64(x_[j_])]
        for r_ in range(by_.size):
            row_[r_] += {times}by_[r_]
'''

SETTLE = '''@inlined
def settle_(rows_, first_, order_, listed_, n_live_, {mixtures}, least_, end_):
    """Replace stored rows by the rows they represent (traces by 0 if `end_`); drop features with traces <= `least_`."""
    for i_ in range(n_live_ - 1, -1, -1):  # backwards, so that a feature moved into a gap has already been visited
        f_ = np.uint64(order_[i_])
        row_ = rows_[f_]
{mixed}        if max({sizes}) <= least_:
{zero}            listed_[f_] = 0
            n_live_ -= 1
            order_[i_] = order_[n_live_]
{write}    return n_live_
'''

MEASURE = '''@kernel
def measure_({here}, bound_):
    """Compute the bounds on rows anew; return whether all weights are within their bound."""
    within_ = True
{settle}{zero}    for f_ in range(rows_.shape[0] - {room}):
        row_ = rows_[f_]
{tops}{within}    return within_
'''

ADVANCE = '''@inlined
def advance_({here}, by_, {given}, x_, n_, y_, yv_, n_next_, x1_, y1_, xx_, least_, bound_):
    """Learn from one transition, except that what is to be added at x is left in `by_`; return whether bounds hold."""
{products}{mixtures}{settle}{at_x}{at_next}{bounds}    c_.n_live = enliven(order_, listed_, c_.n_live, x_, n_)
    return {within}
'''

VALUE = '''@inlined
def value_(state_, rows_, x_, xv_):
    """V(x)."""
    c_, total_ = state_[0].V_rows_, 0.0
    for j_ in range(len(x_)):
        row_ = rows_[np.uint64(x_[j_])]
        total_ += {value}
    return total_
'''

WEIGHT = '''@inlined
def weight_(state_, rows_, f_):
    """The weight of one feature."""
    c_, row_ = state_[0].V_rows_, rows_[np.uint64(f_)]
    return {value}
'''


def linear_map(model: Model) -> Linear:
    """The algorithm's equations as a linear map."""
    rows = model.algorithm.row_names()
    return Linear(parse(model.algorithm.updates, rows), rows)


def wanted(model: Model) -> list[Pair]:
    """The dot products of two rows among the algorithm's `dots`."""
    pairs = [what.split(".", 1) for what in model.algorithm.dots.values()]
    return [(left, right) for left, right in pairs if right not in ("x", "x'")]


class FactoredRows:
    """The rows of a model, as the lazy schedule stores them, and the functions of a module that use them."""

    def __init__(self, model: Model, binary: bool) -> None:
        a = model.algorithm
        self.model, self.binary, self.linear = model, binary, linear_map(model)
        self.first = words(a.weight_rows)[0]
        self.traces, self.weights = words(a.trace_rows), words(a.weight_rows)
        self.fading = [r for r in self.linear.rows if r in self.traces or r in self.linear.forms.decaying]
        self.pairs = self.linear.products(wanted(model))
        self.paired = list(dict.fromkeys(row for pair in self.pairs for row in pair))
        self.dotted = list(dict.fromkeys(s for row in self.paired for s in self.linear.map[row]))
        """Rows whose dot product with x the recursions need."""
        self.bounded = [r for r in self.linear.forms.tops if any(r in self.linear.made_of[w] for w in self.weights)]
        self.few = len(model.rows) <= FEW

    def functions(self) -> str:
        """The functions that apply the equations to an estimate, and that settle it."""
        head = "from tdlambda.core.runtime import SMALL, absolute, norm\n"
        parts = [head, self.add(), self.settle(), self.forget(), self.measure(), self.advance(), self.value()]
        return "\n\n".join(parts)

    def add(self) -> str:
        """The function that adds what all estimates add at x."""
        times = "" if self.binary else "xv_[j_] * "
        if not self.few:
            return ADD_MANY.format(times=times)
        places = range(len(self.model.rows))
        read, add = ([f"by_{i}_ = by_[{i}]" for i in places], [f"row_[{i}] += {times}by_{i}_" for i in places])
        return ADD_FEW.format(read=indent(read), add=indent(add, 8))

    def mixture(self, row: str, stored: Callable[[str], str], factor: str) -> str:
        """A row as an expression in stored rows, named by `stored`, and factors, named by the pattern `factor`."""
        names = [(s, self.linear.mixture(row, s)) for s in self.linear.made_of[row]]
        return added([("+", product(factor.format(m) if m else "", stored(s))) for s, m in names])

    def settle(self) -> str:
        """The function `settle_`, which replaces stored rows by the rows that they represent."""
        rows, mixed = self.linear.rows, [f"{r}_now_ = row_[first_ + {i}]" for i, r in enumerate(self.linear.rows)]
        for r in reversed(self.linear.order):
            stands_for = self.mixture(r, "{}_now_".format, "{}_")
            mixed.append(f"{r}_now_ = {f'0.0 if end_ else {stands_for}' if r in self.traces else stands_for}")
        return SETTLE.format(
            mixtures=", ".join(f"{m}_" for m in self.linear.mixtures),
            mixed=indent(mixed, 8),
            sizes=", ".join([*([f"abs({r}_now_)" for r in self.fading] or ["0.0"]), "0.0"]),
            zero=indent([f"{r}_now_ = 0.0" for r in self.fading], 12),
            write=indent([f"row_[first_ + {i}] = {r}_now_" for i, r in enumerate(rows)], 8),
        )

    def settled(self, least: str, end: bool) -> list[str]:
        """Code that settles the current estimate and resets its factors."""
        names = [f"c_.{m}" for m in self.linear.mixtures]
        call = f"settle_(rows_, first_, order_, listed_, c_.n_live, {', '.join([*names, least, str(end)])})"
        return [f"c_.n_live = {call}", *(f"{name} = {alone}" for name, alone in zip(names, self.alone, strict=True))]

    @property
    def alone(self) -> list[str]:
        """The factors of settled rows: the identity."""
        return ["1.0" if m in self.linear.factors else "0.0" for m in self.linear.mixtures]

    def forget(self) -> str:
        """The function `forget_`, which ends an episode of one estimate."""
        lines = self.settled("0.0", True) + [f"c_.{a}_{b}_dot = 0.0" for a, b in self.pairs]
        lines += [f"c_.{r}_top = 0.0" for r in self.bounded if r in self.traces]
        return f"@inlined\ndef forget_({HERE}):\n" + indent(lines)

    def measure(self) -> str:
        """The function `measure_`, which checks all weights."""
        at = {r: f"abs(row_[first_ + {i}])" for i, r in enumerate(self.linear.rows) if r in self.bounded}
        return MEASURE.format(
            here=HERE,
            room=ROOM,
            settle=indent(self.settled("0.0", False)),
            zero=indent([f"c_.{r}_top = 0.0" for r in at]),
            tops=indent([f"c_.{r}_top = max(c_.{r}_top, {size})" for r, size in at.items()], 8),
            within=indent([f"within_ &= {size} <= bound_" for r, size in at.items() if r in self.weights], 8),
        )

    def advance(self) -> str:
        """The function `advance_`: one transition of one estimate, except for what is added at x."""
        linear, f = self.linear, self.linear.forms
        products = [f"{r}_at_ = {written(by)}" for r, by in f.at_x.items()]
        products += [f"{r}_x_after_ = {linear.after(r, '{}_x_')}" for r in self.paired]
        products += [f"{a}_{b}_dot_ = c_.{a}_{b}_dot" for a, b in self.pairs]
        products += [f"c_.{a}_{b}_dot = {linear.renewed(a, b)}" for a, b in self.pairs]
        mixtures = [f"{m}_ = c_.{m}" for m in linear.mixtures] + linear.steps()
        mixtures += [f"c_.{m} = {m}_" for m in linear.mixtures]
        settle = [*self.settled("least_", False), *(f"{m}_ = c_.{m}" for m in linear.mixtures)]
        within = [f"SMALL <= abs({factor}_) <= 1 / SMALL" for factor in linear.factors]
        at_x = dict(linear.inverse(f.at_x))
        by = [f"by_[first_ + {i}] = {f'{r}_by_' if r in at_x else '0.0'}" for i, r in enumerate(linear.rows)]
        tops = {r: bound(f.tops[r], "c_.{}_top".format) for r in self.bounded}
        return ADVANCE.format(
            here=HERE,
            given=", ".join([*f.coefficients, *(f"{a}_x_" for a in self.dotted)]),
            products=indent(products),
            mixtures=indent(mixtures),
            settle=f"    if not ({' and '.join(within)}):\n{indent(settle, 8)}" if within else "",
            at_x=indent([*(f"{r}_by_ = {more}" for r, more in at_x.items()), *by]),
            at_next=indent(self.at_next()),
            bounds=indent([f"{r}_top = {top}" for r, top in tops.items()] + [f"c_.{r}_top = {r}_top" for r in tops]),
            within=" and ".join(f"{r}_top <= bound_" for r in tops if r in self.weights) or "True",
        )

    def at_next(self) -> list[str]:
        """Code that adds multiples of x'."""
        at = self.linear.forms.at_next
        found = dict(self.linear.inverse(at))
        if not found:
            return []
        times = "" if self.binary else " * yv_[j_]"
        lines = [f"{r}_at_ = {written(by)}" for r, by in at.items()] + [
            f"{r}_by_ = {more}" for r, more in found.items()
        ]
        lines += [f"if {' or '.join(f'{r}_by_ != 0.0' for r in found)}:", "    for j_ in range(n_next_):"]
        lines += [f"        rows_[y_[j_], first_ + {self.linear.rows.index(r)}] += {r}_by_{times}" for r in found]
        if set(found) & set(self.fading):
            lines.append("c_.n_live = enliven(order_, listed_, c_.n_live, y_, n_next_)")
        return lines

    def value(self) -> str:
        """The functions `value_` and `weight_`."""
        each = self.mixture(self.first, lambda s: f"row_[{self.linear.rows.index(s)}]", "c_.{}")
        text = VALUE.format(value=each if self.binary else product("xv_[j_]", each))
        return f"{text}\n\n{WEIGHT.format(value=each)}"

    def place(self, k: str) -> str:
        """The arguments that describe an estimate: see `HERE`."""
        i = list(self.model.estimates).index(k)
        first = f"{k}_c_.first" if len(self.model.estimates) > 1 else "0"  # Numba would compile anew for each literal
        return f"{k}_c_, rows_, {first}, live_[{2 * i}], live_[{2 * i + 1}]"

    def clear(self) -> str:
        """The function `clear`, which ends an episode."""
        lines = ["s_ = state_[0]", "s_.under_way = 0", *(f"{k}_c_ = s_.{k}_rows_" for k in self.model.estimates)]
        lines += [f"forget_({self.place(k)})" for k in self.model.estimates]
        return "@inlined\ndef clear(state_, rows_, own_, live_):\n" + indent(lines)

    def opening(self) -> list[str]:
        """Code that looks up the factors, and sums stored rows over x and x', from which dot products follow."""
        lines = [f"{k}_c_ = s_.{k}_rows_" for k in self.model.estimates]
        lines.append("by_, calm_ = rows_[rows_.shape[0] - 1], True")
        if self.binary:
            lines.append("x1_, y1_, xx_ = 1.0, 1.0, float(n_)")
        else:
            xx = "norm(x_, xv_, n_)" if self.pairs else "0.0"
            lines.append(f"x1_, y1_, xx_ = absolute(xv_, n_), absolute(yv_, n_next_), {xx}")
        if not self.few:
            lines.append("at_x_, at_next_ = rows_[rows_.shape[0] - 3], rows_[rows_.shape[0] - 2]")
            lines += ["sums_(rows_, x_, xv_, n_, at_x_)", "sums_(rows_, y_, yv_, n_next_, at_next_)"]
            if self.model.carried:
                lines += ["at_z_ = rows_[rows_.shape[0] - 4]", "sums_(rows_, z_, zv_, len(z_), at_z_)"]
            return lines
        vectors = [("x", "x_", "xv_", "n_"), ("x'", "y_", "yv_", "n_next_"), ("z", "z_", "zv_", "len(z_)")]
        for at, index, value, n in vectors if self.model.carried else vectors[:2]:
            times = "" if self.binary else f"{value}[j_] * "
            names = [(self.sum(k, r, at), i) for i, (k, r) in enumerate(self.places_of_rows) if r in self.summed(at)]
            lines += [f"{name} = 0.0" for name, _ in names]
            lines += [f"for j_ in range({n}):", f"    row_ = rows_[np.uint64({index}[j_])]"]
            lines += [f"    {name} += {times}row_[{i}]" for name, i in names]
        return lines

    @property
    def places_of_rows(self) -> list[Pair]:
        """(estimate, row), in their order in memory."""
        return [(k, r) for k in self.model.estimates for r in self.linear.rows]

    def summed(self, at: str) -> set[str]:
        """The stored rows whose sums over x, x' or z are needed."""
        read = {left for _, left, right in self.model.needed() if right == at} | set(self.dotted if at == "x" else [])
        return {s for row in read for s in self.linear.made_of[row]}

    def sum(self, k: str, row: str, at: str) -> str:
        """The text of the sum of a stored row over x, x' or z."""
        if self.few:
            return f"{k}_{row}_at_{at}_".replace("'", "_next")
        return f"{ {'x': 'at_x_', 'z': 'at_z_'}.get(at, 'at_next_') }[{self.places_of_rows.index((k, row))}]"

    def dotted_with(self, k: str, left: str, right: str) -> str:
        """A dot product of an estimate's row, as an expression."""
        if right not in ("x", "x'", "z"):
            return "{}_c_.{}_{}_dot".format(k, *self.linear.pair(left, right))
        return self.mixture(left, lambda s: self.sum(k, s, right), f"{k}_c_.{{}}")
