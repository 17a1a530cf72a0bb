"""Learners with eligibility traces: one class is both the declaration (`core.declare`) and the learner."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from tdlambda import registry
from tdlambda.arrays import Floats, Ints, choice, flag, number, plain, positive, read_only
from tdlambda.core import declare, runtime
from tdlambda.core.names import require_names, words
from tdlambda.core.network_memory import NetworkMemory
from tdlambda.core.program import OBSERVATION_CODES, refuse
from tdlambda.features import Encoder, Network, OneHot
from tdlambda.features.encoder import as_vector
from tdlambda.learners.centering import centered
from tdlambda.learners.guard import Guard
from tdlambda.learners.learner import REQUIRED, Array, Diverged, check_numbers, encoded
from tdlambda.learners.modelled import ModelLearner
from tdlambda.learners.step_size import Alpha, OneOver, StepSize, initial_weights
from tdlambda.mdp import Transitions
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.rules import Fixed, Lam, LambdaMixture
from tdlambda.rules.lambda_rule import Seen
from tdlambda.showing import no_argument

_PLAIN = (float, np.float64)
_ARRAY, _FLOAT, _SINGLE = np.ndarray, np.dtype(np.float64), np.dtype(np.float32)


def _signature(kind: type[Algorithm]) -> inspect.Signature:
    """The parameters of a constructor; if it takes **options, also those of its base classes and its declaration."""
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    owners = [c for c in kind.__mro__[: kind.__mro__.index(Algorithm) + 1] if "__init__" in vars(c)]
    own, *further = ([*inspect.signature(vars(c)["__init__"]).parameters.values()][1:] for c in owners)
    defaults = {name: getattr(kind, name, Parameter.empty) for name in kind.number_names()}
    further.append([Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in defaults.items()])
    shown, kinds = {p.name: p for p in own if p.kind in by_name}, {p.kind for p in own}
    passed = () if Parameter.VAR_POSITIONAL in kinds else ("features", "alpha")  # required, so it passes them itself
    for given in further:
        if Parameter.VAR_KEYWORD in kinds:
            new = [p for p in given if p.kind in by_name and p.name not in (*shown, *passed)]
            shown |= {p.name: p.replace(kind=Parameter.KEYWORD_ONLY) for p in new}
            kinds &= {p.kind for p in given}
    return inspect.Signature([*shown.values()])


def _mixes_lambdas(lam: Any) -> bool:
    """Whether this argument is "auto" or its rule."""
    return isinstance(lam, LambdaMixture) or (isinstance(lam, str) and lam == "auto")


def _is_matrix(rows: Any, width: int) -> bool:
    """Whether compiled code can read these observations without conversion."""
    return bool(rows.dtype == _FLOAT and rows.ndim == 2 and rows.shape[1] == width)


class Algorithm(ModelLearner, declare.AlgorithmDeclaration, base=True):
    """Base class of learners with eligibility traces, such as `td.TD`; a subclass declares its equations.

    Parameters
    ----------
    features
        Encoder of observations, or a `td.Network` for a value that is not linear.
    alpha
        Step size α > 0: a number, a schedule such as `td.steps.OneOver("visits")`, or an adaptive step size such as
        `td.steps.Swift()`, if it is defined for the algorithm.
    lam
        Trace decay λ: a number in [0, 1], one number for each state, a rule, or the name of a rule: "auto" is
        `td.rules.LambdaMixture()`, "meta" is `td.rules.Meta()`, "greedy" is `td.rules.Greedy()`. On a network, "auto"
        builds a `td.AutoTD` of networks with several λ, and λ(x) of other rules is linear in the last hidden layer.
    correction
        Off-policy trace coefficient: "importance" (ρ), "retrace", "vtrace", "tree", "abtd", or a
        `td.mdp.TraceCorrection`. "tree" and "abtd" need the behaviour policy's probability of each action:
        `update(…, behavior=)`.
    centering
        Reward centring, for continuing tasks: step size of the average reward r̄ as a positive multiple η of α (of the
        initial α if step sizes adapt). The learner learns from r' - r̄, with r̄ += η α ρ δ, and predicts the discounted
        sum of r - r̄. With a constant γ, the discounted value is this prediction plus r̄/(1 - γ). None turns centring
        off.
    initial
        Initial weights, finite: one number or one for each feature. A network has its own (`td.Network.initial`), in
        place of which all its parameters may be given.
    trace_tolerance
        Threshold in [0, 1) below which traces are dropped, with more than 128 features; multiplied by α for traces
        that carry α. 0 keeps every nonzero trace. A dropped trace would have changed a weight by at most
        tolerance · α · Σ |δ| (γλρ)^k over the following steps k.
    bound
        Positive factor: a prediction has diverged when it exceeds `bound` times the largest value that the rewards and
        discounts so far allow. That value is the largest reward divided by 1 - γ, or multiplied by ten times the
        length of the longest episode, whichever is less; for a variance, its square.
    on_divergence
        "raise" raises `Diverged` once; "flag" only sets `diverged_at`. In both cases the learner stops learning.
    dtype
        "float64", or "float32", which halves the memory of weights and traces; a network has its own.
    numbers
        Further step sizes and parameters that the declaration names (`sizes`, `parameters`). A class attribute of the
        same name is the default, and `ranges` validates them.

    Examples
    --------
    >>> import tdlambda as td
    >>> class CappedTD(td.Algorithm):
    ...     '''TD(λ) with errors cut at ±cap.'''
    ...     parameters = "cap"
    ...     dots = {"v": "w.x", "v_next": "w.x'"}
    ...     keeps = {"decay": 0.0}
    ...     updates = '''
    ...         e  = keep e + rho x
    ...         w += along e
    ...     '''
    ...
    ...     @staticmethod
    ...     def step(v, v_next, decay, cap, alpha, reward, gamma_next, rho, lam_next):
    ...         delta = reward + gamma_next * v_next - v
    ...         along = alpha * min(max(delta, -cap), cap)
    ...         keep, decay = rho * decay, gamma_next * lam_next
    ...         return keep, along, decay
    >>> v = CappedTD(td.features.OneHot(3), alpha=0.5, lam=0.9, cap=1.0)
    >>> v.update(0, 10.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.5
    """

    takes_adaptive = takes_networks = True

    def __init_subclass__(cls, **options: Any) -> None:
        """List every parameter in the signature of the class."""
        require_names(cls.number_names(), [])
        cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]
        super().__init_subclass__(**options)

    def __new__(cls, *given: Any, **options: Any) -> Any:
        """A new learner; with `lam="auto"` on a network, an `AutoTD` that mixes learners with several λ."""
        every = (*given, *options.values())
        if any(isinstance(a, Network) for a in every) and any(_mixes_lambdas(a) for a in every):
            return registry.find("AutoTD").of_lambdas(cls, given, options)
        return super().__new__(cls)

    def __init__(
        self,
        features: Encoder | Network,
        alpha: Alpha,
        lam: Lam = 0.9,
        *,
        correction: str | TraceCorrection = "importance",
        centering: float | None = None,
        initial: ArrayLike = 0.0,
        trace_tolerance: float = 1e-8,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
        **numbers: float,
    ) -> None:
        super().__init__(features, lam)
        if not hasattr(self._declared, "step"):
            raise TypeError(
                f"{type(self).__name__} declares no step; declare one, or use an algorithm such as td.TrueOnlineTD"
            )
        choice(on_divergence, "on_divergence", "raise", "flag")
        choice(dtype, "dtype", "float64", "float32")
        if not 0 <= number(trace_tolerance, "trace_tolerance") < 1:
            raise ValueError(f"trace_tolerance must be in [0, 1); got {trace_tolerance}")
        self._network = features if isinstance(features, Network) else None
        dtype = dtype if self._network is None else self._network.dtype  # type: ignore[assignment]
        start = initial_weights(initial, features.size, dtype)
        if self._network is not None and start.ndim == 0 and start != 0:
            raise ValueError(f"initial must be left out, or be all {features.size} parameters; got {initial!r}")
        self.alpha = alpha if isinstance(alpha, OneOver | StepSize) else positive(alpha, "alpha")
        self.centering = None if centering is None else positive(centering, "centering")
        declared = alpha.declare(self._declared) if isinstance(alpha, StepSize) else self._declared
        self._declaration = declared if centering is None else centered(declared)
        self.correction = TraceCorrection.named(correction)
        self._corrects = self.correction.name != "importance"
        self._behavior: float | None = None
        self.initial, self.trace_tolerance, self.dtype = start, float(trace_tolerance), dtype
        self.bound, self.on_divergence = positive(bound, "bound"), on_divergence
        self._take_numbers(numbers)
        self.fixed_lam = self.rule.lam if isinstance(self.rule, Fixed) else None
        features = self.lam_features = self.features
        if self.rule.learns():
            own = self.rule.features
            self.fixed_lam, self.lam_features = 1.0, features if own is None or own == features else own
        self._one_hot = type(features) is OneHot and self.lam_features is features
        self._kernel = features.kernel if self.lam_features is features else None
        self._allocate(start if self._network is None or start.ndim else self._network.initial())

    def _take_numbers(self, given: dict[str, Any]) -> None:
        """Set the declared parameters from arguments or class attributes."""
        kind, names = type(self), self._declared.number_names()
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise TypeError(no_argument(kind.__name__, unknown[0], inspect.signature(kind).parameters))
        for name in names:
            value = given.get(name, getattr(kind, name, None))
            if value is None:
                raise TypeError(f"{kind.__name__} needs {name}: pass {name}=…, or set a class attribute as its default")
            setattr(self, name, number(kind.ranges.get(name, number)(value, name), name))

    def for_actions(self, corrects: bool, mixes: bool) -> None:
        """Become a learner of action values, whose steps may supply a factor on λ' and a mixture as x'."""
        self._corrects, self._mixes, self._kernel, self._one_hot = corrects, mixes, None, False
        self.model = self._modelled()

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        if self._one_hot and type(obs) is int and 0 <= obs < self.features.size:
            return self._rows.item(0, obs)
        if self._kernel is not None:
            if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                obs = self._vector(obs)
            value = self._predict_vector(obs)
            if value == value:
                return value
        if self._network is not None:
            return float(self.predict_many([self._network.vector(obs)])[0])
        return super().predict(obs)

    def predict_many(self, observations: Any) -> Floats:
        """V(obs) of each observation."""
        if not isinstance(self.memory, NetworkMemory):
            return super().predict_many(observations)
        out = np.zeros(len(observations))
        rows = encoded(self.features.vectors, observations, "observations")
        self.module.predict_vectors(*self.memory.arrays_to_predict, rows, out)
        return out

    def _vector(self, obs: Any) -> Array:
        """An observation in a form that compiled code can read."""
        assert self._kernel is not None
        if type(obs) is _ARRAY and obs.dtype is _SINGLE and obs.ndim == 1:
            return obs.astype(_FLOAT)
        return as_vector(obs, self._kernel.dimensions)

    def update(
        self,
        obs: Any,
        reward: float,
        next_obs: Any,
        gamma: float = REQUIRED,
        rho: float = 1.0,
        terminated: bool = False,
        truncated: bool = False,
        behavior: float | None = None,
    ) -> None:
        """Learn from one transition.

        Parameters
        ----------
        obs, reward, next_obs, gamma, rho, terminated, truncated
            See `Learner.update`.
        behavior
            The behaviour policy's probability b(a|s) of the action taken, in (0, 1]; the corrections "tree" and "abtd"
            need it, the others ignore it.
        """
        ended = 0
        if terminated is not False and flag(terminated, "terminated"):
            ended = 1
        if truncated is not False and flag(truncated, "truncated"):
            ended += 2
        try:
            try:
                plain_numbers = type(0.0 + reward + gamma + rho) in _PLAIN and rho is not False and rho is not True
            except (TypeError, OverflowError):  # such as text
                plain_numbers = False
            if not plain_numbers:
                reward, gamma, rho = check_numbers(reward, gamma, rho)
            if behavior is not None:
                self._behavior = behavior
            if type(obs) is int and type(next_obs) is int and self._one_hot:
                status = self._update_index(obs, next_obs, reward, gamma, rho, ended)
            elif self._kernel is not None:
                # the only arrays that compiled code can read directly; it checks their length
                if type(obs) is not _ARRAY or obs.dtype is not _FLOAT or obs.ndim != 1:
                    obs = self._vector(obs)
                if type(next_obs) is not _ARRAY or next_obs.dtype is not _FLOAT or next_obs.ndim != 1:
                    next_obs = self._vector(next_obs)
                status = self._update_vector(obs, next_obs, reward, gamma, rho, ended)
            else:
                x, (y, yv) = self.features.encode(obs), self.features.encode(next_obs)
                z, zv = (y, yv) if self.lam_features is self.features else self.lam_features.encode(next_obs)
                lam = self._lam_at(next_obs) if self.fixed_lam is None else self.fixed_lam
                numbers: tuple[float, ...] = (float(reward), float(gamma), float(rho), lam)
                if self.model.corrected:
                    kappa, factor = self._corrected(rho)
                    numbers = (float(reward), float(gamma), kappa, lam, factor)
                status = self._update(*x, y, yv, z, zv, *numbers, ended)
                if not (status or self.features.settled):
                    self.features.observe(obs)
        except (TypeError, ValueError, OverflowError):
            self._behavior = None  # it belonged to this transition only
            check_numbers(reward, gamma, rho)
            self._check_observations(obs, next_obs)  # raises the specific error
            raise
        if status:
            self.refuse_status(status, obs, reward, next_obs, gamma, rho)

    def _learn_many(self, c: Transitions) -> None:
        self.memory["busy"] = 1  # `update` raises in other threads until this is done
        try:
            self._learn_columns(c)
        finally:
            self.memory["busy"] = 0

    def _learn_columns(self, c: Transitions) -> None:
        if not len(c):
            return
        if self._network is not None:
            read = self._network.vectors
            c = replace(c, obs=encoded(read, c.obs, "obs"), next_obs=encoded(read, c.next_obs, "next_obs"))
        lam = self._lam_many(c.next_obs, len(c)) if self.fixed_lam is None else np.array([self.fixed_lam])
        numbers: Any = (c.reward, c.gamma, c.rho, lam, c.terminated, c.truncated)
        if self.model.corrected:
            rho, factor = self.correction.factors(c.rho, c.behavior)
            numbers = (c.reward, c.gamma, rho, lam, factor, c.terminated, c.truncated)
        obs, next_obs = c.obs, c.next_obs
        if self._one_hot and obs.dtype == next_obs.dtype == np.int64 and obs.ndim == next_obs.ndim == 1:
            indices: Any = (plain(obs, np.int64), plain(next_obs, np.int64))
            status, t = self.module.update_many_indices(*self.memory.arrays, *indices, *numbers)
        elif self._kernel is not None and all(_is_matrix(o, self._kernel.dimensions) for o in (obs, next_obs)):
            vectors: Any = (*self._encoding(), plain(obs, np.float64), plain(next_obs, np.float64))
            status, t = self.module.update_many_vectors(*self.memory.arrays, *vectors, *numbers)
        else:
            after = encoded(self.features.encode_batch, next_obs, "next_obs")
            same = self.lam_features is self.features
            z = after if same else encoded(self.lam_features.encode_batch, next_obs, "next_obs")
            before = encoded(self.features.encode_batch, obs, "obs")
            status, t = self.module.update_many(*self.memory.arrays, *before, *after, *z, *numbers)
        if status in OBSERVATION_CODES and self._network is None:
            encoded(self.features.encode_batch, obs, "obs")  # raises the specific error
            encoded(self.features.encode_batch, next_obs, "next_obs")
        if status:
            self.refuse_status(status, c.obs[t], c.reward[t], c.next_obs[t], c.gamma[t], c.rho[t], f" (row {t})")

    def follow(self, c: Transitions, before: Floats) -> bool:
        """Learn from validated columns, and write V(obs) and V(next_obs) before each update to `before` [row, 2].

        Only learners with a network do so, in compiled code; others return False and do nothing.
        """
        if not isinstance(self.memory, NetworkMemory) or self.model.corrected:
            return False
        read = self.features.vectors
        lam = self._lam_many(c.next_obs, len(c)) if self.fixed_lam is None else np.array([self.fixed_lam])
        rows = (read(c.obs), read(c.next_obs), c.reward, c.gamma, c.rho, lam, c.terminated, c.truncated)
        with self._guard:
            if self.module.follow_vectors(*self.memory.arrays, *rows, before) == runtime.DIVERGED:
                self.memory.clip()
        return True

    def refuse_status(
        self, status: int, obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, where: str = ""
    ) -> None:
        """Raise the error that a status code stands for, with these arguments of the transition.

        Parameters
        ----------
        status
            One of the codes of `core.runtime`, from 1 to 9.
        where
            Words after the message, such as the row.
        """
        if status == runtime.DIVERGED:
            self.memory.clip()
            if self.on_divergence == "raise":
                raise Diverged(self.memory["diverged_at"])
            return
        if status == runtime.IN_USE:
            self._guard.refuse()
        if status in OBSERVATION_CODES and not where:
            self._check_observations(obs, next_obs)
        refuse(
            status, self.features.size, where, obs=obs, reward=reward, next_obs=next_obs, gamma=gamma, rho=rho
        )  # fmt: skip

    def _check_observations(self, obs: Any, next_obs: Any) -> None:
        if self._network is not None:
            encoded(self._network.vector, obs, "obs")
            encoded(self._network.vector, next_obs, "next_obs")
            return
        encoded(self.features.encode, obs, "obs")
        for features in (self.features, self.lam_features):
            encoded(features.encode, next_obs, "next_obs")

    def lambda_at(self, obs: Any) -> float:
        """The λ in use at this observation."""
        if not self.rule.learns():
            return super().lambda_at(obs)
        if self._network is not None:
            return float(self.lambdas([obs])[0])
        x, xv = self.features.encode(obs)
        z, zv = self.lam_features.encode(obs)
        return float(self.rule.values(self._seen(x[None], xv[None], z[None], zv[None]))[0])

    def lambdas(self, observations: Any) -> Floats:
        """The λ in use at each of these observations."""
        if not self.rule.learns():
            return super().lambdas(observations)
        if isinstance(self.memory, NetworkMemory):
            values, found = self._head_values(observations)
            numbers, at = self.memory.heads, np.broadcast_to(self.memory.positions, found.shape)
            assert numbers is not None
            assert self._heads is not None
            own = {name: numbers.row(name) for name in self._heads.rule_rows}
            ready = numbers["steps"] > numbers["warm_up"]
            return self.rule.values(Seen(values, own, at, found, numbers.numbers(), ready))
        x, z = self.features.encode_batch(observations), self.lam_features.encode_batch(observations)
        return self.rule.values(self._seen(*x, *z))

    def _head_values(self, observations: Any) -> tuple[dict[str, Floats], Floats]:
        """V and the estimates of a rule, in the unit of the scaled rewards, and the last hidden layer, on a network."""
        assert isinstance(self.memory, NetworkMemory)
        assert self._heads is not None
        rows = encoded(self.features.vectors, observations, "observations")
        out = np.zeros((len(rows), self.memory.positions.size + 1))
        self.module.hidden_vectors(*self.memory.arrays_to_predict, rows, out)
        first, hidden = words(self.declaration.weight_rows)[0], np.ascontiguousarray(out[:, :-1])
        values = {k: hidden @ self.memory.row(f"{k}_{first}") for k in self._heads.estimates}
        return {"V": out[:, -1].copy()} | values, hidden

    def _seen(self, x: Ints, xv: Floats, z: Ints, zv: Floats) -> Seen:
        """The information that a rule may use at some observations."""
        memory = self.memory
        estimates = dict(zip(self.model.estimates, self._estimates(x, xv), strict=False))
        own = {name: memory.row(name) for name in self.model.rule_rows}
        return Seen(estimates, own, z, zv, memory.numbers(), memory["steps"] > memory["warm_up"])

    def estimates(self, observations: Any) -> Floats:
        """All estimates [estimate, observation]: V, then those that a rule or a variance learner learns alongside V.

        These are E[G] and Var[G] (or E[G²]) for `td.rules.Greedy`; E[G], E[G^λ] and Var[G^λ] for `td.rules.Meta`;
        E[G] as it is learned and its average for `td.rules.ValueErrorGreedy`. `td.rules.LambdaMixture` puts the values
        that it mixes before those.
        """
        if self._network is not None:
            if self.learned_rule is None:
                return self.predict_many(observations)[None]
            values, _ = self._head_values(observations)
            scale, squares = self.memory["scale"], self.rule.squares
            return np.stack([value * scale ** (1 + (k in squares)) for k, value in values.items()])
        return self._estimates(*self.features.encode_batch(observations))

    def _estimates(self, index: Ints, value: Floats) -> Floats:
        first = words(self.declaration.weight_rows)[0]
        names = [f"{k}_{first}" for k in self.model.estimates]
        names += self.learned_rule.reported if self.learned_rule else ()
        found = [self.memory.row(name) for name in names]
        return np.stack([(value * row[index]).sum(axis=1) for row in found]).astype(np.float64)

    @property
    def weights(self) -> Array:
        """The weights w, as a read-only view; not defined for a network, whose parameters belong to layers."""
        if self._network is not None:
            raise AttributeError(
                "weights: a network has no vector of weights for features; use layers, its matrices and biases, or "
                'row("V_w"), all parameters'
            )
        return self.row(self.model.rows[0])

    @property
    def layers(self) -> list[tuple[Array, Array]]:
        """The weights [input, output] and the biases of each layer of a network, as read-only views."""
        if self._network is None:
            raise AttributeError("layers: only a td.Network has layers; use weights")
        return self._network.form().matrices(self.row(self.model.rows[0]))

    @property
    def trace(self) -> Array:
        """The eligibility trace e, as a read-only array; for a mixture, the mixture of its traces."""
        name = words(self.declaration.trace_rows)[0]
        if not self.mixture:
            return self.row(f"V_{name}")
        return read_only(np.sum([weight * self.row(f"{k}_{name}") for k, weight in self.mixture.items()], axis=0))

    @property
    def mixture(self) -> dict[str, float]:
        """The estimates that V mixes and their weights (`td.rules.LambdaMixture`); empty for other rules."""
        return {k: self.memory[number] for k, number in self.model.mixture.items()}

    def row(self, name: str) -> Array:
        """A row by name, read-only: "V_w", the value's weights; "V_e", its trace; "u", the rule's weights."""
        return read_only(self.memory.row(name))

    @property
    def td_error(self) -> float:
        """The TD error δ of the last update, in the unit of the rewards."""
        return float(self.memory["td_error"]) * (1.0 if self._network is None else self.memory["scale"])

    @property
    def average_reward(self) -> float | None:
        """The current estimate r̄ of the average reward; None without `centering`.

        With centring, V is the discounted sum of r - r̄; for a constant γ, V + r̄/(1 - γ) is the discounted value.
        """
        center = self.declaration.center
        return float(self.memory[f"{self.model.learning[0]}_{center}"]) if center else None

    @property
    def trace_decay(self) -> float | None:
        """The factor γλ by which the trace decays at the next update; None if the algorithm does not keep it."""
        if "V_decay" not in self.model.kept:
            return None
        weights = self.mixture or {"V": 1.0}
        return sum(weight * self.memory[f"{k}_decay"] for k, weight in weights.items())

    @property
    def steps(self) -> int:
        """Number of updates so far."""
        return int(self.memory["steps"])

    @property
    def diverged_at(self) -> int | None:
        """The update, counted from 1, at which the learner diverged; None if it has not."""
        step = int(self.memory["diverged_at"])
        return None if step < 0 else step

    def reset(self) -> None:
        """Set the traces to 0, as at the start of an episode; keep the weights."""
        with self._guard:
            self.memory.reset()

    def to_c(self, folder: str | os.PathLike[str], name: str = "learner") -> tuple[Path, Path]:
        """Write this learner in C: `name.h` and `name.c`, which go on learning from its present state.

        The files are C99 without allocation and without libraries besides that of mathematics. Compiled without
        contraction of products and sums, they compute the same numbers as this learner, bit for bit. Features may be
        `OneHot`, `Dense` or `TileCoder`; λ may be a number, one number for each state, or a rule that learns.

        Parameters
        ----------
        folder
            Folder of the files; it is created if it does not exist. Existing files are never overwritten.
        name
            A name in C: the prefix of the functions, and the name of the struct and of the files.

        Returns
        -------
        tuple
            The paths of the header and of the C file.

        Examples
        --------
        >>> import tempfile, tdlambda as td
        >>> v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.5)
        >>> v.update(0, 1.0, 1, gamma=0.9)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     header, source = v.to_c(folder)
        ...     header.name, "learner_update(" in header.read_text()
        ('learner.h', True)
        """
        from tdlambda.learners.c_export import write

        if self._network is not None:
            raise TypeError("to_c writes learners with linear values; a network cannot be written in C")
        with self._guard.quiet:
            return write(self, folder, name)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments, by name."""
        found = super().get_params()
        return found if self._network is None else found | {"dtype": "float64"}  # a network has its own

    def clone(self) -> Self:
        """An independent copy of this learner, in the same state."""
        kinds = type(self).__mro__[: type(self).__mro__.index(Algorithm)]
        own_constructor = any(
            "__init__" in vars(kind) and not kind.__module__.startswith("tdlambda.") for kind in kinds
        )
        if own_constructor or not self.features.settled:
            return super().clone()  # the constructor creates objects that must not be shared
        copy = object.__new__(type(self))
        with self._guard.quiet:
            parts = {name: what.copy() if isinstance(what, np.ndarray) else what for name, what in vars(self).items()}
            parts["memory"] = self.memory.copy()
        vars(copy).update(parts, _guard=Guard("learner"), _behavior=None)
        copy._bind()
        return copy

    # ---- storage ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Array]:
        return self.memory.state_dict()

    def _restore(self, state: dict[str, Array]) -> None:
        self.memory.load(state)


Algorithm.__signature__ = _signature(Algorithm)  # type: ignore[attr-defined]  # its __new__ has another one
