# SPDX-License-Identifier: Apache-2.0
"""Common behaviour of the package's public functions.

The TypeError for an unknown keyword suggests the nearest ones. Functions of tensors (`arrays`) choose their result types by one rule: if an
argument is or contains a Var, they return Vars; else, if one is an array (or a floating or complex scalar) of NumPy, writable arrays of NumPy;
else, with only Python's numbers and lists, Vars. Functions that make Vars, such as asarray(), always return Vars.
"""
from __future__ import annotations

from types import FunctionType
from typing import Any, Callable, Iterable, TypeVar

from minnow import _minnow

_Function = TypeVar("_Function", bound=Callable[..., Any])


def suggesting(function: _Function, arrays: bool = False, method: bool = False, at_once: bool = False) -> _Function:
    """Return the function with these errors and result types. method: of an object that is not a tensor. at_once: if the user gets arrays, the
    functions of _minnow.vision give it arrays instead of Vars, which saves a microsecond."""
    return _minnow.suggesting(function, arrays, method, at_once) if isinstance(function, FunctionType) else function


def method_of_arrays(function: _Function) -> _Function:
    """Return a method, of an object that is not a tensor, with these errors and result types."""
    return suggesting(function, True, True)


def all_suggesting(module: dict[str, Any], names: Iterable[str], arrays: bool = False) -> None:
    """Replaces a module's functions of these names."""
    for name in names:
        module[name] = suggesting(module[name], arrays)


_Class = TypeVar("_Class", bound=type)


def methods_suggesting(kind: _Class, arrays: bool = False) -> _Class:
    """A class whose public methods have such errors."""
    for name, function in list(vars(kind).items()):
        if isinstance(function, FunctionType) and not name.startswith("_"):
            setattr(kind, name, suggesting(function, arrays, arrays))
    return kind


def methods_of_arrays(kind: _Class) -> _Class:
    """A class, of no tensors, whose public methods have such errors, and results."""
    return methods_suggesting(kind, True)


__all__ = ["suggesting", "method_of_arrays", "all_suggesting", "methods_suggesting", "methods_of_arrays"]
