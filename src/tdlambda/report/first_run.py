"""The first run in three pictures: the thesis remade, what you can have today, and a real stream."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from tdlambda import charts
from tdlambda.arrays import Floats
from tdlambda.auto import AutoTD
from tdlambda.features import Dense
from tdlambda.report.figures import drawn
from tdlambda.report.findings import agreement
from tdlambda.report.overview import Overview
from tdlambda.report.wording import number
from tdlambda.studies.study import Study

SIZE = (300, 250)
"""Pixels."""
GAMMA = 0.9
"""Of the coming temperatures: 1 / (1 - γ) is ten hours."""
SHOWN = slice(6600, 6600 + 7 * 24)
"""Hours: a week of October."""


@dataclass(frozen=True)
class Picture:
    """A picture of the first run."""

    title: str
    text: str
    chart: Any


def studies() -> tuple[Study, Study]:
    """The thesis' first table with few seeds, and every step size, with those of the methods that each needs."""
    thesis = Study.load("ringworld-0.40-0.35").small().but(seeds=12, methods=["fixed", "greedy_published", "META"])
    return thesis, Study.load("every-step-size").small()


def thesis(view: Overview) -> Picture:
    """A table of the thesis remade."""
    agree, compared = agreement(view)
    made = drawn(view)
    text = (
        f"{agree} of {compared} printed cells of the first table of Zhao (2020) agree within three standard errors; "
        f"the open marks are the printed numbers. {len(view.seeds)} runs of {view.study.steps:,} steps a cell."
    )
    return Picture("A thesis remade", text, made.chart("u", made.choice("As published"), size=SIZE))


def today(view: Overview) -> Picture:
    """What can be had without a search."""
    best = {alpha: view.best("fixed", alpha).tail.mean for alpha in view.alphas}
    worst = max(view.best("auto", alpha).tail.mean / error for alpha, error in best.items())
    ratio = view.compare(view.best("AutoTD"), view.best("fixed")).ratio
    below = "below" if worst < 1 else f"at most {number(worst)} times"
    text = (
        f"At every step size the error with λ = “auto” is {below} that of the best fixed λ. AutoTD, which has neither "
        f"to choose, has {number(ratio)} times the error of the best of {len(view.of('fixed'))} combinations of α and "
        "λ, chosen in hindsight."
    )
    made = drawn(view)
    return Picture("What you can have today", text, made.chart("u", made.choice(), size=SIZE))


def temperatures() -> Floats:
    """Hourly temperatures of Seattle in 2010, in °C."""
    text = files("tdlambda.report").joinpath("assets/seattle-temperatures.txt").read_text(encoding="utf-8")
    fahrenheit = [float(word) for line in text.splitlines() if not line.startswith("#") for word in line.split()]
    return (np.array(fahrenheit) - 32) / 1.8


def readings(y: Floats) -> Floats:
    """What is known at each hour: the temperature, that of 1, 3 and 24 hours ago, and the time of the day."""
    hour = 2 * np.pi * np.arange(y.size) / 24
    clock = [turn(k * hour) for k in (1, 2) for turn in (np.sin, np.cos)]
    lags = [np.concatenate([np.full(k, y[0]), y[:-k]]) for k in (1, 3, 24)]
    return np.column_stack([y, *lags, *clock, np.ones(y.size)])


def predicted(y: Floats) -> tuple[Floats, Floats]:
    """The discounted mean of the coming temperatures: predicted at each hour, and what then happened."""
    X, made = readings(y), np.zeros(y.size)
    v = AutoTD(Dense(X.shape[1]))
    for t in range(y.size - 1):
        made[t] = v.predict(X[t])  # before it is learned from
        v.update(X[t], y[t + 1], X[t + 1], GAMMA)
    made[-1] = v.predict(X[-1])
    G, total = np.zeros(y.size), y[-1] / (1 - GAMMA)
    for t in range(y.size - 1, -1, -1):
        G[t] = total
        total = y[t] + GAMMA * total
    return (1 - GAMMA) * made, (1 - GAMMA) * G


def stream() -> Picture:
    """A real stream predicted online."""
    y = temperatures()
    made, happened = predicted(y)
    late = slice(y.size // 2, y.size - 500)  # by then what happened is known
    square = float(np.mean((made[late] - happened[late]) ** 2))
    rows = [{"time": t / 24, "prediction": made[t], "outcome": happened[t]} for t in range(*SHOWN.indices(y.size))]
    text = (
        "The mean temperature of Seattle's next ten hours, predicted at every hour of 2010 by "
        f"td.AutoTD(td.features.Dense({readings(y).shape[1]})) before they came: off by {np.sqrt(square):.2f} °C "
        f"over the "
        f"second half of the year, R² = {1 - square / np.var(happened[late]):.3f}."
    )
    return Picture("A real stream, predicted online", text, charts.predictions(rows, "day of the year", "°C", SIZE))
