// SPDX-License-Identifier: Apache-2.0
// Operators that gradients consist of, and forms of others that only training needs.
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "support/operators.h"
#include "support/scheme_cases.h"

namespace minnow::cpu {

std::vector<SchemeCase> gradient_cases() {
  std::vector<SchemeCase> cases;
#if MINNOW_GRADIENTS
  // Few images and many, one pixel, rows that no vector fills, means far from zero.
  for (const Shape& shape :
       {Shape{2, 17, 5, 7}, Shape{3, 16, 1}, Shape{9, 5}, Shape{1, 33, 40, 50}, Shape{4, 3, 2, 2, 3}, Shape{2, 20, 90, 91}})
    for (const double mean : {0.0, 20.0}) {
      Tensor x = normal(shape, 1);
      for (float& value : std::span(x.writable().data<float>(), size_t(shape.elements()))) value += float(mean);
      const Shape channels{shape[1]};
      // A mean of 20 takes four bits off x, and the sums of the gradient cancel.
      const double tolerance = mean == 0 ? 2e-5 : 2e-4;
      for (const size_t outputs : {1, 3})
        cases.push_back({"BatchNormalization",
                         {x, normal(channels, 2), normal(channels, 3), normal(channels, 4), normal(channels, 5)},
                         {{"training_mode", int64_t{1}}, {"momentum", 0.7f}},
                         {},
                         outputs,
                         tolerance});
      cases.push_back(
          {"minnow.BatchNormalizationGradient", {x, normal(channels, 2), normal(shape, 3)}, {{"epsilon", 1e-3f}}, {}, 3, tolerance});
    }
  // {batch, heads, queries, keys, size, size of values}; blocks of queries, and a last one that is shorter.
  const std::array<int64_t, 6> heads[] = {
      {1, 1, 1, 1, 1, 1}, {2, 3, 5, 7, 9, 4}, {1, 2, 33, 17, 16, 33}, {1, 2, 300, 300, 8, 8}, {1, 1, 200, 1100, 24, 17}};
  for (const auto& [batch, count, queries, keys, head, v_head] : heads)
    for (const int64_t option : {0, 1, 2, 3, 4}) {  // causal; a window; a mask of numbers; one of bool in which a query sees nothing
      std::vector<Tensor> inputs = {normal({batch, count, queries, head}), normal({batch, count, keys, head}, 2),
                                    normal({batch, count, keys, v_head}, 3)};
      inputs.resize(8);
      inputs[7] = normal({batch, count, queries, v_head}, 4);
      if (option == 3) inputs[3] = normal({count, queries, keys}, 5);
      if (option == 4) {
        inputs[3] = Tensor(DType::boolean, {queries, std::max<int64_t>(1, keys - 2)});
        for (int64_t i = 0; i < inputs[3].elements(); ++i)
          inputs[3].writable().data<uint8_t>()[i] = i / inputs[3].shape()[1] % 5 != 4 && i % 3 != 1;
      }
      Attributes attributes = {{"is_causal", int64_t{option == 1}}};
      if (option == 2) attributes.set("left_window_size", int64_t{3}), attributes.set("right_window_size", int64_t{2});
      if (option == 3) attributes.set("scale", 0.3f);
      for (const size_t outputs : {size_t{1}, size_t{3}})
        cases.push_back({"minnow.AttentionGradient", inputs, attributes, {}, outputs, 5e-5});
    }
  // A row, an element, rows that no vector fills, and more rows and longer ones than a part of a sum has.
  for (const auto& [shape, axis] : {std::pair(Shape{2, 3, 17}, int64_t{-1}),
                                    {Shape{4, 1}, int64_t{1}},
                                    {Shape{5, 6, 7}, int64_t{1}},
                                    {Shape{33}, int64_t{0}},
                                    {Shape{700, 3, 8}, int64_t{-1}},
                                    {Shape{9000, 5}, int64_t{1}},
                                    {Shape{20, 40001}, int64_t{-1}}})
    for (const size_t outputs : {1, 2, 3})
      for (const int64_t centered : {0, 1}) {
        if (centered && shape.back() == 1) continue;  // of one element less its mean, rounding leaves a rest
        const Shape row(shape.dims().subspan(static_cast<size_t>(axis < 0 ? axis + int64_t(shape.rank()) : axis)));
        // Sums of thousands of numbers of both signs.
        const double tolerance = shape.elements() > 10000 ? 2e-4 : 2e-5;
        cases.push_back({"minnow.LayerNormalizationGradient",
                         {normal(shape, 1), normal(row, 2), normal(shape, 3)},
                         {{"axis", axis}, {"centered", centered}, {"epsilon", 1e-3f}},
                         {},
                         outputs,
                         tolerance});
      }
  for (const char* op : {"ReduceSum", "ReduceMean"})
    for (const auto& [shape, axes] :
         {std::pair(Shape{2, 17, 5, 7}, Ints{0, 2, 3}), {Shape{3, 33, 1}, Ints{0, -1}}, {Shape{1, 4, 90, 91}, Ints{3, 2, 0}}})
      for (const int64_t keep : {0, 1})
        cases.push_back({op, {normal(shape), Tensor::of_i64({int64_t(axes.size())}, axes)}, {{"keepdims", keep}}, {1}});

  const auto pool = [&](const Shape& x, const Attributes& attributes) {
    const Shape y = test::run_operator("MaxPool", {normal(x)}, attributes)[0].shape();
    Tensor with_ties = normal(x, 2);
    for (int64_t i = 0; i < x.elements(); ++i) {
      float& value = with_ties.writable().data<float>()[i];
      value = i % 97 == 3   ? std::numeric_limits<float>::quiet_NaN()
              : i % 89 == 5 ? -std::numeric_limits<float>::infinity()
                            : float(int(value));
    }
    for (const Tensor& image : {normal(x), with_ties}) cases.push_back({"minnow.MaxPoolGradient", {image, normal(y, 3)}, attributes});
  };
  pool({2, 17, 6, 7}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  pool({1, 33, 9, 8}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  pool({1, 5, 9, 8}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 3}}, {"ceil_mode", int64_t{1}}});
  pool({2, 16, 11}, {{"kernel_shape", Ints{3}}, {"dilations", Ints{2}}});
  pool({1, 20, 7, 7}, {{"kernel_shape", Ints{7, 7}}});

  for (const auto& [data, indices, depth] : {std::tuple(Shape{7, 33}, Shape{5, 2, 1}, size_t{1}),
                                             {Shape{4, 300}, Shape{200, 1}, size_t{1}},
                                             {Shape{3, 5, 2, 3}, Shape{9, 2}, size_t{2}},
                                             {Shape{6}, Shape{4, 1}, size_t{1}}}) {
    Tensor places(DType::i64, indices);
    for (int64_t i = 0; i < indices.elements(); ++i) places.writable().data<int64_t>()[i] = i * 7 % 6 - 3;
    Shape updates(indices.dims().first(indices.rank() - 1));
    for (size_t i = depth; i < data.rank(); ++i) updates.push_back(data[i]);
    cases.push_back({"ScatterND", {normal(data), places, normal(updates, 2)}, {{"reduction", std::string("add")}}});
  }

  // Several updates of one place, indices from the end, one line, and rows that threads share.
  for (const auto& [data, count, axis] : {std::tuple(Shape{7, 33}, int64_t{1}, int64_t{1}),
                                          {Shape{3, 5, 2, 3}, int64_t{4}, int64_t{1}},
                                          {Shape{6}, int64_t{9}, int64_t{0}},
                                          {Shape{5, 4}, int64_t{3}, int64_t{-2}},
                                          {Shape{40, 3000}, int64_t{2}, int64_t{-1}}}) {
    const size_t at = static_cast<size_t>(axis < 0 ? axis + int64_t(data.rank()) : axis);
    Shape shape = data;
    shape[at] = count;
    Tensor places(DType::i64, shape);
    for (int64_t i = 0; i < places.elements(); ++i) places.writable().data<int64_t>()[i] = i * 7 % data[at] - i % 2 * data[at];
    cases.push_back({"ScatterElements", {normal(data), places, normal(shape, 2)}, {{"axis", axis}, {"reduction", std::string("add")}}});
  }

  // {steps, batch, input, hidden}; the last is large enough to be shared by threads, the one before is multiplied in spans of steps.
  const std::array<int64_t, 4> sizes[] = {{1, 1, 1, 1},   {3, 2, 5, 17},  {4, 15, 3, 8}, {5, 1, 20, 33},
                                          {2, 3, 16, 16}, {29, 20, 2, 3}, {2, 2, 9, 160}};
  for (const char* cell : {"LSTM", "GRU", "RNN"})
    for (const auto& [steps, batch, input, hidden] : sizes)
      for (const char* direction : {"forward", "reverse", "bidirectional"})
        for (const int64_t option : {0, 1, 2, 3}) {  // 1: the batch first; 2: lengths, states, and gradients of the last states; relu (RNN)
          const bool lstm = cell[0] == 'L', gru = cell[0] == 'G', whole = option & 2;
          const int64_t d = direction[0] == 'b' ? 2 : 1, rows = (lstm ? 4 : gru ? 3 : 1) * hidden;
          const double sigma = 0.7 / std::sqrt(double(hidden));
          const Shape state = option & 1 ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
          std::vector<Tensor> inputs = {normal(option & 1 ? Shape{batch, steps, input} : Shape{steps, batch, input}),
                                        normal({d, rows, input}, 2, 0.5), normal({d, rows, hidden}, 3, sigma),
                                        normal({d, 2 * rows}, 4, 0.5)};
          Attributes attributes = {{"direction", std::string(direction)}, {"layout", option & 1}, {"linear_before_reset", int64_t{1}}};
          if (!gru) attributes.remove("linear_before_reset");
          if (cell[0] == 'R' && whole) attributes.set("activations", Strings(static_cast<size_t>(d), "Relu"));
          if (whole) {
            Tensor lengths(DType::i32, {batch});
            for (int64_t b = 0; b < batch; ++b)
              lengths.writable().data<int32_t>()[b] = static_cast<int32_t>((b + 2 * (batch == 1)) % (steps + 1));
            inputs.insert(inputs.end(), {batch > 1 ? lengths : Tensor(), normal(state, 5)});
            if (lstm) inputs.push_back(normal(state, 6));
          }
          const size_t states = lstm ? 2 : 1, kept = lstm ? 2 : gru ? 1 : 0;
          const std::vector<Tensor> made = test::run_operator(cell, inputs, attributes, 1 + states + kept);
          inputs.resize(14);
          inputs[8] = made[0];
          for (size_t i = 0; i < kept; ++i) inputs[9 + i] = made[1 + states + i];
          inputs[11] = normal(made[0].shape(), 7);
          for (size_t i = 0; i < states && whole; ++i) inputs[12 + i] = normal(state, unsigned(8 + i));
          attributes.set("cell", std::string(cell));
          cases.push_back({"minnow.RecurrentGradient", inputs, attributes, {}, lstm && whole ? size_t{6} : whole ? size_t{5} : size_t{4}});
          if (!lstm) continue;
          cases.push_back(cases.back());
          cases.back().inputs[9] = Tensor();  // gates, which are computed again
        }

  const auto filters = [&](const Shape& x, int64_t outputs, const Attributes& attributes) {
    const Ints& kernel = *attributes.get<Ints>("kernel_shape");
    Shape w{outputs, x[1] / *attributes.get<int64_t>("group")};
    for (const int64_t size : kernel) w.push_back(size);
    const Shape y = test::run_operator("Conv", {normal(x), normal(w)}, attributes)[0].shape();
    cases.push_back({"minnow.ConvWeightGradient", {normal(x), normal(y, 2)}, attributes});
  };
  filters({2, 17, 9, 11}, 33, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  filters({2, 64, 5, 7}, 72, conv({1, 1}, {2, 2}, {0, 0, 0, 0}));
  filters({3, 16, 14, 14}, 50, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  filters({1, 20, 7, 8}, 20, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  filters({1, 3, 21, 20}, 24, conv({7, 7}, {2, 2}, {3, 3, 3, 3}));
  filters({2, 4, 11, 9}, 9, conv({5, 5}, {3, 2}, {2, 4, 4, 2}));
  filters({1, 24, 9, 9}, 48, conv({3, 3}, {1, 1}, {2, 2, 2, 2}, 1, {2, 2}));
  filters({2, 64, 5, 5}, 96, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 2));
  filters({2, 5, 30}, 6, conv({3}, {1}, {1, 1}, 1, {1}));
  filters({8, 16, 3, 3}, 16, conv({5, 5}, {1, 1}, {2, 2, 2, 2}));
  filters({1, 16, 70, 65}, 16, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  filters({2, 33, 12, 12}, 33, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33));
  filters({1, 40, 13, 10}, 40, conv({5, 5}, {2, 2}, {2, 2, 1, 2}, 40));
  filters({2, 17, 19}, 17, conv({4}, {1}, {1, 3}, 17, {2}));

  for (const auto& [x, attributes] : {std::pair(Shape{2, 33, 12, 12}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 33)),
                                      {Shape{1, 40, 7, 5}, with(conv({5, 5}, {2, 2}, {2, 2, 2, 2}, 40), {{"output_padding", Ints{1, 0}}})},
                                      {Shape{2, 17, 6, 7}, conv({3, 3}, {2, 2}, {0, 1, 2, 1}, 17, {2, 1})},
                                      {Shape{2, 16, 9}, conv({3}, {3}, {0, 2}, 16, {1})}}) {
    Shape w{x[1], 1};
    for (const int64_t size : *attributes.get<Ints>("kernel_shape")) w.push_back(size);
    cases.push_back({"ConvTranspose", {normal(x), normal(w, 2)}, attributes});
  }

  // Weights that change from run to run, in forms that inference has with constant ones; a stride that is larger than the kernel.
  const auto changing = [&](const char* op, const Shape& x, const Shape& w, const Attributes& attributes) {
    const Tensor weights = normal(w, 2, 0.1);
    cases.push_back({op, {normal(x), weights}, attributes});
    cases.push_back({op, {normal(x), weights}, attributes, {1}});
  };
  for (const char* op : {"Conv", "ConvTranspose"}) {
    changing(op, {2, 33, 14, 13}, {33, 33, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
    changing(op, {1, 64, 7, 9}, {64, 64, 3, 3}, conv({3, 3}, {1, 1}, {1, 0, 2, 1}));
    changing(op, {1, 48, 9, 8}, {48, 48, 3, 3}, conv({3, 3}, {2, 2}, {1, 1, 1, 1}));
    changing(op, {1, 40, 9, 9}, {40, 40, 5, 5}, conv({5, 5}, {1, 1}, {2, 2, 2, 2}));
    changing(op, {1, 20, 12, 12}, {20, 20, 11, 12}, conv({11, 12}, {1, 1}, {5, 6, 5, 5}));
    changing(op, {2, 17, 5, 7}, {17, 17, 1, 1}, conv({1, 1}, {2, 2}, {0, 0, 0, 0}));
    changing(op, {1, 64, 8, 8}, {64, 32, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}, 2));
  }
  changing("ConvTranspose", {2, 33, 7, 6}, {33, 20, 1, 1}, with(conv({1, 1}, {2, 2}, {0, 0, 0, 0}), {{"output_padding", Ints{1, 1}}}));
  changing("ConvTranspose", {1, 16, 4, 4}, {16, 20, 1, 2}, with(conv({1, 2}, {3, 2}, {0, 0, 0, 0}), {{"output_padding", Ints{2, 0}}}));
#endif
  return cases;
}

}  // namespace minnow::cpu
