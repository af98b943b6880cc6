#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications in the formats that TensorFlow writes: a frozen graph and a SavedModel with open batch against Keras, and
TFLite (float, float16, dynamic range, full integers) against TensorFlow's own kernels.

Weights are random, and the statistics of batches are those of pictures. With names as arguments those networks alone are tried, else the
smallest; "all" takes every one.
"""
import os
import sys
import tempfile
import unittest
from pathlib import Path

from support import InFolder, run_minnow

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

SIDE = {"MobileNetV3Small": 96, "MobileNet": 96, "MobileNetV2": 96, "EfficientNetB0": 96, "EfficientNetV2B0": 96, "DenseNet121": 64, "ResNet50": 64,
        "ResNet50V2": 64, "InceptionV3": 96, "Xception": 96, "NASNetMobile": 224, "ConvNeXtTiny": 64}
NAMES = [name for name in sys.argv[1:] if name in SIDE]
if "all" in sys.argv:
    NAMES = list(SIDE)
del sys.argv[1:]


def pictures(seed, count, side):
    coarse = np.random.default_rng(seed).uniform(0, 255, (count, side // 8, side // 8, 3)).astype(np.float32)
    return tf.image.resize(coarse, (side, side)).numpy()


def network(name):
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    side = SIDE[name]
    options = {"include_preprocessing": True} if name in ("MobileNetV3Small", "EfficientNetV2B0", "ConvNeXtTiny") else {}
    if name == "NASNetMobile":
        options = {"input_shape": (side, side, 3)}
    model = getattr(keras.applications, name)(weights=None, classes=1000, classifier_activation=None, input_shape=options.pop("input_shape", (side, side, 3)), **options)
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    for layer in norms:
        layer.momentum = 0.0
    model(pictures(1, 8, side), training=True)
    return model


def error(actual, expected):
    return float(np.abs(actual.astype(np.float64) - expected).max() / max(np.abs(expected).max(), 1e-30))


class Applications(InFolder):
    def note(self, text):
        print(text, flush=True)

    def converted(self, path):
        target = self.folder / (path.name + ".minnow")
        result = run_minnow("convert", path, target)
        self.assertEqual(result.returncode, 0, result.stderr[:3000])
        return target

    def check_floats(self, name, model, path, kind):
        with self.subTest(f"{name} {kind}"):
            target = self.converted(path)
            worst = 0.0
            for batch in (1, 3):
                x = pictures(10 + batch, batch, SIDE[name])
                [actual] = self.outputs(target, {"x": x}).values()
                worst = max(worst, error(actual, model(x).numpy()))
            self.note(f"{name}, {kind}: {worst:.1e}")
            self.assertLess(worst, 1e-4)

    def check_tflite(self, name, converter, kind):
        with self.subTest(f"{name} TFLite {kind}"):
            path = self.folder / f"{kind.replace(' ', '_')}.tflite"
            path.write_bytes(converter.convert())
            target = self.converted(path)
            interpreter = tf.lite.Interpreter(str(path), experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
            [given], [wanted] = interpreter.get_input_details(), interpreter.get_output_details()
            worst, differing = 0.0, 0.0
            for batch in (1, 2):
                x = pictures(20 + batch, batch, SIDE[name])
                if given["dtype"] == np.int8:
                    scale, zero = given["quantization"]
                    x = np.clip(np.round(x / scale) + zero, -128, 127).astype(np.int8)
                interpreter.resize_tensor_input(given["index"], x.shape)
                interpreter.allocate_tensors()
                interpreter.set_tensor(given["index"], x)
                interpreter.invoke()
                expected = interpreter.get_tensor(wanted["index"])
                [actual] = self.outputs(target, {given["name"]: x}).values()
                self.assertEqual(actual.dtype, expected.dtype)
                self.assertEqual(actual.shape, expected.shape)
                if expected.dtype == np.int8:
                    steps = np.abs(actual.astype(int) - expected)
                    worst, differing = max(worst, float(steps.max())), max(differing, float((steps > 0).mean()))
                else:
                    worst = max(worst, error(actual, expected))
            unit = f" steps, {differing:.1%} differ" if expected.dtype == np.int8 else ""
            self.note(f"{name}, TFLite {kind}: {worst:.1e}{unit}")
            self.assertLessEqual(worst, {"full integers": 1, "dynamic range": 0.02}.get(kind, 1e-4))

    def test_networks(self):
        for name in NAMES or list(SIDE)[:1]:
            model, side = network(name), SIDE[name]
            function = tf.function(lambda x: model(x, training=False), input_signature=[tf.TensorSpec([None, side, side, 3], tf.float32, name="x")])
            concrete = function.get_concrete_function()
            frozen = convert_variables_to_constants_v2(concrete)
            path = self.folder / f"{name}.pb"
            path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
            self.check_floats(name, model, path, "frozen graph")
            saved = self.folder / f"{name}.saved"
            module = tf.Module()
            module.model, module.call = model, function
            tf.saved_model.save(module, str(saved), signatures=concrete)
            self.check_floats(name, model, saved, "SavedModel")
            for kind in ("float", "float16", "dynamic range", "full integers"):
                converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], model)
                if kind != "float":
                    converter.optimizations = [tf.lite.Optimize.DEFAULT]
                if kind == "float16":
                    converter.target_spec.supported_types = [tf.float16]
                if kind == "full integers":
                    samples = pictures(2, 4, side)
                    converter.representative_dataset = lambda: ([one[None]] for one in samples)
                    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
                    converter.inference_input_type = converter.inference_output_type = tf.int8
                self.check_tflite(name, converter, kind)


if __name__ == "__main__":
    unittest.main()
