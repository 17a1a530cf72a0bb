"""Faults planted in real streams, and the alarms that they raise: recall, precision, and alarms without a fault.

    python experiments/streams/faults.py --data FOLDER

FOLDER as for reach.py. Each fault is planted twice in every numeric column, after at least a third of its rows; it is
noticed if an alarm of the right kind comes within 500 readings. Every alarm outside these readings counts as wrong.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from reach import STREAMS, frame

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
    columns = []
    for name in STREAMS:
        data = frame(folder, name)
        columns += [(name, c, data[c].ffill().to_numpy(float)) for c in data.select_dtypes("number").columns]
    hits, elsewhere = dict.fromkeys(FAULTS, 0), 0
    for _, _, y in columns:
        for fault, kind in FAULTS.items():
            for _ in range(2):
                t = int(rng.integers(len(y) // 3, max(len(y) // 3 + 1, len(y) - 600)))
                raised = alarms(planted(y, fault, t))
                hits[fault] += any(t <= row < t + 500 and kind == said for row, said in raised)
                elsewhere += sum(not t <= row < t + 500 for row, _ in raised)
    for fault, n in hits.items():
        print(f"{fault:30} {FAULTS[fault]:8} {n} of {2 * len(columns)}")
    clean = [(name, c, row, kind) for name, c, y in columns for row, kind in alarms(y)]
    total = sum(hits.values())
    recall, precision = total / (2 * len(columns) * len(FAULTS)), total / (total + elsewhere)
    print(f"recall {recall:.2f}, precision {precision:.2f}: {elsewhere} alarms elsewhere")
    print(f"without a fault: {len(clean)} alarms in {sum(len(y) for *_, y in columns):,} readings: {clean}")


if __name__ == "__main__":
    main()
