"""Whatever holds only data goes through pickle and copy, and comes out the same."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda import studies
from tdlambda.control.worlds import world_of

X, RING = td.features.OneHot(11), td.make("RingWorld-v0")
TILES = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07])


def uniform(_: Any) -> list[float]:
    return [0.5, 0.5]


class ByError(td.Rule):
    """λ is high where the last errors were large."""

    parameters = "rate"
    dots = {"v": "V.x", "v_next": "V.x'"}
    keeps = {"error": 0.0}

    @staticmethod
    def step(v, v_next, error, rate, reward, gamma_next):  # type: ignore[no-untyped-def]
        error = error + rate * (abs(reward + gamma_next * v_next - v) - error)
        lam_next = error / (1 + error)
        return lam_next, error


class Capped(td.Algorithm):
    """TD(λ) with errors cut at ±cap."""

    parameters = "cap"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, decay, cap, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along = alpha * min(max(reward + gamma_next * v_next - v, -cap), cap)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


def values(made: Any) -> Any:
    """An agent that has learned a little."""
    made.update(5, 0, 0.5, 6, 1, 0.9)
    made.update(6, 1, 1.0, 7, 0, 0.9, truncated=True)
    return made


def agent(policy: Any = None, **options: Any) -> td.ActorCritic:
    made = td.ActorCritic(td.TrueOnlineTD(X, 0.1, "auto"), policy or td.control.Softmax(2), 0.1, **options)
    td.train(RING, made, 50, seed=1) if policy is None else None
    return made


def after(learner: Any) -> Any:
    learner.update_many(RING.sampler(seed=1).take(200))
    return learner


def results(tmp_path: Path) -> tuple[Any, ...]:
    """A study and what comes of it, and of the engine by hand."""
    method = td.studies.Method("TrueOnlineTD", over=("alpha",))
    study = td.studies.Study(
        "small", "RingWorld-v0", {"fixed": method}, grid={"alpha": [0.1, 0.2]}, seeds=2, steps=50, points=10, curve=5
    )
    outcome = td.studies.run_study(study, tmp_path / "out", progress=False)
    by_hand = td.engine.run(RING, {"a": td.TD(X, 0.1), "b": td.TD(X, 0.01)}, seeds=3, steps=100)
    tails = by_hand.tail()
    return study, outcome, by_hand, studies.summary(tails[0]), studies.compare(tails[0], tails[1])


OBJECTS: dict[str, Callable[[], Any]] = {
    "OneHot": lambda: X,
    "Table": lambda: td.features.Table(np.eye(3)),
    "Dense": lambda: td.features.Dense(3),
    "Fourier": lambda: td.features.Fourier([0], [1], 3),
    "GridTilings": lambda: td.make("FrozenLake-v0").features,
    "TileCoder": lambda: TILES,
    "TileCoder, hashed": lambda: td.features.TileCoder([0], [1], hash_size=64),
    "Custom": lambda: td.features.Custom(np.atleast_1d, 1),
    "Fixed": lambda: td.rules.Fixed(0.5),
    "PerState": lambda: td.rules.PerState([0.1, 0.2]),
    "Counting": td.rules.Counting,
    "Greedy": td.rules.Greedy,
    "Meta": lambda: td.rules.Meta(features=X),
    "ValueErrorGreedy": td.rules.ValueErrorGreedy,
    "LambdaMixture": td.rules.LambdaMixture,
    "Rule, one's own": lambda: ByError(rate=0.5),
    "Algorithm, one's own": lambda: after(Capped(X, 0.1, ByError(rate=0.5), cap=0.2)),
    "OneOver": lambda: td.steps.OneOver("steps"),
    "OfflineMeta": lambda: td.rules.offline_meta(RING.sampler(seed=1).take(50), X, np.zeros(11)),
    "TD": lambda: after(td.TD(X, 0.1, [0.5] * 11)),
    "TD, schedule": lambda: after(td.TD(X, td.steps.OneOver("visits"), "greedy")),
    "GTD": lambda: after(td.GTD(X, 0.1)),
    "GTD2": lambda: td.GTD2(X, 0.1, form="gradient"),
    "TDRC": lambda: td.TDRC(X, 0.1, reg=0.5),
    "HTD": lambda: td.HTD(X, 0.1),
    "PGTD2": lambda: td.PGTD2(X, 0.1),
    "LambdaDiscrepancy": lambda: td.learners.LambdaDiscrepancy(td.TD(X, 0.1)),
    "DifferentialTD": lambda: td.DifferentialTD(X, 0.1, rate="mean"),
    "ETD": lambda: td.ETD(X, 0.1, interest=[1.0] * X.size),
    "TrueOnlineETD": lambda: td.TrueOnlineETD(X, 0.1, beta_f=0.5),
    "TrueOnlineTD": lambda: after(td.TrueOnlineTD(X, 0.1, "auto")),
    "TrueOnlineGTD": lambda: after(td.TrueOnlineGTD(X, 0.1, "meta")),
    "VTD": lambda: after(td.VTD(X, 0.1)),
    "DirectVTD": lambda: after(td.DirectVTD(X, 0.1)),
    "LSTD": lambda: after(td.LSTD(X)),
    "RecursiveLSTD": lambda: after(td.RecursiveLSTD(X)),
    "LSPE": lambda: after(td.LSPE(X)),
    "ExpectedTrace": lambda: after(td.ExpectedTrace(X, 0.1)),
    "LambdaChoice": lambda: td.learners.choose_lambda(RING.sampler(seed=1).take(500), X, [0.0, 1.0]),
    "MonteCarlo": lambda: after(td.MonteCarlo(X, 0.1)),
    "NStepTD": lambda: after(td.NStepTD(X, 0.1, n=3)),
    "LambdaReturn": lambda: after(td.LambdaReturn(X, 0.1)),
    "AutoTD": lambda: after(td.AutoTD(X)),
    "AutoTD's explanation": lambda: td.AutoTD(X).explain(),
    "Question": lambda: td.Question("flow", horizon=24, average=True),
    "Horde": lambda: horde(td.AutoTD),
    "Horde, lanes": lambda: horde(lambda x: td.TD(x, 0.1)),
    "Softmax": lambda: td.control.Softmax(3),
    "Gaussian": lambda: td.control.Gaussian([-1, None], [1, None]),
    "Sarsa, EpsilonGreedy, Falling": lambda: values(
        td.Sarsa(X, 2, 0.1, policy=td.control.EpsilonGreedy(td.control.Falling(1, 0, 9)))
    ),
    "Sarsa, behaviour a table": lambda: values(td.Sarsa(X, 2, 0.1, target="expected", behavior=np.full((11, 2), 0.5))),
    "QLambda, Boltzmann": lambda: values(td.QLambda(X, 2, behavior=td.control.Boltzmann(2.0))),
    "World": lambda: world_of(RING),
    "ActorCritic": agent,
    "ActorCritic, behaviour a list": lambda: agent(behavior=[0.5, 0.5]),
    "ActorCritic, behaviour a table": lambda: agent(behavior=np.full((11, 2), 0.5)),
    "ActorCritic, behaviour a function": lambda: agent(behavior=uniform),
    "ActorCritic, behaviour of a task": lambda: agent(behavior=RING.behavior),
    "ActorCritic, behaviour a Gaussian": lambda: agent(td.control.Gaussian(-1, 1), behavior=(0.0, 1.0)),
    "META-assisted": lambda: td.control.meta_actor_critic(TILES, 3, 0.1, 0.1, 10),
    "LearningCurve": lambda: td.train(RING, agent(), 100, seed=1),
    "LearningRun": lambda: td.learn(RING, td.TD(X, 0.1), 100, seed=1),
    "History": lambda: td.report.follow(RING, td.TD(X, 0.1), 100),
    "FiniteMDP": lambda: RING.mdp,
    "LambdaMoments": lambda: RING.mdp.under().lambda_return(0.0, 0.5),
    "LinearSystem": lambda: RING.mdp.under().linear_system(np.eye(11), 0.5),
    "LinearSystem, emphatic": lambda: RING.mdp.under().linear_system(np.eye(11), 0.5, method="etd"),
    "TraceCorrection": lambda: td.mdp.TraceCorrection("vtrace", rho_bar=2.0),
    "TraceOperator": lambda: RING.mdp.under().trace_operator(0.5),
    "AverageReward": lambda: RING.mdp.under().average_reward(),
    "TabularPolicy": lambda: RING.target,
    "Transitions": lambda: RING.sampler(seed=1).take(10),
    "sampler": lambda: RING.sampler(seed=1),
    "Truth": lambda: td.engine.exact_truth(RING),
    "Diverged": lambda: td.Diverged(3),
    "Interrupted": lambda: td.Interrupted("1 of 2 seeds were finished", 3),
} | {f"Task, {name}": lambda name=name: td.make(name) for name in td.tasks.TASKS}


def horde(kind: Any) -> td.Horde:
    asked = [td.Question(0, gamma=0.5), td.Question(1, gamma=0.9)]
    return td.Horde(td.features.Dense(2), asked, kind).learn(np.random.default_rng(0).normal(size=(50, 2)))


def same(a: Any, b: Any) -> bool:
    """Whether two objects hold the same data, looked at as pickle does."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str | bytes | int | float | np.generic | type(uniform) | type(len)):
        return bool(a == b)
    return same(a.__reduce_ex__(4), b.__reduce_ex__(4))


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_pickle_and_copy_keep_everything(make: Callable[[], Any]) -> None:
    own = make()
    for other in (pickle.loads(pickle.dumps(own)), copy.deepcopy(own), copy.copy(own)):
        assert same(other, own)


def test_a_study_and_its_results_too(tmp_path: Path) -> None:
    test_pickle_and_copy_keep_everything(lambda: results(tmp_path))


def test_every_public_class_is_looked_at() -> None:
    elsewhere = {"Encoder", "Learner", "TabularTask", "Network", "Adaptive", "WithEstimates", "Seen", "OfflineMeta"}
    modules = (td, td.rules)
    public = {name for m in modules for name in m.__all__ if isinstance(getattr(m, name), type)} - elsewhere
    assert public <= {word for name in OBJECTS for word in name.split(", ")}
