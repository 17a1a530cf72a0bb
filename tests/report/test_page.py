"""The page's data against the results, its words against the statistics, and that it is one safe file."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.charts.tidy import plain
from tdlambda.lab.report import observation_layout as layouts
from tdlambda.lab.report.contest import groups, held_out
from tdlambda.lab.report.figures import drawn
from tdlambda.lab.report.findings import agreement, findings, z_of
from tdlambda.lab.report.overview import CellView, Overview, overview
from tdlambda.lab.report.page import embedded, library, page
from tdlambda.lab.report.page_data import page_data
from tdlambda.lab.reproduction.cells import methods_of, reproduce
from tdlambda.lab.reproduction.published import mountaincar_figure
from tdlambda.lab.studies import compare, summary


@pytest.fixture(scope="module")
def view(ring: Path) -> Overview:
    return overview(ring)


@pytest.fixture(scope="module")
def data(view: Overview) -> dict[str, Any]:
    return page_data(view)


OF = {
    "META": td.studies.Method("TrueOnlineTD", "Meta"), "AutoTD": td.studies.Method("AutoTD"),
    "auto": td.studies.Method("TrueOnlineTD", options={"lam": "auto"}), "MC": td.studies.Method("MonteCarlo"),
}  # fmt: skip


def made(errors: dict[str, Any], **over: Any) -> Overview:
    """A study whose methods have these errors at one α: those above are what they are, any other name is a fixed λ."""
    methods = {name: OF.get(name, td.studies.Method("TrueOnlineTD", options={"lam": 0})) for name in errors}
    seeds = len(next(iter(errors.values())))
    study = td.studies.Study("made", task="RandomWalk-v0", steps=100, points=10, seeds=seeds, methods=methods)
    cells = []
    for name, runs in errors.items():
        some = np.asarray(runs, dtype=np.float64)
        found = summary(some)
        by_seed = {"seed": np.arange(some.size, dtype=np.float64), "tail": some, "area": some}
        curve = np.full(10, found.mean)
        by_seed["curve"] = np.repeat(some[:, None], 10, axis=1)
        cells.append(
            CellView(name, {}, some.size, found.diverged, found, found, curve, curve / 10, np.ones(21), by_seed)
        )
    n = len(study.numbers) * len(methods)
    return replace(Overview(study, list(study.numbers), n, n, study.read_at[study.stored_points], cells, []), **over)


def test_the_page_has_the_rows_and_the_charts_of_print(view: Overview, data: dict[str, Any]) -> None:
    made = drawn(view)
    for name, figure in made.figures.items():
        packed = data["rows"][figure.data]
        assert packed["n"] == len(figure.rows)
        for column, values in packed["columns"].items():
            assert values == [plain(row[column]) for row in figure.rows], column
        for column, value in packed["same"].items():
            assert {json.dumps(plain(row[column])) for row in figure.rows} == {json.dumps(value)}
        given = data["figures"][name]
        assert (
            set(given["columns"].values()) <= {*packed["columns"], *packed["same"], *given["lists"]} or not figure.rows
        )
        spec = given["spec"]
        if spec is None:
            assert name in ("heat", "diverged")
            continue
        assert {*figure.follows} <= {param["name"] for param in spec["params"]}
        assert spec["width"] == "container"
        assert "values" not in spec["data"]


def test_agreement_with_print_is_that_of_reproduce(ring: Path, view: Overview) -> None:
    table = reproduce("ringworld_04_035", "published", view.study, td.studies.load_results(ring))
    mine = [z_of(view, printed) for printed in view.published]
    under = methods_of("ringworld_04_035", "published")
    wanted = {(c.alpha, under[c.method], c.lam): c.z for c in table.compared}
    found = {(p.alpha, p.method, p.lam): pair[1] for p, pair in zip(view.published, mine, strict=True) if pair}
    assert found == pytest.approx(wanted, rel=1e-5)
    assert agreement(view) == (table.agree, len(table.compared))


def test_groups_are_the_protocols_and_all(view: Overview) -> None:
    assert groups(view) == {
        "As published": ["fixed", "greedy_published", "META"],
        "Like for like": ["fixed", "greedy", "META_default"],
        "All methods": ["fixed", "greedy", "greedy_published", "META", "META_default"],
    }


def test_the_headline_says_what_the_statistics_say(view: Overview) -> None:
    found = findings(view, ["fixed", "greedy_published", "META"])
    best, main = view.best("fixed"), min((view.best("META"), view.best("greedy_published")), key=CellView.rank)
    compared = view.compare(main, best)
    assert (found.best, found.contest.method.cell, found.contest.compared) == (best, main, compared)
    for words in (
        f"{compared.ratio:.3g} ×",
        f"{compared.ratio_low:.3g} to {compared.ratio_high:.3g}",
        view.named(main.method),
    ):
        assert words in found.headline
    assert f"λ = {best.settings['lam']:g}" in found.headline
    assert f"better in {100 * compared.better:.0f} % of runs" in found.better.text
    assert found.better.question == f"Is {view.named(main.method)} better?"
    assert "None of 120 runs diverged" in found.sure.text
    assert "1,000,000 steps, not 2,000" in found.sure.text


rng = np.random.default_rng(0)
PLAIN = rng.uniform(0.9, 1.1, 20)
WIDE = np.where(np.arange(20) % 2, 2.0, 0.2) * PLAIN


@pytest.mark.parametrize(
    ("meta", "verdict", "short", "sure", "headline"),
    [
        (0.5 * PLAIN, "better", "Yes: 0.5 × its error", "Sure",
         "META won: it has 0.5 × the final error of the best fixed λ, 95 % interval 0.5 to 0.5 on 20 paired runs."),
        (0.5 * PLAIN[:8], "better", "Yes: 0.5 × its error", "Fairly sure", "META won: … on only 8 paired runs."),
        (0.5 * PLAIN[:3], "undecided", "Cannot say yet: 0.5 × its error", "Too few runs",
         "No winner yet: META has 0.5 × the final error of the best fixed λ, but 3 paired runs are too few to tell."),
        (2.0 * PLAIN, "worse", "No: 2 × its error", "Sure", "The best fixed λ won: META has 2 × its final error, …"),
        (1.05 * PLAIN, "nearly", "Nearly: 1.05 × its error", "Sure", "The best fixed λ won narrowly: …"),
        (PLAIN[::-1], "matched", "As good: 1 × its error", "Sure", "META matched the best fixed λ: it has 1 × its …"),
        (WIDE, "undecided", "Cannot say yet", "Not sure", "No winner yet: … on 20 paired runs contains 1."),
        (0 * PLAIN, "better", "Yes: 1 below", "Sure", "META won: it has a final error 1 below that of …"),
        (np.r_[np.inf, 0.5 * PLAIN[1:]], "better", "Yes: 0.5 ×", "Sure", "… 19 paired runs, 1 more left out because …"),
        (np.full(20, np.inf), "worse", "No", "Sure", "The best fixed λ won: every run of META diverged, and none of …"),
    ],
)  # fmt: skip
def test_verdicts(meta: Any, verdict: str, short: str, sure: str, headline: str) -> None:
    found = findings(made({"fixed": PLAIN[: len(meta)], "META": meta}), ["fixed", "META"])
    assert found.contest.verdict == verdict
    assert found.better.short.startswith(short)
    assert found.sure.short == sure
    assert re.fullmatch(re.escape(headline).replace("…", ".*"), found.headline)


def test_the_headline_is_about_the_best_method_whichever_it_is() -> None:
    some = {"META": 1.1 * PLAIN, "fixed": PLAIN, "AutoTD": 0.7 * PLAIN, "auto": 0.9 * PLAIN}
    for order in (list(some), list(some)[::-1]):
        found = findings(made({name: some[name] for name in order}), order)
        assert found.contest.winner is found.contest.method
        assert found.headline.startswith("AutoTD won: it has 0.7 × the final error of the best fixed λ, 95 % interval")
        assert (found.better.question, found.best.method) == ("Is AutoTD better?", "fixed")
    worse = findings(made({"fixed": PLAIN, "MC": 1.5 * PLAIN, "META": 2 * PLAIN}), ["fixed", "MC", "META"])
    assert worse.headline.startswith("The best fixed λ won: MC, the best other method, has 1.5 × its final error,")


def test_without_a_fixed_lambda_or_with_nothing_else_the_best_two_are_compared() -> None:
    tuned = findings(made({"META": PLAIN, "AutoTD": 0.5 * PLAIN, "MC": 2 * PLAIN}), ["META", "AutoTD", "MC"])
    assert tuned.headline.startswith("AutoTD won: it has 0.5 × the final error of the next best, META, 95 % interval")
    assert (tuned.which.question, tuned.which.short) == ("Which method was best?", "AutoTD")
    assert tuned.better.question == "Is it better than META?"
    fixed = made({"TD0": 2 * PLAIN, "TD1": PLAIN})
    some = [replace(cell, settings={"lam": lam}) for cell, lam in zip(fixed.cells, (0.0, 1.0), strict=True)]
    two = findings(replace(fixed, cells=some), ["TD0", "TD1"])
    assert two.headline.startswith("TD1, λ = 1 won: it has 0.5 × the final error of the next best, TD0, λ = 0, 95 %")
    assert two.which.question == "Which λ was best?"
    both = findings(made({"TD0": 2 * PLAIN, "TD1": PLAIN, "META": PLAIN / 2}), ["TD0", "TD1", "META"])
    assert "0.5 × the final error of the best fixed λ (TD1)" in both.headline


def test_what_cannot_be_compared_is_said() -> None:
    alone = findings(made({"fixed": PLAIN}), ["fixed"])
    assert (alone.contest.verdict, alone.better.short) == ("alone", "Nothing to compare")
    assert alone.headline.startswith("fixed λ was run alone: its final error is")
    assert findings(made({"fixed": [1.0]}), ["fixed"]).headline.endswith("is 1 in 1 run, too few for an interval.")
    apart = made({"fixed": PLAIN, "META": PLAIN})
    cells = [apart.cells[0], replace(apart.cells[1], runs={**apart.cells[1].runs, "seed": np.arange(20.0, 40.0)})]
    disjoint = findings(replace(apart, cells=cells), ["fixed", "META"])
    assert disjoint.headline == "No winner yet: META and the best fixed λ have no finished run in common."
    zero = findings(made({"fixed": 0 * PLAIN, "META": 0 * PLAIN}), ["fixed", "META"])
    assert zero.headline.startswith("META matched the best fixed λ: it has a final error 0 above its own")
    once = findings(made({"fixed": [1.0], "META": [2.0]}), ["fixed", "META"])
    assert "META has 2 × the final error of the best fixed λ, but 1 paired run is too few to tell" in once.headline
    lost = findings(made({"fixed": [1.0, 1.0, np.inf], "META": [np.inf] * 3}), ["fixed", "META"])
    assert "4 of 6 runs diverged" in lost.sure.text
    crossed = findings(made({"fixed": [1.0, np.inf], "META": [np.inf, 1.0]}), ["fixed", "META"])
    assert crossed.headline.endswith("have no pair of runs without divergence.")
    json.dumps(page_data(made({"fixed": [1.0, 1.0, np.inf], "META": [np.inf] * 3})), allow_nan=False)


def test_costs_below_zero_are_compared_by_their_difference() -> None:
    found = findings(made({"fixed": -300 * PLAIN, "META": -480 * PLAIN}), ["fixed", "META"])
    said = f"META won: it has a final error {180 * PLAIN.mean():.3g} below that of the best fixed λ, 95 % interval of"
    assert found.headline.startswith(said)
    assert "excludes 0" in found.sure.text


def test_methods_of_another_truth_are_left_out() -> None:
    view = made({"fixed": PLAIN, "META": 2 * PLAIN, "MC": 0.1 * PLAIN})
    methods = {**view.study.methods, "MC": replace(OF["MC"], truth="thesis")}
    found = findings(replace(view, study=replace(view.study, methods=methods)), list(methods))
    assert found.contest.method.name == "META"
    assert "another truth: MC" in found.sure.text


def test_a_winner_that_another_choice_of_seeds_would_not_confirm_is_not_sure() -> None:
    view = made({"fixed": PLAIN, "META": 0.5 * PLAIN})
    assert findings(view, ["fixed", "META"]).sure.short == "Sure"
    tempting = np.r_[np.full(5, 0.1), np.full(15, 1.0)] * PLAIN[::-1]  # the best on the first quarter alone
    cell = replace(
        view.cells[1],
        runs={**view.cells[1].runs, "tail": tempting},
        tail=replace(view.cells[1].tail, mean=0.8, low=0.7, high=0.9),
    )
    found = findings(replace(view, cells=[*view.cells, cell]), ["fixed", "META"])
    assert (found.contest.verdict, found.sure.short) == ("better", "Fairly sure")


def test_held_out_chooses_on_a_quarter_and_compares_on_the_rest() -> None:
    lucky = np.r_[np.full(5, 0.1), np.full(15, 4.0)]  # best where it is chosen, worst where it is judged
    view = made({"fixed": PLAIN, "META": 2 * PLAIN, "other": lucky})
    found = held_out(view.of("other"), view.of("fixed"))
    assert found == compare(lucky[5:], PLAIN[5:])
    few = made({"fixed": PLAIN[:7], "META": PLAIN[:7]})
    assert held_out(few.of("META"), few.of("fixed")) is None


@pytest.mark.parametrize(("rows", "columns"), [(["SFF", "FHG"], 3), (["SF", "HF", "FG"], 2), ("4x4", 4), ("8x8", 8)])
def test_lakes_are_drawn_as_they_lie(rows: Any, columns: int) -> None:
    study = td.studies.Study(
        "lake", "FrozenLake-v0", {"META": td.studies.Method("TrueOnlineTD", "Meta")}, task_options={"map": rows}
    )
    n = study.environment.mdp.n_states
    found = layouts.layout(study, "META", n)
    assert found.tiles is not None
    assert (found.kind, found.axes, found.tiles[:, 1].max()) == ("map", None, columns)
    assert found.tiles[columns].tolist() == [0, 1, 1, 2]  # the first of the second row
    assert [lam is None for lam in found.values(np.zeros(n))] == [s not in found.live for s in range(n)]
    letters = "".join(rows) if isinstance(rows, list) else None
    if letters:
        assert found.live == [k for k, letter in enumerate(letters) if letter in "SF"]


def test_mountain_car_is_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = np.array([[-0.5, 0.0], [0.3, 0.02], [-1.0, -0.01]])
    truth = td.engine.Truth(seen, np.zeros(3), np.ones(3), np.zeros(3))
    monkeypatch.setattr(layouts, "prepared", lambda *_: ([], truth))
    found = layouts.layout(
        td.studies.Study("car", "MountainCar-v0", {"META": td.studies.Method("TrueOnlineTD", "Meta")}), "META", 3
    )
    assert (found.kind, found.axes) == ("map", ("position", "velocity"))
    assert found.tiles is not None
    np.testing.assert_allclose(found.tiles[:, ::2] + found.tiles[:, 1::2], 2 * seen)


def test_control_says_cost_has_a_map_and_counts_no_reading_of_a_figure(car: Path) -> None:
    view = overview(car)
    data = page_data(view)
    said = data["groups"][0]["found"]["tail"]["words"]
    assert (data["quantity"], data["published"]) == ("cost", True)
    assert "read by eye off the published figure" in said["u-hint"]
    assert "final cost" in said["u-hint"]
    found = findings(view, ["fixed", "META"])
    answers = [vars(answer).values() for answer in (found.which, found.better, found.sure)]
    words = " ".join([found.headline, *(text for answer in answers for text in answer)])
    assert "error" not in words
    assert "final cost (minus the return)" in words
    assert "printed cells agree" not in words
    assert agreement(view) == (0, 0)
    readings = {
        (r.alpha, r.method, r.lam): [-r.value, r.uncertainty]
        for r in mountaincar_figure()
        if r.figure == "fig_mountaincar" and r.alpha in view.alphas
    }
    assert {(p.alpha, p.method, p.lam): [p.mean, p.uncertainty] for p in view.published} == readings


def test_a_task_that_is_not_here_any_more_still_makes_a_page(view: Overview) -> None:
    gone = page_data(replace(view, study=replace(view.study, task="Gone-v0", modules=("no_such_module",))))
    assert gone["figures"]["lambda"]["constants"]["places"] == list(range(11))


def test_the_page_is_one_file_that_asks_for_nothing(view: Overview) -> None:
    text = page(view).replace(library(), "")  # which the browser's tests watch
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "default-src &#x27;none&#x27;" in text
    assert "connect-src" not in text
    assert "unsafe" not in text
    for _, target in re.findall(r"\b(src|href|action)\s*=\s*[\"']([^\"']*)", text):
        assert target.startswith(("#", "data:"))


def test_names_cannot_get_out_of_the_data() -> None:
    wild = "</script><script>alert(1)</script>&<!--\u2028\u2029"
    text = embedded({"title": wild, wild: wild})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"title": wild, wild: wild}
    view = made({"fixed": PLAIN, "META": PLAIN})
    whole = page(replace(view, study=replace(view.study, title=wild)), manifests=[{"source": wild}])
    assert whole.count("<script") == whole.count("</script") == 4
    assert "alert(1)</script" not in whole


@pytest.mark.parametrize(
    ("methods", "least", "most"),
    [(["fixed", "greedy"], 100, 1_200_000), pytest.param(None, 600, 2_000_000, marks=pytest.mark.slow)],
)
def test_a_full_study_is_small_enough(methods: list[str] | None, least: int, most: int) -> None:
    study, some = td.studies.Study.load("ringworld-0.40-0.35"), np.random.default_rng(1)
    study = study if methods is None else study.but(methods=methods)
    at = study.read_at[study.stored_points]
    cells = []
    for method in study.methods:
        for settings in study.cells(method):
            tail, area = (summary(np.exp(some.normal(-9, 3, 4))) for _ in range(2))
            runs = {"seed": np.arange(20), "tail": np.exp(some.normal(size=20)), "area": np.exp(some.normal(size=20))}
            curve = np.exp(some.normal(-9, 3, (2, at.size)))
            runs["curve"] = np.exp(some.normal(-9, 3, (20, at.size)))
            cells.append(
                CellView(
                    method,
                    settings,
                    20,
                    0,
                    tail,
                    area,
                    curve[0],
                    curve[1],
                    some.random(11),
                    runs,
                    some.random((48, 11)),
                )
            )
    text = page(Overview(study, list(range(240)), 1440, 1440, at, cells, []))
    assert len(cells) > least
    assert len(text.encode()) < most
