"""The history of a learner: its estimates at chosen moments, on a finite task with the exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.learners import Learner
from tdlambda.rules import Greedy, Meta
from tdlambda.runner import learn
from tdlambda.showing import PrintedTable
from tdlambda.tasks import TabularTask, Task

if TYPE_CHECKING:
    from altair.typing import ChartType

PLACES = 20
"""Number of observations at which to record where there are no states."""
MOMENTS = 5
"""Number of moments at which λ(s) and V(s) are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class History(PrintedTable):
    """The record of `td.report.follow`: estimates at each moment, for each state.

    Attributes
    ----------
    task, learner
        The task (None for an environment without an exact model) and the learner in its final state.
    steps
        Number of updates at each moment, [moment].
    values, lambdas
        V(s) and λ(s), [moment, state].
    error
        Σ d(s) (V(s) - v(s))², the value error without its ½, [moment]; NaN without an exact model.
    estimates
        Further learned estimates, [moment, estimate, state], named by `names`. `td.rules.Meta` has E[G], E[G^λ] and
        Var[G^λ]; `td.rules.Greedy` has E[G] and Var[G] (or E[G²]); other rules have none.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> history = td.report.follow(ring, td.TrueOnlineTD(ring.features, 0.01, td.rules.Meta()), steps=1000, points=[0,
    ...     100, 1000])
    >>> history.names
    ('E[G]', 'E[G^λ]', 'Var[G^λ]')
    >>> history.estimates.shape
    (3, 3, 11)
    >>> len(history.plot().concat)              # history.plot("watch.svg") writes it to a file
    6
    """

    task: TabularTask | None
    learner: Any
    steps: Ints
    values: Floats
    lambdas: Floats
    error: Floats
    estimates: Floats
    names: tuple[str, ...]

    @property
    def _known(self) -> TabularTask:
        if self.task is None:
            raise ValueError("this environment has no exact model, so its true values are not known")
        return self.task

    @cached_property
    def truth(self) -> Floats:
        """The exact v(s)."""
        return self._known.exact.v()

    @cached_property
    def exact(self) -> Floats:
        """Exact values of the estimates, given V and λ at each moment, [moment, estimate, state]."""
        out = np.empty_like(self.estimates)
        if not self.names:
            return out
        of_target = self._known.mdp.under(self._known.target)
        spread = self._known.exact if self.learner.rule.of == "corrected" else of_target
        if "Var[G]" in self.names or "E[G²]" in self.names:
            G = spread.lambda_return(0.0, 1.0)
            out[:, 0], out[:, 1] = self.truth, G.variance if "Var[G]" in self.names else G.second_moment
        else:
            for k, (V, lam) in enumerate(zip(self.values, self.lambdas, strict=True)):
                out[k, 0], out[k, 1] = self.truth, of_target.lambda_return(V, lam).mean
                out[k, 2] = spread.lambda_return(V, lam).variance
        return out

    def plot(self, path: str | Path | None = None, states: Sequence[int] | None = None) -> ChartType:
        """Plot λ(s), V(s) and v(s), the error, and the estimates over time, with their exact values dashed.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        states
            States in [0, n_states - 1] whose estimates to draw over time; by default up to five non-terminal states.

        Returns
        -------
        An Altair chart, which a notebook displays.
        """
        n = self.values.shape[1]
        live = np.arange(n) if self.task is None else np.flatnonzero(~self.task.mdp.terminal)
        chosen = live[np.unique(np.linspace(0, live.size - 1, 5).round().astype(int))]
        if states is not None:
            chosen = np.array([integer(s, "states", 0, n - 1) for s in states], dtype=np.int64)
            if not chosen.size:
                raise ValueError("states must contain at least one state; got none")
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        return plotted(path, lambda: self._drawn(live, chosen))

    def _drawn(self, live: Ints, chosen: Ints) -> Any:
        from tdlambda.charts.learner_history import by_state, followed, over_time

        when = np.unique(np.linspace(0, len(self.steps) - 1, MOMENTS).round().astype(int)).tolist()

        def moments(what: Floats) -> list[dict[str, Any]]:
            return [
                {"series": f"after {self.steps[k]:,}", "state": s, "mean": what[k, s]}
                for k in when
                for s in live.tolist()
            ]

        later = np.flatnonzero(self.steps > 0).tolist()
        known = self.task is not None
        truth = [{"state": s, "mean": self.truth[s]} for s in live.tolist()] if known else []
        error = [{"series": "error", "label": "", "step": self.steps[k], "mean": self.error[k]} for k in later]
        parts = {
            "λ(s), after some steps": by_state(moments(self.lambdas), "", unit=True),
            "V(s), and v(s) in black" if known else "V(s)": by_state(moments(self.values), "", truth),
        }
        if known:
            parts["value error, Σ d (V - v)²"] = over_time(error, "", log=True)
        for j, name in enumerate(self.names):
            rows = [
                {
                    "series": f"state {s}",
                    "step": self.steps[k],
                    "mean": self.estimates[k, j, s],
                    "exact": self.exact[k, j, s] if known else None,
                }
                for s in chosen.tolist()
                for k in later
            ]
            parts[f"{name}: learned, and exact (dashed)" if known else f"{name}: learned"] = over_time(rows, "")
        return followed(parts)


def follow(
    task: Task[Any] | gym.Env[Any, Any] | str,
    learner: Learner,
    steps: int,
    points: int | Sequence[int] = 100,
    seed: int = 0,
    *,
    policy: Any = None,
    gamma: float | None = None,
    observations: Sequence[Any] | None = None,
) -> History:
    """Train a learner and record V, λ, its estimates and, on a finite task, its error over time.

    Parameters
    ----------
    task
        A task with an exact model, such as `td.make("RingWorld-v0")`; transitions come from its sampler. Or any
        Gymnasium environment or its id; then the truth is not known, and `policy` and `gamma` are as for `td.learn`.
    learner
        Any learner; it begins a new episode and continues from its current state.
    steps
        Total number of updates, at least 1.
    points
        Number of moments to record, at least 1, evenly spaced on a logarithmic axis; or the moments themselves, as
        increasing numbers of steps from 0 (before the first update) to `steps`.
    seed
        Seed of the sampler, or of the environment and of the actions, at least 0.
    policy, gamma
        Policy and discount of an environment without an exact model; see `td.learn`.
    observations
        Observations at which to record, in an environment without an exact model; by default 20 that are met.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> history = td.report.follow(ring, td.TrueOnlineTD(ring.features, 0.01, td.rules.Meta()), steps=100_000,
    ...     points=20)
    >>> bool(history.lambdas[0, 5] == 1 and history.lambdas[-1, 5] < 0.1)     # λ falls as V becomes trustworthy
    True
    """
    moments = _moments(integer(steps, "steps", 1), points)
    if not isinstance(task, TabularTask):
        return _followed(task, learner, steps, moments, seed, policy, gamma, observations)
    if policy is not None or gamma is not None or observations is not None:
        raise ValueError("policy, gamma, observations: a finite task has its own; leave them out")
    learner.reset()
    sampler, recorded = task.sampler(seed=seed), _Recorded(learner, moments, np.arange(task.mdp.n_states))
    for moment in [*moments.tolist(), steps]:
        learner.update_many(sampler.take(moment - recorded.done))
        recorded.done = moment
        recorded.record()
    return recorded.history(task)


def _names(rule: Any) -> tuple[str, ...]:
    """The auxiliary estimates of a rule."""
    if isinstance(rule, Meta):
        return ("E[G]", "E[G^λ]", "Var[G^λ]")
    if isinstance(rule, Greedy):
        return ("E[G]", "Var[G]" if rule.variance == "direct" else "E[G²]")
    return ()


class _Recorded:
    """A learner that records V, λ and its estimates at some observations whenever it has made so many steps."""

    def __init__(self, learner: Any, moments: Ints, observations: Any) -> None:
        self.learner, self.observations, self.names = learner, observations, _names(getattr(learner, "rule", None))
        self.moments, self.due, self.done = moments, moments.tolist(), 0
        self.seen: list[tuple[Floats, Floats, Floats]] = []
        self.record()

    def record(self) -> None:
        """Record if it is time."""
        while self.due and self.due[0] == self.done:
            V = np.array(self.learner.predict_many(self.observations), dtype=np.float64)
            lam = np.array(self.learner.lambdas(self.observations), dtype=np.float64)
            more = self.learner.estimates(self.observations)[1:] if self.names else np.empty((0, len(V)))
            self.seen.append((V, lam, np.array(more)))
            self.due.pop(0)

    def history(self, task: TabularTask | None) -> History:
        """What was recorded, with the errors on a finite task."""
        values, lambdas, estimates = (np.array(column) for column in zip(*self.seen, strict=True))
        error = np.full(len(values), np.nan)
        if task is not None:
            error = (values - task.exact.v()) ** 2 @ task.exact.error_weights()
        return History(task, self.learner, self.moments, values, lambdas, error, estimates, self.names)

    def reset(self) -> None:
        """Begin a new episode."""
        self.learner.reset()

    def update(self, *transition: Any, **options: Any) -> None:
        """Learn, then record if it is time."""
        self.learner.update(*transition, **options)
        self.done += 1
        self.record()


class _Met:
    """A learner that only remembers the observations it meets."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def reset(self) -> None:
        """Do nothing."""

    def update(self, obs: Any, *_: Any, **__: Any) -> None:
        """Remember the observation."""
        self.seen.append(obs)


def _followed(
    env: Any, learner: Any, steps: int, moments: Ints, seed: int, policy: Any, gamma: float | None,
    observations: Sequence[Any] | None,
) -> History:  # fmt: skip
    """`follow` in an environment without an exact model."""
    options: dict[str, Any] = {"seed": seed, "gamma": gamma, "policy": policy, "progress": False}
    if observations is None:
        met = learn(env, _Met(), min(steps, 20 * PLACES), **options).learner.seen
        observations = met[:: max(1, len(met) // PLACES)][:PLACES]
    recorded = _Recorded(learner, moments, observations)
    learn(env, recorded, steps, **options)
    return recorded.history(None)


def _moments(steps: int, points: int | Sequence[int]) -> Ints:
    """The numbers of steps after which to record."""
    if isinstance(points, int | np.integer):
        spaced = np.geomspace(min(10, steps), steps, integer(points, "points", 1)).round().astype(np.int64)
        spaced[-1] = steps
        return np.unique(spaced)
    moments = np.array([integer(point, "points", 0, steps) for point in points], dtype=np.int64)
    if not moments.size or (np.diff(moments) <= 0).any():
        raise ValueError(f"points must be a number, or increasing numbers of steps; got {moments.tolist()}")
    return moments
