# SPDX-License-Identifier: Apache-2.0
"""Floating-point errors, which are always ignored: a quotient by zero is an infinity, the logarithm of -1 is nan, and no warning tells of it."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from minnow._minnow import InvalidArgument, Unsupported

from minnow.numpy._core import public

_NAMES = ("divide", "over", "under", "invalid")


@public
def geterr() -> dict[str, str]:
    """How each kind of floating-point error is treated: "ignore"."""
    return {name: "ignore" for name in _NAMES}


@public
def seterr(all: Optional[str] = None, divide: Optional[str] = None, over: Optional[str] = None, under: Optional[str] = None, invalid: Optional[str] = None) -> dict[str, str]:
    """Accept "ignore" and None, and return the previous settings, like geterr(). Unsupported for settings that would report errors."""
    for name, way in zip(("all", *_NAMES), (all, divide, over, under, invalid)):
        if way not in (None, "ignore", "warn", "raise", "call", "print", "log"):
            raise InvalidArgument(f"{name}={way!r}: floating-point errors are treated by 'ignore', 'warn', 'raise', 'call', 'print' or 'log'")
        if way not in (None, "ignore"):
            raise Unsupported(f"{name}={way!r}: floating-point errors are always ignored here; look for them with isfinite()")
    return geterr()


@public
@contextmanager
def errstate(all: Optional[str] = None, divide: Optional[str] = None, over: Optional[str] = None, under: Optional[str] = None, invalid: Optional[str] = None) -> Iterator[None]:
    """`with errstate(divide="ignore"):`, or the same as a decorator; as seterr()."""
    seterr(all, divide, over, under, invalid)
    yield
