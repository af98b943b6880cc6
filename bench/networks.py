#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks for the benchmarks, as ONNX files with random but sane weights (He's scaling, fixed seed), batch 1, f32.

  networks.py FOLDER [NAME ...]      writes FOLDER/NAME.onnx for the named networks, or for all
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Adds nodes to a graph; every method takes and returns the name of a value."""

    def __init__(self, name, seed=7):
        self.name, self.random, self.nodes, self.weights, self.channels = name, np.random.default_rng(seed), [], [], {}

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def op(self, kind, inputs, **attributes):
        output = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        self.channels[output] = self.channels.get(inputs[0])
        return output

    def conv(self, x, channels, kernel=1, stride=1, pad=None, groups=1, bias=True):
        inputs = self.channels[x]
        pad = kernel // 2 if pad is None else pad
        fan_in = inputs // groups * kernel * kernel
        parameters = [self.weight(self.random.normal(0, (2 / fan_in) ** 0.5, (channels, inputs // groups, kernel, kernel)))]
        if bias:
            parameters.append(self.weight(self.random.normal(0, 0.1, channels)))
        y = self.op("Conv", [x, *parameters], kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, group=groups)
        self.channels[y] = channels
        return y

    def batch_norm(self, x):
        c = self.channels[x]
        draw = self.random
        parameters = [draw.uniform(0.8, 1.2, c), draw.normal(0, 0.1, c), draw.normal(0, 0.1, c), draw.uniform(0.8, 1.2, c)]
        return self.op("BatchNormalization", [x, *map(self.weight, parameters)], epsilon=1e-5)

    def conv_bn_relu(self, x, *args, relu=True, **kwargs):
        y = self.batch_norm(self.conv(x, *args, bias=False, **kwargs))
        return self.op("Relu", [y]) if relu else y

    def dense(self, x, inputs, outputs):
        w = self.weight(self.random.normal(0, (1 / inputs) ** 0.5, (outputs, inputs)))
        return self.op("Gemm", [x, w, self.weight(self.random.normal(0, 0.1, outputs))], transB=1)

    def model(self, shape, result):
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        return model


def image(b, size=224):
    b.channels["data"] = 3
    return "data", [1, 3, size, size]


def mobilenet_v1(b):
    """Howard et al. 2017, arXiv:1704.04861."""
    x, shape = image(b)
    x = b.conv_bn_relu(x, 32, 3, 2)
    for channels, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        x = b.conv_bn_relu(x, b.channels[x], 3, stride, groups=b.channels[x])
        x = b.conv_bn_relu(x, channels)
    x = b.op("Flatten", [b.op("GlobalAveragePool", [x])])
    return b.model(shape, b.op("Softmax", [b.dense(x, 1024, 1000)], axis=-1))


def squeezenet_1_1(b):
    """Iandola et al. 2016, arXiv:1602.07360, version 1.1."""
    x, shape = image(b)
    x = b.op("Relu", [b.conv(x, 64, 3, 2, pad=0)])

    def pool(x):
        return b.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)

    def fire(x, squeeze, expand):
        s = b.op("Relu", [b.conv(x, squeeze)])
        y = b.op("Concat", [b.op("Relu", [b.conv(s, expand)]), b.op("Relu", [b.conv(s, expand, 3)])], axis=1)
        b.channels[y] = 2 * expand
        return y

    x = fire(fire(pool(x), 16, 64), 16, 64)
    x = fire(fire(pool(x), 32, 128), 32, 128)
    x = pool(x)
    for squeeze, expand in [(48, 192), (48, 192), (64, 256), (64, 256)]:
        x = fire(x, squeeze, expand)
    x = b.op("Relu", [b.conv(x, 1000)])
    return b.model(shape, b.op("Softmax", [b.op("Flatten", [b.op("GlobalAveragePool", [x])])], axis=-1))


def resnet_18(b):
    """He et al. 2015, arXiv:1512.03385."""
    x, shape = image(b)
    x = b.conv_bn_relu(x, 64, 7, 2)
    x = b.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for channels, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
        y = b.conv_bn_relu(b.conv_bn_relu(x, channels, 3, stride), channels, 3, relu=False)
        if stride != 1 or b.channels[x] != channels:
            x = b.conv_bn_relu(x, channels, 1, stride, relu=False)
        x = b.op("Relu", [b.op("Add", [y, x])])
    x = b.op("Flatten", [b.op("GlobalAveragePool", [x])])
    return b.model(shape, b.dense(x, 512, 1000))


NETWORKS = {"mobilenet_v1": mobilenet_v1, "squeezenet_1_1": squeezenet_1_1, "resnet_18": resnet_18}


def write(folder, names=()):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        path = folder / f"{name}.onnx"
        if not path.exists():
            onnx.save(NETWORKS[name](Builder(name)), path)
    return {name: folder / f"{name}.onnx" for name in names or NETWORKS}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(*write(sys.argv[1], sys.argv[2:]).values(), sep="\n")
