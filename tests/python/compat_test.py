#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.compat: MNN's names and signatures, against NumPy where NumPy has the function."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    import minnow.compat  # noqa: F401
    import MNN
    import MNN.numpy
    from minnow import expr as own
    from MNN import expr as F
except ImportError as error:
    print(error)
    sys.exit(77)

X = np.random.default_rng(3).standard_normal((2, 3, 4, 5)).astype(np.float32)


class Expressions(unittest.TestCase):
    def same(self, found, expected):
        expected = np.asarray(expected)
        self.assertIsInstance(found, F.Var)
        self.assertIsInstance(found.shape, list)
        dtype = {"bool": "int32", "int64": "int32"}.get(str(expected.dtype), str(expected.dtype))  # MNN has no bool
        self.assertEqual((found.shape, str(found.dtype)), (list(expected.shape), dtype))
        np.testing.assert_allclose(found.read(), expected, rtol=1e-5, atol=1e-6)

    def test_what_mnn_has_beside_layers(self):
        # The numbers are MNN 3.6.1's.
        a, b = F.const([1.0, 2.0], [2]), F.const([3.0, 4.0], [2])
        for function, expected in ((F.eltwise_sum, [4, 6]), (F.eltwise_sub, [-2, -2]), (F.eltwise_prod, [3, 8]), (F.eltwise_max, [3, 4])):
            self.same(function(a, b, []), np.float32(expected))
        self.same(F.eltwise_sum(a, b, [2.0, 3.0]), np.float32([11, 16]))
        self.same(F.matrix_band_part(F.const(list(range(12)), [3, 4]), -1, 1), np.float32([[0, 1, 0, 0], [4, 5, 6, 0], [8, 9, 10, 11]]))
        self.same(F.matrix_band_part(F.const(list(range(1, 10)), [3, 3]), 1, 0), np.float32([[1, 0, 0], [4, 5, 0], [0, 8, 9]]))
        self.same(F.setdiff1d(F.const([1, 2, 2, 3, 4], [5], F.NCHW, F.int), F.const([2, 3], [2], F.NCHW, F.int)), np.int32([1, 4]))
        self.same(F.unravel_index(F.const([5, 7], [2], F.NCHW, F.int), F.const([3, 4], [2], F.NCHW, F.int)), np.int32([[1, 1], [1, 3]]))
        self.same(F.histogram(F.const([1, 2, 3, 4, 5, 9], [6]), 4, 1, 5), np.float32([1, 1, 1, 2]))
        x = F.const(list(range(16)), [1, 1, 4, 4])
        zeros = F.const([0] * 4, [2, 2], F.NCHW, F.int)
        blocks = F.space_to_batch_nd(x, F.const([2, 2], [2], F.NCHW, F.int), zeros)
        self.same(blocks, np.float32([[[[0, 2], [8, 10]]], [[[1, 3], [9, 11]]], [[[4, 6], [12, 14]]], [[[5, 7], [13, 15]]]]))
        self.same(F.batch_to_space_nd(blocks, [2, 2], zeros), x.read())
        padded = F.space_to_batch_nd(F.const(list(range(1, 10)), [1, 1, 3, 3]), F.const([2, 2], [2], F.NCHW, F.int), F.const([0, 1, 1, 0], [2, 2], F.NCHW, F.int))
        self.same(padded, np.float32([[[[0, 2], [0, 8]]], [[[1, 3], [7, 9]]], [[[0, 5], [0, 0]]], [[[4, 6], [0, 0]]]]))
        self.same(F.nms(F.const([0, 0, 1, 1, 0, 0, 1, 1.05, 5, 5, 6, 6], [3, 4]), F.const([.9, .8, .7], [3]), 3, 0.5, 0.1), np.int32([0, 2]))
        self.assertEqual((int(F.PrecisionMode.Low), F.CPU, F.Low_BF16), (2, F.Backend.CPU, F.PrecisionMode.Low_BF16))
        manager = MNN.nn.create_runtime_manager(({"backend": F.Backend.CPU, "precision": F.PrecisionMode.High, "power": F.PowerMode.Low, "numThread": 1},))
        self.assertEqual(manager.options, {"threads": 1, "precision": "high", "power": "efficient"})
        self.same(MNN.numpy.repmat(F.const([1.0, 2.0], [2]), 2, 2), np.float32([[1, 2, 1, 2]] * 2))

    def test_values(self):
        x = F.const([1, 2, 3, 4], [2, 2], F.NCHW, F.int)
        self.same(x, np.array([[1, 2], [3, 4]], np.int32))
        self.assertEqual(F.const([1.0, 2.0]).dtype, F.float)
        self.assertEqual((x.read_as_tuple(), x.data_format, x.valid), ((1, 2, 3, 4), F.NCHW, True))
        y = F.placeholder([2, 2], F.NHWC)
        total = F.reduce_sum(y * 2)
        y.write([1, 2, 3, 4])
        self.same(total, np.float32(20))
        y.write(np.full((2, 2), 5, np.float32))
        self.same(total, np.float32(40))
        self.assertIsNone(y.copy_from(F.const([1.0] * 4, [2, 2])))
        self.same(total, np.float32(8))
        self.same(F.scalar(3), np.int32(3))
        self.same(F.fill([2, 3], F.scalar(4.0)), np.full((2, 3), 4, np.float32))
        self.same(F.range(F.scalar(0.0), F.scalar(6.0), F.scalar(2.0)), np.arange(0, 6, 2, np.float32))
        self.same(F.cast(X, F.int), X.astype(np.int32))
        self.assertTrue((F.randomuniform([50], low=2.0, high=3.0).read() >= 2).all())
        self.same(F.zeros_like(X), np.zeros_like(X))

    def test_elementwise(self):
        y = np.abs(X) + 1
        for name, expected in {"subtract": X - y, "multiply": X * y, "divide": X / y, "floordiv": X // y, "floormod": X % y, "minimum": np.minimum(X, y), "maximum": np.maximum(X, y),
                               "atan2": np.arctan2(X, y), "squared_difference": (X - y) ** 2, "not_equal": X != y, "greater_equal": X >= y, "less_equal": X <= y, "bias_add": X + y,
                               "equal": X == y, "greater": X > y, "less": X < y, "add": X + y}.items():
            with self.subTest(name):
                self.same(getattr(F, name)(F.const(X, X.shape), y), expected)
        for name, expected in {"negative": -X, "square": X * X, "expm1": np.expm1(X)}.items():
            self.same(getattr(F, name)(X), expected)
        self.same(F.log1p(y), np.log1p(y))
        self.same(F.rsqrt(y), 1 / np.sqrt(y))
        self.same(F.erfc(np.array([0.0, 1.0, -1.0])), np.array([1, 0.15729921, 1.8427008], np.float32))
        self.same(F.select(X > 0, X, y), np.where(X > 0, X, y))
        self.same(F.relu(X), np.maximum(X, 0))
        self.same(F.relu(X, 0.1), np.where(X > 0, X, np.float32(0.1) * X))
        self.same(F.relu6(X, -1.0, 1.0), np.clip(X, -1, 1))
        self.same(F.prelu(X, [0.1, 0.2, 0.3]), np.where(X > 0, X, X * np.array([0.1, 0.2, 0.3], np.float32).reshape(3, 1, 1)))
        self.same(F.elu(X, 2.0), np.where(X > 0, X, 2 * np.expm1(X)))
        self.same(F.selu(X, 3.0, 2.0), np.where(X > 0, 3 * X, 6 * np.expm1(X)))
        exponents = np.exp(X - X.max(1, keepdims=True))
        self.same(F.softmax(X, 1), exponents / exponents.sum(1, keepdims=True))

    def test_along_axes(self):
        for name, function in {"reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min, "reduce_prod": np.prod, "reduce_any": np.any, "reduce_all": np.all}.items():
            with self.subTest(name):
                self.same(getattr(F, name)(X), function(X))
                self.same(getattr(F, name)(X, [1, 3], True), function(X, (1, 3), keepdims=True))
                self.same(getattr(F, name)(X, 2), function(X, 2))
        self.same(F.argmax(X, 1), X.argmax(1).astype(np.int32))
        self.same(F.argmin(X), X.argmin(0).astype(np.int32))
        self.same(F.cumsum(X, 2), np.cumsum(X, 2))
        self.same(F.cumprod(X), np.cumprod(X, 0))
        self.same(F.sort(X), np.sort(X))
        self.same(F.sort(X, 1, descend=True), -np.sort(-X, 1))
        self.same(F.sort(X, 2, arg=True), np.argsort(X, 2).astype(np.int32))
        mean, variance = F.moments(X, [2, 3])
        self.same(mean, X.mean((2, 3), keepdims=True))
        self.same(variance, X.var((2, 3), keepdims=True))
        self.same(F.matmul(X[0, 0], X[0, 1], transposeB=True), X[0, 0] @ X[0, 1].T)

    def test_shapes(self):
        self.same(F.shape(X), np.array(X.shape, np.int32))
        self.same(F.size(X), np.int32(X.size))
        self.same(F.rank(X), np.int32(4))
        self.same(F.reshape(X, [6, -1]), X.reshape(6, -1))
        self.same(F.transpose(X, [0, 2, 3, 1]), X.transpose(0, 2, 3, 1))
        self.same(F.broadcast_to(X[:1], F.shape(X)), np.broadcast_to(X[:1], X.shape))
        self.same(F.unsqueeze(F.expand_dims(X, 1), [0]), X[None, :, None])
        self.same(F.squeeze(X[:1]), X[0])
        self.same(F.squeeze(X[:1, :1], [1]), X[:1, 0])
        self.same(F.concat([X, X], 1), np.concatenate([X, X], 1))
        self.same(F.stack([X, X], 2), np.stack([X, X], 2))
        for found, expected in zip(F.unstack(X, 1), np.unstack(X, axis=1), strict=True):
            self.same(found, expected)
        for found, expected in zip(F.split(X, [1, 3], 2), np.split(X, [1], 2), strict=True):
            self.same(found, expected)
        for found, expected in zip(F.split(X, 2, 2), np.split(X, 2, 2), strict=True):
            self.same(found, expected)
        self.same(F.slice(X, [0, 1, 0, 2], [2, 1, -1, 3]), X[0:2, 1:2, :, 2:5])
        self.same(F.strided_slice(X, [0, 2, 1, 4], [2, 0, 3, 0], [1, -1, 1, -2], begin_mask=1, end_mask=4, shrink_axis_mask=0), X[0:2, 2:0:-1, 1:, 4:0:-2])
        self.same(F.strided_slice(X, [1, 0], [0, 2], [1, 1], shrink_axis_mask=1), X[1, 0:2])
        self.same(F.tile(X, [1, 2, 1, 1]), np.tile(X, [1, 2, 1, 1]))
        self.same(F.gather(X, F.const([1, 0, 1], [3], F.NCHW, F.int)), X[[1, 0, 1]])
        self.same(F.gather_nd(X, F.const([1, 2, 0, 0], [2, 2], F.NCHW, F.int)), X[[1, 0], [2, 0]])
        self.same(F.where(X > 1), np.argwhere(X > 1).astype(np.int32))
        self.same(F.reverse(X, F.const([1], [1], F.NCHW, F.int)), np.flip(X, 1))
        self.same(F.pad(X, F.const([0, 0, 1, 0, 0, 2, 0, 0], [4, 2], F.NCHW, F.int)), np.pad(X, [(0, 0), (1, 0), (0, 2), (0, 0)]))
        self.same(F.pad(X, [0, 0, 0, 0, 1, 1, 2, 2], F.REFLECT), np.pad(X, [(0, 0), (0, 0), (1, 1), (2, 2)], "reflect"))
        self.same(F.one_hot(F.const([0, 2], [2], F.NCHW, F.int), F.scalar(3), 5.0, 1.0), np.where(np.eye(3)[[0, 2]] > 0, 5, 1).astype(np.float32))
        self.same(F.channel_shuffle(F.const(np.arange(6), [1, 1, 1, 6], F.NHWC), 2), np.array([0, 3, 1, 4, 2, 5], np.float32).reshape(1, 6, 1, 1))

    def test_layers(self):
        w, b = np.random.default_rng(4).standard_normal((6, 3, 2, 2)).astype(np.float32), np.arange(6, dtype=np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(X, [(0, 0), (0, 0), (1, 1), (1, 1)]), (2, 2), (2, 3))[:, :, ::2]
        self.same(F.conv2d(X, w, b, (1, 2), (1, 1), padding_mode=F.CAFFE), np.einsum("nchwij,ocij->nohw", windows, w) + b.reshape(6, 1, 1))
        self.assertEqual(F.conv2d(X, w, b, (1, 1), (1, 1)).shape, (2, 6, 3, 4))  # as MNN: VALID has no padding
        self.assertEqual(F.convert(F.conv2d(X, w[:, :, :1, :1], b, (2, 2)), F.NCHW).shape, (2, 6, 2, 3))  # whose last axis looks like colours
        self.assertEqual(F.conv2d(X, w, b, (2, 2), padding_mode=F.SAME).shape, (2, 6, 2, 3))
        pooled = np.lib.stride_tricks.sliding_window_view(X, (2, 2), (2, 3))[:, :, ::2, ::2]
        self.same(F.max_pool(X, [2, 2], [2, 2]), pooled.max((4, 5)))
        self.same(F.avg_pool(X, [2, 2], [2, 2]), pooled.mean((4, 5)))
        self.same(F.scale(X, 3, [1.0, 2.0, 3.0], [0.0, 1.0, 2.0]), X * np.array([1, 2, 3], np.float32).reshape(3, 1, 1) + np.arange(3, dtype=np.float32).reshape(3, 1, 1))
        self.assertEqual(F.conv2d_transpose(X, w.transpose(1, 0, 2, 3), b, (2, 2)).shape, (2, 6, 8, 10))
        with self.assertRaisesRegex(minnow.InvalidArgument, "VALID, SAME and CAFFE"):
            F.conv2d(X, w, b, padding_mode="HALF")

    def test_layers_that_are_made(self):
        # The numbers are MNN 3.6.1's.
        layer = MNN.nn.conv(3, 2, [2, 2])
        self.assertEqual([value.shape for value in layer.parameters], [(2,), (2, 3, 2, 2)])
        self.assertTrue(layer.load_parameters([F.const([1.0, 2.0], [2]), F.const(list(range(24)), [2, 3, 2, 2])]))
        found = layer.forward(F.convert(F.const(list(range(96)), [2, 3, 4, 4]), F.NC4HW4))
        self.same(F.convert(found, F.NCHW)[0, :, 0], np.float32([[1761, 1827, 1893], [4426, 4636, 4846]]))
        self.assertEqual(MNN.nn.conv(2, 4, [2, 3]).parameters[1].shape, (4, 2, 3, 2))  # x, y
        p, q = F.const([0.2, 0.8, 0.6, 0.4], [2, 2]), F.const([0.3, 0.7, 0.5, 0.5], [2, 2])
        for name, value in {"mse": 0.02, "mae": 0.2, "hinge": 1.44, "kl": 0.02293384, "cross_entropy": 0.67629504}.items():
            self.same(getattr(MNN.nn.loss, name)(p, q), np.float32(value))
        norm = MNN.nn.batch_norm(3, 2)
        norm.train(True)
        self.same(norm.forward(F.const(list(range(6)), [2, 3])), np.float32([[-0.9999978] * 3, [0.9999978] * 3]))
        self.same(norm.parameters[3], np.float32([[0.015, 0.025, 0.035]]))
        drop = MNN.nn.dropout(0.5)
        drop.train(True)
        self.assertEqual(set(drop(F.const([1.0] * 1000, [1000])).read().tolist()), {0.0, 2.0})

        class Net(MNN.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = MNN.nn.linear(3, 2)

            def forward(self, x):
                return self.first(x)

        net = Net()
        self.assertEqual((net.first.name, [value.shape for value in net.parameters], net(np.ones((4, 3), np.float32)).shape), ("first", [(1, 2), (2, 3)], (4, 2)))

    def test_pictures_become_tensors(self):
        pixels = (np.arange(60, dtype=np.uint8) * 4).reshape(4, 5, 3)
        matrix, tensor = MNN.CVMatrix(), MNN.Tensor((1, 3, 2, 3))
        matrix.setScale(5 / 3, 4 / 2)
        for filter, expected in ((MNN.CV_Filter_NEAREST, [[0, 24, 36], [120, 144, 156]]), (MNN.CV_Filter_BILINEAL, [[0, 20, 40], [120, 140, 160]])):
            process = MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_RGB, "destFormat": MNN.CV_ImageFormat_BGR, "filterType": filter})
            process.setMatrix(matrix)
            self.assertEqual(process.convert(pixels, 5, 4, 0, tensor), 0)
            np.testing.assert_array_equal(tensor.getNumpyData()[0, 2], expected)
        whole = MNN.Tensor((1, 4, 5, 3), MNN.Halide_Type_Float, None, MNN.Tensor_DimensionType_Tensorflow)
        process = MNN.CVImageProcess({"sourceFormat": 1, "destFormat": 1, "mean": (1.0, 2.0, 3.0, 0.0), "normal": (0.5, 0.25, 2.0, 1.0)})
        gaps = np.zeros((4, 16), np.uint8)
        gaps[:, :15] = pixels.reshape(4, 15)
        process.convert(gaps.tobytes(), 5, 4, 16, whole)
        np.testing.assert_array_equal(whole.getNumpyData()[0], (pixels - np.float32([1, 2, 3])) * np.float32([0.5, 0.25, 2]))
        frame = np.full((6, 6), 128, np.uint8)
        frame[:4] = np.arange(24).reshape(4, 6) * 4 + 16
        luma = MNN.Tensor((1, 1, 4, 6))
        nv21 = MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_YUV_NV21, "destFormat": MNN.CV_ImageFormat_GRAY})
        nv21.convert(frame, 6, 4, 0, luma)
        np.testing.assert_array_equal(luma.getNumpyData()[0, 0], frame[:4])
        colors = MNN.Tensor((1, 3, 4, 6))
        MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_YUV_NV21, "destFormat": MNN.CV_ImageFormat_RGB}).convert(frame, 6, 4, 0, colors)
        np.testing.assert_allclose(colors.getNumpyData()[0], np.stack([(frame[:4] - 16.0) * 1.164] * 3), atol=0.51)
        for call, text in ((lambda: process.convert(pixels[:2], 5, 4, 0, whole), "is given 30 bytes"), (lambda: process.convert(pixels, 5, 4, 0, MNN.Tensor((1, 4, 5, 3))), "one picture of 3 channels"),
                           (lambda: MNN.CVImageProcess({"filter": 1}), 'no "filter"'), (lambda: MNN.CVImageProcess({"destFormat": 11}), "is not there"), (lambda: MNN.CVImageProcess({"sourceFormat": 5}), "is not there"),
                           (lambda: matrix.setPolyToPoly([1.0], [1.0]), "one to four points")):
            with self.assertRaisesRegex(minnow.Error, text):
                call()

    def test_names_of_numpy_and_missing_ones(self):
        self.same(MNN.numpy.row_stack([X[0, 0], X[0, 1]]), np.vstack([X[0, 0], X[0, 1]]))
        self.assertEqual(MNN.numpy.asscalar(np.array([3])), 3)
        self.same(MNN.numpy.msort(X), np.sort(X, 0))
        with self.assertRaisesRegex(AttributeError, r'MNN.expr.sofmax is not there \(yet\); the nearest are "softmax"'):
            F.sofmax
        self.assertEqual(MNN.version(), minnow.__version__)
        self.same(F.crop(F.const(list(range(16)), [1, 1, 4, 4]), F.const([0.0] * 4, [1, 1, 2, 2]), 2, [1, 1]), np.float32([[[[5, 6], [9, 10]]]]))
        with self.assertRaisesRegex(minnow.InvalidArgument, "takes 2 from 3 on along axis 2, which has 4"):
            F.crop(X[:1, :1], X[:1, :1, :2, :2], 2, [3, 1])
        w, u, vt = F.svd(X[0, 0])
        np.testing.assert_allclose((u.read() * w.read()) @ vt.read(), X[0, 0], rtol=1e-4, atol=1e-5)
        F.set_global_executor_config(F.Backend.CPU, F.PrecisionMode.High, 1)
        manager = MNN.nn.create_runtime_manager(({"numThread": 1},))
        manager.set_cache("nowhere.cache")
        manager.update_cache()
        self.assertIs(MNN.F, F)
        self.assertIs(F.sigmoid, F.sigmoid)
        F.set_thread_number(1)
        F.lazy_eval(True)
        F.gc(True)


class Mixed(unittest.TestCase):
    """MNN's Vars beside Minnow's, NumPy's and Python's own."""

    def test_importing_leaves_minnow_as_it_is(self):
        plain = minnow.Var(X)
        self.assertIs(type(plain), minnow.Var)
        self.assertEqual((type(plain.shape), str((plain > 0).dtype), str((minnow.Var([1, 2]) / 2).dtype)), (tuple, "bool", "float64"))
        for name in ("read", "write", "op_type", "fix_as_const"):
            self.assertFalse(hasattr(plain, name), name)
        self.assertFalse(hasattr(minnow.nn.LoadedModule, "onForward"))

    def test_each_goes_where_the_other_is_taken(self):
        import minnow.numpy as mnp
        x, plain = F.const(X, X.shape), minnow.Var(X)
        self.same_type(x + plain, plain + x, x * X, X * x, np.add(x, X), F.add(plain, X), MNN.numpy.abs(plain), F.relu(X))
        for found in (mnp.sum(x, axis=1), own.relu(x), mnp.concatenate([x, plain], 1), mnp.matmul(x, mnp.swapaxes(plain, -1, -2)), mnp.pad(x, 1), mnp.moveaxis(x, 0, 2)):
            self.assertIs(type(found), minnow.Var)
        self.assertIs(type(plain), minnow.Var)
        np.testing.assert_array_equal(mnp.concatenate([x, plain], 1), np.concatenate([X, X], 1))
        np.testing.assert_array_equal(np.asarray(x), X)
        np.testing.assert_array_equal(memoryview(x), X)
        np.testing.assert_array_equal(np.from_dlpack(x), X)
        self.assertEqual(X.shape + tuple(x.shape), (*X.shape, *x.shape))
        self.assertEqual((x.shape + [1], (1,) + x.shape, x.shape == X.shape, x.shape != [2]), ([2, 3, 4, 5, 1], [1, 2, 3, 4, 5], True, True))

    def same_type(self, *values):
        for value in values:
            self.assertIs(type(value), F.Var)

    def test_copies(self):
        import copy
        import pickle
        x = F.const([1.0, 2.0], [2])
        for other in (copy.copy(x), copy.deepcopy(x), x.copy(), x.clone(), F.clone(x, True), x.flatten(), x[:], x.reshape([2]), x.astype(F.float)):
            self.same_type(other)
            other.write([5.0, 6.0])
            np.testing.assert_array_equal(x.read(), [1, 2])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), [1, 2])

    def test_names_stand_for_variables(self):
        x = F.const([1.0, 2.0], [2])
        y = x
        x += 1.0
        np.testing.assert_array_equal(y.read(), [1, 2])
        y[0] = 7.0
        z = y * 2.0
        y[1] = 9.0
        np.testing.assert_array_equal(z.read(), [14, 4])
        self.assertEqual((len({x, y, z}), float(x[0]), [value.read().item() for value in y]), (3, 2.0, [7, 9]))
        with self.assertRaises(TypeError):
            iter(F.scalar(1.0))
        with self.assertRaises(TypeError):
            x + "1"

    def test_what_is_fixed(self):
        x = F.placeholder([2])
        y = x * 2.0
        x.write([1.0, 2.0])
        x.fix_as_const()
        self.assertEqual((x.op_type, y.op_type), ("Const", "MUL"))
        w = F.const([3.0, 4.0], [2])
        w.fix_as_trainable()
        self.assertTrue(w.trainable)
        self.assertEqual((F.add(w, 1.0).op_type, [value.op_type for value in F.add(w, 1.0).inputs]), ("ADD", ["Trainable", "Const"]))
        v = F.const([1.0, 2.0], [2])
        v.fix_as_placeholder()
        total = F.reduce_sum(v)
        v.write([10.0, 20.0])
        self.assertEqual(total.read(), 30)
        v.resize([3])
        self.assertEqual(v.shape, [3])

    def test_memory_of_other_devices_is_refused(self):
        x = F.const([1.0], [1])
        for call in (lambda: x.set_device_ptr(0, 2), lambda: x.copy_to_device_ptr(0, 2), lambda: F.jsonop([x], "{}", 1), lambda: MNN.Tensor((1,), MNN.Halide_Type_String)):
            with self.assertRaises(minnow.Unsupported):
                call()
        with self.assertWarnsRegex(UserWarning, "the CPU takes its place"):
            MNN.nn.create_runtime_manager(({"backend": "OPENCL", "numThread": 1},))

    def test_malformed_calls_raise_errors_of_minnow(self):
        for call, text in ((lambda: F.reduce_sum([1.0], 10 ** 30), "out of bounds"), (lambda: F.split(X, None, 1), r"split\(\)"), (lambda: F.slice(X, None, [1]), "not of None"),
                           (lambda: F.expand_dims(X, object()), "cannot be interpreted"), (lambda: MNN.numpy.reshape(X, "x"), "not of 'x'"), (lambda: MNN.numpy.random.randint("x"), "randint"),
                           (lambda: MNN.nn.create_runtime_manager(({"backend": "OPENCI"},)), '"OPENCL"'), (lambda: F.matrix_band_part(X, None, 1), "matrix_band_part")):
            with self.assertRaisesRegex(minnow.Error, text):
                call()

    def test_addresses(self):
        data = np.arange(6, dtype=np.float32)
        self.same_type(F.const(data.ctypes.data, [2, 3]))
        np.testing.assert_array_equal(F.const(data.ctypes.data, [2, 3]).read(), data.reshape(2, 3))
        x = F.const(data, [6])
        tensor = MNN.Tensor(x)
        np.testing.assert_array_equal(F.const(x.ptr, [6]).read(), data)
        np.testing.assert_array_equal(MNN.Tensor((6,), MNN.Halide_Type_Float, data.ctypes.data, MNN.Tensor_DimensionType_Caffe).getNumpyData(), data)
        np.testing.assert_array_equal(MNN.Tensor((6,), MNN.Halide_Type_Float, tensor.getHost(), MNN.Tensor_DimensionType_Caffe).getNumpyData(), data)
        for address in (65536, 1 << 62):
            with self.assertRaisesRegex(minnow.InvalidArgument, "cannot read 24 bytes at the address"):
                F.const(address, [6])

    def test_modules_of_expressions(self):
        x, w = F.placeholder([2]), F.const([3.0, 4.0], [2])
        w.fix_as_trainable()
        y = x * w
        for training in (False, True):
            module = MNN.nn.load_module([x], [y], training)
            np.testing.assert_array_equal(module.forward(F.const([1.0, 2.0], [2])).read(), [3, 8])
            self.assertEqual((module.is_training, len(module.parameters)), (training, int(training)))
        self.assertTrue(module.load_parameters([F.const([5.0, 6.0], [2])]))
        np.testing.assert_array_equal(module.forward([F.const([1.0, 2.0], [2])])[0].read(), [5, 12])
        with self.assertRaisesRegex(minnow.InvalidArgument, "has the shape"):
            module.load_parameters([F.const([5.0], [1])])
        self.assertFalse(module.load_parameters([]))

    def test_training_with_quantization(self):
        random = np.random.default_rng(2)
        x = F.placeholder([1, 3, 8, 8], F.NCHW)
        weight, bias = F.const(random.normal(0, 0.2, 4 * 27).astype(np.float32), [4, 3, 3, 3], F.NCHW), F.const([0.1] * 4, [4], F.NCHW)
        y = F.reduce_mean(F.relu(F.conv2d(x, weight, bias, padding=(1, 1))), [2, 3])
        weight.fix_as_trainable()
        bias.fix_as_trainable()
        module = MNN.nn.load_module([x], [y], True)
        self.assertFalse(MNN.nn.compress.train_quant(MNN.nn.conv(3, 4, [3, 3])))
        for words, arguments in (("from 2 to 8", (module, 9)), ("0 or 1", (module, 8, 7))):
            with self.assertRaisesRegex(minnow.InvalidArgument, words):
                MNN.nn.compress.train_quant(*arguments)
        pictures = random.normal(0, 1, (8, 3, 8, 8)).astype(np.float32)
        plain = np.asarray(module.forward(F.const(pictures[:1], [1, 3, 8, 8], F.NCHW)))
        self.assertTrue(MNN.nn.compress.train_quant(module, quant_bits=8, scale_update_method=MNN.nn.compress.MAXIMUM))
        self.assertEqual(sorted(list(parameter.shape) for parameter in module.parameters), [[4], [4, 3, 3, 3]])
        optimizer = MNN.optim.SGD(module, 0.05, 0.0)
        module.train(True)
        losses = []
        for _ in range(6):
            loss = MNN.nn.loss.mse(module.forward(F.const(pictures, [8, 3, 8, 8], F.NCHW)), F.const(np.ones((8, 4), np.float32), [8, 4], F.NCHW))
            losses.append(float(loss.read()))
            optimizer.step(loss)
        self.assertLess(losses[-1], losses[0])
        module.train(False)
        one = F.const(pictures[:1], [1, 3, 8, 8], F.NCHW)
        rounded = np.asarray(module.forward(one))
        self.assertEqual(rounded.shape, plain.shape)
        x = F.placeholder([1, 3, 8, 8], F.NCHW)
        saved = module.forward(x)
        with tempfile.TemporaryDirectory() as folder:
            F.save([saved], folder + "/quantized.mnn")
            integers = np.asarray(minnow.load(folder + "/quantized.mnn")(pictures[:1]))
        np.testing.assert_allclose(integers, rounded, atol=0.02 * np.abs(rounded).max())

    def test_raster_and_detections_check_their_places(self):
        with self.assertRaisesRegex(minnow.InvalidArgument, "11 numbers for each Var"):
            F.raster([X], [1], [1])
        for region in ([0, 6, 1, 3, 0, 6, 2, 1, 1, 4, 2], [0, 1, 1, 1, 7, 1, 1, 1, 1, 1, 1], [-1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]):
            with self.assertRaisesRegex(minnow.InvalidArgument, "goes beyond"):
                F.raster([F.const([0.0] * 6, [2, 3])], region, [3, 2])
        self.assertEqual(F.raster([F.const([0.0] * 6, [6])], [0, 1, 1, 1, 0, 1, 1, 1, 0, 4, 2], [3, 2]).shape, [3, 2])


class Numpy(unittest.TestCase):
    """Functions that MNN.numpy declares without implementing them give the same results as NumPy's."""

    CALLS = """
append(x, y, 0) | argpartition(v, 2)[2] | base_repr(10, 3) | binary_repr(5) | bincount(i) | block([[x, y]]) | bmat([[x, y], [y, x]]) | choose(i % 2, [v, w]) | compress(v > 0, v) | convolve(v, w)
corrcoef(x) | correlate(v, w) | cov(x) | cross(v[:3], w[:3]) | deg2rad(v) | degrees(v) | delete(x, 1, 1) | diag(v) | diag_indices(3) | diag_indices_from(x[:, :2]) | diagflat(v) | diagonal(x) | diff(v)
digitize(v, w[:2] * 0 + 1) | ediff1d(v) | extract(v > 0, v) | flip(x, 1) | fliplr(x) | flipud(x) | frexp(v) | fromfunction(lambda a, b: a + b, (2, 3)) | fromiter([1.0, 2.0], "float32") | gcd(i, 6)
gradient(v) | heaviside(v, 0.5) | histogram2d(v, w, 3)[0] | histogram_bin_edges(v, 4) | histogramdd(x.T, 2)[0] | i0(v) | indices((2, 3)) | insert(v, 1, 9.0) | interp(v, [-2.0, 2.0], [0.0, 1.0]) | invert(i)
ix_([0, 1], [1, 2])[1] | lcm(i + 1, 6) | left_shift(i, 2) | mask_indices(3, NP.triu) | median(x) | nan_to_num(v) | nanmedian(x, 1) | nanpercentile(x, 30) | nanquantile(x, 0.3, 1) | list(ndindex(2, 2))
nextafter(v, w) | outer(v, w) | packbits(i > 1) | partition(v, 2)[2] | percentile(x, 30, 1) | quantile(x, 0.3) | rad2deg(v) | radians(v) | ravel_multi_index((i % 2, i % 3), (2, 3)) | real_if_close(v)
require(x) | resize(x, (3, 3)) | right_shift(i, 1) | roll(v, 1) | rot90(x) | searchsorted(NP.sort(v), w) | select([v > 1, v > 0], [v, w], 0.0) | sort_complex(v) | spacing(v) | take(x, [0, 2], 1)
take_along_axis(x, NP.argsort(x, 1), 1) | trapz(v) | tri(3) | tril(x) | tril_indices(3) | tril_indices_from(x) | trim_zeros(i) | triu(x, 1) | triu_indices(3) | triu_indices_from(x) | unique(i)
unpackbits(NP.packbits(i > 1)) | unwrap(v) | vander(v) | asfortranarray(x) | list(ndenumerate(i))[1] | [float(a) for a in nditer(v)] | list(flatiter(i))[2:] | broadcast(x, v[:3]).shape
"""

    def test_functions_that_mnn_lacks(self):
        import json
        absent = set(json.loads((Path(__file__).parent / "mnn" / "answers.json").read_text())["not_implemented"])
        lists = {"x": X[0, 0, :2, :3], "y": X[0, 1, :2, :3], "v": X[1, 0, 0], "w": X[1, 1, 1], "i": np.array([0, 3, 1, 2, 0], np.int32)}
        given = {name: F.const(value, value.shape, F.NCHW, F.int if value.dtype == np.int32 else F.float) for name, value in lists.items()}
        done = set()
        for call in self.CALLS.replace("\n", " | ").split(" | "):
            if not call.strip():
                continue
            name = call.replace("list(", "").replace("[float(a) for a in ", "").split("(")[0]
            done.add(name)
            with self.subTest(call):
                found = eval(f"MNN.numpy.{call}" if call.startswith(name) else call.replace(name, f"MNN.numpy.{name}"), {"MNN": MNN, "NP": MNN.numpy, **given})
                if name == "flatiter":
                    expected = [1, 2, 0]
                elif name == "bmat":
                    expected = np.block([[lists["x"], lists["y"]], [lists["y"], lists["x"]]])
                else:
                    call = call.replace("trapz", "trapezoid").replace("gradient(v)", "gradient(v)")
                    expected = eval(f"NP.{call}" if call.startswith(name[:4]) and not call.startswith("list") else call.replace(name, f"NP.{name}"), {"NP": np, **lists})
                self.compare(found, expected)
        self.assertEqual(absent - done, {"loadtxt", "fromfile", "fromstring", "place", "put", "put_along_axis", "putmask", "fill_diagonal", "nested_iters"})

    def compare(self, found, expected):
        if isinstance(expected, (tuple, list)) and not isinstance(found, F.Var):
            self.assertEqual(len(found), len(expected))
            for one, other in zip(found, expected):
                self.compare(one, other)
        elif isinstance(expected, str):
            self.assertEqual(found, expected)
        else:
            self.assertIn(type(found), (F.Var, int, float, bool))
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)

    def test_functions_that_write(self):
        NP = MNN.numpy
        for call, expected in ((lambda x: NP.put(x, [0, 2], [9, 8]), [9, 2, 8, 4]), (lambda x: NP.putmask(x, x > 2, 0), [1, 2, 0, 0]), (lambda x: NP.place(x, x > 2, [7, 6]), [1, 2, 7, 6]),
                               (lambda x: NP.put_along_axis(x, F.const([1], [1], F.NCHW, F.int), 5, 0), [1, 5, 3, 4]), (lambda x: NP.copyto(x, [4.0, 3, 2, 1]), [4, 3, 2, 1])):
            x = F.const([1.0, 2, 3, 4], [4])
            call(x)
            np.testing.assert_array_equal(x.read(), expected)
        x = F.const([1.0, 2, 3, 4], [2, 2])
        NP.fill_diagonal(x, 0)
        np.testing.assert_array_equal(x.read(), [[0, 2], [3, 0]])
        with self.assertRaises(minnow.Unsupported):
            NP.nested_iters(x, [[0], [1]])


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(Path(folder.name) / "net.minnow")
        x, y = own.placeholder("data", "float32", [1, 3, 4, 5]), own.placeholder("scale", "float32", [])
        own.save([(x * y).clone()], self.path)
        self.output = minnow.load(self.path).outputs[0]
        self.x = X[:1]

    def test_interpreter(self):
        interpreter = MNN.Interpreter(self.path)
        for config in ({}, {"numThread": 1, "precision": "high", "backend": "CPU"}):
            session = interpreter.createSession(config)
            first, scale = interpreter.getSessionInput(session), interpreter.getSessionInput(session, "scale")
            self.assertEqual((first.getShape(), first.getDataType(), first.getDimensionType()), ((1, 3, 4, 5), MNN.Halide_Type_Float, MNN.Tensor_DimensionType_Caffe))
            self.assertEqual(sorted(interpreter.getSessionInputAll(session)), ["data", "scale"])
            scale.fromNumpy(np.float32(2))
            first.copyFrom(MNN.Tensor((1, 4, 5, 3), MNN.Halide_Type_Float, self.x.transpose(0, 2, 3, 1), MNN.Tensor_DimensionType_Tensorflow))
            self.assertEqual(interpreter.runSession(session), 0)
            result = interpreter.getSessionOutput(session)
            np.testing.assert_array_equal(result.getNumpyData(), 2 * self.x)
            self.assertEqual(result.getData(), tuple((2 * self.x).ravel().tolist()))
            host = MNN.Tensor((1, 4, 5, 3), MNN.Halide_Type_Float, None, MNN.Tensor_DimensionType_Tensorflow)
            result.copyToHostTensor(host)
            np.testing.assert_array_equal(host.getNumpyData(), 2 * self.x.transpose(0, 2, 3, 1))
            first.fromNumpy(np.zeros((1, 3, 4, 5)))
            interpreter.runSession(session)
            self.assertEqual(set(result.getData()), {0.0})
            self.assertEqual(list(interpreter.getSessionOutputAll(session)), [self.output])
        for call, text in ((lambda: interpreter.getSessionInput(session, "date"), 'no input "date"; there are "data", "scale"'), (lambda: first.copyFrom(MNN.Tensor((2,))), "is given one of"),
                           (lambda: MNN.Tensor((2, 2), MNN.Halide_Type_Float, [1]), "is given 1 elements"), (lambda: MNN.Interpreter("nowhere.mnn"), "nowhere.mnn")):
            with self.assertRaisesRegex(minnow.Error, text):
                call()

    def test_formats_of_model_files(self):
        folder = Path(__file__).resolve().parent / "mnn"
        for name, format, kind in (("channels_last.mnn", F.NHWC, MNN.Tensor_DimensionType_Tensorflow), ("plain.mnn", F.NCHW, MNN.Tensor_DimensionType_Caffe)):
            path = str(folder / name)
            [x] = MNN.nn.load_module_from_file(path, [], []).get_info()["inputs"]
            values = F.load_as_dict(path)
            self.assertEqual((x.data_format, values["data"].data_format, values["data"].shape), (format, format, x.shape))
            interpreter = MNN.Interpreter(path)
            session = interpreter.createSession({})
            self.assertEqual((interpreter.getSessionInput(session).getDimensionType(), interpreter.getSessionOutput(session).getDimensionType()), (kind, kind))
            values["data"].write(list(range(values["data"].size)))  # numbers in a row take the shape that the file has
            self.assertEqual(values["scores"].shape, list(interpreter.getSessionOutput(session).getShape()))

    def test_programs(self):
        import subprocess
        program = Path(self.path).with_name("program.py")
        program.with_name("beside.py").write_text("VALUE = 5")
        program.write_text("import sys, MNN, MNN.cv as cv2, beside\nassert __name__ == '__main__'\nprint(sys.argv, MNN.expr.scalar(beside.VALUE).read())\nsys.exit(3)")
        done = subprocess.run([sys.executable, "-m", "minnow.compat", str(program), "-x"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (3, f"{[str(program), '-x']} 5\n"), done.stderr)
        for arguments, text in (([], "usage:"), (["nowhere.py"], "nowhere.py: there is no such program")):
            done = subprocess.run([sys.executable, "-m", "minnow.compat", *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.startswith(text)), (1, True), done.stderr)

    def test_open_dimensions(self):
        x = own.placeholder("data", "float32", [1, None, 3])
        own.save([(x * 2).clone()], self.path)
        interpreter = MNN.Interpreter(self.path)
        session = interpreter.createSession({})
        tensor = interpreter.getSessionInput(session)
        self.assertEqual(tensor.getShape(), (1, -1, 3))
        interpreter.resizeTensor(tensor, (1, 2, 3))
        interpreter.resizeSession(session)
        self.assertEqual((tensor.getShape(), interpreter.getSessionOutput(session).getShape()), ((1, 2, 3), (1, 2, 3)))
        module = MNN.nn.load_module_from_file(self.path, [], [])
        self.assertEqual([x.shape for x in module.get_info()["inputs"]], [[1, -1, 3]])

    def test_callbacks(self):
        interpreter = MNN.Interpreter(self.path)
        session = interpreter.createSession({}, interpreter.createRuntime(({"numThread": 1},)))
        interpreter.getSessionInput(session, "scale").fromNumpy(np.float32(2))
        interpreter.getSessionInput(session).fromNumpy(self.x)
        seen = []
        self.assertEqual(interpreter.runSessionWithCallBack(session, lambda tensors, name: seen.append((name, [t.getShape() for t in tensors])),
                                                            lambda tensors, name: seen.append(tensors[0].getNumpyData())), 0)
        self.assertEqual(seen[0][1], [(1, 3, 4, 5), ()])
        np.testing.assert_array_equal(seen[1], 2 * self.x)
        np.testing.assert_array_equal(interpreter.getSessionOutput(session).getNumpyData(), 2 * self.x)
        told = []
        interpreter.runSessionWithCallBackInfo(session, lambda tensors, info: told.append((info.getName(), info.getType(), info.getFlops())), lambda tensors, info: True)
        self.assertEqual(told[0][:2], (seen[0][0], "Mul"))
        self.assertEqual(interpreter.runSessionWithCallBack(session, lambda tensors, name: False, lambda tensors, name: True), 4)
        with self.assertRaises(ZeroDivisionError):
            interpreter.runSessionWithCallBack(session, lambda tensors, name: 1 // 0, lambda tensors, name: True)

    def test_converter(self):
        from MNN.tools import mnnconvert
        made = self.path[:-7] + ".mnn"
        with self.assertRaisesRegex(minnow.InvalidArgument, 'no option "--modelfile"'):
            mnnconvert.convert(["mnnconvert", "--modelfile", self.path])
        with self.assertRaisesRegex(minnow.InvalidArgument, "takes --MNNModel"):
            mnnconvert.convert(["mnnconvert", "--modelFile", self.path])
        mnnconvert.convert(["mnnconvert", "--modelFile", self.path, f"--MNNModel={made}", "--bizCode", "biz", "--fp16"])
        self.assertEqual(MNN.nn.load_module_from_file(made, ["data", "scale"], []).get_info()["inputNames"], ["data", "scale"])
        import importlib.util
        self.assertIsNotNone(importlib.util.find_spec("MNN"))
        from MNN.numpy.linalg import norm
        self.assertEqual(norm(np.float32([3, 4])).item(), 5)

    def test_tools_that_quantize(self):
        from MNN.tools import mnnconvert, mnnquant
        folder = Path(self.path).parent
        net, made = folder / "layer.minnow", folder / "layer.mnn"
        w, x = np.random.default_rng(5).standard_normal((96, 40)).astype(np.float32), np.random.default_rng(6).standard_normal((4, 96)).astype(np.float32)
        own.save([own.matmul(own.placeholder("x", "float32", [None, 96]), w)], str(net))

        def error_of(*options):
            mnnconvert.convert(["mnnconvert", "--modelFile", str(net), "--MNNModel", str(made), *options])
            self.assertEqual(sorted(path.name for path in folder.iterdir() if path.is_dir()), [])
            return np.abs(np.asarray(minnow.load(str(made))(x)) - x @ w).max()

        # The largest error of one weight's rounding is half a step, of a range of 6 or so; 96 of them add up.
        self.assertLess(error_of("--weightQuantBits", "8"), 96 * 6 / 255 / 2)
        smallest = made.stat().st_size
        self.assertLess(smallest, 96 * 40 * 1.8)
        coarse = error_of("--weightQuantBits=4", "--weightQuantBlock", "32", "--weightQuantAsymmetric=0", "--fp16")
        self.assertLess(made.stat().st_size, smallest)
        self.assertTrue(0 < error_of("--weightQuantBits", "4", "--weightQuantBlock", "32", "--hqq") < 2 * coarse)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'whole number for --weightQuantBits, not "x"'):
            error_of("--weightQuantBits", "x")
        with self.assertRaisesRegex(minnow.InvalidArgument, "JSON files"):
            error_of("--compressionParamsFile", "parameters.bin")
        [name] = [node.name or node.outputs[0] for node in minnow.tools.inspect(str(net)).nodes]
        (folder / "parameters.json").write_text(json.dumps({"algo": [{"quant_params": {"layer": [{"op_name": name, "weight": [{"bits": 4, "block_size": 32}]}]}}]}))
        self.assertGreater(error_of("--compressionParamsFile", str(folder / "parameters.json")), 0)
        with self.assertRaisesRegex(minnow.InvalidArgument, "1 words are given"):
            mnnquant.quant(["mnnquant", str(net)])
        (folder / "samples").mkdir()
        sample = folder / "samples" / "0"
        sample.mkdir()
        (sample / "input.json").write_text(json.dumps({"inputs": [{"name": "x", "shape": [4, 96]}], "outputs": []}))
        np.savetxt(sample / "x.txt", x.reshape(-1))
        (folder / "settings.json").write_text(json.dumps({"input_type": "sequence", "path": str(folder / "samples"), "feature_quantize_method": "KL", "weight_quantize_method": "MAX_ABS"}))
        mnnquant.quant(["mnnquant", str(net), str(made), str(folder / "settings.json")])
        self.assertTrue(0 < np.abs(np.asarray(minnow.load(str(made))(x)) - x @ w).max() < 5)

    def test_parts_of_a_model_are_replaced(self):
        values = F.load_as_dict(self.path)
        inputs, outputs = F.get_inputs_and_outputs(values)
        y = outputs[self.output]
        self.assertEqual((y.op_type, [value.name for value in y.inputs], inputs["data"].op_type, F.const([1.0]).op_type), ("MUL", ["data", "scale"], "Input", "Const"))
        inputs["scale"].replace(F.scalar(5.0))
        inputs["data"].write(self.x)
        np.testing.assert_array_equal(y.read(), 5 * self.x)
        self.assertEqual(values["scale"].item(), 5)
        y.replace(y + 1)
        np.testing.assert_array_equal(y.read(), 5 * self.x + 1)

    def test_modules_and_files(self):
        net = MNN.nn.load_module_from_file(self.path, ["data", "scale"], [self.output], dynamic=True, shape_mutable=False, thread_num=1, precision_mode=1)
        [found] = net.onForward([F.const(self.x, self.x.shape), F.scalar(3.0)])
        np.testing.assert_array_equal(found.read(), 3 * self.x)
        self.assertEqual(net.get_info()["inputNames"], ["data", "scale"])
        with self.assertRaisesRegex(minnow.InvalidType, 'no option "threads"'):
            MNN.nn.load_module_from_file(self.path, [], [], threads=1)
        values = F.load_as_dict(self.path)
        inputs, outputs = F.get_inputs_and_outputs(values)
        self.assertEqual((sorted(inputs), list(outputs)), (["data", "scale"], [self.output]))
        inputs["data"].write(self.x)
        inputs["scale"].write(2)
        np.testing.assert_array_equal(outputs[self.output].read(), 2 * self.x)
        self.assertEqual([value.name for value in F.load_as_list(self.path)], ["data", "scale", self.output])

        class Net(MNN.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = net

            def forward(self, x):
                return self.inner.forward(x, F.scalar(2.0)) + 1

        module = Net()
        module.set_name("net")
        np.testing.assert_allclose(module.onForward([F.const(self.x, self.x.shape)])[0].read(), 2 * self.x + 1, rtol=1e-6)
        self.assertEqual((module.name, module.is_training), ("net", True))


class Training(unittest.TestCase):
    def parameters(self, optimizer, steps=4):
        """The weights after steps on (x w - 1)^2, and by the formula."""
        net = MNN.nn.linear(2, 3, False)
        net.load_parameters([F.const([-0.4, -0.2, 0.0, 0.2, 0.4, 0.6], [3, 2])])
        made = optimizer(net)
        x = np.float32([[1, 2], [3, -1]])
        gradients, w = [], np.array(net.parameters[0].read(), np.float64)
        for _ in range(steps):
            w = np.array(net.parameters[0].read(), np.float64)
            loss = F.reduce_sum(F.square(net(F.const(x, [2, 2])) - F.const(np.ones((2, 3), np.float32), [2, 3])))
            self.assertTrue(made.step(loss))
            gradients.append(2 * (x @ w.T - 1).T @ x)
        return gradients, np.array(net.parameters[0].read())

    def test_layers_of_minnow(self):
        class Net(MNN.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = MNN.nn.Sequential(MNN.nn.Linear(2, 8), MNN.nn.Tanh())
                self.head = MNN.nn.linear(8, 3)

            def forward(self, x):
                return self.head(self.body(x))

        net, x, goal = Net(), F.const(np.float32([[1, 2], [3, -1]]), [2, 2]), F.const(np.eye(2, 3, dtype=np.float32), [2, 3])
        self.assertEqual(len(net.parameters), 4)
        made = MNN.optim.SGD(net, 0.05, 0.9)
        losses = []
        for _ in range(20):
            loss = MNN.nn.loss.mse(net(x), goal)
            losses.append(float(loss.read()))
            self.assertTrue(made.step(loss))
        self.assertLess(losses[-1], losses[0] / 3)

    def test_optimizers_leave_running_statistics_and_unused_layers(self):
        class Net(MNN.nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.norm, self.unused = MNN.nn.linear(4, 3), MNN.nn.batch_norm(3, 2), MNN.nn.linear(2, 2)

            def forward(self, x):
                return F.softmax(self.norm(self.body(x)))

        x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
        goal = F.one_hot(F.const((np.arange(8) % 3).astype(np.int32), [8], F.NCHW, F.int), 3)
        for make in (lambda net: MNN.optim.SGD(net, 0.1, 0.9, 0.01), lambda net: MNN.optim.ADAM(net, 0.05)):
            net = Net()
            made, losses = make(net), []
            mean, variance, unused = np.zeros(3), np.zeros(3), np.array(net.unused.weight)
            for training in [True] * 10 + [False] * 2:
                net.train(training)
                body = x @ np.array(net.body.weight).T + np.array(net.body.bias)
                if training:
                    mean, variance = 0.99 * mean + 0.01 * body.mean(0), 0.99 * variance + 0.01 * body.var(0)
                loss = MNN.nn.loss.cross_entropy(net(F.const(x, [8, 4], F.NCHW)), goal)
                losses.append(float(loss.read()))
                made.step(loss)
                np.testing.assert_allclose(np.array(net.norm.running_mean)[0], mean, rtol=1e-4, atol=1e-6)
                np.testing.assert_allclose(np.array(net.norm.running_variance)[0], variance, rtol=1e-4, atol=1e-6)
            self.assertLess(losses[9], losses[0])
            self.assertEqual(len(net.parameters), 8)
            np.testing.assert_array_equal(np.array(net.unused.weight), unused)
            gradients = MNN.optim.Grad(net).grad(MNN.nn.loss.cross_entropy(net(F.const(x, [8, 4], F.NCHW)), goal))
            self.assertEqual([one is None for one in gradients], [True, True, False, False, True, True, False, False])

    def test_sgd(self):
        for method, decay in ((1, 0.0), (0, 0.1), (1, 0.1), (2, 0.1)):
            gradients, found = self.parameters(lambda net: MNN.optim.SGD(net, 0.02, 0.9, decay, method))
            w, v = np.float64([[-0.4, -0.2], [0.0, 0.2], [0.4, 0.6]]), 0
            for g in gradients:
                g = g + decay * ((np.sign(w) if method != 1 else 0) + (w if method else 0))
                v = 0.9 * v + 0.02 * g
                w = w - v
            np.testing.assert_allclose(found, w, rtol=1e-4, atol=1e-5)

    def test_adam(self):
        gradients, found = self.parameters(lambda net: MNN.optim.ADAM(net, 0.1, 0.8, 0.9, 0.1, 1e-3))
        w, m, v = np.float64([[-0.4, -0.2], [0.0, 0.2], [0.4, 0.6]]), 0, 0
        for t, g in enumerate(gradients, 1):
            g = g + 0.1 * w
            m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
            w = w - 0.1 * np.sqrt(1 - 0.9 ** t) / (1 - 0.8 ** t) * m / (np.sqrt(v) + 1e-3)
        np.testing.assert_allclose(found, w, rtol=1e-4, atol=1e-5)

    def test_loaders(self):
        import MNN.data

        class Numbers(MNN.data.Dataset):
            def __getitem__(self, index):
                return [F.const([float(index), 1.0], [2])], [F.const([float(index * 2)], [1])]

            def __len__(self):
                return 10

        loader = MNN.data.DataLoader(Numbers(), 4, shuffle=True)
        self.assertEqual((loader.iter_number, loader.size), (3, 10))
        for _ in range(2):
            loader.reset()
            seen = []
            for _ in range(loader.iter_number):
                inputs, targets = loader.next()
                self.assertIsInstance(inputs[0], F.Var)
                self.assertEqual(inputs[0].shape[1:], [2])
                np.testing.assert_array_equal(inputs[0].read()[:, 0] * 2, targets[0].read()[:, 0])
                seen += inputs[0].read()[:, 0].tolist()
            self.assertEqual(sorted(seen), list(range(10)))
            self.assertRaises(ValueError, loader.next)


if __name__ == "__main__":
    unittest.main()
