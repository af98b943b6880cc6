#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single operators, computed by TensorFlow and by Minnow."""
import unittest

from support import InFolder

import numpy as np
import tensorflow as tf

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)
ROWS = RANDOM.standard_normal((5, 2)).astype(np.float32)
IDS = np.array([0, 0, 2, 2, 3], np.int32)  # segment 1 has no rows
HOLES = np.array([0, 1.5, 0, -2], np.float32)
NUMBERS = np.array([np.inf, 2, np.nan, 3], np.float32)
IMAGES = RANDOM.uniform(0, 255, (2, 7, 9, 3)).astype(np.float32)
COLORS = RANDOM.uniform(0, 1, (2, 3, 4, 3)).astype(np.float32)
GRAYS = np.repeat(COLORS[:, :, :, :1], 3, axis=3)
SOUND = RANDOM.uniform(-1, 1, (1000, 2)).astype(np.float32)
# Two images with six boxes each, some of them near others, and three classes.
CORNERS = RANDOM.uniform(0, 0.7, (2, 3, 1, 2))
CORNERS = np.concatenate([CORNERS, CORNERS + RANDOM.uniform(0.2, 0.4, CORNERS.shape)], -1)
BOXES = np.concatenate([CORNERS, CORNERS + RANDOM.uniform(-0.02, 0.02, CORNERS.shape)], 1).astype(np.float32)
BOXES_OF_CLASSES = np.repeat(BOXES, 3, axis=2) * np.array([1, 0.9, 1.1], np.float32).reshape(1, 1, 3, 1)
SCORES = RANDOM.uniform(0, 1, (2, 6, 3)).astype(np.float32)
raw = tf.raw_ops


def suppressed(boxes, output, **options):
    """A case for one output of CombinedNonMaxSuppression."""
    given = {"max_output_size_per_class": 2, "max_total_size": 8, "iou_threshold": 0.5, "score_threshold": 0.3} | options
    return (lambda x, y: raw.CombinedNonMaxSuppression(boxes=x, scores=y, **given)[output]), boxes, SCORES


def resized(name, size, images=IMAGES, **options):
    return (lambda x: getattr(raw, name)(images=x, size=size, **options)), images


def patches(sizes, strides, rates, padding, images=IMAGES):
    return (lambda x: raw.ExtractImagePatches(images=x, ksizes=[1, *sizes, 1], strides=[1, *strides, 1], rates=[1, *rates, 1], padding=padding)), images


def pooled(output, padding, **options):
    return (lambda x: raw.MaxPoolWithArgmax(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=padding, **options)[output]), IMAGES


def spectrum(x, squared=True):
    return raw.AudioSpectrogram(input=x, window_size=200, stride=80, magnitude_squared=squared)


# Name, the operator, and its inputs.
CASES = {
    "Bucketize": (lambda x: raw.Bucketize(input=x, boundaries=[-1.0, 0.0, 0.5]), X),
    "ComplexAbs of RFFT": (lambda x: raw.ComplexAbs(x=raw.RFFT(input=x, fft_length=[4])), X),
    "ComplexAbs of a shorter RFFT": (lambda x: raw.ComplexAbs(x=raw.RFFT(input=x, fft_length=[3])), X[0]),
    "EuclideanNorm": (lambda x: raw.EuclideanNorm(input=x, axis=[1], keep_dims=True), X),
    "IRFFT": (lambda x, y: raw.IRFFT(input=raw.Complex(real=x, imag=y), fft_length=[6]), X, X[::-1].copy()),
    "Imag of FFT": (lambda x, y: raw.Imag(input=raw.FFT(input=raw.Complex(real=x, imag=y))), X, X[::-1].copy()),
    "NonMaxSuppressionV4": (lambda x: raw.NonMaxSuppressionV4(boxes=x, scores=[0.9, 0.8, 0.7, 0.1], max_output_size=5, iou_threshold=0.5, score_threshold=0.3,
                                                              pad_to_max_output_size=True)[0],
                            np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [5, 5, 6, 6]], np.float32)),
    "NonMaxSuppressionV5": (lambda x: raw.NonMaxSuppressionV5(boxes=x, scores=[0.9, 0.8, 0.7, 0.1], max_output_size=3, iou_threshold=0.5, score_threshold=0.3,
                                                              soft_nms_sigma=0.0)[1],
                            np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [5, 5, 6, 6]], np.float32)),
    "Real of IFFT": (lambda x, y: raw.Real(input=raw.IFFT(input=raw.Complex(real=x, imag=y))), X, X[::-1].copy()),
    "CropAndResize": (lambda x: raw.CropAndResize(image=x, boxes=[[0.1, 0.25, 0.9, 0.5], [1, 1, 0, 0], [-0.5, 0.2, 0.5, 1.4]], box_ind=[0, 1, 0], crop_size=[3, 4],
                                                  extrapolation_value=2.0), RANDOM.standard_normal((2, 6, 5, 3)).astype(np.float32)),
    "CropAndResize to nearest": (lambda x: raw.CropAndResize(image=x, boxes=[[0, 0, 1, 1], [0.2, 0.1, 0.3, 0.9]], box_ind=[1, 0], crop_size=[1, 7], method="nearest"),
                                 RANDOM.integers(0, 256, (2, 5, 6, 2)).astype(np.uint8)),
    "Cumprod": (lambda x: raw.Cumprod(x=x, axis=1, exclusive=True, reverse=True), X),
    "Erfc": (lambda x: raw.Erfc(x=x), X),
    "Invert": (lambda x: raw.Invert(x=x), IDS),
    "LinSpace": (lambda a: raw.LinSpace(start=a, stop=tf.constant(3.0), num=tf.constant(5)), np.float32(-1)),
    "LinSpace of one": (lambda a: raw.LinSpace(start=a, stop=tf.constant(3.0), num=tf.constant(1)), np.float32(-1)),
    "MatrixDeterminant": (lambda x: raw.MatrixDeterminant(input=x), RANDOM.standard_normal((2, 3, 3)).astype(np.float32)),
    "MulNoNan": (lambda x, y: raw.MulNoNan(x=x, y=y), NUMBERS, HOLES),
    "Roll": (lambda x: raw.Roll(input=x, shift=[1, -6], axis=[0, 1]), X),
    "SegmentMax": (lambda x: raw.SegmentMax(data=x, segment_ids=IDS), ROWS),
    "SegmentMean": (lambda x: raw.SegmentMean(data=x, segment_ids=IDS), ROWS),
    "SegmentMin": (lambda x: raw.SegmentMin(data=x, segment_ids=IDS), ROWS),
    "SegmentProd": (lambda x: raw.SegmentProd(data=x, segment_ids=IDS), ROWS),
    "SegmentSum": (lambda x: raw.SegmentSum(data=x, segment_ids=IDS), ROWS),
    "SparseToDense": (lambda v: raw.SparseToDense(sparse_indices=[[0, 1], [2, 0]], output_shape=[3, 2], sparse_values=v, default_value=-1.0),
                      np.array([7, 8], np.float32)),
    "SparseToDense of a vector": (lambda v: raw.SparseToDense(sparse_indices=[1, 3], output_shape=[5], sparse_values=v, default_value=0.0), np.float32(2)),
    "Transpose as data say": (lambda x, perm: raw.Transpose(x=x, perm=perm), RANDOM.standard_normal((2, 3, 4)).astype(np.float32), np.array([2, -3, 1], np.int32)),
    "TensorScatterSub": (lambda x: raw.TensorScatterSub(tensor=x, indices=[[0], [2]], updates=X[:2] * 2), X),
    "AdjustContrastv2": (lambda x: raw.AdjustContrastv2(images=x, contrast_factor=1.5), COLORS),
    "AudioSpectrogram": (lambda x: spectrum(x), SOUND),
    "AudioSpectrogram of magnitudes": (lambda x: spectrum(x, False), SOUND),
    "CombinedNonMaxSuppression, boxes": suppressed(BOXES, 0),
    "CombinedNonMaxSuppression, scores": suppressed(BOXES, 1),
    "CombinedNonMaxSuppression, classes": suppressed(BOXES, 2),
    "CombinedNonMaxSuppression, numbers": suppressed(BOXES, 3),
    "CombinedNonMaxSuppression, fewer than found": suppressed(BOXES, 1, max_total_size=2),
    "CombinedNonMaxSuppression, padded for each class": suppressed(BOXES, 0, max_total_size=20, pad_per_class=True, clip_boxes=False),
    "CombinedNonMaxSuppression, nothing found": suppressed(BOXES, 0, score_threshold=2.0),
    "CombinedNonMaxSuppression, boxes of each class": suppressed(BOXES_OF_CLASSES, 0),
    "CombinedNonMaxSuppression, classes of boxes of each class": suppressed(BOXES_OF_CLASSES, 2),
    "ExtractImagePatches": patches([3, 2], [2, 3], [1, 1], "VALID"),
    "ExtractImagePatches, padded": patches([3, 4], [2, 2], [2, 1], "SAME"),
    "ExtractImagePatches of bytes": patches([2, 2], [2, 2], [1, 1], "VALID", IMAGES.astype(np.uint8)),
    "HSVToRGB": (lambda x: raw.HSVToRGB(images=x), COLORS),
    "LeftShift": (lambda x, y: raw.LeftShift(x=x, y=y), np.array([1, -3, 5, 7, -1], np.int32), np.array([0, 2, 31, 40, -1], np.int32)),
    "LeftShift of bytes": (lambda x, y: raw.LeftShift(x=x, y=y), np.array([1, 200, 255], np.uint8), np.array([7, 1, 9], np.uint8)),
    "ListDiff": (lambda x, y: raw.ListDiff(x=x, y=y)[0], np.array([5, 1, 2, 5, 9, 1], np.int32), np.array([1, 7, 2], np.int32)),
    "ListDiff, nothing taken": (lambda x, y: raw.ListDiff(x=x, y=y)[0], X[0], np.zeros(0, np.float32)),
    "ListDiff, places": (lambda x, y: raw.ListDiff(x=x, y=y)[1], np.array([5, 1, 2, 5, 9, 1], np.int64), np.array([1, 7, 2], np.int64)),
    "MaxPoolWithArgmax": pooled(0, "SAME"),
    "MaxPoolWithArgmax, places": pooled(1, "SAME"),
    "MaxPoolWithArgmax, places in all images": pooled(1, "VALID", include_batch_in_index=True, Targmax=tf.int32),
    "Mfcc": (lambda x: raw.Mfcc(spectrogram=spectrum(x), sample_rate=16000), SOUND),
    "Mfcc with options": (lambda x: raw.Mfcc(spectrogram=spectrum(x), sample_rate=8000, upper_frequency_limit=3800.0, lower_frequency_limit=100.0,
                                             filterbank_channel_count=20, dct_coefficient_count=20), SOUND),
    "RGBToHSV": (lambda x: raw.RGBToHSV(images=x), COLORS),
    "RGBToHSV of grays": (lambda x: raw.RGBToHSV(images=x), GRAYS),
    "ResizeArea": resized("ResizeArea", [3, 4]),
    "ResizeArea, align_corners": resized("ResizeArea", [3, 4], align_corners=True),
    "ResizeArea, larger": resized("ResizeArea", [15, 20], IMAGES.astype(np.uint8)),
    "ResizeBicubic": resized("ResizeBicubic", [12, 5], IMAGES / 255),
    "ResizeBicubic, align_corners": resized("ResizeBicubic", [4, 1], IMAGES / 255, align_corners=True),
    "ResizeBicubic, half_pixel_centers": resized("ResizeBicubic", [12, 5], IMAGES / 255, half_pixel_centers=True),
    "ResizeBicubic of bytes": resized("ResizeBicubic", [14, 18], IMAGES.astype(np.uint8), half_pixel_centers=True),
    "RightShift": (lambda x, y: raw.RightShift(x=x, y=y), np.array([1, -3, 500, 7, -100], np.int32), np.array([0, 1, 3, 40, -1], np.int32)),
    "Xdivy": (lambda x, y: raw.Xdivy(x=x, y=y), HOLES, np.array([0, 2, 1, 3], np.float32)),
    "Xlogy": (lambda x, y: raw.Xlogy(x=x, y=y), HOLES, np.array([0, 2, 1, 3], np.float32)),
}


class Operators(InFolder):
    def test_all(self):
        for name, (function, *arrays) in CASES.items():
            with self.subTest(name):
                signature = [tf.TensorSpec(array.shape, array.dtype, name=f"in{i}") for i, array in enumerate(map(np.asarray, arrays))]
                concrete = tf.function(function, input_signature=signature).get_concrete_function()
                (self.folder / "net.pb").write_bytes(concrete.graph.as_graph_def().SerializeToString())
                feeds = {f"in{i}": array for i, array in enumerate(arrays)}
                [(output, actual)] = self.outputs(self.folder / "net.pb", feeds).items()
                expected = function(*map(tf.constant, arrays)).numpy()
                self.keep(self.folder / "net.pb", feeds, {output: expected})
                self.assertEqual(actual.dtype, expected.dtype)
                np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
