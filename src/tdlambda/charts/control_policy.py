"""What an agent would do: the greedy action and its value, on the map of a gridworld or over two dimensions."""

from __future__ import annotations

from typing import Any

import altair as alt
import gymnasium as gym
import numpy as np

from tdlambda.charts.style import finished

ARROWS = "↑→↓←"
"""Of the gridworlds' moves."""
SIZE = 40
"""Points along each of two dimensions."""


def policy_map(agent: Any, env: Any) -> Any:
    """The greedy policy of an agent with action values in an environment.

    A gridworld (a task with `rows`) is drawn as its map, with arrows; two real dimensions as a map of actions; other
    states as bars, one for each state.
    """
    space: Any = env.observation_space
    if hasattr(env, "rows") and isinstance(space, gym.spaces.Discrete):
        return _grid(agent, env.rows)
    if isinstance(space, gym.spaces.Box) and space.shape == (2,) and np.isfinite([space.low, space.high]).all():
        return _plane(agent, space)
    if isinstance(space, gym.spaces.Discrete):
        rows = [{"state": s, "action": str(agent.greedy(s)), "value": float(agent.q(s).max())} for s in range(space.n)]
        bars = alt.Chart(alt.Data(values=rows)).mark_bar()
        return finished(
            bars.encode(x="state:O", y=alt.Y("value:Q", title="value"), color="action:N").properties(width=560)
        )
    raise ValueError(f"env: a policy can be drawn over states, a gridworld or two bounded dimensions; got {space}")


def _grid(agent: Any, letters: Any) -> Any:
    width, cells = len(letters[0]), []
    for s, letter in enumerate("".join(letters)):
        if letter in "#CEHG" or s >= agent.features.size:
            continue
        q = agent.q(s)
        cells.append(
            {"row": s // width, "column": s % width, "value": float(q.max()), "arrow": ARROWS[int(np.argmax(q))]}
        )
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X("column:O", axis=None), y=alt.Y("row:O", axis=None), tooltip=["row:O", "column:O", "value:Q"]
    )
    heat = base.mark_rect().encode(color=alt.Color("value:Q", scale=alt.Scale(scheme="blues"), title="value"))
    size = 34
    drawn = alt.layer(heat, base.mark_text(fontSize=16).encode(text="arrow:N"))
    return finished(drawn.properties(width=size * width, height=size * len(letters)))


def _plane(agent: Any, space: Any) -> Any:
    axes = [np.linspace(low, high, SIZE) for low, high in zip(space.low, space.high, strict=True)]
    rows = [
        {"x": float(x), "y": float(y), "action": str(agent.greedy([x, y])), "value": float(agent.q([x, y]).max())}
        for x in axes[0]
        for y in axes[1]
    ]
    base = alt.Chart(alt.Data(values=rows)).mark_rect()
    x, y = (alt.X("x:O", title="x₁", axis=alt.Axis(labels=False)), alt.Y("y:O", sort="descending", title="x₂"))
    encoded = base.encode(x=x, y=y.axis(labels=False), color=alt.Color("action:N"), tooltip=["x:Q", "y:Q", "value:Q"])
    return finished(encoded.properties(width=320, height=320))
