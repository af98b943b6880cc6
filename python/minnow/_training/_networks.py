# SPDX-License-Identifier: Apache-2.0
"""Networks to train: small ones by name, and models of files whose weights become parameters and whose head is replaced."""
from __future__ import annotations

import math
from typing import Any, Iterator, Sequence

import numpy

from minnow import _minnow, expr, nn
from minnow._files import read_model
from minnow._minnow import InvalidArgument, Unsupported, Var
from minnow._trainable import TrainableModel


class Standardized(nn.Module):
    """A network that takes and gives numbers as they are in a table: (x - mean) / std goes in, y * std + mean comes out."""

    def __init__(self, network: nn.Module, inputs: Any, outputs: Any) -> None:
        self.network = network
        self.input_mean, self.input_std = (None if inputs is None else Var(numpy.asarray(one, numpy.float32)) for one in inputs or (None, None))
        self.output_mean, self.output_std = (None if outputs is None else Var(numpy.asarray(one, numpy.float32)) for one in outputs or (None, None))

    def forward(self, x: Any) -> Any:
        y = self.network(x if self.input_mean is None else (x - self.input_mean) / self.input_std)
        return y if self.output_mean is None else y * self.output_std + self.output_mean


def _lenet(shape: Sequence[int], outputs: int) -> nn.Module:
    channels, height, width = _picture(shape, 12)
    count = 48 * ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2)
    return nn.Sequential(nn.Conv2d(channels, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 48, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(count, 256), nn.ReLU(), nn.Linear(256, outputs))


def _cnn(shape: Sequence[int], outputs: int) -> nn.Module:
    channels, _, _ = _picture(shape, 8)
    layers: list[Any] = []
    for after, stride in ((32, 1), (64, 2), (128, 2), (128, 2)):
        layers += [nn.Conv2d(channels, after, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        channels = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, outputs))


def _mlp(shape: Sequence[int], outputs: int) -> nn.Module:
    count = math.prod(shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(count, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, outputs))


def _linear(shape: Sequence[int], outputs: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), outputs))


#: Built-in networks, and what they are.
BUILT_IN = {"lenet": _lenet, "cnn": _cnn, "mlp": _mlp, "linear": _linear}


def _picture(shape: Sequence[int], least: int) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape[1:]) < least:
        raise InvalidArgument(f"the network takes pictures of at least {least} x {least} pixels; the samples have the shape {tuple(shape)}")
    return int(shape[0]), int(shape[1]), int(shape[2])


# Inputs of operators that are no weights, though they may be constant floats.
_NO_WEIGHTS = {"BatchNormalization": (3, 4), "Resize": (1, 2, 3), "Clip": (1, 2), "Pad": (1, 2), "Pow": (1,)}
# Operators that only change the form of their first input.
_FORMS = ("Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Cast", "Dropout")


class Imported(TrainableModel):
    """A model of a file. Its float constants are parameters by their names in the file, and the last layer with weights before the output is
    replaced by one of `outputs` values, if that is given."""

    _turned = False  # features with their channels last

    def __init__(self, path: Any, sample: Sequence[int], outputs: int | None, head: bool | str = True, seed: int = 0, picture: bool = False) -> None:
        model = read_model(path, "train").model
        if len(model.inputs) != 1:
            raise Unsupported(f"the model has {len(model.inputs)} inputs; models with one can be trained")
        name, _, shape, _ = model.inputs[0]
        if shape is not None and shape and isinstance(shape[0], int):  # a model of one batch size takes any
            model = read_model(path, "train", shapes={name: [None, *[one if isinstance(one, int) else None for one in shape[1:]]]}).model
        loaded = expr.Loaded(*_minnow.load(model))
        source, output = loaded.inputs[0], loaded.outputs[0]
        dims = source.dims
        if dims is not None and len(dims) != len(sample) + 1:
            raise InvalidArgument(f"the model takes {len(dims) - 1} dimensions for a sample; the samples have the shape {tuple(sample)}")
        self._channels_last = dims is not None and len(dims) == 4 and dims[3] in (1, 3, 4) and dims[1] not in (1, 3, 4)
        wanted = (sample[1], sample[2], sample[0]) if self._channels_last else tuple(sample)
        if dims is not None and any(own is not None and own != one for own, one in zip(dims[1:], wanted)):
            raise InvalidArgument(f"the model takes samples of the shape {list(dims[1:])}; these have {list(wanted)} (data.size and data.mode change it)")
        self.weight, self.bias = None, None
        features = output
        if outputs is not None and head is not False:
            features = loaded.at(head) if isinstance(head, str) else _before_head(output)
        if picture:
            batch = _zeros(wanted)
            features = loaded.at(head) if isinstance(head, str) else _of_picture(output, source, batch)
            rows, columns = (wanted[:2] if self._channels_last else wanted[1:])[:2]
            found_shape = expr.replace([features], [(source, batch)])[0].shape
            self._turned = len(found_shape) == 4 and not _is_map(found_shape[2:], rows, columns) and _is_map(found_shape[1:3], rows, columns)
        body = _minnow.to_model([features], [source])
        found = _weights(_minnow.load(body)[1][0])
        super().__init__(body, ["*"] if found else [])
        self._weights = {name: value for name, value in self._weights.items() if name in found}
        if outputs is not None and head is not False:
            self.eval()
            count = self._flat(_zeros(wanted)).shape[1]
            self.train()
            bound = 1 / math.sqrt(count)
            random = numpy.random.default_rng([seed, 77])
            self.weight = expr.trainable(random.uniform(-bound, bound, (count, outputs)).astype(numpy.float32), "head.weight")
            self.bias = expr.trainable(numpy.zeros(outputs, numpy.float32), "head.bias")

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        # Names of the file, and head.weight and head.bias.
        yield from super()._named_vars()
        if self.weight is not None and self.bias is not None:
            yield "head.weight", self.weight, True
            yield "head.bias", self.bias, True

    def _flat(self, x: Any) -> Any:
        """The features of samples that lie as the model takes them, [n, count]."""
        made = super().forward(x)
        if len(made.dims) == 4:  # of each place of a picture: their mean
            made = expr.reduce_mean(made, [2, 3], keepdims=0)
        return expr.reshape(made, Var(numpy.array([0, -1])))

    def forward(self, x: Any) -> Any:
        x = x if isinstance(x, Var) else Var(x)
        x = expr.transpose(x, perm=[0, 2, 3, 1]) if self._channels_last else x
        if self.weight is None:
            made = super().forward(x)
            return expr.transpose(made, perm=[0, 3, 1, 2]) if self._turned else made
        return expr.matmul(self._flat(x), self.weight) + self.bias


def _zeros(shape: Sequence[int]) -> Var:
    return Var(numpy.zeros((2, *shape), numpy.float32))


def _inputs(value: Var) -> list[Any]:
    return [] if value.op is None else list(value.inputs)


def _is_weight(value: Any) -> bool:
    while value is not None and value.op in _FORMS:
        value = _inputs(value)[0]
    return value is not None and value.op is None and value.dims is not None and _is_constant(value)


def _is_constant(value: Var) -> bool:
    return not expr.placeholders([value])


def _before_head(output: Var) -> Var:
    """The input of the last layer with a matrix of weights."""
    value = output
    while value.op is not None:
        inputs = _inputs(value)
        if value.op in ("Gemm", "MatMul", "Conv") and len(inputs) > 1 and _is_weight(inputs[1]):
            return inputs[0]  # type: ignore[no-any-return]
        data = [one for one in inputs if one is not None and not _is_constant(one)]
        if len(data) != 1:
            break
        value = data[0]
    raise Unsupported("the model has no last layer with weights to be replaced; parameters.head names the value that the new one takes")


def _is_map(sides: Sequence[int], rows: int, columns: int) -> bool:
    """Whether these may be the sides of features of a picture: both of two cells at least, and smaller by the same factor."""
    return min(sides) >= 2 and sides[0] < rows and abs(sides[0] / rows - sides[1] / columns) <= 1 / min(rows, columns)


def _of_picture(output: Var, source: Var, batch: Var) -> Var:
    """The last features that have 2 x 2 cells at least."""
    value = output
    rows, columns = (batch.shape[1:3] if batch.shape[3] in (1, 3, 4) else batch.shape[2:])
    while value.op is not None:
        shape = expr.replace([value], [(source, batch)])[0].shape
        if len(shape) == 4 and (_is_map(shape[2:], rows, columns) or _is_map(shape[1:3], rows, columns)):
            return value
        data = [one for one in _inputs(value) if one is not None and not _is_constant(one)]
        if not data:
            break
        value = data[0]
    raise Unsupported("the model has no features of a picture; parameters.head names the value that a detector takes, [n, channels, height, width]")


def _weights(output: Var) -> dict[str, Var]:
    """The constants that become parameters, by name."""
    found: dict[str, Var] = {}
    seen: dict[int, Var] = {}
    todo = [output]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        for i, one in enumerate(_inputs(value)):
            if one is None:
                continue
            if one.op is not None:
                todo.append(one)
            elif id(one) not in seen and _is_constant(one) and str(one.dtype) == "float32" and one.size > 1 and i not in _NO_WEIGHTS.get(str(value.op), ()):
                seen[id(one)] = one
                name = one.name or "constant"
                while name in found:
                    name += "_"
                found[name] = one
    return dict(reversed(found.items()))


def build(model: Any, shape: Sequence[int], outputs: int | None, head: bool | str, seed: int, picture: bool = False) -> nn.Module:
    """The network of a recipe for samples of this shape."""
    import os
    files = [os.fspath(one) for one in (model if isinstance(model, (list, tuple)) else [model]) if isinstance(one, (str, os.PathLike))]
    if not files or isinstance(model, str) and model in BUILT_IN:
        if isinstance(model, nn.Module):
            return model
        if not isinstance(model, str):
            if callable(model):
                made = model()
                if isinstance(made, nn.Module):
                    return made
            raise InvalidArgument(f"model is a file, one of {', '.join(BUILT_IN)}, or a module of minnow.nn, not {type(model).__name__}")
        nn.seed(seed)  # type: ignore[attr-defined]
        return BUILT_IN[model](shape, outputs or 1)
    for file in files:
        if not os.path.exists(file):
            raise InvalidArgument(f'the model "{file}" is neither a file nor a built-in network; there are {", ".join(BUILT_IN)}')
    return Imported(files if len(files) > 1 else files[0], shape, outputs, head, seed, picture)
