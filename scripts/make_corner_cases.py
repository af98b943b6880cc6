#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/conformance/corner_cases.npz: small models at the corners of arithmetic and of shapes, with inputs and expected outputs.

  make_corner_cases.py [--write FILE] [--differences FILE] [--only SUBSTRING]

Needs onnx, onnxruntime and numpy. The cases come from scripts/corner_cases/: each model has one node or a few. Two oracles compute every
case, ONNX Runtime without graph optimizations and the reference evaluator of the onnx package, each in a process of its own, since some inputs
end the process. If both agree, that is the expected output. If they differ, decisions.py says which one follows the specification, or
computes the output itself. A case without a decision is printed and not written.

The file is a zip archive with one array of bytes, a sequence of records: name, model, inputs and outputs, each a count or a length in four
bytes (little endian) followed by its bytes; a tensor is a TensorProto. A case that has to end in an error has 0xffffffff for the number of its outputs.
"""

import argparse
import io
import os
import pickle
import struct
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parent))
from corner_cases import cases, decisions  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ERROR = 0xFFFFFFFF
# numpy has no scalar of these, and ONNX Runtime does not take them from Python.
WIDENED = {
    t
    for n in TensorProto.DataType.keys()
    if n.startswith(("FLOAT8", "FLOAT4", "BFLOAT", "INT4", "UINT4", "INT2", "UINT2"))
    for t in [TensorProto.DataType.Value(n)]
}


def in_children(function, cases):
    """For each case ("value", outputs), ("error", text) or ("died", status), from a process that goes on with the next one after a death."""
    results = []
    while len(results) < len(cases):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            os.dup2(null, 1)
            with os.fdopen(write, "wb") as pipe:
                for case in cases[len(results) :]:
                    try:
                        result = ("value", function(case)) if function is not run_onnxruntime or case.onnxruntime else ("error", "not asked")
                    except BaseException as error:
                        result = ("error", f"{type(error).__name__}: {error}"[:300])
                    pickle.dump(result, pipe)
                    pipe.flush()
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            try:
                while True:
                    results.append(pickle.load(pipe))
            except (EOFError, pickle.UnpicklingError):
                pass
        _, status = os.waitpid(child, 0)
        if len(results) < len(cases):
            results.append(("died", f"status {status}"))
    return results


def run_onnxruntime(case):
    """Types that Python cannot hand over are constants of the model on their way in, and f32 on their way out."""
    model = onnx.load_from_string(case.model)
    graph, feeds = model.graph, {}
    for info, value in zip(list(graph.input), case.inputs):
        if info.type.tensor_type.elem_type in WIDENED:
            graph.initializer.append(numpy_helper.from_array(value, info.name))
            graph.input.remove(info)
        else:
            feeds[info.name] = value
    types = []
    for info in list(graph.output):
        kind = info.type.tensor_type.elem_type
        types.append(helper.tensor_dtype_to_np_dtype(kind))
        if kind in WIDENED:
            graph.node.append(helper.make_node("Cast", [info.name], [info.name + "_wide"], to=TensorProto.FLOAT))
            graph.output.remove(info)
            graph.output.append(helper.make_tensor_value_info(info.name + "_wide", TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(y).astype(t) for y, t in zip(session.run([o.name for o in session.get_outputs()], feeds), types)]


def run_reference(case):
    model = onnx.load_from_string(case.model)
    outputs = ReferenceEvaluator(model).run(None, {info.name: value for info, value in zip(model.graph.input, case.inputs)})
    types = [helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type) for info in model.graph.output]
    results = []
    for y, t in zip(outputs, types):
        y = np.asarray(y)
        if y.dtype.kind in "iu" and np.dtype(t).kind in "iu":
            y = y.astype(t)  # integers wrap around
        if y.dtype != t:
            raise TypeError(f"the reference evaluator gives {y.dtype}, not {t}")
        results.append(y)
    return results


def wide(array):
    return array.astype(np.float64) if array.dtype.kind in "fV" or "float" in array.dtype.name else array


def same(one, two):
    """As tests/conformance/compare.cpp compares."""
    if len(one) != len(two):
        return False
    for a, b in zip(one, two):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        x, y = wide(a), wide(b)
        if x.dtype != np.float64:
            if not np.array_equal(x, y):
                return False
            continue
        relative, absolute = {"float16": (2e-3, 1e-3), "bfloat16": (1e-2, 1e-2), "float32": (1e-3, 1e-5), "float64": (1e-3, 1e-5)}.get(
            a.dtype.name, (0, 0)
        )
        with np.errstate(all="ignore"):
            fits = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= absolute + relative * np.abs(y)))
        if not fits.all():
            return False
    return True


def decided(cases):
    """Return each case with the rule that decided it, its outputs, and the oracles' answers."""
    halves = [decisions.widened(case) for case in cases]
    known = [case for case in halves if case]
    results = [iter(in_children(run, known)) for run in (run_onnxruntime, run_reference)]
    for case, half, runtime, reference in zip(cases, halves, in_children(run_onnxruntime, cases), in_children(run_reference, cases)):
        rule, outputs = decisions.decide(case, runtime, reference, *[next(r) if half else ("none", None) for r in results], same)
        yield case, rule, outputs, runtime, reference


def record(case, outputs):
    def blob(data):
        return struct.pack("<I", len(data)) + data

    def tensors(arrays):
        return struct.pack("<I", len(arrays)) + b"".join(
            blob(numpy_helper.from_array(np.ascontiguousarray(x) if x.ndim else x).SerializeToString()) for x in arrays
        )

    return blob(case.name.encode()) + blob(case.model) + tensors(case.inputs) + (struct.pack("<I", ERROR) if outputs is None else tensors(outputs))


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", default=str(ROOT / "tests" / "conformance" / "corner_cases.npz"))
    parser.add_argument("--differences")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, numpy {np.__version__}")
    records, undecided, counts, report = [], 0, {}, []
    chosen = [case for case in cases.all_cases() if options.only in case.name]
    for case, rule, outputs, runtime, reference in decided(chosen):
        counts[rule] = counts.get(rule, 0) + 1
        if rule not in ("agreed",):
            report.append((case.name, rule, case, runtime, reference, outputs))
        if rule == "undecided":
            undecided += 1
            continue
        records.append(record(case, None if outputs == "error" else outputs))
    for rule, count in sorted(counts.items()):
        print(f"  {count:5} {rule}")
    if options.differences:
        with open(options.differences, "wb") as file:
            pickle.dump(report, file)
    array = io.BytesIO()
    np.save(array, np.frombuffer(b"".join(records), np.uint8))
    with zipfile.ZipFile(options.write, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo("cases.npy", (2000, 1, 1, 0, 0, 0)), array.getvalue(), zipfile.ZIP_DEFLATED, 9)
    print(f"{len(records)} cases in {options.write}, {Path(options.write).stat().st_size} bytes; {undecided} without a decision")
    return 1 if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
