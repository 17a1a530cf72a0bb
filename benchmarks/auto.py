"""What AutoTD costs beside its own learners, on the same transitions in the same process.

    python benchmarks/auto.py [--steps 100000] [--repeats 5]

"engine": the 24 learners as lanes of one compiled block, which only learn. "objects": the same 24 as objects of their
own, one `update_many` each. "update" is AutoTD by that of the 24 objects where each transition comes alone. Times are
processor time for a step, the least of several repeats taken in turn.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.auto.families.linear import ALPHAS, LAMBDAS
from tdlambda.engine.plan import plan
from tdlambda.engine.prediction_job import checked
from tdlambda.engine.trajectory import EncodedChunks, Stream
from tdlambda.engine.workers import LaneWorker

TASKS: dict[str, Callable[[], Any]] = {
    "RingWorld, 11 one-hot": lambda: td.make("RingWorld-v0"),
    "FrozenLake, 4 of 12": lambda: td.make("FrozenLake-v0"),
    "Garnet, 30 one-hot, no end": lambda: td.make("Garnet-v0"),
    "MountainCar, tile coder": lambda: td.make("MountainCar-v0"),
}


def measured(task: Any, steps: int, repeats: int) -> dict[str, float]:
    """Nanoseconds a step of each way."""
    pairs = [(a, z) for a in ALPHAS for z in LAMBDAS]
    norm = float((task.features.encode_batch(task.sampler(seed=1).take(1).obs)[1] ** 2).sum())
    make: Callable[[], list[Any]] = lambda: [  # noqa: E731
        td.TrueOnlineTD(task.features, a / norm, z, on_divergence="flag") for a, z in pairs
    ]
    job = checked(task, make(), [1], steps, 1, None, None if task.mdp is not None else _nowhere(task), ())
    chunk = Stream(task, 1).take(steps)

    def engine() -> Callable[[], Any]:
        lanes = LaneWorker(job, plan(list(job.learners.values()))[0][0], EncodedChunks(), np.array([steps]))
        return lambda: lanes.feed(chunk)

    def objects() -> Callable[[], Any]:
        learners = make()
        return lambda: [learner.update_many(chunk.transitions) for learner in learners]

    def auto() -> Callable[[], Any]:
        learner = td.AutoTD(task.features)
        return lambda: learner.update_many(chunk.transitions)

    def one_by_one(learners: list[Any]) -> Callable[[], Any]:
        c, few = chunk.transitions, steps // 20
        obs, after = (list(x) if x.ndim > 1 else x.tolist() for x in (c.obs[:few], c.next_obs[:few]))
        numbers = zip(*(x[:few].tolist() for x in (c.gamma, c.rho, c.terminated, c.truncated)), strict=True)
        rows = list(zip(obs, c.reward[:few].tolist(), after, numbers, strict=True))
        return lambda: [learner.update(s, r, y, *rest) for s, r, y, rest in rows for learner in learners]

    found: dict[str, float] = {}
    ways: dict[str, Callable[[], Callable[[], Any]]] = {
        "engine": engine, "objects": objects, "AutoTD": auto, "objects, update": lambda: one_by_one(make()),
        "AutoTD, update": lambda: one_by_one([td.AutoTD(task.features)]),
    }  # fmt: skip
    for turn in range(repeats + 1):
        for name, prepare in ways.items():
            work = prepare()
            began = time.process_time()
            work()
            spent = (time.process_time() - began) / (steps // 20 if "update" in name else steps) * 1e9
            if turn:  # the first compiles
                found[name] = min(found.get(name, spent), spent)
    return found


def _nowhere(task: Any) -> Any:
    """A truth that nobody asks for."""
    return td.engine.sampled_truth(task, observations=1, steps=2000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("| task | AutoTD, ns a step | engine | ratio | objects | ratio | update, ratio |")
    print("|" + " --- |" * 7)
    for name, make in TASKS.items():
        t = measured(make(), options.steps, options.repeats)
        own, each, auto, online = t["engine"], t["objects"], t["AutoTD"], t["AutoTD, update"] / t["objects, update"]
        cells = (f"{auto:.0f}", f"{own:.0f}", f"{auto / own:.2f}", f"{each:.0f}", f"{auto / each:.2f}", f"{online:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
