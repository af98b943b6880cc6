// SPDX-License-Identifier: Apache-2.0
// SSD's layers and regions of interest.
#include <algorithm>
#include <cmath>

#include "importers/caffe/rules.h"
#include "importers/detection.h"

namespace minnow::caffe {

Exprs import_prior_box(CaffeLayer& layer, Parts& p) {
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

Exprs import_detection_output(CaffeLayer& layer, Parts& p) {
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
  if (parameters.flag("clip", false)) boxes = p.clip(boxes, 0, 1);
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

Exprs import_roi_pooling(CaffeLayer& layer, Parts& p) {
  const Message& parameters = layer.parameters("roi_pooling_param");
  const Ints size = {parameters.integer("pooled_h", 0), parameters.integer("pooled_w", 0)};
  const Expr rois = p.rank(layer.bottom(1)) == 2 ? layer.bottom(1) : p.reshape(layer.bottom(1), Ints{-1, 5});
  return {p.op("MaxRoiPool", {layer.bottom(0), rois},
               {{"pooled_shape", size}, {"spatial_scale", static_cast<float>(parameters.real("spatial_scale", 1))}})};
}

Exprs import_roi_align(CaffeLayer& layer, Parts& p) {
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

}  // namespace minnow::caffe
