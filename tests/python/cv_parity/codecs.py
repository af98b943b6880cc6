# SPDX-License-Identifier: Apache-2.0
import os
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np

from cv_parity import call, function, image

FLAGS = (cv2.IMREAD_UNCHANGED, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_COLOR, cv2.IMREAD_ANYDEPTH, cv2.IMREAD_ANYCOLOR, cv2.IMREAD_ANYDEPTH | cv2.IMREAD_ANYCOLOR,
         cv2.IMREAD_COLOR_RGB, cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH, cv2.IMREAD_COLOR_RGB | cv2.IMREAD_ANYDEPTH, 7, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
REDUCED = (cv2.IMREAD_REDUCED_COLOR_2, cv2.IMREAD_REDUCED_COLOR_4, cv2.IMREAD_REDUCED_COLOR_8, cv2.IMREAD_REDUCED_GRAYSCALE_2,
           cv2.IMREAD_REDUCED_GRAYSCALE_4, cv2.IMREAD_REDUCED_GRAYSCALE_8)
SIZES = ((1, 1), (3, 5), (17, 31), (64, 48), (50, 129))


def encoded(suffix, picture, params=()):
    return cv2.imencode(suffix, picture, params)[1]


def with_orientation(jpeg, orientation):
    tiff = b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0) + b"\0\0\0\0"
    block = b"Exif\0\0" + tiff
    return np.frombuffer(jpeg[:2].tobytes() + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + jpeg[2:].tobytes(), np.uint8)


def png(width, height, depth, color, rows, *chunks):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return np.frombuffer(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + b"".join(chunk(*c) for c in chunks)
                         + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) + chunk(b"IEND", b""), np.uint8)


def bmp(width, height, bits, compression, rows, palette=b"", masks=b""):
    start = 54 + len(masks) + len(palette)
    data = rows if isinstance(rows, bytes) else b"".join(r + b"\0" * (-len(r) % 4) for r in rows)
    head = b"BM" + struct.pack("<IIIIiiHHIIiiII", start + len(data), 0, start, 40, width, height, 1, bits, compression, len(data), 0, 0, len(palette) // 4, 0)
    return np.frombuffer(head + masks + palette + data, np.uint8)


def files(random):
    """Files of every format, with whether their sizes may be reduced."""
    for height, width in SIZES:
        for channels in (1, 3, 4):
            for dtype in ("uint8", "uint16"):
                smooth = image(random, height, width, channels, dtype, smooth=True)
                if dtype == "uint8":
                    for params in ((), (cv2.IMWRITE_JPEG_QUALITY, 60), (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
                                   (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)):
                        yield encoded(".jpg", smooth, params)
                    yield encoded(".webp", smooth, (cv2.IMWRITE_WEBP_QUALITY, 80))
                    yield encoded(".webp", smooth)
                    yield encoded(".bmp", smooth)
                yield encoded(".png", smooth)
                if channels < 4:
                    yield encoded(".ppm" if channels == 3 else ".pgm", smooth)
                    yield encoded(".ppm" if channels == 3 else ".pgm", smooth, (cv2.IMWRITE_PXM_BINARY, 0))
        for orientation in range(1, 9):
            yield with_orientation(encoded(".jpg", image(random, height, width, 3, "uint8", smooth=True)), orientation)
        bits = random.integers(0, 256, (height, width), dtype=np.uint8)
        yield encoded(".png", bits, (cv2.IMWRITE_PNG_BILEVEL, 1))
        yield encoded(".pbm", bits)
        rows = [random.bytes((width * 4 + 7) // 8) for _ in range(height)]
        colors, grays = random.bytes(48), bytes(v for i in range(16) for v in (i * 17, i * 17, i * 17))
        yield png(width, height, 4, 3, rows, (b"PLTE", colors))
        yield png(width, height, 4, 3, rows, (b"PLTE", colors), (b"tRNS", bytes(range(0, 250, 25))))
        yield png(width, height, 4, 0, rows)
        yield png(width, height, 8, 4, [random.bytes(width * 2) for _ in range(height)])
        yield png(width, height, 8, 2, [random.bytes(width * 3) for _ in range(height)], (b"tRNS", b"\0\1\0\2\0\3"))
        four = [bytes(c for i in range(16) for c in (*colors[3 * i:3 * i + 3], 0)), bytes(c for i in range(16) for c in (*grays[3 * i:3 * i + 3], 0))]
        true = [random.bytes(width * 3) for _ in range(height)]
        gamma, chromaticities = (b"gAMA", struct.pack(">I", 45455)), (b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000))
        for chunks in ((gamma,), (gamma, chromaticities), ((b"sRGB", b"\0"),), ((b"sRGB", b"\0"), gamma)):
            yield png(width, height, 8, 2, true, *chunks)
        for palette in four:
            yield bmp(width, height, 4, 0, rows, palette)
        yield bmp(width, -height, 1, 0, [random.bytes((width + 7) // 8) for _ in range(height)], four[0][:8])
        yield bmp(width, height, 8, 0, [bytes(random.integers(0, 16, width, dtype=np.uint8)) for _ in range(height)], four[0])
        yield bmp(width, height, 16, 0, [random.bytes(2 * width) for _ in range(height)])
        yield bmp(width, height, 16, 3, [random.bytes(2 * width) for _ in range(height)], masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f))
        yield bmp(width, -height, 24, 0, [random.bytes(3 * width) for _ in range(height)])
        yield bmp(width, height, 32, 0, [random.bytes(4 * width) for _ in range(height)])
        runs = b"".join(bytes([n for v in random.integers(0, 16, width) for n in (1, v)]) + b"\0\0" for _ in range(height)) + b"\0\1"
        yield bmp(width, height, 8, 1, runs, four[0])
        yield np.frombuffer(b"P3\n# a comment\n%d %d\n100\n" % (width, height) + b" ".join(b"%d" % v for v in random.integers(0, 101, width * height * 3)) + b"\n", np.uint8)
        yield np.frombuffer(b"P1\n%d %d\n" % (width, height) + b" ".join(b"%d" % v for v in random.integers(0, 2, width * height)) + b"\n", np.uint8)


@function("imdecode")
def photographs(random):
    """The profile of sRGB in two of them leaves grey as it is, unlike the chunk sRGB."""
    for name in ("astronaut", "chelsea", "coffee", "page"):
        path = Path(os.environ.get("MINNOW_MODELS_DIR", "build/models")) / "examples" / f"{name}.png"
        if path.exists():
            for flags in FLAGS:
                yield call(np.fromfile(path, np.uint8), flags)
    yield call(encoded(".png", image(random, 9, 8, 3, "uint8")), cv2.IMREAD_GRAYSCALE)


@function("imdecode", within=0)
def imdecode(random):
    for count, file in enumerate(files(random)):
        for flags in FLAGS if count % 5 == 0 else (FLAGS[count % len(FLAGS)], cv2.IMREAD_COLOR):
            yield call(file, flags)


@function("imdecode", within=1)
def imdecode_reduced(random):
    for count, file in enumerate(files(random)):
        if cv2.imdecode(file, cv2.IMREAD_COLOR).shape[0] >= 17 and cv2.imdecode(file, cv2.IMREAD_COLOR).shape[1] >= 17:
            for flags in REDUCED[count % 2::2]:
                yield call(file, flags)


def same_picture(expected, found):
    """Compares two encoded files, as OpenCV decodes them."""
    if not (expected[0] and found[0]) or found[1].dtype != np.uint8 or found[1].ndim != 1:
        return np.inf
    a, b = (cv2.imdecode(v[1], cv2.IMREAD_UNCHANGED) for v in (expected, found))
    return float(np.abs(a.astype(float) - b).max()) if a is not None and b is not None and a.shape == b.shape and a.dtype == b.dtype else np.inf


@function("imencode", judge=same_picture)
def imencode(random):
    for height, width in SIZES:
        for dtype in ("uint8", "uint16", "float32", "int16"):
            for channels in (1, 3, 4):
                for suffix in (".png", ".bmp", ".webp", ".jpg", ".JPEG") + ((".ppm",) if channels == 3 else (".pgm",) if channels == 1 else ()):
                    if channels == 4 and suffix == ".webp":  # colours of clear pixels are the encoder's to choose
                        continue
                    picture = image(random, height, width, channels, dtype, smooth=True) * (60 if dtype == "float32" else 1)
                    yield call(suffix, picture.astype(dtype))
        color = image(random, height, width, 3, "uint8", smooth=True)
        gray = np.ascontiguousarray(color[..., 0])
        for params in ((cv2.IMWRITE_JPEG_QUALITY, 10), (cv2.IMWRITE_JPEG_QUALITY, 100), (cv2.IMWRITE_JPEG_PROGRESSIVE, 1), (cv2.IMWRITE_JPEG_OPTIMIZE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 3),
                       (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444), (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411),
                       (cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440)):
            yield call(".jpg", color, params)
        for level in range(10):
            yield call(".png", color, (cv2.IMWRITE_PNG_COMPRESSION, level, cv2.IMWRITE_PNG_STRATEGY, level % 5))
        yield call(".png", gray, (cv2.IMWRITE_PNG_BILEVEL, 1))
        yield call(".pbm", gray)
        yield call(".ppm", color, (cv2.IMWRITE_PXM_BINARY, 0))
    yield call(".xyz", color)
    yield call(".png", np.zeros((0, 5, 3), np.uint8))
    yield call(".png", np.zeros((5, 5, 5), np.uint8))


@function("haveImageWriter")
def have_writer(random):
    for name in ("a.png", "b/c.JPG", "x.webp", "y.bmp", "z.ppm", "nothing", "a.xyz", "png", ".png"):
        yield call(name)
