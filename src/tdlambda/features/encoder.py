"""The interface of encoders."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import integer
from tdlambda.compiled import compiled, kernel
from tdlambda.features.real import real_vector
from tdlambda.parameters import ByParameters
from tdlambda.showing import says_arguments

Indices: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class EncoderKernel:
    """The compiled form of an encoder of real vectors, with which compiled code encodes without calling Python.

    Attributes
    ----------
    encode
        A plain function `encode(obs, numbers, index, value)` that Numba can compile and that creates no array. It
        writes the encoding of `obs`, a vector of float64, into `index` (int64) and `value` (float64), both of
        length `active`, and returns 0. The encoding equals that of `Encoder.encode` to the last bit. For an invalid
        observation it returns 1 and leaves `index` and `value` unchanged; `Encoder.encode` then raises the error. It
        calls only module-level functions marked `inlined` and reads only module-level numbers, so that its source can
        be copied into other modules.
    numbers
        All constants of the encoder in one array of float64, which is never changed.
    dimensions
        Length of `obs`.
    binary
        Whether every value is 1 and no index occurs twice.
    """

    encode: Callable[[Values, Values, Indices, Values], int]
    numbers: Values
    dimensions: int
    binary: bool = False


class Encoder(ByParameters, ABC):
    """Base class of encoders: a feature map x(s), given as the indices and values of its active entries.

    The value estimate is linear in the features, v(s) = wᵀx(s) = Σⱼ values[j] · w[indices[j]]
    (Sutton & Barto 2018, eq. 9.8): equal indices add.

    The results of your own encoders are validated at each call, because compiled code uses the indices unchecked.

    Attributes
    ----------
    size
        Number of features: the length of x and of w.
    active
        Number of entries in an encoding. Shorter encodings are padded with index 0 and value 0.0.

    Examples
    --------
    >>> from tdlambda.features import Encoder, OneHot
    >>> encoder: Encoder = OneHot(3)
    >>> encoder.size, encoder.active
    (3, 1)
    >>> encoder.encode(2)
    (array([2]), array([1.]))
    >>> encoder.matrix([2, 0])
    array([[0., 0., 1.],
           [1., 0., 0.]])
    >>> type(encoder)(**encoder.get_params()) == encoder
    True
    """

    size: int
    active: int
    states: int | None = None
    """Number of observations, if they are the integers from 0; None if they are not, or if the number is unknown."""
    _kernel: EncoderKernel | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Validate the results of encoders defined outside this package."""
        super().__init_subclass__(**options)
        says_arguments(cls)
        if not cls.__module__.startswith("tdlambda.features."):
            for name in ("encode", "encode_batch"):
                owner = next(base for base in cls.__mro__ if name in vars(base))
                if owner is cls or not issubclass(owner, Encoder):
                    setattr(cls, name, _checked(vars(owner)[name], batch=name == "encode_batch"))
                    if "kernel" not in vars(cls):  # the inherited kernel encodes as the base class does
                        cls.kernel = cls.loop_kernel = property(lambda _: None)  # type: ignore[assignment,method-assign]

    @property
    def kernel(self) -> EncoderKernel | None:
        """The compiled form of `encode`; None if there is none, so that each observation needs a call of `encode`.

        A subclass with its own `encode` or `encode_batch` does not inherit it.
        """
        return self._kernel

    @property
    def loop_kernel(self) -> EncoderKernel | None:
        """The kernel for compiled loops, which do not count the collisions of hashed tiles."""
        return self.kernel

    @abstractmethod
    def encode(self, observation: Any) -> tuple[Indices, Values]:
        """The indices and the values of one observation's features, each of length `active`."""

    @abstractmethod
    def encode_batch(self, observations: Any) -> tuple[Indices, Values]:
        """The indices and the values of n observations, each of shape [n, active]."""

    @property
    def settled(self) -> bool:
        """Whether the encoding is fixed; if not, it depends on the observations learned from so far (`observe`)."""
        return True

    def observe(self, observation: Any) -> None:  # noqa: ARG002
        """Adapt to an observation that a learner has learned from; do nothing once the encoder is `settled`."""
        return

    def copy(self) -> "Encoder":
        """An independent copy of an encoder that adapts; an encoder that does not is its own copy."""
        return self

    def dense(self, observation: Any) -> Values:
        """The feature vector x(s), of length `size`."""
        indices, values = self.encode(observation)
        x = np.zeros(self.size)
        _add_at(indices.reshape(1, -1), values.reshape(1, -1), x.reshape(1, -1))
        return x

    def matrix(self, observations: Any) -> Values:
        """The feature matrix X, of shape [n, size], with one row x(s) per observation."""
        indices, values = self.encode_batch(observations)
        X = np.zeros((indices.shape[0], self.size))
        _add_at(indices, values, X)
        return X

    def __hash__(self) -> int:
        """A hash of the type and sizes, which are equal for equal encoders and cheap to read."""
        return hash((type(self), self.size, self.active))


def as_vector(observation: Any, dimensions: int) -> Values:
    """One observation in the form that compiled code needs: itself if it has that form, else a new vector."""
    if (
        type(observation) is np.ndarray
        and observation.dtype is _FLOAT64
        and observation.shape == (dimensions,)
        and observation.flags.carray
    ):
        return observation
    return real_vector(observation, dimensions)


def _checked(encode: Any, batch: bool) -> Callable[[Encoder, Any], tuple[Indices, Values]]:
    """The method, with validation of its results: arrays of the right shape that compiled code can use safely."""

    @wraps(encode)
    def checked(self: Encoder, observations: Any) -> tuple[Indices, Values]:
        found = encode.__get__(self, type(self))(observations)
        size, active = integer(self.size, "features: size", 1), integer(self.active, "features: active", 1)
        where = f"features: {type(self).__name__}.{encode.__name__}"
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"{where} must return (indices, values); got {found!r}")
        index, value = np.asarray(found[0]), np.asarray(found[1])
        shape = (len(observations), active) if batch else (active,)
        if index.shape != shape or value.shape != shape:
            raise ValueError(
                f"{where} must return indices and values of shape {shape}; got {index.shape} and {value.shape}"
            )
        if index.dtype.kind not in "iu" or value.dtype.kind not in "fiub":
            raise TypeError(f"{where} must return integers and numbers; got {index.dtype} and {value.dtype}")
        indices = np.ascontiguousarray(index, dtype=np.int64)
        values = np.ascontiguousarray(value, dtype=np.float64)
        row = first_misfit(indices.reshape(-1, active), values.reshape(-1, active), size)
        if row >= 0:
            raise ValueError(
                f"{where} must return indices from 0 to {size - 1}, and values with a finite |x|²; got "
                f"{index[row] if batch else index} and {value[row] if batch else value}"
            )
        return indices, values

    return checked


@kernel
def first_misfit(indices: Indices, values: Values, size: int) -> int:
    """The first row with an index out of range or a non-finite |x|²; -1 if there is none."""
    for row in range(indices.shape[0]):
        good, norm = True, 0.0
        for entry in range(indices.shape[1]):
            good &= (indices[row, entry] >= 0) & (indices[row, entry] < size)
            norm += values[row, entry] * values[row, entry]
        if not (good and norm < np.inf):
            return row
    return -1


@compiled
def _add_at(indices: Indices, values: Values, X: Values) -> None:
    for row in range(indices.shape[0]):
        for entry in range(indices.shape[1]):
            X[row, indices[row, entry]] += values[row, entry]
