#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""minnow.numpy beside the Python array API standard 2024.12: names, parameters, inspection, dtypes, special values, DLPack."""
import ctypes
import inspect
import itertools
import math
import re
import sys
import unittest

try:
    import minnow
    import minnow.numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)

try:
    import numpy
except ImportError:
    numpy = None

INF, NAN = math.inf, math.nan
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)

# The functions of the standard with their parameters: positional ones before /, keyword-only ones after *.
FUNCTIONS = """
arange(start, /, stop, step, *, dtype, device); asarray(obj, /, *, dtype, device, copy); empty(shape, *, dtype, device); empty_like(x, /, *, dtype,
device); eye(n_rows, n_cols, /, *, k, dtype, device); from_dlpack(x, /, *, device, copy); full(shape, fill_value, *, dtype, device); full_like(x, /,
fill_value, *, dtype, device); linspace(start, stop, /, num, *, dtype, device, endpoint); meshgrid(*arrays, indexing); ones(shape, *, dtype, device);
ones_like(x, /, *, dtype, device); tril(x, /, *, k); triu(x, /, *, k); zeros(shape, *, dtype, device); zeros_like(x, /, *, dtype, device); astype(x,
dtype, /, *, copy, device); can_cast(from_, to, /); finfo(type, /); iinfo(type, /); isdtype(dtype, kind); result_type(*arrays_and_dtypes); abs(x, /);
acos(x, /); acosh(x, /); add(x1, x2, /); asin(x, /); asinh(x, /); atan(x, /); atan2(x1, x2, /); atanh(x, /); bitwise_and(x1, x2, /);
bitwise_left_shift(x1, x2, /); bitwise_invert(x, /); bitwise_or(x1, x2, /); bitwise_right_shift(x1, x2, /); bitwise_xor(x1, x2, /); ceil(x, /);
clip(x, /, min, max); conj(x, /); copysign(x1, x2, /); cos(x, /); cosh(x, /); divide(x1, x2, /); equal(x1, x2, /); exp(x, /); expm1(x, /); floor(x,
/); floor_divide(x1, x2, /); greater(x1, x2, /); greater_equal(x1, x2, /); hypot(x1, x2, /); imag(x, /); isfinite(x, /); isinf(x, /); isnan(x, /);
less(x1, x2, /); less_equal(x1, x2, /); log(x, /); log1p(x, /); log2(x, /); log10(x, /); logaddexp(x1, x2, /); logical_and(x1, x2, /); logical_not(x,
/); logical_or(x1, x2, /); logical_xor(x1, x2, /); maximum(x1, x2, /); minimum(x1, x2, /); multiply(x1, x2, /); negative(x, /); nextafter(x1, x2, /);
not_equal(x1, x2, /); positive(x, /); pow(x1, x2, /); real(x, /); reciprocal(x, /); remainder(x1, x2, /); round(x, /); sign(x, /); signbit(x, /);
sin(x, /); sinh(x, /); square(x, /); sqrt(x, /); subtract(x1, x2, /); tan(x, /); tanh(x, /); trunc(x, /); take(x, indices, /, *, axis);
take_along_axis(x, indices, /, *, axis); matmul(x1, x2, /); matrix_transpose(x, /); tensordot(x1, x2, /, *, axes); vecdot(x1, x2, /, *, axis);
broadcast_arrays(*arrays); broadcast_to(x, /, shape); concat(arrays, /, *, axis); expand_dims(x, /, axis); flip(x, /, *, axis); moveaxis(x, source,
destination, /); permute_dims(x, /, axes); repeat(x, repeats, /, *, axis); reshape(x, /, shape, *, copy); roll(x, /, shift, *, axis); squeeze(x, /,
axis); stack(arrays, /, *, axis); tile(x, repetitions, /); unstack(x, /, *, axis); argmax(x, /, *, axis, keepdims); argmin(x, /, *, axis, keepdims);
count_nonzero(x, /, *, axis, keepdims); nonzero(x, /); searchsorted(x1, x2, /, *, side, sorter); where(condition, x1, x2, /); unique_all(x, /);
unique_counts(x, /); unique_inverse(x, /); unique_values(x, /); argsort(x, /, *, axis, descending, stable); sort(x, /, *, axis, descending, stable);
cumulative_sum(x, /, *, axis, dtype, include_initial); cumulative_prod(x, /, *, axis, dtype, include_initial); max(x, /, *, axis, keepdims); mean(x,
/, *, axis, keepdims); min(x, /, *, axis, keepdims); prod(x, /, *, axis, dtype, keepdims); std(x, /, *, axis, correction, keepdims); sum(x, /, *,
axis, dtype, keepdims); var(x, /, *, axis, correction, keepdims); all(x, /, *, axis, keepdims); any(x, /, *, axis, keepdims); diff(x, /, *, axis, n,
prepend, append); linalg.cholesky(x, /, *, upper); linalg.cross(x1, x2, /, *, axis); linalg.det(x, /); linalg.diagonal(x, /, *, offset);
linalg.eigh(x, /); linalg.eigvalsh(x, /); linalg.inv(x, /); linalg.matmul(x1, x2, /); linalg.matrix_norm(x, /, *, keepdims, ord);
linalg.matrix_power(x, n, /); linalg.matrix_rank(x, /, *, rtol); linalg.matrix_transpose(x, /); linalg.outer(x1, x2, /); linalg.pinv(x, /, *, rtol);
linalg.qr(x, /, *, mode); linalg.slogdet(x, /); linalg.solve(x1, x2, /); linalg.svd(x, /, *, full_matrices); linalg.svdvals(x, /);
linalg.tensordot(x1, x2, /, *, axes); linalg.trace(x, /, *, offset, dtype); linalg.vecdot(x1, x2, /, *, axis); linalg.vector_norm(x, /, *, axis,
keepdims, ord); fft.fft(x, /, *, n, axis, norm); fft.ifft(x, /, *, n, axis, norm); fft.fftn(x, /, *, s, axes, norm); fft.ifftn(x, /, *, s, axes,
norm); fft.rfft(x, /, *, n, axis, norm); fft.irfft(x, /, *, n, axis, norm); fft.rfftn(x, /, *, s, axes, norm); fft.irfftn(x, /, *, s, axes, norm);
fft.hfft(x, /, *, n, axis, norm); fft.ihfft(x, /, *, n, axis, norm); fft.fftfreq(n, /, *, d, dtype, device); fft.rfftfreq(n, /, *, d, dtype, device);
fft.fftshift(x, /, *, axes); fft.ifftshift(x, /, *, axes); __array_namespace_info__(); info().capabilities(); info().default_device();
info().default_dtypes(*, device); info().devices(); info().dtypes(*, device, kind); array.__abs__(); array.__add__(other, /); array.__and__(other, /);
array.__array_namespace__(*, api_version); array.__bool__(); array.__complex__(); array.__dlpack__(*, stream, max_version, dl_device, copy);
array.__dlpack_device__(); array.__eq__(other, /); array.__float__(); array.__floordiv__(other, /); array.__ge__(other, /); array.__getitem__(key, /);
array.__gt__(other, /); array.__index__(); array.__int__(); array.__invert__(); array.__le__(other, /); array.__lshift__(other, /);
array.__lt__(other, /); array.__matmul__(other, /); array.__mod__(other, /); array.__mul__(other, /); array.__ne__(other, /); array.__neg__();
array.__or__(other, /); array.__pos__(); array.__pow__(other, /); array.__rshift__(other, /); array.__setitem__(key, value, /); array.__sub__(other,
/); array.__truediv__(other, /); array.__xor__(other, /); array.to_device(device, /, *, stream)
"""


def functions():
    """Prefix, name, and the parameters of each function: by position, by both, by name."""
    for text in re.split(r";\s", FUNCTIONS.strip()):
        prefix, name, inside = re.fullmatch(r"(linalg\.|fft\.|info\(\)\.|array\.|)(\w+)\((.*)\)", text.replace("\n", " ")).groups()
        parts = [part for part in inside.split(", ") if part]
        star = next((i for i, part in enumerate(parts) if part[0] == "*"), len(parts))  # * or *arrays
        first, by_name = parts[:star], parts[star + 1:]
        by_position, both = (first[:first.index("/")], first[first.index("/") + 1:]) if "/" in first else ([], first)
        yield prefix, name, by_position, both, by_name


def found(prefix, name):
    owner = {"": np, "linalg.": np.linalg, "fft.": np.fft, "info().": np.__array_namespace_info__(), "array.": np.ones((2, 2))}[prefix]
    return getattr(owner, name)


def bits(value):
    """A number whose sign of zero and whose NaN count in comparisons."""
    if isinstance(value, complex):
        return bits(value.real), bits(value.imag)
    return "nan" if value != value else (value, math.copysign(1, value))


class Names(unittest.TestCase):
    def test_functions_take_the_parameters_of_the_standard(self):
        count = 0
        for prefix, name, by_position, both, by_name in functions():
            count += 1
            with self.subTest(prefix + name):
                try:
                    parameters = list(inspect.signature(found(prefix, name)).parameters.values())
                except ValueError:  # slots of the class have none
                    continue
                starred = [i for i, p in enumerate(parameters) if p.kind == p.VAR_POSITIONAL]
                if starred:
                    parameters = parameters[:starred[0]] + [parameters[starred[0]]] * len(by_position) + parameters[starred[0] + 1:]
                self.assertGreaterEqual(len(parameters), len(by_position) + len(both))
                for p in parameters[:len(by_position)]:
                    self.assertIn(p.kind, (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL))
                for p, wanted in zip(parameters[len(by_position):], both):
                    self.assertEqual((p.name, p.kind), (wanted, p.POSITIONAL_OR_KEYWORD))
                named = {p.name: p.kind for p in parameters}
                for wanted in by_name:
                    self.assertIn(named.get(wanted), (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD), wanted)
        self.assertEqual(count, 210)

    def test_attributes_and_constants(self):
        x = np.ones((2, 3))
        self.assertEqual((x.T.shape, x.device, x.dtype, x.mT.shape, x.ndim, x.shape, x.size), ((3, 2), "cpu", np.float64, (3, 2), 2, (2, 3), 6))
        self.assertEqual((np.e, np.inf, np.newaxis, np.pi), (math.e, math.inf, None, math.pi))
        self.assertNotEqual(np.nan, np.nan)


class Inspection(unittest.TestCase):
    def test_namespace(self):
        x = np.asarray([1, 2])
        self.assertEqual(np.__array_api_version__, "2024.12")
        for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            self.assertIs(x.__array_namespace__(api_version=version), np)
        with self.assertRaisesRegex(ValueError, "'2019.12' is not supported; 2024.12"):
            x.__array_namespace__(api_version="2019.12")

    def test_info(self):
        info = np.__array_namespace_info__()
        self.assertEqual(info.capabilities(), {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": RANK})
        self.assertEqual((info.devices(), info.default_device()), (["cpu"], "cpu"))
        self.assertEqual(info.default_dtypes(device="cpu"), {"real floating": np.float64, "complex floating": np.complex128, "integral": np.int64, "indexing": np.int64})
        every = {d.name: d for d in (np.bool, *INTEGERS, *FLOATS, *COMPLEX)}
        self.assertEqual(info.dtypes(), every)
        self.assertEqual(info.dtypes(kind=("bool", "complex floating")), {d.name: d for d in (np.bool, *COMPLEX)})
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
            self.assertEqual(info.dtypes(kind=kind), {name: d for name, d in every.items() if np.isdtype(d, kind)}, kind)
        self.assertEqual(np.ones([1] * RANK).ndim, RANK)
        with self.assertRaisesRegex(ValueError, "'real' is not a kind of dtypes"):
            info.dtypes(kind="real")
        with self.assertRaisesRegex(ValueError, 'on the device "cpu", not on \'gpu\''):
            info.dtypes(device="gpu")

    def test_devices(self):
        x = np.ones(2)
        for make in (lambda device: np.asarray(1, device=device), lambda device: np.arange(3, device=device), lambda device: np.empty(2, device=device),
                     lambda device: np.empty_like(x, device=device), lambda device: np.eye(2, device=device), lambda device: np.full(2, 1, device=device),
                     lambda device: np.full_like(x, 1, device=device), lambda device: np.linspace(0, 1, 3, device=device), lambda device: np.ones(2, device=device),
                     lambda device: np.ones_like(x, device=device), lambda device: np.zeros(2, device=device), lambda device: np.zeros_like(x, device=device),
                     lambda device: np.from_dlpack(x, device=device), lambda device: np.astype(x, np.float32, device=device), lambda device: np.fft.fftfreq(3, device=device),
                     lambda device: np.fft.rfftfreq(3, device=device)):
            self.assertEqual(make("cpu").device, "cpu")
            self.assertEqual(make(None).device, "cpu")
            with self.assertRaisesRegex(ValueError, "not on 'gpu'"):
                make("gpu")
        self.assertIs(x.to_device("cpu"), x)
        with self.assertRaisesRegex(ValueError, "cannot move to 'gpu'"):
            x.to_device("gpu")
        with self.assertRaisesRegex(ValueError, "no streams"):
            x.to_device("cpu", stream=1)


class DTypes(unittest.TestCase):
    def test_sums_are_of_the_default_dtypes(self):
        for function in (np.sum, np.prod, np.cumulative_sum, np.cumulative_prod, np.linalg.trace):
            for dtype in (*INTEGERS, *FLOATS, *COMPLEX):
                shape = (2, 2) if function is np.linalg.trace else (3,)
                wanted = np.int64 if dtype in INTEGERS[:4] else np.uint64 if dtype in INTEGERS[4:] else dtype
                self.assertEqual(function(np.ones(shape, dtype)).dtype, wanted, (function, dtype))
                self.assertEqual(function(np.ones(shape, dtype), dtype=np.complex64).dtype, np.complex64)

    def test_numbers_of_python_take_the_dtype_of_the_array(self):
        numbers = {"b": (True,), "i": (True, 3), "u": (True, 3), "f": (True, 3, 1.5), "c": (True, 3, 1.5, 2j)}
        for dtype in (*INTEGERS, *FLOATS, *COMPLEX):
            x = np.ones(2, dtype)
            for number in numbers[dtype.kind]:
                for function in (np.add, np.multiply, np.pow, np.subtract):
                    self.assertEqual((function(x, number).dtype, function(number, x).dtype), (dtype, dtype), (function, dtype, number))
        for function in (np.atan2, np.copysign, np.hypot, np.logaddexp, np.nextafter, np.maximum, np.minimum, np.floor_divide, np.remainder):
            for dtype in FLOATS:
                self.assertEqual((function(np.ones(2, dtype), 2).dtype, function(1.5, np.ones(2, dtype)).dtype), (dtype, dtype), function)
        self.assertEqual(np.where(np.asarray([True, False]), np.ones(2, np.float32), 2.5).dtype, np.float32)
        self.assertEqual(np.clip(np.ones(2, np.int8), 0, 5).dtype, np.int8)

    def test_fourier_transforms_keep_the_precision(self):
        for real, complex_ in zip(FLOATS, COMPLEX):
            self.assertEqual(np.fft.fft(np.ones(4, complex_)).dtype, complex_)
            self.assertEqual(np.fft.rfft(np.ones(4, real)).dtype, complex_)
            self.assertEqual(np.fft.irfft(np.ones(4, complex_)).dtype, real)
            self.assertEqual((np.fft.fftfreq(5, dtype=real).dtype, np.fft.rfftfreq(5, dtype=real).dtype), (real, real))
        with self.assertRaisesRegex(TypeError, "real floating dtype, not int64"):
            np.fft.fftfreq(5, dtype=np.int64)

    def test_arrays_without_copies_keep_their_dtype(self):
        x = np.ones(3, np.float32)
        self.assertTrue(np.shares_memory(np.asarray(x, dtype=np.float32, copy=False), x))
        self.assertFalse(np.shares_memory(np.asarray(x, dtype=np.float32, copy=True), x))
        with self.assertRaisesRegex(ValueError, "a float32 cannot become float64 without a copy"):
            np.asarray(x, dtype=np.float64, copy=False)
        with self.assertRaisesRegex(ValueError, "no memory that could be shared"):
            np.asarray([1, 2], copy=False)

    def test_results_are_arrays(self):
        self.assertEqual(np.count_nonzero(np.asarray([[1, 0], [2, 3]])).shape, ())
        self.assertEqual(np.count_nonzero(np.asarray([[1, 0], [2, 3]]), axis=0).tolist(), [2, 1])
        self.assertIs(type(np.meshgrid(np.ones(2), np.ones(3))), list)
        self.assertIs(type(np.broadcast_arrays(np.ones(2), np.ones((3, 1)))), list)
        self.assertIs(type(np.unstack(np.ones((2, 1)))), tuple)


class Values(unittest.TestCase):
    def test_floor_divide_of_infinities(self):
        grid = [0.0, -0.0, 1.0, -2.5, 3.0, INF, -INF, NAN]
        for x, y in itertools.product(grid, grid):
            with_infinity = math.isinf(x) or math.isinf(y)
            for dtype in FLOATS:
                a, b = np.asarray(x, dtype), np.asarray(y, dtype)
                if with_infinity:
                    wanted = bits((a / b).item())
                    self.assertEqual((bits(np.floor_divide(a, b).item()), bits((a // b).item())), (wanted, wanted), (x, y))
                elif y != 0 and x == x and y == y:
                    self.assertEqual(bits((a // b).item()), bits(x // y), (x, y))
                quotient, rest = divmod(a, b)
                if y != 0:
                    self.assertEqual((bits(quotient.item()), bits(rest.item())), tuple(map(bits, divmod(x, y))), (x, y))
        x, y = (minnow.expr.placeholder(name, "float32", [8, 8]) for name in "xy")
        quotient, python, rest = x // y, divmod(x, y)[0], x % y
        a, b = (np.asarray([line] * 8, "float32") for line in (grid, grid))
        x.assign(a), y.assign(b.T)
        self.assertEqual([bits(v) for v in quotient.reshape(-1).tolist()], [bits(v) for v in np.floor_divide(a, b.T).reshape(-1).tolist()])
        self.assertEqual([bits(v) for v in rest.reshape(-1).tolist()], [bits(v) for v in np.remainder(a, b.T).reshape(-1).tolist()])
        self.assertEqual([bits(v) for v in python.reshape(-1).tolist()], [bits(v) for v in divmod(a, b.T)[0].reshape(-1).tolist()])

    def test_remainders_of_zero_have_the_sign_of_the_divisor(self):
        for dtype in FLOATS:
            x = np.asarray([0.0, -0.0, 4.0, -4.0], dtype)
            for rest in (x % 2, x % np.full(4, 2, dtype), np.remainder(x, 2), np.asarray(4.0, dtype) % np.full(4, 2, dtype)):
                self.assertEqual([bits(v) for v in rest.tolist()], [bits(0.0)] * 4)
            for rest in (x % -2, x % np.full(4, -2, dtype), np.remainder(x, -2)):
                self.assertEqual([bits(v) for v in rest.tolist()], [bits(-0.0)] * 4)
            x %= -2
            self.assertEqual([bits(v) for v in x.tolist()], [bits(-0.0)] * 4)

    def check_complex(self, function, table):
        """A value of None: of any sign, or any value. Values of the conjugates are conjugates."""
        for x, (real, imag) in table.items():
            x = complex(*x)
            for given, sign in ((x, 1), (x.conjugate(), -1)):
                if sign < 0 and x.imag != x.imag:
                    continue
                for dtype in COMPLEX:
                    made = function(np.asarray(given, dtype)).item()
                    for part, wanted in ((made.real, real), (made.imag, imag * sign if isinstance(imag, float) else imag)):
                        if isinstance(wanted, str):
                            self.assertEqual(abs(part), float(wanted), (given, made))
                        else:
                            self.assertEqual(bits(part), bits(wanted), (given, made))

    def test_expm1_of_complex_infinities(self):
        self.check_complex(np.expm1, {
            (0.0, 0.0): (0.0, 0.0), (-0.0, 0.0): (0.0, 0.0), (1.0, INF): (NAN, NAN), (1.0, NAN): (NAN, NAN), (INF, 0.0): (INF, 0.0), (-INF, 1.0): (-1.0, 0.0),
            (INF, 1.0): (INF, INF), (INF, 2.0): (-INF, INF), (-INF, INF): (-1.0, "0"), (INF, INF): ("inf", NAN), (-INF, NAN): (-1.0, "0"), (INF, NAN): ("inf", NAN),
            (NAN, 0.0): (NAN, 0.0), (NAN, 1.0): (NAN, NAN), (NAN, NAN): (NAN, NAN)})
        made, wanted = np.expm1(np.asarray(1e-9 + 1e-9j)).item(), 1e-9 + 1e-9j
        self.assertLess(abs(made - wanted) / abs(wanted), 2e-9)

    def test_tanh_of_complex_infinities(self):
        self.check_complex(np.tanh, {
            (0.0, 0.0): (0.0, 0.0), (1.0, INF): (NAN, NAN), (0.0, INF): (0.0, NAN), (1.0, NAN): (NAN, NAN), (0.0, NAN): (0.0, NAN), (INF, 1.0): (1.0, 0.0), (INF, 2.0): (1.0, 0.0), (-INF, 3.0): (-1.0, 0.0),
            (INF, INF): (1.0, "0"), (INF, NAN): (1.0, "0"), (NAN, 0.0): (NAN, 0.0), (NAN, 1.0): (NAN, NAN), (NAN, NAN): (NAN, NAN)})

    def test_negative_of_complex_numbers(self):
        for dtype in COMPLEX:
            self.assertEqual((-np.asarray([1 - 2j, 3j], dtype)).tolist(), [-1 + 2j, -3j])

    def test_falling_order(self):
        x = np.asarray([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, -1.0, 5.0]])
        self.assertEqual(np.sort(x, descending=True).tolist(), [[3, 3, 2, 1], [5, 0, 0, -1]])
        self.assertEqual(np.argsort(x, descending=True).tolist(), [[0, 2, 3, 1], [3, 0, 1, 2]])
        self.assertEqual(np.argsort(x, axis=0, descending=True, stable=True).tolist(), [[0, 0, 0, 1], [1, 1, 1, 0]])
        self.assertEqual(np.argsort(x, axis=None, descending=True, stable=False).tolist(), [7, 0, 2, 3, 1, 4, 5, 6])
        for dtype in INTEGERS:
            y = np.asarray([3, 100, 0, 100, 1], dtype)
            self.assertEqual((np.sort(y, descending=True).tolist(), np.argsort(y, descending=True).tolist()), ([100, 100, 3, 1, 0], [1, 3, 0, 4, 2]))
        self.assertEqual(np.argsort(np.asarray([True, False, True]), descending=True).tolist(), [0, 2, 1])
        open_ = minnow.expr.placeholder("x", "float32", [None, 4])
        values, places = np.sort(open_, descending=True), np.argsort(open_, descending=True)
        open_.assign(np.astype(x, np.float32))
        self.assertEqual((values.tolist(), places.tolist()), (np.sort(x, descending=True).tolist(), np.argsort(x, descending=True).tolist()))
        x.sort(descending=True)
        self.assertEqual(x.tolist(), [[3, 3, 2, 1], [5, 0, 0, -1]])
        with self.assertRaisesRegex(ValueError, "can't be provided at the same time"):
            np.sort(x, kind="stable", stable=True)

    def test_clip_has_two_names_of_its_bounds(self):
        x = np.asarray([-3, 0, 9])
        for made in (np.clip(x, -1, 5), np.clip(x, min=-1, max=5), np.clip(x, a_min=-1, a_max=5), x.clip(-1, max=5)):
            self.assertEqual(made.tolist(), [-1, 0, 5])
        self.assertEqual(np.clip(x, max=5).tolist(), [-3, 0, 5])
        with self.assertRaisesRegex(ValueError, "not as min and a_min"):
            np.clip(x, 0, a_min=0)

    def test_masks_without_elements_choose_none(self):
        for shape, mask, wanted in (((0, 1), (0, 0), (0,)), ((3,), (0,), (0,)), ((2, 3), (2, 0), (0,)), ((2, 3), (0,), (0, 3)), ((2, 3, 4), (0, 3), (0, 4))):
            x = np.ones(shape)
            self.assertEqual(x[np.zeros(mask, np.bool)].shape, wanted)
            x[np.zeros(mask, np.bool)] = 7
            self.assertEqual(x.tolist(), np.ones(shape).tolist())
        for shape, mask in (((3,), (2,)), ((2, 3), (3, 3)), ((3,), (3, 1))):
            with self.assertRaises(IndexError):
                np.ones(shape)[np.zeros(mask, np.bool)]

    def test_arrays_of_the_highest_rank(self):
        shape = [1] * RANK
        shape[3] = shape[-1] = 2
        x = np.reshape(np.arange(4.0), tuple(shape))
        self.assertGreaterEqual(RANK, 32)
        self.assertEqual((x.ndim, list(x.shape)), (RANK, shape))
        for made in (x + x, np.sum(x, axis=(0, 7), keepdims=True) * 2, np.concat([x, x])[1:] * 2, np.flip(np.flip(x)) * 2, np.permute_dims(x.mT, (*range(RANK - 2), RANK - 1, RANK - 2)) * 2):
            self.assertEqual((list(made.shape), np.reshape(made, (-1,)).tolist()), (shape, [0, 2, 4, 6]))
        self.assertEqual(np.broadcast_to(x, tuple(shape[:3] + [2] + shape[4:])).shape, x.shape)
        self.assertEqual(x[(0,) * 3 + (1,) + (0,) * (RANK - 5) + (1,)].item(), 3)
        self.assertEqual(np.reshape(x, (2, 2)).tolist(), [[0, 1], [2, 3]])
        for more in (lambda: np.expand_dims(x, axis=0), lambda: np.reshape(x, (1, *shape)), lambda: np.zeros((1, *shape))):
            with self.assertRaisesRegex(ValueError, "rank|dimensions|axes"):
                np.asarray(more()).tolist()

    def test_diagonals_far_outside(self):
        x = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        for far in (3, 10, 2 ** 62, 2 ** 63, 2 ** 100):
            for k in (far, -far):
                self.assertEqual(np.eye(2, 3, k=k).tolist(), [[0.0] * 3] * 2)
                self.assertEqual((np.tril(x, k=k).tolist(), np.triu(x, k=-k).tolist()), ((x if k > 0 else x * 0).tolist(),) * 2)
                self.assertEqual((np.linalg.diagonal(x, offset=k).shape, np.linalg.trace(x, offset=k).item()), ((0,), 0.0))

    def test_tolerances_of_matrices_in_a_batch(self):
        x = np.asarray([[[1.0, 0.0], [0.0, 1e-3]]] * 3)
        self.assertEqual(np.linalg.matrix_rank(x, rtol=np.asarray([1e-4, 1e-2, 2.0])).tolist(), [2, 1, 0])
        self.assertEqual(np.linalg.pinv(x, rtol=np.asarray([1e-4, 1e-2, 2.0]))[:, 1, 1].tolist(), [1000, 0, 0])
        self.assertEqual(np.linalg.pinv(np.asarray([[1.0, 0.0], [0.0, 1e-16]]), rtol=None)[1, 1].item(), 0)
        self.assertNotEqual(np.linalg.pinv(np.asarray([[1.0, 0.0], [0.0, 2e-15]]))[1, 1].item(), 0)


RANK = np.__array_namespace_info__().capabilities()["max dimensions"]
NAME = ctypes.pythonapi.PyCapsule_GetName
NAME.restype, NAME.argtypes = ctypes.c_char_p, [ctypes.py_object]
POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("array", Array)]


class DLPack(unittest.TestCase):
    READ_ONLY, COPIED = 1, 2

    def test_capsules_are_of_the_version_that_the_consumer_knows(self):
        x = np.ones((2, 3))
        for version, wanted in ((None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"), ((1, 3), b"dltensor_versioned"), ((2, 0), b"dltensor_versioned")):
            self.assertEqual(NAME(x.__dlpack__(max_version=version)), wanted, version)
        self.assertEqual(NAME(x.__dlpack__()), b"dltensor")
        self.assertEqual(x.__dlpack_device__(), (1, 0))

    def test_what_capsules_hold(self):
        codes = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
        for dtype in (np.bool, *INTEGERS, np.float16, *FLOATS, *COMPLEX, np.bfloat16):
            x = np.ones((2, 3, 1), dtype)
            for copy in (None, False, True):
                capsule = x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=copy)
                made = Versioned.from_address(POINTER(capsule, b"dltensor_versioned"))
                array = made.array
                self.assertEqual((made.major, made.flags), (1, self.COPIED if copy else self.READ_ONLY))
                self.assertEqual((array.device, array.device_id, array.ndim, array.byte_offset, array.lanes), (1, 0, 3, 0, 1))
                self.assertEqual((array.code, array.bits), (4 if dtype == np.bfloat16 else codes[dtype.kind], 8 * dtype.itemsize), dtype)
                self.assertEqual((array.shape[:3], array.strides[:3]), ([2, 3, 1], [3, 1, 1]))
                self.assertEqual(ctypes.string_at(array.data, x.nbytes), x.tobytes() if dtype != np.bfloat16 else b"\x80\x3f" * 6)
                shared = Versioned.from_address(POINTER(keep := x.__dlpack__(max_version=(1, 0)), b"dltensor_versioned")).array.data
                self.assertEqual(array.data == shared, not copy)
                del keep

    def test_memory_outlives_the_array(self):
        x = np.arange(100000.0)
        capsule = x.__dlpack__(max_version=(1, 0))
        made = Versioned.from_address(POINTER(capsule, b"dltensor_versioned"))
        del x
        self.assertEqual(ctypes.string_at(made.array.data + 8 * 99999, 8), np.asarray([99999.0]).tobytes())

    def test_refusals(self):
        x = np.ones(2)
        for options, message in (({"dl_device": (2, 0)}, "dl_device"), ({"stream": 1}, "stream=None")):
            with self.assertRaisesRegex(BufferError, message):
                x.__dlpack__(**options)
        with self.assertRaisesRegex(TypeError, "max_version takes None or a tuple of two integers, not 1"):
            x.__dlpack__(max_version=1)
        with self.assertRaises(TypeError):
            x.__dlpack__(None)
        with self.assertRaisesRegex(BufferError, "astype"):
            minnow.Var([1, 2], "int4").__dlpack__()

    def test_from_dlpack(self):
        x = np.arange(6.0)
        for copy in (None, False, True):
            self.assertEqual(np.from_dlpack(x, device="cpu", copy=copy).tolist(), x.tolist())
        with self.assertRaises(AttributeError):
            np.from_dlpack([1, 2])

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_exchange_with_numpy(self):
        x = np.arange(6.0).reshape(2, 3).evaluate()
        theirs = numpy.from_dlpack(x)
        self.assertEqual((theirs.tolist(), theirs.flags.writeable), (x.tolist(), False))
        copied = numpy.from_dlpack(x, copy=True)
        copied[0, 0] = 7
        self.assertEqual(x[0, 0].item(), 0)
        array = numpy.arange(12.0).reshape(3, 4)
        self.assertEqual(np.from_dlpack(array, copy=False).tolist(), array.tolist())
        with self.assertRaisesRegex(BufferError, "not in row-major order"):
            np.from_dlpack(array.T, copy=False)
        self.assertEqual(np.from_dlpack(array.T).tolist(), array.T.tolist())


if __name__ == "__main__":
    unittest.main()
