# SPDX-License-Identifier: Apache-2.0
"""Runs programs written for MNN's Python package.

    import minnow.compat        # from here on `import MNN` is Minnow
    import MNN
    import MNN.cv as cv2

It has to be asked for: importing minnow alone changes nothing. Functions that both packages have are Minnow's. MNN.expr has MNN's names and
signatures (compat/expr.py), MNN.nn its layers and losses (compat/nn.py). MNN.Interpreter, Session and Tensor offer the older interface
(compat/interpreter.py); CVImageProcess and CVMatrix turn pictures into tensors (compat/image_process.py). These functions return Vars of a
class of their own (compat/_values.py); minnow.Var does not change. docs/mnn.md lists the differences from MNN.
"""
from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types

import minnow
from minnow._minnow import Unsupported, nearest
from minnow.compat import _later
from minnow.compat._values import exported

# For each of MNN's modules, the modules to search for its names, in this order.
_MODULES = {"MNN": ("minnow.compat.interpreter", "minnow.compat.image_process", "minnow"), "MNN.expr": ("minnow.compat.expr", "minnow.expr"),
            "MNN.nn": ("minnow.compat.nn", "minnow.nn"), "MNN.numpy": ("minnow.compat.numpy",), "MNN.cv": ("minnow.compat.cv", "minnow.cv"), "MNN.tools": ("minnow.tools",),
            "MNN.tools.mnnconvert": ("minnow.compat.mnnconvert",), "MNN.tools.mnnquant": ("minnow.compat.mnnquant",),
            "MNN.numpy.linalg": ("minnow.compat.linalg",), "MNN.numpy.random": ("minnow.compat.random",),
            "MNN.audio": ("minnow.compat.audio",), "MNN.optim": ("minnow.compat.optim",), "MNN.data": ("minnow.compat.data",),
            "MNN.nn.compress": ("minnow.compat.compress",)}
# Modules whose functions know nothing of MNN's Vars and are wrapped.
_PLAIN = {"minnow.expr": None, "minnow.compat.cv": "NHWC", "minnow.cv": "NHWC"}  # the data format of their results


class _Shim(types.ModuleType):
    """A module of MNN's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, __doc__)
        self.__dict__["__spec__"] = importlib.machinery.ModuleSpec(name, None, is_package=True)  # for who asks whether MNN is there
        self.__dict__["__path__"] = []  # a package: `import MNN.cv` is looked up in sys.modules
        self.__dict__["_sources"] = [importlib.import_module(source) for source in _MODULES[name]]

    def __getattr__(self, name: str) -> object:
        for source in self.__dict__["_sources"]:
            if hasattr(source, name):
                found = getattr(source, name)
                return exported(found, _PLAIN[source.__name__]) if source.__name__ in _PLAIN else found
        near = "" if name.startswith("_") else nearest(name, [other for other in dir(self) if not other.startswith("_")])
        raise AttributeError(f"{self.__name__}.{name} is not there (yet){near}")

    def __dir__(self) -> list[str]:
        return sorted({name for source in self.__dict__["_sources"] for name in dir(source)} | set(self.__dict__))


def install() -> None:
    """Makes `import MNN` give Minnow. Raises if the MNN package itself was imported before."""
    present = sys.modules.get("MNN")
    if present is not None and not isinstance(present, _Shim):
        raise Unsupported("the MNN package was imported already; import minnow.compat before it, or in another process")
    for name in _MODULES:
        sys.modules[name] = _Shim(name)
    sys.modules.update(_later.MODULES)
    shim = sys.modules["MNN"]
    for name in (*_MODULES, *_later.MODULES):
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, sys.modules[name])
    setattr(shim, "F", sys.modules["MNN.expr"])
    setattr(shim, "__version__", minnow.__version__)
    setattr(shim, "version", lambda: minnow.__version__)


install()
