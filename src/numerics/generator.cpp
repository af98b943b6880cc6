// SPDX-License-Identifier: Apache-2.0
#include <minnow/numerics.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/no_memory.h"
#include "numerics/draws.h"

namespace minnow::numerics {

struct Generator::Stream {
  Pcg64 bits;
};

Generator::Generator(uint64_t seed) try : stream_(std::make_unique<Stream>()) {
  const uint32_t words[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  const std::vector<uint32_t> state = SeedSequence(std::span(words, words[1] ? 2 : 1), 4).generate(8);
  const auto pair = [&](size_t i) { return static_cast<uint64_t>(state[2 * i + 1]) << 32 | state[2 * i]; };
  stream_->bits.seed({pair(0), pair(1), pair(2), pair(3)});
} catch (...) {
  throw_as_error();
}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;

Tensor Generator::draw(std::string_view distribution, const Shape& shape, std::span<const double> parameters, DType dtype) try {
  std::vector<double> values(parameters.begin(), parameters.end());
  check_parameters(distribution, values);
  std::vector<TensorView> tensors;
  for (const double& value : values) tensors.emplace_back(DType::f64, Shape{}, &value);
  Tensor y = numerics::draw(stream_->bits, distribution, shape, tensors, dtype == DType::f32);
  if (dtype != DType::undefined && dtype != y.dtype())
    throw InvalidArgument("numbers of {} are {}, not {}", distribution, y.dtype(), dtype);
  return y;
} catch (...) {
  throw_as_error();
}

Tensor Generator::integers(int64_t low, int64_t high, const Shape& shape, DType dtype) try {
  if (low >= high) throw InvalidArgument("integers: low is {}, high is {}; low must be less", low, high);
  const bool boolean = dtype == DType::boolean;
  if (boolean || (is_integer(dtype) && size_of(dtype) < 8)) {
    const int bits = boolean ? 1 : static_cast<int>(bits_of(dtype)) - (is_signed(dtype) ? 1 : 0);
    const int64_t most = (int64_t{1} << bits) - 1, least = is_signed(dtype) ? -most - 1 : 0;
    if (low < least || high - 1 > most) throw InvalidArgument("integers: [{}, {}) is beyond the range of {}", low, high, dtype);
  } else if (dtype == DType::u64 && low < 0) {
    throw InvalidArgument("integers: [{}, {}) is beyond the range of {}", low, high, dtype);
  }
  const int64_t range = static_cast<int64_t>(static_cast<uint64_t>(high) - 1 - static_cast<uint64_t>(low));
  return numerics::integers(stream_->bits, dtype, shape, {DType::i64, {}, &low}, {DType::i64, {}, &range});
} catch (...) {
  throw_as_error();
}

Tensor Generator::permutation(int64_t n) try { return shuffled(stream_->bits, n, 1, false); } catch (...) {
  throw_as_error();
}

}  // namespace minnow::numerics
