#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantizes an ONNX model with NNCF or with MNN's offline tool, and runs the result. bench/quantization.py starts it with a Python that has these packages.

  PYTHON bench/quantize_peers.py nncf-performance|nncf-mixed|nncf-accurate|mnn-kl|mnn-admm|mnn-ema MODEL.onnx CALIBRATION.npz EVALUATION.npz ANSWERS.npz

The arrays' first axis counts samples of one input. ANSWERS gets an array for each output, in order. NNCF's models run in OpenVINO without its integer
kernels if it allows that, because these overflow on processors without VNNI; MNN's run in MNN.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np


def with_nncf(kind, model, calibration, evaluation):
    import nncf
    import openvino
    import logging
    nncf.set_log_level(logging.ERROR)
    name, data = calibration
    core = openvino.Core()
    source = core.read_model(model)
    source.reshape({source.inputs[0]: [1, *data.shape[1:]]})
    settings = {"performance": {"preset": nncf.QuantizationPreset.PERFORMANCE}, "mixed": {"preset": nncf.QuantizationPreset.MIXED},
                "accurate": {"preset": nncf.QuantizationPreset.MIXED, "fast_bias_correction": False}}[kind]
    parameters = nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.DISABLE)
    made = nncf.quantize(source, nncf.Dataset([each[None] for each in data]), subset_size=len(data), advanced_parameters=parameters, **settings)
    try:
        compiled = core.compile_model(made, "CPU", {"LP_TRANSFORMS_MODE": "NO", "INFERENCE_PRECISION_HINT": "f32"})
    except RuntimeError:
        print("OpenVINO computes with its integer kernels", file=sys.stderr)
        compiled = core.compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    rows = [[np.array(value) for value in request.infer([each[None]]).values()] for each in evaluation]
    with tempfile.TemporaryDirectory() as folder:
        openvino.save_model(made, Path(folder) / "model.xml", compress_to_fp16=False)
        size = os.path.getsize(Path(folder) / "model.bin")
    return rows, size


def with_mnn(kind, model, calibration, evaluation):
    # The functions behind `mnnconvert` and `mnnquant`; the commands themselves report their use to a server.
    import _tools
    import MNN
    import onnx
    old, data = calibration
    with tempfile.TemporaryDirectory() as folder:
        plain, quantized = f"{folder}/plain.mnn", f"{folder}/quantized.mnn"
        # One sample, and a name that a file may have.
        made, name = onnx.load(model), "x_in"
        for node in made.graph.node:
            node.input[:] = [name if each == old else each for each in node.input]
        made.graph.input[0].name = name
        made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
        onnx.save(made, f"{folder}/source.onnx")
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", f"{folder}/source.onnx", "--MNNModel", plain, "--bizCode", "x", "--keepInputFormat=1"])
        for i, each in enumerate(data):
            place = Path(folder, "samples", str(i))
            place.mkdir(parents=True)
            (place / "input.json").write_text(json.dumps({"inputs": [{"name": name, "shape": [1, *each.shape]}], "outputs": []}))
            np.savetxt(place / f"{name}.txt", each.reshape(-1), "%.9g")
        config = {"input_type": "sequence", "path": f"{folder}/samples/", "used_sample_num": len(data), "feature_quantize_method": {"kl": "KL", "admm": "ADMM", "ema": "EMA"}[kind],
                  "weight_quantize_method": "ADMM" if kind == "admm" else "MAX_ABS", "batch_size": 1}
        Path(folder, "config.json").write_text(json.dumps(config))
        _tools.mnnquant(["mnnquant", plain, quantized, f"{folder}/config.json"])  # the wrapper of 3.6.1 passes texts and crashes
        outputs = [value.name for value in made.graph.output]
        module = MNN.nn.load_module_from_file(quantized, [name], outputs)
        rows = []
        for each in evaluation:
            x = MNN.expr.placeholder([1, *each.shape], MNN.expr.NCHW)
            x.write(np.ascontiguousarray(each[None]).reshape(-1).tolist())
            rows.append([np.array(MNN.expr.convert(value, MNN.expr.NCHW).read()).reshape(value.shape) for value in module.onForward([x])])
        return rows, os.path.getsize(quantized)


def main():
    tool, model, calibration, evaluation, answers = sys.argv[1:]
    engine, kind = tool.split("-")
    with np.load(calibration) as file:
        name = file.files[0]
        data = file[name]
    with np.load(evaluation) as file:
        rows, size = (with_nncf if engine == "nncf" else with_mnn)(kind, model, (name, data), file[name])
    np.savez(answers, size=size, **{f"output{k}": np.stack([row[k] for row in rows]) for k in range(len(rows[0]))})


if __name__ == "__main__":
    main()
