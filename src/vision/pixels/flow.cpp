// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision/geometry.h>

#include <cfloat>

#include "base/no_memory.h"
#include "vision/points/points.h"

namespace minnow::vision {
namespace {

constexpr int kBits = 14;  // of weights between pixels
constexpr float kScale = 1.f / (1 << 20);

int descaled(int x, int bits) { return (x + (1 << (bits - 1))) >> bits; }

/// A picture with a border of the window's size around it.
struct Level {
  Tensor padded;
  int64_t height, width;
  const uint8_t* at(int64_t y, int64_t x, const Size& window, int64_t channels) const {
    return static_cast<const uint8_t*>(padded.data()) + ((y + window.height) * stride(window, channels) + (x + window.width) * channels);
  }
  int64_t stride(const Size& window, int64_t channels) const { return (width + 2 * window.width) * channels; }
};

std::vector<Level> pyramid_of(const ImageView& image, const Size& window, int levels) {
  std::vector<Level> pyramid;
  Tensor smaller;
  ImageView from = image;
  for (int level = 0;; ++level) {
    pyramid.push_back({copy_make_border(from, window.height, window.height, window.width, window.width, Border::reflect101), from.height(),
                       from.width()});
    const int64_t height = (from.height() + 1) / 2, width = (from.width() + 1) / 2;
    if (level == levels || width <= window.width || height <= window.height) return pyramid;
    smaller = pyr_down(from);
    from = smaller;
  }
}

/// Scharr's derivatives (dx, dy) of each element, with a border of zeros: i16[height + 2 h, width + 2 w, 2 channels].
std::vector<int16_t> derivatives_of(const Level& level, const Size& window, int64_t channels) {
  const int64_t stride = 2 * level.stride(window, channels), elements = level.width * channels;
  std::vector<int16_t> result(static_cast<size_t>(stride * (level.height + 2 * window.height)));
  for_rows(level.height, 8 * elements, [&](int64_t first, int64_t last) {
    std::vector<int> smooth(static_cast<size_t>(elements + 2 * channels)), steep(smooth.size());
    for (int64_t y = first; y < last; ++y) {
      // The border beyond the picture is its reflection.
      const uint8_t* const above = level.at(y > 0 ? y - 1 : level.height > 1 ? 1 : 0, 0, window, channels);
      const uint8_t* const row = level.at(y, 0, window, channels);
      const uint8_t* const below = level.at(y < level.height - 1 ? y + 1 : level.height > 1 ? level.height - 2 : 0, 0, window, channels);
      int* const s = smooth.data() + channels;
      int* const t = steep.data() + channels;
      for (int64_t x = 0; x < elements; ++x) {
        s[x] = (above[x] + below[x]) * 3 + row[x] * 10;
        t[x] = below[x] - above[x];
      }
      const int64_t left = level.width > 1 ? channels : 0, right = (level.width > 1 ? level.width - 2 : 0) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        s[c - channels] = s[left + c], s[elements + c] = s[right + c];
        t[c - channels] = t[left + c], t[elements + c] = t[right + c];
      }
      int16_t* const to = result.data() + (y + window.height) * stride + 2 * window.width * channels;
      for (int64_t x = 0; x < elements; ++x) {
        to[2 * x] = static_cast<int16_t>(s[x + channels] - s[x - channels]);
        to[2 * x + 1] = static_cast<int16_t>((t[x + channels] + t[x - channels]) * 3 + t[x] * 10);
      }
    }
  });
  return result;
}

/// Weights of the four pixels around a place.
struct Between {
  int64_t x, y;
  int w00, w01, w10, w11;
  explicit Between(const Point2f& p) : x(static_cast<int64_t>(std::floor(p.x))), y(static_cast<int64_t>(std::floor(p.y))) {
    const float a = p.x - static_cast<float>(x), b = p.y - static_cast<float>(y);
    w00 = static_cast<int>(std::lrint((1 - a) * (1 - b) * (1 << kBits)));
    w01 = static_cast<int>(std::lrint(a * (1 - b) * (1 << kBits)));
    w10 = static_cast<int>(std::lrint((1 - a) * b * (1 << kBits)));
    w11 = (1 << kBits) - w00 - w01 - w10;
  }
  template <class T>
  int sum(const T* p, int64_t next, int64_t stride) const {
    return p[0] * w00 + p[next] * w01 + p[stride] * w10 + p[stride + next] * w11;
  }
};

/// The pixels around a point in the first picture, and their derivatives, as integers.
class Patch {
 public:
  Patch(Size window, int64_t channels)
      : window_(window),
        channels_(channels),
        row_elements_(window.width * channels),
        pixels_(static_cast<size_t>(row_elements_ * window.height)),
        slopes_(2 * pixels_.size()) {}

  struct Squares {
    float xx, xy, yy;
  };
  /// Reads the window at a place. Returns the sums of the products of derivatives.
  Squares take(const Level& level, const std::vector<int16_t>& derivatives, const Between& place) {
    const int64_t stride = level.stride(window_, channels_);
    float a11 = 0, a12 = 0, a22 = 0;
    for (int64_t y = 0; y < window_.height; ++y) {
      const uint8_t* const in = level.at(place.y + y, place.x, window_, channels_);
      const int16_t* const slope =
          derivatives.data() + (place.y + y + window_.height) * 2 * stride + (place.x + window_.width) * 2 * channels_;
      int16_t* const out = pixels_.data() + y * row_elements_;
      int16_t* const out_slope = slopes_.data() + 2 * y * row_elements_;
      for (int64_t x = 0; x < row_elements_; ++x) {
        out[x] = static_cast<int16_t>(descaled(place.sum(in + x, channels_, stride), kBits - 5));
        const int dx = descaled(place.sum(slope + 2 * x, 2 * channels_, 2 * stride), kBits);
        const int dy = descaled(place.sum(slope + 2 * x + 1, 2 * channels_, 2 * stride), kBits);
        out_slope[2 * x] = static_cast<int16_t>(dx);
        out_slope[2 * x + 1] = static_cast<int16_t>(dy);
        a11 += static_cast<float>(dx * dx), a12 += static_cast<float>(dx * dy), a22 += static_cast<float>(dy * dy);
      }
    }
    return {a11 * kScale, a12 * kScale, a22 * kScale};
  }
  /// The sums of derivatives times what differs in the second picture.
  Point2f mismatch(const Level& level, const Between& place) const {
    const int64_t stride = level.stride(window_, channels_);
    float b1 = 0, b2 = 0;
    for (int64_t y = 0; y < window_.height; ++y) {
      const uint8_t* const in = level.at(place.y + y, place.x, window_, channels_);
      const int16_t* const was = pixels_.data() + y * row_elements_;
      const int16_t* const slope = slopes_.data() + 2 * y * row_elements_;
      for (int64_t x = 0; x < row_elements_; ++x) {
        const int change = descaled(place.sum(in + x, channels_, stride), kBits - 5) - was[x];
        b1 += static_cast<float>(change * slope[2 * x]);
        b2 += static_cast<float>(change * slope[2 * x + 1]);
      }
    }
    return {b1 * kScale, b2 * kScale};
  }
  /// The sum of the differences in the second picture.
  float difference(const Level& level, const Between& place) const {
    const int64_t stride = level.stride(window_, channels_);
    float sum = 0;
    for (int64_t y = 0; y < window_.height; ++y) {
      const uint8_t* const in = level.at(place.y + y, place.x, window_, channels_);
      for (int64_t x = 0; x < row_elements_; ++x)
        sum += std::fabs(static_cast<float>(descaled(place.sum(in + x, channels_, stride), kBits - 5) -
                                            pixels_[static_cast<size_t>(y * row_elements_ + x)]));
    }
    return sum;
  }

 private:
  Size window_;
  int64_t channels_, row_elements_;
  std::vector<int16_t> pixels_, slopes_;
};

std::vector<Point2f> guesses_of(const char* name, const TensorView& guess, int64_t count) {
  const Points given = points_of(name, guess);
  if (given.integers || given.count != count) throw InvalidArgument("{}: nextPts are {} points of f32", name, count);
  return given.floats();
}

void check_near(const char* name, const std::vector<Point2f>& points) {
  for (size_t i = 0; i < points.size(); ++i)
    if (!(std::fabs(points[i].x) < 1e7f && std::fabs(points[i].y) < 1e7f))
      throw InvalidArgument("{}: point {} is far outside of the picture", name, i);
}

}  // namespace

Flow calc_optical_flow_pyr_lk(const ImageView& before, const ImageView& after, const TensorView& points, const TensorView& guess,
                              Size window, int levels, const Criteria& criteria, int flags, double least_eigenvalue) {
  try {
    const char* const name = "calcOpticalFlowPyrLK";
    check_not_empty(name, before);
    check_dtype(name, before, {DType::u8});
    check_channels(name, before, {1, 2, 3, 4});
    check_same(name, before, after);
    if (window.width <= 2 || window.height <= 2 || window.width > 1024 || window.height > 1024 || levels < 0)
      throw InvalidArgument("{}: the window is between 3 and 1024 pixels wide and high, and maxLevel at least 0", name);
    check_size(name, before.width() + 2 * window.width, before.height() + 2 * window.height);
    const Points from = points_of(name, points);
    if (from.integers && from.count) throw InvalidArgument("{}: points are f32, not i32", name);
    Flow flow;
    if (from.count == 0) return flow;
    const bool guessed = flags & 4, eigenvalues = flags & 8;
    const int64_t count = from.count, channels = before.channels();
    flow.points = Tensor(DType::f32, points.shape());
    flow.status = Tensor(DType::u8, {count, 1});
    flow.errors = Tensor(DType::f32, {count, 1});
    auto* const next_points = static_cast<Point2f*>(flow.points.writable().data());
    auto* const status = static_cast<uint8_t*>(flow.status.writable().data());
    auto* const errors = static_cast<float*>(flow.errors.writable().data());
    std::fill(status, status + count, uint8_t{1});
    std::fill(errors, errors + count, 0.f);
    const std::vector<Point2f> start = from.floats(), first = guessed ? guesses_of(name, guess, count) : start;
    check_near(name, start);
    check_near(name, first);
    const int steps = (criteria.type & 1) ? std::clamp(criteria.count, 0, 100) : 30;
    const double epsilon = (criteria.type & 2) ? std::clamp(criteria.epsilon, 0., 10.) : 0.01;
    const std::vector<Level> pyramid = pyramid_of(before, window, levels), other = pyramid_of(after, window, levels);
    const Point2f half{static_cast<float>(window.width - 1) * 0.5f, static_cast<float>(window.height - 1) * 0.5f};
    const int64_t row_elements = window.width * channels;
    for (int level = static_cast<int>(pyramid.size()) - 1; level >= 0; --level) {
      const Level &a = pyramid[static_cast<size_t>(level)], &b = other[static_cast<size_t>(level)];
      const std::vector<int16_t> derivatives = derivatives_of(a, window, channels);
      const float shrink = static_cast<float>(1. / (1 << level));
      for_rows(count, 20 * row_elements * window.height, [&](int64_t begin, int64_t end) {
        Patch patch(window, channels);
        for (int64_t i = begin; i < end; ++i) {
          const Point2f& origin = start[static_cast<size_t>(i)];
          Point2f at{origin.x * shrink, origin.y * shrink}, next;
          if (level == static_cast<int>(pyramid.size()) - 1)
            next = {first[static_cast<size_t>(i)].x * shrink, first[static_cast<size_t>(i)].y * shrink};
          else
            next = {next_points[i].x * 2, next_points[i].y * 2};
          next_points[i] = next;
          at = {at.x - half.x, at.y - half.y};
          const auto outside = [&](const Between& p) {
            return p.x < -window.width || p.x >= a.width || p.y < -window.height || p.y >= a.height;
          };
          const Between place(at);
          if (outside(place)) {
            if (level == 0) status[i] = 0, errors[i] = 0;
            continue;
          }
          const auto [a11, a12, a22] = patch.take(a, derivatives, place);
          const float det = a11 * a22 - a12 * a12;
          const float least =
              (a22 + a11 - std::sqrt((a11 - a22) * (a11 - a22) + 4 * a12 * a12)) / static_cast<float>(2 * window.width * window.height);
          if (eigenvalues) errors[i] = least;
          if (least < static_cast<float>(least_eigenvalue) || det < FLT_EPSILON) {
            if (level == 0) status[i] = 0;
            continue;
          }
          next = {next.x - half.x, next.y - half.y};
          Point2f last;
          for (int step = 0; step < steps; ++step) {
            const Between there(next);
            if (outside(there)) {
              if (level == 0) status[i] = 0;
              break;
            }
            const auto [b1, b2] = patch.mismatch(b, there);
            const Point2f delta{(a12 * b2 - a22 * b1) / det, (a12 * b1 - a11 * b2) / det};
            next = {next.x + delta.x, next.y + delta.y};
            next_points[i] = {next.x + half.x, next.y + half.y};
            if (static_cast<double>(delta.x) * delta.x + static_cast<double>(delta.y) * delta.y <= epsilon * epsilon) break;
            if (step > 0 && std::fabs(delta.x + last.x) < 0.01f && std::fabs(delta.y + last.y) < 0.01f) {
              next_points[i] = {next_points[i].x - delta.x * 0.5f, next_points[i].y - delta.y * 0.5f};
              break;
            }
            last = delta;
          }
          if (!status[i] || level != 0 || eigenvalues) continue;
          const Between there({next_points[i].x - half.x, next_points[i].y - half.y});
          if (outside(there)) {
            status[i] = 0;
            continue;
          }
          errors[i] = patch.difference(b, there) / static_cast<float>(32 * row_elements * window.height);
        }
      });
    }
    return flow;
  } catch (...) {
    throw_as_error();
  }
}

}  // namespace minnow::vision
