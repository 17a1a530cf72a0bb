"""A user's script over the whole public interface: `mypy --strict` checks it in `make types`, Pyright by hand."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

import tdlambda as td

ring = td.make("RingWorld-v0", "0.4/0.35")
v = td.TrueOnlineTD(td.features.OneHot(11), alpha=0.05, lam="auto")
v.update(5, 0.0, 6, 0.95, rho=1.1)
v.update_many([0, 1], [0.0, 1.0], [1, 2], gamma=0.9)
value: float = v.predict(5)
values = v.predict_many(np.arange(11))
weights = v.weights
lam: float = v.lambda_at(5)
clone = v.clone()
params: dict[str, object] = v.get_params()
v.save("saved")
again = td.load("saved", td.TrueOnlineTD)
print(again.alpha)
for learner in (
    td.TD(ring.features, 0.1, 0.5, "replacing"),
    td.GTD(ring.features, 0.1, "meta"),
    td.ETD(ring.features, 0.01),
    td.LSTD(ring.features, 0.9),
    td.MonteCarlo(ring.features, td.steps.OneOver("visits")),
    td.NStepTD(ring.features, 0.1, 4),
    td.AutoTD(ring.features),
    td.TD(ring.features, td.steps.TIDBD()),
    td.TD(ring.features, 0.1, td.rules.Meta(0.01)),
):
    run = td.learn(ring, learner, steps=100, seed=1)
    print(run.steps, run.mean_reward, learner.predict(5))
mdp = td.FiniteMDP([[0.5, 0.5], [0.0, 0.0]], [1.0, 0.0], discount=0.9, terminal=[1])
exact = mdp.under()
print(exact.v(), exact.lambda_return(0.0, 0.9).variance, exact.value_error([0.0, 0.0]), mdp.optimal().v)
auto = td.AutoTD(td.features.Dense(3))
auto.update(np.zeros(3), 1.0, np.ones(3), 0.9)
low, high = auto.interval(np.ones(3), 0.9)
print(auto.explain())
horde = td.Horde(td.features.Dense(2), [td.Question(0, gamma=0.9), td.Question(1, horizon=10)])
horde.learn(np.random.default_rng(0).normal(size=(5, 2)))
agent = td.Sarsa(td.features.OneHot(16), actions=4, lam=0.9)
env = gym.make("FrozenLake-v1")
curve = td.train(env, agent, steps=200, seed=0, gamma=0.99)
print(curve.mean(), agent.greedy(0), agent.q(0))
critic = td.ActorCritic(td.TD(td.features.OneHot(16), 0.1), td.control.Softmax(4), eta=0.1)
print(critic.act(0, np.random.default_rng(0)))
result = td.engine.run("RingWorld-v0", {"a": td.TD(ring.features, 0.1)}, seeds=2, steps=100)
print(result.tail().mean())
study = td.studies.Study(
    "s", "RingWorld-v0", {"m": td.studies.Method("TD", over=("alpha",))}, grid={"alpha": [0.1]}, seeds=2
)


class Mine(td.Algorithm):
    """Own."""


class Half(td.Rule):
    """λ = 1/2."""

    def at(self, obs: object) -> float:  # noqa: ARG002
        return 0.5


td.check_learner(lambda: td.TD(td.features.OneHot(3), 0.1, Half()))

rollout = td.audits.cartpole_rollout()
pairs = {"new": (rollout["value"], rollout["value_next"]), "zero": 0.0}
ends = {"terminated": rollout["terminated"], "truncated": rollout["truncated"]}
report = td.audit(pairs, rollout["reward"], gamma=0.99, terminated=ends["terminated"], truncated=ends["truncated"])
print(report.best, report.ranking[0][1], report.to_dict()["units"], report.plot())
advantage, target = td.returns.gae(
    rollout["reward"], rollout["value"], rollout["value_next"], gamma=0.99, lam=0.95, **ends
)
td.check_returns(td.returns.lambda_returns, gives="target")
