// SPDX-License-Identifier: Apache-2.0
// Distances from the nearest zero: by two passes with a mask of 3 x 3 or 5 x 5, or exact.
#include <minnow/vision/filters.h>

#include "vision/filter.h"
#include "vision/loops/median.h"

namespace minnow::vision {
namespace {

constexpr int kShift = 16;

/// Steps to a neighbour beside, across a corner, and a knight's move away, as numbers of 16 bits after the point.
struct Steps {
  uint32_t side, corner, knight;
};

Steps steps_of(Metric metric, int mask) {
  const auto fixed = [](float x) { return static_cast<uint32_t>(std::lrint(x * (1 << kShift))); };
  if (metric == Metric::chessboard) return {fixed(1), fixed(1), fixed(2)};
  if (metric == Metric::l1) return {fixed(1), fixed(2), fixed(3)};
  if (mask == 3) return {fixed(0.955f), fixed(1.3693f), 0};
  return {fixed(1), fixed(1.4f), fixed(2.1969f)};
}

/// Distances in a frame of two pixels.
class Chamfer {
 public:
  Chamfer(const ImageView& image, Steps steps, bool wide, uint32_t farthest)
      : image_(image),
        steps_(steps),
        wide_(wide),
        width_(image.width()),
        height_(image.height()),
        pitch_(width_ + 4),
        farthest_(farthest),
        found_(static_cast<size_t>(pitch_ * (height_ + 4)), farthest_) {}

  /// Two passes: first the rows above and the pixel before count, then the rows below and the pixel behind.
  void find() {
    const MiscLoops& loops = misc_loops();
    const uint32_t side = steps_.side;
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* const from = image_.row<uint8_t>(y);
      uint32_t* const at = row(y);
      for (int64_t x = 0; x < width_; ++x) at[x] = from[x] ? farthest_ : 0;
      loops.near_row(row(y - 1), row(y - 2), side, steps_.corner, steps_.knight, wide_, at, width_);
      loops.along_row(at, side, false, width_);
    }
    for (int64_t y = height_ - 1; y >= 0; --y) {
      uint32_t* const at = row(y);
      loops.near_row(row(y + 1), row(y + 2), side, steps_.corner, steps_.knight, wide_, at, width_);
      loops.along_row(at, side, true, width_);
    }
  }

  /// The same, and which zero each pixel's distance is from: the labels of the zeros are given, in order.
  void find_labels(const MutableImageView& labels) {
    std::vector<int32_t> numbers(found_.size());
    const auto number = [&](int64_t y) { return numbers.data() + (y + 2) * pitch_ + 2; };
    const int64_t pitch = pitch_;
    const auto [side, corner, knight] = steps_;
    const auto improve = [=, side = side, corner = corner, knight = knight](uint32_t* at, int32_t* label, int64_t sign) {
      uint32_t best = *at;
      int64_t from = 0;
      const auto step = [&](int64_t offset, uint32_t length) {
        const uint32_t distance = at[sign * offset] + length;
        from = distance < best ? sign * offset : from;
        best = std::min(distance, best);
      };
      step(-2 * pitch - 1, knight);
      step(-2 * pitch + 1, knight);
      step(-pitch - 2, knight);
      step(-pitch - 1, corner);
      step(-pitch, side);
      step(-pitch + 1, corner);
      step(-pitch + 2, knight);
      step(-1, side);
      *at = best;
      *label = label[from];
    };
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* const from = image_.row<uint8_t>(y);
      uint32_t* const at = row(y);
      std::copy(labels.row<int32_t>(y), labels.row<int32_t>(y) + width_, number(y));
      for (int64_t x = 0; x < width_; ++x) {
        if (from[x])
          improve(at + x, number(y) + x, 1);
        else
          at[x] = 0;
      }
    }
    for (int64_t y = height_ - 1; y >= 0; --y) {
      uint32_t* const at = row(y);
      for (int64_t x = width_ - 1; x >= 0; --x)
        if (at[x] > steps_.side) improve(at + x, number(y) + x, -1);
      std::copy(number(y), number(y) + width_, labels.row<int32_t>(y));
    }
  }

  void write(const MutableImageView& to) {
    for (int64_t y = 0; y < height_; ++y) misc_loops().fixed_f32(row(y), 1.0f / (1 << kShift), to.row<float>(y), width_);
  }

 private:
  uint32_t* row(int64_t y) { return found_.data() + (y + 2) * pitch_ + 2; }

  const ImageView image_;
  const Steps steps_;
  const bool wide_;
  const int64_t width_, height_, pitch_;
  const uint32_t farthest_;
  std::vector<uint32_t> found_;
};

/// Exact: distances along columns, then the lower envelope of parabolas along rows.
void exact(const ImageView& image, const MutableImageView& to) {
  const int64_t width = image.width(), height = image.height();
  constexpr float kFar = 1e15f;
  std::vector<int32_t> columns(static_cast<size_t>(width * height));
  const int32_t none = 1 << 28;
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* const row = image.row<uint8_t>(y);
    int32_t* const at = columns.data() + y * width;
    const int32_t* const above = y ? at - width : nullptr;
    for (int64_t x = 0; x < width; ++x) at[x] = row[x] ? (above ? std::min(above[x] + 1, none) : none) : 0;
  }
  for (int64_t y = height - 2; y >= 0; --y) {
    int32_t* const at = columns.data() + y * width;
    for (int64_t x = 0; x < width; ++x) at[x] = std::min(at[x], at[x + width] + 1);
  }
  for_rows(height, 16 * width, [&](int64_t first, int64_t last) {
    const size_t n = static_cast<size_t>(width);
    std::vector<double> heights(n), from(n + 1);
    std::vector<int64_t> at(n);
    for (int64_t y = first; y < last; ++y) {
      const int32_t* const row = columns.data() + y * width;
      for (size_t x = 0; x < n; ++x) heights[x] = row[x] >= none ? std::numeric_limits<double>::infinity() : double(row[x]) * row[x];
      int64_t count = 0;
      for (int64_t x = 0; x < width; ++x) {
        const double h = heights[static_cast<size_t>(x)];
        if (h == std::numeric_limits<double>::infinity()) continue;
        double begin = -kFar;
        while (count > 0) {
          const int64_t p = at[static_cast<size_t>(count - 1)];
          begin = (h - heights[static_cast<size_t>(p)] + double(x) * double(x) - double(p) * double(p)) * 0.5 / double(x - p);
          if (begin > from[static_cast<size_t>(count - 1)]) break;
          --count;
        }
        if (count == 0) begin = -kFar;
        at[static_cast<size_t>(count)] = x;
        from[static_cast<size_t>(count)] = begin;
        ++count;
      }
      float* const out = to.row<float>(y);
      int64_t k = 0;
      for (int64_t x = 0; x < width; ++x) {
        while (k + 1 < count && from[static_cast<size_t>(k + 1)] < static_cast<double>(x)) ++k;
        const int64_t p = at[static_cast<size_t>(k)];
        out[x] = static_cast<float>(std::sqrt(double(x - p) * double(x - p) + heights[static_cast<size_t>(p)]));
      }
    }
  });
}

void bytes(const ImageView& image, const MutableImageView& to) {
  const int64_t width = image.width();
  const auto next = [](int a) { return std::min(a + 1, 255); };
  for (int64_t y = 0; y < image.height(); ++y) {
    uint8_t* const out = to.row<uint8_t>(y);
    const uint8_t* const above = y ? to.row<uint8_t>(y - 1) : nullptr;
    int left = 255;
    for (int64_t x = 0; x < width; ++x) {
      left = image.row<uint8_t>(y)[x] ? std::min(next(left), above ? next(above[x]) : 255) : 0;
      out[x] = static_cast<uint8_t>(left);
    }
  }
  for (int64_t y = image.height() - 1; y >= 0; --y) {
    uint8_t* const out = to.row<uint8_t>(y);
    const uint8_t* const below = y + 1 < image.height() ? to.row<uint8_t>(y + 1) : nullptr;
    int right = 255;
    for (int64_t x = width - 1; x >= 0; --x) {
      right = std::min({int{out[x]}, next(right), below ? next(below[x]) : 255});
      out[x] = static_cast<uint8_t>(right);
    }
  }
}

void check(const ImageView& image, Metric metric, int mask) {
  check_not_empty("distanceTransform", image);
  check_dtype("distanceTransform", image, {DType::u8});
  check_channels("distanceTransform", image, {1});
  if (mask != 0 && mask != 3 && mask != 5)
    throw InvalidArgument("distanceTransform: the mask is 3, 5 or DIST_MASK_PRECISE (0), not {}", mask);
  if (metric < Metric::l1 || metric > Metric::chessboard)
    throw InvalidArgument("distanceTransform: the distance is DIST_L1, DIST_L2 or DIST_C (1 to 3), not {}", static_cast<int>(metric));
}

bool has_zero(const ImageView& image) {
  for (int64_t y = 0; y < image.height(); ++y)
    if (std::memchr(image.row<uint8_t>(y), 0, static_cast<size_t>(image.width()))) return true;
  return false;
}

/// Zeros that touch, at corners too, have one number, in the order of their first pixels.
void label_zeros(const ImageView& image, int32_t* labels) {
  struct Run {
    int32_t y, first, last, parent;
  };
  const int32_t width = static_cast<int32_t>(image.width()), height = static_cast<int32_t>(image.height());
  std::vector<Run> runs;
  const auto root = [&](int32_t run) {
    while (runs[static_cast<size_t>(run)].parent != run) {
      int32_t& parent = runs[static_cast<size_t>(run)].parent;
      parent = runs[static_cast<size_t>(parent)].parent;
      run = parent;
    }
    return run;
  };
  size_t above = 0, above_end = 0;
  for (int32_t y = 0; y < height; ++y) {
    const uint8_t* const row = image.row<uint8_t>(y);
    const size_t begin = runs.size();
    for (int32_t x = 0; x < width; ++x) {
      if (row[x]) continue;
      const int32_t first = x, number = static_cast<int32_t>(runs.size());
      while (x < width && !row[x]) ++x;
      runs.push_back({y, first, x - 1, number});
      while (above < above_end && runs[above].last < first - 1) ++above;
      for (size_t k = above; k < above_end && runs[k].first <= x; ++k) {
        // The root is the run that came first.
        const int32_t a = root(static_cast<int32_t>(k)), b = root(number);
        runs[static_cast<size_t>(std::max(a, b))].parent = std::min(a, b);
      }
    }
    above = begin, above_end = runs.size();
  }
  int32_t count = 0;
  std::vector<int32_t> numbers(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t first = static_cast<size_t>(root(static_cast<int32_t>(i)));
    if (first == i) numbers[i] = ++count;
    const Run& run = runs[i];
    int32_t* const row = labels + int64_t{run.y} * width;
    std::fill(row + run.first, row + run.last + 1, numbers[first]);
  }
}

}  // namespace

Tensor distance_transform(const ImageView& image, Metric metric, int mask, DType dtype, Output output) try {
  check(image, metric, mask);
  if (dtype == DType::undefined) dtype = DType::f32;
  const bool is_bytes = dtype == DType::u8 && metric == Metric::l1;
  Result result("distanceTransform", output, is_bytes ? DType::u8 : DType::f32, image.height(), image.width(), 1, {&image});
  if (is_bytes) {
    bytes(image, result.view());
  } else if (!has_zero(image)) {
    // OpenCV's (IPP's) values where there is no zero.
    const float far = mask == 0 && metric == Metric::l2 ? 18446743523953729536.0f : std::numeric_limits<float>::max();
    for (int64_t y = 0; y < image.height(); ++y) std::fill(result.view().row<float>(y), result.view().row<float>(y) + image.width(), far);
  } else if (mask == 0 && metric == Metric::l2) {
    exact(image, result.view());
  } else {
    if (metric != Metric::l2) mask = 3;
    Chamfer chamfer(image, steps_of(metric, mask), mask == 5, 0xC0000000u);
    chamfer.find();
    chamfer.write(result.view());
  }
  return result.finish();
} catch (...) {
  throw_as_error();
}

std::pair<Tensor, Tensor> distance_transform_with_labels(const ImageView& image, Metric metric, int mask, LabelType type) try {
  check(image, metric, mask);
  if (type != LabelType::components && type != LabelType::pixels)
    throw InvalidArgument("distanceTransform: the labels are DIST_LABEL_CCOMP or DIST_LABEL_PIXEL (0 or 1), not {}",
                          static_cast<int>(type));
  Tensor distances = new_image(DType::f32, image.height(), image.width(), 1);
  Tensor labels = new_image(DType::i32, image.height(), image.width(), 1);
  int32_t* const numbers = writable(labels).row<int32_t>(0);
  std::fill(numbers, numbers + image.height() * image.width(), 0);
  if (type == LabelType::components) {
    label_zeros(image, numbers);
  } else {
    int32_t count = 0;
    for (int64_t y = 0; y < image.height(); ++y)
      for (int64_t x = 0; x < image.width(); ++x)
        if (!image.row<uint8_t>(y)[x]) numbers[y * image.width() + x] = ++count;
  }
  const Steps steps = steps_of(metric, 5);
  Chamfer chamfer(image, steps, true, std::numeric_limits<uint32_t>::max() - steps.knight);
  chamfer.find_labels(writable(labels));
  chamfer.write(writable(distances));
  return {std::move(distances), std::move(labels)};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::vision
