"""Question 1: do better meta-gradients help? One step, a horizon, a trace and the full gradient, side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import scipy
from cases import CASES, Case, set_lambda
from frame import Rows, Unit, runs_needed, table

import tdlambda as td
from tdlambda.charts import lines
from tdlambda.charts.style import OKABE_ITO, finished, setting
from tdlambda.studies.statistics import choose, compare

REACH: dict[str, dict[str, Any]] = {
    "one step": {}, "horizon 3": {"horizon": 3}, "horizon 10": {"horizon": 10}, "trace": {"trace": True},
}  # fmt: skip
"""The forms that learn online."""
SIZES = (0.0003, 0.001, 0.01, 0.1)
"""Step sizes α |x|²."""
KAPPAS, SLOW = (1e-4, 1e-3, 1e-2, 1e-1), (1e-6, 1e-5)
"""Step sizes of λ; the slow ones for the two smaller α alone."""
LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.99, 1.0)
TUNING = 1000
"""The first of the seeds on which κ, or the fixed λ, is chosen; reports are on seeds from 0."""
POINTS = 100
NEVER = 1e-300
"""A step size that moves nothing."""
STORED = 10_000
"""Steps that the offline gradient is computed from, at most."""


def units(full: bool) -> list[Unit]:
    """The work: for each task the runs with each κ, the directions, and the runs for which λ is computed."""
    names = list(CASES) if full else ["RingWorld 0.4/0.35", "walk of 5, features, off-policy"]
    guided = [name for name in names if "19" not in name]  # the model of the long walk takes minutes
    sizes = SIZES if full else SIZES[2:3]
    runs = {"steps": 100_000, "seeds": 32, "tuning": 8} if full else {"steps": 5000, "seeds": 4, "tuning": 2}
    moments = {"at": (300, 3000, 30_000, 100_000), "steps": 5000} if full else {"at": (300, 3000), "steps": 1000}
    some = {"sizes": sizes, "seeds": 8 if full else 2}
    made = []
    for name in names:
        stable = tuple(size for size in sizes if size <= CASES[name].largest)
        these = {"case": name, "sizes": stable, "kappas": KAPPAS, "lambdas": LAMBDAS, **runs}
        made.append(Unit(f"learning-{slug(name)}", learning, these))
        if slow := tuple(size for size in stable if size in SIZES[:2]):
            these = these | {"sizes": slow, "kappas": SLOW, "lambdas": ()}
            made.append(Unit(f"slowly-{slug(name)}", learning, these))
    made += [Unit(f"direction-{slug(name)}", directions, {"case": name, **some, **moments}) for name in names]
    made += [
        Unit(f"computed-{slug(name)}", computed, {"case": name, **some, "steps": runs["steps"]}) for name in guided
    ]
    return made


def slug(name: str) -> str:
    """A name for a file."""
    return "".join(c if c.isalnum() else "-" for c in name).replace("--", "-")


# ---- distance to the exact gradient -------------------------------------------------------------------------------


def directions(case: str, sizes: tuple[float, ...], at: tuple[int, ...], steps: int, seeds: int) -> Rows:
    """At moments of a run with `td.Meta()`: cosine and norm of each form of the meta-gradient by those of ∇J."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        for seed in range(seeds):
            c = CASES[case]
            learner, sampler, done = c.build(size, td.Meta(features=c.lam_features)), c.task.sampler(seed=seed), 0
            apart = c.task.sampler(seed=seed + TUNING)
            for t in at:
                learner.update_many(sampler.take(t - done))
                stored, done = apart.take(steps), t
                if learner.diverged_at is not None:
                    break
                for how, form, g, truth in compared(c, learner, stored):
                    lengths = np.linalg.norm(g), np.linalg.norm(truth)
                    rows.append({
                        "kind": "direction", "case": case, "size": size, "seed": seed, "at": t, "how": how,
                        "form": form, "cosine": cosine(g, truth), "norm": float(lengths[0] / lengths[1]),
                    })  # fmt: skip
    return rows


def cosine(a: Any, b: Any) -> float:
    """Of the angle between two vectors."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def compared(case: Case, learner: Any, stored: td.Transitions) -> list[tuple[str, str, Any, Any]]:
    """What each form says ∂J/∂u is where the learner is now: how it is known, the form, the vector, the truth."""
    s, task = case.system, case.task
    states = np.arange(s.n)
    V, M, L, S = (row * s.live for row in np.atleast_2d(learner.estimates(states)))
    lam, u = learner.lambdas(states) * s.live, learner.row("u").copy()
    truth = s.Z.T @ s.gradient(V, lam)
    moments = s.moments(V, lam)
    found: list[tuple[str, str, Any, Any]] = []
    for form, reach in REACH.items():
        horizon = None if form == "trace" else reach.get("horizon", 1)
        found.append(("expected", form, s.Z.T @ s.gradient(V, lam, horizon), truth))
        for how, known in (("exact", (V, s.v, moments.mean, moments.variance)), ("learnt", (V, M, L, S))):
            found.append((how, form, sampled(case, stored, known, u, reach), truth))
    for how, mean in (("exact", s.v), ("learnt", None)):
        g = td.offline_meta(
            stored, task.features, lambda o, V=V: V[o], None if mean is None else lambda o, m=mean: m[o],
            lam_features=case.lam_features, initial=u, sweeps=0,
        ).gradient  # fmt: skip
        found.append((how, "offline", g, truth))
    return found


def sampled(case: Case, stored: td.Transitions, known: tuple[Any, ...], u: Any, reach: dict[str, Any]) -> Any:
    """What META's gradient steps over these transitions add up to, an episode, with V, M, L, S and λ held."""
    kappa = 1e-9
    rule = td.Meta(kappa, "exact", "gradient", **reach, in_range=False, floor=0.0, features=case.lam_features)
    held = td.TrueOnlineTD(td.OneHot(case.system.n), NEVER, rule, initial=1.0, bound=1e9)  # none of it is divergence
    for name, values in zip("VMLS", known, strict=True):
        held._rows[held.model.rows.index(f"{name}_w"), : case.system.n] = values
    set_lambda(held, u)
    held.update_many(stored)
    return (held.row("u") - u) / kappa / max(stored.terminated.sum(), 1)


# ---- what it does for learning ------------------------------------------------------------------------------------


def learning(
    case: str, sizes: tuple[float, ...], kappas: tuple[float, ...], lambdas: tuple[float, ...], steps: int, seeds: int,
    tuning: int,
) -> Rows:  # fmt: skip
    """Final error (last tenth) and area of each form with each κ, and of fixed λ, on the same trajectories."""
    c = CASES[case]
    settings = [(form, kappa) for form in REACH for kappa in kappas] + [("fixed λ", lam) for lam in lambdas]
    keys = [(size, *given) for size in sizes for given in settings]
    learners = [c.build(size, rule(c, *given)) for size, *given in keys]
    chosen = [*range(seeds), *range(TUNING, TUNING + tuning)]
    found = td.engine.run(c.task, learners, chosen, steps, points=POINTS, keep=(), threads=1, progress=False)
    final, area = found.tail(), found.area()
    return [
        {
            "kind": "error", "case": case, "size": size, "form": form, "setting": value, "seed": seed,
            "final": float(final[i, j]), "area": float(area[i, j]),
        }
        for i, (size, form, value) in enumerate(keys)
        for j, seed in enumerate(found.seeds)
    ]  # fmt: skip


def rule(case: Case, form: str, value: float) -> Any:
    """META of this form with κ = value, or the fixed λ = value."""
    return value if form == "fixed λ" else td.Meta(value, **REACH[form], features=case.lam_features)


def computed(case: str, sizes: tuple[float, ...], steps: int, seeds: int) -> Rows:
    """The same errors where λ is not learnt but computed at 24 moments: from stored episodes, or from the model."""
    c, rows = CASES[case], []
    for size in sizes:
        for form, find in (("offline", offline), ("model", from_model)):
            for seed in range(seeds):
                error = guided(c, size, seed, steps, partial(find, c))
                final, area = error[-POINTS // 10 :].mean(), error.mean()
                rows.append({"kind": "error", "case": case, "size": size, "form": form, "setting": 0.0, "seed": seed,
                             "final": float(final), "area": float(area)})  # fmt: skip
    return rows


def guided(case: Case, size: float, seed: int, steps: int, find: Callable[[Any, Any], Any]) -> Any:
    """Value errors of a run in which u = find(learner, last steps) at 24 moments, evenly on a log axis."""
    learner = case.build(size, td.Meta(NEVER, features=case.lam_features, aux_alpha=NEVER))
    truth, sampler = td.engine.exact_truth(case.task), case.task.sampler(seed=seed)
    points = set(np.linspace(0, steps, POINTS + 1).round().astype(int)[1:].tolist())
    moments = set(np.geomspace(min(50, steps), steps, 24).round().astype(int).tolist())
    stored, last, errors = None, 0, []
    for t in sorted(points | moments):
        new = sampler.take(t - last)
        learner.update_many(new)
        stored, last = joined(stored, new), t
        if t in points:
            V = learner.predict_many(truth.observations)
            errors.append(float(truth.weights @ (V - truth.values) ** 2) if learner.diverged_at is None else np.inf)
        if t in moments and stored.terminated.any():
            set_lambda(learner, find(learner, stored))
    return np.array(errors)


def joined(old: td.Transitions | None, new: td.Transitions) -> td.Transitions:
    """The last `STORED` steps, from the start of an episode."""
    if old is None:
        return new
    both = {name: np.concatenate([column, getattr(new, name)]) for name, column in vars(old).items()}
    ends = np.flatnonzero(both["terminated"])
    begin = max(len(both["reward"]) - STORED, 0)
    first = 0 if begin == 0 or not (ends > begin).any() else int(ends[ends > begin][0]) + 1
    return td.Transitions(**{name: column[first:] for name, column in both.items()})


def offline(case: Case, learner: Any, stored: td.Transitions) -> Any:
    """The weights of λ by the whole gradient over stored episodes."""
    start = learner.row("u").copy()
    return td.offline_meta(stored, case.task.features, learner.weights, lam_features=case.lam_features,
                           initial=start, sweeps=20).weights  # fmt: skip


def from_model(case: Case, learner: Any, stored: td.Transitions) -> Any:  # noqa: ARG001
    """The weights of λ of least target error J for the present V, by the exact gradient."""
    s = case.system
    V = learner.predict_many(np.arange(s.n)) * s.live

    def error(u: Any) -> tuple[float, Any]:
        lam = s.lam(u)
        return float(s.target_error(V, lam)), -s.Z.T @ s.gradient(V, lam)

    start, tabular = learner.row("u").copy(), case.lam_features == td.OneHot(s.n)
    inside: dict[str, Any] = {"method": "L-BFGS-B", "bounds": [(0, 1)] * start.size}
    if not tabular:  # 0 ≤ λ ≤ 1 in every state
        inside = {"method": "SLSQP", "constraints": scipy.optimize.LinearConstraint(s.Z, 0, 1)}
    found = scipy.optimize.minimize(error, start, jac=True, options={"maxiter": 50}, **inside)
    return found.x if found.fun <= error(start)[0] else start


# ---- the page -----------------------------------------------------------------------------------------------------

KNOWN = pl.when(pl.col("cosine").is_finite()).then("cosine")
"""Cosines, but of a vector that is 0."""
FORMS = ("horizon 3", "horizon 10", "trace", "offline", "model")
"""What is compared with the one-step form."""


def tables(data: pl.DataFrame) -> dict[str, str]:
    """The page's tables."""
    found = ratios(data.filter(kind="error"))
    return {
        "gradients-direction": direction_table(data.filter(kind="direction").with_columns(KNOWN)),
        "gradients-error": error_table(found),
        "gradients-sizes": size_table(found),
        "gradients-cells": cell_table(found),
    }


def direction_table(data: pl.DataFrame) -> str:
    """Median cosine and norm of each form, as learning goes on."""
    moments = data["at"].unique().sort().to_list()
    names = {"expected": "exact statistics, in expectation", "exact": "exact statistics, 5000 steps",
             "learnt": "learnt statistics, 5000 steps"}  # fmt: skip
    body = []
    for how, words in names.items():
        for form in [*REACH, "offline"]:
            rows = data.filter((pl.col("how") == how) & (pl.col("form") == form))
            if rows.is_empty() or (how == "expected" and form == "trace"):  # the full gradient itself
                continue
            cells = []
            for t in moments:
                now = rows.filter(at=t)
                cells.append(f"{now['cosine'].median():.3f} / {now['norm'].median():.2f}")
            low = rows["cosine"].quantile(0.1)
            body.append([words, form, *cells, f"{low:.3f}"])
    head = ["statistics", "form", *(f"{t} steps" for t in moments), "cosine, 10 % are below"]
    return table(head, body)


def ratios(data: pl.DataFrame) -> pl.DataFrame:
    """Each form by the one-step form, and the one-step form by fixed λ: settings chosen on tuning seeds, paired."""
    rows = []
    for (case, size), cell in data.group_by("case", "size", maintain_order=True):
        if "one step" not in cell["form"]:
            continue
        for score in ("final", "area"):
            base, kappa = chosen(cell, "one step", score)
            for form in (*FORMS, "fixed λ"):
                if cell.filter(form=form).is_empty():
                    continue
                other, value = chosen(cell, form, score)
                n = min(len(other), len(base))
                found = compare(other[:n], base[:n])
                both = np.isfinite(other[:n]) & np.isfinite(base[:n])
                differences = other[:n][both] - base[:n][both]
                rows.append({
                    "case": case, "size": size, "score": score, "form": form, "ratio": found.ratio,
                    "low": found.ratio_low, "high": found.ratio_high, "n": found.n, "diverged": found.diverged,
                    "needed": runs_needed(differences) if both.sum() > 1 else 0,
                    "kappa": kappa, "setting": value,
                })  # fmt: skip
    return pl.DataFrame(rows)


def chosen(cell: pl.DataFrame, form: str, score: str) -> tuple[Any, float]:
    """Errors on the reporting seeds, with the setting that was best on the tuning seeds."""
    rows = cell.filter(form=form).sort("setting", "seed")
    values, seeds = rows["setting"].unique().sort().to_list(), rows["seed"].unique().sort().to_numpy()
    errors = rows[score].to_numpy().reshape(len(values), len(seeds))
    tuning, reporting = np.flatnonzero(seeds >= TUNING), np.flatnonzero(seeds < TUNING)
    if not tuning.size:  # nothing to choose
        return errors[0, reporting], values[0]
    best, found = choose(errors, tuning.tolist(), reporting.tolist())
    return found, values[best]


def verdict(row: dict[str, Any]) -> str:
    """Whether the interval of a ratio is below 1, above, or holds it."""
    return "better" if row["high"] < 1 else "worse" if row["low"] > 1 else "undecided"


def error_table(found: pl.DataFrame) -> str:
    """Over all tasks and step sizes: how often each form is better than the one-step one, and by how much."""
    body = []
    for form in (*FORMS, "fixed λ"):
        for score in ("final", "area"):
            rows = found.filter((pl.col("form") == form) & (pl.col("score") == score) & pl.col("ratio").is_finite())
            counts = [sum(verdict(r) == word for r in rows.to_dicts()) for word in ("better", "worse", "undecided")]
            ratio = rows["ratio"].to_numpy()
            undecided = [r["needed"] for r in rows.to_dicts() if verdict(r) == "undecided" and r["needed"]]
            needed = f"{int(np.median(undecided))}" if undecided else "–"
            middle = f"{np.exp(np.log(ratio).mean()):.3f}"
            body.append([form, score, " / ".join(map(str, counts)), middle, f"{ratio.min():.2f} to {ratio.max():.2f}",
                         needed, rows["diverged"].sum()])  # fmt: skip
    head = ["form", "error", "better / worse / undecided", "geometric mean", "range", "runs to decide", "pairs lost"]
    return table(head, body)


def size_table(found: pl.DataFrame) -> str:
    """By step size: geometric means of final errors over tasks, and how often the least κ of the grid was chosen."""
    body, forms = [], ("trace", "model", "fixed λ")
    for (size,), rows in found.filter(score="final").sort("size").group_by("size", maintain_order=True):
        cells = []
        for form in forms:
            ratio = rows.filter(form=form).filter(pl.col("ratio").is_finite())["ratio"]
            cells.append(f"{np.exp(np.log(ratio.to_numpy()).mean()):.2f} ({ratio.min():.2f} to {ratio.max():.2f})")
        least = SLOW[0] if size in SIZES[:2] else KAPPAS[0]
        kappas = rows.filter(form="trace")["kappa"]
        body.append([setting(size), *cells, f"{(kappas == least).sum()} of {len(kappas)}"])
    head = ["α ∣x∣²", *(f"{form} by one step" for form in forms), "one step: the least κ is the best"]
    return table(head, body)


def cell_table(found: pl.DataFrame) -> str:
    """The trace by the one-step form, final / area, in each task at each step size; bold where it is decided."""
    sizes = found["size"].unique().sort().to_list()
    body = []
    for (case,), rows in found.filter(form="trace").group_by("case", maintain_order=True):
        cells = []
        for size in sizes:
            both = [
                rows.filter((pl.col("size") == size) & (pl.col("score") == s)).to_dicts() for s in ("final", "area")
            ]
            cells.append(" / ".join(_cell(row[0]) for row in both if row) or "–")
        body.append([case, *cells])
    return table(["trace by one step, final / area", *(f"α ∣x∣² = {setting(s)}" for s in sizes)], body)


def _cell(row: dict[str, Any]) -> str:
    shown = f"{row['ratio']:.2f}"
    return shown if verdict(row) == "undecided" else f"**{shown}**"


def charts(data: pl.DataFrame) -> dict[str, Any]:
    """Cosines as learning goes on, and errors by those of the one-step form over the step size."""
    cosines, some = data.filter(kind="direction").with_columns(KNOWN), []
    shown = [
        ("one step", "exact"),
        ("trace", "exact"),
        ("one step", "learnt"),
        ("trace", "learnt"),
        ("offline", "learnt"),
    ]
    for k, (form, how) in enumerate(shown):
        now = cosines.filter(how=how, form=form).group_by("at").agg(pl.col("cosine").mean().alias("mean"))
        name = f"{form}, {how}"
        some += [{"series": name, "x": r["at"], "colour": OKABE_ITO[k], **r} for r in now.sort("at").to_dicts()]
    left = lines(some, "step", "mean cosine with ∇J", log=(True, False), domain=(None, [0.0, 1.1]), size=(260, 260),
                 fade=False)  # fmt: skip
    found, others = ratios(data.filter(kind="error")).filter(score="final"), []
    for k, form in enumerate(("trace", "offline", "model", "fixed λ")):
        now = found.filter(form=form).filter(pl.col("ratio").is_finite()).group_by("size").agg(
            pl.col("ratio").log().mean().exp().alias("mean")
        )  # fmt: skip
        rows = now.sort("size").to_dicts()
        others += [{"series": form, "x": r["size"], "colour": OKABE_ITO[k + 1], "mean": r["mean"]} for r in rows]
    right = lines(others, "α ∣x∣²", "final error by that of the one-step form", size=(260, 260), fade=False)
    return {"gradients": finished(alt.hconcat(left, right, spacing=40))}
