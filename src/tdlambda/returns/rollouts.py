"""`td.check_rollout`: what a rollout records at the ends of episodes, in scripted environments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from tdlambda.arrays import Floats, choice, integer
from tdlambda.returns.kinds import to_numpy

Array = NDArray[Any]
KINDS = ("next-step", "same-step", "single")
NAMES = ("reward", "value", "value_next", "terminated", "truncated")
SCRIPT = ((4, "truncated"), (2, "terminated"), (3, "truncated"), (3, "terminated"))
"""Lengths of the episodes, and how they end; environment n starts with episode n, and the script repeats."""


def check_rollout(
    rollout: Callable[[Any, Callable[[Any], Any], int], Mapping[str, Any]],
    *,
    autoreset: str | Collection[str] = ("next-step", "same-step"),
    environments: int = 3,
    steps: int = 14,
) -> None:
    """Check what your own rollout records where episodes end; raise AssertionError that names the mistake.

    The environments are scripted: episodes of two to four steps terminate or are truncated, and every observation has a
    value of its own.

    Parameters
    ----------
    rollout
        Called with environments, a function `value` from a batch of observations to their values, and the number of
        steps. It resets the environments, steps through them with any actions (0 or 1), and returns a mapping with
        arrays [T, N] "reward", "value", "value_next", "terminated", "truncated", where `value_next[t]` is V(s_{t+1})
        before any reset. With next-step autoreset, a step of the environments that only resets one of them is no
        transition: a further array "valid" is False there.
    autoreset
        Kinds of environments to check: "next-step" and "same-step" are Gymnasium's vector environments with that
        autoreset; "single" is one plain environment, which `rollout` resets itself, with arrays [T].
    environments
        Number of environments, at least 1.
    steps
        Number of steps, at least 10, so that every kind of end occurs.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> def rollout(env, value, steps):
    ...     obs, rows = env.reset()[0], []
    ...     for _ in range(steps):
    ...         after, reward, terminated, truncated, _ = env.step(0)
    ...         rows.append((reward, value(obs), value(after), terminated, truncated))
    ...         obs = env.reset()[0] if terminated or truncated else after
    ...     return dict(zip(("reward", "value", "value_next", "terminated", "truncated"), np.array(rows).T))
    >>> td.check_rollout(rollout, autoreset="single")
    """
    kinds = (autoreset,) if isinstance(autoreset, str) else tuple(autoreset)
    for kind in kinds:
        choice(kind, "autoreset", *KINDS)
    n, T = integer(environments, "environments", 1), integer(steps, "steps", 10)
    if not callable(rollout):
        raise TypeError(f"rollout must be a function of environments, value and steps; got {rollout!r}")
    for kind in kinds:
        _check(rollout, kind, 1 if kind == "single" else n, T)


class Scripted(gymnasium.Env[Any, Any]):
    """Episodes of given lengths; an observation is the environment, the episode and the step."""

    def __init__(self, number: int) -> None:
        self.observation_space = gymnasium.spaces.Box(0, np.inf, (3,), np.float64)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.number, self.episode, self.t, self.over = number, number - 1, 0, True

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats, dict[str, Any]]:  # noqa: ARG002
        """Start the next episode of the script."""
        super().reset(seed=seed)
        self.episode, self.t, self.over = self.episode + 1, 0, False
        return self._obs(), {}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        """Go on by one step, whatever the action."""
        if self.over:
            raise AssertionError("rollout must reset the environment after an episode has ended")
        self.t += 1
        length, how = SCRIPT[self.episode % len(SCRIPT)]
        self.over = self.t == length
        reward = 1.0 + self.t + 10 * self.episode
        return self._obs(), reward, self.over and how == "terminated", self.over and how == "truncated", {}

    def _obs(self) -> Floats:
        return np.array([self.number, self.episode, self.t], dtype=np.float64)


def value(observations: Any) -> Any:
    """100 × the environment + 10 × the episode + the step; a number for one observation."""
    array = to_numpy(observations, "observations").astype(np.float64)
    out = array @ np.array([100.0, 10.0, 1.0])
    return float(out) if array.ndim == 1 else out


def _environments(kind: str, n: int) -> Any:
    if kind == "single":
        return Scripted(0)
    mode = AutoresetMode.NEXT_STEP if kind == "next-step" else AutoresetMode.SAME_STEP
    return SyncVectorEnv([lambda k=k: Scripted(k) for k in range(n)], autoreset_mode=mode)  # type: ignore[misc]


def _expected(kind: str, n: int, steps: int) -> dict[str, Array]:
    """What a right rollout records; also the value of the next row's observation, "after"."""
    columns: dict[str, list[Any]] = {name: [] for name in (*NAMES, "valid", "after")}
    for k in range(n):
        env = Scripted(k)
        rows: list[tuple[Any, ...]] = []
        obs, resets = env.reset()[0], False
        for _ in range(steps):
            if resets:  # a step of the vector environment that resets this one
                rows.append((0.0, value(obs), 0.0, False, False, False))
                obs, resets = env.reset()[0], False
                rows[-1] = (*rows[-1][:2], value(obs), *rows[-1][3:], value(obs))
                continue
            after, reward, ended, truncates, _ = env.step(0)
            end, seen = ended or truncates, after
            resets = end and kind == "next-step"
            if end and not resets:
                seen = env.reset()[0]
            rows.append((reward, value(obs), value(after), ended, truncates, True, value(seen)))
            obs = seen
        for name, column in zip(columns, zip(*rows, strict=True), strict=True):
            columns[name].append(column)
    return {name: np.array(column).T for name, column in columns.items()}


def _check(rollout: Any, kind: str, n: int, steps: int) -> None:
    env = _environments(kind, n)
    got = rollout(env, value, steps)
    env.close()
    true = _expected(kind, n, steps)
    if not isinstance(got, Mapping) or any(name not in got for name in NAMES):
        raise AssertionError(f"rollout must return a mapping with {', '.join(NAMES)}; got {_described(got)}")
    mine = {}
    for name in (*NAMES, *(["valid"] if "valid" in got else [])):
        array = to_numpy(got[name], name)
        shape = (steps,) if kind == "single" else (steps, n)
        if array.shape != shape:
            swapped = " (time comes first)" if array.shape == shape[::-1] else ""
            raise AssertionError(f"{kind}: {name} must have shape {shape}{swapped}; got {array.shape}")
        mine[name] = array.reshape(steps, n)
    if sentence := _mistake(mine, true):
        raise AssertionError(f"{kind}: {sentence}")


def _described(got: Any) -> str:
    return f"a mapping with {', '.join(map(str, got))}" if isinstance(got, Mapping) else type(got).__name__


def _mistake(mine: dict[str, Array], true: dict[str, Array]) -> str:
    """The first mistake and three steps around it; nothing if there is none."""
    valid = true["valid"].astype(bool)
    kept = mine["valid"].astype(bool) if "valid" in mine else np.ones_like(valid)
    if (kept & ~valid).any():
        t, n = np.argwhere(kept & ~valid)[0].tolist()
        return _explained(
            "a step that only resets is kept as a transition: return valid, False there", "valid", kept, t, n, true
        )
    if (~kept & valid).any():
        t, n = np.argwhere(~kept & valid)[0].tolist()
        return _explained("a transition is left out", "valid", kept, t, n, true)
    for name in ("terminated", "truncated", "reward", "value", "value_next"):
        ignored = true["terminated"].astype(bool) if name == "value_next" else np.False_
        wrong = valid & ~ignored & ~np.isclose(mine[name].astype(float), true[name].astype(float))
        if wrong.any():
            t, n = np.argwhere(wrong)[0].tolist()
            said = _cause(name, mine, true, wrong)
            return _explained(said, name, mine[name], t, n, true)
    return ""


def _cause(name: str, mine: dict[str, Array], true: dict[str, Array], wrong: Array) -> str:
    """Why an array is wrong: another quantity is recorded, or the same one of another step."""
    here = mine[name].astype(float)
    ends = true["terminated"].astype(bool) | true["truncated"].astype(bool)

    def same(other: Array) -> bool:
        return bool(np.allclose(here[wrong], other.astype(float)[wrong]))

    if name == "terminated" and same(ends):
        return "truncation recorded as termination"
    if name == "truncated" and not here.any():
        return "truncation is not recorded"
    if name == "truncated" and same(ends):
        return "termination recorded as truncation"
    if name == "value_next" and same(true["after"]):
        return "value_next taken after the reset"
    if name == "value" and same(true["after"]):
        return "value taken after the step: it is that of the next observation"
    for by, word in ((1, "late"), (-1, "early")):
        moved = np.roll(true[name].astype(float), by, axis=0)
        inside = wrong.copy()
        inside[0 if by > 0 else -1] = False
        if inside.any() and np.allclose(here[inside], moved[inside]):
            return f"{name} recorded one step {word}"
    return f"{name} is wrong"


def _explained(said: str, name: str, mine: Array, t: int, n: int, true: dict[str, Array]) -> str:
    """The sentence, and three steps around a mistake, as they should be recorded."""
    first = int(np.clip(t - 1, 0, max(0, len(mine) - 3)))
    names = [*NAMES, "valid"] if not true["valid"].all() else [*NAMES]
    lines = [said, "", f"three steps of environment {n}, as they should be:"]
    lines.append(f"  {'t':>3}" + "".join(f"{one:>12}" for one in names) + f"   your {name}")
    for at in range(first, min(first + 3, len(mine))):
        cells = "".join(f"{_cell(true[one][at, n]):>12}" for one in names)
        mark = "   ←" if at == t else ""
        lines.append(f"  {at:>3}{cells}   {_cell(mine[at, n])}{mark}")
    return "\n".join(lines)


def _cell(x: Any) -> str:
    return str(bool(x)) if isinstance(x, bool | np.bool_) else f"{float(x):g}"
