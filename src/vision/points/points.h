// SPDX-License-Identifier: Apache-2.0
// Points as functions of shapes take them, and OpenCV's random numbers.
#pragma once
#include <minnow/vision/structure.h>

#include <span>
#include <utility>
#include <vector>

#include "vision/image.h"

namespace minnow::vision {

template <class T>
struct PointOf {
  T x, y;
  friend bool operator==(const PointOf&, const PointOf&) = default;
};

/// Whether a tensor holds vectors of `length` elements: [n, length], [n, 1, length] or [1, n, length]. `count`: n.
bool vectors_in(const TensorView& tensor, int64_t length, int64_t& count);

/// Points of integers or of floats, in memory of the caller's.
struct Points {
  int64_t count = 0;
  bool integers = false;
  const void* data = nullptr;

  template <class T>
  const PointOf<T>* as() const noexcept {
    return static_cast<const PointOf<T>*>(data);
  }
  std::vector<Point2f> floats() const;
  /// Calls f with a span of PointOf<int> or of PointOf<float>.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (integers) return f(std::span<const PointOf<int>>(as<int>(), static_cast<size_t>(count)));
    return f(std::span<const PointOf<float>>(as<float>(), static_cast<size_t>(count)));
  }
};

/// Throws InvalidArgument in the name of a function where the tensor holds no points, or of another dtype.
Points points_of(std::string_view function, const TensorView& tensor);

/// Points of two or three coordinates in doubles, of i32, f32 or f64. Throws InvalidArgument for others.
std::vector<double> coordinates_of(std::string_view function, const char* name, const TensorView& tensor, int64_t length);

/// [n, 1, 2].
template <class T>
Tensor tensor_of(std::span<const PointOf<T>> points) {
  Tensor tensor(std::is_integral_v<T> ? DType::i32 : DType::f32, {static_cast<int64_t>(points.size()), 1, 2});
  if (!points.empty()) std::memcpy(tensor.writable().data(), points.data(), points.size_bytes());
  return tensor;
}

/// OpenCV's generator of random numbers (multiply with carry; Marsaglia 2003): functions that draw at random give OpenCV's results.
class Random {
 public:
  explicit Random(uint64_t seed = 0xffffffff) noexcept : state_(seed ? seed : 0xffffffff) {}
  uint32_t next() noexcept {
    state_ = (state_ & 0xffffffff) * 4164903690u + (state_ >> 32);
    return static_cast<uint32_t>(state_);
  }
  /// first <= result < last; last where both are equal.
  int uniform(int first, int last) noexcept {
    return first == last ? first : static_cast<int>(next() % static_cast<uint32_t>(last - first)) + first;
  }
  float uniform(float first, float last) noexcept {
    return static_cast<float>(next()) * 2.3283064365386962890625e-10f * (last - first) + first;
  }
  double uniform(double first, double last) noexcept {
    const uint64_t high = next();
    const uint64_t bits = (high << 32) | next();
    return static_cast<double>(bits) * 5.4210108624275221700372640043497e-20 * (last - first) + first;
  }

 private:
  uint64_t state_;
};

/// The thread's generator, which set_random_seed() sets.
Random& thread_random() noexcept;

}  // namespace minnow::vision
