"""Studies scored by other errors, in episodes, and by means over all steps: the engine's numbers, keys, words."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tdlambda as td
from tdlambda.lab.cli.app import app

WALK: dict[str, Any] = {
    "name": "walk", "task": "RandomWalk-v0", "preset": "5", "seeds": 3, "grid": {"alpha": [0.05, 0.1]},
    "methods": {"TD": td.studies.Method("TD", over=("alpha",), options={"lam": 0.8})},
}  # fmt: skip
OLD_DEFINITION = "a16ef09a9663d0d9"
"""Of a study that says nothing of scores, before studies could."""


def learners(task: Any) -> list[td.Learner]:
    return [td.TD(task.features, alpha, 0.8) for alpha in (0.05, 0.1)]


@pytest.mark.parametrize(
    "measured",
    [
        {"episodes": 10, "score": "rms"},
        {"steps": 90, "points": 7, "score": "rmspbe"},
        {"steps": 90, "points": 7, "score": "rmsve", "average": "before"},
    ],
)
def test_a_study_stores_what_the_engine_gives(measured: dict[str, Any], tmp_path: Path) -> None:
    study = td.studies.Study.from_dict(td.studies.Study(**WALK, **measured).to_dict())
    td.studies.run_study(study, tmp_path, workers=1)
    results = td.studies.load_results(tmp_path).sort("alpha", "seed")
    task = td.make("RandomWalk-v0", "5")
    options = {"points": 10, **measured}
    found = td.engine.run(task, learners(task), 3, **options, threads=1)
    np.testing.assert_allclose(results["area"].to_numpy(), found.area().ravel(), rtol=1e-12)
    np.testing.assert_allclose(results["final"].to_numpy(), found.error[:, :, -1].ravel(), rtol=1e-12)
    if "average" in measured:
        every = td.engine.run(task, learners(task), 3, 90, points=90, score="rmsve", threads=1).error
        start = td.engine.run(task, learners(task), 3, 1, score="rmsve", average="before", threads=1).error
        before = np.concatenate([start, every[:, :, :-1]], axis=2)
        np.testing.assert_allclose(results["area"].to_numpy(), before.mean(axis=2).ravel(), rtol=1e-9)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["curve_steps"][-1] == measured.get("episodes", measured.get("steps"))


def test_keys_cover_what_is_measured_and_stay_what_they_were() -> None:
    plain = td.studies.Study(**WALK, steps=90, points=9)
    changes: list[dict[str, Any]] = [
        {}, {"score": "rmsve"}, {"score": "rms"}, {"score": "rmspbe"}, {"average": "before"}, {"average": "after"},
        {"episodes": 9}, {"episodes": 10},
    ]  # fmt: skip
    assert len({plain.but(**change).definition("TD") for change in changes}) == len(changes)
    assert plain.definition("TD") == OLD_DEFINITION


def test_what_a_study_says_of_itself() -> None:
    study = td.studies.Study(**WALK, episodes=10, score="rms")
    assert (study.unit, study.length, study.points, study.quantity) == ("episodes", 10, 10, "RMS error")
    assert "3 seeds × 10 episodes" in repr(study)
    ends = np.flatnonzero(study.environment.sampler(0).take(2000).terminated)
    assert study.run_steps == ends[9] + 1
    assert td.studies.Study(**WALK).unit == "steps"
    assert td.studies.Study(**WALK, quick={"episodes": 2}, episodes=10).small().length == 2


def test_a_length_in_steps_replaces_one_in_episodes_and_the_other_way_round(tmp_path: Path) -> None:
    study = td.studies.Study(**WALK, episodes=10, quick={"steps": 200})
    assert (study.steps, study.small().steps, study.small().episodes) == (None, 200, None)
    assert (study.but(steps=300).length, study.but(steps=300).but(episodes=4).unit) == (300, "episodes")
    assert study.but(episodes=None).length == td.studies.Study(**WALK).length == 100_000
    assert replace(td.studies.Study(**WALK), episodes=4).length == 4  # steps are by default, not given
    with pytest.raises(ValueError, match="give either steps or episodes; got steps = 300, episodes = 4"):
        study.but(steps=300, episodes=4)
    (tmp_path / "mine.toml").write_text('extends = "self-tuning-boyan"\nepisodes = 20')
    found = td.studies.Study.load(tmp_path / "mine.toml")
    assert (found.steps, found.episodes) == (None, 20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "mspbe"}, "score must be one of"),
        ({"average": "mean"}, "average must be"),
        ({"episodes": 5, "warm_up": 0.1}, "warm_up of its own"),
        ({"kind": "control", "score": "rms"}, 'score: only a study of kind "prediction"'),
        ({"kind": "control", "episodes": 4}, 'episodes: only a study of kind "prediction"'),
        ({"steps": 50}, "points must be at most the number of steps, 50; got 100"),
    ],
)
def test_wrong_measures_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.studies.Study(**(WALK | options))


def test_thesis_truth_is_of_the_value_error_alone() -> None:
    methods = {"TD": td.studies.Method("TD", options={"alpha": 0.1}, truth="thesis")}
    study = td.studies.Study("x", "RingWorld-v0", methods, steps=200, score="rmsve")
    with pytest.raises(ValueError, match='"thesis" has the weights of score "value"'):
        study.learners("TD")


def test_command_and_report_name_what_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "walk.toml"
    file.write_text(
        'name = "walk"\ntask = "RandomWalk-v0"\npreset = "5"\nseeds = 2\nepisodes = 12\nscore = "rms"\n'
        '[grid]\nalpha = [0.05, 0.1]\n[methods.TD]\nlearner = "TD"\nover = ["alpha"]\noptions = { lam = 0.8 }\n'
    )
    out = tmp_path / "out"
    told = CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--workers", "1", "--episodes", "8"])
    assert told.exit_code == 0, told.output
    assert "2 seeds × 8 episodes" in told.output
    assert "RMS error" in told.output
    told = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "steps"), "--steps", "100"])
    assert told.exit_code == 0, told.output
    assert "2 seeds × 100 steps" in told.output
    told = CliRunner().invoke(app, ["report", str(out), "--out", str(tmp_path / "page.html")])
    assert told.exit_code == 0, told.output
    drawn_as = json.dumps(td.report.load_overview(out).plot("learning").to_dict(), ensure_ascii=False)
    assert '"title": "episodes"' in drawn_as
    assert "RMS error" in drawn_as
