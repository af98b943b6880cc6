#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More than 200 malformed inputs through the Python package, each in a process of its own.

Each must end in an exception of the documented class whose text is one sentence: not in a crash, a hang, an internal error, a huge
allocation, or a result.
"""
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

try:
    import minnow
    from minnow import cv, expr, nn, numpy as np, tools
except ImportError as error:
    print(error)
    sys.exit(77)

import malformed_numpy  # noqa: E402

SEEDS = Path(os.environ["MINNOW_SOURCE_DIR"]) / "tests" / "fuzz" / "seeds"
SECONDS = 60  # that a case may take: what hangs takes longer on a busy machine, too
MEGABYTES = 400  # that a case may hold beyond what the process held before

CASES = []  # (name, classes of which the exception must be, function of a folder)


def case(name, classes, function):
    CASES.append((name, classes if isinstance(classes, tuple) else (classes,), function))


def each(prefix, classes, functions):
    for i, function in enumerate(functions):
        case(f"{prefix} {i + 1}", classes, lambda folder, function=function: function())


ARGUMENT, TYPE, INDEX, MEMORY, IO = minnow.InvalidArgument, minnow.InvalidType, minnow.InvalidIndex, minnow.OutOfMemory, minnow.IoError
FILE = (minnow.InvalidModel, minnow.Unsupported)
VALUE = (ARGUMENT, TYPE)
OPERATOR = (minnow.InvalidModel, ARGUMENT, TYPE)  # inputs of an operator that do not fit make an expression a wrong model


def computed(value):
    """Compute the values, to reveal faults that only a run can find."""
    for item in value if isinstance(value, (list, tuple)) else [value]:
        item.evaluate()
    return value


def f32(*shape):
    size = 1
    for dim in shape:
        size *= dim
    return expr.reshape(minnow.Var([i * 0.25 for i in range(size)], "float32"), list(shape))


# --- files ----------------------------------------------------------------------------------------------------------------------------

PROTOTXT = """name: "net"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "prob" type: "Softmax" bottom: "conv" top: "prob" }
"""


def source_of(relative):
    return (SEEDS / relative).read_bytes()


NOISE = bytes((i * 2654435761 >> 7) & 255 for i in range(4096))
FORMATS = {
    "model.onnx": source_of("onnx/everything.onnx"),
    "model.pb": source_of("tensorflow/cond_v2.pb"),
    "model.tflite": source_of("tflite/micro_hello_world_int8.tflite"),
    "model.pt": source_of("torchscript/loops.pt"),
    "model.mnn": source_of("mnn/if.mnn"),
    "model.minnow": source_of("minnow/small.minnow"),
    "model.prototxt": PROTOTXT.encode(),
}
DAMAGE = {
    "is empty": lambda data: b"",
    "is one byte": lambda data: data[:1],
    "is its first sixteen bytes": lambda data: data[:16],
    "is its first half": lambda data: data[:len(data) // 2],
    "lacks the last fifth": lambda data: data[:len(data) * 4 // 5],
    "is noise behind its first bytes": lambda data: data[:24] + NOISE,
    "is noise": lambda data: NOISE,
    "is zeros": lambda data: bytes(len(data)),
    "is backwards": lambda data: data[::-1],
    "is a web page": lambda data: b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n",
    "has noise in its middle": lambda data: data[:len(data) // 3] + NOISE[:len(data) // 3 + 1] + data[len(data) * 2 // 3:],
}


def load_damaged(folder, name, damage):
    path = folder / name
    path.write_bytes(damage(FORMATS[name]))
    if name != "model.prototxt":
        return minnow.load(path)
    (folder / "model.caffemodel").write_bytes(b"\x0a\x03net")  # a net of this name without layers
    return minnow.load([path, folder / "model.caffemodel"])


for name in FORMATS:
    for damage, change in DAMAGE.items():
        case(f"{name} {damage}", FILE, lambda folder, name=name, change=change: load_damaged(folder, name, change))
    case(f"{name} is missing", IO, lambda folder, name=name: minnow.load(folder / name))


def write(path, data):
    path.write_bytes(data)
    return path


def saved_model(folder, data):
    (folder / "model").mkdir()
    (folder / "model" / "saved_model.pb").write_bytes(data)
    return folder / "model"


def directory(folder, name):
    (folder / name).mkdir()
    return folder / name


def fifo(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


case("a folder that is no SavedModel", (*FILE, IO), lambda folder: minnow.load(directory(folder, "empty")))
case("a folder named as a model", (*FILE, IO), lambda folder: minnow.load(directory(folder, "model.onnx")))
case("a SavedModel that is cut", FILE,
     lambda folder: minnow.load(saved_model(folder, source_of("tensorflow/saved_model.pb")[:100])))
case("a SavedModel of noise", FILE, lambda folder: minnow.load(saved_model(folder, NOISE)))
case("a caffe net alone", ARGUMENT, lambda folder: minnow.load(write(folder / "net.prototxt", PROTOTXT.encode())))
case("a caffe net without weights", FILE,
     lambda folder: minnow.load([write(folder / "net.prototxt", PROTOTXT.encode()), write(folder / "net.caffemodel", b"\x0a\x03net")]))
case("a caffe layer that nobody knows", FILE,
     lambda folder: minnow.load([write(folder / "net.prototxt", PROTOTXT.replace("Softmax", "Softmux").encode()),
                                 write(folder / "net.caffemodel", b"\x0a\x03net")]))
case("two models that are no pair", (*FILE, ARGUMENT),
     lambda folder: minnow.load([SEEDS / "onnx" / "resize_10.onnx", SEEDS / "mnn" / "if.mnn"]))
case("no file at all", (*FILE, ARGUMENT), lambda folder: minnow.load([]))
case("a null device", FILE + (IO,), lambda folder: minnow.load("/dev/null"))
case("a device without end", FILE + (IO,), lambda folder: minnow.load("/dev/zero"))
case("a pipe that nobody writes", FILE + (IO,), lambda folder: minnow.load(fifo(folder)))
case("a path with a zero byte", (IO, ARGUMENT), lambda folder: minnow.load("model\0.onnx"))
case("an empty path", (IO, ARGUMENT), lambda folder: minnow.load(""))
case("bytes that are no model", FILE, lambda folder: minnow.load(b"\xff\xfe"))
case("a very long path", IO, lambda folder: minnow.load("a" * 300))
case("no path", TYPE, lambda folder: minnow.load(None))
case("a number for a path", TYPE, lambda folder: minnow.load(7))


# --- options of loading ---------------------------------------------------------------------------------------------------------------

def network(folder):
    """x f32[n, 3] -> scaled -> y f32[n, 2], and named values to cut at."""
    path = folder / "network.minnow"
    x = expr.placeholder("x", "float32", [-1, 3])
    scaled = x * 2.0
    scaled.name = "scaled"
    y = expr.matmul(scaled, expr.const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32"))
    y.name = "y"
    expr.save([y], path)
    return path


def with_options(**options):
    return lambda folder: nn.load_module_from_file(network(folder), **options)


for name, classes, function in [
    ("threads below zero", VALUE, with_options(threads=-1)),
    ("threads as a text", TypeError, with_options(threads="two")),
    ("more threads than an int holds", VALUE, with_options(threads=2**70)),
    ("a precision that there is not", VALUE, with_options(precision="fast")),
    ("a precision of None", VALUE, with_options(precision=None)),
    ("a memory that there is not", VALUE, with_options(memory="tiny")),
    ("a backend that there is not", VALUE, with_options(backend="gpu")),
    ("no backend", VALUE, with_options(backend=[])),
    ("a memory limit below zero", VALUE, with_options(memory_limit=-1)),
    ("a time limit below zero", VALUE, with_options(time_limit=-1)),
    ("a time limit that is no number", VALUE, with_options(time_limit=float("nan"))),
    ("an optimization that there is not", VALUE, with_options(optimize="max")),
    ("an option that there is not", TypeError, with_options(thread=1)),
    ("an input that there is not", VALUE, with_options(inputs=["data"])),
    ("an output that there is not", VALUE, with_options(outputs=["prob"])),
    ("an empty name", VALUE, with_options(outputs=[""])),
    ("an input twice", VALUE, with_options(inputs=["x", "x"])),
    ("names that are numbers", TypeError, with_options(outputs=[1])),
    ("a name in place of a list", VALUE, with_options(outputs="y")),
    ("an output that its inputs do not reach", VALUE, with_options(inputs=["y"], outputs=["scaled"])),
]:
    case(name, classes, function)


# --- calls of a model -----------------------------------------------------------------------------------------------------------------

def call(*inputs, **named):
    return lambda folder: minnow.load(network(folder))(*[value() if callable(value) else value for value in inputs], **named)


class Raises:
    def __array__(self, *arguments, **options):
        raise RuntimeError("there is no array here")


class Lies:
    def __dlpack__(self, **options):
        return 3

    def __dlpack_device__(self):
        return (1, 0)


for name, classes, function in [
    ("a call without inputs", VALUE, call()),
    ("a call with too many inputs", VALUE, call(lambda: f32(1, 3), lambda: f32(1, 3))),
    ("an input by a wrong name", VALUE, call(z=[[1.0, 2.0, 3.0]])),
    ("an input of another rank", VALUE, call(lambda: f32(3))),
    ("an input of too high a rank", VALUE, call(lambda: f32(1, 1, 3))),
    ("an input of another width", VALUE, call(lambda: f32(2, 4))),
    ("an input of texts", VALUE, call(["a", "b"])),
    ("an input of nothing", VALUE, call(None)),
    ("an input that is a mapping", VALUE, call({"x": 1})),
    ("an input that is a set", VALUE, call({1, 2})),
    ("an input with rows of different lengths", VALUE, call([[1.0, 2.0, 3.0], [1.0, 2.0]])),
    ("an input of complex numbers", VALUE, call([[1j, 2j, 3j]])),
    ("an input of integers", VALUE, call(lambda: minnow.Var([[1, 2, 3]], "int64"))),
    ("an input whose array raises", (*VALUE, RuntimeError), call(Raises)),
    ("an input whose DLPack lies", VALUE, call(Lies)),
    ("an input that has no value yet", VALUE,
     lambda folder: minnow.load(network(folder))(expr.placeholder("p", "float32", [2, 3])).evaluate()),
]:
    case(name, classes, function)


# --- making values --------------------------------------------------------------------------------------------------------------------

def released():
    view = memoryview(bytearray(16))
    view.release()
    return view


def recursive():
    items = []
    items.append(items)
    return items


def deep():
    items = 1
    for _ in range(100000):
        items = [items]
    return items


Var = minnow.Var
each("a Var of what is no array", VALUE, [
    lambda: Var([[1, 2], [3]]), lambda: Var([1, [2]]), lambda: Var("text"), lambda: Var(["a"]), lambda: Var(None), lambda: Var([None]), lambda: Var({}),
    lambda: Var({1}), lambda: Var(object()), lambda: Var(1j), lambda: Var(Raises), lambda: Var(Lies()), lambda: Var(recursive()), lambda: Var(deep()),
    lambda: Var(x for x in "ab"),
])
each("a number that its dtype does not hold", VALUE, [
    lambda: Var(2**70), lambda: Var(-1, "uint8"), lambda: Var(300, "uint8"), lambda: Var([1, 2**63], "int64"), lambda: Var(float("nan"), "int32"),
    lambda: Var(float("inf"), "int64"), lambda: Var(f32(2).astype("uint8")) + 300, lambda: Var([1, 2], "int8") * 1000,
])
each("a dtype that there is not", VALUE, [
    lambda: Var(1, "float33"), lambda: Var(1, ""), lambda: Var(1, 5), lambda: Var(1, object), lambda: Var(1, "float32\n"), lambda: f32(2).astype("texts"),
    lambda: f32(2).astype(None), lambda: f32(2).astype([1]), lambda: minnow.dtype("flot"), lambda: minnow.promote("a", "b"),
    lambda: expr.cast(f32(2), to="int5"),
])
each("a buffer that is not there", (*VALUE, ValueError), [
    lambda: Var(released()), lambda: Var(Var([1.0]), copy=False) and Var([1.0, 2.0], copy=False),
    lambda: minnow._minnow.from_buffer(b"abc", "float32", [1]), lambda: minnow._minnow.from_buffer(b"abcd", "float32", [-1]),
    lambda: minnow._minnow.from_buffer(b"abcd", "float32", [2**62, 4]), lambda: minnow._minnow.from_buffer(b"", "float32", [2**32, 2**32]),
    lambda: minnow._minnow.from_buffer(b"abcd", "float32", [1] * 100),
])


# --- reading, indices, assignment -----------------------------------------------------------------------------------------------------

def assign(x, key, value):
    x[key] = value


def delete(x, key):
    del x[key]


each("an index that does not fit", (INDEX, *VALUE), [
    lambda: f32(2, 3)[2], lambda: f32(2, 3)[-3], lambda: f32(2, 3)[0, 3], lambda: f32(2, 3)[0, 0, 0], lambda: f32(2, 3)[1.5], lambda: f32(2, 3)["a"],
    lambda: f32(2, 3)[2**70], lambda: f32(2, 3)[-2**70], lambda: f32(2, 3)[..., ...], lambda: f32(2, 3)[::0], lambda: f32(2, 3)[0:1.5],
    lambda: f32(2, 3)["a":"b"], lambda: f32(2, 3)[object()], lambda: f32(2, 3)[{}], lambda: f32(2, 3)[[0, 5]], lambda: f32(2, 3)[[[0], [0, 1]]],
    lambda: f32(2, 3)[[True, False, True]], lambda: f32(2, 3)[(None,) * 40], lambda: expr.const(1.0)[0], lambda: f32(0)[0],
    lambda: f32(2).item(2), lambda: f32(2, 2).item(0, 0, 0), lambda: f32(2).item("a"), lambda: f32(2).item(2**70),
])
each("an assignment that does not fit", (INDEX, *VALUE), [
    lambda: assign(f32(2, 3), 2, 0), lambda: assign(f32(2, 3), 0, [1, 2]), lambda: assign(f32(2, 3), 0, "a"), lambda: assign(f32(2, 3), 0, None),
    lambda: assign(f32(2, 3), 0, f32(4)), lambda: assign(f32(2, 3), "a", 0), lambda: assign(Var([1, 2], "uint8"), 0, 300), lambda: assign(f32(2, 3), 0, [[1], [2, 3]]),
    lambda: assign(f32(2), 0, object()), lambda: assign(f32(2), 0, 1j),
])
case("an element that is deleted", (TypeError, *VALUE), lambda folder: delete(f32(2), 0))
each("a number of what is none", (TypeError, *VALUE), [
    lambda: f32(2).item(), lambda: float(f32(2)), lambda: int(f32(2)), lambda: bool(f32(2)), lambda: [1, 2, 3][f32(1)], lambda: len(expr.const(1.0)),
    lambda: list(expr.const(1.0)), lambda: range(f32(3)), lambda: complex(f32(2)),
])


# --- operators ------------------------------------------------------------------------------------------------------------------------

each("operands that do not go together", (*OPERATOR, TypeError), [
    lambda: computed(f32(2, 3) + f32(2, 4)), lambda: computed(f32(2, 3) @ f32(2, 3)), lambda: f32(2) @ 3, lambda: computed(f32(2) + "a"),
    lambda: computed(f32(2) + None), lambda: f32(2) + [1, [2]], lambda: f32(2) << 1, lambda: Var([1, 2]) ** -1, lambda: ~f32(2), lambda: f32(2) & 1,
    lambda: f32(2) | f32(2), lambda: f32(2) < "a", lambda: divmod(f32(2), "a"), lambda: f32(2) * object(), lambda: f32(2) / {},
])

X = lambda *shape: f32(*shape)  # noqa: E731
each("an operator with inputs that do not fit", OPERATOR, [
    lambda: computed(expr.matmul(X(2, 3), X(4, 2))),
    lambda: computed(expr.matmul(X(2, 3), Var([[1]], "int32"))),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 2, 3, 3))),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3))),
    lambda: computed(expr.conv(X(1, 3, 2, 2), X(4, 3, 5, 5))),
    lambda: computed(expr.conv(X(3), X(3))),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), X(5))),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), strides=[0, 0])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), strides=[-1, 1])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), strides=[1])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), dilations=[0, 1])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), group=0)),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), group=2)),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), pads=[1, 1, 1])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), pads=[2**40] * 4)),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), kernel_shape=[5, 5])),
    lambda: computed(expr.conv(X(1, 3, 8, 8), X(4, 3, 3, 3), auto_pad="MAYBE")),
    lambda: computed(expr.conv_transpose(X(1, 3, 8, 8), X(4, 3, 3, 3))),
    lambda: computed(expr.max_pool(X(1, 3, 8, 8), [0, 0])),
    lambda: computed(expr.max_pool(X(1, 3, 8, 8), [2])),
    lambda: computed(expr.max_pool(X(1, 3, 8, 8), [-2, 2])),
    lambda: computed(expr.batch_normalization(X(1, 3, 8, 8), X(4), X(3), X(3), X(3))),
    lambda: computed(expr.layer_normalization(X(2, 3), X(3), axis=5)),
    lambda: computed(expr.group_normalization(X(1, 3, 4, 4), X(3), X(3), 2)),
    lambda: computed(expr.lstm(X(5, 1, 4), X(1, 12, 4), X(1, 12, 4))),
    lambda: computed(expr.gru(X(5, 1, 4), X(1, 9, 4), X(1, 9, 3), hidden_size=4)),
    lambda: computed(expr.gemm(X(2, 3), X(2, 3))),
    lambda: computed(expr.attention(X(1, 2, 3), X(1, 2, 3), X(1, 2, 3))),
    lambda: computed(expr.softmax(X(2, 3), axis=2)),
    lambda: computed(expr.reduce_sum(X(2, 3), [2])),
    lambda: computed(expr.reduce_sum(X(2, 3), [0, 0])),
    lambda: computed(expr.reduce_sum(X(2, 3), [2**40])),
    lambda: computed(expr.arg_max(X(2, 3), axis=-3)),
    lambda: computed(expr.cum_sum(X(2, 3), 7)),
    lambda: computed(expr.concat([X(2, 3), X(3, 2)], 0)),
    lambda: computed(expr.concat([], 0)),
    lambda: computed(expr.concat([X(2, 3)], 5)),
    lambda: computed(expr.split(2, X(4), [1, 1])),
    lambda: computed(expr.split(3, X(4), [5, -1, 0])),
    lambda: computed(expr.split(0, X(4))),
    lambda: computed(expr.split(10**9, X(4))),
    lambda: computed(expr.gather(X(2, 3), [5])),
    lambda: computed(expr.gather(X(2, 3), [-3])),
    lambda: computed(expr.gather(X(2, 3), [0], axis=3)),
    lambda: computed(expr.gather(X(2, 3), [0.5])),
    lambda: computed(expr.gather_elements(X(2, 3), [[0, 9, 0]])),
    lambda: computed(expr.gather_nd(X(2, 3), [[0, 0, 0]])),
    lambda: computed(expr.gather_nd(X(2, 3), [[7, 0]])),
    lambda: computed(expr.scatter_elements(X(2, 3), [[9, 0, 0]], X(1, 3))),
    lambda: computed(expr.scatter_nd(X(4), [[9]], X(1))),
    lambda: computed(expr.scatter_nd(X(4), [[0]], X(2))),
    lambda: computed(expr.reshape(X(2, 3), [4, 2])),
    lambda: computed(expr.reshape(X(2, 3), [-1, -1])),
    lambda: computed(expr.reshape(X(2, 3), [-2, 3])),
    lambda: computed(expr.reshape(X(2, 3), [2**62, 2**62])),
    lambda: computed(expr.reshape(X(2, 3), [1] * 200)),
    lambda: computed(expr.reshape(X(2, 3), "six")),
    lambda: computed(expr.expand(X(2, 3), [2, 4])),
    lambda: computed(expr.expand(X(2, 3), [-5, 2, 3])),
    lambda: computed(expr.tile(X(2), [-1])),
    lambda: computed(expr.tile(X(2), [1, 1])),
    lambda: computed(expr.transpose(X(2, 3), perm=[0, 0])),
    lambda: computed(expr.transpose(X(2, 3), perm=[0, 5])),
    lambda: computed(expr.transpose(X(2, 3), perm=[0])),
    lambda: computed(expr.squeeze(X(2, 3), [0])),
    lambda: computed(expr.unsqueeze(X(2), [9])),
    lambda: computed(expr.unsqueeze(X(2), [0, 0])),
    lambda: computed(expr.flatten(X(2, 3), axis=7)),
    lambda: computed(expr.slice(X(4), [0], [4], [0], [0])),
    lambda: computed(expr.slice(X(4), [0], [4], [3])),
    lambda: computed(expr.slice(X(4), [0, 1], [4])),
    lambda: computed(expr.slice(X(4), [float("nan")], [4])),
    lambda: computed(expr.pad(X(4), [-3, -3])),
    lambda: computed(expr.pad(X(4), [1])),
    lambda: computed(expr.pad(X(4), [1, 1], mode="mirror")),
    lambda: computed(expr.resize(X(1, 1, 2, 2), sizes=[1, 1, 0, -4])),
    lambda: computed(expr.resize(X(1, 1, 2, 2), scales=[1.0, 1.0, float("nan"), 1.0])),
    lambda: computed(expr.resize(X(1, 1, 2, 2), scales=[1.0, 1.0, float("inf"), 1.0])),
    lambda: computed(expr.resize(X(1, 1, 2, 2), scales=[1.0, 1.0, -2.0, 1.0])),
    lambda: computed(expr.resize(X(1, 1, 2, 2))),
    lambda: computed(expr.top_k(X(4), [9])),
    lambda: computed(expr.top_k(X(4), [-1])),
    lambda: computed(expr.one_hot([1], -4, [0.0, 1.0])),
    lambda: computed(expr.one_hot([1], 3, [0.0, 1.0, 2.0])),
    lambda: computed(expr.range(0, 5, 0)),
    lambda: computed(expr.range(0.0, float("nan"), 1.0)),
    lambda: computed(expr.constant_of_shape([-2])),
    lambda: computed(expr.constant_of_shape([1.5])),
    lambda: computed(expr.depth_to_space(X(1, 3, 2, 2), 0)),
    lambda: computed(expr.depth_to_space(X(1, 3, 2, 2), 2)),
    lambda: computed(expr.space_to_depth(X(1, 3, 3, 3), 2)),
    lambda: computed(expr.eye_like(X(2))),
    lambda: computed(expr.trilu(X(2))),
    lambda: computed(expr.det(X(2, 3))),
    lambda: computed(expr.where(X(2), X(2), X(2))),
    lambda: computed(expr.where([True, False], X(3), X(3))),
    lambda: computed(expr.bit_shift([1, 2], [1, 1], "UP")),
    lambda: computed(expr.quantize_linear(X(2, 3), X(4))),
    lambda: computed(expr.dequantize_linear(X(2, 3), X(1))),
    lambda: computed(expr.grid_sample(X(1, 1, 4, 4), X(1, 2, 2, 3))),
    lambda: computed(expr.roi_align(X(1, 1, 4, 4), X(1, 4), [7])),
    lambda: computed(expr.sequence_at(X(2), 0)),
    lambda: computed(expr.sequence_at(expr.sequence_construct([X(2)]), 4)),
    lambda: computed(expr.max([])),
    lambda: computed(expr.stft(X(1, 16, 1), 0, frame_length=4)),
    lambda: computed(expr.dft(X(1, 4, 3))),
    lambda: computed(expr.compress(X(4), [1.0])),
    lambda: computed(expr.random_normal([-1])),
    lambda: computed(expr.multinomial(X(4))),
])
each("an equation that is none", OPERATOR, [
    lambda equation=equation: computed(expr.einsum([X(2, 3), X(3, 4)], equation))
    for equation in ("ij,jk,kl->il", "ij", "ij,jk->iz", "i,jk->ik", "ij->ji->ij", "ij,jk->ii", "", "....,jk", "i j k l,a", "ij,ik->jk", "é,ü")
])
each("an operator that is asked wrongly", (*OPERATOR, minnow.Unsupported, TypeError), [
    lambda: expr.op("Convolve", [X(2)]),
    lambda: expr.op("", [X(2)]),
    lambda: expr.op("Relu", []),
    lambda: expr.op("Relu", [X(2), X(2)]),
    lambda: expr.op("Relu", [None]),
    lambda: expr.op("Relu", X(2).tolist()),
    lambda: expr.op("Relu", 3),
    lambda: expr.op("Relu", [X(2)], slope=1),
    lambda: expr.op("LeakyRelu", [X(2)], alpha="steep"),
    lambda: expr.op("LeakyRelu", [X(2)], alpha=[1]),
    lambda: expr.op("Softmax", [X(2)], axis=0.5),
    lambda: expr.op("Softmax", [X(2)], axis=2**70),
    lambda: expr.op("Transpose", [X(2)], perm=0),
    lambda: expr.op("Transpose", [X(2)], perm="0"),
    lambda: expr.op("Cast", [X(2)]),
    lambda: expr.op("Cast", [X(2)], to=999),
    lambda: expr.op("If", [True]),
    lambda: expr.op("Loop", [1, True], body=3),
    lambda: expr.ops("Split", [X(4)], 0),
    lambda: expr.ops("Split", [X(4)], -1),
    lambda: expr.ops("Split", [X(4)], 2**40),
    lambda: expr.ops("Relu", [X(4)], 3),
    lambda: expr.op("Add", [X(4), "a"]),
    lambda: expr.op("Add", [X(4)]),
    lambda: expr.relu(),
    lambda: expr.relu(X(2), X(2)),
    lambda: expr.softmax(X(2), dim=0),
    lambda: expr.op(5, [X(2)]),
    lambda: expr.op("Relu", [X(2)] * 100000),
])
each("more than there is memory", (MEMORY, *OPERATOR), [
    lambda: computed(expr.constant_of_shape([2**20, 2**20, 4])),
    lambda: computed(expr.constant_of_shape([2**40, 2**40])),
    lambda: computed(expr.expand(X(1), [2**31, 2**15])),
    lambda: computed(expr.tile(X(2), [2**50])),
    lambda: computed(expr.tile(X(2), [2**63 - 1])),
    lambda: computed(expr.range(0, 2**45, 1)),
    lambda: computed(expr.random_normal([2**22, 2**22])),
    lambda: computed(expr.resize(X(1, 1, 2, 2), sizes=[1, 1, 2**20, 2**24])),
    lambda: computed(expr.pad(X(4), [2**45, 0])),
    lambda: computed(expr.one_hot([1], 2**46, [0.0, 1.0])),
    lambda: computed(X(2, 1) + expr.expand(X(1), [2**45])),
])


# --- placeholders, whole expressions, control flow ------------------------------------------------------------------------------------

def limited(bytes_):
    with expr.scope(memory_limit=bytes_):
        computed(expr.exp(expr.expand(X(1), [1 << 22])) + 1.0)


def in_scope(**options):
    with expr.scope(**options):
        computed(X(2) + 1.0)


p = expr.placeholder
each("a placeholder that does not go", (*VALUE, TypeError), [
    lambda: p("x", "float33"), lambda: p("x", "float32", [-5]), lambda: p("x", "float32", ["n"]), lambda: p("x", "float32", 3),
    lambda: p("x", "float32", [2**63]), lambda: p("x", "float32", [1] * 100), lambda: p(5), lambda: computed(p("x")),
    lambda: computed(p("x", "float32", [2]) + 1.0), lambda: p("x", "float32", [2]).assign(f32(3)), lambda: p("x", "float32", [2]).assign("a"),
    lambda: p("x", "float32", [2]).assign(Var([1, 2], "int64")), lambda: p("x", "float32", [2]).tolist(), lambda: p("x", "float32", [-1]).shape,
    lambda: bool(p("x", "bool", [])),
])
each("an expression that cannot be kept", (*VALUE, TypeError, IO, minnow.InvalidModel, minnow.Unsupported), [
    lambda: expr.save([], "/nowhere/model.minnow"), lambda: expr.save([X(2)], 3), lambda: expr.save([X(2)], "/nowhere/model.minnow"), lambda: expr.save(3, "/nowhere/m.minnow"),
    lambda: expr.save([X(2)], ""), lambda: expr.load("/nowhere/model.minnow"), lambda: expr.load(__file__),
    lambda: expr.replace([X(2)], [(1, 2)]), lambda: expr.replace([X(2)], {"a": "b"}), lambda: expr.clone("a"), lambda: expr.evaluate([None]),
    lambda: expr.trainable("a"), lambda: expr.trainables("a"),
])
each("control flow that does not go", (*OPERATOR, TypeError), [
    lambda: computed(expr.cond(X(2), lambda: X(1), lambda: X(1))),
    lambda: computed(expr.cond(X(1)[0] > 0, lambda: X(1), lambda: [X(1), X(1)])),
    lambda: computed(expr.cond(X(1)[0] > 0, lambda: X(1), lambda: Var([1]))),
    lambda: computed(expr.cond(X(1)[0] > 0, None, None)),
    lambda: computed(expr.cond(X(1)[0] > 0, lambda: "a", lambda: "b")),
    lambda: computed(expr.while_loop(lambda x: x < 3.0, lambda x: [x, x], [expr.const(0.0)])),
    lambda: computed(expr.while_loop(lambda x: x, lambda x: [x], [expr.const(0.0)])),
    lambda: computed(expr.while_loop(lambda x: True, lambda x: [x > 0], [expr.const(0.0)], 3)),
    lambda: computed(expr.while_loop(lambda x: x < 3.0, lambda x: [x], [expr.const(0.0)], "many")),
    lambda: computed(expr.while_loop(lambda x: x < 3.0, lambda: [1], [expr.const(0.0)])),
    lambda: computed(expr.scan(lambda s, x: [s + x, s], [expr.const(0.0)], [expr.const(1.0)])),
    lambda: computed(expr.scan(lambda s, a, b: [s + a, b], [expr.const(0.0)], [X(2), X(3)])),
    lambda: computed(expr.scan(lambda s, x: [], [expr.const(0.0)], [X(2)])),
    lambda: computed(expr.while_loop(lambda x: x < 3.0, lambda x: [x + x.item()], [expr.const(0.0)])),
])
each("a scope that there is not", (MEMORY, *VALUE), [
    lambda: in_scope(threads=-4), lambda: in_scope(precision="x"), lambda: in_scope(backend=["x"]), lambda: in_scope(backend=[]),
    lambda: in_scope(memory="x"), lambda: in_scope(memory_limit=-1), lambda: limited(1000),
])
each("a module that does not go", (*VALUE, NotImplementedError), [
    lambda: nn.Module()(1), lambda: nn.Module().load_parameters({"w": 1}),
])


# --- pictures and conversion ----------------------------------------------------------------------------------------------------------

def png(width, height, data, depth=8, colour=2):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def picture():
    return expr.cast(f32(4, 5, 3), to="uint8")


RGB = png(2, 2, bytes(14))
each("a picture that cannot be read", (*VALUE, *FILE, IO, MEMORY), [
    lambda: cv.imread("/nowhere/picture.png"), lambda: cv.imread(os.fspath(SEEDS)), lambda: cv.imread("/dev/zero"), lambda: cv.imread(""), lambda: cv.imread("a\0b"),
    lambda: cv.imread(SEEDS / "onnx" / "resize_10.onnx"), lambda: cv.imread(b"\xff"), lambda: cv.imdecode(b""),
    lambda: cv.imdecode(RGB[:20]), lambda: cv.imdecode(RGB[:-20]), lambda: cv.imdecode(png(2, 2, bytes(5))), lambda: cv.imdecode(png(0, 2, b"")),
    lambda: cv.imdecode(png(2**31 - 1, 2**31 - 1, bytes(100))), lambda: cv.imdecode(png(60000, 60000, bytes(100))),
    lambda: cv.imdecode(png(2, 2, bytes(14), depth=7)), lambda: cv.imdecode(png(2, 2, bytes(14), colour=5)), lambda: cv.imdecode(png(2, 2, bytes([9] * 14))),
    lambda: cv.imdecode(b"\xff\xd8\xff\xe0" + NOISE), lambda: cv.imdecode(b"\xff\xd8"), lambda: cv.imdecode(NOISE), lambda: cv.imdecode("text"),
    lambda: cv.imdecode([0.5, 1.5]), lambda: cv.imdecode(RGB, 99), lambda: cv.imdecode(RGB, "colour"), lambda: cv.imdecode(None),
])
each("a picture that cannot be changed so", (*VALUE, minnow.Unsupported, MEMORY, TypeError), [
    lambda: cv.resize(picture(), (0, 4)), lambda: cv.resize(picture(), (-3, 4)), lambda: cv.resize(picture(), (2**40, 2**40)), lambda: cv.resize(picture(), (3,)),
    lambda: cv.resize(picture(), (3, 4, 5)), lambda: cv.resize(picture(), "ab"), lambda: cv.resize(picture(), None), lambda: cv.resize(picture(), 5),
    lambda: cv.resize(picture(), None, fx=float("nan"), fy=1), lambda: cv.resize(picture(), None, fx=float("inf"), fy=1), lambda: cv.resize(picture(), (4, 4), interpolation=9),
    lambda: cv.resize(f32(2, 2, 2, 2), (2, 2)), lambda: cv.resize(f32(0, 4, 3), (2, 2)), lambda: cv.resize("picture", (2, 2)), lambda: cv.resize(None, (2, 2)),
    lambda: cv.resize(picture(), (2**63, 2)), lambda: cv.resize(picture(), (float("nan"), 2)), lambda: cv.cvtColor(picture(), 999),
    lambda: cv.cvtColor(picture(), "BGR2RGB"), lambda: cv.cvtColor(f32(4, 5), cv.COLOR_BGR2HSV), lambda: cv.cvtColor(f32(4, 5, 2), cv.COLOR_BGR2GRAY),
    lambda: cv.cvtColor(picture(), cv.COLOR_GRAY2BGR), lambda: cv.cvtColor(None, cv.COLOR_BGR2RGB),
])
case("a function that minnow.cv lacks", AttributeError, lambda folder: cv.warpEverything(picture()))
case("a module that minnow lacks", AttributeError, lambda folder: minnow.vision)
case("an operator that minnow.expr lacks", AttributeError, lambda folder: expr.convolve(f32(2)))


def convert(**options):
    return lambda folder: tools.convert(network(folder), folder / "out.minnow", **options)


for name, classes, function in [
    ("a conversion of nothing", (*FILE, IO), lambda folder: tools.convert(folder / "none.onnx", folder / "out.minnow")),
    ("a conversion to nowhere", IO, lambda folder: tools.convert(network(folder), folder / "no" / "out.minnow")),
    ("a conversion to a folder", IO, lambda folder: tools.convert(network(folder), folder)),
    ("a conversion to None", TypeError, lambda folder: tools.convert(network(folder), None)),
    ("a conversion with a shape of an input that there is not", VALUE, convert(shapes={"z": [1, 3]})),
    ("a conversion with a shape of another rank", VALUE, convert(shapes={"x": [3]})),
    ("a conversion with a shape that contradicts", VALUE, convert(shapes={"x": [1, 4]})),
    ("a conversion with a negative shape", VALUE, convert(shapes={"x": [-7, 3]})),
    ("a conversion with a shape of texts", VALUE, convert(shapes={"x": ["n", 3]})),
    ("a conversion with a new name of what there is not", VALUE, convert(rename={"z": "data"})),
    ("a conversion with one name for two", VALUE, convert(rename={"x": "y"})),
    ("a conversion with names that are numbers", VALUE, convert(rename={"x": 1})),
    ("a conversion with an optimization that there is not", VALUE, convert(optimize="O3")),
    ("a conversion to an operator set that there is not", (*VALUE, minnow.Unsupported),
     lambda folder: tools.convert(network(folder), folder / "out.onnx", opset=99)),
    ("a conversion to an operator set below zero", (*VALUE, minnow.Unsupported),
     lambda folder: tools.convert(network(folder), folder / "out.onnx", opset=-3)),
    ("a look into nothing", (*FILE, IO), lambda folder: tools.inspect(folder / "none.onnx")),
    ("a comparison with an input that there is not", VALUE, lambda folder: tools.compare(network(folder), network(folder), {"none": 1})),
]:
    case(name, classes, function)


# --- minnow.numpy ---------------------------------------------------------------------------------------------------------------------

def read(function):
    """As far as NumPy would compute it at once."""
    result = function()
    for value in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(value, minnow.Var):
            value.evaluate()
    return result


# NumPy's own exceptions. Minnow's classes derive from these, also from NumPy's for linear algebra and axes.
LIKE_NUMPY = (minnow.InvalidModel, ValueError, TypeError, IndexError, ArithmeticError, OSError, EOFError, MemoryError, AttributeError)
for common, functions in malformed_numpy.CASES:
    each(common, LIKE_NUMPY, [lambda function=function: read(function) for function in functions])


# --- running them ---------------------------------------------------------------------------------------------------------------------

def judge(classes, function, folder):
    """Return the complaint about how the case ended; empty if there is none."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        result = function(folder)
    except BaseException as error:  # noqa: B902
        text = str(error)
        if isinstance(error, minnow.InternalError):
            return f"an internal error: {text}"
        if not isinstance(error, classes):
            return f"{type(error).__name__} is none of {', '.join(c.__name__ for c in classes)}: {text}"
        if not text.strip() or "\n" in text or len(text) > 1000:
            return f"not one sentence: {text[:2000]!r}"
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        if grown > MEGABYTES:
            return f"took {grown} MB: {text}"
        if os.environ.get("MINNOW_MALFORMED_SHOW"):
            print(f"{type(error).__name__}: {text}", file=sys.stderr)
        return ""
    return f"no error: {str(result)[:200]!r}"


def start(name, classes, function):
    """A process of its own; gives its id and the end of the pipe that tells what it found."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    status = 1
    folder = tempfile.mkdtemp()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.environ.get("MINNOW_MALFORMED_SHOW"):
            print(f"{name}: ", end="", file=sys.stderr, flush=True)
        found = judge(classes, function, Path(folder))
        shutil.rmtree(folder, ignore_errors=True)
        os.write(writing, json.dumps(found[:3000]).encode())
        status = 0
    finally:
        os._exit(status)


class Malformed(unittest.TestCase):
    def test_every_case(self):
        only = os.environ.get("MINNOW_MALFORMED_ONLY", "")
        waiting, running, wrong = [each for each in CASES if only in each[0]], {}, []
        self.assertEqual(len({name for name, _, _ in CASES}), len(CASES), "two cases have one name")
        while waiting or running:
            while waiting and len(running) < 4 * (os.cpu_count() or 1):
                name, classes, function = waiting.pop(0)
                child, reading = start(name, classes, function)
                running[child] = (name, reading, time.monotonic())
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                for late, (name, _, begin) in running.items():
                    if time.monotonic() - begin > SECONDS:
                        os.kill(late, signal.SIGKILL)
                time.sleep(0.002)
                continue
            name, reading, begin = running.pop(child)
            with os.fdopen(reading, "rb") as pipe:
                told = pipe.read()
            if os.WIFSIGNALED(status):
                late = time.monotonic() - begin > SECONDS
                wrong.append(f"{name}: {'did not end' if late else signal.Signals(os.WTERMSIG(status)).name}")
            elif status != 0 or not told:
                wrong.append(f"{name}: exit status {os.WEXITSTATUS(status)}")
            elif json.loads(told):
                wrong.append(f"{name}: {json.loads(told)}")
        print(f"{len(CASES)} malformed inputs, {len(CASES) - len(wrong)} refused with a sentence")
        self.assertEqual(wrong, [], "\n".join(["", *wrong]))


if __name__ == "__main__":
    unittest.main()
