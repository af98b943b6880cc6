# SPDX-License-Identifier: Apache-2.0
"""The module of MNN that can be imported but not used yet, llm, whose classes raise Unsupported; and MNN's backends."""
from __future__ import annotations

import types
import warnings
from typing import Any, Callable

from minnow._minnow import InvalidArgument, Unsupported, nearest


def _refusing(name: str, sentence: str) -> Callable[..., Any]:
    def __init__(self: object, *arguments: Any, **named: Any) -> None:
        raise Unsupported(f"{name} is not there yet: {sentence}")

    return type(name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"Not there yet: {sentence}."})


def _module(name: str, doc: str, refused: tuple[str, ...], sentence: str, **values: Any) -> types.ModuleType:
    made = types.ModuleType(name, doc)
    for each in refused:
        setattr(made, each, _refusing(f"{name}.{each}", sentence))
    for each, value in values.items():
        setattr(made, each, value)
    return made


MODULES = {module.__name__: module for module in (
    _module("MNN.llm", "Language models: not there yet.", ("Llm", "Context", "LlmStatus", "create"), "Minnow runs no language models by itself"),)}


_BACKENDS = ("CPU", "AUTO", "METAL", "CUDA", "OPENCL", "OPENGL", "VULKAN", "NN", "HIAI", "TRT", "USER_0", "USER_1")


def cpu(backend: Any) -> str:
    """Replace any of MNN's backends by the CPU, and warn about it. MNN falls back to the CPU too."""
    number = isinstance(backend, int) and 0 <= backend < 32
    if not number and str(backend).upper() not in _BACKENDS:
        raise InvalidArgument(f"there is no backend {backend!r}{nearest(str(backend).upper(), list(_BACKENDS))}")
    if str(backend).upper() not in ("CPU", "AUTO") and backend not in (0, 4):
        warnings.warn(f"the backend {backend!r} is not there; the CPU takes its place", stacklevel=4)
    return "CPU"


def on_cpu(configs: Any) -> Any:
    """Replace the backends in configurations by the CPU."""
    if isinstance(configs, dict):
        return {**configs, "backend": cpu(configs["backend"])} if "backend" in configs else configs
    return tuple(on_cpu(config) for config in configs)
