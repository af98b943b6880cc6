# SPDX-License-Identifier: Apache-2.0
"""MNN.tools.mnnconvert: the converter's command as a function. The file that it writes is Minnow's, whatever its name; minnow.load() and MNN.Interpreter
read it."""
from __future__ import annotations

import os
import sys
import tempfile
from typing import Any, Mapping, Sequence

from minnow import _minnow, quantize, tools
from minnow._minnow import InvalidArgument

_FORMATS = {"TF": "tensorflow", "CAFFE": "caffe", "ONNX": "onnx", "TFLITE": "tflite", "TORCH": "torchscript", "MNN": "mnn"}
_WITH_VALUE = {"-f": "framework", "--framework": "framework", "--modelFile": "modelFile", "--prototxt": "prototxt", "--MNNModel": "MNNModel", "--bizCode": "bizCode",
               "--optimizeLevel": "optimizeLevel", "--keepInputFormat": "keepInputFormat", "--batch": "batch", "--weightQuantBits": "weightQuantBits",
               "--weightQuantBlock": "weightQuantBlock", "--weightQuantAsymmetric": "weightQuantAsymmetric", "--compressionParamsFile": "compressionParamsFile"}
_FLAGS = {"--fp16": "fp16", "--keepInputFormat": "keepInputFormat", "--forTraining": "forTraining", "--hqq": "hqq", "--weightQuantAsymmetric": "weightQuantAsymmetric"}
_LARGEST_BLOCK = 256  # theirs may be as long as a row


def _number(given: Mapping[str, str], name: str, fallback: int) -> int:
    text = given.get(name, str(fallback))
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f'mnnconvert takes a whole number for --{name}, not "{text}"') from None


def _weights_of(given: Mapping[str, str]) -> dict[str, Any]:
    """The options of quantize() that say how weights are rounded; none: they are not."""
    options: dict[str, Any] = {}
    if "compressionParamsFile" in given:
        options["recipe"] = given["compressionParamsFile"]
        if not options["recipe"].endswith(".json"):
            raise InvalidArgument(f'{options["recipe"]}: --compressionParamsFile reads JSON files, whose names end in ".json"')
    if bits := _number(given, "weightQuantBits", 0):
        block = _number(given, "weightQuantBlock", -1)
        options |= {"weights_only": "rtn", "weight_bits": bits, "block_size": block if block > 0 else _LARGEST_BLOCK,
                    "symmetric": not _number(given, "weightQuantAsymmetric", 1)}
    if options and "hqq" in given:
        options["weights_only"] = "hqq"
    return options


def convert(args: Sequence[str]) -> None:
    """args: the words of the command, the first one its name: -f ONNX --modelFile m.onnx --MNNModel m.mnn [--prototxt FILE] [--fp16] [--forTraining]
    [--optimizeLevel 0: no passes] [--weightQuantBits BITS [--weightQuantBlock SIZE] [--weightQuantAsymmetric 0] [--hqq]] [--compressionParamsFile FILE.json];
    --bizCode, --batch and --keepInputFormat change nothing. Blocks as long as a row, which are the default, become blocks of 256."""
    given: dict[str, str] = {}
    words = list(args[1:])
    while words:
        word, equals, value = words.pop(0).partition("=")
        if word in _FLAGS and not equals and (not words or words[0].startswith("-")):
            given[_FLAGS[word]] = "1"
        elif word in _WITH_VALUE and (equals or words):
            given[_WITH_VALUE[word]] = value if equals else words.pop(0)
        else:
            raise InvalidArgument(f'mnnconvert has no option "{word}"{_minnow.nearest(word, list(_WITH_VALUE | _FLAGS))}')
    for name in ("modelFile", "MNNModel"):
        if name not in given:
            raise InvalidArgument(f"mnnconvert takes --{name}")
    framework = given.get("framework", "")
    if framework and framework.upper() not in _FORMATS:
        raise InvalidArgument(f'mnnconvert reads no "{framework}"{_minnow.nearest(framework, list(_FORMATS))}')
    source = [given["prototxt"], given["modelFile"]] if "prototxt" in given else given["modelFile"]
    optimize = "train" if "forTraining" in given else "none" if given.get("optimizeLevel") == "0" else "standard"
    rounding, weights = _weights_of(given), "f16" if "fp16" in given else "f32"
    format = _FORMATS.get(framework.upper(), "") if isinstance(source, str) else ""
    if not rounding:
        made = given["MNNModel"] + ".minnow"
        tools.convert(source, made, optimize=optimize, format=format, weights=weights)
        os.replace(made, given["MNNModel"])
        return
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(given["MNNModel"]))) as folder:
        plain, rounded, made = (os.path.join(folder, name) for name in ("plain.minnow", "rounded.minnow", "made.minnow"))
        tools.convert(source, plain, optimize=optimize, format=format)
        quantize(plain, rounded, **rounding)
        if weights == "f32":
            made = rounded
        else:
            tools.convert(rounded, made, weights=weights)  # the weights that were not rounded
        os.replace(made, given["MNNModel"])


def main() -> int:
    convert(sys.argv)
    return 0


__all__ = ["convert", "main"]
