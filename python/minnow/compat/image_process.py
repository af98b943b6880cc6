# SPDX-License-Identifier: Apache-2.0
"""MNN.CVImageProcess and MNN.CVMatrix: pictures of bytes become the tensors that networks take.

    process = MNN.CVImageProcess({"sourceFormat": MNN.CV_ImageFormat_BGR, "destFormat": MNN.CV_ImageFormat_RGB, "mean": (103.94, 116.78, 123.68, 0),
                                  "normal": (0.017, 0.017, 0.017, 1), "filterType": MNN.CV_Filter_BILINEAL})
    matrix = MNN.CVMatrix()
    matrix.setScale(width / 224, height / 224)              # from places of the tensor to places of the picture
    process.setMatrix(matrix)
    process.convert(picture, width, height, 0, tensor)
"""
from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

from minnow import _minnow
from minnow import numpy as np
from minnow._minnow import InvalidArgument, Unsupported, Var
from minnow.compat.interpreter import Tensor, Tensor_DimensionType_Tensorflow

CV_ImageFormat_RGBA, CV_ImageFormat_RGB, CV_ImageFormat_BGR, CV_ImageFormat_GRAY, CV_ImageFormat_BGRA, CV_ImageFormat_YUV_NV21 = 0, 1, 2, 3, 4, 11
CV_Filter_NEAREST, CV_Filter_BILINEAL, CV_Filter_BICUBIC = 0, 1, 2
CV_Wrap_CLAMP_TO_EDGE, CV_Wrap_ZERO, CV_Wrap_REPEAT = 0, 1, 2

_CHANNELS = {CV_ImageFormat_RGBA: "rgba", CV_ImageFormat_RGB: "rgb", CV_ImageFormat_BGR: "bgr", CV_ImageFormat_GRAY: "y", CV_ImageFormat_BGRA: "bgra"}
_FORMATS = ("rgb", "bgr", "rgba", "bgra", "gray", "nv12", "nv21")  # numbers of minnow._minnow.vision.preprocess
_Rows = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
_IDENTITY: _Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _product(a: _Rows, b: _Rows) -> _Rows:
    rows = [tuple(sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)) for i in range(3)]
    return tuple(rows)  # type: ignore[return-value]


def _scale(sx: float, sy: float, px: float = 0.0, py: float = 0.0) -> _Rows:
    return (sx, 0.0, px - sx * px), (0.0, sy, py - sy * py), (0.0, 0.0, 1.0)


def _rotation(degrees: float, px: float = 0.0, py: float = 0.0) -> _Rows:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return (cosine, -sine, px - cosine * px + sine * py), (sine, cosine, py - sine * px - cosine * py), (0.0, 0.0, 1.0)


def _translation(dx: float, dy: float) -> _Rows:
    return (1.0, 0.0, dx), (0.0, 1.0, dy), (0.0, 0.0, 1.0)


class CVMatrix:
    """A projective map of the plane: (x, y, 1) times nine numbers, row by row. set... replaces it; post... applies a map after it, pre... before it.
    px, py: the fixed point."""

    def __init__(self) -> None:
        self._rows: _Rows = _IDENTITY

    def read(self) -> list[float]:
        return [float(value) for row in self._rows for value in row]

    def write(self, values: Sequence[float]) -> None:
        numbers = [float(value) for value in values]
        if len(numbers) != 9:
            raise InvalidArgument(f"a CVMatrix has 9 numbers, {len(numbers)} are given")
        self._rows = tuple(tuple(numbers[i:i + 3]) for i in (0, 3, 6))  # type: ignore[assignment]

    def setScale(self, sx: float, sy: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _scale(sx, sy, px, py)

    def preScale(self, sx: float, sy: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _product(self._rows, _scale(sx, sy, px, py))

    def postScale(self, sx: float, sy: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _product(_scale(sx, sy, px, py), self._rows)

    def setRotate(self, degrees: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _rotation(degrees, px, py)

    def preRotate(self, degrees: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _product(self._rows, _rotation(degrees, px, py))

    def postRotate(self, degrees: float, px: float = 0.0, py: float = 0.0) -> None:
        self._rows = _product(_rotation(degrees, px, py), self._rows)

    def setTranslate(self, dx: float, dy: float) -> None:
        self._rows = _translation(dx, dy)

    def preTranslate(self, dx: float, dy: float) -> None:
        self._rows = _product(self._rows, _translation(dx, dy))

    def postTranslate(self, dx: float, dy: float) -> None:
        self._rows = _product(_translation(dx, dy), self._rows)

    def invert(self, *unused: Any) -> None:
        """Becomes the map that undoes it."""
        self.write((np.linalg.inv(np.array(self._rows)) / np.linalg.inv(np.array(self._rows))[2, 2]).reshape(-1).tolist())

    def setPolyToPoly(self, source: Sequence[float], target: Sequence[float]) -> None:
        """Becomes the map of one to four points x1, y1, x2, y2 ... to as many others: a translation, a turn with a scale, an affine, a projective map."""
        count = len(source) // 2
        if len(source) != len(target) or len(source) % 2 or not 1 <= count <= 4:
            raise InvalidArgument(f"setPolyToPoly takes one to four points x, y and as many targets, not {len(source)} and {len(target)} numbers")
        points = [(source[2 * i], source[2 * i + 1], target[2 * i], target[2 * i + 1]) for i in range(count)]
        if count == 1:
            return self.setTranslate(points[0][2] - points[0][0], points[0][3] - points[0][1])
        equations: list[list[float]] = []
        for x, y, u, v in points:
            if count == 2:  # a, b, c, d of (a x - b y + c, b x + a y + d)
                equations += [[x, -y, 1, 0, u], [y, x, 0, 1, v]]
            else:
                equations += [[x, y, 1, 0, 0, 0, -u * x, -u * y, u], [0, 0, 0, x, y, 1, -v * x, -v * y, v]]
        unknowns = 6 if count == 3 else 4 if count == 2 else 8
        found = np.linalg.solve(np.array([row[:unknowns] for row in equations], "float64"), np.array([row[-1] for row in equations], "float64")).tolist()
        if count == 2:
            a, b, c, d = found
            found = [a, -b, c, b, a, d]
        self.write([*found, *[0.0] * (8 - len(found)), 1.0])


def _channel(picture: Var, have: str, want: str) -> Var:
    """One channel [H, W] of a picture [H, W, channels]."""
    if want in have:
        return picture[..., have.index(want)]
    if want == "a":
        return np.full(picture.shape[:2], 255, picture.dtype)
    if have == "y":
        return picture[..., 0]
    parts = [picture[..., have.index(name)] for name in "rgb"]
    return np.rint(parts[0] * 0.299 + parts[1] * 0.587 + parts[2] * 0.114)


class CVImageProcess:
    """A conversion of images of bytes. config: sourceFormat and destFormat (CV_ImageFormat_..., RGBA by default), filterType (CV_Filter_NEAREST
    or BILINEAL), wrap (for pixels outside: CV_Wrap_CLAMP_TO_EDGE, ZERO), mean and normal: tensors of float get (value - mean) * normal for each
    channel of destFormat."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        known = ("sourceFormat", "destFormat", "filterType", "wrap", "mean", "normal")
        for name in config:
            if name not in known:
                raise InvalidArgument(f'a CVImageProcess has no "{name}"{_minnow.nearest(name, list(known))}')
        self._formats = [config.get(name, CV_ImageFormat_RGBA) for name in ("sourceFormat", "destFormat")]
        self._filter, self._wrap = config.get("filterType", CV_Filter_NEAREST), config.get("wrap", CV_Wrap_CLAMP_TO_EDGE)
        for format, known_formats in zip(self._formats, ({**_CHANNELS, CV_ImageFormat_YUV_NV21: "nv21"}, _CHANNELS)):
            if format not in known_formats:
                raise Unsupported(f"the format {format!r} of pictures is not there; there are RGBA, RGB, BGR, GRAY and BGRA, and for sources YUV_NV21")
        if self._filter not in (CV_Filter_NEAREST, CV_Filter_BILINEAL):
            raise Unsupported(f"the filter {self._filter!r} is not there; there are CV_Filter_NEAREST and CV_Filter_BILINEAL")
        if self._wrap not in (CV_Wrap_CLAMP_TO_EDGE, CV_Wrap_ZERO):
            raise Unsupported(f"the wrap {self._wrap!r} is not there; there are CV_Wrap_CLAMP_TO_EDGE and CV_Wrap_ZERO")
        self._mean = [float(value) for value in config.get("mean", ())] + [0.0] * 4
        self._normal = [float(value) for value in config.get("normal", ())] + [1.0] * 4
        self._matrix, self._padding = CVMatrix(), 0

    def setMatrix(self, matrix: CVMatrix) -> None:
        """Where in the picture each place of the tensor lies."""
        self._matrix = CVMatrix()
        self._matrix.write(matrix.read())

    def setPadding(self, value: int) -> None:
        """The byte that stands outside of the picture with CV_Wrap_ZERO."""
        self._padding = int(value)

    def createImageTensor(self, dtype: Any, width: int, height: int, bpp: int, data: Any = None) -> Tensor:
        """A tensor [1, height, width, bpp]."""
        return Tensor((1, height, width, bpp), dtype, data, Tensor_DimensionType_Tensorflow)

    def convert(self, source: Any, width: int, height: int, stride: int, dest: Tensor) -> int:
        """Fills the tensor, of one picture, from the bytes of a picture, row by row (stride: bytes from one row to the next, 0 for no gaps). Gives 0."""
        nv21, want = self._formats[0] == CV_ImageFormat_YUV_NV21, _CHANNELS[self._formats[1]]
        have = "y" if nv21 else _CHANNELS[self._formats[0]]
        lines = height * 3 // 2 if nv21 else height
        data = np.asarray(source, "uint8") if not isinstance(source, (bytes, bytearray, memoryview)) else np.frombuffer(source, "uint8")
        stride = stride or width * len(have)
        if data.size < stride * (lines - 1) + width * len(have):
            raise InvalidArgument(f"a picture of {width} x {height} pixels of {1.5 if nv21 else len(have)} bytes is given {data.size} bytes")
        flat = data.reshape(-1)
        if data.size < stride * lines:
            flat = np.pad(flat, (0, stride * lines - data.size))
        flat = flat[:stride * lines].reshape(lines, stride)
        bytes_of_picture = flat if stride == width * len(have) else flat[:, :width * len(have)]
        shape = dest.getShape()
        last = dest.getDimensionType() == Tensor_DimensionType_Tensorflow
        if len(shape) != 4 or shape[0] != 1 or shape[3 if last else 1] != len(want):
            raise InvalidArgument(f"a tensor of the shape {shape} is filled with one picture of {len(want)} channels")
        rows, columns = shape[1:3] if last else shape[2:4]
        m = self._matrix.read()
        floats, vision = dest.getDataType().kind == "f", getattr(_minnow, "vision", None)
        if vision is not None and m[6] == m[7] == 0 and m[8] != 0:
            names = [_FORMATS.index("gray" if name == "y" else name) for name in ("nv21" if nv21 else have, want)]
            mean, scale = (self._mean[:4], self._normal[:4]) if floats else ((0.0,) * 4, (1.0,) * 4)
            made = vision.preprocess(bytes_of_picture.reshape(lines, width, len(have)), *names, (columns, rows), [value / m[8] for value in m[:6]],
                                     self._filter == CV_Filter_BILINEAL, None if self._wrap == CV_Wrap_CLAMP_TO_EDGE else float(self._padding), mean,
                                     scale, last, "float32" if floats else "uint8")
            dest._value = made.astype(dest.getDataType()).evaluate()
            return 0
        if nv21:
            raise Unsupported("a frame of YUV_NV21 is converted by an affine matrix")
        picture = bytes_of_picture.reshape(height, width, len(have)).astype("float32")
        sampled = self._sampled(picture, rows, columns)
        channels = [_channel(sampled, have, name) for name in want]
        if dest.getDataType().kind == "f":
            channels = [(channel - mean) * normal for channel, mean, normal in zip(channels, self._mean, self._normal)]
        made = np.stack(channels, -1 if last else 0)[None]
        dest._value = made.astype(dest.getDataType()).evaluate()
        return 0

    def _sampled(self, picture: Var, rows: int, columns: int) -> Var:
        """The picture at the places of a tensor's pixels: bytes, as float32."""
        m = self._matrix.read()
        y, x = np.arange(rows, dtype="float64")[:, None], np.arange(columns, dtype="float64")[None]
        below = m[6] * x + m[7] * y + m[8]
        at_x, at_y = (m[0] * x + m[1] * y + m[2]) / below, (m[3] * x + m[4] * y + m[5]) / below
        most_x, most_y = picture.shape[1] - 1, picture.shape[0] - 1
        inside = (at_x >= -1e-5) & (at_x <= most_x + 1e-5) & (at_y >= -1e-5) & (at_y <= most_y + 1e-5)
        at_x, at_y = np.clip(at_x, 0, most_x), np.clip(at_y, 0, most_y)
        if self._filter == CV_Filter_NEAREST:
            result = picture[np.floor(at_y + 0.5).astype("int64"), np.floor(at_x + 0.5).astype("int64")]
        else:
            left, top = np.floor(at_x), np.floor(at_y)
            over, down = ((at_x - left)[..., None]).astype("float32"), ((at_y - top)[..., None]).astype("float32")
            x0, y0 = left.astype("int64"), top.astype("int64")
            x1, y1 = np.minimum(x0 + 1, most_x), np.minimum(y0 + 1, most_y)
            upper = picture[y0, x0] * (1 - over) + picture[y0, x1] * over
            lower = picture[y1, x0] * (1 - over) + picture[y1, x1] * over
            result = np.floor(upper * (1 - down) + lower * down + np.float32(0.5))
        return result if self._wrap == CV_Wrap_CLAMP_TO_EDGE else np.where(inside[..., None], result, np.float32(self._padding))


__all__ = ["CVImageProcess", "CVMatrix", "CV_Filter_BICUBIC", "CV_Filter_BILINEAL", "CV_Filter_NEAREST", "CV_ImageFormat_BGR", "CV_ImageFormat_BGRA",
           "CV_ImageFormat_GRAY", "CV_ImageFormat_RGB", "CV_ImageFormat_RGBA", "CV_ImageFormat_YUV_NV21", "CV_Wrap_CLAMP_TO_EDGE", "CV_Wrap_REPEAT", "CV_Wrap_ZERO"]
