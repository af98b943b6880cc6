// SPDX-License-Identifier: Apache-2.0
#include "importers/detection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace minnow {

Expr filled_up(TypedBuilder& p, const Expr& x, const Expr& size) {
  const int64_t rank = std::max<int64_t>(p.rank(x), 1);
  const Expr missing = p.op("Sub", {size, p.shape_of(x, 0, 1)});
  const Ints before(static_cast<size_t>(rank), 0), behind(static_cast<size_t>(rank - 1), 0);
  Exprs pads = {p.constant(before), missing};
  if (rank > 1) pads.push_back(p.constant(behind));
  return p.op("Pad", {x, p.concat(pads, 0), p.scalar(0, p.dtype(x))});
}

Expr column(TypedBuilder& p, const Expr& x, int64_t i) { return p.slice(x, {i}, {i + 1}, {-1}); }

Expr suppressed(TypedBuilder& p, const Expr& boxes, const Expr& scores, const Expr& most, const Expr& overlap, const Expr& least) {
  const Expr y = p.op("NonMaxSuppression", {boxes, scores, most, overlap, least});
  if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>{Dim{}, Dim{3, {}}};
  return y;
}

Exprs post_process(TypedBuilder& p, const Expr& all_codes, const Expr& all_scores, const Expr& anchors, PostProcess options) {
  const int64_t classes = options.classes, most = options.most, per_box = std::min(options.per_box, classes);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (classes < 1 || most < 1 || per_box < 1 || classes > kMost || most > kMost)
    throw InvalidModel("{} classes and {} detections are not valid", classes, most);
  const Expr codes = p.slice(p.reshape(all_codes, Ints{-1, p.dim(all_codes, -1)}), {0}, {4}, {1});
  if (options.scales.size() != 4) throw InvalidModel("{} scales are not valid", options.scales.size());
  for (double scale : options.scales)
    if (!(scale > 0)) throw InvalidModel("a scale of {} is not valid", scale);
  const Expr relative = p.op("Div", {codes, p.reals({4}, options.scales)});
  const auto half = [&](const Expr& x, int64_t from) { return p.slice(x, {from}, {from + 2}, {1}); };
  const Expr extent = half(anchors, 2);
  const Expr center = p.op("Add", {p.op("Mul", {half(relative, 0), extent}), half(anchors, 0)});
  const Expr size = p.op("Mul", {p.op("Mul", {p.op("Exp", {half(relative, 2)}), extent}), p.scalar(0.5)});
  const Expr boxes = p.concat({p.op("Sub", {center, size}), p.op("Add", {center, size})}, 1);  // [n, 4]
  const int64_t given = p.dim(all_scores, -1);
  if (given < classes) throw InvalidModel("has scores for {} classes and not for {}", given, classes);
  const Expr scores = p.slice(p.reshape(all_scores, Ints{-1, given}), {given - classes}, {given}, {1});  // without the background
  const Expr overlap = p.scalar(options.overlap), least = p.scalar(options.least);
  const Expr all_boxes = p.unsqueeze(boxes, {0});

  Expr found_boxes, found_classes, found_scores, found;  // found: how many boxes
  int64_t rows = most;
  if (options.by_class) {
    // Each class by itself, then the best of all.
    const Expr by_class = p.unsqueeze(p.transpose(scores, {1, 0}), {0});
    const Expr left = suppressed(p, all_boxes, by_class, p.constant({options.per_class}), overlap, least);
    const Expr values = p.vector(p.op("GatherND", {by_class, left}));
    const Exprs best = p.ops("TopK", {values, p.op("Min", {p.shape_of(values), p.constant({most})})}, 2);
    const Expr chosen = p.gather(left, best[1], 0);
    found_scores = best[0];
    found_classes = p.vector(column(p, chosen, 1));
    found_boxes = p.gather(boxes, p.vector(column(p, chosen, 2)), 0);
    found = p.shape_of(found_scores);
  } else {
    // Boxes by their best score, each with its best classes.
    const Exprs best = p.ops("TopK", {scores, p.constant({per_box})}, 2);
    const Expr top = p.reshape(column(p, best[0], 0), Ints{1, 1, -1});
    const Expr left = p.vector(column(p, suppressed(p, all_boxes, top, p.constant({most}), overlap, least), 2));
    found_scores = p.vector(p.gather(best[0], left, 0));
    found_classes = p.vector(p.gather(best[1], left, 0));
    found_boxes = p.gather(boxes, left, 0);
    if (per_box > 1) found_boxes = p.reshape(p.op("Tile", {found_boxes, p.constant({1, per_box})}), Ints{-1, 4});
    rows = most * per_box;
    found = p.shape_of(left);
  }
  const Expr size_out = p.constant({rows});
  const auto finished = [&](const Expr& x) { return p.unsqueeze(filled_up(p, x, size_out), {0}); };
  return {finished(found_boxes), finished(p.cast(found_classes, DType::f32)), finished(found_scores), p.cast(found, DType::f32)};
}

Exprs proposals(TypedBuilder& p, const Expr& all_scores, const Expr& all_moves, const Expr& image_info, const Proposals& options) {
  const int64_t count = static_cast<int64_t>(options.anchors.size()) / 4, height = p.dim(all_scores, 2), width = p.dim(all_scores, 3);
  if (options.stride < 1 || options.most_before < 1 || options.most < 1 || count < 1)
    throw InvalidModel("{} anchors, stride {} and {} of {} regions are not valid", count, options.stride, options.most,
                       options.most_before);
  if (height < 1 || width < 1) throw Unsupported("a map of unknown size is not supported");
  if (p.dim(all_scores, 0) != 1) throw Unsupported("a batch of more than one image is not supported");
  if (p.dim(all_scores, 1) != 2 * count || p.dim(all_moves, 1) != 4 * count)
    throw InvalidModel("{} scores and {} moves do not fit {} anchors", p.dim(all_scores, 1), p.dim(all_moves, 1), count);
  constexpr int64_t kMostAnchors = 1 << 24;
  if (width > kMostAnchors / count || height > kMostAnchors / count / width)
    throw Unsupported("{} x {} places are too many", height, width);
  // Extents and centres of the anchors at the first place; other places are offset by the stride. The graph computes every tensor of the
  // map's size, because a small file may declare a huge map.
  std::vector<double> extents, centres;
  for (size_t i = 0; i < options.anchors.size(); i += 4)
    for (size_t axis = i; axis < i + 2; ++axis) {
      extents.push_back(options.anchors[axis + 2] - options.anchors[axis] + (options.counts_ends ? 1 : 0));
      centres.push_back(options.anchors[axis] + extents.back() / 2);
    }
  const int64_t n = height * width * count;
  const auto steps = [&](int64_t size, const Ints& along) {
    const Expr range = p.op("Range", {p.scalar(0, DType::i64), p.scalar(static_cast<double>(size), DType::i64), p.scalar(1, DType::i64)});
    const Expr far = p.op("Mul", {p.cast(range, DType::f32), p.scalar(static_cast<double>(options.stride))});
    return p.op("Expand", {p.reshape(far, along), p.constant({height, width, 1})});
  };
  const Expr grid = p.reshape(p.concat({steps(width, {1, width, 1}), steps(height, {height, 1, 1})}, 2), Ints{height * width, 1, 2});
  // The order is that of places, then anchors.
  const auto rows = [&](const Expr& x, int64_t wide) {
    return p.reshape(p.transpose(p.reshape(x, Ints{count, wide, height, width}), {2, 3, 0, 1}), Ints{height * width, count, wide});
  };
  const Expr scores = p.vector(rows(p.slice(all_scores, {count}, {2 * count}, {1}), 1)), moves = rows(all_moves, 4);
  const auto half_of_moves = [&](int64_t from) { return p.slice(moves, {from}, {from + 2}, {2}); };
  const Expr one = p.scalar(1), extent = p.reals({1, count, 2}, extents);
  const Expr centre = p.op("Add", {p.op("Mul", {half_of_moves(0), extent}), p.op("Add", {grid, p.reals({1, count, 2}, centres)})});
  const Expr reach = p.op("Mul", {p.op("Mul", {p.op("Exp", {half_of_moves(2)}), extent}), p.scalar(0.5)});
  const Expr image = p.vector(image_info), size = p.slice(image, {0}, {2}, {0});
  const Expr last = p.op("Sub", {p.gather(size, p.constant({1, 0}), 0), one});  // of x, of y
  const auto within = [&](const Expr& x) { return p.reshape(p.op("Max", {p.op("Min", {x, last}), p.scalar(0)}), Ints{n, 2}); };
  Expr from = within(p.op("Sub", {centre, reach})), to = within(p.op("Add", {centre, reach}));
  // Drop small boxes.
  Expr behind = p.op("Add", {to, one});
  const Expr least = p.op("Mul", {p.slice(image, {2}, {3}, {0}), p.scalar(options.least_size)});
  const Expr narrowest = p.op("ReduceMin", {p.op("Sub", {behind, from}), p.constant({1})}, {{"keepdims", int64_t{0}}});
  Expr counted = p.op("Where", {p.op("GreaterOrEqual", {narrowest, least}), scores, p.scalar(-2)});
  if (!options.counts_ends) behind = to;  // where regions overlap
  if (options.most_before < n) {
    const Exprs best = p.ops("TopK", {counted, p.constant({options.most_before})}, 2);
    counted = best[0], from = p.gather(from, best[1], 0), to = p.gather(to, best[1], 0), behind = p.gather(behind, best[1], 0);
  }
  const Expr chosen = suppressed(p, p.unsqueeze(p.concat({from, behind}, 1), {0}), p.unsqueeze(counted, {0, 1}), p.constant({options.most}),
                                 p.scalar(options.overlap), p.scalar(-1));
  const Expr places = p.vector(column(p, chosen, 2));
  const Expr corners = p.gather(p.concat({from, to}, 1), places, 0);
  const Expr images = p.fill(p.concat({p.shape_of(places), p.constant({1})}, 0), 0, DType::f32);
  return {p.concat({images, corners}, 1), p.unsqueeze(p.gather(counted, places, 0), {1})};
}

Expr prior_boxes(TypedBuilder& p, PriorBoxes options) {
  const int64_t height = options.height, width = options.width, image_height = options.image_height, image_width = options.image_width;
  const std::vector<double>&least = options.least, &most = options.most;
  if (least.empty()) throw InvalidModel("has no min_size");
  if (!most.empty() && most.size() != least.size()) throw InvalidModel("has {} min_size and {} max_size", least.size(), most.size());
  std::vector<double> ratios = {1};
  for (double ratio : options.ratios) {
    if (!(ratio > 0)) throw InvalidModel("an aspect ratio of {} is not positive", ratio);
    if (std::any_of(ratios.begin(), ratios.end(), [&](double known) { return std::fabs(known - ratio) < 1e-6; })) continue;
    ratios.push_back(ratio);
    if (options.flip) ratios.push_back(1 / ratio);
  }
  std::vector<double> variance = options.variance;
  if (variance.empty()) variance = {0.1};
  if (variance.size() == 1) variance.assign(4, variance[0]);
  if (variance.size() != 4) throw InvalidModel("has {} variances", variance.size());
  const double offset = options.offset;
  const bool clip = options.clip;
  const auto step = [](double given, int64_t image, int64_t map) {
    return given != 0 ? given : static_cast<double>(image) / static_cast<double>(map);
  };
  const double step_h = step(options.step_height, image_height, height), step_w = step(options.step_width, image_width, width);
  if (height < 1 || width < 1 || image_height < 1 || image_width < 1 ||
      height * width * static_cast<int64_t>(least.size() * (ratios.size() + 1)) > 1'000'000)
    throw InvalidModel("a map of {} by {} for an image of {} by {} is not valid", height, width, image_height, image_width);
  std::vector<std::pair<double, double>> sizes;  // width, height
  for (size_t i = 0; i < least.size(); ++i) {
    sizes.emplace_back(least[i], least[i]);
    if (!most.empty()) sizes.emplace_back(std::sqrt(least[i] * most[i]), std::sqrt(least[i] * most[i]));
    for (size_t k = 1; k < ratios.size(); ++k) sizes.emplace_back(least[i] * std::sqrt(ratios[k]), least[i] / std::sqrt(ratios[k]));
  }
  std::vector<double> boxes, variances;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (const auto& [box_w, box_h] : sizes) {
        const double center_x = (static_cast<double>(x) + offset) * step_w, center_y = (static_cast<double>(y) + offset) * step_h;
        for (const double edge :
             {(center_x - box_w / 2) / static_cast<double>(image_width), (center_y - box_h / 2) / static_cast<double>(image_height),
              (center_x + box_w / 2) / static_cast<double>(image_width), (center_y + box_h / 2) / static_cast<double>(image_height)})
          boxes.push_back(clip ? std::clamp(edge, 0.0, 1.0) : edge);
        variances.insert(variances.end(), variance.begin(), variance.end());
      }
  const int64_t count = static_cast<int64_t>(boxes.size());
  boxes.insert(boxes.end(), variances.begin(), variances.end());
  return p.reals({1, 2, count}, boxes);
}

}  // namespace minnow
