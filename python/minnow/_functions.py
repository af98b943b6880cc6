# SPDX-License-Identifier: Apache-2.0
"""Functions whose TypeError for an unknown keyword names the nearest ones."""
from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Callable, Iterable, TypeVar

from minnow import _minnow

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: CPython 3.13 names the nearest keyword itself.
_NEEDED = sys.version_info < (3, 13)


def suggesting(function: _Function) -> _Function:
    """The function with such errors."""
    return _minnow.suggesting(function) if _NEEDED and isinstance(function, FunctionType) else function


def all_suggesting(module: dict[str, Any], names: Iterable[str]) -> None:
    """Replaces a module's functions of these names."""
    if _NEEDED:
        for name in names:
            function = module[name]
            if isinstance(function, FunctionType):
                module[name] = _minnow.suggesting(function)


_Class = TypeVar("_Class", bound=type)


def methods_suggesting(kind: _Class) -> _Class:
    """A class whose public methods have such errors."""
    if _NEEDED:
        for name, function in list(vars(kind).items()):
            if isinstance(function, FunctionType) and not name.startswith("_"):
                setattr(kind, name, _minnow.suggesting(function))
    return kind


__all__ = ["suggesting", "all_suggesting", "methods_suggesting"]
