"""Reward centring for any declared algorithm: Naik, Wan, Tomar & Sutton (2024), the value-based form.

    δ  = r' - r̄ + γ' w·x' - w·x
    r̄ += η α ρ δ

The algorithm learns from r' - r̄ in place of r', with r̄ from before the step, as in the paper. r̄ starts at 0 and
carries over from one episode to the next.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tdlambda.core import declare, source
from tdlambda.core.names import words

ETA, AVERAGE = "centering", "average_reward"
"""Names of η and r̄ in a declaration."""
_COPIED = (
    "weight_rows", "trace_rows", "dots", "keeps", "updates", "starts", "sizes", "trace_scale", "reads_terminal",
    "lasting_rows", "before_at",
)  # fmt: skip
_STEP = """def step({arguments}):
    {average} = {average} + {eta} * alpha * rho * (reward + gamma_next * {v_next} - {v})
    {results} = algorithm_step({asked})
    return {results}, {average}
"""


def centered(base: type[declare.AlgorithmDeclaration]) -> type[declare.AlgorithmDeclaration]:
    """The declaration of an algorithm with reward centring; TypeError if it already learns an average reward."""
    names = {*base.known_names(), *base.row_names(), *source.returned(base.step)}
    if base.center or {ETA, AVERAGE} & names:
        has = base.center or " and ".join(sorted({ETA, AVERAGE} & names))
        raise TypeError(f"centering must be None: {base.__name__} already declares {has}")
    return _centered(base)  # type: ignore[arg-type]


@cache
def _centered(base: type[declare.AlgorithmDeclaration]) -> type[declare.AlgorithmDeclaration]:
    """A declaration whose step is the algorithm's own step together with the update of r̄.

    The generated code passes centred rewards to the step of any declaration that has a `center`.
    """
    first, dots = words(base.weight_rows)[0], dict(base.dots)
    v, v_next = (_dot(dots, f"{first}.{x}", name) for x, name in (("x", "value_here"), ("x'", "value_next")))
    asked, results = source.arguments(base.step), ", ".join(source.returned(base.step))
    more = [v, v_next, "alpha", "reward", "gamma_next", "rho", ETA, AVERAGE]
    text = _STEP.format(
        arguments=", ".join(dict.fromkeys([*asked, *more])), asked=", ".join(asked), results=results, v=v,
        v_next=v_next, eta=ETA, average=AVERAGE,
    )  # fmt: skip
    title = f"{base.__name__} with reward centring"
    members: dict[str, Any] = {name: getattr(base, name) for name in _COPIED} | {
        "__doc__": f"{title}.",
        "dots": dots,
        "parameters": f"{base.parameters} {ETA}",
        "of_value": f"{base.of_value} {ETA}",
        "holds": {**base.holds, AVERAGE: 0.0},
        "center": AVERAGE,
        "step": staticmethod(source.function_from(text, {"algorithm_step": base.step}, title)),
    }
    functions = {"before": base.before, "feature": base.feature}
    members |= {name: staticmethod(function) for name, function in functions.items() if function is not None}
    return type(f"Centered{base.__name__}", (declare.AlgorithmDeclaration,), members)


def _dot(dots: dict[str, str], what: str, name: str) -> str:
    """The name of a dot product, which is added if it is missing."""
    known = next((own for own, given in dots.items() if given == what), None)
    if known is None:
        dots[name] = what
    return known or name
