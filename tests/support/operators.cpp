// SPDX-License-Identifier: Apache-2.0
#include "support/operators.h"

#include <cctype>
#include <cmath>

#include "base/numeric.h"
#include "ops/evaluate.h"
#include "support/shape_rules.h"

namespace minnow::test {
namespace {

std::vector<Tensor> run(const OperatorSet& operators, std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                        size_t outputs) {
  Graph graph;
  graph.source = "test";
  std::vector<Value*> values;
  std::vector<Datum> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      values.push_back(nullptr);
      continue;
    }
    values.push_back(&graph.add_input("in" + std::to_string(i), ValueType::tensor(inputs[i].dtype(), inputs[i].shape())));
    given.emplace_back(inputs[i]);
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back("out" + std::to_string(i));
  Node& node = graph.add_node(op, values, names, attributes, "node");
  for (size_t i = 0; i < outputs; ++i) graph.add_output(*node.output(i));
  std::vector<Tensor> results;
  const auto observe = [&](const Node& each, std::span<const Datum> from, std::span<Datum> to) {
    EXPECT_TRUE(symbolic_rule_agrees(*operators.find(each.op()), each, from, to));
  };
  for (Datum& datum : evaluate(operators, graph, given, observe)) results.push_back(datum.tensor);
  return results;
}

}  // namespace

std::vector<Tensor> run_operator(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes, size_t outputs) {
  return run(OperatorSet::builtin(), op, inputs, attributes, outputs);
}

std::vector<Tensor> run_decomposition(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                                      size_t outputs) {
  const Operator* found = OperatorSet::builtin().find(op);
  if (!found || !found->decompose) throw std::invalid_argument(std::string(op) + " has no decomposition");
  Operator without_reference = *found;
  without_reference.reference = nullptr;
  OperatorSet operators;
  for (const Operator* other : OperatorSet::builtin().list()) operators.add(other == found ? without_reference : *other);
  return run(operators, op, inputs, attributes, outputs);
}

std::string error_of(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes, size_t outputs) {
  try {
    run_operator(op, inputs, attributes, outputs);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor made(dtype, shape);
  if (static_cast<size_t>(made.elements()) != values.size()) throw std::invalid_argument("a tensor of another number of elements");
  narrow(dtype, values.data(), values.size(), made.writable().data());
  return made;
}

Tensor pattern(const Shape& shape, int64_t step, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((static_cast<int64_t>(i) * step + 3) % 11 - 5) / 4;
  return tensor(dtype, shape, values);
}

Tensor ints(const Ints& values) { return Tensor::of_i64({static_cast<int64_t>(values.size())}, values); }

Attributes along(int64_t axis) { return {{"axis", axis}}; }

Tensor truth(bool value) { return tensor(DType::boolean, {}, {value ? 1.0 : 0.0}); }

std::vector<float> floats(const Tensor& tensor) { return {tensor.data<float>(), tensor.data<float>() + tensor.elements()}; }

std::string name_of_operator(const testing::TestParamInfo<const Operator*>& info) {
  std::string name(info.param->name);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

testing::AssertionResult near(const Tensor& actual, const Shape& shape, const std::vector<double>& expected, double tolerance) {
  if (actual.shape() != shape)
    return testing::AssertionFailure() << "shape " << to_string(actual.shape()) << ", expected " << to_string(shape);
  const std::vector<double> values = numbers(actual);
  if (values.size() != expected.size()) return testing::AssertionFailure() << values.size() << " elements, expected " << expected.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const double a = values[i], b = expected[i];
    const bool equal = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) <= tolerance * std::fmax(1, std::fabs(b))
                                                            : a == b || (std::isnan(a) && std::isnan(b));
    if (!equal) return testing::AssertionFailure() << "element " << i << " of " << to_string(shape) << " is " << a << ", expected " << b;
  }
  return testing::AssertionSuccess();
}

}  // namespace minnow::test
