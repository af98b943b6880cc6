#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it runs every example.
"""Every example in examples/python works, on files with known contents."""
import ast
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
from pathlib import Path

SOURCE, BUILD = Path(os.environ["MINNOW_SOURCE_DIR"]), Path(os.environ["MINNOW_BUILD_DIR"])
MODELS, CORPUS = Path(os.environ["MINNOW_MODELS_DIR"]), Path(os.environ["MINNOW_CORPUS"])
EXAMPLES = SOURCE / "examples" / "python"


def fetched(path):
    """A file of scripts/fetch_models.py."""
    if not (MODELS / path).exists():
        raise unittest.SkipTest(f"{MODELS / path} is not there (scripts/fetch_models.py gets it)")
    return MODELS / path


def in_corpus(path):
    if not (CORPUS / path).exists():
        raise unittest.SkipTest(f"{CORPUS / path} is not there (MINNOW_CORPUS names its folder)")
    return CORPUS / path


def wav(path, rate, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *(int(32767 * max(-1, min(1, x))) for x in samples)))
    return path


def tone(time, begin, end, hertz):
    """A string that is struck, with its first harmonics."""
    if not begin <= time < end:
        return 0
    return math.exp(1.5 * (begin - time)) * sum(math.sin(2 * math.pi * hertz * k * time) / k for k in (1, 2, 3, 4)) / 8


class Examples(unittest.TestCase):
    tested = set()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_example(self, name, *arguments, status=0):
        self.tested.add(name)
        result = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout if status == 0 else result.stderr

    def numpy(self):
        try:
            import numpy
        except ImportError as error:
            self.skipTest(str(error))
        return numpy

    def array(self, case, name):
        return self.numpy().load(in_corpus(case) / "ref.npz")[name]

    def test_classify(self):
        in_corpus("data/imagenet_224/labels.csv")
        labels = ["background"] + [f"class {i}" for i in range(1000)]
        for line in (CORPUS / "data/imagenet_224/labels.csv").read_text().splitlines()[1:]:
            _, number, _, label = line.split(",")
            labels[int(number) + 1] = label
        labels[286], labels[968] = "Egyptian cat", "espresso"
        (self.folder / "labels.txt").write_text("\n".join(labels))
        text = self.run_example("classify.py", in_corpus("tflite/support_mobilenet_v1_025_224_float/model.tflite"), self.folder / "labels.txt",
                                fetched("examples/chelsea.png"), fetched("examples/coffee.png"), *(CORPUS / f"data/imagenet_224/{n}.jpg" for n in ("0000", "0012", "0288")))
        found = dict(re.findall(r"^(\S+): ([^(]+) \(", text, re.MULTILINE))
        self.assertEqual(found, {"chelsea.png": "Egyptian cat", "coffee.png": "espresso", "0000.jpg": "tench",
                                 "0012.jpg": "house_finch", "0288.jpg": "leopard"})

    def test_threads(self):
        pictures = sorted(in_corpus("data/imagenet_224").glob("*.jpg"))
        lines = self.run_example("threads.py", in_corpus("tflite/support_mobilenet_v1_025_224_float/model.tflite"), *pictures).splitlines()
        labels = [int(line.split(",")[1]) for line in (CORPUS / "data/imagenet_224/labels.csv").read_text().splitlines()[1:]]
        found = [int(line.rpartition(" ")[2]) - 1 for line in lines]
        self.assertEqual(sum(a == b for a, b in zip(labels, found)), 85)  # as many as LiteRT gets right

    def test_nearest(self):
        pictures = sorted(in_corpus("data/imagenet_224").glob("*.jpg"))
        lines = self.run_example("nearest.py", in_corpus("tflite/support_mobilenet_v1_025_224_float/model.tflite"), "MobilenetV1/Logits/SpatialSqueeze",
                                 fetched("examples/chelsea.png"), *pictures).splitlines()
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[0], r"^0(282|288)\.jpg: 0\.\d+$")  # a cat is like another cat, or a leopard

    def test_file_type(self):
        (self.folder / "query").write_text("SELECT name, price FROM products\nWHERE price > 100 ORDER BY price DESC;\n" * 8)
        text = self.run_example("file_type.py", fetched("examples/magika.onnx"), fetched("examples/magika.json"), SOURCE / "README.md", SOURCE / "dev",
                                SOURCE / "CMakeLists.txt", SOURCE / "src/base/os_posix.cpp", EXAMPLES / "faces.py", fetched("examples/page.png"), self.folder / "query")
        self.assertEqual(re.findall(r": (\w+) ", text), ["markdown", "shell", "cmake", "cpp", "python", "png", "sql"])

    def test_voice_activity(self):
        speech = self.array("torchscript/silero_vad_jit", "in_0").reshape(-1).tolist()  # 0.38 s, of which the first tenth is silent
        silence = [0.0] * 16000
        text = self.run_example("voice_activity.py", fetched("onnx/silero_vad/model.onnx"), wav(self.folder / "x.wav", 16000, silence + speech + silence))
        (begin, first), (end, last) = re.findall(r"^([\d.]+) s: speech (\w+)$", text, re.MULTILINE)
        self.assertEqual((first, last), ("begins", "ends"))
        self.assertTrue(1 <= float(begin) < 1.2 and 1.3 < float(end) < 1.6, text)
        quiet = self.run_example("voice_activity.py", fetched("onnx/silero_vad/model.onnx"), wav(self.folder / "y.wav", 16000, silence))
        self.assertEqual(quiet, "")

    def test_notes(self):
        rate = 22050
        samples = [tone(i / rate, 0.3, 1.5, 440) + tone(i / rate, 2.2, 3.8, 261.63) + tone(i / rate, 2.2, 3.8, 329.63) for i in range(4 * rate)]
        text = self.run_example("notes.py", fetched("onnx/basic_pitch/model.onnx"), wav(self.folder / "x.wav", rate, samples))
        found = {name: (float(begin), float(end)) for name, begin, end in re.findall(r"^(\S+): ([\d.]+) s to ([\d.]+) s$", text, re.MULTILINE)}
        self.assertEqual(set(found), {"A4", "C4", "E4"}, text)
        for name, times in {"A4": (0.3, 1.5), "C4": (2.2, 3.8), "E4": (2.2, 3.8)}.items():
            self.assertTrue(all(abs(a - b) < 0.25 for a, b in zip(found[name], times)), text)

    def test_read_line(self):
        reader, page = fetched("onnx/ppocr_v6_rec_small/model.onnx"), fetched("examples/page.png")
        printed = (SOURCE / "examples/demo/page.txt").read_text().splitlines()
        self.assertEqual(self.run_example("read_line.py", reader, page, 0, 12, 384, 31).strip(), printed[0])
        self.assertEqual(self.run_example("read_line.py", reader, page, 0, 49, 384, 64).strip(), printed[1])

    def test_orientation(self):
        text = self.run_example("orientation.py", fetched("onnx/pplcnet_orientation/model.onnx"), fetched("examples/page.png"))
        self.assertRegex(text, r": 0 degrees \(9\d%\)$")

    def test_segment(self):
        lines = self.run_example("segment.py", fetched("tflite/mp_selfie_segmentation/model.tflite"), fetched("examples/astronaut.png")).splitlines()
        rows = lines[:32]
        self.assertEqual({len(row) for row in rows}, {64})
        self.assertTrue(all(rows[y][x] == "#" for x, y in ((28, 7), (28, 20), (20, 28))), "the face, the chest and an arm")
        self.assertTrue(all(rows[y][x] == "." for x, y in ((2, 2), (60, 2), (2, 15), (55, 8))), "flag and shuttle")

    def test_faces(self):
        text = self.run_example("faces.py", fetched("tflite/mp_face_detection_short/model.tflite"), fetched("examples/astronaut.png"))
        faces = re.findall(r"^face: (\d+) (\d+) (\d+) (\d+) \((\d+)%\)$", text, re.MULTILINE)
        self.assertEqual(len(faces), 1, text)
        left, top, right, bottom, sure = map(int, faces[0])
        self.assertTrue(150 < left < 195 and 60 < top < 100 and 250 < right < 290 and 150 < bottom < 200 and sure > 80, text)

    def test_camera_faces(self):
        numpy = self.numpy()
        from minnow import cv
        picture = numpy.asarray(cv.imread(fetched("examples/astronaut.png")))
        import sample_pictures
        (self.folder / "frame.nv21").write_bytes(sample_pictures.nv21(picture))
        text = self.run_example("camera_faces.py", fetched("tflite/mp_face_detection_short/model.tflite"), self.folder / "frame.nv21", "512", "512", self.folder / "faces.png")
        (left, top, right, bottom), = [map(int, face) for face in re.findall(r"^face: (\d+) (\d+) (\d+) (\d+)$", text, re.MULTILINE)]
        self.assertTrue(150 < left < 195 and 60 < top < 100 and 250 < right < 290 and 150 < bottom < 200, text)
        drawn = numpy.asarray(cv.imread(self.folder / "faces.png"))
        apart = numpy.abs(drawn.astype(int) - picture).max(2)
        self.assertGreater(int(apart[110, left - 1:left + 2].max()), 50, "the box's side")
        self.assertLess(float(apart[300:].mean()), 8, "nothing is drawn below")

    def test_camera_objects(self):
        numpy = self.numpy()
        from minnow import cv
        import sample_pictures
        page = sample_pictures.printed_page(numpy.asarray(cv.imread(fetched("examples/coffee.png"))))
        (self.folder / "frame.nv21").write_bytes(sample_pictures.nv21(page))
        text = self.run_example("camera_objects.py", fetched("examples/layout_cdla.onnx"), self.folder / "frame.nv21", "760", "1000", self.folder / "parts.png")
        found = [(name, tuple(map(int, sides.split()))) for name, sides in re.findall(r"^(\w+): ([\d ]+) \(\d+%\)$", text, re.MULTILINE)]
        self.assertEqual(sample_pictures.wrong_parts(found), [], text)
        apart = numpy.abs(numpy.asarray(cv.imread(self.folder / "parts.png")).astype(int) - page).max(2)
        for _, (left, top, right, bottom) in found:
            self.assertGreater(float(apart[top:bottom, left].mean()), 50, "the box's left side")
        self.assertLess(float(apart[300:580, 165:595].mean()), 12, "nothing is drawn into the figure but its name")

    def test_text_boxes(self):
        text = self.run_example("text_boxes.py", fetched("onnx/ppocr_v4_det/model.onnx"), fetched("examples/page.png"), self.folder / "lines.png")
        self.assertEqual(text, "8 lines of text\n")
        self.assertTrue((self.folder / "lines.png").exists())

    def test_super_resolution(self):
        text = self.run_example("super_resolution.py", in_corpus("tensorflow/espcn_x3/frozen.pb"), fetched("examples/coffee.png"))
        network, plain = map(float, re.findall(r"([\d.]+) dB", text))
        self.assertGreater(network, plain + 0.5)

    def test_wake_word(self):
        numpy = self.numpy()
        steps = self.array("tflite/microwake_alexa", "in_0")
        numpy.save(self.folder / "alexa.npy", steps)
        numpy.save(self.folder / "other.npy", steps[:30])
        model = fetched("tflite/microwake_alexa/model.tflite")
        self.assertEqual(self.run_example("wake_word.py", model, self.folder / "alexa.npy"), "heard it at 1.26 s\n")
        self.assertEqual(self.run_example("wake_word.py", model, self.folder / "other.npy"), "nothing heard\n")

    def test_control_flow(self):
        lines = self.run_example("control_flow.py", self.folder / "root.minnow").splitlines()
        self.assertEqual([ast.literal_eval(line) for line in lines[1:]], [[1.4142, 3.0], [1.0, 1.4142, 1.7321, 2.0, 2.2361]])

    def test_custom_operator(self):
        self.numpy()
        rows = [[0.0, 0.0], [1.0 + 0.5 * 2.0, -1.0 + 2.0 * 2.0]]
        expected = [round(sum(x + math.sin(2 * x) ** 2 / 2 for x in row), 3) for row in rows]
        found = ast.literal_eval(self.run_example("custom_operator.py", self.folder / "snake.minnow"))
        self.assertEqual([round(value, 3) for value in found], expected)

    def test_convert(self):
        seeds = SOURCE / "tests" / "fuzz" / "seeds"
        for model, expected in (("onnx/resize_10.onnx", "Resize"), ("tflite/support_dilated_conv.tflite", "Conv"),
                                ("tensorflow/while_v2.pb", "Loop"), ("mnn/weights_8bit.mnn", "output")):
            with self.subTest(model):
                self.assertIn(expected, self.run_example("convert.py", seeds / model, self.folder / "out.minnow"))
        self.assertIn("not converted: ", self.run_example("convert.py", SOURCE / "README.md", self.folder / "out.minnow", status=1))

    def test_array_api(self):
        try:
            import scipy, sklearn  # noqa: E401, F401
        except ImportError as error:
            self.skipTest(str(error))
        self.assertIn("strongest frequency", self.run_example("array_api.py"))

    def test_zz_every_example_is_tested_short_and_typed(self):
        examples = sorted(path.name for path in EXAMPLES.glob("*.py"))
        named = set(re.findall(r'run_example\("(\w+\.py)"', Path(__file__).read_text()))
        self.assertEqual(examples, sorted(named))
        for name in examples:
            self.assertLessEqual(len((EXAMPLES / name).read_text().splitlines()), 60, name)
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("there is no mypy")
        for name in examples:  # each is a program of its own
            with self.subTest(name):
                result = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", BUILD / "mypy", EXAMPLES / name], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    if not (BUILD / "python" / "minnow").is_dir():
        print("the Python package is not built (MINNOW_PYTHON)")
        sys.exit(77)
    unittest.main()
