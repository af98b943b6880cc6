// SPDX-License-Identifier: Apache-2.0
// Gradients through sequences and optionals, in f64, against central differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "express/support.h"
#include "graph/graph.h"
#include "runtime/model.h"
#include "support/operators.h"

namespace minnow::test {
namespace {

using expr::op;

Var integer(int64_t value) { return Var(Tensor::scalar_i64(value)); }
Var integers(const std::vector<int64_t>& values) { return Var(Tensor::of_i64({static_cast<int64_t>(values.size())}, values)); }

Tensor numbers_of(const Shape& shape) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.3 + std::sin(static_cast<double>(7 * i + 1));
  return tensor(DType::f64, shape, values);
}

/// Compares the gradient of sum(weights * f(x)) with differences.
void check(const Shape& shape, const std::function<Var(const Var&)>& f) {
  const auto loss_of = [&](const Var& x) {
    const Var y = f(x);
    return sum(y * y * y);
  };
  const Tensor at = numbers_of(shape);
  const Var x = expr::trainable(at.clone());
  const std::vector<double> found = numbers(expr::gradients(loss_of(x), {x})[0]);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto moved = [&](double step) {
      Tensor changed = at.clone();
      changed.writable().data<double>()[i] += step;
      return numbers(loss_of(Var(changed)))[0];
    };
    const double expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    EXPECT_NEAR(found[i], expected, 1e-7 * std::max(1.0, std::fabs(expected))) << "element " << i;
  }
}

TEST(SequenceGradient, elements_of_a_constructed_sequence) {
  check({2, 3}, [](const Var& x) {
    const Var list = op("SequenceConstruct", {x, x * x, x * 3.0});
    return op("SequenceAt", {list, integer(1)}) * op("SequenceAt", {list, integer(-1)}) + op("SequenceAt", {list, integer(0)});
  });
}

TEST(SequenceGradient, tensors_that_are_put_in_and_taken_out) {
  check({3}, [](const Var& x) {
    Var list = op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(DType::f64)}});
    list = op("SequenceInsert", {list, x});
    list = op("SequenceInsert", {list, x * x});
    list = op("SequenceInsert", {list, x + 2.0, integer(0)});
    list = op("SequenceInsert", {list, x * 5.0, integer(-1)});
    list = op("SequenceErase", {op("Identity", {list}), integer(1)});
    const Var joined = op("ConcatFromSequence", {list}, {{"axis", int64_t{0}}});
    return joined * sum(op("ConcatFromSequence", {op("SequenceErase", {list})}, {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}}));
  });
}

TEST(SequenceGradient, a_tensor_that_is_split) {
  for (const int64_t axis : {0, -1})
    for (const Var& parts : {Var(), integer(2), integers({1, 4})})
      for (const int64_t keeps : {0, 1})
        check({5, 5}, [&](const Var& x) {
          const Var list = op("SplitToSequence", {x * x, parts}, {{"axis", axis}, {"keepdims", keeps}});
          return op("SequenceAt", {list, integer(1)}) * op("ReduceSum", {op("SequenceAt", {list, integer(-2)})});
        });
}

Var applied(const char* text, const Vars& inputs) { return expr::apply(Model::from_graph(parse_graph(text), nullptr), inputs)[0]; }

TEST(SequenceGradient, a_graph_for_each_tensor) {
  const char* const text = R"(graph {
    input x: f64[4, 3]
    input w: f64[3]
    rows = SplitToSequence(x) {axis = 0, keepdims = 0}
    scaled, halves = SequenceMap(rows, rows, w) {body = graph {
      input a: f64[3]
      input b: f64[3]
      input v: f64[3]
      product = Mul(a, v)
      pieces = SequenceConstruct(product, b)
      const last = i64[] 1
      piece = SequenceAt(pieces, last)
      scaled = Mul(product, piece)
      half = Mul(a, w)
      output scaled
      output half
    }}
    joined = ConcatFromSequence(scaled) {axis = 1, new_axis = 1}
    const second = i64[] 1
    one = SequenceAt(halves, second)
    turned = Transpose(joined) {perm = [1, 0]}
    y = Add(turned, one)
    output y
  })";
  check({4, 3}, [&](const Var& x) { return applied(text, {x, Var(numbers_of({3}))}); });
  check({3}, [&](const Var& w) { return applied(text, {Var(numbers_of({4, 3})), w}); });
}

TEST(SequenceGradient, sequences_in_the_body_of_a_loop) {
  const char* const text = R"(graph {
    input x: f64[4]
    const count = i64[] 3
    const yes = bool[] 1
    last = Loop(count, yes, x) {body = graph {
      input i: i64[]
      input c: bool[]
      input v: f64[4]
      const two = i64[] 2
      const first = i64[] 0
      const again = bool[] 1
      parts = SplitToSequence(v, two) {axis = 0}
      part = SequenceAt(parts, first)
      sines = Sin(part)
      more = SequenceInsert(parts, sines)
      shorter = SequenceErase(more, first)
      joined = ConcatFromSequence(shorter) {axis = 0}
      next = Mul(joined, x)
      output again
      output next
    }}
    output last
  })";
  check({4}, [&](const Var& x) { return applied(text, {x}); });
}

TEST(SequenceGradient, optionals) {
  check({3}, [](const Var& x) { return op("OptionalGetElement", {op("Optional", {x * x})}) * op("OptionalGetElement", {x}); });
  check({3}, [](const Var& x) {
    const Var list = op("OptionalGetElement", {op("Optional", {op("SequenceConstruct", {x, x * x})})});
    return op("SequenceAt", {list, integer(1)});
  });
}

TEST(SequenceGradient, a_place_that_is_known_late_is_an_error) {
  const Var x = expr::trainable(numbers_of({2})), place = expr::placeholder("place", DType::i64, {});
  const Var y = op("SequenceAt", {op("SequenceConstruct", {x, x * x}), place});
  EXPECT_THAT(error_of([&] { expr::gradients(sum(y), {x}); }), testing::HasSubstr("needs its length and the places"));
}

}  // namespace
}  // namespace minnow::test
