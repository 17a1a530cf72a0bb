"""Two figures of Zhao (2020), drawn from the library: what META's estimates do, and which λ matter for which target.

    python experiments/figures/thesis.py [--out docs/figures]

`meta-mechanism.svg` is the diagram of chapter 4. `interdependency.svg` is computed on RingWorld: the derivative of each
state's target error by each λ(s'), exact, and as the one-step form has it.
"""

import argparse
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import tdlambda as td
from tdlambda import charts
from tdlambda.charts.style import INK, LAMBDA, LINE, OKABE_ITO, PAPER, SOFT, finished

DOCS = Path(__file__).resolve().parents[2] / "docs" / "figures"
WIDE, HIGH = 150, 58
BOXES = {
    "environment": (20, 110, "environment", "x, ρ, r′, γ′, x′"),
    "value": (310, 20, "value learner", "V(x′)"),
    "auxiliary": (280, 200, "auxiliary learners", "M = E[G],  L = E[Gᵃ],  S = Var[Gᵃ]"),
    "meta": (690, 110, "META", "λ′ ← λ′ − κ ρ_acc ∂J/∂λ′"),
}
ARROWS = (("environment", "value", ""), ("environment", "auxiliary", ""), ("value", "meta", "V(x′)"),
          ("auxiliary", "meta", "M, L, S at x′"), ("meta", "value", "λ′"), ("meta", "auxiliary", "λ′"))  # fmt: skip


def mechanism() -> str:
    """The diagram as SVG: all learn from the same step, and META moves λ′ before V is updated."""
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 290" width="960" height="290" '
             'font-family="system-ui, sans-serif">',
             f'<defs><marker id="clip0" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
             f'orient="auto"><path d="M0,0L8,4L0,8z" fill="{SOFT}"/></marker></defs>']  # fmt: skip
    shift = {("value", "meta"): -9, ("meta", "value"): 9, ("auxiliary", "meta"): 9, ("meta", "auxiliary"): -9}
    for start, end, label in ARROWS:
        (x1, y1), (x2, y2) = _side(start, end), _side(end, start)
        off = shift.get((start, end), 0)
        parts.append(f'<path d="M{x1},{y1 + off}L{x2},{y2 + off}" stroke="{SOFT}" stroke-width="1.5" fill="none" '
                     'marker-end="url(#clip0)"/>')  # fmt: skip
        if label:
            parts.append(f'<text x="{(x1 + x2) / 2}" y="{(y1 + y2) / 2 + 2.2 * off}" fill="{INK}" font-size="13" '
                         f'text-anchor="middle">{label}</text>')  # fmt: skip
    for k, (x, y, title, what) in enumerate(BOXES.values()):
        wide = _wide(title)
        parts.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{HIGH}" rx="6" fill="{PAPER}" '
                     f'stroke="{OKABE_ITO[k]}" stroke-width="2"/>')  # fmt: skip
        parts.append(f'<text x="{x + wide / 2}" y="{y + 24}" fill="{INK}" font-size="14" font-weight="bold" '
                     f'text-anchor="middle">{title}</text>')  # fmt: skip
        parts.append(f'<text x="{x + wide / 2}" y="{y + 44}" fill="{INK}" font-size="12" text-anchor="middle">'
                     f"{what.replace('Gᵃ', 'G^λ')}</text>")  # fmt: skip
    return "".join([*parts, "</svg>"])


def _wide(title: str) -> int:
    return 250 if title in ("auxiliary learners", "META") else WIDE


def _side(box: str, towards: str) -> tuple[float, float]:
    """Where an arrow leaves a box."""
    x, y, title, _ = BOXES[box]
    right = BOXES[towards][0] > x
    return x + _wide(title) * right, y + HIGH / 2


def interdependency() -> Any:
    """∂J_s/∂λ(s′) on RingWorld with V = 0 and λ = 0.8, for each s and s′: exact, and within one step."""
    ring = td.make("RingWorld-v0")
    exact, n = ring.mdp.under(ring.target), ring.mdp.n_states
    rows = []
    for s in range(1, n - 1):
        weights = np.eye(n)[s]
        for title, horizon in (("exact: every λ on the way", None), ("META: the λ of the next state", 1)):
            slope = exact.target_error_gradient(np.zeros(n), 0.8, weights=weights, horizon=horizon)
            rows += [{"of": s, "by": k, "size": abs(float(slope[k])), "panel": title} for k in range(1, n - 1)]
    base = alt.Chart(alt.Data(values=rows)).mark_rect(fill=LAMBDA, stroke=LINE).encode(
        alt.X("by:O", title="λ(s′) of state"), alt.Y("of:O", title="target of state"),
        alt.Opacity("size:Q", title="|∂J_s/∂λ(s′)|", scale=alt.Scale(type="sqrt", range=[0.02, 1])),
    ).properties(width=230, height=230)  # fmt: skip
    titles = dict.fromkeys(row["panel"] for row in rows)
    return finished(alt.hconcat(*(base.transform_filter(alt.datum.panel == t).properties(title=t) for t in titles)))


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--quick", action="store_true", help="the same; these figures take seconds")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "meta-mechanism.svg").write_text(mechanism(), encoding="utf-8")
    charts.save(interdependency(), given.out / "interdependency.svg")


if __name__ == "__main__":
    main()
