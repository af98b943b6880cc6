# SPDX-License-Identifier: Apache-2.0
"""How arrays are printed."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from minnow import _repr
from minnow._minnow import InvalidArgument, InvalidType

from minnow.numpy._core import ArrayLike, asarray, public

_MODES = ("fixed", "unique", "maxprec", "maxprec_equal")


def _given(**changes: Any) -> dict[str, Any]:
    """The options that were given, checked."""
    changes = {name: value for name, value in changes.items() if value is not None}
    if changes.get("floatmode", "maxprec") not in _MODES:
        raise InvalidArgument(f"floatmode option must be one of {', '.join(_MODES)}, not {changes['floatmode']!r}")
    if changes.get("sign", "-") not in ("-", "+", " "):
        raise InvalidArgument(f"sign option must be one of ' ', '+', or '-', not {changes['sign']!r}")
    for name in ("precision", "threshold", "edgeitems", "linewidth"):
        value = changes.get(name, 0)
        if isinstance(value, bool) or not (hasattr(value, "__index__") or name == "threshold" and isinstance(value, float)):
            raise InvalidType(f"{name} must be a number, not {value!r}")
        if value != value:
            raise InvalidArgument("threshold must be non-NAN, try sys.maxsize for untruncated representation")
    if changes.get("floatmode") == "fixed" and changes.get("precision", 0) is None:
        raise InvalidArgument("precision must be an integer with floatmode 'fixed'")
    return changes


@public
def set_printoptions(precision: Optional[int] = None, threshold: Optional[float] = None, edgeitems: Optional[int] = None, linewidth: Optional[int] = None,
                     suppress: Optional[bool] = None, nanstr: Optional[str] = None, infstr: Optional[str] = None, formatter: Optional[dict[str, Any]] = None,
                     sign: Optional[str] = None, floatmode: Optional[str] = None) -> None:
    """Set how arrays are printed: digits after the decimal point, the number of elements above which only `edgeitems` at each end are
    shown, characters per line, no exponents for small numbers (suppress), texts, and functions for kinds of elements (formatter: "int",
    "float", "complexfloat", "bool", "all"; kept only until the next call). Options that are None keep their values."""
    given = _given(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, suppress=suppress, nanstr=nanstr, infstr=infstr, sign=sign,
                   floatmode=floatmode)
    _repr.OPTIONS.set({**_repr.OPTIONS.get(), **given, "formatter": formatter})


@public
def get_printoptions() -> dict[str, Any]:
    """The options of set_printoptions()."""
    return dict(_repr.OPTIONS.get())


@public
@contextmanager
def printoptions(**options: Any) -> Iterator[dict[str, Any]]:
    """`with printoptions(precision=3):` options of set_printoptions() for a while."""
    before = _repr.OPTIONS.get()
    set_printoptions(**options)
    try:
        yield get_printoptions()
    finally:
        _repr.OPTIONS.set(before)


@public
def array2string(a: ArrayLike, max_line_width: Optional[int] = None, precision: Optional[int] = None, suppress_small: Optional[bool] = None, separator: str = " ",
                 prefix: str = "", *, formatter: Optional[dict[str, Any]] = None, threshold: Optional[float] = None, edgeitems: Optional[int] = None,
                 sign: Optional[str] = None, floatmode: Optional[str] = None, suffix: str = "") -> str:
    """Return the numbers of an array as text. prefix, suffix: text around the result, for which lines leave room. Options: see set_printoptions()."""
    x = asarray(a)
    given = _given(linewidth=max_line_width, precision=precision, suppress=suppress_small, threshold=threshold, edgeitems=edgeitems, sign=sign, floatmode=floatmode,
                   formatter=formatter)
    return _repr.numbers_of(x, separator, prefix, suffix, **given)


@public
def array_repr(arr: ArrayLike) -> str:
    """repr(arr)."""
    return repr(asarray(arr))


@public
def array_str(a: ArrayLike, max_line_width: Optional[int] = None, precision: Optional[int] = None, suppress_small: Optional[bool] = None) -> str:
    """str(a), with options of set_printoptions() for this once."""
    x = asarray(a)
    return str(x) if x.ndim == 0 else array2string(x, max_line_width, precision, suppress_small)
