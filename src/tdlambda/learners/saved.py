"""Objects that can be copied, pickled and written to files: parameters, and arrays of state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from tdlambda.arrays import Array
from tdlambda.learners.guard import Guard
from tdlambda.parameters import Parametrised

if TYPE_CHECKING:
    from pathlib import Path

SAVED: dict[str, dict[str, type[Saved]]] = {"learner": {}, "agent": {}, "curve": {}}
"""The classes that can be loaded from a file, by role and name."""

_Saved = TypeVar("_Saved", bound="Saved")


class Saved(Parametrised, ABC):
    """An object that is rebuilt from its constructor's arguments and the arrays of its state."""

    role: ClassVar[str]
    """Key of its class in `SAVED`, and of its name in a file."""
    _guard: Guard

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """Arrays that hold everything learned."""

    @abstractmethod
    def _restore(self, state: dict[str, Array]) -> None:
        """Restore the arrays of `_state`; raise if they do not fit."""

    def _params_in_files(self) -> dict[str, Any]:
        """The constructor's arguments as a file keeps them."""
        return self.get_params()

    @classmethod
    @abstractmethod
    def _least_bytes(cls, params: dict[str, Any]) -> int:
        """A lower bound on the size of the state of an object with these arguments."""

    def clone(self) -> Self:
        """An independent copy, in the same state."""
        with self._guard.quiet:
            return in_state(type(self), self.get_params(), self._state())

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy by the same state as `clone`, without the machine code."""
        with self._guard.quiet:
            state = {name: array.copy() for name, array in self._state().items()}
            return in_state, (type(self), self.get_params(), state)

    def save(self, path: str | Path) -> None:
        """Write to a file for `td.load`, without pickle; the file is replaced atomically."""
        from tdlambda.learners.storage import save

        with self._guard.quiet:
            save(self, path)


def in_state(kind: type[_Saved], params: dict[str, Any], state: dict[str, Array]) -> _Saved:
    """An object of this class with these arguments, in a copy of this state."""
    found = kind(**params)
    found._restore({name: array.copy() for name, array in state.items()})
    return found
