"""One line on standard error when compiling takes long: once for a model, and not where nobody wants it."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core.event import Event, EventStatus

from tdlambda.compile_notice import CompileNotice, _described
from tdlambda.randomness import uniform

THEIRS = SimpleNamespace(py_func=SimpleNamespace(__module__="theirs"))
UNCACHED = SimpleNamespace(py_func=getattr(uniform, "py_func", uniform), stats=SimpleNamespace(cache_path=None))


@pytest.fixture(autouse=True)
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TDLAMBDA_QUIET", raising=False)


def compile_once(notice: CompileNotice, dispatcher: Any = uniform, depth: int = 3) -> None:
    """What Numba reports while it compiles a kernel that calls another, and that one another."""
    data = {"dispatcher": dispatcher}
    for _ in range(depth):
        notice.notify(Event("numba:compile", EventStatus.START, data))
    if notice._timer is not None and 0.0 in notice._left.values():
        notice._timer.join()  # this compiler takes as long as it must
    for _ in range(depth):
        notice.notify(Event("numba:compile", EventStatus.END, data))


def test_it_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    notice = CompileNotice(after=0.0)
    for _ in range(3):
        compile_once(notice)
    (line,) = capsys.readouterr().err.splitlines()
    assert "once on this machine; about 2 s" in line
    assert "compiling random numbers inside compiled code, once" in line
    assert "TDLAMBDA_QUIET=1" in line


def test_nothing_is_said_of_what_is_short_or_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    compile_once(CompileNotice(after=3600.0))
    compile_once(CompileNotice(after=0.0), THEIRS)
    assert capsys.readouterr().err == ""


def test_many_short_ones_are_a_long_one(capsys: pytest.CaptureFixture[str]) -> None:
    notice = CompileNotice(after=1e-9)  # the first takes longer, whether or not its timer was in time to say so
    compile_once(notice)
    compile_once(notice)
    assert capsys.readouterr().err.count("compiling") == 1


@pytest.mark.parametrize(("value", "lines"), [("1", 0), ("0", 1), ("", 1)])
def test_it_can_be_switched_off(
    value: str, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TDLAMBDA_QUIET", value)
    compile_once(CompileNotice(after=0.0))
    assert capsys.readouterr().err.count("compiling") == lines


def test_what_is_not_kept_is_not_compiled_once_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    compile_once(CompileNotice(after=0.0), UNCACHED)
    assert "once on this machine" not in capsys.readouterr().err


def test_a_model_is_named_without_its_options(tmp_path: Path) -> None:
    said = "TrueOnlineTD, λ by Meta (gradient='exact', newton=True): lanes, one-hot"
    file = tmp_path / "lanes.py"
    file.write_text(f'"""{said}."""\n\ndef step():\n    pass\n', encoding="utf-8")
    names: dict[str, Any] = runpy.run_path(str(file))
    assert _described(names["step"]) == ("TrueOnlineTD, λ by Meta: lanes, one-hot", 2)
