"""The agent behind the published numbers of the thesis' control experiment."""

from tdlambda.algorithms import TrueOnlineGTD
from tdlambda.arrays import integer
from tdlambda.control import ActorCritic, Softmax
from tdlambda.features import Encoder
from tdlambda.lab.reproduction.declarations import PublishedMeta


def published_actor_critic(
    features: Encoder, actions: int, alpha: float, kappa: float, steps: int, eta: float = 1.0
) -> ActorCritic:
    """`td.control.meta_actor_critic` as published: with `PublishedMeta`, and δ measured after the critic's update.

    Examples
    --------
    >>> import tdlambda as td
    >>> car = td.make("MountainCar-v0")
    >>> published_actor_critic(car.features, 3, alpha=1e-5, kappa=1e-5, steps=50_000).td_error
    'after'
    """
    half = integer(steps, "steps", 0) // 2
    critic = TrueOnlineGTD(features, alpha, PublishedMeta(kappa, warm_up=half))
    return ActorCritic(critic, Softmax(actions), eta, None, warm_up=half, td_error="after")
