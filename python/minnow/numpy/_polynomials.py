# SPDX-License-Identifier: Apache-2.0
"""Polynomials as vectors of coefficients, the highest power first."""
from __future__ import annotations

from typing import Any

from minnow._minnow import InvalidArgument, InvalidType, Var

from minnow.numpy import _elementwise as ew
from minnow.numpy import _creation, _products, _reductions, _shape, _statistics
from minnow.numpy._core import ArrayLike, astype, float64, full_of, join, native, promote, public, reshape_to, result_type, zeros_of
from minnow.numpy._core import held as asarray


def _trimmed(x: Var) -> Var:
    """Without zeros at the front; one zero at least."""
    places = native.true_places(ew.not_equal(x, 0))
    return x[places[0].item():] if places.size else x[-1:]


@public
def polyval(p: ArrayLike, x: ArrayLike) -> Var:
    """The polynomial at x, by Horner's rule."""
    at, c = asarray(x), asarray(p)
    y = zeros_of(at.shape, at.dtype)
    for i in range(c.size):
        y = ew.add(ew.multiply(y, at), c[i])
    return y


def _padded(x: Var, n: int) -> Var:
    return join([zeros_of([n - x.size], x.dtype), x], 0) if x.size < n else x


@public
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Var:
    """The sum of two polynomials."""
    x, y = _shape.atleast_1d(asarray(a1)), _shape.atleast_1d(asarray(a2))
    n = max(x.size, y.size)
    return ew.add(_padded(x, n), _padded(y, n))


@public
def polysub(a1: ArrayLike, a2: ArrayLike) -> Var:
    """The difference of two polynomials."""
    x, y = _shape.atleast_1d(a1), _shape.atleast_1d(a2)
    n = max(x.size, y.size)
    return ew.subtract(_padded(x, n), _padded(y, n))


@public
def polymul(a1: ArrayLike, a2: ArrayLike) -> Var:
    """The product of two polynomials."""
    x, y = _shape.atleast_1d(a1), _shape.atleast_1d(a2)
    return _statistics.convolve(_trimmed(x), _trimmed(y))


@public
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Var, Var]:
    """Quotient and remainder of two polynomials."""
    common = result_type(asarray(u), asarray(v), 1.0)
    x, y = astype(_shape.atleast_1d(u), common), astype(_shape.atleast_1d(v), common)
    m, n = x.size - 1, y.size - 1
    values, divisor = x.tolist(), y.tolist()
    if divisor[0] == 0:
        raise ZeroDivisionError("the divisor's first coefficient is 0")
    scale = 1.0 / divisor[0]
    quotient = [0.0] * max(m - n + 1, 1)
    for k in range(m - n + 1):
        d = scale * values[k]
        quotient[k] = d
        for i, c in enumerate(divisor):
            values[k + i] -= d * c
    rest = values
    while len(rest) > 1 and abs(rest[0]) <= 1e-14:
        rest = rest[1:]
    return asarray(quotient, common), asarray(rest, common)


@public
def polyder(p: ArrayLike, m: int = 1) -> Var:
    """The derivative, m times."""
    if m < 0:
        raise InvalidArgument("Order of derivative must be positive (see polyint)")
    x = asarray(p)
    for _ in range(min(m, x.size)):  # nothing is left then
        n = x.size - 1
        x = ew.multiply(x[:-1], _creation.steps(n + 1)[:0:-1] if n else zeros_of([0], x.dtype))
    return x


@public
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Var:
    """The integral, m times; k: the constants, the first integral's first."""
    if m < 0:
        raise InvalidArgument("Order of integral must be positive (see polyder)")
    constants = [0] * m if k is None else _shape.ravel(k).tolist()
    if len(constants) == 1 and m > 1:
        constants = constants * m
    if len(constants) < m:
        raise InvalidArgument("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = asarray(p)
    for i in range(m):
        n = x.size
        x = join([ew.divide(x, _creation.arange(n, 0, -1)), astype(full_of([1], constants[i], float64), promote(x.dtype, float64))], 0) if n else asarray([float(constants[i])])
    return x


@public
def poly(seq_of_zeros: ArrayLike) -> Var:
    """The polynomial with these zeros, or the characteristic one of a matrix."""
    zeros = asarray(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.size:
        from minnow.numpy import linalg
        zeros = linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise InvalidArgument("input must be 1d or non-empty square 2d array.")
    values: list[Any] = [1.0]
    for zero in zeros.tolist():
        values = [(values[i] if i < len(values) else 0) - zero * (values[i - 1] if i else 0) for i in range(len(values) + 1)]
    x = asarray(values, result_type(zeros, 1.0)) if zeros.size else asarray(1.0)
    if x.dtype.kind == "c":  # of pairs of conjugated zeros the polynomial is real
        up, down = sorted((z for z in zeros.tolist() if z.imag > 0), key=lambda z: (z.real, z.imag)), sorted((z.conjugate() for z in zeros.tolist() if z.imag < 0), key=lambda z: (z.real, z.imag))
        if up == down:
            return ew.real(x)
    return x


@public
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: Any = None, full: bool = False, w: ArrayLike = None, cov: Any = False) -> Any:
    """The polynomial of degree `deg` with the smallest squared distances from the points (x, y); w: weights. full: residuals, rank,
    singular values and rcond too; cov: covariances too."""
    from minnow.numpy import linalg
    xs, ys = ew.add(asarray(x), 0.0), ew.add(asarray(y), 0.0)
    if deg < 0:
        raise InvalidArgument("expected deg >= 0")
    if xs.ndim != 1:
        raise InvalidType("expected 1D vector for x")
    if xs.size == 0:
        raise InvalidType("expected non-empty vector for x")
    if ys.ndim not in (1, 2):
        raise InvalidType("expected 1D or 2D array for y")
    if xs.shape[0] != ys.shape[0]:
        raise InvalidType("expected x and y to have same length")
    if rcond is None:
        rcond = xs.size * 2.0 ** (-23 if xs.dtype.name == "float32" else -52)
    left, right = _creation.vander(xs, deg + 1), ys
    if w is not None:
        weights = ew.add(asarray(w), 0.0)
        if weights.ndim != 1:
            raise InvalidType("expected a 1-d array for weights")
        if weights.shape[0] != ys.shape[0]:
            raise InvalidType("expected w and y to have the same length")
        column = reshape_to(weights, [weights.size, 1])
        left = ew.multiply(left, column)
        right = ew.multiply(right, column if right.ndim == 2 else weights)
    scale = ew.sqrt(_reductions.sum(ew.multiply(left, left), 0))
    c, residuals, rank, s = linalg.lstsq(ew.divide(left, scale), right, rcond)
    c = ew.divide(c, reshape_to(scale, [scale.size, 1]) if c.ndim == 2 else scale)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = linalg.inv(_products.dot(_shape.transpose(left), left))
    factor: Any = 1
    if cov != "unscaled":
        if xs.size <= deg + 1:
            raise InvalidArgument("the number of data points must exceed order to scale the covariance matrix")
        factor = ew.divide(residuals, xs.size - (deg + 1))
    if ys.ndim == 1:
        return c, ew.multiply(base, factor)
    return c, ew.multiply(reshape_to(base, [*base.shape, 1]), factor)


@public
def roots(p: ArrayLike) -> Var:
    """The zeros of a polynomial: eigenvalues of its companion matrix."""
    from minnow.numpy import linalg
    x = _shape.atleast_1d(p)
    if x.ndim != 1:
        raise InvalidArgument("Input must be a rank-1 array.")
    places = native.true_places(ew.not_equal(x, 0)).tolist()
    if not places:
        return zeros_of([0], float64)
    behind = x.size - 1 - places[-1]
    x = x[places[0]: places[-1] + 1]
    if x.dtype.kind not in "fc":
        x = astype(x, float64)
    n = x.size
    if n < 2:
        return zeros_of([behind], float64)
    companion = join([reshape_to(ew.divide(ew.negative(x[1:]), x[0]), [1, n - 1]), astype(_creation.eye(n - 2, n - 1), x.dtype)], 0) if n > 2 else reshape_to(ew.divide(ew.negative(x[1:]), x[0]), [1, 1])
    found = linalg.eigvals(companion)
    return join([found, zeros_of([behind], found.dtype)], 0) if behind else found
