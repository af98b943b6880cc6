# SPDX-License-Identifier: Apache-2.0
"""Linear algebra: factorizations, equations, eigenvalues and norms of matrices over the last two axes, in double precision inside."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from minnow._arrays import index_of, is_index
from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var
from minnow._minnow import dtype as DType
from minnow._repr import of_fields

from minnow.numpy import _elementwise as ew
from minnow.numpy import _creation, _products, _reductions, _shape
from minnow.numpy._core import (REGISTRY, ArrayLike, Axis, DTypeLike, LinAlgError, asarray, beside, held, astype, axes_of, axis_of, broadcast_dims, choose, complex64, complex128, dtype_of, expand_to, float32,
                                float64, full_of, int64, is_traced, is_weak, join, native, permute, promote, public, reshape_to, size_of, unknown, with_gradient, zeros_of)
from minnow.numpy._products import matmul, matrices, outer, vecdot
from minnow.numpy._creation import diagonal as _diagonal
from minnow.numpy._shape import matrix_transpose

for _function in (matmul, matrix_transpose, outer, vecdot):
    REGISTRY["linalg." + _function.__name__] = _function


class EigResult(NamedTuple):
    eigenvalues: Var
    eigenvectors: Var
    __repr__ = of_fields


class EighResult(NamedTuple):
    eigenvalues: Var
    eigenvectors: Var
    __repr__ = of_fields


class QRResult(NamedTuple):
    Q: Var
    R: Var
    __repr__ = of_fields


class SlogdetResult(NamedTuple):
    sign: Var
    logabsdet: Var
    __repr__ = of_fields


class SVDResult(NamedTuple):
    U: Var
    S: Var
    Vh: Var
    __repr__ = of_fields


def _matrix(a: ArrayLike, square: bool = False) -> tuple[Var, DType]:
    """Matrices in double precision, and the dtype that results have."""
    x = asarray(a)
    if x.ndim < 2:
        raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if x.dtype.name in ("float16", "bfloat16"):
        raise InvalidType(f"array type {x.dtype} is unsupported in linalg")
    result = x.dtype if x.dtype.kind in "fc" else float64
    return astype(x, complex128 if x.dtype.kind == "c" else float64), result


def _real(dtype: DType) -> DType:
    return {"complex64": float32, "complex128": float64}.get(dtype.name, dtype)


def _complex(dtype: DType) -> DType:
    return {"float32": complex64, "float64": complex128}.get(dtype.name, dtype)


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ValueError as error:
        raise LinAlgError(str(error)) from None


def _check_finite(x: Var) -> None:
    if not bool(_reductions.all(ew.isfinite(x))):
        raise LinAlgError("Array must not contain infs or NaNs")


def _adjoint(x: Var) -> Var:
    y = matrix_transpose(x)
    return ew.conjugate(y) if y.dtype.kind == "c" else y


def _lower(x: Var, diagonal: float) -> Var:
    """The lower triangle, the diagonal times a factor."""
    n = x.shape[-1]
    return x * (_creation.tri(n, n, -1) + diagonal * _creation.eye(n))


def _symmetric(x: Var) -> Var:
    return (x + matrix_transpose(x)) * 0.5


def _scaled(x: Var, columns: Var) -> Var:
    """x diag(columns)."""
    return x * _shape.expand_dims(columns, -2)


def _diagonal_of(values: Var) -> Var:
    return _shape.expand_dims(values, -1) * _creation.eye(values.shape[-1])


def _over_differences(x: Var, values: Var) -> Var:
    """x[i, j] / (values[j] - values[i]), 0 where they are equal: there the vectors are not defined, and no function of the matrix depends on
    them alone."""
    apart = _shape.expand_dims(values, -2) - _shape.expand_dims(values, -1)
    equal = apart == 0.0
    return choose(equal, zeros_of((), float64), x / choose(equal, full_of((), 1.0, float64), apart))


def _cholesky(x: Var) -> Var:
    """Murray 2016, arXiv:1602.07527. Counts the matrix as symmetric, though one triangle is read."""
    def gradient(l: Var, g: Var, x: Var) -> tuple[Var]:
        inner = _lower(matmul(matrix_transpose(l), g), 0.5)
        right = matrix_transpose(_solved(matrix_transpose(l), matrix_transpose(inner)))  # inner / l
        return (_symmetric(_solved(matrix_transpose(l), right)),)
    return with_gradient(lambda x: _call(native.cholesky, x), gradient, x)  # type: ignore[no-any-return]


def _qr(x: Var) -> Any:
    """q and r of a matrix with no fewer rows than columns. Walter and Lehmann 2018, arXiv:1009.6112."""
    def gradient(made: tuple[Var, Var], g: tuple[Optional[Var], Optional[Var]], x: Var) -> tuple[Var]:
        (q, r), (of_q, of_r) = made, g
        away = zeros_of(r.shape, float64) if of_r is None else matmul(r, matrix_transpose(of_r))
        away = away if of_q is None else away - matmul(matrix_transpose(of_q), q)
        sides = matmul(q, _lower(away, 0.5) + matrix_transpose(_lower(away, 0.5)))
        sides = sides if of_q is None else sides + of_q
        return (matrix_transpose(_solved(r, matrix_transpose(sides))),)
    return with_gradient(lambda x: tuple(native.qr(x, False, False)), gradient, x)


def _eigh(x: Var) -> Any:
    """Giles 2008, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation". Counts the matrix as
    symmetric, though one triangle is read."""
    def gradient(made: tuple[Var, Var], g: tuple[Optional[Var], Optional[Var]], x: Var) -> tuple[Var]:
        (w, v), (of_w, of_v) = made, g
        inner = zeros_of(v.shape, float64) if of_v is None else _over_differences(matmul(matrix_transpose(v), of_v), w)
        inner = inner if of_w is None else inner + _diagonal_of(of_w)
        return (_symmetric(matmul(matmul(v, inner), matrix_transpose(v))),)
    return with_gradient(lambda x: tuple(_call(native.eigh, x, True)), gradient, x)


def _svd(x: Var) -> Any:
    """u, s and v of a matrix with no fewer rows than columns. Townsend 2016, "Differentiating the singular value decomposition"."""
    def gradient(made: tuple[Var, Var, Var], g: tuple[Optional[Var], Optional[Var], Optional[Var]], x: Var) -> tuple[Var]:
        (u, s, v), (of_u, of_s, of_v) = made, g
        inner = zeros_of([*s.shape, s.shape[-1]], float64) if of_s is None else _diagonal_of(of_s)
        outside: Any = 0.0
        if of_u is not None:
            turned = matmul(matrix_transpose(u), of_u)
            inner = inner + _scaled(_over_differences(turned - matrix_transpose(turned), s * s), s)
            if u.shape[-2] > u.shape[-1]:
                outside = (of_u - matmul(u, turned)) / _shape.expand_dims(s, -2)
        if of_v is not None:
            turned = matmul(matrix_transpose(v), of_v)
            inner = inner + _shape.expand_dims(s, -1) * _over_differences(turned - matrix_transpose(turned), s * s)
        return (matmul(matmul(u, inner) + outside, matrix_transpose(v)),)
    return with_gradient(lambda x: tuple(_call(native.svd, x, True)), gradient, x)


def _pseudo_inverse(x: Var, made: Any) -> Var:
    """Golub and Pereyra 1973: the rank stays as it is. made(x): the pseudo-inverse."""
    def gradient(p: Var, g: Var, a: Var) -> tuple[Var]:
        t, up = matrix_transpose(p), matrix_transpose(g)
        left, right = _creation.eye(a.shape[-2]) - matmul(a, p), _creation.eye(a.shape[-1]) - matmul(p, a)
        return (matmul(matmul(left, up), matmul(p, t)) + matmul(matmul(t, p), matmul(up, right)) - matmul(matmul(t, g), t),)
    return with_gradient(made, gradient, x)  # type: ignore[no-any-return]


def _solved(a: Var, b: Var) -> Var:
    def gradients(x: Var, g: Var, a: Var, b: Var) -> tuple[Var, Var]:
        of_b = _solved(matrix_transpose(a), g)
        return -matmul(of_b, matrix_transpose(x)), of_b
    return with_gradient(lambda a, b: _call(native.solve, a, b), gradients, a, b)  # type: ignore[no-any-return]


def _inverse(x: Var) -> Var:
    return with_gradient(lambda x: _call(native.inverse, x), lambda y, g, x: (-matmul(matmul(matrix_transpose(y), g), matrix_transpose(y)),), x)  # type: ignore[no-any-return]


def _determinant(x: Var) -> Var:
    return with_gradient(lambda x: native.determinant(x, False), lambda y, g, x: (_shape.expand_dims(y * g, (-2, -1)) * matrix_transpose(_inverse(x)),), x)  # type: ignore[no-any-return]


def _size_of_determinant(x: Var, size: Var) -> Var:
    return with_gradient(lambda x: size, lambda y, g, x: (_shape.expand_dims(g, (-2, -1)) * matrix_transpose(_inverse(x)),), x)  # type: ignore[no-any-return]


# ---- Equations

@public
def solve(a: ArrayLike, b: ArrayLike) -> Var:
    """Solve a x = b; b holds vectors (only if it has one axis) or matrices. LinAlgError if a is singular."""
    left, kind_a = _matrix(a, True)
    right = asarray(b)
    if right.dtype.name in ("float16", "bfloat16"):
        raise InvalidType(f"array type {right.dtype} is unsupported in linalg")
    vector = right.ndim == 1
    if right.ndim == 0:
        raise InvalidArgument("solve: Input operand 1 does not have enough dimensions")
    kind = promote(kind_a, right.dtype if right.dtype.kind in "fc" else float64)
    work = complex128 if kind.kind == "c" else float64
    left, right = astype(left, work), astype(right, work)
    if vector:
        right = reshape_to(right, [right.size, 1])
    n = left.shape[-1]
    if right.shape[-2] != n:
        raise InvalidArgument(f"solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m,n)->(m,n) (size {right.shape[-2]} is different from {n})")
    if left.shape[:-2] != right.shape[:-2]:
        batch = broadcast_dims(left.shape[:-2], right.shape[:-2])
        left, right = expand_to(left, [*batch, n, n]), expand_to(right, [*batch, n, right.shape[-1]])
    result = _solved(left, right) if right.size else right.clone()
    if vector:
        result = reshape_to(result, result.shape[:-1])
    return astype(result, kind)


@public
def inv(a: ArrayLike) -> Var:
    """The inverses. LinAlgError where a matrix is singular."""
    x, kind = _matrix(a, True)
    if not x.size:
        return astype(x.clone(), kind)
    return astype(_inverse(x), kind)


@public
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None) -> Var:
    """x of tensordot(a, x, x.ndim) = b."""
    x, y = asarray(a), asarray(b)
    if axes is not None:
        order = [i for i in range(x.ndim) if i not in axes] + list(axes)
        x = permute(x, order)
    dims = list(x.shape[y.ndim:])
    if size_of(dims) ** 2 != x.size:
        raise LinAlgError("Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return reshape_to(solve(reshape_to(x, [size_of(dims)] * 2), reshape_to(y, [y.size])), dims)


@public
def tensorinv(a: ArrayLike, ind: int = 2) -> Var:
    """The inverse of tensordot() with `ind` axes."""
    x = asarray(a)
    if ind <= 0:
        raise InvalidArgument("Invalid ind argument.")
    before, behind = list(x.shape[:ind]), list(x.shape[ind:])
    return reshape_to(inv(reshape_to(x, [size_of(before), size_of(behind)])), behind + before)


@public
def lstsq(a: ArrayLike, b: ArrayLike, rcond: Optional[float] = None) -> tuple[Var, Var, int, Var]:
    """Return the smallest x that minimizes |a x - b|, the squared residuals if the rank is full, the rank, and the singular
    values. rcond: singular values below this fraction of the largest count as 0."""
    x, kind_a = _matrix(held(a))
    y = held(b)
    vector = y.ndim == 1
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise LinAlgError("a is a matrix and b a vector or a matrix")
    if x.shape[0] != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    kind = promote(kind_a, y.dtype if y.dtype.kind in "fc" else float64)
    work = complex128 if kind.kind == "c" else float64
    x, y = astype(x, work), astype(y, work)
    if vector:
        y = reshape_to(y, [y.size, 1])
    m, n = x.shape
    from minnow.numpy._types import finfo
    cut = finfo(kind).eps * max(m, n) if rcond is None else rcond
    result = None
    if is_traced(x) or is_traced(y):
        from minnow._autograd import stop_gradient
        rank = lstsq(stop_gradient(x), stop_gradient(y), cut)[2]
        result, s = matmul(pinv(x, cut), y), svdvals(x)
    elif m >= n > 0 and x.dtype.kind == "f":  # the triangle of a QR factorization, where x is far from a lower rank
        _check_finite(x)
        q, r = native.qr(x, False, False)
        s, rank = _call(native.svd, r, False), n
        if s[-1].item() > max(cut, 1e-8) * s[0].item():
            result = _call(native.solve, r, matrices(_adjoint(q), y)) if y.size else zeros_of([n, y.shape[1]], work)
    if result is None:
        u, s, vh = svd(x, False)
        largest = s[0].item() if s.size else 0.0
        rank = sum(one > cut * largest for one in s.tolist())
        scaled = ew.divide(matrices(_adjoint(u[:, :rank]), y), reshape_to(astype(s[:rank], work), [rank, 1])) if rank else zeros_of([0, y.shape[1]], work)
        result = matrices(_adjoint(vh[:rank]), scaled) if rank else zeros_of([n, y.shape[1]], work)
    residuals = zeros_of([0], _real(kind))
    if rank == n and m > n:
        away = ew.absolute(ew.subtract(y, matrices(x, result)))
        residuals = astype(_reductions.sum(ew.square(away), 0), _real(kind))
    if vector:
        result = reshape_to(result, [n])
    return astype(result, kind), residuals, rank, astype(s, _real(kind))


@public
def pinv(a: ArrayLike, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ...) -> Var:
    """The pseudo-inverses (Moore, Penrose); singular values below rcond (1e-15), or rtol, times the largest count as 0.

    rtol=None: the precision times the larger dimension.
    """
    if 0 in asarray(a).shape and asarray(a).ndim > 1:
        given = asarray(a)
        return zeros_of([*given.shape[:-2], given.shape[-1], given.shape[-2]], given.dtype)
    x, kind = _matrix(a)
    from minnow.numpy._types import finfo
    cut: Any = rcond if rcond is not None else 1e-15 if rtol is ... else finfo(kind).eps * max(x.shape[-2:]) if rtol is None else rtol

    def made(x: Var) -> Var:
        u, s, vh = svd(x, False, hermitian=hermitian)
        limit = ew.multiply(_shape.expand_dims(asarray(cut), -1) if asarray(cut).ndim else cut, _reductions.max(s, -1, keepdims=True))
        inverse = choose(s > limit, ew.divide(1.0, s), zeros_of((), float64))
        return matrices(_adjoint(vh), ew.multiply(astype(_shape.expand_dims(inverse, -1), u.dtype), _adjoint(u)))
    return astype(_pseudo_inverse(x, made), kind)


# ---- Determinants

@public
def det(a: ArrayLike) -> Var:
    """The determinants."""
    x, kind = _matrix(a, True)
    return astype(_determinant(x), kind)


@public
def slogdet(a: ArrayLike) -> SlogdetResult:
    """Signs (of length 1, if complex) and logarithms of the sizes of determinants; 0 and -infinity of singular matrices."""
    x, kind = _matrix(a, True)
    sign, size = native.determinant(x, True)
    made = with_gradient(lambda x: sign, lambda y, g, x: (None,), x)
    return SlogdetResult(astype(made, kind), astype(_size_of_determinant(x, size), _real(kind)))


# ---- Factorizations

@public
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Var:
    """l of a = l l^H, lower triangles; `upper`: l^H. LinAlgError where a is not positive definite."""
    x, kind = _matrix(a, True)
    if upper:
        x = _adjoint(x)
    l = _cholesky(x)
    return astype(_adjoint(l) if upper else l, kind)


@public
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """q, orthonormal, and r, upper triangles, of a = q r. mode: reduced, complete, r (r alone), raw (as LAPACK has it)."""
    if mode not in ("reduced", "complete", "r", "raw"):
        raise InvalidArgument(f"Unrecognized mode '{mode}'")
    x, kind = _matrix(a)
    if is_traced(x) and (mode == "reduced" or mode == "r" or (mode == "complete" and x.shape[-2] <= x.shape[-1])):
        few = x.shape[-2]
        q, r = _qr(x[..., :few])
        if x.shape[-1] > few:
            r = join([r, matmul(matrix_transpose(q), x[..., few:])], r.ndim - 1)
    else:
        q, r = native.qr(x, mode == "complete", mode == "raw")
    if mode == "r":
        return astype(r, kind)
    return (astype(q, kind), astype(r, kind)) if mode == "raw" else QRResult(astype(q, kind), astype(r, kind))


@public
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """u, singular values (falling) and v^H of a = u s v^H; full_matrices: u and v square. compute_uv False: the values alone."""
    x, kind = _matrix(a)
    m, n = x.shape[-2:]
    batch = list(x.shape[:-2])
    few = min(m, n)
    if x.size == 0:
        u = expand_to(_creation.eye(m, m if full_matrices else few, dtype=x.dtype), [*batch, m, m if full_matrices else few]).clone()
        s = zeros_of([*batch, few], float64)
        vh = expand_to(_creation.eye(n if full_matrices else few, n, dtype=x.dtype), [*batch, n if full_matrices else few, n]).clone()
    else:
        _check_finite(x)
        wide = m < n
        across = _adjoint(x) if wide else x
        if is_traced(x):
            if full_matrices and compute_uv and m != n:
                raise Unsupported("svd() has no gradient of vectors beyond the singular values; take full_matrices=False")
            left, s, right = _svd(across)
            u, vh = (right, _adjoint(left)) if wide else (left, _adjoint(right))
        elif not compute_uv:
            return astype(_call(native.svd, across, False), _real(kind))
        else:
            left, s, right = _call(native.svd, across, True)
            if full_matrices and m != n:
                q, r = native.qr(left, True, False)
                left = join([left, q[..., few:]], left.ndim - 1)
            u, vh = (right, _adjoint(left)) if wide else (left, _adjoint(right))
    if not compute_uv:
        return astype(s, _real(kind))
    return SVDResult(astype(u, kind), astype(s, _real(kind)), astype(vh, kind))


@public
def svdvals(x: ArrayLike, /) -> Var:
    """The singular values, falling."""
    return svd(x, compute_uv=False)  # type: ignore[no-any-return]


# ---- Eigenvalues

@public
def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues, rising, and eigenvectors, as columns, of symmetric or Hermitian matrices; reads only one triangle."""
    x, kind = _matrix(a, True)
    if UPLO.upper() not in ("L", "U"):
        raise InvalidArgument("UPLO argument must be 'L' or 'U'")
    w, v = _eigh(x if UPLO.upper() == "L" else _adjoint(x))
    return EighResult(astype(w, _real(kind)), astype(v, kind))


@public
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> Var:
    """The eigenvalues, rising, of symmetric or Hermitian matrices."""
    x, kind = _matrix(a, True)
    if UPLO.upper() not in ("L", "U"):
        raise InvalidArgument("UPLO argument must be 'L' or 'U'")
    x = x if UPLO.upper() == "L" else _adjoint(x)
    return astype(_eigh(x)[0] if is_traced(x) else _call(native.eigh, x, False), _real(kind))


def _without_imaginary(w: Var, x: Var) -> bool:
    """Whether eigenvalues of real matrices are real, but for rounding."""
    if w.size == 0:
        return True
    size = _reductions.max(ew.absolute(x)).item() * x.shape[-1]
    return bool(_reductions.max(ew.absolute(ew.imag(w))).item() <= 1e-13 * size)


@public
def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of length 1 as columns; complex unless all eigenvalues of a real matrix are real."""
    x, kind = _matrix(a, True)
    _check_finite(x)
    w, v = _call(native.eig, astype(x, complex128), True)
    if x.dtype.kind == "f" and _without_imaginary(w, x):
        # Vectors of real eigenvalues are real but for a factor of length 1: that of their largest element.
        size = ew.absolute(v)
        from minnow.numpy._indexing import take_along_axis
        largest = take_along_axis(v, _reductions.argmax(size, -2, keepdims=True), -2) if v.size else v
        v = ew.real(ew.multiply(v, ew.divide(ew.conjugate(largest), astype(ew.absolute(largest), complex128)))) if v.size else ew.real(v)
        return EigResult(astype(ew.real(w), kind), astype(v, kind))
    return EigResult(astype(w, _complex(kind)), astype(v, _complex(kind)))


@public
def eigvals(a: ArrayLike) -> Var:
    """The eigenvalues, in no order; complex unless all of a real matrix are real."""
    x, kind = _matrix(a, True)
    _check_finite(x)
    w = _call(native.eig, astype(x, complex128), False)
    return astype(ew.real(w), kind) if x.dtype.kind == "f" and _without_imaginary(w, x) else astype(w, _complex(kind))


# ---- Norms and ranks

@public
def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Var:
    """The lengths of vectors along axes (all elements without one): ord 2, 1, infinity, -infinity, 0 (not zeros), or any power."""
    a = asarray(x)
    axes = axes_of(axis, a.ndim)
    if a.dtype.kind not in "fc":
        a = astype(a, float64)
    if isinstance(ord, str):
        raise InvalidArgument(f"Invalid norm order '{ord}' for vectors")
    size = ew.absolute(a)
    if ord == float("inf"):
        return _reductions.max(size, axes, keepdims=keepdims, initial=0)
    if ord == float("-inf"):
        return _reductions.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return _reductions.sum(astype(ew.not_equal(a, 0), size.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return _reductions.sum(size, axes, keepdims=keepdims)
    if ord is None or ord == 2:
        return ew.sqrt(_reductions.sum(ew.multiply(size, size), axes, keepdims=keepdims))
    total = _reductions.sum(ew.power(size, full_of((), ord, size.dtype)), axes, keepdims=keepdims)
    return ew.power(total, full_of((), 1.0 / ord, total.dtype))


@public
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Var:
    """The norms of matrices over the last two axes: fro, nuc, 1, -1, 2, -2, infinity, -infinity."""
    a = asarray(x)
    return norm(a, ord, (-2, -1), keepdims)


@public
def norm(x: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Var:
    """The lengths of vectors, or norms of matrices where two axes are given (or a matrix and an order)."""
    a = asarray(x)
    if a.dtype.kind not in "fc":
        a = astype(a, float64)
    if axis is None:
        if ord is None or ord == 2 and a.ndim == 1 or ord in ("f", "fro") and a.ndim == 2:
            return vector_norm(a, keepdims=keepdims)
        axes: Any = list(range(a.ndim))
    else:
        axes = [axis] if is_index(axis) else list(axis)  # type: ignore[arg-type]
    places = [axis_of(i, a.ndim) for i in axes]
    if len(places) == 1:
        return vector_norm(a, axis=places[0], keepdims=keepdims, ord=ord)
    if len(places) != 2:
        raise InvalidArgument("Improper number of dimensions to norm.")
    row, column = places
    if row == column:
        raise InvalidArgument("Duplicate axes given.")
    if ord in (None, "f", "fro"):
        return vector_norm(a, axis=places, keepdims=keepdims)
    inf = float("inf")
    if ord in (1, -1, inf, -inf):
        over, then = (row, column) if ord in (1, -1) else (column, row)
        sums = _reductions.sum(ew.absolute(a), over, keepdims=True)
        result = (_reductions.max if ord in (1, inf) else _reductions.min)(sums, then, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = svdvals(_shape.moveaxis(a, places, (-2, -1)))
        result = _reductions.max(s, -1) if ord == 2 else _reductions.min(s, -1) if ord == -2 else _reductions.sum(s, -1)
        result = reshape_to(result, [1 if i in places else dim for i, dim in enumerate(a.shape)])
    else:
        raise InvalidArgument("Invalid norm order for matrices.")
    return result if keepdims else reshape_to(result, [dim for i, dim in enumerate(a.shape) if i not in places])


@public
def cond(x: ArrayLike, p: Any = None) -> Var:
    """The condition numbers of matrices: the norm (2 without p) times that of the inverse; infinite for singular ones."""
    a, kind = _matrix(x)
    if a.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(a)
        result = ew.divide(s[..., 0], s[..., -1]) if p != -2 else ew.divide(s[..., -1], s[..., 0])
    else:
        if a.shape[-1] != a.shape[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")
        try:
            result = ew.multiply(norm(a, p, (-2, -1)), norm(inv(a), p, (-2, -1)))
        except LinAlgError:
            if a.ndim > 2:
                raise
            result = full_of((), float("inf"), float64)
    missing = ew.isnan(result) & ~_reductions.any(ew.isnan(a), (-2, -1))
    return astype(choose(missing, full_of((), float("inf"), float64), result), _real(kind))


@public
def matrix_rank(A: ArrayLike, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Var:
    """How many singular values are above tol, or rtol times the largest (the precision times the larger dimension)."""
    x = asarray(A)
    if x.ndim < 2:
        return astype(_reductions.any(ew.not_equal(x, 0)), int64)
    a, kind = _matrix(x)
    s = svdvals(a)
    if tol is None:
        from minnow.numpy._types import finfo
        share: Any = finfo(kind).eps * max(a.shape[-2:]) if rtol is None else rtol
        if not is_weak(share) and asarray(share).ndim:
            share = _shape.expand_dims(share, -1)
        limit: Any = ew.multiply(_reductions.max(s, -1, keepdims=True), share) if s.size else 0.0
    else:
        limit = _shape.expand_dims(asarray(tol), -1)
    return _reductions.sum(astype(s > limit, int64), -1)


@public
def matrix_power(a: ArrayLike, n: int) -> Var:
    """Matrices to a whole power; of a negative one the inverses are multiplied."""
    x = asarray(a)
    if x.ndim < 2:
        raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if not hasattr(n, "__index__"):
        raise InvalidType("exponent must be an integer")
    n = index_of(n)
    if n == 0:
        return expand_to(_creation.eye(x.shape[-1], dtype=x.dtype), x.shape).clone()
    if n < 0:
        x, n = inv(x), -n
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    assert result is not None
    return result.clone() if result is a else result


@public
def multi_dot(arrays: ArrayLike, *, out: Any = None) -> Var:
    """dot() of several matrices in the order that takes the fewest multiplications; the first and last may be vectors."""
    from minnow.numpy._core import deliver
    parts = [asarray(x) for x in beside(list(arrays))]
    if len(parts) < 2:
        raise InvalidArgument("Expecting at least two arrays.")
    first, end = parts[0].ndim == 1, parts[-1].ndim == 1
    if first:
        parts[0] = reshape_to(parts[0], [1, parts[0].size])
    if end:
        parts[-1] = reshape_to(parts[-1], [parts[-1].size, 1])
    for x in parts:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    n = len(parts)
    p = [x.shape[0] for x in parts] + [parts[-1].shape[1]]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min((cost[i][k] + cost[k + 1][j] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j))

    def product(i: int, j: int) -> Var:
        return parts[i] if i == j else _products.dot(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    result = product(0, n - 1)
    dims = [dim for dim, vector in zip(result.shape, (first, end)) if not vector]
    return deliver(reshape_to(result, dims), out)


# ---- Forms over the last axes

@public
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Var:
    """The diagonals of matrices over the last two axes."""
    return _diagonal(x, offset, -2, -1)


@public
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Var:
    """The sums of the diagonals of matrices over the last two axes."""
    return _creation.trace(x, offset, -2, -1, None if dtype is None else dtype_of(dtype))


@public
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> Var:
    """Sums over axes of both: a number (the last of x1, the first of x2), or the axes of each."""
    return _products.tensordot(x1, x2, axes)


@public
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Var:
    """The vectors that stand on both, of vectors of 3 elements."""
    a, b = asarray(x1), asarray(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise InvalidArgument(f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {a.shape[axis]} and {b.shape[axis]} dimensional instead.")
    return _products.cross(a, b, axis=axis)


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise unknown(__name__, name)
