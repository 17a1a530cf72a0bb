"""Text that all schedules write: the functions of a model, and indented lines."""

from __future__ import annotations

from typing import Any

from tdlambda.core.model import Model
from tdlambda.core.source import embed


def indent(lines: list[str], by: int = 4) -> str:
    """Lines as indented text, such as a function's body."""
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def functions(model: Model, encode: Any = None) -> list[str]:
    """The sources of a model's functions and of all that they use: `before`, `step`, `feature`, `rule_…`, `encode`."""
    done: dict[str, str] = {}
    if encode is not None:
        embed(encode, "encode", done)
    if model.algorithm.before is not None:
        embed(model.algorithm.before, "before", done)
    embed(model.algorithm.step, "step", done)
    if model.algorithm.feature is not None:
        embed(model.algorithm.feature, "feature", done)
    for phase in model.phases:
        embed(phase.function, f"rule_{phase.name}", done, model.constants, phase.results)
    if model.rule is not None and model.rule.closes is not None:
        embed(model.rule.closes, "rule_closes", done)
    return list(done.values())
