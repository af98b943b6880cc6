#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four networks, each written once in PyTorch with random but sane weights, in every format that can carry it: ONNX, TorchScript and (by
MNN's converter) .mnn from PyTorch; TensorFlow's frozen graph and SavedModel and TFLite from a Keras model with the same weights; Caffe from
a prototxt with the same weights. So the same input has the same answer in all of them.

  format_networks.py WRITER NETWORK FOLDER     one writer of WRITERS, one network of NETWORKS; exit status 77 where a package is missing

Writers run one to a process: the packages bring libraries that do not live together. `torch` goes first: it also writes input.npy,
expected.npy and, for the others, weights.npz.
"""
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

NETWORKS = ["resnet_18", "mobilenet_v2", "lstm", "encoder"]
LSTM_LAYERS, LSTM_STEPS, LSTM_FEATURES, LSTM_HIDDEN = 2, 100, 80, 256
LAYERS, TOKENS, WIDTH, HEADS, WIDE = 4, 128, 256, 4, 1024  # of the encoder
# MobileNet-v2 (Sandler et al. 2018, table 2): expansion, channels, repeats, stride of the first.
INVERTED = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
STAGES = [(64, 1), (128, 2), (256, 2), (512, 2)]  # of ResNet-18: channels, stride


# PyTorch.

def torch_network(name):
    import torch
    torch.manual_seed(1)
    if name == "lstm":
        class Sequence(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = torch.nn.LSTM(LSTM_FEATURES, LSTM_HIDDEN, LSTM_LAYERS, batch_first=True)

            def forward(self, x):
                return self.lstm(x)[0]

        return Sequence().eval(), (1, LSTM_STEPS, LSTM_FEATURES)
    if name == "encoder":
        torch.backends.mha.set_fastpath_enabled(False)  # it is one operator of PyTorch's own, which no format but TorchScript has
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, WIDE, 0.0, "gelu", batch_first=True, norm_first=True)
        model = torch.nn.TransformerEncoder(layer, LAYERS, torch.nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        for parameter in model.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, parameter.detach().mean().round().item(), 0.1)
        return model.eval(), (1, TOKENS, WIDTH)
    import torchvision
    model = torchvision.models.resnet18(weights=None) if name == "resnet_18" else torchvision.models.mobilenet_v2(weights=None)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1
    with torch.no_grad():
        model.train()(torch.rand(4, 3, 224, 224))  # statistics of a batch
    return model.eval(), (1, 3, 224, 224)


def write_torch(name, folder):
    import torch
    model, shape = torch_network(name)
    x = torch.randn(shape)
    with torch.no_grad():
        np.save(folder / "input.npy", x.numpy())
        np.save(folder / "expected.npy", model(x).numpy())
        np.savez(folder / "weights.npz", **{key: value.numpy() for key, value in model.state_dict().items()})
        torch.jit.trace(model, x).save(folder / "model.pt")
        torch.onnx.export(model, (x,), folder / "model.onnx", input_names=["x"], output_names=["y"], dynamo=True, external_data=False)


def write_mnn(name, folder):
    converter = shutil.which("mnnconvert", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if not converter:
        raise ImportError("mnnconvert")
    command = [converter, "-f", "ONNX", "--modelFile", folder / "model.onnx", "--MNNModel", folder / "model.mnn", "--bizCode", "minnow"]
    if subprocess.run(command, cwd=folder, capture_output=True).returncode:  # it crashes over some recurrent networks unless told to keep them
        subprocess.run([*command, "--useOriginRNNImpl"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


# Keras.

class Twin:
    """Layers of Keras that take their weights from PyTorch's names."""

    def __init__(self, folder):
        import keras
        self.layers, self.weights = keras.layers, np.load(folder / "weights.npz")

    def placed(self, layer, x, *weights):
        y = layer(x)
        layer.set_weights(weights)
        return y

    def padded(self, x, pad):
        return self.layers.ZeroPadding2D(pad)(x) if pad else x

    def conv(self, x, key, stride=1):
        w = self.weights[f"{key}.weight"]
        x = self.padded(x, w.shape[2] // 2)
        if w.shape[1] == 1 and w.shape[0] > 1:
            layer = self.layers.DepthwiseConv2D(w.shape[2:], stride, use_bias=False)
            return self.placed(layer, x, w.transpose(2, 3, 0, 1))
        return self.placed(self.layers.Conv2D(w.shape[0], w.shape[2:], stride, use_bias=False), x, w.transpose(2, 3, 1, 0))

    def norm(self, x, key):
        names = ("weight", "bias", "running_mean", "running_var")
        return self.placed(self.layers.BatchNormalization(epsilon=1e-5), x, *(self.weights[f"{key}.{name}"] for name in names))

    def dense(self, x, key, activation=None):
        w = self.weights[f"{key}.weight"]
        return self.placed(self.layers.Dense(w.shape[0], activation), x, w.T, self.weights[f"{key}.bias"])

    def layer_norm(self, x, key):
        return self.placed(self.layers.LayerNormalization(epsilon=1e-5), x, self.weights[f"{key}.weight"], self.weights[f"{key}.bias"])

    def resnet_18(self, x):
        layers = self.layers
        x = layers.ReLU()(self.norm(self.conv(x, "conv1", 2), "bn1"))
        x = layers.MaxPooling2D(3, 2)(self.padded(x, 1))
        for stage, (_, stride) in enumerate(STAGES, 1):
            for block in range(2):
                key, step = f"layer{stage}.{block}", stride if block == 0 else 1
                y = layers.ReLU()(self.norm(self.conv(x, f"{key}.conv1", step), f"{key}.bn1"))
                y = self.norm(self.conv(y, f"{key}.conv2"), f"{key}.bn2")
                if f"{key}.downsample.0.weight" in self.weights:
                    x = self.norm(self.conv(x, f"{key}.downsample.0", step), f"{key}.downsample.1")
                x = layers.ReLU()(layers.Add()([y, x]))
        return self.dense(layers.GlobalAveragePooling2D()(x), "fc")

    def mobilenet_v2(self, x):
        layers = self.layers

        def part(x, key, stride=1):
            return layers.ReLU(6)(self.norm(self.conv(x, f"{key}.0", stride), f"{key}.1"))

        x, place = part(x, "features.0", 2), 1
        for expand, channels, repeats, first in INVERTED:
            for i in range(repeats):
                key, y, before = f"features.{place}.conv", x, x.shape[-1]
                if expand > 1:
                    y = part(y, f"{key}.0")
                at = 1 if expand > 1 else 0
                y = part(y, f"{key}.{at}", first if i == 0 else 1)
                y = self.norm(self.conv(y, f"{key}.{at + 1}"), f"{key}.{at + 2}")
                x = layers.Add()([x, y]) if i and before == channels else y
                place += 1
        return self.dense(layers.GlobalAveragePooling2D()(part(x, f"features.{place}")), "classifier.1")

    def lstm(self, x):
        for i in range(LSTM_LAYERS):
            w, r, b, c = (self.weights[f"lstm.{kind}_l{i}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            x = self.placed(self.layers.LSTM(LSTM_HIDDEN, return_sequences=True), x, w.T, r.T, b + c)
        return x

    def encoder(self, x):
        import keras
        for i in range(LAYERS):
            key = f"layers.{i}"
            n = self.layer_norm(x, f"{key}.norm1")
            w, b = self.weights[f"{key}.self_attn.in_proj_weight"], self.weights[f"{key}.self_attn.in_proj_bias"]
            layer, given = self.layers.MultiHeadAttention(HEADS, WIDTH // HEADS), []
            for j in range(3):  # query, key, value
                given += [w[j * WIDTH:(j + 1) * WIDTH].T.reshape(WIDTH, HEADS, -1), b[j * WIDTH:(j + 1) * WIDTH].reshape(HEADS, -1)]
            given += [self.weights[f"{key}.self_attn.out_proj.weight"].T.reshape(HEADS, -1, WIDTH), self.weights[f"{key}.self_attn.out_proj.bias"]]
            y = layer(n, n)
            layer.set_weights(given)
            x = self.layers.Add()([x, y])
            y = self.dense(self.layer_norm(x, f"{key}.norm2"), f"{key}.linear1", lambda v: keras.activations.gelu(v, approximate=False))
            x = self.layers.Add()([x, self.dense(y, f"{key}.linear2")])
        return self.layer_norm(x, "norm")


def write_keras(name, folder):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    x = np.load(folder / "input.npy")
    shape = tuple(np.moveaxis(x, 1, -1).shape) if x.ndim == 4 else x.shape
    source = keras.Input(batch_shape=shape, name="x")
    model = keras.Model(source, getattr(Twin(folder), name)(source))
    signature = [tf.TensorSpec(shape, tf.float32, name="x")]
    function = tf.function(lambda x: {"y": model(x, training=False)}, input_signature=signature)
    frozen = convert_variables_to_constants_v2(function.get_concrete_function())
    tf.io.write_graph(frozen.graph, str(folder), "frozen.pb", as_text=False)
    model.export(str(folder / "saved_model"), verbose=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    (folder / "model.tflite").write_bytes(converter.convert())


# Caffe, whose weights file is a protobuf message that a few lines write.

class Caffe:
    """Lines of a prototxt, and a layer's message for each that has weights: NetParameter.layer is field 100, LayerParameter.name 1, .type 2,
    .blobs 7, BlobProto.shape 7, .data 5, BlobShape.dim 1."""

    def __init__(self, folder):
        self.weights, self.text, self.binary, self.count = np.load(folder / "weights.npz"), [], b"", 0

    @staticmethod
    def field(number, data):
        def varint(value):
            out = b""
            while value > 127:
                out, value = out + bytes([value & 127 | 128]), value >> 7
            return out + bytes([value])
        return varint(number << 3 | 2) + varint(len(data)) + data

    def layer(self, kind, bottoms, parameters="", blobs=(), top=None):
        self.count += 1
        name = top or f"{kind.lower()}{self.count}"
        self.text.append(f'layer {{ name: "{name}" type: "{kind}" ' + " ".join(f'bottom: "{each}"' for each in bottoms) + f' top: "{name}" {parameters} }}')
        message = self.field(1, name.encode()) + self.field(2, kind.encode())
        for blob in blobs:
            dims = b"".join(b"\x08" + (bytes([d]) if d < 128 else bytes([d & 127 | 128, d >> 7])) if d < 16384 else None for d in blob.shape)
            message += self.field(7, self.field(7, dims) + self.field(5, np.ascontiguousarray(blob, np.float32).tobytes()))
        if blobs:
            self.binary += self.field(100, message)
        return name

    def conv(self, x, key, stride=1):
        w = self.weights[f"{key}.weight"]
        group = w.shape[0] if w.shape[1] == 1 and w.shape[0] > 1 else 1
        return self.layer("Convolution", [x], f"convolution_param {{ num_output: {w.shape[0]} kernel_size: {w.shape[2]} stride: {stride} "
                                              f"pad: {w.shape[2] // 2} group: {group} bias_term: false }}", [w])

    def norm(self, x, key):
        w = {name: self.weights[f"{key}.{name}"] for name in ("weight", "bias", "running_mean", "running_var")}
        x = self.layer("BatchNorm", [x], "batch_norm_param { use_global_stats: true eps: 1e-5 }", [w["running_mean"], w["running_var"], np.ones(1)])
        return self.layer("Scale", [x], "scale_param { bias_term: true }", [w["weight"], w["bias"]])

    def relu(self, x):
        return self.layer("ReLU", [x])

    def head(self, x, key):
        x = self.layer("Pooling", [x], "pooling_param { pool: AVE global_pooling: true }")
        w = self.weights[f"{key}.weight"]
        return self.layer("InnerProduct", [x], f"inner_product_param {{ num_output: {w.shape[0]} }}", [w, self.weights[f"{key}.bias"]], "y")

    def resnet_18(self, x):
        x = self.relu(self.norm(self.conv(x, "conv1", 2), "bn1"))
        x = self.layer("Pooling", [x], "pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 ceil_mode: false }")
        for stage, (_, stride) in enumerate(STAGES, 1):
            for block in range(2):
                key, step = f"layer{stage}.{block}", stride if block == 0 else 1
                y = self.relu(self.norm(self.conv(x, f"{key}.conv1", step), f"{key}.bn1"))
                y = self.norm(self.conv(y, f"{key}.conv2"), f"{key}.bn2")
                if f"{key}.downsample.0.weight" in self.weights:
                    x = self.norm(self.conv(x, f"{key}.downsample.0", step), f"{key}.downsample.1")
                x = self.relu(self.layer("Eltwise", [y, x], "eltwise_param { operation: SUM }"))
        return self.head(x, "fc")

    def mobilenet_v2(self, x):
        def part(x, key, stride=1):
            return self.layer("ReLU6", [self.norm(self.conv(x, f"{key}.0", stride), f"{key}.1")])

        x, place = part(x, "features.0", 2), 1
        for expand, _, repeats, first in INVERTED:
            for i in range(repeats):
                key, y = f"features.{place}.conv", x
                if expand > 1:
                    y = part(y, f"{key}.0")
                at = 1 if expand > 1 else 0
                y = part(y, f"{key}.{at}", first if i == 0 else 1)
                y = self.norm(self.conv(y, f"{key}.{at + 1}"), f"{key}.{at + 2}")
                x = self.layer("Eltwise", [x, y], "eltwise_param { operation: SUM }") if i else y
                place += 1
        return self.head(part(x, f"features.{place}"), "classifier.1")

    def lstm(self, x):
        """Caffe's LSTM: steps first, gates in the order input, forget, output, cell, and a second input that marks continued sequences."""
        order = np.concatenate([np.arange(LSTM_HIDDEN) + gate * LSTM_HIDDEN for gate in (0, 1, 3, 2)])
        for i in range(LSTM_LAYERS):
            w, r, b, c = (self.weights[f"lstm.{kind}_l{i}"][order] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            x = self.layer("LSTM", [x, "cont"], f"recurrent_param {{ num_output: {LSTM_HIDDEN} }}", [w, b + c, r], "y" if i + 1 == LSTM_LAYERS else None)
        return x


def write_caffe(name, folder):
    if name not in vars(Caffe):
        raise ImportError("a layer of Caffe for attention")
    x = np.load(folder / "input.npy")
    shapes = {"x": x.shape}
    if name == "lstm":
        shapes = {"x": (LSTM_STEPS, 1, LSTM_FEATURES), "cont": (LSTM_STEPS, 1)}
    net = Caffe(folder)
    for each, shape in shapes.items():
        net.text.append(f'layer {{ name: "{each}" type: "Input" top: "{each}" input_param {{ shape {{ {" ".join(f"dim: {d}" for d in shape)} }} }} }}')
    getattr(net, name)("x")
    (folder / "model.prototxt").write_text(f'name: "{name}"\n' + "\n".join(net.text) + "\n")
    (folder / "model.caffemodel").write_bytes(net.binary)


WRITERS = {"torch": write_torch, "keras": write_keras, "caffe": write_caffe, "mnn": write_mnn}


def main():
    writer, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        WRITERS[writer](name, folder)
    except ImportError as error:
        print(f"{error.name or error} is not there")
        return 77


if __name__ == "__main__":
    sys.exit(main())
