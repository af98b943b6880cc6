# SPDX-License-Identifier: Apache-2.0
"""Order statistics, histograms, correlation, differences and interpolation."""
from __future__ import annotations

import builtins
import math
from typing import Any, Optional

from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var, op

from minnow.numpy import _elementwise as ew
from minnow.numpy import _creation, _indexing, _products, _reductions, _shape, _sorting
from minnow.numpy._core import (ArrayLike, Axis, DTypeLike, asarray, held, is_foreign, is_symbolic, astype, axes_of, axis_of, bool_, choose, complex128, deliver, dtype_of, expand_to, float32, is_open,
                                float64, full_of, int64, is_weak, join, native, permute, promote, public, reshape_to, result_type, size_of, zeros_of)

# ---- Quantiles


def _lined_up(x: Var, axis: Axis) -> tuple[Var, list[int], list[int]]:
    """The axes brought together as the last one; the other dimensions; the dimensions with 1 for those axes."""
    axes = axes_of(axis, x.ndim)
    rest = [i for i in range(x.ndim) if i not in axes]
    dims = [x.shape[i] for i in rest]
    lines = reshape_to(permute(x, rest + list(axes)), [*dims, size_of([x.shape[i] for i in axes])])
    return lines, dims, [1 if i in axes else dim for i, dim in enumerate(x.shape)]


def _middle(a: ArrayLike, axis: Axis, out: Any, keepdims: bool, without_nan: bool) -> Var:
    x = asarray(a)
    lines, dims, kept = _lined_up(x, axis)
    n = lines.shape[-1]
    wanted = x.dtype if x.dtype.kind in "fc" else float64
    if n == 0 or 0 in dims:
        result = full_of(dims, math.nan, wanted)
    else:
        if without_nan and x.dtype.kind in "fc":
            lines = _sorting.sort(lines)
            missing = ew.isnan(lines)
            counts = _reductions.sum(astype(~missing, int64), -1, keepdims=True)
            places = join([ew.maximum((counts - 1) // 2, 0), ew.minimum(counts // 2, n - 1)], lines.ndim - 1)
            result = _reductions.mean(_indexing.take_along_axis(lines, places, -1), -1)
        else:
            # NaN last.
            lines = _sorting.sort(lines) if is_symbolic(lines) else native.partition(lines, [(n - 1) // 2, n // 2, n - 1])
            result = _reductions.mean(lines[..., (n - 1) // 2: n // 2 + 1], -1)
            if x.dtype.kind in "fc":
                result = choose(ew.isnan(lines[..., -1]), full_of((), math.nan, wanted), result)
    return deliver(reshape_to(result, kept) if keepdims else result, out)


@public
def median(a: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Var:
    """Return the median along axes: the middle element, or the mean of the two middle ones; NaN if an element is NaN."""
    return _middle(a, axis, out, keepdims, False)


@public
def nanmedian(a: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Var:
    """Return the median of the elements that are not NaN."""
    return _middle(a, axis, out, keepdims, True)


# The places of quantiles as Hyndman and Fan (1996) number them: alpha and beta of q * (n + 1 - alpha - beta) + alpha - 1.
_CONTINUOUS = {"interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "linear": (1.0, 1.0),
               "median_unbiased": (1.0 / 3.0, 1.0 / 3.0), "normal_unbiased": (3.0 / 8.0, 3.0 / 8.0)}
_METHODS = (*_CONTINUOUS, "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower", "higher", "midpoint", "nearest")


def _virtual(n: Any, q: Var, method: str) -> Var:
    """Return the positions of quantiles q among n sorted elements; n is a number or an array that broadcasts with q."""
    if method in _CONTINUOUS and method != "linear":
        alpha, beta = _CONTINUOUS[method]
        return ew.subtract(ew.add(ew.multiply(n, q), ew.add(alpha, ew.multiply(q, 1 - alpha - beta))), 1)
    if method in ("inverted_cdf", "averaged_inverted_cdf"):
        return ew.subtract(ew.multiply(n, q), 1)
    if method == "closest_observation":
        return ew.subtract(ew.subtract(ew.multiply(n, q), 1), 0.5)
    place = ew.multiply(ew.subtract(n, 1), q)
    if method == "lower":
        return ew.floor(place)
    if method == "higher":
        return ew.ceil(place)
    if method == "midpoint":
        return ew.multiply(0.5, ew.add(ew.floor(place), ew.ceil(place)))
    return ew.rint(place) if method == "nearest" else place


def _where(condition: Var, a: float, b: float) -> Var:
    return choose(condition, full_of((), a, float64), full_of((), b, float64))


def _quantiles(a: ArrayLike, q: Var, scalar: bool, axis: Axis, out: Any, method: str, keepdims: bool, without_nan: bool) -> Var:
    x = asarray(a)
    if x.dtype.kind == "c":
        raise InvalidType("a must be an array of real numbers")
    if method not in _METHODS:
        raise InvalidArgument(f"{method!r} is not a valid method. Use one of: {', '.join(_METHODS)}")
    if q.size and not bool(_reductions.all((q >= 0) & (q <= 1))):
        raise InvalidArgument("Quantiles must be in the range [0, 1]")
    lines, dims, kept = _lined_up(x, axis)
    n = lines.shape[-1]
    weights = q.dtype if q.dtype.kind == "f" else float64
    discrete = method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
    wanted = x.dtype if discrete else result_type(promote(x.dtype, weights) if not (scalar and x.dtype.kind == "f") else x.dtype)
    flat = reshape_to(q, [q.size])
    if n == 0 or 0 in dims or q.size == 0:
        if n == 0 and not without_nan and q.size and 0 not in dims:
            raise InvalidIndex("index -1 is out of bounds for axis 0 with size 0")
        result = full_of([*dims, q.size], math.nan if wanted.kind == "f" else 0, wanted)
    else:
        lines = _sorting.sort(lines)
        missing = ew.isnan(lines) if x.dtype.kind == "f" else None
        counts: Any = n
        most: Any = n - 1
        if missing is not None and without_nan:
            counts = ew.maximum(_reductions.sum(astype(~missing, int64), -1, keepdims=True), 1)
            most = counts - 1
            counts = astype(counts, weights)
        place = _virtual(counts, flat, method)
        below = ew.floor(place)
        gamma = ew.subtract(place, below)
        if method in ("inverted_cdf", "averaged_inverted_cdf"):
            gamma = _where(ew.equal(gamma, 0), 0.5 if method == "averaged_inverted_cdf" else 0.0, 1.0)
        elif method == "closest_observation":  # rounds to an even number of elements
            gamma = _where(ew.equal(gamma, 0) & ew.equal(ew.remainder(below, 2), 1), 0.0, 1.0)
        elif method == "midpoint":
            gamma = _where(ew.equal(gamma, 0), 0.0, 0.5)
        shape = [*dims, q.size]

        def at(number: Var) -> Var:
            numbers = astype(ew.minimum(ew.maximum(astype(number, int64), 0), most), int64)
            return _indexing.take_along_axis(lines, expand_to(numbers, shape), -1)

        first = at(below)
        if method in ("lower", "higher", "nearest"):
            result = first
        else:
            second = at(ew.add(below, 1))
            if discrete:
                result = choose(ew.equal(gamma, 0), first, second)
            else:
                first, second, gamma = astype(first, wanted), astype(second, wanted), astype(gamma, wanted)
                away = ew.subtract(second, first)
                result = choose(ew.less(gamma, 0.5), ew.add(first, ew.multiply(away, gamma)), ew.subtract(second, ew.multiply(away, ew.subtract(1, gamma))))
                result = choose(ew.equal(first, second), first, result)
        result = astype(result, wanted)
        if missing is not None:
            gone = (_reductions.all(missing, -1, keepdims=True) if without_nan else missing[..., -1:])
            result = choose(expand_to(gone, shape), full_of((), math.nan, wanted), result)
    if scalar:
        result = reshape_to(result, kept if keepdims else dims)
    else:
        result = permute(result, [result.ndim - 1, *range(result.ndim - 1)])
        result = reshape_to(result, [*q.shape, *(kept if keepdims else dims)])
    return deliver(result, out)


def _share(a: ArrayLike, q: ArrayLike, hundred: bool) -> tuple[Var, Var, bool]:
    x = asarray(a)
    scalar = is_weak(q) or asarray(q).ndim == 0
    share = asarray(q, x.dtype) if is_weak(q) and x.dtype.kind == "f" else asarray(q)
    if share.dtype.kind not in "f":
        share = astype(share, float64)
    return x, ew.divide(share, full_of((), 100, x.dtype) if x.dtype.kind == "f" else 100) if hundred else share, scalar


@public
def quantile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Var:
    """The numbers below which shares q, in [0, 1], of the elements along axes lie. method: as in Hyndman and Fan 1996."""
    x, share, scalar = _share(a, q, False)
    return _quantiles(x, share, scalar, axis, out, method, keepdims, False)


@public
def percentile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Var:
    """quantile() of q / 100."""
    x, share, scalar = _share(a, q, True)
    return _quantiles(x, share, scalar, axis, out, method, keepdims, False)


@public
def nanquantile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Var:
    """Return quantiles of the elements that are not NaN."""
    x, share, scalar = _share(a, q, False)
    return _quantiles(x, share, scalar, axis, out, method, keepdims, True)


@public
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Axis = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Var:
    """Return percentiles of the elements that are not NaN."""
    x, share, scalar = _share(a, q, True)
    return _quantiles(x, share, scalar, axis, out, method, keepdims, True)


# ---- Histograms

def _bounds(x: Var, range: Any) -> tuple[Any, Any]:
    if range is not None:
        low, high = range
        if low > high:
            raise InvalidArgument("max must be larger than min in range parameter.")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InvalidArgument(f"supplied range of [{low}, {high}] is not finite")
    elif x.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = _reductions.min(x).item(), _reductions.max(x).item()
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InvalidArgument(f"autodetected range of [{low}, {high}] is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _bin_count(x: Var, name: str) -> int:
    """The number of bins by a rule of thumb."""
    n = x.size
    if n == 0:
        return 1
    spread = _reductions.ptp(astype(x, float64)).item()
    width = {"sqrt": lambda: spread / math.sqrt(n), "sturges": lambda: spread / (math.log2(n) + 1.0), "rice": lambda: spread / (2.0 * n ** (1.0 / 3)),
             "scott": lambda: (24.0 * math.pi ** 0.5 / n) ** (1.0 / 3.0) * _reductions.std(x).item(),
             "fd": lambda: 2.0 * (percentile(x, 75).item() - percentile(x, 25).item()) / n ** (1.0 / 3.0)}
    if name == "auto":
        fd, sturges = width["fd"](), width["sturges"]()
        step = min(fd, sturges) if fd else sturges
    elif name in width:
        step = width[name]()
    else:
        raise InvalidArgument(f"{name!r} is not a valid estimator for `bins`; there are auto, fd, rice, scott, sqrt, sturges")
    if x.dtype.kind in "iu" and step < 1:
        step = 1
    return int(math.ceil(spread / step)) if step else 1


def _edges(x: Var, bins: Any, range: Any, weights: Any) -> Var:
    if isinstance(bins, str):
        if weights is not None:
            raise InvalidType("Automated estimation of the number of bins is not supported for weighted data")
        low, high = _bounds(x, range)
        inside = x[(x >= low) & (x <= high)] if range is not None and x.size else x
        bins = _bin_count(inside, bins)
    edges = None if isinstance(bins, int) else asarray(bins)
    if edges is not None and edges.ndim == 1:
        if edges.size > 1 and not bool(_reductions.all(edges[1:] >= edges[:-1])):
            raise InvalidArgument("`bins` must increase monotonically, when an array")
        return edges
    if edges is not None and edges.ndim:
        raise InvalidArgument("`bins` must be 1d, when an array")
    count = int(bins)
    if count < 1:
        raise InvalidArgument("`bins` must be positive, when an integer")
    low, high = _bounds(x, range)
    dtype = x.dtype if x.dtype.kind == "f" else float64
    return _creation.linspace(low, high, count + 1, dtype=dtype)  # type: ignore[no-any-return]


@public
def histogram_bin_edges(a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike = None) -> Var:
    """The edges that histogram() would use."""
    return _edges(_shape.ravel(a), bins, range, weights)


@public
def histogram(a: ArrayLike, bins: Any = 10, range: Any = None, density: Optional[bool] = None, weights: ArrayLike = None) -> tuple[Var, Var]:
    """Return the number of elements (or the sum of weights) between neighbouring edges, the last edge included; and the edges."""
    x = _shape.ravel(a)
    if x.dtype.kind == "b":
        x = astype(x, dtype_of("uint8"))
    w = None
    if weights is not None:
        w = asarray(weights)
        if w.shape != asarray(a).shape:
            raise InvalidArgument("weights should have the same shape as a.")
        w = _shape.ravel(w)
    edges = _edges(x, bins, range, w)
    count = edges.size - 1
    at = ew.subtract(_sorting.searchsorted(edges, x, "right"), 1)
    at = choose(ew.equal(x, edges[-1]), full_of((), count - 1, int64), at)
    inside = (at >= 0) & (at < count) & ~ew.isnan(x)
    places = native.true_places(inside)
    kept = native.gather(at, places, 1, at.size, [places.size])
    if w is None:
        counts = native.bincount(kept, None, count)
    else:
        sums = native.bincount(kept, astype(native.gather(w, places, 1, w.size, [places.size]), float64), count)
        counts = astype(sums, int64 if w.dtype.kind in "biu" else w.dtype)
        if w.dtype.kind in "iub":
            counts = astype(counts, w.dtype)
    if density:
        widths = astype(edges[1:], float64) - astype(edges[:-1], float64)
        return ew.divide(ew.divide(counts, widths), _reductions.sum(counts)), edges
    return counts, edges


@public
def histogramdd(sample: ArrayLike, bins: Any = 10, range: Any = None, density: Optional[bool] = None, weights: ArrayLike = None) -> tuple[Var, tuple[Var, ...]]:
    """The histogram of points, rows of [N, D], in a grid: float64 counts [bins of each axis], and the edges of each axis."""
    if isinstance(sample, Var) or not isinstance(sample, (list, tuple)):
        points = asarray(sample)
        if points.ndim == 1:
            points = reshape_to(points, [points.size, 1])
    else:
        points = asarray(sample) if not isinstance(sample, tuple) else _shape.stack([asarray(c) for c in sample], 1)
    n, d = points.shape
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * d
    if len(each) != d:
        raise InvalidArgument("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = list(range) if range is not None else [None] * d
    if len(ranges) != d:
        raise InvalidArgument("range argument must have one entry per dimension")
    points = points if points.dtype.kind == "f" else astype(points, float64)
    edges, places = [], []
    inside = full_of([n], True, bool_)
    for i in builtins.range(d):
        column = points[:, i]
        edge = _edges(column, each[i], ranges[i], None)
        at = _sorting.searchsorted(edge, column, "right") - 1
        at = choose(ew.equal(column, edge[-1]), full_of((), edge.size - 2, int64), at)
        inside = inside & (at >= 0) & (at < edge.size - 1)
        edges.append(edge)
        places.append(at)
    dims = [edge.size - 1 for edge in edges]
    chosen = native.true_places(inside)
    numbers = native.flat_places([native.gather(at, chosen, 1, n, [chosen.size]) for at in places], dims, "raise") if d else zeros_of([0], int64)
    w = full_of([n], 1.0, float64) if weights is None else astype(asarray(weights), float64)
    counts = reshape_to(native.bincount(numbers, native.gather(w, chosen, 1, n, [chosen.size]), size_of(dims)), dims)
    if density:
        total = _reductions.sum(counts)
        for i, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            counts = ew.divide(counts, reshape_to(widths, [widths.size if k == i else 1 for k in builtins.range(d)]))
        counts = ew.divide(counts, total)
    return counts, tuple(edges)


@public
def histogram2d(x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Any = None, density: Optional[bool] = None, weights: ArrayLike = None) -> tuple[Var, Var, Var]:
    """histogramdd() of two vectors: counts, edges along x, edges along y."""
    a, b = asarray(x), asarray(y)
    if a.size != b.size:
        raise InvalidArgument("x and y must have the same length.")
    if not isinstance(bins, (int, str)) and len(bins) != 2:
        bins = [bins, bins]
    counts, edges = histogramdd((a, b), list(bins) if not isinstance(bins, (int, str)) else bins, range, density, weights)
    return counts, edges[0], edges[1]


# ---- Correlation

@public
def cov(m: ArrayLike, y: ArrayLike = None, rowvar: bool = True, bias: bool = False, ddof: Optional[int] = None, fweights: ArrayLike = None, aweights: ArrayLike = None, *,
        dtype: DTypeLike = None) -> Var:
    """The covariances of variables, which rows (or columns) are; fweights: how often each observation comes, aweights: their weights."""
    if ddof is not None and ddof != int(ddof):
        raise InvalidArgument("ddof must be integer")
    x = asarray(m)
    if x.ndim > 2:
        raise InvalidArgument("m has more than 2 dimensions")
    other = None if y is None else asarray(y)
    if other is not None and other.ndim > 2:
        raise InvalidArgument("y has more than 2 dimensions")
    wanted = dtype_of(dtype) if dtype is not None else result_type(x, float64) if other is None else result_type(x, other, float64)
    x = astype(_shape.atleast_2d(x), wanted)
    if not rowvar and asarray(m).ndim != 1:
        x = _shape.transpose(x)
    if x.shape[0] == 0:
        return zeros_of([0, 0], wanted)
    if other is not None:
        other = astype(_shape.atleast_2d(other), wanted)
        if not rowvar and other.shape[0] != 1:
            other = _shape.transpose(other)
        x = join([x, other], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w: Optional[Var] = None
    for given, name in ((fweights, "fweights"), (aweights, "aweights")):
        if given is None:
            continue
        one = asarray(given)
        if name == "fweights" and one.dtype.kind not in "biu":
            raise InvalidType("fweights must be integer")
        if one.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if one.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool(_reductions.any(one < 0)):
            raise InvalidArgument(f"{name} cannot be negative")
        w = astype(one, float64) if w is None else w * astype(one, float64)
    mean = average_(x, w)
    total = float(x.shape[1]) if w is None else _reductions.sum(w).item()
    if w is None or ddof == 0:
        divisor = total - ddof if w is None else total
    elif aweights is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * _reductions.sum(w * astype(asarray(aweights), float64)).item() / total
    x = ew.subtract(x, reshape_to(mean, [mean.size, 1]))
    right = x if w is None else ew.multiply(x, w)
    result = _products.dot(x, ew.conjugate(_shape.transpose(right)))
    result = ew.divide(result, max(divisor, 0.0))
    return _shape.squeeze(result)


def average_(x: Var, w: Optional[Var]) -> Var:
    return _reductions.mean(x, 1) if w is None else _reductions.average(x, 1, w)  # type: ignore[no-any-return]


@public
def corrcoef(x: ArrayLike, y: ArrayLike = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> Var:
    """The correlation coefficients of variables, as cov()."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ew.divide(c, c)
    deviation = ew.sqrt(ew.real(_creation.diagonal(c)))
    c = ew.divide(ew.divide(c, reshape_to(deviation, [deviation.size, 1])), reshape_to(deviation, [1, deviation.size]))
    if c.dtype.kind == "c":
        return native.make_complex(clip_(ew.real(c)), clip_(ew.imag(c)))  # type: ignore[no-any-return]
    return clip_(c)


def clip_(x: Var) -> Var:
    return ew.clip(x, -1, 1)


_BLOCK = 64  # sums of a convolution that are made together: columns of a product


def _full_convolution(a: Var, v: Var) -> Var:
    """Convolve in full, [n + m - 1]; a is the longer vector. Multiplies windows of a with the reversed v, some windows at a time. If all numbers are
    finite, each row is a window lengthened by _BLOCK, and the columns are the reversed v at each offset in a block: one product of matrices, few copies."""
    n, m = a.size, v.size
    length = n + m - 1
    if a.dtype.kind == "f" and (is_symbolic(a) or is_symbolic(v)):
        return reshape_to(op("Conv", (reshape_to(a, [1, 1, n]), reshape_to(_shape.flip(v), [1, 1, m])), {"pads": [m - 1, m - 1]}), [length])
    together = _BLOCK if m >= 16 and length >= 4 * _BLOCK and a.dtype in (float32, float64) and bool(_reductions.all(ew.isfinite(a))) else 1  # inf * 0 is nan
    rows, wide = -(-length // together), m + together - 1
    before, after = zeros_of([m - 1], a.dtype), zeros_of([m - 1 + rows * together - length], a.dtype)
    padded = join([before, a, after], 0) if m > 1 or together > 1 else a
    if together > 1:
        rest = zeros_of([together - 1], a.dtype)
        columns = native.strided(join([rest, v[::-1], rest], 0), together - 1, [wide, together], [1, -1])
    else:
        columns = reshape_to(v[::-1] if v.dtype.kind != "c" else native.strided(v, m - 1, [m], [-1]), [m, 1])
    most = max(1, (1 << 22) // wide)
    parts = [_products.matmul(native.strided(padded, at * together, [min(most, rows - at), wide], [together, 1]), columns) for at in range(0, rows, most)]
    full = reshape_to(join(parts, 0), [rows * together])
    return full if rows * together == length else full[:length]


def _mode(full: Var, n: int, m: int, mode: str) -> Var:
    if mode == "full":
        return full
    if mode == "same":
        start = m - 1 - (m >> 1)
        return full[start: start + n]
    if mode == "valid":
        return full[m - 1: n]
    raise InvalidArgument(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


def _vectors(a: ArrayLike, v: ArrayLike) -> tuple[Var, Var]:
    x, y = _shape.atleast_1d(a), _shape.atleast_1d(v)
    common = result_type(x, y)
    if x.ndim != 1 or y.ndim != 1:
        raise InvalidArgument("object too deep for desired array")
    return astype(x, common), astype(y, common)


@public
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Var:
    """The convolution of two vectors: full [n + m - 1], same [max(n, m)] or valid, where they overlap completely."""
    x, y = _vectors(a, v)
    if y.size > x.size:
        x, y = y, x
    if x.size == 0:
        raise InvalidArgument("a cannot be empty")
    if y.size == 0:
        raise InvalidArgument("v cannot be empty")
    return _mode(_full_convolution(x, y), x.size, y.size, mode)


@public
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Var:
    """The sums of a[n + k] * conj(v[n]) of two vectors, for each k."""
    x, y = _vectors(a, v)
    if x.size == 0 or y.size == 0:
        raise InvalidArgument("first array argument cannot be empty" if x.size == 0 else "second array argument cannot be empty")
    swapped = y.size > x.size
    conjugated = ew.conjugate(y) if y.dtype.kind == "c" else y
    x, y = (conjugated, x) if swapped else (x, conjugated)
    result = _mode(_full_convolution(x, _shape.flip(y)), x.size, y.size, mode)
    return _shape.flip(result) if swapped else result


# ---- Differences, sums and lines between points

@public
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = None, append: ArrayLike = None) -> Var:
    """The difference of each element from the one before along an axis, n times; of bool where they differ."""
    x = held(a)
    if n < 0:
        raise InvalidArgument(f"order must be non-negative but got {n}")
    if n == 0:
        return x
    if x.ndim == 0:
        raise InvalidArgument("diff requires input that is at least one dimensional")
    place = axis_of(axis, x.ndim)
    parts = [x]
    for given, at in ((prepend, 0), (append, len(parts) + 1)):
        if given is not None:
            one = asarray(given)
            if one.ndim == 0:
                one = expand_to(one, [1 if i == place else dim for i, dim in enumerate(x.shape)])
            parts.insert(at, one)
    if len(parts) > 1:
        x = _shape.concatenate(parts, place)
    key = (slice(None),) * place
    for _ in range(n if is_open(x) else builtins.min(n, x.shape[place])):  # nothing is left then
        high, low = x[key + (slice(1, None),)], x[key + (slice(None, -1),)]
        x = ew.not_equal(high, low) if x.dtype.kind == "b" else ew.subtract(high, low)
    return x


@public
def ediff1d(ary: ArrayLike, to_end: ArrayLike = None, to_begin: ArrayLike = None) -> Var:
    """The differences of all elements in order, with numbers before and behind."""
    x = _shape.ravel(held(ary))
    parts = [ew.subtract(x[1:], x[:-1])]
    for given, at in ((to_begin, 0), (to_end, 2)):
        if given is not None:
            parts.insert(at, astype(_shape.ravel(given), x.dtype))
    return join(parts, 0) if len(parts) > 1 else parts[0]


@public
def gradient(f: ArrayLike, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by central differences of second order, one-sided at the edges. varargs: distances, or coordinates, for all axes or each."""
    x = held(f)
    axes = list(axes_of(axis, x.ndim)) if axis is None or isinstance(axis, int) else [axis_of(a, x.ndim) for a in axis]
    if edge_order not in (1, 2):
        raise InvalidArgument("'edge_order' greater than 2 not supported")
    if not varargs:
        spacing: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and asarray(varargs[0]).ndim == 0:
        spacing = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        spacing = [held(given) if is_foreign(given) else given for given in varargs]
    else:
        raise InvalidType("invalid number of arguments")
    if x.dtype.kind not in "fc":
        x = astype(x, float64)
    results = []
    for place, given in zip(axes, spacing):
        n = x.shape[place]
        if n < edge_order + 1:
            raise InvalidArgument("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")

        def cut(start: Any, stop: Any) -> Var:
            return x[(slice(None),) * place + (slice(start, stop),)]

        h = asarray(given)
        if h.ndim == 0:
            step = given if is_weak(given) else h
            double = ew.multiply(2, step) if not is_weak(given) else 2.0 * given
            parts = [ew.divide(cut(1, 2) - cut(0, 1), step)] if edge_order == 1 else [_edge(cut, (0, 1, 2), (-1.5, 2.0, -0.5), step)]
            parts.append(ew.divide(cut(2, None) - cut(None, -2), double))
            parts.append(ew.divide(cut(-1, None) - cut(-2, -1), step) if edge_order == 1 else _edge(cut, (-3, -2, -1), (0.5, -2.0, 1.5), step))
        else:
            if h.ndim > 1:
                raise InvalidArgument("distances must be either scalars or 1d")
            if h.size != n:
                raise InvalidArgument("when 1d, distances must match the length of the corresponding dimension")
            d = diff(h if h.dtype.kind in "fc" else astype(h, float64))
            shaped = [n - 2 if i == place else 1 for i in range(x.ndim)]
            before, after = d[:-1], d[1:]
            low = reshape_to(ew.divide(-after, before * (before + after)), shaped)
            mid = reshape_to(ew.divide(after - before, before * after), shaped)
            high = reshape_to(ew.divide(before, after * (before + after)), shaped)
            inner = low * cut(None, -2) + mid * cut(1, -1) + high * cut(2, None)
            if edge_order == 1:
                parts = [ew.divide(cut(1, 2) - cut(0, 1), d[0]), inner, ew.divide(cut(-1, None) - cut(-2, -1), d[-1])]
            else:
                p, q = d[0], d[1]
                first = -(2.0 * p + q) / (p * (p + q)) * cut(0, 1) + (p + q) / (p * q) * cut(1, 2) - p / (q * (p + q)) * cut(2, 3)
                p, q = d[-2], d[-1]
                end = q / (p * (p + q)) * cut(-3, -2) - (q + p) / (p * q) * cut(-2, -1) + (2.0 * q + p) / (q * (p + q)) * cut(-1, None)
                parts = [first, inner, end]
        results.append(join([astype(part, x.dtype) for part in parts], place))
    return results[0] if len(results) == 1 else tuple(results)


def _edge(cut: Any, places: tuple[int, ...], factors: tuple[float, ...], step: Any) -> Var:
    total = None
    for at, factor in zip(places, factors):
        part = ew.multiply(cut(at, at + 1 if at != -1 else None), factor)
        total = part if total is None else total + part
    return ew.divide(total, step)


@public
def trapezoid(y: ArrayLike, x: ArrayLike = None, dx: ArrayLike = 1.0, axis: int = -1) -> Var:
    """The area under lines between points at distances dx, or at x."""
    a = asarray(y)
    place = axis_of(axis, a.ndim)
    d: Any = dx
    if x is not None:
        at = asarray(x)
        d = diff(at) if at.ndim == 1 else diff(at, axis=axis)
        if at.ndim == 1:
            d = reshape_to(d, [d.size if i == place else 1 for i in range(a.ndim)])
    key = (slice(None),) * place
    if a.dtype.kind == "b":
        a = astype(a, float64)
    pairs = ew.add(a[key + (slice(1, None),)], a[key + (slice(None, -1),)])
    return _reductions.sum(ew.divide(ew.multiply(d, pairs), 2.0), place)


@public
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None, period: Optional[float] = None) -> Var:
    """Values at x on the lines between the points (xp, fp), xp rising; `left` and `right` outside, or repeated with a period."""
    at, xs, ys = asarray(x), astype(asarray(xp), float64), asarray(fp)
    ys = astype(ys, complex128 if ys.dtype.kind == "c" else float64)
    at = astype(at, float64)
    if xs.ndim != 1 or ys.ndim != 1:
        raise InvalidArgument("Data points must be 1-D sequences")
    if xs.size != ys.size:
        raise InvalidArgument("fp and xp are not of the same length.")
    if xs.size == 0:
        raise InvalidArgument("array of sample points is empty")
    if period is not None:
        if period == 0:
            raise InvalidArgument("period must be a non-zero value")
        period = abs(period)
        left = right = None
        at, xs = ew.remainder(at, period), ew.remainder(xs, period)
        order = native.argsort(xs)
        xs, ys = _indexing.take(xs, order), _indexing.take(ys, order)
        xs = join([xs[-1:] - period, xs, xs[:1] + period], 0)
        ys = join([ys[-1:], ys, ys[:1]], 0)
    n = xs.size
    first = ys[0] if left is None else asarray(left, ys.dtype)
    end = ys[-1] if right is None else asarray(right, ys.dtype)
    if n == 1:
        result = choose(ew.isnan(at), ys[0], expand_to(ys[0], at.shape))
    else:
        j = ew.minimum(ew.maximum(native.searchsorted(xs, at, True) - 1, 0), n - 2)
        x0, x1 = _indexing.take(xs, j), _indexing.take(xs, j + 1)
        y0, y1 = _indexing.take(ys, j), _indexing.take(ys, j + 1)
        slope = ew.divide(ew.subtract(y1, y0), x1 - x0)
        result = ew.add(ew.multiply(slope, at - x0), y0)
        if ys.dtype.kind == "f":
            again = ew.add(ew.multiply(slope, at - x1), y1)
            result = choose(ew.isnan(result), again, result)
            result = choose(ew.isnan(result) & ew.equal(y0, y1), y0, result)
        result = choose(ew.equal(at, x0), y0, result)
        result = choose(ew.equal(at, x1), y1, result)
    result = choose(at < xs[0], expand_to(first, at.shape), result)
    result = choose(at > xs[-1], expand_to(end, at.shape), result)
    return result if n == 1 else choose(ew.isnan(at), full_of((), math.nan, ys.dtype), result)


@public
def unwrap(p: ArrayLike, discont: Optional[float] = None, axis: int = -1, *, period: float = 2 * math.pi) -> Var:
    """Angles without jumps along an axis: where a step is larger than half a period, multiples of the period are added."""
    x = asarray(p)
    step = diff(x, axis=axis)
    discont = period / 2 if discont is None else discont
    place = axis_of(axis, x.ndim)
    whole = isinstance(period, int) and x.dtype.kind in "iu"
    if whole and x.dtype.kind == "u":
        raise OverflowError(f"Python integer {-period // 2} out of bounds for {x.dtype}")
    half: Any = period // 2 if whole else period / 2
    odd = whole and period % 2
    wanted = x.dtype if whole else result_type(step, float(period))
    step = astype(step, wanted)
    away = ew.subtract(ew.remainder(ew.add(step, half), period), half)
    if not odd:
        away = choose(ew.equal(away, -half) & (step > 0), full_of((), half, wanted), away)
    fix = ew.subtract(away, step)
    fix = choose(ew.absolute(step) < discont, zeros_of((), wanted), fix)
    key = (slice(None),) * place
    x = astype(x, wanted)
    return join([x[key + (slice(0, 1),)], ew.add(x[key + (slice(1, None),)], _reductions.cumsum(fix, place))], place)


# ---- Windows

def _window(name: str, M: int, compute: Any) -> Var:
    count = int(M)
    if M < 1:
        return zeros_of([0], float64)
    if count == 1:
        return full_of([1], 1.0, float64)
    return compute(_creation.arange(1 - count, count, 2, float64), count)  # type: ignore[no-any-return]


@public
def bartlett(M: int) -> Var:
    """A triangle that is 0 at both ends."""
    return _window("bartlett", M, lambda n, m: choose(n <= 0, 1 + n / (m - 1), 1 - n / (m - 1)))


@public
def blackman(M: int) -> Var:
    """0.42 + 0.5 cos + 0.08 cos of the double angle."""
    return _window("blackman", M, lambda n, m: 0.42 + 0.5 * ew.cos(math.pi * n / (m - 1)) + 0.08 * ew.cos(2.0 * math.pi * n / (m - 1)))


@public
def hamming(M: int) -> Var:
    """0.54 + 0.46 cos."""
    return _window("hamming", M, lambda n, m: 0.54 + 0.46 * ew.cos(math.pi * n / (m - 1)))


@public
def hanning(M: int) -> Var:
    """0.5 + 0.5 cos."""
    return _window("hanning", M, lambda n, m: 0.5 + 0.5 * ew.cos(math.pi * n / (m - 1)))


@public
def kaiser(M: int, beta: float) -> Var:
    """The ratio of Bessel functions i0; beta: how narrow."""
    count = int(M)
    if count == 1:
        return full_of([1], 1.0, float64)
    n = _creation.arange(0, count, dtype=float64)
    alpha = (count - 1) / 2.0
    return ew.divide(ew.i0(beta * ew.sqrt(1 - ((n - alpha) / alpha) ** 2.0)), ew.i0(float(beta)))
