# SPDX-License-Identifier: Apache-2.0
"""Names and signatures of MNN.nn that differ from Minnow's."""
from __future__ import annotations

from typing import Any, Sequence

from minnow import _minnow, nn
from minnow._minnow import InvalidType, Var

# What MNN takes beside the names, and what it means here: None for what changes nothing.
_OPTIONS: dict[str, str | None] = {"dynamic": None, "shape_mutable": None, "rearrange": None, "backend": None, "power_mode": "power", "thread_num": "threads", "precision_mode": "precision",
            "memory_mode": "memory", "runtime_manager": "runtime_manager"}


def load_module_from_file(file_name: Any, input_names: Sequence[str] = (), output_names: Sequence[str] = (), **options: Any) -> nn.LoadedModule:
    """nn.load_module_from_file() with MNN's options: thread_num, precision_mode, memory_mode, power_mode, runtime_manager; those of its own execution
    (dynamic, shape_mutable, rearrange) change nothing. The backend is the CPU."""
    known: dict[str, Any] = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            raise InvalidType(f'load_module_from_file has no option "{name}"{_minnow.nearest(name, list(_OPTIONS))}')
        own = _OPTIONS[name]
        if own is not None and value is not None:
            known[own] = value
    for name, values in (("precision", nn._PRECISIONS), ("memory", nn._MEMORIES), ("power", nn._POWERS)):
        if name in known:
            known[name] = values.get(known[name], known[name])  # type: ignore[attr-defined]
    return nn.load_module_from_file(file_name, input_names, output_names, **known)


class Module(nn.Module):
    """A module that is written: assign parameters and submodules to attributes, and write forward()."""

    name = ""

    def set_name(self, name: str) -> None:
        self.name = name

    @property
    def is_training(self) -> bool:
        return self.training

    def onForward(self, inputs: Sequence[Var]) -> list[Var]:
        """forward() with a list of Vars in and out."""
        result = self.forward(*inputs)
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def clear_cache(self) -> None:
        """Nothing: memory is given back by itself."""


def _on_forward(self: nn.LoadedModule, inputs: Sequence[Var]) -> list[Var]:
    """forward() with a list of Vars in and out."""
    return self._call(list(inputs), {})


def _info(self: nn.LoadedModule) -> dict[str, Any]:
    """Names of inputs and outputs."""
    return {"inputNames": self.inputs, "outputNames": self.outputs, "version": "minnow"}


def _nothing(self: nn.RuntimeManager, *unused: Any) -> None:
    """Nothing: plans need no file, files beside a model are found by the names that it gives, and sessions have no modes."""


for _name in ("set_cache", "update_cache", "set_mode", "set_hint", "set_external"):
    setattr(nn.RuntimeManager, _name, _nothing)

for _name, _value in {"onForward": _on_forward, "get_info": _info, "set_name": Module.set_name, "name": "", "is_training": Module.is_training,
                      "clear_cache": Module.clear_cache}.items():
    setattr(nn.LoadedModule, _name, _value)

__all__ = ["Module", "load_module_from_file"]
