"""The pictures of docs/control.md, into docs/figures.

    .venv/bin/python experiments/figures/control.py             a minute
    .venv/bin/python experiments/figures/control.py --out DIR
    .venv/bin/python experiments/figures/control.py --quick --out DIR        few steps, to see that it runs

The same seeds give the same files.
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import tdlambda as td
from tdlambda import charts
from tdlambda.charts.style import finished

DOCS = Path(__file__).resolve().parents[2] / "docs" / "figures"


def together(parts: dict[str, Any], across: bool) -> Any:
    """Charts under their names."""
    for part in parts.values():
        part.config = alt.Undefined
    named = [part.properties(title=name) for name, part in parts.items()]
    return finished((alt.hconcat if across else alt.vconcat)(*named).resolve_scale(color="independent"))


def cliff(path: Path, steps: int) -> None:
    """Sarsa and Q(λ) beside the cliff: the first stays away from it while it explores, the second walks along it."""
    task = td.make("CliffWalking-v0")
    explores = td.control.EpsilonGreedy(0.1)
    agents: dict[str, Any] = {
        "Sarsa(λ)": td.Sarsa(task.features, 4, 0.1, 0.8, policy=explores),
        "Q(λ)": td.QLambda(task.features, 4, 0.1, 0.8, behavior=explores),
    }
    for agent in agents.values():
        td.train(task, agent, steps=steps, seed=0)
    charts.save(together({f"{name}: the greedy policy": a.plot(task) for name, a in agents.items()}, False), path)


def car(path: Path, steps: int) -> None:
    """Mountain Car: the greedy action and the cost to go."""
    task = td.make("MountainCar-v0", "gymnasium")
    features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], tilings=16, tiles=8, offsets="asymmetric")
    found = td.control.run(task, [td.Sarsa(features, 3)], seeds=[0], steps=steps, keep=("agents",))
    agent = found.agents[0][0]
    x, v = np.linspace(-1.2, 0.5, 50), np.linspace(-0.07, 0.07, 50)
    rows = [{"x": float(a), "y": float(b), "cost": -float(agent.q([a, b]).max())} for a in x for b in v]
    cost = alt.Chart(alt.Data(values=rows)).mark_rect().encode(
        x=alt.X("x:O", title="position", axis=alt.Axis(labels=False)),
        y=alt.Y("y:O", title="velocity", sort="descending", axis=alt.Axis(labels=False)),
        color=alt.Color("cost:Q", scale=alt.Scale(scheme="magma", reverse=True), title="steps"),
    )  # fmt: skip
    cost = cost.properties(width=280, height=280)
    greedy = agent.plot(task).properties(width=280, height=280)
    charts.save(together({"greedy action": greedy, "cost to go, −max q": cost}, True), path)


def cart(path: Path, steps: int) -> None:
    """CartPole: length of episodes over steps, ten seeds of Sarsa(λ) with Fourier and with tile features."""
    box = [-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3]
    agents = {
        "Fourier, 256 features": td.Sarsa(td.features.Fourier(*box), 2, on_divergence="flag"),
        "tiles, 8 × 4⁴": td.Sarsa(td.features.TileCoder(*box, 8, 4, offsets="asymmetric"), 2, on_divergence="flag"),
    }
    world = td.tasks.classic.cart_pole(discount=0.99)
    found = td.control.run(world, agents, seeds=10, steps=steps, keep=("episodes",))
    grid, curves = np.linspace(steps // 100, steps, 100), []
    for name, rows in zip(agents, found.episodes, strict=True):
        # the length of the episode that was under way at each of these steps
        each = np.array([row[np.minimum(np.searchsorted(row[:, 2], grid), len(row) - 1), 1] for row in rows])
        smooth = np.array([np.convolve(one, np.ones(5) / 5, mode="same") for one in each])[:, 2:-2]
        middle = zip(grid[2:-2], smooth.mean(axis=0), smooth.min(axis=0), smooth.max(axis=0), strict=True)
        curves += [
            {"series": name, "step": float(t), "mean": float(m), "low": float(low), "high": float(high)}
            for t, m, low, high in middle
        ]
    charts.save(charts.learning_curves(curves, y="steps an episode", log=(False, False)), path)


def main() -> None:
    """Draw all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--quick", action="store_true", help="few steps, to see that it runs; needs --out")
    given = parser.parse_args()
    if given.quick and given.out == DOCS:
        parser.error("--quick needs --out: its pictures are not those of the page")
    given.out.mkdir(parents=True, exist_ok=True)
    steps = 2_000 if given.quick else 100_000
    cliff(given.out / "control-cliff.svg", steps)
    car(given.out / "control-mountain-car.svg", steps)
    cart(given.out / "control-cart-pole.svg", steps)


if __name__ == "__main__":
    main()
