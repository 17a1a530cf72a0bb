"""Studies that are done in a moment, and what is known of them from elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import tdlambda as td

METHODS = {
    "fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam")),
    "greedy": td.studies.Method("TrueOnlineTD", rule="Greedy", over=("alpha",)),
}


def small(**changes: Any) -> td.studies.Study:
    """Two methods on RingWorld, six cells."""
    declared: dict[str, Any] = {
        "name": "small", "task": "RingWorld-v0", "preset": "0.3/0.25", "seeds": 3, "steps": 1000, "points": 50,
        "curve": 10, "warm_up": 0.1, "grid": {"alpha": [0.01, 0.1], "lam": [0.0, 0.9]}, "methods": METHODS,
    }  # fmt: skip
    return td.studies.Study(**(declared | changes))


def units(out: Path) -> dict[str, bytes]:
    """Every unit in a directory: its content by its place."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("units/*/*.parquet"))}


def leftovers(out: Path) -> list[Path]:
    """Files that were not finished."""
    return list(out.rglob(".unfinished-*"))


def published_values() -> Any:
    """v on FrozenLake by a model that keeps, of several moves of an action into the same state, only one."""
    table, target, v = FrozenLakeEnv(is_slippery=True).P, td.make("FrozenLake-v0").target, np.zeros(16)
    for _ in range(500):
        new = np.zeros(16)
        for state, actions in table.items():
            for action, moves in actions.items():
                single = {after: (p, reward, over) for p, after, reward, over in moves}
                for after, (p, reward, over) in single.items():
                    new[state] += target(state)[action] * p * (reward + 0.95 * (0 if over else v[after]))
        v = new
    return v
