#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integer models judged by their purpose: the number of the corpus' pictures that they classify correctly, beside the format's own engine
(corpus/README.md) and their floating twins. Their numbers alone say little, because the format's own kernels disagree."""
import csv
import os
import sys
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS, MODELS = Path(os.environ["MINNOW_CORPUS"]), Path(os.environ["MINNOW_MODELS_DIR"])
DATA = CORPUS / "data"
if not DATA.is_dir():
    print("the corpus is not there (MINNOW_CORPUS)")
    sys.exit(77)


def load(name):
    for folder in (CORPUS, MODELS):
        path = folder / "tflite" / name / "model.tflite"
        if path.exists():
            return minnow.load(str(path))
    raise unittest.SkipTest(f"{name} is not there")


def first(result):
    return result[0] if isinstance(result, tuple) else result


def right(name, inputs, labels):
    model = load(name)
    return sum(int(first(model(x)).argmax()) == label for x, label in zip(inputs, labels))


class Accuracy(unittest.TestCase):
    def check(self, name, inputs, labels, expected, spread):
        found = right(name, inputs, labels)
        print(f"{name}: {found} of {len(labels)} right, {expected} in the format's own engine")
        self.assertLessEqual(abs(found - expected), spread, name)

    def test_cifar10(self):
        data = np.load(DATA / "cifar10_test.npz")
        images, labels = data["images"], data["labels"]
        self.check("mlperf_resnet8_float", [x[None].astype(np.float32) for x in images], labels, 224, 1)
        self.check("mlperf_resnet8_int8", [(x[None].astype(np.int16) - 128).astype(np.int8) for x in images], labels, 222, 3)

    def test_mnist(self):
        data = np.load(DATA / "mnist_test_0_4000.npz")
        images, labels = data[data.files[0]][:1000], data[data.files[1]][:1000]
        if images.ndim == 1:
            images, labels = labels, images
        images = images.reshape(-1, 28, 28)
        self.check("micro_mnist_lstm_float", [x[None].astype(np.float32) / np.float32(255) for x in images], labels, 923, 2)
        self.check("coral_keras_lstm_mnist_ptq", [x[None] for x in images], labels, 874, 8)

    def test_imagenet(self):
        try:
            from PIL import Image
        except ImportError as error:
            self.skipTest(str(error))
        rows = list(csv.DictReader((DATA / "imagenet_224" / "labels.csv").read_text().splitlines()))
        images = [np.asarray(Image.open(DATA / "imagenet_224" / row["file"]).convert("RGB"))[None] for row in rows]
        labels = [int(row["label"]) + 1 for row in rows]  # these nets count from 1
        self.check("support_mobilenet_v1_025_224_float", [x.astype(np.float32) / np.float32(127.5) - 1 for x in images], labels, 85, 1)
        self.check("support_mobilenet_v1_025_224_quant", images, labels, 87, 3)


if __name__ == "__main__":
    unittest.main()
