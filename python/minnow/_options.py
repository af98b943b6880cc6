# SPDX-License-Identifier: Apache-2.0
"""How models and expressions are run: the options that functions of this package take by name."""
from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Sequence, TypedDict, Union


class RunOptions(TypedDict, total=False):
    """All are optional, and another name is an InvalidType."""
    threads: int  #: that compute; 0, the default, takes all cores
    precision: Literal["normal", "high", "tf32", "low"]  #: "high": plain sums only; "normal": may use Winograd; "tf32": GPUs may round the factors of products to TF32; "low": may compute in 16 bits
    memory: Literal["normal", "low"]  #: "low": weights and scratch take the least memory, at the price of time
    backend: Union[str, Sequence[str]]  #: "cpu", "cuda", "opencl", "vulkan", "gles" or "reference", or several to choose from; "cuda:1" and "opencl:1" are second devices; "auto": a device, if there is one, and the processor
    memory_limit: int  #: bytes that a run may hold beside weights, inputs and outputs; 0: physical memory
    time_limit: float  #: seconds that a run may take; 0: none (of models alone)
    pin_threads: bool  #: each thread of the process's pool stays on one core
    power: Literal["performance", "balanced", "efficient"]  #: all cores and active waiting, or half of the cores, which sleep at once
    tuning: Union[str, "os.PathLike[str]", None]  #: a file of tools.tune(), by whose measurements plans are made (of models alone)
    weight_cache: Union[str, "os.PathLike[str]", None]  #: a file in which processes share packed weights, written where something had to be packed (of models alone)
    kernel_cache: Union[str, "os.PathLike[str]", None]  #: a file in which processes keep the compiled kernels of devices, written where one had to be compiled
    fallback: bool  #: go on with the processor if a device cannot be used, fails or has no memory left (a model's run is then repeated)


def check(options: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """Raise InvalidType for an unknown option, with the nearest of the options and the other keywords of the function."""
    from minnow._minnow import InvalidType, nearest
    for name in options:
        if name not in RunOptions.__annotations__:
            raise InvalidType(f'there is no option "{name}"{nearest(name, [*RunOptions.__annotations__, *others])}')


__all__ = ["RunOptions", "check"]
