"""Loops over lanes that compute the coefficients of an update from dot products, for every estimate."""

from __future__ import annotations

import re
from typing import Any

from tdlambda.core.declare import INPUTS
from tdlambda.core.equations import Forms
from tdlambda.core.names import words
from tdlambda.core.schedules.lanes.features import FeatureLoops
from tdlambda.core.source import arguments, returned


class Estimates(FeatureLoops):
    """Code for the numbers of an update."""

    gathers: list[str]
    """Code that sums the results of `before` over features, to be run before the numbers are computed."""

    def estimates(self) -> list[str]:
        """The call that computes the coefficients; estimates that differ only in data form a group with one loop."""
        K = len(self.model.estimates)
        groups: dict[Any, list[int]] = {}
        for k, (name, given) in enumerate(self.model.estimates.items()):
            if name not in self.model.learning:
                continue
            pins = tuple(self.model.pinned(name, keep) for keep in self.a.keeps)
            own = bool(words(self.a.of_value)) and name == "V"
            shared = tuple(self.shared(source) for source in given[:4])
            sources = tuple(
                source if one or (source in INPUTS and source not in self.common) else ""  # not stored in N
                for source, one in zip(given[:4], shared, strict=True)
            )
            groups.setdefault((shared, sources, pins, own, name in self.model.restarting), []).append(k)
        if len(groups) > 1:
            of = {k: g for g, members in enumerate(groups.values()) for k in members}
            self.tables["GROUP_OF"] = tuple(of.get(k, 0) for k in range(K))
        calls = [self.numbers(g, key[0], members) for g, (key, members) in enumerate(groups.items())]
        self.gathers = _by_group([lines for _, lines in calls])
        return _by_group([[f"beyond_k_ = {call}"] for call, _ in calls])

    def numbers(self, g: int, shared: tuple[bool, ...], members: list[int]) -> tuple[str, list[str]]:
        """The call of one group's function, which is added to `parts`, and the code of the sums that it needs."""
        a, f, values, parameters = self.a, self.forms, {}, {}
        name_of = list(self.model.estimates)

        def take(name: str, array: str) -> None:
            parameters[f"{name}_"] = array
            values[name] = f"{name}_[lane_]"

        rows = a.row_names() if self.fused else []
        for row in rows:
            take(row, self.row(row, "x_"))
        own = {name: what.split(".") for name, what in a.dots.items() if name not in self.model.outer}
        named = {name: f"{left}_{right}".replace("'", "_next") for name, (left, right) in own.items()}
        for name in self.model.outer:
            parameters[name] = values[name] = name
        prediction = next((n for n, dot in named.items() if dot == f"{self.first}_x_next"), "prediction")
        for name, dot in {**named, prediction: f"{self.first}_x_next"}.items():
            if self.fused and self.dots[dot][1] == "x":
                values[name] = f"{self.dots[dot][0]}0"
            else:
                take(name, self.dot(dot))
        for name in a.holds:
            take(name, self.number(name))
        for name in a.keeps:
            pin = self.model.pinned(name_of[members[0]], name)
            take(name, self.number(name))
            values[name] = values[name] if pin is None else repr(pin)
        for name in words(a.sizes):
            take(name, self.number(name))
        for name in words(a.parameters):
            if self.model.parameter(name, name_of[members[0]]) == "0.0":
                values[name] = "0.0"
            else:
                take(name, self.of_all(name))
        for j, (name, one) in enumerate(zip(INPUTS, shared, strict=True)):
            sources = [self.model.estimates[name_of[k]][j] for k in members]
            if one:
                parameters[name] = values[name] = "1.0" if sources[0] == "one" else sources[0]
                if values[name] == "1.0":
                    del parameters[name]
            elif sources[0] in INPUTS and sources[0] not in self.common:
                take(name, "lam_" if sources[0] == "lam_next" else sources[0])
            else:
                table = [0] * len(name_of)
                for k, source in zip(members, sources, strict=True):
                    table[k] = len(name_of) * len(self.own) + self.common.index(source)
                self.tables[f"{name.upper()}_{g}"] = tuple(table)
                take(name, f"N_[{name.upper()}_{g}[k_]]")
        if self.model.corrected:
            if "rho" in self.given_per_lane:
                take("cut", "cut")
            else:
                parameters["cut"] = values["cut"] = "cut"
            values["lam_next"] += f" * {values['cut']}"
        gathers = self.before_pass(g, parameters, values)
        at_x, at_next = (f.at_x, f.at_next) if f is not None else ({}, {})
        outs = [
            *(c for c in self.live if c in self.scratch),
            *([] if self.fused else [f"{r}_at_x" for r in at_x]),
            *(f"{r}_at_next" for r in at_next),
        ]
        place = {n: f"{n}_out_" if parameters.get(f"{n}_", self.number(n)) != self.number(n) else f"{n}_" for n in outs}
        parameters |= {where: self.number(name) for name, where in place.items()}
        body, results = [f"{row}0 = {row}_[lane_]" for row in rows], returned(a.step)
        body.append(f"{', '.join(results)} = step({', '.join(values[n] for n in arguments(a.step))})")
        used = f.coefficients if f is not None else self._feature_coefficients()
        body += [f"{n} = {values[n]}" for n in used if n not in results and values.get(n, n) != n]
        body += [f"{r}_at_x = {e}" for r, e in at_x.items()] + [f"{r}_at_next = {e}" for r, e in at_next.items()]
        stored = [keep for keep in a.keeps if self.model.pinned(name_of[members[0]], keep) is None] + list(a.holds)
        body += [f"{place.get(name, f'{name}_')}[lane_] = {name}" for name in dict.fromkeys([*stored, *outs])]
        total = {dot: values[name] for name, dot in named.items() if dot in self.summed}
        if self.fused and f is not None:
            local = lambda line: re.sub(rf"\b({'|'.join(rows)})\b", r"\g<1>0", line)  # noqa: E731
            body += [local(line) for line in f.live]
            body += [f"{r}0 = {r}0 + {r}_at_x" for r in at_x]
            body += [f"{r}_[lane_] = {r}0" for r in dict.fromkeys([*f.dirty, *at_x])]
            body += [f"{total[name]} = {left}0 * {right}0" for name, (left, right) in self.sums()]
        else:
            body += [f"{where} = 0.0" for where in total.values()]
        squares = self.rule.squares if self.rule is not None else ()
        if any(name_of[k] in squares for k in members):
            first = len(name_of) * len(self.own)
            of = [self.common.index("allowed_square" if name in squares else "allowed") for name in name_of]
            self.tables["ALLOWED_OF"] = tuple(first + position for position in of)
            take("allowed", "N_[ALLOWED_OF[k_]]")
        else:
            take("allowed", self.of_all("allowed"))
        restarts = name_of[members[0]] in self.model.restarting
        within = [] if restarts else [f"(abs({values[prediction]}) <= allowed_[lane_])"]
        if f is not None:
            for name in ("trace_top", "weight_top", "bound"):
                take(name, self.number(name))
            parameters |= {"x1_": "x1_", "y1_": "y1_"}
            lines, tops = self.tops(f)
            body, within = body + lines, [*tops, *within]
        body.append(f"beyond_ += not ({' & '.join(within) or 'True'})")
        self.parts.append(self.lanewise(f"numbers_{g}", list(parameters), body, "alpha_", "beyond_"))
        return f"numbers_{g}({', '.join(parameters.values())})", gathers

    def tops(self, f: Forms) -> tuple[list[str], list[str]]:
        """Code that updates the bounds on traces and weights, and the conditions for weights to be within bounds.

        There is one bound on all traces of a lane and one on all its weights. The equations, applied to absolute
        values, give the new bounds from the old ones, so that no weight has to be read.
        """
        traces, weights = words(self.a.trace_rows), words(self.a.weight_rows)
        before = {row: "trace_top_[lane_]" if row in traces else "weight_top_[lane_]" for row in self.a.row_names()}
        reach = set(weights)  # and the rows that are added to a weight, directly or through others
        for row in reversed(f.follows):
            reach |= {v for _, v in f.follows[row]} if row in reach else set()
        lines = [f"{row}_top = {top.format(**before)}" for row, top in f.tops.items() if row in reach]
        for kind, some in (("trace", traces), ("weight", weights)):
            sizes = [f"{row}_top" for row in some if row in reach and row in f.tops]
            lines += [f"{kind}_top_[lane_] = {_most(sizes)}"] if sizes else []
        # One condition for each row, because a maximum may hide a NaN.
        return lines, [f"({row}_top <= bound_[lane_])" for row in weights if row in f.tops]

    def row_dots(self, some: list[str], prefix: str) -> list[str]:
        """Code for those dot products of the current estimate whose names are among `some`."""
        lines: list[str] = []
        groups: dict[str, list[tuple[str, str]]] = {"x": [], "x'": []}
        for name, (left, right) in self.dots.items():
            out = self.number(name)
            if name not in some:
                continue
            if right not in ("x", "x'"):
                dot = f"dot_live({out}, F_, b_ + ROW_{left.upper()}, b_ + ROW_{right.upper()}, order_, n_live_)"
                lines += ["if s_.summed == 0:", f"    {dot}"] if name in self.summed else [dot]
            elif not self.one_hot:
                groups[right].append((name, left))
            elif right == "x'":
                lines += ["if not other_:", f"    fill({out}, 0.0)", "    if n_next_ > 0:"]
                lines += [f"        copy({out}, {self.row(left, 'x_')})"]
        first = len(self.model.estimates) * len(self.own) + len(self.common) if prefix else 0
        for label, right, vector in (("HERE", "x", "x_, xv_, n_"), ("NEXT", "x'", "y_, yv_, n_next_")):
            if groups[right]:
                rows, dots = f"{prefix}{label}_ROWS", f"{prefix}{label}_DOTS"
                self.tables[rows] = tuple(self.a.row_names().index(left) for _, left in groups[right])
                self.tables[dots] = tuple(first + some.index(name) for name, _ in groups[right])
                out = f"N_[{dots}[i_]]" if prefix else f"N_[m_ + {dots}[i_]]"
                lines += [f"for i_ in range({len(groups[right])}):"]
                lines += [f"    dot_lanes({out}, F_, b_ + {rows}[i_], {vector})"]
        return lines

    def td_error(self) -> list[str]:
        """Code for the TD error of V at the last transition."""
        v, v_next = self.dot(f"{self.first}_x", 0), self.dot(f"{self.first}_x_next", 0)
        own = lambda n: f"{n}_[lane_]" if n in self.per_lane else n  # noqa: E731
        names = [f"{n}_" if n in self.per_lane else n for n in ("reward", "gamma_next")]
        body = [f"out_[lane_] = {own('reward')} + {own('gamma_next')} * v_next_[lane_] - v_[lane_]"]
        self.parts.append(self.lanewise("value_error", ["out_", "v_", "v_next_", *names], body, "out_"))
        return ["if last_:", f"    value_error({self.of_all('td_error')}, {v}, {v_next}, reward, gamma_next)"]

    def mark(self) -> list[str]:
        """Code that marks the lanes whose prediction at x' has diverged; it runs only if a lane exceeds its bounds."""
        body = ["out_[lane_] = out_[lane_] if abs(v_[lane_]) <= allowed_[lane_] else 1.0"]
        self.parts.append(self.lanewise("mark", ["out_", "v_", "allowed_"], body, "out_"))
        squares = self.rule.squares if self.rule is not None else ()
        limit = "N_[ALLOWED_OF[k_]]" if squares else self.of_all("allowed")
        lines = ["if beyond_k_ > 0:", "    if beyond_ == 0:", "        fill(N_[OUT], 0.0)", "    beyond_ += beyond_k_"]
        call = f"mark(N_[OUT], {self.dot(f'{self.first}_x_next')}, {limit})"
        return [*lines, *(["    if k_ < 2:", f"        {call}"] if self.model.restarting else [f"    {call}"])]


def _by_group(calls: list[list[str]]) -> list[str]:
    """Code that selects the lines of the group that the current estimate belongs to."""
    if len(calls) == 1 or not any(calls):
        return calls[0]
    lines: list[str] = []
    for g, call in enumerate(calls):
        test = "else:" if g + 1 == len(calls) else f"{'el' if g else ''}if GROUP_OF[k_] == {g}:"
        lines += [test, *(f"    {line}" for line in call)]
    return lines


def _most(some: list[str]) -> str:
    return some[0] if len(some) == 1 else f"max({some[0]}, {_most(some[1:])})"
