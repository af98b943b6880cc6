// SPDX-License-Identifier: Apache-2.0
// Every row of the table against the references, over shapes a lane short and a lane over, single pixels, several images, both layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/cpu/kernel_support.h"
#include "support/operators.h"
#include "support/schemes.h"

namespace minnow::cpu {
namespace {

Attributes conv(Ints kernel, Ints strides, Ints pads, int64_t group = 1, Ints dilations = {1, 1}) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"group", group}, {"dilations", dilations}};
}
Attributes with(Attributes attributes, std::initializer_list<std::pair<std::string, AttributeValue>> more) {
  for (const auto& [name, value] : more) attributes.set(name, value);
  return attributes;
}

std::vector<SchemeCase> conv_cases() {
  std::vector<SchemeCase> cases;
  const auto add = [&](const Shape& x, const Shape& w_shape, const Attributes& attributes) {
    const Tensor w = normal(w_shape, 2, 1 / std::sqrt(double(w_shape.product(1, w_shape.rank()))));
    cases.push_back({"Conv", {normal(x), w, normal({w_shape[0]}, 3)}, attributes, {1, 2}});
    cases.push_back({"Conv", {normal(x), w}, attributes, {1}});
    const Shape y = test::run_operator("Conv", {normal(x), w}, attributes)[0].shape();
    for (const auto& [name, alpha, beta] : {std::tuple("Relu", 0.f, 0.f),
                                            {"Clip", -1.f, 2.f},
                                            {"LeakyRelu", 0.1f, 0.f},
                                            {"HardSigmoid", 0.2f, 0.5f},
                                            {"HardSwish", 0.f, 0.f},
                                            {"Sigmoid", 0.f, 0.f},
                                            {"Tanh", 0.f, 0.f},
                                            {"Swish", 0.f, 0.f},
                                            {"Gelu", 0.f, 0.f}})
      cases.push_back({"minnow.FusedConv",
                       {normal(x), w, normal({w_shape[0]}, 3), name[0] == 'C' ? Tensor() : normal(y, 4)},
                       with(attributes, {{"activation", std::string(name)}, {"activation_alpha", alpha}, {"activation_beta", beta}}),
                       {1, 2}});
  };
  add({1, 17, 9, 11}, {33, 17, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({2, 16, 14, 14}, {32, 16, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add({1, 20, 7, 8}, {20, 20, 3, 3}, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  add({1, 3, 21, 20}, {24, 3, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
  add({1, 33, 12, 12}, {33, 1, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33));
  add({1, 24, 9, 9}, {48, 4, 3, 3}, conv({3, 3}, {1, 1}, {2, 2, 2, 2}, 6, {2, 2}));
  add({1, 64, 5, 5}, {32, 32, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}, 2));
  add({2, 5, 30}, {6, 5, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  return cases;
}

std::vector<SchemeCase> pool_cases() {
  std::vector<SchemeCase> cases;
  for (const char* op : {"MaxPool", "AveragePool"}) {
    cases.push_back({op, {normal({1, 17, 9, 11})}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}});
    cases.push_back({op, {normal({2, 16, 7, 8})}, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 1, 2, 0}}}});
    cases.push_back({op, {normal({1, 5, 8, 8})}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{3, 3}}, {"ceil_mode", int64_t{1}}}});
    cases.push_back({op, {normal({1, 5, 8, 8})}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 3}}}});
    cases.push_back({op, {normal({1, 5, 30})}, {{"kernel_shape", Ints{4}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}});
  }
  cases.push_back({"AveragePool",
                   {normal({2, 16, 7, 8})},
                   {{"kernel_shape", Ints{3, 3}},
                    {"pads", Ints{1, 1, 1, 1}},
                    {"strides", Ints{2, 2}},
                    {"count_include_pad", int64_t{1}},
                    {"ceil_mode", int64_t{1}}}});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"})
    for (const Shape& shape : {Shape{1, 17, 7, 7}, Shape{2, 64, 1, 1}, Shape{1, 3, 50}, Shape{1, 9, 3, 4, 5}})
      cases.push_back({op, {normal(shape)}});
  return cases;
}

std::vector<SchemeCase> matmul_cases() {
  std::vector<SchemeCase> cases;
  const std::pair<Shape, Shape> shapes[] = {{{5, 7}, {7, 9}},
                                            {{1, 64}, {64, 100}},
                                            {{3, 4, 17}, {17, 33}},
                                            {{2, 3, 5, 16}, {2, 3, 16, 6}},
                                            {{2, 1, 5, 16}, {3, 16, 6}},
                                            {{16}, {16, 20}},
                                            {{40, 30}, {30}},
                                            {{6}, {6}},
                                            {{4, 6, 8}, {4, 8, 1}},
                                            {{3, 1, 64}, {1, 64, 65}},
                                            {{100, 70}, {70, 50}},
                                            {{1, 5, 7}, {4, 7, 3}}};
  for (const auto& [a, b] : shapes)
    for (bool constant : {false, true}) {
      const std::vector<size_t> constants = constant ? std::vector<size_t>{1} : std::vector<size_t>{};
      cases.push_back({"MatMul", {normal(a), normal(b, 2)}, {}, constants});
      const Shape y = test::run_operator("MatMul", {normal(a), normal(b, 2)})[0].shape();
      if (b.rank() == 1) continue;
      for (const Tensor& bias : {Tensor(), normal({y.back()}, 3), normal({}, 3), normal(y, 3)})
        cases.push_back({"minnow.FusedMatMul",
                         {normal(a), normal(b, 2), bias, bias && bias.shape() == y ? Tensor() : normal(y, 4)},
                         {{"alpha", 0.5f}, {"activation", std::string("Gelu")}},
                         constants});
    }
  for (int64_t transposed = 0; transposed < 4; ++transposed)
    for (bool constant : {false, true}) {
      const Attributes attributes = {{"transA", transposed & 1}, {"transB", transposed >> 1}, {"alpha", 1.5f}, {"beta", 0.5f}};
      const Shape a = transposed & 1 ? Shape{37, 21} : Shape{21, 37}, b = transposed & 2 ? Shape{19, 37} : Shape{37, 19};
      const std::vector<size_t> constants = constant ? std::vector<size_t>{1, 2} : std::vector<size_t>{};
      for (const Shape& c : {Shape{19}, Shape{1, 19}, Shape{1}, Shape{}})
        cases.push_back({"Gemm", {normal(a), normal(b, 2), normal(c, 3)}, attributes, constants});
      cases.push_back({"Gemm", {normal(a), normal(b, 2)}, attributes, constants});
      cases.push_back({"minnow.FusedMatMul",
                       {normal({2, a[0], a[1]}), normal({2, b[0], b[1]}, 2)},
                       {{"transA", transposed & 1}, {"transB", transposed >> 1}},
                       constants});
    }
  return cases;
}

class SchemesTest : public EveryIsa {
 protected:
  void check(const std::vector<SchemeCase>& cases) {
    for (const SchemeCase& test : cases) {
      const std::vector<std::string> accepted = check_schemes(test, GetParam());
      EXPECT_FALSE(accepted.empty()) << "nothing serves a case of " << test.op;
    }
  }
};

TEST_P(SchemesTest, convolutions) { check(conv_cases()); }
TEST_P(SchemesTest, pools) { check(pool_cases()); }
TEST_P(SchemesTest, products) { check(matmul_cases()); }

MINNOW_EVERY_ISA(SchemesTest);

}  // namespace
}  // namespace minnow::cpu
