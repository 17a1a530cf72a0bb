"""AdaGrad: Duchi, Hazan & Singer (2011). One step size per weight, which decreases with its past gradients.

    G_i += g_i²,    w_i += α g_i / √G_i

g is the change of w that the algorithm's own equations give at α = 1. Second weights h are treated alike, with αβ in
place of α. AdaGrad is defined for algorithms whose traces carry no step size and whose updates are linear in it; their
declarations with AdaGrad are generated from their equations.
"""

from __future__ import annotations

import ast
import math
from functools import cache
from typing import Any

import numpy as np

from tdlambda.arrays import positive
from tdlambda.core import declare, source
from tdlambda.core.equations import Line, Symbol, parse, times, total, written
from tdlambda.core.names import words
from tdlambda.learners.step_size import StepSize


class AdaGrad(StepSize):
    """AdaGrad: one step size per weight, α divided by the root of the sum of its squared gradients.

    Parameters
    ----------
    alpha
        Step size α > 0: the size of each weight's first step.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TDRC(td.features.OneHot(3), alpha=td.steps.AdaGrad(0.25), lam=0.0)
    >>> v.update(0, 8.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.25
    """

    def __init__(self, alpha: float = 0.1) -> None:
        self.alpha = positive(alpha, "alpha")

    def declare(self, algorithm: type[declare.AlgorithmDeclaration]) -> type[declare.AlgorithmDeclaration]:
        """The declaration of the algorithm with AdaGrad; TypeError unless its update is an equation linear in α."""
        if algorithm.feature is not None or algorithm.trace_scale or not _linear(algorithm):  # type: ignore[arg-type]
            raise TypeError(
                "alpha: AdaGrad needs an algorithm whose updates are linear in α and whose traces do not contain α, "
                f"such as td.TD; got {algorithm.__name__}"
            )
        return _with_adagrad(algorithm)  # type: ignore[arg-type]


@cache
def _linear(base: type[declare.AlgorithmDeclaration]) -> bool:
    """Whether weight updates are proportional to the step sizes, and everything else is independent of them."""
    sizes, asked, lines = words(base.sizes), source.arguments(base.step), parse(base.updates, base.row_names())
    given = dict(zip(asked, np.random.default_rng(0).uniform(0.1, 0.9, len(asked)).tolist(), strict=True))
    found = []
    for size in (0.01, 0.02):
        made = base.step(**given | {name: size for name in sizes if name in given})
        found.append(dict(zip(source.returned(base.step), np.atleast_1d(made).tolist(), strict=True)))
    weights = {t.coefficient for line in lines if line.row in words(base.weight_rows) for t in line.terms}
    decays = {line.own for line in lines if line.row in words(base.weight_rows)}
    factor = {name: 2.0 if name in weights else 1.0 for name in set(found[0]) - decays}
    return all(math.isclose(found[1][name], by * found[0][name], rel_tol=1e-9) for name, by in factor.items())


@cache
def _with_adagrad(base: type[declare.AlgorithmDeclaration]) -> type[declare.AlgorithmDeclaration]:
    """The declaration: `step` with step sizes of 1, and the equations written for one feature."""
    weights, sizes, title = words(base.weight_rows), words(base.sizes), f"AdaGrad of {base.__name__}"
    step = ast.unparse(ast.fix_missing_locations(source.tree(base.step, dict.fromkeys(sizes, 1.0))))
    members: dict[str, Any] = {
        "__doc__": f"{base.__name__} with AdaGrad.",
        "weight_rows": " ".join([*weights, *(f"{row}_squares" for row in weights)]),
        "trace_rows": base.trace_rows,
        "lasting_rows": " ".join(row for row in base.equations().decaying if row in weights),
        "sizes": base.sizes,
        "parameters": base.parameters,
        "dots": base.dots,
        "keeps": base.keeps,
        "holds": base.holds,
        "center": base.center,
        "of_value": base.of_value,
        "starts": base.starts,
        "reads_terminal": base.reads_terminal,
        "step": staticmethod(source.function_from(step, base.step.__globals__, title)),
        "feature": staticmethod(source.function_from(_feature(base), {"math": math}, title)),
    }
    return type(f"AdaGrad{base.__name__}", (declare.AlgorithmDeclaration,), members)


def _feature(base: type[declare.AlgorithmDeclaration]) -> str:
    """The source of the update of one feature."""
    rows, weights, sizes = base.row_names(), words(base.weight_rows), words(base.sizes)
    lines = parse(base.updates, rows)
    body, out = [], []
    for line in lines:
        if line.row not in weights:
            body.append(f"{line.row} = {_right(line, line.own)}")
            out.append(line.row)
            continue
        size = "alpha" if line.row == weights[0] else f"alpha * {sizes[weights.index(line.row)]}"
        decay = "0" if not line.own else f"({line.own} - 1.0)"
        body += [f"change = {_right(line, decay)}", f"{line.row}_squares = {line.row}_squares + change * change"]
        body += ["if change != 0:", f"    {line.row} = {line.row} + {size} * change / math.sqrt({line.row}_squares)"]
        out += [line.row, f"{line.row}_squares"]
    names = {*base.equations().coefficients, *(sizes[weights.index(r)] for r in out if r in weights), "alpha"}
    nexts = ["x_next"] if any(t.vector == "x'" for line in lines for t in line.terms) else []
    head = [*rows, *(f"{row}_squares" for row in weights), "x", *nexts, *sorted(names)]
    text = "".join(f"    {part}\n" for part in body)
    return f"def feature({', '.join(head)}):\n{text}    return {', '.join(out)}\n"


def _right(line: Line, own: str) -> str:
    """The right-hand side of an equation at one feature; `own` is the row's own factor, "" for 1 and "0" for none."""
    vectors = {"x'": "x_next"}
    parts = [] if own == "0" else [("+", own, line.row)]
    parts += [(t.sign, t.coefficient, vectors.get(t.vector, t.vector)) for t in line.terms]
    named = [(sign, times(Symbol("number", c) if c else 1.0, Symbol("row", vector))) for sign, c, vector in parts]
    return written(total(named))
