#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.numpy against NumPy: generated calls of every function over dtypes, shapes, axes and edge values.

Results have NumPy's dtype and shape and are equal within 1 ulp or 1e-6; what NumPy refuses is refused with an exception of the same class.
Prints the number of cases and of functions. MINNOW_PARITY_PART "1/4" runs every fourth group of cases; --function NAME those of one function.
"""
import argparse
import os
import sys
import time
import warnings

try:
    import numpy as N
    import minnow.numpy as M
    from minnow._minnow import Var
except ImportError as error:
    print(error)
    sys.exit(77)

from numpy_parity.cases import CASES  # noqa: E402
from numpy_parity.elementwise import elementwise  # noqa: E402
from numpy_parity.fft import fourier  # noqa: E402
from numpy_parity.files import files_and_text  # noqa: E402
from numpy_parity.indexing import indexing  # noqa: E402
from numpy_parity.large import large  # noqa: E402
from numpy_parity.linalg import linear_algebra  # noqa: E402
from numpy_parity.methods import methods  # noqa: E402
from numpy_parity.polynomials import polynomials  # noqa: E402
from numpy_parity.products import products  # noqa: E402
from numpy_parity.random import random_streams  # noqa: E402
from numpy_parity.reductions import reductions  # noqa: E402
from numpy_parity.shapes import shapes  # noqa: E402
from numpy_parity.sorting import sorting  # noqa: E402
from numpy_parity.statistics import statistics  # noqa: E402
from numpy_parity.views import views  # noqa: E402

warnings.simplefilter("ignore")
N.seterr(all="ignore")


def ours(value):
    if isinstance(value, N.ndarray):
        return Var(value, copy=True)
    if isinstance(value, N.generic):
        return Var(value, copy=True)
    if isinstance(value, N.dtype):
        return value.name
    if isinstance(value, list):
        return [ours(item) for item in value]
    if isinstance(value, tuple):
        return tuple(ours(item) for item in value)
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    return value


def copied(value):
    if isinstance(value, N.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return value


# Where the sign of a zero is part of the meaning (of equals any may be the largest, or the first in order).
SIGNED = ("add", "subtract", "multiply", "divide", "negative", "copysign", "floor", "ceil", "trunc", "rint", "sqrt", "fix", "modf", "round", "positive", "conjugate")


def same(a, b, tolerance=None, name=""):
    """Why a (ours) is not b (NumPy's); None if it is."""
    if isinstance(b, (tuple, list)) and not isinstance(a, Var):
        if len(a) != len(b):
            return f"{len(a)} results, not {len(b)}"
        for i, (one, other) in enumerate(zip(a, b)):
            why = same(one, other, tolerance, name)
            if why:
                return f"result {i}: {why}"
        return None
    if isinstance(b, (str, bytes)) or b is None or isinstance(b, type) or callable(b):
        return None if a == b else f"{a!r} is not {b!r}"
    if isinstance(b, N.dtype):
        return None if a == b else f"dtype {a}, not {b}"
    array = isinstance(a, Var)
    x = N.asarray(a) if array else N.asarray(a)
    y = N.asarray(b)
    if x.shape != y.shape:
        return f"shape {x.shape}, not {y.shape}"
    if array and isinstance(b, (N.ndarray, N.generic)) and x.dtype != y.dtype:
        return f"dtype {x.dtype}, not {y.dtype}"
    if y.dtype.kind in "biu" and not (x.dtype.kind in "fc"):
        return None if N.array_equal(x, y) else f"{x.tolist()!r:.300} is not {y.tolist()!r:.300}"
    if y.size == 0:
        return None
    kind = y.dtype if y.dtype.kind in "fc" else N.dtype("float64")
    limit = {"float16": 1e-3, "float32": 1e-6, "complex64": 2e-6}.get(kind.name, 1e-6) if tolerance is None else tolerance
    wide = "complex128" if kind.kind == "c" or x.dtype.kind == "c" else "float64"
    xs, ys = x.astype(wide), y.astype(wide)
    near = (N.abs(xs - ys) <= limit * (1 + N.abs(ys))) | (xs == ys) | (N.isnan(xs) & N.isnan(ys))
    if kind.name in ("float16", "float32", "float64"):
        near |= (N.abs(xs - ys) <= N.spacing(N.abs(y).astype(kind)).astype("float64") * 1.01) & N.isfinite(ys)
        signs = (xs == 0) & (ys == 0) & (N.signbit(x) != N.signbit(y))
        if signs.any() and name in SIGNED:
            return f"the sign of a zero differs: {x.tolist()!r:.200} and {y.tolist()!r:.200}"
    if near.all():
        return None
    bad = N.argwhere(~near)[0]
    return f"at {tuple(map(int, bad))}: {x[tuple(bad)]!r} is not {y[tuple(bad)]!r} (of {x.tolist()!r:.200} and {y.tolist()!r:.200})"


GROUPS = (large, elementwise, reductions, shapes, indexing, sorting, statistics, products, linear_algebra, fourier, random_streams, files_and_text, polynomials, methods, views)
CLASSES = (M.linalg.LinAlgError, N.linalg.LinAlgError, M.AxisError, N.exceptions.AxisError, IndexError, TypeError, ZeroDivisionError, OverflowError, KeyError, AttributeError, EOFError, NotImplementedError,
           RuntimeError, ValueError, Exception)
ALIKE = {M.linalg.LinAlgError: "LinAlgError", N.linalg.LinAlgError: "LinAlgError", M.AxisError: "AxisError", N.exceptions.AxisError: "AxisError"}


def kind_of(error):
    found = next(kind for kind in CLASSES if isinstance(error, kind))
    return ALIKE.get(found, found.__name__)


def outcome(call, module, arguments, options):
    try:
        return call(module, *arguments, **options), None
    except Exception as error:
        return None, error


def run(one):
    """Why a case fails; None if it does not."""
    name, call, arguments, options, tolerance = one
    wanted, refused = outcome(call, N, copied(arguments), options)
    given, error = outcome(call, M, ours(arguments), ours(options))
    if refused is not None:
        if error is None:
            return f"NumPy refuses ({type(refused).__name__}: {refused}), the result is {str(given)[:100]}"
        if isinstance(refused, N._core._exceptions._UFuncNoLoopError):
            refused = TypeError(str(refused))
        one, other = kind_of(error), kind_of(refused)
        lenient = {("AxisError", "ValueError"), ("AxisError", "IndexError"), ("LinAlgError", "ValueError"), ("ValueError", "LinAlgError"), ("IndexError", "AxisError"), ("ValueError", "AxisError")}
        if name == "ndarray.__setitem__" and {one, other} == {"IndexError", "ValueError"}:
            return None  # of an index out of range and a value of another shape either may be told first
        return None if one == other or (one, other) in lenient else f"{type(error).__name__} ({error}), NumPy has {type(refused).__name__} ({refused})"
    if error is not None:
        return f"{type(error).__name__}: {error}"
    try:
        return same(given, wanted, tolerance, name)
    except Exception as problem:
        return f"{type(problem).__name__} while comparing: {problem}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--function")
    parser.add_argument("--group")
    parser.add_argument("--part", default=os.environ.get("MINNOW_PARITY_PART", "1/1"))
    parser.add_argument("--most", type=int, default=40, help="failures that are shown")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    for group in GROUPS:
        if arguments.group in (None, group.__name__):
            group()
    cases = [one for one in CASES if arguments.function in (None, one[0])]
    chosen = cases[part - 1::parts]
    start = time.time()
    failures = {}
    for one in chosen:
        why = run(one)
        if why is not None:
            failures.setdefault(one[0], []).append((one, why))
    count = sum(map(len, failures.values()))
    for shown, (name, found) in enumerate(sorted(failures.items(), key=lambda item: -len(item[1]))):
        if shown >= arguments.most:
            break
        (_, _, given, options, _), why = found[0]
        print(f"{name}: {len(found)} fail, first {str(given)[:160]!r} {str(options)[:80]}: {why}"[:700])
    names = {one[0] for one in cases}
    print(f"{len(chosen)} cases of {len(names)} functions and methods in {time.time() - start:.1f} s, {count} fail in {len(failures)} functions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
