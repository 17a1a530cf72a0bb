"""Numbers close to overflow are learned, refused, or divergence; an answer is a finite number in any case.

`tests/attacks` has the same for learners, step sizes and numbers at random.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tdlambda as td

pytestmark = pytest.mark.costly

LEARNERS: dict[str, Any] = {
    "constant": lambda x: td.TD(x, 0.1, 0.9), "OneOver": lambda x: td.TrueOnlineTD(x, td.steps.OneOver(), 0.9),
    "TIDBD": lambda x: td.TD(x, td.steps.TIDBD(), 0.9), "meta": lambda x: td.TrueOnlineTD(x, 0.1, "meta"),
    "AutoTD": td.AutoTD, "NStepTD": lambda x: td.NStepTD(x, 0.1, 3), "MonteCarlo": lambda x: td.MonteCarlo(x, 0.1),
}  # fmt: skip


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("gamma", [0.9, 0.9999999999, 1 - 1e-16, 1.0])
def test_answers_are_finite(kind: str, gamma: float) -> None:
    rng = np.random.default_rng(0)
    for size in (1e60, 1e100, 1e140, 1e200, 1e300, 1.7e308):
        for of_features in (1.0, 1e100, 1e140, 1e150, 1e-150):
            for rho in (1.0, 1e100, 1e300):
                v, X = LEARNERS[kind](td.features.Dense(5)), rng.normal(size=(13, 5)) * of_features
                for t in range(12):
                    with suppress(td.Diverged, ValueError):
                        v.update(X[t], float(rng.choice([-1, 1])) * size, X[t + 1], gamma, rho, terminated=t == 9)
                    answers = [v.predict(X[t]), v.predict(X[t + 1]), v.lambda_at(X[t]), *v.weights]
                    assert np.isfinite(answers).all(), (size, of_features, rho, t, v.diverged_at, answers)


def test_rewards_that_cannot_be_squared_are_refused_by_name_and_change_nothing() -> None:
    for features, obs in ((td.features.Dense(2), np.ones((3, 2))), (td.features.OneHot(3), np.arange(3))):
        v = td.AutoTD(features)
        v.update(obs[0] if obs.ndim > 1 else 0, 1.0, obs[1] if obs.ndim > 1 else 1, 0.9)
        before = {name: array.tobytes() for name, array in v._state().items()}
        with pytest.raises(ValueError, match=r"reward must be within ±1e\+100.*got -1e\+200"):
            v.update(obs[0] if obs.ndim > 1 else 0, -1e200, obs[1] if obs.ndim > 1 else 1, 0.9)
        with pytest.raises(ValueError, match=r"reward must be within ±1e\+100.*\(row 1\)"):
            v.update_many(obs[:2], [1.0, 1e101], obs[1:], 0.9)
        assert before == {name: array.tobytes() for name, array in v._state().items()}
