"""What an agent with action values does at a step of `interaction.interact`.

An agent is a tuple: its learner's arrays, its record, `ahead` and `pairs` (`value_steps`), and λ, one number or one for
each pair. The next action is chosen before the update, with the values at that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.control.interaction import has
from tdlambda.core.runtime import OK
from tdlambda.randomness import uniform

if TYPE_CHECKING:
    from tdlambda.control.exploration import draw
    from tdlambda.control.value_steps import behaved, transition
    from tdlambda.control.value_steps import linear_values as values


def fits(agent: Any, actions: int, active: int) -> bool:
    """Whether the agent's arrays have the sizes that code was generated for."""
    q, pi, b = agent[2]
    px, pz, _index, _value = agent[3]
    return has(q, actions) and has(pi, actions) and has(b, actions) and has(px, active) and has(pz, active)


def start(agent: Any, a: Any, x: Ints, xv: Floats, random: Any) -> None:
    """Choose the first action of an episode."""
    q, _pi, b = agent[2]
    values(agent[0][0], agent[0][1], x, xv, q)
    behaved(agent[1][0], q, b)
    a.action = draw(b, uniform(random))


def act(agent: Any, a: Any, x: Ints, xv: Floats, random: Any) -> int:
    """The action that was chosen before."""
    return a.action


def learn_from(
    agent: Any, a: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, action: int, reward: float, gamma: float,
    terminated: bool, truncated: bool, random: Any,
) -> bool:  # fmt: skip
    """Choose the next action and update; return whether the learner did not diverge. λ' is that of the next pair."""
    learner, record, ahead, pairs, lam = agent
    g, (q, _pi, b) = record[0], ahead
    u, taken = uniform(random), 0
    if not terminated:
        values(learner[0], learner[1], y, yv, q)
        behaved(g, q, b)
        taken = draw(b, u)
    next_lam = lam[y[0] * q.size + taken] if lam.size > 1 else lam[0]
    features = (x, xv, y, yv, y, yv)
    status = transition(
        learner, g, ahead, pairs, features, action, taken, reward, gamma, next_lam, terminated, truncated
    )  # type: ignore[call-arg]
    g.steps += 1
    g.episodes += terminated or truncated
    if not (terminated or truncated):
        a.action = taken
    return status == OK
