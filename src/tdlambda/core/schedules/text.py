"""Text that all schedules write: the functions of a step, and indented lines."""

from __future__ import annotations

from typing import Any

from tdlambda.core.source import embed
from tdlambda.core.step import Step


def indent(lines: list[str], by: int = 4) -> str:
    """Lines as indented text, such as a function's body."""
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def block(head: str, *lines: str) -> list[str]:
    """A statement such as a loop, with the lines of its body indented below it."""
    return [head, *(f"    {line}" for line in lines)]


def functions(step: Step, encode: Any = None) -> list[str]:
    """The sources of a step's functions and of all that they use: `before`, `step`, `feature`, `rule_…`, `encode`."""
    done: dict[str, str] = {}
    if encode is not None:
        embed(encode, "encode", done)
    for function in step.functions():
        embed(function.source, function.name, done, dict(function.constants), function.wanted)
    return list(done.values())
