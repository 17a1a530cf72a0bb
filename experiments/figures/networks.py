"""The picture of docs/results/networks.md: returns on MuJoCo, into docs/figures.

    .venv/bin/python experiments/figures/networks.py
    .venv/bin/python experiments/figures/networks.py --out DIR

It shows the runs in `experiments/networks/results/mujoco.jsonl`: the mean return in each tenth of the steps over seeds,
with its 95 % interval by Student's t where there are several seeds.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import scipy.stats

from tdlambda import charts
from tdlambda.charts.style import OKABE_ITO, finished

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "experiments" / "networks" / "results" / "mujoco.jsonl"
AGENTS = ("actor-critic", "λ-greedy critic")


def rows(runs: Any, agent: str) -> list[dict[str, Any]]:
    """The points of a line: `runs` are mean returns [seed, tenth]."""
    n = len(runs)
    mean, name = runs.mean(axis=0), f"{agent}, {n} seed{'s' * (n > 1)}"
    half = scipy.stats.t.ppf(0.975, n - 1) * runs.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(len(mean))
    colour = OKABE_ITO[AGENTS.index(agent)]
    return [
        {"series": name, "x": 0.2 * (k + 1), "mean": float(m), "low": float(m - h), "high": float(m + h)}
        | {"colour": colour, "dash": [], "width": 1.9, "shape": "circle"}
        for k, (m, h) in enumerate(zip(mean, half, strict=True))
    ]


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    about.add_argument("--quick", action="store_true", help="changes nothing: the runs are made already")
    given = about.parse_args()
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for line in RUNS.read_text().splitlines():
        run = json.loads(line)
        found[run["environment"], run["agent"]].append(run["returns"][1:])
    panels = []
    for name in sorted({environment for environment, _ in found}):
        known = {agent: np.array(found[name, agent]) for agent in AGENTS if (name, agent) in found}
        points = [row for agent, runs in known.items() for row in rows(runs, agent)]
        panel = charts.lines(points, "million steps", "", log=(False, False), dots=False, fade=False, size=(270, 240))
        panel.title, panel.config = alt.TitleParams(f"{name}: return"), alt.Undefined
        panels.append(panel)
    given.out.mkdir(parents=True, exist_ok=True)
    charts.save(finished(alt.hconcat(*panels).resolve_scale(color="independent")), given.out / "networks-mujoco.svg")


if __name__ == "__main__":
    main()
