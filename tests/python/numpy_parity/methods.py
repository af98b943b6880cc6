# SPDX-License-Identifier: Apache-2.0
"""Methods and attributes of arrays, and NumPy's own functions called with ours."""
import numpy as N
import minnow.numpy as M
from minnow._minnow import Var

from numpy_parity.cases import add, ALL, CASES, data, SHAPES


def methods():
    for dtype in ALL:
        for shape in SHAPES:
            x = data(shape, dtype, "small")
            for name in ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "flatten", "ravel", "squeeze", "copy", "nonzero", "conj", "round",
                         "transpose", "diagonal", "trace", "swapaxes"):
                arguments = (0, 1) if name == "swapaxes" else ()
                loose = {"float16": 3e-3, "float32": 3e-6}.get(dtype)
                CASES.append(("ndarray." + name, lambda m, x, *args, name=name: getattr(x, name)(*args), (x, *arguments), {}, loose))
                if name in ("sum", "max", "min", "mean", "all", "any", "argmax", "cumsum"):
                    CASES.append(("ndarray." + name, lambda m, x, *args, name=name: getattr(x, name)(*args), (x, 0), {}, loose))

            def sorted_(m, x):
                x.sort()
                return x
            add("ndarray.sort", sorted_, x)
            add("ndarray.argsort", lambda m, x: x.argsort(kind="stable"), x)
            add("ndarray.take", lambda m, x: x.take([0, -1]), x)
            add("ndarray.repeat", lambda m, x: x.repeat(2), x)
            add("ndarray.clip", lambda m, x: x.clip(0, 2), x)
            add("ndarray.reshape", lambda m, x: x.reshape(-1), x)
            add("ndarray.T", lambda m, x: x.T, x)
            add("ndarray.real", lambda m, x: x.real, x)
            add("ndarray.imag", lambda m, x: x.imag, x)
            add("ndarray.size", lambda m, x: (x.size, x.ndim, x.shape, x.nbytes, x.itemsize), x)
            add("ndarray.flat", lambda m, x: list(x.flat), x)
            add("ndarray.byteswap", lambda m, x: x.byteswap().tobytes(), x)
            add("ndarray.strides", lambda m, x: x.strides if x.size else None, x)
            add("ndarray.no_such", lambda m, x: x.no_such, x)

            def filled(m, x):
                x.fill(1)
                return x
            add("ndarray.fill", filled, x)
    for name in ("sum", "max", "sqrt", "add", "concatenate", "where", "mean", "transpose", "argsort", "stack", "clip", "std", "einsum", "tensordot"):
        def dispatched(m, x, name):
            """NumPy's own function called with our array gives what ours gives."""
            arguments = {"add": (x, x), "concatenate": ([x, x],), "stack": ([x, x],), "where": (x > 0, x, x), "clip": (x, 0, 2), "einsum": ("ij->j", x), "tensordot": (x, x, 2)}.get(name, (x,))
            result = getattr(N, name)(*arguments)
            if m is M and not isinstance(result, Var):
                raise AssertionError(f"numpy.{name} of a Var gives {type(result)}")
            return result
        add("__array_function__." + name, dispatched, data((3, 4), "float64"), name)
