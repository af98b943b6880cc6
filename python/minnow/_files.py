# SPDX-License-Identifier: Apache-2.0
"""Model files as users name them."""
from __future__ import annotations

import os
from typing import Sequence, Union

from minnow._minnow import InvalidType

#: A file, a SavedModel's folder, or several files where a format has several (Caffe: .prototxt and .caffemodel).
ModelPath = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def paths_of(source: ModelPath) -> list[str]:
    parts = source if isinstance(source, (list, tuple)) else [source]
    try:
        return [os.fspath(part) for part in parts]
    except TypeError:
        raise InvalidType(f"a model is a path, or a list of paths, not {source!r}") from None


__all__ = ["ModelPath", "paths_of"]
