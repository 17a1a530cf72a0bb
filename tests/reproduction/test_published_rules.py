"""What the published numbers were made with, against the same equations in plain NumPy."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_rules import PUBLISHED, Form, MetaForm, Rows, greedy_reference, meta_reference, play, rows

import tdlambda as td
from tdlambda.lab.reproduction import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD

LAST = st.sampled_from([None, 0.0, 0.7])
"""None: true online TD. A number: the γ' that published true online GTD and META take on termination."""


def learner_and_form(last: float | None) -> tuple[Any, Form]:
    if last is None:
        return td.TrueOnlineTD, PUBLISHED
    return partial(PublishedTrueOnlineGTD, last_discount=last), replace(PUBLISHED, last=last)


@pytest.mark.costly
@given(rows(), st.floats(0, 1), st.integers(0, 5), LAST)
def test_greedy_is_its_equations(s: Rows, trace_lam: float, warm_up: int, last: float | None) -> None:
    make, form = learner_and_form(last)
    rule = PublishedGreedy(1.7, trace_lam, warm_up)
    assert (rule.of, rule.variance) == ("corrected", "direct")
    np.testing.assert_allclose(play(s, rule, make), greedy_reference(s, rule, form), atol=1e-8, rtol=1e-6)


@given(rows(), st.floats(0, 1), st.sampled_from([None, 0.5, 2.0]), st.integers(0, 5), LAST)
def test_meta_is_its_equations(s: Rows, trace_lam: float, clip: float | None, warm_up: int, last: float | None) -> None:
    make, form = learner_and_form(last)
    rule = PublishedMeta(
        0.3, ratio=1.5, trace_lam=trace_lam, floor=1e-3, rho_clip=clip, warm_up=warm_up, last_discount=last or 0.0
    )
    assert rule.of == "target"
    expected = meta_reference(s, rule, MetaForm("printed", "gradient", in_range=False), form)
    np.testing.assert_allclose(play(s, rule, make), expected, atol=1e-8, rtol=1e-6)


@pytest.mark.costly
def test_its_floor_does_not_know_the_unit_of_rewards() -> None:
    """With rewards of 10⁻⁴ a floor of 1.5·10⁻⁸ leaves λ = 1 for ever; not so in `td.rules.Meta.thesis`."""
    ring = td.make("RingWorld-v0")
    steps = ring.sampler(seed=1).take(5_000)
    small = td.mdp.Transitions(**vars(steps) | {"reward": steps.reward * 2.0**-13})
    lams = {}
    for name, rule, given_ in (
        ("published, small", PublishedMeta(0.1 * 2.0**26), small),
        ("published, large", PublishedMeta(0.1), steps),
        ("thesis, small", td.rules.Meta.thesis(0.1 * 2.0**26), small),
        ("thesis, large", td.rules.Meta.thesis(0.1), steps),
    ):
        v = td.TrueOnlineTD(ring.features, 0.05, rule)
        v.update_many(given_)
        lams[name] = v.lambdas(range(11))
    assert (lams["published, small"] == 1).all()
    assert lams["published, large"].min() < 0.9
    assert lams["thesis, large"].min() < 0.9
    np.testing.assert_allclose(lams["thesis, small"], lams["thesis, large"], rtol=1e-9)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PublishedMeta(kappa=0), "kappa"),
        (lambda: PublishedMeta(features=3), "features"),  # type: ignore[arg-type]
        (lambda: PublishedMeta(ratio=0), "ratio"),
        (lambda: PublishedMeta(trace_lam=2), "trace_lam"),
        (lambda: PublishedMeta(floor=-1), "floor"),
        (lambda: PublishedMeta(rho_clip=0), "rho_clip"),
        (lambda: PublishedMeta(warm_up=0.1), "warm_up"),
        (lambda: PublishedMeta(warm_up=5, length=100), "warm_up"),
        (lambda: PublishedMeta(aux_alpha=-1), "aux_alpha"),
        (lambda: PublishedMeta(last_discount=1.5), "last_discount"),
        (lambda: PublishedGreedy(ratio=0), "ratio"),
        (lambda: PublishedGreedy(trace_lam=-0.1), "trace_lam"),
        (lambda: PublishedGreedy(warm_up=0.5), "warm_up"),
        (lambda: PublishedGreedy(aux_alpha=0), "aux_alpha"),
    ],
)
def test_what_cannot_be_is_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build()


@pytest.mark.costly
@pytest.mark.parametrize(
    "rule", [PublishedMeta(0.1, rho_clip=2.0), PublishedMeta(features=td.features.OneHot(5)), PublishedGreedy()]
)
@pytest.mark.parametrize("learner", [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD, PublishedTrueOnlineGTD])
def test_they_keep_the_contract(rule: Any, learner: Any) -> None:
    """Parameters, clone, save and load."""
    assert type(rule)(**rule.get_params()) == rule
    td.check_learner(lambda: learner(td.features.OneHot(5), 0.02, rule))
