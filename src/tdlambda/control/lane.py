"""One agent on one seed: its arrays, and the calls of the compiled interaction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Floats, Ints
from tdlambda.control.action_values import ActionValues
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.actor_modules import ActorCriticForm
from tdlambda.control.interaction import ACCOUNT
from tdlambda.control.softmax import Softmax
from tdlambda.control.world_modules import LoopSizes, WorldForm, interaction_module
from tdlambda.core.lazy_memory import LazyMemory
from tdlambda.core.program import machine_code
from tdlambda.core.schedules import lazy
from tdlambda.features import Encoder, Network
from tdlambda.learners import Algorithm
from tdlambda.rules import Fixed, PerState
from tdlambda.tasks.world import World

MANY = 64
"""Number of state-action pairs from which the lazy schedule is faster (benchmarks/action_values.py)."""
Agent = ActorCritic | ActionValues


def check_agent(agent: Agent, world: World, name: str) -> None:
    """Raise ValueError if an agent has no compiled form; the message names the part."""
    if isinstance(agent, ActionValues):
        check_values(agent, world, name)
    else:
        check_actor(agent, world, name)


def check_features(features: Encoder, world: World, name: str) -> None:
    """Raise ValueError if compiled code cannot encode the features."""
    if features.loop_kernel is None or features.loop_kernel.dimensions != world.width:
        what = "states" if world.discrete else f"vectors of {world.width} numbers"
        such = "td.features.OneHot" if world.discrete else "td.features.TileCoder"
        raise ValueError(
            f"agents: {name!r}: features must encode {what} in compiled code, as {such} does; got {features!r}"
        )


def check_values(agent: ActionValues, world: World, name: str) -> None:
    """Raise ValueError if an agent with action values has no compiled form."""
    if agent.actions != world.actions:
        raise ValueError(f"agents: {name!r} has {agent.actions} actions, but the world has {world.actions}")
    if agent.form.policies_known:
        raise ValueError(
            f"agents: {name!r}: policy and behavior must be td.control.EpsilonGreedy or td.control.Boltzmann; "
            f"got {agent.policy!r} and {agent.behavior!r}"
        )
    check_features(agent.features, world, name)
    if (agent.learner.dtype != "float64" and agent.form.network is None) or agent.form.own_lam:
        raise ValueError(f'agents: {name!r} must have dtype="float64" and a rule for λ without its own features')
    if agent.fixed_lam is None and not isinstance(agent.learner.rule, PerState):
        raise ValueError(
            f"agents: {name!r}: lam must be a number, one for each state, or a rule that learns; "
            f"got {agent.learner.rule!r}"
        )


def check_actor(agent: ActorCritic, world: World, name: str) -> None:
    """Raise ValueError if an actor-critic has no compiled form."""
    critic, features = agent.critic, agent.critic.features
    if not isinstance(critic, Algorithm) or (critic.dtype != "float64" and not isinstance(features, Network)):
        raise ValueError(
            f'agents: {name!r}: critic must be a learner with traces and dtype="float64", such as td.TrueOnlineTD; '
            f"got {critic!r}"
        )
    if critic.fixed_lam is None:
        raise ValueError(
            f"agents: {name!r}: lam of the critic must be a number or a rule that learns; got {critic.rule!r}"
        )
    if isinstance(features, Network) and critic.rule.learns():
        raise ValueError(f"agents: {name!r}: lam of a critic with a network must be a number; got {critic.rule!r}")
    if not isinstance(agent.policy, Softmax) or agent.policy.actions != world.actions:
        raise ValueError(f"agents: {name!r}: policy must be td.control.Softmax({world.actions}); got {agent.policy!r}")
    if agent.behavior is not None:
        raise ValueError(f"agents: {name!r} must act on-policy, without a behavior; got {agent.behavior!r}")
    check_features(features, world, name)
    if agent.features != features or critic.lam_features != features:
        raise ValueError(f"agents: {name!r}: critic, λ and policy must have the same features")
    if not isinstance(agent.actor_lam, Fixed | str | None):
        raise ValueError(
            f'agents: {name!r}: lam of the actor must be "critic", None or a number; got {agent.actor_lam!r}'
        )


def streams(seed: int) -> NDArray[np.uint64]:
    """Two random streams of a seed: for the starts of episodes, and for everything else."""
    return np.asarray(np.random.SeedSequence(seed).generate_state(8, np.uint64), dtype=np.uint64).reshape(2, 4)


def learner_of(agent: Agent) -> Any:
    """An agent's learner with traces."""
    return agent.learner if isinstance(agent, ActionValues) else agent.critic


def form_of(agent: Agent, world: World) -> WorldForm:
    """The settings that are fixed when code for this agent is generated."""
    learner = learner_of(agent)
    features, encoder = learner.features, agent.features.loop_kernel
    assert encoder is not None
    lists_live, clears = learner.memory.layout.lists_live, isinstance(agent, ActionValues) and agent.form.clears
    schedule = "sparse" if lists_live else "dense"
    # The lazy schedule pays if a step reads few of the features and many of them may be live.
    many = lists_live or (isinstance(agent, ActionValues) and features.size >= MANY)
    network = features.form() if isinstance(features, Network) else None
    if network is not None:
        schedule = "network"
    elif many and 4 * features.active <= features.size and lazy.possible(learner.model) and not clears:
        plain = isinstance(agent, ActorCritic) or agent.form.target in ("sampled", "greedy")
        schedule = "binary" if encoder.binary and plain else "lazy"
    place = (world.begin, world.move, world.observe, encoder.encode)
    sizes = LoopSizes(world.actions, agent.features.active, world.width)
    if isinstance(agent, ActionValues):
        return WorldForm(agent.form, schedule, *place, sizes, network)
    form = ActorCriticForm(learner.model, agent.actor.form, agent.shares_decay, agent.td_error == "after")
    return WorldForm(form, schedule, *place, sizes, network)


class Lane:
    """A copy of an agent that runs on one seed, starting with a new episode."""

    def __init__(self, agent: Agent, world: World, seed: int, points: Ints) -> None:
        self.agent = agent.clone()
        self.agent.reset()
        learner, form = learner_of(self.agent), form_of(agent, world)
        self.learner, self.points, self.steps = learner, points, 0
        self.curve: Floats = np.full(points.size, -np.inf)
        self.episodes: list[Floats] = []
        self.memory = LazyMemory(learner.model, learner.memory) if form.lazily else learner.memory
        self.account = np.zeros(1, ACCOUNT)
        self.account["length"], self.account["limit"] = -1, world.limit
        self.state = np.zeros(world.size)
        self.seen = np.zeros(world.width)
        place = (world.numbers, self.state, self.seen, streams(seed))
        n, encoder = agent.features.active, agent.features.loop_kernel
        x, y = ((np.zeros(n, dtype=np.int64), np.zeros(n)) for _ in range(2))
        given = self._of_values() if isinstance(agent, ActionValues) else self._of_actor()
        features = (encoder.numbers, *x, *y)
        self.arguments = (given, place, features, self.account, np.ascontiguousarray(points), self.curve)
        self._interact = machine_code(interaction_module(form), "interact", 0, 0, *self.arguments, np.zeros((1, 3)))

    def _of_actor(self) -> tuple[Any, ...]:
        """The arrays of an actor and its critic, as `actor_in_world` takes them."""
        agent: Any = self.agent
        self.account["lam"] = agent.critic.fixed_lam
        self.account["actor_lam"] = agent.actor_lam.lam if isinstance(agent.actor_lam, Fixed) else 0.0
        return self.memory.all_arrays, agent.actor.arrays

    def _of_values(self) -> tuple[Any, ...]:
        """The arrays of action values, as `values_in_world` takes them."""
        agent: Any = self.agent
        n, k = agent.features.active, agent.actions
        ahead = tuple(np.zeros(k) for _ in range(3))
        pairs = (*(np.zeros(size, dtype=np.int64) for size in (n, n, n * k)), np.zeros(n * k))
        lam = np.array([agent.fixed_lam]) if agent.fixed_lam is not None else agent.learner.rule.lam
        return self.memory.all_arrays, agent.record, ahead, pairs, lam

    @property
    def diverged_at(self) -> int:
        """The step at which the agent diverged; -1 if it has not."""
        learning = self.memory.record["diverged_at"][0] < 0 and self.agent.diverged_at is None
        return -1 if learning else self.steps

    def advance(self, steps: int, log: Floats) -> None:
        """Run more steps, unless the agent diverges; `log` has space for as many episodes."""
        if self.diverged_at >= 0:
            return
        made, logged = self._interact(self.steps, self.steps + steps, *self.arguments, log)
        self.steps += made
        if logged:
            self.episodes.append(log[:logged].copy())
        if self.account["refused"][0]:
            obs: Any = int(self.seen[0]) if self.agent.features.states is not None else self.seen
            network = isinstance(self.agent.features, Network)
            (self.agent.features.vector if network else self.agent.features.encode)(obs)  # raises the specific error
            raise ValueError(f"features must be able to encode every observation of the task; got {self.seen}")

    def close(self) -> Agent:
        """The agent, which can continue on its own."""
        return self._closed(self.agent)

    def snapshot(self) -> Agent:
        """A copy of the agent in its current state; the lane does not change."""
        return self._closed(self.agent.clone())

    def _closed(self, agent: Agent) -> Agent:
        if isinstance(self.memory, LazyMemory):
            self.memory.write(learner_of(agent).memory)
        if agent.diverged_at is not None:
            learner_of(agent).memory.clip()
        return agent

    def finished_episodes(self) -> Floats:
        """The return, length and final step of each episode [episode, 3]."""
        return np.concatenate([np.zeros((0, 3)), *self.episodes])
