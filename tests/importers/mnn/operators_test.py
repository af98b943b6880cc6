#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models written by MNN's converter, and models of one MNN operator each, give the same numbers as MNN's own engine.

Three kinds of cases: the onnx package's node cases converted to .mnn (those where MNN's answer is the one that the case asks for),
networks with constant weights in every packed form, and single operators written as JSON, which the converter turns into .mnn. All are
written as the corpus is, and run by the conformance runner on both backends, as they are and after every pass. Every row of the importer's
rule table has a case, or stands in WITHOUT_CASE with the reason. MINNOW_KEEP_CASES names a folder that keeps the cases
(scripts/store_cases.py).
"""
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

try:
    import MNN.expr
    import MNN.nn
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    import _tools
except ImportError as error:
    print(f"skipped: MNN's wheel and onnx are needed ({error}); pip install MNN onnx")
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
BUILD = Path(os.environ["MINNOW_BUILD_DIR"])
RUNNER = BUILD / "bin" / "conformance_tests"
if not RUNNER.exists():
    print("skipped: conformance_tests is not built")
    sys.exit(77)
random = np.random.default_rng(5)

WITHOUT_CASE = {
    "TrainableParam": "a constant of training", "RandomUniform": "random", "RandomNormal": "random",
    **dict.fromkeys(["AbsVal", "Bnll", "BatchNorm", "Copy", "Dropout", "Exp", "InstanceNorm", "Log", "Moments"],
                    "of old files; MNN's CPU engine has no kernel any more"),
    "GroupNorm": "MNN has no kernel for it on CPUs", "Interp3D": "MNN does not run what its converter writes", "DetectionOutput": "not by this interface of MNN",
    "EltwiseInt8": "MNN does not run what its converter writes", "DynamicQuant": "MNN answers with other bytes on x86",
    "RNNSequenceGRU": "the engine's state is of one batch only, its answer is not defined for the others",
    "LSTMBlockCell": "its converter makes other operators of it", "TensorArrayGather": "TensorFlow's loops",
    "TensorArrayScatter": "TensorFlow's loops", "TensorArrayWrite": "TensorFlow's loops", "TensorArrayConcat": "TensorFlow's loops", "TensorArrayErase": "with sequences",
    "ConvTranspose3D": "MNN has no kernel for it on CPUs", "SplitGeLU": "for other devices than CPUs",
    **dict.fromkeys(["FusedLinear", "GatedRMSNorm"], "the wheel does not know them; importer_test.cpp computes them"),
}
# ONNX cases whose meaning the file does not keep, or that MNN answers by luck.
NODE_CASES_LEFT_OUT = {"test_castlike_INT2_to_INT8": "the file says real numbers", "test_castlike_INT4_to_INT8": "the file says real numbers"}


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def isolated(work, seconds=30):
    """Return the bytes that `work` gives in a process of its own, because MNN ends the process when it meets something unknown."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1), os.dup2(quiet, 2)
        signal.alarm(seconds)
        try:
            result = work()
            with os.fdopen(write, "wb") as pipe:
                pipe.write(result)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return result


def convert(source, target, kind="ONNX", options=()):
    def work():
        os.chdir(target.parent)  # the converter leaves files where it stands
        _tools.mnnconvert(["mnnconvert", "-f", kind, "--modelFile", str(source), "--MNNModel", str(target), "--bizCode", "t", *options])
        return b""

    isolated(work)
    return target.exists()


def run(model, feeds, outputs):
    """MNN's answers for [(name, array, layout)]."""
    module = MNN.nn.load_module_from_file(str(model), [name for name, _, _ in feeds], outputs, precision_mode=MNN.expr.PrecisionMode.High)
    layouts = {"NHWC": MNN.expr.NHWC, "NCHW": MNN.expr.NCHW, "NC4HW4": MNN.expr.NCHW}
    types = {np.dtype("float32"): MNN.expr.float, np.dtype("int32"): MNN.expr.int, np.dtype("uint8"): MNN.expr.uint8}
    given = [MNN.expr.const(np.ascontiguousarray(x), list(x.shape), layouts[layout], types[x.dtype]) for _, x, layout in feeds]
    given = [MNN.expr.convert(x, MNN.expr.NC4HW4) if layout == "NC4HW4" else x for x, (_, _, layout) in zip(given, feeds)]
    made = module.forward(given)
    made = made if isinstance(made, (list, tuple)) else [made]
    answers = []
    for y in made:
        if y.data_format == MNN.expr.NC4HW4:
            y = MNN.expr.convert(y, MNN.expr.NCHW)
        answers.append(np.array(y.read(), copy=True).reshape(y.shape))
    return answers


class Corpus:
    """Cases written as the corpus is."""

    def __init__(self, folder):
        self.folder, self.rows = folder, []
        (folder / "mnn").mkdir(parents=True)

    def add(self, name, model, feeds, outputs, expected=None, step=0, others=False):
        """True if MNN ran it (and gave `expected`, if that is set). step: for integers, which may differ by one. others: another script
        wrote the case; it is not stored."""
        import io
        buffer = io.BytesIO()

        def work():
            # Twice, with another run between, for some kernels leave memory as they find it.
            answers = run(model, feeds, outputs)
            run(model, [(n, x[::-1] * 3 if x.dtype == np.float32 and x.ndim else x, layout) for n, x, layout in feeds], outputs)
            again = run(model, feeds, outputs)
            if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(answers, again)):
                return b""
            np.savez(buffer, **{f"out_{i}": y for i, y in enumerate(answers)})
            return buffer.getvalue()

        data = isolated(work)
        if not data:
            return False
        arrays = dict(np.load(io.BytesIO(data)))
        if len(arrays) != len(outputs):
            return False
        for i, wanted in enumerate(expected or []):
            got = arrays[f"out_{i}"]
            if wanted.shape != got.shape or not np.allclose(wanted.astype(np.float64), got.astype(np.float64), rtol=1e-3, atol=1e-4, equal_nan=True):
                return False
        folder = self.folder / "mnn" / name
        folder.mkdir()
        (folder / "model.mnn").write_bytes(model.read_bytes())
        weights = model.with_name(model.name + ".weight")
        if weights.exists():
            (folder / "model.mnn.weight").write_bytes(weights.read_bytes())
        np.savez(folder / "ref.npz", **{f"in_{i}": x for i, (_, x, _) in enumerate(feeds)}, **arrays)
        self.rows.append({"format": "mnn", "name": name, "ops": {}, "engine_spread": max(5e-5, step / 3.9), "inputs": [{"name": n} for n, _, _ in feeds],
                          "outputs": [{"name": n} for n in outputs], "others": others})
        return True

    def check(self):
        (self.folder / "manifest.json").write_text(json.dumps({"version": 1, "engine": f"MNN {MNN.version()}", "cases": self.rows}))
        environment = os.environ | {"MINNOW_CORPUS": str(self.folder), "MINNOW_MODELS_DIR": str(self.folder)}
        failed = 0
        for backend in (["reference"], ["cpu"], ["cpu", "--optimize"]):
            command = [str(RUNNER), "--suite", "corpus-mnn", "--backend", *backend]
            failed |= subprocess.run(command, env=environment).returncode
        return failed


# Single operators as JSON.

KINDS = {"float32": "DT_FLOAT", "int32": "DT_INT32", "uint8": "DT_UINT8"}
JSON_CASES = []


class Const:
    def __init__(self, array, layout="NCHW"):
        self.array, self.layout = np.asarray(array), layout


def op(kind, inputs, parameter=None, main=None, outputs=1, layout="NCHW", name=None, source="TENSORFLOW", default="NHWC", after=None, then=(), described=(), before=(),
       step=0, graphs=()):
    """inputs: arrays, or Const. layout: of the first input, or of each. main: the parameter's fields. before: operators of one input that each array goes through first. then: further operators of one input, (kind, parameter, main). graphs: subgraphs, as JSON. after: the layout
    that the outputs are converted to. described: scale and zero of input and output, which the engine keeps as bytes then."""
    JSON_CASES.append(dict(kind=kind, inputs=inputs, parameter=parameter, main=main, outputs=outputs, layout=layout, name=name or kind,
                           source=source, default=default, after=after, then=then, described=described, before=before, step=step, graphs=graphs))


def blob(array, layout):
    field = {"float32": "float32s", "int32": "int32s"}[array.dtype.name]
    return {"dims": list(array.shape), "dataFormat": layout, "dataType": KINDS[array.dtype.name], field: array.reshape(-1).tolist()}


def json_model(case):
    ops, tensors, places, feeds = [], [], [], []
    for i, x in enumerate(case["inputs"]):
        constant = isinstance(x, Const)
        array = x.array if constant else x
        tensors.append(f"x{i}")
        places.append(i)
        if constant:
            ops.append({"type": "Const", "name": f"x{i}", "outputIndexes": [i], "main_type": "Blob", "main": blob(array, x.layout)})
        else:
            layout = case["layout"][i] if isinstance(case["layout"], tuple) else case["layout"] if i == 0 else "NCHW"
            ops.append({"type": "Input", "name": f"x{i}", "outputIndexes": [i], "main_type": "Input",
                        "main": {"dims": list(array.shape), "dtype": KINDS[array.dtype.name], "dformat": layout}})
            feeds.append((f"x{i}", array, layout))
    for kind, parameter, main in case["before"]:
        for i, place in enumerate(places):
            tensors.append(f"b{len(tensors)}")
            places[i] = len(tensors) - 1
            ops.append({"type": kind, "name": tensors[-1], "inputIndexes": [place], "outputIndexes": [places[i]], "main_type": parameter, "main": main})
    first = len(tensors)
    outputs = [f"y{k}" for k in range(case["outputs"])]
    tensors += outputs
    node = {"type": case["kind"], "name": "node", "inputIndexes": places, "outputIndexes": list(range(first, first + len(outputs))),
            "defaultDimentionFormat": case["default"]}
    if case["parameter"]:
        node |= {"main_type": case["parameter"], "main": case["main"] or {}}
    ops.append(node)
    further = [*case["then"], *([("ConvertTensor", "TensorConvertInfo", {"source": "NC4HW4", "dest": case["after"]})] if case["after"] else [])]
    for step, (kind, parameter, main) in enumerate(further):
        for k in range(len(outputs)):
            before = tensors.index(outputs[k])
            outputs[k] = f"y{k}_{step}"
            tensors.append(outputs[k])
            ops.append({"type": kind, "name": outputs[k], "inputIndexes": [before], "outputIndexes": [len(tensors) - 1], "main_type": parameter, "main": main})
    for one in ops:
        one.setdefault("defaultDimentionFormat", "NHWC")
    told = [{"index": place, "name": tensors[place], "quantInfo": {"scale": scale, "zero": zero, "min": -127.0, "max": 127.0, "type": "DT_INT8"}}
            for place, (scale, zero) in zip((0, first), case["described"])]
    return {"oplists": ops, "tensorName": tensors, "outputName": outputs, **({"extraTensorDescribe": told} if told else {}), **({"subgraphs": list(case["graphs"])} if case["graphs"] else {}), "sourceType": case["source"], "bizCode": "t",
            "tensorNumber": len(tensors), "usage": "INFERENCE", "preferForwardType": "CPU"}, feeds, outputs


def i32(*values):
    return np.array(values, np.int32)


IMAGE = (1, 5, 9, 8)
for kind in ["AbsVal", "Bnll", "Sigmoid", "TanH"]:
    op(kind, [floats(3, 7)])
op("Copy", [floats(3, 7)])
op("Dropout", [floats(3, 7)])
for number, main in [("PROD", {}), ("SUM", {}), ("SUM", {"coeff": [0.5, -2.0]}), ("MAXIMUM", {}), ("SUB", {})]:
    op("Eltwise", [floats(*IMAGE), floats(*IMAGE)], "Eltwise", {"type": number, "coeff": []} | main, name=f"Eltwise_{number}_{len(main)}")
op("ReLU", [floats(3, 7)], "Relu", {"slope": 0.2})
op("ReLU6", [floats(3, 7) * 5], "Relu6", {"minValue": -1.5, "maxValue": 3.0})
op("PReLU", [floats(*IMAGE)], "PRelu", {"slopeCount": 5, "slope": floats(5).tolist()}, layout="NC4HW4", after="NCHW", source="CAFFE")
op("Scale", [floats(*IMAGE)], "Scale", {"channels": 5, "scaleData": floats(5).tolist(), "biasData": floats(5).tolist()}, layout="NC4HW4",
   after="NCHW", source="CAFFE")
op("BatchNorm", [floats(*IMAGE)], "BatchNorm", {"channels": 5, "slopeData": floats(5).tolist(), "meanData": floats(5).tolist(),
   "varData": (np.abs(floats(5)) + 0.5).tolist(), "biasData": floats(5).tolist(), "Adata": [], "Bdata": []}, layout="NC4HW4", after="NCHW")
for region in (0, 1):
    op("LRN", [floats(*IMAGE)], "LRN", {"regionType": region, "localSize": 3, "alpha": 0.5, "beta": 0.75, "bias": 1.5}, layout="NC4HW4",
       after="NCHW", source="CAFFE", name=f"LRN_{region}")
op("Normalize", [floats(*IMAGE)], "Normalize", {"acrossSpatial": 0, "channelShared": 0, "eps": 1e-6, "scale": floats(5).tolist()}, layout="NC4HW4",
   after="NCHW", source="CAFFE")
op("Threshold", [floats(3, 7)], "ELU", {"alpha": 0.3})
op("Crop", [floats(1, 3, 9, 8), floats(1, 3, 4, 5)], "Crop", {"axis": 2, "offset": [2, 1]}, layout="NC4HW4", after="NCHW", source="CAFFE")
op("Resize", [floats(1, 5, 4, 6)], "Resize", {"xScale": 2.0, "yScale": 1.5}, layout="NC4HW4", after="NCHW")
for kind in (1, 2, 3, 4):
    for index, fields in enumerate([{}, {"alignCorners": True}, {"halfPixelCenters": True}, {"ctm": "PytorchHalfPixels"}, {"ctm": "TensorflowHalfPixels"}]):
        if (index == 4 and kind != 1) or (index in (2, 3) and kind == 3):  # cubic: MNN goes wrong beyond the edges
            continue
        for size in [(9, 11), (3, 2)]:
            op("Interp", [floats(1, 5, 4, 6)], "Interp", {"resizeType": kind, "outputHeight": size[0], "outputWidth": size[1]} | fields, layout="NC4HW4",
               after="NCHW", name=f"Interp_{kind}_{index}_{size[0]}")
for kind in ("MAXPOOL", "AVEPOOL"):
    for ceil in (False, True):
        for pads in ([], [1, 0, 0, 1]):
            for count in ("DEFAULT", "INCLUDE_PADDING", "EXCLUDE_PADDING"):
                if pads and count == "INCLUDE_PADDING":
                    pads = [1, 1, 1, 1]  # MNN counts what is above at the bottom too
                main = {"padX": 1, "padY": 1, "kernelX": 3, "kernelY": 2, "strideX": 2, "strideY": 3, "type": kind, "padType": "CAFFE", "ceilModel": ceil,
                        "countType": count} | ({"pads": pads} if pads else {})
                op("Pooling", [floats(*IMAGE)], "Pool", main, layout="NC4HW4", after="NCHW", name=f"Pooling_{kind}_{int(ceil)}{len(pads)}_{count}")
    for pad in ("VALID", "SAME"):
        op("Pooling", [floats(*IMAGE)], "Pool", {"kernelX": 3, "kernelY": 2, "strideX": 2, "strideY": 3, "type": kind, "padType": pad}, layout="NC4HW4",
           after="NCHW", name=f"Pooling_{kind}_{pad}")
    op("Pooling", [floats(*IMAGE)], "Pool", {"isGlobal": True, "type": kind}, layout="NC4HW4", after="NCHW", name=f"Pooling_{kind}_global")
    op("Pooling3D", [floats(1, 5, 6, 7, 8)], "Pool3D", {"strides": [1, 2, 2], "kernels": [2, 3, 3], "pads": [0, 1, 1], "type": kind, "padType": "CAFFE"},
       layout="NC4HW4", after="NCHW", name=f"Pooling3D_{kind}")


def common(**fields):
    return {"kernelX": 3, "kernelY": 3, "strideX": 1, "strideY": 1, "dilateX": 1, "dilateY": 1, "group": 1, "inputCount": 5, "outputCount": 6} | fields


def convolution(name, kind="Convolution", weights=6 * 5 * 9, shape=IMAGE, outputs=6, **fields):
    op(kind, [floats(*shape)], "Convolution2D", {"common": common(**fields), "weight": floats(weights).tolist(), "bias": floats(outputs).tolist()},
       layout="NC4HW4", after="NCHW", name=name)


convolution("Convolution_pads", padX=1, padY=2)
convolution("Convolution_four_pads", pads=[0, 1, 2, 1], strideX=2)
convolution("Convolution_same", padMode="SAME", strideY=2, relu=True)
convolution("Convolution_valid", padMode="VALID", dilateX=2, relu6=True)
convolution("Convolution_groups", weights=6 * 2 * 9, shape=(2, 4, 7, 6), inputCount=4, group=2)
convolution("ConvolutionDepthwise", "ConvolutionDepthwise", weights=5 * 9, outputs=5, group=5, outputCount=5, padX=1, padY=1)
convolution("Deconvolution", "Deconvolution", strideX=2, strideY=2, padX=1, padY=1)
convolution("Deconvolution_same", "Deconvolution", strideX=2, strideY=3, padMode="SAME")
convolution("Deconvolution_more", "Deconvolution", strideX=2, strideY=2, pads=[1, 0, 1, 1], outPads=[1, 0])
convolution("DeconvolutionDepthwise", "DeconvolutionDepthwise", weights=5 * 9, outputs=5, group=5, outputCount=5, strideX=2, strideY=2)
op("Convolution3D", [floats(1, 3, 5, 6, 7)], "Convolution3D", {"common": {"dilates": [1, 1, 1], "strides": [1, 2, 1], "kernels": [2, 3, 3], "pads": [0, 1, 1],
   "inputCount": 3, "outputCount": 4, "relu": True}, "weight": floats(4 * 3 * 18).tolist(), "bias": floats(4).tolist()}, layout="NC4HW4", after="NCHW")
op("Dilation2D", [floats(1, 4, 7, 6)], "Convolution2D", {"common": common(inputCount=4, outputCount=4, kernelX=2, kernelY=3, padMode="VALID"), "weight": floats(4 * 6).tolist(), "bias": []},
   layout="NC4HW4", after="NCHW")
op("InnerProduct", [floats(1, 10)], "InnerProduct", {"outputCount": 4, "biasTerm": 1, "weightSize": 40, "weight": floats(40).tolist(), "bias": floats(4).tolist(), "axis": 1},
   source="CAFFE")
op("Im2Col", [floats(2, 3, 6, 5)], "Convolution2D", {"common": common(inputCount=3, outputCount=0, padX=1, padY=0, strideX=2)})
op("Col2Im", [floats(1, 3 * 9, 20), Const(i32(6, 7))], "Convolution2D", {"common": common(inputCount=3, outputCount=3)})
op("ROIPooling", [floats(1, 4, 9, 8), np.array([[0, 0, 0, 7, 7], [0, 2, 1, 6, 5]], np.float32).reshape(2, 5, 1, 1)], "RoiParameters",
   {"pooledWidth": 3, "pooledHeight": 2, "spatialScale": 1.0}, layout="NC4HW4", after="NCHW", source="CAFFE")
op("InstanceNorm", [floats(*IMAGE)], "BatchNorm", {"channels": 5, "slopeData": [], "meanData": [], "varData": [], "biasData": [], "Adata": [], "Bdata": [],
   "epsilon": 1e-3}, layout="NC4HW4", after="NCHW")
op("GroupNorm", [floats(2, 6, 4, 3)], "GroupNorm", {"axis": 1, "epsilon": 1e-5, "gamma": floats(6).tolist(), "beta": floats(6).tolist(), "group": 2}, layout="NC4HW4",
   after="NCHW")
for name, main in [("", {"axis": [-1], "gamma": floats(7).tolist(), "beta": floats(7).tolist()}), ("_plain", {"axis": [-1]}), ("_two", {"axis": [-2, -1]}),
                   ("_root", {"axis": [-1], "gamma": floats(7).tolist(), "beta": [0.0] * 7, "useRMSNorm": True}), ("_middle", {"axis": [1]})]:
    op("LayerNorm", [floats(2, 3, 5, 7)], "LayerNorm", {"epsilon": 1e-5} | main, name="LayerNorm" + name)
op("Moments", [floats(2, 3, 5, 7)], "MomentsParam", {"dim": [2, 3], "keepDims": True}, layout="NC4HW4", after="NCHW", outputs=2)
op("CosineSimilarity", [floats(2, 6, 3), floats(2, 6, 3), Const(i32(1))])
op("LSTM", [floats(4, 2, 5), floats(1, 12, 5), floats(1, 12, 3), floats(1, 12)], "LSTM", {"outputCount": 3, "weightSize": 0}, outputs=3, source="ONNX", default="NCHW")
op("LSTM", [floats(4, 2, 5), floats(2, 12, 5), floats(2, 12, 3), floats(2, 12), floats(2, 2, 3), floats(2, 2, 3)], "LSTM", {"outputCount": 3, "weightSize": 0}, outputs=3,
   source="ONNX", default="NCHW", name="LSTM_both")
op("RNN", [floats(4, 2, 5), floats(1, 3, 5), floats(1, 3, 3), floats(1, 3)], "LSTM", {"outputCount": 3, "weightSize": 0}, outputs=2, source="ONNX", default="NCHW")
for mode in ("BILINEAR", "NEAREST"):
    for border in ("ZEROS", "CLAMP"):  # MNN reflects otherwise than ONNX's GridSample, which its files come from
        for align in (False, True):
            op("GridSample", [floats(1, 4, 5, 6), Const(random.uniform(-1.3, 1.3, (1, 3, 7, 2)).astype(np.float32))], "GridSample", {"mode": mode, "paddingMode": border,
               "alignCorners": align}, layout="NC4HW4", after="NCHW", source="ONNX", name=f"GridSample_{mode}_{border}_{int(align)}")
for aligned in (False, True):
    op("ROIAlign", [floats(2, 4, 9, 8), Const(np.array([[0.5, 1, 6, 5], [1, 0, 7, 7.5]], np.float32)), Const(i32(1, 0))], "RoiParameters", {"pooledWidth": 3,
       "pooledHeight": 2, "spatialScale": 1.0, "samplingRatio": 2, "aligned": aligned, "poolType": "AVEPOOL"}, layout="NC4HW4", after="NCHW", source="ONNX",
       name=f"ROIAlign_{int(aligned)}")
op("CropAndResize", [floats(2, 6, 7, 4), Const(np.array([[0.1, 0.2, 0.8, 0.9], [-0.2, 0, 1.1, 0.5]], np.float32)), Const(i32(1, 0)), Const(i32(4, 3))], "CropAndResize",
   {"extrapolationValue": 0.5, "method": "BILINEAR"}, layout="NHWC")
priors = {"minSizes": [3.0], "maxSizes": [6.0], "aspectRatios": [2.0], "variances": [0.1, 0.1, 0.2, 0.2], "flip": True, "clip": False, "offset": 0.5}
op("PriorBox", [floats(1, 4, 3, 4), floats(1, 3, 24, 32)], "PriorBox", priors, layout="NC4HW4", after="NCHW", source="CAFFE")
corners = np.sort(random.random((9, 2, 2)), axis=1).reshape(9, 4)
boxes = np.stack([corners.reshape(36), np.tile([0.1, 0.1, 0.2, 0.2], 9)]).reshape(1, 2, 36, 1).astype(np.float32)
op("DetectionOutput", [floats(1, 36, 1, 1), (random.permutation(27) / 27).reshape(1, 27, 1, 1).astype(np.float32), boxes], "DetectionOutput",
   {"classCount": 3, "nmsThresholdold": 0.45, "nmsTopK": 100, "keepTopK": 20, "confidenceThreshold": 0.3}, layout="NC4HW4", after="NCHW", source="CAFFE")
op("DetectionPostProcess", [floats(1, 12, 4), (random.permutation(48).reshape(1, 12, 4) / 48).astype(np.float32), Const(random.random((12, 4)).astype(np.float32))],
   "DetectionPostProcessParam", {"maxDetections": 5, "maxClassesPerDetection": 1, "detectionsPerClass": 4, "nmsScoreThreshold": 0.2, "iouThreshold": 0.5, "numClasses": 3,
   "useRegularNMS": False, "centerSizeEncoding": [10.0, 10.0, 5.0, 5.0]}, outputs=4, source="TFLITE")
op("MatMul", [floats(3, 5), floats(4, 5)], "MatMul", {"transposeB": True})
op("BatchMatMul", [floats(2, 5, 3), floats(2, 4, 5)], "BatchMatMulParam", {"adjX": True, "adjY": True})
op("Softmax", [floats(2, 3, 5)], "Axis", {"axis": 1})

op("ConvertTensor", [floats(*IMAGE)], "TensorConvertInfo", {"source": "NC4HW4", "dest": "NHWC"}, layout="NC4HW4")
def raster(name, inputs, shape, *regions):
    """regions: offset and three strides of source and target, three sizes."""
    op("Raster", inputs, "Extra", {"type": "", "engine": "", "attr": [{"key": "region", "list": {"i": [n for region in regions for n in region]}},
                                                                    {"key": "shape", "list": {"i": list(shape)}}]}, name="Raster_" + name)


raster("copy", [floats(2, 3, 4)], (4, 6), (0, 12, 4, 1, 0, 12, 4, 1, 2, 3, 4))
raster("transpose", [floats(2, 3, 4)], (3, 2, 4), (0, 4, 12, 1, 0, 8, 4, 1, 3, 2, 4))
raster("turn", [floats(2, 3, 4)], (4, 3, 2), (0, 1, 4, 12, 0, 6, 2, 1, 4, 3, 2))
raster("slice", [floats(2, 3, 4)], (2, 2, 2), (5, 12, 4, 1, 0, 4, 2, 1, 2, 2, 2))
raster("join", [floats(2, 3), floats(2, 2)], (2, 5), (0, 0, 3, 1, 0, 0, 5, 1, 1, 2, 3), (0, 0, 2, 1, 3, 0, 5, 1, 1, 2, 2))
raster("padding", [floats(2, 3)], (4, 5), (0, 0, 3, 1, 6, 0, 5, 1, 1, 2, 3))
raster("broadcast", [floats(3)], (2, 3, 2), (0, 0, 1, 0, 0, 6, 2, 1, 2, 3, 2))
raster("backward", [floats(6)], (6,), (5, 0, 0, -1, 0, 0, 0, 1, 1, 1, 6))
op("SpatialProduct", [floats(*IMAGE), floats(1, 1, 9, 8)], layout="NC4HW4", after="NCHW", source="CAFFE")
op("ZeroGrad", [floats(2, 3)])
op("Reshape", [floats(1, 4, 2, 3)], "Reshape", {"dims": [1, 8, 3, 1], "dimType": "NHWC"}, layout="NC4HW4", after="NCHW", name="Reshape_packed", source="CAFFE")
op("Reshape", [floats(2, 3, 4), Const(i32(0, -1))], "Reshape", {"dims": []}, name="Reshape_keeps", source="ONNX", default="NCHW")
op("Flatten", [floats(2, 3, 4, 5)], "Flatten", {"axis": 2, "endAxis": 0}, name="Flatten_two")
op("ExpandDims", [floats(2, 3), Const(i32(1))], "ExpandDims", {})
op("Squeeze", [floats(2, 1, 3, 1)], "SqueezeParam", {"squeezeDims": []})
op("Pack", [floats(2, 3), floats(2, 3)], "PackParam", {"axis": 1})
op("Unpack", [floats(2, 3, 4)], "Axis", {"axis": 1}, outputs=3)
op("Slice", [floats(2, 9, 3, 1)], "Slice", {"axis": 1, "slicePoints": [2, 5], "sourceType": "CAFFE"}, outputs=3, name="Slice_caffe")
op("Slice", [floats(2, 9, 3)], "Slice", {"axis": 1, "slicePoints": [2, -1, 3], "sourceType": "TENSORFLOW"}, outputs=3, name="Slice_lengths")
op("Slice", [floats(2, 9, 3)], "Slice", {"axis": -2, "slicePoints": [3], "sourceType": "TENSORFLOW"}, outputs=3, name="Slice_parts")
op("Slice", [floats(2, 9, 3)], "Slice", {"axis": 1, "slicePoints": [3], "sourceType": "TORCH"}, outputs=3, name="Slice_torch")
for index, (begin, end, stride, masks) in enumerate([
        ((1, 0, 2), (3, 5, 6), (1, 2, 3), {}), ((1, 0, 2), (3, 5, 6), (1, 1, 1), dict(beginMask=5, endMask=2)),
        ((1, 2, 3), (2, 3, 4), (1, 1, 1), dict(shrinkAxisMask=5)), ((0, 1), (0, 3), (1, 1), dict(ellipsisMask=1))]):
    op("StridedSlice", [floats(4, 5, 6), Const(i32(*begin)), Const(i32(*end)), Const(i32(*stride))], "StridedSliceParam", masks, name=f"StridedSlice_{index}")
op("SliceTf", [floats(4, 5, 6), Const(i32(1, 0, 2)), Const(i32(2, -1, 3))])
# One image, square blocks and no padding: MNN mixes up the others, or leaves memory as it finds it.
op("SpaceToBatchND", [floats(1, 4, 4, 6), Const(i32(2, 2)), Const(np.array([[0, 0], [0, 0]], np.int32))], layout="NC4HW4", after="NCHW")
op("SpaceToBatchND", [floats(1, 4, 6, 4), Const(i32(2, 2)), Const(np.array([[0, 0], [0, 0]], np.int32))], layout="NHWC", name="SpaceToBatchND_last")
op("BatchToSpaceND", [floats(4, 4, 3, 3), Const(i32(2, 2)), Const(np.array([[0, 0], [0, 0]], np.int32))], layout="NC4HW4", after="NCHW")
op("DepthToSpace", [floats(2, 3, 4, 12)], "DepthSpaceParam", {"blockSize": 2}, layout="NHWC")
op("SpaceToDepth", [floats(2, 4, 6, 3)], "DepthSpaceParam", {"blockSize": 2}, layout="NHWC")
op("Segment", [floats(5, 2), Const(i32(0, 0, 1, 2, 2))])
op("MatrixBandPart", [floats(2, 5, 6), Const(i32(1).reshape(())), Const(i32(2).reshape(()))])
op("LinSpace", [Const(np.float32(1).reshape(())), Const(np.float32(4).reshape(())), Const(i32(7).reshape(()))])
op("SetDiff1D", [i32(1, 5, 2, 8, 5), i32(5, 9)])
op("UnravelIndex", [i32(22, 41, 7), Const(i32(7, 6))])
op("CumProd", [floats(3, 4), Const(i32(1))], "Axis", {"axis": 1})
op("Histogram", [random.random(60).astype(np.float32) * 10], "ArgMax", {"outMaxVal": 8, "topK": 9, "axis": 0, "softmaxThreshold": 1})
op("ArgMax", [floats(1, 6, 1, 1)], "ArgMax", {"outMaxVal": 0, "topK": 1, "axis": 1}, layout="NC4HW4", source="CAFFE", after="NCHW")
op("ArgMin", [floats(2, 6)], "ArgMax", {"axis": 1})
op("TopKV2", [floats(3, 9), Const(i32(4).reshape(()))], "TopKV2", {}, outputs=2)
op("OneHot", [i32(0, 2, 3), Const(i32(4).reshape(())), Const(np.float32(2).reshape(())), Const(np.float32(-1).reshape(()))], "OneHotParam", {"axis": -1})
for mode in ("CONSTANT", "REFLECT", "SYMMETRIC", "EDGE"):
    op("Padding", [floats(4, 5), Const(np.array([[1, 2], [3, 0]], np.int32))], "PadParam", {"mode": mode}, name=f"Padding_{mode}")
op("Where", [np.array([[0, 1, 1], [1, 0, 1]], np.int32)], "Extra", {"type": "", "engine": "", "attr": []})
op("Shape", [floats(1, 5, 6, 7)], layout="NC4HW4", name="Shape_packed")
op("Size", [floats(2, 3)])
op("Rank", [floats(2, 3)])
op("Reverse", [floats(3, 4), Const(i32(1))])
op("RandomUniform", [Const(i32(2, 3))], "RandomUniform", {"low": 0.0, "high": 1.0})
for reduction in ("SUM", "MEAN", "MAXIMUM", "MINIMUM", "PROD"):
    op("Reduction", [floats(3, 4, 5)], "ReductionParam", {"operation": reduction, "dim": [0, 2], "keepDims": reduction == "SUM"}, name=f"Reduction_{reduction}")
for unary in range(35):
    if unary in (27,):
        continue
    op("UnaryOp", [np.abs(floats(3, 17)) * 0.4 + (1.1 if unary == 18 else 0.05)], "UnaryOp", {"opType": [
        "ABS", "NEG", "FLOOR", "CEIL", "SQUARE", "SQRT", "RSQRT", "EXP", "LOG", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "RECIPROCAL", "LOG1P", "BNLL",
        "ACOSH", "SINH", "ASINH", "ATANH", "SIGN", "ROUND", "COSH", "ERF", "ERFC", "ERFINV", "EXPM1", "SIGMOID", "TANH", "HARDSWISH", "GELU", "GELU_STANDARD",
        "SILU"][unary]}, name=f"UnaryOp_{unary}")
op("UnaryOp", [random.uniform(-0.95, 0.95, (3, 17)).astype(np.float32)], "UnaryOp", {"opType": "ERFINV"}, name="UnaryOp_27")
op("UnaryOp", [np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4], np.float32)], "UnaryOp", {"opType": "ROUND"}, name="UnaryOp_ties")
for binary in ["ADD", "SUB", "MUL", "POW", "REALDIV", "MINIMUM", "MAXIMUM", "GREATER", "GREATER_EQUAL", "FLOORDIV", "SquaredDifference", "EQUAL", "LESS_EQUAL",
               "MOD", "ATAN2", "NOTEQUAL"]:
    op("BinaryOp", [np.abs(floats(4, 5)) + 0.1, np.abs(floats(5)) + 0.1], "BinaryOp", {"opType": binary}, name=f"BinaryOp_{binary}")
for binary in ["ADD", "MUL", "FLOORDIV", "EQUAL", "MOD", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "LOGICALOR", "LEFTSHIFT", "RIGHTSHIFT"]:
    op("BinaryOp", [random.integers(0, 9, (4, 5)).astype(np.int32), random.integers(1, 5, 5).astype(np.int32)], "BinaryOp", {"opType": binary, "T": "DT_INT32"},
       name=f"BinaryOp_{binary}_int")
op("BinaryOp", [floats(4, 5), floats(5)], "BinaryOp", {"opType": "ADD", "activationType": 1}, name="BinaryOp_activated")
op("FloatToInt8", [floats(1, 4, 5, 6) * 2], "QuantizedFloatParam", {"tensorScale": [20.0], "zeroPoint": 3, "weight": [], "bias": [], "scale": []}, layout="NC4HW4",
   then=[("Int8ToFloat", "QuantizedFloatParam", {"tensorScale": [0.05], "zeroPoint": 3, "weight": [], "bias": [], "scale": []})], after="NCHW")


def integers(*shape):
    return random.integers(-127, 128, shape).astype(np.int8)


quantized = {"nbits": 8, "zeroPoint": 0, "outputZeroPoint": 0, "clampMin": -128, "clampMax": 127}
for kind, weights, outputs, fields in [("Convolution", integers(6, 5, 3, 3), 6, {"padX": 1, "padY": 1, "relu": True}),
                                       ("ConvolutionDepthwise", integers(5, 1, 3, 3), 5, {"group": 5, "outputCount": 5})]:
    op(kind, [floats(*IMAGE)], "Convolution2D", {"common": common(**fields), "bias": floats(outputs).tolist(), "symmetricQuan": quantized, "quanParameter": {
       "buffer": weights.reshape(-1).tolist(), "alpha": (np.abs(floats(outputs)) * 0.002 + 0.001).tolist(), "type": 4, "quantScale": 1.0, "aMin": -127}},
       layout="NC4HW4", after="NCHW", name=f"{kind}_bytes", described=[(0.03, 3.0), (0.05, -5.0)])
# Bytes between layers, as in old files: a factor turns a sum into a byte, and the bias includes the zero points.
def scaled(scale, zero, clamp=(-128, 127)):
    return "QuantizedFloatParam", {"tensorScale": [scale], "zeroPoint": zero, "clampMin": clamp[0], "clampMax": clamp[1], "weight": [], "bias": [], "scale": []}


for kind, weights, outputs, fields in [("ConvInt8", integers(6, 5, 3, 3), 6, {}), ("DepthwiseConvInt8", integers(5, 1, 3, 3), 5, {"group": 5, "outputCount": 5})]:
    for name, zeros, more, quan in [("", (0, 0), {"padX": 1, "padY": 1}, {}), ("_zeros", (7, -9), {"padX": 2, "strideY": 2}, {}),
                                    ("_relu", (0, -20), {"relu": True}, {"clampMax": 90}), ("_relu6", (3, 0), {"relu6": True, "padY": 1}, {}),
                                    ("_clamp", (-4, 5), {"dilateX": 2}, {"clampMin": -60, "clampMax": 50})]:
        op(kind, [floats(*IMAGE) * 2], "Convolution2D", {"common": common(**fields, **more), "symmetricQuan": quantized | {
           "weight": weights.reshape(-1).tolist(), "bias": random.integers(-3000, 3000, outputs).tolist(), "scale": (random.random(outputs) * 0.004 + 0.001).tolist(),
           "zeroPoint": zeros[0], "outputZeroPoint": zeros[1]} | quan}, layout="NC4HW4", name=kind + name, before=[("FloatToInt8", *scaled(20.0, zeros[0]))],
           then=[("Int8ToFloat", *scaled(0.05, zeros[1]))], after="NCHW", step=0.05)

# Operators of language models. The state that the engine keeps between calls is empty here, as in a first call.
c4 = ("NC4HW4", "NC4HW4", "NCHW", "NCHW")
for name, fields in [("", {}), ("_part", {"rope_cut_head_dim": 4}), ("_norms", {"q_norm": {"axis": [-1], "epsilon": 1e-5, "gamma": floats(8).tolist(), "useRMSNorm": True},
                      "k_norm": {"axis": [-1], "epsilon": 1e-5, "gamma": floats(8).tolist(), "beta": floats(8).tolist()}})]:
    columns = fields.get("rope_cut_head_dim", 8)
    op("RoPE", [floats(5, 32, 1, 1), floats(5, 16, 1, 1), floats(1, 5, 1, columns), floats(1, 5, 1, columns)], "RoPEParam",
       {"num_head": 4, "kv_num_head": 2, "head_dim": 8} | fields, layout=c4, outputs=2, name="RoPE" + name)
for name, shared, inputs, fields in [("causal", 4, [], {}), ("mask", 2, [floats(1, 1, 6, 6)], {}), ("one_number", 4, [np.zeros((), np.float32)], {}),
                                     ("packed", 2, [], {"output_c4": True}), ("nothing_kept", 1, [floats(1, 1, 6, 6)], {"kv_cache": False}),
                                     ("sinks", 2, [floats(1, 1, 6, 6), floats(4)], {}), ("sinks_nothing_kept", 4, [floats(1, 1, 6, 6), floats(4)], {"kv_cache": False})]:
    op("Attention", [floats(1, 6, 4, 8), floats(1, 6, shared, 8), floats(1, 6, shared, 8), *inputs], "AttentionParam", fields, name="Attention_" + name,
       after="NCHW" if "output_c4" in fields else None)
heads = {"attn_type": "gated_delta_rule", "num_k_heads": 2, "num_v_heads": 4, "head_k_dim": 4, "head_v_dim": 8}
for name, fields in [("", {}), ("_unit", {"use_qk_l2norm": True})]:
    op("LinearAttention", [floats(1, 48, 7), -np.abs(floats(1, 7, 4)), np.abs(floats(1, 7, 4)) / 3, Const(floats(48, 1, 4))], "LinearAttentionParam", heads | fields,
       name="LinearAttention" + name)
    op("LinearAttention", [floats(7, 48, 1, 1), -np.abs(floats(7, 4, 1, 1)), np.abs(floats(7, 4, 1, 1)) / 3, Const(floats(48, 1, 4))], "LinearAttentionParam",
       heads | fields, name="LinearAttention_packed" + name, layout=("NC4HW4", "NC4HW4", "NC4HW4", "NCHW"), after="NCHW")
op("LinearAttention", [floats(2, 24, 7), floats(2, 7, 1), floats(2, 7, 1), Const(floats(8, 1, 3))], "LinearAttentionParam",
   {"attn_type": "short_conv", "num_k_heads": 1, "num_v_heads": 1, "head_k_dim": 8, "head_v_dim": 8}, name="LinearAttention_short")
op("Svd", [floats(6, 6)], outputs=3)
for kind in ["MAXPOOL", "AVEPOOL"]:
    # MNN's own gradient of the largest is right without padding and where windows fit.
    for name, kernel, stride, pad, size, more in [("", 2, 2, 0, 8, {}), ("_valid", 3, 2, 0, 9, {"padType": "VALID"}), ("_global", 1, 1, 0, 4, {"isGlobal": True}),
                                                  ("_overlap", 3, 2, 0, 8, {}), ("_pad", 3, 1, 1, 7, {}), ("_same", 3, 2, 0, 8, {"padType": "SAME"})]:
        if kind == "MAXPOOL" and name in ("_overlap", "_pad", "_same"):
            continue
        field = {"type": kind, "kernelX": kernel, "kernelY": kernel, "strideX": stride, "strideY": stride, "padX": pad, "padY": pad, "padType": "CAFFE"} | more
        places = 1 if "isGlobal" in more else -(-size // stride) if name == "_same" else -(-(size + 2 * pad - kernel) // stride) + 1
        image = floats(2, 3, size, size)
        window = size if "isGlobal" in more else kernel
        largest = np.array([[[[plane[h * stride:h * stride + window, w * stride:w * stride + window].max() for w in range(places)] for h in range(places)]
                             for plane in planes] for planes in image], np.float32) if kind == "MAXPOOL" else floats(2, 3, places, places)
        op("PoolGrad", [image, largest, floats(2, 3, places, places)], "Pool", field, name=f"PoolGrad_{kind}{name}", layout=("NC4HW4",) * 3, after="NCHW")
for source, channels, targets in [("RGB", 3, ["BGR", "GRAY", "RGBA", "YCrCb", "YUV", "XYZ"]), ("BGR", 3, ["RGB", "GRAY", "BGRA", "YCrCb", "YUV", "XYZ"]),
                                  ("RGBA", 4, ["RGB", "BGR", "GRAY", "BGRA"]), ("BGRA", 4, ["RGB", "BGR", "GRAY", "RGBA"]), ("GRAY", 1, ["RGB", "BGRA"])]:
    for target in targets:
        for kind in ["DT_UINT8", *(["DT_FLOAT"] if target[0] in "RBG" else [])]:
            more = {"YCrCb": 3, "YUV": 3, "XYZ": 3, "GRAY": 1}.get(target, len(target))
            sizes = [(7, 6), *([(5, 4), (9, 6), (8, 9)] if (source, target) in [("RGB", "BGR"), ("RGB", "GRAY")] else [])]
            for height, width in sizes:
                op("ImageProcess", [random.integers(0, 256, (1, 7, 6, channels)).astype(np.uint8)], "ImageProcessParam",
                   {"sourceFormat": source, "destFormat": target, "shape": [1, more, height, width], "outputType": kind, "mean": [1.0, 2.0, 3.0, 4.0],
                    "normal": [0.5, 0.25, 0.125, 2.0], "transform": [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0], "wrap": "ZERO" if width == 9 else "CLAMP_TO_EDGE"},
                   layout="NHWC", name=f"ImageProcess_{source}_{target}_{kind}_{height}x{width}")
op("ImageProcess", [random.integers(0, 256, (1, 7, 6, 3)).astype(np.uint8)], "ImageProcessParam",
   {"sourceFormat": "RGB", "destFormat": "BGR", "shape": [1, 4, 7, 6], "outputType": "DT_FLOAT", "mean": [1.0, 2.0, 3.0, 4.0], "normal": [0.5, 0.25, 0.125, 2.0],
    "transform": [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0]}, layout="NHWC", name="ImageProcess_four")

# Mixtures of experts: each a matrix of its own in a subgraph.


def expert(name, inner, outer):
    graph = {"name": name, "inputs": [0], "outputs": [4], "tensors": ["x", "w", "h", "u", "y"]}
    weights = [{"type": "Const", "name": n, "outputIndexes": [i], "main_type": "Blob", "main": blob(w, "NCHW")} for n, i, w in [("w", 1, inner), ("u", 3, outer)]]
    product = {"type": "MatMul", "main_type": "MatMul", "main": {"T": "DT_FLOAT", "transposeA": False, "transposeB": False}}
    nodes = [{"type": "Input", "name": "x", "outputIndexes": [0], "main_type": "Input", "main": {"dims": [-1, len(inner)], "dtype": "DT_FLOAT", "dformat": "NCHW"}},
             *weights, product | {"name": "h", "inputIndexes": [0, 1], "outputIndexes": [2]}, product | {"name": "y", "inputIndexes": [2, 3], "outputIndexes": [4]}]
    return graph | {"nodes": [{"defaultDimentionFormat": "NHWC"} | one for one in nodes]}


def experts(count, chosen, layer):
    return {"type": "MoE", "engine": "MNN", "attr": [{"key": key, "i": value} for key, value in [("layer_id", layer), ("num_experts", count), ("top_k", chosen)]]}


for name, length, chosen in [("", 5, [[0, 2], [2, 3], [0, 3], [3, 2], [2, 0]]), ("_step", 1, [[3, 1]])]:
    op("MoE", [floats(length, 6), np.abs(floats(1, length, 2)), np.array([chosen], np.int32)], "Extra", experts(4, 2, 7), name="MoE" + name,
       graphs=[expert(f"/expert/7_{i}", floats(6, 8), floats(8, 6)) for i in range(4)])
op("LayerNorm", [floats(5, 16, 1, 1), floats(5, 16, 1, 1)], "LayerNorm", {"axis": [-1], "epsilon": 1e-5, "gamma": floats(16).tolist(), "beta": [0.0] * 16,
   "useRMSNorm": True}, outputs=2,
   layout=("NC4HW4", "NC4HW4"), default="NC4HW4", after="NCHW", name="LayerNorm_sum")
image_bytes = random.integers(0, 256, (4, 16)).astype(np.uint8)  # MNN repeats the first elements behind the last eight
op("Dequantize", [image_bytes], "Dequantize", {"inputQuantizedParam": {"zeroPoint": 113, "scale": 0.04}, "modelFormat": "TFLITE", "type": "DT_QUINT8"}, name="Dequantize_tflite")
for mode in ["MIN_COMBINED", "MIN_FIRST", "SCALED"]:
    op("Dequantize", [image_bytes, Const(np.float32([-1.3])), Const(np.float32([4.1]))], "Dequantize", {"inputQuantizedParam": {}, "mode": mode, "type": "DT_QUINT8"},
       name="Dequantize_" + mode)

for name, fields in [("", {}), ("_before", {"preNmsTopN": 20, "minSize": 10})]:
    op("Proposal", [np.abs(floats(1, 12, 4, 5)), floats(1, 24, 4, 5) / 3, np.float32([[60, 80, 1]])], "Proposal",
       {"featStride": 16, "baseSize": 16, "preNmsTopN": 0, "afterNmsTopN": 9, "nmsThreshold": 0.5, "minSize": 4, "ratios": blob(np.float32([0.5, 1, 2]), "NCHW"),
        "scales": blob(np.float32([1, 2]), "NCHW")} | fields, outputs=1, layout=("NC4HW4", "NC4HW4", "NCHW"), after="NCHW", name="Proposal" + name)

for name, image, gradient, fields in [("", (2, 3, 9, 8), (2, 6, 7, 6), {}), ("_strides", (2, 3, 9, 8), (2, 6, 4, 6), {"strideY": 2, "padY": 1, "dilateX": 2, "padX": 1}),
                                      ("_same", (1, 3, 9, 8), (1, 6, 5, 4), {"strideY": 2, "strideX": 2, "padMode": "SAME"}),
                                      ("_channels", (2, 6, 9, 8), (2, 6, 5, 8), {"strideY": 2, "padY": 1, "padX": 1, "group": 6})]:
    op("Conv2DBackPropFilter", [floats(*image), floats(*gradient)], "Convolution2D", {"common": common(**{"inputCount": image[1]} | fields)}, name="Conv2DBackPropFilter" + name,
       layout=("NC4HW4", "NC4HW4"))


def add_json_cases(corpus, folder, failures):
    for case in JSON_CASES:
        model, feeds, outputs = json_model(case)
        source, target = folder / "one.json", folder / f"json_{case['name']}.mnn"
        source.write_text(json.dumps(model))
        if case["kind"] == "RandomUniform":
            continue
        step = case["described"][-1][0] if case["described"] else case["step"]
        if not convert(source, target, "JSON") or not corpus.add(target.stem, target, feeds, outputs, step=step):
            failures.append(target.stem)


# Networks with weights in every packed form.

def onnx_model(nodes, shape, weights, opset=13):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def networks():
    node = helper.make_node
    yield "conv", onnx_model([node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])], [1, 16, 9, 8], {"w": floats(8, 16, 3, 3), "b": floats(8)})
    yield "pointwise", onnx_model([node("Conv", ["x", "w"], ["y"])], [1, 64, 5, 6], {"w": floats(12, 64, 1, 1)})
    yield "groups", onnx_model([node("Conv", ["x", "w", "b"], ["y"], group=2, strides=[2, 1])], [1, 8, 9, 8], {"w": floats(6, 4, 3, 3), "b": floats(6)})
    yield "depthwise", onnx_model([node("Conv", ["x", "w", "b"], ["y"], group=8, dilations=[2, 1])], [2, 8, 9, 8], {"w": floats(8, 1, 3, 3), "b": floats(8)})
    yield "transposed", onnx_model([node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2], pads=[1, 0, 1, 0], output_padding=[1, 0])], [1, 8, 5, 6],
                                   {"w": floats(8, 6, 3, 3), "b": floats(6)})
    yield "transposed_groups", onnx_model([node("ConvTranspose", ["x", "w"], ["y"], group=2)], [1, 8, 5, 6], {"w": floats(8, 3, 3, 2)})
    yield "one_dimension", onnx_model([node("Conv", ["x", "w", "b"], ["y"], pads=[2, 1])], [2, 8, 15], {"w": floats(6, 8, 4), "b": floats(6)})
    yield "product", onnx_model([node("MatMul", ["x", "w"], ["z"]), node("Add", ["z", "b"], ["y"])], [2, 3, 64], {"w": floats(64, 10), "b": floats(10)})
    yield "gemm", onnx_model([node("Gemm", ["x", "w", "b"], ["y"], transB=1)], [3, 64], {"w": floats(10, 64), "b": floats(10)})
    yield "lstm", onnx_model([node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=8, direction="bidirectional")], [6, 2, 5],
                             {"w": floats(2, 32, 5), "r": floats(2, 32, 8) / 3, "b": floats(2, 64)})
    yield "gru", onnx_model([node("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=8, linear_before_reset=1)], [6, 2, 5],
                            {"w": floats(1, 24, 5), "r": floats(1, 24, 8) / 3, "b": floats(1, 48)})
    yield "lstm_states", onnx_model([node("LSTM", ["x", "w", "r", "b", "", "h0", "c0"], ["y", "h", "c"], hidden_size=8)], [6, 1, 5],
                                    {"w": floats(1, 32, 5), "r": floats(1, 32, 8) / 3, "b": floats(1, 64), "h0": floats(1, 1, 8), "c0": floats(1, 1, 8)})
    yield "gru_reset_first", onnx_model([node("GRU", ["x", "w", "r", "b", "", "h0"], ["y", "h"], hidden_size=8)], [6, 2, 5],
                                        {"w": floats(1, 24, 5), "r": floats(1, 24, 8) / 3, "b": floats(1, 48), "h0": floats(1, 2, 8)})
    yield "gru_both", onnx_model([node("GRU", ["x", "w", "r", "b"], ["y", "h"], hidden_size=8, linear_before_reset=1, direction="bidirectional")], [6, 2, 5],
                                 {"w": floats(2, 24, 5), "r": floats(2, 24, 8) / 3, "b": floats(2, 48)})
    yield "rnn", onnx_model([node("RNN", ["x", "w", "r", "b"], ["y", "h"], hidden_size=8)], [6, 2, 5], {"w": floats(1, 8, 5), "r": floats(1, 8, 8) / 3, "b": floats(1, 16)})
    yield "sequence_at", onnx_model([node("SplitToSequence", ["x", "n"], ["s"], axis=1), node("SequenceAt", ["s", "i"], ["y"])], [2, 6, 3],
                                    {"n": np.array([1, 3, 2], np.int64), "i": np.array(1, np.int64)})
    yield "sequence_insert", onnx_model([node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("Relu", ["x"], ["r"]), node("ReduceSum", ["r", "a"], ["v"], keepdims=0),
                                         node("SequenceInsert", ["s", "v", "i"], ["t"]), node("SequenceAt", ["t", "i"], ["y"])], [4, 3],
                                        {"i": np.array(2, np.int64), "a": np.array([0], np.int64)})
    yield "sequence_length", onnx_model([node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("SequenceLength", ["s"], ["l"]), node("Cast", ["l"], ["y"], to=1)], [4, 3], {})
    yield "norms", onnx_model([node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1)], [2, 5, 24], {"g": floats(24), "b": floats(24)}, 17)


FORMS = {"plain": (), "half": ("--fp16",), "w8": ("--weightQuantBits", "8", "--weightQuantAsymmetric", "0"), "w8a": ("--weightQuantBits", "8", "--weightQuantAsymmetric", "1"),
         "w4": ("--weightQuantBits", "4", "--weightQuantAsymmetric", "0"), "w4a": ("--weightQuantBits", "4"), "w4b": ("--weightQuantBits", "4", "--weightQuantBlock", "32"),
         "w8b": ("--weightQuantBits", "8", "--weightQuantBlock", "32"), "w3": ("--weightQuantBits", "3"), "outside": ("--saveExternalData",),
         "outside_w8": ("--saveExternalData", "--weightQuantBits", "8")}


def add_networks(corpus, folder, failures):
    for name, model in networks():
        source = folder / "one.onnx"
        onnx.save(model, source)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        for form, options in FORMS.items():
            target = folder / f"{name}_{form}.mnn"
            if name.startswith(("lstm", "gru", "rnn", "norms")) and form not in ("plain", "half", "w8") or (name.startswith(("sequence", "resize")) and form != "plain"):
                continue
            if not convert(source, target, "ONNX", ("--keepInputFormat", "1", *options)) or not corpus.add(target.stem, target, [("x", floats(*shape), "NCHW")], ["y"]):
                failures.append(target.stem)


# The onnx package's node cases.

NUMPY_TYPES = {1: np.float32, 2: np.float32, 3: np.int32, 9: np.int32, 10: np.int32, 4: np.uint8}


def read_pb(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def add_node_cases(corpus, folder, counts):
    data = Path(importlib.util.find_spec("onnx").origin).parent / "backend" / "test" / "data" / "node"
    if not data.is_dir():
        print("the installed onnx has no node cases; those are left out (onnx 1.21.0 has them)")
        return
    for case in sorted(data.iterdir()):
        target = folder / f"{case.name}.mnn"
        if case.name in NODE_CASES_LEFT_OUT or "dropout" in case.name or "bernoulli" in case.name:
            continue
        if not convert(case / "model.onnx", target, "ONNX", ("--keepInputFormat", "1")):
            counts["not converted by MNN"] += 1
            continue
        try:
            model = onnx.load(case / "model.onnx")
            files = case / "test_data_set_0"
            inputs = [(value.name, read_pb(files / f"input_{i}.pb")) for i, value in enumerate(model.graph.input) if (files / f"input_{i}.pb").exists()]
            expected = [read_pb(files / f"output_{i}.pb") for i in range(len(model.graph.output))]
            kinds = declared_inputs(target)
            feeds = [(name, x.astype(NUMPY_TYPES[kinds[name]]), "NCHW") for name, x in inputs if kinds.get(name) in NUMPY_TYPES]
        except Exception:  # sequences, strings, types that NumPy has not
            counts["of other types"] += 1
            continue
        if len(feeds) != len(kinds):
            counts["of other types"] += 1
        elif not corpus.add(case.name, target, feeds, [value.name for value in model.graph.output], expected, others=True):
            counts["answered otherwise by MNN"] += 1
        else:
            counts["compared"] += 1


def declared_inputs(path):
    """Names and dtypes of a file's inputs."""
    import struct
    data = path.read_bytes()

    def field(table, number, form=None):
        vtable = table - struct.unpack_from("<i", data, table)[0]
        slot = 4 + 2 * number
        at = struct.unpack_from("<H", data, vtable + slot)[0] if slot < struct.unpack_from("<H", data, vtable)[0] else 0
        if form:
            return struct.unpack_from("<" + form, data, table + at)[0] if at else None
        return table + at + struct.unpack_from("<I", data, table + at)[0] if at else None

    def items(vector):
        return [vector + 4 + 4 * i for i in range(struct.unpack_from("<I", data, vector)[0])]

    def follow(at):
        return at + struct.unpack_from("<I", data, at)[0]

    root = struct.unpack_from("<I", data, 0)[0]
    names = [data[follow(at) + 4:][:struct.unpack_from("<I", data, follow(at))[0]].decode() for at in items(field(root, 7))]
    inputs = {}
    for at in items(field(root, 3)):
        table = follow(at)
        if field(table, 5, "i") == 34:
            tensor = struct.unpack_from("<i", data, field(table, 4) + 4)[0]
            inputs[names[tensor]] = field(field(table, 2), 1, "i") or 1
    return inputs


def covered(folder, corpus):
    """Operators of the models that were compared, as `minnow inspect` would have to name them: by their numbers in the file."""
    import struct
    seen = set()
    for row in corpus.rows:
        data = (corpus.folder / "mnn" / row["name"] / "model.mnn").read_bytes()

        def table_field(table, number):
            vtable = table - struct.unpack_from("<i", data, table)[0]
            slot = 4 + 2 * number
            return struct.unpack_from("<H", data, vtable + slot)[0] if slot < struct.unpack_from("<H", data, vtable)[0] else 0

        def ops_of(owner, number):
            at = table_field(owner, number)
            if not at:
                return
            vector = owner + at + struct.unpack_from("<I", data, owner + at)[0]
            for i in range(struct.unpack_from("<I", data, vector)[0]):
                place = vector + 4 + 4 * i
                yield place + struct.unpack_from("<I", data, place)[0]

        root = struct.unpack_from("<I", data, 0)[0]
        tables = list(ops_of(root, 3)) + [one for graph in ops_of(root, 10) for one in ops_of(graph, 4)]
        for one in tables:
            at = table_field(one, 5)
            seen.add(struct.unpack_from("<i", data, one + at)[0] if at else 0)
    return seen


def rule_numbers():
    import re
    text = (SOURCE / "src/importers/mnn/rules.cpp").read_text()
    text = text[text.index("kRules[]"):text.index("kOtherNames")]
    return {name: int(number) for number, name in re.findall(r"\{(\d+), \"(\w+)\"", text)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        corpus = Corpus(Path(os.environ.get("MINNOW_KEEP_CASES", folder / "corpus")))
        failures, counts = [], Counter()
        add_json_cases(corpus, folder, failures)
        add_networks(corpus, folder, failures)
        add_node_cases(corpus, folder, counts)
        print("node cases: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        if failures:
            print("MNN itself does not run: " + ", ".join(failures))
        failed = corpus.check()
        seen = covered(folder, corpus)
        missing = [name for name, number in rule_numbers().items() if number not in seen and name not in WITHOUT_CASE]
        if missing:
            print("rules without a case: " + ", ".join(missing))
        return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
