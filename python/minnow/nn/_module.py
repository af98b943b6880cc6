# SPDX-License-Identifier: Apache-2.0
"""Modules: functions on Vars with parameters, loaded from a file or written as classes."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence, overload

from minnow import _minnow
from minnow._functions import all_suggesting, methods_suggesting
from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var, gives_arrays, to_arrays
from minnow._files import ModelPath, dims_of, read_model
from minnow._options import check
from minnow._repr import of_fields, screen
from minnow._typing import DTypeLike, VarLike
from minnow.nn import _safetensors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Unpack
    from minnow._options import RunOptions


class Description(str):
    """An input, an output or a state as the model declares it: its name, a text, with more to say."""
    dtype: _minnow.dtype | None  #: None for sequences and optionals
    shape: tuple[int | str | None, ...] | None  #: a name or None where a dimension is open; None where the number of dimensions is
    type: str  #: "f32[batch, 3, 224, 224]"

    def __new__(cls, name: str, dtype: _minnow.dtype | None = None, shape: tuple[int | str | None, ...] | None = None, type: str = "") -> Description:
        made = super().__new__(cls, name)
        made.dtype, made.shape, made.type = dtype, shape, type
        return made

    @property
    def name(self) -> str:
        return str.__str__(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def __getnewargs__(self) -> Any:
        return self.name, self.dtype, self.shape, self.type

    def __repr__(self) -> str:
        return f"Description({self.name!r}, {self.type})"


class Label(NamedTuple):
    """A class that classify() found."""
    label: str
    probability: float
    index: int
    __repr__ = of_fields


class States(Mapping[str, Var]):
    """The values that a module keeps from call to call, by name: states["h"] is the value now, states["h"] = value another one for the next
    call. The names are Descriptions."""

    def __init__(self, loaded: _minnow.LoadedModel) -> None:
        self._loaded = loaded
        self._names = [Description(*row) for row in loaded.model.states]

    def _place(self, name: str) -> int:
        if name not in self._names:
            raise InvalidArgument(f'the model has no state "{name}"{_minnow.nearest(str(name), self._names)}')
        return self._names.index(name)  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> Var:
        return self._loaded.state(self._place(name))

    def __setitem__(self, name: str, value: VarLike) -> None:
        self._loaded.set_state(self._place(name), value)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[Description]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return screen(f"States({', '.join(f'{name}: {name.type}' for name in self._names)})")


class IncompatibleKeys(NamedTuple):
    """Names of which load_state_dict() found no value, and names of values that the module does not have."""
    missing_keys: list[str]
    unexpected_keys: list[str]


class _Hooks:
    """Functions that a module calls before and after forward()."""

    def __init__(self) -> None:
        self.before: list[Any] = []
        self.after: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def __copy__(self) -> _Hooks:
        return _Hooks()

    def __deepcopy__(self, memo: Any) -> _Hooks:
        return _Hooks()


class RemovableHandle:
    """A hook that a module calls; remove() ends that. register_forward_hook() makes it."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks: list[Any] | None = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Call the hook no more. Never fails."""
        if self._hooks is not None:
            self._hooks.remove(self._hook)
            self._hooks = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.remove()


@methods_suggesting
class Module:
    """A function on Vars with parameters.

    A derived class assigns parameters (expr.trainable), buffers (other Vars, such as a running mean) and modules, or lists, tuples and dicts of
    them, to attributes in __init__, and defines forward(). Call the module like a function. Any number of threads may call a loaded module at
    once, but only one may call a derived class. `training` is True until eval() is called: layers such as Dropout and BatchNorm2d heed it.
    """

    training: bool = True
    _not_saved: frozenset[str] = frozenset()

    def forward(self, *inputs: Any) -> Any:
        """Compute the module's results; defined by derived classes. Raises NotImplementedError otherwise."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        hooks = vars(self).get("_hooks")
        if not hooks:
            return self.forward(*inputs, **named)
        for hook in hooks.before:
            changed = hook(self, inputs)
            inputs = inputs if changed is None else changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*inputs, **named)
        for hook in hooks.after:
            changed = hook(self, inputs, result)
            result = result if changed is None else changed
        return result

    def register_forward_hook(self, hook: Callable[[Any, tuple[Any, ...], Any], Any]) -> RemovableHandle:
        """Call hook(module, inputs, result) after each forward(); another value than None that it gives takes the place of the result. The handle's
        remove() ends that. Copies have no hooks. Raises Unsupported (a NotImplementedError) for a module that load() has made."""
        return self._add_hook("after", hook)

    def register_forward_pre_hook(self, hook: Callable[[Any, tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call hook(module, inputs) before each forward(); other values than None that it gives take the place of the inputs. Raises the errors of
        register_forward_hook()."""
        return self._add_hook("before", hook)

    def _add_hook(self, place: str, hook: Any) -> RemovableHandle:
        if type(self).__call__ is not Module.__call__:
            raise Unsupported(f"{type(self).__name__} calls no hooks; a module that contains it does")
        hooks = vars(self).setdefault("_hooks", _Hooks())
        return RemovableHandle(getattr(hooks, place), hook)

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Yield the leaves in attributes and in their lists, tuples and dicts: "w", "layers.0", "heads.left"."""
        for name, value in vars(self).items():
            yield from _leaves(name, value)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Names and modules of the submodules that are attributes, or in lists, tuples and dicts there."""
        for name, value in self._members():
            if isinstance(value, Module):
                yield name, value

    def children(self) -> Iterator[Module]:
        """The modules of named_children()."""
        return (child for _, child in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Names and modules of this module ("") and all below it: "encoder", "encoder.layers.0"."""
        yield prefix, self
        for name, child in self.named_children():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """The modules of named_modules(), each once."""
        seen: set[int] = set()
        for _, module in self.named_modules():
            if id(module) not in seen:
                seen.add(id(module))
                yield module

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Call function(module) for all modules below this one, and then for this one; give the module."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def _named_vars(self) -> Iterator[tuple[str, Var, bool]]:
        """Names, Vars and whether state_dict() has them: of each module first the parameters, then the others, then those of its submodules."""
        own = [(name, value) for name, value in self._members() if isinstance(value, Var) and not value.is_placeholder]
        for parameters in (True, False):
            for name, value in own:
                if is_parameter(value) == parameters:
                    yield name, value, name not in self._not_saved
        for name, child in self.named_children():
            for inner, value, saved in child._named_vars():
                yield f"{name}.{inner}", value, saved

    def named_parameters(self) -> Iterator[tuple[str, Var]]:
        """Names and parameters of this module and its submodules: "w", "encoder.w", "layers.0.w". A parameter that several modules share comes
        once; frozen ones (see freeze()) do not come."""
        seen: set[int] = set()
        for name, value, _ in self._named_vars():
            if value.trainable and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> list[Var]:
        """The parameters in the order of named_parameters()."""
        return [value for _, value in self.named_parameters()]

    def named_buffers(self) -> Iterator[tuple[str, Var]]:
        """Names and buffers of this module and its submodules: Vars that are no parameters."""
        for name, value, _ in self._named_vars():
            if not is_parameter(value):
                yield name, value

    def buffers(self) -> list[Var]:
        """The buffers in the order of named_buffers()."""
        return [value for _, value in self.named_buffers()]

    def _biases(self) -> Sequence[str]:
        """Names of parameters that are biases, whatever they are called."""
        return ()

    def register_buffer(self, name: str, value: VarLike | None, persistent: bool = True) -> None:
        """Make an attribute of this name a buffer. persistent: state_dict() contains it. Raises InvalidType (a TypeError) for what is no array."""
        setattr(self, name, None if value is None else value if isinstance(value, Var) else Var(value))
        if not persistent:
            self._not_saved = self._not_saved | {name}

    def register_parameter(self, name: str, param: VarLike | None) -> None:
        """Make an attribute of this name a parameter. Raises InvalidType (a TypeError) for what is no array of floats."""
        setattr(self, name, param if param is None or (isinstance(param, Var) and is_parameter(param)) else _minnow.trainable(param))

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Let training change the parameters, or not: nn.unfreeze() and nn.freeze() of all. Gives the module."""
        for _, value, _ in self._named_vars():
            if is_parameter(value):
                value.trainable = requires_grad
                value.__dict__.pop("_frozen", None)
                if not requires_grad:
                    value.__dict__["_frozen"] = True
        return self

    def add_module(self, name: str, module: Module | None) -> None:
        """Make a submodule an attribute of this name. Never fails."""
        setattr(self, name, module)

    def load_parameters(self, values: Any) -> None:
        """Set parameters by name from a mapping, or from a list in the order of parameters(). Raises InvalidArgument (a ValueError) for
        another number of values, an unknown name, and a value of another dtype or shape."""
        own = dict(self.named_parameters())
        if not hasattr(values, "items") and len(values) != len(own):
            raise InvalidArgument(f"the module has {len(own)} parameters, {len(values)} values are given")
        for name, value in values.items() if hasattr(values, "items") else zip(own, values):
            if name not in own:
                raise InvalidArgument(f'the module has no parameter "{name}"{_minnow.nearest(name, list(own))}')
            given = value if isinstance(value, Var) else Var(value)
            if (given.dtype, given.shape) != (own[name].dtype, own[name].shape):
                raise InvalidArgument(f'the parameter "{name}" is {own[name].dtype}{list(own[name].shape)}, it is given {given.dtype}{list(given.shape)}')
            own[name].assign(given)

    def state_dict(self) -> dict[str, Var]:
        """Parameters and buffers by name, as torch names them; their present values, which later steps of training do not change."""
        return {name: _safetensors.detached(value) for name, value, saved in self._named_vars() if saved}

    def load_state_dict(self, state: Mapping[str, VarLike], strict: bool = True) -> IncompatibleKeys:
        """Set parameters and buffers by name; dtypes are converted. Returns names of the module that are missing in `state`, and names there that
        the module does not have; with strict, both are errors. Raises InvalidArgument (a ValueError) for them and for other shapes, and then
        changes nothing."""
        own = {name: value for name, value, saved in self._named_vars() if saved}
        missing, unexpected = [name for name in own if name not in state], [name for name in state if name not in own]
        if strict and (missing or unexpected):
            parts = [f'misses {", ".join(missing[:5])}{" ..." * (len(missing) > 5)}'] if missing else []
            parts += [f'has {", ".join(unexpected[:5])}{" ..." * (len(unexpected) > 5)}, which the module has not'] if unexpected else []
            raise InvalidArgument(f"the state {' and '.join(parts)}; strict=False loads the rest")
        values = {}
        for name, given in state.items():
            if name in own:
                value = given if isinstance(given, Var) else Var(given)
                if value.shape != own[name].shape:
                    raise InvalidArgument(f'"{name}" has the shape {list(own[name].shape)}, it is given {list(value.shape)}')
                values[name] = _safetensors.detached(value.astype(own[name].dtype))
        for name, value in values.items():
            own[name].assign(value)
        return IncompatibleKeys(missing, unexpected)

    def to(self, dtype: DTypeLike) -> Module:
        """Give parameters and buffers of floats another dtype of floats; give the module. Raises InvalidType (a TypeError) for a wrong dtype."""
        for _, value, _ in self._named_vars():
            if str(value.dtype) in ("float64", "float32", "float16", "bfloat16"):
                made, trains = _safetensors.detached(value.astype(dtype)), value.trainable
                value.trainable = False  # parameters do not change their dtype
                value.assign(made)
                value.trainable = trains
        return self

    def save(self, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
        """Write state_dict() to a .safetensors file, with texts as metadata. Raises the errors of save_file()."""
        _safetensors.save_file(self.state_dict(), path, metadata)

    def load(self, path: str | os.PathLike[str], strict: bool = True) -> IncompatibleKeys:
        """load_state_dict() of a .safetensors file, such as torch's weights in this format. Raises the errors of load_file() and
        load_state_dict()."""
        return self.load_state_dict(_safetensors.load_file(path), strict)

    def __repr__(self) -> str:
        own = [f"{name}: {value.dtype}{list(value.shape)}" for name, value in self._members() if isinstance(value, Var) and value.trainable]
        lines = own + [f"{name}: {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        return screen(type(self).__name__ + ("(\n  " + "\n  ".join(lines) + "\n)" if lines else "()"))

    def train(self, on: bool = True) -> Module:
        """Sets `training` of this module and its submodules; gives the module."""
        self.training = on
        for _, child in self.named_children():
            child.train(on)
        return self

    def eval(self) -> Module:
        """train(False)."""
        return self.train(False)

    def reset_states(self) -> None:
        """Puts the initial values of states back, those that the models of this module and its submodules keep from call to call."""
        for _, child in self.named_children():
            child.reset_states()

    def clone(self) -> Module:
        """Another module that shares the parameters; states are its own and begin anew."""
        import copy
        made = copy.copy(self)
        for name, value in vars(self).items():
            setattr(made, name, _cloned(value))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        """A module with parameters and buffers of its own, of the same values."""
        import copy
        made = copy.copy(self)
        memo[id(self)] = made
        for name, value in vars(self).items():
            setattr(made, name, _copied(value, memo))
        return made


def is_parameter(value: Var) -> bool:
    """Whether the Var is a parameter, frozen or not. Never fails."""
    return value.trainable or bool(value.__dict__.get("_frozen"))


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy, with Vars of its own."""
    import copy
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, Var) and not value.is_placeholder:
        made = _safetensors.detached(value)
        if value.trainable:
            made = _minnow.trainable(made, value.name)
        if "_frozen" in value.__dict__:
            made.__dict__["_frozen"] = value.__dict__["_frozen"]
        memo[id(value)] = made
        return made
    if isinstance(value, _minnow.ModelData):  # does not change
        return value
    if isinstance(value, dict):
        return {key: _copied(item, memo) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item, memo) for item in value]
    if isinstance(value, tuple) and not hasattr(value, "_make"):
        return tuple(_copied(item, memo) for item in value)
    return copy.deepcopy(value, memo)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _leaves(f"{name}.{i}", item)
    else:
        yield name, value


def _cloned(value: Any) -> Any:
    """With clones of the modules in it."""
    import copy
    if isinstance(value, _Hooks):
        return _Hooks()
    if isinstance(value, Module):
        return value.clone()
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update((key, _cloned(item)) for key, item in value.items())
        return made
    if isinstance(value, list):
        return [_cloned(item) for item in value]
    if isinstance(value, tuple) and any(isinstance(item, Module) for _, item in _leaves("", value)):
        items = map(_cloned, value)
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


@methods_suggesting
class LoadedModule(Module):
    """A model, or a part of it, as a function."""
    training = False

    def __init__(self, model: _minnow.ModelData, inputs: Sequence[str] = (), outputs: Sequence[str] = (), options: Mapping[str, Any] = {}, *,
                 loaded: _minnow.LoadedModel | None = None) -> None:
        """The part of a model between these values, run by these options. loaded: a copy of another module's."""
        self._options = dict(options)
        backends = self._options.get("backend", "cpu")
        self._names_device = backends not in ("cpu", "reference") and list(backends) != ["cpu"]
        self._device_model: _minnow.DeviceModel | None = None
        self._loaded = loaded = loaded or _minnow.load_module(model, inputs, outputs, self._options)
        self._input_names = [row[0] for row in loaded.model.inputs]
        self._dtypes = [row[1] for row in loaded.model.inputs]
        self._images = [shape if shape is not None and len(shape) == 4 else None for _, _, shape, _ in loaded.model.inputs]
        self._takes_images = any(self._images)
        # Where the model's pictures have their channels, which expr.convert() goes by.
        first = next((shape for shape in self._images if shape is not None), None)
        self._format = "NHWC" if first is not None and first[3] in (1, 3, 4) and first[1] not in (1, 3, 4) else "NCHW"

    def forward(self, *inputs: VarLike | Mapping[str, VarLike], **named: VarLike) -> Any:
        """Call the model with Vars for the inputs, by position (or in one list) or by name (or in one dict). Returns one output as a Var, several as a tuple.

        Raises InvalidType (a TypeError) for too many inputs and unknown names, InvalidArgument (a ValueError) for dtypes and shapes that the model does
        not accept, TimeLimitReached (a TimeoutError) and OutOfMemory (a MemoryError) for the limits of load().
        """
        results = self._call(inputs, named)
        return results[0] if len(results) == 1 else tuple(results)

    def _values(self, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """A value for each input, None for one that is left out."""
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple, dict)):
            only: Any = inputs[0]
            if isinstance(only, dict):
                inputs, named = (), {**only, **named}
            elif only and not isinstance(only[0], (int, float, list, tuple)):
                inputs = only
        names = self._input_names
        if len(inputs) > len(names):
            raise InvalidType(f"more inputs are given than the model has: {len(inputs)}; it has {len(names)} ({', '.join(names)})")
        values = list(inputs)
        if named or len(values) < len(names):
            values += [None] * (len(names) - len(values))
            for name, value in named.items():
                if name not in names:
                    raise InvalidType(f'the model has no input "{name}"{_minnow.nearest(name, names)}')
                if names.index(name) < len(inputs):
                    raise InvalidType(f'the input "{name}" is given twice, by its position and by its name')
                values[names.index(name)] = value
        return values

    def _call(self, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """The outputs as Vars."""
        return self._run(self._values(inputs, named), False)

    def _run(self, values: list[Any], arrays: bool, out: list[Any] | None = None) -> list[Any]:
        # Numbers of Python are weak: they take the dtype that the model wants.
        for value in values:
            if isinstance(value, (int, float, list, tuple)):
                values = [Var(value, dtype) if dtype is not None and isinstance(value, (int, float, list, tuple)) else value
                          for value, dtype in zip(values, self._dtypes)]
                break
        if self._takes_images:
            values = [value if image is None or value is None else _as_image(value, image) for value, image in zip(values, self._images)]
        if out is not None and self._loaded.run_into(values, out):
            return out
        results = self._loaded(values, arrays and out is None)
        if out is not None:
            for array, result, name in zip(out, results, self.outputs):
                _deliver(result, array, name)
            return out
        if self._takes_images and not arrays:
            for result in results:
                if isinstance(result, Var) and result.known_shape is not None and result.ndim == 4:
                    result.__dict__["_format"] = self._format
        if arrays:  # sequences among the outputs come as Vars in any case
            for value in results:
                if isinstance(value, (Var, list)):
                    return to_arrays(results)  # type: ignore[no-any-return]
        return results

    @overload
    def __call__(self, input: NDArray[Any] | numpy.generic, /, *inputs: NDArray[Any] | numpy.generic | float | Sequence[Any] | None, out: None = None,
                 **named: NDArray[Any] | numpy.generic | float | Sequence[Any] | None) -> NDArray[Any]: ...

    @overload
    def __call__(self, input: Var, /, *inputs: VarLike, out: None = None, **named: VarLike) -> Var: ...

    @overload
    def __call__(self, *inputs: VarLike | Mapping[str, VarLike], out: Any = None, **named: VarLike) -> Any: ...

    def __call__(self, *inputs: Any, out: Any = None, **named: Any) -> Any:
        """Return the model's outputs for these inputs, in the order of forward(): a single output itself, several as a tuple.

        If an input is a NumPy array and none is a Var, the outputs are writable NumPy arrays. Otherwise they are Vars, as everywhere in the package.
        If the module's backend is a device and an input is an array there (a tensor of torch on CUDA, say, or a DeviceArray), nothing is copied, and the
        outputs are DeviceArrays, which DLPack shares: torch.from_dlpack(module(x)). Other inputs are copied to the device.
        out: an array or a Var of the output's dtype and shape for the result, which is returned; a list for several outputs. Results are computed
        directly into row-major arrays, without a copy. Raises the errors of forward().
        """
        if out is not None and "out" in self._input_names:
            named["out"], out = out, None
        values = self._values(inputs, named)
        if self._names_device and any(_minnow.is_on_device(value) for value in values):
            if out is not None:
                raise InvalidType("out is for arrays of the host; arrays of a device give new ones")
            on_device = self._on_device()(values)
            return on_device[0] if len(on_device) == 1 else tuple(on_device)
        if out is None:
            results = self._run(values, gives_arrays(values))
            return results[0] if len(results) == 1 else tuple(results)
        several = isinstance(out, (list, tuple))
        places = list(out) if several else [out]
        if len(places) != len(self.outputs):
            raise InvalidType(f"out has {len(places)} array{'s' * (len(places) != 1)}; the model has {len(self.outputs)} output{'s' * (len(self.outputs) != 1)} ({', '.join(self.outputs)})")
        self._run(values, False, places)
        return out

    def _on_device(self) -> _minnow.DeviceModel:
        if self._device_model is None:
            self._device_model = _minnow.DeviceModel(self._loaded.model, self._options)
        return self._device_model

    def to_device(self, array: VarLike) -> _minnow.DeviceArray:
        """Copy an array to the device that is the module's backend, for calls of this module and of others on that device.

        >>> module = minnow.load(path, backend="opencl")  # doctest: +SKIP
        >>> module(module.to_device(x)).numpy()           # doctest: +SKIP

        Raises InvalidArgument (a ValueError) if the module's backend is no device, Unsupported if the device cannot be used or the model has states, and
        OutOfMemory (a MemoryError).
        """
        return self._on_device().upload(array)

    def prepare(self, shapes: Mapping[str, Sequence[int | None]] | Sequence[Any] | None = None) -> LoadedModule:
        """Plan for inputs of these shapes and pack the weights now, so that the first call with them does not have to; return the module.

            model.prepare({"image": (1, 3, 640, 640)})
            model.prepare((1, 3, 640, 640))                   # of one input

        shapes: by the input's name, or in the inputs' order. None for a dimension, or no shape for an input, stands for the declared one, which must
        be fixed. Raises InvalidArgument (a ValueError) for unknown names, and for shapes that are open or that the model does not accept.
        """
        given: dict[str, Any]
        if isinstance(shapes, Mapping):
            given = dict(shapes)
        elif shapes is None:
            given = {}
        else:
            rows: list[Any] = [shapes] if len(self._input_names) == 1 and not any(hasattr(item, "__iter__") for item in shapes) else list(shapes)
            if len(rows) > len(self._input_names):
                raise InvalidArgument(f"{len(rows)} shapes are given; the model has {len(self._input_names)} input{'s' * (len(self._input_names) != 1)} ({', '.join(self._input_names)})")
            given = dict(zip(self._input_names, rows))
        for name in given:
            if name not in self._input_names:
                raise InvalidArgument(f'the model has no input "{name}"{_minnow.nearest(name, self._input_names)}')
        self._loaded.prepare([_fixed(row, given.get(row)) for row in self.inputs])
        return self

    @property
    def inputs(self) -> list[Description]:
        """The inputs: names, each with dtype and shape."""
        return [Description(*row) for row in self._loaded.model.inputs]

    @property
    def outputs(self) -> list[Description]:
        """The outputs: names, each with dtype and shape."""
        return [Description(*row) for row in self._loaded.model.outputs]

    def describe_inputs(self) -> list[Description]:
        """`inputs` as a function."""
        return self.inputs

    def describe_outputs(self) -> list[Description]:
        """`outputs` as a function."""
        return self.outputs

    @property
    def labels(self) -> list[str]:
        """Names of classes, where the model keeps them."""
        return list(self._loaded.model.labels)

    @property
    def properties(self) -> dict[str, str]:
        """Further data stored in the model, such as "character" for a text recognizer."""
        return dict(self._loaded.model.properties)

    def preprocess(self, picture: VarLike, format: str = "bgr") -> Any:
        """Return the input that the model's own preprocessing makes of a picture, an array [height, width, channels] or a frame of a camera.

        format: how its pixels lie: bgr (as cv.imread gives them), rgb, rgba, bgra, gray, nv12, nv21, i420, yv12, yuyv, yvyu, uyvy, bgr565, rgb565 or bgr555.
        Raises InvalidArgument (a ValueError) if the model carries no preprocessing (see convert(preprocess=)), or the picture does not fit its format.
        """
        from minnow.cv._color import _format
        made = _minnow.vision.picture_input(self._loaded.model, picture, _format(format))[1]
        return to_arrays([made])[0] if gives_arrays([picture]) else made

    def classify(self, picture: VarLike, count: int = 5, format: str = "bgr") -> list[Label]:
        """Return the likeliest classes of a picture, best first. The model carries its preprocessing and the names of its classes.

            for name, probability, index in minnow.load("classifier.minnow").classify(cv.imread("cat.jpg")): ...

        If the outputs do not add up to 1, they become probabilities by softmax. Raises InvalidArgument (a ValueError) if the model carries no preprocessing
        or labels, takes other inputs besides, or has no output with a number for each label; for format see preprocess().
        """
        from minnow.cv._color import _format
        index, made = _minnow.vision.picture_input(self._loaded.model, picture, _format(format))
        if len(self._input_names) != 1:
            raise InvalidArgument(f"classify() runs models of one input; this one has {len(self._input_names)} ({', '.join(self._input_names)})")
        best = _minnow.vision.top_labels(self._loaded.model, [value for value in self._run([made], False) if isinstance(value, Var)], count)
        if not best and count > 0:
            raise InvalidArgument(f"the model carries {len(self.labels)} labels, and no output has a number for each" if self.labels else "the model carries no labels; convert(labels=) stores them")
        return [Label(*row) for row in best]

    @property
    def states(self) -> States:
        """The values that the module keeps from call to call, by name, to read and to write."""
        return States(self._loaded)

    def reset_states(self) -> None:
        """Puts the initial values of the model's states back."""
        self._loaded.reset_states()

    def clone(self) -> LoadedModule:
        """Another module over the same weights; states are its own and begin anew."""
        return LoadedModule(self._loaded.model, options=self._options, loaded=self._loaded.clone())

    def __deepcopy__(self, memo: Any) -> LoadedModule:
        return self.clone()

    def __reduce__(self) -> Any:
        """For pickle: the model and its options. Its states begin anew."""
        return _from_bytes, (_minnow.model_bytes(self._loaded.model), self._options)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: a table of inputs and outputs."""
        import html
        rows = [("input", row) for row in self.describe_inputs()] + [("output", row) for row in self.describe_outputs()]
        cells = "".join(f"<tr><td>{kind}</td><td>{html.escape(row.name)}</td><td>{html.escape(row.type)}</td></tr>" for kind, row in rows)
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        rows = self._loaded.model
        return screen(f"{type(self).__name__}({', '.join(r[0] + ': ' + r[3] for r in rows.inputs)} -> {', '.join(r[0] + ': ' + r[3] for r in rows.outputs)})")


def _from_bytes(data: bytes, options: dict[str, Any]) -> LoadedModule:
    return LoadedModule(read_model(data, "none").model, options=options)


def _fits(shape: Sequence[int], declared: Sequence[int | str | None]) -> bool:
    return all(not isinstance(want, int) or size == want for size, want in zip(shape, declared))


def _as_image(value: Any, declared: Sequence[int | str | None]) -> Any:
    """Adapt the value to an input of four axes: an image [height, width, channels] gets a batch axis, and the channels of an image from convert()
    are moved to the model's channel axis."""
    if isinstance(value, Var):
        if value.known_shape is None:
            return value
    elif len(getattr(value, "shape", ())) != 3:
        return value
    else:
        value = Var(value)
    shape = value.known_shape
    known = value.__dict__.get("_format")
    if shape is None or len(shape) not in (3, 4) or (len(shape) == 4 and (known is None or _fits(shape, declared))):
        return value
    if len(shape) == 3:
        value, known = value[None], "NHWC"
        shape = (1, *shape)
        # If a model leaves its dimensions open, assume the channel axis that is usual for its format.
        open_channels = not isinstance(declared[1], int) and not isinstance(declared[3], int)
        if _fits(shape, declared) and not (open_channels and shape[3] in (1, 3, 4)):
            return value
    return value.transpose(0, 3, 1, 2) if known == "NHWC" else value.transpose(0, 2, 3, 1)


def _fixed(declared: Description, shape: Any) -> list[int]:
    """The shape that an input is planned for."""
    known = declared.shape
    dims = [-1] * len(known or ()) if shape is None else dims_of(f'the shape of "{declared}"', shape)
    if known is not None and len(dims) == len(known):
        dims = [own if dim == -1 and isinstance(own, int) else dim for dim, own in zip(dims, known)]
    if -1 in dims or (known is None and shape is None):
        raise InvalidArgument(f'the input "{declared}" is {declared.type}; prepare() takes a shape for it without open dimensions: prepare({{"{declared}": (...)}})')
    return dims


def _deliver(result: Any, array: Any, name: str) -> None:
    """Puts an output into a Var, or an array that runs do not write into themselves."""
    if not isinstance(result, Var):
        raise InvalidType(f'the output "{name}" is no tensor; out is for tensors')
    there = array if isinstance(array, Var) else memoryview(array)
    if tuple(there.shape) != result.shape:
        raise InvalidArgument(f'the output "{name}" has the shape {result.shape}, the array in out {tuple(there.shape)}')
    if Var(array).dtype != result.dtype:
        raise InvalidArgument(f'the output "{name}" is {result.dtype}, the array in out {Var(array).dtype}')
    if isinstance(array, Var):
        array.assign(result)
    else:
        import numpy
        numpy.copyto(numpy.asarray(array), result.numpy())


class RuntimeManager:
    """How modules that are loaded with it run: the options of load_module_from_file() together."""

    def __init__(self, **options: Unpack[RunOptions]) -> None:
        check(options)
        self.options = options


# MNN's numbers for backends, which all mean the CPU here, and for precision, memory and power.
_PRECISIONS = {0: "normal", 1: "high", 2: "low", 3: "low"}
_MEMORIES = {0: "normal", 1: "normal", 2: "low"}
_POWERS = {0: "balanced", 1: "performance", 2: "efficient", "normal": "balanced", "high": "performance", "low": "efficient"}


def create_runtime_manager(config: Any = ()) -> tuple[RuntimeManager, ...]:
    """A RuntimeManager for each mapping in `config`, with MNN's keys: numThread, precision, memory, power ("normal", "high", "low", or MNN's
    numbers), backend ("CPU"). Raises InvalidArgument (a ValueError) for another key, Unsupported for another backend.

    >>> [manager] = nn.create_runtime_manager({"numThread": 2, "precision": "high"})
    >>> manager.options
    {'threads': 2, 'precision': 'high'}
    """
    managers = []
    for entry in [config] if isinstance(config, dict) else config:
        known = ["backend", "numThread", "precision", "memory", "power", "mode"]
        for name in entry:
            if name not in known:
                raise InvalidArgument(f'a runtime manager has no "{name}"{_minnow.nearest(name, known)}')
        backend = entry.get("backend", "CPU")
        if backend not in ("CPU", "cpu", 0, "AUTO", 4):
            raise _minnow.Unsupported(f"the backend {backend!r} is not there; there is CPU")
        options: dict[str, Any] = {"threads": int(entry.get("numThread", 0))}
        for name, values in (("precision", _PRECISIONS), ("memory", _MEMORIES), ("power", _POWERS)):
            if name in entry:
                options[name] = values.get(entry[name], entry[name])  # type: ignore[attr-defined]
        managers.append(RuntimeManager(**options))
    return tuple(managers)


def load_module_from_file(path: ModelPath, inputs: Sequence[str] = (), outputs: Sequence[str] = (), *, optimize: str | None = None,
                          shapes: Mapping[str, Sequence[int | None]] | None = None, runtime_manager: RuntimeManager | None = None, **options: Unpack[RunOptions]) -> LoadedModule:
    """Load the part of a model file between these inputs and outputs, which may be any named values; by default the whole model.

    path: a file of any format that Minnow reads, the bytes of a file, or an open binary file; a list for formats with several files.
    shapes: fixed dimensions of inputs, by name; None, or -1, for one that stays open. optimize: "standard", "none" or "train"; by default
    "standard", except for .minnow files written by convert(), which are used as they are. runtime_manager: options from create_runtime_manager().

    Raises FileNotFound (a FileNotFoundError) or another IoError if a file cannot be read, InvalidModel (a ValueError) for a wrong file, Unsupported
    naming all missing operators, InvalidArgument (a ValueError) for an unknown value or a shape that does not fit, and InvalidType
    (a TypeError) for an unknown option.

    options: threads (0: all cores), precision ("normal", "high", "tf32", "low"), memory ("normal"; "low": the least memory, at the price of time),
    backend ("cpu", "auto", "cuda", "opencl", "vulkan", "gles", "reference", or a list of them; "cuda:1" is a second device), memory_limit (bytes that a run may hold), time_limit (seconds of a run), pin_threads, power ("performance",
    "balanced", "efficient"), tuning (a file of tools.tune(); a UserWarning says if it has no entry for this model and machine),
    weight_cache (a file in which processes share the packed weights of this model; the first run that packs writes it, and replaces it,
    with a UserWarning, if it is damaged, or of another model, machine or build), kernel_cache (a file of compiled kernels for devices, likewise),
    fallback (True: go on with the processor if a device is missing, fails or has no memory left).
    """
    check(options, ("inputs", "outputs", "optimize", "shapes", "runtime_manager"))
    given: dict[str, Any] = {**(runtime_manager.options if runtime_manager is not None else {}), **options}
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        if isinstance(names, str):
            raise InvalidType(f'{what} takes a list of names, not the text "{names}"')
    return LoadedModule(read_model(path, optimize, shapes=shapes).model, inputs, outputs, given)


def load_module(outputs: Sequence[Var] | Var, inputs: Sequence[Var] = (), *, optimize: str | None = None, **options: Unpack[RunOptions]) -> LoadedModule:
    """Make a module of the expression that computes `outputs` from its placeholders (in the order of `inputs`, if given). optimize, options: see
    load_module_from_file(). Raises InvalidArgument (a ValueError) for an input that is no placeholder of the expression.

    >>> x = expr.placeholder("x", "float32", (None,))
    >>> module = nn.load_module(expr.relu(x), [x])
    >>> module([-1.0, 2.0])
    Var([0., 2.], shape=(2,), dtype=float32, name='output')
    >>> module.inputs
    [Description('x', f32[?])]
    """
    check(options, ("outputs", "inputs", "optimize"))
    return LoadedModule(_minnow.optimized(_minnow.to_model(outputs, inputs), optimize), options=options)


__all__ = ["Description", "IncompatibleKeys", "Label", "States", "Module", "LoadedModule", "RuntimeManager", "create_runtime_manager", "load_module", "load_module_from_file"]

all_suggesting(globals(), __all__)
