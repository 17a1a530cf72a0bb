"""Learners that run a model: its constants, its memory and its compiled entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.core import declare, runtime
from tdlambda.core.memory import Memory, layout_of
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.network_memory import AVERAGE, NetworkMemory, heads_layout, network_layout
from tdlambda.core.program import ANY_VECTOR, at_first_call, bound, learner_module, network_module
from tdlambda.core.schedules import network as on_network
from tdlambda.features import Network
from tdlambda.features.network import NetworkForm
from tdlambda.learners.centering import ETA
from tdlambda.learners.learner import Learner
from tdlambda.learners.step_size import Alpha, OneOver, StepSize
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.rules import Rule


@cache
def _model(
    algorithm: Any, form: Any, sizes_by: str, corrected: bool, mixed: bool, apart: tuple[str, ...] = ()
) -> Model:
    return Model(algorithm, None if form is None else form.rule, sizes_by, apart, corrected=corrected, mixed=mixed)


class _Form:
    """The properties of a rule that determine the generated code; equal forms share a model."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        parts = (rule.constants(), rule.estimates, rule.keeps, rule.phases, rule.pins)
        self.key = (type(rule), rule.corrected, *(tuple(part.items()) for part in parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class ModelLearner(Learner, base=True):
    """Base class of learners that run the model of a declaration, on features or on a network.

    A subclass's constructor sets what is listed here, then calls `_allocate`.
    """

    features: Any
    alpha: Alpha
    centering: float | None
    correction: TraceCorrection
    trace_tolerance: float
    bound: float
    dtype: str
    fixed_lam: float | None
    lam_features: Any
    model: Model
    memory: Memory
    _declaration: type[declare.AlgorithmDeclaration]
    _network: Network | None
    _kernel: Any
    _behavior: float | None
    _corrects: bool = False
    """Whether each step supplies a factor on λ'."""
    _mixes: bool = False
    """Whether x' may be a mixture: see `core.model`."""

    def _allocate(self, start: Floats) -> None:
        """Allocate the model's memory and set its initial values."""
        self.model = model = self._modelled()
        if self._network is not None:
            on_network.check(model)
        first = words(self.declaration.weight_rows)[0]
        starts = self.declaration.starts.items()
        rows: dict[str, Any] = {f"{k}_{name}": number for name, number in starts for k in model.estimates}
        rows |= {f"{k}_{first}": start for k in ("V", *model.mixture)}
        numbers = self._constants(start)
        if self._network is None:
            layout = layout_of(model, self.features.size, self.lam_features.size, self.dtype)
            self.memory = Memory(layout, model.numbers(numbers) | self._of_rule() | model.held, rows)
        else:
            form = self._network.form()
            rows |= {AVERAGE: start} if form.averaged else {}
            heads = None if self._heads is None else self._first_heads(self._heads, form, numbers)
            self.memory = NetworkMemory(network_layout(model, form), numbers | model.held, rows, form, heads)
        self._bind()

    def _first_heads(self, model: Model, form: NetworkForm, numbers: dict[str, float]) -> Memory:
        """The memory of the estimates of a rule for λ on the last hidden layer of a network."""
        on_network.values_for(model)
        if self.lam_features is not self.features:
            raise TypeError("lam: features must be None on a network, where λ is linear in the last hidden layer")
        layout = heads_layout(model, form)
        own = {"size": layout.size, "z_size": layout.size, "start": 0.0, "bound": runtime.LARGEST[layout.dtype]}
        rows = {f"{k}_{name}": at for name, at in self.declaration.starts.items() for k in model.estimates}
        return Memory(layout, model.numbers(numbers) | own | self._of_rule() | model.held, rows)

    def _modelled(self, apart: tuple[str, ...] = ()) -> Model:
        """The model, without these estimates; on a network, the rule for λ is in `_heads`."""
        sizes_by = self.alpha.by if isinstance(self.alpha, OneOver) else "constant"
        rule = None if self._network is not None and not apart else self.learned_rule
        form = None if rule is None else _Form(rule)
        declaration: Any = self.declaration
        return _model(declaration, form, sizes_by, self._corrects, self._mixes, apart)

    @property
    def _heads(self) -> Model | None:
        """The model of a rule for λ on the last hidden layer of a network, if there is one."""
        return self._modelled(("V",)) if self._network is not None and self.learned_rule is not None else None

    def _constants(self, start: Floats) -> dict[str, float]:
        """The constants of the model, by name."""
        found: dict[str, float] = {name: getattr(self, name) for name in self._declared.number_names()}
        found |= {} if self.centering is None else {ETA: self.centering}
        few = self.features.size <= runtime.DENSE_SIZE  # with few features, hardly any trace is dropped
        found["tolerance"] = min(self.trace_tolerance, runtime.NEGLIGIBLE) if few else self.trace_tolerance
        found |= {"bound": runtime.LARGEST[self.dtype], "factor": self.bound}
        top = float(abs(start).max()) if self._network is None else self._network.largest(start)
        found |= {"start": top, "diverged_at": -1, "size": self.features.size}
        found |= {"z_size": self.lam_features.size, "last_lam": 1.0}
        found["dimensions"] = 0 if self._kernel is None else self._kernel.dimensions
        return found | ({"alpha": self.alpha} if isinstance(self.alpha, float) else self.alpha.numbers())

    def _of_rule(self) -> dict[str, float]:
        """The constants of a rule that learns λ, by name."""
        if (rule := self.learned_rule) is None:
            return {}
        alpha = self.alpha.numbers()["alpha"] if isinstance(self.alpha, StepSize) else self.alpha
        found = rule.numbers(None if isinstance(alpha, OneOver) else alpha)
        return found | {"warm_up": rule.warm_up_steps}

    @property
    def declaration(self) -> type[declare.AlgorithmDeclaration]:
        """The declaration that this learner runs, adaptive step sizes and centring included."""
        return self._declaration

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        """The declaration of the algorithm itself, without adaptive step sizes and centring."""
        return type(self)  # type: ignore[return-value]  # a subclass is a declaration too

    @property
    def learned_rule(self) -> Rule | None:
        """A rule with auxiliary estimates."""
        return self.rule if self.rule.learns() else None

    @property
    def module(self) -> ModuleType:
        """The generated module that runs this learner."""
        if self._network is not None:
            return network_module(self.model, self._network.form(), self._heads)
        encode = None if self._kernel is None else self._kernel.encode
        return learner_module(self.model, self.memory.layout.lists_live, encode)

    def _bind(self) -> None:
        """Bind the entry points to the memory; each is compiled at its first call."""
        self._rows = self.memory.rows  # a property would cost 35 ns in `predict`
        self._update: Callable[..., int]
        self._update_index: Callable[..., int]
        self._update_vector: Callable[..., int]
        self._predict_vector: Callable[..., float]
        at_first_call(self, "_update", lambda *step: self._entry_point("update", (), *step))
        at_first_call(self, "_update_index", lambda *_: self._entry_with_lam("update_index", (), 0))
        vector = lambda *_: self._entry_with_lam("update_vector", self._encoding(), ANY_VECTOR)  # noqa: E731
        at_first_call(self, "_update_vector", vector)
        at_first_call(self, "_predict_vector", lambda *_: self._entry_of_predictions())

    def _encoding(self) -> tuple[Any, ...]:
        """Buffers: the values of x and x' followed by the encoder's numbers, and the indices of x and x'."""
        if self._network is not None:
            return ()  # they are in its memory
        assert self._kernel is not None
        active = self.features.active
        return np.concatenate([np.zeros(2 * active), self._kernel.numbers]), np.zeros((2, active), dtype=np.int64)

    def _entry_point(self, name: str, buffers: tuple[Any, ...], *examples: Any) -> Callable[..., Any]:
        return bound(self.module, name, (*self.memory.arrays, *buffers), *examples)

    def _entry_of_predictions(self) -> Callable[..., float]:
        arrays: tuple[Any, ...] = (self.memory.record, self.memory.rows, *self._encoding())
        if isinstance(self.memory, NetworkMemory):
            arrays = self.memory.arrays_to_predict
        return bound(self.module, "predict_vector", arrays, ANY_VECTOR)

    def _entry_with_lam(self, name: str, buffers: tuple[Any, ...], obs: Any) -> Callable[..., int]:
        """A function of (obs, next_obs, reward, γ, ρ, ended), which passes these on after λ' and the factor on it."""
        lam_first = (0.0, 0.0) if self.model.corrected else (0.0,)
        enter = self._entry_point(name, buffers, *lam_first, obs, obs, 0.0, 0.0, 0.0, 0)
        if self.model.corrected:

            def corrected(obs: Any, after: Any, reward: float, gamma: float, rho: float, ended: int) -> int:
                lam = self._lam_at(after) if self.fixed_lam is None else self.fixed_lam
                kappa, factor = self._corrected(rho)
                return enter(lam, factor, obs, after, reward, gamma, kappa, ended)

            return corrected
        if self.fixed_lam is None:
            return lambda obs, after, *numbers: enter(self._lam_at(after), obs, after, *numbers)
        return partial(enter, self.fixed_lam)

    def _corrected(self, rho: float) -> tuple[float, float]:
        """The correction κ and the factor on λ' for this action."""
        behavior, self._behavior = self._behavior, None
        kappa, factor = self.correction.factors(rho, behavior)
        return float(kappa), float(factor)
