"""`tdlambda show`: an algorithm's declaration, its equations, and the code generated from it."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdlambda.cli.output import print_json
from tdlambda.showing import hint

if TYPE_CHECKING:
    from tdlambda.core.model import Model


def show(
    algorithm: Annotated[str, typer.Argument(help="TrueOnlineTD, …, or your own as module:Class.")],
    rule: Annotated[str | None, typer.Option(help="A rule for λ: Meta, Greedy, auto, …, or module:Class.")] = None,
    lanes: Annotated[bool, typer.Option("--lanes", help="Show the code for many learners side by side.")] = False,
    features: Annotated[
        str, typer.Option(help="Features that --lanes is generated for: one-hot or active.")
    ] = "one-hot",
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Show the code for one learner with a list of live features.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show an algorithm: its declaration, its equations, and the code generated from it.

    Example: tdlambda show TrueOnlineTD --rule Meta --lanes
    """
    from tdlambda.core.declare import Algorithm
    from tdlambda.core.mathematics import equations, rule_equations
    from tdlambda.core.model import Model
    from tdlambda.core.schedules import lanes as lane_schedule
    from tdlambda.core.schedules import one

    if features not in ("one-hot", "active"):
        raise ValueError(f"--features must be one-hot or active; got {features!r}")
    kind = _found(algorithm, "algorithm", Algorithm)
    made = None if rule is None else _rule(rule)
    model = Model(kind, made)
    one_hot = features == "one-hot"
    text = lane_schedule.generate(model, one_hot, one_hot) if lanes else one.generate(model, sparse)
    parts = {"algorithm": _declared(kind), "equations": equations(model)}
    if made is not None:
        parts |= {"rule": _declared(type(made)), "rule_equations": rule_equations(model)}
    parts["generated"] = text
    if json:
        print_json(parts)
        return
    _print(model, parts)


def _print(model: Model, parts: dict[str, str]) -> None:
    titles = {
        "algorithm": "Declaration", "equations": "Equations", "rule": "Rule for λ",
        "rule_equations": "Equations of the rule", "generated": "Generated code",
    }  # fmt: skip
    print(f"# {model.title}")
    for name, text in parts.items():
        print(f"\n# ---- {titles[name]} {'-' * (70 - len(titles[name]))}\n\n{text}")


def _declared(kind: type[Any]) -> str:
    """The source of a declaration's class."""
    source = inspect.getsource(kind)
    module = inspect.getmodule(kind)
    head = inspect.getdoc(module) if module is not None and (module.__name__ or "").startswith("tdlambda.") else None
    return (f'"""{head}"""\n\n' if head else "") + source.rstrip()


def _rule(name: str) -> Any:
    from tdlambda.rules import NAMED, Rule

    known = {key.lower(): kind for key, kind in NAMED.items()}
    kind = known[name.lower()] if name.lower() in known else _found(name, "rule", Rule)
    try:
        return kind()
    except TypeError:
        from tdlambda.core.names import words

        numbers = [*words(kind.parameters), *words(kind.shared)]
        return kind(**dict.fromkeys(numbers, 0.5))  # the code does not depend on the values


def _found(name: str, what: str, base: type[Any]) -> Any:
    """The class of the package with this name, ignoring case, or the user's own as module:Class."""
    import tdlambda as td

    module, _, last = name.rpartition(":")
    if module:
        sys.path.insert(0, str(Path.cwd()))
        try:
            found = getattr(import_module(module), last, None)
        except Exception as error:
            raise ValueError(f"{what}: {module} cannot be imported: {error}") from error
    else:
        spaces = [import_module(f"tdlambda.{space}") for space in ("algorithms", "rules", "reproduction")]
        ours = {key.lower(): getattr(space, key) for space in spaces for key in space.__all__}
        found = ours.get(name.lower())
    if not (isinstance(found, type) and issubclass(found, base) and hasattr(found, "step")):
        names = [*td.algorithms.__all__] if what == "algorithm" else [*td.rules.NAMED, *td.rules.__all__]
        otherwise = "write the name of a class of this package, or module:Class"
        raise ValueError(f"{what}: unknown declaration {name!r}{hint(name, names, otherwise)}")
    return found
