"""Build learners, rules, encoders and truths from their names and plain options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda import algorithms, features, learners, registry, rules, steps
from tdlambda.auto import AutoTD
from tdlambda.control import ActorCritic, Boltzmann, EpsilonGreedy, Falling, QLambda, Sarsa, Softmax
from tdlambda.engine.score import score_of
from tdlambda.lab.studies.sizes import check_encoder, check_memory
from tdlambda.learners.learner import Learner
from tdlambda.rules import Rule
from tdlambda.runner.policy_task import PolicyTask
from tdlambda.runner.truth import Truth
from tdlambda.showing import hint
from tdlambda.tasks.task import Task

_BASES = (Learner, learners.Algorithm, Rule, rules.Adaptive, rules.WithEstimates)
"""Classes for subclasses only."""


def _kinds_of(base: type, *modules: Any) -> dict[str, Any]:
    """The subclasses of a class that modules export, by name."""
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    classes = {name: kind for name, kind in found.items() if inspect.isclass(kind)}
    return {name: kind for name, kind in classes.items() if issubclass(kind, base) and kind not in _BASES}


LEARNERS: dict[str, Any] = _kinds_of(Learner, learners, algorithms) | {"AutoTD": AutoTD}
RULES: dict[str, Any] = _kinds_of(Rule, rules) | rules.NAMED
AGENTS: dict[str, Any] = {"Sarsa": Sarsa, "QLambda": QLambda}
"""Agents with action values; a control study may name them instead of a learner."""
_POLICIES = {"epsilon": EpsilonGreedy, "temperature": Boltzmann}
SELF_TUNING = ("AutoTD",)
"""Learners that choose λ themselves."""


def default_lam(learner: str) -> Any:
    """The default λ of a learner of this package; None if it has none, or for a user's learner."""
    known = (LEARNERS | AGENTS).get(learner)
    given = inspect.signature(known).parameters.get("lam") if inspect.isclass(known) else None
    return None if given is None or given.default is given.empty else given.default


def build_learner(
    task: Task[Any], learner: str, rule: str | None, options: Mapping[str, Any], warm_up: tuple[float, int]
) -> Learner:
    """Build the learner of one cell, with its rule; `warm_up` is a share and the total number of steps."""
    if learner in AGENTS:
        raise ValueError(f'learner: {learner} is an agent; a study of agents needs kind = "control"')
    make_learner = _named(learner, LEARNERS, "learner")
    make_rule, of_rule, from_study = _rule(rule, options, warm_up)
    known = {"learner": _parameters(make_learner), "rule": of_rule}
    own: dict[str, Any] = {"features": task.features}
    if "on_divergence" in known["learner"]:
        own["on_divergence"] = "flag"
    if make_rule is not None:
        if "lam" not in known["learner"]:
            raise ValueError(f"rule: {learner} takes no rule; got {rule!r}")
        known["learner"] -= {"lam"}
    given: dict[str, dict[str, Any]] = {"learner": {}, "rule": {}}
    for name, value in options.items():
        where, _, bare = name.rpartition(".")
        owners = [kind for kind in known if bare in known[kind] and where in ("", kind)]
        if not owners:
            whose = f"{learner} and {rule} have" if rule else f"{learner} has"
            instead = hint(bare, sorted(known["learner"] | known["rule"]), "the options are {}")
            raise ValueError(f"{name}: {whose} no such option{instead}")
        if len(owners) > 1:
            raise ValueError(f'{name}: {learner} and {rule} both have it; write "learner.{name}" or "rule.{name}"')
        if bare in given[owners[0]]:
            raise ValueError(f"{name}: the {owners[0]}'s {bare} is given twice")
        given[owners[0]][bare] = _built(name, value)
    own |= given["learner"]
    if make_rule is not None:
        given["rule"] = from_study | given["rule"]
        _check_complete(str(rule), make_rule, given["rule"])
        own["lam"] = make_rule(**given["rule"])
        if not isinstance(own["lam"], Rule):
            raise TypeError(f"rule: {rule} must make a rule for λ; it made {own['lam']!r}")
    _check_complete(learner, make_learner, own)
    built = make_learner(**own)
    if not isinstance(built, Learner):
        raise TypeError(f"learner: {learner} must make a learner; it made {built!r}")
    return built


def build_agent(
    task: Task[Any], learner: str, rule: str | None, options: Mapping[str, Any], warm_up: tuple[float, int],
    shared: Mapping[str, Any],
) -> Any:  # fmt: skip
    """Build the agent of one cell; its own options take precedence over the `shared` ones."""
    if learner in AGENTS:
        return build_values(task, learner, rule, {**shared, **options}, warm_up)
    known = _parameters(ActorCritic) - {"critic", "policy", "behavior"}
    both = _parameters(_named(learner, LEARNERS | AGENTS, "learner"))
    own: dict[str, Any] = {"warm_up": int(warm_up[0] * warm_up[1])}
    given: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in options.items():
        bare = name.removeprefix("actor.")
        if bare == name and (name not in known or name in both or name == "warm_up"):
            rest[name] = value
        elif bare not in known:
            raise ValueError(f"{name}: the actor has no such option{hint(bare, sorted(known), 'it has {}')}")
        elif bare in given:
            raise ValueError(f"{name}: the actor's {bare} is given twice")
        else:
            given[bare] = value
    for name in shared:
        if name not in known:
            raise ValueError(f"agent.{name}: the actor has no such option{hint(name, sorted(known), 'it has {}')}")
    own |= {name: _built(name, value) for name, value in {**shared, **given}.items()}
    if "eta" not in own:
        raise ValueError(
            "eta is missing: this learner is the critic of an actor; give the actor's step size in the options or the "
            'grid, or write learner = "Sarsa" or "QLambda" for action values'
        )
    if own.get("lam") == "none":  # TOML has no null
        own["lam"] = None
    critic = build_learner(task, learner, rule, rest, warm_up)
    actions: Any = task.action_space
    return ActorCritic(critic, Softmax(int(actions.n)), **own)


def build_values(
    task: Any, agent: str, rule: str | None, options: Mapping[str, Any], warm_up: tuple[float, int]
) -> Any:
    """Build an agent with action values; `epsilon` or `temperature` sets its policy, `algorithm` names a learner."""
    kind, given = AGENTS[agent], dict(options)
    algorithm = _named(given.pop("algorithm", "TrueOnlineTD"), LEARNERS, "algorithm")
    make_rule, theirs, of_rule = _rule(rule, options, warm_up)
    known = (_parameters(kind) | _parameters(algorithm)) - {"actions"}
    for name in list(given):
        bare = name.removeprefix("rule.")
        if bare in theirs and (bare != name or bare not in known):
            if bare != name and bare in options and bare not in known:
                raise ValueError(f"{name}: the rule's {bare} is given twice")
            of_rule[bare] = _built(name, given.pop(name))
        elif name in _POLICIES:
            acts = "policy" if kind is Sarsa else "behavior"
            given[acts] = _POLICIES[name](_level(name, given.pop(name)))
        elif name not in known:
            instead = hint(name, sorted({*known, *theirs, *_POLICIES}), "the options are {}")
            raise ValueError(f"{name}: {agent} with {algorithm.__name__} has no such option{instead}")
        else:
            given[name] = _built(name, given[name])
    if make_rule is not None:
        given["lam"] = make_rule(**of_rule)
    features_ = given.pop("features", getattr(task, "features", None))
    if features_ is None:
        raise ValueError(
            'features: this task has none of its own; write options = { features = { type = "Fourier", '
            "low = […], high = […] } }"
        )
    actions: Any = task.action_space
    if not isinstance(actions, gym.spaces.Discrete):
        raise ValueError(f"task: {agent} needs discrete actions; got {actions}")
    return kind(features_, int(actions.n), algorithm=algorithm, **{"on_divergence": "flag", **given})


def _rule(
    name: str | None, options: Mapping[str, Any], warm_up: tuple[float, int]
) -> tuple[Any, set[str], dict[str, Any]]:
    """The constructor of a rule, its arguments, and those set by the study's warm-up; None and nothing without one."""
    if name is None:
        return None, set(), {}
    make_rule = _named(name, RULES, "rule")
    known = _parameters(make_rule)
    waits = {"warm_up", "length"} <= known and warm_up[0] and not {"warm_up", "rule.warm_up"} & set(options)
    return make_rule, known, {"warm_up": warm_up[0], "length": warm_up[1]} if waits else {}


def _level(name: str, value: Any) -> Any:
    """A number, or a `td.control.Falling` from a table of its arguments."""
    if not isinstance(value, Mapping):
        return value
    try:
        return Falling(**value)
    except TypeError as error:
        raise ValueError(f"{name}: {error}; write {{start = 1.0, end = 0.1, over = 10_000}}") from None


def policy_task(name: str, options: Mapping[str, Any]) -> PolicyTask:
    """A Gymnasium environment with a policy; the same one for the same options, because its truth takes seconds."""
    own = {key: options[key] for key in _OF_POLICY_TASK if key in options}
    own["options"] = {key: value for key, value in options.items() if key not in _OF_POLICY_TASK}
    key = repr((name, own))
    if key not in _POLICY_TASKS:
        if "features" in own:
            own["features"] = _built("features", own["features"])
        _POLICY_TASKS.clear()
        _POLICY_TASKS[key] = PolicyTask(name, **own)
    return _POLICY_TASKS[key]


_OF_POLICY_TASK = ("policy", "behavior", "discount", "features", "observations", "rollouts")
_POLICY_TASKS: dict[str, PolicyTask] = {}


def no_truth() -> Truth:
    """An empty truth, for control."""
    return Truth(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))


def build_truth(task: Task[Any], name: str, score: str = "value") -> Truth:
    """True values that errors are measured against, by name, with the weights of a score."""
    if name not in ("exact", "thesis"):
        raise ValueError(f'truth must be "exact" or "thesis"; got {name!r}')
    if name == "thesis":
        if score != "value":
            raise ValueError(f'truth: "thesis" has the weights of score "value"; got score "{score}": write "exact"')
        if task.mdp is None:
            raise ValueError(f'truth: {task.id} has no model, which "thesis" needs; write "exact"')
        truth: Truth = registry.find("thesis_truth")(task)
        return truth
    return score_of(task, score).truth


def _named(name: str, ours: Mapping[str, Any], what: str) -> Any:
    """Find a class, or a constructor after a dot, in this package or in a user's module."""
    module, _, path = name.rpartition(":")
    if module:
        found: Any = sys.modules[module]  # running a study imports its modules first
        ours = _offered(found)
    else:
        first, _, path = path.partition(".")
        found = ours.get(first) or registry.find(first)
    for part in path.split(".") if path else ():
        found = getattr(found, part, None)
    if not callable(found):
        owner = f" in {module}" if module else ""
        instead = hint(path.partition(".")[0] or name, ours, f"choose from {{}}{owner}")
        raise ValueError(f"unknown {what} {name!r}{instead}")
    return found


def _offered(module: ModuleType) -> dict[str, Any]:
    """The public classes and functions of a user's module that it or its package defines."""
    found = {name: value for name, value in vars(module).items() if inspect.isclass(value) or inspect.isfunction(value)}
    package = module.__name__.partition(".")[0]
    public = {name: value for name, value in found.items() if not name.startswith("_")}
    return {name: value for name, value in public.items() if str(value.__module__).partition(".")[0] == package}


def _check_complete(name: str, call: Any, given: Collection[str]) -> None:
    """Raise ValueError if an argument without a default is not given."""
    for parameter in inspect.signature(call).parameters.values():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and parameter.default is parameter.empty and parameter.name not in given:
            raise ValueError(f"{name} needs {parameter.name}: add it to over and the grid, or to options")


def _parameters(call: Any) -> set[str]:
    """Names of all arguments, including those that a constructor passes on to its class or to a base."""
    owner = getattr(call, "__self__", call)
    bases = owner.__mro__[1:] if inspect.isclass(owner) else ()
    calls = [call, owner, *(vars(base)["__init__"] for base in bases if inspect.isfunction(vars(base).get("__init__")))]
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    names: set[str] = set()
    for function in calls:
        found = inspect.signature(function).parameters.values()
        names |= {parameter.name for parameter in found if parameter.kind in kinds}
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in found):
            break
        if function is owner:
            kinds = {inspect.Parameter.KEYWORD_ONLY}  # a class passes positional arguments to its base itself
    return names


def _built(name: str, value: Any) -> Any:
    """An encoder or a schedule, built from its table; anything else unchanged."""
    if not isinstance(value, Mapping):
        return value
    options = dict(value)
    kind = options.pop("type", None)
    known = {name: getattr(module, name) for module in (features, steps) for name in module.__all__}
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"{name}: type must be one of {', '.join(sorted(known))}; got {kind!r}")
    try:
        check_encoder(options)
        built = known[kind](**options)
        check_memory(getattr(built, "size", 0))
    except (TypeError, ValueError, MemoryError) as error:
        raise ValueError(f"{name}: {error}") from error
    return built
