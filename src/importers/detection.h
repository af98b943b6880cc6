// SPDX-License-Identifier: Apache-2.0
// Detection layers shared by several formats: anchors, decoding of boxes, non-maximum suppression. Errors (InvalidModel, Unsupported) are
// sentences without a place; the importers add it.
#pragma once
#include "importers/builder/typed_builder.h"

namespace minnow {

/// [n, ...] with zeros behind up to `size` rows (i64, one element).
Expr filled_up(TypedBuilder& p, const Expr& x, const Expr& size);
/// Column `i` of the last dimension, which stays.
Expr column(TypedBuilder& p, const Expr& x, int64_t i);
/// Indices [n, 3] (batch, class, box) of the remaining boxes, by score. boxes [1, n, 4], scores [1, classes, n].
Expr suppressed(TypedBuilder& p, const Expr& boxes, const Expr& scores, const Expr& most, const Expr& overlap, const Expr& least);

/// TensorFlow's post-processing of detections.
struct PostProcess {
  int64_t classes = 0, most = 0;         // of the model; detections
  int64_t per_box = 1, per_class = 100;  // classes per box; boxes per class, if classes are suppressed separately
  std::vector<double> scales;            // of y, x, height, width
  double overlap = 0.5, least = 0;
  bool by_class = false;
};
/// Encodings [1, n, 4] (y, x, height, width), scores [1, n, classes (with or without background)], anchors [n, 4] -> boxes, classes,
/// scores, their number.
Exprs post_process(TypedBuilder& p, const Expr& codes, const Expr& scores, const Expr& anchors, PostProcess options);

/// Regions around anchors of a map, after Ren et al. 2015, arXiv:1506.01497.
struct Proposals {
  std::vector<double> anchors;             // corners x1, y1, x2, y2 of each, at the first place
  int64_t stride = 16;                     // of the image, from place to place
  int64_t most_before = 6000, most = 300;  // regions by score, before and after suppression
  double least_size = 16, overlap = 0.7;   // a region's width and height, in units of the image's scale
  bool counts_ends = true;                 // widths count both corners
};
/// Scores [1, 2 a, h, w] (background first), moves [1, 4 a, h, w], image [1, 3] (height, width, scale) -> regions [n, 5] (image 0, corners)
/// and their scores [n, 1].
Exprs proposals(TypedBuilder& p, const Expr& scores, const Expr& moves, const Expr& image, const Proposals& options);

/// SSD's boxes around every place of a map, relative to the image.
struct PriorBoxes {
  int64_t height = 0, width = 0, image_height = 0, image_width = 0;
  std::vector<double> least, most, ratios;  // sizes; ratios beside 1
  bool flip = true, clip = false;
  std::vector<double> variance;
  double step_height = 0, step_width = 0, offset = 0.5;  // steps of 0: the image divided by the map
};
/// [1, 2, 4 n], the second row holding variances.
Expr prior_boxes(TypedBuilder& p, PriorBoxes options);

}  // namespace minnow
