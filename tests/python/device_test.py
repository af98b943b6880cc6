# SPDX-License-Identifier: Apache-2.0
"""Arrays that stay on a device, between modules and by DLPack."""
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings
from pathlib import Path

try:
    import numpy as np
    from onnx import TensorProto, helper

    import minnow
    from minnow import _nvrtc
except ImportError as error:
    print(error)
    sys.exit(77)


def model_bytes():
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])], "graph",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 3))], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", 3))],
                              [helper.make_tensor("w", TensorProto.FLOAT, (3, 3), [1, -2, 0.5, 3, 0, 1, -1, 2, 0.25])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


class DeviceArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
        cls.model = model_bytes()
        cls.cpu = minnow.load(cls.model)
        try:
            cls.module = minnow.load(cls.model, backend="opencl")
            cls.there = cls.module.to_device(cls.x)
        except minnow.Error as error:
            raise unittest.SkipTest(str(error))

    def test_arrays_stay_on_the_device(self):
        y = self.module(self.there)
        self.assertEqual((y.shape, y.dtype, y.backend), ((4, 3), minnow.float32, "opencl"))
        np.testing.assert_allclose(y.numpy(), self.cpu(self.x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(self.module(y).numpy(), self.cpu(self.cpu(self.x)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(self.module({"x": y}).numpy(), self.cpu(self.cpu(self.x)), rtol=1e-5, atol=1e-6)
        self.assertIsInstance(self.module(self.x), np.ndarray)  # arrays of the host as before
        self.assertRegex(repr(y), r"DeviceArray\(shape=\[4, 3\]")

    def test_dlpack_shares_memory_with_other_libraries(self):
        class Foreign:  # an array of another library
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__(stream=stream)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        self.assertEqual(self.there.__dlpack_device__(), (4, 0))
        other = minnow.load(self.model, backend="opencl")
        expected = self.cpu(self.x)
        for _ in range(3):
            np.testing.assert_allclose(other(Foreign(self.there)).numpy(), expected, rtol=1e-5, atol=1e-6)
        for options in ({}, {"max_version": (1, 0)}, {"dl_device": (4, 0)}):
            self.assertIn("dltensor", repr(self.there.__dlpack__(**options)))
        for options in ({"copy": True}, {"dl_device": (1, 0)}):
            with self.assertRaises(BufferError):
                self.there.__dlpack__(**options)

    def test_errors(self):
        with self.assertRaises(minnow.InvalidArgument):
            self.cpu.to_device(self.x)
        with self.assertRaisesRegex(minnow.InvalidArgument, 'input "x" should be'):
            self.module(self.module.to_device(self.x[:, :2].copy()))
        with self.assertRaises(minnow.InvalidType):
            self.module(self.there, out=np.zeros((4, 3), np.float32))


class Copies(unittest.TestCase):
    def test_numpy_takes_arrays_of_any_device_by_a_copy(self):
        x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
        expected, found = minnow.load(model_bytes())(x), 0
        for backend in ("opencl", "vulkan", "gles"):
            try:
                module = minnow.load(model_bytes(), backend=backend)
                there = module.to_device(x)
            except minnow.Error:
                continue
            found += 1
            np.testing.assert_allclose(np.asarray(module(there)), expected, rtol=1e-5, atol=1e-6)
            self.assertEqual(np.asarray(there, dtype=np.float64).dtype, np.float64)
            with self.assertRaises(ValueError):
                there.__array__(copy=False)
        if not found:
            self.skipTest("no device")


# Runs where a stand-in for CUDA's driver with two devices is found first: its memory is the host's, and its kernels do nothing.
ON_STAND_IN = """
import ctypes, sys
import numpy as np
import minnow

class Foreign:
    def __init__(self, array):
        self.array = array
    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

def address(array):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = array.__dlpack__()
    return ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(ctypes.c_void_p))[0]

x = np.arange(12, dtype=np.float32).reshape(4, 3)
modules = [minnow.load(sys.argv[1], backend=name) for name in ("cuda", "cuda:1")]
for number, module in enumerate(modules):
    there = module.to_device(x)
    assert there.__dlpack_device__() == (2, number), there.__dlpack_device__()
    assert there.backend == ("cuda", "cuda:1")[number], there.backend
    np.testing.assert_array_equal(there.numpy(), x)
    shared = module.to_device(Foreign(there))  # another library's array of the same device is not copied
    assert address(shared) == address(there)
    np.testing.assert_array_equal(shared.numpy(), x)
    del there
    np.testing.assert_array_equal(shared.numpy(), x)  # it keeps the memory
    y = module(Foreign(shared))
    assert (y.shape, y.__dlpack_device__()) == ((4, 3), (2, number))
    try:
        modules[1 - number](Foreign(shared))
    except minnow.InvalidArgument as error:
        assert f"DLPack's device (2, {number}), the model is on cuda" in str(error), error
    else:
        raise AssertionError("an array of another device was taken")
try:
    minnow.load(sys.argv[1], backend="cuda:2").to_device(x)
except minnow.Error as error:
    assert "no device number 2; numbers from 0 to 1 are there" in str(error), error
else:
    raise AssertionError("device 2 is there")
"""


class Cuda(unittest.TestCase):
    def test_dlpack_shares_memory_of_the_right_device(self):
        folder = Path(os.environ.get("MINNOW_BUILD_DIR", "")) / "tests" / "cuda_stand_in"
        if not (folder / "libcuda.so.1").exists():
            self.skipTest("no stand-in for CUDA's driver")
        with tempfile.TemporaryDirectory() as work:
            model = Path(work) / "model.onnx"
            model.write_bytes(model_bytes())
            done = subprocess.run([sys.executable, "-c", ON_STAND_IN, str(model)], capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(folder), "MINNOW_STUB_CAPABILITY": "80", "MINNOW_STUB_DEVICES": "2"})
        if "is not found" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)


class Fallback(unittest.TestCase):
    def test_a_missing_device_warns_once(self):
        missing = None
        for name in ("cuda", "opencl"):
            try:
                minnow.load(model_bytes(), backend=name)(np.ones((1, 3), np.float32))
            except minnow.Unsupported as error:
                missing = missing or (name, str(error))
            except minnow.InvalidArgument:
                pass  # a build without devices
        if not missing:
            self.skipTest("every device is there")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = minnow.load(model_bytes(), backend=missing[0], fallback=True)
            for _ in range(3):
                module(np.ones((1, 3), np.float32))
        self.assertEqual([str(one.message) for one in caught], [missing[1] + "; the session does without it"])
        self.assertEqual(caught[0].filename, __file__)

    def test_the_compilers_library_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            for package, version in (("cuda_nvrtc", 12), ("cu13", 13)):
                library = os.path.join(folder, "nvidia", package, "lib")
                os.makedirs(library)
                for name in (f"libnvrtc.so.{version}", f"libnvrtc-builtins.so.{version}"):
                    open(os.path.join(library, name), "w").close()
            with unittest.mock.patch.object(sys, "path", [folder]), unittest.mock.patch.dict(os.environ):
                os.environ.pop("MINNOW_NVRTC", None)
                _nvrtc.find()
                self.assertEqual(os.environ["MINNOW_NVRTC"], os.path.join(folder, "nvidia", "cu13", "lib", "libnvrtc.so.13"))
                os.environ["MINNOW_NVRTC"] = "mine"
                _nvrtc.find()
                self.assertEqual(os.environ["MINNOW_NVRTC"], "mine")


if __name__ == "__main__":
    unittest.main()
