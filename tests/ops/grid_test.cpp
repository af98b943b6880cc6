// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX Runtime 1.31 on the same inputs, unless said otherwise.
#include <gmock/gmock.h>
#include <cmath>

#include "support/operators.h"

namespace minnow::test {
namespace {

TEST(GridSample, two_dimensions) {
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3}, {-0.125, -0.2750001, -0.077999979, 0, 0, -0.5, 0.3125, -0.53249991, 0.25999999, 0, 0, -0.125}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("linear")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{1}}})[0],
      {1, 2, 2, 3}, {-0.5, -0.27250001, 0.14025012, 0.2499999, 0, -0.5, 1.25, -0.63999999, 0.24849999, -0.039999973, 0, -0.125}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3},
           {-0.5, -0.2750001, -0.14999998, 0.56249988, -0.25, -0.5, 1.25, -0.53249991, 0.49999994, -0.024999857, -1.25, -0.125}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 3},
           {-0.5, -0.27250001, 0.14025012, 0.62499994, -0.25, -0.5, 1.25, -0.63999999, 0.24849999, -0.099999964, -1.25, -0.125}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("linear")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{0}}})[0],
      {1, 2, 2, 3},
      {-0.5, -0.2750001, -0.14999998, 0.16124971, -0.6500001, -0.5, 1.25, -0.53249991, 0.49999994, 0.15125017, 0.82500017, -0.125}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("linear")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{1}}})[0],
      {1, 2, 2, 3},
      {-0.5, -0.27250001, 0.14025012, -0.2600002, -0.22125, -0.5, 1.25, -0.63999999, 0.24849999, 0.3350001, 0.20875016, -0.125}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, -0.75, 0, 0, -1, 1.25, -1, 1, 0, 0, 0.75}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, 0.75, 0, 0, -1, 1.25, -1, -0.25, 0, 0, 0.75}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, -0.75, 0.75, -0.25, -1, 1.25, -1, 1, -0.25, -1.25, 0.75}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, 0.75, 0.75, -0.25, -1, 1.25, -1, -0.25, -0.25, -1.25, 0.75}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, -0.75, 0.75, -0.75, -1, 1.25, -1, 1, -0.25, 1, 0.75}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 3}, {-0.5, 0, 0.75, -1, -0.75, -1, 1.25, -1, -0.25, 0.75, 1, 0.75}, 1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("cubic")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{0}}})[0],
      {1, 2, 2, 3},
      {-0.30151367, -0.42034012, -0.067793705, -0.077741757, 0, -0.7578125, 0.41796875, -0.76231551, 0.33469522, 0.015671005, 0, -0.125},
      1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("cubic")}, {"padding_mode", std::string("zeros")}, {"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 3}, {-0.5, -0.43490762, 0.24112409, 0.40658289, 0, -0.7578125, 1.25, -0.79952282, 0.14792049, -0.1424076, 0, -0.125},
           1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3},
           {-0.82885742, -0.36556029, -0.052203305, 0.71231258, -0.25000012, -0.7578125, 1.4609375, -0.77834797, 0.45421138, -0.16007003,
            -1.2500007, -0.125},
           1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}, {"align_corners", int64_t{1}}})[0],
      {1, 2, 2, 3},
      {-0.5, -0.40578961, 0.29159632, 0.86041683, -0.25000012, -0.7578125, 1.25, -0.81192577, 0.075788066, -0.27072936, -1.2500004, -0.125},
      1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 2, 3, 4}),
                         tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                        {{"mode", std::string("cubic")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{0}}})[0],
           {1, 2, 2, 3},
           {-1.2060547, -0.36556029, -0.028391439, 0.22900873, -0.72015393, -0.7578125, 1.671875, -0.77834797, 0.49779135, 0.15998226,
            0.88558656, -0.125},
           1e-05));
  EXPECT_TRUE(near(
      run_operator("GridSample",
                   {pattern({1, 2, 3, 4}),
                    tensor(DType::f32, {1, 2, 3, 2}, {-1, -1, -0.30000001, 0.2, 0.99000001, -0.40000001, 1.4, 0.1, -2.7, 3.3, 0, 0})},
                   {{"mode", std::string("cubic")}, {"padding_mode", std::string("reflection")}, {"align_corners", int64_t{1}}})[0],
      {1, 2, 2, 3},
      {-0.5, -0.43307707, 0.19439211, -0.25487447, -0.39345965, -0.7578125, 1.25, -0.77640474, 0.16314569, 0.48629203, 0.28924727, -0.125},
      1e-05));
}

TEST(GridSample, three_dimensions) {
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("zeros")}})[0],
           {1, 1, 1, 1, 2}, {-0.25, 0}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("border")}})[0],
           {1, 1, 1, 1, 2}, {-1, 0.15000004}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("linear")}, {"padding_mode", std::string("reflection")}})[0],
           {1, 1, 1, 1, 2}, {-1, -0.26250011}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("zeros")}})[0],
           {1, 1, 1, 1, 2}, {-1, 0}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("border")}})[0],
           {1, 1, 1, 1, 2}, {-1, 0}, 1e-05));
  EXPECT_TRUE(
      near(run_operator("GridSample",
                        {pattern({1, 1, 2, 3, 2}), tensor(DType::f32, {1, 1, 1, 2, 3}, {-1, -1, 0.5, 0.30000001, 1.7, -0.40000001})},
                        {{"mode", std::string("nearest")}, {"padding_mode", std::string("reflection")}})[0],
           {1, 1, 1, 1, 2}, {-1, -0.75}, 1e-05));
}

TEST(GridSample, special_places) {
  const Tensor grid = tensor(DType::f32, {1, 1, 3, 2}, {NAN, 0, INFINITY, 0, 1e30, -1e30});
  EXPECT_TRUE(near(run_operator("GridSample", {pattern({1, 1, 1, 1}), grid})[0], {1, 1, 1, 3}, {0, 0, 0}));
  for (const char* padding : {"border", "reflection"})
    for (const char* mode : {"linear", "nearest", "cubic"})
      EXPECT_TRUE(near(run_operator("GridSample", {pattern({1, 1, 1, 1}), grid},
                                    {{"padding_mode", std::string(padding)}, {"mode", std::string(mode)}})[0],
                       {1, 1, 1, 3}, {-0.5, -0.5, -0.5}));
}

TEST(GridSample, wrong_shapes) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("GridSample", {pattern({1, 1, 2, 2}), pattern({1, 2, 2, 3})}), HasSubstr("needs a grid"));
  EXPECT_THAT(error_of("GridSample", {pattern({1, 1, 2, 2}), pattern({1, 2, 2, 2})}, {{"mode", std::string("bilinear")}}),
              HasSubstr("mode should be"));
}

TEST(AffineGrid, two_and_three_dimensions) {
  EXPECT_TRUE(near(
      run_operator("AffineGrid", {pattern({2, 2, 3}), tensor(DType::i64, {4}, {2, 1, 2, 3})}, {{"align_corners", int64_t{0}}})[0],
      {2, 2, 3, 2},
      {-0.041666657, 0,           -0.375, -0.5,  -0.70833337, -1,         1.2083334,  1,          0.875, 0.5,   0.54166663,  0,
       0.041666687,  0.083333373, -0.625, -0.75, -1.2916667,  -1.5833334, 0.79166675, 0.58333337, 0.125, -0.25, -0.54166669, -1.0833334}));
  EXPECT_TRUE(
      near(run_operator("AffineGrid", {pattern({1, 3, 4}), tensor(DType::i64, {5}, {1, 1, 2, 1, 2})}, {{"align_corners", int64_t{0}}})[0],
           {1, 2, 1, 2, 3}, {-0.625, 0.75, -0.625, -1.125, 1.75, -0.875, -0.375, -0.25, -0.125, -0.875, 0.75, -0.375}));
  EXPECT_TRUE(
      near(run_operator("AffineGrid", {pattern({2, 2, 3}), tensor(DType::i64, {4}, {2, 1, 2, 3})}, {{"align_corners", int64_t{1}}})[0],
           {2, 2, 3, 2},
           {-0.5, -0.25, -1, -1, -1.5, -1.75, 2, 1.75, 1.5, 1, 1, 0.25, 0, 0.25, -1, -1, -2, -2.25, 1.5, 1.25, 0.5, 0, -0.5, -1.25}));
  EXPECT_TRUE(
      near(run_operator("AffineGrid", {pattern({1, 3, 4}), tensor(DType::i64, {5}, {1, 1, 2, 2, 2})}, {{"align_corners", int64_t{1}}})[0],
           {1, 2, 2, 2, 3}, {-1.75, 0.75,  0.5, -2.75, 2.75, 0, 0.75, 0.75,  -2, -0.25, 2.75, -2.5,
                             -1.25, -1.25, 1.5, -2.25, 0.75, 1, 1.25, -1.25, -1, 0.25,  0.75, -1.5}));
}

TEST(AffineGrid, is_its_decomposition) {
  const std::vector<Tensor> inputs = {pattern({2, 3, 4}), tensor(DType::i64, {5}, {2, 1, 2, 3, 4})};
  const Tensor expected = run_operator("AffineGrid", inputs)[0];
  EXPECT_TRUE(near(run_decomposition("AffineGrid", inputs)[0], expected.shape(), numbers(expected)));
}

}  // namespace
}  // namespace minnow::test
