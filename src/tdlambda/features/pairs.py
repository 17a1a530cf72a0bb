"""Features of state-action pairs: a copy of the state's features for each action."""

from typing import Any, SupportsIndex

import numpy as np

from tdlambda.features.arguments import whole_number
from tdlambda.features.discrete import state_index
from tdlambda.features.encoder import Encoder, Indices, Values


class Pairs(Encoder):
    """Features x(s, a) of state-action pairs: x(s) in the block of action a, and 0 in the blocks of all others.

    Observations are pairs (observation, action). Feature i with action a has the index i · actions + a, so that the
    weights of all actions lie side by side.

    Parameters
    ----------
    features
        Encoder of observations.
    actions
        Number of actions, at least 1; an action is an integer in 0..actions-1.

    Examples
    --------
    >>> from tdlambda.features import OneHot, Pairs
    >>> encoder = Pairs(OneHot(5), actions=2)
    >>> encoder.size, encoder.encode((3, 1))
    (10, (array([7]), array([1.])))
    """

    def __init__(self, features: Encoder, actions: SupportsIndex) -> None:
        if not isinstance(features, Encoder):
            raise TypeError(f"features must be an encoder such as td.features.OneHot(11); got {features!r}")
        self.features, self.actions = features, whole_number("actions", actions, least=1)
        self.size, self.active = features.size * self.actions, features.active
        self.states = None if features.states is None else features.states * self.actions

    def encode(self, observation: Any) -> tuple[Indices, Values]:
        """The features of a pair (observation, action)."""
        obs, action = _pair(observation)
        index, value = self.features.encode(obs)
        return index * self.actions + state_index(action, self.actions), value

    def encode_batch(self, observations: Any) -> tuple[Indices, Values]:
        """The indices and values of n pairs, each of shape [n, active]."""
        pairs = [_pair(observation) for observation in observations]
        index, value = self.features.encode_batch([obs for obs, _ in pairs])
        actions = np.array([state_index(action, self.actions) for _, action in pairs], dtype=np.int64)
        return index * self.actions + actions[:, None], value


def _pair(observation: Any) -> tuple[Any, Any]:
    try:
        obs, action = observation
    except (TypeError, ValueError):
        raise TypeError(f"observation must be a pair (observation, action); got {observation!r}") from None
    return obs, action
