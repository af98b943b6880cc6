// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kCenterPointBox{"center_point_box", false,
                                          MINNOW_DOC("boxes are [x center, y center, width, height], not [y1, x1, y2, x2]")};

struct Counts {
  Size batches, classes, boxes;
};

Counts counts_of(const NodeView& node) {
  const Sizes boxes = node.input_sizes(0), scores = node.input_sizes(1);
  if (boxes.rank() != 3 || differ(boxes[2], 4)) node.fail("boxes should have shape [batches, boxes, 4], they have shape {}", boxes);
  if (scores.rank() != 3 || differ(scores[0], boxes[0]) || differ(scores[2], boxes[1]))
    node.fail("scores should have shape [{}, classes, {}], they have shape {}", boxes[0], boxes[1], scores);
  for (size_t i : {2, 3, 4})
    if (!node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, it has shape {}", i, node.input_name(i), node.input_sizes(i));
  return {boxes[0], scores[1], boxes[1]};
}

Shapes infer_shapes(const NodeView& node) {
  // While types are inferred with symbols, the result is a list of triples whatever the inputs are.
  if (node.is_symbolic() && (!node.has_sizes(0) || !node.has_sizes(1))) return {OutputShape::upper_bound({Size::unknown(), 3})};
  const Counts counts = counts_of(node);
  if (!node.has_input(2)) return {Sizes{0, 3}};
  if (!node.is_constant(2)) return {node.is_symbolic() ? OutputShape::upper_bound({Size::unknown(), 3}) : OutputShape::unknown()};
  const Size most = larger(0, smaller(node.int_scalar(2), counts.boxes));
  return {OutputShape::upper_bound({counts.batches * counts.classes * most, 3})};
}

struct Box {
  float x1, y1, x2, y2;
  float area() const { return (x2 - x1) * (y2 - y1); }
};

Box box_at(const float* numbers, bool center_point) {
  if (center_point) {
    const float half_width = numbers[2] / 2, half_height = numbers[3] / 2;
    return {numbers[0] - half_width, numbers[1] - half_height, numbers[0] + half_width, numbers[1] + half_height};
  }
  // Any two opposite corners.
  return {std::min(numbers[1], numbers[3]), std::min(numbers[0], numbers[2]), std::max(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2])};
}

/// Intersection over union, in the single precision that boxes come in; a box without area overlaps nothing.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height, both = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && both > 0 && common / both > threshold;
}

void reference(const NodeView& node, KernelArgs& args) {
  const Shape &box_shape = node.input_shape(0), &score_shape = node.input_shape(1);
  const int64_t batches = box_shape[0], classes = score_shape[1], count = box_shape[1];
  if (!args.has_input(2)) return;  // no box is asked for, and the output is known to be empty
  const int64_t most = args.ints(2)[0];
  const auto number = [&](size_t i) { return args.has_input(i) ? static_cast<float>(args.reals(i)[0]) : 0; };
  const float iou = number(3), least = number(4);
  if (!(iou >= 0 && iou <= 1)) args.fail("iou_threshold should lie in [0, 1], it is {}", iou);
  const bool thresholded = args.has_input(4), center_point = node.attribute(kCenterPointBox);
  const float *boxes = args.input(0).data<float>(), *scores = args.input(1).data<float>();
  Numbers<int64_t> selected, order;
  std::vector<Box> kept;
  Pace pace;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t c = 0; c < classes; ++c) {
      const float *score = scores + (batch * classes + c) * count, *box = boxes + batch * count * 4;
      order.clear();
      for (int64_t i = 0; i < count; ++i)
        if (score[i] == score[i] && (!thresholded || score[i] > least)) order.push_back(i);
      // Boxes of equal scores keep their order.
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
      kept.clear();
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        pace.step(kept.size() + 1);
        const Box candidate = box_at(box + 4 * i, center_point);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return overlap(candidate, other, iou); })) continue;
        kept.push_back(candidate);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  const MutableTensorView y = args.allocate_output(0, {static_cast<int64_t>(selected.size() / 3), 3});
  std::copy(selected.begin(), selected.end(), y.data<int64_t>());
}

constexpr List<Operator> definitions() {
  constexpr DTypes kF32 = one_of({DType::f32});
  return {
      {.name = "NonMaxSuppression",
       .since = 11,
       .doc = MINNOW_DOC("For each image and class, boxes in order of falling score, without those that overlap a better one by more than "
                         "iou_threshold (intersection over union): rows [image, class, box]. At most max_output_boxes_per_class of each "
                         "class, with scores above score_threshold."),
       .inputs = {{"boxes", kF32},
                  {"scores", kF32},
                  {"max_output_boxes_per_class", kI64, kOptional},
                  {"iou_threshold", kF32, kOptional},
                  {"score_threshold", kF32, kOptional}},
       .outputs = {{"selected_indices", fixed(DType::i64)}},
       .attributes = {kCenterPointBox},
       .infer_shapes = infer_shapes,
       .reference = reference}};
}

}  // namespace

std::span<const Operator> non_max_suppression_operators() { return operator_table<definitions>(); }

}  // namespace minnow
