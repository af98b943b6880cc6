#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docstrings: every public function has one, those of operators say dtypes, shapes and errors, and the examples in all of them are run."""
import doctest
import functools
import importlib
import inspect
import os
import re
import sys
import tempfile
import unittest

try:
    import minnow
    from minnow import expr
    from minnow import numpy as mnp
    from minnow.expr import _operators
except ImportError as error:
    print(error)
    sys.exit(77)

MODULES = ("minnow", "minnow.compress", "minnow.expr", "minnow.nn", "minnow.tools", "minnow.cv", "minnow.audio", "minnow.optim", "minnow.data", "minnow.data.transforms", "minnow.numpy", "minnow.numpy.linalg", "minnow.numpy.fft", "minnow.numpy.random")

SAYS_ERRORS = re.compile(r"\b(?:Raises|raises?|[Ee]rrors?|Never fails)\b|Error\b")


def functions():
    """Public functions and methods by name."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        for key in getattr(module, "__all__", dir(module)):
            value = getattr(module, key)
            if key.startswith("_") or not callable(value) or not str(getattr(value, "__module__", "")).startswith("minnow") or str(value.__module__).endswith("._core"):
                continue
            found.setdefault(id(value), (f"{name}.{key}", value))
    return dict(found.values())


class Docstrings(unittest.TestCase):
    def test_every_function_has_one(self):
        missing = [name for name, value in functions().items() if not inspect.getdoc(value)]
        self.assertEqual(missing, [])

    def test_operators_say_dtypes_shapes_and_errors(self):
        counts = {"functions": 0, "dtypes": 0, "shapes": 0, "errors": 0, "sources": 0, "examples": 0}
        for name in _operators.__all__:
            text = inspect.getdoc(getattr(_operators, name))
            counts["functions"] += 1
            counts["dtypes"] += bool(re.search(r"dtype|int64|float32", text))
            counts["shapes"] += "\nShape: " in text
            counts["errors"] += "\nRaises " in text
            counts["sources"] += "Source:" in text
            counts["examples"] += ">>> " in text
            self.assertLess(max(map(len, text.splitlines())), 140, name)
        print("operators:", counts)
        for what in ("dtypes", "shapes", "errors"):
            self.assertEqual(counts[what], counts["functions"], what)
        self.assertGreaterEqual(counts["examples"], 110)
        self.assertGreaterEqual(counts["sources"], 40)

    def test_every_function_says_what_it_raises(self):
        silent = []
        from minnow.numpy._core import REGISTRY
        helpers = re.compile(r"minnow\.numpy\.(?:linalg|fft|random)\.")  # these modules have no __all__: names that they import
        for name, value in functions().items():
            if isinstance(value, minnow.dtype) or helpers.match(name) and not any(value is one for one in REGISTRY.values()):
                continue
            if not inspect.isclass(value):
                silent += [] if SAYS_ERRORS.search(inspect.getdoc(value)) else [name]
                continue
            if issubclass(value, Exception) or SAYS_ERRORS.search(inspect.getdoc(value)):  # of a class for all methods
                continue
            for key, method in vars(value).items():
                if not key.startswith("_") and callable(method) and not inspect.isclass(method):
                    self.assertTrue(inspect.getdoc(method), f"{name}.{key}")
        self.assertEqual(silent, [])
        for kind, method in ((minnow.nn.LoadedModule, "forward"), (minnow.nn.LoadedModule, "prepare"), (minnow.nn.Module, "load_parameters"), (minnow.nn.Module, "forward"),
                             (expr.Loaded, "at")):
            self.assertRegex(inspect.getdoc(getattr(kind, method)), "[Rr]aises")
        for kind in (minnow.Var, mnp.random.Generator, mnp.random.RandomState):
            self.assertRegex(inspect.getdoc(kind), "[Ee]rrors")

    def test_functions_of_numpy_say_whose_rules_hold(self):
        from minnow.numpy._core import REGISTRY
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        for name, function in REGISTRY.items():
            if isinstance(function, type):
                continue
            named = re.search(r"are those of numpy\.([a-z0-9_.]+)\(\)", inspect.getdoc(function))
            self.assertTrue(named, name)
            self.assertTrue(callable(functools.reduce(getattr, named[1].split("."), numpy)), name)

    def test_examples(self):
        folder = tempfile.TemporaryDirectory()  # where examples write files
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        finder, total = doctest.DocTestFinder(exclude_empty=True), 0
        known = {"minnow": minnow, "expr": expr, "nn": minnow.nn, "tools": minnow.tools, "cv": minnow.cv, "audio": minnow.audio, "optim": minnow.optim, "data": minnow.data, "np": mnp}
        for name, value in functions().items():
            if ">>> " not in (inspect.getdoc(value) or ""):
                continue
            for test in finder.find(value, name, globs=dict(known)):
                total += len(test.examples)
                output = []
                failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=output.append)
                self.assertEqual(failed, 0, "".join(output))
        print("examples:", total)
        self.assertGreaterEqual(total, 580)

    def test_every_layer_loss_and_tool_has_an_example(self):
        from minnow.nn import _activations, _attention, _layers, _loss_layers, _recurrent
        wanted = [getattr(module, name) for module in (_activations, _attention, _layers, _loss_layers, _recurrent) for name in module.__all__]
        wanted += [minnow.load, minnow.convert, *(getattr(minnow.tools, name) for name in ("convert", "inspect", "compare", "bench", "profile", "tune"))]
        self.assertGreater(len(wanted), 100)
        self.assertEqual([value.__name__ for value in wanted if ">>> " not in inspect.getdoc(value)], [])

    def test_counts(self):
        """How many functions say what they raise, have an example, and name a source or the function whose rules hold."""
        texts = [inspect.getdoc(value) or "" for value in functions().values()]
        counts = {"functions": len(texts), "errors": sum(bool(SAYS_ERRORS.search(text)) for text in texts), "examples": sum(">>> " in text for text in texts),
                  "sources": sum(bool(re.search(r"Source:|are those of numpy\.|et al\.|\b(?:19|20)\d\d\b", text)) for text in texts)}
        print("all:", counts)
        self.assertGreaterEqual(counts["errors"], 0.94 * counts["functions"])  # the others are classes of errors, dtypes and records
        self.assertGreaterEqual(counts["examples"], 460)
        self.assertGreaterEqual(counts["sources"], 480)


if __name__ == "__main__":
    unittest.main()
