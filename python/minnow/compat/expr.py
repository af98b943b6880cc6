# SPDX-License-Identifier: Apache-2.0
"""MNN.expr: MNN's names and signatures, on its Vars."""
from __future__ import annotations

from typing import Any, Sequence

from minnow import expr as E
from minnow import numpy as np
from minnow._minnow import InvalidArgument
from minnow.compat import _expr, _values
from minnow.compat._later import cpu
from minnow.compat._values import Var, as_mnn, careful, own

NCHW, NHWC, NC4HW4 = E.NCHW, E.NHWC, E.NC4HW4


class data_format:
    NCHW, NHWC, NC4HW4 = NCHW, NHWC, NC4HW4


def _formatted(x: Any, format: str) -> Var:
    made: Var = as_mnn(x)
    made.__dict__["_format"] = format
    return made


def const(value_list: Any, shape: Any = None, data_format: str = NCHW, dtype: Any = _expr.float) -> Var:
    """Create a constant from numbers, an array, bytes, or an address (a capsule like Var.ptr, or a number)."""
    made: Var = as_mnn(_expr.const(own(value_list), shape, data_format, dtype), _values.Context([dtype]))
    made.__dict__["_format"] = data_format
    return made


def placeholder(shape: Any = (), format: str = NCHW, dtype: Any = _expr.float) -> Var:
    """Create a value that write() sets later. Dimensions of -1 may change from one value to the next."""
    made: Var = as_mnn(_expr.placeholder(shape, format, dtype), _values.Context([dtype]))
    made.__dict__["_format"] = format
    return made


def convert(x: Any, format: str) -> Var:
    """Move the channels: NHWC has them in the last axis, NCHW in axis 1. NC4HW4 is the same as NCHW, since the engine packs channels by itself.

    A picture [height, width, channels] gains a batch axis.
    """
    if format not in (NCHW, NHWC, NC4HW4) or not isinstance(x, Var) or (x.ndim == 3 and x.data_format == NHWC):
        made: Var = as_mnn(E.convert(own(x), format), _values.Context([x]))
    else:
        plain, last = own(x), x.data_format == NHWC
        if x.ndim > 2 and last != (format == NHWC):
            plain = np.moveaxis(plain, -1, 1) if last else np.moveaxis(plain, 1, -1)
        made = as_mnn(plain)
    made.__dict__["_format"] = format
    return made


def channel_shuffle(x: Any, axis: int) -> Var:
    """Split the channels into `axis` groups and interleave them. The result is [N, C, H, W]; the format of x says where its channels are."""
    return _formatted(_expr.channel_shuffle(own(x), axis), NC4HW4)


def load_as_dict(path: str) -> dict[str, Var]:
    """Load all values of a model by name. Every format that Minnow reads will do."""
    values = _expr.load_as_dict(path)
    model = _Model(values)
    for name, value in values.items():
        model[name] = as_mnn(value)
        model[name].__dict__["_model"] = model
    return model


class _Model(dict[str, Var]):
    """All values of a model, with the names of its inputs and outputs."""

    def __init__(self, values: Any) -> None:
        super().__init__()
        self._ends = [list(part) for part in (values.inputs, values.outputs)]


def load_as_list(path: str) -> list[Var]:
    """Load all values of a model: inputs first, outputs last. Every format that Minnow reads will do."""
    return [as_mnn(value) for value in _expr.load_as_list(path)]


def set_global_executor_config(backend: Any, precision: Any, threads: int) -> None:
    """Set how this thread computes expressions. The backend is always the CPU."""
    _expr.set_global_executor_config(cpu(backend), precision, threads)


def get_inputs_and_outputs(values: dict[str, Var]) -> tuple[dict[str, Var], dict[str, Var]]:
    """Return the inputs and the outputs of a model from load_as_dict()."""
    if not isinstance(values, _Model):
        raise InvalidArgument("get_inputs_and_outputs() takes what load_as_dict() gives")
    inputs, outputs = ({name: values[name] for name in names} for names in values._ends)
    return inputs, outputs




for _name, _value in list(globals().items()):
    if callable(_value) and getattr(_value, "__module__", "") == __name__ and not isinstance(_value, type) and not _name.startswith("_"):
        globals()[_name] = careful(_value, _name)


def __getattr__(name: str) -> Any:
    found = getattr(_expr, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(name)
    made = _values.exported(found) if getattr(found, "__module__", "").startswith("minnow") else found
    globals()[name] = made
    return made


def __dir__() -> Sequence[str]:
    return sorted({name for name in (*dir(_expr), *globals()) if not name.startswith("_")} - _expr.INTERNAL)
