"""Learners in C (`v.to_c`): bytes of code and of state, and the time of an update as a ratio to `update_many`.

    python benchmarks/c.py [--steps N] [--rounds N] [--json]

Each learner has 12 one-hot features, and learns from the same random stream in C, in a loop compiled with -O2, and in
Python by `update_many`. Rounds alternate between the two; the least processor time of each counts.
"""

import argparse
import ctypes
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.learners.c_library import FLAGS, CLearner, compiled, compiler

STATES = 12
LEARNERS: dict[str, dict[str, Any]] = {
    "TD, λ = 0.9": {"kind": td.TD, "lam": 0.9},
    "TrueOnlineTD, λ = 0.9": {"kind": td.TrueOnlineTD, "lam": 0.9},
    "TrueOnlineGTD, λ = 0.9": {"kind": td.TrueOnlineGTD, "lam": 0.9, "beta": 0.01},
    "TrueOnlineTD, META": {"kind": td.TrueOnlineTD, "lam": "meta"},
    'TrueOnlineTD, "auto"': {"kind": td.TrueOnlineTD, "lam": "auto"},
    "TrueOnlineTD, Swift": {"kind": td.TrueOnlineTD, "lam": 0.9, "alpha": td.steps.Swift()},
}
LOOP = """#include "learner.c"

int loop(learner *v, const int32_t *s, const double *reward, const double *gamma, const double *rho, int64_t n)
{
    int wrong = 0;
    for (int64_t t = 0; t < n; t++) wrong |= learner_update(v, s[t], reward[t], s[t + 1], gamma[t], rho[t], 0);
    return wrong;
}
"""


def measured(name: str, steps: int, rounds: int) -> dict[str, Any]:
    """The sizes of one learner in C, and the times of an update in C and in Python."""
    options = {"alpha": 0.01} | LEARNERS[name]
    kind = options.pop("kind")
    rng = np.random.default_rng(0)
    states = rng.integers(STATES, size=steps + 1)
    reward, gamma, rho = rng.normal(size=steps), rng.uniform(0.8, 0.99, steps), rng.uniform(0.8, 1.2, steps)
    no, action = np.zeros(steps, bool), np.zeros(steps, np.int64)
    data = td.mdp.Transitions(states[:-1], action, reward, states[1:], gamma, rho, no, no)
    v = kind(td.features.OneHot(STATES), **options)
    v.clone().update_many(data)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        c = CLearner(v, Path(folder))
        (Path(folder) / "loop.c").write_text(LOOP, encoding="utf-8")
        loop = ctypes.CDLL(str(compiled(Path(folder) / "loop.c"))).loop
        fast, small = (code_size(Path(folder) / "learner.c", option) for option in ("-O2", "-Os"))
        given: list[Any] = [states.astype(np.int32), reward, gamma, rho]
        arguments = [a.ctypes.data_as(ctypes.c_void_p) for a in given]
        times: dict[str, list[float]] = {"C": [], "Python": []}
        for _ in range(rounds):
            c.library.learner_init(ctypes.byref(c.state))
            start = time.process_time()
            assert loop(ctypes.byref(c.state), *arguments, ctypes.c_int64(steps)) == 0
            times["C"].append(time.process_time() - start)
            learner = v.clone()
            start = time.process_time()
            learner.update_many(data)
            times["Python"].append(time.process_time() - start)
    assert np.array_equal(c.row("V_w"), learner.weights), "C and Python differ"
    in_c, in_python = (min(times[name]) / steps * 1e9 for name in ("C", "Python"))
    return {
        "learner": name, "code": fast, "code, -Os": small, "state": ctypes.sizeof(c.state), "ns": in_c,
        "update_many / C": in_python / in_c,
    }  # fmt: skip


def code_size(source: Path, option: str) -> int | None:
    """Bytes of machine code and constants of a C file; None without `size`."""
    found, tool, target = compiler(), shutil.which("size"), source.with_suffix(".o")
    if found is None or tool is None:
        return None
    subprocess.run([found, *FLAGS, option, "-c", "-o", str(target), str(source)], check=True)
    said = subprocess.run([tool, str(target)], check=True, capture_output=True, text=True).stdout
    return int(said.splitlines()[1].split()[0])


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000, help="transitions of each round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the fastest counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if compiler() is None:
        raise SystemExit("no C compiler: gcc, cc or clang")
    rows = [measured(name, given.steps, given.rounds) for name in LEARNERS]
    if given.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    titles = ("bytes of code", "with -Os", "bytes of state", "ns an update", "update_many / C")
    print(f"{'12 one-hot features':23s}" + "".join(f"{title:>{len(title) + 2}s}" for title in titles))
    for row in rows:
        sizes = f"{row['code'] or '?':>15}{row['code, -Os'] or '?':>10}{row['state']:>16}"
        print(f"{row['learner']:23s}{sizes}{row['ns']:>14.0f}{row['update_many / C']:>16.2f}×")


if __name__ == "__main__":
    main()
