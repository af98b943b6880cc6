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

    def test_most_damaged_jpeg_files_are_errors(self):
        """Codes that are overwritten are misread, and take more or fewer bytes than there are; the rest is not far off."""
        picture = opencv.GaussianBlur(self.random.integers(0, 256, (200, 300, 3)).astype(np.uint8), (9, 9), 0)
        for options in ([], [opencv.IMWRITE_JPEG_PROGRESSIVE, 1], [opencv.IMWRITE_JPEG_RST_INTERVAL, 8]):
            data = opencv.imencode(".jpg", picture, options)[1]
            right, far = cv.imdecode(data).astype(int), 0
            for _ in range(100):
                changed, place = data.copy(), self.random.integers(len(data) // 5, len(data) - 8)
                changed[place:place + 8] = self.random.integers(0, 256, 8)
                try:
                    found = cv.imdecode(changed)
                    far += found.shape != right.shape or abs(found - right).mean() > 10
                except minnow.Error:
                    pass
            self.assertLess(far, 10, options)

    def test_files_become_arrays(self):
        picture = self.random.integers(0, 256, (5, 6, 3)).astype(np.uint8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.png"
            self.assertTrue(cv.imwrite(path, picture))
            for found in (cv.imread(path), cv.imdecode(path.read_bytes()), cv.imdecode(np.fromfile(path, np.uint8))):
                self.assertIsInstance(found, np.ndarray)
                self.assertTrue(found.flags.writeable and found.flags.c_contiguous)
                np.testing.assert_array_equal(found, picture)
            self.assertIsInstance(cv.imdecode(minnow.Var(np.fromfile(path, np.uint8))), minnow.Var)

    def test_integers_beyond_32_bits_are_an_error(self):
        for call in (lambda: cv.norm(np.array([1 << 40, 3])), lambda: cv.contourArea(np.array([[0, 0], [1 << 31, 0], [0, 5]])),
                     lambda: cv.polylines(np.zeros((5, 5), np.uint8), [np.array([[0, 0], [1 << 33, 0]])], True, 1)):
            with self.assertRaisesRegex(minnow.InvalidArgument, "beyond 32 bits"):
                call()

    def test_masks_leave_pixels_of_vars_as_they_are(self):
        picture, mask, before = (self.random.integers(0, 255, (9, 12), np.uint8) for _ in range(3))
        mask %= 2
        for call in (lambda x, m, dst: cv.copyTo(x, m, dst), lambda x, m, dst: cv.add(x, x, dst, m), lambda x, m, dst: cv.bitwise_not(x, dst, m),
                     lambda x, m, dst: cv.accumulate(x, dst, m),
                     lambda x, m, dst: cv.warpAffine(x, np.float32([[1, 0, 3], [0, 1, 0]]), (12, 9), dst, borderMode=cv.BORDER_TRANSPARENT)):
            for dtype in ("uint8", "float32"):
                x, dst = picture.astype(dtype), before.astype("float32" if "accumulate" in call.__code__.co_names else dtype)
                var = minnow.Var(dst)
                self.assertIs(call(minnow.Var(x), minnow.Var(mask), var), var)
                np.testing.assert_array_equal(var.numpy(), call(x, mask, dst.copy()))

    def test_helpers_of_detectors_take_any_numbers(self):
        dnn, floats = cv.dnn, np.float32
        where = dnn.letterbox(np.zeros((60, 80, 3), np.uint8), (64, 64))[1]
        boxes = np.array([[0, 8, 32, 40], [8, 16, 64, 56]])
        for given in (boxes, boxes.astype(float), boxes.tolist(), minnow.Var(boxes)):
            np.testing.assert_array_equal(where.boxes(given), where.boxes(boxes.astype(floats)))
        points = self.random.uniform(0, 64, (2, 5, 3))
        found = where.points(points)
        np.testing.assert_array_equal(found[..., 2], points[..., 2].astype(floats))
        np.testing.assert_array_equal(found[..., :2], where.points(points[..., :2].astype(floats)))
        masks, map_ = self.random.random((2, 16, 16)), np.zeros((64, 64))
        map_[10:20, 5:50] = 0.9
        levels, yolo = dnn.grid_points((64, 64), [8, 16, 32]), self.random.standard_normal((27, 8, 8))
        anchors = [10, 13, 16, 30, 33, 23]
        for name, function, value in (("masks", where.masks, masks), ("scale_masks", lambda x: dnn.scale_masks(x, (30, 20)), masks),
                                      ("decode_dfl", lambda x: dnn.decode_dfl(x, *levels), self.random.random((84, 64))),
                                      ("ctc_greedy", dnn.ctc_greedy, self.random.random((5, 4))), ("ctc_beam", dnn.ctc_beam, self.random.random((5, 4))),
                                      ("db_boxes", dnn.db_boxes, map_), ("decode_yolo", lambda x: dnn.decode_yolo(x, anchors, 8), yolo)):
            expected, batched = function(value.astype(floats)), "masks" not in name
            for given in (value, value.tolist()) + ((value[None], value[None].astype(floats)) if batched else ()):
                np.testing.assert_equal(function(given), expected, name) if isinstance(expected, (np.ndarray, list)) else \
                    [np.testing.assert_array_equal(np.asarray(a), np.asarray(b), name) for a, b in zip(function(given), expected)]
        np.testing.assert_array_equal(dnn.decode_yolo(yolo, [(10, 13), (16, 30), (33, 23)], 8)[0], dnn.decode_yolo(yolo, anchors, 8)[0])
        picture = np.zeros((48, 64, 3), np.uint8)
        for nothing in ([], np.zeros((0, 4)), np.zeros((0, 4), floats)):
            np.testing.assert_array_equal(cv.draw_detections(picture.copy(), nothing, [], [], []), picture)
        shapes = np.zeros((2, 48, 64))
        shapes[:, 5:20, 5:20] = 1
        np.testing.assert_array_equal(cv.draw_detections(picture.copy(), boxes, masks=shapes), cv.draw_detections(picture.copy(), boxes.astype(floats), masks=shapes > 0))
        np.testing.assert_array_equal(cv.preprocess(picture, (8, 8), mean=floats(3), scale=np.array(0.5)), cv.preprocess(picture, (8, 8), mean=3, scale=0.5))

    def test_threads_and_clocks(self):
        before = cv.getNumThreads()
        cv.setNumThreads(1)
        self.assertEqual(cv.getNumThreads(), 1)
        cv.setNumThreads(-1)
        self.assertEqual(cv.getNumThreads(), before)
        meter, start = cv.TickMeter(), cv.getTickCount()
        for _ in range(3):
            meter.start()
            meter.stop()
        meter.stop()
        self.assertEqual((meter.getCounter(), meter.getFPS() > 0), (3, True))
        self.assertLessEqual(meter.getTimeSec(), (cv.getTickCount() - start) / cv.getTickFrequency())
        self.assertAlmostEqual(meter.getAvgTimeMilli() * 3, meter.getTimeMilli())
        meter.reset()
        self.assertEqual((meter.getTimeTicks(), meter.getFPS()), (0, 0))

    def test_names_of_windows_and_video_say_where_they_are(self):
        for name in ("imshow", "waitKey", "namedWindow", "destroyAllWindows", "VideoCapture", "VideoWriter_fourcc", "WINDOW_NORMAL", "CAP_PROP_FPS"):
            with self.assertRaisesRegex(AttributeError, f"no windows and no video: for {name} import cv2 of the package opencv-python"):
                getattr(cv, name)
        with self.assertRaisesRegex(AttributeError, 'the nearest are "resize"'):
            cv.reszie  # noqa: B018
        self.assertTrue(cv.__version__.startswith(opencv.__version__[:4]))

    def test_other_searches_at_random_find_the_same_homography(self):
        points = self.random.uniform(0, 100, (40, 2)).astype(np.float32)
        moved = points * 2 + 5
        moved[::5] += 50
        for method in (cv.RANSAC, cv.RHO, cv.USAC_DEFAULT, cv.USAC_MAGSAC):
            found, inliers = cv.findHomography(points, moved, method, 3.0)
            np.testing.assert_allclose(found, opencv.findHomography(points, moved, method, 3.0)[0], atol=1e-3)
            self.assertEqual(inliers.sum(), 32)

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
