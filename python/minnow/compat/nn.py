# SPDX-License-Identifier: Apache-2.0
"""Names and signatures of MNN.nn that differ from Minnow's."""
from __future__ import annotations

from typing import Any, Sequence

from minnow import _minnow, expr, nn
from minnow import numpy as np
from minnow._minnow import InvalidArgument, InvalidType
from minnow.compat import expr as F
from minnow.compat._later import on_cpu
from minnow.compat._values import Context, Var, as_mnn, own
from minnow._typing import VarLike
from minnow.nn._safetensors import detached

# MNN's options and Minnow's names for them; None: accepted and ignored.
_OPTIONS: dict[str, str | None] = {"dynamic": None, "shape_mutable": None, "rearrange": None, "backend": None, "power_mode": "power", "thread_num": "threads", "precision_mode": "precision",
            "memory_mode": "memory", "runtime_manager": "runtime_manager"}


def load_module_from_file(file_name: Any, input_names: Sequence[str] = (), output_names: Sequence[str] = (), **options: Any) -> LoadedModule:
    """Load a module with MNN's options thread_num, precision_mode, memory_mode, power_mode and runtime_manager. The options dynamic, shape_mutable and
    rearrange are accepted and ignored. The backend is always the CPU."""
    known: dict[str, Any] = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            raise InvalidType(f'load_module_from_file has no option "{name}"{_minnow.nearest(name, list(_OPTIONS))}')
        own_name = _OPTIONS[name]
        if own_name is not None and value is not None:
            known[own_name] = value
    for name, values in (("precision", nn._PRECISIONS), ("memory", nn._MEMORIES), ("power", nn._POWERS)):
        if name in known:
            known[name] = values.get(known[name], known[name])
    return _as_loaded(nn.load_module_from_file(file_name, input_names, output_names, **known))


def load_module(inputs: Sequence[Var], outputs: Sequence[Var], for_training: bool = False) -> LoadedModule | Module:
    """Make a module of the expressions `outputs` over the placeholders `inputs`. With for_training its parameters can be changed."""
    if for_training:
        return _Extracted(list(inputs), list(outputs))
    made = _as_loaded(nn.load_module([own(value) for value in outputs], [own(value) for value in inputs]))
    made.train(False)
    return made


def _results(values: Sequence[Any], given: Any, context: Context | None = None) -> Any:
    """Return a list if a list was given, else the first value."""
    made = [as_mnn(value, context) for value in values]
    return made if isinstance(given, (list, tuple)) else made[0]


class LoadedModule(nn.LoadedModule):
    """A module loaded from a file or made of expressions."""

    name = ""
    training = True

    def forward(self, *inputs: Any) -> Any:  # type: ignore[override]
        """Run the module. A list of inputs gives a list of outputs; a single Var gives the first output."""
        given = inputs[0] if len(inputs) == 1 else inputs
        values = list(given) if isinstance(given, (list, tuple)) else [given]
        results = self._call([own(value) for value in values], {})
        format = Context(values).format
        for result in results:
            if format is not None and isinstance(result, _minnow.Var):
                result.__dict__.pop("_format", None)
        return _results(results, given if len(inputs) == 1 else None, Context(values))

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        """Run forward() on a list and return a list."""
        made: list[Var] = self.forward(list(inputs))
        return made

    def __call__(self, *inputs: Any) -> Any:  # type: ignore[override]
        return self.forward(*inputs)

    @property
    def parameters(self) -> list[Var]:  # type: ignore[override]
        """The parameters that training could change: none, since loaded weights are fixed."""
        return []

    @property
    def is_training(self) -> bool:
        return self.training

    def set_name(self, name: str) -> None:
        self.name = name

    def get_info(self) -> dict[str, Any]:
        """Return the names of inputs and outputs, and a placeholder for each input."""
        inputs = []
        for row in self.describe_inputs():
            given = self.properties.get("shape." + row.name)
            dims = [int(dim) for dim in given.split("x")] if given else [dim if isinstance(dim, int) else -1 for dim in row.shape or ()]
            inputs.append(F.placeholder(dims, self.properties.get("layout." + row.name, F.NCHW), row.dtype or "float32"))
        return {"version": "minnow", "bizCode": "", "inputNames": [row.name for row in self.describe_inputs()], "inputs": inputs,
                "outputNames": [row.name for row in self.describe_outputs()]}

    def clear_cache(self) -> None:
        """Does nothing: memory is freed automatically."""

    def clone(self) -> LoadedModule:
        made = _as_loaded(super().clone())
        made.name, made.training = self.name, self.training
        return made


def _as_loaded(module: nn.LoadedModule) -> LoadedModule:
    module.__class__ = LoadedModule
    return module  # type: ignore[return-value]


class RuntimeManager(nn.RuntimeManager):
    """Options for running modules."""

    def _nothing(self, *unused: Any) -> None:
        """Does nothing: plans need no cache file, the model names its external files, and sessions have no modes."""

    set_cache = update_cache = set_mode = set_hint = set_external = _nothing


def create_runtime_manager(config: Any = ()) -> RuntimeManager:
    """Create a RuntimeManager from a mapping, or from the first mapping in a list. Keys: numThread, backend, and precision, memory and power, which are "normal",
    "high", "low" or MNN's numbers."""
    managers = nn.create_runtime_manager(on_cpu(config))
    return RuntimeManager(**(managers[0].options if managers else {}))


class Module(nn.Module):
    """Base class of user-defined modules: assign parameters and submodules to attributes, and define forward()."""

    name = ""
    training = True

    @property
    def parameters(self) -> list[Var]:  # type: ignore[override]
        """The parameters of this module, then those of its submodules. Like MNN, the last submodule comes first."""
        made = [value if isinstance(value, Var) else as_mnn(own(value), Context([value])) for _, value in self._members() if isinstance(value, _minnow.Var) and value.trainable]
        for _, child in reversed(list(self.named_children())):
            made += child.parameters if isinstance(child, (Module, LoadedModule)) else map(as_mnn, map(own, child.parameters()))
        return made

    def load_parameters(self, values: Any) -> bool:  # type: ignore[override]
        """Set all parameters, in the order of `parameters`. Return False if the number of values is wrong."""
        parameters = self.parameters
        if len(values) != len(parameters):
            return False
        given = [own(np.asarray(own(value))) for value in values]
        for parameter, value in zip(parameters, given):
            if list(parameter.shape) != list(value.shape):
                raise InvalidArgument(f'the parameter "{parameter.name}" has the shape {parameter.shape}, it is given {list(value.shape)}')
        for parameter, value in zip(parameters, given):
            parameter.assign(value.astype(parameter.dtype))
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, _minnow.Var) and not value.is_placeholder:  # like MNN, every Var is a parameter
            if not value.trainable:
                value = as_mnn(expr.trainable(own(value)), Context([value]))
            value.name = name
        super().__setattr__(name, value)
        if isinstance(value, (Module, LoadedModule)) and not value.name:
            value.set_name(name)

    def _add_parameter(self, value: Var) -> int:
        """Add a parameter without an attribute, and return its index."""
        self.__dict__.setdefault("_added", []).append(value)
        value.fix_as_trainable()
        return len(self.parameters) - 1

    def _register_submodules(self, modules: Sequence[Any]) -> None:
        """Add submodules without attributes."""
        known = [child for _, child in self.named_children()]
        self.__dict__.setdefault("_registered", []).extend(module for module in modules if all(module is not child for child in known))

    def set_name(self, name: str) -> None:
        self.name = name

    @property
    def is_training(self) -> bool:
        return self.training

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        """Run forward() on a list and return a list."""
        result = self.forward(*inputs)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def get_info(self) -> None:
        """Return None: user-defined modules have no named inputs and outputs."""

    def clear_cache(self) -> None:
        """Does nothing: memory is freed automatically."""


class EmptyModule(Module):
    """A module that does nothing."""

    def forward(self, *inputs: Any) -> None:
        return None


dummy = EmptyModule()


class _Layer(Module):
    """A module of one value; it maps a list to a list."""

    def forward(self, x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [self._compute(value) for value in x]
        return self._compute(x)

    def _compute(self, x: VarLike) -> Var:
        raise NotImplementedError

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        made: list[Var] = self.forward(list(inputs))
        return made


class _Extracted(Module):
    """A module made of expressions. Placeholders replace the parameters in the expressions, so that changed parameters take effect."""

    def __init__(self, inputs: list[Var], outputs: list[Var]) -> None:
        plain = [own(value) for value in outputs]
        parameters = expr.trainables(plain)
        stands = [expr.placeholder("", value.dtype, list(value.shape)) for value in parameters]
        self.__dict__["_places"] = [own(value) for value in inputs] + stands
        self.__dict__["_outputs"] = expr.replace(plain, list(zip(parameters, stands)))
        self.__dict__["_kept"] = [as_mnn(value, Context([value])) for value in parameters]

    def _turn_quantize(self, bits: int, maximum: bool) -> None:
        """Round from now on, in weights of so many bits and activations of 8."""
        from minnow import compress
        if "_rounding" in self.__dict__:
            raise InvalidArgument("the module rounds already")
        places, kept = self.__dict__["_places"], self.__dict__["_kept"]
        given, stands = places[:len(places) - len(kept)], places[len(places) - len(kept):]
        parameters = [expr.trainable(own(value).copy(), value.name or f"parameter{i}") for i, value in enumerate(kept)]
        inputs = [expr.placeholder(value.name, value.dtype, [None, *(value.dims or ())[1:]]) for value in given]
        outputs = expr.replace(self.__dict__["_outputs"], [*zip(given, inputs), *zip(stands, parameters)])
        options = {"activations": "u8", "weights": "minmax", "weight_bits": str(bits), "correct_bias": "false"}
        made = compress.QATModule(_minnow.to_model(outputs, inputs), None, options, weights="minmax", activations="ema", averaging=None if maximum else 0.01, parameters=["*"])
        self.__dict__["_rounding"] = [made]
        self.__dict__["_kept"] = []  # the parameters are those of the network that rounds

    def _rounded(self, x: Any) -> Any:
        """The results of the network that rounds; of placeholders those in integers."""
        network = self.__dict__["_rounding"][0]
        values = [own(value) for value in (x if isinstance(x, (list, tuple)) else [x])]
        if not self.training and expr.placeholders(values):
            return _results(network.in_integers(*values), x)
        made = network.train(self.training)(*values)
        return _results(made if isinstance(made, tuple) else [made], x)

    def forward(self, x: Any) -> Any:
        if "_rounding" in self.__dict__:
            return self._rounded(x)
        values = [*(list(x) if isinstance(x, (list, tuple)) else [x]), *self.__dict__["_kept"]]
        pairs = list(zip(self.__dict__["_places"], [own(value) for value in values]))
        return _results(expr.replace(self.__dict__["_outputs"], pairs), x)

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        made: list[Var] = self.forward(list(inputs))
        return made


def _random(shape: Sequence[int], inputs: int, outputs: int) -> _minnow.Var:
    """Draw normal numbers with the variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""
    return np.random.normal(0, (2 / (inputs + outputs)) ** 0.5, shape).astype("float32")


class _Convolution(_Layer):
    def __init__(self, weight: _minnow.Var, bias: _minnow.Var | None, arguments: tuple[Any, ...]) -> None:
        if bias is not None:
            self.bias = expr.trainable(bias)
        self.weight = expr.trainable(weight)
        self._arguments = arguments

    def _compute(self, x: VarLike) -> Var:
        bias = self.bias if "bias" in vars(self) else np.zeros(self.weight.shape[:1], "float32")
        return F.conv2d(x, self.weight, bias, *self._arguments)  # type: ignore[no-any-return]


def conv(in_channels: int, out_channels: int, kernel_size: Sequence[int], stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1),
         depthwise: bool = False, bias: bool = True, padding_mode: str = F.VALID) -> Module:
    """Create a convolution of [N, in_channels, H, W]. Pairs are (x, y). Parameters: the bias [out_channels] and the weight [out_channels, in_channels, height,
    width], or [channels, 1, height, width] for a depthwise convolution."""
    if depthwise and in_channels != out_channels:
        raise _minnow.InvalidArgument(f"a depthwise convolution has as many channels out as in, not {in_channels} and {out_channels}")
    group = in_channels if depthwise else 1
    area = kernel_size[0] * kernel_size[1]
    weight = _random([out_channels, in_channels // group, kernel_size[1], kernel_size[0]], in_channels // group * area, out_channels // group * area)
    return _Convolution(weight, np.zeros([out_channels], "float32") if bias else None, (list(stride), list(padding), list(dilation), group, padding_mode))


class _Linear(_Layer):
    def __init__(self, inputs: int, outputs: int, bias: bool) -> None:
        if bias:
            self.bias = expr.trainable(np.zeros([1, outputs], "float32"))
        self.weight = expr.trainable(_random([outputs, inputs], inputs, outputs))

    def _compute(self, x: VarLike) -> Var:
        product = F.matmul(x, self.weight, False, True)
        return product + self.bias if "bias" in vars(self) else product  # type: ignore[no-any-return]


def linear(in_length: int, out_length: int, bias: bool = True) -> Module:
    """Create the layer x @ weight.T + bias. Parameters: the bias [1, out_length] and the weight [out_length, in_length]. MNN always makes a bias."""
    return _Linear(in_length, out_length, bias)


class _BatchNorm(_Layer):
    def __init__(self, channels: int, dims: int, momentum: float, epsilon: float) -> None:
        if dims not in (2, 4):
            raise _minnow.InvalidArgument(f"batch_norm takes values of 2 or 4 axes, not {dims}")
        shape = [1, channels] + [1] * (dims - 2)
        self.scale, self.bias = expr.trainable(np.ones(shape, "float32")), expr.trainable(np.zeros(shape, "float32"))
        self.running_variance, self.running_mean = (expr.trainable(np.zeros(shape, "float32")) for _ in range(2))
        self._axes = (0, 2, 3) if dims == 4 else (0,)
        self._momentum, self._epsilon = momentum, epsilon

    def _compute(self, x: VarLike) -> Var:
        value = own(F.cast(x))
        scale, bias, mean, variance = map(own, (self.scale, self.bias, self.running_mean, self.running_variance))
        if self.training:
            mean, variance = np.mean(value, axis=self._axes, keepdims=True), np.var(value, axis=self._axes, keepdims=True)
            for kept, now in ((self.running_mean, mean), (self.running_variance, variance)):
                kept.assign((own(kept) * self._momentum + now * (1 - self._momentum)).evaluate())
        else:  # copies, so that no optimizer changes the running ones
            mean, variance = detached(mean), detached(variance)
        made: Var = as_mnn((value - mean) / np.sqrt(variance + self._epsilon) * scale + bias, Context([x]))
        return made


def batch_norm(channels: int, dims: int = 4, momentum: float = 0.99, epsilon: float = 1e-5) -> Module:
    """Create a batch normalization of [N, channels] or [N, channels, H, W] (Ioffe and Szegedy 2015). Training uses the mean and variance of the batch; otherwise
    the running ones count, which start at 0. Parameters: scale, bias, running variance, running mean."""
    return _BatchNorm(channels, dims, momentum, epsilon)


class _Dropout(_Layer):
    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def _compute(self, x: VarLike) -> Var:
        value = own(F.cast(x))
        if self.training:
            kept = np.random.random(value.shape) >= self._ratio
            value = value * kept.astype(value.dtype) / (1 - self._ratio)
        made: Var = as_mnn(value, Context([x]))
        return made


def dropout(dropout_ratio: float) -> Module:
    """Create a dropout layer. In training it sets this fraction of the elements to zero and multiplies the others by 1 / (1 - ratio)."""
    return _Dropout(dropout_ratio)


class loss:
    """Losses of predictions and targets [batch, classes]: the mean over the batch."""

    @staticmethod
    def cross_entropy(predicts: VarLike, onehot_targets: VarLike) -> Var:
        """Cross entropy of probabilities."""
        return -_mean(F.log(predicts) * F.cast(onehot_targets))  # type: ignore[no-any-return]

    @staticmethod
    def kl(predicts: VarLike, onehot_targets: VarLike) -> Var:
        """Kullback-Leibler divergence: the sum of p log(p / target)."""
        return _mean(F.cast(predicts) * F.log(F.divide(F.cast(predicts), F.cast(onehot_targets))))

    @staticmethod
    def mse(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(F.squared_difference(F.cast(predicts), F.cast(onehot_targets)))

    @staticmethod
    def mae(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(F.abs(F.subtract(F.cast(predicts), F.cast(onehot_targets))))

    @staticmethod
    def hinge(predicts: VarLike, onehot_targets: VarLike) -> Var:
        return _mean(F.maximum(1.0 - F.cast(predicts) * F.cast(onehot_targets), 0.0))


def _mean(of_elements: Var) -> Var:
    return F.reduce_sum(of_elements) / float(of_elements.shape[0])  # type: ignore[no-any-return]


__all__ = ["EmptyModule", "LoadedModule", "Module", "RuntimeManager", "batch_norm", "conv", "create_runtime_manager", "dropout", "dummy", "linear", "load_module",
           "load_module_from_file", "loss"]
