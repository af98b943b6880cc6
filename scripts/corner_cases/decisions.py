# SPDX-License-Identifier: Apache-2.0
"""The expected outputs where the oracles differ, by the specification of the operators. docs/results/corner-cases.md lists the rules."""

import fnmatch
import itertools

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

from .case import Case

HALVES = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
F32_MAX = float(np.finfo(np.float32).max)


def in_range(value, dtype):
    """Sums in f32 (those of halves too) overflow."""
    value = np.asarray(value, np.float64)
    if np.dtype(dtype) == np.float64:
        return value
    value = np.where(np.abs(value) > F32_MAX, np.copysign(np.inf, value), value)
    return np.where(np.abs(value) <= 2.0**-150, value * 0, value)


def wide(array):
    return np.asarray(array).astype(np.float64)


# Windows


def window_geometry(shape, attributes):
    """For each dimension the kernel, stride, dilation, padding before and after, and the number of windows."""
    kernel = attributes["kernel_shape"]
    n = len(kernel)
    strides, dilations, pads = attributes.get("strides", [1] * n), attributes.get("dilations", [1] * n), attributes.get("pads", [0] * 2 * n)
    result = []
    for d in range(n):
        size, extent, stride = shape[d], (kernel[d] - 1) * dilations[d] + 1, strides[d]
        mode = attributes.get("auto_pad", "NOTSET")
        if mode.startswith("SAME"):
            count = -(-size // stride)
            total = max(0, (count - 1) * stride + extent - size)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        else:
            before, after = (0, 0) if mode == "VALID" else (pads[d], pads[d + n])
            left = size + before + after - extent
            count = left // stride + 1
            if attributes.get("ceil_mode") and -(-left // stride) + 1 > count and count * stride < size + before:
                count += 1  # a last window has to begin in the image or in its padding before it
        result.append((kernel[d], stride, dilations[d], before, after, count))
    return result


def pooled(case):
    x = case.inputs[0]
    spatial = x.shape[2:]
    attributes = dict(case.attributes)
    if case.op.startswith("Global"):
        attributes["kernel_shape"] = list(spatial)
    geometry = window_geometry(spatial, attributes)
    values, p = wide(x), attributes.get("p", 2)
    y = np.zeros(x.shape[:2] + tuple(g[5] for g in geometry))
    indices = np.zeros(y.shape, np.int64)
    for place in itertools.product(*[range(g[5]) for g in geometry]):
        taps, padded = [], 0
        for tap in itertools.product(*[range(g[0]) for g in geometry]):
            at = [o * g[1] + t * g[2] - g[3] for o, t, g in zip(place, tap, geometry)]
            if all(0 <= a < s for a, s in zip(at, spatial)):
                taps.append(tuple(at))
            if all(a < s + g[4] for a, s, g in zip(at, spatial, geometry)):
                padded += 1
        window = np.stack([values[(slice(None), slice(None)) + at] for at in taps], -1) if taps else np.zeros(x.shape[:2] + (0,))
        if "Max" in case.op:
            best = np.argmax(window, -1)  # of NumPy: NaN is the largest, the first of equals
            result = np.take_along_axis(window, best[..., None], -1)[..., 0]
            order = "F" if attributes.get("storage_order") else "C"
            flat = np.array([np.ravel_multi_index(at, spatial, order=order) for at in taps])
            planes = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) * int(np.prod(spatial))
            indices[(slice(None), slice(None)) + place] = flat[best] + planes
        elif "Average" in case.op:
            count = padded if attributes.get("count_include_pad") else len(taps)
            result = in_range(window.sum(-1), x.dtype) / count
        else:
            result = in_range((np.abs(window) ** p).sum(-1), x.dtype) ** (1 / p)
        y[(slice(None), slice(None)) + place] = result
    outputs = [y.astype(x.dtype)]
    return outputs + [indices] if len(onnx.load_from_string(case.model).graph.output) > 1 else outputs


# Norms


def standardized(rows, epsilon, dtype):
    n = rows.shape[-1]
    mean = in_range(rows.sum(-1, keepdims=True), dtype) / n
    variance = in_range(((rows - mean) ** 2).sum(-1, keepdims=True), dtype) / n
    inverse = 1 / np.sqrt(variance + np.float64(np.float32(epsilon)))
    return (rows - mean) * inverse, mean, inverse


def normalized(case):
    x, dtype = wide(case.inputs[0]), case.inputs[0].dtype
    a = case.attributes
    epsilon, outputs = a.get("epsilon", 1e-5), len(onnx.load_from_string(case.model).graph.output)
    if case.op == "RMSNormalization":
        root = np.sqrt(in_range((x * x).sum(-1, keepdims=True), dtype) / x.shape[-1] + np.float64(np.float32(epsilon)))
        return [(x / root * wide(case.inputs[1])).astype(dtype)]
    if case.op == "LayerNormalization":
        y, mean, inverse = standardized(x, epsilon, dtype)
        y = y * wide(case.inputs[1]) + (wide(case.inputs[2]) if len(case.inputs) > 2 else 0)
        return [y.astype(dtype), mean.astype(np.float32), inverse.astype(np.float32)][:outputs]
    if case.op == "MeanVarianceNormalization":
        axes = tuple(a.get("axes", (0, 2, 3)))
        count = np.prod([x.shape[i] for i in axes])
        mean = in_range(x.sum(axes, keepdims=True), dtype) / count
        variance = in_range(((x - mean) ** 2).sum(axes, keepdims=True), dtype) / count
        return [((x - mean) / (np.sqrt(variance) + 1e-9)).astype(dtype)]
    if case.op == "LpNormalization":
        p, axis = a["p"], a["axis"]
        norm = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
        return [np.where(norm == 0, 0, x / norm).astype(dtype)]
    if case.op == "LRN":
        size = a["size"]
        y = np.zeros_like(x)
        for c in range(x.shape[1]):
            part = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
            y[:, c] = x[:, c] / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * in_range((part * part).sum(1), dtype)) ** a.get("beta", 0.75)
        return [y.astype(dtype)]
    groups = a["num_groups"] if case.op == "GroupNormalization" else x.shape[1]
    y = standardized(x.reshape(x.shape[0], groups, -1), epsilon, dtype)[0].reshape(x.shape)
    along = (1, -1) + (1,) * (x.ndim - 2)
    return [(y * wide(case.inputs[1]).reshape(along) + wide(case.inputs[2]).reshape(along)).astype(dtype)]


# Single elements


def clipped(case):
    """By the operator's function body: an absent bound is none, and comparisons with NaN are false."""
    model = onnx.load_from_string(case.model)
    names = [n for n in model.graph.node[0].input]
    given = dict(zip([i.name for i in model.graph.input], case.inputs))
    y = given[names[0]]
    if len(names) > 1 and names[1]:
        y = np.where(y < given[names[1]], given[names[1]], y)
    if len(names) > 2 and names[2]:
        y = np.where(y > given[names[2]], given[names[2]], y)
    return [y.astype(case.inputs[0].dtype)]


def to_integer(x, dtype):
    """Round toward zero. The specification leaves overflow open: NaN gives 0, others are clamped to 64 bits, signed or unsigned, and wrap."""
    bits = np.dtype(dtype).itemsize * 8
    values = [0 if np.isnan(v) else 2**63 - 1 if v >= 2.0**64 else -(2**63) if v <= -(2**63) else int(v) for v in wide(x).reshape(-1)]
    wrapped = [v & (2**bits - 1) for v in values]
    return np.array(wrapped, np.uint64).astype(f"u{bits // 8}").view(dtype).reshape(x.shape)


def cast(case):
    x, dtype = case.inputs[0], helper.tensor_dtype_to_np_dtype(case.attributes["to"])
    return [x.astype(dtype) if x.dtype.kind in "iub" else to_integer(x, dtype)]


def quantized(case):
    """x / scale in their dtype, rounded to even, and the zero point added before the result is cut to the range; NaN becomes the zero point."""
    x, scale = case.inputs[0], case.inputs[1]
    zero = case.inputs[2] if len(case.inputs) > 2 else np.zeros((), np.uint8)
    info = ml_dtypes.iinfo(zero.dtype)
    q = np.rint(wide((x.astype(np.float32) / scale.astype(np.float32)).astype(scale.dtype))) + wide(zero)
    q = np.where(np.isnan(q), wide(zero), np.clip(q, int(info.min), int(info.max)))
    return [q.astype(np.int64).astype(zero.dtype)]


def prelu(case):
    x, slope = case.inputs
    return [np.where(wide(x) < 0, wide(x) * wide(slope), wide(x)).astype(x.dtype)]


def mean_of(case):
    total = wide(case.inputs[0])
    for x in case.inputs[1:]:
        total = in_range(total + wide(x), x.dtype)
    return [(total / len(case.inputs)).astype(case.inputs[0].dtype)]


# Along an axis


def log_softmax(case):
    x, axis = wide(case.inputs[0]), case.attributes.get("axis", -1)
    if "_old_" in case.name:  # opsets before 13: over all dimensions from the axis on
        x, axis = x.reshape(int(np.prod(x.shape[:axis])), -1), -1
    y = x - x.max(axis, keepdims=True)
    return [(y - np.log(np.exp(y).sum(axis, keepdims=True))).reshape(case.inputs[0].shape).astype(case.inputs[0].dtype)]


def log_sum_exp(case):
    x = wide(case.inputs[0])
    axes = tuple(case.inputs[1].tolist()) if len(case.inputs) > 1 else ()
    if not axes and case.attributes.get("noop_with_empty_axes"):
        return [case.inputs[0]]
    axes = axes or None
    keep = bool(case.attributes.get("keepdims", 1))
    largest = np.fmax.reduce(x, axes, keepdims=True, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, 0)
    y = np.log(np.exp(x - largest).sum(axes, keepdims=True)) + largest
    return [(y if keep else np.squeeze(y, axes)).astype(case.inputs[0].dtype)]


def noop(case):
    """Without axes, and with noop_with_empty_axes, nothing is reduced, but what the operator does to an element remains."""
    x = wide(case.inputs[0])
    square = in_range(x * x, case.inputs[0].dtype)
    y = {
        "ReduceL1": lambda: np.abs(x),
        "ReduceL2": lambda: np.sqrt(square),
        "ReduceSumSquare": lambda: square,
        "ReduceLogSum": lambda: np.log(x),
    }.get(case.op, lambda: x)()
    return [y.astype(case.inputs[0].dtype)]


def integer_mean(case):
    x, axis = case.inputs[0], tuple(case.inputs[1].tolist())
    total = x.astype(object).sum(axis, keepdims=True)
    count = int(np.prod([x.shape[a] for a in axis]))
    return [np.vectorize(lambda v: abs(v) // count * (1 if v > 0 else -1), otypes=[x.dtype])(total)]


def sliced(case):
    """Slice's own clamping: backward, a start lies in [0, size - 1] and an end in [-1, size - 1]."""
    x, outputs = case.inputs[0], []
    for i in range(1, len(case.inputs), 4):
        start, end, axis, step = [int(v[0]) for v in case.inputs[i : i + 4]]
        size = x.shape[axis]
        start, end = start + size if start < 0 else start, end + size if end < 0 else end
        clamp = lambda v, low, high: max(low, min(v, high))
        if step > 0:
            places = list(range(clamp(start, 0, size), clamp(end, 0, size), min(step, 2**40)))
        else:
            places = list(range(clamp(start, 0, size - 1), clamp(end, -1, size - 1), max(step, -(2**40))))
        outputs.append(np.take(x, places, axis))
    return outputs


def one_window(case):
    return [np.ones((1,), np.float32)]


def one_hot(case):
    indices, depth, values = case.inputs
    depth = int(depth.reshape(-1)[0])
    y = np.full(indices.shape + (depth,), values[0])
    for place in np.ndindex(indices.shape):
        i = int(indices[place])
        if -depth <= i < depth:
            y[place + (i % depth,)] = values[1]
    return [y]


def inner(case):
    functions = {
        "MaxPool": pooled,
        "AveragePool": pooled,
        "GlobalMaxPool": pooled,
        "GlobalAveragePool": pooled,
        "LRN": normalized,
        "LogSoftmax": log_softmax,
        "Clip": clipped,
        "PRelu": prelu,
        "Slice": sliced,
    }
    return functions[case.inner.op](case.inner)


ORT, REFERENCE = "onnxruntime", "reference"
# Pattern of names, who is right (an oracle or a function of the case), why. The first that fits decides; "!" before a pattern: also where the
# oracles agree.
DECISIONS = [
    ("!maxpool_nan_*", pooled, "NaN is the largest element of a window, as in NumPy's and PyTorch's maxima; the oracles compare and skip it"),
    ("!globalmaxpool_*", pooled, "as MaxPool"),
    ("!averagepool_nan_*", pooled, "the mean of a window with NaN is NaN"),
    ("!lppool_nan_*", pooled, "the norm of a window with NaN is NaN"),
    ("maxpool_*", pooled, "the formula of the output shape, with dilations in auto_pad; windows that begin in the padding at the end are left out"),
    ("averagepool_*", pooled, "as MaxPool; what lies beyond the padding counts nothing"),
    ("lppool_*", pooled, "as MaxPool"),
    ("globallppool_*", pooled, "no oracle has it"),
    ("!lrn_*", normalized, "sums of windows: a running sum keeps NaN and infinity beyond their window"),
    ("!groupnormalization_*", normalized, "the variance is the mean of squared differences; that of the function body cancels far from zero"),
    ("!instancenormalization_far_*", normalized, "as GroupNormalization"),
    ("layernormalization_*", normalized, "the formula; sums in f32"),
    ("rmsnormalization_*", normalized, "the formula; sums in f32"),
    ("instancenormalization_*", normalized, "the formula; sums in f32"),
    ("meanvariancenormalization_*", normalized, "the formula; sums in f32"),
    ("!lpnormalization_*", normalized, "zeros alone give zeros, which the specification says; a sum of squares that overflows gives none"),
    ("batchnormalization_*", ORT, "channels are folded to a factor and an offset first: NaN where variance and epsilon are 0"),
    ("clip_*", clipped, "the function body: an absent bound is none, and NaN as a bound does not bound"),
    ("!cast_to_[iu]*", cast, "undefined: NaN is 0, the rest is cut to 64 bits and wraps to the width"),
    ("!quantizelinear_*int*", quantized, "undefined for NaN: it becomes the zero point; infinities are cut to the range"),
    ("!quantizelinear_no_zero_point_*", quantized, "as above"),
    ("prelu_*", prelu, "slope * x for x < 0 alone: 0 stays 0 beside an infinite slope"),
    ("mean_*", mean_of, "sums in f32"),
    ("logsoftmax_*", log_softmax, "the largest is taken out, so that nothing overflows and no logarithm of 0 remains"),
    ("reducelogsumexp_*", log_sum_exp, "the largest is taken out"),
    ("reduce*_noop*", noop, "no axes"),
    ("slice_step_*", sliced, "the clamping that the specification describes: backward to INT64_MAX is empty, from INT64_MIN is one element"),
    ("!hannwindow_1_0*", one_window, "1, as in NumPy and PyTorch; the function body divides 0 by 0"),
    ("!hammingwindow_1_0*", one_window, "as above"),
    ("!blackmanwindow_1_0*", one_window, "as above"),
    ("onehot_vector_depth*", one_hot, "no oracle has it"),
    ("onehot_fractions*", ORT, "a depth is cut toward zero"),
    ("!reducemean_*int*", integer_mean, "the mean of the numbers, cut toward zero"),
    ("!between_maxpool_*", inner, "as the operator alone"),
    ("!between_averagepool_*", inner, "as the operator alone"),
    ("between_*", inner, "as the operator alone"),
    ("*_3_0_3_4_*", REFERENCE, "a batch of nothing"),
    ("lstm_*", ORT, "the reference evaluator leaves out lengths and clip"),
    ("gru_*", ORT, "as LSTM"),
    ("rnn_*", ORT, "as LSTM"),
    ("quantized_*", ORT, "infinities are cut to the range"),
    ("nonzero_reducemean*", REFERENCE, "the mean of nothing is NaN"),
    ("conv_batch_norm_inf", ORT, "channels are folded"),
    ("batch_norm_relu_inf", ORT, "channels are folded"),
    ("long_logsoftmax_*", log_softmax, "as LogSoftmax"),
    ("long_*", REFERENCE, "NaN wins"),
    ("reduce*int*", REFERENCE, "integers wrap around"),
    ("reduce[m]*", REFERENCE, "NaN wins, as in NumPy and PyTorch; the mean of nothing is NaN"),
    ("arg*", REFERENCE, "NaN counts as the extreme, as in NumPy and PyTorch"),
    ("hardmax*", REFERENCE, "as ArgMax"),
    ("softmax_old_*", ORT, "the flattened form of opsets before 13"),
    ("softmaxcrossentropyloss_*", ORT, "the largest is taken out"),
    ("zero_sign_relu", ORT, "the sign of a zero is not specified; ONNX Runtime and NumPy's maximum keep -0 or not by their arguments' order"),
    ("sign_*", REFERENCE, "NaN stays NaN, as in ONNX Runtime's f32"),
    ("shrink_*", REFERENCE, "computed in the dtype"),
    ("pow_to_0.5_*", ORT, "C's pow: the root of -infinity is infinite"),
    ("pow_to_*", REFERENCE, "integers wrap around"),
    ("chain_*", REFERENCE, "every operator rounds to its dtype"),
    ("cast_rounding_to_f8*", REFERENCE, "rounded to nearest before the range is looked at"),
    ("cast_to_f8*", REFERENCE, "as above"),
    ("cast_f8*", REFERENCE, "an infinity saturates between 8-bit floats too"),
    ("cast_fractions_to_*int4*", REFERENCE, "cut toward zero, then wrapped, as to wider integers"),
    ("quantize_dequantize*", ORT, "infinities are cut to the range"),
    ("slice_int*", REFERENCE, "the same, which NumPy shares"),
    ("quantizelinear_f8*", REFERENCE, "as above"),
    ("dynamicquantizelinear_*", ORT, "a range of 0 has a scale of 1; NaN is ignored"),
    ("matmulinteger_none*", REFERENCE, "a sum of nothing is 0"),
    ("scatterelements_m*", ORT, "NaN wins, as in ScatterND"),
    ("nonzero_scalar*", REFERENCE, "shape [0, n], which the specification says"),
    ("resize_nearest_align_corners_nearest_modefloor_times_0.6*", ORT, "a tie of f32"),
    ("resize_*_align_corners_*", REFERENCE, "with scales, size * scale takes part unrounded, as in the cases of the standard"),
    ("resize_*_tf_crop_and_resize_*", REFERENCE, "as above; a region also where the size stays"),
    ("resize_*_half_pixel_symmetric_*", REFERENCE, "ties that f32 does not hit"),
    ("resize_*_pytorch_half_pixel_*", ORT, "a length of 1 is the integer one"),
    ("resize_nearest_half_pixel_*", ORT, "a tie of f32"),
    ("resize_nearest_asymmetric_*", ORT, "a tie of f32"),
    ("resize_*int*", REFERENCE, "integers are rounded"),
    ("resize_nearest_nan*", ORT, "infinities stay"),
    ("gridsample_cubic_border_*", ORT, "pixels beyond the border are its pixels, the coordinate stays where it is"),
    ("gridsample_bad_*", REFERENCE, "a place far outside lies outside"),
    ("affinegrid_align1_*", REFERENCE, "a single place is the first, -1"),
    ("dft_nan*", ORT, "every frequency has NaN"),
    ("dft_*", REFERENCE, "rounding"),
]


def widened(case):
    """The same in f32; None if there are no halves, or several nodes, each of which rounds."""
    model = onnx.load_from_string(case.model)
    kinds = [i.type.tensor_type.elem_type for i in list(model.graph.input) + list(model.graph.output)]
    if not HALVES & set(kinds) or len(model.graph.node) > 1 or case.op in ("Cast", "QuantizeLinear", "DequantizeLinear"):
        return None
    for info in list(model.graph.input) + list(model.graph.output):
        if info.type.tensor_type.elem_type in HALVES:
            info.type.tensor_type.elem_type = TensorProto.FLOAT
    inputs = [x.astype(np.float32) if helper.np_dtype_to_tensor_dtype(x.dtype) in HALVES else x for x in case.inputs]
    return Case(case.name, model.SerializeToString(), inputs, case.op, case.attributes, case.onnxruntime)


def narrowed(case, outputs):
    kinds = [o.type.tensor_type.elem_type for o in onnx.load_from_string(case.model).graph.output]
    with np.errstate(all="ignore"):
        return [y.astype(helper.tensor_dtype_to_np_dtype(k)) for y, k in zip(outputs, kinds)]


def decide(case, runtime, reference, wide_runtime, wide_reference, same):
    """The name of the rule that decided, and the outputs ("error" where there have to be none)."""
    if case.error:
        return "error", "error"
    agreed = runtime[0] == "value" and reference[0] == "value" and same(runtime[1], reference[1])
    wide_agreed = wide_runtime[0] == "value" and wide_reference[0] == "value" and same(wide_runtime[1], wide_reference[1])
    for pattern, who, _ in DECISIONS:
        forced = pattern.startswith("!")
        if (agreed and not forced) or (wide_agreed and not forced) or who is None or not fnmatch.fnmatchcase(case.name, pattern.lstrip("!")):
            continue
        if callable(who):
            with np.errstate(all="ignore"):
                return pattern, who(case)
        kind, value = runtime if who == ORT else reference
        if wide_runtime[0] != "none":
            kind, value = wide_runtime if who == ORT else wide_reference
            value = narrowed(case, value) if kind == "value" else value
        return (pattern, value) if kind == "value" else ("undecided", None)
    if wide_agreed:
        return "halves in f32", narrowed(case, wide_runtime[1])
    if agreed:
        return "agreed", runtime[1]
    for name, result in (("halves in f32, onnxruntime alone", wide_runtime), ("halves in f32, reference alone", wide_reference)):
        other = wide_reference if result is wide_runtime else wide_runtime
        if result[0] == "value" and other[0] != "value":
            return name, narrowed(case, result[1])
    if wide_runtime[0] == "none":
        if runtime[0] == "value" and reference[0] != "value":
            return "onnxruntime alone", runtime[1]
        if reference[0] == "value" and runtime[0] != "value":
            return "reference alone", reference[1]
    return "undecided", None
