// SPDX-License-Identifier: Apache-2.0
#include "passes/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/numeric.h"
#include "ops/evaluate.h"

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

void compare_tensors(const std::string& what, const Tensor& before, const Tensor& after, double tolerance) {
  if (before.dtype() != after.dtype() || before.shape() != after.shape())
    throw InvalidModel("{} is {}{}, after optimization {}{}", what, before.dtype(), before.shape(), after.dtype(), after.shape());
  const std::vector<double> a = widened(before), b = widened(after);
  double largest = 1, worst = 0;
  size_t place = 0;
  for (double value : a)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double difference = std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > worst) worst = difference, place = i;
  }
  if (worst > tolerance * largest)
    throw InvalidModel("{} differs after optimization: element {} is {} instead of {}, the largest magnitude is {}", what, place, b[place],
                       a[place], largest);
}

void compare_data(const std::string& what, const Datum& before, const Datum& after, double tolerance) {
  if (before.kind != after.kind || before.items.size() != after.items.size())
    throw InvalidModel("{} is of another kind or length after optimization", what);
  if (before.kind == Datum::Kind::tensor) compare_tensors(what, before.tensor, after.tensor, tolerance);
  for (size_t i = 0; i < before.items.size(); ++i)
    compare_data(format("item {} of {}", i, what), before.items[i], after.items[i], tolerance);
}

}  // namespace

std::vector<Datum> random_inputs(const Graph& graph, const CompareOptions& options) {
  RandomSource source(options);
  std::vector<Datum> inputs;
  for (const auto& input : graph.inputs()) inputs.push_back(source.datum(*input, input->type));
  return inputs;
}

void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, std::span<const Datum> inputs,
                    double tolerance) {
  const std::vector<Datum> expected = evaluate(operators, before, inputs), actual = evaluate(operators, after, inputs);
  if (expected.size() != actual.size())
    throw InvalidModel("{}: there are {} outputs, after optimization {}", before.source, expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i)
    compare_data(format("{}: output \"{}\"", before.source, before.outputs()[i]->name()), expected[i], actual[i], tolerance);
}

void compare_graphs(const OperatorSet& operators, const Graph& before, const Graph& after, const CompareOptions& options) {
  compare_graphs(operators, before, after, random_inputs(before, options), options.tolerance);
}

}  // namespace minnow
