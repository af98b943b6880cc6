#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision that PyTorch's own tools quantized give what PyTorch gives, within a step of the output's scale.

Weights are random, with a fixed seed, and statistics of batches are those of pictures. Each network is quantized after training (observers
see pictures; weights per channel for FBGEMM or with one scale for QNNPACK), once traced and once scripted. FBGEMM's answers must be met
within a step. QNNPACK adds with rounded factors, and one rounding that goes the other way changes all that follows: its answers must be met
within a step, or be as near to ours as to those that FBGEMM gives for the same file. With names as arguments those networks alone are tried,
else the smallest; "all" takes every one.
"""
import json
import sys
import tempfile
from pathlib import Path

from support import run

import numpy as np
import torch
from torchvision.models import quantization

# Name and side of the pictures.
NETWORKS = {"shufflenet_v2_x0_5": 96, "mobilenet_v2": 96, "mobilenet_v3_large": 96, "resnet18": 96, "resnet50": 96, "resnext101_32x8d": 64,
            "googlenet": 96, "inception_v3": 139, "shufflenet_v2_x1_0": 224}


def pictures(seed, count, side):
    coarse = np.random.default_rng(seed).standard_normal((count, 3, side // 8, side // 8)).astype(np.float32)
    return torch.nn.functional.interpolate(torch.from_numpy(coarse), size=(side, side), mode="bilinear")


@torch.no_grad()
def made(name, engine, side):
    torch.manual_seed(0)
    options = {"aux_logits": False, "init_weights": True} if name in ("googlenet", "inception_v3") else {}
    network = getattr(quantization, name)(weights=None, quantize=False, **options)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None
            module.reset_running_stats()
    network.train()
    network(pictures(1, 8, side))
    network.eval()
    torch.backends.quantized.engine = engine
    network.qconfig = torch.ao.quantization.get_default_qconfig(engine)
    network.fuse_model()
    torch.ao.quantization.prepare(network, inplace=True)
    network(pictures(2, 4, side))
    return torch.ao.quantization.convert(network, inplace=True)


def answer(module, x):
    y = module(x)
    return (y[0] if isinstance(y, tuple) else y).numpy()


@torch.no_grad()
def check(name, engine, folder):
    side = NETWORKS[name]
    network = made(name, engine, side)
    good = True
    for how in ("traced", "scripted"):
        module = torch.jit.trace(network, pictures(3, 1, side)) if how == "traced" else torch.jit.script(network)
        model, converted = folder / f"{name}.pt", folder / f"{name}.minnow"
        module.save(str(model))
        try:
            run("convert", model, converted)
            for batch in (1, 2):
                x = pictures(4, batch, side)
                torch.backends.quantized.engine = engine
                theirs = answer(module, x)
                np.save(folder / "x.npy", x.numpy())
                said = json.loads(run("run", converted, "--input", folder / "x.npy", "--output-dir", folder, "--json"))
                ours = np.load(said["outputs"][0]["file"])
                step = float(np.diff(np.unique(theirs.round(6))).min())
                steps = np.abs(ours - theirs) / step if ours.shape == theirs.shape else np.array([np.inf])
                fine, other = steps.max() < 1.01, ""
                if engine == "qnnpack" and not fine:
                    torch.backends.quantized.engine = "fbgemm"
                    apart = np.abs(answer(torch.jit.load(str(model)), x) - theirs) / step
                    fine, other = steps.mean() <= 1.2 * apart.mean(), f", in the mean {steps.mean():.2f}, FBGEMM {apart.mean():.2f}, at most {apart.max():.2f}"
                good = good and fine
                print(f"{name} {engine} {how}, batch {batch}: at most {steps.max():.2f} steps, {np.mean(steps > 0.5):.1%} differ, of {np.unique(theirs).size} numbers{other}" + ("" if fine else " FAILED"), flush=True)
        except RuntimeError as error:
            print(f"{name} {engine} {how}: {error}", flush=True)
            good = False
    return good


def main():
    names = sys.argv[1:] or list(NETWORKS)[:1]
    if names == ["all"]:
        names = list(NETWORKS)
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([check(name, engine, Path(folder)) for name in names for engine in ("fbgemm", "qnnpack")]) else 1


if __name__ == "__main__":
    sys.exit(main())
