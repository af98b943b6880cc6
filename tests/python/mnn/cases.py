# SPDX-License-Identifier: Apache-2.0
"""Calls of MNN's Python API that run with MNN's wheel and with minnow.compat, and the form of recorded answers.

scripts/make_mnn_cases.py evaluates the calls with the wheel and writes answers.json. compat_answers_test.py evaluates them with minnow.compat.
Each line is an expression over the names of environment().
"""
from __future__ import annotations

import math
import os
import sys
import tempfile
from typing import Any, Callable

EXPR = """
F.sign(f(2, 3))
F.abs(f(2, 3))
F.abs(i(-3, 2))
F.negative(f(2, 3))
F.negative(i(1, -2))
F.floor(f(2, 3))
F.round(f(2, 3))
F.round(v(0.5, 1.5, 2.5, -0.5, -1.5, -2.4))
F.ceil(f(2, 3))
F.square(f(2, 3))
F.sqrt(p(2, 3))
F.rsqrt(p(2, 3))
F.exp(f(2, 3))
F.exp(i(1, 2))
F.log(p(2, 3))
F.sin(f(2, 3))
F.sinh(f(2, 3))
F.cos(f(2, 3))
F.cosh(f(2, 3))
F.tan(f(2, 3))
F.tanh(f(2, 3))
F.asin(u(2, 3))
F.asinh(f(2, 3))
F.acos(u(2, 3))
F.acosh(p(2, 3) + 1.0)
F.atan(f(2, 3))
F.atanh(u(2, 3))
F.reciprocal(p(2, 3))
F.log1p(p(2, 3))
F.gelu(f(2, 3))
F.sigmoid(f(2, 3))
F.erf(f(2, 3))
F.erfc(f(2, 3))
F.erfinv(u(2, 3))
F.expm1(f(2, 3))
F.add(f(2, 3), g(2, 3))
F.add(f(2, 3), i(1, 2, 3))
F.add(i(1, 2), 2.5)
F.add(1, 2)
F.add([1, 2], [3, 4])
F.add([1., 2.], 1)
F.subtract(f(2, 3), g(2, 3))
F.subtract(f(2, 1), g(3))
F.subtract(i(5, 2), i(7, -1))
F.multiply(f(2, 3), g(2, 3))
F.multiply(i(5, 2), 3)
F.divide(f(2, 3), g(2, 3))
F.divide(i(7, -7, 9, 1), i(2, 2, -4, 3))
F.divide(i(7, 8), 2.0)
F.floordiv(f(2, 3), g(2, 3))
F.floordiv(i(7, -7, 9), i(2, 2, -4))
F.mod(f(2, 3), g(2, 3))
F.mod(i(7, -7, 9), i(2, 2, 4))
F.floormod(f(2, 3), g(2, 3))
F.floormod(i(7, -7, 9), i(2, 2, -4))
F.pow(p(2, 3), g(2, 3))
F.pow(p(2, 3), 2.0)
F.pow(i(2, 3), i(3, 2))
F.minimum(f(2, 3), g(2, 3))
F.minimum(i(1, 5), 3)
F.maximum(f(2, 3), g(2, 3))
F.equal(i(1, 2, 3), i(3, 2, 1))
F.equal(f(2, 3), f(2, 3))
F.not_equal(i(1, 2, 3), i(3, 2, 1))
F.greater(f(2, 3), g(2, 3))
F.greater_equal(i(1, 2, 3), 2)
F.less(f(2, 3), 0.5)
F.less_equal(i(1, 2, 3), i(3, 2, 1))
F.squared_difference(f(2, 3), g(2, 3))
F.atan2(f(2, 3), g(2, 3))
F.logical_or(i(0, 1, 0), i(0, 0, 1))
F.bias_add(f(2, 3), v(1, 2, 3))
F.bitwise_and(i(12, 5, 7), i(10, 3, 7))
F.bitwise_or(i(12, 5, 7), i(10, 3, 7))
F.bitwise_xor(i(12, 5, 7), i(10, 3, 7))
F.reduce_sum(f(2, 3, 4))
F.reduce_sum(f(2, 3, 4), [1], True)
F.reduce_sum(f(2, 3, 4), [0, 2])
F.reduce_sum(f(2, 3, 4), -1)
F.reduce_sum(i(1, 2, 3))
F.reduce_mean(f(2, 3, 4), [1])
F.reduce_mean(i(1, 2, 4))
F.reduce_max(f(2, 3, 4), [1, 2])
F.reduce_max(i(1, 5, 3))
F.reduce_min(f(2, 3, 4), 0, True)
F.reduce_prod(f(2, 3, 4), 1)
F.reduce_prod(i(1, 2, 4))
F.reduce_any(i(0, 1, 0))
F.reduce_any(I([0, 0, 0, 1], [2, 2]), [1])
F.reduce_all(i(1, 1, 0))
F.reduce_all(I([1, 1, 0, 1], [2, 2]), [0], True)
F.cast(f(2, 3), F.int)
F.cast(i(1, 2))
F.cast(i(200, 2), F.uint8)
F.cast(f(2, 2), F.double)
F.matmul(f(2, 3), f(3, 4))
F.matmul(f(3, 2), f(4, 3), True, True)
F.matmul(f(2, 2, 3), f(2, 3, 2))
F.matmul(i(1, 2, 3, 4).reshape(2, 2), i(1, 0, 0, 1).reshape(2, 2))
n(F.normalize(f(1, 2, 3, 3), 0, 0, 1e-6, [0.5, 2.0]))
n(F.normalize(f(1, 2, 3, 3), 1, 0, 1e-6, [0.5, 2.0]))
F.argmax(f(2, 3, 4), 1)
F.argmax(f(2, 3))
F.argmin(f(2, 3, 4), 2)
F.cumsum(f(2, 3), 1)
F.cumsum(f(2, 3))
F.cumsum(i(1, 2, 3))
F.cumprod(f(2, 3), 1)
F.cumprod(i(1, 2, 3))
[F.svd(f(3, 2))[0], F.abs(F.svd(f(3, 2))[1]), F.abs(F.svd(f(3, 2))[2])]
F.unravel_index(i(5, 7), i(3, 4))
F.scatter_nd(I([4, 3, 1, 7], [4, 1]), v(9, 10, 11, 12), i(8))
F.scatter_nd(I([0, 1], [2, 1]), f(2, 3), [4, 3])
F.one_hot(i(0, 2), 3)
F.one_hot(i(0, 2), 3, 5.0, 1.0, 0)
F.broadcast_to(f(1, 3), [2, 3])
F.broadcast_to(f(3), [2, 2, 3])
[F.placeholder([2, 3]).shape, F.placeholder([2, 3]).dtype == F.float, F.placeholder([1, 3, 4, 4], F.NC4HW4).data_format == F.NC4HW4]
F.placeholder([2], F.NCHW, F.int).dtype == F.int
F.clone(f(2, 3))
F.clone(f(2, 3), True)
n(F.conv2d(c(f(1, 2, 5, 6)), f(3, 2, 2, 3), v(1, 2, 3)))
n(F.conv2d(c(f(1, 2, 5, 6)), f(3, 2, 2, 3), v(1, 2, 3), (2, 1), (1, 0), (1, 1), 1, F.CAFFE))
n(F.conv2d(c(f(1, 2, 5, 6)), f(3, 2, 2, 3), v(1, 2, 3), (2, 2), (0, 0), (1, 1), 1, F.SAME))
n(F.conv2d(c(f(1, 2, 5, 6)), f(2, 1, 2, 2), v(1, 2), (1, 1), (0, 0), (2, 1), 2, F.VALID))
n(F.conv2d_transpose(c(f(1, 2, 3, 4)), f(2, 3, 2, 3), v(1, 2, 3)))
n(F.conv2d_transpose(c(f(1, 2, 3, 4)), f(2, 3, 2, 3), v(1, 2, 3), (2, 1), (1, 0), (1, 1), 1, F.CAFFE))
n(F.max_pool(c(f(1, 2, 5, 6)), [2, 3], [1, 2]))
n(F.max_pool(c(f(1, 2, 5, 6)), [3, 3], [2, 2], F.CAFFE, [1, 1]))
n(F.max_pool(c(f(1, 2, 5, 6)), [3, 3], [2, 2], F.SAME))
n(F.avg_pool(c(f(1, 2, 5, 6)), [2, 3], [1, 2]))
n(F.avg_pool(c(f(1, 2, 5, 6)), [3, 3], [2, 2], F.CAFFE, [1, 1]))
n(F.avg_pool(c(f(1, 2, 5, 6)), [3, 3], [2, 2], F.SAME))
F.reshape(f(2, 6), [3, 4])
F.reshape(f(2, 6), [3, -1])
F.reshape(f(2, 3, 4), [0, -1])
F.reshape(f(2, 3, 4), [0, 0, 2, -1])
F.reshape(h(f(1, 2, 2, 3)), [3, 4], F.NHWC)
n(F.scale(c(f(1, 2, 2, 2)), 2, [2.0, 3.0], [0.5, -0.5]))
F.relu(f(2, 3))
F.relu(f(2, 3), 0.1)
F.relu6(p(2, 3) * 3)
F.relu6(f(2, 3), -1.0, 1.0)
n(F.prelu(c(f(1, 2, 2, 2)), [0.1, 0.3]))
F.softmax(f(2, 3))
F.softmax(f(2, 3), 0)
F.softplus(f(2, 3))
F.softsign(f(2, 3))
F.slice(f(2, 3, 4), [0, 1, 1], [2, 2, -1])
F.split(f(2, 6), [1, 2, 3], 1)
F.split(f(4, 3), 2, 0)
F.split(f(4, 3), [2, 2], 0)
F.strided_slice(f(2, 3, 4), [0, 0, 1], [2, 3, 4], [1, 2, 2])
F.strided_slice(f(4, 5), [1, 0], [3, 4], [1, 1], 1, 2)
F.strided_slice(f(4, 5), [1, 3], [2, 0], [1, -1], 0, 0, 0, 0, 1)
F.strided_slice(f(4, 5), [0, 0, 1], [0, 0, 3], [1, 1, 1], 0, 0, 1, 0, 0)
F.strided_slice(f(4, 5), [0, 1], [0, 3], [1, 1], 0, 0, 0, 1, 0)
F.concat([f(2, 3), g(2, 3)], 1)
F.concat([f(2, 3), g(1, 3)], 0)
F.concat([[1, 2], [3]], 0)
F.where(i(0, 1, 1, 0))
F.where(v(0.3, -1, 0, 1.5))
F.where(I([0, 1, 1, 0], [2, 2]))
[F.convert(f(1, 2, 2, 3), F.NHWC), F.convert(f(1, 2, 2, 3), F.NHWC).shape, F.convert(f(1, 2, 2, 3), F.NHWC).data_format == F.NHWC]
[n(c(f(1, 2, 2, 3))), c(f(1, 2, 2, 3)).shape]
F.convert(F.convert(f(1, 5, 2, 2), F.NC4HW4), F.NHWC)
F.convert(f(2, 3, 4), F.NHWC)
F.convert(f(2, 3, 4, 1, 2), F.NHWC)
F.convert(f(2, 3), F.NHWC)
n(F.convert(F.reshape(F.range(0.0, 18.0, 1.0), [1, 2, 3, 3]), F.NC4HW4))
[x.data_format == F.NHWC for x in (h(f(1, 2, 3, 4)), F.relu(h(f(1, 2, 3, 4))), h(f(1, 2, 3, 4)) + f(1, 3, 4, 2), F.cast(h(f(1, 2, 3, 4)), F.int), f(2, 3, 4), np.zeros([1, 2, 3, 4]), F.expand_dims(f(2, 3), 0))]
F.transpose(f(2, 3, 4), [2, 0, 1])
F.transpose(f(2, 3), i(1, 0))
n(F.channel_shuffle(c(f(1, 4, 2, 2)), 2))
F.channel_shuffle(f(1, 4, 2, 2), 2)
n(F.channel_shuffle(h(f(1, 4, 2, 2)), 2))
F.reverse_sequence(f(2, 3, 4), i(2, 3), 0, 1)
F.reverse(f(2, 3), i(1))
F.reverse(f(2, 3), i(0))
n(F.crop(c(f(1, 2, 4, 4)), f(1, 2, 2, 3), 2, [1, 0]))
n(F.crop(c(f(1, 2, 4, 4)), f(1, 2, 4, 2), 3, [1]))
n(F.resize(c(f(1, 2, 3, 3)), 2.0, 2.0))
n(F.resize(c(f(1, 2, 4, 4)), 0.5, 1.5))
h(F.crop_and_resize(h(f(1, 2, 4, 4)), F.const([0.0, 0, 1, 1, 0.2, 0.3, 0.7, 0.9], [2, 4]), i(0, 0), i(2, 3)))
h(F.crop_and_resize(h(f(1, 2, 4, 4)), F.const([-0.2, 0.1, 0.6, 1.3], [1, 4]), i(0), i(2, 2), F.BILINEAR, 5.0))
h(F.crop_and_resize(h(f(1, 2, 4, 4)), F.const([0.0, 0, 1, 1], [1, 4]), i(0), i(3, 2), F.NEAREST))
F.pad(f(2, 3), I([1, 0, 0, 2], [2, 2]))
F.pad(f(2, 3), I([1, 0, 0, 2], [2, 2]), F.REFLECT)
F.pad(f(2, 3), I([1, 0, 0, 2], [2, 2]), F.SYMMETRIC)
[F.randomuniform([3, 4]).shape, float(F.randomuniform([300]).read().min()) >= 0, float(F.randomuniform([300]).read().max()) <= 1]
[F.randomuniform([3], F.float, 2.0, 3.0).dtype == F.float, float(F.randomuniform([300], F.float, 2.0, 3.0).read().min()) >= 2]
F.expand_dims(f(2, 3), 1)
F.expand_dims(f(2, 3), -1)
F.rank(f(2, 3, 4))
F.size(f(2, 3, 4))
F.shape(f(2, 3, 4))
F.stack([f(2, 3), g(2, 3)])
F.stack([f(2, 3), g(2, 3)], 1)
F.stack([f(2, 3), g(2, 3)], -1)
F.unstack(f(2, 3))
F.unstack(f(2, 3), 1)
F.fill([2, 3], 4.0)
F.fill(i(2, 2), F.scalar(3))
F.tile(f(2, 3), [1, 2])
F.gather(f(3, 2), [1, 0, 1])
F.gather(f(3, 2), I([1, 0, 2, 1], [2, 2]))
F.gather_nd(f(2, 3, 4), I([0, 1, 1, 2], [2, 2]))
F.select(F.greater(f(2, 3), g(2, 3)), f(2, 3), g(2, 3))
F.select(i(1, 0, 1), v(1, 2, 3), v(4, 5, 6))
F.squeeze(f(1, 3, 1))
F.squeeze(f(1, 3, 1), [0])
F.squeeze(f(1, 3, 1), -1)
F.unsqueeze(f(2, 3), [0, 3])
F.unsqueeze(f(2, 3), 1)
n(F.depth_to_space(c(f(1, 8, 2, 2)), 2))
F.depth_to_space(h(f(1, 8, 2, 2)), 2)
n(F.space_to_depth(c(f(1, 2, 4, 4)), 2))
F.space_to_depth(h(f(1, 2, 4, 4)), 2)
n(F.batch_to_space_nd(c(f(4, 1, 2, 2)), i(2, 2), I([0, 0, 0, 1], [2, 2])))
n(F.space_to_batch_nd(c(f(1, 1, 4, 4)), i(2, 2), I([0, 0, 0, 0], [2, 2])))
F.elu(f(2, 3), 1.5)
F.selu(f(2, 3), 1.05, 1.67)
F.matrix_band_part(f(3, 4), -1, 1)
F.matrix_band_part(f(3, 3), F.scalar(1), F.scalar(0))
[n(x) for x in F.moments(c(f(1, 2, 3, 3)))]
F.moments(c(f(1, 4, 3, 3)))[0].shape
[n(x) for x in F.moments(c(f(1, 2, 3, 3)), [2, 3], None, False)]
F.setdiff1d(i(1, 2, 2, 3, 4), i(2, 3))
F.zeros_like(f(2, 3))
F.zeros_like(i(1, 2))
F.range(0, 6, 2)
F.range(0.0, 2.0, 0.5)
F.sort(f(2, 5))
F.sort(f(2, 5), 0)
F.sort(f(2, 5), -1, True)
F.sort(f(2, 5), 1, False, True)
F.sort(f(2, 5), 1, True, True)
F.sort(i(3, 1, 2))
F.nms(F.const([0, 0, 1, 1, 0, 0, 1, 1.05, 5, 5, 6, 6], [3, 4]), v(.9, .8, .7), 3, 0.5, 0.1)
F.nms([[1, 1, 4, 4], [0, 0, 3, 3], [5, 5, 7, 7]], [0.9, 0.5, 0.1], 3, 0.1)
F.nms(F.const([0, 0, 1, 1, 5, 5, 6, 6, 5, 5, 6, 6.1], [3, 4]), v(.7, .8, .9), 2, 0.5)
F.histogram(v(1, 2, 3, 4, 5, 9), 4, 1, 5)
F.histogram(f(4, 5), 5, -2, 2)
n(F.roi_pooling(c(f(1, 2, 6, 4)), F.const([0.0, 1, 1, 3, 3, 0, 0, 2, 2.4, 5], [2, 5]), 2, 2, 1.0))
n(F.roi_align(c(f(1, 2, 5, 4)), F.const([0.0, 0.5, 0.5, 3, 3], [1, 5]), 2, 3, 1.0, 2, False, F.AVEPOOL))
n(F.roi_align(c(f(1, 2, 5, 4)), F.const([0.0, 0.5, 0.5, 3, 3], [1, 5]), 2, 3, 1.0, 2, True, F.MAXPOOL))
n(F.roi_align(c(f(1, 2, 5, 4)), F.const([0.0, 0, 1, 2.5, 3], [1, 5]), 2, 2, 0.5, -1, False, F.AVEPOOL))
F.eltwise_sum(f(2, 3), g(2, 3), [])
F.eltwise_sum(f(2, 3), g(2, 3), [2.0, 3.0])
F.eltwise_sub(f(2, 3), g(2, 3), [])
[F.eltwise_sum(f(2, 3), g(2, 3), [1.0, 0.0]), F.eltwise_sub(f(2, 3), g(2, 3), [1.0, 0.0]), F.eltwise_prod(f(2, 3), g(2, 3), [1.0, 0.0]), F.eltwise_max(f(2, 3), g(2, 3), [1.0, 0.0])]
F.eltwise_prod(f(2, 3), g(2, 3), [])
F.eltwise_max(f(2, 3), g(2, 3), [])
F.raster([f(2, 3)], [0, 6, 1, 3, 0, 6, 2, 1, 1, 3, 2], [3, 2])
F.raster([f(2, 3), g(2, 3)], [0, 6, 3, 1, 0, 12, 6, 1, 1, 2, 3, 0, 6, 3, 1, 3, 12, 6, 1, 1, 2, 3], [2, 6])
F.raster([v(1, 2, 3, 4)], [1, 4, 1, 1, 2, 6, 1, 1, 1, 1, 3], [6])
n(F.dequant(F.quant(c(f(1, 4, 2, 2)), v(10, 20, 30, 40), -127, 127), v(0.1, 0.05, 1 / 30, 0.025), 0))
n(F.quant(c(f(1, 4, 2, 2)), v(10, 20, 30, 40)))
F.quant(f(1, 4, 2, 2), v(10, 20, 30, 40), -60, 60)
F.detection_post_process(v(0.1, 0.2, 0.1, 0, 0, 0.1, 0.3, 0.2).reshape(1, 2, 4), v(0.1, 0.8, 0.2, 0.3, 0.1, 0.6).reshape(1, 2, 3), v(0.5, 0.5, 1, 1, 0.2, 0.3, 0.4, 0.6).reshape(2, 4), 2, 2, 1, 1, 0.1, 0.5, False, [10.0, 10.0, 5.0, 5.0])
F.jsonop([v(1, -2)], '{"type": "ReLU", "main_type": "Relu", "main": {"slope": 0.0}}', 1)
F.jsonop([f(2, 3), g(2, 3)], '{"type": "BinaryOp", "main_type": "BinaryOp", "main": {"opType": "ADD", "T": "DT_FLOAT"}}', 1)
F.const([1, 2, 3, 4], [2, 2], F.NCHW, F.int)
F.const([1.0, 2.0], [2])
F.const([5.0], [], F.NCHW, F.float)
F.const(N([[1, 2], [3, 4]], "float32"), [2, 2])
F.const(N([1, 2], "uint8"), [2], F.NCHW, F.uint8)
F.const([7], [1], F.NHWC, F.int).data_format == F.NHWC
after(N([1.0, 2.0], "float32"), lambda x: x, lambda x: F.const(x.ctypes.data, [2]))
after(v(1, 2, 3), lambda x: x, lambda x: F.const(x.ptr, [3]))
F.scalar(3)
F.scalar(3.5)
F.scalar(3, F.float)
F.scalar(3.7, F.int)
[F.gc(1), F.lazy_eval(True), F.set_lazy_mode(0), F.set_thread_number(1)]
F.set_global_executor_config(0, 1, 1)
[F.Backend.CPU == F.CPU, F.PrecisionMode.Low == F.Low, F.Padding_Mode.SAME == F.SAME, F.PadValue_Mode.REFLECT == F.REFLECT, F.Pooling_Mode.MAXPOOL == F.MAXPOOL, F.Interp_Method.NEAREST == F.NEAREST]
[F.Backend.CUDA == F.CUDA, F.Backend.OPENCL == F.OPENCL, F.Backend.OPENGL == F.OPENGL, F.Backend.VULKAN == F.VULKAN, F.Backend.METAL == F.METAL, F.Backend.TRT == F.TRT, F.Backend.HIAI == F.HIAI, F.CPU == F.CUDA]
[F.PrecisionMode.High == F.High, F.PrecisionMode.Normal == F.Normal, F.PrecisionMode.Low_BF16 == F.Low_BF16, F.High == F.Low]
[F.dtype.float == F.float, F.dtype.int == F.int, F.dtype.uint8 == F.uint8, F.dtype.int64 == F.int64, F.dtype.double == F.double, F.dtype.int8 == F.int8, F.data_format.NHWC == F.NHWC]
[F.float == F.int, F.NCHW == F.NHWC, F.VALID == F.SAME]
save_and_load(f(2, 3))
loaded_list()
loaded_dict()
resized()
save_and_load_dict(f(2, 3))
model_as_dict()
"""

VAR = """
f(2, 3).shape
F.scalar(1).shape
isinstance(f(2, 3).shape, list)
replaced()
f(2, 3).shape == [2, 3]
f(2, 3).shape + [1]
f(2, 3).size
f(2, 3).ndim
len(f(2, 3))
f(2, 3).valid
f(2, 3).dtype == F.float
[f(2, 3).dtype == F.int, i(1).dtype == F.int]
f(2, 3).data_format == F.NCHW
f(2, 3).op_type
named(f(2, 3)).name
(f(2, 3) + 1).op_type
(f(2, 3) * 2).op_type
F.reshape(f(2, 3), [6]).op_type
F.placeholder([2]).op_type
[x.op_type for x in (F.placeholder([2]) + 1.0).inputs]
len((F.placeholder([2]) + F.placeholder([2])).inputs)
f(2, 3).read()
i(1, 2).read()
f(2, 2).read_as_tuple()
i(1, 2).read_as_tuple()
written(F.placeholder([2, 3]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
written(F.placeholder([2, 2]), N([[1, 2], [3, 4]], "float32"))
written(F.placeholder([2], F.NCHW, F.int), [1, 2])
after(F.placeholder([2]), lambda x: x.copy_from(v(3, 4)))
after(v(1, 2), lambda x: x.fix_as_placeholder())
after(v(1, 2), lambda x: x.fix_as_placeholder(), lambda x: x.op_type)
after(v(1, 2), lambda x: x.fix_as_const(), lambda x: x.op_type)
after(v(1, 2) + v(1, 1), lambda x: x.fix_as_const(), lambda x: [x, x.op_type, len(x.inputs)])
after(v(1, 2), lambda x: x.fix_as_trainable(), lambda x: x.op_type)
after(v(1, 2) + v(1, 1), lambda x: x.fix_as_trainable(), lambda x: [x, x.op_type])
after(v(1, 2), lambda x: x.replace(v(5, 6)))
after(v(1, 2), lambda x: x.set_order(F.NHWC), lambda x: x.data_format == F.NHWC)
after(F.placeholder([2]) + 1.0, lambda x: x.set_inputs([v(1, 2), v(10, 20)]))
after(F.placeholder([2]), lambda x: x.resize([3, 2]), lambda x: x.shape)
after(f(1, 2, 2, 2), lambda x: x.reorder(F.NHWC), lambda x: [x.shape, x.data_format == F.NHWC, x])
after(f(2, 3), lambda x: x.sync())
f(2, 3).ptr is not None
[callable(f(2).close), callable(f(2).set_device_ptr), callable(f(2).copy_to_device_ptr)]
f(2, 3) + g(2, 3)
f(2, 3) + 1
1 + f(2, 3)
i(1, 2) + 1.5
i(1, 2) + f(2)
f(2, 3) - [1.0, 2.0, 3.0]
f(2, 3) - (1.0, 2.0, 3.0)
2 * f(2, 3)
f(2, 3) * i(1, 2, 3)
f(2, 3) / g(2, 3)
i(7, -7) / i(2, 2)
i(7, -7) / 2
i(7, 9) / 2.0
1 / p(2, 3)
i(7, -7) // i(2, 2)
f(2, 3) // 0.5
p(2, 3) ** 2
p(2, 3) ** 0.5
2 ** f(2, 3)
i(2, 3) ** 2
-f(2, 3)
abs(f(2, 3))
f(2, 3) > g(2, 3)
f(2, 3) < 0
f(2, 3) >= 0.5
f(2, 3) <= g(2, 3)
i(1, 2) == i(1, 3)
i(1, 2) == 1
i(1, 2) != i(1, 3)
f(2, 3)[0]
f(2, 3)[1, 2]
i(4, 5)[1]
f(2, 3)[-1]
f(4, 5)[1:3]
f(4, 5)[1:3, ::2]
f(4, 5)[:, 1]
f(4, 5)[..., 0]
f(4, 5)[::-1]
f(4, 5)[:, ::-1]
f(4, 5)[-2:]
f(4, 5)[:, :-1]
f(4, 5)[None, 1]
f(4, 5)[i(1, 3)]
f(4, 5)[[0, 2]]
f(2, 3)[f(2, 3) > 0]
i(4, 5, 6)[i(1, 0, 1)]
after(f(2, 3), lambda x: x.__setitem__(0, v(1, 2, 3)))
after(f(2, 3), lambda x: x.__setitem__((slice(None), 1), 7.0))
after(f(4, 3), lambda x: x.__setitem__(slice(1, 3), 0.0))
after(v(1, 2, 3, 4), lambda x: x.__setitem__(i(0, 2), v(10, 20)))
after(v(1, -2, 3, -4), lambda x: x.__setitem__(x < 0, 0.0))
[x for x in f(2, 3)]
[x for x in v(1, 2)]
f(2, 3).all() if False else i(1, 1, 0).all()
i(0, 1, 0).any()
I([1, 1, 0, 1], [2, 2]).all()
f(2, 3).argmax()
f(2, 3).argmax(1)
f(2, 3).argmin(0)
f(2, 5).argsort()
f(2, 5).argsort(0)
f(2, 3).astype(F.int)
i(1, 2).astype(F.float)
f(2, 3).clip(-1.0, 1.0)
f(2, 3).copy()
f(2, 3).dot(f(3, 2))
v(1, 2, 3).dot(v(4, 5, 6))
after(f(2, 3), lambda x: x.fill(2.0))
f(2, 3).flatten()
f(2, 3).item(4)
f(2, 3).item((1, 1))
f(2, 3).max()
f(2, 3).max(1)
f(2, 3).max(0, None, True)
f(2, 3).mean()
f(2, 3).mean(1)
f(2, 3).min()
f(2, 3).min([0])
i(0, 3, 0, 5).nonzero()
I([0, 1, 1, 0], [2, 2]).nonzero()
f(2, 3).prod()
f(2, 3).prod(1)
f(2, 3).ptp()
f(2, 3).ptp(1)
f(2, 3).ravel()
f(2, 3).repeat(2)
f(2, 3).reshape(3, 2)
f(2, 3).reshape([3, 2])
f(2, 3).reshape((6,))
f(2, 3).reshape(-1)
f(2, 3, 2).reshape(0, -1)
f(2, 3).round()
f(2, 5).sort()
f(2, 5).sort(0)
after(f(2, 5), lambda x: x.sort())
f(1, 3, 1).squeeze()
f(1, 3, 1).squeeze(0)
f(2, 3).std()
f(2, 3).std(1)
f(2, 3).sum()
i(1, 2).sum()
f(2, 3).sum(1)
f(2, 3).sum(1, None, True)
f(2, 3, 4).swapaxes(0, 2)
f(2, 3).transpose()
f(2, 3, 4).transpose([2, 0, 1])
f(2, 3).var()
f(2, 3).var(0)
repr(v(1, 2.5))
str(i(1, 2))
repr(f(2, 2))
v(1, 5, 7).searchsorted(v(2, 6))
v(3, 1, 2).argpartition(1)
"""

NUMPY = """
np.empty([2, 3]).shape
np.empty_like(f(2, 3)).shape
np.eye(3)
np.eye(2, 3, 1)
np.eye(2, dtype=np.int32)
np.identity(3)
np.full((2, 3), 4)
np.full([2], 1.5)
np.full(2, 1, np.float32)
np.full_like(f(2, 3), 2)
np.full_like(i(1, 2), 1.5)
np.ones((2, 3))
np.ones([2], np.float32)
np.ones(3)
np.ones_like(f(2, 3))
np.zeros((2, 3))
np.zeros([2], np.int32)
np.zeros_like(i(1, 2))
np.copy(f(2, 3))
np.array([1, 2, 3])
np.array([1.0, 2.0])
np.array([[1, 2], [3, 4]])
np.array([[1., 2.], [3., 4.]])
np.array([1, 2], dtype=np.float32)
np.array(5)
np.array(f(2, 3))
np.array([1, 2], ndmin=2)
np.array(N([1.0, 2.0], "float64"))
np.array(N([1, 2], "int64"))
np.asarray([1, 2])
np.asanyarray([1.5])
np.ascontiguousarray([1, 2])
np.asarray_chkfinite([1.0, 2.0])
np.asmatrix([[1, 2], [3, 4]])
np.mat([[1.0, 2.0]])
np.asmatrix([1, 2, 3])
np.ones([[2], [2]])
np.copysign(13, -1)
np.matrix([[1, 2]])
np.asfarray([1, 2])
np.asscalar(v(3.5))
np.frombuffer(N([1.0, 2.0], "float32").tobytes(), np.float32)
np.arange(5)
np.arange(1, 7, 2)
np.arange(0.0, 1.0, 0.25)
np.linspace(0, 1, 5)
np.linspace(0, 1, 4, False)
np.logspace(0, 2, 3)
np.geomspace(1, 8, 4)
np.meshgrid(v(1, 2, 3), v(4, 5))
np.meshgrid(v(1, 2, 3), v(4, 5), indexing="ij")
np.repmat(f(2, 3), 2, 2)
np.shape(f(2, 3))
np.reshape(f(2, 3), [3, 2])
np.reshape(f(2, 3), (3, 2))
np.reshape(f(2, 3), 6)
np.reshape(f(2, 3), 3, -1)
np.ravel(f(2, 3))
np.moveaxis(f(2, 3, 4), 0, 2)
np.moveaxis(f(2, 3, 4), [0, 1], [2, 0])
np.rollaxis(f(2, 3, 4), 2)
np.rollaxis(f(2, 3, 4), 0, 2)
np.swapaxes(f(2, 3, 4), 0, 1)
np.transpose(f(2, 3, 4))
np.transpose(f(2, 3, 4), [1, 0, 2])
np.atleast_1d(F.scalar(2.0))
np.atleast_2d(v(1, 2))
np.atleast_3d(v(1, 2))
np.atleast_3d(f(2, 3))
np.atleast_2d(v(1, 2), f(2, 2))
np.broadcast_to(v(1, 2, 3), [2, 3])
np.broadcast_to([1, 2, 3], (2, 3))
np.broadcast_arrays(f(2, 1), f(1, 3))
np.expand_dims(f(2, 3), 1)
np.expand_dims(f(2, 3), [0, 3])
np.squeeze(f(1, 3, 1))
np.squeeze(f(1, 3, 1), 2)
np.concatenate([f(2, 3), g(2, 3)])
np.concatenate([f(2, 3), g(2, 3)], 1)
np.concatenate([f(2, 3), g(2, 3)], None) if False else np.concatenate([v(1, 2), v(3)])
np.stack([f(2, 3), g(2, 3)])
np.stack([f(2, 3), g(2, 3)], 1)
np.vstack([v(1, 2), v(3, 4)])
np.vstack([f(2, 3), g(1, 3)])
np.hstack([v(1, 2), v(3)])
np.hstack([f(2, 3), g(2, 1)])
np.dstack([f(2, 3), g(2, 3)])
np.column_stack([v(1, 2), v(3, 4)])
np.column_stack([f(2, 3), v(3, 4)])
np.row_stack([v(1, 2), v(3, 4)])
np.split(f(4, 3), 2)
np.split(f(4, 3), [1, 3])
np.split(f(2, 6), 3, 1)
np.split(f(4, 3), [2, 4])
np.array_split(f(4, 3), 2)
np.dsplit(f(2, 2, 4), 2)
np.hsplit(f(2, 4), 2)
np.hsplit(v(1, 2, 3, 4), 2)
np.vsplit(f(4, 2), 2)
np.tile(v(1, 2), 2)
np.tile(f(2, 3), (1, 2))
np.tile(f(2, 3), (2, 1))
np.tile(v(1, 2), (2, 2))
np.repeat(v(1, 2), 2)
np.repeat(f(2, 3), 2)
np.bitwise_and(i(12, 5), i(10, 3))
np.bitwise_or(i(12, 5), i(10, 3))
np.bitwise_xor(i(12, 5), i(10, 3))
np.where(i(1, 0, 1), v(1, 2, 3), v(4, 5, 6))
np.where(i(1, 0, 1))
np.nonzero(v(-1, 0, 2))
np.where(f(2, 3) > 0, f(2, 3), 0.0)
np.unravel_index([5, 7], (3, 4))
np.dot(v(1, 2, 3), v(4, 5, 6))
np.dot(i(1, 2), i(3, 4))
np.dot(f(2, 3), f(3, 2))
np.dot(f(2, 3), v(1, 2, 3))
np.dot(I([1, 2, 3, 4], [2, 2]), I([1, 0, 2, 1], [2, 2]))
np.dot(2.0, 3.0)
np.vdot(v(1, 2), v(3, 4))
np.inner(v(1, 2), v(3, 4))
np.inner(f(2, 3), f(2, 3))
np.matmul(f(2, 3), f(3, 2))
np.matmul(f(2, 2, 3), f(2, 3, 2))
np.tensordot(f(2, 3), f(3, 2), 1)
np.all(i(1, 1, 0))
np.any(i(0, 1, 0))
np.all(I([1, 1, 0, 1], [2, 2]), 0)
np.any(I([1, 1, 0, 1], [2, 2]), 0)
np.all(f(2, 3))
np.array_equal(i(1, 2), i(1, 2))
np.array_equal(f(2, 3), g(2, 3))
np.array_equiv(i(1, 2), i(1, 3))
np.greater(i(1, 2, 3), 2)
np.greater_equal(f(2, 3), 0.0)
np.less(i(1, 2, 3), 2)
np.less_equal(i(1, 2, 3), 2)
np.equal(i(1, 2, 3), 2)
np.not_equal(i(1, 2, 3), 2)
np.sin(f(2, 3))
np.cos(f(2, 3))
np.tan(f(2, 3))
np.arcsin(u(2, 3))
np.arccos(u(2, 3))
np.arctan(f(2, 3))
np.arctan2(f(2, 3), g(2, 3))
np.sinh(f(2, 3))
np.cosh(f(2, 3))
np.tanh(f(2, 3))
np.arcsinh(f(2, 3))
np.arccosh(p(2, 3) + 1)
np.arctanh(u(2, 3))
np.around(f(2, 3))
np.round(f(2, 3))
np.round_(f(2, 3))
np.rint(f(2, 3))
np.fix(f(2, 3))
np.floor(f(2, 3))
np.ceil(f(2, 3))
np.trunc(f(2, 3))
np.prod(f(2, 3))
np.prod(f(2, 3), 1)
np.sum(f(2, 3))
np.sum(f(2, 3), 0)
np.sum(f(2, 3), 1, None, True)
np.sum(i(1, 2))
np.sum(v(1, 2), 0)
np.nanprod(f(2, 3))
np.nansum(f(2, 3), 1)
np.nansum(v(1, float("nan"), 2))
np.sqrt(p(2, 3))
np.exp(f(2, 3))
np.expm1(f(2, 3))
np.log(p(2, 3))
np.log1p(p(2, 3))
np.sign(f(2, 3))
np.reciprocal(p(2, 3))
np.positive(f(2, 3))
np.negative(f(2, 3))
np.multiply(f(2, 3), g(2, 3))
np.add(f(2, 3), 1)
np.divide(f(2, 3), g(2, 3))
np.divide(i(7, -7), 2)
np.power(p(2, 3), 2.0)
np.subtract(f(2, 3), g(2, 3))
np.true_divide(f(2, 3), g(2, 3))
np.floor_divide(f(2, 3), 0.5)
np.float_power(p(2, 3), 2.0)
np.mod(f(2, 3), 0.7)
np.fmod(f(2, 3), 0.7)
np.remainder(i(7, -7), i(3, 3))
np.square(f(2, 3))
np.abs(f(2, 3))
np.absolute(i(-1, 2))
np.fabs(f(2, 3))
np.maximum(f(2, 3), g(2, 3))
np.minimum(f(2, 3), 0.0)
np.fmax(f(2, 3), g(2, 3))
np.fmin(f(2, 3), g(2, 3))
np.hypot(f(2, 3), g(2, 3))
np.exp2(f(2, 3))
np.log2(p(2, 3))
np.log10(p(2, 3))
np.logaddexp(f(2, 3), g(2, 3))
np.logaddexp2(f(2, 3), g(2, 3))
np.sinc(f(2, 3))
np.sinc(v(0.0, 0.5))
np.signbit(f(2, 3))
np.copysign(f(2, 3), g(2, 3))
np.copysign(p(2, 3), g(2, 3))
np.ldexp(f(2, 3), v(1, 2, 3))
np.divmod(f(2, 3), 0.7)
np.divmod(p(2, 3), 0.7)
np.modf(p(2, 3))
np.modf(f(2, 3))
np.clip(f(2, 3), -1, 1)
np.clip(i(1, 5, 9), 2, 7)
np.cbrt(p(2, 3))
np.cbrt(f(2, 3))
np.cumprod(f(2, 3))
np.cumprod(f(2, 3), 1)
np.cumsum(f(2, 3))
np.cumsum(f(2, 3), 1)
np.nancumprod(f(2, 3))
np.nancumsum(f(2, 3))
np.pad(f(2, 3), 1)
np.pad(f(2, 3), [[1, 0], [0, 2]])
np.pad(f(2, 3), ((1, 0), (0, 2)), "reflect")
np.pad(f(2, 3), 1, "symmetric")
np.sort(f(2, 5))
np.sort(f(2, 5), 0)
np.lexsort(v(3, 1, 2))
np.argsort(f(2, 5))
np.argsort(f(2, 5), 0)
np.msort(f(3, 2))
np.argmax(f(2, 3))
np.argmax(f(2, 3), 1)
np.argmin(f(2, 3))
np.argmin(f(2, 3), 0)
np.nanargmax(f(2, 3))
np.nanargmin(f(2, 3))
np.argwhere(i(0, 1, 1))
np.argwhere(f(2, 3) > 0)
np.nonzero(i(0, 1, 1))
np.nonzero(f(2, 3) > 0)
np.flatnonzero(i(0, 1, 1))
np.count_nonzero(i(0, 1, 1))
np.count_nonzero(I([0, 1, 1, 1], [2, 2]), 1)
np.amin(f(2, 3))
np.amin(f(2, 3), 1)
np.amax(f(2, 3))
np.amax(f(2, 3), 0, None, True)
np.nanmin(f(2, 3))
np.nanmax(f(2, 3))
np.max(f(2, 3))
np.max(i(1, 5))
np.min(f(2, 3), [0])
np.ptp(f(2, 3))
np.ptp(f(2, 3), 1)
np.mean(f(2, 3))
np.mean(f(2, 3), 1)
np.mean(i(1, 2))
np.mean(f(2, 3), 1, np.float32, None, True)
np.average(f(2, 3))
np.average(f(2, 3), 0)
np.var(f(2, 3))
np.var(f(2, 3), 1)
np.std(f(2, 3))
np.std(f(2, 3), 0)
np.nanmean(f(2, 3))
np.nanstd(f(2, 3))
np.nanvar(f(2, 3), 0)
np.histogram(f(4, 5), 4, (-2, 2))
np.copyto(f(2), v(1, 2))
np.fill(f(2), 1.0)
np.linalg.norm(f(2, 3))
np.linalg.norm(v(3, 4))
np.linalg.norm(f(2, 3), None, 1)
np.linalg.norm(f(2, 3), 1, 1)
np.linalg.norm(f(2, 3), np.inf, 1)
[np.linalg.svd(f(3, 2))[1], np.abs(np.linalg.svd(f(3, 2))[0]), np.abs(np.linalg.svd(f(3, 2))[2])]
np.linalg.solve(F.const([3.0, 1, 1, 2], [2, 2]), F.const([9.0, 8], [2, 1]))
[np.random.random([2, 3]).shape, np.random.rand(2, 3).shape, np.random.randn(2, 3).shape, np.random.randint(3, 5, [4]).shape]
[np.random.randint(5).shape, np.random.randint(0, 5, [3]).dtype == np.int32, np.random.random([2]).dtype == np.float32]
[np.pi, np.inf, np.newaxis]
[np.float32 == F.float, np.int32 == F.int, np.uint8 == F.uint8, np.float64 == F.double, np.int64 == F.int64]
"""

NN = """
shapes(nn.conv(2, 3, [2, 3]).parameters)
type(nn.conv(2, 3, [2, 3]).parameters) is list
n(loaded(nn.conv(2, 3, [2, 3])).forward(c(f(1, 2, 5, 5))))
n(loaded(nn.conv(2, 3, [3, 3], [2, 1], [1, 1], padding_mode=F.CAFFE)).forward(c(f(1, 2, 5, 5))))
n(loaded(nn.conv(in_channels=2, out_channels=4, kernel_size=[3, 3], stride=[2, 2], bias=False, padding_mode=F.SAME)).forward(c(f(1, 2, 5, 5))))
n(loaded(nn.conv(2, 2, [3, 3], depthwise=True)).forward(c(f(1, 2, 5, 5))))
shapes(nn.linear(3, 2).parameters)
loaded(nn.linear(3, 2)).forward(f(4, 3))
loaded(nn.linear(3, 2))(f(4, 3))
shapes(nn.batch_norm(2, 4).parameters)
n(evaluated(loaded(nn.batch_norm(2, 4))).forward(c(f(1, 2, 3, 3))))
evaluated(nn.dropout(0.5)).forward(f(2, 3))
[nn.linear(3, 2).is_training, nn.conv(2, 3, [2, 3]).is_training, evaluated(nn.linear(3, 2)).is_training]
[Net(nn, F).is_training, Net(nn, F).name, Net(nn, F).first.name, type(Net(nn, F).parameters) is list, shapes(Net(nn, F).parameters)]
Net(nn, F).forward(f(2, 3)).shape
after(nn.linear(3, 2), lambda m: m.set_name("x"), lambda m: m.name)
after(Net(nn, F), lambda m: m._add_parameter(v(1, 2, 3)), lambda m: shapes(m.parameters))
after(Net(nn, F), lambda m: m._register_submodules([nn.linear(4, 5)]), lambda m: shapes(m.parameters))
shapes(Deep(nn, F).parameters)
[x.name for x in Deep(nn, F).parameters][:2]
after(runtime(nn), lambda m: m.set_cache(file("x.cache")), lambda m: type(m).__name__)
nn.linear(3, 2).clear_cache()
loaded(nn.linear(3, 2)).clone().forward(f(4, 3)).shape
[x.shape for x in nn.linear(3, 2).onForward([f(4, 3)])]
nn.linear(3, 2).load_parameters([v(1, 2).reshape(1, 2), f(2, 3)])
nn.load_module([x0()], [x0() + 1.0], False) is not None
module_of(nn, F)
module_file(nn, F)
module_info(nn, F)
module_parameters(nn, F)
nn.loss.mse(p(2, 3), p(2, 3) * 0.5)
nn.loss.mae(p(2, 3), p(2, 3) * 0.5)
nn.loss.hinge(f(2, 3), g(2, 3))
nn.loss.kl(p(2, 3), p(2, 3) * 0.5)
nn.loss.cross_entropy(F.softmax(f(2, 3)), F.one_hot(i(0, 2), 3))
type(nn.create_runtime_manager(({"numThread": 1},))).__name__
[runtime(nn).set_hint(0, 1), runtime(nn).set_mode(9), runtime(nn).set_external("none"), runtime(nn).update_cache()]
"""

TOP = """
[MNN.Tensor((2, 3), MNN.Halide_Type_Float, N([[1, 2, 3], [4, 5, 6]], "float32"), MNN.Tensor_DimensionType_Caffe).getShape(), tensor(2, 3).getDataType() == MNN.Halide_Type_Float, tensor(2, 3).getDimensionType() == MNN.Tensor_DimensionType_Caffe]
tensor(2, 3).getData()
numpy_of(tensor(2, 3))
MNN.Tensor((2,), MNN.Halide_Type_Int, N([7, 8], "int32"), MNN.Tensor_DimensionType_Caffe).getData()
MNN.Tensor((2,), MNN.Halide_Type_Float, (7.0, 8.0), MNN.Tensor_DimensionType_Caffe).getData()
MNN.Tensor((2,), MNN.Halide_Type_Uint8, N([7, 8], "uint8"), MNN.Tensor_DimensionType_Caffe).getData()
MNN.Tensor(f(2, 3)).getShape()
MNN.Tensor(f(2, 3)).getData()
[MNN.Tensor([2, 3]).getShape(), MNN.Tensor([2, 3]).getData()]
tensor(1, 2, 3, 2, layout=MNN.Tensor_DimensionType_Tensorflow).getShape()
after(tensor(2, 3), lambda t: t.copyFrom(tensor(2, 3, start=5)), lambda t: t.getData())
after(tensor(1, 2, 3, 2), lambda t: t.copyFrom(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow)), lambda t: t.getData())
after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: t.copyFrom(tensor(1, 2, 3, 2)), lambda t: t.getData())
after(tensor(1, 3, 2, 2, layout=MNN.Tensor_DimensionType_Tensorflow), lambda t: tensor(1, 2, 3, 2).copyToHostTensor(t), lambda t: t.getData())
tensor(2, 3).copyFrom(tensor(2, 3))
after(tensor(2, 3), lambda t: t.copyFromHostTensor(tensor(2, 3, start=5)), lambda t: t.getData())
type(tensor(2, 3).getHost()).__name__
fed_session()
session()
session_of_nhwc()
resized_session()
callbacks()
[asked(lambda i, s: i.setCacheFile(file("x.cache"))), asked(lambda i, s: i.setExternalFile(file("x"))), asked(lambda i, s: i.setSessionMode(9)), asked(lambda i, s: i.setSessionHint(0, 1))]
[asked(lambda i, s: i.cache(s)), asked(lambda i, s: i.removeCache(s))]
asked(lambda i, s: type(i.getModelVersion()).__name__)
[type(asked(lambda i, s: i.getSessionInfo(s, 2))).__name__, asked(lambda i, s: i.getSessionInfo(s, 0) > 0), asked(lambda i, s: i.getSessionInfo(s, 1) >= 0)]
asked(lambda i, s: i.updateSessionToModel(s))
asked(lambda i, s: i.updateCacheFile(s))
of_runtime()
[type(MNN.version()) is str, callable(MNN.get_model_uuid)]
[MNN.CV_Filter_NEAREST, MNN.CV_Filter_BILINEAL, MNN.CV_Filter_BICUBIC, MNN.CV_Wrap_CLAMP_TO_EDGE, MNN.CV_Wrap_ZERO, MNN.CV_Wrap_REPEAT]
[MNN.CV_ImageFormat_RGBA, MNN.CV_ImageFormat_RGB, MNN.CV_ImageFormat_BGR, MNN.CV_ImageFormat_GRAY, MNN.CV_ImageFormat_BGRA, MNN.CV_ImageFormat_YUV_NV21]
[MNN.Tensor_DimensionType_Tensorflow, MNN.Tensor_DimensionType_Caffe, MNN.Tensor_DimensionType_Caffe_C4]
[MNN.Halide_Type_Float == MNN.Halide_Type_Int, MNN.Halide_Type_String == MNN.Halide_Type_Uint8]
matrix().read()
[moved(call, *arguments) for call, arguments in MOVES]
after(matrix(), lambda m: m.invert(m), lambda m: m.read())
after(matrix(), lambda m: m.write([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 1.0]), lambda m: m.read())
[processed(filter=filter, wrap=wrap, matrix=scaling) for filter in (0, 1) for wrap in (0, 1) for scaling in (None, (1.75, 2.0), (2.0, 2.0))]
processed(filter=1, wrap=0, turn=10.0)
processed(target=MNN.CV_ImageFormat_RGB, mean=(10.0, 20.0, 30.0, 0.0), normal=(0.5, 0.25, 2.0, 1.0))
processed(target=MNN.CV_ImageFormat_RGB, shape=(1, 6, 7, 3), layout=MNN.Tensor_DimensionType_Tensorflow)
processed(target=MNN.CV_ImageFormat_GRAY, shape=(1, 1, 6, 7))
[callable(MNN.CVImageProcess({}).createImageTensor), callable(MNN.CVImageProcess({}).setPadding)]
"""

AUDIO = """
audio.hamming_window(16)
audio.hamming_window(15, True)
audio.hamming_window(16, False, 0.5, 0.5)
audio.hann_window(16)
audio.hann_window(15, True)
audio.melscale_fbanks(8, 64)
audio.melscale_fbanks(8, 64, 8000)
[audio.HAMMING, audio.HANNING, audio.POVEY, audio.RECTANGULAR, audio.BLACKMAN, audio.CONSTANT, audio.REFLECT, audio.SYMMETRIC, audio.EDGE]
audio.spectrogram(wave(200), 32)
audio.spectrogram(wave(200), 32, 10, 32)
audio.spectrogram(wave(200), 32, 10, 32, audio.HAMMING)
audio.spectrogram(wave(200), 32, 10, 32, audio.HANNING, 4, 6)
audio.spectrogram(wave(200), 32, 10, 32, audio.HANNING, 0, 0, True)
audio.spectrogram(wave(200), 32, 10, 32, audio.HANNING, 0, 0, True, False, audio.CONSTANT)
audio.spectrogram(wave(200), 32, 10, 32, audio.HANNING, 0, 0, False, True)
audio.spectrogram(wave(200), 32, 10, 32, audio.HANNING, 0, 0, False, False, audio.REFLECT, 1.0)
audio.mel_spectrogram(wave(300), 8, 64)
audio.mel_spectrogram(wave(300), 8, 64, 8000)
audio.fbank(wave(1000), 16000, 20)
audio.fbank(wave(600), 8000, 10, 200, 80)
audio.fbank(wave(600), 8000, 10, 200, 80, 0.0, 0.0)
audio.whisper_fbank(wave(4000), 16000, 4, 400, 160, 1)
saved_and_loaded(wave(50) * 0.3)
saved_and_loaded(wave(50) * 2.0)
saved_and_loaded(wave(50) * 0.3, 0, 10, 20)
saved_and_loaded(wave(50) * 0.3, 8000)
saved_and_loaded(wave(50) * 0.3, 22050)
"""

GROUPS = {"expr": EXPR, "Var": VAR, "numpy": NUMPY, "nn": NN, "MNN": TOP, "audio": AUDIO}


def cases() -> list[tuple[str, str]]:
    return [(group, line.strip()) for group, text in GROUPS.items() for line in text.strip().splitlines()]


def environment(MNN: Any) -> dict[str, Any]:
    """Return the names that expressions can use."""
    import numpy
    F, nn = MNN.expr, MNN.nn
    folder = os.path.dirname(os.path.abspath(__file__))

    def numbers(count: int, step: int, span: int) -> Any:
        return ((numpy.arange(count) * step + 11) % 101) / span - 2

    def const(values: Any, shape: Any) -> Any:
        return F.const(numpy.asarray(values, "float32").ravel().tolist(), list(shape), F.NCHW)

    def f(*shape: int) -> Any:  # -2 ... 2
        return const(numbers(int(numpy.prod(shape)), 37, 25), shape)

    def g(*shape: int) -> Any:  # others, none of them 0
        return const(numbers(int(numpy.prod(shape)), 29, 23.1) + 0.01, shape)

    def p(*shape: int) -> Any:  # positive
        return const(numbers(int(numpy.prod(shape)), 37, 25) + 2.1, shape)

    def u(*shape: int) -> Any:  # -0.9 ... 0.9
        return const(numbers(int(numpy.prod(shape)), 37, 25) * 0.45, shape)

    def v(*values: float) -> Any:
        return const(values, [len(values)])

    def I(values: list[int], shape: list[int]) -> Any:
        return F.const(values, shape, F.NCHW, F.int)

    def i(*values: int) -> Any:
        return I(list(values), [len(values)])

    def c(x: Any) -> Any:
        return F.convert(x, F.NC4HW4)

    def h(x: Any) -> Any:
        return F.convert(x, F.NHWC)

    def n(x: Any) -> Any:
        return F.convert(x, F.NCHW)

    def after(x: Any, change: Callable[[Any], Any], read: Callable[[Any], Any] = lambda x: x) -> Any:
        change(x)
        return read(x)

    def written(x: Any, data: Any) -> Any:
        y = x + x  # must see the new value
        x.write(data)
        return [x, y]

    def named(x: Any) -> Any:
        x.name = "the name"
        return x

    def file(name: str) -> str:
        return os.path.join(tempfile.mkdtemp(), name)

    def model() -> str:  # [1, 2, 3, 4] "data" -> conv -> relu -> "scores"
        return os.path.join(folder, "plain.mnn")

    def nhwc_model() -> str:  # [1, 3, 4, 2] "data", channels last -> their mean -> "scores"
        return os.path.join(folder, "channels_last.mnn")

    def write_models() -> None:
        x = F.placeholder([1, 2, 3, 4])
        x.name = "data"
        y = F.convert(F.relu(F.conv2d(c(x), f(3, 2, 2, 2), v(1, 2, 3))), F.NCHW)
        y.name = "scores"
        F.save([y], model())
        x = F.placeholder([1, 3, 4, 2], F.NHWC)
        x.name = "data"
        y = F.reduce_mean(x * 2.0, [3], True)
        y.name = "scores"
        F.save([y], nhwc_model())

    def loaded_list() -> Any:
        names = [x.name for x in F.load_as_list(model())]
        return [names[0], names[-1], len(names) > 2]

    def loaded_dict() -> Any:
        values = F.load_as_dict(model())
        return ["data" in values, "scores" in values, values["data"].shape, values["scores"].shape, values["data"].op_type]

    def resized() -> Any:
        values = F.load_as_dict(model())
        values["data"].resize([2, 2, 5, 4])
        return [values["data"].shape, values["scores"].shape]

    def replaced() -> Any:
        x = F.placeholder([2])
        y = x * 2.0
        x.replace(v(5, 6))
        return y

    def save_and_load(x: Any) -> Any:
        path = file("x.mnn")
        x.name = "x"
        F.save([x], path)
        last = F.load_as_list(path)[-1]
        return [last.name, last]

    def save_and_load_dict(x: Any) -> Any:
        path = file("x.mnn")
        x.name = "x"
        y = x * 2.0
        y.name = "y"
        F.save([y], path)
        found = F.load_as_dict(path)
        return [type(found).__name__, found["y"]]

    def model_as_dict() -> Any:
        x = F.placeholder([2, 3])
        y = F.reduce_sum(x * 2.0 + 1.0, [1])
        x.name, y.name = "data", "scores"
        path = file("model.mnn")
        F.save([y], path)
        values = F.load_as_dict(path)
        inputs, outputs = F.get_inputs_and_outputs(values)
        inputs["data"].write([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        return [sorted(inputs), "scores" in outputs, "scores" in values, values["scores"], inputs["data"].op_type, [x.shape for x in values["scores"].inputs]]

    def loaded(m: Any) -> Any:
        m.load_parameters([f(*x.shape) for x in m.parameters])
        return m

    def evaluated(m: Any) -> Any:
        m.train(False)
        return m

    def shapes(values: Any) -> Any:
        return [list(x.shape) for x in values]

    def Net(nn: Any, F: Any) -> Any:
        class Made(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.linear(3, 2)
                self.w = F.const([1.0, 2.0], [2])

            def forward(self, x: Any) -> Any:
                return self.first.forward(x) * self.w

        return Made()

    def Deep(nn: Any, F: Any) -> Any:
        class Made(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.linear(1, 2)
                self.w = F.const([1.0, 2.0, 3.0], [3])
                self.second = Net(nn, F)
                self.third = nn.conv(2, 3, [2, 2])
                self.z = F.const([1.0], [1])

        return Made()

    kept: list[Any] = []

    def x0() -> Any:
        if not kept:
            kept.append(F.placeholder([2]))
        return kept[0]

    def module_of(nn: Any, F: Any) -> Any:
        x = F.placeholder([2])
        y = x * 2.0 + 1.0
        return nn.load_module([x], [y], False).forward(v(1, 2))

    def from_file(nn: Any) -> Any:
        return nn.load_module_from_file(model(), ["data"], ["scores"])

    def module_file(nn: Any, F: Any) -> Any:
        net = from_file(nn)
        x = f(1, 2, 3, 4)
        return [n(net.forward(x)), [n(y) for y in net.forward([x])], [n(y) for y in net.onForward([x])], n(net(x)), n(net.clone().forward(x))]

    def module_info(nn: Any, F: Any) -> Any:
        info = from_file(nn).get_info()
        return [info["inputNames"], info["outputNames"], [x.shape for x in info["inputs"]], sorted(info)]

    def module_parameters(nn: Any, F: Any) -> Any:
        net = from_file(nn)
        return [type(net.parameters) is list, net.is_training, net.name]

    def runtime(nn: Any) -> Any:
        return nn.create_runtime_manager(({"numThread": 1, "precision": "high", "backend": "CPU"},))

    def tensor(*shape: int, layout: Any = None, start: float = 0) -> Any:
        data = (numpy.arange(int(numpy.prod(shape))) + start).astype("float32").reshape(shape)
        return MNN.Tensor(tuple(shape), MNN.Halide_Type_Float, data, MNN.Tensor_DimensionType_Caffe if layout is None else layout)

    def begin(path: str, config: Any = None) -> Any:
        interpreter = MNN.Interpreter(path)
        session = interpreter.createSession(config or {"numThread": 1})
        return interpreter, session

    def result_of(interpreter: Any, session: Any) -> Any:
        out = interpreter.getSessionOutput(session)
        host = MNN.Tensor(out.getShape(), MNN.Halide_Type_Float, numpy.zeros(out.getShape(), "float32"), MNN.Tensor_DimensionType_Caffe)
        out.copyToHostTensor(host)
        return [out.getShape(), numpy.array(host.getData(), "float32")]

    def session() -> Any:
        interpreter, run = begin(model())
        x = interpreter.getSessionInput(run)
        x.copyFrom(tensor(1, 2, 3, 4))
        code = interpreter.runSession(run)
        return [code, x.getShape(), sorted(interpreter.getSessionInputAll(run)), sorted(interpreter.getSessionOutputAll(run)),
                result_of(interpreter, run), interpreter.getSessionOutput(run, "scores").getShape(), interpreter.getSessionInput(run, "data").getShape()]

    def session_of_nhwc() -> Any:
        interpreter, run = begin(nhwc_model())
        x = interpreter.getSessionInput(run)
        x.copyFrom(tensor(1, 3, 4, 2, layout=MNN.Tensor_DimensionType_Tensorflow))
        interpreter.runSession(run)
        return [x.getShape(), x.getDimensionType(), result_of(interpreter, run)]

    def resized_session() -> Any:
        interpreter, run = begin(model())
        x = interpreter.getSessionInput(run)
        interpreter.resizeTensor(x, (2, 2, 3, 4))
        interpreter.resizeSession(run)
        x.copyFrom(tensor(2, 2, 3, 4))
        interpreter.runSession(run)
        return [x.getShape(), result_of(interpreter, run)]

    def fed_session() -> Any:
        interpreter, run = begin(model())
        interpreter.getSessionInput(run).fromNumpy(numpy.arange(24, dtype="float32").reshape(1, 2, 3, 4))
        interpreter.runSession(run)
        return result_of(interpreter, run)

    def numpy_of(tensor: Any) -> Any:
        return numpy.array(tensor.getNumpyData())

    def callbacks() -> Any:
        interpreter, run = begin(model())
        interpreter.getSessionInput(run).copyFrom(tensor(1, 2, 3, 4))
        kinds: list[bool] = []
        code = interpreter.runSessionWithCallBack(run, lambda tensors, name: True, lambda tensors, name: kinds.append(isinstance(name, str)) or True)
        info: list[bool] = []
        interpreter.runSessionWithCallBackInfo(run, lambda tensors, op: True, lambda tensors, op: info.append(isinstance(op.getName(), str) and isinstance(op.getType(), str)) or True)
        return [code, all(kinds), all(info)]

    def asked(question: Callable[[Any, Any], Any]) -> Any:
        return question(*begin(model()))

    def of_runtime() -> Any:
        interpreter = MNN.Interpreter(model())
        made, exists = interpreter.createRuntime(({"numThread": 1, "backend": "CPU"},))
        run = interpreter.createSession({"numThread": 1}, made)
        interpreter.getSessionInput(run).copyFrom(tensor(1, 2, 3, 4))
        interpreter.runSession(run)
        return [exists, result_of(interpreter, run)]

    def matrix() -> Any:
        m = MNN.CVMatrix()
        m.setScale(2.0, 3.0)
        m.postTranslate(1.0, -1.0)
        m.postRotate(30.0, 1.0, 2.0)
        return m

    MOVES = [("setRotate", (30.0, 1.0, 2.0)), ("setTranslate", (3.0, 4.0)), ("setScale", (2.0, 4.0, 1.0, 1.0)), ("postScale", (2.0, 3.0)), ("preScale", (0.5, 0.25)),
             ("preTranslate", (1.0, 2.0)), ("postTranslate", (-1.0, 5.0)), ("preRotate", (20.0,)), ("postRotate", (-40.0, 1.0, 1.0)),
             ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0], [1.0, 1.0, 9.0, 2.0, 11.0, 10.0, -1.0, 9.0])),
             ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0, 10.0, 10.0], [1.0, 1.0, 9.0, 2.0, 11.0, 10.0])), ("setPolyToPoly", ([0.0, 0.0, 10.0, 0.0], [1.0, 1.0, 9.0, 2.0]))]

    def moved(call: str, *arguments: Any) -> Any:
        m = matrix()
        getattr(m, call)(*arguments)
        return m.read()

    def processed(target: Any = None, filter: int = 0, wrap: int = 0, matrix: Any = None, turn: Any = None, shape: Any = (1, 3, 6, 7), layout: Any = None, **options: Any) -> Any:
        pixels = (numpy.arange(6 * 7 * 3) * 37 % 251).astype(numpy.uint8).reshape(6, 7, 3)
        layout = MNN.Tensor_DimensionType_Caffe if layout is None else layout
        shape = (1, 3, int(6 / matrix[1]), int(7 / matrix[0])) if matrix and matrix[0] != matrix[1] else shape
        tensor = MNN.Tensor(shape, MNN.Halide_Type_Float, numpy.zeros(shape, numpy.float32), layout)
        process = MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_BGR, "destFormat": MNN.CV_ImageFormat_BGR if target is None else target, "filterType": filter, "wrap": wrap,
                                      **options})
        if matrix or turn:
            m = MNN.CVMatrix()
            if turn:
                m.setRotate(turn, 3.0, 2.5)
            else:
                m.setScale(*matrix)
            process.setMatrix(m)
        process.convert(pixels, 7, 6, 0, tensor)
        return numpy.array(tensor.getData(), "float32")

    def wave(count: int) -> Any:
        t = numpy.arange(count)
        return const(0.4 * numpy.sin(t * 0.3) + 0.2 * numpy.sin(t * 1.1 + 0.5) + 0.01 * numbers(count, 37, 25), [count])

    def saved_and_loaded(x: Any, *arguments: int) -> Any:
        path = file("x.wav")
        done = Audio().save(path, x, 16000)
        with open(path, "rb") as bytes_of:
            head = list(bytes_of.read(44))
        found, rate = Audio().load(path, *arguments)
        return [done, head, found, rate]

    engine = sys.modules.get("_mnncengine.audio")  # some of MNN's Python functions fail before they call the engine

    class Audio:
        def __getattr__(self, name: str) -> Any:
            return getattr(engine if hasattr(engine, name) else sys.modules["MNN.audio"], name)

    made = {name: value for name, value in locals().items() if name not in ("numpy", "kept", "engine", "Audio", "folder")}
    made.update(MNN=MNN, F=F, np=MNN.numpy, nn=nn, audio=Audio(), N=lambda values, dtype: numpy.array(values, dtype))
    return made


def answer(value: Any) -> Any:
    """Return a result as JSON: numbers, texts, lists, and arrays as {"Var": dtype, "shape", "data"}."""
    import numpy
    if hasattr(value, "read") and hasattr(value, "data_format"):
        dtype, value = str(value.dtype).split(".")[-1], numpy.array(value.read())
        kind = "Var"
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        kind = "array"
    elif isinstance(value, (list, tuple)):
        return [answer(item) for item in value]
    elif isinstance(value, dict):
        return {str(key): answer(item) for key, item in value.items()}
    elif value is None or isinstance(value, (bool, int, str)):
        return value
    elif isinstance(value, float):
        return {"number": repr(float(numpy.float32(value)))}
    else:
        return {"object": type(value).__name__}
    flat = [float(numpy.float32(item)) if value.dtype.kind == "f" else int(item) for item in value.ravel()]
    return {kind: str(value.dtype), "shape": list(value.shape), "data": [(float(f"{item:.6g}") if math.isfinite(item) else str(item)) if isinstance(item, float) else item for item in flat]}
