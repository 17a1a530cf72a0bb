"""Windows ahead: what then happened, in plain NumPy."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Columns, Lag

N = 700
RNG = np.random.default_rng(3)
FLOW = 10 + np.sin(np.arange(N) / 6) + 0.2 * RNG.normal(size=N)
TIME = np.datetime64("2025-01-01T00:00") + np.cumsum(RNG.integers(20, 100, N)).astype("timedelta64[m]")
FRAME = {"time": TIME, "flow": FLOW}
ASKED = {
    "sum": td.Question("flow", steps=5), "mean": td.Question("flow", steps=5, of="mean"),
    "max": td.Question("flow", steps=5, of="max"), "exceeds": td.Question("flow", steps=5, exceeds=10.8),
    "hours": td.Question("flow", next="6h"), "peak": td.Question("flow", next=timedelta(hours=6), of="max"),
}  # fmt: skip
FEW = Columns("flow", Lag("flow", 1, 3))


def answers() -> dict[str, Any]:
    """The answer at each row; NaN if it is not known at the end."""
    found = {name: np.full(N, np.nan) for name in ASKED}
    for t in range(N):
        if t + 5 < N:
            window = FLOW[t + 1 : t + 6]
            for name, value in (("sum", window.sum()), ("mean", window.mean()), ("max", window.max()),
                                ("exceeds", float((window > 10.8).any()))):  # fmt: skip
                found[name][t] = value
        until = TIME[t] + np.timedelta64(6, "h")
        inside = (TIME[t] < TIME) & (until >= TIME)
        if TIME[-1] >= until and inside.any():
            found["hours"][t], found["peak"][t] = FLOW[inside].sum(), FLOW[inside].max()
    return found


@pytest.mark.parametrize("chunk", [1000, 64])
def test_answers_are_those_of_plain_numpy(chunk: int) -> None:
    horde = td.Horde(FEW, ASKED, lambda x: td.TrueOnlineTD(x, 0.01, 0.5), intervals=True)
    result = td.streams.prequential(horde, FRAME, baselines=[], chunk=chunk)
    for name, truth in answers().items():
        scored = result[name]
        np.testing.assert_array_equal(scored.known, np.isfinite(truth[scored.rows]), err_msg=name)
        np.testing.assert_allclose(scored.realised.value[scored.known], truth[scored.rows][scored.known], rtol=1e-12)


def test_a_window_is_learned_as_episodes_of_one_step_when_it_has_passed() -> None:
    horde = td.Horde(td.features.Dense(1), {"sum": ASKED["sum"]}, lambda x: td.TD(x, 1e-3), observed=["flow"])
    horde.learn({"flow": FLOW})
    own, truth = td.TD(td.features.Dense(1), 1e-3), answers()["sum"]
    for t in range(N - 5):
        own.update(FLOW[t : t + 1], float(truth[t]), FLOW[t : t + 1], 0.0, 1.0, True)
    assert horde.predict()["sum"] == pytest.approx(own.predict(FLOW[-1:]), rel=1e-12)


def test_it_learns_and_is_saved_bit_for_bit(tmp_path: Path) -> None:
    horde = td.Horde(None, ASKED, intervals=True)
    result = td.streams.prequential(horde, {name: column[:600] for name, column in FRAME.items()}, baselines=[])
    assert result["mean"].late.r2 > 0.2
    horde.save(tmp_path / "horde")
    loaded = td.load(tmp_path / "horde")
    for t in range(600, N):
        for each in (horde, loaded):
            each.update({"time": TIME[t], "flow": FLOW[t]})
    assert loaded.predict() == horde.predict()
    assert loaded.interval() == horde.interval()
    low, high = horde.interval()["exceeds"]
    assert 0 <= low <= horde.predict()["exceeds"] <= high <= 1


def test_a_missing_value_in_a_window_is_not_learned() -> None:
    flow = FLOW.copy()
    flow[300] = np.nan
    horde = td.Horde(FEW, {"sum": ASKED["sum"]}, lambda x: td.TrueOnlineTD(x, 0.01, 0.5))
    scored = td.streams.prequential(horde, {"flow": flow}, baselines=[])["sum"]
    assert not scored.known[295:300].any()
    assert scored.known[:295].all()
    assert scored.known[300:690].all()


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("give either gamma or horizon, or a window", {"gamma": 0.9, "steps": 3}),
        ("steps must be at least 1; got 0", {"steps": 0}),
        ('next must be a time such as "8h"', {"next": "8 parsecs"}),
        ('of must be one of "sum", "mean", "max"', {"steps": 3, "of": "median"}),
        ("of and exceeds need a window", {"gamma": 0.9, "of": "max"}),
        ("rho cannot be given with a window", {"steps": 3, "rho": 0.5}),
        ("average cannot be given here", {"steps": 3, "average": True}),
    ],
)
def test_refusals(said: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        td.Question("flow", **arguments)


def test_a_window_of_time_needs_times() -> None:
    with pytest.raises(ValueError, match="needs a column of times"):
        td.Horde(FEW, td.Question("flow", next="8h")).learn({"flow": FLOW})
