# SPDX-License-Identifier: Apache-2.0
"""Model files as users name them, and reading them."""
from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import IO, Any, Callable, Iterator, Mapping, NamedTuple, Protocol, Sequence, Union

from minnow import _minnow
from minnow._arrays import index_of
from minnow._minnow import Error, InvalidArgument, InvalidType


class Readable(Protocol):
    """A part of a package (importlib.resources), or of an archive (zipfile.Path)."""

    def read_bytes(self) -> bytes: ...


#: A file, a SavedModel's folder, the bytes of a file, or a binary file that is open (io.BytesIO, a part of a package).
ModelPart = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], Readable]
#: A model: such a file, or several for formats with several (Caffe: .prototxt and .caffemodel).
ModelPath = Union[ModelPart, Sequence[ModelPart]]

#: How a picture becomes a model's input: keys with their values, or a TOML file of them (docs/vision.md).
Preprocessing = Union[Mapping[str, Union[str, float, Sequence[Union[str, float]]]], str, "os.PathLike[str]"]


def _part_of(source: Any) -> str | bytes:
    """A path, or the bytes of a file."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return os.fsdecode(path)
    if isinstance(source, bytes):
        return source
    if hasattr(source, "read"):
        # A file on disk is mapped, and the files that it refers to are found beside it.
        try:
            if not source.tell() and isinstance(source.name, str) and os.path.samestat(os.stat(source.name), os.fstat(source.fileno())):
                return os.path.abspath(source.name)
        except (AttributeError, OSError, ValueError):
            pass
        data = source.read()
        if isinstance(data, str):
            raise InvalidType("a model's file has to be open in binary mode: open(path, \"rb\")")
        return bytes(data)
    if hasattr(source, "read_bytes"):
        return bytes(source.read_bytes())
    try:
        return bytes(memoryview(source))
    except TypeError:
        raise InvalidType(f"a model is a path, the bytes of a file, a file that is open, or a list of these, not {source!r:.100}") from None


def _parts_of(source: ModelPath) -> list[str | bytes]:
    return [_part_of(part) for part in (source if isinstance(source, (list, tuple)) else [source])]


def label_of(source: ModelPath) -> str:
    """Return a model's name for a line of progress."""
    first = source[0] if isinstance(source, (list, tuple)) and source else source
    if isinstance(first, (str, os.PathLike)):
        return os.path.basename(os.fspath(first))
    return f"{len(first)} bytes" if isinstance(first, (bytes, bytearray, memoryview)) else os.path.basename(str(getattr(first, "name", "a model")))


def path_of(path: str | os.PathLike[str]) -> str:
    try:
        return os.fspath(path)
    except TypeError:
        raise InvalidType(f"a file is a path, not {path!r:.60}") from None


def new_model_path(source: object, destination: str | os.PathLike[str], command: str) -> str:
    """The path of the file that `command` makes of a model: a .minnow or .onnx file other than the model itself."""
    path = path_of(destination)
    if not path.endswith((".minnow", ".onnx")):
        raise InvalidArgument(f"{path}: {command} writes .minnow and .onnx files")
    if isinstance(source, (str, os.PathLike)) and os.path.exists(path) and os.path.samefile(source, path):
        raise InvalidArgument(f"{path}: is the model itself; write the result to another file")
    return path


def dims_of(what: str, dims: Any) -> list[int]:
    """The dimensions of a shape; None, or -1, for one that is open."""
    if isinstance(dims, (str, bytes)) or not hasattr(dims, "__iter__"):
        raise InvalidType(f"{what} is a list of dimensions, integers or None, not {dims!r:.60}")
    return [-1 if dim is None else index_of(dim) for dim in dims]


def shapes_of(shapes: Mapping[str, Any] | None) -> dict[str, list[int]]:
    """Shapes by the input's name."""
    if shapes is not None and not isinstance(shapes, Mapping):
        raise InvalidType(f"shapes takes lists of dimensions by the input's name, not {shapes!r:.60}")
    return {name: dims_of(f'the shape of "{name}"', dims) for name, dims in (shapes or {}).items()}


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], mode: str = "wb", encoding: str | None = None) -> Iterator[Any]:
    """A new file that replaces the old one when it is complete; after an error, or on a full disk, the old one is unchanged."""
    made = _minnow.NewFile(os.fsdecode(path))
    try:
        with open(os.dup(made.descriptor), mode, encoding=encoding) as file:
            yield file
        made.publish()
    finally:
        made.discard()


class Read(NamedTuple):
    """A loaded model, and the changes of each optimization pass: "conv_batch_norm: 20 changes"."""
    model: _minnow.ModelData
    passes: list[str]


def read_model(source: ModelPath, optimize: str | None = None, *, shapes: Mapping[str, Sequence[int | None]] | None = None, rename: Mapping[str, str] | None = None,
               keep_inputs: Sequence[str] = (), labels: Sequence[str] = (), preprocess: Preprocessing | None = None, signature: str = "", format: str = "",
               verify: bool = False, memory_limit: int = 0, progress: Callable[[float], object] | None = None) -> Read:
    """Read a model of any format. A UserWarning at the line that calls the public function tells which parts are read differently than stored.

    optimize: None keeps a .minnow file as convert() wrote it, and optimizes others by the standard. progress: called with the finished part.
    """
    for what, names in (("keep_inputs", keep_inputs), ("labels", labels)):
        if isinstance(names, str):
            raise InvalidType(f'{what} takes a list of names, not the text "{names}"')
    keys, where = _preprocessing(preprocess)
    properties = {f"preprocess.{key}": value for key, value in keys.items()}
    given = (optimize, shapes_of(shapes), dict(rename or {}), list(keep_inputs), list(labels), properties, signature, format, verify, memory_limit, progress)
    parts = _parts_of(source)
    if len(parts) == 1 and isinstance(parts[0], bytes):
        model, messages, passes = _minnow.read_model(parts[0], *given)
    elif any(isinstance(part, bytes) for part in parts):
        model, messages, passes = _read_several(parts, given)
    else:
        model, messages, passes = _minnow.read_model([str(part) for part in parts], *given)
    if keys:
        _minnow.vision.check_preprocessing(model, keys, where)
    for message in messages:
        warn(message)
    return Read(model, passes)


def _preprocessing(given: Preprocessing | None) -> tuple[dict[str, str], str]:
    """The keys of a model's preprocessing as texts, and the beginning of errors about them."""
    if given is None:
        return {}, ""
    if not isinstance(given, Mapping):
        path = path_of(given)
        return _minnow.vision.read_preprocessing(path), f"{path}: "
    keys = {}
    for key, value in given.items():
        items = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(item, (str, int, float)) for item in items):
            raise InvalidType(f"preprocess: {key} is a text, a number or a list of numbers, not {value!r:.80}")
        keys[str(key)] = ", ".join(map(str, items))
    return keys, "preprocess: "


def _read_several(parts: list[str | bytes], given: tuple[Any, ...]) -> Any:
    """Files of a model, some of which are bytes: while they are read, these are stored in a temporary folder."""
    import tempfile
    with tempfile.TemporaryDirectory(prefix="minnow-") as folder:
        paths = []
        for i, part in enumerate(parts):
            if isinstance(part, bytes):
                with open(os.path.join(folder, f"part {i + 1}"), "wb") as file:
                    file.write(part)
                part = file.name
            paths.append(part)
        try:
            return _minnow.read_model(paths, *given)
        except Error as error:
            if folder not in str(error):
                raise
            raise type(error)(str(error).replace(folder + os.sep, "")) from None


def warn(message: str) -> None:
    """A UserWarning of the line that calls the public function."""
    warnings.warn(message, UserWarning, stacklevel=_depth())


def _depth() -> int:
    """How far up the first caller outside of this package is, as the caller of this function counts for warnings."""
    depth = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "minnow":
        frame = frame.f_back
        depth += 1
    return depth


__all__ = ["ModelPart", "ModelPath", "Preprocessing", "Read", "dims_of", "shapes_of", "read_model", "warn"]
