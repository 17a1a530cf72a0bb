"""The "META-assisted online actor-critic" of Zhao (2020), chapter 4, as used in its MountainCar experiment (chapter 5).

At each step, with ρ_acc, all traces and I reset at the start of each episode:

    a ~ π(·|x),  observe r', γ', x'                      on-policy: ρ = 1
    learn E[G], E[G^λ], Var[G^λ] at 2α;  λ' -= κ γ'² [ λ' ((V-L)² + S) - (V-L)(V-M) ]
    δ = r' + γ' V(x') - V(x);  learn V by true online GTD(λ), β = α
    θ += η I δ ∇ log π(a|x; θ);  I' = I γ'               θ and λ are frozen in the first half of the steps

The printed pseudocode omits the last line, I, the reset of ρ_acc and the freeze, and has one wrong sign:
docs/actor-critic.md has the list.
"""

from tdlambda.algorithms import TrueOnlineGTD
from tdlambda.arrays import integer
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.softmax import Softmax
from tdlambda.features import Encoder
from tdlambda.rules import Meta


def meta_actor_critic(
    features: Encoder,
    actions: int,
    alpha: float,
    kappa: float,
    steps: int,
    eta: float = 1.0,
) -> ActorCritic:
    """Build the agent of the control experiment of Zhao (2020).

    Parameters
    ----------
    features
        Encoder of critic and policy.
    actions
        Number of actions, at least 1.
    alpha
        α > 0 of the critic and β of its secondary weights; the auxiliary learners use 2α.
    kappa
        κ > 0, the step size of λ.
    steps
        Total number of updates, at least 0; during the first half λ = 1 and the policy is frozen.
    eta
        η > 0, the step size of the policy itself, not a factor on α: 1 in the thesis, "intentionally high".

    Examples
    --------
    >>> import tdlambda as td
    >>> car = td.make("MountainCar-v0")
    >>> agent = td.control.meta_actor_critic(car.features, 3, alpha=1e-5, kappa=1e-5, steps=50_000)
    >>> agent.warm_up, agent.critic.rule.warm_up
    (25000, 25000)
    """
    half = integer(steps, "steps", 0) // 2
    critic = TrueOnlineGTD(features, alpha, Meta.thesis(kappa, warm_up=half))
    return ActorCritic(critic, Softmax(actions), eta, None, warm_up=half)
