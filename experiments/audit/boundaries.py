"""The drawing of returns at boundaries: targets of a perfect critic, and what two common mistakes make of them.

    python experiments/audit/boundaries.py [--save docs/figures/returns-at-boundaries.svg]

Every step is rewarded by 1, and γ is 0.9. One episode terminates after ten steps; the next, which would go on for ever,
is truncated after ten; a third one, like the first, follows and is not drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import tdlambda as td
from tdlambda import charts
from tdlambda.returns.mistakes import MISTAKES, Case

NAMES = {
    "truncation treated as termination": "truncation treated as termination",
    "value_next taken after the reset: value[t + 1] stands for value_next[t]": "value_next taken after the reset",
}
GAMMA, LAM, LENGTH = 0.9, 0.95, 10


def scripted() -> Case:
    """The three episodes, with true values."""
    forever, ending = np.full(LENGTH + 1, 1 / (1 - GAMMA)), (1 - GAMMA ** np.arange(LENGTH, -1, -1)) / (1 - GAMMA)
    column = lambda some: np.concatenate(some)[:, None]  # noqa: E731
    three = (ending, forever, ending)
    t, same = np.arange(3 * LENGTH)[:, None], np.ones((3 * LENGTH, 1))
    last = t % LENGTH == LENGTH - 1
    value, after = column([v[:-1] for v in three]), column([v[1:] for v in three])
    cut = t == 2 * LENGTH - 1
    return Case(same, value, after, GAMMA * same, LAM * same, same, last & ~cut, cut)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, default=Path("docs/figures/returns-at-boundaries.svg"))
    options = parser.parse_args()
    case = scripted()
    right = td.returns.lambda_returns(**vars(case))
    curves = {name: (case.value + MISTAKES[sentence](case)[1])[:, 0] for sentence, name in NAMES.items()}
    curves["right: the true value"] = right[:, 0]
    rows = [
        {"series": name, "x": t, "mean": float(y)}
        for name, curve in curves.items()
        for t, y in enumerate(curve[: 2 * LENGTH])
    ]
    drawn = charts.lines(
        rows, "step (the first episode terminates after step 9, the second is truncated after step 19)",
        "target of the critic", log=(False, False), size=(560, 300),
    )  # fmt: skip
    charts.save(drawn.configure(**charts.style.theme()), options.save)  # type: ignore[attr-defined]
    for name, curve in curves.items():
        print(f"{name:36} largest error {np.abs(curve - case.value[:, 0]).max():.3g}")


if __name__ == "__main__":
    main()
