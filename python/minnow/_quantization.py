# SPDX-License-Identifier: Apache-2.0
"""Quantization of trained models, like the command `minnow quantize`; the engine's library does the work (src/compress)."""
from __future__ import annotations

import os
import time
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Union

from minnow import _minnow
from minnow._files import ModelPath, label_of, new_file, new_model_path, path_of, read_model
from minnow._minnow import InvalidArgument, InvalidType
from minnow._progress import Callback, Progress
from minnow._repr import of_fields

#: A path; an array, or arrays by the names of inputs, whose first axis counts samples; or samples, each an array or a list of one for each input.
Samples = Union[str, "os.PathLike[str]", Mapping[str, Any], Iterable[Any]]


class QuantizedLayer(NamedTuple):
    """A convolution or product, and how close it is to the f32 model."""
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
    bytes: int  #: of all constants
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
    reached: bool  #: False if no choice of a search reaches its aims; then the nearest is written

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


def quantize(source: ModelPath, destination: str | os.PathLike[str], calibration: Samples | None = None, *, evaluation: Samples | None = None,
             method: str | None = None, recipe: str | os.PathLike[str] | None = None, search: bool = False, max_drop: float | None = None,
             max_size: int | str | None = None, min_sqnr: float | None = None, skip: Sequence[str] = (), html: str | os.PathLike[str] | None = None, compress: bool = False, progress: Callback | None = None,
             **options: object) -> Quantization:
    """See minnow.quantize."""
    start = time.monotonic()
    path = new_model_path(source, destination, "quantize")
    if isinstance(skip, str):
        raise InvalidType(f'skip takes a list of names, not the text "{skip}"')
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    if method is not None:
        texts["method"] = method
    if skip:
        texts["skip"] = ", ".join(skip)
    name = label_of(source)
    with Progress(f"quantizing {name}", progress) as line:
        model, _ = read_model(source)
        names = [row[0] for row in model.inputs]
        given = None if calibration is None else _samples(calibration, names)
        others = None if evaluation is None else _samples(evaluation, names)
        aims = (max_drop, min_sqnr, None if max_size is None else str(max_size))
        fast, plain, layers, outputs, *counts, page, candidates, reached = _minnow.quantize(
            model, given, others, texts, name, line.tell, None if recipe is None else path_of(recipe), aims, search, path.endswith(".onnx"))
        _minnow.write_model(plain if path.endswith(".onnx") else fast, path, False, 0, "f32", compress)
    if html is not None:
        with new_file(html, "w", encoding="utf-8") as file:
            file.write(page)
    return Quantization(path, os.path.getsize(path), [QuantizedLayer(*row) for row in layers], [QuantizedOutput(*row) for row in outputs], *counts,
                        time.monotonic() - start, [QuantizationCandidate(*row) for row in candidates], reached)


__all__ = ["Quantization", "QuantizationCandidate", "QuantizedLayer", "QuantizedOutput", "Samples", "quantize"]
