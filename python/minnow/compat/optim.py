# SPDX-License-Identifier: Apache-2.0
"""MNN.optim: optimizers with MNN's names and rules."""
from __future__ import annotations

from typing import Any

from minnow import _minnow, expr
from minnow import numpy as np
from minnow._minnow import InvalidType
from minnow.compat._values import own


class Regularization_Method:
    """How weight_decay is added to a gradient g of w: L1 its sign, L2 itself, L1L2 both."""
    L1, L2, L1L2 = 0, 1, 2


L1, L2, L1L2 = Regularization_Method.L1, Regularization_Method.L2, Regularization_Method.L1L2


class Optimizer:
    """Base of SGD and ADAM: updates the parameters of a module."""

    def __init__(self, module: Any, learning_rate: float, momentum: float, weight_decay: float, regularization_method: int) -> None:
        if not hasattr(module, "parameters"):
            raise InvalidType(f"an optimizer takes a module, not {type(module).__name__}")
        self._module = module
        self.learning_rate, self.momentum, self.weight_decay, self.regularization_method = learning_rate, momentum, weight_decay, regularization_method
        self._states: list[list[Any]] = []
        self._steps = 0

    def _decayed(self, w: Any, g: Any) -> Any:
        if not self.weight_decay:
            return g
        sign, whole = self.regularization_method in (L1, L1L2), self.regularization_method in (L2, L1L2)
        g = g + np.sign(w) * self.weight_decay if sign else g
        return g + w * self.weight_decay if whole else g

    def _update(self, state: list[Any], w: Any, g: Any) -> Any:
        """Return what is subtracted from w, and change the state."""
        raise NotImplementedError

    def grad(self, loss: Any) -> list[Any]:
        """The gradients of a loss with respect to the parameters, in their order; None for a parameter on which the loss does not depend, such as
        running statistics."""
        parameters = [own(one) for one in self._module.parameters]
        # Placeholders in their place tell by their names which of them the loss reads.
        stands = [expr.placeholder(str(i), one.dtype, list(one.shape)) for i, one in enumerate(parameters)]
        read = sorted(int(one.name) for one in expr.placeholders(expr.replace([own(loss), *parameters], list(zip(parameters, stands)))[:1]) if one.name.isdigit())
        gradients = dict(zip(read, _minnow.gradients(own(loss), [parameters[i] for i in read])))
        return [gradients.get(i) for i in range(len(parameters))]

    def step(self, loss: Any) -> bool:
        """Make a step that lowers the loss. Returns True."""
        parameters = self._module.parameters
        gradients = self.grad(loss)
        _minnow.evaluate([gradient for gradient in gradients if gradient is not None])
        if len(self._states) != len(parameters):
            self._states = [[] for _ in parameters]
        self._steps += 1
        values = []
        changed = [(parameter, gradient, state) for parameter, gradient, state in zip(parameters, gradients, self._states) if gradient is not None]
        for parameter, gradient, state in changed:
            w = own(parameter)
            values.append(w - self._update(state, w, self._decayed(w, gradient)))
        _minnow.evaluate([*values, *[one for state in self._states for one in state]])
        for (parameter, _, state), value in zip(changed, values):
            parameter.assign(_minnow.Var(value, copy=True))
            state[:] = [_minnow.Var(one, copy=True) for one in state]
        return True


class SGD(Optimizer):
    """v = momentum v + learning_rate g; w -= v. As in MNN the rate is part of the velocity."""

    def __init__(self, module: Any, learning_rate: float, momentum: float = 0.9, weight_decay: float = 0.0, regularization_method: int = L2) -> None:
        super().__init__(module, learning_rate, momentum, weight_decay, regularization_method)

    def _update(self, state: list[Any], w: Any, g: Any) -> Any:
        v = g * self.learning_rate + (state[0] * self.momentum if state else 0)
        state[:] = [v]
        return v


class ADAM(Optimizer):
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps). As in MNN, eps is added before the
    correction (Kingma and Ba 2014, at the end of section 2)."""

    def __init__(self, module: Any, learning_rate: float = 0.001, momentum: float = 0.9, momentum2: float = 0.999, weight_decay: float = 0.0, eps: float = 1e-8,
                 regularization_method: int = L2) -> None:
        super().__init__(module, learning_rate, momentum, weight_decay, regularization_method)
        self.momentum2, self.eps = momentum2, eps

    def _update(self, state: list[Any], w: Any, g: Any) -> Any:
        m, v = g * (1 - self.momentum), g * g * (1 - self.momentum2)
        if state:
            m, v = state[0] * self.momentum + m, state[1] * self.momentum2 + v
        state[:] = [m, v]
        return m * (self.learning_rate * (1 - self.momentum2 ** self._steps) ** 0.5 / (1 - self.momentum ** self._steps)) / (expr.sqrt(v) + self.eps)


def Grad(module: Any) -> Any:
    """An optimizer that only computes gradients: grad(loss)."""
    return Optimizer(module, 0.0, 0.0, 0.0, L2)


__all__ = ["ADAM", "Grad", "L1", "L1L2", "L2", "Optimizer", "Regularization_Method", "SGD"]
