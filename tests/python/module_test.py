#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.nn and minnow.expr: modules that are written and loaded, whole expressions, control flow, formats of pictures."""
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import expr, nn, tools
except ImportError as error:
    print(error)
    sys.exit(77)


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        random = np.random.default_rng(inputs)
        self.w = expr.trainable(random.standard_normal((inputs, outputs)).astype(np.float32), "w")
        self.b = expr.trainable(np.zeros(outputs, np.float32), "b")

    def forward(self, x):
        return expr.relu(x @ self.w + self.b)


class Net(nn.Module):
    def __init__(self):
        self.first = Dense(4, 8)
        self.rest = [Dense(8, 8), Dense(8, 2)]

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x


class Modules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.x = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32)

    def test_results_of_a_model_of_pictures_have_its_format(self):
        for shape, weights, back in (([1, 3, 4, 4], np.ones((8, 3, 2, 2), np.float32), (1, 3, 3, 8)), ([1, 6, 5, 3], None, (1, 6, 5, 3))):
            x = expr.placeholder("x", "float32", shape)
            expr.save([expr.conv(x, weights) if weights is not None else expr.relu(x)], self.folder / "pictures.minnow")
            y = minnow.load(self.folder / "pictures.minnow").forward(minnow.Var(np.ones(shape, np.float32)))
            self.assertEqual(expr.convert(y, expr.NHWC).shape, back)  # (1, 8, 3, 3) looks like a picture of three colours, and is none

    def sums(self):
        """A file of a model that adds up what it is given."""
        x, total = expr.placeholder("x", "float32", [2]), expr.state(np.zeros(2, np.float32), "total")
        expr.save(expr.step([(total + x) * 2], {total: total + x}), self.folder / "sums.minnow")
        return self.folder / "sums.minnow"

    def test_states_are_kept_from_call_to_call(self):
        one, two = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
        net = minnow.load(self.sums())
        self.assertEqual(list(net.states), ["total"])
        self.assertEqual([net(one).tolist(), net(two).tolist()], [[2, 4], [22, 44]])
        copy = net.clone()
        self.assertEqual(copy(one).tolist(), [2, 4])
        net.reset_states()
        self.assertEqual(net(one).tolist(), [2, 4])

        class Doubled(nn.Module):
            def __init__(self, inner):
                self.inner = inner

            def forward(self, x):
                return self.inner.forward(x * 2)

        outer = Doubled(net)
        self.assertEqual(outer(minnow.Var(one)).tolist(), [6, 12])
        outer.reset_states()
        self.assertEqual(outer(minnow.Var(one)).tolist(), [4, 8])

    def test_states_inside_expressions(self):
        net = minnow.load(self.sums())
        x = expr.placeholder("x", "float32", [2])
        y = net.forward(x + 1) / 2
        x.assign(np.array([0, 1], np.float32))
        self.assertEqual([y.tolist(), y.tolist()], [[1, 2], [1, 2]])
        x.assign(np.array([0, 1], np.float32))
        self.assertEqual(y.tolist(), [2, 4])
        self.assertEqual(net(np.array([1, 1], np.float32)).tolist(), [6, 10])  # shared with calls of the module
        [total] = expr.states(y)
        self.assertEqual((total.name, total.tolist()), ("total", [3, 5]))
        total.assign(np.array([100, 100], np.float32))
        self.assertEqual(y.tolist(), [101, 102])
        expr.reset_states(y)
        self.assertEqual(y.tolist(), [1, 2])
        net.reset_states()
        self.assertEqual(y.tolist(), [1, 2])
        other = expr.load(self.sums())
        other.inputs[0].assign(np.array([5, 5], np.float32))
        self.assertEqual([other.outputs[0].tolist(), other.at("total").tolist()], [[10, 10], [5, 5]])
        with self.assertRaisesRegex(minnow.InvalidArgument, 'no value "totl"; the nearest are "total"'):
            other.at("totl")
        with self.assertRaisesRegex(minnow.InvalidArgument, "which is no state"):
            expr.step([x], {x: x})
        with self.assertRaisesRegex(minnow.InvalidType, "takes states"):
            expr.step([x], [(3, x)])

    def test_states_inside_control_flow(self):
        net, by_hand = minnow.load(self.sums()), minnow.load(self.sums())
        rows = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
        x, yes = expr.placeholder("x", "float32", [None, 2]), expr.placeholder("yes", "bool", [])
        [sums] = expr.scan(lambda row: net.forward(row), [], [x])
        for given in rows, rows[:1]:
            x.assign(given)
            self.assertEqual(sums.tolist(), [by_hand(row).tolist() for row in given])
        [y] = expr.cond(yes, lambda: net.forward(minnow.Var(rows[0])), lambda: minnow.Var(rows[1]))
        for value in True, False, True:
            yes.assign(value)
            self.assertEqual(y.tolist(), by_hand(rows[0]).tolist() if value else [3, 4])
        with self.assertRaisesRegex(minnow.InvalidArgument, "is read inside a function of cond"):
            expr.cond(yes, lambda: net.forward(minnow.Var(rows[0])).tolist(), lambda: x)

    def test_states_and_threads(self):
        import threading
        net = minnow.load(self.sums())
        one = np.ones(2, np.float32)
        threads = [threading.Thread(target=lambda: [net(one) for _ in range(50)]) for _ in range(4)]
        x = expr.placeholder("x", "float32", [2])
        y = net.forward(x)
        for thread in threads:
            thread.start()
        for _ in range(50):
            x.assign(one)
            y.tolist()
        for thread in threads:
            thread.join()
        net.reset_states()
        self.assertEqual(net(one).tolist(), [2, 2])

    def test_open_dimensions(self):
        x = expr.placeholder("x", "float32", [None, 4])
        y = expr.transpose(expr.relu(x @ np.ones((4, 2), np.float32)))
        self.assertEqual((x.ndim, x.dims, y.ndim, y.dims), (2, (None, 4), 2, (2, None)))
        self.assertIsNone(expr.placeholder("any", "float32").dims)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'the placeholder "x" is read but was given no value'):
            x.shape
        x.assign(self.x)
        self.assertEqual((y.shape, y.dims), ((2, 3), (2, None)))
        from minnow import numpy as own
        z = expr.placeholder("z", "float32", [None, 4]) * 2
        made = [z[0], z[None], z[..., :2], own.sum(z, 0), own.mean(z), own.max(z, axis=(0, 1))]
        self.assertEqual([part.ndim for part in made], [1, 3, 2, 1, 0, 0])
        expr.placeholders(z)[0].assign(self.x)
        for part, expected in zip(made, [2 * self.x[0], 2 * self.x[None], 2 * self.x[:, :2], 2 * self.x.sum(0), 2 * self.x.mean(), 2 * self.x.max()]):
            np.testing.assert_allclose(part.numpy(), expected, rtol=1e-5)
        image = expr.placeholder("image", "uint8", [None, None, None, 3])
        self.assertEqual((expr.format_of(image), expr.convert(image, expr.NCHW).dims), ("NHWC", (None, 3, None, None)))

    def test_a_module_that_is_written(self):
        net = Net()
        self.assertEqual([name for name, _ in net.named_parameters()],
                         ["first.w", "first.b", "rest.0.w", "rest.0.b", "rest.1.w", "rest.1.b"])
        expected = self.x
        for w, b in zip(net.parameters()[::2], net.parameters()[1::2]):
            expected = np.maximum(expected @ w.numpy() + b.numpy(), 0)
        np.testing.assert_allclose(net(minnow.Var(self.x)).numpy(), expected, rtol=1e-5, atol=1e-6)
        copy = net.clone()
        self.assertIsNot(copy.first, net.first)
        net.load_parameters({"first.b": np.ones(8, np.float32)})
        np.testing.assert_array_equal(copy(minnow.Var(self.x)).numpy(), net(minnow.Var(self.x)).numpy())
        with self.assertRaisesRegex(minnow.InvalidArgument, "the module has 6 parameters, 2 values are given"):
            net.load_parameters([1, 2])
        with self.assertRaisesRegex(minnow.InvalidArgument, 'no parameter "first.c"'):
            net.load_parameters({"first.c": 1})
        self.assertTrue(net.train().rest[1].training)
        self.assertFalse(net.eval().rest[1].training)

    def test_members_in_lists_tuples_and_dicts(self):
        class Heads(nn.Module):
            def __init__(self):
                self.scales = [expr.trainable(np.float32(2)), expr.trainable(np.float32(3))]
                self.pair = (Dense(4, 4), [Dense(4, 4)])
                self.heads = {"left": Dense(4, 1), "right": Dense(4, 2)}

            def forward(self, x):
                x = self.pair[1][0](self.pair[0](x)) * self.scales[0] * self.scales[1]
                return [self.heads[name](x) for name in ("left", "right")]

        net = Heads()
        self.assertEqual([name for name, _ in net.named_parameters()],
                         ["scales.0", "scales.1", "pair.0.w", "pair.0.b", "pair.1.0.w", "pair.1.0.b", "heads.left.w", "heads.left.b", "heads.right.w", "heads.right.b"])
        self.assertEqual([name for name, _ in net.named_children()], ["pair.0", "pair.1.0", "heads.left", "heads.right"])
        self.assertTrue(net.train().heads["right"].training)
        copy = net.clone()
        for ours, theirs in ((copy.pair[0], net.pair[0]), (copy.pair[1][0], net.pair[1][0]), (copy.heads["left"], net.heads["left"])):
            self.assertIsNot(ours, theirs)
            self.assertIs(ours.w, theirs.w)
        net.load_parameters({"heads.left.b": np.ones(1, np.float32), "scales.1": np.float32(5)})
        for made, wanted in zip(copy(minnow.Var(self.x)), net(minnow.Var(self.x))):
            np.testing.assert_array_equal(made.numpy(), wanted.numpy())
        with self.assertRaisesRegex(minnow.InvalidArgument, r'the parameter "heads.right.w" is float32\[4, 2\], it is given float64\[3\]'):
            net.load_parameters({"heads.right.w": np.ones(3)})

    def test_an_expression_as_a_module_and_as_a_file(self):
        net = Net()
        x = expr.placeholder("x", "float32", [None, 4])
        y = net(x)
        y.name = "y"
        expected = net(minnow.Var(self.x)).numpy()
        np.testing.assert_allclose(nn.load_module(y)(self.x), expected, rtol=1e-5, atol=1e-6)
        self.assertEqual(repr(nn.load_module(y)), "LoadedModule(x: f32[?, 4] -> y: f32[?, 2])")
        expr.save(y, self.folder / "net.minnow")
        # The file is the expression as it is, with its parameters; a module is optimized as other models are.
        self.assertEqual(len(expr.trainables(expr.load(self.folder / "net.minnow").outputs)), 6)
        plain, loaded = tools.inspect(self.folder / "net.minnow", optimize="none"), tools.inspect(self.folder / "net.minnow")
        self.assertEqual([str(part.outputs[0].type) for part in (plain, loaded)], ["f32[?, 2]"] * 2)
        self.assertGreater(plain.operators["Relu"], 0)
        self.assertNotIn("Relu", loaded.operators)
        module = nn.load_module_from_file(self.folder / "net.minnow", ["x"], ["y"])
        self.assertEqual((module.inputs, module.outputs), (["x"], ["y"]))
        self.assertEqual(module.describe_inputs()[0].dtype, "float32")
        np.testing.assert_allclose(module(self.x), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(module.clone()(self.x), expected, rtol=1e-5, atol=1e-6)
        manager, = nn.create_runtime_manager(({"backend": "CPU", "numThread": 1, "precision": "high"},))
        np.testing.assert_allclose(nn.load_module_from_file(self.folder / "net.minnow", runtime_manager=manager)(self.x), expected, rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(minnow.Unsupported, "CUDA"):
            nn.create_runtime_manager(({"backend": "CUDA"},))
        # As part of another expression.
        z = expr.placeholder("z", "float32", [3, 4])
        doubled = module.forward(z) * 2
        z.assign(self.x)
        np.testing.assert_allclose(doubled.numpy(), expected * 2, rtol=1e-5, atol=1e-6)

    def test_pickled_and_copied(self):
        import copy
        import pickle
        net = Net()
        net.model = nn.load_module(expr.relu(expr.placeholder("x", "float32", [None, 2])), threads=1)
        net.again = net.first
        for protocol in (2, 5):
            made = pickle.loads(pickle.dumps(net, protocol))
            self.assertIs(made.again, made.first)
            self.assertEqual([(name, value.trainable) for name, value in made.named_parameters()], [(name, True) for name, _ in net.named_parameters()])
            np.testing.assert_array_equal(made(minnow.Var(self.x)).numpy(), net(minnow.Var(self.x)).numpy())
            self.assertEqual((repr(made.model), made.model._options), (repr(net.model), {"threads": 1}))
            np.testing.assert_array_equal(made.model(self.x[:, :2]), np.maximum(self.x[:, :2], 0))
        other = copy.deepcopy(net)
        other.first.w[...] = 0
        self.assertTrue(net.first.w.numpy().any())
        copy.copy(net).first.b[0] = 7
        self.assertEqual(net.first.b[0].item(), 7)
        # A model with states begins anew.
        sums = minnow.load(self.sums())
        sums(np.ones(2, np.float32))
        self.assertEqual(pickle.loads(pickle.dumps(sums))(np.ones(2, np.float32)).tolist(), [2, 2])
        x = expr.placeholder("x", "float32", [None, 4])
        made = pickle.loads(pickle.dumps(x))
        self.assertEqual((made.name, made.dims, made.is_placeholder, made.is_computed), ("x", (None, 4), True, False))
        with self.assertRaisesRegex(minnow.InvalidArgument, r"what is pickled is the value of a Var: .*expr.save\(\) keeps an expression"):
            pickle.dumps(x + 1)
        x.assign(self.x)
        self.assertEqual(pickle.loads(pickle.dumps(x)).tolist(), self.x.tolist())
        self.assertEqual(pickle.loads(pickle.dumps(x + 1)).tolist(), (self.x + 1).tolist())
        self.assertEqual(pickle.loads(pickle.dumps(minnow.Var(self.x)[::2, 1])).tolist(), self.x[::2, 1].tolist())

    def test_ctrl_c_ends_a_run(self):
        import os
        import signal
        import threading
        x = expr.placeholder("x", "int64", [])
        counted, = expr.while_loop(lambda i: i < x, lambda i: i + 1, [0])
        module = nn.load_module(counted)
        for run in (lambda: module(10**9), lambda: (x.assign(10**9), counted.evaluate())):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                run()
            timer.join()
        x.assign(3)
        self.assertEqual((counted.item(), module(5).item()), (3, 5))

    def test_parts_of_a_loaded_expression(self):
        x = expr.placeholder("x", "float32", [4])
        expr.save(expr.exp(x * 2) + 1, self.folder / "e.minnow")
        loaded = expr.load(self.folder / "e.minnow")
        with self.assertRaisesRegex(minnow.InvalidArgument, "no part of these expressions"):
            expr.replace(loaded.outputs, {x: x + 1})
        changed, = expr.replace(loaded.outputs, {loaded.inputs[0]: loaded.inputs[0] + 1})
        loaded.inputs[0].assign(self.x[0])
        np.testing.assert_allclose(changed.numpy(), np.exp((self.x[0] + 1) * 2) + 1, rtol=1e-5)
        self.assertEqual([value.name for value in expr.placeholders(changed)], ["x"])
        copy, = expr.clone(loaded.outputs)
        self.assertIsNot(expr.placeholders(copy)[0], loaded.inputs[0])

    def test_control_flow(self):
        x = minnow.Var(np.ones(3, np.float32))
        count, value = expr.while_loop(lambda i, v: expr.reduce_sum(v, keepdims=0) < 100, lambda i, v: (i + 1, v * 2), [0, x])
        self.assertEqual((count.item(), value.tolist()), (6, [64] * 3))
        for positive in (True, False):
            chosen, = expr.cond(minnow.Var(positive), lambda: x + 1, lambda: x - 1)
            self.assertEqual(chosen.tolist(), [2 if positive else 0] * 3)
        last, sums = expr.scan(lambda total, element: (total + element, total + element), [minnow.Var(0.0, "float32")], [minnow.Var(self.x[0])])
        np.testing.assert_allclose(sums.numpy(), np.cumsum(self.x[0]), rtol=1e-5)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'the value "carried 0" is read inside a function of cond'):
            expr.while_loop(lambda i: bool(i < 3), lambda i: i + 1, [0])
        with self.assertRaises(ZeroDivisionError):
            expr.cond(minnow.Var(True), lambda: x / (1 // 0), lambda: x)

    def test_scope_and_plans(self):
        with expr.scope(threads=1, precision="high"):
            self.assertEqual((minnow.Var([1, 2]) + 1).tolist(), [2, 3])
        before = expr.cache_counts()
        for i in range(10):
            (minnow.Var(np.full(5000, i, np.float32)) * 3 + i).evaluate()
        after = expr.cache_counts()
        self.assertGreaterEqual(after.hits - before.hits, 9)

    def test_pictures_and_formats(self):
        picture = np.random.default_rng(1).integers(0, 255, (6, 5, 3)).astype(np.float32)
        channels_first = picture.transpose(2, 0, 1)[None]
        packed = expr.convert(picture, expr.NC4HW4)
        np.testing.assert_array_equal(packed.numpy(), channels_first)
        np.testing.assert_array_equal(expr.convert(packed, expr.NHWC).numpy(), picture[None])
        np.testing.assert_array_equal(expr.convert(picture[None], expr.NCHW).numpy(), channels_first)
        self.assertEqual(expr.convert(minnow.Var([[1, 2]]), expr.NHWC).shape, (1, 2))
        with self.assertRaisesRegex(minnow.InvalidArgument, "NC8"):
            expr.convert(picture, "NC8")
        for shape, fitting in (([1, 3, 6, 5], channels_first), ([1, 6, 5, 3], picture[None]), ([None, 3, None, None], channels_first)):
            x = expr.placeholder("x", "float32", shape)
            module = nn.load_module(x + 0)
            for given in (picture, minnow.Var(picture), packed):
                np.testing.assert_array_equal(np.asarray(module(given)), fitting, err_msg=str(shape))
            np.testing.assert_array_equal(np.asarray(module(fitting)), fitting)

    def test_tools(self):
        x = expr.placeholder("x", "float32", [None, 4])
        y = expr.softmax(x * 2)
        y.name = "y"
        expr.save(y, self.folder / "a.minnow")
        tools.convert(self.folder / "a.minnow", self.folder / "a.onnx", rename={"y": "prob"})
        inspection = tools.inspect(self.folder / "a.onnx")
        self.assertEqual([row.name for row in inspection.outputs], ["prob"])
        self.assertIn("Softmax", inspection.operators)
        self.assertIn("prob", str(inspection))

    def test_shown(self):
        self.assertEqual(repr(minnow.Var([[1, 2], [3, 4]])), "Var([[1, 2],\n     [3, 4]], shape=(2, 2), dtype=int64)")
        for array in (np.arange(6).reshape(2, 3), np.array([1.5, 2, 100.25]), np.array([np.nan, 1, -np.inf]), np.zeros((0, 3)), np.arange(3000).reshape(30, 100),
                      np.array([5.46211875001]), np.array([-0.038382061, -0.298110519, 0.38247489]), np.array([0.1, 1 / 3, 20]), np.array([123456.789, 234567.5]),
                      np.array([0.1, 2 / 3], np.float32)):
            self.assertEqual(str(minnow.Var(array)), str(array))
        self.assertEqual(f"{minnow.Var(3.14159):.2f} {minnow.Var([7]):03d} {minnow.Var([1, 2])}", "3.14 007 [1 2]")
        with self.assertRaisesRegex(TypeError, "is for one number"):
            format(minnow.Var([1.0, 2.0]), ".2f")
        self.assertLessEqual({"sum", "argsort", "flat", "reshape", "T", "item"}, set(dir(minnow.Var(1))))
        self.assertIn("? × 3", expr.placeholder("x", "float32", [None, 3])._repr_html_())
        named = expr.placeholder("x", "float32", [2]) + 1
        named.name = "<y>"
        self.assertIn("...", repr(minnow.Var(np.zeros((100, 100)))))
        self.assertIn("placeholder", repr(expr.placeholder("x", "float32", [2])))
        self.assertIn("2 × 2", minnow.Var([[1, 2], [3, 4]])._repr_html_())
        self.assertIn("&lt;y&gt;", nn.load_module(named)._repr_html_())
        module = nn.Module()
        module.w, module.inner = expr.trainable(np.ones((3, 2), "float32")), nn.Module()
        module.inner.b = expr.trainable(np.ones(2, "float32"))
        self.assertEqual(repr(module), "Module(\n  w: float32[3, 2]\n  inner: Module(\n    b: float32[2]\n  )\n)")
        self.assertEqual(repr(nn.Module()), "Module()")
        self.assertLessEqual({"load", "nn", "numpy", "Module", "Var"}, set(dir(minnow)))
        self.assertNotIn("os", dir(minnow))
        self.assertIn("x: f32[2]", repr(nn.load_module(expr.placeholder("x", "float32", [2]) + 1)))


if __name__ == "__main__":
    unittest.main()
