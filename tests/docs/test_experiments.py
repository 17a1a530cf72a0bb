"""Experiments and benchmarks: each says what it answers and how it is run, and the index has them all."""

import subprocess
import sys

from pages import ROOT


def test_the_index_is_up_to_date() -> None:
    made = subprocess.run([sys.executable, str(ROOT / "experiments")], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert (ROOT / "experiments" / "README.md").read_text(encoding="utf-8") == made.stdout, (
        "run python experiments > experiments/README.md"
    )
