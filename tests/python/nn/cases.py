# SPDX-License-Identifier: Apache-2.0
"""Cases of layers and losses: what makes the layer in torch and in Minnow, and its inputs. scripts/make_layer_answers.py writes torch's answers."""
import math
import zlib

import numpy as np


def noise(tensor, count):
    """Numbers in [-1, 1) with 16 bits: the same in f32 and f64."""
    x = (np.arange(count, dtype=np.uint64) * 104729 + tensor * 7919 + 12345) & 0xffffffff
    for shift, factor in ((16, 0x85ebca6b), (13, 0xc2b2ae35), (16, 1)):
        x = ((x ^ (x >> shift)) * factor) & 0xffffffff
    return (x >> 16).astype(np.float64) / 32768 - 1


def weight_of(name, shape):
    """The value of a parameter or buffer of this name."""
    value = noise(zlib.crc32(name.encode()) % 10007, math.prod(shape)).reshape(shape) * 0.5
    return np.abs(value) + 0.5 if name.endswith("running_var") else value


def value_of(kind, shape, place):
    """An input: its kind, its shape, and which one it is."""
    value = noise(1000 + place, math.prod(shape)).reshape(shape)
    if kind.startswith("classes"):  # classes:10, or classes:10:ignored with some that do not count
        parts = kind.split(":")
        made = ((value + 1) / 2 * int(parts[1])).astype(np.int64)
        return np.where(np.abs(value) < 0.2, int(parts[2]), made) if len(parts) > 2 else made
    if kind.startswith("lengths"):  # lengths:5: from 3 to 5
        return (int(kind.split(":")[1]) - (np.arange(shape[0]) % 3)).astype(np.int64)
    if kind.startswith("mask"):
        return (value > 0.4) & (np.arange(shape[-1]) > 0)
    if kind == "share":  # logarithms of shares along the last axis
        return value - np.log(np.exp(value).sum(-1, keepdims=True))
    if kind == "causal":
        return np.triu(np.ones(shape, bool), 1)
    if kind == "goals":  # shares of classes, axis 1
        return np.exp(value) / np.exp(value).sum(1, keepdims=True)
    return {"noise": value, "far": value * 4, "sign": np.where(value < 0, -1.0, 1.0), "probability": (value + 1) * 0.49 + 0.01, "rate": value + 1.5,
            "goal": (value + 1) * 0.49 + 0.01, "amount": np.floor((value + 1) * 3), "variance": value + 1.5}[kind]


def call(nn, layer, case, inputs, options):
    """layer(x0, x1 ...), or as the case says in "pass"."""
    if "pass" not in case:
        return layer(*inputs, **options)
    return eval(f"layer({case['pass'].format(*[f'x[{i}]' for i in range(len(inputs))])})", {"nn": nn, "layer": layer, "x": inputs})


def digest(array):
    """The shape, some elements, and a sum of all with other weights."""
    flat = np.asarray(array, np.float64).ravel()
    weights = noise(31, flat.size) + 2
    places = np.linspace(0, flat.size - 1, min(flat.size, 8)).astype(int) if flat.size else []
    total = float((flat[np.isfinite(flat)] * weights[np.isfinite(flat)]).sum()) if flat.size else 0.0
    return {"shape": list(np.shape(array)), "some": [float(flat[i]) for i in places], "sum": total, "size": float(np.abs(flat).sum())}


def _case(layer, *inputs, **more):
    return {"layer": layer, "inputs": [(kind, tuple(shape)) for kind, shape in inputs], **more}


def _x(*shape):
    return ("noise", shape)


WEIGHTS = [0.5, 1.0, 1.5, 2.0, 0.25]  # of classes, W in the cases
CASES = [
    _case("nn.Linear(5, 3)", _x(4, 5)), _case("nn.Linear(5, 3, bias=False)", _x(2, 3, 5)), _case("nn.Linear(5, 3)", _x(5)),
    _case("nn.Bilinear(3, 4, 2)", _x(5, 3), _x(5, 4)), _case("nn.Embedding(7, 3)", ("classes:7", (2, 5))),
    _case("nn.Embedding(7, 3, padding_idx=2)", ("classes:7", (9,))), _case("nn.Identity()", _x(2, 3)),
    # convolutions
    _case("nn.Conv1d(3, 4, 3)", _x(2, 3, 9)), _case("nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False)", _x(2, 4, 11)),
    _case("nn.Conv1d(3, 4, 4, padding='same')", _x(2, 3, 9)), _case("nn.Conv1d(2, 2, 3)", _x(2, 7)),
    _case("nn.Conv2d(3, 5, 3, padding=1)", _x(2, 3, 6, 7)), _case("nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0))", _x(2, 3, 8, 7)),
    _case("nn.Conv2d(4, 4, 3, groups=4, padding=1)", _x(2, 4, 5, 5)), _case("nn.Conv2d(4, 8, 1)", _x(1, 4, 3, 5)),
    _case("nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect')", _x(1, 2, 5, 6)), _case("nn.Conv2d(2, 3, 3, padding=2, padding_mode='circular')", _x(1, 2, 5, 6)),
    _case("nn.Conv2d(2, 3, 4, padding='same', padding_mode='replicate')", _x(1, 2, 5, 6)), _case("nn.Conv2d(2, 3, 3, padding='same', dilation=2)", _x(1, 2, 7, 8)),
    _case("nn.Conv3d(2, 3, 3, padding=1)", _x(1, 2, 4, 5, 4)), _case("nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1), groups=2)", _x(2, 2, 3, 5, 4)),
    _case("nn.ConvTranspose1d(3, 4, 3, stride=2)", _x(2, 3, 5)), _case("nn.ConvTranspose1d(4, 4, 3, stride=3, padding=1, output_padding=2, groups=2)", _x(2, 4, 5)),
    _case("nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)", _x(2, 3, 4, 5)), _case("nn.ConvTranspose2d(2, 3, 3, dilation=2, bias=False)", _x(1, 2, 4, 4)),
    _case("nn.ConvTranspose2d(2, 3, 3, stride=2)", _x(1, 2, 4, 4), call={"output_size": [10, 9]}), _case("nn.ConvTranspose3d(2, 3, 2, stride=2)", _x(1, 2, 3, 2, 3)),
    # pools
    _case("nn.MaxPool1d(2)", _x(2, 3, 9)), _case("nn.MaxPool1d(3, stride=2, padding=1, ceil_mode=True)", _x(2, 3, 8)), _case("nn.MaxPool2d(2)", _x(2, 3, 6, 8)),
    _case("nn.MaxPool2d(3, 2, 1)", _x(2, 3, 7, 8)), _case("nn.MaxPool2d((2, 3), dilation=2)", _x(2, 3, 7, 8)), _case("nn.MaxPool2d(2, return_indices=True)", _x(2, 2, 4, 5)),
    _case("nn.MaxPool2d(3, 2, ceil_mode=True)", _x(1, 2, 8, 8)), _case("nn.MaxPool3d(2)", _x(1, 2, 4, 4, 5)), _case("nn.AvgPool1d(3)", _x(2, 3, 9)),
    _case("nn.AvgPool2d(2)", _x(2, 3, 6, 7)), _case("nn.AvgPool2d(3, 2, 1)", _x(2, 3, 7, 8)), _case("nn.AvgPool2d(3, 2, 1, count_include_pad=False)", _x(2, 3, 7, 8)),
    _case("nn.AvgPool2d(3, 2, 1, ceil_mode=True)", _x(2, 3, 6, 8)), _case("nn.AvgPool2d(2, divisor_override=3)", _x(2, 3, 6, 8)), _case("nn.AvgPool3d(2)", _x(1, 2, 4, 4, 5)),
    _case("nn.AdaptiveAvgPool1d(3)", _x(2, 3, 7)), _case("nn.AdaptiveAvgPool2d(1)", _x(2, 3, 6, 5)), _case("nn.AdaptiveAvgPool2d((3, 4))", _x(2, 3, 7, 6)),
    _case("nn.AdaptiveAvgPool2d((2, None))", _x(2, 3, 6, 5)), _case("nn.AdaptiveAvgPool3d(2)", _x(1, 2, 4, 5, 6)), _case("nn.AdaptiveMaxPool1d(3)", _x(2, 3, 7)),
    _case("nn.AdaptiveMaxPool2d((3, 2))", _x(2, 3, 7, 6)), _case("nn.AdaptiveMaxPool2d(1)", _x(2, 3, 5, 6)), _case("nn.AdaptiveMaxPool3d(2)", _x(1, 2, 4, 5, 6)),
    # normalizations
    _case("nn.BatchNorm1d(4)", _x(6, 4)), _case("nn.BatchNorm1d(4)", _x(3, 4, 5)), _case("nn.BatchNorm1d(4)", _x(3, 4, 5), train=False),
    _case("nn.BatchNorm2d(3)", _x(2, 3, 4, 5)), _case("nn.BatchNorm2d(3, momentum=0.3, eps=1e-3)", _x(2, 3, 4, 5)), _case("nn.BatchNorm2d(3, momentum=None)", _x(2, 3, 4, 5)),
    _case("nn.BatchNorm2d(3, affine=False)", _x(2, 3, 4, 5)), _case("nn.BatchNorm2d(3, track_running_stats=False)", _x(2, 3, 4, 5), train=False),
    _case("nn.BatchNorm2d(3)", _x(2, 3, 4, 5), train=False), _case("nn.BatchNorm3d(3)", _x(2, 3, 2, 3, 2)), _case("nn.LayerNorm(6)", _x(4, 6)),
    _case("nn.LayerNorm((3, 4))", _x(2, 3, 4)), _case("nn.LayerNorm(6, elementwise_affine=False)", _x(4, 6)), _case("nn.LayerNorm(6, eps=0.1, bias=False)", _x(2, 3, 6)),
    _case("nn.RMSNorm(6)", _x(4, 6)), _case("nn.RMSNorm((3, 4), eps=0.01)", _x(2, 3, 4)), _case("nn.GroupNorm(2, 6)", _x(3, 6, 4)),
    _case("nn.GroupNorm(3, 6, affine=False)", _x(2, 6, 3, 4)), _case("nn.InstanceNorm1d(3)", _x(2, 3, 6)), _case("nn.InstanceNorm2d(3, affine=True)", _x(2, 3, 4, 5)),
    _case("nn.InstanceNorm2d(3, track_running_stats=True)", _x(2, 3, 4, 5)), _case("nn.InstanceNorm2d(3, track_running_stats=True)", _x(2, 3, 4, 5), train=False),
    _case("nn.InstanceNorm3d(2)", _x(2, 2, 3, 2, 3)),
    # activations
    *[_case(f"nn.{name}", ("far", (3, 5))) for name in (
        "ReLU()", "ReLU6()", "SELU()", "SiLU()", "Mish()", "Hardsigmoid()", "Hardswish()", "Sigmoid()", "Tanh()", "Softsign()", "LogSigmoid()", "Tanhshrink()", "ELU(0.7)",
        "CELU(1.5)", "LeakyReLU(0.2)", "Hardtanh(-0.5, 2.0)", "Threshold(0.3, -1.5)", "GELU()", "GELU('tanh')", "Softplus()", "Softplus(2.0, 3.0)", "Hardshrink(0.7)",
        "Softshrink(0.7)", "Softmax(1)", "Softmin(0)", "LogSoftmax(-1)", "PReLU()")],
    _case("nn.PReLU(3)", ("far", (2, 3, 4, 2))), _case("nn.GLU(1)", _x(2, 6, 3)),
    # movement
    _case("nn.Flatten()", _x(2, 3, 4)), _case("nn.Flatten(0, 1)", _x(2, 3, 4)), _case("nn.Unflatten(1, (2, 3))", _x(2, 6, 4)), _case("nn.PixelShuffle(2)", _x(2, 8, 3, 4)),
    _case("nn.PixelUnshuffle(2)", _x(2, 2, 6, 4)), _case("nn.Upsample(scale_factor=2)", _x(2, 2, 3, 4)), _case("nn.Upsample(size=(5, 7))", _x(2, 2, 3, 4)),
    _case("nn.Upsample(scale_factor=2, mode='bilinear')", _x(2, 2, 3, 4)), _case("nn.Upsample(size=(5, 7), mode='bilinear', align_corners=True)", _x(2, 2, 3, 4)),
    _case("nn.Upsample(scale_factor=3, mode='linear')", _x(2, 2, 5)), _case("nn.Upsample(scale_factor=2, mode='bicubic')", _x(1, 2, 4, 4)),
    _case("nn.Dropout(0.4)", _x(3, 4), train=False), _case("nn.Dropout2d(0.0)", _x(2, 3, 4, 4)),
    # recurrent layers
    _case("nn.RNN(3, 4)", _x(5, 2, 3)), _case("nn.RNN(3, 4, num_layers=2, nonlinearity='relu', batch_first=True, bidirectional=True)", _x(2, 5, 3)),
    _case("nn.LSTM(3, 4)", _x(5, 2, 3)), _case("nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)", _x(2, 5, 3)), _case("nn.LSTM(3, 4, bias=False)", _x(5, 2, 3)),
    _case("nn.LSTM(3, 4)", _x(5, 3)), _case("nn.LSTM(3, 4)", _x(5, 2, 3), _x(1, 2, 4), _x(1, 2, 4), **{"pass": "{0}, ({1}, {2})"}),
    _case("nn.GRU(3, 4)", _x(5, 2, 3)), _case("nn.GRU(3, 4, num_layers=2, bidirectional=True)", _x(5, 2, 3)), _case("nn.GRU(3, 4, batch_first=True)", _x(2, 5, 3), _x(1, 2, 4)),
    # attention
    _case("nn.MultiheadAttention(6, 2)", _x(5, 3, 6), _x(4, 3, 6), _x(4, 3, 6)), _case("nn.MultiheadAttention(6, 3, batch_first=True)", _x(2, 5, 6), _x(2, 4, 6), _x(2, 4, 6)),
    _case("nn.MultiheadAttention(6, 2, kdim=5, vdim=4, bias=False)", _x(5, 3, 6), _x(4, 3, 5), _x(4, 3, 4), call={"average_attn_weights": False}),
    _case("nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)", _x(5, 3, 6), _x(4, 3, 6), _x(4, 3, 6), call={"key_padding_mask": ("mask", (3, 4))}),
    _case("nn.MultiheadAttention(6, 2)", _x(5, 6), _x(4, 6), _x(4, 6)), _case("nn.MultiheadAttention(6, 2)", _x(5, 3, 6), _x(5, 3, 6), _x(5, 3, 6), call={"attn_mask": ("causal", (5, 5))}),
    _case("nn.MultiheadAttention(6, 2)", _x(5, 3, 6), _x(4, 3, 6), _x(4, 3, 6), call={"attn_mask": ("noise", (6, 5, 4)), "key_padding_mask": ("noise", (3, 4)), "need_weights": False}),
    _case("nn.TransformerEncoderLayer(6, 2, 8, 0.0)", _x(5, 3, 6)), _case("nn.TransformerEncoderLayer(6, 2, 8, 0.0, activation='gelu', norm_first=True, batch_first=True)", _x(3, 5, 6)),
    _case("nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0), 2, nn.LayerNorm(6))", _x(5, 3, 6), call={"mask": ("causal", (5, 5))}),
    _case("nn.TransformerDecoderLayer(6, 2, 8, 0.0)", _x(5, 3, 6), _x(4, 3, 6)), _case("nn.TransformerDecoderLayer(6, 2, 8, 0.0, norm_first=True)", _x(5, 3, 6), _x(4, 3, 6)),
    _case("nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True), 2)", _x(3, 5, 6), _x(3, 4, 6), call={"tgt_mask": ("causal", (5, 5))}),
    # containers
    _case("nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4))", _x(2, 1, 6, 6)),
    _case("nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.LayerNorm(4), nn.GELU()), nn.Linear(4, 2))", _x(3, 4)),
    # losses
    *[_case(f"nn.CrossEntropyLoss({more})", ("far", (6, 5)), (f"classes:5{':-100' * ('ignore' in more or not more)}", (6,))) for more in (
        "", "reduction='sum'", "reduction='none'", "label_smoothing=0.2", "label_smoothing=0.1, reduction='sum'", "label_smoothing=0.3, reduction='none'", "ignore_index=-100")],
    _case("nn.CrossEntropyLoss(ignore_index=2)", ("far", (6, 5)), ("classes:5", (6,))), _case("nn.CrossEntropyLoss(ignore_index=2, label_smoothing=0.2)", ("far", (6, 5)), ("classes:5", (6,))),
    _case("nn.CrossEntropyLoss(label_smoothing=0.1)", ("far", (6, 5)), ("goals", (6, 5))), _case("nn.CrossEntropyLoss()", ("far", (2, 5, 3, 2)), ("classes:5", (2, 3, 2))),
    _case("nn.CrossEntropyLoss()", ("far", (2, 5, 3)), ("goals", (2, 5, 3))), _case("nn.CrossEntropyLoss()", ("far", (5,)), ("classes:5", ())),
    *[_case(f"nn.CrossEntropyLoss({more}WEIGHT)", ("far", (6, 5)), ("classes:5:1", (6,))) for more in ("", "label_smoothing=0.2, ", "ignore_index=1, label_smoothing=0.2, ", "reduction='sum', ")],
    _case("nn.CrossEntropyLoss(WEIGHT)", ("far", (6, 5)), ("goals", (6, 5))), _case("nn.NLLLoss()", ("share", (6, 5)), ("classes:5:-100", (6,))),
    _case("nn.NLLLoss(WEIGHT)", ("share", (6, 5)), ("classes:5", (6,))), _case("nn.NLLLoss(reduction='none')", ("noise", (2, 5, 3)), ("classes:5", (2, 3))),
    *[_case(f"nn.{name}", ("probability", (4, 5)), ("goal", (4, 5))) for name in ("BCELoss()", "BCELoss(reduction='sum')", "BCELoss(WEIGHT)")],
    *[_case(f"nn.{name}", ("far", (4, 5)), ("goal", (4, 5))) for name in ("BCEWithLogitsLoss()", "BCEWithLogitsLoss(reduction='none')", "BCEWithLogitsLoss(pos_WEIGHT)",
                                                                       "MultiLabelSoftMarginLoss()", "MultiLabelSoftMarginLoss(WEIGHT)")],
    *[_case(f"nn.{name}", ("far", (4, 5)), ("noise", (4, 5))) for name in (
        "MSELoss()", "MSELoss(reduction='sum')", "MSELoss(reduction='none')", "L1Loss()", "HuberLoss()", "HuberLoss(delta=0.4)", "SmoothL1Loss()", "SmoothL1Loss(beta=0.5)",
        "SmoothL1Loss(beta=0)", "PoissonNLLLoss()")],
    *[_case(f"nn.{name}", ("share", (4, 5)), ("goals", (4, 5))) for name in ("KLDivLoss(reduction='batchmean')", "KLDivLoss()", "KLDivLoss(reduction='sum')")],
    _case("nn.KLDivLoss(reduction='batchmean', log_target=True)", ("share", (4, 5)), ("share", (4, 5))),
    *[_case(f"nn.{name}", ("noise", (4, 5)), ("noise", (4, 5)), ("variance", shape)) for name in ("GaussianNLLLoss()", "GaussianNLLLoss(full=True, reduction='sum')") for shape in ((4, 5), (4, 1))],
    *[_case(f"nn.PoissonNLLLoss({more})", ("rate", (4, 5)), ("amount", (4, 5))) for more in ("log_input=False", "full=True", "full=True, log_input=False, reduction='sum'")],
    *[_case(f"nn.{name}", ("far", (4, 5)), ("sign", (4, 5))) for name in ("SoftMarginLoss()", "HingeEmbeddingLoss()", "HingeEmbeddingLoss(margin=0.5, reduction='sum')")],
    *[_case(f"nn.{name}", ("noise", (6, 5)), ("classes:5", (6,))) for name in ("MultiMarginLoss()", "MultiMarginLoss(p=2)", "MultiMarginLoss(margin=0.5, WEIGHT)", "MultiMarginLoss(reduction='none')")],
    *[_case(f"nn.{name}", ("noise", (4, 5)), ("noise", (4, 5)), ("noise", (4, 5))) for name in (
        "TripletMarginLoss()", "TripletMarginLoss(margin=0.3, swap=True)", "TripletMarginLoss(p=1)", "TripletMarginLoss(p=3.0, reduction='none')")],
    _case("nn.MarginRankingLoss(margin=0.1)", ("noise", (6,)), ("noise", (6,)), ("sign", (6,))),
    *[_case(f"nn.CosineEmbeddingLoss({more})", ("noise", (6, 4)), ("noise", (6, 4)), ("sign", (6,))) for more in ("", "margin=0.2, reduction='sum'")],
    _case("nn.CosineSimilarity()", ("noise", (3, 4)), ("noise", (3, 4))), _case("nn.PairwiseDistance()", ("noise", (3, 4)), ("noise", (3, 4))),
    # torch's gradient of CTCLoss is right behind a LogSoftmax alone
    *[_case(f"nn.CTCLoss({more})", ("far", (steps, 3, 5)), ("classes:4:1", (3, 4)), (f"lengths:{steps}", (3,)), ("lengths:4", (3,)),
            **{"pass": "nn.functional.log_softmax({0}, 2), {1}, {2}, {3}"}) for steps, more in (
        (9, "blank=4"), (9, "blank=4, reduction='sum'"), (9, "blank=4, reduction='none'"), (4, "blank=4, zero_infinity=True"))],
]
for _one in CASES:
    _one["layer"] = _one["layer"].replace("pos_WEIGHT", "pos_weight=W").replace("WEIGHT", "weight=W")
