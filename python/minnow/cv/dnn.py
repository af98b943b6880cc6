# SPDX-License-Identifier: Apache-2.0
"""Around networks that detect: pictures as their inputs; boxes, masks and texts from their outputs.

Functions with OpenCV's names have its signatures and results. The others take boxes as (x1, y1, x2, y2) in pixels, [n, 4], and numbers of any dtype, which
they compute with in float32; the outputs of networks may have the axis of a batch of one picture in front."""
from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from minnow.cv import _common
from minnow.cv._common import CV_32F, MatLike, Scalar, Size
from minnow._minnow import Var

SOFT_NMSMETHOD_SOFTNMS_LINEAR = SoftNMSMethod_SOFTNMS_LINEAR = 1
SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN = SoftNMSMethod_SOFTNMS_GAUSSIAN = 2


def blobFromImage(image: MatLike, scalefactor: float = 1.0, size: Size | None = None, mean: Scalar | None = None, swapRB: bool = False, crop: bool = False,
                  ddepth: int = CV_32F) -> Var:
    """A picture as the input of a network, float32 [1, channels, height, width]: (resized picture - mean) * scalefactor.
    `size` (width, height): the picture's where it is left out. swapRB swaps channels 0 and 2, whose means are given in the order of the blob.
    crop keeps the shape of what is seen and cuts what lies beyond the middle. ddepth CV_8U: uint8, without mean and scalefactor."""
    return blobFromImages([image], scalefactor, size, mean, swapRB, crop, ddepth)


def blobFromImages(images: Sequence[MatLike], scalefactor: float = 1.0, size: Size | None = None, mean: Scalar | None = None, swapRB: bool = False,
                   crop: bool = False, ddepth: int = CV_32F) -> Var:
    """blobFromImage() for several pictures of the same number of channels: [n, channels, height, width]."""
    dtype = _common.dtype_of(ddepth, "blobFromImages")
    return _common.vision.blobFromImages(images, scalefactor, size, mean, swapRB, crop, dtype or "float32")


def imagesFromBlob(blob_: MatLike) -> tuple[Var, ...]:
    """The pictures of a blob, float32 [height, width, channels] each ([height, width] of one channel). Nothing is scaled back."""
    return tuple(picture.numpy() for picture in _common.vision.imagesFromBlob(blob_))


def _array(values: Sequence[float], dtype: str) -> Any:
    return Var(values, dtype).numpy()


def _indices(values: Sequence[int]) -> Any:
    return _array(values, "int32") if values else ()


def NMSBoxes(bboxes: MatLike, scores: MatLike, score_threshold: float, nms_threshold: float, eta: float = 1.0, top_k: int = 0) -> Var:
    """The indices of the boxes (x, y, width, height) that stay, best first, int32 [n], or () where none does: of boxes with scores of more than
    `score_threshold` those that overlap no better one by more than `nms_threshold` of the area that they have together.

    >>> list(cv.dnn.NMSBoxes([[0, 0, 10, 10], [1, 1, 10, 10], [50, 50, 5, 5]], [0.8, 0.9, 0.7], 0.1, 0.5))
    [1, 2]
    """
    return _indices(_common.vision.NMSBoxes(bboxes, scores, score_threshold, nms_threshold, eta, top_k))


def NMSBoxesBatched(bboxes: MatLike, scores: MatLike, class_ids: MatLike, score_threshold: float, nms_threshold: float, eta: float = 1.0,
                    top_k: int = 0) -> Var:
    """NMSBoxes() for each class of its own."""
    return _indices(_common.vision.NMSBoxesBatched(bboxes, scores, class_ids, score_threshold, nms_threshold, eta, top_k))


def NMSBoxesRotated(bboxes: Sequence[Sequence[Any]], scores: MatLike, score_threshold: float, nms_threshold: float, eta: float = 1.0,
                    top_k: int = 0) -> Var:
    """NMSBoxes() for rotated boxes ((x, y), (width, height), degrees), whose points (x, y) are their middles."""
    rows = [(*middle, *size, angle) for middle, size, angle in bboxes]
    return _indices(_common.vision.NMSBoxesRotated(Var(rows, "float32"), scores, score_threshold, nms_threshold, eta, top_k))


def softNMSBoxes(bboxes: MatLike, scores: MatLike, score_threshold: float, nms_threshold: float, top_k: int = 0, sigma: float = 0.5,
                 method: int = SOFT_NMSMETHOD_SOFTNMS_GAUSSIAN) -> tuple[Var, Var]:
    """The scores of the boxes (x, y, width, height) after each has lost by how much it overlaps better ones, float32 [n], and their indices, best
    first. Source: N. Bodla et al., Soft-NMS (2017)."""
    values, indices = _common.vision.softNMSBoxes(bboxes, scores, score_threshold, nms_threshold, top_k, sigma, method)
    return (_array(values, "float32") if values else _indices(())), _indices(indices)


@dataclasses.dataclass(frozen=True)
class Letterbox:
    """Where a picture of size `source` lies within one of size `size`: x * scale + left, y * scale + top. Sizes are (width, height). Methods take any
    arrays or lists of numbers, and compute in float32."""
    scale: float
    left: int
    top: int
    source: tuple[int, int]
    size: tuple[int, int]

    def _numbers(self) -> tuple[float, ...]:
        return (self.scale, self.left, self.top, *self.source, *self.size)

    def points(self, points: MatLike) -> Var:
        """Points of the letterbox, [..., 2], or [..., 3] with a score, which stays as it is, as points of the source, within it."""
        return _common.vision.out_of_letterbox(points, self._numbers()).numpy()

    def boxes(self, boxes: MatLike) -> Var:
        """Boxes (x1, y1, x2, y2) of the letterbox, [..., 4], as boxes of the source, within it."""
        return _common.vision.out_of_letterbox(boxes, self._numbers()).numpy()

    def masks(self, masks: MatLike, threshold: float = 0.5) -> Var:
        """Masks over the letterbox, [n, h, w] of any resolution, as masks of the source, uint8 [n, height, width]: 1 where they are more
        than `threshold`."""
        return _common.vision.scale_masks(masks, self._numbers(), threshold).numpy()


def letterbox(image: MatLike, size: Size, color: Scalar = (114, 114, 114, 114), enlarge: bool = True) -> tuple[Var, Letterbox]:
    """The picture scaled to fit `size` (width, height), in the middle of a ground of `color`, and the Letterbox that leads back from there. Smaller
    pictures stay as they are unless `enlarge`."""
    picture, (scale, left, top, *sizes) = _common.vision.letterbox(image, size, color, enlarge)
    width, height, *outer = (int(side) for side in sizes)
    return picture.numpy(), Letterbox(scale, int(left), int(top), (width, height), (outer[0], outer[1]))


def nms(boxes: MatLike, scores: MatLike, overlap: float = 0.45, least_score: float = 0.0, classes: MatLike | None = None, most: int = 0) -> Var:
    """The indices of the boxes (x1, y1, x2, y2) that stay, best first, int32 [n]: those with more than `least_score` that overlap no better one, of
    the same class where there are `classes`, by more than `overlap`; at most `most` of them (0: all)."""
    kept = _common.vision.nms(boxes, scores, overlap, least_score, classes, most)
    return _array(kept, "int32")


def scale_masks(masks: MatLike, size: Size, threshold: float = 0.5) -> Var:
    """Masks [n, h, w] over a whole picture, in its size (width, height): uint8 [n, height, width]."""
    width, height = size
    return _common.vision.scale_masks(masks, (1.0, 0, 0, width, height, width, height), threshold)


def decode_ssd(deltas: MatLike, priors: MatLike, variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2)) -> Var:
    """SSD's boxes, float32 [n, 4]: `deltas` [n, 4] move and scale `priors` [n, 4], both (middle x, middle y, width, height). Source: W. Liu et al., SSD
    (2016)."""
    return _common.vision.decode_ssd(deltas, priors, variances)


def grid_points(size: Size, strides: Sequence[int], offset: float = 0.5) -> tuple[Var, Var]:
    """The middles of a network's cells in a picture of `size` (width, height), float32 [n, 2], level after level, and the size of their cells, [n]."""
    points, sizes = _common.vision.grid_points(size, strides, offset)
    return points.numpy(), sizes.numpy()


def decode_dfl(distances: MatLike, points: MatLike, strides: MatLike) -> Var:
    """Boxes, float32 [n, 4], of heads like YOLOv8's: `distances` [n, 4 * bins] are weights (before softmax) of whole distances from `points` to the
    left, top, right and bottom, in cells of `strides` pixels. Source: X. Li et al., Generalized Focal Loss (2020)."""
    return _common.vision.decode_dfl(distances, points, strides)


def decode_yolo(output: MatLike, anchors: Sequence[float] | Sequence[Sequence[float]], stride: int, version: int = 5) -> tuple[Var, Var]:
    """Boxes, float32 [n, 4], and scores, [n, classes], of one level of YOLOv3 (`version` 3) or YOLOv5 and v7 (5): `output` is
    [anchors * (5 + classes), height, width] before sigmoid, `anchors` are widths and heights in pixels, one after the other or in pairs. Source: J. Redmon
    and A. Farhadi, YOLOv3 (2018)."""
    boxes, scores = _common.vision.decode_yolo(output, Var(anchors, "float64").reshape(-1), stride, version)
    return boxes.numpy(), scores.numpy()


def ctc_greedy(scores: MatLike, blank: int = 0) -> list[int]:
    """The likeliest labels of a sequence, from [steps, labels]: labels that follow themselves count once, `blank` not at all.

    >>> cv.dnn.ctc_greedy(minnow.Var([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]], "float32"))
    [1, 1]
    """
    return list(_common.vision.ctc_greedy(scores, blank))


def ctc_beam(probabilities: MatLike, width: int = 10, blank: int = 0) -> list[tuple[list[int], float]]:
    """The likeliest sequences of labels with the logarithms of their probabilities, best first, from [steps, labels]; `width` of them are kept at
    each step. Source: A. Graves et al., Connectionist Temporal Classification (2006)."""
    sequences, logarithms = _common.vision.ctc_beam(probabilities, width, blank)
    return [(list(labels), value) for labels, value in zip(sequences, logarithms)]


def db_boxes(probabilities: MatLike, threshold: float = 0.3, least_score: float = 0.6, unclip: float = 1.5, least_side: float = 3.0,
             most: int = 1000) -> tuple[Var, Var]:
    """Rotated boxes of text, corners float32 [n, 4, 2], and their scores [n], from a map of probabilities [height, width]: areas of more than
    `threshold` whose mean is at least `least_score` grow by `unclip` times their area over their circumference. Source: M. Liao et al., Real-time
    Scene Text Detection with Differentiable Binarization (2020)."""
    boxes, scores = _common.vision.db_boxes(probabilities, threshold, least_score, unclip, least_side, most)
    return boxes.numpy(), scores.numpy()


__all__ = _common.public(globals(), at_once=False)
