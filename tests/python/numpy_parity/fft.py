# SPDX-License-Identifier: Apache-2.0
"""numpy.fft."""
from numpy_parity.cases import case, data


def fourier():
    def loosely(dtype):
        return 1e-5 if dtype in ("float16", "float32", "complex64") else 1e-9
    for dtype in ("int64", "float16", "float32", "float64", "complex64", "complex128", "bool"):
        for n in (1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 30, 67, 128):
            x = data((n,), dtype)
            for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
                for norm in (None, "ortho", "forward", "odd"):
                    case("fft." + name, x, norm=norm, tolerance=loosely(dtype))
            for m in (1, 6, 20):
                for name in ("fft", "ifft", "rfft", "irfft", "hfft"):
                    case("fft." + name, x, m, tolerance=loosely(dtype))
        for shape in ((), (0,), (3, 4), (2, 3, 4), (4, 1)):
            x = data(shape, dtype)
            for name in ("fft", "ifft", "rfft", "irfft"):
                for axis in (0, -1, 1):
                    case("fft." + name, x, axis=axis, tolerance=loosely(dtype))
            for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
                case("fft." + name, x, tolerance=loosely(dtype))
                if len(shape) > 1:
                    case("fft." + name, x, (5, 3), axes=(0, 1), tolerance=loosely(dtype))
                    case("fft." + name, x, axes=(1, 0), norm="ortho", tolerance=loosely(dtype))
            if shape:
                case("fft.fftshift", x)
            case("fft.ifftshift", x, axes=0)
    for n in (1, 2, 5, 8):
        for d in (1.0, 0.25):
            case("fft.fftfreq", n, d)
            case("fft.rfftfreq", n, d)
