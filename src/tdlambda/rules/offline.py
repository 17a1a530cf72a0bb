"""META offline: λ by the whole gradient of the target error over stored episodes; see `rules.stored_episodes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, choice, integer
from tdlambda.features import Encoder
from tdlambda.mdp import Transitions
from tdlambda.rules.stored_episodes import StoredEpisodes, Values
from tdlambda.showing import Table


@dataclass(frozen=True, repr=False)
class OfflineMeta(Table):
    """λ(x) = 1 - w·x, clipped to [0, 1], as `offline_meta` found it.

    Attributes
    ----------
    features, weights
        What λ is a function of, and w.
    gradient
        Σ ∂J/∂λ(x_k) x_k in the end, an episode's mean: of one-hot states, ∂J/∂λ(s).
    target_error
        J at the start, and after each sweep that lowered it.
    episodes
        How many there were.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> found = td.rules.offline_meta(ring.sampler(seed=1).take(20_000), ring.features, ring.exact.v())
    >>> found.lambda_at(5)                     # V is the truth: nothing is gained by waiting for returns
    0.0
    """

    features: Encoder
    weights: Floats
    gradient: Floats
    target_error: Floats
    episodes: int

    def lambdas(self, observations: Any) -> Floats:
        """λ at each of these observations."""
        index, value = self.features.encode_batch(observations)
        return np.clip(1 - (value * self.weights[index]).sum(axis=1), 0, 1)

    def lambda_at(self, obs: Any) -> float:
        """λ at this observation."""
        index, value = self.features.encode(obs)
        return float(np.clip(1 - value @ self.weights[index], 0, 1))


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
    """Descend the target error of stored episodes by its whole gradient, or with `sweeps=0` compute both where λ is.

    Parameters
    ----------
    transitions
        One stream from the start of an episode; steps after the last end of an episode are left out. A truncated
        episode bootstraps from V.
    features
        Encoder of observations.
    V
        What λ-returns bootstrap from: weights over `features`, a function of observations, or a learner.
    mean
        M, in the same forms. Without it, the mean of returns (least squares over `features`), that of even episodes
        fitted to the odd ones and the reverse, so that no λ-return is held against its own return.
    lam_features
        What λ is a function of: `features` by default.
    initial
        Its weights w at the start, a number or one for each feature: 0 is λ = 1.
    of
        Which λ-return's error, off-policy: see `rules.stored_episodes`.
    rho_acc
        Weigh states as the target policy visits them (by ρ₀⋯ρ_{t-1}), not as they were visited.
    kappa
        Step size of plain gradient descent. Without it each sweep takes its step from the curvature along the last one
        (Barzilai & Borwein 1988), λ moves by 0.2 at most, and a step that would raise J is not taken.
    sweeps
        Passes over the episodes.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", "0.35/0.35")
    >>> found = td.rules.offline_meta(ring.sampler(seed=1).take(20_000), ring.features, V=0.0)
    >>> found.lambdas(range(1, 10)).round(1)        # V knows nothing; only near the left end is it near enough
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
