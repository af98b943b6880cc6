#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it trains every model of the corpus.
"""minnow.load_trainable: training the last layer of every trained model of the corpus lowers its loss."""
import collections
import json
import os
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import _minnow, data, expr, nn, optim
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS = Path(os.environ.get("MINNOW_CORPUS", ""))
SOURCE = Path(os.environ.get("MINNOW_SOURCE_DIR", Path(__file__).parents[2]))
MODELS = Path(os.environ.get("MINNOW_MODELS_DIR", ""))


def path_of(case):
    """The files of a case that are there."""
    folders = [CORPUS / case["format"] / case["name"], MODELS / case["format"] / case["name"]]
    for folder in folders:
        files = [file for file in sorted(folder.iterdir()) if file.name != "ref.npz" and not file.name.endswith(".data")] if folder.exists() else []
        if files:
            return files if len(files) > 1 else files[0]
    return None


def last_layer(outputs):
    """The parameter of the last weights: the last one that is longer than one along two dimensions or more."""
    found = [x for x in expr.trainables(outputs) if sum(length > 1 for length in x.shape) >= 2]
    return found[-1] if found else None


def train(case, path):
    """The loss before and after a step on the last layer; a text says why there is none."""
    module = minnow.load_trainable(path).eval()
    inputs = np.load(CORPUS / case["format"] / case["name"] / "ref.npz")
    given = [minnow.Var(inputs[f"input_{i}"] if f"input_{i}" in inputs else inputs[list(inputs)[i]]) for i in range(len(case["inputs"]))]
    outputs = module(*given)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    outputs = [x for x in outputs if str(x.dtype).startswith("float")]
    weight = last_layer(outputs[:1]) if outputs else None
    if weight is None:
        return "no weights of floats"
    random = np.random.default_rng(0)
    value = np.array(outputs[0])
    target = minnow.Var((value + 0.1 * (1 + np.abs(value)) * random.standard_normal(value.shape)).astype(value.dtype))
    loss = ((outputs[0] - target) ** 2).mean()
    gradient = _minnow.gradients(loss, [weight])[0]
    before = float(loss)
    g, w = np.array(gradient, "float64"), np.array(weight)
    if not np.abs(g).max() > 0:
        return "the gradient is zero"
    for factor in 10.0 ** -np.arange(9):
        weight.assign(minnow.Var((w - factor * before / np.square(g).sum() * g).astype(w.dtype)))
        again = module(*given)
        again = [x for x in (again if isinstance(again, tuple) else (again,)) if str(x.dtype).startswith("float")][0]
        after = float(((again - target) ** 2).mean())
        if after < before:
            return before, after
    return f"the loss stays {before}"


def losses():
    """(format/name, what `train` gives) of each trained model of the corpus that is there; the text of the error where there is one."""
    for case in json.loads((CORPUS / "manifest.json").read_text())["cases"]:
        path = path_of(case) if case["real"] else None
        if path is None:
            continue
        try:
            found = train(case, path)
        except minnow.Error as error:
            found = str(error)
        yield f"{case['format']}/{case['name']}", found


class ImportedTraining(unittest.TestCase):
    def test_the_last_layer_of_every_model_of_the_corpus(self):
        if not (CORPUS / "manifest.json").exists():
            self.skipTest("MINNOW_CORPUS is not set")
        lowered, left = collections.Counter(), {}
        for name, found in losses():
            if isinstance(found, str):
                left[name] = found
            else:
                lowered[name.split("/")[0]] += 1
        print(sum(lowered.values()), "models:", dict(lowered))
        for name, why in left.items():
            print(f"  {name}: {why}")
        for format in ("caffe", "tensorflow", "tflite", "torchscript", "mnn"):
            self.assertGreater(lowered[format], 0, format)
        self.assertGreaterEqual(sum(lowered.values()), 50)
        self.assertEqual({name: why for name, why in left.items() if why != "no weights of floats" and name not in KNOWN}, {})

    def test_weights_have_the_names_of_their_layers(self):
        if not (CORPUS / "manifest.json").exists():
            self.skipTest("MINNOW_CORPUS is not set")
        for name, wanted in (("caffe/lenet_random", ["conv1.bias", "conv1.weight", "ip1.bias", "ip1.weight"]),
                             ("mnn/caffe_mtcnn_det1", ["conv1.bias", "conv1.weight", "conv4-2.bias", "conv4-2.weight"])):
            path = path_of({"format": name.split("/")[0], "name": name.split("/")[1]})
            names = [name for name, _ in minnow.load_trainable(path).named_parameters()]
            self.assertEqual([name for name in wanted if name not in names], [], names)
            self.assertEqual([name for name in names if name.startswith("constant")], [])
            with tempfile.TemporaryDirectory() as folder:  # .minnow files have them, too
                minnow.convert(path, f"{folder}/model.minnow", optimize="train")
                self.assertEqual([name for name, _ in minnow.load_trainable(f"{folder}/model.minnow").named_parameters()], names)

    def test_biases_by_what_the_model_does_with_them(self):
        if not (CORPUS / "manifest.json").exists():
            self.skipTest("MINNOW_CORPUS is not set")
        module = minnow.load_trainable(path_of({"format": "tensorflow", "name": "mlperf_resnet8"}))
        shapes = {name: value.shape for name, value in module.named_parameters()}
        names = nn.train_biases_only(module)
        self.assertEqual({sum(length > 1 for length in shapes[name]) for name in names}, {1})
        self.assertEqual(len(names), 17)  # of 9 convolutions, a dense layer and 7 normalizations

    def test_constants_without_effect_are_no_parameters_by_default(self):
        x = expr.placeholder("x", "float32", (None, 2))
        weight, threshold = expr.trainable(minnow.Var([[1.0, 2.0]], "float32"), "weight"), expr.trainable(minnow.Var(0.5, "float32"), "threshold")
        with tempfile.TemporaryDirectory() as folder:
            expr.save([expr.cast(expr.greater(x, threshold), to="float32") * weight], f"{folder}/model.minnow")
            module = minnow.load_trainable(f"{folder}/model.minnow")
            self.assertEqual([name for name, _ in module.named_parameters()], ["weight"])
            step = optim.TrainingStep(lambda x: (module(x) ** 2).sum(), optim.SGD(module, 0.1))
            self.assertAlmostEqual(float(step(minnow.Var([[1.0, 1.0]], "float32"))), 5.0, 5)
            module = minnow.load_trainable(f"{folder}/model.minnow", ["weight", "thres*"])
            with self.assertRaisesRegex(minnow.InvalidArgument, 'does not depend on the parameter "threshold".*freeze it'):
                optim.TrainingStep(lambda x: (module(x) ** 2).sum(), optim.SGD(module, 0.1))(minnow.Var([[1.0, 1.0]], "float32"))

    def test_batch_normalization_in_training(self):
        x = expr.placeholder("x", "float32", (None, 2, 3))
        scale, bias = (expr.trainable(minnow.Var([a, a], "float32"), name) for name, a in (("bn.weight", 1.0), ("bn.bias", 0.0)))
        mean, variance = (expr.trainable(minnow.Var([a, a], "float32"), name) for name, a in (("bn.mean", 0.0), ("bn.var", 1.0)))
        y = expr.batch_normalization(x, scale, bias, mean, variance, momentum=0.5)
        with tempfile.TemporaryDirectory() as folder:
            expr.save([y], os.path.join(folder, "model.minnow"))
            module = minnow.load_trainable(os.path.join(folder, "model.minnow")).eval()
            self.assertEqual([name for name, _ in module.named_parameters()], ["bn.bias", "bn.weight"])
            value = np.arange(12, dtype="float32").reshape(2, 2, 3)
            np.testing.assert_allclose(module(value), value, rtol=1e-5)
            made = module.train()(value)
            np.testing.assert_allclose(np.array(made).mean(axis=(0, 2)), 0, atol=1e-6)
            np.testing.assert_allclose(dict(module.named_buffers())["bn.mean"], 0.5 * value.mean(axis=(0, 2)), rtol=1e-6)
            module.eval()
            module.export(os.path.join(folder, "again.minnow"), value)
            np.testing.assert_allclose(minnow.load(os.path.join(folder, "again.minnow"))(value), module(value), rtol=1e-6)

    def test_dropout_by_keys(self):
        x = expr.placeholder("x", "float32", (None, 8))
        w = expr.trainable(np.ones((8, 8), "float32"), "w")
        with tempfile.TemporaryDirectory() as folder:
            for form in ("onnx", "minnow"):
                path = os.path.join(folder, f"model.{form}")
                expr.save([expr.dropout(x, minnow.Var(0.25, "float32")) @ w], path)
                module = minnow.load_trainable(path)
                value = np.ones((50, 8), "float32")
                np.testing.assert_array_equal(module.eval()(value), np.full((50, 8), 8))
                module.train()
                results = []
                for seed in (3, 3, 4):
                    nn.seed(seed)
                    results.append(np.array(module(value)))
                np.testing.assert_array_equal(results[0], results[1])
                self.assertFalse(np.array_equal(results[0], results[2]))
                self.assertAlmostEqual(float(results[0].mean()), 8, delta=0.5)
                self.assertEqual({round(one * 3 / 4, 3) for one in results[0].ravel().tolist()} - set(range(9)), set())
                step = optim.TrainingStep(lambda x: module(x).sum(), optim.SGD(module, lr=0.0))
                self.assertNotEqual(float(step(value)), float(step(value)))

    def test_a_frozen_batch_normalization_stays_as_it_is(self):
        random = np.random.default_rng(1)
        module = minnow.load_trainable(SOURCE / "tests/importers/mnn/data/batch_norm.mnn")
        value = random.normal(2, 3, (4, 3, 6, 6)).astype("float32")
        module.eval()
        wanted = np.array(module(value))
        module.train()
        self.assertFalse(np.allclose(module(value), wanted))
        module = minnow.load_trainable(SOURCE / "tests/importers/mnn/data/batch_norm.mnn")
        nn.freeze(module, ["bn.weight", "bn.bias"])
        np.testing.assert_allclose(module(value), wanted, rtol=1e-5, atol=1e-6)

    def test_statistics_of_every_format_with_batch_normalization(self):
        """One epoch of a recipe: running statistics follow the batches, are saved, and a training that is killed goes on to the bit."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            x = expr.placeholder("x", "float32", (None, 3, 8, 8))
            kernel, ones = (expr.trainable(np.float32(one), name) for one, name in ((np.random.default_rng(1).normal(0, 0.3, (4, 3, 3, 3)), "w"), (np.ones(4), "scale")))
            y = expr.batch_normalization(expr.conv(x, kernel), ones, expr.const(np.zeros(4, "float32")), expr.const(np.zeros(4, "float32")), expr.const(np.ones(4, "float32")))
            for form in ("onnx", "minnow"):
                expr.save([expr.dropout(expr.relu(y), minnow.Var(0.2, "float32"))], folder / f"model.{form}")
            with tarfile.open(SOURCE / "tests/importers/torchscript/cases.tar.xz") as files:
                files.extract("torchscript/BatchNorm1d_traced/model.pt", folder)
            cases = {"onnx": (folder / "model.onnx", (3, 8, 8)), "minnow": (folder / "model.minnow", (3, 8, 8)), "mnn": (SOURCE / "tests/importers/mnn/data/batch_norm.mnn", (3, 6, 6)),
                     "torchscript": (folder / "torchscript/BatchNorm1d_traced/model.pt", (3, 4)), "caffe": (CORPUS / "caffe/mobilenet_v2_random", (3, 32, 32)),
                     "tensorflow": (CORPUS / "tensorflow/mlperf_kws", (1, 49, 10))}
            for form, (path, shape) in cases.items():
                with self.subTest(form):
                    if path.is_dir():
                        path = path_of({"format": form, "name": path.name})
                    elif form in ("caffe", "tensorflow"):
                        continue  # no corpus
                    self.resumes(folder / form, path, shape)

    def resumes(self, output, path, shape):
        random = np.random.default_rng(2)
        images = random.normal(1, 2, (10, *shape)).astype("float32")
        labels = np.arange(10) % 2
        images[labels == 1] += 1
        results = []
        for stop in (0, 3):
            def callback(row):
                if row["step"] == stop:
                    raise KeyboardInterrupt
            recipe = {"model": path, "output": output / str(stop), "epochs": 2, "batch": 5, "data": {"train": data.TensorDataset(images, labels), "standardize": False, "classes": ["a", "b"]},
                      "parameters": {"head": form_of_head(path)}}
            if stop:
                with self.assertRaises(KeyboardInterrupt):
                    minnow.train(recipe, callback=callback)
            results.append(minnow.train(recipe))
        states = [{name: np.array(value) for name, value, _ in made.network._named_vars()} for made in results]
        for name, value in states[0].items():
            np.testing.assert_array_equal(value, states[1][name], name)
        buffers = dict(results[0].network.named_buffers())
        self.assertTrue(buffers)
        fresh = minnow.load_trainable(path)
        changed = [not np.array_equal(value, buffers[name]) for name, value in fresh.named_buffers() if name in buffers]
        self.assertTrue(changed and all(changed), changed)
        wanted = np.array(results[0].network.eval()(images))
        wanted = np.exp(wanted) / np.exp(wanted).sum(1, keepdims=True)
        for name in ("model.minnow", "model.onnx"):
            np.testing.assert_allclose(minnow.load(output / "0" / name)(images), wanted, rtol=1e-3, atol=1e-5)


def form_of_head(path):
    """The value that the new head takes, or True: the small models have no head of their own."""
    if isinstance(path, list) or "corpus" in str(path):
        return True
    return expr.load(path).outputs[0].name


#: Models that have no gradient of their last layer, with the reason.
KNOWN = {
    "onnx/ddddocr_old_int8": "rounding to integers",
    "onnx/nudenet_320n": "no step of those tried lowers the loss of its boxes, which are in pixels",
    "onnx/silero_vad": "its weights are in the branches of an If",
    "onnx/silero_vad_op18_ifless": "a convolution behind an If has no known shape",
    "caffe/wechat_qr_detect": "the first output is a list of detections",
    "tflite/micro_keyword_svdf_int16": "the input is a sequence for a model with states",
    "tflite/micro_seanet_strided_slice31": "integers",
    "tflite/microwake_alexa": "the input is a sequence for a model with states",
    "torchscript/silero_vad_jit": "the input is a sequence for a model with states",
    "mnn/onnx_hey_mycroft_lstm": "a Slice whose places are computed",
}

if __name__ == "__main__":
    unittest.main()
