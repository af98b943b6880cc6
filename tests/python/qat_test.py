#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.compress: rounding with gradients, networks that round in training, and the integer models that they become."""
import itertools
import json
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import minnow
from minnow import compress, expr, nn, optim

ANSWERS = Path(__file__).with_name("rounding_answers.json")


def gradients(function, arrays):
    """The sum of function(*arrays), weighted by fixed numbers, differentiated."""
    values = [expr.trainable(minnow.Var(array)) for array in arrays]
    y = function(*values)
    weights = np.cos(np.arange(y.size, dtype="float32")).reshape(y.shape)
    return np.asarray(y), [np.asarray(g) for g in expr.gradients((y * weights).sum(), values)], weights


class Rounding(unittest.TestCase):
    def test_torch(self):
        cases = json.loads(ANSWERS.read_text())["cases"]
        self.assertGreaterEqual(len(cases), 20)
        for case in cases:
            x, scale, zero = (np.float32(case[key]) for key in ("x", "scale", "zero"))
            x = x.reshape(case["shape"])
            ends = case["low"], case["high"]
            if not x.size:  # minnow.expr.gradients takes no empty parameters
                self.assertEqual(compress.fake_quantize(x, scale, zero, *ends, axis=case["axis"]).shape, x.shape)
                continue
            if case["learned"]:
                y, (gx, gs), _ = gradients(lambda x, s: compress.fake_quantize_learned(x, s, zero, *ends, axis=case["axis"], grad_factor=case["factor"]), [x, scale])
                np.testing.assert_allclose(gs.reshape(-1), np.float32(case["scale_gradient"]).reshape(-1), rtol=2e-4, atol=2e-5, err_msg=str(case["name"]))
            else:
                y, (gx,), _ = gradients(lambda x: compress.fake_quantize(x, scale, zero, *ends, axis=case["axis"]), [x])
            np.testing.assert_allclose(y.reshape(-1), np.float32(case["y"]), rtol=1e-6, atol=1e-6, err_msg=case["name"])
            np.testing.assert_allclose(gx.reshape(-1), np.float32(case["gradient"]), rtol=1e-6, atol=1e-6, err_msg=case["name"])

    def test_quantize_linear(self):
        """The same as QuantizeLinear and DequantizeLinear of the integer model, to the bit, ties included."""
        random = np.random.default_rng(5)
        for scale, zero in ((0.1, 0), (0.037, 128), (1 / 3, 255), (2.0, 7)):
            x = np.concatenate([random.normal(0, 80 * scale, 4001), np.arange(-300, 300) * scale / 2]).astype("float32")
            step, point = minnow.Var(scale, "float32"), minnow.Var(zero, "uint8")
            wanted = expr.dequantize_linear(expr.quantize_linear(minnow.Var(x), step, point), step, point)
            np.testing.assert_array_equal(np.asarray(compress.fake_quantize(x, step, zero)), np.asarray(wanted))

    def test_learned_step_is_the_papers(self):
        random = np.random.default_rng(3)
        for shape, low, high, zero in itertools.product([(), (1,), (7,), (3, 5), (2, 3, 1, 5)], (-8, 0), (7,), (0, 3)):
            x, step = random.normal(0, 2, shape).astype("float32"), np.float32(0.3)
            y, (gx, gs), weights = gradients(lambda x, s: compress.fake_quantize_learned(x, s, zero, low, high, grad_factor=0.25), [x, step])
            v = x / step
            inside = (v > low - zero) & (v < high - zero)
            derivative = np.where(v <= low - zero, low - zero, np.where(v >= high - zero, high - zero, np.round(v) - v))
            np.testing.assert_allclose(y, np.clip(np.round(v), low - zero, high - zero) * step, rtol=1e-6)
            np.testing.assert_allclose(gx, weights * inside, rtol=1e-6)
            np.testing.assert_allclose(gs, 0.25 * (weights * derivative).sum(), rtol=1e-4, atol=1e-5)

    def test_pact_is_the_papers(self):
        x = np.random.default_rng(4).normal(0, 3, (5, 7)).astype("float32")
        for bits in (2, 4, 8):
            most = 2**bits - 1
            y, (gx, ga), weights = gradients(lambda x, a: compress.pact(x, a, 0, most), [x, np.float32(2.5)])
            cut = np.clip(x, 0, 2.5)
            np.testing.assert_allclose(y, np.round(cut * most / 2.5) * 2.5 / most, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(gx, weights * ((x > 0) & (x < 2.5)), rtol=1e-6)
            np.testing.assert_allclose(ga, (weights * (x >= 2.5)).sum(), rtol=1e-4, atol=1e-5)

    def test_errors(self):
        x = np.zeros((2, 3), "float32")
        for words, call in [("float32", lambda: compress.fake_quantize(x.astype("float64"), 0.1)), ("axis 2", lambda: compress.fake_quantize(x, [0.1] * 3, axis=2)),
                            ("one number, or a vector", lambda: compress.fake_quantize(x, [[0.1]])), ("the smaller one", lambda: compress.fake_quantize(x, 0.1, 0, 3, 3)),
                            ("one number, or a vector", lambda: compress.fake_quantize_learned(x, [0.1, 0.2, 0.3])), ("integers", lambda: compress.pact(x, 1.0, 0, 2.5)),
                            ("zero_point", lambda: compress.pact(x, 1.0, 0, 3, 4))]:
            with self.assertRaisesRegex(minnow.InvalidArgument, words):
                call()


def network(kind):
    nn.seed(3)
    if kind == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 24), nn.ReLU(), nn.Linear(24, 4))
    middle = [nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.BatchNorm2d(8), nn.Hardswish()] if kind == "depthwise" else [nn.Conv2d(8, 8, 3, padding=1), nn.ReLU6()]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), *middle, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def bars(count, seed=0):
    """Pictures with a bright bar, whose place is the class."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, count)
    pictures = random.normal(0, 0.5, (count, 3, 8, 8)).astype("float32")
    for i, label in enumerate(labels):
        pictures[i, label % 3, :, label * 2:label * 2 + 2] += 2.0
    return pictures, labels.astype("int64")


def train(module, pictures, labels, steps, lr=0.01, then=None):
    """Losses of the steps. `then`: called with the step's number."""
    step = optim.TrainingStep(lambda x, y: nn.functional.cross_entropy(module(x), y), optim.Adam(module, lr=lr))
    losses = []
    for i in range(steps):
        if then is not None and then(i):
            step.reset()
        rows = np.arange(i * 32, i * 32 + 32) % len(labels)
        losses.append(float(step(pictures[rows], labels[rows])))
    return losses


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pictures, self.labels = bars(256)


class Networks(InFolder):
    def test_biases_begin_with_the_mean_error_of_their_channel(self):
        net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)).eval()
        wanted = np.asarray(net(self.pictures)).mean((0, 2, 3))
        module = compress.prepare_qat(net, self.pictures, weight_bits=2).eval()
        corrected = np.asarray(module(self.pictures)).mean((0, 2, 3))
        before, after = ([x for _, x in each.named_parameters() if x.shape == (8,)] for each in (net, module))
        self.assertEqual(len(before), len(after))
        for x, y in zip(before, after):
            y[...] = np.asarray(x)
        plain = np.asarray(module(self.pictures)).mean((0, 2, 3))
        self.assertLess(np.abs(corrected - wanted).max(), 0.5 * np.abs(plain - wanted).max())

    def agrees(self, module, pictures):
        """The integer model is within a step of the module almost everywhere, and finds the same classes."""
        path = self.folder / "integers.minnow"
        report = compress.convert(module.eval(), path, evaluation=pictures)
        wanted = np.asarray(module(pictures))
        model = minnow.load(path)
        got = np.asarray(model(pictures))
        noise = np.abs(wanted - got).max() / np.abs(wanted).max()
        self.assertLess(noise, 0.03)
        self.assertGreaterEqual((wanted.argmax(1) == got.argmax(1)).mean(), 0.99)
        self.assertLess(np.median(np.abs(wanted - got)), 1e-3 * np.abs(wanted).max())
        self.assertFalse([layer for layer in report.layers if layer.refusal])
        compress.convert(module, self.folder / "integers.onnx")
        try:
            import onnxruntime
        except ImportError:
            return report
        # Without its optimizations, whose QLinearAveragePool refuses some scales.
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(self.folder / "integers.onnx"), options)
        theirs = session.run(None, {session.get_inputs()[0].name: pictures})[0]
        self.assertGreaterEqual((wanted.argmax(1) == theirs.argmax(1)).mean(), 0.98)
        return report

    def test_every_method_learns_and_converts(self):
        for kind, (weights, activations), bits in itertools.product(("convolution", "depthwise", "dense"), (("minmax", "ema"), ("lsq", "lsq"), ("minmax", "pact")), (8, 4)):
            with self.subTest(kind=kind, weights=weights, activations=activations, bits=bits):
                net = network(kind)
                module = compress.prepare_qat(net, self.pictures[:64], weights=weights, activations=activations, weight_bits=bits)
                before = {name: np.array(value) for name, value in net.state_dict().items()}
                losses = train(module, self.pictures, self.labels, 40)
                self.assertLess(np.mean(losses[-5:]), np.mean(losses[:5]))
                self.agrees(module, self.pictures[:64])
                for name, value in net.state_dict().items():
                    np.testing.assert_array_equal(np.asarray(value), before[name])

    def test_without_calibration_and_symmetric(self):
        for symmetric in (False, True):
            module = compress.prepare_qat(network("depthwise"), example_inputs=[self.pictures[:2]], symmetric=symmetric, averaging=0.2)
            with self.assertRaisesRegex(minnow.InvalidArgument, "no range is known"):
                compress.convert(module, self.folder / "none.minnow")
            self.assertFalse((self.folder / "none.minnow").exists())
            losses = train(module, self.pictures, self.labels, 60)
            self.assertLess(losses[-1], losses[0])
            self.agrees(module, self.pictures[:64])

    def test_files(self):
        net = network("depthwise")
        train(net, self.pictures, self.labels, 40)
        net.eval()
        x = expr.placeholder("x", "float32", (None, 3, 8, 8))
        expr.save([net(x)], str(self.folder / "net.onnx"), [x])
        source = (self.folder / "net.onnx").read_bytes()
        wanted = np.asarray(net(self.pictures))
        module = compress.prepare_qat(self.folder / "net.onnx", self.pictures[:64])
        # Training begins with the result of post-training quantization.
        got = np.asarray(module.eval()(self.pictures))
        self.assertGreater(10 * np.log10((wanted**2).sum() / ((wanted - got) ** 2).sum()), 25)
        # Two normalizations are trained as such, with a running mean and a running variance each.
        self.assertEqual(len([name for name, _ in module.named_buffers() if not name.endswith((".low", ".high", ".batches"))]), 4)
        for other in (minnow.load_trainable(self.folder / "net.onnx"), nn.load_module_from_file(self.folder / "net.onnx")):
            again = compress.prepare_qat(other, self.pictures[:64]).eval()
            np.testing.assert_allclose(np.asarray(again(self.pictures[:8])), got[:8], atol=0.05 * np.abs(got).max())
        module.train()
        train(module, self.pictures, self.labels, 20, lr=1e-3, then=lambda i: i == 10 and (compress.disable_observer(module), compress.freeze_bn_stats(module)))
        report = self.agrees(module, self.pictures[:64])
        self.assertEqual(len(report.layers), 3)
        self.assertEqual((self.folder / "net.onnx").read_bytes(), source)

    def test_recurrences(self):
        """Weights of LSTM and GRU are rounded by rows of gates, as NumPy does it; gradients pass; the integer model has the same integers."""
        random = np.random.default_rng(7)
        x, labels = random.normal(size=(24, 6, 5)).astype("float32"), np.arange(24) % 3

        class Reader(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.recurrence, self.head = kind(5, 16, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(32, 3)

            def forward(self, x):
                return self.head(self.recurrence(x)[0][:, -1])

        for kind, bits, weights in ((nn.LSTM, 8, "minmax"), (nn.LSTM, 4, "minmax"), (nn.GRU, 4, "minmax"), (nn.GRU, 4, "lsq")):
            nn.seed(3)
            network = compress.prepare_qat(Reader(kind), x, weight_bits=bits, weights=weights)
            gates = [layer for layer in network._layers if layer.gates]
            self.assertEqual(len(gates), 4)
            step = optim.TrainingStep(lambda a, b: nn.functional.cross_entropy(network(a), b), optim.Adam(network, lr=0.02 if weights == "minmax" else 0.004))
            losses = [float(step(x, labels)) for _ in range(60)]
            self.assertLess(losses[-1], 0.5 * losses[0])
            network.eval()
            most, before = 2**(bits - 1) - 1, {name: np.array(value) for name, value in network.state_dict().items()}
            rounded = {}
            for layer in gates:
                weight = np.asarray(before[layer.weights])
                rows = weight.reshape(-1, weight.shape[-1])
                if weights == "minmax":
                    scale = np.abs(rows).max(1, keepdims=True) / np.float32(most)
                    shifted = scale.view(np.uint32)  # to bfloat16, halves to even
                    scale = ((shifted + 0x7fff + (shifted >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
                else:
                    scale = np.maximum(before[f"{layer.weights}.step"], np.float32(1e-12)).reshape(-1, 1)
                rounded[layer.weights] = (np.clip(np.round(rows / scale), -most, most) * scale).reshape(weight.shape).astype("float32")
            # With the rounded weights in f32 and no rounding of its own, the network gives the same.
            got = np.asarray(network(x))
            gradients_of = lambda: [np.asarray(g) for g in expr.gradients(nn.functional.cross_entropy(network(minnow.Var(x)), labels), [network._weights[name] for name in rounded])]
            through = gradients_of()
            heads = [layer for layer in network._layers if not layer.gates]
            compress.disable_observer(network)
            network._layers = heads
            network.load_state_dict({**before, **rounded})
            np.testing.assert_allclose(got, np.asarray(network(x)), rtol=1e-4, atol=1e-5)
            if weights == "minmax":  # nothing is clipped, so gradients are those at the rounded weights
                for a, b in zip(through, gradients_of()):
                    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)
            network._layers = [*heads, *gates]
            network.load_state_dict(before)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an .onnx file stores 4 bits in 8
                for ending, error in (("onnx", 1e-4), ("minnow", 0.05)):  # runs of .minnow round inputs and states, too
                    report = compress.convert(network, self.folder / f"recurrent.{ending}", evaluation=x)
                    self.assertEqual([layer.weight_bits for layer in report.layers], [bits] * 3)
                    np.testing.assert_allclose(minnow.load(self.folder / f"recurrent.{ending}")(x), got, rtol=error, atol=error * np.abs(got).max())

    def test_switches(self):
        module = compress.prepare_qat(network("convolution"), self.pictures[:32])
        ranges = lambda: {name: float(value) for name, value in module.named_buffers() if name.endswith((".low", ".high"))}  # noqa: E731
        start = ranges()
        module.apply(compress.disable_observer)
        module(self.pictures * 5)
        self.assertEqual(ranges(), start)
        module.apply(compress.enable_observer)
        module(self.pictures * 5)
        self.assertNotEqual(ranges(), start)
        module.eval()
        rounded = np.asarray(module(self.pictures[:4]))
        compress.disable_fake_quant(module)
        plain = np.asarray(module(self.pictures[:4]))
        self.assertGreater(np.abs(plain - rounded).max(), 0)
        compress.enable_fake_quant(module)
        np.testing.assert_array_equal(np.asarray(module(self.pictures[:4])), rounded)
        module.train()
        compress.freeze_bn_stats(module)
        means = {name: np.array(value) for name, value in module.named_buffers() if "running" in name}
        module(self.pictures)
        for name, value in module.named_buffers():
            if "running" in name:
                np.testing.assert_array_equal(np.asarray(value), means[name])
        compress.update_bn_stats(module)
        module(self.pictures)
        self.assertTrue(any(np.abs(np.asarray(value) - means[name]).max() > 0 for name, value in module.named_buffers() if "running" in name))

    def test_state(self):
        module = compress.prepare_qat(network("depthwise"), self.pictures[:32], weights="lsq", activations="lsq")
        train(module, self.pictures, self.labels, 5)
        other = compress.prepare_qat(network("depthwise"), self.pictures[:32], weights="lsq", activations="lsq")
        other.load_state_dict(module.state_dict())
        np.testing.assert_array_equal(np.asarray(other.eval()(self.pictures[:4])), np.asarray(module.eval()(self.pictures[:4])))

    def test_errors(self):
        net, x = network("convolution"), self.pictures[:8]
        out = self.folder / "no.minnow"
        for kind, words, call in [
                (minnow.InvalidArgument, "weights", lambda: compress.prepare_qat(net, x, weights="best")),
                (minnow.InvalidArgument, "activations", lambda: compress.prepare_qat(net, x, activations="best")),
                (minnow.InvalidArgument, "needs calibration", lambda: compress.prepare_qat(net, activations="lsq", example_inputs=[x])),
                (minnow.InvalidArgument, "from 2 to 8", lambda: compress.prepare_qat(net, x, weight_bits=9)),
                (minnow.InvalidArgument, "averaging", lambda: compress.prepare_qat(net, x, averaging=0.0)),
                (minnow.InvalidArgument, "example_inputs", lambda: compress.prepare_qat(net)),
                (minnow.InvalidArgument, "none of minmax", lambda: compress.prepare_qat(net, x, method="best")),
                (minnow.InvalidArgument, "skip: the model has no", lambda: compress.prepare_qat(net, x, skip=["nothing"])),
                (minnow.InvalidType, "a list of names", lambda: compress.prepare_qat(net, x, skip="Conv")),
                (minnow.InvalidArgument, "fits", lambda: compress.prepare_qat(net, x, parameters="nothing")),
                (minnow.InvalidArgument, "not finite", lambda: compress.prepare_qat(net, np.full_like(x, np.nan))),
                (minnow.InvalidArgument, "the array for input \"input\" is empty", lambda: compress.prepare_qat(net, x[:0], example_inputs=[x])),
                (minnow.InvalidArgument, "sample 0", lambda: compress.prepare_qat(net, [[x[:1], x[:1]]], example_inputs=[x])),
                (minnow.Unsupported, "no layer", lambda: compress.prepare_qat(nn.ReLU(), x)),
                (minnow.InvalidArgument, "already", lambda: compress.prepare_qat(compress.prepare_qat(net, x), x)),
                (minnow.FileNotFound, "nowhere", lambda: compress.prepare_qat("nowhere.onnx", x)),
                (minnow.InvalidArgument, "what prepare_qat", lambda: compress.convert(net, out)),
                (minnow.InvalidArgument, "writes .minnow and .onnx", lambda: compress.convert(compress.prepare_qat(net, x), self.folder / "no.tflite")),
                (minnow.InvalidType, "a module", lambda: compress.disable_observer(3))]:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()
            self.assertEqual(os.listdir(self.folder), [])


class Teaching(InFolder):
    def model(self, kind="depthwise"):
        """A trained network as a file."""
        net = network(kind)
        train(net, self.pictures, self.labels, 60)
        net.eval()
        x = expr.placeholder("x", "float32", (None, 3, 8, 8))
        expr.save([net(x)], str(self.folder / f"{kind}.onnx"), [x])
        return net, self.folder / f"{kind}.onnx"

    def test_answers_of_a_teacher(self):
        """A student without labels learns what the teacher, a file or a module, answers; the teacher stays as it is."""
        teacher, path = self.model()
        wanted = np.asarray(teacher(self.pictures)).argmax(1)
        before = path.read_bytes(), {name: np.array(value) for name, value in teacher.state_dict().items()}
        for source in (teacher, path):
            student = network("convolution")
            lesson = compress.Distillation(student, source, temperature=2.0, alpha=1.0)
            self.assertEqual(len(lesson.parameters()), len(student.parameters()))
            step = optim.TrainingStep(lambda x: lesson.compare((x,)), optim.Adam(lesson, lr=0.02))
            losses = [float(step(self.pictures[i % 4 * 64:i % 4 * 64 + 64])[0]) for i in range(60)]
            self.assertLess(np.mean(losses[-5:]), 0.5 * np.mean(losses[:5]))
            self.assertGreater((np.asarray(student.eval()(self.pictures)).argmax(1) == wanted).mean(), 0.8)
        self.assertEqual(path.read_bytes(), before[0])
        for name, value in teacher.state_dict().items():
            np.testing.assert_array_equal(np.asarray(value), before[1][name])

    def test_the_loss_is_the_papers(self):
        student, teacher = network("dense").eval(), nn.Sequential(nn.Flatten(), nn.Linear(192, 4))
        x, y = self.pictures[:8], self.labels[:8]
        lesson = compress.Distillation(student, teacher, temperature=3.0, alpha=0.7)
        loss = float(lesson.loss(x, y)[0])

        def logs(scores, temperature):
            scores = np.asarray(scores, "float64") / temperature
            return scores - scores.max(1, keepdims=True) - np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True))
        own, theirs = logs(student(x), 3.0), logs(teacher(x), 3.0)
        soft = 9.0 * (np.exp(theirs) * (theirs - own)).sum(1).mean()
        hard = -logs(student(x), 1.0)[np.arange(8), y].mean()
        self.assertAlmostEqual(loss, 0.7 * soft + 0.3 * hard, places=4)

    def test_features(self):
        """Features of models of files and of modules, with a projection where channels differ."""
        teacher, path = self.model()
        loaded = minnow.load_trainable(path).eval()
        known = [outputs[0] for _, op, _, outputs in loaded._model.nodes if op == "Relu"]
        student = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4))
        for source, name in ((teacher, "2"), (path, known[0]), (loaded, known[0])):
            lesson = compress.Distillation(student, source, features={"1": name}, feature_weight=2.0)
            with self.assertRaisesRegex(minnow.InvalidArgument, "call prepare"):
                lesson.loss(self.pictures[:4], self.labels[:4])
            lesson.prepare(self.pictures[:2])
            self.assertEqual([list(value.shape) for key, value in lesson.named_parameters() if key.startswith("projections")], [[8, 5, 1, 1], [8]])
            plain = float(compress.Distillation(student, source).loss(self.pictures[:4], self.labels[:4])[0])
            loss = float(lesson.loss(self.pictures[:4], self.labels[:4])[0])
            own = np.asarray(lesson.projections["1"](student[1](student[0](self.pictures[:4]))))
            theirs = np.asarray(teacher[2](teacher[1](teacher[0](self.pictures[:4]))))
            self.assertAlmostEqual(loss, plain + 2.0 * float(np.square(own - theirs).mean()), places=3)
        rounding = compress.prepare_qat(path, self.pictures[:32])
        lesson = compress.Distillation(rounding, path, features={known[0]: known[0]})
        step = optim.TrainingStep(lesson.loss, optim.Adam(lesson, lr=1e-3))
        losses = [float(step(self.pictures[:64], self.labels[:64])[0]) for _ in range(10)]
        self.assertTrue(np.isfinite(losses).all())

    def test_distillation_errors(self):
        student, teacher = network("dense"), network("dense")
        for kind, words, call in [
                (minnow.InvalidType, "a student is a module", lambda: compress.Distillation(3, teacher)),
                (minnow.InvalidArgument, "temperature", lambda: compress.Distillation(student, teacher, temperature=0)),
                (minnow.InvalidArgument, "alpha", lambda: compress.Distillation(student, teacher, alpha=2)),
                (minnow.InvalidArgument, "feature_weight", lambda: compress.Distillation(student, teacher, feature_weight=-1)),
                (minnow.InvalidArgument, 'the student has no module or value "a"', lambda: compress.Distillation(student, teacher, features={"a": "1"})),
                (minnow.InvalidArgument, 'the teacher has no module or value "b"', lambda: compress.Distillation(student, teacher, features={"1": "b"})),
                (minnow.InvalidArgument, "has the shape", lambda: compress.Distillation(student, nn.Sequential(nn.Flatten(), nn.Linear(192, 5))).loss(self.pictures[:2], self.labels[:2])),
                (minnow.InvalidArgument, "has the shape", lambda: compress.Distillation(student, network("convolution"), features={"1": "0"}).prepare(self.pictures[:2])),
                (minnow.InvalidArgument, "inputs and classes", lambda: compress.Distillation(student, teacher).loss(self.pictures[:2])),
                (minnow.FileNotFound, "nowhere", lambda: compress.Distillation(student, "nowhere.onnx"))]:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_reconstruction(self):
        """At 3 bits the outputs come nearer to those of the f32 model."""
        _, path = self.model()
        source = path.read_bytes()
        wanted = np.asarray(minnow.load(path)(self.pictures))

        def sqnr(file):
            return 10 * np.log10(np.square(wanted).sum() / np.square(wanted - np.asarray(minnow.load(file)(self.pictures))).sum())
        minnow.quantize(path, self.folder / "plain.minnow", self.pictures[:64], weight_bits=3)
        made = compress.reconstruct(path, self.folder / "tuned.minnow", self.pictures[:64], weight_bits=3, steps=120, batch=8)
        self.assertGreaterEqual(made.after, made.before)
        self.assertGreater(sqnr(self.folder / "tuned.minnow"), sqnr(self.folder / "plain.minnow") + 1)
        self.assertEqual(path.read_bytes(), source)
        first = (self.folder / "tuned.minnow").read_bytes()
        compress.reconstruct(path, self.folder / "tuned.minnow", self.pictures[:64], weight_bits=3, steps=120, batch=8)
        self.assertEqual((self.folder / "tuned.minnow").read_bytes(), first)
        for words, call in [("4 samples", lambda: compress.reconstruct(path, self.folder / "no.minnow", self.pictures[:3])), ("steps", lambda: compress.reconstruct(path, self.folder / "no.minnow", self.pictures, steps=0)),
                            ("writes", lambda: compress.reconstruct(path, self.folder / "no.txt", self.pictures)), ("not a path", lambda: compress.reconstruct(path, self.folder / "no.minnow", str(path)))]:
            with self.subTest(words), self.assertRaisesRegex(minnow.Error, words):
                call()
        self.assertFalse((self.folder / "no.minnow").exists())


class Malformed(InFolder):
    """Calibration sets and settings that do not fit: one sentence, no file, no change of the model. With those of tests/cli/quantize_test.py and
    tests/python/train_test.py these are far more than 100."""
    def test_prepare_qat(self):
        x = expr.placeholder("x", "float32", (None, 3, 8, 8))
        net = network("convolution").eval()
        expr.save([net(x)], str(self.folder / "net.onnx"), [x])
        path, good = self.folder / "net.onnx", self.pictures[:4]
        before, tried = path.read_bytes(), 0
        sets = [good.astype("int64"), good > 0, good[:0], good[:, :2], good[..., :5], good[0], good[0, 0], np.where(good > 2, np.nan, good), np.where(good > 2, np.inf, good),
                good.reshape(4, -1), good.transpose(0, 2, 3, 1), {}, {"y": good}, {"x": good, "z": good}, {"x": good[:0]}, [], [[]], [[good[:1], good[:1]]], [{"y": good[:1]}], [good[0, 0]], 3, 1.5, object(),
                [None], [good[:1], good[:1, :2]], "nowhere.npz", "", str(path), [["a"]], {"x": "a"}, np.zeros((0,), "float32"), np.float32(1), ["a"]]
        settings = [{key: value} for key, values in {"weights": ["kl", "", None, 3], "activations": ["mse", "", None, 3], "weight_bits": [1, 9, 0, -8, 4.5, "8", None, True], "averaging": [0, -1, 2, "x", float("nan")],
                                                     "skip": ["Conv", ["nobody"], [""]], "method": ["best", "", None, 3], "parameters": ["nobody", ["*", "nobody"]]}.items() for value in values]
        for calibration, options in [*((one, {}) for one in sets), *((good, one) for one in settings)]:
            tried += 1
            with self.subTest(calibration=repr(calibration)[:60], options=options):
                with self.assertRaises((minnow.Error, TypeError)) as caught:
                    compress.prepare_qat(path, calibration, **options)
                self.assertIsInstance(caught.exception, minnow.Error)
                self.assertNotIn("\n", str(caught.exception).strip())
                self.assertEqual(os.listdir(self.folder), ["net.onnx"])
        self.assertEqual(path.read_bytes(), before)
        print("malformed:", tried)
        self.assertGreaterEqual(tried, 60)


if __name__ == "__main__":
    unittest.main()
