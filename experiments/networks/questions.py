"""Many questions on one network, beside a network for each question.

    python experiments/networks/questions.py [--seeds 4] [--steps 30000] [--step-size IntentionalRMS]

Questions are the discounted sums of every reading and of the reward, each with γ of 0.5, 0.9 and 0.98, all from raw
observations, with λ = 0.8 and 64 × 64 units: on MountainCar, CartPole and Acrobot under fixed policies, and on noisy
readings of the systems of Lorenz and Rössler. A cell is the mean squared error of predictions at 10,000 rows of another
run, against the returns that followed there, divided by the variance of these: mean over questions and seeds, after 1 %,
10 % and all of the rows, for one network and for a network each; then the processor time of a row, and the ratio of both.
"""

import argparse
import time
from typing import Any

import numpy as np
from fixed_policies import stream

import tdlambda as td

GAMMAS = (0.5, 0.9, 0.98)
TEST = 10_000
SYSTEMS: dict[str, tuple[float, Any]] = {
    "Lorenz": (0.005, lambda x, y, z: (10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z)),
    "Rössler": (0.025, lambda x, y, z: (-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7))),
}
TASKS = ("MountainCar", "CartPole", "Acrobot", *SYSTEMS)


def rows(task: str, steps: int, seed: int) -> dict[str, Any]:
    """A table: the readings and the reward of the step into each row, and whether the row ends an episode."""
    if task in SYSTEMS:
        readings = system(task, steps, seed)
        return {f"reading {k}": column for k, column in enumerate(readings.T)} | {"ends": np.zeros(steps, bool)}
    data, found = stream(task, steps, seed), []
    begins, before = True, 0.0
    for t in range(steps):
        found.append((*data.obs[t], 0.0 if begins else before, False))
        begins, before = bool(data.terminated[t]), data.reward[t]
        if begins:
            found.append((*data.next_obs[t], before, True))
    table = np.array(found[:steps])
    names = [*(f"reading {k}" for k in range(table.shape[1] - 2)), "reward", "ends"]
    return dict(zip(names, table.T.astype(float), strict=True))


def system(name: str, steps: int, seed: int) -> Any:
    """The three coordinates of a chaotic system at every fourth of its steps, with noise."""
    (step, change), rng = SYSTEMS[name], np.random.default_rng(seed)
    x, found = np.array([1.0, 1.0, 1.0]) + rng.random(3), np.zeros((steps, 3))
    for t in range(-2000, steps):
        for _ in range(4):
            x = x + step * np.array(change(*x))
        found[max(t, 0)] = x
    return found + 0.03 * found.std(axis=0) * rng.normal(size=found.shape)


def returns(cumulant: Any, ends: Any, gamma: float) -> Any:
    """The return after each row; NaN where less than 10⁻⁴ of it is not known."""
    found, total = np.zeros(cumulant.size), 0.0
    for t in range(cumulant.size - 2, -1, -1):
        total = 0.0 if ends[t] else cumulant[t + 1] + (0.0 if ends[t + 1] else gamma * total)
        found[t] = np.nan if ends[t] else total
    known = cumulant.size - int(np.log(1e-4) / np.log(gamma))
    return np.where(np.arange(cumulant.size) < known, found, np.nan)


def errors(task: str, steps: int, seed: int, alpha: Any, together: bool) -> tuple[Any, float]:
    """The mean error after each part, and microseconds of processor time a row."""
    data, test = rows(task, steps, seed), rows(task, TEST, 10**6 + seed)
    columns = [name for name in data if name != "ends"]
    readings = [name for name in columns if name != "reward"]
    asked = {f"{name}, {gamma}": td.Question(name, gamma=gamma) for name in columns for gamma in GAMMAS}
    sets = [asked] if together else [{name: question} for name, question in asked.items()]
    hordes = [
        td.Horde(
            td.Network(len(readings), seed=1000 * seed + k), some, lambda x: td.TD(x, alpha, 0.8), terminated="ends",
            observed=readings,
        )
        for k, some in enumerate(sets)
    ]  # fmt: skip
    found, begin, spent = [], 0, 0.0
    for end in (steps // 100, steps // 10, steps):
        start = time.process_time()
        for horde in hordes:
            horde.learn({name: column[begin:end] for name, column in data.items()}, progress=False)
        spent, begin = time.process_time() - start, end
        predicted: dict[str, Any] = {}
        for horde in hordes:
            predicted |= horde.predict(test)
        each = []
        for name, question in asked.items():
            truth = returns(test[str(question.cumulant)], test["ends"], float(question.discount))  # type: ignore[arg-type]
            known = np.isfinite(truth)
            each.append(np.mean((predicted[name][known] - truth[known]) ** 2) / truth[known].var())
        found.append(np.mean(each))
    return np.array(found), 1e6 * spent / (steps - steps // 10)


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--seeds", type=int, default=4)
    about.add_argument("--first", type=int, default=0, help="the first seed")
    about.add_argument("--steps", type=int, default=30_000)
    about.add_argument("--step-size", default="IntentionalRMS", help="a class of td.steps with its defaults")
    about.add_argument("--tasks", nargs="*", default=list(TASKS))
    given = about.parse_args()
    alpha = getattr(td.steps, given.step_size)()
    print("| task | one network | a network each | µs a row | ratio of errors |\n| --- | --- | --- | --- | --- |")
    for task in given.tasks:
        means, costs = [], []
        for together in (True, False):
            seeds = range(given.first, given.first + given.seeds)
            done = [errors(task, given.steps, seed, alpha, together) for seed in seeds]
            means.append(np.mean([found for found, _ in done], axis=0))
            costs.append(np.median([cost for _, cost in done]))
        cells = [" / ".join(f"{x:.3f}" for x in mean) for mean in means]
        ratio = " / ".join(f"{x:.2f}" for x in means[0] / means[1])
        print(f"| {task} | {cells[0]} | {cells[1]} | {costs[0]:.0f}, {costs[1]:.0f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
