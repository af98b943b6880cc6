# SPDX-License-Identifier: Apache-2.0
"""Distillation: a network learns what another one answers, and what it computes on the way."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping

from minnow import _minnow, nn
from minnow._files import ModelPath
from minnow._functions import methods_suggesting
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._trainable import TrainableModel
from minnow._typing import VarLike
from minnow.compress._rounding import _op, fixed
from minnow.compress._training import QATModule, _read


@contextlib.contextmanager
def watched(module: nn.Module, names: Any, whose: str) -> Iterator[dict[str, Any]]:
    """Gather values of a module's calls: outputs of modules in it, or values of the model of a file, by name. Raises InvalidArgument for a name that
    is neither."""
    found: dict[str, Any] = {}
    layers = dict(module.named_modules())
    models = [each for each in module.modules() if isinstance(each, (TrainableModel, QATModule))]
    undo = []

    def wrapped(layer: nn.Module, name: str) -> None:
        forward = layer.forward

        def noting(*inputs: Any, **named: Any) -> Any:
            found[name] = forward(*inputs, **named)
            return found[name]
        vars(layer)["forward"] = noting
        undo.append(lambda: vars(layer).pop("forward"))
    try:
        for name in names:
            if name in layers:
                wrapped(layers[name], name)
                continue
            known: list[str] = []
            for model in models:
                here = {value for _, _, _, outputs in model._model.nodes for value in outputs if value}
                if name in here:
                    model._watched[name] = Var(0.0)
                    undo.append(lambda model=model, name=name: found.setdefault(name, model._watched.pop(name)))  # type: ignore[misc]
                    break
                known += here
            else:
                raise InvalidArgument(f'features: the {whose} has no module or value "{name}"{_minnow.nearest(name, [*layers, *known])}')
        yield found
    finally:
        for each in undo:
            each()


@methods_suggesting
class Distillation(nn.Module):
    """A student with a teacher beside it; its parameters are the student's, and those of projections of features.

        lesson = minnow.compress.Distillation(student, "teacher.onnx", features={"relu4": "relu9"})
        step = optim.TrainingStep(lesson.loss, optim.AdamW(lesson, lr=1e-3))

    teacher: a module, or a file of any format; it is not changed. Scores of a file that end in a softmax are taken before it. temperature, alpha: see
    nn.functional.distillation_loss(). features: names of modules or values of the student, with those of the teacher whose mean square difference
    counts feature_weight times; channels of other numbers go through a linear projection that is trained along (FitNets: Romero et al. 2015,
    arXiv:1412.6550). Raises InvalidArgument (a ValueError) for names that there are not and shapes that do not fit, and the errors of reading a file.
    """

    def __init__(self, student: nn.Module, teacher: nn.Module | ModelPath, *, features: Mapping[str, str] | None = None, temperature: float = 4.0,
                 alpha: float = 0.9, feature_weight: float = 1.0) -> None:
        """See the class."""
        if not isinstance(student, nn.Module):
            raise InvalidType(f"a student is a module, not {type(student).__name__}")
        if not (isinstance(temperature, (int, float)) and temperature > 0):
            raise InvalidArgument(f"temperature: {temperature!r:.40} is not above 0")
        if not (isinstance(alpha, (int, float)) and 0 <= alpha <= 1):
            raise InvalidArgument(f"alpha: {alpha!r:.40} is not from 0 to 1")
        if not (isinstance(feature_weight, (int, float)) and feature_weight >= 0):
            raise InvalidArgument(f"feature_weight: {feature_weight!r:.40} is not from 0 up")
        self.student = student
        # In a tuple of an object that is no module, so that the teacher's parameters are not this module's.
        self._of_teacher = _Kept(teacher if isinstance(teacher, nn.Module) else TrainableModel(_read(teacher), []))
        self._features, self._temperature, self._alpha, self._feature_weight = dict(features or {}), float(temperature), float(alpha), float(feature_weight)
        self.projections: dict[str, nn.Module] = {}
        for module, names, whose in ((student, self._features, "student"), (self.teacher, self._features.values(), "teacher")):
            with watched(module, names, whose):
                pass

    @property
    def teacher(self) -> nn.Module:
        """The teacher."""
        return self._of_teacher.value

    def forward(self, *inputs: VarLike) -> Any:
        """The student's outputs."""
        return self.student(*inputs)

    def _answers(self, inputs: tuple[Any, ...]) -> tuple[Var, dict[str, Any]]:
        """The scores of the teacher, and its features."""
        modes = [(each, each.training) for each in self.teacher.modules()]
        before = _before_softmax(self.teacher)
        try:
            for each, _ in modes:
                each.training = False
            with watched(self.teacher, [*self._features.values(), *([before] if before else [])], "teacher") as found:
                made = self.teacher(*inputs)
            made = made[0] if isinstance(made, (tuple, list)) else made
            return found[before] if before else made, found
        finally:
            for each, mode in modes:
                each.training = mode

    def compare(self, inputs: tuple[Any, ...], hard: Any = None) -> tuple[Var, Any]:
        """The loss and the student's outputs for a batch: alpha of the distance from the teacher's scores, 1 - alpha of hard(outputs), if it is given,
        and the features' part. Scores [N, C] differ by their divergence, other outputs by the mean square."""
        scores, theirs = self._answers(inputs)
        with watched(self.student, self._features, "student") as own:
            outputs = self.student(*inputs)
        first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
        dims, wanted = _dims(first), _dims(scores)
        if len(dims) != len(wanted) or any(a is not None and b is not None and a != b for a, b in zip(dims, wanted)):
            raise InvalidArgument(f"the student's output has the shape {dims}, the teacher's {wanted}")
        if len(dims) == 2 and dims[1] is not None and dims[1] > 1:
            soft = nn.functional.distillation_loss(first, scores, temperature=self._temperature)
        else:
            soft = nn.functional.mse_loss(first, fixed(scores))
        loss = soft if hard is None else soft * self._alpha + hard(first) * (1 - self._alpha)
        for name, other in self._features.items():
            loss = loss + self._distance(name, own[name], fixed(theirs[other])) * self._feature_weight
        return loss, outputs

    def loss(self, *batch: VarLike) -> Any:
        """The loss of a batch of inputs and classes [N] for a training step, and the student's output: compare() with the cross entropy."""
        if len(batch) < 2:
            raise InvalidArgument("a batch has inputs and classes")
        return self.compare(batch[:-1], lambda output: nn.functional.cross_entropy(output, batch[-1]))

    def _check_shapes(self, name: str, mine: list[int | None], wanted: list[int | None]) -> None:
        """Features that are compared differ in their channels at most."""
        if len(mine) != len(wanted) or any(a is not None and b is not None and a != b for axis, (a, b) in enumerate(zip(mine, wanted)) if axis != 1):
            raise InvalidArgument(f'features: "{name}" has the shape {mine}, the teacher\'s "{self._features[name]}" {wanted}')

    def _distance(self, name: str, own: Any, theirs: Any) -> Var:
        mine, wanted = _dims(own), _dims(theirs)
        self._check_shapes(name, mine, wanted)
        if len(mine) > 1 and mine[1] != wanted[1]:
            if name not in self.projections:
                raise InvalidArgument(f'features: "{name}" has {mine[1]} channels, the teacher\'s "{self._features[name]}" {wanted[1]}; call prepare() with a batch before the optimizer is made')
            own = self.projections[name](own)
        return nn.functional.mse_loss(own, theirs)

    def prepare(self, *inputs: VarLike) -> Distillation:
        """Make the projections that features of other numbers of channels need, for inputs like these; returns the module. Call it before the optimizer is
        made, which takes the parameters."""
        values = [x if isinstance(x, Var) else Var(x) for x in inputs]
        _, theirs = self._answers(tuple(values))
        modes = [(each, each.training) for each in self.student.modules()]
        try:
            for each, _ in modes:
                each.training = False  # running means stay
            with watched(self.student, self._features, "student") as own:
                self.student(*values)
        finally:
            for each, mode in modes:
                each.training = mode
        for name, other in self._features.items():
            mine, wanted = _dims(own[name]), _dims(theirs[other])
            self._check_shapes(name, mine, wanted)
            if len(mine) > 1 and mine[1] != wanted[1] and name not in self.projections:
                kinds: dict[int, Any] = {2: nn.Linear, 3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}
                if len(mine) not in kinds or mine[1] is None or wanted[1] is None:
                    raise InvalidArgument(f'features: "{name}" has the shape {mine}, the teacher\'s "{other}" {wanted}')
                sizes = (mine[1], wanted[1])
                self.projections[name] = kinds[len(mine)](*sizes) if len(mine) == 2 else kinds[len(mine)](*sizes, 1)
        return self


class _Kept:
    """Something that is no attribute's module."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __deepcopy__(self, memo: Any) -> _Kept:
        return self


def _dims(value: Any) -> list[int | None]:
    return list(value.dims) if value.dims is not None else list(value.shape)


def _before_softmax(module: nn.Module) -> str:
    """The value of a file's model that its last softmax reads; empty if there is none."""
    if not isinstance(module, TrainableModel) or getattr(module, "weight", None) is not None:
        return ""
    last = module._model.outputs[0][0]
    for _, op, inputs, outputs in module._model.nodes:
        if op == "Softmax" and last in outputs:
            return inputs[0]
    return ""


__all__ = ["Distillation"]
