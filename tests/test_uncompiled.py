"""With NUMBA_DISABLE_JIT=1 kernels run as plain Python, for a debugger and for `tools/mutate.py`.

Compiled code reads the fields of any record as attributes, plain Python only those of `core.records.named`.
"""

import numpy as np
import pytest

import tdlambda as td
from tdlambda.compiled import IS_COMPILED
from tdlambda.control import lane
from tdlambda.control.worlds import world_of
from tdlambda.core.schedules import lazy

pytestmark = pytest.mark.interpreted


def test_learner() -> None:
    """One update of TD(λ), by hand: w += α (r + γ w·x' - w·x) x."""
    assert not IS_COMPILED
    v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5, lam=0.5, initial=1.0)
    v.update(0, 3.0, 1, 0.5)
    np.testing.assert_allclose(v.weights, [1 + 0.5 * (3 + 0.5 - 1), 1, 1])


def test_agents() -> None:
    """One update of Sarsa and of an actor-critic, by hand."""
    sarsa = td.Sarsa(td.features.OneHot(3), 2, alpha=0.5, lam=0.5)
    sarsa.update(0, 1, 1.0, 1, 0, 0.5)
    np.testing.assert_allclose(sarsa.weights, [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    agent = td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(3), 0.1), td.control.Softmax(2), eta=0.1)
    agent.update(0, 1, 1.0, 1, gamma=1.0)
    np.testing.assert_allclose(agent.theta[:, 0], [-0.05, 0.05])  # η δ (1 - π(a|x)) for the action taken


def test_worlds() -> None:
    """Agents of every kind in a world of their own; the lazy schedule gives the weights of the ordinary one."""
    car = td.make("MountainCar-v0", limit=60)
    features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], tilings=4, tiles=8)
    agents: dict[str, lane.Agent] = {
        "Sarsa": td.Sarsa(features, 3, alpha=0.05, lam=0.9),
        "Q(λ)": td.QLambda(features, 3, alpha=0.05, lam=0.9),
        "actor-critic": td.ActorCritic(td.TrueOnlineTD(features, 0.05, 0.9), td.control.Softmax(3), eta=0.01),
    }
    forms, found = [], []
    for possible in (lazy.possible, lambda _: False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lazy, "possible", possible)
            forms.append({lane.form_of(agent, world_of(car)).schedule for agent in agents.values()})
            found.append(td.control.run(car, agents, 1, 200, threads=1, progress=False))
    assert forms == [{"binary"}, {"sparse"}]
    for ours, plain in zip(*(run.weights for run in found), strict=True):
        assert (ours != 0).sum() > 50
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-12)
