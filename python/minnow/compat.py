# SPDX-License-Identifier: Apache-2.0
"""Programs written for MNN's Python package, unchanged.

    import minnow.compat        # from here on `import MNN` is Minnow
    import MNN
    import MNN.cv as cv2

It has to be asked for: importing minnow alone changes nothing. The names are those that both packages have; more come with time.
"""
from __future__ import annotations

import importlib
import sys
import types

import minnow
from minnow._minnow import Unsupported

_SUBMODULES = ("nn", "expr", "cv", "numpy", "tools")


class _Shim(types.ModuleType):
    """The module MNN: what minnow has, and its submodules."""

    def __getattr__(self, name: str) -> object:
        try:
            return getattr(minnow, name)
        except AttributeError:
            raise AttributeError(f"MNN's name {name!r} is not there (yet); minnow.compat offers {', '.join(_SUBMODULES)} and what minnow has") from None


def install() -> None:
    """Makes `import MNN` give Minnow. Raises where the MNN package itself was imported before."""
    present = sys.modules.get("MNN")
    if present is not None and not isinstance(present, _Shim):
        raise Unsupported("the MNN package was imported already; import minnow.compat before it, or in another process")
    shim = _Shim("MNN", __doc__)
    shim.__dict__["__path__"] = []  # a package: `import MNN.cv` is looked up in sys.modules
    shim.__dict__["__version__"] = minnow.__version__
    sys.modules["MNN"] = shim
    for name in _SUBMODULES:
        module = importlib.import_module("minnow." + name)
        shim.__dict__[name] = module
        sys.modules["MNN." + name] = module
    shim.__dict__["F"] = shim.__dict__["expr"]


install()
