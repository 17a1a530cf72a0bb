"""Two Hordes on the same rows: which is closer to the true values."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td


def rows(n: int = 4000, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    level, noise = np.zeros(n), rng.normal(size=n)
    for t in range(1, n):
        level[t] = 0.9 * level[t - 1] + noise[t]
    return {"flow": level, "other": rng.normal(size=n), "ratio": rng.choice([0.5, 1.5], size=n)}


def evaluated(features: Any, questions: Any, data: Any) -> Any:
    return td.streams.prequential(td.Horde(features, questions), data, baselines=[])


def test_the_horde_with_the_right_features_is_closer_on_and_off_policy() -> None:
    data = rows()
    questions = {"on": td.Question("flow", gamma=0.8), "off": td.Question("flow", gamma=0.8, rho="ratio")}
    good, bad = (evaluated(td.features.Columns(name), questions, data) for name in ("flow", "other"))
    found = good.compare(bad, names=("flow", "noise"))
    assert list(found) == ["on", "off"]
    for report in found.values():
        assert report.best == "flow"
        assert report.ranking[0][1] > 0.95
    # the level is a Markov chain, so E Σ γ^k flow is 0.9 / (1 - 0.72) of the level
    v = 0.9 / (1 - 0.8 * 0.9) * data["flow"][good["on"].rows]
    apart = np.mean((bad["on"].prediction - v) ** 2) - np.mean((good["on"].prediction - v) ** 2)
    assert found["on"].low[1, 0] < apart < found["on"].high[1, 0]


def test_ends_of_segments_are_truncations() -> None:
    data = rows(600)
    data |= {"machine": np.repeat(["a", "b", "c"], 200)}
    horde = td.Horde(td.features.Columns("flow"), td.Question("flow", gamma=0.8), by="machine")
    result = td.streams.prequential(horde, data, baselines=[])
    cut = result["flow"].steps["truncated"]
    assert result["flow"].rows[cut].tolist() == [198, 398, 598]


def test_what_cannot_be_compared() -> None:
    question = td.Question("flow", gamma=0.8)
    one = evaluated(td.features.Columns("flow"), question, rows(300))
    with pytest.raises(TypeError, match=r"other must be a result of td\.streams\.prequential; got int"):
        one.compare(3)
    with pytest.raises(ValueError, match="'flow' must be evaluated on the same rows and cumulants"):
        one.compare(evaluated(td.features.Columns("flow"), question, rows(400)))
    with pytest.raises(ValueError, match="other must answer one of the same questions: flow"):
        one.compare(evaluated(td.features.Columns("flow"), {"else": question}, rows(300)))
