# SPDX-License-Identifier: Apache-2.0
"""Models of files as modules with parameters, for training."""
from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from minnow import _minnow, nn
from minnow._files import ModelPath, read_model
from minnow._minnow import InvalidArgument, Var
from minnow.nn import _safetensors
from minnow.nn.functional import op, shape_of  # type: ignore[attr-defined]
from minnow._typing import VarLike


def _dropped(x: Var, ratio: Var | None) -> Var:
    """Dropout by a key of its own."""
    kept = 1.0 - (Var(0.5, "float32") if ratio is None else ratio.astype("float32"))
    known = shape_of(x)
    drawn = op("minnow.KeyedUniform", nn.random_key(), op("Shape", x) if None in known else Var([*known], "int64"))
    return op("Where", op("Less", drawn, kept), x * (1.0 / kept).astype(x.dtype), Var(0, x.dtype))


class TrainableModel(nn.Module):
    """A model whose constants of some names are parameters; load_trainable() makes it. Until eval() is called, Dropout drops, and
    BatchNormalization computes with the batch; one whose scale and bias are no parameters, or frozen, stays as in inference. Names of parameters
    and buffers are those of the file."""

    def __init__(self, model: _minnow.ModelData, patterns: Sequence[str]) -> None:
        """The parameters are constants of floats whose names fit one of the patterns."""
        self._model = model
        self._running = _minnow.running_statistics(model)
        self._weights = {name: value for name, value in (_minnow.parameters_of(model, patterns) if patterns else {}).items() if name not in self._running}
        self._lora: dict[str, tuple[Var, Var]] = {}
        self._watched: dict[str, Var] = {}  # values of the last call, of the names that are there

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        # By the names that the file has for them; running means and variances are buffers.
        for values in (self._weights, self._running):
            for name, value in values.items():
                yield name, value, True
        for name, (a, b) in self._lora.items():
            yield f"{name}.lora.a", a, True
            yield f"{name}.lora.b", b, True

    def add_lora(self, rank: int, alpha: float = 16.0, seed: int = 0) -> list[str]:
        """Freeze the parameters, and add low-rank adapters to those of two dimensions and more, as rows of their first one: weight + alpha / rank B A,
        where B begins with zeros (Hu et al. 2021). Returns their names. Raises InvalidArgument (a ValueError) for a rank below 1, if no parameter is
        a matrix, and where adapters exist already."""
        import numpy
        fitting = {name: value for name, value in self._weights.items() if sum(length > 1 for length in value.shape) >= 2}
        if rank < 1 or not fitting or self._lora:
            raise InvalidArgument("adapters exist already" if self._lora else f"the rank is positive, it is {rank}" if rank < 1 else "no parameter of the model is a matrix")
        random = numpy.random.default_rng([seed, 5])
        for name, value in self._weights.items():
            value.trainable = False
            value.__dict__["_frozen"] = True
            if name in fitting:
                rows, columns = value.shape[0], value.size // value.shape[0]
                bound = (1 / columns) ** 0.5
                self._lora[name] = (_minnow.trainable(random.uniform(-bound, bound, (rank, columns)).astype(str(value.dtype)), f"{name}.lora.a"),
                                    _minnow.trainable(numpy.zeros((rows, rank), str(value.dtype)), f"{name}.lora.b"))
        self._lora_scale = alpha / rank
        return list(fitting)

    def _adapted(self, name: str) -> Var:
        a, b = self._lora[name]
        weight = self._weights[name]
        return weight + op("MatMul", b * self._lora_scale, a).reshape(weight.shape)

    def merge_lora(self) -> None:
        """Add the adapters to the weights, take them away, and thaw the parameters."""
        for name in self._lora:
            self._weights[name].assign(_safetensors.detached(self._adapted(name)))
        for value in self._weights.values() if self._lora else ():
            value.__dict__.pop("_frozen", None)
            value.trainable = True
        self._lora.clear()

    def forward(self, *inputs: VarLike) -> Any:
        """The model's outputs for these inputs: one Var, or a tuple. Raises InvalidArgument (a ValueError) for another number of inputs or
        other dtypes."""
        constants = {**self._weights, **{name: self._adapted(name) for name in self._lora}, **{name: nn.read_buffer(value) for name, value in self._running.items()}}
        outputs, following = _minnow.apply_with(self._model, [x if isinstance(x, Var) else Var(x) for x in inputs], constants, self.training, _dropped,
                                                list(self._watched), self._note)
        for name, value in following.items():
            if name in self._running:
                nn.update_buffer(self._running[name], value)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _note(self, name: str, value: Var) -> None:
        self._watched[name] = value

    def export(self, path: str, *inputs: VarLike) -> None:
        """Writes a .minnow file of the model with its parameters as they are now, for inputs of these dtypes and numbers of dimensions."""
        given = [x if isinstance(x, Var) else Var(x) for x in inputs]
        placeholders = [_minnow.placeholder(f"input{i}" if len(given) > 1 else "input", x.dtype, [None] * x.ndim) for i, x in enumerate(given)]
        was, self.training = self.training, False
        try:
            result = self.forward(*placeholders)
        finally:
            self.training = was
        _minnow.save(list(result) if isinstance(result, tuple) else [result], path, placeholders)


def load_trainable(path: ModelPath, parameters: str | Sequence[str] = "*", *, shapes: Mapping[str, Sequence[int | None]] | None = None) -> TrainableModel:
    """A model of any format as a module that can be trained: constants of floats whose names fit a pattern are its parameters.

    path: a file of any format that Minnow reads, the bytes of a file, or an open binary file. parameters: a pattern, or several; `*` stands for
    any characters, `?` for one. shapes: fixed dimensions of inputs, by name. Raises what load() raises, and InvalidArgument (a ValueError) if
    a pattern fits no name; the error lists some.
    """
    patterns = [parameters] if isinstance(parameters, str) else list(parameters)
    return TrainableModel(read_model(path, "train", shapes=shapes).model, patterns)


__all__ = ["TrainableModel", "load_trainable"]
