"""Studies of agents with action values: in compiled worlds, and in environments of Gymnasium."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from registered import newest

import tdlambda as td
from tdlambda.control.processes import learn_in_env
from tdlambda.lab.report.figures import drawn
from tdlambda.lab.report.overview import overview
from tdlambda.lab.report.page import load, page


def ring(**changes: Any) -> td.studies.Study:
    methods = {
        "Sarsa": td.studies.Method("Sarsa", over=("alpha", "lam"), options={"epsilon": 0.1}),
        "Expected": td.studies.Method("Sarsa", over=("alpha",), options={
            "target": "expected", "algorithm": "TD", "epsilon": {"start": 1.0, "end": 0.1, "over": 500}}),
        "Q": td.studies.Method("QLambda", over=("alpha",), options={"epsilon": 0.3, "lam": 0.9}),
        "META": td.studies.Method("Sarsa", "Meta", over=("alpha",), options={"kappa": 0.01}),
    }  # fmt: skip
    declared: dict[str, Any] = {
        "name": "ring", "kind": "control", "task": "RingWorld-v0", "seeds": 2, "steps": 1500, "points": 10, "curve": 5,
        "grid": {"alpha": [0.05, 0.2], "lam": [0.0, 0.9]}, "methods": methods,
    }  # fmt: skip
    return td.studies.Study(**(declared | changes))


def test_agents_are_as_declared() -> None:
    study = ring()
    sarsa, expected, q, meta = (study.agents(name) for name in study.methods)
    assert [(a.learner.alpha, a.learner.rule.lam) for a in sarsa] == [
        (a, lam) for a in (0.05, 0.2) for lam in (0.0, 0.9)
    ]
    assert expected[0].algorithm is td.TD
    assert expected[0].policy == td.control.EpsilonGreedy(td.control.Falling(1.0, 0.1, 500))
    assert isinstance(q[0], td.QLambda)
    assert q[0].behavior == td.control.EpsilonGreedy(0.3)
    assert meta[0].learner.rule.kappa == 0.01


def test_a_warm_up_of_the_methods_own_goes_first() -> None:
    options: dict[str, dict[str, Any]] = {"own": {"warm_up": 7}, "none": {"rule.warm_up": 0}, "of-the-study": {}}
    methods = {name: td.studies.Method("Sarsa", "Counting", ("alpha",), some) for name, some in options.items()}
    study = ring(methods=methods, warm_up=0.5)
    assert [study.agents(name)[0].learner.rule.warm_up_steps for name in methods] == [7, 0, 750]


def test_an_option_of_the_rule_is_given_once() -> None:
    method = td.studies.Method("Sarsa", "Meta", options={"kappa": 0.1, "rule.kappa": 0.2, "alpha": 0.1})
    with pytest.raises(ValueError, match=r"rule\.kappa: the rule's kappa is given twice"):
        ring(methods={"META": method}).agents("META")


def test_it_runs_is_kept_and_drawn(tmp_path: Path) -> None:
    study = ring(methods={"Sarsa": ring().methods["Sarsa"]})
    assert td.studies.run_study(study, tmp_path).done == 2
    found = td.studies.load_results(tmp_path)
    assert found["tail"].to_numpy().min() < 0
    views, manifests = load([tmp_path])
    assert "<title>" in page(*views, manifests=manifests)


def test_environments_of_gymnasium_run_in_processes(tmp_path: Path) -> None:
    features = {"type": "TileCoder", "low": [-1.2, -0.07], "high": [0.6, 0.07], "tilings": 4, "tiles": 4}
    method = td.studies.Method("Sarsa", over=("lam",), options={"alpha": 0.1, "features": features})
    study = td.studies.Study(
        "taxi", newest("Taxi"),
        {"Sarsa": td.studies.Method("Sarsa", options={"features": {"type": "OneHot", "n": 500}})},
        kind="control", seeds=2, steps=300, points=5, task_options={"discount": 0.9},
    )  # fmt: skip
    assert td.studies.run_study(study, tmp_path).done == 2
    found = td.studies.load_results(tmp_path)
    assert found["tail"].is_finite().all()
    assert [len(row) for row in found["policy"]] == [500, 500]
    figures = drawn(overview(tmp_path)).figures
    assert figures["policy"].rows[0]["runs"] == 2
    assert figures["learning"].rows
    cart = td.studies.Study(
        "cart",
        "CartPole-v1",
        {"Sarsa": method},
        grid={"lam": [0.9]},
        kind="control",
        seeds=1,
        steps=100,
        task_options={"discount": 0.9},
    )
    with pytest.raises(ValueError, match="features must encode vectors of 4"):
        cart.agents("Sarsa")


def test_mistakes_are_named() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"epsilonn": 0.1}, "epsilonn: Sarsa with TrueOnlineTD has no such option; did you mean 'epsilon'"),
        ({"epsilon": 1.5}, r"epsilon must be in \[0, 1\]"),
        ({"epsilon": {"start": 1.0}}, "epsilon: .* write"),
        ({"algorithm": "TDD"}, "unknown algorithm 'TDD'"),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            ring(methods={"a": td.studies.Method("Sarsa", options=options)}).agents("a")
    with pytest.raises(ValueError, match="features: this task has none"):
        td.studies.Study(
            "c", "CartPole-v1", {"a": td.studies.Method("Sarsa")}, kind="control", task_options={"discount": 1.0}
        ).agents("a")
    with pytest.raises(ValueError, match="needs discrete actions"):
        td.studies.Study(
            "p", "Pendulum-v1", {"a": td.studies.Method("Sarsa", options={"features": {"type": "Dense", "n": 3}})},
            kind="control", task_options={"discount": 0.9},
        ).agents("a")  # fmt: skip


def test_a_run_by_id_is_td_train() -> None:
    agent = td.Sarsa(td.features.OneHot(500), 6, 0.1)
    found = td.control.run(
        newest("Taxi"), [agent], seeds=[4], steps=400, gamma=0.9, points=4, keep=("weights", "episodes")
    )
    clone = agent.clone()
    curve = td.train(newest("Taxi"), clone, steps=400, seed=4, gamma=0.9)
    np.testing.assert_array_equal(found.weights[0][0], clone.weights)
    assert found.episodes[0][0][:, 1].tolist() == curve.lengths.tolist()


def chain() -> td.TabularTask:
    """Thirty states in a row, one action, -1 for each step."""
    rows = [(s, 0, s + 1, -1.0 - s % 3, 1.0) for s in range(30)]
    mdp = td.FiniteMDP.from_rows(rows, discount=0.95, terminal=[30], start=np.eye(31)[0])
    return td.TabularTask(mdp, [1.0], None, td.features.OneHot(31))


gym.register("Chain-v0", lambda **_: chain())


def chain_agent(alpha: float, **options: Any) -> Any:
    """With one action, an agent that does the same in every run."""
    return td.Sarsa(td.features.OneHot(31), 1, alpha, 0.5, policy=td.control.EpsilonGreedy(0.0), **options)


def test_returns_mean_the_same_in_compiled_worlds_and_in_processes() -> None:
    points: Any = np.arange(7, 141, 7)
    keep = ("weights", "episodes")
    for agent in (chain_agent(0.1), chain_agent(1e3), chain_agent(1e3, on_divergence="flag")):
        compiled = td.control.run(chain(), [agent], seeds=1, steps=140, points=points, keep=keep)
        own = learn_in_env("Chain-v0", {}, None, agent.clone(), 0, 140, points, keep, np.arange(31))
        np.testing.assert_allclose(own.curve, compiled.returns[0, 0], rtol=1e-12)
        assert own.diverged_at == compiled.diverged_at[0, 0]
        np.testing.assert_allclose(own.parts["episodes"], compiled.episodes[0][0])
    calm = td.control.run(chain(), [chain_agent(0.1)], seeds=1, steps=140, points=points).returns[0, 0]
    so_far = [-sum((1 + s % 3) * 0.95**s for s in range(n)) for n in (7, 14, 21, 28)]
    np.testing.assert_allclose(calm[:4], so_far)  # the first episode ends after 30 steps
    assert np.isneginf(compiled.returns).any()


def test_divergence_counts_the_steps_of_this_run_and_refuses_agents_that_diverged_before() -> None:
    agent, points = chain_agent(0.1), np.arange(7, 141, 7)
    td.train(chain(), agent, steps=100, seed=0)
    agent.learner.memory["alpha"] = 1e3
    own = learn_in_env("Chain-v0", {}, None, agent, 0, 140, points, (), np.arange(31))
    assert 0 < own.diverged_at < 100
    assert np.isneginf(own.curve[points >= own.diverged_at]).all()
    assert np.isfinite(own.curve[0])
    for task in ("Chain-v0", chain()):
        with pytest.raises(ValueError, match="'0' has already diverged"):
            td.control.run(task, [agent], seeds=1, steps=10)
