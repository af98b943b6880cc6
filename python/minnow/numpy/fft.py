# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms of any length; computed in double precision, complex64 for float32 and smaller.

n, s: lengths to which axes are cut or filled with zeros. norm: "backward" divides the inverse by n, "forward" the transform, "ortho" both by
the root of n.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional, Sequence

from minnow._arrays import index_of
from minnow._minnow import InvalidArgument, InvalidIndex, InvalidType, Var
from minnow._minnow import dtype as DType

from minnow.numpy import _elementwise as ew
from minnow.numpy import _complex, _creation, _shape
from minnow.numpy._core import ArrayLike, Axis, DTypeLike, asarray, astype, axis_of, back, check_device, complex64, deliver, dtype_of, float16, float32, float64, is_traced, join, last, native, public, unknown, with_gradient, zeros_of

_NORMS = {None: (0.0, 1.0), "backward": (0.0, 1.0), "ortho": (0.5, 0.5), "forward": (1.0, 0.0)}


def _single(x: Var) -> bool:
    return x.dtype.name in ("float16", "float32", "complex64", "bfloat16")


def _scale(n: int, norm: Optional[str], inverse: bool, half: bool) -> float:
    """`half`: rounded to float16, as NumPy has it for arrays of that dtype."""
    if norm not in _NORMS:
        raise InvalidArgument(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    power = _NORMS[norm][inverse]
    if power == 0:
        return 1.0
    divisor = float(n) if power == 1 else math.sqrt(n)
    if not half:
        return 1.0 / divisor
    return astype(asarray(1.0 / astype(asarray(divisor), float16).item()), float16).item()  # type: ignore[no-any-return]


def _is_half(x: Var) -> bool:
    return x.dtype == float16


def _sized(x: Var, n: int, axis: int) -> Var:
    """An axis cut or filled with zeros."""
    length = x.shape[axis]
    if n == length:
        return x
    if n < length:
        return x[(slice(None),) * axis + (slice(0, n),)]
    dims = list(x.shape)
    dims[axis] = n - length
    return join([x, zeros_of(dims, x.dtype)], axis)


def _count(n: Optional[int], default: int) -> int:
    count = default if n is None else index_of(n)
    if count < 1:
        raise InvalidArgument(f"Invalid number of FFT data points ({count}) specified.")
    return count


def _parts_transformed(re: Var, im: Optional[Var], kind: str, n: int, inverse: bool, scale: float) -> Any:
    """native.fft() of the real and imaginary parts of rows, with a gradient: the transform of the other sign. Gives both parts, or the real
    numbers that "from_half" makes."""
    whole = n // 2 + 1 if kind != "whole" else n

    def function(re: Var, im: Optional[Var] = None) -> Any:
        made = native.fft(re if im is None else native.make_complex(re, im), kind, n, inverse, scale)
        return made if kind == "from_half" else (ew.real(made).clone(), ew.imag(made).clone())

    def gradient(made: Any, g: Any, re: Var, im: Optional[Var] = None) -> tuple[Var, ...]:
        if kind == "from_half":
            first, second = _parts_transformed(g, None, "to_half", n, False, scale)
            twice = 1.0 + (_creation.steps(whole) % (n / 2) != 0).astype("float64") if n > 1 else 1.0  # all but the first and the middle stand for two
            return first * twice, second * twice
        zeros = zeros_of([*re.shape[:-1], whole], float64)
        both = [zeros if part is None else part for part in g]
        made = _parts_transformed(*(_sized(part, n, part.ndim - 1) for part in both), "whole", n, not inverse, scale)
        return made if im is not None else made[:1]  # type: ignore[no-any-return]
    return with_gradient(function, gradient, *((re,) if im is None else (re, im)))


def _fft(x: Var, length: int, axis: int, kind: str, n: int, inverse: bool, scale: float) -> Var:
    """The transform along an axis that is cut to a length, or filled, in double precision."""
    if not is_traced(x):
        return back(native.fft(last(_sized(x, length, axis), axis), kind, n, inverse, scale), axis)
    re, im = (None if part is None else last(_sized(astype(part, float64), length, axis), axis) for part in _complex.parts(x))
    assert re is not None
    made = _parts_transformed(re, zeros_of(re.shape, float64) if kind == "from_half" and im is None else im, kind, n, inverse, scale)
    return back(made, axis) if kind == "from_half" else _complex.joined(*(back(part, axis) for part in made))


def _transform(x: Var, n: int, axis: int, inverse: bool, norm: Optional[str], half: bool = False) -> Var:
    """In complex128."""
    return _fft(x, n, axis, "whole", n, inverse, _scale(n, norm, inverse, half))


def _finish(x: Var, given: Var, out: Any) -> Var:
    """Cast the result to the precision of the argument."""
    if _single(given):
        if x.dtype.kind == "c" and is_traced(x):
            x = _complex.cast(x, complex64)
        x = astype(x, complex64 if x.dtype.kind == "c" else float16 if given.dtype == float16 else float32)
    return deliver(x, out)


def _axis(x: Var, axis: int) -> int:
    if x.ndim == 0:
        raise InvalidIndex("tuple index out of range")
    return axis_of(axis, x.ndim)


def _one(a: ArrayLike, n: Optional[int], axis: int, norm: Optional[str], inverse: bool, out: Any) -> Var:
    x = asarray(a)
    place = _axis(x, axis)
    return _finish(_transform(x, _count(n, x.shape[place]), place, inverse, norm, _is_half(x)), x, out)


@public
def fft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """The transform along an axis."""
    return _one(a, n, axis, norm, False, out)


@public
def ifft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of fft()."""
    return _one(a, n, axis, norm, True, out)


def _half(x: Var, n: int, place: int, norm: Optional[str]) -> Var:
    scale = _scale(n, norm, False, _is_half(x))
    if x.dtype.kind == "c":
        raise InvalidType(f"rfft takes real numbers, not {x.dtype}; use fft")
    return _fft(x, n, place, "to_half", n, False, scale)


@public
def rfft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """The first n / 2 + 1 elements of the transform of real numbers; the others mirror them."""
    x = asarray(a)
    place = _axis(x, axis)
    return _finish(_half(x, _count(n, x.shape[place]), place, norm), x, out)


def _real_again(x: Var, n: int, place: int, norm: Optional[str], half: bool) -> Var:
    """n real numbers of the first half of their transform."""
    scale = _scale(n, norm, True, half)
    return _fft(x, n // 2 + 1, place, "from_half", n, True, scale)


@public
def irfft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of rfft(): n real numbers, 2 (m - 1) without n."""
    x = asarray(a)
    place = _axis(x, axis)
    return _finish(_real_again(x, _count(n, (x.shape[place] - 1) * 2), place, norm, _is_half(x)), x, out)


_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _swapped(norm: Optional[str]) -> str:
    if norm not in _SWAPPED:
        raise InvalidArgument(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _SWAPPED[norm]


@public
def hfft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """Transform a Hermitian signal, given as its first half, to real numbers."""
    x = asarray(a)
    count = _count(n, (x.shape[_axis(x, axis)] - 1) * 2)
    return irfft(ew.conjugate(x), count, axis, _swapped(norm), out)


@public
def ihfft(a: ArrayLike, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of hfft()."""
    x = asarray(a)
    return deliver(ew.conjugate(rfft(x, n, axis, _swapped(norm))), out)


def _plan(x: Var, s: Optional[Sequence[int]], axes: Optional[Sequence[int]], inverse_real: bool = False) -> tuple[list[int], list[int]]:
    """Lengths and axes."""
    if axes is None:
        places = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
    else:
        places = [axis_of(axis, x.ndim) for axis in axes]
    if s is None:
        lengths = [x.shape[i] for i in places]
        if inverse_real and lengths:
            lengths[-1] = (lengths[-1] - 1) * 2
    else:
        lengths = [x.shape[i] if n == -1 else n for n, i in zip(s, places)]
        if len(s) != len(places):
            raise InvalidArgument("Shape and axes have different lengths.")
    return lengths, places


def _many(a: ArrayLike, s: Optional[Sequence[int]], axes: Optional[Sequence[int]], norm: Optional[str], inverse: bool, out: Any) -> Var:
    x = asarray(a)
    lengths, places = _plan(x, s, axes)
    if not places:
        return deliver(x, out)
    y = x
    half = _is_half(x)  # of the first transform; the others get complex numbers
    for n, place in reversed(list(zip(lengths, places))):
        y = _transform(y, _count(n, 0), place, inverse, norm, half)
        half = False
    return _finish(y, x, out)


@public
def fftn(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None) -> Var:
    """The transform along several axes; all of them without `axes`."""
    return _many(a, s, axes, norm, False, out)


@public
def ifftn(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of fftn()."""
    return _many(a, s, axes, norm, True, out)


@public
def fft2(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None) -> Var:
    """The transform along two axes."""
    return _many(a, s, axes, norm, False, out)


@public
def ifft2(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of fft2()."""
    return _many(a, s, axes, norm, True, out)


@public
def rfftn(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None) -> Var:
    """rfft() along the last of the axes, fft() along the others."""
    x = asarray(a)
    lengths, places = _plan(x, s, axes)
    if not places:
        raise InvalidIndex("list index out of range")
    y = _half(x, _count(lengths[-1], 0), places[-1], norm)
    for n, place in list(zip(lengths, places))[:-1]:
        y = _transform(y, _count(n, 0), place, False, norm)
    return _finish(y, x, out)


@public
def irfftn(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of rfftn()."""
    x = asarray(a)
    lengths, places = _plan(x, s, axes, True)
    if not places:
        raise InvalidIndex("list index out of range")
    y = x
    half = _is_half(x) and len(places) > 1
    for n, place in list(zip(lengths, places))[:-1]:
        y = _transform(y, _count(n, 0), place, True, norm, half)
        half = False
    return _finish(_real_again(y, _count(lengths[-1], 0), places[-1], norm, _is_half(x) and len(places) == 1), x if len(places) == 1 else astype(x, complex64) if _single(x) else x, out)


@public
def rfft2(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None) -> Var:
    """rfftn() along two axes."""
    return rfftn(a, s, axes, norm, out)


@public
def irfft2(a: ArrayLike, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None) -> Var:
    """The inverse of rfft2()."""
    return irfftn(a, s, axes, norm, out)


def _frequency_dtype(dtype: DTypeLike) -> DType:
    wanted = float64 if dtype is None else dtype_of(dtype)
    if wanted.kind != "f":
        raise InvalidType(f"frequencies are of a real floating dtype, not {wanted}")
    return wanted


@public
def fftfreq(n: int, d: float = 1.0, device: Optional[str] = None, *, dtype: DTypeLike = None) -> Var:
    """The frequency of each element of a transform of n samples at distances d: 0, 1 ... then the negative ones, over n d.

    dtype: float64, or another floating one. Raises TypeError for others.
    """
    check_device(device)
    if not hasattr(n, "__index__"):
        raise InvalidArgument("n should be an integer")
    count = index_of(n)
    split = (count - 1) // 2 + 1
    numbers = join([_creation.steps(split), _creation.steps(count - split) - count // 2], 0) if count else zeros_of([0], float64)
    return astype(ew.multiply(astype(numbers, float64), 1.0 / (count * d)), _frequency_dtype(dtype))


@public
def rfftfreq(n: int, d: float = 1.0, device: Optional[str] = None, *, dtype: DTypeLike = None) -> Var:
    """The frequencies of the result of rfft(); options as fftfreq()."""
    check_device(device)
    if not hasattr(n, "__index__"):
        raise InvalidArgument("n should be an integer")
    return astype(ew.multiply(astype(_creation.steps(index_of(n) // 2 + 1), float64), 1.0 / (n * d)), _frequency_dtype(dtype))


def _shifted(x: ArrayLike, axes: Axis, sign: int) -> Var:
    a = asarray(x)
    places = list(range(a.ndim)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    return _shape.roll(a, [sign * (a.shape[i] // 2) if sign > 0 else -(a.shape[i] // 2) for i in places], places) if places else a.clone()


@public
def fftshift(x: ArrayLike, axes: Axis = None) -> Var:
    """Frequency 0 moved to the middle."""
    return _shifted(x, axes, 1)


@public
def ifftshift(x: ArrayLike, axes: Axis = None) -> Var:
    """The inverse of fftshift()."""
    return _shifted(x, axes, -1)


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise unknown(__name__, name)
