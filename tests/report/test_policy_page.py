"""The policy of a study of control: kept as the agent itself has it, summed up over seeds, and drawn."""

from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import tdlambda as td
from tdlambda import charts
from tdlambda.charts.control_policy import on_map
from tdlambda.control.worlds import EnvTask, action_names, observation_grid, plane_of
from tdlambda.lab.report.figures import chart, drawn
from tdlambda.lab.report.observation_layout import layout
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.report.page import page
from tdlambda.lab.report.page_data import page_data
from tdlambda.lab.studies import units
from tdlambda.tasks.frozen_lake import FrozenLake
from tdlambda.tasks.gridworlds import Bifurcation

VALUES = {
    "Sarsa": td.studies.Method("Sarsa", over=("alpha", "lam"), options={"epsilon": 0.1}),
    "Q": td.studies.Method("QLambda", over=("alpha",), options={"epsilon": 0.1, "lam": 0.8}),
}


def study(task: str, methods: Any = VALUES, **changes: Any) -> td.studies.Study:
    declared: dict[str, Any] = {
        "kind": "control", "seeds": 3, "steps": 2000, "points": 20, "grid": {"alpha": [0.1, 0.3], "lam": [0.0, 0.9]},
    }  # fmt: skip
    return td.studies.Study("policies", task, methods, **(declared | changes))


@pytest.fixture(scope="module")
def cliff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("cliff")
    td.studies.run_study(study("CliffWalking-v0"), where, progress=False)
    return where


@pytest.fixture(scope="module")
def view(cliff: Path) -> Overview:
    return overview(cliff)


def test_what_is_kept_is_what_the_agent_would_do(cliff: Path) -> None:
    some, results = study("CliffWalking-v0"), td.studies.load_results(cliff)
    for method in some.methods:
        found = td.control.run("CliffWalking-v0", some.agents(method), 3, 2000, keep=("agents",))
        for cell, agents in zip(some.cells(method), found.agents, strict=True):
            mine = results.filter(pl.col("method") == method, *(pl.col(k) == v for k, v in cell.items())).sort("seed")
            wanted = [[int(np.argmax(agent.q(s))) for s in range(48)] for agent in agents]
            assert mine["policy"].to_list() == wanted
            assert len({action for row in wanted for action in row}) == 4


def test_an_actors_policy_is_kept_at_points_of_the_plane(tmp_path: Path) -> None:
    methods = {"AC": td.studies.Method("TrueOnlineTD", over=("alpha",), options={"lam": 0.9})}
    some = study("MountainCar-v0", methods, agent={"eta": 0.1}, task_options={"limit": 200}, grid={"alpha": [0.01]})
    td.studies.run_study(some, tmp_path, progress=False)
    agents = td.control.run(some.environment, some.agents("AC"), 3, 2000, keep=("agents",)).agents[0]
    points = [(x, v) for x in np.linspace(-1.2, 0.6, 8) for v in np.linspace(-0.07, 0.07, 8)]
    wanted = [[int(np.argmax(agent.policy_at(point))) for point in points] for agent in agents]
    assert td.studies.load_results(tmp_path).sort("seed")["policy"].to_list() == wanted
    data = page_data(overview(tmp_path))["figures"]["policy"]
    assert data["spec"]["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["left", "none", "right"]
    assert [data["spec"]["layer"][0]["encoding"][side]["title"] for side in "xy"] == ["position", "velocity"]


def test_the_page_shows_the_action_of_most_seeds(cliff: Path, view: Overview) -> None:
    results, made = td.studies.load_results(cliff), drawn(view)
    figure = made.figures["policy"]
    for row in figure.rows:
        cell = view.cells[row["cell"]]
        here = [c for c in view.of(row["method"]) if c.alpha == row["alpha"]]
        assert cell.measured(row["measure"]).mean == min(c.measured(row["measure"]).mean for c in here)
        of_cell = (pl.col(k) == v for k, v in cell.settings.items())
        runs = results.filter(pl.col("method") == row["method"], *of_cell)["policy"].to_list()
        shown = {one["state"]: one for one in figure._items(row, made.cells)}
        assert set(shown) == set(range(48))
        for state in range(48):
            if state > 36:  # the cliff, and the goal at its end
                assert shown[state]["action"] is None
                assert shown[state]["ends"] == ("end" if state == 47 else "")
                continue
            counts = Counter("↑→↓←"[run[state]] for run in runs)
            assert counts[shown[state]["action"]] == max(counts.values())
            assert shown[state]["agreed"] == pytest.approx(max(counts.values()) / 3, abs=1e-3)
    assert len({row["series"] for row in figure.rows}) == 2


def test_it_is_on_the_page_and_among_the_figures(view: Overview, tmp_path: Path) -> None:
    assert 'id="policy"' in page(view)
    assert "greedy action" in page_data(view)["groups"][0]["found"]["tail"]["words"]["policy-hint"]
    path = charts.save(chart(view, "policy"), tmp_path / "policy.svg")
    arrows = [char for char in path.read_text(encoding="utf-8") if char in "↑→↓←"]
    assert len(arrows) >= 2 * 37


def test_results_without_a_policy_still_open(cliff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study half of which an earlier program ran, which kept no policy."""
    some, written = study("CliffWalking-v0"), units.unit_bytes

    def as_earlier(study: td.studies.Study, method: str, result: Any) -> bytes:
        if result.seeds[0] != 0:
            return written(study, method, result)
        with monkeypatch.context() as patch:
            patch.setattr(units, "ControlResult", int)
            return written(study, method, result)

    monkeypatch.setattr("tdlambda.lab.studies.execution.unit_bytes", as_earlier)
    td.studies.run_study(some, tmp_path / "half", progress=False)
    td.studies.run_study(some.but(seeds=1), tmp_path / "old", progress=False)
    columns = [pq.read_schema(path).names for path in sorted((tmp_path / "half").glob("units/*/*.parquet"))]
    assert sorted("policy" in names for names in columns) == [False, False, True, True, True, True]
    assert td.studies.load_results(tmp_path / "half")["policy"].null_count() == 6
    assert "policy" not in td.studies.load_results(tmp_path / "old").columns
    half, old = overview(tmp_path / "half"), overview(tmp_path / "old")
    assert {round(6 * float(share)) for cell in half.cells for share in cell.agreed} <= {3, 6}  # type: ignore[union-attr]
    assert [c.tail.mean for c in half.cells] == [c.tail.mean for c in overview(cliff).cells]
    assert all(cell.policy is None for cell in old.cells)
    assert "policy" not in drawn(old).figures
    assert page(old)
    with pytest.raises(ValueError, match="no data for the figure 'policy'"):
        chart(old, "policy")


def test_costs_below_zero_have_plain_axes_and_differences(tmp_path: Path) -> None:
    """RingWorld pays 1 at the right end: a good agent's cost is -1, which has no logarithm and no ratio."""
    methods = VALUES | {
        "META": td.studies.Method("Sarsa", "Meta", over=("alpha",), options={"epsilon": 0.1, "kappa": 0.01})
    }
    td.studies.run_study(study("RingWorld-v0", methods, seeds=8), tmp_path, progress=False)
    view = overview(tmp_path)
    assert not view.positive
    figures = page_data(view)["figures"]
    for name in ("u", "learning"):
        up = [layer["encoding"].get("y", {}) for layer in figures[name]["spec"]["layer"]]
        scales = [one["scale"] for one in up if "scale" in one]
        assert scales
        assert not any(scale.get("type") == "log" for scale in scales)
    cell = view.best("Q")
    low, high = cell.curve_band(log=False)
    assert (low <= cell.curve).all()
    assert ((low + high) / 2) == pytest.approx(cell.curve)
    made = drawn(view)
    for row in made.figures["paired"].rows:
        ours, theirs = (
            view.best(row[side], None if row["at"] == "best" else row["at"], row["measure"])
            for side in ("method", "reference")
        )
        a, b = (one.runs[row["measure"]] for one in (ours, theirs))
        assert row["mid"] == pytest.approx(float((a - b).mean()))
        assert row["low"] <= row["mid"] <= row["high"]
    assert made.figures["sensitivity"].rows == []
    assert made.figures["lambda"].chosen(made.choice(), made.cells)
    said = page_data(view)["groups"][0]["found"]["tail"]["words"]
    assert (said["even"], said["margin"]) == ("0", "difference")
    assert chart(view, "paired").to_dict()
    assert chart(view, "policy").to_dict()


def test_costs_above_zero_have_ratios(view: Overview) -> None:
    assert view.positive
    said = page_data(view)["groups"][0]["found"]["tail"]["words"]
    assert (said["even"], said["margin"]) == ("1", "ratio")
    assert drawn(view).figures["sensitivity"].rows


def test_arrows_are_the_moves_of_each_task() -> None:
    """On dry land each arrow leads where it points."""
    way = {"↑": (-1, 0), "→": (0, 1), "↓": (1, 0), "←": (0, -1)}
    tasks: Any = [td.make("FrozenLake-v0", "8x8", slippery=False), td.make("CliffWalking-v0")]
    for task in tasks:
        width = len(task.rows[0])
        for action, arrow in enumerate(action_names(task)):
            down, right = way[arrow]
            leads = task.mdp.under(np.eye(4)[action]).P().toarray()[width + 2]
            assert leads.argmax() == (1 + down) * width + 2 + right
    lake: Any = EnvTask("FrozenLake-v1", {"discount": 0.95})
    assert (lake.rows, action_names(lake)) == (("SFFF", "FHFH", "FFFH", "HFFG"), ["←", "↓", "→", "↑"])


def test_maps_leave_walls_out() -> None:
    cells = {cell["state"]: cell for cell in on_map(Bifurcation(1).rows)}
    assert not {0, 1, 5, 6, 25} & set(cells)
    assert [s for s, cell in cells.items() if not cell["live"]] == [14]
    assert cells[14]["ends"] == "end"
    found = layout(study("Bifurcation-v0", preset="1"), "Sarsa", 30)
    assert (found.kind, found.names, found.actions) == ("map", list(cells), ["↑", "→", "↓", "←"])


def test_planes_of_worlds_are_observations_that_they_make() -> None:
    there: dict[str, Any] = {
        "CartPole-v1": lambda obs: (obs[2], obs[3]), "Acrobot-v1": lambda obs: (np.arctan2(obs[1], obs[0]), obs[4]),
    }  # fmt: skip
    for name, at in there.items():
        world = td.tasks.WORLDS[name](0.99)
        plane: Any = plane_of(world)
        grid = observation_grid(world)
        assert grid.shape == (64, world.width)
        assert all(world.space.contains(obs) for obs in grid)
        inside = np.abs(plane.points(8)[:, 0]) < 3.14
        assert np.array([at(obs) for obs in grid])[inside] == pytest.approx(plane.points(8)[inside])
    other = gym.spaces.Box(-np.ones(3), np.ones(3), dtype=np.float64)
    assert plane_of(td.tasks.World(lambda *_: None, lambda *_: None, [0.0], 3, 2, space=other)) is None


def test_worlds_without_bounds_have_nothing_to_look_at() -> None:
    unbounded = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    world = td.tasks.World(lambda *_: None, lambda *_: None, [0.0], 3, 2, space=unbounded)
    assert observation_grid(world).shape == (0, 3)
    assert units._lists(np.zeros((4, 0)), np.float32).to_pylist() == [[]] * 4


def test_an_agent_draws_itself() -> None:
    lake, ring = FrozenLake(), td.make("RingWorld-v0")
    agent = td.Sarsa(lake.features, 4, 0.1)
    td.train(lake, agent, steps=2000, seed=0)
    rows = {row["state"]: row for row in agent.plot(lake).to_dict()["data"]["values"]}
    assert set(rows) == set(range(16))  # twelve features, but sixteen states
    live = [s for s, letter in enumerate("".join(lake.rows)) if letter in "SF"]
    assert {s: row["action"] for s, row in rows.items() if row["action"]} == {s: "←↓→↑"[agent.greedy(s)] for s in live}
    actor = td.ActorCritic(td.TrueOnlineTD(ring.features, 0.1, 0.9), td.control.Softmax(2), eta=0.2)
    td.train(ring, actor, steps=2000, seed=0)
    shown = actor.plot(ring).to_dict()["data"]["values"]
    assert [row["action"] for row in shown] == [str(actor.greedy(s)) for s in range(11)]
    assert [row["value"] for row in shown] == pytest.approx([actor.critic.predict(s) for s in range(11)], rel=1e-5)
    cart = td.tasks.WORLDS["CartPole-v1"](0.99).env()
    pole = td.Sarsa(td.features.Fourier([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3]), 2)
    points = pole.plot(cart).to_dict()
    assert len(points["data"]["values"]) == 1600
    assert points["layer"][0]["encoding"]["x"]["title"] == "angle of the pole"
    with pytest.raises(ValueError, match="two bounded dimensions"):
        pole.plot(gym.make("CartPole-v1"))
