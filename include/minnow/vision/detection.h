// SPDX-License-Identifier: Apache-2.0
// Around detectors of objects, keypoints and text: pictures as inputs of networks, and boxes, masks and texts from their outputs.
// Boxes are (x1, y1, x2, y2) in pixels, unless they are OpenCV's (x, y, width, height).
#pragma once
#include <minnow/vision/image.h>

#include <string>
#include <utility>
#include <vector>

namespace minnow::vision {

// ---- Inputs of networks

/// Pictures as a tensor [n, channels, height, width]: (resized picture - mean) * scale; of other dtypes than u8 in floats. size {0, 0}: the
/// first picture's. swap_red_blue: of channels 0 and 2, whose means are swapped, too. crop: keeps the shape of the pictures' content and
/// cuts what is beyond the middle. dtype: f32, or u8 without mean and scale.
MINNOW_API Tensor blob_from_images(const std::vector<ImageView>& images, double scale = 1, Size size = {}, const Scalar4& mean = {},
                                   bool swap_red_blue = false, bool crop = false, DType dtype = DType::f32);
/// f32 [n, channels, height, width] as pictures [height, width, channels].
MINNOW_API std::vector<Tensor> images_from_blob(const TensorView& blob);

/// Where a picture lies within another, which it was scaled into: x' = x * scale + left, y' = y * scale + top.
struct Letterbox {
  double scale = 1;
  int left = 0, top = 0;
  Size source, size;  // the picture's, and of what it lies in
};
/// The picture scaled to fit `size`, in the middle of a ground of one colour. enlarge: smaller pictures too.
MINNOW_API std::pair<Tensor, Letterbox> letterbox(const ImageView& image, Size size, const Scalar4& color = {114, 114, 114, 114},
                                                  bool enlarge = true);
/// Points f32 [..., 2], or [..., 3] with a score, which stays as it is, or boxes [..., 4], of the letterbox as those of the source, within
/// it.
MINNOW_API Tensor out_of_letterbox(const TensorView& points, const Letterbox& where);
/// Masks f32 [n, h, w] over the letterbox, of any resolution, as u8 [n, height, width] over the source: 1 where they are more than
/// `threshold`.
MINNOW_API Tensor scale_masks(const TensorView& masks, const Letterbox& where, double threshold = 0.5);

// ---- Suppression of boxes that overlap

/// Which boxes (x, y, width, height; [n, 4]) stay, best first: those that overlap a better one by more than `overlap` go; OpenCV's
/// NMSBoxes(). eta: below 1, `overlap` becomes smaller by that factor. most: how many of the best are looked at, 0: all.
MINNOW_API std::vector<int> nms_boxes(const TensorView& boxes, const TensorView& scores, float least_score, float overlap, float eta = 1,
                                      int most = 0);
/// The same, apart for each class.
MINNOW_API std::vector<int> nms_boxes_batched(const TensorView& boxes, const TensorView& scores, const std::vector<int>& classes,
                                              float least_score, float overlap, float eta = 1, int most = 0);

/// The same for rotated boxes, [n, 5]: middle x, y, width, height, degrees.
MINNOW_API std::vector<int> nms_boxes_rotated(const TensorView& boxes, const TensorView& scores, float least_score, float overlap,
                                              float eta = 1, int most = 0);

enum class SoftNms { linear = 1, gaussian = 2 };
/// Boxes whose scores fall by how much they overlap better ones: the new scores and which boxes. Source: N. Bodla et al., Soft-NMS (2017).
MINNOW_API std::pair<std::vector<float>, std::vector<int>> soft_nms_boxes(const TensorView& boxes, const TensorView& scores,
                                                                          float least_score, float overlap, int most = 0,
                                                                          float sigma = 0.5f, SoftNms method = SoftNms::gaussian);
/// The same as nms_boxes for corners (x1, y1, x2, y2), apart for each class where there are classes (i32 or i64 [n], or empty).
MINNOW_API std::vector<int> nms(const TensorView& boxes, const TensorView& scores, float overlap = 0.45f, float least_score = 0,
                                const TensorView& classes = {}, int most = 0);

// ---- Boxes from the outputs of networks, f32 [n, 4], (x1, y1, x2, y2)

/// SSD: `deltas` [n, 4] move and scale `priors` [n, 4] (both as middle x, y, width, height). Source: W. Liu et al., SSD (2016).
MINNOW_API Tensor decode_ssd(const TensorView& deltas, const TensorView& priors, const Scalar4& variances = {0.1, 0.1, 0.2, 0.2});
/// The middles (x, y) of a network's cells in pixels, f32 [n, 2], level after level, and the size of their cells, f32 [n].
MINNOW_API std::pair<Tensor, Tensor> grid_points(Size size, const std::vector<int>& strides, double offset = 0.5);
/// YOLOv8 and its like: `distances` [n, 4 * bins] are weights of whole distances to the left, top, right and bottom, in cells. Source: X.
/// Li et al., Generalized Focal Loss (2020).
MINNOW_API Tensor decode_dfl(const TensorView& distances, const TensorView& points, const TensorView& strides);
/// One level of YOLOv3 to YOLOv7: `output` [anchors * (5 + classes), h, w]. Gives boxes [n, 4] and scores [n, classes]. `version`: 3, or 5
/// for sizes of (2 sigmoid)^2 anchors. Source: J. Redmon and A. Farhadi, YOLOv3 (2018).
MINNOW_API std::pair<Tensor, Tensor> decode_yolo(const TensorView& output, const std::vector<double>& anchors, int stride, int version = 5);

// ---- Text

/// The likeliest labels of a sequence: `scores` f32 [steps, labels], as probabilities or their logarithms. Labels that follow themselves
/// count once, `blank` not at all.
MINNOW_API std::vector<int> ctc_greedy(const TensorView& scores, int blank = 0);
/// The likeliest sequences of labels, with the logarithms of their probabilities, best first, of `width` that are kept at each step.
/// `probabilities`: f32 [steps, labels]. Source: A. Graves et al., Connectionist Temporal Classification (2006).
MINNOW_API std::vector<std::pair<std::vector<int>, double>> ctc_beam(const TensorView& probabilities, int width = 10, int blank = 0);

/// Rotated boxes of text, corners f32 [n, 4, 2], and their scores f32 [n], from a map of probabilities f32 [h, w]. Areas of more than
/// `threshold` whose mean is at least `least_score` grow by `unclip` times their area over their circumference. Source: M. Liao et al.,
/// Real-time Scene Text Detection with Differentiable Binarization (2020).
MINNOW_API std::pair<Tensor, Tensor> db_boxes(const ImageView& probabilities, double threshold = 0.3, double least_score = 0.6,
                                              double unclip = 1.5, double least_side = 3, int most = 1000);

}  // namespace minnow::vision
