// SPDX-License-Identifier: Apache-2.0
#include "passes/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/numeric.h"
#include "graph/expr.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

class RandomSource {
 public:
  explicit RandomSource(const CompareOptions& options) : options_(options), engine_(options.seed) {}

  Datum datum(const Value& input, const ValueType& type) {
    if (type.kind == ValueType::Kind::optional) return {};
    if (type.kind == ValueType::Kind::sequence) {
      if (!type.element) throw Unsupported("input \"{}\" is of type {}: there are no random values of it", input.name(), to_string(type));
      return Datum::sequence(type.element_dtype(), {datum(input, *type.element), datum(input, *type.element)});
    }
    if (size_of(type.dtype) == 0)
      throw Unsupported("input \"{}\" is of type {}: there are no random values of it", input.name(), to_string(type));
    Shape shape;
    if (type.dims)
      for (const Dim& dim : *type.dims) shape.push_back(size_of_dim(dim));
    return tensor(type.dtype, shape);
  }

 private:
  int64_t size_of_dim(const Dim& dim) const {
    if (dim.known()) return dim.size;
    const auto found = options_.symbols.find(dim.symbol);
    return found != options_.symbols.end() ? found->second : options_.other_dims;
  }

  Tensor tensor(DType dtype, const Shape& shape) {
    Tensor made(dtype, shape);
    const size_t count = static_cast<size_t>(made.elements());
    void* out = made.writable().data();
    if (is_float(dtype)) {
      std::vector<double> values(count);
      std::normal_distribution<double> normal;
      for (double& value : values) value = normal(engine_);
      narrow(dtype, values.data(), count, out);
    } else {
      const bool whole_range = dtype == DType::u8 || dtype == DType::i8;
      std::uniform_int_distribution<int64_t> uniform(whole_range ? lowest_of(dtype) : 0, whole_range ? highest_of(dtype) : 1);
      std::vector<int64_t> values(count);
      for (int64_t& value : values) value = uniform(engine_);
      narrow(dtype, values.data(), count, out);
    }
    return made;
  }

  const CompareOptions& options_;
  std::mt19937_64 engine_;
};

std::vector<double> widened(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

struct Difference {
  double largest = 1, worst = 0;  // magnitude of the first tensor (at least 1), of the difference
  size_t place = 0;               // of the worst
  double expected = 0, actual = 0;
};

Difference difference(const Tensor& before, const Tensor& after) {
  const std::vector<double> a = widened(before), b = widened(after);
  Difference found;
  for (double value : a)
    if (std::isfinite(value)) found.largest = std::max(found.largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double apart = std::fabs(a[i] - b[i]);
    if (std::isnan(apart)) apart = std::numeric_limits<double>::infinity();
    if (apart > found.worst) found.worst = apart, found.place = i, found.expected = a[i], found.actual = b[i];
  }
  return found;
}

bool same_form(const Datum& a, const Datum& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!same_form(a.items[i], b.items[i])) return false;
  return a.kind != Datum::Kind::tensor || (a.tensor.dtype() == b.tensor.dtype() && a.tensor.shape() == b.tensor.shape());
}

/// `other` is the same output of the graph with changed roundings, in so many forms.
void compare_data(const std::string& what, const Datum& before, const Datum& after, std::span<const Datum* const> others,
                  double tolerance) {
  if (before.kind != after.kind || before.items.size() != after.items.size())
    throw InvalidModel("{} is of another kind or length after optimization", what);
  if (before.kind == Datum::Kind::tensor) {
    const Tensor &a = before.tensor, &b = after.tensor;
    if (!same_form(before, after))
      throw InvalidModel("{} is {}{}, after optimization {}{}", what, a.dtype(), a.shape(), b.dtype(), b.shape());
    const Difference found = difference(a, b);
    double allowed = tolerance * found.largest;
    for (const Datum* other : others)
      if (same_form(before, *other)) allowed = std::max(allowed, difference(a, other->tensor).worst);
    if (found.worst > allowed)
      throw InvalidModel("{} differs after optimization: element {} is {} instead of {}, a difference of {} would be allowed", what,
                         found.place, found.actual, found.expected, allowed);
  }
  for (size_t i = 0; i < before.items.size(); ++i) {
    std::vector<const Datum*> items;
    for (const Datum* other : others)
      if (same_form(before, *other)) items.push_back(&other->items[i]);
    compare_data(format("item {} of {}", i, what), before.items[i], after.items[i], items, tolerance);
  }
}

/// Changes every number x that the graph, or a graph within, rounds to an integer by up to `change` of itself: some up and some down, by
/// the sine of 37 x. (All by one factor would leave what DynamicQuantizeLinear makes of them.) False where there is none.
bool change_before_rounding(Graph& graph, double change) {
  bool found = false;
  for_each_graph(graph, [&](Graph& each) {
    for (Node& node : each.nodes()) {
      if (node.op() != "QuantizeLinear" && node.op() != "DynamicQuantizeLinear" && node.op() != "Round") continue;
      Value* x = node.input(0);
      if (!x || !is_float(x->type.dtype) || x->type.kind != ValueType::Kind::tensor) continue;
      GraphBuilder builder(each, &node);
      const Expr number = builder.wrap(x);
      node.set_input(0, (number + number * op("Sin", {number * 37.0}) * change).value());
      found = true;
    }
  });
  return found;
}

bool within(std::span<const Datum> a, std::span<const Datum> b, double tolerance) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_form(a[i], b[i])) return false;
    if (a[i].kind == Datum::Kind::tensor)
      if (const Difference found = difference(a[i].tensor, b[i].tensor); found.worst > tolerance * found.largest) return false;
    if (!within(a[i].items, b[i].items, tolerance)) return false;
  }
  return true;
}

}  // namespace

std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options) {
  RandomSource source(options);
  std::vector<Datum> inputs;
  for (const auto& input : graph.inputs()) inputs.push_back(source.datum(*input, input->type));
  return inputs;
}

void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, std::span<const Datum> inputs,
                    std::span<const Datum> expected, double tolerance) {
  const std::vector<Datum> actual = evaluate(operators, after, inputs);
  if (expected.size() != actual.size())
    throw InvalidModel("{}: there are {} outputs, after optimization {}", before.source, expected.size(), actual.size());
  std::vector<std::vector<Datum>> changed;
  if (!within(expected, actual, tolerance))
    for (const double change : {tolerance, -tolerance}) {
      const std::unique_ptr<Graph> other = before.clone();
      infer_types(operators, *other);
      if (change_before_rounding(*other, change)) changed.push_back(evaluate(operators, *other, inputs));
    }
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<const Datum*> others;
    for (const std::vector<Datum>& each : changed) others.push_back(&each[i]);
    compare_data(format("{}: output \"{}\"", before.source, before.outputs()[i]->name()), expected[i], actual[i], others, tolerance);
  }
}

void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options) {
  const std::vector<Datum> inputs = random_inputs(before, options);
  compare_graphs(operators, before, after, inputs, evaluate(operators, before, inputs), options.tolerance);
}

}  // namespace minnow
