"""The compile cache: hit by a second process, missed after an edit anywhere in the package, and not growing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CODE = """
from tdlambda.randomness import stream, uniform
from tdlambda.mdp.sampler import _walk
import tdlambda as td
print(td.make("RingWorld-v0").sampler(seed=1).take(5).obs.tolist(), sum(_walk.stats.cache_hits.values()))
"""


def run(copy: Path) -> tuple[str, int]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    states, _, hits = done.stdout.strip().rpartition(" ")
    return states, int(hits)


def files(copy: Path) -> list[str]:
    """Each kernel's files; the name of its machine code changes with the source."""
    return sorted(file.name.rpartition(".py3")[0] + file.suffix for file in copy.rglob("*.nb[ic]"))


def test_cache_is_hit_renewed_after_an_edit_elsewhere_and_does_not_grow(tmp_path: Path) -> None:
    source = Path(__file__).parent.parent / "src" / "tdlambda"
    shutil.copytree(source, tmp_path / "tdlambda", ignore=shutil.ignore_patterns("__pycache__"))
    first, hits = run(tmp_path)
    assert hits == 0
    size = files(tmp_path)
    assert run(tmp_path) == (first, 1)
    assert files(tmp_path) == size
    randomness = tmp_path / "tdlambda" / "randomness.py"  # `_walk`, which calls it, is in another file
    randomness.write_text(randomness.read_text().replace("_TO_UNIT = 2.0**-53", "_TO_UNIT = 2.0**-54"))
    changed, hits = run(tmp_path)
    assert hits == 0
    assert changed != first
    assert files(tmp_path) == size
