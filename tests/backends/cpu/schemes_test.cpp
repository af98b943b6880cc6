// SPDX-License-Identifier: Apache-2.0
// Every row of the table against the references, over shapes a lane short and a lane over, single pixels, several images, both layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "backends/backend.h"
#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/unary64.h"
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
    cases.push_back({"Conv", {normal(x), w, normal({w_shape[0]}, 3)}, attributes, {}});
    cases.push_back({"Conv", {normal(x), w, normal({w_shape[0]}, 3)}, attributes, {2}});
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
  add({2, 64, 5, 7}, {72, 64, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({2, 16, 14, 14}, {32, 16, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add({1, 20, 7, 8}, {20, 20, 3, 3}, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  add({1, 16, 15, 12}, {24, 16, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
  add({1, 3, 21, 20}, {24, 3, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
  add({1, 3, 21, 20}, {24, 3, 7, 7}, conv({7, 7}, {2, 2}, {3, 3, 3, 3}));
  add({2, 4, 11, 9}, {9, 4, 5, 5}, conv({5, 5}, {2, 2}, {2, 1, 1, 2}));
  add({1, 33, 12, 12}, {33, 1, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33));
  add({1, 24, 9, 9}, {48, 4, 3, 3}, conv({3, 3}, {1, 1}, {2, 2, 2, 2}, 6, {2, 2}));
  add({1, 64, 5, 5}, {32, 32, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}, 2));
  add({2, 5, 30}, {6, 5, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  add({1, 20, 11, 10}, {18, 20, 5, 5}, conv({5, 5}, {1, 1}, {2, 2, 2, 2}));
  add({1, 17, 6, 13}, {16, 17, 1, 7}, conv({1, 7}, {1, 1}, {0, 3, 0, 3}));
  add({2, 16, 9, 5}, {20, 16, 3, 1}, conv({3, 1}, {1, 1}, {1, 0, 1, 0}));
  // Images with their channels last.
  const auto last = [&](const Shape& x, const Shape& w, const Attributes& attributes) {
    cases.push_back(
        {"minnow.FusedConv", {normal(x), normal(w, 2, 0.3), normal({w[0]}, 3)}, with(attributes, {{"channels_last", int64_t{1}}}), {1, 2}});
  };
  last({1, 9, 7, 3}, {5, 3, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  last({2, 21, 20, 3}, {24, 3, 3, 3}, conv({3, 3}, {2, 2}, {0, 0, 1, 1}));
  last({2, 21, 19, 3}, {24, 3, 7, 7}, conv({7, 7}, {2, 2}, {3, 3, 3, 3}));
  last({1, 11, 9, 4}, {17, 4, 5, 5}, conv({5, 5}, {2, 2}, {2, 1, 1, 2}));
  last({1, 40, 6, 1}, {8, 1, 10, 4}, conv({10, 4}, {2, 2}, {4, 1, 5, 1}));
  last({1, 12, 13, 2}, {9, 2, 3, 3}, conv({3, 3}, {1, 3}, {1, 1, 1, 1}, 1, {2, 1}));
  last({2, 30, 4}, {6, 4, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  // Three dimensions: by slices, or where two can be one as images.
  add({2, 17, 3, 5, 6}, {20, 17, 1, 1, 1}, conv({1, 1, 1}, {1, 1, 1}, Ints(6), 1, {1, 1, 1}));
  add({1, 16, 5, 4, 7}, {9, 16, 3, 1, 1}, conv({3, 1, 1}, {2, 1, 1}, {1, 0, 0, 1, 0, 0}, 1, {1, 1, 1}));
  add({2, 5, 4, 3, 8}, {7, 5, 1, 1, 3}, conv({1, 1, 3}, {1, 1, 2}, {0, 0, 1, 0, 0, 0}, 1, {1, 1, 1}));
  add({1, 3, 6, 9, 8}, {18, 3, 3, 3, 3}, conv({3, 3, 3}, {1, 2, 2}, Ints(6, 1), 1, {1, 1, 1}));
  add({2, 20, 5, 6, 7}, {33, 20, 3, 3, 3}, conv({3, 3, 3}, {2, 1, 1}, {2, 1, 0, 1, 1, 2}, 1, {1, 1, 1}));
  add({1, 16, 7, 5, 5}, {16, 16, 3, 2, 2}, conv({3, 2, 2}, {1, 1, 1}, {2, 0, 0, 2, 1, 1}, 1, {2, 1, 2}));
  add({1, 64, 3, 4, 4}, {32, 32, 2, 3, 3}, conv({2, 3, 3}, {1, 1, 1}, {0, 1, 1, 1, 1, 1}, 2, {1, 1, 1}));
  add({1, 21, 4, 9, 6}, {21, 1, 3, 3, 3}, conv({3, 3, 3}, {1, 2, 2}, Ints(6, 1), 21, {1, 1, 1}));
  add({2, 12, 4, 5, 6}, {18, 4, 3, 5, 5}, conv({3, 5, 5}, {3, 1, 1}, {1, 2, 2, 1, 2, 2}, 3, {1, 1, 1}));
  return cases;
}

std::vector<SchemeCase> deform_conv_cases() {
  std::vector<SchemeCase> cases;
  const auto add = [&](const Shape& x, const Shape& w_shape, int64_t offset_groups, const Attributes& attributes) {
    const Tensor w = normal(w_shape, 2, 1 / std::sqrt(double(w_shape.product(1, w_shape.rank()))));
    Shape places = test::run_operator("Conv", {normal(x), w}, attributes)[0].shape();
    places[1] = offset_groups * w_shape.product(2, w_shape.rank());
    const Tensor mask = normal(places, 5);
    places[1] *= 2;
    Tensor offset = normal(places, 4, 1.5);
    offset.writable().data<float>()[0] = NAN;  // reads nothing
    offset.writable().data<float>()[places.elements() - 1] = 1e30f;
    const Attributes all = with(attributes, {{"offset_group", offset_groups}});
    cases.push_back({"DeformConv", {normal(x), w, offset, normal({w_shape[0]}, 3), mask}, all, {1, 3}});
    cases.push_back({"DeformConv", {normal(x), w, offset}, all, {}});
  };
  add({1, 3, 7, 9}, {5, 3, 3, 3}, 1, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add({1, 64, 17, 19}, {20, 64, 3, 3}, 2, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));  // whole vectors of channels
  add({2, 32, 6, 5}, {34, 16, 2, 3}, 1, conv({2, 3}, {2, 1}, {0, 1, 2, 0}, 2, {1, 2}));
  add({2, 12, 11, 8}, {20, 6, 3, 2}, 3, conv({3, 2}, {2, 1}, {0, 1, 2, 0}, 2, {1, 2}));
  add({1, 32, 20, 21}, {17, 32, 3, 3}, 2, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add({1, 2, 1, 1}, {1, 2, 1, 1}, 2, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  return cases;
}

std::vector<SchemeCase> conv_transpose_cases() {
  std::vector<SchemeCase> cases;
  const auto add = [&](const Shape& x, const Shape& w_shape, const Attributes& attributes) {
    const Tensor w = normal(w_shape, 2, 1 / std::sqrt(double(w_shape[0])));
    const int64_t groups = std::get<int64_t>(*attributes.find("group"));
    cases.push_back({"ConvTranspose", {normal(x), w, normal({w_shape[1] * groups}, 3)}, attributes, {1, 2}});
    cases.push_back({"ConvTranspose", {normal(x), w}, attributes, {1}});
    cases.push_back({"ConvTranspose", {normal(x), w, normal({w_shape[1] * groups}, 3)}, attributes, {}});
  };
  add({1, 100, 1, 1}, {100, 32, 4, 4}, conv({4, 4}, {1, 1}, {0, 0, 0, 0}));
  add({1, 33, 5, 6}, {33, 17, 4, 4}, conv({4, 4}, {2, 2}, {1, 1, 1, 1}));
  add({2, 48, 13, 16}, {48, 20, 4, 4}, conv({4, 4}, {2, 2}, {1, 1, 1, 1}));
  add({1, 17, 4, 7}, {17, 6, 2, 2}, conv({2, 2}, {1, 1}, {0, 1, 1, 0}));
  add({2, 9, 1, 5}, {9, 7, 3, 4}, conv({3, 4}, {2, 2}, {0, 1, 0, 1}));
  add({1, 8, 1, 1}, {8, 9, 4, 4}, conv({4, 4}, {2, 2}, {1, 1, 1, 1}));
  add({2, 16, 7, 3}, {16, 20, 2, 2}, conv({2, 2}, {2, 2}, {0, 0, 0, 0}));
  add({1, 5, 6, 7}, {5, 3, 3, 5}, conv({3, 5}, {2, 3}, {1, 0, 2, 1}));
  add({1, 6, 9, 8}, {6, 9, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 1, {2, 3}));
  add({1, 32, 4, 4}, {32, 32, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}, 2));
  add({1, 4, 5, 5}, {4, 6, 3, 3}, with(conv({3, 3}, {2, 2}, {1, 1, 1, 1}), {{"output_padding", Ints{1, 1}}}));
  add({1, 4, 5, 5}, {4, 6, 3, 3}, with(conv({3, 3}, {2, 2}, {0, 0, 0, 0}), {{"output_shape", Ints{13, 12}}}));
  add({2, 7, 11}, {7, 5, 4}, conv({4}, {2}, {1, 1}, 1, {1}));
  add({1, 24, 40, 40}, {24, 24, 2, 2}, conv({2, 2}, {2, 2}, {0, 0, 0, 0}));
  // Volumes.
  add({2, 17, 3, 4, 5}, {17, 18, 2, 2, 2}, conv({2, 2, 2}, {2, 2, 2}, Ints(6), 1, {1, 1, 1}));
  add({1, 20, 4, 3, 5}, {20, 9, 4, 4, 3}, conv({4, 4, 3}, {2, 2, 2}, {1, 1, 0, 1, 1, 1}, 1, {1, 1, 1}));
  add({1, 32, 5, 6, 4}, {32, 16, 3, 3, 2}, conv({3, 3, 2}, {1, 1, 1}, {2, 1, 0, 1, 1, 0}, 2, {2, 1, 1}));
  add({1, 5, 2, 3, 3}, {5, 7, 3, 2, 2}, conv({3, 2, 2}, {1, 2, 1}, {1, 0, 0, 0, 0, 1}, 1, {1, 1, 1}));
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
    cases.push_back({op, {normal({2, 17, 5, 6, 7})}, {{"kernel_shape", Ints{2, 2, 2}}, {"strides", Ints{2, 2, 2}}}});
    for (const int64_t counted : {0, 1}) {
      Attributes attributes = {{"kernel_shape", Ints{3, 2, 3}}, {"strides", Ints{1, 2, 2}}, {"pads", Ints{1, 0, 1, 2, 1, 1}}};
      attributes.set("ceil_mode", int64_t{1});
      if (op[0] == 'A') attributes.set("count_include_pad", counted);
      cases.push_back({op, {normal({1, 3, 4, 5, 9})}, attributes});
    }
    cases.push_back({op, {normal({1, 3, 6, 2, 2})}, {{"kernel_shape", Ints{2, 1, 2}}, {"dilations", Ints{3, 1, 1}}}});
  }
  for (const Shape& shape : {Shape{2, 3, 5, 6, 7}, Shape{1, 2, 1, 9, 40}, Shape{1, 1, 4, 2, 1}}) {
    Tensor special = normal(shape);
    for (int64_t i = 0; i < shape.elements(); i += 11) special.writable().data<float>()[i] = i % 2 ? NAN : -INFINITY;
    for (const Tensor& x : {normal(shape), special}) {
      cases.push_back({"MaxPool", {x}, {{"kernel_shape", Ints{3, 3, 3}}, {"strides", Ints{2, 2, 2}}, {"pads", Ints(6, 1)}}});
      cases.push_back({"MaxPool", {x}, {{"kernel_shape", Ints{1, 2, 1}}, {"strides", Ints{1, 1, 3}}, {"dilations", Ints{1, 1, 2}}}});
      cases.push_back({"MaxPool", {x}, {{"kernel_shape", Ints{2, 1, 3}}, {"dilations", Ints{1, 1, 3}}, {"pads", Ints{1, 0, 4, 1, 0, 5}}}});
    }
  }
  // Columns of blocks: strides of rows alone, dilation, blocks in the padding.
  const auto ints = [](Ints values) { return Tensor::of_i64({int64_t(values.size())}, values); };
  cases.push_back({"Col2Im", {normal({2, 27, 30}), ints({7, 8}), ints({3, 3})}, {}, {1, 2}});
  cases.push_back(
      {"Col2Im", {normal({1, 12, 20}), ints({5, 4}), ints({2, 3})}, {{"pads", Ints{1, 2, 1, 1}}, {"dilations", Ints{3, 1}}}, {1, 2}});
  cases.push_back(
      {"Col2Im", {normal({2, 12, 15}), ints({7, 9}), ints({2, 3})}, {{"strides", Ints{3, 2}}, {"pads", Ints{2, 1, 1, 2}}}, {1, 2}});
  cases.push_back(
      {"Col2Im", {normal({1, 6, 15}), ints({6, 5}), ints({3, 2})}, {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 0, 0}}}, {1, 2}});
  cases.push_back({"Col2Im", {normal({1, 4, 1}), ints({2, 2}), ints({2, 2})}, {}, {1, 2}});
  cases.push_back(
      {"MaxPool", {normal({1, 3, 9, 300})}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}});
  cases.push_back({"MaxPool", {normal({1, 3, 2, 300})}, {{"kernel_shape", Ints{2, 140}}}});
  Tensor special = normal({1, 3, 9, 40});
  for (size_t i = 0; i < 9 * 40 * 3; i += 37) special.writable().data<float>()[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
  for (const char* op : {"MaxPool", "AveragePool"})
    cases.push_back({op, {special}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}});
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
  // f64 and integers that wrap around: whole tiles and less, more than a slice of k.
  const auto wide = [](DType dtype, const Shape& shape, unsigned seed) {
    Tensor x(dtype, shape);
    const Tensor from = normal(shape, seed, dtype == DType::f64 ? 1 : 3e7);
    for (size_t i = 0; i < size_t(shape.elements()); ++i) {
      const float value = from.data<float>()[i];
      if (dtype == DType::f64)
        x.writable().data<double>()[i] = value;
      else
        x.writable().data<int32_t>()[i] = int32_t(value);
    }
    return x;
  };
  for (const DType dtype : {DType::f64, DType::i32})
    for (const auto& [a, b] : std::initializer_list<std::pair<Shape, Shape>>{{{5, 7}, {7, 9}},
                                                                             {{25, 1030}, {1030, 65}},
                                                                             {{3, 4, 17}, {17, 33}},
                                                                             {{2, 1, 9, 16}, {3, 16, 6}},
                                                                             {{16}, {16, 20}},
                                                                             {{130, 8}, {8}}}) {
      cases.push_back({"MatMul", {wide(dtype, a, 1), wide(dtype, b, 2)}});
      cases.push_back({"MatMul", {wide(dtype, a, 1), wide(dtype, b, 2)}, {}, {1}});
    }
  for (int64_t transposed = 0; transposed < 4; ++transposed) {
    const Attributes attributes = {{"transA", transposed & 1}, {"transB", transposed >> 1}, {"alpha", 1.5f}};
    const Shape a = transposed & 1 ? Shape{37, 21} : Shape{21, 37}, b = transposed & 2 ? Shape{19, 37} : Shape{37, 19};
    for (const Shape& c : {Shape{19}, Shape{}, Shape{21, 19}})
      cases.push_back({"Gemm",
                       {wide(DType::f64, a, 1), wide(DType::f64, b, 2), wide(DType::f64, c, 3)},
                       with(attributes, {{"beta", c.rank() == 1 ? 0.5f : 1.0f}}),
                       transposed == 1 ? std::vector<size_t>{1} : std::vector<size_t>{}});
    cases.push_back({"Gemm", {wide(DType::f64, a, 1), wide(DType::f64, b, 2)}, attributes});
  }
  for (int64_t transposed = 0; transposed < 2; ++transposed) {  // large enough for Strassen's algorithm on every instruction set
    const Tensor b = normal(transposed ? Shape{80, 96} : Shape{96, 80}, 2, 0.1);
    const Attributes attributes = {{"transB", transposed}, {"alpha", 1.5f}};
    cases.push_back({"Gemm", {normal({37, 96}), b, normal({80}, 3)}, with(attributes, {{"beta", 0.5f}}), {1, 2}});
    cases.push_back({"minnow.FusedMatMul",
                     {normal({3, 11, 96}), b, normal({80}, 3), normal({3, 11, 80}, 4)},
                     with(attributes, {{"activation", std::string("Gelu")}}),
                     {1, 2}});
  }
  for (int64_t transposed = 0; transposed < 2; ++transposed)  // and for two levels of it, both factors computed
    for (const int64_t n : {128, 144}) {
      const Tensor a = normal({36, 192}), b = normal(transposed ? Shape{n, 192} : Shape{192, n}, 2, 0.1);
      const Attributes attributes = {{"transB", transposed}, {"alpha", 1.5f}};
      for (const Shape& c : {Shape{n}, Shape{36, n}})
        cases.push_back({"Gemm", {a, b, normal(c, 3)}, with(attributes, {{"beta", c.rank() == 1 ? 0.5f : 1.0f}}), {2}});
      cases.push_back({"Gemm", {a, b}, attributes});
      cases.push_back({"minnow.FusedMatMul",
                       {normal({3, 12, 192}), b, normal({n}, 3), normal({3, 12, n}, 4)},
                       with(attributes, {{"activation", std::string("Gelu")}}),
                       {2}});
      if (!transposed) cases.push_back({"MatMul", {normal({3, 12, 192}), b}});
    }
  for (int64_t transposed = 0; transposed < 4; ++transposed) {  // and for several products, and A transposed
    const Shape a = transposed & 1 ? Shape{192, 36} : Shape{36, 192}, b = transposed & 2 ? Shape{128, 192} : Shape{192, 128};
    const Attributes attributes = {{"transA", transposed & 1}, {"transB", transposed >> 1}, {"alpha", 0.5f}};
    for (bool constant : {false, true})
      cases.push_back({"Gemm",
                       {normal(a), normal(b, 2, 0.1), normal({128}, 3)},
                       attributes,
                       constant ? std::vector<size_t>{1, 2} : std::vector<size_t>{2}});
    for (const Shape& leading : {Shape{2, 3}, Shape{2, 1}, Shape{}}) {
      Shape all_b = leading;
      for (int64_t dim : b) all_b.push_back(dim);
      cases.push_back({"minnow.FusedMatMul",
                       {normal({2, 3, a[0], a[1]}), normal(all_b, 2, 0.1), normal({128}, 3), normal({2, 3, 36, 128}, 4)},
                       with(attributes, {{"activation", std::string("Relu")}}),
                       leading.empty() ? std::vector<size_t>{1, 2} : std::vector<size_t>{2}});
    }
  }
  return cases;
}

std::vector<SchemeCase> unary_cases() {
  std::vector<SchemeCase> cases;
  for (const char* op : {"Tan", "Atan", "Sinh", "Cosh", "Asin", "Acos", "Asinh", "Acosh", "Atanh"})
    for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3000}, Shape{}}) {
      Tensor x = normal(shape, 3, 2);
      for (float& value : std::span(x.writable().data<float>(), size_t(shape.elements()))) {
        if (op == std::string_view("Asin") || op == std::string_view("Acos") || op == std::string_view("Atanh")) value = std::sin(value);
        if (op == std::string_view("Acosh")) value = std::exp(value);
      }
      if (shape.rank() == 1) {  // the ends, and what lies beyond
        const float ends[] = {NAN,    INFINITY, -INFINITY, 0.0f,   1.0f,    -1.0f, 1.5f,   -1.5f,   1e-20f,
                              -1e-7f, 89.0f,    -89.0f,    100.0f, 1.0001f, 1e15f, -3e38f, 3.4e38f, 0.9999999f};
        if (op[0] != 'T') std::copy(std::begin(ends), std::end(ends), x.writable().data<float>());
      }
      cases.push_back({op, {x}});
    }
  for (const char* op : {"Abs",         "Ceil",      "Celu",      "Cos",      "Elu",      "Erf",        "Exp",  "Floor",          "Gelu",
                         "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",     "Neg",      "Reciprocal", "Relu", "Round",          "Selu",
                         "Sigmoid",     "Sign",      "Sin",       "Softplus", "Softsign", "Swish",      "Tanh", "ThresholdedRelu"})
    for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{37}, Shape{}}) cases.push_back({op, {normal(shape)}});
  for (const char* op : {"Sqrt", "Log"}) {
    Tensor positive = normal({1, 9, 40, 50});
    for (float& value : std::span(positive.writable().data<float>(), 9 * 40 * 50)) value = std::fabs(value) + 0.01f;
    cases.push_back({op, {positive}});
  }
  cases.push_back({"Clip", {normal({3, 20, 9}), Tensor::scalar_f32(-0.5f), Tensor::scalar_f32(0.7f)}, {}, {1, 2}});
  cases.push_back({"Clip", {normal({3, 20, 9}), Tensor(), Tensor::scalar_f32(0.7f)}, {}, {2}});
  cases.push_back({"Clip", {normal({3, 20, 9})}});
  cases.push_back({"Gelu", {normal({3, 20, 9})}, {{"approximate", std::string("tanh")}}});
  return cases;
}

std::vector<SchemeCase> binary_cases() {
  std::vector<SchemeCase> cases;
  const std::pair<Shape, Shape> shapes[] = {{{2, 17, 5, 7}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {}},
                                            {{}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {17, 1, 1}},
                                            {{2, 17, 5, 7}, {1, 17, 1, 1}},
                                            {{2, 17, 5, 7}, {2, 17, 1, 1}},
                                            {{2, 17, 1, 1}, {2, 17, 5, 7}},
                                            {{2, 17, 5, 7}, {2, 1, 5, 7}},
                                            {{3, 1, 4}, {5, 1}},
                                            {{1, 33, 3, 3}, {1, 1, 1, 1}},
                                            {{200, 300}, {300}},
                                            {{7}, {7}},
                                            {{4, 6, 1, 5}, {6, 3, 5}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"})
    for (const auto& [a, b] : shapes)
      for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}}) {
        if (std::string(op) == "PRelu" && (a.rank() < b.rank() || a == Shape{3, 1, 4} || a == Shape{2, 17, 1, 1} || a == Shape{4, 6, 1, 5}))
          continue;
        Tensor second = normal(b, 2);
        for (float& value : std::span(second.writable().data<float>(), size_t(b.elements()))) value += value < 0 ? -0.5f : 0.5f;
        cases.push_back({op, {normal(a), second}, {}, constants});
      }
  return cases;
}

// Programs: bodies of fused nodes, conditions, more or fewer than two inputs.
std::vector<SchemeCase> program_cases() {
  std::vector<SchemeCase> cases;
  const auto body = [](std::string_view text) { return Attributes{{"body", Subgraph(parse_graph(text).release())}}; };
  const auto condition = [](const Shape& shape) {
    Tensor tensor(DType::boolean, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = i * 7 % 11 < 5;
    return tensor;
  };
  const auto special = [](const Shape& shape, unsigned seed) {
    Tensor tensor = normal(shape, seed);
    constexpr float kValues[] = {NAN, INFINITY, -INFINITY, 0, -0.f, 1};
    for (int64_t i = 0; i < shape.elements(); i += 3) tensor.writable().data<float>()[i] = kValues[(i + seed) % 6];
    return tensor;
  };
  const Shape shapes[] = {{2, 17, 5, 7}, {1, 33, 3, 3}, {1, 64, 40, 40}, {3, 16, 1}, {5, 1100}, {2, 3000}, {37}, {}};
  for (const Shape& shape : shapes) {
    // Six registers at once, a value used twice, numbers on both sides.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), normal(shape, 2)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Exp(x0)
                       b = Sub(c0, x1)
                       c = Mul(a, b)
                       d = Sigmoid(x1)
                       e = Div(c, c1)
                       f = Max(d, e)
                       g = Clip(b, c0, c1)
                       h = Pow(g, c1)
                       i = Add(f, h)
                       y = Mul(i, a)
                       output y
                     })")});
    cases.push_back({"minnow.FusedElementwise", {special(shape, 1), special(shape, 2), condition(shape)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       input x2: bool
                       const c0 = f32[] 0
                       a = Less(x0, x1)
                       b = Or(a, x2)
                       c = Neg(x0)
                       y = Where(b, c, c0)
                       output y
                     })")});
    // A chain: values read by the next operator, by a later one, by both, twice by one, behind one of many instructions; a result that is
    // read.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), normal(shape, 2), Tensor::scalar_f32(0.25f)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       input x2: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Mul(x0, c1)
                       b = Sub(x2, a)
                       c = Abs(b)
                       d = Mul(c, b)
                       e = Mul(d, d)
                       f = Add(e, e)
                       g = Sqrt(f)
                       h = Div(c1, x1)
                       i = Min(h, g)
                       j = Tanh(i)
                       k = Max(j, x2)
                       l = Sub(k, d)
                       m = Floor(l)
                       n = Less(c0, m)
                       o = Where(n, l, x2)
                       p = Neg(o)
                       q = Add(p, x1)
                       y = Mul(q, g)
                       output y
                     })")});
    // Values that are read again: by a branch beside another one's result, across each other's lives, by a step that reads memory alone, by
    // the last step.
    cases.push_back({"minnow.FusedElementwise", {normal(shape), Tensor::scalar_f32(0.25f)}, body(R"(graph {
                       input x0: f32
                       input x1: f32
                       const c0 = f32[] 0.5
                       const c1 = f32[] 3
                       a = Mul(x0, c1)
                       b = Sub(a, c0)
                       c = Add(a, x1)
                       d = Mul(b, c)
                       e = Mul(d, c0)
                       f = Add(e, d)
                       g = Neg(f)
                       h = Sub(g, a)
                       i = Abs(h)
                       j = Max(i, h)
                       k = Mul(j, x1)
                       l = Sub(j, k)
                       m = Abs(k)
                       n = Add(l, m)
                       o = Sub(m, n)
                       y = Add(o, b)
                       output y
                     })")});
    for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
      cases.push_back({op, {special(shape, 1), special(shape, 2)}});
      cases.push_back({op, {special(shape, 1), Tensor::scalar_f32(0)}});
    }
    for (const char* op : {"And", "Or", "Xor", "Equal"}) cases.push_back({op, {condition(shape), condition({1})}});
    cases.push_back({"Not", {condition(shape)}});
    cases.push_back({"IsNaN", {special(shape, 1)}});
    cases.push_back({"Cast", {special(shape, 1)}, {{"to", static_cast<int64_t>(DType::boolean)}}});
    cases.push_back({"Cast", {condition(shape)}, {{"to", static_cast<int64_t>(DType::f32)}}});
    cases.push_back({"Where", {condition(shape), special(shape, 1), Tensor::scalar_f32(-INFINITY)}});
    cases.push_back({"Clip", {normal(shape), Tensor::scalar_f32(-0.5f), Tensor::scalar_f32(0.7f)}});
    for (const char* op : {"Max", "Min", "Mean", "Sum"}) {
      cases.push_back({op, {normal(shape)}});
      cases.push_back({op, {normal(shape), normal(shape, 2), Tensor::scalar_f32(0.1f)}});
    }
    for (float exponent : {2.f, 3.f, 1.f, -1.f, 0.5f, 0.f, 2.5f})
      cases.push_back({"Pow", {normal(shape), Tensor::scalar_f32(exponent)}, {}, {1}});
  }
  const std::vector<Shape> broadcasts[] = {{{2, 17, 5, 7}, {17, 1, 1}, {1}}, {{2, 17, 5, 7}, {2, 17, 1, 1}, {1, 17, 1, 1}},
                                           {{2, 1, 5, 7}, {17, 1, 1}, {7}},  {{4, 300, 384}, {384}, {300, 1}},
                                           {{3, 1, 4}, {5, 1}, {1, 1}},      {{2, 3, 5, 6}, {2, 1, 1, 6}, {5, 6}},
                                           {{200, 300}, {200, 1}, {300}},    {{1, 20, 64, 64}, {1, 20, 1, 1}, {1, 20, 64, 64}}};
  for (const std::vector<Shape>& each : broadcasts)
    for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1, 2}}) {
      cases.push_back({"minnow.FusedElementwise",
                       {normal(each[0]), normal(each[1], 2), normal(each[2], 3)},
                       body(R"(graph {
                         input x0: f32
                         input x1: f32
                         input x2: f32
                         a = Mul(x1, x2)
                         b = Tanh(x0)
                         c = Sub(b, a)
                         d = Sigmoid(x1)
                         y = Mul(d, c)
                         output y
                       })"),
                       constants});
      cases.push_back({"Where", {condition(each[0]), normal(each[1]), normal(each[2], 2)}, {}, constants});
      cases.push_back({"Where", {condition(each[1]), normal(each[2]), normal(each[0], 2)}, {}, {}});
    }
  return cases;
}

std::vector<SchemeCase> recurrent_cases() {
  std::vector<SchemeCase> cases;
  // {steps, batch, input, hidden}; the last is large enough to be shared by threads.
  const std::array<int64_t, 4> sizes[] = {{1, 1, 1, 1}, {3, 2, 5, 17}, {4, 15, 3, 8}, {5, 1, 40, 33}, {2, 3, 16, 16}, {3, 1, 30, 200}};
  for (const char* op : {"LSTM", "GRU", "RNN"})
    for (const auto& [steps, batch, input, hidden] : sizes)
      for (const char* direction : {"forward", "reverse", "bidirectional"})
        for (int64_t option : {0, 1, 2, 3}) {  // batch first; linear before reset (GRU), relu (RNN), no biases and states (LSTM)
          const bool lstm = op[0] == 'L', gru = op[0] == 'G', batch_first = option & 1;
          const int64_t d = direction[0] == 'b' ? 2 : 1, rows = (lstm ? 4 : gru ? 3 : 1) * hidden;
          const double sigma = 0.7 / std::sqrt(double(hidden));
          const Shape state = batch_first ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
          std::vector<Tensor> inputs = {normal(batch_first ? Shape{batch, steps, input} : Shape{steps, batch, input}),
                                        normal({d, rows, input}, 2, 0.5), normal({d, rows, hidden}, 3, sigma)};
          if (!lstm || option < 2) {
            inputs.insert(inputs.end(), {normal({d, 2 * rows}, 4), Tensor(), normal(state, 5)});
            if (lstm) inputs.push_back(normal(state, 6));
          }
          Attributes attributes = {{"direction", std::string(direction)}, {"layout", int64_t{batch_first}}, {"hidden_size", hidden}};
          if (gru) attributes.set("linear_before_reset", option >> 1);
          if (!lstm && !gru && option > 1) {
            Strings activations = {"Relu", "Sigmoid"};
            activations.resize(static_cast<size_t>(d));
            attributes.set("activations", activations);
          }
          std::vector<size_t> constants = {1, 2};
          if (inputs.size() > 3) constants.push_back(3);
          if (inputs.size() > 5) {  // sequences of different lengths, empty ones too
            Tensor lengths(DType::i32, {batch});
            for (int64_t b = 0; b < batch; ++b)
              lengths.writable().data<int32_t>()[b] = static_cast<int32_t>((b + 2 * (batch == 1)) % (steps + 1));
            std::vector<Tensor> ragged = inputs;
            ragged[4] = lengths;
            cases.push_back({op, ragged, attributes, constants, lstm ? size_t{3} : size_t{2}, 2e-5, 0.08});
          }
          // Sums before the gates are of deviation 3 and more, and the state of one step is rounded for the next.
          cases.push_back({op, inputs, attributes, constants, lstm ? size_t{3} : size_t{2}, 2e-5, 0.08});
          cases.push_back({op, inputs, attributes, {}, lstm ? size_t{3} : size_t{2}});
        }
  for (const char* op : {"LSTM", "GRU", "RNN"}) {  // inputs so long that other products would be cut along them
    const int64_t rows = op[0] == 'L' ? 20 : op[0] == 'G' ? 15 : 5;
    cases.push_back({op,
                     {normal({65, 1, 3100}), normal({1, rows, 3100}, 2, 0.02), normal({1, rows, 5}, 3, 0.3)},
                     {{"hidden_size", int64_t{5}}},
                     {1, 2},
                     op[0] == 'L' ? size_t{3} : size_t{2},
                     2e-5,
                     0.08});
  }
  return cases;
}

std::vector<SchemeCase> attention_cases() {
  std::vector<SchemeCase> cases;
  const auto condition = [](const Shape& shape) {
    Tensor tensor(DType::boolean, shape);
    for (int64_t i = 0; i < shape.elements(); ++i) tensor.writable().data<uint8_t>()[i] = i % 5 != 0;
    return tensor;
  };
  // {batch, query heads, key heads, queries, keys, width, width of values, keys in the cache}
  const std::array<int64_t, 8> sizes[] = {{1, 1, 1, 1, 1, 1, 1, 0},       {2, 3, 3, 5, 7, 8, 8, 0},    {1, 4, 2, 33, 33, 17, 9, 0},
                                          {1, 6, 6, 128, 128, 64, 64, 0}, {2, 2, 1, 1, 1, 16, 40, 30}, {1, 2, 2, 40, 70, 32, 33, 5},
                                          {1, 1, 1, 300, 100, 20, 16, 0}};
  for (const auto& [batch, q_heads, kv_heads, queries, keys, head, v_head, past] : sizes)
    for (int64_t causal : {0, 1})
      for (int mask = 0; mask < 6; ++mask)
        for (const bool packed : {false, true}) {
          const auto shape = [&, b = batch, packed = packed](int64_t heads, int64_t length, int64_t width) {
            return packed ? Shape{b, length, heads * width} : Shape{b, heads, length, width};
          };
          const int64_t all = keys + past;
          Tensor masks[] = {Tensor(),
                            normal({queries, all}, 5),
                            normal({batch, 1, 1, all}, 5),
                            normal({q_heads, queries, all}, 5),
                            condition({batch, 1, queries, all}),
                            condition({queries, std::max<int64_t>(1, all - 2)})};
          if (mask == 1 && queries > 1)  // a query that sees nothing
            for (int64_t i = 0; i < all; ++i) masks[1].writable().data<float>()[all + i] = -INFINITY;
          std::vector<Tensor> inputs = {normal(shape(q_heads, queries, head)), normal(shape(kv_heads, keys, head), 2),
                                        normal(shape(kv_heads, keys, v_head), 3), masks[mask]};
          if (past) inputs.insert(inputs.end(), {normal({batch, kv_heads, past, head}, 6), normal({batch, kv_heads, past, v_head}, 7)});
          Attributes attributes = {{"is_causal", causal}};
          if (packed) attributes.set("q_num_heads", q_heads), attributes.set("kv_num_heads", kv_heads);
          if (mask == 2) attributes.set("scale", 0.3f);
          cases.push_back({"Attention", inputs, attributes, {}, past ? size_t{3} : size_t{1}});
        }
  // Probabilities and values are rounded, after scores of rounded factors, and averages of many values are small beside these.
  for (SchemeCase& each : cases) each.low_tolerance = 0.05;
  return cases;
}

// Integers in [low, high] of an 8-bit dtype, the bounds among them.
Tensor bytes(DType dtype, const Shape& shape, unsigned seed, int low = -1000, int high = 1000) {
  low = std::max(low, dtype == DType::i8 ? -128 : 0), high = std::min(high, dtype == DType::i8 ? 127 : 255);
  Tensor tensor(dtype, shape);
  unsigned state = seed * 2654435761u + 12345;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    const int value = i == 0 ? low : i == 1 ? high : low + static_cast<int>((state >> 8) % static_cast<unsigned>(high - low + 1));
    tensor.writable().data<uint8_t>()[i] = static_cast<uint8_t>(value);
  }
  return tensor;
}
Tensor one_byte(DType dtype, int value) { return bytes(dtype, {}, 1, value, value); }
Tensor scales(int64_t count, double scale) {
  Tensor tensor(DType::f32, count ? Shape{count} : Shape{});
  for (int64_t i = 0; i < std::max<int64_t>(1, count); ++i)
    tensor.writable().data<float>()[i] = static_cast<float>(scale * (1 + 0.13 * double(i % 7)));
  return tensor;
}
Tensor biases(int64_t count) {
  Tensor tensor(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) tensor.writable().data<int32_t>()[i] = static_cast<int32_t>(i * 7919 % 4001 - 2000);
  return tensor;
}

struct Quantized {
  DType x, w, y;
  int x_zero, y_zero;
  bool per_channel, zero_weights, bias, relu;  // zero_weights: the weights' zero point is 0
};
constexpr Quantized kQuantized[] = {
    {DType::u8, DType::i8, DType::u8, 3, 120, true, true, true, false},
    {DType::i8, DType::i8, DType::i8, -128, -5, true, true, true, true},
    {DType::i8, DType::i8, DType::u8, 17, 0, false, true, false, true},
    {DType::u8, DType::u8, DType::u8, 255, 128, false, false, true, false},
    {DType::u8, DType::u8, DType::i8, 0, 0, true, false, false, false},
    {DType::i8, DType::i8, DType::i8, 127, 100, true, false, true, false},
};

// The inputs from 1 on, the largest sums being some hundred times a step of the result.
std::vector<Tensor> quantized_inputs(const Quantized& q, const Tensor& x, const Shape& w, int64_t outputs, double depth) {
  std::vector<Tensor> inputs = {x,
                                scales(0, 0.02),
                                one_byte(q.x, q.x_zero),
                                bytes(q.w, w, 3),
                                scales(q.per_channel ? outputs : 0, 0.01),
                                q.zero_weights  ? one_byte(q.w, 0)
                                : q.per_channel ? bytes(q.w, {outputs}, 9)
                                                : one_byte(q.w, 77),
                                scales(0, 0.02 * 0.01 * 50 * std::sqrt(depth)),
                                one_byte(q.y, q.y_zero)};
  if (q.per_channel && q.zero_weights) inputs[5] = bytes(q.w, {outputs}, 9, 0, 0);
  if (q.bias) inputs.push_back(biases(outputs));
  return inputs;
}
std::vector<Tensor> with_real_bias(std::vector<Tensor> inputs) {
  std::vector<double> values(static_cast<size_t>(inputs.back().elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = inputs.back().data<int32_t>()[i] + double(i % 7) / 7;
  inputs.back() = test::tensor(DType::f32, inputs.back().shape(), values);
  return inputs;
}
std::vector<size_t> constants_of(const std::vector<Tensor>& inputs) {
  std::vector<size_t> list;
  for (size_t i = 1; i < inputs.size(); ++i) list.push_back(i);
  return list;
}

std::vector<SchemeCase> quantized_cases() {
  std::vector<SchemeCase> cases;
  const auto add_conv = [&](const Shape& x, const Shape& w, const Attributes& attributes) {
    for (const Quantized& q : kQuantized) {
      const std::vector<Tensor> inputs = quantized_inputs(q, bytes(q.x, x, 2), w, w[0], double(w.product(1, w.rank())));
      cases.push_back({"minnow.QuantizedConv", inputs, q.relu ? with(attributes, {{"activation", std::string("Relu")}}) : attributes,
                       constants_of(inputs)});
      cases.push_back({"QLinearConv", inputs, attributes, constants_of(inputs)});
      if (q.bias) cases.push_back({"minnow.QuantizedConv", with_real_bias(inputs), attributes, constants_of(inputs)});
    }
  };
  add_conv({1, 17, 9, 11}, {33, 17, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add_conv({2, 16, 14, 14}, {32, 16, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add_conv({1, 20, 7, 8}, {20, 20, 3, 3}, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  add_conv({1, 3, 21, 20}, {24, 3, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
  add_conv({1, 5, 9, 10}, {7, 5, 1, 1}, conv({1, 1}, {2, 3}, {1, 1, 0, 1}));
  add_conv({1, 6, 9, 10}, {70, 6, 1, 3}, conv({1, 3}, {2, 1}, {0, 2, 0, 1}));
  add_conv({1, 64, 3, 4}, {32, 32, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}, 2));
  add_conv({1, 9, 9, 9}, {8, 9, 3, 2}, conv({3, 2}, {1, 1}, {2, 2, 2, 2}, 1, {2, 3}));
  add_conv({2, 5, 30}, {6, 5, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  add_conv({1, 33, 12, 12}, {33, 1, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33));
  add_conv({2, 19, 9, 8}, {19, 1, 5, 5}, conv({5, 5}, {2, 2}, {2, 2, 2, 2}, 19));
  // The sums themselves; the zero point of x is known before the run, or not, or there is none.
  const auto add_integer = [&](const char* op, const Shape& x, const Shape& w, int64_t outputs, const Attributes& attributes) {
    for (const Quantized& q : kQuantized) {
      const Tensor w_zero = q.zero_weights ? Tensor() : q.per_channel ? bytes(q.w, {outputs}, 9) : one_byte(q.w, 77);
      const Tensor x_zero = q.relu ? Tensor() : one_byte(q.x, q.x_zero);
      cases.push_back({op,
                       {bytes(q.x, x, 2), bytes(q.w, w, 3), x_zero, w_zero},
                       attributes,
                       q.bias ? std::vector<size_t>{1, 3} : std::vector<size_t>{1, 2, 3}});
    }
  };
  add_integer("ConvInteger", {1, 17, 9, 11}, {33, 17, 1, 1}, 33, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add_integer("ConvInteger", {2, 5, 9, 10}, {18, 5, 3, 3}, 18, conv({3, 3}, {2, 1}, {1, 1, 1, 1}));
  add_integer("ConvInteger", {1, 32, 5, 5}, {32, 16, 3, 3}, 32, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 2));
  add_integer("MatMulInteger", {3, 4, 17}, {17, 33}, 33, {});
  add_integer("MatMulInteger", {40, 65}, {65, 64}, 64, {});
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3, 20000}, Shape{1}})
    for (const DType dtype : {DType::u8, DType::i8}) {
      const int64_t lowest = dtype == DType::i8 ? -128 : 0;
      const Attributes how{{"factors", Ints{1 << 21, -700001}},
                           {"zero_points", Ints{lowest + 255, 100, lowest + 99}},
                           {"shift", int64_t{21}},
                           {"bounds", Ints{lowest + 9, lowest + 250}}};
      cases.push_back({"minnow.QuantizedAdd", {bytes(dtype, shape, 4), bytes(dtype, shape, 5)}, how, {}});
    }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{3, 20000}, Shape{1}}) {
    Tensor special = normal(shape, 2);
    special.writable().data<float>()[shape.elements() / 2] = NAN;
    for (const Tensor& x : {normal(shape), special, test::tensor(DType::f32, shape, std::vector<double>(size_t(shape.elements()), 0))})
      cases.push_back({"DynamicQuantizeLinear", {x}, {}, {}, 3});
  }
  for (DType dtype : {DType::i32, DType::i64, DType::f64}) {
    const auto integers = [&](const Shape& shape, unsigned seed) {
      std::vector<double> values;
      for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(double((i * 7919 + seed * 31) % 11 - 5) * (i % 3 ? 1 : 300000000));
      return test::tensor(dtype, shape, values);
    };
    const std::pair<Shape, Shape> shapes[] = {{{2, 17, 5, 7}, {2, 17, 5, 7}},
                                              {{2, 17, 5, 7}, {}},
                                              {{}, {1, 20, 300, 60}},
                                              {{2, 17, 5, 7}, {1, 17, 1, 1}},
                                              {{2, 17, 1, 1}, {2, 17, 5, 7}},
                                              {{3, 1, 4}, {5, 1}},
                                              {{7}, {7}}};
    for (const char* op : {"Add", "Sub", "Mul", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
      for (const auto& [a, b] : shapes)
        for (const std::vector<size_t>& constants : {std::vector<size_t>{}, std::vector<size_t>{1}})
          cases.push_back({op, {integers(a, 1), integers(b, 2)}, {}, constants});
    if (dtype == DType::f64) {
      for (const char* op : {"Div", "Max", "Min"})
        for (const auto& [a, b] : shapes) cases.push_back({op, {integers(a, 1), integers(b, 2)}});
      for (const char* op : {"Abs", "Ceil", "Cos", "Exp", "Floor", "Log", "Neg", "Round", "Sin", "Sqrt", "Tanh"})
        for (const Shape& shape : {Shape{}, Shape{13}, Shape{3, 5000}}) {
          std::vector<double> values;
          for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(double(i % 397) / 7 - (*op == 'L' || *op == 'S' ? 0 : 20));
          cases.push_back({op, {test::tensor(dtype, shape, values)}});
        }
      continue;
    }
    cases.push_back({"Cast", {integers({2, 17, 5, 7}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
    cases.push_back({"Cast", {integers({}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
  }
  for (DType dtype : {DType::u8, DType::i8})
    cases.push_back({"Cast", {bytes(dtype, {1, 3, 5, 7}, 1)}, {{"to", static_cast<int64_t>(DType::f32)}}});
  const std::pair<Shape, Shape> products[] = {
      {{5, 7}, {7, 9}}, {{1, 64}, {64, 100}}, {{3, 4, 17}, {17, 33}}, {{300, 65}, {65, 50}}, {{1, 1}, {1, 1}}};
  for (const auto& [a, b] : products)
    for (const Quantized& q : kQuantized) {
      std::vector<Tensor> inputs = quantized_inputs(q, bytes(q.x, a, 2), b, b[1], double(b[0]));
      cases.push_back({"minnow.QuantizedMatMul", inputs, q.relu ? Attributes{{"activation", std::string("Relu")}} : Attributes{},
                       constants_of(inputs)});
      if (q.bias) cases.push_back({"minnow.QuantizedMatMul", with_real_bias(inputs), {}, constants_of(inputs)});
      inputs.resize(8);
      cases.push_back({"QLinearMatMul", inputs, {}, constants_of(inputs)});
    }
  for (DType dtype : {DType::u8, DType::i8}) {
    cases.push_back({"MaxPool", {bytes(dtype, {1, 17, 9, 11}, 1)}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}});
    cases.push_back({"MaxPool", {bytes(dtype, {2, 16, 7, 8}, 1)}, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 1, 2, 0}}}});
    cases.push_back({"MaxPool",
                     {bytes(dtype, {1, 5, 9, 8}, 1)},
                     {{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 2, 1, 2}}}});
    cases.push_back({"MaxPool", {bytes(dtype, {1, 5, 30}, 1)}, {{"kernel_shape", Ints{4}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}});
  }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 3, 90, 91}, Shape{37}, Shape{5, 6}})
    for (DType dtype : {DType::u8, DType::i8}) {
      Tensor x = normal(shape, 1, 60);
      constexpr float kValues[] = {NAN, INFINITY, -INFINITY, 0.35f, 1.05f, 1e30f};
      for (int64_t i = 0; i < shape.elements(); i += 5) x.writable().data<float>()[i] = kValues[i % 6];
      cases.push_back({"QuantizeLinear", {x, Tensor::scalar_f32(0.7f), one_byte(dtype, 5)}});
      cases.push_back(
          {"QuantizeLinear", {normal(shape, 2, 60), scales(shape[0], 0.7), bytes(dtype, {shape[0]}, 4)}, {{"axis", int64_t{0}}}});
      cases.push_back({"DequantizeLinear", {bytes(dtype, shape, 1), Tensor::scalar_f32(0.7f), one_byte(dtype, 5)}});
      cases.push_back({"DequantizeLinear", {bytes(dtype, shape, 1), scales(shape.back(), 0.7)}, {{"axis", int64_t{-1}}}});
      if (shape.rank() > 1)
        for (const char* to : {"packed", "plain"})
          cases.push_back({std::string(kReorder), {bytes(dtype, shape, 1)}, {{"to", std::string(to)}}});
    }
  return cases;
}

std::vector<SchemeCase> row_cases() {
  std::vector<SchemeCase> cases;
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (const auto& [shape, axis] :
         {std::pair(Shape{5, 1000}, -1), {Shape{3, 7}, 1}, {Shape{2, 19, 4, 5}, 1}, {Shape{300, 3}, 0}, {Shape{9}, 0}, {Shape{2, 1, 3}, 1}})
      cases.push_back({op, {normal(shape)}, {{"axis", int64_t{axis}}}});
  for (const char* op :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    for (const auto& [shape, axes] : {std::pair(Shape{2, 17, 5, 7}, Ints{2, 3}),
                                      {Shape{1, 33, 3, 2, 5}, Ints{-1, 2, 3}},
                                      {Shape{2, 17, 5, 7}, Ints{1}},
                                      {Shape{2, 17, 5, 7}, Ints{-1}},
                                      {Shape{2, 3, 1500}, Ints{0, 1}},
                                      {Shape{2, 5, 3}, Ints{}},
                                      {Shape{3, 1, 6, 1}, Ints{0, 2}},
                                      {Shape{7, 200, 2}, Ints{2}},
                                      {Shape{67, 16}, Ints{1}},
                                      {Shape{4, 65}, Ints{1}},
                                      {Shape{2, 20011}, Ints{1}},
                                      {Shape{33333}, Ints{}},
                                      {Shape{130, 300}, Ints{0}},
                                      {Shape{2, 37, 2100}, Ints{1}}})
      for (int64_t keep : {0, 1}) {
        Tensor x = normal(shape);
        for (float& value :
             std::span(x.writable().data<float>(), size_t(shape.elements())))  // positive for the logarithm, near 1 for the product
          if (std::string(op) == "ReduceLogSum")
            value = std::fabs(value) + 0.01f;
          else if (std::string(op) == "ReduceProd")
            value = 1 + value * 0.02f;
        cases.push_back({op, {x, Tensor::of_i64({int64_t(axes.size())}, axes)}, {{"keepdims", keep}}, {1}});
      }
  for (const Shape& shape : {Shape{2, 5, 33}, Shape{1, 7, 768}, Shape{3, 4, 6}}) {
    const Shape last{shape.back()}, two{shape[1], shape[2]};
    cases.push_back({"LayerNormalization", {normal(shape), normal(last, 2), normal(last, 3)}, {}, {1, 2}});
    cases.push_back({"LayerNormalization", {normal(shape), normal(two, 2)}, {{"axis", int64_t{1}}, {"epsilon", 0.01f}}});
    cases.push_back({"RMSNormalization", {normal(shape), normal(last, 2)}});
  }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 64, 9}, Shape{3, 8, 2, 3, 4}}) {
    const Shape c{shape[1]};
    Tensor variance = normal(c, 5);
    for (float& value : std::span(variance.writable().data<float>(), size_t(c[0]))) value = std::fabs(value) + 0.1f;
    cases.push_back({"BatchNormalization", {normal(shape), normal(c, 2), normal(c, 3), normal(c, 4), variance}, {}, {1, 2, 3, 4}});
    cases.push_back({"InstanceNormalization", {normal(shape), normal(c, 2), normal(c, 3)}, {}, {1, 2}});
  }
  // {channels, groups}: groups within a vector, over several, across their borders, of one channel, of all.
  for (const auto& [channels, groups] : {std::pair<int64_t, int64_t>{17, 1}, {64, 4}, {64, 64}, {48, 2}, {30, 5}, {8, 2}, {1, 1}})
    for (const Shape& shape : {Shape{2, channels, 5, 7}, Shape{1, channels, 4}, Shape{3, channels, 61, 60}}) {
      Tensor x = normal(shape);
      for (float& value : std::span(x.writable().data<float>(), size_t(shape.elements()))) value += 3;  // means that differ from 0
      cases.push_back({"GroupNormalization", {x, normal({channels}, 2), normal({channels}, 3)}, {{"num_groups", groups}}, {1, 2}});
    }
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 6, 30, 31}, Shape{3, 1, 4}, Shape{2, 40}, Shape{1, 9, 2, 3, 4}})
    for (const int64_t size : {1, 2, 5, 100}) {
      cases.push_back({"LRN", {normal(shape)}, {{"size", size}, {"alpha", 0.5f}}});
      cases.push_back({"LRN", {normal(shape)}, {{"size", size}, {"alpha", 2.f}, {"beta", 0.3f}, {"bias", 0.01f}}});
    }
  return cases;
}

std::vector<SchemeCase> cast_cases() {
  std::vector<SchemeCase> cases;
  for (const Shape& shape : {Shape{2, 17, 61, 60}, Shape{1, 3, 5}, Shape{33}, Shape{}})
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Tensor x = normal(shape, 1, 40000), narrow(dtype, shape);  // some beyond the largest f16
      for (size_t i = 0; i < size_t(shape.elements()); ++i) {
        float& value = x.writable().data<float>()[i];
        value *= i % 3 == 0 ? 1 : i % 3 == 1 ? 1e-9f : 1e-13f;
        narrow.writable().data<uint16_t>()[i] = uint16_t(i * 40503);
      }
      cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(dtype)}}});
      cases.push_back({"Cast", {narrow}, {{"to", static_cast<int64_t>(DType::f32)}}});
    }
  // Floats to integers within 32 bits, beyond them, and beyond all; and back.
  for (const double sigma : {1e3, 1e12}) {
    Tensor x = normal({2, 17, 61}, 1, sigma);
    float* values = x.writable().data<float>();
    if (sigma > 1e6) values[0] = NAN, values[700] = INFINITY, values[1400] = -INFINITY, values[1401] = 1.2e19f;
    for (const DType dtype : {DType::i64, DType::i32, DType::boolean})
      cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(dtype)}}});
    for (const char* op : {"IsInf", "IsNaN"}) cases.push_back({op, {x}});
  }
  for (const DType from : {DType::i64, DType::i32, DType::boolean}) {
    Tensor x(from, {3, 500});
    for (size_t i = 0; i < 1500; ++i) {
      const int64_t value = i % 5 == 0 ? 0 : int64_t(i * 0x9e3779b97f4a7c15);
      if (from == DType::i64) x.writable().data<int64_t>()[i] = value;
      if (from == DType::i32) x.writable().data<int32_t>()[i] = int32_t(value);
      if (from == DType::boolean) x.writable().data<uint8_t>()[i] = value & 1;
    }
    for (const DType to : {DType::i64, DType::i32, DType::f32})
      if (from != to && (from != DType::boolean || to == DType::f32)) cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(to)}}});
  }
  // Bits and remainders, with a number on either side.
  for (const DType dtype : {DType::i64, DType::i32, DType::u32})
    for (const auto& [left, right] : {std::pair(Shape{3, 700}, Shape{3, 700}), {Shape{3, 700}, Shape{}}, {Shape{3, 1}, Shape{700}}}) {
      Tensor a(dtype, left), b(dtype, right);
      const auto fill = [&](Tensor& x, uint64_t seed) {
        for (size_t i = 0; i < size_t(x.shape().elements()); ++i) {
          const uint64_t value = i % 3 == 0 ? i % 70 + 2 : (i + seed) * 0x9e3779b97f4a7c15 >> i % 40;
          if (size_of(dtype) == 8)
            x.writable().data<uint64_t>()[i] = value;
          else
            x.writable().data<uint32_t>()[i] = uint32_t(value);
        }
      };
      fill(a, 1), fill(b, 5);
      if (size_of(dtype) == 4)
        for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) cases.push_back({op, {a, b}});
      if (dtype == DType::u32)
        for (const char* direction : {"LEFT", "RIGHT"}) cases.push_back({"BitShift", {a, b}, {{"direction", std::string(direction)}}});
      if (is_signed(dtype))
        for (const char* op : {"Div", "Mod"}) cases.push_back({op, {a, b}, {}, {1}});
    }
  return cases;
}

std::vector<SchemeCase> arg_cases() {
  std::vector<SchemeCase> cases;
  // Axes last and before others, a lane more than a block of columns, rows short and long.
  const std::pair<Shape, int64_t> shapes[] = {{{2, 21, 9, 11}, 1}, {{1, 3, 513}, 1}, {{5, 1, 7}, 1},  {{700, 2}, 0}, {{3, 7, 21}, 2},
                                              {{130, 64}, 1},      {{2, 65}, 1},     {{1, 1000}, -1}, {{7}, 0},      {{3, 1}, -1}};
  for (const auto& [shape, axis] : shapes)
    for (const char* op : {"ArgMax", "ArgMin"})
      for (const int64_t last : {0, 1}) {
        const Attributes attributes = {{"axis", axis}, {"select_last_index", last}, {"keepdims", last}};
        const size_t count = size_t(shape.elements());
        Tensor halves = normal(shape), special = normal(shape), bytes(DType::u8, shape), signed_bytes(DType::i8, shape);
        for (size_t i = 0; i < count; ++i) {
          float& value = halves.writable().data<float>()[i];
          value = std::round(2 * value) / 2 * (i % 3 ? 1.f : -1.f);  // with many that are equal, and zeros of both signs
          bytes.writable().data<uint8_t>()[i] = uint8_t(i * 37 % 251);
          signed_bytes.writable().data<int8_t>()[i] = int8_t(int(i * 41 % 13) - 6);
          if (i % 5 == 0) special.writable().data<float>()[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : -INFINITY;
        }
        for (const Tensor& x : {normal(shape), halves, special, bytes, signed_bytes}) cases.push_back({op, {x}, attributes});
      }
  return cases;
}

std::vector<SchemeCase> line_cases() {
  std::vector<SchemeCase> cases;
  const std::pair<Shape, int64_t> shapes[] = {{{2, 21, 9, 11}, 1}, {{1, 3, 513}, 1}, {{5, 1, 7}, 1}, {{700, 2}, 0},
                                              {{130, 64}, 1},      {{1, 1000}, -1},  {{2, 3000}, 1}, {{1}, 0}};
  for (const auto& [shape, axis] : shapes) {
    Tensor halves = normal(shape), special = normal(shape);
    for (size_t i = 0; i < size_t(shape.elements()); ++i) {
      float& value = halves.writable().data<float>()[i];
      value = std::round(2 * value) / 2 * (i % 3 ? 1.f : -1.f);
      if (i % 5 == 0) special.writable().data<float>()[i] = i % 4 == 0 ? NAN : i % 4 == 1 ? INFINITY : -INFINITY;
    }
    const int64_t length = shape[axis < 0 ? shape.rank() - 1 : size_t(axis)];
    for (const Tensor& x : {normal(shape), halves, special}) {
      cases.push_back({"Hardmax", {x}, {{"axis", axis}}});
      for (const int64_t count : {int64_t{1}, int64_t{5}, int64_t{16}, int64_t{17}, length / 3, length})
        for (const int64_t largest : {0, 1})
          if (count >= 1 && count <= length)
            cases.push_back({"TopK", {x, Tensor::of_i64({1}, Ints{count})}, {{"axis", axis}, {"largest", largest}}, {1}, 2});
    }
  }
  for (const int64_t exclusive : {0, 1})
    for (const int64_t reverse : {0, 1})
      for (const auto& [shape, axis] : {std::pair(Shape{40, 300}, 0), {Shape{2, 5, 9}, -2}, {Shape{1, 8}, 0}})
        cases.push_back({"CumSum", {normal(shape), Tensor::of_i64({}, Ints{axis})}, {{"exclusive", exclusive}, {"reverse", reverse}}, {1}});
  for (const int64_t p : {1, 2}) {
    Tensor x = normal({6, 37});  // rows of which sums overflow, vanish, are nothing or no number
    for (size_t i = 0; i < 37; ++i) {
      float* at = x.writable().data<float>() + i;
      at[37] *= 1e30f, at[2 * 37] *= 1e-30f, at[3 * 37] = 0;
    }
    x.writable().data<float>()[4 * 37 + 3] = NAN;
    for (const Tensor& one : {x, normal({3, 1}), normal({5}), normal({4, 3000})}) cases.push_back({"LpNormalization", {one}, {{"p", p}}});
  }
  return cases;
}

std::vector<SchemeCase> sampling_cases() {
  std::vector<SchemeCase> cases;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t corners : {0, 1})
        for (const auto& [x, grid] : {std::pair(Shape{2, 17, 5, 7}, Shape{2, 19, 15, 2}),
                                      {Shape{1, 3, 1, 1}, Shape{1, 2, 3, 2}},
                                      {Shape{1, 16, 9}, Shape{1, 300, 1}},
                                      {Shape{1, 5, 3, 4, 2}, Shape{1, 2, 5, 3, 3}}}) {
          Tensor at = normal(grid, 4, 0.8);
          at.writable().data<float>()[1] = 40;  // far outside
          at.writable().data<float>()[2] = NAN;
          Tensor image = normal(x);
          if (x.rank() == 3) image.writable().data<float>()[0] = NAN;  // what reads padding alone reads nothing else
          cases.push_back({"GridSample",
                           {image, at},
                           {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", corners}}});
        }
  const Tensor regions = test::tensor(DType::f32, {6, 4},
                                      {0, 0, 3, 3, 1.2, 2.1, 4.6, 3.3, -2, 1, 90, 9, 2, 2, 2.1, 2.1, 7, 6, 1, 2, 30, 30, 50, 50}),
               images = test::tensor(DType::i64, {6}, {0, 1, 0, 1, 1, 0});
  for (const Shape& x : {Shape{2, 17, 9, 11}, Shape{2, 3, 1, 1}})
    for (const int64_t samples : {0, 1, 2, 5})
      for (const char* mode : {"half_pixel", "output_half_pixel"})
        for (const auto& [height, width] : {std::pair(7, 7), {1, 1}, {2, 3}})
          cases.push_back({"RoiAlign",
                           {normal(x), regions, images},
                           {{"coordinate_transformation_mode", std::string(mode)},
                            {"output_height", int64_t{height}},
                            {"output_width", int64_t{width}},
                            {"sampling_ratio", samples},
                            {"spatial_scale", 0.75f}}});
  // More pixels in a bin than are summed up at once.
  cases.push_back({"RoiAlign",
                   {normal({1, 3, 60, 70}), test::tensor(DType::f32, {1, 4}, {1, 2, 69, 58}), test::tensor(DType::i64, {1}, {0})},
                   {{"output_height", int64_t{1}}, {"output_width", int64_t{1}}}});
  return cases;
}

std::vector<SchemeCase> movement_cases() {
  std::vector<SchemeCase> cases;
  const auto ints = [](Ints values) { return Tensor::of_i64({int64_t(values.size())}, values); };
  for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{3, 2, 1, 0}, Ints{1, 0, 2, 3}, Ints{0, 1, 3, 2}})
    cases.push_back({"Transpose", {normal({2, 17, 5, 7})}, {{"perm", perm}}});
  cases.push_back({"Transpose", {normal({30, 40})}});
  for (int64_t axis : {0, 1, 3}) {
    cases.push_back({"Concat", {normal({2, 16, 5, 7}), normal({2, 16, 5, 7}, 2), normal({2, 16, 5, 7}, 3)}, {{"axis", axis}}});
    cases.push_back({"Split", {normal({4, 32, 5, 8}), ints({2, 2})}, {{"axis", int64_t{0}}}, {1}, 2});
    cases.push_back({"Split", {normal({4, 48, 5, 8}), ints({16, 32})}, {{"axis", int64_t{1}}}, {1}, 2});
  }
  cases.push_back({"Concat", {normal({1, 32, 3, 3}), normal({1, 5, 3, 3}, 2)}, {{"axis", int64_t{1}}}});
  for (const auto& [data, indices] : {std::pair(Shape{3, 7, 9}, Shape{3, 7, 9}), {Shape{3, 7, 9}, Shape{2, 11, 5}}, {Shape{5}, Shape{300}}})
    for (int64_t axis = 0; axis < int64_t(data.rank()); ++axis)
      for (const DType dtype : {DType::i32, DType::i64}) {
        Shape at = data;
        at[size_t(axis)] = indices[size_t(axis)];
        Tensor index(dtype, at);
        for (int64_t i = 0; i < at.elements(); ++i) {
          const int64_t value = i * 31 % (2 * data[size_t(axis)]) - data[size_t(axis)];
          if (dtype == DType::i64)
            index.writable().data<int64_t>()[i] = value;
          else
            index.writable().data<int32_t>()[i] = int32_t(value);
        }
        cases.push_back({"GatherElements", {normal(data), index}, {{"axis", axis}}});
      }
  cases.push_back({"Slice", {normal({4, 17, 9}), ints({1, -1}), ints({3, -100}), ints({0, 2}), ints({1, -2})}, {}, {1, 2, 3, 4}});
  cases.push_back({"Expand", {normal({3, 1, 5}), ints({2, 3, 4, 5})}, {}, {1}});
  cases.push_back({"Tile", {normal({3, 4}), ints({2, 3})}, {}, {1}});
  cases.push_back({"Pad", {normal({2, 3, 4}), ints({0, 1, 2, 3, 0, 1}), Tensor::scalar_f32(1.5f)}, {}, {1, 2}});
  cases.push_back({"DepthToSpace", {normal({1, 12, 4, 5})}, {{"blocksize", int64_t{2}}}});
  cases.push_back({"SpaceToDepth", {normal({1, 3, 4, 6})}, {{"blocksize", int64_t{2}}}});
  for (int64_t groups : {1, 2, 3, 7, 29, 58})
    cases.push_back({"minnow.ChannelShuffle",
                     {normal({2, 986, 5, 3}), normal({2, 232, 5, 3}, 2)},
                     {{"groups", groups}, {"sizes", Ints{406, 812}}},
                     {},
                     2});
  for (const Shape& shape :
       {Shape{1, 48, 90, 91}, Shape{3, 20, 1}, Shape{2, 12}, Shape{2, 1024, 1, 1}, Shape{0, 6, 3, 3}, Shape{1, 6, 0, 3}})
    cases.push_back({"minnow.ChannelShuffle", {normal(shape)}, {{"groups", int64_t{2}}}});
  cases.push_back({"minnow.ChannelShuffle",
                   {normal({1, 24, 7, 7}), normal({1, 24, 7, 7}, 2)},
                   {{"groups", int64_t{2}}, {"sizes", Ints{24, 24}}},
                   {},
                   2});
  cases.push_back({"Gather", {normal({5, 6, 7}), ints({4, 0, -1})}, {{"axis", int64_t{1}}}});
  cases.push_back({"Reshape", {normal({2, 6}), ints({3, 4})}, {}, {1}});
  cases.push_back({"Flatten", {normal({2, 6, 3})}});
  cases.push_back({"Identity", {normal({2, 6, 3})}});
  cases.push_back({"Squeeze", {normal({1, 6, 1})}});
  cases.push_back({"Unsqueeze", {normal({6}), ints({0, 2})}, {}, {1}});
  return cases;
}

std::vector<SchemeCase> layout_cases() {
  std::vector<SchemeCase> cases;
  for (const Shape& shape : {Shape{2, 17, 5, 7}, Shape{1, 3, 90, 91}, Shape{3, 64}, Shape{1, 16, 9}, Shape{2, 1, 2, 2, 2}})
    for (const char* to : {"packed", "plain"}) cases.push_back({std::string(kReorder), {normal(shape)}, {{"to", std::string(to)}}});
  const auto sizes = [](Ints values) { return Tensor::of_i64({int64_t(values.size())}, values); };
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* transformation : {"half_pixel", "align_corners", "asymmetric"})
      for (const auto& [from, to] : {std::pair(Shape{2, 17, 5, 7}, Ints{2, 17, 11, 15}),
                                     {Shape{1, 3, 40, 30}, Ints{1, 3, 17, 9}},
                                     {Shape{1, 20, 6}, Ints{1, 20, 13}},
                                     {Shape{5, 7}, Ints{5, 4}},
                                     {Shape{1, 16, 9, 9}, Ints{1, 16, 9, 20}},
                                     {Shape{1, 3, 4, 5, 6}, Ints{1, 3, 7, 5, 9}},
                                     {Shape{2, 3, 40, 3, 4}, Ints{2, 3, 2, 6, 8}}})
        for (int64_t antialias : {0, 1})
          cases.push_back({"Resize",
                           {normal(from), Tensor(), Tensor(), sizes(to)},
                           {{"mode", std::string(mode)},
                            {"coordinate_transformation_mode", std::string(transformation)},
                            {"antialias", mode[0] == 'n' ? int64_t{0} : antialias}},
                           {3}});
  return cases;
}

class SchemesTest : public EveryIsa {
 protected:
  void check(const std::vector<SchemeCase>& cases) {
    for (const SchemeCase& test : cases) {
      const std::vector<std::string> accepted = check_schemes(test, GetParam());
      // Functions and products of doubles have their reference alone where there are no vectors of them.
      const bool may_be_refused = !kernels_for(GetParam()).unary64->functions && test.inputs[0].dtype() == DType::f64;
      EXPECT_TRUE(may_be_refused || !accepted.empty()) << "nothing serves a case of " << test.op;
      seen_.insert(accepted.begin(), accepted.end());
    }
  }
  std::set<std::string> seen_;
};

TEST_P(SchemesTest, every_row_of_the_table_agrees_with_the_reference) {
  if (best_isa(name_of(GetParam())) != GetParam()) GTEST_SKIP() << "MINNOW_ISA excludes it";
  for (const auto& cases : {conv_cases(), deform_conv_cases(), conv_transpose_cases(), pool_cases(), matmul_cases(), unary_cases(),
                            binary_cases(), program_cases(), attention_cases(), quantized_cases(), recurrent_cases(), row_cases(),
                            cast_cases(), arg_cases(), line_cases(), sampling_cases(), movement_cases(), layout_cases()})
    check(cases);
  // bf16_test.cpp and f16_test.cpp skip where the machine has no such products.
  const Kernels& kernels = kernels_for(GetParam());
  const bool bf16 = bf16_kernels(*kernels.bf16).tile.plain, f16 = kernels.f16->direct.tile.packed && has_f16_products();
  const auto contains = [](const std::string& name, std::string_view part) { return name.find(part) != std::string::npos; };
  for (const std::string& name : scheme_names(GetParam())) {
    if (!bf16 && (contains(name, ".bf16_first_layer") || contains(name, "attention.bf16"))) continue;
    if (!f16 && contains(name, ".f16")) continue;
    if (!kernels.unary64->functions && (contains(name, "unary.f64") || name == "Gemm/matmul.wide")) continue;
    EXPECT_TRUE(seen_.count(name)) << name << " has no case here";
  }
}

MINNOW_EVERY_ISA(SchemesTest);

}  // namespace
}  // namespace minnow::cpu
