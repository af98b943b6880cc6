# SPDX-License-Identifier: Apache-2.0
"""Pruning of trained models, like the command `minnow prune`; the engine's library does the work (src/compress)."""
from __future__ import annotations

import os
import time
from typing import NamedTuple

from minnow import _minnow
from minnow._files import ModelPath, new_model_path, read_model
from minnow._quantization import Samples, _samples


class Pruning(NamedTuple):
    """The result of prune()."""
    path: str
    bytes: int
    steps: list[str]  #: a sentence for each
    seconds: float


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def prune(source: ModelPath, destination: str | os.PathLike[str], *, calibration: Samples | None = None, **options: object) -> Pruning:
    """See minnow.prune."""
    start = time.monotonic()
    path = new_model_path(source, destination, "prune")
    model, _ = read_model(source)
    given = None if calibration is None else _samples(calibration, [row[0] for row in model.inputs])
    fast, plain, sentences = _minnow.prune(model, {name: _text(value) for name, value in options.items()}, given)
    _minnow.write_model(plain if path.endswith(".onnx") else fast, path, False, 0, "f32")
    return Pruning(path, os.path.getsize(path), sentences, time.monotonic() - start)


__all__ = ["Pruning", "prune"]
