// SPDX-License-Identifier: Apache-2.0
// Boxes, and regions of interest.
#include <algorithm>
#include <cmath>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/builder/images.h"
#include "importers/detection.h"
#include "importers/mnn/rules.h"

namespace minnow::mnn {

Exprs import_non_max_suppression(MnnNode& node, TypedBuilder& p) {
  // Boxes [n, 4], scores [n], the most to keep, thresholds: of overlap, of scores.
  const Expr boxes = node.input(0), scores = node.input(1);
  const Expr most = p.i64(p.vector(node.input(2)));
  const auto threshold = [&](size_t i, double fallback) {
    return node.has(i) ? p.vector(p.cast(node.input(i), DType::f32)) : p.reals({1}, std::span(&fallback, 1));
  };
  const Expr left =
      suppressed(p, p.unsqueeze(boxes, {0}), p.reshape(scores, Ints{1, 1, -1}), most, threshold(3, 0.5), threshold(4, -3.4e38));
  return {p.cast(p.vector(column(p, left, 2)), DType::i32)};
}

Exprs import_detection_post_process(MnnNode& node, TypedBuilder& p) {
  // maxDetections 0, maxClassesPerDetection 1, detectionsPerClass 2, score threshold 3, overlap 4, classes 5, by class 6, scales 7
  PostProcess process;
  process.most = node.integer(0), process.per_box = node.integer(1), process.per_class = node.integer(2), process.classes = node.integer(5);
  process.least = static_cast<double>(node.real(3)), process.overlap = static_cast<double>(node.real(4)), process.by_class = node.flag(6);
  for (float scale : node.reals(7)) process.scales.push_back(static_cast<double>(scale));
  return post_process(p, node.input(0), node.input(1), node.input(2), std::move(process));
}

Exprs import_prior_box(MnnNode& node, TypedBuilder& p) {
  // minSizes 0, maxSizes 1, aspectRatios 2, variances 3, flip 4, clip 5, imageWidth 6, imageHeight 7, stepWidth 8, stepHeight 9, offset 10
  const auto reals = [&](size_t field) {
    const std::vector<float> list = node.reals(field);
    return std::vector<double>(list.begin(), list.end());
  };
  const auto size = [&](size_t input, int64_t axis) {
    const int64_t known = p.dim(node.input(input), axis);
    if (known < 1) node.refuse("images of unknown size are not supported");
    return known;
  };
  PriorBoxes boxes;
  boxes.height = size(0, 2), boxes.width = size(0, 3);
  boxes.image_width = node.integer(6) > 0 ? node.integer(6) : size(1, 3),
  boxes.image_height = node.integer(7) > 0 ? node.integer(7) : size(1, 2);
  boxes.least = reals(0), boxes.most = reals(1), boxes.ratios = reals(2), boxes.variance = reals(3);
  boxes.flip = node.flag(4), boxes.clip = node.flag(5);
  boxes.step_width = static_cast<double>(node.integer(8)), boxes.step_height = static_cast<double>(node.integer(9));
  boxes.offset = static_cast<double>(node.real(10));
  node.output_layouts.assign(node.output_layouts.size(), Layout::packed);
  return {p.unsqueeze(prior_boxes(p, std::move(boxes)), {3})};
}

Exprs import_detection_output(MnnNode& node, TypedBuilder& p) {
  // classCount 0, overlap 1, nmsTopK 2, keepTopK 3, score threshold 4. Locations [1, 4 n, 1, 1], scores [1, classes n, 1, 1], boxes
  // [1, 2, 4 n, 1] -> [1, 1, found, 6]: class, score, box, by score. Class 0 is the background.
  const int64_t classes = node.integer(0), keep = node.integer(3);
  if (node.input_count() >= 5) node.refuse("refined boxes are not supported");
  if (classes < 2 || keep < 1) node.fail("{} classes and {} detections are not valid", classes, keep);
  if (p.dim(node.input(0), 0) != 1) node.refuse("a batch of more than one image is not supported");
  const Expr priors = p.reshape(node.input(2), Ints{2, -1, 4});
  const Expr prior = p.squeeze(p.slice(priors, {0}, {1}, {0}), {0}), variance = p.squeeze(p.slice(priors, {1}, {2}, {0}), {0});
  const Expr moves = p.op("Mul", {p.reshape(node.input(0), Ints{-1, 4}), variance});
  const auto half = [&](const Expr& x, int64_t from) { return p.slice(x, {from}, {from + 2}, {1}); };
  const Expr extent = p.op("Sub", {half(prior, 2), half(prior, 0)});
  const Expr middle = p.op("Mul", {p.op("Add", {half(prior, 0), half(prior, 2)}), p.scalar(0.5)});
  const Expr center = p.op("Add", {p.op("Mul", {half(moves, 0), extent}), middle});
  const Expr radius = p.op("Mul", {p.op("Mul", {p.op("Exp", {half(moves, 2)}), extent}), p.scalar(0.5)});
  const Expr boxes = p.concat({p.op("Sub", {center, radius}), p.op("Add", {center, radius})}, 1);
  const Expr scores = p.slice(p.transpose(p.reshape(node.input(1), Ints{-1, classes}), {1, 0}), {1}, {classes}, {0});
  const Expr by_class = p.unsqueeze(scores, {0});
  const Expr left = suppressed(p, p.unsqueeze(boxes, {0}), by_class, p.constant({keep}), p.scalar(static_cast<double>(node.real(1))),
                               p.scalar(static_cast<double>(node.real(4))));
  const Expr values = p.vector(p.op("GatherND", {by_class, left}));
  const Exprs best = p.ops("TopK", {values, p.op("Min", {p.shape_of(values), p.constant({keep})})}, 2);
  const Expr chosen = p.gather(left, best[1], 0);
  const Expr label = p.op("Add", {p.cast(column(p, chosen, 1), DType::f32), p.scalar(1)});
  const Expr rows = p.concat({label, p.unsqueeze(best[0], {1}), p.gather(boxes, p.vector(column(p, chosen, 2)), 0)}, 1);
  return {p.unsqueeze(rows, {0, 1})};
}

Exprs import_proposal(MnnNode& node, TypedBuilder& p) {
  // featStride 0, baseSize 1, preNmsTopN 2, afterNmsTopN 3, nmsThreshold 4, minSize 5, ratios 6, scales 7 (Blobs) -> [afterNmsTopN, 5, 1,
  // 1] and their scores, filled up with zeros.
  const auto reals = [&](size_t field) { return node.parameter().table(field).numbers<float>(7).copy<double>(); };
  const double base = static_cast<double>(node.integer(1));
  const std::vector<double> ratios = reals(6), scales = reals(7);
  if (node.input_count() != 3) node.fail("takes scores, moves and the image's size, {} are given", node.input_count());
  if (ratios.size() > 1024 || scales.size() > 1024) node.refuse("{} by {} anchors are not supported", ratios.size(), scales.size());
  Proposals options;
  for (double ratio : ratios) {
    if (!(ratio > 0)) node.fail("a ratio of {} is not valid", ratio);
    const double width = std::round(base / std::sqrt(ratio)), height = std::round(width * ratio);
    for (double scale : scales)
      for (double corner : {-width, -height, width, height}) options.anchors.push_back((base + corner * scale) * 0.5);
  }
  options.stride = node.integer(0), options.most = node.integer(3), options.counts_ends = false;
  options.most_before = node.integer(2) > 0 ? node.integer(2) : int64_t{1} << 40;
  options.overlap = static_cast<double>(node.real(4)), options.least_size = static_cast<double>(node.integer(5));
  if (options.most > 1 << 20) node.refuse("{} regions are not supported", options.most);
  Exprs found = proposals(p, node.input(0), node.input(1), node.input(2), options);
  found.resize(std::min<size_t>(found.size(), std::max<size_t>(node.output_count(), 1)));
  for (Expr& x : found) x = p.unsqueeze(filled_up(p, x, p.constant({options.most})), {2, 3});
  node.output_layouts.assign(node.output_layouts.size(), Layout::packed);
  return found;
}

Exprs import_crop_and_resize(MnnNode& node, TypedBuilder& p) {
  // extrapolationValue 0, method 1. Images [N, H, W, C], boxes [n, 4] (y1, x1, y2, x2, from 0 to 1), the image of each, size.
  const Ints size = node.ints(3);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) node.fail("a size of {} is not valid", size);
  const Expr images = node.channels_last() ? node.input(0) : channels_last(p, node.input(0));
  const bool bilinear = node.integer<int8_t>(1) != 1;
  const Expr y = crop_and_resize(p, images, node.input(1), p.vector(node.input(2)), size, bilinear, static_cast<double>(node.real(0)));
  return {node.channels_last() ? y : channels_first(p, y)};
}

Exprs import_roi_align(MnnNode& node, TypedBuilder& p) {
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

Exprs import_roi_pooling(MnnNode& node, TypedBuilder& p) {
  const Expr rois = p.rank(node.input(1)) == 2 ? node.input(1) : p.reshape(node.input(1), Ints{-1, 5});
  return {node.from_image(p.op("MaxRoiPool", {node.image(), rois},
                               {{"pooled_shape", Ints{node.integer(1), node.integer(0)}}, {"spatial_scale", node.real(2)}}))};
}

}  // namespace minnow::mnn
