#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks on a device beside PyTorch on the same device, in one run.

usage: bench/devices.py MINNOW [--backend cuda] [--networks resnet18 ...] [--batch 1 32]

MINNOW is the command. Needs torch, torchvision and onnx. Networks have random weights; both sides compute in f32 (torch also with TF32).
Every time includes the copies of the input and of the result. torch replays a CUDA graph. Minima of interleaved rounds, in milliseconds;
"difference" is the largest one from torch's f32 result, as a part of the largest element.
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torchvision


class Graph:
    """A network whose runs torch replays, from an array of the host to one."""

    def __init__(self, network, x, tf32):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        self.host = x.pin_memory()
        self.x = x.cuda()
        with torch.no_grad():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(3):
                    network(self.x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = network(self.x)

    def run(self):
        self.x.copy_(self.host, non_blocking=True)
        self.graph.replay()
        return self.y.cpu()

    def seconds(self, runs):
        best = float("inf")
        for _ in range(runs):
            start = time.perf_counter()
            self.run()
            best = min(best, time.perf_counter() - start)
        return best


def minnow_seconds(command, model, backend, shape):
    out = subprocess.run([command, "bench", model, "--backend", backend, "--json", "-n", "0.5", "--shape", "x".join(map(str, shape))],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["min_ms"] / 1e3


def minnow_result(command, model, backend, x, folder):
    np.save(folder / "x.npy", x.numpy())
    subprocess.run([command, "run", model, "--backend", backend, "--input", str(folder / "x.npy"), "--output-dir", str(folder / "out")], check=True,
                   capture_output=True, text=True)
    return np.load(next(Path(folder / "out").glob("*.npy")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minnow")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--networks", nargs="+", default=["squeezenet1_1", "mobilenet_v2", "resnet18", "resnet50"])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 32])
    arguments = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, backend {arguments.backend}\n")
    print("| network | batch | Minnow f32 | torch f32 | torch TF32 | torch f32 / Minnow | difference |\n|---|---|---|---|---|---|---|")
    for name in arguments.networks:
        network = getattr(torchvision.models, name)(weights=None).eval()
        for batch in arguments.batch:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                x = torch.rand(batch, 3, 224, 224)
                torch.onnx.export(network.cpu(), (x,), str(folder / "model.onnx"), dynamo=False, input_names=["x"])
                model = str(folder / "model.minnow")
                subprocess.run([arguments.minnow, "convert", str(folder / "model.onnx"), model], check=True, capture_output=True)
                network.cuda()
                sides = [Graph(network, x, False), Graph(network, x, True)]
                ours, torchs = float("inf"), [float("inf")] * 2
                for _ in range(3):
                    ours = min(ours, minnow_seconds(arguments.minnow, model, arguments.backend, x.shape))
                    torchs = [min(best, side.seconds(30)) for best, side in zip(torchs, sides)]
                expected = sides[0].run().numpy()
                found = minnow_result(arguments.minnow, model, arguments.backend, x, folder)
                difference = np.abs(found - expected).max() / np.abs(expected).max()
                print(f"| {name} | {batch} | {ours * 1e3:.3f} | {torchs[0] * 1e3:.3f} | {torchs[1] * 1e3:.3f} | {torchs[0] / ours:.2f} | {difference:.1e} |",
                      flush=True)


if __name__ == "__main__":
    main()
