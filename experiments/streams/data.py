"""Streams to predict: readings X [n, d], rewards, ratios, and what then happened (G).

The real ones are shipped by two packages: pip install vega_datasets statsmodels. The settings of `td.AutoTD` for
readings were chosen on all streams here but those of `kept_apart`.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Stream:
    """One stream; `judged` are the steps at which a prediction counts."""

    X: Any
    r: Any
    gamma: float
    G: Any
    judged: Any
    rho: Any


def returns(y: Any, gamma: float) -> Any:
    """Σ γ^k y_{t+k+1}."""
    G, total = np.zeros(len(y)), 0.0
    for t in range(len(y) - 2, -1, -1):
        total = y[t + 1] + gamma * total
        G[t] = total
    return G


def sensor(y: Any, period: float, gamma: float, raw: bool = False, extra: Any = None) -> Stream:
    """A signal that predicts itself: value, lags 1, 3 and 24, sine and cosine of the phase, and a constant.

    Unless `raw`, readings are standardised by the first 200, as somebody would who has seen those.
    """
    y = np.asarray(y, dtype=float)
    n, phase = len(y), 2 * np.pi * np.arange(len(y)) / period
    lags = [np.concatenate([np.full(k, y[0]), y[:-k]]) for k in (1, 3, 24)]
    X = np.column_stack([y, *lags, np.sin(phase), np.cos(phase), *([] if extra is None else [extra])])
    if not raw:
        first = X[: min(200, n // 8)]
        X = (X - first.mean(0)) / (first.std(0) + 1e-9)
    judged = np.arange(n) < n - int(np.log(1e-9) / np.log(gamma))
    return Stream(np.column_stack([X, np.ones(n)]), y[1:].copy(), gamma, returns(y, gamma), judged, np.ones(n - 1))


def walk(n: int, seed: int, phi: float = 0.95, tail: float | None = None) -> tuple[Any, Any]:
    """A first-order autoregression, with normal or heavy-tailed noise."""
    rng = np.random.default_rng(seed)
    noise, y = rng.standard_normal(n) if tail is None else rng.standard_t(tail, n), np.zeros(n)
    for t in range(1, n):
        y[t] = phi * y[t - 1] + noise[t]
    return y, rng


def real() -> dict[str, Stream]:
    """Readings that nobody made for this."""
    import pandas as pd

    for package in ("vega_datasets", "statsmodels"):
        if find_spec(package) is None:
            raise SystemExit(f"needs {package}: pip install vega_datasets statsmodels")
    vega, models = (Path(next(iter(find_spec(p).submodule_search_locations))) for p in ("vega_datasets", "statsmodels"))  # type: ignore[union-attr,arg-type]
    weather = pd.read_csv(vega / "_data" / "seattle-weather.csv")
    return {
        "seattle-temps": sensor(pd.read_csv(vega / "_data" / "seattle-temps.csv").temp, 24, 0.97),
        "seattle-tempmax": sensor(weather.temp_max, 365.25, 0.9),
        "seattle-rain": sensor(
            weather.precipitation, 365.25, 0.9, extra=weather[["temp_max", "temp_min", "wind"]].to_numpy()
        ),
        "co2": sensor(pd.read_csv(models / "datasets" / "co2" / "co2.csv").co2.interpolate(), 52.18, 0.9),
        "sunspots": sensor(pd.read_csv(models / "datasets" / "sunspots" / "sunspots.csv").SUNACTIVITY, 11, 0.8),
    }


def synthetic(n: int = 6000) -> dict[str, Stream]:
    """What sensors do: offsets, outliers, drifts, regimes, gains."""
    hours = np.arange(n)
    base, rng = walk(n, 1)
    y = base + 3 * np.sin(2 * np.pi * hours / 24) + 60
    found = {"daily": sensor(y, 24, 0.95), "in millikelvin": sensor((y + 230) * 1e3, 24, 0.95, raw=True)}
    spiked = y.copy()
    spiked[1000] += 100 * base.std()
    spiked[3500] -= 100 * base.std()
    found["two readings of 100 σ"] = sensor(spiked, 24, 0.95)
    for at in (1000, 3500):
        found["two readings of 100 σ"].judged[at - 100 : at + 50] = False
    found["one reward of 10⁶"] = sensor(y, 24, 0.95)
    found["one reward of 10⁶"].r[1500] = 1e6
    found["one reward of 10⁶"].judged[1200:1550] = False
    often = y.copy()
    at_ = rng.random(n) < 0.01
    often[at_] += 100 * base.std() * rng.choice([-1, 1], at_.sum())
    found["1 % of readings of 100 σ"] = sensor(often, 24, 0.95)
    for name, gain in (("gain falls × 1000", 1e-3), ("gain rises × 1000", 1e3)):
        changed = y.copy()
        changed[n // 2 :] *= gain
        found[name] = sensor(changed, 24, 0.95)
        found[name].judged[n // 2 - 300 : n // 2 + 1000] = False
    stuck = y.copy()
    stuck[n // 2 : n // 2 + 500] = stuck[n // 2 - 1]
    found["stuck for 500"] = sensor(stuck, 24, 0.95)
    found["stuck for 500"].judged[n // 2 - 300 : n // 2 + 1500] = False
    drift, _ = walk(n, 5)
    found["drift"] = sensor(drift * (1 + hours / 2000) + hours * 0.02 + 10, 24, 0.95)
    found["200 irrelevant"] = sensor(y, 24, 0.95, extra=np.random.default_rng(9).standard_normal((n, 200)))
    found["heavy tails"] = sensor(walk(n, 7, 0.8, 2.2)[0] + 10, 24, 0.9)
    turned = y - 40
    turned[n // 2 :] = -2 * turned[n // 2 :] + 80
    found["sign turns"] = sensor(turned, 24, 0.95)
    return found


def kept_apart(n: int = 6000) -> dict[str, Stream]:
    """Other seeds and shapes, on which nothing was chosen."""
    hours = np.arange(n)
    first, rng = walk(n, 101, 0.98)
    second, _ = walk(n, 102, 0.7)
    week = 5 * np.sin(2 * np.pi * hours / 168) + 2 * np.sin(2 * np.pi * hours / 24)
    steps = np.repeat(rng.normal(size=n // 500 + 1) * 5, 500)[:n]
    return {
        "weekly": sensor(1e3 + first + week, 168, 0.97),
        "levels": sensor(second + steps + 100, 24, 0.9),
        "product": sensor(np.exp(0.3 * second) * 10, 24, 0.9),
        "gamma .8": sensor(second * 1e-6 - 1.0, 24, 0.8, raw=True),
    }
