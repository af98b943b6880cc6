#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that Python writes: whole or not at all, and never in the place of something else."""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

try:
    import numpy as np

    import minnow
    import minnow.numpy as mnp
    from minnow import expr, tools
except ImportError as error:
    print(error)
    sys.exit(77)


def writers():
    x = mnp.arange(100000, dtype="float64")
    return {
        "save": ("x.npy", lambda path: mnp.save(path, x)),
        "savez": ("x.npz", lambda path: mnp.savez(path, x, b=x)),
        "savez_compressed": ("x.npz", lambda path: mnp.savez_compressed(path, mnp.random.default_rng(1).normal(size=100000))),
        "savetxt": ("x.txt", lambda path: mnp.savetxt(path, x)),
        "savetxt of .gz": ("x.txt.gz", lambda path: mnp.savetxt(path, mnp.random.default_rng(1).normal(size=100000))),
        "tofile": ("x.bin", lambda path: x.tofile(path)),
    }


class FilesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def test_a_full_disk_leaves_what_was_there(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for what, (name, write) in writers().items():
                for text in (None, b"old"):
                    with self.subTest(what, there=text):
                        path = self.folder / name
                        if text:
                            path.write_bytes(text)
                        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, hard))
                        try:
                            with self.assertRaises(OSError):
                                write(path)
                        finally:
                            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                        self.assertEqual([each.name for each in self.folder.iterdir()], [name] if text else [])
                        if text:
                            self.assertEqual(path.read_bytes(), text)
                            path.unlink()
        finally:
            signal.signal(signal.SIGXFSZ, before)

    def test_files_are_complete_and_replace_older_ones(self):
        for what, (name, write) in writers().items():
            with self.subTest(what):
                path = self.folder / name
                write(path)
                first = path.stat().st_size
                self.assertGreater(first, 10000)
                path.write_bytes(b"old")
                path.chmod(0o644)
                write(str(path))
                self.assertGreater(path.stat().st_size, 10000)
                self.assertEqual(path.stat().st_mode & 0o777, 0o666 & ~self.mask())
                path.unlink()
        mnp.save(self.folder / "x", [1, 2])
        np.testing.assert_array_equal(np.load(self.folder / "x.npy"), [1, 2])
        mnp.savez(self.folder / "x", a=[1], b=[2.5])
        with np.load(self.folder / "x.npz") as both:
            self.assertEqual((both["a"][0], both["b"][0]), (1, 2.5))
        mnp.savetxt(self.folder / "x.gz", [[1, 2], [3, 4]])
        np.testing.assert_array_equal(np.loadtxt(self.folder / "x.gz"), [[1, 2], [3, 4]])
        with self.assertRaises(FileNotFoundError):
            mnp.save(self.folder / "no" / "x", [1])

    @staticmethod
    def mask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    @unittest.skipUnless(sys.platform == "linux", "only Linux knows files without names")
    def test_a_killed_process_leaves_nothing(self):
        script = textwrap.dedent("""
            import os, signal, sys
            from minnow._files import new_file
            with new_file(sys.argv[1]) as file:
                file.write(b"half")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        """)
        done = subprocess.run([sys.executable, "-c", script, str(self.folder / "x")], env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_models_are_not_overwritten(self):
        path = self.folder / "net.minnow"
        x = expr.placeholder("x", "float32", [4, 64])
        expr.save([expr.matmul(x, mnp.ones((64, 64), dtype="float32"))], str(path))
        model = path.read_bytes()
        inputs = {"x": np.ones((4, 64), "float32")}
        for what, call in (("a tuning file", lambda: tools.tune(path, path, inputs, seconds=0.02)),
                           ("a weight cache", lambda: minnow.load(path, weight_cache=path)(inputs["x"])),
                           ("a weight cache", lambda: tools.bench(path, inputs, seconds=0.02, weight_cache=path)),
                           ("a trace", lambda: tools.profile(path, inputs, seconds=0.02, trace=path))):
            with self.subTest(what), self.assertRaisesRegex(minnow.InvalidArgument, f"net.minnow: is not {what} and is not overwritten"):
                call()
            self.assertEqual(path.read_bytes(), model)
        tools.profile(path, inputs, seconds=0.02, trace=self.folder / "trace.json")
        tools.profile(path, inputs, seconds=0.02, trace=self.folder / "trace.json")
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["net.minnow", "trace.json"])


if __name__ == "__main__":
    unittest.main()
