"""Generated modules on disk: two processes at once, no folder that can be written, changed sources, damaged files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tdlambda as td

SCRIPT = """
import sys
import tdlambda as td
from mine import Mine

v = Mine(td.features.OneHot(3), alpha=0.5, lam=0.9)
v.update(0, 1.0, 1, gamma=0.9)
print(v.predict(0), v.module.__file__ if hasattr(v.module, "__file__") else "nowhere")
"""
MINE = """
import tdlambda as td

FACTOR = 2.0


def scaled(alpha):
    return FACTOR * alpha


class Mine(td.Algorithm):
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    updates = "e = keep e + rho x\\nw += along e"

    @staticmethod
    def step(v, v_next, decay, alpha, reward, gamma_next, rho, lam_next):
        along = scaled(alpha) * (reward + gamma_next * v_next - v)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay
"""


def begun(folder: Path, **env: str) -> Any:
    package = Path(td.__file__).parent.parent  # the tree under test, whatever is installed
    given = os.environ | {"TDLAMBDA_QUIET": "1", "PYTHONPATH": f"{folder}{os.pathsep}{package}"} | env
    return subprocess.Popen(
        [sys.executable, "script.py"], cwd=folder, env=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def ended(process: Any) -> tuple[float, str]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    value, where = out.split()
    return float(value), where


def test_every_process_gets_the_code_of_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mine.py").write_text(MINE)
    env = {"TDLAMBDA_CACHE": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    both = [begun(tmp_path, **env) for _ in range(2)]  # at once, with nothing on disk
    found = [ended(process) for process in both]
    assert found[0] == found[1]
    assert found[0][0] == 1.0
    file = Path(found[0][1])
    assert file.is_relative_to(tmp_path / "cache")
    assert list((tmp_path / "cache").rglob("*.nbc")), "its machine code is kept beside it"
    # a constant of a helper changes, and nothing else
    (tmp_path / "mine.py").write_text(MINE.replace("FACTOR = 2.0", "FACTOR = 1.0"))
    assert ended(begun(tmp_path, **env))[0] == 0.5
    # a damaged file is written anew
    (tmp_path / "mine.py").write_text(MINE)
    file.write_text("raise SystemExit('damaged')")
    assert ended(begun(tmp_path, **env)) == found[0]


def test_without_a_folder_that_can_be_written_it_still_learns(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "file").write_text("in the way")
    nowhere = str(tmp_path / "file")
    process = begun(tmp_path, TDLAMBDA_CACHE=nowhere, TMPDIR=str(tmp_path / "file"), NUMBA_CACHE_DIR="")
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert out.startswith("1.0 ")
