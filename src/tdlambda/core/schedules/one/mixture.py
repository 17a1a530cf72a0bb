"""V as a mixture of estimates, for one learner: restarts of estimates that exceed their bounds, and V's weights."""

from __future__ import annotations

from typing import Any

from tdlambda.core.model import Model
from tdlambda.core.schedules.text import indent


class Mixture:
    """Code for mixtures."""

    model: Model
    a: Any
    sparse: bool
    first: str
    body: list[str]

    def mix(self) -> None:
        """Write the end of a step: restart estimates, then update V at changed features, or at all of them."""
        w, (safe, *_) = self.first, self.model.mixture
        self.body += ["everywhere_, most_ = turning, RUNAWAY * limit_"]
        for k in self.model.restarting:
            near = [f"abs(dot({k}_{w}, {at})) * s_.factor <= most_" for at in ("x_, xv_, n_", "y_, yv_, n_next_")]
            rows = ", ".join([f"{safe}_{w}", *(f"{k}_{row}" for row in self.a.row_names())])
            self.body += [f"if not ({k}_within_ and {near[0]} and {near[1]}):", f"    again({rows})"]
            self.body += [f"    s_.{k}_{keep} = {self.begin(k, start)}" for keep, start in self.a.keeps.items()]
            self.body += [f"    s_.{k}_{hold} = {float(start)!r}" for hold, start in self.a.holds.items()]
            self.body.append("    everywhere_ = True")
        weights, numbers = [f"{k}_{w}" for k in self.model.mixture], list(self.model.mixture.values())
        place = "x_, n_, y_, n_next_, order_, n_live_" if self.sparse else ""
        self.body.append(f"mixed({', '.join([f'V_{w}', *weights, *numbers, 'everywhere_', place]).rstrip(', ')})")

    def begin(self, k: str, start: float | str) -> str:
        """The text of a kept number's value if an episode starts at x', the next state."""
        if not isinstance(start, str):
            return repr(float(start))
        row = self.a.dots[start].partition(".")[0]
        return f"dot({k}_{row}, y_, yv_, n_next_)"

    def again(self) -> str:
        """The function `again`, which restarts an estimate: the safe estimate's weights, other rows as initially."""
        rows = self.a.row_names()
        each = [f"{row}[f_] = {float(self.a.starts.get(row, 0.0))!r}" for row in rows if row != self.first]
        lines = [f"for f_ in range({self.first}.size):", f"    {self.first}[f_] = safe_[f_]"]
        head = f"@kernel\ndef again(safe_, {', '.join(rows)}):\n"
        return head + indent([*lines, *(f"    {line}" for line in each)])

    def mixed(self) -> str:
        """The function `mixed`, which computes V's weights at the features that a step has changed, or at all."""
        numbers = list(self.model.mixture.values())
        weights = [f"{k}_" for k in self.model.mixture]
        at = " + ".join(f"{n} * {w}[f_]" for n, w in zip(numbers, weights, strict=True))
        every = ["for f_ in range(out_.size):", f"    out_[f_] = {at}"]
        head = ["out_", *weights, *numbers, "everywhere_"]
        if not self.sparse:
            return f"@lanewise\ndef mixed({', '.join(head)}):\n" + indent(every)
        lines = ["if everywhere_:", *(f"    {line}" for line in every), "    return"]
        for n, index in (("n_live_", "order_"), ("n_", "x_"), ("n_next_", "y_")):
            lines += [f"for i_ in range({n}):", f"    f_ = {index}[i_]", f"    out_[f_] = {at}"]
        head += ["x_", "n_", "y_", "n_next_", "order_", "n_live_"]
        return f"@inlined\ndef mixed({', '.join(head)}):\n" + indent(lines)
