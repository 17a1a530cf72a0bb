"""An interpreter of operations, on dense vectors: with it, any legal order of a step's operations can be executed."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from tdlambda.core import step as ir
from tdlambda.core.lowering import lower
from tdlambda.core.model import Model
from tdlambda.core.runtime import RUNAWAY, TURNS
from tdlambda.core.source import function_from, tree


class Operations:
    """One learner of a model, over `size` features (and λ's features `z_size`), that executes operations one by one."""

    def __init__(self, model: Model, size: int, numbers: dict[str, float], z_size: int, order: Any = None) -> None:
        self.step = lower(model)
        if order is not None:
            self.step = replace(self.step, operations=tuple(order))
        self.size, width = size, size if model.over_x else z_size
        self.numbers = {"factor": 1.0, "start": 0.0, "warm_up": 0} | numbers
        self.slots = dict.fromkeys(self.step.slots, 0.0) | dict(self.step.held)
        self.rows = {row: np.full(size, self.step.starts.get(row, 0.0)) for row in self.step.rows}
        self.rows |= {row: np.zeros(width) for row in self.step.rule_rows}
        self.visits, self.fresh, self.within = np.zeros(size), True, True
        self.steps = self.since = self.length = self.longest = 0
        self.most = {"reward": 0.0, "gamma": 0.0, "rho": 0.0}
        self.td_error = self.last_lam = 0.0
        self.functions = {f.name: _callable(f) for f in self.step.functions()}

    def learn(
        self, x: Any, y: Any, reward: float, gamma: float, rho: float, lam: float = 1.0,
        terminated: bool = False, truncated: bool = False, z: Any = None, cut: float = 1.0,
    ) -> None:  # fmt: skip
        """Learn from one transition; the arguments are those of `core.interpreter.Interpreter.learn`."""
        self.at = {"x": x, "x'": y, "z": y if z is None else z}
        self.given_z, self.terminated, self.ended, self.given = (
            self.at["z"],
            terminated,
            terminated or truncated,
            abs(y).sum(),
        )
        self.local: dict[str, Any] = {"reward": reward, "gamma_next": gamma, "rho": rho, "lam_next": lam, "cut": cut}
        for op in self.step.operations:
            do = getattr(self, type(op).__name__.lower(), None)
            if do is not None:  # Enliven, Prune and Stop change nothing here
                do(op)

    def value(self, v: Any) -> Any:
        if isinstance(v, ir.Const):
            return v.value
        if isinstance(v, ir.Times):
            return self.value(v.left) * self.value(v.right)
        return self.numbers[v.name] if isinstance(v, ir.RecordNumber) else self.local[v.name]

    def called(self, f: ir.Function, values: Any) -> dict[str, Any]:
        found = self.functions[f.name](*values)
        return dict(zip(f.results, found if isinstance(found, tuple) else (found,), strict=True))

    # ---- operations --------------------------------------------------------------------------------------------------

    def begin(self, op: ir.Begin) -> None:
        self.steps, self.within = self.steps + 1, True
        if self.terminated:
            self.local["gamma_next"] = 0.0
            if not op.reads_terminal:
                self.at["x'"], self.at["z"] = 0 * self.at["x'"], 0 * self.at["z"]

    def limit(self, op: ir.Limit) -> None:
        most, now = self.most, self.local
        most["reward"], most["gamma"] = max(most["reward"], abs(now["reward"])), max(most["gamma"], now["gamma_next"])
        most["rho"], self.length = max(most["rho"], now["rho"]), 1 if self.fresh else self.length + 1
        self.longest = max(self.longest, self.length)
        ahead = 1 / (1 - most["gamma"]) if most["gamma"] < 1 else np.inf
        scale = most["reward"] * min(10 * self.longest, ahead) + self.numbers["start"] * self.given
        now[op.out] = self.numbers["factor"] * scale

    def sizes(self, op: ir.Sizes) -> None:
        sizes = [self.numbers[size] for size in op.sizes]
        if op.by != "constant":
            x, n = self.at["x"], float(self.steps)
            if op.by == "visits":
                self.visits += x != 0
                n = x**2 @ self.visits / (x @ x) if x @ x > 0 else 1.0
            alpha = sizes[0] / (self.numbers["offset"] + n) ** self.numbers["power"]
            sizes = [alpha, *(size * alpha for size in sizes[1:])]
        self.local |= dict(zip(op.out, sizes, strict=True))

    def dot(self, op: ir.Dot) -> None:
        self.local[op.out] = float(self.rows[op.row] @ self.at[op.at])

    def rowdot(self, op: ir.RowDot) -> None:
        self.local[op.out] = float(self.rows[op.left] @ self.rows[op.right])

    def outer(self, op: ir.Outer) -> None:
        left, right = (self.at[name] for name in op.what.split("."))
        self.local[op.out] = float(left @ right)

    def load(self, op: ir.Load) -> None:
        start = self.fresh and op.start is not None
        self.local[op.out] = self.value(op.start) if start else self.slots[op.slot]

    def let(self, op: ir.Let) -> None:
        self.local[op.out] = self.value(op.value)

    def center(self, op: ir.Center) -> None:
        self.local["reward"] -= self.value(op.by)

    def derive(self, op: ir.Derive) -> None:
        reads = self.step.only(ir.Begin).reads_terminal
        found: dict[str, Any] = {
            "ready": lambda: (not self.terminated or reads) and self.steps > self.numbers["warm_up"],
            "xx": lambda: self.at["x"] @ self.at["x"], "zz": lambda: self.given_z @ self.given_z,
            "most_reward": lambda: self.most["reward"], "alpha": lambda: self.local["alpha_"], "one": lambda: 1.0,
            "turning": lambda: self.steps % max(self.size, TURNS) == 0,
        }  # fmt: skip
        self.local[op.out] = found[op.out]()

    def call(self, op: ir.Call) -> None:
        found = self.called(op.function, [self.value(a) for a in op.arguments])
        self.local |= dict(zip(op.out, found.values(), strict=True))

    def visit(self, op: ir.Visit) -> None:
        if op.when is not None:
            self.since += 1
            shared = [self.numbers[name] for name in op.shared]
            if not self.functions[op.when.name](self.since, self.size, self.ended, *shared):
                return
            self.since = 0
        where = range(self.size) if op.where in ("live", "all") else np.flatnonzero(self.at[op.where])
        sums = dict.fromkeys(op.sums, 0.0)
        for f in where:
            found = self.called(op.function, [self.argument(a, f) for a in op.arguments])
            for name, row in op.rows.items():
                self.rows[row][f] = found[name]
            sums = {name: total + found[name] for name, total in sums.items()}
        self.local |= {op.sums[name]: total for name, total in sums.items()}
        if op.count:
            self.local[op.count] = float(len(where))

    def argument(self, a: Any, f: Any) -> Any:
        if isinstance(a, ir.Here):
            return 1.0 if a.vector == "all" else self.at[a.vector][f]
        return self.rows[a.row][f] if isinstance(a, ir.Entry) else self.value(a)

    def update(self, op: ir.Update) -> None:
        known = {"": 1.0} | {name: self.value(v) for name, v in op.coefficients.items()}
        for line in op.lines:
            old = self.rows[ir.Row(op.of, line.row)]
            new = 0.0 * old if line.own == "0" else known[line.own] * old
            for t in line.terms:
                vector = {"x": self.at[op.at], "z": self.at[op.at], "x'": self.at["x'"]}.get(t.vector)
                vector = self.rows[ir.Row(op.of, t.vector)] if vector is None else vector
                new = new + (known[t.coefficient] if t.sign == "+" else -known[t.coefficient]) * vector
            self.rows[ir.Row(op.of, line.row)] = new

    def keep(self, op: ir.Keep) -> None:
        self.slots[op.slot] = self.value(op.value)

    def report(self, op: ir.Report) -> None:
        v, v_next = self.value(op.value), self.value(op.value_next)
        self.td_error = self.local["reward"] + self.local["gamma_next"] * v_next - v
        self.last_lam = self.value(op.lam)

    def check(self, op: ir.Check) -> None:
        limit = self.local["limit_"]
        limit = (limit * max(1.0, self.most["rho"] if op.corrected else 0.0)) ** 2 if op.squared else limit
        self.within &= bool(abs(self.value(op.prediction)) <= limit)

    def finite(self, op: ir.Finite) -> None:
        self.within &= all(np.isfinite(self.local[n]) for n in op.numbers)

    def restart(self, op: ir.Restart) -> None:
        w, most = ir.Row(op.estimate, op.weights), RUNAWAY * self.local["limit_"]
        if all(abs(self.rows[w] @ self.at[v]) * self.numbers["factor"] <= most for v in ("x", "x'")):
            return
        self.rows[w] = self.rows[ir.Row(op.safe, op.weights)].copy()
        self.rows |= {ir.Row(op.estimate, r): np.full(self.size, start) for r, start in op.starts.items()}
        for slot, start in op.keeps.items():
            self.slots[slot] = float(self.rows[start] @ self.at["x'"]) if isinstance(start, ir.Row) else start.value

    def mix(self, op: ir.Mix) -> None:
        self.rows[op.out] = np.sum([self.local[n] * self.rows[r] for r, n in op.parts.items()], axis=0)

    def clear(self, op: ir.Clear) -> None:
        self.fresh = bool(self.ended)
        if self.fresh:
            self.rows |= {row: 0 * self.rows[row] for row in op.rows}


def _callable(f: ir.Function) -> Any:
    """A declared function with its constants compiled in, and only the results that are used."""
    known = getattr(getattr(f.source, "py_func", f.source), "__globals__", {})
    text = ast.unparse(ast.fix_missing_locations(tree(f.source, dict(f.constants), f.wanted)))
    return function_from(text, known, f.name)


def shuffled(operations: tuple[ir.Operation, ...], rng: Any) -> tuple[ir.Operation, ...]:
    """A random order that respects every dependence; `Clear` and `Stop` stay last.

    Each operation has a random rank, and the first by rank of those that may come next does: so some wait for long.
    """
    from tdlambda.core.effects import reads, writes

    effects, fixed = [(reads(op), writes(op)) for op in operations], len(operations) - 2
    before = [
        {i for i in range(j) if effects[i][1] & (effects[j][0] | effects[j][1]) or effects[i][0] & effects[j][1]}
        for j in range(fixed)
    ]
    rank = [rng.random() for _ in range(fixed)]
    done: dict[int, ir.Operation] = {}
    while len(done) < fixed:
        j = min((j for j in range(fixed) if j not in done and before[j] <= set(done)), key=rank.__getitem__)
        done[j] = operations[j]
    return (*done.values(), *operations[fixed:])
