# mypy: disable-error-code="arg-type, unused-ignore, assignment, var-annotated"
"""Value-error greedy beside true online TD, in plain NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tdlambda as td

Vector = NDArray[np.float64]


class Reference:
    """True online TD with the rule, in plain NumPy; whole vectors, no lists of live features."""

    def __init__(self, size: int, alpha: float, lam: td.rules.ValueErrorGreedy) -> None:
        self.alpha, self.lam, self.size = alpha, lam, size
        (
            self.w, self.e, self.m, self.em, self.M, self.ebar, self.n, self.u, self.k, self.A, self.K, self.z, self.c2,
            self.drift, self.power,
        ) = np.zeros((15, size))  # fmt: skip
        self.decay = self.decay_m = 0.0
        self.w_old = self.m_old = None
        self.since, self.lams, self.restarts = 0, [], 0

    @staticmethod
    def true_online(
        w: Vector, e: Vector, old: Any, x: Vector, y: Vector, alpha: float, r: float, g: float, rho: float, decay: float
    ) -> tuple[Vector, Vector]:
        old = w if old is None else old
        delta = r + g * w @ y - w @ x
        e = rho * (decay * e + alpha * (1 - rho * decay * x @ e) * x)
        return w + delta * e + (w @ x - old @ x) * (e - alpha * rho * x), e

    def step(self, x: Vector, y: Vector, r: float, g: float, rho: float, end: bool, cut: bool) -> None:
        o, norm, used, after = self.lam, x @ x, x != 0, y != 0
        if end:
            y, g, after = 0 * y, 0.0, after & False
        self.n[used] += 1
        self.k[used] += 1
        a = float(min(1.0, self.alpha * norm))
        pace = max(a / 10, 0.5 / np.sqrt(1 + 0.5 * self.n[used].mean())) / norm
        v, v_next, mean, mean_next = self.w @ x, self.w @ y, self.M @ x, self.M @ y
        w, e = self.true_online(self.w, self.e, self.w_old, x, y, self.alpha, r, g, rho, self.decay)
        c = g * (e @ x)
        lam_next = 1.0
        if after.any():
            rate = np.maximum(o.rate, 1 / (self.n + 1))[after]
            self.z[after] += rate * (c * (v - mean) * (v_next - mean_next) - self.z[after])
            self.c2[after] += rate * (c**2 - self.c2[after])
            variance = np.divide(self.A, self.K, out=np.zeros(self.size), where=self.K > 0)[after].mean()
            weight = self.c2[after].sum()
            above, below = (
                self.z[after].sum() - o.doubt * weight * variance,
                weight * ((v_next - mean_next) ** 2 + variance),
            )
            lam_next = float(np.clip(above / below, 0, 1)) if below > 0 else 1.0
        self.ebar = rho * (self.decay * self.ebar + x)
        self.u += (r + g * mean_next - mean) * self.ebar
        m, em = self.true_online(self.m, self.em, self.m_old, x, y, pace, r, g, rho, self.decay_m)
        self.w, self.w_old, self.e, self.m, self.m_old, self.em = w, self.w, e, m, self.m, em
        self.M[used] += (np.maximum(3 / (self.n + 3), a / o.memory) * (self.m - self.M))[used]
        self.decay, self.decay_m = g * lam_next, g * o.trace_lam * min(1.0, 1 / rho)
        self.since += 1
        if self.since >= (self.size if end or cut else max(self.size, o.stretch)):
            self.A += self.u**2
            self.K += self.k
            met = self.k > 0
            self.drift[met] += 0.02 * (self.u - self.drift)[met]
            self.power[met] += 0.02 * (self.u**2 - self.power)[met]
            anew = met & (self.drift**2 > 0.25 * self.power)
            self.n[anew] = self.drift[anew] = 0.0
            self.restarts += anew.sum()
            self.u, self.k, self.since = np.zeros(self.size), np.zeros(self.size), 0
        if end or cut:
            self.e, self.em, self.ebar, self.w_old, self.m_old = 0 * self.e, 0 * self.em, 0 * self.ebar, None, None
            self.decay = self.decay_m = 0.0
        self.lams.append(lam_next)
