#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module: minnow.load(path)(x) on NumPy arrays, against NumPy and ONNX Runtime."""
import sys
import tempfile
import threading
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(error)
    sys.exit(77)

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Binding(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.random = np.random.default_rng(4)

    def model(self, nodes, inputs, outputs, initializers=()):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*each) for each in inputs],
                                  [helper.make_tensor_value_info(*each) for each in outputs],
                                  [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()])
        path = Path(self._folder.name) / "model.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        return str(path)

    def difference(self):
        return self.model([helper.make_node("Sub", ["a", "b"], ["d"]), helper.make_node("Less", ["a", "b"], ["l"])],
                          [("a", F32, ["n"]), ("b", F32, ["n"])], [("d", F32, ["n"]), ("l", TensorProto.BOOL, ["n"])])

    def test_inputs_by_position_and_by_name(self):
        model = minnow.load(self.difference())
        self.assertEqual((model.inputs, model.outputs), (["a", "b"], ["d", "l"]))
        a, b = np.array([1, 5], np.float32), np.array([2, 3], np.float32)
        for outputs in (model(a, b), model(a=a, b=b), model(a, b=b), model(b=b, a=a), model({"b": b, "a": a}), model({"b": b}, a=a)):
            self.assertIsInstance(outputs, tuple)
            np.testing.assert_array_equal(outputs[0], [-1, 2])
            np.testing.assert_array_equal(outputs[1], [True, False])
            self.assertEqual(outputs[1].dtype, np.bool_)

    def test_a_network_against_onnx_runtime(self):
        weights = self.random.standard_normal((8, 3, 3, 3)).astype(np.float32)
        path = self.model([helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), helper.make_node("Relu", ["c"], ["r"]),
                           helper.make_node("GlobalAveragePool", ["r"], ["y"])], [("x", F32, ["n", 3, 17, 15])], [("y", F32, ["n", 8, 1, 1])],
                          {"w": weights})
        oracle = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for options in ({}, {"threads": 1}, {"backend": "reference"}, {"precision": "high"}):
            model = minnow.load(path, **options)
            for batch in (1, 3):
                x = self.random.standard_normal((batch, 3, 17, 15)).astype(np.float32)
                np.testing.assert_allclose(model(x), oracle.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)

    def test_arrays_of_any_order_and_size(self):
        model = minnow.load(self.model([helper.make_node("Neg", ["x"], ["y"])], [("x", F32, None)], [("y", F32, None)]))
        whole = self.random.standard_normal((4, 6)).astype(np.float32)
        for x in (whole, whole.T, whole[::2, 1:4], np.zeros((0, 3), np.float32), np.array(2, np.float32)):
            y = model(x)
            self.assertEqual(y.shape, x.shape)
            np.testing.assert_array_equal(y, -x)

    def test_results_outlive_the_model(self):
        y = minnow.load(self.difference())(np.ones(1000, np.float32), np.zeros(1000, np.float32))[0]
        np.testing.assert_array_equal(y, np.ones(1000))

    def test_sequences_come_as_lists(self):
        graph = helper.make_graph([helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)], "g", [helper.make_tensor_value_info("x", I64, [3])],
                                  [helper.make_tensor_sequence_value_info("s", I64, None)])
        path = Path(self._folder.name) / "sequence.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
        self.assertEqual([item.tolist() for item in minnow.load(str(path))(np.array([4, 5, 6]))], [[4], [5], [6]])

    def test_errors(self):
        a = np.ones(2, np.float32)
        model = minnow.load(self.difference())
        with self.assertRaisesRegex(minnow.Error, "nowhere.onnx"):
            minnow.load("nowhere.onnx")
        with self.assertRaisesRegex(minnow.Error, 'input "b" should be f32\\[n\\], it is not given'):
            model(a)
        with self.assertRaisesRegex(minnow.Error, 'input "a" should be f32\\[n\\], it is i64'):
            model(np.ones(2, np.int64), a)
        with self.assertRaisesRegex(TypeError, "more inputs"):
            model(a, a, a)
        with self.assertRaisesRegex(TypeError, 'no input "c"'):
            model(c=a)
        with self.assertRaisesRegex(TypeError, 'the input "a" is given twice'):
            model(a, a=a, b=a)
        with self.assertRaisesRegex(TypeError, "'flot32' is no dtype; the nearest are \"float32\""):
            minnow.Var(1.0, "flot32")
        with self.assertRaisesRegex(TypeError, r"minnow.numpy.array\(\)"):
            minnow.Var(1j)
        with self.assertRaisesRegex(minnow.Unsupported, "m.tflite: models are written as .minnow and .onnx files"):
            minnow.convert(self.difference(), Path(self._folder.name) / "m.tflite")
        with self.assertRaisesRegex(AttributeError, '"load_module"'):
            minnow.nn.load_modul
        with self.assertRaises(Exception):
            model("text", a)
        np.testing.assert_array_equal(model(a, a)[0], [0, 0])  # usable afterwards

    def test_dtypes_are_taken_by_numpy(self):
        for name in ("bool", "int8", "uint16", "int64", "float16", "float64", "complex64"):
            self.assertEqual(np.dtype(minnow.dtype(name)), np.dtype(name))
        self.assertEqual(np.zeros(2, dtype=minnow.Var([1.0]).astype("float32").dtype).dtype, np.float32)

    def test_threads_take_turns(self):
        model, wrong = minnow.load(self.difference()), []

        def work(value):
            for _ in range(50):
                if model(np.full(64, value, np.float32), np.zeros(64, np.float32))[0][0] != value:
                    wrong.append(value)

        threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
