"""One agent in several environments at once: shared weights, separate traces."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.control.actor_critic import ActorCritic
from tdlambda.core.names import words
from tdlambda.learners import Algorithm
from tdlambda.learners.learning import _held, discount_of


class Traces:
    """The episode state of a learner, saved and restored when environments alternate.

    True online algorithms keep w⁻·x, a prediction with the weights before the last step. Weight changes that other
    environments make in between must not count as this environment's own, so it is stored relative to the current w·x.
    """

    def __init__(self, learner: Algorithm) -> None:
        self.learner = learner
        model, declared = learner.model, learner.declaration
        self.rows = [model.rows.index(f"{k}_{r}") for k in model.estimates for r in words(declared.trace_rows)]
        traces = words(learner._beside.trace_rows) if learner._beside is not None else []
        self.own = [model.own_rows.index(r) for r in traces]
        self.numbers = [name for name in model.kept if name not in model.held] + ["under_way", "length"]
        begins = {
            keep: declared.dots[at].partition(".")[0] for keep, at in declared.keeps.items() if isinstance(at, str)
        }
        self.predictions = {
            f"{k}_{keep}": model.rows.index(f"{k}_{row}") for k in model.estimates for keep, row in begins.items()
        }

    def _now(self, at: Any) -> dict[str, float]:
        """The predictions at an observation (or a pair) with the current weights."""
        index, value = self.learner.features.encode(at)
        return {name: float(value @ self.learner._rows[row, index]) for name, row in self.predictions.items()}

    def taken(self, at: Any) -> tuple[Any, ...]:
        """A copy of the episode state, in an episode that is at this observation or pair."""
        one = self.learner
        numbers = {name: one._record[name][0] for name in self.numbers}
        if self.predictions:
            numbers |= {name: numbers[name] - now for name, now in self._now(at).items()}
        return one._rows[self.rows], one._own[self.own], numbers

    def put(self, kept: tuple[Any, ...], at: Any) -> None:
        """Restore a copy and continue its episode."""
        one, (rows, own, numbers) = self.learner, kept
        one._rows[self.rows], one._own[self.own] = rows, own
        if self.predictions:
            numbers = numbers | {name: numbers[name] + now for name, now in self._now(at).items()}
        for name, value in numbers.items():
            one._record[name] = value
        if one._sparse:
            one._list(np.flatnonzero(one._fading().any(axis=0)))


class ActorTraces:
    """The episode state of an actor and its critic."""

    def __init__(self, agent: ActorCritic) -> None:
        if not isinstance(agent.critic, Algorithm):
            raise TypeError(f"agent: in a vector environment, its critic must have traces; got {agent.critic!r}")
        self.critic, self.actor = Traces(agent.critic), agent._actor

    def taken(self, at: Any) -> tuple[Any, ...]:
        """A copy of the episode state."""
        a = self.actor
        numbers = {name: a.record[name][0] for name in ("emphasis", "decay")}
        return self.critic.taken(at), a.rows[a.policy.rows :].copy(), numbers

    def put(self, kept: tuple[Any, ...], at: Any) -> None:
        """Restore a copy and continue its episode."""
        a, (critic, rows, numbers) = self.actor, kept
        self.critic.put(critic, at)
        a.restore(a.state() | {name: np.array([value]) for name, value in numbers.items()} | {
            "rows": np.concatenate([a.rows[: a.policy.rows], rows])
        })  # fmt: skip


def run_vector(env: gym.vector.VectorEnv[Any, Any, Any], job: Any, hand: Any) -> None:
    """Step all environments in turn; each step is one transition."""
    agent, curve, rng = job.agent, job.curve, job.rng
    same_step = env.metadata.get("autoreset_mode") == gym.vector.AutoresetMode.SAME_STEP
    disabled = env.metadata.get("autoreset_mode") == gym.vector.AutoresetMode.DISABLED
    ahead = agent.takes_next_action
    agent.reset()
    curve.begin()
    if job.done:
        return
    episodes = ActorTraces(agent) if isinstance(agent, ActorCritic) else Traces(agent.learner)
    obs = env.reset(seed=job.seed)[0]
    now = [_held(one) for one in obs]
    actions = [agent.act(one, rng) for one in now]

    def place(obs: Any, action: Any) -> Any:
        """The input of the learner's features: the observation, or the pair."""
        return (obs, action or 0) if ahead else obs

    kept = [episodes.taken(place(one, action)) for one, action in zip(now, actions, strict=True)]
    fresh = [False] * env.num_envs  # whether the next step only begins an episode
    while not job.done:
        raw, rewards, terminated, truncated, info = env.step(np.array([hand(a) for a in actions]))
        for i in range(env.num_envs):
            if job.done:
                return
            if fresh[i]:
                fresh[i], now[i] = False, _held(raw[i])
                actions[i] = agent.act(now[i], rng)
                continue
            ended, end, cut = bool(terminated[i] or truncated[i]), bool(terminated[i]), bool(truncated[i])
            after = _held(info["final_obs"][i] if same_step and ended else raw[i])
            said = info["final_info"] if same_step and ended else info
            told = {"discount": said["discount"][i]} if _reported(said, i) else {}
            reward, gamma = job.reward(rewards[i]), discount_of(told, job.gamma)
            episodes.put(kept[i], place(now[i], actions[i]))
            next_action = None if end or not ahead else agent.act(after, rng)
            if ahead:
                agent.update(now[i], actions[i], reward, after, next_action, gamma, end, cut)
            else:
                agent.update(now[i], actions[i], reward, after, gamma, None, end, cut)
            kept[i] = episodes.taken(place(after, next_action))
            curve.add(reward, gamma, ended, cut, i)
            job.count()
            if ended:
                fresh[i] = not same_step and not disabled  # the environment then ignores the next action
                if same_step:
                    now[i] = _held(raw[i])
                    actions[i] = agent.act(now[i], rng)
            else:
                now[i] = after
                actions[i] = agent.act(after, rng) if next_action is None else next_action
        if disabled and (terminated | truncated).any():
            raw = env.reset(options={"reset_mask": terminated | truncated})[0]
            for i in np.flatnonzero(terminated | truncated).tolist():
                now[i] = _held(raw[i])
                actions[i] = agent.act(now[i], rng)


def _reported(info: dict[str, Any], i: int) -> bool:
    """Whether copy i reported its discount in this step; Gymnasium fills in 0 for those that did not."""
    return "discount" in info and bool(info.get("_discount", {i: True})[i])
