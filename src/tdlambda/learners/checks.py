"""The contract of learners, as checks that run on any learner, including your own."""

from __future__ import annotations

import math
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tdlambda
from tdlambda.features import Dense, GridTilings, Network, OneHot, Table
from tdlambda.features.box import BoxEncoder
from tdlambda.learners import storage
from tdlambda.learners.learner import Learner, OnlineLearner, needs_behavior

_METHODS = ("predict", "update", "update_many", "lambda_at", "reset", "get_params", "clone", "save")
_NAMES = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated", "behavior")
"""Arguments of `update`; `behavior` is given only to learners that need it."""
_BAD_NUMBERS = {
    "reward": (np.nan, np.inf, -np.inf),
    "gamma": (-0.1, 1.1, np.nan),
    "rho": (-0.5, np.inf, np.nan),
    "behavior": (0.0, 1.5, np.nan),
}
_EPISODE = 20
_CUT = 55
"""A step in the middle of an episode of the first stream, where traces matter before and after it."""
Row = tuple[Any, ...]


def check_learner(
    factory: Callable[[], OnlineLearner], observations: Sequence[Any] | None = None, seed: int = 0
) -> None:
    """Check that a learner keeps the contract of learners; raise AssertionError at the first violation.

    The streams are random: γ and ρ change at every step, and episodes terminate or are truncated. The checks: equal
    streams give equal learners; `predict` changes nothing; `update_many` equals repeated `update`, in chunks of any
    size; a clone, and a learner saved and loaded in mid-episode, continue identically and independently; `reset` keeps
    what was learned; `get_params` rebuilds the learner; λ is in [0, 1]; invalid input is rejected and changes nothing;
    memory stays bounded.

    Parameters
    ----------
    factory
        Function that returns a new learner; every call must return an equal one. Any object with the methods of
        `Learner` works. If it is not a `Learner`, it is loaded by its class's `load(path)`, if that exists.
    observations
        Observations to draw from; required unless `features` of the learner is an encoder of tdlambda.
    seed
        Seed of the random streams.

    Examples
    --------
    >>> import tdlambda as td
    >>> from tdlambda.learners.checks import check_learner
    >>> check_learner(lambda: td.TrueOnlineTD(td.features.OneHot(5), alpha=0.1))
    """
    if isinstance(factory, Learner):
        raise TypeError(f"factory must be a function that builds a learner: lambda: {factory!r}")
    checks = _Checks(factory, observations, seed)
    for name in [name for name in vars(_Checks) if name.startswith("check_")]:
        try:
            getattr(checks, name)()
        except AssertionError:
            raise
        except Exception as error:
            what = name.removeprefix("check_").replace("_", " ")
            raise AssertionError(f"{what}: the learner raised {type(error).__name__}: {error}") from error


class _Checks:
    """The checks, in the order they are written."""

    def __init__(self, factory: Callable[[], Any], observations: Sequence[Any] | None, seed: int) -> None:
        self.make = factory
        self.rng = np.random.default_rng(seed)
        learner = factory()
        for method in _METHODS:
            _require(callable(getattr(learner, method, None)), f"the learner must have a method {method}")
        self.features = getattr(learner, "features", None)
        self.observations = None if observations is None else list(observations)
        self.needs_b = needs_behavior(learner)
        self.rows = self.stream(120)
        self.past, self.rest = self.rows[:_CUT], self.rows[_CUT:]
        self.probes = [row[0] for row in self.rows[:20]]

    # ---- streams ---------------------------------------------------------------------------------------------

    def draw(self) -> Any:
        """A random observation."""
        if self.observations is not None:
            return self.observations[self.rng.integers(len(self.observations))]
        if (n := self.states()) is not None:
            return int(self.rng.integers(n))
        if isinstance(self.features, BoxEncoder):
            return self.rng.uniform(self.features.low, self.features.high)
        if isinstance(self.features, Dense):
            return self.rng.uniform(-1, 1, self.features.size) / math.sqrt(self.features.size)
        if isinstance(self.features, Network):
            return self.rng.normal(size=self.features.inputs)
        raise TypeError("observations: pass a list of observations; they cannot be derived from the learner's features")

    def states(self) -> int | None:
        """The number of states, if observations are states."""
        if isinstance(self.features, OneHot):
            return self.features.size
        if isinstance(self.features, GridTilings):
            return math.prod(self.features.shape)
        return len(self.features.get_params()["matrix"]) if isinstance(self.features, Table) else None

    def stream(self, steps: int, steady: bool = False) -> list[Row]:
        """Consecutive transitions, in episodes of `_EPISODE` steps if steady, else of random length.

        No episode of random length ends near `_CUT`.
        """
        rows: list[Row] = []
        obs, age, ends, rng = self.draw(), 0, 0, self.rng
        for t in range(steps):
            next_obs, age, calm = self.draw(), age + 1, not steady and abs(t - _CUT) < 5
            end = age == _EPISODE if steady else not calm and rng.random() < 0.1
            ends += end
            how = ends % 3 + 1 if end else 0  # terminated, truncated, or both
            gamma = rng.uniform(0.5, 1) if calm else rng.choice([0.0, 1.0, *rng.random(4)])
            rho = rng.uniform(0.5, 1.5) if calm else rng.choice([0.0, 1.0, *1.5 * rng.random(4)])
            b = (float(rng.uniform(0.1, 0.6)),) if self.needs_b else ()
            rows.append((obs, float(rng.normal()), next_obs, float(gamma), float(rho), bool(how & 1), how > 1, *b))
            obs, age = (self.draw(), 0) if end else (next_obs, age)
        return rows

    def bad_observations(self) -> list[Any]:
        """Observations that the encoder must reject."""
        if (n := self.states()) is not None:
            return [-1, n, 0.5, np.nan]
        if self.observations is not None or not isinstance(self.features, BoxEncoder | Dense | Network):
            return []
        good = np.atleast_1d(self.draw())
        bad = [np.append(good, 0.0), np.full_like(good, np.nan)]
        if isinstance(self.features, BoxEncoder) and self.features.outside == "raise":
            bad.append(self.features.high + 1)
        return bad

    def after(self, rows: list[Row]) -> Any:
        """A new learner that has learned from these transitions."""
        return _learn(self.make(), rows)

    def state(self, learner: Any) -> dict[str, Any]:
        """Predictions and, if the learner exposes its state, copies of that."""
        parts = learner._state() if hasattr(learner, "_state") else {}
        seen = {f"arrays {name!r} of the state": np.array(array) for name, array in parts.items()}
        return seen | {"predictions": np.array([learner.predict(obs) for obs in self.probes])}

    def same(self, a: Any, b: Any, message: str, tolerance: float = 0.0) -> None:
        """Raise unless two learners, or two recorded states, are equal."""
        left, right = (seen if isinstance(seen, dict) else self.state(seen) for seen in (a, b))
        for name in left | right:
            fits = name in left and name in right and left[name].shape == right[name].shape
            equal = fits and np.allclose(left[name], right[name], rtol=tolerance, atol=tolerance, equal_nan=True)
            _require(equal, f"{message} ({name} differ)")

    # ---- the contract ----------------------------------------------------------------------------------------

    def check_determinism(self) -> None:
        _require(self.make() is not self.make(), "factory must return a new learner at each call")
        self.same(self.after(self.rows), self.after(self.rows), "the same stream must give the same learner")

    def check_predict(self) -> None:
        learner, quiet = self.make(), self.make()
        for row in self.rows:
            learner.update(*row)
            quiet.update(*row)
            value = learner.predict(row[0])
            _require(isinstance(value, float), f"predict must return a float; it returned {type(value).__name__}")
            _require(math.isfinite(value), f"predict must be finite; it returned {value}")
        self.same(learner, quiet, "predict must not change the learner")
        if hasattr(learner, "predict_many"):
            each = [learner.predict(obs) for obs in self.probes]
            _require(np.allclose(learner.predict_many(self.probes), each), "predict_many must agree with predict")

    def check_update_many(self) -> None:
        whole, chunked, start = self.make(), self.make(), 0
        _learn_many(whole, self.rows)
        # The same sums may be added in another order, so only rounding may differ.
        digits = 1e-5 if getattr(whole, "dtype", "float64") == "float32" else 1e-12
        self.same(whole, self.after(self.rows), "update_many must do what update does, step by step", digits)
        for size in (1, 0, 2, 7, 30, 1, len(self.rows)):
            _learn_many(chunked, self.rows, start, start + size)
            start += size
        self.same(chunked, whole, "update_many must not depend on how a stream is cut into chunks", digits)

    def check_clone(self) -> None:
        learner = self.after(self.past)
        copy = learner.clone()
        new = copy is not learner and type(copy) is type(learner)
        _require(new, "clone must return a new learner of the same type")
        self.same(copy, learner, "a clone must be equal")
        before = self.state(copy)
        _learn(learner, self.rest)
        self.same(copy, before, "updating the learner must not change its clone")
        before = self.state(learner)
        _learn(copy, self.rest)
        self.same(learner, before, "updating a clone must not change the learner")
        self.same(copy, learner, "a clone made in mid-episode must continue exactly as the learner does")

    def check_save_and_load(self) -> None:
        learner = self.after(self.past)
        load = tdlambda.load if isinstance(learner, Learner) else getattr(type(learner), "load", None)
        made_of = [part for part in (self.features, getattr(learner, "rule", None)) if part is not None]
        if load is None or not all(storage.part_named(type(part).__name__) is type(part) for part in made_of):
            return  # features or rules that contain code cannot be saved
        with tempfile.TemporaryDirectory() as folder:
            before, path = self.state(learner), Path(folder) / "learner"
            learner.save(path)
            self.same(learner, before, "save must not change the learner")
            copy = load(path)
        self.same(copy, before, "a loaded learner must be equal to the one saved")
        message = "a learner saved and loaded in mid-episode must continue exactly as the original does"
        for rows in ([self.rest[0]], self.rest[1:]):
            self.same(_learn(copy, rows), _learn(learner, rows), message)

    def check_reset(self) -> None:
        learner = self.after(self.past)
        before = self.state(learner)
        learner.reset()
        once = self.state(learner)
        kept = np.array_equal(before["predictions"], once["predictions"])
        _require(kept, "reset must keep what was learned: predictions changed")
        learner.reset()
        self.same(learner, once, "a second reset must change nothing")
        end = next(t + 1 for t, row in enumerate(self.rows) if row[6] and not row[5])
        reset, plain = self.after(self.rows[:end]), self.after(self.rows[:end])
        reset.reset()
        message = "reset after a truncated episode must change nothing, because the episode is over"
        self.same(_learn(reset, self.rows[end:]), _learn(plain, self.rows[end:]), message)

    def check_get_params(self) -> None:
        learner = self.make()
        rebuilt = type(learner)(**self.after(self.rows).get_params())
        self.same(rebuilt, learner, "get_params must rebuild a fresh learner, without what was learned")
        message = "get_params must contain every parameter: the rebuilt learner learns differently"
        self.same(_learn(rebuilt, self.rows), _learn(learner, self.rows), message)

    def check_lambda_at(self) -> None:
        learner = self.after(self.rows)
        for obs in self.probes:
            lam = learner.lambda_at(obs)
            _require(0 <= lam <= 1, f"lambda_at must be in [0, 1]; it is {lam} at {obs!r}")

    def check_bad_input(self) -> None:
        learner, good = self.after(self.past), self.rest[0]
        names = _NAMES[: len(good)]
        cases = [(name, value) for name, values in _BAD_NUMBERS.items() if name in names for value in values]
        cases += [(name, value) for name in ("obs", "next_obs") for value in self.bad_observations()]
        before = self.state(learner)
        for name, value in cases:
            what, bad = f"{name}={value!r}", tuple(dict(zip(names, good, strict=True), **{name: value}).values())
            _require(_refuses(learner.update, *bad), f"update must raise ValueError or TypeError for {what}")
            self.same(learner, before, f"update that raises for {what} must change nothing")
            if np.ndim(value) == 0 or np.shape(value) == np.shape(good[0]):  # rows of other shapes form no column
                refused = _refuses(_learn_many, learner, [good, bad])
                _require(refused, f"update_many must raise ValueError or TypeError for {what}")
                self.same(learner, before, f"update_many that raises for {what} must not learn from earlier rows")
        self.same(_learn(learner, self.rest), self.after(self.rows), "invalid input must not affect later learning")

    def check_zero_gamma_and_rho(self) -> None:
        for name in ("gamma", "rho"):
            learner = self.after(self.past)
            more = {"behavior": 0.5} if self.needs_b else {}
            learner.update(self.probes[0], 1.0, self.probes[1], **{"gamma": 1.0, name: 0.0} | more)
            value = learner.predict(self.probes[0])
            _require(math.isfinite(value), f"{name}=0 is valid, but after it the prediction is {value}")

    def check_memory(self) -> None:
        learner, rows = self.make(), self.stream(100 * _EPISODE, steady=True)
        early = _held(_learn(learner, rows[:500]), set())
        late = _held(_learn(learner, rows[500:]), set())
        _require(late <= early, f"memory must stay bounded: {early} numbers after 25 equal episodes, {late} after 100")


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _refuses(call: Callable[..., Any], *arguments: Any) -> bool:
    """Whether the call raises an error suited to invalid input."""
    try:
        call(*arguments)
    except (TypeError, ValueError):
        return True
    return False


def _learn(learner: Any, rows: list[Row]) -> Any:
    for row in rows:
        learner.update(*row)
    return learner


def _learn_many(learner: Any, rows: list[Row], start: int = 0, stop: int | None = None) -> None:
    """Learn by columns, which are slices of arrays, so that empty ones keep their dtype."""
    columns = [np.array(column)[start:stop] for column in zip(*rows, strict=True)]
    learner.update_many(**dict(zip(_NAMES, columns, strict=False)))


def _held(value: Any, seen: set[int]) -> int:
    """The number of numbers and other objects that an object holds, directly or indirectly."""
    if id(value) in seen or isinstance(value, type | ModuleType):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray | str | bytes):
        return value.size if isinstance(value, np.ndarray) else len(value)
    if isinstance(value, dict):
        return sum(1 + _held(inner, seen) for inner in value.values())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return sum(1 + _held(inner, seen) for inner in value)
    return _held(vars(value), seen) if hasattr(value, "__dict__") else 0
