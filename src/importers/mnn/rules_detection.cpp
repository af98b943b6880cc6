// SPDX-License-Identifier: Apache-2.0
// Boxes, and regions of interest.
#include <algorithm>
#include <cmath>

#include "importers/mnn/rules.h"

namespace minnow::mnn {

Exprs import_non_max_suppression(MnnNode& node, Parts& p) {
  // Boxes [n, 4], scores [n], the most to keep, thresholds: of overlap, of scores.
  const Expr boxes = node.input(0), scores = node.input(1);
  const Expr most = p.i64(p.vector(node.input(2)));
  const auto threshold = [&](size_t i, double fallback) {
    return node.has(i) ? p.vector(p.cast(node.input(i), DType::f32)) : p.reals({1}, std::span(&fallback, 1));
  };
  const Expr left = p.op("NonMaxSuppression",
                         {p.unsqueeze(boxes, {0}), p.reshape(scores, Ints{1, 1, -1}), most, threshold(3, 0.5), threshold(4, -3.4e38)});
  if (!left.value()->type.dims) left.value()->type.dims = std::vector<Dim>{Dim{}, Dim{3, {}}};
  return {p.cast(p.vector(p.slice(left, {2}, {3}, {1})), DType::i32)};
}

Exprs import_roi_align(MnnNode& node, Parts& p) {
  // pooledWidth 0, pooledHeight 1, spatialScale 2, samplingRatio 3, aligned 4, poolType 5, outputGrad 6. Regions with their image in front
  // (five columns), or beside them.
  if (node.flag(6)) node.refuse("its gradient is not supported");
  const Expr x = node.image();
  Expr rois = node.input(1), image;
  if (node.has(2)) {
    image = p.vector(p.i64(node.input(2)));
  } else {
    rois = p.reshape(rois, Ints{-1, 5});
    image = p.vector(p.i64(p.slice(rois, {0}, {1}, {1})));
    rois = p.slice(rois, {1}, {5}, {1});
  }
  return {node.from_image(p.op("RoiAlign", {x, rois, image},
                               {{"output_height", node.integer(1)},
                                {"output_width", node.integer(0)},
                                {"spatial_scale", node.real(2)},
                                {"sampling_ratio", std::max<int64_t>(node.integer(3, -1), 0)},
                                {"mode", std::string(node.integer<int8_t>(5, 1) == 0 ? "max" : "avg")},
                                {"coordinate_transformation_mode", std::string(node.flag(4) ? "half_pixel" : "output_half_pixel")}}))};
}

Exprs import_roi_pooling(MnnNode& node, Parts& p) {
  const Expr rois = p.rank(node.input(1)) == 2 ? node.input(1) : p.reshape(node.input(1), Ints{-1, 5});
  return {node.from_image(p.op("MaxRoiPool", {node.image(), rois},
                               {{"pooled_shape", Ints{node.integer(1), node.integer(0)}}, {"spatial_scale", node.real(2)}}))};
}

}  // namespace minnow::mnn
