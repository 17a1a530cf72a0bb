"""Loops over features that apply the updates to rows in lanes, and loops that drop negligible traces."""

from __future__ import annotations

from tdlambda.core import step as ir
from tdlambda.core.equations import Forms, Symbol, written
from tdlambda.core.schedules.lanes.places import Places
from tdlambda.core.schedules.text import block, indent

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
        free = [c for c in f.used if c not in self.live]  # the same for all lanes
        arrays, totals = [*f.touched, *self.live], [self.number(name) for name in self.summed]
        tail = [*free, *(f"{name}_sum_" for name in self.summed)]

        def loaded(symbol: Symbol) -> str:
            return f"{symbol.name}_[lane_]" if symbol.name in self.live else symbol.name

        body = [f"{row} = {row}_[lane_]" for row in f.touched]
        body += [f"{row} = {written(e, loaded)}" for row, e in f.live.items()]
        sums = [f"{name}_sum_[lane_] += {left} * {right}" for name, left, right in self.pairs()]
        lines: list[str] = []
        if f.live:
            stores = [f"{r}_[lane_] = {r}" for r in f.dirty]
            self.loop("at_live", [*(f"{n}_" for n in arrays), *tail], [*body, *stores, *sums], f"{f.touched[0]}_")
            unmarked = "f_ != x_" if self.one_hot else "listed_[f_] < 2"
            others = block(f"if {unmarked}:", f"at_live({', '.join([*self.at(arrays, 'f_'), *free, *totals])})")
            lines += block("for i_ in range(n_live_):", "f_ = order_[i_]", *others)
        if self.one_hot:
            return [], lines + self.next_pass(f), []
        more = [r for r in f.at_x if r not in f.touched]
        here = [*arrays, *more, *(f"{r}_at_x" for r in f.at_x)]
        inner = [*body, *(f"{r} = {r}_[lane_]" for r in more)]
        inner += [f"{r} = {r} + {r}_at_x_[lane_] * by_" for r in f.at_x]
        inner += [f"{r}_[lane_] = {r}" for r in dict.fromkeys([*f.dirty, *f.at_x])] + sums
        self.loop("at_here", [*(f"{n}_" for n in here), *tail, "by_"], inner, f"{here[0]}_")
        call = f"at_here({', '.join([*self.at(here, 'x_[j_]'), *free, *totals, 'xv_[j_]'])})"
        lines += block("for j_ in range(n_):", *block("if different_:", call), *self.adding(f))
        lines += block("if not different_:", "summed_ = 0") if self.summed else []
        mark, unmark = (
            block("if different_:", *block("for j_ in range(n_):", f"listed_[x_[j_]] {sign}= 2")) for sign in "+-"
        )
        return ["different_ = apart(x_, n_)", *mark], lines + self.next_pass(f), unmark

    def at(self, names: list[str], feature: str) -> list[str]:
        """Rows at a feature, and numbers of the current estimate."""
        return [self.row(n, feature) if n in self.rows else self.number(n) for n in names]

    def pairs(self) -> list[tuple[str, str, str]]:
        """(name, left row, right row) of the dot products that one step sums for the next."""
        found = [(name, self.dots[name]) for name in self.summed]
        return [(name, op.left.name, op.right.name) for name, op in found if isinstance(op, ir.RowDot)]

    def adding(self, f: Forms) -> list[str]:
        """Code for x with repeated features: multiples of x are only added, one feature after the other."""
        names = [n for r in f.at_x for n in (r, f"{r}_at_x")]
        if not names:
            return []
        body = [f"{r}_[lane_] += {r}_at_x_[lane_] * by_" for r in f.at_x]
        self.loop("add_here", [*(f"{n}_" for n in names), "by_"], body, f"{names[0]}_")
        return block("else:", f"add_here({', '.join([*self.at(names, 'x_[j_]'), 'xv_[j_]'])})")

    def next_pass(self, f: Forms) -> list[str]:
        """Code that adds multiples of x', and their effect on the sums for the next step."""
        if not f.at_next:
            return []
        y, value = ("y_", "1.0") if self.one_hot else ("y_[j_]", "yv_[j_]")
        # The other row of a product, if one of its rows changes.
        beside = {n: (r, l) if l in f.at_next else (l, r) for n, l, r in self.pairs() if {l, r} & {*f.at_next}}
        rows = list(dict.fromkeys([*f.at_next, *(other for other, _ in beside.values())]))
        changes = [f"{row}_at_next" for row in f.at_next]
        body = [f"{row}_by = {row}_at_next_[lane_] * by_" for row in f.at_next]
        body += [f"{row}_[lane_] += {row}_by" for row in f.at_next]
        body += [f"{name}_sum_[lane_] += {other}_[lane_] * {changed}_by" for name, (other, changed) in beside.items()]
        head = [*(f"{n}_" for n in [*rows, *changes]), *(f"{name}_sum_" for name in beside), "by_"]
        self.loop("at_next", head, body, f"{rows[0]}_")
        arrays = [*(self.row(r, y) for r in rows), *map(self.number, [*changes, *beside])]
        return block("for j_ in range(n_next_):", f"at_next({', '.join([*arrays, value])})")

    def pruning(self) -> str:
        """The functions `prune` and `clear`."""
        step, prune, clear = self.step, self.step.only(ir.Prune), self.step.only(ir.Clear)
        fading, traces = (tuple(step.rows.index(r) for r in some if r.of) for some in (prune.fading, clear.rows))
        own = [step.rule_rows.index(r) for r in prune.fading if not r.of]
        scale = [f"N_[OWN_{size.upper()}, lane_]" for size in prune.scale]  # of the value
        by = f" * min({', '.join(scale)})" if len(scale) > 1 else f" * {scale[0]}" if scale else ""
        drop = [] if clear.lasts else ["    listed_[f_] = 0", "s_.n_live = 0"]
        tops = block(f"for k_ in range({len(step.estimates)}):", "fill(N_[k_ * NUMBERS + OWN_TRACE_TOP], 0.0)")
        each = lambda rows, line, by: indent(block(f"for row_ in {rows!r}:", line), by) if rows else ""  # noqa: E731
        return PRUNE.format(
            scale=by, larger_rows=each(fading, "larger(N_[LARGEST], F_[f_, row_])", 8),
            clear_rows=each(fading, "clear_small(F_[f_, row_], N_[LARGEST], N_[LIMIT])", 12),
            zero_rows=each(traces, "fill(F_[f_, row_], 0.0)", 8),
            larger_own=indent([f"larger(N_[LARGEST], U_[f_, {i}])" for i in own], 8),
            clear_own=indent([f"clear_small(U_[f_, {i}], N_[LARGEST], N_[LIMIT])" for i in own], 12),
            traces_own=indent([*(f"fill(U_[f_, {i}], 0.0)" for i in own), "pass"], 8),
            drop=indent(drop, 4), tops=indent(tops if self.forms is not None else [], 4),
        )  # fmt: skip
