// SPDX-License-Identifier: Apache-2.0
#include "vision/points/points.h"

namespace minnow::vision {

bool vectors_in(const TensorView& tensor, int64_t length, int64_t& count) {
  const Shape& shape = tensor.shape();
  if (shape.rank() == 2 && shape[1] == length)
    count = shape[0];
  else if (shape.rank() == 3 && shape[2] == length && (shape[0] == 1 || shape[1] == 1))
    count = shape[0] * shape[1];
  else if (shape.rank() == 3 && shape[2] == 1 && shape[1] == length)
    count = shape[0];
  else if (tensor.elements() == 0)
    count = 0;
  else
    return false;
  return true;
}

Points points_of(std::string_view function, const TensorView& tensor) {
  Points points;
  if (!vectors_in(tensor, 2, points.count) || (tensor.dtype() != DType::i32 && tensor.dtype() != DType::f32))
    throw InvalidArgument("{}: points are i32 or f32, [n, 2], [n, 1, 2] or [1, n, 2], not {}{}", function, tensor.dtype(), tensor.shape());
  if (points.count > kMostPixels) throw InvalidArgument("{}: {} points are more than {}", function, points.count, kMostPixels);
  points.integers = tensor.dtype() == DType::i32;
  points.data = tensor.data();
  return points;
}

std::vector<Point2f> Points::floats() const {
  std::vector<Point2f> result(static_cast<size_t>(count));
  visit([&](auto points) {
    for (size_t i = 0; i < result.size(); ++i) result[i] = {static_cast<float>(points[i].x), static_cast<float>(points[i].y)};
  });
  return result;
}

std::vector<double> coordinates_of(std::string_view function, const char* name, const TensorView& tensor, int64_t length) {
  int64_t count = 0;
  if (!vectors_in(tensor, length, count))
    throw InvalidArgument("{}: {} are points of {} numbers, [n, {}] or [n, 1, {}], not {}{}", function, name, length, length, length,
                          tensor.dtype(), tensor.shape());
  if (count > kMostPixels) throw InvalidArgument("{}: {} points are more than {}", function, count, kMostPixels);
  std::vector<double> numbers(static_cast<size_t>(count * length));
  const auto fill = [&](const auto* from) {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(from[i]);
  };
  switch (tensor.dtype()) {
    case DType::i32:
      fill(static_cast<const int32_t*>(tensor.data()));
      break;
    case DType::f32:
      fill(static_cast<const float*>(tensor.data()));
      break;
    case DType::f64:
      fill(static_cast<const double*>(tensor.data()));
      break;
    default:
      throw InvalidArgument("{}: {} are i32, f32 or f64, not {}", function, name, tensor.dtype());
  }
  return numbers;
}

Random& thread_random() noexcept {
  static thread_local Random random;
  return random;
}

void set_random_seed(int seed) { thread_random() = Random(static_cast<uint64_t>(static_cast<int64_t>(seed))); }

}  // namespace minnow::vision
