"""The target error of stored episodes and its full gradient (Zhao 2020, chapter 4: "if the algorithm runs offline").

Over complete episodes, with M an estimate of v that is independent of the λ-returns it is compared with,

    J(λ) = ½ Σ_t ω_t (G_t - M(s_t))²,   averaged over episodes,   ω_t = ρ₀⋯ρ_{t-1}

Every λ-return is differentiated with respect to every later λ. Since G_t = a_t + c_t G_{t+1}, with D = G - M and
e = a + c M' - M, one backward and one forward pass suffice for an episode of any length:

    backward  d_t = p (e + c d'),   q_t = p (e² + 2 e c d' + c² q')           estimates of D and of D²;  J = ½ Σ ω q
    forward   y₂ = ½ ω + p c² y₂⁻,  y₁ = p c y₁⁻ + 2 p e c y₂⁻                adjoints of q_t and d_t: ∂J/∂q_t, ∂J/∂d_t
    ∂J/∂λ' = p k γ' { y₁ (G'-V') + 2 y₂ [ e (G'-V') + c ((M'-V') d' + q') ] }    G'-V' standing for M' + d' - V'

Off-policy there are three λ-returns to choose from (`of`); on-policy (ρ = 1) they are the same:

    "target"           a = r' + γ'(1-λ')V',    c = γ'λ',   p = ρ, k = 1    as it is under the target policy
    "per-decision"     a = ρ (r' + γ'(1-λ')V'), c = ργ'λ',  p = 1, k = ρ    importance-corrected: see `mdp.returns`
    "control-variate"  the same with a + (1-ρ) V(s)

The gradient is unbiased if M is v or is independent of the episode. The episode's own return is neither: compared with
it, λ = 1 would always fit best, whatever V is.
"""

from typing import Any, TypeAlias

import numpy as np
import scipy

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import compiled
from tdlambda.features import Encoder
from tdlambda.mdp import Transitions
from tdlambda.mdp.sampler import require_numbers

Values: TypeAlias = Any
"""Type of values: weights over features, a function of observations, or a learner (anything with `predict_many`)."""
_MOST = 5000
"""Largest number of features for which a mean is fitted by a dense solve."""


@compiled
def differentiate(
    a: Floats, c: Floats, p: Floats, change: Floats, V_next: Floats, M: Floats, M_next: Floats, weight: Floats,
    end: Bools,
) -> tuple[float, Floats, Floats]:  # fmt: skip
    """J, ∂J/∂λ_{t+1} of each step, and the returns d + M. `change` is kγ'; at the end of an episode, G' is V'."""
    n = a.size
    d, q, slope = np.empty(n), np.empty(n), np.empty(n)
    J, y1, y2, d_next, q_next = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n - 1, -1, -1):
        if end[t]:
            d_next, q_next = 0.0, 0.0
        e = a[t] + c[t] * M_next[t] - M[t]
        q_next = p[t] * (e**2 + 2 * e * c[t] * d_next + c[t] ** 2 * q_next)
        d_next = p[t] * (e + c[t] * d_next)
        d[t], q[t] = d_next, q_next
    for t in range(n):
        if t == 0 or end[t - 1]:
            y1, y2 = 0.0, 0.0
        y2 += 0.5 * weight[t]
        J += 0.5 * weight[t] * q[t]
        last = end[t]
        d_next, q_next = 0.0 if last else d[t + 1], 0.0 if last else q[t + 1]
        e, gap = a[t] + c[t] * M_next[t] - M[t], M_next[t] - V_next[t]
        both = e * (gap + d_next) + c[t] * (gap * d_next + q_next)
        slope[t] = p[t] * change[t] * (y1 * (gap + d_next) + 2 * y2 * both)
        y1, y2 = p[t] * c[t] * (y1 + 2 * e * y2), p[t] * c[t] ** 2 * y2
    return J, slope, d + M


@compiled
def keep_in_range(w: Floats, index: Ints, value: Floats) -> Floats:
    """Apply w += (excess of 1 - w·x over [0, 1]) x / |x|² for each row x in order."""
    for t in range(index.shape[0]):
        lam, norm = 1.0, 0.0
        for j in range(index.shape[1]):
            lam -= value[t, j] * w[index[t, j]]
            norm += value[t, j] ** 2
        excess = lam - min(max(lam, 0.0), 1.0)
        if excess != 0 and norm > 0:
            for j in range(index.shape[1]):
                w[index[t, j]] += excess * value[t, j] / norm
    return w


class StoredEpisodes:
    """Complete episodes, with everything that does not depend on λ."""

    def __init__(
        self,
        c: Transitions,
        features: Encoder,
        V: Values,
        mean: Values | None,
        encoder: Encoder,
        of: str,
        rho_acc: bool,
    ) -> None:
        if not isinstance(c, Transitions):
            raise TypeError(f"transitions must be td.mdp.Transitions; got {type(c).__name__}")
        ends = np.flatnonzero(c.terminated | c.truncated)
        self.n, n = len(ends), int(ends[-1]) + 1 if len(ends) else 0
        if not n:
            raise ValueError("transitions must have a complete episode, but no row is terminated or truncated")
        c = c[:n]
        require_numbers(c)
        obs, next_obs, over, rho = c.obs, c.next_obs, c.terminated, c.rho
        self.end: Bools = over | c.truncated
        self.reward, self.gamma = c.reward, np.where(over, 0.0, c.gamma)
        self.V_next = np.where(over, 0.0, _values(V, features, next_obs, "V"))
        self.p: Floats
        self.k: Floats
        self.p, self.k = (rho, np.ones(n)) if of == "target" else (np.ones(n), rho)
        self.known = (1 - rho) * _values(V, features, obs, "V") if of == "control-variate" else np.zeros(n)
        starts = np.r_[0, ends[:-1] + 1]
        self.weight = np.ones(n)
        if rho_acc:
            for start, last in zip(starts, ends, strict=True):
                self.weight[start + 1 : last + 1] = np.cumprod(rho[start:last])
        if mean is None:
            fold = np.repeat(np.arange(self.n) % 2, ends + 1 - starts)
            self.M, M_next = self._fitted(features.encode_batch(obs), features.encode_batch(next_obs), rho, fold)
        else:
            self.M, M_next = _values(mean, features, obs, "mean"), _values(mean, features, next_obs, "mean")
        self.M_next = np.where(self.end, self.V_next, M_next)
        self.index, self.value = encoder.encode_batch(next_obs)
        self.size = encoder.size

    def _fitted(self, x: Any, y: Any, rho: Floats, fold: Any) -> tuple[Floats, Floats]:
        """M at x and x', for each half of the episodes fitted to the other half, or to both where that has no data."""
        size, zeros, ones = int(max(x[0].max(), y[0].max())) + 1, np.zeros(len(rho)), np.ones(len(rho))
        if size > _MOST:
            raise ValueError(f"mean is fitted for at most {_MOST} features; got {size}: pass mean=, such as a learner")
        after = np.where(self.end, self.V_next, 0.0)
        numbers = (rho * self.reward, rho * self.gamma, ones, zeros, self.V_next, zeros, after, ones)
        returns = differentiate(*numbers, self.end)[2]
        X, Y = (scipy.sparse.csr_array((v.ravel(), i.ravel(), np.arange(0, i.size + 1, i.shape[1])), (len(rho), size))
                for i, v in (x, y))  # fmt: skip
        both = _least_squares(X, returns)
        M, M_next = X @ both, Y @ both
        for half in (0, 1):
            own, other = fold == half, fold != half
            correction = _least_squares(X[other], (returns - X @ both)[other])
            M[own] += X[own] @ correction
            M_next[own] += Y[own] @ correction
        return M, M_next

    def differentiate(self, w: Floats) -> tuple[float, Floats]:
        """J, and Σ ∂J/∂λ' x' over the steps."""
        lam, change = np.clip(1 - self.along(w), 0, 1), self.k * self.gamma
        a = self.k * self.reward + change * (1 - lam) * self.V_next + self.known
        numbers = (a, change * lam, self.p, change, self.V_next, self.M, self.M_next, self.weight)
        J, slope, _ = differentiate(*numbers, self.end)
        spread = (slope[:, None] * self.value).ravel()
        return J / self.n, np.bincount(self.index.ravel(), spread, self.size) / self.n

    def within(self, w: Floats) -> Floats:
        """The weights w with 1 - w·x' moved into [0, 1] step by step; exact where no two states share a feature."""
        return keep_in_range(w.copy(), self.index, self.value)

    def along(self, w: Floats) -> Floats:
        """The product w·x' at each step."""
        product: Floats = (self.value * w[self.index]).sum(axis=1)
        return product


def _least_squares(X: Any, y: Floats) -> Floats:
    """The minimum-norm w that minimises |Xw - y|."""
    w: Floats = scipy.linalg.lstsq((X.T @ X).toarray(), X.T @ y, cond=1e-10)[0]
    return w


def _values(V: Values, features: Encoder, observations: Any, name: str) -> Floats:
    """Values at observations from weights, a function or a learner."""
    if hasattr(V, "predict_many") or callable(V):
        values = np.asarray(V.predict_many(observations) if hasattr(V, "predict_many") else V(observations), np.float64)
    else:
        weights = np.asarray(V, dtype=np.float64)
        if weights.shape not in ((), (features.size,)):
            raise ValueError(
                f"{name} as weights must have one for each of {features.size} features; got {weights.shape}"
            )
        index, value = features.encode_batch(observations)
        values = (value * np.broadcast_to(weights, features.size)[index]).sum(axis=1)
    if values.shape != (len(observations),) or not np.isfinite(values).all():
        raise ValueError(f"{name} must have a finite value for each observation; got {values}")
    return values
