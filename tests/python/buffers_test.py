#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrays of other packages: what exports the buffer protocol or DLPack becomes a Var with the same numbers, or an error, never a crash."""
import array
import ctypes
import gc
import mmap
import multiprocessing
import struct
import sys
import tempfile
import unittest

try:
    import minnow
    from minnow import _minnow, cv, expr
    from minnow import numpy as mnp
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)
try:
    import _testbuffer  # CPython's own exporter of every form there is
except ImportError:
    _testbuffer = None


class Pair(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_float)]


class Foreign:
    """An exporter of DLPack alone, over an array of NumPy."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Buffers(unittest.TestCase):
    def check(self, exporter, expected, dtype):
        expected = np.asarray(expected, dtype)
        for copy in (None, True):
            x = minnow.Var(exporter, copy=copy)
            self.assertEqual((x.shape, x.dtype), (expected.shape, dtype))
            np.testing.assert_array_equal(np.asarray(x), expected)
        np.testing.assert_array_equal(np.asarray(mnp.array(exporter)), expected)

    def test_arrays_of_ctypes(self):
        self.check((ctypes.c_float * 3)(1, 2, 3), [1, 2, 3], "float32")
        self.check((ctypes.c_double * 0)(), [], "float64")
        self.check(((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6)), [[1, 2, 3], [4, 5, 6]], "int32")
        self.check((((ctypes.c_short * 2) * 1) * 3)(), np.zeros((3, 1, 2)), "int16")
        self.check((ctypes.c_bool * 2)(True, False), [True, False], "bool")
        for kind, dtype in ((ctypes.c_byte, "int8"), (ctypes.c_ubyte, "uint8"), (ctypes.c_ushort, "uint16"), (ctypes.c_uint, "uint32"), (ctypes.c_long, "int64"),
                            (ctypes.c_ulong, "uint64"), (ctypes.c_longlong, "int64"), (ctypes.c_ulonglong, "uint64"), (ctypes.c_ssize_t, "int64")):
            self.check((kind * 2)(1, 100), [1, 100], dtype)
        self.check(ctypes.create_string_buffer(b"ab"), [97, 98, 0], "uint8")
        self.check(multiprocessing.RawArray("f", 4), [0, 0, 0, 0], "float32")

    def test_numbers_of_ctypes(self):
        self.check(ctypes.c_float(1.5), 1.5, "float32")
        self.check(ctypes.c_long(-7), -7, "int64")
        self.check(ctypes.c_float.__ctype_be__(1.5), 1.5, "float32")

    def test_the_other_byte_order(self):
        self.check((ctypes.c_float.__ctype_be__ * 3)(1, 2, 3), [1, 2, 3], "float32")
        for dtype in ("u2", "i4", "f8", "c8", "c16"):
            values = np.arange(6).reshape(2, 3)
            self.check(values.astype(">" + dtype), values, dtype)
            self.check(values.astype(">" + dtype).T, values.T, dtype)
        with self.assertRaises(ValueError):
            minnow.Var(np.zeros(3, ">f4"), copy=False)

    def test_arrays_and_casts_of_the_library(self):
        for code in "bBhHiIlLqQfd":
            self.check(array.array(code, [1, 2, 3]), [1, 2, 3], np.dtype(code))
        whole = memoryview(struct.pack("6f", *range(6)))
        self.check(whole.cast("f"), range(6), "float32")
        self.check(whole.cast("f", (2, 3)), np.arange(6).reshape(2, 3), "float32")
        self.check(whole.cast("f")[::-2], [5, 3, 1], "float32")
        self.check(whole.cast("c")[:2], [0, 0], "uint8")
        self.check(whole[3:8], list(whole[3:8]), "uint8")
        self.check(memoryview(b"\1\0").cast("?"), [True, False], "bool")
        self.check(b"\1\2", [1, 2], "uint8")
        self.check(b"", [], "uint8")
        self.check(bytearray(b"\1\2"), [1, 2], "uint8")
        with mmap.mmap(-1, 16) as memory:
            memory[:3] = b"abc"
            self.check(memoryview(memory)[:3], [97, 98, 99], "uint8")
            gc.collect()

    def test_memory_that_is_not_aligned(self):
        data = b"x" + struct.pack("3f", 1, 2, 3)
        view = memoryview(data)[1:].cast("B").cast("f")
        self.check(view, [1, 2, 3], "float32")
        with self.assertRaises(ValueError):
            minnow.Var(view, copy=False)
        self.assertEqual(mnp.frombuffer(data, "float32", offset=1).tolist(), [1, 2, 3])

    def test_arrays_of_numpy(self):
        records = np.array([(1, 2.5), (3, 4.5)], "i4,f8")
        self.check(records["f0"], [1, 3], "int32")
        self.check(records["f1"], [2.5, 4.5], "float64")
        values = np.arange(24, dtype="f4").reshape(2, 3, 4)
        for view in (values.T, values[:, ::-1], values[..., 1], values[:0], np.broadcast_to(values[0, 0], (5, 4)), np.array(3, "f4")):
            self.check(view, view, "float32")
        values.flags.writeable = False
        self.check(values, values, "float32")
        for value in (np.float32(2), np.int8(-3), np.bool_(True), np.complex64(1 + 2j), np.uint64(2**63)):
            self.check(value, value, value.dtype.name)

    def test_what_holds_no_numbers_is_a_type_error(self):
        refused = [np.zeros(2, "i4,f8"), np.zeros(2, "datetime64[s]"), np.datetime64("2020"), np.timedelta64(3), np.zeros(2, object), np.zeros(2, "V4"), np.void(b"abc"),
                   np.array(["a"]), np.str_("ab"), np.zeros(2, "S3"), np.zeros(2, "S0"), np.zeros(2, "V0"), np.longdouble(1), np.zeros(2, np.longdouble),
                   Pair(1, 2), (Pair * 2)(), (ctypes.c_void_p * 2)(), (ctypes.c_char_p * 2)(), (ctypes.c_wchar * 2)(), (ctypes.c_longdouble * 2)(), array.array("u", "ab"),
                   (ctypes.py_object * 1)(3)]
        model = expr.placeholder("x", "float32", (None,))
        module = minnow.nn.load_module([model + 1.0], [model])
        for value in refused:
            for use in (minnow.Var, mnp.array, lambda value: minnow.Var([1.0]) + value, module, cv.imdecode, lambda value: minnow.Var([value]),
                        lambda value: minnow.Var([1.0]).assign(value), lambda value: expr.relu(value)):
                with self.subTest(value=value), self.assertRaises((TypeError, ValueError)):
                    use(value)
        for value in refused:  # whatever comparing gives, it does not crash
            for compare in (lambda value: minnow.Var([1.0]) == value, lambda value: minnow.Var([1.0]) != value, lambda value: value == minnow.Var([1.0])):
                try:
                    compare(value)
                except (TypeError, ValueError):
                    pass

    def test_an_error_says_what_was_found(self):
        with self.assertRaisesRegex(TypeError, r'Pair.*: its elements have the format "T\{.*" and 8 bytes'):
            minnow.Var(Pair(1, 2))

    def test_models_and_pictures_take_them(self):
        x = expr.placeholder("x", "float32", (None,))
        module = minnow.nn.load_module([x * 2.0], [x])
        self.assertEqual(module((ctypes.c_float * 3)(1, 2, 3)).tolist(), [2, 4, 6])
        self.assertEqual(module(array.array("f", [1, 2])).tolist(), [2, 4])
        data = _png()
        expected = cv.imdecode(data).tolist()
        for form in ((ctypes.c_ubyte * len(data))(*data), bytearray(data), memoryview(data), array.array("B", data), np.frombuffer(data, "u1"), ctypes.create_string_buffer(data)):
            self.assertEqual(cv.imdecode(form).tolist(), expected)
        self.assertEqual(mnp.frombuffer((ctypes.c_float * 3)(1, 2, 3), "float32").tolist(), [1, 2, 3])
        self.assertEqual(mnp.frombuffer((ctypes.c_float * 3)(1, 2, 3), "float32", 1, 4).tolist(), [2])
        self.assertEqual(mnp.frombuffer(np.zeros((2, 3)), "float64").shape, (6,))
        with self.assertRaises(TypeError):
            _minnow.from_buffer(np.zeros((2, 3)).T, "float64", [6])

    def test_memory_is_shared_and_kept(self):
        memory = (ctypes.c_float * 3)(1, 2, 3)
        x = minnow.Var(memory, copy=False)
        memory[0] = 7
        self.assertEqual(x.tolist(), [7, 2, 3])
        y = minnow.Var(memory, copy=True)
        memory[0] = 8
        self.assertEqual(y.tolist(), [7, 2, 3])
        del memory
        gc.collect()
        self.assertEqual(x.tolist(), [8, 2, 3])
        grown = bytearray(b"abc")
        held = minnow.Var(grown)
        with self.assertRaises(BufferError):
            grown.append(1)
        del held
        gc.collect()
        grown.append(1)

    def test_dlpack(self):
        values = np.arange(6, dtype="i8").reshape(2, 3)
        self.check(Foreign(values), values, "int64")
        self.check(Foreign(values.T), values.T, "int64")
        values.flags.writeable = False  # such memory goes in capsules of version 1
        self.check(Foreign(values), values, "int64")

        class Failing:
            def __dlpack__(self, **options):
                raise RuntimeError("no")

        class Odd:
            def __dlpack__(self, **options):
                return 3
        for value in (Failing(), Odd()):
            with self.assertRaises(TypeError):
                minnow.Var(value)

    @unittest.skipIf(_testbuffer is None, "this Python has no _testbuffer")
    def test_every_form_of_exporter(self):
        nd = _testbuffer.ndarray
        flags = _testbuffer
        for letter, dtype in zip("?bBhHiIlLqQefdn", ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int64", "uint64", "float16", "float32", "float64", "int64")):
            for order in ("", "@", "=", "<", ">", "!"):
                if letter in "n" and order not in ("", "@"):
                    continue
                size = struct.calcsize(order + letter)
                wanted = {1: dtype, 2: dtype, 4: {"l": "int32", "L": "uint32"}.get(letter, dtype), 8: dtype}[size]
                for options in (0, flags.ND_WRITABLE, flags.ND_FORTRAN):
                    self.check(nd([0, 1, 1, 0, 1, 1], shape=[2, 3], format=order + letter, flags=options),
                               [[0, 1, 1], [0, 1, 1]] if options != flags.ND_FORTRAN else [[0, 1, 1], [1, 0, 1]], wanted)
        self.check(nd([5], shape=[], format="i"), 5, "int32")
        self.check(nd(list(range(12)), shape=[3, 4], format="h", flags=flags.ND_PIL), np.arange(12).reshape(3, 4), "int16")  # through pointers
        self.check(nd(list(range(12)), shape=[2, 3, 2], format="d", flags=flags.ND_PIL), np.arange(12).reshape(2, 3, 2), "float64")
        self.check(nd(list(range(6)), shape=[3], strides=[-8], offset=16, format="i")[:], [4, 2, 0], "int32")
        # Exporters that omit the format export bytes. If they refuse even the shape, the meaning of the bytes is unknown.
        whole = nd([1, 2, 3, 4], shape=[4], format="B")
        for ask in (flags.PyBUF_STRIDES, flags.PyBUF_INDIRECT):
            self.check(nd(whole, getbuf=ask), [1, 2, 3, 4], "uint8")
        for ask in (flags.PyBUF_SIMPLE, flags.PyBUF_ND):
            with self.assertRaises(TypeError):
                minnow.Var(nd(whole, getbuf=ask))
        self.check(nd(whole, getbuf=flags.PyBUF_FULL_RO), [1, 2, 3, 4], "uint8")
        for letter in ("c", "3s", "P", "2i", "if", "T{i:x:}"):
            try:
                value = nd([b"a" if letter == "c" else b"abc" if letter == "3s" else (1, 2) if letter == "2i" else (1, 2.0) if letter == "if" else 1] * 2, shape=[2], format=letter)
            except (struct.error, ValueError, TypeError):
                continue
            if letter == "c":
                self.check(value, [97, 97], "uint8")
            else:
                with self.assertRaises(TypeError):
                    minnow.Var(value)

    @unittest.skipIf(_testbuffer is None, "this Python has no _testbuffer")
    def test_slices_of_exporters(self):
        random, compared = np.random.default_rng(5), 0
        for _ in range(3000):
            shape = [int(n) for n in random.integers(0, 5, random.integers(0, 5))]
            letter = str(random.choice(list("?bBhHiIqQefd")))
            order = str(random.choice(["", "<", ">", "="]))
            count = int(np.prod(shape))
            items = [bool(n) for n in random.integers(0, 2, count)] if letter == "?" else [float(n) if letter in "efd" else int(n) for n in random.integers(0, 100, count)]
            flags = int(random.choice([0, _testbuffer.ND_FORTRAN, _testbuffer.ND_PIL if count else 0]))
            try:
                whole = _testbuffer.ndarray(items if shape else (items or [0])[0], shape=shape, format=order + letter, flags=flags)
                for axis in range(len(shape)):
                    if random.integers(0, 2) and count:
                        step = int(random.choice([-2, -1, 1, 2]))
                        whole = whole[(slice(None),) * axis + (slice(None, None, step),)] if axis else whole[::step]
            except (ValueError, NotImplementedError, TypeError):
                continue  # a form that the exporter itself does not have
            x = minnow.Var(whole)
            self.assertEqual(x.tolist(), whole.tolist())
            self.assertEqual(x.shape, tuple(whole.shape))
            compared += 1
        self.assertGreater(compared, 1500)


def _png():
    """A picture of 2 by 2 pixels."""
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(i, i + 6)) for i in (0, 6))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    unittest.main()
