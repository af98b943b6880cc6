# SPDX-License-Identifier: Apache-2.0
"""Quantization of trained models, like the command `minnow quantize`; the engine's library does the work (src/compress)."""
from __future__ import annotations

import os
import time
import warnings
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Union

from minnow import _minnow
from minnow._files import ModelPath, label_of, new_file, new_model_path, path_of, read_model
from minnow._minnow import InvalidArgument, InvalidType
from minnow._progress import Callback, Progress
from minnow._repr import of_fields

#: A path; an array, or arrays by the names of inputs, whose first axis counts samples; or samples, each an array or a list of one for each input.
Samples = Union[str, "os.PathLike[str]", Mapping[str, Any], Iterable[Any]]


class QuantizedLayer(NamedTuple):
    """A node that multiplies, and how close it is to the f32 model."""
    node: str
    op: str
    output: str  #: the tensor that sqnr and cosine tell of
    refusal: str  #: why it stays f32; "" if it is quantized
    sqnr: float  #: decibels, errors of earlier layers included
    cosine: float
    weights_sqnr: float
    low: float  #: range of the output
    high: float
    clipped: float  #: part of the numbers beyond the range
    bytes_before: int
    bytes_after: int
    weight_bits: int  #: of a weight; 32 if it stays f32
    operations: float  #: of a run of the first sample, a multiply-add counting two
    seconds_before: float = 0  #: of such a run, estimated for this machine; 0 if not known
    seconds_after: float = 0
    __repr__ = of_fields


class QuantizedOutput(NamedTuple):
    """An output of the quantized model beside that of the f32 model."""
    name: str
    sqnr: float
    cosine: float
    agreement: float | None  #: part of the rows with the same best class; None if the output is no row of scores
    __repr__ = of_fields


class QuantizationCandidate(NamedTuple):
    """A choice of layers, or of their bits, that a search tried."""
    bytes: int  #: of the file
    sqnr: float  #: of the worst output
    agreement: float | None  #: of the worst output that is a row of scores
    f32: list[str]  #: nodes that stay float32
    bits: dict[str, int]  #: with weights_only: of the other nodes
    best: bool  #: no other is both smaller and closer
    chosen: bool
    __repr__ = of_fields


class Quantization(NamedTuple):
    """The result of quantize()."""
    path: str
    bytes: int
    layers: list[QuantizedLayer]
    outputs: list[QuantizedOutput]
    samples: int
    evaluated: int
    weight_bytes_before: int
    weight_bytes_after: int
    seconds: float
    candidates: list[QuantizationCandidate]  #: of a search (max_drop, max_size or search), the smallest first
    reached: bool  #: False if the model that was written misses an aim (min_sqnr, min_agreement, max_drop, max_size)
    missed: str = ""  #: which aims, and by how much

    def __repr__(self) -> str:
        integers = sum(not layer.refusal for layer in self.layers)
        return f"Quantization({self.path!r:.200}: {integers} of {len(self.layers)} layers, {self.bytes} bytes, {self.seconds:.2f} s)"


def _samples(given: Samples, names: Sequence[str]) -> object:
    if isinstance(given, (str, os.PathLike)):
        return os.fsdecode(given)
    if isinstance(given, Mapping):
        return {str(name): array for name, array in given.items()}
    if hasattr(given, "shape"):
        return {names[0] if len(names) == 1 else "": given}
    if not hasattr(given, "__iter__"):
        raise InvalidType(f"samples are a path, an array, arrays by name, or a list of samples, not {given!r:.60}")
    rows = []
    for sample in given:
        if isinstance(sample, Mapping):
            missing = [name for name in names if name not in sample]
            if missing:
                raise InvalidArgument(f'sample {len(rows)}: nothing is given for input "{missing[0]}"')
            sample = [sample[name] for name in names]
        if not hasattr(sample, "shape") and not hasattr(sample, "__iter__"):
            raise InvalidType(f"sample {len(rows)}: an array, a list of arrays or arrays by name is expected, not {sample!r:.60}")
        rows.append([sample] if hasattr(sample, "shape") else list(sample))
    return rows


def _text(name: str, value: object) -> str:
    """An option as recipes write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if name == "shape":
        shapes = value.items() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) and not all(isinstance(dim, int) for dim in value) else [value]
        return ", ".join(f"{one[0]}={_sides(one[1])}" if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) else _sides(one) for one in shapes)
    if name == "size":
        return _sides(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return ", ".join(str(one) for one in (value.tolist() if hasattr(value, "tolist") else value))
    return str(value)


def _sides(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return f"{value}x{value}" if isinstance(value, int) else str(value)


def quantize(source: ModelPath, destination: str | os.PathLike[str], calibration: Samples | None = None, *, evaluation: Samples | None = None,
             recipe: str | os.PathLike[str] | None = None, search: bool = False, skip: Sequence[str] = (), html: str | os.PathLike[str] | None = None,
             progress: Callback | None = None, **options: object) -> Quantization:
    """See minnow.quantize."""
    start = time.monotonic()
    path = new_model_path(source, destination, "quantize")
    if isinstance(skip, str):
        raise InvalidType(f'skip takes a list of names, not the text "{skip}"')
    if search:
        options["auto"] = True
    if skip:
        options["skip"] = list(skip)
    texts = {name: _text(name, value) for name, value in options.items() if value is not None}
    name = label_of(source)
    with Progress(f"quantizing {name}", progress) as line:
        model, _ = read_model(source)
        names = [row[0] for row in model.inputs]
        given = None if calibration is None else _samples(calibration, names)
        others = None if evaluation is None else _samples(evaluation, names)
        fast, plain, layers, outputs, *counts, page, candidates, missed, notes, own_html, weights, coded = _minnow.quantize(
            model, given, others, texts, name, line.tell, None if recipe is None else path_of(recipe), path)
        _minnow.write_model(plain if path.endswith(".onnx") else fast, path, False, 0, weights, coded)
    if html is not None or own_html:
        with new_file(own_html if html is None else html, "w", encoding="utf-8") as file:
            file.write(page)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return Quantization(path, os.path.getsize(path), [QuantizedLayer(*row) for row in layers], [QuantizedOutput(*row) for row in outputs], *counts,
                        time.monotonic() - start, [QuantizationCandidate(*row) for row in candidates], not missed, missed)


__all__ = ["Quantization", "QuantizationCandidate", "QuantizedLayer", "QuantizedOutput", "Samples", "quantize"]
