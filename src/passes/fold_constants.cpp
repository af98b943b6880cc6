// SPDX-License-Identifier: Apache-2.0
// Nodes whose inputs are all known are computed now.
#include <algorithm>

#include "ops/evaluate.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

// Results up to this size are stored even if the graph grows.
// A larger result, and weights from a palette, are stored only if they replace as many bytes of constants.
constexpr size_t kSmallBytes = 64 * 1024;

/// True for parameters, and for values that would replace one, in graphs that will be trained.
bool is_parameter(const Value& value) { return is_float(value.type.dtype); }

bool all_known(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input(i) && !node.input(i)->constant()) return false;
  return true;
}

/// A float that a convolution or a product of quantized tensors adds: fuse_quantized wants it in 32-bit integers.
bool is_quantized_bias(const Node& node) {
  const Value* output = node.output(0);
  return std::any_of(output->uses().begin(), output->uses().end(), [](const Use& use) {
    return use.input >= 1 && made_by(use.node->input(0), "DequantizeLinear") && made_by(use.node->input(1), "DequantizeLinear");
  });
}

bool may_fold(const Node& node, const PassContext& context) {
  if (!ConstantEvaluator(context.operators()).may_compute(node) || !all_known(node)) return false;
  if (node.op() == "DequantizeLinear") {  // a quantized constant is never widened
    if (node.input(0)->type.dtype != DType::i32 || is_quantized_bias(node)) return false;
  }
  if (context.keeps_parameters())
    for (size_t i = 0; i < node.input_count(); ++i)
      if (node.input(i) && is_parameter(*node.input(i))) return false;
  return true;
}

/// Bytes of constants that will not be needed any more once everything that can be folded is folded.
size_t bytes_freed(const Node& node, const PassContext& context) {
  size_t bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (!input || input->is_graph_output()) continue;
    constexpr size_t kMostUsers = 64;  // looking at each would take quadratic time where a constant has very many
    if (input->uses().size() > kMostUsers) continue;
    // A constant goes once, however often the node reads it.
    if (std::all_of(input->uses().begin(), input->uses().end(),
                    [&](const Use& use) { return use.node == &node ? use.input >= i : may_fold(*use.node, context); }))
      bytes += stored_bytes(input->constant()->dtype(), input->constant()->shape());
  }
  return bytes;
}

/// A weight in another form keeps its name, if the other form is the only one: patterns of names choose weights.
std::string name_of_result(Graph& graph, const Node& node, const Tensor& result) {
  Value* weight = nullptr;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (Value* input = node.input(i);
        input && is_float(input->type.dtype) && (!weight || input->constant()->elements() > weight->constant()->elements()))
      weight = input;
  if (node.output_count() != 1 || !weight || !is_float(result.dtype()) || result.elements() < 2 || weight->uses().size() != 1 ||
      weight->is_graph_output() || &weight->graph() != &graph)
    return {};
  std::string name = weight->name();
  weight->rename(graph.fresh_name(name));
  return name;
}

bool fold(Graph& graph, Node& node, PassContext& context) {
  size_t growth = 0;
  const auto is_worth_storing = [&](std::span<const ValueInfo> outputs) {
    size_t bytes = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.output(i)) continue;
      if (outputs[i].extent == ValueInfo::Extent::unknown) return false;
      bytes += stored_bytes(outputs[i].dtype, outputs[i].shape);
    }
    growth = bytes - std::min(bytes, bytes_freed(node, context));
    return growth == 0 || (node.op() != "minnow.LookUp" && bytes <= kSmallBytes && context.may_grow(growth));
  };
  std::vector<Datum> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i) ? Datum(*node.input(i)->constant()) : Datum());
  const std::vector<Datum> results = ConstantEvaluator(context.operators()).outputs(node, inputs, is_worth_storing);
  if (results.empty()) return false;
  for (size_t i = 0; i < node.output_count(); ++i) {
    if (!node.output(i)) continue;
    Value& constant = graph.add_constant(results[i].tensor, name_of_result(graph, node, results[i].tensor));
    const ValueType type = constant.type;
    take_place_of(*node.output(i), constant);
    constant.type = type;
  }
  context.has_grown(growth);
  return true;
}

}  // namespace

void fold_constants(Graph& graph, PassContext& context) {
  for (Node& node : graph.nodes()) {
    if (!node.output(0) || !may_fold(node, context) || !fold(graph, node, context)) continue;
    context.changed("computed {}", label_of(node));
    remove_dead(node);
  }
}

}  // namespace minnow
