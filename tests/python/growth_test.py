#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading, optimizing, planning and running graphs of n nodes takes time that grows like n: chains, many readers, inputs, outputs and weights,
one value behind many outputs, shape arithmetic, sequences. A graph of four times the nodes may take nine times the processor time; a quadratic step takes sixteen."""
import time
import unittest

import numpy as np

import minnow

try:
    from onnx import TensorProto, helper
except ImportError:
    helper = None

SMALL, LARGE, MOST = 1500, 6000, 9


def tensor(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, weights=()):
    nodes = [helper.make_node(op, i, o, **attributes) for op, i, o, attributes in nodes]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [helper.make_tensor(name, TensorProto.FLOAT, [1], [1.0]) for name in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def chain(n):
    return model([("Tanh" if i % 2 else "Relu", [f"s{i}"], [f"s{i + 1}"], {}) for i in range(n)], [tensor("s0", ["a", 3])], [tensor(f"s{n}", None)])


def readers(n):
    ends = [f"y{i}" for i in range(n)]
    return model([("Add", ["x", f"w{i}"], [y], {}) for i, y in enumerate(ends)] + [("Sum", ends, ["y"], {})],
                 [tensor("x", ["a"])], [tensor("y", None)], [f"w{i}" for i in range(n)])


def inputs(n):
    names = [f"x{i}" for i in range(n)]
    return model([("Sum", names, ["y"], {})], [tensor(name, [1]) for name in names], [tensor("y", [1])])


def outputs(n):
    return model([("Add", ["x", f"w{i}"], [f"y{i}"], {}) for i in range(n)], [tensor("x", [1])], [tensor(f"y{i}", [1]) for i in range(n)],
                 [f"w{i}" for i in range(n)])


def repeated_outputs(n):
    """One value under n names."""
    return model([("Relu", ["x"], ["s"], {})] + [("Identity", ["s"], [f"y{i}"], {}) for i in range(n)], [tensor("x", ["a"])],
                 [tensor(f"y{i}", None) for i in range(n)])


def shapes(n):
    nodes = []
    for i in range(n // 3):
        nodes += [("Shape", [f"s{i}"], [f"h{i}"], {}), ("Reshape", [f"t{i}", f"h{i}"], [f"r{i}"], {}), ("Neg", [f"r{i}"], [f"s{i + 1}"], {})]
        nodes.insert(-2, ("Tanh", [f"s{i}"], [f"t{i}"], {}))
    return model(nodes, [tensor("s0", ["a", "b"])], [tensor(f"s{n // 3}", None)])


def sequence(n):
    nodes = [("SequenceEmpty", [], ["s0"], {})] + [("SequenceInsert", [f"s{i}", "x"], [f"s{i + 1}"], {}) for i in range(n)]
    return model(nodes + [("ConcatFromSequence", [f"s{n}"], ["y"], {"axis": 0})], [tensor("x", [1])], [tensor("y", None)])


def seconds(file):
    """Processor time to load the model and to run it twice, at best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        module = minnow.load(file)
        arrays = [np.zeros([d if isinstance(d, int) else 2 for d in value.shape], np.float32) for value in module.inputs]
        for _ in range(2):
            module(*arrays)
        best = min(best, time.process_time() - start)
    return best


@unittest.skipIf(helper is None, "onnx is not installed")
class Growth(unittest.TestCase):
    def test_time_grows_like_the_graph(self):
        for make in (chain, readers, inputs, outputs, repeated_outputs, shapes, sequence):
            with self.subTest(make.__name__):
                small, large = seconds(make(SMALL)), seconds(make(LARGE))
                print(f"{make.__name__}: {SMALL} nodes {small * 1e3:.1f} ms, {LARGE} nodes {large * 1e3:.1f} ms, ratio {large / small:.1f}")
                self.assertLess(large, MOST * small + 0.05)


if __name__ == "__main__":
    unittest.main()
