// SPDX-License-Identifier: Apache-2.0
// Which layers of a graph can compute with integers, and which values have to be quantized for that.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "passes/rewrite.h"

namespace minnow::compress {

/// A convolution or product with constant weights.
struct Layer {
  Node* node = nullptr;
  Value *x = nullptr, *weights = nullptr, *bias = nullptr;  // bias may be null
  size_t axis = 0;                                          // of the weights' output channels
  Value* result = nullptr;                                  // behind an activation that joins the layer
  bool palette = false;                                     // the weights have a small palette, which integers keep
};
/// Values that are quantized alike, because nodes between them only move numbers. Ranges come from the sources.
struct Group {
  std::vector<Value*> values, sources;
  int64_t channels = 0;  // of a layer's result that depthwise convolutions alone read: these may have scales of their own; else 0
};
struct Refusal {
  Node* node;
  std::string reason;
};
struct Selection {
  std::vector<Layer> layers;
  // LSTM and GRU with constant weights. Their integers need no ranges: a run rounds inputs and states by their largest magnitudes.
  std::vector<Node*> recurrences;
  std::vector<Node*> attentions;  // their queries, keys and values are quantized; scores and their softmax are not
  std::vector<Group> groups;
  std::vector<Refusal> refusals;  // of nodes that multiply
};
/// The reason of layers that `excluded` names.
inline constexpr std::string_view kCostsTooMuch = "it costs too much accuracy";
/// Whether a node multiplies many numbers, as convolutions, products, recurrences and attention do.
bool multiplies(const Node& node);
inline bool is_f32(const Value* value) { return value && value->type.kind == ValueType::Kind::tensor && value->type.dtype == DType::f32; }
/// The first refusal, for errors of models without layers.
std::string reason_of(const std::vector<Refusal>& refusals);

/// A copy of the model's graph in plain operators, simplified as before fusing: batch normalizations are folded, shapes are constants.
std::unique_ptr<Graph> simplified(const Model& model);
/// The same for training: batch normalizations stay where they are, and equal parameters stay apart.
std::unique_ptr<Graph> simplified_for_training(const Model& model);
/// Throws Unsupported for a model with layers whose weights are quantized: pruning it would store them as f32. `step`: its name in the
/// error.
void check_not_quantized(const Model& model, std::string_view step);

/// Looks at the outermost graph alone. `skip`: names of nodes, with `*` and `?`, or operators, that stay f32. Throws InvalidArgument for a
/// name that is neither. `excluded`: which of the layers that a selection without it has stay f32, too. `portable`: as in QuantizeOptions.
/// `attentions`: whether they may compute with integers.
Selection select(Graph& graph, const std::vector<std::string>& skip, const std::vector<bool>& excluded = {}, bool portable = false,
                 bool attentions = false);

}  // namespace minnow::compress
