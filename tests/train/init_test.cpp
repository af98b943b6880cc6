// SPDX-License-Identifier: Apache-2.0
// Initial values in C++: means, deviations and forms; the same functions as minnow.nn.init.
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <cmath>
#include <numeric>

#include "support/sentence.h"

namespace minnow::nn {
namespace {

using test::sentence_of;
using testing::HasSubstr;

Var parameter_of(const Shape& shape, DType dtype = DType::f32) { return expr::trainable(Tensor(dtype, shape)); }
std::vector<double> values_of(const Var& x) {
  const float* from = x.data<float>();
  return {from, from + x.elements()};
}
double mean_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }
double deviation_of(const std::vector<double>& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (const double value : x) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(Init, drawn_numbers_have_their_mean_and_deviation) {
  seed(3);
  const Var w = parameter_of({64, 16, 3, 5});  // 240 inputs, 960 outputs
  struct Row {
    const char* name;
    std::function<void()> draw;
    double mean, deviation;
  };
  const double in = 240, out = 960;
  const Row rows[] = {
      {"uniform", [&] { init::uniform_(w, -1, 3); }, 1, 4 / std::sqrt(12.0)},
      {"normal", [&] { init::normal_(w, 2, 0.5); }, 2, 0.5},
      {"trunc_normal", [&] { init::trunc_normal_(w, 0, 1, -1, 1); }, 0, 0.5396},
      {"xavier_uniform", [&] { init::xavier_uniform_(w, 2); }, 0, 2 * std::sqrt(2 / (in + out))},
      {"xavier_normal", [&] { init::xavier_normal_(w); }, 0, std::sqrt(2 / (in + out))},
      {"kaiming_uniform", [&] { init::kaiming_uniform_(w, {.a = std::sqrt(5.0)}); }, 0, std::sqrt(2 / 6.0 / in)},
      {"kaiming_normal", [&] { init::kaiming_normal_(w, {.mode = init::Fan::out, .nonlinearity = "relu"}); }, 0, std::sqrt(2 / out)},
      {"orthogonal", [&] { init::orthogonal_(w); }, 0, std::sqrt(1 / in)},
  };
  for (const Row& row : rows) {
    row.draw();
    const std::vector<double> x = values_of(w);
    EXPECT_NEAR(mean_of(x), row.mean, 0.03 * row.deviation) << row.name;
    EXPECT_NEAR(deviation_of(x), row.deviation, 0.03 * row.deviation) << row.name;
  }
  init::trunc_normal_(w, 0, 1, -0.5, 0.25);
  for (const double value : values_of(w)) EXPECT_TRUE(value >= -0.5 && value <= 0.25);
  const std::vector<double> first = values_of(w);
  init::trunc_normal_(w, 0, 1, -0.5, 0.25);
  EXPECT_NE(values_of(w), first) << "each call has a stream of its own";
}

TEST(Init, orthogonal_rows_or_columns) {
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{4, 2, 2}, Shape{1, 5}}) {
    const Var w = parameter_of(shape);
    init::orthogonal_(w, 2);
    const int64_t rows = shape[0], columns = shape.product(1, shape.rank());
    const std::vector<double> x = values_of(w);
    const bool wide = rows <= columns;
    const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
    const auto at = [&](int64_t i, int64_t k) { return x[static_cast<size_t>(wide ? i * columns + k : k * columns + i)]; };
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < count; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < length; ++k) sum += at(i, k) * at(j, k);
        EXPECT_NEAR(sum, i == j ? 4 : 0, 1e-5) << to_string(shape) << " " << i << " " << j;
      }
  }
}

TEST(Init, forms) {
  const Var w = parameter_of({2, 3});
  init::eye_(w);
  EXPECT_EQ(values_of(w), (std::vector<double>{1, 0, 0, 0, 1, 0}));
  init::constant_(w, 0.25);
  EXPECT_EQ(values_of(w), std::vector<double>(6, 0.25));
  init::ones_(w);
  EXPECT_EQ(values_of(w), std::vector<double>(6, 1));
  init::zeros_(w);
  EXPECT_EQ(values_of(w), std::vector<double>(6, 0));
  const Var filters = parameter_of({4, 2, 3});
  init::dirac_(filters, 2);
  std::vector<double> expected(24);
  for (const size_t place : {size_t{1}, size_t{10}, size_t{13}, size_t{22}}) expected[place] = 1;
  EXPECT_EQ(values_of(filters), expected);
  const Var wide = parameter_of({2, 2}, DType::f64);
  init::eye_(wide);
  EXPECT_EQ(wide.data<double>()[3], 1);
}

TEST(Init, fans_and_gains) {
  const init::Fans fans = init::fans(parameter_of({6, 4, 3, 5}));
  EXPECT_EQ(fans.in, 60);
  EXPECT_EQ(fans.out, 90);
  EXPECT_DOUBLE_EQ(init::calculate_gain("relu"), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu", 0.5), std::sqrt(2 / 1.25));
  EXPECT_DOUBLE_EQ(init::calculate_gain("tanh"), 5.0 / 3);
}

TEST(Init, errors_are_sentences) {
  const Var vector = parameter_of({3});
  EXPECT_THAT(sentence_of([&] { init::xavier_uniform_(vector); }), HasSubstr("a weight has two axes at least, its shape is [3]"));
  EXPECT_THAT(sentence_of([&] { init::orthogonal_(vector); }), HasSubstr("two axes"));
  EXPECT_THAT(sentence_of([&] { init::eye_(vector); }), HasSubstr("eye_ takes a matrix"));
  EXPECT_THAT(sentence_of([&] { init::dirac_(parameter_of({3, 2, 1}), 2); }), HasSubstr("whose number the groups divide"));
  EXPECT_THAT(sentence_of([] { init::calculate_gain("relo"); }), HasSubstr("there is no activation \"relo\""));
  EXPECT_THAT(sentence_of([&] { init::trunc_normal_(vector, 0, 1, 5, 6); }), HasSubstr("too few normal numbers"));
}

}  // namespace
}  // namespace minnow::nn
