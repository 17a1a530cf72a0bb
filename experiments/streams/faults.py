"""Faults planted in real streams, and the alarms that they raise: recall, precision, and alarms without a fault.

    python experiments/streams/faults.py --data FOLDER

FOLDER as for reach.py. Each fault is planted twice in every numeric column that is not constant, after at least a third
of its rows; it is noticed if an alarm of the right kind comes within 500 readings. Every alarm outside these readings
counts as wrong. An alarm that the stream raises without the fault, too, is not about the fault: it counts as wrong
once, not in each of the ten copies of its column.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from reach import CHOSEN_ON, STREAMS, UNSEEN, frame

import tdlambda as td
from tdlambda.features import Columns

FAULTS = {
    "one reading 5 ranges away": "outlier", "ten readings 4 ranges away": "outlier", "stuck for 400 readings": "stuck",
    "unit × 1000": "change", "unit / 1000": "change",
}  # fmt: skip


def planted(y: Any, fault: str, t: int) -> Any:
    """The readings with a fault from row t on."""
    z, low, high = y.copy(), y[:t].min(), y[:t].max()
    if fault.startswith("one"):
        z[t] = high + 5 * (high - low)
    elif fault.startswith("ten"):
        z[t : t + 10] = low - 4 * (high - low)
    elif fault.startswith("stuck"):
        z[t : t + 400] = z[t]
    else:
        z[t:] = z[t:] * 1000 if "×" in fault else z[t:] / 1000
    return z


def alarms(y: Any) -> list[tuple[int, str]]:
    """Rows and kinds of the alarms of a Horde."""
    question = td.Question("y", gamma=0.5)
    horde = td.Horde(Columns("y"), question, lambda x: td.TD(x, 1e-6)).learn({"y": y})
    return [(alarm.row, alarm.kind) for alarm in horde.alarms]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    folder, rng = parser.parse_args().data, np.random.default_rng(0)
    hits, columns, readings = dict.fromkeys(FAULTS, 0), 0, 0
    counts: dict[str, Any] = {}  # faults planted, noticed; alarms elsewhere, and of the streams themselves
    events = []
    for name in (name for name in STREAMS | UNSEEN if (folder / f"{name}.csv.gz").exists()):
        group = "chosen on" if name in CHOSEN_ON else "others" if name in STREAMS else "never looked at"
        data = frame(folder, name)
        for c in data.select_dtypes("number").columns:
            y = data[c].ffill().to_numpy(float)
            if np.nanmin(y) == np.nanmax(y):
                continue
            own, count = alarms(y), counts.setdefault(group, np.zeros(4, dtype=int))
            events += [(name, c, row, kind) for row, kind in own]
            columns, readings, count[3] = columns + 1, readings + len(y), count[3] + len(own)
            for fault, kind in FAULTS.items():
                for _ in range(2):
                    t = int(rng.integers(len(y) // 3, max(len(y) // 3 + 1, len(y) - 600)))
                    raised = alarms(planted(y, fault, t))
                    noticed = any(t <= row < t + 500 and kind == said for row, said in raised)
                    hits[fault] += noticed
                    count[:3] += 1, noticed, sum(not t <= a[0] < t + 500 and a not in own for a in raised)
    for fault, n in hits.items():
        print(f"{fault:30} {FAULTS[fault]:8} {n} of {2 * columns}")
    for group, (faults, noticed, wrong, own) in (counts | {"all": sum(counts.values())}).items():
        share = noticed / (noticed + wrong + np.array([0, 1, 2 * len(FAULTS)]) * own)
        print(f"{group}: recall {noticed / faults:.2f}, precision {share[1]:.2f}: {wrong} alarms elsewhere", end="; ")
        print(f"without the {own} of the streams themselves {share[0]:.2f}, with them in every copy {share[2]:.2f}")
    print(f"without a fault: {len(events)} alarms in {readings:,} readings: {events}")


if __name__ == "__main__":
    main()
