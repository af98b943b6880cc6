// SPDX-License-Identifier: Apache-2.0
#include "exporters/onnx/standard_form.h"

#include <algorithm>

#include "exporters/onnx/fixed_point_lstm.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/compare.h"
#include "passes/rewrite.h"

namespace minnow::onnx {
namespace {

/// Operators, attributes of operators, and dtypes of their first inputs, that ONNX has or reads as we do only from this opset on.
struct Newer {
  std::string_view op, attribute;
  int64_t opset;
  DTypes dtypes = 0;  // 0: all
  bool matches(const Node& node) const {
    if (node.op() != op || (!attribute.empty() && !node.attributes.find(attribute))) return false;
    return !dtypes || (node.input_count() && node.input(0) && contains(dtypes, node.input(0)->type.dtype));
  }
};
constexpr DTypes kHalf = one_of({DType::f16, DType::bf16}), kBf16 = one_of({DType::bf16});
constexpr Newer kNewer[] = {
    {"Attention", {}, 24},
    {"Attention", "left_window_size", 25},
    {"Attention", "right_window_size", 25},
    {"BitCast", {}, 26},
    {"BitShift", {}, 28, kSigned},
    {"CausalConvWithState", {}, 27},
    {"Celu", {}, 28, kFloats & ~one_of({DType::f32})},
    {"Compress", {}, 28, kBf16},
    {"CumProd", {}, 26},
    {"Einsum", {}, 28, kBf16},
    {"LinearAttention", {}, 27},
    {"Range", {}, 27, kHalf},
    {"Range", "stash_type", 27},
    {"ReverseSequence", {}, 28, kBf16},
    {"SpaceToDepth", "mode", 28},
    {"Unique", {}, 28, kBf16},
    {"RMSNormalization", {}, 23},
    {"RotaryEmbedding", {}, 23},
    {"Swish", {}, 24},
    {"TensorScatter", {}, 24},
    {"Cast", "round_mode", 24},
    {"CastLike", "round_mode", 24},
    {"DequantizeLinear", "output_dtype", 23},
    {"QuantizeLinear", "precision", 23},
};

/// True for a node that ONNX Runtime has as an operator of its own, and runs.
bool is_in_runtime(const Node& node) {
  if (node.op() != kMatMulNBits || !node.input(0) || !node.input(2)) return false;
  constexpr int64_t kMostBlock = 256;
  const int64_t bits = int_attribute(node, "bits", 0);
  if (int_attribute(node, "block_size", 0) > kMostBlock) return false;
  return (bits == 2 || bits == 4 || bits == 8) && node.input(0)->type.dtype == node.input(2)->type.dtype;
}

/// True for nodes that ONNX lacks, or that ONNX Runtime (1.31.1) does not run; they are replaced by standard ones.
bool is_taken_apart(const Node& node, int64_t opset) {
  if (is_in_runtime(node)) return false;
  if (node.op().starts_with("minnow.") || node.op() == "Swish") return true;
  // Before 28 only the remainder of the dividend's sign.
  if (node.op() == "Mod" && opset < 28 && contains(kFloats, node.input(0)->type.dtype) && !int_attribute(node, "fmod", 0)) return true;
  return std::any_of(std::begin(kNewer), std::end(kNewer), [&](const Newer& row) { return opset < row.opset && row.matches(node); });
}

bool has_rank(const Value& value) { return value.type.kind != ValueType::Kind::tensor || value.type.dims; }

/// ONNX requires the rank of every output. If inference leaves one open, trial sizes may determine it, and finally a run: the rank of a
/// carried value may depend on the loop's body alone.
void find_output_ranks(const OperatorSet& operators, Graph& graph) {
  const auto complete = [&] { return std::all_of(graph.outputs().begin(), graph.outputs().end(), [](Value* y) { return has_rank(*y); }); };
  if (complete()) return;
  const std::unique_ptr<Graph> tried = graph.clone();
  infer_symbolic_types(operators, *tried);
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (const auto& dims = tried->outputs()[i]->type.dims; dims && !has_rank(*graph.outputs()[i]))
      graph.outputs()[i]->type.dims.emplace(dims->size());
  constexpr uint64_t kSeeds = 4;  // a loop may not go round for the first numbers
  for (const int64_t size : {1, 8, 64})
    for (uint64_t seed = 1; seed <= kSeeds && !complete(); ++seed) {
      CompareOptions options;
      options.other_dims = size;
      options.seed = seed;
      try {
        const std::vector<Datum> outputs = evaluate(operators, graph, random_inputs(graph, options));
        for (size_t i = 0; i < outputs.size(); ++i)
          if (!has_rank(*graph.outputs()[i])) graph.outputs()[i]->type.dims.emplace(outputs[i].tensor.shape().rank());
      } catch (const Error&) {}  // the next numbers
    }
}

/// A decomposition's view of an input: exact if the shape is known. Decompositions of the minnow domain ask for the rank of an activation
/// and for the shapes of scales and weights. They would turn an open dimension into a constant; so it is shown as -1, and `open` is
/// set.
ValueInfo shown(const Value& value, bool& open) {
  ValueInfo info;
  info.dtype = value.type.dtype;
  if (const Tensor* constant = value.constant()) {
    info.shape = constant->shape();
    info.contents = *constant;
  } else if (value.type.kind != ValueType::Kind::tensor || !value.type.dims) {
    info.extent = ValueInfo::Extent::unknown;
  } else {
    for (const Dim& dim : *value.type.dims) info.shape.push_back(dim.size), open |= !dim.known();
  }
  return info;
}

/// True if a constant made for `node` contains -1 for a dimension.
bool names_open_dimension(const Graph& graph, size_t first_constant) {
  for (size_t i = first_constant; i < graph.constants().size(); ++i) {
    const Tensor& tensor = *graph.constants()[i]->constant();
    if (tensor.dtype() != DType::i64) continue;
    for (int64_t k = 0; k < tensor.elements(); ++k)
      if (tensor.data<int64_t>()[k] < 0) return true;
  }
  return false;
}

bool decompose(const OperatorSet& operators, Node& node) {
  const Operator* op = operators.find(node.op());
  const bool has_own_form = node.op() == "minnow.FixedPointLstm";  // which kernels would not profit from
  if (!op || !(op->decompose || has_own_form)) return false;
  Graph& graph = node.graph();
  std::vector<ValueInfo> infos(node.input_count());
  std::vector<const ValueInfo*> inputs(node.input_count());
  GraphBuilder builder(graph, &node);
  builder.set_stem(node.name().empty() ? node.output(0)->name() : node.name());
  Exprs arguments;
  bool open = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    arguments.push_back(builder.wrap(node.input(i)));
    if (!node.input(i)) continue;
    infos[i] = shown(*node.input(i), open);
    inputs[i] = &infos[i];
  }
  const size_t constants = graph.constants().size();
  Exprs made;
  try {
    made =
        has_own_form ? fixed_point_lstm_parts(node, builder, arguments) : op->decompose(NodeView(node, inputs, {}, op), builder, arguments);
  } catch (const NeedsContents&) {}
  if (made.empty() || (open && names_open_dimension(graph, constants))) return false;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.output(i)) take_place_of(*node.output(i), *made[i].value());
  graph.remove(node);
  return true;
}

}  // namespace

std::unique_ptr<Graph> standard_form(const OperatorSet& operators, const Graph& graph, int64_t opset) {
  std::unique_ptr<Graph> copy = graph.clone();
  for (const auto& input : copy->inputs())
    if (!has_rank(*input))
      throw Unsupported("{}: input \"{}\" has no number of dimensions, which ONNX wants; give it with --shape {}=?x? (? leaves one open)",
                        graph.source, input->name(), input->name());
  std::string refused;
  for (bool changed = true; changed && refused.empty();) {  // a decomposition may contain nodes that must be decomposed too
    changed = false;
    for_each_graph(*copy, [&](Graph& each) {
      for (Node& node : each.nodes()) {
        if (!is_taken_apart(node, opset)) continue;
        changed = true;
        const std::string name = node.name().empty() ? node.output(0)->name() : node.name(), op = node.op();
        if (!decompose(operators, node)) refused += format("\n  node \"{}\" ({})", name, op);
      }
    });
  }
  if (!refused.empty())
    throw Unsupported("{}: these nodes cannot be written in the operators of opset {}, or not without the shapes of their inputs:{}",
                      graph.source, opset, refused);
  for_each_graph(*copy, [](Graph& each) { each.remove_unused_constants(); });  // of which ONNX Runtime warns one by one
  infer_types(operators, *copy);
  find_output_ranks(operators, *copy);
  return copy;
}

}  // namespace minnow::onnx
