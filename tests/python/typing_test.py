#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The types of the package: the stubs are what the modules are (stubtest), and programs over them check under mypy --strict."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import mypy  # noqa: F401

    import minnow
except ImportError as error:
    print(error)
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
PACKAGE = str(Path(os.path.abspath(minnow.__file__)).parent.parent)
PROGRAM = '''
import minnow
import minnow.numpy as np
from minnow import expr, nn, tools

x: minnow.Var = minnow.Var([[1.0, 2.0], [3.0, 4.0]], "float32")
y: minnow.Var = expr.softmax(2 * x @ x.T - 1, axis=1)
z: minnow.Var = y[0, ::-1]
shape: tuple[int, ...] = z.shape
positive: bool = bool((z[0] > 0).item())
grid: minnow.Var = np.where(x > 2, np.sqrt(x), 0).sum(axis=0) + np.fft.fft(np.random.default_rng(1).normal(size=2)).real
singular: minnow.Var = np.linalg.svd(x).S[::-1]
values: list[minnow.Var] = expr.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [0, x])


class Dense(nn.Module):
    def __init__(self) -> None:
        self.w = expr.trainable(x, "w")

    def forward(self, x: minnow.Var) -> minnow.Var:
        return expr.relu(x @ self.w)


def classify(path: str) -> str:
    try:
        net = nn.load_module_from_file(path, ["data"], ["prob"], threads=1)
    except minnow.Error as error:
        return str(error)
    prob: minnow.Var = net.forward(expr.convert(x[None], expr.NC4HW4))
    return net.outputs[0] + str(prob.shape) + str(tools.inspect(path).weight_bytes)


print(shape, positive, values, Dense()(x), classify("nowhere.minnow"))
'''


PRECISE = '''
from typing import Any

import numpy
from numpy.typing import NDArray
import minnow
import minnow.numpy as np
from minnow import expr, nn, tools
from typing_extensions import assert_type

x = minnow.Var([1.0, 2.0])
net: nn.LoadedModule = minnow.load("net.onnx", shapes={"x": (None, 3)}, threads=2)
assert_type(net(x), minnow.Var)
assert_type(net(x, 2.0, y=x), minnow.Var)
array = numpy.zeros(3, numpy.float32)
result = net(array, 2.0)
array = result
a, b = net(x)
assert_type(a, minnow.Var)
assert_type(net.inputs[0].shape, tuple[int | str | None, ...] | None)
assert_type(net.inputs[0].name, str)
assert_type(net.states["h"], minnow.Var)
net.states["h"] = [1.0]
assert_type(net.prepare({"x": (4, None)}), nn.LoadedModule)
assert_type(x.sum(axis=0).mean(), minnow.Var)
assert_type(np.add(x, [1.0, (2.0,)]), minnow.Var)
assert_type(np.add(x, array), minnow.Var)
assert_type(np.add(array, 1), NDArray[Any])
assert_type(np.sqrt(numpy.float32(2)), NDArray[Any])
assert_type(np.sum(memoryview(b"ab")), minnow.Var)
assert_type(np.sum([1.0, 2]), minnow.Var)
assert_type(np.sum(array, axis=0), NDArray[Any])
assert_type(np.concatenate([array, array]), NDArray[Any])
assert_type(np.concatenate([array, x]), minnow.Var)
assert_type(np.split(array, 3), list[NDArray[Any]])
assert_type(np.einsum("i,i", array, array), NDArray[Any])
assert_type(np.linalg.inv(x), minnow.Var)
assert_type(np.linalg.norm(array), NDArray[Any])
assert_type(np.fft.fft(array), NDArray[Any])
assert_type(np.asarray(array), minnow.Var)
assert_type(np.zeros((2, 3)), minnow.Var)
assert_type(np.pi, float)
assert_type(expr.relu(numpy.float32(1)), NDArray[Any])
assert_type(expr.relu(array), NDArray[Any])
assert_type(expr.relu([1.0, -1.0]), minnow.Var)
assert_type(expr.matmul(array, x), minnow.Var)
assert_type(expr.matmul(array, array), NDArray[Any])
assert_type(expr.concat([array, array], 0), NDArray[Any])
assert_type(expr.dropout_outputs(2, array), list[NDArray[Any]])
assert_type(x.nonzero(), tuple[minnow.Var, ...])
assert_type(x.tobytes(), bytes)
assert_type(x.op, str | None)
assert_type(minnow.tools.bench("a.onnx").runs, int)
assert_type(minnow.numpy.abs(x), minnow.Var)
assert_type(x.inputs, list[minnow.Var | None])
assert_type(expr.op("TopK", [x, [1]], outputs=2), list[minnow.Var])
assert_type(expr.op("Relu", x), minnow.Var)
assert_type(tools.bench("net.onnx").least, float)
assert_type(minnow.optim.AdamW({"w": x}, lr=1e-3, clip_norm=1.0, schedule=minnow.optim.schedule("cosine", steps=10)).state_dict(), dict[str, minnow.Var])
assert_type(minnow.data.DataLoader(minnow.data.FashionMNIST(), 8, shuffle=True, num_workers=2, seed=1).state_dict(), dict[str, Any])
assert_type(minnow.convert("a.onnx", "b.minnow", optimize="none").bytes, int)
try:
    minnow.load("a.onnx")
except FileNotFoundError as error:
    print(error.errno, error.filename)
'''
WRONG = """x.summ()
x.sum(axes=0)
x.argmax(axis="a")
minnow.load("a.onnx", thread=2)
minnow.load("a.onnx", precision="hi")
minnow.convert("a.onnx", "b.minnow", optimise="none")
nn.load_module_from_file("a.onnx", thread=2)
expr.conv(x, x, stride=[1, 1])
expr.placeholder("x", shap=(1,))
expr.scope(thread=1)
expr.op("Relu", x, outputs="a")
np.sum(x, axes=0)
np.sum({1.0})
np.add(x, {1.0})
np.concatenate([x], axs=1)
expr.relu({1.0})
expr.const(object())
np.linalg.svd(x, full_matrix=True)
tools.bench("a.onnx", second=1.0)
tools.convert("a.onnx", "b.minnow", opsett=3)
net.input
net.prepare(shape=(1,))
minnow.Var(1, dtyp="float32")
x.astype(dtyp="float32")
minnow.loadd("a.onnx")
minnow.optim.SGD([x], lr="fast")
minnow.optim.create("sgd", [x]).step(1)
minnow.data.DataLoader([1], batchsize=2)
minnow.data.transforms.Resize("8")"""


class Types(unittest.TestCase):
    def run_mypy(self, *arguments):
        # mypy follows no links out of its folder: it is given the package as a folder of files.
        result = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True,
                                env={**os.environ, "MYPYPATH": PACKAGE, "PYTHONPATH": PACKAGE}, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # As for a package that is installed: its programs are checked, not what is inside of it.
        (self.folder / "mypy.ini").write_text("[mypy]\n[mypy-minnow.*]\nignore_errors = True\nfollow_imports = silent\n")

    def test_stubs_are_what_the_modules_are(self):
        self.run_mypy("mypy.stubtest", "minnow._minnow", "--mypy-config-file", "mypy.ini", "--allowlist", SOURCE / "tests" / "python" / "stubtest_allowlist.txt", "--ignore-unused-allowlist")

    def test_stubs_of_numpy_are_up_to_date(self):
        result = subprocess.run([sys.executable, SOURCE / "scripts" / "make_numpy_stubs.py", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_types_are_precise(self):
        program = self.folder / "precise.py"
        program.write_text(PRECISE)
        self.run_mypy("mypy", "--strict", program)

    def test_wrong_calls_are_found(self):
        program = self.folder / "wrong.py"
        begin = "import minnow\nimport minnow.numpy as np\nfrom minnow import expr, nn, tools\nx = minnow.Var(1)\nnet = minnow.load('a')\n"
        program.write_text(begin + WRONG + "\n")
        result = subprocess.run([sys.executable, "-m", "mypy", "--strict", program], capture_output=True, text=True, env={**os.environ, "MYPYPATH": PACKAGE, "PYTHONPATH": PACKAGE}, cwd=self.folder)
        found = {int(line.split(":")[1]) for line in result.stdout.splitlines() if ": error:" in line}
        first = begin.count("\n") + 1
        missed = [line for i, line in enumerate(WRONG.splitlines()) if first + i not in found]
        self.assertEqual(missed, [], result.stdout)

    def test_programs_check_strictly(self):
        programs = [self.folder / "program.py"]
        programs[0].write_text(PROGRAM)
        programs += sorted((SOURCE / "examples" / "python").glob("*.py"))
        self.run_mypy("mypy", "--strict", *programs)
        result = subprocess.run([sys.executable, programs[0]], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nowhere.minnow", result.stdout)


if __name__ == "__main__":
    unittest.main()
