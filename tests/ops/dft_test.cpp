// SPDX-License-Identifier: Apache-2.0
// Numbers from ONNX's reference evaluator (NumPy's FFT) on the same inputs; ONNX Runtime agrees but for inverse one-sided transforms of odd
// length.
#include <gmock/gmock.h>

#include "support/operators.h"

namespace minnow::test {
namespace {

using testing::HasSubstr;

Tensor i64(int64_t value) { return Tensor::scalar_i64(value); }

TEST(Dft, real_and_complex_signals) {
  EXPECT_TRUE(near(run_operator("DFT", {pattern({1, 5, 1})})[0], {1, 5, 2},
                   {1.25, 0, 0.5997967, -0.8255494, -2.474797, 0.8041102, -2.474797, -0.8041102, 0.5997967, 0.8255494}));
  EXPECT_TRUE(
      near(run_operator("DFT", {pattern({2, 3, 2, 2}), i64(6), i64(1)})[0], {2, 6, 2, 2},
           {0.25,  0,     -0.25, -0.5, -0.9575318, 1.225481,  -0.2834936, 0.3080127,  0.2075318, 0.7924682,  1.582532,   0.4240381,
            -1.75, 0,     1.75,  -2,   -1.957532,  2.957532,  -0.5825318, -2.174038,  1.207532,  2.524519,   -0.7165064, -0.5580127,
            0,     -0.25, -0.5,  2,    1.441987,   0.5825318, 0.7410254,  0.03349365, 0.5759619, -0.5825318, -2.174038,  -0.5825318,
            0,     1.75,  -2,    2.5,  3.174038,   1.582532,  0.4240381,  1.582532,   2.308013,  -1.582532,  -0.9910254, 0.4665064}));
  EXPECT_TRUE(near(run_operator("DFT", {pattern({1, 8, 1}), i64(3)})[0], {1, 3, 2}, {1, 0, -1.25, -0.8660254, -1.25, 0.8660254}));
}

TEST(Dft, one_sided) {
  EXPECT_TRUE(near(run_operator("DFT", {pattern({1, 6, 1})}, {{"onesided", int64_t{1}}})[0], {1, 4, 2},
                   {1.25, 0, 0.25, -0.4330127, -2.5, -1.732051, 0.25, 0}));
}

TEST(Dft, inverse) {
  EXPECT_TRUE(near(run_operator("DFT", {pattern({1, 4, 2})}, {{"inverse", int64_t{1}}})[0], {1, 4, 2},
                   {-0.0625, 0.3125, 0, 0.625, 0.3125, 0.3125, -0.75, 0}));
  const Attributes both = {{"inverse", int64_t{1}}, {"onesided", int64_t{1}}};
  EXPECT_TRUE(near(run_operator("DFT", {pattern({1, 4, 2})}, both)[0], {1, 6, 1},
                   {0.1666667, 0.1748397, -0.241827, 0.3333333, -0.6748397, -0.258173}));
  EXPECT_TRUE(
      near(run_operator("DFT", {pattern({1, 4, 2}), i64(5)}, both)[0], {1, 5, 1}, {0.4, -0.1073881, 0.1190407, -0.2336305, -0.6780221}));
}

TEST(Dft, long_transforms_and_back) {
  for (int64_t length : {1, 2, 96, 97, 1024}) {
    const Tensor x = pattern({1, length, 2}, 7, DType::f64);
    const Tensor spectrum = run_operator("DFT", {x})[0];
    EXPECT_TRUE(near(run_operator("DFT", {spectrum}, {{"inverse", int64_t{1}}})[0], x.shape(), numbers(x), 1e-12)) << length;
  }
}

TEST(Dft, errors_and_empty) {
  EXPECT_THAT(error_of("DFT", {pattern({1, 5, 3})}), HasSubstr("should be 1 (real) or 2"));
  EXPECT_THAT(error_of("DFT", {pattern({1, 5, 1}), i64(0)}), HasSubstr("a transform of length 0"));
  EXPECT_THAT(error_of("DFT", {pattern({1, 5, 1}), Tensor(), i64(2)}), HasSubstr("cannot be transformed"));
  EXPECT_TRUE(near(run_operator("DFT", {pattern({0, 5, 1})})[0], {0, 5, 2}, {}));
}

TEST(Stft, frames) {
  EXPECT_TRUE(near(run_operator("STFT", {pattern({1, 8, 1}), i64(2), pattern({4}, 5)})[0], {1, 3, 3, 2},
                   {0.625, 0, 0.4375, -1.3125, -0.5, 0, -1.4375, 0, 0.625, 0.5625, -0.3125, 0, 0.625, 0, -1.25, 0.375, -0.125, 0}));
  EXPECT_TRUE(near(run_operator("STFT", {pattern({1, 8, 1}), i64(3), Tensor(), i64(4)}, {{"onesided", int64_t{0}}})[0], {1, 2, 4, 2},
                   {0.25, 0, -0.75, -2, -0.75, 0, -0.75, 2, -0.75, 0, -0.75, -2, -0.75, 0, -0.75, 2}));
  EXPECT_THAT(error_of("STFT", {pattern({1, 8, 1}), i64(3)}), HasSubstr("neither a window nor frame_length"));
  EXPECT_THAT(error_of("STFT", {pattern({1, 8, 1}), i64(3), Tensor(), i64(9)}), HasSubstr("frames of 9 do not fit"));
}

TEST(Windows, periodic_and_symmetric) {
  const auto window = [](const char* op, bool periodic) { return run_operator(op, {i64(5)}, {{"periodic", int64_t{periodic}}})[0]; };
  EXPECT_TRUE(near(window("HannWindow", false), {5}, {0, 0.5, 1, 0.5, 0}));
  EXPECT_TRUE(near(window("HannWindow", true), {5}, {0, 0.3454915, 0.9045085, 0.9045085, 0.3454915}));
  EXPECT_TRUE(near(window("HammingWindow", false), {5}, {0.08695652, 0.5434783, 1, 0.5434783, 0.08695652}));
  EXPECT_TRUE(near(window("HammingWindow", true), {5}, {0.08695652, 0.4024053, 0.9128121, 0.9128121, 0.4024053}));
  EXPECT_TRUE(near(window("BlackmanWindow", false), {5}, {0, 0.34, 1, 0.34, 0}));
  EXPECT_TRUE(near(window("BlackmanWindow", true), {5}, {0, 0.2007701, 0.8492299, 0.8492299, 0.2007701}));
  EXPECT_TRUE(near(run_operator("HannWindow", {i64(0)})[0], {0}, {}));
  EXPECT_EQ(run_operator("HannWindow", {i64(3)}, {{"output_datatype", int64_t{11}}})[0].dtype(), DType::f64);
  EXPECT_THAT(error_of("HannWindow", {i64(-1)}), HasSubstr("a window cannot have -1 elements"));
}

TEST(MelWeightMatrix, bands) {
  const auto mel = [](int64_t rate) {
    return std::vector<Tensor>{i64(4), i64(16), i64(rate), Tensor::scalar_f32(0), Tensor::scalar_f32(4000)};
  };
  EXPECT_TRUE(near(run_operator("MelWeightMatrix", mel(8000))[0], {9, 4},
                   {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(error_of("MelWeightMatrix", mel(2000)), HasSubstr("which is not in the spectrum"));
}

}  // namespace
}  // namespace minnow::test
