"""`tdlambda run` and `tdlambda reproduce`, as a program reads them and as a person does."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND, Said, tdlambda

import tdlambda as td

STUDY = Path(__file__).with_name("small.toml")
OUTCOME = td.studies.Outcome(Path("results"), 3, 3, [], True, 1.0)


def run(where: Path, *arguments: str, expect: int = 0) -> Said:
    return tdlambda(*arguments, where=where, expect=expect)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return Path(shutil.copy(STUDY, tmp_path))


def test_run_says_what_it_will_do_does_it_once_and_shows_the_best(study: Path) -> None:
    here = study.parent
    first = run(here, "run", "small.toml")
    assert "6 units to do" in first.stdout
    assert re.search(r"updates: (less than a second|about [1-9])", first.stdout)
    assert "finished: 6 units done, 0 left" in first.stdout
    assert "[red]odd[/red] <title>" in first.stdout.replace("\n", " ")
    results = td.studies.load_results(here / "results" / "small")
    assert results.shape[0] == 3 * (4 + 2)
    again = run(here, "run", "small.toml")
    assert "nothing is missing" in again.stdout
    more = json.loads(run(here, "run", "small.toml", "--seeds", "5", "--methods", "fixed", "--json").stdout)
    assert (more["done"], more["left"], more["interrupted"]) == (2, 0, False)
    assert td.studies.load_results(here / "results" / "small").shape[0] == 5 * 4 + 3 * 2


def test_the_best_is_the_best_of_those_that_did_not_diverge_even_if_each_cell_lost_a_run(tmp_path: Path) -> None:
    (tmp_path / "lost.toml").write_text(
        'name = "lost"\ntask = "RandomWalk-v0"\nseeds = 3\nsteps = 2000\nwarm_up = 0.1\n'
        '[grid]\nalpha = [50.0, 0.1]\n[methods.greedy]\nlearner = "TD"\nrule = "Greedy"\nover = ["alpha"]\n'
    )
    shown = run(tmp_path, "run", "lost.toml").stdout
    results = td.studies.load_results(tmp_path / "results" / "lost")
    assert results.filter(results["alpha"] == 0.1)["diverged_at"].to_list().count(-1) == 2
    assert results.filter(results["alpha"] == 50.0)["diverged_at"].to_list().count(-1) == 0
    assert "alpha 0.1" in shown


def test_options_change_the_study(study: Path) -> None:
    here = study.parent
    options = ["--seeds", "7:9", "--steps", "500", "--alphas", "0.02", "--grid", "lam=0.5", "--out", "there"]
    run(here, "run", "small.toml", *options)
    results = td.studies.load_results(here / "there")
    assert set(results["seed"]) == {7, 8}
    assert set(results["alpha"]) == {0.02}
    assert set(results["lam"]) == {0.5, None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "smal.toml"], "smal.toml"),
        (["run", "ringworld-0.4-0.35"], "did you mean 'ringworld-0.40-0.35'"),
        (["run", "small.toml", "--seeds", "x"], "--seeds must be a number of seeds, or a range A:B such as 100:130"),
        (["run", "small.toml", "--seeds", "-3"], "--seeds must be a number of seeds, or a range A:B such as 100:130"),
        (["run", "small.toml", "--seeds", "7:7"], "--seeds must be from 1 to 1,000,000 seeds"),
        (["run", "small.toml", "--steps", "9", "--episodes", "2"], "give either steps or episodes"),
        (["run", "small.toml", "--seeds", "0"], "--seeds must be from 1 to 1,000,000; got 0"),
        (["run", "small.toml", "--grid", "lam"], "--grid"),
        (["run", "small.toml", "--grid", "kappa=1"], "kappa"),
        (["run", "small.toml", "--methods", "fixed,fancy"], "fancy"),
        (["run", "small.toml", "--quick"], "quick"),
        (["reproduce", "--quick", "--full"], "--quick and --full"),
        (["reproduce", "table-9"], "table-9"),
        (["reproduce", "--protocol", "mine"], "--protocol"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(study: Path, arguments: list[str], message: str) -> None:
    failed = run(study.parent, *arguments, expect=2)
    assert message in failed.stderr.replace("\n", " ")
    assert "Traceback" not in failed.stderr
    assert not (study.parent / "results").exists()


@pytest.mark.costly
def test_reproduce_prints_json_as_promised(tmp_path: Path) -> None:
    small = ["--alphas", "0.01,0.1", "--seeds", "4", "--steps", "400"]
    found: Any = json.loads(
        run(tmp_path, "reproduce", "ringworld-0.40-0.35", *small, "--json", "--save", "kept").stdout
    )
    (table,) = found["tables"]
    assert (table["table"], table["protocol"]) == ("ringworld_04_035", "published")
    assert len(table["cells"]) == 2 * (8 + 2)
    promised = [
        "alpha",
        "method",
        "lam",
        "kappa",
        "learner",
        "mean",
        "std",
        "n",
        "diverged",
        "published_mean",
        "published_std",
        "z",
    ]
    for cell in table["cells"]:
        assert set(promised) <= set(cell)
        assert cell["method"] in ("fixed", "greedy", "META", "META_np")
        assert (cell["lam"] is None) == (cell["method"] != "fixed")
        assert (cell["kappa"] is None) == (not cell["method"].startswith("META"))
        apart = cell["std"] ** 2 / cell["n"] + cell["published_std"] ** 2 / 240
        assert cell["z"] == pytest.approx((cell["mean"] - cell["published_mean"]) / apart**0.5)
    assert len(list((tmp_path / "kept").iterdir())) == 2


@pytest.mark.slow
def test_the_protocol_like_for_like_says_what_holds(tmp_path: Path) -> None:
    small = ["--alphas", "0.01,0.1", "--seeds", "4", "--steps", "2000"]
    shown = run(tmp_path, "reproduce", "frozenlake", *small, "--protocol", "like-for-like").stdout
    assert "META_default beats λ-greedy" in shown.replace("\n", " ")
    assert "the thesis has 1,000,000 steps, not 2,000" in shown.replace("\n", " ")


@pytest.mark.parametrize("command", ["run", "reproduce"])
@pytest.mark.parametrize(
    ("stopped", "said"),
    [(td.Interrupted("3 units were done", OUTCOME), "3 units were done"), (KeyboardInterrupt(), "no unit was started")],
)
def test_ctrl_c_is_told_with_what_is_kept(
    command: str, stopped: KeyboardInterrupt, said: str, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_study(*_: Any, **__: Any) -> None:
        raise stopped

    monkeypatch.setattr(td.studies, "run_study", run_study)
    arguments = [str(study)] if command == "run" else ["frozenlake"]
    found = tdlambda(command, *arguments, expect=130)
    assert found == ("", f"interrupted: {said}; the same command resumes the run\n")
    if command == "run" and isinstance(stopped, td.Interrupted):
        assert json.loads(tdlambda("run", str(study), "--json", expect=130).stdout)["interrupted"] is True


def test_ctrl_c_and_again(study: Path) -> None:
    here = study.parent
    options = ["run", "small.toml", "--steps", "400000", "--seeds", "12", "--workers", "1"]
    going = subprocess.Popen([*COMMAND, *options], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    units = here / "results" / "small" / "units"
    for _ in range(600):
        if len(list(units.glob("*/*.parquet"))) >= 2:
            break
        time.sleep(0.1)
    os.kill(going.pid, signal.SIGINT)
    _, err = going.communicate(timeout=60)
    assert going.returncode == 130, err
    assert re.search(r"interrupted: \d+ units were finished and kept, \d+ are left; the same command resumes", err)
    before = {path: path.stat().st_mtime_ns for path in units.glob("*/*.parquet")}
    assert 2 <= len(before) < 24
    run(here, *options)
    after = {path: path.stat().st_mtime_ns for path in units.glob("*/*.parquet")}
    assert len(after) == 24
    assert before.items() <= after.items()
