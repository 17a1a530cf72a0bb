"""Operations of a step as C: a method for each, named after it. Names that end with _ belong to the printer.

Nothing here knows an algorithm, or the order of a step.
"""

from __future__ import annotations

from tdlambda.core import runtime
from tdlambda.core import step as ir
from tdlambda.core.c.c_rows import VECTOR, CRowPrinter, block, over, value
from tdlambda.core.c.functions import c_name

OUTER = {"x.x": ("td_norm", "x"), "x.x'": ("td_cross", "x", "x'"), "x'.x'": ("td_norm", "x'")}
"""The function of a dot product of x and x', and its arguments."""


class Operations(CRowPrinter):
    """The body of `learn`, and the functions that it calls."""

    def __init__(self, step: ir.Step, sparse: bool, NAME: str) -> None:
        super().__init__(step, sparse, NAME)
        self.ruled = bool(step.all_of(ir.Finite))
        """Whether there is a rule that learns, so that λ's features are needed."""

    def body(self) -> list[str]:
        """The statements of all operations."""
        for f in self.step.functions():
            if f.results:
                self.functions.add(f.name, f.source, dict(f.constants), f.wanted)
            else:  # a condition: it returns an expression
                self.closes = self.functions.helper(f.name, f.source)
        lines: list[str] = []
        for op in self.step.operations:
            lines += getattr(self, type(op).__name__.lower())(op)
        new = sorted(self.declared - {*self.step.inputs, "limit_"})  # a compiler would warn of those that are not used
        return [*lines, " ".join(f"(void){c_name(name)};" for name in new)]

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def begin(self, op: ir.Begin) -> list[str]:
        """Count the step; the inputs on termination."""
        ended = ["gamma_next = 0.0;", *([] if op.reads_terminal else ["n_next_ = 0;"])]
        return ["self_->steps += 1;", *block("if (terminated_)", *ended)]

    def limit(self, op: ir.Limit) -> list[str]:
        """The largest prediction allowed."""
        return [f"{op.out} = td_allowed(self_, reward, gamma_next, rho, yv_, n_given_);"]

    def clear(self, op: ir.Clear | ir.Stop) -> list[str]:  # noqa: ARG002
        """No code: it is in `templates.LEARN`."""
        return []

    stop = clear

    def sizes(self, op: ir.Sizes) -> list[str]:
        """The step sizes of this step."""
        if op.by == "constant":
            return [self.let_(out, f"self_->{c_name(size)}") for out, size in zip(op.out, op.sizes, strict=True)]
        n = "(double)self_->steps"
        if op.by == "visits":
            self.used.add("td_mean_visits")
            n = "td_mean_visits(self_->visits_, x_, xv_, n_)"
        lines = [self.let_(op.out[0], f"self_->alpha / pow(self_->offset + {n}, self_->power)")]
        others = zip(op.out[1:], op.sizes[1:], strict=True)
        return lines + [self.let_(out, f"self_->{c_name(size)} * {op.out[0]}") for out, size in others]

    def dot(self, op: ir.Dot) -> list[str]:
        """A dot product of a row with x, x' or z."""
        return [self.let_(op.out, f"td_dot({self.row(op.row)}, {', '.join(VECTOR[op.at])})")]

    def rowdot(self, op: ir.RowDot) -> list[str]:
        """A dot product of two rows."""
        term = f"{c_name(op.out)} += {self.row(op.left)}[f_] * {self.row(op.right)}[f_];"
        return [self.let_(op.out, "0.0"), *self.over_live([term])]

    def outer(self, op: ir.Outer) -> list[str]:
        """A dot product of x and x'."""
        function, *given = OUTER[op.what]
        self.used.add(function)
        return [self.let_(op.out, f"{function}({', '.join(part for name in given for part in VECTOR[name])})")]

    def load(self, op: ir.Load) -> list[str]:
        """A kept number, or its value at the start of an episode."""
        slot = f"self_->{c_name(op.slot)}"
        return [self.let_(op.out, slot if op.start is None else f"fresh_ ? {value(op.start)} : {slot}")]

    def let(self, op: ir.Let) -> list[str]:
        """A kept number that the rule pins."""
        return [self.let_(op.out, value(op.value))]

    def center(self, op: ir.Center) -> list[str]:
        """The reward minus its average."""
        return [f"reward = reward - {value(op.by)};"]

    def derive(self, op: ir.Derive) -> list[str]:
        """An input of the rule."""
        if op.out in ("xx", "zz"):
            self.used.add("td_squared")
        turns, size = runtime.TURNS, f"{self.NAME}_SIZE"
        how = {
            "ready": "(double)(n_next_ > 0 && self_->steps > self_->warm_up)",
            "xx": "td_squared(xv_, n_)",
            "zz": "td_squared(zv_, n_z_)",
            "most_reward": "self_->most_reward",
            "alpha": "alpha_",
            "one": "1.0",
            "turning": f"(double)(self_->steps % ({size} > {turns} ? {size} : {turns}) == 0)",
        }
        return [self.let_(op.out, how[op.out])]

    def call(self, op: ir.Call) -> list[str]:
        """A function that is called once."""
        new = [f"double {c_name(n)};" for n in op.out if n not in self.declared]
        self.declared |= set(op.out)
        given = ", ".join([*map(value, op.arguments), *(f"&{c_name(n)}" for n in op.out)])
        return [*new, f"fn_{op.function.name}({given});"]

    def keep(self, op: ir.Keep) -> list[str]:
        """A number for the next step."""
        return [f"self_->{c_name(op.slot)} = {value(op.value)};"]

    def report(self, op: ir.Report) -> list[str]:
        """δ and λ', for the user."""
        delta = f"self_->td_error = reward + gamma_next * {value(op.value_next)} - {value(op.value)};"
        return [delta, f"self_->last_lam = {value(op.lam)};"]

    def check(self, op: ir.Check) -> list[str]:
        """Whether a prediction is within bounds."""
        limit = "limit_"
        if op.squared:
            most = f"td_max(1.0, {'self_->most_rho' if op.corrected else '0.0'})"
            limit = f"{self.functions.power(2)}(limit_ * {most})"
        return [f"within_ &= fabs({value(op.prediction)}) <= {limit};"]

    def finite(self, op: ir.Finite) -> list[str]:
        """Whether the rule's numbers are finite."""
        lines = [self.let_("finite_", " + ".join(f"0.0 * {c_name(n)}" for n in op.numbers))]
        each = [f"finite_ += 0.0 * {self.row(r)}[z_[j_]];" for r in op.rows]
        lines += block(over("n_z_", "j_"), *each) if each else []
        return [*lines, "within_ &= finite_ == 0.0;"]
