#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single kernels on an NVIDIA GPU beside cuBLASLt, cuDNN and PyTorch's own kernels, by the device's time stamps.

usage: bench/device_kernels.py MINNOW [--backend cuda vulkan opencl] [--seconds 0.3] [--rounds 2] [--dtype f16] [--only product sum]

MINNOW is the command. Needs torch and onnx. Each case is a model of one node; `minnow profile` gives the time of its steps on the device, without
copies; where there are several, each one's microseconds stand behind its scheme. torch replays a CUDA graph of the same call (cuBLASLt for
products, cuDNN with its search for convolutions). Minima of interleaved rounds.
Cases of f16 run in f16 with f32 sums on both sides; f32 runs without TF32. Rates count a product's and a convolution's 2 m n k operations, and the
bytes that a kernel must read and write.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (np.float16, TensorProto.FLOAT16, torch.float16), "f32": (np.float32, TensorProto.FLOAT, torch.float32)}


class Case:
    """One node: its operator and attributes, shapes of its inputs, constants beside them, and the same in torch."""

    def __init__(self, name, dtype, op, shapes, call, constants=(), attributes=None, operations=0, bytes=0):
        self.name, self.dtype, self.op, self.shapes, self.call = name, dtype, op, shapes, call
        self.constants, self.attributes, self.operations, self.bytes = constants, attributes or {}, operations, bytes

    def save(self, path):
        numpy_type, onnx_type, _ = TYPES[self.dtype]
        inputs = [helper.make_tensor_value_info(f"x{i}", onnx_type, shape) for i, shape in enumerate(self.shapes)]
        weights = [numpy_helper.from_array(value if value.dtype == np.int64 else value.astype(numpy_type), f"w{i}") for i, value in enumerate(self.constants)]
        node = helper.make_node(self.op, [each.name for each in inputs] + [each.name for each in weights], ["y"], **self.attributes)
        graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", onnx_type, None)], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9), path)

    def graph(self):
        """A CUDA graph of the call."""
        kind = TYPES[self.dtype][2]
        x = [torch.randn(shape, device="cuda", dtype=kind) for shape in self.shapes]
        w = [torch.from_numpy(value).cuda() if value.dtype == np.int64 else torch.from_numpy(value).to("cuda", kind) for value in self.constants]
        if self.op == "Conv" and self.dtype == "f16":
            x, w = ([each.to(memory_format=torch.channels_last) for each in list] for list in (x, w))
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(3):
                self.call(*x, *w)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            self.kept = self.call(*x, *w)  # its memory belongs to the graph
        self.inputs = x, w
        return graph


def graph_seconds(graph, runs=10):
    best = float("inf")
    for _ in range(runs):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / 1e3)
    return best


def minnow_seconds(command, model, backend, seconds):
    """Seconds of all steps but copies, and their schemes."""
    out = subprocess.run([command, "profile", model, "--backend", backend, "--json", "-n", str(seconds)], capture_output=True, text=True)
    if out.returncode:
        return float("inf"), out.stdout.strip()[-200:]
    steps = [node for node in json.loads(out.stdout)["nodes"] if node["op"] != "minnow.Transfer"]
    names = [node["scheme"] if node["backend"] == backend else f"{node['scheme']} on {node['backend']}" for node in steps]
    if len(steps) > 1:
        names = [f"{name} {node['best_us']:.1f}" for name, node in zip(names, steps)]
    return sum(node["best_us"] for node in steps) / 1e6, ", ".join(names)


def cases():
    rng = np.random.default_rng(0)
    f = torch.nn.functional
    for dtype, size in (("f16", 2), ("f32", 4)):
        n = 4096
        yield Case(f"product {n} x {n} x {n}", dtype, "MatMul", [(n, n)], torch.matmul, [rng.standard_normal((n, n)).astype(np.float32)], operations=2 * n**3)
        yield Case("3x3 convolution, 256 channels, 56x56, batch 32", dtype, "Conv", [(32, 256, 56, 56)], lambda x, w: f.conv2d(x, w, padding=1),
                   [rng.standard_normal((256, 256, 3, 3)).astype(np.float32) / 48], {"pads": [1] * 4}, operations=2 * 32 * 56 * 56 * 256 * 256 * 9)
        count = 1 << 25
        yield Case("sum of two tensors, 2^25 elements", dtype, "Add", [(count,), (count,)], torch.add, bytes=3 * count * size)
        yield Case("ReLU, 2^25 elements", dtype, "Relu", [(count,)], torch.relu, bytes=2 * count * size)
        rows = (8192, 8192)
        count = rows[0] * rows[1]
        axis = np.array([1], np.int64)
        yield Case("sums of rows, 8192 x 8192", dtype, "ReduceSum", [rows], lambda x, _: x.sum(1), [axis], {"keepdims": 0}, bytes=count * size)
        yield Case("sums of columns, 8192 x 8192", dtype, "ReduceSum", [rows], lambda x, _: x.sum(0), [axis - 1], {"keepdims": 0}, bytes=count * size)
        yield Case("softmax of rows, 8192 x 8192", dtype, "Softmax", [rows], lambda x: x.softmax(1), bytes=2 * count * size)
        ones = np.ones(rows[1], np.float32)
        yield Case("layer normalization, 8192 x 8192", dtype, "LayerNormalization", [rows], lambda x, w, b: f.layer_norm(x, (rows[1],), w, b), [ones, ones], bytes=2 * count * size)
        yield Case("transpose, 8192 x 8192", dtype, "Transpose", [rows], lambda x: x.t().contiguous(), attributes={"perm": [1, 0]}, bytes=2 * count * size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minnow")
    parser.add_argument("--backend", nargs="+", default=["cuda"])
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement of Minnow")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--dtype", nargs="+", choices=sorted(TYPES), default=sorted(TYPES))
    parser.add_argument("--only", nargs="+", default=[""], help="kernels whose names contain one of these")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print("| kernel | dtype | backend | Minnow us | rate | torch us | rate | torch / Minnow | schemes |\n|---|---|---|---|---|---|---|---|---|")
    for case in cases():
        if case.dtype not in arguments.dtype or not any(part in case.name for part in arguments.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = str(Path(folder) / "model.onnx")
            case.save(model)
            graph, theirs, ours = case.graph(), float("inf"), {}
            for _ in range(arguments.rounds):
                theirs = min(theirs, graph_seconds(graph))
                for backend in arguments.backend:
                    ours[backend] = min(ours.get(backend, (float("inf"), "")), minnow_seconds(arguments.minnow, model, backend, arguments.seconds))
            rate = lambda seconds: f"{case.operations / seconds / 1e12:.1f} TFLOP/s" if case.operations else f"{case.bytes / seconds / 1e9:.0f} GB/s"
            for backend, (seconds, schemes) in ours.items():
                print(f"| {case.name} | {case.dtype} | {backend} | {seconds * 1e6:.1f} | {rate(seconds)} | {theirs * 1e6:.1f} | {rate(theirs)} | {theirs / seconds:.2f} | {schemes} |", flush=True)
            del graph, case.kept, case.inputs
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
