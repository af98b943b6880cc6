#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.numpy against NumPy: the same calls, by turns in one process; the shortest and the median time of each, and NumPy's time over ours.

    PYTHONPATH=build/release/python python bench/python_numpy.py [--only TEXT] [--rounds N] [--threads N]

NumPy's threads are those of its BLAS; --threads sets both, ours by the cores that the process may use (OPENBLAS_NUM_THREADS has to be set
before NumPy is loaded).
"""
import argparse
import os
import statistics
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--only", default="", help="tasks whose name contains this")
parser.add_argument("--rounds", type=int, default=15)
parser.add_argument("--threads", type=int, default=os.cpu_count())
arguments = parser.parse_args()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(arguments.threads)

if arguments.threads < os.cpu_count() and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-arguments.threads:])

import numpy  # noqa: E402

import minnow.numpy  # noqa: E402

TASKS = []


def task(name, *arrays):
    def made(function):
        TASKS.append((name, function, arrays))
        return function
    return made


def normal(*shape, dtype="float32"):
    return numpy.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def positive(*shape, dtype="float32"):
    return numpy.abs(normal(*shape, dtype=dtype)) + 0.1


@task("small: a + b, 4 floats", normal(4), normal(4))
def small(np, a, b):
    return a + b


@task("small: sum of 4 floats", normal(4))
def small_sum(np, a):
    return a.sum()


for dtype in ("float32", "float64"):
    big = positive(1_000_000, dtype=dtype)

    @task(f"chain of 20 operations, 1e6 {dtype}", big, positive(1_000_000, dtype=dtype))
    def chain(np, a, b):
        x = a
        for _ in range(4):
            x = (x + b) * 0.5
            x = np.maximum(x - a, 0.25)
            x = x * b
        return x

    @task(f"sqrt(a * a + b * b), 1e6 {dtype}", big, big)
    def length(np, a, b):
        return np.sqrt(a * a + b * b)

    for name in ("exp", "log", "sin", "tanh", "sqrt"):
        @task(f"{name}, 1e6 {dtype}", big)
        def function(np, a, name=name):
            return getattr(np, name)(a)

    for name in ("log2", "expm1", "tan", "arctan", "sinh", "arcsinh", "cbrt"):
        @task(f"{name}, 1e6 {dtype}", positive(1_000_000, dtype=dtype))
        def rarer(np, a, name=name):
            return getattr(np, name)(a)

    for name in ("power", "arctan2", "hypot"):
        @task(f"{name}, 1e6 {dtype}", big, normal(1_000_000, dtype=dtype))
        def of_two(np, a, b, name=name):
            return getattr(np, name)(a, b)

    matrix = normal(1000, 1000, dtype=dtype)
    for name in ("sum", "max", "mean", "std", "argmax"):
        for axis in (None, 0, 1):
            @task(f"{name} axis={axis}, 1000x1000 {dtype}", matrix)
            def reduced(np, a, name=name, axis=axis):
                return getattr(np, name)(a, axis=axis)
    for n in (64, 256, 1024):
        @task(f"matmul {n}x{n} {dtype}", normal(n, n, dtype=dtype), normal(n, n, dtype=dtype))
        def product(np, a, b):
            return a @ b

    @task(f"matrix times vector, 1000x1000 {dtype}", matrix, normal(1000, dtype=dtype))
    def times_vector(np, a, b):
        return a @ b

    @task(f"a[a > 0], 1e6 {dtype}", normal(1_000_000, dtype=dtype))
    def masked(np, a):
        return a[a > 0]

    @task(f"where, 1e6 {dtype}", normal(1_000_000, dtype=dtype), big)
    def chosen(np, a, b):
        return np.where(a > 0, a, b)

    @task(f"sort, 1e6 {dtype}", normal(1_000_000, dtype=dtype))
    def ordered(np, a):
        return np.sort(a)

    @task(f"cumsum, 1e6 {dtype}", big)
    def running(np, a):
        return np.cumsum(a)

    @task(f"transpose and copy, 1000x1000 {dtype}", matrix)
    def turned(np, a):
        return a.T.copy()

    @task(f"concatenate, 2 of 1e6 {dtype}", big, big)
    def joined(np, a, b):
        return np.concatenate([a, b])


@task("take of 1e6 rows, 1e6 float32", big.astype("float32"), numpy.random.default_rng(1).integers(0, 1_000_000, 1_000_000))
def taken(np, a, i):
    return np.take(a, i)


@task("einsum ij,jk,kl->il, 200 float32", normal(200, 200), normal(200, 200), normal(200, 200))
def summed(np, a, b, c):
    return np.einsum("ij,jk,kl->il", a, b, c)


@task("fft of 65536, complex128", normal(65536, dtype="float64") + 1j * normal(65536, dtype="float64"))
def transformed(np, a):
    return np.fft.fft(a)


@task("solve 300x300 float64", normal(300, 300, dtype="float64") + 20 * numpy.eye(300), normal(300, dtype="float64"))
def solved(np, a, b):
    return np.linalg.solve(a, b)


@task("svd 100x100 float64", normal(100, 100, dtype="float64"))
def decomposed(np, a):
    return np.linalg.svd(a)


@task("eigh 100x100 float64", normal(100, 100, dtype="float64") + normal(100, 100, dtype="float64").T)
def eigen(np, a):
    return np.linalg.eigh(a)


@task("default_rng().standard_normal(1e6)")
def drawn(np):
    return np.random.default_rng(1).standard_normal(1_000_000)


@task("unique, 1e5 int64", numpy.random.default_rng(1).integers(0, 1000, 100_000))
def distinct(np, a):
    return np.unique(a, return_counts=True)


def read(value):
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, minnow.Var):
            one.evaluate()


def seconds(function, module, arrays, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        read(function(module, *arrays))
    return (time.perf_counter() - start) / repeats


def main():
    print(f"{'':44}{'Minnow min':>12}{'median':>10}{'NumPy min':>12}{'median':>10}{'ratio of min':>14}{'of medians':>12}")
    for name, function, arrays in TASKS:
        if arguments.only not in name:
            continue
        sides = [(minnow.numpy, [minnow.Var(a, copy=True) for a in arrays], []), (numpy, list(arrays), [])]
        once = min(seconds(function, module, own, 1) for module, own, _ in sides for _ in range(2))
        repeats = max(1, min(10000, int(0.004 / max(once, 1e-7))))
        for _ in range(arguments.rounds):
            for module, own, times in sides:
                times.append(seconds(function, module, own, repeats))
        (ours, theirs) = (times for _, _, times in sides)
        low, mid = min(theirs) / min(ours), statistics.median(theirs) / statistics.median(ours)
        print(f"{name:44}" + "".join(f"{1e6 * value:>{width}.1f}" for value, width in
                                     ((min(ours), 12), (statistics.median(ours), 10), (min(theirs), 12), (statistics.median(theirs), 10))) + f"{low:14.2f}{mid:12.2f}")
    print("times in microseconds; a ratio above 1: Minnow is faster")


if __name__ == "__main__":
    main()
