"""The pictures of docs/control.md, into docs/figures.

    .venv/bin/python docs/control_figures.py             a minute
    .venv/bin/python docs/control_figures.py --out DIR

Needs Matplotlib. The same seeds give the same files.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import tdlambda as td

ARROWS = {0: (0, 1), 1: (1, 0), 2: (0, -1), 3: (-1, 0)}
"""Up, right, down, left, as they are drawn."""


def saved(figure: Any, path: Path) -> None:
    """Write a figure that is the same each time."""
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def cliff(path: Path) -> None:
    """Sarsa and Q(λ) beside the cliff: the first stays away from it while it explores, the second walks along it."""
    task = td.make("CliffWalking-v0")
    explores = td.EpsilonGreedy(0.1)
    agents: dict[str, Any] = {
        "Sarsa(λ)": td.Sarsa(task.features, 4, 0.1, 0.8, policy=explores),
        "Q(λ)": td.QLambda(task.features, 4, 0.1, 0.8, behavior=explores),
    }
    figure, axes = plt.subplots(2, 1, figsize=(6.4, 4.6), layout="constrained")
    for ax, (name, agent) in zip(axes, agents.items(), strict=True):
        td.train(task, agent, steps=100_000, seed=0)
        values = np.full((4, 12), np.nan)
        for s in range(48):
            row, column = divmod(s, 12)
            if task.rows[row][column] in ".S":  # type: ignore[attr-defined]
                values[row, column] = agent.q(s).max()
                dx, dy = ARROWS[agent.greedy(s)]
                ax.annotate("", (column + 0.3 * dx, row - 0.3 * dy), (column - 0.3 * dx, row + 0.3 * dy),
                            arrowprops={"arrowstyle": "->", "color": "black"})  # fmt: skip
        ax.imshow(values, cmap="Blues_r", vmin=-20, vmax=2)
        ax.set(title=f"{name}: the greedy policy", xticks=[], yticks=[])
        ax.text(5.5, 3, "cliff", ha="center", va="center")
        ax.text(11, 3, "G", ha="center", va="center")
    saved(figure, path)


def car(path: Path) -> None:
    """Mountain Car: the greedy action and the cost to go."""
    task = td.make("MountainCar-v0", "gymnasium")
    features = td.TileCoder([-1.2, -0.07], [0.6, 0.07], tilings=16, tiles=8, offsets="asymmetric")
    found = td.control.run(task, [td.Sarsa(features, 3)], seeds=[0], steps=100_000, keep=("agents",))
    agent = found.agents[0][0]
    x, v = np.linspace(-1.2, 0.5, 80), np.linspace(-0.07, 0.07, 80)
    q = np.array([[agent.q([a, b]) for a in x] for b in v])
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
    extent: Any = (-1.2, 0.5, -0.07, 0.07)
    drawn = axes[0].imshow(q.argmax(axis=2), origin="lower", extent=extent, aspect="auto", cmap="viridis", vmax=2)
    bar = figure.colorbar(drawn, ax=axes[0], ticks=[0, 1, 2])
    bar.ax.set_yticklabels(["left", "none", "right"])
    drawn = axes[1].imshow(-q.max(axis=2), origin="lower", extent=extent, aspect="auto", cmap="magma_r")
    figure.colorbar(drawn, ax=axes[1])
    for ax, title in zip(axes, ("greedy action", "cost to go, -max q"), strict=True):
        ax.set(xlabel="position", ylabel="velocity", title=title)
    saved(figure, path)


def cart(path: Path) -> None:
    """CartPole: length of episodes over steps, ten seeds of Sarsa(λ) with Fourier and with tile features."""
    box = [-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3]
    agents = {
        "Fourier, 256 features": td.Sarsa(td.Fourier(*box), 2, on_divergence="flag"),
        "tiles, 8 × 4⁴": td.Sarsa(td.TileCoder(*box, 8, 4, offsets="asymmetric"), 2, on_divergence="flag"),
    }
    world = td.tasks.classic.cart_pole(discount=0.99)
    found = td.control.run(world, agents, seeds=10, steps=100_000, keep=("episodes",))
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    grid = np.linspace(1000, 100_000, 100)
    for name, rows in zip(agents, found.episodes, strict=True):
        # the length of the episode that was under way at each of these steps
        each = np.array([row[np.minimum(np.searchsorted(row[:, 2], grid), len(row) - 1), 1] for row in rows])
        smooth = np.array([np.convolve(one, np.ones(5) / 5, mode="same") for one in each])
        ax.plot(grid[2:-2], smooth.mean(axis=0)[2:-2], label=name)
        ax.fill_between(grid[2:-2], smooth.min(axis=0)[2:-2], smooth.max(axis=0)[2:-2], alpha=0.15)
    ax.axhline(475, color="grey", linewidth=0.8, linestyle=":")
    ax.set(xlabel="steps", ylabel="steps an episode", ylim=(0, 510))
    ax.legend(frameon=False)
    saved(figure, path)


def main() -> None:
    """Draw all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "control", "svg.fonttype": "none", "font.size": 9}):
        cliff(out / "control-cliff.svg")
        car(out / "control-mountain-car.svg")
        cart(out / "control-cart-pole.svg")


if __name__ == "__main__":
    main()
