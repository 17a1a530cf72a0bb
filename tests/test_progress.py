"""Progress bars: on standard error, on request or for long work in a terminal."""

import subprocess
import sys

import numpy as np
import pytest

import tdlambda as td
from tdlambda import progress
from tdlambda.progress import Bar


def test_number_speed_and_more_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with Bar(2000, True, "steps") as bar:
        for done in range(0, 1501, 100):
            bar.update(done, lambda: "3 episodes")
    said = capsys.readouterr()
    assert said.out == ""
    assert "1,500/2,000 steps, " in said.err
    assert "/s, 3 episodes" in said.err
    assert "75%" in said.err


def test_the_total_need_not_be_known(capsys: pytest.CaptureFixture[str]) -> None:
    horde = td.Horde(None, td.Question("flow", horizon=6))
    rows = [{"flow": value} for value in np.random.default_rng(0).normal(size=300)]
    horde.learn(iter(rows), progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "300 rows" in said.err
    assert "%" not in said.err


def test_what_is_not_shown_costs_nothing() -> None:
    def more() -> str:
        raise AssertionError

    with Bar(None, None, "steps") as bar:  # standard error is no terminal here
        bar.update(1, more)
    with Bar(None, False, "steps") as bar:
        bar.update(1, more)
    code = "import sys, tdlambda.progress as p; p.Bar(3, None, '').update(1); assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_last_number_is_drawn_although_little_time_has_passed(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(10, True, "steps") as bar:
        bar.update(5)
        bar.update(10)
    assert "10/10 steps" in capsys.readouterr().err
