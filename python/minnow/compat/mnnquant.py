# SPDX-License-Identifier: Apache-2.0
"""MNN.tools.mnnquant: quantization by a settings file. The file that it writes is Minnow's, whatever its name; minnow.load() and MNN.Interpreter read it."""
from __future__ import annotations

import os
import sys
from typing import Sequence

from minnow import quantize
from minnow._minnow import InvalidArgument


def quant(args: Sequence[str]) -> None:
    """args: the words of the command, the first one its name: MODEL RESULT SETTINGS.json. docs/compression.md lists the settings."""
    if len(args) != 4:
        raise InvalidArgument(f"mnnquant takes a model, the file to write and a JSON file of settings; {len(args) - 1} words are given")
    source, destination, settings = args[1:]
    if not settings.endswith(".json"):
        raise InvalidArgument(f'{settings}: mnnquant reads settings from JSON files, whose names end in ".json"')
    made = destination + ".minnow"
    quantize(source, made, recipe=settings)
    os.replace(made, destination)


def main() -> int:
    quant(sys.argv)
    return 0


__all__ = ["main", "quant"]
