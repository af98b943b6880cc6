// SPDX-License-Identifier: Apache-2.0
#include "compress/selection.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "compress/names.h"
#include "compress/palette.h"
#include "exporters/onnx/standard_form.h"
#include "ops/evaluate.h"
#include "passes/pipeline.h"
#include "passes/quantized_product.h"
#include "passes/rewrite.h"
#include "runtime/model.h"

namespace minnow::compress {
namespace {

enum class Role : uint8_t { other, layer, attention, computes, moves };

/// Operators that compute on quantized numbers, beside those that are elementwise.
struct Computing {
  std::string_view op;
};
constexpr Computing kComputing[] = {{"AveragePool"}, {"GlobalAveragePool"}, {"ReduceMean"}, {"Resize"}};

constexpr int64_t kMostDepth = 16384;  // products whose sums fit 32 bits (backends/cpu/schemes/quantized.cpp)
constexpr int kNewestOpset = 26;

class Selector {
 public:
  Selector(Graph& graph, const std::vector<std::string>& skip, const std::vector<bool>& excluded, bool portable, bool attentions)
      : graph_(graph), skip_(skip), excluded_(excluded), portable_(portable), attentions_(attentions) {
    check_names(graph, skip, "skip", false);
  }

  Selection run() {
    for (Node& node : graph_.nodes()) roles_[&node] = role_of(node);
    find_wanted();
    find_quantized();
    for (Layer& layer : result_.layers) layer.result = end_of(*layer.node->output(0));
    collect_groups();
    return std::move(result_);
  }

 private:
  Role role_of(Node& node) {
    if (node.op() == "Conv" || node.op() == "Gemm" || node.op() == "MatMul") {
      Layer layer{&node, node.input(0), node.input(1), node.input(2), 0, nullptr, false};
      std::string reason = is_named(node, skip_) ? "the options skip it" : refusal_of(layer);
      if (reason.empty() && layers_++ < excluded_.size() && excluded_[layers_ - 1]) reason = kCostsTooMuch;
      if (reason.empty()) {
        layer.palette = has_small_palette(*layer.weights->constant());
        result_.layers.push_back(layer);
        return Role::layer;
      }
      result_.refusals.push_back({&node, std::move(reason)});
      return Role::other;
    }
    const Operator* op = traits_of(node);
    if (node.op() == "LSTM" || node.op() == "GRU") {
      std::string reason = is_named(node, skip_) ? "the options skip it" : refusal_of_recurrence(node);
      if (reason.empty())
        result_.recurrences.push_back(&node);
      else
        result_.refusals.push_back({&node, std::move(reason)});
      return Role::other;
    }
    if (node.op() == "Attention") {
      std::string reason = is_named(node, skip_) ? "the options skip it" : refusal_of_attention(node);
      if (reason.empty()) {
        result_.attentions.push_back(&node);
        return Role::attention;
      }
      result_.refusals.push_back({&node, std::move(reason)});
      return Role::other;
    }
    if (multiplies(node)) result_.refusals.push_back({&node, is_named(node, skip_) ? "the options skip it" : refusal_of_operator(node)});
    if (!op || is_named(node, skip_) || !is_f32(node.input(0)) || !is_f32(node.output(0))) return Role::other;
    for (size_t i = 1; i < node.output_count(); ++i)
      if (node.output(i) && (op->elements == Elements::chosen ? !node.output(i)->is_unused() : !is_f32(node.output(i)))) return Role::other;
    const bool joins = op->inputs.back().arity == Arity::variadic;
    if (moves_data(op->elements) || op->elements == Elements::chosen) return !joins || node.op() == "Concat" ? Role::moves : Role::other;
    if (node.op() == "Concat" || pads_with_zeros(node)) return Role::moves;
    const bool computes = op->fusible || std::any_of(std::begin(kComputing), std::end(kComputing),
                                                     [&](const Computing& each) { return each.op == node.op(); });
    return computes ? Role::computes : Role::other;
  }

  /// Why a layer stays f32; empty if it need not. Sets the axis.
  static std::string refusal_of(Layer& layer) {
    Node& node = *layer.node;
    if (!is_f32(layer.x) || layer.x->constant()) return "its input is no f32 activation";
    if (!layer.weights || !layer.weights->constant()) return "its weights are not constant";
    const Tensor& w = *layer.weights->constant();
    if (w.dtype() != DType::f32) return format("its weights are {}", w.dtype());
    if (w.elements() == 0) return "its weights are empty";
    const size_t rank = w.shape().rank();
    int64_t depth = w.elements();
    if (node.op() == "Conv") {
      if (rank < 3) return "its weights have no spatial dimensions";
    } else {
      if (rank != 2) return format("its weights have {} dimensions", rank);
      layer.axis = 1;
      if (node.op() == "Gemm") {
        if (real_attribute(node, "alpha", 1) != 1 || int_attribute(node, "transA", 0) != 0) return "its input is scaled or transposed";
        if (layer.bias && real_attribute(node, "beta", 1) != 1) return "its bias is scaled";
        if (int_attribute(node, "transB", 0) != 0) layer.axis = 0;
      }
    }
    depth /= w.shape()[layer.axis];
    if (depth > kMostDepth) return format("sums of {} products may exceed 32 bits", depth);
    if (layer.bias) {
      const Tensor* bias = layer.bias->constant();
      if (!bias || bias->dtype() != DType::f32) return "its bias is not constant";
      if (bias->shape().rank() != 1 || bias->shape()[0] != w.shape()[layer.axis]) return "its bias is not one number for each channel";
    }
    return is_finite(w) ? "" : "its weights are not all finite";
  }

  static std::string refusal_of_operator(const Node& node) {
    if (node.op() == "ConvTranspose") return "as a convolution it has groups, dilations, strides that differ or too many more products";
    return format("{} has no form in integers", node.op());
  }
  std::string refusal_of_attention(const Node& node) const {
    if (!attentions_) return "it is quantized by calibration alone, of all layers";
    for (const size_t i : {0, 1, 2})
      if (!is_f32(node.input(i)) || node.input(i)->constant()) return "a factor is no f32 activation";
    return refusal_of_quantized_attention(node);
  }
  static std::string refusal_of_recurrence(const Node& node) {
    if (!is_f32(node.input(0)) || node.input(0)->constant()) return "its input is no f32 activation";
    for (const size_t i : {size_t{1}, size_t{2}}) {
      const Tensor* w = node.input(i) ? node.input(i)->constant() : nullptr;
      if (!w) return "its weights are not constant";
      if (w->dtype() != DType::f32) return format("its weights are {}", w->dtype());
      if (w->elements() == 0) return "its weights are empty";
      if (w->shape()[2] > kMostDepth) return format("sums of {} products may exceed 32 bits", w->shape()[2]);
      if (!is_finite(*w)) return "its weights are not all finite";
    }
    if (node.op() == "LSTM" && node.input(7)) return "it has peepholes";
    return {};
  }
  static bool is_finite(const Tensor& w) {
    for (int64_t i = 0; i < w.elements(); ++i)
      if (!(std::abs(w.data<float>()[i]) <= 1e30F)) return false;
    return true;
  }

  /// The value behind the activation that fuse_quantized joins to a layer with this output.
  Value* end_of(Value& output) const {
    Node* user = sole_user(output);
    if (!user || user->input(0) != &output || !activation_of(*user)) return &output;
    const bool joins = user->op() == "Relu" || (user->op() == "Clip" ? is_scalar(user->input(1), 0) : !portable_);
    return joins ? user->output(0) : &output;
  }

  /// Backward: values from which a layer can be reached through nodes that could compute on integers.
  void find_wanted() {
    for (Node* node = graph_.last(); node; node = node->previous()) {
      const Role role = roles_[node];
      if (role == Role::layer) {
        wanted_.insert(node->input(0));
        read_by_layer_.insert(node->input(0));
      } else if (role == Role::attention) {
        for (const size_t i : {0, 1, 2}) wanted_.insert(node->input(i)), read_by_layer_.insert(node->input(i));
      } else if (role != Role::other) {
        bool wanted = false;
        for (size_t i = 0; i < node->output_count(); ++i) wanted |= node->output(i) && wanted_.contains(node->output(i));
        if (!wanted) continue;
        for_inputs(*node, [&](Value& input) { wanted_.insert(&input); });
      }
    }
  }

  /// The activations among the inputs: a node that moves data has one, unless it joins several.
  template <class F>
  void for_inputs(const Node& node, F&& visit) {
    const bool first_alone = roles_[&node] == Role::moves && node.op() != "Concat";
    for (size_t i = 0; i < node.input_count() && (i == 0 || !first_alone); ++i)
      if (Value* input = node.input(i); is_f32(input) && !input->constant()) visit(*input);
  }

  /// Forward: nodes all of whose inputs come from layers, or go to layers too, compute on integers.
  void find_quantized() {
    std::unordered_set<const Value*> available;
    for (Value* value : read_by_layer_) quantized_.insert(value);
    for (Node& node : graph_.nodes()) {
      const Role role = roles_[&node];
      if (role == Role::layer) available.insert(node.output(0));
      if (role != Role::computes && role != Role::moves) continue;
      bool serves = false;
      for (size_t i = 0; i < node.output_count(); ++i) serves |= node.output(i) && wanted_.contains(node.output(i));
      bool any = false;
      for_inputs(node, [&](Value& input) {
        any = true;
        // An input of the model that is only put in another order is quantized first: fewer bytes to move.
        const Elements elements = traits_of(node)->elements;
        const bool reordered = input.is_input() && (elements == Elements::kept || elements == Elements::permuted);
        serves &= &input.graph() == &graph_ && (available.contains(&input) || read_by_layer_.contains(&input) || reordered);
      });
      // All parts of a Concat have to be activations.
      if (node.op() == "Concat")
        for (size_t i = 0; i < node.input_count(); ++i) serves &= node.input(i) && !node.input(i)->constant();
      if (!serves || !any) continue;
      integer_.insert(&node);
      for_inputs(node, [&](Value& input) { quantized_.insert(&input); });
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i) && is_f32(node.output(i))) available.insert(node.output(i)), quantized_.insert(node.output(i));
    }
    std::unordered_set<const Value*> ends;
    for (const Layer& layer : result_.layers) {
      Value& output = *layer.node->output(0);
      Value* const end = end_of(output);
      if (end != &output && quantized_.contains(end)) quantized_.erase(&output);
      ends.insert(end);
    }
    // Between elementwise nodes numbers stay f32: no rounding, and the nodes run as one. A layer wants its result quantized, though, to
    // compute with integers.
    std::vector<Value*> inner;
    for (Value* value : quantized_) {
      if (ends.contains(value)) continue;
      const Node *maker = value->producer(), *user = sole_user(*value);
      if (maker && user && is_elementwise(*maker) && is_elementwise(*user)) inner.push_back(value);
    }
    for (Value* value : inner) quantized_.erase(value);
    if (!portable_) join_residuals();
  }
  /// A convolution's result to which a tensor of bytes is added is not rounded before: fuse_quantized joins the sum with it, with the later
  /// one of two convolutions.
  void join_residuals() {
    std::unordered_map<const Node*, Value*> joined;
    for (const Layer& layer : result_.layers) {
      Value& product = *layer.node->output(0);
      const Node* const sum = sole_user(product);
      if (layer.node->op() != "Conv" || int_attribute(*layer.node, "group", 1) != 1 || !sum || sum->op() != "Add" ||
          !integer_.contains(sum) || !quantized_.contains(&product))
        continue;
      Value* const other = sum->input(sum->input(0) == &product ? 1 : 0);
      if (quantized_.contains(other) && same_shape(product, *other) && quantized_.contains(end_of(*sum->output(0)))) joined[sum] = &product;
    }
    for (const auto& [sum, product] : joined) quantized_.erase(product);
  }
  bool is_elementwise(const Node& node) const {
    const Operator* op = traits_of(node);
    return integer_.contains(&node) && op && op->fusible;
  }

  void collect_groups() {
    // Values in the order of the graph, so that results do not depend on addresses.
    std::vector<Value*> values;
    for (const auto& input : graph_.inputs())
      if (quantized_.contains(input.get())) values.push_back(input.get());
    for (Node& node : graph_.nodes())
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i) && quantized_.contains(node.output(i))) values.push_back(node.output(i));
    for (const State& state : graph_.states())
      if (quantized_.contains(state.current)) values.push_back(state.current);
    std::unordered_map<const Value*, size_t> leader;
    for (size_t i = 0; i < values.size(); ++i) leader[values[i]] = i;
    const auto find = [&](const Value* value) {
      size_t i = leader.at(value);
      while (leader.at(values[i]) != i) i = leader.at(values[i]);
      return i;
    };
    for (Node& node : graph_.nodes()) {
      if (!integer_.contains(&node) || roles_[&node] != Role::moves) continue;
      for_inputs(node, [&](Value& input) {
        for (size_t i = 0; i < node.output_count(); ++i)
          if (node.output(i) && leader.contains(node.output(i)) && leader.contains(&input)) {
            const size_t a = find(&input), b = find(node.output(i));
            leader[values[std::max(a, b)]] = std::min(a, b);
          }
      });
    }
    std::unordered_map<size_t, size_t> place;
    for (Value* value : values) {
      const auto [found, is_new] = place.emplace(find(value), result_.groups.size());
      if (is_new) result_.groups.emplace_back();
      Group& group = result_.groups[found->second];
      group.values.push_back(value);
      const Node* maker = value->producer();
      if (!maker || !integer_.contains(maker) || roles_[maker] != Role::moves) group.sources.push_back(value);
    }
    std::unordered_set<const Value*> results;
    for (const Layer& layer : result_.layers) results.insert(layer.result);
    for (Group& group : result_.groups)
      if (!portable_ && group.values.size() == 1 && results.contains(group.values[0]))
        group.channels = depthwise_channels(*group.values[0]);
  }

  /// The channels of a value that depthwise convolutions alone read; 0 for others.
  int64_t depthwise_channels(const Value& value) const {
    if (value.is_graph_output() || value.uses().empty()) return 0;
    int64_t channels = 0;
    for (const Use& use : value.uses()) {
      const auto role = roles_.find(use.node);
      if (role == roles_.end() || role->second != Role::layer || use.node->op() != "Conv" || use.input != 0) return 0;
      const Shape& w = use.node->input(1)->constant()->shape();
      if (w[0] == 1 || w[1] != 1 || int_attribute(*use.node, "group", 1) != w[0]) return 0;
      channels = w[0];
    }
    return channels;
  }

  Graph& graph_;
  const std::vector<std::string>& skip_;
  const std::vector<bool>& excluded_;
  bool portable_, attentions_;
  size_t layers_ = 0;  // found so far, excluded ones among them
  std::unordered_map<const Node*, Role> roles_;
  std::unordered_set<Value*> wanted_, read_by_layer_, quantized_;
  std::unordered_set<const Node*> integer_;
  Selection result_;
};

/// Weights and biases of layers that are stored in fewer bits become f32: passes keep them small.
void widen_weights(Graph& graph, const OperatorSet& operators) {
  const ConstantEvaluator evaluator(operators);
  const auto keeps_count = [&](const Node& node) {
    const Operator* op = operators.find(node.op());
    return op && (op->recomputable || op->elements == Elements::kept || op->elements == Elements::permuted);
  };
  for (Node& node : graph.nodes()) {
    if (node.op() != "Conv" && node.op() != "Gemm" && node.op() != "MatMul") continue;
    for (size_t i = 1; i < node.input_count(); ++i) {
      Value* weights = node.input(i);
      if (!weights || !weights->producer()) continue;
      const auto contents = evaluator.contents(*weights, keeps_count);
      if (!contents) continue;
      Node& maker = *weights->producer();
      node.set_input(i, &graph.add_constant(*contents, graph.fresh_name(weights->name())));
      remove_dead(maker);
    }
  }
  graph.remove_unused_constants();
}

// Passes that join what training keeps apart, or make integers of it.
constexpr std::string_view kNotInTraining[] = {"fold_batch_normalizations", "merge_common_subexpressions", "move_quantization",
                                               "fuse_quantized"};

std::unique_ptr<Graph> simplified(const Model& model, bool for_training) {
  const OperatorSet& operators = *model.impl()->operators;
  std::unique_ptr<Graph> graph = onnx::standard_form(operators, model.graph(), kNewestOpset);
  std::vector<Pass> passes;
  for (Pass pass : all_passes()) {
    const bool fits =
        !for_training || std::find(std::begin(kNotInTraining), std::end(kNotInTraining), pass.name) == std::end(kNotInTraining);
    if (pass.stages &= kSimplify; pass.stages && fits) passes.push_back(pass);
  }
  OptimizeOptions options;
  options.passes = passes;
  optimize(*graph, operators, options);
  widen_weights(*graph, operators);
  return graph;
}

}  // namespace

std::unique_ptr<Graph> simplified(const Model& model) { return simplified(model, false); }
std::unique_ptr<Graph> simplified_for_training(const Model& model) { return simplified(model, true); }

void check_not_quantized(const Model& model, std::string_view step) {
  for (const Node& node : model.graph().nodes()) {
    const bool integers = node.op().starts_with("minnow.Quantized") || node.op() == onnx::kMatMulNBits;
    if (!integers && !(is_layer(node) && made_by(node.input(1), "DequantizeLinear"))) continue;
    throw Unsupported("{}: {} has quantized weights, which {} would turn into f32; prune the f32 model and quantize it in the same recipe",
                      model.graph().source.empty() ? "the model" : model.graph().source, label_of(node), step);
  }
}

bool multiplies(const Node& node) {
  const Operator* op = traits_of(node);
  return op && op->operations && op->inputs.size() > 1;  // not pools
}

std::string reason_of(const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return "; it has no convolution or product";
  return format("; {}: {}", label_of(*refusals[0].node), refusals[0].reason);
}

Selection select(Graph& graph, const std::vector<std::string>& skip, const std::vector<bool>& excluded, bool portable, bool attentions) {
  return Selector(graph, skip, excluded, portable, attentions).run();
}

}  // namespace minnow::compress
