#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line itself: where options may stand, wrong calls, exit statuses, errors as JSON, help, completion, progress."""
import json
import os
import re
import shutil
import subprocess
import unittest

from command import F32, MINNOW, CommandTest, helper, np, write_model

COMMANDS = ("convert", "run", "bench", "tune", "train", "compare", "inspect", "profile", "ops", "completion")


class CommandLine(CommandTest):
    def wrong(self, *arguments):
        """The sentence of a wrong command line: status 2, one line."""
        result = self.minnow(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), f"{arguments}: {result.stderr}")
        self.assertRegex(result.stderr, r"\Aminnow: [^\n]*\n\Z")
        return result.stderr

    def test_options_stand_before_or_behind_the_model(self):
        model = self.dense()
        self.save("x.npy", np.ones((2, 4), np.float32))
        for arguments in (("--input", "x.npy", model), (model, "--input", "x.npy"), ("-i", "x=x.npy", model), ("--input=x.npy", model), ("-ix.npy", model)):
            self.succeeds("run", *arguments)
        for command in ("bench", "profile", "inspect"):
            self.succeeds(command, "--shape", "x=2x4", model, *(() if command == "inspect" else ("--seconds", "0.01")))
        self.succeeds("compare", "--input", "x.npy", model, model)
        self.succeeds("convert", "--shape", "x=2x4", "--rename", "x=data", "--rename", "y=scores", model, "b.minnow")
        self.assertEqual(self.json("inspect", "b.minnow")["inputs"][0]["shape"], [2, 4])
        self.assertIn('"x.npy" is too many', self.wrong("run", model, "x.npy"))
        self.assertIn("--input", self.wrong("run", model, "x.npy"))

    def test_one_value_per_input(self):
        model = self.dense()
        self.save("x.npy", np.ones((2, 4), np.float32))
        for arguments, words in (((model, "-i", "x.npy", "-i", "x=x.npy"), 'input "x" is given twice'), ((model, "-i", "x=x.npy", "-i", "x=x.npy"), 'input "x" is given twice'),
                                 ((model, "--random", "-s", "x=2x4", "-s", "2x4"), '--shape: 2 values are given, the model takes 1 input'), ((model, "-i", "x.npy", "-i", "x.npy"), "--input: 2 values are given"), ((model, "--random", "-s", "x=2x4", "-s", "x=2x4"), 'input "x" is given twice'),
                                 ((model, "-i", "x.npy", "-s", "3x4"), 'gives input "x" another shape than x.npy, which is [2, 4]'),
                                 ((model, "--random", "-s", "1xax4"), '"a" is not a dimension')):
            self.assertIn(words, self.wrong("run", *arguments))
        self.succeeds("run", model, "-i", "x.npy", "-s", "2x4")
        self.assertIn('no input "z"; there is "x"', self.fails("run", model, "-i", "z=x.npy"))
        self.assertIn('input "x" is given twice', self.wrong("convert", "-s", "x=2x4", "-s", "x=3x4", model, "b.minnow"))
        self.assertIn('input "x" is given twice', self.fails("convert", "-s", "2x4", "-s", "x=2x4", model, "b.minnow"))
        self.assertIn('"x" is given twice', self.wrong("convert", "-r", "x=a", "-r", "x=b", model, "b.minnow"))
        self.assertIn('"x" is given twice', self.wrong("convert", "--keep-input", "x", "--keep-input", "x", model, "b.minnow"))
        self.assertIn("--threads is given 2 times", self.wrong("bench", model, "--threads", "1", "--threads", "2"))

    def test_wrong_calls(self):
        model = self.dense()
        result = self.minnow("--json", "run", model)
        self.assertEqual(json.loads(result.stdout)["error"]["message"], '"--json" stands before the command; write minnow run, then the options; see minnow run --help')
        for arguments, words in (((), "a command is missing; see minnow --help"), (("rum",), 'there is no command "rum"; the nearest are "run"'), (("--bogus",), 'there is no option "--bogus"'),
                                 (("run",), "run needs MODEL; see minnow run --help"), (("run", model, "--input"), "--input needs a value"), (("tune", model), "tune needs --file"),
                                 (("run", model, "--bogus"), 'run has no option "--bogus"'), (("run", model, "--ouput-dir", "x"), '"--output-dir"'), (("run", model, "-x"), 'run has no option "-x"'),
                                 (("bench", model, "b", "c"), '"b", "c" are too many'), (("compare", model), "compare needs OTHER"), (("convert", model), "the file to write"),
                                 (("convert", model, "out.txt"), "ends in .minnow or .onnx"), (("bench", model, "--precision", "hihg"), 'there is no "hihg"; there are high, normal, tf32, low'),
                                 (("bench", model, "--threads", "2000"), '"2000" is not a whole number from 0 to 1024'), (("bench", model, "--threads", "two"), '"two" is not'),
                                 (("convert", model, "b.onnx", "--opset", "3"), "from 21 to 28"), (("convert", model, "b.minnow", "--rename", "x"), "write old=new"),
                                 (("convert", model, model), "is the model itself"), (("run", model, "-i", "x="), "a file is missing"), (("run", "--", model, "--random"), '"--random" is too many'),
                                 (("tune", model, "--file"), "--file needs a value"), (("compare", model, model, "--tolerance", "-1"), '"-1" is not a number of at least 0'),
                                 (("completion", "tcsh"), 'there is no "tcsh"'), (("help", "rum"), 'there is no command "rum"'), (("ops", "--importer", "keras"), 'there is no importer "keras"')):
            with self.subTest(str(arguments)):
                self.assertIn(words, self.wrong(*arguments))

    def test_seconds_are_above_zero(self):
        model = self.dense()
        for seconds in ("0", "-1", "nan", "inf", "-0.0", "1e999", "", "2s"):
            for command in ("bench", "profile", "inspect", "tune"):
                self.assertIn("is not a number above 0", self.wrong(command, model, f"--seconds={seconds}" if seconds else "--seconds", *(() if seconds else ("",)),
                                                                    *(("--file", "t.txt") if command == "tune" else ())))

    def test_exit_statuses(self):
        """0: done, 1: failed, 2: a wrong command line; compare, as diff: 1 where something differs, 2 for every error."""
        model = self.dense()
        for arguments, status in (((), 2), (("run",), 2), (("run", model, "--bogus"), 2), (("run", "nowhere.onnx", "--random"), 1), (("run", model, "--random"), 0), (("help",), 0), (("--help",), 0),
                                  (("run", "--help"), 0), (("--version",), 0), (("-V",), 0), (("inspect", "nowhere"), 1), (("compare", model, model), 0), (("compare", model, "nowhere"), 2),
                                  (("compare", model), 2), (("convert", model, "no/where.minnow"), 1)):
            with self.subTest(str(arguments)):
                self.assertEqual(self.minnow(*arguments).returncode, status)
        self.weights = self.weights + 1
        self.assertEqual(self.minnow("compare", model, self.dense("other.onnx")).returncode, 1)

    def test_errors_as_json(self):
        model = self.dense()
        (self.folder / "bad.onnx").write_bytes(b"\x08\x07\x12\xff")
        for arguments, kind, status in ((("run", "nowhere.onnx", "--json"), "io", 1), (("run", "--json"), "usage", 2), (("bench", model, "--seconds", "0", "-j"), "usage", 2),
                                        (("rum", "--json"), "usage", 2), (("inspect", "bad.onnx", "--json"), "invalid_model", 1), (("compare", model, "nowhere.onnx", "--json"), "io", 2),
                                        (("run", model, "--json"), "usage", 2), (("ops", "--importer", "keras", "--json"), "usage", 2), (("convert", model, "no/x.minnow", "--json"), "io", 1),
                                        (("run", model, "--json", "--bogus"), "usage", 2), (("tune", model, "--json"), "usage", 2), (("profile", "nowhere", "--json"), "io", 1)):
            with self.subTest(str(arguments)):
                result = self.minnow(*arguments)
                self.assertEqual((result.returncode, result.stderr), (status, ""))
                error = json.loads(result.stdout)
                self.assertEqual((list(error), list(error["error"]), error["error"]["kind"]), (["error"], ["kind", "message"], kind))
                self.assertGreater(len(error["error"]["message"]), 10)

    def test_help(self):
        top = self.succeeds("help").stdout
        self.assertEqual(top, self.succeeds("--help").stdout)
        for command in COMMANDS:
            with self.subTest(command):
                self.assertIn(f"\n  {command} ", top)
                text = self.succeeds("help", command).stdout
                self.assertEqual(text, self.succeeds(command, "--help").stdout)
                self.assertTrue(text.startswith(text.splitlines()[0]) and f"Usage: minnow {command}" in text, text)
                options = text.partition("\n\n\n")[0]
                self.assertLessEqual(max((len(line) for line in options.partition("Options:")[2].splitlines() if line.startswith(" " * 30)), default=0), 100)
                self.assertNotRegex(options, r"TEXT|FLOAT|INT:|\{\}")

    def test_short_options(self):
        text = self.succeeds("help", "run").stdout
        for pair in ("-h,--help", "-i,--input", "-s,--shape", "-o,--output-dir", "-t,--threads", "-b,--backend", "-p,--precision", "-j,--json"):
            self.assertIn(pair, text)
        self.assertEqual(self.succeeds("-V").stdout, self.succeeds("--version").stdout)
        rows = json.loads(self.succeeds("run", self.dense(), "--random", "-s", "2x4", "-o", "out", "-t1", "-b", "reference", "-p", "high", "-j").stdout)["outputs"]
        self.assertEqual(rows[0]["shape"], [2, 3])

    def test_a_fixed_dimension_names_shape(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
        model = write_model(self.folder / "fixed.onnx", nodes, [("x", F32, [1, 4])], [("y", F32, [1, 4])])
        x = self.save("x.npy", np.ones((2, 4), np.float32))
        error = self.fails("run", model, "--input", x)
        self.assertIn('input "x" should be f32[1, 4], it is f32[2, 4]; `minnow convert --shape` changes', error)
        self.assertNotIn("--shape", self.fails("run", model, "--input", self.save("x.npy", np.ones((1, 4)))))  # another dtype is another matter

    def test_files_that_are_no_models(self):
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 1234567\n"
        for suffix in ("onnx", "minnow", "tflite", "prototxt", "npy"):
            (self.folder / f"empty.{suffix}").write_bytes(b"")
            (self.folder / f"pointer.{suffix}").write_text(pointer)
            for command in (("inspect",), ("run", "--random"), ("run", self.dense(), "--input")):
                self.assertIn(f"empty.{suffix}: is empty", self.fails(*command, f"empty.{suffix}"))
                self.assertIn(f"pointer.{suffix}: is a Git LFS pointer in place of a file of 1234567 bytes; run `git lfs pull`", self.fails(*command, f"pointer.{suffix}"))
        self.assertIn("is empty", self.fails("convert", "empty.onnx", "out.minnow", "--from", "onnx"))

    def test_missing_custom_operators_name_the_option(self):
        nodes = [helper.make_node("Swish", ["x"], ["y"], domain="com.example", name="act")]
        model = write_model(self.folder / "custom.onnx", nodes, [("x", F32, [2])], [("y", F32, [2])], opsets=[("com.example", 1)])
        self.assertIn('com.example.Swish (node "act"); a library with custom operators is loaded by --operators', self.fails("inspect", model))

    def test_progress_is_for_terminals(self):
        model = self.dense()
        self.assertEqual(self.succeeds("bench", model, "--seconds", "1.5").stderr, "")
        if not shutil.which("script"):
            self.skipTest("script (bsdutils) is not there")
        for command in (f"bench {model} --seconds 2", f"tune {model} --file t.txt --seconds 3"):
            shown = subprocess.run(["script", "-qec", f"{MINNOW} {command}", "/dev/null"], capture_output=True, cwd=self.folder, env={**os.environ, "TERM": "xterm"}).stdout.decode()
            self.assertRegex(shown, r"\r\w+ \[#+\.*\] \d+ %, \d+ s left\x1b\[K")
            self.assertIn("\r\x1b[K", shown)  # and nothing stays


class Completion(CommandTest):
    def bash(self, *words):
        """Return the shell's completions of the last word."""
        script = self.succeeds("completion", "bash").stdout
        words = ["minnow", *words]
        call = f"{script}\nCOMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _minnow; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        result = subprocess.run(["bash", "-c", call], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_bash(self):
        self.assertLessEqual(set(COMMANDS), set(self.bash("")))
        self.assertEqual(self.bash("com"), ["compare", "completion"])
        self.assertEqual(self.bash("run", "--prec"), ["--precision"])
        self.assertEqual(self.bash("run", "--precision", ""), ["high", "normal", "tf32", "low"])
        self.assertEqual(self.bash("run", "-p", "l"), ["low"])
        self.assertEqual(self.bash("run", "--backend", "=", "ref"), ["reference"])
        self.assertEqual(self.bash("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.bash("help", "tu"), ["tune"])
        self.assertEqual(self.bash("run", "--threads", ""), [])
        (self.folder / "model.onnx").write_bytes(b"")
        self.assertEqual(self.bash("run", "mod"), ["model.onnx"])
        self.assertEqual(self.bash("run", "m", "--input", "x", "=", "mod"), ["model.onnx"])

    def test_every_option_is_offered(self):
        for command in COMMANDS:
            text = self.succeeds("help", command).stdout
            names = {name for line in text.splitlines() if line.startswith("  -") for name in line.split()[0].split(",")}
            self.assertEqual(set(self.bash(command, "-")), names, command)
            for shell in ("zsh", "fish"):
                script = self.succeeds("completion", shell).stdout
                for name in names:
                    self.assertIn(name if shell == "zsh" else f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')} ", script)

    def test_explanations_are_short(self):
        script = self.succeeds("completion", "fish").stdout
        self.assertIn("-l precision -x -a 'high normal tf32 low' -d 'high, normal, tf32, low'\n", script)
        self.assertIn("-l threads -x -d 'threads that compute'\n", script)

    def test_the_shells_read_their_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                script = self.succeeds("completion", shell).stdout
                result = subprocess.run([shell, "-n", "/dev/stdin"] if shell != "fish" else ["fish", "--no-execute", "/dev/stdin"], input=script, capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)


if __name__ == "__main__":
    unittest.main()
