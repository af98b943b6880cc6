# SPDX-License-Identifier: Apache-2.0
"""Cases of the comparison with NumPy: the data that they are made of, and the list that every subject adds its own to."""
import math

import numpy as N

CASES = []  # (function's name, call of one module, arguments, options, tolerance)
ALL = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
WHOLE = ("bool", "uint8", "int64")
FLOATS = ("float16", "float32", "float64")
NUMBERS = tuple(name for name in ALL if name != "bool")
COMPLEX = ("complex64", "complex128")
SHAPES = ((), (0,), (1,), (7,), (3, 4), (2, 3, 4), (1, 5), (0, 3), (2, 0, 3))
EDGES = {"float": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, 1e-3, 30.0, math.inf, -math.inf, math.nan, 1e4],
         "int": [0, 1, 2, 3, 7, 100, 127, -1, -128, 5]}


def data(shape, dtype, kind="any", seed=0):
    return N.asarray(elements(shape, dtype, kind, seed))


def elements(shape, dtype, kind, seed):
    """Elements of a dtype. kind: any, finite, positive, unit (within -1 and 1), small (whole numbers), edge."""
    random = N.random.default_rng([len(shape), *shape, sum(map(ord, dtype)), seed])
    size = int(N.prod(shape))
    if dtype == "bool":
        return (random.random(shape) < 0.5)
    if dtype in COMPLEX:
        return (data(shape, "float64", kind, seed) + 1j * data(shape, "float64", kind, seed + 1)).astype(dtype)
    if dtype.startswith("float"):
        if kind == "edge":
            return N.resize(N.array(EDGES["float"]), size).reshape(shape).astype(dtype)
        if kind == "small":
            return random.integers(-4, 5, shape).astype(dtype)
        if kind == "unit":
            return random.uniform(-1, 1, shape).astype(dtype)
        if kind == "positive":
            return random.uniform(0.1, 4, shape).astype(dtype)
        return (random.standard_normal(shape) * 3).astype(dtype)
    if kind == "edge":
        return N.resize(N.array(EDGES["int"]), size).reshape(shape).astype(dtype)
    low, high = (0, 12) if dtype.startswith("u") or kind == "positive" else (-9, 10)
    if kind == "positive":
        low = 1
    return random.integers(low, high, shape).astype(dtype)


def add(name, call, *arguments, tolerance=None, **options):
    """One case: call(module, *arguments) with arrays made for the module."""
    CASES.append((name, call, arguments, options, tolerance))


def call_of(name):
    def call(module, *arguments, **options):
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        return function(*arguments, **options)
    return call


def case(name, *arguments, tolerance=None, **options):
    CASES.append((name, call_of(name), arguments, options, tolerance))


def method(name, x, *arguments, **options):
    CASES.append(("ndarray." + name, lambda module, x, *args, **opts: getattr(x, name)(*args, **opts), (x, *arguments), options, None))


def spread(shape, dtype, seed=0):
    """Well conditioned square matrices."""
    return (data(shape, dtype, "unit", seed) + 3 * N.eye(shape[-1])).astype(dtype)
