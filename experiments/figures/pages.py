"""Every figure of the documentation, and every measured table beside one.

    python experiments/figures/pages.py                 all of them, into docs/figures, and their tables as CSV
    python experiments/figures/pages.py td lstd         these only
    python experiments/figures/pages.py --out DIR       into another folder; the pages stay as they are
    python experiments/figures/pages.py --quick         few seeds and steps, into a temporary folder: does it run?

A figure is an SVG, and the same seeds give the same file. The table of a figure is a CSV file of the same name in
`experiments/figures/tables`. Between `<!-- measured: name -->` and `<!-- end -->` of a page, this script writes it.
Errors are root mean square value errors, √(Σ d(s) (V(s) - v(s))²), with d the error weights of the target policy:
`FiniteMDP.under(target).value_error(V, half=False) ** 0.5`. Bands and ± are standard errors over seeds.
"""

import argparse
import csv
import io
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.charts.style import OKABE_ITO, PAPER, SOFT, TRUTH, finished
from tdlambda.lab.reproduction.published import thesis_tables

sys.path.append(str(Path(__file__).resolve().parents[1] / "thesis"))
from panels import Figure, Panel, save
from variants import PrintedNewton, Variant

Array = NDArray[np.float64]
Build = Callable[[], Any]
Measure = Callable[[Any], Any]

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = Path(__file__).resolve().parent / "tables"


class Scale:
    """How many seeds and steps: all, or next to none for a smoke run."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick

    def seeds(self, n: int) -> range:
        """Seeds 1 to n, or two of them."""
        return range(1, (2 if self.quick else n) + 1)

    def points(self, *values: Any) -> tuple[Any, ...]:
        """All of these, or the first and the last."""
        return (values[0], values[-1]) if self.quick else values

    def until(self, steps: int, begin: int = 100, points: int = 25) -> NDArray[np.int64]:
        """Numbers of steps to measure at, evenly spaced on a logarithmic axis."""
        if self.quick:
            steps, begin, points = min(steps, 2000), min(begin, 100), 4
        return np.unique(np.geomspace(begin, steps, points).round().astype(np.int64))


def rms(task: Any, weights: Array | None = None) -> Measure:
    """The root mean square value error of a learner on a finite task."""
    states, v = np.arange(task.mdp.n_states), task.exact.v()
    d = task.exact.error_weights() if weights is None else weights
    return lambda learner: float(np.sqrt(d @ (learner.predict_many(states) - v) ** 2))


def rows(steps: td.mdp.Transitions, begin: int, end: int) -> td.mdp.Transitions:
    """Some of the transitions."""
    return td.mdp.Transitions(*(getattr(steps, field.name)[begin:end] for field in fields(steps)))


def curve(
    build: Build,
    task: Any,
    at: Iterable[int],
    seeds: Iterable[int],
    measure: Measure,
    change: Callable[[td.mdp.Transitions], Any] = lambda _: None,
) -> Array:
    """[seed, point]: what is measured after these numbers of steps, each changed in place by `change`."""
    out = []
    for seed in seeds:
        learner, sampler, last, line = build(), task.sampler(seed=seed), 0, []
        for n in at:
            steps = sampler.take(int(n) - last)
            change(steps)
            learner.update_many(steps)
            last = int(n)
            line.append(measure(learner))
        out.append(line)
    return np.array(out)


def by_episode(build: Build, task: Any, episodes: int, seeds: Iterable[int], measure: Measure) -> Array:
    """[seed, episode]: what is measured after each of the first episodes."""
    out = []
    for seed in seeds:
        sampler, learner, line = task.sampler(seed=seed), build(), []
        steps, begin = sampler.take(200 * episodes), 0
        ends = np.flatnonzero(steps.terminated)
        while ends.size < episodes:  # a long one: take more of the same stream from its start
            sampler = task.sampler(seed=seed)
            steps = sampler.take(2 * len(steps))
            ends = np.flatnonzero(steps.terminated)
        for end in ends[:episodes] + 1:
            learner.update_many(rows(steps, begin, int(end)))
            begin = int(end)
            line.append(measure(learner))
        out.append(line)
    return np.array(out)


def mean(runs: Array) -> tuple[Any, Any]:
    """Mean over seeds, and its standard error."""
    return runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))


def pm(runs: Array, digits: int = 4) -> str:
    """Mean ± standard error, for a table; a mean that has left all bounds is said to have."""
    m, e = mean(runs)
    return "diverges" if not abs(m) < 1e3 else f"{m:.{digits}f} ± {e:.{digits}f}"


def table(head: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *body])
    return text.getvalue()


def in_markdown(tables: str) -> str:
    """The same tables, separated by empty lines, as a page shows them."""
    pages = []
    for text in tables.split("\n\n"):
        head, *body = csv.reader(text.splitlines())
        lines = [head, ["---"] * len(head), *body]
        pages.append("".join("| " + " | ".join(line) + " |\n" for line in lines))
    return "\n".join(pages)


def figure(panels: int = 1, height: int = 300) -> tuple[Figure, Any]:
    """A figure of one or two panels."""
    made = Figure(panels, height)
    return made, made.panels[0] if panels == 1 else made.panels


def draw(ax: Panel, x: Any, runs: Array, k: int, label: str, **options: Any) -> None:
    """A mean with its band."""
    m, e = mean(runs)
    ax.line(x, m, label, low=m - e, high=m + e, **{"colour": k, **options})


# ---- the figures: each returns a figure and a table ------------------------------------------------------

ALPHAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EARLY = "RMS error, first 10 episodes"


def early(build: Build, task: Any, seeds: Iterable[int]) -> Array:
    """[seed]: the error at the end of each of the first 10 episodes, averaged; large where it diverges."""
    with np.errstate(all="ignore"):
        return by_episode(build, task, 10, seeds, rms(task)).mean(axis=1).clip(max=1e6)


def td_traces(scale: Scale) -> tuple[Any, str]:
    """TD(λ): three traces against the step size."""
    walk, seeds, alphas = td.make("RandomWalk-v0"), scale.seeds(30), scale.points(*ALPHAS)
    fig, ax = figure()
    body = []
    for k, trace in enumerate(("accumulating", "replacing", "dutch")):
        runs = np.stack(
            [
                early(lambda a=a, t=trace: td.TD(walk.features, a, 0.9, traces=t, on_divergence="flag"), walk, seeds)
                for a in alphas
            ],
            axis=1,
        )
        draw(ax, alphas, runs, k, trace)
        best = int(np.argmin(runs.mean(axis=0)))
        body.append((trace, alphas[best], pm(runs[:, best]), *(pm(runs[:, j]) for j in picks(alphas, 0.4, 0.8))))
    ax.set(xlabel="step size α", ylabel=EARLY, ylim=(0, 0.8), title="TD(λ), λ = 0.9, random walk of 19 states")
    shown = [f"error at α = {alphas[j]}" for j in picks(alphas, 0.4, 0.8)]
    return fig, table(["trace", "best α", "error there", *shown], body)


def picks(values: Sequence[float], *wanted: float) -> list[int]:
    """Where the values nearest to these are."""
    return [int(np.argmin(np.abs(np.array(values) - w))) for w in wanted]


def baird(scale: Scale) -> tuple[Any, str]:
    """Baird's counterexample: TD diverges, gradient TD does not."""
    kinds: dict[str, tuple[Any, dict[str, float]]] = {
        "TD": (td.TD, {"alpha": 0.005}),
        "TrueOnlineTD": (td.TrueOnlineTD, {"alpha": 0.005}),
        "GTD, β = 10 α": (td.GTD, {"alpha": 0.005, "beta": 0.05}),
        "TrueOnlineGTD, β = 10 α": (td.TrueOnlineGTD, {"alpha": 0.005, "beta": 0.05}),
    }
    return on_baird(scale, kinds)


def baird_family(scale: Scale) -> tuple[Any, str]:
    """Baird's counterexample: the other gradient methods and emphatic TD."""
    kinds: dict[str, tuple[Any, dict[str, float]]] = {
        "GTD, α = 0.005, β = 10 α": (td.GTD, {"alpha": 0.005, "beta": 0.05}),
        "GTD2, α = 0.005, β = 10 α": (td.GTD2, {"alpha": 0.005, "beta": 0.05}),
        "PGTD2, α = 0.005, β = 10 α": (td.PGTD2, {"alpha": 0.005, "beta": 0.05}),
        "TDRC, α = 0.03": (td.TDRC, {"alpha": 0.03}),
        "HTD, α = 0.005": (td.HTD, {"alpha": 0.005}),
        "ETD, α = 0.005": (td.ETD, {"alpha": 0.005}),
        "ETD, α = 0.005, β_F = 0.5": (td.ETD, {"alpha": 0.005, "beta_f": 0.5}),
    }
    return on_baird(scale, kinds)


def on_baird(scale: Scale, kinds: dict[str, tuple[Any, dict[str, float]]]) -> tuple[Any, str]:
    """Learners with λ = 0 on Baird's counterexample: medians and quartiles of the values and of the MSPBE."""
    task = td.make("Baird-v0")
    at, seeds = scale.until(100_000, 10, 40), scale.seeds(20)
    start: Any = {"initial": task.initial_weights, "on_divergence": "flag", "bound": 1e12}  # to see it grow
    learners: dict[str, Build] = {
        name: partial(kind, task.features, lam=0.0, **numbers, **start) for name, (kind, numbers) in kinds.items()
    }
    X = task.features.matrix(np.arange(7))
    system = task.exact.linear_system(X, 0.0)
    value, labels = rms(task, np.full(7, 1 / 7)), ("RMS of V over the states", "MSPBE")

    def measure(learner: Any) -> tuple[float, float]:
        return value(learner), system.mspbe(learner.weights)

    begun = measure(next(iter(learners.values()))())
    runs = [curve(build, task, at, seeds, measure) for build in learners.values()]
    fig, panels = figure(2)
    shown = picks(at, 1000, 10_000, at[-1])
    body: list[list[Any]] = [[name] for name in learners]
    for i, ax in enumerate(panels):
        for k, name in enumerate(learners):
            low, median, high = np.quantile(runs[k][:, :, i], (0.25, 0.5, 0.75), axis=0)
            ax.line(at, median, name, low=low, high=high, colour=k)
            body[k] += [f"{median[j]:.3g}" for j in shown]
        ax.level(begun[i], "start")
        ax.set(xscale="log", yscale="log", ylim=(1e-4 if i == 0 else 1e-6, 1e6), xlabel="steps", title=labels[i])
    head = [f"{label}, {at[j]} steps" for label in ("RMS of V", "MSPBE") for j in shown]
    return fig, table(["learner", *head], body)


def n_step_td(scale: Scale) -> tuple[Any, str]:
    """n-step TD: error against n."""
    walk, seeds, ns = td.make("RandomWalk-v0"), scale.seeds(30), scale.points(1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
    fig, ax = figure()
    body = []
    for k, alpha in enumerate((0.1, 0.2, 0.4, 0.8)):
        runs = np.stack([early(lambda n=n, a=alpha: td.NStepTD(walk.features, a, n), walk, seeds) for n in ns], axis=1)
        draw(ax, ns, runs, k, f"α = {alpha}")
        best = int(np.argmin(runs.mean(axis=0)))
        body.append((alpha, ns[best], pm(runs[:, best]), pm(runs[:, 0]), pm(runs[:, -1])))
    ax.set(xscale="log", xlabel="n", ylabel=EARLY, ylim=(0, 0.8), title="n-step TD, random walk of 19 states")
    return fig, table(["α", "best n", "error there", f"n = {ns[0]}", f"n = {ns[-1]}"], body)


def true_online_td(scale: Scale) -> tuple[Any, str]:
    """True online TD(λ): learning curves for several λ, and what large steps do beside accumulating traces."""
    ring, walk = td.make("RingWorld-v0"), td.make("RandomWalk-v0")
    at, seeds = scale.until(300_000), scale.seeds(20)
    fig, (left, right) = figure(2)
    body = []
    for k, lam in enumerate((0.0, 0.5, 0.9, 1.0)):
        runs = curve(lambda x=lam: td.TrueOnlineTD(ring.features, 0.01, x), ring, at, seeds, rms(ring))
        draw(left, at, runs, k, f"λ = {lam:g}")
        body.append((f"{lam:g}", *(pm(runs[:, j]) for j in picks(at, 1000, 10_000, at[-1]))))
    left.set(xscale="log", yscale="log", xlabel="steps", ylabel="RMS error", title="RingWorld 0.4/0.35, α = 0.01")
    alphas, more = scale.points(*ALPHAS), scale.seeds(30)
    for k, lam in enumerate((0.8, 0.95)):
        for build, name, dash in ((td.TrueOnlineTD, "true online", "-"), (td.TD, "accumulating", "--")):
            runs = np.stack(
                [
                    early(lambda b=build, a=a, x=lam: b(walk.features, a, x, on_divergence="flag"), walk, more)
                    for a in alphas
                ],
                axis=1,
            )
            draw(right, alphas, runs, k, f"{name}, λ = {lam}", dash=dash)
    right.set(xlabel="step size α", ylabel=EARLY, ylim=(0, 0.8), title="random walk of 19 states")
    return fig, table(["λ", *(f"error after {at[j]} steps" for j in picks(at, 1000, 10_000, at[-1]))], body)


def lake_runs(build: Build, lake: Any, at: Any, seeds: Iterable[int]) -> Array:
    """Errors on FrozenLake, large where a run diverges."""
    with np.errstate(all="ignore"):
        return curve(build, lake, at, seeds, rms(lake)).clip(max=1e6)


def gtd(scale: Scale) -> tuple[Any, str]:
    """GTD(λ) beside TD(λ) off-policy, with features that cannot tell all states apart."""
    lake = td.make("FrozenLake-v0")
    X = lake.features.matrix(np.arange(lake.mdp.n_states))
    fixed = lake.exact.td_fixed_point(X, 0.0)
    floor = lake.exact.value_error(X @ fixed, half=False) ** 0.5
    at, seeds = scale.until(300_000), scale.seeds(20)
    learners: dict[str, Build] = {
        "TD": lambda: td.TD(lake.features, 0.01, 0.0),
        "GTD, β = α/10": lambda: td.GTD(lake.features, 0.01, 0.0, beta=0.001),
        "GTD, β = α": lambda: td.GTD(lake.features, 0.01, 0.0),
        "GTD, β = 10 α": lambda: td.GTD(lake.features, 0.01, 0.0, beta=0.1),
    }
    fig, ax = figure()
    body = []
    for k, (name, build) in enumerate(learners.items()):
        runs = lake_runs(build, lake, at, seeds)
        draw(ax, at, runs, k, name)
        body.append((name, *(pm(runs[:, j], 5) for j in picks(at, 1000, 10_000, at[-1]))))
    body.append(("the fixed point itself", "", "", f"{floor:.5f}"))
    ax.level(floor, "fixed point", TRUTH)
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="RMS error")
    ax.set(title="FrozenLake off-policy, 12 binary features, α = 0.01, λ = 0")
    return fig, table(["learner", *(f"error after {at[j]} steps" for j in picks(at, 1000, 10_000, at[-1]))], body)


def true_online_gtd(scale: Scale) -> tuple[Any, str]:
    """True online GTD(λ) beside GTD(λ): error against the step size."""
    lake, seeds = td.make("FrozenLake-v0"), scale.seeds(20)
    n = scale.until(20_000)[-1:]
    alphas = scale.points(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    fig, ax = figure()
    body = []
    for k, lam in enumerate((0.5, 0.9)):
        for build, name, dash in ((td.GTD, "GTD", "--"), (td.TrueOnlineGTD, "TrueOnlineGTD", "-")):
            runs = np.concatenate(
                [
                    lake_runs(lambda b=build, a=a, x=lam: b(lake.features, a, x, on_divergence="flag"), lake, n, seeds)
                    for a in alphas
                ],
                axis=1,
            )
            draw(
                ax,
                alphas,
                runs,
                k,
                f"{name}, λ = {lam}",
                dash=dash,
                dots=True,
            )
            body.append((name, lam, *(pm(runs[:, j]) for j in picks(alphas, 0.01, 0.1, 0.2))))
    ax.set(xscale="log", yscale="log", ylim=(8e-3, 2), xlabel="step size α (β = α)", ylabel="RMS error")
    ax.set(title=f"FrozenLake off-policy, 12 binary features, after {n[0]} steps")
    return fig, table(["learner", "λ", *(f"α = {alphas[j]}" for j in picks(alphas, 0.01, 0.1, 0.2))], body)


def second_weights(scale: Scale) -> tuple[Any, str]:
    """The gradient methods with β = α: error against the step size."""
    learners = {"TD": td.TD, "GTD": td.GTD, "GTD2": td.GTD2, "PGTD2": td.PGTD2, "TDRC": td.TDRC, "HTD": td.HTD}
    return by_step_size(scale, {name: partial(kind, lam=0.5) for name, kind in learners.items()}, "β = α, λ = 0.5")


def emphatic(scale: Scale) -> tuple[Any, str]:
    """Emphatic TD beside TD: error against the step size."""
    learners: dict[str, Any] = {
        "TrueOnlineTD": partial(td.TrueOnlineTD, lam=0.5),
        "ETD": partial(td.ETD, lam=0.5),
        "ETD, β_F = 0.5": partial(td.ETD, lam=0.5, beta_f=0.5),
        "TrueOnlineETD": partial(td.TrueOnlineETD, lam=0.5),
        "TrueOnlineETD, β_F = 0.5": partial(td.TrueOnlineETD, lam=0.5, beta_f=0.5),
    }
    return by_step_size(scale, learners, "λ = 0.5")


def by_step_size(scale: Scale, learners: dict[str, Any], said: str) -> tuple[Any, str]:
    """Error on FrozenLake off-policy after 20 000 steps, against the step size."""
    lake, seeds = td.make("FrozenLake-v0"), scale.seeds(20)
    n = scale.until(20_000)[-1:]
    alphas = scale.points(0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
    fig, ax = figure()
    body = []
    for k, (name, build) in enumerate(learners.items()):
        runs = np.concatenate(
            [lake_runs(partial(build, lake.features, a, on_divergence="flag"), lake, n, seeds) for a in alphas], axis=1
        )
        draw(ax, alphas, runs, k, name, dots=True)
        best = int(np.argmin(runs.mean(axis=0)))
        shown = (pm(runs[:, j]) for j in picks(alphas, 0.001, 0.01, 0.1))
        body.append((name, *shown, f"{pm(runs[:, best])} (α = {alphas[best]:g})"))
    ax.set(xscale="log", yscale="log", ylim=(8e-3, 2), xlabel="step size α", ylabel="RMS error")
    ax.set(title=f"FrozenLake off-policy, 12 binary features, {said}, after {n[0]} steps")
    return fig, table(["learner", *(f"α = {alphas[j]:g}" for j in picks(alphas, 0.001, 0.01, 0.1)), "least"], body)


STEP_SIZES: dict[str, Callable[[float], Any]] = {
    "TD": lambda a: a,
    "Implicit": td.steps.Implicit,
    "Intentional": td.steps.Intentional,
    "ObGD": td.steps.ObGD,
    "AdaGrad": td.steps.AdaGrad,
    "TIDBD": td.steps.TIDBD,
    "Autostep": td.steps.Autostep,
    "Swift": lambda a: td.steps.Swift(a, eta=max(a, 0.1)),
}


def with_signs(steps: td.mdp.Transitions, states: int, signs: Array) -> tuple[Any, ...]:
    """Columns for `update_many`: one feature for each state, and random signs that say nothing."""
    seen, after = (np.eye(states)[s] for s in (steps.obs, steps.next_obs))
    seen, after = np.hstack([seen, signs[:-1]]), np.hstack([after, signs[1:]])
    return seen, steps.reward, after, steps.gamma, steps.rho, steps.terminated


def step_sizes(scale: Scale) -> tuple[Any, str]:
    """Step sizes that adapt: error against the one they begin with, with useful features and with useless ones too."""
    walk, seeds, n = td.make("RandomWalk-v0"), scale.seeds(10), 1000 if scale.quick else 20_000
    alphas = scale.points(0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    states, v, d = walk.mdp.n_states, walk.exact.v(), walk.exact.error_weights()
    fig, panels = figure(2, height=340)
    body: list[list[str]] = [[name] for name in STEP_SIZES]
    for ax, useless in zip(panels, (0, 20), strict=True):
        streams = []
        for seed in seeds:
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n + 1, useless))
            streams.append(with_signs(walk.sampler(seed=seed).take(n), states, signs))
        for k, (name, build) in enumerate(STEP_SIZES.items()):
            kind, encoder = td.TrueOnlineTD if name == "Swift" else td.TD, td.features.Dense(states + useless)
            errors = np.empty((len(seeds), len(alphas)))
            for j, alpha in enumerate(alphas):
                for i, stream in enumerate(streams):
                    learner = kind(encoder, build(alpha), 0.9, on_divergence="flag")
                    with np.errstate(all="ignore"):
                        learner.update_many(*stream)
                        w = learner.weights
                        # signs that are as often + as -: the mean over them is exact
                        errors[i, j] = min(np.sqrt(d @ (w[:states] - v) ** 2 + w[states:] @ w[states:]), 1e6)
            draw(ax, alphas, errors, k, name, colour=SOFT if name == "TD" else k - 1, dots=True)
            means = errors.mean(axis=0)
            best = int(np.argmin(means))
            good = [a for a, m in zip(alphas, means, strict=True) if m < 2 * means[best]]
            body[k] += [f"{pm(errors[:, best])} (α = {alphas[best]:g})", f"{good[0]:g} to {good[-1]:g}"]
        title = "19 states, one feature each" if not useless else f"and {useless} random signs beside them"
        ax.set(xscale="log", yscale="log", ylim=(0.02, 3), xlabel="step size that learning begins with", title=title)
    panels[0].set(ylabel=f"RMS error after {n} steps")
    named = [
        "one feature a state: least error",
        "α within twice that",
        "with useless ones: least error",
        "within twice",
    ]
    return fig, table(["step sizes", *named], body)


def learned_step_sizes(scale: Scale) -> tuple[Any, str]:
    """The step sizes of useful and of useless features as they are learned."""
    walk, seeds, useless = td.make("RandomWalk-v0"), scale.seeds(10), 20
    at, states = scale.until(100_000, 100, 25), walk.mdp.n_states
    rules = {"TIDBD": td.steps.TIDBD(0.01), "Autostep": td.steps.Autostep(0.01), "Swift": td.steps.Swift(0.01)}
    fig, ax = figure()
    body = []
    for k, (name, alpha) in enumerate(rules.items()):
        kind = td.TrueOnlineTD if name == "Swift" else td.TD
        found = np.empty((len(seeds), len(at), 2))
        for i, seed in enumerate(seeds):
            v, sampler, last = kind(td.features.Dense(states + useless), alpha, 0.9), walk.sampler(seed=seed), 0
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], (at[-1] + 1, useless))
            for j, n in enumerate(at):
                v.update_many(*with_signs(sampler.take(int(n) - last), states, signs[last : n + 1]))
                last = int(n)
                sizes = alpha.alpha * v.row("V_a")
                found[i, j] = np.median(sizes[1 : states - 1]), np.median(sizes[states:])
        draw(ax, at, found[:, :, 0], k, f"{name}, a state's feature")
        draw(ax, at, found[:, :, 1], k, f"{name}, a random sign", dash=":")
        body.append((name, *(f"{found[:, j, m].mean():.3g}" for j in picks(at, 1000, at[-1]) for m in (0, 1))))
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="median step size")
    ax.set(title="19 states, one feature each, and 20 random signs")
    when = [f"{what}, {at[j]} steps" for j in picks(at, 1000, at[-1]) for what in ("states", "signs")]
    return fig, table(["median step size", *when], body)


def differential_td(scale: Scale) -> tuple[Any, str]:
    """The average reward as it is learned, on- and off-policy; and what centring does to discounted values."""
    seeds, at = scale.seeds(20), scale.until(100_000, 100, 25)
    shown = picks(at, 1000, 10_000, at[-1])

    def one_more(steps: td.mdp.Transitions) -> None:
        steps.reward[:] += 1

    def undiscounted(steps: td.mdp.Transitions) -> None:
        one_more(steps)
        steps.gamma[:] = 1

    fig, (left, right) = figure(2)
    body = []
    for k, (preset, rate) in enumerate((("on-policy", "td"), ("on-policy", "mean"), ("continuing", "td"))):
        task = td.make("Garnet-v0", preset)
        gain = task.mdp.under(task.target).average_reward().gain + 1
        name = f'{"on" if task.on_policy else "off"}-policy, rate="{rate}"'
        build = partial(td.DifferentialTD, task.features, 0.02, 0.5, eta=0.1, rate=rate)
        runs = curve(build, task, at, seeds, lambda v, g=gain: abs(v.reward_rate - g), undiscounted)
        draw(left, at, runs, k, name)
        body.append((f"γ = 1, {name}", *(pm(runs[:, j]) for j in shown)))
    left.set(xscale="log", yscale="log", xlabel="steps", ylabel="|r̄ - r(π)|", title="average reward, λ = 0.5, α = 0.02")
    for k, discount in enumerate((0.9, 0.99, 0.999)):
        task = td.make("Garnet-v0", "on-policy", discount=discount)
        v, d = task.mdp.v() + 1 / (1 - discount), task.mdp.under().state_distribution()

        def measure(learner: Any, v: Array = v, d: Array = d, left: float = 1 - discount) -> float:
            constant = getattr(learner, "reward_rate", 0.0) / left
            return left * float(np.sqrt(d @ (learner.predict_many(range(30)) + constant - v) ** 2))

        for kind, dash in ((td.TD, "--"), (td.DifferentialTD, "-")):
            build = partial(kind, task.features, 0.05, 0.5, **({} if kind is td.TD else {"eta": 0.1}))
            found = curve(build, task, at, seeds, measure, one_more)
            name = f"{'TD' if kind is td.TD else 'centred'}, γ = {discount:g}"
            draw(right, at, found, k, name, dash=dash)
            body.append((f"(1-γ) RMS error, {name}", *(pm(found[:, j]) for j in shown)))
    right.set(xscale="log", yscale="log", xlabel="steps", ylabel="(1-γ) RMS error", title="discounted values, α = 0.05")
    return fig, table(["", *(f"after {at[j]} steps" for j in shown)], body)


def trace_corrections(scale: Scale) -> tuple[Any, str]:
    """TD(0.9) with each trace coefficient: error against the step size, and the exact error of each fixed point."""
    task, seeds, n = td.make("Garnet-v0", features=12), scale.seeds(20), int(scale.until(20_000)[-1])
    alphas, X = scale.points(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03), task.features.matrix(np.arange(30))
    largest = np.maximum(task.mdp.policy(task.target), task.mdp.policy(task.behavior))
    corrections = {name: td.mdp.TraceCorrection(name) for name in ("importance", "retrace", "vtrace", "tree")}
    corrections["abtd"] = td.mdp.TraceCorrection("abtd", zeta=0.5, psi_0=1 / largest.max(), psi_max=1 / largest.min())
    v, d = task.exact.v(), task.exact.error_weights()
    fig, ax = figure()
    body = []
    for k, (name, correction) in enumerate(corrections.items()):
        lam = 1.0 if name == "abtd" else 0.9
        exact = task.exact.linear_system(X, lam, correction=correction).td_fixed_point()
        runs = np.empty((len(seeds), len(alphas)))
        for i, seed in enumerate(seeds):
            steps = task.sampler(seed=seed).take(n)
            for j, alpha in enumerate(alphas):
                learner = td.TD(task.features, alpha, lam, correction=correction, on_divergence="flag")
                with np.errstate(all="ignore"):
                    learner.update_many(steps)
                    runs[i, j] = min(rms(task)(learner), 1e6)
        draw(ax, alphas, runs, k, name, dots=True)
        floor, best = float(np.sqrt(d @ (X @ exact - v) ** 2)), int(np.argmin(runs.mean(axis=0)))
        shown = (pm(runs[:, j]) for j in picks(alphas, 0.0003, 0.001, 0.01))
        body.append((name, *shown, f"{pm(runs[:, best])} (α = {alphas[best]:g})", f"{floor:.4f}"))
    ax.set(xscale="log", yscale="log", ylim=(0.2, 20), xlabel="step size α", ylabel="RMS error")
    ax.set(title=f"Garnet off-policy, 30 states, 12 binary features, after {n} steps")
    return fig, table(
        [
            "correction",
            *(f"α = {alphas[j]:g}" for j in picks(alphas, 0.0003, 0.001, 0.01)),
            "least",
            "exact fixed point",
        ],
        body,
    )


def lambda_return(scale: Scale) -> tuple[Any, str]:
    """The off-line λ-return algorithm, weights held or not, and true online TD(λ), against the step size."""
    walk, seeds = td.make("RandomWalk-v0"), scale.seeds(30)
    few, all_of_them = scale.points(0.01, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3), scale.points(*ALPHAS)
    algorithms: tuple[tuple[str, Any, dict[str, Any], Any], ...] = (
        ("λ-return, `hold=True`", td.LambdaReturn, {"hold": True}, few),
        ("λ-return, `hold=False`", td.LambdaReturn, {"hold": False}, all_of_them),
        ("true online TD(λ)", td.TrueOnlineTD, {}, all_of_them),
    )
    fig, panels = figure(2)
    body = []
    for ax, (name, build, options, alphas) in zip((*panels, None), algorithms, strict=True):
        row = [name]
        for k, lam in enumerate((0.0, 0.4, 0.8, 0.9, 0.95)):
            runs = np.stack(
                [
                    early(partial(build, walk.features, a, lam, on_divergence="flag", **options), walk, seeds)
                    for a in alphas
                ],
                axis=1,
            )
            best = int(np.argmin(runs.mean(axis=0)))
            row.append(f"{pm(runs[:, best])} (α = {alphas[best]})")
            if ax is not None:
                draw(ax, alphas, runs, k, f"λ = {lam:g}")
                ax.set(xlabel="step size α", ylim=(0, 0.8), title=name.replace("`", ""))
        body.append(row)
    panels[0].set(ylabel=EARLY)
    return fig, table(["least error over α", *(f"λ = {lam:g}" for lam in (0.0, 0.4, 0.8, 0.9, 0.95))], body)


def lstd(scale: Scale) -> tuple[Any, str]:
    """LSTD(λ) beside true online TD(λ) on the same streams."""
    boyan, seeds = td.make("BoyanChain-v0"), scale.seeds(20)
    at = scale.until(10_000, 30, 20)
    learners: dict[str, Build] = {
        "LSTD(0)": lambda: td.LSTD(boyan.features, 0.0),
        "LSTD(0.9)": lambda: td.LSTD(boyan.features, 0.9),
        "TrueOnlineTD(0.9), α = 0.1": lambda: td.TrueOnlineTD(boyan.features, 0.1, 0.9),
        "TrueOnlineTD(0.9), α = 0.01": lambda: td.TrueOnlineTD(boyan.features, 0.01, 0.9),
    }
    fig, ax = figure()
    body = []
    for k, (name, build) in enumerate(learners.items()):
        runs = curve(build, boyan, at, seeds, rms(boyan))
        draw(ax, at, runs, k, name)
        body.append((name, *(pm(runs[:, j]) for j in picks(at, 100, 1000, at[-1]))))
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="RMS error", title="Boyan's chain, 13 states, 4 features")
    return fig, table(["learner", *(f"error after {at[j]} steps" for j in picks(at, 100, 1000, at[-1]))], body)


def recursive_lstd(scale: Scale) -> tuple[Any, str]:
    """Recursive LSTD with and without forgetting, where all rewards change their sign half way."""
    boyan, seeds, half = td.make("BoyanChain-v0"), scale.seeds(20), 200 if scale.quick else 5000
    at = np.unique(np.concatenate([np.geomspace(30, half, 12), half + np.geomspace(30, half, 20)]).astype(int))
    learners: dict[str, Build] = {
        "RecursiveLSTD, μ = 1": lambda: td.RecursiveLSTD(boyan.features, 0.4),
        "RecursiveLSTD, μ = 0.999": lambda: td.RecursiveLSTD(boyan.features, 0.4, forgetting=0.999),
        "RecursiveLSTD, μ = 0.99": lambda: td.RecursiveLSTD(boyan.features, 0.4, forgetting=0.99),
        "TrueOnlineTD(0.4), α = 0.1": lambda: td.TrueOnlineTD(boyan.features, 0.1, 0.4),
    }
    states, v = np.arange(boyan.mdp.n_states), boyan.exact.v()
    d = boyan.exact.error_weights()
    fig, ax = figure()
    body = []
    for k, (name, build) in enumerate(learners.items()):
        runs = []
        for seed in seeds:
            learner, steps, last, line = build(), boyan.sampler(seed=seed).take(int(at[-1])), 0, []
            steps.reward[half:] *= -1
            for n in at:
                learner.update_many(rows(steps, last, int(n)))
                last = int(n)
                sign = 1 if n <= half else -1
                line.append(np.sqrt(d @ (learner.predict_many(states) - sign * v) ** 2))
            runs.append(line)
        draw(ax, at, np.array(runs), k, name)
        body.append((name, *(pm(np.array(runs)[:, j]) for j in picks(at, half, half + 300, half + 1000, at[-1]))))
    ax.set(yscale="log", xlabel="steps", ylabel="RMS error", title="Boyan's chain, rewards change their sign half way")
    named = [f"error after {at[j]} steps" for j in picks(at, half, half + 300, half + 1000, at[-1])]
    return fig, table(["learner", *named], body)


def lspe(scale: Scale) -> tuple[Any, str]:
    """LSPE(λ) beside LSTD(λ) on the same streams."""
    boyan, seeds = td.make("BoyanChain-v0"), scale.seeds(20)
    at = scale.until(10_000, 30, 20)
    learners: dict[str, Build] = {
        "LSPE(0)": lambda: td.LSPE(boyan.features, 0.0),
        "LSPE(0.9)": lambda: td.LSPE(boyan.features, 0.9),
        "LSPE(0.9), step 0.1": lambda: td.LSPE(boyan.features, 0.9, 0.1),
        "LSTD(0.9)": lambda: td.LSTD(boyan.features, 0.9),
    }
    fig, ax = figure()
    body = []
    for k, (name, build) in enumerate(learners.items()):
        runs = curve(build, boyan, at, seeds, rms(boyan))
        draw(ax, at, runs, k, name)
        body.append((name, *(pm(runs[:, j]) for j in picks(at, 30, 100, 1000, at[-1]))))
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="RMS error", title="Boyan's chain, 13 states, 4 features")
    return fig, table(["learner", *(f"error after {at[j]} steps" for j in picks(at, 30, 100, 1000, at[-1]))], body)


def allstd(scale: Scale) -> tuple[Any, str]:
    """The λ that leaving trajectories out chooses, beside every fixed λ, with features of two kinds."""
    walk, seeds, lams = td.make("RandomWalk-v0"), scale.seeds(40), scale.points(*np.linspace(0, 1, 11))
    n, states = (10 if scale.quick else 30), np.arange(walk.mdp.n_states)
    coarse = np.zeros((len(states), 4))
    coarse[states, np.minimum(states * 4 // len(states), 3)] = 1.0
    fig, ax = figure()
    body = []
    for k, (name, encoder) in enumerate(
        {"one feature a state": walk.features, "4 groups": td.features.Table(coarse)}.items()
    ):
        errors, chosen, found_lams = [], [], []
        for seed in seeds:
            steps = walk.sampler(seed=seed).take(400 * n)
            steps = rows(steps, 0, int(np.flatnonzero(steps.terminated)[n - 1]) + 1)
            line = []
            for lam in lams:
                learner = td.LSTD(encoder, lam)
                learner.update_many(steps)
                line.append(rms(walk)(learner))
            errors.append(line)
            found = td.learners.choose_lambda(steps, encoder)
            chosen.append(rms(walk)(found.learner))
            found_lams.append(found.lam)
        runs = np.array(errors)
        draw(ax, lams, runs, k, name)
        ax.level(float(np.mean(chosen)), f"{name}, λ chosen", OKABE_ITO[k])
        best = int(runs.mean(axis=0).argmin())
        body.append(
            (
                name,
                pm(runs[:, 0]),
                pm(runs[:, len(lams) // 2]),
                pm(runs[:, -1]),
                f"{pm(runs[:, best])} (λ = {lams[best]:.1f})",
            )
        )
        body[-1] += (pm(np.array(chosen)), f"{np.median(found_lams):.2f}")
    ax.set(xlabel="λ", ylabel="RMS error", title=f"LSTD(λ) after {n} episodes; dotted: λ chosen by leaving out")
    middle = f"λ = {lams[len(lams) // 2]:.1f}"
    return fig, table(["features", "λ = 0", middle, "λ = 1", "best λ in hindsight", "λ chosen", "median of it"], body)


def expected_trace(scale: Scale) -> tuple[Any, str]:
    """ET(λ, η) against TD(λ): early error on the walk over step sizes."""
    walk, seeds, alphas = td.make("RandomWalk-v0"), scale.seeds(30), scale.points(*ALPHAS)
    fig, ax = figure()
    body = []
    for k, eta in enumerate((0.0, 0.5, 1.0)):
        name = {0.0: "ET(0.9), η = 0", 1.0: "TD(0.9), η = 1"}.get(eta, f"ET(0.9, η), η = {eta:g}")
        runs = np.stack(
            [
                early(
                    lambda a=a, eta=eta: td.ExpectedTrace(
                        walk.features, a, 0.9, td.steps.OneOver("visits"), eta, on_divergence="flag"
                    ),
                    walk,
                    seeds,
                )
                for a in alphas
            ],
            axis=1,
        )
        draw(ax, alphas, runs, k, name)
        best = int(np.argmin(runs.mean(axis=0)))
        body.append(
            (
                name,
                *(pm(runs[:, j]) for j in picks(alphas, 0.1, 0.2, 0.4, 0.8)),
                f"{pm(runs[:, best])} (α = {alphas[best]:g})",
            )
        )
    ax.set(
        xlabel="step size α", ylabel=EARLY, ylim=(0, 0.8), title="Expected traces, random walk of 19 states, λ = 0.9"
    )
    named = [f"α = {alphas[j]:g}" for j in picks(alphas, 0.1, 0.2, 0.4, 0.8)]
    return fig, table([f"{EARLY}", *named, "least over α"], body)


def monte_carlo(scale: Scale) -> tuple[Any, str]:
    """Monte Carlo: first visits against every visit."""
    walk, seeds = td.make("RandomWalk-v0", "5"), scale.seeds(50)
    episodes = 20 if scale.quick else 300
    fig, ax = figure()
    body = []
    for k, visit in enumerate(("first", "every")):
        runs = by_episode(
            lambda v=visit: td.MonteCarlo(walk.features, td.steps.OneOver("visits"), visit=v),
            walk,
            episodes,
            seeds,
            rms(walk),
        )
        at = np.unique(np.geomspace(1, episodes, 30).astype(int))
        draw(ax, at, runs[:, at - 1], k, f"{visit} visit")
        body.append((visit, *(pm(runs[:, n - 1]) for n in (1, 10, episodes))))
    ax.set(xscale="log", yscale="log", xlabel="episodes", ylabel="RMS error")
    ax.set(title="Monte Carlo with sample averages, random walk of 5 states")
    return fig, table(["visit", *(f"error after {n} episodes" for n in (1, 10, episodes))], body)


VARIANCES = (("0.35/0.35", "target"), ("0.4/0.35", "target"), ("0.4/0.35", "corrected"))


def learned_variance(kind: Any, scale: Scale) -> tuple[Any, str]:
    """The variance of the return, exact against learned, state by state."""
    steps, seeds = int(scale.until(500_000)[-1]), scale.seeds(20)
    fig, panels = figure(2)
    columns: list[tuple[str, list[str]]] = []
    states = np.arange(1, 10)
    for preset, of in VARIANCES:
        ring = td.make("RingWorld-v0", preset)
        exact = ring.mdp.under(ring.target, None if of == "target" else ring.behavior).return_variance()[states]

        runs = []
        for seed in seeds:
            learner = kind(ring.features, td.steps.OneOver("visits", power=0.75), 1.0, of=of)
            learner.update_many(ring.sampler(seed=seed).take(steps))
            runs.append(learner.predict_many(states))
        m, e = mean(np.array(runs))
        where = "on-policy" if ring.on_policy else f'off-policy, of="{of}"'
        columns += [(f"{where}: exact", [f"{x:.4f}" for x in exact])]
        columns += [("learned", [f"{x:.4f} ± {y:.4f}" for x, y in zip(m, e, strict=True)])]
        if not ring.on_policy:
            ax = panels[0] if of == "target" else panels[1]
            ax.line(states, exact, "exact", colour=TRUTH, dash=":", dots=True)
            ax.line(states, m, "learned", low=m - e, high=m + e, colour=1, dash="none", dots=True)
            ax.set(xlabel="state", title=f'of="{of}"')
    panels[0].set(ylabel="variance of the return")
    body = [(s, *(values[i] for _, values in columns)) for i, s in enumerate(states)]
    return fig, table(["state", *(name for name, _ in columns)], body)


def vtd(scale: Scale) -> tuple[Any, str]:
    """VTD on RingWorld."""
    return learned_variance(td.VTD, scale)


def direct_vtd(scale: Scale) -> tuple[Any, str]:
    """Direct VTD on RingWorld."""
    return learned_variance(td.DirectVTD, scale)


def large_means(scale: Scale) -> tuple[Any, str]:
    """VTD and direct VTD where the mean is small, and where it is large beside the spread."""
    at, seeds = scale.until(300_000), scale.seeds(20)
    fig, panels = figure(2)
    body = []
    for ax, lam in zip(panels, (1.0, 0.9), strict=True):
        for shift in (0.0, 10.0):
            walk = td.make("RandomWalk-v0", "5", left_reward=shift - 1, right_reward=shift + 1)
            states, d = range(walk.mdp.n_states), walk.mdp.under().error_weights()
            exact = walk.mdp.under().lambda_return(walk.mdp.v(), lam).variance
            for k, kind in enumerate((td.VTD, td.DirectVTD)):
                runs = curve(
                    lambda w=walk, kind=kind, x=lam: kind(w.features, td.steps.OneOver("visits", power=0.75), x),
                    walk,
                    at,
                    seeds,
                    lambda s, x=exact, d=d, n=states: float(np.sqrt(d @ (s.predict_many(n) - x) ** 2)),
                )
                draw(ax, at, runs, k + (2 if shift else 0), f"{kind.__name__}, mean {shift:g}")
                shown = picks(at, 1000, 10_000, at[-1])
                body.append((f"{lam:g}", f"{shift:g}", kind.__name__, *(pm(runs[:, j]) for j in shown)))
        ax.set(xscale="log", yscale="log", xlabel="steps", title=f"λ = {lam:g}")
    panels[0].set(ylabel="RMS error of the variance")
    return fig, table(["λ", "mean return", "learner", *(f"error after {at[j]} steps" for j in shown)], body)


def trace_tolerance(scale: Scale) -> tuple[Any, str]:
    """What dropping small traces does to the weights, beside the bound for one drop, and how many traces live."""
    n, alpha, lam, gamma = (1000 if scale.quick else 20_000), 0.01, 0.9, 0.99
    coder = td.features.TileCoder([0, 0], [1, 1], tilings=10, tiles=16)
    rng = np.random.default_rng(0)
    points = np.abs(np.cumsum(rng.normal(size=(n + 1, 2)) / 32, axis=0) % 2 - 1)
    rewards = rng.normal(size=n)

    def run(tolerance: float) -> tuple[Any, float, float]:
        v, largest, live = td.TrueOnlineTD(coder, alpha, lam, trace_tolerance=tolerance), 0.0, 0
        for t in range(n):
            v.update(points[t], rewards[t], points[t + 1], gamma=gamma)
            largest = max(largest, abs(v.td_error))
            live += int(np.count_nonzero(v.trace)) if t % 100 == 99 else 0
        return v.weights.copy(), largest, live / (n // 100)

    exact, largest, live = run(0.0)
    tolerances = scale.points(1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
    body, gaps, bounds = [("0", "0", "0", f"{live:.0f}")], [], []
    for tolerance in tolerances:
        weights, _, live = run(tolerance)
        gaps.append(float(np.abs(weights - exact).max()))
        bounds.append(tolerance * alpha * largest / (1 - gamma * lam))
        body.append((f"{tolerance:g}", f"{gaps[-1]:.1e}", f"{bounds[-1]:.1e}", f"{live:.0f}"))
    fig, ax = figure()
    ax.set(xlabel="trace_tolerance")
    ax.line(tolerances, gaps, "largest change of a weight", colour=0, dots=True)
    ax.line(tolerances, bounds, "bound for one drop", colour=1, dash="--")
    ax.upright(1e-8, "default")
    ax.set(xscale="log", yscale="log", xlabel="trace_tolerance", ylabel="change of a weight")
    ax.set(title=f"TrueOnlineTD, {coder.size} tile features, after {n} steps")
    return fig, table(["tolerance", "largest change of a weight", "bound for one drop", "live traces, mean"], body)


def boxes(values: dict[str, list[float]], x: str, title: str) -> Any:
    """Median, quartiles, and the middle nine tenths of each."""
    rows = []
    for name, some in values.items():
        least, low, middle, high, most = np.quantile(some, (0.05, 0.25, 0.5, 0.75, 0.95))
        rows.append({"name": name, "least": least, "low": low, "middle": middle, "high": high, "most": most})
    row = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=200))
    base = alt.Chart(alt.Data(values=rows))
    layers = [
        base.mark_rule(color=OKABE_ITO[0]).encode(alt.X("least:Q", title=x), alt.X2("most"), row),
        base.mark_bar(color=OKABE_ITO[0], size=12).encode(alt.X("low:Q", title=x), alt.X2("high"), row),
        base.mark_tick(color=PAPER, size=12, thickness=2).encode(alt.X("middle:Q", title=x), row),
    ]
    return finished(alt.layer(*layers, title=title).properties(width=520, height=alt.Step(26)))


def meta_gradients(scale: Scale) -> tuple[Any, str]:
    """How well each derivative points along ∇J(λ), and how near to the best λ its zero is, on random MDPs."""
    kinds: list[tuple[str, Any, int | None]] = [
        (f"exact, horizon {n}", "full", n) for n in scale.points(1, 2, 3, 5, 10)
    ]
    kinds += [("derived", "derived", None), ("printed", "printed", None)]
    cosines: dict[str, list[float]] = {name: [] for name, _, _ in kinds}
    rng = np.random.default_rng(0)
    for seed in range(10 if scale.quick else 200):
        task = td.make("Garnet-v0", "episodic", seed=seed, n=10, actions=2, discount=0.95, on_policy=True)
        mdp, target = task.mdp, task.target
        spread = np.sqrt(mdp.under(target).return_variance()).mean()
        V = np.where(mdp.terminal, 0, mdp.v(target) + spread * rng.normal(size=10))
        lam = rng.uniform(0, 1, 10)
        full = mdp.under(target).target_error_gradient(V, lam)
        for name, kind, horizon in kinds:
            g = mdp.under(target).target_error_gradient(V, lam, kind=kind, horizon=horizon)
            cosines[name].append(float(g @ full / (np.linalg.norm(g) * np.linalg.norm(full))))
    fig = boxes(cosines, "cosine with the full gradient of J(λ)", "Random MDPs, random λ, V off by one deviation of G")
    body = [(n, *(f"{q:.3f}" for q in np.quantile(cosines[n], (0.5, 0.05)))) for n, _, _ in kinds]
    return fig, table(["derivative", "median cosine", "5 % of MDPs are below"], body)


def meta_sign(scale: Scale) -> tuple[Any, str]:
    """λ and the error while V becomes trustworthy: RingWorld 0.4/0.35, true online TD."""
    task, at, seeds, alpha = td.make("RingWorld-v0"), scale.until(200_000, points=30), scale.seeds(10), 0.01
    rules: dict[str, Any] = {"META, exact": td.rules.Meta(1e-3), "META, derived": td.rules.Meta(1e-3, "derived")}
    rules |= {"META, printed": PrintedNewton(1e-3), "λ-greedy": td.rules.Greedy()}
    fixed = {f"λ = {lam:g}": lam for lam in scale.points(0.0, 0.8, 1.0)}
    fig, (left, right) = figure(2)
    body = []
    for k, (name, rule) in enumerate((rules | fixed).items()):
        build = partial(td.TrueOnlineTD, task.features, alpha, rule)
        error = curve(build, task, at, seeds, rms(task))
        if name in rules:
            lam = curve(build, task, at, seeds, lambda v: float(v.lambdas(range(1, 10)).mean()))
            draw(left, at, lam, k, name)
        draw(right, at, error, k, name)
        when = picks(list(at), 1000, 10_000, 200_000) if not scale.quick else [0, -1]
        body.append((name, *(pm(error[:, j]) for j in when)))
    left.set(xscale="log", xlabel="steps", ylabel="mean λ over states", ylim=(-0.03, 1.03))
    right.set(xscale="log", yscale="log", xlabel="steps", ylabel="RMS value error")
    return fig, table(["", *(f"error after {int(at[j])} steps" for j in when)], body)


def meta_choices(scale: Scale) -> tuple[Any, str]:
    """Each variant against the best of eight fixed λ at the same α, on the same trajectories."""
    task, seeds, steps = td.make("RingWorld-v0"), scale.seeds(6), 2000 if scale.quick else 300_000
    at, alphas = np.linspace(steps / 30, steps, 30).astype(int), scale.points(1e-4, 1e-3, 1e-2, 1e-1)
    lams = scale.points(0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
    kinds = {"exact": td.rules.Meta, "derived": partial(td.rules.Meta, gradient="derived"), "printed": PrintedNewton}
    rules: dict[str, Any] = {
        f"{gradient}, newton, κ = {kappa:g}": kind(kappa) for gradient, kind in kinds.items() for kappa in (1e-3, 1e-2)
    }
    rules |= {"exact, newton, trace, κ = 0.001": td.rules.Meta(1e-3, horizon="episode")}
    rules |= {
        "derived, gradient, κ = 0.1": td.rules.Meta.thesis(0.1),
        "λ-greedy": td.rules.Greedy(),
        "counting": td.rules.Counting(),
    }
    ratios: dict[str, list[str]] = {name: [] for name in rules}
    points: dict[str, list[float]] = {name: [] for name in rules}
    for alpha in alphas:

        def score(rule: Any, alpha: float = alpha) -> tuple[float, float]:
            runs = curve(partial(td.TrueOnlineTD, task.features, alpha, rule), task, at, seeds, rms(task)) ** 2
            return float(runs[:, -3:].mean()), float(runs.mean())

        best = np.min([score(lam) for lam in lams], axis=0)
        for name, rule in rules.items():
            final, area = score(rule) / best
            ratios[name].append(f"{final:.2f} / {area:.2f}")
            points[name].append(float(final))
    fig, ax = figure()
    for k, name in enumerate(rules):
        ax.line(alphas, points[name], name, colour=k, dash="-" if k < len(OKABE_ITO) else "--", dots=True)
    ax.level(1, "as good")
    ax.set(xscale="log", yscale="log", xlabel="α", ylabel="final error / best of eight fixed λ")
    return fig, table(
        ["final / area under the curve", *(f"α = {a:g}" for a in alphas)], ((n, *r) for n, r in ratios.items())
    )


def meta_watch(scale: Scale) -> tuple[Any, str]:
    """One run followed: λ, V and the three statistics, with what they should be."""
    task = td.make("RingWorld-v0")
    learner = td.TrueOnlineTD(task.features, 0.01, td.rules.Meta())
    history = td.report.follow(task, learner, 2000 if scale.quick else 300_000, 60, seed=1)
    d = task.exact.error_weights()
    off = np.sqrt((history.estimates - history.exact) ** 2 @ d)
    when = [0, -1] if scale.quick else picks(history.steps.tolist(), 100, 1000, 10_000, 300_000)
    body = [(name, *(f"{off[j, k]:.4f}" for j in when)) for k, name in enumerate(history.names)]
    head = ["RMS error of", *(f"after {history.steps[j]} steps" for j in when)]
    return history.plot(), table(head, [("V", *(f"{np.sqrt(history.error[j]):.4f}" for j in when)), *body])


def late_error(preset: str, alpha: float, rule: Any, seed: int, steps: int) -> float:
    """Σ d (V - v)² of true online GTD on RingWorld, the mean of 100 readings in the last tenth, as in the tables."""
    task = td.make("RingWorld-v0", preset)
    d, v = task.exact.error_weights(), task.exact.v()
    learner, sampler, errors = td.TrueOnlineGTD(task.features, alpha, rule), task.sampler(seed=seed), []
    learner.update_many(sampler.take(steps - steps // 10))
    for _ in range(100):
        learner.update_many(sampler.take(steps // 1000))
        errors.append(d @ (learner.weights - v) ** 2)
    return float(np.mean(errors))


def meta_published(scale: Scale) -> tuple[Any, str]:
    """The preset beside the thesis' META column, κ chosen on other seeds; and what its variance is learned from."""
    seeds, reporting = scale.seeds(8), range(101, 103 if scale.quick else 221)
    steps = 2000 if scale.quick else 10**6
    alphas, kappas = scale.points(1e-5, 1e-4, 1e-3, 1e-2, 5e-2), scale.points(1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    cells = {(c.table, c.method, c.lam, c.alpha): c for c in thesis_tables()}

    def preset(kappa: float, **options: Any) -> td.rules.Meta:
        return Variant(kappa, warm_up=0.1, length=steps, **options)

    fig, ax = figure()
    body, ours = [], np.empty((len(alphas), len(kappas), len(seeds)))
    for i, alpha in enumerate(alphas):
        for j, kappa in enumerate(kappas):
            ours[i, j] = [late_error("0.4/0.35", alpha, preset(kappa), seed, steps) for seed in seeds]
        theirs, k = cells["ringworld_04_035", "META", None, alpha], int(ours[i].mean(axis=1).argmin())
        m, e = mean(np.array([late_error("0.4/0.35", alpha, preset(kappas[k]), seed, steps) for seed in reporting]))
        se = theirs.std / np.sqrt(240)
        z = f"{(m - theirs.mean) / np.hypot(e, se):+.1f}"
        body.append((f"{alpha:g}", f"{kappas[k]:g}", f"{m:.3g} ± {e:.1g}", f"{theirs.mean:.3g} ± {se:.1g}", z))
    for j, kappa in enumerate(kappas):
        ax.line(alphas, ours[:, j].mean(axis=1), f"κ = {kappa:g}", colour=j)
    published = [cells["ringworld_04_035", "META", None, alpha].mean for alpha in alphas]
    ax.line(alphas, published, "thesis, best κ", colour=TRUTH, dash="none", dots=True)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="α",
        ylabel="error, last tenth",
        title="META as published, RingWorld 0.4/0.35",
    )
    variance = []
    for policies in scale.points("0.4/0.35", "0.3/0.25", "0.2/0.15"):
        name, row = "ringworld_" + policies.replace("/", "_").replace(".", ""), [policies]
        rules = (1.0, preset(1e-7, from_v=False), preset(1e-7))
        base, *runs = (np.array([late_error(policies, 2e-5, rule, s, steps) for s in scale.seeds(8)]) for rule in rules)
        row += [f"{100 * mean(run / base - 1)[0]:+.2f} ± {100 * mean(run / base - 1)[1]:.2f} %" for run in runs]
        fixed, meta = (cells[name, *which, 2e-5].mean for which in (("fixed", 1.0), ("META", None)))
        variance.append((*row, f"{100 * (meta / fixed - 1):+.1f} %"))
    head = [
        "α = 2e-05, κ = 1e-07: error above λ = 1's",
        "variance from E[G^λ]'s errors",
        "from V's (the preset)",
        "thesis",
    ]
    return fig, table(["α", "best κ", "ours", "thesis", "z"], body) + "\n" + table(head, variance)


def meta_offline(scale: Scale) -> tuple[Any, str]:
    """How many stored episodes it takes: the exact J at the λ found, over the least there is."""
    task, sizes, seeds = (
        td.make("RingWorld-v0"),
        scale.points(300, 1000, 3000, 10_000, 30_000, 100_000),
        scale.seeds(10),
    )
    mdp, target = task.mdp, task.target
    d = mdp.under(target).state_distribution()
    weights = np.where(mdp.terminal, 0, d) / d[mdp.terminal].sum()
    spread = np.sqrt(mdp.under(target).return_variance()).mean()
    wrong = spread * np.random.default_rng(1).normal(size=11)
    fig, ax = figure()
    body = []
    for k, (name, V) in enumerate((("V = 0", np.zeros(11)), ("V off by one deviation of G", mdp.v(target) + wrong))):
        V = np.where(mdp.terminal, 0, V)
        best = mdp.under(target).best_lambda(V, weights=weights).target_error
        ratios = np.empty((len(seeds), len(sizes)))
        for i, seed in enumerate(seeds):
            for j, size in enumerate(sizes):
                found = td.rules.offline_meta(task.sampler(seed=seed).take(size), task.features, V)
                lam = np.where(mdp.terminal, 0, found.lambdas(range(11)))
                ratios[i, j] = mdp.under(target).target_error(V, lam, weights=weights) / best
        draw(ax, sizes, ratios - 1, k, name)
        body.append((name, *(pm(ratios[:, j], 3) for j in range(len(sizes)))))
        fixed = min(mdp.under(target).target_error(V, lam, weights=weights) for lam in np.linspace(0, 1, 101))
        body.append((f"{name}, best fixed λ", f"{fixed / best:.3f}", *[""] * (len(sizes) - 1)))
    ax.set(xscale="log", yscale="log", xlabel="steps stored", ylabel="J(λ found) / least J - 1")
    ax.set(title="Offline META, RingWorld 0.4/0.35")
    return fig, table(["J(λ) / least J", *(f"{size} steps" for size in sizes)], body)


FIGURES: dict[str, Callable[[Scale], tuple[Any, str]]] = {
    "monte-carlo": monte_carlo,
    "td": td_traces,
    "baird": baird,
    "baird-family": baird_family,
    "n-step-td": n_step_td,
    "true-online-td": true_online_td,
    "gtd": gtd,
    "true-online-gtd": true_online_gtd,
    "second-weights": second_weights,
    "emphatic": emphatic,
    "step-sizes": step_sizes,
    "learned-step-sizes": learned_step_sizes,
    "differential-td": differential_td,
    "corrections": trace_corrections,
    "lambda-return": lambda_return,
    "lstd": lstd,
    "recursive-lstd": recursive_lstd,
    "lspe": lspe,
    "allstd": allstd,
    "expected-trace": expected_trace,
    "vtd": vtd,
    "direct-vtd": direct_vtd,
    "large-means": large_means,
    "trace-tolerance": trace_tolerance,
    "meta-gradients": meta_gradients,
    "meta-sign": meta_sign,
    "meta-choices": meta_choices,
    "meta-watch": meta_watch,
    "meta-published": meta_published,
    "meta-offline": meta_offline,
}


def make(name: str, out: Path, quick: bool, png: bool) -> tuple[str, float]:
    """Write one figure and its table; the table, and how long it took."""
    begun = time.perf_counter()
    fig, snippet = FIGURES[name](Scale(quick))
    for suffix in ("svg", "png") if png else ("svg",):
        save(fig, out / f"{name}.{suffix}")
    tables = TABLES if out == DOCS / "figures" else out
    (tables / f"{name}.csv").write_text(snippet, encoding="utf-8")
    return snippet, time.perf_counter() - begun


def fill_pages(name: str, snippet: str) -> None:
    """Put a table where a page has a place for it."""
    place = re.compile(rf"(<!-- measured: {re.escape(name)} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = place.sub(lambda m: m[1] + "\n" + in_markdown(snippet) + m[2], text)
        if new != text:
            page.write_text(new, encoding="utf-8")


def main() -> None:
    """Make what the command line asks for, two figures at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which figures: {', '.join(FIGURES)}")
    parser.add_argument("--out", type=Path, help="the folder to write to (docs/figures)")
    parser.add_argument("--quick", action="store_true", help="a smoke run into a temporary folder")
    parser.add_argument("--png", action="store_true", help="PNG files beside the SVG ones")
    options = parser.parse_args()
    unknown = set(options.names) - set(FIGURES)
    if unknown:
        parser.error(f"no figure is called {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    out = options.out or (Path(tempfile.mkdtemp(prefix="tdlambda-figures-")) if options.quick else DOCS / "figures")
    out.mkdir(parents=True, exist_ok=True)
    names = options.names or list(FIGURES)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for name, made in [(name, pool.submit(make, name, out, options.quick, options.png)) for name in names]:
            snippet, seconds = made.result()
            if out == DOCS / "figures":
                fill_pages(name, snippet)
            print(f"{out / name}.svg   {seconds:.1f} s\n\n{snippet}", flush=True)


if __name__ == "__main__":
    main()
