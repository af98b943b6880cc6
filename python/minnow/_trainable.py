# SPDX-License-Identifier: Apache-2.0
"""Models of files as modules with parameters, for training."""
from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from minnow import _minnow, nn
from minnow._files import ModelPath, read_model
from minnow._minnow import InvalidArgument, Var
from minnow.nn._layers import Lora, _Adapted
from minnow.nn.functional import op, shape_of  # type: ignore[attr-defined]
from minnow._typing import VarLike


def _dropped(x: Var, ratio: Var | None) -> Var:
    """Dropout by a key of its own."""
    kept = 1.0 - (Var(0.5, "float32") if ratio is None else ratio.astype("float32"))
    known = shape_of(x)
    drawn = op("minnow.KeyedUniform", nn.random_key(), op("Shape", x) if None in known else Var([*known], "int64"))
    return op("Where", op("Less", drawn, kept), x * (1.0 / kept).astype(x.dtype), Var(0, x.dtype))


class TrainableModel(_Adapted):
    """A model whose constants of some names are parameters; load_trainable() makes it. Until eval() is called, Dropout drops, and
    BatchNormalization computes with the batch; one whose scale and bias are no parameters, or frozen, stays as in inference. Names of parameters
    and buffers are those of the file."""

    def __init__(self, model: _minnow.ModelData, patterns: Sequence[str]) -> None:
        """The parameters are constants of floats whose names fit one of the patterns."""
        self._model = model
        self._running = _minnow.running_statistics(model)
        self._weights = {name: value for name, value in (_minnow.parameters_of(model, patterns) if patterns else {}).items() if name not in self._running}
        self._adapters: dict[str, Lora] = {}
        self._watched: dict[str, Var] = {}  # values of the last call, of the names that are there

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        # By the names that the file has for them; running means and variances are buffers.
        for values in (self._weights, self._running):
            for name, value in values.items():
                yield name, value, True
        for name, adapter in self._adapters.items():
            for part, value, saved in adapter._named_vars():
                yield f"{name}.{part}", value, saved

    def named_children(self) -> Iterator[tuple[str, nn.Module]]:
        # Adapters are none: _named_vars() has their parameters.
        yield from ()

    def _biases(self) -> list[str]:
        return [name for name in _minnow.biases_of(self._model) if name in self._weights]

    def _adaptable(self) -> dict[str, Var]:
        return {f"{name}.lora": value for name, value in self._weights.items() if sum(length > 1 for length in value.shape) >= 2}

    def _adapter(self, name: str) -> Lora | None:
        return self._adapters.get(name)

    def _set_adapter(self, name: str, adapter: Lora | None) -> None:
        if adapter is None:
            del self._adapters[name]
        else:
            self._adapters[name] = adapter

    def add_lora(self, rank: int, alpha: float = 16.0, seed: int = 0) -> list[str]:
        """nn.lora() of the file's weights, with first values that depend on this seed; other parameters, as of a new head, stay trained. Returns the
        names of the weights. Raises its errors."""
        import numpy
        of_file = {id(value) for value in self._weights.values()}
        others = [value for _, value, _ in self._named_vars() if value.trainable and id(value) not in of_file]
        names = nn.lora(self, rank, alpha)
        for value in others:
            value.trainable = True
            del value.__dict__["_frozen"]
        random = numpy.random.default_rng([seed, 5])
        for adapter in self._adapters.values():
            bound = (1 / adapter.a.shape[2]) ** 0.5
            adapter.a.assign(random.uniform(-bound, bound, adapter.a.shape).astype(str(adapter.a.dtype)))
        return names

    def merge_lora(self) -> None:
        """Add the adapters to the weights, take them away, and train again what they froze. Does nothing without adapters."""
        if self._adapters:
            nn.merge_lora(self)
            nn.remove_lora(self)

    def forward(self, *inputs: VarLike) -> Any:
        """The model's outputs for these inputs: one Var, or a tuple. Raises InvalidArgument (a ValueError) for another number of inputs or
        other dtypes."""
        constants = {name: self._with_lora(value, f"{name}.lora") for name, value in self._weights.items()}
        constants.update({name: nn.read_buffer(value) for name, value in self._running.items()})
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
    """A model of any format as a module that can be trained: constants of floats whose names fit a pattern are its parameters, by default those that
    have an effect on a result of floats. Weights without names in the file have those of their layers: "conv1.weight", "conv1.bias".

    path: a file of any format that Minnow reads, the bytes of a file, or an open binary file. parameters: a pattern, or several; `*` stands for
    any characters, `?` for one. shapes: fixed dimensions of inputs, by name. Raises what load() raises, and InvalidArgument (a ValueError) if
    a pattern fits no name; the error lists some.
    """
    patterns = [parameters] if isinstance(parameters, str) else list(parameters)
    return TrainableModel(read_model(path, "train", shapes=shapes).model, patterns)


__all__ = ["TrainableModel", "load_trainable"]
