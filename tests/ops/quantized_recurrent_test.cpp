// SPDX-License-Identifier: Apache-2.0
// One step with weights of 8 bits is one of LSTM and GRU on the numbers that the integers stand for.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor integers(const Shape& shape) {
  Tensor made(DType::i8, shape);
  for (int64_t i = 0; i < made.elements(); ++i) made.writable().data<int8_t>()[i] = static_cast<int8_t>(i * 73 % 255 - 127);
  return made;
}
Tensor scales(const Shape& shape) {
  Tensor made(DType::f32, shape);
  for (int64_t i = 0; i < made.elements(); ++i) made.writable().data<float>()[i] = 0.001F * static_cast<float>(1 + i % 5);
  return made;
}
Tensor scaled(const Tensor& numbers, const Tensor& by) {
  Tensor made(DType::f32, numbers.shape());
  const int64_t depth = numbers.shape()[2];
  for (int64_t i = 0; i < made.elements(); ++i)
    made.writable().data<float>()[i] = by.data<float>()[i / depth] * static_cast<float>(numbers.data<int8_t>()[i]);
  return made;
}
/// Rows whose largest number is 127 / 128 and whose others are multiples of 1 / 128, so that rounding does not change them.
Tensor exact(const Shape& shape) {
  Tensor made(DType::f32, shape);
  const int64_t depth = shape.back();
  for (int64_t i = 0; i < made.elements(); ++i)
    made.writable().data<float>()[i] = (i % depth == 0 ? 127.0F : static_cast<float>(i * 31 % 255 - 127)) / 128;
  return made;
}

class QuantizedRecurrence : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const int64_t gates = lstm ? 4 : 3;
    w = integers({2, gates * 5, 7}), r = integers({2, gates * 5, 5});
    w_scale = scales({2, gates * 5, 1}), r_scale = scales({2, gates * 5, 1});
    bias = pattern({2, 2 * gates * 5}, 3);
  }
  std::vector<Tensor> inputs(const Tensor& x, const Tensor& h, bool quantized) const {
    std::vector<Tensor> all = {x, quantized ? w : scaled(w, w_scale), quantized ? r : scaled(r, r_scale), bias, Tensor(), h};
    if (lstm) all.push_back(pattern({2, 3, 5}, 9));
    if (quantized) all.push_back(w_scale), all.push_back(r_scale);
    return all;
  }
  const bool lstm = GetParam() == "LSTM";
  const std::string op = "minnow.Quantized" + GetParam();
  const Attributes attributes = lstm ? Attributes{{"direction", std::string("bidirectional")}}
                                     : Attributes{{"direction", std::string("bidirectional")}, {"linear_before_reset", int64_t{1}}};
  const size_t outputs = lstm ? 3 : 2;
  Tensor w, r, w_scale, r_scale, bias;
};

TEST_P(QuantizedRecurrence, multiplies_exact_numbers_as_the_operator_does) {
  const Tensor x = exact({1, 3, 7}), h = exact({2, 3, 5});
  const auto expected = run_operator(GetParam(), inputs(x, h, false), attributes, outputs);
  for (const auto& made :
       {run_operator(op, inputs(x, h, true), attributes, outputs), run_decomposition(op, inputs(x, h, true), attributes, outputs)})
    for (size_t i = 0; i < outputs; ++i) EXPECT_TRUE(near(made[i], expected[i].shape(), numbers(expected[i]), 2e-6)) << i;
}

TEST_P(QuantizedRecurrence, rounds_each_row_by_its_largest_number) {
  // The rows of `exact` in other units, and moved by less than half a step.
  Tensor x = exact({1, 3, 7}).clone(), moved = x.clone();
  for (int64_t i = 0; i < x.elements(); ++i) {
    const float unit = i < 7 ? 1.0F : 64.0F;
    x.writable().data<float>()[i] *= unit;
    moved.writable().data<float>()[i] = x.data<float>()[i] + (i % 7 == 0 ? 0 : 0.4F * unit / 128 * (i % 2 ? 1.0F : -1.0F));
  }
  const Tensor h = exact({2, 3, 5});
  const auto expected = run_operator(GetParam(), inputs(x, h, false), attributes, outputs),
             made = run_operator(op, inputs(moved, h, true), attributes, outputs);
  for (size_t i = 0; i < outputs; ++i) EXPECT_TRUE(near(made[i], expected[i].shape(), numbers(expected[i]), 2e-6)) << i;
}

TEST_P(QuantizedRecurrence, names_scales_of_another_shape) {
  w_scale = scales({2, 5, 1});
  EXPECT_THAT(error_of(op, inputs(exact({1, 3, 7}), exact({2, 3, 5}), true), attributes),
              HasSubstr(format("should have shape [2, {}, 1], it has [2, 5, 1]", lstm ? 20 : 15)));
}

INSTANTIATE_TEST_SUITE_P(Cells, QuantizedRecurrence, testing::Values("LSTM", "GRU"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace minnow::test
