"""A slow, simple interpreter of declarations, the reference for every generated schedule.

Vectors are dense NumPy arrays, rows are kept by name, and a step follows the declaration from top to bottom.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from tdlambda.core.declare import INPUTS
from tdlambda.core.equations import Line, parse
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.runtime import RUNAWAY, TURNS
from tdlambda.core.source import returned


class Interpreter:
    """One learner of a model, over `size` features (and λ's features `z_size`)."""

    def __init__(self, model: Model, size: int, numbers: dict[str, float], z_size: int | None = None) -> None:
        self.model, self.a, self.rule = model, model.algorithm, model.rule
        self.numbers = dict(numbers)
        starts = {f"{k}_{row}": at for k in model.estimates for row, at in self.a.starts.items()}
        self.rows = {name: np.full(size, starts.get(name, 0.0)) for name in model.rows}
        width = size if z_size is None or model.over_x else z_size
        self.rule_rows = {name: np.zeros(width) for name in model.rule_rows}
        self.kept: dict[str, float] = dict(model.held)
        self.visits, self.steps, self.since, self.most_reward, self.fresh = np.zeros(size), 0, 0, 0.0, True
        self.lam_next = self.td_error = self.most_gamma = 0.0
        self.length = self.longest = 0

    def learn(
        self, x: Any, y: Any, reward: float, gamma: float, rho: float, lam: float = 1.0,
        terminated: bool = False, truncated: bool = False, z: Any = None, factor: float = 1.0,
    ) -> None:  # fmt: skip
        """Learn from one transition from x to x' = y. z are λ's features at x'; `factor` is one on every λ'.

        If x' is a mixture (`Model.mixed`), z is x of the next step.
        """
        z = y if z is None else z
        self.steps += 1
        most = self._largest(reward, 0.0 if terminated else gamma) + self.numbers.get("start", 0.0) * abs(y).sum()
        if self.a.center:
            reward = reward - self.kept[f"{self.model.learning[0]}_{self.a.center}"]
        known: dict[str, Any] = {
            "reward": reward,
            "gamma_next": 0.0 if terminated else gamma,
            "rho": rho,
            "one": 1.0,
            "factor_": factor,
        }
        known["ready"] = (not terminated or self.a.reads_terminal) and self.steps > self.numbers.get("warm_up", 0)
        known |= {"lam_next": lam, "xx": x @ x, "zz": z @ z, "most_reward": self.most_reward}
        known["turning"] = self.steps % max(len(x), TURNS) == 0
        if terminated:
            z = z if self.a.reads_terminal else 0 * z
            y = y if self.a.reads_terminal else 0 * y
        sizes = self._sizes(x)
        dots = {(k, name): self._dot(k, what, x, y) for k in self.model.estimates for name, what in self.a.dots.items()}
        if self.fresh:
            self._begin(dots)
        first = words(self.a.weight_rows)[0]
        v, v_next = self.rows[f"V_{first}"] @ x, self.rows[f"V_{first}"] @ y
        after = []
        if self.rule is not None:
            known = self.numbers | known | {"alpha": sizes["alpha"]} | self._rule_dots(x, y, z)
            known |= {keep: self.kept[keep] for keep in (*self.rule.keeps, *self.rule.holds)}
            for phase in self.model.phases:
                if phase.where in ("after x", "all"):
                    after.append(phase)
                else:
                    self._phase(phase, known, x, y, z)
            self._apply(self.rule_rows, "", self.rule.updates, known, x if self.model.over_x else z, y)
            self.kept |= {keep: known[keep] for keep in (*self.rule.keeps, *self.rule.holds)}
        for k in self.model.learning:
            carried = {f"{k}_{keep}": float(self.rows[f"{k}_{row}"] @ z) for keep, row in self.model.carried.items()}
            self._estimate(k, self.model.estimates[k], known, dots, sizes, x, y)
            self.kept |= carried
        if self.model.mixture:
            self._mix(x, y, RUNAWAY * most)
        for phase in after:
            self._phase(phase, known, x, y, z, terminated or truncated)
        self.lam_next, self.td_error = known["lam_next"], reward + known["gamma_next"] * v_next - v
        self.fresh = bool(terminated or truncated)
        if self.fresh:
            traces = [f"{k}_{r}" for k in self.model.estimates for r in words(self.a.trace_rows)]
            self.rows |= {name: 0 * self.rows[name] for name in traces}
            self.rule_rows |= {
                r: 0 * self.rule_rows[r] for r in (words(self.rule.trace_rows) if self.rule is not None else [])
            }

    def _largest(self, reward: float, gamma: float) -> float:
        """The largest value that rewards and discounts so far allow."""
        self.most_reward, self.most_gamma = max(self.most_reward, abs(reward)), max(self.most_gamma, gamma)
        self.length = 1 if self.fresh else self.length + 1
        self.longest = max(self.longest, self.length)
        ahead = 1 / (1 - self.most_gamma) if self.most_gamma < 1 else np.inf
        return float(self.most_reward * min(10 * self.longest, ahead))

    def _mix(self, x: Any, y: Any, most: float) -> None:
        """Restart estimates that exceed `most` from the first estimate of the mixture; then set V to the mixture."""
        a, first = self.a, words(self.a.weight_rows)[0]
        safe = self.rows[f"{next(iter(self.model.mixture))}_{first}"]
        for k in self.model.restarting:
            w = self.rows[f"{k}_{first}"]
            if abs(w @ x) <= most and abs(w @ y) <= most:
                continue
            starts = {row: a.starts.get(row, 0.0) for row in a.row_names()}
            self.rows |= {f"{k}_{row}": np.full(len(x), start) for row, start in starts.items()}
            self.rows[f"{k}_{first}"] = safe.copy()
            for keep, start in a.keeps.items():
                self.kept[f"{k}_{keep}"] = self._dot(k, a.dots[start], y, y) if isinstance(start, str) else start
            self.kept |= {f"{k}_{hold}": start for hold, start in a.holds.items()}
        mixed = [self.kept[number] * self.rows[f"{k}_{first}"] for k, number in self.model.mixture.items()]
        self.rows[f"V_{first}"] = np.sum(mixed, axis=0)

    def _sizes(self, x: Any) -> dict[str, float]:
        """Step sizes at this step."""
        sizes = {name: self.numbers[name] for name in words(self.a.sizes)}
        if self.model.sizes_by == "constant":
            return sizes
        n = float(self.steps)
        if self.model.sizes_by == "visits":
            self.visits += x != 0
            n = x**2 @ self.visits / (x @ x) if x @ x > 0 else 1.0
        alpha = sizes["alpha"] / (self.numbers["offset"] + n) ** self.numbers["power"]
        return {name: alpha if name == "alpha" else size * alpha for name, size in sizes.items()}

    def _dot(self, k: str, what: str, x: Any, y: Any) -> float:
        vectors = {"x": x, "x'": y}
        left, right = (vectors[n] if n in vectors else self.rows[f"{k}_{n}"] for n in what.split("."))
        return float(left @ right)

    def _begin(self, dots: dict[tuple[str, str], float]) -> None:
        """Set kept numbers to their values at the start of an episode."""
        for k in self.model.estimates:
            for keep, start in self.a.keeps.items():
                self.kept[f"{k}_{keep}"] = dots[k, start] if isinstance(start, str) else start
        for keep, start in self.rule.keeps.items() if self.rule is not None else ():
            self.kept[keep] = float(start)

    def _rule_dots(self, x: Any, y: Any, z: Any) -> dict[str, float]:
        """The predictions, kept numbers and dot products that the rule's functions have as arguments."""
        assert self.rule is not None
        found, first = {}, words(self.a.weight_rows)[0]
        vectors = {"x": x, "x'": y, "z": z}
        for name, what in self.rule.dots.items():
            left, *rest = what.split(".")
            if left in self.rule_rows:
                found[name] = self.rule_rows[left] @ vectors[rest[0]]
            elif rest[-1] in vectors:
                found[name] = self.rows[f"{left}_{first if len(rest) == 1 else rest[0]}"] @ vectors[rest[-1]]
            else:
                pin = self.model.pinned(left, rest[0])
                found[name] = self.kept[f"{left}_{rest[0]}"] if pin is None else pin
        return found

    def _phase(self, phase: Any, known: dict[str, Any], x: Any, y: Any, z: Any, ended: bool = False) -> None:
        """Call one function of the rule, once or at features, and store its results."""
        assert self.rule is not None
        names = _parameters(phase.function) if callable(phase.function) else phase.arguments
        function, results = _callable(phase.function), returned(phase.function)
        known |= self.model.constants
        unused = dict.fromkeys(set(names) - set(phase.arguments) - set(known), 0.0)  # with these constants
        call = lambda local: _named(results, function(**{n: (unused | local)[n] for n in names}))  # noqa: E731
        if not phase.where:
            known |= call(known)
            return
        vector = {"x": x, "after x": x, "x'": y, "z": z, "all": np.ones(len(x))}[phase.where]
        if phase.where == "all":
            self.since += 1
            shared = [self.numbers[name] for name in words(self.rule.shared)]
            if not self.rule.closes(self.since, len(x), ended, *shared):
                return
            self.since = 0
        sums = dict.fromkeys([n for n in results if n not in self.rule_rows], 0.0)
        first = words(self.a.weight_rows)[0]
        for f in np.flatnonzero(vector):
            local = known | {r: row[f] for r, row in self.rule_rows.items()} | {"x": vector[f]}
            found = call(local | {f"{k}_w": self.rows[f"{k}_{first}"][f] for k in self.model.estimates})
            for name, value in found.items():
                if name in sums:
                    sums[name] += value
                else:
                    self.rule_rows[name][f] = value
        known |= sums | {f"{phase.name}_count": float(np.count_nonzero(vector))}

    def _estimate(self, k: str, given: Any, known: Any, dots: Any, sizes: Any, x: Any, y: Any) -> None:
        """Let one estimate learn from its own reward, discount, ratio and λ'."""
        local = {name: known[source] for name, source in zip(INPUTS, given[:4], strict=True)}
        local["lam_next"] *= known["factor_"]
        local |= {name: dots[k, name] for name in self.a.dots}
        local |= {size: known[given.pace] * value for size, value in sizes.items()}
        local |= {size: 0.0 for size in sizes if self.model.without(size, k)}
        for name in words(self.a.parameters):
            local[name] = 0.0 if self.model.parameter(name, k) == "0.0" else self.numbers[name]
        for keep in self.a.keeps:
            pin = self.model.pinned(k, keep)
            local[keep] = self.kept[f"{k}_{keep}"] if pin is None else pin
        local |= {hold: self.kept[f"{k}_{hold}"] for hold in self.a.holds}
        if self.model.before is not None:
            local |= self._before(k, local, x, y)
        wanted = {name: local[name] for name in _parameters(self.a.step)}
        local |= _named(returned(self.a.step), self.a.step(**wanted))
        self.kept |= {f"{k}_{name}": local[name] for name in (*self.a.keeps, *self.a.holds)}
        if self.a.feature is None:
            self._apply(self.rows, f"{k}_", self.a.updates, local, x, y)
            return
        for f in range(len(x)):
            self._at_feature(k, self.a.feature, f, local, x, y)

    def _before(self, k: str, local: dict[str, Any], x: Any, y: Any) -> dict[str, float]:
        """The sums over features of what `before` returns, for `step`."""
        assert self.model.before is not None
        sums = dict.fromkeys(self.model.before.results, 0.0)
        for f in np.flatnonzero(x) if self.model.before.where == "x" else range(len(x)):
            found = self._at_feature(k, self.a.before, f, local, x, y)
            sums = {name: total + found[name] for name, total in sums.items()}
        return sums

    def _at_feature(self, k: str, function: Any, f: Any, local: dict[str, Any], x: Any, y: Any) -> dict[str, Any]:
        """Call a function at one feature, and write the rows that it returns."""
        here = local | {row: self.rows[f"{k}_{row}"][f] for row in self.a.row_names()} | {"x": x[f], "x_next": y[f]}
        found = _named(returned(function), function(**{n: here[n] for n in _parameters(function)}))
        for name in set(found) & set(self.a.row_names()):
            self.rows[f"{k}_{name}"][f] = found[name]
        return found

    def _apply(self, rows: dict[str, Any], prefix: str, updates: str, known: Any, x: Any, y: Any) -> None:
        """Apply equations line by line; later lines use the new rows of earlier ones."""
        names = tuple(name.removeprefix(prefix) for name in rows if name.startswith(prefix))
        for line in _lines(updates, names):
            old = rows[prefix + line.row]
            new = 0.0 * old if line.own == "0" else (known[line.own] if line.own else 1.0) * old
            for term in line.terms:
                vector = {"x": x, "z": x, "x'": y}.get(term.vector)
                vector = rows[prefix + term.vector] if vector is None else vector
                size = known[term.coefficient] if term.coefficient else 1.0
                new = new + (size if term.sign == "+" else -size) * vector
            rows[prefix + line.row] = new


@cache
def _parameters(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments."""
    return tuple(inspect.signature(function).parameters)


@cache
def _lines(updates: str, rows: tuple[str, ...]) -> list[Line]:
    """The equations in a text, read once."""
    return parse(updates, list(rows))


@cache
def _callable(function: Any) -> Any:
    """A function, from itself or from its source."""
    if callable(function):
        return function
    namespace: dict[str, Any] = {}
    exec(function, namespace)
    return next(value for name, value in namespace.items() if name != "__builtins__")


def _named(names: list[str], values: Any) -> dict[str, Any]:
    return dict(zip(names, values if isinstance(values, tuple) else (values,), strict=True))
