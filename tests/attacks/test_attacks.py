"""Every attack: small and the same for everyone; by `make slow` large, with a seed of the moment."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = {"online": 40, "files": 20, "kills": 2, "threads": 6, "interrupts": 20}
LARGE = {"online": 20_000, "files": 10_000, "kills": 100, "threads": 1_000, "interrupts": 1_000}


def attack(name: str, size: int, seed: int, few: bool = False) -> None:
    """In a process of its own, which is forked for every batch of cases."""
    command = [sys.executable, str(Path(__file__).parent), name, f"--size={size}", f"--seed={seed}"]
    env = os.environ | ({"ATTACKS_FEW": "1"} if few else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


CRASHES = """
import sys, time
sys.path.insert(0, "HERE")
import numpy as np
from attacks.guards import guarded
from attacks.harness import Attack, Failed, run

def case(rng, say):
    which = next(numbers)
    say(f"case {which}")
    if which in (0, 1):  # one step outside, on either side
        array = guarded(np.arange(5.0), end=which == 0)
        np.lib.stride_tricks.as_strided(array[-1:] if which == 0 else array, (2,), (8 if which == 0 else -8,)).sum()
    elif which == 2:
        time.sleep(60)
    elif which == 3:
        np.zeros(2**40)
    elif which == 4:
        raise Failed("wrong")

for first in range(6):
    numbers = iter([first] * 9)
    (found,) = run(Attack("itself", "", case, seconds=0.5), range(1), 0).failures or [None]
    print(found.what if found else "held")
"""


def test_a_crash_a_hang_and_a_huge_array_are_failures() -> None:
    program = CRASHES.replace("HERE", str(Path(__file__).parent.parent))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *seen, huge, wrong, held = done.stdout.splitlines()
    assert seen == ["the process died: SIGSEGV"] * 2 + ["no answer in 0.5 s"]
    assert "MemoryError" in huge
    assert (wrong, held) == ("wrong", "held")


@pytest.mark.parametrize("name", SMALL)
def test_withstands(name: str) -> None:
    attack(name, SMALL[name], seed=0, few=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_withstands_much(name: str) -> None:
    attack(name, LARGE[name], seed=time.time_ns() % 2**32)
