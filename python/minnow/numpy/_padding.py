# SPDX-License-Identifier: Apache-2.0
"""Borders around arrays."""
from __future__ import annotations

import builtins
from typing import Any

from minnow._minnow import InvalidArgument, InvalidType, Var

from minnow.numpy import _open
from minnow.numpy._core import (is_open, ArrayLike, asarray, astype, axis_of, expand_to, float64, full_of, join, public, size_of, MOST)
from minnow.numpy._creation import arange, linspace
from minnow.numpy._shape import flip, squeeze


def _pad_pairs(value: Any, ndim: int) -> list[list[Any]]:
    x = asarray(value)
    if x.ndim == 0:
        return [[x.item()] * 2] * ndim
    rows = x.tolist()
    if x.ndim == 1:
        if x.size == 1:
            return [[rows[0]] * 2] * ndim
        if x.size == 2:
            return [rows] * ndim
        raise InvalidArgument(f"operands could not be broadcast together with remapped shapes [original->remapped]: ({x.size},) and requested shape ({ndim},2)")
    full = expand_to(x, (ndim, 2))
    return full.tolist()  # type: ignore[no-any-return]


@public
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **options: Any) -> Var:
    """Borders around an array. mode: constant (constant_values), edge, linear_ramp (end_values), maximum, mean, median, minimum
    (stat_length), reflect, symmetric (reflect_type even or odd), wrap, empty, or a function of (vector, widths, axis, options)."""
    from minnow.numpy import _reductions, _statistics
    x = asarray(array)
    if isinstance(pad_width, dict):
        widths = [[0, 0] for _ in range(x.ndim)]
        for axis, width in pad_width.items():
            widths[axis_of(axis, x.ndim)] = [width, width] if isinstance(width, int) else list(width)
    else:
        if asarray(pad_width).dtype.kind not in "iu":
            raise InvalidType("`pad_width` must be of integral type.")
        widths = _pad_pairs(pad_width, x.ndim)
    if builtins.any(width < 0 for pair in widths for width in pair):
        raise InvalidArgument("index can't contain negative values")
    if not is_open(x) and size_of([before + dim + after for dim, (before, after) in zip(x.shape, widths)]) > MOST:
        raise InvalidArgument(f"pad: widths {widths} around {x.shape} make more elements than an array may have")
    allowed = {"constant": {"constant_values"}, "edge": set(), "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"}, "median": {"stat_length"},
               "minimum": {"stat_length"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set(), "empty": set()}
    if mode not in allowed:
        raise InvalidArgument(f"mode '{mode}' is not supported")
    if set(options) - allowed[mode]:
        raise InvalidArgument(f"unsupported keyword arguments for mode '{mode}': {set(options) - allowed[mode]}")
    if is_open(x) and mode in ("constant", "edge", "reflect", "wrap") and options.get("reflect_type", "even") == "even":
        values = {value for pair in _pad_pairs(options.get("constant_values", 0), x.ndim) for value in pair}
        if len(values) == 1:
            return _open.pad(x, widths, mode, values.pop())
    for axis in range(x.ndim):
        before, after = (int(w) for w in widths[axis])
        n = x.shape[axis]
        key = (slice(None),) * axis

        def border(width: int, value: Var) -> Var:
            dims = list(x.shape)
            dims[axis] = width
            return expand_to(value, dims)

        if mode in ("constant", "empty"):
            low, high = _pad_pairs(options.get("constant_values", 0), x.ndim)[axis]
            x = join([border(before, asarray(low, x.dtype) if x.dtype.kind in "fcb" else astype(asarray(low), x.dtype)), x,
                      border(after, asarray(high, x.dtype) if x.dtype.kind in "fcb" else astype(asarray(high), x.dtype))], axis)
            continue
        if before == 0 and after == 0:
            continue
        if n == 0:
            raise InvalidArgument(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        first, end = x[key + (slice(0, 1),)], x[key + (slice(n - 1, n),)]
        if mode == "linear_ramp":
            from minnow.numpy import _elementwise as ew
            low, high = _pad_pairs(options.get("end_values", 0), x.ndim)[axis]
            parts = []
            for edge, target, width, left in ((first, low, before, True), (end, high, after, False)):
                ramp = linspace(full_of([dim for i, dim in enumerate(x.shape) if i != axis], target, x.dtype if x.dtype.kind in "fc" else float64),
                                squeeze(edge, axis), width, endpoint=False, axis=axis)
                if x.dtype.kind in "iu":
                    ramp = ew.floor(ramp)
                parts.append(astype(ramp if left else flip(ramp, axis), x.dtype))
            x = join([parts[0], x, parts[1]], axis)
            continue
        if mode in ("maximum", "minimum", "mean", "median"):
            lengths = options.get("stat_length")
            low, high = (n, n) if lengths is None else _pad_pairs(lengths, x.ndim)[axis]
            low, high = builtins.min(int(low), n), builtins.min(int(high), n)
            if (low == 0 or high == 0) and mode in ("maximum", "minimum"):
                raise InvalidArgument("stat_length of 0 yields no value for padding")
            function = {"maximum": _reductions.max, "minimum": _reductions.min, "mean": _reductions.mean, "median": _statistics.median}[mode]
            stats = []
            for piece in (x[key + (slice(0, low),)], x[key + (slice(n - high, n),)]):
                stat = function(piece, axis=axis, keepdims=True)
                if x.dtype.kind in "iu" and mode in ("mean", "median"):
                    from minnow.numpy import _elementwise as ew
                    stat = ew.rint(stat)
                stats.append(astype(stat, x.dtype))
            x = join([border(before, stats[0]), x, border(after, stats[1])], axis)
            continue
        if mode in ("reflect", "symmetric"):
            x = _mirrored(x, axis, before, after, mode == "symmetric", options.get("reflect_type", "even") == "odd")
            continue
        left, right = ([_border(x, axis, width, first, mode)] if width else [] for width, first in ((before, True), (after, False)))
        x = join([*left, x, *right], axis)
    return x


def _border(x: Var, axis: int, width: int, left: bool, mode: str) -> Var:
    """Return the padding before or after an axis in mode edge or wrap."""
    n = x.shape[axis]
    key = (slice(None),) * axis
    if mode == "edge":
        dims = list(x.shape)
        dims[axis] = width
        return expand_to(x[key + (slice(0, 1) if left else slice(n - 1, n),)], dims)
    if width <= n:
        return x[key + (slice(n - width, n) if left else slice(0, width),)]
    from minnow.numpy import _elementwise as ew
    from minnow.numpy._indexing import take
    return take(x, ew.remainder(arange(-width, 0) if left else arange(width), n), axis)


def _mirrored(x: Var, axis: int, before: int, after: int, symmetric: bool, odd: bool) -> Var:
    """Reflected, once or several times; `odd`: and turned about the edge's value."""
    from minnow.numpy import _elementwise as ew
    key = (slice(None),) * axis
    skip = 0 if symmetric else 1
    while before > 0 or after > 0:
        n = x.shape[axis]
        most = n - skip
        if most == 0:
            widths = [[0, 0] for _ in range(x.ndim)]
            widths[axis] = [before, after]
            return pad(x, widths, "edge")
        left, right = builtins.min(before, most), builtins.min(after, most)
        parts = [x]
        if left:
            mirror = flip(x[key + (slice(skip, skip + left),)], axis)
            parts.insert(0, ew.subtract(ew.multiply(2, x[key + (slice(0, 1),)]), mirror) if odd else mirror)
        if right:
            mirror = flip(x[key + (slice(n - skip - right, n - skip),)], axis)
            parts.append(ew.subtract(ew.multiply(2, x[key + (slice(n - 1, n),)]), mirror) if odd else mirror)
        x = join([astype(part, x.dtype) for part in parts], axis)
        before, after = before - left, after - right
    return x
