"""The commands, as a program reads them and as a person does."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import COMMAND, as_json
from commands import tdlambda as run

import tdlambda as td


def test_tasks_lists_every_task_with_sizes_and_presets() -> None:
    listed = {t["id"]: t for t in as_json("tasks")["tasks"]}
    assert set(listed) == set(td.tasks.TASKS)
    assert listed["FrozenLake-v0"]["states"] == 16
    assert listed["FrozenLake-v0"]["features"] == 12
    assert "0.3/0.25" in listed["RingWorld-v0"]["presets"]
    assert listed["MountainCar-v0"]["states"] is None
    text = run("tasks").stdout
    assert all(name in text for name in td.tasks.TASKS)


def test_solve_prints_what_the_library_computes() -> None:
    answer = as_json("solve", "RingWorld-v0", "--preset", "0.3/0.25")
    mdp = td.make("RingWorld-v0", "0.3/0.25").mdp
    assert mdp is not None
    target, behavior = [0.25, 0.75], [0.3, 0.7]
    np.testing.assert_allclose(answer["v"], mdp.v(target))
    np.testing.assert_allclose(answer["d"], mdp.under(target).state_distribution())
    np.testing.assert_allclose(answer["return_variance"], mdp.under(target).return_variance())
    np.testing.assert_allclose(answer["return_variance_corrected"], mdp.under(target, behavior).return_variance())
    assert answer["error_weights_sum"] == pytest.approx(mdp.under(target).error_weights().sum())
    assert "lam" not in answer


def test_solve_with_lambda_and_values() -> None:
    lam = ",".join(str(0.05 * s) for s in range(11))
    answer = as_json("solve", "RingWorld-v0", "--lam", lam, "--values", "0.5", "--set", "behavior_left=0.35")
    assert answer["on_policy"] is True
    mdp = td.make("RingWorld-v0").mdp
    assert mdp is not None
    moments = mdp.under([0.35, 0.65]).lambda_return(0.5, 0.05 * np.arange(11))
    np.testing.assert_allclose(answer["lambda_return_mean"], moments.mean)
    np.testing.assert_allclose(answer["lambda_return_variance"], moments.variance)
    assert answer["target_error"] == pytest.approx(mdp.under([0.35, 0.65]).target_error(0.5, 0.05 * np.arange(11)))
    shown = run("solve", "RingWorld-v0", "--lam", "0.9").stdout
    assert "0.9384" in shown
    assert "J(λ)" in shown


def test_solve_takes_any_option_of_a_task() -> None:
    answer = as_json("solve", "FrozenLake-v0", "--set", 'map=["SF","HG"]', "--set", "slippery=false")
    assert answer["states"] == 4
    assert "first 64 of 101" in run("solve", "BoyanChain-v0", "--preset", "101").stdout


def test_solve_says_inf_where_a_variance_is_infinite() -> None:
    answer = as_json("solve", "TwoState-v0", "--set", "behavior_end=0.9", "--set", "discount=1.0", "--lam", "1")
    assert answer["return_variance_corrected"][0] == "inf"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "RingWord-v0"], "did you mean 'RingWorld-v0'"),
        (["solve", "RingWorld-v0", "--preset", "1/2"], "preset"),
        (["solve", "RingWorld-v0", "--lam", "x"], "--lam must be a number"),
        (["solve", "RingWorld-v0", "--lam", "1.5"], "lam of state 0 is 1.5"),
        (["solve", "RingWorld-v0", "--lam", "1,0"], "lam must be a number or have shape (11,)"),
        (["solve", "RingWorld-v0", "--lam", "0.5", "--values", "1e300"], "exceeds 1.8e+308"),
        (["solve", "RingWorld-v0", "--set", "n"], "--set must be name=value"),
        (["solve", "RingWorld-v0", "--set", "size=3"], "size"),
        (["solve", "MountainCar-v0"], "no finite model"),
    ],
)
def test_mistakes_are_one_line_on_stderr(arguments: list[str], message: str) -> None:
    done = run(*arguments, expect=2)
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_doctor_describes_the_installation() -> None:
    report = as_json("doctor")
    assert report["tdlambda"] == td.__version__
    assert report["cores"] >= 1
    assert report["numba"] != "missing"
    assert report["cache_files"] > 0
    assert "python" in run("doctor").stdout


@pytest.mark.parametrize("command", ["tasks", "solve", "doctor"])
def test_help_shows_an_example(command: str) -> None:
    assert f"Example: tdlambda {command}" in run(command, "--help").stdout


def process(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_numbers_are_never_cut_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lam = ",".join(str(s / 10) for s in range(11))
    shown = process(*COMMAND, "solve", "RingWorld-v0", "--lam", lam).stdout
    assert "-0.3169" in shown
    assert "Var[G^λ]" in shown


def test_names_with_brackets_are_shown_as_they_are() -> None:
    assert "'[/x]'" in run("solve", "[/x]", expect=2).stderr


def test_options_as_python_writes_them() -> None:
    sure, slippery = (as_json("solve", "FrozenLake-v0", "--set", f"slippery={x}")["v"][0] for x in ("False", "True"))
    assert sure != slippery
    assert "slippery must be True or False" in run("solve", "FrozenLake-v0", "--set", "slippery=no", expect=2).stderr


def test_the_example_runs() -> None:
    script = Path(__file__).parent.parent.parent / "examples" / "watch_lambda.py"
    done = process(sys.executable, str(script))
    assert done.returncode == 0, done.stderr
    assert "λ of states 1 to 9" in done.stdout


def test_a_mistake_is_one_line_of_the_process_and_a_traceback_where_one_is_asked_for() -> None:
    short = process(*COMMAND, "solve", "RingWord-v0")
    assert short.returncode == 2
    assert short.stderr.startswith("error: id: unknown task 'RingWord-v0'")
    for line in (["--debug", "solve", "RingWord-v0"], ["--debug", "run", "nowhere.toml"]):
        long = run(*line, expect=2).stderr
        assert long.startswith("Traceback")
        assert "src/tdlambda/" in long
        assert "ValueError: " in long.splitlines()[-1]


def test_the_environment_may_ask_for_tracebacks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDLAMBDA_DEBUG", "1")
    assert run("solve", "RingWord-v0", expect=2).stderr.startswith("Traceback")


def test_python_m_tdlambda_is_the_command_and_says_its_version() -> None:
    done = process(sys.executable, "-m", "tdlambda", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tdlambda {td.__version__}\n", "")


def test_a_shell_can_complete_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))  # there may be none above us
    assert "complete -o default -F _tdlambda_completion tdlambda" in run("--show-completion").stdout
    monkeypatch.setenv("_TDLAMBDA_COMPLETE", "complete_bash")
    for words, found in (("tdlambda sol", "solve"), ("tdlambda solve --pre", "--preset")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        assert run().stdout.split() == [found]


CUT_SHORT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

class CutShort:
    def find_spec(self, name, path=None, target=None):
        if name == "NAME":  # as in the initialisation of a compiled module
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
            except KeyboardInterrupt:
                raise ImportError("cut short") from None

sys.meta_path.insert(0, CutShort())
from tdlambda.lab.cli import main
main(["solve", "RingWorld-v0"])
"""


@pytest.mark.parametrize("name", ["numpy", "typer", "numba", "scipy.sparse.linalg"])
def test_ctrl_c_during_imports_ends_with_130(name: str) -> None:
    """Of the package, of the command, and of what the command needs; -SIGINT is 130 for a shell."""
    program = [sys.executable, "-c", CUT_SHORT.replace("NAME", name)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert "ImportError" not in done.stderr


def test_export_writes_a_saved_learner_in_c(tmp_path: Path) -> None:
    v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5)
    v.update(0, 1.0, 1, gamma=0.9)
    v.save(tmp_path / "values.npz")
    told = as_json("export", str(tmp_path / "values.npz"), "--c", "--to", str(tmp_path / "new"), "--name", "values")
    assert told["steps"] == 1
    assert (tmp_path / "new" / "values.c").read_text().startswith('#include "values.h"')
    again = run(
        "export", str(tmp_path / "values.npz"), "--c", "--to", str(tmp_path / "new"), "--name", "values", expect=2
    )
    assert "exists already" in again.stderr
    assert "choose a language with --c" in run("export", str(tmp_path / "values.npz"), expect=2).stderr
    td.LSTD(td.features.OneHot(3)).save(tmp_path / "lstd.npz")
    assert "LSTD has no C" in run("export", str(tmp_path / "lstd.npz"), "--c", expect=2).stderr
