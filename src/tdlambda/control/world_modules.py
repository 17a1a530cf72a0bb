"""Generated modules of an agent in its world: one loop, `interaction.interact`, for every kind of agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from tdlambda.control import interaction
from tdlambda.control.actor_modules import ActorCriticForm, Parts
from tdlambda.control.value_modules import ValueForm
from tdlambda.core.schedules import lazy, network, one
from tdlambda.features.network import NetworkForm


class LoopSizes(NamedTuple):
    """Sizes that are fixed when code is generated, so that the compiler unrolls short loops."""

    actions: int
    active: int
    width: int


class WorldForm(NamedTuple):
    """The settings of an agent in its world that are fixed when code is generated.

    `schedule` of the learner is "dense" or "sparse" (`core.schedules.one`), "lazy", or "binary": lazy, with active
    features that are 1 and occur once; or "network".
    """

    agent: ActorCriticForm | ValueForm
    schedule: str
    begin: Callable[..., Any]
    move: Callable[..., Any]
    observe: Callable[..., Any] | None
    encode: Callable[..., Any]
    sizes: LoopSizes
    network: NetworkForm | None = None

    @property
    def lazily(self) -> bool:
        """Whether the learner's rows are stored by the lazy schedule."""
        return self.schedule in ("lazy", "binary")


@cache
def interaction_module(form: WorldForm) -> ModuleType:
    """The module with `interact` for agents of this form."""
    model = form.agent.model
    if form.lazily:
        parts = Parts(lazy.generate(model, form.schedule == "binary"), "interact")
    elif form.network is not None:
        parts = Parts(network.generate(model, form.network), "interact")
    else:
        parts = Parts(one.generate(model, form.schedule == "sparse"), "interact")
    form.agent.write_in_world(parts, form.lazily)
    functions = {"begin_": form.begin, "move_": form.move, "encode_": form.encode}
    for name, function in (functions | {"observe_": form.observe or interaction.same}).items():
        parts.copy(function, name)
    parts.copy(interaction.interact, "interact", form.sizes._asdict(), "loop")
    return parts.load(f"control_{form.schedule}_{model.name}")
