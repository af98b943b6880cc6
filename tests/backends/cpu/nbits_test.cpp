// SPDX-License-Identifier: Apache-2.0
// Products with weights of 2 to 8 bits, panel by panel, against sums in f64. Whole nodes are in schemes_test.
#if !MINNOW_SMALL  // small builds have no such kernels
#include "backends/cpu/kernels/nbits.h"

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

constexpr size_t kGroups = 6, kDepth = kGroups * kNBitsGroup;

/// A panel of random numbers, scales and zero points.
struct Columns {
  Columns(int bits, size_t block, size_t lanes, bool has_zeros) : bits(bits), lanes(lanes), block(block) {
    std::mt19937 generator(static_cast<unsigned>(bits) * 100 + static_cast<unsigned>(block));
    numbers.resize(kDepth * lanes);
    for (int& number : numbers) number = static_cast<int>(generator() % (1U << bits)) - (1 << (bits - 1));
    words.resize(kGroups * static_cast<size_t>(bits) * lanes);
    const size_t width = static_cast<size_t>(bits), low = static_cast<size_t>(low_bits(bits));
    for (size_t k = 0; k < kDepth; ++k)
      for (size_t c = 0; c < lanes; ++c) {
        const uint32_t number = uint32_t(numbers[k * lanes + c]) & ((1U << bits) - 1);
        const auto put = [&](size_t first, const NBitsPlace& place, uint32_t part) {
          words[(k / kNBitsGroup * width + first + place.word) * lanes + c] |= part << place.bit;
        };
        put(0, nbits_place(k % kNBitsGroup, low, low), number & ((1U << low) - 1));
        if (low != width) put(low, nbits_place(k % kNBitsGroup, low, width - low), number >> low);
      }
    const size_t blocks = ceil_div(kDepth, block) * lanes;
    scales = random_floats(blocks, 5), zeros = random_floats(blocks, 6);
    panel = {words.data(), scales.data(), has_zeros ? zeros.data() : nullptr, nullptr, block, 1 << (bits - 1), false};
  }
  double weight(size_t k, size_t c) const {
    const size_t place = k / block * lanes + c;
    return (numbers[k * lanes + c] - (panel.zeros ? double(zeros[place]) : 0)) * double(scales[place]);
  }
  int bits;
  size_t lanes, block;
  std::vector<int> numbers;
  std::vector<uint32_t> words;
  std::vector<float> scales, zeros;
  NBitsPanel panel{};
};

/// The row in whole numbers, and room for it.
struct DigitRow {
  explicit DigitRow(size_t unit) : unit(unit), digits(kDepth), steps(kDepth / unit), sums(kDepth / unit) {}
  NBitsDigits view() { return {digits.data(), steps.data(), sums.data()}; }
  size_t unit;
  std::vector<int32_t> digits;
  std::vector<float> steps, sums;
};

class NBitsTest : public EveryIsa {
 protected:
  /// Calls test(digits, bits) for each form that the machine runs and each number of bits that it has.
  template <class F>
  void for_each_form(F test) const {
    const Kernels& kernels = kernels_for(GetParam());
    for (const NBitsDigitKernels& digits : kernels.nbits->digits)
      for (const int bits : {2, 3, 4, 5, 6, 8})
        if (digits.split[bits - kLeastBits] && (!digits.needs_bytes || runs(*kernels.integer, IntegerForm::bytes))) test(digits, bits);
  }
  static std::vector<size_t> blocks_of(int bits) {
    return low_bits(bits) == bits ? std::vector<size_t>{16, 32, 128} : std::vector<size_t>{32, 128};
  }
  size_t lanes() const { return kernels_for(GetParam()).lanes; }
};

TEST_P(NBitsTest, whole_numbers_of_three_bytes_are_as_near_as_f32) {
  for_each_form([&](const NBitsDigitKernels& digits, int bits) {
    for (const size_t block : blocks_of(bits))
      for (const bool has_zeros : {false, true})
        for (const float outlier : {1.0F, 1e4F}) {
          const size_t form = size_t(bits - kLeastBits);
          const Columns columns(bits, block, lanes(), has_zeros);
          std::vector<float> a = random_floats(kDepth, 7);
          a[37] *= outlier;
          std::fill_n(a.begin() + 64, 32, 0.0F);
          DigitRow row(std::min(block, kNBitsGroup));
          ASSERT_TRUE(digits.split[form](a.data(), kGroups, row.unit, false, row.view()));
          std::vector<float> y(lanes());
          digits.multiply_digits[form](columns.panel, row.view(), kGroups, y.data());
          for (size_t c = 0; c < lanes(); ++c) {
            double sum = 0, bound = 0;
            for (size_t k = 0; k < kDepth; ++k) {
              float largest = 0;
              for (size_t i = 0; i < row.unit; ++i) largest = std::max(largest, std::fabs(a[k / row.unit * row.unit + i]));
              const double reach = (std::fabs(double(columns.numbers[k * lanes() + c])) + (has_zeros ? 3 : 0) + (1 << bits)) *
                                   std::fabs(double(columns.scales[k / block * lanes() + c]));
              sum += a[k] * columns.weight(k, c), bound += double(largest) * reach;
            }
            EXPECT_NEAR(y[c], sum, bound * std::ldexp(1.0, -24)) << bits << " bits in blocks of " << block << ", outlier " << outlier;
          }
        }
  });
}

TEST_P(NBitsTest, whole_numbers_of_one_byte_have_steps_of_a_127th_of_the_largest) {
  for_each_form([&](const NBitsDigitKernels& digits, int bits) {
    for (const size_t block : blocks_of(bits)) {
      const size_t form = size_t(bits - kLeastBits);
      const Columns columns(bits, block, lanes(), false);
      const std::vector<float> a = random_floats(kDepth, 8);
      DigitRow row(std::min(block, kNBitsGroup));
      ASSERT_TRUE(digits.split[form](a.data(), kGroups, row.unit, true, row.view()));
      std::vector<double> rounded(kDepth);
      for (size_t k = 0; k < kDepth; ++k) {
        const auto unit = a.begin() + std::ptrdiff_t(k / row.unit * row.unit);
        const float largest = std::fabs(
            *std::max_element(unit, unit + std::ptrdiff_t(row.unit), [](float x, float y) { return std::fabs(x) < std::fabs(y); }));
        EXPECT_FLOAT_EQ(row.steps[k / row.unit], largest / 127);
        rounded[k] = std::nearbyint(double(a[k]) / largest * 127) * largest / 127;
      }
      std::vector<float> y(lanes());
      digits.multiply_bytes[form](columns.panel, row.view(), kGroups, y.data());
      for (size_t c = 0; c < lanes(); ++c) {
        double sum = 0;
        for (size_t k = 0; k < kDepth; ++k) sum += rounded[k] * columns.weight(k, c);
        EXPECT_NEAR(y[c], sum, 1e-4 * (1 << bits)) << bits << " bits in blocks of " << block;
      }
    }
  });
}

TEST_P(NBitsTest, numbers_that_steps_cannot_hold_are_refused) {
  for_each_form([&](const NBitsDigitKernels& digits, int bits) {
    for (const float value : {INFINITY, -INFINITY, NAN, 1e-35F, -1e-40F}) {
      const size_t form = size_t(bits - kLeastBits);
      std::vector<float> a(kDepth, 0.0F);
      DigitRow row(kNBitsGroup);
      EXPECT_TRUE(digits.split[form](a.data(), kGroups, row.unit, false, row.view()));
      a[45] = value;
      EXPECT_FALSE(digits.split[form](a.data(), kGroups, row.unit, false, row.view())) << value;
      std::fill(a.begin() + 32, a.begin() + 64, 3e38F), a[2] = value == 1e-35F ? 0.0F : value;
      EXPECT_EQ(digits.split[form](a.data(), kGroups, row.unit, false, row.view()), value == 1e-35F) << value;
    }
  });
}

MINNOW_EVERY_ISA(NBitsTest);

}  // namespace
}  // namespace minnow::cpu
#endif
