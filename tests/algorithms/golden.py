"""One deterministic stream, and the weights that each algorithm has at its end.

Twelve transitions over three features; t = 5 terminates. γ, λ and ρ differ at every step, all by formulas, so that any
implementation in any language can be held against the same digits. The weights were computed from the papers' equations
in plain NumPy, apart from this library.
"""

from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.core.interpreter import Interpreter

STEPS, LAST = 12, 5
X = np.array([[np.cos(1 + 1.3 * t + 2.1 * i) for i in range(3)] for t in range(STEPS + 1)])
REWARD = [np.sin(0.7 * (t + 1)) for t in range(STEPS)]
GAMMA = [0.6 + 0.3 * np.cos(t) for t in range(STEPS + 1)]
"""γ and λ of x_t."""
LAM = [0.5 + 0.4 * np.sin(2 * t) for t in range(STEPS + 1)]
RHO = [1 + 0.9 * np.sin(1.7 * t) for t in range(STEPS)]
START = (0.1, 0.2, 0.3)

WEIGHTS: dict[str, tuple[Any, dict[str, Any], tuple[float, float, float]]] = {
    "TD": (td.TD, {}, (0.101924965, 0.156162159, 0.342337762)),
    "true online TD": (td.TrueOnlineTD, {}, (0.106285903, 0.154678342, 0.339475022)),
    "GTD": (td.GTD, {"beta": 0.05}, (0.103683909, 0.153908181, 0.342854642)),
    "GTD, gradient": (td.GTD, {"beta": 0.05, "form": "gradient"}, (0.106349929, 0.148096683, 0.346056446)),
    "GTD2": (td.GTD2, {"beta": 0.05}, (0.085787567, 0.156250436, 0.358386026)),
    "GTD2, gradient": (td.GTD2, {"beta": 0.05, "form": "gradient"}, (0.086827496, 0.155469559, 0.358134543)),
    "TDRC": (td.TDRC, {"beta": 0.05}, (0.101646828, 0.156099686, 0.342678978)),
    "HTD": (td.HTD, {"beta": 0.05}, (0.106535637, 0.155045792, 0.338854277)),
    "PGTD2": (td.PGTD2, {"beta": 0.05}, (0.098385938, 0.147681766, 0.354439376)),
    "ETD": (td.ETD, {}, (0.076825689, 0.247004528, 0.275714205)),
    "ETD, β_F = 0.5": (td.ETD, {"beta_f": 0.5}, (0.134701685, 0.194746235, 0.270603000)),
    "true online ETD": (td.TrueOnlineETD, {}, (0.080404195, 0.245159407, 0.273998704)),
}
"""Name → the learner, its options beside α = 0.1, and its weights."""


def learner(name: str) -> Any:
    """A learner over the time steps as states, so that λ can differ at each."""
    build, options, _ = WEIGHTS[name]
    return build(td.features.Table(X), alpha=0.1, lam=LAM, initial=START, **options)


def by_object(name: str) -> Any:
    """The weights that the object learns."""
    v = learner(name)
    for t in range(STEPS):
        v.update(t, REWARD[t], t + 1, GAMMA[t + 1], RHO[t], terminated=t == LAST)
    return v.weights


def by_interpreter(name: str) -> Any:
    """The weights that the interpreter of declarations learns."""
    v = learner(name)
    numbers = v.memory.numbers()
    plain = Interpreter(v.model, 3, numbers)
    plain.rows["V_w"] = np.array(START)
    for t in range(STEPS):
        plain.learn(X[t], X[t + 1], REWARD[t], GAMMA[t + 1], RHO[t], LAM[t + 1], t == LAST)
    return plain.rows["V_w"]
