#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/python/rounding_answers.json: torch's fake quantization and its gradients, which tests/python/qat_test.py compares with.

    build/venv-owners/bin/python scripts/make_rounding_answers.py
"""
import json
from pathlib import Path

import numpy as np
import torch

SHAPES = [((), None), ((1,), None), ((7,), None), ((3, 5), None), ((3, 5), 0), ((3, 5), 1), ((2, 3, 5), 1), ((4, 3, 1, 2), 0), ((0, 3), None)]
ENDS = [(0, 255, 3), (-127, 127, 0), (0, 15, 5), (-7, 7, 0)]


def case(number, shape, axis, low, high, zero, learned):
    random = np.random.default_rng(number)
    scale = random.uniform(0.05, 0.3, 1 if axis is None else shape[axis]).astype(np.float32)
    zeros = np.full(len(scale), zero)
    # Near a tie torch multiplies where others divide; such numbers are not drawn.
    x = random.normal(0, 0.7 * scale.mean() * (high - low), shape).astype(np.float32)
    wide = scale if axis is None else scale.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    place = x / wide
    x = np.where(np.abs(place - np.floor(place) - 0.5) < 0.01, np.round(place) * wide, x).astype(np.float32).reshape(shape)
    # Learned scales: the paper cuts numbers within half a step beyond the ends, torch does not; such numbers are not drawn either.
    if learned:
        place = x / wide
        for end in (low - zero, high - zero):
            x = np.where(np.abs(place - end) < 0.75, (np.floor(end * 0.5) + 0.25) * wide, x).astype(np.float32).reshape(shape)
    value, step = torch.tensor(x, requires_grad=True), torch.tensor(scale, requires_grad=learned)
    factor = 0.5 if learned else 1.0
    if learned and axis is None:
        y = torch._fake_quantize_learnable_per_tensor_affine(value, step, torch.tensor([float(zero)]), low, high, factor)
    elif learned:
        y = torch._fake_quantize_learnable_per_channel_affine(value, step, torch.tensor(zeros, dtype=torch.float32), axis, low, high, factor)
    elif axis is None:
        y = torch.fake_quantize_per_tensor_affine(value, float(scale[0]), zero, low, high)
    else:
        y = torch.fake_quantize_per_channel_affine(value, step, torch.tensor(zeros, dtype=torch.int32), axis, low, high)
    weights = np.cos(np.arange(x.size, dtype=np.float32)).reshape(shape)
    (y * torch.tensor(weights)).sum().backward()
    return {"name": f"{list(shape)} axis {axis} from {low} to {high}, zero {zero}{', learned' if learned else ''}", "shape": list(shape), "axis": axis, "low": low, "high": high,
            "learned": learned, "factor": factor, "x": x.reshape(-1).tolist(), "scale": float(scale[0]) if axis is None else scale.tolist(),
            "zero": float(zero) if axis is None else [float(zero)] * len(scale), "y": y.detach().numpy().reshape(-1).tolist(), "gradient": value.grad.numpy().reshape(-1).tolist(),
            **({"scale_gradient": step.grad.numpy().reshape(-1).tolist()} if learned else {})}


def main():
    cases = []
    for learned in (False, True):
        for shape, axis in SHAPES:
            for low, high, zero in ENDS:
                cases.append(case(len(cases), shape, axis, low, high, zero, learned))
    path = Path(__file__).parents[1] / "tests/python/rounding_answers.json"
    rows = ",\n".join(json.dumps(each) for each in cases)
    path.write_text(f'{{"torch": "{torch.__version__}", "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
