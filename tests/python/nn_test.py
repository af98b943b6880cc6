#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.nn beside the answers of torch (layers_test.py): random numbers, buffers, state dicts and files, initial values, containers, errors."""
import copy
import json
import math
import pickle
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import _minnow, expr, nn, optim
    from minnow.nn import functional as F
except ImportError as error:
    print(error)
    sys.exit(77)


def noise(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class RandomNumbers(unittest.TestCase):
    def test_the_seed_decides(self):
        def draw():
            nn.seed(5)
            return [nn.random_key().tolist(), nn.Linear(3, 4).weight.tolist(), F.dropout(np.ones((4, 4), np.float32)).tolist()]

        self.assertEqual(draw(), draw())
        self.assertNotEqual(nn.random_key().tolist(), nn.random_key().tolist())

    def test_layers_have_independent_streams(self):
        nn.seed(0)
        a, b = (np.array(nn.Linear(100, 100).weight).ravel() for _ in range(2))
        self.assertLess(abs(np.corrcoef(a, b)[0, 1]), 0.05)

    def test_distributions(self):
        key = minnow.Var([3, 4], "uint32")
        u, n = np.array(F.uniform((200, 200), key)), np.array(F.normal((200, 200), key))
        self.assertTrue(0 <= u.min() and u.max() < 1)
        self.assertAlmostEqual(u.mean(), 0.5, delta=0.01)
        self.assertAlmostEqual(n.mean(), 0, delta=0.02)
        self.assertAlmostEqual(n.std(), 1, delta=0.02)
        self.assertAlmostEqual(np.array(F.bernoulli(0.3, (200, 200), key)).mean(), 0.3, delta=0.01)

    def test_dropout(self):
        nn.seed(1)
        x = np.ones((64, 32, 4, 4), np.float32)
        y = np.array(nn.Dropout(0.25)(x))
        self.assertEqual(sorted(set(y.ravel().tolist())), [0.0, np.float32(1 / 0.75)])
        self.assertAlmostEqual((y == 0).mean(), 0.25, delta=0.01)
        y = np.array(nn.Dropout2d(0.5)(x))
        self.assertTrue(np.isin(y.sum((2, 3)), (0, 32)).all())
        self.assertEqual(np.array(nn.Dropout(1.0)(x)).max(), 0)
        with self.assertRaisesRegex(ValueError, "between 0 and 1"):
            nn.Dropout(1.5)

    def test_gradients_use_the_mask_of_the_outputs(self):
        w = expr.trainable(noise(8, 8))
        y = nn.Dropout(0.5)(w)
        [gradient] = expr.gradients(y.sum(), [w])
        expr.evaluate([y, gradient])
        np.testing.assert_allclose(np.array(y), np.array(w) * np.array(gradient), rtol=1e-6)


class Buffers(unittest.TestCase):
    def test_updates(self):
        norm = nn.BatchNorm2d(3)
        self.assertEqual([name for name, _ in norm.named_buffers()], ["running_mean", "running_var", "num_batches_tracked"])
        x = noise(4, 3, 5, 5)
        norm(x)
        np.testing.assert_allclose(norm.running_mean, 0.1 * x.mean((0, 2, 3)), rtol=1e-5)
        np.testing.assert_allclose(norm.running_var, 0.9 + 0.1 * x.var((0, 2, 3), ddof=1), rtol=1e-5)
        self.assertEqual(int(norm.num_batches_tracked), 1)
        self.assertIsNone(norm.running_mean.op)  # keeps no expression

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "parameter"):
            nn.update_buffer(expr.trainable(np.zeros(2, np.float32)), np.zeros(2, np.float32))
        with self.assertRaisesRegex(ValueError, r"f32\[2\], its next value is f32\[3\]"):
            nn.update_buffer(minnow.Var(np.zeros(2, np.float32)), np.zeros(3, np.float32))
        with self.assertRaisesRegex(ValueError, "more than one element"):
            nn.BatchNorm1d(2)(np.zeros((1, 2), np.float32))

    def test_in_a_training_step(self):
        norm, again = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
        step = optim.TrainingStep(lambda x: (norm(norm(x)) * norm.weight).sum(), optim.SGD(norm, lr=0.1))
        for i in range(3):
            x = noise(6, 2, seed=i)
            again.weight.assign(norm.weight.clone())
            again.bias.assign(norm.bias.clone())
            step(x)
            again(again(x))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                np.testing.assert_allclose(getattr(norm, name), getattr(again, name), rtol=1e-5, err_msg=name)
        self.assertEqual(int(norm.num_batches_tracked), 6)

    def test_each_step_draws_another_mask(self):
        w = expr.trainable(np.ones((8, 8), np.float32))
        drop = nn.Dropout(0.5)
        step = optim.TrainingStep(lambda x: ((drop(x) * w).sum(), drop(x)), optim.SGD({"w": w}, lr=0.0))
        masks = [np.array(step(np.ones((8, 8), np.float32))[1]) for _ in range(2)]
        self.assertFalse(np.array_equal(*masks))
        self.assertEqual(set(np.unique(masks[0])), {0.0, 2.0})

    def test_a_network_learns(self):
        nn.seed(3)
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 2))
        x, t = noise(16, 1, 6, 6), np.arange(16) % 2
        x[t == 1, :, :3] += 1
        step = optim.TrainingStep(lambda x, t: F.cross_entropy(net(x), t), optim.SGD(net, lr=0.1, momentum=0.9))
        losses = [float(step(minnow.Var(x), minnow.Var(t))) for _ in range(30)]
        self.assertLess(losses[-1], losses[0] / 5)
        net.eval()
        self.assertEqual((np.array(net(x)).argmax(1) == t).mean(), 1)


class States(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def net(self, seed):
        nn.seed(seed)
        return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ModuleDict({"a": nn.Linear(3, 2, bias=False)})["a"])

    def test_files(self):
        one, two, x = self.net(1), self.net(2), noise(5, 4)
        one.save(self.folder / "one.safetensors", {"format": "pt"})
        self.assertEqual(two.load(self.folder / "one.safetensors"), ([], []))
        np.testing.assert_array_equal(np.array(one.eval()(x)), np.array(two.eval()(x)))
        data = (self.folder / "one.safetensors").read_bytes()
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        self.assertEqual(header["0.weight"]["shape"], [3, 4])
        self.assertEqual((header["0.weight"]["dtype"], header["1.num_batches_tracked"]["dtype"], header["__metadata__"]), ("F32", "I64", {"format": "pt"}))
        self.assertEqual((int.from_bytes(data[:8], "little") + 8) % 8, 0)

    def test_dtypes(self):
        given = {str(dtype): minnow.Var([[1, 0], [1, 1]], dtype) for dtype in
                 ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")}
        given["empty"] = minnow.Var(np.zeros((0, 3), np.float32))
        nn.save_file(given, self.folder / "all.safetensors")
        found = nn.load_file(self.folder / "all.safetensors")
        for name, value in given.items():
            self.assertEqual((found[name].dtype, found[name].shape, found[name].tolist()), (value.dtype, value.shape, value.tolist()))

    def test_damaged_files(self):
        nn.save_file({"w": np.ones(4, np.float32)}, self.folder / "w")
        data = (self.folder / "w").read_bytes()
        text = '{"w":{"dtype":"%s","shape":%s,"data_offsets":%s}}'
        wrong = [b"", data[:7], data[:20], data[:-1], (10**6).to_bytes(8, "little") + data[8:], data[:8] + b"x" + data[9:]]
        for row in (("F99", "[4]", "[0,16]"), ("F32", "[5]", "[0,16]"), ("F32", "[4]", "[4,20]"), ("F32", "[-4]", "[0,16]"), ("F32", "4", "[0,16]"), ("F32", "[4]", "[0]")):
            head = (text % row).encode()
            wrong.append(len(head).to_bytes(8, "little") + head + bytes(16))
        wrong.append((2).to_bytes(8, "little") + b"[]")
        for case in wrong:
            (self.folder / "wrong").write_bytes(case)
            with self.assertRaisesRegex(minnow.InvalidModel, "wrong: not a safetensors file: "):
                nn.load_file(self.folder / "wrong")
        with self.assertRaises(FileNotFoundError):
            nn.load_file(self.folder / "nowhere")
        with self.assertRaises(minnow.Unsupported):
            nn.save_file({"z": np.zeros(1, complex)}, self.folder / "z")
        self.assertFalse((self.folder / "z").exists())

    def test_state_dicts(self):
        net = self.net(1)
        state = net.state_dict()
        before = state["0.weight"].tolist()
        net[0].weight.assign(np.zeros((3, 4), np.float32))
        self.assertEqual(state["0.weight"].tolist(), before)
        with self.assertRaisesRegex(ValueError, "misses 0.weight and has 0.wait, which the module has not"):
            net.load_state_dict({("0.wait" if name == "0.weight" else name): value for name, value in state.items()})
        self.assertEqual(net.load_state_dict({"0.weight": state["0.weight"], "more": [1.0]}, strict=False).unexpected_keys, ["more"])
        self.assertEqual(net[0].weight.tolist(), before)
        with self.assertRaisesRegex(ValueError, r'"0.weight" has the shape \[3, 4\], it is given \[2\]'):
            net.load_state_dict({**state, "0.weight": np.zeros(2, np.float32)})

    def test_not_saved_buffers(self):
        net = nn.Identity()
        net.register_buffer("table", np.arange(3.0), persistent=False)
        net.register_buffer("kept", np.arange(2.0))
        self.assertEqual((list(net.state_dict()), [name for name, _ in net.named_buffers()]), (["kept"], ["table", "kept"]))

    def test_shared_parameters_come_once(self):
        a, b = nn.Linear(3, 3), nn.Linear(3, 3)
        b.weight = a.weight
        net = nn.Sequential(a, b)
        self.assertEqual([name for name, _ in net.named_parameters()], ["0.weight", "0.bias", "1.bias"])
        self.assertEqual(len(net.state_dict()), 4)

    def test_copies_and_dtypes(self):
        net = self.net(1)
        other = copy.deepcopy(net)
        other[0].weight.assign(np.zeros((3, 4), np.float32))
        self.assertNotEqual(net[0].weight.tolist(), other[0].weight.tolist())
        self.assertEqual(len(other.parameters()), len(net.parameters()))
        self.assertEqual(str(net.to("float64")[0].weight.dtype), "float64")
        self.assertEqual(str(net[1].num_batches_tracked.dtype), "int64")


class Initializers(unittest.TestCase):
    def test_statistics(self):
        nn.seed(0)
        made = lambda function, *args, shape=(200, 300), **options: np.array(function(expr.trainable(np.zeros(shape, np.float32)), *args, **options))
        for values, deviation in ((made(nn.init.xavier_uniform_), math.sqrt(2 / 500)), (made(nn.init.xavier_normal_, 2.0), 2 * math.sqrt(2 / 500)),
                                  (made(nn.init.kaiming_uniform_, nonlinearity="relu"), math.sqrt(2 / 300)), (made(nn.init.kaiming_normal_, mode="fan_out"), math.sqrt(2 / 200)),
                                  (made(nn.init.normal_, 0, 0.5), 0.5), (made(nn.init.uniform_, -1, 1), math.sqrt(1 / 3)), (made(nn.init.trunc_normal_), 0.8796)):
            self.assertAlmostEqual(values.std() / deviation, 1, delta=0.02)
            self.assertAlmostEqual(values.mean() / deviation, 0, delta=0.02)
        self.assertLessEqual(np.abs(made(nn.init.trunc_normal_, 0, 1, -0.5, 0.5)).max(), 0.5)
        for shape in ((5, 8), (8, 5), (4, 2, 3, 3)):
            q = made(nn.init.orthogonal_, shape=shape).reshape(shape[0], -1)
            np.testing.assert_allclose(q @ q.T if shape[0] < q.shape[1] else q.T @ q, np.eye(min(q.shape)), atol=1e-5)
        x = noise(2, 6, 5, 5)
        conv = nn.Conv2d(6, 6, 3, padding=1, groups=2, bias=False)
        nn.init.dirac_(conv.weight, 2)
        np.testing.assert_array_equal(np.array(conv(x)), x)
        np.testing.assert_array_equal(made(nn.init.eye_, shape=(2, 3)), np.eye(2, 3))
        self.assertEqual([made(nn.init.constant_, 3)[0, 0], made(nn.init.ones_)[0, 0], made(nn.init.zeros_)[0, 0]], [3, 1, 0])

    def test_layers_begin_as_in_torch(self):
        nn.seed(2)
        conv = nn.Conv2d(16, 64, 3)
        bound = 1 / math.sqrt(16 * 9)
        weight = np.abs(np.array(conv.weight))
        self.assertTrue(bound * 0.99 < weight.max() <= bound)
        self.assertEqual(nn.Embedding(5, 3, padding_idx=1).weight[1].tolist(), [0, 0, 0])

    def test_errors(self):
        for case in (lambda: nn.init.xavier_uniform_(nn.Linear(2, 2).bias), lambda: nn.init.kaiming_normal_(nn.Linear(2, 2).weight, mode="fan"),
                     lambda: nn.init.calculate_gain("rely"), lambda: nn.init.trunc_normal_(nn.Linear(2, 2).weight, 9.0), lambda: nn.init.dirac_(nn.Linear(2, 2).weight)):
            with self.assertRaises(ValueError):
                case()


class Containers(unittest.TestCase):
    def test_sequential(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        net.append(nn.Linear(3, 1))
        self.assertEqual((len(net), type(net[-1]).__name__, len(net[:2])), (3, "Linear", 2))
        net.insert(1, nn.Tanh())
        self.assertEqual([type(layer).__name__ for layer in net], ["Linear", "Tanh", "ReLU", "Linear"])
        self.assertEqual([name for name, _ in net.named_parameters()], ["0.weight", "0.bias", "3.weight", "3.bias"])
        del net[1]
        self.assertEqual(len(net), 3)
        with self.assertRaises(IndexError):
            net[3]
        self.assertEqual([name for name, _ in nn.Sequential({"up": nn.Linear(1, 1)}).named_parameters()], ["up.weight", "up.bias"])

    def test_lists_and_dicts(self):
        class Net(nn.Module):
            def __init__(self):
                self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))
                self.heads = nn.ModuleDict({"left": nn.Linear(2, 1, bias=False)})

        net = Net()
        self.assertEqual([name for name, _ in net.named_parameters()], ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "heads.left.weight"])
        self.assertFalse(net.eval().layers[1].training)
        self.assertEqual([name for name, _ in net.named_modules()], ["", "layers", "layers.0", "layers.1", "heads", "heads.left"])
        with self.assertRaisesRegex(ValueError, 'there is no module "lefd".*left'):
            net.heads["lefd"]

    def test_open_dimensions(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
        x = expr.placeholder("x", "float32", [None, 4])
        module = nn.load_module(net(x), [x])
        values = noise(5, 4)
        np.testing.assert_allclose(np.array(module(values)), np.array(net(values)), rtol=1e-5)

    def test_errors(self):
        x = np.zeros((2, 3, 4, 4), np.float32)
        for wrong, text in ((lambda: nn.Conv2d(3, 4, 3, groups=2), "groups divide"), (lambda: nn.Conv2d(3, 4, 3, padding="some")(x), "padding is"),
                            (lambda: nn.Conv2d(3, 4, 3, padding_mode="zero"), "padding_mode"), (lambda: nn.MaxPool2d(2, padding=2)(x), "half"),
                            (lambda: nn.BatchNorm1d(3)(x), "axes"), (lambda: nn.LayerNorm(5)(x), "last axes"), (lambda: nn.MultiheadAttention(5, 2), "divides"),
                            (lambda: nn.MSELoss("average"), "reduction"), (lambda: nn.MSELoss()(x, x[:1]), "shape"), (lambda: nn.MSELoss()(x, x[:, 0]), "shape"),
                            (lambda: nn.CrossEntropyLoss()(x, x[:, 0]), "classes are integers"), (lambda: nn.LSTM(2, 0), "positive"),
                            (lambda: nn.LSTM(2, 3)(x[0]), "last axis"), (lambda: nn.Conv2d(3, 4, (3, 3, 3)), "2 numbers"), (lambda: nn.Upsample()(x), "either"),
                            (lambda: nn.TransformerEncoderLayer(4, 2, activation="rely"), "activation")):
            with self.assertRaisesRegex(ValueError, text):
                wrong()
        with self.assertRaisesRegex(AttributeError, "Linear"):
            nn.Liner


class Windows(unittest.TestCase):
    """Padding, pieces of pictures and pools, by torch's formulas in NumPy; gradients by differences."""

    def gradient(self, function, x):
        """The gradient of a sum with random factors, by minnow and by differences."""
        x = np.asarray(x, np.float64)
        factors = np.random.default_rng(5).normal(size=np.array(function(x)).shape)
        w = expr.trainable(x)
        found = np.array(_minnow.gradients((function(w) * factors).sum(), [w])[0])
        expected = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[place] = 1e-6
            expected[place] = ((np.array(function(x + step)) - np.array(function(x - step))) * factors).sum() / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    def test_padding(self):
        for axes in (1, 2, 3):
            x = noise(2, 3, *[4, 5, 6][:axes])
            for name, mode in (("Zero", "constant"), ("Reflection", "reflect"), ("Replication", "edge"), ("Circular", "wrap")):
                layer = getattr(nn, f"{name}Pad{axes}d")
                pads = [(2, 1), (1, 0), (0, 2)][:axes]  # of the last axis first
                expected = np.pad(x, [(0, 0)] * 2 + pads[::-1], mode)
                np.testing.assert_array_equal(np.array(layer(tuple(one for pair in pads for one in pair))(x)), expected)
                np.testing.assert_array_equal(np.array(layer(1)(x[0])), np.pad(x[0], [(0, 0)] + [(1, 1)] * axes, mode))
            made = getattr(nn, f"ConstantPad{axes}d")(1, -2.5)(x)
            np.testing.assert_array_equal(np.array(made), np.pad(x, [(0, 0)] * 2 + [(1, 1)] * axes, constant_values=-2.5))
        with self.assertRaisesRegex(ValueError, "axes"):
            nn.ZeroPad2d(1)(noise(3, 4))
        with self.assertRaisesRegex(ValueError, "4 numbers"):
            nn.ReflectionPad2d((1, 2))

    def test_pieces_and_their_sums(self):
        x = noise(2, 3, 6, 7)
        for kernel, dilation, padding, stride in (((2, 2), (1, 1), (0, 0), (1, 1)), ((2, 3), (2, 1), (1, 2), (2, 1)), ((3, 3), (1, 1), (1, 1), (3, 3)), ((2, 2), (1, 1), (0, 0), (4, 4))):
            padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
            counts = [(padded.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
            columns = np.stack([padded[:, :, i * dilation[0]:, j * dilation[1]:][:, :, :stride[0] * (counts[0] - 1) + 1:stride[0], :stride[1] * (counts[1] - 1) + 1:stride[1]]
                                for i in range(kernel[0]) for j in range(kernel[1])], 2).reshape(2, -1, counts[0] * counts[1])
            np.testing.assert_array_equal(np.array(nn.Unfold(kernel, dilation, padding, stride)(x)), columns)
            sums = np.zeros_like(padded)
            pieces = columns.reshape(2, 3, *kernel, *counts)
            for i, j, row, column in np.ndindex(*kernel, *counts):
                sums[:, :, i * dilation[0] + row * stride[0], j * dilation[1] + column * stride[1]] += pieces[:, :, i, j, row, column]
            sums = sums[:, :, padding[0]:padding[0] + 6, padding[1]:padding[1] + 7]
            np.testing.assert_allclose(np.array(nn.Fold((6, 7), kernel, dilation, padding, stride)(columns)), sums, rtol=1e-5)
        self.gradient(nn.Unfold(2), x[:1, :1, :4, :4])
        self.gradient(nn.Fold((4, 4), 2), noise(1, 4, 9))
        with self.assertRaisesRegex(ValueError, "columns of"):
            nn.Fold((4, 4), 2)(noise(1, 4, 8))

    def test_local_response(self):
        x = noise(2, 6, 3, 4)
        for size in (1, 3, 4, 5):
            squares = np.pad(x**2, ((0, 0), (size // 2, (size - 1) // 2), (0, 0), (0, 0)))
            means = sum(squares[:, i:i + 6] for i in range(size)) / size
            np.testing.assert_allclose(np.array(nn.LocalResponseNorm(size, 0.5, 0.7, 2.0)(x)), x / (2 + 0.5 * means)**0.7, rtol=1e-5)
            self.gradient(nn.LocalResponseNorm(size, 0.5), x[:1, :, :1, :2])

    def test_pools(self):
        x = np.abs(noise(2, 3, 6, 8))
        windows = x.reshape(2, 3, 3, 2, 4, 2)
        np.testing.assert_allclose(np.array(nn.LPPool2d(3, 2)(x)), (windows**3).sum((3, 5))**(1 / 3), rtol=1e-5)
        np.testing.assert_allclose(np.array(nn.LPPool1d(2, 2)(x[0])), (x[0].reshape(3, 6, 4, 2)**2).sum(3)**0.5, rtol=1e-5)
        values, places = nn.MaxPool2d(2, return_indices=True)(x)
        most = windows.max((3, 5), keepdims=True)
        np.testing.assert_array_equal(np.array(nn.MaxUnpool2d(2)(values, places)), np.where(windows == most, windows, 0).reshape(x.shape))
        self.assertEqual(nn.MaxUnpool2d(2)(values, places, output_size=(7, 9)).shape, (2, 3, 7, 9))
        self.gradient(lambda v: nn.functional.max_unpool2d(v, places, 2), values)
        self.gradient(nn.LPPool2d(2, 2), x[:1, :1, :4, :4])


class Bags(unittest.TestCase):
    def test_means_sums_and_maxima(self):
        weight, places = noise(10, 3), np.random.default_rng(2).integers(0, 10, (4, 5))
        flat, begins = places.ravel(), [0, 3, 3, 12]
        factors = noise(4, 5, seed=3)
        for mode, function in (("mean", np.mean), ("sum", np.sum), ("max", np.max)):
            bag = nn.EmbeddingBag.from_pretrained(weight, mode=mode)
            self.assertEqual(bag.parameters(), [])
            np.testing.assert_allclose(np.array(bag(places)), function(weight[places], 1), rtol=1e-5)
            expected = np.stack([function(weight[flat[a:b]], 0) if b > a else np.zeros(3) for a, b in zip(begins, [*begins[1:], 20])])
            np.testing.assert_allclose(np.array(bag(flat, np.array(begins))), expected, rtol=1e-5)
            bag.include_last_offset = True
            np.testing.assert_allclose(np.array(bag(flat, np.array([*begins, 20]))), expected, rtol=1e-5)
            without = nn.EmbeddingBag.from_pretrained(weight, mode=mode, padding_idx=int(flat[0]))
            kept = [row[row != flat[0]] for row in places]
            np.testing.assert_allclose(np.array(without(places)), np.stack([function(weight[row], 0) if len(row) else np.zeros(3) for row in kept]), rtol=1e-5)
        summed = nn.EmbeddingBag.from_pretrained(weight, mode="sum")
        np.testing.assert_allclose(np.array(summed(places, per_sample_weights=factors)), (weight[places] * factors[..., None]).sum(1), rtol=1e-4)
        with self.assertRaisesRegex(ValueError, "offsets"):
            summed(flat)

    def test_rows_that_are_given(self):
        weight = noise(4, 3)
        layer = nn.Embedding.from_pretrained(weight)
        np.testing.assert_array_equal(np.array(layer(np.array([2, 0]))), weight[[2, 0]])
        self.assertEqual((layer.parameters(), list(layer.state_dict())), ([], ["weight"]))
        self.assertEqual(len(nn.Embedding.from_pretrained(weight, freeze=False).parameters()), 1)


class Cells(unittest.TestCase):
    def test_steps_give_what_the_layers_give(self):
        x = noise(5, 2, 4)
        for cell, layer in ((nn.RNNCell(4, 3), nn.RNN(4, 3)), (nn.RNNCell(4, 3, nonlinearity="relu"), nn.RNN(4, 3, nonlinearity="relu")), (nn.GRUCell(4, 3), nn.GRU(4, 3)),
                            (nn.LSTMCell(4, 3), nn.LSTM(4, 3)), (nn.LSTMCell(4, 3, bias=False), nn.LSTM(4, 3, bias=False))):
            layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
            state, found = None, []
            for row in x:
                state = cell(row, state)
                found.append(np.array(state[0] if isinstance(state, tuple) else state))
            np.testing.assert_allclose(np.stack(found), np.array(layer(x)[0]), rtol=1e-5, atol=1e-6)
        self.assertEqual(nn.GRUCell(4, 3)(x[0, 0]).shape, (3,))
        with self.assertRaisesRegex(ValueError, "size 4"):
            nn.LSTMCell(4, 3)(noise(2, 5))

    def test_a_transformer_is_its_encoder_and_its_decoder(self):
        net = nn.Transformer(8, 2, 2, 1, 16, batch_first=True).eval()
        self.assertEqual(net.encoder.layers[0].self_attn.in_proj_weight.shape, (24, 8))
        self.assertIn("decoder.layers.0.multihead_attn.in_proj_weight", net.state_dict())
        source, goal = noise(3, 5, 8), noise(3, 4, 8)
        mask = net.generate_square_subsequent_mask(4)
        np.testing.assert_array_equal(np.isinf(np.array(mask)), np.triu(np.ones((4, 4)), 1) > 0)
        memory = net.encoder.norm(net.encoder.layers[1](net.encoder.layers[0](source)))
        expected = net.decoder.norm(net.decoder.layers[0](goal, memory, mask))
        made = np.array(net(source, goal, tgt_mask=mask))
        np.testing.assert_allclose(made, np.array(expected), rtol=1e-5, atol=1e-6)
        later = goal.copy()
        later[:, 3] += 1  # a position does not see later ones
        np.testing.assert_allclose(np.array(net(source, later, tgt_mask=mask))[:, :3], made[:, :3], rtol=1e-5, atol=1e-6)


class Hooks(unittest.TestCase):
    def test_before_and_after(self):
        net, seen = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), []
        x = noise(4, 2)
        after = net[0].register_forward_hook(lambda module, inputs, result: seen.append((inputs[0].shape, result.shape)))
        plain = np.array(net(x))
        self.assertEqual(seen, [((4, 2), (4, 3))])
        with net[0].register_forward_pre_hook(lambda module, inputs: inputs[0] * 0), net.register_forward_hook(lambda module, inputs, result: result + 1):
            np.testing.assert_allclose(np.array(net(x)), np.maximum(np.array(net[0].bias), 0) + np.ones((4, 1)), rtol=1e-6)
            copy.deepcopy(net)(x)
            self.assertEqual(len(seen), 2)  # a copy has no hooks
        after.remove()
        after.remove()
        np.testing.assert_array_equal(np.array(net(x)), plain)
        self.assertEqual((len(seen), list(net.state_dict())), (2, ["0.weight", "0.bias"]))

    def test_parameters(self):
        layer = nn.Linear(2, 3)
        layer.register_parameter("scale", np.ones(3, np.float32))
        layer.register_parameter("none", None)
        self.assertEqual([name for name, _ in layer.named_parameters()], ["weight", "bias", "scale"])
        self.assertEqual(layer.requires_grad_(False).parameters(), [])
        self.assertEqual(len(layer.state_dict()), 3)
        self.assertEqual(len(layer.requires_grad_().parameters()), 3)


class Losses(unittest.TestCase):
    """Those that torch does not have."""

    def test_ctc_takes_targets_one_after_the_other(self):
        scores = nn.functional.log_softmax(noise(10, 3, 5))
        rows, flat, lengths, sizes = np.array([[1, 2, 3], [2, 2, 4], [4, 1, 1]]), np.array([1, 2, 3, 2, 2]), np.array([10, 8, 9]), np.array([3, 2, 0])
        expected = nn.functional.ctc_loss(scores, rows, lengths, sizes, reduction="none")
        np.testing.assert_allclose(np.array(nn.functional.ctc_loss(scores, flat, lengths, sizes, reduction="none")), np.array(expected), rtol=1e-6)
        w = expr.trainable(np.array(scores))
        step = optim.TrainingStep(lambda *batch: nn.functional.ctc_loss(w, *batch, reduction="sum"), optim.SGD([w], lr=0.0))
        self.assertAlmostEqual(float(step(flat, lengths, sizes)), float(np.sum(expected)), 4)
        with self.assertRaisesRegex(ValueError, "add up to 6, there are 5"):
            nn.functional.ctc_loss(scores, flat, lengths, [3, 2, 1])

    def test_values(self):
        x, t = noise(4, 3), (noise(4, 3, seed=2) > 0).astype(np.float32)
        p = 1 / (1 + np.exp(-x))
        right = np.where(t == 1, p, 1 - p)
        np.testing.assert_allclose(float(nn.FocalLoss()(x, t)), (np.where(t == 1, 0.25, 0.75) * (1 - right) ** 2 * -np.log(right)).mean(), rtol=1e-5)
        np.testing.assert_allclose(float(nn.HingeLoss()(x, 2 * t - 1)), np.maximum(0, 1 - x * (2 * t - 1)).mean(), rtol=1e-6)
        np.testing.assert_allclose(float(nn.LogCoshLoss()(x, t)), np.log(np.cosh(x - t)).mean(), rtol=1e-5)
        np.testing.assert_allclose(float(nn.LogCoshLoss()(x * 1000, t)), (np.abs(1000 * x - t) - math.log(2)).mean(), rtol=1e-3)
        np.testing.assert_allclose(float(nn.DiceLoss(smooth=0)(p, t)), (1 - 2 * (p * t).sum(1) / (p.sum(1) + t.sum(1))).mean(), rtol=1e-5)
        a, b = noise(5, 4), noise(5, 4, seed=3)
        unit = lambda v: v / np.linalg.norm(v, axis=1, keepdims=True)
        scores = unit(a) @ unit(b).T / 0.1
        np.testing.assert_allclose(float(nn.InfoNCELoss()(a, b)), -(np.diag(scores) - np.log(np.exp(scores).sum(1))).mean(), rtol=1e-4)
        softmax = lambda v: np.exp(v) / np.exp(v).sum(1, keepdims=True)
        goal, own = softmax(b / 2), softmax(a / 2)
        np.testing.assert_allclose(float(nn.DistillationLoss(2.0)(a, b)), 4 * (goal * np.log(goal / own)).sum(1).mean(), rtol=1e-4)

    def test_one_operator_for_cross_entropy(self):
        x = expr.trainable(noise(4, 3))
        self.assertEqual(F.cross_entropy(x, np.array([0, 1, 2, 1])).op, "SoftmaxCrossEntropyLoss")
        self.assertEqual(F.nll_loss(x, np.array([0, 1, 2, 1])).op, "NegativeLogLikelihoodLoss")

    def test_gradients_by_differences(self):
        random = np.random.default_rng(0)
        x, t, n = random.standard_normal((4, 3)), (random.random((4, 3)) > 0.5) * 1.0, random.standard_normal((4, 3))
        for loss, *more in ((nn.FocalLoss(), t), (nn.HingeLoss(), 2 * t - 1), (nn.LogCoshLoss(), t), (nn.InfoNCELoss(0.5), n), (nn.DistillationLoss(), n, np.array([0, 2, 1, 1])),
                            (nn.DiceLoss(), t)):
            gradient = np.array(minnow.grad(lambda value: loss(value, *more))(minnow.Var(x)))
            for at in ((0, 0), (2, 1), (3, 2)):
                moved = [x.copy(), x.copy()]
                moved[0][at] += 1e-5
                moved[1][at] -= 1e-5
                self.assertAlmostEqual((float(loss(moved[0], *more)) - float(loss(moved[1], *more))) / 2e-5, gradient[at], places=6, msg=type(loss).__name__)



class Attention(unittest.TestCase):
    SHAPES = [((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)), ((2, 5, 4), (2, 7, 4), (2, 7, 3)), ((1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 2, 1))]

    def masks(self, shape, rows, columns):
        yield None
        for mask in (noise(rows, columns, seed=9), noise(*shape[:-2], rows, columns, seed=10)):
            yield mask
            mask = mask > 0
            mask[..., 0] = True  # every query attends to a key
            yield mask

    def test_one_operator_gives_what_the_parts_give(self):
        for shapes in self.SHAPES:
            q, k, v = (noise(*shape, seed=i) for i, shape in enumerate(shapes))
            for mask in self.masks(shapes[0], q.shape[-2], k.shape[-2]):
                for causal in (False, True) if mask is None else (False,):
                    for scale in (None, 0.3):
                        with self.subTest(shapes=shapes, mask=None if mask is None else (mask.shape, mask.dtype), causal=causal, scale=scale):
                            one = F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale)
                            parts = F.attention(q, k, v, mask, 0.0, causal, scale)[0]
                            self.assertEqual(one.op, "Attention")
                            np.testing.assert_allclose(one, parts, rtol=1e-5, atol=1e-6)

    def test_gradients_are_those_of_the_parts(self):
        for shapes in self.SHAPES:
            arrays = [noise(*shape, seed=i) for i, shape in enumerate(shapes)]
            mask = noise(arrays[0].shape[-2], arrays[1].shape[-2], seed=5) > -0.5
            mask[:, 0] = True
            weights = noise(*F.attention(*arrays, mask, 0.0, False, None)[0].shape, seed=6)
            one, parts = (minnow.grad(lambda q, k, v: (f(q, k, v) * weights).sum(), argnums=(0, 1, 2))(*arrays)
                          for f in (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), lambda q, k, v: F.attention(q, k, v, mask, 0.0, False, None)[0]))
            for a, b in zip(one, parts):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def test_a_query_without_keys_gives_zeros(self):
        q, mask = noise(1, 2, 3, 4), np.array([[True, False, True]] * 3)
        mask[1] = False
        y = np.array(F.scaled_dot_product_attention(q, q, q, mask))
        self.assertTrue((y[:, :, 1] == 0).all() and np.isfinite(y).all())

    def test_layers_without_weights_give_the_same(self):
        nn.seed(3)
        layer = nn.MultiheadAttention(8, 2, batch_first=True)
        x, mask = noise(2, 5, 8), np.triu(np.ones((5, 5), bool), 1)
        for more in ({}, {"attn_mask": mask}, {"key_padding_mask": np.array([[False] * 5, [False] * 3 + [True] * 2])}):
            np.testing.assert_allclose(layer(x, x, x, need_weights=False, **more)[0], layer(x, x, x, **more)[0], rtol=1e-5, atol=1e-6)

    def test_errors(self):
        q = noise(1, 2, 3, 4)
        with self.assertRaisesRegex(ValueError, "is_causal needs no attn_mask"):
            F.scaled_dot_product_attention(q, q, q, np.zeros((3, 3), np.float32), is_causal=True)
        with self.assertRaisesRegex(ValueError, "mask"):
            F.scaled_dot_product_attention(q, q, q, np.zeros((4, 9), np.float32)).evaluate()


class LongSequences(unittest.TestCase):
    def test_ctc_makes_a_graph_of_one_step(self):
        """400 steps: the loss of equal shares is that of the number of paths, and its gradient sums to minus the number of steps."""
        steps = 400
        x = np.full((steps, 1, 3), -math.log(3), np.float64)
        loss = lambda logs: F.ctc_loss(logs, np.array([[1]]), [steps], [1], reduction="sum")
        # One run of the label, of any length, between blanks.
        expected = steps * math.log(3) - math.log(steps * (steps + 1) / 2)
        self.assertAlmostEqual(loss(x).item(), expected, places=6)
        self.assertAlmostEqual(np.array(minnow.grad(loss)(x)).sum(), -steps, places=6)


if __name__ == "__main__":
    unittest.main()
