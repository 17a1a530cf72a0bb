"""What every learner promises, of the gradient and emphatic methods: `td.check_learner`, and a λ that tunes itself."""

import numpy as np
import pytest

import tdlambda as td


@pytest.mark.interpreted
def test_every_learner_keeps_its_promises() -> None:
    for build in (
        lambda: td.GTD(td.features.OneHot(5), 0.01, form="gradient"),
        lambda: td.GTD2(td.features.OneHot(5), 0.01, beta=0.02),
        lambda: td.TDRC(td.features.OneHot(5), 0.01),
        lambda: td.HTD(td.features.OneHot(5), 0.01),
        lambda: td.ETD(td.features.OneHot(5), 0.001, beta_f=0.3),
        lambda: td.TrueOnlineETD(td.features.OneHot(5), 0.001, interest=[0.5] * 5),
    ):
        td.check_learner(build)


@pytest.mark.interpreted
def test_rules_for_lambda_run_with_every_method() -> None:
    """On a task off-policy: λ stays in [0, 1] and the values approach the truth."""
    lake = td.make("FrozenLake-v0")
    steps = lake.sampler(seed=2).take(1200)
    start = lake.exact.value_error(np.zeros(16))
    for kind in (td.GTD2, td.TDRC, td.HTD, td.ETD, td.TrueOnlineETD):
        for rule in ("auto", "greedy", "meta"):
            v = kind(lake.features, 0.01, rule)
            v.update_many(steps)
            lam = v.lambdas(range(16))
            assert ((lam >= 0) & (lam <= 1)).all()
            assert lake.exact.value_error(v.predict_many(range(16))) < start, (kind, rule)
