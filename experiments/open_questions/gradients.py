"""Question 1: do better meta-gradients help? One step, a horizon, a trace and the full gradient, side by side."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl
from cases import CASES
from frame import Unit, runs_needed, table
from gradient_runs import KAPPAS, LAMBDAS, REACH, SIZES, SLOW, TUNING, computed, directions, learning

from tdlambda.charts import lines
from tdlambda.charts.style import OKABE_ITO, finished, setting
from tdlambda.lab.studies.statistics import choose, compare

KNOWN = pl.when(pl.col("cosine").is_finite()).then("cosine")
"""Cosines, but of a vector that is 0."""
FORMS = ("horizon 3", "horizon 10", "trace", "offline", "model")
"""What is compared with the one-step form."""


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


# ---- the page -----------------------------------------------------------------------------------------------------


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
             "learnt": "learned statistics, 5000 steps"}  # fmt: skip
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
