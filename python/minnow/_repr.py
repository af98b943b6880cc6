# SPDX-License-Identifier: Apache-2.0
"""How a Var is shown: its numbers as NumPy prints them, character by character."""
from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Optional

from minnow import _minnow
from minnow._minnow import Error, Var

DEFAULTS: dict[str, Any] = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False, "nanstr": "nan", "infstr": "inf", "sign": "-",
                            "floatmode": "maxprec", "formatter": None}
OPTIONS: ContextVar[dict[str, Any]] = ContextVar("printing of arrays", default=DEFAULTS)  # set by minnow.numpy.set_printoptions

_PARTS = {"complex64": "float32", "complex128": "float64"}
_SURE_DIGITS = {"float16": 3, "bfloat16": 2, "float32": 6, "float64": 15}  # of any number with as many, all are kept
_CODES = {"float16": "<e", "float32": "<f"}


_LINES, _CHARACTERS = 40, 4000


def screen(text: str) -> str:
    """Return a text that fits a screen: the beginning and the end of a longer one, with the number of omitted lines."""
    lines = text.split("\n")
    if len(lines) > _LINES:
        kept = _LINES // 2
        lines = [*lines[:kept], f"... ({len(lines) - 2 * kept + 1} lines) ...", *lines[len(lines) - kept + 1:]]
    text = "\n".join(lines)
    if len(text) > _CHARACTERS:
        kept = _CHARACTERS // 2 - 20
        text = f"{text[:kept]} ... ({len(text) - 2 * kept} characters) ... {text[len(text) - kept:]}"
    return text


def of_fields(row: Any) -> str:
    """A NamedTuple as repr() shows it, on one screen."""
    return screen(f"{type(row).__name__}({', '.join(f'{name}={getattr(row, name)!r}' for name in row._fields)})")


def _rounded(value: float, dtype: str) -> float:
    """The nearest number of the dtype; of one too large, infinity."""
    if dtype == "float64":
        return value
    try:
        if dtype == "bfloat16":  # the upper half of a float32
            bits = int.from_bytes(struct.pack("<f", value), "little")
            return float(struct.unpack("<f", ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).to_bytes(4, "little"))[0])
        return float(struct.unpack(_CODES[dtype], struct.pack(_CODES[dtype], value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _scale(text: str) -> tuple[str, int]:
    """Digits without zeros at their ends, and the power of ten of the first, of a positive number's text."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits, power = whole + fraction, len(whole) - 1 + int(exponent or 0)
    kept = digits.lstrip("0")
    return kept.rstrip("0") or "0", power - (len(digits) - len(kept)) if kept else 0


def _shortest(value: float, dtype: str) -> tuple[str, int]:
    """The fewest digits that no other number of the dtype is nearer to."""
    if dtype != "float64":
        for more in range(9):
            text = f"{value:.{more}e}"
            if _rounded(float(text), dtype) == value:
                return _scale(text)
    return _scale(repr(value))


def _positional(value: float, dtype: str, precision: Optional[int], fixed: bool = False) -> str:
    """Format a finite number with a point and at most `precision` digits after it; trailing zeros only if `fixed`."""
    size = abs(value)
    digits, power = _shortest(size, dtype)
    if precision is not None and (fixed or len(digits) - 1 - power > precision):
        text = f"{size:.{precision}f}"
        return (text if "." in text else text + ".") if fixed else text.rstrip("0") if "." in text else text + "."
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    return digits[:power + 1].ljust(power + 1, "0") + "." + digits[power + 1:]


def _scientific(value: float, dtype: str, precision: Optional[int], fixed: bool = False) -> tuple[str, str]:
    """Mantissa and exponent (with its sign) of a finite number."""
    size = abs(value)
    digits, power = _shortest(size, dtype)
    if precision is not None and (fixed or len(digits) - 1 > precision):
        mantissa, exponent = f"{size:.{precision}e}".split("e")
        mantissa = mantissa if "." in mantissa else mantissa + "."
        return mantissa if fixed else mantissa.rstrip("0"), exponent
    return f"{digits[0]}.{digits[1:]}", f"{power:+03d}"


def _floats(values: list[float], dtype: str, options: dict[str, Any], sign: str) -> Callable[[float], str]:
    """Return a function that formats these numbers: decimal points aligned, exponents in all if their sizes differ much."""
    precision, mode = options["precision"], options["floatmode"]
    fixed, equal = mode == "fixed", mode == "maxprec_equal"
    if mode == "unique":
        precision = None
    finite = [value for value in values if math.isfinite(value)]
    sizes = [abs(value) for value in finite if value]

    def signed(value: float, text: str) -> str:
        return ("-" if math.copysign(1, value) < 0 else "+" if sign == "+" else "") + text

    exponents = bool(sizes) and (max(sizes) >= 10.0 ** min(8, _SURE_DIGITS[dtype])
                                 or not options["suppress"] and (min(sizes) < _rounded(0.0001, dtype) or _rounded(max(sizes) / min(sizes), dtype) > 1000))
    before = after = digits = 0
    if exponents:
        pairs = [_scientific(value, dtype, precision, fixed) for value in finite]
        before = max(len(signed(value, mantissa.partition(".")[0])) for value, (mantissa, _) in zip(finite, pairs))
        digits = max(len(mantissa) - 2 for mantissa, _ in pairs)
        width = max(len(exponent) for _, exponent in pairs) - 1
        after = digits + width + 2

        def number(value: float) -> str:
            mantissa, exponent = _scientific(value, dtype, digits, True)
            return signed(value, mantissa + "e" + exponent[0] + exponent[1:].rjust(width, "0")).rjust(before + 1 + after)
    else:
        texts = [signed(value, _positional(value, dtype, precision, fixed)).split(".") for value in finite]
        before, after = (max((len(text[part]) for text in texts), default=0) for part in (0, 1))

        def number(value: float) -> str:
            whole, fraction = signed(value, _positional(value, dtype, after if equal else precision, fixed or equal)).split(".")
            return whole.rjust(before) + "." + fraction.ljust(after)
    if sign == " " and all(math.copysign(1, value) > 0 for value in finite):
        before += 1
    if len(finite) < len(values):
        negative = sign != "-" or -math.inf in values
        before = max(before, len(options["nanstr"]) - after - 1, len(options["infstr"]) + negative - after - 1)

    def text_of_one(value: float) -> str:
        if math.isfinite(value):
            return number(value)
        text = ("+" if sign == "+" else "") + options["nanstr"] if math.isnan(value) else ("-" if value < 0 else "+" if sign == "+" else "") + options["infstr"]
        return text.rjust(before + after + 1)
    return text_of_one


def _writer(values: list[Any], dtype: str, kind: str, options: dict[str, Any]) -> Callable[[Any], str]:
    """Return a function that formats one element of an array with these values."""
    names = {"b": ("bool",), "f": ("float", "float_kind"), "c": ("complexfloat", "complex_kind")}.get(kind, ("int", "int_kind"))
    for name in ("all", *names) if options["formatter"] else ():
        if options["formatter"].get(name) is not None:
            return options["formatter"][name]  # type: ignore[no-any-return]
    if kind == "b":
        return lambda value: str(value).rjust(5)
    if kind == "f":
        return _floats(values, dtype, options, options["sign"])
    if kind == "c":
        real = _floats([value.real for value in values], _PARTS[dtype], options, options["sign"])
        imag = _floats([value.imag for value in values], _PARTS[dtype], options, "+")

        def both(value: complex) -> str:
            text = imag(value.imag)
            kept = text.rstrip()
            return real(value.real) + kept + "j" + text[len(kept):]
        return both
    sign = "-" if options["sign"] == " " and values and min(values) < 0 else options["sign"]
    width = max((len(f"{value:{sign}}") for value in (max(values), min(values)))) if values else 0
    return lambda value: f"{value:{sign}}".rjust(width)


def _shown(x: Var, edge: int) -> Any:
    """Return nested lists of the elements to show; None stands for omitted ones. edge: 0 for all."""
    if not edge or x.ndim == 0:
        return x.tolist()
    length = x.shape[0]
    if length <= 2 * edge:
        return x.tolist() if x.ndim == 1 else [_shown(x[i], edge) for i in range(length)]
    if x.ndim == 1:
        return x[:edge].tolist() + [None] + x[length - edge:].tolist()
    return [_shown(x[i], edge) for i in range(edge)] + [None] + [_shown(x[i], edge) for i in range(length - edge, length)]


def _flat(rows: Any) -> Iterator[Any]:
    if isinstance(rows, list):
        for row in rows:
            yield from _flat(row)
    elif rows is not None:
        yield rows


def _lines(rows: Any, depth: int, indent: str, width: int, separator: str, write: Callable[[Any], str]) -> str:
    """Write rows in brackets, broken at the width; lines after the first are indented."""
    if depth == 1:
        limit, text, line = width - max(len(separator.rstrip()), 1), "", indent
        for i, value in enumerate(rows):
            word = "..." if value is None else write(value)
            if len(line) > len(indent) and len(line) + len(word) > limit:
                text, line = text + line.rstrip() + "\n", indent
            line += word if i == len(rows) - 1 else word + separator
        text += line
    else:
        text = (separator.rstrip() + "\n" * (depth - 1)).join(
            indent + ("..." if row is None else _lines(row, depth - 1, indent + " ", width - 1, separator, write)) for row in rows)
    return "[" + text[len(indent):] + "]"


def scalar_text(value: Any, dtype: str) -> str:
    """Format one number with the fewest digits that distinguish it from the others of its dtype."""
    if isinstance(value, complex) and dtype == "complex64":
        real, imag = ((text[:-2] if text.endswith(".0") else text) for text in (scalar_text(value.real, "float32"), scalar_text(value.imag, "float32")))
        if value.real == 0 and math.copysign(1, value.real) > 0:
            return imag + "j"
        return f"({real}{imag if imag[0] == '-' else '+' + imag}j)"
    if not isinstance(value, float) or dtype == "float64" or not math.isfinite(value):
        return str(value)
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0 or 1e-4 <= abs(value) < 10.0 ** _SURE_DIGITS[dtype]:
        text = _positional(value, dtype, None)
        return sign + (text + "0" if text.endswith(".") else text)
    mantissa, exponent = _scientific(value, dtype, None)
    return f"{sign}{mantissa.rstrip('.')}e{exponent}"


def numbers_of(x: Var, separator: str = " ", prefix: str = "", suffix: str = "", **changes: Any) -> str:
    """The elements of an array; changes: of the options for printing."""
    options = {**OPTIONS.get(), **changes}
    if x.size == 0:
        return "[]"
    rows = _shown(x, options["edgeitems"] if x.size > options["threshold"] else 0)
    write = _writer(list(_flat(rows)), x.dtype.name, x.dtype.kind, options)
    if x.ndim == 0:
        return write(rows).lstrip() if x.dtype.kind == "b" else write(rows)
    return _lines(rows, x.ndim, " " * (1 + len(prefix)), options["linewidth"] - len(suffix), separator, write)


def _fitting(x: Var) -> str:
    """The numbers as repr() shows them: as NumPy does, or, where that is more than a screen, fewer."""
    options = OPTIONS.get()
    for changes in ({}, {"threshold": 0, "edgeitems": 3}, {"threshold": 0, "edgeitems": 2}, {"threshold": 0, "edgeitems": 1}):
        edge = changes.get("edgeitems", options["edgeitems"])
        whole = x.size <= changes.get("threshold", options["threshold"])
        if math.prod(dim if whole else min(dim, 2 * edge) for dim in x.shape) > _LINES * 40:  # more numbers than fit, which takes long to find out
            continue
        text = numbers_of(x, ", ", "Var(", ")", **changes)
        if text == screen(text):
            return text
    return "..."


def text_of(x: Var, bare: bool = False) -> str:
    """Return the text of repr(). bare: only the numbers, if there are any, without commas, as NumPy prints them."""
    named = f", name={x.name if len(x.name) <= 60 else x.name[:57] + '...'!r}" if x.name else ""
    if not x.is_tensor:
        return screen(f"Var({x.tolist()!r}{named})")
    shape = x.known_shape if x.dims is None else tuple("?" if dim is None else dim for dim in x.dims)
    shown = "unknown" if shape is None else "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    if x.is_placeholder and not x.is_computed:
        return f"Var(placeholder, shape={shown}, dtype={x.dtype}{named})"
    with _minnow.Trace((), "printing"):
        return _computed_text(x, bare, named, shown)


def _computed_text(x: Var, bare: bool, named: str, shown: str) -> str:
    try:
        x.evaluate()
    except Error as error:  # depends on a placeholder that was given no value, say
        return screen(f"Var(not computed: {error}; shape={shown}, dtype={x.dtype}{named})")
    if bare:
        return scalar_text(x.item(), x.dtype.name) if x.ndim == 0 else numbers_of(x)
    numbers = scalar_text(x.item(), x.dtype.name) if x.ndim == 0 else _fitting(x)
    return f"Var({numbers}, shape={x.shape}, dtype={x.dtype}{named})"
