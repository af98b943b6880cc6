# SPDX-License-Identifier: Apache-2.0
"""MNN.cv: functions of minnow.cv with MNN's parameters, which leave `dst` out, and MNN's kinds of results. Other names are those of minnow.cv.

resize() and warpAffine() also take MNN's code, mean and norm: colours are converted, and the result is float32, (pixel - mean) * norm.
"""
from __future__ import annotations

from typing import Any, Callable, Sequence

from minnow import Var, cv
from minnow import numpy as np
from minnow._minnow import InvalidArgument
from minnow.compat.image_process import CVMatrix

# MNN's parameters, in MNN's order, by the names that they have in minnow.cv.
_PARAMETERS = {
    "GaussianBlur": "src ksize sigmaX sigmaY borderType", "Laplacian": "src ddepth ksize scale delta borderType", "Scharr": "src ddepth dx dy scale delta borderType",
    "Sobel": "src ddepth dx dy ksize scale delta borderType", "adaptiveThreshold": "src maxValue adaptiveMethod thresholdType blockSize C",
    "addWeighted": "src1 alpha src2 beta gamma", "bilateralFilter": "src d sigmaColor sigmaSpace borderType", "blendLinear": "src1 src2 weights1 weights2",
    "blur": "src ksize borderType", "boxFilter": "src ddepth ksize normalize borderType", "sqrBoxFilter": "src ddepth ksize normalize borderType",
    "convertMaps": "map1 map2 dstmap1type nninterpolation", "cvtColorTwoPlane": "src1 src2 code", "dilate": "src kernel iterations borderType",
    "erode": "src kernel iterations borderType", "filter2D": "src ddepth kernel delta borderType",
    "flip": "src flipCode", "hconcat": "src", "vconcat": "src", "convexHull": "points clockwise returnPoints", "pyrDown": "src dstsize borderType",
    "pyrUp": "src dstsize borderType", "remap": "src map1 map2 interpolation borderMode borderValue", "rotate": "src rotateCode", "merge": "mv",
    "sepFilter2D": "src ddepth kernelX kernelY delta borderType", "solve": "src1 src2 flags", "spatialGradient": "src ksize borderType",
    "getRectSubPix": "image patchSize center", "solvePnP": "objectPoints imagePoints cameraMatrix distCoeffs flags"}


def _results(value: Any) -> Any:
    """Arrays become Vars, which MNN gives, and tuples of them stay tuples."""
    if hasattr(value, "__array_interface__") and not isinstance(value, Var):
        return Var(value)
    return tuple(_results(item) for item in value) if type(value) is tuple else value


def _with_mnn_parameters(name: str, parameters: Sequence[str]) -> Callable[..., Any]:
    function = getattr(cv, name)

    def call(*given: Any, **named: Any) -> Any:
        if len(given) > len(parameters):
            raise InvalidArgument(f"{name}() takes at most {len(parameters)} arguments by position ({', '.join(parameters)}), not {len(given)}")
        for parameter, value in zip(parameters, given):
            if parameter in named:
                raise InvalidArgument(f"{name}() is given {parameter} twice")
            named[parameter] = value
        # None stands for the default, except for coefficients, which have none.
        return _results(function(**{key: value for key, value in named.items() if value is not None or key == "distCoeffs"}))

    call.__name__, call.__doc__ = name, f"minnow.cv.{name}({', '.join(parameters)}), with MNN's order of parameters."
    return call


for _name, _words in _PARAMETERS.items():
    globals()[_name] = _with_mnn_parameters(_name, _words.split())


def _matrix(matrix: Any, rows: int) -> Any:
    """The first rows of a CVMatrix; another matrix as it is."""
    return np.array(matrix.read(), "float64").reshape(3, 3)[:rows] if isinstance(matrix, CVMatrix) else matrix


def _map(rows: Any) -> CVMatrix:
    made, numbers = CVMatrix(), [float(number) for number in np.asarray(rows).reshape(-1).tolist()]
    made.write([*numbers, 0.0, 0.0, 1.0][:9])
    return made


def _points(points: Any) -> Any:
    """Points as OpenCV takes them; MNN takes numbers x, y, x, y too."""
    return np.asarray(points, "float32").reshape(-1, 2)


def _of_three_axes(image: Any) -> Any:
    """MNN's pictures of one channel keep their axis."""
    return image[..., None] if image.ndim == 2 else image


def getAffineTransform(src: Any, dst: Any) -> CVMatrix:
    return _map(cv.getAffineTransform(_points(src), _points(dst)))


def getPerspectiveTransform(src: Any, dst: Any) -> CVMatrix:
    return _map(cv.getPerspectiveTransform(_points(src), _points(dst)))


def getRotationMatrix2D(center: Any, angle: float, scale: float) -> CVMatrix:
    return _map(cv.getRotationMatrix2D(center, angle, scale))


def invertAffineTransform(M: Any) -> CVMatrix:
    return _map(cv.invertAffineTransform(_matrix(M, 2)))


def _finished(image: Any, code: Any, mean: Any, norm: Any) -> Any:
    if code is not None and int(code) >= 0:
        image = cv.cvtColor(image, int(code))
    channels = 1 if image.ndim == 2 else image.shape[2]
    means, norms = ([float(number) for number in numbers] for numbers in (mean if mean is not None else (), norm if norm is not None else ()))
    if not means and not norms:
        return image
    for word, numbers in (("mean", means), ("norm", norms)):
        if numbers and len(numbers) < channels:
            raise InvalidArgument(f"{word} has {len(numbers)} numbers for a picture of {channels} channels")
    return (_of_three_axes(image).astype("float32") - np.array((means or [0.0] * channels)[:channels], "float32")) * np.array((norms or [1.0] * channels)[:channels], "float32")


def _is_frame(code: Any) -> bool:
    """Whether a code takes a camera's frame, whose colours must be converted before its pixels are moved."""
    return code is not None and 90 <= int(code) <= 124


def _converted(src: Any, code: Any) -> tuple[Any, Any]:
    return (cv.cvtColor(src, int(code)), None) if _is_frame(code) else (src, code)


def resize(src: Any, dsize: Any = None, fx: float | None = None, fy: float | None = None, interpolation: int = cv.INTER_LINEAR, code: Any = None, mean: Any = (), norm: Any = ()) -> Any:
    src, code = _converted(src, code)
    return _finished(cv.resize(src, dsize, fx=fx or 0, fy=fy or 0, interpolation=interpolation), code, mean, norm)


def warpAffine(src: Any, M: Any, dsize: Any, flag: int = cv.INTER_LINEAR, borderMode: int = cv.BORDER_CONSTANT, borderValue: Any = 0, code: Any = None, mean: Any = (), norm: Any = ()) -> Any:
    src, code = _converted(src, code)
    return _finished(cv.warpAffine(src, _matrix(M, 2), dsize, flags=flag, borderMode=borderMode, borderValue=borderValue), code, mean, norm)


def warpPerspective(src: Any, M: Any, dsize: Any, flag: int = cv.INTER_LINEAR, borderMode: int = cv.BORDER_CONSTANT, borderValue: Any = 0) -> Any:
    return cv.warpPerspective(src, _matrix(M, 3), dsize, flags=flag, borderMode=borderMode, borderValue=borderValue)


def cvtColor(src: Any, code: int, dstCn: int = 0) -> Any:
    return _of_three_axes(cv.cvtColor(src, int(code), dstCn=dstCn))


def imread(filename: Any, flag: int = cv.IMREAD_COLOR) -> Any:
    return _of_three_axes(Var(cv.imread(filename, flag)))


def imdecode(buf: Any, flag: int = cv.IMREAD_COLOR) -> Any:
    return _of_three_axes(cv.imdecode(buf, flag))


def imencode(ext: str, img: Any, params: Sequence[int] = ()) -> Any:
    """(True, the bytes of the file as a list)."""
    done, data = cv.imencode(ext, img, params)
    return done, np.asarray(data).tolist()


def mean(src: Any, mask: Any = None) -> Any:
    """Four numbers."""
    return Var(list(cv.mean(src, mask)), "float32")


def split(m: Any) -> Any:
    return list(cv.split(m))


def threshold(src: Any, thresh: float, maxval: float, type: int) -> Any:
    """The picture alone."""
    return cv.threshold(src, thresh, maxval, type)[1]


def copyTo(src: Any, mask: Any = None, dst: Any = None) -> Any:
    return Var(src) if mask is None else cv.copyTo(src, mask, dst)


def normalize(src: Any, dst: Any = None, alpha: float | None = None, beta: float | None = None, norm_type: int | None = None, dtype: Any = None, mask: Any = None) -> Any:
    return cv.normalize(src, None, 1 if alpha is None else alpha, 0 if beta is None else beta, cv.NORM_L2 if norm_type is None else norm_type, mask=mask)


def findContours(image: Any, mode: int, method: int, offset: Any = (0, 0)) -> Any:
    """A list of contours, and their hierarchy."""
    contours, hierarchy = cv.findContours(image, mode, method, offset=offset)
    return list(contours), hierarchy


def getDerivKernels(dx: int, dy: int, ksize: int, normalize: bool = False) -> Any:
    """f32 [1, ksize] twice."""
    return tuple(Var(kernel).reshape(1, -1) for kernel in cv.getDerivKernels(dx, dy, ksize, normalize=normalize))


def getGaussianKernel(ksize: int, sigma: float) -> Any:
    """f32 [1, ksize]."""
    return Var(cv.getGaussianKernel(ksize, sigma)).astype("float32").reshape(1, -1)


def getGaborKernel(ksize: Any, sigma: float, theta: float, lambd: float, gamma: float, psi: float = 1.5707963267948966) -> Any:
    return Var(cv.getGaborKernel(ksize, sigma, theta, lambd, gamma, psi)).astype("float32")


def getStructuringElement(shape: int, ksize: Any) -> Any:
    return Var(cv.getStructuringElement(shape, ksize))


def Rodrigues(src: Any) -> Any:
    """The matrix of a vector, or the vector of a matrix."""
    return cv.Rodrigues(src)[0]


def boundingRect(points: Any) -> list[int]:
    return list(cv.boundingRect(points))


def boxPoints(box: Any) -> Any:
    return Var(cv.boxPoints(box))


def calcHist(images: Any, channels: Any, mask: Any, histSize: Any, ranges: Any, accumulate: bool = False) -> Any:
    """f32 [histSize], of one channel."""
    counted = cv.calcHist(images, channels, mask, histSize, ranges, accumulate=accumulate)
    return counted.reshape(-1) if len(histSize) == 1 else counted


def connectedComponentsWithStats(image: Any, connectivity: int = 8) -> Any:
    """The labels are [1, height, width, 1]."""
    count, labels, stats, centers = cv.connectedComponentsWithStats(image, connectivity=connectivity)
    return count, labels[None, ..., None], stats, centers


COLOR_COLORCVT_MAX = 143
