# SPDX-License-Identifier: Apache-2.0
"""Quantization after training that is tuned towards the f32 model's own outputs, without labels."""
from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import minnow.optim as optim
from minnow import nn
from minnow._files import ModelPath, path_of
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._progress import Callback, Progress
from minnow._quantization import Quantization, Samples, _samples
from minnow._repr import of_fields
from minnow.compress._rounding import _op, fixed
from minnow.compress._training import QATModule, convert, prepare_qat


class Reconstruction(NamedTuple):
    """The result of reconstruct()."""
    report: Quantization
    before: float  #: SQNR of the worst output on the samples that were held out, in decibels, as post-training quantization leaves it
    after: float  #: of the model that was written
    steps: int
    __repr__ = of_fields


def _rows(given: Any, names: list[str]) -> list[list[Any]]:
    """Samples in memory, each a list of arrays with a first dimension of 1."""
    import numpy
    made = _samples(given, names)
    if isinstance(made, dict):
        arrays = [numpy.asarray(made[name]) for name in (names if "" not in made else [""]) if name in made]
        if len(arrays) != len(names):
            raise InvalidArgument(f"calibration: arrays are given for {', '.join(map(str, made))}; the inputs are {', '.join(names)}")
        made = [[array[i:i + 1] for array in arrays] for i in range(len(arrays[0]))]
    return [[numpy.asarray(array) for array in sample] for sample in made]  # type: ignore[attr-defined]


def _outputs(module: QATModule, inputs: list[Any]) -> list[Var]:
    made = module(*inputs)
    return [one for one in (made if isinstance(made, tuple) else (made,)) if str(one.dtype) == "float32"]


def reconstruct(source: ModelPath | nn.Module, destination: str | os.PathLike[str], calibration: Samples, *, steps: int = 200, batch: int = 4, rate: float = 0.02,
                held_out: float = 0.25, weight_bits: int = 8, method: str = "mse", evaluation: Samples | None = None, seed: int = 0,
                progress: Callback | None = None, **options: Any) -> Reconstruction:
    """Quantize a model as minnow.quantize() does, then move its weights and scales until the outputs are as near to the f32 model's as they get, and write
    it. It needs no labels and some minutes; worth it for small networks and for weights below 8 bits.

    calibration: arrays or a list of samples; the part held_out judges, the others teach. steps: of Adam, with batches of `batch` samples; a weight moves by
    about `rate` of the distance between two integers in a step, less towards the end. The best state of the way is written, which may be the beginning.
    options: those of prepare_qat(). Source: end-to-end reconstruction after Li et al. 2021, "BRECQ", arXiv:2102.05426, with learned scales (Esser et al. 2020).
    Raises the errors of prepare_qat() and convert(), and InvalidArgument (a ValueError) for less than 4 samples and wrong settings.
    """
    import numpy
    name = path_of(destination)
    if not name.endswith((".minnow", ".onnx")):
        raise InvalidArgument(f"{name}: reconstruct writes .minnow and .onnx files")
    if not (isinstance(steps, int) and steps >= 1 and isinstance(batch, int) and batch >= 1 and rate > 0 and 0 < held_out < 1):
        raise InvalidArgument(f"steps and batch are positive, rate above 0, held_out between 0 and 1, not {steps}, {batch}, {rate} and {held_out}")
    if isinstance(calibration, (str, os.PathLike)):
        raise InvalidArgument("reconstruct() takes arrays or a list of samples for calibration, not a path")
    module = prepare_qat(source, calibration, weights="lsq", activations="lsq", weight_bits=weight_bits, method=method, **options).eval()
    assert isinstance(module, QATModule)
    rows = _rows(calibration, [row[0] for row in module._model.inputs])
    if len(rows) < 4:
        raise InvalidArgument(f"calibration: reconstruct() takes 4 samples or more, {len(rows)} are given")
    module._rounds = False
    wanted = [[numpy.asarray(value) for value in _outputs(module, sample)] for sample in rows]
    module._rounds = True
    if not wanted[0]:
        raise InvalidArgument("the model has no float32 output")
    power = [float(numpy.mean([numpy.square(row[k], dtype=numpy.float64).mean() for row in wanted])) or 1.0 for k in range(len(wanted[0]))]
    random = numpy.random.default_rng(seed)
    order = random.permutation(len(rows))
    judges = max(1, min(len(rows) - 1, round(held_out * len(rows))))
    held, taught = order[:judges], order[judges:]

    def sqnr() -> float:
        """The SQNR of the worst output on the samples that are held out."""
        noise = [0.0] * len(power)
        signal = [0.0] * len(power)
        for i in held:
            for k, value in enumerate(_outputs(module, rows[i])):
                noise[k] += float(numpy.square(numpy.asarray(value, numpy.float64) - wanted[i][k]).sum())
                signal[k] += float(numpy.square(wanted[i][k], dtype=numpy.float64).sum())
        return min(10 * math.log10(s / n) if n > 0 < s else math.inf for n, s in zip(noise, signal))

    def loss(inputs: list[Var], targets: list[Var]) -> Var:
        """The logarithm of noise over signal, of all outputs."""
        total: Any = 0.0
        for k, (value, target) in enumerate(zip(_outputs(module, inputs), targets)):
            difference = value - fixed(target)
            total = total + _op("Log", (difference * difference).mean() * (1 / power[k]) + 1e-12)
        return total  # type: ignore[no-any-return]

    trained, groups = {}, {}
    scales = {layer.weights: float(numpy.mean(layer.steps)) for layer in module._layers}
    for key, value in module.named_parameters():
        size = float(numpy.abs(numpy.asarray(value)).mean())
        step = scales[key] if key in scales else 0.05 * size if key in module._steps else 0.02 * size
        # Weights with a normalization behind them are rounded after it scaled them.
        layer = next((each for each in module._layers if each.weights == key and each.scale), None)
        if layer is not None:
            step = size / max(1e-30, float(numpy.abs(numpy.asarray(module._weight(layer, module._constants())[0])).mean())) * step
        trained[key] = value
        groups[key] = {"lr": max(rate * step, 1e-12)}
    start = {key: numpy.array(value) for key, value in trained.items()}
    first = best = sqnr()
    kept = start
    try:
        optimizer = optim.create("adam", trained, lr=1e-6, groups=groups, schedule=optim.schedule("cosine", steps=steps))
        train = optim.TrainingStep(loss, optimizer, seed=seed)
        size = batch if all(dim is None or not dim for dim in [row[2][0] if row[2] else None for row in module._model.inputs]) else 1
        with Progress("reconstructing", progress) as line:
            for i in range(steps):
                places = random.choice(taught, min(size, len(taught)), replace=False)
                inputs = [numpy.concatenate([rows[p][k] for p in places]) for k in range(len(rows[0]))]
                targets = [numpy.concatenate([wanted[p][k] for p in places]) for k in range(len(power))]
                train(inputs, targets)
                if (i + 1) % max(1, steps // 10) == 0 or i + 1 == steps:
                    now = sqnr()
                    if now > best:
                        best, kept = now, {key: numpy.array(value) for key, value in trained.items()}
                line.tell((i + 1) / steps)
    finally:
        for key, value in trained.items():
            value.assign(Var(kept[key]))
    return Reconstruction(convert(module, name, evaluation=evaluation), first, best, steps)


__all__ = ["Reconstruction", "reconstruct"]

all_suggesting(globals(), ["reconstruct"])
