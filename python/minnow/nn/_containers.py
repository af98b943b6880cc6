# SPDX-License-Identifier: Apache-2.0
"""Modules that hold others."""
from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, overload

from minnow._minnow import InvalidArgument, InvalidIndex, nearest
from minnow.nn._module import Module


class _Numbered(Module):
    """Modules with the names "0", "1" ..."""

    def _items(self) -> list[Module]:
        return [value for name, value in vars(self).items() if name.isdigit()]

    def _fill(self, modules: Iterable[Module]) -> None:
        for name in [name for name in vars(self) if name.isdigit()]:
            delattr(self, name)
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items())

    def _place(self, index: int) -> int:
        count = len(self)
        if not -count <= index < count:
            raise InvalidIndex(f"{type(self).__name__} has {count} modules, {index} is asked for")
        return index % count

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        items = self._items()
        if isinstance(index, slice):
            made = type(self)()
            made._fill(items[index])
            return made
        return items[self._place(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(self._place(index)), module)

    def __delitem__(self, index: int) -> None:
        items = self._items()
        del items[self._place(index)]
        self._fill(items)

    def append(self, module: Module) -> Any:
        """Add a module at the end; give this one. Never fails."""
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end; give this one. Never fails."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one of this number. Never fails."""
        items = self._items()
        items.insert(index, module)
        self._fill(items)


class Sequential(_Numbered):
    """Modules that are called one after the other. They are arguments, or a dict that names them. Raises the errors of the modules.

    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU())
    >>> net(minnow.Var([[[1.0, 2.0], [3.0, 4.0]]], "float32")).shape
    (1, 3)
    """

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                setattr(self, name, module)
        else:
            self._fill(modules)

    def _items(self) -> list[Module]:
        return [value for value in vars(self).values() if isinstance(value, Module)]

    def forward(self, input: Any) -> Any:
        for module in self._items():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules. Raises InvalidIndex (an IndexError) for a number that there is not.

    >>> layers = nn.ModuleList([nn.Linear(2, 3), nn.ReLU()])
    >>> len(layers), layers[1]
    (2, ReLU())
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self._fill(modules)


class ModuleDict(Module):
    """Modules by name. Raises InvalidArgument (a ValueError) for a name that there is not.

    >>> layers = nn.ModuleDict({"first": nn.Linear(2, 3), "act": nn.ReLU()})
    >>> list(layers.keys())
    ['first', 'act']
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self.update(modules or {})

    def _modules(self) -> dict[str, Module]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def __getitem__(self, name: str) -> Module:
        own = self._modules()
        if name not in own:
            raise InvalidArgument(f'there is no module "{name}"{nearest(name, list(own))}')
        return own[name]

    def __setitem__(self, name: str, module: Module) -> None:
        setattr(self, name, module)

    def __delitem__(self, name: str) -> None:
        del vars(self)[name]

    def __len__(self) -> int:
        return len(self._modules())

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules())

    def __contains__(self, name: object) -> bool:
        return name in self._modules()

    def keys(self) -> Iterable[str]:
        """The names. Never fails."""
        return self._modules().keys()

    def values(self) -> Iterable[Module]:
        """The modules. Never fails."""
        return self._modules().values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Names and modules. Never fails."""
        return self._modules().items()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, or replace those of the same names. Never fails."""
        for name, module in modules.items():
            self[name] = module


__all__ = ["ModuleDict", "ModuleList", "Sequential"]
