"""An interest for each feature: every schedule against the interpreter, which knows of rows only."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine import declaration_checks


@pytest.mark.interpreted
def test_every_schedule_with_an_interest_for_each_feature() -> None:
    for kind in (td.ETD, td.TrueOnlineETD):
        for name, features in declaration_checks._features(0).items():
            own = np.random.default_rng(3).uniform(0, 2, features.size)
            if name != "one-hot":  # i = u·x must not be negative
                features = td.features.Table(abs(features.matrix(range(declaration_checks.STATES))))
            c, X = declaration_checks._stream(0, 250), features.matrix(range(declaration_checks.STATES))

            def make() -> Any:
                return kind(features, 0.01, 0.8, interest=own, beta_f=0.6)  # noqa: B023

            truth = declaration_checks._interpreted(v := make(), X, c, np.full(len(c), 0.8), 0)
            truth.rows["V_interests"] = own
            for t in range(len(c)):
                s, n = c.obs[t], c.next_obs[t]
                ends = bool(c.terminated[t]), bool(c.truncated[t])
                truth.learn(X[s], X[n], c.reward[t], c.gamma[t], c.rho[t], 0.8, *ends)
            v.update_many(c)
            declaration_checks._compare(v, truth, f"one learner, {name}")
            declaration_checks._compare(declaration_checks._in_lanes(make(), c), truth, f"lanes, {name}")
            assert abs(v.weights).max() > 0.01


@pytest.mark.costly
@pytest.mark.parametrize("kind", [td.ETD, td.TrueOnlineETD])
def test_bad_interests_and_decays_are_refused_by_name(kind: Any) -> None:
    x = td.features.OneHot(3)
    for interest in ([1.0, 2.0], [1.0, -1.0, 0.0], [np.inf, 1.0, 1.0], np.ones((3, 1))):
        with pytest.raises(ValueError, match="interest must be a number of at least 0, or 3 of them"):
            kind(x, 0.1, interest=interest)
    with pytest.raises(ValueError, match="interest must be finite and not negative; got -1"):
        kind(x, 0.1, interest=-1.0)
    with pytest.raises(ValueError, match=r"beta_f must be in \[0, 1\]; got 1.5"):
        kind(x, 0.1, beta_f=1.5)


@pytest.mark.costly
@pytest.mark.parametrize("kind", [td.ETD, td.TrueOnlineETD])
def test_parameters_make_the_same_learner_again(kind: Any) -> None:
    for given in ({}, {"interest": 0.5}, {"beta_f": 0.0}, {"interest": [0.0, 1.0, 2.0], "beta_f": 0.25}):
        v = kind(td.features.OneHot(3), 0.1, **given)
        found = v.get_params()
        assert {"interest": 1.0, "beta_f": None} | given == {n: found[n] for n in ("interest", "beta_f")}
        clone = kind(**found)
        assert {k: a.tobytes() for k, a in v._state().items()} == {k: a.tobytes() for k, a in clone._state().items()}
