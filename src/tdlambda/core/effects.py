"""What an operation of a step reads and writes, and whether a reordering of operations is legal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tdlambda.core import step as ir

Resource = tuple[str, Any]
"""("local", name), ("number", name), ("slot", name), ("row", row), or one of ("transition", ""), ("live", "") and
("limits", ""): the features of the transition, the list of live features, the largest inputs so far. ("within", k) is
whether bounds hold, as far as an estimate k or the rule ("") decides it."""


def values(*given: Any) -> set[Resource]:
    """What arguments and values read."""
    found: set[Resource] = set()
    for v in given:
        match v:
            case ir.Times():
                found |= values(v.left, v.right)
            case ir.Local():
                found.add(("local", v.name))
            case ir.Entry():
                found.add(("row", v.row))
            case ir.RecordNumber():
                found.add(("number", v.name))
    return found


def reads(op: ir.Operation) -> set[Resource]:
    """What an operation depends on; all depend on `Begin`, which decides what x' and z are and counts the step."""
    return set() if isinstance(op, ir.Begin) else _reads(op) | {("transition", "")}


def _rows(rows: Iterable[ir.Row]) -> set[Resource]:
    return {("row", row) for row in rows}


def _locals(names: Iterable[str]) -> set[Resource]:
    return {("local", name) for name in names}


def _reads(op: ir.Operation) -> set[Resource]:
    live: Resource = ("live", "")
    match op:
        case ir.Limit():
            return _locals(["reward", "gamma_next", "rho"])
        case ir.Dot():
            return _rows([op.row])
        case ir.RowDot():
            return _rows([op.left, op.right]) | {live}
        case ir.Load():
            return values(op.start) | {("slot", op.slot)}
        case ir.Let() | ir.Keep():
            return values(op.value)
        case ir.Center():
            return values(op.by) | _locals(["reward"])
        case ir.Derive():
            return {("limits", "")} | (_locals(["alpha_"]) if op.out == "alpha" else set())
        case ir.Call():
            return values(*op.arguments)
        case ir.Visit():
            more = {live} if op.where == "live" else set()
            return values(*op.arguments) | more | {("number", name) for name in op.shared}
        case ir.Update():
            named = {line.row for line in op.lines} | {t.vector for line in op.lines for t in line.terms}
            own = (ir.Row(op.of, name) for name in named - {"x", "x'", "z"})
            return values(*op.coefficients.values(), op.bound) | _rows(own) | {live}
        case ir.Report():
            return values(op.value, op.value_next, op.lam) | _locals(["reward", "gamma_next"])
        case ir.Check():
            return values(op.prediction) | _locals(["limit_"])
        case ir.Finite():
            return _locals(op.numbers) | _rows(op.rows)
        case ir.Restart():
            copied = [ir.Row(op.safe, op.weights), ir.Row(op.estimate, op.weights)]
            starts = [row for row in op.keeps.values() if isinstance(row, ir.Row)]
            return _rows([*copied, *starts]) | _locals(["limit_", "turning"])
        case ir.Mix():
            return _rows(op.parts) | _locals(op.parts.values())
        case ir.Prune():
            return _rows(op.fading) | {live} | _locals(f"{size}_" for size in op.scale)
        case ir.Clear():
            return _rows(op.rows) | {live}
        case ir.Stop():
            return _rows(op.rows) | {("within", of) for of in ("", *(row.of for row in op.rows))}
    return set()


def writes(op: ir.Operation) -> set[Resource]:
    """What an operation changes or defines."""
    live: Resource = ("live", "")
    match op:
        case ir.Begin():
            return _locals(op.inputs) | {("transition", "")}
        case ir.Limit():
            return _locals([op.out]) | {("limits", "")}
        case ir.Center():
            return _locals(["reward"])
        case ir.Visit():
            return _locals([*op.sums.values(), *([op.count] if op.count else [])]) | _rows(op.rows.values())
        case ir.Update():
            return _rows(ir.Row(op.of, line.row) for line in op.lines)
        case ir.Keep():
            return {("slot", op.slot)}
        case ir.Restart():
            return _rows(ir.Row(op.estimate, name) for name in (op.weights, *op.starts)) | {
                ("slot", s) for s in op.keeps
            }
        case ir.Mix():
            return _rows([op.out])
        case ir.Enliven():
            return {live}
        case ir.Prune():
            return _rows(op.fading) | {live}
        case ir.Clear():
            return _rows(op.rows) | {live}
        case ir.Stop():
            return _rows(op.rows)
        case ir.Check():
            return {("within", op.estimate)}
        case ir.Finite():
            return {("within", "")}
        case ir.Report():
            return set()
    return _locals([op.out] if isinstance(op.out, str) else op.out)


def undefined(operations: Iterable[ir.Operation]) -> list[str]:
    """The numbers that are read before an operation defines them."""
    known: set[str] = set()
    found: list[str] = []
    for op in operations:
        found += sorted(name for kind, name in reads(op) if kind == "local" and name not in known)
        known |= {name for kind, name in writes(op) if kind == "local"}
    return list(dict.fromkeys(found))


def illegal(
    before: tuple[ir.Operation, ...], after: tuple[ir.Operation, ...]
) -> list[tuple[ir.Operation, ir.Operation]]:
    """Pairs of operations of which one depends on the other and that a reordering has exchanged; [] if it is legal."""
    place = {id(op): i for i, op in enumerate(after)}
    if sorted(place) != sorted(map(id, before)):
        raise ValueError("after must have the operations of before, each once")
    effects = [(op, reads(op), writes(op)) for op in before]
    return [
        (a, b)
        for i, (a, read, written) in enumerate(effects)
        for b, read_b, written_b in effects[i + 1 :]
        if (written & (read_b | written_b) or read & written_b) and place[id(a)] > place[id(b)]
    ]
