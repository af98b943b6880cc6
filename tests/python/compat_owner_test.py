#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.compat beside MNN itself: the same calls in two processes, one with MNN's wheel and one with the shim, give the same numbers."""
import importlib.util
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("MNN") is None or importlib.util.find_spec("minnow") is None:
    print("MNN or minnow is not there")
    sys.exit(77)


def cases(MNN):
    """Pairs of a name and a function that gives an array, a number, or a list of these."""
    import numpy as np
    F, nn = MNN.expr, MNN.nn

    def const(shape, start=0.0, step=1.0):
        count = int(np.prod(shape))
        return F.const((start + step * np.arange(count)).astype("float32").tolist(), list(shape), F.NCHW)

    def ints(*values):
        return F.const(list(values), [len(values)], F.NCHW, F.int)

    def packed(x):
        return F.convert(x, F.NC4HW4)

    def plain(x):
        return F.convert(x, F.NCHW)

    mixed, positive, odd = const([2, 6], -1.45, 0.33), const([2, 6], 0.15, 0.4), F.const([0.5, 1.5, 2.5, -0.5, -1.5, 0.2], [6])
    small, image, deep = const([2, 6], -0.9, 0.16), const([1, 2, 4, 4]), const([1, 8, 2, 2])
    nhwc = F.convert(image, F.NHWC)
    a, b = const([2, 3, 4], -3, 0.7), const([2, 3, 4], 5, -0.4)
    for name in ("abs", "ceil", "floor", "sign", "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "sigmoid", "softplus", "softsign", "gelu", "relu",
                 "relu6", "negative", "square", "expm1", "softmax"):
        yield name, lambda name=name: getattr(F, name)(mixed)
    for name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal"):
        yield name, lambda name=name: getattr(F, name)(positive)
    for name in ("asin", "acos", "atanh", "erfinv"):
        yield name, lambda name=name: getattr(F, name)(small)
    yield "acosh", lambda: F.acosh(const([5], 1.1))
    yield "elu", lambda: F.elu(mixed, 1.5)
    yield "round", lambda: F.round(odd)
    for name in ("add", "subtract", "multiply", "divide", "floordiv", "floormod", "minimum", "maximum", "squared_difference", "atan2"):
        yield name, lambda name=name: getattr(F, name)(a, b)
    yield "pow", lambda: F.pow(positive, F.scalar(1.7))
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
        yield name, lambda name=name: getattr(F, name)(ints(1, 2, 3), ints(3, 2, 1))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield name, lambda name=name: getattr(F, name)(ints(12, 5, 7), ints(10, 3, 7))
    for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        yield name, lambda name=name: [getattr(F, name)(a), getattr(F, name)(a, [1], True), getattr(F, name)(a, [0, 2])]
    yield "argmax", lambda: [F.argmax(a, 1), F.argmin(a, 2)]
    yield "cumsum", lambda: [F.cumsum(a, 1), F.cumprod(a, 2)]
    yield "matmul", lambda: [F.matmul(const([2, 3]), const([3, 4])), F.matmul(const([3, 2]), const([4, 3]), True, True)]
    yield "sort", lambda: [F.sort(F.const([3.0, 1.0, 2.0], [3])), F.sort(F.const([3.0, 1.0, 2.0], [3]), -1, False, True)]
    yield "shapes", lambda: [F.reshape(a, [4, 6]), F.transpose(a, [2, 0, 1]), F.expand_dims(a, 1), F.squeeze(const([1, 3, 1]), [0]), F.unsqueeze(a, [0]),
                             F.broadcast_to(const([1, 3]), [2, 3]), F.tile(a, ints(1, 2, 1)), F.reverse(a, ints(1)), F.pad(const([2, 2]), F.const([1, 0, 0, 2], [2, 2], F.NCHW, F.int))]
    yield "parts", lambda: [F.slice(a, ints(0, 1, 1), ints(2, 2, -1)), F.gather(a, ints(1, 0, 1)), F.gather_nd(a, F.const([0, 1, 1, 2], [2, 2], F.NCHW, F.int)),
                            F.strided_slice(a, ints(0, 0, 0), ints(2, 3, 4), ints(1, 2, 3)), *[part for part in F.split(a, [1, 2], 1)], *[part for part in F.unstack(a, 1)]]
    yield "joined", lambda: [F.concat([a, b], 1), F.stack([a, b], 1), F.one_hot(ints(0, 2), 3), F.select(F.greater(a, F.scalar(0.0)), a, b)]
    yield "space", lambda: [plain(F.depth_to_space(packed(deep), 2)), plain(F.space_to_depth(packed(image), 2)), F.space_to_depth(nhwc, 2),
                            F.depth_to_space(F.convert(deep, F.NHWC), 2)]
    yield "resize", lambda: [plain(F.resize(packed(image), 2.0, 2.0)), plain(F.resize(packed(image), 0.5, 1.5))]
    boxes = F.const([0.0, 0, 1, 1, 0.2, 0.3, 0.7, 0.9, -0.2, 0.1, 0.6, 1.3], [3, 4])
    yield "crop_and_resize", lambda: [F.convert(F.crop_and_resize(nhwc, boxes, ints(0, 0, 0), ints(2, 3)), F.NHWC),
                                      F.convert(F.crop_and_resize(nhwc, boxes, ints(0, 0, 0), ints(1, 2), F.BILINEAR, 5.0), F.NHWC)]
    yield "crop_and_resize.nearest", lambda: F.convert(F.crop_and_resize(nhwc, F.const([0.0, 0, 1, 1], [1, 4]), ints(0), ints(3, 2), F.NEAREST), F.NHWC)
    rois = F.const([0.0, 0.5, 0.5, 3, 3, 0, 1, 0, 2.5, 3], [2, 5])
    for aligned in (False, True):
        yield f"roi_align.{aligned}", lambda aligned=aligned: plain(F.roi_align(packed(image), rois, 2, 3, 1.0, 2, aligned, F.AVEPOOL))
    yield "roi_align.any", lambda: plain(F.roi_align(packed(image), rois, 2, 2, 0.5, -1, False, F.AVEPOOL))
    yield "roi_pooling", lambda: plain(F.roi_pooling(packed(const([1, 2, 8, 4], 3, -0.7)), F.const([0.0, 1, 1, 3, 3, 0, 0, 2, 2.4, 7], [2, 5]), 2, 2, 1.0))
    yield "normalize", lambda: [plain(F.normalize(image, 0, 0, 1e-6, [0.5, 2.0])), plain(F.normalize(image, 1, 0, 1e-6, [0.5, 2.0]))]
    yield "reverse_sequence", lambda: F.reverse_sequence(a, ints(2, 3), 0, 1)
    yield "scatter_nd", lambda: [F.scatter_nd(F.const([4, 3, 1, 7], [4, 1], F.NCHW, F.int), const([4], 9), ints(8)),
                                 F.scatter_nd(F.const([4, 4], [2, 1], F.NCHW, F.int), const([2], 9), ints(8))]
    p, q = F.const([0.2, 0.8, 0.6, 0.4], [2, 2]), F.const([0.3, 0.7, 0.5, 0.5], [2, 2])
    for name in ("mse", "mae", "hinge", "kl", "cross_entropy"):
        yield "loss." + name, lambda name=name: getattr(nn.loss, name)(p, q)

    wide, weight, zero = const([1, 1, 6, 10]), const([1, 1, 2, 3], 1, 0.5), F.const([0.5], [1])
    for name in ("conv2d", "conv2d_transpose"):
        layer = getattr(F, name)
        yield name, lambda layer=layer: [plain(layer(packed(wide), weight, zero, *arguments)) for arguments in (
            (), ((2, 1),), ((1, 1), (0, 0), (2, 1)), ((1, 1), (1, 0), (1, 1), 1, F.CAFFE), ((2, 2), (0, 0), (1, 1), 1, F.SAME))]
    for name in ("max_pool", "avg_pool"):
        layer = getattr(F, name)
        yield name, lambda layer=layer: [plain(layer(packed(wide), *arguments)) for arguments in (
            ([2, 3], [1, 1]), ([2, 2], [2, 1]), ([3, 3], [1, 1], F.CAFFE, [1, 0]), ([3, 3], [2, 2], F.SAME), ([3, 3], [2, 2], F.CAFFE, [1, 1]))]

    def conv(*arguments, **named):
        layer = nn.conv(*arguments, **named)
        given = [const(list(value.shape), -1.0, 0.13) for value in layer.parameters]
        layer.load_parameters(given)
        return [[int(dim) for dim in value.shape] for value in layer.parameters] + [plain(layer.forward(packed(image)))]

    yield "nn.conv", lambda: conv(2, 3, [2, 3])
    yield "nn.conv.padded", lambda: conv(2, 3, [3, 3], [2, 1], [1, 1], padding_mode=F.CAFFE)
    yield "nn.conv.same", lambda: conv(in_channels=2, out_channels=4, kernel_size=[3, 3], stride=[2, 2], bias=False, padding_mode=F.SAME)
    yield "nn.conv.depthwise", lambda: conv(2, 2, [3, 3], depthwise=True)

    def linear():
        layer = nn.linear(3, 2)
        layer.load_parameters([const(list(value.shape), -1.0, 0.5) for value in layer.parameters])
        return [[int(dim) for dim in value.shape] for value in layer.parameters] + [layer.forward(const([4, 3]))]

    yield "nn.linear", linear

    def batch_norm():
        layer = nn.batch_norm(2, 4)
        layer.load_parameters([const([1, 2, 1, 1], start, 0.5) for start in (2.0, -1.0, 3.0, 0.5)])
        layer.train(False)
        return plain(layer.forward(packed(image)))

    yield "nn.batch_norm", batch_norm
    yield "nn.dropout", lambda: (lambda layer: (layer.train(False), layer.forward(a))[1])(nn.dropout(0.5))

    def matrices():
        m = MNN.CVMatrix()
        found = [m.read()]
        for call, arguments in (("setRotate", (30.0, 1.0, 2.0)), ("setTranslate", (3.0, 4.0)), ("postScale", (2.0, 3.0)), ("preScale", (0.5, 0.25)), ("preTranslate", (1.0, 2.0)),
                                ("postTranslate", (-1.0, 5.0)), ("preRotate", (20.0,)), ("postRotate", (-40.0, 1.0, 1.0)), ("setScale", (2.0, 4.0, 1.0, 1.0)),
                                ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0], [1.0, 1.0, 9.0, 2.0, 11.0, 10.0, -1.0, 9.0])), ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0, 10.0, 10.0], [1.0, 1.0, 9.0, 2.0, 11.0, 10.0])),
                                ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0], [1.0, 1.0, 9.0, 2.0])), ("setPolyToPoly", ([3.0, 4.0], [1.0, 1.0]))):
            getattr(m, call)(*arguments)
            found.append(m.read())
        m.setScale(2.0, 4.0)
        m.postTranslate(1.0, 1.0)
        m.invert(m)
        return found + [m.read()]

    yield "CVMatrix", matrices
    pixels = (np.arange(6 * 7 * 3) * 37 % 251).astype(np.uint8).reshape(6, 7, 3)

    def process(config, shape, matrix=None, layout=MNN.Tensor_DimensionType_Caffe):
        tensor = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), layout)
        made = MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_BGR, **config})
        if matrix is not None:
            made.setMatrix(matrix)
        made.convert(pixels, 7, 6, 0, tensor)
        return np.array(tensor.getData(), np.float32).reshape(shape)

    rgb = {"destFormat": MNN.CV_ImageFormat_RGB, "mean": (10.0, 20.0, 30.0, 0.0), "normal": (0.5, 0.25, 2.0, 1.0)}
    scale, turned, beyond = MNN.CVMatrix(), MNN.CVMatrix(), MNN.CVMatrix()
    beyond.setScale(2.0, 2.0)
    scale.setScale(7 / 4, 6 / 3)
    turned.setRotate(10.0, 3.0, 2.5)
    for name, matrix, shape in (("whole", None, (1, 3, 6, 7)), ("scaled", scale, (1, 3, 3, 4)), ("turned", turned, (1, 3, 6, 7)), ("beyond", beyond, (1, 3, 6, 7))):
        for filter in (MNN.CV_Filter_NEAREST, MNN.CV_Filter_BILINEAL):
            for wrap in (MNN.CV_Wrap_CLAMP_TO_EDGE, MNN.CV_Wrap_ZERO):
                if name == "turned" and wrap == MNN.CV_Wrap_ZERO:
                    continue  # of what lies less than a pixel left of the picture MNN takes the edge
                yield f"bytes.{name}.{filter}.{wrap}", lambda matrix=matrix, shape=shape, filter=filter, wrap=wrap: process({"destFormat": MNN.CV_ImageFormat_BGR, "filterType": filter, "wrap": wrap}, shape, matrix)
    yield "CVImageProcess.normal", lambda: process(rgb, (1, 3, 6, 7))
    yield "CVImageProcess.last", lambda: process(rgb, (1, 6, 7, 3), None, MNN.Tensor_DimensionType_Tensorflow)
    yield "bytes.gray", lambda: process({"destFormat": MNN.CV_ImageFormat_GRAY}, (1, 1, 6, 7))
    np_of = MNN.numpy
    yield "numpy", lambda: [np_of.reshape(a, 4, 6), np_of.cumsum(const([2, 3])), np_of.repmat(const([2]), 2, 2), np_of.asmatrix(const([2, 2]))]
    yield "F.dtype", lambda: [int(F.const([1], [1], F.NCHW, F.dtype.int).dtype == F.int), int(F.cast(a, F.dtype.uint8).dtype == F.uint8)]


CHILD = """
import importlib.util, numpy, pickle, sys
if sys.argv[1] == "shim":
    import minnow.compat
import MNN, MNN.numpy
spec = importlib.util.spec_from_file_location("cases_of_compat", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
results = {}


def numbers(value):
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    return numpy.array(value.read()) if hasattr(value, "read") else value  # a copy while the value lives: MNN's array does not hold it


for name, function in module.cases(MNN):
    try:
        results[name] = numbers(function())
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}" if sys.argv[1] == "shim" else None
pickle.dump(results, open(sys.argv[3], "wb"))
"""


def flattened(value):
    import numpy as np
    if isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple, np.ndarray)) for item in value):
        return [part for item in value for part in flattened(item)]
    return [np.asarray(value, "float64")]


class Compat(unittest.TestCase):
    def test_the_same_numbers(self):
        import numpy as np
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for which in ("shim", "wheel"):
                path = Path(folder) / which
                done = subprocess.run([sys.executable, "-c", CHILD, which, __file__, str(path)], capture_output=True, text=True)
                self.assertTrue(path.is_file(), done.stderr[-2000:])
                found[which] = pickle.loads(path.read_bytes())
        self.assertGreater(len(found["wheel"]), 100)
        for name, expected in found["wheel"].items():
            with self.subTest(name):
                self.assertIsNotNone(expected, "MNN itself raises")
                self.assertNotIsInstance(found["shim"][name], str, found["shim"][name])
                ours, theirs = flattened(found["shim"][name]), flattened(expected)
                self.assertEqual([part.shape for part in ours], [part.shape for part in theirs])
                for one, other in zip(ours, theirs):  # interpolated bytes may be rounded the other way
                    np.testing.assert_allclose(one, other, rtol=3e-4, atol=1.001 if name.startswith("bytes") else 3e-4)


if __name__ == "__main__":
    unittest.main()
