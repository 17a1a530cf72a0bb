"""What an actor-critic does at a step of `interaction.interact`.

An agent is its critic's arrays and its actor's. Fixed when code is generated: whether the actor's trace decays by the
critic's γλ (`shared`), and whether δ is computed `after` the critic's update.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.control.interaction import has
from tdlambda.core.runtime import OK, dot
from tdlambda.randomness import uniform

if TYPE_CHECKING:
    from tdlambda.control.actor import climb as climb_
    from tdlambda.control.softmax import choose as choose_
    from tdlambda.control.softmax import score as score_

    def distribution_(*arguments: Any) -> None:
        """Write π(·|x) into a buffer."""

    def learn(*arguments: Any) -> int:
        """Learn from one transition, as the critic."""

    def value_(*arguments: Any) -> float:
        """V(x)."""


def fits(agent: Any, actions: int, active: int) -> bool:
    """Whether the agent's arrays have the sizes that code was generated for."""
    return has(agent[1][3], 2 * actions)


def start(agent: Any, a: Any, x: Ints, xv: Floats, random: Any) -> None:
    """Do nothing: the actor chooses its first action as any other."""


def act(agent: Any, a: Any, x: Ints, xv: Floats, random: Any) -> int:
    """Draw an action from π(·|x)."""
    climber, theta, out = agent[1][0][0], agent[1][1], agent[1][3]
    distribution_(climber, theta, x, xv, out)
    return choose_(out, uniform(random))


def learn_from(
    agent: Any, a: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, action: int, reward: float, gamma: float,
    terminated: bool, truncated: bool, random: Any, *, shared: bool, after: bool,
) -> bool:  # fmt: skip
    """Update the critic, then the actor; return whether neither diverged."""
    state, rows, own, live = agent[0]
    actor_state, theta, actor_live, out = agent[1]
    climber = actor_state[0]
    status = learn(state, rows, own, live, x, xv, y, yv, y, yv, reward, gamma, 1.0, a.lam, terminated, truncated)
    if status != OK:
        climber.diverged_at = climber.steps + 1
        return False
    delta, follow = state[0].td_error, gamma * a.actor_lam
    if after:
        delta = reward + (0.0 if terminated else gamma * value_(state, rows, y, yv)) - value_(state, rows, x, xv)
    if shared:
        follow = gamma * state[0].last_lam
    score_(climber, action, out, out)
    over = terminated or truncated
    return climb_(climber, theta, actor_live, out, x, xv, yv, delta, 1.0, gamma, follow, over)  # type: ignore[call-arg]


def value(state: Any, rows: Floats, x: Ints, xv: Floats) -> float:
    """V(x) of a critic with the row layout of `core.schedules.one`."""
    return dot(rows[0], x, xv, len(x))
