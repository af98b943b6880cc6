// SPDX-License-Identifier: Apache-2.0
// CTC in C++ against the sum over all paths, and its gradient against differences.
#include <gmock/gmock.h>
#include <minnow/nn.h>

#include <cmath>

#include "support/sentence.h"

namespace minnow::nn {
namespace {

using test::sentence_of;
using testing::HasSubstr;

constexpr int64_t kSteps = 5, kBatch = 4, kClasses = 3;

/// Minus the logarithm of the probability that the first `steps` rows spell the target.
double by_paths(const std::vector<double>& logs, size_t item, int64_t steps, const std::vector<int64_t>& target, int64_t blank) {
  double total = 0;
  int64_t paths = 1;
  for (int64_t i = 0; i < steps; ++i) paths *= kClasses;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> spelled;
    double log = 0;
    int64_t previous = -1, rest = path;
    for (int64_t t = 0; t < steps; ++t, rest /= kClasses) {
      const int64_t c = rest % kClasses;
      log += logs[static_cast<size_t>((t * kBatch + static_cast<int64_t>(item)) * kClasses + c)];
      if (c != previous && c != blank) spelled.push_back(c);
      previous = c;
    }
    if (spelled == target) total += std::exp(log);
  }
  return -std::log(total);
}

Tensor doubles(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(DType::f64, shape);
  std::copy(values.begin(), values.end(), tensor.writable().data<double>());
  return tensor;
}

/// Logarithms of shares that look random.
std::vector<double> logs() {
  std::vector<double> x(kSteps * kBatch * kClasses);
  for (size_t i = 0; i < x.size(); i += kClasses) {
    double sum = 0;
    for (size_t c = 0; c < kClasses; ++c) sum += std::exp(x[i + c] = std::sin(static_cast<double>(7 * i + 3 * c)));
    for (size_t c = 0; c < kClasses; ++c) x[i + c] -= std::log(sum);
  }
  return x;
}

const std::vector<int64_t> kTargets = {1, 2, 0, 2, 2, 0, 1, 0, 0, 2, 1, 2}, kLengths = {5, 5, 4, 3}, kSizes = {2, 2, 0, 3};

Vars inputs(const std::vector<double>& x) {
  return {doubles({kSteps, kBatch, kClasses}, x), Tensor::of_i64({kBatch, 3}, kTargets), Tensor::of_i64({kBatch}, kLengths),
          Tensor::of_i64({kBatch}, kSizes)};
}

TEST(Ctc, is_the_sum_over_all_paths) {
  const std::vector<double> x = logs();
  const Var losses = ctc_loss(inputs(x), {.reduction = "none"});
  double mean = 0, sum = 0;
  for (size_t item = 0; item < kBatch; ++item) {
    const auto first = kTargets.begin() + static_cast<ptrdiff_t>(3 * item);
    const double expected = by_paths(x, item, kLengths[item], {first, first + kSizes[item]}, 0);
    EXPECT_NEAR(losses.data<double>()[item], expected, 1e-12) << item;
    sum += expected, mean += expected / static_cast<double>(std::max<int64_t>(kSizes[item], 1)) / kBatch;
  }
  EXPECT_NEAR(ctc_loss(inputs(x), {.reduction = "sum"}).item(), sum, 1e-12);
  EXPECT_NEAR(CTCLoss().forward(inputs(x))[0].item(), mean, 1e-12);
}

TEST(Ctc, gradient_is_that_of_differences) {
  const std::vector<double> x = logs();
  Vars given = inputs(x);
  const Var parameter = expr::trainable(doubles({kSteps, kBatch, kClasses}, x));
  given[0] = parameter;
  const Var gradient = expr::gradients(ctc_loss(given, {.reduction = "sum"}), {parameter})[0];
  for (size_t i = 0; i < x.size(); i += 5) {
    std::vector<double> more = x, less = x;
    more[i] += 1e-6, less[i] -= 1e-6;
    const double difference = ctc_loss(inputs(more), {.reduction = "sum"}).item() - ctc_loss(inputs(less), {.reduction = "sum"}).item();
    EXPECT_NEAR(gradient.data<double>()[i], difference / 2e-6, 1e-7) << i;
  }
}

TEST(Ctc, sequences_that_are_too_short_are_infinite_or_nothing) {
  std::vector<int64_t> sizes = kSizes, targets = kTargets;
  targets[9] = targets[10] = targets[11] = 1;  // three times the same label needs five steps
  Vars given = inputs(logs());
  given[1] = Tensor::of_i64({kBatch, 3}, targets);
  EXPECT_EQ(ctc_loss(given, {.reduction = "none"}).data<double>()[3], INFINITY);
  EXPECT_EQ(ctc_loss(given, {.reduction = "none", .zero_infinity = true}).data<double>()[3], 0);
}

TEST(Ctc, long_sequences_make_small_graphs) {
  Tensor x(DType::f32, {2000, 2, 4});
  std::fill_n(x.writable().data<float>(), x.elements(), std::log(0.25f));
  const Var parameter = expr::trainable(x);
  const Var loss = ctc_loss({parameter, Tensor::of_i64({2, 2}, std::vector<int64_t>{1, 2, 3, 3}),
                             Tensor::of_i64({2}, std::vector<int64_t>{2000, 1500}), Tensor::of_i64({2}, std::vector<int64_t>{2, 2})});
  const Vars gradients = expr::gradients(loss, {parameter});
  EXPECT_TRUE(std::isfinite(loss.item()));
  EXPECT_EQ(gradients[0].shape(), x.shape());
}

TEST(Ctc, errors_are_sentences) {
  Vars given = inputs(logs());
  EXPECT_THAT(sentence_of([&] { ctc_loss({given[0]}); }), HasSubstr("1 inputs are given"));
  given[1] = Tensor::of_i64({3, 4}, kTargets);
  EXPECT_THAT(sentence_of([&] { ctc_loss(given); }), HasSubstr("targets have the shape [4, S], it is [3, 4]"));
  EXPECT_THAT(sentence_of([&] { ctc_loss(inputs(logs()), {.reduction = "average"}); }), HasSubstr("a reduction is"));
}

}  // namespace
}  // namespace minnow::nn
