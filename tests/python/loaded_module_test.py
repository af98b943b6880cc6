#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loaded modules: what they are loaded from, what they say of themselves, what goes in and comes out."""
import array
import gc
import io
import pathlib
import pickle
import sys
import tempfile
import threading
import unittest
import zipfile

try:
    import minnow
    from minnow import expr, nn
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)

PROTOTXT = b"""
name: "net"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "out" type: "InnerProduct" bottom: "data" top: "out" inner_product_param { num_output: 1 bias_term: false } }
"""


def _field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


def caffemodel():
    """Weights [3, 4] of the layer "out"."""
    blob = _field(7, _field(1, b"\1\2")) + _field(5, np.array([3, 4], "<f4").tobytes())
    layer = _field(1, b"out") + _field(2, b"InnerProduct") + _field(7, blob)
    return bytes([0xa2, 0x06, len(layer)]) + layer  # field 100


class Loaded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x, self.y = expr.placeholder("x", "float32", (None, 3)), expr.placeholder("y", "float32", ())
        self.path = self.folder / "net.minnow"
        product, total = self.x * self.y, self.x + self.y
        product.name, total.name = "product", "total"
        expr.save([product, total], self.path, [self.x, self.y])
        self.a = np.array([[1, 2, 3]], "f4")

    def single(self):
        return nn.load_module([expr.identity(self.x)], [self.x])

    def test_every_kind_of_source(self):
        data = self.path.read_bytes()
        archive = self.folder / "models.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("net.minnow", data)
        with open(self.path, "rb") as opened, open(self.path, "rb") as moved, tempfile.TemporaryFile() as temporary, zipfile.ZipFile(archive) as file:
            temporary.write(data), temporary.seek(0), moved.seek(0, 2), moved.seek(0)
            for source in (self.path, str(self.path), str(self.path).encode() and pathlib.PurePath(self.path), data, bytearray(data), memoryview(data), array.array("B", data), io.BytesIO(data),
                           opened, moved, temporary, file.open("net.minnow"), zipfile.Path(archive, "net.minnow"), [io.BytesIO(data)], np.frombuffer(data, "u1")):
                with self.subTest(source=source):
                    model = minnow.load(source)
                    self.assertEqual(model(self.a, 2.0)[0].tolist(), [[2, 4, 6]])
        changed = bytearray(data)
        model = minnow.load(changed)
        changed[:] = bytes(len(changed))  # the model has its own copy
        gc.collect()
        self.assertEqual(model(self.a, 2.0)[1].tolist(), [[3, 4, 5]])
        with self.assertRaisesRegex(minnow.InvalidType, "binary mode"):
            minnow.load(io.StringIO("a"))
        for bad in (5, None, object(), [self.path, 5]):
            with self.assertRaises(TypeError):
                minnow.load(bad)
        self.assertGreater(minnow.convert(io.BytesIO(data), self.folder / "copy.minnow").bytes, 0)
        self.assertEqual(minnow.tools.inspect(io.BytesIO(data)).inputs, ["x", "y"])

    def test_parts_of_packages(self):
        import importlib.resources
        package = self.folder / "with_a_model"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "net.minnow").write_bytes(self.path.read_bytes())
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        self.assertEqual(minnow.load(importlib.resources.files("with_a_model") / "net.minnow").inputs, ["x", "y"])
        archive = self.folder / "packed.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("packed_model/__init__.py", "")
            file.writestr("packed_model/net.minnow", self.path.read_bytes())
        sys.path.insert(0, str(archive))
        self.addCleanup(sys.path.remove, str(archive))
        self.assertEqual(minnow.load(importlib.resources.files("packed_model") / "net.minnow").inputs, ["x", "y"])

    def test_caffe_from_bytes(self):
        weights = caffemodel()
        (self.folder / "net.prototxt").write_bytes(PROTOTXT)
        for sources in ([PROTOTXT, weights], [weights, PROTOTXT], [io.BytesIO(PROTOTXT), io.BytesIO(weights)], [self.folder / "net.prototxt", weights]):
            self.assertEqual(np.asarray(minnow.load(sources)(np.array([[1, 2]], "f4"))).tolist(), [[11]])
        with self.assertRaises(minnow.InvalidModel) as caught:
            minnow.load([PROTOTXT, b"nonsense"])
        self.assertNotIn(tempfile.gettempdir(), str(caught.exception))

    def test_shapes(self):
        model = minnow.load(self.path, shapes={"x": (4, None)})
        self.assertEqual(model.inputs[0].shape, (4, 3))
        self.assertEqual(minnow.load(self.path.read_bytes(), shapes={"x": (4, -1)}).inputs[0].shape, (4, 3))
        self.assertEqual(minnow.load(self.path, shapes={"x": (None, None)}).inputs[0].shape[1], 3)
        with self.assertRaises(ValueError):
            model(self.a, 2.0)
        for bad, error in (({"z": (1,)}, ValueError), ({"x": 4}, TypeError), ([4, 3], TypeError), ({"x": ("a", 3)}, TypeError)):
            with self.assertRaises(error):
                minnow.load(self.path, shapes=bad)

    def test_descriptions(self):
        model = minnow.load(self.path)
        x, y = model.inputs
        self.assertEqual((x.name, x.shape, x.dtype, y.shape, x.type), ("x", (None, 3), "float32", (), "f32[?, 3]"))
        self.assertEqual(([output.name for output in model.outputs], model.outputs[0].dtype), (["product", "total"], np.float32))
        # They are names, too.
        self.assertEqual((model.inputs, dict(zip(model.inputs, (1, 2)))), (["x", "y"], {"x": 1, "y": 2}))
        copy = pickle.loads(pickle.dumps(x))
        self.assertEqual((copy, copy.shape, copy.dtype), ("x", (None, 3), "float32"))
        self.assertEqual(repr(x), "Description('x', f32[?, 3])")

    def test_numpy_in_numpy_out(self):
        model, one = minnow.load(self.path), np.float32(2)
        for give in (lambda: model(self.a, one), lambda: model(self.a, 2.0), lambda: model(self.a, 2), lambda: model(x=self.a, y=2.0), lambda: model([self.a, 2.0]), lambda: model({"x": self.a, "y": 2.0}),
                     lambda: model([[1.0, 2.0, 3.0]], one), lambda: model(self.a.view(np.recarray), 2.0)):
            results = give()
            self.assertEqual([type(result) for result in results], [np.ndarray] * 2)
            self.assertEqual([result.tolist() for result in results], [[[2, 4, 6]], [[3, 4, 5]]])
            for result in results:
                self.assertTrue(result.flags.writeable)
                result[...] = 7
        for give in (lambda: model(minnow.Var(self.a), 2.0), lambda: model(minnow.Var(self.a), one), lambda: model(self.a, minnow.Var(one)), lambda: model([[1.0, 2.0, 3.0]], 2.0)):
            self.assertEqual([type(result) for result in give()], [minnow.Var] * 2)

    def test_results_share_memory_with_nothing(self):
        constant = expr.const(np.array([1, 2], "f4"))
        x = self.x
        for module in (self.single(), nn.load_module([x.reshape(-1)], [x]), nn.load_module([x, x], [x]), nn.load_module([expr.identity(x), expr.identity(x)], [x])):
            first, second = module(self.a), module(self.a)
            first, second = (list(each) if isinstance(each, tuple) else [each] for each in (first, second))
            arrays = [*first, *second, self.a]
            for i, a in enumerate(arrays):
                for b in arrays[:i]:
                    self.assertFalse(np.shares_memory(a, b))
            first[0][...] = 9
            self.assertEqual((self.a.tolist(), module(self.a)[0].ravel()[0]), ([[1, 2, 3]], 1))
        module = nn.load_module([x, constant], [x])
        module(self.a)[1][...] = 9
        self.assertEqual(module(self.a)[1].tolist(), [1, 2])
        kept = [self.single()(self.a) for _ in range(3)]
        gc.collect()
        self.assertEqual([each.tolist() for each in kept], [[[1, 2, 3]]] * 3)

    def test_out(self):
        model, single = minnow.load(self.path), self.single()
        out = [np.zeros((1, 3), "f4"), np.zeros((1, 3), "f4")]
        self.assertIs(model(self.a, 2.0, out=out), out)
        self.assertEqual([each.tolist() for each in out], [[[2, 4, 6]], [[3, 4, 5]]])
        strided, var = np.zeros((3, 1), "f4").T[:, ::-1], minnow.Var(np.zeros((1, 3), "f4"))
        model(x=self.a, y=2.0, out=(strided, var))
        self.assertEqual((strided.tolist(), var.tolist()), ([[2, 4, 6]], [[3, 4, 5]]))
        one = np.zeros((1, 3), "f4")
        self.assertIs(single(self.a, out=one), one)
        self.assertEqual(one.tolist(), self.a.tolist())
        negated = nn.load_module([-self.x], [self.x])
        negated(one, out=one)  # over the input
        self.assertEqual(one.tolist(), [[-1, -2, -3]])
        same = np.zeros((1, 3), "f4")
        model(self.a, 2.0, out=[same, same])
        self.assertIn(same.tolist(), ([[2, 4, 6]], [[3, 4, 5]]))
        flat = nn.load_module([self.x.reshape(-1)], [self.x])
        self.assertEqual(flat(self.a, out=array.array("f", [0, 0, 0])).tolist(), [1, 2, 3])
        locked = np.zeros((1, 3), "f4")
        locked.flags.writeable = False
        for bad, error in ((np.zeros((1, 4), "f4"), ValueError), (np.zeros((1, 3), "f8"), ValueError), (np.zeros((3, 1), "f4").T[:, ::-1].astype("i4"), ValueError), (locked, TypeError),
                           (bytes(12), TypeError), ([one, one], TypeError), (3, TypeError), (minnow.Var(np.zeros(3, "f4")), ValueError)):
            with self.assertRaises(error):
                single(self.a, out=bad)
        named = nn.load_module([expr.placeholder("out", "float32", (2,)) + 1.0])
        self.assertEqual(named(out=[1.0, 2.0]).tolist(), [2, 3])

    def test_prepare(self):
        model, single = minnow.load(self.path), self.single()
        self.assertIs(model.prepare({"x": (4, 3)}), model)
        model.prepare([(4, 3), ()]).prepare(((2, None),)).prepare({"x": (5, None), "y": ()})
        single.prepare((4, 3)).prepare([(4, 3)]).prepare({"x": [np.int64(4), 3]})
        nn.load_module([self.y + 1.0]).prepare()
        self.assertEqual(model(self.a, 2.0)[0].tolist(), [[2, 4, 6]])
        for bad, error in ((None, ValueError), ({"x": (None, 3)}, ValueError), ({"z": (1,)}, ValueError), ((4, 4), TypeError), ([(4, 3), (), ()], ValueError), (({"x": "ab"}), TypeError)):
            with self.assertRaises(error, msg=bad):
                model.prepare(bad)
        with self.assertRaisesRegex(ValueError, 'input "x" is f32'):
            model.prepare()

    def test_states(self):
        total = expr.state(np.zeros(3, "f4"), "total")
        added = total + expr.reduce_sum(self.x, [0], keepdims=0)
        module = nn.load_module(expr.step([added], {total: added}), [self.x])
        self.assertEqual((list(module.states), len(module.states), "total" in module.states, next(iter(module.states)).shape), (["total"], 1, True, (3,)))
        module(self.a)
        before = module.states["total"]
        module(self.a)
        self.assertEqual((before.tolist(), module.states["total"].tolist()), ([1, 2, 3], [2, 4, 6]))
        module.states["total"] = [10, 20, 30]
        self.assertEqual(module(self.a).tolist(), [11, 22, 33])
        module.states["total"] = np.asarray(before)
        out = np.zeros(3, "f4")
        module(self.a, out=out)
        self.assertEqual((out.tolist(), module.states["total"].tolist()), ([2, 4, 6], [2, 4, 6]))
        saved = dict(module.states)
        other = module.clone()
        other.states["total"] = saved["total"]
        module.reset_states()
        self.assertEqual((module.states["total"].tolist(), other.states["total"].tolist()), ([0, 0, 0], [2, 4, 6]))
        for bad, error in (([1, 2], ValueError), ("a", TypeError), (None, TypeError)):
            with self.assertRaises(error):
                module.states["total"] = bad
        with self.assertRaisesRegex(ValueError, 'there is "total"'):
            module.states["totl"]
        # Once an expression has the model as a part, too.
        z = expr.placeholder("z", "float32", (1, 3))
        y = module(z)
        z.assign(self.a)
        self.assertEqual((y.tolist(), module.states["total"].tolist()), ([1, 2, 3], [1, 2, 3]))
        module.states["total"] = [5, 5, 5]
        z.assign(self.a)
        self.assertEqual((y.tolist(), module.states["total"].tolist()), ([6, 7, 8], [6, 7, 8]))

    def test_calls_of_many_threads(self):
        model, failed = minnow.load(self.path), []

        def work(number):
            given, out = np.full((2, 3), number, "f4"), [np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4")]
            for _ in range(50):
                results = model(given, 2.0)
                model(given, 2.0, out=out)
                if any((each != number * 2).any() for each in (results[0], out[0])):
                    failed.append(number)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
