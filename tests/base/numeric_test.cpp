// SPDX-License-Identifier: Apache-2.0
#include "base/numeric.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace minnow {
namespace {

TEST(Numeric, every_f16_is_widened_to_the_number_that_it_is) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const double want = decode(*small_float(DType::f16), code);
    const float got = f32_from_f16(static_cast<uint16_t>(code));
    ASSERT_TRUE(double{got} == want || (std::isnan(got) && std::isnan(want))) << code;
    ASSERT_EQ(std::signbit(got), (code & 0x8000) != 0) << code;
  }
}

TEST(Numeric, f32_is_rounded_to_f16_as_doubles_are) {
  const auto check = [](uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(f16_from_f32(value), encode(*small_float(DType::f16), double{value})) << std::hexfloat << value;
  };
  for (uint64_t bits = 0; bits < 0x100000000; bits += 4093) check(static_cast<uint32_t>(bits));
  // Every f16, the numbers halfway to the next, and the f32 beside those.
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const uint32_t bits = std::bit_cast<uint32_t>(f32_from_f16(static_cast<uint16_t>(code)));
    const uint32_t middle = std::bit_cast<uint32_t>(
        static_cast<float>((double{f32_from_f16(static_cast<uint16_t>(code))} + f32_from_f16(static_cast<uint16_t>(code + 1))) / 2));
    for (const uint32_t at : {bits, middle})
      for (const uint32_t step : {0u, 1u, ~0u}) check(at + step);
  }
}

}  // namespace
}  // namespace minnow
