"""The signal's mean is the relative value error: exactly, by going through every trajectory; and by Monte Carlo."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tdlambda as td

GAMMA = np.array([0.9, 0.6, 1.0, 0.3, 0.0])
"""On entering each state; the last one is terminal."""


@dataclass
class Chain:
    """States only lead to higher ones, so that trajectories are few: P [s, a, s'], R [s, a, s'], π and b [s, a]."""

    P: Any
    R: Any
    pi: Any
    b: Any

    @classmethod
    def random(cls, seed: int, off_policy: bool) -> Chain:
        rng = np.random.default_rng(seed)
        n, actions = GAMMA.size, 2
        P = np.triu(rng.random((actions, n, n)), 1).transpose(1, 0, 2)
        P[:-1] /= P[:-1].sum(axis=2, keepdims=True)
        policies = rng.random((2, n, actions)) + 0.1
        policies /= policies.sum(axis=2, keepdims=True)
        return cls(P, rng.normal(size=P.shape), policies[0], policies[1 if off_policy else 0])

    def v(self) -> Any:
        step = np.einsum("sa,sat->st", self.pi, self.P)
        return np.linalg.solve(np.eye(len(step)) - step * GAMMA, np.einsum("sa,sat,sat->s", self.pi, self.P, self.R))

    def trajectories(self, state: int = 0) -> Iterator[tuple[float, list[tuple[int, float, int, float]]]]:
        """Each trajectory's probability under b, and its steps (s, ρ, s', r)."""
        if state == GAMMA.size - 1:
            yield 1.0, []
            return
        for a in range(2):
            for after in np.flatnonzero(self.P[state, a]):
                p, rho = self.b[state, a] * self.P[state, a, after], self.pi[state, a] / self.b[state, a]
                for q, rest in self.trajectories(int(after)):
                    yield p * q, [(state, rho, int(after), float(self.R[state, a, after])), *rest]


def signal(steps: Any, V: Any, u: Any, expected: Any = None) -> float:
    """Σ c² - 2 Σ δ z with one scalar trace; V(t, s) and u(t, s) may change from step to step."""
    total, z, keep = 0.0, 0.0, 0.0
    for t, (s, rho, after, r) in enumerate(steps):
        c = V(t, s) - u(t, s)
        z = keep * z + c
        end = after == GAMMA.size - 1
        delta = rho * (r + (0.0 if end else GAMMA[after] * u(t + 1, after)) - u(t, s))
        total += c**2 - 2 * delta * (z if expected is None else expected[s])
        keep = rho * GAMMA[after]
    return total


def moving(seed: int) -> Any:
    """A prediction that is another at every time."""
    table = np.random.default_rng(seed).normal(size=(GAMMA.size, GAMMA.size))
    return lambda t, s: table[t, s]


def constant(values: Any) -> Any:
    """A prediction that stays as it is."""
    return lambda _, s: values[s]


@pytest.mark.parametrize("off_policy", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_mean_over_all_trajectories_is_the_relative_error(seed: int, off_policy: bool) -> None:
    chain, V, u = Chain.random(seed, off_policy), moving(seed + 100), moving(seed + 200)
    v, mean, exact, total = chain.v(), 0.0, 0.0, 0.0
    for p, steps in chain.trajectories():
        total += p
        mean += p * signal(steps, V, u)
        exact += p * sum((V(t, s) - v[s]) ** 2 - (u(t, s) - v[s]) ** 2 for t, (s, *_) in enumerate(steps))
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("off_policy", [False, True])
def test_so_it_is_with_the_expected_trace(off_policy: bool) -> None:
    chain, rng = Chain.random(7, off_policy), np.random.default_rng(8)
    table = rng.normal(size=(2, GAMMA.size))
    V, u = constant(table[0]), constant(table[1])
    traces: dict[int, float] = defaultdict(float)
    visits: dict[int, float] = defaultdict(float)
    for p, steps in chain.trajectories():
        z, keep = 0.0, 0.0
        for s, rho, after, _ in steps:
            z = keep * z + V(0, s) - u(0, s)
            keep = rho * GAMMA[after]
            traces[s] += p * z
            visits[s] += p
    expected = {s: traces[s] / visits[s] for s in visits}
    v = chain.v()
    mean = sum(p * signal(steps, V, u, expected) for p, steps in chain.trajectories())
    exact = sum(n * ((V(0, s) - v[s]) ** 2 - (u(0, s) - v[s]) ** 2) for s, n in visits.items())
    assert mean == pytest.approx(exact, rel=1e-11)
    single = [signal(steps, V, u) for _, steps in chain.trajectories()]
    bootstrapped = [signal(steps, V, u, expected) for _, steps in chain.trajectories()]
    assert np.ptp(single) != pytest.approx(np.ptp(bootstrapped))  # another estimate, with the same mean


@pytest.mark.parametrize("on_policy", [True, False])
def test_by_monte_carlo_in_a_random_mdp(on_policy: bool) -> None:
    """2·10⁵ steps of a Garnet with terminal states: within 4 standard errors, which are small beside the error."""
    garnet: Any = td.make("Garnet-v0", seed=11, n=8, branching=3, terminal=2, discount=0.9, on_policy=on_policy)
    mdp, rng = garnet.mdp, np.random.default_rng(1)
    V, u = rng.normal(size=(2, mdp.n_states))
    v, P = mdp.v(garnet.target), mdp.under(garnet.behavior).P().toarray()
    P[:, mdp.terminal] = 0.0
    visits = np.linalg.solve(np.eye(mdp.n_states) - P.T, mdp.start)
    exact = visits @ np.where(mdp.terminal, 0.0, (V - v) ** 2 - (u - v) ** 2)
    c = garnet.sampler(seed=3).take(200_000)
    found, z, keep, total = [], 0.0, 0.0, 0.0
    for s, r, after, gamma, rho, end in zip(c.obs, c.reward, c.next_obs, c.gamma, c.rho, c.terminated, strict=True):
        z = keep * z + V[s] - u[s]
        total += (V[s] - u[s]) ** 2 - 2 * z * rho * (r + (0.0 if end else gamma * u[after]) - u[s])
        keep = rho * gamma
        if end:
            found.append(total)
            z, keep, total = 0.0, 0.0, 0.0
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.1 * abs(exact)
    assert abs(np.mean(found) - exact) < 4 * error
