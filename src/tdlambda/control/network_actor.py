"""An actor whose policy is a network: the declarations of TD(λ) on the gradient of the policy.

    e  = ρ [ γλ e + I ∇( log π(a|s; θ) + τ sign(δ) H(π(·|s; θ)) ) ],    θ += step along δ e

δ is the critic's TD error. This is TD(λ) whose value is 0 and whose reward is δ, so that every step size of `td.TD` has
a form for policies: `td.steps.ObGD(kappa=3.0)` is the actor of stream AC(λ) (Elsayed, Vasan & Mahmood 2024), which has
I = 1 (`weighting="plain"`). The sign of δ in front of the entropy makes the product δ e increase it.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tdlambda.algorithms import TD
from tdlambda.arrays import Array, Floats, Ints, choice, integer, not_negative, positive, read_only
from tdlambda.control import actor
from tdlambda.control.actor_modules import Parts, actor_module, write_policy
from tdlambda.control.actor_state import Actor
from tdlambda.control.policy import Policy, PolicyKernel
from tdlambda.core.lowering import lower
from tdlambda.core.memory import Layout, Memory, under, with_prefix
from tdlambda.core.model import Model
from tdlambda.core.schedules.network import NetworkPrinter
from tdlambda.core.schedules.network.module_text import HEAD
from tdlambda.features import Network
from tdlambda.features.network import NetworkForm
from tdlambda.learners.learner import encoded

CLIMB = '''@inlined
def distribution_(s_, net_, x_, xv_, out_):
    """Write π(·|s) into a buffer; the activations are kept for `climb_`."""
    actor_outputs(net_[4][0], net_, xv_, 0)
    for i_ in range(out_.size // 2):
        out_[i_] = net_[2][{outputs}, i_]
    distribute_(s_, out_)


@inlined
def climb_(s_, net_, live_, out_, x_, xv_, yv_, delta, rho, gamma_next, decay_next, ended):
    """Perform one validated step, with the gradients at the outputs in `out_`; return whether θ is within its bound."""
    s_.steps += 1
    n_, sign_ = out_.size // 2, 1.0 if delta > 0.0 else -1.0 if delta < 0.0 else 0.0
    for i_ in range(n_):
        net_[2][{gradients}, i_] = s_.emphasis * (out_[i_] + s_.tau * sign_ * out_[n_ + i_])
    status_ = actor_learn(
        net_[4], net_, net_, net_, (0,), xv_, (0,), (1.0,), (0,), yv_,
        delta if s_.steps > s_.warm_up else 0.0, decay_next, rho, 1.0, False, ended,
    )
    s_.delta, s_.emphasis = delta, 1.0 if ended else {emphasis}
    if status_ != OK:
        s_.diverged_at = s_.steps
    return status_ == OK
'''
EMPHASIS = {
    "plain": "1.0", "discounted": "s_.emphasis * gamma_next", "corrected": "s_.emphasis * rho * gamma_next",
    "emphatic": "s_.emphasis * rho * gamma_next + 1.0",
}  # fmt: skip
_RECORD = {
    "emphasis": "f8", "delta": "f8", "tau": "f8", "steps": "i8", "diverged_at": "i8", "warm_up": "i8", "n_live": "i8",
}  # fmt: skip
_NO_INDEX = np.zeros(1, np.int64)


class NetworkActorForm(NamedTuple):
    """The settings of an actor with a network that are fixed when code is generated."""

    policy: PolicyKernel
    weighting: str
    model: Model
    network: NetworkForm

    @property
    def printer(self) -> NetworkPrinter:
        """The printer of the network's step."""
        return NetworkPrinter(lower(self.model), self.network, "actor_", seeded=True)

    def head(self) -> str:
        """The first part of the module of such an actor alone."""
        title = f"An actor: {self.policy.name}, {self.weighting}"
        return HEAD.format(title=title, hidden=len(self.network.widths) - 2, dtype=self.network.dtype, imports="")

    def write(self, parts: Parts) -> None:
        """Write the policy's functions, the network's and the actor's."""
        write_policy(parts, self.policy)
        for text in self.printer.functions(parts.done):
            parts.write(f"network {len(parts.done)}", text)
        n = len(self.network.widths)
        rows = {"outputs": n - 1, "gradients": 3 * n - 1, "emphasis": EMPHASIS[self.weighting]}
        parts.write("climb_", CLIMB.format(**rows))


class NetworkActor(Actor):
    """A policy whose outputs are those of a network; the parameters are those of `ActorCritic`.

    Its parameters and traces belong to a `td.TD` on the network, of which only the memory is used.
    """

    def __init__(
        self, policy: Policy, features: Any, eta: Any, traced: bool, weighting: str,  # noqa: ARG002
        entropy: float, warm_up: int, trace_tolerance: float, bound: float,
    ) -> None:  # fmt: skip
        choice(weighting, "weighting", *actor.WEIGHTINGS)
        if policy.initial.ndim or policy.initial != 0:
            raise ValueError("policy: initial must be left out, because a network has its own initial parameters")
        self.policy, self.features, self.sparse = policy, features, False
        network: Network = features.with_outputs(policy.rows, part=1)
        try:
            self.learner = TD(network, eta, 1.0, on_divergence="flag", trace_tolerance=trace_tolerance)
        except (TypeError, ValueError) as error:
            error.args = (str(error).replace("alpha", "eta", 1),)
            raise error from None
        self.learner.memory["bound"] = min(positive(bound, "bound"), self.learner.memory["bound"])
        self.form: Any = NetworkActorForm(policy.kernel, weighting, self.learner.model, network.form())
        kinds = _RECORD | dict.fromkeys(policy.numbers(), "f8")
        layout = Layout(
            rows=(), size=1, record=np.dtype(list(kinds.items())), traces=(), fading=(),
            changing=frozenset(["emphasis", "delta", "steps", "diverged_at"]), within_episode=("emphasis",),
        )  # fmt: skip
        given = {"tau": not_negative(entropy, "entropy"), "emphasis": 1.0, "diverged_at": -1}
        given["warm_up"] = integer(warm_up, "warm_up", 0, 2**62)
        self.memory = Memory(layout, given | policy.numbers(), {})
        self.out: Floats = np.zeros(2 * policy.rows)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that compiled code works on."""
        return self.memory.record, self.learner.memory.all_arrays[1], self.memory.live, self.out

    @cached_property
    def module(self) -> ModuleType:
        """The generated module."""
        return actor_module(self.form)

    def encode(self, obs: Any) -> tuple[Ints, Floats]:
        """The validated inputs."""
        return _NO_INDEX, encoded(self.features.vector, obs, "obs")

    def ahead(self, next_obs: Any) -> Floats:
        """The validated inputs at the next observation, whose statistics are updated."""
        return encoded(self.features.vector, next_obs, "next_obs")

    def begin(self) -> None:
        """Begin a new episode."""
        self.learner.memory.reset()
        self.memory["emphasis"] = 1.0

    def episode(self) -> Any:
        """A copy of what belongs to the current episode."""
        return self.memory.episode(), self.learner.memory.episode()

    def resume(self, episode: Any) -> None:
        """Go on with an episode."""
        self.memory.resume(episode[0])
        self.learner.memory.resume(episode[1])

    def state_dict(self) -> dict[str, Array]:
        """The arrays that hold everything learned."""
        return self.memory.state_dict() | with_prefix("network.", self.learner.memory.state_dict())

    def load(self, state: dict[str, Array]) -> None:
        """Copy a state of `state_dict`; if it does not fit, raise ValueError and change nothing."""
        network, before = under("network.", state), self.learner.memory.copy()
        self.learner.memory.load(network)
        try:
            self.memory.load({name: array for name, array in state.items() if not name.startswith("network.")})
        except ValueError:
            self.learner.memory.load(before.state_dict())
            raise

    def view(self, first: int) -> Floats:
        """All parameters, or from `first` > 0 all traces, as a read-only row."""
        return read_only(self.learner.row("V_e" if first else "V_w")[None])
