# SPDX-License-Identifier: Apache-2.0
"""MNN.expr: MNN's names and signatures, on its Vars."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from minnow import expr as E
from minnow.compat import _expr, _values
from minnow.compat._later import cpu
from minnow.compat._values import Var, as_mnn, own

if TYPE_CHECKING:
    from minnow.compat._expr import *  # noqa: F403

NCHW, NHWC, NC4HW4 = E.NCHW, E.NHWC, E.NC4HW4


class data_format:
    NCHW, NHWC, NC4HW4 = NCHW, NHWC, NC4HW4


def _formatted(x: Any, format: str) -> Var:
    made: Var = as_mnn(x)
    made.__dict__["_format"] = format
    return made


def const(value_list: Any, shape: Any = None, data_format: str = NCHW, dtype: Any = _expr.float) -> Var:
    """A constant of these elements: numbers, an array, bytes, or a capsule with their address (Var.ptr)."""
    made: Var = as_mnn(_expr.const(own(value_list), shape, data_format, dtype), _values.Context([dtype]))
    made.__dict__["_format"] = data_format
    return made


def placeholder(shape: Any = (), format: str = NCHW, dtype: Any = _expr.float) -> Var:
    """A value that is given later, by write(). Dimensions of -1 may differ from one value to the next."""
    made: Var = as_mnn(_expr.placeholder(shape, format, dtype), _values.Context([dtype]))
    made.__dict__["_format"] = format
    return made


def convert(x: Any, format: str) -> Var:
    """Moves the channels: in NHWC they are the last axis, else axis 1. NC4HW4 has the axes of NCHW; the engine decides how channels are packed.

    A picture [height, width, channels] gains a batch axis.
    """
    if format not in (NCHW, NHWC, NC4HW4) or not isinstance(x, Var) or (x.ndim == 3 and x.data_format == NHWC):
        made: Var = as_mnn(E.convert(own(x), format), _values.Context([x]))
    else:
        plain, last = own(x), x.data_format == NHWC
        if x.ndim > 2 and last != (format == NHWC):
            plain = _expr.np.moveaxis(plain, -1, 1) if last else _expr.np.moveaxis(plain, 1, -1)
        made = as_mnn(plain)
    made.__dict__["_format"] = format
    return made


def channel_shuffle(x: Any, axis: int) -> Var:
    """The channels of `axis` groups taken in turn: [N, C, H, W]. Channels are where the format of x has them."""
    return _formatted(_expr.channel_shuffle(own(x), axis), NC4HW4)


def load_as_dict(path: str) -> dict[str, Var]:
    """All values of a model by name; of any format that Minnow reads."""
    values = _expr.load_as_dict(path)
    model = _Model(values)
    for name, value in values.items():
        model[name] = as_mnn(value)
        model[name].__dict__["_model"] = model
    return model


class _Model(dict[str, Var]):
    """All values of a model, and which of them are its inputs and outputs."""

    def __init__(self, values: Any) -> None:
        super().__init__()
        self._ends = [list(part) for part in (values.inputs, values.outputs)]


def load_as_list(path: str) -> list[Var]:
    """All values of a model, inputs first and outputs last; of any format that Minnow reads."""
    return [as_mnn(value) for value in _expr.load_as_list(path)]


def set_global_executor_config(backend: Any, precision: Any, threads: int) -> None:
    """How expressions are computed on this thread from now on. The backend is the CPU."""
    _expr.set_global_executor_config(cpu(backend), precision, threads)


def get_inputs_and_outputs(values: dict[str, Var]) -> tuple[dict[str, Var], dict[str, Var]]:
    """The inputs and the outputs of the model that load_as_dict() has loaded."""
    if not isinstance(values, _Model):
        raise _expr.InvalidArgument("get_inputs_and_outputs() takes what load_as_dict() gives")
    inputs, outputs = ({name: values[name] for name in names} for names in values._ends)
    return inputs, outputs




def __getattr__(name: str) -> Any:
    found = getattr(_expr, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(name)
    made = _values.exported(found) if getattr(found, "__module__", "").startswith("minnow") else found
    globals()[name] = made
    return made


def __dir__() -> Sequence[str]:
    return sorted({name for name in (*dir(_expr), *globals()) if not name.startswith("_")} - _expr.INTERNAL)
