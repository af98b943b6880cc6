// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy.
#include <gmock/gmock.h>

#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

TEST(LayerNormalization, last_dimension) {
  const std::vector<Tensor> y = run_operator("LayerNormalization", {pattern({2, 3, 4}), pattern({4}, 5), pattern({4}, 3)}, {}, 3);
  EXPECT_TRUE(
      near(y[0], {2, 3, 4}, {-0.138554287, 1.39457809,  0.819277143,   -1.52208825, -1.02208825, 0.0692771434, 2.14457809, -0.638554287,
                             -0.59999872,  -0.79998656, -0.0499865603, -1.09999872, -1.02208825, 0.0692771434, 2.14457809, -0.638554287,
                             -0.59999872,  -0.79998656, -0.0499865603, -1.09999872, 0.156528542, 0.643917125,  1.39391713, -0.343471458}));
  EXPECT_TRUE(near(y[1], {2, 3, 1}, {0.0625, 0.1875, -0.375, 0.4375, -0.125, 0}));
  EXPECT_TRUE(near(y[2], {2, 3, 1}, {1.28514031, 1.28514031, 1.59997952, 1.28514031, 1.59997952, 1.05044567}));
}

TEST(LayerNormalization, several_dimensions_and_broadcast_bias) {
  const std::vector<Tensor> y = run_operator("LayerNormalization", {pattern({2, 3, 4}), pattern({3, 4}, 5), pattern({3, 1}, 3)},
                                             {{"axis", int64_t{1}}, {"epsilon", 0.5f}}, 3);
  EXPECT_TRUE(near(y[0], {2, 3, 4},
                   {-0.280700639, 0.427038209,   -0.709331208, -0.838917195, -0.746815279, 0.259968153,  1.39633757,   0.25,
                    0.75079618,   1.28907643,    1.51834394,   1.21929936,   -1.0246907,   -0.399831776, 0.0866995977, -0.0897872732,
                    0.345398309,  -0.0028055177, -0.489336891, 0.25,         -0.550222514, 0.909371607,  0.44668981,   0.475309303}));
  EXPECT_TRUE(near(y[1], {2, 1, 1}, {-0.0416666667, 0.104166667}));
  EXPECT_TRUE(near(y[2], {2, 1, 1}, {0.956942667, 0.915823762}));
}

TEST(LayerNormalization, dtypes_of_the_statistics) {
  const std::vector<Tensor> inputs = {pattern({2, 3, 4}, 7, DType::f16), pattern({4}, 5, DType::f16)};
  const std::vector<Tensor> y = run_operator("LayerNormalization", inputs, {}, 3);
  EXPECT_EQ(y[0].dtype(), DType::f16);
  EXPECT_EQ(y[1].dtype(), DType::f32);
  EXPECT_TRUE(near(y[2], {2, 3, 1}, {1.28514031, 1.28514031, 1.59997952, 1.28514031, 1.59997952, 1.05044567}));
  EXPECT_EQ(run_operator("LayerNormalization", inputs, {{"stash_type", static_cast<int64_t>(DType::bf16)}}, 3)[2].dtype(), DType::bf16);
  EXPECT_THAT(error_of("LayerNormalization", inputs, {{"stash_type", int64_t{6}}}), HasSubstr("stash_type 6"));
}

TEST(LayerNormalization, edges) {
  EXPECT_TRUE(near(run_operator("LayerNormalization", {tensor(DType::f32, {0, 4}, {}), pattern({4})})[0], {0, 4}, {}));
  EXPECT_TRUE(near(run_operator("LayerNormalization", {tensor(DType::f32, {2, 0}, {}), tensor(DType::f32, {1}, {1})})[0], {2, 0}, {}));
  EXPECT_TRUE(
      near(run_operator("LayerNormalization", {tensor(DType::f32, {1, 2}, {3, 3}), tensor(DType::f32, {}, {1})})[0], {1, 2}, {0, 0}));
  EXPECT_THAT(error_of("LayerNormalization", {pattern({2, 3}), pattern({2})}), HasSubstr("cannot be broadcast"));
  EXPECT_THAT(error_of("LayerNormalization", {pattern({3}), pattern({2, 3})}), HasSubstr("cannot be broadcast to [3]"));
}

TEST(RMSNormalization, values) {
  EXPECT_TRUE(near(run_operator("RMSNormalization", {pattern({2, 3, 4}), pattern({4}, 5)})[0], {2, 3, 4},
                   {0.32025368,  1.2009513,   -0.24019026,  -0.48038052,  -0.624690172, 0,           0.937035258, 0.468517629,
                    0.171496971, -1.28622728, -0.514490913, -0.342993942, -0.700135649, 0.210040695, 0.630122084, 0.560108519,
                    -0.0,        -1.17668233, -0.882511747, -0.196113721, 0.656528542,  0.393917125, 0.393917125, 0.656528542}));
  EXPECT_TRUE(near(run_operator("RMSNormalization", {pattern({2, 3, 4}), pattern({3, 4}, 5)}, {{"axis", int64_t{-2}}})[0], {2, 3, 4},
                   {0.32444011,  1.21665041, -0.243330083, -0.486660165, -1.29776044,  0,           1.62220055,  0,    -0.405550138,
                    0.405550138, 0.64888022, 0.32444011,   -0.745350692, 0.223605208,  0.670815623, 0.596280554, -0.0, -0.298140277,
                    -1.11802604, -0.0,       -1.86337673,  -0.149070138, -0.596280554, -0.745350692}));
  EXPECT_EQ(run_operator("RMSNormalization", {pattern({2, 4}, 7, DType::f16), pattern({4}, 5)})[0].dtype(), DType::f32)
      << "the scale's dtype";
}

TEST(GroupNormalization, groups_of_channels) {
  const std::vector<Tensor> inputs = {pattern({2, 4, 3}), pattern({4}, 5), pattern({4}, 3)};
  EXPECT_TRUE(near(run_operator("GroupNormalization", inputs, {{"num_groups", int64_t{2}}})[0], {2, 4, 3},
                   {-0.0132960116, -1.21574116,  -0.528629646, -0.7377228,  1.06594492,  0.0352776522, 1.73005598,   -0.0736117392,
                    0.95705553,    -1.65848187,  -0.456036719, -1.14314823, -1.18097993, -0.575664436, 0.0296510545, 1.04447658,
                    0.136503345,   -0.771469891, 0.402981942,  1.29850903,  2.19403612,  -0.751242476, -1.34826053,  -0.303478932}));
  const std::vector<double> instances = {0.0812325385, -1.13935579, -0.441876746, -0.621848808, 1.20903369,   0.162815119, 1.87184881,
                                         0.0409663115, 1.08718488,  -1.58123254,  -0.360644208, -1.05812325,  -1.11236784, -0.5,
                                         0.112367843,  1.16855176,  0.25,         -0.668551764, 0.0814482356, 1,           1.91855176,
                                         -0.941876746, -1.63935579, -0.418767461};
  EXPECT_TRUE(near(run_operator("GroupNormalization", inputs, {{"num_groups", int64_t{4}}})[0], {2, 4, 3}, instances));
  EXPECT_TRUE(near(run_operator("InstanceNormalization", inputs)[0], {2, 4, 3}, instances));
}

TEST(GroupNormalization, edges) {
  const std::vector<Tensor> inputs = {pattern({2, 4, 3}), pattern({4}, 5), pattern({4}, 3)};
  EXPECT_THAT(error_of("GroupNormalization", inputs, {{"num_groups", int64_t{3}}}),
              HasSubstr("4 channels cannot be divided into 3 groups"));
  EXPECT_THAT(error_of("GroupNormalization", inputs, {{"num_groups", int64_t{0}}}), HasSubstr("0 groups"));
  EXPECT_THAT(error_of("GroupNormalization", inputs), HasSubstr("\"num_groups\" is missing"));
  EXPECT_TRUE(
      near(run_operator("GroupNormalization", {tensor(DType::f32, {2, 0, 3}, {}), tensor(DType::f32, {0}, {}), tensor(DType::f32, {0}, {})},
                        {{"num_groups", int64_t{1} << 60}})[0],
           {2, 0, 3}, {}));
  EXPECT_TRUE(near(run_operator("InstanceNormalization",
                                {tensor(DType::f32, {2, 1, 0}, {}), tensor(DType::f32, {1}, {1}), tensor(DType::f32, {1}, {1})})[0],
                   {2, 1, 0}, {}));
  EXPECT_THAT(error_of("InstanceNormalization", {pattern({4}), pattern({4}), pattern({4})}), HasSubstr("a batch and a channel dimension"));
}

TEST(BatchNormalization, inference) {
  EXPECT_TRUE(near(run_operator("BatchNormalization", {pattern({2, 4, 3}), pattern({4}, 5), pattern({4}, 3), pattern({4}, 2),
                                                       tensor(DType::f32, {4}, {0.5, 1, 2, 4})})[0],
                   {2, 4, 3}, {-0.5,       -1.73742449, -1.03032478, -0.312497188, 0.99999625,  0.25,        1.79549314,   0.86741781,
                               1.39774657, -1.5624993,  -1.12499984, -1.37499953,  -1.73742449, -1.03032478, -0.323225072, 0.99999625,
                               0.25,       -0.49999625, 0.86741781,  1.39774657,   1.92807533,  -1.12499984, -1.37499953,  -0.937500078}));
}

TEST(BatchNormalization, training) {
  const std::vector<Tensor> y =
      run_operator("BatchNormalization",
                   {pattern({2, 4, 3}), pattern({4}, 5), pattern({4}, 3), pattern({4}, 2), tensor(DType::f32, {4}, {0.5, 1, 2, 4})},
                   {{"training_mode", int64_t{1}}, {"momentum", 0.75f}}, 3);
  EXPECT_TRUE(near(y[0], {2, 4, 3},
                   {0.0144494981, -1.12275466,  -0.472923711, -0.521674247, 1.18413198,  0.209385566,  1.77167425,  0.0658680166,
                    1.04061443,   -1.75377288,  -0.698490848, -1.30150915,  -1.12275466, -0.472923711, 0.176907234, 1.18413198,
                    0.209385566,  -0.765360852, 0.0658680166, 1.04061443,   2.01536085,  -0.698490848, -1.30150915, -0.246227121}));
  EXPECT_TRUE(near(y[1], {4}, {-0.302083333, 0.0104166667, 0.322916667, 0.75}));
  EXPECT_TRUE(near(y[2], {4}, {0.523003472, 0.898003472, 1.64800347, 3.171875}));
}

TEST(BatchNormalization, vectors_have_one_channel) {
  const Tensor one = tensor(DType::f32, {1}, {1}), zero = tensor(DType::f32, {1}, {0});
  EXPECT_TRUE(
      near(run_operator("BatchNormalization", {pattern({3}), one, one, zero, one}, {{"epsilon", 0.0f}})[0], {3}, {0.5, 2.25, 1.25}));
}

TEST(BatchNormalization, errors) {
  const std::vector<Tensor> inputs = {pattern({2, 4, 3}), pattern({4}), pattern({4}), pattern({4}), pattern({3})};
  EXPECT_THAT(error_of("BatchNormalization", inputs), HasSubstr("should have shape [4], it has shape [3]"));
  EXPECT_THAT(error_of("BatchNormalization", {inputs[0], inputs[1], inputs[1], inputs[1], inputs[1]}, {}, 3),
              HasSubstr("training_mode is 0"));
}

TEST(LRN, neighbours) {
  const auto lrn = [](int64_t size) {
    return run_operator("LRN", {pattern({1, 5, 2})}, {{"size", size}, {"alpha", 0.5f}, {"beta", 0.75f}, {"bias", 2.0f}})[0];
  };
  EXPECT_TRUE(
      near(lrn(3), {1, 5, 2},
           {-0.291624334, 0.657706461, 0.137517741, -0.394623877, 0.52791808, 0, -0.52791808, 0.394623877, -0.139486995, -0.657706461}));
  EXPECT_TRUE(
      near(lrn(4), {1, 5, 2},
           {-0.280231954, 0.676891393, 0.134337348, -0.396931303, 0.541513114, 0, -0.542917818, 0.406134836, -0.14165291, -0.676891393}));
  EXPECT_TRUE(
      near(lrn(int64_t{1} << 62), {1, 5, 2},
           {-0.297301779, 0.743254447, 0.148650889, -0.445952668, 0.594603558, 0, -0.594603558, 0.445952668, -0.148650889, -0.743254447}));
  EXPECT_THAT(error_of("LRN", {pattern({1, 5, 2})}, {{"size", int64_t{0}}}), HasSubstr("size should be positive"));
}

TEST(MeanVarianceNormalization, axes) {
  EXPECT_TRUE(near(run_operator("MeanVarianceNormalization", {pattern({2, 3, 2, 2})})[0], {2, 3, 2, 2}, {-0.93704257,
                                                                                                         1.24939009,
                                                                                                         0,
                                                                                                         -1.24939009,
                                                                                                         1.34024687,
                                                                                                         -0.0432337701,
                                                                                                         -1.42671441,
                                                                                                         0.994376711,
                                                                                                         -0.0755928945,
                                                                                                         -1.28507921,
                                                                                                         0.83152184,
                                                                                                         -0.377964473,
                                                                                                         1.24939009,
                                                                                                         0,
                                                                                                         -1.24939009,
                                                                                                         0.93704257,
                                                                                                         -0.0432337701,
                                                                                                         -1.42671441,
                                                                                                         0.994376711,
                                                                                                         -0.389103931,
                                                                                                         -1.28507921,
                                                                                                         0.83152184,
                                                                                                         -0.377964473,
                                                                                                         1.73863657}));
  EXPECT_TRUE(near(run_operator("MeanVarianceNormalization", {pattern({2, 3, 4})}, {{"axes", Ints{-1}}})[0], {2, 3, 4},
                   {-0.722897395, 1.52611672, 0.240965798, -1.04418513, 1.04418513,  -0.240965798, -1.52611672,  0.722897395,
                    0.2,          -1.4,       1.4,         -0.2,        1.04418513,  -0.240965798, -1.52611672,  0.722897395,
                    0.2,          -1.4,       1.4,         -0.2,        -1.31306433, 0.525225731,  -0.525225731, 1.31306433}));
  EXPECT_THAT(error_of("MeanVarianceNormalization", {pattern({2, 3})}), HasSubstr("axis 2 is out of range"));
}

TEST(LpNormalization, orders) {
  const Tensor x = tensor(DType::f32, {3, 3}, {3, -4, 0, 0, 0, 0, 1, 2, 2});
  EXPECT_TRUE(near(run_operator("LpNormalization", {x})[0], {3, 3}, {0.6, -0.8, 0, 0, 0, 0, 0.333333333, 0.666666667, 0.666666667}));
  EXPECT_TRUE(near(run_operator("LpNormalization", {x}, {{"p", int64_t{1}}, {"axis", int64_t{0}}})[0], {3, 3},
                   {0.75, -0.666666667, 0, 0, 0, 0, 0.25, 0.333333333, 1}));
  EXPECT_THAT(error_of("LpNormalization", {x}, {{"p", int64_t{3}}}), HasSubstr("p should be 1 or 2"));
}

}  // namespace
}  // namespace minnow::test
