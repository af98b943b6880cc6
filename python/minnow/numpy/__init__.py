# SPDX-License-Identifier: Apache-2.0
"""NumPy's names and semantics on Var.

    import minnow.numpy as np
    x = np.linspace(0, 1, 5)
    y = np.where(x > 0.5, np.sqrt(x), 0)

Elementwise functions, reductions and products of float32, and functions of Vars that depend on a placeholder, are expressions of the engine,
computed when they are read; other functions compute at once. Functions raise NumPy's exceptions: ValueError, TypeError, IndexError, AxisError,
linalg.LinAlgError. Functions of NumPy that are missing here do not exist. NumPy itself is not needed.
"""
from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minnow._minnow import Var, dtype as dtype
from minnow.numpy import fft as fft, linalg as linalg, random as random
from minnow.numpy._core import (AxisError as AxisError, asarray as asarray, bfloat16 as bfloat16, bool_ as bool_, complex128 as complex128, complex64
    as complex64, float16 as float16, float32 as float32, float64 as float64, int16 as int16, int32 as int32, int64 as int64, int8 as int8,
    result_type as result_type, uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8)
from minnow.numpy._types import (astype as astype, can_cast as can_cast, common_type as common_type, complexfloating as complexfloating, finfo as finfo, floating as
    floating, from_dlpack as from_dlpack, generic as generic, iinfo as iinfo, inexact as inexact, integer as integer, iscomplexobj as iscomplexobj, isdtype as isdtype, isfortran
    as isfortran, isrealobj as isrealobj, isscalar as isscalar, issubdtype as issubdtype, iterable as iterable, min_scalar_type as min_scalar_type, number as number,
    promote_types as promote_types, signedinteger as signedinteger, unsignedinteger as unsignedinteger)
from minnow.numpy._elementwise import (abs as abs, absolute as absolute, acos as acos, acosh as acosh, add as add, allclose as allclose, angle as
    angle, arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh,
    around as around, array_equal as array_equal, array_equiv as array_equiv, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as
    atanh, bitwise_and as bitwise_and, bitwise_count as bitwise_count, bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not, bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor, cbrt as cbrt, ceil
    as ceil, clip as clip, conj as conj, conjugate as conjugate, copysign as copysign, cos as cos, cosh as cosh, deg2rad as deg2rad, degrees as
    degrees, divide as divide, divmod as divmod, equal as equal, exp as exp, exp2 as exp2, expm1 as expm1, fabs as fabs, fix as fix, float_power as
    float_power, floor as floor, floor_divide as floor_divide, fmax as fmax, fmin as fmin, fmod as fmod, frexp as frexp, frompyfunc as frompyfunc, gcd
    as gcd, greater as greater, greater_equal as greater_equal, heaviside as heaviside, hypot as hypot, i0 as i0, imag as imag, invert as invert,
    isclose as isclose, iscomplex as iscomplex, isfinite as isfinite, isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf,
    isreal as isreal, lcm as lcm, ldexp as ldexp, left_shift as left_shift, less as less, less_equal as less_equal, log as log, log10 as log10, log1p
    as log1p, log2 as log2, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as logical_and, logical_not as logical_not, logical_or as
    logical_or, logical_xor as logical_xor, maximum as maximum, minimum as minimum, mod as mod, modf as modf, multiply as multiply, nan_to_num as
    nan_to_num, negative as negative, nextafter as nextafter, not_equal as not_equal, positive as positive, pow as pow, power as power, rad2deg as
    rad2deg, radians as radians, real as real, real_if_close as real_if_close, reciprocal as reciprocal, remainder as remainder, right_shift as
    right_shift, rint as rint, round as round, sign as sign, signbit as signbit, sin as sin, sinc as sinc, sinh as sinh, spacing as spacing, sqrt as
    sqrt, square as square, subtract as subtract, tan as tan, tanh as tanh, true_divide as true_divide, trunc as trunc, ufunc as ufunc, vectorize as
    vectorize)
from minnow.numpy._creation import (arange as arange, array as array, asanyarray as asanyarray, asarray_chkfinite as asarray_chkfinite,
    ascontiguousarray as ascontiguousarray, copy as copy, copyto as copyto, diag as diag, diagflat as diagflat, diagonal as diagonal, empty as empty,
    empty_like as empty_like, eye as eye, frombuffer as frombuffer, fromfunction as fromfunction, fromiter as fromiter, fromstring as fromstring, full
    as full, full_like as full_like, geomspace as geomspace, identity as identity, indices as indices, linspace as linspace, logspace as logspace,
    meshgrid as meshgrid, ones as ones, ones_like as ones_like, trace as trace, tri as tri, tril as tril, triu as triu, vander as vander, zeros as
    zeros, zeros_like as zeros_like)
from minnow.numpy._shape import (append as append, array_split as array_split, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as
    atleast_3d, block as block, broadcast_arrays as broadcast_arrays, broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to, column_stack
    as column_stack, concat as concat, concatenate as concatenate, delete as delete, dsplit as dsplit, dstack as dstack, expand_dims as expand_dims,
    flip as flip, fliplr as fliplr, flipud as flipud, hsplit as hsplit, hstack as hstack, insert as insert, matrix_transpose as matrix_transpose,
    may_share_memory as may_share_memory, moveaxis as moveaxis, ndim as ndim, permute_dims as permute_dims, ravel as ravel, repeat as repeat, reshape as reshape, resize as resize, roll as
    roll, rollaxis as rollaxis, rot90 as rot90, shape as shape, shares_memory as shares_memory, size as size, split as split, squeeze as squeeze, stack as stack, swapaxes as
    swapaxes, tile as tile, transpose as transpose, trim_zeros as trim_zeros, unstack as unstack, vsplit as vsplit, vstack as vstack)
from minnow.numpy._padding import pad as pad
from minnow.numpy._indexing import (apply_along_axis as apply_along_axis, apply_over_axes as apply_over_axes, argwhere as argwhere, choose as choose,
    compress as compress, diag_indices as diag_indices, diag_indices_from as diag_indices_from, extract as extract, fill_diagonal as fill_diagonal,
    flatnonzero as flatnonzero, ix_ as ix_, mask_indices as mask_indices, ndenumerate as ndenumerate, ndindex as ndindex, nonzero as nonzero,
    piecewise as piecewise, place as place, put as put, put_along_axis as put_along_axis, putmask as putmask, ravel_multi_index as ravel_multi_index,
    select as select, take as take, take_along_axis as take_along_axis, tril_indices as tril_indices, tril_indices_from as tril_indices_from,
    triu_indices as triu_indices, triu_indices_from as triu_indices_from, unravel_index as unravel_index, where as where)
from minnow.numpy._reductions import (all as all, amax as amax, amin as amin, any as any, argmax as argmax, argmin as argmin, average as average,
    count_nonzero as count_nonzero, cumprod as cumprod, cumsum as cumsum, cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum, max as
    max, mean as mean, min as min, nanargmax as nanargmax, nanargmin as nanargmin, nancumprod as nancumprod, nancumsum as nancumsum, nanmax as nanmax,
    nanmean as nanmean, nanmin as nanmin, nanprod as nanprod, nanstd as nanstd, nansum as nansum, nanvar as nanvar, prod as prod, ptp as ptp, std as
    std, sum as sum, var as var)
from minnow.numpy._sorting import (argpartition as argpartition, argsort as argsort, bincount as bincount, digitize as digitize, intersect1d as
    intersect1d, isin as isin, lexsort as lexsort, partition as partition, searchsorted as searchsorted, setdiff1d as setdiff1d, setxor1d as setxor1d,
    sort as sort, sort_complex as sort_complex, union1d as union1d, unique as unique, unique_all as unique_all, unique_counts as unique_counts,
    unique_inverse as unique_inverse, unique_values as unique_values)
from minnow.numpy._products import (cross as cross, dot as dot, einsum as einsum, inner as inner, kron as kron, matmul as matmul, matvec as matvec,
    outer as outer, tensordot as tensordot, vdot as vdot, vecdot as vecdot, vecmat as vecmat)
from minnow.numpy._statistics import (bartlett as bartlett, blackman as blackman, convolve as convolve, corrcoef as corrcoef, correlate as correlate,
    cov as cov, diff as diff, ediff1d as ediff1d, gradient as gradient, hamming as hamming, hanning as hanning, histogram as histogram, histogram2d as
    histogram2d, histogram_bin_edges as histogram_bin_edges, histogramdd as histogramdd, interp as interp, kaiser as kaiser, median as median,
    nanmedian as nanmedian, nanpercentile as nanpercentile, nanquantile as nanquantile, percentile as percentile, quantile as quantile, trapezoid as
    trapezoid, unwrap as unwrap)
from minnow.numpy._polynomials import (poly as poly, polyadd as polyadd, polyder as polyder, polydiv as polydiv, polyfit as polyfit, polyint as
    polyint, polymul as polymul, polysub as polysub, polyval as polyval, roots as roots)
from minnow.numpy._text import (array2string as array2string, array_repr as array_repr, array_str as array_str, get_printoptions as get_printoptions,
    printoptions as printoptions, set_printoptions as set_printoptions)
from minnow.numpy._namespace import __array_namespace_info__ as __array_namespace_info__
from minnow.numpy._errors import errstate as errstate, geterr as geterr, seterr as seterr
from minnow.numpy._bits import (base_repr as base_repr, binary_repr as binary_repr, c_ as c_, index_exp as index_exp, mgrid as mgrid, ogrid as ogrid,
    packbits as packbits, r_ as r_, s_ as s_, unpackbits as unpackbits)
from minnow.numpy._files import (NpzFile as NpzFile, fromfile as fromfile, genfromtxt as genfromtxt, load as load, loadtxt as loadtxt, save as save,
    savetxt as savetxt, savez as savez, savez_compressed as savez_compressed)
from minnow.numpy import lib as lib, _documentation
from minnow.numpy._core import REGISTRY as _REGISTRY


if not _TYPE_CHECKING:
    def __getattr__(name: str) -> object:
        from minnow._minnow import nearest
        raise AttributeError(f"module 'minnow.numpy' has no attribute {name!r}" + ("" if name[:1] == "_" else nearest(name, [known for known in globals() if known[:1] != "_"])))


__array_api_version__ = "2024.12"
ndarray = Var
bool = bool_
byte, short, intc, int_, intp, long, longlong = int8, int16, int32, int64, int64, int64, int64
ubyte, ushort, uintc, uint, uintp, ulong, ulonglong = uint8, uint16, uint32, uint64, uint64, uint64, uint64
half, single, double, csingle, cdouble = float16, float32, float64, complex64, complex128
e, pi, euler_gamma, inf, nan = _math.e, _math.pi, 0.5772156649015329, _math.inf, _math.nan
newaxis = None
True_, False_ = True, False
little_endian = True

_documentation.complete(_REGISTRY)
