"""One agent on one seed: its arrays, and how they are fed to the compiled interaction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Floats, Ints
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.interaction import ACCOUNT
from tdlambda.control.modules import Form, interaction_module, machine_code
from tdlambda.control.softmax import Softmax
from tdlambda.core.schedules import lazy, lazy_arrays
from tdlambda.learners import Algorithm
from tdlambda.rules import Fixed
from tdlambda.tasks.world import World


def check_agent(agent: ActorCritic, world: World, name: str) -> None:
    """Refuse an agent that has no compiled form, saying which part of it."""
    critic, features = agent.critic, agent.critic.features
    if not isinstance(critic, Algorithm) or critic.dtype != "float64":
        raise ValueError(f"agents: {name!r}: critic must be a learner with traces, of float64; got {critic!r}")
    if critic._lam is None:
        raise ValueError(f"agents: {name!r}: λ of the critic must be a number or a rule that learns")
    if not isinstance(agent.policy, Softmax) or agent.policy.actions != world.actions:
        raise ValueError(f"agents: {name!r}: policy must be td.Softmax({world.actions}); got {agent.policy!r}")
    if agent._behavior is not None:
        raise ValueError(f"agents: {name!r}: the policy itself must act, without a behavior")
    if features.loop_kernel is None or features.loop_kernel.dimensions != world.size:
        raise ValueError(
            f"agents: {name!r}: features must encode vectors of {world.size} numbers by compiled code, such as "
            f"td.TileCoder; got {features!r}"
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


def form_of(agent: ActorCritic, world: World) -> Form:
    """What is decided when code for this agent is generated."""
    critic: Any = agent.critic
    features, encoder = critic.features, critic.features.loop_kernel
    schedule = "sparse" if critic._sparse else "dense"
    # It pays where a step reads few of the features and there may be many live ones.
    if critic._sparse and 4 * features.active <= features.size and lazy.possible(critic.model):
        schedule = "binary" if encoder.binary else "lazy"
    shared, after = agent._shares_decay, agent.td_error == "after"
    return Form(critic.model, schedule, agent._actor.form, world.begin, world.move, encoder.encode, shared, after)


class Lane:
    """A copy of an agent at work on one seed, from a new episode on."""

    def __init__(self, agent: ActorCritic, world: World, seed: int, points: Ints) -> None:
        self.agent = agent.clone()
        self.agent.reset()
        critic, actor = self.agent.critic, self.agent._actor
        assert isinstance(critic, Algorithm)
        features, encoder, form = critic.features, critic.features.loop_kernel, form_of(agent, world)
        assert encoder is not None
        self.critic, self.points, self.steps = critic, points, 0
        self.curve: Floats = np.full(points.size, -np.inf)
        self.episodes: list[Floats] = []
        self.lazy = form.schedule in ("lazy", "binary")
        self.memory: Any = (critic._record, critic._rows, critic._own, critic._live)
        if self.lazy:
            state, rows, live = lazy_arrays.opened(critic.model, critic._record, critic._rows)
            self.memory = (state, rows, critic._own, live)
        account = np.zeros(1, ACCOUNT)
        account["length"], account["limit"], account["lam"] = -1, world.limit, critic._lam
        account["actor_lam"] = agent.lam.lam if isinstance(agent.lam, Fixed) else 0.0
        self.account, self.state = account, np.zeros(world.size)
        x, y = ((np.zeros(features.active, dtype=np.int64), np.zeros(features.active)) for _ in range(2))
        self.arguments = (
            self.memory, actor.memory, (world.numbers, self.state, streams(seed)), (encoder.numbers, *x, *y), account,
            np.ascontiguousarray(points), self.curve,
        )  # fmt: skip
        module = interaction_module(form)
        self._interact = machine_code(module, "interact", 0, 0, *self.arguments, np.zeros((1, 3)))

    @property
    def diverged_at(self) -> int:
        """The step at which the agent diverged; -1 if it has not."""
        return -1 if self.agent.diverged_at is None else self.steps

    def advance(self, steps: int, log: Floats) -> None:
        """So many steps more, unless the agent diverges; `log` has room for as many episodes."""
        if self.agent.diverged_at is not None:
            return
        made, logged = self._interact(self.steps, self.steps + steps, *self.arguments, log)
        self.steps += made
        if logged:
            self.episodes.append(log[:logged].copy())
        if self.account["refused"][0]:
            self.critic.features.encode(self.state)  # says what is wrong with it
            raise ValueError(f"features refuse the observation {self.state}")

    def close(self) -> ActorCritic:
        """The agent, which can now go on by itself."""
        return self._closed(self.agent)

    def snapshot(self) -> ActorCritic:
        """A copy of the agent as it is now; the lane is not touched, and goes on as if nobody had looked."""
        return self._closed(self.agent.clone())

    def _closed(self, agent: ActorCritic) -> ActorCritic:
        critic: Any = agent.critic
        if self.lazy:
            state, rows, own, _ = self.memory
            lazy_arrays.closed(critic.model, state, rows, critic._record, critic._rows, critic._live)
            critic._own[:] = own
        return agent

    def finished_episodes(self) -> Floats:
        """Of each episode: its return, its length and the step it ended at [episode, 3]."""
        return np.concatenate([np.zeros((0, 3)), *self.episodes])
