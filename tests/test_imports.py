"""What `import tdlambda` imports, in a process of its own: little, and the rest on first use."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tdlambda as td

SLOW = (
    "altair", "distributed", "llvmlite", "vl_convert", "numba", "pandas", "polars", "pyarrow", "rich", "scipy.linalg",
    "scipy.optimize", "scipy.sparse", "typer",
)  # fmt: skip


def python(code: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import tdlambda", ()),
        ("import tdlambda; dir(tdlambda); hasattr(tdlambda, 'nonsense')", ()),
        ("from tdlambda import Interrupted", ()),
        ("import tdlambda; tdlambda.mdp, tdlambda.features, tdlambda.tasks", ("llvmlite", "numba")),
        ("import tdlambda; tdlambda.TD", ("llvmlite", "numba", "scipy.linalg", "scipy.sparse")),
        ("from tdlambda.lab.cli import main", ("rich", "typer")),
    ],
)
def test_what_is_slow_to_import_waits_for_its_use(code: str, allowed: tuple[str, ...]) -> None:
    found = json.loads(python(f"{code}; import json, sys; print(json.dumps(list(sys.modules)))"))
    assert set(SLOW) & set(found) <= set(allowed)


def test_it_takes_little_longer_than_gymnasium() -> None:
    def seconds(code: str) -> float:
        return float(python(f"{code}; import time; print(time.process_time())"))

    pairs = [(seconds("import numpy, gymnasium"), seconds("import tdlambda")) for _ in range(5)]
    theirs, ours = (min(times) for times in zip(*pairs, strict=True))
    assert ours < 2 * theirs  # 1.1 on an idle machine; with Numba and SciPy it was 4


def test_every_name_works_in_a_new_process() -> None:
    code = """
import io, pickle, pydoc
import tdlambda as td
assert td.engine.run and td.control.run and td.studies.summary and td.learners.Learner
from tdlambda import TD, engine
from tdlambda.learners.checks import check_learner
assert TD is td.TD and check_learner is td.check_learner and pickle.loads(pickle.dumps(TD)) is TD
from tdlambda import *
assert [name for name in td.__all__ if not hasattr(td, name)] == [] and set(td.__all__) <= set(dir(td))
print(len(pydoc.render_doc(td)) > 10_000)
"""
    assert python(code) == "True\n"


def test_gymnasium_knows_the_tasks_before_they_are_imported() -> None:
    code = """
import gymnasium, sys, tdlambda
assert "tdlambda.tasks" not in sys.modules
ring = gymnasium.make("tdlambda/RingWorld-v0", preset="0.3/0.25")
assert ring.unwrapped.behavior(5)[0] == 0.3
from tdlambda.tasks import TASKS
print(set(TASKS) == {name.removeprefix("tdlambda/") for name in gymnasium.registry if "tdlambda" in name})
"""
    assert python(code) == "True\n"


def test_the_three_lists_of_names_agree() -> None:
    """Those that type checkers see, those that are found at run time, and `__all__`."""
    tree = ast.parse(Path(td.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    homes = {
        alias.name: str(node.module).removeprefix("tdlambda.")
        for node in block.body if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }  # fmt: skip
    modules = {name for name, home in homes.items() if home == "tdlambda"}
    assert {name: home for name, home in homes.items() if name not in modules} == td._HOME
    assert modules <= set(td._NAMES)
    assert set(td.__all__) == {*td._HOME, *modules}


def test_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'tdlambda' has no attribute 'nonsense'"):
        getattr(td, "nonsense")  # noqa: B009
    with pytest.raises(ImportError, match="cannot import name 'nonsense' from 'tdlambda'"):
        exec("from tdlambda import nonsense")


PRESSED = """
import os, signal, sys
BEGIN

class Pressed:
    def find_spec(self, name, *_):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
import tdlambda
print("imported")
"""


@pytest.mark.parametrize(("handler", "said"), [("signal.SIG_IGN", ""), ("lambda *_: print('handled')", "handled\n")])
def test_ctrl_c_during_the_import_is_left_to_those_who_handle_it(handler: str, said: str) -> None:
    program = PRESSED.replace("BEGIN", f"signal.signal(signal.SIGINT, {handler})")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{said}imported\n"


def test_it_can_be_imported_in_a_thread() -> None:
    program = "import threading; t = threading.Thread(target=lambda: print(__import__('tdlambda').__name__)); t.start()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "tdlambda\n"
