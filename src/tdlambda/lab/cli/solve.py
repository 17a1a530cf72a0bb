"""`tdlambda solve`."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import numpy as np
import typer

import tdlambda as td
from tdlambda.arrays import Floats, per_state
from tdlambda.lab.cli.options import Json, argument, option
from tdlambda.lab.cli.output import console, number, print_json, print_table

_SHOWN = 64


def solve(
    task: Annotated[str, argument("Task id: see [bold]tdlambda tasks[/bold].")],
    preset: Annotated[str | None, option("One of the task's presets.")] = None,
    options: Annotated[list[str] | None, option("Option of the task, name=value; may be repeated.", "--set")] = None,
    lam: Annotated[str | None, option("λ: a number, or one for each state, separated by commas.")] = None,
    values: Annotated[
        str | None,
        typer.Option(help="V that λ-returns bootstrap from: a number, or one for each state; 0 by default."),
    ] = None,
    json: Json = False,
) -> None:
    """Solve a finite task exactly: values, return variance, state distribution; with --lam, also the λ-return.

    Example: [bold]tdlambda solve RingWorld-v0 --preset 0.3/0.25 --lam 0.9[/bold]
    """
    built = td.make(task, preset, **dict(_option(text) for text in options or []))
    if not isinstance(built, td.TabularTask):
        raise ValueError(f"task: {task} has no finite model, so it cannot be solved exactly; see tdlambda tasks")
    n_states, answer = built.mdp.n_states, _answer(built)
    if lam is not None or values is not None:
        V = _numbers(values or "0", n_states, "values")
        lams = per_state(_numbers(lam or "1", n_states, "lam"), n_states, "lam", 0, 1)
        answer |= _lambda_answer(built.exact, V, lams)
    named = {"task": built.id, "preset": preset, "on_policy": built.on_policy, "features": built.features.size}
    if json:
        print_json(named | answer)
    else:
        _show(f"{built.id}{f' ({preset})' if preset else ''}", answer)


def _answer(task: td.TabularTask) -> dict[str, Any]:
    mdp, exact = task.mdp, task.mdp.under(task.target)
    d = exact.state_distribution()
    answer = {
        "states": mdp.n_states,
        "terminal": np.flatnonzero(mdp.terminal),
        "v": exact.v(),
        "return_variance": exact.return_variance(),
        "d": d,
        "error_weights_sum": float(d[~mdp.terminal].sum()),
        "error_of_zero": exact.value_error(0.0, half=False),
    }
    if not task.on_policy:
        answer |= {
            "return_variance_corrected": task.exact.return_variance(),
            "d_behavior": mdp.under(task.behavior).state_distribution(),
        }
    return answer


def _lambda_answer(exact: td.mdp.PolicyView, V: Floats, lam: Floats) -> dict[str, Any]:
    moments = exact.lambda_return(V, lam)
    return {
        "values": V,
        "lam": lam,
        "lambda_return_mean": moments.mean,
        "lambda_return_variance": moments.variance,
        "target_error": exact.target_error(V, lam),
        "value_error": exact.value_error(V),
    }


_COLUMNS = {
    "v": "v",
    "return_variance": "Var[G]",
    "return_variance_corrected": "Var[ρG]",
    "d": "d",
    "d_behavior": "d_b",
    "values": "V",
    "lam": "λ",
    "lambda_return_mean": "E[G^λ]",
    "lambda_return_variance": "Var[G^λ]",
}


def _show(title: str, answer: dict[str, Any]) -> None:
    names = [
        name for name in _COLUMNS if name in answer and not (name in ("values", "lam") and _constant(answer[name]))
    ]
    ends = set(answer["terminal"].tolist())
    shown = range(min(answer["states"], _SHOWN))
    rows = [[f"{s}{' end' if s in ends else ''}", *(answer[name][s] for name in names)] for s in shown]
    print_table(title, ["state", *(_COLUMNS[name] for name in names)], rows)
    if answer["states"] > _SHOWN:
        console.print(f"… the first {_SHOWN} of {answer['states']} states; --json prints all")
    if "lam" in answer:
        held = [f"{_COLUMNS[x]} = {number(answer[x][0])}" for x in ("lam", "values") if _constant(answer[x])]
        console.print(f"λ-returns{' with ' + ', '.join(held) if held else ''} in every state")
    if "d_behavior" in answer:
        console.print(
            "off-policy: Var[ρG] is the variance of the corrected return, d_b the behaviour policy's distribution"
        )
    lines = {"error_weights_sum": "error weights (d without terminal states) sum to"}
    lines |= {"error_of_zero": "Σ d (V-v)² of V = 0:", "value_error": "overall value error of V, ½ Σ d (V-v)²:"}
    lines |= {"target_error": "overall target error, J(λ) = ½ Σ d E[(G^λ-v)²]:"}
    for name, text in lines.items():
        if name in answer:
            console.print(f"{text} [bold]{number(answer[name])}[/bold]")


def _constant(x: Floats) -> bool:
    return bool((x == x[0]).all())


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set must be name=value; got {text!r}")
    value = {"True": "true", "False": "false", "None": "null"}.get(value, value)
    try:
        return name.strip(), json_module.loads(value)
    except json_module.JSONDecodeError:
        return name.strip(), value


def _numbers(text: str, n: int, name: str) -> Floats:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--{name} must be a number, or {n} numbers separated by commas; got {text!r}") from None
    return per_state(numbers[0] if len(numbers) == 1 else numbers, n, name)
