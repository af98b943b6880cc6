# SPDX-License-Identifier: Apache-2.0
"""Masks of zeros for training: weights that a pattern drops stay zero, and their part grows while the network is trained."""
from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Mapping, NamedTuple, Sequence

from minnow import _minnow, nn
from minnow._minnow import InvalidArgument, Var
from minnow._trainable import TrainableModel
from minnow.compress._training import QATModule

_METHODS = ("magnitude", "movement")


class PrunedWeights(NamedTuple):
    """A parameter under a Pruner."""
    name: str
    weights: int
    zeros: int


def cubic_ramp(step: int, start: int, end: int, sparsity: float, initial: float = 0.0) -> float:
    """The sparsity at a step: `initial` until `start`, `sparsity` from `end` on, and in between quick at first (Zhu and Gupta 2017,
    arXiv:1710.01878). It raises no errors.

    >>> from minnow.compress import cubic_ramp
    >>> [round(cubic_ramp(step, 0, 4, 0.8), 4) for step in range(5)]
    [0.0, 0.4625, 0.7, 0.7875, 0.8]
    """
    if step >= end:
        return sparsity
    if step <= start:
        return initial
    return sparsity + (initial - sparsity) * (1 - (step - start) / (end - start)) ** 3


def _group_of(pattern: str) -> tuple[int, int] | None:
    """N and M of a pattern N:M; None for others."""
    kept, _, group = pattern.partition(":")
    return (int(kept), int(group)) if kept.isdigit() and group.isdigit() and int(group) else None


def _axes_of(module: nn.Module) -> dict[str, int]:
    """The axes of outputs of the weights whose layers are known, by their names in `module`."""
    axes: dict[str, int] = {}
    for prefix, each in module.named_modules():
        if isinstance(each, (TrainableModel, QATModule)):
            axes.update({f"{prefix}.{name}" if prefix else name: axis for name, axis in _minnow.weight_axes(each._model).items()})
    return axes


class Pruner:
    """Keeps a part of a network's weights zero while it is trained: call step() after each step of the optimizer.

    module: an nn.Module, or a model of load_trainable(). sparsity: the part of the weights that is zero in the end, by default 0.8; pattern: "1x4",
    "4x4", "1x16", "unstructured" or N:M such as "2:4", whose sparsity is 1 - N/M (docs/pruning.md). parameters: patterns of names (`*`, `?`); without
    them, all filters and matrices of layers with at least 8 channels. skip: patterns of names that stay dense. method: "magnitude" drops the smallest weights, "movement" those that training moves towards zero
    (Sanh and others 2020, arXiv:2005.07683). start, end: steps between which the sparsity grows by a cubic ramp, of N:M by groups
    that keep fewer and fewer weights; end = 0: it holds at once.
    every: steps between two choices of what is zero. axis: of the outputs of matrices, for parameters of which the model does not tell it.

    Raises InvalidArgument (a ValueError) for wrong settings, and if no parameter fits.

    >>> import minnow
    >>> network = minnow.nn.Linear(64, 32)
    >>> pruner = minnow.compress.Pruner(network, 0.75)
    >>> pruner.step()
    >>> pruner.sparsity
    0.75
    """

    def __init__(self, module: nn.Module, sparsity: float | None = None, pattern: str = "1x4", *, parameters: str | Sequence[str] = (), skip: str | Sequence[str] = (),
                 method: str = "magnitude", start: int = 0, end: int = 0, every: int = 100, axis: int = 0) -> None:
        import numpy

        if method not in _METHODS:
            raise InvalidArgument(f'method: "{method}" is none of {", ".join(_METHODS)}')
        if every < 1 or start < 0 or (end and end < start):
            raise InvalidArgument(f"steps: start {start} is at least 0, end {end} not before it, and every {every} at least 1")
        self._group = _group_of(pattern)
        if sparsity is None:
            sparsity = 0.8 if self._group is None else 1 - self._group[0] / self._group[1]
        self._pattern, self._final, self._method, self._start, self._end, self._every = pattern, float(sparsity), method, start, end, every
        axes = _axes_of(module)
        wanted, left_out = ([names] if isinstance(names, str) else list(names) for names in (parameters, skip))
        self._weights: dict[str, tuple[Var, int]] = {}
        for name, value in module.named_parameters():
            shape = tuple(value.shape)
            if len(shape) < 2 or str(value.dtype) != "float32" or any(fnmatchcase(name, each) for each in left_out):
                continue
            own = axes.get(name, axis if len(shape) == 2 else 0)
            if any(fnmatchcase(name, each) for each in wanted) if wanted else (not axes or name in axes) and min(shape[:2]) >= 8:
                self._weights[name] = (value, own)
        if not self._weights:
            raise InvalidArgument("no parameter of the network is a filter or matrix that fits")
        # Errors of pattern and sparsity come now.
        _minnow.prune_mask(numpy.zeros((8, 8), "float32"), pattern, self._final, 0)
        self._masks: dict[str, Any] = {}
        self._scores: dict[str, Any] = {}
        self._before: dict[str, Any] = {}
        self._step = 0
        if method == "movement":
            for name, (value, _) in self._weights.items():
                self._before[name] = numpy.array(value)
                self._scores[name] = numpy.zeros(value.shape, "float32")

    def step(self) -> None:
        """After a step of training: chooses what is zero, where its turn has come, and sets it to zero."""
        import numpy

        self._step += 1
        if self._method == "movement":
            for name, (value, _) in self._weights.items():
                # A gradient step moves a weight against its gradient: its growth beside its own sign is what training wants of it.
                now = numpy.array(value)
                self._scores[name] += self._before[name] * (now - self._before[name])
        if not self._masks or (self._step <= self._end and self._step % self._every == 0) or self._step == self._end:
            self._choose()
        self.apply()
        if self._method == "movement":
            for name, (value, _) in self._weights.items():
                self._before[name] = numpy.array(value)

    def apply(self) -> None:
        """Sets the weights that are zero to zero again: where something other than a step has changed them. It raises no errors."""
        import numpy

        for name, mask in self._masks.items():
            value, _ = self._weights[name]
            value.assign(numpy.asarray(value) * mask)

    def _choose(self) -> None:
        import numpy

        part = cubic_ramp(self._step, self._start, self._end, self._final) if self._end else self._final
        pattern = self._pattern
        if self._group is not None:
            group = self._group[1]
            kept = max(self._group[0], round(group * (1 - part)))
            pattern, part = f"{kept}:{group}", 1 - kept / group
        for name, (value, axis) in self._weights.items():
            array = numpy.asarray(value)
            scores = self._scores[name] if self._method == "movement" else array * array
            if part == 0:
                self._masks[name] = numpy.ones(array.shape, "float32")
            else:
                self._masks[name] = _minnow.prune_mask(numpy.ascontiguousarray(scores), pattern, part, axis).astype("float32")

    def state_dict(self) -> dict[str, Any]:
        """Arrays by name: everything that the next step() depends on beside the weights."""
        import numpy

        return {"step": numpy.int64(self._step), **{f"mask/{name}": mask.astype("uint8") for name, mask in self._masks.items()},
                **{f"score/{name}": score for name, score in self._scores.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state_dict(), when the module has the weights of that time. Raises InvalidArgument for the state of another pruner."""
        import numpy

        masks = {name[5:]: numpy.array(value, "float32") for name, value in state.items() if name.startswith("mask/")}
        scores = {name[6:]: numpy.array(value, "float32") for name, value in state.items() if name.startswith("score/")}
        shapes = {name: tuple(value.shape) for name, (value, _) in self._weights.items()}
        if "step" not in state or scores.keys() != self._scores.keys() or any(shapes.get(name) != each.shape for name, each in (*masks.items(), *scores.items())):
            raise InvalidArgument("the state belongs to a pruner of other weights or another method")
        self._step, self._masks, self._scores = int(state["step"]), masks, scores
        if self._method == "movement":
            self._before = {name: numpy.array(value) for name, (value, _) in self._weights.items()}

    @property
    def masks(self) -> dict[str, Any]:
        """1 where a weight is kept, else 0, by the names of parameters; empty before the first step()."""
        return dict(self._masks)

    @property
    def sparsity(self) -> float:
        """The part of the weights that is zero now."""
        rows = self.report()
        return sum(row.zeros for row in rows) / sum(row.weights for row in rows)

    def report(self) -> list[PrunedWeights]:
        """The zeros of each parameter."""
        import numpy

        return [PrunedWeights(name, int(numpy.asarray(value).size), int((numpy.asarray(value) == 0).sum())) for name, (value, _) in self._weights.items()]


__all__ = ["PrunedWeights", "Pruner", "cubic_ramp"]
