# mypy: disable-error-code="arg-type"
"""Small streams worked out by hand: what happens at the edges of an episode."""

import numpy as np
import pytest

import tdlambda as td

pytestmark = pytest.mark.costly


def test_true_online_td_by_hand() -> None:
    """One-hot A, B, C; α = ½, λ = ½, γ = ½ (so γλ = ¼).

    Step 1, A →(r 1) B:  δ = 1, e = (½, 0), w = (½, 0).
    Step 2, B →(r 2) A:  δ = 2 + ½·½ - 0 = 2¼; e = (⅛, ½); w·x - w⁻·x = 0; w = (½ + 2¼/8, 1⅛) = (.78125, 1.125).
    Step 3, A →(r 0) end: v = .78125, v⁻ = w₂·x_A = .5, δ = -.78125;
        x·e = ⅛, e = ¼ e + ½ (1 - ¼·⅛) x = (.03125 + .484375, .125); along = δ + v - v⁻ = -.5;
        w = (.78125 - .5·.515625 - .28125·.5, 1.125 - .5·.125) = (.3828125, 1.0625).
    """
    v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5, lam=0.5)
    v.update(0, 1.0, 1, gamma=0.5)
    np.testing.assert_array_equal(v.weights, [0.5, 0, 0])
    np.testing.assert_array_equal(v.trace, [0.5, 0, 0])
    v.update(1, 2.0, 0, gamma=0.5)
    np.testing.assert_array_equal(v.weights, [0.78125, 1.125, 0])
    v.update(0, 0.0, 2, gamma=0.5, terminated=True)
    np.testing.assert_allclose(v.weights, [0.3828125, 1.0625, 0], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(v.trace, 0)


@pytest.mark.parametrize(("trace", "e"), [("accumulating", 1.25), ("replacing", 1.0), ("dutch", 1.125)])
def test_three_traces_by_hand(trace: str, e: float) -> None:
    """A → A with reward 1, A → B with ½, B → B with 1; α = γ = λ = ½, so γλ = ¼.

    Step 1: e_A = 1, δ = 1, w_A = ½.  Step 2: δ = ½ + ½·0 - ½ = 0, nothing moves;
        e_A = ¼ + 1 accumulating, 1 replacing, ¼ + (1 - ½·¼·1) Dutch.
    Step 3: δ = 1, e_A falls to a quarter: w_A = ½ + ½ e_A/4, w_B = ½.
    """
    v = td.TD(td.features.OneHot(2), alpha=0.5, lam=0.5, traces=trace)
    v.update(0, 1.0, 0, gamma=0.5)
    v.update(0, 0.5, 1, gamma=0.5)
    np.testing.assert_array_equal(v.weights, [0.5, 0.0])
    np.testing.assert_array_equal(v.trace, [e, 0.0])
    v.update(1, 1.0, 1, gamma=0.5)
    np.testing.assert_allclose(v.weights, [0.5 + 0.5 * e / 4, 0.5], atol=1e-15)


LEARNERS = [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD, td.DirectVTD, td.VTD]


@pytest.mark.parametrize("build", LEARNERS)
def test_termination_ignores_what_comes_after_and_its_discount(build: type) -> None:
    """Neither the terminal observation's features nor its γ matter; the next episode starts with no trace."""
    results = []
    for terminal, gamma in ((2, 0.9), (0, 1.0), (1, 0.0)):
        v = build(td.features.OneHot(3), alpha=0.1, lam=0.8, initial=[1.0, 2.0, 3.0])
        v.update(0, 1.0, 1, gamma=0.9, rho=1.5)
        v.update(1, -1.0, terminal, gamma=gamma, rho=0.5, terminated=True)
        assert not v.trace.any()
        results.append(v.weights.copy())
        assert v.weights[2] == (3.0 if build not in (td.DirectVTD, td.VTD) else 0.0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("build", [td.TD, td.TrueOnlineTD])
def test_truncation_bootstraps_and_then_starts_anew(build: type) -> None:
    """A → B truncated: δ = 1 + .5·4 - 0 = 3, w_A = .3. Then C → A: no trace is left, only w_C moves."""
    v = build(td.features.OneHot(3), alpha=0.1, lam=1.0, initial=[0.0, 4.0, 0.0])
    v.update(0, 1.0, 1, gamma=0.5, truncated=True)
    np.testing.assert_allclose(v.weights, [0.3, 4.0, 0.0])
    v.update(2, 1.0, 0, gamma=1.0)
    np.testing.assert_allclose(v.weights, [0.3, 4.0, 0.13])


@pytest.mark.parametrize("build", [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD])
def test_gamma_zero_in_mid_stream_cuts_what_went_before(build: type) -> None:
    """On entering B with γ = 0 nothing later is credited to A; the stream goes on."""
    v = build(td.features.OneHot(3), alpha=0.5, lam=1.0)
    v.update(0, 0.0, 1, gamma=0.0)
    v.update(1, 1.0, 2, gamma=1.0)
    assert v.weights[0] == 0
    assert v.weights[1] == 0.5
    v.update(2, 1.0, 0, gamma=1.0)
    assert v.weights[1] > 0.5, "the trace of B goes on"
    assert v.weights[0] == 0


@pytest.mark.parametrize("build", [td.TD, td.TrueOnlineTD])
def test_rho_zero_cuts_the_trace_and_teaches_nothing(build: type) -> None:
    v = build(td.features.OneHot(3), alpha=0.5, lam=1.0)
    v.update(0, 0.0, 1, gamma=1.0)
    assert v.trace.any()
    v.update(1, 100.0, 2, gamma=1.0, rho=0.0)
    np.testing.assert_array_equal(v.weights, 0)
    assert not v.trace.any()
    v.update(2, 1.0, 0, gamma=1.0)
    np.testing.assert_allclose(v.weights, [0, 0, 0.5])


@pytest.mark.parametrize("build", LEARNERS)
def test_reset_is_an_episodes_end(build: type) -> None:
    """Truncating, or resetting after the step, leaves the same learner."""
    truncated, reset = (build(td.features.OneHot(3), alpha=0.1, lam=0.7) for _ in range(2))
    truncated.update(0, 1.0, 1, gamma=0.9, truncated=True)
    reset.update(0, 1.0, 1, gamma=0.9)
    reset.reset()
    for v in (truncated, reset):
        v.update(2, 1.0, 0, gamma=0.9, rho=1.2)
        v.update(0, 2.0, 1, gamma=0.8, rho=0.3)
    np.testing.assert_array_equal(truncated.weights, reset.weights)
    np.testing.assert_array_equal(truncated.trace, reset.trace)


def test_repeated_episodes_average_returns_with_a_falling_step() -> None:
    """λ = 1, α = 1/n by visits, one state: the sample mean of the returns, exactly."""
    v = td.TrueOnlineTD(td.features.OneHot(2), alpha=td.steps.OneOver("visits"), lam=1.0)
    rewards = [3.0, -1.0, 4.0, 1.0, -5.0]
    for k, reward in enumerate(rewards, 1):
        v.update(0, reward, 1, gamma=1.0, terminated=True)
        assert v.predict(0) == pytest.approx(np.mean(rewards[:k]))


def test_step_sizes_by_steps_and_visits() -> None:
    by_steps = td.TD(td.features.OneHot(2), alpha=td.steps.OneOver("steps", scale=0.5, offset=1.0), lam=0.0)
    by_visits = td.TD(td.features.OneHot(2), alpha=td.steps.OneOver("visits", scale=0.5, offset=1.0), lam=0.0)
    for v in (by_steps, by_visits):
        v.update(0, 1.0, 1, gamma=0.0)  # α = .5/2
        v.update(1, 1.0, 0, gamma=0.0)  # α = .5/3 by steps, .5/2 by visits
    np.testing.assert_allclose(by_steps.weights, [0.25, 0.5 / 3])
    np.testing.assert_allclose(by_visits.weights, [0.25, 0.25])


def test_per_state_lambda_is_that_of_the_state_entered() -> None:
    """λ(B) = 0 cuts the credit of A; λ(A) is never used to enter B."""
    v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5, lam=[1.0, 0.0, 1.0])
    v.update(0, 0.0, 1, gamma=1.0)
    v.update(1, 1.0, 2, gamma=1.0)
    assert v.weights[0] == 0
    w = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5, lam=[0.0, 1.0, 0.0])
    w.update(0, 0.0, 1, gamma=1.0)
    w.update(1, 1.0, 2, gamma=1.0)
    assert w.weights[0] == 0.5
    assert [w.lambda_at(s) for s in range(3)] == [0.0, 1.0, 0.0]


def test_direct_vtd_by_hand() -> None:
    """α = 1, λ = 1, one state that ends with 0 or 2 in turn: V = J = the last reward; Var = (reward - J)²."""
    s = td.DirectVTD(td.features.OneHot(2), alpha=1.0, lam=1.0)
    s.update(0, 2.0, 1, gamma=1.0, terminated=True)
    assert (s.values([0])[0], s.means([0])[0], s.predict(0)) == (2.0, 2.0, 4.0)
    s.update(0, 0.0, 1, gamma=1.0, terminated=True)
    assert (s.values([0])[0], s.means([0])[0], s.predict(0)) == (0.0, 0.0, 4.0)
    # corrected: (ρ δ + (ρ-1) J)² = (½ (0 - 0) + ...)²: with ρ = ½ and reward 2 the corrected return is 1, J was 0
    c = td.DirectVTD(td.features.OneHot(2), alpha=1.0, lam=1.0, of="corrected")
    c.update(0, 2.0, 1, gamma=1.0, rho=0.5, terminated=True)
    assert c.predict(0) == 1.0
