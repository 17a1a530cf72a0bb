"""GTD2, TDRC, HTD and emphatic TD against the papers' equations and identities; γ, λ, ρ, i differ at every step."""

from typing import Any

import numpy as np
import pytest
from plain import Stream, forward_view, stream, weights

import tdlambda as td

SEEDS = range(12)
ALPHA, BETA = 0.02, 0.07


def build(s: Stream, kind: Any, **options: Any) -> Any:
    return kind(td.features.Table(s.X), options.pop("alpha", ALPHA), s.lam, on_divergence="flag", **options)


def with_interest(s: Stream) -> Stream:
    """Features of which the first is the interest: an interest for each feature, (1, 0, …), then says it exactly."""
    X = s.X.copy()
    X[:, 0] = s.interest
    return Stream(X, s.reward, s.gamma, s.lam, s.interest, s.rho, s.ends)


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, theirs, atol=1e-11, rtol=1e-10)


@pytest.mark.interpreted
def test_gradient_methods_are_the_papers_equations() -> None:
    for s in map(stream, SEEDS):
        for form in ("correction", "gradient"):
            name = "" if form == "correction" else " gradient"
            close(s.play(build(s, td.GTD, beta=BETA, form=form)), weights(f"GTD{name}", s, ALPHA, BETA))
            close(s.play(build(s, td.GTD2, beta=BETA, form=form)), weights(f"GTD2{name}", s, ALPHA, BETA))
        for reg in (1.0, 0.3, 8.0):
            close(s.play(build(s, td.TDRC, beta=BETA, reg=reg)), weights("GTD", s, ALPHA, BETA, reg=reg))
        close(s.play(build(s, td.TDRC)), weights("GTD", s, ALPHA, ALPHA, reg=1.0))  # the defaults: β = α, reg = 1
        close(s.play(build(s, td.HTD, beta=BETA)), weights("HTD", s, ALPHA, BETA))


@pytest.mark.interpreted
def test_emphatic_methods_are_the_papers_equations() -> None:
    for s in map(stream, SEEDS):
        for kind, name in ((td.ETD, "ETD"), (td.TrueOnlineETD, "true online ETD")):
            for beta_f in (None, 0.0, 0.4):
                theirs = weights(name, s, ALPHA, interest=0.7, beta_f=beta_f)
                close(s.play(build(s, kind, interest=0.7, beta_f=beta_f)), theirs)
                varying = with_interest(s)
                ours = build(varying, kind, interest=[1.0, 0.0, 0.0, 0.0], beta_f=beta_f)
                close(varying.play(ours), weights(name, varying, ALPHA, beta_f=beta_f))


@pytest.mark.interpreted
def test_identities_between_algorithms() -> None:
    kind: Any
    for seed in SEEDS:
        s, one = stream(seed), stream(seed, lam=1.0)
        on = stream(seed, on_policy=True)
        np.testing.assert_array_equal(on.play(build(on, td.HTD, beta=BETA)), on.play(build(on, td.TD)))
        close(s.play(build(s, td.TDRC, beta=BETA, reg=0.0)), s.play(build(s, td.GTD, beta=BETA)))
        close(s.play(build(s, td.TDRC, beta=1e-12, reg=1e12)), s.play(build(s, td.TD)))  # h is as good as 0
        for kind in (td.GTD, td.TDRC):
            close(one.play(build(one, kind, beta=BETA)), one.play(build(one, td.TD)))
        for kind, plain in ((td.ETD, td.TD), (td.TrueOnlineETD, td.TrueOnlineTD)):
            twice = {"alpha": 2 * ALPHA}  # the interest of 2
            close(s.play(build(s, kind, interest=2.0, beta_f=0.0)), s.play(build(s, plain, **twice)))
            close(one.play(build(one, kind, interest=2.0)), one.play(build(one, plain, **twice)))
        assert abs(s.play(build(s, td.HTD, beta=BETA)) - s.play(build(s, td.TD))).max() > 1e-4, "they can differ"
        assert abs(s.play(build(s, td.ETD)) - s.play(build(s, td.TD))).max() > 1e-4, "they can differ"


@pytest.mark.interpreted
def test_true_online_etd_is_its_forward_view_after_every_step() -> None:
    for seed in SEEDS:
        s = with_interest(stream(seed, steps=12))
        s.ends[:] = 0
        for beta_f in (None, 0.5):
            ours = build(s, td.TrueOnlineETD, interest=[1.0, 0.0, 0.0, 0.0], beta_f=beta_f)
            close(s.play(ours), forward_view(s, ALPHA, beta_f))


@pytest.mark.interpreted
def test_on_policy_the_follow_on_trace_becomes_the_horizon() -> None:
    """F → 1/(1-γ) for i = 1, ρ = 1, λ = 0."""
    for gamma in (0.5, 0.9):
        v = td.ETD(td.features.OneHot(1), 1e-9, 0.0)
        for _ in range(400):
            v.update(0, 0.0, 0, gamma)
        np.testing.assert_allclose(1 + v.memory["V_follow"], 1 / (1 - gamma))
