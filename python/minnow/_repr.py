# SPDX-License-Identifier: Apache-2.0
"""How a Var is shown."""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from minnow._minnow import Error, Var

_MOST = 1000  # elements; of a larger Var the edges are shown
_EDGE = 3
_SINGLE = 9  # digits that tell all numbers of f32 apart


def _number(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    text = format(value, f".{digits}g")
    if digits == _SINGLE:  # the shortest that is the same number
        for fewer in range(6, digits):
            short = format(value, f".{fewer}g")
            if struct.unpack("f", struct.pack("f", float(short)))[0] == value:
                text = short
                break
    return text if any(c in text for c in ".ein") else text + "."


def _rows(x: Var, edges: bool, digits: int) -> Any:
    """Nested lists of texts; None stands for what is left out."""
    if x.ndim == 0:
        return _number(x.item(), digits)
    length = x.shape[0]
    if x.ndim == 1 and not (edges and length > 2 * _EDGE):
        return [_number(value, digits) for value in x.tolist()]
    if not (edges and length > 2 * _EDGE):
        return [_rows(x[i], edges, digits) for i in range(length)]
    return ([_rows(x[i], edges, digits) for i in range(_EDGE)] + [None] + [_rows(x[i], edges, digits) for i in range(length - _EDGE, length)])


def _flat(rows: Any) -> Iterator[str]:
    if isinstance(rows, str):
        yield rows
    elif rows is not None:
        for row in rows:
            yield from _flat(row)


def _aligner(rows: Any) -> Callable[[str], str]:
    """What pads texts to one width, decimal points below each other where all have one."""
    texts = list(_flat(rows))
    finite = [text for text in texts if text not in ("nan", "inf", "-inf")]
    if finite and all("." in text and "e" not in text and "j" not in text for text in finite):
        before, after = (max(map(len, part)) for part in zip(*(text.split(".") for text in finite)))
        before = max([before] + [len(text) - 1 - after for text in texts if "." not in text])

        def pad(text: str) -> str:
            whole, point, fraction = text.partition(".")
            return whole.rjust(before) + point + fraction.ljust(after) if point else text.rjust(before + 1 + after)
        return pad
    width = max(map(len, texts), default=0)
    return lambda text: text.rjust(width)


def _text(rows: Any, pad: Callable[[str], str], indent: int, depth: int, comma: str) -> str:
    if rows is None:
        return "..."
    if isinstance(rows, str):
        return pad(rows)
    if depth == 1:
        parts = [_text(row, pad, indent, 0, comma) for row in rows]
        lines, line = [], ""
        for part in parts:
            if line and indent + len(line) + len(part) + 3 > 100:
                lines.append(line + comma)
                line = part
            else:
                line = line + comma + " " + part if line else part
        return "[" + ("\n" + " " * (indent + 1)).join(lines + [line]) + "]"
    between = comma + "\n" * (depth - 1) + " " * (indent + 1)
    return "[" + between.join(_text(row, pad, indent + 1, depth - 1, comma) for row in rows) + "]"


def _dims(shape: Any) -> str:
    return "unknown" if shape is None else "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def text_of(x: Var, bare: bool = False) -> str:
    """As repr() shows it; bare: the numbers alone, where there are some, without commas, as NumPy prints them."""
    named = f", name={x.name!r}" if x.name else ""
    if not x.is_tensor:
        return f"Var({x.tolist()!r}{named})"
    shape = x.known_shape if x.dims is None else tuple("?" if dim is None else dim for dim in x.dims)
    if x.is_placeholder and not x.is_computed:
        return f"Var(placeholder, shape={_dims(shape)}, dtype={x.dtype}{named})"
    try:
        x.evaluate()
    except Error as error:  # depends on a placeholder that was given no value, say
        return f"Var(not computed: {error}; shape={_dims(shape)}, dtype={x.dtype}{named})"
    digits = {"float64": 8, "float32": _SINGLE, "float16": 4, "bfloat16": 4}.get(x.dtype.name, 4)
    rows = _rows(x, x.size > _MOST, digits)
    if bare:
        return _text(rows, _aligner(rows), 0, x.ndim, "")
    return f"Var({_text(rows, _aligner(rows), 4, x.ndim, ',')}, shape={x.shape}, dtype={x.dtype}{named})"
