#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications in the formats that TensorFlow writes: a frozen graph and a SavedModel with open batch against Keras, and
TFLite (float, float16, dynamic range, full integers) against TensorFlow's own sets of kernels.

Weights are random, and the statistics of batches are those of pictures. With names as arguments only those networks are tested, else the
smallest; "all" tests every one.
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
# Whose full integers are those of TensorFlow's own default kernels, XNNPACK's, number by number.
EXACT = {"MobileNet", "MobileNetV2", "DenseNet121", "ResNet50V2", "Xception"}
NAMES = [name for name in sys.argv[1:] if name in SIDE]
if "all" in sys.argv:
    NAMES = list(SIDE)
del sys.argv[1:]


def pictures(seed, count, side):
    coarse = np.random.default_rng(seed).uniform(0, 255, (count, side // 8, side // 8, 3)).astype(np.float32)
    return tf.image.resize(coarse, (side, side)).numpy()


def network(name, trained=True):
    """With the statistics of pictures, where `trained`."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    side = SIDE[name]
    options = {"include_preprocessing": True} if name in ("MobileNetV3Small", "EfficientNetV2B0", "ConvNeXtTiny") else {}
    if name == "NASNetMobile":
        options = {"input_shape": (side, side, 3)}
    model = getattr(keras.applications, name)(weights=None, classes=1000, classifier_activation=None, input_shape=options.pop("input_shape", (side, side, 3)), **options)
    if not trained:
        return model
    norms = [layer for layer in model._flatten_layers() if isinstance(layer, keras.layers.BatchNormalization)]
    for layer in norms:
        layer.momentum = 0.0
    model(pictures(1, 8, side), training=True)
    return model


def frozen_function(model, side):
    """Return the model with an open batch as a function, TensorFlow's trace of it, and the trace with variables as constants."""
    function = tf.function(lambda x: model(x, training=False), input_signature=[tf.TensorSpec([None, side, side, 3], tf.float32, name="x")])
    concrete = function.get_concrete_function()
    return function, concrete, convert_variables_to_constants_v2(concrete)


def to_integers(converter, side):
    samples = pictures(2, 4, side)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([one[None]] for one in samples)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter


def in_integers(name):
    """A .tflite file of the network in full integers."""
    frozen = frozen_function(network(name), SIDE[name])[2]
    return to_integers(tf.lite.TFLiteConverter.from_concrete_functions([frozen]), SIDE[name]).convert()


def in_doubles(name, model, x):
    """Return the model's result with weights and sums in f64."""
    keras.backend.set_floatx("float64")
    try:
        wide = network(name, trained=False)
        wide.set_weights([weight.astype(np.float64) for weight in model.get_weights()])
        return wide(x.astype(np.float64), training=False).numpy()
    finally:
        keras.backend.set_floatx("float32")


def interpreted(path, resolver, x):
    """Return the input's name, the input, and TensorFlow's answer for a .tflite file with one of its sets of kernels."""
    interpreter = tf.lite.Interpreter(str(path), experimental_op_resolver_type=resolver)
    [given], [wanted] = interpreter.get_input_details(), interpreter.get_output_details()
    if given["dtype"] == np.int8:
        scale, zero = given["quantization"]
        x = np.clip(np.round(x / scale) + zero, -128, 127).astype(np.int8)
    interpreter.resize_tensor_input(given["index"], x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    return given["name"], x, interpreter.get_tensor(wanted["index"])


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
                theirs = model(x).numpy()
                off = error(actual, theirs)
                if off < 1e-4:
                    worst = max(worst, off)
                    continue
                # Both round; f64 tells who is nearer. By plain sums Minnow must be at least as near as Keras, and about as near by default.
                exact = in_doubles(name, model, x)
                [plain] = self.outputs(target, {"x": x}, "--precision", "high").values()
                keras_off, plain_off, default_off = error(theirs, exact), error(plain, exact), error(actual, exact)
                self.note(f"{name}, {kind}, batch {batch}: {off:.1e}; from f64 Keras {keras_off:.1e}, Minnow {default_off:.1e}, by plain sums {plain_off:.1e}")
                self.assertLessEqual(plain_off, keras_off)
                self.assertLessEqual(default_off, 1.5 * keras_off)
            self.note(f"{name}, {kind}: {worst:.1e}")

    def check_tflite(self, name, converter, kind):
        with self.subTest(f"{name} TFLite {kind}"):
            path = self.folder / f"{kind.replace(' ', '_')}.tflite"
            path.write_bytes(converter.convert())
            target = self.converted(path)
            kernels = tf.lite.experimental.OpResolverType
            for batch in (1, 2):
                x = pictures(20 + batch, batch, SIDE[name])
                given, fed, expected = interpreted(path, kernels.BUILTIN_WITHOUT_DEFAULT_DELEGATES, x)
                [actual] = self.outputs(target, {given: fed}).values()
                self.assertEqual(actual.dtype, expected.dtype)
                self.assertEqual(actual.shape, expected.shape)
                if kind in ("float", "float16"):
                    worst = error(actual, expected)
                    self.note(f"{name}, TFLite {kind}, batch {batch}: {worst:.1e}")
                    self.assertLess(worst, 1e-4)
                    continue
                # A rounding in the other direction changes everything after it: be as near to one set of kernels as the sets are to each other.
                answers = [expected, *(interpreted(path, other, x)[2] for other in (kernels.BUILTIN_REF, kernels.AUTO))]
                away = [float(np.abs(actual.astype(np.float64) - one).mean()) for one in answers]
                apart = max(float(np.abs(one.astype(np.float64) - other).mean()) for one in answers for other in answers)
                scale = 1 if expected.dtype == np.int8 else float(np.abs(expected).max())
                unit = "steps" if expected.dtype == np.int8 else "of the largest"
                self.note(f"{name}, TFLite {kind}, batch {batch}: in the mean {min(away) / scale:.2g} {unit} from the nearest of its sets of kernels, "
                          f"which are up to {apart / scale:.2g} apart; of single numbers {np.abs(actual.astype(np.float64) - expected).max() / scale:.2g}")
                if kind == "full integers" and name in EXACT:
                    self.assertEqual(away[-1], 0)
                self.assertLessEqual(min(away), max(1.2 * apart, 0.5 if expected.dtype == np.int8 else 1e-4 * scale))

    def test_networks(self):
        for name in NAMES or list(SIDE)[:1]:
            model, side = network(name), SIDE[name]
            function, concrete, frozen = frozen_function(model, side)
            path = self.folder / f"{name}.pb"
            path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
            self.check_floats(name, model, path, "frozen graph")
            saved = self.folder / f"{name}.saved"
            module = tf.Module()
            module.model, module.call = model, function
            tf.saved_model.save(module, str(saved), signatures=concrete)
            self.check_floats(name, model, saved, "SavedModel")
            for kind in ("float", "float16", "dynamic range", "full integers"):
                converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
                if kind != "float":
                    converter.optimizations = [tf.lite.Optimize.DEFAULT]
                if kind == "float16":
                    converter.target_spec.supported_types = [tf.float16]
                if kind == "full integers":
                    to_integers(converter, side)
                self.check_tflite(name, converter, kind)


if __name__ == "__main__":
    unittest.main()
