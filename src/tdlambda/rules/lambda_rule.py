"""The interface of rules for λ: declaration, parameters, and λ at an observation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints, choice, fraction, integer, not_negative, number, positive
from tdlambda.core import declare
from tdlambda.core.names import words
from tdlambda.documenting import complete
from tdlambda.features import Encoder
from tdlambda.parameters import ByParameters
from tdlambda.showing import no_argument, says_arguments


@dataclass(frozen=True)
class Seen:
    """A learner's estimates at some observations, from which a rule computes λ there."""

    estimates: Mapping[str, Floats]
    """Predictions [observation] of each estimate."""
    rows: Mapping[str, Floats]
    """The rule's own rows."""
    index: Ints
    value: Floats
    """Features of λ [observation, active]."""
    numbers: Mapping[str, float]
    """Parameters and kept numbers, by name."""
    ready: bool
    """Whether the warm-up is over."""


class Rule(declare.RuleDeclaration, ByParameters):
    """Base class of rules for λ, such as `td.rules.Fixed`, `td.rules.PerState` and rules that learn λ.

    A rule that does not learn implements `at` or `at_many`, which return λ at observations. A rule that learns is a
    declaration: further estimates, dot products, and `step`, a pure function that returns λ'. See `td.rules.Meta`.

    Parameters
    ----------
    numbers
        The numbers that the declaration names (`parameters`, `shared`): any numbers, unless the class restricts them. A
        class attribute of the same name is the default.

    Examples
    --------
    >>> import tdlambda as td
    >>> class ByError(td.Rule):
    ...     '''λ is high where the last errors were large.'''
    ...     parameters = "rate"
    ...     dots = {"v": "V.x", "v_next": "V.x'"}
    ...     keeps = {"recent": 0.0}
    ...
    ...     @staticmethod
    ...     def step(v, v_next, recent, rate, reward, gamma_next):
    ...         recent = recent + rate * (abs(reward + gamma_next * v_next - v) - recent)
    ...         lam_next = recent / (1 + recent)
    ...         return lam_next, recent
    >>> v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.1, lam=ByError(rate=0.5))
    >>> v.update(0, 2.0, 1, gamma=0.9)
    >>> v.weights
    array([0.2, 0. , 0. ])
    """

    features: Encoder | None = None
    """Encoder of the features that λ depends on; None for the learner's own."""
    warm_up_steps: int = 0
    """Number of updates before λ first changes."""

    def __init_subclass__(cls, **options: Any) -> None:
        """List the declaration's numbers in the signature of the class."""
        super().__init_subclass__(**options)
        if cls.__init__ is Rule.__init__:
            kind, names = inspect.Parameter.KEYWORD_ONLY, [*words(cls.parameters), *words(cls.shared)]
            given = [inspect.Parameter(n, kind, default=getattr(cls, n, inspect.Parameter.empty)) for n in names]
            cls.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        complete(cls)
        says_arguments(cls)

    def __init__(self, **numbers: float) -> None:
        names = [*words(self.parameters), *words(self.shared)]
        for name, value in numbers.items():
            if name not in names:
                raise TypeError(no_argument(type(self).__name__, name, names))
            setattr(self, name, number(value, name))
        for name in names:
            if not hasattr(self, name):
                kind = type(self).__name__
                raise TypeError(f"{kind} needs {name}: pass {name}=…, or set a class attribute as its default")

    @classmethod
    def is_complete(cls) -> bool:
        """Whether the class defines λ, by `step`, `at` or `at_many`."""
        return cls.learns() or cls.at is not Rule.at or cls.at_many is not Rule.at_many

    def at(self, obs: Any) -> float:  # noqa: ARG002
        """The λ at one observation, for a rule that does not learn."""
        raise TypeError(f"lam: {type(self).__name__} learns λ inside a learner; call lambda_at of the learner")

    def at_many(self, observations: Any, n: int) -> Floats:
        """The λ at each observation, for a rule that does not learn; `n` is the number of observations."""
        if self.learns():
            return np.ones(n)  # placeholders: compiled code computes λ
        return np.array([self.at(observation) for observation in observations])

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """The names of the constructor's arguments, or of the declared numbers."""
        return super().parameter_names() or (*words(cls.parameters), *words(cls.shared))

    def values(self, seen: Seen) -> Floats:
        """The λ at observations, for a rule that learns; by default that of `step` for a self-transition."""
        return np.array([self._peek(seen, k) for k in range(len(seen.index))])

    def _peek(self, seen: Seen, k: int) -> float:
        """The λ' of a transition from the k-th observation to itself, with reward 0, γ' = 1 and ρ = 1."""
        index, value = seen.index[k], seen.value[k]
        known: dict[str, Any] = dict(seen.numbers) | dict.fromkeys(("gamma_next", "rho", "one"), 1.0)
        known |= {"reward": 0.0, "ready": seen.ready, "xx": float(value @ value), "zz": float(value @ value)}
        for name, what in self.dots.items():
            left, *rest = what.split(".")
            if left in seen.rows:
                known[name] = float(value @ seen.rows[left][index])
            elif left in seen.estimates:
                known[name] = (
                    float(seen.estimates[left][k]) if rest[0] in ("x", "x'") else known.get(f"{left}_{rest[0]}", 0.0)
                )
        for name, where in self.phases.items():
            function, active = self.function(name), index[value != 0]
            wanted = [a for a in inspect.signature(function).parameters if a not in self.constants()]
            if where in ("after x", "all"):
                continue
            rounds = [known] if not where else [known | {r: seen.rows[r][f] for r in seen.rows} for f in active]
            known[f"{name}_count"] = float(len(active))
            for result in (function(**{a: given[a] for a in wanted}, **self._fixed(function)) for given in rounds):
                _gather(known, self, name, result, bool(where))
        return float(known["lam_next"])

    def _fixed(self, function: Any) -> dict[str, Any]:
        return {k: v for k, v in self.constants().items() if k in inspect.signature(function).parameters}

    def numbers(self, alpha: float | None) -> dict[str, float]:  # noqa: ARG002
        """The parameters by name; `alpha` is the positive step size of the value, or None with a schedule."""
        return {name: getattr(self, name) for name in [*words(self.parameters), *words(self.shared)]}


def _gather(known: dict[str, Any], rule: Rule, name: str, result: Any, summed: bool) -> None:
    from tdlambda.core.source import returned

    names = returned(rule.function(name))
    for what, number_ in zip(names, result if isinstance(result, tuple) else (result,), strict=True):
        if what not in rule.row_names():
            known[what] = known.get(what, 0.0) + number_ if summed else number_


class Adaptive(Rule):
    """Base class of rules that learn λ after a warm-up.

    Parameters
    ----------
    warm_up
        Number of updates before λ first changes from 1, at least 0; with `length`, a fraction of it, in [0, 1).
    length
        Total number of updates, at least 1, if it is known.
    """

    def __init__(self, warm_up: float = 0, length: int | None = None) -> None:
        self.warm_up, self.length = warm_up, length
        if length is not None:
            integer(length, "length", 1)
            if not 0 <= number(warm_up, "warm_up") < 1:
                raise ValueError(f"warm_up must be a fraction of length, in [0, 1); got {warm_up}")
            self.warm_up_steps = int(warm_up * length)
        else:
            if not not_negative(warm_up, "warm_up").is_integer():
                raise ValueError(f"warm_up must be a whole number of steps (or a fraction of length); got {warm_up}")
            self.warm_up_steps = int(warm_up)


class WithEstimates(Adaptive):
    """Base class of adaptive rules that need the mean and the variance of a return, learned alongside the value.

    The auxiliary learners use the value learner's algorithm and features.

    Parameters
    ----------
    ratio
        Step size of the auxiliary learners as a positive multiple of the value learner's; ignored with `aux_alpha`.
    aux_alpha
        Step size of the auxiliary learners as a positive number; requires a constant α. In gradient methods their β is
        β · aux_alpha / α, which is `aux_alpha` where β = α.
    trace_lam
        Trace decay λ of the auxiliary learners, in [0, 1].
    of
        Variance to learn off-policy: that of the return under the "target" policy, or that of the "corrected" return.
    warm_up, length
        See `Adaptive`.
    """

    estimates = {
        "V": ("reward", "gamma_next", "rho", "lam_next"),
        "M": ("reward", "gamma_next", "rho", "trace_lam", "pace"),
    }

    def __init__(
        self,
        ratio: float,
        trace_lam: float,
        of: str,
        warm_up: float,
        length: int | None,
        aux_alpha: float | None,
    ) -> None:
        super().__init__(warm_up, length)
        choice(of, "of", "target", "corrected")
        self.ratio, self.trace_lam, self.of = positive(ratio, "ratio"), fraction(trace_lam, "trace_lam"), of
        self.aux_alpha = None if aux_alpha is None else positive(aux_alpha, "aux_alpha")
        self.corrected = of == "corrected"
        if self.corrected:  # an expectation under the behaviour policy, which needs no further correction by ρ
            last = list(self.estimates)[-1]
            reward, discount, _, lam, pace = self.estimates[last]
            self.estimates = {**self.estimates, last: (reward, discount, "one", lam, pace)}

    def numbers(self, alpha: float | None) -> dict[str, float]:
        """The parameters by name; `alpha` is the positive step size of the value, or None with a schedule."""
        if self.aux_alpha is not None and alpha is None:
            raise ValueError("aux_alpha needs a constant alpha; with a schedule, pass ratio, a factor on alpha")
        pace = self.ratio if self.aux_alpha is None or alpha is None else self.aux_alpha / alpha
        rest = [name for name in words(self.parameters) if name != "pace"]
        return {"pace": pace} | {name: getattr(self, name) for name in rest}

    def constants(self) -> dict[str, Any]:
        """The options that are compiled into the generated code."""
        return {"corrected": self.corrected}
