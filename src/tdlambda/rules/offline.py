"""Offline META: λ by the full gradient of the target error over stored episodes; see `rules.stored_episodes`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, choice, integer
from tdlambda.features import Encoder
from tdlambda.mdp import Transitions
from tdlambda.rules.stored_episodes import StoredEpisodes, Values
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from altair.typing import ChartType


@dataclass(frozen=True, repr=False)
class OfflineMeta(PrintedTable):
    """The result of `offline_meta`: λ(x) = 1 - w·x, clipped to [0, 1].

    Attributes
    ----------
    features, weights
        Encoder of the features that λ depends on, and w.
    gradient
        Final Σ ∂J/∂λ(x_k) x_k, averaged over episodes; with one-hot states this is ∂J/∂λ(s).
    target_error
        J at the start, and after each sweep that was not rejected.
    episodes
        Number of episodes.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> found = td.rules.offline_meta(ring.sampler(seed=1).take(20_000), ring.features, ring.exact.v())
    >>> found.lambda_at(5)                     # V is exact, so bootstrapping is best
    0.0
    >>> chart = found.plot()                   # J by sweep; found.plot("sweeps.svg") writes a file
    """

    features: Encoder
    weights: Floats
    gradient: Floats
    target_error: Floats
    episodes: int

    def lambdas(self, observations: Any) -> Floats:
        """The λ at each of these observations."""
        index, value = self.features.encode_batch(observations)
        return np.clip(1 - (value * self.weights[index]).sum(axis=1), 0, 1)

    def lambda_at(self, obs: Any) -> float:
        """The λ at this observation."""
        index, value = self.features.encode(obs)
        return float(np.clip(1 - value @ self.weights[index], 0, 1))

    def plot(self, path: str | Path | None = None) -> ChartType:
        """An Altair chart of the target error J after each sweep.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        """
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> ChartType:
            from tdlambda.charts.learning_curves import learning_curves

            rows = [{"series": "J", "step": k, "mean": J} for k, J in enumerate(self.target_error.tolist())]
            return learning_curves(rows, "target error J(λ)", "sweeps")

        return plotted(path, draw)


def offline_meta(
    transitions: Transitions,
    features: Encoder,
    V: Values,
    mean: Values | None = None,
    *,
    lam_features: Encoder | None = None,
    initial: ArrayLike = 0.0,
    of: Literal["target", "per-decision", "control-variate"] = "target",
    rho_acc: bool = True,
    kappa: float | None = None,
    sweeps: int = 200,
) -> OfflineMeta:
    """The λ that minimises the target error of stored episodes, by descent along its full gradient.

    Parameters
    ----------
    transitions
        One stream that starts with an episode; steps after the last complete episode are ignored. A truncated episode
        bootstraps from V.
    features
        Encoder of observations.
    V
        Values that λ-returns bootstrap from: weights over `features`, a function of observations, or a learner.
    mean
        Estimate M of the values, in the same forms. By default a least-squares fit of the returns over `features`: the
        fit to odd episodes is used for even ones and the reverse, so that no λ-return is compared with its own return.
    lam_features
        Encoder of the features that λ depends on; `features` by default.
    initial
        Initial weights w of λ, finite: one number or one for each feature; 0 gives λ = 1.
    of
        The λ-return whose error is minimised off-policy: see `rules.stored_episodes`.
    rho_acc
        Whether to weight states as the target policy visits them (by ρ₀⋯ρ_{t-1}) rather than as they were visited.
    kappa
        Step size > 0 of plain gradient descent. By default each sweep takes its step size from the curvature along the
        last step (Barzilai & Borwein 1988), λ changes by at most 0.2, and steps that would raise J are rejected.
    sweeps
        Number of passes over the episodes, at least 0; 0 only computes the target error and its gradient.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", "0.35/0.35")
    >>> found = td.rules.offline_meta(ring.sampler(seed=1).take(20_000), ring.features, V=0.0)
    >>> found.lambdas(range(1, 10)).round(1)        # V = 0 is a good target only near the left end
    array([0. , 1. , 1. , 1. , 1. , 1. , 1. , 1. , 0.9])
    >>> v = td.LambdaReturn(ring.features, 0.1, lam=td.rules.PerState(found.lambdas(range(11))))
    """
    choice(of, "of", "target", "per-decision", "control-variate")
    if kappa is not None and not 0 < kappa < np.inf:
        raise ValueError(f"kappa must be positive and finite, or None; got {kappa}")
    sweeps, encoder = integer(sweeps, "sweeps", 0), lam_features or features
    episodes = StoredEpisodes(transitions, features, V, mean, encoder, of, rho_acc)
    w = np.asarray(initial, dtype=np.float64)
    if w.shape not in ((), (encoder.size,)) or not np.isfinite(w).all():
        raise ValueError(f"initial must be a finite number, or {encoder.size} of them; got shape {w.shape}")
    w = np.broadcast_to(w, encoder.size).copy()
    J, g = episodes.differentiate(w)
    errors, step = [J], np.inf if kappa is None else kappa
    for _ in range(sweeps):
        if kappa is None:
            step = min(step, 0.2 / max(np.abs(episodes.along(g)).max(), 1e-300))
        new = episodes.within(w + step * g)
        change = new - w
        if np.abs(episodes.along(change)).max() < 1e-9:
            break
        J_new, g_new = episodes.differentiate(new)
        if kappa is None:
            if J_new > J:
                step /= 4
                continue
            bent = change @ (g - g_new)
            step = float(change @ change / bent) if bent > 0 else 4 * step
        w, J, g = new, J_new, g_new
        errors.append(J)
    return OfflineMeta(encoder, w, g, np.array(errors), episodes.n)
