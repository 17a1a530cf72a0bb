"""Files as they come, and the same rows in every other form: the same predictions, and nothing lost in silence."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tdlambda as td
from tdlambda.streams import cell_kinds as cells

DATA = Path(__file__).parent / "data"
EWR, CGM = DATA / "ewr.csv", DATA / "cgm.csv"
ASKED = {"wind": td.Question("wind_speed", horizon=24, average=True)}


def learned(data: Any, asked: Any = None) -> td.Horde:
    return td.Horde(None, asked or ASKED).learn(data)


# ---- 1. dates ----------------------------------------------------------------------------------------------------


def test_every_form_of_the_dates_gives_the_same_predictions(tmp_path: Path) -> None:
    truth = learned(EWR).predict()
    text = pd.read_csv(EWR)
    dated = text.assign(time_hour=pd.to_datetime(text["time_hour"]))
    american = text.assign(time_hour=dated["time_hour"].dt.strftime("%m/%d/%Y %H:%M"))
    european = text.assign(time_hour=dated["time_hour"].dt.strftime("%d.%m.%Y %H:%M:%S"))
    named = text.assign(time_hour=dated["time_hour"].dt.strftime("%d %b %Y %I:%M %p"))
    zoned = dated.assign(time_hour=dated["time_hour"].dt.tz_convert("America/New_York"))
    american.to_csv(tmp_path / "american.csv", index=False)
    forms = {
        "text dates": text, "parsed": dated, "index": dated.set_index("time_hour"),
        "text index": text.set_index("time_hour"),
        "american": american, "american file": tmp_path / "american.csv", "european": european, "named": named,
        "zoned": zoned, "polars": pl.read_csv(EWR), "polars dates": pl.read_csv(EWR, try_parse_dates=True),
        "arrow": pl.read_csv(EWR).to_arrow(), "dicts": iter(text.to_dict("records")),
        "epoch": dated.assign(time_hour=dated["time_hour"].map(lambda t: t.timestamp())),
    }  # fmt: skip
    for name, data in forms.items():
        np.testing.assert_allclose(learned(data).predict()["wind"], truth["wind"], rtol=1e-9, err_msg=name)


def test_dicts_one_by_one_choose_the_same_features() -> None:
    rows = pd.read_csv(EWR).to_dict("records")
    one = td.Horde(None, ASKED)
    for row in rows[:99]:
        one.update(row)
    mean = float(np.mean([row["wind_speed"] for row in rows[1:99]]))
    assert one.rows == 99
    assert one.predict()["wind"] == pytest.approx(mean)
    assert one.features is None
    for row in rows[99:]:
        one.update(row)
    whole = learned(EWR)
    assert repr(one.features) == repr(whole.features)
    assert "season of wind_speed: day" in str(one.features)
    np.testing.assert_allclose(one.predict()["wind"], whole.predict()["wind"], rtol=1e-9)


def test_a_loaded_horde_understands_text_dates_as_a_new_one(tmp_path: Path) -> None:
    text = pd.read_csv(EWR)
    horde = learned(text[:600])
    horde.save(tmp_path / "horde")
    loaded = td.load(tmp_path / "horde").learn(text, skip=600)
    np.testing.assert_allclose(loaded.predict()["wind"], learned(text).predict()["wind"], rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("10/3/2016 0:00", "2016-10-03"), ("2016/10/03 14:05", "2016-10-03T14:05"),
        ("2016-10-03T14:05:06Z", "2016-10-03T14:05:06"),
        ("2016-10-03 14:05:06+02:00", "2016-10-03T12:05:06"), ("2016-10-03 14:05 UTC", "2016-10-03T14:05"),
        ("Oct 3, 2016 2:05 PM", "2016-10-03T14:05"), ("03-Oct-16", "2016-10-03"), ("12/31/1999 12:00 AM", "1999-12-31"),
        ("20161003T140506", "2016-10-03T14:05:06"), ("2016-10", "2016-10-01"),
        ("03/Oct/2016:14:05:06 +0200", "2016-10-03T12:05:06"), ("Mon Oct  3 14:05:06 UTC 2016", "2016-10-03T14:05:06"),
        ("Mon, 03 Oct 2016 14:05:06 GMT", "2016-10-03T14:05:06"), ("10/3/2016 14:05:06.250", "2016-10-03T14:05:06.250"),
    ],
)  # fmt: skip
def test_usual_forms_of_dates(text: str, iso: str) -> None:
    assert cells.moment(text) == cells.seconds(np.datetime64(iso))


def test_the_order_of_day_and_month_is_that_of_the_column() -> None:
    column = np.array(["3/10/2016", "13/10/2016"], dtype=object)
    assert cells.kind_of("date", column) == cells.DAY_FIRST
    assert cells.kind_of("date", column[:1]) == cells.DATES
    for wrong in ("13/13/2016", "noon", "10/3/2016 25:00", "3 Foo 2016", "1/1/2016 13:00 PM"):
        with pytest.raises(ValueError, match=r"month|date|hour|day"):
            cells.moment(wrong)
    hours = np.arange(np.datetime64("2016-10-01T00"), np.datetime64("2016-10-05T04"))  # no day above 12
    for form, kind in (("{1}-{2}-{0} {3}:00", cells.DATES), ("{2}-{1}-{0} {3}:00", cells.DAY_FIRST)):
        text = [form.format(*str(t).replace("T", "-").split("-")) for t in hours]
        assert cells.kind_of("date", np.array(text, dtype=object)) == kind
        assert cells.converted(np.array(text, dtype=object), kind)[0].tolist() == [cells.seconds(t) for t in hours]
    minutes = np.array([195803291430.0, 195803291431.0])
    assert cells.kind_of("stamp", minutes) == cells.DIGITS
    assert cells.converted(minutes, cells.DIGITS)[0][1] == cells.seconds(np.datetime64("1958-03-29T14:31"))
    digits = np.array([19580329.0, 19580405.0])
    assert cells.kind_of("date", digits) == cells.DIGITS
    dates = [cells.seconds(np.datetime64(text)) for text in ("1958-03-29", "1958-04-05")]
    assert cells.converted(digits, cells.DIGITS)[0].tolist() == dates
    assert cells.kind_of("flow", digits) == cells.NUMBERS


def test_dates_in_another_form_are_not_lost_in_silence(tmp_path: Path) -> None:
    text = pd.read_csv(EWR)
    when = pd.to_datetime(text["time_hour"])
    horde = learned(text.assign(time_hour=when.dt.strftime("%H:%M on %d %B %Y")))
    assert "taken as text, because its dates are not recognised: time_hour, such as '0" in str(horde.quality)
    horde.save(tmp_path / "horde")
    assert str(td.load(tmp_path / "horde").quality) == str(horde.quality)
    assert "not recognised" not in str(learned(text.assign(day=when.dt.day_name())).quality)


def test_text_in_other_encodings_and_gzipped(tmp_path: Path) -> None:
    text = EWR.read_text().replace("wind_speed", "Wärme")
    asked, found = {"it": td.Question("Wärme", horizon=24, average=True)}, []
    for name, data in {
        "plain.csv": text.encode(), "latin.csv": text.encode("latin-1"), "utf16.csv": text.encode("utf-16"),
        "gzipped.csv.gz": gzip.compress(text.encode()),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        found.append(learned(tmp_path / name, asked).predict())
    assert found == found[:1] * 4


def test_series_of_pandas_are_rows() -> None:
    frame, one, many = pd.read_csv(EWR)[:150], td.Horde(None, ASKED), td.Horde(None, ASKED)
    for (_, row), given in zip(frame.iterrows(), frame.to_dict("records"), strict=True):
        one.update(row)
        many.update(given)
    assert one.predict() == many.predict()


# ---- 2. missing and unreadable cells -----------------------------------------------------------------------------


def test_raw_files_run_without_an_option_and_say_what_was_missing() -> None:
    horde = learned(EWR)
    assert horde.quality.missing["pressure"] > 10
    assert "cells without a value (pressure" in str(horde.quality)
    sugar = learned(CGM, {"glucose": td.Question("glucose", horizon=12)})
    assert sugar.quality.missing["isig"] > 100
    assert np.isfinite(sugar.predict()["glucose"])


def test_words_among_numbers_are_counted_and_held(tmp_path: Path) -> None:
    lines = CGM.read_text().splitlines()
    lines[50] = "nil," + lines[50].split(",", 1)[1]
    lines[51] = "broken," + lines[51].split(",", 1)[1]
    lines[60] = lines[59]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    horde = learned(tmp_path / "rows.csv", td.Question("glucose", horizon=12))
    assert horde.quality.unreadable == {"isig": 1}
    assert "such as 'broken'" in str(horde.quality)
    assert horde.quality.repeated == 1
    frame = learned(pd.read_csv(tmp_path / "rows.csv"), td.Question("glucose", horizon=12))
    np.testing.assert_allclose(frame.predict()["glucose"], horde.predict()["glucose"], rtol=1e-9)
    assert frame.quality == horde.quality


def test_quality_is_the_same_row_by_row(tmp_path: Path) -> None:
    """Also the order of columns with equal counts: that of the columns, not that in which cells were missing."""
    rows: list[dict[str, Any]] = [{"flow": np.sin(k), "a": 1.0 * k, "b": 2.0 * k, "c": 3.0 * k} for k in range(120)]
    for k, name in ((102, "c"), (105, "b"), (107, "a")):
        rows[k][name] = None
    rows[110]["c"], rows[112]["b"] = "broken", "worn"
    one, whole = (td.Horde(None, td.Question("flow", horizon=4)) for _ in range(2))
    for row in rows:
        one.update(row)
    whole.learn(iter(rows))
    assert list(one.quality.missing) == list(whole.quality.missing) == ["a", "b", "c"]
    assert str(one.quality) == str(whole.quality)
    one.save(tmp_path / "one")
    whole.save(tmp_path / "whole")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "whole").read_bytes()


def test_rows_of_several_machines_without_their_column_are_noticed() -> None:
    times = np.datetime64("2025-01-01T00") + np.repeat(np.arange(60), 2)
    horde = learned(
        {"time": times, "machine": ["a", "b"] * 60, "y": np.sin(np.arange(120))}, td.Question("y", horizon=3)
    )
    assert "60 repeated times, as if several streams took turns: name their column with by=" in str(horde.quality)


def test_a_missing_target_is_never_filled() -> None:
    """Its step is skipped: the learner is that of a stream without the step into the missing row."""
    y = np.sin(np.arange(300) / 5)
    y[200] = np.nan
    features = td.features.Columns("x")
    x = np.cos(np.arange(300) / 5)
    horde = td.Horde(features, td.Question("y", gamma=0.9), lambda f: td.TD(f, 0.1, 0.8)).learn({"x": x, "y": y})
    learner: Any = horde.learners["y"]
    assert learner.steps == 298


# ---- 3. missing targets and scores -------------------------------------------------------------------------------


def test_what_can_be_scored_is_scored() -> None:
    rng, t = np.random.default_rng(0), np.arange(3000)
    y = 10 + np.sin(t / 4) + rng.normal(0, 0.1, 3000)
    full = td.streams.prequential(td.Horde(None, td.Question("y", horizon=24)), {"y": y}, baselines=[])["y"]
    for n in (10, 30):
        z = y.copy()
        z[rng.choice(np.arange(200, 2900), n, replace=False)] = np.nan
        part = td.streams.prequential(
            td.Horde(None, td.Question("y", horizon=24)), {"y": z}, baselines=["running mean"]
        )["y"]
        assert part.known.sum() > 0.8 * full.known.sum()
        assert abs(part.late.r2 - full.late.r2) < 0.05
        assert any(f"{n} values are missing" in remark for remark in part.remarks())
    half = np.where(rng.random(3000) < 0.5, np.nan, y)
    half[:100] = y[:100]
    none = td.streams.prequential(td.Horde(None, td.Question("y", horizon=24)), {"y": half}, baselines=[])["y"]
    assert not none.known[150:].any()
    assert not any("shorter" in remark for remark in none.remarks())
    assert not any("drop such rows" in remark for remark in part.remarks())
    many = np.where(np.arange(3000) % 12 == 5, np.nan, y)
    some = td.streams.prequential(td.Horde(None, td.Question("y", gamma=0.5)), {"y": many}, baselines=[])["y"]
    assert any("are missing in the column" in r and r.endswith("drop such rows") for r in some.remarks())


def test_that_no_answer_of_the_second_half_is_known_is_said() -> None:
    y = 10 + np.sin(np.arange(400) / 4)
    found = td.streams.prequential(td.Horde(None, td.Question("y", horizon=24)), {"y": y}, baselines=[])["y"]
    assert found.known.any()
    assert not found.known[200:].any()
    assert found.remarks()[0] == "no answer in the second half is known yet; see the early scores"


# ---- 6. odd columns ----------------------------------------------------------------------------------------------


def test_a_long_cell_and_many_columns(tmp_path: Path) -> None:
    lines = ["flow,note", *(f"{np.sin(k)},a" for k in range(150))]
    lines[70] = "0.5," + "x" * 200_000
    (tmp_path / "long.csv").write_text("\n".join(lines))
    assert learned(tmp_path / "long.csv", td.Question("flow", gamma=0.9)).rows == 150


def test_a_column_name_with_control_characters_is_drawn(tmp_path: Path) -> None:
    name = "flow\x00\x1b[31m"
    y = np.sin(np.arange(400) / 5)
    y[300] = 1e9
    horde = td.Horde(None, td.Question(name, horizon=5))
    result = td.streams.prequential(horde, {name: y}, baselines=[])
    result.page(tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text()
    for text in map(str, (result, horde.features, horde.alarms[0])):
        assert "flow\\x00\\x1b[31m" in text
        assert "\x1b" not in text


def test_rows_before_a_generator_fails_are_learned() -> None:
    def rows() -> Any:
        for k in range(60):
            yield {"flow": float(np.sin(k))}
        raise OSError("the queue is gone")

    horde = td.Horde(None, td.Question("flow", gamma=0.9))
    with pytest.raises(OSError, match="queue"):
        horde.learn(rows())
    assert horde.rows == 60


# ---- 8. the page -------------------------------------------------------------------------------------------------


def test_the_title_and_the_repr_are_for_people() -> None:
    y = np.sin(np.arange(2000) / 5)
    result = td.streams.prequential(td.Horde(None, td.Question("flow", horizon=5)), {"flow": y}, baselines=[])
    assert result.title == "Predictions of flow: 2,000 rows"
    assert len(repr(result)) < 100
    assert len(repr(result["flow"])) < 100


def test_lines_end_where_there_are_no_data() -> None:
    from tdlambda.charts.prequential import _lines

    y = np.sin(np.arange(600) / 5)
    y[300:340] = np.nan
    result = td.streams.prequential(td.Horde(None, td.Question("flow", horizon=5)), {"flow": y}, baselines=[])["flow"]
    every = np.arange(result.rows.size)
    spec = _lines(result, every, every, "title").to_dict(validate=False)
    data = spec["data"] if "data" in spec else spec["layer"][0]["data"]
    values = [v for v in data["values"] if v["what"] == "realised return"]
    pieces = {v["piece"] for v in values}
    assert len(pieces) == 2
    assert all(
        max(v["row"] for v in values if v["piece"] == p) - min(v["row"] for v in values if v["piece"] == p) < 340
        for p in pieces
    )
