// SPDX-License-Identifier: Apache-2.0
// 100 steps of each optimizer, against torch and optax.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include "runtime/backends.h"
#include "train/cases.h"

namespace minnow::train {
namespace {

class OptimizerAnswers : public testing::TestWithParam<size_t> {
 protected:
  /// The weights after all steps, or their averages.
  static std::map<std::string, std::vector<double>> trained(const Case& c, DType dtype) {
    Model model(dtype);
    const auto optimizer = Optimizer::create(c.config);
    for (int step = 0; step < c.steps; ++step) model.step(*optimizer, step, c);
    if (c.evaluate) optimizer->evaluate(model.tensors(), true);
    std::map<std::string, std::vector<double>> result;
    for (size_t i = 0; i < model.tensors().size(); ++i) result[model.tensors()[i].name] = model.values(i);
    if (c.config.average > 0)
      for (const NamedTensor& entry : optimizer->state()) {
        const size_t end = entry.name.rfind(".average");
        if (end == std::string::npos) continue;
        std::vector<double>& values = result[entry.name.substr(0, end)];
        for (size_t j = 0; j < values.size(); ++j)
          values[j] = dtype == DType::f32 ? static_cast<double>(entry.value.data<float>()[j]) : entry.value.data<double>()[j];
      }
    return result;
  }
  static void expect_answers(const Case& c, DType dtype, double tolerance) {
    const auto found = trained(c, dtype);
    double worst = 0;
    for (const auto& [name, answers] : c.answers) {
      const std::vector<double>& values = found.at(name);
      ASSERT_EQ(values.size(), answers.size());
      for (size_t j = 0; j < answers.size(); ++j) {
        const double error = std::fabs(values[j] - answers[j]) / std::max(1.0, std::fabs(answers[j]));
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      }
    }
    EXPECT_LE(worst, tolerance) << c.name << ", " << dtype_name(dtype);
    std::array<char, 32> text;  // for bench/training_checks.py
    std::snprintf(text.data(), text.size(), "%.3g", worst);
    RecordProperty("worst", text.data());
  }
  static std::string dtype_name(DType dtype) { return std::string(name_of(dtype)); }
};

/// The rules on the backend of a session, but those that look at whole tensors and those with 8-bit state.
void on_backend(const Case& c, const std::string& backend, const std::function<void(const Case&)>& compare) {
  Case other = c;
  other.config.backend = backend;
  try {
    compare(other);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    const std::string what = error.what();
    EXPECT_TRUE(what.find("whole tensors") != what.npos || what.find("8-bit state") != what.npos) << c.name << ": " << what;
    GTEST_SKIP() << what;
  }
}
TEST_P(OptimizerAnswers, on_the_reference_backend) {
  on_backend(cases()[GetParam()], "reference", [](const Case& c) { expect_answers(c, DType::f64, 1e-12); });
}
TEST_P(OptimizerAnswers, on_the_processors_backend) {
  on_backend(cases()[GetParam()], "cpu", [](const Case& c) { expect_answers(c, DType::f32, 4 * c.f32); });
}
TEST_P(OptimizerAnswers, on_opencl) {
  if (GetParam() % 12) GTEST_SKIP() << "kernels are compiled for every tensor, which takes a second for each case";
  const std::vector<std::string> usable = usable_backend_names();
  if (std::find(usable.begin(), usable.end(), "opencl") == usable.end()) GTEST_SKIP() << "no OpenCL here";
  on_backend(cases()[GetParam()], "opencl", [](const Case& c) { expect_answers(c, DType::f32, 4 * c.f32); });
}

TEST_P(OptimizerAnswers, f64_within_1e_12) { expect_answers(cases()[GetParam()], DType::f64, 1e-12); }
TEST_P(OptimizerAnswers, f32_within_1e_6) { expect_answers(cases()[GetParam()], DType::f32, cases()[GetParam()].f32); }
TEST_P(OptimizerAnswers, a_state_that_is_saved_goes_on_to_the_bit) {
  const Case& c = cases()[GetParam()];
  Model whole(DType::f32), parts(DType::f32);
  const auto optimizer = Optimizer::create(c.config);
  for (int step = 0; step < c.steps; ++step) whole.step(*optimizer, step, c);
  std::vector<NamedTensor> state;
  int step = 0;
  for (const int end : {c.steps / 2 - 1, c.steps}) {
    const auto next = Optimizer::create(c.config);
    if (step > 0) next->set_state(state);
    for (; step < end; ++step) parts.step(*next, step, c);
    state = next->state();
  }
  for (size_t i = 0; i < whole.tensors().size(); ++i) EXPECT_EQ(whole.values(i), parts.values(i)) << whole.tensors()[i].name;
}

INSTANTIATE_TEST_SUITE_P(Cases, OptimizerAnswers, testing::Range<size_t>(0, cases().size()),
                         [](const auto& info) { return cases()[info.param].name; });

}  // namespace
}  // namespace minnow::train
