"""Q(λ) in the forms of Watkins (1989) and of Peng & Williams (1996).

    δ  = r' + γ' max_b q(s', b) - q(s, a)
    e  = γλ c e + x(s, a),    c = 1 if a is greedy, else 0      form="watkins"
    w += α δ e

Watkins's traces are cut *before* x(s, a) is added, if this step's action is not greedy: earlier pairs do not learn from
what follows an exploratory action, but that action's own pair does. Any action with the largest value is greedy.

Peng's form never cuts. Its λ-return is G = r' + γ' [(1 - λ') max_b q(s', b) + λ' G'], that is

    δ  = r' + γ' [(1 - λ') max_b q(s', b) + λ' q(s', a')] - q(s, a),    e = γλ e + x(s, a)

With fixed weights this equals the two errors of the paper; online, q(s', a') - max q(s', ·) is computed one step
earlier. The form learns neither q of the behaviour policy nor q*, unless λ = 0 or all actions are greedy.
"""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import choice
from tdlambda.control.action_values import ActionValues
from tdlambda.control.exploration import EpsilonGreedy, GreedyPolicy
from tdlambda.control.value_state import AGENTS
from tdlambda.features import Encoder, Network
from tdlambda.learners import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.rules import Lam
from tdlambda.runner.behavior import Policy

EXPLORING = EpsilonGreedy(0.3)
"""Default behaviour policy."""


class QLambda(ActionValues):
    """Q(λ): learns the values of the optimal policy while following an exploratory one.

    Peng's form does not support a learned λ.

    Parameters
    ----------
    features, actions, alpha, lam, algorithm, options
        See `ActionValues`.
    form
        "watkins", which cuts traces at exploratory actions, or "peng", which does not.
    behavior
        Behaviour policy, in the same forms as `policy` of `ActionValues`.
    initial
        Initial weights, finite: one number, or one for each action and feature [action, feature].
    centering, trace_tolerance, bound, on_divergence, dtype
        See `Algorithm`.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> agent = td.QLambda(ring.features, actions=2, alpha=0.1, lam=0.9, behavior=td.control.EpsilonGreedy(0.3))
    >>> curve = td.train(ring, agent, steps=5000, seed=1)
    >>> bool(abs(agent.q(9)[1] - ring.mdp.optimal().q[9, 1]) < 0.1)
    True
    """

    def __init__(
        self,
        features: Encoder | Network,
        actions: int,
        alpha: Alpha | None = None,
        lam: Lam = 0.9,
        *,
        form: Literal["watkins", "peng"] = "watkins",
        algorithm: type[Algorithm] | str = TrueOnlineTD,
        behavior: GreedyPolicy | Policy = EXPLORING,
        centering: float | None = None,
        initial: ArrayLike = 0.0,
        trace_tolerance: float = 1e-8,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
        **options: Any,
    ) -> None:
        self.kind = choice(form, "form", "watkins", "peng")
        target = "greedy" if form == "watkins" else "peng"
        common = {"centering": centering, "initial": initial, "trace_tolerance": trace_tolerance, "bound": bound}
        common |= {"on_divergence": on_divergence, "dtype": dtype}
        super().__init__(
            features, actions, alpha, lam, algorithm, EpsilonGreedy(0.0), behavior, "importance", target,
            common | options,
        )  # fmt: skip

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = super().get_params() | {"form": self.kind}
        return {name: value for name, value in own.items() if name not in ("policy", "correction")}


AGENTS["QLambda"] = QLambda
