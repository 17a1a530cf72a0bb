"""A Horde is as many learners as it has questions: each fed by hand, row by row, in plain Python."""

import copy
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Columns, Season

ROWS, WIDTH = 160, 6
RNG = np.random.default_rng(3)


def stream() -> dict[str, Any]:
    """Rows with everything: numbers, a γ and a ρ that vary, groups, gaps, ends of episodes, missing cumulants."""
    x = RNG.normal(size=(ROWS, WIDTH))
    frame: dict[str, Any] = {f"x{k}": x[:, k] for k in range(WIDTH)}
    frame["gamma"], frame["rho"] = RNG.random(ROWS), 2 * RNG.random(ROWS)
    frame["pi"], frame["b"] = RNG.random(ROWS), 0.2 + 0.8 * RNG.random(ROWS)
    frame["group"] = np.sort(RNG.integers(4, size=ROWS))
    frame["time"] = np.cumsum(np.where(RNG.random(ROWS) < 0.06, 5.0, 1.0))
    frame["done"] = RNG.random(ROWS) < 0.05
    frame["rare"] = np.where(RNG.random(ROWS) < 0.15, np.nan, x[:, 0])
    frame["other"] = np.where(RNG.random(ROWS) < 0.15, np.nan, x[:, 1])
    return frame


FRAME = stream()
QUESTIONS = {
    "plain": td.Question("x0", gamma=0.9),
    "horizon": td.Question("x1", horizon=4),
    "average": td.Question("x2", horizon=4, average=True),
    "column": td.Question("x0", gamma="gamma"),
    "function": td.Question(lambda row, after: row["x0"] * after["x1"], gamma=lambda row: 0.5 + 0.4 * (row["x2"] > 0)),
    "ratio": td.Question("x3", gamma=0.8, rho="rho"),
    "policies": td.Question("x3", gamma=0.7, target="pi", behavior="b"),
    "by rule": td.Question("x3", gamma=0.7, rho=lambda row: 1.5 if row["x0"] > 0 else 0.2),
    "terminal": td.Question("x4", gamma="gamma", terminal="x5"),
    "pseudo": td.Question("x4", gamma=0.8, terminal=2.0),
    "rare": td.Question("rare", gamma=0.9),
    "as rare": td.Question("rare", gamma=0.5),
    "other": td.Question("other", gamma=0.9),
}
FEATURES = [f"x{k}" for k in range(WIDTH)]
RULES: dict[str, Any] = {"by": "group", "time": "time", "gap": 2.0, "terminated": "done", "missing": "hold"}
LEARNERS: dict[str, Any] = {
    "TD": lambda x: td.TD(x, 0.02, 0.8),
    "replacing": lambda x: td.TD(x, 0.02, 0.8, traces="replacing"),
    "true online GTD": lambda x: td.TrueOnlineGTD(x, 0.02, 0.8),
    "by steps": lambda x: td.TrueOnlineTD(x, td.steps.OneOver("steps", 0.1), 0.8),
    "meta": lambda x: td.TrueOnlineTD(x, 0.02, td.rules.Meta(0.05)),
    "ETD": lambda x: td.ETD(x, 0.005, 0.5),
    "retrace": lambda x: td.TrueOnlineTD(x, 0.02, 0.8, correction="retrace"),
    "tree": lambda x: td.TrueOnlineTD(x, 0.02, 0.8, correction="tree"),
    "centred": lambda x: td.TD(x, 0.02, 0.8, centering=0.1),
    "swift": lambda x: td.TrueOnlineTD(x, td.steps.Swift(0.01, 0.5, 0.01), 0.8),
    "LSTD": lambda x: td.RecursiveLSTD(x, 0.8),
    "AutoTD": td.AutoTD,
}


def source(given: Any, frame: dict[str, Any], t: int) -> float:
    if isinstance(given, str):
        return float(frame[given][t])
    return float(given({name: column[t] for name, column in frame.items()})) if callable(given) else float(given)


def by_hand(question: td.Question, learner: Any, frame: dict[str, Any]) -> Any:
    """One learner, row by row: what a user had to write before."""
    cut, n = True, len(frame["x0"])
    for t in range(n - 1):
        row, after = ({name: column[k] for name, column in frame.items()} for k in (t, t + 1))
        together = frame["group"][t] == frame["group"][t + 1] and not frame["done"][t]
        if not together or frame["time"][t + 1] - frame["time"][t] > 2.0:
            cut = True
            continue
        c = question.cumulant(row, after) if callable(question.cumulant) else float(after[str(question.cumulant)])
        gamma = 1 - 1 / question.horizon if question.horizon else source(question.gamma, frame, t + 1)
        if np.isnan(c):
            cut = True
            continue
        reward = (1 - gamma) * c if question.average else c
        if question.terminal is not None:
            reward += (1 - gamma) * source(question.terminal, frame, t + 1)
        more: dict[str, Any] = {}
        rho = 1.0 if question.rho is None else source(question.rho, frame, t)
        if question.target is not None:
            b = source(question.behavior, frame, t)
            rho = source(question.target, frame, t) / b
            more = {"behavior": b} if hasattr(learner, "correction") else {}
        elif hasattr(learner, "correction"):
            more = {"behavior": 1.0}
        if cut:
            learner.reset()
        x, y = (np.array([frame[name][k] for name in FEATURES]) for k in (t, t + 1))
        learner.update(x, reward, y, gamma, rho, bool(frame["done"][t + 1]), **more)
        cut = False
    return learner


def each_question_is_a_learner_alone(kind: str) -> None:
    horde = td.Horde(td.features.Dense(WIDTH), QUESTIONS, LEARNERS[kind], observed=FEATURES, **RULES).learn(
        FRAME, chunk=37
    )
    x = np.linspace(-1, 1, WIDTH)
    for name, question in QUESTIONS.items():
        alone = by_hand(question, LEARNERS[kind](td.features.Dense(WIDTH)), FRAME)
        ours = horde.learners[name]
        assert ours.predict(x) == pytest.approx(alone.predict(x), rel=1e-12, abs=1e-12), name
        np.testing.assert_allclose(ours.weights, alone.weights, rtol=1e-12, atol=1e-12)
    obs = np.array([FRAME[name][-1] for name in FEATURES])
    for name, value in horde.predict().items():
        assert value == pytest.approx(horde.learners[name].predict(obs), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["TD", "AutoTD"])
def test_each_question_is_a_learner_alone(kind: str) -> None:
    each_question_is_a_learner_alone(kind)


@pytest.mark.interpreted
def test_with_every_kind_of_learner() -> None:
    for kind in {*LEARNERS} - {"TD", "AutoTD"}:
        each_question_is_a_learner_alone(kind)


def test_a_copy_shares_nothing_and_goes_on_alike() -> None:
    for kind in ("TD", "AutoTD"):
        own = td.Horde(td.features.Dense(WIDTH), QUESTIONS, LEARNERS[kind], observed=FEATURES, **RULES)
        own.learn({name: column[:90] for name, column in FRAME.items()})
        before, clone = own.predict(), copy.copy(own)
        rest = {name: column[90:] for name, column in FRAME.items()}
        assert clone.learn(rest).predict() != before
        assert own.predict() == before
        assert own.learn(rest).predict() == clone.predict()


def test_chunks_do_not_matter_to_lanes() -> None:
    """Nor do questions that sleep and part their lanes; gradient methods keep sums between steps."""
    asked = {name: question for name, question in QUESTIONS.items() if name != "function"}
    maker: Any = LEARNERS["TD"]
    found = [
        td.Horde(td.features.Dense(WIDTH), asked, maker, observed=FEATURES, **RULES).learn(FRAME, chunk=chunk).predict()
        for chunk in (1, 23, 1000)
    ]
    assert found[0] == found[1] == found[2]


def test_a_question_that_diverges_leaves_the_others_alone() -> None:
    kinds: Any = {"good": lambda x: td.TD(x, 0.02, 0.5), "bad": lambda x: td.TD(x, 5.0, 0.5)}
    asked = {name: td.Question("x0", gamma=0.9) for name in kinds}
    horde = td.Horde(td.features.Dense(WIDTH), asked, kinds, observed=FEATURES).learn(
        FRAME | {"rare": FRAME["x0"]}, chunk=10
    )
    assert [alarm.kind for alarm in horde.alarms if alarm.name == "bad"] == ["diverged"]
    alone = td.Horde(td.features.Dense(WIDTH), {"good": asked["good"]}, kinds["good"], observed=FEATURES)
    assert horde.predict()["good"] == pytest.approx(alone.learn(FRAME).predict()["good"], rel=1e-12)
    assert np.isfinite(horde.predict()["bad"])


def test_dates_may_be_text_as_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "flow.csv"
    lines = [f"2025-05-{day:02} {hour:02}:00,{day + hour}" for day in range(1, 5) for hour in range(24)]
    file.write_text("date,flow\n" + "\n".join(lines), encoding="utf-8")
    hordes = [td.Horde(None, td.Question("flow", gamma=0.9), time="date") for _ in range(2)]
    for horde, date in zip(hordes, ("2025-05-05 00:00", datetime(2025, 5, 5)), strict=True):
        horde.learn(file)
        horde.update({"date": date, "flow": 5.0})
    assert hordes[0].predict() == hordes[1].predict()
    hordes[0].update({"date": "noon", "flow": 5.0})
    assert hordes[0].quality.unreadable == {"date": 1}


def test_a_row_at_a_time_meets_gaps_repeated_times_and_far_readings_as_a_table_does() -> None:
    rng, n = np.random.default_rng(3), 400
    apart = np.where(rng.random(n) < 0.05, 0.0, np.where(rng.random(n) < 0.05, 900.0, 60.0))
    frame = {"t": np.cumsum(apart), "flow": rng.normal(size=n), "heat": rng.normal(size=n)}
    frame["flow"][[150, 151, 300]], frame["heat"][[20, 200, 201]], frame["t"][170] = 1e5, np.nan, np.nan
    asked = [td.Question("flow", gamma=0.9), td.Question("heat", gamma=0.5, average=True)]

    def new() -> td.Horde:
        learner = lambda x: td.TrueOnlineTD(x, 0.01, 0.9)  # noqa: E731
        return td.Horde(td.features.Columns("flow", "heat"), asked, learner, time="t", gap=500.0)

    table, rows = new(), new()
    table.learn({name: column[:250] for name, column in frame.items()}).reset()
    table.learn({name: column[250:] for name, column in frame.items()})
    for i in range(n):
        rows.update({name: float(column[i]) for name, column in frame.items()})
        if i == 249:
            rows.reset()
    assert rows.predict() == table.predict()
    assert rows.alarms == table.alarms
    assert rows.quality.far == table.quality.far > 0
    assert rows.quality.repeated == table.quality.repeated > 0


@pytest.mark.parametrize(("period", "slots", "minutes"), [("day", 24, 60), ("day", 288, 5), ("week", 168, 60)])
def test_a_season_is_what_follows_if_the_last_one_repeats(period: str, slots: int, minutes: int) -> None:
    """Every row has a slot of its own, also where the time is at the limit of two."""
    rng, n, gamma = np.random.default_rng(0), 2 * slots + 40, 0.9
    date = np.datetime64("2025-01-01T00:00") + minutes * np.arange(n)
    y = rng.normal(size=n)
    features = Columns("y", Season("y", "date", period, slots, gamma=gamma), constant=False)
    horde = td.Horde(features, td.Question("y", gamma=gamma), td.AutoTD)
    horde.learn({"date": date, "y": y})
    X = [horde._at_work("test").places[None].here.copy()]  # AutoTD gets raw numbers
    for k in range(n, n + 5):
        y = np.append(y, rng.normal())
        horde.update({"date": date[0] + minutes * k, "y": y[-1]})
        X.append(horde._at_work("test").places[None].here.copy())
    for k, x in enumerate(X):
        t = n - 1 + k
        last = y[t + 1 - slots : t + 1]
        weight = gamma ** np.arange(slots)
        weight = weight[: int(np.argmax(weight < 1e-4)) or slots]
        np.testing.assert_allclose(x[1], weight @ last[: weight.size] / weight.sum(), rtol=1e-9)
        assert x[2] == last[0]


def test_an_average_is_the_sum_in_other_units() -> None:
    """The naive forecasts beside the learner, too: with an average, rewards are scaled but readings are not."""
    rng, t = np.random.default_rng(0), np.arange(600)
    y = 50 + 5 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.2, t.size)
    made = {}
    for average in (False, True):
        horde = td.Horde(None, td.Question("y", horizon=12, average=average))
        found = td.streams.prequential(horde, {"y": y}, baselines=[])["y"]
        made[average] = found.prediction * (1 if average else 1 / 12)
    np.testing.assert_allclose(made[True], made[False], rtol=2e-3)  # 1e-6 apart, weights may stop elsewhere
