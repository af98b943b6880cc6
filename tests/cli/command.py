# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the `minnow` command: how to call it, and small models to call it with."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    sys.exit(77)

BUILD = Path(os.environ["MINNOW_BUILD_DIR"])
MINNOW = BUILD / "bin" / "minnow"
if not MINNOW.exists():
    print("the command is not built")
    sys.exit(77)

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def write_model(path, nodes, inputs, outputs, initializers=(), opset=21, opsets=(), **metadata):
    """`inputs`, `outputs`: (name, dtype, shape) each; `initializers`: name -> array."""
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs],
                              [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()])
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(*each) for each in opsets]
    model = helper.make_model(graph, opset_imports=imports, producer_name="tests", ir_version=10)
    for key, value in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    Path(path).write_bytes(model.SerializeToString())
    return Path(path)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        random = np.random.default_rng(3)
        self.weights = random.standard_normal((4, 3)).astype(np.float32)
        self.bias = random.standard_normal(3).astype(np.float32)

    def minnow(self, *arguments, env=None, cwd=None):
        return subprocess.run([str(MINNOW), *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=cwd or self.folder,
                              env={**os.environ, **(env or {})})

    def succeeds(self, *arguments, **options):
        result = self.minnow(*arguments, **options)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        return result

    def fails(self, *arguments, **options):
        """Standard error of a call that must fail, and must print nothing on stdout."""
        result = self.minnow(*arguments, **options)
        self.assertGreater(result.returncode, 0, f"{arguments} should fail; it printed {result.stdout}")
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.strip())
        return result.stderr

    def json(self, *arguments, **options):
        """Return the one JSON value that --json prints."""
        return json.loads(self.succeeds(*arguments, "--json", **options).stdout)

    def save(self, name, array):
        np.save(self.folder / name, array)
        return self.folder / name

    def dense(self, name="dense.onnx", **metadata):
        """y = relu(x @ w + b), x of shape [batch, 4]; with a Dropout that optimization removes."""
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="product"), helper.make_node("Add", ["h", "b"], ["s"], name="bias"),
                 helper.make_node("Dropout", ["s"], ["d"], name="drop"), helper.make_node("Relu", ["d"], ["y"], name="activation")]
        return write_model(self.folder / name, nodes, [("x", F32, ["batch", 4])], [("y", F32, ["batch", 3])],
                           {"w": self.weights, "b": self.bias}, **metadata)

    def expected(self, x):
        return np.maximum(x @ self.weights + self.bias, 0)

    def two_inputs(self, name="two.onnx"):
        """a - b and its sign; the outputs have names that are no file names."""
        nodes = [helper.make_node("Sub", ["a", "b/in"], ["net/difference:0"], name="sub"),
                 helper.make_node("Sign", ["net/difference:0"], ["größe"], name="sign")]
        return write_model(self.folder / name, nodes, [("a", F32, ["n"]), ("b/in", F32, ["n"])],
                           [("net/difference:0", F32, ["n"]), ("größe", F32, ["n"])])

    def listing(self):
        return sorted(path.name for path in self.folder.iterdir())
