"""`tdlambda watch`: one view, a view for programs, and a study that is really running."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commands import COMMAND, tdlambda
from rich.console import Console
from typer.testing import CliRunner

import tdlambda as td
from tdlambda.lab.cli.app import app
from tdlambda.lab.cli.watch import view
from tdlambda.lab.studies.watching import Watcher

pty: Any = pytest.importorskip("pty")
STUDY = Path(__file__).with_name("small.toml")


def watch(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["watch", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def small(tmp_path: Path) -> Path:
    td.studies.run_study(td.studies.Study.load(STUDY).but(steps=500), tmp_path / "r", progress=False)
    return tmp_path / "r"


def shown(directory: Path, width: int | None = None) -> str:
    out = Console(width=width or 300, record=True, file=Path(os.devnull).open("w"))  # noqa: SIM115
    with out.file:
        out.print(view(Watcher(directory).look(), width))
    return out.export_text()


def test_one_view_and_one_for_programs(small: Path) -> None:
    text = watch(str(small), "--once")
    assert "small: [red]odd[/red] <title>, 3 seeds × 500 steps" in text
    assert "6 of 6 units" in text
    assert "finished" in text
    found = json.loads(watch(str(small), "--json"))
    assert (found["done"], found["wanted"], found["finished"]) == (6, 6, True)
    assert [method["name"] for method in found["methods"]] == ["fixed", "greedy"]
    assert found["methods"][0]["best"]["settings"].keys() == {"alpha", "lam"}
    for number in (found["methods"][0]["best"]["mean"], found["methods"][1]["best"]["low"]):
        assert (f"{number:.4g}" in text) or (f"{number:.3g}" in text)


def test_no_number_is_cut_short_however_narrow_the_terminal(small: Path) -> None:
    wide = shown(small)
    assert "95 % interval" in wide
    numbers = [f"{m.best.mean:.4g}" for m in Watcher(small).look().methods if m.best]
    for width in (40, 60, 80, 100):
        text = shown(small, width)
        assert "…" not in text
        assert all(number in text for number in numbers)
        assert "3 of 3" in text


def test_what_is_wrong_is_said(small: Path) -> None:
    unit = min(small.glob("units/*/*.parquet"))
    unit.write_bytes(b"nothing")
    text = shown(small)
    assert f"damaged: {unit}" in text
    assert "5 of 6 units" in text
    assert "no process is running this study" in text
    failed = tdlambda("watch", str(small.parent), expect=2)
    assert f"did you mean {small}?" in failed.stderr.replace("\n", "")
    assert "Traceback" not in failed.stderr


def until_closed(ours: int, enough: str | None = None) -> str:
    """What a terminal shows, until the program has ended or has shown enough."""
    seen, end = b"", time.monotonic() + 120
    while time.monotonic() < end and (enough is None or enough not in seen.decode(errors="replace")):
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other side has closed
            break
        if not more:
            break
        seen += more
    return seen.decode(errors="replace")


def in_terminal(*arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    going = subprocess.Popen([*COMMAND, "watch", *arguments], stdout=theirs, stderr=theirs)
    os.close(theirs)
    return going, ours


def test_a_running_study_is_watched_to_its_end_in_a_terminal(small: Path) -> None:
    """Watched from before it is begun; the view ends by itself."""
    out = small.parent / "running"
    out.mkdir()
    watching, ours = in_terminal(str(out), "--every", "0.2")
    before = until_closed(ours, "no results in")
    running = subprocess.Popen(
        [*COMMAND, "run", str(STUDY), "--seeds", "20", "--steps", "250000", "--out", str(out)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    text = before + until_closed(ours)
    os.close(ours)
    ended = running.wait(timeout=60), watching.wait(timeout=30)
    assert ended == (0, 0), text
    for words in ("no results in", "at work:", "lane-steps/s", "left", "40 of 40 units", "finished"):
        assert words in text


def test_ctrl_c_leaves_quietly(small: Path) -> None:
    min(small.glob("units/*/*.parquet")).unlink()
    watching, ours = in_terminal(str(small))
    text = until_closed(ours, "no process is running")
    watching.send_signal(signal.SIGINT)
    text += until_closed(ours)
    os.close(ours)
    assert watching.wait(timeout=30) == 130, text
    assert "5 of 6 units" in text
    assert "Traceback" not in text
    assert "Abort" not in text
