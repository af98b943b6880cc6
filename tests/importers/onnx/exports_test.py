#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files written by both exporters of torch.onnx, with the batch left open, give the same answers as in ONNX Runtime.

Networks of torchvision with random weights, a decoder with a cache, and recurrent layers; each exported file is converted once and run with
two batches, and the optimized file's answers are compared with ONNX Runtime's on the exported one. With names as arguments those alone are
tried, else the two small ones; "all" takes every one. An export that PyTorch itself refuses is named and not counted.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
try:
    import numpy as np
    import onnx
    import onnxruntime
    import onnxscript  # noqa: F401 (what the exporter needs)
    import torch
    import torchvision
    from torch import nn
except ImportError:
    print("torch, torchvision, onnx, onnxscript or onnxruntime is not installed: the exports are left out")
    sys.exit(77)

MINNOW = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "minnow"
if not MINNOW.exists():
    sys.exit(77)
torch.set_num_threads(1)
torch.backends.mha.set_fastpath_enabled(False)  # one operator of PyTorch's own, which the older exporter refuses


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 16, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(32, 10, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, last = self.gru(y)
        return z, h, c, last


class DecoderBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, keys, values, mask):
        batch, steps, width = x.shape
        q, k, v = (part.view(batch, steps, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(batch, steps, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)))), keys, values


class Decoder(nn.Module):
    """Words, and the keys and values of those before: [layers, batch, heads, past, width]."""

    def __init__(self, words=50, width=32, heads=4, layers=3, longest=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(DecoderBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids, past_keys, past_values):
        past, steps = past_keys.shape[3], ids.shape[1]
        places = torch.arange(past, past + steps, device=ids.device)
        x = self.words(ids) + self.places(places)
        mask = torch.arange(past + steps, device=ids.device)[None, :] <= places[:, None]
        keys, values = [], []
        for i, block in enumerate(self.blocks):
            x, k, v = block(x, past_keys[i], past_values[i], mask)
            keys.append(k)
            values.append(v)
        return self.head(self.norm(x)), torch.stack(keys), torch.stack(values)


def picture(side):
    return lambda batch: {"x": torch.randn(batch, 3, side, side)}


def decoder_inputs(batch):
    steps, past = batch + 1, 2 * batch + 3
    return {"ids": torch.randint(0, 50, (batch, steps)), "past_keys": torch.randn(3, batch, 4, past, 8), "past_values": torch.randn(3, batch, 4, past, 8)}


def torchvision_network(name, **options):
    return lambda: torchvision.models.get_model(name, weights=None, **options)


BATCH = {"x": {0: "batch"}}
NETWORKS = {  # how it is made, its inputs for a batch, which axes are open
    "recurrent": (Recurrent, lambda batch: {"x": torch.randn(batch, 5 + batch, 12)}, {"x": {0: "batch", 1: "steps"}}),
    "decoder": (Decoder, decoder_inputs, {"ids": {0: "batch", 1: "steps"}, "past_keys": {1: "batch", 3: "past"}, "past_values": {1: "batch", 3: "past"}}),
    "resnet18": (torchvision_network("resnet18"), picture(96), BATCH),
    "mobilenet_v3_large": (torchvision_network("mobilenet_v3_large"), picture(96), BATCH),
    "efficientnet_b0": (torchvision_network("efficientnet_b0"), picture(96), BATCH),
    "convnext_tiny": (torchvision_network("convnext_tiny"), picture(64), BATCH),
    "swin_t": (torchvision_network("swin_t"), picture(64), BATCH),
    "swin_v2_t": (torchvision_network("swin_v2_t"), picture(64), BATCH),
    "vit_b_16": (torchvision_network("vit_b_16", image_size=64), picture(64), BATCH),
    "densenet121": (torchvision_network("densenet121"), picture(64), BATCH),
    "regnet_y_400mf": (torchvision_network("regnet_y_400mf"), picture(64), BATCH),
    "shufflenet_v2_x1_0": (torchvision_network("shufflenet_v2_x1_0"), picture(64), BATCH),
    "deeplabv3_mobilenet_v3_large": (torchvision_network("deeplabv3_mobilenet_v3_large", weights_backbone=None), picture(64), BATCH),
    "maxvit_t": (torchvision_network("maxvit_t"), picture(224), BATCH),
}


def exported(network, inputs, axes, dynamo, path):
    options = {"input_names": list(inputs), "dynamo": dynamo, "verbose": False}
    if dynamo:
        names = {name for one in axes.values() for name in one.values()}
        sizes = {name: torch.export.Dim(name, min=1 if name != "batch" else None, max=50) for name in names}
        options["dynamic_shapes"] = {name: {axis: sizes[size] for axis, size in one.items()} for name, one in axes.items()}
    else:
        options["dynamic_axes"] = axes
    torch.onnx.export(network, tuple(inputs.values()), str(path), **options)


def run(*arguments):
    result = subprocess.run([str(each) for each in (MINNOW, *arguments)], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"minnow {arguments[0]} ended with {result.returncode}: {result.stderr[:2000]}")
    return result.stdout


def check(name, dynamo, folder):
    build, inputs_for, axes = NETWORKS[name]
    how = "dynamo" if dynamo else "older"
    torch.manual_seed(0)
    network = build().eval()
    for parameter in network.parameters():  # a last layer of zeros has nothing to show
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.05)
    model, converted = folder / f"{name}.{how}.onnx", folder / f"{name}.{how}.minnow"
    try:
        with torch.no_grad():
            exported(network, inputs_for(2), axes, dynamo, model)
    except Exception as error:
        print(f"{name}, {how}: PyTorch: {str(error).strip().splitlines()[0][:200]}", flush=True)
        return True
    try:
        run("convert", model, converted)
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        worst = 0.0
        for batch in (1, 3):
            torch.manual_seed(batch)
            given = {key: value.numpy() for key, value in inputs_for(batch).items()}
            given = {key: given[key] for key in given if key in {one.name for one in session.get_inputs()}}
            theirs = dict(zip(names, session.run(None, given)))
            options = []
            for key, value in given.items():
                np.save(folder / f"{key}.npy", value)
                options += ["--input", f"{key}={folder / key}.npy"]
            said = json.loads(run("run", converted, *options, "--output-dir", folder, "--json"))
            ours = {row["name"]: np.load(row["file"]) for row in said["outputs"]}
            for key, value in theirs.items():
                if ours[key].shape != value.shape:
                    raise RuntimeError(f"output {key} has the shape {ours[key].shape} for {value.shape}")
                worst = max(worst, float(np.abs(ours[key] - value).max() / max(np.abs(value).max(), 1e-30)))
        fine = worst < 1e-4
        count = json.loads(run("inspect", converted, "--json"))["nodes"]
        nodes = len(onnx.load(str(model), load_external_data=False).graph.node)
        print(f"{name}, {how}: {worst:.1e} of the largest, {nodes} -> {count} operators" + ("" if fine else " FAILED"), flush=True)
        return fine
    except RuntimeError as error:
        print(f"{name}, {how}: {error} FAILED", flush=True)
        return False


def main():
    names = sys.argv[1:] or list(NETWORKS)[:2]
    if names == ["all"]:
        names = list(NETWORKS)
    good = True
    for name in names:
        for dynamo in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                good = check(name, dynamo, Path(folder)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
