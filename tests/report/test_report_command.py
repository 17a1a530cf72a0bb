"""`tdlambda report`, what it writes, says and serves."""

import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tdlambda.lab.cli.app import app
from tdlambda.lab.report import serving
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.report.page import embedded, studies_in


@pytest.fixture(scope="module")
def view(ring: Path) -> Overview:
    return overview(ring)


def invoked(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


def test_the_command_writes_the_page_and_says_what_is_found(ring: Path, view: Overview, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    said = invoked(ring, "--out", out)
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    headline = findings(view, ["fixed", "greedy_published", "META"]).headline
    assert headline in " ".join(said.split())
    plain = json.loads(invoked(ring, "--out", out, "--json"))
    assert plain["written"] == [str(out)]
    (one,) = plain["studies"]
    assert (one["done"], one["wanted"]) == (40, 40)
    found = one["found"]["As published"]["tail"]
    assert found["headline"] == headline
    assert found["best"]["META"]["mean"] == view.best("META").tail.mean


def test_the_page_is_opened_where_there_is_a_screen(
    ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for display in ("", ":0"):
        monkeypatch.setenv("DISPLAY", display)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        monkeypatch.setattr("sys.platform", "linux")
        said = invoked(ring, "--out", tmp_path / "page.html", "--open")
        assert ("no display" in said) == (not display)
    assert opened == [(tmp_path / "page.html").as_uri()]


def test_a_directory_of_several_studies_is_one_page(ring: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).symlink_to(ring)
    assert studies_in(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    plain = json.loads(invoked(tmp_path, "--json"))
    assert [study["study"] for study in plain["studies"]] == ["ringworld-0.40-0.35-quick"] * 2
    assert (tmp_path / "report.html").exists()


def test_an_unfinished_study_has_a_page_too(ring: Path, tmp_path: Path) -> None:
    units = [path.relative_to(ring) for path in ring.glob("units/*/00000[0-2].parquet")]
    for path in [Path("manifest.json"), *units]:
        if "META_default" not in str(path):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes((ring / path).read_bytes())
    plain = json.loads(invoked(tmp_path, "--json"))
    assert (plain["studies"][0]["done"], plain["studies"][0]["wanted"]) == (
        12,
        32,
    )  # a method never begun is named instead
    assert plain["studies"][0]["not_run"] == ["META_default"]
    assert "Unfinished: 12 of 32 units" in plain["studies"][0]["found"]["As published"]["tail"]["sure"]["text"]


def test_figures_for_print_are_drawn_elsewhere(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(view: Overview, directory: Path, kind: str, width: int | None) -> list[Path]:
        assert width is None
        assert view.study.name.startswith("ringworld")
        return [directory / f"u.{kind}"]

    import tdlambda.lab.report.figures

    monkeypatch.setattr(tdlambda.lab.report.figures, "write_figures", write)
    plain = json.loads(invoked(ring, "--format", "svg", "--out", tmp_path, "--json"))
    assert plain["written"] == [str(tmp_path / "u.svg")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "gif"], "--format must be one of html"),
        (["--serve", "--json"], "--serve"),
        (["--out", "/proc/no/page.html"], "--out: /proc/no/page.html cannot be written"),
        (["--serve", "--host", "256.1.1.1"], "cannot listen"),
    ],
)
def test_mistakes_are_named(ring: Path, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["report", str(ring), *arguments])
    assert isinstance(done.exception, ValueError)
    assert words in str(done.exception)


def test_a_directory_without_results_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path / "nothing")])
    assert isinstance(done.exception, ValueError)
    assert "holds no results" in str(done.exception)


# ---- the server


@pytest.fixture
def served(ring: Path) -> Any:
    server = serving.Server([ring])
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server
    server.close()
    thread.join(10)
    assert not thread.is_alive()


def asked(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_server_has_the_page_and_nothing_else(served: serving.Server) -> None:
    assert served.url.startswith("http://127.0.0.1:")
    code, text = asked(served.url)
    assert code == 200
    assert f'data-live="{served.version}"' in text
    assert "connect-src &#x27;self&#x27;" in text
    assert json.loads(asked(served.url + "version")[1]) == {"version": served.version}
    assert json.loads(asked(served.url + "data")[1]) == json.loads(embedded(served.data))
    for path in ("manifest.json", "../manifest.json", "units", "%2e%2e/x", "data/"):
        assert asked(served.url + path)[0] == 404
    port = served.url.rstrip("/").rpartition(":")[2]
    assert asked(served.url, Host=f"evil.example:{port}")[0] == 403
    assert asked(served.url, Host=f"localhost:{port}")[0] == 200


def test_a_client_that_leaves_is_no_error(served: serving.Server, capfd: pytest.CaptureFixture[str]) -> None:
    for request in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", served._http.server_port), timeout=20) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
            client.sendall(request)
            time.sleep(0.05)
    for thread in [one for one in threading.enumerate() if "process_request_thread" in one.name]:
        thread.join(20)
    assert asked(served.url)[0] == 200
    assert capfd.readouterr().err == ""
    for error, said in ((BrokenPipeError(), ""), (ZeroDivisionError("a real one"), "a real one")):
        try:
            raise error
        except (BrokenPipeError, ZeroDivisionError):
            served._http.handle_error(None, ("127.0.0.1", 1))
        assert said in (err := capfd.readouterr().err)
        assert bool(err) == bool(said)


def test_ctrl_c_ends_the_server(ring: Path) -> None:
    command = [str(Path(sys.executable).parent / "tdlambda"), "report", str(ring), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        words = process.stdout.readline()
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", words)
        assert asked(url + "version")[0] == 200
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
        assert process.returncode == 0
        assert complaints == ""
