"""Named tuples of arrays by their address, so that entering compiled code does not depend on how many they are.

By value, each array of a tuple costs 60 ns when Python passes it, and seven or more arguments in the machine code of
every function that gets the tuple. A table is one pointer, to the address and the shape of each array. Compiled code
uses it as the tuple, `m.family.array[i]`, and loads what it needs.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, datamodel, imputils, types
from numba.core.typing import templates

from tdlambda.compiled import IS_COMPILED, numba

extending, lower_attributes = numba.extending, imputils.lower_getattr_generic
WORD: Any = ir.IntType(64)
"""The type of an address or a length."""


class TableAddress(int):
    """The address of the descriptors of all arrays of a named tuple, which it keeps alive."""

    form: TableForm
    arrays: Any
    descriptors: Any


def table(arrays: Any) -> Any:
    """A named tuple of C-contiguous arrays, of such tuples, and of (), as compiled code gets it."""
    if not IS_COMPILED:
        return arrays
    words: list[int] = []
    form = _described(arrays, words)
    descriptors = np.array(words, dtype=np.int64)
    found = TableAddress(descriptors.ctypes.data)
    found.form, found.arrays, found.descriptors = form, arrays, descriptors
    return found


def _described(arrays: Any, words: list[int]) -> TableForm:
    """Append the address and shape of each array; return the type of a table of them."""
    fields, start = list[tuple[str, int, Any]](), len(words)
    for name, each in arrays._asdict().items():
        first = len(words) - start
        if isinstance(each, np.ndarray):
            if not each.flags.c_contiguous:
                raise ValueError(f"{name} must be contiguous")
            words += [each.ctypes.data, *each.shape]
            fields.append((name, first, _array_type(each.dtype, each.ndim)))
        elif each:
            fields.append((name, first, _described(each, words)))
    return _table_form(type(arrays).__name__, tuple(fields))


@cache
def _array_type(dtype: Any, dimensions: int) -> Any:
    """Numba's type; Numba is slow to recognise those of records."""
    return types.Array(numba.from_dtype(dtype), dimensions, "C")


class TableForm(types.Type):
    """The type of a table: name, first word and type of each array or inner table."""

    def __init__(self, title: str, fields: tuple[tuple[str, int, Any], ...]) -> None:
        self.fields = {name: (first, kind) for name, first, kind in fields}
        text = repr([(name, first, kind.key) for name, first, kind in fields])
        super().__init__(f"{title}_{hashlib.sha256(text.encode()).hexdigest()[:12]}")


_table_form = cache(TableForm)


@extending.register_model(TableForm)
class _Pointer(datamodel.models.PrimitiveModel):
    """A pointer to descriptors."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


def _type_of(value: Any, context: Any) -> Any:  # noqa: ARG001
    return value.form


def _unboxed(kind: Any, value: Any, c: Any) -> Any:  # noqa: ARG001
    return extending.NativeValue(c.builder.bitcast(c.pyapi.long_as_voidptr(value), WORD.as_pointer()))


@extending.infer_getattr
class _Attributes(templates.AttributeTemplate):
    """The types of the arrays."""

    key = TableForm

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        """The type of an array; None if there is none of this name."""
        return kind.fields[name][1] if name in kind.fields else None


def _attribute(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    """An array, or an inner table."""
    first, field = kind.fields[name]
    if isinstance(field, TableForm):
        return builder.gep(pointer, [WORD(first)])

    def loaded(i: int) -> Any:
        found = builder.load(builder.gep(pointer, [WORD(first + i)]))
        # No compiled code changes it, so loops need not load it again after each store.
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    element = context.get_data_type(field.dtype)
    size, shape = WORD(context.get_abi_sizeof(element)), [loaded(1 + i) for i in range(field.ndim)]
    items, strides = WORD(1), list[Any]()
    for length in reversed(shape):
        strides.insert(0, builder.mul(size, items))
        items = builder.mul(items, length)
    array = context.make_array(field)(context, builder)
    array.data, array.itemsize, array.nitems = builder.inttoptr(loaded(0), element.as_pointer()), size, items
    array.shape, array.strides = (cgutils.pack_array(builder, x, WORD) for x in (shape, strides))
    for name in ("meminfo", "parent"):
        setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
    return array._getvalue()


extending.typeof_impl.register(TableAddress)(_type_of)
extending.unbox(TableForm)(_unboxed)
lower_attributes(TableForm)(_attribute)
