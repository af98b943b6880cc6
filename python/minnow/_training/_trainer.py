# SPDX-License-Identifier: Apache-2.0
"""The loop of a training: steps, evaluation, checkpoints, logs."""
from __future__ import annotations

import contextlib
import fnmatch
import glob
import json
import math
import os
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, Mapping, NamedTuple

import numpy

from minnow import _minnow, compress, data, expr, nn, optim
from minnow._files import new_file
from minnow._minnow import Error, InvalidArgument, InvalidModel, IoError, Var
from minnow._training import _detection, _drawing, _events, _inputs, _networks, _tasks
from minnow._training._recipe import Recipe
from minnow._trainable import TrainableModel

CHECKPOINT, BEST = "checkpoint.npz", "best.npz"
Report = Callable[[str], object]
_ADVICE = 'resume = "changed" goes on from the checkpoint with a smaller lr or clip_norm'
_MAY_CHANGE = ("lr", "clip_norm", "clip_value")  # of [optimizer], when a training is resumed


class Trained(NamedTuple):
    """The result of train()."""
    network: nn.Module  #: with the best parameters
    metrics: dict[str, float]  #: of the best epoch: loss, accuracy ...; of validation if there is any
    history: list[dict[str, float]]  #: for each epoch
    classes: list[str]
    confusion: Any  #: counts by true and predicted class, an array, or None
    steps: int
    output: str  #: the folder with model.minnow, model.onnx, curves.png ...

    def __repr__(self) -> str:
        return f"Trained({self.output!r}: {', '.join(f'{key} {value:.4g}' for key, value in self.metrics.items())}; {self.steps} steps)"


class NotFinite(InvalidArgument):
    """The loss or a parameter is NaN or infinite; the text names the step and the first tensor that is not finite."""

    def __init__(self, text: str, of_batch: bool = False) -> None:
        super().__init__(text)
        self.of_batch = of_batch  #: whether it is the data's fault


def memory() -> int:
    """Bytes of the process that are in memory."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _figures(metrics: Mapping[str, float]) -> str:
    return " ".join(f"{key} {100 * value:.2f} %" if key in ("accuracy", "mAP") else f"{key} {value:.4g}" for key, value in metrics.items())


class Line:
    """The line of progress on a terminal."""

    def __init__(self, on: bool) -> None:
        self._on, self._last, self._shown = on, 0.0, False

    def show(self, text: Callable[[], str], always: bool = False) -> None:
        """Show a text, ten times a second at most."""
        now = time.monotonic()
        if self._on and (always or now - self._last > 0.1):
            self._last, self._shown = now, True
            sys.stderr.write(f"\r{text()}\033[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self._shown = False


def _state(network: nn.Module) -> dict[str, Var]:
    """Parameters and buffers by name."""
    made = dict(network.named_parameters())
    if hasattr(network, "named_buffers"):
        made.update({f"buffer:{name}": value for name, value in network.named_buffers()})
    return made


def _is_finite(value: Var) -> bool:
    return value.dtype.kind != "f" or bool(numpy.isfinite(value.numpy()).all())


def _schedule(name: str, settings: Mapping[str, Any], steps: int) -> optim.Schedule:
    """A schedule of a recipe for this many steps. The schedules of sequential and chained are tables, too."""
    if name in ("sequential", "chained"):
        known = ("schedules", "milestones") if name == "sequential" else ("schedules",)
        for key in settings:
            if key not in known:
                raise InvalidArgument(f'{name} has no "{key}"{_minnow.nearest(key, list(known))}')
        tables, milestones = settings.get("schedules"), settings.get("milestones", [])
        if not isinstance(tables, (list, tuple)) or not tables or not all(isinstance(one, Mapping) and "name" in one for one in tables):
            raise InvalidArgument(f"{name} needs schedules, a list of tables with a name each")
        if not isinstance(milestones, (list, tuple)) or not all(isinstance(one, int) and not isinstance(one, bool) for one in milestones):
            raise InvalidArgument(f"milestones is a list of integers, not {milestones!r:.60}")
        ends = [*milestones, steps] if name == "sequential" and len(milestones) == len(tables) - 1 else [steps] * len(tables)
        parts = [_schedule(one["name"], {key: value for key, value in one.items() if key != "name"}, max(1, end - (ends[i - 1] if i and name == "sequential" else 0)))
                 for i, (one, end) in enumerate(zip(tables, ends))]
        return optim.sequential(parts, milestones) if name == "sequential" else optim.chained(parts)
    if name == "constant" and not settings:
        return optim.Schedule()  # not a third of the rate in the first steps, which are the defaults of optim.schedule()
    takes_steps = name in ("cosine", "linear", "polynomial", "one_cycle") and "steps" not in settings
    return optim.schedule(name, **({**settings, "steps": steps} if takes_steps else settings))


class Training:
    """A training from its recipe to its result."""

    def __init__(self, recipe: Recipe, report: Report, progress: bool, callback: Callable[[dict[str, Any]], object] | None) -> None:
        self.recipe, self.report, self.line, self.callback = recipe, report, Line(progress), callback
        top = recipe[""]
        self.output, self.seed, self.epochs = os.fspath(top["output"]), top["seed"], top["epochs"]
        self.scope = self._scope()
        self.inputs = inputs = _inputs.make(recipe)
        self.task = self._task()
        for one, key in ((inputs.train, "train"), (inputs.validation, "validation")):
            targets = None if one is None else _inputs.targets_of(one.dataset)
            if targets is not None:
                self.task.check(targets, f"{recipe.name}: [data] {key}")
        sample = inputs.train[0][0]
        self.shape = tuple(numpy.asarray(sample).shape)
        self.network = self._rounding(self._network())
        self.lesson = self._lesson()
        self.chosen = self._chosen()
        self._check_quantize()
        self.loader = data.DataLoader(inputs.train, min(top["batch"], len(inputs.train)), shuffle=True, num_workers=recipe["data"]["workers"], collate_fn=inputs.collate,
                                      drop_last=recipe["data"]["drop_last"], seed=self.seed)
        self.total = self.epochs * len(self.loader)
        self.pruner, self._pruned_at = self._pruner()
        self.optimizer = self._optimizer()
        self.step_of = optim.TrainingStep(self._loss, self.optimizer, seed=self.seed, curvature=self._drawn_loss if getattr(self.task, "draws", False) else None)
        self.steps, self.sums, self.history, self.stale = 0, {}, [], 0  # type: tuple[int, dict[str, float], list[dict[str, float]], int]
        self.best: dict[str, float] = {}
        self._switched: tuple[bool, bool] | None = None
        self._clips = bool(recipe["optimizer"].get("clip_norm"))
        self._masks = {name for name, value in self._state().items() if not _is_finite(value)}  # of imported models, with infinities of their own
        self.metric, self.sign = self._metric()

    # The parts that the recipe describes.

    def _scope(self) -> expr.scope:
        """The options that steps and evaluations are computed with."""
        top = self.recipe[""]
        backend = {} if top["backend"] is None else {"backend": top["backend"]}
        try:
            scope = expr.scope(threads=top["threads"], precision=top["precision"], **backend)
            with scope:  # which opens a device
                return scope
        except Error as error:
            self.recipe.fail("", f"backend: {error}")
            raise

    def _task(self) -> Any:
        top, inputs = self.recipe[""], self.inputs
        if top["task"] == "detect":
            if top["loss"] is not None:
                self.recipe.fail("", "loss is not for the task detect, which has its own")
            return _detection.Detect(inputs.classes)
        if top["task"] == "regress":
            sample = numpy.asarray(inputs.train[0][1])
            if top["loss"] in ("cross_entropy", "focal"):
                self.recipe.fail("", f'the loss "{top["loss"]}" is for the task "classify", not "{top["task"]}"')
            return _tasks.Regress(int(sample.size), top["loss"])
        if top["loss"] in ("mse", "l1", "huber"):
            self.recipe.fail("", f'the loss "{top["loss"]}" is for the task "regress", not "{top["task"]}"')
        classes = inputs.classes
        if not classes:
            if inputs.targets is None:
                self.recipe.fail("data", "needs classes, a list of names, since the data set does not say them")
            if numpy.asarray(inputs.targets).dtype.kind not in "iu":
                self.recipe.fail("", 'task is "classify", but the targets are not integers; the task "regress" takes floats')
            classes = self.recipe["data"]["classes"] or [str(i) for i in range(int(inputs.targets.max()) + 1)]
        if len(classes) < 2:
            self.recipe.fail("data", f"there is one class, {classes[0]}; a classifier needs two or more")
        return _tasks.Classify(classes, top["loss"], top["label_smoothing"])

    def _network(self) -> nn.Module:
        try:
            build = _detection.build if isinstance(self.task, _detection.Detect) else _networks.build
            made = build(self.recipe[""]["model"], self.shape, self.task.outputs, self.recipe["parameters"]["head"], self.seed)
        except InvalidArgument as error:
            raise InvalidArgument(f"{self.recipe.name}: model: {error}") from None
        rank = self.recipe["parameters"]["lora"]
        if rank:
            adapted = [module for module in made.modules() if isinstance(module, TrainableModel)]
            if not adapted:
                self.recipe.fail("parameters", "lora is for the model of a file; nn.lora() adapts modules")
            for module in adapted:
                module.add_lora(rank, 2.0 * rank, self.seed)
        if isinstance(self.task, _detection.Detect):
            self.task.network = made
            return made
        outputs = None
        if self.recipe[""]["task"] == "regress" and self.recipe["data"]["standardize"] and self.inputs.targets is not None:
            rows = numpy.asarray(self.inputs.targets, numpy.float64)[self.inputs.train.places].reshape(len(self.inputs.train), -1)
            spread = rows.std(0)
            outputs = rows.mean(0), numpy.where(spread > 0, spread, 1)
        return made if self.inputs.standard is None and outputs is None else _networks.Standardized(made, self.inputs.standard, outputs)

    def _samples(self, count: int) -> Any:
        """The first inputs of the training, as they are fed to the network."""
        loader = data.DataLoader(self.inputs.train, min(count, len(self.inputs.train)), shuffle=True, num_workers=self.recipe["data"]["workers"], seed=self.seed)
        return next(iter(loader))[0].numpy()

    def _rounding(self, network: nn.Module) -> nn.Module:
        """The network, which rounds as integers do if the recipe says so."""
        options = self.recipe["quantization"]
        if options["activations"] is None:
            return network
        if isinstance(self.task, _detection.Detect):
            self.recipe.fail("quantization", 'is for the tasks "classify" and "regress" alone')
        if self.recipe["parameters"]["lora"]:
            self.recipe.fail("quantization", "changes the weights themselves and cannot go with lora; leave one of them out")
        if options["delay"] and options["activations"] != "ema":
            self.recipe.fail("quantization", f'delay goes with activations = "ema"; scales of "{options["activations"]}" begin with the network that is there')
        if options["delay"] >= self.epochs:
            self.recipe.fail("quantization", f"delay must be less than epochs, which is {self.epochs}, not {options['delay']}")
        samples = numpy.ascontiguousarray(self._samples(options["samples"]), numpy.float32)
        try:
            return compress.prepare_qat(network, list(samples[:, None]), example_inputs=[samples[:2]],
                                        **{key: options[key] for key in ("activations", "weights", "weight_bits", "per_channel", "symmetric", "skip")})
        except (InvalidArgument, _minnow.Unsupported) as error:
            raise InvalidArgument(f"{self.recipe.name}: [quantization] {error}") from None

    def _pruner(self) -> tuple[compress.Pruner | None, int]:
        """The pruner of the recipe, and the step at which its ramp ends."""
        if not self.recipe.prunes:
            return None, 0
        options = {key: value for key, value in self.recipe["prune"].items() if value is not None}
        if self.recipe["parameters"]["lora"]:
            self.recipe.fail("prune", "changes the weights themselves and cannot go with lora; leave one of them out")
        end = options.setdefault("end", max(1, options.get("start", 0) + 1, self.total // 2))
        options.setdefault("every", max(1, (end - options.get("start", 0)) // 10))
        if end > self.total:
            self.recipe.fail("prune", f"end must be at most {self.total}, the number of steps in all epochs, not {end}")
        layers = options.pop("layers", ())
        for key, patterns in (("layers", layers), ("skip", options.get("skip", ()))):
            for pattern in patterns:
                if not any(fnmatch.fnmatchcase(name, pattern) for name in self.chosen):
                    self.recipe.fail("prune", f'{key} has "{pattern}", which fits no parameter that is trained; there are {", ".join(list(self.chosen)[:6])}')
        # Weights that are not trained could not make up for the zeros.
        frozen = [name for name, _ in self.network.named_parameters() if name not in self.chosen]
        options["skip"] = [*options.get("skip", ()), *(glob.escape(name) for name in frozen)]
        try:
            return compress.Pruner(self.network, parameters=layers, **options), end
        except InvalidArgument as error:
            raise InvalidArgument(f"{self.recipe.name}: [prune] {error}") from None

    def _check_quantize(self) -> None:
        """Faults of [quantize] are told before the training."""
        if not self.recipe.quantizes:
            return
        if self.recipe["quantization"]["activations"] is not None:
            self.recipe.fail("quantize", "cannot go with [quantization], whose networks are saved with integers anyway; leave one of the two tables out")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "quantize.toml")
            try:
                self._write_quantize(path)
                _minnow.check_quantization(path)
            except InvalidArgument as error:
                raise InvalidArgument(f"{self.recipe.name}: [quantize] {str(error).replace(path + ': ', '')}") from None

    def _write_quantize(self, path: str) -> None:
        """Write the table [quantize] as a recipe of its own."""
        lines = []
        for key, value in self.recipe["quantize"].items():
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            if key in ("calibration", "evaluation") and isinstance(value, str):
                value = os.path.abspath(value)
            if not isinstance(value, (str, bool, int, float)) and not (isinstance(value, (list, tuple)) and all(isinstance(one, (str, int, float)) for one in value)):
                raise InvalidArgument(f"{key} is a text, a number, true, false or a list of these, not {value!r:.60}")
            lines.append(f"{key} = {json.dumps(value)}\n")
        with new_file(path, "w", "utf-8") as file:
            file.write("".join(lines))

    def _lesson(self) -> compress.Distillation | None:
        """The teacher beside the network."""
        options = self.recipe["distillation"]
        teacher = options["teacher"]
        if teacher is None:
            return None
        if isinstance(self.task, _detection.Detect):
            self.recipe.fail("distillation", 'is for the tasks "classify" and "regress" alone')
        try:
            if not isinstance(teacher, nn.Module):
                if isinstance(teacher, (str, os.PathLike)) and not os.path.exists(teacher):
                    raise InvalidArgument(f'there is no file "{os.fspath(teacher)}"')
                teacher = _networks.Imported(teacher, self.shape, None)
            made = compress.Distillation(self.network, teacher, **{key: options[key] for key in ("features", "temperature", "alpha", "feature_weight")})
            nn.seed(self.seed)
            return made.prepare(self._samples(2))
        except (Error, TypeError) as error:
            raise InvalidArgument(f"{self.recipe.name}: [distillation] {error}") from None

    def _chosen(self) -> dict[str, Any]:
        """The parameters that are trained."""
        known = dict(self.network.named_parameters())
        options = self.recipe["parameters"]
        for key in ("train", "freeze"):
            for pattern in options[key]:
                if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
                    self.recipe.fail("parameters", f'{key} has "{pattern}", which fits no parameter; there are {", ".join(list(known)[:6])}{" ..." if len(known) > 6 else ""}')
        fits = lambda name, patterns: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)  # noqa: E731
        chosen = {name: value for name, value in known.items() if fits(name, options["train"]) and not fits(name, options["freeze"])}
        if not chosen:
            self.recipe.fail("parameters", "leaves no parameter to train; see the patterns of train and freeze")
        # Learned scales and projections go along.
        chosen.update({name: value for module in self.network.modules() if isinstance(module, compress.QATModule) for name, value in module._steps.items()})
        chosen.update(self._projections())
        return chosen

    def _projections(self) -> dict[str, Any]:
        modules = {} if self.lesson is None else self.lesson.projections
        return {f"projection.{key}.{name}": value for key, module in modules.items() for name, value in module.named_parameters()}

    def _state(self) -> dict[str, Var]:
        return {**_state(self.network), **self._projections()}

    def _optimizer(self) -> optim.Optimizer:
        settings, plan = dict(self.recipe["optimizer"]), dict(self.recipe["schedule"])
        name, groups, warm_up, kind = settings.pop("name"), settings.pop("groups"), plan.pop("warm_up"), plan.pop("name")
        several = settings.get("accumulate", 1)
        # Schedules count the steps of the optimizer, not batches.
        total = self.total // several if isinstance(several, int) and several > 0 else self.total
        try:
            schedule = _schedule(kind, plan, max(1, total - warm_up))
            if warm_up:
                schedule = optim.sequential([optim.schedule("warm_up", steps=warm_up), schedule], [warm_up])
        except (Error, TypeError) as error:
            raise InvalidArgument(f"{self.recipe.name}: [schedule] {error}") from None
        try:
            return optim.create(name, self.chosen, groups=groups, schedule=schedule, **settings)
        except (Error, TypeError) as error:
            raise InvalidArgument(f"{self.recipe.name}: [optimizer] {error}") from None

    def _metric(self) -> tuple[str, int]:
        name = self.recipe["stop"]["metric"]
        known = {"classify": ("loss", "accuracy"), "regress": ("loss", "mae", "rmse"), "detect": ("loss", "mAP")}[self.recipe[""]["task"]]
        if name is None:
            return self.task.best  # type: ignore[no-any-return]
        if name not in known:
            self.recipe.fail("stop", f"metric must be one of {', '.join(known)}, not {name!r:.60}")
        return name, 1 if name in ("accuracy", "mAP") else -1

    # Steps.

    def _loss(self, inputs: Any, targets: Any) -> Any:
        if self.lesson is not None:
            return self.lesson.compare((inputs,), lambda output: self.task.loss(output, targets))
        output = self.network(inputs)
        return self.task.loss(output, targets), output

    def _drawn_loss(self, inputs: Any, targets: Any) -> Any:
        """The loss for targets drawn from the network's predictions, for Sophia's estimate of the curvature."""
        output = self.network(inputs)
        return self.task.loss(output, self.task.drawn(output))

    def _place(self) -> str:
        """Where the recipe's backend keeps what is trained."""
        step = self.step_of
        if step.device:
            return f"parameters and the optimizer's state stay on {step.device}"
        return f"parameters are updated by the processor{': ' if step.why_not_on_device else ''}{step.why_not_on_device}"

    def _step(self, batch: Any) -> float:
        if not isinstance(batch, (tuple, list)) or len(batch) < 2:
            raise InvalidArgument("a batch is a pair of inputs and targets")
        inputs, targets = batch[0], batch[1]
        if isinstance(self.task, _detection.Detect):
            targets = Var(self.task.encode(targets.numpy()))
        elif self.inputs.targets is None and len(targets.shape) == 1:
            self.task.check(targets.numpy(), f"the batch of step {self.steps + 1}")
        made = self.optimizer.steps
        try:
            loss, output = self.step_of(inputs, targets)
            if self.recipe["optimizer"].get("sharpness") and self.optimizer.steps == made:
                self.step_of(inputs, targets)  # the first call moved uphill, the second goes down from there by the same batch
        except InvalidArgument as error:
            if "finite" not in str(error):
                raise
            raise NotFinite(f"{error}; {_ADVICE}", "of the batch" in str(error)) from None
        value = float(loss)
        if self._clips and not math.isfinite(self.optimizer.gradient_norm):
            self._check_finite(self.steps + 1)
        sums = self.task.measure(output.numpy(), targets.numpy())
        sums["loss"] = value * sums["count"]
        for key, one in sums.items():
            self.sums[key] = self.sums.get(key, 0.0) + one
        self.steps += 1
        if self.pruner is not None:
            self.pruner.step()
        return value

    def _batches(self, dataset: Any) -> Iterator[Any]:
        return iter(data.DataLoader(dataset, max(self.loader.batch_size or 1, 32), num_workers=self.recipe["data"]["workers"], seed=self.seed))

    def evaluate(self, dataset: Any, confusion: bool = False) -> tuple[dict[str, float], Any]:
        """Figures over a data set, and the confusion matrix."""
        self.network.eval()
        sums: dict[str, float] = {}
        matrix = None
        for batch in self._batches(dataset):
            output, target = self.network(batch[0]).numpy(), batch[1].numpy()
            for key, one in self.task.evaluate(output, target).items():
                sums[key] = sums.get(key, 0.0) + one
            if confusion and hasattr(self.task, "confusion"):
                matrix = self.task.confusion(output, target) + (0 if matrix is None else matrix)
        self.network.train()
        return self.task.metrics(sums), matrix

    # Checkpoints.

    def _path(self, name: str) -> str:
        return os.path.join(self.output, name)

    def _write(self, name: str, arrays: Mapping[str, Any]) -> None:
        with new_file(self._path(name)) as file:
            numpy.savez(file, **{key: numpy.asarray(value) for key, value in arrays.items()})

    def _check_finite(self, step: int) -> None:
        """Raise NotFinite, with the first one, where a parameter or buffer is not finite: nothing good is replaced by it."""
        for name, value in self._state().items():
            if name not in self._masks and not _is_finite(value):
                raise NotFinite(f'"{name}" has numbers that are not finite after step {step}, though the loss was finite: its gradient was not; {_ADVICE}')

    def save(self) -> None:
        """Write the checkpoint: everything that the rest of the training depends on. Raises NotFinite, and keeps the last one, if parameters are not
        finite."""
        self._check_finite(self.steps)
        facts = {"recipe": self.recipe.described(), "epochs": self.epochs, "steps": self.steps, "loader": self.loader.state_dict(), "sums": self.sums,
                 "history": self.history, "best": self.best, "stale": self.stale}
        arrays = {f"parameter/{name}": value for name, value in self._state().items()}
        arrays.update({f"optimizer/{name}": value for name, value in self.step_of.state_dict().items()})
        if self.pruner is not None:
            arrays.update({f"pruner/{name}": value for name, value in self.pruner.state_dict().items()})
        self._write(CHECKPOINT, {"facts": numpy.frombuffer(json.dumps(facts).encode(), numpy.uint8), **arrays})
        self.saved = time.monotonic()

    def _read(self, name: str) -> dict[str, Any]:
        path = self._path(name)
        try:
            return data._files._npz(path)
        except InvalidModel:
            raise InvalidModel(f"{path}: the checkpoint is damaged; remove it to begin anew") from None

    def _load_state(self, arrays: Mapping[str, Any], path: str) -> None:
        own = self._state()
        stored = {name[10:]: value for name, value in arrays.items() if name.startswith("parameter/")}
        if stored.keys() != own.keys() or any(tuple(stored[name].shape) != tuple(own[name].shape) for name in own):
            raise InvalidArgument(f"{path}: the checkpoint belongs to another network; choose another output")
        for name, value in own.items():
            value.assign(Var(stored[name], copy=True))

    def load(self) -> bool:
        """Go on from the checkpoint, if there is one."""
        path = self._path(CHECKPOINT)
        if not os.path.exists(path):
            return False
        arrays = self._read(CHECKPOINT)
        try:
            facts = json.loads(arrays["facts"].tobytes())
            described, stored = facts["recipe"], json.loads(json.dumps(self.recipe.described()))
            loader, self_steps = facts["loader"], int(facts["steps"])
        except (KeyError, ValueError, TypeError):
            raise InvalidModel(f"{path}: the checkpoint is damaged; remove it to begin anew") from None
        for table in sorted(set(described) | set(stored)):
            for key in sorted(set(described.get(table, {})) | set(stored.get(table, {}))):
                before, now = described.get(table, {}).get(key), stored.get(table, {}).get(key)
                may_change = table == "optimizer" and key in _MAY_CHANGE
                if before != now and may_change and self.recipe[""]["resume"] == "changed":
                    self.report(f"{key} was {before}, and is {now} from here on")
                elif before != now:
                    raise InvalidArgument(f"{self.recipe.name}: the folder {self.output} holds a training with another {key} ({before!r:.60}, now {now!r:.60}); choose another output, "
                                          "or say resume = false to replace it" + (', or resume = "changed" to go on with it' if may_change else ""))
        self._load_state(arrays, path)
        self.step_of.load_state_dict({name[10:]: Var(value, copy=True) for name, value in arrays.items() if name.startswith("optimizer/")})
        if self.pruner is not None:
            self.pruner.load_state_dict({name[7:]: value for name, value in arrays.items() if name.startswith("pruner/")})
        self.loader.load_state_dict(loader)
        self.steps, self.sums, self.history, self.best, self.stale = self_steps, facts["sums"], facts["history"], facts["best"], facts["stale"]
        return True

    # The loop.

    def run(self) -> Trained:
        """Train to the end of the recipe."""
        try:
            os.makedirs(self.output, exist_ok=True)
        except OSError as error:
            raise IoError(f"{self.recipe.name}: output: the folder {self.output} cannot be made: {error.strerror}") from None
        with self._others_frozen():
            return self._run()

    @contextlib.contextmanager
    def _others_frozen(self) -> Iterator[None]:
        """Parameters of imported models that are not trained are frozen: their batch normalizations stay as in inference."""
        own = any(isinstance(module, (TrainableModel, compress.QATModule)) for module in self.network.modules())
        others = [value for name, value in self.network.named_parameters() if name not in self.chosen] if own else []
        for value in others:
            value.trainable = False
            value.__dict__["_frozen"] = True
        try:
            yield
        finally:
            for value in others:
                value.__dict__.pop("_frozen")
                value.trainable = True

    def _run(self) -> Trained:
        resumed = self.recipe[""]["resume"] and self.load()
        if not resumed:
            for name in (BEST, CHECKPOINT):
                if os.path.exists(self._path(name)):
                    os.replace(self._path(name), self._path(name) + ".before")
        self.log = _events.Log(self.output, self.steps)
        names = ", ".join(f"{value} {key}" for key, value in (("parameters", sum(math.prod(value.shape) for value in self.chosen.values())), ("samples", len(self.inputs.train)),
                                                              ("to validate", len(self.inputs.validation or ()))) if value)
        self.report(f"{'resumed at step ' + str(self.steps) if resumed else 'training'}: {names}, {len(self.loader)} steps an epoch; in {self.output}")
        try:
            with self.scope:
                if not resumed:
                    self.save()
                self.saved = self.began = time.monotonic()
                self._begin_steps = self.steps
                self._epochs()
                return self._finish()
        except KeyboardInterrupt:
            self.line.clear()
            self.save()
            self.report(f"interrupted after step {self.steps}; the same command goes on there")
            raise
        except Error as error:
            self.line.clear()
            # Nothing is lost: the loader stands before the failed batch. Weights that made numbers infinite replace no good ones.
            if self.steps and (not isinstance(error, NotFinite) or error.of_batch):
                with contextlib.suppress(NotFinite):
                    self.save()
            raise
        finally:
            self.line.clear()
            self.log.close()

    def _stopped(self) -> bool:
        stop = self.recipe["stop"]
        return bool(stop["patience"] and self.stale >= stop["patience"] or stop["steps"] and self.steps >= stop["steps"])

    def _epochs(self) -> None:
        options = self.recipe["checkpoint"]
        often = max(1, len(self.loader) // 20)
        while len(self.history) < self.epochs and not self._stopped():
            self.network.train()
            self._switch()
            start, first = time.monotonic(), self.steps
            for batch in self.loader:
                value = self._step(batch)
                if self.steps == self._begin_steps + 1 and self.recipe[""]["backend"] is not None:
                    self.report(self._place())
                self.line.show(lambda: self._shown(value, start, first))
                if self.callback is not None:
                    self.callback({"step": self.steps, "epoch": len(self.history), "loss": value})
                if self.steps % often == 0:
                    self.log.scalars(self.steps, {"loss/step": value, "lr_factor": self.optimizer.factor})
                if options["steps"] and self.steps % options["steps"] == 0 or options["seconds"] and time.monotonic() - self.saved >= options["seconds"]:
                    self.save()
                if self.recipe["stop"]["steps"] and self.steps >= self.recipe["stop"]["steps"]:
                    break
            if not self.sums:
                break
            self._end_of_epoch(time.monotonic() - start, self.steps - first)

    def _averaged(self) -> dict[str, Var]:
        """Put the averages of the weights into the parameters, if the optimizer keeps some. Returns the weights that train on."""
        averages = self.optimizer.averages() if self.recipe["optimizer"].get("average") else {}
        trained = {name: Var(self.chosen[name], copy=True) for name in averages}
        for name, value in averages.items():
            self.chosen[name].assign(value)
        return trained

    def _switch(self) -> None:
        """Rounding and ranges as the epoch has them."""
        options, epoch = self.recipe["quantization"], len(self.history)
        if options["activations"] is None:
            return
        last = options["freeze"] if options["freeze"] is not None else options["delay"] + max(1, 2 * (self.epochs - options["delay"]) // 3)
        state = epoch >= options["delay"], epoch >= last
        if state == self._switched:
            return
        (compress.enable_fake_quant if state[0] else compress.disable_fake_quant)(self.network)
        (compress.disable_observer if state[1] else compress.enable_observer)(self.network)
        (compress.freeze_bn_stats if state[1] else compress.update_bn_stats)(self.network)
        self._switched = state
        self.step_of.reset()

    def _shown(self, loss: float, start: float, first: int) -> str:
        now = time.monotonic()
        made = max(1, self.steps - first)
        speed = made * (self.loader.batch_size or 1) / max(now - start, 1e-9)
        left = (self.total - self.steps) * (now - self.began) / max(1, self.steps - self._begin_steps)
        figures = _figures(self.task.metrics(self.sums))
        place = self.steps - len(self.history) * len(self.loader)
        return f"epoch {len(self.history) + 1}/{self.epochs}  {place}/{len(self.loader)}  {figures}  {speed:.0f} samples/s  {memory() >> 20} MB  {_time(left)} left"[:150]

    def _end_of_epoch(self, seconds: float, steps: int) -> None:
        self._check_finite(self.steps)
        self.line.show(lambda: f"epoch {len(self.history) + 1}/{self.epochs}  validating", always=True)
        row = {f"train_{key}": value for key, value in self.task.metrics(self.sums).items()}
        self.optimizer.evaluate(True)
        trained = self._averaged()
        if self.pruner is not None:
            self.pruner.apply()  # averages of weights
        tested = self.inputs.validation if self.inputs.validation is not None else self.inputs.train if isinstance(self.task, _detection.Detect) else None
        figures = self.evaluate(tested)[0] if tested is not None else {key[6:]: value for key, value in row.items()}
        row.update(figures)
        row["epoch"] = float(len(self.history) + 1)
        self.history.append(row)
        self.sums = {}
        value = self.sign * figures[self.metric]
        # Networks that do not round yet, or are not as sparse as they will be, are no results.
        early = len(self.history) <= self.recipe["quantization"]["delay"] + 1 or bool(self.best) and self.best["epoch"] * len(self.loader) < self._pruned_at
        if not self.best or early or value > self.sign * self.best[self.metric] + self.recipe["stop"]["min_delta"]:
            self.best, self.stale = row, 0
        else:
            self.stale += 1
            if figures[self.metric] == self.best[self.metric] and figures["loss"] < self.best["loss"]:
                self.best = row
        if self.best is row:
            self._write(BEST, {f"parameter/{name}": one for name, one in self._state().items()})
        for name, value in trained.items():
            self.chosen[name].assign(value)
        self.optimizer.evaluate(False)
        self.optimizer.observe(figures["loss"])
        self.save()
        self.log.scalars(self.steps, {**{f"train/{key[6:]}": one for key, one in row.items() if key.startswith("train_")},
                                      **({f"validation/{key}": one for key, one in figures.items()} if self.inputs.validation is not None else {})})
        cv_curves(self.history, self._path("curves.png"), self.inputs.validation is not None)
        self.line.clear()
        shown = {key: value for key, value in row.items() if key.startswith("train_")}
        speed = steps * (self.loader.batch_size or 1) / max(seconds, 1e-9)
        validated = f"  validation: {_figures(figures)}" if self.inputs.validation is not None else ""
        self.report(f"epoch {len(self.history)}/{self.epochs}: {_figures({key[6:]: one for key, one in shown.items()})}{validated}  {speed:.0f} samples/s  {memory() >> 20} MB")

    def _finish(self) -> Trained:
        if not self.history:
            raise InvalidArgument(f"{self.recipe.name}: the training ended before its first epoch did")
        self._load_state(self._read(BEST), self._path(BEST))
        compress.enable_fake_quant(self.network)
        self.network.eval()
        where = self.inputs.validation if self.inputs.validation is not None else self.inputs.train
        matrix = None
        if hasattr(self.task, "confusion") and self.inputs.validation is not None:
            _, matrix = self.evaluate(where, True)
            from minnow import cv
            cv.imwrite(self._path("confusion.png"), _drawing.confusion(matrix, self.task.classes))
        self.network.eval()
        for module in self.network.modules():
            if isinstance(module, TrainableModel):
                module.merge_lora()
        self._export()
        with new_file(self._path("history.json"), "w", "utf-8") as file:
            json.dump({"history": self.history, "best": self.best, "classes": self.task.classes, "steps": self.steps}, file, indent=1)
        if self.pruner is not None:
            self.report(f"pruned: {100 * self.pruner.sparsity:.1f} % of the weights of {len(self.pruner.report())} layers are zero")
        self._quantize()
        figures = {key: value for key, value in self.best.items() if not key.startswith("train_") and key != "epoch"}
        self.report(f"best: epoch {int(self.best['epoch'])} with {_figures(figures)}; {self._path('model.minnow')}")
        return Trained(self.network, figures, self.history, self.task.classes, matrix, self.steps, self.output)

    def _export(self) -> None:
        x = expr.placeholder("input", "float32", [None, *self.shape])
        outputs = [self.network(x)] if not isinstance(self.network, compress.QATModule) else self.network.in_integers(x)
        if isinstance(self.task, _tasks.Classify):
            outputs = [expr.softmax(outputs[0], axis=1)]
        elif isinstance(self.task, _detection.Detect):
            assert self.task.network is not None
            outputs = list(self.task.network.boxes(outputs[0]))
            outputs[0].name, outputs[1].name = "boxes", "scores"
        expr.save(outputs, self._path("model.onnx"), [x])
        preprocess = self.inputs.preprocess
        if preprocess is not None:
            preprocess = {**preprocess, "input": "input", "size": [self.shape[1], self.shape[2]]}
        import minnow
        minnow.convert(self._path("model.onnx"), self._path("model.minnow"), labels=self.task.classes, preprocess=preprocess)


    def _quantize(self) -> None:
        """Write quantized.minnow, as the table [quantize] says."""
        if not self.recipe.quantizes:
            return
        import minnow
        options, path = self.recipe["quantize"], self._path("quantize.toml")
        self._write_quantize(path)
        calibration = None if "calibration" in options or options.get("weights_only") in ("rtn", "hqq") else numpy.ascontiguousarray(self._samples(options.get("samples", 100)), numpy.float32)
        tested = self.inputs.validation if self.inputs.validation is not None and "evaluation" not in options else None
        evaluation = None if tested is None else numpy.concatenate([batch[0].numpy() for batch in self._batches(tested)]).astype(numpy.float32)
        made = minnow.quantize(self._path("model.minnow"), self._path("quantized.minnow"), calibration, evaluation=evaluation, recipe=path)
        integers = sum(not layer.refusal for layer in made.layers)
        self.report(f"quantized: {integers} of {len(made.layers)} layers, {os.path.getsize(self._path('model.minnow'))} -> {made.bytes} bytes; {made.path}")


def cv_curves(history: list[dict[str, float]], path: str, validated: bool) -> None:
    """Draw the curves of a training."""
    from minnow import cv
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for key in history[-1]:
        if key.startswith("train_"):
            name = key[6:]
            panels[name] = {"training": [(row["epoch"], row[key]) for row in history]}
            if validated:
                panels[name]["validation"] = [(row["epoch"], row[name]) for row in history]
    for name in history[-1]:
        if name != "epoch" and not name.startswith("train_") and name not in panels:
            panels[name] = {"validation": [(row["epoch"], row[name]) for row in history]}
    cv.imwrite(path, _drawing.curves(panels))
