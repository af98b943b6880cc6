// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/binary.h"

#include <cstring>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

float computed(Binary kind, float a, float b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (kind) {
    case Binary::add:
      return a + b;
    case Binary::subtract:
      return a - b;
    case Binary::multiply:
      return a * b;
    case Binary::divide:
      return a / b;
    case Binary::minimum:
      return nan ? NAN : std::fmin(a, b);
    case Binary::maximum:
      return nan ? NAN : std::fmax(a, b);
    case Binary::prelu:
      return a < 0 ? a * b : a;
    case Binary::less:
      return a < b;
    case Binary::less_equal:
      return a <= b;
    case Binary::equal:
      return a == b;
    default:
      return std::pow(a, b);
  }
}

bool same(float got, float want) {
  return got == want || (std::isnan(got) && std::isnan(want)) || std::fabs(got - want) <= 2e-7f * std::fabs(want);
}

class BinaryTest : public EveryIsa {};

TEST_P(BinaryTest, every_function_in_every_form) {
  const Kernels& kernels = kernels_for(GetParam());
  for (size_t kind = 0; kind < static_cast<size_t>(Binary::count); ++kind)
    for (size_t form = 0; form < static_cast<size_t>(BinaryForm::count); ++form)
      for (size_t count : {1, 3, 16, 17, 64, 131}) {
        const BinaryForm operands = static_cast<BinaryForm>(form);
        if (operands == BinaryForm::b_lanes || operands == BinaryForm::a_lanes)
          count = (count + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
        std::vector<float> a = random_floats(count, 1), b = random_floats(count, 2);
        const float special[] = {NAN, INFINITY, -INFINITY, 0, 1};
        for (size_t i = 0; i < count; i += 3) (i % 2 ? a : b)[i] = special[i % 5];
        const auto at = [&](const std::vector<float>& x, size_t i, BinaryForm scalar, BinaryForm lanes) {
          return x[operands == scalar ? 0 : operands == lanes ? i % kernels.lanes : i];
        };
        std::vector<float> y(count + 1, -7);
        kernels.binary->of(static_cast<Binary>(kind), operands)(a.data(), b.data(), y.data(), count);
        EXPECT_EQ(y[count], -7);
        for (size_t i = 0; i < count; ++i) {
          const float left = at(a, i, BinaryForm::a_scalar, BinaryForm::a_lanes),
                      right = at(b, i, BinaryForm::b_scalar, BinaryForm::b_lanes);
          const float want = computed(static_cast<Binary>(kind), left, right);
          ASSERT_TRUE(same(y[i], want)) << kind << " in form " << form << " of " << left << " and " << right << ": " << y[i] << " for "
                                        << want;
        }
        if (operands == BinaryForm::both) {  // in place of either operand
          std::vector<float> first = a, second = b;
          kernels.binary->of(static_cast<Binary>(kind), operands)(first.data(), b.data(), first.data(), count);
          kernels.binary->of(static_cast<Binary>(kind), operands)(a.data(), second.data(), second.data(), count);
          EXPECT_EQ(std::memcmp(first.data(), y.data(), count * sizeof(float)), 0) << kind;
          EXPECT_EQ(std::memcmp(second.data(), y.data(), count * sizeof(float)), 0) << kind;
        }
      }
}

TEST_P(BinaryTest, selection) {
  for (const size_t count : {1, 16, 17, 131}) {
    const std::vector<float> a = random_floats(count, 1), b = random_floats(count, 2);
    std::vector<float> condition(count), y(count);
    for (size_t i = 0; i < count; ++i) condition[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : -0.0f;
    kernels_for(GetParam()).binary->select(condition.data(), a.data(), b.data(), y.data(), count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], i % 3 == 1 ? a[i] : b[i]);
  }
}

MINNOW_EVERY_ISA(BinaryTest);

}  // namespace
}  // namespace minnow::cpu
