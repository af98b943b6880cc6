// SPDX-License-Identifier: Apache-2.0
// Convolutions in every form, and pools.
#include "support/scheme_cases.h"

#include <cmath>

#include "support/operators.h"

namespace minnow::cpu {

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
  // 3-D.
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
    for (const Shape& shape : {Shape{1, 17, 7, 7}, Shape{2, 64, 1, 1}, Shape{1, 3, 50}, Shape{1, 9, 3, 4, 5}, Shape{10, 20}})
      cases.push_back({op, {normal(shape)}});
  return cases;
}

}  // namespace minnow::cpu
