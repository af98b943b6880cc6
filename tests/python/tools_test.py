#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.tools: what the command's convert, inspect, compare, bench, profile and tune do, with the same options."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import expr, nn, tools
except ImportError as error:
    print(error)
    sys.exit(77)


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        random = np.random.default_rng(1)
        x = expr.placeholder("x", "float32", [None, 64])
        self.weights = random.standard_normal((64, 32)).astype(np.float32)
        expr.save([(expr.relu(x @ self.weights) * 2)], self.folder / "a.minnow")
        self.x = random.standard_normal((3, 64)).astype(np.float32)

    def test_convert_has_the_options_of_the_command(self):
        command = os.path.join(os.environ.get("MINNOW_BUILD_DIR", ""), "bin", "minnow")
        if not os.path.exists(command):
            self.skipTest("the command is not built")
        text = subprocess.run([command, "convert", "--help"], capture_output=True, text=True, check=True).stdout
        options = {line.split()[0].split(",")[-1].lstrip("-") for line in text.splitlines() if line.startswith("  -")}
        names = {"shape": "shapes", "keep-input": "keep_inputs", "external-data": "external_data", "from": "format", "memory-limit": "memory_limit"}
        # Operators are loaded for the process; what the passes changed is in the result, as is what --json prints.
        own = set(tools.convert.__kwdefaults__)
        self.assertEqual({names.get(option, option) for option in options - {"help", "operators", "dump-passes", "json"}}, own - {"progress"})

    def test_convert_says_what_it_did(self):
        made = minnow.convert(self.folder / "a.minnow", self.folder / "b.minnow", labels=["cat", "dog"], rename={"x": "data"})
        self.assertEqual((made.path, made.bytes), (str(self.folder / "b.minnow"), (self.folder / "b.minnow").stat().st_size))
        self.assertGreater(made.nodes, 0)
        self.assertIn("b.minnow", repr(made))
        model = minnow.load(self.folder / "b.minnow")
        self.assertEqual((model.labels, model.inputs), (["cat", "dog"], ["data"]))
        with self.assertRaisesRegex(minnow.InvalidType, "labels takes a list of names"):
            tools.convert(self.folder / "a.minnow", self.folder / "b.minnow", labels="cat")

    def test_weights_of_16_bits(self):
        plain = tools.convert(self.folder / "a.minnow", self.folder / "f32.minnow")
        expected = minnow.load(plain.path)(self.x)
        for weights, tolerance in (("f16", 2e-3), ("bf16", 2e-2)):
            made = tools.convert(self.folder / "a.minnow", self.folder / "small.minnow", weights=weights)
            self.assertLess(made.bytes, plain.bytes - self.weights.size)
            found = minnow.load(made.path)(self.x)
            self.assertLess(np.abs(found - expected).max() / np.abs(expected).max(), tolerance)
            self.assertGreater(np.abs(found - expected).max(), 0)
        x = expr.placeholder("x", "float32", [None, 64])
        expr.save([x @ (self.weights * 1e6)], self.folder / "large.minnow")
        made = tools.convert(self.folder / "large.minnow", self.folder / "small.minnow", weights="f16")
        self.assertEqual(len(made.kept_f32), 1)
        with self.assertRaisesRegex(minnow.InvalidArgument, "weights"):
            tools.convert(self.folder / "a.minnow", self.folder / "b.minnow", weights="int3")

    def test_what_is_read_differently_is_a_warning_here(self):
        onnx = self.training_dropout()
        if onnx is None:
            self.skipTest("needs onnx")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tools.convert(onnx, self.folder / "b.minnow")
            minnow.load(onnx)
        self.assertEqual([w.filename for w in caught if w.category is UserWarning], [__file__] * 2, [str(w.message) for w in caught])

    def training_dropout(self):
        try:
            import onnx
            from onnx import TensorProto, helper
        except ImportError:
            return None
        node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"])
        constants = [helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.5]), helper.make_tensor("training", TensorProto.BOOL, [], [True])]
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(self.folder / "dropout.onnx"))
        return self.folder / "dropout.onnx"

    def test_inspect_with_a_plan(self):
        plain = tools.inspect(self.folder / "a.minnow")
        self.assertEqual((plain.plan, plain.states), ([], []))
        self.assertIn("MatMul", plain.text)
        found = tools.inspect(self.folder / "a.minnow", plan=True, shapes={"x": [5, 64]}, threads=1)
        self.assertEqual([row.depth for row in found.plan], [0] * len(found.plan))
        self.assertTrue(all(row.scheme and row.estimate > 0 for row in found.plan), found.plan)
        self.assertTrue(any(row.refused or len(row.candidates) > 1 for row in found.plan))
        self.assertIn(" node", repr(found))
        self.assertIn(found.plan[0].scheme, str(found))

    def test_bench_and_profile(self):
        model = minnow.load(self.folder / "a.minnow")
        timing = tools.bench(model, {"x": self.x}, seconds=0.05, threads=1)
        self.assertTrue(0 < timing.least <= timing.median and timing.runs >= 1, timing)
        profile = tools.profile(self.folder / "a.minnow", shapes={"x": (100, 64)}, seconds=0.05, trace=self.folder / "trace.json", threads=1)
        self.assertEqual([row.seconds for row in profile], sorted((row.seconds for row in profile), reverse=True))
        self.assertTrue(all(row.runs > 0 for row in profile))
        self.assertIn("%", str(profile))
        self.assertTrue(json.loads((self.folder / "trace.json").read_text()))
        for call, text in ((lambda: tools.bench(model, {"z": 1}), 'no input "z"; there is "x"'), (lambda: tools.bench(model, shapes={"x": [1]}), "shapes gives it 1 dimensions"),
                           (lambda: tools.bench(model, [self.x]), "by the input's name"), (lambda: tools.bench(model, {"x": self.x[:, :3]}), "it is f32")):
            with self.assertRaisesRegex(minnow.Error, text):
                call()

    def test_tune_and_the_file_that_loading_takes(self):
        file = self.folder / "tuning.txt"
        made = tools.tune(self.folder / "a.minnow", file, {"x": self.x}, seconds=0.2, threads=1)
        self.assertEqual((made.path, made.threads), (str(file), 1))
        self.assertTrue(0 < made.tuned <= made.by_estimate and made.seconds > 0, made)
        self.assertIn("tuning.txt", repr(made))
        self.assertTrue(file.read_text().startswith("minnow tuning 2\n"))
        expected = np.maximum(self.x @ self.weights, 0) * 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = minnow.load(self.folder / "a.minnow", tuning=file, threads=1)
            timing = tools.bench(self.folder / "a.minnow", {"x": self.x}, seconds=0.02, tuning=file, threads=1)
            nn.load_module_from_file(self.folder / "a.minnow", runtime_manager=nn.RuntimeManager(threads=1, tuning=str(file)))
        np.testing.assert_allclose(model(self.x), expected, rtol=1e-5, atol=1e-5)
        self.assertGreater(timing.least, 0)
        # A file that does not fit gives an error of one line, without a traceback into the package.
        x = expr.placeholder("x", "float32", [None, 64])
        expr.save([x @ self.weights], self.folder / "b.minnow")
        (self.folder / "damaged.txt").write_text(file.read_text()[:-9])
        for path, name, text in (("b.minnow", "tuning.txt", "nothing in it is for this model"), ("a.minnow", "none.txt", "there is no such file"), ("a.minnow", "damaged.txt", "damaged"),
                                 ("a.minnow", "a.minnow", "no tuning file")):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                minnow.load(self.folder / path, tuning=self.folder / name, threads=1)
            self.assertEqual([w.filename for w in caught], [__file__], [str(w.message) for w in caught])
            self.assertRegex(str(caught[0].message), text)
        # Another model in the same file; the first one stays.
        tools.tune(self.folder / "b.minnow", file, shapes={"x": (3, 64)}, seconds=0.1, threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for path in ("a.minnow", "b.minnow"):
                minnow.load(self.folder / path, tuning=file, threads=1)
        for call, text in ((lambda: tools.tune(self.folder / "a.minnow", file, seconds=0), "seconds is 0"), (lambda: tools.tune(self.folder / "a.minnow", file, tuning=file), "takes none"),
                           (lambda: tools.tune(self.folder / "a.minnow", self.folder / "no" / "file", seconds=0.01), "no/file"),
                           (lambda: tools.tune(self.folder / "a.minnow", None), "path|str"), (lambda: tools.tune(self.folder / "a.minnow", file, {"z": 1}), 'no input "z"')):
            with self.assertRaisesRegex((minnow.Error, TypeError), text):
                call()

    def test_a_file_of_the_command_serves_here(self):
        command = os.path.join(os.environ.get("MINNOW_BUILD_DIR", ""), "bin", "minnow")
        if not os.path.exists(command):
            self.skipTest("the command is not built")
        file = self.folder / "tuning.txt"
        subprocess.run([command, "tune", str(self.folder / "a.minnow"), "--file", str(file), "--seconds", "0.1", "--shape", "3x64", "--threads", "1"], check=True, capture_output=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            minnow.load(self.folder / "a.minnow", tuning=file, threads=1)

    def test_options_of_runs(self):
        path = self.folder / "a.minnow"
        expected = minnow.load(path)(self.x)
        for options in ({"power": "efficient"}, {"power": "performance"}, {"power": "balanced"}, {"pin_threads": True}, {"backend": ["reference"]}, {"memory": "low", "precision": "high"},
                        {"memory_limit": 1 << 20, "time_limit": 10}, {"tuning": None}, {"weight_cache": None}, {"weight_cache": self.folder / "packed.weights"}):
            np.testing.assert_allclose(minnow.load(path, **options)(self.x), expected, rtol=1e-5, atol=1e-5)
            self.assertGreater(tools.bench(path, {"x": self.x}, seconds=0.01, **options).least, 0)
        for options, text in (({"thread": 1}, 'no option "thread"; the nearest are "threads"'), ({"precission": "low"}, '"precision"'), ({"power": "full"}, "power is"),
                              ({"threads": -1}, "threads is -1"), ({"threads": "two"}, "threads takes an integer"), ({"backend": []}, "no backend"), ({"time_limit": -1}, "time_limit"),
                              ({"tuning": 3}, "path"), ({"weight_cache": 3}, "path")):
            for call in (lambda: minnow.load(path, **options), lambda: tools.bench(path, seconds=0.01, **options), lambda: expr.scope(**options), lambda: nn.load_module(expr.placeholder("x", "float32", [2]) + 1, **options)):
                with self.assertRaisesRegex((minnow.Error, TypeError), text):
                    call()
        with self.assertRaisesRegex(minnow.InvalidArgument, "scope"):
            expr.scope(tuning="tuning.txt")
        with self.assertRaisesRegex(minnow.InvalidArgument, "scope"):
            expr.scope(weight_cache="packed.weights")
        damaged = self.folder / "damaged.weights"
        damaged.write_bytes(b"\x89MNP\r\n\x1a\n and nothing more")
        with self.assertWarnsRegex(UserWarning, "no file of packed weights"):
            np.testing.assert_allclose(minnow.load(path, weight_cache=damaged)(self.x), expected, rtol=1e-5, atol=1e-5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(minnow.load(path, weight_cache=damaged)(self.x), expected, rtol=1e-5, atol=1e-5)
        for power in ("performance", "balanced", "efficient"):
            made = tools.tune(path, self.folder / "power.txt", {"x": self.x}, seconds=0.05, power=power)
            self.assertGreaterEqual(made.active_wait, 0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                minnow.load(path, tuning=self.folder / "power.txt", power=power)(self.x)

    def test_empty_files_and_pointers_of_git(self):
        for content, words in ((b"", "is empty"), (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123\n", "is a Git LFS pointer in place of a file of 123 bytes")):
            (self.folder / "m.onnx").write_bytes(content)
            for source in (self.folder / "m.onnx", content):
                with self.assertRaisesRegex(minnow.InvalidModel, words):
                    minnow.load(source)

    def test_progress_of_a_conversion(self):
        parts = []
        from minnow._files import read_model
        x = expr.placeholder("x", "float32", [None, 64])
        minnow.convert(self.folder / "a.minnow", self.folder / "a.onnx")
        read_model(self.folder / "a.onnx", verify=True, progress=parts.append)
        self.assertEqual((parts, parts[-1]), (sorted(parts), 1))
        self.assertTrue(len(parts) > 5 and parts[0] >= 0.5, parts)

        def stop(part):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            read_model(self.folder / "a.onnx", progress=stop)
        terminal = subprocess.run(["script", "-qec", f"{sys.executable} -c \"from minnow._progress import Progress; import time\nwith Progress('converting a') as p:\n p.tell(0.25)\n time.sleep(0.8)\"", "/dev/null"],
                                  capture_output=True, text=True) if shutil.which("script") else None
        if terminal is not None:
            self.assertIn("converting a [######..................] 25 %, ", terminal.stdout)

    def test_compare_with_random_inputs_other_backends_and_arrays(self):
        rows = tools.compare(self.folder / "a.minnow", self.folder / "a.minnow", shapes={"x": [4, 64]}, other_backend="reference")
        self.assertTrue(rows and all(row.largest <= 1e-4 * row.scale for row in rows), rows)
        for other in ({"backend": "reference"}, {"precision": "low", "threads": 1}):
            self.assertTrue(tools.compare(self.folder / "a.minnow", self.folder / "a.minnow", shapes={"x": [4, 64]}, precision="high", other=other))
        with self.assertRaisesRegex(minnow.InvalidArgument, "perfect"):
            tools.compare(self.folder / "a.minnow", self.folder / "a.minnow", other={"precision": "perfect"})
        with self.assertRaisesRegex(TypeError, 'no option "precison"; the nearest are "precision"'):
            tools.compare(self.folder / "a.minnow", self.folder / "a.minnow", other={"precison": "low"})
        name = tools.inspect(self.folder / "a.minnow", optimize="none").outputs[0].name
        expected = np.maximum(self.x @ self.weights, 0) * 2
        rows = tools.compare(self.folder / "a.minnow", {name: expected, "other": expected}, {"x": self.x})
        self.assertEqual([row.name for row in rows], [name])
        self.assertLess(rows[0].largest, 1e-4 * rows[0].scale)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'no input "z"; there is "x"'):
            tools.compare(self.folder / "a.minnow", self.folder / "a.minnow", {"z": 1})


if __name__ == "__main__":
    unittest.main()
