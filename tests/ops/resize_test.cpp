// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(Resize, nearest) {
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_floor")},
                                 {"coordinate_transformation_mode", std::string("half_pixel")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, -0.5, 0.25, 1, -1, -0.25, 0.5, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_floor")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, 1, -1, 1, -1, -0.25, 0.5, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_floor")},
                                 {"coordinate_transformation_mode", std::string("align_corners")}})[0],
                   {1, 1, 5, 2}, {-0.5, -0.75, -0.5, -0.75, 1, 0.75, 1, 0.75, -0.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_ceil")},
                                 {"coordinate_transformation_mode", std::string("half_pixel")}})[0],
                   {1, 1, 5, 2}, {1.25, -0.75, 1.25, -0.75, 0, 0.75, -1.25, -0.5, -1.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_ceil")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, 1, -1, 1, -1, -0.25, 0.5, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("round_prefer_ceil")},
                                 {"coordinate_transformation_mode", std::string("align_corners")}})[0],
                   {1, 1, 5, 2}, {-0.5, -0.75, 1, 0.75, 1, 0.75, -0.25, -0.5, -0.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("floor")},
                                 {"coordinate_transformation_mode", std::string("half_pixel")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, -0.5, 0.25, 1, -1, 1, -1, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("floor")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, -0.5, 0.25, 1, -1, 1, -1, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("floor")},
                                 {"coordinate_transformation_mode", std::string("align_corners")}})[0],
                   {1, 1, 5, 2}, {-0.5, -0.75, -0.5, -0.75, 1, 0.75, 1, 0.75, -0.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("ceil")},
                                 {"coordinate_transformation_mode", std::string("half_pixel")}})[0],
                   {1, 1, 5, 2}, {1.25, -0.75, 0, 0.75, 0, 0.75, -1.25, -0.5, -1.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("ceil")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")}})[0],
                   {1, 1, 5, 2}, {-0.5, 0.25, 1, -1, -0.25, 0.5, -0.25, 0.5, -0.25, 0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 3, 4}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 5, 2})},
                                {{"mode", std::string("nearest")},
                                 {"nearest_mode", std::string("ceil")},
                                 {"coordinate_transformation_mode", std::string("align_corners")}})[0],
                   {1, 1, 5, 2}, {-0.5, -0.75, 1, 0.75, 1, 0.75, -0.25, -0.5, -0.25, -0.5}));
  EXPECT_TRUE(near(run_operator("Resize", {tensor(DType::u8, {2, 2}, {1, 2, 3, 4}), Tensor(), tensor(DType::f32, {2}, {2, 1.5})},
                                {{"mode", std::string("nearest")}})[0],
                   {4, 3}, {1, 1, 2, 1, 1, 2, 3, 3, 4, 3, 3, 4}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({2, 3}), Tensor(), tensor(DType::f32, {2}, {2, 2})},
                                {{"mode", std::string("nearest")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("floor")}})[0],
                   {4, 6}, {-0.5,  -0.5,  1.25, 1.25, 0.25, 0.25, -0.5,  -0.5,  1.25, 1.25, 0.25, 0.25,
                            -0.75, -0.75, 1,    1,    0,    0,    -0.75, -0.75, 1,    1,    0,    0}));
}

TEST(Resize, linear) {
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 7, 3})},
                                {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("half_pixel")}})[0],
                   {1, 1, 7, 3}, {0.083333284, 0.25,         0.41666639, -0.065476194, 0.4285714,  -0.059523955, -0.3035714,  0.71428573,
                                  -0.82142854, -0.083333313, 1,          -0.66666651,  0.20238096, 1.0892859,    -0.38095227, 0.48809522,
                                  -0.19642842, -0.09523797,  0.66666669, -1,           0.083333492},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 7, 3})},
                                {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("asymmetric")}})[0],
                   {1, 1, 7, 3}, {-0.5,        0.58333337,  -0.16666681, -0.2142857, 0.34523809,  -0.40476194, 0.071428597,
                                  0.23809516,  -0.51190466, 0.35714287,  0.52380949, -0.22619039, 0.64285719,  0.28571409,
                                  0.059523944, 0.92857146,  -0.47619057, 0.34523818, 1,           -0.66666663, 0.41666675},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 7, 3})},
                                {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}})[0],
                   {1, 1, 7, 3},
                   {-0.5, 0.25, 1, -0.25, 0.5, -0.125, 0, 0.75, -1.25, 0.25, 1, -1, 0.5, 1.25, -0.75, 0.75, 0.125, -0.5, 1, -1, -0.25},
                   1e-05));
  EXPECT_TRUE(near(
      run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 7, 3})},
                   {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("pytorch_half_pixel")}})[0],
      {1, 1, 7, 3},
      {0.083333284, 0.25,       0.41666639, -0.065476194, 0.4285714,  -0.059523955, -0.3035714,  0.71428573, -0.82142854, -0.083333313, 1,
       -0.66666651, 0.20238096, 1.0892859,  -0.38095227,  0.48809522, -0.19642842,  -0.09523797, 0.66666669, -1,          0.083333492},
      1e-05));
  EXPECT_TRUE(
      near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 7, 3})},
                        {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("half_pixel_symmetric")}})[0],
           {1, 1, 7, 3}, {0.083333284, 0.25000012,  0.41666639,   -0.065476194, 0.42857146,  -0.059523955, -0.3035714,
                          0.71428555,  -0.82142842, -0.083333313, 0.99999976,   -0.66666651, 0.20238096,   1.0892856,
                          -0.38095227, 0.48809522,  -0.19642842,  -0.09523797,  0.66666669,  -0.99999988,  0.083333492},
           1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), tensor(DType::f32, {4}, {1, 1, 0.60000002, 2.5})},
                                {{"mode", std::string("linear")}})[0],
                   {1, 1, 2, 12},
                   {-0.33333334, -0.25,       0.083333343,    0.41666666, 0.47500002, 0.44166666,   0.31666675,  -0.083333328,
                    -0.48333341, -0.33333337, -1.1920929e-07, 0.25000006, 0.5,        0.39999998,   0,           -0.39999998,
                    0.024999917, 0.72500008,  1.1500001,      0.75,       0.3499999,  -0.049999952, -0.44999981, -0.75},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 2, 3, 2}), Tensor(), Tensor(), tensor(DType::i64, {5}, {1, 1, 3, 2, 4})},
                                {{"mode", std::string("linear")}})[0],
                   {1, 1, 3, 2, 4},
                   {-0.3125, -0.046875, 0.484375, 0.75,    0.8125,  0.5625,    0.0625,    -0.1875, -0.5625, -0.296875, 0.234375, 0.5,
                    0.5625,  0.3125,    -0.1875,  -0.4375, -0.8125, -0.546875, -0.015625, 0.25,    0.3125,  0.0625,    -0.4375,  -0.6875},
                   1e-05));
  EXPECT_TRUE(near(
      run_operator("Resize", {pattern({5, 2}), Tensor(), tensor(DType::f32, {2}, {1.7, 1})}, {{"mode", std::string("linear")}})[0], {8, 2},
      {-0.5, 1.25, -0.21323533, 0.48529419, 0.22794116, -0.69117641, 0.66911769, -0.33088231, 0.70588255, 0.11029404, -0.47058821,
       0.55147058, -0.75735307, 0.10294151, -0.31617653, -1.0735292},
      1e-05));
}

TEST(Resize, cubic) {
  EXPECT_TRUE(near(
      run_operator(
          "Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 6, 3})},
          {{"mode", std::string("cubic")}, {"coordinate_transformation_mode", std::string("half_pixel")}, {"cubic_coeff_a", -0.5f}})[0],
      {1, 1, 6, 3},
      {0.079668075, 0.22106493, 0.52749836, -0.18402773, 0.46875, -0.3043983, -0.33200446, 0.86516219, -1.020576, 0.039051931, 1.3258101,
       -0.60236639, 0.47106487, 0.15625, -0.15856461, 0.77556992, -1.1302081, 0.14594084},
      1e-05));
  EXPECT_TRUE(near(
      run_operator(
          "Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 6, 3})},
          {{"mode", std::string("cubic")}, {"coordinate_transformation_mode", std::string("align_corners")}, {"cubic_coeff_a", -0.5f}})[0],
      {1, 1, 6, 3},
      {-0.5, 0.25, 1, -0.22399995, 0.5259999, -0.44000012, 0.099999845, 0.89400029, -1.326, 0.39999998, 1.326, -0.89400029, 0.72400022,
       0.4399997, -0.52600026, 1, -1, -0.25},
      1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 6, 3})},
                                {{"mode", std::string("cubic")}, {"exclude_outside", int64_t{1}}})[0],
                   {1, 1, 6, 3},
                   {0.088063151, 0.19932431, 0.60323763, -0.18749973, 0.4357143, -0.26107195, -0.34630975, 0.90422368, -1.0836521,
                    -0.0051642172, 1.3822334, -0.66930085, 0.51809502, 0.071428537, -0.12773806, 0.83127713, -1.2280399, 0.18544574},
                   1e-05));
}

TEST(Resize, antialias) {
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 7, 6}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 3, 4})},
                                {{"mode", std::string("linear")}, {"antialias", int64_t{1}}})[0],
                   {1, 1, 3, 4},
                   {0.052083358, 0.15451394, -0.14409724, -0.041666642, 0.3088235, -0.29084975, 0.026143808, 0.18137257, -0.30729163,
                    0.081597239, -0.10243059, 0.28645831},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 7, 6}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 3, 4})},
                                {{"mode", std::string("cubic")}, {"antialias", int64_t{1}}})[0],
                   {1, 1, 3, 4},
                   {0.14224777, 0.15940762, -0.17137916, -0.0026343127, 0.37070242, -0.42748404, 0.066541754, 0.081300691, -0.40497538,
                    0.10052948, -0.12624255, 0.41490415},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 7, 6}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 3, 4})},
                                {{"mode", std::string("cubic")}, {"antialias", int64_t{1}}, {"exclude_outside", int64_t{1}}})[0],
                   {1, 1, 3, 4},
                   {0.16493557, 0.12736844, -0.17797749, -0.011626079, 0.34125423, -0.38409522, 0.059465401, 0.073049083, -0.42745799,
                    0.081700355, -0.10505491, 0.43977755},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 7, 6}), Tensor(), Tensor(), tensor(DType::i64, {4}, {1, 1, 9, 2})},
                                {{"mode", std::string("linear")}, {"antialias", int64_t{1}}})[0],
                   {1, 1, 9, 2},
                   {0.22222227, 0.19444446, -0.11111107, -0.1388889, 0.043209851, -0.25617284, 0.33333325, -0.10185181, -0.055555575,
                    0.22222222, 0.030864179, 0.070987649, -0.22222239, 0.2592594, -0.30555552, 0.27777773, -0.027777746, -0.055555545},
                   1e-05));
}

TEST(Resize, region_axes_and_policies) {
  EXPECT_TRUE(near(
      run_operator("Resize",
                   {pattern({1, 1, 4, 5}), tensor(DType::f32, {8}, {0, 0, 0.1, -0.2, 1, 1, 0.89999998, 0.69999999}), Tensor(),
                    tensor(DType::i64, {4}, {1, 1, 3, 4})},
                   {{"mode", std::string("linear")},
                    {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                    {"extrapolation_value", 9.0f}})[0],
      {1, 1, 3, 4},
      {9, 0.019999929, 0.47000003, -0.39999968, 9, -0.14999992, 0.29999983, 0.20000029, 9, 0.44999999, -0.25499976, 0.41499972}, 1e-05));
  EXPECT_TRUE(near(run_operator("Resize",
                                {pattern({1, 1, 4, 5}), tensor(DType::f32, {8}, {0, 0, 0.1, -0.2, 1, 1, 0.89999998, 0.69999999}), Tensor(),
                                 tensor(DType::i64, {4}, {1, 1, 3, 4})},
                                {{"mode", std::string("nearest")},
                                 {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                                 {"extrapolation_value", 9.0f}})[0],
                   {1, 1, 3, 4}, {9, -0.5, 0.25, -0.75, 9, 0, 0.75, -0.25, 9, 1, -1, 0.75}, 1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {2}, {6, 3})},
                                {{"mode", std::string("linear")}, {"axes", Ints{2, 3}}})[0],
                   {1, 1, 6, 3},
                   {0.083333284, 0.25, 0.41666639, -0.12500001, 0.5, -0.25000006, -0.24999997, 0.83333325, -0.83333319, 0.083333313,
                    1.1666665, -0.49999985, 0.41666669, 0.125, -0.16666651, 0.66666669, -1, 0.083333492},
                   1e-05));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {2}, {6, 3})},
                                {{"mode", std::string("linear")}, {"axes", Ints{3, 2}}})[0],
                   {1, 1, 3, 6},
                   {-0.41666666, 0.55208331, 0.55902779, -0.083333172, -0.34375027, 0.62499994, 0.25, -0.5, 0.27083319, 0.58333349,
                    -0.24999976, -1, 0.91666663, 0.16666663, -0.3993054, -0.086805671, 0.41666684, -0.33333337},
                   1e-05));
  EXPECT_TRUE(near(
      run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {2}, {6, 9})},
                   {{"mode", std::string("nearest")}, {"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_larger")}})[0],
      {1, 1, 6, 8}, {-0.5, -0.5, 1.25, 0.25, 0.25, -0.75, 1,     1,     -0.5, -0.5, 1.25, 0.25, 0.25, -0.75, 1,     1,
                     0,    0,    -1,   0.75, 0.75, -0.25, -1.25, -1.25, 0.5,  0.5,  -0.5, 1.25, 1.25, 0.25,  -0.75, -0.75,
                     0.5,  0.5,  -0.5, 1.25, 1.25, 0.25,  -0.75, -0.75, 1,    1,    0,    -1,   -1,   0.75,  -0.25, -0.25}));
  EXPECT_TRUE(near(
      run_operator("Resize", {pattern({1, 1, 4, 5}), Tensor(), Tensor(), tensor(DType::i64, {2}, {6, 9})},
                   {{"mode", std::string("nearest")}, {"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_smaller")}})[0],
      {1, 1, 7, 9}, {-0.5,  -0.5,  1.25,  1.25,  0.25,  -0.75, -0.75, 1,     1,     -0.5,  -0.5,  1.25,  1.25,  0.25,  -0.75, -0.75,
                     1,     1,     0,     0,     -1,    -1,    0.75,  -0.25, -0.25, -1.25, -1.25, 0,     0,     -1,    -1,    0.75,
                     -0.25, -0.25, -1.25, -1.25, 0.5,   0.5,   -0.5,  -0.5,  1.25,  0.25,  0.25,  -0.75, -0.75, 1,     1,     0,
                     0,     -1,    0.75,  0.75,  -0.25, -0.25, 1,     1,     0,     0,     -1,    0.75,  0.75,  -0.25, -0.25}));
}

TEST(Resize, other_types_and_empty) {
  // Integers get the nearest value: 0.25 * 10 + 0.75 * 21 = 18.25.
  EXPECT_TRUE(near(run_operator("Resize", {tensor(DType::u8, {2}, {10, 21}), Tensor(), tensor(DType::f32, {1}, {2})},
                                {{"mode", std::string("linear")}})[0],
                   {4}, {10, 13, 18, 21}));
  EXPECT_TRUE(
      near(run_operator("Resize", {tensor(DType::i64, {2}, {-10, 21}), Tensor(), tensor(DType::f32, {1}, {1.5})})[0], {3}, {-10, -10, 21}));
  EXPECT_TRUE(near(run_operator("Resize", {pattern({0, 2}), Tensor(), tensor(DType::f32, {2}, {2, 2})})[0], {0, 4}, {}));
  // An empty tensor is an absent one.
  EXPECT_TRUE(near(run_operator("Resize", {pattern({2}), pattern({0}), pattern({0}), tensor(DType::i64, {1}, {1})})[0], {1}, {-0.5}));
}

TEST(Resize, wrong_inputs) {
  using testing::HasSubstr;
  const Tensor x = pattern({1, 1, 4, 4}), scales = tensor(DType::f32, {4}, {1, 1, 2, 2}), sizes = tensor(DType::i64, {4}, {1, 1, 2, 2});
  EXPECT_THAT(error_of("Resize", {x}), HasSubstr("either scales or sizes, it has neither"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), scales, sizes}), HasSubstr("it has both"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), tensor(DType::f32, {2}, {2, 2})}), HasSubstr("scales should have 4 entries"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), tensor(DType::f32, {4}, {1, 1, 0, 1})}), HasSubstr("scale 0 of axis 2"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), tensor(DType::f32, {4}, {1, 1, 1e30, 1})}), HasSubstr("is not possible"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), scales}, {{"mode", std::string("lanczos")}}), HasSubstr("mode \"lanczos\" is unknown"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), scales}, {{"antialias", int64_t{1}}}), HasSubstr("antialias"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), tensor(DType::f32, {2}, {1, 1})}, {{"axes", Ints{1, -3}}}), HasSubstr("twice"));
  EXPECT_THAT(error_of("Resize", {x, Tensor(), scales}, {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}),
              HasSubstr("region"));
  EXPECT_THAT(error_of("Resize", {pattern({0}), Tensor(), Tensor(), tensor(DType::i64, {1}, {2})}),
              HasSubstr("an axis of 0 cannot get size 2"));
}

}  // namespace
}  // namespace minnow::test
