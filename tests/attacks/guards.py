"""Arrays that border on memory which nobody may touch: one step outside is a SIGSEGV, not a wrong number."""

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LIBC = ctypes.CDLL(None, use_errno=True)
_NO_ACCESS = 0  # PROT_NONE


def guarded(array: NDArray[Any], end: bool = True) -> NDArray[Any]:
    """A copy in C order whose last entry (or first, if not `end`) lies beside a page without access."""
    array = np.ascontiguousarray(array)
    if array.nbytes == 0:
        return array
    pages = -(-array.nbytes // mmap.PAGESIZE)
    region = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for page in (0, pages + 1):
        if _LIBC.mprotect(ctypes.c_void_p(begin + page * mmap.PAGESIZE), mmap.PAGESIZE, _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = mmap.PAGESIZE + (pages * mmap.PAGESIZE - array.nbytes if end else 0)
    copy = np.frombuffer(region, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy


def guard_state(learner: Any, end: bool = True) -> None:
    """Put the arrays that a learner's compiled code writes to beside such pages, where it takes them as they are."""
    learner._restore({name: guarded(array, end) for name, array in learner._state().items()})
