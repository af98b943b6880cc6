// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

const Tensor kGruX = pattern({4, 2, 3}), kGruW = pattern({1, 6, 3}, 5), kGruR = pattern({1, 6, 2}, 3), kGruB = pattern({1, 12}, 2);

TEST(Gru, both_directions_with_every_input) {
  const auto y = run_operator(
      "GRU",
      {kGruX, pattern({2, 6, 3}, 5), pattern({2, 6, 2}, 3), pattern({2, 12}, 2), tensor(DType::i32, {2}, {4, 2}), pattern({2, 2, 2}, 4)},
      {{"hidden_size", int64_t{2}}, {"direction", std::string("bidirectional")}}, 2);
  EXPECT_TRUE(near(y[0], {4, 2, 2, 2}, {-0.6728846, -0.2917808, -1.179324, 0.7408944, -0.6471071, 0.2272815,   -0.19547, 0.7981474,
                                        -0.7766066, 0.6045256,  -1.143387, 0.9412905, -0.5801628, 0.004458755, -0.11898, 0.8678014,
                                        -0.8465198, -0.4707302, 0,         0,         -0.3268636, -0.6720644,  0,        0,
                                        -0.9178854, -0.2883662, 0,         0,         -0.1827438, -0.7395442,  0,        0}));
  EXPECT_TRUE(near(y[1], {2, 2, 2}, {-0.9178854, -0.2883662, -1.143387, 0.9412905, -0.6471071, 0.2272815, -0.19547, 0.7981474}));
}

TEST(Gru, linear_before_reset) {
  EXPECT_TRUE(near(run_operator("GRU", {kGruX, kGruW, kGruR, kGruB}, {{"linear_before_reset", int64_t{1}}})[0], {4, 1, 2, 2},
                   {-0.4367179, -0.479948, -0.406532, -0.173801, -0.6362287, 0.4398128, -0.5921603, 0.6357548, -0.7209257, -0.3288842,
                    -0.7098356, -0.1359272, -0.8077953, 0.02726035, -0.7051759, -0.4123002}));
  EXPECT_TRUE(near(run_operator("GRU", {kGruX, kGruW, kGruR, kGruB}, {{"linear_before_reset", int64_t{1}}, {"clip", 0.5f}}, 2)[1],
                   {1, 2, 2}, {-0.4336298, -0.06666088, -0.4345043, -0.2406666}));
}

TEST(Gru, backwards_with_softplus) {
  EXPECT_TRUE(near(run_operator("GRU", {kGruX, kGruW, kGruR, kGruB},
                                {{"direction", std::string("reverse")}, {"activations", Strings{"Sigmoid", "Softplus"}}})[0],
                   {4, 1, 2, 2},
                   {0.07190035, 0.3267868, 0.09849516, 0.4391962, 0.0891633, 0.5733696, 0.1305442, 0.7149183, 0.1269367, 0.1770673,
                    0.1922205, 0.09414666, 0.06686598, 0.1720754, 0.3170522, 0.006709659}));
}

TEST(Gru, empty_sequences) {
  const auto y = run_operator("GRU", {kGruX, kGruW, kGruR, Tensor(), tensor(DType::i32, {2}, {0, 3}), pattern({1, 2, 2}, 4)}, {}, 2);
  EXPECT_TRUE(near(y[0], {4, 1, 2, 2}, {0, 0, -1.192992, 0.8729665, 0, 0, -1.161953, 0.9919778, 0, 0, -0.7834145, 0.4665984, 0, 0, 0, 0}));
  EXPECT_TRUE(near(y[1], {1, 2, 2}, {0, 0, -0.7834145, 0.4665984}));
}

}  // namespace
}  // namespace minnow::test
