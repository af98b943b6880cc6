# SPDX-License-Identifier: Apache-2.0
"""Calls of minnow.numpy that NumPy refuses, for malformed_test.py: [(what they have in common, functions)]."""
import os
import tempfile

import minnow.numpy as np

A = np.arange(6.0).reshape(2, 3)
V = np.arange(4.0)
I = np.arange(4)  # noqa: E741
HUGE = 2**45


def written(data):
    handle, path = tempfile.mkstemp(suffix=".npy")
    os.write(handle, data)
    os.close(handle)
    try:
        return np.load(path)
    finally:
        os.unlink(path)


def npy(header):
    text = header.encode().ljust(118 - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def assign(x, key, value):
    x = x.copy()
    x[key] = value


REDUCTIONS = ("sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "all", "any", "median", "ptp", "cumsum", "cumprod", "nansum", "nanmax",
              "nanmean", "nanstd", "sort", "argsort", "diff", "flip", "count_nonzero", "trapezoid")

CASES = [
    ("an axis that NumPy refuses", [
        *(lambda name=name: getattr(np, name)(A, axis=2) for name in REDUCTIONS),
        *(lambda name=name: getattr(np, name)(A, axis=-3) for name in REDUCTIONS),
        *(lambda name=name: getattr(np, name)(A, axis=0.5) for name in ("sum", "max", "sort", "argmax", "cumsum", "flip")),
        *(lambda name=name: getattr(np, name)(A, axis="x") for name in ("sum", "max", "mean", "argmin")),
        *(lambda name=name: getattr(np, name)(A, axis=(0, 0)) for name in ("sum", "max", "mean", "all")),
        lambda: np.concatenate([A, A], axis=2), lambda: np.stack([A, A], axis=4), lambda: np.split(A, 3, axis=5), lambda: np.expand_dims(A, 5),
        lambda: np.squeeze(A, 0), lambda: np.moveaxis(A, 0, 3), lambda: np.swapaxes(A, 0, 2), lambda: np.rollaxis(A, 3), lambda: np.roll(A, 1, axis=2),
        lambda: np.take(A, [0], axis=2), lambda: np.repeat(A, 2, axis=2), lambda: np.delete(A, 0, axis=2), lambda: np.insert(A, 0, 1, axis=2),
        lambda: np.unique(A, axis=3), lambda: np.apply_along_axis(np.sum, 3, A), lambda: np.tensordot(A, A, axes=3), lambda: np.cross(A, A, axis=4),
        lambda: np.transpose(A, (0, 0)), lambda: np.transpose(A, (0,)), lambda: np.fft.fft(A, axis=2), lambda: np.linalg.norm(A, axis=2),
    ]),
    ("shapes that NumPy refuses", [
        lambda: A + np.ones((2, 4)), lambda: np.add(A, [1, 2]), lambda: A @ A, lambda: np.matmul(A, 3), lambda: np.dot(A, A), lambda: np.inner(A, V),
        lambda: np.vdot(V, A), lambda: np.reshape(A, (4, 2)), lambda: np.reshape(A, (-1, -1)), lambda: np.reshape(A, (-1, 0)),
        lambda: np.broadcast_to(A, (3, 3)), lambda: np.broadcast_to(A, (2,)), lambda: np.broadcast_to(A, (-1, 3)), lambda: np.broadcast_arrays(A, np.ones((4, 4))),
        lambda: np.broadcast_shapes((2, 3), (4, 3)), lambda: np.concatenate([A, V]), lambda: np.concatenate([]), lambda: np.concatenate([np.float32(1)]),
        lambda: np.stack([A, V]), lambda: np.stack([]), lambda: np.vstack([A, np.ones((2, 4))]), lambda: np.hstack([A, np.ones((3, 3))]),
        lambda: np.split(V, 3), lambda: np.split(V, 0), lambda: np.array_split(V, 0), lambda: np.array_split(V, -2), lambda: np.tile(V, -1), lambda: np.repeat(V, -1),
        lambda: np.repeat(V, [1, 2]), lambda: np.where(A > 0, A, V), lambda: np.where(A > 0, A), lambda: np.select([A > 0], [A, A]), lambda: np.zeros(-1),
        lambda: np.ones((2, -3)), lambda: np.full((2,), [1, 2, 3]), lambda: np.eye(-1), lambda: np.linspace(0, 1, -1), lambda: np.meshgrid(A, V, indexing="xx"),
        lambda: np.pad(A, -1), lambda: np.pad(A, [[1, 1], [1, 1], [1, 1]]), lambda: np.pad(A, 1, mode="mirrored"), lambda: np.convolve([], V), lambda: np.convolve(A, V),
        lambda: np.interp(1.0, [1, 2], [1]), lambda: np.interp(1.0, [], []), lambda: np.cross(np.ones(4), np.ones(4)), lambda: np.kron(A, "a"),
        lambda: np.einsum("ij,jk->ik", A, A), lambda: np.einsum("ij->k", A), lambda: np.einsum("ij", A, A), lambda: np.einsum("", A), lambda: np.einsum("i-j", A), lambda: np.einsum(A),
        lambda: np.histogram(V, bins=0), lambda: np.histogram(V, bins=[3, 1]), lambda: np.histogram(V, range=(2, 1)), lambda: np.bincount([-1]), lambda: np.bincount([0.5]),
        lambda: np.bincount(A), lambda: np.digitize(V, [1, 3, 2]), lambda: np.searchsorted(A, 1), lambda: np.percentile(V, 101), lambda: np.quantile(V, -0.1),
        lambda: np.quantile(V, 0.5, method="magic"), lambda: np.average(V, weights=[1]), lambda: np.average(V, weights=[0, 0, 0, 0]), lambda: np.min([]), lambda: np.argmax([]),
        lambda: np.trace(V), lambda: np.diag(np.ones((2, 2, 2))), lambda: np.fill_diagonal(V, 1), lambda: np.polyfit(V, [1, 2], 1), lambda: np.vander(A),
        lambda: np.arange(0, 1, 0), lambda: np.arange(0, float("nan")), lambda: np.arange("a"), lambda: np.logspace(0, 1, -2), lambda: np.geomspace(0, 1), lambda: np.gradient(A, axis=5),
        lambda: np.array([[1, 2], [3]]), lambda: np.array("text"), lambda: np.array([None]), lambda: np.array([1, 2], dtype="int33"), lambda: np.asarray({}), lambda: np.array([300], dtype="uint8"),
    ]),
    ("indices that NumPy refuses", [
        lambda: A[2], lambda: A[0, 3], lambda: A[0, 0, 0], lambda: A[[0, 2]], lambda: A[[0, 1], [0, 1, 2]], lambda: A[[0.5]], lambda: A["a"], lambda: A[np.ones(3) > 0],
        lambda: A[np.ones((2, 2)) > 0], lambda: A[[True, False, True]], lambda: A[..., ...], lambda: A[::0], lambda: A[[[0, 1], [2]]], lambda: A[np.array([0, -3])],
        lambda: np.take(V, 4), lambda: np.take(V, [0], mode="jump"), lambda: np.take_along_axis(A, np.array([[5]]), 1), lambda: np.choose([5], [V, V]), lambda: np.compress([1] * 9, V),
        lambda: np.put(V.copy(), 9, 1), lambda: np.unravel_index(99, (2, 3)), lambda: np.ravel_multi_index((5, 5), (2, 3)), lambda: np.delete(V, 9), lambda: np.insert(V, 9, 1),
        lambda: np.ix_(A, A), lambda: np.tril(np.float32(1)), lambda: np.partition(V, 9), lambda: np.flipud(np.float32(1)), lambda: np.fliplr(V), lambda: np.rot90(V),
        lambda: assign(A, [0, 5], 1), lambda: assign(A, A > 1, [1, 2, 3]), lambda: assign(A, (0, [0, 1]), [1, 2, 3]), lambda: assign(A, "x", 1), lambda: assign(A, [[True], [False]], 1),
        lambda: np.copyto(A.copy(), np.ones((4, 4))), lambda: np.copyto(I.copy(), [0.5] * 4), lambda: np.putmask(V.copy(), [True], "a"), lambda: np.add(V, 1, out=np.zeros(3)),
        lambda: np.add(V, 0.5, out=I.copy()), lambda: np.sum(A, axis=0, out=np.zeros(5)), lambda: np.add(V, 1, where=[1, 0]), lambda: np.add(V, 1, casting="safest"),
    ]),
    ("dtypes and kinds that NumPy refuses", [
        lambda: np.zeros(2, dtype="float12"), lambda: np.zeros(2, dtype=3), lambda: A.astype("text"), lambda: np.add(V, "a"), lambda: np.add(V, None), lambda: np.add(V, {}),
        lambda: np.left_shift(V, 1), lambda: np.bitwise_and(V, 1), lambda: np.invert(V), lambda: np.gcd(V, 2), lambda: np.lcm(V, 2), lambda: np.power(I, -1), lambda: np.float_power(),
        lambda: np.ldexp(V, 0.5), lambda: np.packbits(V), lambda: np.unpackbits(V), lambda: np.zeros(2).view("int3"), lambda: np.finfo("int32"), lambda: np.iinfo("float32"),
        lambda: np.dtype("nothing"), lambda: np.can_cast("a", "b"), lambda: np.result_type(), lambda: np.promote_types("int32", "x"), lambda: np.round(V, "a"), lambda: np.clip(V, "a", 1),
        lambda: np.frombuffer(b"abc", dtype="float32"), lambda: np.frombuffer(b"abcd", dtype="float32", count=9), lambda: np.frombuffer(b"abcd", dtype="float32", offset=9),
        lambda: np.frombuffer(3), lambda: np.fromstring("1 2 x", sep=" "), lambda: np.fromiter(3, "int32"), lambda: np.sin("a"), lambda: np.sin(), lambda: np.sin(V, V, V, V),
        lambda: np.sin(V, shape=3), lambda: np.angle("a"), lambda: np.meshgrid("a"), lambda: np.not_there(V), lambda: np.linalg.not_there(A), lambda: np.random.not_there(3),
        lambda: np.apply_along_axis(3, 0, A), lambda: np.vectorize(3)(V), lambda: np.piecewise(V, [V > 1], []), lambda: np.sort(V, kind="bogo"), lambda: np.nan_to_num("a"),
    ]),
    ("linear algebra that NumPy refuses", [
        lambda: np.linalg.inv(A), lambda: np.linalg.inv([[1.0, 2.0], [2.0, 4.0]]), lambda: np.linalg.inv(V), lambda: np.linalg.solve(A, V), lambda: np.linalg.solve([[0.0]], [1.0]),
        lambda: np.linalg.solve(np.eye(2), np.ones(3)), lambda: np.linalg.det(A), lambda: np.linalg.det(V), lambda: np.linalg.cholesky([[0.0, 1.0], [1.0, 0.0]]), lambda: np.linalg.cholesky(A),
        lambda: np.linalg.eigh(A), lambda: np.linalg.eig(A), lambda: np.linalg.eig([[float("nan"), 1], [1, 1]]), lambda: np.linalg.svd(V), lambda: np.linalg.qr(V), lambda: np.linalg.qr(A, mode="odd"),
        lambda: np.linalg.lstsq(A, V), lambda: np.linalg.pinv(V), lambda: np.linalg.matrix_power(A, 2), lambda: np.linalg.matrix_power(np.eye(2), 0.5),
        lambda: np.linalg.matrix_power(np.zeros((2, 2)), -1), lambda: np.linalg.norm(A, "nuclear"), lambda: np.linalg.norm(np.ones((2, 2, 2)), "fro"), lambda: np.linalg.norm("a"),
        lambda: np.linalg.multi_dot([A]), lambda: np.linalg.multi_dot([A, A]), lambda: np.linalg.tensorinv(A), lambda: np.linalg.slogdet(V), lambda: np.linalg.eigh(np.eye(2), UPLO="X"),
        lambda: np.fft.fft([]), lambda: np.fft.fft(V, n=0), lambda: np.fft.fft(V, n=-4), lambda: np.fft.fft(V, norm="loud"), lambda: np.fft.fft2(V), lambda: np.fft.fftn(A, s=(1,), axes=(0, 1)),
        lambda: np.fft.fft("a"), lambda: np.fft.rfft(V + 1j), lambda: np.fft.fftfreq(0), lambda: np.fft.fftfreq(2.5),
    ]),
    ("random numbers that NumPy refuses", [
        lambda: np.random.default_rng(-1), lambda: np.random.default_rng("seed"), lambda: np.random.default_rng(0.5), lambda: np.random.default_rng(0).normal(0, -1),
        lambda: np.random.default_rng(0).uniform(0, float("inf")), lambda: np.random.default_rng(0).integers(5, 1), lambda: np.random.default_rng(0).integers(0, 300, dtype="uint8"),
        lambda: np.random.default_rng(0).choice(3, 5, replace=False), lambda: np.random.default_rng(0).choice([]), lambda: np.random.default_rng(0).choice(3, p=[0.5, 0.6, 0.1]),
        lambda: np.random.default_rng(0).choice(3, p=[1.0]), lambda: np.random.default_rng(0).random(-2), lambda: np.random.default_rng(0).random((2, -1)), lambda: np.random.default_rng(0).random("a"),
        lambda: np.random.default_rng(0).shuffle(3), lambda: np.random.default_rng(0).permutation("a"), lambda: np.random.default_rng(0).exponential(-1), lambda: np.random.randint(5, 1),
        lambda: np.random.randn(-1), lambda: np.random.seed(-1), lambda: np.random.choice(0), lambda: np.random.default_rng(0).normal(np.ones(3), np.ones(4)), lambda: np.random.rand(2.5),
    ]),
    ("files that NumPy refuses", [
        lambda: np.load("/nowhere/x.npy"), lambda: np.load(""), lambda: np.load("/"), lambda: written(b""), lambda: written(b"\x93NUMPY"), lambda: written(b"\x93NUMPY\x09\x00" + bytes(100)),
        lambda: written(b"PK\x03\x04" + bytes(50)), lambda: written(bytes(200)), lambda: written(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}")),
        lambda: written(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}") + bytes(12)), lambda: written(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + bytes(8)),
        lambda: written(npy("{'descr': '<f4', 'shape': (1,)}") + bytes(8)), lambda: written(npy("__import__('os').abort()") + bytes(8)), lambda: written(npy("{" * 100) + bytes(8)),
        lambda: written(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}") + bytes(8)),
        lambda: written(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}") + bytes(8)), lambda: written(npy("{'descr': '<q9', 'fortran_order': False, 'shape': (1,)}") + bytes(8)),
        lambda: np.save("/nowhere/x.npy", A), lambda: np.save("/tmp/never.npy", "text"), lambda: np.savez("/nowhere/x.npz", a=A), lambda: np.loadtxt("/nowhere/x.txt"), lambda: np.fromfile("/nowhere/x", "float32"),
    ]),
    ("arrays that no memory holds", [
        lambda: np.zeros(HUGE), lambda: np.ones((HUGE, HUGE)), lambda: np.empty(2**62), lambda: np.full(HUGE, 1.0), lambda: np.arange(HUGE), lambda: np.linspace(0, 1, HUGE), lambda: np.eye(2**24),
        lambda: np.tile(V, HUGE), lambda: np.repeat(V, HUGE), lambda: np.outer(np.zeros(2**23), np.zeros(2**23)), lambda: np.pad(V, HUGE), lambda: np.random.default_rng(0).random(HUGE), lambda: np.bincount([HUGE]),
        lambda: np.broadcast_to(V, (HUGE, 4)).copy(), lambda: np.identity(2**24), lambda: np.tri(2**24), lambda: np.resize(V, HUGE), lambda: np.random.default_rng(0).permutation(HUGE), lambda: np.zeros(2**70),
    ]),
]
