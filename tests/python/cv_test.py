#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.cv against OpenCV: every pixel of JPEG and PNG files, of resized pictures of bytes, and of colours."""
import os
import struct
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

try:
    import cv2 as opencv
    import numpy as np

    import minnow
    import minnow.cv as cv
except ImportError as error:
    print(error)
    sys.exit(77)

PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(random, width, height, depth, kind, transparent, interlaced):
    """A file of random pixels and filters."""
    def rows(columns, count):
        size = (columns * SAMPLES[kind] * depth + 7) // 8
        return b"".join(bytes([random.integers(0, 5)]) + random.integers(0, 256, size).astype(np.uint8).tobytes() for _ in range(count)) if columns > 0 else b""

    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    data = b"".join(rows((width - x + dx - 1) // dx, max(0, (height - y + dy - 1) // dy)) for x, y, dx, dy in passes)
    extra = chunk(b"PLTE", random.integers(0, 256, 3 << depth).astype(np.uint8).tobytes()) if kind == 3 else b""
    if transparent and kind in (0, 2, 3):
        extra += chunk(b"tRNS", {0: struct.pack(">H", 1), 2: struct.pack(">HHH", 1, 2, 3), 3: random.integers(0, 256, 1 << depth).astype(np.uint8).tobytes()}[kind])
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced)))
    return b"\x89PNG\r\n\x1a\n" + header + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


class Pictures(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(1)

    def same(self, expected, found, **what):
        found = np.asarray(found)
        self.assertEqual((expected.shape, expected.dtype), (found.shape, found.dtype), what)
        np.testing.assert_array_equal(found, expected, err_msg=str(what))

    def test_jpeg_files(self):
        for height, width in ((1, 1), (7, 13), (224, 224), (301, 177)):
            picture = opencv.GaussianBlur(self.random.integers(0, 256, (height, width, 3)).astype(np.uint8), (5, 5), 2)
            for options in ([], [opencv.IMWRITE_JPEG_PROGRESSIVE, 1], [opencv.IMWRITE_JPEG_SAMPLING_FACTOR, 0x111111]):
                data = opencv.imencode(".jpg", picture, options)[1]
                for flags in (cv.IMREAD_COLOR, cv.IMREAD_GRAYSCALE, cv.IMREAD_UNCHANGED):
                    self.same(opencv.imdecode(data, flags), cv.imdecode(data.tobytes(), flags), options=options, flags=flags)

    def test_orientation_of_exif(self):
        picture = self.random.integers(0, 256, (16, 32, 3)).astype(np.uint8)
        data = opencv.imencode(".jpg", picture)[1].tobytes()
        for orientation in range(0, 10):
            for order in "<", ">":
                tiff = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
                exif = b"Exif\0\0" + tiff
                turned = data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:]
                self.same(opencv.imdecode(np.frombuffer(turned, np.uint8), 1), cv.imdecode(turned), orientation=orientation)

    def test_png_files_of_every_kind(self):
        for kind, depths in DEPTHS.items():
            for depth in depths:
                for transparent in (False, True):
                    for interlaced in (False, True):
                        for width, height in ((5, 3), (17, 9), (1, 1)):
                            data = png(self.random, width, height, depth, kind, transparent, interlaced)
                            for flags in (1, 0, -1):
                                self.same(opencv.imdecode(np.frombuffer(data, np.uint8), flags), cv.imdecode(data, flags),
                                          kind=kind, depth=depth, transparent=transparent, interlaced=interlaced, size=(width, height), flags=flags)

    def test_resize(self):
        for trial in range(300):
            (height, width), channels = self.random.integers(1, 90, 2), int(self.random.choice([1, 3, 4]))
            size = tuple(int(n) for n in self.random.integers(1, 150, 2)) if trial % 10 else (max(1, width // 2), max(1, height // 2))
            shape = (height, width, channels) if channels > 1 else (height, width)
            for interpolation in (cv.INTER_NEAREST, cv.INTER_LINEAR):
                picture = self.random.integers(0, 256, shape).astype(np.uint8)
                found, expected = (module.resize(picture, size, interpolation=interpolation) for module in (cv, opencv))
                self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
                np.testing.assert_allclose(found.astype(int), expected.astype(int), atol=interpolation == cv.INTER_LINEAR, err_msg=str((shape, size)))
                picture = self.random.standard_normal(shape).astype(np.float32)
                np.testing.assert_allclose(np.asarray(cv.resize(picture, size, interpolation=interpolation)),
                                           opencv.resize(picture, size, interpolation=interpolation), atol=1e-4)

    def test_every_colour(self):
        x = np.arange(1 << 24, dtype=np.uint32)
        colors = np.stack([x & 255, (x >> 8) & 255, x >> 16], -1).astype(np.uint8).reshape(4096, 4096, 3)
        for code in (cv.COLOR_BGR2GRAY, cv.COLOR_RGB2GRAY, cv.COLOR_BGR2RGB, cv.COLOR_BGR2BGRA, cv.COLOR_BGR2RGBA):
            self.same(opencv.cvtColor(colors, code), cv.cvtColor(colors, code), code=code)
        gray, alpha = colors[:64, :64, 0].copy(), self.random.integers(0, 256, (20, 30, 4)).astype(np.uint8)
        for code in (cv.COLOR_GRAY2BGR, cv.COLOR_GRAY2BGRA):
            self.same(opencv.cvtColor(gray, code), cv.cvtColor(gray, code), code=code)
        for code in (cv.COLOR_BGRA2BGR, cv.COLOR_RGBA2BGR, cv.COLOR_BGRA2RGBA, cv.COLOR_BGRA2GRAY, cv.COLOR_RGBA2GRAY):
            self.same(opencv.cvtColor(alpha, code), cv.cvtColor(alpha, code), code=code)

    def test_damaged_files_are_errors(self):
        picture = opencv.GaussianBlur(self.random.integers(0, 256, (40, 50, 3)).astype(np.uint8), (5, 5), 2)
        for data in (opencv.imencode(".jpg", picture)[1].tobytes(), opencv.imencode(".jpg", picture, [opencv.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes(),
                     opencv.imencode(".png", picture)[1].tobytes()):
            for length in range(0, len(data) - 1, 7):
                with self.assertRaises(minnow.Error):
                    cv.imdecode(data[:length])
            for _ in range(500):
                changed = bytearray(data)
                for place in self.random.integers(0, len(data), 3):
                    changed[place] = self.random.integers(0, 256)
                try:
                    np.asarray(cv.imdecode(bytes(changed)))
                except minnow.Error:
                    pass
        huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 30, 1 << 30, 8, 2, 0, 0, 0)) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
        with self.assertRaisesRegex(minnow.Error, "pixels"):
            cv.imdecode(huge)

    def test_what_does_not_fit_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(OSError, "nowhere.png"):
                cv.imread(Path(folder) / "nowhere.png")
            Path(folder, "text.png").write_text("no picture")
            with self.assertRaisesRegex(minnow.Unsupported, "none of JPEG, PNG, WebP, BMP and PNM"):
                cv.imread(os.fspath(Path(folder) / "text.png"))
        picture = np.zeros((4, 5, 3), np.uint8)
        for call in (lambda: cv.resize(picture, (0, 3)), lambda: cv.resize(picture, (1 << 20, 1 << 20)), lambda: cv.resize(picture[:0], (2, 2)),
                     lambda: cv.cvtColor(picture[..., :2].copy(), cv.COLOR_BGRA2BGR), lambda: cv.cvtColor(picture, 999), lambda: cv.imread("x.png", 7),
                     lambda: cv.resize(np.zeros((2, 2), np.int64), (3, 3)), lambda: cv.resize(np.zeros((2, 2, 2, 2), np.uint8), (3, 3))):
            with self.assertRaises(minnow.Error):
                call()


if __name__ == "__main__":
    unittest.main()
