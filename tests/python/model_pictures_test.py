#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that carry their preprocessing: the same inputs and answers as by hand, from Python and from the command."""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    import minnow.cv as cv
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS = Path(os.environ.get("MINNOW_CORPUS", ""))
PICTURES = CORPUS / "data" / "imagenet_224"
COMMAND = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"


class ModelPictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, shape, dtype="float32", **keys):
        """A model that gives its input, with the preprocessing."""
        x = minnow.expr.placeholder("x", dtype, shape)
        minnow.expr.save([x * 1], str(self.folder / "plain.minnow"))
        minnow.convert(self.folder / "plain.minnow", self.folder / "model.minnow", preprocess={"color": "auto", **keys})
        return minnow.load(self.folder / "model.minnow")

    def classifier(self, kind):
        path = CORPUS / "tflite" / f"support_mobilenet_v1_025_224_{kind}" / "model.tflite"
        if not path.exists() or not PICTURES.exists():
            self.skipTest(f"{path} is not there (MINNOW_CORPUS names its folder)")
        names = ["background", *(f"class {i}" for i in range(1000))]
        spec = self.folder / "spec.toml"
        spec.write_text('color = "rgb"\nmean = 127.5  # of pixels\nscale = "1/127.5"\n' if kind == "float" else 'color = "rgb"\n')
        minnow.convert(path, self.folder / f"{kind}.minnow", preprocess=spec, labels=names)
        return minnow.load(self.folder / f"{kind}.minnow")

    def test_accuracy_is_that_of_the_steps_by_hand(self):
        """Right answers that the corpus documents for these pictures, and the same tensors."""
        for kind, right in (("float", 85), ("quant", 87)):
            model, found = self.classifier(kind), 0
            for row in csv.DictReader((PICTURES / "labels.csv").read_text().splitlines()):
                picture = cv.imread(str(PICTURES / row["file"]))
                rgb = np.asarray(picture)[None, :, :, ::-1]
                by_hand = rgb if kind == "quant" else (rgb.astype("float32") - np.float32(127.5)) * np.float32(1 / 127.5)
                np.testing.assert_array_equal(np.asarray(model.preprocess(picture)), by_hand)
                best = model.classify(picture)
                scores = np.asarray(model(by_hand)).reshape(-1)
                self.assertEqual(best[0].index, int(scores.argmax()))
                self.assertEqual(best[0].label, model.labels[best[0].index])
                found += best[0].index == int(row["label"]) + 1
            self.assertEqual(found, right)

    def test_the_command_prints_labels(self):
        if not COMMAND.exists():
            self.skipTest("the command is not built")
        model = self.classifier("float")
        picture = PICTURES / "0006.jpg"
        run = [str(COMMAND), "run", str(self.folder / "float.minnow"), "--input", str(picture), "-o", str(self.folder)]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
        rows = json.loads(subprocess.run([*run, "--json"], capture_output=True, text=True, check=True).stdout)["labels"]
        best = model.classify(cv.imread(str(picture)))
        self.assertEqual([(row["label"], row["index"]) for row in rows], [(row.label, row.index) for row in best])
        for line, row, label in zip(printed, rows, best):
            self.assertAlmostEqual(row["probability"], label.probability, 6)
            self.assertEqual(line, f"{100 * label.probability:5.1f}%  {label.label}")

    def test_fits_and_interpolations_are_those_of_the_steps(self):
        picture = np.random.default_rng(1).integers(0, 256, (61, 87, 3), "uint8")
        rgb = picture[:, :, ::-1]

        def whole(image):
            return image.transpose(2, 0, 1)[None].astype("float32")

        np.testing.assert_array_equal(self.model((1, 3, 20, 30)).preprocess(picture), whole(np.asarray(cv.preprocess(picture, (30, 20), dtype="uint8", layout="nhwc"))[0]))
        for name, flag in (("cubic", cv.INTER_CUBIC), ("area", cv.INTER_AREA), ("lanczos4", cv.INTER_LANCZOS4), ("antialias", cv.INTER_ANTIALIAS | cv.INTER_LINEAR),
                           ("antialias_cubic", cv.INTER_ANTIALIAS | cv.INTER_CUBIC)):
            np.testing.assert_array_equal(self.model((1, 3, 20, 30), interpolation=name).preprocess(picture), whole(cv.resize(rgb, (30, 20), interpolation=flag)))
            cropped = cv.resize(rgb, (45, 32), interpolation=flag)[4:28, 10:34]  # 32 * 87 / 61 = 45.6; (45 - 24) / 2 = 10.5, to even
            np.testing.assert_array_equal(self.model((1, 3, 24, 24), interpolation=name, fit="crop", resize=32).preprocess(picture), whole(cropped))
            np.testing.assert_array_equal(self.model((1, 3, 24, 24), interpolation=name, fit="crop").preprocess(picture), whole(cv.resize(rgb[:, 13:74], (24, 24), interpolation=flag)))
        np.testing.assert_array_equal(self.model((1, 3, 40, 40), fit="letterbox").preprocess(picture), whole(cv.dnn.letterbox(rgb, (40, 40))[0]))
        np.testing.assert_array_equal(self.model((1, 3, 40, 40), fit="letterbox", padding=7).preprocess(picture), whole(cv.dnn.letterbox(rgb, (40, 40), (7, 7, 7))[0]))
        for keys in ({}, {"interpolation": "nearest"}):
            flag = cv.INTER_NEAREST if keys else cv.INTER_LINEAR
            for fit, by_hand in (({"fit": "crop"}, cv.resize(rgb[:, 13:74], (24, 24), interpolation=flag)),
                                 ({"fit": "crop", "resize": 32}, cv.resize(rgb, (45, 32), interpolation=flag)[4:28, 10:34])):
                np.testing.assert_allclose(self.model((1, 3, 24, 24), **keys, **fit).preprocess(picture), whole(by_hand), atol=1)
        mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        made = self.model((1, 3, 61, 87), divide=255, mean=mean, std=deviation).preprocess(picture)
        np.testing.assert_allclose(made, ((rgb / 255 - mean) / deviation).transpose(2, 0, 1)[None], rtol=2e-6)

    def test_shapes_dtypes_and_formats(self):
        picture = np.random.default_rng(2).integers(0, 256, (12, 10, 3), "uint8")
        rgb = picture[:, :, ::-1]
        np.testing.assert_array_equal(self.model((None, None, 3)).preprocess(picture), rgb)
        np.testing.assert_array_equal(self.model((1, None, None, 3), "uint8", color="bgr").preprocess(picture), picture[None])
        np.testing.assert_array_equal(self.model((1, None, None, 3), "int8", mean=128).preprocess(picture), (rgb.astype(int) - 128)[None].astype("int8"))
        np.testing.assert_array_equal(self.model((1, 3, None, None), "float16").preprocess(picture), rgb.transpose(2, 0, 1)[None].astype("float16"))
        np.testing.assert_array_equal(self.model((1, None, None, 3), "int32", scale=-2).preprocess(picture), rgb[None].astype("int32") * -2)
        np.testing.assert_allclose(self.model((1, 1, 12, 10)).preprocess(picture)[0, 0], cv.cvtColor(picture, cv.COLOR_BGR2GRAY), atol=1)
        np.testing.assert_array_equal(self.model((1, 3, 12, 10)).preprocess(rgb, "rgb")[0], rgb.transpose(2, 0, 1))
        frame = np.random.default_rng(3).integers(0, 256, (18, 10), "uint8")
        colors = cv.cvtColor(frame, cv.COLOR_YUV2BGR_NV21)
        for keys in ({}, {"fit": "crop"}, {"fit": "letterbox"}, {"interpolation": "area"}, {"fit": "crop", "resize": 11, "interpolation": "antialias"}):
            model = self.model((1, 3, 8, 8), **keys)
            np.testing.assert_allclose(model.preprocess(frame, "nv21"), model.preprocess(colors), atol=1)
        self.assertIsInstance(self.model((1, 3, 12, 10)).preprocess(minnow.Var(picture)), minnow.Var)

    def test_wrong_specifications_are_one_sentence(self):
        for keys, words in (({"colour": "rgb"}, 'preprocess: colour: there is no such key; the nearest are "color"'), ({"color": "cmyk"}, 'color: "cmyk" is none of auto, rgb, bgr, gray, rgba, bgra'),
                            ({"color": "gray"}, 'color: a picture of 1 channel does not fit input "x"'), ({"size": 20}, "size: input \"x\" is f32[1, 3, 12, 10], which has no 20 pixels on that side"),
                            ({"size": "big"}, 'size: write HEIGHTxWIDTH, 224x224 say, not "big"'), ({"fit": "crop", "resize": 5}, "resize: 5 pixels are fewer than the input's 12 x 10"),
                            ({"resize": 50}, 'resize: applies to fit "crop"'), ({"fit": "crop", "resize": -3}, 'resize: "-3" is not a number of pixels'), ({"mean": [1, 2]}, "mean: 2 numbers are given for a picture of 3 channels"),
                            ({"mean": "grey"}, 'mean: "grey" is not a number'), ({"std": 0}, "std: divides by zero"), ({"divide": [1, 0, 1]}, "divide: divides by zero"), ({"std": 2, "scale": 3}, 'std: stands beside "scale"'),
                            ({"padding": 3}, 'padding: is one number, and applies to fit "letterbox"'), ({"scale": "1/0"}, "scale: 1/0 divides by zero"), ({"mean": float("nan")}, 'mean: "nan" is not a number'),
                            ({"input": "y"}, 'input: the model has no input "y"; there is "x"'), ({"layout": "chw"}, 'layout: "chw" is none of auto, nchw, nhwc'),
                            ({"interpolation": "smooth"}, 'interpolation: "smooth" is none of linear, nearest'), ({"mean": {}}, "mean is a text, a number or a list of numbers")):
            with self.subTest(str(keys)), self.assertRaises(minnow.Error) as raised:
                self.model((1, 3, 12, 10), **keys)
            self.assertIn(words, str(raised.exception))
        spec = self.folder / "spec.toml"
        for text, words in (("", "holds no keys"), ("color\n", "row 1 is not `key = value`"), ("[preprocess]\ncolor = \"rgb\"\n", "row 1 begins a table"), ("mean = [1, 2, 3\n", "an array has no end"),
                            ("mean = [1, [2], 3]\n", "row 1 has brackets that do not match"), ("mean = 1]\n", "row 1 has brackets that do not match"), ("mean = [1, 2] 3\n", "row 1 has brackets that do not match"), ('color = "rgb"\nmean = 3\ncolor = "bgr"\n', "color is given twice"),
                            ("a.b = 3\n", '"a.b" in row 1 is not the name of a key'), ("mean =\n", "row 1 has no value"), ("color = 'rgb\n", "row 1 has a text without an end"), ('color = "rgb" 3\n', 'row 1 has more than one value'), ("size = 2 4\n", "row 1 has more than one value"), ("\0", "is no TOML file"), ("fit = 'crop' # x\nresize = \"a\"\n", 'resize: "a" is not a number of pixels')):
            spec.write_text(text)
            with self.subTest(text), self.assertRaises(minnow.Error) as raised:
                minnow.convert(self.folder / "plain.minnow", self.folder / "bad.minnow", preprocess=spec)
            self.assertIn(f"{spec}: {words}", str(raised.exception))
            self.assertFalse((self.folder / "bad.minnow").exists())
        with self.assertRaises(minnow.FileNotFound):
            minnow.convert(self.folder / "plain.minnow", self.folder / "bad.minnow", preprocess="nowhere.toml")
        spec.write_text('# comment\n\nmean = [\n  1,\n  2,  # two\n  3\n]\ncolor="bgr"\n')
        minnow.convert(self.folder / "plain.minnow", self.folder / "good.minnow", preprocess=str(spec))
        self.assertEqual(minnow.load(self.folder / "good.minnow").properties, {"preprocess.mean": "1, 2, 3", "preprocess.color": "bgr"})

    def test_wrong_calls(self):
        plain = minnow.load(self.model((1, 3, 12, 10), color="bgr") and self.folder / "plain.minnow")
        picture = np.zeros((12, 10, 3), "uint8")
        model = minnow.load(self.folder / "model.minnow")
        for call, words in ((lambda: plain.preprocess(picture), "the model carries no preprocessing"), (lambda: model.classify(picture), "the model carries no labels"),
                            (lambda: model.preprocess(picture, "nv13"), "there is no format 'nv13'"), (lambda: model.preprocess(picture[:, :, :2]), "preprocess: "),
                            (lambda: model.preprocess(picture[:0]), "empty"), (lambda: model.preprocess(picture.astype("float32")), "u8")):
            with self.assertRaises(minnow.Error) as raised:
                call()
            self.assertIn(words, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
