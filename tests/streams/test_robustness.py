"""What sensors do: after each fault the error is back within 20 % after 500 steps, or an alarm says what happened."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Columns, Lag

N, AT, GAMMA = 4000, 2000, 0.9


def signal() -> Any:
    rng, level = np.random.default_rng(4), np.zeros(N)
    for t in range(1, N):
        level[t] = 0.95 * level[t - 1] + rng.normal()
    return 50 + level + 3 * np.sin(2 * np.pi * np.arange(N) / 24)


def with_fault(fault: str) -> dict[str, Any]:
    """The reading that features are made of, and what is predicted."""
    x, y = signal(), signal()
    if fault == "a reading of 10⁴ σ":
        x[AT] += 1e4 * x.std()
    if fault == "a reward of 10⁶":
        y[AT] = 1e6
    if fault == "stuck":
        x[AT : AT + 300] = x[AT]
    if fault == "a thousand times the unit":
        x[AT:] *= 1e3
    if fault == "a thousandth of the unit":
        x[AT:] *= 1e-3
    return {"x": x, "y": y}


def errors(fault: str, learner: Any) -> tuple[float, float, list[str]]:
    """Root mean squared errors in the 1000 steps before the fault and from 500 steps after it on; and alarms."""
    horde = td.Horde(Columns("x", Lag("x", 1, 6)), td.Question("y", gamma=GAMMA), learner)
    found = td.streams.prequential(horde, with_fault(fault), tolerance=1e-4, baselines=[])["y"]
    clean, y = np.zeros(N), signal()
    for t in range(N - 2, -1, -1):
        clean[t] = y[t + 1] + GAMMA * clean[t + 1]
    rest = 300 if fault == "stuck" else 0  # while it is stuck nothing can be known
    square = (found.prediction - clean[:-1]) ** 2
    before, after = square[AT - 1100 : AT - 100].mean(), square[AT + rest + 500 : N - 100].mean()
    return before**0.5, after**0.5, [alarm.kind for alarm in horde.alarms if alarm.row >= AT]


FAULTS = {
    "none": "", "a reading of 10⁴ σ": "outlier", "a reward of 10⁶": "outlier", "stuck": "stuck",
    "a thousand times the unit": "change", "a thousandth of the unit": "change",
}  # fmt: skip


def check(fault: str, learner: Any, unharmed: bool) -> None:
    before, after, alarms = errors(fault, learner)
    assert after <= 1.2 * before or (FAULTS[fault] in alarms and not unharmed), (before, after, alarms)
    if FAULTS[fault]:
        assert FAULTS[fault] in alarms
    else:
        assert not alarms


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bank(fault: str) -> None:
    check(fault, td.AutoTD, unharmed=fault in ("none", "a reading of 10⁴ σ", "a reward of 10⁶", "stuck"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_learner_with_running_coordinates(fault: str) -> None:
    check(fault, lambda x: td.TrueOnlineTD(x, 0.02, 0.8), unharmed=False)


def test_running_coordinates_are_those_of_plain_numpy() -> None:
    """Values without outliers: mean and deviation of all so far; lags and differences of the same."""
    rng = np.random.default_rng(0)
    x = 1e3 + 5 * rng.uniform(-1, 1, size=200)
    horde = td.Horde(Columns("x", Lag("x", 2), constant=False), td.Question("x", gamma=0.5), lambda f: td.TD(f, 1e-9))
    seen = []
    for value in x:
        horde.update({"x": value})
        seen.append(horde._at_work("predict").places[None].here.copy())
    for t in (50, 199):
        mean, deviation = x[: t + 1].mean(), x[: t + 1].std()
        np.testing.assert_allclose(seen[t], [(x[t] - mean) / deviation, (x[t - 2] - mean) / deviation], rtol=1e-9)


def kinds(y: Any) -> list[tuple[int, str]]:
    horde = td.Horde(Columns("y"), td.Question("y", gamma=0.5), lambda x: td.TD(x, 1e-6)).learn({"y": y})
    return [(alarm.row, alarm.kind) for alarm in horde.alarms]


def test_rain_that_is_zero_most_of_the_time_raises_no_alarm() -> None:
    rng = np.random.default_rng(1)
    for seed in range(5):
        wet = np.repeat(rng.random(400) < 0.35, 12)  # spells
        rain = np.where(wet, np.random.default_rng(seed).gamma(0.6, 4.0, wet.size), 0.0)
        assert kinds(rain) == []


def test_ten_temperatures_of_0_kelvin_raise_one_alarm() -> None:
    rng, t = np.random.default_rng(0), np.arange(4000)
    y = 283 + 8 * np.sin(2 * np.pi * t / 24) + 10 * np.sin(2 * np.pi * t / 4000) + rng.normal(0, 0.5, t.size)
    y[2000:2010] = 0.0
    assert kinds(y) == [(2000, "outlier")]


def test_a_switch_whose_unit_changes_is_one_outlier_and_later_a_change() -> None:
    """Working days: five of seven, in half hours. Repeated alarms every week would hide all others."""
    week = np.repeat([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 48)
    y = np.tile(week, 100)
    assert kinds(y) == []
    y[48 * 350 :] *= 1000
    raised = kinds(y)
    assert [kind for _, kind in raised] == ["outlier", "change"]
    assert raised[0][0] == 48 * 350


def test_alarms_are_one_line_for_each_column_and_kind() -> None:
    from tdlambda.streams.front import Alarm, summarised

    given = [Alarm(row, "a", "outlier") for row in range(5)] + [Alarm(7, "b", "change")]
    assert summarised(given) == [
        "b: its level or unit has changed (row 7)",
        "a: a reading far outside its range (rows 0, 1, 2 and 2 more)",
    ]
