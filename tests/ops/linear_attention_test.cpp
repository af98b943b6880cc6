// SPDX-License-Identifier: Apache-2.0
// Numbers from the reference evaluator of onnx 1.23.2. Four query heads share two matrices of 2x3.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const Tensor kQ = pattern({1, 2, 8}), kK = pattern({1, 2, 4}, 5), kV = pattern({1, 2, 6}, 3), kState = pattern({1, 2, 2, 3}, 6);
const Tensor kDecay = tensor(DType::f32, {1, 2, 4}, {-0.1, 0, 0.1, 0.2, -0.25, -0.15, -0.05, 0.05});
const Tensor kHeadDecay = tensor(DType::f32, {1, 2, 2}, {-0.1, 0, -0.25, -0.15});
const Tensor kBeta = tensor(DType::f32, {1, 2, 1}, {0.5, 0.5});

TEST(LinearAttention, adds_what_it_is_told) {
  const auto y = run_operator("LinearAttention", {kQ, kK, kV},
                              {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("linear")}}, 2);
  EXPECT_TRUE(near(y[0], {1, 2, 12}, {-0.4198447, 0.2099223,  0.8396893,  0.243068,  -0.121534, -0.4861359, 0.5303301,  0.1325825,
                                      -0.265165,  -0.7954952, -0.1988738, 0.3977476, 0.2320194, -0.1104854, -0.5745243, -0.3314563,
                                      0.2209709,  -0.4419417, -0.2541165, 1.524699,  0.265165,  -0.2541165, -1.016466,  0.04419417}));
  EXPECT_TRUE(near(y[1], {1, 2, 2, 3}, {-1, 0.625, -0.5, -0.0625, 0, 0.75, -0.1875, 1.75, 0.25, -0.5, -0.125, 0.25}));
}

TEST(LinearAttention, forgets) {
  const auto y = run_operator("LinearAttention", {kQ, kK, kV, kState, kDecay},
                              {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("gated")}}, 2);
  EXPECT_TRUE(near(y[0], {1, 2, 12}, {0.8449639, -0.109986,   -0.185188,  -0.4998218, 0.03842019, 0.1367882,  0.7256986, -0.6488914,
                                      0.1255719, -1.476674,   1.06841,    -0.3168627, -0.6930448, -0.2168611, 0.4803627, -0.8744306,
                                      0.4891253, -0.04780694, -0.2289179, 0.7565216,  0.6347039,  -1.073183,  0.2223299, -0.6891734}));
  EXPECT_TRUE(near(y[1], {1, 2, 2, 3},
                   {-1.407644, 1.357338, -0.5655724, 1.065619, -0.02611727, -0.4303539, 0.03873986, 0.6895844, 0.7939245, -1.488655,
                    0.8316102, -0.3791949}));
}

TEST(LinearAttention, tells_what_is_new) {
  const auto y = run_operator("LinearAttention", {kQ, kK, kV, kNone, kNone, kBeta},
                              {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("delta")}}, 2);
  EXPECT_TRUE(near(y[0], {1, 2, 12}, {-0.2099223, 0.1049612,  0.4198447,   0.121534,  -0.06076699, -0.243068,   0.265165,   0.06629126,
                                      -0.1325825, -0.3977476, -0.09943689, 0.1988738, 0.1122118,   -0.05334375, -0.2796662, -0.2037075,
                                      0.1294751,  -0.1450121, -0.3860085,  0.6976119, 0.2620576,   0.02831189,  -0.4693905, -0.05558798}));
  EXPECT_TRUE(near(
      y[1], {1, 2, 2, 3},
      {-0.5859375, 0.3554688, -0.078125, -0.009765625, -0.01074219, 0.3320312, -0.3867188, 0.8017578, 0.2714844, -0.25, -0.0625, 0.125}));
}

TEST(LinearAttention, forgets_by_heads_and_tells_what_is_new) {
  const auto y = run_operator("LinearAttention", {kQ, kK, kV, kState, kHeadDecay, kBeta},
                              {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("gated_delta")}}, 2);
  EXPECT_TRUE(near(y[0], {1, 2, 12}, {0.4986246,  -0.02500164, -0.1912303, -0.2970961, -0.01078129, 0.1380728,  0.2927864,  -0.3425049,
                                      0.05524272, -0.7485388,  0.5579515,  -0.1712524, -0.3883293,  -0.276561,  0.4308178,  -0.4078818,
                                      0.1798294,  0.04344907,  -0.4761697, 0.6717377,  0.2559314,   -0.3157783, -0.1187065, -0.3066629}));
  EXPECT_TRUE(near(y[1], {1, 2, 2, 3},
                   {-0.5952663, 0.6846062, -0.3037685, 0.5583977, 0.1759718, -0.426661, -0.3907904, 0.6900519, 0.3272094, -0.7396708,
                    0.3496626, -0.1882799}));
}

TEST(LinearAttention, errors_name_what_does_not_fit) {
  const Attributes heads = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  EXPECT_THAT(error_of("LinearAttention", {kQ, kK, kV}, heads), HasSubstr("with update_rule gated_delta there should be a decay"));
  EXPECT_THAT(error_of("LinearAttention", {kQ, kK, kV},
                       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{3}}, {"update_rule", std::string("linear")}}),
              HasSubstr("4 query heads cannot share 3"));
  EXPECT_THAT(error_of("LinearAttention", {kQ, kK, kV, kNone, kNone, kBeta},
                       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("linear")}}),
              HasSubstr("there should be no beta"));
}

}  // namespace
}  // namespace minnow::test
