"""Five walks through the library, each as one kind of user would go it: `tests/walks/walk_*.py`, in an empty folder."""

import subprocess
import sys
from pathlib import Path

import pytest

WHO = ("author", "doctoral", "engineer", "practitioner", "student")
WALKS = sorted((Path(__file__).parent / "walks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", WALKS, ids=lambda path: path.stem)
def test_a_walk_reaches_its_end(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_there_are_five() -> None:
    assert [path.stem for path in WALKS] == [f"walk_{who}" for who in WHO]
