// SPDX-License-Identifier: Apache-2.0
// Products of matrices, recurrences, attention.
#include "support/scheme_cases.h"

#include <array>
#include <cmath>

#include "support/operators.h"

namespace minnow::cpu {

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
  // One column, in rows that are cut and rows that are not.
  for (int64_t k : {1, 70, 140'000}) {
    const Attributes factors = {{"transB", int64_t{1}}, {"alpha", 1.5f}, {"beta", 0.5f}};
    cases.push_back({"Gemm", {normal({6, k}), normal({1, k}, 2), normal({1}, 3)}, factors});
    cases.push_back({"Gemm", {normal({6, k}), normal({k, 1}, 2), normal({6, 1}, 3)}, {}, {1}});
    cases.push_back({"MatMul", {normal({2, 3, k}), normal({k}, 2)}});
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
#if MINNOW_GRADIENTS
            if (lstm || gru) cases.push_back({op, ragged, attributes, {}, lstm ? size_t{5} : size_t{3}});
#endif
          }
          // Sums before the gates are of deviation 3 and more, and the state of one step is rounded for the next.
          cases.push_back({op, inputs, attributes, constants, lstm ? size_t{3} : size_t{2}, 2e-5, 0.08});
          cases.push_back({op, inputs, attributes, {}, lstm ? size_t{3} : size_t{2}});
#if MINNOW_GRADIENTS
          if (lstm || gru) cases.push_back({op, inputs, attributes, {}, lstm ? size_t{5} : size_t{3}});
#endif
        }
  // Weights of 8 bits. A state that lies on the border between two integers may be rounded either way, so that later steps differ a little.
  for (const char* op : {"minnow.QuantizedLSTM", "minnow.QuantizedGRU"})
    for (const auto& [steps, batch, input, hidden] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                                      {1, 3, 40, 33},
                                                      {1, 1, 70, 96},
                                                      {3, 2, 5, 17},
                                                      {4, 35, 3, 20},
                                                      {5, 1, 40, 33},
                                                      {2, 3, 16, 16},
                                                      {3, 1, 30, 400}})
      for (const char* direction : {"forward", "reverse", "bidirectional"})
        for (int64_t option : {0, 1, 2, 3}) {  // batch first; linear before reset (GRU), no biases and states (LSTM)
          const bool lstm = op[16] == 'L', batch_first = option & 1;
          const int64_t d = direction[0] == 'b' ? 2 : 1, rows = (lstm ? 4 : 3) * hidden;
          const Shape state = batch_first ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
          const auto integers = [d = d, rows = rows](int64_t depth) {
            Tensor made(DType::i8, {d, rows, depth});
            for (int64_t i = 0; i < made.elements(); ++i) made.writable().data<int8_t>()[i] = static_cast<int8_t>(i * i * 37 % 255 - 127);
            return made;
          };
          const auto steps_of = [d = d, rows = rows](int64_t depth, unsigned seed) {
            Tensor made = normal({d, rows, 1}, seed, 0.2 / 70 / std::sqrt(double(depth)));
            for (float& step : std::span(made.writable().data<float>(), size_t(d * rows))) step = std::fabs(step) + 1e-5F;
            return made;
          };
          std::vector<Tensor> inputs = {normal(batch_first ? Shape{batch, steps, input} : Shape{steps, batch, input}), integers(input),
                                        integers(hidden)};
          inputs.resize(lstm ? 7 : 6);
          std::vector<size_t> constants = {1, 2, lstm ? size_t{7} : size_t{6}, lstm ? size_t{8} : size_t{7}};
          if (!lstm || option < 2) {
            inputs[3] = normal({d, 2 * rows}, 4), inputs[5] = normal(state, 5);
            if (lstm) inputs[6] = normal(state, 6);
            constants.push_back(3);
          }
          inputs.insert(inputs.end(), {steps_of(input, 7), steps_of(hidden, 8)});
          const Attributes attributes = {{"direction", std::string(direction)}, {"layout", int64_t{batch_first}}, {"hidden_size", hidden}};
          const size_t outputs = lstm ? 3 : 2;
          const double tolerance = steps == 1 ? 2e-5 : 2e-3;
          cases.push_back(
              {op, inputs, lstm ? attributes : with(attributes, {{"linear_before_reset", option >> 1}}), constants, outputs, tolerance});
          if (option >= 2 || batch == 1) continue;
          Tensor lengths(DType::i32, {batch});  // empty ones too
          for (int64_t b = 0; b < batch; ++b) lengths.writable().data<int32_t>()[b] = static_cast<int32_t>(b % (steps + 1));
          inputs[4] = lengths;
          cases.push_back({op, inputs, attributes, constants, outputs, tolerance});
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
                                          {1, 1, 1, 300, 100, 20, 16, 0}, {2, 4, 2, 3, 3, 70, 67, 9}};
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

}  // namespace minnow::cpu
