"""Loops over features that apply the updates to the rows of one learner, and loops that drop negligible traces."""

from __future__ import annotations

import re
from typing import Any

from tdlambda.core.equations import Forms
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.schedules.text import indent
from tdlambda.core.source import arguments, returned

MANY = 4
"""Visiting one feature through the list takes about as long as visiting this many without a list."""
_APPLIED = ("x_", "xv_", "n_", "y_", "yv_", "n_next_", "bound_")


def lasting(algorithm: type[Any]) -> list[str]:
    """Weight rows that decay by themselves: a feature stays live until its entries in them are negligible."""
    if algorithm.feature is not None:
        return words(algorithm.lasting_rows)
    return [r for r in algorithm.equations().decaying if r in words(algorithm.weight_rows)]


class Rows:
    """Code of the loops over features."""

    model: Model
    a: Any
    rule: Any
    sparse: bool
    body: list[str]

    def apply(self, prefix: str, f: Forms) -> str:
        """The function that applies equations to rows."""
        who = self.rule if prefix else self.a
        assert who is not None
        return apply_text(who, f, prefix, self.sparse, "kernel" if self.model.mixture else "inlined")

    def apply_feature(self) -> str:
        """The function that calls `feature` at features and, with `before`, the one that sums its results."""
        text = self.at_features("apply", "feature", self.a.feature, "live", [])
        if self.model.before is None:
            return text
        b = self.model.before
        return f"{self.at_features('gather', 'before', b.function, b.where, b.results)}\n\n{text}"

    def at_features(self, name: str, function: str, source: Any, where: str, sums: list[str]) -> str:
        """A loop that calls a function once at each feature: live ones that are not in x, those of x, others of x'.

        Until a feature is visited, its entry of `listed_` has the bit 2 if it is in x, and the bit 4 if it is in x'.
        """
        rows, given = self.a.row_names(), arguments(source)
        out = [r for r in returned(source) if r in rows]
        reads_next = "x_next" in given

        def visit(x: str, x_next: str) -> list[str]:
            at = {"x": x, "x_next": x_next} | {row: f"{row}_" for row in rows}
            results = ", ".join(f"{r}_" if r in rows else f"{r}_one_" for r in returned(source))
            return [
                *(f"{r}_ = {r}[f_]" for r in rows if r in given),
                f"{results} = {function}({', '.join(at.get(n, n) for n in given)})",
                *(f"{r}[f_] = {r}_" for r in out), *(f"{n}_ += {n}_one_" for n in sums),
                *(f"within_ &= abs({r}_) <= bound_" for r in out if r in words(self.a.weight_rows)),
            ]  # fmt: skip

        lines = ["within_ = True", *(f"{n}_ = 0.0" for n in sums), "alone_ = increasing(x_, n_)"]
        lines += marks("x_", "n_", 2)
        if where == "live":
            lines += marks("y_", "n_next_", 4) if reads_next else []
            lines += ["for i_ in range(n_live_):", "    f_ = order_[i_]", "    if listed_[f_] < 2:"]
            lines += [f"        {line}" for line in visit("0.0", "0.0")]
        lines += ["for j_ in range(n_):", "    f_ = x_[j_]", "    if listed_[f_] & 2:", "        listed_[f_] -= 2"]
        lines += ["        value_ = xv_[j_] if alone_ else gathered(x_, xv_, j_, n_)"]
        if reads_next:
            lines += ["        next_ = 0.0", "        if listed_[f_] & 4:", "            listed_[f_] -= 4"]
            lines += ["            next_ = value_at(y_, yv_, n_next_, f_, j_)"]
        lines += [f"        {line}" for line in visit("value_", "next_")]
        if reads_next:
            lines += ["for j_ in range(n_next_):", "    f_ = y_[j_]", "    if listed_[f_] & 4:"]
            lines += ["        listed_[f_] -= 4", "        next_ = gathered(y_, yv_, j_, n_next_)"]
            lines += [f"        {line}" for line in visit("0.0", "next_")]
        head = [*rows, *at_feature_numbers(self.a, source), *_APPLIED, "order_", "n_live_", "listed_"]
        back = ", ".join(["within_", *(f"{n}_" for n in sums)])
        how = "kernel" if self.model.mixture else "inlined"
        return f"@{how}\ndef {name}({', '.join(head)}):\n" + indent([*lines, f"return {back}"])

    def clear(self) -> str:
        """The function `clear`, which sets traces to 0 at the end of an episode."""
        rows = self.rows_of(words(self.a.trace_rows), words(self.rule.trace_rows) if self.rule else [])
        lines = ["s_ = state_[0]", "s_.under_way = 0"]
        if self.sparse:
            each = [f"{r}[f_] = 0.0" for r in rows] + ([] if self.lasting else ["live_[1, f_] = 0"])
            lines += [
                "for i_ in range(s_.n_live):",
                "    f_ = live_[0, i_]",
                *(f"    {line}" for line in each or ["pass"]),
            ]
            lines += [] if self.lasting else ["s_.n_live = 0"]
        else:
            lines += [f"{r}[:] = 0.0" for r in rows]
        return "@inlined\ndef clear(state_, rows_, own_, live_):\n" + indent(lines)

    def rows_of(self, of_estimates: list[str], of_rule: list[str]) -> list[str]:
        """The text of rows, by their names."""
        names, own = self.model.rows, self.model.own_rows
        each = [f"rows_[{names.index(f'{k}_{r}')}]" for k in self.model.estimates for r in of_estimates]
        return each + [f"own_[{own.index(r)}]" for r in of_rule]

    @property
    def lasting(self) -> list[str]:
        """Weight rows that decay by themselves: a feature stays live until its entries in them are negligible."""
        return lasting(self.a)

    def confined(self) -> list[str]:
        """Code that makes the weights of a learner finite after it has diverged."""
        return [f"confine({row}, s_.bound)" for row in self.rows_of(words(self.a.weight_rows), [])]

    def least(self) -> str:
        """The text of the threshold at or below which a trace is dropped."""
        scale = [f"{size}_" for size in words(self.a.trace_scale)]
        return "s_.tolerance" + (f" * min({', '.join(scale)})" if len(scale) > 1 else f" * {scale[0]}" if scale else "")

    def prune(self) -> None:
        """Write the code that periodically drops the features whose traces are all within the tolerance."""
        rule_traces = words(self.rule.trace_rows) if self.rule is not None else []
        fading = self.rows_of([*words(self.a.trace_rows), *self.lasting], rule_traces)
        least = self.least()
        largest = ", ".join([*(f"abs({r}[f_])" for r in fading), "0.0"])
        self.body.append("n_live_ = enliven(order_, listed_, n_live_, x_, n_)")
        if self.model.reads_next or self.a.equations().fed_by_next([*words(self.a.trace_rows), *self.lasting]):
            self.body.append("n_live_ = enliven(order_, listed_, n_live_, y_, n_next_)")
        self.body.append("if s_.steps % PRUNED_EVERY == 0:")
        self.body += [f"    least_, i_ = {least}, 0", "    while i_ < n_live_:", "        f_ = order_[i_]"]
        self.body += [f"        if max({largest}) <= least_:", *(f"            {r}[f_] = 0.0" for r in fading)]
        self.body += [
            "            listed_[f_] = 0",
            "            n_live_ -= 1",
            "            order_[i_] = order_[n_live_]",
        ]
        self.body += ["        else:", "            i_ += 1", "s_.n_live = n_live_"]


def over_live(row: str, body: list[str], sparse: bool) -> list[str]:
    """A loop over the live features f_; over all features if many are live, because that loop is vectorised."""
    every = [f"for f_ in range({row}.size):", *(f"    {line}" for line in body)]
    if not sparse:
        return every
    listed = ["for i_ in range(n_live_):", "    f_ = order_[i_]", *(f"    {line}" for line in body)]
    shifted = lambda lines: [f"    {line}" for line in lines]  # noqa: E731
    return [f"if {MANY} * n_live_ > {row}.size:", *shifted(every), "else:", *shifted(listed)]


def apply_text(who: Any, f: Forms, prefix: str, sparse: bool, how: str = "inlined") -> str:
    """Functions that apply equations to rows: at live features, then at those of x (or z), then at those of x'.

    `how` is the decorator: a "kernel" is compiled once for all estimates, which is faster for the many of a mixture.
    """
    weights = words(who.weight_rows)
    rows = [r for r in who.row_names() if not prefix or r in f.tops or r in f.touched]
    coefficients = f.coefficients
    text, call = "", ""
    if f.live:
        local = lambda line: re.sub(rf"\b({'|'.join(rows)})\b", r"\g<1>_", line)  # noqa: E731
        body = [f"{r}_ = {r}[f_]" for r in f.touched] + [local(line) for line in f.live]
        body += [f"{r}[f_] = {r}_" for r in f.dirty]
        body += [f"within_ &= abs({r}_) <= bound_" for r in f.dirty if r in weights]
        names = ", ".join([*f.touched, *f.used, "bound_", *(["order_", "n_live_"] if sparse else [])])
        text = f"@lanewise\ndef {prefix}at_live({names}):\n    within_ = True\n"
        text += indent([*over_live(f.touched[0], body, sparse), "return within_"]) + "\n\n"
        call = f"{prefix}at_live({names})"
    lines = [f"within_ = {call or 'True'}"]
    for at, index, value, n in ((f.at_x, "x_", "xv_", "n_"), (f.at_next, "y_", "yv_", "n_next_")):
        if not at:
            continue
        lines += [f"{r}_at_ = {e}" for r, e in at.items()] + [f"for j_ in range({n}):", f"    f_ = {index}[j_]"]
        for r in at:
            lines += [f"    {r}_ = {r}[f_] + {r}_at_ * {value}[j_]", f"    {r}[f_] = {r}_"]
            lines += [f"    within_ &= abs({r}_) <= bound_"] if r in weights else []
    head = [*rows, *coefficients, *_APPLIED, *(["order_", "n_live_"] if sparse else [])]
    text += f"@{how}\ndef {prefix}apply({', '.join(head)}):\n" + indent([*lines, "return within_"])
    return text


def at_feature_numbers(algorithm: Any, function: Any) -> list[str]:
    """The arguments of a function of one feature that are numbers, not rows or x."""
    return [n for n in arguments(function) if n not in [*algorithm.row_names(), "x", "x_next"]]


def marks(index: str, n: str, mark: int) -> list[str]:
    """Code that adds a mark to each feature of x or x' in `listed_`, once."""
    return [
        f"for j_ in range({n}):",
        f"    if listed_[{index}[j_]] & {mark} == 0:",
        f"        listed_[{index}[j_]] += {mark}",
    ]
