# SPDX-License-Identifier: Apache-2.0
# Slow: drivers for the processor compile slowly.
"""The command with devices: the file of compiled kernels, sessions that go on without a device, and --backend auto."""
import json
import os
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from command import F32, CommandTest, helper, write_model


class DeviceTest(CommandTest):
    def setUp(self):
        super().setUp()
        devices = json.loads(self.succeeds("devices", "--json").stdout)["devices"]
        self.usable = {device["backend"] for device in devices if not device["problem"]}
        self.known = {device["backend"] for device in devices}
        random = np.random.default_rng(5)
        self.model = write_model(self.folder / "model.onnx",
                                 [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
                                  helper.make_node("GlobalAveragePool", ["r"], ["y"])],
                                 [("x", F32, (1, 3, 9, 11))], [("y", F32, (1, 5, 1, 1))], {"w": random.standard_normal((5, 3, 3, 3)).astype(np.float32)})
        np.save(self.folder / "x.npy", random.standard_normal((1, 3, 9, 11)).astype(np.float32))

    def result(self, *options, env=None):
        run = self.succeeds("run", self.model, "--input", "x=x.npy", "--output-dir", "out", *options, env=env)
        return np.load(self.folder / "out" / "y.npy"), run.stderr

    def test_kernels_are_kept_in_a_file(self):
        env = {"POCL_KERNEL_CACHE": "0", "MESA_SHADER_CACHE_DISABLE": "1"}
        cache = self.folder / "kernels"
        expected, _ = self.result()
        backends = sorted(self.usable & {"opencl", "vulkan", "gles"})
        if not backends:
            self.skipTest("no device")

        def agrees(device):
            found, messages = self.result(*device, env=env)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            return messages

        for backend in backends:
            with self.subTest(backend):
                cache.unlink(missing_ok=True)
                device = ("--backend", backend, "--kernel-cache", "kernels")
                self.assertNotIn("kernels", agrees(device))
                good, written = cache.read_bytes(), cache.stat().st_mtime_ns
                self.assertNotIn("kernels", agrees(device))
                self.assertEqual(cache.stat().st_mtime_ns, written)  # nothing was compiled
                for size in (0, 9, 100, len(good) // 2, len(good) - 1):
                    cache.write_bytes(good[:size])
                    self.assertIn("kernels are compiled anew and the file is replaced", agrees(device))
                    self.assertGreater(cache.stat().st_size, 1000)
                cache.write_bytes(b"a file of the user")
                self.assertIn("kernels: is not a kernel cache and is not overwritten",
                              self.fails("run", self.model, "--input", "x=x.npy", *device))
                self.assertEqual(cache.read_bytes(), b"a file of the user")
        cache.unlink()
        for _ in range(2):  # one file for all
            for backend in backends:
                agrees(("--backend", backend, "--kernel-cache", "kernels"))
            written = cache.stat().st_mtime_ns
        for backend in backends:
            agrees(("--backend", backend, "--kernel-cache", "kernels"))
        self.assertEqual(cache.stat().st_mtime_ns, written)

    def test_processes_share_a_device(self):
        expected, _ = self.result()
        for backend in sorted(self.usable & {"cuda", "opencl", "vulkan", "gles"}):
            with self.subTest(backend):
                with ThreadPoolExecutor(2) as pool:
                    runs = [pool.submit(self.succeeds, "run", self.model, "--input", "x=x.npy", "--backend", backend, "--kernel-cache",
                                        "shared", "--output-dir", f"{backend}{i}") for i in range(2)]
                for i, run in enumerate(runs):
                    run.result()
                    np.testing.assert_allclose(np.load(self.folder / f"{backend}{i}" / "y.npy"), expected, rtol=1e-5, atol=1e-6)

    def test_columns_of_a_joint_product_are_read_where_they_lie(self):
        random = np.random.default_rng(6)
        weights = {"w": (random.standard_normal((24, 72)) / 5).astype(np.float32), "sizes": np.array([24, 24, 24])}
        for i, (begin, end) in enumerate(((0, 24), (24, 48), (48, 72))):
            weights |= {f"begin{i}": np.array([begin]), f"end{i}": np.array([end]), "axes": np.array([-1])}
        slices = [helper.make_node("Slice", ["joint", f"begin{i}", f"end{i}", "axes"], ["qkv"[i]]) for i in range(3)]
        split = [helper.make_node("Split", ["joint", "sizes"], ["q", "k", "v"], axis=2)]
        attention = helper.make_node("Attention", ["q", "k", "v"], ["a"], q_num_heads=4, kv_num_heads=4, is_causal=1)
        product = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Sin", ["m"], ["joint"])]  # Sin: the product is not split
        also = helper.make_node("Add", ["a", "k"], ["y"])
        last = helper.make_node("Relu", ["a"], ["y"])
        np.save(self.folder / "x.npy", random.standard_normal((2, 37, 24)).astype(np.float32))
        for name, parts, end, copies in (("slices", slices, last, 0), ("split", split, last, 0), ("also", slices, also, 1)):
            self.model = write_model(self.folder / f"{name}.onnx", [*product, *parts, attention, end], [("x", F32, (2, 37, 24))],
                                     [("y", F32, (2, 37, 24))], weights, opset=23)
            expected, _ = self.result()
            for backend in sorted(self.usable & {"opencl", "vulkan", "gles"}):
                with self.subTest(name, backend=backend):
                    found, _ = self.result("--backend", backend)
                    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
                    plan = json.loads(self.succeeds("inspect", self.model, "--plan", "--json", "--backend", backend).stdout)["plan"]["steps"]
                    self.assertEqual(sum(step["op"] in ("Slice", "Split") for step in plan), copies)

    def test_kernels_compiled_ahead_need_no_compiler(self):
        compilers = sorted(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*"))
        stand_in = Path(os.environ["MINNOW_BUILD_DIR"]) / "tests" / "cuda_stand_in"
        if "cuda" not in self.known or not compilers or not (stand_in / "libcuda.so.1").exists():
            self.skipTest("no NVRTC, or no stand-in for CUDA's driver")
        compiler = {"MINNOW_NVRTC": str(compilers[-1])}
        ahead = ("--backend", "cuda:8.0", "--kernel-cache", "kernels")
        self.assertIn("gpu.conv", self.succeeds("inspect", self.model, "--plan", *ahead, env=compiler).stdout)
        self.assertIn(b".target sm_80", (self.folder / "kernels").read_bytes())
        self.assertIn("cuda:8.0 compiles the kernels of plans into kernels and runs nothing",
                      self.fails("run", self.model, "--input", "x=x.npy", *ahead, env=compiler))
        self.assertIn("name it as the kernel cache", self.fails("inspect", self.model, "--plan", "--backend", "cuda:8.0", env=compiler))
        self.assertIn("as in cuda:8.0", self.fails("inspect", self.model, "--plan", "--backend", "cuda:8.x", "--kernel-cache", "kernels"))

        def device(capability):
            return {"LD_LIBRARY_PATH": str(stand_in), "MINNOW_STUB_CAPABILITY": capability,
                    "MINNOW_NVRTC": str(stand_in / "libcuda.so.1")}  # which is no NVRTC

        here = ("--backend", "cuda", "--kernel-cache", "kernels")
        before = (self.folder / "kernels").read_bytes()
        for capability in ("80", "86", "90"):
            self.succeeds("run", self.model, "--input", "x=x.npy", *here, env=device(capability))
        self.assertEqual((self.folder / "kernels").read_bytes(), before)
        self.assertIn("cannot compile a kernel", self.fails("run", self.model, "--input", "x=x.npy", *here, env=device("75")))
        other = write_model(self.folder / "other.onnx", [helper.make_node("Softmax", ["x"], ["y"])], [("x", F32, (3, 5))], [("y", F32, (3, 5))])
        self.assertIn("neither in the kernel cache, which has others for cuda:8.0", self.fails("bench", other, *here, env=device("80")))
        self.assertIn("kernels for compute capability 8.0 must come from a file", self.fails("run", self.model, "--input", "x=x.npy", "--backend", "cuda", env=device("80")))

    def test_tuning_is_for_one_device(self):
        backends = sorted(self.usable & {"opencl", "vulkan", "gles"})
        if not backends:
            self.skipTest("no device")
        for backend in backends:
            with self.subTest(backend):
                device = ("--backend", backend)
                self.succeeds("tune", self.model, "--file", "tuning.txt", "--seconds", "0.2", *device)
                found = self.succeeds("bench", self.model, "--seconds", "0.02", "--tuning", "tuning.txt", *device)
                self.assertNotIn("tuning.txt", found.stderr)
        text = (self.folder / "tuning.txt").read_text()
        self.assertEqual(text.count("\nend "), len(backends))
        for backend in backends:
            self.assertRegex(text, rf"\nmachine {backend} ")
        self.assertIn("nothing in it is for this machine and this version of Minnow",
                      self.succeeds("bench", self.model, "--seconds", "0.02", "--tuning", "tuning.txt").stderr)

    def test_a_missing_device(self):
        missing = next((name for name in ("cuda", "opencl") if name in self.known - self.usable), None)
        if not missing:
            self.skipTest("every device is there")
        self.assertIn(f"the backend {missing} cannot be used", self.fails("run", self.model, "--input", "x=x.npy", "--backend", missing))
        found, messages = self.result("--backend", missing, "--fallback")
        np.testing.assert_array_equal(found, self.result()[0])
        self.assertIn(f"the backend {missing} cannot be used", messages)

    def test_several_backends_and_numbers_of_devices(self):
        found, _ = self.result("--backend", "reference,cpu")
        np.testing.assert_allclose(found, self.result()[0], rtol=1e-4, atol=1e-5)
        for backend in sorted(self.usable & {"opencl", "vulkan", "gles"}):
            found, _ = self.result("--backend", f"{backend},cpu")
            np.testing.assert_allclose(found, self.result()[0], rtol=1e-4, atol=1e-5)
        for backend, message in (("cpu,", 'there is no ""'), ("cpu,gpu", 'there is no "gpu"'), ("cpu:1", "cpu has one device"), ("cpu:x", "as in cpu:1")):
            self.assertIn(message, self.fails("run", self.model, "--input", "x=x.npy", "--backend", backend))
        for backend, message in (("opencl", "no device number 99"), ("vulkan", "MINNOW_VULKAN_DEVICE"), ("gles", "MINNOW_GLES_DEVICE")):
            if backend in self.usable:
                self.assertIn(message, self.fails("run", self.model, "--input", "x=x.npy", "--backend", f"{backend}:99"))

    def test_auto(self):
        found, _ = self.result("--backend", "auto")
        np.testing.assert_allclose(found, self.result()[0], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
