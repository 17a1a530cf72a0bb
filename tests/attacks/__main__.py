"""Attack the library: `python tests/attacks online --size 1000 --seed 0`, or one case of it: `--case 17`."""

import argparse
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).parent.parent)
# Set before NumPy is imported: with a pool in each of several threads, OpenBLAS waits for itself on busy cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from attacks.harness import Attack, run  # noqa: E402, found only now

NAMES = ("online", "files", "kills", "threads", "interrupts")


def main() -> int:
    """Run the attacks that are named; 1 if any case failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python tests/attacks", description=__doc__)
    parser.add_argument("attack", choices=NAMES, nargs="+")
    parser.add_argument("--size", type=int, default=100, help="cases to try of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="this case alone")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it otherwise
    cases = range(given.size) if given.case is None else range(given.case, given.case + 1)
    failed = 0
    for name in given.attack:
        attack: Attack = import_module(f"attacks.{name}").ATTACK
        tally = run(attack, cases, given.seed)
        print(tally.report(), flush=True)
        failed += len(tally.failures)
        if tally.interrupted:
            return 130
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
