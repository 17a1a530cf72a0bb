"""The author of the thesis: is META here, is it mine, does it give my numbers, and where is each of my theorems?"""

import subprocess
import sys
from pathlib import Path

import tdlambda as td


def tdlambda(*arguments: str) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "tdlambda", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=900).stdout


# META by its name, as equations, and as printed.
assert "Zhao (2020), chapter 4" in tdlambda("show", "Meta")
assert "PublishedMeta" in tdlambda("show", "PublishedMeta")
assert "kappa=0.001" in repr(td.rules.Meta.thesis(1e-3))
assert "PublishedMeta" in dir(td.reproduction)

# The proposition, as plain functions, and the theorems on a task.
ring = td.make("RingWorld-v0")
best = td.mdp.meta_minimizer(0.0, 0.9, 1.0, 0.1)
assert abs(td.mdp.meta_derivative(0.0, 0.9, 1.0, 0.1, 0.95, best)) < 1e-12
assert abs(ring.exact.bellman_error(ring.exact.v())).max() < 1e-12
assert ring.exact.policy_gradient().shape == (11, 2)

# A small part of the first table and of the figure, each beside the printed numbers.
small = ["--seeds", "4", "--steps", "2000", "--alphas"]
said = tdlambda("reproduce", "ringworld-0.40-0.35", *small, "0.01")
assert "cells agree within" in said
assert "tdlambda report" in said
assert "in the thesis' figure" in tdlambda("reproduce", "mountaincar", *small, "1e-4").replace("\n", " ")

# λ falling as V becomes trustworthy.
history = td.report.follow(ring, td.TrueOnlineTD(ring.features, 0.01, "meta"), steps=20_000)
history.plot("watch.svg")
assert Path("watch.svg").stat().st_size > 1000
assert history.lambdas[-1][5] < history.lambdas[0][5] == 1.0
