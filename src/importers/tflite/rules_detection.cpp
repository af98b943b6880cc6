// SPDX-License-Identifier: Apache-2.0
// Detections: decoding of boxes and non-maximum suppression.
#include <algorithm>

#include "base/numeric.h"
#include "importers/detection.h"
#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/rules.h"

namespace minnow::tflite {

double number_of(const TfliteNode& node, const FlexMap& options, const std::string& name, std::optional<double> fallback) {
  const auto found = options.find(name);
  if (found != options.end()) {
    if (const int64_t* integer = std::get_if<int64_t>(&found->second)) return static_cast<double>(*integer);
    if (const double* real = std::get_if<double>(&found->second)) return *real;
  }
  if (!fallback) node.fail("option \"{}\" is missing", name);
  return *fallback;
}

Exprs import_detection_post_process(TfliteNode& node, TypedBuilder& p) {
  const FlexMap options = read_flex_map(node.info.custom_options);
  const auto number = [&](const char* name, std::optional<double> fallback = {}) { return number_of(node, options, name, fallback); };
  const auto integer = [&](const char* name, std::optional<double> fallback = {}) { return truncate(number(name, fallback)); };
  PostProcess process;
  process.classes = integer("num_classes"), process.most = integer("max_detections");
  process.per_box = integer("max_classes_per_detection", 1), process.per_class = integer("detections_per_class", 100);
  process.scales = {number("y_scale"), number("x_scale"), number("h_scale"), number("w_scale")};
  process.overlap = number("nms_iou_threshold"), process.least = number("nms_score_threshold");
  process.by_class = number("use_regular_nms", 0) != 0;
  return post_process(p, node.input(0), node.input(1), node.input(2), std::move(process));
}

Exprs import_non_max_suppression(TfliteNode& node, TypedBuilder& p) {
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
