"""td.Horde with nothing chosen, beside walk-forward LightGBM, ridge regression and naive forecasts, on real streams.

    python experiments/streams/reach.py --data FOLDER [--rivals FILE] [--only NAME …] [--json FILE]

FOLDER has one gzipped CSV file per stream of `STREAMS`; each is in a package that pip installs (docs/results/streams.md
names them). Early is step 300 to the middle, late the second half. LightGBM is used if it is installed; its predictions
take most of the time, so `--rivals` keeps their scores in a file.
"""

import argparse
import gzip
import io
import json
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda as td

STREAMS: dict[str, tuple[str | None, list[str], int, int | None, list[float]]] = {
    "electricity": ("ts", ["y"], 24, 168, [1 - 1 / 24]),
    "sf-occupancy": ("ts", ["y"], 24, 168, [1 - 1 / 6]),
    "solar-power": ("ts", ["y"], 24, None, [1 - 1 / 12]),
    "wind-power": ("ts", ["y"], 24, None, [1 - 1 / 12]),
    "bitcoin-tx": ("ts", ["y"], 7, None, [1 - 1 / 30]),
    "glucose": ("datetime", ["glucose"], 288, None, [1 - 1 / 12, 0.99]),
    "sea-surface": ("time", ["temp"], 48, None, [1 - 1 / 48]),
    "ecg-mitdb": (None, ["data"], 290, None, [0.9]),
    "accelerometers": (None, ["ankle_vert", "trunk_horiz_fwd"], 64, None, [0.9]),
    "elec-demand": ("time", ["Demand"], 48, 336, [1 - 1 / 48]),
    "keywest-water": ("DateTime", ["WaterTemp"], 24, None, [0.98]),
    "births": ("date", ["births"], 7, 365, [1 - 1 / 7]),
    "ewr-weather": ("time_hour", ["wind_speed", "temp"], 24, None, [1 - 1 / 24]),
    "pizza-revenue": ("hour", ["revenue"], 12, 84, [1 - 1 / 6]),
    "gasoline": (None, ["value"], 52, None, [0.9]),
}  # fmt: skip
"""Column of times, columns to predict, season and second season in rows (for the rivals), discounts."""
UNSEEN: dict[str, tuple[str | None, list[str], int, int | None, list[float]]] = {
    "water-flow": ("Time", ["Water flow [l/s]"], 24, 168, [1 - 1 / 24]),
    "brent-oil": ("day", ["DPB"], 5, None, [1 - 1 / 20]),
    "apple-share": ("Date", ["Volume"], 5, None, [1 - 1 / 20]),
    "sand-point": ("time", ["sun", "temp", "wind"], 24, None, [1 - 1 / 24]),
    "dust": ("TimeStamp", ["PM2_5"], 24, 168, [1 - 1 / 12]),
    "pulse": (None, ["hr"], 90, None, [0.95]),
    "elnino": ("time", ["temp"], 12, None, [1 - 1 / 6]),
    "lga-weather": ("time_hour", ["humid"], 24, None, [1 - 1 / 24]),
}
"""The streams of unseen.py."""
SECOND: dict[str, tuple[str | None, list[str], int, int | None, list[float]]] = {
    "bike-sharing": ("ts", ["count"], 24, 168, [1 - 1 / 24]),
    "traffic-volume": ("date_time", ["traffic_volume"], 24, 168, [1 - 1 / 12]),
    "beijing-air": ("time", ["pm2.5"], 24, None, [1 - 1 / 24]),
    "appliances": ("date", ["Appliances"], 144, None, [1 - 1 / 6]),
    "yosemite": ("ds", ["y"], 288, None, [1 - 1 / 12]),
    "australia-temp": ("Date", ["Min_Temp"], 7, 365, [1 - 1 / 7]),
    "page-views": ("ts", ["y"], 7, 365, [1 - 1 / 7]),
    "river-basin": (None, ["value"], 12, None, [1 - 1 / 6]),
}
"""The second list of unseen.py."""
ALL = STREAMS | UNSEEN | SECOND
CHOSEN_ON = ("electricity", "wind-power", "glucose", "ecg-mitdb", "elec-demand", "births", "pizza-revenue", "gasoline")
"""Streams on which the default features were chosen; the others judge."""


def frame(folder: Path, name: str) -> Any:
    """A stream as a data frame."""
    import pandas as pd

    return pd.read_csv(io.BytesIO(gzip.decompress((folder / f"{name}.csv.gz").read_bytes())))


def questions(folder: Path, only: list[str]) -> Iterator[tuple[str, str, str, float]]:
    """Name of the question, stream, column, γ, of the streams in the folder."""
    for name, (_, targets, _, _, gammas) in ALL.items():
        if not (folder / f"{name}.csv.gz").exists():
            continue
        for column in targets:
            for gamma in gammas:
                question = f"{name}|{column}|{gamma:.3f}"
                if not only or any(word in question for word in only):
                    yield question, name, column, gamma


def returns(y: Any, gamma: float) -> Any:
    """Σ γ^k y_{t+k+1}."""
    G, total = np.zeros(len(y)), 0.0
    for t in range(len(y) - 2, -1, -1):
        total = y[t + 1] + gamma * total
        G[t] = total
    return G


def scores(p: Any, G: Any, gamma: float) -> dict[str, float]:
    """R² early and late, and the squared error in steps 50 to 300."""
    n, i = len(G), np.arange(len(G))
    end = n - 1 - int(np.ceil(np.log(1e-3) / np.log(gamma)))
    found = {"first": float(np.mean((p[50:300] - G[50:300]) ** 2))}
    for name, some in (("early", (i >= 300) & (i < n // 2)), ("late", (i >= n // 2) & (i < end))):
        found[name] = float(1 - ((p[some] - G[some]) ** 2).mean() / ((G[some] - G[some].mean()) ** 2).mean())
    return found


def ours(data: Any, column: str, gamma: float, learner: Any = None) -> dict[str, Any]:
    """The scores of a Horde, the coverage of its intervals, and its time per row."""
    options = {} if learner is None else {"learner": learner}
    horde = td.Horde(None, {"it": td.Question(column, gamma=gamma)}, intervals=True, **options)
    begin = time.perf_counter()
    found = td.streams.prequential(horde, data, baselines=[])["it"]
    micros = 1e6 * (time.perf_counter() - begin) / len(data)
    y = data[column].to_numpy(float)
    p = np.append(found.prediction, found.prediction[-1])
    return scores(p, returns(y, gamma), gamma) | {
        "covers early": found.coverage_early, "covers late": found.coverage, "µs": micros,
    }  # fmt: skip


# ---- rivals --------------------------------------------------------------------------------------------------------


def plain_features(data: Any, name: str, column: str) -> tuple[Any, Any]:
    """Numeric columns, lags 1, 2, 3 and one season, sine and cosine of one or two seasons."""
    _, _, season, second, _ = ALL[name]
    y = data[column].to_numpy(float)

    def lag(j: int) -> Any:
        return np.concatenate([np.full(j, y[0]), y[:-j]])

    others = [c for c in data.select_dtypes("number").columns if c != column]
    columns = [y, lag(1), lag(2), lag(3), lag(season), *(data[c].to_numpy(float) for c in others)]
    for period in (season, second):
        if period:
            phase = 2 * np.pi * np.arange(len(y)) / period
            columns += [np.sin(phase), np.cos(phase)]
    return y, np.column_stack(columns)


def rivals(data: Any, name: str, column: str, gamma: float) -> dict[str, dict[str, float]]:
    """Scores of naive forecasts, and of LightGBM refitted 40 times on what is known, in levels and relative to them."""
    y, X = plain_features(data, name, column)
    n, G, H = len(y), returns(y, gamma), int(np.ceil(np.log(0.01) / np.log(gamma)))
    mean = np.cumsum(y) / np.arange(1, n + 1)
    part = np.zeros(n)
    part[: n - 1] = np.convolve(y[::-1], gamma ** np.arange(H))[:n][::-1][1:]

    def walk(Z: Any, relative: bool) -> Any:
        import lightgbm

        p, t, every = mean / (1 - gamma), 60 + H, max(50, n // 40)
        while t < n:
            b, m = min(n, t + every), t - H
            target = part[:m] + gamma**H / (1 - gamma) * mean[t]
            target = target * (1 - gamma) - y[:m] if relative else target
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = lightgbm.LGBMRegressor(n_jobs=1, verbose=-1).fit(Z[:m], target).predict(Z[t:b])
            p[t:b] = (found + y[t:b]) / (1 - gamma) if relative else found
            t = b
        return p

    def seasonal(P: int) -> Any:
        w = gamma ** np.arange(P)
        p = y / (1 - gamma)
        p[P - 1 :] = np.convolve(y, w[::-1])[P - 1 : n] / (1 - gamma**P)
        return p

    found = {"mean": mean / (1 - gamma), "last": y / (1 - gamma)}
    found |= {f"season {P}": seasonal(P) for P in ALL[name][2:4] if P}
    if find_spec("lightgbm"):
        relative = X.copy()
        relative[:, 1:5] = X[:, [0]] - X[:, 1:5]
        found |= {"boosting": walk(X, False), "boosting, relative": walk(relative, True)}
    return {who: scores(p, G, gamma) for who, p in found.items()}


# ---- the table -----------------------------------------------------------------------------------------------------


def summary(rows: dict[str, Any], names: set[str]) -> str:
    """Shares of questions that reach each bar."""
    some = {q: row for q, row in rows.items() if q.split("|")[0] in names}
    hit: dict[str, list[bool]] = {}
    for row in some.values():
        us, them = row["ours"], row["rivals"]
        naive = [who for who in them if not who.startswith("boosting")]
        boost = [who for who in them if who.startswith("boosting")]
        for when in ("early", "late"):
            if boost:
                best = max(them[who][when] for who in boost)
                hit.setdefault(f"{when}: boosting - .02", []).append(us[when] >= best - 0.02)
            best = max(them[who][when] for who in naive)
            hit.setdefault(f"{when}: best naive - .02", []).append(us[when] >= best - 0.02)
            hit.setdefault(f"{when}: covers 85 to 95 %", []).append(0.85 <= us[f"covers {when}"] <= 0.95)
        hit.setdefault("steps 50 to 300: ≤ 1.05 × mean's", []).append(us["first"] <= 1.05 * them["mean"]["first"])
    lines = [f"{name:34} {np.mean(good):5.0%} of {len(good)}" for name, good in hit.items()]
    for when in ("early", "late"):
        mean = np.mean([max(-1, row["ours"][when]) for row in some.values()])
        lines.append(f"{'mean R², ' + when:34} {mean:6.3f}")
    return "\n".join(lines)


def _pair(score: dict[str, float]) -> str:
    return f"{score['early']:6.3f} / {score['late']:6.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--rivals", type=Path, help="file with the scores of the rivals, which is made if it is missing"
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    kept = json.loads(given.rivals.read_text()) if given.rivals and given.rivals.exists() else {}
    rows = {}
    for question, name, column, gamma in questions(given.data, given.only):
        data = frame(given.data, name)
        if question not in kept:
            kept[question] = rivals(data, name, column, gamma)
            if given.rivals:
                given.rivals.write_text(json.dumps(kept))
        us = ours(data, column, gamma)
        rows[question] = {"ours": us, "rivals": kept[question]}
        boost = [s for who, s in kept[question].items() if who.startswith("boosting")]
        naive = [s for who, s in kept[question].items() if not who.startswith("boosting")]
        best = [
            _pair({when: max((score[when] for score in some), default=np.nan) for when in ("early", "late")})
            for some in (boost, naive)
        ]
        held = f"{us['covers early']:4.0%} {us['covers late']:4.0%}"
        ratio = us["first"] / kept[question]["mean"]["first"]
        beside = f"boosting {best[0]}  naive {best[1]}  first {ratio:5.2f}"
        print(f"{question:34} {_pair(us)}  {beside}  covers {held}  {us['µs']:5.0f} µs", flush=True)
    for title, names in (
        ("chosen on", set(CHOSEN_ON)),
        ("judged on", set(STREAMS) - set(CHOSEN_ON)),
        ("never looked at", set(UNSEEN)),
        ("never looked at, second list", set(SECOND)),
    ):
        if any(q.split("|")[0] in names for q in rows):
            print(f"\n{title}\n{summary(rows, names)}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
