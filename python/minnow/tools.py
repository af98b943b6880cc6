# SPDX-License-Identifier: Apache-2.0
"""Conversion, inspection, comparison, timing and tuning of models, like the commands `minnow convert`, `inspect`, `compare`, `bench`, `profile` and `tune`."""
from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence, Union

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow._files import ModelPath, Preprocessing, dims_of, label_of, new_file, path_of, read_model
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._options import check
from minnow._progress import Callback, Progress
from minnow._repr import of_fields

if TYPE_CHECKING:
    from typing_extensions import Unpack
    from minnow._options import RunOptions
    from minnow.nn import Description, LoadedModule

#: A model's file or files, or a module that was loaded.
ModelLike = Union[ModelPath, "LoadedModule"]


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


class Conversion(NamedTuple):
    """The result of convert()."""
    path: str
    bytes: int
    nodes: int
    weight_bytes: int
    seconds: float
    kept_f32: list[str]  #: a sentence for each layer whose weights stay float32 in a file of 16-bit weights
    passes: list[str]  #: what each pass changed: "conv_batch_norm: 20 changes"

    def __repr__(self) -> str:
        return f"Conversion({self.path!r:.200}: {_nodes(self.nodes)}, {self.bytes} bytes, {self.seconds:.2f} s{f', {len(self.kept_f32)} layers kept float32' if self.kept_f32 else ''})"


def convert(source: ModelPath, destination: str | os.PathLike[str], *, optimize: str = "standard",
            shapes: Mapping[str, Sequence[int | None]] | None = None, rename: Mapping[str, str] | None = None, keep_inputs: Sequence[str] = (),
            labels: Sequence[str] = (), preprocess: Preprocessing | None = None, signature: str = "", format: str = "", verify: bool = False,
            external_data: bool = False, opset: int = 0, weights: str = "f32", compress: bool = False, memory_limit: int = 0, progress: Callback | None = None) -> Conversion:
    """Write a model of any format that Minnow reads as a .minnow file, or as ONNX if the destination ends in ".onnx".

    source: a file, a SavedModel's folder, or several files for formats with several. optimize: "standard", "none" or "train".
    shapes: fixed dimensions of inputs (-1: stays open). rename: new names of inputs and outputs. keep_inputs: initializers that the
    file also lists as inputs and that stay inputs. labels: names of classes, kept in the model. preprocess: how a picture becomes the input, kept in
    the model: keys and values, {"color": "rgb", "mean": 127.5, "scale": "1/127.5"} say, or a TOML file of them (docs/vision.md). signature: of a SavedModel or a TFLite file.
    format: "onnx", "tflite" ..., for a file whose content is not recognized; "" recognizes it by content.
    verify: runs the graph before and after optimization on random inputs, and raises if the results differ.
    external_data, opset: for ONNX files: large constants in a file beside the model; the operator set, 21 to 28 (0: 26, or newer if an operator needs it).
    weights: for .minnow files: the dtype in which the weights of layers are stored, "f32", "f16" or "bf16". compress: stores
    tensors of .minnow files as entropy codes where that saves at least 5 %; they are decoded on load.
    memory_limit: bytes that the conversion may allocate, without verifying; 0: 256 MB, and 16 bytes for each byte of the model's files.
    progress: called with the finished part, from 0 to 1; without it a terminal shows a line.
    A UserWarning tells which parts are read differently than stored. Raises IoError if a file cannot be read or written, InvalidModel (a ValueError)
    for a wrong file, and Unsupported naming all missing operators, or for anything that ONNX cannot express.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> tools.convert("model.onnx", "model.minnow").nodes
    1
    """
    start = time.monotonic()
    path = os.fspath(destination)
    with Progress(f"converting {label_of(source)}", progress) as line:
        model, passes = read_model(source, optimize, shapes=shapes, rename=rename, keep_inputs=keep_inputs, labels=labels, preprocess=preprocess, signature=signature, format=format, verify=verify,
                                   memory_limit=memory_limit, progress=lambda part: line.tell(0.9 * part))
        kept = _minnow.write_model(model, path, external_data, opset, weights, compress)
        line.tell(1.0)
    return Conversion(path, os.path.getsize(path), len(model.nodes), model.weight_bytes, time.monotonic() - start, kept, passes)


class Node(NamedTuple):
    name: str
    op: str
    inputs: list[str]
    outputs: list[str]
    __repr__ = of_fields


class PlanRow(NamedTuple):
    """How one node is computed, and how long it takes."""
    node: str
    op: str
    scheme: str
    backend: str
    shape: str
    layout: str
    owner: str  #: of a node in a subgraph: "loop.body"; empty for the model's own nodes
    depth: int  #: of the subgraph
    output_bytes: int
    scratch_bytes: int
    operations: float  #: arithmetic operations of a run, a multiply-add counting two
    estimate: float  #: seconds that the planner expected
    seconds: float  #: the least of all runs of profile(), else 0
    runs: int
    calls: int  #: in a run
    threads: int  #: that the node runs on; 0: not found yet
    refused: list[str]  #: why other schemes do not serve: "conv.winograd_f4: kernel 1x1 is not 3x3"
    candidates: list[tuple[str, float]]  #: schemes that could serve, with their estimates in seconds
    __repr__ = of_fields


class Inspection(NamedTuple):
    """The parts of a model."""
    inputs: list[Description]
    outputs: list[Description]
    states: list[Description]
    nodes: list[Node]
    operators: dict[str, int]  #: how many nodes of each
    weight_bytes: int
    labels: list[str]
    properties: dict[str, str]
    text: str  #: the graph
    plan: list[PlanRow]  #: where it was asked for
    arena_bytes: int  #: of the plan: memory for all values between operators

    def __str__(self) -> str:
        lines = [f"{kind:6} {row.name}: {row.type}" for kind, rows in (("input", self.inputs), ("output", self.outputs), ("state", self.states)) for row in rows]
        lines.append(f"{_nodes(len(self.nodes))}, {self.weight_bytes} bytes of weights")
        lines += [f"{count:6} {name}" for name, count in self.operators.items()]
        lines += [f"{'  ' * row.depth}{row.node} ({row.op}): {row.scheme}, {row.shape}, {row.estimate * 1e6:.1f} us" for row in self.plan]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(kind, row.name, row.type) for kind, part in (("input", self.inputs), ("output", self.outputs), ("state", self.states)) for row in part]
        return _table(rows) + _table([(str(count), name) for name, count in self.operators.items()])

    def __repr__(self) -> str:
        return f"<Inspection of {_nodes(len(self.nodes))}, {self.weight_bytes} bytes of weights; print() it>"


def _model_of(source: ModelLike, optimize: str | None = None) -> _minnow.ModelData:
    from minnow.nn import LoadedModule
    return source._loaded.model if isinstance(source, LoadedModule) else read_model(source, optimize).model


def _inputs_of(model: _minnow.ModelData, given: Mapping[str, Any] | None, shapes: Mapping[str, Sequence[int]] | None) -> list[Var]:
    """Return a value for each input: the given one, else random numbers (normal, integers 0 or 1). Open dimensions are 1, or those of `shapes`."""
    names = [row[0] for row in model.inputs]
    for what, mapping in (("inputs", given), ("shapes", shapes)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise InvalidType(f"{what} takes values by the input's name, not {mapping!r:.60}")
        for name in mapping or ():
            if name not in names:
                raise InvalidArgument(f'{what}: the model has no input "{name}"{_minnow.nearest(name, names)}')
    from minnow import numpy as np
    values = []
    for i, (name, dtype, declared, kind) in enumerate(model.inputs):
        if given is not None and name in given:
            values.append(np.asarray(given[name], dtype if isinstance(given[name], (int, float, list, tuple)) else None))
            continue
        if dtype is None or (declared is None and name not in (shapes or {})):
            raise InvalidArgument(f'the input "{name}" is {kind}; give it a value, since a random one cannot be made')
        dims = list(dims_of(f'the shape of "{name}"', (shapes or {}).get(name, ())) if declared is None else declared)
        if shapes is not None and name in shapes:
            wanted = dims_of(f'the shape of "{name}"', shapes[name])
            if len(wanted) != len(dims):
                raise InvalidArgument(f'the input "{name}" is {kind}; shapes gives it {len(wanted)} dimensions')
            dims = [dim if size == -1 else size for dim, size in zip(dims, wanted)]
        dims = [dim if isinstance(dim, int) else 1 for dim in dims]
        random = np.random.default_rng(i)
        values.append((random.standard_normal(dims) if dtype.kind in "fc" or dtype == "bfloat16" else random.integers(0, 2, dims)).astype(dtype))
    return values


def inspect(source: ModelLike, *, optimize: str | None = None, plan: bool = False, shapes: Mapping[str, Sequence[int | None]] | None = None,
            **options: Unpack[RunOptions]) -> Inspection:
    """Return inputs, outputs, nodes and weights of a model as load() reads it (with optimize="none": as in the file).

    plan: also shows how each node will be computed, and why not otherwise (runs the model on random inputs). shapes: of inputs with open
    dimensions, which are 1 by default. options: threads, precision, tuning ..., see load().

    Raises the errors of load() if the model cannot be read, and InvalidArgument (a ValueError) for shapes of unknown inputs.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> tools.inspect("model.onnx").operators
    {'Relu': 1}
    """
    check(options, ("optimize", "plan", "shapes"))
    from minnow.nn import Description
    model = _model_of(source, optimize)
    nodes = [Node(*row) for row in model.nodes]
    counts = dict(Counter(node.op for node in nodes).most_common())
    rows: list[PlanRow] = []
    arena = 0
    if plan:
        _, found, arena, _, _ = _minnow.measure(model, _inputs_of(model, None, shapes), 0.0, False, True, dict(options), None)
        rows = [PlanRow(*row) for row in found]
    inputs, outputs, states = ([Description(*row) for row in part] for part in (model.inputs, model.outputs, model.states))
    return Inspection(inputs, outputs, states, nodes, counts, model.weight_bytes, model.labels, model.properties, model.text, rows, arena)


def _check_seconds(seconds: float) -> None:
    if isinstance(seconds, (int, float)) and not 0 < seconds < float("inf"):
        raise InvalidArgument(f"seconds is {seconds}; it is how long to measure, above 0")


class Timing(NamedTuple):
    """Seconds of one run."""
    least: float
    median: float
    mean: float
    runs: int


def bench(source: ModelLike, inputs: Mapping[str, Any] | None = None, *, shapes: Mapping[str, Sequence[int | None]] | None = None, seconds: float = 2.0,
          optimize: str | None = None, progress: Callback | None = None, **options: Unpack[RunOptions]) -> Timing:
    """Measure how fast a model runs here, after a first run that plans. Inputs not in `inputs` are random; shapes: their shapes, if dimensions
    are open (by default 1). progress: see convert(). options: threads, precision, tuning ..., see load().

    Raises the errors of load() if the model cannot be read, and InvalidArgument (a ValueError) for an unknown input or one without a known shape.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> tools.bench("model.onnx", shapes={"x": [8, 2]}, seconds=0.01).median > 0
    True
    """
    check(options, ("inputs", "shapes", "seconds", "optimize", "progress"))
    _check_seconds(seconds)
    model = _model_of(source, optimize)
    with Progress("measuring", progress) as line:
        times, _, _, _, _ = _minnow.measure(model, _inputs_of(model, inputs, shapes), seconds, False, False, dict(options), line.tell)
    ordered = sorted(times)
    return Timing(ordered[0], ordered[len(ordered) // 2], sum(ordered) / len(ordered), len(ordered))


def _table(rows: list[tuple[str, ...]]) -> str:
    """Return a table as HTML for notebooks."""
    import html
    return "<table>" + "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"


class Profile(list[PlanRow]):
    """The nodes, slowest first; those of subgraphs follow their outer node."""

    def __repr__(self) -> str:
        return f"<Profile of {_nodes(len(self))}, {sum(row.seconds for row in self if row.depth == 0) * 1e3:.3g} ms; print() it>"

    def __str__(self) -> str:
        total = sum(row.seconds for row in self if row.depth == 0) or 1.0
        return "\n".join(f"{row.seconds * 1e6:10.1f} us {100 * row.seconds / total:5.1f}%  {'  ' * row.depth}{row.node} ({row.op}, {row.scheme})" for row in self)

    def _repr_html_(self) -> str:
        return _table([(f"{row.seconds * 1e6:.1f} us", row.node, row.op, row.scheme, row.shape) for row in self])


def profile(source: ModelLike, inputs: Mapping[str, Any] | None = None, *, shapes: Mapping[str, Sequence[int | None]] | None = None, seconds: float = 1.0,
            trace: str | os.PathLike[str] | None = None, optimize: str | None = None, progress: Callback | None = None, **options: Unpack[RunOptions]) -> Profile:
    """Measure the time of each node of a model. trace: a file for the last run, to be opened in chrome://tracing or Perfetto. For the others see bench().

    Raises the errors of bench(), and an OSError if the trace cannot be written.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> [row.op for row in tools.profile("model.onnx", shapes={"x": [8, 2]}, seconds=0.01)]
    ['Relu']
    """
    check(options, ("inputs", "shapes", "seconds", "trace", "optimize", "progress"))
    _check_seconds(seconds)
    if trace is not None:
        _minnow.check_replaceable(os.fspath(trace), '{"traceEvents":[', "a trace")
    model = _model_of(source, optimize)
    with Progress("measuring", progress) as line:
        _, found, _, _, text = _minnow.measure(model, _inputs_of(model, inputs, shapes), seconds, True, False, dict(options), line.tell)
    if trace is not None:
        with new_file(trace, "w", "utf-8") as file:
            file.write(text)
    groups: list[list[PlanRow]] = []
    for row in (PlanRow(*row) for row in found):
        if row.depth == 0 or not groups:
            groups.append([])
        groups[-1].append(row)
    return Profile(row for group in sorted(groups, key=lambda group: -group[0].seconds) for row in group)


class Tuning(NamedTuple):
    """The result of tune(), which it also writes to a file."""
    path: str
    threads: int  #: of the fastest run
    times: list[tuple[str, str, float]]  #: node and its shape, scheme, seconds; none where choosing by them was no faster than by estimates
    by_estimate: float  #: seconds of a run
    tuned: float
    seconds: float  #: that measuring took
    active_wait: float = -1  #: seconds that threads wait actively for more work; -1: as they do. This one and the next two where power is given
    pin_threads: bool = False  #: each thread stays on one core
    cores: Sequence[int] = ()  #: that threads use; none: all

    def __repr__(self) -> str:
        return f"Tuning({self.path!r:.200}: a run takes {self.by_estimate * 1e3:.3g} ms by estimates, {self.tuned * 1e3:.3g} ms tuned, on {self.threads} thread{'s' * (self.threads != 1)})"


def tune(source: ModelLike, file: str | os.PathLike[str], inputs: Mapping[str, Any] | None = None, *, shapes: Mapping[str, Sequence[int | None]] | None = None,
         seconds: float = 5.0, optimize: str | None = None, progress: Callback | None = None, **options: Unpack[RunOptions]) -> Tuning:
    """Measure which ways to compute a model are fastest here, and store them in a file, which load(path, tuning=file) uses.

    The file applies to models loaded with the same options on the same machine, in the same version of Minnow; otherwise a UserWarning
    says that it does not apply. One file holds any number of models, shapes and machines. For inputs see bench(); tune each set of shapes that
    matters. With threads=0 it also finds the best number of threads, and with power= their cores, and how long they should wait
    actively, as that mode allows. progress: see convert(). Measure while the machine is otherwise idle.

    Raises the errors of bench(), and IoError if the file cannot be written.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> tools.tune("model.onnx", "times.tuning", shapes={"x": [8, 2]}).path
    'times.tuning'
    """
    check(options, ("inputs", "shapes", "seconds", "optimize", "progress"))
    _check_seconds(seconds)
    if options.get("tuning") is not None:
        raise InvalidArgument("tune() writes a tuning file and takes none")
    model, path = _model_of(source, optimize), path_of(file)
    start = time.monotonic()
    values = _inputs_of(model, inputs, shapes)
    with Progress("tuning", progress) as line:
        threads, times, by_estimate, tuned, *place = _minnow.tune(model, values, path, seconds, dict(options), line.tell)
    return Tuning(path, threads, times, by_estimate, tuned, time.monotonic() - start, *place)


class Difference(NamedTuple):
    """One tensor in two models."""
    name: str
    largest: float  #: largest difference of two elements
    scale: float  #: largest element of the first model's tensor


class Differences(list[Difference]):
    """Those of all tensors, in the first model's order."""

    def __str__(self) -> str:
        return "\n".join(f"{row.largest:12.6g} of {row.scale:12.6g}  {row.name}" for row in self)

    def __repr__(self) -> str:
        worst = max(self, key=lambda row: row.largest / (row.scale or 1), default=None)
        return f"<Differences of {len(self)} tensor{'s' * (len(self) != 1)}{'' if worst is None else f', at most {worst.largest:.3g} of {worst.scale:.3g} in {worst.name:.60}'}; print() it>"


def compare(first: ModelPath, second: ModelPath | Mapping[str, Any], inputs: Mapping[str, Any] | None = None, *, shapes: Mapping[str, Sequence[int | None]] | None = None,
            optimize: str = "none", other_backend: str | None = None, other: RunOptions | None = None, **options: Unpack[RunOptions]) -> Differences:
    """Run two models on the same inputs and return the differences of all tensors with the same name, in the first model's order.

    second: a model, or tensors computed elsewhere, by name. inputs: those not given are random, with `shapes` for open dimensions (by
    default 1). optimize: "none" keeps the names of all tensors. other: options that differ for the second model: {"precision": "low"}.
    other_backend: the same for the backend ("reference", say). options: see load().

    Raises the errors of bench(), and InvalidArgument (a ValueError) if no tensors have the same name, or if such tensors differ in shape.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> minnow.convert("model.onnx", "model.minnow").path
    'model.minnow'
    >>> [row.largest for row in tools.compare("model.onnx", "model.minnow", shapes={"x": [8, 2]})]
    [0.0]
    """
    check(options, ("inputs", "shapes", "optimize", "other_backend", "other"))
    if other is not None and not isinstance(other, Mapping):
        raise InvalidType(f"other takes options by their names, not {other!r:.60}")
    tensors = dict(second) if isinstance(second, Mapping) else None
    models = [read_model(path, optimize).model for path in ([first] if tensors is not None else [first, second])]  # type: ignore[list-item]
    wanted = {row[0] for model in models for row in model.inputs}
    unknown = sorted(set(inputs or {}) - wanted)
    if unknown:
        raise InvalidArgument(f'the models have no input "{unknown[0]}"{_minnow.nearest(unknown[0], sorted(wanted))}')
    values = dict(inputs or {})
    for model in models:
        own = {row[0] for row in model.inputs}
        found = _inputs_of(model, {name: value for name, value in values.items() if name in own}, {name: dims for name, dims in (shapes or {}).items() if name in own})
        values.update({row[0]: value for row, value in zip(model.inputs, found)})
    from minnow import numpy as np
    names = [[output for row in model.nodes for output in row[3] if output] for model in models]
    others = set(tensors if tensors is not None else names[1])
    common = [name for name in dict.fromkeys(names[0]) if name in others]
    if not common:
        raise InvalidArgument(f"{first} and {'the tensors' if tensors is not None else second} have no tensor of the same name")
    results = []
    for i, model in enumerate(models):
        module = _minnow.load_module(model, [row[0] for row in model.inputs], common, {**options, **({"backend": other_backend} if i and other_backend else {}), **((other or {}) if i else {})})
        results.append(module([values[row[0]] for row in model.inputs]))
    if tensors is not None:
        results.append([np.asarray(tensors[name]) for name in common])
    rows = Differences()
    for name, a, b in zip(common, *results):
        if not (isinstance(a, Var) and isinstance(b, Var)) or a.dtype.kind not in "biuf" or a.size == 0:
            continue
        if a.shape != b.shape:
            raise InvalidArgument(f'the tensor "{name}" has the shape {a.shape} in one model and {b.shape} in the other')
        x, y = a.astype("float64"), b.astype("float64")
        rows.append(Difference(name, float(np.max(np.abs(x - y))), float(np.max(np.abs(x)))))
    return rows


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module 'minnow.tools' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))

__all__ = ["convert", "inspect", "compare", "bench", "profile", "tune", "Conversion", "Node", "PlanRow", "Inspection", "Timing", "Profile", "Tuning", "Difference", "Differences", "ModelLike"]

all_suggesting(globals(), __all__)
