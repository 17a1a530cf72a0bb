"""`tdlambda show`: an algorithm's declaration, its equations, and the code generated from it."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdlambda.lab.cli.options import Json
from tdlambda.lab.cli.output import print_json
from tdlambda.showing import hint

if TYPE_CHECKING:
    from tdlambda.core.model import Model


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="An algorithm, a rule for λ or a step size: TrueOnlineTD, Meta, Autostep; or your own, module:Class."
        ),
    ],
    rule: Annotated[str | None, typer.Option(help="A rule for λ: Meta, Greedy, auto, …, or module:Class.")] = None,
    lanes: Annotated[bool, typer.Option("--lanes", help="Show the code for many learners side by side.")] = False,
    features: Annotated[
        str, typer.Option(help="Features that --lanes is generated for: one-hot or active.")
    ] = "one-hot",
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Show the code for one learner with a list of live features.")
    ] = False,
    code: Annotated[bool, typer.Option("--code", help="Show the generated code of a rule or step size too.")] = False,
    json: Json = False,
) -> None:
    """Show an algorithm, a rule for λ or a step size: its declaration, its equations, and the code generated from it.

    Example: tdlambda show TrueOnlineTD --rule Meta --lanes
    """
    from tdlambda.core.mathematics import equations, rule_equations

    if features not in ("one-hot", "active"):
        raise ValueError(f"--features must be one-hot or active; got {features!r}")
    kind = _class_named(name, "name", None)
    if not _is_declared(kind):
        parts = {"algorithm": _declared(kind)}
        _finish(name, parts, json)
        return
    model, first = _model(kind, rule)
    parts = {first: _declared(kind)}
    if first != "rule":
        parts["equations"] = equations(model)
    if model.rule is not None:
        parts |= {"rule": _declared(type(model.rule)), "rule_equations": rule_equations(model)}
    if first == "algorithm" or lanes or sparse or code:
        parts["generated"] = _generated(model, lanes, features == "one-hot", sparse)
    _finish(re.sub(r" \([^)]*\)", "", model.title), parts, json)  # without the options, all of which are defaults


def _model(kind: type[Any], rule: str | None) -> tuple[Model, str]:
    """The model to show, and what was named: an algorithm, or a rule or step size on an algorithm it fits."""
    import tdlambda as td
    from tdlambda.core import declare
    from tdlambda.core.model import Model

    if issubclass(kind, declare.RuleDeclaration):
        if rule is not None:
            raise ValueError(f"--rule: {kind.__name__} is a rule itself; name an algorithm to combine --rule with")
        return Model(td.TrueOnlineTD, _built(kind)), "rule"
    made = None if rule is None else _built(_class_named(rule, "rule", declare.RuleDeclaration))
    if issubclass(kind, td.steps.StepSize):
        return Model(next(iter(kind.forms.values())), made), "step_size"
    return Model(kind, made), "algorithm"


def _generated(model: Model, lanes: bool, one_hot: bool, sparse: bool) -> str:
    from tdlambda.core.schedules import lanes as lane_schedule
    from tdlambda.core.schedules import one

    return lane_schedule.generate(model, one_hot, one_hot) if lanes else one.generate(model, sparse)


def _finish(title: str, parts: dict[str, str], json: bool) -> None:
    if json:
        print_json(parts)
    else:
        _print(title, parts)


def _print(title: str, parts: dict[str, str]) -> None:
    titles = {
        "algorithm": "Declaration", "equations": "Equations", "rule": "Rule for λ", "step_size": "Step size",
        "rule_equations": "Equations of the rule", "generated": "Generated code",
    }  # fmt: skip
    print(f"# {title}")
    for name, text in parts.items():
        print(f"\n# ---- {titles[name]} {'-' * (70 - len(titles[name]))}\n\n{text}")


def _declared(kind: type[Any]) -> str:
    """The source of a declaration's class."""
    source = inspect.getsource(kind)
    module = inspect.getmodule(kind)
    head = inspect.getdoc(module) if module is not None and (module.__name__ or "").startswith("tdlambda.") else None
    return (f'"""{head}"""\n\n' if head else "") + source.rstrip()


def _description(kind: type[Any]) -> str:
    """The docstrings of a class and its module, which name the authors of the algorithm."""
    return f"{inspect.getdoc(kind)} {inspect.getdoc(inspect.getmodule(kind))}"


def _built(kind: type[Any]) -> Any:
    """A rule of this class; numbers without a default are ½, because the equations do not depend on them."""
    try:
        return kind()
    except TypeError:
        from tdlambda.core.names import words

        return kind(**dict.fromkeys([*words(kind.parameters), *words(kind.shared)], 0.5))


def _is_declared(kind: type[Any]) -> bool:
    """Whether a class is a declaration, or stands for one; LSTD and Monte Carlo, for example, are code."""
    import tdlambda as td
    from tdlambda.core import declare

    if issubclass(kind, declare.RuleDeclaration):
        return kind.learns()
    return hasattr(kind, "step") or (issubclass(kind, td.steps.StepSize) and bool(kind.forms))


def _ours() -> dict[str, type[Any]]:
    """All algorithms, rules and step sizes of the package by name; rules also by the names that `lam` takes."""
    import tdlambda as td
    from tdlambda.core import declare

    spaces = (td.algorithms, td.learners, td.auto, td.rules, td.steps, td.reproduction)
    named = {key: getattr(space, key) for space in spaces for key in space.__all__}
    kinds = (declare.AlgorithmDeclaration, declare.RuleDeclaration, td.steps.StepSize, td.steps.OneOver, td.Learner)
    found = {key: kind for key, kind in named.items() if isinstance(kind, type) and issubclass(kind, kinds)}
    return found | dict(td.rules.NAMED)


def _class_named(name: str, what: str, base: type[Any] | None) -> Any:
    """The class of the package with this name, ignoring case, or the user's own as module:Class."""
    from tdlambda.core import declare

    module, _, last = name.rpartition(":")
    if module:
        sys.path.insert(0, str(Path.cwd()))
        try:
            found = getattr(import_module(module), last, None)
        except Exception as error:
            raise ValueError(f"{what}: {module} cannot be imported: {error}") from error
        known = (
            isinstance(found, type)
            and issubclass(found, (declare.AlgorithmDeclaration, declare.RuleDeclaration))
            and _is_declared(found)
        )
    else:
        found = {key.lower(): kind for key, kind in _ours().items()}.get(name.lower())
        known = found is not None
    if found is None or not known or (base is not None and not (issubclass(found, base) and _is_declared(found))):
        kinds = {key: kind for key, kind in _ours().items() if base is None or issubclass(kind, base)}
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        about = [key for key, kind in kinds.items() if key[:1].isupper() and word.search(_description(kind))]
        otherwise = "write the name of a class of this package, or module:Class; this package has {}"
        if name and about:
            otherwise = f"the descriptions of {', '.join(about)} have this word"
        raise ValueError(f"{what}: unknown declaration {name!r}{hint(name, list(kinds), otherwise)}")
    return found
