"""V as a mixture of estimates, in lanes: restarts of estimates that exceed their bounds, and the weights of V."""

from __future__ import annotations

from tdlambda.core.schedules.lanes.places import Places


class MixtureLoops(Places):
    """Code for mixtures. V is estimate 0; the safe estimate, from which the others restart, is estimate 1."""

    def mixing(self) -> list[str]:
        """Code for the end of a step: restart estimates, then update V at changed features, or at all of them."""
        if not self.model.mixture:
            return []
        self.parts += [self._runaways(), self._again(), self._mixed()]
        w = f"ROW_{self.first.upper()}"
        rows = [f"F_[f_, b_ + ROW_{row.upper()}]" for row in self.a.row_names()]
        lines = [f"N_[OVER], {', '.join(self._near(w))}, {self.of_all('allowed')}, {self.of_all('factor')}"]
        lines = [*self._dots(w), f"if runaways({lines[0]}) > 0:", "    everywhere_, summed_ = True, 0"]
        lines += ["    for f_ in range(s_.size):", f"        again(N_[OVER], F_[f_, ROWS + {w}], {', '.join(rows)})"]
        lines += [f"    {line}" for line in self._numbers_again()]
        body = ["everywhere_ = turning", f"for k_ in range(2, {len(self.model.estimates)}):"]
        body += ["    b_, m_ = k_ * ROWS, k_ * NUMBERS", *(f"    {line}" for line in lines)]
        names = list(self.model.estimates)
        weights = [f"F_[f_, {names.index(k)} * ROWS + {w}]" for k in ("V", *self.model.mixture)]
        call = f"mixed({', '.join([*weights, *map(self.of_all, self.model.mixture.values())])})"
        body += ["if everywhere_:", "    for f_ in range(s_.size):", f"        {call}", "else:"]
        places = [("n_live_", "order_[i_]")]
        places += [("1", "x_"), ("n_next_", "y_")] if self.one_hot else [("n_", "x_[i_]"), ("n_next_", "y_[i_]")]
        for n, feature in places:
            body += [f"    for i_ in range({n}):", f"        f_ = {feature}", f"        {call}"]
        return body

    def _dots(self, w: str) -> list[str]:
        """Code for the current estimate's predictions after the update; with one-hot features they are entries of F."""
        if self.one_hot:
            return []
        here, ahead = (
            f"dot_lanes(N_[{n}], F_, b_ + {w}, {v})"
            for n, v in (("HERE", "x_, xv_, n_"), ("AHEAD", "y_, yv_, n_next_"))
        )
        return [here, ahead]

    def _near(self, w: str) -> list[str]:
        """The arrays that hold these predictions, at x and at x'."""
        if self.one_hot:
            return [f"F_[x_, b_ + {w}]", f"F_[y_ if n_next_ > 0 else x_, b_ + {w}]"]
        return ["N_[HERE]", "N_[AHEAD]"]

    def _numbers_again(self) -> list[str]:
        """Code for the numbers after a restart: kept ones as if an episode started at x', bounds as the safe ones."""
        lines = []
        for keep, start in self.a.keeps.items():
            if not isinstance(start, str):
                lines.append(f"fill_where({self.number(keep)}, {float(start)!r}, N_[OVER])")
                continue
            row = f"ROW_{self.a.dots[start].partition('.')[0].upper()}"
            ahead = f"F_[y_ if n_next_ > 0 else x_, b_ + {row}]" if self.one_hot else "N_[AHEAD]"
            if not self.one_hot:
                lines.append(f"dot_lanes(N_[AHEAD], F_, b_ + {row}, y_, yv_, n_next_)")
            lines.append(f"copy_where({self.number(keep)}, {ahead}, N_[OVER])")
        lines += [f"fill_where({self.number(h)}, {float(start)!r}, N_[OVER])" for h, start in self.a.holds.items()]
        lines.append("copy_where(N_[m_ + OWN_WEIGHT_TOP], N_[NUMBERS + OWN_WEIGHT_TOP], N_[OVER])")
        if self.forms is not None:
            lines.append("fill_where(N_[m_ + OWN_TRACE_TOP], 0.0, N_[OVER])")
        return lines

    def _runaways(self) -> str:
        """A loop that marks the lanes where the estimate exceeds its bounds or is NaN, and returns their number."""
        body = [
            "near_ = RUNAWAY * allowed_[lane_]",
            "within_ = (abs(here_[lane_]) * factor_[lane_] <= near_) & (abs(ahead_[lane_]) * factor_[lane_] <= near_)",
            "over_[lane_] = 0.0 if within_ else 1.0",
            "count_ += not within_",
        ]
        return self.lanewise("runaways", ["over_", "here_", "ahead_", "allowed_", "factor_"], body, "over_", "count_")

    def _again(self) -> str:
        """A loop that restarts one feature in the marked lanes: the safe estimate's weight, other rows as initially."""
        rows, starts = self.a.row_names(), self.a.starts
        new = {row: "safe_[lane_]" if row == self.first else repr(float(starts.get(row, 0.0))) for row in rows}
        body = [f"{row}_[lane_] = {value} if over_[lane_] > 0 else {row}_[lane_]" for row, value in new.items()]
        return self.lanewise("again", ["over_", "safe_", *(f"{row}_" for row in rows)], body, "over_")

    def _mixed(self) -> str:
        """A loop that computes V's weight at one feature."""
        pairs = [(f"{k}_", f"{n}_") for k, n in self.model.mixture.items()]
        body = [f"out_[lane_] = {' + '.join(f'{n}[lane_] * {w}[lane_]' for w, n in pairs)}"]
        return self.lanewise("mixed", ["out_", *(w for w, _ in pairs), *(n for _, n in pairs)], body, "out_")
