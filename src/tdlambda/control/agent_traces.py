"""One agent in several environments at once: shared weights, separate traces."""

from __future__ import annotations

from typing import Any

from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.value_state import ValueState
from tdlambda.core.memory import Episode
from tdlambda.learners import Algorithm


class AgentTraces:
    """The traces and kept numbers of an agent, saved and restored when environments alternate.

    True online algorithms keep w⁻·x, a prediction with the weights before the last step. Weight changes that other
    environments make in between must not count as this environment's own, so it is stored relative to the current w·x.
    """

    def __init__(self, agent: ActorCritic | ValueState) -> None:
        self.of_pairs = isinstance(agent, ValueState)
        learner = agent.learner if isinstance(agent, ValueState) else agent.critic
        if not isinstance(learner, Algorithm):
            raise TypeError(f"agent: in a vector environment, its critic must have traces; got {learner!r}")
        self.features, self.memory = learner.features, learner.memory
        self.actor = None if isinstance(agent, ValueState) else agent.actor
        declared = learner.declaration
        begins = {
            keep: declared.dots[at].partition(".")[0] for keep, at in declared.keeps.items() if isinstance(at, str)
        }
        self.predictions = {
            f"{k}_{keep}": f"{k}_{row}" for k in learner.model.estimates for keep, row in begins.items()
        }

    def _shifted(self, episode: Episode, obs: Any, action: Any, sign: int) -> Episode:
        """The episode with its stored predictions shifted by those of the current weights."""
        if not self.predictions:
            return episode
        index, value = self.features.encode((obs, action or 0) if self.of_pairs else obs)
        now = {name: float(value @ self.memory.row(weights)[index]) for name, weights in self.predictions.items()}
        return episode._replace(
            numbers=episode.numbers | {name: episode.numbers[name] + sign * v for name, v in now.items()}
        )

    def copied(self, obs: Any, action: Any) -> tuple[Episode, Any]:
        """A copy of the traces and kept numbers, positioned at this observation and action."""
        episode = self._shifted(self.memory.episode(), obs, action, -1)
        return episode, None if self.actor is None else self.actor.episode()

    def restore(self, kept: tuple[Episode, Any], obs: Any, action: Any) -> None:
        """Restore a copy and continue its episode."""
        self.memory.resume(self._shifted(kept[0], obs, action, 1))
        if self.actor is not None and kept[1] is not None:
            self.actor.resume(kept[1])
