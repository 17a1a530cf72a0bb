"""One agent on one seed: its memory, and how it is fed to the compiled interaction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tdlambda import memory
from tdlambda.arrays import Floats, Ints
from tdlambda.control import interaction, lazy
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.softmax import Softmax
from tdlambda.control.worlds import World
from tdlambda.features import TileCoder
from tdlambda.lambdas import Adaptive, Fixed
from tdlambda.learners import TraceLearner


def check_agent(agent: ActorCritic, world: World, name: str) -> None:
    """Refuse an agent that has no compiled form, saying which part of it."""
    critic, features = agent.critic, agent.critic.features
    if not isinstance(critic, TraceLearner) or critic.dtype != "float64":
        raise ValueError(f"agents: {name!r}: critic must be a learner with traces, of float64; got {critic!r}")
    if not isinstance(critic.rule, Fixed | Adaptive):
        raise ValueError(f"agents: {name!r}: λ of the critic must be a number or a rule that learns")
    if not isinstance(agent.policy, Softmax) or agent.policy.actions != world.actions:
        raise ValueError(f"agents: {name!r}: policy must be td.Softmax({world.actions}); got {agent.policy!r}")
    if agent._behavior is not None:
        raise ValueError(f"agents: {name!r}: the policy itself must act, without a behavior")
    if type(features) is not TileCoder or features.outside != "clip" or features.low.size != world.size:
        raise ValueError(
            f'agents: {name!r}: features must be td.TileCoder over {world.size} dimensions, outside="clip"'
        )
    if agent.features != features or critic._lam_features != features:
        raise ValueError(f"agents: {name!r}: critic, λ and policy must have the same features")
    if not isinstance(agent.lam, Fixed | str | None):
        raise ValueError(f'agents: {name!r}: lam of the actor must be "critic", None or a number; got {agent.lam!r}')
    if agent.diverged_at is not None:
        raise ValueError(f"agents: {name!r} has diverged already")


def streams(seed: int) -> NDArray[np.uint64]:
    """Two random streams of a seed: where episodes begin, and what happens on the way (three numbers a step)."""
    return np.asarray(np.random.SeedSequence(seed).generate_state(8, np.uint64), dtype=np.uint64).reshape(2, 4)


class Lane:
    """A copy of an agent at work on one seed, from a new episode on."""

    def __init__(self, agent: ActorCritic, world: World, seed: int, points: Ints) -> None:
        self.agent = agent.clone()
        self.agent.reset()
        critic, own = self.agent.critic, self.agent._actor
        assert isinstance(critic, TraceLearner)
        self.world, self.points, self.steps = world, points, 0
        self.curve: Floats = np.full(points.size, -np.inf)
        self.episodes: list[Floats] = []
        self.counters: Ints = np.zeros(interaction.COUNTERS, dtype=np.int64)
        self.counters[interaction.LENGTH] = -1
        accounts, active = np.zeros(interaction.ACCOUNTS), critic.features.active
        code, dense = int(critic._I[memory.ALGORITHM]), bool(critic._I[memory.DENSE])
        self.lazy = code in (memory.TRUE_ONLINE_TD, memory.TRUE_ONLINE_GTD) and not dense
        self.lazy &= critic.bundle != memory.VALUE_ERROR  # its traces are read as they are
        options = np.array([agent._shares_decay, agent.td_error == "after", self.lazy])
        width = critic._F.shape[1] if self.lazy else 0
        used = critic.blocks * (critic._I[memory.WEIGHT_ROWS] + critic._I[memory.TRACE_ROWS]) if self.lazy else 0
        self.rows = critic._F[:used].T.copy()
        self.terms = np.zeros((critic.blocks, lazy.NUMBERS))
        self.live = np.zeros((critic.blocks, 1 + 2 * width), dtype=np.int64)
        self.terms[:, lazy.K] = 1.0
        estimates = np.zeros((critic._F.shape[0], 2))
        actor_lam = agent.lam.lam if isinstance(agent.lam, Fixed) else 0.0
        x, y = np.zeros(active, dtype=np.int64), np.zeros(active, dtype=np.int64)
        self.arguments = (
            world.code, world.numbers, world.limit, np.zeros(world.size), streams(seed),
            *interaction.tile_arguments(critic.features), np.zeros(world.size), x, y, np.ones(active),
            critic._F, critic._M, critic._I, own.F, own.M, own.I, own.S, options, float(critic._lam or 0.0), actor_lam,
            self.rows, self.terms, self.live, estimates, np.zeros((3, used)),
            self.counters, accounts, points, self.curve,
        )  # fmt: skip

    @property
    def diverged_at(self) -> int:
        """The step at which the agent diverged; -1 if it has not."""
        return -1 if self.agent.diverged_at is None else self.steps

    def advance(self, steps: int, log: Floats) -> None:
        """So many steps more, unless the agent diverges; `log` has room for as many episodes."""
        if self.agent.diverged_at is not None:
            return
        made, logged = interaction.interact(self.steps, self.steps + steps, *self.arguments, log)
        self.steps += made
        if logged:
            self.episodes.append(log[:logged].copy())

    def close(self) -> ActorCritic:
        """The agent, which can now go on by itself."""
        return self._closed(self.agent, self.rows, self.terms, self.live)

    def snapshot(self) -> ActorCritic:
        """A copy of the agent as it is now; the lane is not touched, and goes on as if nobody had looked."""
        return self._closed(self.agent.clone(), self.rows.copy(), self.terms.copy(), self.live.copy())

    def _closed(self, agent: ActorCritic, rows: Floats, terms: Floats, live: Ints) -> ActorCritic:
        critic = agent.critic
        if self.lazy and isinstance(critic, TraceLearner):
            lazy.close(critic._F, rows, critic._M, critic._I, terms, live)
        return agent

    def finished_episodes(self) -> Floats:
        """Of each episode: its return, its length and the step it ended at [episode, 3]."""
        return np.concatenate([np.zeros((0, 3)), *self.episodes])
