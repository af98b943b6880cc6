// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/detection.h>
#include <minnow/vision/structure.h>

#include <cmath>
#include <map>

#include "vision/canvas.h"

namespace minnow::vision {
namespace {

void check_steps(std::string_view function, const TensorView& scores, int blank) {
  const Shape& shape = scores.shape();
  if (scores.dtype() != DType::f32 || shape.rank() != 2 || (shape[0] > 0 && shape[1] == 0))
    throw InvalidArgument("{}: the scores are f32[steps, labels], not {}{}", function, scores.dtype(), shape);
  if (blank < 0 || blank >= std::max<int64_t>(shape[1], 1))
    throw InvalidArgument("{}: the blank label is {} of {}", function, blank, shape[1]);
}

/// log(exp(a) + exp(b)).
double sum_of_logs(double a, double b) {
  if (a < b) std::swap(a, b);
  return std::isinf(b) ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

std::vector<int> ctc_greedy(const TensorView& scores, int blank) try {
  check_steps("ctc_greedy", scores, blank);
  std::vector<int> labels;
  int before = blank;
  const float* row = static_cast<const float*>(scores.data());
  for (int64_t i = 0; i < scores.shape()[0]; ++i, row += scores.shape()[1]) {
    const int label = static_cast<int>(std::max_element(row, row + scores.shape()[1]) - row);
    if (label != blank && label != before) labels.push_back(label);
    before = label;
  }
  return labels;
} catch (...) {
  throw_as_error();
}

std::vector<std::pair<std::vector<int>, double>> ctc_beam(const TensorView& probabilities, int width, int blank) try {
  check_steps("ctc_beam", probabilities, blank);
  if (width <= 0 || width > 10000) throw InvalidArgument("ctc_beam: {} sequences are kept, not 1 to 10000", width);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  struct Ways {  // logarithms of the probabilities of all ways to a sequence that end with a blank, and with its last label
    double blank = kNever, label = kNever;
    double all() const { return sum_of_logs(blank, label); }
  };
  using Beam = std::map<std::vector<int>, Ways>;
  Beam beam{{{}, {0, kNever}}};
  const int64_t labels = probabilities.shape()[1];
  const float* row = static_cast<const float*>(probabilities.data());
  const auto best = [](const Beam& from) {
    std::vector<std::pair<std::vector<int>, double>> list;
    for (const auto& [sequence, ways] : from) list.push_back({sequence, ways.all()});
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return list;
  };
  for (int64_t step = 0; step < probabilities.shape()[0]; ++step, row += labels) {
    Beam next;
    for (const auto& [sequence, ways] : beam)
      for (int64_t label = 0; label < labels; ++label) {
        if (!(row[label] > 0)) continue;
        const double now = std::log(static_cast<double>(row[label]));
        const int number = static_cast<int>(label);
        if (number == blank) {
          Ways& same = next[sequence];
          same.blank = sum_of_logs(same.blank, ways.all() + now);
          continue;
        }
        const bool again = !sequence.empty() && sequence.back() == number;
        if (again) {
          Ways& same = next[sequence];
          same.label = sum_of_logs(same.label, ways.label + now);
        }
        const double before = again ? ways.blank : ways.all();
        if (std::isinf(before)) continue;
        std::vector<int> longer = sequence;
        longer.push_back(number);
        Ways& more = next[longer];
        more.label = sum_of_logs(more.label, before + now);
      }
    if (next.size() > static_cast<size_t>(width)) {
      auto list = best(next);
      list.resize(static_cast<size_t>(width));
      Beam kept;
      for (const auto& [sequence, score] : list) kept[sequence] = next[sequence];
      next = std::move(kept);
    }
    beam = std::move(next);
  }
  return best(beam);
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> db_boxes(const ImageView& map, double threshold, double least_score, double unclip, double least_side,
                                   int most) try {
  check_not_empty("db_boxes", map);
  check_dtype("db_boxes", map, {DType::f32});
  check_channels("db_boxes", map, {1});
  Tensor bits = new_image(DType::u8, map.height(), map.width(), 1);
  const MutableImageView set = writable(bits);
  for (int64_t y = 0; y < map.height(); ++y)
    for (int64_t x = 0; x < map.width(); ++x) set.row<uint8_t>(y)[x] = map.row<float>(y)[x] > threshold;
  const Contours contours = find_contours(bits, Retrieval::list, ChainApproximation::simple);
  std::vector<float> corners, scores;
  for (size_t i = 0; i + 1 < contours.starts.size() && static_cast<int64_t>(scores.size()) < most; ++i) {
    const int64_t first = contours.starts[i], count = contours.starts[i + 1] - first;
    Tensor points(DType::i32, Shape{count, 2});
    int32_t* to = points.writable().data<int32_t>();
    for (int64_t k = 0; k < count; ++k) {
      const Point& p = contours.points[static_cast<size_t>(first + k)];
      *to++ = p.x, *to++ = p.y;
    }
    RotatedRect box = min_area_rect(points);
    if (std::min(box.width, box.height) < least_side) continue;
    // The mean of the map over the area, not its box: lines of text may be bent.
    const Polygon polygon(contours.points.begin() + first, contours.points.begin() + first + count);
    int64_t left = map.width(), top = map.height(), right = 0, bottom = 0;
    for (const Point& p : polygon) {
      left = std::min<int64_t>(left, p.x), right = std::max<int64_t>(right, p.x);
      top = std::min<int64_t>(top, p.y), bottom = std::max<int64_t>(bottom, p.y);
    }
    Tensor within = new_image(DType::u8, bottom - top + 1, right - left + 1, 1);
    std::fill_n(within.writable().data<uint8_t>(), within.elements(), uint8_t{0});
    fill_poly(writable(within), {polygon}, {1}, LineType::eight, 0, {static_cast<int>(-left), static_cast<int>(-top)});
    double sum = 0, pixels = 0;
    for (int64_t y = top; y <= bottom; ++y)
      for (int64_t x = left; x <= right; ++x)
        if (within.data<uint8_t>()[(y - top) * (right - left + 1) + x - left]) sum += map.row<float>(y)[x], ++pixels;
    if (pixels == 0 || sum / pixels < least_score) continue;
    // A rectangle that grows by the same distance on all sides stays one.
    const float distance = static_cast<float>(box.width * box.height * unclip / (2.0 * (box.width + box.height)));
    box.width += 2 * distance;
    box.height += 2 * distance;
    if (std::min(box.width, box.height) < least_side + 2) continue;
    const Tensor outer = box_points(box);
    corners.insert(corners.end(), outer.data<float>(), outer.data<float>() + 8);
    scores.push_back(static_cast<float>(sum / pixels));
  }
  const int64_t found = static_cast<int64_t>(scores.size());
  std::pair<Tensor, Tensor> result{Tensor(DType::f32, Shape{found, 4, 2}), Tensor(DType::f32, Shape{found})};
  std::copy(corners.begin(), corners.end(), result.first.writable().data<float>());
  std::copy(scores.begin(), scores.end(), result.second.writable().data<float>());
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
