// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const Tensor kLstmX = pattern({4, 2, 3});

Tensor lengths(const std::vector<double>& values) { return tensor(DType::i32, {static_cast<int64_t>(values.size())}, values); }

TEST(Lstm, both_directions_with_every_input) {
  const auto y = run_operator("LSTM",
                              {kLstmX, pattern({2, 8, 3}, 5), pattern({2, 8, 2}, 3), pattern({2, 16}, 2), lengths({4, 2}),
                               pattern({2, 2, 2}, 4), pattern({2, 2, 2}, 9), pattern({2, 6}, 8)},
                              {{"hidden_size", int64_t{2}}, {"direction", std::string("bidirectional")}}, 3);
  EXPECT_TRUE(near(y[0], {4, 2, 2, 2}, {0.5232947,   -0.4588118, 0.4781399, 0.3271636, 0.03341768, 0.1841503, 0.05430772,  -0.3206522,
                                        0.3494227,   -0.7881883, 0.4705827, 0.1793708, 0.0127688,  0.2575208, 0.002634851, -0.452877,
                                        0.01040893,  -0.4977186, 0,         0,         0.16804,    0.345098,  0,           0,
                                        0.008053579, -0.572244,  0,         0,         0.2677998,  0.1883028, 0,           0}));
  EXPECT_TRUE(near(y[1], {2, 2, 2}, {0.008053579, -0.572244, 0.4705827, 0.1793708, 0.03341768, 0.1841503, 0.05430772, -0.3206522}));
  EXPECT_TRUE(near(y[2], {2, 2, 2}, {0.190627, -1.014907, 0.7515157, 0.2087866, 1.160186, 0.2389368, 0.7401363, -0.5926462}));
}

TEST(Lstm, backwards_with_clip) {
  const auto y = run_operator(
      "LSTM",
      {kLstmX, pattern({1, 8, 3}, 5), pattern({1, 8, 2}, 3), pattern({1, 16}, 2), Tensor(), pattern({1, 2, 2}, 4), pattern({1, 2, 2}, 9)},
      {{"direction", std::string("reverse")}, {"clip", 0.5f}}, 3);
  EXPECT_TRUE(near(y[0], {4, 1, 2, 2},
                   {0.2276639, -0.3454481, 0.2452497, -0.2611101, 0.2134162, -0.3556887, 0.2526833, -0.1762149, 0.1101733, -0.335281,
                    0.1567479, -0.03756095, 0.03720957, -0.3047037, 0.2528197, 0.1947921}));
  EXPECT_TRUE(near(y[2], {1, 2, 2}, {0.4390883, -0.6255392, 0.4592292, -0.4470626}));
}

TEST(Lstm, coupled_input_and_forget_gate) {
  const auto y = run_operator("LSTM", {kLstmX, pattern({1, 8, 3}, 5), pattern({1, 8, 2}, 3)}, {{"input_forget", int64_t{1}}}, 3);
  EXPECT_TRUE(near(y[0], {4, 1, 2, 2},
                   {0.4164287, -0.1087967, 0.4061205, -0.1299188, 0.4285814, -0.3205675, 0.3784221, -0.3454663, 0.0284863, 0.02963479,
                    0.01804156, -0.1084108, 0.01774827, -0.02191149, 0.09225008, 0.142932}));
  EXPECT_TRUE(near(y[2], {1, 2, 2}, {0.2366287, -0.03985639, 0.1313099, 0.6816633}));
}

TEST(Lstm, activations_take_alpha_and_beta_in_order) {
  const auto y = run_operator("LSTM", {kLstmX, pattern({1, 8, 3}, 5), pattern({1, 8, 2}, 3)},
                              {{"activations", Strings{"HardSigmoid", "LeakyRelu", "ScaledTanh"}},
                               {"activation_alpha", Floats{0.3f, 0.2f, 1.5f}},
                               {"activation_beta", Floats{0.4f, 0.5f}}},
                              3);
  EXPECT_TRUE(near(y[0], {4, 1, 2, 2},
                   {0.4920838, 0, 0.4402728, 0, 0.3620241, -0.0437103, 0.3018288, -0.04819562, 0, 0.05259937, 0, -0.01413199, 0, 0.0201692,
                    0.1699382, 0.02303866}));
  EXPECT_TRUE(near(y[2], {1, 2, 2}, {0.2983654, 0.06052992, 0.3367865, 1.222599}));
}

TEST(Lstm, empty_sequences) {
  const auto y = run_operator(
      "LSTM",
      {kLstmX, pattern({1, 8, 3}, 5), pattern({1, 8, 2}, 3), Tensor(), lengths({0, 3}), pattern({1, 2, 2}, 4), pattern({1, 2, 2}, 9)}, {},
      3);
  EXPECT_TRUE(near(y[0], {4, 1, 2, 2}, {0, 0, 0.4709653, 0.2760922, 0, 0, 0.470881, 0.2346912, 0, 0, 0.04815953, -0.03485531, 0, 0, 0, 0}));
  EXPECT_TRUE(near(y[1], {1, 2, 2}, {0, 0, 0.04815953, -0.03485531}));
  EXPECT_TRUE(near(y[2], {1, 2, 2}, {0, 0, 0.7498884, -0.05287307}));
}

TEST(Lstm, batch_first_is_the_same_transposed) {
  // X [2, 1, 3] with the batch in front of one step is X [1, 2, 3] with the step in front.
  const std::vector<Tensor> weights = {pattern({2, 8, 3}, 5), pattern({2, 8, 2}, 3), pattern({2, 16}, 2)};
  const Attributes attributes = {{"direction", std::string("bidirectional")}};
  Attributes batch_first = attributes;
  batch_first.set("layout", int64_t{1});
  const auto a = run_operator("LSTM", {pattern({1, 2, 3}), weights[0], weights[1], weights[2]}, attributes, 3);
  const auto b = run_operator("LSTM", {pattern({2, 1, 3}), weights[0], weights[1], weights[2]}, batch_first, 3);
  EXPECT_EQ(b[0].shape(), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(b[1].shape(), (Shape{2, 2, 2}));
  const std::vector<double> ya = numbers(a[1]), yb = numbers(b[1]), whole = numbers(b[0]);
  for (size_t batch = 0; batch < 2; ++batch)
    for (size_t direction = 0; direction < 2; ++direction)
      for (size_t j = 0; j < 2; ++j) {
        EXPECT_EQ(ya[(direction * 2 + batch) * 2 + j], yb[(batch * 2 + direction) * 2 + j]);
        EXPECT_EQ(whole[(batch * 2 + direction) * 2 + j], yb[(batch * 2 + direction) * 2 + j]);
      }
}

TEST(Lstm, other_types_and_empty_inputs) {
  for (DType dtype : {DType::f64, DType::f16, DType::bf16})
    EXPECT_TRUE(near(run_operator("LSTM", {pattern({4, 2, 3}, 7, dtype), pattern({1, 8, 3}, 5, dtype), pattern({1, 8, 2}, 3, dtype)},
                                  {{"input_forget", int64_t{1}}}, 3)[2],
                     {1, 2, 2}, {0.2366287, -0.03985639, 0.1313099, 0.6816633}, 4e-3));
  EXPECT_TRUE(near(run_operator("LSTM", {pattern({0, 2, 3}), pattern({1, 8, 3}), pattern({1, 8, 2})})[0], {0, 1, 2, 2}, {}));
}

TEST(Lstm, errors_name_what_does_not_fit) {
  const Tensor w = pattern({1, 8, 3}), r = pattern({1, 8, 2});
  EXPECT_THAT(error_of("LSTM", {kLstmX, pattern({1, 6, 3}), r}),
              HasSubstr("node \"node\" (LSTM): W (\"in1\") should have shape [1, 8, 3], it has [1, 6, 3]"));
  EXPECT_THAT(error_of("LSTM", {kLstmX, w, r}, {{"direction", std::string("up")}}), HasSubstr("direction is \"up\""));
  EXPECT_THAT(error_of("LSTM", {kLstmX, w, r}, {{"activations", Strings{"Tanh"}}}), HasSubstr("1 activations are named, 3 are needed"));
  EXPECT_THAT(error_of("LSTM", {kLstmX, w, r}, {{"activations", Strings{"Tanh", "Tanh", "Foo"}}}), HasSubstr("\"Foo\" is not known"));
  EXPECT_THAT(error_of("LSTM", {kLstmX, w, r, Tensor(), lengths({5, 1})}), HasSubstr("a sequence length is 5, X has 4 steps"));
  EXPECT_THAT(error_of("LSTM", {kLstmX, w, r}, {{"hidden_size", int64_t{3}}}), HasSubstr("hidden_size is 3"));
}

}  // namespace
}  // namespace minnow::test
