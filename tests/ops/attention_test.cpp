// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs; those of short masks, of soft caps (which ONNX Runtime puts behind the mask) and of
// windows from the reference evaluator of onnx 1.23.2.
#include <gmock/gmock.h>

#include "ops/operator.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

const Tensor kQ = pattern({1, 2, 2, 4}), kK = pattern({1, 2, 3, 4}, 5), kV = pattern({1, 2, 3, 2}, 3);

bool has_operators(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (!OperatorSet::builtin().find(name)) return false;
  return true;
}

/// By the reference and by the decomposition, which must agree on all outputs.
std::vector<Tensor> run_both(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                             size_t outputs = 1) {
  const auto made = run_operator(op, inputs, attributes, outputs);
  if (has_operators({"Softmax", "ReduceMax", "Where", "Less", "LessOrEqual", "Equal", "And", "Cast"})) {
    const auto parts = run_decomposition(op, inputs, attributes, outputs);
    for (size_t i = 0; i < outputs; ++i) EXPECT_TRUE(near(parts[i], made[i].shape(), numbers(made[i]))) << "output " << i << ", decomposed";
  }
  return made;
}

Tensor mask(const std::vector<double>& values) { return tensor(DType::boolean, {2, 3}, values); }

TEST(Attention, without_a_mask) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV})[0], {1, 2, 2, 2},
                   {0.1103101, -0.1467806, 0.06247493, -0.09354322, 0.5261117, -0.1543405, -0.2817543, 0.0004520267}));
}

TEST(Attention, query_that_sees_nothing_gives_zeros) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV, mask({1, 0, 1, 0, 0, 0})})[0], {1, 2, 2, 2},
                   {-0.403772, 0.346228, 0, 0, 0.849335, -0.7099335, 0, 0}));
}

TEST(Attention, mask_and_causal) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV, mask({1, 0, 1, 1, 1, 1})}, {{"is_causal", int64_t{1}}})[0], {1, 2, 2, 2},
                   {-0.5, 0.25, 0.1798928, -0.3165773, 1.25, -0.75, 0.351757, 0.3278916}));
}

TEST(Attention, mask_of_integers_is_added) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV, tensor(DType::i32, {2, 3}, {0, 1, 2, 1, 0, 1})})[0], {1, 2, 2, 2},
                   {0.1097642, 0.001025617, -0.1841313, 0.1448908, -0.1165689, 0.008283794, -0.3884028, -0.2832641}));
}

TEST(Attention, columns_that_a_mask_lacks_are_excluded) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV, tensor(DType::f32, {2, 2}, {0, 1, 1, 0})})[0], {1, 2, 2, 2},
                   {0.5778916, -0.648243, -0.1494405, -0.04213295, 0.4182368, 0.2481158, 0.6445249, -0.02342987}));
}

TEST(Attention, padding_at_the_end_of_the_cache) {
  Tensor v = pattern({2, 2, 3, 2}, 3);
  v.writable().data<float>()[4] = std::numeric_limits<float>::quiet_NaN();  // values in the padding must not matter
  const auto y =
      run_operator("Attention", {pattern({2, 2, 2, 4}), pattern({2, 2, 3, 4}, 5), v, kNone, kNone, kNone, tensor(DType::i64, {2}, {2, 0})});
  EXPECT_TRUE(near(y[0], {2, 2, 2, 2},
                   {0.2265701, -0.3554751, 0.1798928, -0.3165773, 0.7218692, -0.116243, 0.351757, 0.3278916, 0, 0, 0, 0, 0, 0, 0, 0}));
  run_both("Attention", {pattern({2, 2, 2, 4}), pattern({2, 2, 3, 4}, 5), pattern({2, 2, 3, 2}, 3), kNone, kNone, kNone,
                         tensor(DType::i64, {2}, {2, 0})});
}

TEST(Attention, shared_heads_packed_inputs_and_a_cache) {
  const auto y = run_both(
      "Attention",
      {pattern({2, 2, 16}), pattern({2, 3, 8}, 5), pattern({2, 3, 4}, 3), kNone, pattern({2, 2, 2, 4}, 2), pattern({2, 2, 2, 2}, 4)},
      {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"is_causal", int64_t{1}}}, 3);
  EXPECT_TRUE(near(y[0], {2, 2, 8}, {-0.6918624, 0.1923316,  -0.6713639, 0.2114308, 0.4172009,   0.08769113, 0.7284495,  -0.7690393,
                                     -0.6141937, 0.2636954,  -0.7180451, 0.1827857, 0.7540466,   -0.2158977, 0.6423538,  -0.308475,
                                     0.3034795,  0.01606081, 0.09205487, 0.5633885, 0.1714087,   -0.6473222, -0.2310448, -0.4761623,
                                     0.5912107,  0.2480346,  0.3964997,  0.4829549, -0.04076375, -0.3317608, -0.6325109, -0.03536034}));
  EXPECT_TRUE(near(y[1], {2, 2, 5, 4},
                   {-0.5,  0,     0.5,  1,    -1.25, -0.75, -0.25, 0.25,  -0.5,  0.75,  -0.75, 0.5,   1.25, -0.25, 1,     -0.5,
                    0.25,  -1.25, 0,    1.25, 0.75,  1.25,  -1,    -0.5,  0,     0.5,   1,     -1.25, -1,   0.25,  -1.25, 0,
                    0.75,  -0.75, 0.5,  -1,   -0.25, 1,     -0.5,  0.75,  -0.75, -0.25, 0.25,  0.75,  1.25, -1,    -0.5,  0,
                    -0.75, 0.5,   -1,   0.25, 1,     -0.5,  0.75,  -0.75, 0,     1.25,  -0.25, 1,     0.5,  1,     -1.25, -0.75,
                    -0.25, 0.25,  0.75, 1.25, -1.25, 0,     1.25,  -0.25, 0.5,   -1,    0.25,  -1.25, -0.5, 0.75,  -0.75, 0.5}));
  EXPECT_TRUE(near(y[2], {2, 2, 5, 2}, {-0.5, 0.5,   -1.25, -0.25, -0.5,  0.25, -0.25, 0.5,   0,     0.75, 0.75, -1,  0,   1,
                                        1,    -1,    1.25,  -0.75, -1.25, -0.5, -0.75, 0.25,  1.25,  -0.5, 0.25, 1,   0.5, 1.25,
                                        0.75, -1.25, 0.5,   -1.25, -0.25, 0.75, -1,    -0.25, -0.75, 0,    -0.5, 0.25}));
}

TEST(Attention, soft_cap_and_the_four_kinds_of_scores) {
  const std::vector<double> scores[] = {
      {0.1875, 0.15, -0.09375001, 0.1875, 0.07500002, -0.0375, 0.45, 0.2625, -0.54375, -0.1875, 0.375, 0.31875},
      {0.1791787, 0.1456563, -0.09266661, 0.1791787, 0.07444254, -0.03742984, 0.3581489, 0.2407749, -0.3979819, -0.1791787, 0.3175745,
       0.2815975},
      {-0.3208213, 1.145656, -0.3426666, 1.429179, 0.07444254, -1.28743, -0.1418511, 1.240775, -0.6479819, 1.070821, 0.3175745, -0.9684025},
      {0.15842, 0.6865832, 0.1549968, 0.755222, 0.1948589, 0.04991907, 0.1789493, 0.713176, 0.1078748, 0.6246232, 0.2940947, 0.08128203}};
  for (int64_t mode = 0; mode < 4; ++mode) {
    const auto y = run_both("Attention", {kQ, kK, kV, tensor(DType::f32, {1, 1, 2, 3}, {-0.5, 1, -0.25, 1.25, 0, -1.25})},
                            {{"softcap", 0.5f}, {"scale", 0.3f}, {"qk_matmul_output_mode", mode}}, 4);
    EXPECT_TRUE(near(y[0], {1, 2, 2, 2}, {0.568624, -0.5694798, -0.1952319, 0.01890616, 0.08884306, 0.3467326, 0.6791765, -0.2885374}));
    EXPECT_TRUE(near(y[1], {1, 2, 3, 4}, numbers(kK)));
    EXPECT_TRUE(near(y[3], {1, 2, 2, 3}, scores[mode])) << mode;
  }
}

TEST(Attention, what_is_excluded_stays_excluded_under_a_soft_cap) {
  const double kExcluded = -std::numeric_limits<double>::infinity();
  EXPECT_TRUE(
      near(run_both("Attention", {kQ, kK, kV, tensor(DType::f32, {2, 3}, {0, kExcluded, 0, 0, 0, kExcluded})}, {{"softcap", 0.5f}})[0],
           {1, 2, 2, 2}, {-0.4013881, 0.3486119, 0.1920506, -0.3267088, 0.540971, -0.6790971, 0.4143659, 0.252761}));
}

TEST(Attention, windows_around_the_place_of_a_query) {
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV}, {{"left_window_size", int64_t{0}}, {"right_window_size", int64_t{1}}})[0],
                   {1, 2, 2, 2}, {0.2265701, -0.3554751, 0.4334227, -0.3201072, 0.7218692, -0.1162431, -0.5957246, 0.1542755}));
  EXPECT_TRUE(near(run_both("Attention", {kQ, kK, kV, kNone, pattern({1, 2, 2, 4}, 2), pattern({1, 2, 2, 2}, 4)},
                            {{"left_window_size", int64_t{1}}, {"is_causal", int64_t{1}}})[0],
                   {1, 2, 2, 2}, {-0.7668312, 0.07211255, 0.1798928, -0.3165773, 0.7780742, -0.08930384, 0.351757, 0.3278916}));
  EXPECT_THAT(error_of("Attention", {kQ, kK, kV}, {{"left_window_size", int64_t{-2}}}), HasSubstr("left_window_size is -2"));
}

TEST(Attention, the_last_query_stands_at_the_last_of_the_used_keys) {
  const std::vector<Tensor> inputs = {
      pattern({2, 2, 2, 4}), pattern({2, 2, 3, 4}, 5), pattern({2, 2, 3, 2}, 3), kNone, kNone, kNone, tensor(DType::i64, {2}, {2, 1})};
  EXPECT_TRUE(near(run_both("Attention", inputs, {{"is_causal", int64_t{1}}})[0], {2, 2, 2, 2},
                   {-0.5, 0.25, 0.1798928, -0.3165773, 1.25, -0.75, 0.351757, 0.3278916, 0, 0, 0.25, 1, 0, 0, -0.75, 0}));
  EXPECT_TRUE(near(run_both("Attention", inputs, {{"left_window_size", int64_t{0}}})[0], {2, 2, 2, 2},
                   {0.2265701, -0.3554751, 1, -1, 0.7218692, -0.1162431, 0, 0.75, 0.25, 1, 0.25, 1, -0.75, 0, -0.75, 0}));
}

TEST(Attention, other_types_and_empty_sequences) {
  for (DType dtype : {DType::f64, DType::f16, DType::bf16})
    EXPECT_TRUE(near(
        run_operator("Attention", {pattern({1, 2, 2, 4}, 7, dtype), pattern({1, 2, 3, 4}, 5, dtype), pattern({1, 2, 3, 2}, 3, dtype)})[0],
        {1, 2, 2, 2}, {0.1103101, -0.1467806, 0.06247493, -0.09354322, 0.5261117, -0.1543405, -0.2817543, 0.0004520267}, 4e-3));
  EXPECT_TRUE(near(run_operator("Attention", {kQ, pattern({1, 2, 0, 4}), pattern({1, 2, 0, 2})})[0], {1, 2, 2, 2}, std::vector<double>(8)));
  EXPECT_TRUE(near(run_operator("Attention", {pattern({1, 2, 0, 4}), kK, kV})[0], {1, 2, 0, 2}, {}));
  EXPECT_TRUE(near(run_operator("Attention", {pattern({0, 2, 2, 4}), pattern({0, 2, 3, 4}), pattern({0, 2, 3, 2})})[0], {0, 2, 2, 2}, {}));
}

TEST(Attention, errors_name_what_does_not_fit) {
  EXPECT_THAT(error_of("Attention", {kQ, kK, pattern({1, 2, 4, 2})}),
              HasSubstr("node \"node\" (Attention): V should have shape [1, 2, 3, 2]"));
  EXPECT_THAT(error_of("Attention", {kQ, kK, kV, pattern({2, 4})}),
              HasSubstr("the mask should have a shape that can be broadcast to [1, 2, 2, 3]"));
  EXPECT_THAT(error_of("Attention", {kQ, pattern({1, 3, 3, 4}), pattern({1, 3, 3, 2})}), HasSubstr("2 query heads cannot share 3"));
  EXPECT_THAT(error_of("Attention", {pattern({1, 2, 4}), pattern({1, 2, 4}), pattern({1, 2, 4})}), HasSubstr("\"q_num_heads\" is missing"));
  EXPECT_THAT(error_of("Attention", {kQ, kK, kV, kNone, kNone, kNone, tensor(DType::i64, {1}, {4})}),
              HasSubstr("names 4 keys, there are 3"));
  EXPECT_THAT(error_of("Attention", {kQ, kK, kV}, {{"softmax_precision", static_cast<int64_t>(DType::i8)}}),
              HasSubstr("softmax_precision is 3, which is no floating dtype"));
}

const Tensor kRotaryX = pattern({1, 2, 3, 4}), kRotaryX3 = pattern({1, 3, 8}), kPositions = tensor(DType::i64, {1, 3}, {4, 0, 2});

TEST(RotaryEmbedding, by_position) {
  EXPECT_TRUE(near(run_both("RotaryEmbedding", {kRotaryX, pattern({5, 2}, 3), pattern({5, 2}, 2), kPositions})[0], {1, 2, 3, 4},
                   {-0.1875, 1.875,   -0.375, 1,      -1,    0,     0,      0.1875,  0.6875,  -1,     0.1875, 0.6875,
                    0.5625,  -1.0625, 0.9375, 1.0625, 0.375, -0.25, -0.375, -0.0625, -0.3125, 1.1875, 1.6875, 0.25}));
  EXPECT_TRUE(
      near(run_both("RotaryEmbedding", {kRotaryX, pattern({5, 2}, 3), pattern({5, 2}, 2), kPositions}, {{"interleaved", int64_t{1}}})[0],
           {1, 2, 3, 4}, {-0.9375, -0.375, 1.125,   -0.25,   -0.5, -0.5, -0.25,  0.1875,  -1.5,   0.625,  -0.125, -0.625,
                          -0.1875, 0.9375, -1.8125, -0.1875, -0.5, 0.5,  0.1875, -0.0625, 0.9375, 1.4375, 0.6875, 1}));
}

TEST(RotaryEmbedding, packed_heads_and_a_part_of_each) {
  EXPECT_TRUE(near(run_both("RotaryEmbedding", {kRotaryX3, pattern({1, 3, 1}, 3), pattern({1, 3, 1}, 2)},
                            {{"num_heads", int64_t{2}}, {"rotary_embedding_dim", int64_t{2}}, {"interleaved", int64_t{1}}})[0],
                   {1, 3, 8}, {0.875,  -0.375, 0.25,  -0.75, -0.5, -0.5, -1,   0.75,  -0.0625, -0.3125, 0.5,  -0.5,
                               0.3125, 0.0625, -0.75, 1,     0.5,  -1,   0.75, -0.25, -1.5,    -0.125,  -0.5, 1.25}));
  EXPECT_TRUE(near(run_both("RotaryEmbedding", {kRotaryX3, pattern({1, 3, 2}, 3), pattern({1, 3, 2}, 2)}, {{"num_heads", int64_t{2}}})[0],
                   {1, 3, 8}, {0.375, 0.3125, 0.125,  -0.1875, -1,     0,       0,       0.1875, -0.5,    1.75,   0.375,  -0.75,
                               1.625, -1.25,  -0.125, -0.75,   0.9375, -0.6875, -0.1875, 0.625,  -0.3125, 1.1875, 1.6875, 0.25}));
}

TEST(RotaryEmbedding, errors) {
  EXPECT_THAT(error_of("RotaryEmbedding", {kRotaryX, pattern({5, 2}), pattern({5, 2}), tensor(DType::i64, {1, 3}, {4, 5, 2})}),
              HasSubstr("position 5 is not in [0, 5)"));
  EXPECT_THAT(error_of("RotaryEmbedding", {kRotaryX, pattern({5, 3}), pattern({5, 3}), kPositions}), HasSubstr("which does not fit X"));
}

}  // namespace
}  // namespace minnow::test
