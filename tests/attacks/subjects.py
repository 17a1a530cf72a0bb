"""Learners under attack: every kind on every kind of features, with every kind of λ, honest or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tdlambda as td
from attacks import hostile
from attacks.guards import guard_state
from attacks.hostile import ANY, SAME, WRONG, Given, Verdict
from attacks.liars import ENCODINGS, RULES, STATES, Liar, LyingRule

Array = NDArray[Any]
RNG = np.random.Generator
FEW = bool(os.environ.get("ATTACKS_FEW"))
"""Attack a few algorithms and rules only: each pair is a module of its own, which takes seconds to compile."""


# ---- observations and their features --------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Observations, integers below `states` or vectors in [0, 1]ᵈ, and an encoder of them."""

    name: str
    features: td.Encoder
    states: int | None = None
    verdict: Verdict = SAME

    def many(self, rng: RNG, n: int) -> Array:
        """Plain observations; numbers that float32 has too."""
        if self.states is not None:
            return rng.integers(self.states, size=n)
        return rng.random((n, 2)).astype(np.float32).astype(np.float64)

    def one(self, rng: RNG) -> Any:
        """A plain observation."""
        first = self.many(rng, 1)[0]
        return first if self.states is None else int(first)

    def disguised(self, rng: RNG, plain: Any) -> Given:
        """One observation in disguise."""
        if self.states is None:
            return hostile.vector(rng, plain)
        return self._as_encoded(*hostile.state(rng, plain, self.states))

    def spoiled(self, rng: RNG, plain: Array, alone: bool = False) -> Given:
        """A column with an entry that is none, or the column in disguise."""
        if rng.integers(2):
            value, verdict = hostile.rows(rng, plain, alone)
            return self._as_encoded(value, verdict) if alone else (value, verdict)
        if self.states is None:
            return hostile.spoiled(rng, plain, [(np.nan, WRONG), (np.inf, ANY), (1e300, ANY), (-0.0, ANY)])
        wrong = [(-1, WRONG), (self.states, WRONG), (2**40, WRONG), (0.5, WRONG)]
        return self._as_encoded(*hostile.spoiled(rng, plain, wrong))

    def _as_encoded(self, value: Any, verdict: Verdict) -> Given:
        """A user's own encoder may take what ours refuse."""
        return value, min(verdict, ANY) if isinstance(self.features, Liar) else verdict


def halves(s: Any) -> Any:
    """A function for `td.features.Custom`."""
    if not isinstance(s, int | np.integer):
        raise TypeError(f"observation must be an integer; got {s!r}")
    return [s, (s + 1) % STATES], [0.5, 0.5]


WORLDS: dict[str, Callable[[], World]] = {
    "OneHot(5)": lambda: World("OneHot(5)", td.features.OneHot(STATES), STATES),
    "OneHot(300)": lambda: World("OneHot(300)", td.features.OneHot(300), 300),
    "Table": lambda: World("Table", td.features.Table(np.eye(STATES, 3) + 0.5), STATES),
    "GridTilings": lambda: World("GridTilings", td.features.GridTilings.frozen_lake(), 16),
    "Custom": lambda: World("Custom", td.features.Custom(halves, STATES, 2), STATES),
    "Dense": lambda: World("Dense", td.features.Dense(2)),
    "TileCoder": lambda: World("TileCoder", td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8)),
    "Fourier": lambda: World("Fourier", td.features.Fourier([0, 0], [1, 1], order=2)),
}


def lying_world(rng: RNG) -> World:
    """Features that are wrong, at once or after a while."""
    fault = str(rng.choice(list(ENCODINGS)))
    return World(f"Liar({fault})", Liar(fault), STATES, required(fault, ENCODINGS))


def required(fault: str, faults: Mapping[str, tuple[Any, bool]]) -> Verdict:
    """What must come of a fault."""
    return SAME if fault == "honest" else WRONG if faults[fault][1] else ANY


# ---- λ --------------------------------------------------------------------------------------------------------


def lam(rng: RNG, world: World, fits: bool) -> tuple[str, Any, Verdict]:
    """A λ: its name, itself, and what must come of an update with it. `fits`: λ may be learned beside the value."""
    known: dict[str, tuple[Any, Verdict]] = {"number": (0.9, SAME)}
    if world.states is not None:
        unfit = WRONG if "OneHot" in world.name else ANY
        known["table"] = (np.linspace(0, 1, world.states), SAME)
        known["short table"] = (np.linspace(0, 1, world.states - 1), unfit)
        known["long table"] = (np.linspace(0, 1, world.states + 3), unfit)
    fault = str(rng.choice(list(RULES)))
    known[f"LyingRule({fault})"] = (LyingRule(fault), required(fault, RULES))
    if fits:
        known |= {name: (name, SAME) for name in (["meta"] if FEW else ["auto", "meta", "greedy"])}
        known |= {} if FEW else {"Counting": (td.rules.Counting(), SAME)}
        if world.states is not None:
            fault = str(rng.choice(list(ENCODINGS)))
            known[f"Meta(Liar({fault}))"] = (td.rules.Meta(features=Liar(fault)), required(fault, ENCODINGS))
            known["Meta on one feature too few"] = (td.rules.Meta(features=td.features.OneHot(world.states - 1)), ANY)
    name = str(rng.choice(list(known)))
    return name, *known[name]


# ---- learners -------------------------------------------------------------------------------------------------

TRACES = {
    "TD accumulating": lambda x, lam, **o: td.TD(x, 0.1, lam, "accumulating", **o),
    "TD replacing": lambda x, lam, **o: td.TD(x, 0.1, lam, "replacing", **o),
    "TD dutch": lambda x, lam, **o: td.TD(x, 0.1, lam, "dutch", **o),
    "TrueOnlineTD": lambda x, lam, **o: td.TrueOnlineTD(x, 0.1, lam, **o),
    "TrueOnlineTD by visits": lambda x, lam, **o: td.TrueOnlineTD(x, td.steps.OneOver("visits"), lam, **o),
    "GTD": lambda x, lam, **o: td.GTD(x, 0.1, lam, **o),
    "TrueOnlineGTD": lambda x, lam, **o: td.TrueOnlineGTD(x, 0.1, lam, **o),
}
"""With a λ that may be learned."""
if FEW:
    TRACES = {name: TRACES[name] for name in ("TrueOnlineTD",)}
    WORLDS = {name: WORLDS[name] for name in ("OneHot(5)", "OneHot(300)", "Table", "Custom", "Dense", "TileCoder")}
OTHERS = {
    "VTD": lambda x, lam, **o: td.VTD(x, 0.1, lam, **o),
    "DirectVTD": lambda x, lam, **o: td.DirectVTD(x, 0.1, lam, **o),
    "LambdaReturn": lambda x, lam, **o: td.LambdaReturn(x, 0.1, lam, **o),
    "LSTD": lambda x, lam, **o: td.LSTD(x, lam, **o),
    "RecursiveLSTD": lambda x, lam, **o: td.RecursiveLSTD(x, lam, **o),
    "RecursiveLSTD emphatic": lambda x, lam, **o: td.RecursiveLSTD(x, lam, forgetting=0.9, emphatic=True, **o),
    "LSPE": lambda x, lam, **o: td.LSPE(x, lam, **o),
    "ExpectedTrace": lambda x, lam, **o: td.ExpectedTrace(x, 0.1, lam, eta=0.5, **o),
}
if FEW:
    OTHERS = {name: OTHERS[name] for name in ("LambdaReturn", "LSTD", "RecursiveLSTD", "LSPE", "ExpectedTrace")}
PLAIN = {
    "MonteCarlo": lambda x, **o: td.MonteCarlo(x, 0.1, **o),
    "MonteCarlo first": lambda x, **o: td.MonteCarlo(x, 0.1, "first", **o),
    "NStepTD": lambda x, **o: td.NStepTD(x, 0.1, 3, **o),
    "AutoTD": lambda x, **o: td.AutoTD(x),
}
"""Without a λ."""


@dataclass(frozen=True)
class Subject:
    """A learner or an agent, the world it lives in, and what must come of its updates."""

    name: str
    learner: Any
    world: World
    verdict: Verdict

    @property
    def acts(self) -> bool:
        """Whether it is an agent."""
        return isinstance(self.learner, td.ActorCritic)

    def state(self) -> dict[str, bytes]:
        """All that was learned, as bytes."""
        return {name: array.tobytes() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, Array]:
        if not self.acts:
            found: dict[str, Array] = self.learner._state()
            return found
        actor = self.learner.actor.memory.state_dict()
        return self.learner.critic._state() | {f"actor {k}": v for k, v in actor.items()}

    def finite(self) -> bool:
        """Whether all of it are numbers."""
        return all(np.isfinite(array).all() for array in self._arrays().values())

    @property
    def diverged(self) -> bool:
        """Whether it says so."""
        return self.learner.diverged_at is not None

    def clone(self) -> Subject:
        """The same, sharing nothing but the features."""
        return Subject(self.name, self.learner.clone(), self.world, self.verdict)


def draw(rng: RNG) -> tuple[str, World, Verdict, Callable[[], Any]]:
    """A subject: its name, its world, what must come of its updates, and how to build it."""
    name = str(rng.choice([*TRACES, *OTHERS, *PLAIN, "ActorCritic"]))
    world = lying_world(rng) if rng.random() < 0.25 else WORLDS[str(rng.choice(list(WORLDS)))]()
    verdict, options, text = world.verdict, {}, f"{name}({world.name}"
    if rng.integers(2) and name not in ("AutoTD", "ActorCritic"):
        options["on_divergence"] = "flag"
    if rng.random() < 0.2 and name in TRACES:
        options["dtype"] = "float32"
    kind = "TrueOnlineTD" if name == "ActorCritic" else name
    build: Callable[..., Any] = (TRACES | OTHERS | PLAIN)[kind]
    if kind not in PLAIN:
        called, value, of_lam = lam(rng, world, kind in TRACES)
        verdict, options["lam"] = max(verdict, of_lam), value
        text += f", lam={called}"
    text += "".join(f", {key}={value}" for key, value in options.items() if key != "lam") + ")"
    if name == "ActorCritic":
        return (
            text,
            world,
            verdict,
            lambda: td.ActorCritic(build(world.features, **options), td.control.Softmax(2), 0.1),
        )
    return text, world, verdict, lambda: build(world.features, **options)


def guard(learner: Any, rng: RNG) -> None:
    """Put a learner's state beside pages without access."""
    if isinstance(learner, td.Learner) and not isinstance(learner, td.AutoTD):
        guard_state(learner, bool(rng.integers(2)))
