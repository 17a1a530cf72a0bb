"""One learner whose cost per step does not grow with the number of live traces.

A step decays every live trace and moves every weight along its trace, but it reads only the features of x and x'.
Therefore common factors are taken out of the rows, and a step changes the factors (see `core.linear_maps`). For the
equations of true online TD

    e = K ê,  w = ŵ + A ê                         ê and ŵ are stored
    e ← keep e,  w ← w + along e                  becomes   K ← keep K,  A ← A + along K
    e ← e + d x, at the features of x             becomes   ê ← ê + (d/K) x,  ŵ ← ŵ - A (d/K) x

Dot products of two rows are updated by recursions. When a factor K becomes small, digits would be lost. Then the
estimate is *settled*: the stored rows are replaced by the rows that they represent, K = 1, A = 0, and traces within the
tolerance are dropped. The results are those of the schedule `one`, up to rounding and dropped traces.

The layout is rows_[feature, row], because a step reads few features, but all rows of each. The last four lines of the
array are buffers: sums over z, x and x', and what is to be added at x. Each estimate has its own list of live features,
live_[2 k] and live_[2 k + 1], because each is settled separately. `core.lazy_memory` converts a learner's arrays.

A bound on the weights grows by the largest change that each step can make. The weights themselves are checked for
divergence only when this bound exceeds the limit. They are checked after a whole step; `one` checks them after each of
its two passes.
"""

from __future__ import annotations

from functools import cache

from tdlambda.core import step as ir
from tdlambda.core.lowering import lower
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.schedules.lazy.lazy_rows import FactoredRows, linear_map, wanted
from tdlambda.core.schedules.one import One, least, value


@cache
def possible(model: Model) -> bool:
    """Whether this schedule can run a model.

    Only traces and decaying rows may be added to other rows, and dot products of rows must have recursions.
    """
    a, rule = model.algorithm, model.rule
    if a.feature is not None or model.outer or (rule is not None and (rule.over == "x" or rule.equations().live)):
        return False
    linear = linear_map(model)
    if not linear.triangular:
        return False
    follows = {t.vector for terms in linear.terms.values() for t in terms}
    pairs = linear.products(wanted(model))
    return (
        follows <= {*words(a.trace_rows), *linear.forms.decaying}
        and all(set(pair) & set(words(a.trace_rows)) for pair in pairs)
        and not any(row in linear.forms.at_next for pair in pairs for row in pair)
    )


def generate(model: Model, binary: bool) -> str:
    """The text of a module with `learn` and `value_`; `binary` if each active feature is 1 and none occurs twice."""
    return Lazy(model, binary).text()


class Lazy(One):
    """The printer: `one`, with operations on rows of estimates printed differently."""

    def __init__(self, model: Model, binary: bool) -> None:
        super().__init__(lower(model), sparse=False)
        self.factored, self.checked = FactoredRows(model, binary), False
        self.visit_counts = f"rows_[:, {len(self.step.rows)}]"

    def how(self) -> str:
        """A description for the module's docstring."""
        return "with common factors of rows taken out"

    def opening(self) -> list[str]:
        """Code before the operations: the factors, and sums of stored rows over x and x'."""
        return self.factored.opening()

    def entry_points(self, vectors: bool, cut: str) -> str:  # noqa: ARG002
        """No entry points for Python: this schedule pays off only in a compiled loop over many steps."""
        return ""

    def confined(self, op: ir.Stop) -> list[str]:  # noqa: ARG002
        """No code: an agent that has diverged is restored by its caller."""
        return []

    def clearing(self, op: ir.Clear) -> str:  # noqa: ARG002
        """The function `clear`, which ends an episode."""
        return self.factored.clear()

    def sizes(self, op: ir.Sizes) -> list[str]:
        """The step sizes of this step, and the threshold for traces."""
        return [*super().sizes(op), f"least_ = {least(self.step.only(ir.Prune))}"]

    def dot(self, op: ir.Dot) -> list[str]:
        """A dot product of a row with x, x' or z."""
        return [f"{op.out} = {self.factored.dotted_with(op.of, op.row.name, op.at)}"] if op.of else super().dot(op)

    def rowdot(self, op: ir.RowDot) -> list[str]:
        """A dot product of two rows, which a recursion updates."""
        return [f"{op.out} = {self.factored.dotted_with(op.of, op.left.name, op.right.name)}"]

    def update(self, op: ir.Update) -> list[str]:
        """The call that applies equations to rows."""
        if not op.of:
            return super().update(op)
        self.parts.setdefault("apply", self.factored.functions())
        known = {dot.row: dot.out for dot in self.step.all_of(ir.Dot) if dot.at == "x"}
        rows = [ir.Row(op.of, name) for name in self.factored.dotted]
        dots = [known.get(row) or self.factored.dotted_with(row.of, row.name, "x") for row in rows]
        more = "x_, n_, y_, yv_, n_next_, x1_, y1_, xx_, least_, s_.bound"
        given = [self.factored.place(op.of), "by_", *map(value, op.coefficients.values()), *dots, more]
        return [f"calm_ &= advance_({', '.join(given)})"]

    def check(self, op: ir.Check) -> list[str]:
        """Whether a prediction is within bounds; before the first: what all estimates add at x, and their weights."""
        first: list[str] = []
        if not self.checked:
            first = ["add_(rows_, x_, xv_, n_, by_)", "if not calm_:"]
            first += [f"    within_ &= measure_({self.factored.place(k)}, s_.bound)" for k in self.step.estimates]
            self.checked = True
        return [*first, *super().check(op)]
