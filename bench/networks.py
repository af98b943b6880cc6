#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks for the benchmarks, as ONNX files with random but sane weights (fixed seed, scaled so that activations stay of order 1), batch 1,
f32. Written the way trained networks come out of exporters: batch normalizations, activations in parts, shuffles as reshapes and transposes.

  networks.py FOLDER [NAME ...] [--size N] [--batch N]    writes FOLDER/NAME.onnx for the named networks, or for all
                                                          (--size: height and width of images; else 224)
"""
import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Adds nodes to a graph; every method takes and returns the name of a value."""

    def __init__(self, name, size=224, batch=1, seed=7):
        self.name, self.size, self.batch, self.random = name, size, batch, np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.channels = [], [], [], {}

    def input(self, *shape):
        self.inputs.append(helper.make_tensor_value_info("data", TensorProto.FLOAT, shape))
        self.channels["data"] = shape[1]
        return "data"

    def image(self):
        return self.input(self.batch, 3, self.size, self.size)

    def weight(self, array, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=dtype), name))
        return name

    def normal(self, deviation, *shape):
        return self.weight(self.random.normal(0, deviation, shape))

    def ints(self, *values):
        return self.weight(values, np.int64)

    def op(self, kind, inputs, channels=None, **attributes):
        return self.ops(kind, inputs, 1, channels, **attributes)[0]

    def ops(self, kind, inputs, count, channels=None, **attributes):
        stem = f"{kind.lower()}{len(self.nodes)}"
        outputs = [stem] if count == 1 else [f"{stem}_{i}" if i in range(count) else "" for i in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=stem, **attributes))
        for output in outputs:
            self.channels[output] = channels or self.channels.get(inputs[0])
        return outputs

    # Layers of convolutional networks.

    def conv(self, x, channels, kernel=1, stride=1, pad=None, groups=1, bias=True, gain=2.0):
        inputs = self.channels[x]
        pad = kernel // 2 if pad is None else pad
        fan_in = inputs // groups * kernel * kernel
        parameters = [self.normal((gain / fan_in) ** 0.5, channels, inputs // groups, kernel, kernel)]
        if bias:
            parameters.append(self.normal(0.1, channels))
        return self.op("Conv", [x, *parameters], channels, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, group=groups)

    def conv_transpose(self, x, channels, kernel, stride, pad):
        inputs = self.channels[x]
        deviation = (2 * stride * stride / (inputs * kernel * kernel)) ** 0.5
        return self.op("ConvTranspose", [x, self.normal(deviation, inputs, channels, kernel, kernel)], channels,
                       kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4)

    def batch_norm(self, x, gain=1.0):
        c, draw = self.channels[x], self.random
        parameters = [gain * draw.uniform(0.8, 1.2, c), draw.normal(0, 0.1, c), draw.normal(0, 0.1, c), draw.uniform(0.8, 1.2, c)]
        return self.op("BatchNormalization", [x, *map(self.weight, parameters)], epsilon=1e-5)

    def relu(self, x):
        return self.op("Relu", [x])

    def relu6(self, x):
        return self.op("Clip", [x, self.weight(0.0), self.weight(6.0)])

    def swish(self, x):
        return self.op("Mul", [x, self.op("Sigmoid", [x])])

    def hard_swish(self, x):
        return self.op("HardSwish", [x])

    def conv_bn(self, x, *args, activation=None, gain=1.0, **kwargs):
        y = self.batch_norm(self.conv(x, *args, bias=False, gain=2.0 if activation else 1.0, **kwargs), gain)
        return activation(y) if activation else y

    def gate(self, x, squeezed, sigmoid, activation):
        """Squeeze-and-excitation: Hu et al. 2017, arXiv:1709.01507."""
        s = activation(self.conv(self.op("GlobalAveragePool", [x]), squeezed))
        return self.op("Mul", [x, sigmoid(self.conv(s, self.channels[x], gain=1.0))])

    def max_pool(self, x, kernel, stride, pad=0, **attributes):
        return self.op("MaxPool", [x], kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4, **attributes)

    def pooled(self, x):
        return self.op("Flatten", [self.op("GlobalAveragePool", [x])])

    def dense(self, x, outputs, gain=1.0):
        inputs = self.channels[x]
        return self.op("Gemm", [x, self.normal((gain / inputs) ** 0.5, outputs, inputs), self.normal(0.1, outputs)], outputs, transB=1)

    def linear(self, x, inputs, outputs, gain=1.0):
        """x [..., inputs] times a matrix, plus a bias."""
        return self.op("Add", [self.op("MatMul", [x, self.normal((gain / inputs) ** 0.5, inputs, outputs)]), self.normal(0.1, outputs)])

    def layer_norm(self, x, width):
        return self.op("LayerNormalization", [x, self.weight(self.random.uniform(0.8, 1.2, width)), self.normal(0.1, width)], axis=-1)

    def model(self, result):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        return model


def mobilenet_v1(b):
    """Howard et al. 2017, arXiv:1704.04861."""
    x = b.conv_bn(b.image(), 32, 3, 2, activation=b.relu)
    for channels, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        x = b.conv_bn(x, b.channels[x], 3, stride, groups=b.channels[x], activation=b.relu)
        x = b.conv_bn(x, channels, activation=b.relu)
    return b.op("Softmax", [b.dense(b.pooled(x), 1000)], axis=-1)


def mobilenet_v2(b):
    """Sandler et al. 2018, arXiv:1801.04381."""
    x = b.conv_bn(b.image(), 32, 3, 2, activation=b.relu6)
    for expand, channels, repeats, first_stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                                    (6, 320, 1, 1)]:
        for i in range(repeats):
            stride, y = first_stride if i == 0 else 1, x
            if expand > 1:
                y = b.conv_bn(y, expand * b.channels[x], activation=b.relu6)
            y = b.conv_bn(y, b.channels[y], 3, stride, groups=b.channels[y], activation=b.relu6)
            y = b.conv_bn(y, channels, gain=0.7 if i else 1)
            x = b.op("Add", [x, y]) if i else y
    x = b.conv_bn(x, 1280, activation=b.relu6)
    return b.op("Softmax", [b.dense(b.pooled(x), 1000)], axis=-1)


def mobilenet_v3_small(b):
    """Howard et al. 2019, arXiv:1905.02244."""
    def sigmoid(x):
        return b.op("HardSigmoid", [x], alpha=1 / 6, beta=0.5)

    relu, swish = b.relu, b.hard_swish
    x = b.conv_bn(b.image(), 16, 3, 2, activation=swish)
    for kernel, expand, channels, squeeze, activation, stride in [
            (3, 16, 16, True, relu, 2), (3, 72, 24, False, relu, 2), (3, 88, 24, False, relu, 1), (5, 96, 40, True, swish, 2),
            (5, 240, 40, True, swish, 1), (5, 240, 40, True, swish, 1), (5, 120, 48, True, swish, 1), (5, 144, 48, True, swish, 1),
            (5, 288, 96, True, swish, 2), (5, 576, 96, True, swish, 1), (5, 576, 96, True, swish, 1)]:
        before, y = b.channels[x], x
        if expand != before:
            y = b.conv_bn(y, expand, activation=activation)
        y = b.conv_bn(y, expand, kernel, stride, groups=expand, activation=activation)
        if squeeze:
            y = b.gate(y, (expand // 4 + 4) // 8 * 8 or 8, sigmoid, relu)
        residual = stride == 1 and before == channels
        y = b.conv_bn(y, channels, gain=1 if residual else 1.5)
        x = b.op("Add", [x, y]) if residual else y
    x = b.pooled(b.conv_bn(x, 576, activation=swish))
    return b.dense(b.hard_swish(b.dense(x, 1024, 2)), 1000)


def squeezenet_1_1(b):
    """Iandola et al. 2016, arXiv:1602.07360, version 1.1."""
    def fire(x, squeeze, expand):
        s = b.relu(b.conv(x, squeeze))
        return b.op("Concat", [b.relu(b.conv(s, expand)), b.relu(b.conv(s, expand, 3))], 2 * expand, axis=1)

    def pool(x):
        return b.max_pool(x, 3, 2, ceil_mode=1)

    x = pool(b.relu(b.conv(b.image(), 64, 3, 2, pad=0)))
    x = pool(fire(fire(x, 16, 64), 16, 64))
    x = pool(fire(fire(x, 32, 128), 32, 128))
    for squeeze, expand in [(48, 192), (48, 192), (64, 256), (64, 256)]:
        x = fire(x, squeeze, expand)
    return b.op("Softmax", [b.pooled(b.relu(b.conv(x, 1000)))], axis=-1)


def resnet(b, block, stages):
    """He et al. 2015, arXiv:1512.03385. block(x, channels, stride, shortcut) gives the branch; stages: (channels, blocks, stride, out)."""
    x = b.max_pool(b.conv_bn(b.image(), 64, 7, 2, activation=b.relu), 3, 2, 1)
    for channels, blocks, stride, out in stages:
        for i in range(blocks):
            step = stride if i == 0 else 1
            y = block(x, channels, step)
            if i == 0 and (step != 1 or b.channels[x] != out):
                x = b.conv_bn(x, out, 1, step, gain=0.7)
            x = b.relu(b.op("Add", [y, x]))
    return b.dense(b.pooled(x), 1000)


def resnet_18(b):
    def block(x, channels, stride):
        return b.conv_bn(b.conv_bn(x, channels, 3, stride, activation=b.relu), channels, 3, gain=0.5)

    return resnet(b, block, [(64, 2, 1, 64), (128, 2, 2, 128), (256, 2, 2, 256), (512, 2, 2, 512)])


def resnet_50(b):
    """With the stride in the 3x3 convolution, as in most files of today."""
    def block(x, channels, stride):
        y = b.conv_bn(b.conv_bn(x, channels, activation=b.relu), channels, 3, stride, activation=b.relu)
        return b.conv_bn(y, 4 * channels, gain=0.4)

    return resnet(b, block, [(64, 3, 1, 256), (128, 4, 2, 512), (256, 6, 2, 1024), (512, 3, 2, 2048)])


def efficientnet_b0(b):
    """Tan, Le 2019, arXiv:1905.11946."""
    def sigmoid(x):
        return b.op("Sigmoid", [x])

    x = b.conv_bn(b.image(), 32, 3, 2, activation=b.swish)
    for expand, channels, repeats, first_stride, kernel in [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                            (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]:
        for i in range(repeats):
            stride, before, y = first_stride if i == 0 else 1, b.channels[x], x
            if expand > 1:
                y = b.conv_bn(y, expand * before, activation=b.swish)
            y = b.conv_bn(y, b.channels[y], kernel, stride, groups=b.channels[y], activation=b.swish)
            y = b.gate(y, before // 4, sigmoid, b.swish)
            y = b.conv_bn(y, channels, gain=1 if i else 1.5)
            x = b.op("Add", [x, y]) if i else y
    x = b.conv_bn(x, 1280, activation=b.swish)
    return b.dense(b.pooled(x), 1000)


def shufflenet_v2(b):
    """Ma et al. 2018, arXiv:1807.11164, width 1.0."""
    def shuffle(x, size):
        c = b.channels[x]
        y = b.op("Reshape", [x, b.ints(b.batch, 2, c // 2, size, size)])
        return b.op("Reshape", [b.op("Transpose", [y], perm=[0, 2, 1, 3, 4]), b.ints(b.batch, c, size, size)], c)

    def branch(x, channels, stride):
        y = b.conv_bn(x, channels, activation=b.relu)
        return b.conv_bn(b.conv_bn(y, channels, 3, stride, groups=channels), channels, activation=b.relu)

    x = b.max_pool(b.conv_bn(b.image(), 24, 3, 2, activation=b.relu), 3, 2, 1)
    size = b.size // 4
    for channels, repeats in [(116, 4), (232, 8), (464, 4)]:
        half, size = channels // 2, size // 2
        other = b.conv_bn(b.conv_bn(x, b.channels[x], 3, 2, groups=b.channels[x]), half, activation=b.relu)
        x = shuffle(b.op("Concat", [other, branch(x, half, 2)], channels, axis=1), size)
        for _ in range(repeats - 1):
            kept, rest = b.ops("Split", [x, b.ints(half, half)], 2, half, axis=1)
            x = shuffle(b.op("Concat", [kept, branch(rest, half, 1)], channels, axis=1), size)
    return b.dense(b.pooled(b.conv_bn(x, 1024, activation=b.relu)), 1000)


def lstm(b):
    """Two LSTM layers of 256 over 100 steps of 80 features."""
    x, inputs, hidden = b.input(100, b.batch, 80), 80, 256
    for _ in range(2):
        w, r = b.normal(inputs ** -0.5, 1, 4 * hidden, inputs), b.normal(hidden ** -0.5, 1, 4 * hidden, hidden)
        y = b.op("LSTM", [x, w, r, b.normal(0.1, 1, 8 * hidden)], hidden_size=hidden)
        x, inputs = b.op("Squeeze", [y, b.ints(1)]), hidden
    return x


def encoder(b, width=384, heads=6, tokens=128):
    """Vaswani et al. 2017, arXiv:1706.03762: six layers, normalized before each part, GELU in its parts."""
    wide = 4 * width
    x = b.input(b.batch, tokens, width)

    def split(y, perm):
        return b.op("Transpose", [b.op("Reshape", [y, b.ints(b.batch, tokens, heads, width // heads)])], perm=perm)

    def gelu(y):
        erf = b.op("Erf", [b.op("Div", [y, b.weight(2 ** 0.5)])])
        return b.op("Mul", [b.op("Mul", [y, b.op("Add", [erf, b.weight(1.0)])]), b.weight(0.5)])

    for _ in range(6):
        n = b.layer_norm(x, width)
        q, k, v = (split(b.linear(n, width, width), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = b.op("Softmax", [b.op("Mul", [b.op("MatMul", [q, k]), b.weight((width // heads) ** -0.5)])], axis=-1)
        y = b.op("Transpose", [b.op("MatMul", [scores, v])], perm=[0, 2, 1, 3])
        x = b.op("Add", [x, b.linear(b.op("Reshape", [y, b.ints(b.batch, tokens, width)]), width, width)])
        x = b.op("Add", [x, b.linear(gelu(b.linear(b.layer_norm(x, width), width, wide)), wide, width)])
    return b.layer_norm(x, width)


def dcgan(b):
    """The generator of Radford et al. 2015, arXiv:1511.06434, for pictures of 64x64."""
    x = b.input(b.batch, 100, 1, 1)
    for channels, stride, pad in [(512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1)]:
        x = b.relu(b.batch_norm(b.conv_transpose(x, channels, 4, stride, pad), 4 if stride == 1 else 1))
    return b.op("Tanh", [b.conv_transpose(x, 3, 4, 2, 1)])


def vgg(b):
    """The thirteen 3x3 convolutions of Simonyan, Zisserman 2014, arXiv:1409.1556 (VGG-16), and one fully connected layer instead of three."""
    x = b.image()
    for channels, repeats in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(repeats):
            x = b.relu(b.conv(x, channels, 3))
        x = b.max_pool(x, 2, 2)
    return b.dense(b.pooled(x), 1000)


NETWORKS = [mobilenet_v1, squeezenet_1_1, resnet_18, mobilenet_v2, mobilenet_v3_small, resnet_50, efficientnet_b0, shufflenet_v2, lstm, encoder,
            dcgan, vgg]
NETWORKS = {make.__name__: make for make in NETWORKS}


def write(folder, names=(), size=224, batch=1):
    """Writes what is not there yet; gives the paths by name."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name in names or NETWORKS:
        paths[name] = folder / f"{name}{f'_{size}' if size != 224 else ''}{f'_batch{batch}' if batch != 1 else ''}.onnx"
        if not paths[name].exists():
            builder = Builder(name, size, batch)
            model = builder.model(NETWORKS[name](builder))
            partial = paths[name].with_suffix(".partial")
            onnx.save(model, partial)
            partial.rename(paths[name])
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=1)
    arguments = parser.parse_args()
    print(*write(arguments.folder, arguments.names, arguments.size, arguments.batch).values(), sep="\n")
