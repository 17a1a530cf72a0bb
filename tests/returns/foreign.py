"""Arrays with the few methods of PyTorch's or JAX's that we rely on, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class FakeTorch:
    """A tensor that lives elsewhere: it must be detached and moved before NumPy can read it."""

    def __init__(self, inner: NDArray[Any], ready: int = 0) -> None:
        self.inner, self.ready = np.asarray(inner), ready

    @property
    def dtype(self) -> str:
        return f"torch.{self.inner.dtype}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    @property
    def ndim(self) -> int:
        return self.inner.ndim

    def __len__(self) -> int:
        return len(self.inner)

    def detach(self) -> FakeTorch:
        return FakeTorch(self.inner, 1)

    def cpu(self) -> FakeTorch:
        assert self.ready == 1, "detach first"
        return FakeTorch(self.inner, 2)

    def numpy(self) -> NDArray[Any]:
        assert self.ready == 2, "detach and move first"
        return self.inner

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def is_floating_point(self) -> bool:
        return self.inner.dtype.kind == "f"

    def float(self) -> FakeTorch:
        return FakeTorch(self.inner.astype(np.float64))

    def new_empty(self, shape: tuple[int, ...]) -> FakeTorch:
        return FakeTorch(np.empty(shape, self.inner.dtype))

    def new_tensor(self, data: NDArray[Any]) -> FakeTorch:
        return FakeTorch(np.array(data, dtype=self.inner.dtype))


class _Namespace:
    """What `__array_namespace__` gives."""

    @staticmethod
    def asarray(data: Any, dtype: Any = None) -> FakeJax:
        return FakeJax(np.asarray(data, dtype=dtype))

    @staticmethod
    def isdtype(dtype: Any, kind: str) -> bool:
        assert kind == "real floating"
        return np.dtype(dtype).kind == "f"


class FakeJax:
    """An array of the array protocol."""

    def __init__(self, inner: NDArray[Any]) -> None:
        self.inner = np.asarray(inner)

    @property
    def dtype(self) -> Any:
        return self.inner.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    @property
    def ndim(self) -> int:
        return self.inner.ndim

    def __len__(self) -> int:
        return len(self.inner)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.inner if dtype is None else self.inner.astype(dtype)

    def __array_namespace__(self) -> type[_Namespace]:
        return _Namespace
