"""Results of two programs never mix; modules of one's own are found beside the study, and imported by running alone."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from small_studies import small, units

import tdlambda as td
from tdlambda.lab.report.figures import chart, drawn
from tdlambda.lab.report.page import embedded, load, page
from tdlambda.lab.report.page_data import page_data
from tdlambda.lab.studies import sources
from tdlambda.lab.studies.watching import Watcher

MINE = """
import numpy as np
import tdlambda as td
from trace_decay import LAM

(__import__("pathlib").Path(__file__).parent / "imported").touch()

class Mine(td.TrueOnlineTD):
    def __init__(self, features, alpha, lam=LAM, **options):
        super().__init__(features, alpha, lam, **options)

class Rule(td.rules.Greedy):
    pass
"""
TEXT = """
name = "mine"
task = "RingWorld-v0"
modules = ["mine"]
seeds = 2
steps = 500
points = 10
grid = { alpha = [0.01, 0.1] }

[methods.mine]
learner = "mine:Mine"
over = ["alpha"]

[methods.tuned]
learner = "TrueOnlineTD"
rule = "mine:Rule"
over = ["alpha"]

[methods.greedy]
learner = "TrueOnlineTD"
rule = "Greedy"
over = ["alpha"]
"""
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes files as in an editor: they are found by a Python that has just started."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file may be edited twice in a tick of its clock
    before = set(sys.modules)

    def forget() -> None:
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
        importlib.invalidate_caches()

    def written(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        forget()

    yield written
    forget()


@pytest.fixture
def toml(tmp_path: Path, write: Write) -> Path:
    """A study with a module beside it, which imports another."""
    write(mine=MINE, trace_decay="LAM = 0.1\n")
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def tails(out: Path) -> dict[str, list[float]]:
    return {str(name[0]): part["tail"].to_list() for name, part in td.studies.load_results(out).group_by("method")}


# ---- two programs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "named", "redone"),
    [
        ({"trace_decay": "LAM = 0.9\n"}, "trace_decay", ["mine", "tuned", "greedy"]),
        ({"mine": MINE.replace("lam=LAM", "lam=0.95")}, "mine", ["mine", "tuned", "greedy"]),
    ],
)
def test_after_an_edit_of_ones_own_module_its_units_are_done_again(
    edit: dict[str, str], named: str, redone: list[str], toml: Path, write: Write, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    td.studies.run_study(td.studies.Study.load(toml).but(seeds=1), out)
    before, old = units(out), tails(out)
    assert [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line] == []
    write(**edit)
    assert td.studies.run_study(td.studies.Study.load(toml), out).done == 2 * len(redone), "the first seed too"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"module {named} changed since methods {', '.join(redone)} ran, so they run again; ")
    new = tails(out)
    assert before.items() < units(out).items(), "nothing is lost"
    td.studies.run_study(td.studies.Study.load(toml), tmp_path / "clean")
    assert new == tails(tmp_path / "clean"), "of one program alone"
    assert not set(old["mine"]) & set(new["mine"])
    write(mine=MINE, trace_decay="LAM = 0.1\n")
    assert td.studies.run_study(td.studies.Study.load(toml).but(seeds=1), out).done == 0, (
        "as it was, its results are found again"
    )
    assert tails(out)["mine"][:2] == old["mine"]


def test_a_method_that_names_no_module_does_not_depend_on_one(toml: Path, write: Write) -> None:
    study = td.studies.Study.load(toml).but(modules=())
    before = {name: study.key(name) for name in study.methods}
    write(mine=MINE + "\n")
    assert [name for name in study.methods if study.key(name) != before[name]] == ["mine", "tuned"]


def test_the_module_of_the_task_counts_whoever_imported_it(write: Write, tmp_path: Path) -> None:
    text = "import tdlambda as td\n@td.tasks.register('TypedRing-v0')\n"
    text += "class Ring(td.tasks.ring_world.RingWorld):\n    pass\n"
    study = small(task="TypedRing-v0", preset=None)
    keys = []
    for version in (text, text + "# edited\n"):
        write(typed_ring=version)
        sources.imported("typed_ring", [str(tmp_path)])
        keys.append(study.key("fixed"))
        del td.tasks.TASKS["TypedRing-v0"], gym.registry["tdlambda/TypedRing-v0"]
    assert keys[0] != keys[1]


def test_all_that_a_module_imports_counts_but_for_what_is_installed(write: Write, tmp_path: Path) -> None:
    texts = {"pack/__init__": "", "pack/one": "import json, numpy\nfrom . import two\nfrom .three import x\n",
             "pack/two": "", "pack/three": "def x():\n    import beside\n", "beside": "", "unused": ""}  # fmt: skip
    write(**texts)
    study = small(methods={"m": td.studies.Method("pack.one:two")}, folders=[str(tmp_path)])
    found = set(study.code("m")) - {"tdlambda", *sources.COMPUTE}
    assert found == {f"module {name}" for name in ("pack", "pack.one", "pack.two", "pack.three", "beside")}


def test_versions_and_kernels_count_and_reports_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        "learners/td.py",
        "memory.py",
        "lab/studies/building.py",
        "lab/report/page.py",
        "lab/cli/run.py",
        "lab/studies/watching.py",
    ]
    for name in files:
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\n")
    digest: Callable[[Path], str] = sources.package_digest.__wrapped__
    matters = []
    for name in files:
        before = digest(tmp_path / "package")
        (tmp_path / "package" / name).write_text("a = 2\n")
        matters.append(digest(tmp_path / "package") != before)
    assert matters == [True, True, True, False, False, False]
    assert all(Path(td.__file__).parent.joinpath(place).is_file() for place in sources._COMPUTING)

    study, out = small(seeds=1), tmp_path / "out"
    td.studies.run_study(study, out)
    monkeypatch.setattr(sources, "_version", lambda _: "9.9")
    assert td.studies.run_study(study, out, methods=["greedy"]).done == 1
    assert "numpy, numba, llvmlite, scipy changed since methods fixed, greedy ran" in capsys.readouterr().err
    monkeypatch.setattr(sources, "package_digest", lambda: "other")
    assert td.studies.run_study(study, out, methods=["greedy"]).done == 1
    assert capsys.readouterr().err.startswith("tdlambda changed since method greedy ran")


def test_results_from_before_programs_were_noted_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as older:
        older.setattr(td.studies.Study, "code", lambda *_: {})
        td.studies.run_study(small(), tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_bytes())
    del manifest["code"], manifest["sum"], manifest["study"]["folders"]
    manifest["sum"] = td.studies.manifest.content_sum(manifest)
    path.write_text(json.dumps(manifest))
    assert td.studies.load_results(tmp_path).shape[0] == 18
    assert td.studies.run_study(small(), tmp_path).done == 6
    assert "tdlambda changed since methods fixed, greedy ran" in capsys.readouterr().err


def test_a_learner_that_no_file_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = type(sys)("typed_in")
    module.Mine = td.TD
    monkeypatch.setitem(sys.modules, "typed_in", module)
    with pytest.raises(ValueError, match="typed_in has no file"):
        td.studies.run_study(small(methods={"m": td.studies.Method("typed_in:Mine")}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- looking runs nothing --------------------------------------------------------------------------------------


def test_looking_at_results_imports_nothing_that_they_name(toml: Path, write: Write, tmp_path: Path) -> None:
    out, mark = tmp_path / "out", tmp_path / "imported"
    td.studies.run_study(td.studies.Study.load(toml), out)
    assert mark.exists(), "running does"
    mark.unlink()
    write()
    sys.path.insert(0, str(tmp_path))
    study = td.studies.load_study(out)
    assert study == td.studies.Study.load(toml)
    assert td.studies.load_results(out).shape[0] == 12
    assert Watcher(out).look().finished
    views, manifests = load([out])
    assert page(*views, manifests=manifests)
    assert '"mine"' in embedded(page_data(views[0], manifests[0]))
    assert {row["method"] for row in drawn(views[0]).figures["motion"].rows} == {"greedy", "tuned"}
    for name in ("mine", "tuned"):
        with pytest.raises(ValueError, match=rf"methods\.{name}: .*mine is not imported to look at results"):
            study.learners(name)
    assert not mark.exists()
    assert "mine" not in sys.modules
    assert td.studies.run_study(study.but(seeds=3), out).done == 3, "running it again does import"
    assert mark.exists()


def test_a_task_from_a_module_is_looked_at_without_it(write: Write, tmp_path: Path) -> None:
    write(
        own_ring="from tdlambda import tasks\n@tasks.register('OwnRing-v0')\n"
        "class Own(tasks.ring_world.RingWorld):\n  '''.'''"
    )
    study = small(task="OwnRing-v0", preset=None, modules=["own_ring"], folders=[str(tmp_path)], task_options={"n": 5})
    try:
        td.studies.run_study(study, tmp_path / "out")
    finally:
        td.tasks.TASKS.pop("OwnRing-v0", None)
    write()
    views, manifests = load([tmp_path / "out"])
    assert "OwnRing-v0" in embedded(page_data(views[0], manifests[0]))
    assert "state" in chart(views[0], "motion").to_dict()["layer"][0]["encoding"]["y"]["field"]
    assert "own_ring" not in sys.modules


# ---- beside the study ------------------------------------------------------------------------------------------


def test_modules_beside_the_file_are_found_from_anywhere(
    toml: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert td.studies.run_study(td.studies.Study.load(toml), "out").done == 6
    write()
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    assert td.studies.run_study(td.studies.load_study("out").but(seeds=3), "out").done == 3, (
        "resumed from its results alone"
    )
    write()
    extending = tmp_path / "elsewhere" / "more.toml"
    extending.write_text('extends = "../mine.toml"\nname = "more"\n', encoding="utf-8")
    assert td.studies.Study.load("more.toml").folders == (str(tmp_path / "elsewhere"), str(tmp_path))
    assert len(td.studies.Study.load("more.toml").learners("mine")) == 2
    assert td.studies.Study.load("ringworld-0.40-0.35").folders == ()


def test_a_module_of_the_same_name_in_another_folder_is_not_taken_for_it(toml: Path, tmp_path: Path) -> None:
    td.studies.Study.load(toml).learners("mine")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.py").write_text(MINE)
    (other / "mine.toml").write_text(TEXT)
    with pytest.raises(ValueError, match=r"mine was already imported from .*mine\.py, not from .* separate process"):
        td.studies.Study.load(other / "mine.toml").learners("mine")


@pytest.mark.parametrize("text", ["1 +", "raise RuntimeError('no')", "import no_such_module"])
def test_a_module_that_cannot_be_imported_is_named(text: str, toml: Path, write: Write, tmp_path: Path) -> None:
    write(mine=text)
    with pytest.raises(ValueError, match=r"modules: mine cannot be imported: \w+Error: "):
        td.studies.run_study(td.studies.Study.load(toml), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("mine:Mine", "mine:Mien"), r"methods\.mine: unknown learner 'mine:Mien'; did you mean 'Mine'\?"),
        (("mine:Mine", "mine:Zebra"), r"unknown learner 'mine:Zebra'; choose from Mine, Rule in mine$"),
        (("mine:Rule", "mine:Zebra"), r"methods\.tuned: unknown rule 'mine:Zebra'; choose from Mine, Rule in mine$"),
        (("mine:Rule", "mine:Ruel.averaged"), r"unknown rule 'mine:Ruel.averaged'; did you mean 'Rule'\?"),
    ],
)
def test_a_misspelt_class_of_ones_own_module_is_looked_for_there(
    write: Write, tmp_path: Path, wrong: tuple[str, str], said: str
) -> None:
    write(mine=MINE, trace_decay="LAM = 0.5")
    toml = tmp_path / "study.toml"
    toml.write_text(TEXT.replace(*wrong))
    with pytest.raises(ValueError, match=said):
        td.studies.run_study(td.studies.Study.load(toml), tmp_path / "out", progress=False)
