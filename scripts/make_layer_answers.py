#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/python/nn/answers.json: outputs, buffers and gradients of torch's layers and losses in f64, for tests of minnow.nn.

    python scripts/make_layer_answers.py        # needs torch 2.15.0

A case is a text that makes the layer, for torch and for Minnow, and kinds and shapes of its inputs. Weights and inputs are made by formulas that
the tests know (tests/python/nn/cases.py). The file has some elements of each array, and a sum of all with other weights.
"""
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python/nn"))
from cases import CASES, WEIGHTS, call, digest, noise, value_of, weight_of  # noqa: E402

torch.set_default_dtype(torch.float64)


def tensors(value):
    """The tensors of nested tuples that are not None."""
    return [part for item in value for part in tensors(item)] if isinstance(value, (tuple, list)) else [] if value is None else [value]


def answer(case):
    layer = eval(case["layer"], {"nn": nn, "W": torch.tensor(WEIGHTS)})
    layer.train(case.get("train", True))
    with torch.no_grad():
        for name, value in [*layer.named_parameters(), *layer.named_buffers()]:
            if value.is_floating_point():
                value.copy_(torch.tensor(weight_of(name, tuple(value.shape))))
    inputs = [torch.tensor(np.asarray(value_of(kind, shape, i))) for i, (kind, shape) in enumerate(case["inputs"])]
    options = {name: torch.tensor(np.asarray(value_of(*given, 7))) if isinstance(given, tuple) else given for name, given in case.get("call", {}).items()}
    wanted = [value.requires_grad_() for value, (kind, _) in zip(inputs, case["inputs"]) if kind in ("noise", "far", "share", "probability", "rate")]
    outputs = tensors(call(nn, layer, case, inputs, options))
    loss = sum((value * torch.tensor(noise(100 + i, math.prod(value.shape)).reshape(tuple(value.shape)))).sum() for i, value in enumerate(outputs) if value.is_floating_point())
    names, parameters = zip(*layer.named_parameters()) if list(layer.parameters()) else ((), ())
    found = torch.autograd.grad(loss, [*wanted, *parameters], allow_unused=True)
    made = {"outputs": [digest(value.detach().numpy()) for value in outputs]}
    made["gradients"] = [digest(np.zeros(value.shape) if gradient is None else gradient.numpy()) for value, gradient in zip(wanted, found)]
    made["parameters"] = {name: digest(np.zeros(parameter.shape) if gradient is None else gradient.numpy())
                          for name, parameter, gradient in zip(names, parameters, found[len(wanted):])}
    made["buffers"] = {name: digest(value.numpy()) for name, value in layer.named_buffers()}
    made["names"] = list(layer.state_dict())
    return made


if __name__ == "__main__":
    lines = [json.dumps({"layer": case["layer"], "inputs": case["inputs"], "train": case.get("train", True), "answer": answer(case)}) for case in CASES]
    (ROOT / "tests/python/nn/answers.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} cases of torch {torch.__version__}")
