"""One agent in several environments at once: shared weights, separate traces."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.control.actor_critic import ActorCritic
from tdlambda.core.memory import Episode
from tdlambda.learners import Algorithm
from tdlambda.learners.learning import _held, discount_of


class Traces:
    """The episode state of a learner, saved and restored when environments alternate.

    True online algorithms keep w⁻·x, a prediction with the weights before the last step. Weight changes that other
    environments make in between must not count as this environment's own, so it is stored relative to the current w·x.
    """

    def __init__(self, learner: Algorithm) -> None:
        self.learner, model, declared = learner, learner.model, learner.declaration
        begins = {
            keep: declared.dots[at].partition(".")[0] for keep, at in declared.keeps.items() if isinstance(at, str)
        }
        self.predictions = {f"{k}_{keep}": f"{k}_{row}" for k in model.estimates for keep, row in begins.items()}

    def _shifted(self, episode: Episode, at: Any, sign: int) -> Episode:
        """The episode with its stored predictions shifted by those of the current weights at an observation or pair."""
        if not self.predictions:
            return episode
        index, value = self.learner.features.encode(at)
        row = self.learner.memory.row
        now = {name: float(value @ row(weights)[index]) for name, weights in self.predictions.items()}
        return episode._replace(
            numbers=episode.numbers | {name: episode.numbers[name] + sign * v for name, v in now.items()}
        )

    def taken(self, at: Any) -> Episode:
        """A copy of the traces and kept numbers, positioned at this observation or pair."""
        return self._shifted(self.learner.memory.episode(), at, -1)

    def put(self, kept: Any, at: Any) -> None:
        """Restore a copy and continue its episode."""
        self.learner.memory.resume(self._shifted(kept, at, 1))


class ActorTraces:
    """The episode state of an actor and its critic."""

    def __init__(self, agent: ActorCritic) -> None:
        if not isinstance(agent.critic, Algorithm):
            raise TypeError(f"agent: in a vector environment, its critic must have traces; got {agent.critic!r}")
        self.critic, self.actor = Traces(agent.critic), agent.actor

    def taken(self, at: Any) -> tuple[Episode, Episode]:
        """A copy of the traces and kept numbers of both."""
        return self.critic.taken(at), self.actor.memory.episode()

    def put(self, kept: Any, at: Any) -> None:
        """Restore a copy and continue its episode."""
        self.critic.put(kept[0], at)
        self.actor.memory.resume(kept[1])


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
