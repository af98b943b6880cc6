// SPDX-License-Identifier: Apache-2.0
// Detections: decoding of boxes and non-maximum suppression.
#include <algorithm>

#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/rules.h"

namespace minnow::tflite {
namespace {

double number_of(const TfliteNode& node, const std::map<std::string, FlexValue>& options, const std::string& name,
                 std::optional<double> fallback = {}) {
  const auto found = options.find(name);
  if (found != options.end()) {
    if (const int64_t* integer = std::get_if<int64_t>(&found->second)) return static_cast<double>(*integer);
    if (const double* real = std::get_if<double>(&found->second)) return *real;
  }
  if (!fallback) node.fail("option \"{}\" is missing", name);
  return *fallback;
}

/// [n, ...] with zeros behind up to `size` rows.
Expr filled_up(Parts& p, const Expr& x, const Expr& size) {
  const int64_t rank = std::max<int64_t>(p.rank(x), 1);
  const Expr missing = p.op("Sub", {size, p.shape_of(x, 0, 1)});
  const Ints before(static_cast<size_t>(rank), 0), behind(static_cast<size_t>(rank - 1), 0);
  Exprs pads = {p.constant(before), missing};
  if (rank > 1) pads.push_back(p.constant(behind));
  return p.op("Pad", {x, p.concat(pads, 0), p.scalar(0, p.dtype(x))});
}

Expr column(Parts& p, const Expr& x, int64_t i) { return p.slice(x, {i}, {i + 1}, {-1}); }

/// Indices [n, 3] (batch, class, box) of what is left, by score. boxes [1, n, 4], scores [1, classes, n].
Expr suppressed(Parts& p, const Expr& boxes, const Expr& scores, const Expr& most, const Expr& overlap, const Expr& least) {
  const Expr y = p.op("NonMaxSuppression", {boxes, scores, most, overlap, least});
  if (!y.value()->type.dims) y.value()->type.dims = std::vector<Dim>{Dim{}, Dim{3, {}}};
  return y;
}

}  // namespace

Exprs import_detection_post_process(TfliteNode& node, Parts& p) {
  const std::map<std::string, FlexValue> options = read_flex_map(node.info.custom_options);
  const auto number = [&](const char* name, std::optional<double> fallback = {}) { return number_of(node, options, name, fallback); };
  const int64_t classes = static_cast<int64_t>(number("num_classes")), most = static_cast<int64_t>(number("max_detections"));
  const int64_t per_box = std::min(static_cast<int64_t>(number("max_classes_per_detection", 1)), classes);
  if (classes < 1 || most < 1 || per_box < 1) node.fail("{} classes and {} detections are not valid", classes, most);
  // Encodings [1, n, 4] (y, x, height, width) relative to anchors [n, 4].
  const Expr codes = p.slice(p.reshape(node.input(0), Ints{-1, p.dim(node.input(0), -1)}), {0}, {4}, {1});
  const Expr anchors = node.input(2);
  const std::vector<double> scales = {number("y_scale"), number("x_scale"), number("h_scale"), number("w_scale")};
  for (double scale : scales)
    if (!(scale > 0)) node.fail("a scale of {} is not valid", scale);
  const Expr relative = p.op("Div", {codes, p.reals({4}, scales)});
  const auto half = [&](const Expr& x, int64_t from) { return p.slice(x, {from}, {from + 2}, {1}); };
  const Expr extent = half(anchors, 2);
  const Expr center = p.op("Add", {p.op("Mul", {half(relative, 0), extent}), half(anchors, 0)});
  const Expr size = p.op("Mul", {p.op("Mul", {p.op("Exp", {half(relative, 2)}), extent}), p.scalar(0.5)});
  const Expr boxes = p.concat({p.op("Sub", {center, size}), p.op("Add", {center, size})}, 1);  // [n, 4]
  const int64_t given = p.dim(node.input(1), -1);
  if (given < classes) node.fail("has scores for {} classes and not for {}", given, classes);
  const Expr scores = p.slice(p.reshape(node.input(1), Ints{-1, given}), {given - classes}, {given}, {1});  // without the background
  const Expr overlap = p.scalar(number("nms_iou_threshold")), least = p.scalar(number("nms_score_threshold"));
  const Expr all_boxes = p.unsqueeze(boxes, {0});

  Expr found_boxes, found_classes, found_scores, found;  // found: how many boxes
  int64_t rows = most;
  if (number("use_regular_nms", 0) != 0) {
    // Each class by itself, then the best of all.
    const Expr by_class = p.unsqueeze(p.transpose(scores, {1, 0}), {0});
    const Expr left =
        suppressed(p, all_boxes, by_class, p.constant({static_cast<int64_t>(number("detections_per_class", 100))}), overlap, least);
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

Exprs import_non_max_suppression(TfliteNode& node, Parts& p) {
  // Boxes [n, 4], scores [n], most results, overlap, least score, and for version 5 the sigma of the soft form.
  const bool soft = node.rule->name == "NON_MAX_SUPPRESSION_V5";
  if (soft) {
    const auto sigma = p.number(node.input(5));
    if (!sigma || *sigma != 0) node.refuse("suppression by lowered scores (sigma is not 0) is not supported");
  }
  const Expr most = p.vector(p.i64(node.input(2)));
  const Expr found = suppressed(p, p.unsqueeze(node.input(0), {0}), p.unsqueeze(node.input(1), {0, 1}), most, p.vector(node.input(3)),
                                p.vector(node.input(4)));
  const Expr indices = p.vector(column(p, found, 2));
  const Expr count = p.reshape(p.shape_of(indices), Ints{});
  if (!soft) return {filled_up(p, indices, most), count};
  return {filled_up(p, indices, most), filled_up(p, p.gather(node.input(1), indices, 0), most), count};
}

}  // namespace minnow::tflite
