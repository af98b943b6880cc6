#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.load_trainable: training the last layer of every trained model of the corpus lowers its loss."""
import collections
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    from minnow import _minnow, expr
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS = Path(os.environ.get("MINNOW_CORPUS", ""))
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


class ImportedTraining(unittest.TestCase):
    def test_the_last_layer_of_every_model_of_the_corpus(self):
        if not (CORPUS / "manifest.json").exists():
            self.skipTest("MINNOW_CORPUS is not set")
        lowered, left = collections.Counter(), {}
        for case in json.loads((CORPUS / "manifest.json").read_text())["cases"]:
            path = path_of(case) if case["real"] else None
            if path is None:
                continue
            name = f"{case['format']}/{case['name']}"
            try:
                found = train(case, path)
            except minnow.Error as error:
                found = str(error)
            if isinstance(found, str):
                left[name] = found
            else:
                lowered[case["format"]] += 1
        print(sum(lowered.values()), "models:", dict(lowered))
        for name, why in left.items():
            print(f"  {name}: {why}")
        for format in ("caffe", "tensorflow", "tflite", "torchscript", "mnn"):
            self.assertGreater(lowered[format], 0, format)
        self.assertGreaterEqual(sum(lowered.values()), 50)
        self.assertEqual({name: why for name, why in left.items() if why != "no weights of floats" and name not in KNOWN}, {})

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
