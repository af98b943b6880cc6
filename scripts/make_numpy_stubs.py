#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of minnow.numpy, minnow.numpy.linalg and minnow.numpy.fft, which tell type checkers that NumPy's arrays give NumPy's arrays.

    PYTHONPATH=build/release/python python scripts/make_numpy_stubs.py [--check]

Functions of arrays get three overloads: for Vars, numbers and lists; for arrays of NumPy, numbers and lists; for anything. All other names are
imported from their modules. --check: exits with 1 if a stored stub differs.
"""
import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import minnow.numpy
from minnow.numpy._core import REGISTRY

FOLDER = Path(__file__).resolve().parent.parent / "python" / "minnow" / "numpy"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by scripts/make_numpy_stubs.py.
from builtins import bool as _bool
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union, overload

import numpy
from numpy.typing import NDArray

from minnow._minnow import Var
from minnow._minnow import dtype as DType
from minnow.numpy._core import ArrayLike, Axis, DTypeLike, Shape

'''
ALIASES = '''_Vars = Union[Var, complex, None, Sequence["_Vars"]]
_Arrays = Union[NDArray[Any], numpy.inexact[Any], complex, None, Sequence["_Arrays"]]
'''
UFUNCS = '''
class _Unary(_ufunc):
    @overload
    def __call__(self, x: _Vars, out: Any = ..., *, where: _Vars = ..., dtype: DTypeLike = ..., casting: str = ...) -> Var: ...
    @overload
    def __call__(self, x: _Arrays, out: Any = ..., *, where: _Arrays = ..., dtype: DTypeLike = ..., casting: str = ...) -> NDArray[Any]: ...
    @overload
    def __call__(self, x: ArrayLike, out: Any = ..., *, where: ArrayLike = ..., dtype: DTypeLike = ..., casting: str = ...) -> Var: ...

class _Binary(_ufunc):
    @overload
    def __call__(self, x1: _Vars, x2: _Vars, out: Any = ..., *, where: _Vars = ..., dtype: DTypeLike = ..., casting: str = ...) -> Var: ...
    @overload
    def __call__(self, x1: _Arrays, x2: _Arrays, out: Any = ..., *, where: _Arrays = ..., dtype: DTypeLike = ..., casting: str = ...) -> NDArray[Any]: ...
    @overload
    def __call__(self, x1: ArrayLike, x2: ArrayLike, out: Any = ..., *, where: ArrayLike = ..., dtype: DTypeLike = ..., casting: str = ...) -> Var: ...
'''
# Result types of functions that follow the rule: for Vars, and for arrays of NumPy.
RESULTS = {"Var": "NDArray[Any]", "list[Var]": "list[NDArray[Any]]", "tuple[Var, ...]": "tuple[NDArray[Any], ...]", "tuple[Var, Var]": "tuple[NDArray[Any], NDArray[Any]]",
           "tuple[Var, Var, Var]": "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"}


def follows_the_rule(function):
    """Whether arrays of NumPy give arrays of NumPy, as far as the annotations tell."""
    signature = inspect.signature(function)
    return signature.return_annotation in RESULTS and any("ArrayLike" in str(p.annotation) for p in signature.parameters.values())


def plain(annotation):
    """The text of an annotation where `bool` is a dtype."""
    return re.sub(r"\bbool\b", "_bool", str(annotation))


def result_of(signature):
    return plain(signature.return_annotation) if signature.return_annotation is not inspect.Signature.empty else "Any"


def parameters(signature, arrays):
    parts, star = [], False
    kinds = inspect.Parameter
    rows = list(signature.parameters.values())
    for i, p in enumerate(rows):
        text = plain(p.annotation).replace("ArrayLike", arrays) if p.annotation is not kinds.empty else "Any"
        if p.kind is kinds.VAR_POSITIONAL:
            parts.append(f"*{p.name}: {text}")
            star = True
            continue
        if p.kind is kinds.VAR_KEYWORD:
            parts.append(f"**{p.name}: {text}")
            continue
        if p.kind is kinds.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(f"{p.name}: {text}" + (" = ..." if p.default is not kinds.empty else ""))
        if p.kind is kinds.POSITIONAL_ONLY and (i + 1 == len(rows) or rows[i + 1].kind is not kinds.POSITIONAL_ONLY):
            parts.append("/")
    return ", ".join(parts)


def overloads(name, function):
    signature = inspect.signature(function)
    result = signature.return_annotation
    rows = (("_Vars", result), ("_Arrays", RESULTS[result]), ("ArrayLike", result))
    return "".join(f"@overload\ndef {name}({parameters(signature, arrays)}) -> {made}: ...\n" for arrays, made in rows)


def stub(module_name, makers):
    module = importlib.import_module(module_name)
    prefix = module_name.removeprefix("minnow.numpy").lstrip(".")
    text, functions, imports, constants = HEAD, [], {}, []
    whole = prefix == ""
    imported, assigned = {}, []
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom):
            imported.update((alias.asname or alias.name, node.module) for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            targets = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
            assigned += [target.id for target in targets if isinstance(target, ast.Name)]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assigned.append(node.name)
    names = [*imported, *assigned] if whole else [name for name in [*assigned, *imported] if name in assigned or f"{prefix}.{name}" in REGISTRY]
    ufuncs = False
    for name in dict.fromkeys(names):
        if name.startswith("_") or not hasattr(module, name):
            continue
        value, owner = getattr(module, name), imported.get(name)
        if isinstance(value, minnow.numpy.ufunc):
            constants.append(f"{name}: {'_Unary' if value.nin == 1 else '_Binary'}\n")
            ufuncs = True
        elif hasattr(value, "__wrapped__") and name not in makers and follows_the_rule(value):
            functions.append(overloads(name, value))
        elif owner:
            imports.setdefault(owner, []).append(name)
        elif hasattr(value, "_fields"):
            fields = "".join(f"    {field}: {getattr(kind, '__forward_arg__', kind)}\n" for field, kind in value.__annotations__.items() if field in value._fields)
            constants.append(f"class {name}(NamedTuple):\n{fields}")
        elif hasattr(value, "__wrapped__"):
            signature = inspect.signature(value)
            functions.append(f"def {name}({parameters(signature, 'ArrayLike')}) -> {result_of(signature)}: ...\n")
        else:
            kind = "DType" if isinstance(value, minnow.dtype) else type(value).__name__ if type(value) in (int, float, str) else "Any"
            constants.append(f"{name}: {kind}\n")
    for owner, given in sorted(imports.items()):
        text += "\n".join(f"from {owner} import {one} as {one}" for one in sorted(set(given))) + "\n"
    if ufuncs:
        text += "from minnow.numpy._elementwise import ufunc as _ufunc\n"
    return text + "\n" + ALIASES + (UFUNCS if ufuncs else "") + "\n" + "".join(constants) + "\n" + "".join(functions)


def makers():
    found = set()
    for path in FOLDER.glob("*.py"):
        found |= set(re.findall(r"@maker\ndef (\w+)", path.read_text()))
    return found


def main():
    stale = []
    for module, file in (("minnow.numpy", "__init__.pyi"), ("minnow.numpy.linalg", "linalg.pyi"), ("minnow.numpy.fft", "fft.pyi")):
        text = stub(module, makers())
        path = FOLDER / file
        if "--check" in sys.argv:
            stale += [file] if not path.exists() or path.read_text() != text else []
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"{', '.join(stale)}: out of date; run scripts/make_numpy_stubs.py")


if __name__ == "__main__":
    main()
