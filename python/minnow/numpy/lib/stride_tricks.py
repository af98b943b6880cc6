# SPDX-License-Identifier: Apache-2.0
"""Windows over arrays. as_strided() is absent: its views reach wherever they are told to."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from minnow._minnow import InvalidArgument, Unsupported, Var

from minnow.numpy._core import ArrayLike, Axis, asarray, axis_of, index_of, native, row_strides


def sliding_window_view(x: ArrayLike, window_shape: Union[int, Sequence[int]], axis: Axis = None, *, subok: bool = False, writeable: bool = False) -> Var:
    """Return windows of window_shape at every position along the axes (None: all): the axes of x, each shorter by the window less one, then those of
    the window. The result is read-only and, unlike NumPy's, a copy."""
    if writeable:
        raise Unsupported("windows are for reading: they overlap; writeable=True is not there")
    array = asarray(x)
    sizes = [index_of(size) for size in (window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,))]
    if any(size < 0 for size in sizes):
        raise InvalidArgument("`window_shape` cannot contain negative values")
    given: Any = range(array.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of(one, array.ndim) for one in given]
    if len(sizes) != len(axes):
        raise InvalidArgument(f"Must provide matching length window_shape and axis; got {len(sizes)} window_shape elements and {len(axes)} axes elements.")
    dims, steps = list(array.shape), row_strides(array.shape)
    for size, one in zip(sizes, axes):
        if dims[one] < size:
            raise InvalidArgument("window shape cannot be larger than input array shape")
        dims[one] -= size - 1
    return native.strided(array, 0, dims + sizes, steps + [steps[one] for one in axes])  # type: ignore[no-any-return]
