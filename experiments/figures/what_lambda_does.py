"""The charts of docs/what-lambda-does.md: each as a picture (SVG) and as a chart with a slider (Vega-Lite, JSON).

    python experiments/figures/what_lambda_does.py [--out docs/figures]

The site draws the second kind, offline; elsewhere the picture stands for it, at the slider's first position.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import tdlambda as td
from tdlambda import charts
from tdlambda.charts.style import INK, LAMBDA, OKABE_ITO, SOFT, axis, finished, shades

DOCS = Path(__file__).resolve().parents[2] / "docs" / "figures"
WALK = [3, 4, 5, 4, 5, 6]
"""One walk on a chain of seven states, from the middle to the right end."""
LAMBDAS = [0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0]
SIZE = (520, 240)


def slider(name: str, label: str, low: float, high: float, step: float, value: float) -> Any:
    """A slider as a parameter of the chart."""
    return alt.param(name=name, value=value, bind=alt.binding_range(min=low, max=high, step=step, name=f"{label} "))


def trace(_: bool) -> Any:
    """The trace after each step of the walk, for every λ: how much each state would learn from the next TD error."""
    rows = []
    for k in range(21):
        lam = k / 20
        for step in range(1, len(WALK) + 1):
            e = np.zeros(7)
            for state in WALK[:step]:
                e *= lam
                e[state] += 1
            rows += [
                {"lam": lam, "step": step, "state": s, "e": float(e[s]), "now": s == WALK[step - 1]}
                for s in range(1, 7)
            ]
    lam, step = slider("lam", "λ", 0, 1, 0.05, 0.8), slider("step", "step of the walk", 1, len(WALK), 1, len(WALK))
    base = alt.Chart(alt.Data(values=rows)).transform_filter(
        "abs(datum.lam - lam) < 0.001 && datum.step === step"
    )  # fmt: skip
    x = alt.X("state:O", title="state", axis=alt.Axis(labelAngle=0))
    bar = base.mark_bar(size=42).encode(
        x, alt.Y("e:Q", title=None, scale=alt.Scale(domain=[0, 2.2])),
        color=alt.condition(alt.datum.now, alt.value(OKABE_ITO[1]), alt.value(LAMBDA)),
    )  # fmt: skip
    text = base.transform_filter("datum.e > 0.004").mark_text(dy=-7, color=INK).encode(
        x, alt.Y("e:Q"), text=alt.Text("e:Q", format=".2f")
    )  # fmt: skip
    title = "the trace e(s) after this step; orange: the state that was left"
    return alt.layer(bar, text, title=title, width=SIZE[0], height=200).add_params(lam, step)


def views(_: bool) -> Any:
    """The forward and the backward view of one episode: the change of each V(s), which is the same."""
    rows, alpha, V = [], 0.5, np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0])
    states, rewards = [*WALK, 7], [0.0] * (len(WALK) - 1) + [1.0]
    for k in range(21):
        lam = k / 20
        forward, G = np.zeros(8), 0.0
        for t in reversed(range(len(WALK))):
            ahead = 0.0 if t == len(WALK) - 1 else (1 - lam) * V[states[t + 1]] + lam * G
            G = rewards[t] + ahead
            forward[states[t]] += alpha * (G - V[states[t]])
        learner = td.TD(td.features.OneHot(8), alpha, lam, initial=V)
        backward, e = np.zeros(8), np.zeros(8)
        for t, state in enumerate(WALK):
            e *= lam
            e[state] += 1
            after = 0.0 if t == len(WALK) - 1 else V[states[t + 1]]
            backward += alpha * (rewards[t] + after - V[state]) * e
        assert np.allclose(forward, backward)
        assert learner.lambda_at(3) == lam
        for name, change in (("forward: λ-returns", forward), ("backward: traces", backward)):
            rows += [{"lam": lam, "view": name, "state": s, "change": float(change[s])} for s in range(1, 7)]
    lam = slider("lam", "λ", 0, 1, 0.05, 0.8)
    bar = alt.Chart(alt.Data(values=rows)).transform_filter("abs(datum.lam - lam) < 0.001").mark_bar().encode(
        alt.X("state:O", title="state", axis=alt.Axis(labelAngle=0)), alt.XOffset("view:N"),
        alt.Y("change:Q", title=None, scale=alt.Scale(domain=[-0.05, 0.55])),
        alt.Color("view:N", title=None, scale=alt.Scale(range=[OKABE_ITO[0], OKABE_ITO[4]]),
                  legend=alt.Legend(orient="bottom")),
    )  # fmt: skip
    return bar.properties(title="change of V(s) after the episode", width=SIZE[0], height=200).add_params(lam)


def u_curve(quick: bool) -> Any:
    """RMS error over the first episodes of the random walk, against α, for each λ: the U-curves of the book."""
    walk = td.make("RandomWalk-v0", n=19)
    alphas, seeds, episodes = np.geomspace(0.01, 1.0, 13), 4 if quick else 50, 10
    learners = [td.TrueOnlineTD(walk.features, a, lam, on_divergence="flag") for lam in LAMBDAS for a in alphas]
    found = td.engine.run(walk, learners, seeds, episodes=episodes, points=range(1, episodes + 1), score="rms")
    error = found.error.mean(axis=1).reshape(len(LAMBDAS), len(alphas), episodes)
    rows = [
        {"lam": lam, "alpha": float(a), "episodes": n + 1, "error": float(error[i, j, : n + 1].mean())}
        for i, lam in enumerate(LAMBDAS) for j, a in enumerate(alphas) for n in range(episodes)
    ]  # fmt: skip
    count = slider("episodes", "episodes", 1, episodes, 1, episodes)
    base = alt.Chart(alt.Data(values=rows)).transform_filter("datum.episodes === episodes && datum.error < 0.62")
    paint = alt.Color("lam:N", title="λ", scale=alt.Scale(domain=LAMBDAS, range=shades(len(LAMBDAS))))
    line = base.mark_line(point=True).encode(
        axis(alt.X, "alpha", "step size α", True, alphas.tolist()),
        axis(alt.Y, "error", None, False, domain=[0.2, 0.62]), paint,
    )  # fmt: skip
    title = f"RMS error over the first episodes, 19-state random walk, {seeds} runs"
    return line.properties(title=title, width=SIZE[0], height=300).add_params(count)


def falling(quick: bool) -> Any:
    """META on RingWorld: λ(s) and |V - v| as learning goes on."""
    ring = td.make("RingWorld-v0")
    steps = 3_000 if quick else 60_000
    history = td.report.follow(
        ring, td.TrueOnlineTD(ring.features, 0.01, td.rules.Meta(kappa=1e-2)), steps=steps, points=25, seed=3
    )
    truth, rows = ring.exact.v(), []
    for k, when in enumerate(history.steps.tolist()):
        for s in range(1, 10):
            off = abs(float(history.values[k, s] - truth[s]))
            rows += [
                {"k": k, "steps": when, "state": s, "what": "λ(s)", "value": float(history.lambdas[k, s])},
                {"k": k, "steps": when, "state": s, "what": "|V(s) - v(s)|", "value": off},
            ]  # fmt: skip
    moment = slider("k", "moment", 0, len(history.steps) - 1, 1, 12)
    base = alt.Chart(alt.Data(values=rows)).transform_filter("datum.k === k")
    line = base.mark_line(point=True).encode(
        alt.X("state:O", title="state", axis=alt.Axis(labelAngle=0)),
        alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1])),
        alt.Color("what:N", title=None, scale=alt.Scale(range=[OKABE_ITO[1], LAMBDA]),
                  legend=alt.Legend(orient="bottom")),
    )  # fmt: skip
    label = base.transform_aggregate(steps="max(steps)").mark_text(
        align="right", x=SIZE[0] - 4, y=8, color=SOFT, fontSize=13
    ).transform_calculate(text="format(datum.steps, ',') + ' steps'").encode(text="text:N")  # fmt: skip
    return alt.layer(line, label, width=SIZE[0], height=220, title="META, RingWorld, α = 0.01, κ = 0.01").add_params(
        moment
    )


CHARTS = {"lambda-trace": trace, "lambda-views": views, "lambda-u-curve": u_curve, "lambda-falling": falling}


def main() -> None:
    """Write each chart twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--quick", action="store_true", help="few runs, to see that it runs; needs --out")
    given = parser.parse_args()
    if given.quick and given.out == DOCS:
        parser.error("--quick needs --out: its pictures are not those of the page")
    given.out.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        chart = finished(draw(given.quick))
        charts.save(chart, given.out / f"{name}.svg")
        spec = json.dumps(chart.to_dict(), ensure_ascii=False, separators=(",", ":"))
        (given.out / f"{name}.json").write_text(spec + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
