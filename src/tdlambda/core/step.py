"""A step as data: the operations of one transition, in order, which the schedules print.

A step is straight-line code. No operation contains another, and control flow exists only inside one: a loop over
features, or "if an episode begins". Values are numbers; rows are named, never indexed. What an operation reads and
writes is known (`core.effects`), so that a schedule may reorder operations and have the order checked.

    vectors   "x", "x'", "z": the features of a transition. "live": every feature with a trace, and those of x (and x')
    numbers   Const, RecordNumber (in the learner's record: a parameter or a counter), Local (computed in this step)
    rows      Row("V", "w") of an estimate, Row("", "u") of the rule

`core.lowering` makes the operations of a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tdlambda.core.equations import Line

_Kind = TypeVar("_Kind")

# ---- values ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    """A constant."""

    value: float


@dataclass(frozen=True)
class RecordNumber:
    """A number of the learner's record that this step does not assign: a parameter, a limit, a counter."""

    name: str


@dataclass(frozen=True)
class Local:
    """A number that an earlier operation of this step defines; `Begin` defines the inputs of a transition."""

    name: str


@dataclass(frozen=True)
class Times:
    """A product of two values."""

    left: Value
    right: Value


@dataclass(frozen=True)
class Row:
    """One number per feature; `of` is the estimate, or "" for the rule."""

    of: str
    name: str


@dataclass(frozen=True)
class Entry:
    """In a `Visit`: the entry of a row at the feature."""

    row: Row


@dataclass(frozen=True)
class Here:
    """In a `Visit`: the value of a vector ("x", "x'" …) at the feature."""

    vector: str


Value = Const | RecordNumber | Local | Times
Argument = Value | Entry | Here


@dataclass(frozen=True)
class Function:
    """A pure function of numbers, as it is declared."""

    name: str
    """Its name in generated code: `step`, `feature`, `before`, or `rule_…`."""
    source: Any
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    """The results that are used; none for a condition, which returns an expression."""
    constants: tuple[tuple[str, Any], ...] = ()
    """Arguments that are compiled in."""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """The results to reduce the function to; None if it is copied as it is, as those of the algorithm are."""
        return self.results if self.name.startswith("rule_") and self.results else None


# ---- operations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Begin:
    """Count the step; on termination γ' = 0 and, unless `reads_terminal`, x' = 0. Defines the inputs."""

    inputs: tuple[str, ...]
    reads_terminal: bool


@dataclass(frozen=True)
class Limit:
    """`out` is the largest prediction that does not count as divergence, from rewards and discounts so far."""

    out: str = "limit_"


@dataclass(frozen=True)
class Sizes:
    """The step sizes of this step, `out[i]` of the number `sizes[i]`; `by`: "constant", "steps" or "visits"."""

    out: tuple[str, ...]
    sizes: tuple[str, ...]
    by: str


@dataclass(frozen=True)
class Dot:
    """out = row · at, for at in x, x', z."""

    out: str
    row: Row
    at: str

    @property
    def of(self) -> str:
        """The estimate of the row."""
        return self.row.of

    @property
    def short(self) -> str:
        """Its name without the estimate, such as w_x_next."""
        return f"{self.row.name}_{self.at}".replace("'", "_next")


@dataclass(frozen=True)
class RowDot:
    """out = left · right, over the live features."""

    out: str
    left: Row
    right: Row

    @property
    def of(self) -> str:
        """The estimate of the rows."""
        return self.left.of

    @property
    def short(self) -> str:
        """Its name without the estimate, such as e_e."""
        return f"{self.left.name}_{self.right.name}"


@dataclass(frozen=True)
class Outer:
    """out = x·x, x·x' or x'·x', where equal indices add."""

    out: str
    what: str


@dataclass(frozen=True)
class Load:
    """out = the kept number `slot` of an estimate, or of the rule (""); `start` where an episode begins."""

    of: str
    out: str
    slot: str
    start: Value | None = None


@dataclass(frozen=True)
class Let:
    """out = value, in place of a kept number of an estimate that a rule pins."""

    of: str
    out: str
    value: Const


@dataclass(frozen=True)
class Center:
    """reward = reward - by, the average reward of the first estimate that learns."""

    of: str
    by: Local


@dataclass(frozen=True)
class Derive:
    """out = one of `declare.RULE_INPUTS` that follows from the transition and the counters; its name says which."""

    out: str


@dataclass(frozen=True)
class Call:
    """out = function(arguments), once; `of` is the estimate that it belongs to, or "" for the rule."""

    of: str
    out: tuple[str, ...]
    function: Function
    arguments: tuple[Value, ...]


@dataclass(frozen=True)
class Visit:
    """Call a function once at each feature of `where`: "x", "x'", "z", "live" or "all".

    A result in `rows` is written back to the row; other results are summed, each into the number that `sums` names;
    `count`, if named, is the number of features. `distinct`: equal indices are one feature, at which their values add.
    `when`: only if this function of (steps since the last call, size, whether the episode ends, the numbers `shared`)
    is true. The rows `bounded` must stay within the bound on weights; `flag` names an estimate that has its own flag
    for this, because it restarts instead of diverging.
    """

    of: str
    function: Function
    where: str
    arguments: tuple[Argument, ...]
    rows: Mapping[str, Row]
    sums: Mapping[str, str]
    count: str = ""
    distinct: bool = False
    when: Function | None = None
    shared: tuple[str, ...] = ()
    bounded: tuple[Row, ...] = ()
    flag: str = ""


@dataclass(frozen=True)
class Update:
    """Apply equations to rows: at live features, then at `at` (x or z), then at x'; `flag` as in `Visit`."""

    of: str
    lines: tuple[Line, ...]
    coefficients: Mapping[str, Value]
    at: str
    bound: Value
    bounded: tuple[Row, ...]
    flag: str = ""


@dataclass(frozen=True)
class Keep:
    """slot = value, for the next step; `of` is the estimate that the number belongs to, or "" for the rule."""

    of: str
    slot: str
    value: Value


@dataclass(frozen=True)
class Report:
    """Store δ of the value and λ', for the user."""

    value: Local
    value_next: Local
    lam: Value


@dataclass(frozen=True)
class Check:
    """The learner has diverged unless |prediction| <= limit; its square if the estimate has the unit of reward²."""

    estimate: str
    prediction: Local
    squared: bool
    corrected: bool


@dataclass(frozen=True)
class Finite:
    """The learner has diverged if one of these numbers, or an entry of these rows at z, is not finite."""

    numbers: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Restart:
    """Restart an estimate of a mixture from the weights of `safe`, if it exceeds its bounds (`Model.restarting`)."""

    estimate: str
    safe: str
    weights: str
    """The name of the row that is copied; the others start anew."""
    starts: Mapping[str, float]
    keeps: Mapping[str, Const | Row]
    """Slot → its value if an episode started at x': a number, or a row whose product with x' it is."""


@dataclass(frozen=True)
class Mix:
    """V's weights = Σ number · weights of the estimate, at changed features; everywhere after a restart or a turn."""

    out: Row
    parts: Mapping[Row, str]


@dataclass(frozen=True)
class Enliven:
    """The features of a vector become live."""

    at: str


@dataclass(frozen=True)
class Prune:
    """From time to time, drop the features at which all these rows are negligible, relative to the sizes `scale`."""

    fading: tuple[Row, ...]
    scale: tuple[str, ...]


@dataclass(frozen=True)
class Clear:
    """If the episode ends: rows = 0; no feature is live any more, unless a weight row `lasts`."""

    rows: tuple[Row, ...]
    lasts: bool


@dataclass(frozen=True)
class Stop:
    """If a bound was exceeded: the learner has diverged; make these rows finite."""

    rows: tuple[Row, ...]


Operation = (
    Begin | Limit | Sizes | Dot | RowDot | Outer | Load | Let | Center | Derive | Call | Visit | Update | Keep | Report
    | Check | Finite | Restart | Mix | Enliven | Prune | Clear | Stop
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """The operations of a model, and the rows and numbers that they work on."""

    title: str
    operations: tuple[Operation, ...]
    estimates: tuple[str, ...]
    rows: tuple[Row, ...]
    """Rows of the estimates, in their order in memory."""
    rule_rows: tuple[Row, ...]
    rule_rows_over_x: bool
    """Whether the rule's rows range over the learner's features instead of λ's."""
    starts: Mapping[Row, float]
    """Rows that do not start at 0 → their initial value."""
    weights: tuple[str, ...]
    """Names of an estimate's weight rows."""
    traces: tuple[str, ...]
    """Names of an estimate's traces."""
    parameters: tuple[str, ...]
    """Constant numbers: step sizes, the algorithm's parameters, those of a schedule of step sizes, the rule's."""
    algorithm_parameters: tuple[str, ...]
    rule_parameters: tuple[str, ...]
    shared: tuple[str, ...]
    """Parameters of the rule that are the same in all lanes of a block."""
    slots: tuple[str, ...]
    """Kept numbers."""
    held: Mapping[str, float]
    """Those that are kept across episodes → their initial values."""
    inputs: tuple[str, ...]
    signals: Mapping[str, tuple[Value, ...]]
    """Estimate → its reward, discount, ratio and λ'."""
    set_outside: tuple[str, ...]
    """Numbers of the rule that another module sets, because it learns their estimates."""

    def all_of(self, kind: type[_Kind]) -> list[_Kind]:
        """The operations of one kind, in order."""
        return [op for op in self.operations if isinstance(op, kind)]

    def only(self, kind: type[_Kind]) -> _Kind:
        """The first operation of a kind that every step has."""
        return self.all_of(kind)[0]

    @property
    def by_feature(self) -> bool:
        """Whether the algorithm is a function of one feature instead of equations."""
        return not any(op.of for op in self.all_of(Update))

    def functions(self) -> list[Function]:
        """The declared functions that are called, each once: those of the algorithm, then those of the rule."""
        found: dict[str, Function] = {}
        for op in self.operations:
            if isinstance(op, Call | Visit):
                found.setdefault(op.function.name, op.function)
            if isinstance(op, Visit) and op.when is not None:
                found.setdefault(op.when.name, op.when)
        first = [found.pop(name) for name in ("before", "step", "feature") if name in found]
        return [*first, *found.values()]
