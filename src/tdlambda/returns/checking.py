"""`td.check_returns`: a function of returns against the definition, with the name of the mistake."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, choice, integer
from tdlambda.returns.kinds import to_numpy
from tdlambda.returns.mistakes import MISTAKES, Case, Mistake, recursion
from tdlambda.showing import hint

NAMES = tuple(one.name for one in fields(Case))
NEEDED = ("reward", "value", "value_next", "terminated", "truncated")
VARY = ("gamma", "lam", "rho")
STEPS = 12
_CLOSE = 1e-4
"""Tolerance, relative and absolute: single precision passes."""
_NUMBERS: dict[str, Any] = {
    "reward": (1, 2, 3),
    "value": (10, 20, 30),
    "gamma": (0.5, 0.25, 0.75),
    "lam": (0.5, 0.75, 0.25),
}
_RHO, _LAST = (2.0, 0.5, 1.5), 40.0
_CUT = 24.0
"""In the examples by hand: ratios, the value after the last step, and that of the last observation of an episode that
ends in the middle."""


def check_returns(
    function: Callable[..., Any],
    *,
    gives: str = "advantage",
    per_step: Collection[str] = VARY,
    environments: int | None = 3,
    convert: Callable[[Any], Any] | None = None,
    seed: int = 0,
) -> None:
    """Check your own GAE, λ-returns or other returns; raise AssertionError that names the mistake, with an example.

    The function gets scripted arrays [T, N]: γ, λ and ρ differ at every step; episodes terminate, are truncated in the
    middle and at the end, or go on when the batch ends, in several environments. Its result is compared with the
    definition, and if it differs, with common mistakes.

    Parameters
    ----------
    function
        It is called with those of the names reward, value, value_next, gamma, lam, rho, terminated, truncated that it
        has, and `value_next[t]` is V(s_{t+1}) before any reset. Wrap yours: `lambda reward, value, …: my_gae(…)`. It
        returns the advantages or the targets, or a pair of both.
    gives
        What it returns if that is not a pair: "advantage" or "target". Off-policy, an advantage with or without the
        ratio ρ_t of its own step is right.
    per_step
        Which of "gamma", "lam" and "rho" the function takes per step; it gets one number for the others.
    environments
        Number of environments N, at least 1; None passes arrays [T].
    convert
        Function that is applied to every array first, such as `torch.as_tensor`.
    seed
        Seed of the arrays, at least 0.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.check_returns(td.returns.gae)
    >>> def my_gae(reward, value, value_next, gamma, lam, terminated, truncated):
    ...     out, later = reward * 0.0, 0.0
    ...     for t in reversed(range(len(reward))):
    ...         live = ~(terminated[t] | truncated[t])
    ...         later = reward[t] + gamma[t] * live * (value_next[t] + lam[t] * later) - value[t]
    ...         out[t] = later
    ...     return out
    >>> td.check_returns(my_gae)
    Traceback (most recent call last):
    AssertionError: truncation treated as termination
    ...
    """
    choice(gives, "gives", "advantage", "target")
    for name in per_step:
        choice(name, "per_step", *VARY)
    n = None if environments is None else integer(environments, "environments", 1)
    tested = _Tested(function, gives, frozenset(per_step), n, convert)
    cases = [_random(np.random.default_rng([integer(seed, "seed", 0), k]), n or 1, tested.per_step) for k in range(4)]
    found = [tested.run(case) for case in cases]
    truth = [recursion(case) for case in cases]
    if all(tested.right(one, true, case) for one, true, case in zip(found, truth, cases, strict=True)):
        return
    raise AssertionError(f"{_named(tested, found, cases)}\n{_by_hand(tested)}")


def _close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE))


class _Tested:
    """The function, and how to call it."""

    def __init__(
        self, function: Any, gives: str, per_step: frozenset[str], environments: int | None, convert: Any
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be a function of reward, value, value_next, …; got {function!r}")
        self.function, self.gives, self.environments, self.convert = function, gives, environments, convert
        parameters = inspect.signature(function).parameters
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self.names = [name for name in NAMES if anything or name in parameters]
        for name, p in parameters.items():
            if name in ("done", "dones"):
                raise TypeError(
                    f"{name}: a single flag cannot tell a truncation, where the return goes on with value_next, from a "
                    "termination; take terminated and truncated"
                )
            unknown = name not in NAMES and p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            if unknown:
                raise TypeError(
                    f"function has an argument {name}, which is unknown{hint(name, NAMES, 'choose from {}')}"
                )
        if missing := [name for name in NEEDED if name not in self.names]:
            raise TypeError(f"function must take {', '.join(missing)}: returns depend on it")
        self.per_step = per_step & {*self.names}

    def run(self, case: Case) -> tuple[Floats | None, Floats | None]:
        """Its advantages and targets; None for what it does not return."""
        given = {}
        for name in self.names:
            array = getattr(case, name)
            if name in VARY and name not in self.per_step:
                given[name] = float(array[0, 0])
                continue
            array = array[:, 0] if self.environments is None else array
            given[name] = array.copy() if self.convert is None else self.convert(array.copy())
        try:
            out = self.function(**given)
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            vary = "; if it takes only one number for gamma and lam, pass per_step=()" if self.per_step else ""
            raise AssertionError(f"it failed with {type(error).__name__}: {error}{vary}") from error
        pair = (out[0], out[1]) if isinstance(out, tuple) and len(out) == 2 else None
        both = pair or ((out, None) if self.gives == "advantage" else (None, out))
        return tuple(None if x is None else self._array(x, case) for x in both)  # type: ignore[return-value]

    def _array(self, out: Any, case: Case) -> Floats:
        array = to_numpy(out, "the result").astype(np.float64)
        shape = case.reward.shape if self.environments else case.reward.shape[:1]
        if array.shape != shape:
            raise AssertionError(f"the result must have shape {shape}, as reward has; got {array.shape}")
        return array.reshape(case.reward.shape)

    def right(self, found: Any, truth: tuple[Floats, Floats], case: Case) -> bool:
        """Whether advantages are G - V or T - V, and targets T."""
        advantage, target = found
        D, K = truth
        fits = advantage is None or _close(advantage, D) or _close(advantage, K)
        return bool(fits and (target is None or _close(target, case.value + K)))


def _random(rng: np.random.Generator, n: int, per_step: frozenset[str]) -> Case:
    """Arrays in which everything differs; episodes end in the middle in both ways, and at the end in both and none."""
    shape = (STEPS, n)
    kind = rng.choice(3, size=shape, p=(0.7, 0.15, 0.15))
    kind[3 + np.arange(n) % 2, np.arange(n)] = 1
    kind[7 + np.arange(n) % 2, np.arange(n)] = 2
    kind[[4, 8], 0] = 0  # the first environment ends at steps 3 and 7 at least
    kind[-1] = (np.arange(n) + rng.integers(3)) % 3
    ended, truncates = kind == 1, kind == 2
    value, value_next = rng.normal(size=shape), rng.normal(size=shape)
    inside = kind[:-1] == 0
    value_next[:-1][inside] = value[1:][inside]
    vary = {name: rng.uniform(0.5, 0.95, size=shape) for name in ("gamma", "lam")} | {"rho": rng.uniform(0.3, 2, shape)}
    for name in VARY:
        if name not in per_step:
            vary[name] = np.full(shape, 1.0 if name == "rho" else vary[name][0, 0])
    return Case(rng.normal(size=shape), value, value_next, **vary, terminated=ended, truncated=truncates)


def _named(tested: _Tested, found: list[Any], cases: list[Case]) -> str:
    """The mistake that explains the results, or where they differ."""

    def explains(mistake: Mistake) -> bool:
        return all(tested.right(one, mistake(case), case) for one, case in zip(found, cases, strict=True))

    for sentence, mistake in MISTAKES.items():
        if explains(mistake):
            return sentence
    for (first, one), (second, other) in combinations(MISTAKES.items(), 2):
        if explains(one.and_also(other)):
            return f"two mistakes: {first}; and {second}"
    truth = [recursion(case) for case in cases]
    if found[0][0] is not None:
        right = [case.value + K for case, (_, K) in zip(cases, truth, strict=True)]
        if all(_close(one[0], T) for one, T in zip(found, right, strict=True)):
            return 'targets instead of advantages: subtract value, or pass gives="target"'
        if all(
            np.corrcoef(one[0].ravel(), D.ravel())[0, 1] > 1 - 1e-6 for one, (D, _) in zip(found, truth, strict=True)
        ):
            return "advantages shifted or scaled: normalise them afterwards, not in the function"
    if found[0][1] is not None and all(_close(one[1], K) for one, (_, K) in zip(found, truth, strict=True)):
        return "targets without the value: add value"
    for one, case, (D, K) in zip(found, cases, truth, strict=True):
        mine, true = (one[0], D) if one[0] is not None else (one[1], case.value + K)
        wrong = np.argwhere(~np.isclose(mine, true, rtol=_CLOSE, atol=_CLOSE))
        if len(wrong):
            t, n = wrong[-1].tolist()
            what = "terminates" if case.terminated[t, n] else "is truncated" if case.truncated[t, n] else "goes on"
            where = f"last at step {t} of {STEPS}, environment {n}, where the episode {what}"
            return f"it differs from the definition; {where}"
    return "it differs from the definition"


# ---- three steps by hand -------------------------------------------------------------------------------------------


def _three(kind: str, tested: _Tested) -> Case:
    """Three steps of one environment (repeated in all); the middle or the last one may end an episode."""
    n = tested.environments or 1
    where, _, how = kind.partition(" ")
    after = [20.0, _CUT if where == "middle" and how else 30.0, _LAST]
    flags = {name: np.zeros((3, n), dtype=bool) for name in ("terminated", "truncated")}
    if how:
        flags[how][1 if where == "middle" else 2] = True
    three = _NUMBERS | {"rho": _RHO, "value_next": after}
    numbers = {name: np.repeat(np.array(x, dtype=float)[:, None], n, axis=1) for name, x in three.items()}
    for name in VARY:
        if name not in tested.per_step:
            numbers[name][:] = 1.0 if name == "rho" else numbers[name][0, 0]
    return Case(**numbers, **flags)


def _by_hand(tested: _Tested) -> str:
    """The first example of three steps in which the function is wrong, computed by hand."""
    for kind in ("plain", "middle truncated", "middle terminated", "last truncated", "last terminated"):
        case = _three(kind, tested)
        found, truth = tested.run(case), recursion(case)
        if not tested.right(found, truth, case):
            return _written(case, found, truth)
    return "no example of three steps shows it"


def _written(case: Case, found: Any, truth: tuple[Floats, Floats]) -> str:
    off_policy = bool((case.rho != 1).any())
    names = [name for name in NAMES[:6] if name != "rho" or off_policy]
    lines = ["", "three steps by hand:", f"  {'t':>2}" + "".join(f"{name:>12}" for name in names) + "  ends"]
    for t in range(3):
        ends = "terminated" if case.terminated[t, 0] else "truncated" if case.truncated[t, 0] else ""
        lines.append(f"  {t:>2}" + "".join(f"{getattr(case, name)[t, 0]:12g}" for name in names) + f"  {ends}")
    D, K = truth
    for t in (2, 1, 0):
        r, v, w, g, lam, rho = (float(getattr(case, name)[t, 0]) for name in NAMES[:6])
        ended, stop = case.terminated[t, 0], case.terminated[t, 0] or case.truncated[t, 0] or t == 2
        rest = "" if ended else f" + {g:g}·{w:g}" if stop else f" + {g:g}·({w:g} + {lam:g}·{K[t + 1, 0]:.6g})"
        lines.append(f"  advantage[{t}] = {r:g}{rest} - {v:g} = {D[t, 0]:.6g}")
        if off_policy:
            lines[-1] += f";  times ρ = {rho:g} is {K[t, 0]:.6g}"
    mine, word = (found[0], "advantages") if found[0] is not None else (found[1], "targets")
    true = D if found[0] is not None else case.value + K
    by_hand, yours = (", ".join(f"{one:.6g}" for one in x[:, 0]) for x in (true, mine))
    return "\n".join([*lines, f"  {word} by hand: {by_hand}", f"  yours:{'':{len(word) + 4}}{yours}"])
