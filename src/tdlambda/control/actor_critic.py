"""Actor-critic: a policy that follows the policy gradient, using the TD errors of any learner as the critic."""

from __future__ import annotations

from typing import Any, Literal, Self, TypedDict, Unpack

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tdlambda.algorithms import TD, TrueOnlineTD
from tdlambda.algorithms.variance import VarianceLearner
from tdlambda.arrays import Floats, choice, flag, fraction
from tdlambda.control.actor_state import Actor
from tdlambda.control.defaults import ACTOR, CRITIC, squared_norm
from tdlambda.control.gaussian import Gaussian
from tdlambda.control.network_actor import NetworkActor
from tdlambda.control.policy import Behavior, Policy
from tdlambda.control.saved_agent import SavedAgent
from tdlambda.control.softmax import Softmax
from tdlambda.core.memory import under, with_prefix
from tdlambda.features import Encoder, Network
from tdlambda.learners import Algorithm, Diverged, Learner, OneOver
from tdlambda.learners.guard import Guard
from tdlambda.learners.learner import check_numbers, check_states, readable
from tdlambda.learners.saved import SAVED
from tdlambda.learners.step_size import StepSize
from tdlambda.randomness import check_generator
from tdlambda.rules import Fixed, Lam, Rule, as_rule
from tdlambda.showing import call, says_arguments
from tdlambda.steps import ObGD

OWN_LAMBDA = 0.9
"""λ of the actor's trace if the critic has no fixed λ; the best of five on CartPole, see docs/actor-critic.md."""


class ActorOptions(TypedDict, total=False):
    """Further arguments of `ActorCritic` by name, for type checkers."""

    lam: Lam | Literal["fixed", "critic"] | None
    weighting: Literal["discounted", "corrected", "emphatic", "plain"]
    entropy: float
    warm_up: int
    behavior: Behavior | None
    td_error: Literal["before", "after"]
    trace_tolerance: float
    bound: float


@says_arguments
class ActorCritic(SavedAgent):
    """Online episodic actor-critic with a state-based discount: one-step, or with eligibility traces.

        z   = ρ [ γλ z + I ∇ log π(a|x; θ) ]            θ  += η [ δ z + τ I ∇H(π(·|x; θ)) ]            I' = I γ'

    δ is the critic's TD error before its update; z = 0 and I = 1 at the start of an episode. See `control.actor`.

    Parameters
    ----------
    critic
        Any value learner with any λ: `td.TrueOnlineTD(features, alpha=0.1, lam=td.rules.Meta())`. It is not copied.
    policy
        `td.control.Softmax(3)` or `td.control.Gaussian(low, high)`.
    eta
        η > 0, the actor's step size: a number, or a schedule over steps; with a network also an adaptive step size of
        `td.TD`, such as `td.steps.ObGD(kappa=3.0)`.
    lam
        λ of the actor's trace, in [0, 1]. "fixed", the default, is the critic's λ if that is a number or one for each
        state, and 0.9 if the critic learns λ or has none. "critic" is the λ that the critic has just used, learned or
        not; a λ learned for the values may be too small for the policy. Also: a number, one for each state, a rule that
        does not learn, or None for the one-step method without a trace.
    weighting
        Emphasis I of a visit: "discounted", "corrected", "emphatic" or "plain"; see `control.actor`.
    entropy
        τ ≥ 0, the weight of the entropy bonus.
    warm_up
        Number of initial updates in which only the critic learns and the policy is frozen (η = 0); at least 0.
    behavior
        Behaviour policy, if it differs from π: for a softmax, the action probabilities (a row, a table [state, action],
        or a function of the observation); for a Gaussian, a mean and a σ (or a function that returns both).
    td_error
        Which TD error drives the actor: the one "before" the critic's update, or "after" it, as in Zhao (2020).
    trace_tolerance
        Threshold in [0, 1) below which the traces of θ are dropped, with more than 128 features: see `Algorithm`.
    bound
        Bound on the absolute value of each parameter in θ, positive; beyond it the policy has diverged. The critic's
        `on_divergence` applies to both.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")                     # +1 at the right end, -1 at the left
    >>> agent = td.ActorCritic(td.TrueOnlineTD(ring.features, alpha=0.1, lam=0.9), td.control.Softmax(2), eta=0.2)
    >>> curve = td.train(ring, agent, steps=5000, seed=1)
    >>> bool(curve.mean(last=50) > 0.9), agent.greedy(5)
    (True, 1)
    """

    takes_next_action = False
    """Whether `update` takes the next action."""

    def __init__(
        self,
        critic: Learner,
        policy: Policy,
        eta: float | OneOver | StepSize,
        lam: Lam | Literal["fixed", "critic"] | None = "fixed",
        *,
        weighting: Literal["discounted", "corrected", "emphatic", "plain"] = "discounted",
        entropy: float = 0.0,
        warm_up: int = 0,
        behavior: Behavior | None = None,
        td_error: Literal["before", "after"] = "before",
        trace_tolerance: float = 1e-8,
        bound: float = 1e12,
    ) -> None:
        if not isinstance(critic, Learner) or isinstance(critic, VarianceLearner):
            raise TypeError(f"critic must be a learner of state values, such as td.TrueOnlineTD; got {critic!r}")
        if not isinstance(policy, Policy):
            raise TypeError(f"policy must be td.control.Softmax or td.control.Gaussian; got {policy!r}")
        choice(td_error, "td_error", "before", "after")
        default = isinstance(lam, str) and lam == "fixed"
        if default:
            lam = "critic" if _has_fixed_lambda(critic) else Fixed(OWN_LAMBDA)
        shared = isinstance(lam, str)
        rule = critic.rule if isinstance(lam, str) else None if lam is None else as_rule(lam)
        if (shared and lam != "critic") or (not shared and rule is not None and rule.learns()):
            raise ValueError(f'lam must be "fixed", "critic", None, numbers or a rule that does not learn; got {lam!r}')
        if rule is not None:
            check_states(rule, critic.features)
        self._guard = Guard("agent")
        self.critic, self.policy, self.weighting, self.td_error = critic, policy, weighting, td_error
        self.behavior, self._behavior = behavior, None if behavior is None else policy.behavior(behavior)
        self.features: Any = critic.features if policy.features is None else policy.features
        kind: Any = NetworkActor if isinstance(self.features, Network) else Actor
        self.actor = kind(
            policy, self.features, eta, lam is not None, weighting, entropy, warm_up, trace_tolerance, bound
        )
        self.eta, self.entropy, self.warm_up = eta, entropy, warm_up
        self.trace_tolerance, self.bound = trace_tolerance, bound
        self.actor_lam: Rule | str | None = lam if isinstance(lam, str) else rule
        self.lam: Rule | str | None = "fixed" if default else self.actor_lam
        self._trace_critic = critic if isinstance(critic, Algorithm) else None
        if td_error == "after" and isinstance(critic.features, Network):
            raise ValueError('td_error="after" needs a critic with linear features; use td_error="before"')
        if td_error == "after" and self._trace_critic is not None and self._trace_critic.average_reward is not None:
            raise ValueError('td_error="after" needs a critic whose rewards are not centred; use td_error="before"')
        # λ' is either the one that a critic with traces has just used, or comes from a rule.
        self.shares_decay, self._rule = shared and self._trace_critic is not None, rule
        self._predicts = self._trace_critic is None or td_error == "after"

    @classmethod
    def for_env(
        cls,
        env: gym.Env[Any, Any],
        critic: Learner | Encoder | Network,
        eta: float | OneOver | StepSize | None = None,
        **options: Unpack[ActorOptions],
    ) -> Self:
        """Build an agent whose policy fits the action space: a softmax for discrete actions, a Gaussian for a box.

        Parameters
        ----------
        env
            Environment with a `Discrete` or `Box` action space.
        critic
            The critic; or an encoder of observations, for which the critic is true online TD(0.9) with a step size
            derived from |x|²: see `control.defaults`; or a `td.Network`, which critic and policy then have each.
        eta
            Step size of the actor, positive; None derives it from |x|². With a network, the defaults are those of
            stream AC(λ): `td.steps.ObGD(kappa=2.0)` for the critic, `td.steps.ObGD(kappa=3.0)` for the actor, λ = 0.8,
            entropy 0.01 and weighting "plain".
        options
            `lam`, `weighting`, `entropy`, `warm_up`, `behavior`, `td_error`, `trace_tolerance` and `bound` of
            `ActorCritic`.

        Examples
        --------
        >>> import gymnasium as gym, tdlambda as td
        >>> critic = td.TrueOnlineTD(td.features.TileCoder([-1, -1, -8], [1, 1, 8]), alpha=0.01)
        >>> td.ActorCritic.for_env(gym.make("Pendulum-v1"), critic, eta=0.01).policy.low
        array([-2.])
        """
        if isinstance(critic, Network):
            critic = TD(critic.with_outputs(1), ObGD(kappa=2.0), 0.8)
        if isinstance(critic.features if isinstance(critic, Learner) else critic, Network):
            eta = ObGD(kappa=3.0) if eta is None else eta
            options = {"weighting": "plain", "entropy": 0.01, **options}
        if isinstance(critic, Encoder):
            critic = TrueOnlineTD(critic, CRITIC / squared_norm(critic), 0.9)
        if eta is None:
            eta = ACTOR / squared_norm(critic.features, "eta")
        space = env.action_space
        if isinstance(space, gym.spaces.Discrete):
            return cls(critic, Softmax(int(space.n)), eta, **options)
        if isinstance(space, gym.spaces.Box):
            return cls(critic, Gaussian(space.low.ravel(), space.high.ravel()), eta, **options)
        raise TypeError(f"env: its actions are {space}, but an actor needs a Discrete or Box action space")

    def for_space(self, space: gym.Space[Any]) -> Any:
        """A function that converts actions for this action space; ValueError or TypeError if the space does not fit."""
        return self.policy.for_space(space)

    # ---- acting ----------------------------------------------------------------------------------------------

    def act(self, obs: Any, rng: np.random.Generator) -> Any:
        """Draw an action from the behaviour policy (the agent's own policy if none was given)."""
        try:
            if self._behavior is not None:
                return self.policy.draw(self._behavior(obs), rng)
            if self.policy.kernel.choose is not None:
                return self.actor.choose(obs, rng.random())
            return self.policy.draw(self.actor.distribution(obs), rng)
        except AttributeError:
            check_generator(rng)
            raise

    def greedy(self, obs: Any) -> Any:
        """The policy's most probable action."""
        return self.policy.mode(self.actor.distribution(obs))

    def policy_at(self, obs: Any) -> Any:
        """π(·|obs): the action probabilities, or the mean and standard deviation of a Gaussian."""
        return self.actor.distribution(obs)

    def rho(self, obs: Any, action: Any) -> float:
        """The importance-sampling ratio π(a|s)/b(a|s) of an action; 1 on-policy."""
        if self._behavior is None:
            return 1.0
        log_b = self.policy.log_density(self._behavior(obs), action)
        with np.errstate(over="ignore"):
            return float(np.exp(self.policy.log_density(self.actor.distribution(obs), action) - log_b))

    # ---- learning --------------------------------------------------------------------------------------------

    def update(
        self,
        obs: Any,
        action: Any,
        reward: float,
        next_obs: Any,
        next_action: Any = None,  # noqa: ARG002
        gamma: float | None = None,
        terminated: bool = False,
        truncated: bool = False,
        rho: float | None = None,
    ) -> None:
        """Learn from one transition: first the critic, then the actor.

        Parameters
        ----------
        obs, next_obs
            Observations s_t and s_{t+1}.
        action
            a_t, as `act` returned it.
        reward
            R_{t+1}, any finite number.
        next_action
            Not needed; all agents take the same arguments.
        gamma
            γ_{t+1} in [0, 1], the discount on entering `next_obs`. Not needed when `terminated`.
        terminated, truncated
            As in Gymnasium: a terminated episode has no further return; a truncated one bootstraps from `next_obs`.
            Either way the traces are then reset.
        rho
            Importance-sampling ratio π(a|s)/b(a|s) ≥ 0; by default the agent's own `rho(obs, action)`.
        """
        if gamma is None and terminated is not False and flag(terminated, "terminated"):
            gamma = 0.0
        with self._guard:
            self._learn(obs, action, reward, next_obs, gamma, rho, terminated, truncated)

    def _learn(
        self, obs: Any, action: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any
    ) -> None:
        number, point = self.policy.validated(action)
        x, xv = self.actor.encode(obs)
        yv = self.actor.ahead(next_obs)
        if rho is None:
            rho = 1.0 if self._behavior is None else self.rho(obs, action)
        lam = 0.0 if self.shares_decay or self._rule is None else fraction(self._rule.at(next_obs), "lam")
        delta = self._error(obs, reward, next_obs, gamma, rho, terminated) if self._predicts else 0.0
        if self.actor.diverged_at is not None:  # validate the input, but do not learn
            check_numbers(reward, gamma, rho)
            self.critic.predict(obs), self.critic.predict(next_obs)
            return
        try:
            self.critic.update(obs, reward, next_obs, gamma, rho, terminated, truncated)
        except Diverged:
            self.actor.stop()
            raise
        if getattr(self.critic, "diverged_at", None) is not None:
            self.actor.stop()
            return
        gamma_next, rho = float(gamma), float(rho)  # γ' may be positive on termination: trace and I are reset
        decay_next = gamma_next * lam
        if self.td_error == "after":
            delta = self._error(obs, reward, next_obs, gamma, rho, terminated)
        elif self._trace_critic is not None:
            delta = self._trace_critic.memory["td_error"]  # in the unit in which a network learns
        if self.shares_decay:
            decay_next = gamma_next * self._trace_critic.memory["last_lam"]  # type: ignore[union-attr]
        ended = (1 if terminated else 0) + (2 if truncated else 0)
        diverged = self.actor.learn(x, xv, yv, number, point, delta, rho, gamma_next, decay_next, ended)
        if diverged and getattr(self.critic, "on_divergence", "raise") == "raise":
            error = Diverged(self.steps)
            error.add_note("The policy diverged, not the critic: use a smaller eta, or a smaller lam of the actor.")
            raise error

    def _error(self, obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, terminated: bool) -> float:
        """δ under the critic's current weights."""
        reward, gamma, _ = check_numbers(reward, gamma, rho)
        return reward + (0.0 if terminated else gamma * self.critic.predict(next_obs)) - self.critic.predict(obs)

    def reset(self) -> None:
        """Discard the current episode in critic and actor: traces 0, I = 1; keep the weights and θ."""
        with self._guard:
            self.critic.reset()
            self.actor.begin()

    # ---- inspection ------------------------------------------------------------------------------------------

    @property
    def theta(self) -> Floats:
        """The policy's parameters θ [row, feature], a read-only view."""
        return self.actor.view(0)

    @property
    def trace(self) -> Floats:
        """The actor's trace z [row, feature], a read-only view; the one-step method has no rows."""
        return self.actor.view(self.policy.rows)

    @property
    def emphasis(self) -> float:
        """The emphasis I of the next state; on-policy, the accumulated discount of the episode."""
        return float(self.actor.memory["emphasis"])

    @property
    def steps(self) -> int:
        """Number of updates so far."""
        return self.actor.steps

    @property
    def diverged_at(self) -> int | None:
        """The update (counted from 1) at which the critic or the policy diverged; None if neither has."""
        return self.actor.diverged_at

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments, with an untrained critic."""
        critic = type(self.critic)(**self.critic.get_params())
        names = "policy eta lam weighting entropy warm_up behavior td_error trace_tolerance bound"
        return {"critic": critic} | {name: getattr(self, name) for name in names.split()}

    def __repr__(self) -> str:
        """The call that builds this agent."""
        return call(self, readable(self.get_params()))

    def _state(self) -> dict[str, NDArray[Any]]:
        return with_prefix("critic.", self.critic._state()) | with_prefix("actor.", self.actor.state_dict())

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.critic._restore(under("critic.", state))
        self.actor.load(under("actor.", state))

    @classmethod
    def _least_bytes(cls, params: dict[str, Any]) -> int:
        critic, policy = params["critic"], params["policy"]
        features = policy.features or critic.features
        policies = 4 * features.size if isinstance(features, Network) else 8 * policy.rows * features.size
        return policies + type(critic)._least_bytes(critic.get_params())


def _has_fixed_lambda(critic: Learner) -> bool:
    """Whether the critic has a λ given by the user; AutoTD, MonteCarlo and NStepTD have none."""
    return "lam" in critic.get_params() and not critic.rule.learns()


SAVED["agent"]["ActorCritic"] = ActorCritic
