"""Every attack: small and the same for everyone; by `make slow` large, with a seed of the moment."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = {"online": 1000, "files": 300, "kills": 2, "threads": 40}
LARGE = {"online": 20_000, "files": 10_000, "kills": 100, "threads": 1_000}
KNOWN = {
    "online": "inhomogeneous|masked element|MaskedArray.*accepted|td.GridTilings",
    "files": r"Watcher of a note|of a (unit|manifest) \((?!damaged)",
}
"""What is still open, as patterns of failures; the large size knows none."""


def attack(name: str, size: int, seed: int, known: str = "") -> None:
    """In a process of its own, which is forked for every batch of cases."""
    command = [sys.executable, str(Path(__file__).parent), name, f"--size={size}", f"--seed={seed}"]
    command += [f"--known={known}"] if known else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SMALL)
def test_withstands(name: str) -> None:
    attack(name, SMALL[name], seed=0, known=KNOWN.get(name, ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_withstands_much(name: str) -> None:
    attack(name, LARGE[name], seed=time.time_ns() % 2**32)
