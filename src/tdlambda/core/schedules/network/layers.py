"""The layers of a network as text: forward and backward passes, and loops over all parameters.

Rows of `h_` in a network of L layers: the inputs of layer l, and at L the outputs (l); the values before the
activation (L + 1 + l); the gradients with respect to them (2 (L + 1) + l); the activations at the next state
(3 (L + 1) + l); the inverse deviations of LayerNorm (the last row).

Sizes are data, so that networks of the same depth share machine code: `d_` holds the width of each row, n0_, n1_, …,
and then the position of the first parameter of each layer, o0_, o1_, ….
"""

from __future__ import annotations

from tdlambda.core.schedules.text import indent
from tdlambda.features.network import NetworkForm


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

    def named(self) -> list[str]:
        """Code that names the sizes."""
        names = [*(f"n{l}_" for l in range(self.n)), *(f"o{l}_" for l in range(self.n - 1))]
        return [f"{', '.join(names)} = {', '.join(f'd_[{k}]' for k in range(len(names)))}"]

    def at(self, row: int, layer: int) -> str:
        """The entries of a row of `h_` that belong to a layer."""
        return f"h_[{row}, :n{layer}_]"

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

    def parameters(self, layer: int) -> tuple[str, str]:
        """W and b of a layer."""
        end = f"o{layer}_ + n{layer}_ * n{layer + 1}_"
        return f"w_[o{layer}_ : {end}]", f"w_[{end} : {end} + n{layer + 1}_]"

    def _activated(self, layer: int, z: int, a: int) -> list[str]:
        """Code from the sums of a hidden layer to its activations."""
        norm = []
        if self.form.layer_norm:
            keep = f"h_[{self.inverse}, {layer}] = " if a < self.n else ""
            norm = [f"{keep}normalised({self.at(z, layer)})"]
        return [*norm, f"{self.form.activation}({self.at(z, layer)}, {self.at(a, layer)})"]

    def text(self) -> list[str]:
        """The functions `forward`, `forward_both`, `readouts`, `backward`, `norm`, `seed`, `outputs` and `value`."""
        one, both, last = [], [], self.n - 2
        for l in range(self.n - 1):
            W, b = self.parameters(l)
            a, z, c = self.at(l, l), self.at(self.n + l + 1, l + 1), self.at(self.ahead(l), l)
            y = self.at(self.ahead(l + 1), l + 1)  # sums, then their activations in place
            if l == last:
                one.append(f"readout({W}, {b}, {a}, {self.at(l + 1, l + 1)})")
                both += [one[-1], f"readout({W}, {b}, {c}, {y})"]
                continue
            one += [f"affine({W}, {b}, {a}, {z})", *self._activated(l + 1, self.n + l + 1, l + 1)]
            both += [f"affine_both({W}, {b}, {a}, {c}, {z}, {y})", *self._activated(l + 1, self.n + l + 1, l + 1)]
            both += self._activated(l + 1, self.ahead(l + 1), self.ahead(l + 1))

        def function(head: str, lines: list[str]) -> str:
            return f"@inlined\ndef {self.prefix}{head}:\n{indent([*self.named(), *lines])}"

        placed = [
            "rows_, inputs_, h_, d_, _, _ = net_",
            self.seen("obs_", 0),
            f"{self.prefix}forward(rows_[k_], h_, d_)",
        ]
        return [
            function("forward(w_, h_, d_)", one),
            function("forward_both(w_, h_, d_)", both),
            function("readouts(w_, h_, d_)", both[-2:]),
            function("backward(w_, h_, d_)", self._backward()),
            function("norm(h_, d_)", [f"return {self._norm()}"]),
            function("seed(h_, d_, k_)", self._seed()),
            f"@inlined\ndef {self.prefix}outputs(s_, net_, obs_, k_):\n{indent(placed)}",
            f"@inlined\ndef {self.prefix}value(s_, net_):\n    return net_[2][{self.outputs}, 0] * s_.scale\n",
        ]

    def _seed(self) -> list[str]:
        """Set the gradient at the outputs to that of output k_."""
        row = 2 * self.n + self.outputs
        return [f"{self.at(row, self.outputs)} = 0.0", f"h_[{row}, k_] = 1.0"]

    def _backward(self) -> list[str]:
        """Gradients with respect to the sums of each layer, from those at the outputs."""
        lines, name = [], self.form.activation
        for l in range(self.n - 2, 0, -1):
            W, _ = self.parameters(l)
            g, d = self.at(2 * self.n + l + 1, l + 1), self.at(2 * self.n + l, l)
            how = "back_readout" if l == self.n - 2 else "back_affine"
            y, a = self.at(self.n + l, l), self.at(l, l)
            lines += [f"{how}({W}, {g}, {d})", f"{name}_slope({y}, {a}, {d})"]
            if self.form.layer_norm:
                lines.append(f"back_normalised({y}, {d}, h_[{self.inverse}, {l}])")
        return lines

    def _norm(self) -> str:
        """|∇V|², layer by layer: (1 + |a|²) |g|²."""
        parts = []
        for l in range(self.n - 1):
            a, g = self.at(l, l), self.at(2 * self.n + l + 1, l + 1)
            parts.append(f"(1.0 + squares({a})) * float(squares({g}))")
        return " + ".join(parts)

    def over(
        self, name: str, rows: list[str], numbers: list[str], body: list[str], sums: list[str], within: bool
    ) -> list[str]:
        """Functions that run `body` at every parameter: over one stretch of parameters, and over all of them.

        In `body`, i_ is the place in the stretch and x the entry of the gradient there.
        """
        own, head = f"{self.prefix}{name}", [*rows, *numbers, *(["bound_"] if within else [])]
        start = [*(f"{s}_ = real_(0.0)" for s in sums), *(["within_ = True"] if within else [])]
        back = ", ".join([*(f"{s}_" for s in sums), *(["within_"] if within else [])])
        uses_x = any("x" in _words(line) for line in body)
        each = [*(["x = by_ * v_[i_]"] if uses_x else []), *body]
        inner = [*start, "for i_ in range(v_.size):", *(f"    {line}" for line in each), f"return {back}"]
        stretch = f"@summing\ndef {own}_stretch({', '.join(['by_', 'v_', *head])}):\n{indent(inner)}"
        lines = [*(f"{n} = real_({n})" for n in numbers), *(["bound_ = real_(bound_)"] if within else [])]
        lines += [*(f"{s} = 0.0" for s in sums), *(["within_ = True"] if within else [])]
        results = ", ".join([*(f"{s}_" for s in sums), *(["kept_"] if within else [])])
        added = [*(f"{s} += {s}_" for s in sums), *(["within_ &= kept_"] if within else [])]

        def visit(at: str, n: str, by: str, v: str) -> list[str]:
            given = [by, v, *(f"{r}[{at} : {at} + {n}]" for r in rows), *numbers, *(["bound_"] if within else [])]
            return [f"{results} = {own}_stretch({', '.join(given)})", *added]

        for l in range(self.n - 1):
            a, g = (l, l), (2 * self.n + l + 1, l + 1)
            outer, inside = (g, a) if l == self.n - 2 else (a, g)
            n = f"n{inside[1]}_"
            lines += [f"at_ = o{l}_", f"for j_ in range(n{outer[1]}_):"]
            lines += [f"    {line}" for line in visit("at_", n, f"h_[{outer[0]}, j_]", self.at(*inside))]
            lines += [f"    at_ += {n}", *visit("at_", f"n{l + 1}_", "real_(1.0)", self.at(*g))]
        end = ", ".join([*sums, *(["within_"] if within else [])])
        every = f"@inlined\ndef {own}({', '.join([*rows, *numbers, 'h_', 'd_', *(['bound_'] if within else [])])}):\n"
        return [stretch, every + indent([*self.named(), *lines, f"return {end}"])]


def _words(line: str) -> list[str]:
    return line.replace("(", " ").replace(")", " ").replace(",", " ").split()
