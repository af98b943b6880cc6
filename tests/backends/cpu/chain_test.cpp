// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/chain.h"

#include <cstring>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"

namespace minnow::cpu {
namespace {

class ChainTest : public EveryIsa {
 protected:
  const Kernels& kernels_ = kernels_for(GetParam());
  const ChainKernels& chain_ = *kernels_.chain;
  const size_t count_ = 3 * chain_.tile;
  std::vector<float> x_ = values(1), a_ = values(2), b_ = values(3);

  /// Numbers of both signs, every third one special.
  std::vector<float> values(unsigned seed) const {
    constexpr float kSpecial[] = {NAN, INFINITY, -INFINITY, 0, -0.f, 1, 1e-40f, -3};
    std::vector<float> result = random_floats(count_, seed);
    for (size_t i = seed; i < count_; i += 3) result[i] = kSpecial[(i / 3 + seed) % std::size(kSpecial)];
    return result;
  }
  ChainCode code(Chain kind, ChainOperand operand) const { return chain_.code[static_cast<size_t>(kind)][static_cast<size_t>(operand)]; }
  ChainStep step(Chain kind, const float* a = nullptr, bool fixed = false, const float* b = nullptr) const {
    return {code(kind, fixed ? ChainOperand::fixed : ChainOperand::each), a, b, SIZE_MAX, SIZE_MAX, nullptr};
  }
  /// y = the steps of x.
  std::vector<float> run(const std::vector<ChainStep>& middle) const {
    std::vector<float> y(count_ + 1, 42);
    std::vector<ChainStep> steps = {step(Chain::load, x_.data())};
    steps.insert(steps.end(), middle.begin(), middle.end());
    steps.push_back(step(Chain::store));
    steps.back().to = y.data();
    steps.push_back(step(Chain::end));
    chain_.run(steps.data(), count_);
    EXPECT_EQ(y.back(), 42);
    y.pop_back();
    return y;
  }
  void expect_same(const std::vector<float>& got, const std::vector<float>& want) const {
    for (size_t i = 0; i < count_; ++i) {
      if (std::isnan(want[i]))
        ASSERT_TRUE(std::isnan(got[i])) << i;
      else
        ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0)
            << i << ": " << got[i] << ", not " << want[i] << " of " << x_[i] << " and " << a_[i];
    }
  }
};

TEST_P(ChainTest, functions_of_two_give_the_bits_of_the_kernels) {
  struct Row {
    Chain step;
    Binary kind;
    bool swapped;
  };
  const Row rows[] = {{Chain::add, Binary::add, false},
                      {Chain::subtract, Binary::subtract, false},
                      {Chain::subtract_from, Binary::subtract, true},
                      {Chain::multiply, Binary::multiply, false},
                      {Chain::divide, Binary::divide, false},
                      {Chain::divide_into, Binary::divide, true},
                      {Chain::minimum, Binary::minimum, false},
                      {Chain::minimum_of, Binary::minimum, true},
                      {Chain::maximum, Binary::maximum, false},
                      {Chain::maximum_of, Binary::maximum, true},
                      {Chain::prelu, Binary::prelu, false},
                      {Chain::prelu_of, Binary::prelu, true},
                      {Chain::less, Binary::less, false},
                      {Chain::less_of, Binary::less, true},
                      {Chain::less_equal, Binary::less_equal, false},
                      {Chain::less_equal_of, Binary::less_equal, true},
                      {Chain::equal, Binary::equal, false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.step));
    std::vector<float> want(count_);
    const auto whole = kernels_.binary->of(row.kind, BinaryForm::both);
    row.swapped ? whole(a_.data(), x_.data(), want.data(), count_) : whole(x_.data(), a_.data(), want.data(), count_);
    expect_same(run({step(row.step, a_.data())}), want);
    if (ChainStep held = step(row.step); (held.code = code(row.step, ChainOperand::held)) != nullptr)
      expect_same(run({step(Chain::load, a_.data()), step(Chain::hold), step(Chain::load, x_.data()), held}), want);
    // One vector for all.
    const auto lanes = kernels_.binary->of(row.kind, row.swapped ? BinaryForm::a_lanes : BinaryForm::b_lanes);
    row.swapped ? lanes(b_.data(), x_.data(), want.data(), count_) : lanes(x_.data(), b_.data(), want.data(), count_);
    expect_same(run({step(row.step, b_.data(), true)}), want);
  }
}

TEST_P(ChainTest, functions_of_one_give_the_bits_of_the_kernels) {
  const std::pair<Chain, Unary> rows[] = {{Chain::relu, Unary::relu},
                                          {Chain::clip, Unary::clip},
                                          {Chain::leaky_relu, Unary::leaky_relu},
                                          {Chain::negate, Unary::neg},
                                          {Chain::absolute, Unary::abs},
                                          {Chain::square_root, Unary::sqrt},
                                          {Chain::reciprocal, Unary::reciprocal},
                                          {Chain::floor, Unary::floor},
                                          {Chain::ceil, Unary::ceil},
                                          {Chain::round, Unary::round},
                                          {Chain::scale, Unary::scale}};
  const std::vector<float> low(kernels_.lanes, -0.5f), high(kernels_.lanes, 0.75f);
  for (const auto& [kind, function] : rows) {
    SCOPED_TRACE(static_cast<int>(kind));
    std::vector<float> want(count_);
    (*kernels_.unary)[function](x_.data(), want.data(), count_, low[0], high[0]);
    expect_same(run({step(kind, low.data(), false, high.data())}), want);
  }
}

TEST_P(ChainTest, what_is_held_stays_until_it_is_loaded_or_swapped) {
  if (code(Chain::hold, ChainOperand::each) == nullptr) GTEST_SKIP() << "these vectors leave no registers for it";
  ChainStep load_held = step(Chain::load);
  load_held.code = code(Chain::load, ChainOperand::held);
  expect_same(run({step(Chain::hold), step(Chain::load, a_.data()), load_held}), x_);
  expect_same(run({step(Chain::hold), step(Chain::load, a_.data()), step(Chain::swap)}), x_);
  expect_same(run({step(Chain::hold), step(Chain::load, a_.data()), step(Chain::swap), load_held}), a_);
}

TEST_P(ChainTest, selects_squares_and_repeats) {
  std::vector<float> want(count_);
  kernels_.binary->select(x_.data(), a_.data(), b_.data(), want.data(), count_);
  expect_same(run({step(Chain::select, a_.data(), false, b_.data())}), want);
  ChainStep one = step(Chain::select, a_.data(), false, b_.data());
  one.b_mask = 0;
  std::vector<float> repeated(count_);
  for (size_t i = 0; i < count_; ++i) repeated[i] = b_[i % kernels_.lanes];
  kernels_.binary->select(x_.data(), a_.data(), repeated.data(), want.data(), count_);
  expect_same(run({one}), want);
  for (size_t i = 0; i < count_; ++i) want[i] = x_[i] * x_[i];
  expect_same(run({step(Chain::square)}), want);
  for (size_t i = 0; i < count_; ++i) want[i] = b_[i % kernels_.lanes];
  expect_same(run({step(Chain::load, b_.data(), true)}), want);
}

MINNOW_EVERY_ISA(ChainTest);

}  // namespace
}  // namespace minnow::cpu
