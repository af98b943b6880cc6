# SPDX-License-Identifier: Apache-2.0
"""Products of vectors, matrices and tensors."""
from __future__ import annotations

import builtins
from typing import Any, Optional, Sequence, Union

from minnow._minnow import InvalidArgument, InvalidIndex, Var, op

from minnow.numpy import _elementwise as ew
from minnow.numpy import _reductions, _shape
from minnow.numpy import _open
from minnow.numpy._core import (flat, is_open, ArrayLike, DTypeLike, asarray, beside, held, astype, axis_of, broadcast_dims, deliver, dtype_of, expand_to, bfloat16, float16, float32, float64, int64, is_symbolic, is_true, native, pair, permute,
                                public, reshape_to, result_type, row_strides, size_of, zeros_of)


def matrices(x: Var, y: Var) -> Var:
    """The products of matrices [.., m, k] and [.., k, n] of one dtype; batches are broadcast."""
    if x.dtype.kind == "b":
        return is_true(native.matmul(astype(x, int64), astype(y, int64)))
    if is_symbolic(x) or is_symbolic(y):
        return op("MatMul", (x, y))
    if x.dtype in (float16, bfloat16):
        return astype(matrices(astype(x, float64), astype(y, float64)), x.dtype)
    product: Optional[Var] = native.product_at_hand(x, y)
    if product is not None:
        return product
    if x.dtype in (float32, float64) and x.size and y.size and not (x.is_computed and y.shape[-1] == 1):  # a column needs no plan
        if x.size * y.shape[-1] > 2048 or not (x.is_computed and y.is_computed):
            return op("MatMul", (x, y))
    return native.matmul(x, y)


def _mismatch(name: str, x: Var, y: Var, k: int, n: int) -> InvalidArgument:
    return InvalidArgument(f"{name}: Input operand 1 has a mismatch in its core dimension 0 (size {n} is different from {k}); the shapes are {x.shape} and {y.shape}")


@public
def matmul(x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, dtype: DTypeLike = None) -> Var:
    """Matrix products; vectors are rows before, columns behind; leading axes are broadcast. ValueError for numbers."""
    x, y = pair(x1, x2)
    if out is None and dtype is None:
        product: Optional[Var] = native.product_at_hand(x, y)
        if product is not None:
            return product
    if dtype is not None:
        x, y = astype(x, dtype_of(dtype)), astype(y, dtype_of(dtype))
    if x.known_shape is None or y.known_shape is None:
        return deliver(op("MatMul", (x, y)), out)
    for i, operand in enumerate((x, y)):
        if operand.ndim == 0:
            raise InvalidArgument(f"matmul: Input operand {i} does not have enough dimensions (has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
    row, column = x.ndim == 1, y.ndim == 1
    if x.shape[-1] != (y.shape[0] if column else y.shape[-2]):
        raise _mismatch("matmul", x, y, x.shape[-1], y.shape[0] if column else y.shape[-2])
    if row:
        x = reshape_to(x, [1, x.size])
    if column:
        y = reshape_to(y, [y.size, 1])
    broadcast_dims(x.shape[:-2], y.shape[:-2])
    result = matrices(x, y)
    if row or column:
        dims = list(result.shape)
        if column:
            del dims[-1]
        if row:
            del dims[-1 if column else -2]
        result = reshape_to(result, dims)
    return deliver(result, out)


@public
def dot(a: ArrayLike, b: ArrayLike, out: Any = None) -> Var:
    """The sums over the last axis of a and the last but one of b (its only one); the product with a number."""
    x, y = pair(a, b)
    if out is None and y.ndim <= 2:
        product: Optional[Var] = native.product_at_hand(x, y)
        if product is not None:
            return product
    if x.ndim == 0 or y.ndim == 0:
        return deliver(ew.multiply(x, y), out)
    if is_open(x) or is_open(y):
        return deliver(_open.contract(x, y, [x.ndim - 1], [0 if y.ndim == 1 else y.ndim - 2]), out)
    if x.shape[-1] != y.shape[0 if y.ndim == 1 else -2]:
        raise InvalidArgument(f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[0 if y.ndim == 1 else -2]} (dim {0 if y.ndim == 1 else y.ndim - 2})")
    if y.ndim <= 2:
        k = x.shape[-1]
        result = matrices(reshape_to(x, [size_of(x.shape[:-1]), k]), reshape_to(y, [k, 1]) if y.ndim == 1 else y)
        return deliver(reshape_to(result, [*x.shape[:-1], *(y.shape[1:] if y.ndim == 2 else [])]), out)
    return deliver(_contract(x, y, [x.ndim - 1], [y.ndim - 2]), out)


def _contract(x: Var, y: Var, over_x: Sequence[int], over_y: Sequence[int]) -> Var:
    """Sums over pairs of axes; the other axes of x, then those of y."""
    rest_x = [i for i in range(x.ndim) if i not in over_x]
    rest_y = [i for i in range(y.ndim) if i not in over_y]
    k = size_of([x.shape[i] for i in over_x])
    dims_x, dims_y = [x.shape[i] for i in rest_x], [y.shape[i] for i in rest_y]
    left = reshape_to(permute(x, rest_x + list(over_x)), [size_of(dims_x), k])
    right = reshape_to(permute(y, list(over_y) + rest_y), [k, size_of(dims_y)])
    return reshape_to(matrices(left, right), dims_x + dims_y)


@public
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Var:
    """Sums over axes of a and of b: a number (the last of a, the first of b), or the axes of each."""
    x, y = pair(a, b)
    if isinstance(axes, int):
        over_x, over_y = list(range(x.ndim - axes, x.ndim)), list(range(axes))
        for i, j in zip(over_x, over_y):
            if i < 0 or j >= y.ndim:
                raise InvalidIndex(f"there are no {axes} axes to sum over in shapes {x.shape} and {y.shape}")
            if not (is_open(x) or is_open(y)) and x.shape[i] != y.shape[j]:
                raise InvalidArgument("shape-mismatch for sum")
    else:
        first, second = axes
        over_x = [first] if isinstance(first, int) else list(first)
        over_y = [second] if isinstance(second, int) else list(second)
    if len(over_x) != len(over_y):
        raise InvalidArgument("shape-mismatch for sum")
    over_x, over_y = [axis_of(i, x.ndim) for i in over_x], [axis_of(i, y.ndim) for i in over_y]
    if len(set(over_x)) != len(over_x) or len(set(over_y)) != len(over_y):
        raise InvalidArgument("repeated axis in tensordot")
    if is_open(x) or is_open(y):
        return _open.contract(x, y, over_x, over_y)
    if any(x.shape[i] != y.shape[j] for i, j in zip(over_x, over_y)):
        raise InvalidArgument("shape-mismatch for sum")
    return _contract(x, y, over_x, over_y)


@public
def inner(a: ArrayLike, b: ArrayLike, /) -> Var:
    """The sums over the last axes of both; the product with a number."""
    x, y = pair(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return ew.multiply(x, y)
    if is_open(x) or is_open(y):
        return _open.contract(x, y, [x.ndim - 1], [y.ndim - 1])
    if x.shape[-1] != y.shape[-1]:
        raise InvalidArgument(f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[-1]} (dim {y.ndim - 1})")
    return _contract(x, y, [x.ndim - 1], [y.ndim - 1])


@public
def outer(a: ArrayLike, b: ArrayLike, out: Any = None) -> Var:
    """The products of all pairs of elements, [size of a, size of b]."""
    x, y = held(a), held(b)
    return deliver(ew.multiply(reshape_to(flat(x), [-1, 1] if is_open(x) else [x.size, 1]), flat(y)), out)


@public
def vdot(a: ArrayLike, b: ArrayLike, /) -> Var:
    """The sum of conj(a) * b over all elements."""
    x, y = pair(a, b)
    if is_open(x) or is_open(y):
        return _open.contract(flat(x), flat(y), [0], [0])
    if x.size != y.size:
        raise InvalidArgument("cannot reshape array of size {} into shape {}".format(y.size, (x.size,)))
    x = ew.conjugate(x) if x.dtype.kind == "c" else x
    return reshape_to(matrices(reshape_to(x, [1, x.size]), reshape_to(y, [y.size, 1])), [])


def _conjugated(x: Var) -> Var:
    return ew.conjugate(x) if x.dtype.kind == "c" else x


@public
def vecdot(x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, axis: int = -1) -> Var:
    """The sums of conj(x1) * x2 along an axis; the other axes are broadcast."""
    x, y = pair(x1, x2)
    if x.ndim == 0 or y.ndim == 0:
        raise InvalidArgument("vecdot: Input operand does not have enough dimensions")
    x, y = _shape.moveaxis(x, axis, -1), _shape.moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("vecdot", x, y, x.shape[-1], y.shape[-1])
    result = matrices(reshape_to(_conjugated(x), [*x.shape[:-1], 1, x.shape[-1]]), reshape_to(y, [*y.shape, 1]))
    return deliver(reshape_to(result, result.shape[:-2]), out)


@public
def matvec(x1: ArrayLike, x2: ArrayLike, /, out: Any = None) -> Var:
    """Matrices times vectors."""
    x, y = pair(x1, x2)
    if x.ndim < 2 or y.ndim < 1:
        raise InvalidArgument("matvec: Input operand does not have enough dimensions")
    if x.shape[-1] != y.shape[-1]:
        raise _mismatch("matvec", x, y, x.shape[-1], y.shape[-1])
    result = matrices(x, reshape_to(y, [*y.shape, 1]))
    return deliver(reshape_to(result, result.shape[:-1]), out)


@public
def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: Any = None) -> Var:
    """Conjugated vectors times matrices."""
    x, y = pair(x1, x2)
    if x.ndim < 1 or y.ndim < 2:
        raise InvalidArgument("vecmat: Input operand does not have enough dimensions")
    if x.shape[-1] != y.shape[-2]:
        raise _mismatch("vecmat", x, y, x.shape[-1], y.shape[-2])
    result = matrices(reshape_to(_conjugated(x), [*x.shape[:-1], 1, x.shape[-1]]), y)
    return deliver(reshape_to(result, [*result.shape[:-2], result.shape[-1]]), out)


@public
def kron(a: ArrayLike, b: ArrayLike) -> Var:
    """Blocks of b, each multiplied by an element of a."""
    x, y = pair(a, b)
    ndim = builtins.max(x.ndim, y.ndim)
    p, q = [1] * (ndim - x.ndim) + list(x.shape), [1] * (ndim - y.ndim) + list(y.shape)
    x = reshape_to(x, [n for dim in p for n in (dim, 1)])
    y = reshape_to(y, [n for dim in q for n in (1, dim)])
    return reshape_to(ew.multiply(x, y), [m * n for m, n in zip(p, q)])


@public
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Optional[int] = None) -> Var:
    """Return the cross products. Vectors of 2 elements are in the plane; for two of these only the third element is returned."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = map(asarray, beside((a, b)))
    if x.ndim == 0 or y.ndim == 0:
        raise InvalidArgument("At least one array has zero dimension")
    x, y = _shape.moveaxis(x, axisa, -1), _shape.moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise InvalidArgument(f"Both input arrays must be (arrays of) 2- or 3-dimensional vectors, but they are {x.shape[-1]} and {y.shape[-1]} dimensional instead.")
    x, y = pair(x, y)

    def part(v: Var, i: int) -> Optional[Var]:
        return v[..., i] if i < v.shape[-1] else None

    def minor(i: int, j: int) -> Var:
        p, q, r, s = part(x, i), part(y, j), part(x, j), part(y, i)
        left = ew.multiply(p, q) if p is not None and q is not None else None
        right = ew.multiply(r, s) if r is not None and s is not None else None
        if left is None:
            return ew.negative(right) if right is not None else zeros_of(broadcast_dims(x.shape[:-1], y.shape[:-1]), x.dtype)
        return left if right is None else ew.subtract(left, right)

    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return minor(0, 1)
    dims = broadcast_dims(x.shape[:-1], y.shape[:-1])
    parts = [expand_to(minor(i, j), dims) for i, j in ((1, 2), (2, 0), (0, 1))]
    return _shape.moveaxis(_shape.stack(parts, -1), -1, axisc)


# ---- einsum

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _parse(operands: tuple[Any, ...]) -> tuple[list[list[Any]], list[Any], list[Var]]:
    """The labels of each operand's axes and of the result's, and the operands. A label of the ellipsis is its place from the end."""
    if not operands:
        raise InvalidArgument("must specify the einstein sum subscripts string and at least one operand, or at least one operand and its corresponding subscripts list")
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), [asarray(x) for x in beside(operands[1:])]
        inputs_text, arrow, output_text = text.partition("->")
        words = inputs_text.split(",")
        output: Any = output_text if arrow else None
    else:
        pairs = list(operands)
        last = pairs.pop() if len(pairs) % 2 else None
        arrays = [asarray(x) for x in beside(pairs[::2])]

        def letters(items: Any) -> str:
            return "".join("..." if item is Ellipsis else _LETTERS[item] for item in items)

        words = [letters(items) for items in pairs[1::2]]
        output = None if last is None else letters(last)
    if len(words) != len(arrays):
        raise InvalidArgument("more operands provided to einstein sum function than specified in the subscripts string" if len(arrays) > len(words)
                         else "fewer operands provided to einstein sum function than specified in the subscripts string")

    def labels(word: str, hidden: Optional[int]) -> list[Any]:
        before, dots, after = word.partition("...")
        for letter in before + after:
            if letter not in _LETTERS:
                raise InvalidArgument(f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters")
        if hidden is None or not dots and hidden:
            raise InvalidArgument(f"operand has a number of dimensions that does not match the subscripts '{word}', and there is no ellipsis to take the others")
        return [*before, *([i - hidden for i in range(hidden)] if dots else []), *after]

    inputs = []
    most = 0
    for word, x in zip(words, arrays):
        hidden = x.ndim - len(word.replace("...", "", 1))
        if hidden < 0 or hidden and "..." not in word:
            raise InvalidArgument(f"einstein sum subscripts string '{word}' does not fit an operand of {x.ndim} dimensions")
        most = builtins.max(most, hidden)
        inputs.append(labels(word, hidden))
    every = [label for one in inputs for label in one]
    if output is None:
        names = sorted({label for label in every if isinstance(label, str) and every.count(label) == 1})
        return inputs, [*range(-most, 0), *names], arrays
    result = labels(output, most if "..." in output else 0)
    for label in result:
        if result.count(label) > 1:
            raise InvalidArgument(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
        if label not in every and isinstance(label, str):
            raise InvalidArgument(f"einstein sum subscripts string included output subscript '{label}' which never appeared in an input")
    if "..." not in output and most:
        raise InvalidArgument("output has no ellipsis, but an operand has dimensions that no subscript names")
    return inputs, result, arrays


def _diagonals(x: Var, labels: list[Any]) -> tuple[Var, list[Any]]:
    """Replace the axes that share a label by their diagonal."""
    own = list(dict.fromkeys(labels))
    if len(own) == len(labels):
        return x, labels
    strides = row_strides(x.shape)
    dims, steps = [], []
    for label in own:
        places = [i for i, one in enumerate(labels) if one == label]
        if len({x.shape[i] for i in places}) > 1:
            raise InvalidArgument(f"dimensions in single operand for collapsing index '{label}' don't match ({' != '.join(str(x.shape[i]) for i in places)})")
        dims.append(x.shape[places[0]])
        steps.append(builtins.sum(strides[i] for i in places))
    if size_of(dims) == 0:
        return zeros_of(dims, x.dtype), own
    return native.strided(x, 0, dims, steps), own


def _summed(x: Var, labels: list[Any], kept: set[Any]) -> tuple[Var, list[Any]]:
    gone = tuple(i for i, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return _reductions.sum(x, gone, x.dtype), [label for label in labels if label in kept]


def _product(x: Var, a: list[Any], y: Var, b: list[Any], kept: set[Any]) -> tuple[Var, list[Any]]:
    """One contraction: sums over labels of both that nobody else wants."""
    x, a = _summed(x, a, kept | set(b))
    y, b = _summed(y, b, kept | set(a))
    sizes: dict[Any, int] = {}
    for labels, array in ((a, x), (b, y)):
        for label, dim in zip(labels, array.shape):
            sizes[label] = dim if sizes.get(label, 1) == 1 else sizes[label]
    both = [label for label in a if label in b]
    # An axis of length 1 of one operand meets a longer one: it has nothing to be summed with.
    x = expand_to(x, [sizes[label] if label in both else dim for label, dim in zip(a, x.shape)])
    y = expand_to(y, [sizes[label] if label in both else dim for label, dim in zip(b, y.shape)])
    batch = [label for label in both if label in kept]
    over = [label for label in both if label not in kept]
    rows, columns = [label for label in a if label not in both], [label for label in b if label not in both]

    def size(labels: list[Any]) -> int:
        return size_of([sizes[label] for label in labels])

    left = reshape_to(permute(x, [a.index(label) for label in batch + rows + over]), [size(batch), size(rows), size(over)])
    right = reshape_to(permute(y, [b.index(label) for label in batch + over + columns]), [size(batch), size(over), size(columns)])
    made = ew.multiply(left, right) if size(over) == 1 and not over else matrices(left, right)
    order = batch + rows + columns
    return reshape_to(made, [sizes[label] for label in order]), order


@public
def einsum(*operands: Union[str, ArrayLike], out: Any = None, dtype: DTypeLike = None, casting: str = "safe", optimize: Any = False) -> Var:
    """Sum products by Einstein's convention: einsum("ij,jk->ik", a, b). Operands are contracted in pairs, those with the
    smallest result first. Errors: ValueError if subscripts do not fit each other or the operands."""
    inputs, output, arrays = _parse(operands)
    common = result_type(*arrays) if dtype is None else dtype_of(dtype)
    work = int64 if common.kind == "b" else float32 if common == float16 else common
    if builtins.any(is_open(x) for x in arrays):
        letters = {label: _LETTERS[i] for i, label in enumerate(dict.fromkeys(label for labels in inputs for label in labels))}
        equation = ",".join("".join(letters[label] for label in labels) for labels in inputs) + "->" + "".join(letters[label] for label in output)
        return deliver(astype(_open.einsum(equation, [astype(x, work) for x in arrays]), common), out)
    sizes: dict[Any, int] = {}
    for labels, x in zip(inputs, arrays):
        for label, dim in zip(labels, x.shape):
            known = sizes.get(label, 1)
            if dim != 1 and known not in (1, dim):
                raise InvalidArgument(f"operands could not be broadcast together: dimension '{label}' has the lengths {known} and {dim}")
            sizes[label] = known if dim == 1 else dim
    pending = [_diagonals(astype(x, work), labels) for x, labels in zip(arrays, inputs)]
    while len(pending) > 1:
        best: Any = None
        for i in range(len(pending)):
            for j in range(i + 1, len(pending)):
                rest = set(output).union(*(labels for k, (_, labels) in enumerate(pending) if k not in (i, j)))
                cost = size_of([sizes[label] for label in set(pending[i][1]) | set(pending[j][1]) if label in rest])
                if best is None or cost < best[0]:
                    best = cost, i, j, rest
        _, i, j, rest = best
        (x, a), (y, b) = pending[i], pending[j]
        made = _product(x, a, y, b, rest)
        del pending[j], pending[i]
        pending.append(made)
    result, labels = _summed(*pending[0], set(output))
    result = permute(result, [labels.index(label) for label in output if label in labels])
    dims = [result.shape[[label for label in output if label in labels].index(label)] if label in labels else 1 for label in output]
    result = reshape_to(result, dims)
    result = expand_to(result, [sizes.get(label, 1) for label in output])
    return deliver(astype(result, common), out)
