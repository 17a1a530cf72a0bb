"""`tdlambda stream`: from a CSV to scores, a page and a saved Horde; and a file that grows."""

import gzip
import json
import signal
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import COMMAND
from typer.testing import CliRunner

import tdlambda as td
from tdlambda.lab.cli.app import app


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng, lines = np.random.default_rng(0), ["date,flow,heat"]
    for t in range(300):
        flow = 10 + np.sin(t / 4) + 0.1 * rng.normal()
        lines.append(f"2024-01-{1 + t // 24:02d} {t % 24:02d}:00,{flow:.6f},{rng.normal():.6f}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "rows.csv"


def run(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["stream", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


def test_scores_a_page_and_a_horde_that_goes_on(file: Path) -> None:
    out, saved = file.parent / "page.html", file.parent / "flow.horde"
    text = run(file, "--predict", "flow", "--horizon", 3, "--horizon", 6, "--page", out, "--save", saved)
    for word in ("flow, 3 rows", "flow, 6 rows", "ridge", "seasonal", "after row 300", "saved to"):
        assert word in text
    assert "<figure>" in out.read_text()
    horde = td.load(saved)
    with open(file, "a") as grown:
        grown.write("2024-01-13 12:00,10.5,0.1\n")
    found = json.loads(run(file, "--load", saved, "--json"))
    horde.update({"date": np.datetime64("2024-01-13T12:00"), "flow": 10.5, "heat": 0.1})
    assert found["row"] == 301
    assert found["predictions"] == horde.predict()
    scores = json.loads(run(file, "--predict", "heat", "--sum", "--json"))
    assert set(scores["questions"]["heat"]["baselines"]) == {"running mean", "last value", "seasonal", "ridge"}


def following(file: Path, monkeypatch: pytest.MonkeyPatch, *steps: Any) -> Any:
    """Follow a file with a Horde that has learned its rows; what happens to the file before each check."""
    saved, todo = file.parent / "flow.horde", iter(steps)
    run(file, "--predict", "flow", "--save", saved)

    def sleep(_: float) -> None:
        act = next(todo, None)
        if act is None:
            raise KeyboardInterrupt
        act()

    monkeypatch.setattr("tdlambda.streams.tail.time.sleep", sleep)
    done = CliRunner().invoke(
        app, ["stream", str(file), "--load", str(saved), "--follow", "--json", "--save", str(saved)]
    )
    assert done.exit_code == 130, done.output
    return done, [json.loads(line) for line in done.stdout.splitlines()], td.load(saved)


HOURS = count()


def more(file: Path, *flows: float, mode: str = "a") -> Any:
    """A function that writes rows to the file."""

    def write() -> None:
        with open(file, mode) as out:
            out.write("date,flow,heat\n" * (mode == "w"))
            for flow, hour in zip(flows, HOURS, strict=False):
                out.write(f"{np.datetime64('2024-02-01T00') + hour},{flow},{hour % 5}\n")

    return write


def test_a_file_that_is_rotated_deleted_and_rewritten_is_followed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rotate() -> None:
        file.rename(file.with_suffix(".1"))
        more(file, *[10.0 + 0.1 * k for k in range(20)], mode="w")()

    done, said, horde = following(file, monkeypatch, rotate, lambda: file.unlink(), lambda: None)
    assert [one["row"] for one in said] == [320]
    assert horde.rows == 320
    assert "is a new file" in done.stderr
    assert done.stderr.count("is gone") == 1


def test_alarms_are_printed_when_more_than_a_thousand_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdlambda.streams.taking.ALARMS", 1)
    rest = [10.0 + 0.1 * (k % 7) for k in range(25)]
    done, _, horde = following(file, monkeypatch, more(file, 1e6, *rest), more(file, *[11.0] * 60))
    assert horde.alarm_count == 2 > len(horde.alarms)
    for words in ("row 300, flow: a reading far outside its range", "row 376, flow: the same value 50 times"):
        assert done.stderr.count(words) == 1


def test_a_short_file_is_learned_saved_and_drawn(file: Path) -> None:
    """No return is known in the second half."""
    saved, page = file.parent / "flow.horde", file.parent / "page.html"
    text = run(file, "--predict", "flow", "--horizon", 24, "--save", saved, "--page", page)
    assert "after row 300" in text
    assert td.load(saved).rows == 300
    assert "<h1>rows.csv: predictions of flow: 300 rows</h1>" in page.read_text()


def test_a_horde_is_saved_before_the_page_is_drawn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = file.parent / "flow.horde"

    def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr("tdlambda.streams.evaluation.Prequential.page", fail)
    with pytest.raises(OSError, match="no space"):
        CliRunner().invoke(
            app, ["stream", str(file), "--predict", "flow", "--save", str(saved)], catch_exceptions=False
        )
    assert td.load(saved).rows == 300


def test_the_input_is_never_overwritten(file: Path) -> None:
    text = file.read_text()
    page = file.with_suffix(".html")
    page.write_text(text)
    link = file.parent / "link.html"
    link.symlink_to(file)
    for arguments in (
        (file, "--predict", "flow", "--page", file), (file, "--predict", "flow", "--save", file),
        (page, "--predict", "flow"), (file, "--predict", "flow", "--page", link),
        (file, "--predict", "flow", "--page", file.parent / "." / "rows.csv"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="never overwritten"):
            CliRunner().invoke(app, ["stream", *map(str, arguments)], catch_exceptions=False)
        assert file.read_text() == page.read_text() == text


def test_a_window_a_fleet_and_messages_that_name_options(file: Path) -> None:
    lines = file.read_text().splitlines()
    both = [lines[0] + ",pump"] + [f"{line},{pump}" for line in lines[1:] for pump in "ab"]
    fleet, saved = file.parent / "fleet.csv", file.parent / "fleet.horde"
    fleet.write_text("\n".join(both) + "\n")
    text = run(fleet, "--predict", "flow", "--next", "4h", "--by", "pump", "--save", saved)
    for words in ("sum of flow, next 4h", "after row 600, a, sum", "after row 600, b, sum"):
        assert words in text
    assert td.load(saved).streams == ["a", "b"]
    text = run(file, "--predict", "flow", "--next", "6", "--exceeds", 10.5, "--missing", "raise")
    assert "flow exceeds 10.5, next 6 rows" in text
    file.write_text("\n".join([*lines[:50], lines[50].rsplit(",", 1)[0] + ",", *lines[51:]]))
    with pytest.raises(ValueError, match="use --missing hold to repeat the last one or --missing mask"):
        CliRunner().invoke(
            app, ["stream", str(file), "--predict", "flow", "--missing", "raise"], catch_exceptions=False
        )


def test_what_is_wrong_is_said(file: Path) -> None:
    zipped = file.parent / "flow.csv.gz"
    zipped.write_bytes(gzip.compress(file.read_bytes()))
    for arguments, said in (
        ((file, "--predict", "flwo"), "did you mean 'flow'?"),
        ((file,), "--predict is missing"),
        ((file, "--predict", "flow", "--load", "x.horde"), "--predict: a saved Horde has its own questions"),
        ((file.parent / "none.csv", "--predict", "flow"), "there is no file"),
        ((file, "--predict", "flow", "--horizon", "0.5"), "horizon must be at least 1"),
        ((zipped, "--predict", "flow", "--follow"), "--follow needs a CSV file, because a .gz file cannot grow"),
    ):
        with pytest.raises((ValueError, OSError), match=said.replace("?", r"\?")):
            CliRunner().invoke(app, ["stream", *map(str, arguments)], catch_exceptions=False)


def test_a_file_that_grows_is_followed_until_ctrl_c(file: Path) -> None:
    saved, out, text = file.parent / "flow.horde", file.parent / "out", file.read_text().splitlines(keepends=True)
    file.write_text("".join(text[:251]) + text[251][:20])  # the last line is not finished
    options = ["--predict", "flow", "--follow", "--every", "0.05", "--json", "--save", str(saved)]
    with open(out, "w") as said:
        going = subprocess.Popen([*COMMAND, "stream", str(file), *options], stdout=said)
    try:
        for more, rows in ((text[251][20:] + "".join(text[252:281]), 280), (text[281] + text[282], 282)):
            with open(file, "a") as grown:
                grown.write(more)
            for _ in range(1200):
                found = [json.loads(line) for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")]
                if found and found[-1]["row"] == rows:
                    break
                assert going.poll() is None
                time.sleep(0.1)
        going.send_signal(signal.SIGINT)
        assert going.wait(timeout=60) == 130
    finally:
        going.kill()
        going.wait()
    whole = td.load(saved)
    assert whole.rows == 282
    again = td.Horde(None, {"flow": td.Question("flow", horizon=24, average=True)}, intervals=True)
    assert again.learn(file).predict() == whole.predict() == found[-1]["predictions"]
