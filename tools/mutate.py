"""Break declarations and generators on purpose, one line at a time, and show that the tests notice.

    python tools/mutate.py [--list] [WORD ...]

Every mutant (`mutants.py`) is a copy of the package with one expression changed: γ of the wrong state, a ρ dropped, a
sign turned, a kept number that an episode's start does not set back, a branch folded the wrong way. It is run,
interpreted, against tests that compare learners with forward views, with the papers' equations in plain NumPy and with
small cases by hand, and that compare generated schedules with the interpreter of declarations. A mutant that passes
them is an error (exit 1). With words, only the mutants whose line has all of them are run.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from mutants import EQUIVALENT, MUTANTS, TESTS, Mutant

ROOT = Path(__file__).parent.parent
PATIENCE = 1800
"""Seconds that the tests of a mutant may take."""


def places(source: Path, place: str) -> list[Path]:
    """The files of a place."""
    package = source / "tdlambda" / place
    if place.endswith("/") or package.is_dir():
        return sorted(package.glob("*.py"))
    return [source / "tdlambda" / f"{place}.py"]


def mutated(source: Path, mutant: Mutant) -> tuple[Path, str] | None:
    """The file that has what is to be changed, and its text after the change."""
    place, old, new = mutant
    for file in places(source, place):
        text = file.read_text(encoding="utf-8")
        if old in text:
            return file, text.replace(old, new, 1)
    return None


def survives(source: Path, mutant: Mutant) -> str | None:
    """None if the tests fail, as they should; else what they said."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(source, copy)
        found = mutated(copy, mutant)
        if found is None:
            return f"there is no {mutant[1]!r} in {mutant[0]}: renew this list"
        found[0].write_text(found[1], encoding="utf-8")
        return passes(copy, tests_of(mutant[0]))


def passes(source: Path, tests: list[str]) -> str | None:
    """What tests say that pass on this source, interpreted; None if some fail, or do not end, or none can be run."""
    own = {"PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    own |= {"TDLAMBDA_CACHE": str(source.parent / "cache"), "TDLAMBDA_QUIET": "1"}
    options = ["-x", "-q", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::RuntimeWarning"]  # integers overflow on purpose in randomness.py
    command, env = [sys.executable, "-m", "pytest", *options, *tests], {**os.environ, **own}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:  # a loop that does not end
        return None
    if done.returncode in (1, 2):  # 2: a declaration that is refused when it is made
        return None
    return "all tests pass" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-2000:]


def tests_of(place: str) -> list[str]:
    """The tests that must notice a mutant of this place."""
    return next(tests for begin, tests in TESTS.items() if place.startswith(begin))


def main() -> None:
    """Run the mutants whose line has all the words given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="run only the mutants whose line has all of these")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run none")
    given = parser.parse_args()
    chosen = [m for m in MUTANTS if all(word in " ".join(m) for word in given.words)]
    if given.list:
        print("\n".join(f"{place}: {old!r} -> {new!r}" for place, old, new in chosen))
        return
    with tempfile.TemporaryDirectory() as folder:  # the tree may be edited meanwhile
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sys.exit(run(source, chosen, pool))


def run(source: Path, chosen: list[Mutant], pool: ThreadPoolExecutor) -> int:
    """Run mutants, two at a time; how many are not as they should be."""

    @cache
    def sound(place: str) -> bool:
        return passes(source, tests_of(place)) == "all tests pass"

    begins = [next(begin for begin in TESTS if place.startswith(begin)) for place, _, _ in chosen]
    groups = list(dict.fromkeys(begins))
    broken = [begin for begin, good in zip(groups, pool.map(sound, groups), strict=True) if not good]
    failed = len(broken)
    for begin in broken:
        print(f"{begin}: its tests do not pass without a mutation", flush=True)
    able = [mutant for mutant, begin in zip(chosen, begins, strict=True) if begin not in broken]
    for mutant, said in zip(able, pool.map(lambda m: survives(source, m), able), strict=True):
        equivalent = mutant in EQUIVALENT
        failed += (said is None) == equivalent
        verdict = "killed" if said is None else "equivalent, as known" if equivalent else f"SURVIVED: {said}"
        print(f"{mutant[0]:<28} {mutant[1]!r} -> {mutant[2]!r}: {verdict}", flush=True)
    print(f"{len(able)} mutants, {failed} not as they should be")
    return min(failed, 1)


if __name__ == "__main__":
    main()
