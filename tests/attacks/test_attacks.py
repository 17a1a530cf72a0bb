"""Every attack: small and the same for everyone; by `make slow` large, with a seed of the moment."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = {"online": 1000, "files": 300, "kills": 2, "threads": 40}
LARGE = {"online": 20_000, "files": 10_000, "kills": 100, "threads": 1_000}


def attack(name: str, size: int, seed: int) -> None:
    """In a process of its own, which is forked for every batch of cases."""
    command = [sys.executable, str(Path(__file__).parent), name, "--size", str(size), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SMALL)
def test_withstands(name: str) -> None:
    attack(name, SMALL[name], seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_withstands_much(name: str) -> None:
    attack(name, LARGE[name], seed=time.time_ns() % 2**32)
