# SPDX-License-Identifier: Apache-2.0
"""Optimizers and schedules: they update parameters in place from gradients.

    weights = {"layer.weight": np.zeros((3, 4), "float32"), "layer.bias": np.zeros(3, "float32")}
    optimizer = optim.AdamW(weights, lr=3e-4, groups={"*.bias": {"weight_decay": 0}}, clip_norm=1.0,
                            schedule=optim.schedule("cosine", steps=1000))
    optimizer.step(gradients)                # a dict of arrays, or a list of them in the order of the parameters

Parameters are Vars, or arrays of NumPy that may be written, of float32 or float64. TrainingStep computes gradients, too. The C++ side is
<minnow/optimizer.h>.
"""
from __future__ import annotations

import fnmatch
from typing import Any, Callable, Iterable, Mapping, Optional as _Optional, Sequence

from minnow import _minnow
from minnow._autograd import _leaves, _rebuilt
from minnow._minnow import InvalidArgument, InvalidType, Unsupported, Var
from minnow.nn import Module

_core = _minnow.optim
Setting = float  #: numbers, truth values

Parameters = Module | Mapping[str, Any] | Iterable[Any]


class Schedule:
    """A factor on the learning rates that depends on the number of steps made before; schedule() makes one. Raises InvalidArgument (a
    ValueError) for wrong settings."""

    def __init__(self, _made: Any = None) -> None:
        self._made: Any = _core.Schedule() if _made is None else _made

    def __call__(self, t: int) -> float:
        """The factor after t steps."""
        return float(self._made.at(t))


def schedule(name: str, **settings: Setting | Sequence[float]) -> Schedule:
    """A schedule of a name: constant, linear, warm_up, step, multi_step, exponential, polynomial, cosine, warm_restarts, cyclic, one_cycle,
    plateau or inverse; <minnow/schedule.h> has their formulas and settings. Raises InvalidArgument (a ValueError) for other names and settings,
    with the nearest ones.

    >>> [optim.schedule("step", every=2, gamma=0.5)(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return Schedule(_core.schedule(name, settings))


def lambda_schedule(function: Callable[[int], float]) -> Schedule:
    """The factor is function(t). A step raises the exceptions of the function.

    >>> optim.lambda_schedule(lambda t: 1 / (1 + t))(3)
    0.25
    """
    return Schedule(_core.schedule_lambda(function))


def sequential(schedules: Sequence[Schedule], milestones: Sequence[int]) -> Schedule:
    """The first schedule until step milestones[0], then the second from its beginning, and so on. Raises InvalidArgument (a ValueError) unless
    there is one milestone fewer than schedules, in rising order.

    >>> both = optim.sequential([optim.schedule("warm_up", steps=4), optim.schedule("exponential", gamma=0.5)], [4])
    >>> [both(t) for t in (0, 2, 4, 5)]
    [0.0, 0.5, 1.0, 0.5]
    """
    return Schedule(_core.schedule_sequential([schedule._made for schedule in schedules], list(milestones)))


def chained(schedules: Sequence[Schedule]) -> Schedule:
    """The product of schedules. Raises an error where a factor does."""
    return Schedule(_core.schedule_chained([schedule._made for schedule in schedules]))


def _named(parameters: Parameters) -> tuple[dict[str, Any], dict[str, dict[str, Setting]]]:
    """The parameters by name, and settings of groups."""
    if isinstance(parameters, Module):
        return dict(parameters.named_parameters()), {}
    if isinstance(parameters, Mapping):
        return dict(parameters), {}
    given = list(parameters)
    if given and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in given):
        return dict(given), {}
    if not any(isinstance(item, Mapping) for item in given):
        return {str(i): parameter for i, parameter in enumerate(given)}, {}
    made: dict[str, Any] = {}
    groups: dict[str, dict[str, Setting]] = {}
    for i, group in enumerate(given):
        if not isinstance(group, Mapping) or "params" not in group:
            raise InvalidType(f'group {i} of the parameters is a dict with "params" and settings, such as {{"params": layer.parameters(), "lr": 0.1}}')
        params = group["params"]
        named, _ = _named([params] if isinstance(params, Var) or hasattr(params, "__array_interface__") else params)
        for name, parameter in named.items():
            name = str(len(made)) if name.isdigit() else name
            if name in made:
                raise InvalidArgument(f'two groups have a parameter "{name}"; give the groups lists of parameters')
            made[name] = parameter
            groups[name] = {key: value for key, value in group.items() if key != "params"}
    return made, {name: settings for name, settings in groups.items() if settings}


# Names that other libraries have for settings.
_OTHER_NAMES = {"betas": ("beta1", "beta2"), "learning_rate": ("lr",), "epsilon": ("eps",), "b1": ("beta1",), "b2": ("beta2",),
                "wd": ("weight_decay",)}


def _check_names(optimizer: str, settings: Mapping[str, Any]) -> None:
    """An error for a setting of another library's name, which tells the name here."""
    if not any(name in _OTHER_NAMES for name in settings) or optimizer not in names():
        return
    known = [row[0] for row in describe(optimizer)[1]]
    for name in settings:
        here = [other for other in _OTHER_NAMES.get(name, ()) if other in known]
        if name not in known and here:
            raise InvalidArgument(f'optimizer "{optimizer}": there is no setting "{name}"; here it is {" and ".join(here)}')


class Optimizer:
    """An optimizer over parameters: a module, a dict of arrays, its named_parameters(), a list of arrays, whose names are then "0", "1" ..., or
    a list of groups, {"params": ..., "lr": ...}. lr: the setting of this name.

    settings: those of describe(name), such as lr and weight_decay. groups: settings for parameters whose names fit a pattern of * and ?; of
    several patterns the first counts. schedule: factors on every lr. Gradients are changed in this order: accumulate (calls whose mean makes one
    step), clip_value (each element), clip_norm (all together), clip_adaptive (each row to a share of the norm of its weights). average: decay of
    an average of the weights, see averages(). sharpness: rho of SAM, where every other step() only moves uphill: call it, or a TrainingStep, twice
    for a batch. threads: 0 for all cores. backend: computes the updates instead of the processor's own loops, such as "cuda" or "opencl"; the state
    stays in memory.

    Raises InvalidArgument (a ValueError) for unknown names and settings, with the nearest ones, for no parameters, and for patterns that fit none; Unsupported
    (a NotImplementedError) for an optimizer that looks at whole tensors with a backend; InvalidType (a TypeError) for arrays that cannot be updated.
    """
    _name = "adamw"

    def __init__(self, parameters: Parameters, lr: Setting | None = None, *, groups: Mapping[str, Mapping[str, Setting]] | None = None, schedule: Schedule | None = None,
                 accumulate: int = 1, clip_value: float = 0, clip_norm: float = 0, clip_adaptive: float = 0, average: float = 0,
                 sharpness: float = 0, threads: int = 0, backend: str = "", **settings: Setting) -> None:
        self._parameters, own_groups = _named(parameters)
        if not self._parameters:
            raise InvalidArgument("an optimizer needs parameters, there are none; of a module, all may be frozen: nn.unfreeze() trains them again")
        for name, parameter in self._parameters.items():
            if str(getattr(parameter, "dtype", "float")).startswith(("int", "uint", "bool", "complex")):
                raise Unsupported(f'optimizer "{self._name}": parameter "{name}" is {parameter.dtype}; parameters are float32 or float64')
        if lr is not None:
            settings["lr"] = lr
        for given in (settings, *own_groups.values()):
            _check_names(self._name, given)
        groups = {**own_groups, **(groups or {})}
        self._schedule = schedule or Schedule()
        for pattern in groups or {}:
            if not any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for name in self._parameters):
                known = list(self._parameters)
                raise InvalidArgument(f'groups has "{pattern}", which fits no parameter; there are {", ".join(known[:6])}{" ..." if len(known) > 6 else ""}')
        options = {"accumulate": accumulate, "clip_value": clip_value, "clip_norm": clip_norm, "clip_adaptive": clip_adaptive,
                   "average": average, "sharpness": sharpness, "threads": threads, "backend": backend}
        self._core: Any = _core.Optimizer(self._name, settings, {key: dict(value) for key, value in (groups or {}).items()}, options,
                                          self._schedule._made)

    def _given(self, arrays: Mapping[str, Any] | Sequence[Any] | None, what: str) -> list[Any]:
        if arrays is None:
            return []
        if isinstance(arrays, Mapping):
            for name in arrays:
                if name not in self._parameters:
                    raise InvalidArgument(f'there is no parameter "{name}"{_minnow.nearest(name, list(self._parameters))}')
            return [arrays.get(name) for name in self._parameters]
        given = list(arrays)
        if len(given) != len(self._parameters):
            raise InvalidArgument(f"there are {len(self._parameters)} parameters, {len(given)} {what} are given")
        return given

    def step(self, gradients: Mapping[str, Any] | Sequence[Any], curvatures: Mapping[str, Any] | Sequence[Any] | None = None) -> None:
        """Update the parameters. A parameter whose gradient is None or not there stays as it is. curvatures: for Sophia, estimates of the
        diagonal of the Hessian, in steps that have them."""
        self._core.step(list(self._parameters), list(self._parameters.values()), self._given(gradients, "gradients"),
                        self._given(curvatures, "curvatures"))

    def minimize(self, loss: Callable[[], Var]) -> float:
        """One step with a loss: loss() computes one float from the parameters, which are expr.trainable()s. Returns the loss before the step.
        LBFGS with line_search computes it up to 26 times, others once. Raises what gradients raise; then the parameters stay as they are.

        >>> w = minnow.expr.trainable([3.0])
        >>> optimizer = optim.LBFGS([w], line_search=True)
        >>> [round(optimizer.minimize(lambda: ((w - 1) ** 4).sum()), 4) for _ in range(3)]
        [16.0, 1.0, 0.5398]
        """
        parameters = list(self._parameters.values())

        def value_and_gradients() -> tuple[float, list[Var]]:
            with _minnow.Trace([x for x in parameters if isinstance(x, Var)], "gradients"):
                value = loss()
            if not isinstance(value, Var):
                raise InvalidType(f"the loss gives a Var of one float, not {type(value).__name__}")
            gradients = _minnow.gradients(value, parameters)
            _minnow.evaluate([value, *gradients])
            return float(value), list(gradients)

        return float(self._core.minimize(list(self._parameters), parameters, value_and_gradients))

    def state_dict(self) -> dict[str, Var]:
        """Everything that the next step depends on beside parameters and gradients, by name: "layer.weight.m" ..."""
        self._prepare()
        return dict(self._core.state())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state. Raises InvalidArgument (a ValueError) and changes nothing where names, dtypes or shapes differ."""
        self._prepare()
        self._core.set_state(dict(state))

    def _prepare(self) -> None:
        self._core.prepare(list(self._parameters), list(self._parameters.values()))

    def set(self, **settings: Setting) -> None:
        """Change settings of all groups that do not set them themselves: set(lr=1e-4)."""
        for name, value in settings.items():
            self._core.set(name, value)

    def observe(self, metric: float) -> None:
        """Tell the schedule "plateau" of a measurement."""
        self._core.observe(metric)

    def averages(self) -> dict[str, Var]:
        """The averages of the weights (average > 0), by the parameters' names."""
        state = self.state_dict()
        return {name: state[f"{name}.average"] for name in self._parameters if f"{name}.average" in state}

    def evaluate(self, on: bool = True) -> None:
        """ScheduleFree: put the averaged weights into the parameters, for evaluation; with False those that train. Others change nothing."""
        self._core.evaluate(list(self._parameters), list(self._parameters.values()), on)

    def cost(self) -> tuple[float, float]:
        """MFLOP of one step, and MB of state."""
        compute, memory = self._core.measure(list(self._parameters), list(self._parameters.values()))
        return float(compute), float(memory)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self._parameters)

    @property
    def factor(self) -> float:
        """The schedule's factor of the next step."""
        return float(self._core.factor())

    @property
    def steps(self) -> int:
        """Steps that were made."""
        return int(self._core.steps)

    @property
    def gradient_norm(self) -> float:
        """The norm of all gradients of the last step before it was clipped; NaN unless clip_norm is set."""
        return float(self._core.gradient_norm)


def create(name: str, parameters: Parameters, **options: Any) -> Optimizer:
    """An optimizer by its name in names(); options are those of Optimizer. Raises InvalidArgument (a ValueError) for another name, with the nearest
    ones.

    >>> w = minnow.Var([1.0, 2.0])
    >>> optimizer = optim.create("sgd", {"w": w}, lr=0.5)
    >>> optimizer.step({"w": [1.0, 1.0]})
    >>> w.tolist()
    [0.5, 1.5]
    """
    optimizer = Optimizer.__new__(Optimizer)
    optimizer._name = name
    Optimizer.__init__(optimizer, parameters, **options)
    return optimizer


def names() -> list[str]:
    """All names that create() knows. Never fails.

    >>> "adam" in optim.names()
    True
    """
    return list(_core.names())


def describe(name: str) -> tuple[str, list[tuple[str, Setting, str]]]:
    """The formula of an optimizer and its source, and the settings: name, default, meaning. Raises InvalidArgument (a ValueError) for an unknown
    name.

    >>> formula, settings = optim.describe("sgd")
    >>> settings[0]
    ('lr', 0.001, 'learning rate')
    """
    formula, settings = _core.describe(name)
    return str(formula), list(settings)


def register(name: str, *, lr: float = 1e-3, settings: Mapping[str, float] | None = None, states: Sequence[str] = (),
             operations: float = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an optimizer that create() knows: function(weights, gradient, states, settings) changes the weights, and the states by
    name, in place. These are arrays of NumPy like the parameter; states are 0 at first. settings has lr, with the schedule's factor, weight_decay,
    step (from 1) and those given here with their defaults. operations: arithmetic for one element, for cost(). Groups, clipping, averages and saved
    states work as for other optimizers.

    Raises InvalidArgument (a ValueError) for the name of a built-in optimizer. An exception of the function ends the step with its text.

    >>> @optim.register("com.example.Ball", settings={"mass": 0.9}, states=["m"])
    ... def ball(weights, gradient, states, settings):
    ...     states["m"][...] = settings["mass"] * states["m"] + gradient
    ...     weights -= settings["lr"] * states["m"]
    """
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _core.register(name, function.__doc__ or name, lr, {key: float(value) for key, value in (settings or {}).items()}, list(states), operations, function)
        return function
    return decorate


def load(path: str) -> list[str]:
    """Register the optimizers of a shared library (<minnow/optimizer_c.h>), and return their names. Raises IoError (an OSError) where it cannot be
    opened, InvalidArgument (a ValueError) where it has no optimizers."""
    return list(_core.load(path))


class SGD(Optimizer):
    _name = "sgd"


class Adam(Optimizer):
    _name = "adam"


class AdamW(Optimizer):
    _name = "adamw"


class Adamax(Optimizer):
    _name = "adamax"


class NAdam(Optimizer):
    _name = "nadam"


class RAdam(Optimizer):
    _name = "radam"


class Yogi(Optimizer):
    _name = "yogi"


class AdaBelief(Optimizer):
    _name = "adabelief"


class Adan(Optimizer):
    _name = "adan"


class AdEMAMix(Optimizer):
    _name = "ademamix"


class ADOPT(Optimizer):
    _name = "adopt"


class Sophia(Optimizer):
    _name = "sophia"


class Adagrad(Optimizer):
    _name = "adagrad"


class Adadelta(Optimizer):
    _name = "adadelta"


class RMSprop(Optimizer):
    _name = "rmsprop"


class Rprop(Optimizer):
    _name = "rprop"


class ASGD(Optimizer):
    _name = "asgd"


class Lion(Optimizer):
    _name = "lion"


class LAMB(Optimizer):
    _name = "lamb"


class LARS(Optimizer):
    _name = "lars"


class NovoGrad(Optimizer):
    _name = "novograd"


class Prodigy(Optimizer):
    _name = "prodigy"


class ScheduleFree(Optimizer):
    _name = "schedule_free"


class Adafactor(Optimizer):
    _name = "adafactor"


class SM3(Optimizer):
    _name = "sm3"


class LBFGS(Optimizer):
    _name = "lbfgs"


class Muon(Optimizer):
    _name = "muon"


class TrainingStep:
    """A step of training: step(*batch) computes loss(*batch) and its gradients with respect to the optimizer's parameters, and updates these, all
    in one plan.

    loss: a function of the batch that gives one float, a Var, or a pair of it and a nest of Vars that the step should give, too. A batch is made
    of arrays, and tuples, lists and dicts of them. loss is called with Vars without values, once for each dtypes and shapes of a batch, to record
    what it computes; what it reads beside the batch, the parameters and buffers stays as it was then, until reset(). Parameters are
    expr.trainable()s. Each gradient is applied as soon as it is there, unless the optimizer wants all together (clip_norm, sharpness). seed: of the
    random numbers that layers draw. memory: bytes for activations and gradients; activations that would exceed it are computed again in the
    backward pass, those first that save most for their time (0: all are kept). curvature: for Sophia, which estimates the diagonal of the Hessian
    each curvature_every steps: a function of the batch, one float, the mean loss for targets that are drawn from what the model predicts; the
    estimate is the square of its gradient times the length of the batch (Gauss, Newton and Bartlett). None: Hutchinson's estimate, by second
    derivatives of the loss.

    Raises InvalidType (a TypeError) where loss gives something else; InvalidArgument (a ValueError) where it does not depend on a parameter, and
    where it is infinite or NaN: then nothing is updated, and the error names the first value that is not finite; InvalidArgument, too, where a
    gradient is not finite, which names its parameter, but parameters have been updated; Unsupported, with the operator,
    where one has no gradient; Error where a step needs more than memory.

    >>> w = minnow.expr.trainable([1.0, 2.0])
    >>> step = optim.TrainingStep(lambda x: ((w - x) ** 2).sum(), optim.create("sgd", {"w": w}, lr=0.25))
    >>> float(step(minnow.Var([0.0, 0.0])))
    5.0
    >>> w.tolist()
    [0.5, 1.0]
    """

    def __init__(self, loss: Callable[..., Any], optimizer: Optimizer, *, seed: int = 0, memory: int = 0, curvature: _Optional[Callable[..., Any]] = None) -> None:
        self._loss, self._optimizer, self._curvature = loss, optimizer, curvature
        self._batch: Any = None  # the nest of the present call
        self._results: dict[str, Any] = {}  # nests of what the loss gives beside, by the form of the batch
        for name, parameter in optimizer.parameters.items():
            if not isinstance(parameter, Var):
                raise InvalidType(f'parameter "{name}" is {type(parameter).__name__}; a training step updates Vars, of expr.trainable')
        self._core: Any = _core.TrainingStep(self._record, list(optimizer.parameters), list(optimizer.parameters.values()), optimizer._core, seed,
                                             memory, None if curvature is None else self._record_curvature)

    def _record_curvature(self, arrays: list[Var]) -> list[Var]:
        assert self._curvature is not None
        with _minnow.Trace(list(self._optimizer.parameters.values()), "recording"):
            value = self._curvature(*_rebuilt(self._batch[1], iter(arrays)))
        if not isinstance(value, Var):
            raise InvalidType(f"curvature gives a Var of one float, not {type(value).__name__}")
        return [value]

    def _record(self, arrays: list[Var]) -> list[Var]:
        form, batch = self._batch
        with _minnow.Trace(list(self._optimizer.parameters.values()), "recording"):
            result = self._loss(*_rebuilt(batch, iter(arrays)))
        pair = isinstance(result, tuple) and len(result) == 2
        value, more = result if pair else (result, ())
        if not isinstance(value, Var):
            raise InvalidType(f"the loss gives a Var of one float, not {type(value).__name__}")
        leaves = [leaf if isinstance(leaf, Var) else Var(leaf) for leaf in _leaves(more)]
        self._results[form] = (more,) if pair else None
        return [value, *leaves]

    def _leaves_of(self, batch: Any) -> tuple[list[Any], str]:
        leaves = _leaves(batch)
        form = str([(str(getattr(leaf, "dtype", type(leaf))), tuple(getattr(leaf, "shape", ()))) for leaf in leaves])
        self._batch = form, batch
        return leaves, form

    def prepare(self, *batch: Any) -> None:
        """Record and plan the step for batches of these dtypes and shapes, without making one; arena_bytes tells what it will take. Raises what a
        step raises."""
        self._core.prepare(self._leaves_of(batch)[0])

    def __call__(self, *batch: Any) -> Any:
        leaves, form = self._leaves_of(batch)
        value, *rest = self._core.run(leaves)
        more = self._results.get(form)
        return value if more is None else (value, _rebuilt(more[0], iter(rest)))

    def reset(self) -> None:
        """Forget what was recorded, for a loss that now computes something else."""
        self._core.reset()
        self._results.clear()

    def state_dict(self) -> dict[str, Var]:
        """The optimizer's state, and the number of the next step, on which random numbers depend."""
        return {**self._optimizer.state_dict(), "training_step.calls": Var(int(self._core.calls))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state. Raises InvalidArgument (a ValueError) and changes nothing where names, dtypes or shapes differ."""
        if "training_step.calls" not in state:
            raise InvalidArgument('the state of a training step has "training_step.calls", this one does not')
        self._optimizer.load_state_dict({name: value for name, value in state.items() if name != "training_step.calls"})
        self._core.calls = int(state["training_step.calls"])

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer that updates the parameters."""
        return self._optimizer

    @property
    def arena_bytes(self) -> int:
        """Bytes for activations and gradients, of the largest batch so far."""
        return int(self._core.arena_bytes)

    @property
    def device(self) -> str:
        """The backend in whose memory parameters, gradients and the optimizer's state stay from step to step, such as "opencl": that of the
        expr.scope() in which the last batch of a new form was recorded. "": the host's memory, or nothing is recorded yet."""
        return str(self._core.device)

    @property
    def why_not_on_device(self) -> str:
        """Why a step that a device computes updates parameters on the host even so. "": it does not."""
        return str(self._core.why_not_on_device)


def _document(kind: type[Optimizer]) -> None:
    formula, settings = describe(kind._name)
    lines = [f"    {name}={default!r}: {meaning}" for name, default, meaning in settings]
    kind.__doc__ = f"{formula}\n\nSettings, beside the options of Optimizer and with the same errors:\n\n" + "\n".join(lines)


for _kind in Optimizer.__subclasses__():
    _document(_kind)

__all__ = ["ADOPT", "ASGD", "AdEMAMix", "AdaBelief", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Adan", "LAMB",
           "LARS", "LBFGS", "Lion", "Muon", "NAdam", "NovoGrad", "Optimizer", "Prodigy", "RAdam", "RMSprop", "Rprop", "SGD", "SM3",
           "Schedule", "ScheduleFree", "Sophia", "TrainingStep", "Yogi", "chained", "create", "describe", "lambda_schedule", "load", "names",
           "register", "schedule", "sequential"]
