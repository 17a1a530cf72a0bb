"""The three forms of steps, [T], [T, N] and lists of episodes, as one: columns [T, N], time first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, plain
from tdlambda.returns.kinds import same_kind, template, to_numpy

Array = NDArray[Any]
_WIDE = "an array [T] or [T, N] with time first, or a list of episodes"


@dataclass(frozen=True)
class Form:
    """How steps are laid out. A list of episodes becomes one column, in which each episode's end is a truncation."""

    shape: tuple[int, ...]
    lengths: tuple[int, ...] | None = None
    """Lengths of the episodes of a list."""

    @classmethod
    def of(cls, reward: Any) -> Form:
        """The form of the rewards, which all other arguments must have."""
        if _is_episodes(reward):
            lengths = tuple(to_numpy(one, "reward").size for one in reward)
            if 0 in lengths:
                raise ValueError(f"reward: episode {lengths.index(0)} of the list has no steps")
            return cls((sum(lengths),), lengths)
        shape = to_numpy(reward, "reward").shape
        if not shape or 0 in shape:
            raise ValueError(f"reward must be {_WIDE}, with at least one step; got shape {shape}")
        return cls(shape)

    @property
    def grid(self) -> tuple[int, int]:
        """T and N; other axes, such as agents, count as environments."""
        return self.shape[0], math.prod(self.shape[1:])

    def steps(self, given: Any, name: str, dtype: Any) -> Array:
        """One number for each step, [T, N], from an argument of this form, or from one number for all."""
        array = self._joined(given, name)
        if array.ndim and array.shape != self.shape:
            raise ValueError(self._mismatch(array, name))
        if dtype is np.bool_ and array.dtype != np.bool_:
            array = _as_flags(array, name)
        full = np.broadcast_to(array, self.shape) if array.ndim == 0 else array
        return plain(full, dtype).reshape(self.grid)

    def parameter(self, given: Any, name: str) -> float | Array:
        """One number for all steps, or [T or 1, N or 1]."""
        if isinstance(given, int | float) and not isinstance(given, bool):
            return float(given)
        array = self._joined(given, name)
        if array.dtype.kind == "b":
            raise TypeError(f"{name} must be numbers; got flags: pass terminated and truncated by name")
        if array.ndim == 0:
            return float(array)
        fits = array.ndim == len(self.shape) and all(a in (1, n) for a, n in zip(array.shape, self.shape, strict=True))
        if not fits:
            raise ValueError(self._mismatch(array, name, ", or one number"))
        if array.ndim == 1:
            return array.reshape(-1, 1)
        partly = array.shape[1:] not in (self.shape[1:], (1,) * (array.ndim - 1))
        array = np.broadcast_to(array, (array.shape[0], *self.shape[1:])) if partly else array
        return array.reshape(array.shape[0], -1)

    def ends(self, terminated: Any, truncated: Any, last_too: bool = True) -> tuple[Bools, Bools]:
        """Flags [T, N]; each episode of a list, and with `last_too` the batch, is truncated unless it terminates."""
        ended, truncates = self._flags(terminated, "terminated"), self._flags(truncated, "truncated")
        if not self.lengths and not last_too:
            return ended, truncates
        truncates, last = truncates.copy(), np.cumsum(self.lengths) - 1 if self.lengths else [self.shape[0] - 1]
        truncates[last] |= ~ended[last]
        return ended, truncates

    def result(self, array: Array, *like: Any) -> Any:
        """Steps [T, N] in the form and kind of the arguments `like`."""
        kind = template(*like)
        if self.lengths is None:
            return same_kind(array.reshape(self.shape), kind)
        return [same_kind(part, kind) for part in np.split(array.reshape(-1), np.cumsum(self.lengths)[:-1])]

    def _flags(self, given: Any, name: str) -> Bools:
        """Flags [T, N]; for a list of episodes, a flag for each stands for its last step."""
        if self.lengths and not _is_episodes(given) and not isinstance(given, str) and np.ndim(given) == 1:
            each = _as_flags(to_numpy(given, name), name)
            if each.size != len(self.lengths):
                raise ValueError(f"{name} must have a flag for each of {len(self.lengths)} episodes; got {each.size}")
            flags = np.zeros(self.grid, dtype=bool)
            flags[np.cumsum(self.lengths) - 1, 0] = each
            return flags
        return self.steps(given, name, np.bool_)

    def _joined(self, given: Any, name: str) -> Array:
        """The argument as an array; episodes are joined."""
        if not self.lengths or (not isinstance(given, list | tuple) and np.ndim(given) == 0):
            return to_numpy(given, name)
        if not _is_episodes(given) or len(given) != len(self.lengths):
            said = f"{len(given)} of them" if isinstance(given, list | tuple) else f"shape {np.shape(given)}"
            raise ValueError(
                f"{name} must be a list of {len(self.lengths)} episodes, as reward is, or one number; got {said}"
            )
        parts = [to_numpy(one, name).reshape(-1) for one in given]
        for k, (part, n) in enumerate(zip(parts, self.lengths, strict=True)):
            if part.size != n:
                raise ValueError(f"{name}: episode {k} must have {n} steps, as in reward; got {part.size}")
        return np.concatenate(parts)

    def _mismatch(self, array: Array, name: str, more: str = "") -> str:
        said = f"{name} must have shape {self.shape}, as reward has{more}; got {array.shape}"
        if array.ndim == 2 and array.shape == self.shape[::-1]:
            return f"{said}: the axes are swapped; time comes first"
        if array.ndim == 1 and len(self.shape) == 2:
            T, N = self.shape
            same = f" T and N are both {T}, so it could mean either;" if array.size == T == N else ""
            return f"{said}.{same} write {name}[:, None] for one number a step, {name}[None, :] for one an environment"
        if array.shape == (*self.shape, 1):
            return f"{said}: drop the last axis, {name}[..., 0]"
        if array.ndim == 1 and array.size == self.shape[0] + 1 and name == "value":
            return f"{said}: pass value[:-1], and as value_next V(s_(t+1)) before any reset"
        return said


def _is_episodes(given: Any) -> bool:
    return isinstance(given, list | tuple) and len(given) > 0 and np.ndim(given[0]) > 0


def _as_flags(array: Array, name: str) -> Bools:
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        raise ValueError(f"{name} must be True or False; got {array[wrong].flat[0]}")
    return array.astype(bool)


def check_order(value: Array, value_next: Array) -> None:
    """Raise ValueError if V(s_{t+1}) follows V(s_t) along the second axis, and nowhere along the first."""
    some = min(8, *(n - 1 for n in value.shape))  # a few rows tell
    if some < 1 or (value_next[:some] == value[1 : some + 1]).any():
        return
    if (value_next[:, :some] == value[:, 1 : some + 1]).mean() > 0.5:
        raise ValueError(
            "value_next[i, 0] is value[i, 1], so the second axis is time: pass arrays with time first, such as reward.T"
        )
