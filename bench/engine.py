#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a model in one of the other engines, alone in this process, and prints one JSON object as `minnow bench --json` does.

  engine.py ENGINE MODEL THREADS SECONDS PRECISION INPUT.npy [OUTPUT.npy]

Each engine is called in the leanest way that its Python package offers: inputs and outputs are bound before, so that only the engine is timed.
PRECISION is normal (all engines compute in f32) or low (engines that can compute in 16 bits do). Memory is the peak resident set while loading
and running, less that of the process before loading, with the engine's libraries loaded.
"""
import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np


def onnxruntime(path, threads, low):
    import onnxruntime as ort  # its CPU kernels have no 16-bit floats on x86: f32 at both precisions

    def load():
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()

        def bind(x):
            binding.bind_cpu_input(session.get_inputs()[0].name, x)
            binding.bind_output(session.get_outputs()[0].name, "cpu")
            session.run_with_iobinding(binding)  # tells the output's shape
            y = binding.copy_outputs_to_cpu()[0]
            binding.bind_output(session.get_outputs()[0].name, "cpu", 0, np.float32, y.shape, y.ctypes.data)
            return (lambda: session.run_with_iobinding(binding)), lambda: y

        return bind

    return load


def openvino(path, threads, low):
    import openvino as ov

    def load():
        core = ov.Core()
        compiled = core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                    "INFERENCE_PRECISION_HINT": "bf16" if low else "f32"})
        request = compiled.create_infer_request()

        def bind(x):
            request.set_input_tensor(ov.Tensor(x, shared_memory=True))
            return ((lambda: request.infer(share_inputs=True, share_outputs=True, decode_strings=False)),
                    lambda: np.array(request.get_output_tensor(0).data))

        return bind

    return load


def mnn(path, threads, low):
    import MNN

    def load():
        interpreter = MNN.Interpreter(path)
        session = interpreter.createSession({"backend": "CPU", "numThread": threads, "precision": "low" if low else "normal"})

        def bind(x):
            source = interpreter.getSessionInput(session)
            source.copyFrom(MNN.Tensor(tuple(x.shape), MNN.Halide_Type_Float, x, MNN.Tensor_DimensionType_Caffe))

            def output():
                result = interpreter.getSessionOutput(session)
                shape = tuple(result.getShape())
                host = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
                result.copyToHostTensor(host)
                return np.array(host.getData(), np.float32).reshape(shape)

            return (lambda: interpreter.runSession(session)), output

        return bind

    return load


def pnnx(model):
    """The command that converts an ONNX file for ncnn, to files in the current folder. None: it is not installed."""
    package = importlib.util.find_spec("pnnx")  # importing it would ask for torch, which its converter does not need
    return [Path(package.origin).parent / "pnnx", model, "fp16=0"] if package else None


def ncnn(path, threads, low, vulkan=False):
    import ncnn

    def load():
        net = ncnn.Net()
        net.opt.num_threads = threads
        net.opt.use_vulkan_compute = vulkan
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = low
        net.opt.use_bf16_storage = False
        if net.load_param(path) or net.load_model(path[: -len(".param")] + ".bin"):
            raise RuntimeError("the model cannot be loaded")

        def bind(x):
            image = ncnn.Mat(x[0] if x.ndim == 4 or x.shape[0] == 1 else x[:, 0])  # its tensors have no batch
            last = [None]

            def run():
                extractor = net.create_extractor()
                extractor.input("in0", image)
                status, last[0] = extractor.extract("out0")
                if status:
                    raise RuntimeError("the run failed")

            return run, lambda: np.array(last[0])

        return bind

    return load


def status_kb(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))


def main():
    engine, path, threads, seconds, precision, source, *target = sys.argv[1:]
    clock, x = time.perf_counter, np.ascontiguousarray(np.load(source))
    load = {"onnxruntime": onnxruntime, "openvino": openvino, "mnn": mnn, "ncnn": ncnn}[engine](path, int(threads), precision == "low")
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
    except OSError:
        pass
    base, start = status_kb("VmRSS"), clock()
    bind = load()
    loaded = clock()
    run, output = bind(x)
    run()
    first = clock()
    if target:
        np.save(target[0], output())
    times, cpu_times, begin = [], [], clock()
    while len(times) < 5 or clock() - begin < float(seconds):
        start_cpu, start_run = time.process_time(), clock()
        run()
        times.append(clock() - start_run)
        cpu_times.append(time.process_time() - start_cpu)
    times.sort()
    print(json.dumps({"min_ms": times[0] * 1e3, "median_ms": times[len(times) // 2] * 1e3,
                      "min_cpu_ms": min(cpu_times) * 1e3, "runs": len(times), "load_ms": (loaded - start) * 1e3,
                      "first_run_ms": (first - loaded) * 1e3, "base_rss_bytes": base * 1024, "peak_rss_bytes": status_kb("VmHWM") * 1024}))


if __name__ == "__main__":
    main()
