# SPDX-License-Identifier: Apache-2.0
"""A case, and the values that elementwise operators are tried on."""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

OPSET = 22  # unless an operator came later
f32, f16, f64, bf16 = np.dtype("float32"), np.dtype("float16"), np.dtype("float64"), np.dtype(ml_dtypes.bfloat16)
FLOATS = [f32, f16, f64, bf16]
i8, i16, i32, i64, u8, u16, u32, u64 = [np.dtype(t) for t in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
INTEGERS = [i8, i16, i32, i64, u8, u16, u32, u64]


@dataclass
class Case:
    name: str
    model: bytes
    inputs: list
    op: str
    attributes: dict = field(default_factory=dict)
    onnxruntime: bool = True  # False: it would end the process, or is known not to follow the specification
    error: bool = False  # it has to end in an error
    inner: object = None  # the case that this one has between operators which change nothing


_names = {}


def unique(name):
    count = _names[name] = _names.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count}"


def model_of(nodes, inputs, outputs, opset):
    """A model whose outputs have the dtypes that inference finds, else that of the first input, and no shapes; None if an operator does not
    take such dtypes."""
    infos = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for i, x in enumerate(inputs) if x is not None]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, producer_name="")
    try:
        model = onnx.shape_inference.infer_shapes(model, check_type=True)
    except onnx.shape_inference.InferenceError as error:
        if "typestr" in str(error):
            return None
        raise
    for info in model.graph.output:
        if not info.type.HasField("tensor_type"):
            kind = inputs[2 if nodes[0].op_type == "OneHot" else 0].dtype
            info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(kind)
        info.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model.SerializeToString()


def one(op, inputs, name="", outputs=1, opset=OPSET, onnxruntime=True, error=False, dtype=None, **attributes):
    """A case of one node. inputs: arrays, or None if an optional one is absent. outputs: how many, or names ("" for absent ones)."""
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    names = outputs if isinstance(outputs, list) else [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, ["" if x is None else f"x{i}" for i, x in enumerate(inputs)], names, **attributes)
    first = dtype or next((x.dtype.name for x in inputs if x is not None), "")
    model = model_of([node], inputs, [n for n in names if n], opset)
    if model is None:
        return None
    title = unique("_".join(part for part in (op.lower(), name, first) if part))
    return Case(title, model, [x for x in inputs if x is not None], op, attributes, onnxruntime, error)


def few(name, nodes, inputs, outputs=("y",), opset=OPSET, onnxruntime=True, error=False):
    """A case of several nodes: (operator, inputs, outputs, attributes); the model's inputs are x0, x1, ..."""
    inputs = [np.asarray(x) for x in inputs]
    made = [helper.make_node(op, i.split(), o.split(), **a) for op, i, o, a in nodes]
    model = model_of(made, inputs, list(outputs), opset)
    return model and Case(unique(name), model, inputs, nodes[0][0], {}, onnxruntime, error)


def limits(dtype):
    info = ml_dtypes.finfo(dtype)
    return float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)


def corner_floats(dtype):
    """Values at which elementwise functions go wrong, twice in another order, so that they come by vectors and one by one."""
    largest, smallest, subnormal = limits(dtype)
    values = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        -2.5,
        3,
        -3,
        6,
        -6,
        2,
        -2,
        0.25,
        -0.75,
        10,
        -10,
        20,
        -20,
        88,
        -88,
        89,
        -89,
        100,
        -104,
        150,
        -150,
        700,
        -700,
        710,
        -746,
        1000,
        -1000,
        1e4,
        -1e4,
        6e4,
        -6e4,
        1e6,
        -1e6,
        1e10,
        -1e10,
        1e19,
        -1e19,
        2e19,
        3e38,
        -3e38,
        largest,
        -largest,
        smallest,
        -smallest,
        subnormal,
        -subnormal,
        1e-3,
        -1e-3,
        1e-5,
        1e-8,
        -1e-8,
        1e-20,
        8388607.5,
        -8388608.5,
        4503599627370495.5,
        0.49999997,
        -0.49999997,
        3.1415927,
        -1.5707964,
        0.99999994,
        1.0000001,
        -0.99999994,
    ]
    with np.errstate(all="ignore"):
        row = np.array(values, np.float64).astype(dtype)
        row = (
            np.where(np.abs(row.astype(np.float64)) > largest, np.array(largest, np.float64).astype(dtype) * np.sign(row), row).astype(dtype)
            if dtype == np.float16
            else row
        )
    return np.concatenate([row, row[::-1], row[:5]])


def few_floats(dtype):
    """Fewer, for pairs."""
    largest, smallest, subnormal = limits(dtype)
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1.5, largest, -largest, smallest, subnormal, 100, -7, 1e-3]
    return np.array(values, np.float64).astype(dtype)


def corner_integers(dtype):
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2, info.max // 2 + 1]
    if info.min < 0:
        values += [-1, -2, -3, -5, -7, -10, -100]
    return np.array(values, dtype)
