# SPDX-License-Identifier: Apache-2.0
"""Minnow: a small and fast deep-learning engine.

    import minnow
    model = minnow.load("model.onnx")     # any format that Minnow reads
    scores = model(image)                 # arrays in, arrays out

minnow.Var is a value that is computed when it is read; minnow.expr has a function for every operator, minnow.numpy NumPy's names,
minnow.cv OpenCV's, minnow.nn modules, minnow.optim optimizers, minnow.data data sets and loaders, minnow.tools conversion and inspection.
"""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from minnow._minnow import (Cancelled, Error, FileNotFound, InternalError, InvalidArgument, InvalidIndex, InvalidModel, InvalidType, IoError, IsADirectory,
                            OutOfMemory, PermissionDenied, TimeLimitReached, Unsupported, Var, __version__, bfloat16, bool, dtype, float16, float32, float64, int8, int16, int32, int64, nearest, promote,
                            uint8, uint16, uint32, uint64)
from minnow import _arrays, _var  # noqa: F401
from minnow._files import ModelPath, Preprocessing
from minnow._functions import suggesting

if TYPE_CHECKING:
    from typing_extensions import Unpack
    from minnow._options import RunOptions
    from minnow._progress import Callback
    from minnow._pruning import Pruning
    from minnow._quantization import Quantization, Samples
    from minnow._training import Trained
    import builtins
    from minnow import audio as audio, compress as compress, cv as cv, data as data, expr as expr, nn as nn, numpy as numpy, optim as optim, tools as tools
    from minnow._autograd import (checkpoint as checkpoint, custom_gradient as custom_gradient, custom_vjp as custom_vjp, grad as grad,
                                  stop_gradient as stop_gradient, value_and_grad as value_and_grad, with_gradient_hook as with_gradient_hook)
    from minnow._trainable import load_trainable as load_trainable
    from minnow.nn import Module as Module

# Submodules that are imported at their first use. minnow.compat is not among them: it redirects `import MNN`, so only an explicit import may load it.
_SUBMODULES = ("audio", "compress", "cv", "data", "expr", "nn", "numpy", "optim", "tools")

_AUTOGRAD = ("checkpoint", "custom_gradient", "custom_vjp", "grad", "stop_gradient", "value_and_grad", "with_gradient_hook")


@suggesting
def load(path: ModelPath, inputs: Sequence[str] = (), outputs: Sequence[str] = (), *, optimize: str | None = None,
         shapes: Mapping[str, Sequence[int | None]] | None = None, **options: Unpack[RunOptions]) -> nn.LoadedModule:
    """Load a model file of any format that Minnow reads as a function: load(path)(x).

    path: a file, a folder, the bytes of a file, or an open binary file; a list for formats with several files. inputs, outputs: the part of
    the model between these values; by default all. shapes: fixed dimensions of inputs, by name; None for one that stays open.
    options: threads, precision, memory, backend, power, tuning ...; see nn.load_module_from_file.

    Raises FileNotFound (a FileNotFoundError) or another IoError if a file cannot be read, InvalidModel (a ValueError) for a wrong file, Unsupported
    naming all missing operators, and InvalidType (a TypeError) for an unknown option.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> model = minnow.load("model.onnx")
    >>> model
    LoadedModule(x: f32[?, 2] -> output: f32[?, 2])
    >>> model([[-1.0, 2.0]])
    Var([[0., 2.]], shape=(1, 2), dtype=float32, name='output')
    """
    from minnow import nn
    return nn.load_module_from_file(path, inputs, outputs, optimize=optimize, shapes=shapes, **options)


@suggesting
def convert(source: ModelPath, destination: str | os.PathLike[str], *, optimize: str = "standard", shapes: Mapping[str, Sequence[int | None]] | None = None,
            rename: Mapping[str, str] | None = None, keep_inputs: Sequence[str] = (), labels: Sequence[str] = (), preprocess: Preprocessing | None = None,
            signature: str = "", format: str = "", verify: builtins.bool = False, external_data: builtins.bool = False, opset: int = 0, weights: str = "f32",
            compress: builtins.bool = False, memory_limit: int = 0, progress: Callback | None = None) -> tools.Conversion:
    """Writes a model of any format that Minnow reads as .minnow or ONNX. See tools.convert for the options and errors.

    >>> expr.save([expr.relu(expr.placeholder("x", "float32", [None, 2]))], "model.onnx")
    >>> minnow.convert("model.onnx", "model.minnow", shapes={"x": [1, 2]}).nodes
    1
    """
    from minnow import tools
    return tools.convert(source, destination, optimize=optimize, shapes=shapes, rename=rename, keep_inputs=keep_inputs, labels=labels, preprocess=preprocess, signature=signature, format=format,
                         verify=verify, external_data=external_data, opset=opset, weights=weights, compress=compress, memory_limit=memory_limit,
                         progress=progress)


@suggesting
def train(recipe: str | os.PathLike[str] | Mapping[str, Any] | None = None, *, progress: builtins.bool | None = None, report: Callable[[str], object] | None = None,
          callback: Callable[[dict[str, Any]], object] | None = None, **keys: Any) -> Trained:
    """Train or fine-tune a network by a recipe, a TOML file or a dict of its keys (docs/training.md); `keys` replace those of the recipe:
    train("flowers.toml", epochs=20, optimizer={"lr": 1e-4}). In a dict, model may be a module, data.train a data set, and loss a function. If the
    output folder holds a checkpoint of this recipe, the training goes on there, to the bit.

    progress: whether stderr shows a line (by default on a terminal); report: called with a sentence for each epoch; callback: called after each
    step with its number, epoch and loss. Raises InvalidArgument (a ValueError) for a wrong recipe or data, with the place, and where the loss becomes
    NaN; the errors of reading the data; checkpoints stay.
    """
    from minnow._training import train
    return train(recipe, progress=progress, report=report, callback=callback, **keys)


@suggesting
def quantize(source: ModelPath, destination: str | os.PathLike[str], calibration: Samples | None = None, *, evaluation: Samples | None = None,
             method: str | None = None, recipe: str | os.PathLike[str] | None = None, search: builtins.bool = False, max_drop: float | None = None,
             max_size: int | str | None = None, min_sqnr: float | None = None, min_agreement: float | None = None, skip: Sequence[str] = (),
             html: str | os.PathLike[str] | None = None, compress: builtins.bool | None = None, samples: int | None = None, mean: float | Sequence[float] | str | None = None,
             scale: float | Sequence[float] | str | None = None, size: int | tuple[int, int] | str | None = None, color: str | None = None,
             progress: Callback | None = None, **options: object) -> Quantization:
    """Make a trained model compute with 8-bit integers and write it as .minnow or .onnx (docs/compression.md); returns a report of each layer.

    calibration: typical inputs: a folder of pictures or arrays, a .npz or .npy file, an array or a dict of arrays whose first axis counts samples,
    or a list of samples; None makes noise up. evaluation: the same for the report of the outputs. samples: take the first ones alone. mean, scale, size
    (height and width) and color ("rgb", "bgr", "gray"): preprocessing of pictures, for models that carry none. method: how ranges of activations are found:
    "mse" (default), "minmax", "moving-average", "percentile", "kl", "admm", "aciq", "octav", or "auto", which tries all. skip: nodes (also by `*` and `?`) or
    operators that stay float32. html: a file for the report with plots. recipe: a TOML file of options, or a JSON file of MNN's tools; arguments come first.
    compress: stores tensors of .minnow files as entropy codes where that saves at least 5 %. progress: called with the finished part.

    Aims: min_sqnr (decibels), min_agreement (percent of samples with the same best class), max_drop (percent whose best class changes) and max_size of the
    file ("2MB", or bytes). If the result misses one, it is written all the same, reached is False and missed says why. search leaves layers in float32, or
    gives them more bits, as few as the aims allow (without aims, max_drop=1); max_drop and max_size search by themselves.

    options: all others of the command `minnow quantize`, with `_` for `-`: weights, activations, percentile, weight_bits (bits), bits_for={"node": 8},
    per_channel, portable, correct_bias, equalize, smooth, rounding, keep_f32, evaluate, seed, shape, data_free, fit, layout.
    keep_f32: where outputs have less than 30 dB, noisy layers stay float32 that have at most so many percent of the multiply-adds and weights (8).
    portable: write only the form that other engines' integer kernels know; True by default for .onnx files.
    weights_only="rtn", "hqq", "gptq" or "awq" leaves activations in float32 and stores weights in weight_bits (4), in blocks of block_size (64), with
    zero points unless symmetric=True; calibration may be None for "rtn" and "hqq".

    Warns if files store weights in more bits than weight_bits. Raises InvalidArgument (a ValueError) for samples and options that do not fit, and
    Unsupported if no layer can be quantized.
    """
    from minnow._quantization import quantize
    return quantize(source, destination, calibration, evaluation=evaluation, method=method, recipe=recipe, search=search, max_drop=max_drop, max_size=max_size,
                    min_sqnr=min_sqnr, min_agreement=min_agreement, skip=skip, html=html, compress=compress, samples=samples, mean=mean, scale=scale, size=size,
                    color=color, progress=progress, **options)


@suggesting
def prune(source: ModelPath, destination: str | os.PathLike[str], *, calibration: Samples | None = None, **options: object) -> Pruning:
    """Make a trained model sparse or smaller and write it as .minnow or .onnx (docs/pruning.md).

    options name a step and one of its settings: prune_sparsity=0.8, prune_pattern="1x4", prune_distribution, prune_layers, prune_skip set weights to
    zero; channels_operations=0.5, channels_criterion, channels_multiple, channels_skip remove channels; low_rank_energy=0.9 factors layers;
    palette_bits=4 makes weights indices into a palette. Without an option, 80 % of the weights become zero. calibration: inputs as of quantize(), for
    channels_criterion="taylor". Returns the path, the bytes of the file, a sentence for each step, and the seconds.

    Raises InvalidArgument (a ValueError) for options that do not fit, and Unsupported if a step can change nothing.
    """
    from minnow._pruning import prune
    return prune(source, destination, calibration=calibration, **options)


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            import importlib
            return importlib.import_module("minnow." + name)
        if name == "Module":
            from minnow.nn import Module
            return Module
        if name in _AUTOGRAD:
            from minnow import _autograd
            return getattr(_autograd, name)
        if name == "load_trainable":
            from minnow._trainable import load_trainable
            return load_trainable
        if name == "compat":
            raise AttributeError("minnow.compat changes what `import MNN` means and has to be asked for: import minnow.compat")
        raise AttributeError(f"module 'minnow' has no attribute {name!r}" + ("" if name.startswith("_") else nearest(name, __dir__())))


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "Module"})


__all__ = ["Cancelled", "Error", "FileNotFound", "InternalError", "InvalidArgument", "InvalidIndex", "InvalidModel", "InvalidType", "IoError", "IsADirectory",
           "OutOfMemory", "PermissionDenied", "TimeLimitReached", "Unsupported", "Var", "__version__", "bfloat16", "bool", "checkpoint", "convert", "custom_gradient", "custom_vjp", "dtype", "float16", "float32", "float64", "grad", "int8", "int16", "int32", "int64", "load",
           "load_trainable", "promote", "prune", "quantize", "stop_gradient", "train", "uint8", "uint16", "uint32", "uint64", "value_and_grad", "with_gradient_hook"]
