"""Question 2: do the targets converge? Fixed points of V and λ together, their stability, and runs of 10⁷ steps."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl
from cases import Case, set_kappa, set_lambda
from coupled import FORMS
from fixed_points import CASES, RATES, fixed_points, flow
from frame import Rows, Unit, table
from gradient_runs import NEVER

import tdlambda as td
from tdlambda.charts import lines
from tdlambda.charts.style import INK, OKABE_ITO, SOFT, axis, finished


def units(full: bool) -> list[Unit]:
    """The work: fixed points of each task and form, long runs, and the flow of the two-state task."""
    names = list(CASES) if full else ["two states", "walk of 5, features, off-policy"]
    forms = tuple(FORMS) if full else ("one step", "full")
    made = [
        Unit(f"fixed-{k}-{form}", fixed_points, {"case": name, "form": form, "starts": 8 if full else 3})
        for k, name in enumerate(names) for form in forms
    ]  # fmt: skip
    size = {"steps": 10**7, "seeds": 4} if full else {"steps": 10**4, "seeds": 1}
    made += [
        Unit(f"follow-{k}-{step}-{alpha}", follow, {"case": name, "step": step, "alpha": alpha, **size})
        for k, name in enumerate(list(FOLLOWED) if full else ["two states"])
        for step in ("newton", "gradient") for alpha in ("constant", "falling")
    ]  # fmt: skip
    return [*made, Unit("flow", flow, {"grid": 11 if full else 5})]


# ---- 10⁷ steps ----------------------------------------------------------------------------------------------------

FOLLOWED = {
    "two states": CASES["two states"],
    "RingWorld 0.35, on-policy": CASES["RingWorld 0.35, on-policy"],
    "FrozenLake, λ over states": CASES["FrozenLake, λ over states"],
}
STARTS = {"1": 1.0, "0.5": 0.5, "0": 0.0}
KAPPAS = ("constant", "falling", "none")
MOMENTS = 40


def follow(case: str, step: str, alpha: str, steps: int, seeds: int) -> Rows:
    """λ and the statistics beside their exact values, at moments evenly on a log axis: each κ, from each λ."""
    c, rows = FOLLOWED[case], []
    keys = [(kappa, begin) for kappa in KAPPAS for begin in STARTS]
    moments = np.unique(np.geomspace(100, steps, MOMENTS).round().astype(int))
    for seed in range(seeds):
        learners = [followed(c, step, alpha, kappa, STARTS[begin]) for kappa, begin in keys]
        for k, (t, more) in enumerate(zip(moments.tolist(), np.diff(moments, prepend=0).tolist(), strict=True)):
            for (kappa, _), learner in zip(keys, learners, strict=True):
                if kappa == "falling":
                    set_kappa(learner, learner.rule.kappa / (1 + (t - more) / 10_000))
            part = td.engine.run(c.task, learners, [MOMENTS * seed + k], more, points=1, keep=("learners",), threads=1,
                                 progress=False)  # fmt: skip
            learners = [some[0] for some in part.learners]
            rows += [
                {"kind": "follow", "case": case, "step": step, "alpha": alpha, "kappa": kappa, "begin": begin,
                 "seed": seed, "at": t, **seen(c, learner)}
                for (kappa, begin), learner in zip(keys, learners, strict=True)
            ]  # fmt: skip
    return rows


def followed(case: Case, step: str, alpha: str, kappa: str, lam: float) -> Any:
    """A learner with META that begins at this λ everywhere."""
    k = NEVER if kappa == "none" else 1e-3 if step == "newton" else 0.1
    rule = td.rules.Meta(k, step=step, features=case.lam_features)  # type: ignore[arg-type]
    learner = case.build(0.01, rule)
    if alpha == "falling":  # from the same α on: α (1 + n / 10⁴)^-0.8
        size = case.alpha(0.01)
        schedule = td.steps.OneOver("steps", scale=size * 1e4**0.8, offset=1e4, power=0.8)
        learner = type(learner)(case.task.features, schedule, rule, on_divergence="flag")
    set_lambda(learner, np.full(case.lam_features.size, 1 - lam))
    return learner


def seen(case: Case, learner: Any) -> dict[str, Any]:
    """λ in each state, the value error, and how far E[G^λ] and Var[G^λ] are from what they are at this V and λ."""
    s = case.system
    states, d = np.arange(s.n), s.d / s.d.sum()
    V, _, L, S = (row * s.live for row in np.atleast_2d(learner.estimates(states)))
    lam = learner.lambdas(states) * s.live
    now = s.moments(V, lam)
    return {
        "lam": lam[s.live].round(3).tolist(), "mean_lam": float(d @ lam), "value": float(d @ (V - s.v) ** 2) ** 0.5,
        "mean_off": float(d @ (L - now.mean) ** 2) ** 0.5, "variance_off": float(d @ (S - now.variance) ** 2) ** 0.5,
        "variance": float(d @ now.variance), "target_error": float(s.target_error(V, lam)),
        "best": float(s.target_error(s.v, np.zeros(s.n))),
    }  # fmt: skip


# ---- the page -----------------------------------------------------------------------------------------------------


def tables(data: pl.DataFrame) -> dict[str, str]:
    """The page's tables."""
    return {
        "targets-fixed": fixed_table(data.filter(kind="fixed")),
        "targets-follow": follow_table(data.filter(kind="follow")),
    }


def distinct(points: list[list[float]], apart: float = 1e-3) -> int:
    """How many of the points are different."""
    kept: list[Any] = []
    for point in map(np.array, points):
        if all(np.abs(point - other).max() > apart for other in kept):
            kept.append(point)
    return len(kept)


def span(values: pl.Series) -> str:
    """The one number that all are, or from the least to the largest."""
    return f"{values.min()}" if values.n_unique() == 1 else f"{values.min()} to {values.max()}"


def fixed_table(data: pl.DataFrame) -> str:
    """A row for each task and form."""
    body = []
    for (case, form), rows in data.group_by("case", "form", maintain_order=True):
        lam = np.array(rows["lam"].to_list())
        tops = [rows[f"largest_{rate:g}"].max() for rate in RATES]
        largest = " / ".join(f"{top:.1e}" if abs(top) > 1e-12 else "0" for top in tops)
        off = max(rows[f"off_{rate:g}"].max() for rate in RATES)
        body.append([
            case, form, f"{distinct(rows['lam'].to_list())} of {len(rows)}", f"{lam.min():.2f} to {lam.max():.2f}",
            f"{rows['value_gap'].max():.0e}", f"{rows['residual'].max():.0e}", largest,
            span(rows["neutral"]),
            f"{max(rows[f'turn_{rate:g}'].max() for rate in RATES):.2f}", f"{off:.0e}",
        ])  # fmt: skip
    head = ["task", "form", "limits", "λ there", "∣V - v∣", "residual", "largest eigenvalue, κ/α = .01 / 1 / 100",
            "neutral", "turning", "Jacobians differ"]  # fmt: skip
    return table(head, body)


def follow_table(data: pl.DataFrame) -> str:
    """A row for each task and schedule: the last decade of steps."""
    last = data.filter(pl.col("at") > data["at"].max() / 10)
    body = []
    for (case, step, alpha, kappa), rows in last.group_by("case", "step", "alpha", "kappa", maintain_order=True):
        ends = rows.filter(pl.col("at") == rows["at"].max())
        lam = " / ".join(f"{ends.filter(begin=b)['mean_lam'].mean():.3f}" for b in STARTS)
        runs = rows.group_by("begin", "seed").agg(
            pl.col("mean_lam").std().alias("in_time"), pl.col("mean_lam").mean().alias("level")
        )
        seeds = runs.group_by("begin").agg(pl.col("level").std())["level"].mean()
        body.append([
            case, step, alpha, kappa, lam, f"{runs['in_time'].mean():.4f}", "–" if seeds is None else f"{seeds:.4f}",
            f"{rows['value'].mean():.1e}", f"{rows['mean_off'].mean():.1e}", f"{rows['variance_off'].mean():.1e}",
            f"{(rows['target_error'] / rows['best']).mean():.3f}",
        ])  # fmt: skip
    head = ["task", "step of λ", "α", "κ", "mean λ in the end, from 1 / 0.5 / 0", "its deviation in time",
            "between seeds", "RMS of V - v", "of E[G^λ]", "of Var[G^λ]", "J by J(v, 0)"]  # fmt: skip
    return table(head, body)


def charts(data: pl.DataFrame) -> dict[str, Any]:
    """The flow of two states, and λ over 10⁷ steps."""
    return {"flow": flow_chart(data), "follow": follow_chart(data.filter(kind="follow"))}


def flow_chart(data: pl.DataFrame) -> Any:
    """Arrows for two V, and paths of the coupled system."""
    panels = []
    for name, title in (("V = 0", "V = 0, held"), ("V = v", "V = v: λ(B) falls, and λ(A) is free")):
        arrows = data.filter((pl.col("kind") == "arrow") & (pl.col("panel") == name))
        panels.append(_arrows(arrows, title))
    panels.append(_paths(data.filter(kind="path")))
    return finished(alt.hconcat(*panels, spacing=28))


def _square(x: str, y: str) -> tuple[Any, Any]:
    return (axis(alt.X, x, "λ(A)", log=False, domain=[-0.05, 1.05]),
            axis(alt.Y, y, "λ(B)", log=False, domain=[-0.05, 1.05]))  # fmt: skip


def _arrows(rows: pl.DataFrame, title: str) -> Any:
    """Unit arrows; their colour says how steep J is."""
    a, b, da, db = (rows[c].to_numpy() for c in ("a", "b", "da", "db"))
    size = np.hypot(da, db)
    long = 0.075 * (size > 1e-9 * size.max())
    ux, uy = da / np.maximum(size, 1e-300), db / np.maximum(size, 1e-300)
    strength = np.clip(size / size.max(), 0, 1) ** 0.5
    some = [
        {
            "x": x,
            "y": y,
            "x2": x + n * u,
            "y2": y + n * w,
            "strength": s,
            "angle": np.degrees(np.arctan2(u, w)),
            "long": n,
        }
        for x, y, u, w, s, n in zip(a, b, ux, uy, strength, long, strict=True)
    ]  # fmt: skip
    base = alt.Chart(alt.Data(values=[{k: float(v) for k, v in row.items()} for row in some]))
    X, Y = _square("x", "y")
    shade = alt.Opacity("strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.25, 1]), legend=None)
    shafts = base.mark_rule(color=OKABE_ITO[0], strokeWidth=1.4).encode(X, Y, alt.X2("x2:Q"), alt.Y2("y2:Q"), shade)
    heads = base.transform_filter("datum.long > 0").mark_point(
        shape="triangle", filled=True, size=34, color=OKABE_ITO[0]
    )
    tips = heads.encode(
        alt.X("x2:Q", title="λ(A)"), alt.Y("y2:Q", title="λ(B)"), shade,
        angle=alt.Angle("angle:Q", scale=alt.Scale(domain=[-180, 180], range=[-180, 180])),
    )  # fmt: skip
    still = base.transform_filter("datum.long == 0").mark_point(filled=True, size=26, color=INK, opacity=1).encode(X, Y)
    return alt.layer(shafts, tips, still).properties(width=250, height=250, title=title)


def _paths(rows: pl.DataFrame) -> Any:
    """Paths of λ while V learns from 0; a dot where each ends."""
    some = rows.select("path", "time", "a", "b").to_dicts()
    base = alt.Chart(alt.Data(values=some))
    X, Y = _square("a", "b")
    drawn = base.mark_line(strokeWidth=1.6, color=OKABE_ITO[1]).encode(X, Y, alt.Detail("path:N"), alt.Order("time:Q"))
    ends = [
        max((r for r in some if r["path"] == p), key=lambda r: r["time"]) for p in sorted({r["path"] for r in some})
    ]
    begins = [r for r in some if r["time"] == 0]
    dots = alt.Chart(alt.Data(values=ends)).mark_point(filled=True, size=60, color=INK, opacity=1).encode(X, Y)
    rings = alt.Chart(alt.Data(values=begins)).mark_point(filled=False, size=40, color=SOFT, opacity=1).encode(X, Y)
    return alt.layer(drawn, rings, dots).properties(width=250, height=250, title="V learns from 0: ○ start, ● limit")


def follow_chart(data: pl.DataFrame) -> Any:
    """Mean λ over steps, from each start, with each schedule of κ: α constant, Newton steps."""
    panels = []
    for case in data["case"].unique(maintain_order=True):
        for alpha in ("constant", "falling"):
            some = []
            for k, kappa in enumerate(KAPPAS):
                for j, begin in enumerate(STARTS):
                    rows = data.filter(case=case, alpha=alpha, kappa=kappa, begin=begin, step="newton")
                    now = rows.group_by("at").agg(
                        pl.col("mean_lam").mean().alias("mean"), pl.col("mean_lam").min().alias("low"),
                        pl.col("mean_lam").max().alias("high"),
                    )  # fmt: skip
                    some += [
                        {"series": f"κ {kappa}, from {begin}", "x": r["at"], "colour": OKABE_ITO[k], **r,
                         "dash": ([], [6, 3], [1, 3])[j], "label": f"κ {kappa}" if not j else ""}
                        for r in now.sort("at").to_dicts()
                    ]  # fmt: skip
            drawn = lines(some, "step", f"{case}: mean λ, α {alpha}", log=(True, False), dots=False, size=(250, 170),
                          domain=(None, [0.0, 1.0]), fade=False)  # fmt: skip
            panels.append(drawn)
    pairs = [alt.hconcat(*panels[k : k + 2], spacing=30) for k in range(0, len(panels), 2)]
    return finished(alt.vconcat(*pairs, spacing=24))
