"""One learner whose value is a network: x is the gradient ∇V(s; w), w·x is V(s; w) and w·x' is V(s'; w).

The operations of a step (`core.step`) are printed in their order. A row has an entry for each parameter. The gradient
is never stored: in layer l, the entry of x at the weight from input j to output i is a_l[j] g_l[i], where a are the
layer's inputs and g is the gradient with respect to its outputs. Dot products of rows and x are gathered in one pass
over the parameters, a function at features in one pass each, and all equations in one.

In generated code, `net_` holds the rows, the statistics of the inputs, `h_`, the activations of a step, `d_`, sizes,
and the learner's record. `xv_` and `zv_` are the observations. If there are several outputs, `x_[0]` is the one that is
learned, and w·x' is the sum of yv_[k] · output y_[k] at the next observation.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from tdlambda.core import step as ir
from tdlambda.core.lowering import lower
from tdlambda.core.model import Model
from tdlambda.core.schedules.network import kernels
from tdlambda.core.schedules.network.layers import Layers
from tdlambda.core.schedules.network.module_text import ENTRY_POINTS, HEAD, HEADS, LEARN, TOGETHER
from tdlambda.core.schedules.network.refusals import check, values_for
from tdlambda.core.schedules.one import One, value
from tdlambda.core.schedules.text import functions, indent
from tdlambda.core.source import embed
from tdlambda.features.network import NetworkForm

__all__ = ["Heads", "NetworkPrinter", "check", "generate", "values_for"]


class Heads(NamedTuple):
    """A rule for λ with its estimates, which another module runs on the last hidden layer."""

    module: str
    """The name of that module: a `schedules.one` of the model without V."""
    values: tuple[tuple[str, str], ...]
    """Numbers of its record that are predictions of the network, and where: "x" or "x'"."""


def generate(model: Model, form: NetworkForm, heads: Heads | None = None) -> str:
    """The text of a module with `update_vector`, `update_many_vectors`, `predict_vector` and `predict_vectors`.

    It does not depend on the sizes of the layers, only on their number.
    """
    check(model)
    return NetworkPrinter(lower(model), form, heads=heads).module()


class NetworkPrinter(One):
    """The printer: a method for each operation, and passes over the parameters.

    Parameters
    ----------
    step
        The operations.
    form
        The network.
    prefix
        Prefix of the functions' names, where a module has two networks.
    seeded
        Whether the gradient at the outputs is given, as for a policy: then w·x and w·x' are 0, and the reward is δ.
    heads
        What computes λ'; None if it is given.
    """

    def __init__(
        self, step: ir.Step, form: NetworkForm, prefix: str = "", seeded: bool = False, heads: Heads | None = None
    ) -> None:
        super().__init__(_renamed(step, prefix), sparse=False)
        self.form, self.prefix, self.seeded, self.heads = form, prefix, seeded, heads
        self.layers, self.single = Layers(form, prefix), form.widths[-1] == 1
        self.scales = form.scale_rewards and not seeded
        self.passes: list[str] = []
        """Passes over the parameters, as text."""

    # ---- the module --------------------------------------------------------------------------------------------------

    def module(self) -> str:
        """The whole module of one learner."""
        imports = "" if self.heads is None else f"from {self.heads.module} import learn as learn_heads\n"
        head = HEAD.format(
            title=self.step.title, hidden=len(self.form.widths) - 2, dtype=self.form.dtype, imports=imports
        )
        cut = self.cut
        names = {"cut": cut, "cut_t": f"{cut}[t_]" if cut else "", "one_t": ", 1.0" if cut else ""}
        names["hidden"] = str(self.layers.outputs - 1)
        names["shown"] = str(len(self.step.rows) if self.form.averaged else 0)
        together = [self.together()] if self.single and self.heads is None else []
        parts = [*self.functions(), ENTRY_POINTS.format(**names), *together]
        return "\n\n".join([head, *(f"{part.rstrip()}\n" for part in parts if part)])

    def functions(self, known: Collection[str] = ()) -> list[str]:
        """The functions of this network; kernels whose names are `known` are in the module already."""
        learn, own = self.learning(), dict[str, str]()
        for kernel in self.layers.kernels():
            if kernel not in known:
                embed(getattr(kernels, kernel), kernel, own)
        declared = [self.typed(text) for text in functions(self.step)]
        return [*own.values(), *declared, *self.layers.text(), *self.passes, learn]

    def typed(self, text: str) -> str:
        """A declared function at features, with its constants in the type of the parameters."""
        name, typed = ast.parse(text).body[0], (f"{self.prefix}before", f"{self.prefix}feature")
        at_features = isinstance(name, ast.FunctionDef) and name.name in typed
        return ast.unparse(ast.fix_missing_locations(_Typed().visit(ast.parse(text)))) if at_features else text

    def learning(self) -> str:
        """The function `learn`."""
        body = self.opening()
        self.gather()
        for op in self.step.operations:
            body += getattr(self, type(op).__name__.lower())(op)
        late = f"s_.steps <= {kernels.AVERAGED_OVER} or s_.steps % {kernels.AVERAGED_EVERY} == 0"
        rate = f"min(1.0, {kernels.AVERAGED_OVER} / (s_.steps + {kernels.AVERAGED_EVERY}.0))"
        averaging = [f"if {late}:", f"    averaged(rows_[{len(self.step.rows)}], w_, real_({rate}))"]
        return LEARN.format(
            prefix=self.prefix, cut=self.cut,
            observed=indent(self.layers.observed(self.seeded)),
            rewards=indent(["reward = scaled(s_, reward, fresh_)"] if self.scales else []),
            forward=indent([] if self.seeded else self.layers.called()),
            heads=indent(self.with_heads()), body=indent(body),
            averaging=indent(averaging if self.form.averaged else []), clears=indent(self.cleared("rows_"), 8),
            confined=indent(self.confined(self.step.only(ir.Stop)), 8),
        )  # fmt: skip

    @property
    def cut(self) -> str:
        """The factor on λ' among arguments, if there is one."""
        return ", cut" if "cut" in self.step.inputs else ""

    def cleared(self, rows: str) -> list[str]:
        """Code that sets the traces in an array of rows to 0."""
        return [f"{self.place(r).replace('rows_', rows)}[:] = 0.0" for r in self.step.only(ir.Clear).rows]

    def together(self) -> str:
        """The function by which several learners share their hidden layers."""
        cut_t = ", cut[t_ - 1, q_]" if self.cut else ""
        return TOGETHER.format(cut=self.cut, cut_t=cut_t, clears=indent(self.cleared("own_"), 20))

    def with_heads(self) -> list[str]:
        """Code that computes λ' and updates the estimates of its rule, if there is one."""
        if self.heads is None:
            return []
        last = self.layers.outputs
        value = {"x": f"float(h_[{last}, 0])", "x'": f"0.0 if terminated_ else float(h_[{self.layers.ahead(last)}, 0])"}
        text = HEADS.format(
            units=f"d_[{last - 1}]", here=last - 1, ahead=self.layers.ahead(last - 1),
            values="\n".join(f"g_.{name} = {value[at]}" for name, at in self.heads.values),
            cut=self.cut,
        )  # fmt: skip
        return text.splitlines()

    @property
    def reads_terminal(self) -> bool:
        """Whether V at a terminal state counts."""
        return self.step.only(ir.Begin).reads_terminal

    # ---- dot products ------------------------------------------------------------------------------------------------

    def gather(self) -> None:
        """One pass for all dot products of rows with each other and with x."""
        dots: list[Any] = [op for op in self.step.all_of(ir.Dot) if not self.is_value(op)]
        pairs = self.step.all_of(ir.RowDot)
        self.gathered = [op.out for op in [*dots, *pairs]]
        if not self.gathered:
            return
        rows = list(dict.fromkeys([*(op.row for op in dots), *(r for op in pairs for r in (op.left, op.right))]))
        body = [f"{op.out}_ += {self.name(op.row)}[i_] * x" for op in dots]
        body += [f"{op.out}_ += {self.name(op.left)}[i_] * {self.name(op.right)}[i_]" for op in pairs]
        self.passes += self.layers.over("gather", [self.name(r) for r in rows], [], body, self.gathered, within=False)
        given = ", ".join([*map(self.name, rows), "h_", "d_"])
        self.gathering = [f"{', '.join(self.gathered)} = {self.prefix}gather({given})"]

    def is_value(self, op: ir.Dot) -> bool:
        """Whether a dot product is a prediction."""
        return op.row.name == self.step.weights[0]

    def dot(self, op: ir.Dot) -> list[str]:
        """A prediction, or a product with the gradient, which the first of them computes for all."""
        if not self.is_value(op):
            return self.once(op.out)
        if self.seeded:
            return [f"{op.out} = 0.0"]
        last, ahead = self.layers.outputs, self.layers.ahead(self.layers.outputs)
        if op.at == "x":
            return [f"{op.out} = float(h_[{last}, {'0' if self.single else 'x_[0]'}])"]
        ends = "" if self.reads_terminal else "if not terminated_:"
        lines = [f"{op.out} = float(h_[{ahead}, 0])"] if self.single else ["for k_ in range(len(y_)):"]
        lines += [] if self.single else [f"    {op.out} += yv_[k_] * h_[{ahead}, y_[k_]]"]
        return [f"{op.out} = 0.0", *([ends] if ends else []), *(f"{'    ' * bool(ends)}{line}" for line in lines)]

    def rowdot(self, op: ir.RowDot) -> list[str]:
        """A product of rows, from the common pass."""
        return self.once(op.out)

    def once(self, out: str) -> list[str]:
        """The common pass, before the first of its results is used."""
        return self.gathering if out == self.gathered[0] else []

    def outer(self, op: ir.Outer) -> list[str]:
        """|x|², from the norms of the layers; there is no x'."""
        if op.what != "x.x":
            raise TypeError(f"features: {op.what} needs the gradient at the next state, which a network does not give")
        return [f"{op.out} = {self.prefix}norm(h_, d_)"]

    # ---- rows --------------------------------------------------------------------------------------------------------

    def update(self, op: ir.Update) -> list[str]:
        """The equations, in one pass."""
        rows = [r for r in self.step.rows if r.of == op.of]
        names, coefficients = {r.name: self.name(r) for r in rows}, list(op.coefficients)
        read = {t.vector for line in op.lines for t in line.terms} | {line.row for line in op.lines}
        body = [f"{n}_ = {self.name(r)}[i_]" for n, r in zip(names, rows, strict=True) if n in read]
        for line in op.lines:
            parts = [] if line.own == "0" else [f"{line.own} * {line.row}_" if line.own else f"{line.row}_"]
            text = " + ".join(parts)
            for t in line.terms:
                term = "x" if t.vector == "x" else f"{t.vector}_"
                text += f" {t.sign} " + (f"{t.coefficient} * {term}" if t.coefficient else term)
            body.append(f"{line.row}_ = {text.strip().removeprefix('+ ')}")
        changed = [line.row for line in op.lines]
        body += [f"{names[n]}[i_] = {n}_" for n in changed]
        body += [f"within_ &= abs({r.name}_) <= bound_" for r in op.bounded if r.name in changed]
        used = [names[n] for n in names if n in read]
        self.passes += self.layers.over("apply", used, coefficients, body, [], within=True)
        given = [*used, *map(value, op.coefficients.values()), "h_", "d_", value(op.bound)]
        return [f"within_ &= {self.prefix}apply({', '.join(given)})"]

    def visit(self, op: ir.Visit) -> list[str]:
        """A function at every parameter."""
        f = op.function
        used = {*(a.row for a in op.arguments if isinstance(a, ir.Entry)), *op.rows.values()}
        rows = [r for r in self.step.rows if r in used]
        pairs = zip(f.arguments, op.arguments, strict=True)
        numbers = {n: v for n, v in pairs if not isinstance(v, ir.Entry | ir.Here)}
        given = [self.entry(v.row, "i_") if isinstance(v, ir.Entry) else "x" if isinstance(v, ir.Here) else n
                 for n, v in zip(f.arguments, op.arguments, strict=True)]  # fmt: skip
        results = [f"{n}_one_" for n in f.results]
        body = [f"{', '.join(results)} = {f.name}({', '.join(given)})"]
        body += [f"{self.entry(r, 'i_')} = real_({n}_one_)" for n, r in op.rows.items()]
        body += [f"{out}_ += real_({n}_one_)" for n, out in op.sums.items()]
        body += [f"within_ &= abs({r.name}_one_) <= bound_" for r in op.bounded]
        sums, name = list(op.sums.values()), f.name.removeprefix(self.prefix)
        within = bool(op.bounded) or not sums
        self.passes += self.layers.over(f"{name}_pass", [self.name(r) for r in rows], list(numbers), body, sums, within)
        call = [*map(self.name, rows), *map(value, numbers.values()), "h_", "d_", *(["s_.bound"] if within else [])]
        back = [*sums, *(["within_now_"] if within else [])]
        lines = [f"{', '.join(back)} = {self.prefix}{name}_pass({', '.join(call)})"]
        return [*lines, *(["within_ &= within_now_"] if within else [])]

    def check(self, op: ir.Check) -> list[str]:
        """Whether the prediction is within bounds; a policy has none."""
        return [] if self.seeded else super().check(op)

    def enliven(self, op: ir.Enliven | ir.Prune) -> list[str]:  # noqa: ARG002
        """Nothing: every parameter is live."""
        return []

    prune = enliven


class _Typed(ast.NodeTransformer):
    """Writes constants in the type of the parameters."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return node
        return ast.Call(ast.Name("real_", ast.Load()), [node], [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Pow):  # whole powers are products
            node.left = self.visit(node.left)
            return node
        self.generic_visit(node)
        return node


def _renamed(step: ir.Step, prefix: str) -> ir.Step:
    """The step with a prefix before the names of its functions."""
    if not prefix:
        return step
    named: list[Any] = []
    for op in step.operations:
        if isinstance(op, ir.Call | ir.Visit):
            op = replace(op, function=replace(op.function, name=f"{prefix}{op.function.name}"))
        named.append(op)
    return replace(step, operations=tuple(named))
