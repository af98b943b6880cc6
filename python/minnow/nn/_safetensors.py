# SPDX-License-Identifier: Apache-2.0
"""Files of named arrays: safetensors, an 8-byte length, a header in JSON and the bytes of the arrays, row-major and little-endian."""
from __future__ import annotations

import json
import os
from typing import Any, Mapping

from minnow import _minnow
from minnow._minnow import InvalidModel, InvalidType, Unsupported, Var
from minnow._typing import VarLike

_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
          "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool"}
_CODES = {value: key for key, value in _NAMES.items()}
_LONGEST_HEADER = 100_000_000
_U16, _BF16 = 4, 16  # ONNX's numbers of dtypes


def _as_u16(value: Var) -> Var:
    """The bits of bfloat16, for which the buffer protocol has no letter."""
    return _minnow.op("BitCast", [value], {"to": _U16}).evaluate()


def _as_bf16(bits: Any) -> Var:
    return _minnow.op("BitCast", [Var(bits)], {"to": _BF16}).evaluate()


def detached(value: Var) -> Var:
    """A constant of the value: without the expression that it came from. Raises InvalidArgument (a ValueError) for a value that depends on a
    placeholder without a value."""
    value = value.evaluate()
    if value.op is None and not value.trainable or not value.size:
        return Var(value, copy=True)
    if str(value.dtype) == "bfloat16":
        return _as_bf16(memoryview(_as_u16(value)))
    return Var(memoryview(value), copy=True)


def save_file(tensors: Mapping[str, VarLike], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays to a .safetensors file; a file of this name is replaced when all bytes are written. Raises InvalidType (a TypeError) for
    metadata that is no text and Unsupported for dtypes that the format does not have, IoError (an OSError) if the file cannot be written.

    >>> nn.save_file({"w": minnow.Var([1.0, 2.0])}, "weights.safetensors")
    >>> nn.load_file("weights.safetensors")["w"]
    Var([1., 2.], shape=(2,), dtype=float64)
    """
    header: dict[str, Any] = {}
    if metadata:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise InvalidType("metadata maps texts to texts")
        header["__metadata__"] = dict(metadata)
    parts, end = [], 0
    for name, given in tensors.items():
        value = given if isinstance(given, Var) else Var(given)
        code = _CODES.get(str(value.dtype))
        if code is None:
            raise Unsupported(f'"{name}" is {value.dtype}, which safetensors files do not have')
        parts.append(value)
        begin, end = end, end + value.nbytes
        header[name] = {"dtype": code, "shape": list(value.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    new = f"{os.fspath(path)}.new{os.getpid()}"
    try:
        with open(new, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for value in parts:
                value = value.evaluate()
                if value.size:
                    file.write(memoryview(_as_u16(value) if str(value.dtype) == "bfloat16" else value).tobytes())
        os.replace(new, path)
    except BaseException:
        if os.path.exists(new):
            os.unlink(new)
        raise


def load_file(path: str | os.PathLike[str]) -> dict[str, Var]:
    """The arrays of a .safetensors file by name. Raises FileNotFoundError or another OSError if it cannot be read, and InvalidModel (a
    ValueError) for a wrong file.

    >>> nn.save_file({"w": minnow.Var([1.0, 2.0])}, "weights.safetensors")
    >>> list(nn.load_file("weights.safetensors"))
    ['w']
    """
    return load_with_metadata(path)[0]


def load_with_metadata(path: str | os.PathLike[str]) -> tuple[dict[str, Var], dict[str, str]]:
    """The arrays and the metadata. Raises the errors of load_file()."""
    from minnow import numpy as np

    def fail(what: str) -> InvalidModel:
        return InvalidModel(f"{os.fspath(path)}: not a safetensors file: {what}")

    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, _LONGEST_HEADER):
        raise fail("the header is cut off")
    try:
        header = json.loads(data[8:8 + length])
    except (ValueError, RecursionError) as error:
        raise fail("the header is no JSON") from error
    if not isinstance(header, dict):
        raise fail("the header is no object")
    body, made = memoryview(data)[8 + length:], {}
    for name, row in header.items():
        if name == "__metadata__":
            continue
        try:
            dtype, shape, (begin, end) = _NAMES[row["dtype"]], tuple(int(size) for size in row["shape"]), row["data_offsets"]
            count = 1
            for size in shape:
                count *= size
            width = _minnow.dtype(dtype).itemsize
            fits = min(shape, default=0) >= 0 and 0 <= begin <= end <= len(body) and end - begin == count * width
        except (KeyError, TypeError, ValueError) as error:
            raise fail(f'the entry of "{name}" is wrong, or of an unknown dtype') from error
        if not fits:
            raise fail(f'the bytes of "{name}" are not where its entry says')
        own = bytes(body[begin:end])
        if count == 0:
            made[name] = np.zeros(shape, dtype)
        elif dtype == "bfloat16":
            made[name] = _as_bf16(np.frombuffer(own, "uint16").reshape(shape))
        else:
            made[name] = np.frombuffer(own, dtype).reshape(shape)
    return made, header.get("__metadata__", {})


__all__ = ["load_file", "save_file"]
