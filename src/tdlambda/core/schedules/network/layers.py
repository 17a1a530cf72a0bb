"""The layers of a network as text: forward and backward passes, and loops over all parameters.

Rows of `h_` in a network of L layers: the inputs of layer l, and at L the outputs (l); the values before the
activation (L + 1 + l); the gradients with respect to them (2 (L + 1) + l); the activations at the next state
(3 (L + 1) + l); the inverse deviations of LayerNorm (the last row).

Sizes are data, so that networks of the same depth share machine code: `d_` holds the width of each row, n0_, n1_, …,
and then the position of the first parameter of each layer, o0_, o1_, ….
"""

from __future__ import annotations

import re

from tdlambda.core.schedules.text import indent
from tdlambda.features.network import NetworkForm

PASSES = """\
@inlined
def {p}forward(w_, h_, d_):
    at_ = 0
    for l_ in range({hidden}):
        m_, n_ = d_[l_], d_[l_ + 1]
        end_, z_ = at_ + m_ * n_, h_[{sums} + l_ + 1, :n_]
        affine(w_[at_:end_], w_[end_ : end_ + n_], h_[l_, :m_], z_)
        h_[{inverse}, l_ + 1] = normalised(z_)
        {activation}(z_, h_[l_ + 1, :n_])
        at_ = end_ + n_
    m_, n_ = d_[{hidden}], d_[{last}]
    end_ = at_ + m_ * n_
    readout(w_[at_:end_], w_[end_ : end_ + n_], h_[{hidden}, :m_], h_[{last}, :n_])


@inlined
def {p}forward_both(w_, h_, d_):
    at_ = 0
    for l_ in range({hidden}):
        m_, n_ = d_[l_], d_[l_ + 1]
        end_, z_, y_ = at_ + m_ * n_, h_[{sums} + l_ + 1, :n_], h_[{ahead} + l_ + 1, :n_]
        affine_both(w_[at_:end_], w_[end_ : end_ + n_], h_[l_, :m_], h_[{ahead} + l_, :m_], z_, y_)
        h_[{inverse}, l_ + 1] = normalised(z_)
        normalised(y_)
        {activation}(z_, h_[l_ + 1, :n_])
        {activation}(y_, y_)
        at_ = end_ + n_
    {p}readouts(w_, h_, d_)


@inlined
def {p}readouts(w_, h_, d_):
    m_, n_, at_ = d_[{hidden}], d_[{last}], d_[{offsets} + {hidden}]
    W_, b_ = w_[at_ : at_ + m_ * n_], w_[at_ + m_ * n_ : at_ + m_ * n_ + n_]
    readout(W_, b_, h_[{hidden}, :m_], h_[{last}, :n_])
    readout(W_, b_, h_[{ahead} + {hidden}, :m_], h_[{ahead} + {last}, :n_])


@inlined
def {p}backward(w_, h_, d_):
    for l_ in range({hidden}, 0, -1):
        m_, n_, at_ = d_[l_], d_[l_ + 1], d_[{offsets} + l_]
        W_, g_, to_ = w_[at_ : at_ + m_ * n_], h_[{gradients} + l_ + 1, :n_], h_[{gradients} + l_, :m_]
        if l_ == {hidden}:
            back_readout(W_, g_, to_)
        else:
            back_affine(W_, g_, to_)
        {activation}_slope(h_[{sums} + l_, :m_], h_[l_, :m_], to_)
        back_normalised(h_[{sums} + l_, :m_], to_, h_[{inverse}, l_])


@inlined
def {p}norm(h_, d_):
    total_ = 0.0
    for l_ in range({layers}):
        total_ += (1.0 + squares(h_[l_, : d_[l_]])) * float(squares(h_[{gradients} + l_ + 1, : d_[l_ + 1]]))
    return total_


@inlined
def {p}seed(h_, d_, k_):
    h_[{gradients} + {last}, : d_[{last}]] = 0.0
    h_[{gradients} + {last}, k_] = 1.0


@inlined
def {p}outputs(s_, net_, obs_, k_):
    rows_, inputs_, h_, d_, _, _ = net_
    {place}
    {p}forward(rows_[k_], h_, d_)


@inlined
def {p}value(s_, net_):
    return net_[2][{last}, 0] * s_.scale
"""
"""Passes through the layers; the gradients at the outputs begin as those of output k_."""

AT_ONCE = 8
"""Inputs of a layer that a pass over the parameters reads at once."""


class Layers:
    """The text of functions that pass through the layers."""

    def __init__(self, form: NetworkForm, prefix: str) -> None:
        self.form, self.prefix = form, prefix
        self.n = len(form.widths)
        self.outputs = self.n - 1
        self.inverse = 4 * self.n

    @property
    def scratch(self) -> tuple[int, int]:
        """The shape of `h_`; rows have whole vectors."""
        width = max(*self.form.widths, self.n)
        return 4 * self.n + 1, width + -width % 16

    def kernels(self) -> list[str]:
        """Names of the kernels that are used."""
        norm = ["normalised", "back_normalised"] if self.form.layer_norm else []
        name = self.form.activation
        means = ["observe", "place"] if self.form.normalize_inputs else ["copied"]
        scales, together = ["scaled"] if self.form.scale_rewards else [], ["added", "assign", "moved", "agreed"]
        return [
            "affine", "affine_both", "readout", *norm, name, f"{name}_slope", "back_readout", "back_affine",
            "squares", "averaged", *together, *means, *scales, "finite",
        ]  # fmt: skip

    def ahead(self, layer: int) -> int:
        """The row of activations at the next state."""
        return 3 * self.n + layer

    @property
    def sizes(self) -> list[int]:
        """The contents of `d_`."""
        return [*self.form.widths, *(at for at, _, _ in self.form.layers)]

    def seen(self, obs: str, row: int, state: str = "s_") -> str:
        """The call that writes the inputs for an observation."""
        out = f"h_[{row}, :{obs}.size]"
        return f"place(inputs_, {obs}, {state}.seen, {out})" if self.form.normalize_inputs else f"copied({obs}, {out})"

    def observed(self, seeded: bool) -> list[str]:
        """The inputs at s with the statistics before s', then those at s' with the statistics after it.

        If `seeded`, the inputs at s are there already, and those at s' are not needed.
        """
        count = lambda obs: ["s_.seen += 1", f"observe(inputs_, {obs}, s_.seen)"]  # noqa: E731
        if not self.form.normalize_inputs:
            return [] if seeded else [self.seen("xv_", 0), self.seen("zv_", self.ahead(0))]
        first = ["if fresh_:", *(f"    {line}" for line in count("xv_"))]
        if seeded:
            return [*first, *count("zv_")]
        return [self.seen("xv_", 0), *first, *count("zv_"), self.seen("zv_", self.ahead(0))]

    def called(self) -> list[str]:
        """The forward passes of a step, at both states even if the next is terminal: this halves the code."""
        seed = f"{self.prefix}seed(h_, d_, {'0' if self.form.widths[-1] == 1 else 'x_[0]'})"
        return [f"{self.prefix}forward_both(w_, h_, d_)", seed]

    def text(self) -> list[str]:
        """The functions `forward`, `forward_both`, `readouts`, `backward`, `norm`, `seed`, `outputs` and `value`."""
        names = {
            "hidden": self.n - 2, "layers": self.n - 1, "last": self.outputs, "offsets": self.n, "sums": self.n,
            "gradients": 2 * self.n, "ahead": self.ahead(0), "activation": self.form.activation,
            "inverse": self.inverse, "p": self.prefix, "place": self.seen("obs_", 0),
        }  # fmt: skip
        lines = PASSES.format(**names).splitlines(keepends=True)
        return ["".join(line for line in lines if self.form.layer_norm or "normalised" not in line)]

    def over(
        self, name: str, rows: list[str], numbers: list[str], body: list[str], sums: list[str], within: bool
    ) -> list[str]:
        """Functions that run `body` at every parameter: AT_ONCE inputs of a layer or one, and over all layers.

        In `body`, i_ is the position among the parameters of an input and x the entry of the gradient there. If `body`
        does not use x, one call covers all parameters.
        """
        own, bound = f"{self.prefix}{name}", ["bound_"] if within else []
        start = [*(f"{s}_ = real_(0.0)" for s in sums), *(["within_ = True"] if within else [])]
        results = ", ".join([*(f"{s}_" for s in sums), *(["within_"] if within else [])])
        uses_x = any("x" in _words(line) for line in body)
        some = re.compile(rf"\b({'|'.join(rows)})(?=\[)")

        def stretch(k: int) -> str:
            """The function for `k` inputs, each with slices of its own of the rows."""
            lines = [*start, "for i_ in range(v_.size):"]
            for u in range(k):
                lines += [f"    x = by{u}_ * v_[i_]"] if uses_x else []
                lines += ["    " + some.sub(f"\\g<0>{u}", line) for line in body]
            given = [*(f"by{u}_" for u in range(k)), *(f"{r}{u}" for u in range(k) for r in rows), *numbers, *bound]
            return f"@summing\ndef {own}_{k}(v_, {', '.join(given)}):\n{indent([*lines, f'return {results}'])}"

        def visit(v: str, *by: str) -> list[str]:
            """Code that calls it."""
            slices = [f"{r}[at_ + {u} * n_ : at_ + {u + 1} * n_]" for u in range(len(by)) for r in rows]
            call = f"{own}_{len(by)}({', '.join([v, *by, *slices, *numbers, *bound])})"
            added = [*(f"{s} += {s}_" for s in sums), *(["within_ &= kept_"] if within else [])]
            kept = results.replace("within_", "kept_")
            return [f"n_ = {v}.size", f"{kept} = {call}", *added, f"at_ += {len(by)} * n_"]

        lines = [*(f"{n} = real_({n})" for n in [*numbers, *bound]), *(f"{s} = 0.0" for s in sums)]
        lines += [*(["within_ = True"] if within else []), "at_ = 0"]
        if uses_x:
            lines += [
                f"for l_ in range({self.n - 1}):",
                f"    a_, g_ = h_[l_, : d_[l_]], h_[{2 * self.n + 1} + l_, : d_[l_ + 1]]",
                f"    by_, v_, j_ = (a_ if l_ < {self.n - 2} else g_), (g_ if l_ < {self.n - 2} else a_), 0",
                f"    while j_ + {AT_ONCE} <= by_.size:",
                *(f"        {line}" for line in visit("v_", *(f"by_[j_ + {u}]" for u in range(AT_ONCE)))),
                f"        j_ += {AT_ONCE}",
                "    while j_ <= by_.size:",
                "        u_, one_ = (v_, by_[j_]) if j_ < by_.size else (g_, real_(1.0))",
                *(f"        {line}" for line in visit("u_", "one_")),
                "        j_ += 1",
            ]
        else:
            lines += visit(rows[0], "real_(1.0)")
        end = ", ".join([*sums, *(["within_"] if within else [])])
        head = f"@inlined\ndef {own}({', '.join([*rows, *numbers, 'h_', 'd_', *bound])}):\n"
        return [*([stretch(AT_ONCE)] if uses_x else []), stretch(1), head + indent([*lines, f"return {end}"])]


def _words(line: str) -> list[str]:
    return line.replace("(", " ").replace(")", " ").replace(",", " ").split()
