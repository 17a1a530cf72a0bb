"""Sarsa(λ), Expected Sarsa(λ), Tree Backup(λ) and Retrace(λ) (Sutton & Barto 2018, chapters 6 and 12).

    δ  = r' + γ' q(s', a') - q(s, a)                            target="sampled"
    δ  = r' + γ' Σ_b π(b|s') q(s', b) - q(s, a)                 target="expected"
    e  = γλ c e + x(s, a)
    w += α δ e

c = c(s, a) is the coefficient of this step's action, by `correction`: ρ (Expected Sarsa(λ), S&B 12.9), min(1, ρ)
(Retrace(λ), Munos et al. 2016), π(a|s) (Tree Backup(λ), Precup, Sutton & Singh 2000). On-policy ρ = 1. Off-policy, the
sampled target is r' + γ' ρ' q(s', a').

This is the form for TD(λ). It applies to every algorithm, because only x, x' and λ' change (`control.value_steps`).
"""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import choice
from tdlambda.control.action_values import ActionValues
from tdlambda.control.exploration import EpsilonGreedy, Falling, GreedyPolicy
from tdlambda.control.value_state import AGENTS
from tdlambda.features import Encoder, Network
from tdlambda.learners import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.rules import Lam
from tdlambda.runner.behavior import Policy

EXPLORING = EpsilonGreedy(Falling(0.2, 0.0, over=20_000))
"""Default policy of `Sarsa`: greedy in the limit, which convergence to optimal values requires."""


class Sarsa(ActionValues):
    """Sarsa(λ): learns the values of the policy that the agent follows, or of another policy.

    Parameters
    ----------
    features, actions, alpha, lam, algorithm, policy, behavior, correction, options
        See `ActionValues`.
    target
        "sampled", the value of the next action; or "expected", the expectation over the policy's actions.
    clear
        On leaving a state, set the traces of the other actions to 0 at its features, as Singh & Sutton (1996) do with
        replacing traces.
    initial
        Initial weights, finite: one number, or one for each action and feature [action, feature].
    centering, trace_tolerance, bound, on_divergence, dtype
        See `Algorithm`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")                     # +1 at the right end, -1 at the left
    >>> agent = td.Sarsa(ring.features, actions=2, alpha=0.1, lam=0.9)
    >>> curve = td.train(ring, agent, steps=5000, seed=1)
    >>> agent.greedy(5), bool(curve.mean(last=50) > 0.9)
    (1, True)
    """

    def __init__(
        self,
        features: Encoder | Network,
        actions: int,
        alpha: Alpha | None = None,
        lam: Lam = 0.9,
        *,
        target: Literal["sampled", "expected"] = "sampled",
        algorithm: type[Algorithm] | str = TrueOnlineTD,
        policy: GreedyPolicy | Policy = EXPLORING,
        behavior: GreedyPolicy | Policy | None = None,
        correction: str | TraceCorrection = "importance",
        clear: bool = False,
        centering: float | None = None,
        initial: ArrayLike = 0.0,
        trace_tolerance: float = 1e-8,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
        **options: Any,
    ) -> None:
        self.target = choice(target, "target", "sampled", "expected")
        common = {"centering": centering, "initial": initial, "trace_tolerance": trace_tolerance, "bound": bound}
        common |= {"on_divergence": on_divergence, "dtype": dtype}
        super().__init__(
            features, actions, alpha, lam, algorithm, policy, behavior, correction, self.target, common | options, clear
        )  # fmt: skip

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"target": self.target, "clear": self.form.clears}


AGENTS["Sarsa"] = Sarsa
