"""Rows of several machines, interleaved as a queue delivers them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Columns, Lag

LEVELS = {"A": 10.0, "B": 50.0, "C": -5.0}
FEW = Columns("flow", Lag("flow", 1, 2))


def rows(n: int = 400) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    found = []
    for k in range(n):
        for machine, level in LEVELS.items():
            if k % 7 or machine != "C":  # one of them pauses now and then
                found.append({"machine": machine, "flow": level + np.sin(k / 4 + level) + 0.1 * rng.normal()})
    return found


def asked() -> dict[str, td.Question]:
    return {"flow": td.Question("flow", horizon=6, average=True), "next": td.Question("flow", steps=4, of="mean")}


def lane(x: Any) -> td.TrueOnlineTD:
    return td.TrueOnlineTD(x, 0.05, 0.8)


@pytest.mark.parametrize("learner", [lane, td.AutoTD])
def test_separate_learners_are_those_of_separate_hordes(learner: Any) -> None:
    horde = td.Horde(FEW, asked(), learner, by="machine", share=False, intervals=True)
    horde.learn(iter(rows()))
    for machine in LEVELS:
        own = [row for row in rows() if row["machine"] == machine]
        alone = td.Horde(FEW, asked(), learner, intervals=True)
        alone.learn(iter([{"flow": row["flow"]} for row in own]))
        found = horde.predict(by=machine)
        if learner is td.AutoTD:  # it receives raw numbers, so nothing is common to the streams
            assert found == alone.predict()
            assert horde.interval(by=machine) == alone.interval()
        assert abs(found["flow"] - LEVELS[machine]) < 2


def test_shared_learners_keep_the_traces_of_each_stream() -> None:
    """TD(λ) with one weight vector and a trace for each machine, in plain NumPy."""
    alpha, lam, gamma = 0.02, 0.9, 0.8
    small = [row | {"flow": row["flow"] / 50, "y": row["flow"] / 50} for row in rows(60)]
    for k in (40, 41, 90):
        small[k]["y"] = np.nan  # the step to this row is skipped, and the traces of its machine are reset
    for k in (50, 51, 52, 80, 83):
        small[k]["flow"] = np.nan  # the machine's last reading is repeated
    question = {"flow": td.Question("y", gamma=gamma)}
    horde = td.Horde(
        td.features.Dense(1), question, lambda x: td.TD(x, alpha, lam), by="machine", observed=["flow"]
    ).learn(iter(small))
    w, trace, last = 0.0, dict.fromkeys(LEVELS, 0.0), dict.fromkeys(LEVELS, np.nan)
    for row in small:
        machine, x = row["machine"], row["flow"] if row["flow"] == row["flow"] else last[row["machine"]]
        if row["y"] != row["y"]:
            trace[machine] = 0.0
        elif last[machine] == last[machine]:
            before = last[machine]
            trace[machine] = gamma * lam * trace[machine] + before
            w += alpha * (row["y"] + gamma * w * x - w * before) * trace[machine]
        last[machine] = x
    assert 0.1 < w < 100
    parts = td.Horde(
        td.features.Dense(1), question, lambda x: td.TD(x, alpha, lam), by="machine", observed=["flow"], missing="mask"
    ).learn(iter(small), chunk=7)
    assert all(parts.predict(by=machine) == horde.predict(by=machine) for machine in LEVELS)
    for machine in LEVELS:
        np.testing.assert_allclose(horde.predict(by=machine)["flow"], w * last[machine], rtol=1e-9)


@pytest.mark.parametrize("share", [True, False])
def test_one_by_one_in_chunks_and_saved_in_between(share: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"by": "machine", "share": share, "intervals": True}
    whole = td.Horde(FEW, asked(), lane, **options).learn(iter(rows()))
    small = td.Horde(FEW, asked(), lane, **options).learn(iter(rows()), chunk=37)
    one = td.Horde(FEW, asked(), lane, **options)
    for row in rows()[:500]:
        one.update(row)
    one.save(tmp_path / "fleet")
    one = td.load(tmp_path / "fleet")
    one.learn(iter(rows()[500:]))
    assert whole.streams == small.streams == one.streams
    for machine in LEVELS:
        assert whole.predict(by=machine) == small.predict(by=machine) == one.predict(by=machine)
        assert whole.interval(by=machine) == one.interval(by=machine)
    whole.save(tmp_path / "a")
    one.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("share", [True, False])
def test_by_default_every_machine_is_predicted_and_scored(share: bool) -> None:
    horde = td.Horde(None, asked(), by="machine", share=share)
    result = td.streams.prequential(horde, iter(rows()), baselines=["running mean", "last value"])
    assert ("category of machine" in str(horde.features)) == share
    for machine, level in LEVELS.items():
        assert abs(horde.predict(by=machine)["flow"] - level) < 2
    assert result["flow"].late.r2 > 0.99  # the level alone explains most
    assert result["next"].late.r2 > 0.99
    assert result["flow"].known.sum() > 0.8 * len(rows())
    ahead = horde.predict({"machine": "B", "flow": 50.0})
    assert abs(ahead["flow"] - 50) < 2
    assert horde.predict({"machine": ["A", "B"], "flow": [10.0, 50.0]})["flow"].shape == (2,)


def test_machines_that_share_learners_are_as_good_as_their_last_day() -> None:
    """Three levels, each with a clean day: R² of each machine by itself. A prediction for one that is not the last."""
    rng, t, gamma = np.random.default_rng(0), np.arange(24 * 22), 1 - 1 / 12
    y = np.outer(1 + 0.3 * np.sin(2 * np.pi * t / 24), [10, 50, 200]) * (1 + 0.01 * rng.normal(size=(t.size, 3)))
    dates = np.datetime64("2025-01-01T00") + t
    fleet = [
        {"date": date, "machine": m, "y": v}
        for date, row in zip(dates, y, strict=True)
        for m, v in zip("ABC", row, strict=True)
    ]
    horde = td.Horde(None, {"y": td.Question("y", gamma=gamma, average=True)}, by="machine")
    found = td.streams.prequential(horde, iter(fleet), baselines=[])["y"]
    for k, level in enumerate((10, 50, 200)):
        mine = found.rows % 3 == k
        p, row, G, total = found.prediction[mine], found.rows[mine] // 3, np.zeros(t.size), 0.0
        for i in range(t.size - 2, -1, -1):
            total = (1 - gamma) * y[i + 1, k] + gamma * total
            G[i] = total
        some = (row >= 150) & (row < t.size - 80)
        assert 1 - np.mean((p[some] - G[row[some]]) ** 2) / np.var(G[row[some]]) > 0.9
        assert abs(horde.predict(by="ABC"[k])["y"] - level) < 0.4 * level
        ahead = horde.predict({"date": dates[-1] + 1, "machine": "ABC"[k], "y": float(y[-24, k])})["y"]
        assert abs(ahead - level) < 0.4 * level


@pytest.mark.parametrize("question", [td.Question("flow", gamma=0.8, average=True), td.Question("flow", steps=5)])
def test_intervals_are_those_of_each_machine(question: td.Question) -> None:
    """Machines that share learners, one of them a hundred times as noisy; rows in one chunk and one by one."""
    rng, noise = np.random.default_rng(2), {"A": 0.01, "B": 1.0}
    fleet = [{"machine": m, "flow": 10 + s * rng.normal()} for _ in range(500) for m, s in noise.items()]
    whole = td.Horde(FEW, {"q": question}, by="machine", intervals=True).learn(iter(fleet))
    one = td.Horde(FEW, {"q": question}, by="machine", intervals=True)
    for row in fleet:
        one.update(row)
    widths = {m: float(np.diff(whole.interval(by=m)["q"])[0]) for m in noise}
    assert 0 < 20 * widths["A"] < widths["B"]
    assert {m: one.interval(by=m) for m in noise} == {m: whole.interval(by=m) for m in noise}
    short = [{"machine": k // 25, "flow": 10 + rng.normal()} for k in range(1000)]  # too few for errors of their own
    low, high = td.Horde(FEW, {"q": question}, by="machine", intervals=True).learn(iter(short)).interval()["q"]
    assert 0 < high - low < np.inf


def test_columns_of_text_leave_a_fleet_its_naive_forecasts() -> None:
    """With dates and three columns of text there are more than 64 features."""
    hour = np.datetime64("2025-01-01T00") + np.arange(200)
    some = [row | {"site": "a", "note": f"n{k % 20}", "date": hour[k // 3]} for k, row in enumerate(rows(60))]
    horde = td.Horde(None, asked(), by="machine").learn(iter(some))
    assert all("running mean" in one.expert_weights() for one in horde.learners.values())  # type: ignore[attr-defined]


def test_alarms_name_the_machine(tmp_path: Path) -> None:
    some = rows(300)
    some[700]["flow"] = 1e6
    horde = td.Horde(FEW, asked(), lane, by="machine").learn(iter(some))
    assert [str(alarm) for alarm in horde.alarms] == [
        f"row 700, {some[700]['machine']}, flow: a reading far outside its range"
    ]
    horde.save(tmp_path / "fleet")
    assert td.load(tmp_path / "fleet").alarms == horde.alarms


def test_what_is_wrong_is_said() -> None:
    horde = td.Horde(FEW, asked(), lane, by="machine").learn(iter(rows(50)))
    with pytest.raises(ValueError, match="the stream 'D' has no row yet; streams are '"):
        horde.predict(by="D")
    with pytest.raises(ValueError, match="by: this Horde has one stream"):
        td.Horde(FEW, asked(), lane).learn(iter(rows(50))).predict(by="A")


def test_the_page_draws_one_machine_and_scores_each() -> None:
    rng, n = np.random.default_rng(0), 400
    data = [
        {"machine": name, "y": level + scale * np.sin(k / 4) + rng.normal(0, 0.1)}
        for k in range(n)
        for name, level, scale in (("still", 0.0, 0.0), ("moving", 90.0, 3.0))
        if name == "still" or not 200 <= k < 260
    ]
    horde = td.Horde(None, td.Question("y", horizon=3, average=True), by="machine", share=False)
    result = td.streams.prequential(horde, iter(data), baselines=[])
    scored = result["y"]
    assert scored.late.r2 > 0.99  # of both together: the two levels
    of, late = np.array(scored.streams), scored._halves()[1]
    each = [scored._fit(scored.prediction, late & (of == machine)).r2 for machine in ("still", "moving")]
    assert each[0] < 0.5 < each[1]
    said = (
        f"2 streams together; R² of each by itself in the second half: {each[0]:.3f} (still) to {each[1]:.3f} (moving)"
    )
    assert said in str(result)
    whole, last, *_ = [_drawn(part) for part in result.plot().to_dict()["vconcat"]]
    for title, values in (whole, last):
        assert "of moving" in title
        assert values
        assert all(value["value"] > 50 for value in values)  # no line to the other machine
    assert len({value["piece"] for value in whole[1] if value["what"] == "prediction"}) == 2


def _drawn(part: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The title of a part of a chart, and the points of its lines."""
    data = [part.get("data", {}), *(layer.get("data", {}) for layer in part.get("layer", ()))]
    return str(part.get("title")), [v for some in data for v in some.get("values", ()) if "what" in v]
