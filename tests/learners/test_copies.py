"""Learners go through pickle and copy as through `clone`: the clone goes on as the original does, and apart from it."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdlambda as td

pytestmark = pytest.mark.costly

X = td.features.OneHot(11)
LEARNERS: dict[str, Callable[[], td.Learner]] = {
    "true online TD": lambda: td.TrueOnlineTD(X, 0.1, 0.9),
    "META on GTD": lambda: td.TrueOnlineGTD(X, 0.05, td.rules.Meta()),
    "auto λ": lambda: td.TD(X, 0.1, "auto"),
    "many features": lambda: td.TrueOnlineTD(td.features.Table(np.eye(11, 300)), 0.1, 0.9),
    "Monte Carlo": lambda: td.MonteCarlo(X, 0.1),
    "LSTD": lambda: td.LSTD(X, 0.5),
    "recursive LSTD": lambda: td.RecursiveLSTD(X, 0.5, forgetting=0.99, emphatic=True),
    "LSPE": lambda: td.LSPE(X, 0.5),
    "expected traces": lambda: td.ExpectedTrace(X, 0.1, beta=td.steps.OneOver("visits")),
    "AutoTD": lambda: td.AutoTD(X),
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("through", [lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy, copy.copy])
def test_a_copy_goes_on_alike_and_apart(make: Callable[[], td.Learner], through: Callable[[Any], Any]) -> None:
    stream: Any = td.make("RingWorld-v0").sampler(seed=1).take(240)
    names = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
    rows = list(zip(*(getattr(stream, name).tolist() for name in names), strict=True))
    own = make()
    for row in rows[:120]:
        own.update(*row)
    clone, before = through(own), own.predict_many(range(11))
    for row in rows[120:]:
        clone.update(*row)
    np.testing.assert_array_equal(own.predict_many(range(11)), before)
    for row in rows[120:]:
        own.update(*row)
    np.testing.assert_array_equal(clone.predict_many(range(11)), own.predict_many(range(11)))
    assert (own.predict_many(range(11)) != before).any()
