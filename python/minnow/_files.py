# SPDX-License-Identifier: Apache-2.0
"""Model files as users name them, and reading them."""
from __future__ import annotations

import os
import sys
import warnings
from typing import Callable, Mapping, NamedTuple, Sequence, Union

from minnow import _minnow
from minnow._minnow import InvalidArgument, InvalidType

#: A file, a SavedModel's folder, several files where a format has several (Caffe: .prototxt and .caffemodel), or the bytes of a file.
ModelPath = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], bytes, bytearray, memoryview]


def paths_of(source: ModelPath) -> list[str]:
    parts = source if isinstance(source, (list, tuple)) else [source]
    try:
        return [os.fspath(part) for part in parts]
    except TypeError:
        raise InvalidType(f"a model is a path, a list of paths, or the bytes of a file, not {source!r:.100}") from None


def label_of(source: ModelPath) -> str:
    """What to call a model in a line of progress."""
    return f"{len(source)} bytes" if isinstance(source, (bytes, bytearray, memoryview)) else os.path.basename(paths_of(source)[0])


def path_of(path: str | os.PathLike[str]) -> str:
    try:
        return os.fspath(path)
    except TypeError:
        raise InvalidType(f"a file is a path, not {path!r:.60}") from None


class Read(NamedTuple):
    """A model that was read, and what each pass of the optimization changed: "conv_batch_norm: 20 changes"."""
    model: _minnow.ModelData
    passes: list[str]


def read_model(source: ModelPath, optimize: str | None = None, *, shapes: Mapping[str, Sequence[int]] | None = None, rename: Mapping[str, str] | None = None,
               keep_inputs: Sequence[str] = (), labels: Sequence[str] = (), signature: str = "", format: str = "", verify: bool = False,
               progress: Callable[[float], None] | None = None) -> Read:
    """Reads a model of any format. What is read differently than the file says is a UserWarning of the line that calls the public function.

    optimize: None takes a .minnow file as convert() wrote it, and optimizes others by the standard. progress: told the part that is done.
    """
    for what, names in (("keep_inputs", keep_inputs), ("labels", labels)):
        if isinstance(names, str):
            raise InvalidType(f'{what} takes a list of names, not the text "{names}"')
    if isinstance(source, (bytes, bytearray, memoryview)):
        if shapes or rename or keep_inputs or labels or signature or format or verify:
            raise InvalidArgument("the bytes of a model are read with the option optimize alone; give a file")
        return Read(_minnow.read_model_bytes(source, optimize), [])
    model, messages, passes = _minnow.read_model(paths_of(source), optimize, {name: list(dims) for name, dims in (shapes or {}).items()}, dict(rename or {}),
                                                 list(keep_inputs), list(labels), signature, format, verify, progress)
    for message in messages:
        warn(message)
    return Read(model, passes)


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


__all__ = ["ModelPath", "Read", "paths_of", "read_model", "warn"]
