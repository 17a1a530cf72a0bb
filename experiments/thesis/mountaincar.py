"""The MountainCar page and its figures, from the results of two studies.

    tdlambda run mountaincar && tdlambda run mountaincar-small-eta
    python experiments/thesis/mountaincar.py [--out experiments/thesis/results]

It reads results/mountaincar and results/mountaincar-small-eta, or the two directories that it is given.
Every sentence with a number in it is made from the results, and its verdict from an interval.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mountaincar_figures import METAS, RIVALS, of_here, over_alpha, over_time, readings
from needed import read

from tdlambda.arrays import Floats
from tdlambda.charts import save
from tdlambda.charts.style import setting
from tdlambda.lab.report.contest import held_out
from tdlambda.lab.report.figures import chart
from tdlambda.lab.report.overview import CellView, Overview, overview
from tdlambda.lab.report.table_files import as_table
from tdlambda.lab.reproduction.cells import tuning_seeds
from tdlambda.lab.reproduction.published import FigureReading
from tdlambda.lab.studies.statistics import Comparison, choose, summary

STUDIES = ("mountaincar", "mountaincar-small-eta")
NAMES = {
    "fixed": "the best fixed λ", "greedy": "λ-greedy", "META": "META (as published)",
    "META_derived": "META (the derived sign)", "META_default": "META (`td.rules.Meta()`)",
}  # fmt: skip
BETTER, WORSE, UNDECIDED, LOST = "better", "worse", "undecided", "not compared"
SAID = {
    BETTER: "is better than", WORSE: "is worse than", UNDECIDED: "does not differ significantly from",
    LOST: "cannot be compared with",
}  # fmt: skip
FEW = 0.05
"""Of the pairs may be lost to divergence; else what the others say is not a verdict."""
DIFFERENCES = """\
- **The limit.** The published runs treated the limit of 500 steps as termination. Here it is a truncation, so the last
  step bootstraps. (The text says that the limit was removed.)
- **The features.** Theirs wrapped round: near the low edge of position or velocity, tiles of the high edge were active.
  Here they do not.
- **The selection.** κ and λ of the figure are the best at each α in hindsight, on the very runs that are shown. The
  figures here do the same. The table also gives the result of choosing on a quarter of the seeds and reporting on the
  others.
- **The run.** The figure is of an older run than the one that the text describes. Its points were read by eye.
- **The length.** Their curves are over episodes, from the 100th to the 200th; here the length is a number of steps, and
  the policy is frozen for the first half of them.
- **λ = 1** is not in the figure."""


@dataclass(frozen=True)
class Chosen:
    """A method's cell that is best on a quarter of the seeds, and its costs on the others."""

    cell: CellView
    costs: Floats


def step_sizes(view: Overview, method: str) -> list[float]:
    """Those of a method, in order."""
    return sorted({cell.alpha for cell in view.of(method) if cell.alpha is not None})


def chosen(view: Overview, method: str) -> Chosen | None:
    """None where seeds are too few, or not all cells have the same."""
    cells = view.of(method)
    if len(view.seeds) < 8 or any(cell.n != len(view.seeds) for cell in cells):
        return None
    best, costs = choose([cell.runs["tail"] for cell in cells], range(tuning_seeds(len(view.seeds))))
    return Chosen(cells[best], costs)


def verdict(found: Comparison) -> str:
    """Whether a ratio of costs is below 1, by its interval."""
    if not np.isfinite(found.ratio_low) or found.diverged > FEW * (found.n + found.diverged):
        return LOST
    return BETTER if found.ratio_high < 1 else WORSE if found.ratio_low > 1 else UNDECIDED


def returned(mean: float, low: float, high: float) -> str:
    """A mean cost and its interval, as a return."""
    if not np.isfinite(mean):
        return "–"
    return f"{-mean:.1f}" + (f" ({-high:.1f} to {-low:.1f})" if np.isfinite(low) else "")


def final(cell: CellView) -> str:
    """A cell's return at the end."""
    return returned(cell.tail.mean, cell.tail.low, cell.tail.high)


def ratio(found: Comparison) -> str:
    """A ratio of costs and its interval; how many pairs it is of, if runs diverged. Bold where 1 is excluded."""
    if not np.isfinite(found.ratio):
        return "–"
    text = f"{found.ratio:.2f}"
    if np.isfinite(found.ratio_low):
        text += f" ({found.ratio_low:.2f} to {found.ratio_high:.2f})"
    text = f"**{text}**" if verdict(found) in (BETTER, WORSE) else text
    return text + (f", {found.n} of {found.n + found.diverged} pairs" if found.diverged else "")


# ---- findings, each a line of a list


def findings(view: Overview) -> Iterator[str]:
    """What one study says."""
    for name, other in pairs(view):
        best, rival = view.best(name), view.best(other)
        found, fair = view.compare(best, rival), held_out(view.of(name), view.of(other))
        honest = "too few seeds" if fair is None else f"{verdict(fair)}, {ratio(fair)}"
        yield (
            f"**{NAMES[name]} {SAID[verdict(found)]} {NAMES[other]}**, each at its best in hindsight: its cost is "
            f"{ratio(found)} × the other's, the returns are {-best.tail.mean:.1f} and {-rival.tail.mean:.1f}. "
            f"Chosen on a quarter of the seeds and compared on the others: {honest}."
        )
    decades = {name: view.sensitivity(name) for name in of_here(view, [*RIVALS, *METAS])}
    longest = max(decades.values())
    most = " and ".join(NAMES[name] for name, value in decades.items() if value == longest)
    others = ", ".join(f"{NAMES[name]} {value:.1f}" for name, value in decades.items() if value < longest)
    yield (
        f"The stretch of α in which the cost stays within twice its best is longest, {longest:.1f} decades, for {most}"
        + (f"; {others}." if others else ".")
    )
    lost, runs = sum(cell.diverged for cell in view.cells), sum(cell.n for cell in view.cells)
    first = min((cell.alpha for cell in view.cells if cell.diverged and cell.alpha), default=None)
    where = f", all at α of {setting(first)} and more" if first else ""
    yield f"{lost:,} of {runs:,} runs diverged{where}. Means and ratios are of the others."


def pairs(view: Overview) -> list[tuple[str, str]]:
    """Each META against each of its rivals."""
    return [(name, other) for name in of_here(view, METAS) for other in of_here(view, RIVALS)]


def at(view: Overview, name: str, other: str, alpha: float) -> Comparison:
    """Two methods at one α, each at its best there."""
    return view.compare(view.best(name, alpha), view.best(other, alpha))


def beside_the_figure(view: Overview) -> Iterator[str]:
    """What of the published figure comes out again."""
    points = readings("fig_mountaincar")
    tops = {name: max((r for r in points if r.method == name), key=lambda r: r.value) for name in ("META", *RIVALS)}
    for other in of_here(view, RIVALS):
        shown = [cell for cell in view.of(other) if cell.settings.get("lam") in {r.lam for r in points}]
        found, tried = view.compare(view.best("META"), min(shown, key=CellView.rank)), step_sizes(view, "META")
        above = tops["META"].value > tops[other].value
        same = {BETTER: above, WORSE: not above}.get(verdict(found))
        word = {True: "comes out again", False: "does not come out", None: "is neither confirmed nor refuted"}[same]
        above_at = [alpha for alpha in tried if ahead(points, other, alpha)]
        yield (
            f"**That META's best is {'above' if above else 'below'} {NAMES[other]}'s {word}**: {verdict(found)}, "
            f"{ratio(found)}. At {len(above_at)} of these {len(tried)} α META is above it in the figure, and of them "
            f"here {tally(view, [c for c in shown if c.alpha in above_at])}."
        )
        if len(shown) < len(view.of(other)):
            rest = sorted({c.settings["lam"] for c in view.of(other)} - {c.settings["lam"] for c in shown})
            yield (
                f"These are the λ of the figure. With λ = {', '.join(f'{lam:g}' for lam in rest)} among the fixed ones "
                f"META is, at the same α, {tally(view, [c for c in view.of(other) if c.alpha in above_at])}."
            )
    for name in of_here(view, ["META", *RIVALS]):
        best, read, of = view.best(name), tops[name], "a fixed λ" if name == "fixed" else NAMES[name]
        lam = "" if read.lam is None else f", λ = {read.lam:g}"
        yield (
            f"The best of {of} is {read.value:g} ± {read.uncertainty:g} at α = {setting(read.alpha)}{lam} in the "
            f"figure, and {final(best)} with {best.described()} here."
        )
        apart = [-cell.tail.mean - r.value for r in points if r.method == name for cell in like(view, r)]
        if apart:
            low, middle, high = np.quantile(apart, (0.1, 0.5, 0.9))
            yield (
                f"Return here less that in the figure, over the {len(apart)} points of {of} that both have: median "
                f"{middle:+.0f}, 80 % of them within {low:+.0f} and {high:+.0f}."
            )


def tally(view: Overview, rivals: Sequence[CellView]) -> str:
    """At how many of the rivals' α META is better, worse, …, both at their best there."""
    alphas = sorted({cell.alpha for cell in rivals if cell.alpha})
    best = [min((c for c in rivals if c.alpha == alpha), key=CellView.rank) for alpha in alphas]
    words = [verdict(view.compare(view.best("META", alpha), cell)) for alpha, cell in zip(alphas, best, strict=True)]
    return ", ".join(f"{word} at {words.count(word)}" for word in SAID)


def like(view: Overview, reading: FigureReading) -> list[CellView]:
    """The cell beside a point of the figure, if it was run and did not diverge altogether."""
    cells = view.of(reading.method, reading.alpha)
    cells = [c for c in cells if reading.lam is None or c.settings["lam"] == reading.lam]
    return [c for c in [min(cells, key=CellView.rank)] if np.isfinite(c.tail.mean)] if cells else []


def ahead(points: Sequence[FigureReading], other: str, alpha: float) -> bool:
    """Whether META is above another method in the figure at this α."""
    here = [r for r in points if r.alpha == alpha]
    mine = max((r.value for r in here if r.method == "META"), default=-np.inf)
    return mine > max((r.value for r in here if r.method == other), default=np.inf)


def does_small_eta_matter(large: Overview, small: Overview) -> Iterator[str]:
    """Whether META helps less with small η: its cost by the best fixed λ's, with either."""
    etas = [f"η = {view.study.agent['eta']:g}" for view in (large, small)]
    for name in of_here(large, of_here(small, METAS)):
        one, two = (view.compare(view.best(name), view.best("fixed")) for view in (large, small))
        less, more = two.ratio_low > one.ratio_high, two.ratio_high < one.ratio_low
        word = "helps less" if less else "helps more" if more else "does not clearly help more or less"
        yield (
            f"**{NAMES[name]} {word} with {etas[1]} than with {etas[0]}**: its cost is {ratio(one)} × that of the best "
            f"fixed λ with {etas[0]} and {ratio(two)} × with {etas[1]}, all at their best in hindsight."
        )


# ---- tables


def best_cells(view: Overview) -> str:
    """The best cell of each method: in hindsight, and chosen on other seeds than it is reported on."""
    rows = []
    for name in of_here(view, [*RIVALS, *METAS]):
        best, fair, cells = view.best(name), chosen(view, name), view.of(name)
        row = [NAMES[name], best.described(), final(best)]
        if fair is None:
            row += ["–", "–"]
        else:
            rest = summary(fair.costs)
            row += [fair.cell.described(), returned(rest.mean, rest.low, rest.high)]
        lost, runs = sum(cell.diverged for cell in cells), sum(cell.n for cell in cells)
        rows.append([*row, f"{view.sensitivity(name):.1f}", f"{lost:,} of {runs:,}"])
    heads = ["method", "best cell, in hindsight", "return", "chosen on a quarter of the seeds", "return on the others"]
    return as_table([*heads, "decades of α within twice the best cost", "runs that diverged"], rows)


def ratios(view: Overview) -> str:
    """The cost of each META by that of its rivals, seed by seed: at each α, and at their best."""
    both = pairs(view)
    rows = [[setting(a), *(ratio(at(view, *pair, a)) for pair in both)] for a in view.alphas]
    rows.append(["each at its best", *(ratio(view.compare(view.best(a), view.best(b))) for a, b in both)])
    fair = [held_out(view.of(a), view.of(b)) for a, b in both]
    rows.append(["chosen on a quarter, on the others", *("–" if found is None else ratio(found) for found in fair)])
    return as_table(["α", *(f"{name} / {other}" for name, other in both)], rows)


def at_each_alpha(view: Overview) -> str:
    """At how many α each META is better than each of its rivals, both at their best there."""
    rows = []
    for name, other in pairs(view):
        words = [verdict(at(view, name, other, alpha)) for alpha in step_sizes(view, name)]
        rows.append([NAMES[name], NAMES[other], *(str(words.count(word)) for word in SAID)])
    return as_table(["at each α, both at their best there", "against", *SAID], rows)


def page(large: Overview, small: Overview) -> str:
    """The whole page, in Markdown."""
    study, views = large.study, (large, small)
    unfinished = [f"{v.done:,} of {v.wanted:,} units of {v.study.name}" for v in views if v.done < v.wanted]
    eta = [f"η = {view.study.agent['eta']:g}" for view in views]
    parts = [
        "# MountainCar",
        "Made by `python experiments/thesis/mountaincar.py` from the studies "
        f"`{study.name}` and `{small.study.name}`: {len(large.seeds)} and {len(small.seeds)} runs of {study.steps:,} "
        "steps a cell, policy and λ frozen for the first half. The return at the end is the mean over the last "
        f"{study.tail_points} of {study.points} points. A cost is minus a return, and ratios are of costs, seed by "
        "seed: below 1 the first is better. Intervals are 95 %. A ratio is bold where its interval excludes 1 and no "
        f"more than {FEW:.0%} of the pairs were lost to divergence; else nothing is compared."
        + (f" **Unfinished: {'; '.join(unfinished)}.**" if unfinished else ""),
        f"## {eta[0]}",
        "![return over α](mountaincar-alpha.svg)",
        bullets(findings(large)),
        best_cells(large),
        at_each_alpha(large),
        "![return over learning](mountaincar-learning.svg)",
        "The published curves are over episodes, ours over steps, in which a good policy has more episodes than a bad "
        "one: they have a panel of their own, and no point of one belongs beside a point of the other.",
        "![λ over position and velocity](mountaincar-lambda.svg)",
        "## What of the published figure comes out",
        bullets(beside_the_figure(large)),
        "Differences from the published experiment, which is why the numbers need not agree:",
        DIFFERENCES,
        f"## {eta[1]}",
        "The thesis expects META to help less where the policy takes small steps.",
        "![return over α](mountaincar-small-eta-alpha.svg)",
        bullets([*does_small_eta_matter(large, small), *findings(small)]),
        best_cells(small),
        at_each_alpha(small),
        f"## Ratios of costs at every α, {eta[0]}",
        ratios(large),
        f"## Ratios of costs at every α, {eta[1]}",
        ratios(small),
    ]
    return "\n\n".join(parts) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def write(large: Overview, small: Overview, out: Path) -> list[Path]:
    """The page and its figures."""
    for view in (large, small):
        if view.study.kind != "control" or not view.of("META") or not view.of("fixed"):
            raise ValueError(f"{view.study.name} is not a study of control with a META and a fixed λ")
    figures = {
        "alpha": over_alpha(large), "learning": over_time(large), "lambda": chart(large, "lambda"),
        "small-eta-alpha": over_alpha(small),
    }  # fmt: skip
    text = page(large, small)
    written = [save(figure, out / f"mountaincar-{name}.svg") for name, figure in figures.items()]
    (out / "mountaincar.md").write_text(text, encoding="utf-8")
    return [*written, out / "mountaincar.md"]


def main() -> None:
    """Read both studies and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = [Path("results", name) for name in STUDIES]
    parser.add_argument("results", nargs="?", type=Path, help=f"of the study {STUDIES[0]}", default=default[0])
    parser.add_argument("small_eta", nargs="?", type=Path, help=f"of the study {STUDIES[1]}", default=default[1])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "results")
    options = parser.parse_args()
    views = read(overview, [options.results, options.small_eta], STUDIES)
    try:
        written = write(views[options.results], views[options.small_eta], options.out)
    except ValueError as error:
        parser.error(str(error))
    print("\n".join(map(str, written)))


if __name__ == "__main__":
    main()
