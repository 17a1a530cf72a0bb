"""Numbers of any size, for every learner and every kind of step size: predictions and weights are numbers, always.

Rewards up to the largest float, features up to its root, ratios of any size and discounts close to 1: an update is
refused by name, or learned, or the learner says that it diverged. Predictions, weights, λ and the TD error are finite
in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import tdlambda as td
from attacks.harness import Failed, Say
from attacks.judging import brief, require_named
from attacks.subjects import FEW, OTHERS, PLAIN, RNG, TRACES, WORLDS, World

SIZES: dict[str, Callable[[], Any]] = {
    "OneOver": lambda: td.steps.OneOver(), "OneOver by visits": lambda: td.steps.OneOver("visits"),
    "TIDBD": lambda: td.steps.TIDBD(), "Autostep": lambda: td.steps.Autostep(), "AdaGrad": lambda: td.steps.AdaGrad(),
    "Implicit": lambda: td.steps.Implicit(), "Intentional": lambda: td.steps.Intentional(),
    "ObGD": lambda: td.steps.ObGD(),
}  # fmt: skip
if FEW:
    SIZES = {name: SIZES[name] for name in ("OneOver", "TIDBD")}
GAMMAS = (0.0, 0.9, 1 - 1e-10, 1 - 1e-16, 1.0)
ANSWERS = ("weights", "td_error", "lambdas", "predict_many", "estimates", "mixture")


def case(rng: RNG, say: Say) -> None:
    """One learner and up to 40 updates with numbers of one size, or of all sizes."""
    world = WORLDS[str(rng.choice(list(WORLDS)))]()
    name, learner = subject(rng, world)
    n, wild = int(rng.integers(1, 40)), bool(rng.integers(2))

    def power(low: float, high: float) -> Any:
        return 10.0 ** (rng.uniform(low, high, n) if wild else np.full(n, rng.uniform(low, high)))

    with np.errstate(over="ignore"):
        reward = np.minimum(power(60, 309), np.finfo(float).max) * rng.choice([-1.0, 1.0], n)
        rho = np.where(rng.random(n) < 0.7, 1.0, power(-300, 308))
        obs = world.many(rng, n + 1)
        if world.name == "Dense":
            obs = obs * np.append(power(-150, 155), 1.0)[:, None] * rng.choice([-1.0, 1.0], obs.shape)
    gamma, ended = rng.choice(GAMMAS, n), rng.random(n) < 0.1
    many = bool(rng.integers(2))
    say(f"{name}: {n} updates{' at once' if many else ''}, γ {gamma[0]}, |r| {abs(reward[0]):.0e}, ρ {rho.max():.0e}")
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, n, n if many else 1):
            part = slice(begin, begin + (n if many else 1))
            try:
                if many:
                    learner.update_many(obs[:-1], reward, obs[1:], gamma, rho, ended)
                else:
                    x, y = (o if world.states is None else int(o) for o in (obs[begin], obs[begin + 1]))
                    learner.update(x, reward[begin], y, gamma[begin], rho[begin], bool(ended[begin]))
            except td.Diverged:
                if learner.diverged_at is None:
                    raise Failed(f"{name}: raised Diverged, but diverged_at is None") from None
            except ValueError as error:
                require_named(error, name)
            except Exception as error:
                raise Failed(f"{name}: {brief(error)}") from error
            judge(name, learner, obs[part])
        with suppress(td.Diverged, ValueError):
            learner.reset()


def subject(rng: RNG, world: World) -> tuple[str, Any]:
    """A learner with a constant λ or one that is learned, and a step size of some kind."""
    if rng.random() < 0.5:
        kinds: dict[str, Any] = TRACES | OTHERS | PLAIN
        name = str(rng.choice(list(kinds)))
        options: dict[str, Any] = {} if name in PLAIN else {"lam": 0.9}
        if name in TRACES and rng.random() < 0.5:
            options["lam"] = "meta" if FEW else str(rng.choice(["auto", "meta", "greedy"]))
        if name in TRACES and rng.random() < 0.2:
            options["dtype"] = "float32"
        return f"{name}({world.name}, {options})", kinds[name](world.features, **options)
    size = str(rng.choice(list(SIZES)))
    kind = td.TrueOnlineTD if "OneOver" in size and rng.integers(2) else td.TD
    return f"{kind.__name__}({world.name}, {size})", kind(world.features, SIZES[size](), 0.9, on_divergence="flag")


def judge(name: str, learner: Any, obs: Any) -> None:
    """Whether all that a learner answers are numbers, also after it has diverged."""
    for what in ANSWERS:
        try:
            found = getattr(learner, what, 0.0)
            found = found(obs) if callable(found) else found
        except ValueError as error:  # such as features that are too large, or no step so far
            require_named(error, f"{name}.{what}")
            continue
        values = list(found.values()) if isinstance(found, dict) else found
        if not np.isfinite(np.asarray(0.0 if values is None else values, dtype=np.float64)).all():
            said = "diverged" if learner.diverged_at is not None else "not diverged"
            raise Failed(f"{name.partition('(')[0]}.{what} is not finite ({said})")
