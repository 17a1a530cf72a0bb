"""Every attack: small and the same for everyone; by `make slow` large, with a seed of the moment."""

import os
import signal
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
    (found,) = run(Attack("itself", "", case, seconds=3), range(1), 0).failures or [None]
    print(found.what if found else "held")
"""


def test_a_crash_a_hang_and_a_huge_array_are_failures() -> None:
    program = CRASHES.replace("HERE", str(Path(__file__).parent.parent))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *seen, huge, wrong, held = done.stdout.splitlines()
    assert seen == ["the process died: SIGSEGV"] * 2 + ["no answer in 3 s"]
    assert "MemoryError" in huge
    assert (wrong, held) == ("wrong", "held")


STOPPED = """
import os, signal, sys, threading, time
sys.path.insert(0, "HERE")
from attacks import harness
harness.EVERY = 0.0

def case(rng, say):
    if next(cases) == 3:
        if not os.fork():  # what a case leaves running goes with it
            print("here", file=open("FOLDER/left", "w"), flush=True)
            time.sleep(600)
        time.sleep(600)
    raise harness.Failed("wrong")

cases = iter(range(9))
timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
signal.signal(signal.SIGINT, signal.default_int_handler)
tally = harness.run(harness.Attack("itself", "", case, typical=2.0), range(10, 1000), 0)
print(tally.report())
"""


def test_an_attack_says_how_far_it_is_and_is_stopped_with_a_result(tmp_path: Path) -> None:
    program = STOPPED.replace("HERE", str(Path(__file__).parent.parent)).replace("FOLDER", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("itself: 990 cases, about 33 min on two idle cores")
    assert last.startswith("itself: 3 of 990 tried, 3 failed, about ")
    assert done.stdout.startswith("itself: stopped by Ctrl-C: of 990, 3 tried, 3 failed")
    assert (tmp_path / "left").exists()
    assert f"{tmp_path}/left" not in str(list(map(_open_files, Path("/proc").glob("[0-9]*/fd"))))


def _open_files(place: Path) -> list[str]:
    """The files that a process has open."""
    try:
        return [os.readlink(entry) for entry in place.iterdir()]
    except OSError:  # it has ended
        return []


def test_ctrl_c_ends_the_command_with_130() -> None:
    command = [sys.executable, str(Path(__file__).parent), "online", "files", "--size=100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stdout is not None
        assert running.stderr.readline().startswith("online: 100000 cases")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stdout.read().startswith("online: stopped by Ctrl-C: of 100000, ")


SLOW, COSTLY = pytest.mark.slow, pytest.mark.costly
MARKS = {"kills": [SLOW], "files": [SLOW], "interrupts": [SLOW], "online": [COSTLY], "threads": [SLOW]}


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, [])) for n in SMALL])
def test_withstands(name: str) -> None:
    attack(name, SMALL[name], seed=0, few=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_withstands_much(name: str) -> None:
    attack(name, LARGE[name], seed=time.time_ns() % 2**32)
