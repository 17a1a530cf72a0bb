"""Ratios of 10⁶, follow-on traces that would overflow, β next to 0: divergence is said, and no weight is NaN."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td

KINDS = [td.GTD2, td.TDRC, td.HTD, td.ETD, td.TrueOnlineETD]


def a_follow_on_trace_is_bounded() -> None:
    """Without rewards nothing is learned, however large F would be; the first reward then is divergence."""
    for kind in (td.ETD, td.TrueOnlineETD):
        v = kind(td.features.OneHot(3), 0.1, 0.0, on_divergence="flag")
        for t in range(120):
            v.update(t % 3, 0.0, (t + 1) % 3, 1.0, 1e6)
        assert v.memory["V_follow"] == 1e100
        assert v.diverged_at is None
        assert not v.weights.any()
        for t in range(120, 130):
            v.update(t % 3, 1.0, (t + 1) % 3, 1.0, 1e6)
        assert v.diverged_at is not None
        assert np.isfinite(v.weights).all()
        for ending in ({"terminated": True}, {"truncated": True}, {"rho": 0.0}, {"gamma": 0.0}):  # F begins anew
            calm = kind(td.features.OneHot(3), 0.1, 0.0)
            for t in range(120):
                calm.update(t % 3, 0.0, (t + 1) % 3, 1.0, 1e6)
            calm.update(0, 0.0, 1, **({"gamma": 1.0, "rho": 1e6} | ending))
            calm.update(1, 1.0, 2, 0.5)
            np.testing.assert_allclose(calm.weights, [0, 0.1, 0])


def large_ratios() -> None:
    for kind in KINDS:
        for seed in range(6):
            rng = np.random.default_rng(seed)
            v = kind(td.features.OneHot(4), 0.1, rng.random(), on_divergence="flag")
            for _ in range(60):
                s, y = rng.integers(4, size=2).tolist()
                v.update(s, rng.normal(), y, rng.random(), rng.choice([0.0, 1.0, 1e6]))
                assert not np.isnan(v.weights).any()
            assert v.diverged_at is not None
            assert np.isfinite(v.weights).all()


def a_small_beta() -> None:
    for kind in (td.GTD2, td.TDRC, td.HTD):
        v = kind(td.features.OneHot(3), 0.1, 0.4, beta=1e-300)
        for t in range(100):
            v.update(t % 3, 1.0, (t + 1) % 3, 0.9, 1.0 + t % 2)
        assert np.isfinite(v.weights).all()
        assert np.abs(v.weights).max() < 100


def much_regularisation() -> None:
    """β reg beyond 1 counts as 1; taken at its word it would let h grow a hundredfold at each step."""
    found = []
    for reg in (10.0, 1e3, 1e300):
        v = td.TDRC(td.features.OneHot(3), 0.1, 0.5, reg=reg)
        for t in range(200):
            v.update(t % 3, 1.0, (t + 1) % 3, 0.9, 1.0 + t % 2)
        found.append(v.weights.copy())
        assert 1 < np.abs(v.weights).max() < 20
    assert (found[0] == found[1]).all()
    assert (found[1] == found[2]).all()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "check",
    [a_follow_on_trace_is_bounded, large_ratios, a_small_beta, much_regularisation],
    ids=lambda f: f.__name__,
)
def test_faults(check: Any) -> None:
    check()


@pytest.mark.costly
@pytest.mark.parametrize("kind", [td.GTD2, td.TDRC, td.HTD])
def test_a_beta_of_0_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="beta must be positive and finite; got 0"):
        kind(td.features.OneHot(3), 0.1, beta=0.0)


@pytest.mark.costly
def test_other_arguments_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="reg must be finite and not negative; got -1"):
        td.TDRC(td.features.OneHot(3), 0.1, reg=-1)
    kind: Any
    for kind in (td.GTD, td.GTD2):
        with pytest.raises(ValueError, match='form must be "correction" or "gradient"; got \'maei\''):
            kind(td.features.OneHot(3), 0.1, form="maei")
    for kind in (td.TrueOnlineGTD, td.TDRC, td.HTD):
        with pytest.raises(TypeError, match="has no argument form"):
            kind(td.features.OneHot(3), 0.1, form="gradient")
