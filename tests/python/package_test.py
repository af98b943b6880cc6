#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as a user meets it: imported without NumPy, quietly and with few modules; arrays shared, not copied; threads; nothing leaks."""
import gc
import os
import pickle
import resource
import subprocess
import sys
import threading
import unittest
from pathlib import Path

try:
    import minnow
    import numpy as np
    from minnow import expr
except ImportError as error:
    print(error)
    sys.exit(77)

PACKAGE = str(Path(os.path.abspath(minnow.__file__)).parent.parent)


def alone(text):
    """Runs a program in a process that sees the package and the standard library alone."""
    return subprocess.run([sys.executable, "-S", "-c", text], capture_output=True, text=True, env={"PYTHONPATH": PACKAGE, "PATH": ""})


class Import(unittest.TestCase):
    def test_without_numpy_and_quietly(self):
        result = alone("import minnow, sys\nassert 'numpy' not in sys.modules\nx = minnow.Var([[1, 2], [3, 4.0]])\n"
                       "assert (x @ x).tolist() == [[7, 10], [15, 22]]\nassert memoryview(x).shape == (2, 2)\n"
                       "from minnow import expr, nn, cv, tools\nassert expr.relu(x - 2).tolist() == [[0, 0], [1, 2]]\n"
                       "try:\n    import numpy\nexcept ImportError:\n    pass\nelse:\n    raise SystemExit('NumPy is there')")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_imports_little(self):
        # Importing minnow must not import modules that are slow to import, or that only some users need.
        result = alone("import sys\nbefore = set(sys.modules)\nimport minnow\nprint(*sorted(set(sys.modules) - before))")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        imported = set(result.stdout.split())
        own = {name for name in imported if name.split(".")[0] == "minnow"}
        self.assertEqual(own, {"minnow", "minnow._arrays", "minnow._files", "minnow._functions", "minnow._minnow", "minnow._minnow.numpy", "minnow._minnow.optim", "minnow._minnow.vision", "minnow._var"})
        heavy = {"numpy", "argparse", "asyncio", "ctypes", "dataclasses", "decimal", "fractions", "importlib.metadata", "inspect", "json", "logging", "math", "pathlib",
                 "pickle", "random", "shutil", "subprocess", "tempfile", "threading", "urllib", "zipfile"}
        self.assertEqual(imported & heavy, set())

    def test_names(self):
        for name in minnow.__all__:
            self.assertTrue(hasattr(minnow, name), name)
        for name in ("expr", "nn", "cv", "tools", "Module"):
            self.assertTrue(hasattr(minnow, name), name)
        with self.assertRaisesRegex(AttributeError, "nothing"):
            minnow.nothing
        self.assertGreater(len([name for name in expr.__all__ if callable(getattr(expr, name))]), 200)


class Exchange(unittest.TestCase):
    def setUp(self):
        self.large = np.ones((16, 1024, 1024), np.float32)  # 64 MB

    def test_arrays_are_shared(self):
        address = self.large.__array_interface__["data"][0]
        for x in (minnow.Var(self.large), minnow.Var(memoryview(self.large)), minnow.Var(self.large, copy=False)):
            self.assertEqual(x.numpy().__array_interface__["data"][0], address)
            self.assertEqual(np.asarray(x).__array_interface__["data"][0], address)
            self.assertEqual(np.from_dlpack(x).__array_interface__["data"][0], address)
            self.assertFalse(x.numpy().flags.writeable)
        self.assertNotEqual(minnow.Var(self.large, copy=True).numpy().__array_interface__["data"][0], address)

    def test_arrays_of_numpy_take_results(self):
        x = same = np.arange(3, dtype=np.float32)
        x += minnow.Var([1.0, 2.0, 3.0], "float32")
        np.multiply(minnow.Var([2.0, 3.0, 4.0], "float32"), 2, out=x, where=np.array([True, False, True]))
        self.assertIs(x, same)
        np.testing.assert_array_equal(x, np.float32([4, 3, 8]))
        np.add.reduce(minnow.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), axis=0, out=x)
        np.testing.assert_array_equal(x, np.float32([5, 7, 9]))
        whole = np.arange(3)
        with self.assertRaises(TypeError):
            whole += minnow.Var([0.5, 0.5, 0.5])
        np.testing.assert_array_equal(whole, [0, 1, 2])

    def test_what_was_shared_is_not_written(self):
        x = minnow.Var(self.large)
        x[0] = 5
        x += 1
        self.assertEqual((self.large.max(), x[0, 0, 0].item()), (1, 6))
        seen = x.numpy()
        x[0] = 7
        self.assertEqual((seen[0, 0, 0], x[0, 0, 0].item()), (6, 7))

    def test_memory_goes_with_the_last_owner(self):
        class Owner(np.ndarray):
            pass

        gone = []
        array = np.ones(10, np.float32).view(Owner)
        import weakref
        weakref.finalize(array, gone.append, True)
        x = minnow.Var(array)
        y = x * 2
        del array, x
        gc.collect()
        self.assertEqual(y.tolist(), [2] * 10)
        del y
        expr.clear_cache()
        gc.collect()
        self.assertTrue(gone)

    def test_every_dtype_both_ways(self):
        for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
            for array in (np.array([[0, 1], [2, 3]]).astype(name), np.zeros((0, 3), name), np.array(1, name), np.arange(24).reshape(2, 3, 4).astype(name)[:, ::-1, ::2],
                          np.array([1, 2]).astype(np.dtype(name).newbyteorder(">"))):
                x = minnow.Var(array)
                self.assertEqual((x.shape, x.dtype.name), (array.shape, name))
                np.testing.assert_array_equal(np.asarray(x), array)
                self.assertEqual(np.asarray(x).dtype, np.dtype(name))
                self.assertEqual(x.tolist(), array.tolist())
                for protocol in (2, 4, 5):
                    kept = pickle.loads(pickle.dumps(x, protocol))
                    self.assertEqual((kept.tolist(), kept.shape, kept.dtype), (x.tolist(), x.shape, x.dtype))
        self.assertEqual(np.array(minnow.Var([1, 2]), dtype=np.float32).dtype, np.float32)

    def test_promotion_is_numpys(self):
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
        for a in names:
            for b in names:
                self.assertEqual(minnow.promote(a, b), np.result_type(np.dtype(a), np.dtype(b)).name, (a, b))
                self.assertEqual((minnow.Var(np.ones(2, a)) + np.ones(2, b)).dtype, (np.ones(2, a) + np.ones(2, b)).dtype.name)
            for number in (1, 1.5):
                self.assertEqual((minnow.Var(np.ones(2, a)) * number).dtype, (np.ones(2, a) * number).dtype.name)


class Work(unittest.TestCase):
    def test_eight_threads_on_one_module(self):
        x = expr.placeholder("x", "float32", [-1, 32])
        weights = [np.random.default_rng(i).standard_normal((32, 32)).astype(np.float32) / 6 for i in range(4)]
        y = x
        for w in weights:
            y = expr.relu(expr.matmul(y, w))
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            expr.save([y], os.path.join(folder, "m.minnow"))
            module = minnow.load(os.path.join(folder, "m.minnow"))
        wrong = []

        def work(seed):
            random = np.random.default_rng(seed)
            for _ in range(200):
                value = random.standard_normal((int(random.integers(1, 5)), 32)).astype(np.float32)
                expected = value
                for w in weights:
                    expected = np.maximum(expected @ w, 0)
                if not np.allclose(module(value), expected, atol=1e-4):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_threads_that_read_one_expression(self):
        for _ in range(50):
            x = minnow.Var(np.arange(1000, dtype=np.float32))
            y = (x * 2 + 1) @ x
            found = []
            threads = [threading.Thread(target=lambda: found.append((y.item(), (y + 1).item()))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(set(found)), 1)
            self.assertEqual(len(found), 8)

    def test_nothing_leaks(self):
        x, y = minnow.Var(np.ones(64, np.float32)), minnow.Var(np.ones(64, np.float32))

        def rounds(count):
            for i in range(count):
                z = (x + y) * 2
                z[i % 64] = i
                float(z[0])
                if i % 16 == 0:
                    np.asarray(z)
                    try:
                        z[100]
                    except IndexError:
                        pass

        def memory():
            gc.collect()
            return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

        rounds(10000)
        before = memory()
        rounds(100000)
        grown = memory() - before
        print(f"100,000 rounds: {grown / 1024:.0f} KiB more")
        self.assertLess(grown, 2 << 20)


if __name__ == "__main__":
    unittest.main()
