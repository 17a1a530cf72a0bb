"""Parameters that make no sense, for every constructor."""

from __future__ import annotations

import re
import warnings
from functools import partial
from typing import Any

import numpy as np

import tdlambda as td
from attacks.harness import Failed, Say

RNG = np.random.Generator
VALUES: list[Any] = [
    None, True, "", "x", "auto", b"0.5", -1, 0, 1, 0.5, 1.5, -0.0, 5e-324, 1e308, np.nan, np.inf, -np.inf, 10**400,
    2**63, 10**12, [], [0.5], [0.5] * 3, [[0.5]], [None], ["a"], {}, object(),
    int, td.rules.Meta, td.features.OneHot(3), 1j,
    np.zeros(3), np.ma.array([0.1, 0.2, 0.3], mask=True), np.array("0.5"), np.zeros((2, 2)), lambda: 0, range(3), 1e13,
]  # fmt: skip
FEATURES = td.features.OneHot(3)
BUILDS: dict[str, partial[Any]] = {
    "TD": partial(
        td.TD,
        features=FEATURES,
        alpha=0.1,
        lam=0.9,
        traces="dutch",
        initial=0.0,
        trace_tolerance=0.0,
        bound=1e6,
        on_divergence="flag",
        dtype="float64",
    ),
    "TrueOnlineGTD": partial(td.TrueOnlineGTD, features=FEATURES, alpha=0.1, lam="meta", beta=0.1),
    "VTD": partial(td.VTD, features=FEATURES, alpha=0.1, lam=0.5, of="target", trace_lam=0.5),
    "MonteCarlo": partial(td.MonteCarlo, features=FEATURES, alpha=0.1, visit="first", initial=0.0, bound=1e6),
    "NStepTD": partial(td.NStepTD, features=FEATURES, alpha=0.1, n=3, initial=0.0),
    "LambdaReturn": partial(td.LambdaReturn, features=FEATURES, alpha=0.1, lam=0.9, hold=True),
    "LSTD": partial(td.LSTD, features=FEATURES, lam=0.9, ridge=1e-6, max_size=10, bound=1e6),
    "RecursiveLSTD": partial(
        td.RecursiveLSTD, features=FEATURES, lam=0.9, ridge=1e-6, forgetting=0.9, emphatic=True, interest=2.0
    ),
    "LSPE": partial(td.LSPE, features=FEATURES, lam=0.9, step=0.5, ridge=0.1, initial=0.0, max_size=10, bound=1e6),
    "ExpectedTrace": partial(
        td.ExpectedTrace, features=FEATURES, alpha=0.1, lam=0.9, beta=0.1, eta=0.5, initial=0.0, max_size=10, bound=1e6
    ),
    "AutoTD": partial(td.AutoTD, features=FEATURES),
    "OneOver": partial(td.steps.OneOver, by="visits", scale=1.0, offset=0.0, power=1.0),
    "Meta": partial(td.rules.Meta, kappa=0.1, horizon="episode", warm_up=0, length=None, features=FEATURES, ratio=1.0),
    "Greedy": partial(td.rules.Greedy, ratio=1.0, of="target", warm_up=0),
    "Counting": partial(td.rules.Counting, patience=1.0, warm_up=0, length=10),
    "OneHot": partial(td.features.OneHot, n=3),
    "Dense": partial(td.features.Dense, n=3),
    "Table": partial(td.features.Table, matrix=np.eye(3)),
    "TileCoder": partial(td.features.TileCoder, low=[0, 0], high=[1, 1], tilings=2, tiles=2, hash_size=None),
    "Fourier": partial(td.features.Fourier, low=[0, 0], high=[1, 1], order=2),
    "GridTilings": partial(td.features.GridTilings, shape=(2, 3), cuts=[((1,), ())]),
    "Custom": partial(td.features.Custom, function=abs, size=3, active=2),
    "ActorCritic": partial(
        td.ActorCritic,
        critic=td.TD(FEATURES, 0.1),
        policy=td.control.Softmax(2),
        eta=0.1,
        lam=0.5,
        weighting="plain",
        entropy=0.0,
        warm_up=0,
        behavior=[0.5, 0.5],
    ),
    "Softmax": partial(td.control.Softmax, actions=2),
    "Gaussian": partial(td.control.Gaussian, low=-1, high=1, sigma=0.5, within=10.0),
}


def parameters(rng: RNG, say: Say) -> None:
    """A constructor with one parameter replaced: refused by name, or what is built works."""
    name = str(rng.choice(list(BUILDS)))
    build = BUILDS[name]
    which = str(rng.choice(list(build.keywords)))
    value = VALUES[int(rng.integers(len(VALUES)))]
    say(f"td.{name}({which}={value!r})")
    label = f"td.{name}({which}: {type(value).__name__})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            built = build(**{which: value})
    except (TypeError, ValueError) as error:
        if not re.search(rf"\b({which}|{name})\b|λ", str(error)):
            raise Failed(f"{label}: the message does not name it: {type(error).__name__}: {error}") from error
        return
    except MemoryError:
        return
    except Exception as error:
        raise Failed(f"{label}: {type(error).__name__}: {error}") from error
    if isinstance(built, td.Learner):
        _use(built, label)


def _use(learner: Any, label: str) -> None:
    """What was accepted must work."""
    try:
        repr(learner), learner.clone(), learner.predict(0)
        learner.update(0, 0.5, 1, 0.9)
        learner.update_many([0, 1], [0.5, 0.5], [1, 2], gamma=1.0, terminated=[False, True])
        learner.clone().predict_many([0, 1, 2])
    except td.Diverged:
        pass
    except Exception as error:
        raise Failed(f"{label}: accepted, but then: {type(error).__name__}: {str(error)[:150]}") from error
    if learner.diverged_at is None and not all(np.isfinite(a).all() for a in learner._state().values()):
        raise Failed(f"{label}: accepted, but then the learner is not finite")
