"""Mistakes that everybody makes once: the message names the argument and says what to write."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td

F = td.features.OneHot(4)


class Waiting(td.Rule):
    """A rule with a number that has no default."""

    parameters = "patience"


class Incomplete(td.TD):
    """Its constructor forgets the step size."""

    def __init__(self, features: Any) -> None:
        super().__init__(features)  # type: ignore[call-arg]


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "a name nearly right": (lambda: td.TD(F, 0.1, lamda=0.3), "TD has no argument lamda; did you mean 'lam'?"),
    "γ of a learner": (lambda: td.TD(F, 0.1, gamma=0.9), "TD has no argument gamma; pass gamma to update"),
    "no such argument": (lambda: td.TD(F, 0.1, colour=1), "its arguments are features, alpha, lam, traces, correction"),
    "ε of an agent": (lambda: td.Sarsa(F, 2, 0.1, epsilon=0.1), "exploration is a policy or behavior, such as"),
    "an agent's argument": (lambda: td.QLambda(F, 2, 0.1, polic=1), "QLambda with TrueOnlineTD has no argument polic"),
    "a class for a learner": (
        lambda: td.learn("CartPole-v1", td.TD, 10, policy=[0.5, 0.5]),
        "learner must be a learner, such as",
    ),
    "a learner for an agent": (
        lambda: td.train("CartPole-v1", td.TD(F, 0.1), 10),  # type: ignore[arg-type]
        "agent must be an agent, such as td.Sarsa",
    ),
    "a learner for a factory": (
        lambda: td.check_learner(td.TD(F, 0.1)),  # type: ignore[arg-type]
        "factory must be a function that builds",
    ),
    "one learner for many": (
        lambda: td.engine.run("RingWorld-v0", td.TD(F, 0.1), 1, 10),  # type: ignore[arg-type]
        "learners must be a list of learners",
    ),
    "a number for a Horde": (
        lambda: td.streams.prequential(3, {"x": [1.0]}),  # type: ignore[arg-type]
        "horde must be a td.Horde",
    ),
    "text for a class": (lambda: td.load("a.npz", "TD"), "kind must be a class"),  # type: ignore[call-overload]
    "text for a seed": (
        lambda: td.learn("CartPole-v1", td.TD(F, 0.1), 10, policy=[0.5, 0.5], seed="a"),  # type: ignore[arg-type]
        "seed must be an integer",
    ),
    "no step size": (
        lambda: td.AutoTD(F, alpha=0.1),  # type: ignore[call-arg]
        "AutoTD has no argument alpha; it needs no step size (td.TrueOnlineTD(features, alpha=0.1) takes one)",
    ),
    "no λ": (lambda: td.AutoTD(F, lam=0.1), "AutoTD has no argument lam; it needs no λ"),  # type: ignore[call-arg]
    "no α": (lambda: td.TD(F), "TD needs alpha: pass alpha=…"),  # type: ignore[call-arg]
    "a rule's argument": (
        lambda: td.rules.Meta(kapa=1),  # type: ignore[call-arg]
        "Meta has no argument kapa; did you mean 'kappa'?",
    ),
    "a declared rule's argument": (lambda: Waiting(patence=1), "Waiting has no argument patence; did you mean 'pat"),
    "a declared rule's number": (lambda: Waiting(), "Waiting needs patience: pass patience=…, or set a class attr"),
    "an encoder's argument": (
        lambda: td.features.OneHot(m=3),  # type: ignore[call-arg]
        "OneHot has no argument m; its arguments are n",
    ),
    "an agent without actions": (lambda: td.Sarsa(F), "Sarsa needs actions: pass actions=…"),  # type: ignore[call-arg]
    "γ of an MDP": (
        lambda: td.FiniteMDP([[1.0]], [0.0], gamma=0.9),  # type: ignore[call-arg]
        "FiniteMDP has no argument gamma; did you mean 'disc",
    ),
    "γ of an agent": (
        lambda: td.Sarsa(F, 2, gamma=0.9),
        "Sarsa with TrueOnlineTD has no argument gamma; pass gamma to upda",
    ),
    "another's name for α": (lambda: td.TD(F, 0.1, lr=0.1), "TD has no argument lr; did you mean 'alpha'?"),
    "α of a rule": (lambda: td.rules.Meta(alpha=0.1), "Meta has no argument alpha; it needs no step size"),  # type: ignore[call-arg]
    "an old name": (lambda: td.TD(F, 0.1, trace="dutch"), "TD has no argument trace; did you mean 'traces'?"),
    "a critic's argument": (
        lambda: td.ActorCritic(critics=3),  # type: ignore[call-arg]
        "ActorCritic has no argument critics; did you mean 'critic'",
    ),
    "no argument of Q(λ)": (
        lambda: td.QLambda(F, 2, correction="tree"),
        "QLambda with TrueOnlineTD has no argument correction",
    ),
    "a base class's argument": (lambda: Incomplete(F), "TD needs alpha: pass alpha=…"),
    "a flag for ρ": (
        lambda: td.TD(F, 0.1).update(0, 1.0, 1, 0.9, False),
        "rho must be a number; got False: pass terminated and truncated by name",
    ),
    "a class for a policy": (lambda: td.Sarsa(F, 2, policy=td.control.EpsilonGreedy), "policy must be td.control.Epsi"),  # type: ignore[arg-type]
    "a class for an agent of many": (
        lambda: td.control.run("RingWorld-v0", [td.Sarsa], 1, 10),  # type: ignore[list-item]
        "agents: '0' must be an agent, such as td.Sarsa(features, actions=2)",
    ),
    "one agent for many": (
        lambda: td.control.run("RingWorld-v0", td.Sarsa(F, 2), 1, 10),  # type: ignore[arg-type]
        "agents must be a list of agents, or a dict by name",
    ),
    "an MDP for a task": (
        lambda: td.engine.run(td.FiniteMDP([[1.0]], [0.0], discount=0.9), [td.TD(F, 0.1)], 1, 10),  # type: ignore[arg-type]
        "td.TabularTask(mdp, target, behavior, features) is a task",
    ),
    "a task's argument": (lambda: td.make("RingWorld-v0", foo=3), "RingWorld has no argument foo; its arguments are n"),
    "a number for a task": (lambda: td.make(3), 'id must be the id of a task, such as "RingWorld-v0"; got 3'),  # type: ignore[call-overload]
    "a number for a file": (lambda: td.load(3), "path must be text or a Path, such as"),  # type: ignore[call-overload]
    "a class that needs α": (
        lambda: td.Horde(td.features.Dense(1), td.Question("x", gamma=0.9), learner=td.TD),  # type: ignore[arg-type]
        "learner must be a function of the features, such as lambda x: td.TD(x, alpha=0.1)",
    ),
    "columns without γ": (
        lambda: td.TD(F, 0.1).update_many([0], [1.0], [1]),
        "update_many needs gamma: pass obs, reward, next_obs and gamma, or Transitions",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_message_says_what_to_write(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


NAMES = {
    "near": ("RingWord-v0", "did you mean 'RingWorld-v0'?"),
    "in small letters": ("ringworld", "did you mean 'RingWorld-v0'?"),
    "the beginning": ("boyan", "did you mean 'BoyanChain-v0'?"),
    "not near": ("Nothing", "td.tasks.TASKS and `tdlambda tasks` list all"),
    "one of Gymnasium's": ("CartPole-v0", "td.tasks.TASKS and `tdlambda tasks` list all"),
}


@pytest.mark.parametrize("case", NAMES)
def test_only_a_near_name_is_suggested(case: str) -> None:
    name, message = NAMES[case]
    with pytest.raises(ValueError, match=re.escape(f"id: unknown task {name!r}; {message}")):
        td.make(name)


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    v, text = td.TD(F, 0.1), tmp_path / "README.md"
    text.write_text("# Text\n")
    with pytest.raises(FileNotFoundError, match=r"path: there is no file .*none\.npz; save\(path\) of a learner"):
        td.load(tmp_path / "none.npz")
    with pytest.raises(IsADirectoryError, match=r"path must be a file that save wrote; .* is a folder"):
        td.load(tmp_path)
    with pytest.raises(ValueError, match=r"README\.md cannot be loaded: it is not a file that save wrote, or"):
        td.load(text)
    horde = td.Horde(td.features.Dense(1), td.Question("x", gamma=0.9))
    horde.update({"x": 1.0})
    for thing in (v, td.Sarsa(F, 2, 0.1), horde):
        with pytest.raises(FileNotFoundError, match=r"path: there is no folder .*nowhere; create it first"):
            thing.save(tmp_path / "nowhere" / "v.npz")
        with pytest.raises(IsADirectoryError, match=r"path must be a file; .* is a folder"):
            thing.save(tmp_path)
    assert list(tmp_path.iterdir()) == [text]


LEARNERS: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: td.TD(F, 0.1),
    "a table": lambda: td.TD(td.features.Table(np.eye(4)), 0.1),
    "λ of another encoder": lambda: td.TD(F, 0.1, lam=td.rules.Meta(features=td.features.Table(np.eye(4)))),
    "AutoTD": lambda: td.AutoTD(F),
    "AutoTD with an expert": lambda: td.AutoTD(F, experts=[td.LSTD(F)]),
    "least squares": lambda: td.LSTD(F),
    "episodes": lambda: td.MonteCarlo(F, 0.1),
}


@pytest.mark.parametrize("kind", LEARNERS)
def test_an_observation_out_of_range_is_named_in_one_way(kind: str) -> None:
    v = LEARNERS[kind]()
    for wrong, error, what in ((9, ValueError, "from 0 to 3; got 9"), (1.5, TypeError, "an integer; got 1.5")):
        with pytest.raises(error, match=f"^obs must be {what}$"):
            v.update(wrong, 1.0, 1, 0.9)
        with pytest.raises(error, match=f"^next_obs must be {what}$"):
            v.update(1, 1.0, wrong, 0.9)
        with pytest.raises(error, match=f"^obs must be {what}$"):
            v.predict(wrong)
    with pytest.raises(ValueError, match=r"^obs must be from 0 to 3; got 9 \(row 1\)$"):
        v.update_many([0, 9], [1.0, 1.0], [1, 1], 0.9)
    with pytest.raises(ValueError, match=r"^next_obs must be from 0 to 3; got -1 \(row 0\)$"):
        v.update_many([0, 1], [1.0, 1.0], [-1, 1], 0.9)
    assert v.predict(0) == 0.0
    if hasattr(v, "steps"):
        assert v.steps == 0


def test_errors_of_an_encoder_of_ones_own_are_not_reworded() -> None:
    def fails(obs: Any) -> Any:
        raise ValueError(f"no reading at {obs}")

    v = td.LSTD(td.features.Custom(fails, 2))
    with pytest.raises(ValueError, match=r"^no reading at 3$"):
        v.update(3, 1.0, 4, 0.9)


def test_probabilities_of_a_question() -> None:
    for given, message in (
        ((2.0, 0.5), "target must be in [0, 1]; got 2.0"),
        ((0.5, 2.0), "behavior must be in (0, 1]"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            td.Question("x", gamma=0.9, target=given[0], behavior=given[1])


def test_step_sizes_of_a_chart() -> None:
    for alphas in ([0.1, 0.01], [0.0, 0.1], [0.1, 0.1], [0.1, float("nan")]):
        with pytest.raises(ValueError, match=r"alphas must be positive and in increasing order; got \[0"):
            td.charts.stretches([], alphas)


def test_a_subclass_that_passes_options_on_still_has_lam() -> None:
    class Mine(td.TD):
        def __init__(self, features: Any, alpha: float, boost: float = 1.0, **options: Any) -> None:
            super().__init__(features, alpha, **options)
            self.boost = boost

    assert list(inspect.signature(Mine).parameters)[:5] == ["features", "alpha", "boost", "lam", "traces"]
    assert Mine(F, 0.1, lam=0.5).lambda_at(0) == 0.5


def test_long_arrays_are_not_written_out() -> None:
    v = td.TD(td.features.OneHot(5000), 0.1, initial=np.linspace(0, 1, 5000))
    assert repr(v) == "TD(features=OneHot(n=5000), alpha=0.1, initial=<[5000]  0 to 1>)"


def test_a_class_of_no_module_and_an_odd_docstring() -> None:
    for doc in ('"""Parameters\n----------\nlam\n    See `Nobody`.\n"""', "__doc__ = 3"):
        space: dict[str, Any] = {"__name__": "nowhere", "td": td}
        exec(f"class Mine(td.TD):\n    {doc}\n", space)
        assert space["Mine"](F, 0.1).alpha == 0.1


AGENTS: dict[str, Callable[[td.Encoder], Any]] = {
    "Sarsa": lambda x: td.Sarsa(x, 2, 0.1),
    "actor-critic": lambda x: td.ActorCritic(td.TD(x, 0.1), td.control.Softmax(2), 0.1),
}


@pytest.mark.parametrize("kind", AGENTS)
def test_agents_name_the_observation_and_the_generator(kind: str) -> None:
    agent, tiled = AGENTS[kind](F), AGENTS[kind](td.features.TileCoder([0.0], [1.0]))
    last: Any = (0, 0.9)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: agent.act(9, np.random.default_rng(0)), "obs must be from 0 to 3; got 9"),
        (lambda: agent.policy_at(9), "obs must be from 0 to 3; got 9"),
        (lambda: agent.update(9, 0, 1.0, 1, *last), "obs must be from 0 to 3; got 9"),
        (lambda: agent.update(0, 0, 1.0, 9, *last), "next_obs must be from 0 to 3; got 9"),
        (lambda: tiled.act([0.0, 1.0], np.random.default_rng(0)), "obs must have the shape (1,)"),
        (lambda: tiled.update([0.0], 0, 1.0, [0.0, 1.0], *last), "next_obs must have the shape (1,)"),
        (lambda: agent.act(0, 3), "rng must be a generator, such as np.random.default_rng(0); got 3"),
        (lambda: tiled.act([0.0], 3), "rng must be a generator, such as np.random.default_rng(0); got 3"),
    ]
    for call, message in wrong:
        with pytest.raises((TypeError, ValueError), match="^" + re.escape(message)):
            call()


def test_names_of_modules_are_found() -> None:
    for name, where in (
        ("OneHot", "it is td.features.OneHot"),
        ("Meta", "it is td.rules.Meta"),
        ("Qlambda", "'QLambda'"),
    ):
        with pytest.raises(AttributeError, match=f"module 'tdlambda' has no attribute '{name}'; .*{where}"):
            getattr(td, name)


def test_update_without_gamma_says_what_to_pass() -> None:
    table = td.features.Table([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0], [0.0, 1.0, 1.0]])
    learners: list[Any] = [
        td.TD(F, 0.1), td.TD(table, 0.1), td.TD(F, 0.1, dtype="float32"), td.AutoTD(F), td.LSTD(F), td.VTD(F, 0.1),
        td.MonteCarlo(F, 0.1), td.RecursiveLSTD(F), td.NStepTD(F, 0.1, 3), td.ExpectedTrace(F, 0.1, beta=0.1),
    ]  # fmt: skip
    agents: list[Any] = [
        td.Sarsa(F, 2), td.QLambda(F, 2), td.ActorCritic(td.TD(F, 0.1), td.control.Softmax(2), 0.1),
    ]  # fmt: skip
    steps: list[tuple[Any, tuple[Any, ...]]] = [(v, (0, 1.0, 1)) for v in learners]
    steps += [(a, (0, 1, 1.0, 1, *(1,) * isinstance(a, td.Sarsa | td.QLambda))) for a in agents]
    for one, step in steps:
        for given in ({}, {"gamma": None}):
            with pytest.raises(TypeError, match=r"^gamma is missing: pass the discount on entering next_obs"):
                one.update(*step, **given)
        assert one.steps == 0
