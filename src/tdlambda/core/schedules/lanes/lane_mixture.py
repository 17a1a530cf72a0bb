"""V as a mixture of estimates, in lanes: restarts of estimates that exceed their bounds, and V's weights."""

from __future__ import annotations

from tdlambda.core import step as ir
from tdlambda.core.schedules.lanes.places import EACH, Places
from tdlambda.core.schedules.one.one_rows import VECTOR
from tdlambda.core.schedules.text import block


class MixtureLoops(Places):
    """Code for mixtures."""

    def mix(self) -> list[str]:
        """Restart estimates, then update V at changed features, or at all of them."""
        assert self.mixture is not None
        op, w = next(iter(self.restarts.values())), f"ROW_{self.first.upper()}"
        self.loops_of_mixture(op)
        if self.one_hot:
            near, dots = [f"F_[x_, b_ + {w}]", f"F_[y_ if n_next_ > 0 else x_, b_ + {w}]"], []
        else:
            near, pairs = ["N_[HERE]", "N_[AHEAD]"], (("HERE", "x"), ("AHEAD", "x'"))
            dots = [f"dot_lanes(N_[{n}], F_, b_ + {w}, {', '.join(VECTOR[v])})" for n, v in pairs]
        rows = [f"F_[f_, b_ + ROW_{row.upper()}]" for row in self.rows]
        again = block("for f_ in range(s_.size):", f"again(N_[OVER], F_[f_, ROWS + {w}], {', '.join(rows)})")
        runaways = f"runaways(N_[OVER], {', '.join(near)}, {self.of_all('allowed')}, {self.of_all('factor')})"
        restart = ["everywhere_, summed_ = True, 0", *again, *self.numbers_again(op)]
        each = [EACH, *dots, *block(f"if {runaways} > 0:", *restart)]
        names = list(self.step.estimates)
        weights = [f"F_[f_, {names.index(r.of)} * ROWS + {w}]" for r in (self.mixture.out, *self.mixture.parts)]
        call = f"mixed({', '.join([*weights, *map(self.of_all, self.mixture.parts.values())])})"
        places = [("1", "x_"), ("n_next_", "y_")] if self.one_hot else [("n_", "x_[i_]"), ("n_next_", "y_[i_]")]
        changed: list[str] = []
        for n, feature in [("n_live_", "order_[i_]"), *places]:
            changed += block(f"for i_ in range({n}):", f"f_ = {feature}", call)
        return [
            "everywhere_ = turning",
            *block(f"for k_ in range(2, {len(names)}):", *each),
            *block("if everywhere_:", *block("for f_ in range(s_.size):", call)),
            *block("else:", *changed),
        ]

    def numbers_again(self, op: ir.Restart) -> list[str]:
        """The numbers after a restart: kept ones as if an episode started at x', bounds as the safe ones."""
        lines = []
        for slot, start in op.keeps.items():
            name = slot.removeprefix(f"{op.estimate}_")
            if not isinstance(start, ir.Row):
                lines.append(f"fill_where({self.number(name)}, {start.value!r}, N_[OVER])")
                continue
            row = f"ROW_{start.name.upper()}"
            ahead = f"F_[y_ if n_next_ > 0 else x_, b_ + {row}]" if self.one_hot else "N_[AHEAD]"
            lines += [] if self.one_hot else [f"dot_lanes(N_[AHEAD], F_, b_ + {row}, y_, yv_, n_next_)"]
            lines.append(f"copy_where({self.number(name)}, {ahead}, N_[OVER])")
        lines.append("copy_where(N_[m_ + OWN_WEIGHT_TOP], N_[NUMBERS + OWN_WEIGHT_TOP], N_[OVER])")
        return lines + (["fill_where(N_[m_ + OWN_TRACE_TOP], 0.0, N_[OVER])"] if self.forms is not None else [])

    def loops_of_mixture(self, op: ir.Restart) -> None:
        """Write the loops over lanes: whether an estimate exceeds its bounds, its restart, and the mixture."""
        assert self.mixture is not None
        inside = "(abs(here_[lane_]) * factor_[lane_] <= near_) & (abs(ahead_[lane_]) * factor_[lane_] <= near_)"
        body = ["near_ = RUNAWAY * allowed_[lane_]", f"within_ = {inside}"]
        body += ["over_[lane_] = 0.0 if within_ else 1.0", "count_ += not within_"]
        self.loop("runaways", ["over_", "here_", "ahead_", "allowed_", "factor_"], body, "over_", "count_")
        new = {row: "safe_[lane_]" if row == op.weights else repr(op.starts[row]) for row in self.rows}
        body = [f"{row}_[lane_] = {value} if over_[lane_] > 0 else {row}_[lane_]" for row, value in new.items()]
        self.loop("again", ["over_", "safe_", *(f"{row}_" for row in self.rows)], body, "over_")
        pairs = [(f"{r.of}_", f"{n}_") for r, n in self.mixture.parts.items()]
        body = [f"out_[lane_] = {' + '.join(f'{n}[lane_] * {w}[lane_]' for w, n in pairs)}"]
        self.loop("mixed", ["out_", *(w for w, _ in pairs), *(n for _, n in pairs)], body, "out_")
