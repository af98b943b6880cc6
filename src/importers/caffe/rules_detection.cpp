// SPDX-License-Identifier: Apache-2.0
// SSD's layers and regions of interest.
#include <algorithm>
#include <cmath>

#include "base/memory.h"
#include "base/saturating.h"
#include "importers/builder/arithmetic.h"
#include "importers/caffe/rules.h"
#include "importers/detection.h"

namespace minnow::caffe {

Exprs import_prior_box(CaffeLayer& layer, TypedBuilder& p) {
  // Boxes around every place of bottom 0, relative to the image (bottom 1): [1, 2, 4 n], the second row holding variances.
  const Message& parameters = layer.parameters("prior_box_param");
  const int64_t height = layer.size(layer.bottom(0), 2), width = layer.size(layer.bottom(0), 3);
  int64_t image_h = parameters.integer("img_h", parameters.integer("img_size", 0)),
          image_w = parameters.integer("img_w", parameters.integer("img_size", 0));
  if (image_h == 0) image_h = layer.size(layer.bottom(1), 2);
  if (image_w == 0) image_w = layer.size(layer.bottom(1), 3);
  PriorBoxes boxes{.height = height,
                   .width = width,
                   .image_height = image_h,
                   .image_width = image_w,
                   .least = parameters.reals("min_size"),
                   .most = parameters.reals("max_size"),
                   .ratios = parameters.reals("aspect_ratio"),
                   .variance = parameters.reals("variance")};
  boxes.flip = parameters.flag("flip", true), boxes.clip = parameters.flag("clip", false);
  boxes.offset = parameters.real("offset", 0.5);
  boxes.step_height = parameters.real("step_h", parameters.real("step", 0)),
  boxes.step_width = parameters.real("step_w", parameters.real("step", 0));
  return {prior_boxes(p, std::move(boxes))};
}

Exprs import_detection_output(CaffeLayer& layer, TypedBuilder& p) {
  // Locations [1, 4 n], scores [1, classes n], priors [1, 2, 4 n] -> [1, 1, keep_top_k, 7]: image, class, score, box; the rest zeros.
  const Message& parameters = layer.parameters("detection_output_param");
  const int64_t classes = parameters.integer("num_classes", 0), background = parameters.integer("background_label_id", 0);
  const Message& suppression = parameters.message("nms_param");
  const int64_t top_k = suppression.integer("top_k", -1), keep = parameters.integer("keep_top_k", -1);
  const int64_t code = parameters.choice("code_type", {"", "CORNER", "CENTER_SIZE", "CORNER_SIZE"}, 1);
  if (!parameters.flag("share_location", true)) layer.refuse("locations of every class are not supported");
  if (p.dim(layer.bottom(0), 0) != 1) layer.refuse("a batch of more than one image is not supported");
  if (classes < 1) layer.fail("has {} classes", classes);
  if (code != 2 && code != 1) layer.refuse("code type {} is not supported", code);
  if (keep < 1) layer.refuse("keep_top_k {} is not supported", keep);
  const Expr priors = p.reshape(layer.bottom(2), Ints{2, -1, 4});
  const Expr prior = p.squeeze(p.slice(priors, {0}, {1}, {0}), {0}), variance = p.squeeze(p.slice(priors, {1}, {2}, {0}), {0});
  Expr moves = p.reshape(layer.bottom(0), Ints{-1, 4});
  if (!parameters.flag("variance_encoded_in_target", false)) moves = p.op("Mul", {moves, variance});
  const auto first = [&](const Expr& x) { return p.slice(x, {0}, {2}, {1}); };
  const auto second = [&](const Expr& x) { return p.slice(x, {2}, {4}, {1}); };
  Expr boxes;
  if (code == 1) {
    boxes = p.op("Add", {prior, moves});
  } else {
    const Expr extent = p.op("Sub", {second(prior), first(prior)});
    const Expr center = p.op("Mul", {p.op("Add", {first(prior), second(prior)}), p.scalar(0.5)});
    const Expr moved = p.op("Add", {p.op("Mul", {first(moves), extent}), center});
    const Expr half = p.op("Mul", {p.op("Mul", {p.op("Exp", {second(moves)}), extent}), p.scalar(0.5)});
    boxes = p.concat({p.op("Sub", {moved, half}), p.op("Add", {moved, half})}, 1);
  }
  if (parameters.flag("clip", false)) boxes = clip(p, boxes, 0, 1);
  Expr scores = p.transpose(p.reshape(layer.bottom(1), Ints{-1, classes}), {1, 0});  // [classes, n]
  Ints labels;
  for (int64_t i = 0; i < classes; ++i)
    if (i != background) labels.push_back(i);
  if (labels.empty()) layer.fail("has no class but the background");
  scores = p.gather(scores, p.constant(labels), 0);
  const double least = parameters.real("confidence_threshold", -3.4e38);
  if (top_k > 0) {
    // Candidates of a class are its best only: others fall below the threshold.
    const int64_t count = layer.size(scores, 1);
    const Exprs best = p.ops("TopK", {scores, p.constant({std::min(top_k, count)})}, 2);
    const Expr worst = p.slice(best[0], {std::min(top_k, count) - 1}, {std::min(top_k, count)}, {1});
    scores = p.op("Where", {p.op("GreaterOrEqual", {scores, worst}), scores, p.scalar(least - 1)});
  }
  const Expr by_class = p.unsqueeze(scores, {0});
  // NonMaxSuppression takes corners in either order.
  const Expr left = p.op("NonMaxSuppression", {p.unsqueeze(boxes, {0}), by_class, p.constant({layer.size(scores, 1)}),
                                               p.scalar(suppression.real("nms_threshold", 0.3)), p.scalar(least)});
  if (!left.value()->type.dims) left.value()->type.dims = std::vector<Dim>{Dim{}, Dim{3, {}}};
  const Expr values = p.vector(p.op("GatherND", {by_class, left}));
  // The best over all classes, then in the order of classes again.
  const Exprs best = p.ops("TopK", {values, p.op("Min", {p.shape_of(values), p.constant({keep})})}, 2);
  const Exprs places = p.ops("TopK", {best[1], p.shape_of(best[1])}, 2, {{"largest", int64_t{0}}});
  const Expr chosen = p.gather(left, places[0], 0);
  const auto column = [&](int64_t i) { return p.slice(chosen, {i}, {i + 1}, {1}); };
  const Expr label = p.cast(p.gather(p.constant(labels), column(1), 0), DType::f32);
  const Expr rows = p.concat(
      {p.cast(column(0), DType::f32), label, p.unsqueeze(p.gather(values, places[0], 0), {1}), p.gather(boxes, p.vector(column(2)), 0)}, 1);
  const Expr missing = p.op("Sub", {p.constant({keep}), p.shape_of(places[0])});
  const Expr filled = p.op("Pad", {rows, p.concat({p.constant({0, 0}), missing, p.constant({0})}, 0), p.scalar(0)});
  return {p.reshape(filled, Ints{1, 1, keep, 7})};
}

Exprs import_roi_pooling(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("roi_pooling_param");
  const Ints size = {parameters.integer("pooled_h", 0), parameters.integer("pooled_w", 0)};
  const Expr rois = p.rank(layer.bottom(1)) == 2 ? layer.bottom(1) : p.reshape(layer.bottom(1), Ints{-1, 5});
  return {p.op("MaxRoiPool", {layer.bottom(0), rois},
               {{"pooled_shape", size}, {"spatial_scale", static_cast<float>(parameters.real("spatial_scale", 1))}})};
}

Exprs import_roi_align(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("roi_align_param");
  const Expr rois = p.rank(layer.bottom(1)) == 2 ? layer.bottom(1) : p.reshape(layer.bottom(1), Ints{-1, 5});
  const Expr image = p.vector(p.i64(p.slice(rois, {0}, {1}, {1})));
  return {p.op("RoiAlign", {layer.bottom(0), p.slice(rois, {1}, {5}, {1}), image},
               {{"output_height", parameters.integer("pooled_h", 0)},
                {"output_width", parameters.integer("pooled_w", 0)},
                {"spatial_scale", static_cast<float>(parameters.real("spatial_scale", 1))},
                {"sampling_ratio", parameters.integer("sampling_ratio", 0)},
                {"coordinate_transformation_mode", std::string("output_half_pixel")}})};
}

namespace {

/// Anchors as in Faster R-CNN: boxes of every ratio and scale around one cell of `base` pixels, [4 n]. Both corners belong to the box.
std::vector<double> anchors_of(double base, const std::vector<double>& ratios, const std::vector<double>& scales) {
  std::vector<double> anchors;
  const double centre = 0.5 * (base - 1);
  for (double ratio : ratios)
    for (double scale : scales) {
      const double across = std::nearbyint(std::sqrt(base * base / ratio)), width = across * scale,
                   height = std::nearbyint(across * ratio) * scale;
      for (double edge : {-0.5 * (width - 1), -0.5 * (height - 1), 0.5 * (width - 1), 0.5 * (height - 1)}) anchors.push_back(centre + edge);
    }
  return anchors;
}

}  // namespace

Exprs import_proposal(CaffeLayer& layer, TypedBuilder& p) {
  const Message& parameters = layer.parameters("proposal_param");
  const auto or_else = [](std::vector<double> given, std::vector<double> usual) { return given.empty() ? usual : given; };
  if (layer.bottoms.size() != 3) layer.fail("takes scores, moves and the image's size, {} are given", layer.bottoms.size());
  Proposals options;
  options.anchors = anchors_of(parameters.real("base_size", 16), or_else(parameters.reals("ratio"), {0.5, 1, 2}),
                               or_else(parameters.reals("scale"), {8, 16, 32}));
  options.stride = parameters.integer("feat_stride", 16), options.most_before = parameters.integer("pre_nms_topn", 6000);
  options.most = parameters.integer("post_nms_topn", 300);
  options.least_size = parameters.real("min_size", 16), options.overlap = parameters.real("nms_thresh", 0.7);
  Exprs tops = proposals(p, layer.bottom(0), layer.bottom(1), layer.bottom(2), options);
  if (layer.top_count() < 2) tops.pop_back();
  return tops;
}

Exprs import_ps_roi_pooling(CaffeLayer& layer, TypedBuilder& p) {
  // Dai et al. 2016, arXiv:1605.06409: bin (i, j) of a region is the mean over its part of the image, in the channels of that bin.
  // Maps [1, classes g g, h, w], regions [r, 5] -> [r, classes, g, g].
  const Message& parameters = layer.parameters("psroi_pooling_param");
  const int64_t classes = parameters.integer("output_dim", 0), bins = parameters.integer("group_size", 0);
  const Expr& maps = layer.bottom(0);
  const Ints size = {layer.size(maps, 2), layer.size(maps, 3)};
  if (layer.bottoms.size() != 2) layer.fail("takes maps and regions, {} are given", layer.bottoms.size());
  if (classes < 1 || bins < 1 || bins > 1024 || layer.size(maps, 1) / bins / bins != classes || layer.size(maps, 1) % (bins * bins) != 0)
    layer.fail("{} maps are not {} classes of {} x {} bins", layer.size(maps, 1), classes, bins, bins);
  if (layer.size(maps, 0) != 1) layer.refuse("a batch of more than one image is not supported");
  const Expr scale = p.scalar(parameters.real("spatial_scale", 1)), zero = p.scalar(0), half = p.scalar(0.5);
  const Expr rois = p.rank(layer.bottom(1)) == 2 ? layer.bottom(1) : p.reshape(layer.bottom(1), Ints{-1, 5});
  const auto rounded = [&](int64_t i) { return p.op("Floor", {p.op("Add", {column(p, rois, i), half})}); };  // as C's round, from zero on
  // Returns a mask [r, bins, length]: 1 if a row (or column) belongs to the bin of the region. `number` becomes the counts [r, bins].
  const auto share = [&](int64_t begin_column, int64_t end_column, int64_t length, Expr& number) {
    const Expr begin = p.op("Mul", {rounded(begin_column), scale});
    const Expr end = p.op("Mul", {p.op("Add", {rounded(end_column), p.scalar(1)}), scale});
    const Expr step = p.op("Div", {p.op("Max", {p.op("Sub", {end, begin}), p.scalar(0.1)}), p.scalar(static_cast<double>(bins))});
    const Charge table(product_of({static_cast<size_t>(std::max<int64_t>(length, 0)), 2 * sizeof(double)}));
    std::vector<double> low, places;
    for (int64_t i = 0; i < bins; ++i) low.push_back(static_cast<double>(i));
    for (int64_t i = 0; i < length; ++i) places.push_back(static_cast<double>(i));
    const auto edge = [&](double later, std::string_view round) {
      const Expr at = p.op("Add", {p.reals({1, bins}, low), p.scalar(later)});
      return p.unsqueeze(clip(p, p.op(round, {p.op("Add", {p.op("Mul", {at, step}), begin})}), 0, static_cast<double>(length)), {2});
    };
    const Expr place = p.reals({1, 1, length}, places);
    const Expr inside = p.op("And", {p.op("GreaterOrEqual", {place, edge(0, "Floor")}), p.op("Less", {place, edge(1, "Ceil")})});
    const Expr mask = p.cast(inside, DType::f32);
    number = p.op("ReduceSum", {mask, p.constant({2})}, {{"keepdims", int64_t{0}}});
    return mask;
  };
  Expr tall, wide;
  const Expr rows = share(2, 4, size[0], tall), columns = share(1, 3, size[1], wide);
  // Sums along each row first: [bins across, classes bins h, w] times [bins across, w, r].
  const Expr parts = p.transpose(p.reshape(maps, Ints{classes, bins, bins, size[0], size[1]}), {2, 0, 1, 3, 4});
  const Expr along = p.op("MatMul", {p.reshape(parts, Ints{bins, classes * bins * size[0], size[1]}), p.transpose(columns, {1, 2, 0})});
  const Expr by_row = p.reshape(along, Ints{bins, classes, bins, size[0], -1});  // [across, classes, down, h, r]
  const Expr weights = p.unsqueeze(p.transpose(rows, {1, 2, 0}), {0, 1});        // [1, 1, down, h, r]
  const Expr sums = p.op("ReduceSum", {p.op("Mul", {by_row, weights}), p.constant({3})}, {{"keepdims", int64_t{0}}});
  const Expr y = p.transpose(sums, {3, 1, 2, 0});
  const Expr area = p.op("Mul", {p.unsqueeze(tall, {1, 3}), p.unsqueeze(wide, {1, 2})});
  const Expr empty = p.op("Equal", {area, zero});
  return {p.op("Where", {empty, zero, p.op("Div", {y, p.op("Where", {empty, p.scalar(1), area})})})};
}

}  // namespace minnow::caffe
