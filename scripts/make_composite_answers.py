#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/python/composite_answers.json: first and second derivatives of composite functions by torch, in f64.

    python scripts/make_composite_answers.py        # needs torch 2.15.0
"""
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
from composite_cases import CASES, case, digest  # noqa: E402


def recurrent(x, p):
    rows, h = [], p["b"] * 0
    for row in x:
        h = torch.tanh(row + h @ p["w"])
        rows.append(h)
    return torch.stack(rows)


STEPS = {
    "tanh": lambda x, p: torch.tanh(x),
    "sigmoid": lambda x, p: torch.sigmoid(x),
    "softplus": lambda x, p: F.softplus(x),
    "exp": lambda x, p: torch.exp(-x * x),
    "sin": lambda x, p: torch.sin(x * 2),
    "gelu": lambda x, p: F.gelu(x),
    "softmax": lambda x, p: torch.softmax(x, 1),
    "log_softmax": lambda x, p: torch.log_softmax(x, 0),
    "layer_norm": lambda x, p: F.layer_norm(x, (4,), p["b"] + 1, p["b"], 2.0 ** -7),
    "cumsum": lambda x, p: torch.cumsum(x, 1),
    "matmul": lambda x, p: x @ p["w"],
    "bias": lambda x, p: x + p["b"],
    "square": lambda x, p: x * x - x,
    "root": lambda x, p: torch.sqrt(x * x + 1),
    "log": lambda x, p: torch.log(x * x + 1),
    "conv": lambda x, p: F.conv1d(x[None], p["k"], padding=1)[0],
    "transposed": lambda x, p: (x.T.reshape(3, 4)) * x,
    "slices": lambda x, p: torch.cat([x[:, 2:], x[:, :2] * 2], 1),
    "pad": lambda x, p: F.pad(x, (1, 1))[:, :4] + x,
    "where": lambda x, p: torch.where(x > 0.1, x * x, x * 0.5),
    "centered": lambda x, p: x - x.mean(0, keepdim=True),
    "logsumexp": lambda x, p: x - torch.logsumexp(x, 1, keepdim=True),
    "gather": lambda x, p: x[torch.tensor([2, 0, 0])] * x,
    "pooled": lambda x, p: F.avg_pool1d(x[None], 3, 1, 1)[0] + x,
    "largest": lambda x, p: x * x.amax(1, keepdim=True),
    "einsum": lambda x, p: torch.einsum("ij,kj->ik", x, p["w"]),
    "product": lambda x, p: x * torch.prod(p["w"][:3, :] * 0.5 + 1, 0),
    "normalized": lambda x, p: x / torch.sqrt((x * x).sum(1, keepdim=True) + 0.5),
    "recurrent": recurrent,
}


def answer(seed):
    steps, arrays, weights = case(seed)
    p = {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}
    x = p["x"]
    for step in steps:
        x = STEPS[step](x, p)
    loss = (x * torch.tensor(weights)).sum()
    first = torch.autograd.grad(loss, list(p.values()), create_graph=True, allow_unused=True)
    second = torch.autograd.grad((first[0] * first[0]).sum(), [p["x"], p["w"]], allow_unused=True)
    return {"loss": digest([loss.detach()])[0],
            "first": {name: None if g is None else digest(g.detach()) for name, g in zip(p, first)},
            "second": {name: None if g is None else digest(g.detach()) for name, g in zip(("x", "w"), second)}}


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    lines = [json.dumps(answer(seed)) for seed in range(CASES)]
    (ROOT / "tests/python/composite_answers.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} cases of torch {torch.__version__}")
