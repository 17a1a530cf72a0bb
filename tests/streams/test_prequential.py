"""Scores against what then happened: by hand in plain Python, and against exact values where they are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.streams.returns import realised
from tdlambda.streams.scoring import fit, intervals

RNG = np.random.default_rng(8)


def test_realised_returns_by_hand() -> None:
    n, tolerance = 300, 1e-3
    reward, gamma = RNG.normal(size=n), RNG.random(n) ** 0.2
    ended, follows = RNG.random(n) < 0.02, RNG.random(n) > 0.02
    gamma[50] = 0.0
    follows[1:] &= ~ended[:-1]
    found = realised(reward, gamma, ended, follows, tolerance)
    for t in range(n):
        total, product, k, known = 0.0, 1.0, t, False
        while True:
            total += product * reward[k]
            product *= 0.0 if ended[k] else gamma[k]
            if product < tolerance:
                known, at = True, k
            if known or product == 0.0 or k + 1 == n or not follows[k + 1]:
                break
            k += 1
        assert found.value[t] == pytest.approx(total, abs=1e-12)
        assert found.known_at[t] == (at if known else n)


def test_predictions_are_made_before_they_are_learned_from() -> None:
    X = RNG.normal(size=(400, 3))
    asked = {"a": td.Question(0, gamma=0.5), "b": td.Question(1, horizon=3)}
    maker: Any = lambda x: td.TD(x, 0.05, 0.5)  # noqa: E731
    result = td.streams.prequential(td.Horde(td.features.Dense(3), asked, maker), X, baselines=[], tolerance=1e-15)
    for q, (name, gamma) in enumerate((("a", 0.5), ("b", 1 - 1 / 3))):
        v, said = td.TD(td.features.Dense(3), 0.05, 0.5), []
        for t in range(399):
            said.append(v.predict(X[t]))
            v.update(X[t], X[t + 1, q], X[t + 1], gamma)
        np.testing.assert_allclose(result[name].prediction, said, rtol=1e-12, atol=1e-12)
        G = [sum(gamma**k * X[t + 1 + k, q] for k in range(399 - t)) for t in range(399)]
        scored = result[name]
        np.testing.assert_allclose(scored.realised.value, G, atol=1e-12)
        late = scored.known & (np.arange(399) >= 199)
        best = np.array(G)[late]
        r2 = 1 - np.mean((np.array(said)[late] - best) ** 2) / best.var()
        assert scored.late.r2 == pytest.approx(r2, abs=1e-12)
        assert scored.late.bias == pytest.approx(np.mean(np.array(said)[late] - best), abs=1e-12)


@pytest.mark.parametrize(
    "names",
    [["running mean", "last value", "seasonal", "ridge"], pytest.param(["gradient boosting"], marks=pytest.mark.slow)],
)
def test_baselines_know_nothing_of_the_future(names: list[str]) -> None:
    """What comes later does not change what a baseline said before."""
    y = np.cumsum(RNG.normal(size=500)) / 5 + np.sin(np.arange(500))
    other = np.concatenate([y[:300], RNG.normal(size=200) * 50])
    asked = {"y": td.Question("y", gamma=0.8)}
    first, second = (
        td.streams.prequential(td.Horde(None, asked), {"y": some}, tolerance=1e-3, period=12, baselines=names)["y"]
        for some in (y, other)
    )
    assert list(first.baselines) == names
    for name, said in first.baselines.items():
        np.testing.assert_allclose(said[:299], second.baselines[name][:299], err_msg=name)
        assert not np.allclose(said[301:], second.baselines[name][301:])
    if "seasonal" not in names:
        return
    np.testing.assert_allclose(first.baselines["last value"][1:], y[1:-1] / 0.2)
    np.testing.assert_allclose(first.baselines["running mean"][1:], np.cumsum(y[1:])[:-1] / np.arange(1, 499) / 0.2)
    season = sum(0.8**k * y[100 - 12 + 1 + k] for k in range(12)) / (1 - 0.8**12)
    assert first.baselines["seasonal"][100] == pytest.approx(season)


def test_a_perfect_and_a_constant_prediction() -> None:
    G = RNG.normal(size=200)
    assert fit(G, G) == pytest.approx((1.0, 0.0, 0.0, 1.0, 200))
    assert fit(np.full(200, G.mean()), G).r2 == pytest.approx(0.0)
    assert np.isnan(intervals(G, G, 100)["r2"][0])  # two blocks say nothing


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say() -> None:
    """Of RMSE where errors are moving averages over 100 steps: about 95 %; fewer with blocks that are too short."""
    held = dict.fromkeys((1, 300), 0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        signal, noise = (np.convolve(rng.normal(size=8000), np.ones(100) / 100, "valid") for _ in range(2))
        for length in held:
            low, high = intervals(signal, signal + noise, length, seed)["rmse"]
            held[length] += low <= 0.1 <= high
    assert held[300] > 0.85 * 200 > held[1] + 20


def chain(n: int, hidden: bool) -> Any:
    """An autoregression; with another one hidden in it, the reading is no state."""
    rng = np.random.default_rng(2)
    a, b = np.zeros((2, n))
    for t in range(1, n):
        a[t], b[t] = 0.5 * a[t - 1] + rng.normal(), 0.97 * b[t - 1] + rng.normal()
    return {"y": a + (b if hidden else 0.0), "z": rng.normal(size=n)}


def test_the_interval_holds_whether_or_not_the_features_are_a_state() -> None:
    asked = td.Question("y", gamma=0.9)
    for features, hidden in (("y", False), ("z", True)):  # z: what is predicted is not seen at all
        horde = td.Horde(td.features.Columns(features), asked, intervals=True)
        found = td.streams.prequential(horde, chain(4000, hidden), baselines=[])["y"]
        assert 0.85 < found.coverage < 0.95


def test_off_policy_has_no_returns_but_a_bellman_error() -> None:
    frame = chain(300, False) | {"rho": RNG.random(300) * 2}
    result = td.streams.prequential(td.Horde(None, td.Question("y", gamma=0.5, rho="rho")), frame)
    assert "off-policy" in result["y"].remarks()[0]
    assert result["y"].bellman > 0
    assert not result["y"].known.any()
    assert result.to_json()


def test_a_table_a_page_and_charts(tmp_path: Path) -> None:
    frame = chain(600, False)
    horde = td.Horde(None, {"y & co": td.Question("y", gamma=0.9), "z": td.Question("z", gamma=0.5)}, intervals=True)
    result = td.streams.prequential(horde, frame, baselines=["ridge", "last value"])
    assert "y & co" in str(result)
    found = json.loads(result.to_json())["questions"]["z"]
    assert found["late"]["n"] == result["z"].late.n
    result.page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "y &amp; co" in text
    assert text.count("<figure>") == 2
    assert "http://" not in text.replace("http://www.w3.org", "")  # it asks nobody for anything
    assert "<script" not in text
    assert result.plot(name="z").to_dict()["title"].startswith("z")
    lanes = td.Horde(None, td.Question("y", gamma=0.9), lambda x: td.TrueOnlineTD(x, 0.01, "auto"))
    assert td.streams.prequential(lanes, frame, baselines=[]).plot().to_dict()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 0.1, 7.0, -3e9])
def test_a_constant_column_is_called_constant(value: float, tmp_path: Path) -> None:
    frame = {"flow": np.full(1000, value), "heat": np.sin(np.arange(1000) / 9)}
    horde = td.Horde(None, {"flow": td.Question("flow", horizon=24), "heat": td.Question("heat", horizon=3)})
    some = None if value == 7.0 else ["running mean", "last value", "ridge"]  # all of them once
    result = td.streams.prequential(horde, frame, baselines=some, period=24)
    text = str(result)
    assert result["flow"].early.words()[0] == result["flow"].late.words()[0] == "constant"
    assert "the returns are constant in the second half, so R² is not defined" in text
    assert "nan" not in text
    assert text.count("constant ") >= 2 * (1 + len(some or range(4)))  # early and late: AutoTD and every baseline
    scores = json.loads(result.to_json())["questions"]["flow"]
    assert scores["late"]["r2"] is None
    assert scores["late_interval"]["r2"] == [None, None]
    if some is None:
        result.page(tmp_path / "page.html")
        assert "<td>constant</td>" in (tmp_path / "page.html").read_text()
    assert result["heat"].late.r2 > 0.9
