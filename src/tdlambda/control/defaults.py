"""Default step sizes of `td.Sarsa`, `td.QLambda` and `td.ActorCritic.for_env`.

They start at a fraction of 1/|x|², the step size at which one update removes the whole error, and decrease with the
number of visits n. Tables must average out noise; shared features must follow a policy that still changes.

    table            α = 0.5 (10 / (10 + n))^0.8
    other features   α = 0.5/|x|² (1000 / (1000 + n))^0.7

The numbers were chosen on seeds 100 to 107 of CartPole, Acrobot, MountainCar and FrozenLake, and the power 0.7 with
Sarsa's ε on seeds 100 to 131 (`experiments/control/settings.py`); docs/control.md has the results on other seeds.
"""

from __future__ import annotations

from tdlambda.features import Encoder, Fourier, GridTilings, Network, TileCoder
from tdlambda.learners import OneOver
from tdlambda.learners.step_size import Alpha
from tdlambda.steps import ObGD

SHARE = 0.5
"""Fraction of an error that the first update removes."""
CRITIC, ACTOR = 0.2, 0.1
"""The same fraction for a critic, and the actor's step size in units of 1/|x|²; both are constant."""


def squared_norm(features: Encoder, name: str = "alpha") -> float:
    """The typical |x|² of features; ValueError that asks for a step size if it is unknown.

    >>> import tdlambda as td
    >>> squared_norm(td.features.OneHot(5)), squared_norm(td.features.Fourier([0, 0], [1, 1], order=3))
    (1.0, 8.0)
    """
    kernel = features.loop_kernel
    if (kernel is not None and kernel.binary) or isinstance(features, TileCoder | GridTilings):
        return float(features.active)
    if isinstance(features, Fourier):
        return features.size / 2
    raise ValueError(
        f"{name} must be given for {features!r}, because their typical |x|² is unknown; a good start is 0.5 / mean |x|²"
    )


def step_size(features: Encoder | Network) -> Alpha:
    """The default step size of action values."""
    if isinstance(features, Network):
        return ObGD()
    norm = squared_norm(features)
    offset, power = (10.0, 0.8) if features.active == 1 and features.states is not None else (1000.0, 0.7)
    return OneOver("visits", SHARE / norm * offset**power, offset, power)
