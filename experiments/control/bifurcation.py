"""Daley, White, Amato & Machado (2023): trajectory-aware traces on four bifurcation gridworlds.

    python experiments/control/bifurcation.py              100 runs
    python experiments/control/bifurcation.py --full       1,000 runs

The area under the learning curve, in the library's own worlds ("Bifurcation-v0"). One-hot q from 0.01 · normal
numbers; the behaviour is ε-greedy with ε = 1 for the first 5 episodes (10 in grid 2), then 0.2; the target policy has
ε = 0.1, with expected targets; equally good actions share. 3000 steps (5000 in grid 2). After each episode one is
played with ε = 0.05, stopped after 51 steps without a reset of its state, as the authors' program has it. The curve
is the mean return of the last 100 of these, linear between; its sum over all steps is the area. Step sizes are those
of the authors' settings.

A trace with a weight β for each earlier pair of the episode, at each step, with ρ of this step's action:

    Retrace             β ← λ min(1, ρ) β              Truncated IS   β ← λ^k min(1, Πρ)
    Recursive Retrace   β ← λ min(1, ρ β)              RBIS           β ← min(λ^k, ρ β)

Retrace is `td.Sarsa(…, target="expected", correction="retrace")` itself; the other three need the list of pairs. Sarsa
chooses the next action before it learns, the authors' program after. Beside ours stands an independent simulation.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np

import tdlambda as td
from tdlambda.control import exploration
from tdlambda.control.worlds import world_of
from tdlambda.randomness import stream
from tdlambda.tasks.table_world import begin as begin_world
from tdlambda.tasks.table_world import move as move_world

sys.path.append(str(Path(__file__).resolve().parents[1] / "family"))
import outside

NAMES = ("Retrace", "Truncated IS", "Recursive Retrace", "RBIS")
GRIDS = {1: (3000, 5), 2: (5000, 10), 3: (3000, 5), 4: (3000, 5)}
"""Steps, and episodes of exploration."""
LAMS = (0.0, 0.5, 0.9, 1.0)
LAST = {0.9: {1: (0.9, 0.7, 0.9, 0.9), 2: (0.9, 0.7, 0.9, 0.9), 3: (0.9, 0.7, 0.7, 0.7), 4: (0.7,) * 4},
        1.0: {1: (0.9, 0.5, 0.7, 0.7), 2: (0.9, 0.5, 0.7, 0.7), 3: (0.7, 0.5, 0.7, 0.7), 4: (0.7,) * 4}}  # fmt: skip
"""α of each trace, by λ and grid; 0.9 else."""
THEIRS = {
    (1, 0.0): (1186, 1186, 1186, 1186), (1, 0.5): (1278, 1275, 1279, 1292), (1, 0.9): (1274, 1221, 1257, 1264),
    (1, 1.0): (1266, 1187, 1244, 1244), (2, 0.5): (1406, 1420, 1424, 1468), (3, 0.5): (1364, 1375, 1379, 1410),
    (4, 0.5): (990, 996, 996, 1017),
}  # fmt: skip
"""Independent, 1000 runs."""
begin, move = numba.njit(begin_world), numba.njit(move_world)
probabilities, draw = numba.njit(exploration.epsilon_greedy), numba.njit(exploration.draw)
uniform: Any = td.tasks.uniform


@numba.njit
def played(numbers: Any, q: Any, state: Any, random: Any, b: Any) -> float:
    """The return of an evaluation episode, at most 51 steps; the state is kept."""
    total, discount = 0.0, 1.0
    for _ in range(51):
        probabilities(q[int(state[0])], 0.05, b)
        reward, _, over = move(numbers, state, draw(b, uniform(random)), random)
        total += discount * reward
        discount *= 0.9
        if over:
            begin(numbers, state, random)
            break
    return total


@numba.njit
def trial(numbers: Any, q: Any, method: int, lam: float, alpha: float, steps: int, explore: int, random: Any) -> Any:
    """One run: steps at which episodes ended, returns of evaluations, and how many."""
    pi, b, state, other = np.zeros(4), np.zeros(4), np.zeros(1), np.zeros(1)
    pairs = np.zeros((steps + 200, 2), dtype=np.int64)
    beta, powers, ratios, discounts = np.zeros((4, steps + 200))
    at, returns = np.zeros(steps + 200), np.zeros(steps + 200)
    count, length = 1, 0
    begin(numbers, state, random)
    begin(numbers, other, random)
    for t in range(steps + 52):
        s = int(state[0])
        probabilities(q[s], 1.0 if count - 1 < explore else 0.2, b)
        probabilities(q[s], 0.1, pi)
        a = draw(b, uniform(random))
        rho = pi[a] / b[a]
        reward, _, over = move(numbers, state, a, random)
        delta = reward - q[s, a]
        if not over:
            after = int(state[0])
            probabilities(q[after], 0.1, pi)
            for k in range(4):
                delta += 0.9 * pi[k] * q[after, k]
        for i in range(length):
            discounts[i] *= 0.9
            powers[i] *= lam
            ratios[i] = min(1e38, ratios[i] * rho)
            if method == 0:
                beta[i] *= lam * min(1.0, rho)
            elif method == 1:
                beta[i] = powers[i] * min(1.0, ratios[i])
            elif method == 2:
                beta[i] = lam * min(1.0, rho * beta[i])
            else:
                beta[i] = min(powers[i], rho * beta[i])
        pairs[length, 0], pairs[length, 1] = s, a
        beta[length], powers[length], ratios[length], discounts[length] = 1.0, 1.0, 1.0, 1.0
        length += 1
        for i in range(length):
            q[pairs[i, 0], pairs[i, 1]] += alpha * discounts[i] * beta[i] * delta
        if over or t > steps + 50:
            at[count], returns[count] = t, played(numbers, q, other, random, b)
            count += 1
            if t > steps:
                break
            length = 0
            begin(numbers, state, random)
    return at[:count], returns[:count]


def by_agent(world: Any, start: Any, lam: float, alpha: float, steps: int, explore: int, seed: int) -> Any:
    """The same protocol with `td.Sarsa` as it is."""
    behavior = td.control.EpsilonGreedy(td.control.Falling(1.0, 0.2, 0, by="episodes", after=explore))
    n = len(start)
    agent = td.Sarsa(
        td.features.OneHot(n), 4, alpha, lam, target="expected", correction="retrace", algorithm=td.TD,
        policy=td.control.EpsilonGreedy(0.1), behavior=behavior, initial=start.T, on_divergence="flag",
    )  # fmt: skip
    random, state, other, b = stream(seed), np.zeros(1), np.zeros(1), np.zeros(4)
    numbers, rng, at, returns = world.numbers, np.random.default_rng(seed), [0.0], [0.0]
    begin(numbers, state, random)
    begin(numbers, other, random)
    obs = int(state[0])
    action = agent.act(obs, rng)
    for t in range(steps + 52):
        reward, _, over = move(numbers, state, action, random)
        after = int(state[0])
        chosen = None if over else agent.act(after, rng)
        agent.update(obs, action, reward, after, chosen, 0.9, terminated=over)
        obs, action = after, chosen or 0
        if over or t > steps + 50:
            at.append(t)
            returns.append(played(numbers, np.ascontiguousarray(agent.weights.T), other, random, b))
            if t > steps:
                break
            begin(numbers, state, random)
            obs = int(state[0])
            action = agent.act(obs, rng)
    return np.array(at), np.array(returns)


def area(at: Any, returns: Any, steps: int) -> float:
    """The sum over all steps of the mean of the last 100 returns, linear between episodes."""
    sums = np.cumsum(returns)
    means = np.array([(sums[i] - (sums[i - 100] if i >= 100 else 0.0)) / min(i + 1, 100) for i in range(len(sums))])
    gaps = np.diff(at).astype(int)
    line = [np.linspace(means[i], means[i + 1], gap) if gap > 1 else means[i : i + 1] for i, gap in enumerate(gaps)]
    return float(np.concatenate(line)[: steps + 1].sum())


def areas(grid: int, lam: float, runs: int) -> list[Any]:
    """The areas of all four traces, and of Retrace by the agent."""
    steps, explore = GRIDS[grid]
    world = world_of(td.make("Bifurcation-v0", grid=grid))
    n, found = int(world.space.n), []
    sizes = LAST.get(lam, {}).get(grid, (0.9,) * 4)
    for method in range(5):
        out = []
        for run in range(runs if method < 4 else min(runs, 200)):  # Python is slow
            q = 0.01 * np.random.default_rng(1000 + run).standard_normal((n, 4))
            alpha = sizes[method % 4]
            if method < 4:
                ends = trial(world.numbers, q, method, lam, alpha, steps, explore, stream(run))
            else:
                ends = by_agent(world, q, lam, alpha, steps, explore, run)
            out.append(area(*ends, steps))
        found.append(np.array(out))
    return found


def main() -> int:
    """Print the tables and the verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    runs = chosen.seeds or (1000 if chosen.full else 100)
    found = {(grid, lam): areas(grid, lam, runs) for grid in GRIDS for lam in LAMS}
    mean = {key: [float(one.mean()) for one in some] for key, some in found.items()}
    error = {key: [1.96 * float(one.std(ddof=1)) / np.sqrt(len(one)) for one in some] for key, some in found.items()}
    outside.table(
        f"Area under the learning curve, {runs} runs, ours ± 95 % (independent)",
        ["grid, λ", *NAMES, "Retrace by td.Sarsa"],
        [
            [f"{key[0]}, {key[1]:g}", *(
                f"{mean[key][m]:.0f} ± {error[key][m]:.0f}" + (f" ({THEIRS[key][m % 4]})" if key in THEIRS else "")
                for m in range(5))]
            for key in found
        ],
    )  # fmt: skip
    off = [abs(mean[k][m] - v[m]) / (error[k][m] + 10) for k, v in THEIRS.items() for m in range(4)]
    agent = [abs(mean[k][4] - mean[k][0]) / (error[k][4] + error[k][0]) for k in found]
    good = outside.verdicts({
        "all four are the same at λ = 0": all(
            np.array_equal(found[g, 0.0][0], found[g, 0.0][m]) for g in GRIDS for m in range(4)),
        "Recursive Retrace is RBIS at λ = 1": all(np.array_equal(found[g, 1.0][2], found[g, 1.0][3]) for g in GRIDS),
        "Truncated IS is the smallest at λ = 1 in all grids": all(np.argmin(mean[g, 1.0][:4]) == 1 for g in GRIDS),
        f"the independent simulation agrees (largest deviation {max(off):.1f} of both intervals)": max(off) < 1.5,
        f"td.Sarsa agrees with Retrace's list of pairs (largest {max(agent):.1f} of both intervals)": max(agent) < 1.5,
    })  # fmt: skip
    named = {f"{g}, {lam}": dict(zip([*NAMES, "agent"], v, strict=True)) for (g, lam), v in mean.items()}
    outside.write_json(chosen.json, named)
    if chosen.figures is not None:
        for grid in GRIDS:
            curves = {NAMES[m]: (LAMS, [mean[grid, lam][m] for lam in LAMS]) for m in range(4)}
            top = 1.02 * max(mean[grid, lam][m] for lam in LAMS for m in range(4))
            outside.chart(chosen.figures / f"bifurcation-{grid}.svg", curves, "λ", "area under the learning curve", top)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
