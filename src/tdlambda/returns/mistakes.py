"""The definition of returns as a plain recursion, and the same with one of the common mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats


@dataclass
class Case:
    """Arguments of a function of returns, each [T, N]; γ, λ and ρ may differ at every step."""

    reward: Floats
    value: Floats
    value_next: Floats
    gamma: Floats
    lam: Floats
    rho: Floats
    terminated: Bools
    truncated: Bools

    def shifted(self, by: int, *names: str) -> Case:
        """The case in which step t has what belongs to step t - `by`; at the edge a step keeps its own."""
        moved = {}
        for name in names:
            array = getattr(self, name)
            moved[name] = np.vstack((array[:1], array[:-1])) if by > 0 else np.vstack((array[1:], array[-1:]))
        return replace(self, **moved)

    def swapped(self) -> Case:
        """The case with time and environments exchanged."""
        return Case(*(getattr(self, one.name).T for one in fields(self)))


@dataclass
class Switches:
    """Where a recursion departs from the definition."""

    no_bootstrap: str = ""
    """Where value_next counts as 0, beside terminations: "truncated", "end of batch" or both."""
    flows: str = ""
    """What later steps flow across: "truncated", "ends", or "terminated" with its bootstrap."""
    after_reset: bool = False
    trace: tuple[bool, bool] = (True, True)
    """Whether γ and λ are in the trace."""
    bootstrap: tuple[bool, bool] = (True, False)
    """Whether γ and λ multiply the bootstrap value."""


def recursion(case: Case, s: Switches | None = None) -> tuple[Floats, Floats]:
    """G - V and T - V of `td.returns.scan`, without limits of ρ, one step after the other; [T, N] each."""
    s = s or Switches()
    T, N = case.reward.shape
    D, K = np.zeros((T, N)), np.zeros((T, N))
    for n in range(N):
        later = 0.0
        for t in range(T - 1, -1, -1):
            ended, truncates = bool(case.terminated[t, n]), bool(case.truncated[t, n])
            g, lam = float(case.gamma[t, n]), float(case.lam[t, n])
            w = float(case.value[t + 1, n] if s.after_reset and t < T - 1 else case.value_next[t, n])
            stop = ended or truncates
            gone = (
                ended
                or (truncates and "truncated" in s.no_bootstrap)
                or (t == T - 1 and "end of batch" in s.no_bootstrap)
            )
            if s.flows == "terminated":
                gone, stop = False, truncates
            elif s.flows == "truncated":
                stop = ended
            elif s.flows == "ends":
                stop = False
            later = 0.0 if stop or t == T - 1 else later
            discount = (g if s.bootstrap[0] else 1.0) * (lam if s.bootstrap[1] else 1.0)
            trace = (g if s.trace[0] else 1.0) * (lam if s.trace[1] else 1.0) * later
            D[t, n] = case.reward[t, n] + (0.0 if gone else discount * w) + trace - case.value[t, n]
            later = K[t, n] = case.rho[t, n] * D[t, n]
    return D, K


Pair = tuple[Floats, Floats]
ENDS = ("terminated", "truncated")


@dataclass(frozen=True)
class Mistake:
    """Another case, another recursion, and another result; each as it should be by default."""

    before: Callable[[Case], Case] = lambda case: case
    switches: tuple[tuple[str, Any], ...] = ()
    after: Callable[[Case, Pair], Pair] = lambda case, pair: pair  # noqa: ARG005

    def __call__(self, case: Case) -> Pair:
        """G - V and T - V with the mistake."""
        return self.after(case, recursion(self.before(case), Switches(**dict(self.switches))))

    def and_also(self, other: Mistake) -> Mistake:
        """Both mistakes at once."""
        return Mistake(
            lambda case: other.before(self.before(case)), (*self.switches, *other.switches),
            lambda case, pair: self.after(case, other.after(case, pair)),
        )  # fmt: skip


def _switched(**switches: Any) -> Mistake:
    return Mistake(switches=tuple(switches.items()))


def _moved(by: int, *names: str) -> Mistake:
    return Mistake(lambda case: case.shifted(by, *names))


def _turned(case: Case) -> Case:
    return Case(*(getattr(case, one.name)[::-1] for one in fields(case)))


MISTAKES: dict[str, Mistake] = {
    "truncation treated as termination": _switched(no_bootstrap="truncated"),
    "the end of the batch treated as a termination": _switched(no_bootstrap="end of batch"),
    "truncation, and the end of the batch, treated as terminations": _switched(no_bootstrap="truncated, end of batch"),
    "value_next taken after the reset: value[t + 1] stands for value_next[t]": _switched(after_reset=True),
    "traces survive a truncation": _switched(flows="truncated"),
    "traces survive a truncation, and value_next is taken after the reset": _switched(
        flows="truncated", after_reset=True
    ),
    "traces survive the end of an episode": _switched(flows="ends"),
    "termination ignored: the return goes on after it": _switched(flows="terminated"),
    "λ indexed one step early: lam[t - 1] stands for lam[t]": _moved(1, "lam"),
    "λ indexed one step late: lam[t + 1] stands for lam[t]": _moved(-1, "lam"),
    "γ indexed one step early: gamma[t - 1] stands for gamma[t]": _moved(1, "gamma"),
    "γ indexed one step late: gamma[t + 1] stands for gamma[t]": _moved(-1, "gamma"),
    "ends indexed one step late: terminated[t + 1] stands for terminated[t]": _moved(-1, *ENDS),
    "ends indexed one step early: terminated[t - 1] stands for terminated[t]": _moved(1, *ENDS),
    "ρ applied twice": Mistake(lambda case: replace(case, rho=case.rho**2)),
    "ρ applied twice: once in the recursion, and again to its result": Mistake(
        after=lambda case, pair: (case.rho * pair[1], case.rho * pair[1])
    ),
    "ρ ignored": Mistake(lambda case: replace(case, rho=np.ones_like(case.rho))),
    "ρ indexed one step late: rho[t + 1] stands for rho[t]": _moved(-1, "rho"),
    "ρ indexed one step early: rho[t - 1] stands for rho[t]": _moved(1, "rho"),
    "λ multiplies the bootstrap value": _switched(bootstrap=(True, True)),
    "γ missing from the trace": _switched(trace=(False, True)),
    "λ missing from the trace": _switched(trace=(True, False)),
    "γ missing from the bootstrap value": _switched(bootstrap=(False, False)),
    "time and environments exchanged": Mistake(Case.swapped, after=lambda _, pair: (pair[0].T, pair[1].T)),
    "time runs forwards": Mistake(_turned, after=lambda _, pair: (pair[0][::-1], pair[1][::-1])),
}
"""Common mistakes, by the sentence that names them."""
