#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of seven networks in Minnow, in torch and in MNN, side by side: time and peak memory.

    PYTHONPATH=build/release/python python bench/training.py --torch-python PYTHON_WITH_TORCH [--threads 1 2] [--seconds 10] [network...]
    PYTHONPATH=build/release/python python bench/training.py --mnn-python PYTHON_WITH_MNN [--threads 1] lenet mobilenet_v2 resnet18
    PYTHONPATH=build/release/python python bench/training.py --torch-python PYTHON_WITH_TORCH --shares 0.5 0.25 [--threads 1] [network...]
    PYTHONPATH=build/release/python python bench/training.py --before OTHER/build/release/python [--threads 1] [network...]
    PYTHONPATH=build/release/python python bench/training.py --memory 0.5 0.35 [--threads 1] [network...]
    PYTHONPATH=build/release/python python bench/training.py --save-graph resnet18.minnow resnet18      # loss and gradients, to be profiled

A step is forward, backward and an update by SGD with momentum, on a batch that is in memory. Each engine runs in a process of its own; the
processes take turns, step by step, so that both see the same machine. Memory is the peak resident set less that of the process after its
imports: parameters, the optimizer's state, activations and gradients. Without --torch-python only Minnow runs. --memory compares steps of
Minnow that may take a part of the memory for activations and gradients, and compute activations again; --shares steps that may take, in all,
a share of torch's memory.
"""
import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time

import numpy as np

NETWORKS = ("lenet", "mobilenet_v2", "resnet18", "lstm", "encoder")  # without names; "words" and "long_encoder" are there, too
BATCH = {"lenet": 64, "mobilenet_v2": 8, "resnet18": 8, "lstm": 32, "encoder": 8, "words": 1024, "long_encoder": 1}
CLASSES = {"lenet": 10, "mobilenet_v2": 1000, "resnet18": 1000, "lstm": 10, "encoder": 10, "words": 32000, "long_encoder": 10}
STEPS, FEATURES, HIDDEN = 50, 64, 256  # of the LSTM
WORDS, WIDTH, HEADS, LAYERS = 1000, 256, 4, 6  # of the encoder
TOKENS = {"encoder": 128, "long_encoder": 2048}
# (expansion, channels, blocks, stride) of MobileNet-v2's stages
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def batch_of(network):
    rng, count = np.random.default_rng(0), BATCH[network]
    labels = rng.integers(0, CLASSES[network], count)
    if network == "lenet":
        return rng.standard_normal((count, 1, 28, 28), dtype="float32"), labels
    if network == "lstm":
        return rng.standard_normal((STEPS, count, FEATURES), dtype="float32"), labels
    if network == "words":  # each word and the one that follows
        return rng.integers(0, CLASSES[network], count), labels
    if network in TOKENS:
        return rng.integers(0, WORDS, (count, TOKENS[network])), labels
    return rng.standard_normal((count, 3, 224, 224), dtype="float32"), labels


class Minnow:
    """Builds a network of Minnow's operators; parameters are made at their first use."""

    def __init__(self, network):
        self.network, self.parameters, self.rng, self.at = network, [], np.random.default_rng(1), None

    def parameter(self, *shape, fan=None, value=None):
        if self.at is not None:
            self.at += 1
            return self.parameters[self.at - 1]
        made = np.full(shape, value, "float32") if value is not None else \
            (self.rng.standard_normal(shape) / math.sqrt(fan)).astype("float32")
        self.parameters.append(expr.trainable(made))
        return self.parameters[-1]

    def conv(self, x, channels, size, stride=1, groups=1, bias=False):
        taps = x.shape[1] // groups * size * size
        pad = 0 if self.network == "lenet" else size // 2
        w = [self.parameter(channels, x.shape[1] // groups, size, size, fan=taps)] + ([self.parameter(channels, value=0)] if bias else [])
        return expr.op("Conv", [x, *w], strides=[stride] * 2, pads=[pad] * 4, group=groups)

    def batch_norm(self, x):
        channels = x.shape[1]
        still = [expr.const(np.zeros(channels, "float32")), expr.const(np.ones(channels, "float32"))]
        return expr.op("BatchNormalization", [x, self.parameter(channels, value=1), self.parameter(channels, value=0), *still], training_mode=1)

    def linear(self, x, outputs):
        return x @ self.parameter(x.shape[-1], outputs, fan=x.shape[-1]) + self.parameter(outputs, value=0)

    def layer_norm(self, x):
        return expr.op("LayerNormalization", [x, self.parameter(WIDTH, value=1), self.parameter(WIDTH, value=0)], axis=-1)

    def lenet(self, x):
        for channels in (20, 50):
            x = expr.op("MaxPool", [self.conv(x, channels, 5, bias=True)], kernel_shape=[2, 2], strides=[2, 2])
        return self.linear(expr.relu(self.linear(expr.reshape(x, [BATCH["lenet"], 800]), 500)), 10)

    def resnet18(self, x):
        x = expr.relu(self.batch_norm(self.conv(x, 64, 7, 2)))
        x = expr.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage, channels in enumerate((64, 128, 256, 512)):
            for block in range(2):
                stride = 2 if stage and not block else 1
                y = expr.relu(self.batch_norm(self.conv(x, channels, 3, stride)))
                y = self.batch_norm(self.conv(y, channels, 3))
                x = expr.relu(y + (self.batch_norm(self.conv(x, channels, 1, stride)) if stride > 1 else x))
        return self.linear(expr.reshape(expr.op("GlobalAveragePool", [x]), [BATCH["resnet18"], 512]), 1000)

    def mobilenet_v2(self, x):
        def block(x, *arguments, **keywords):
            return expr.op("Clip", [self.batch_norm(self.conv(x, *arguments, **keywords)), expr.const(0, "float32"), expr.const(6, "float32")])

        x = block(x, 32, 3, 2)
        for expansion, channels, blocks, first_stride in STAGES:
            for i in range(blocks):
                before, stride = x, first_stride if i == 0 else 1
                if expansion > 1:
                    x = block(x, expansion * x.shape[1], 1)
                x = self.batch_norm(self.conv(block(x, x.shape[1], 3, stride, groups=x.shape[1]), channels, 1))
                x = x + before if before.shape == x.shape else x
        x = expr.op("GlobalAveragePool", [block(x, 1280, 1)])
        return self.linear(expr.reshape(x, [BATCH["mobilenet_v2"], 1280]), 1000)

    def lstm(self, x):
        for features in (FEATURES, HIDDEN):
            weights = [self.parameter(1, 4 * HIDDEN, n, fan=HIDDEN) for n in (features, HIDDEN)] + [self.parameter(1, 8 * HIDDEN, value=0)]
            x = expr.reshape(expr.op("LSTM", [x, *weights], hidden_size=HIDDEN), [STEPS, BATCH["lstm"], HIDDEN])
        return self.linear(x[-1], 10)

    def words(self, x):
        x = expr.op("Gather", [self.parameter(CLASSES["words"], WIDTH, fan=1), x])
        return self.linear(expr.op("Gelu", [self.linear(x, WIDTH)]), CLASSES["words"])

    def long_encoder(self, x):
        return self.encoder(x)

    def encoder(self, x):
        count, tokens = BATCH[self.network], TOKENS[self.network]
        x = expr.op("Gather", [self.parameter(WORDS, WIDTH, fan=1), x]) + self.parameter(tokens, WIDTH, fan=1)
        for _ in range(LAYERS):
            y = self.layer_norm(x)
            q, k, v = (expr.transpose(expr.reshape(self.linear(y, WIDTH), [count, tokens, HEADS, WIDTH // HEADS]), perm=[0, 2, 1, 3]) for _ in range(3))
            y = expr.transpose(expr.op("Attention", [q, k, v]), perm=[0, 2, 1, 3])
            x = x + self.linear(expr.reshape(y, [count, tokens, WIDTH]), WIDTH)
            x = x + self.linear(expr.op("Gelu", [self.linear(self.layer_norm(x), 4 * WIDTH)]), WIDTH)
        return self.linear(expr.op("ReduceMean", [self.layer_norm(x), expr.const([1], "int64")], keepdims=0), 10)

    def loss(self, x, labels):
        """Cross entropy; the first call makes the parameters."""
        self.at = 0 if self.parameters else None
        return expr.op("SoftmaxCrossEntropyLoss", [getattr(self, self.network)(x), labels])


def recorded_step(network, threads, memory=0, head=False):
    """A TrainingStep of all parameters, or of the last layer alone, and a function that runs it."""
    made, (x, labels) = Minnow(network), map(minnow.Var, batch_of(network))
    made.loss(x, labels)
    optimizer = optim.create("sgd", made.parameters[-2:] if head else made.parameters, lr=1e-3, momentum=0.9, threads=threads)
    step = optim.TrainingStep(made.loss, optimizer, memory=memory)
    scope = expr.scope(threads=threads)

    def run():
        with scope:
            return float(step(x, labels))
    return step, run


def head_table(networks, threads, seconds):
    print("| network | threads | whole min ms | head alone min ms | head / whole |")
    print("|---|---|---|---|---|")
    for network in networks:
        for count in threads:
            runs = [recorded_step(network, count, head=head)[1] for head in (False, True)]
            times = [[], []]
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or len(times[0]) < 5:
                for run, own in zip(runs, times):
                    begin = time.perf_counter()
                    run()
                    own.append(time.perf_counter() - begin)
            whole, head = (min(own) * 1e3 for own in times)
            print(f"| {network} b{BATCH[network]} | {count} | {whole:.1f} | {head:.1f} | {head / whole:.2f} |", flush=True)


def memory_table(networks, parts, threads, seconds):
    print("| network | threads | of the memory | activations and gradients MB | min ms | times the whole |")
    print("|---|---|---|---|---|---|")
    for network in networks:
        for count in threads:
            whole, run = recorded_step(network, count)
            run()
            rows = [(1.0, whole, run, [])]
            for part in parts:
                step, run = recorded_step(network, count, int(part * whole.arena_bytes))
                try:
                    run()
                    rows.append((part, step, run, []))
                except minnow.Error as error:
                    print(f"| {network} b{BATCH[network]} | {count} | {part} | {error} | | |")
            end = time.perf_counter() + seconds
            while time.perf_counter() < end or len(rows[0][3]) < 3:
                for _, _, run, times in rows:
                    begin = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - begin)
            for part, step, _, times in rows:
                print(f"| {network} b{BATCH[network]} | {count} | {part} | {step.arena_bytes / 1e6:.1f} | {min(times) * 1e3:.1f} | "
                      f"{min(times) / min(rows[0][3]):.2f} |", flush=True)


def save_graph(network, path):
    """The loss and its gradients as a model whose inputs are the batch and the parameters."""
    made, (x, labels) = Minnow(network), batch_of(network)
    inputs = [expr.placeholder("x", x.dtype.name, x.shape), expr.placeholder("labels", "int64", labels.shape)]
    loss = made.loss(*inputs)
    gradients = minnow._minnow.gradients(loss, made.parameters)
    own = [expr.placeholder(f"p{i}", "float32", list(p.shape)) for i, p in enumerate(made.parameters)]
    outputs = expr.replace([loss, *gradients], dict(zip(made.parameters, own)))
    expr.save(outputs, path, inputs=inputs + own)


def torch_network(network):
    import torch
    from torch import nn

    def normed(inputs, outputs, size, stride=1, groups=1):
        return [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]

    class Residual(nn.Module):
        def __init__(self, body, shortcut, after):
            super().__init__()
            self.body, self.shortcut, self.after = body, shortcut, after

        def forward(self, x):
            return self.after(self.body(x) + self.shortcut(x))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(FEATURES, HIDDEN, 2), nn.Linear(HIDDEN, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][-1])

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(TOKENS[network], WIDTH))
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0, activation="gelu", batch_first=True, norm_first=True)
            self.layers, self.norm, self.head = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

        def forward(self, x):
            return self.head(self.norm(self.layers(self.words(x) + self.places)).mean(1))

    if network == "lenet":
        return nn.Sequential(nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500),
                             nn.ReLU(), nn.Linear(500, 10))
    if network == "lstm":
        return Recurrent()
    if network == "words":
        return nn.Sequential(nn.Embedding(CLASSES[network], WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, CLASSES[network]))
    if network in TOKENS:
        return Encoder()
    if network == "resnet18":
        layers, channels = [*normed(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
        for stage, wide in enumerate((64, 128, 256, 512)):
            for block in range(2):
                stride = 2 if stage and not block else 1
                body = nn.Sequential(*normed(channels, wide, 3, stride), nn.ReLU(inplace=True), *normed(wide, wide, 3))
                shortcut = nn.Sequential(*normed(channels, wide, 1, stride)) if stride > 1 else nn.Identity()
                layers.append(Residual(body, shortcut, nn.ReLU(inplace=True)))
                channels = wide
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    layers, channels = [*normed(3, 32, 3, 2), nn.ReLU6(inplace=True)], 32
    for expansion, wide, blocks, first_stride in STAGES:
        for i in range(blocks):
            stride, inner = first_stride if i == 0 else 1, expansion * channels
            body = [*normed(channels, inner, 1), nn.ReLU6(inplace=True)] if expansion > 1 else []
            body += [*normed(inner, inner, 3, stride, inner), nn.ReLU6(inplace=True), *normed(inner, wide, 1)]
            body = nn.Sequential(*body)
            layers.append(Residual(body, nn.Identity(), nn.Identity()) if stride == 1 and channels == wide else body)
            channels = wide
    return nn.Sequential(*layers, *normed(channels, 1280, 1), nn.ReLU6(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


def torch_step(network, threads):
    import torch
    torch.set_num_threads(threads)
    net, (x, labels) = torch_network(network), map(torch.from_numpy, batch_of(network))
    optimizer, entropy = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9), torch.nn.CrossEntropyLoss()

    def run():
        optimizer.zero_grad()
        loss = entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return run


def mnn_step(network, threads):
    import MNN
    nn, F = MNN.nn, MNN.expr
    F.lazy_eval(True)
    F.set_global_executor_config(0, 2, threads)  # backend 0: the processor; 2: much power, so that it takes no other number of threads

    class Network(nn.Module):
        """The same layers as torch_network()'s. Lists of modules are not looked through, so each layer is an attribute."""

        def __init__(self):
            super().__init__()
            self.layers, self.at = [], None

        def layer(self, make, *arguments, **keywords):
            if self.at is None:
                self.layers.append(make(*arguments, **keywords))
                setattr(self, f"layer{len(self.layers)}", self.layers[-1])
                return self.layers[-1]
            self.at += 1
            return self.layers[self.at - 1]

        def conv(self, x, inputs, outputs, size, stride=1, groups=1):
            pad = size // 2
            x = self.layer(nn.conv, inputs, outputs, [size, size], [stride, stride], [pad, pad], depthwise=groups > 1, bias=False, padding_mode=F.Padding_Mode.CAFFE)(x)
            return self.layer(nn.batch_norm, outputs)(x)

        def lenet(self, x):
            for inputs, outputs in ((1, 20), (20, 50)):
                x = F.max_pool(self.layer(nn.conv, inputs, outputs, [5, 5])(x), [2, 2], [2, 2])
            x = F.reshape(F.convert(x, F.NCHW), [0, -1])
            return self.layer(nn.linear, 500, 10)(F.relu(self.layer(nn.linear, 800, 500)(x)))

        def resnet18(self, x):
            x, channels = F.max_pool(F.relu(self.conv(x, 3, 64, 7, 2)), [3, 3], [2, 2], F.SAME), 64
            for stage, wide in enumerate((64, 128, 256, 512)):
                for block in range(2):
                    stride = 2 if stage and not block else 1
                    y = self.conv(F.relu(self.conv(x, channels, wide, 3, stride)), wide, wide, 3)
                    x = F.relu(y + (self.conv(x, channels, wide, 1, stride) if stride > 1 else x))
                    channels = wide
            return self.head(x, 512)

        def mobilenet_v2(self, x):
            x, channels = F.relu6(self.conv(x, 3, 32, 3, 2)), 32
            for expansion, wide, blocks, first_stride in STAGES:
                for i in range(blocks):
                    before, stride, inner = x, first_stride if i == 0 else 1, expansion * channels
                    if expansion > 1:
                        x = F.relu6(self.conv(x, channels, inner, 1))
                    x = self.conv(F.relu6(self.conv(x, inner, inner, 3, stride, inner)), inner, wide, 1)
                    x = x + before if stride == 1 and channels == wide else x
                    channels = wide
            return self.head(F.relu6(self.conv(x, channels, 1280, 1)), 1280)

        def head(self, x, channels):
            x = F.reshape(F.convert(F.avg_pool(x, [7, 7], [7, 7]), F.NCHW), [0, -1])
            return self.layer(nn.linear, channels, 1000)(x)

        def forward(self, x):
            self.at = self.at if self.at is None else 0
            y = F.softmax(getattr(self, network)(x), 1)
            self.at = 0
            return y

    x, labels = batch_of(network)
    net = Network()
    data = F.placeholder(list(x.shape), F.NCHW)
    data.write(x)
    net.forward(F.convert(data, F.NC4HW4))  # makes the layers
    net.train(True)
    optimizer = MNN.optim.SGD(net, 1e-3, 0.9)

    def run():
        data = F.placeholder(list(x.shape), F.NCHW)
        data.write(x)
        target = F.one_hot(F.const(labels.astype("int32").tolist(), [len(labels)], F.NCHW, F.int), CLASSES[network], 1.0, 0.0)
        loss = nn.loss.cross_entropy(net.forward(F.convert(data, F.NC4HW4)), target)
        value = float(np.array(loss.read()).reshape(-1)[0])
        optimizer.step(loss)
        return value
    return run


def status_kb(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))


def work(engine, network, threads, memory):
    """A step for each line that comes in; its time goes out. The last line has the memory. `memory`: bytes that Minnow may take for
    activations and gradients; 0 for any number."""
    if engine == "torch":
        import torch
        torch.set_num_threads(threads)
        torch.ones(64, 64) @ torch.ones(64, 64)
    base = status_kb("VmRSS")
    step = None
    if engine == "minnow":
        step, run = recorded_step(network, threads, memory)
    else:
        run = {"torch": torch_step, "mnn": mnn_step}[engine](network, threads)
    try:
        for _ in range(2):
            run()
    except MemoryError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        begin = time.perf_counter()
        loss = run()
        print(json.dumps({"seconds": time.perf_counter() - begin, "loss": loss}), flush=True)
    print(json.dumps({"base": base * 1024, "peak": status_kb("VmHWM") * 1024, "arena": step.arena_bytes if step else 0}), flush=True)


class Worker:
    def __init__(self, python, engine, network, threads, memory=0, path=None):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **({"PYTHONPATH": path} if path else {})}
        self.process = subprocess.Popen([python, __file__, "--work", engine, network, str(threads), str(memory)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        self.times = []
        self.error = self.read().get("error")

    def read(self):
        while line := self.process.stdout.readline():
            if line.startswith("{"):  # MNN prints about the processor
                return json.loads(line)
        sys.exit("a process ended early")

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        self.times.append(self.read()["seconds"])

    def end(self):
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        memory = self.read()
        self.process.wait()
        self.arena = memory["arena"]
        return memory["peak"] - memory["base"]


def take_turns(workers, seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(workers[0].times) < 5:
        for worker in workers:
            worker.step()


def shares_table(options):
    """Steps that take a share of torch's memory in all, by keeping fewer activations."""
    print("| network | threads | share of torch's memory | MB | min ms | times the whole | torch MB | torch / Minnow |")
    print("|---|---|---|---|---|---|---|---|")
    for network in options.networks:
        for threads in options.threads:
            probes = [Worker(sys.executable, "minnow", network, threads), Worker(options.torch_python, "torch", network, threads)]
            whole, theirs = (probe.end() for probe in probes)
            workers = [Worker(sys.executable, "minnow", network, threads), Worker(options.torch_python, "torch", network, threads)]
            parts = [None]
            for share in options.shares:
                limit = int(share * theirs - (whole - probes[0].arena)) if whole > share * theirs else 0
                one = Worker(sys.executable, "minnow", network, threads, limit) if limit >= 0 else None
                if one is None or one.error:
                    need = f"{(whole - probes[0].arena) / 1e6:.0f} MB beside activations" if one is None else one.error
                    print(f"| {network} b{BATCH[network]} | {threads} | {share} | not reached: {need} | | | {theirs / 1e6:.0f} | |")
                else:
                    workers.append(one)
                    parts.append(share)
            take_turns(workers, options.seconds)
            used = [worker.end() for worker in workers]
            times = [min(worker.times) * 1e3 for worker in workers]
            for i, worker in enumerate(workers):
                if i != 1:
                    share = f"{used[i] / theirs:.2f}" if i == 0 else f"{used[i] / theirs:.2f} (asked {parts[i - 1]})"
                    print(f"| {network} b{BATCH[network]} | {threads} | {share} | {used[i] / 1e6:.0f} | {times[i]:.1f} | {times[i] / times[0]:.2f} | "
                          f"{theirs / 1e6:.0f} | {times[1] / times[i]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10, help="for each network and number of threads")
    parser.add_argument("--torch-python", help="a Python that has torch and numpy")
    parser.add_argument("--mnn-python", help="a Python that has MNN and numpy, for lenet, mobilenet_v2 and resnet18")
    parser.add_argument("--before", metavar="FOLDER", help="build/release/python of another Minnow, which stands for the other engine")
    parser.add_argument("--shares", type=float, nargs="+", metavar="SHARE", help="compare steps within these shares of torch's memory")
    parser.add_argument("--memory", type=float, nargs="+", metavar="PART", help="compare steps within parts of the memory")
    parser.add_argument("--head", action="store_true", help="compare steps of all parameters with those of the last layer alone")
    parser.add_argument("--save-graph", metavar="FILE", help="write the loss and the gradients of one network as a model instead")
    options = parser.parse_args()
    if options.save_graph:
        return save_graph(options.networks[0], options.save_graph)
    if options.head:
        return head_table(options.networks, options.threads, options.seconds)
    if options.memory:
        return memory_table(options.networks, options.memory, options.threads, options.seconds)
    if options.shares:
        return shares_table(options)
    peer, python = ("MNN", options.mnn_python) if options.mnn_python else ("torch", options.torch_python)
    if options.before:
        peer, python = "before", sys.executable
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}\n")
    print(f"| network | threads | Minnow min / median ms | {peer} min / median ms | {peer} / Minnow | Minnow MB | {peer} MB |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for network in options.networks:
        for threads in options.threads:
            workers = {"minnow": Worker(sys.executable, "minnow", network, threads)}
            if python:
                workers[peer] = Worker(python, "minnow" if options.before else peer.lower(), network, threads, path=options.before)
            take_turns(list(workers.values()), options.seconds)
            row = {}
            for engine, worker in workers.items():
                times = sorted(worker.times)
                row[engine] = (times[0] * 1e3, times[len(times) // 2] * 1e3, worker.end() / 1e6)
            ours, theirs = row["minnow"], row.get(peer)
            text = f"| {network} b{BATCH[network]} | {threads} | {ours[0]:.2f} / {ours[1]:.2f} | "
            if theirs:
                ratios.append(theirs[0] / ours[0])
                text += f"{theirs[0]:.2f} / {theirs[1]:.2f} | {ratios[-1]:.2f} | {ours[2]:.0f} | {theirs[2]:.0f} |"
            else:
                text += f"- | - | {ours[2]:.0f} | - |"
            print(text, flush=True)
    if ratios:
        print(f"geometric mean of {peer} / Minnow: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}")


if len(sys.argv) > 3 and sys.argv[1] == "--work":
    if sys.argv[2] == "minnow":
        import minnow
        from minnow import expr, optim
    work(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
elif __name__ == "__main__":
    import minnow
    from minnow import expr, optim
    main()
