"""Conversion of the user's policies and λ for agents with action values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdlambda.control.exploration import GreedyPolicy
from tdlambda.features import Encoder, Network
from tdlambda.rules import PerState
from tdlambda.runner.behavior import as_function


def policy_from(given: Any, actions: int, name: str) -> Any:
    """A policy derived from action values, or a function that returns validated probabilities."""
    if isinstance(given, GreedyPolicy):
        return given
    if isinstance(given, int | float | str | type) or given is None:
        raise TypeError(
            f"{name} must be td.control.EpsilonGreedy(0.1), td.control.Boltzmann(1.0), or the probability of each "
            f"action; got {given!r}"
        )
    return as_function(given, actions, name)


def same_policy(policy: Any, behavior: Any) -> bool:
    """Whether two policies, as given, are known to be the same."""
    if isinstance(policy, GreedyPolicy) or isinstance(behavior, GreedyPolicy) or callable(policy) or callable(behavior):
        return bool(policy is behavior or (isinstance(policy, GreedyPolicy) and policy == behavior))
    return np.array_equal(policy, behavior)


def lambda_table(lam: Any, features: Encoder | Network, actions: int) -> Any:
    """λ for a learner of pairs: one for each state becomes a table [state, action]."""
    given = lam.lam if isinstance(lam, PerState) else lam
    if isinstance(given, str) or np.ndim(given) == 0:
        return lam
    table = np.asarray(given, dtype=np.float64)
    states = features.states
    if states is None:
        raise ValueError(
            f"lam: a λ for each state needs features of discrete states, such as td.features.OneHot(11); "
            f"got {features!r}"
        )
    if table.shape == (states,):
        table = np.repeat(table, actions)
    if table.size != states * actions or table.shape not in ((states, actions), (states * actions,)):
        raise ValueError(
            f"lam must have {states} numbers, one for each state, or shape ({states}, {actions}); got {table.shape}"
        )
    return PerState(table.reshape(-1))
