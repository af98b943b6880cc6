# SPDX-License-Identifier: Apache-2.0
"""Conversion, inspection and comparison of models; the command `minnow` does the same and more."""
from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Any, Mapping, NamedTuple, Sequence

from minnow import _minnow
from minnow._files import ModelPath, paths_of
from minnow._minnow import InvalidArgument, Var


class _Progress:
    """A line with the seconds so far, on a terminal, for what takes longer than one."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()

    def _show(self) -> None:
        start = time.monotonic()
        while not self._done.wait(1):
            sys.stderr.write(f"\r{self._what} ... {time.monotonic() - start:.0f} s")
            sys.stderr.flush()
        if time.monotonic() - start >= 1:
            sys.stderr.write("\r\033[K")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()


def convert(source: ModelPath, destination: str | os.PathLike[str], *, optimize: str = "standard",
            shapes: Mapping[str, Sequence[int]] | None = None, rename: Mapping[str, str] | None = None, signature: str = "", verify: bool = False,
            external_data: bool = False, opset: int = 0) -> None:
    """Writes a model of any format that Minnow reads as a .minnow file, or as ONNX where the destination ends in ".onnx".

    source: a file, a SavedModel's folder, or several files where a format has several. optimize: "standard", "none" or "train".
    shapes: dimensions of inputs that are fixed (-1: stays open). rename: new names of inputs and outputs. signature: of a SavedModel.
    verify: runs the graph before and after optimization on random inputs, and raises where they differ.
    """
    paths = paths_of(source)
    with _Progress(f"converting {paths[0]}"):
        model = _minnow.read_model(paths, optimize, {name: list(dims) for name, dims in (shapes or {}).items()}, dict(rename or {}), signature, verify)
        _minnow.write_model(model, os.fspath(destination), external_data, opset)


class Node(NamedTuple):
    name: str
    op: str
    inputs: list[str]
    outputs: list[str]


class Inspection(NamedTuple):
    """What a model is made of."""
    inputs: list[Any]  #: name, dtype, shape, type
    outputs: list[Any]
    nodes: list[Node]
    operators: dict[str, int]  #: how many nodes of each
    weight_bytes: int
    properties: dict[str, str]

    def __str__(self) -> str:
        lines = [f"input  {row.name}: {row.type}" for row in self.inputs] + [f"output {row.name}: {row.type}" for row in self.outputs]
        lines.append(f"{len(self.nodes)} nodes, {self.weight_bytes} bytes of weights")
        lines += [f"{count:6} {name}" for name, count in self.operators.items()]
        return "\n".join(lines)


def inspect(source: ModelPath, *, optimize: str = "standard") -> Inspection:
    """Inputs, outputs, nodes and weights of a model, as they are after optimization ("none": as they are in the file)."""
    from minnow.nn import Description
    model = _minnow.read_model(paths_of(source), optimize, {}, {}, "", False)
    nodes = [Node(*row) for row in model.nodes]
    counts = dict(Counter(node.op for node in nodes).most_common())
    return Inspection([Description(*row) for row in model.inputs], [Description(*row) for row in model.outputs], nodes, counts, model.weight_bytes,
                      model.properties)


class Difference(NamedTuple):
    """One tensor in two models."""
    name: str
    largest: float  #: largest difference of two elements
    scale: float  #: largest element of the first model's tensor


def compare(first: ModelPath, second: ModelPath, inputs: Mapping[str, Any]) -> list[Difference]:
    """Runs two models on the same inputs: the differences of all tensors of the same name, in the first model's order."""
    models = [_minnow.read_model(paths_of(path), "none", {}, {}, "", False) for path in (first, second)]
    missing = sorted({row[0] for model in models for row in model.inputs} - set(inputs))
    if missing:
        raise InvalidArgument(f"the models have inputs that no value is given for: {', '.join(missing)}")
    from minnow import numpy as np
    names = [[output for row in model.nodes for output in row[3] if output] for model in models]
    common = [name for name in dict.fromkeys(names[0]) if name in set(names[1])]
    if not common:
        raise InvalidArgument(f"{first} and {second} have no tensor of the same name")
    results = []
    for model in models:
        module = _minnow.load_module(model, [row[0] for row in model.inputs], common, 0, "normal", "normal", ["cpu"], 0, 0.0)
        results.append(module([inputs[row[0]] for row in model.inputs]))
    rows = []
    for name, a, b in zip(common, *results):
        if not (isinstance(a, Var) and isinstance(b, Var)) or a.dtype.kind not in "biuf" or a.size == 0:
            continue
        if a.shape != b.shape:
            raise InvalidArgument(f'the tensor "{name}" has the shape {a.shape} in one model and {b.shape} in the other')
        x, y = a.astype("float64"), b.astype("float64")
        rows.append(Difference(name, float(np.max(np.abs(x - y))), float(np.max(np.abs(x)))))
    return rows


__all__ = ["convert", "inspect", "compare", "Node", "Inspection", "Difference"]
