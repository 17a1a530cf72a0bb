"""The three figures of `tdlambda demo`: a published table reproduced, today's methods, and a real data stream."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from tdlambda import charts
from tdlambda.arrays import Floats
from tdlambda.auto import AutoTD
from tdlambda.charts.style import number
from tdlambda.features import Dense
from tdlambda.lab.report.figures import drawn
from tdlambda.lab.report.findings import agreement
from tdlambda.lab.report.overview import Overview
from tdlambda.lab.report.page import Picture
from tdlambda.lab.studies.study import Study

SIZE = (300, 250)
"""Width and height in pixels."""
GAMMA = 0.9
"""Discount of future temperatures; the horizon 1 / (1 - γ) is ten hours."""
SHOWN = slice(6600, 6600 + 7 * 24)
"""Hours shown: a week of October."""


def studies() -> tuple[Study, Study]:
    """The two studies: the first table of Zhao (2020) with few seeds, and `every-step-size`."""
    thesis = Study.load("ringworld-0.40-0.35").small().but(seeds=12, methods=["fixed", "greedy_published", "META"])
    return thesis, Study.load("every-step-size").small()


def thesis(view: Overview) -> Picture:
    """The figure of the reproduced table."""
    agree, compared = agreement(view)
    made = drawn(view)
    text = (
        f"{agree} of {compared} printed cells of the first table of Zhao (2020) agree within three standard errors; "
        f"open markers are the printed numbers. {len(view.seeds)} runs of {view.study.length:,} steps per cell."
    )
    return Picture("A published table, reproduced", text, made.chart("u", made.choice("As published"), size=SIZE))


def today(view: Overview) -> Picture:
    """The figure of the methods that need no tuning."""
    best = {alpha: view.best("fixed", alpha).tail.mean for alpha in view.alphas}
    worst = max(view.best("auto", alpha).tail.mean / error for alpha, error in best.items())
    ratio = view.compare(view.best("AutoTD"), view.best("fixed")).ratio
    below = "below" if worst < 1 else f"at most {number(worst)} times"
    text = (
        f"At every step size the error with λ = “auto” is {below} that of the best fixed λ. AutoTD, which needs no α "
        f"and no λ, has {number(ratio)} times the error of the best of {len(view.of('fixed'))} combinations of α and "
        "λ, chosen in hindsight."
    )
    made = drawn(view)
    return Picture("Without tuning", text, made.chart("u", made.choice(), size=SIZE))


def temperatures() -> Floats:
    """The hourly temperatures of Seattle in 2010, in °C."""
    text = files("tdlambda.lab.report").joinpath("assets/seattle-temperatures.txt").read_text(encoding="utf-8")
    fahrenheit = [float(word) for line in text.splitlines() if not line.startswith("#") for word in line.split()]
    return (np.array(fahrenheit) - 32) / 1.8


def readings(y: Floats) -> Floats:
    """The features of each hour: the temperature, its values 1, 3 and 24 hours ago, and the time of day."""
    hour = 2 * np.pi * np.arange(y.size) / 24
    clock = [turn(k * hour) for k in (1, 2) for turn in (np.sin, np.cos)]
    lags = [np.concatenate([np.full(k, y[0]), y[:-k]]) for k in (1, 3, 24)]
    return np.column_stack([y, *lags, *clock, np.ones(y.size)])


def predicted(y: Floats) -> tuple[Floats, Floats]:
    """The predicted and the realised discounted mean of future temperatures, at each hour."""
    X, made = readings(y), np.zeros(y.size)
    v = AutoTD(Dense(X.shape[1]))
    for t in range(y.size - 1):
        made[t] = v.predict(X[t])  # before the update
        v.update(X[t], y[t + 1], X[t + 1], GAMMA)
    made[-1] = v.predict(X[-1])
    G, total = np.zeros(y.size), y[-1] / (1 - GAMMA)
    for t in range(y.size - 1, -1, -1):
        G[t] = total
        total = y[t] + GAMMA * total
    return (1 - GAMMA) * made, (1 - GAMMA) * G


def stream() -> Picture:
    """The figure of the real data stream."""
    y = temperatures()
    made, happened = predicted(y)
    late = slice(y.size // 2, y.size - 500)  # the returns of the last 500 hours are not known
    square = float(np.mean((made[late] - happened[late]) ** 2))
    rows = [{"time": t / 24, "prediction": made[t], "outcome": happened[t]} for t in range(*SHOWN.indices(y.size))]
    text = (
        "The mean temperature of Seattle's next ten hours, predicted at every hour of 2010 by "
        f"td.AutoTD(td.features.Dense({readings(y).shape[1]})) from past data only: RMSE {np.sqrt(square):.2f} °C "
        f"over the second half of the year, R² = {1 - square / np.var(happened[late]):.3f}."
    )
    return Picture(
        "A real data stream, predicted online", text, charts.predictions(rows, "day of the year", "°C", SIZE)
    )
