"""Arrays of other libraries: to NumPy and back, without importing PyTorch, JAX or any other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import rows

Array = NDArray[Any]


def to_numpy(given: Any, name: str) -> Array:
    """Numbers or flags as a NumPy array, without a copy where possible; text raises TypeError."""
    if hasattr(given, "detach") and hasattr(given, "new_empty"):  # PyTorch; `numpy` refuses gradients and bfloat16
        given = given.detach().cpu()
        given = (given.float() if "bfloat16" in str(given.dtype) else given).numpy()
    try:
        array = rows(given, name)
    except TypeError as error:  # such as arrays that are in the memory of a GPU
        raise TypeError(f"{name} must be an array that NumPy can read: {error}") from None
    if array.dtype.kind not in "fiub" and array.size and array.dtype.name != "bfloat16":
        raise TypeError(f"{name} must be numbers; got {array.dtype} of shape {array.shape}")
    return array


def template(*given: Any) -> Any:
    """The first argument that belongs to another library, or None; results are returned in its kind."""
    some = [one for outer in given for one in (outer if isinstance(outer, list | tuple) else [outer])]
    for one in some:
        if hasattr(one, "new_empty") or (hasattr(one, "__array_namespace__") and not _is_numpy(one)):
            return one
    return None


def same_kind(array: Array, like: Any) -> Any:
    """A NumPy array as an array of the same library, device and floating type as `like`."""
    if like is None:
        return array
    if hasattr(like, "new_empty"):
        floating = like if like.is_floating_point() else like.float()
        return floating.detach().new_tensor(array)
    namespace = like.__array_namespace__()
    floating = namespace.isdtype(like.dtype, "real floating")
    return namespace.asarray(array, dtype=like.dtype) if floating else namespace.asarray(array)


def _is_numpy(given: Any) -> bool:
    return isinstance(given, np.ndarray | np.generic)
