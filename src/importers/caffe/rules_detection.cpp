// SPDX-License-Identifier: Apache-2.0
// SSD's layers and regions of interest.
#include <algorithm>
#include <cmath>

#include "importers/caffe/rules.h"

namespace minnow::caffe {

Exprs import_prior_box(CaffeLayer& layer, Parts& p) {
  // Boxes around every place of bottom 0, relative to the image (bottom 1): [1, 2, 4 n], the second row holding variances.
  const Message& parameters = layer.parameters("prior_box_param");
  const int64_t height = layer.size(layer.bottom(0), 2), width = layer.size(layer.bottom(0), 3);
  int64_t image_h = parameters.integer("img_h", parameters.integer("img_size", 0)),
          image_w = parameters.integer("img_w", parameters.integer("img_size", 0));
  if (image_h == 0) image_h = layer.size(layer.bottom(1), 2);
  if (image_w == 0) image_w = layer.size(layer.bottom(1), 3);
  const std::vector<double> least = parameters.reals("min_size"), most = parameters.reals("max_size");
  if (least.empty()) layer.fail("has no min_size");
  if (!most.empty() && most.size() != least.size()) layer.fail("has {} min_size and {} max_size", least.size(), most.size());
  std::vector<double> ratios = {1};
  const bool flip = parameters.flag("flip", true);
  for (double ratio : parameters.reals("aspect_ratio")) {
    if (!(ratio > 0)) layer.fail("an aspect ratio of {} is not positive", ratio);
    if (std::any_of(ratios.begin(), ratios.end(), [&](double known) { return std::fabs(known - ratio) < 1e-6; })) continue;
    ratios.push_back(ratio);
    if (flip) ratios.push_back(1 / ratio);
  }
  std::vector<double> variance = parameters.reals("variance");
  if (variance.empty()) variance = {0.1};
  if (variance.size() == 1) variance.assign(4, variance[0]);
  if (variance.size() != 4) layer.fail("has {} variances", variance.size());
  const double step = parameters.real("step", 0), offset = parameters.real("offset", 0.5);
  const auto step_of = [&](std::string_view name, int64_t image, int64_t map) {
    const double given = parameters.real(name, step);
    return given != 0 ? given : static_cast<double>(image) / static_cast<double>(map);
  };
  const double step_h = step_of("step_h", image_h, height), step_w = step_of("step_w", image_w, width);
  if (height < 1 || width < 1 || image_h < 1 || image_w < 1 ||
      height * width * static_cast<int64_t>(least.size() * (ratios.size() + 1)) > 10'000'000)
    layer.fail("a map of {} by {} for an image of {} by {} is not valid", height, width, image_h, image_w);
  std::vector<std::pair<double, double>> sizes;  // width, height
  for (size_t i = 0; i < least.size(); ++i) {
    sizes.emplace_back(least[i], least[i]);
    if (!most.empty()) sizes.emplace_back(std::sqrt(least[i] * most[i]), std::sqrt(least[i] * most[i]));
    for (size_t k = 1; k < ratios.size(); ++k) sizes.emplace_back(least[i] * std::sqrt(ratios[k]), least[i] / std::sqrt(ratios[k]));
  }
  const bool clip = parameters.flag("clip", false);
  std::vector<double> boxes, variances;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (const auto& [box_w, box_h] : sizes) {
        const double center_x = (static_cast<double>(x) + offset) * step_w, center_y = (static_cast<double>(y) + offset) * step_h;
        for (const double edge :
             {(center_x - box_w / 2) / static_cast<double>(image_w), (center_y - box_h / 2) / static_cast<double>(image_h),
              (center_x + box_w / 2) / static_cast<double>(image_w), (center_y + box_h / 2) / static_cast<double>(image_h)})
          boxes.push_back(clip ? std::clamp(edge, 0.0, 1.0) : edge);
        variances.insert(variances.end(), variance.begin(), variance.end());
      }
  const int64_t count = static_cast<int64_t>(boxes.size());
  boxes.insert(boxes.end(), variances.begin(), variances.end());
  return {p.reals({1, 2, count}, boxes)};
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
