# SPDX-License-Identifier: Apache-2.0
"""MNN.tools.mnnconvert: the converter's command as a function. The file that it writes is Minnow's, whatever its name; minnow.load() and MNN.Interpreter
read it."""
from __future__ import annotations

import os
import sys
from typing import Sequence

from minnow import _minnow, tools
from minnow._minnow import InvalidArgument

_FORMATS = {"TF": "tensorflow", "CAFFE": "caffe", "ONNX": "onnx", "TFLITE": "tflite", "TORCH": "torchscript", "MNN": "mnn"}
_WITH_VALUE = {"-f": "framework", "--framework": "framework", "--modelFile": "modelFile", "--prototxt": "prototxt", "--MNNModel": "MNNModel", "--bizCode": "bizCode",
               "--optimizeLevel": "optimizeLevel", "--keepInputFormat": "keepInputFormat", "--batch": "batch"}
_FLAGS = {"--fp16": "fp16", "--keepInputFormat": "keepInputFormat", "--forTraining": "forTraining"}


def convert(args: Sequence[str]) -> None:
    """args: the words of the command, the first one its name: -f ONNX --modelFile m.onnx --MNNModel m.mnn [--prototxt FILE] [--fp16] [--forTraining]
    [--optimizeLevel 0: no passes]; --bizCode, --batch and --keepInputFormat change nothing."""
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
    made = given["MNNModel"] + ".minnow"
    tools.convert(source, made, optimize=optimize, format=_FORMATS.get(framework.upper(), "") if isinstance(source, str) else "",
                  weights="f16" if "fp16" in given else "f32")
    os.replace(made, given["MNNModel"])


def main() -> int:
    convert(sys.argv)
    return 0


__all__ = ["convert", "main"]
