"""Learning curves: an agent's finished episodes and its evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Array, Floats, Ints, integer
from tdlambda.learners.guard import Guard
from tdlambda.learners.saved import SAVED, Saved

if TYPE_CHECKING:
    from altair.typing import ChartType

_COLUMNS = 5


class LearningCurve(Saved):
    """The finished episodes of an agent, in order; `td.train` returns it.

    Attributes
    ----------
    steps
        Number of transitions learned from, including those of unfinished episodes.
    interrupted
        Whether the last run was ended by Ctrl-C.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> agent = td.Sarsa(ring.features, actions=2, alpha=0.1)
    >>> curve = td.train(ring, agent, steps=1000, seed=1, evaluate_every=500)
    >>> curve.steps, len(curve) == curve.returns.size == curve.lengths.size
    (1000, True)
    >>> bool((abs(curve.returns) == 1).all()), bool((curve.lengths >= 5).all())
    (True, True)
    >>> curve.evaluations[:, 0]
    array([ 500., 1000.])
    """

    role = "curve"

    def __init__(self) -> None:
        self._guard = Guard("curve")
        self.steps, self.interrupted = 0, False
        self._rows: list[tuple[float, float, int, int, int]] = []
        self._evaluated: list[tuple[float, ...]] = []
        self._current: dict[int, list[float]] = {}

    @property
    def returns(self) -> Floats:
        """Undiscounted return of each episode."""
        return np.array([row[0] for row in self._rows], dtype=np.float64)

    @property
    def discounted(self) -> Floats:
        """Discounted return Σ_t γ₁⋯γ_t R_{t+1} of each episode, the quantity that the agent maximises."""
        return np.array([row[1] for row in self._rows], dtype=np.float64)

    @property
    def lengths(self) -> Ints:
        """Number of steps of each episode."""
        return np.array([row[2] for row in self._rows], dtype=np.int64)

    @property
    def ends(self) -> Ints:
        """Total number of steps when each episode ended."""
        return np.array([row[3] for row in self._rows], dtype=np.int64)

    @property
    def truncated(self) -> Any:
        """Whether each episode was truncated rather than terminated."""
        return np.array([row[4] for row in self._rows], dtype=np.bool_)

    @property
    def evaluations(self) -> Floats:
        """Step, mean return, standard deviation and number of episodes of each evaluation.

        Shape [evaluation, 4]. Evaluation episodes are played without exploration and are not learned from.
        """
        return np.array(self._evaluated, dtype=np.float64).reshape(-1, 4)

    @property
    def unfinished(self) -> float:
        """Sum of the rewards of episodes that have not ended."""
        return sum(now[0] for now in self._current.values())

    def mean(self, last: int = 100) -> float:
        """The mean undiscounted return of the last episodes; NaN if there are none.

        Parameters
        ----------
        last
            Number of episodes to average over, at least 1.
        """
        recent = self._rows[-integer(last, "last", 1) :]
        return sum(row[0] for row in recent) / len(recent) if recent else float("nan")

    def add(self, reward: float, gamma_next: float, ended: bool, truncated: bool = False, env: int = 0) -> None:
        """Add one step of one environment.

        Parameters
        ----------
        reward
            R_{t+1}, any finite number.
        gamma_next
            γ_{t+1} in [0, 1], the discount on entering the next state.
        ended, truncated
            Whether the episode ended with this step, and whether it was truncated.
        env
            Index of the environment, if there are several.
        """
        now = self._current.get(env)
        if now is None:
            now = self._current[env] = [0.0, 0.0, 1.0, 0.0]  # return, discounted, discount, length
        self.steps += 1
        now[0] += reward
        now[1] += now[2] * reward
        now[2] *= gamma_next
        now[3] += 1
        if ended:
            self._rows.append((now[0], now[1], int(now[3]), self.steps, int(truncated)))
            del self._current[env]

    def evaluated(self, returns: list[float]) -> None:
        """Add an evaluation at the current step.

        Parameters
        ----------
        returns
            Undiscounted returns of the evaluation episodes, at least 1.
        """
        self._evaluated.append((self.steps, float(np.mean(returns)), float(np.std(returns)), len(returns)))

    def begin(self) -> None:
        """Drop unfinished episodes and begin new ones."""
        self._current = {}

    def plot(self, path: str | Path | None = None, window: int = 20) -> ChartType:
        """An Altair chart of the returns, their running mean, and the evaluations.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        window
            Number of episodes of the running mean, at least 1.
        """
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        window = integer(window, "window", 1)

        def draw() -> ChartType:
            from tdlambda.charts.control_curve import learning_curve

            return learning_curve(self, window)

        return plotted(path, draw)

    def _state(self) -> dict[str, Array]:
        return {
            "counts": np.array([self.steps, self.interrupted], dtype=np.int64),
            "episodes": np.array(self._rows, dtype=np.float64).reshape(-1, _COLUMNS),
            "evaluations": self.evaluations,
            "unfinished": np.array([[env, *now] for env, now in self._current.items()]).reshape(-1, _COLUMNS),
        }

    def _restore(self, state: dict[str, Array]) -> None:
        shapes = {name: (len(array), *array.shape[1:]) for name, array in self._state().items()}
        for name, shape in shapes.items():
            if state[name].shape[1:] != shape[1:] or (name == "counts" and state[name].shape != (2,)):
                raise ValueError(f"its array {name!r} must have a shape like {shape}; got {state[name].shape}")
        steps, interrupted = state["counts"].tolist()
        self.steps, self.interrupted = integer(steps, "steps", 0), bool(interrupted)
        self._rows = [
            (float(g), float(d), int(n), int(end), int(truncated)) for g, d, n, end, truncated in state["episodes"]
        ]
        self._evaluated = [tuple(map(float, row)) for row in state["evaluations"]]
        self._current = {int(env): list(map(float, now)) for env, *now in state["unfinished"]}

    @classmethod
    def _least_bytes(cls, params: dict[str, Any]) -> int:  # noqa: ARG003
        return 0

    def __len__(self) -> int:
        """The number of finished episodes."""
        return len(self._rows)

    def __repr__(self) -> str:
        """A one-line summary."""
        end = ", interrupted" if self.interrupted else ""
        return f"<LearningCurve: {self.steps} steps, {len(self)} episodes, last 100 return {self.mean():.4g}{end}>"


SAVED["curve"]["LearningCurve"] = LearningCurve
