#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it builds several projects.
"""Installs the build into an empty folder, and builds against it like a user: the project beside this file, and every example."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
BUILD = Path(os.environ["MINNOW_BUILD_DIR"])
sys.path.insert(0, str(SOURCE / "tests" / "examples"))  # sample_pictures.py


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode:
        raise AssertionError(f"{' '.join(map(str, command))} exited with {result.returncode}:\n{result.stdout}")
    return result.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, project):
        out = self.root / project.name
        compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", (BUILD / "CMakeCache.txt").read_text())[1]
        run("cmake", "-S", project, "-B", out, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
            "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", out)
        return out

    def test_a_project_of_its_own(self):
        out = self.build(SOURCE / "tests" / "package")
        version = re.search(r"^project\(minnow VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        for program in ("with_archive", "with_shared", "with_convert"):
            self.assertEqual(run(out / program).strip(), version)
        run(out / "with_numerics")
        run(out / "with_data")
        for program in ("with_train", "with_vision"):
            if (out / program).exists():
                run(out / program)

    def has_vision(self):
        return any(self.prefix.rglob("libminnow_vision.a"))

    def nv21(self, picture, name):
        """The frame of a camera that took the picture, its width and its height."""
        import sample_pictures
        height, width = (side // 2 * 2 for side in picture.shape[:2])
        (self.root / name).write_bytes(sample_pictures.nv21(picture[:height, :width]))
        return self.root / name, width, height

    def test_the_examples_of_cameras(self):
        if not self.has_vision():
            self.skipTest("the build has no pictures (MINNOW_VISION)")
        try:
            import numpy
            from minnow import cv
        except ImportError as error:
            self.skipTest(str(error))
        astronaut, page = (numpy.asarray(cv.imread(self.model(f"examples/{name}.png"))) for name in ("astronaut", "page"))
        out = self.build(SOURCE / "examples" / "camera_faces")
        model, frame = self.model("tflite/mp_face_detection_short/model.tflite"), self.nv21(astronaut, "frame.nv21")
        (left, top, right, bottom), = [map(int, face) for face in re.findall(r"^face: (\d+) (\d+) (\d+) (\d+)$", run(out / "camera_faces", model, *frame, out / "faces.png"), re.MULTILINE)]
        self.assertTrue(150 < left < 195 and 60 < top < 100 and 250 < right < 290 and 150 < bottom < 200, (left, top, right, bottom))
        apart = numpy.abs(numpy.asarray(cv.imread(out / "faces.png")).astype(int) - astronaut).max(2)
        self.assertGreater(int(apart[110, left - 1:left + 2].max()), 50, "the box's side")
        self.assertEqual(subprocess.run([out / "camera_faces", model, frame[0], "512", "510", out / "faces.png"], stderr=subprocess.DEVNULL).returncode, 1)
        out, model = self.build(SOURCE / "examples" / "text_boxes"), self.model("onnx/ppocr_v4_det/model.onnx")
        self.assertEqual(run(out / "text_boxes", model, self.model("examples/page.png"), out / "lines.png"), "8 lines of text\n")
        self.assertEqual(run(out / "text_boxes", model, *self.nv21(page, "page.nv21"), out / "frame.png"), "8 lines of text\n")
        self.assertEqual(cv.imread(out / "frame.png").shape, (190, 384, 3))
        out, model = self.build(SOURCE / "examples" / "camera_objects"), self.model("examples/layout_cdla.onnx")
        import sample_pictures
        frame = self.nv21(sample_pictures.printed_page(numpy.asarray(cv.imread(self.model("examples/coffee.png")))), "parts.nv21")
        text = run(out / "camera_objects", model, *frame, out / "parts.png")
        found = [(name, tuple(map(int, sides.split()))) for name, sides in re.findall(r"^(\w+): ([\d ]+) \(\d+%\)$", text, re.MULTILINE)]
        self.assertEqual(sample_pictures.wrong_parts(found), [], text)
        self.assertEqual(text, run(sys.executable, SOURCE / "examples/python/camera_objects.py", model, *frame, out / "python.png"))
        self.assertTrue((numpy.asarray(cv.imread(out / "parts.png")) == numpy.asarray(cv.imread(out / "python.png"))).all())

    def test_every_example_builds(self):
        for project in sorted(SOURCE.glob("examples/*/CMakeLists.txt")):
            if "Minnow::vision" in project.read_text() and not self.has_vision():
                continue
            with self.subTest(project.parent.name):
                self.build(project.parent)

    def test_the_first_example_runs_a_model(self):
        out = self.build(SOURCE / "examples" / "run_model")
        text = run(out / "run_model", SOURCE / "tests" / "fuzz" / "seeds" / "onnx" / "resize_10.onnx")
        self.assertRegex(text, r"(?m)^input \S+: f32\[")
        self.assertRegex(text, r"(?m)^output \S+: f32\[.*\] 0")
        self.assertLess(len((SOURCE / "examples" / "run_model" / "run_model.cpp").read_text().splitlines()), 40)
        self.assertNotEqual(subprocess.run([out / "run_model", "nowhere.onnx"], stderr=subprocess.DEVNULL).returncode, 0)

    def test_the_example_in_c(self):
        out = self.build(SOURCE / "examples" / "c_api")
        model = self.root / "net.minnow"
        run(self.prefix / "bin" / "minnow", "convert", SOURCE / "tests" / "fuzz" / "seeds" / "onnx" / "resize_10.onnx", model)
        text = run(out / "run_c", model)
        self.assertRegex(text, r"(?m)^input \S+: f32\[")
        self.assertRegex(text, r"(?m)^output \S+: f32\[.*\] 0")
        failed = subprocess.run([out / "run_c", "nowhere.minnow"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("nowhere.minnow", failed.stderr)

    def test_the_example_of_expressions(self):
        out = self.build(SOURCE / "examples" / "expressions")
        lines = run(out / "newton", out / "newton.minnow").splitlines()
        self.assertRegex(lines[0], r"^f32\[3\] \[1, 1\.4142\d*, 1\.7320\d*\]$")
        self.assertRegex(lines[1], r"^f32\[5\] \[1, .*, 2, 2\.236\d*\]$")

    def model(self, name):
        path = Path(os.environ["MINNOW_MODELS_DIR"]) / name
        if not path.exists():
            self.skipTest(f"{path} is not there (scripts/fetch_models.py gets it)")
        return path

    def test_the_example_of_file_types(self):
        model, config, picture = (self.model(f"examples/{name}") for name in ("magika.onnx", "magika.json", "page.png"))
        out = self.build(SOURCE / "examples" / "file_type")
        text = run(out / "file_type", model, config, SOURCE / "README.md", SOURCE / "dev", SOURCE / "src/base/os_posix.cpp", picture)
        self.assertEqual(re.findall(r": (\w+) \(\d+%\)", text), ["markdown", "shell", "cpp", "png"])
        self.assertNotEqual(subprocess.run([out / "file_type", model, picture, picture], stderr=subprocess.DEVNULL).returncode, 0)

    def test_the_example_of_voice_activity(self):
        model, speech = self.model("onnx/silero_vad/model.onnx"), Path(os.environ["MINNOW_CORPUS"]) / "torchscript" / "silero_vad_jit" / "ref.npz"
        try:
            import numpy
        except ImportError as error:
            self.skipTest(str(error))
        if not speech.exists():
            self.skipTest(f"{speech} is not there (MINNOW_CORPUS names its folder)")
        out = self.build(SOURCE / "examples" / "voice_activity")
        silence = numpy.zeros(16000)
        sound = numpy.concatenate([silence, numpy.load(speech)["in_0"].reshape(-1), silence])  # between the silences 0.38 s of a word
        (out / "sound.raw").write_bytes((sound * 32767).astype("<i2").tobytes())
        (begin, first), (end, last) = re.findall(r"^([\d.]+) s: speech (\w+)$", run(out / "voice_activity", model, out / "sound.raw"), re.MULTILINE)
        self.assertEqual((first, last), ("begins", "ends"))
        self.assertTrue(1 <= float(begin) < 1.2 and 1.3 < float(end) < 1.6, (begin, end))

    def test_no_path_of_this_machine(self):
        for path in self.prefix.rglob("*"):
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(str(SOURCE).encode(), path.read_bytes(), f"{path.relative_to(self.prefix)} names the source folder")


if __name__ == "__main__":
    if "MINNOW_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        sys.exit(77)
    unittest.main()
