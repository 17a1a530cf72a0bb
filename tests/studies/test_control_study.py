"""Studies of control: declared, run, stopped and resumed like the others; what is measured is minus the return."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_studies import leftovers, units

import tdlambda as td
from tdlambda.lab.reproduction.agent import published_actor_critic
from tdlambda.lab.reproduction.published import mountaincar_figure
from tdlambda.lab.studies.execution import run_unit
from tdlambda.lab.studies.store import Store

METHODS = {
    "fixed": td.studies.Method("TrueOnlineGTD", over=("alpha", "lam")),
    "META": td.studies.Method(
        "TrueOnlineGTD", "Meta.thesis", over=("alpha",), options={"kappa": 1e-4, "td_error": "after"}
    ),
    "wild": td.studies.Method("TD", over=("eta",), options={"alpha": 2.0, "lam": 0.9}),
}


def small(**changes: Any) -> td.studies.Study:
    declared: dict[str, Any] = {
        "name": "car", "kind": "control", "task": "MountainCar-v0", "task_options": {"limit": 100}, "seeds": 3,
        "steps": 1000, "points": 20, "curve": 5, "warm_up": 0.5, "agent": {"eta": 0.5, "lam": "none"},
        "grid": {"alpha": [0.001, 0.01], "lam": [0.0, 0.9], "eta": [0.1, 1.0]}, "methods": METHODS,
    }  # fmt: skip
    return td.studies.Study(**(declared | changes))


def test_keys_of_control_hold_what_its_numbers_depend_on() -> None:
    study = small()
    others = [
        study.but(agent={"eta": 0.4, "lam": "none"}), study.but(agent={"eta": 0.5}), study.but(warm_up=0.4),
        study.but(task_options={}), study.but(steps=2000),
    ]  # fmt: skip
    assert len({study.key("fixed"), *(other.key("fixed") for other in others)}) == 6
    assert study.but(seeds=9, title="x").key("fixed") == study.key("fixed")
    assert td.studies.Study.from_dict(study.to_dict()).key("META") == study.key("META")


def test_agents_are_as_declared() -> None:
    built: Any = [small().agents(name) for name in METHODS]
    fixed, meta, wild = built
    assert [(a.critic.alpha, a.critic.rule.lam) for a in fixed] == [(a, lam) for a in (0.001, 0.01) for lam in (0, 0.9)]
    assert all(a.eta == 0.5 and a.lam is None and a.warm_up == 500 and a.td_error == "before" for a in fixed)
    assert all(a.critic.rule.warm_up_steps == 500 and a.td_error == "after" for a in meta)
    assert [a.eta for a in wild] == [0.1, 1.0]
    options = {"alpha": 0.1, "actor.lam": 0.5, "lam": 0.9, "entropy": 0.01, "actor.warm_up": 7}
    other: Any = small(methods={"a": td.studies.Method("TD", options=options)}).agents("a")[0]
    assert (other.lam.lam, other.critic.rule.lam, other.entropy, other.warm_up) == (0.5, 0.9, 0.01, 7)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kind": "controls"}, "kind must be"),
        ({"kind": "prediction"}, "agent: only a study of kind"),
        ({"agent": {"etta": 1.0}}, "agent.etta: the actor has no such option; did you mean 'eta'"),
        ({"task": "CartPoll-v1"}, "task: unknown task 'CartPoll-v1'; did you mean 'CartPole-v1'"),
        (
            {"task": "CartPole-v1", "task_options": {"limit": 5}},
            "task: CartPole-v1 has no discount of its own; pass gamma",
        ),
        (
            {"task": "CartPole-v1", "task_options": {"discount": 0.9, "limt": 5}},
            "task: CartPole-v1 has no argument limt; did you mean 'limit'",
        ),
        ({"methods": {"fixed": td.studies.Method("Sarssa")}}, "unknown learner 'Sarssa'; did you mean 'Sarsa'"),
        ({"agent": {}}, "eta is missing: this learner is the critic"),
        (
            {"methods": {"fixed": td.studies.Method("MonteCarlo", options={"alpha": 0.1})}},
            "critic must be a learner with tr",
        ),
        (
            {"methods": {"fixed": td.studies.Method("TD", options={"alpha": 0.1, "actor.x": 1})}},
            "actor.x: the actor has no",
        ),
        (
            {"methods": {"fixed": td.studies.Method("TD", options={"alpha": 0.1, "actor.eta": 1, "eta": 2})}},
            "eta is given twi",
        ),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=what):
        small(**changes).agents("fixed")


def test_results_are_costs_of_the_engine(tmp_path: Path) -> None:
    study = small()
    outcome = td.studies.run_study(study, tmp_path, progress=False)
    assert (outcome.done, outcome.left) == (9, 0)
    results = td.studies.load_results(tmp_path)
    found = td.control.run(study.environment, study.agents("fixed"), 3, 1000, points=20, keep=("lambdas",))
    part = results.filter(pl.col("method") == "fixed").sort("seed", "alpha", "lam")
    cost = -found.returns.transpose(1, 0, 2).reshape(12, 20)
    np.testing.assert_allclose(part["tail"], cost[:, -2:].mean(axis=1))
    np.testing.assert_allclose(part["area"], cost[:, 10:].mean(axis=1))  # after the warm-up
    np.testing.assert_allclose(part["final"], cost[:, -1])
    np.testing.assert_allclose(np.stack(part["curve"].to_list()), cost[:, study.stored_points])
    assert (part["tail"] > 0).all()
    wild = results.filter(pl.col("method") == "wild")
    assert (wild["diverged_at"] > 0).all()
    assert wild["tail"].is_infinite().all()
    assert all(row == pytest.approx(0.9) for row in part.filter(pl.col("lam") == 0.9)["lambdas"][0])


def test_a_unit_is_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    study = small()
    td.studies.run_study(study, tmp_path, workers=2, progress=False)
    for method in study.methods:
        for seed in study.numbers:
            assert Store(tmp_path, study).path(method, seed).read_bytes() == run_unit(study, method, seed)


def test_stopped_and_run_again_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    study = small(seeds=16, steps=20_000, points=20)
    td.studies.run_study(study, tmp_path / "whole", progress=False)

    def interrupt() -> None:
        while not list((tmp_path / "parts").glob("units/*/*.parquet")):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    with pytest.raises(td.Interrupted) as stopped:
        td.studies.run_study(study, tmp_path / "parts", progress=False, workers=1)
    waiting.join()
    first = stopped.value.result
    assert first.interrupted
    assert first.left > 0
    damaged = sorted((tmp_path / "parts").glob("units/*/*.parquet"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    second = td.studies.run_study(study, tmp_path / "parts", progress=False, workers=2)
    assert second.done == first.left + 1
    assert second.set_aside
    assert units(tmp_path / "parts") == units(tmp_path / "whole")
    assert leftovers(tmp_path) == []
    assert td.studies.run_study(study, tmp_path / "parts", progress=False).done == 0


def test_the_bundled_study_is_the_thesis() -> None:
    study, other = td.studies.Study.load("mountaincar"), td.studies.Study.load("mountaincar-small-eta")
    printed = [reading for reading in mountaincar_figure() if reading.figure == "fig_mountaincar"]
    assert sorted({reading.alpha for reading in printed}) == study.grid["alpha"]
    assert {reading.lam for reading in printed if reading.lam is not None} | {1.0} == set(study.grid["lam"])
    assert {reading.method for reading in printed} <= set(study.methods)
    assert (study.seeds, study.steps, study.warm_up) == (240, 50_000, 0.5)
    assert [len(study.cells(name)) for name in study.methods] == [210, 30, 210, 210, 30]
    agent: Any = study.agents("META")[0]
    reference: Any = published_actor_critic(study.environment.features, 3, 1e-7, 1e-7, 50_000)
    assert (agent.eta, agent.lam, agent.warm_up, agent.td_error) == (1.0, None, 25_000, "after")
    assert agent.critic.rule.warm_up_steps == reference.critic.rule.warm_up_steps
    assert agent.critic.model is reference.critic.model
    assert agent.critic.memory.record == reference.critic.memory.record
    assert other.agent["eta"] < 0.1
    assert other.methods == study.methods
    assert other.key("fixed") != study.key("fixed")
    for each in (study, other):
        quick = each.small()
        assert all(quick.agents(name) for name in quick.methods)
