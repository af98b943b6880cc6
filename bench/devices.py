#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks on a device beside PyTorch on the same device, in one run.

usage: bench/devices.py MINNOW [--backend cuda vulkan opencl] [--precision tf32|low] [--networks resnet18 ...] [--batch 1 32] [--seconds 0.5]
                        [--int8] [--ncnn] [--compile]

MINNOW is the command. Needs torch, torchvision and onnx. Networks have random weights: those of torchvision, and mobilenet_v1, encoder (6 layers of 512, 8
heads, 128 tokens) and detector (torchvision's ssdlite320_mobilenet_v3_large from the picture to scores and boxes of all anchors). Both sides compute in
f32 (torch also with TF32); with --precision tf32 both use TF32, with low both compute in f16 (torch with channels last; the encoder is a file of f16,
and takes and gives f16 on both sides).
Every time includes the copies of the input and of the result, f32 arrays in ordinary memory but for the encoder's; "without copies" are torch's first times without
them. torch replays a CUDA graph. Minima of interleaved rounds, in milliseconds;
"difference" is the largest one from torch's f32 result, as a part of the largest element. --ncnn adds ncnn on Vulkan in the same precision,
with f32 arrays in ordinary memory, too (PyPI: ncnn, pnnx); it has no batches. --compile adds what torch.compile makes of the first column's network, in a
CUDA graph, with and without copies (needs triton and a C compiler).
"""
import argparse
import copy
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torchvision

import engine


def least_seconds(call, runs):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


class Graph:
    """A network whose runs torch replays, from an array of f32 on the host to one, as Minnow's runs are."""

    def __init__(self, network, x, tf32=False, half=False, compile=False):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        self.network = network  # the graph reads its weights
        if half:
            self.network = copy.deepcopy(network).half().to(memory_format=torch.channels_last)
        compiled = torch.compile(self.network) if compile else self.network
        channels_last = half and x.dim() == 4
        self.host = x
        self.x = x.cuda()

        def run():
            inside = self.x.half() if half else self.x
            return compiled(inside.to(memory_format=torch.channels_last) if channels_last else inside).to(x.dtype)

        with torch.no_grad():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(3):
                    run()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = run()

    def run(self):
        self.x.copy_(self.host)
        self.graph.replay()
        return self.y.cpu()

    def device_seconds(self, runs):
        """The graph alone takes, without copies."""
        best = float("inf")
        for _ in range(runs):
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            begin.record()
            self.graph.replay()
            end.record()
            torch.cuda.synchronize()
            best = min(best, begin.elapsed_time(end) / 1e3)
        return best


def mobilenet_v1():
    def conv(inputs, outputs, size, stride=1, groups=1):
        return [torch.nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]

    layers, channels = conv(3, 32, 3, 2), 32
    for outputs, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        layers += conv(channels, channels, 3, stride, channels) + conv(channels, outputs, 1)
        channels = outputs
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 1000))


def encoder():
    return torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(512, 8, 2048, 0.0, batch_first=True), 6, enable_nested_tensor=False)


class Detector(torch.nn.Module):
    """Scores of the classes, and boxes, of all anchors."""

    def __init__(self):
        super().__init__()
        whole = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
        self.backbone, self.head = whole.backbone, whole.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return torch.cat([found["cls_logits"], found["bbox_regression"]], 2)


MADE = {"mobilenet_v1": mobilenet_v1, "encoder": encoder, "detector": Detector}  # others are torchvision's
F16_FILES = ("encoder",)  # for --precision low
SHAPES = {"encoder": (128, 512), "detector": (3, 320, 320)}  # of one sample; others: (3, 224, 224)


def settled(name):
    """A network with statistics of batch normalization that keep values of all layers in the range of f16, and the shape of a sample."""
    shape = SHAPES.get(name, (3, 224, 224))
    network = MADE[name]() if name in MADE else getattr(torchvision.models, name)(weights=None)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None  # the mean of all batches
    with torch.no_grad():
        network.cuda().train()(torch.rand(16, *shape, device="cuda"))
    return network.eval(), shape


def minnow_seconds(command, model, backend, precision, shape, seconds):
    out = subprocess.run([command, "bench", model, "--backend", backend, "--precision", precision, "--json", "-n", str(seconds), "--shape", "x".join(map(str, shape))],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["min_ms"] / 1e3


def minnow_result(command, model, backend, precision, x, folder):
    np.save(folder / "x.npy", x.numpy())
    subprocess.run([command, "run", model, "--backend", backend, "--precision", precision, "--input", str(folder / "x.npy"), "--output-dir", str(folder / "out")], check=True,
                   capture_output=True, text=True)
    return np.load(next(Path(folder / "out").glob("*.npy")))


def ncnn(model, x, low):
    """A function that runs the network of an ONNX file by ncnn on Vulkan, and one that returns its result."""
    subprocess.run(engine.pnnx(model.name), cwd=model.parent, check=True, capture_output=True)
    return engine.ncnn(str(model.with_suffix(".ncnn.param")), 1, low, vulkan=True)()(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minnow")
    parser.add_argument("--backend", nargs="+", default=["cuda"])
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement of Minnow")
    parser.add_argument("--precision", default="normal", choices=["normal", "tf32", "low"])
    parser.add_argument("--networks", nargs="+", default=["squeezenet1_1", "mobilenet_v1", "mobilenet_v2", "resnet18", "resnet50", "encoder", "detector"])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 32])
    parser.add_argument("--int8", action="store_true", help="also of the model that `minnow quantize --data-free` makes, and how far it is from the f32 one")
    parser.add_argument("--ncnn", action="store_true", help="also ncnn on Vulkan, for batch 1")
    parser.add_argument("--compile", action="store_true", help="also torch.compile")
    arguments = parser.parse_args()
    low = arguments.precision == "low"
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    ours_name = {"normal": "f32", "tf32": "TF32", "low": "f16"}[arguments.precision]
    names = ["f16", "f32"] if low else ["TF32", "f32"] if arguments.precision == "tf32" else ["f32", "TF32"]
    print(f"| network | batch | backend | Minnow {ours_name} | torch {names[0]} | torch {names[1]} | torch {names[0]} / Minnow | without copies | difference |"
          + (" torch.compile | its time without copies | torch.compile / Minnow |" if arguments.compile else "")
          + (" Minnow int8 | its difference |" if arguments.int8 else "") + (" ncnn | ncnn / Minnow | its difference |" if arguments.ncnn else "")
          + "\n|---|---|---|---|---|---|---|---|---|" + ("---|---|---|" if arguments.compile else "") + ("---|---|" if arguments.int8 else "") + ("---|---|---|" if arguments.ncnn else ""))
    for name in arguments.networks:
        network, sample = settled(name)
        for batch in arguments.batch:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                x = torch.rand(batch, *sample)
                half_file = low and name in F16_FILES
                given = x.half() if half_file else x
                torch.backends.mha.set_fastpath_enabled(False)  # an operator that files have no form for
                torch.onnx.export((copy.deepcopy(network).half() if half_file else network).cpu(), (given,), str(folder / "model.onnx"), dynamo=False, input_names=["x"])
                model = str(folder / "model.minnow")
                subprocess.run([arguments.minnow, "convert", str(folder / "model.onnx"), model], check=True, capture_output=True)
                if arguments.int8:  # with one picture, as each takes its time
                    torch.onnx.export(network, (x[:1],), str(folder / "open.onnx"), dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "N"}})
                    subprocess.run([arguments.minnow, "quantize", str(folder / "open.onnx"), str(folder / "int8.minnow"), "--data-free", "--shape",
                                    "x".join(map(str, (1, *sample)))], check=True, stdout=subprocess.DEVNULL)
                torch.backends.mha.set_fastpath_enabled(True)
                network.cuda()
                sides = [Graph(network, given, half=low, tf32=arguments.precision == "tf32"), Graph(network, x, tf32=arguments.precision == "normal")]
                if arguments.compile:
                    sides.append(Graph(network, given, half=low, tf32=arguments.precision == "tf32", compile=True))
                theirs = ncnn(folder / "model.onnx", x.numpy(), low) if arguments.ncnn and batch == 1 else None
                ncnns = float("inf")
                ours, torchs = {backend: float("inf") for backend in arguments.backend}, [float("inf")] * len(sides)
                for _ in range(3):
                    if theirs:
                        ncnns = min(ncnns, least_seconds(theirs[0], 30))
                    for backend in ours:
                        ours[backend] = min(ours[backend], minnow_seconds(arguments.minnow, model, backend, arguments.precision, x.shape, arguments.seconds))
                    torchs = [min(best, least_seconds(side.run, 30)) for best, side in zip(torchs, sides)]
                expected = sides[0 if arguments.precision == "normal" else 1].run().numpy()
                if theirs:
                    theirs_column = f" {ncnns * 1e3:.3f} | {{:.2f}} | {np.abs(theirs[1]() - expected).max() / np.abs(expected).max():.1e} |"
                for backend, seconds in ours.items():
                    found = minnow_result(arguments.minnow, model, backend, arguments.precision, given, folder)
                    difference = np.abs(found - expected).max() / np.abs(expected).max()
                    more = ""
                    if arguments.compile:
                        more = f" {torchs[2] * 1e3:.3f} | {sides[2].device_seconds(30) * 1e3:.3f} | {torchs[2] / seconds:.2f} |"
                    if arguments.int8:
                        int8 = str(folder / "int8.minnow")
                        least = min(minnow_seconds(arguments.minnow, int8, backend, arguments.precision, x.shape, arguments.seconds) for _ in range(3))
                        found = minnow_result(arguments.minnow, int8, backend, arguments.precision, x, folder)
                        more += f" {least * 1e3:.3f} | {np.abs(found - expected).max() / np.abs(expected).max():.1e} |"
                    if theirs:
                        more += theirs_column.format(ncnns / seconds)
                    print(f"| {name} | {batch} | {backend} | {seconds * 1e3:.3f} | {torchs[0] * 1e3:.3f} | {torchs[1] * 1e3:.3f} | {torchs[0] / seconds:.2f} | "
                          f"{sides[0].device_seconds(30) * 1e3:.3f} | {difference:.1e} |" + more, flush=True)


if __name__ == "__main__":
    main()
