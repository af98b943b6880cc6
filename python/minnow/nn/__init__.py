# SPDX-License-Identifier: Apache-2.0
"""Modules: functions on Vars with parameters, loaded from a file, put together from layers, or written as classes.

    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
    loss = nn.CrossEntropyLoss()

Layers and losses have torch's names, arguments, layouts and names of parameters. minnow.nn.functional has them as functions, minnow.nn.init
initial values.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow.nn import _activations, _attention, _containers, _layers, _loss_layers, _module, _recurrent, _transfer, _windows
from minnow.nn import functional as functional, init as init
from minnow.nn._activations import *  # noqa: F403
from minnow.nn._attention import *  # noqa: F403
from minnow.nn._containers import *  # noqa: F403
from minnow.nn._layers import *  # noqa: F403
from minnow.nn._loss_layers import *  # noqa: F403
from minnow.nn._module import *  # noqa: F403
from minnow.nn._module import _MEMORIES as _MEMORIES, _POWERS as _POWERS, _PRECISIONS as _PRECISIONS
from minnow.nn._recurrent import *  # noqa: F403
from minnow.nn._safetensors import load_file as load_file, save_file as save_file
from minnow.nn._transfer import *  # noqa: F403
from minnow.nn._windows import *  # noqa: F403
from minnow.nn._tracing import random_key as random_key, read_buffer as read_buffer, seed as seed, update_buffer as update_buffer

if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise AttributeError(f"module 'minnow.nn' has no attribute {name!r}" + ("" if name.startswith("_") else _minnow.nearest(name, __all__)))

_OWN = ["load_file", "random_key", "read_buffer", "save_file", "seed", "update_buffer"]
__all__ = ["functional", "init", *_OWN, *_activations.__all__, *_attention.__all__, *_containers.__all__, *_layers.__all__, *_loss_layers.__all__, *_module.__all__, *_recurrent.__all__, *_transfer.__all__, *_windows.__all__]

all_suggesting(globals(), _OWN)
