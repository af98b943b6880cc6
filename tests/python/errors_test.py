#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exceptions that programs can catch: classes of Python beside Minnow's own, and what they say."""
import errno
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import minnow
    from minnow import cv, expr, nn, tools
    from minnow import numpy as mnp
except ImportError as error:
    print(error)
    sys.exit(77)


class Errors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_missing_file(self):
        x = expr.placeholder("x", "float32", (2,))
        for name, use in (("no.onnx", minnow.load), ("no.minnow", minnow.load), ("no.minnow", expr.load), ("no.png", cv.imread), ("no.so", expr.load_operators),
                          ("no.onnx", tools.inspect), ("no.onnx", lambda path: minnow.convert(path, self.folder / "y.minnow")),
                          ("no/x.minnow", lambda path: expr.save([x + 1.0], path))):
            path = str(self.folder / name)
            with self.subTest(name=name), self.assertRaises(FileNotFoundError) as caught:
                use(path)
            error = caught.exception
            self.assertIsInstance(error, minnow.IoError)
            self.assertIsInstance(error, minnow.FileNotFound)
            self.assertEqual((error.errno, error.filename, error.strerror), (errno.ENOENT, path, os.strerror(errno.ENOENT)))
            self.assertTrue(str(error).startswith(path + ": cannot be "), error)  # the sentence, not "[Errno 2]"

    def test_other_reasons_of_the_system(self):
        with self.assertRaises(IsADirectoryError) as caught:
            expr.load(self.folder)
        self.assertIsInstance(caught.exception, minnow.IoError)
        self.assertEqual(caught.exception.filename, str(self.folder))
        locked = self.folder / "locked.onnx"
        locked.write_bytes(b"")
        locked.chmod(0)
        if not os.access(locked, os.R_OK):  # root may read all
            with self.assertRaises(PermissionError) as caught:
                minnow.load(locked)
            self.assertIsInstance(caught.exception, minnow.PermissionDenied)
        with self.assertRaises(minnow.IoError) as caught:
            minnow.load("/dev/null")
        self.assertIsNone(caught.exception.errno)

    def test_an_expired_time_limit(self):
        x = expr.placeholder("x", "float32", (4,))
        y = expr.while_loop(lambda i, a: i < 100_000_000, lambda i, a: [i + 1, expr.sin(a)], [minnow.Var(0, "int64"), expr.relu(x)])[1]
        module = nn.load_module([y], [x], time_limit=0.05)
        with self.assertRaises(TimeoutError) as caught:
            module([1.0, 2.0, 3.0, 4.0])
        self.assertIsInstance(caught.exception, minnow.Cancelled)
        self.assertIsInstance(caught.exception, minnow.TimeLimitReached)
        self.assertIn("the time limit was reached", str(caught.exception))

    def test_a_bad_reshape(self):
        x = minnow.Var([1.0, 2.0, 3.0])
        for use in (lambda: x.reshape(2, 2), lambda: x.reshape((2, -1)), lambda: (x * 2.0).reshape(2, 2), lambda: x.reshape(-1, -1), lambda: x.reshape(-5)):
            with self.assertRaises(minnow.InvalidArgument) as caught:
                use()
            self.assertIsInstance(caught.exception, ValueError)
            self.assertRegex(str(caught.exception), r"^cannot reshape a Var of shape \(3,\) \(3 elements\) into shape \(")
        for use in (lambda: mnp.reshape(x, (2, 2)), lambda: expr.reshape(x, [2, 2]).numpy()):
            with self.assertRaisesRegex(ValueError, "shape"):
                use()

    def test_an_unknown_keyword_names_the_nearest(self):
        x = minnow.Var([1.0, 2.0])
        generator = mnp.random.default_rng(1)
        if sys.version_info >= (3, 13):
            self.skipTest("CPython names the nearest keyword itself")
        for wanted, use in (("threads", lambda: minnow.load("a", thread=1)), ("optimize", lambda: minnow.load("a", optimise="none")), ("optimize", lambda: minnow.convert("a", "b", optimise="none")),
                            ("strides", lambda: expr.conv(x, x, stride=[1])), ("axis", lambda: mnp.sum(x, axes=0)), ("axis", lambda: x.sum(axes=0)), ("out", lambda: mnp.add(x, x, outt=x)),
                            ("full_matrices", lambda: mnp.linalg.svd(x, full_matrix=True)), ("seed", lambda: mnp.random.default_rng(sed=1)), ("size", lambda: generator.normal(siz=3)),
                            ("size", lambda: mnp.random.normal(siz=3)), ("shape", lambda: expr.placeholder("x", shap=(1,))), ("seconds", lambda: tools.bench("a", second=1)), ("flags", lambda: cv.imread("a", flag=1)),
                            ("inputs", lambda: nn.load_module([x], input=[x])), ("order", lambda: x.reshape(2, ordr="C")), ("shape", lambda: expr.custom_operator("a.b", shap=None)),
                            ("dtype", lambda: x.astype(dtyp="float32")), ("dtype", lambda: minnow.Var(1, dtyp="float32")), ("threads", lambda: expr.scope(thread=1)),
                            ("shape", lambda: mnp.zeros(shap=3)), ("n_fft", lambda: minnow.audio.spectrogram(x, nfft=3)), ("inputs", lambda: minnow.load("a", input=["x"]))):
            with self.subTest(wanted=wanted), self.assertRaises(minnow.InvalidType) as caught:
                use()
            self.assertIn(f'"{wanted}"', str(caught.exception))
            self.assertIsInstance(caught.exception, TypeError)

    def test_functions_stay_functions(self):
        import copy
        import inspect
        import pickle
        import pydoc
        for function in (mnp.sum, mnp.linalg.svd, expr.conv, minnow.load, tools.bench, cv.imread, nn.load_module):
            self.assertTrue(inspect.isroutine(function) and callable(function))
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertIs(copy.deepcopy(function), function)
            self.assertIn(function.__name__, pydoc.plain(pydoc.render_doc(function)))
            self.assertTrue(function.__doc__ and function.__module__.startswith("minnow") and inspect.getsource(function))
        self.assertIn("axis", inspect.signature(mnp.sum).parameters)
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument"):
            mnp.sum()
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'b'$"):  # one of a function that it calls is not meant
            expr.while_loop(lambda i: i < 3, lambda i: (lambda a: a)(b=i), [minnow.Var(0)])

    def test_looking_around_imports_nothing(self):
        program = """
import sys, inspect, pydoc
import minnow
before = set(sys.modules)
dir(minnow)
hasattr(minnow, "_ipython_display_"), hasattr(minnow, "__wrapped__")
members = dict(inspect.getmembers(minnow))
assert "compat" not in members and "nn" in members, sorted(members)
pydoc.render_doc(minnow)
import rlcompleter
completer = rlcompleter.Completer({"minnow": minnow})
words = [completer.complete("minnow.", i) for i in range(100)]
assert "minnow.load(" in words, words
assert not {"MNN", "minnow.compat"} & set(sys.modules)
assert "numpy" not in set(sys.modules) - before
try:
    import MNN
except ImportError:
    pass
else:
    assert "minnow" not in MNN.__doc__.lower(), MNN
try:
    minnow.compat
except AttributeError as error:
    assert "import minnow.compat" in str(error), error
else:
    raise AssertionError("minnow.compat came by itself")
import minnow.compat
import MNN
assert MNN.expr and minnow.compat
"""
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)


if __name__ == "__main__":
    unittest.main()
