"""What the pages tell a reader to type: Python that runs, commands that exist, studies that can be declared."""

import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from pages import PAGES, ROOT, Block, blocks

import tdlambda as td
from tdlambda.lab.cli.app import app
from tdlambda.lab.reproduction.published import TABLES
from tdlambda.lab.studies import Study, bundled

SCRIPTS = [block for block in blocks("python") if not block.text.startswith(">>>")]
COMMAND = re.compile(r"^ *(?:\$ )?(?:\S*/)?tdlambda +(?:--\w+ +)*([a-z].*)$", re.MULTILINE)
INLINE = re.compile(r"`(?:\.venv/bin/)?tdlambda (?:--\w+ +)*([a-z][^`]*)`")
COMMANDS: dict[str, Any] = vars(typer.main.get_command(app))["commands"]


def commands() -> list[tuple[str, str]]:
    """Every `tdlambda …` of the pages, in blocks and in sentences, with the page it is on."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        some = [*COMMAND.findall(text), *INLINE.findall(text)]
        found += [(str(page.relative_to(ROOT)), " ".join(line.split())) for line in some]
    return sorted(set(found))


def arguments(line: str) -> list[str]:
    """As a shell would split it: comments, redirections and arithmetic left out."""
    plain = re.sub(r"\$\(\(.*?\)\)|\$\w+", "1", line.split(" > ")[0])
    return shlex.split(plain, comments=True)


def check(line: str) -> None:
    """An error unless the command, its options, and the study or task that it names exist."""
    name, *rest = arguments(line)
    assert name in COMMANDS, f"no command is called {name!r}"
    if not rest:
        return
    given = COMMANDS[name].make_context(name, rest).params
    if name == "run" and given["study"] and not given["study"].endswith(".toml"):
        assert given["study"] in bundled(), f"no bundled study {given['study']!r}"
    if name == "solve":
        td.make(given["task"], given["preset"])
    if name == "reproduce":
        assert set(given["tables"] or ()) <= {"all", "mountaincar", *TABLES.values()}


def run_tests_of(script: str) -> None:
    """Run the tests of a page's test file."""
    for test in (value for name, value in runpy.run_path(script).items() if name.startswith("test_")):
        test()


@contextmanager
def files_of(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of a page, in a folder that Python imports from."""
    files = {other.file: other.text for other in SCRIPTS if other.page == page and other.file}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    try:
        yield
    finally:
        for name in files:
            sys.modules.pop(name.removesuffix(".py"), None)


def declares(block: Block) -> list[pytest.MarkDecorator]:
    """Marks: checks of declarations would compile many models."""
    return [pytest.mark.interpreted] if (block.file or "").startswith("test_") else []


@pytest.mark.parametrize("block", [pytest.param(block, marks=declares(block), id=str(block)) for block in SCRIPTS])
def test_python_without_prompts_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile(block.text, str(block), "exec")
    if block.reason is None:
        script = tmp_path / (block.file or "script.py")
        script.write_text(block.text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        with files_of(block.page, tmp_path, monkeypatch):
            if script.name.startswith("test_"):
                run_tests_of(str(script))
            else:
                runpy.run_path(str(script), run_name="__main__")


def test_python_with_prompts_is_where_pytest_looks_for_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert "--doctest-glob=*.md" in settings["addopts"]
    places = [ROOT / place for place in settings["testpaths"]]
    shown = {block.page for block in blocks("python") if block.text.startswith(">>>")}
    assert len(shown) > 15
    assert [page for page in shown if not any(page == place or place in page.parents for place in places)] == []


def test_few_blocks_are_left_out() -> None:
    assert [str(block) for block in blocks("python") if block.reason] == [
        str(block) for block in SCRIPTS if "SLURMCluster" in block.text or "import torch" in block.text
    ]


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_can_be_typed(page: str, line: str) -> None:  # noqa: ARG001, the page is for the reader of a failure
    check(line)


@pytest.mark.parametrize("line", ["runn x", "run walk.toml --sedes 3", "run no-such-study", "solve NoTask-v0"])
def test_commands_that_cannot_be_typed_are_noticed(line: str) -> None:
    with pytest.raises((AssertionError, Exception), match=r"no command|[Nn]o such option|no bundled|unknown task"):
        check(line)


@pytest.mark.parametrize("block", list(blocks("toml")), ids=str)
def test_studies_can_be_built(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.from_dict(tomllib.loads(block.text))
    build = study.agents if study.kind == "control" else study.learners
    with files_of(block.page, tmp_path, monkeypatch):
        assert all(build(method) for method in study.methods)


def test_tables_of_the_command_line_are_those_of_the_commands() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "command_line.py"))
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- command: (\w+) -->", page)) == {"options", *COMMANDS} == set(script["COMMANDS"])
    assert page == script["renewed"](page), "renew it: .venv/bin/python docs/command_line.py"
    assert all("| `--json` |" in script["described"](name) for name in COMMANDS)  # as the page says
