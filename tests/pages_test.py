#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Slow: it runs the commands of every page.
"""The instructions on the pages of docs/ work and print what the pages say.

A block whose first line is `// name` or `# name` becomes that file. Blocks of `sh` run in the folder with these files and the models; `sh fails`
means that every command fails, `sh no-test` that the block is not run. Blocks of `python` are one session. A block of `text` is the output of the
block before it; `...` stands for anything.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD, MODELS = (Path(os.environ[f"MINNOW_{name}"]) for name in ("SOURCE_DIR", "BUILD_DIR", "MODELS_DIR"))
SEEDS = SOURCE / "tests" / "fuzz" / "seeds"


def blocks(page):
    """[(kind, text)]"""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def file_name(text):
    match = re.match(r"(?://|#) ([\w.]+\.\w+)\n", text)
    return match[1] if match else None


def pattern(text):
    """Compile a block of text: `...` stands for anything, a line of `...` alone for any number of lines."""
    lines = [r"(?:.*\n)*" if line == "..." else ".*".join(re.escape(part) for part in line.split("...")) + r"\n" for line in text.splitlines()]
    return re.compile("".join(lines))


def model_with_custom_operators(path, names):
    import onnx
    from onnx import TensorProto, helper
    places = ["x", *(f"h{i}" for i in range(len(names) - 1)), "y"]
    nodes = [helper.make_node(name, [places[i]], [places[i + 1]], domain="com.example", name=node, **attributes)
             for i, (name, node, attributes) in enumerate(names)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)], ir_version=8), path)


class Pages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        cls.environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def setUp(self):
        self.folder = self.root / self._testMethodName
        self.folder.mkdir()

    def needs(self, name, path):
        if not path.exists():
            self.skipTest(f"{path} is not there (scripts/fetch_models.py gets it)")
        shutil.copy(path, self.folder / name)

    def install(self):
        prefix = self.root / "prefix"
        if not prefix.exists():
            result = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", (BUILD / "CMakeCache.txt").read_text())[1]
        self.environment = {**self.environment, "CMAKE_PREFIX_PATH": str(prefix), "CPATH": str(prefix / "include"), "CXX": compiler}

    def shell(self, text, fails):
        printed = ""
        for script in text.splitlines() if fails else [text]:
            result = subprocess.run(["bash", "-euc", script], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode != 0, fails, f"{script}\n{result.stdout}{result.stderr}")
            printed += result.stderr.split("measuring")[0] if fails else result.stdout
        return printed

    def python(self, parts):
        """Return the output of each part."""
        mark = "-- the next block --"
        (self.folder / "session.py").write_text(f"\nprint({mark!r}, flush=True)\n".join(parts))
        result = subprocess.run([sys.executable, "session.py"], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return iter(result.stdout.split(mark + "\n"))

    def follow(self, name):
        page = blocks(SOURCE / "docs" / name)
        session = [text for kind, text in page if kind == "python" and not file_name(text)]
        if session and not (BUILD / "python" / "minnow").is_dir():
            self.skipTest("the Python package is not built (MINNOW_PYTHON)")
        for kind, text in page:
            if kind.split()[0] in ("cpp", "cmake", "python") and file_name(text):
                (self.folder / file_name(text)).write_text(text)
        answers, printed, checked = None, None, 0
        for kind, text in page:
            if kind in ("sh", "sh fails"):
                printed = self.shell(text, kind == "sh fails")
            elif kind == "python" and not file_name(text):
                answers = answers or self.python(session)
                printed = next(answers)
            elif kind == "text" and printed is not None:
                self.assertRegex(printed, re.compile(r"\A" + pattern(text).pattern + r"\Z"), f"\npage:\n{text}\nprinted:\n{printed}")
                printed, checked = None, checked + 1
        return checked

    def test_first_model_cpp(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.install()
        self.assertEqual(self.follow("first-model-cpp.md"), 2)

    def test_first_model_python(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.needs("page.png", MODELS / "examples/page.png")
        self.assertEqual(self.follow("first-model-python.md"), 5)

    def test_converting(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        for kind in ("prototxt", "caffemodel"):
            self.needs(f"net.{kind}", MODELS / f"caffe/hyperlpr_refinenet/model.{kind}")
        for name, seed in {"while_v2.pb": "tensorflow/while_v2.pb", "dilated.tflite": "tflite/support_dilated_conv.tflite",
                           "loops.pt": "torchscript/loops.pt", "loop.mnn": "mnn/loop.mnn"}.items():
            shutil.copy(SEEDS / seed, self.folder / name)
        (self.folder / "half.onnx").write_bytes((self.folder / "model.onnx").read_bytes()[:100000])
        (self.folder / "note.txt").write_text("hello\n")
        import zipfile
        with zipfile.ZipFile(self.folder / "weights.pt", "w") as archive:  # as torch.save writes a state_dict
            archive.writestr("weights/data.pkl", b"\x80\x02}q\x00.")
            archive.writestr("weights/version", "3\n")
        (self.folder / "saved").mkdir()
        shutil.copy(SEEDS / "tensorflow/saved_model.pb", self.folder / "saved")
        model_with_custom_operators(self.folder / "custom.onnx", [("Swish", "act1", {"beta": 2.0}), ("Blur", "blur", {})])
        self.assertEqual(self.follow("converting.md"), 4)

    def test_vision(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.needs("page.png", MODELS / "examples/page.png")
        self.assertEqual(self.follow("vision.md"), 4)

    def test_command(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.needs("page.png", MODELS / "examples/page.png")
        if "MINNOW_VISION:BOOL=ON" not in (BUILD / "CMakeCache.txt").read_text() and "MINNOW_PYTHON:BOOL=ON" not in (BUILD / "CMakeCache.txt").read_text():
            self.skipTest("the build reads no pictures (MINNOW_VISION)")
        self.assertEqual(self.follow("command.md"), 4)

    def test_every_environment_variable_is_explained(self):
        named = set()
        for folder in ("src", "python", "scripts", "tests", "cmake", "bench"):
            for path in (SOURCE / folder).rglob("*"):
                if path.suffix in (".cpp", ".h", ".py", ".cmake", ".txt") and "kernels" not in path.parts:
                    named |= set(re.findall(r"(?:getenv\(|environ(?:\.get)?[\[(]|ENV\{)\"?(MINNOW\w*)", path.read_text(errors="replace")))
        text = (SOURCE / "docs" / "command.md").read_text()
        self.assertEqual(sorted(name for name in named if f"`{name}`" not in text), [])
        self.assertIn("MINNOW_ISA", named)

    def test_performance(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.shell("minnow convert model.onnx model.minnow", False)
        self.assertEqual(self.follow("performance.md"), 5)

    def test_custom_operators(self):
        model_with_custom_operators(self.folder / "model.onnx", [("Swish", "act1", {"beta": 2.0})])
        self.install()
        self.assertGreater(self.follow("custom-operators.md"), 1)

    def test_mnn(self):
        shutil.copy(SOURCE / "tests" / "python" / "mnn" / "plain.mnn", self.folder / "model.mnn")
        self.assertEqual(self.follow("mnn.md"), 2)

    def test_differences(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.assertEqual(self.follow("differences.md"), 5)

    def test_express(self):
        self.assertEqual(self.follow("express.md"), 9)

    def test_optimizers(self):
        self.assertEqual(self.follow("optimizers.md"), 6)

    def test_training(self):
        self.install()
        self.assertEqual(self.follow("training.md"), 11)

    def test_migrating(self):
        self.needs("model.onnx", MODELS / "onnx/pplcnet_orientation/model.onnx")
        self.assertEqual(self.follow("migrating.md"), 2)

    def test_every_link_leads_somewhere(self):
        for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]:
            text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue((page.parent / link).exists(), f"{page.name} refers to {link}")


if __name__ == "__main__":
    if not (BUILD / "bin" / "minnow").exists():
        print("the command is not built")
        sys.exit(77)
    if "MINNOW_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        sys.exit(77)
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        print(error)
        sys.exit(77)
    unittest.main()
