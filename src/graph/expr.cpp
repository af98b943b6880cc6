// SPDX-License-Identifier: Apache-2.0
#include "graph/expr.h"

#include "base/error.h"
#include "base/numeric.h"

namespace minnow {

Exprs GraphBuilder::ops(std::string_view name, ListView<Expr> inputs, size_t outputs, const AttributeList& attributes) {
  std::vector<Value*> values;
  for (const Expr& input : inputs) values.push_back(input.value());
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(graph_->fresh_name(stem_.empty() ? name : std::string_view(stem_)));
  Node& node = graph_->add_node(name, values, names, attributes.copy(), stem_.empty() ? std::string() : stem_, before_);
  Exprs made;
  for (size_t i = 0; i < outputs; ++i) {
    // A first guess of the dtype, right for most operators, so that numbers can follow it before inference has run.
    node.output(i)->type.dtype = inputs.empty() || !inputs[0] ? DType::undefined : inputs[0].value()->type.dtype;
    made.push_back(wrap(node.output(i)));
  }
  return made;
}

Expr GraphBuilder::op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes) {
  return ops(name, inputs, 1, attributes)[0];
}

Expr GraphBuilder::constant(Tensor tensor) {
  if (tensor.dtype() == DType::undefined) throw InvalidModel("a constant beside a value needs the value's dtype, which is not known");
  return wrap(&graph_->add_constant(std::move(tensor)));
}
Expr GraphBuilder::constant(ListView<int64_t> ints) { return constant(Tensor::of_i64({static_cast<int64_t>(ints.size())}, ints)); }

Expr GraphBuilder::scalar(double value, DType dtype) {
  Tensor tensor(dtype, Shape{});
  if (is_float(dtype)) {
    narrow(dtype, &value, 1, tensor.writable().data());
  } else {
    const int64_t integer = truncate(value);
    narrow(dtype, &integer, 1, tensor.writable().data());
  }
  return constant(std::move(tensor));
}

Expr GraphBuilder::scalar_like(double value, const Expr& like) {
  const DType dtype = like.value()->type.dtype;
  MINNOW_CHECK(dtype != DType::undefined, "a number beside an expression takes its dtype, which must be known");
  return scalar(value, dtype);
}

Expr op(std::string_view name, ListView<Expr> inputs, const AttributeList& attributes) {
  for (const Expr& input : inputs)
    if (input) return input.builder().op(name, inputs, attributes);
  throw InternalError("op(\"{}\") needs an input that tells its graph", name);
}

Expr operator+(const Expr& a, const Expr& b) { return op("Add", {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return op("Sub", {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return op("Mul", {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return op("Div", {a, b}); }
Expr operator-(const Expr& a) { return op("Neg", {a}); }
Expr operator+(const Expr& a, double b) { return a + a.builder().scalar_like(b, a); }
Expr operator-(const Expr& a, double b) { return a - a.builder().scalar_like(b, a); }
Expr operator*(const Expr& a, double b) { return a * a.builder().scalar_like(b, a); }
Expr operator/(const Expr& a, double b) { return a / a.builder().scalar_like(b, a); }
Expr operator+(double a, const Expr& b) { return b.builder().scalar_like(a, b) + b; }
Expr operator-(double a, const Expr& b) { return b.builder().scalar_like(a, b) - b; }
Expr operator*(double a, const Expr& b) { return b.builder().scalar_like(a, b) * b; }
Expr operator/(double a, const Expr& b) { return b.builder().scalar_like(a, b) / b; }
Expr operator>=(const Expr& a, double b) {
  const Expr result = op("GreaterOrEqual", {a, a.builder().scalar_like(b, a)});
  result.value()->type.dtype = DType::boolean;
  return result;
}
Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  const Expr result = op("Where", {condition, a, b});
  result.value()->type.dtype = a.value()->type.dtype;
  return result;
}
Expr cast(const Expr& x, DType dtype) {
  const Expr result = op("Cast", {x}, {{"to", static_cast<int64_t>(dtype)}});
  result.value()->type.dtype = dtype;
  return result;
}

}  // namespace minnow
