"""What agents have in common: their files, and charts of their policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from tdlambda.learners.saved import Saved

if TYPE_CHECKING:
    from altair.typing import ChartType


class SavedAgent(Saved):
    """Base class of agents."""

    role = "agent"

    def plot(self, env: gym.Env[Any, Any], path: str | Path | None = None) -> ChartType:
        """An Altair chart of the most probable actions: on a map, over two dimensions, or over states.

        Parameters
        ----------
        env
            The environment, whose map or states the chart shows.
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        """
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> ChartType:
            from tdlambda.control.drawing import policy_map

            return policy_map(self, env)

        return plotted(path, draw)
