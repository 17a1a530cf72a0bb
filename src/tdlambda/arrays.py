"""Array types, and functions that validate and convert the user's input."""

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy import sparse

Array = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
CACHE_LINE = 64


def per_state(value: ArrayLike, n: int, name: str, low: float = -np.inf, high: float = np.inf) -> Floats:
    """One number for each of `n` states, from a single number or `n` of them; finite and within [low, high].

    >>> per_state(0.5, 3, "lam", 0, 1)
    array([0.5, 0.5, 0.5])
    """
    array = real(value, name)
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or have shape ({n},), one for each state; got {array.shape}")
    array = np.broadcast_to(array, (n,)).copy()
    bounds = "finite" if np.isinf(low) and np.isinf(high) else f"in [{low:g}, {high:g}]"
    bad = ~(np.isfinite(array) & (array >= low) & (array <= high))
    refuse(bad, lambda state: f"{name} of state {state} is {array[state]}; it must be {bounds}")
    return array


def refuse(bad: Bools, message: Callable[[int], str]) -> None:
    """Raise ValueError with the message for the first place, such as a row, at which `bad` is true."""
    if bad.any():
        raise ValueError(message(int(np.argmax(bad))))


def clipped(array: NDArray[Any], bound: float) -> NDArray[Any]:
    """A copy within ±bound; NaN becomes 0.

    >>> clipped(np.array([np.nan, -np.inf, 1e300]), 1e150)
    array([ 0.e+000, -1.e+150,  1.e+150])
    """
    return np.clip(np.nan_to_num(array, nan=0.0), -bound, bound)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def integer(value: object, name: str, low: int, high: int | None = None) -> int:
    """A Python int within [low, high], from any integer; bools are rejected.

    >>> integer(1e3, "steps", 1)
    Traceback (most recent call last):
    TypeError: steps must be an integer; got 1000.0: write 1_000
    """
    try:
        if isinstance(value, bool | np.bool_) or np.ma.is_masked(value):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]  # it raises TypeError
    except TypeError:
        exact = isinstance(value, float) and value.is_integer() and abs(value) < 1e18
        instead = f": write {int(value):_}" if exact else ""  # type: ignore[call-overload]  # a float
        raise TypeError(f"{name} must be an integer; got {value!r}{instead}") from None
    if number < low or (high is not None and number > high):
        bounds = f"at least {low:,}" if high is None else f"from {low:,} to {high:,}"
        raise ValueError(f"{name} must be {bounds}; got {number:,}")
    return number


def number(value: Any, name: str) -> float:
    """A float from one number; text, arrays and masked values raise TypeError.

    >>> number("0.5", "reward")
    Traceback (most recent call last):
    TypeError: reward must be a number; got '0.5'
    """
    text = isinstance(value, str | bytes | bytearray)
    array = isinstance(value, np.ndarray | np.generic) and (value.ndim > 0 or value.dtype.kind not in "fiubO")
    if text or array or np.ma.is_masked(value):
        raise TypeError(f"{name} must be a number; got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite; got a number too large for a float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {value!r}") from None


def positive(value: Any, name: str) -> float:
    """Validate a positive finite number; errors name the argument."""
    size = number(value, name)
    if not 0 < size < np.inf:
        raise ValueError(f"{name} must be positive and finite; got {value}")
    return size


def not_negative(value: Any, name: str) -> float:
    """Validate a finite number ≥ 0; errors name the argument."""
    size = number(value, name)
    if not 0 <= size < np.inf:
        raise ValueError(f"{name} must be finite and not negative; got {value}")
    return size


def fraction(value: Any, name: str, zero: bool = True) -> float:
    """Validate a number in [0, 1], or in (0, 1] without `zero`; errors name the argument."""
    size = number(value, name)
    if not 0 <= size <= 1 or (size == 0 and not zero):
        raise ValueError(f"{name} must be in {'[' if zero else '('}0, 1]; got {value}")
    return size


def confidence(level: Any) -> float:
    """Validate the `level` of an interval, in (0, 1)."""
    size = number(level, "level")
    if not 0 < size < 1:
        raise ValueError(f"level must be in (0, 1), such as 0.9; got {level}")
    return size


def finite(value: Any, name: str) -> float:
    """Validate a finite number; errors name the argument."""
    size = number(value, name)
    if not -np.inf < size < np.inf:
        raise ValueError(f"{name} must be finite; got {value}")
    return size


def choice(value: Any, name: str, *options: str) -> str:
    """Validate a value that must be one of several strings; the error lists them.

    >>> choice("all", "visit", "every", "first")
    Traceback (most recent call last):
    ValueError: visit must be "every" or "first"; got 'all'
    """
    if not isinstance(value, str) or value not in options:
        words = [f'"{option}"' for option in options]
        listed = " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
        raise ValueError(f"{name} must be {listed}; got {value!r}")
    return value


def flag(value: Any, name: str) -> bool:
    """A bool from True, False, 1 or 0; anything else, such as text, raises TypeError.

    >>> flag("False", "terminated")
    Traceback (most recent call last):
    TypeError: terminated must be True or False; got 'False'
    """
    scalar = np.ndim(value) == 0 and not isinstance(value, str | bytes) and not np.ma.is_masked(value)
    if not scalar or not (value == 0 or value == 1):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def unmasked(given: Any, name: str) -> Any:
    """The argument itself; ValueError if it is an array with masked values."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ValueError(f"{name}: masked values cannot be learned from; drop or fill them first")
    return given


def rows(given: Any, name: str) -> NDArray[Any]:
    """The argument as an array; ValueError if it is ragged or has masked values."""
    given = unmasked(given, name)
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def real(given: Any, name: str) -> Floats:
    """Numbers as a float64 array; text raises TypeError, even if it looks like a number."""
    array = rows(given, name)
    if array.dtype == object:
        array = np.array([number(value, name) for value in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "fiub" and array.size:
        raise TypeError(f"{name} must be numbers; got {array.dtype} of shape {array.shape}")
    return array.astype(np.float64, copy=False)


def column(given: Any, name: str, n: int | None = None) -> Floats:
    """A float64 column of `n` numbers, one for each row.

    >>> column([1, 2], "gamma", 3)
    Traceback (most recent call last):
    ValueError: gamma must have 3 rows, as many as reward; got shape (2,)
    """
    array = real(given, name)
    _require_rows(array, name, n)
    return plain(array, np.float64)


def flags(given: Any, name: str, n: int | None = None) -> Bools:
    """A bool column of `n` values True, False, 1 or 0, one for each row."""
    array = rows(given, name)
    if array.dtype.kind not in "fiub" and array.size:
        raise TypeError(f"{name} must be a column of True and False; got {array.dtype} of shape {array.shape}")
    _require_rows(array, name, n)
    if array.dtype != np.bool_:
        bad = (array != 0) & (array != 1)
        refuse(bad, lambda row: f"{name} must be True or False; got {array[row]} (row {row})")
    return plain(array, np.bool_)


def aligned(array: Array) -> Array:
    """A copy that begins at a cache line: passes over it take three quarters of the time."""
    room = np.zeros(array.nbytes + CACHE_LINE, np.uint8)
    begin = -room.ctypes.data % CACHE_LINE
    found: Array = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def plain(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """The array, or a copy, in the memory layout that compiled code expects."""
    return np.require(array, dtype, ["C", "W"])


def _require_rows(array: NDArray[Any], name: str, n: int | None) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, with one number for each row; got shape {array.shape}")
    if n is not None and array.size != n:
        raise ValueError(f"{name} must have {n} rows, as many as reward; got shape {array.shape}")
