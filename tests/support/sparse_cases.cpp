// SPDX-License-Identifier: Apache-2.0
// Convolutions and products whose weights are mostly zero, in blocks and one by one.
#include "support/scheme_cases.h"

#include <cmath>

#include "support/operators.h"

namespace minnow::cpu {
namespace {

/// Keeps one of `each` blocks of `height` neighbours along the outputs. `output`: the step from one output to the next, of `outputs`.
Tensor sparse(Tensor w, size_t outputs, size_t output, size_t height, size_t each, unsigned seed) {
  float* data = w.writable().data<float>();
  for (size_t i = 0; i < static_cast<size_t>(w.elements()); ++i) {
    const size_t o = i / output % outputs, place = i % output + i / (output * outputs) * output;
    if ((place * 2654435761U + o / height * 40503U + seed) / 64 % each != 0) data[i] = 0;
  }
  return w;
}

/// As integers, so that sums are exact and rounding has one result.
Tensor whole(const Tensor& tensor) {
  Tensor made = tensor.clone();
  for (float& value : std::span(made.writable().data<float>(), static_cast<size_t>(made.elements()))) value = std::nearbyint(8 * value);
  return made;
}
Tensor factors_of(int64_t channels) {
  Tensor scale(DType::f32, {channels});
  for (int64_t i = 0; i < channels; ++i) scale.writable().data<float>()[i] = 0.5f + 0.1f * static_cast<float>(i % 7);
  return scale;
}

// The root of the mean square is about 13: results may be a step away, where sums of Winograd are on the other side of a tie.
constexpr double kOneStep = 0.1;

}  // namespace

std::vector<SchemeCase> sparse_cases() {
  std::vector<SchemeCase> cases;
  const auto add = [&](const Shape& x, const Shape& w_shape, const Attributes& attributes) {
    const size_t outputs = static_cast<size_t>(w_shape[0]), step = static_cast<size_t>(w_shape.product(1, w_shape.rank()));
    for (const size_t height : {1, 4, 16}) {
      const Tensor w = sparse(normal(w_shape, 2, 2 / std::sqrt(double(step))), outputs, step, height, 5, 1);
      cases.push_back({"Conv", {normal(x), w, normal({w_shape[0]}, 3)}, attributes, {1, 2}});
      cases.push_back({"Conv", {normal(x), w}, attributes, {1}});
      cases.push_back({"minnow.FusedConv",
                       {whole(normal(x)), whole(w), whole(normal({w_shape[0]}, 3)), {}, factors_of(w_shape[0])},
                       with(attributes, {{"activation", std::string("Clip")}, {"activation_alpha", -20.0f}, {"activation_beta", 30.0f}}),
                       {1, 2, 4},
                       1,
                       kOneStep,
                       kOneStep});
      const Shape y = test::run_operator("Conv", {normal(x), w}, attributes)[0].shape();
      for (const char* name : {"Relu", "HardSwish"})
        cases.push_back({"minnow.FusedConv",
                         {normal(x), w, normal({w_shape[0]}, 3), normal(y, 4)},
                         with(attributes, {{"activation", std::string(name)}}),
                         {1, 2}});
    }
  };
  add({1, 17, 9, 11}, {33, 17, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({2, 64, 5, 7}, {72, 64, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({1, 200, 30, 31}, {130, 200, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({3, 40, 1, 1}, {50, 40, 1, 1}, conv({1, 1}, {1, 1}, {0, 0, 0, 0}));
  add({1, 24, 13, 12}, {20, 24, 1, 1}, conv({1, 1}, {2, 2}, {0, 0, 0, 0}));
  add({1, 24, 5, 6}, {20, 24, 1, 1}, conv({1, 1}, {1, 1}, {1, 2, 0, 3}));
  add({2, 16, 14, 14}, {32, 16, 3, 3}, conv({3, 3}, {1, 1}, {1, 1, 1, 1}));
  add({1, 20, 40, 37}, {20, 20, 3, 3}, conv({3, 3}, {2, 2}, {0, 1, 1, 1}));
  add({2, 18, 11, 9}, {19, 18, 5, 5}, conv({5, 5}, {2, 3}, {2, 1, 1, 2}));
  add({1, 24, 19, 19}, {48, 24, 3, 3}, conv({3, 3}, {1, 1}, {2, 2, 2, 2}, 1, {2, 2}));
  add({1, 17, 6, 13}, {16, 17, 1, 7}, conv({1, 7}, {1, 1}, {0, 3, 0, 3}));
  add({2, 16, 30}, {16, 16, 3}, conv({3}, {1}, {1, 1}, 1, {1}));
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 64, 100}, {3, 70, 33}, {5, 90, 61}, {100, 130, 50}, {33, 200, 200}})
    for (const int64_t transposed : {0, 1})
      for (const size_t height : {1, 4}) {
        const Shape shape = transposed ? Shape{n, k} : Shape{k, n};
        const Tensor b = sparse(normal(shape, 2, 2 / std::sqrt(double(k))), static_cast<size_t>(n), static_cast<size_t>(transposed ? k : 1),
                                height, 5, 3);
        const Attributes factors = {{"transB", transposed}, {"alpha", 1.5f}, {"beta", 0.5f}};
        cases.push_back({"Gemm", {normal({m, k}), b, normal({n}, 3)}, factors, {1, 2}});
        cases.push_back({"Gemm", {normal({m, k}), b}, factors, {1}});
        cases.push_back({"minnow.FusedMatMul",
                         {normal({m, k}), b, normal({n}, 3), normal({m, n}, 4)},
                         {{"transB", transposed}, {"alpha", 0.5f}, {"activation", std::string("Gelu")}},
                         {1, 2}});
        cases.push_back({"minnow.FusedMatMul",
                         {whole(normal({m, k})), whole(b), whole(normal({n}, 3)), {}, factors_of(n)},
                         {{"transB", transposed}, {"activation", std::string("Relu")}},
                         {1, 2, 4}});
        if (!transposed) cases.push_back({"MatMul", {normal({2, m, k}), b}, {}, {1}});
      }
  // Nothing but zeros.
  cases.push_back({"Conv", {normal({1, 16, 5, 5}), Tensor(DType::f32, {16, 16, 3, 3}), normal({16}, 3)}, {}, {1, 2}});
  cases.push_back({"MatMul", {normal({20, 30}), Tensor(DType::f32, {30, 40})}, {}, {1}});
  return cases;
}

}  // namespace minnow::cpu
