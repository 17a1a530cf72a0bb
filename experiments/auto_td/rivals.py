"""AutoTD beside other ways to need less tuning, each with the one setting that is best for it on other tasks.

    python experiments/auto_td/rivals.py [--seeds 12] [--steps 100000] [--methods AutoTD "LSTD(λ)"] [--json]

A setting is chosen for each method on some tasks and 4 seeds, by the geometric mean over tasks of its error after 10³
and 10⁴ steps over that of the best of 168 fixed (α, λ) in hindsight; it is reported on others. Where TD cannot be
stable, off-policy with shared features, fixed learners are GTD. ALLSTD chooses λ at each horizon from the episodes so
far, so that it is there in episodic tasks alone.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np
from best_fixed import fixed

import tdlambda as td

HORIZONS = (10**3, 10**4, 10**5)
CHOOSING, REPORTING = 9000, 7000
"""First seeds."""


def choosing() -> dict[str, Any]:
    """Tasks to choose on."""
    found = {f"RingWorld .{b}": ring(b) for b in (4, 2)} | {"walk": td.make("RandomWalk-v0", n=9)}
    found |= {f"random MDP {k}": td.make("Garnet-v0", seed=k) for k in (131, 132)}
    return found | {
        "random MDP 134, on-policy": td.make("Garnet-v0", seed=134, on_policy=True),
        "random MDP 135, episodes": td.make("Garnet-v0", seed=135, terminal=2, discount=1.0),
        "random MDP 137, 12 binary features, on-policy": td.make("Garnet-v0", seed=137, features=12, on_policy=True),
    }


def reporting() -> dict[str, Any]:
    """Tasks to report on."""
    found = {"RingWorld .3": ring(3), "19-state walk, γ = 1": td.make("RandomWalk-v0")}
    found |= {"FrozenLake": td.make("FrozenLake-v0")}
    found |= {f"random MDP {k}": td.make("Garnet-v0", seed=k) for k in (71, 72)}
    return found | {
        "random MDP 74, on-policy": td.make("Garnet-v0", seed=74, on_policy=True),
        "random MDP 75, episodes, γ = 1": td.make("Garnet-v0", seed=75, terminal=2, discount=1.0),
        "random MDP 77, 12 binary features, on-policy": td.make("Garnet-v0", seed=77, features=12, on_policy=True),
        **apart(),
    }


def apart() -> dict[str, Any]:
    """Tasks to report on that played no part in any choice."""
    found = {"RingWorld .45, 21 states": td.make("RingWorld-v0", n=21, behavior_left=0.45, target_left=0.4)}
    found |= {
        "Boyan's chain, 101 states": td.make("BoyanChain-v0", n=101),
        "29-state walk": td.make("RandomWalk-v0", n=29),
    }
    found |= {"FrozenLake, one-hot": td.make("FrozenLake-v0", features="one-hot")}
    found |= {"random MDP 171, 50 states": td.make("Garnet-v0", seed=171, n=50), "random MRP": td.make("RandomMRP-v0")}
    return found | {
        "random MDP 172, episodes, γ = .9": td.make("Garnet-v0", seed=172, terminal=2, discount=0.9),
        "random MDP 173, 16 binary features, on-policy": td.make("Garnet-v0", seed=173, features=16, on_policy=True),
    }


def ring(left: int) -> Any:
    """RingWorld, off-policy."""
    return td.make("RingWorld-v0", behavior_left=left / 10, target_left=left / 10 - 0.05)


def methods(f: td.Encoder) -> dict[str, dict[str, td.Learner]]:
    """Learners of each method, by their settings."""
    flag: Any = {"on_divergence": "flag"}
    steps = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    lams = (0.0, 0.4, 0.8, 0.9, 0.95, 1.0)
    found: dict[str, dict[str, td.Learner]] = {"AutoTD": {"": td.AutoTD(f)}}
    found["TD(λ)"] = {f"α = {a:g}, λ = {z:g}": td.TrueOnlineTD(f, a, z, **flag) for a in steps for z in lams}
    found['TD, lam="auto"'] = {f"α = {a:g}": td.TrueOnlineTD(f, a, "auto", **flag) for a in steps}
    found["META"] = {
        f"α = {a:g}, κ = {k:g}": td.TrueOnlineTD(f, a, td.rules.Meta(kappa=k), **flag)
        for a in (0.03, 0.01, 0.003, 0.001) for k in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
    }  # fmt: skip
    found["λ-greedy"] = {f"α = {a:g}": td.TrueOnlineTD(f, a, "greedy", **flag) for a in steps}
    found["LSTD(λ)"] = {
        f"λ = {z:g}, ridge {r:g}": td.RecursiveLSTD(f, z, ridge=r) for z in lams for r in (0.01, 1.0, 10.0)
    }
    found["SwiftTD"] = {
        f"α = {a:g}, θ = {t:g}, λ = {z:g}": td.TrueOnlineTD(f, td.steps.Swift(a, eta=0.5, theta=t), z, **flag)
        for a in (1e-2, 1e-3) for t in (1e-2, 1e-3) for z in (0.4, 0.8, 0.95)
    }  # fmt: skip
    found["TIDBD"] = {
        f"α = {a:g}, θ = {t:g}, λ = {z:g}": td.TD(f, td.steps.TIDBD(a, t), z, **flag)
        for a in (0.1, 0.01) for t in (1e-2, 1e-3) for z in (0.4, 0.8, 0.95)
    }  # fmt: skip
    found["Autostep"] = {
        f"α = {a:g}, θ = {t:g}, λ = {z:g}": td.TD(f, td.steps.Autostep(a, t), z, **flag)
        for a in (0.1, 0.01) for t in (1e-2, 1e-3) for z in (0.4, 0.8, 0.95)
    }  # fmt: skip
    return found


def errors(task: Any, learners: Any, seeds: list[int], steps: int) -> Any:
    """Mean errors [learner, horizon]: over seeds, and over the last tenth of the way there."""
    horizons = [h for h in HORIZONS if h <= steps]
    points = np.unique(np.concatenate([np.linspace(0.91 * h, h, 10) for h in horizons]).round().astype(int))
    run = td.engine.run(task, learners, seeds, steps, points=points.tolist(), keep=(), progress=False)
    each = [run.error[:, :, (points > 0.9 * h) & (points <= h)].mean(axis=(1, 2)) for h in horizons]
    return np.nan_to_num(np.transpose(each), nan=np.inf)


def allstd(task: Any, seeds: list[int], steps: int) -> Any:
    """Errors of ALLSTD at each horizon; none where there are no episodes."""
    truth, horizons = td.engine.exact_truth(task), [h for h in HORIZONS if h <= min(steps, 10**4)]
    found = np.full((len(seeds), len([h for h in HORIZONS if h <= steps])), np.nan)
    names = ("obs", "action", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
    for i, seed in enumerate(seeds):
        stream = task.sampler(seed).take(horizons[-1])
        for k, h in enumerate(horizons):
            if stream.terminated[:h].sum() > 1:
                some = td.mdp.Transitions(*(getattr(stream, n)[:h] for n in names))
                chosen = td.learners.choose_lambda(some, task.features, np.linspace(0, 1, 6)).learner
                values = chosen.predict_many(truth.observations)
                found[i, k] = truth.weights @ (values - truth.values) ** 2 / truth.weights.sum()
    return found.mean(axis=0)


def measured(
    tasks: dict[str, Any], seeds: list[int], steps: int, only: dict[str, str] | None, some: list[str]
) -> dict[str, Any]:
    """The ratio to the best of 168 [task, horizon] of each method's settings; `only` one each, if chosen."""
    ratios: dict[str, dict[str, list[Any]]] = {}
    for name, task in tasks.items():
        print(f"  {name}", file=sys.stderr, flush=True)
        of = methods(task.features)
        chosen = {(m, s): of[m][s] for m in some or of for s in of[m] if only is None or only[m] == s}
        every = errors(task, [*chosen.values(), *fixed(task)], seeds, steps)
        best = every[len(chosen) :].min(axis=0)
        for (m, s), row in zip(chosen, every, strict=False):
            ratios.setdefault(m, {}).setdefault(s, []).append(row / best)
        if only is not None:
            ratios.setdefault("ALLSTD", {}).setdefault("", []).append(allstd(task, seeds, steps) / best)
    return {m: {s: np.array(rows) for s, rows in settings.items()} for m, settings in ratios.items()}


def main() -> None:
    """Choose, then report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10**5)
    parser.add_argument("--methods", nargs="*", default=[], help="only these, beside ALLSTD; all by default")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not {*given.methods} <= {*methods(ring(3).features)}:
        parser.error(f"--methods must be some of {', '.join(methods(ring(3).features))}")
    for name, least in (("seeds", 1), ("steps", 10**3)):
        if getattr(given, name) < least:
            parser.error(f"--{name} must be at least {least}; got {getattr(given, name)}")
    seeds = [list(range(first, first + given.seeds)) for first in (CHOOSING, REPORTING)]
    print("choosing", file=sys.stderr)
    found = measured(choosing(), seeds[0][:4], min(given.steps, 10**4), None, given.methods)
    chosen = {m: min(of, key=lambda s, of=of: float(np.log(of[s]).mean())) for m, of in found.items()}
    print("reporting", file=sys.stderr)
    report = measured(reporting(), seeds[1], given.steps, chosen, given.methods)
    if given.json:
        first = {m: next(iter(of.values())).tolist() for m, of in report.items()}
        rows = {m: {"setting": chosen.get(m, ""), "tasks": list(reporting()), "ratios": first[m]} for m in first}
        print(json.dumps(rows, indent=2))
        return
    print_table(report, chosen, given.steps, "all tasks", np.ones(len(reporting()), dtype=bool))
    episodic = ~np.isnan(report["ALLSTD"][""][:, 0])
    print_table(report, chosen, given.steps, "tasks with episodes", episodic)


def print_table(report: Any, chosen: Any, steps: int, title: str, some: Any) -> None:
    """Print geometric means and worst ratios over some tasks."""
    shown = [f"10{'³⁴⁵'[k]}" for k, h in enumerate(HORIZONS) if h <= steps]
    print(f"| {title} ({some.sum()}) | setting | {' | '.join(f'{h}, mean | worst' for h in shown)} |")
    print(f"| --- | --- |{' --- | --- |' * len(shown)}")
    for m, of in report.items():
        cells = []
        for k in range(len(shown)):
            ratios = next(iter(of.values()))[some, k]
            known = not np.isnan(ratios).any()
            cells += [f"{np.exp(np.log(ratios).mean()):.2f}", f"{ratios.max():.3g}"] if known else ["", ""]
        print(f"| {m} | {chosen.get(m, '')} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
