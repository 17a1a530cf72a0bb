"""td.Horde with its default features on real streams, beside baselines: early and late R² and their 95 % intervals.

    python experiments/streams/horde.py [--boosting] [--json] [--pages FOLDER]

Needs the packages that ship the data: pip install vega_datasets statsmodels. Each prediction is made before it is
learned from. Early: from step 500 (or n/8) to the middle; late: the second half.
"""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tdlambda as td

STREAMS: dict[str, tuple[str, str, str, float, dict[str, Any]]] = {
    "seattle-temps": ("vega_datasets", "_data/seattle-temps.csv", "temp", 0.97, {}),
    "seattle-tempmax": ("vega_datasets", "_data/seattle-weather.csv", "temp_max", 0.9, {}),
    "seattle-rain": ("vega_datasets", "_data/seattle-weather.csv", "precipitation", 0.9, {}),
    "co2": ("statsmodels", "datasets/co2/co2.csv", "co2", 0.9, {"missing": "hold", "period": 52}),
    "sunspots": ("statsmodels", "datasets/sunspots/sunspots.csv", "SUNACTIVITY", 0.8, {"time": "YEAR", "period": 11}),
}


def path(package: str, file: str) -> Path:
    """A file that a package ships."""
    found = find_spec(package)
    if found is None or found.submodule_search_locations is None:
        raise SystemExit(f"needs {package}: pip install vega_datasets statsmodels")
    return Path(next(iter(found.submodule_search_locations))) / file


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--boosting", action="store_true", help="gradient boosting among the baselines (scikit-learn)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=Path, help="write each stream's page there")
    given = parser.parse_args()
    rows, names = {}, ["running mean", "last value", "seasonal", "ridge"] + ["gradient boosting"] * given.boosting
    if not given.json:
        print("| stream | Horde | 95 %, late | " + " | ".join(names) + " | coverage |")
        print("| --- " * (4 + len(names)) + "|")
    for name, (package, file, column, gamma, options) in STREAMS.items():
        period = options.get("period")
        rules = {key: value for key, value in options.items() if key != "period"}
        horde = td.Horde(None, td.Question(column, gamma=gamma), intervals=True, **rules)
        result = td.streams.prequential(horde, path(package, file), baselines=names, period=period)
        s = result[column]
        rows[name] = s.to_dict()
        if given.pages:
            given.pages.mkdir(parents=True, exist_ok=True)
            result.page(given.pages / f"{name}.html")
        low, high = s.interval()["r2"]
        rivals = [f"{s.rivals_early[n].r2:.3f} / {s.rivals[n].r2:.3f}" if n in s.rivals else "" for n in names]
        if not given.json:
            ours = (f"{s.early.r2:.3f} / {s.late.r2:.3f}", f"{low:.3f} to {high:.3f}")
            print(f"| {' | '.join([name, *ours, *rivals, f'{s.coverage:.0%}'])} |", flush=True)
    if given.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
