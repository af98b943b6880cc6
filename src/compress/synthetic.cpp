// SPDX-License-Identifier: Apache-2.0
// Samples for models without data.
#include <minnow/compress.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/numeric.h"

namespace minnow::compress {
namespace {

/// Gaussian noise without std::normal_distribution, whose numbers depend on the standard library.
double gaussian(std::mt19937_64& generator) {
  const auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
}

/// Noise that is smooth along the axes of length 16 or more, as pictures and spectra are, with variance 1.
void smooth(std::vector<double>& values, const Shape& shape) {
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    const size_t length = static_cast<size_t>(shape[axis]);
    if (length < 16) continue;
    const size_t inner = static_cast<size_t>(shape.product(axis + 1, shape.rank()));
    constexpr double kKept = 0.9;
    for (size_t begin = 0; begin < values.size(); begin += length * inner)
      for (size_t i = begin + inner; i < begin + length * inner; ++i)
        values[i] = kKept * values[i - inner] + std::sqrt(1 - kKept * kKept) * values[i];
  }
}

}  // namespace

Samples synthetic_samples(const Model& model, size_t count, uint64_t seed, std::span<const Shape> shapes) try {
  const std::vector<ValueDescription> inputs = model.inputs();
  for (const ValueDescription& input : inputs)
    if (!input.is_tensor || !input.has_rank)
      throw InvalidArgument("input \"{}\" is {}, which cannot be made up; give calibration samples", input.name, input.type);
  if (!shapes.empty() && shapes.size() != inputs.size())
    throw InvalidArgument("{} shapes are given, the model takes {} inputs", shapes.size(), inputs.size());
  std::vector<Shape> made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueDescription& input = inputs[i];
    Shape shape;
    for (const int64_t dim : input.dims) shape.push_back(dim < 0 ? 1 : dim);
    if (!shapes.empty()) {
      bool fits = shapes[i].rank() == shape.rank();
      for (size_t axis = 0; fits && axis < shape.rank(); ++axis) fits = input.dims[axis] < 0 || input.dims[axis] == shapes[i][axis];
      if (!fits) throw InvalidArgument("input \"{}\" is {}, the shape {} is given", input.name, input.type, shapes[i]);
      shape = shapes[i];
    }
    made.push_back(shape);
  }
  return {count, [inputs, made, seed](size_t i) {
            std::vector<Tensor> tensors;
            std::mt19937_64 generator(seed * 1000003 + i);
            for (size_t each = 0; each < inputs.size(); ++each) {
              const ValueDescription& input = inputs[each];
              const Shape& shape = made[each];
              const DType dtype = input.dtype == DType::undefined ? DType::f32 : input.dtype;
              Tensor tensor(dtype, shape);
              std::vector<double> values(static_cast<size_t>(tensor.elements()));
              for (double& value : values) value = gaussian(generator);
              if (is_float(dtype)) {
                smooth(values, shape);
                if (!values.empty()) narrow(dtype, values.data(), values.size(), tensor.writable().data());
              } else {
                // Bytes are pixels; other integers may be indices or flags.
                std::vector<int64_t> integers;
                const bool bytes = dtype == DType::u8 || dtype == DType::i8;
                smooth(values, shape);
                for (const double value : values)
                  integers.push_back(!bytes ? int64_t{value > 0}
                                            : static_cast<int64_t>(std::min(std::max(value * 60, -127.0), 127.0)) +
                                                  (dtype == DType::u8 ? 128 : 0));
                if (!values.empty()) narrow(dtype, integers.data(), integers.size(), tensor.writable().data());
              }
              tensors.push_back(std::move(tensor));
            }
            return tensors;
          }};
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::compress
