"""Return of agents with networks in Gymnasium environments, with their default settings.

    python experiments/networks/control.py [--seeds 10] [--only ENV …] [--agents "actor-critic" "Q(λ)"] [--out FILE]

A cell is the mean undiscounted return of the episodes that end in the last fifth of the steps: mean ± two standard
errors over seeds; then the mean return in each tenth. γ = 0.99. The actor-critic is `td.ActorCritic.for_env(env,
td.Network(…))`, stream AC(λ) with λ = 0.8; Q(λ) is `td.QLambda(td.Network(…), actions, lam=0.8)` with ε from 1 to 0.01
over the first fifth; "λ-greedy critic" is the actor-critic with `lam="greedy"` for the critic, which does not run in
compiled worlds; "actor-critic, dense" has `sparsity=0.0`. CartPole and Acrobot run in compiled worlds, the others step
by step. Networks have 64 × 64 units, in runs of 2·10⁶ steps 128 × 128. An environment that is not installed is named
with the command that installs it. Each run is added to the file of `--out`, a line of JSON; runs that are there already
are not made again.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import tdlambda as td

STEPS = {
    "CartPole-v1": 100_000, "Acrobot-v1": 100_000, "LunarLander-v3": 300_000, "InvertedPendulum-v5": 50_000,
    "Hopper-v5": 2_000_000, "HalfCheetah-v5": 2_000_000, "Walker2d-v5": 2_000_000,
}  # fmt: skip
COMPILED = ("CartPole-v1", "Acrobot-v1")


def agents(env: Any, hidden: tuple[int, ...], steps: int, seed: int) -> dict[str, Any]:
    """The agents that fit the actions of an environment."""
    network = td.Network(env.observation_space.shape[0], hidden, seed)
    found: dict[str, Any] = {"actor-critic": td.ActorCritic.for_env(env, network)}
    dense = td.Network(network.inputs, hidden, seed, sparsity=0.0)
    found["actor-critic, dense"] = td.ActorCritic.for_env(env, dense)
    plain = found["actor-critic"]
    tuned = td.TD(plain.critic.features, plain.critic.alpha, "greedy")
    own = {"lam": 0.8, "weighting": plain.weighting, "entropy": plain.entropy}
    found["λ-greedy critic"] = td.ActorCritic(tuned, plain.policy, plain.eta, **own)
    if isinstance(env.action_space, gym.spaces.Discrete):
        falling = td.control.Falling(1.0, 0.01, over=steps // 5)
        behavior = td.control.EpsilonGreedy(falling)
        found["Q(λ)"] = td.QLambda(network, int(env.action_space.n), lam=0.8, behavior=behavior)
    return found


def returns(name: str, agent: Any, steps: int, seed: int) -> list[float]:
    """Mean returns of the episodes that end in the last fifth, and in each tenth, of the steps; NaN for none."""
    ends, given = episodes(name, agent, steps, seed)
    spans = [(8, 10), *((k, k + 1) for k in range(10))]
    some = [given[(ends > a / 10 * steps) & (ends <= b / 10 * steps)] for a, b in spans]
    return [float(one.mean()) if one.size else np.nan for one in some]


def episodes(name: str, agent: Any, steps: int, seed: int) -> tuple[Any, Any]:
    """Last step and return of each episode."""
    if name not in COMPILED:
        curve = td.train(name, agent, steps, seed=seed, gamma=0.99, progress=False)
        return curve.ends, curve.returns
    ran: Any = td.control.run(name, [agent], seeds=[seed], steps=steps, gamma=0.99, threads=1, keep=["episodes"])
    _, length, end = np.asarray(ran.episodes[0][0]).T
    # the return of an episode is its length in CartPole, and 1 less with the opposite sign in Acrobot unless it is cut
    return end, length if name == "CartPole-v1" else np.where(length < 500, 1 - length, -500.0)


def made(out: Path | None) -> dict[tuple[Any, ...], list[float]]:
    """The runs in a file: environment, agent, steps, seed → `returns`."""
    if out is None or not out.exists():
        return {}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {(row["environment"], row["agent"], row["steps"], row["seed"]): row["returns"] for row in rows}


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--seeds", type=int, default=10)
    about.add_argument("--first", type=int, default=0, help="the first seed")
    about.add_argument("--steps", type=int, default=None, help="instead of those of each environment")
    about.add_argument("--only", nargs="*", default=list(STEPS), help="names of environments")
    about.add_argument("--agents", nargs="*", default=["actor-critic", "Q(λ)"])
    about.add_argument("--out", type=Path, help="file that keeps each run")
    given = about.parse_args()
    runs = made(given.out)
    print("| environment | steps | agent | return in the last fifth | in each tenth |")
    print("| --- | --- | --- | --- | --- |")
    seeds = range(given.first, given.first + given.seeds)
    for name in given.only:
        steps, kinds, env = given.steps or STEPS[name], given.agents, None
        hidden = (128, 128) if steps > 10**6 else (64, 64)
        if not all((name, kind, steps, seed) in runs for kind in kinds for seed in seeds):
            try:
                env = gym.make(name)
            except gym.error.Error as error:
                print(f'| {name} | {error}; or pip install -e ".[environments]" |')
                continue
            kinds = [one for one in agents(env, hidden, steps, 0) if one in kinds]
        for kind in kinds:
            for seed in seeds:
                key = (name, kind, steps, seed)
                if key not in runs:
                    runs[key] = returns(name, agents(env, hidden, steps, seed)[kind], steps, seed)
                    if given.out is not None:
                        row = {"environment": name, "agent": kind, "steps": steps, "seed": seed, "returns": runs[key]}
                        with given.out.open("a") as file:
                            print(json.dumps(row), file=file)
            found = np.array([runs[name, kind, steps, seed] for seed in seeds])
            error = 2 * found[:, 0].std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            tenths = " ".join(f"{mean:.0f}" for mean in np.nanmean(found[:, 1:], axis=0))
            print(f"| {name} | {steps:,} | {kind} | {found[:, 0].mean():.0f} ± {error:.0f} | {tenths} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
