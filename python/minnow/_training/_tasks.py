# SPDX-License-Identifier: Apache-2.0
"""Tasks: the loss that a network learns by, and the figures that tell how well it does."""
from __future__ import annotations

from typing import Any, Sequence

import numpy

from minnow import expr
from minnow._autograd import stop_gradient
from minnow._minnow import InvalidArgument
from minnow.nn import functional  # type: ignore[attr-defined]

Sums = dict[str, float]


class Classify:
    """One class for each sample."""
    best = ("accuracy", 1)

    def __init__(self, classes: Sequence[str], loss: Any, smoothing: float) -> None:
        self.classes, self.outputs, self._loss, self._smoothing = list(classes), len(classes), loss, smoothing

    def check(self, targets: Any, where: str) -> None:
        """Raise InvalidArgument for a label that is no class."""
        targets = numpy.asarray(targets)
        if targets.ndim != 1 or targets.dtype.kind not in "iu":
            raise InvalidArgument(f"{where}: labels of classes are integers, one for each sample, not {targets.dtype} {list(targets.shape[1:])}")
        wrong = numpy.flatnonzero((targets < 0) | (targets >= self.outputs))
        if wrong.size:
            raise InvalidArgument(f"{where}: sample {int(wrong[0])} has the label {int(targets[wrong[0]])}; there are {self.outputs} classes, from 0")

    def loss(self, output: Any, target: Any) -> Any:
        """A Var, the mean over the batch."""
        if callable(self._loss):
            return self._loss(output, target)
        if self._loss == "focal":
            return functional.focal_loss(output, expr.one_hot(target, self.outputs, numpy.array([0, 1], "float32")) if len(target.shape) == 1 else target)
        return functional.cross_entropy(output, target, label_smoothing=self._smoothing)

    @property
    def draws(self) -> bool:
        """Whether targets may be drawn: the loss is a likelihood."""
        return not callable(self._loss) and self._loss != "focal"

    def drawn(self, output: Any) -> Any:
        """Targets drawn from the classes that the output predicts (Gumbel 1954)."""
        uniform = functional.uniform(output.shape)
        return (output - expr.log(1e-20 - expr.log(uniform + 1e-20))).argmax(1)

    def measure(self, output: Any, target: Any) -> Sums:
        """Sums over a batch of which metrics() makes figures. `target` may be shares of classes."""
        found = output.argmax(1)
        true = target if target.ndim == 1 else target.argmax(1)
        return {"count": float(len(found)), "right": float((found == true).sum())}

    def evaluate(self, output: Any, target: Any) -> Sums:
        """The same, and the loss."""
        wide = output.astype(numpy.float64)
        wide -= wide.max(1, keepdims=True)
        logs = wide - numpy.log(numpy.exp(wide).sum(1, keepdims=True))
        return {**self.measure(output, target), "loss": float(-logs[numpy.arange(len(target)), target].sum())}

    def metrics(self, sums: Sums) -> dict[str, float]:
        """loss and accuracy (0 to 1)."""
        return {"loss": sums["loss"] / sums["count"], "accuracy": sums["right"] / sums["count"]}

    def confusion(self, output: Any, target: Any) -> Any:
        """Counts by true and predicted class."""
        return numpy.bincount(target * self.outputs + output.argmax(1), minlength=self.outputs ** 2).reshape(self.outputs, self.outputs)


class Regress:
    """Numbers for each sample."""
    best = ("loss", -1)
    classes: list[str] = []

    def __init__(self, outputs: int, loss: Any) -> None:
        self.outputs, self._loss = outputs, loss

    def check(self, targets: Any, where: str) -> None:
        """Raise InvalidArgument for targets that are no finite numbers."""
        targets = numpy.asarray(targets)
        if targets.ndim not in (1, 2) or targets.dtype.kind not in "iufb":
            raise InvalidArgument(f"{where}: targets are numbers, or lists of them, not {targets.dtype} {list(targets.shape[1:])}")
        rows = targets.reshape(len(targets), -1)
        if rows.shape[1] != self.outputs:
            raise InvalidArgument(f"{where}: a target has {rows.shape[1]} numbers, the network gives {self.outputs}")
        wrong = numpy.flatnonzero(~numpy.isfinite(rows).all(1))
        if wrong.size:
            raise InvalidArgument(f"{where}: sample {int(wrong[0])} has a target that is no finite number")

    def _rows(self, target: Any) -> Any:
        target = target if str(target.dtype) == "float32" else target.astype("float32")
        return target.reshape((target.shape[0], self.outputs))

    def loss(self, output: Any, target: Any) -> Any:
        """A Var, the mean over the batch."""
        if callable(self._loss):
            return self._loss(output, target)
        function = {"l1": functional.l1_loss, "huber": functional.huber_loss}.get(self._loss or "mse", functional.mse_loss)
        return function(output, self._rows(target))

    @property
    def draws(self) -> bool:
        """Whether targets may be drawn: the loss is a likelihood."""
        return not callable(self._loss) and (self._loss or "mse") == "mse"

    def drawn(self, output: Any) -> Any:
        """Targets around the output, as normal as the loss, a mean over the outputs, says."""
        return stop_gradient(output) + functional.normal(output.shape) * (self.outputs / 2) ** 0.5

    def measure(self, output: Any, target: Any) -> Sums:
        """Sums over a batch of which metrics() makes figures."""
        differences = output.astype(numpy.float64) - self._rows(target)
        return {"count": float(len(output)), "absolute": float(numpy.abs(differences).mean(1).sum()), "square": float((differences ** 2).mean(1).sum())}

    def evaluate(self, output: Any, target: Any) -> Sums:
        """The same, and the loss, which is the mean square."""
        sums = self.measure(output, target)
        return {**sums, "loss": sums["square"]}

    def metrics(self, sums: Sums) -> dict[str, float]:
        """loss, mae (mean absolute error) and rmse (root of the mean square)."""
        return {"loss": sums["loss"] / sums["count"], "mae": sums["absolute"] / sums["count"], "rmse": (sums["square"] / sums["count"]) ** 0.5}
