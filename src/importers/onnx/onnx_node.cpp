// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/onnx_node.h"

#include <algorithm>

#include "ops/infer.h"
#include "ops/operator.h"

namespace minnow::onnx {
namespace {

template <class T>
T attribute_or(const OnnxNode& node, std::string_view name, const T& fallback) {
  const AttributeValue* value = node.attributes.find(name);
  if (!value) return fallback;
  const T* typed = std::get_if<T>(value);
  if (!typed) node.fail("attribute \"{}\" has the wrong type", name);
  return *typed;
}

bool keeps_rank(std::string_view op) {
  static constexpr std::string_view kOps[] = {"Abs",         "Add",           "AveragePool", "BatchNormalization",
                                              "Cast",        "Ceil",          "Clip",        "Concat",
                                              "Conv",        "ConvTranspose", "Div",         "Dropout",
                                              "Elu",         "Exp",           "Gelu",        "GlobalAveragePool",
                                              "HardSigmoid", "HardSwish",     "Identity",    "LRN",
                                              "LeakyRelu",   "LogSoftmax",    "MaxPool",     "Mul",
                                              "Neg",         "PRelu",         "Pad",         "Relu",
                                              "Sigmoid",     "Slice",         "Softmax",     "Softplus",
                                              "Sqrt",        "Sub",           "Sum",         "Tanh",
                                              "Transpose"};
  return std::binary_search(std::begin(kOps), std::end(kOps), op);
}

}  // namespace

int64_t OnnxNode::integer(std::string_view name, int64_t fallback) const { return attribute_or(*this, name, fallback); }
float OnnxNode::real(std::string_view name, float fallback) const { return attribute_or(*this, name, fallback); }
std::string OnnxNode::text(std::string_view name, std::string_view fallback) const {
  return attribute_or(*this, name, std::string(fallback));
}
Ints OnnxNode::integers(std::string_view name) const { return attribute_or(*this, name, Ints()); }
Floats OnnxNode::reals(std::string_view name) const { return attribute_or(*this, name, Floats()); }

Exprs OnnxNode::copy(std::string_view as) { return make(as, inputs, attributes); }

Exprs OnnxNode::make(std::string_view as, const Exprs& with_inputs, Attributes with_attributes) {
  if (outputs.empty()) fail("has no outputs");
  Graph& graph = builder_->graph();
  std::vector<Value*> values;
  for (const Expr& input : with_inputs) values.push_back(input.value());
  std::vector<std::string> names;
  for (const std::string& output : outputs) names.push_back(output.empty() ? std::string() : graph.fresh_name(output));
  const auto first = std::find_if(outputs.begin(), outputs.end(), [](const std::string& output) { return !output.empty(); });
  const bool named_by_output = name.empty() && first != outputs.end();
  Node& made = graph.add_node(as, values, names, std::move(with_attributes), named_by_output ? *first : name);
  infer_types(*operators_, made);  // its errors call the node as the file does
  if (named_by_output) made.rename({});
  Exprs exprs;
  for (size_t i = 0; i < made.output_count(); ++i) exprs.push_back(builder_->wrap(made.output(i)));
  return exprs;
}

void OnnxNode::integers_to_input(std::string_view attribute, size_t i) {
  if (!has_attribute(attribute)) return;
  const Ints values = integers(attribute);
  if (inputs.size() <= i) inputs.resize(i + 1);
  if (inputs[i]) fail("has both attribute \"{}\" and input {}", attribute, i);
  inputs[i] = builder_->constant(values);
  attributes.remove(attribute);
}

int64_t OnnxNode::rank(const Expr& x) const {
  const Value* value = x.value();
  for (int step = 0; value && step < 64; ++step) {
    if (value->type.dims) return static_cast<int64_t>(value->type.dims->size());
    const Node* made = value->producer();
    if (!made) return -1;
    if (made->op() == "Gemm" || made->op() == "Flatten") return 2;
    if (made->op() == "Reshape" && made->input(1) && made->input(1)->type.is_static() && made->input(1)->type.dims->size() == 1)
      return (*made->input(1)->type.dims)[0].size;
    if (!keeps_rank(made->op())) return -1;
    // With broadcasting the larger rank wins, so a constant vector or scalar says nothing about the rank.
    const Value* next = made->input(0);
    if (made->input_count() > 1 && next && next->constant()) next = made->input(1);
    if (made->op() == "Add" || made->op() == "Mul" || made->op() == "Sub" || made->op() == "Div" || made->op() == "Sum") {
      const Value* other = next == made->input(0) ? made->input(1) : made->input(0);
      if (!other || !other->constant()) return -1;
    }
    value = next;
  }
  return -1;
}

Expr OnnxNode::scalar_like(double value, const Expr& like) const {
  if (dtype(like) != DType::undefined) return builder_->scalar_like(value, like);
  return builder_->op("CastLike", {builder_->scalar(value), like});
}

}  // namespace minnow::onnx
