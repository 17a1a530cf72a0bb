"""With the core's four dependencies alone everything that learns works; what is missing is named where it is needed."""

import ast
import os
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tdlambda.extras import EXTRAS
from tdlambda.lab.cli import main

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = {"gymnasium", "numba", "numpy", "scipy"}
HIDDEN = """
import sys
for name in ("altair", "dask", "distributed", "narwhals", "pandas", "polars", "pyarrow", "rich", "sklearn", "typer",
             "vl_convert"):
    sys.modules[name] = None
import numpy as np
import tdlambda as td
"""


def core(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the core's dependencies only."""
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + code], cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"TDLAMBDA_QUIET": "1"},
    )  # fmt: skip


def test_the_core_has_four_dependencies_and_extras_are_what_the_package_says() -> None:
    assert {Requirement(text).name for text in PROJECT["dependencies"]} == CORE
    declared = PROJECT["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        names = {canonicalize_name(Requirement(text).name) for text in declared[extra]} - {"tdlambda"}
        homes = packages_distributions()
        assert {canonicalize_name(homes[module][0]) for module in modules} == names
    (everything,) = (Requirement(text) for text in declared["all"])
    assert everything.extras == set(EXTRAS)


def test_nothing_else_is_imported_at_the_top_of_a_module_of_the_core() -> None:
    """Modules outside charts/, cli/, report/ and the tables of the thesis import no package of an extra at once."""
    extra = {module for modules in EXTRAS.values() for module in modules}
    found = []
    for path in (ROOT / "src" / "tdlambda").rglob("*.py"):
        inside = path.relative_to(ROOT / "src" / "tdlambda").as_posix()
        if inside.startswith(("charts/", "lab/cli/", "lab/report/")) or inside == "lab/reproduction/cells.py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [(inside, name) for name in names if name.split(".")[0] in extra]
    assert found == []


def test_everything_that_learns_works_with_the_core_alone(tmp_path: Path) -> None:
    code = """
import pydoc
from tdlambda import *
assert len(pydoc.render_doc(td)) > 10_000
ring = td.make("RingWorld-v0")
v = td.TrueOnlineTD(ring.features, alpha=0.01, lam="auto")
for t in range(50):
    v.update(t % 5, 1.0, t % 5 + 1, gamma=0.9)
v.save("v.npz")
assert td.load("v.npz").predict(3) == v.predict(3)
auto = td.AutoTD(td.features.Dense(2))
auto.update([1.0, 0.0], 1.0, [0.0, 1.0], gamma=0.9)
assert ring.exact.v().shape == (11,)
td.report.follow(ring, td.TD(ring.features, 0.1, 0.5), steps=100)
result = td.engine.run(ring, [td.TD(ring.features, 0.1, lam) for lam in (0.0, 0.9)], 2, 100)
horde = td.Horde(questions={"x, soon": td.Question("x", horizon=5)})
rng = np.random.default_rng(0)
table = {"x": rng.normal(size=400), "y": rng.normal(size=400), "when": np.arange(400).astype("datetime64[h]")}
horde.learn(table)
with open("data.csv", "w") as file:
    file.writelines(["x,y\\n"] + [f"{a},{b}\\n" for a, b in zip(table["x"], table["y"])])
td.streams.prequential(td.Horde(questions={"x, soon": td.Question("x", horizon=5)}), "data.csv")
walk = td.make("WindyGridworld-v0")
td.train("FrozenLake-v1", td.Sarsa(td.features.OneHot(16), actions=4), steps=200, seed=1, gamma=0.9)
td.studies.bundled()
print("all")
"""
    done = core(code, tmp_path)
    assert done.stdout == "all\n", done.stderr


CHARTS = 'charts need altair and vl_convert: pip install "tdlambda[charts]"'
STUDIES = 'need polars and pyarrow: pip install "tdlambda[studies]"'
NAMED = {
    "td.charts.lines": CHARTS,
    "td.control.LearningCurve().plot()": CHARTS,
    "td.Sarsa(ring.features, 2).plot(ring)": CHARTS,
    "td.ActorCritic(td.TD(ring.features, 0.1), td.control.Softmax(2), 0.1).plot(ring)": CHARTS,
    "td.studies.load_results('.')": f"results of studies {STUDIES}",
    "td.report.load_overview('.')": f"results of studies {STUDIES}",
    "td.studies.run_study(td.studies.bundled()['frozenlake'])": f"studies {STUDIES}",
    "horde.learn('rows.parquet')": 'Parquet files need pyarrow: pip install "tdlambda[studies]"',
    "horde.learn(Frame())": 'data frames need narwhals: pip install "tdlambda[frames]"',
    "td.engine.run(ring, learners, 2, 9, progress=True)": 'progress bars need rich: pip install "tdlambda[cli]"',
}


def test_a_missing_extra_is_named_with_the_command(tmp_path: Path) -> None:
    code = f"""
class Frame:
    columns = ["x"]
horde, ring = td.Horde(questions={{'x': td.Question('x', horizon=5)}}), td.make("RingWorld-v0")
learners = [td.TD(ring.features, 0.1)]
for code in {list(NAMED)}:
    try:
        eval(code)
    except ModuleNotFoundError as error:
        print(error)
"""
    done = core(code, tmp_path)
    assert done.stdout.splitlines() == list(NAMED.values()), done.stderr


def test_the_command_says_in_one_line_what_it_lacks(tmp_path: Path) -> None:
    done = core("from tdlambda.lab.cli import main; main(['tasks'])", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'error: commands need rich and typer: pip install "tdlambda[cli]"\n'


def test_commands_say_it_too(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.chdir(tmp_path)
    for command, who in ((["run", "frozenlake"], "studies"), (["report", "."], "pages")):
        with pytest.raises(SystemExit, match="2"):
            main(command)
        assert capsys.readouterr().err == f'error: {who} need polars: pip install "tdlambda[studies]"\n'
