# SPDX-License-Identifier: Apache-2.0
"""Losses as functions, with torch's names and arguments where torch has them. They are part of minnow.nn.functional."""
from __future__ import annotations

import math
from typing import Any, Sequence

from minnow import _minnow
from minnow._functions import all_suggesting
from minnow._minnow import InvalidArgument, Var
from minnow._typing import VarLike


def op(name: str, *inputs: Any, **attributes: Any) -> Var:
    """An operator of these inputs. Raises InvalidModel (a ValueError) for dtypes and shapes that do not fit."""
    return _minnow.op(name, inputs, attributes)


def dims_of(input: VarLike) -> tuple[int | None, ...]:
    """The shape with None for open dimensions, for functions that need few of them. Raises InvalidArgument (a ValueError) where even the rank is open."""
    x = input if isinstance(input, Var) else Var(input)
    return x.shape if x.dims is None else x.dims


def shape_of(input: VarLike) -> tuple[int, ...]:
    """The shape, which may be that of a value that is not computed yet. Raises InvalidArgument (a ValueError) for open dimensions."""
    x = input if isinstance(input, Var) else Var(input)
    dims = x.dims
    if dims is None or None in dims:
        return x.shape
    return dims  # type: ignore[return-value]


def _var(input: VarLike) -> Var:
    return input if isinstance(input, Var) else Var(input)


def _like(input: VarLike, x: Var) -> Var:
    """In the dtype of x."""
    value = _var(input)
    return value if value.dtype == x.dtype else value.astype(x.dtype)


def _axes(*axes: int) -> Var:
    return Var(list(axes), "int64")


def _sum(x: Var, axis: int, keep: bool = False) -> Var:
    return op("ReduceSum", x, _axes(axis), keepdims=int(keep))


def check_reduction(reduction: str) -> None:
    """Raises InvalidArgument (a ValueError) for another name than those of reductions."""
    if reduction not in ("mean", "sum", "none"):
        raise InvalidArgument(f'a reduction is "mean", "sum" or "none", not "{reduction}"')


def _reduced(losses: Var, reduction: str) -> Var:
    check_reduction(reduction)
    if reduction == "none":
        return losses
    return op("ReduceMean" if reduction == "mean" else "ReduceSum", losses, keepdims=0)


def _larger(x: Var, least: float = 0.0) -> Var:
    """max(x, least)."""
    return op("Relu", x) if least == 0 else op("Max", x, Var(least, x.dtype))


def _where(condition: Var, a: Var, b: Var | float) -> Var:
    return op("Where", condition, a, b if isinstance(b, Var) else Var(b, a.dtype))


def _same_shape(input: Var, target: Var) -> None:
    if input.dims is None or target.dims is None or not target.dims:  # a scalar is a target for all
        return
    # Even shapes that could be broadcast: [n, 1] and [n] would make a loss of n x n differences.
    if len(input.dims) != len(target.dims) or any(None not in (x, t) and x != t for x, t in zip(input.dims, target.dims)):
        raise InvalidArgument(f"the target has the input's shape {list(input.dims)}, it has {list(target.dims)}")


def _pair(input: VarLike, target: VarLike) -> tuple[Var, Var]:
    x = _var(input)
    t = _like(target, x)
    _same_shape(x, t)
    return x, t


def norm(x: Var, p: float, axis: int, keep: bool) -> Var:
    """The p-norm along an axis, whose gradient is 0 where it is 0. Raises InvalidModel (a ValueError) for an axis that there is not."""
    if p == 1:
        return op("ReduceL1", x, _axes(axis), keepdims=int(keep))
    if p == 2:
        squares = _sum(x * x, axis, keep)
        is_zero = op("Equal", squares, Var(0, x.dtype))
        return _where(is_zero, squares, op("Sqrt", _where(is_zero, squares + 1.0, squares)))
    return op("Pow", _sum(op("Pow", op("Abs", x), Var(p, x.dtype)), axis, keep), Var(1 / p, x.dtype))


# ---- Classes

def _classes(input: VarLike, target: VarLike) -> tuple[Var, Var]:
    """Scores [N, C, ...] and targets; one sample [C] becomes a batch of one."""
    x, t = _var(input), _var(target)
    if x.dims is not None and len(x.dims) == 1:
        x, t = op("Unsqueeze", x, _axes(0)), op("Unsqueeze", t, _axes(0))
    if not str(t.dtype).startswith("float"):
        t = t if str(t.dtype) in ("int32", "int64") else t.astype("int64")
    return x, t


def nll_loss(input: VarLike, target: VarLike, weight: VarLike | None = None, ignore_index: int = -100, reduction: str = "mean") -> Var:
    """-input[n, target[n]] of logarithms of shares [N, C, ...] and classes [N, ...], with a weight for each class. Samples of the class ignore_index
    do not count. reduction: "mean" (weighted), "sum" or "none". Raises InvalidModel (a ValueError) for shapes that do not fit."""
    x, t = _classes(input, target)
    made = op("NegativeLogLikelihoodLoss", x, t, *([] if weight is None else [_like(weight, x)]), ignore_index=ignore_index, reduction=reduction)
    return made


def cross_entropy(input: VarLike, target: VarLike, weight: VarLike | None = None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Var:
    """Cross entropy of scores [N, C, ...] before the softmax and classes [N, ...], or shares [N, C, ...]. weight: one for each class.
    label_smoothing: the share of each sample that counts for all classes alike (Szegedy et al. 2015). Raises InvalidModel and InvalidArgument
    (ValueErrors) for shapes and arguments that do not fit.

    >>> float(nn.functional.cross_entropy(minnow.Var([[0.0, 0.0]], "float32"), minnow.Var([1])))
    0.6931471824645996
    """
    if not 0 <= label_smoothing <= 1:
        raise InvalidArgument(f"label_smoothing is between 0 and 1, it is {label_smoothing}")
    x, t = _classes(input, target)
    w = None if weight is None else _like(weight, x)
    if str(t.dtype).startswith("float"):
        return _soft_cross_entropy(x, _like(t, x), w, reduction, label_smoothing)
    given = [] if w is None else [w]
    attributes = {"ignore_index": ignore_index, "reduction": reduction}
    if label_smoothing == 0:
        return op("SoftmaxCrossEntropyLoss", x, t, *given, **attributes)
    hard, shares = _minnow.ops("SoftmaxCrossEntropyLoss", [x, t, *given], 2, attributes)
    counted = op("Not", op("Equal", t, Var(ignore_index, t.dtype)))
    all_classes = -_sum(shares if w is None else shares * _along_classes(w, x), 1)
    losses = _where(counted, all_classes, 0.0)
    if reduction == "mean":
        each = Var(1, x.dtype) if w is None else op("Gather", w, _where(counted, t, 0))
        smooth = op("ReduceSum", losses, keepdims=0) / op("ReduceSum", _where(counted, each + losses * 0.0, 0.0), keepdims=0)
    else:
        smooth = _reduced(losses, reduction)
    return hard * (1 - label_smoothing) + smooth * (label_smoothing / shape_of(x)[1])


def _along_classes(weight: Var, x: Var) -> Var:
    return op("Reshape", weight, _axes(1, -1, *[1] * (len(shape_of(x)) - 2)))


def _soft_cross_entropy(x: Var, target: Var, weight: Var | None, reduction: str, label_smoothing: float) -> Var:
    if target.dims is not None and x.dims is not None and len(target.dims) < len(x.dims):
        raise InvalidArgument(f"targets of floats are shares of the shape of the scores, {list(x.dims)}, they have {list(target.dims)}; classes are integers")
    _same_shape(x, target)
    shape = shape_of(x)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / shape[1]
    shares = op("LogSoftmax", x, axis=1)
    losses = -_sum(shares * target if weight is None else shares * target * _along_classes(weight, x), 1)
    return _reduced(losses, reduction)


def binary_cross_entropy(input: VarLike, target: VarLike, weight: VarLike | None = None, reduction: str = "mean") -> Var:
    """-(t log(p) + (1 - t) log(1 - p)) of probabilities; logarithms are not below -100. weight: a factor for each element. Raises InvalidArgument (a
    ValueError) for another shape of the target."""
    p, t = _pair(input, target)
    least = Var(-100, p.dtype)
    losses = -(t * op("Max", op("Log", p), least) + (1.0 - t) * op("Max", op("Log", 1.0 - p), least))
    return _reduced(losses if weight is None else losses * _like(weight, p), reduction)


def binary_cross_entropy_with_logits(input: VarLike, target: VarLike, weight: VarLike | None = None, reduction: str = "mean",
                                     pos_weight: VarLike | None = None) -> Var:
    """binary_cross_entropy() of sigmoid(x), computed without overflow. pos_weight: a factor for targets of 1. Raises InvalidArgument (a ValueError)
    for another shape of the target."""
    x, t = _pair(input, target)
    positive = op("Softplus", -x)
    losses = (1.0 - t) * x + (positive if pos_weight is None else (1.0 + (_like(pos_weight, x) - 1.0) * t) * positive)
    return _reduced(losses if weight is None else losses * _like(weight, x), reduction)


def focal_loss(input: VarLike, target: VarLike, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "mean") -> Var:
    """binary_cross_entropy_with_logits() times (1 - p)^gamma, where p is the probability of the true class, and times alpha for targets of 1 and 1 -
    alpha for 0, unless alpha is negative (Lin et al. 2017). Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    p = op("Sigmoid", x)
    losses = binary_cross_entropy_with_logits(x, t, reduction="none") * op("Pow", 1.0 - (p * t + (1.0 - p) * (1.0 - t)), Var(gamma, x.dtype))
    return _reduced(losses if alpha < 0 else losses * (alpha * t + (1 - alpha) * (1.0 - t)), reduction)


def dice_loss(input: VarLike, target: VarLike, smooth: float = 1.0, reduction: str = "mean") -> Var:
    """1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) of probabilities for each sample, over all axes but the first (Milletari et al. 2016).
    Raises InvalidArgument (a ValueError) for another shape of the target."""
    p, t = _pair(input, target)
    over = _axes(*range(1, len(shape_of(p))))

    def total(x: Var) -> Var:
        return op("ReduceSum", x, over, keepdims=0)

    return _reduced(1.0 - (2.0 * total(p * t) + smooth) / (total(p) + total(t) + smooth), reduction)


def multi_margin_loss(input: VarLike, target: VarLike, p: int = 1, margin: float = 1.0, weight: VarLike | None = None, reduction: str = "mean") -> Var:
    """The mean over classes of max(0, margin - x[target] + x[i])^p but for the target itself: scores [N, C] and classes [N]. Raises InvalidArgument (a
    ValueError) for another p."""
    if p not in (1, 2):
        raise InvalidArgument(f"p is 1 or 2, it is {p}")
    x, t = _classes(input, target)
    classes = shape_of(x)[1]
    own = op("GatherElements", x, op("Unsqueeze", t, _axes(1)), axis=1)
    losses = _larger(margin - own + x)
    losses = losses if p == 1 else losses * losses
    if weight is not None:
        losses = losses * op("Unsqueeze", op("Gather", _like(weight, x), t), _axes(1))
    others = op("Not", op("Equal", op("Unsqueeze", t, _axes(1)), Var([list(range(classes))], t.dtype)))
    return _reduced(_sum(_where(others, losses, 0.0), 1) / float(classes), reduction)


def multilabel_soft_margin_loss(input: VarLike, target: VarLike, weight: VarLike | None = None, reduction: str = "mean") -> Var:
    """The mean over classes of binary_cross_entropy_with_logits(). Raises InvalidArgument (a ValueError) for another shape of the target."""
    losses = binary_cross_entropy_with_logits(input, target, weight, "none")
    return _reduced(op("ReduceMean", losses, _axes(-1), keepdims=0), reduction)


def soft_margin_loss(input: VarLike, target: VarLike, reduction: str = "mean") -> Var:
    """log(1 + exp(-t x)) for targets of 1 and -1. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    return _reduced(op("Softplus", -(t * x)), reduction)


def hinge_loss(input: VarLike, target: VarLike, margin: float = 1.0, reduction: str = "mean") -> Var:
    """max(0, margin - t x) for targets of 1 and -1. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    return _reduced(_larger(margin - t * x), reduction)


def hinge_embedding_loss(input: VarLike, target: VarLike, margin: float = 1.0, reduction: str = "mean") -> Var:
    """x for targets of 1, max(0, margin - x) for -1. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    is_one = op("Equal", t, Var(1, t.dtype))
    return _reduced(_where(is_one, x, _larger(margin - x)), reduction)


# ---- Numbers

def mse_loss(input: VarLike, target: VarLike, reduction: str = "mean") -> Var:
    """(x - t)^2. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    difference = x - t
    return _reduced(difference * difference, reduction)


def l1_loss(input: VarLike, target: VarLike, reduction: str = "mean") -> Var:
    """|x - t|. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    return _reduced(op("Abs", x - t), reduction)


def huber_loss(input: VarLike, target: VarLike, reduction: str = "mean", delta: float = 1.0) -> Var:
    """(x - t)^2 / 2, and delta (|x - t| - delta / 2) where |x - t| > delta (Huber 1964). Raises InvalidArgument (a ValueError) for delta <= 0."""
    if delta <= 0:
        raise InvalidArgument(f"delta is positive, it is {delta}")
    x, t = _pair(input, target)
    error = op("Abs", x - t)
    inner = op("Min", error, Var(delta, x.dtype))
    return _reduced(inner * (error - 0.5 * inner), reduction)


def smooth_l1_loss(input: VarLike, target: VarLike, reduction: str = "mean", beta: float = 1.0) -> Var:
    """huber_loss() / beta with delta=beta; with beta=0 l1_loss(). Raises InvalidArgument (a ValueError) for a negative beta."""
    if beta < 0:
        raise InvalidArgument(f"beta is not negative, it is {beta}")
    return l1_loss(input, target, reduction) if beta == 0 else huber_loss(input, target, reduction, beta) / beta


def log_cosh_loss(input: VarLike, target: VarLike, reduction: str = "mean") -> Var:
    """log(cosh(x - t)), computed without overflow. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    error = x - t
    return _reduced(error + op("Softplus", -2.0 * error) - math.log(2), reduction)


def kl_div(input: VarLike, target: VarLike, reduction: str = "mean", log_target: bool = False) -> Var:
    """target (log(target) - input), where input has logarithms of shares: the divergence of the target from the input. reduction: "batchmean" is the
    sum divided by the first size, which is the mathematical definition; "mean" divides by the number of elements. Raises InvalidArgument (a
    ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    if log_target:
        losses = op("Exp", t) * (t - x)
    else:
        positive = op("Greater", t, Var(0, t.dtype))
        losses = _where(positive, t * op("Log", _where(positive, t, 1.0)), 0.0) - t * x
    if reduction == "batchmean":
        return op("ReduceSum", losses, keepdims=0) / float(shape_of(x)[0])
    return _reduced(losses, reduction)


def gaussian_nll_loss(input: VarLike, target: VarLike, var: VarLike, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Var:
    """(log(v) + (x - t)^2 / v) / 2, where v is the variance, at least eps; with full also log(2 pi) / 2 (Nix and Weigend 1994). The gradient of v does
    not know of eps. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    v = _like(var, x)
    if v.dims is not None and x.dims is not None and len(v.dims) == len(x.dims) - 1:
        v = op("Unsqueeze", v, _axes(-1))
    v = v + op("minnow.StopGradient", _larger(eps - v))
    losses = 0.5 * (op("Log", v) + (x - t) * (x - t) / v)
    return _reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def poisson_nll_loss(input: VarLike, target: VarLike, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> Var:
    """exp(x) - t x, where x is the logarithm of the rate, or without log_input x - t log(x + eps); with full also Stirling's t log(t) - t + log(2 pi t) /
    2 for t > 1. Raises InvalidArgument (a ValueError) for another shape of the target."""
    x, t = _pair(input, target)
    losses = op("Exp", x) - t * x if log_input else x - t * op("Log", x + eps)
    if full:
        large = op("Greater", t, Var(1, t.dtype))
        safe = _where(large, t, 1.0)
        losses = losses + _where(large, safe * op("Log", safe) - safe + 0.5 * op("Log", 2 * math.pi * safe), 0.0)
    return _reduced(losses, reduction)


def distillation_loss(input: VarLike, teacher: VarLike, target: VarLike | None = None, temperature: float = 4.0, alpha: float = 0.9) -> Var:
    """alpha T^2 times the divergence of softmax(teacher / T) from softmax(input / T), and (1 - alpha) times the cross entropy with classes, if these are
    given: scores [N, C] and classes [N] (Hinton et al. 2015). No gradient reaches the teacher. Raises InvalidArgument (a ValueError) for shapes that
    do not fit."""
    x, of_teacher = _pair(input, teacher)
    goal = op("LogSoftmax", op("minnow.StopGradient", of_teacher) / temperature, axis=1)
    soft = kl_div(op("LogSoftmax", x / temperature, axis=1), goal, "batchmean", True) * temperature**2
    return soft if target is None else alpha * soft + (1 - alpha) * cross_entropy(x, target)


# ---- Distances

def pairwise_distance(x1: VarLike, x2: VarLike, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Var:
    """The p-norm of x1 - x2 + eps along the last axis. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    return norm(_var(x1) - _var(x2) + eps, p, -1, keepdim)


def cosine_similarity(x1: VarLike, x2: VarLike, dim: int = 1, eps: float = 1e-8) -> Var:
    """The cosine of the angle between vectors along an axis; their norms are not below eps. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    a, b = _var(x1), _var(x2)
    least = Var(eps, a.dtype)
    return _sum(a * b, dim) / (op("Max", norm(a, 2, dim, False), least) * op("Max", norm(b, 2, dim, False), least))


def triplet_margin_loss(anchor: VarLike, positive: VarLike, negative: VarLike, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                        reduction: str = "mean") -> Var:
    """max(0, margin + distance to the positive - distance to the negative) of vectors [N, D] (Schroff et al. 2015). swap: the negative's distance to
    the positive counts if it is smaller. Raises InvalidModel (a ValueError) for shapes that do not fit."""
    to_negative = pairwise_distance(anchor, negative, p, eps)
    if swap:
        to_negative = op("Min", to_negative, pairwise_distance(positive, negative, p, eps))
    return _reduced(_larger(margin + pairwise_distance(anchor, positive, p, eps) - to_negative), reduction)


def margin_ranking_loss(input1: VarLike, input2: VarLike, target: VarLike, margin: float = 0.0, reduction: str = "mean") -> Var:
    """max(0, -t (x1 - x2) + margin): a target of 1 says that x1 is the larger one, -1 that x2 is. Raises InvalidModel (a ValueError) for shapes that
    do not fit."""
    a, b = _pair(input1, input2)
    return _reduced(_larger(margin - _like(target, a) * (a - b)), reduction)


def cosine_embedding_loss(input1: VarLike, input2: VarLike, target: VarLike, margin: float = 0.0, reduction: str = "mean") -> Var:
    """1 - cosine for pairs of vectors [N, D] with the target 1, max(0, cosine - margin) for -1. Raises InvalidModel (a ValueError) for shapes that do
    not fit."""
    a, b = _pair(input1, input2)
    t, tiny = _like(target, a), 1e-12  # added to squares
    cosine = _sum(a * b, -1) / op("Sqrt", (_sum(a * a, -1) + tiny) * (_sum(b * b, -1) + tiny))
    return _reduced(_where(op("Equal", t, Var(1, t.dtype)), 1.0 - cosine, _larger(cosine - margin)), reduction)


def info_nce_loss(query: VarLike, positive: VarLike, negatives: VarLike | None = None, temperature: float = 0.1, reduction: str = "mean") -> Var:
    """Cross entropy of cosines / temperature between each query [N, D] and its positive [N, D] against others: `negatives` [M, D], else the positives of
    the other queries (Oord et al. 2018). Raises InvalidArgument (a ValueError) for shapes that do not fit."""
    a, b = _pair(query, positive)

    def unit(x: Var) -> Var:
        return x / op("Max", norm(x, 2, -1, True), Var(1e-12, x.dtype))

    def turned(x: Var) -> Var:
        return op("Transpose", unit(x), perm=[1, 0])

    count = shape_of(a)[0]
    if negatives is None:
        scores, at = op("MatMul", unit(a), turned(b)), list(range(count))
    else:
        own = _sum(unit(a) * unit(b), -1, True)
        scores, at = op("Concat", own, op("MatMul", unit(a), turned(_like(negatives, a))), axis=1), [0] * count
    return cross_entropy(scores / temperature, Var(at, "int64"), reduction=reduction)


# ---- Sequences

def _in_rows(targets: Var, sizes: Var) -> Var:
    """Targets [sum of sizes] as [N, S]; what is beyond the end of a row does not count."""
    longest = total = shape_of(targets)[0]
    if not _minnow.placeholders([sizes]):  # known now, not only in a step
        longest = max([0, *sizes.tolist()])
        if sum(sizes.tolist()) != total:
            raise InvalidArgument(f"the lengths of the targets add up to {sum(sizes.tolist())}, there are {total} labels")
    first = op("Unsqueeze", op("CumSum", sizes, Var(0, "int64"), exclusive=1), _axes(1))
    places = op("Min", first + Var([list(range(longest))], "int64"), Var(max(total - 1, 0), "int64"))
    return op("Gather", targets if total else Var([0], "int64"), places, axis=0)


def ctc_loss(log_probs: VarLike, targets: VarLike, input_lengths: Sequence[int] | VarLike, target_lengths: Sequence[int] | VarLike, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Var:
    """Minus the logarithm of the probability that log_probs [T, N, C], logarithms of shares, spell the targets [N, S], or those of all sequences one
    after the other, when repetitions and blanks are taken out (Graves et al. 2006). "mean" divides each loss by the length of its target. zero_infinity: sequences that are too short for their
    target count 0. Raises InvalidArgument (a ValueError) for shapes that do not fit."""
    x, t = _var(log_probs), _var(targets)
    shape = shape_of(x)
    if len(shape) == 2:
        x, t, shape = op("Unsqueeze", x, _axes(1)), op("Unsqueeze", t, _axes(0)), (shape[0], 1, shape[1])
    lengths, sizes = (op("Reshape", (value if isinstance(value, Var) else Var(value)).astype("int64"), _axes(-1)) for value in (input_lengths, target_lengths))
    t = t.astype("int64")
    if len(shape_of(t)) == 1:
        t = _in_rows(t, sizes)
    if len(shape_of(t)) != 2 or shape_of(t)[0] != shape[1]:
        raise InvalidArgument(f"targets have the shape [{shape[1]}, S], or are one after the other, it is {list(shape_of(t))}")
    steps, batch, _ = shape
    longest = shape_of(t)[1]
    states = 2 * longest + 1
    never = -1e30  # the logarithm of a probability that counts as 0
    blanks = op("Expand", Var([[blank]], "int64"), Var([batch, longest], "int64"))
    # blank, label, blank, label ... blank
    labels = op("Reshape", op("Concat", op("Unsqueeze", blanks, _axes(2)), op("Unsqueeze", t, _axes(2)), axis=2), _axes(batch, 2 * longest))
    labels = op("Concat", labels, Var([[blank]] * batch, "int64"), axis=1)
    # A label may follow the one before the last if they differ; a blank may not.
    before = op("Pad", op("Slice", labels, _axes(0), _axes(states - 2), _axes(1)), Var([0, 2, 0, 0], "int64"), Var(blank, "int64")) if states > 2 else labels
    skips = op("And", op("Not", op("Equal", labels, Var(blank, "int64"))), op("Not", op("Equal", labels, before)))
    spread = op("GatherElements", x, op("Expand", op("Unsqueeze", labels, _axes(0)), Var([steps, batch, states], "int64")), axis=2)
    at = Var([list(range(states))], "int64")
    hopeless = Var(never, x.dtype)
    alive = op("Less", at, Var(2, "int64"))
    alpha = _where(op("And", alive, op("Less", at, op("Unsqueeze", 2 * sizes + 1, _axes(1)))), op("Gather", spread, Var(0, "int64"), axis=0), hopeless)

    def moved(value: Var, places: int) -> Var:
        if places >= states:
            return value * 0.0 + never
        return op("Pad", op("Slice", value, _axes(0), _axes(states - places), _axes(1)), Var([0, places, 0, 0], "int64"), hopeless)

    def step(alpha: Var, emitted: Var, goes_on: Var) -> list[Var]:
        ways = [alpha, moved(alpha, 1), _where(skips, moved(alpha, 2), hopeless)]
        total = op("ReduceLogSumExp", op("Concat", *[op("Unsqueeze", way, _axes(2)) for way in ways], axis=2), _axes(2), keepdims=0)
        return [_where(goes_on, op("Max", total + emitted, hopeless), alpha)]

    if steps > 1:
        goes_on = op("Greater", op("Reshape", lengths, _axes(1, -1, 1)), Var([[[step]] for step in range(1, steps)], "int64"))
        [alpha] = _minnow.scan(step, [alpha], [op("Slice", spread, _axes(1), _axes(steps), _axes(0)), goes_on])
    ends = op("Concat", op("Unsqueeze", 2 * sizes, _axes(1)), op("Unsqueeze", op("Max", 2 * sizes - 1, Var(0, "int64")), _axes(1)), axis=1)
    last = op("GatherElements", alpha, ends, axis=1)
    first = op("Equal", Var([[0, 1]], "int64"), Var(0, "int64"))
    last = _where(op("Or", first, op("Greater", op("Unsqueeze", sizes, _axes(1)), Var(0, "int64"))), last, hopeless)
    losses = -op("ReduceLogSumExp", last, _axes(1), keepdims=0)
    impossible = op("Greater", losses, Var(-never / 2, x.dtype))
    losses = _where(impossible, losses * 0.0, losses) if zero_infinity else _where(impossible, Var(float("inf"), x.dtype), losses)
    if reduction == "mean":
        losses = losses / op("Max", sizes, Var(1, "int64")).astype(x.dtype)
    return _reduced(losses, reduction)


__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dice_loss",
           "distillation_loss", "focal_loss", "gaussian_nll_loss", "hinge_embedding_loss", "hinge_loss", "huber_loss", "info_nce_loss", "kl_div", "l1_loss",
           "log_cosh_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "pairwise_distance",
           "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss"]

all_suggesting(globals(), __all__)
