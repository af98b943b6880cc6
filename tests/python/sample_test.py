#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sample of MNN's documentation, word for word but for the package's name, with three trained classifiers against the engines that own
them (through ONNX Runtime where the owner is not installed) on what OpenCV and NumPy make of the picture."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import cv2 as opencv
    import numpy
    import onnxruntime

    import minnow
    import minnow.numpy  # noqa: F401
except ImportError as error:
    print(error)
    sys.exit(77)

CORPUS = Path(os.environ["MINNOW_CORPUS"])
MODELS = Path(os.environ["MINNOW_MODELS_DIR"])

SAMPLE = '''
import minnow as MNN
import minnow.cv as cv2
import minnow.numpy as np
def inference(model_path, img_path):
    net = MNN.nn.load_module_from_file(model_path, ["data"], ["prob"])
    image = cv2.imread(img_path)
    image = image[..., ::-1]
    image = cv2.resize(image, (224, 224))
    image = image - (103.94, 116.78, 123.68)
    image = image * (0.017, 0.017, 0.017)
    image = image.astype(np.float32)
    input_var = MNN.expr.convert(image, MNN.expr.NC4HW4)
    output_var = net.forward(input_var)
    output_var = MNN.expr.convert(output_var, MNN.expr.NHWC)
    print("output belong to class: {}".format(np.argmax(output_var)))
    return output_var
'''


class Classifier:
    def __init__(self, path, mean, scale, channels_last):
        self.path, self.mean, self.scale, self.channels_last = path, mean, scale, channels_last


CLASSIFIERS = {
    "PP-LCNet": Classifier("onnx/pplcnet_orientation/model.onnx", (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 1 / 57.375), False),
    "MobileNet-v1 0.25": Classifier("tflite/support_mobilenet_v1_025_224_float/model.tflite", (127.5,) * 3, (1 / 127.5,) * 3, True),
    "EfficientNet-lite0": Classifier("torchscript/efficientnet_lite0/model.pt", (127.0,) * 3, (1 / 128,) * 3, False),
}


def owner(path, folder, picture, channels_last):
    """Run the engine that owns the format on a picture [1, 3, h, w]."""
    if path.suffix == ".tflite":
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            pass
        else:
            interpreter = Interpreter(str(path))
            interpreter.allocate_tensors()
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture.transpose(0, 2, 3, 1).copy())
            interpreter.invoke()
            return "LiteRT", interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    if path.suffix == ".pt":
        try:
            import torch
        except ImportError:
            pass
        else:
            with torch.no_grad():
                return "PyTorch", torch.jit.load(str(path))(torch.from_numpy(picture)).numpy()
    if path.suffix != ".onnx":
        minnow.convert(path, folder / "as.onnx", optimize="none")
        path = folder / "as.onnx"
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    value = session.get_inputs()[0]
    return "ONNX Runtime", session.run(None, {value.name: picture.transpose(0, 2, 3, 1) if channels_last else picture})[0]


class Sample(unittest.TestCase):
    def test_three_classifiers(self):
        pictures = sorted((CORPUS / "data" / "imagenet_224").glob("*.jpg"))[::20]
        done = 0
        for name, classifier in CLASSIFIERS.items():
            found = [folder / classifier.path for folder in (CORPUS, MODELS) if (folder / classifier.path).exists()]
            if not found or not pictures:
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                kept = minnow.load(found[0])
                minnow.convert(found[0], folder / "net.minnow", rename={kept.inputs[0]: "data", kept.outputs[0]: "prob"})
                text = SAMPLE.replace("(103.94, 116.78, 123.68)", repr(classifier.mean)).replace("(0.017, 0.017, 0.017)", repr(classifier.scale))
                space = {}
                exec(compile(text, "sample", "exec"), space)
                worst, engine = 0, ""
                for picture in pictures:
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        scores = numpy.array(space["inference"](str(folder / "net.minnow"), str(picture)))
                    image = opencv.resize(opencv.imread(str(picture))[..., ::-1], (224, 224))
                    image = ((image - numpy.array(classifier.mean)) * numpy.array(classifier.scale)).astype(numpy.float32)
                    engine, expected = owner(found[0], folder, numpy.ascontiguousarray(image.transpose(2, 0, 1)[None]),
                                             classifier.channels_last)
                    self.assertEqual(printed.getvalue(), f"output belong to class: {expected.argmax()}\n")
                    self.assertEqual(scores.shape, expected.shape)
                    self.assertLessEqual(numpy.abs(scores - expected).max(), 1e-4 * max(1, numpy.abs(expected).max()))
                    worst = max(worst, float(numpy.abs(scores - expected).max()))
                print(f"{name}: {len(pictures)} pictures, top-1 as {engine}'s, scores within {worst:.1e}")
                done += 1
        if not done:
            self.skipTest("none of the models is there")


class Compatibility(unittest.TestCase):
    def test_import_of_mnn_unchanged(self):
        import subprocess
        text = ("import sys, minnow\nassert 'MNN' not in sys.modules\nimport minnow.compat\nimport MNN\nimport MNN.cv as cv2\nimport MNN.numpy as np\n"
                "assert MNN.nn.load_module and MNN.F is MNN.expr and cv2.imread and np.argmax\n"
                "try:\n    MNN.nothing\nexcept AttributeError as error:\n    print(error)")
        result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nothing", result.stdout)


if __name__ == "__main__":
    unittest.main()
