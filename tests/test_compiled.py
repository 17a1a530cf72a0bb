"""The compile cache: hit by a second process, missed after an edit anywhere in the package, not growing; or none."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tdlambda as td
from tdlambda import code_cache
from tdlambda.randomness import uniform

CODE = """
from numba.core import event
from tdlambda.compile_notice import CompileNotice
event.register("numba:compile", CompileNotice(after=0.0))  # the package's own waits for a second
from tdlambda.randomness import stream, uniform
from tdlambda.mdp.sampler import _walk
import tdlambda as td
print(td.make("RingWorld-v0").sampler(seed=1).take(5).obs.tolist(), sum(_walk.stats.cache_hits.values()))
"""


def python(copy: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=300
    )


def run(copy: Path) -> tuple[str, int]:
    """The states, and how often the cache was hit; if it never was, that is said."""
    done = python(copy, CODE)
    states, _, hits = done.stdout.strip().rpartition(" ")
    assert ("compiling" in done.stderr) == (hits == "0")
    return states, int(hits)


def files(copy: Path) -> list[str]:
    """Each kernel's files; the name of its machine code changes with the source."""
    return sorted(file.name.rpartition(".py3")[0] + file.suffix for file in copy.rglob("*.nb[ic]"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A directory with the package in it, without machine code."""
    source = Path(__file__).parent.parent / "src" / "tdlambda"
    shutil.copytree(source, tmp_path / "tdlambda", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_cache_is_hit_renewed_after_an_edit_elsewhere_and_does_not_grow(copy: Path) -> None:
    first, hits = run(copy)
    assert hits == 0
    size = files(copy)
    assert run(copy) == (first, 1)
    assert files(copy) == size
    randomness = copy / "tdlambda" / "randomness.py"  # `_walk`, which calls it, is in another file
    randomness.write_text(randomness.read_text().replace("_TO_UNIT = 2.0**-53", "_TO_UNIT = 2.0**-54"))
    changed, hits = run(copy)
    assert hits == 0
    assert changed != first
    assert files(copy) == size


NOWHERE = """
import tdlambda as td
from tdlambda.lab.cli.doctor import doctor
print(td.make("RingWorld-v0").sampler(seed=1).take(5).obs.tolist())
doctor(json=True)
"""


def test_where_no_cache_can_be_written_it_works_with_one_warning_that_says_what_to_set(copy: Path) -> None:
    for folder in [copy / "tdlambda", *(path for path in (copy / "tdlambda").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # a file in its place: no cache can be made here, whoever runs this
    taken = str(copy / "tdlambda" / "py.typed")
    done = python(copy, NOWHERE, HOME=taken, XDG_CACHE_HOME=taken, NUMBA_CACHE_DIR=taken, TDLAMBDA_QUIET="1")
    states, report = done.stdout.split("\n", 1)
    assert states == str(td.make("RingWorld-v0").sampler(seed=1).take(5).obs.tolist())
    (warning,) = (line for line in done.stderr.splitlines() if "Warning:" in line)
    assert "Set NUMBA_CACHE_DIR to a writable directory of your own" in warning
    assert f"NUMBA_CACHE_DIR is {taken!r} now." in warning
    assert json.loads(report)["cache_writable"] is False
    assert "Set NUMBA_CACHE_DIR" in json.loads(report)["cache"]


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache: Any = code_cache.CodeCache(uniform.py_func, (0, 0))  # type: ignore[attr-defined]
    monkeypatch.setattr(code_cache, "_warned", set())
    monkeypatch.setattr(cache._impl, "check_cachable", lambda _: True)
    monkeypatch.setattr(cache._impl.locator, "ensure_cache_path", full)  # Numba tries to write before it saves
    with pytest.warns(RuntimeWarning, match="No space left on device.*Set NUMBA_CACHE_DIR"):
        cache.save_overload("signature", "data")
    cache.save_overload("signature", "data")  # said once
