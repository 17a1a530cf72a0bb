"""What an algorithm may use on a network: x is the gradient ∇V(s; w), and there is no x' to go with it."""

from __future__ import annotations

from typing import Any

from tdlambda.core import source
from tdlambda.core.equations import Line, parse
from tdlambda.core.model import Model
from tdlambda.core.names import words


def check(model: Model) -> None:
    """Raise TypeError unless a network can run the model; the message quotes the line of the declaration."""
    a, name = model.algorithm, model.algorithm.__name__
    first = words(a.weight_rows)[0]
    if model.sizes_by == "visits":
        _refuse(name, "alpha: a schedule by visits counts features", 'use td.steps.OneOver("steps")')
    for dot, what in a.dots.items():
        row, _, vector = what.partition(".")
        if vector == "x'" and row != first:
            _refuse(name, f"dots: {dot!r}: {what!r} needs the gradient at the next state", _TD)
    for keep, start in a.keeps.items():
        if isinstance(start, str):
            what = f"keeps: {keep!r}: {start!r} is a prediction of the weights before the last step"
            _refuse(name, f"{what}, as true online methods need", _TD)
    for function in (a.before, a.feature):
        if function is not None and "x_next" in source.arguments(function):
            _refuse(name, f"{function.__name__}(…, x_next, …) needs the gradient at the next state", _TD)
    for line in parse(a.updates, a.row_names()) if a.updates else ():
        _check_line(name, a, line)


def values_for(heads: Model) -> tuple[tuple[str, str], ...]:
    """The predictions of V that a rule reads, by name, and where; TypeError if it reads anything else of V.

    The rule and its estimates are linear in the last hidden layer, and V is not.
    """
    rule: Any = heads.rule
    name = f"lam: {type(rule).__name__}"
    if rule.mixture:
        raise TypeError(f'{name} cannot run on a network: V would be a mixture; use lam="auto"')
    read = {n: what.split(".", 1)[1] for n, what in rule.dots.items() if what.split(".")[0] == "V"}
    more = [rule.dots[n] for n, at in read.items() if at not in ("x", "x'")]
    more += ["V_w" for p in heads.phases if "V_w" in p.arguments]
    if more:
        raise TypeError(f"{name} cannot run on a network: {more[0]!r} is not a prediction of V; use another rule")
    return tuple(read.items())


_TD = "use td.TD, with a step size of td.steps"


def _check_line(name: str, a: Any, line: Line) -> None:
    """Raise ValueError for x' in an equation, and for traces whose gradient is weighted by e·x (Dutch traces)."""
    text = _written(line)
    for term in line.terms:
        if term.vector == "x'":
            _refuse(name, f"{text!r} adds the gradient at the next state", _TD)
        if term.vector != "x" or line.row not in words(a.trace_rows) or term.coefficient not in source.returned(a.step):
            continue
        needed = source.arguments(a.step, None, [term.coefficient])
        through = [a.dots[n] for n in needed if n in a.dots and a.dots[n].partition(".")[0] in words(a.trace_rows)]
        if through:
            why = f"in {text!r}, {term.coefficient} depends on {through[0]}, as in Dutch traces"
            _refuse(name, why, _TD)


def _written(line: Line) -> str:
    """An equation, as it is declared."""
    own = "" if line.own == "0" else f"{line.own} {line.row} " if line.own else ""
    terms = "".join(f"{t.sign} {t.coefficient} {t.vector} ".replace("  ", " ") for t in line.terms).strip()
    return f"{line.row} = {own}{terms}" if line.own else f"{line.row} += {terms.removeprefix('+ ')}"


def _refuse(name: str, what: str, instead: str) -> None:
    raise TypeError(
        f"features: {name} cannot run on a network: {what}; {instead}, or features such as td.features.Dense"
    )
