# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers."""
from __future__ import annotations

import math
from typing import Any

from minnow import _minnow
from minnow._minnow import InvalidArgument, Var
from minnow._typing import DTypeLike, VarLike
from minnow.nn import functional as F
from minnow.nn._layers import uniform_parameter
from minnow.nn._module import Module
from minnow.nn.functional import op


def _axis(axis: int) -> Var:
    return Var([axis], "int64")


class _Recurrent(Module):
    _op = ""
    _order: tuple[int, ...] = (0,)  # for each gate of the operator the place in torch's weights
    _attributes: dict[str, Any] = {}

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float, bidirectional: bool,
                 dtype: DTypeLike) -> None:
        if min(input_size, hidden_size, num_layers) < 1:
            raise InvalidArgument(f"{type(self).__name__} takes positive sizes, not {input_size}, {hidden_size} and {num_layers} layers")
        if not 0 <= dropout <= 1:
            raise InvalidArgument(f"a probability is between 0 and 1, dropout is {dropout}")
        self.input_size, self.hidden_size, self.num_layers, self.with_bias, self.batch_first = input_size, hidden_size, num_layers, bias, batch_first
        self.dropout, self.bidirectional = dropout, bidirectional
        bound, rows = 1 / math.sqrt(hidden_size), len(self._order) * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for end in ("", "_reverse")[:1 + bidirectional]:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                shapes.update({"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {})
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{end}", uniform_parameter(shape, bound, dtype))

    def _weights(self, name: str, layer: int) -> Var:
        """The weights of all directions, with the gates in the operator's order."""
        rows = []
        for end in ("", "_reverse")[:1 + self.bidirectional]:
            weight = getattr(self, f"{name}_l{layer}{end}")
            if len(self._order) > 1:
                parts = _minnow.ops("Split", [weight], len(self._order), {"axis": 0, "num_outputs": len(self._order)})
                weight = op("Concat", *[parts[place] for place in self._order], axis=0)
            rows.append(op("Unsqueeze", weight, _axis(0)))
        return op("Concat", *rows, axis=0) if len(rows) > 1 else rows[0]

    def _run(self, input: VarLike, states: list[Var | None]) -> tuple[Var, list[Var]]:
        """Outputs, and the last states [layers * directions, batch, hidden]."""
        x = F._var(input)
        dims = F.dims_of(x)
        rank = len(dims)
        F._rank_is(dims, 2, 3)
        if dims[-1] != self.input_size:
            raise InvalidArgument(f"the last axis of the input has the size {self.input_size}, its shape is {list(dims)}")
        if rank == 2:
            x, states = op("Unsqueeze", x, _axis(1)), [state if state is None else op("Unsqueeze", state, _axis(1)) for state in states]
        elif self.batch_first:
            x = op("Transpose", x, perm=[1, 0, 2])
        directions = 1 + self.bidirectional
        wanted = self.num_layers * directions, F.dims_of(x)[1], self.hidden_size
        for state in states:
            found = wanted if state is None else F.dims_of(state)
            if len(found) != 3 or any(None not in pair and pair[0] != pair[1] for pair in zip(found, wanted)):
                raise InvalidArgument(f"initial states have the shape {list(wanted)}, it is {list(found)}")
        attributes = {"hidden_size": self.hidden_size, "direction": "bidirectional" if self.bidirectional else "forward", **self._attributes}
        if "activations" in attributes:
            attributes["activations"] = attributes["activations"] * directions
        last: list[list[Var]] = [[] for _ in states]
        for layer in range(self.num_layers):
            biases = op("Concat", self._weights("bias_ih", layer), self._weights("bias_hh", layer), axis=1) if self.with_bias else None
            given = [None if state is None else op("Slice", state, _axis(layer * directions), _axis((layer + 1) * directions), _axis(0)) for state in states]
            made = _minnow.ops(self._op, [x, self._weights("weight_ih", layer), self._weights("weight_hh", layer), biases, None, *given], 1 + len(states),
                               attributes)
            x = op("Reshape", op("Transpose", made[0], perm=[0, 2, 1, 3]), Var([0, 0, directions * self.hidden_size], "int64"))
            for i, state in enumerate(made[1:]):
                last[i].append(state)
            if self.dropout and self.training and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout)
        ends = [op("Concat", *each, axis=0) if len(each) > 1 else each[0] for each in last]
        if rank == 2:
            return op("Squeeze", x, _axis(1)), [op("Squeeze", end, _axis(1)) for end in ends]
        return (op("Transpose", x, perm=[1, 0, 2]) if self.batch_first else x), ends

    def forward(self, input: VarLike, hx: Any = None) -> tuple[Var, Any]:
        """Outputs [length, batch, directions * hidden] and the last states. Raises InvalidArgument (a ValueError) for shapes that do not fit."""
        y, [h] = self._run(input, [None if hx is None else F._var(hx)])
        return y, h

    def __repr__(self) -> str:
        return (f"{type(self).__name__}({self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, batch_first={self.batch_first}, "
                f"bidirectional={self.bidirectional})")


class RNN(_Recurrent):
    """h = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh), or relu, over sequences [length, batch, input_size] (batch_first: [batch, length, input_size]; without
    a batch [length, input_size]). rnn(x, h0) gives outputs and last states. Parameters: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, and so on,
    with the ending _reverse for the other direction. dropout: between layers, in training. Raises InvalidArgument (a ValueError) for sizes and shapes
    that do not fit.

    >>> y, h = nn.RNN(4, 3)(np.zeros((5, 2, 4), "float32"))
    >>> y.shape, h.shape
    ((5, 2, 3), (1, 2, 3))
    """
    _op = "RNN"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, *, dtype: DTypeLike = "float32") -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InvalidArgument(f'nonlinearity is "tanh" or "relu", not "{nonlinearity}"')
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype)
        self._attributes = {"activations": ["Tanh" if nonlinearity == "tanh" else "Relu"]}


class GRU(_Recurrent):
    """Gated recurrent units (Cho et al. 2014), else as RNN; weights have the gates r, z and n. Raises its errors.

    >>> y, h = nn.GRU(4, 3)(np.zeros((5, 2, 4), "float32"))
    >>> y.shape, h.shape
    ((5, 2, 3), (1, 2, 3))
    """
    _op, _order, _attributes = "GRU", (1, 0, 2), {"linear_before_reset": 1}

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, *, dtype: DTypeLike = "float32") -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype)


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), else as RNN; weights have the gates i, f, g and o. lstm(x, (h0, c0)) gives outputs and
    (h, c). Raises its errors.

    >>> y, (h, c) = nn.LSTM(4, 3, batch_first=True)(minnow.Var([[[1.0, 2.0, 3.0, 4.0]] * 5], "float32"))
    >>> y.shape, h.shape
    ((1, 5, 3), (1, 1, 3))
    """
    _op, _order = "LSTM", (0, 3, 1, 2)

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, *, dtype: DTypeLike = "float32") -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype)

    def forward(self, input: VarLike, hx: Any = None) -> tuple[Var, tuple[Var, Var]]:
        y, [h, c] = self._run(input, [None, None] if hx is None else [F._var(value) for value in hx])
        return y, (h, c)


class _Cell(Module):
    """One step of a recurrent layer, for inputs [batch, input_size] or [input_size]."""
    _gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, *, dtype: DTypeLike = "float32") -> None:
        if min(input_size, hidden_size) < 1:
            raise InvalidArgument(f"{type(self).__name__} takes positive sizes, not {input_size} and {hidden_size}")
        self.input_size, self.hidden_size = input_size, hidden_size
        bound, rows = 1 / math.sqrt(hidden_size), self._gates * hidden_size
        self.weight_ih, self.weight_hh = (uniform_parameter((rows, width), bound, dtype) for width in (input_size, hidden_size))
        self.bias_ih, self.bias_hh = (uniform_parameter((rows,), bound, dtype) if bias else None for _ in range(2))

    def _sums(self, input: VarLike, state: VarLike | None) -> tuple[list[Var], list[Var], Var]:
        """The sums of the input and of the state for each gate, and the state."""
        x = F._var(input)
        F._rank_is(F.dims_of(x), 1, 2)
        if F.dims_of(x)[-1] != self.input_size:
            raise InvalidArgument(f"the last axis of the input has the size {self.input_size}, its shape is {list(F.dims_of(x))}")
        h = self._begin(x) if state is None else F._var(state)
        parts = [F.linear(value, weight, bias) for value, weight, bias in ((x, self.weight_ih, self.bias_ih), (h, self.weight_hh, self.bias_hh))]
        split = [_minnow.ops("Split", [part], self._gates, {"axis": -1, "num_outputs": self._gates}) if self._gates > 1 else [part] for part in parts]
        return split[0], split[1], h

    def _begin(self, x: Var) -> Var:
        return F._filled(0, (*F.shape_of(x)[:-1], self.hidden_size), x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.input_size}, {self.hidden_size})"


class RNNCell(_Cell):
    """One step of RNN: cell(x, h) gives h of [batch, hidden_size]; without h it begins with zeros. Parameters: weight_ih, weight_hh, bias_ih, bias_hh.
    Raises InvalidArgument (a ValueError) for sizes and shapes that do not fit.

    >>> nn.RNNCell(4, 3)(np.zeros((2, 4), "float32")).shape
    (2, 3)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", *, dtype: DTypeLike = "float32") -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InvalidArgument(f'nonlinearity is "tanh" or "relu", not "{nonlinearity}"')
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: VarLike, hx: VarLike | None = None) -> Var:
        [a], [b], _ = self._sums(input, hx)
        return op("Tanh" if self.nonlinearity == "tanh" else "Relu", a + b)


class GRUCell(_Cell):
    """One step of GRU, else as RNNCell. Raises its errors.

    >>> nn.GRUCell(4, 3)(np.zeros((2, 4), "float32")).shape
    (2, 3)
    """
    _gates = 3

    def forward(self, input: VarLike, hx: VarLike | None = None) -> Var:
        (r, z, n), (r_h, z_h, n_h), h = self._sums(input, hx)
        z = op("Sigmoid", z + z_h)
        n = op("Tanh", n + op("Sigmoid", r + r_h) * n_h)
        return (1.0 - z) * n + z * h


class LSTMCell(_Cell):
    """One step of LSTM: cell(x, (h, c)) gives (h, c), else as RNNCell. Raises its errors.

    >>> h, c = nn.LSTMCell(4, 3)(np.zeros((2, 4), "float32"))
    >>> h.shape, c.shape
    ((2, 3), (2, 3))
    """
    _gates = 4

    def forward(self, input: VarLike, hx: Any = None) -> tuple[Var, Var]:
        ours, theirs, h = self._sums(input, None if hx is None else hx[0])
        i, f, g, o = (a + b for a, b in zip(ours, theirs))
        c = h if hx is None else F._var(hx[1])  # zeros both
        c = op("Sigmoid", f) * c + op("Sigmoid", i) * op("Tanh", g)
        return op("Sigmoid", o) * op("Tanh", c), c


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]
