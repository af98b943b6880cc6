# SPDX-License-Identifier: Apache-2.0
"""Files, text, bits, dtypes."""
import io
import itertools

import numpy as N
import minnow.numpy as M
from minnow._minnow import Var

from numpy_parity.cases import add, ALL, case, COMPLEX, data, method, SHAPES


def printed():
    """Arrays as text, with every option."""
    random = N.random.default_rng(8)
    options = {"precision": (0, 1, 3, 12, 20), "suppress_small": (True, False), "sign": ("+", " ", "-"), "floatmode": ("fixed", "unique", "maxprec", "maxprec_equal"),
               "threshold": (5, 1e9), "edgeitems": (1, 2), "separator": (",", "", ", "), "prefix": ("pre(",), "suffix": ("suf)",), "max_line_width": (20, 40, 100)}
    for dtype in (*ALL, *COMPLEX, "uint64"):
        for shape in (*SHAPES, (60,), (4, 3, 9), (1001,), (2, 1000), (1, 1500, 2), (11, 10, 12)):
            for kind in range(10):
                x = random.standard_normal(shape)
                if kind == 1:  # sizes that differ
                    x = x * 10.0 ** random.integers(-12, 12, shape)
                elif kind == 2:
                    x = x * 10.0 ** random.integers(-9, 9)
                elif kind in (3, 8):
                    x = N.where(random.random(shape) < 0.3, random.choice([N.nan, N.inf, -N.inf, 0.0, -0.0], shape), x)
                elif kind in (4, 9):  # few digits
                    x = N.round(x * 100) / 4
                elif kind == 5:
                    x = N.abs(x) * 1000
                with N.errstate(all="ignore"):
                    x = N.asarray(x + 1j * random.standard_normal(shape) * 10.0 ** random.integers(-6, 6) if dtype in COMPLEX else x if dtype != "bool" else x > 0).astype(dtype)
                if kind < 6:
                    case("array_str", x)
                elif x.size < 200:
                    case("array2string", x, **{name: values[random.integers(len(values))] for name, values in options.items() if random.random() < 0.4})
    x = N.array([[1.5, 2e-5], [N.nan, -N.inf]])
    for wrong in ({"floatmode": "none"}, {"sign": "x"}, {"precision": 1.5}, {"threshold": N.nan}):
        case("array2string", x, **wrong)
        case("set_printoptions", **wrong)
    case("array2string", x, formatter={"float_kind": lambda value: f"<{value:g}>"})
    case("array2string", N.arange(3), formatter={"int": hex, "float": str})
    case("array_str", x, 20, 3, True)

    def within(m, x):
        with m.printoptions(precision=2, suppress=True, nanstr="-", linewidth=20) as options:
            return str(x), options["precision"], m.get_printoptions()["nanstr"]
    add("printoptions", lambda m, x: (within(m, x), str(x)), x)

    def after(m, x):
        try:
            m.set_printoptions(precision=1, edgeitems=1, threshold=3)
            return str(x)
        finally:
            m.set_printoptions(precision=8, edgeitems=3, threshold=1000)
    add("set_printoptions", after, x)
    add("get_printoptions", lambda m: str([m.get_printoptions()[name] for name in ("precision", "threshold", "edgeitems", "linewidth", "suppress", "floatmode")]))


def files_and_text():
    printed()
    for dtype in (*ALL, *COMPLEX, "uint16", "int16", "uint32", "uint64"):
        for shape in SHAPES:
            def saved(m, x):
                buffer = io.BytesIO()
                m.save(buffer, x)
                return buffer.getvalue()[:6]
            x = data(shape, dtype) if dtype in (*ALL, *COMPLEX) else data(shape, "uint8").astype(dtype)
            add("save", saved, x)

            def crossed(m, x, other):
                """Written by one, read by the other."""
                buffer = io.BytesIO()
                (N if m is M else M).save(buffer, N.asarray(x) if m is M else Var(x, copy=True))
                buffer.seek(0)
                return m.load(buffer)
            add("load", crossed, x, None)
            for name in ("savez", "savez_compressed"):
                def zipped(m, x, name):
                    buffer = io.BytesIO()
                    getattr(N if m is M else M, name)(buffer, N.asarray(x) if m is M else Var(x, copy=True), other=N.ones(2))
                    buffer.seek(0)
                    with m.load(buffer) as archive:
                        return sorted(archive.files), archive["arr_0"], archive["other"]
                add(name, zipped, x, name)
            for order in "CF":
                def fortran(m, x, dtype, order):
                    buffer = io.BytesIO()
                    N.save(buffer, N.asarray(N.asarray(x), order=order).astype(N.dtype(dtype).newbyteorder(">")))
                    buffer.seek(0)
                    return N.asarray(m.load(buffer)).astype(dtype)
                add("load", fortran, x, dtype, order)
    for text in (b"", b"x", b"\x93NUMPY\x01\x00\xff\xff{}", b"\x93NUMPY\x01\x00\x10\x00{'descr':'<f8'}\n", b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16):
        add("load", lambda m, text: m.load(io.BytesIO(text)), text)
    for text in ("1 2 3\n4 5 6\n", "# head\n1\n2\n", "1 2\n3\n", "", "a b\n", "7\n", "1e3 -2.5\n"):
        for dtype in ("float64", "float32", "int64"):
            add("loadtxt", lambda m, text, dtype: m.loadtxt(io.StringIO(text), dtype), text, dtype)
            add("loadtxt", lambda m, text, dtype: m.loadtxt(io.StringIO(text), dtype, ndmin=2, unpack=True), text, dtype)
    add("loadtxt", lambda m: m.loadtxt(io.StringIO("1,2;x\n3,4\n"), delimiter=",", comments=";"))
    add("loadtxt", lambda m: m.loadtxt(io.StringIO("h\n1 2 3\n4 5 6"), skiprows=1, usecols=(2, 0), max_rows=1))
    add("genfromtxt", lambda m: m.genfromtxt(io.StringIO("1,2,x\n3,,5\n"), delimiter=","))
    for dtype in ("int64", "float64"):
        for shape in ((4,), (2, 3), (), (1, 2, 2)):
            for fmt in ("%.18e", "%d", "%.3f"):
                def written(m, x, fmt):
                    buffer = io.StringIO()
                    m.savetxt(buffer, x, fmt, delimiter=",", header="h", footer="f")
                    return buffer.getvalue()
                add("savetxt", written, data(shape, dtype), fmt)
    for number in (0, 1, 5, 255, -1, -7, -128):
        for width in (None, 3, 8, 12):
            case("binary_repr", number, width)
        for base in (2, 3, 16, 36, 1, 40):
            case("base_repr", number, base)
        case("base_repr", number, 2, 3)
    for shape in ((8,), (3,), (2, 9), (0,), (2, 3, 4)):
        for axis in (None, 0, -1):
            for order in ("big", "little"):
                case("packbits", data(shape, "bool"), axis, order)
                case("unpackbits", data(shape, "uint8"), axis, None, order)
                if 0 not in shape:
                    case("unpackbits", data(shape, "uint8"), axis, 5, order)
    for dtype in ALL:
        for shape in ((), (3,), (2, 3)):
            x = data(shape, dtype)
            method("tobytes", x)
            method("tolist", x)
    for name in ("float16", "float32", "float64"):
        for attribute in ("eps", "max", "min", "tiny", "bits", "nmant", "precision", "resolution", "epsneg", "smallest_normal", "smallest_subnormal", "maxexp", "minexp"):
            add("finfo", lambda m, name, attribute: float(getattr(m.finfo(name), attribute)), name, attribute)
    for name in ("int8", "uint8", "int32", "uint64", "int64"):
        for attribute in ("min", "max", "bits"):
            add("iinfo", lambda m, name, attribute: int(getattr(m.iinfo(name), attribute)), name, attribute)
    for a, b in itertools.product((*ALL, *COMPLEX), repeat=2):
        add("promote_types", lambda m, a, b: str(m.promote_types(a, b)), a, b)
        add("result_type", lambda m, a, b: str(m.result_type(a, b)), a, b)
        add("result_type", lambda m, a, b: str(m.result_type(m.zeros(2, a), 3, b)), a, b)
        for casting in ("no", "safe", "same_kind", "unsafe"):
            case("can_cast", a, b, casting)
        add("issubdtype", lambda m, a, b: m.issubdtype(a, b), a, b)
        add("astype", lambda m, x, b: x.astype(b), N.array([0, 1, 2, 100], a), b)
    for a in (*ALL, *COMPLEX):
        for kind in ("integer", "signedinteger", "unsignedinteger", "floating", "complexfloating", "inexact", "number", "generic"):
            add("issubdtype", lambda m, a, kind: m.issubdtype(a, getattr(m, kind)), a, kind)
        for kind in ("bool", "signed integer", "integral", "real floating", "complex floating", "numeric"):
            add("isdtype", lambda m, a, kind: m.isdtype(m.zeros(1, a).dtype, kind), a, kind)
        for value in (0, 1, 300, -1, -40000, 2 ** 40, 1.5):
            add("min_scalar_type", lambda m, value: str(m.min_scalar_type(value)), value)
    for value in (1, 1.5, "x", [1]):
        case("isscalar", value)
    for value in (1, 2.5, "text", b"bytes", None, [], (1, 2), {}, data((3,), "float32")):
        case("iterable", value)
    for dtype in (*ALL, *COMPLEX):
        for to in (*ALL, *COMPLEX):
            if not dtype.startswith("c") or to.startswith("c"):
                case("astype", data((3, 4), dtype, "positive"), to)
        case("astype", data((3, 4), dtype), dtype, copy=False)
        case("from_dlpack", data((3, 4), dtype))
        case("from_dlpack", data((3, 4), dtype), copy=True, device="cpu")
    case("astype", [1, 2], "float32")
    case("astype", data((3,), "float32"), "float64", device="gpu")
    case("from_dlpack", [1, 2])
    add("True_", lambda m: bool(m.True_))
    add("False_", lambda m: bool(m.False_))
    add("vectorize", lambda m: m.vectorize(lambda a, b: a + 2 * b)(m.asarray([1, 2]), 3))
    add("common_type", lambda m: m.dtype(m.common_type(m.ones(2, "float32"), m.ones(2, "int64"))).name)
    add("isfortran", lambda m: m.isfortran(m.ones((2, 3))))
