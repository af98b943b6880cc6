# SPDX-License-Identifier: Apache-2.0
"""Quantization-aware training: a network that rounds while it is trained, and the integer model of what it learned."""
from __future__ import annotations

import math
import os
import time
import warnings
from typing import Any, Collection, Iterator, NamedTuple, Sequence

from minnow import _minnow, nn
from minnow._files import ModelPath, new_file, path_of, read_model
from minnow._functions import all_suggesting, methods_suggesting
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._progress import Callback
from minnow._quantization import Quantization, QuantizedLayer, QuantizedOutput, Samples, _samples
from minnow._trainable import TrainableModel, _dropped
from minnow._typing import VarLike
from minnow.compress._rounding import _op, along, fake_quantize, fake_quantize_learned, fixed, pact

_SMALLEST = 1e-30  # scales below stand for constants of zero
_FLOAT, _BFLOAT16 = 1, 16  # ONNX's numbers of dtypes


class _Layer(NamedTuple):
    name: str
    weights: str
    axis: int
    scale: str  # of the BatchNormalization that becomes part of the weights
    variance: str
    epsilon: float
    steps: list[float]
    gates: bool  # of an LSTM or GRU: rows of all directions have the steps


class _Values(NamedTuple):
    names: list[str]
    sources: list[str]
    scale: float
    zero: int

    @property
    def name(self) -> str:
        return self.names[0]


def _number(value: float) -> Var:
    return Var(value, "float32")


@methods_suggesting
class QATModule(nn.Module):
    """A network that computes with numbers as integers will round them; prepare_qat() makes it, convert() ends it. Train it like any module.

    Its parameters are those of the network, by their names in the simplified model, and with learned scales NAME.step or NAME.alpha; buffers are
    running means and variances, and ranges NAME.low, NAME.high. Dropout is left out. A step that was recorded (optim.TrainingStep) heeds
    changed switches after its reset().
    """

    def __init__(self, model: _minnow.ModelData, calibration: Any, options: dict[str, str], *, weights: str, activations: str, averaging: float | None,
                 parameters: Sequence[str], constant: Collection[str] = (), progress: Any = None) -> None:
        """See prepare_qat(). constant: names of constants that are no parameters."""
        from minnow._training._networks import _weights
        self._options, self._learned, self._activations, self._averaging = options, weights == "lsq", activations, averaging
        self._most = 2 ** (int(options["weight_bits"]) - 1) - 1
        self._lowest, self._highest = (0, 255) if options["activations"] == "u8" else (-128, 127)
        self._model, layers, values = _minnow.plan_training(model, calibration, options, progress)
        self._layers, self._values = [_Layer(*row) for row in layers], [_Values(*row) for row in values]
        self._group_of = {name: group for group in self._values for name in group.sources}
        self._running = _minnow.running_statistics(self._model)
        _, outputs, known = _minnow.load(self._model)
        found = {name for output in outputs for name in _weights(output)} | {layer.weights for layer in self._layers}
        found -= set(constant)
        trained = _minnow.parameters_of(self._model, parameters)
        self._weights = {name: value for name, value in trained.items() if name in found and name not in self._running}
        # Constants that rounding reads and nobody trains.
        self._others = {name: known[name] for layer in self._layers for name in (layer.weights, layer.scale) if name and name not in self._weights}
        self._normalizations = [inputs[1:3] for _, op, inputs, _ in self._model.nodes if op == "BatchNormalization"]
        self._steps = {f"{layer.weights}.step": _minnow.trainable(Var(layer.steps, "float32"), f"{layer.weights}.step") for layer in self._layers} if self._learned else {}
        self._ranges: dict[str, Var] = {}
        for group in self._values:
            if activations == "lsq":
                self._steps[f"{group.name}.step"] = _minnow.trainable(_number(group.scale), f"{group.name}.step")
            elif activations == "pact":
                self._steps[f"{group.name}.alpha"] = _minnow.trainable(_number(group.scale * self._most_of(group)), f"{group.name}.alpha")
            for source in group.sources:
                low, high = group.scale * (self._lowest - group.zero), group.scale * (self._highest - group.zero)
                for end, value in (("low", low), ("high", high), ("batches", float(group.scale > 0))):
                    self._ranges[f"{source}.{end}"] = _number(value)
        self._observes = self._rounds = True
        self._frozen_norms = False
        self._watched: dict[str, Var] = {}  # values of the last call, of the names that are there

    def _most_of(self, group: _Values) -> int:
        return max(self._highest - group.zero, group.zero - self._lowest)

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        for values in (self._weights, self._steps, self._running, self._ranges):
            for name, value in values.items():
                yield name, value, True

    # Scales: of training and of the integer model alike.

    def _weight(self, layer: _Layer, constants: dict[str, Var]) -> tuple[Var, Var | None]:
        """The weight of a layer with the normalization in it, and the factors that it took in."""
        weight = constants[layer.weights] if layer.weights in constants else self._others[layer.weights]
        if layer.gates:
            return _op("Reshape", weight, Var([-1, weight.shape[-1]], "int64")), None
        if not layer.scale:
            return weight, None
        scale = constants[layer.scale] if layer.scale in constants else self._others[layer.scale]
        factor = fixed(scale / _op("Sqrt", constants[layer.variance] + layer.epsilon))
        factor = along(_op("Where", _op("Less", _op("Abs", factor), _number(1e-12)), _number(1e-12), factor), layer.axis, len(weight.shape))
        return weight * factor, factor

    def _step(self, layer: _Layer, weight: Var) -> Var:
        """The steps between the weights of a layer, a vector or one."""
        if self._learned:
            return _op("Max", self._steps[f"{layer.weights}.step"], _number(1e-12))
        axes = [axis for axis in range(len(weight.shape)) if axis != layer.axis or len(layer.steps) == 1]
        largest = _op("ReduceMax", _op("Abs", fixed(weight)), Var(axes, "int64"), keepdims=0) / float(self._most)
        largest = _op("Cast", _op("Cast", largest, to=_BFLOAT16), to=_FLOAT)  # files store scales of weights in 16 bits
        return _op("Where", _op("Less", largest, _number(_SMALLEST)), _number(1.0), largest)

    def _rounded(self, layer: _Layer, constants: dict[str, Var]) -> Var:
        weight, factor = self._weight(layer, constants)
        step = self._step(layer, weight)
        axis = layer.axis if len(layer.steps) > 1 else None
        if self._learned:
            each = math.prod(weight.shape) // len(layer.steps)
            rounded = fake_quantize_learned(weight, step, 0, -self._most, self._most, axis, 1 / math.sqrt(each * self._most))
        else:
            rounded = fake_quantize(weight, step, 0, -self._most, self._most, axis)
        if layer.gates:
            given = constants[layer.weights] if layer.weights in constants else self._others[layer.weights]
            return _op("Reshape", rounded, Var(list(given.shape), "int64"))
        return rounded if factor is None else rounded / factor

    def _scale(self, group: _Values) -> tuple[Var, Any]:
        """The scale and the zero point of values."""
        if self._activations == "lsq":
            return _op("Max", self._steps[f"{group.name}.step"], _number(1e-12)), group.zero
        if self._activations == "pact":
            return _op("Max", self._steps[f"{group.name}.alpha"], _number(1e-12)) / float(self._most_of(group)), group.zero
        low, high = (_op(op, *[nn.read_buffer(self._ranges[f"{source}.{end}"]) for source in group.sources], _number(0.0)) for op, end in (("Min", "low"), ("Max", "high")))
        if self._lowest < 0:
            scale = _op("Max", -low, high) / float(self._highest)
        else:
            scale = (high - low) / float(self._highest)
        scale = _op("Where", _op("Less", scale, _number(_SMALLEST)), _number(1.0), scale)
        return scale, 0 if self._lowest < 0 else _op("Clip", _op("Round", -low / scale), _number(0.0), _number(255.0))

    def _observe(self, name: str, x: Var) -> None:
        low, high, batches = (self._ranges[f"{name}.{end}"] for end in ("low", "high", "batches"))
        is_first = _op("Equal", nn.read_buffer(batches), _number(0.0))
        for buffer, op, both in ((low, "ReduceMin", "Min"), (high, "ReduceMax", "Max")):
            now, before = fixed(_op(op, x, keepdims=0)), nn.read_buffer(buffer)
            after = _op(both, before, now) if self._averaging is None else before + (now - before) * self._averaging
            nn.update_buffer(buffer, _op("Where", is_first, now, after))
        nn.update_buffer(batches, nn.read_buffer(batches) + 1.0)

    def _seen(self, name: str, x: Var) -> Var | None:
        made = self._through(self._group_of[name], name, x) if name in self._group_of else None
        if name in self._watched:
            self._watched[name] = x if made is None else made
        return made

    def _through(self, group: _Values, name: str, x: Var) -> Var | None:
        if self.training and self._observes and self._activations == "ema":
            self._observe(name, x)
        if not self._rounds:
            return None
        scale, zero = self._scale(group)
        if self._activations == "pact":
            return pact(x, scale * float(self._most_of(group)), self._lowest, self._highest, zero)
        if self._activations == "lsq":
            dims = x.dims if x.dims is not None else x.shape
            elements = math.prod(dim for dim in dims[1:] if dim)
            return fake_quantize_learned(x, scale, zero, self._lowest, self._highest, None, 1 / math.sqrt(max(elements, 1) * self._highest))
        return fake_quantize(x, scale, zero, self._lowest, self._highest)

    # The network.

    def _constants(self) -> dict[str, Var]:
        return {**self._weights, **{name: nn.read_buffer(value) for name, value in self._running.items()}}

    def forward(self, *inputs: VarLike) -> Any:
        """The outputs for these inputs: one Var, or a tuple. Raises InvalidArgument (a ValueError) for another number of inputs or other dtypes."""
        constants = self._constants()
        if self._rounds:
            constants.update({layer.weights: self._rounded(layer, constants) for layer in self._layers})
        if self._frozen_norms:  # those whose scale is no parameter stay as in inference
            constants.update({name: constants[name] * 1.0 for names in self._normalizations for name in names if name in constants})
        names = [*self._watched, *(self._group_of if self._rounds or (self.training and self._observes) else ())]
        outputs, following = _minnow.apply_with(self._model, [x if isinstance(x, Var) else Var(x) for x in inputs], constants, self.training, _dropped, names, self._seen)
        for name, value in following.items():
            nn.update_buffer(self._running[name], value)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def integers(self, evaluation: Samples | None = None, title: str = "") -> Any:
        """The models and the report of convert(), which are written nowhere."""
        names = [row[0] for row in self._model.inputs]
        constants = self._constants()
        steps, scales = {}, {}
        for layer in self._layers:
            made = self._step(layer, self._weight(layer, constants)[0]).evaluate().tolist()
            steps[layer.name] = made if isinstance(made, list) else [made]
        for group in self._values:
            if self._activations == "ema" and not any(float(self._ranges[f"{source}.batches"]) for source in group.sources):
                raise InvalidArgument("no range is known yet: train the network, or give prepare_qat() calibration samples")
            scale, zero = self._scale(group)
            pair = float(scale), int(float(zero)) if isinstance(zero, Var) else zero
            scales.update(dict.fromkeys(group.names, pair))
        values = {name: value for name, value in (*self._weights.items(), *self._running.items())}
        given = None if evaluation is None else _samples(evaluation, names)
        return _minnow.quantize_trained(self._model, values, steps, scales, given, self._options, title)

    def in_integers(self, *inputs: VarLike) -> list[Var]:
        """The outputs of the integer model as expressions."""
        made: list[Var] = _minnow.apply_with(self.integers()[1], [x if isinstance(x, Var) else Var(x) for x in inputs], {}, False, _dropped)[0]
        return made

    def __repr__(self) -> str:
        return f"QATModule({len(self._layers)} layers, weights of {self._options['weight_bits']} bits, {self._activations})"


def _traced(module: nn.Module, examples: Sequence[VarLike]) -> tuple[_minnow.ModelData, set[str]]:
    """A module in inference as a model of any batch size, and the names of its values that are no parameters or frozen."""
    values = [x if isinstance(x, Var) else Var(x) for x in examples]
    inputs = [_minnow.placeholder(f"input{i}" if len(values) > 1 else "input", x.dtype, [None, *x.shape[1:]] if x.shape else []) for i, x in enumerate(values)]
    modes = [(each, each.training) for each in module.modules()]
    named = [(name, value) for name, value, _ in module._named_vars() if not value.name]
    for name, value in named:
        value.name = name
    module.eval()
    try:
        outputs = module(*inputs)
        made = _minnow.to_model(list(outputs) if isinstance(outputs, (tuple, list)) else [outputs], inputs)
        return made, {value.name for _, value, _ in module._named_vars() if not value.trainable}
    finally:
        for each, mode in modes:
            each.training = mode
        for _, value in named:
            value.name = ""


def _examples(calibration: Any) -> list[Any] | None:
    """The first sample, if the samples are arrays."""
    if hasattr(calibration, "shape"):
        return [calibration[:1]]
    if isinstance(calibration, dict) and calibration:
        return [value[:1] for value in calibration.values()]
    if isinstance(calibration, list) and calibration:
        first = calibration[0]
        return [first] if hasattr(first, "shape") else list(first.values()) if isinstance(first, dict) else list(first)
    return None


def _read(path: ModelPath) -> _minnow.ModelData:
    """A model whose first dimensions are open: training takes batches."""
    model = read_model(path, "train").model
    shapes = {name: [None, *[one if isinstance(one, int) else None for one in shape[1:]]] for name, _, shape, _ in model.inputs if shape and isinstance(shape[0], int)}
    return read_model(path, "train", shapes=shapes).model if shapes else model


def prepare_qat(model: ModelPath | nn.Module, calibration: Samples | None = None, *, weights: str = "minmax", activations: str = "ema", weight_bits: int = 8,
                per_channel: bool = True, symmetric: bool = False, skip: Sequence[str] = (), parameters: str | Sequence[str] = "*",
                example_inputs: Sequence[VarLike] | None = None, averaging: float | None = 0.01, method: str = "mse", progress: Callback | None = None) -> QATModule:
    """Copy a network into one that rounds weights and activations in training where minnow.quantize() would; gradients pass the rounding. Train it with
    a low rate, call eval(), and convert() it.

        network = minnow.compress.prepare_qat("classifier.onnx", pictures)
        step = optim.TrainingStep(lambda x, y: nn.functional.cross_entropy(network(x), y), optim.SGD(network, lr=1e-3))
        ...
        minnow.compress.convert(network.eval(), "integers.minnow")

    model: a file of any format, a module, or what load() or load_trainable() gave; load() has joined batch normalizations with their layers. calibration: as for minnow.quantize(); ranges begin with what `method` finds
    there, without it with the first batch. weights: "minmax", scales of the largest weight, or "lsq", learned ones. activations: "ema", moving averages
    of the batches' ranges with the share `averaging` (None: all that was there); "lsq", learned scales; "pact", learned upper ends; the latter two need calibration. weight_bits: 2
    to 8; per_channel: a scale for each output channel; symmetric: activations around 0. skip: nodes or operators that stay float32. parameters:
    patterns of the names that are trained. example_inputs: one batch, to trace a module that is given without arrays.

    Raises InvalidArgument (a ValueError) for options and samples that do not fit, Unsupported if no layer can compute with integers, and what reading
    the model raises.
    """
    for key, value, names in (("weights", weights, ("minmax", "lsq")), ("activations", activations, ("ema", "lsq", "pact"))):
        if value not in names:
            raise InvalidArgument(f"{key}: {value!r:.40} is none of {', '.join(names)}")
    if not isinstance(weight_bits, int) or isinstance(weight_bits, bool) or not 2 <= weight_bits <= 8:
        raise InvalidArgument(f"weight_bits: {weight_bits!r:.40} is not from 2 to 8")
    if averaging is not None and not (isinstance(averaging, (int, float)) and 0 < averaging <= 1):
        raise InvalidArgument(f"averaging: {averaging!r:.40} is not above 0 and at most 1")
    if isinstance(skip, str):
        raise InvalidType(f'skip takes a list of names, not the text "{skip}"')
    for name in skip:
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"skip: {name!r:.40} is no name of a node or operator")
    if calibration is None and activations != "ema":
        raise InvalidArgument(f'activations: "{activations}" needs calibration samples, from which its scales begin')
    if isinstance(model, QATModule):
        raise InvalidArgument("the module rounds already")
    constant: set[str] = set()
    if isinstance(model, nn.LoadedModule):
        source = model._loaded.model
    elif isinstance(model, nn.Module):
        examples = list(example_inputs) if example_inputs is not None else _examples(calibration)
        if not examples:
            raise InvalidArgument("a module needs example_inputs, a list with a batch for each input, where no arrays for calibration are given")
        source, constant = _traced(model, examples)
    else:
        source = _read(model)
    options = {"method": method, "weights": "mse" if weights == "lsq" else "minmax", "activations": "i8" if symmetric else "u8", "weight_bits": str(weight_bits),
               "per_channel": str(bool(per_channel)).lower(), "correct_bias": "true"}
    if skip:
        options["skip"] = ", ".join(skip)
    samples = None if calibration is None else _samples(calibration, [row[0] for row in source.inputs])
    return QATModule(source, samples, options, weights=weights, activations=activations, averaging=averaging,
                     parameters=[parameters] if isinstance(parameters, str) else list(parameters), constant=constant, progress=progress)


def convert(module: QATModule, path: str | os.PathLike[str], *, evaluation: Samples | None = None, html: str | os.PathLike[str] | None = None) -> Quantization:
    """Write the integer model of a network that prepare_qat() made, as .minnow, or as .onnx with QuantizeLinear and DequantizeLinear; returns a report
    that compares it with the trained network in float32. The file computes what the module computes in eval mode, but for rare numbers on the
    border between two integers.

    evaluation: samples for the report; html: a file for the report with plots. Warns if the file stores weights in more bits than weight_bits. Raises InvalidArgument (a ValueError) for another module, another kind
    of file and parameters that are not finite, and IoError if the file cannot be written.
    """
    if not isinstance(module, QATModule):
        raise InvalidArgument(f"convert() takes what prepare_qat() gave, not {type(module).__name__}")
    start = time.monotonic()
    name = path_of(path)
    if not name.endswith((".minnow", ".onnx")):
        raise InvalidArgument(f"{name}: convert writes .minnow and .onnx files")
    fast, plain, layers, outputs, *counts, page = module.integers(evaluation, os.path.basename(name))
    _minnow.write_model(plain if name.endswith(".onnx") else fast, name, False, 0, "f32")
    if html is not None:
        with new_file(html, "w", encoding="utf-8") as file:
            file.write(page)
    if note := _minnow.note_on_bits(module._options, name):
        warnings.warn(note, stacklevel=2)
    return Quantization(name, os.path.getsize(name), [QuantizedLayer(*row) for row in layers], [QuantizedOutput(*row) for row in outputs], *counts, time.monotonic() - start, [], True)


def _switch(module: nn.Module, name: str, on: bool) -> None:
    if not isinstance(module, nn.Module):
        raise InvalidType(f"a module is expected, not {type(module).__name__}")
    for each in module.modules():
        if isinstance(each, QATModule):
            setattr(each, name, on)


def enable_observer(module: nn.Module) -> None:
    """Batches move the ranges of activations, as they do from the beginning. Raises InvalidType (a TypeError) for no module."""
    _switch(module, "_observes", True)


def disable_observer(module: nn.Module) -> None:
    """Keep the ranges of activations from now on; torch's recipes do so after some epochs. Raises InvalidType (a TypeError) for no module."""
    _switch(module, "_observes", False)


def enable_fake_quant(module: nn.Module) -> None:
    """Round, as from the beginning. Raises InvalidType (a TypeError) for no module."""
    _switch(module, "_rounds", True)


def disable_fake_quant(module: nn.Module) -> None:
    """Compute in float32; ranges go on moving. Raises InvalidType (a TypeError) for no module."""
    _switch(module, "_rounds", False)


def freeze_bn_stats(module: nn.Module) -> None:
    """Batch normalizations compute with their running means and variances in training, too, and keep them; scales and biases are trained on. Raises
    InvalidType (a TypeError) for no module."""
    _switch(module, "_frozen_norms", True)


def update_bn_stats(module: nn.Module) -> None:
    """End freeze_bn_stats(). Raises InvalidType (a TypeError) for no module."""
    _switch(module, "_frozen_norms", False)


__all__ = ["QATModule", "convert", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer", "freeze_bn_stats", "prepare_qat", "update_bn_stats"]

all_suggesting(globals(), [name for name in __all__ if name[0].islower()])
