"""A short stream through the engine and the learners themselves, interpreted: every rule with every algorithm."""

import contextlib
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD


def learners_of(task: Any) -> dict[str, td.Learner]:
    """One or two of each kind, with large step sizes, so that a mistake shows soon."""
    x, scale = task.features, 1 / task.features.active
    states = td.features.OneHot(task.mdp.n_states)
    rules: list[Any] = [
        0.0, 0.8, td.rules.PerState(np.linspace(0, 1, task.mdp.n_states)), td.rules.Counting(2.0), td.rules.Greedy(),
        td.rules.Greedy("vtd"),
        td.rules.Greedy(of="corrected"), td.rules.Meta(0.3), PublishedMeta(0.3, floor=0.0),
        td.rules.Meta.thesis(0.3, floor=0.0),
        td.rules.Meta(0.3, of="corrected", features=states), td.rules.Meta(0.3, horizon=3),
        td.rules.Meta(0.3, horizon="episode"),
        td.rules.Meta(0.3, "derived", "gradient"), td.rules.ValueErrorGreedy(stretch=20), PublishedGreedy(),
        td.rules.Greedy("vtd", of="corrected"),
    ]  # fmt: skip
    found: dict[str, td.Learner] = {}
    for kind in ("TD", "TrueOnlineTD", "GTD", "TrueOnlineGTD"):
        for k, rule in enumerate(rules):
            found[f"{kind} {k}"] = getattr(td, kind)(x, 0.4 * scale, rule)
            found[f"{kind} {k}, other α"] = getattr(td, kind)(x, 0.2 * scale, rule)
        for by in ("visits", "steps"):
            for lam in (0.7, td.rules.Meta(0.3)):
                found[f"{kind}, {by}, {lam}"] = getattr(td, kind)(x, td.steps.OneOver(by, scale=scale), lam)
    for rule in (0.4, PublishedGreedy(), PublishedMeta(0.3, floor=0.0, last_discount=0.9)):
        found[f"last discount, {rule}"] = PublishedTrueOnlineGTD(x, 0.4 * scale, rule, last_discount=0.9)
    found |= {trace: td.TD(x, 0.3 * scale, 0.9, traces=trace) for trace in ("replacing", "dutch")}
    found |= {f"bound {bound}": td.TD(x, 0.5 * scale, 0.9, bound=bound) for bound in (0.003, 0.02)}
    found |= {f"direct {of}": td.DirectVTD(x, 0.3 * scale, 0.8, of=of) for of in ("target", "corrected")}
    return found | {f"vtd {of}": td.VTD(x, 0.3 * scale, 0.8, of=of) for of in ("target", "corrected")}


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["RingWorld-v0", "FrozenLake-v0", "sparse"])
def test_a_short_stream_through_both(name: str) -> None:
    task: Any = td.make("FrozenLake-v0" if name == "sparse" else name)
    if name == "sparse":  # so many features that those with live traces are listed; two are active
        task.features = td.features.Table(np.eye(16, 200) + 0.5 * np.eye(16, 200, k=150))
    steps = 70
    stream = task.sampler(1).take(steps)
    assert stream.terminated.any()
    assert (stream.rho > 1).any()
    learners = learners_of(task)
    found = td.engine.run(task, learners, [1], steps, keep=("learners", "lambdas"), threads=1)
    for k, (label, learner) in enumerate(learners.items()):
        own: Any = learner.clone()
        with contextlib.suppress(td.Diverged):
            own.update_many(stream)
        ours: Any = found.learners[k][0]
        assert own.diverged_at == ours.diverged_at, label
        bound = 1e-11 * max(1.0, float(np.abs(own.memory.rows).max()))
        np.testing.assert_allclose(ours.memory.rows, own.memory.rows, rtol=0, atol=bound, err_msg=label)
        np.testing.assert_allclose(found.lambdas[k][0], own.lambdas(found.observations), atol=1e-9, err_msg=label)
