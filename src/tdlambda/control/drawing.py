"""Charts of an agent's policy: on a map, over two dimensions, or over states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym

from tdlambda.charts.control_policy import on_map, policy_states, policy_tiles
from tdlambda.control.worlds import action_names, plane_of

if TYPE_CHECKING:
    from altair.typing import ChartType

SIZE = 40
"""Number of points along each of two dimensions."""


def policy_map(agent: Any, env: Any) -> ChartType:
    """A chart of an agent's greedy policy in an environment.

    A gridworld (a task with `rows`) is drawn as its map, darker for larger values; two dimensions as a map of actions;
    other states side by side.
    """
    names, plane = action_names(env), plane_of(env)

    def at(obs: Any) -> dict[str, Any]:
        value = agent.q(obs).max() if hasattr(agent, "q") else agent.critic.predict(obs)
        return {"action": names[int(agent.greedy(obs))], "value": float(value), "agreed": 1.0}

    if hasattr(env, "rows"):
        tiles = [tile | (at(tile["state"]) if tile["live"] else {"action": None}) for tile in on_map(env.rows)]
        values = [tile["value"] for tile in tiles if tile["live"]]
        size = 34 * len(env.rows[0]), 34 * len({tile["low"] for tile in tiles})
        return policy_tiles(tiles, names, shade="value", domain=(min(values), max(values)), size=size)
    if isinstance(env.observation_space, gym.spaces.Discrete):
        return policy_states([{"state": s, **at(s)} for s in range(int(env.observation_space.n))], names)
    if plane is None:
        raise ValueError(
            "env must have states, a gridworld or two bounded dimensions for its policy to be drawn; got "
            f"{env.observation_space}. For more dimensions, give td.tasks.World a `plane`"
        )
    (x, y), (w, h) = plane.low, [(b - a) / SIZE for a, b in zip(plane.low, plane.high, strict=True)]
    rows = []
    for i in range(SIZE):
        for j in range(SIZE):
            point = float(x + (i + 0.5) * w), float(y + (j + 0.5) * h)
            tile = {"left": x + i * w, "right": x + (i + 1) * w, "low": y + j * h, "high": y + (j + 1) * h}
            rows.append(tile | {"state": "{:.3g}, {:.3g}".format(*point)} | at(plane.observation(*point)))
    return policy_tiles(rows, names, plane.axes, size=(320, 320))
