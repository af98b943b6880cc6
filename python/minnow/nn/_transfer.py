# SPDX-License-Identifier: Apache-2.0
"""Transfer: training a part of a network. Freezing, low-rank adapters, features computed once, and a head of class means."""
from __future__ import annotations

import contextlib
import fnmatch
import json
import math
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from minnow import _minnow
from minnow import numpy as np
from minnow._functions import all_suggesting, methods_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike
from minnow.nn import _safetensors, init
from minnow.nn import functional as F
from minnow.nn._attention import MultiheadAttention
from minnow.nn._layers import Lora, _Adapted, parameter
from minnow.nn._module import IncompatibleKeys, Module, is_parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pattern = str | Sequence[str]


def _matches(name: str, pattern: Pattern) -> bool:
    return any(fnmatch.fnmatchcase(name, one) for one in ([pattern] if isinstance(pattern, str) else pattern))


def _chosen(module: Module, pattern: Pattern) -> list[tuple[str, Var]]:
    every = [(name, value) for name, value, _ in module._named_vars() if is_parameter(value)]
    chosen = [(name, value) for name, value in every if _matches(name, pattern)]
    if not chosen:
        raise InvalidArgument(f"the module has no parameter {pattern!r}; it has {', '.join(name for name, _ in every[:8])}{' ...' * (len(every) > 8)}")
    return chosen


def freeze(module: Module, pattern: Pattern = "*") -> list[str]:
    """Training leaves the parameters whose names fit a pattern of * and ?, or one of several, as they are, and computes no gradients for them. Returns
    their names. Optimizers that are made later do not have them. Raises InvalidArgument (a ValueError) if no name fits.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> nn.freeze(net, "0.*")
    ['0.weight', '0.bias']
    >>> [name for name, _ in net.named_parameters()]
    ['2.weight', '2.bias']
    """
    chosen = _chosen(module, pattern)
    for _, value in chosen:
        value.trainable = False
        value.__dict__["_frozen"] = True
    return [name for name, _ in chosen]


def unfreeze(module: Module, pattern: Pattern = "*") -> list[str]:
    """Undo freeze() for the parameters whose names fit; return their names. Raises InvalidArgument (a ValueError) if no name fits."""
    chosen = _chosen(module, pattern)
    for _, value in chosen:
        value.__dict__.pop("_frozen", None)
        value.trainable = True
    return [name for name, _ in chosen]


def train_biases_only(module: Module) -> list[str]:
    """Freeze all parameters but biases, by their names or by what a file's model does with them, whose names are returned (Ben Zaken et al. 2021). Raises InvalidArgument (a ValueError) if there are none."""
    named = {f"{path}.{name}".removeprefix(".") for path, part in module.named_modules() for name in part._biases()}
    names = [name for name, _ in _chosen(module, "*") if "bias" in name.rsplit(".", 1)[-1] or name in named]
    if not names:
        raise InvalidArgument("the module has no bias")
    freeze(module)
    return unfreeze(module, names)


def train_within(module: Module, memory: int, loss: Callable[..., Any], *batch: Any, optimizer: str = "sgd", **settings: Any) -> list[str]:
    """Freeze all parameters but those of the last layers that can be trained within `memory` bytes for activations, gradients and the optimizer's
    state; of layers before them the biases, as far as they fit (Lin et al. 2022, "On-device training under 256KB memory"). Steps of
    loss(*batch) are planned for that, none is made. Returns the names of the parameters that are trained. Raises InvalidArgument (a ValueError)
    where the last layer alone takes more; then no parameter is frozen that was not.

    >>> net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
    >>> nn.train_within(net, 30_000, lambda x: (net(x) ** 2).mean(), minnow.Var(np.zeros((2, 64), "float32")))
    ['0.bias', '2.weight', '2.bias']
    """
    from minnow import optim
    every = _chosen(module, "*")
    before = [value.trainable for _, value in every]
    layers: list[list[str]] = []
    for name, _ in every:
        if not layers or layers[-1][0].rpartition(".")[0] != name.rpartition(".")[0]:
            layers.append([])
        layers[-1].append(name)

    def choose(names: Sequence[str]) -> dict[str, Var]:
        for name, value in every:
            value.trainable = name in names
            value.__dict__.pop("_frozen", None)
            if name not in names:
                value.__dict__["_frozen"] = True
        return {name: value for name, value in every if name in names}

    def size(names: Sequence[str]) -> int:
        made = optim.create(optimizer, choose(names), **settings)
        step = optim.TrainingStep(loss, made)
        step.prepare(*batch)
        return step.arena_bytes + sum(value.size * value.dtype.itemsize for value in made.state_dict().values())

    def most(candidates: Sequence[Sequence[str]], with_: Sequence[str]) -> list[str]:
        """The names of as many candidates from the end as fit."""
        low, high = 0, len(candidates)
        while low < high:
            middle = (low + high + 1) // 2
            names = [name for one in candidates[len(candidates) - middle:] for name in one] + list(with_)
            low, high = (middle, high) if size(names) <= memory else (low, middle - 1)
        return [name for one in candidates[len(candidates) - low:] for name in one]

    try:
        chosen = most(layers, [])
        if not chosen:
            raise InvalidArgument(f"training {', '.join(layers[-1])} alone takes {size(layers[-1])} bytes, more than {memory}")
        biases = [[name] for name, _ in every if name not in chosen and "bias" in name.rpartition(".")[2]]
        chosen = most(biases, chosen) + chosen
    except Exception:
        for (_, value), trained in zip(every, before):
            value.__dict__.pop("_frozen", None)
            value.trainable = trained
            if not trained:
                value.__dict__["_frozen"] = True
        raise
    return list(choose(chosen))


# ---- Low-rank adapters

class _Place(NamedTuple):
    """A weight that may have an adapter: the layer's, or of a layer of several and of a file's model the weight's own."""
    layer: _Adapted
    adapter_name: str  # in the layer
    weight: Var

    @property
    def adapter(self) -> Lora | None:
        return self.layer._adapter(self.adapter_name)


def _places(module: Module) -> dict[str, _Place]:
    """The weights of all layers that may have an adapter, by the adapter's path without its last part, "lora"."""
    return {f"{path}.{name}".removeprefix(".").rpartition("lora")[0].removesuffix("."): _Place(layer, name, weight)
            for path, layer in module.named_modules() if isinstance(layer, _Adapted) for name, weight in layer._adaptable().items()}


def _parts(place: _Place) -> int:
    return 3 if isinstance(place.layer, MultiheadAttention) and place.adapter_name == "lora" else 1  # query, key and value each have their own


def _freeze_for_lora(module: Module) -> None:
    """Freeze the parameters that are trained, and note that remove_lora() thaws them."""
    for _, value, _ in module._named_vars():
        if value.trainable:
            value.trainable = False
            value.__dict__["_frozen"] = "lora"


def _adapted(module: Module) -> list[tuple[str, _Place, Lora]]:
    found = [(name, place, adapter) for name, place in _places(module).items() if (adapter := place.adapter) is not None]
    if not found:
        raise InvalidArgument("the module has no adapters; lora() adds them")
    return found


def lora(module: Module, rank: int = 8, alpha: float = 16.0, pattern: Pattern = "*") -> list[str]:
    """Freeze the module and add low-rank adapters to its Linear, convolution and attention layers whose names fit, and in models of
    load_trainable() to parameters of two dimensions and more, as rows of their first one: weight + alpha / rank B A, where B begins with zeros
    (Hu et al. 2021). Only A and B are trained. Returns the names of the layers, and of an attention with several projections and a file's model
    those of the weights. Raises InvalidArgument (a ValueError) for a rank below 1, if no layer fits and where adapters exist already.

    >>> net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    >>> nn.lora(net, rank=2, pattern="0")
    ['0']
    >>> [name for name, _ in net.named_parameters()]
    ['0.lora.a', '0.lora.b']
    """
    if rank < 1:
        raise InvalidArgument(f"the rank is positive, it is {rank}")
    places = _places(module)
    if any(place.adapter for place in places.values()):
        raise InvalidArgument("the module has adapters already; merge_lora() or remove_lora() ends them")
    layers = {id(layer): name for name, layer in module.named_modules()}
    fitting = {name: place for name, place in places.items() if _matches(name, pattern) or _matches(layers[id(place.layer)], pattern)}
    if not fitting:
        raise InvalidArgument(f"the module has no Linear, convolution or attention layer {pattern!r}"
                              + (f"; it has {', '.join(list(places)[:8])}{' ...' * (len(places) > 8)}" if places else ""))
    _freeze_for_lora(module)
    for place in fitting.values():
        parts = _parts(place)
        rows, columns = place.weight.shape[0] // parts, math.prod(place.weight.shape[1:])
        a, b = parameter((parts, rank, columns), place.weight.dtype), parameter((parts, rows, rank), place.weight.dtype)
        init.kaiming_uniform_(a, math.sqrt(5))
        place.layer._set_adapter(place.adapter_name, Lora(a, b, alpha / rank))
    return list(fitting)


def merge_lora(module: Module) -> None:
    """Add adapters to the weights, so that layers cost what they cost without; state_dict() and save() then give the state of the plain network.
    unmerge_lora() takes them out again, exactly. Raises InvalidArgument (a ValueError) if there are no adapters."""
    for _, place, adapter in _adapted(module):
        if adapter.merged is None:
            adapter.merged = _safetensors.detached(place.weight)
            place.weight.assign(_safetensors.detached(adapter.added_to(place.weight)))


def unmerge_lora(module: Module) -> None:
    """Undo merge_lora(). Raises InvalidArgument (a ValueError) if there are no adapters."""
    for _, place, adapter in _adapted(module):
        if adapter.merged is not None:
            place.weight.assign(adapter.merged)
            adapter.merged = None


def remove_lora(module: Module) -> None:
    """Take the adapters away and train again what lora() froze; weights stay as they are, with merged adapters or without. Raises InvalidArgument (a
    ValueError) if there are none."""
    for _, place, _ in _adapted(module):
        place.layer._set_adapter(place.adapter_name, None)
    for _, value, _ in module._named_vars():
        if value.__dict__.get("_frozen") == "lora":
            del value.__dict__["_frozen"]
            value.trainable = True


def save_lora(module: Module, path: str | os.PathLike[str]) -> None:
    """Write the adapters alone to a .safetensors file. Raises InvalidArgument (a ValueError) if there are none, and an OSError if the file cannot be
    written."""
    adapted = _adapted(module)
    tensors = {f"{name}.lora.{part}".removeprefix("."): value for name, _, adapter in adapted for part, value in (("a", adapter.a), ("b", adapter.b))}
    _safetensors.save_file(tensors, path, {"scales": json.dumps({name: adapter.scale for name, _, adapter in adapted})})


def load_lora(module: Module, path: str | os.PathLike[str]) -> list[str]:
    """Add the adapters of a file to a module that has none, or replace those that it has; freeze the rest and return the names of the layers. Raises
    InvalidModel (a ValueError) for a wrong file and InvalidArgument (a ValueError) for one of another network."""
    tensors, metadata = _safetensors.load_with_metadata(path)
    scales = json.loads(metadata.get("scales", "{}"))
    places = _places(module)
    for name in scales:
        if name not in places:
            raise InvalidArgument(f'{os.fspath(path)}: the module has no layer "{name}" that takes an adapter{_minnow.nearest(name, list(places))}')
        weight, parts = places[name].weight, _parts(places[name])
        a, b = (tensors[f"{name}.lora.{part}".removeprefix(".")] for part in "ab")
        if a.shape[0] != parts or a.shape[2] != math.prod(weight.shape[1:]) or parts * b.shape[1] != weight.shape[0]:
            raise InvalidArgument(f'{os.fspath(path)}: the adapter of "{name}" does not fit the weight {list(weight.shape)}')
    if any(place.adapter for place in places.values()):
        unmerge_lora(module)
        remove_lora(module)
    _freeze_for_lora(module)
    for name, scale in scales.items():
        a, b = (_minnow.trainable(tensors[f"{name}.lora.{part}".removeprefix(".")]) for part in "ab")
        places[name].layer._set_adapter(places[name].adapter_name, Lora(a, b, scale))
    return list(scales)


# ---- Features and class means

@methods_suggesting
class NearestClassMean(Module):
    """A head that knows classes by the means of their features, and learns one from a few pictures without gradients (Mensink et al. 2013; Snell et
    al. 2017).

        head = nn.NearestClassMean(network_without_its_last_layer)
        head.learn("mug", five_pictures)
        head.classify(picture)

    features: a module or a function from a batch to [N, D], or to [N, C, ...], which is averaged over the rest; without one, inputs are features.
    Scores are cosines. Raises InvalidArgument (a ValueError) where nothing was learned and for features of another size.
    """

    def __init__(self, features: Callable[[Any], Any] | None = None) -> None:
        self.features = features
        self.names: list[str] = []
        self._sums: list[Var] = []  # of unit vectors
        self._counts: list[int] = []

    def _unit(self, inputs: VarLike) -> Var:
        x = F._var(inputs)
        x = F._var(x if self.features is None else self.features(x))
        if len(F.shape_of(x)) > 2:
            x = F.op("ReduceMean", x, Var(list(range(2, len(F.shape_of(x)))), "int64"), keepdims=0)
        F._rank_is(F.shape_of(x), 2)
        if self._sums and F.shape_of(x)[1] != self._sums[0].shape[0]:
            raise InvalidArgument(f"features have the size {self._sums[0].shape[0]}, they have {F.shape_of(x)[1]}")
        return _safetensors.detached(F.normalize(x))

    def learn(self, name: str, inputs: VarLike) -> None:
        """Add examples [N, ...] of a class, which may be new."""
        unit = self._unit(inputs)
        total = F.op("ReduceSum", unit, Var([0], "int64"), keepdims=0).evaluate()
        if name in self.names:
            at = self.names.index(name)
            self._sums[at] = (self._sums[at] + total).evaluate()
            self._counts[at] += unit.shape[0]
        else:
            self.names.append(name)
            self._sums.append(total)
            self._counts.append(unit.shape[0])

    def forget(self, name: str) -> None:
        """Take a class away."""
        if name not in self.names:
            raise InvalidArgument(f'there is no class "{name}"{_minnow.nearest(name, self.names)}')
        at = self.names.index(name)
        del self.names[at], self._sums[at], self._counts[at]

    def forward(self, inputs: VarLike) -> Var:
        """Cosines [N, classes] between features and class means."""
        if not self.names:
            raise InvalidArgument("no class was learned yet")
        means = np.stack([np.asarray(total) / count for total, count in zip(self._sums, self._counts)])
        return F.op("MatMul", self._unit(inputs), F.op("Transpose", F.normalize(means), perm=[1, 0]))

    def classify(self, inputs: VarLike) -> list[str]:
        """The name of the nearest class for each input."""
        return [self.names[int(at)] for at in self.forward(inputs).argmax(axis=1).tolist()]

    def state_dict(self) -> dict[str, Var]:
        """The means and counts of the classes, by their names."""
        made = {f"{name}.sum": _safetensors.detached(total) for name, total in zip(self.names, self._sums)}
        made.update({f"{name}.count": Var(count, "int64") for name, count in zip(self.names, self._counts)})
        return made

    def load_state_dict(self, state: Mapping[str, VarLike], strict: bool = True) -> IncompatibleKeys:
        """Take the classes of a state_dict(), and forget others."""
        names = [key[:-4] for key in state if key.endswith(".sum")]
        if len(names) * 2 != len(state) or any(f"{name}.count" not in state for name in names):
            raise InvalidArgument("the state is not that of a NearestClassMean")
        self.names, self._sums = names, [F._var(state[f"{name}.sum"]) for name in names]
        self._counts = [int(np.asarray(state[f"{name}.count"])) for name in names]
        return IncompatibleKeys([], [])


@methods_suggesting
class CachedFeatures:
    """A data set of the features of another one, computed once: item i is (features, *rest), where the other one's is (input, *rest).

    features: the frozen part of a network, which is called in eval mode with batches. path: a file (NumPy's .npy) for the features; if it holds
    those of this network and these inputs already, nothing is computed. They are compared by the weights, by batch_size inputs spread over the
    data set, and by the features of these. key: a text for the network and the inputs, such as a version; with one it alone is compared. Without
    a path, features beyond memory_limit bytes go to a file that is deleted with the object. It needs NumPy. Raises InvalidArgument (a ValueError)
    for an empty data set.
    """

    def __init__(self, features: Callable[[Any], Any], dataset: Any, *, path: str | os.PathLike[str] | None = None, key: str = "", batch_size: int = 32,
                 memory_limit: int = 1 << 30) -> None:
        import numpy
        if not len(dataset):
            raise InvalidArgument("the data set is empty")
        self._rest: dict[int, tuple[Any, ...]] = {}  # labels and so on, once they were read
        self._dataset, self._features, self._limit = dataset, features, memory_limit
        self._temporary: Any = None
        if path is None:
            self._rows: NDArray[Any] = self._compute(batch_size, None)
            return
        path, note = os.fspath(path), os.fspath(path) + ".json"
        content = json.dumps({"inputs": len(dataset), **({"key": key} if key else self._compared(batch_size))})
        if os.path.exists(note) and os.path.exists(path):
            with open(note) as file:
                if file.read() == content:
                    self._rows = numpy.load(path, mmap_mode="r")
                    return
        if os.path.exists(note):
            os.remove(note)  # it does not describe a file that is being written
        self._rows = self._compute(batch_size, path)
        with open(note, "w") as file:
            file.write(content)

    @staticmethod
    def _parts(item: Any) -> tuple[Any, ...]:
        return tuple(item) if isinstance(item, (tuple, list)) else (item,)

    def _compared(self, count: int) -> dict[str, str]:
        """Digests of the weights, of some inputs and of their features."""
        import hashlib
        import numpy
        weights, inputs = hashlib.sha256(), hashlib.sha256()
        if isinstance(self._features, Module):
            for name, value in self._features.state_dict().items():
                weights.update(name.encode() + str(value.dtype).encode())
                weights.update(memoryview(value.astype("float32").evaluate()) if value.size else b"")
        count = min(count, len(self._dataset))
        items = [numpy.asarray(self._parts(self._dataset[i * (len(self._dataset) - 1) // max(count - 1, 1)])[0]) for i in range(count)]
        for item in items:
            inputs.update(f"{item.dtype}{item.shape}".encode() + item.tobytes())
        with self._evaluating():
            made = numpy.asarray(self._features(Var(numpy.stack(items))))
        return {"weights": weights.hexdigest(), "sample": inputs.hexdigest(), "features": hashlib.sha256(made.tobytes()).hexdigest()}

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        modes = [(module, module.training) for module in self._features.modules()] if isinstance(self._features, Module) else []
        for module, _ in modes:
            module.training = False
        try:
            yield
        finally:
            for module, mode in modes:
                module.training = mode

    def _compute(self, batch_size: int, path: str | None) -> NDArray[Any]:
        import numpy
        import tempfile
        rows: Any = None
        with self._evaluating():
            for first in range(0, len(self._dataset), batch_size):
                items = []
                for i in range(first, min(first + batch_size, len(self._dataset))):
                    item, *rest = self._parts(self._dataset[i])
                    items.append(item)
                    self._rest[i] = tuple(rest)
                made = numpy.asarray(self._features(Var(numpy.stack([numpy.asarray(item) for item in items]))))
                if rows is None:
                    shape = (len(self._dataset), *made.shape[1:])
                    if path is None and made.nbytes // len(items) * len(self._dataset) > self._limit:
                        self._temporary = tempfile.NamedTemporaryFile(suffix=".npy")
                        path = self._temporary.name
                    rows = numpy.empty(shape, made.dtype) if path is None else numpy.lib.format.open_memmap(path, "w+", made.dtype, shape)
                rows[first:first + len(items)] = made
        if path is not None:
            rows.flush()
        return rows  # type: ignore[no-any-return]

    @property
    def on_disk(self) -> bool:
        """Whether the features are in a file."""
        return hasattr(self._rows, "filename")

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Any:
        if index not in self._rest:
            self._rest[index] = self._parts(self._dataset[index])[1:]
        rest = self._rest[index]
        return (self._rows[index], *rest) if rest else self._rows[index]


__all__ = ["CachedFeatures", "NearestClassMean", "freeze", "load_lora", "lora", "merge_lora", "remove_lora", "save_lora", "train_biases_only", "train_within", "unfreeze",
           "unmerge_lora"]

all_suggesting(globals(), [name for name in __all__ if name[0].islower()])
