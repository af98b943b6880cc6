# SPDX-License-Identifier: Apache-2.0
"""Losses as layers, which take what the function takes before its settings: loss(input, target)."""
from __future__ import annotations

from typing import Any

from minnow._typing import VarLike
from minnow.nn import _losses as F
from minnow.nn._layers import FunctionLayer


class _LossLayer(FunctionLayer):
    _other_reductions: tuple[str, ...] = ()

    def _set(self, **settings: Any) -> None:
        if settings.get("reduction", "mean") not in self._other_reductions:
            F.check_reduction(settings.get("reduction", "mean"))
        super()._set(**settings)


class BCELoss(_LossLayer):
    """functional.binary_cross_entropy(). Raises its errors.

    >>> round(float(nn.BCELoss()(minnow.Var([0.5, 0.5]), minnow.Var([1.0, 0.0]))), 3)
    0.693
    """
    _function = F.binary_cross_entropy

    def __init__(self, weight: VarLike | None = None, reduction: str = "mean") -> None:
        self._set(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_LossLayer):
    """functional.binary_cross_entropy_with_logits(). Raises its errors.

    >>> round(float(nn.BCEWithLogitsLoss()(minnow.Var([0.0, 0.0]), minnow.Var([1.0, 0.0]))), 3)
    0.693
    """
    _function = F.binary_cross_entropy_with_logits

    def __init__(self, weight: VarLike | None = None, reduction: str = "mean", pos_weight: VarLike | None = None) -> None:
        self._set(weight=weight, reduction=reduction, pos_weight=pos_weight)


class CTCLoss(_LossLayer):
    """functional.ctc_loss(). Raises its errors.

    >>> round(float(nn.CTCLoss()(np.log(minnow.Var([[[0.5, 0.5]], [[0.5, 0.5]]])), minnow.Var([[1]]), minnow.Var([2]), minnow.Var([1]))), 3)
    0.288
    """
    _function = F.ctc_loss

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        self._set(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class CosineEmbeddingLoss(_LossLayer):
    """functional.cosine_embedding_loss(). Raises its errors.

    >>> round(float(nn.CosineEmbeddingLoss()(minnow.Var([[1.0, 0.0]]), minnow.Var([[0.0, 1.0]]), minnow.Var([1]))), 3)
    1.0
    """
    _function = F.cosine_embedding_loss

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self._set(margin=margin, reduction=reduction)


class CosineSimilarity(_LossLayer):
    """functional.cosine_similarity(). Raises its errors.

    >>> round(float(nn.CosineSimilarity()(minnow.Var([[1.0, 0.0]]), minnow.Var([[3.0, 4.0]]))), 3)
    0.6
    """
    _function = F.cosine_similarity

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self._set(dim=dim, eps=eps)


class CrossEntropyLoss(_LossLayer):
    """functional.cross_entropy(). Raises its errors.

    >>> round(float(nn.CrossEntropyLoss()(minnow.Var([[0.0, 0.0]]), minnow.Var([1]))), 3)
    0.693
    """
    _function = F.cross_entropy

    def __init__(self, weight: VarLike | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        self._set(weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class DiceLoss(_LossLayer):
    """functional.dice_loss(). Raises its errors.

    >>> round(float(nn.DiceLoss()(minnow.Var([[1.0, 0.0]]), minnow.Var([[1.0, 1.0]]))), 3)
    0.25
    """
    _function = F.dice_loss

    def __init__(self, smooth: float = 1.0, reduction: str = "mean") -> None:
        self._set(smooth=smooth, reduction=reduction)


class DistillationLoss(_LossLayer):
    """functional.distillation_loss(). Raises its errors.

    >>> round(float(nn.DistillationLoss()(minnow.Var([[0.0, 0.0]]), minnow.Var([[0.0, 0.0]]), minnow.Var([1]))), 3)
    0.069
    """
    _function = F.distillation_loss

    def __init__(self, temperature: float = 4.0, alpha: float = 0.9) -> None:
        self._set(temperature=temperature, alpha=alpha)


class FocalLoss(_LossLayer):
    """functional.focal_loss(). Raises its errors.

    >>> round(float(nn.FocalLoss()(minnow.Var([0.0]), minnow.Var([1.0]))), 3)
    0.043
    """
    _function = F.focal_loss

    def __init__(self, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "mean") -> None:
        self._set(alpha=alpha, gamma=gamma, reduction=reduction)


class GaussianNLLLoss(_LossLayer):
    """functional.gaussian_nll_loss(). Raises its errors.

    >>> round(float(nn.GaussianNLLLoss()(minnow.Var([1.0]), minnow.Var([3.0]), minnow.Var([4.0]))), 3)
    1.193
    """
    _function = F.gaussian_nll_loss

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self._set(full=full, eps=eps, reduction=reduction)


class HingeEmbeddingLoss(_LossLayer):
    """functional.hinge_embedding_loss(). Raises its errors.

    >>> round(float(nn.HingeEmbeddingLoss()(minnow.Var([0.5]), minnow.Var([-1]))), 3)
    0.5
    """
    _function = F.hinge_embedding_loss

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self._set(margin=margin, reduction=reduction)


class HingeLoss(_LossLayer):
    """functional.hinge_loss(). Raises its errors.

    >>> round(float(nn.HingeLoss()(minnow.Var([0.5]), minnow.Var([1.0]))), 3)
    0.5
    """
    _function = F.hinge_loss

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self._set(margin=margin, reduction=reduction)


class HuberLoss(_LossLayer):
    """functional.huber_loss(). Raises its errors.

    >>> round(float(nn.HuberLoss()(minnow.Var([3.0]), minnow.Var([1.0]))), 3)
    1.5
    """
    _function = F.huber_loss

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self._set(reduction=reduction, delta=delta)


class InfoNCELoss(_LossLayer):
    """functional.info_nce_loss(). Raises its errors.

    >>> x = minnow.Var([[1.0, 0.0], [0.0, 1.0]])
    >>> round(float(nn.InfoNCELoss(1.0)(x, x)), 3)
    0.313
    """
    _function = F.info_nce_loss

    def __init__(self, temperature: float = 0.1, reduction: str = "mean") -> None:
        self._set(temperature=temperature, reduction=reduction)


class KLDivLoss(_LossLayer):
    """functional.kl_div(). Raises its errors.

    >>> round(float(nn.KLDivLoss(reduction="sum")(minnow.Var([0.0, 0.0]), minnow.Var([0.5, 0.5]))), 3)
    -0.693
    """
    _function = F.kl_div
    _other_reductions = ("batchmean",)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self._set(reduction=reduction, log_target=log_target)


class L1Loss(_LossLayer):
    """functional.l1_loss(). Raises its errors.

    >>> round(float(nn.L1Loss()(minnow.Var([3.0, 1.0]), minnow.Var([1.0, 1.0]))), 3)
    1.0
    """
    _function = F.l1_loss

    def __init__(self, reduction: str = "mean") -> None:
        self._set(reduction=reduction)


class LogCoshLoss(_LossLayer):
    """functional.log_cosh_loss(). Raises its errors.

    >>> round(float(nn.LogCoshLoss()(minnow.Var([3.0]), minnow.Var([1.0]))), 3)
    1.325
    """
    _function = F.log_cosh_loss

    def __init__(self, reduction: str = "mean") -> None:
        self._set(reduction=reduction)


class MSELoss(_LossLayer):
    """functional.mse_loss(). Raises its errors.

    >>> round(float(nn.MSELoss()(minnow.Var([3.0, 1.0]), minnow.Var([1.0, 1.0]))), 3)
    2.0
    """
    _function = F.mse_loss

    def __init__(self, reduction: str = "mean") -> None:
        self._set(reduction=reduction)


class MarginRankingLoss(_LossLayer):
    """functional.margin_ranking_loss(). Raises its errors.

    >>> round(float(nn.MarginRankingLoss()(minnow.Var([1.0]), minnow.Var([3.0]), minnow.Var([1.0]))), 3)
    2.0
    """
    _function = F.margin_ranking_loss

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self._set(margin=margin, reduction=reduction)


class MultiLabelSoftMarginLoss(_LossLayer):
    """functional.multilabel_soft_margin_loss(). Raises its errors.

    >>> round(float(nn.MultiLabelSoftMarginLoss()(minnow.Var([[0.0, 0.0]]), minnow.Var([[1.0, 0.0]]))), 3)
    0.693
    """
    _function = F.multilabel_soft_margin_loss

    def __init__(self, weight: VarLike | None = None, reduction: str = "mean") -> None:
        self._set(weight=weight, reduction=reduction)


class MultiMarginLoss(_LossLayer):
    """functional.multi_margin_loss(). Raises its errors.

    >>> round(float(nn.MultiMarginLoss()(minnow.Var([[0.5, 0.25]]), minnow.Var([0]))), 3)
    0.375
    """
    _function = F.multi_margin_loss

    def __init__(self, p: int = 1, margin: float = 1.0, weight: VarLike | None = None, reduction: str = "mean") -> None:
        self._set(p=p, margin=margin, weight=weight, reduction=reduction)


class NLLLoss(_LossLayer):
    """functional.nll_loss(). Raises its errors.

    >>> round(float(nn.NLLLoss()(minnow.Var([[-1.0, -2.0]]), minnow.Var([1]))), 3)
    2.0
    """
    _function = F.nll_loss

    def __init__(self, weight: VarLike | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        self._set(weight=weight, ignore_index=ignore_index, reduction=reduction)


class PairwiseDistance(_LossLayer):
    """functional.pairwise_distance(). Raises its errors.

    >>> round(float(nn.PairwiseDistance()(minnow.Var([[0.0, 0.0]]), minnow.Var([[3.0, 4.0]]))), 3)
    5.0
    """
    _function = F.pairwise_distance

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self._set(p=p, eps=eps, keepdim=keepdim)


class PoissonNLLLoss(_LossLayer):
    """functional.poisson_nll_loss(). Raises its errors.

    >>> round(float(nn.PoissonNLLLoss()(minnow.Var([0.0]), minnow.Var([1.0]))), 3)
    1.0
    """
    _function = F.poisson_nll_loss

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        self._set(log_input=log_input, full=full, eps=eps, reduction=reduction)


class SmoothL1Loss(_LossLayer):
    """functional.smooth_l1_loss(). Raises its errors.

    >>> round(float(nn.SmoothL1Loss()(minnow.Var([3.0]), minnow.Var([1.0]))), 3)
    1.5
    """
    _function = F.smooth_l1_loss

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self._set(reduction=reduction, beta=beta)


class SoftMarginLoss(_LossLayer):
    """functional.soft_margin_loss(). Raises its errors.

    >>> round(float(nn.SoftMarginLoss()(minnow.Var([0.0]), minnow.Var([1.0]))), 3)
    0.693
    """
    _function = F.soft_margin_loss

    def __init__(self, reduction: str = "mean") -> None:
        self._set(reduction=reduction)


class TripletMarginLoss(_LossLayer):
    """functional.triplet_margin_loss(). Raises its errors.

    >>> anchor, other = minnow.Var([[0.0, 0.0]]), minnow.Var([[0.0, 1.0]])
    >>> round(float(nn.TripletMarginLoss()(anchor, other, other)), 3)
    1.0
    """
    _function = F.triplet_margin_loss

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> None:
        self._set(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "DiceLoss",
           "DistillationLoss", "FocalLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HingeLoss", "HuberLoss", "InfoNCELoss", "KLDivLoss",
           "L1Loss", "LogCoshLoss", "MSELoss", "MarginRankingLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PairwiseDistance",
           "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss"]
