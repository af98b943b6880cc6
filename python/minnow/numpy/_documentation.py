# SPDX-License-Identifier: Apache-2.0
"""Additions to the docstrings of minnow.numpy: the function whose rules hold, and examples, which a test runs."""
from __future__ import annotations

from typing import Any

_EXAMPLES = {
    "add": """>>> np.add([1, 2], [10, 20])
Var([11, 22], shape=(2,), dtype=int64)""",
    "subtract": """>>> np.subtract([3.0, 2.0], 1.0)
Var([2., 1.], shape=(2,), dtype=float64)""",
    "multiply": """>>> np.multiply([1, 2], 3)
Var([3, 6], shape=(2,), dtype=int64)""",
    "divide": """>>> np.divide([1, 2], 4)
Var([0.25, 0.5 ], shape=(2,), dtype=float64)""",
    "floor_divide": """>>> np.floor_divide([7, -7], 2)
Var([ 3, -4], shape=(2,), dtype=int64)""",
    "remainder": """>>> np.remainder([7, -7], 3)
Var([1, 2], shape=(2,), dtype=int64)""",
    "power": """>>> np.power([2, 3], 2)
Var([4, 9], shape=(2,), dtype=int64)""",
    "negative": """>>> np.negative([1.0, -2.0])
Var([-1.,  2.], shape=(2,), dtype=float64)""",
    "absolute": """>>> np.absolute([-1.5, 2.0])
Var([1.5, 2. ], shape=(2,), dtype=float64)""",
    "sign": """>>> np.sign([-3.0, 0.0, 2.0])
Var([-1.,  0.,  1.], shape=(3,), dtype=float64)""",
    "sqrt": """>>> np.sqrt([4.0, 9.0])
Var([2., 3.], shape=(2,), dtype=float64)""",
    "square": """>>> np.square([2, 3])
Var([4, 9], shape=(2,), dtype=int64)""",
    "exp": """>>> np.exp([0.0])
Var([1.], shape=(1,), dtype=float64)""",
    "log": """>>> np.log([1.0])
Var([0.], shape=(1,), dtype=float64)""",
    "log2": """>>> np.log2([8.0])
Var([3.], shape=(1,), dtype=float64)""",
    "maximum": """>>> np.maximum([1, 5], [4, 2])
Var([4, 5], shape=(2,), dtype=int64)""",
    "minimum": """>>> np.minimum([1, 5], [4, 2])
Var([1, 2], shape=(2,), dtype=int64)""",
    "hypot": """>>> np.hypot(3.0, 4.0)
Var(5.0, shape=(), dtype=float64)""",
    "floor": """>>> np.floor([1.7, -1.2])
Var([ 1., -2.], shape=(2,), dtype=float64)""",
    "ceil": """>>> np.ceil([1.2, -1.2])
Var([ 2., -1.], shape=(2,), dtype=float64)""",
    "rint": """>>> np.rint([0.5, 1.5])
Var([0., 2.], shape=(2,), dtype=float64)""",
    "trunc": """>>> np.trunc([1.7, -1.7])
Var([ 1., -1.], shape=(2,), dtype=float64)""",
    "round": """>>> np.round([1.25, 2.75], 1)
Var([1.2, 2.8], shape=(2,), dtype=float64)""",
    "clip": """>>> np.clip([-2, 1, 7], 0, 5)
Var([0, 1, 5], shape=(3,), dtype=int64)""",
    "where": """>>> np.where([True, False], [1, 2], [3, 4])
Var([1, 4], shape=(2,), dtype=int64)""",
    "isnan": """>>> np.isnan([1.0, np.nan])
Var([False,  True], shape=(2,), dtype=bool)""",
    "isfinite": """>>> np.isfinite([1.0, np.inf])
Var([ True, False], shape=(2,), dtype=bool)""",
    "equal": """>>> np.equal([1, 2], [1, 3])
Var([ True, False], shape=(2,), dtype=bool)""",
    "less": """>>> np.less([1, 2], 2)
Var([ True, False], shape=(2,), dtype=bool)""",
    "logical_and": """>>> np.logical_and([True, False], [True, True])
Var([ True, False], shape=(2,), dtype=bool)""",
    "logical_not": """>>> np.logical_not([True, False])
Var([False,  True], shape=(2,), dtype=bool)""",
    "bitwise_and": """>>> np.bitwise_and([6, 5], [3, 1])
Var([2, 1], shape=(2,), dtype=int64)""",
    "left_shift": """>>> np.left_shift([1, 2], 3)
Var([ 8, 16], shape=(2,), dtype=int64)""",
    "gcd": """>>> np.gcd(12, 18)
Var(6, shape=(), dtype=int64)""",
    "lcm": """>>> np.lcm(4, 6)
Var(12, shape=(), dtype=int64)""",
    "allclose": """>>> np.allclose([1.0], [1.0 + 1e-9])
True""",
    "array_equal": """>>> np.array_equal([1, 2], [1, 2])
True""",
    "isclose": """>>> np.isclose([1.0, 2.0], [1.0, 2.1])
Var([ True, False], shape=(2,), dtype=bool)""",
    "array": """>>> np.array([[1, 2], [3, 4]], "float32")
Var([[1., 2.],
     [3., 4.]], shape=(2, 2), dtype=float32)""",
    "arange": """>>> np.arange(0, 10, 3)
Var([0, 3, 6, 9], shape=(4,), dtype=int64)""",
    "linspace": """>>> np.linspace(0.0, 1.0, 5)
Var([0.  , 0.25, 0.5 , 0.75, 1.  ], shape=(5,), dtype=float64)""",
    "logspace": """>>> np.logspace(0, 2, 3)
Var([  1.,  10., 100.], shape=(3,), dtype=float64)""",
    "zeros": """>>> np.zeros((2, 3))
Var([[0., 0., 0.],
     [0., 0., 0.]], shape=(2, 3), dtype=float64)""",
    "ones": """>>> np.ones(2, "int32")
Var([1, 1], shape=(2,), dtype=int32)""",
    "full": """>>> np.full((2, 2), 7)
Var([[7, 7],
     [7, 7]], shape=(2, 2), dtype=int64)""",
    "eye": """>>> np.eye(2)
Var([[1., 0.],
     [0., 1.]], shape=(2, 2), dtype=float64)""",
    "identity": """>>> np.identity(2)
Var([[1., 0.],
     [0., 1.]], shape=(2, 2), dtype=float64)""",
    "diag": """>>> np.diag([1, 2])
Var([[1, 0],
     [0, 2]], shape=(2, 2), dtype=int64)""",
    "diagonal": """>>> np.diagonal([[1, 2], [3, 4]])
Var([1, 4], shape=(2,), dtype=int64)""",
    "trace": """>>> np.trace([[1, 2], [3, 4]])
Var(5, shape=(), dtype=int64)""",
    "tri": """>>> np.tri(2)
Var([[1., 0.],
     [1., 1.]], shape=(2, 2), dtype=float64)""",
    "tril": """>>> np.tril([[1, 2], [3, 4]])
Var([[1, 0],
     [3, 4]], shape=(2, 2), dtype=int64)""",
    "triu": """>>> np.triu([[1, 2], [3, 4]])
Var([[1, 2],
     [0, 4]], shape=(2, 2), dtype=int64)""",
    "meshgrid": """>>> np.meshgrid([1, 2], [3, 4])[0]
Var([[1, 2],
     [1, 2]], shape=(2, 2), dtype=int64)""",
    "zeros_like": """>>> np.zeros_like([1, 2])
Var([0, 0], shape=(2,), dtype=int64)""",
    "frombuffer": """>>> np.frombuffer(b"\\x01\\x02", "uint8")
Var([1, 2], shape=(2,), dtype=uint8)""",
    "fromiter": """>>> np.fromiter((i * i for i in range(3)), "int64")
Var([0, 1, 4], shape=(3,), dtype=int64)""",
    "reshape": """>>> np.reshape([1, 2, 3, 4], (2, -1))
Var([[1, 2],
     [3, 4]], shape=(2, 2), dtype=int64)""",
    "ravel": """>>> np.ravel([[1, 2], [3, 4]])
Var([1, 2, 3, 4], shape=(4,), dtype=int64)""",
    "transpose": """>>> np.transpose([[1, 2], [3, 4]])
Var([[1, 3],
     [2, 4]], shape=(2, 2), dtype=int64)""",
    "swapaxes": """>>> np.swapaxes([[1, 2], [3, 4]], 0, 1)
Var([[1, 3],
     [2, 4]], shape=(2, 2), dtype=int64)""",
    "moveaxis": """>>> np.moveaxis(np.zeros((1, 2, 3)), 0, -1).shape
(2, 3, 1)""",
    "squeeze": """>>> np.squeeze([[[1, 2]]])
Var([1, 2], shape=(2,), dtype=int64)""",
    "expand_dims": """>>> np.expand_dims([1, 2], 0)
Var([[1, 2]], shape=(1, 2), dtype=int64)""",
    "broadcast_to": """>>> np.broadcast_to([1, 2], (2, 2))
Var([[1, 2],
     [1, 2]], shape=(2, 2), dtype=int64)""",
    "concatenate": """>>> np.concatenate([[1, 2], [3]])
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "stack": """>>> np.stack([[1, 2], [3, 4]], axis=1)
Var([[1, 3],
     [2, 4]], shape=(2, 2), dtype=int64)""",
    "vstack": """>>> np.vstack([[1, 2], [3, 4]])
Var([[1, 2],
     [3, 4]], shape=(2, 2), dtype=int64)""",
    "hstack": """>>> np.hstack([[1, 2], [3]])
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "split": """>>> np.split(np.arange(4), 2)
[Var([0, 1], shape=(2,), dtype=int64), Var([2, 3], shape=(2,), dtype=int64)]""",
    "tile": """>>> np.tile([1, 2], 2)
Var([1, 2, 1, 2], shape=(4,), dtype=int64)""",
    "repeat": """>>> np.repeat([1, 2], 2)
Var([1, 1, 2, 2], shape=(4,), dtype=int64)""",
    "flip": """>>> np.flip([1, 2, 3])
Var([3, 2, 1], shape=(3,), dtype=int64)""",
    "roll": """>>> np.roll([1, 2, 3], 1)
Var([3, 1, 2], shape=(3,), dtype=int64)""",
    "rot90": """>>> np.rot90([[1, 2], [3, 4]])
Var([[2, 4],
     [1, 3]], shape=(2, 2), dtype=int64)""",
    "append": """>>> np.append([1, 2], 3)
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "insert": """>>> np.insert([1, 3], 1, 2)
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "delete": """>>> np.delete([1, 2, 3], 1)
Var([1, 3], shape=(2,), dtype=int64)""",
    "pad": """>>> np.pad([1, 2], (1, 2))
Var([0, 1, 2, 0, 0], shape=(5,), dtype=int64)""",
    "take": """>>> np.take([10, 20, 30], [2, 0])
Var([30, 10], shape=(2,), dtype=int64)""",
    "take_along_axis": """>>> np.take_along_axis(np.array([[3, 1]]), np.array([[1, 0]]), 1)
Var([[1, 3]], shape=(1, 2), dtype=int64)""",
    "nonzero": """>>> np.nonzero([0, 3, 4])
(Var([1, 2], shape=(2,), dtype=int64),)""",
    "argwhere": """>>> np.argwhere([[0, 1], [2, 0]])
Var([[0, 1],
     [1, 0]], shape=(2, 2), dtype=int64)""",
    "compress": """>>> np.compress([True, False, True], [1, 2, 3])
Var([1, 3], shape=(2,), dtype=int64)""",
    "select": """>>> np.select([np.array([True, False])], [np.array([1, 2])], 9)
Var([1, 9], shape=(2,), dtype=int64)""",
    "sum": """>>> np.sum([[1, 2], [3, 4]], axis=0)
Var([4, 6], shape=(2,), dtype=int64)
>>> np.sum([1.0, 2.0])
Var(3.0, shape=(), dtype=float64)""",
    "prod": """>>> np.prod([2, 3, 4])
Var(24, shape=(), dtype=int64)""",
    "mean": """>>> np.mean([[1.0, 2.0], [3.0, 4.0]], axis=1)
Var([1.5, 3.5], shape=(2,), dtype=float64)""",
    "std": """>>> np.std([1.0, 3.0])
Var(1.0, shape=(), dtype=float64)""",
    "var": """>>> np.var([1.0, 3.0])
Var(1.0, shape=(), dtype=float64)""",
    "min": """>>> np.min([3, 1, 2])
Var(1, shape=(), dtype=int64)""",
    "max": """>>> np.max([[1, 5], [4, 2]], axis=1, keepdims=True)
Var([[5],
     [4]], shape=(2, 1), dtype=int64)""",
    "argmax": """>>> np.argmax([3, 7, 2])
Var(1, shape=(), dtype=int64)""",
    "argmin": """>>> np.argmin([3, 7, 2])
Var(2, shape=(), dtype=int64)""",
    "any": """>>> np.any([False, True])
Var(True, shape=(), dtype=bool)""",
    "all": """>>> np.all([[True, False], [True, True]], axis=1)
Var([False,  True], shape=(2,), dtype=bool)""",
    "cumsum": """>>> np.cumsum([1, 2, 3])
Var([1, 3, 6], shape=(3,), dtype=int64)""",
    "cumprod": """>>> np.cumprod([1, 2, 3])
Var([1, 2, 6], shape=(3,), dtype=int64)""",
    "count_nonzero": """>>> np.count_nonzero([0, 1, 2])
Var(2, shape=(), dtype=int64)""",
    "ptp": """>>> np.ptp([3, 7, 2])
Var(5, shape=(), dtype=int64)""",
    "average": """>>> np.average([1.0, 3.0], weights=[3.0, 1.0])
Var(1.5, shape=(), dtype=float64)""",
    "nanmean": """>>> np.nanmean([1.0, np.nan, 3.0])
Var(2.0, shape=(), dtype=float64)""",
    "nansum": """>>> np.nansum([1.0, np.nan])
Var(1.0, shape=(), dtype=float64)""",
    "median": """>>> np.median([3.0, 1.0, 2.0])
Var(2.0, shape=(), dtype=float64)""",
    "percentile": """>>> np.percentile([1.0, 2.0, 3.0], 50)
Var(2.0, shape=(), dtype=float64)""",
    "quantile": """>>> np.quantile([1.0, 2.0, 3.0], 0.25)
Var(1.5, shape=(), dtype=float64)""",
    "histogram": """>>> np.histogram([1, 2, 2, 3], bins=3)[0]
Var([1, 2, 1], shape=(3,), dtype=int64)""",
    "bincount": """>>> np.bincount([0, 2, 2])
Var([1, 0, 2], shape=(3,), dtype=int64)""",
    "digitize": """>>> np.digitize([0.5, 1.5], [0.0, 1.0])
Var([1, 2], shape=(2,), dtype=int64)""",
    "diff": """>>> np.diff([1, 4, 9])
Var([3, 5], shape=(2,), dtype=int64)""",
    "gradient": """>>> np.gradient([1.0, 4.0, 9.0])
Var([3., 4., 5.], shape=(3,), dtype=float64)""",
    "interp": """>>> np.interp(1.5, [1.0, 2.0], [10.0, 20.0])
Var(15.0, shape=(), dtype=float64)""",
    "convolve": """>>> np.convolve([1, 2], [1, 1])
Var([1, 3, 2], shape=(3,), dtype=int64)""",
    "correlate": """>>> np.correlate([1.0, 2.0, 3.0], [1.0])
Var([1., 2., 3.], shape=(3,), dtype=float64)""",
    "cov": """>>> np.cov([1.0, 3.0])
Var(2.0, shape=(), dtype=float64)""",
    "sort": """>>> np.sort([3, 1, 2])
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "argsort": """>>> np.argsort([3, 1, 2])
Var([1, 2, 0], shape=(3,), dtype=int64)""",
    "unique": """>>> np.unique([3, 1, 3])
Var([1, 3], shape=(2,), dtype=int64)""",
    "searchsorted": """>>> np.searchsorted([1, 3, 5], 4)
Var(2, shape=(), dtype=int64)""",
    "isin": """>>> np.isin([1, 2, 3], [2])
Var([False,  True, False], shape=(3,), dtype=bool)""",
    "intersect1d": """>>> np.intersect1d([1, 2, 3], [3, 2])
Var([2, 3], shape=(2,), dtype=int64)""",
    "union1d": """>>> np.union1d([1, 2], [2, 3])
Var([1, 2, 3], shape=(3,), dtype=int64)""",
    "setdiff1d": """>>> np.setdiff1d([1, 2, 3], [2])
Var([1, 3], shape=(2,), dtype=int64)""",
    "partition": """>>> np.partition([3, 1, 2], 0)[0]
Var(1, shape=(), dtype=int64)""",
    "matmul": """>>> np.matmul([[1, 2], [3, 4]], [1, 10])
Var([21, 43], shape=(2,), dtype=int64)""",
    "dot": """>>> np.dot([1.0, 2.0], [3.0, 4.0])
Var(11.0, shape=(), dtype=float64)""",
    "inner": """>>> np.inner([1, 2], [3, 4])
Var(11, shape=(), dtype=int64)""",
    "outer": """>>> np.outer([1, 2], [3, 4])
Var([[3, 4],
     [6, 8]], shape=(2, 2), dtype=int64)""",
    "tensordot": """>>> np.tensordot([[1, 2]], [[3], [4]], 1)
Var([[11]], shape=(1, 1), dtype=int64)""",
    "einsum": """>>> np.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10])
Var([21, 43], shape=(2,), dtype=int64)""",
    "kron": """>>> np.kron([1, 2], [1, 1])
Var([1, 1, 2, 2], shape=(4,), dtype=int64)""",
    "cross": """>>> np.cross([1, 0, 0], [0, 1, 0])
Var([0, 0, 1], shape=(3,), dtype=int64)""",
    "polyval": """>>> np.polyval([1, 2], 3)
Var(5, shape=(), dtype=int64)""",
    "roots": """>>> np.roots([1.0, -3.0, 2.0])
Var([2., 1.], shape=(2,), dtype=float64)""",
    "packbits": """>>> np.packbits([1, 0, 0, 0, 0, 0, 0, 1])
Var([129], shape=(1,), dtype=uint8)""",
    "can_cast": """>>> np.can_cast("int64", "float32")
False""",
    "issubdtype": """>>> np.issubdtype("float32", np.floating)
True""",
    "linalg.norm": """>>> np.linalg.norm([3.0, 4.0])
Var(5.0, shape=(), dtype=float64)""",
    "linalg.det": """>>> np.linalg.det([[2.0, 0.0], [0.0, 3.0]])
Var(6.0, shape=(), dtype=float64)""",
    "linalg.inv": """>>> np.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
Var([[0.5 , 0.  ],
     [0.  , 0.25]], shape=(2, 2), dtype=float64)""",
    "linalg.solve": """>>> np.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 8.0])
Var([1., 2.], shape=(2,), dtype=float64)""",
    "linalg.matrix_power": """>>> np.linalg.matrix_power([[1, 1], [0, 1]], 3)
Var([[1, 3],
     [0, 1]], shape=(2, 2), dtype=int64)""",
    "linalg.matrix_rank": """>>> np.linalg.matrix_rank([[1.0, 1.0], [2.0, 2.0]])
Var(1, shape=(), dtype=int64)""",
    "linalg.cholesky": """>>> np.linalg.cholesky([[4.0, 0.0], [0.0, 9.0]])
Var([[2., 0.],
     [0., 3.]], shape=(2, 2), dtype=float64)""",
    "fft.fft": """>>> np.fft.fft([1.0, 1.0])
Var([2.+0.j, 0.+0.j], shape=(2,), dtype=complex128)""",
    "fft.fftfreq": """>>> np.fft.fftfreq(4)
Var([ 0.  ,  0.25, -0.5 , -0.25], shape=(4,), dtype=float64)""",
    "fft.fftshift": """>>> np.fft.fftshift([0, 1, 2, 3])
Var([2, 3, 0, 1], shape=(4,), dtype=int64)""",
    "random.default_rng": """>>> np.random.default_rng(1).integers(0, 10, 3)
Var([4, 5, 7], shape=(3,), dtype=int64)""",
    "base_repr": """>>> np.base_repr(10, 2)
'1010'""",
    "binary_repr": """>>> np.binary_repr(5, 8)
'00000101'""",
}


def complete(registry: dict[str, Any]) -> None:
    """Gives each function of the registry its reference and its example."""
    seen = set()
    for name, function in registry.items():
        function = getattr(function, "__func__", function)  # of random, methods of one generator
        text = function.__doc__
        if text is None or id(function) in seen:  # python -OO; one function of two names
            continue
        seen.add(id(function))
        example = _EXAMPLES.get(name)
        function.__doc__ = (f"{text.rstrip()}\n\nDtypes, shapes and errors (TypeError, ValueError, IndexError, AxisError, LinAlgError) are those of numpy.{name}()."
                            + (f"\n\n{example}\n" if example else ""))


__all__ = ["complete"]
