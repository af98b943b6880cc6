#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of the Python package: a small operation, a chain of elementwise operations beside NumPy, a call of a model beside ONNX Runtime.

  PYTHONPATH=build/release/python build/venv/bin/python bench/python.py

Interleaved rounds; the least and the median of them. One thread.
"""
import os
import statistics
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import minnow
from minnow import expr


def rounds(functions, count, repeat):
    """Microseconds of one call of each function: (least, median) over `repeat` rounds of `count` calls, taken in turns."""
    times = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(repeat):
        for list_of, function in zip(times, functions):
            start = time.perf_counter()
            for _ in range(count):
                function()
            list_of.append((time.perf_counter() - start) / count * 1e6)
    return [(min(values), statistics.median(values)) for values in times]


def show(name, row):
    print(f"{name:60} {row[0]:10.2f} us  median {row[1]:10.2f} us")


def small():
    a, b = minnow.Var(np.ones(8, np.float32)), minnow.Var(np.ones(8, np.float32))
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    one, two, three = rounds([lambda: (a + b).evaluate(), lambda: np.asarray(a + b), lambda: x + y], 2000, 25)
    show("a + b of 8 floats, computed", one)
    show("a + b of 8 floats, as an array of NumPy", two)
    show("NumPy's a + b", three)


def chain():
    x = np.linspace(0.1, 2, 1_000_000, dtype=np.float32)
    v = minnow.Var(x)

    def operations(value, sqrt, absolute):
        value = value * 1.5 + 0.5           # 2
        value = sqrt(value) - 0.25          # 4
        value = absolute(value) * value     # 6
        value = value / 3 + 1               # 8
        value = (value - 0.5) * (value + 0.5)  # 11
        value = value * 0.25 + value        # 13
        value = sqrt(absolute(value)) * 2   # 16
        value = value - 1                   # 17
        value = value * value               # 18
        return -(value + 0.125)             # 20

    def numpy_chain():
        return operations(x, np.sqrt, np.abs)

    def minnow_chain():
        with expr.scope(threads=1):
            return operations(v, expr.sqrt, expr.abs).evaluate()

    def all_cores():
        return operations(v, expr.sqrt, expr.abs).evaluate()

    np.testing.assert_allclose(minnow_chain().numpy(), numpy_chain(), rtol=1e-5)
    theirs, ours, wide = rounds([numpy_chain, minnow_chain, all_cores], 3, 40)
    show("20 elementwise operations on 1e6 floats: NumPy", theirs)
    for name, row in (("one thread", ours), ("all cores", wide)):
        show(f"20 elementwise operations on 1e6 floats: Minnow, {name}", row)
        print(f"{'ratio of the least, of the medians':60} {theirs[0] / row[0]:10.2f}             {theirs[1] / row[1]:10.2f}")


def call():
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        module = minnow.load(path, threads=1)
    x = np.ones((1, 8), np.float32)
    v = minnow.Var(x)
    rows = rounds([lambda: module(x), lambda: module.forward(v), lambda: session.run(None, {"x": x})], 2000, 25)
    show("call of a model of one small operator: arrays in and out", rows[0])
    show("the same with Vars", rows[1])
    show("the same by ONNX Runtime", rows[2])


if __name__ == "__main__":
    small()
    chain()
    call()
