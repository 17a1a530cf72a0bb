"""Loops over features that apply the updates to rows in lanes, and loops that drop negligible traces."""

from __future__ import annotations

import re
from collections.abc import Callable

from tdlambda.core.equations import Forms
from tdlambda.core.names import words
from tdlambda.core.schedules.lanes.places import Places
from tdlambda.core.schedules.one import lasting
from tdlambda.core.schedules.text import indent

PRUNE = '''@inlined
def prune(F_, N_, U_, order_, listed_, state_):
    """Set a lane's traces of a feature to 0 if all of them are within its limit; drop features without traces."""
    s_ = state_[0]
    for lane_ in range(N_.shape[1]):
        N_[LIMIT, lane_] = N_[TOLERANCE, lane_]{scale} if s_.sparse else NEGLIGIBLE
    i_ = 0
    while i_ < s_.n_live:
        f_ = order_[i_]
        fill(N_[LARGEST], 0.0)
{larger_rows}{larger_own}        above_ = count_above(N_[LARGEST], N_[LIMIT])
        if above_ < N_.shape[1]:
{clear_rows}{clear_own}            pass
        if above_ == 0:
            s_.n_live -= 1
            listed_[f_] = 0
            order_[i_] = order_[s_.n_live]
        else:
            i_ += 1


@inlined
def clear(F_, N_, U_, order_, listed_, state_):
    """Set every trace to 0, at the end of an episode."""
    s_ = state_[0]
    s_.under_way = 0
    for i_ in range(s_.n_live):
        f_ = order_[i_]
{zero_rows}{traces_own}{drop}{tops}
'''


class RowLoops(Places):
    """Code of the loops over features."""

    def live_pass(self, f: Forms) -> tuple[list[str], list[str], list[str]]:
        """Code that applies the updates: what comes before the loop over estimates, inside it, and after it.

        The loop over estimates is outermost, so that the coefficients of one estimate stay in the first-level cache.
        """
        at_live, at_here, add_here = self.row_loops(f)
        before: list[str] = []
        lines: list[str] = []
        after: list[str] = []
        if f.live:
            unmarked = "f_ != x_" if self.one_hot else "listed_[f_] < 2"
            lines += [
                "for i_ in range(n_live_):",
                "    f_ = order_[i_]",
                f"    if {unmarked}:",
                f"        {at_live('f_')}",
            ]
        if not self.one_hot:
            marks = ["if different_:", "    for j_ in range(n_):"]
            before = ["different_ = apart(x_, n_)", *marks, "        listed_[x_[j_]] += 2"]
            lines += ["for j_ in range(n_):", "    if different_:", f"        {at_here('x_[j_]')}"]
            lines += ["    else:", f"        {add_here('x_[j_]')}"] if f.at_x else []
            lines += ["if not different_:", "    summed_ = 0"] if self.summed else []
            after = [*marks, "        listed_[x_[j_]] -= 2"]
        lines += self.next_pass(f)
        return before, lines, after

    def next_pass(self, f: Forms) -> list[str]:
        """Code that adds multiples of x' to rows, and the resulting changes to the dot products of rows."""
        if not f.at_next:
            return []
        y, value = ("y_", "1.0") if self.one_hot else ("y_[j_]", "yv_[j_]")
        beside = {name: pair[pair[0] in f.at_next] for name, pair in self.sums() if {*pair} & {*f.at_next}}
        rows = dict.fromkeys([*f.at_next, *beside.values()])
        changes = [f"{row}_at_next" for row in f.at_next]
        body = [f"{row}_by = {row}_at_next_[lane_] * by_" for row in f.at_next]
        body += [f"{row}_[lane_] += {row}_by" for row in f.at_next]
        for name, other in beside.items():
            changed = next(row for row in self.dots[name] if row in f.at_next)
            body.append(f"{name}_sum_[lane_] += {other}_[lane_] * {changed}_by")
        head = [*(f"{n}_" for n in [*rows, *changes]), *(f"{name}_sum_" for name in beside), "by_"]
        self.parts.append(self.lanewise("at_next", head, body, f"{next(iter(rows))}_"))
        arrays = [*(self.row(r, y) for r in rows), *map(self.number, [*changes, *beside])]
        return ["for j_ in range(n_next_):", f"    at_next({', '.join([*arrays, value])})"]

    def row_loops(self, f: Forms) -> tuple[Callable[[str], str], Callable[[str], str], Callable[[str], str]]:
        """Functions from a feature to a call: the update at a live feature, at one of x, and only the addition of x."""
        rows = self.a.row_names()
        free = [c for c in f.used if c not in self.live]  # the same for all lanes
        loads = lambda line: re.sub(rf"\b({'|'.join(self.live) or '_'})\b", r"\g<1>_[lane_]", line)  # noqa: E731
        arrays = [*f.touched, *self.live]
        array = lambda n, where: self.row(n, where) if n in rows else self.number(n)  # noqa: E731

        def call(name: str, some: list[str], more: list[str]) -> Callable[[str], str]:
            return lambda where: (
                f"{name}({', '.join([*(array(n, where) for n in some), *free, *(m.format(where) for m in more)])})"
            )

        body = [f"{row} = {row}_[lane_]" for row in f.touched] + [loads(line) for line in f.live]
        sums = [f"{name}_sum_[lane_] += {left} * {right}" for name, (left, right) in self.sums()]
        if f.live:
            head = [*(f"{n}_" for n in arrays), *free, *(f"{name}_sum_" for name in self.summed)]
            stores = [f"{r}_[lane_] = {r}" for r in f.dirty]
            self.parts.append(self.lanewise("at_live", head, [*body, *stores, *sums], f"{f.touched[0]}_"))
        totals = [self.number(name) for name in self.summed]
        at_live = call("at_live", arrays, totals)
        if self.one_hot:
            return at_live, at_live, at_live
        more = [r for r in f.at_x if r not in f.touched]
        here = [*arrays, *more, *(f"{r}_at_x" for r in f.at_x)]
        lines = [*body, *(f"{r} = {r}_[lane_]" for r in more)]
        lines += [f"{r} = {r} + {r}_at_x_[lane_] * by_" for r in f.at_x]
        lines += [f"{r}_[lane_] = {r}" for r in dict.fromkeys([*f.dirty, *f.at_x])] + sums
        head = [*(f"{n}_" for n in here), *free, *(f"{name}_sum_" for name in self.summed), "by_"]
        self.parts.append(self.lanewise("at_here", head, lines, f"{here[0]}_"))
        pairs = [n for r in f.at_x for n in (r, f"{r}_at_x")]
        if pairs:
            lines = [f"{r}_[lane_] += {r}_at_x_[lane_] * by_" for r in f.at_x]
            self.parts.append(self.lanewise("add_here", [*(f"{n}_" for n in pairs), "by_"], lines, f"{pairs[0]}_"))
        add_here = lambda where: f"add_here({', '.join([*(array(n, where) for n in pairs), 'xv_[j_]'])})"  # noqa: E731
        return at_live, call("at_here", here, [*totals, "xv_[j_]"]), add_here

    def pruning(self) -> str:
        """The functions `prune` and `clear`."""
        a, R, K = self.a, len(self.a.row_names()), len(self.model.estimates)
        fade = lasting(a)
        at = lambda some: tuple(k * R + a.row_names().index(r) for k in range(K) for r in some)  # noqa: E731
        own = [self.model.own_rows.index(r) for r in (words(self.rule.trace_rows) if self.rule is not None else [])]
        scale = [f"N_[OWN_{size.upper()}, lane_]" for size in words(a.trace_scale)]  # of the value
        by = f" * min({', '.join(scale)})" if len(scale) > 1 else f" * {scale[0]}" if scale else ""
        drop = [] if fade else ["    listed_[f_] = 0", "s_.n_live = 0"]
        tops = (
            [f"for k_ in range({K}):", "    fill(N_[k_ * NUMBERS + OWN_TRACE_TOP], 0.0)"]
            if self.forms is not None
            else []
        )
        each = lambda rows, line, by: indent([f"for row_ in {rows!r}:", f"    {line}"], by) if rows else ""  # noqa: E731
        fading, traces = at([*words(a.trace_rows), *fade]), at(words(a.trace_rows))
        return PRUNE.format(
            scale=by, larger_rows=each(fading, "larger(N_[LARGEST], F_[f_, row_])", 8),
            clear_rows=each(fading, "clear_small(F_[f_, row_], N_[LARGEST], N_[LIMIT])", 12),
            zero_rows=each(traces, "fill(F_[f_, row_], 0.0)", 8),
            larger_own=indent([f"larger(N_[LARGEST], U_[f_, {i}])" for i in own], 8),
            clear_own=indent([f"clear_small(U_[f_, {i}], N_[LARGEST], N_[LIMIT])" for i in own], 12),
            traces_own=indent([*(f"fill(U_[f_, {i}], 0.0)" for i in own), "pass"], 8),
            drop=indent(drop, 4), tops=indent(tops, 4),
        )  # fmt: skip
