"""The online learners: cost of an update beside a plain NumPy version and an empty compiled call, and by features.

    python benchmarks/online.py [--json]
    python benchmarks/online.py --steps         step sizes that adapt, alone

Every ratio is of two processor times measured in this run, alternating, the best of several rounds each: on a busy
machine the wall clock would count other programs too.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.compiled import brief, entry

KINDS = (
    "TD", "TrueOnlineTD", "GTD", "TrueOnlineGTD", "GTD2", "TDRC", "HTD", "ETD", "TrueOnlineETD", "VTD", "DirectVTD",
)  # fmt: skip


@brief
def empty(
    state: Any, rows: Any, lam: float, s: int, s_next: int, reward: float, gamma: float, rho: float, ended: int
) -> int:
    """What it costs to enter compiled code with a learner's state and a transition, and leave again."""
    return 0


class Plain:
    """The same equations in NumPy, as one writes them down from the paper: dense vectors, one line an equation."""

    def __init__(self, kind: str, size: int, alpha: float, lam: float) -> None:
        self.kind, self.alpha, self.beta, self.lam = kind, alpha, alpha, lam
        self.X = np.eye(size)
        self.w, self.h, self.e, self.g, self.eh, self.w_old = (np.zeros(size) for _ in range(6))
        self.j, self.ej, self.s, self.es, self.j_old, self.s_old = (np.zeros(size) for _ in range(6))
        self.gamma = self.follow = 0.0
        self.rho_prev = 1.0

    def _true_online(
        self, w: Any, e: Any, w_old: Any, x: Any, y: Any, r: float, g: float, rho: float, gl: float
    ) -> tuple[Any, Any, Any]:
        delta = r + g * w @ y - w @ x
        e = rho * (gl * e + self.alpha * (1 - rho * gl * (x @ e)) * x)
        return w + delta * e + (w @ x - w_old @ x) * (e - self.alpha * rho * x), e, w

    def update(self, s: int, reward: float, s_next: int, gamma: float, rho: float, terminated: bool) -> None:
        x, y = self.X[s], self.X[s_next] * (not terminated)
        gamma = 0.0 if terminated else gamma
        a, b, gl = self.alpha, self.beta, self.gamma * self.lam
        delta = reward + gamma * self.w @ y - self.w @ x
        if self.kind == "TD":
            self.e = rho * (gl * self.e + x)
            self.w = self.w + a * delta * self.e
        elif self.kind == "TrueOnlineTD":
            self.w, self.e, self.w_old = self._true_online(self.w, self.e, self.w_old, x, y, reward, gamma, rho, gl)
        elif self.kind == "GTD":
            self.e = rho * (gl * self.e + x)
            correction = a * gamma * (1 - self.lam) * (self.e @ self.h) * y
            self.w = self.w + a * delta * self.e - correction
            self.h = self.h + b * (delta * self.e - (self.h @ x) * x)
        elif self.kind in ("GTD2", "TDRC"):
            self.e = rho * (gl * self.e + x)
            correction = gamma * (1 - self.lam) * (self.e @ self.h) * y
            ahead = (self.h @ x) * x if self.kind == "GTD2" else delta * self.e
            self.w = self.w + a * (ahead - correction)
            self.h = self.h + b * (delta * self.e - (self.h @ x) * x - (self.kind == "TDRC") * self.h)
        elif self.kind == "HTD":
            self.e, self.g = rho * (gl * self.e + x), gl * self.g + x
            self.w = self.w + a * (delta * self.e + (x - gamma * y) * ((self.e - self.g) @ self.h))
            self.h = self.h + b * (delta * self.e - (x - gamma * y) * (self.g @ self.h))
        elif self.kind in ("ETD", "TrueOnlineETD"):
            self.follow = self.rho_prev * self.gamma * self.follow + 1
            m = self.lam + (1 - self.lam) * self.follow
            if self.kind == "ETD":
                self.e = rho * (gl * self.e + m * x)
                self.w = self.w + a * delta * self.e
            else:
                self.e = rho * (gl * self.e + a * m * (1 - rho * gl * (x @ self.e)) * x)
                change = delta * self.e + (self.w @ x - self.w_old @ x) * (self.e - a * m * rho * x)
                self.w_old, self.w = self.w, self.w + change
        elif self.kind == "TrueOnlineGTD":
            new_w, self.e, _ = self._true_online(self.w, self.e, self.w_old, x, y, reward, gamma, rho, gl)
            self.g = rho * (gl * self.g + x)
            kept = self.rho_prev * gl
            self.eh = kept * self.eh + b * (1 - kept * (x @ self.eh)) * x
            self.w_old, self.w = self.w, new_w - a * gamma * (1 - self.lam) * (self.h @ self.g) * y
            self.h = self.h + rho * delta * self.eh - b * (self.h @ x) * x
        else:
            lg, v_next, j_next, j = gamma * self.lam, self.w @ y, self.j @ y, self.j @ x
            cumulant = reward + gamma * (1 - self.lam) * v_next
            if self.kind == "DirectVTD":
                square = (cumulant + lg * j_next - j) ** 2
            else:
                square = cumulant**2 + 2 * lg * cumulant * j_next
            self.s, self.es, self.s_old = self._true_online(
                self.s, self.es, self.s_old, x, y, square, lg**2, rho, gl**2 * 0.9
            )
            self.j, self.ej, self.j_old = self._true_online(
                self.j, self.ej, self.j_old, x, y, cumulant, lg, rho, gl * 0.9
            )
            self.w, self.e, self.w_old = self._true_online(self.w, self.e, self.w_old, x, y, reward, gamma, rho, gl)
        self.gamma, self.rho_prev = gamma, rho
        if terminated:
            for trace in (self.e, self.g, self.eh, self.ej, self.es):
                trace[:] = 0
            self.w_old, self.j_old, self.s_old = self.w, self.j, self.s


def best(work: dict[str, Callable[[], None]], rounds: int = 9) -> dict[str, float]:
    """Processor seconds of each piece of work, the best of several rounds, taking turns."""
    times = dict.fromkeys(work, np.inf)
    for _ in range(rounds):
        for name, run in work.items():
            begun = time.thread_time()
            run()
            times[name] = min(times[name], time.thread_time() - begun)
    return times


def one_by_one(steps: td.mdp.Transitions) -> list[Any]:
    """The arguments of `update`, transition by transition; states and numbers as Python's own."""
    columns: Any = [getattr(steps, c) for c in ("obs", "reward", "next_obs", "gamma", "rho", "terminated")]
    return list(zip(*(c.tolist() if c.ndim == 1 else list(c) for c in columns), strict=True))


def measure(kind: str, n: int = 4000) -> dict[str, Any]:
    """One algorithm on RingWorld, 11 one-hot features."""
    task = td.make("RingWorld-v0")
    steps = task.sampler(seed=0).take(n)
    rows = one_by_one(steps)
    learner: Any = getattr(td, kind)(task.features, 0.01, 0.9)
    batch: Any = learner.clone()
    plain = Plain(kind, 11, 0.01, 0.9)
    check = learner.clone()
    for s, r, s_next, g, rho, end in rows:
        plain.update(s, r, s_next, g, rho, end)
        check.update(s, r, s_next, g, rho, end)
    reference = plain.s if kind in ("VTD", "DirectVTD") else plain.w
    assert np.allclose(reference, check.weights, atol=1e-9), f"{kind}: the NumPy version computes something else"

    def ours() -> None:
        for s, r, s_next, g, rho, end in rows:
            learner.update(s, r, s_next, g, rho, end)

    state = (learner.memory.record, learner.memory.rows, 0.9)
    enter = partial(entry(empty, *state, 0, 0, 0.0, 0.0, 0.0, 0), *state)

    def nothing() -> None:
        for s, r, s_next, g, rho, _ in rows:
            enter(s, s_next, r, g, rho, 0)

    def theirs() -> None:
        for s, r, s_next, g, rho, end in rows:
            plain.update(s, r, s_next, g, rho, end)

    many = task.sampler(seed=0).take(500_000)
    times = best({"ours": ours, "nothing": nothing, "theirs": theirs, "many": lambda: batch.update_many(many)})
    return {
        "algorithm": kind,
        "us_per_update": 1e6 * times["ours"] / n,
        "against_numpy": times["theirs"] / times["ours"],
        "against_empty_call": times["ours"] / times["nothing"],
        "ns_per_step_of_update_many": 1e9 * times["many"] / len(many),
        "many_against_numpy": (times["theirs"] / n) / (times["many"] / len(many)),
    }


def tile_stream(size: int, n: int, seed: int = 0) -> tuple[td.features.TileCoder, td.mdp.Transitions]:
    """A smooth walk through a box, as tile-coded streams are, already encoded: 10 of `size` features active."""
    side = int((size / 10) ** 0.5)
    return td.features.TileCoder([0, 0], [1, 1], tilings=10, tiles=side), box_walk(n, 2, 0.5 / side, seed)


def box_walk(n: int, dimensions: int, pace: float, seed: int = 0) -> td.mdp.Transitions:
    """A random walk through the unit box, without end, γ = 0.99."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(n + 1, dimensions)) * pace, axis=0)
    point = np.abs((walk % 2) - 1)
    flags, actions = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    reward, gamma = rng.normal(size=n), np.full(n, 0.99)
    return td.mdp.Transitions(point[:-1], actions, reward, point[1:], gamma, np.ones(n), flags, flags)


def measure_sizes(
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000), n: int = 20_000
) -> list[dict[str, Any]]:
    """True online TD, λ = 0.9, γ = 0.99, 10 active tiles, half a tile of movement a step."""
    work: dict[str, Callable[[], None]] = {}
    live: dict[str, Any] = {}
    for size in sizes:
        coder, steps = tile_stream(size, n)
        learner = td.TrueOnlineTD(coder, 0.01, 0.9)
        x, xv = coder.encode_batch(steps.obs)
        y, yv = coder.encode_batch(steps.next_obs)
        lam = np.full(n, 0.9)
        state: Any = (*learner.memory.arrays, x, xv, y, yv, y, yv)

        def run(learner: Any = learner, state: Any = state, steps: Any = steps, lam: Any = lam) -> None:
            numbers: Any = (steps.reward, steps.gamma, steps.rho, lam, steps.terminated, steps.truncated)
            learner.module.update_many(*state, *numbers)

        work[str(size)], live[str(size)] = run, learner
        run()
    times = best(work)
    first = times[str(sizes[0])]
    return [
        {
            "features": live[str(size)].features.size,
            "live_traces": int(live[str(size)].memory["n_live"]),
            "ns_per_update": 1e9 * times[str(size)] / n,
            "against_smallest": times[str(size)] / first,
        }
        for size in sizes
    ]


def measure_features(n: int = 3000) -> list[dict[str, Any]]:
    """What features cost in `update` and `update_many`, for a plain learner, one with `lam="auto"`, and AutoTD."""
    ring = td.make("RingWorld-v0")
    tiles = td.features.TileCoder([0, 0], [1, 1], tilings=8, tiles=8)
    streams: dict[str, tuple[td.Encoder, td.mdp.Transitions]] = {
        "11 one-hot": (ring.features, ring.sampler(seed=0).take(n)),
        "8 dense": (td.features.Dense(8), box_walk(n, 8, 0.1)),
        "8 tilings": (tiles, box_walk(n, 2, 0.05)),
    }
    makers: dict[str, Callable[[td.Encoder, float], td.Learner]] = {
        "λ = 0.9": lambda x, alpha: td.TrueOnlineTD(x, alpha, 0.9),
        '"auto"': lambda x, alpha: td.TrueOnlineTD(x, alpha, "auto"),
        "AutoTD": lambda x, _: td.AutoTD(x),
        "AutoTD, linear": lambda x, _: td.AutoTD(x, random_features=0),
    }
    work: dict[str, Callable[[], None]] = {}
    for features, (encoder, steps) in streams.items():
        rows = one_by_one(steps)
        for name, make in makers.items():
            if name == "AutoTD, linear" and not isinstance(encoder, td.features.Dense):
                continue
            online, batch = (make(encoder, 0.01 / encoder.active) for _ in range(2))

            def one(learner: Any = online, rows: Any = rows) -> None:
                for row in rows:
                    learner.update(*row)

            def many(learner: Any = batch, steps: Any = steps) -> None:
                learner.update_many(steps)

            def ask(learner: Any = online, rows: Any = rows) -> None:
                for row in rows:
                    learner.predict(row[0])

            work |= {f"{features}, {name}{what}": run for what, run in (("", one), (", many", many), (", ask", ask))}
    times = best(work)
    first = times["11 one-hot, λ = 0.9"]
    return [
        {
            "features_and_learner": name,
            "us_per_update": 1e6 * times[name] / n,
            "us_per_predict": 1e6 * times[f"{name}, ask"] / n,
            "against_first": times[name] / first,
            "ns_per_step_of_update_many": 1e9 * times[f"{name}, many"] / n,
            "update_against_many": times[name] / times[f"{name}, many"],
        }
        for name in (f"{features}, {name}" for features in streams for name in makers)
        if name in times
    ]


def measure_rules(n: int = 4000) -> list[dict[str, Any]]:
    """What a λ that tunes itself costs beside the same learner with a fixed one; META runs four learners."""
    task = td.make("RingWorld-v0")
    steps, many = task.sampler(seed=0).take(n), task.sampler(seed=0).take(300_000)
    stream = one_by_one(steps)
    found = []
    for kind in ("TrueOnlineTD", "TrueOnlineGTD"):
        rules = {"fixed": 0.9, "counting": td.rules.Counting(), "greedy": "greedy", "META": "meta", "auto": "auto"}
        learners = {name: getattr(td, kind)(task.features, 0.01, rule) for name, rule in rules.items()}
        work: dict[str, Callable[[], None]] = {}
        for name, learner in learners.items():

            def one(learner: Any = learner) -> None:
                for row in stream:
                    learner.update(*row)

            def batch(learner: Any = learner) -> None:
                learner.update_many(many)

            work[name], work[name + " many"] = one, batch
        times = best(work)
        found += [
            {
                "learner": f"{kind}, {name}",
                "update_against_fixed": times[name] / times["fixed"],
                "update_many_against_fixed": times[name + " many"] / times["fixed many"],
            }
            for name in rules
        ]
    return found


def measure_steps(n: int = 50_000) -> list[dict[str, Any]]:
    """What step sizes that adapt cost in `update_many`, beside the same learner with a number."""
    ring = td.make("RingWorld-v0")
    streams: dict[str, tuple[td.Encoder, td.mdp.Transitions]] = {
        "ring": (ring.features, ring.sampler(seed=0).take(n)),
        "tiles": tile_stream(10_000, n),
    }
    s: Any = td.steps
    kinds = ("Implicit", "Intentional", "ObGD", "AdaGrad", "TIDBD", "Autostep")
    cases = [("TD", "", 0.005), *(("TD", name, getattr(s, name)(0.005)) for name in kinds)]
    cases += [("TrueOnlineTD", "", 0.005), ("TrueOnlineTD", "Swift", s.Swift(0.005))]
    found: list[dict[str, Any]] = []
    for kind, name, alpha in cases:
        line: dict[str, Any] = {"learner": kind, "alpha": name}
        for where, (encoder, steps) in streams.items():
            learner = getattr(td, kind)(encoder, alpha, 0.9)
            seconds = best({"many": partial(learner.update_many, steps)}, 5)["many"]
            plain = next((x for x in found if x["learner"] == kind and not x["alpha"]), None)
            line[f"{where}_ns"] = 1e9 * seconds / n
            line["live_traces"] = int(learner.memory["n_live"])
            line[f"{where}_against_number"] = line[f"{where}_ns"] / plain[f"{where}_ns"] if plain else 1.0
        found.append(line)
    return found


def show_steps(rows: list[dict[str, Any]]) -> None:
    """Print that table."""
    print(
        "\nstep sizes, ns a step of update_many:   11 one-hot   against a number   10 of 10⁴ tiles   against a number"
    )
    for r in rows:
        title = f"{r['learner']}, {r['alpha'] or 'a number'}"
        ring, tiles = ((f"{r[f'{w}_ns']:.0f}", f"{r[f'{w}_against_number']:.2f}×") for w in ("ring", "tiles"))
        print(f"{title:<37}{ring[0]:>13}{ring[1]:>19}{tiles[0]:>18}{tiles[1]:>19}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--steps", action="store_true", help="only the step sizes that adapt")
    given = parser.parse_args()
    if given.steps:
        show_steps(measure_steps())
        return
    rows = [measure(kind) for kind in KINDS]
    features, sizes, rules, steps = measure_features(), measure_sizes(), measure_rules(), measure_steps()
    if given.json:
        print(
            json.dumps({"update": rows, "features": features, "sizes": sizes, "rules": rules, "steps": steps}, indent=2)
        )
        return
    print(
        "11 one-hot features      µs an update   NumPy / ours   ours / empty call   update_many: ns a step   NumPy / it"
    )
    for r in rows:
        print(
            f"{r['algorithm']:<25}{r['us_per_update']:>12.2f}{r['against_numpy']:>14.0f}×{r['against_empty_call']:>19.2f}"
            f"{r['ns_per_step_of_update_many']:>25.1f}{r['many_against_numpy']:>14.0f}×"
        )
    print(
        "\nfeatures, learner        µs an update   a predict   against the first   update_many: ns a step   update / it"
    )
    for r in features:
        print(
            f"{r['features_and_learner']:<25}{r['us_per_update']:>12.2f}{r['us_per_predict']:>12.2f}"
            f"{r['against_first']:>19.1f}×"
            f"{r['ns_per_step_of_update_many']:>25.0f}{r['update_against_many']:>13.1f}×"
        )
    print("\nTrueOnlineTD, λ = 0.9, 10 active tiles: features   live traces   ns an update   against the fewest")
    for r in sizes:
        print(f"{r['features']:>49}{r['live_traces']:>14}{r['ns_per_update']:>15.0f}{r['against_smallest']:>20.2f}")
    print("\nλ that tunes itself, against the same learner with a fixed λ:    update   update_many")
    for r in rules:
        print(f"{r['learner']:<58}{r['update_against_fixed']:>10.2f}×{r['update_many_against_fixed']:>12.2f}×")
    show_steps(steps)


if __name__ == "__main__":
    main()
